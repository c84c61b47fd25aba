"""Error and time of a mean curve beside OpenDP and diffprivlib: the table of docs/comparison.md.

Run with: python -m benchmarks.others
DPFDA_DATA_DIR must name the folder with dti_cca.csv and adelaide_monday_demand.csv. Packages that
are not installed are left out; diffprivlib 0.6 needs scikit-learn below 1.6, an environment of its own.
"""

import csv
import os
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dpfda import PrivateMean
from dpfda.datasets import load_temperatures
from dpfda.testing import simulate_releases

DRAWS = 60


def data() -> Iterator[tuple[str, np.ndarray, float, float]]:
    folder = Path(os.environ["DPFDA_DATA_DIR"])
    yield "temperatures", load_temperatures().values, -10.0, 40.0
    loads = np.genfromtxt(folder / "adelaide_monday_demand.csv", delimiter=",", skip_header=1)
    yield "demand", loads, 0.0, 3500.0
    with (folder / "dti_cca.csv").open(encoding="utf-8") as handle:
        rows = list(csv.reader(handle))[1:]
    scans = np.array([[np.nan if cell == "NA" else float(cell) for cell in row[3:]] for row in rows])
    yield "nerve tracts", scans[np.isfinite(scans).all(axis=1)], 0.0, 1.0


def by_dpfda(X: np.ndarray, lower: float, upper: float) -> np.ndarray:
    return np.asarray(simulate_releases(PrivateMean(1.0, bounds=(lower, upper)), X, DRAWS, seed=7))


def by_opendp(X: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """The vector of means, whose l1 sensitivity is that of one curve replaced by another."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    count, points = X.shape
    scale = points * (upper - lower) / count
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=scale)
    means = np.clip(X, lower, upper).mean(axis=0).tolist()
    return np.array([laplace(means) for _ in range(DRAWS)])


def by_diffprivlib(X: np.ndarray, lower: float, upper: float) -> np.ndarray:
    from diffprivlib import tools

    return np.array([tools.mean(X, epsilon=1.0, bounds=(lower, upper), axis=0) for _ in range(20)])


def seconds(release: Callable[[], object]) -> float:
    start = time.perf_counter()
    release()
    return time.perf_counter() - start


def main() -> None:
    ways = {"dpfda": by_dpfda}
    ways |= {"opendp": by_opendp} if find_spec("opendp") else {}
    ways |= {"diffprivlib": by_diffprivlib} if find_spec("diffprivlib") else {}
    for name, X, lower, upper in data():
        mean = np.clip(X, lower, upper).mean(axis=0)
        for way, released in ways.items():
            taken = seconds(lambda made=released, args=(X, lower, upper): made(*args))
            error = np.sqrt(((released(X, lower, upper) - mean) ** 2).mean())
            print(f"{name:13} {X.shape} {way:12} error {error:.3g}, {taken:.2g} s for all draws")


if __name__ == "__main__":
    main()
