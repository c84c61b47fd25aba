"""Twenty million curves, made on the fly, through a local cluster: time, beside Dask's sum, and memory.

Run with: python benchmarks/cluster.py [--curves 20000000] [--points 100] [--workers 2] [--memory 700MiB]
and with --persons 5000000 for records of persons at random, in all partitions, or --sorted by person.
The curves are 16 GB; no machine holds them at once. Processor time is that of all processes, the
least of --turns. Memory is looked at in one further fit.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from dpfda import PrivateMean


def made_curves(number: int, rows: int, points: int) -> np.ndarray:
    """Curves of one partition: smooth, of random amplitude and phase."""
    generator = np.random.default_rng(number)
    grid = np.linspace(0, 1, points)
    modes = np.stack([np.ones(points), np.sin(2 * np.pi * grid), np.cos(2 * np.pi * grid)])
    curves = generator.standard_normal((rows, 3), dtype=np.float64) @ modes
    curves *= 0.3
    return curves


def lazy_curves(curves: int, points: int, rows: int) -> da.Array:
    """All curves as a Dask array whose partitions are made when they are asked for."""
    counts = [min(rows, curves - start) for start in range(0, curves, rows)]

    def block(block_info: dict) -> np.ndarray:
        place = block_info[None]
        return made_curves(place["chunk-location"][0], place["chunk-shape"][0], points)

    return da.map_blocks(block, chunks=(tuple(counts), (points,)), dtype=np.float64)


def proportional_memory(process: int) -> int:
    """Bytes of a process in memory; pages shared by several count once in all (Linux)."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next(
        (int(line.split()[1]) << 10 for line in rollup.splitlines() if line.startswith("Pss:")), 0
    )


def family(root: int) -> list[int]:
    """A process and all that it started."""
    found = [root]
    for process in found:
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                found += [int(child) for child in task.read_text().split()]
            except OSError:
                continue
    return found


def worked(root: int) -> float:
    """Seconds of processor time of a process and all that it started and still has."""
    ticks = 0
    for process in family(root):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Peak(threading.Thread):
    """Largest memory of one process that this one started, looked at every fifth of a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes, self.done = 0, threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.2):
            now = [proportional_memory(process) for process in family(os.getpid())]
            self.bytes = max(self.bytes, *now[1:])


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and of processors in all processes."""
    start, begun = time.perf_counter(), worked(os.getpid())
    work()
    return time.perf_counter() - start, worked(os.getpid()) - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curves", type=int, default=20_000_000)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="700MiB")
    parser.add_argument("--persons", type=int, default=0)
    parser.add_argument("--sorted", action="store_true")
    parser.add_argument("--rows", type=int, default=100_000, help="of a partition")
    parser.add_argument("--turns", type=int, default=1)
    asked = parser.parse_args()
    cluster = LocalCluster(
        n_workers=asked.workers,
        threads_per_worker=1,
        memory_limit=asked.memory,
        dashboard_address=None,
    )
    with cluster, Client(cluster):
        mean = PrivateMean(1.0, bounds=(-2.0, 2.0), basis="matern:50%:2.5")
        curves, whose = lazy_curves(asked.curves, asked.points, asked.rows), None
        few, few_persons = lazy_curves(200_000, asked.points, 100_000), None
        if asked.persons:
            few_persons = da.arange(200_000, chunks=100_000) % 1000
            whose = da.random.default_rng(0).integers(
                0, asked.persons, size=asked.curves, chunks=curves.chunks[:1]
            )
        if asked.sorted:
            whose = da.arange(asked.curves, chunks=curves.chunks[:1]) * asked.persons // asked.curves
        # Compiled loops are loaded by every worker.
        mean.fit(few, groups=few_persons)
        few.sum(axis=0).compute()
        turns = []
        for _ in range(asked.turns):
            own = timed(lambda: curves.sum(axis=0).compute())
            turns.append((own, timed(lambda: mean.fit(curves, groups=whose))))
            print(turns[-1], flush=True)
        # Apart: to look at memory takes processor time as well.
        peak = Peak()
        peak.start()
        mean.fit(curves, groups=whose)
        peak.done.set()
    size = asked.curves * asked.points * 8
    print(f"{asked.curves:,} curves of {asked.points} points, {size / 1e9:.1f} GB in all")
    print(f"{mean.release_.count:,.0f} units")
    for place, name in enumerate(("on the clock", "of processors")):
        own, fits = (min(turn[which][place] for turn in turns) for which in (0, 1))
        print(f"{fits:.1f} s {name}, making the curves included; Dask's own sum {own:.1f} s")
        print(f"{fits / own:.1f} times")
    print(f"peak memory of one process: {peak.bytes / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
