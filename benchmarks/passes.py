"""Every pass over the data as a ratio to NumPy's sum of the same numbers, and small fits, in one run.

Run: python benchmarks/passes.py [--page docs/appendix/large_data.md] [--records 300000] [--only WORD]
Columns are for all processors of the process, and for one. Works are taken in turns, so that other
users of the machine slow all of them alike. Ratios are of wall time: the least of each over the least of
the sum, and in brackets the median of the ratios within a turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

POINTS = 100
SUM = "X.sum(axis=0)"
BEGIN, END = "<!-- passes -->", "<!-- end of passes -->"
Work = Callable[[], Any]


def curves(records: int, points: int = POINTS) -> np.ndarray:
    """Smooth curves with a little noise, float64."""
    generator = np.random.default_rng(0)
    grid = np.linspace(0, 1, points)
    modes = np.cos(np.pi * np.outer(np.arange(8), grid)) / (1 + np.arange(8))[:, None]
    values = np.empty((records, points))
    for start in range(0, records, 10_000):
        block = values[start : start + 10_000]
        block[:] = generator.standard_normal((len(block), 8)) @ modes
        block += 0.05 * generator.standard_normal(block.shape)
    return values


def with_gaps(values: np.ndarray, share: float) -> np.ndarray:
    """The same with a gap of three points in a share of the records."""
    generator = np.random.default_rng(1)
    gaps = values.copy()
    chosen = np.flatnonzero(generator.random(len(values)) < share)
    first = generator.integers(0, values.shape[1] - 3, chosen.size)
    for k in range(3):
        gaps[chosen, first + k] = np.nan
    return gaps


def scattered_gaps(values: np.ndarray, share: float) -> np.ndarray:
    """The same without a share of all entries."""
    gaps = values.copy()
    gaps[np.random.default_rng(2).random(values.shape) < share] = np.nan
    return gaps


def large(records: int) -> dict[str, Work]:
    """Works over many records."""
    from dpfda import PrivateMean, Reading
    from dpfda.bases import BoxBasis
    from dpfda.bounds import L1Ball, L2Ball
    from dpfda.mean.vector.estimator import PrivateVectorMean

    values = curves(records)
    generator = np.random.default_rng(3)
    people = max(1, records // 3)
    random = generator.integers(0, people, records)
    skewed = np.minimum((generator.pareto(1.0, records) * people / 50).astype(np.int64), people - 1)
    ordered = np.sort(random)
    gaps, many = with_gaps(values, 0.5), scattered_gaps(values, 0.02)
    single, half = values.astype(np.float32), values.astype(np.float16)
    small = np.clip(values * 30, -100, 100).astype(np.int8)
    wide = np.rint(values * 1000).astype(np.int64)
    channels = values[:, : 2 * (POINTS // 2)].reshape(records, POINTS // 2, 2)
    three = values[:, : 3 * (POINTS // 3)].copy().reshape(records, -1, 3)
    images = values.reshape(-1)[: records * POINTS // 256 * 256].reshape(-1, 16, 16)
    columns = np.asfortranarray(values)
    complete = Reading(missing="complete")
    # Up to 500,000 units the default looks twice, and reads records three times.
    once: dict[str, Any] = {"bounds": (-3, 3), "mechanism": "one-look"}
    plain, default = PrivateMean(1.0, **once), PrivateMean(1.0, bounds=(-3, 3))
    square = BoxBasis.on_grid("cosine", (16, 16), [(0, 1), (0, 1)])
    return {
        SUM: lambda: values.sum(axis=0),
        "value bounds": lambda: plain.fit(values),
        "value bounds, in two looks": lambda: default.fit(values),
        "l2 bound": lambda: PrivateMean(1.0, bounds=L2Ball(2.0)).fit(values),
        "l1 bound, 100 coefficients": lambda: PrivateMean(
            1.0, bounds=L1Ball(2.0), mechanism="laplace"
        ).fit(values),
        "l1 bound, few records outside": lambda: PrivateMean(
            1.0, bounds=L1Ball(4.0), mechanism="laplace"
        ).fit(values),
        "standardize=True": lambda: PrivateMean(1.0, reading=Reading(standardize=True)).fit(values),
        "complete, nothing missing": lambda: PrivateMean(1.0, **once, reading=complete).fit(values),
        "complete, a gap in half of the records": lambda: PrivateMean(1.0, **once, reading=complete).fit(
            gaps
        ),
        "complete, two entries of a hundred missing": lambda: PrivateMean(
            1.0, **once, reading=complete
        ).fit(many),
        "repair, a gap in half of the records": lambda: PrivateMean(
            1.0, **once, reading=Reading(invalid="repair")
        ).fit(gaps),
        "groups of about three, in order": lambda: plain.fit(values, groups=ordered),
        "groups of about three, in random order": lambda: plain.fit(values, groups=random),
        "the same in two looks": lambda: default.fit(values, groups=random),
        "groups of very unequal sizes": lambda: plain.fit(values, groups=skewed),
        "2 channels (n, 50, 2)": lambda: PrivateVectorMean(1.0, bounds=(-3, 3)).fit(channels),
        "3 channels (n, 33, 3)": lambda: PrivateVectorMean(1.0, bounds=(-3, 3)).fit(three),
        "images of 16 x 16, value bounds": lambda: PrivateMean(1.0, bounds=(-3, 3), basis=square).fit(
            images
        ),
        "float32": lambda: plain.fit(single),
        "float16": lambda: plain.fit(half),
        "integers of 8 bits": lambda: PrivateMean(1.0, **once | {"bounds": (-90, 90)}).fit(small),
        "integers of 64 bits": lambda: PrivateMean(1.0, **once | {"bounds": (-3000, 3000)}).fit(wide),
        "float64 in the order of columns": lambda: plain.fit(columns),
    }


def measured(works: dict[str, Work], seconds: float) -> dict[str, list[float]]:
    """Wall times of each, taken in turns after one turn that does not count."""
    for work in works.values():
        work()
    taken: dict[str, list[float]] = {name: [] for name in works}
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds or len(taken[SUM]) < 3:
        for name, work in works.items():
            start = time.perf_counter()
            work()
            taken[name].append(time.perf_counter() - start)
    return taken


def table(asked: argparse.Namespace) -> None:
    """Measure in this process, on so many of its processors, and print as JSON."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked.processors])
    warnings.simplefilter("ignore")
    works = large(asked.records)
    chosen = {name: work for name, work in works.items() if name == SUM or asked.only in name}
    taken = measured(chosen, asked.seconds)
    ratios = {
        name: statistics.median(a / b for a, b in zip(times, taken[SUM], strict=True))
        for name, times in taken.items()
    }
    least = {name: min(times) / min(taken[SUM]) for name, times in taken.items()}
    print(json.dumps([len(taken[SUM]), 1e3 * min(taken[SUM]), least, ratios]))


def rows(asked: argparse.Namespace) -> str:
    """Measure in processes of their own and write a table of Markdown."""
    every = len(os.sched_getaffinity(0))
    columns = {f"{every} processors": every, "one": 1}
    found = []
    for name, count in columns.items():
        # A process of its own: BLAS asks for its number of threads when it is loaded.
        command = [sys.executable, *sys.argv, "--processors", str(count)]
        environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(count))
        done = subprocess.run(  # noqa: S603
            command, check=True, env=environment, stdout=subprocess.PIPE
        )
        found.append(json.loads(done.stdout))
        turns, milliseconds = found[-1][:2]
        print(f"{name}: {turns} turns, the sum {milliseconds:.1f} ms", file=sys.stderr)
    lines = [f"| pass | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
    for work in found[0][2]:
        cells = [f"{least[work]:.1f} ({ratios[work]:.1f})" for _, _, least, ratios in found]
        lines.append(f"| {work} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--only", default="", help="works whose names have this in them")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each column")
    parser.add_argument("--page", type=Path, help="a page whose table of passes is replaced")
    parser.add_argument("--processors", type=int, default=0, help="one column, on so many, as JSON")
    asked = parser.parse_args()
    if asked.processors:
        table(asked)
        return
    made = rows(asked)
    print(made)
    if asked.page is not None:
        before, rest = asked.page.read_text().split(BEGIN)
        asked.page.write_text(before + BEGIN + "\n" + made + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
