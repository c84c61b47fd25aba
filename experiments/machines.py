"""The default classifier beside alternatives at the same guarantee, on data that come with libraries.

Run `python -m experiments.machines` (`--quick` for few repetitions). The alternatives are the library's
own solvers, each at several public norm bounds or with other features, without and with a delta, and
beside the latter a noisy gradient descent that is not part of the library. The best of them is picked by
its score here, which nobody could do under a guarantee. Each fit has a new split and fresh noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
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
from dpfda.privacy.composition import gaussian_delta
from dpfda.records.features import LandmarkFeatures, LinearFeatures
from dpfda.summaries.machine_plan import Features
from experiments import common
from experiments.common import Floats, say

EPSILON = 1.0
FITS, QUICK_FITS = 8, 1
# Norm bounds as shares of the largest length that can occur.
NORMS = (1.0, 0.5, 0.25)
# Of the other noisy gradient descent: steps and clipping.
DELTA, STEPS, CLIPS = 1e-5, 30, (0.3, 1.0)

# Public bounds, from knowledge of the measurements.
CANCER = [30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1, 3, 5, 25, 550, 0.035, 0.15, 0.4,
          0.06, 0.08, 0.03, 40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.22]  # fmt: skip
WINE = ([11, 0.5, 1, 10, 70, 0.8, 0, 0, 0, 1, 0.4, 1, 250],
        [15, 6, 3.5, 30, 165, 4, 5.5, 0.7, 4, 13, 1.8, 4, 1700])  # fmt: skip


@dataclass(frozen=True, eq=False)
class Examples:
    """A data set: inputs (n, d), classes (n,) from 0 on, and public bounds of the inputs."""

    name: str
    inputs: Floats
    classes: Any
    bounds: tuple[Any, Any]

    @property
    def count(self) -> int:
        """Number of classes."""
        return int(self.classes.max()) + 1

    @property
    def scaled(self) -> Floats:
        """Inputs taken to [0, 1]."""
        low, high = (np.asarray(end, dtype=float) for end in self.bounds)
        return np.clip((self.inputs - low) / (high - low), 0.0, 1.0)


def sets() -> Iterator[Examples]:
    """Data sets packaged with scikit-learn and statsmodels, and simulated ones of it."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    yield Examples("breast cancer", X, y, (0, CANCER))
    X, y = datasets.load_wine(return_X_y=True)
    yield Examples("wine", X, y, WINE)
    X, y = datasets.load_iris(return_X_y=True)
    yield Examples("iris", X, y, ([4, 2, 1, 0], [8, 4.5, 7, 2.5]))
    X, y = datasets.load_digits(return_X_y=True)
    yield Examples("digits", X, y, (0, 16))
    yield Examples("digits, odd or even", X, y % 2, (0, 16))
    X, y = datasets.make_moons(1300, noise=0.2, random_state=0)
    yield Examples("moons", X, y, ([-1.6, -1.1], [2.6, 1.6]))
    X, y = datasets.make_circles(1300, noise=0.1, factor=0.5, random_state=0)
    yield Examples("circles", X, y, (-1.5, 1.5))
    X, y = datasets.make_blobs(600, centers=3, cluster_std=2.0, random_state=3)
    yield Examples("blobs", X, y, (-12, 12))
    table = fair.load_pandas().data
    y = np.int64(table["affairs"] > 0)
    ends = ([1, 17, 0, 0, 1, 9, 1, 1], [5, 45, 25, 6, 4, 20, 6, 6])
    yield Examples("affairs", table.iloc[:, :8].to_numpy(float), y, ends)
    table = anes96.load_pandas().data
    names = ["TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "age", "educ", "income"]
    ends = ([0, 1, 1, 1, 0, 18, 1, 1], [7, 7, 7, 7, 6, 95, 7, 24])
    yield Examples("election", table[names].to_numpy(float), table["vote"].to_numpy(int), ends)


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
        low, high = (np.asarray(end, dtype=float) for end in self.data.bounds)
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


def picked(data: Examples, delta: float, fits: int) -> tuple[float, str]:
    """Score and name of the alternative that scored best."""
    return max(
        (float(accuracy(data, make, fits).mean()), f"{name}, {named}")
        for name, named, make in alternatives(data, EPSILON, delta)
    )


def rows(fits: int) -> Iterator[dict[str, Any]]:
    """A row of the table for each data set."""
    for data in sets():
        settings = {"bounds": data.bounds, "classes": tuple(range(data.count))}
        own, approximate = (
            accuracy(
                data, lambda s=settings, d=delta: PrivateKernelClassifier(EPSILON, d, **s), 3 * fits
            )
            for delta in (0.0, DELTA)
        )
        best = picked(data, 0.0, fits)
        which = picked(data, DELTA, fits)[1]
        # Measured anew, which does not flatter it.
        other = next(
            float(accuracy(data, make, 3 * fits).mean())
            for name, named, make in alternatives(data, EPSILON, DELTA)
            if which == f"{name}, {named}"
        )
        descents = [
            accuracy(data, lambda c=clip, d=data: Descent(d, EPSILON, c), fits) for clip in CLIPS
        ]
        usual = accuracy(data, lambda: make_pipeline(StandardScaler(), SVC()), fits)
        yield {
            "data": data.name,
            "units": 3 * len(data.classes) // 4,
            "classes": data.count,
            "default": float(own.mean()),
            "standard error": float(own.std() / math.sqrt(len(own))),
            "best alternative": best[0],
            "which": best[1],
            "default, delta": float(approximate.mean()),
            "standard error, delta": float(approximate.std() / math.sqrt(len(approximate))),
            "best alternative, delta": other,
            "which, delta": which,
            "gradient descent, delta": float(max(found.mean() for found in descents)),
            "usual, not private": float(usual.mean()),
        }
        say(
            f"{data.name}: {own.mean():.3f} against {best}, with delta {approximate.mean():.3f}, {other}"
        )


def main() -> None:
    """Measure and write the table."""
    options = common.read_options("The default classifier beside alternatives.", 0)
    found = list(rows(QUICK_FITS if options.quick else FITS))
    common.write_csv(options.results / "machines.csv", found)


if __name__ == "__main__":
    main()
