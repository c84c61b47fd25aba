"""The default classifier beside alternatives at the same guarantee, on data that come with libraries.

Run `python -m experiments.machines` (`--quick` for few repetitions). The alternatives are the library's
own solvers, each at several public norm bounds or with other features, without and with a delta, and
beside the latter a noisy gradient descent that is not part of the library. The best of them is picked by
its score here, which nobody could do under a guarantee, and measured anew, which does not flatter it.
Each fit has a new split and fresh noise. What was measured is kept in machines_cells.csv, a machine on a
set a line: a run that was stopped goes on from there, and one that finds all of them writes the table.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.gaussian_process.kernels import RBF
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from statsmodels.datasets import anes96, fair

from dpfda import PrivateKernelClassifier
from dpfda.machines.plan import Features
from dpfda.privacy.composition import gaussian_delta
from dpfda.records.features import LandmarkFeatures, LinearFeatures
from experiments import common
from experiments.common import Floats, say

EPSILON = 1.0
FITS, QUICK_FITS = 5, 1
# So many times as many fits for the default and for the alternative that was picked.
AGAIN = 4
# Norm bounds as shares of the largest length that can occur.
NORMS = (1.0, 0.5, 0.25)
# Number of columns up to which alternatives have Fourier features of a Gaussian kernel too.
LARGEST_FOURIER = 30
# Of the other noisy gradient descent: steps and clipping.
DELTA, STEPS, CLIPS = 1e-5, 30, (0.3, 1.0)

# Public bounds, from knowledge of the measurements.
CANCER = [30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1, 3, 5, 25, 550, 0.035, 0.15, 0.4,
          0.06, 0.08, 0.03, 40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.22]  # fmt: skip
WINE = [*zip([11, 0.5, 1, 10, 70, 0.8, 0, 0, 0, 1, 0.4, 1, 250],
        [15, 6, 3.5, 30, 165, 4, 5.5, 0.7, 4, 13, 1.8, 4, 1700], strict=True)]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Examples:
    """A data set: inputs (n, d), classes (n,) from 0 on, public bounds (a pair, or one a column)."""

    name: str
    inputs: Floats
    classes: Any
    bounds: Any

    @property
    def count(self) -> int:
        """Number of classes."""
        return int(self.classes.max()) + 1

    @property
    def scaled(self) -> Floats:
        """Inputs taken to [0, 1]."""
        low, high = np.asarray(self.bounds, dtype=float).T
        return np.clip((self.inputs - low) / (high - low), 0.0, 1.0)


def sets() -> Iterator[Examples]:
    """Data sets packaged with scikit-learn and statsmodels, and simulated ones of it."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    yield Examples("breast cancer", X, y, [(0, top) for top in CANCER])
    X, y = datasets.load_wine(return_X_y=True)
    yield Examples("wine", X, y, WINE)
    X, y = datasets.load_iris(return_X_y=True)
    yield Examples("iris", X, y, [(4, 8), (2, 4.5), (1, 7), (0, 2.5)])
    X, y = datasets.load_digits(return_X_y=True)
    yield Examples("digits", X, y, (0, 16))
    yield Examples("digits, odd or even", X, y % 2, (0, 16))
    X, y = datasets.make_moons(1300, noise=0.2, random_state=0)
    yield Examples("moons", X, y, [(-1.6, 2.6), (-1.1, 1.6)])
    X, y = datasets.make_circles(1300, noise=0.1, factor=0.5, random_state=0)
    yield Examples("circles", X, y, (-1.5, 1.5))
    X, y = datasets.make_blobs(600, centers=3, cluster_std=2.0, random_state=3)
    yield Examples("blobs", X, y, (-12, 12))
    yield from shapes()
    table = fair.load_pandas().data
    y = np.int64(table["affairs"] > 0)
    ends = zip([1, 17, 0, 0, 1, 9, 1, 1], [5, 45, 25, 6, 4, 20, 6, 6], strict=True)
    yield Examples("affairs", table.iloc[:, :8].to_numpy(float), y, [*ends])
    table = anes96.load_pandas().data
    names = ["TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "age", "educ", "income"]
    ends = zip([0, 1, 1, 1, 0, 18, 1, 1], [7, 7, 7, 7, 6, 95, 7, 24], strict=True)
    yield Examples("election", table[names].to_numpy(float), table["vote"].to_numpy(int), [*ends])


def shapes() -> Iterator[Examples]:
    """Simulated sets that are hard in one way each."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (2000, 2))
    y = np.int64(np.floor(3 * X).sum(axis=1) % 2)
    yield Examples("checkerboard, 3 x 3", X, y, (0, 1))
    y, angle = rng.integers(3, size=1500), rng.uniform(0, 2 * np.pi, 1500)
    radius = 0.3 * (1 + y) + rng.normal(0, 0.07, 1500)
    yield Examples("three rings", np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y,
                   (-1.2, 1.2))  # fmt: skip
    X = rng.normal(size=(2000, 60))
    y = np.int64(X[:, 7] - X[:, 23] + X[:, 48] + rng.normal(0, 0.5, 2000) > 0)
    yield Examples("3 of 60 columns", X, y, (-3, 3))
    X = np.float64(rng.uniform(size=(3000, 100)) < 0.05)
    y = np.int64(X[:, :50].sum(axis=1) > X[:, 50:].sum(axis=1))
    yield Examples("100 rare words", X, y, (0, 1))
    y = np.int64(rng.uniform(size=2000) < 0.1)
    X = rng.normal(size=(2000, 5)) + 1.2 * y[:, None]
    yield Examples("one in ten", X, y, (-4, 5))
    X, y = datasets.make_blobs(4000, 10, centers=20, cluster_std=3.0, random_state=2)
    yield Examples("20 classes", X, y, (-15, 15))
    X = rng.uniform(-1, 1, (3000, 4))
    yield Examples("signs of a product", X, np.int64(X[:, 0] * X[:, 1] > 0), (-1, 1))
    X = rng.normal(size=(3000, 6))
    yield Examples("inside a ball, 6 columns", X, np.int64(np.sum(X**2, axis=1) < 5.3), (-3, 3))


def feature_maps(data: Examples) -> dict[str, Any]:
    """Public features that alternatives are given."""
    count = data.inputs.shape[1]
    largest = math.sqrt(1 + count)
    maps: dict[str, Any] = {
        f"norm {share * largest:.2g}": LinearFeatures.of_columns(count, share * largest)
        for share in NORMS
    }
    if count == 2:
        maps |= {
            "Matern grid, 20": Features("grid", kernel="matern:25%:1.5", components=20),
            "RBF grid, 30": Features("grid", kernel="rbf:15%", components=30),
        }
    elif count <= LARGEST_FOURIER:
        maps["40 Fourier features"] = Features("fourier", components=40)
    return maps


def alternatives(
    data: Examples, epsilon: float, delta: float
) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Name of each alternative, its features, and what makes it."""
    few = data.count == 2
    ways = (
        [("objective", "hinge"), ("objective", "logistic"), ("output", "hinge"), ("sums", "squared")]
        if few
        else [("sums", "squared"), ("means", "hinge")]
    )
    if delta:
        ways.append(("gradient", "logistic"))
    classes = tuple(range(data.count))
    for named, features in feature_maps(data).items():
        for solver, loss in ways:
            yield (
                f"{solver}, {loss}",
                named,
                lambda s=solver, o=loss, f=features: PrivateKernelClassifier(
                    epsilon, delta, bounds=data.bounds, classes=classes, loss=o, solver=s, features=f
                ),
            )
        if not few and not delta:
            yield (
                "objective, one by one",
                named,
                lambda f=features: OneVsRestClassifier(
                    PrivateKernelClassifier(
                        epsilon / data.count,
                        bounds=data.bounds,
                        classes=(0, 1),
                        loss="hinge",
                        features=f,
                    )
                ),
            )


class Descent:
    """Softmax regression by gradient descent on all records, gradients clipped, with normal noise.

    The steps are one Gaussian mechanism of mu = 2 clip T^(1/2) / deviation (replace-one neighbours).
    """

    def __init__(self, data: Examples, epsilon: float, clip: float) -> None:
        self.data, self.clip, low, high = data, clip, 1e-4, 100.0
        for _ in range(60):
            middle = math.sqrt(low * high)
            good = float(gaussian_delta(Fraction(epsilon), Fraction(middle))) <= DELTA
            low, high = (middle, high) if good else (low, middle)
        self.deviation = 2 * clip * math.sqrt(STEPS) / low
        grid = LandmarkFeatures.on_grid(RBF(0.15), 2, 24, 30)
        self.map = grid if data.inputs.shape[1] == 2 else LinearFeatures.of_waves(data.inputs.shape[1])

    def rows(self, inputs: Floats) -> Floats:
        """Features of length one at most."""
        low, high = np.asarray(self.data.bounds, dtype=float).T
        values = self.map.values(np.clip((inputs - low) / (high - low), 0.0, 1.0))
        return values / np.maximum(np.linalg.norm(values, axis=1), 1.0)[:, None]

    def fit(self, inputs: Floats, classes: Any) -> Descent:
        """Release the weights."""
        rng, rows = np.random.default_rng(), self.rows(inputs)
        own = np.eye(self.data.count)[classes]
        self.weights = np.zeros((rows.shape[1], self.data.count))
        for _ in range(STEPS):
            scores = np.exp(rows @ self.weights)
            errors = scores / scores.sum(axis=1, keepdims=True) - own
            lengths = np.linalg.norm(errors, axis=1) * np.linalg.norm(rows, axis=1)
            cut = np.minimum(1.0, self.clip / np.maximum(lengths, 1e-9))
            noise = rng.normal(0, self.deviation, self.weights.shape)
            self.weights -= 4.0 / self.clip * (rows.T @ (errors * cut[:, None]) + noise) / len(rows)
        return self

    def score(self, inputs: Floats, classes: Any) -> float:
        """Share of classes that are right."""
        return float(np.mean((self.rows(inputs) @ self.weights).argmax(axis=1) == classes))


def accuracy(data: Examples, make: Callable[[], Any], fits: int) -> Floats:
    """Share of right classes on a held-out quarter, a new split and new noise each time."""
    found = []
    for _ in range(fits):
        order = np.random.default_rng().permutation(len(data.classes))
        train, test = np.split(order, [3 * len(order) // 4])
        machine = make().fit(data.inputs[train], data.classes[train])
        found.append(machine.score(data.inputs[test], data.classes[test]))
    return np.array(found)


@dataclass(frozen=True)
class Cells:
    """Scores that were measured, kept in a file as soon as they are.

    Parameters
    ----------
    path : Path
        Of the file; a line a machine on a set.
    fits : int
        Of each alternative.
    """

    path: Path
    fits: int

    def score(
        self, data: Examples, delta: float, name: str, make: Callable[[], Any], times: int
    ) -> tuple[float, float]:
        """Mean share of right classes and its standard error, over `times` as many fits."""
        key = [data.name, f"{delta:g}", name, str(times)]
        for found in self._lines():
            if found[:4] == key:
                return float(found[4]), float(found[5])
        scores = accuracy(data, make, times * self.fits)
        mean, error = float(scores.mean()), float(scores.std() / math.sqrt(len(scores)))
        with self.path.open("a", encoding="utf-8", newline="") as handle:
            csv.writer(handle, lineterminator="\n").writerow([*key, f"{mean:.6g}", f"{error:.6g}"])
        say(f"{', '.join(key)}: {mean:.3f}")
        return mean, error

    def _lines(self) -> list[list[str]]:
        if not self.path.exists():
            return []
        with self.path.open(encoding="utf-8") as handle:
            return list(csv.reader(handle))

    def best(self, data: Examples, delta: float) -> tuple[str, float, float]:
        """Name of the alternative that scored best, and its score measured anew."""
        ways = {f"{name}, {named}": make for name, named, make in alternatives(data, EPSILON, delta)}
        name = max(ways, key=lambda way: self.score(data, delta, way, ways[way], 1)[0])
        return name, *self.score(data, delta, name, ways[name], AGAIN)


def row(data: Examples, cells: Cells) -> dict[str, Any]:
    """The line of the table for a data set."""
    found: dict[str, Any] = {
        "data": data.name,
        "units": 3 * len(data.classes) // 4,
        "classes": data.count,
    }
    settings: dict[str, Any] = {"bounds": data.bounds, "classes": tuple(range(data.count))}
    if data.inputs.shape[1] <= 2:
        # The default there is no kernel machine, but a table of cells.
        settings["features"] = "grid"
    for delta, words in ((0.0, ""), (DELTA, ", delta")):
        own = cells.score(
            data,
            delta,
            "default",
            lambda d=delta: PrivateKernelClassifier(EPSILON, d, **settings),
            AGAIN,
        )
        which, other, error = cells.best(data, delta)
        found |= {
            f"default{words}": own[0],
            f"standard error{words}": own[1],
            f"best alternative{words}": other,
            f"its standard error{words}": error,
            f"which{words}": which,
        }
    found["gradient descent, delta"] = max(
        cells.score(
            data, DELTA, f"other descent, {clip:g}", lambda c=clip: Descent(data, EPSILON, c), 1
        )[0]
        for clip in CLIPS
    )
    usual = cells.score(data, 0.0, "usual", lambda: make_pipeline(StandardScaler(), SVC()), 1)
    return found | {"usual, not private": usual[0]}


def main() -> None:
    """Measure and write the table."""
    options = common.read_options("The default classifier beside alternatives.", 2026112640)
    cells = Cells(options.results / "machines_cells.csv", QUICK_FITS if options.quick else FITS)
    found = [row(data, cells) for data in sets()]
    common.write_csv(options.results / "machines.csv", found)


if __name__ == "__main__":
    main()
