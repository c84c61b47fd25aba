"""How memory and time grow with the number of curves: a thousandth of 10^9 curves of 10^6 persons.

python benchmarks/persons.py [--curves 1000000] [--points 24]

Four sizes, each twice the one before. Slopes are those of straight lines through logarithms: 1 is in
proportion, 0 is no growth. Records are made on the way, so that what is held is what a road holds.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc

import dask
import dask.array as da
import numpy as np
import pyarrow as pa

from dpfda import PrivateMean
from dpfda.spine.clusters import total_on_cluster
from dpfda.spine.spark import Adder

EACH, BATCH, CHUNK = 1000, 10_000, 25_000


def made(number: int, rows: int, points: int) -> np.ndarray:
    return np.random.default_rng(number).uniform(-1, 1, (rows, points))


def lazy(curves: int, points: int) -> da.Array:
    def block(block_info: dict) -> np.ndarray:
        place = block_info[None]
        return made(place["chunk-location"][0], place["chunk-shape"][0], points)

    chunks = ((CHUNK,) * (curves // CHUNK), (points,))
    return da.map_blocks(block, chunks=chunks, dtype=np.float64)


def pool(points: int, grouped: bool):
    mean = PrivateMean(1.0, bounds=(-0.5, 0.5), unit="person" if grouped else None)
    return mean.pooled_on(np.zeros((2, points)), np.zeros(2) if grouped else None)


def no_persons(curves: int, points: int) -> None:
    total_on_cluster(pool(points, False), lazy(curves, points))


def together(curves: int, points: int) -> None:
    """Persons who lie in one partition each."""
    whose = da.arange(curves, chunks=CHUNK) // EACH
    total_on_cluster(pool(points, True), lazy(curves, points), whose)


def everywhere(curves: int, points: int) -> None:
    """Persons who lie in all partitions: every record moves, and a bucket of them is held at once."""
    whose = da.arange(curves, chunks=CHUNK) % (curves // EACH)
    total_on_cluster(pool(points, True), lazy(curves, points), whose)


def sorted_batches(curves: int, points: int) -> None:
    """What an executor of Spark does with rows that Spark has sorted by person."""

    def batches():
        for number in range(curves // BATCH):
            whose = (np.arange(BATCH) + number * BATCH) // EACH
            columns = [*made(number, BATCH, points).T, whose]
            yield pa.RecordBatch.from_arrays(
                list(map(pa.array, columns)), names=[*map(str, range(points)), "who"]
            )

    Adder(pool(points, True), points, True).sum(batches(), 0)


def slope(sizes: list[int], found: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(found), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curves", type=int, default=1_000_000)
    parser.add_argument("--points", type=int, default=24)
    asked = parser.parse_args()
    sizes = [asked.curves >> k for k in (3, 2, 1, 0)]
    dask.config.set(scheduler="synchronous")
    print(f"| road | {' | '.join(f'{n:,}' for n in sizes)} | slope of time | of memory |")
    for road in (no_persons, together, everywhere, sorted_batches):
        road(2 * CHUNK, asked.points)
        seconds, mebibytes = [], []
        for curves in sizes:
            begun = time.process_time()
            road(curves, asked.points)
            seconds.append(time.process_time() - begun)
            tracemalloc.start()
            road(curves, asked.points)
            mebibytes.append(tracemalloc.get_traced_memory()[1] / 2**20)
            tracemalloc.stop()
        cells = " | ".join(f"{s:.2f} s, {m:.0f} MiB" for s, m in zip(seconds, mebibytes, strict=True))
        slopes = f"{slope(sizes, seconds):.2f} | {slope(sizes, mebibytes):.2f}"
        print(f"| {road.__name__} | {cells} | {slopes} |", flush=True)


if __name__ == "__main__":
    main()
