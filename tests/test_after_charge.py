"""Whatever fails, fails before the charge: random fits of every summary, each with a ledger.

Run as a program for more of them: ``python tests/test_after_charge.py 10000``.
"""

import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpfda
from dpfda import PrivateMean
from dpfda.bases import CosineBasis, FourierBasis, LegendreBasis
from dpfda.bounds import BoxBound, Ellipsoid, L1Ball, L2Ball, Search, ValueBounds
from dpfda.density.kernel import DensityKernel
from dpfda.errors import DpfdaError
from dpfda.mean.settings import TwoLooks
from dpfda.privacy.guarantees import ApproximateDP
from dpfda.privacy.ledger import MemoryLedger

MECHANISMS = (
    "auto", "auto", "bernstein", "cells", "gaussian", "gaussian-process", "iclp", "iclp-l1",
    "iid-laplace", "knorm", "laplace", "multivariate-laplace", "student-t",
)  # fmt: skip
KERNELS = (None, None, "rbf:0.2", "matern:0.3:2.5", "exponential:0.5")
Make = Callable[[MemoryLedger], Any]


class Draw:
    """Ordinary public choices and odd private records, at random."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one_of(self, *values: Any) -> Any:
        return values[int(self.random.integers(len(values)))]

    def whole(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def scale(self, low: float, high: float) -> float:
        return float(10 ** self.random.uniform(low, high))

    def budget(self) -> dict[str, Any]:
        epsilon = self.one_of(0.05, 0.1, 0.3, 0.7, 1, 1.0, 2, 10, self.scale(-3, 2), self.scale(-1, 1))
        return {"epsilon": epsilon, "delta": self.one_of(0, 0, 0.0, 1e-6, 0.05, self.scale(-12, -1))}

    def relation(self) -> dict[str, Any]:
        if self.one_of(True, True, False):
            return {}
        return {
            "neighbours": "add-remove",
            "public_size": self.one_of(None, None, 1, self.whole(1, 300)),
        }

    def records(self, count: int, points: int, size: float) -> np.ndarray:
        """Ordinary curves, zeros, equal ones, far ones and such as overflow."""
        shape = (count, points)
        kind = self.whole(0, 5)
        if kind == 0:
            return np.full(shape, self.one_of(0.0, size, -size, 1e300))
        curves = size * self.random.normal(size=shape) * self.one_of(1e-3, 0.3, 1.0, 5.0)
        if kind == 1:
            curves *= 10.0 ** self.random.integers(-300, 300, size=shape)
        if kind == 2:
            curves = size * np.outer(self.random.normal(size=count), np.sin(np.linspace(0, 3, points)))
        return np.asarray(curves)

    def spoiled(self, curves: np.ndarray) -> dict[str, str]:
        """Put unusable numbers into some of them; how they are to be read."""
        if self.one_of(True, True, False):
            return {}
        holes = self.random.random(curves.shape) < self.one_of(0.02, 0.3, 1.0)
        curves[holes] = self.one_of(np.nan, np.inf)
        return {"invalid": "repair", "missing": self.one_of("refuse", "complete")}

    def groups(self, count: int) -> Any:
        return self.one_of(None, None, None, self.random.integers(0, max(2, count // 2), count))

    def bounds(self, size: float, points: int) -> Any:
        low = -size * self.random.uniform(0.1, 1, points)
        high = size * self.random.uniform(0.1, 1, points)
        return self.one_of(
            (-size, size), (0, size), (-size, size), ValueBounds(low, high), L2Ball(size), L1Ball(size),
            BoxBound(size / np.arange(1, 5)), Ellipsoid(size / np.arange(1.0, 5)),
            Ellipsoid(radius=size),
        )  # fmt: skip

    def domain(self) -> Any:
        return self.one_of((0, 1), (0, 24), (-1e3, 1e3), (5, 5.001))

    def basis(self, points: int, domain: Any) -> Any:
        grid = np.linspace(*domain, points)
        made = self.one_of(CosineBasis, FourierBasis, LegendreBasis, None, None, None, None, None)
        if made is None:
            return {}
        return {"basis": made.on_grid(self.whole(1, max(1, min(points // 2 - 1, 8))), grid, domain)}

    def curve_choices(self, size: float, points: int) -> dict[str, Any]:
        domain = self.domain()
        return {
            **self.budget(),
            **self.relation(),
            "bounds": self.bounds(size, points),
            "basis": self.one_of(*KERNELS),
            "domain_range": domain,
            "standardize": self.one_of(False, False, False, True),
            **self.basis(points, domain),
        }


def curves_for(draw: Draw) -> tuple[np.ndarray, dict[str, Any], Any]:
    """Records, how they are read together with the public choices about curves, and groups."""
    count, points, size = draw.whole(2, 60), draw.whole(4, 30), draw.one_of(1.0, 1.0, draw.scale(-6, 6))
    curves = draw.records(count, points, size)
    choices = {**draw.curve_choices(size, points), **draw.spoiled(curves)}
    return curves, choices, draw.groups(count)


def choose_mechanism(draw: Draw, choices: dict[str, Any]) -> None:
    """A mechanism with, mostly, the kind of guarantee that it gives."""
    name = choices["mechanism"] = draw.one_of(*MECHANISMS)
    if name != "auto" and draw.one_of(True, True, True, False):
        approximate = name in ("gaussian", "gaussian-process", "multivariate-laplace")
        choices["delta"] = draw.one_of(1e-6, 0.05) if approximate else 0
    if name in ("cells", "bernstein"):
        choices["bounds"] = draw.one_of((-1, 1), (0.0, 0.5))


def in_blocks(estimator: PrivateMean, blocks: list[np.ndarray]) -> PrivateMean:
    """The mean of records that come in blocks."""
    for block in blocks:
        estimator.partial_fit(block)
    return estimator.finish()


def mean(draw: Draw) -> Make:
    curves, choices, groups = curves_for(draw)
    choose_mechanism(draw, choices)
    if draw.one_of(False, True) and groups is None:
        blocks = np.array_split(curves, 3)
        return lambda ledger: in_blocks(PrivateMean(**choices, **kept(ledger)), blocks).release_(
            choices["domain_range"]
        )
    return lambda ledger: (
        PrivateMean(**choices, **kept(ledger))
        .fit(curves, groups=groups)
        .release_(choices["domain_range"])
    )


def two_looks(draw: Draw) -> Make:
    curves, choices, groups = curves_for(draw)
    if choices.get("neighbours"):
        choices["public_size"] = draw.whole(1, 300)
    low = draw.one_of(-1.0, 0.0, -1e-99, 1e8, 3e5)
    bounds = draw.one_of((low, low + 1), (low, low + 1e-6), (-1e-99, 1e-99), (-1e99, 1e99))
    choices |= {"bounds": bounds, "basis": None, "standardize": False, "mechanism": TwoLooks()}
    choices["epsilon"] = draw.one_of(1e4, 1e6)
    return lambda ledger: dpfda.PrivateMean(**choices, **kept(ledger)).fit(curves, groups=groups)


def search(draw: Draw) -> Make:
    curves, choices, groups = curves_for(draw)
    if choices.get("neighbours"):
        choices["public_size"] = draw.whole(1, 300)
    low = draw.one_of(-1.0, 0.0, -1e-99, 1e8, 3e5)
    ends = draw.one_of((low, low + 1e3), (low, low + 1e-6), (-1e-99, 1e-99), (-1e99, 1e99))
    choices |= {"bounds": Search(*ends), "basis": None, "standardize": False}
    choices["epsilon"] = draw.one_of(1e4, 1e6)
    return lambda ledger: dpfda.PrivateMean(**choices, **kept(ledger)).fit(curves, groups=groups)


def covariance_choices(draw: Draw, choices: dict[str, Any]) -> None:
    if not isinstance(choices["bounds"], L2Ball | ValueBounds | tuple):
        choices["bounds"] = (-1.0, 1.0)
    choices["center"] = draw.one_of(None, "private", "bound", "pairs", 0.0, np.sin)
    choices["radius"] = draw.one_of(None, 0.3, draw.scale(-6, 6))
    choices["shrinkage"] = draw.one_of("prior", "none")
    choices["mechanism"] = draw.one_of("auto", "auto", "wishart", "knorm", "gaussian")
    choices["functions"] = draw.one_of(None, None, 1, 2, 3)
    choices["mean_share"] = draw.one_of(0.5, 0.1)


def covariance(draw: Draw) -> Make:
    curves, choices, groups = curves_for(draw)
    covariance_choices(draw, choices)
    return lambda ledger: (
        dpfda.PrivateCovariance(**choices, **kept(ledger))
        .fit(curves, groups=groups)
        .release_.components()
    )


def components(draw: Draw) -> Make:
    curves, choices, groups = curves_for(draw)
    covariance_choices(draw, choices)
    choices["n_components"] = draw.one_of(None, 1, 1, 2)
    if draw.one_of(False, True):
        choices |= {"mechanism": "exponential", "functions": draw.one_of(None, 3, 4)}
        del choices["shrinkage"]

    def fit(ledger: MemoryLedger) -> Any:
        found = dpfda.PrivateFPCA(**choices, **kept(ledger))
        if groups is None and np.isfinite(curves).all():
            return found.inverse_transform(found.fit_transform(curves))
        return found.fit(curves, groups=groups)

    return fit


def comparison(draw: Draw) -> Make:
    curves, choices, groups = curves_for(draw)
    choose_mechanism(draw, choices)
    y = draw.random.integers(0, 2, len(curves))
    if groups is not None:
        y = np.asarray(groups) % 2
    if choices.get("neighbours"):
        choices["levels"] = (0, 1, 2)
    made = {**choices, "design_size": draw.one_of(None, 30)}
    return lambda ledger: dpfda.PrivateComparison(**made, **kept(ledger)).fit(curves, y, groups)


def density(draw: Draw) -> Make:
    dimensions = draw.one_of(1, 1, 2)
    points = draw.records(draw.whole(2, 200), dimensions, 0.5) + 0.5
    spoiled = draw.spoiled(points)
    spoiled.pop("missing", None)
    noise = draw.one_of("iclp", "matched", "laplace", "knorm", "gaussian", "gaussian_process")
    choices = {
        **draw.budget(),
        **draw.relation(),
        **spoiled,
        "domain_range": [(0, 1)] * dimensions,
        "mechanism": draw.one_of("histogram", "histogram", "kernel", DensityKernel(noise=noise)),
        "cells": draw.one_of(None, None, 5, 16),
        "noise": draw.one_of("auto", "laplace", "gaussian"),
        "bandwidth": draw.one_of(None, None, "adaptive", 0.1, "monotone" if dimensions == 1 else 0.2),
    }
    if draw.one_of(True, False, False):
        table = draw.random.integers(0, draw.one_of(2, 1000), 6).tolist()
        choices |= {"domain_range": None, "cells": None}
        return lambda ledger: used(
            dpfda.PrivateDensity(**choices, **kept(ledger)).fit_counts(table, [0, 1, 2, 4, 8, 16, 32])
        )
    groups = draw.groups(len(points))
    return lambda ledger: used(
        dpfda.PrivateDensity(**choices, **kept(ledger)).fit(points, groups=groups)
    )


def used(density: Any) -> Any:
    """A released density that has been asked for values and, on an interval, for quantiles."""
    release = density.release_
    ends = np.array(release.domain_range, dtype=float)
    if ends.ndim == 1:
        release(ends)
        release.quantile([0.1, 0.5])
    return release


def machine(draw: Draw) -> Make:
    inputs = draw.one_of(1, 2, 5)
    X = draw.records(draw.whole(2, 80), inputs, 1.0)
    spoiled = draw.spoiled(X)
    spoiled.pop("missing", None)
    groups = draw.groups(len(X))
    choices = {
        **draw.budget(),
        **spoiled,
        "bounds": (-1, 1),
        "solver": draw.one_of("auto", "output", "objective", "sums", "gradient"),
        "features": draw.one_of("auto", "linear", "quadratic", "fourier", "grid"),
        "components": draw.one_of(None, None, 2, 6),
        "penalty": draw.one_of(None, None, 0.01, 1.0, draw.scale(-5, 3)),
    }
    if draw.one_of(True, False):
        y = np.where(draw.random.random(len(X)) < 0.3, "a", "b")
        choices |= {
            "classes": ("a", "b"),
            "loss": draw.one_of("hinge:0.01", "hinge", "logistic", "squared"),
        }
        return lambda ledger: (
            dpfda.PrivateKernelClassifier(**choices, **kept(ledger))
            .fit(X, y, groups)
            .predict(np.zeros((2, inputs)))
        )
    y = draw.records(len(X), 1, 3.0)[:, 0]
    choices |= {"target_bounds": (-2, 5), "loss": draw.one_of("huber:2", "huber", "squared")}
    return lambda ledger: (
        dpfda.PrivateKernelRegressor(**choices, **kept(ledger))
        .fit(X, y, groups)
        .predict(np.zeros((2, inputs)))
    )


def bernstein(draw: Draw) -> Make:
    dimensions, degree = draw.one_of(1, 1, 2), draw.whole(1, 8)
    nodes = (degree + 1) ** dimensions
    values = draw.records(1, nodes, 1.0).reshape((degree + 1,) * dimensions)
    sensitivity = draw.one_of(1, Fraction(1, 3), 0.02, draw.scale(-6, 6))
    choices: dict[str, Any] = {
        "invalid": "repair",
        "neighbours": draw.one_of("replace-one", "add-remove"),
    }
    epsilon = draw.budget()["epsilon"]
    return lambda ledger: dpfda.release_function(
        values, sensitivity, epsilon, degree, [(0, 1)] * dimensions, **choices, **kept(ledger)
    )


def session(draw: Draw) -> Make:
    curves, choices, groups = curves_for(draw)
    choices |= {
        "delta": draw.one_of(1e-6, 0.01),
        "mechanism": draw.one_of("gaussian", "gaussian-process"),
    }
    start, end = choices["domain_range"]

    def answers(ledger: MemoryLedger) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            opened = PrivateMean(**choices, **kept(ledger)).open_session(
                curves, Path(folder) / "s", groups
            )
            with opened:
                return opened.value((start + end) / 2), opened.integral(start, end), opened.inner(np.cos)

    return answers


SUMMARIES = (
    mean, mean, two_looks, search, covariance, components, comparison, density, machine, bernstein,
    session,
)  # fmt: skip


def kept(ledger: MemoryLedger) -> dict[str, Any]:
    return {"ledger": ledger.of("data")}


class Watched(MemoryLedger):
    """Accepts charges of every relation and unit, and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.charges = 0

    def charge(self, dataset: str, guarantee: Any, entry: Any) -> Any:
        self.create(
            dataset, ApproximateDP(10**6, Fraction(1, 2)), entry["neighbours"], entry["privacy_unit"]
        )
        made = super().charge(dataset, guarantee, entry)
        self.charges += 1
        return made


def outcome(seed: int) -> tuple[str, str, str]:
    """Of one random fit: its summary, what became of it, and the trace where that is a failure."""
    draw = Draw(seed)
    summary = SUMMARIES[seed % len(SUMMARIES)]
    ledger = Watched()
    try:
        make = summary(draw)
        make(ledger)
    except Exception as error:
        if ledger.charges:
            return summary.__name__, "failed after its charge", traceback.format_exc()
        if not isinstance(error, DpfdaError):
            return summary.__name__, "refused by a foreign error", traceback.format_exc()
        return summary.__name__, "refused", str(error)
    return summary.__name__, "released" if ledger.charges == 1 else "not charged once", ""


# Three of the others design noise for seconds; the run of all tries them and more.
@pytest.mark.parametrize(
    "seeds", [range(205, 242), pytest.param(range(200, 300), marks=pytest.mark.thorough)]
)
def test_nothing_fails_after_its_charge(seeds):
    outcomes = [outcome(seed) for seed in seeds]
    bad = [found for found in outcomes if found[1] not in ("released", "refused")]
    assert not bad, bad[0]
    # The cases are of the kind that is to work: most are released, some of every summary.
    released = Counter(name for name, what, _ in outcomes if what == "released")
    assert sum(released.values()) > 0.4 * len(outcomes)
    assert set(released) == {summary.__name__ for summary in SUMMARIES}


def main(count: int, first: int) -> None:
    warnings.simplefilter("error")
    found: Counter[tuple[str, str]] = Counter()
    words: Counter[str] = Counter()
    for seed in range(first, first + count):
        if seed % 1000 == 0:
            print(seed, dict(found), flush=True)
        name, what, trace = outcome(seed)
        found[name, what] += 1
        if what == "refused":
            words[f"{name}: {trace[:110]}"] += 1
        elif what != "released":
            print(seed, name, what, trace[-1500:], flush=True)
    for key, number in sorted(found.items()):
        print(*key, number)
    for text, number in words.most_common(40):
        print(number, text)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
