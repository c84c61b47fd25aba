"""Error, time and memory of the default classifier at 10^3, 10^5 and 10^7 records of ten columns.

Run `python -m experiments.machine_sizes` (`--quick` leaves out 10^7). Two classes with the log odds 4
times the mean of five columns minus that of the other five; epsilon = 1. The error is the share of fresh
records on whose class the released function and the best one differ. Time is the processor's, memory the
largest that the process held above what it did with the records alone. Each size has its own process.
Every line of the table is written when it is measured: a run that was stopped goes on from there.
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import time
from typing import Any

import numpy as np

from dpfda import PrivateKernelClassifier
from experiments import common

COLUMNS, FRESH, DELTA = 10, 100_000, 1e-6
# Without a delta a fit of 10^7 records was not waited for.
SIZES = {0.0: (10**3, 10**5), DELTA: (10**3, 10**5, 10**7)}


def _best(inputs: Any) -> Any:
    return inputs[:, :5].mean(axis=1) - inputs[:, 5:].mean(axis=1)


def measured(size: int, delta: float) -> dict[str, Any]:
    """One fit."""
    rng = np.random.default_rng()
    inputs = rng.uniform(0, 1, (size, COLUMNS))
    classes = np.int64(rng.uniform(size=size) < 1 / (1 + np.exp(-4 * _best(inputs))))
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    machine = PrivateKernelClassifier(1, delta, bounds=(0, 1), classes=(0, 1)).fit(inputs, classes)
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    fresh = rng.uniform(0, 1, (FRESH, COLUMNS))
    wrong = float(np.mean((machine.decision_function(fresh) > 0) != (_best(fresh) > 0)))
    return {
        "records": size,
        "delta": delta,
        "solver": machine.release_.certificate.mechanism["name"],
        "differs": wrong,
        "processor, s": seconds,
        "memory, MiB": math.ceil(memory / 1024),
    }


def main() -> None:
    """Measure what is missing and write the table, a line as soon as it is there."""
    options = common.read_options("The default classifier at three sizes.", 2026112641)
    path, context = options.results / "machine_sizes.csv", multiprocessing.get_context("spawn")
    found: list[dict[str, Any]] = [*common.read_csv(path)] if path.exists() else []
    there = {(int(row["records"]), float(row["delta"])) for row in found}
    for delta, sizes in SIZES.items():
        for size in sizes[:2] if options.quick else sizes:
            if (size, delta) in there:
                continue
            with context.Pool(1) as pool:
                found.append(pool.apply(measured, (size, delta)))
            common.write_csv(path, found)


if __name__ == "__main__":
    main()
