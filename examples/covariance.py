"""Covariance, principal components and two seasons of a year of days, and how useful they are.

Run it with:  python examples/covariance.py [COVARIANCE.png [GROUPS.png]]
With names of files it draws one release each for the packaged temperatures (public data, a record being
a day). Without one it prints the tables of docs/appendix/covariance.md, for which DPFDA_DATA_DIR must
name the folder with dti_cca.csv and adelaide_monday_demand.csv (two minutes). Noise is the real one.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpfda import Domain, PrivateComparison, PrivateCovariance, PrivateFPCA, PrivateMean
from dpfda.covariance.strategies import Center, MatrixNoise
from dpfda.datasets import TemperatureCurves, load_temperatures

DRAWS = 40
WITHOUT_NOISE = "without noise (these data are public)"


class Study(NamedTuple):
    """Curves with public choices for them: a bound on values, a length, a curve that is known."""

    name: str
    curves: np.ndarray
    group: np.ndarray
    bounds: tuple[float, float]
    radius: float

    @property
    def weights(self) -> np.ndarray:
        """Trapezoid weights on [0, 1]."""
        weights = np.full(self.curves.shape[1], 1 / (self.curves.shape[1] - 1))
        weights[[0, -1]] /= 2
        return weights

    @property
    def known(self) -> np.ndarray:
        """What stands for a public center here: the mean to two digits."""
        return self.curves.mean(axis=0).round(2)


def read(path: Path) -> list[list[str]]:
    """Rows of a table without its header."""
    with path.open(encoding="utf-8") as handle:
        return list(csv.reader(handle))[1:]


def studies(folder: Path) -> list[Study]:
    """A curve a person for the nerve tracts; a curve a Monday for the demand, in gigawatts."""
    rows = read(folder / "dti_cca.csv")
    scans = np.array([[np.nan if cell == "NA" else float(cell) for cell in row[3:]] for row in rows])
    for scan in scans:
        lost = np.isnan(scan)
        scan[lost] = np.interp(np.flatnonzero(lost), np.flatnonzero(~lost), scan[~lost])
    people = np.array([row[0] for row in rows])
    persons = list(dict.fromkeys(people))
    tracts = np.array([scans[people == person].mean(axis=0) for person in persons])
    case = np.array([rows[list(people).index(person)][2] for person in persons])
    demand = np.array(read(folder / "adelaide_monday_demand.csv"), dtype=float) / 1000
    half = np.where((np.arange(len(demand)) % 52 >= 8) & (np.arange(len(demand)) % 52 < 34), "a", "b")
    return [
        Study("DTI", tracts, case, (0.2, 0.9), 0.12),
        Study("electricity", demand, half, (0.5, 3.5), 0.45),
    ]


def covariance_table(study: Study) -> None:
    """Relative error of the covariance and the variance that its first component captures."""
    root = np.sqrt(study.weights)
    deviations = study.curves - study.curves.mean(axis=0)
    exact = root[:, None] * (deviations.T @ deviations / len(deviations)) * root
    largest = np.linalg.eigvalsh(exact)[-1]
    generator = np.random.default_rng(0)
    known: dict[str, Any] = {"center": Center(study.known, radius=study.radius)}
    default: dict[str, Any] = {"bounds": study.bounds}
    rows: dict[str, dict[str, Any]] = {
        "default": default,
        "private mean": {**default, "center": "private"},
        "pairs, radius known": {"center": Center("pairs", radius=study.radius)},
        "public center": known,
        "public center, K-norm noise": {**known, "mechanism": "knorm"},
        "public center, no shrinkage": {**known, "mechanism": MatrixNoise(shrinkage="none")},
        "default, epsilon 4": {**default, "epsilon": 4.0},
        "public center, epsilon 4": {**known, "epsilon": 4.0},
    }
    for name, parameters in rows.items():
        results = []
        for _ in range(DRAWS):
            order = generator.permutation(len(study.curves))
            release = (
                PrivateCovariance(**{"epsilon": 1.0, **parameters}).fit(study.curves[order]).release_
            )
            found = root[:, None] * release.on_grid() * root
            first = root * release.components(1)(release.grid_points)[0]
            error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
            results.append([error, first @ exact @ first / (first @ first) / largest])
        print(f"{study.name} | {name} | M = {release.noise.size} | {shown(results)}")


def component_table(study: Study) -> None:
    """Variance that one and two components capture, of what the best capture."""
    root = np.sqrt(study.weights)
    deviations = study.curves - study.curves.mean(axis=0)
    exact = root[:, None] * (deviations.T @ deviations / len(deviations)) * root
    values = np.linalg.eigvalsh(exact)[::-1]
    for count in (1, 2):
        known = {"center": Center(study.known, radius=study.radius)}
        for name, parameters in {
            "default": {"bounds": study.bounds},
            "public center": known,
            "public center, exponential": {**known, "mechanism": "exponential"},
        }.items():
            results = []
            for _ in range(DRAWS):
                fpca = PrivateFPCA(1.0, n_components=count, **parameters)
                found = np.linalg.qr(root[:, None] * fpca.fit(study.curves).components_.T)[0]
                results.append([np.trace(found.T @ exact @ found) / values[:count].sum()])
            print(f"{study.name} | {count} components, {name} | {shown(results)}")


def comparison_table(study: Study, epsilon: float) -> None:
    """Error of the difference of two groups, and whether its band leaves zero."""
    names = [str(name) for name in np.unique(study.group)]
    first, second = (study.curves[study.group == name].mean(axis=0) for name in names)
    exact, weights = first - second, study.weights
    results = []
    for _ in range(DRAWS):
        estimator = PrivateComparison(epsilon, bounds=study.bounds)
        difference = estimator.fit(study.curves, study.group).release_.difference(*names)
        grid = difference.grid_points
        band = difference.band(0.95, True, grid)
        error, smoothed = (
            np.sqrt(weights @ (values - exact) ** 2)
            for values in (difference(grid), difference.smoothed(grid))
        )
        width = float(np.mean(band.upper - band.lower)) / 2
        results.append([error, smoothed, width, not band.contains(np.zeros(grid.size))])
    size = np.sqrt(weights @ exact**2)
    print(f"{study.name} | epsilon {epsilon:g} | difference {size:.4f} | {shown(results)}")


def shown(results: list[list[float]]) -> str:
    """Means and standard deviations of columns."""
    columns = np.array(results, dtype=float).T
    return " | ".join(f"{column.mean():.3f} +- {column.std():.3f}" for column in columns)


def pictured(days: TemperatureCurves) -> dict[str, Any]:
    """What releases of these days say of their hours, and of who is protected."""
    labels = {"domain": "hour of the day", "value": "temperature (degrees C)"}
    return {"domain": Domain(days.grid_points, labels=labels), "unit": "day"}


def draw_covariance(axes: Any) -> None:
    """A covariance around an earlier mean, and its components beside those without noise."""
    days = load_temperatures()
    grid, shared = days.grid_points, pictured(days)
    mean = PrivateMean(0.5, bounds=(-10.0, 40.0), **shared).fit(days.values).release_
    covariance = (
        PrivateCovariance(1.0, center=Center(mean, radius=60.0), **shared).fit(days.values).release_
    )
    covariance.plot(axes[0])
    covariance.components(2).plot(axes[1])
    exact = days.values - days.values.mean(axis=0)
    weights = covariance.basis.weights
    root = np.sqrt(weights)
    vectors = np.linalg.eigh(root[:, None] * (exact.T @ exact) * root)[1][:, ::-1]
    for index in range(2):
        function = vectors[:, index] / root
        function *= np.sign(function @ (weights * covariance.components(2)(grid)[index]))
        axes[1].plot(grid, function, "k:", label=WITHOUT_NOISE if index == 0 else None)
    axes[1].autoscale(axis="y")
    axes[1].legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.14))


def draw_groups(axes: Any) -> None:
    """Means of two seasons, and their difference beside that without noise."""
    days = load_temperatures()
    months = days.dates.astype("datetime64[M]").astype(int) % 12
    season = np.where((months >= 3) & (months < 9), "April to September", "October to March")
    comparison = PrivateComparison(1.0, bounds=(-10.0, 40.0), **pictured(days))
    groups = comparison.fit(days.values, season).release_
    groups.plot(axes[0])
    difference = groups.difference("April to September", "October to March")
    difference.plot(axes[1])
    gap = [days.values[season == name].mean(axis=0) for name in difference.names]
    axes[1].plot(days.grid_points, gap[0] - gap[1], "k:", label=WITHOUT_NOISE)
    axes[1].legend(fontsize="small")


def draw(path: str, pictures: Callable[[Any], None]) -> None:
    """Two pictures beside each other, of one release each for a year of days."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    pictures(axes)
    figure.savefig(path, dpi=100)


def main(*paths: str) -> None:
    """Draw, or print the tables."""
    for path, pictures in zip(paths, (draw_covariance, draw_groups), strict=False):
        draw(path, pictures)
    if paths:
        return
    for study in studies(Path(os.environ["DPFDA_DATA_DIR"])):
        covariance_table(study)
        component_table(study)
        for epsilon in (1.0, 4.0):
            comparison_table(study, epsilon)


if __name__ == "__main__":
    main(*sys.argv[1:])
