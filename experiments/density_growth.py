"""Densities and quantiles as data grow: error, seconds and memory at up to ten million points.

Run `python -m experiments.density_growth` (`--quick` for the smallest size). Each size has a process of
its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from dpfda import PrivateDensity, PrivateQuantiles
from experiments import common
from experiments.density_rivals import LEVELS, SHAPES

SEED = 2026112608
SIZES, REPEATED = (1000, 100_000, 10_000_000), 3
NAMES = ("normal", "t, 2 degrees")
EPSILON = 1.0


def measured(name: str, n: int, seed: int) -> list[dict[str, Any]]:
    """Of one sample: squared L2 error over the squared length, quantiles' errors, seconds, mebibytes."""
    law, domain = SHAPES[name]
    points = law.rvs(size=n, random_state=np.random.default_rng([seed, n, NAMES.index(name)]))
    true = law.ppf(LEVELS)
    before, rows = _most(), []
    ways = {
        "density, equal cells": PrivateDensity(EPSILON, domain=domain, scale="linear"),
        "density, default": PrivateDensity(EPSILON, domain=domain),
        "five quantiles": PrivateQuantiles(EPSILON, domain=domain, levels=LEVELS),
        "median": PrivateQuantiles(EPSILON, domain=domain),
    }
    for way, estimator in ways.items():
        found: list[tuple[float, float, float]] = []
        for _ in range(REPEATED):
            start = time.process_time()
            release = estimator.fit(points).release_
            seconds = time.process_time() - start
            levels = LEVELS if len(getattr(release, "levels", LEVELS)) > 1 else np.array([0.5])
            quantiles = release.quantile(levels) if hasattr(release, "quantile") else release(levels)
            off = np.sqrt(np.mean((quantiles - law.ppf(levels)) ** 2)) / (true[3] - true[1])
            found.append((_l2(law, domain, release), float(off), seconds))
        l2, off, seconds = np.mean(found, axis=0)
        rows.append({
            "density": name, "n": n, "way": way, "l2": float(l2), "quantiles": float(off),
            "seconds": float(seconds), "mebibytes": _most() - before,
        })  # fmt: skip
    return rows


def _l2(law: Any, domain: tuple[float, float], release: Any) -> float:
    """Squared L2 distance over the squared length; not a number where no density was released."""
    if not hasattr(release, "quantile"):
        return float("nan")
    at = np.unique(
        np.clip(np.append(np.linspace(*domain, 8001), law.ppf(np.linspace(5e-4, 0.9995, 4000))), *domain)
    )
    middle, widths = (at[1:] + at[:-1]) / 2, np.diff(at)
    return float(
        np.sum((release(middle) - law.pdf(middle)) ** 2 * widths) / np.sum(law.pdf(middle) ** 2 * widths)
    )


def _most() -> float:
    """The most memory that this process has held, in mebibytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure every size in a process of its own, write the table."""
    if sys.argv[1:2] == ["--one"]:
        name, n, seed = sys.argv[2:5]
        print(json.dumps(measured(name, int(n), int(seed))))
        return
    options = common.read_options(str(__doc__), SEED)
    rows: list[dict[str, Any]] = []
    for name in NAMES:
        for n in SIZES[:1] if options.quick else SIZES:
            line = [
                sys.executable,
                "-m",
                "experiments.density_growth",
                "--one",
                name,
                str(n),
                str(options.seed),
            ]
            done = subprocess.run(line, capture_output=True, check=True, text=True)  # noqa: S603
            rows += json.loads(done.stdout)
    common.write_csv(options.results / "density_growth.csv", rows)


if __name__ == "__main__":
    main()
