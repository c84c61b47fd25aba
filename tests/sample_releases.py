"""One small release of every kind, and of every mean that changes what is stored."""

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from dpfda import (
    Domain,
    PrivacyUnit,
    PrivateComparison,
    PrivateCovariance,
    PrivateCox,
    PrivateCurveClusters,
    PrivateCurveSampler,
    PrivateDensity,
    PrivateEqualityTest,
    PrivateFPCA,
    PrivateFunctionalRegression,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    PrivateQuantileCurves,
    PrivateQuantiles,
    PrivateReferenceBand,
    PrivateRunningMean,
    PrivateScalarOnFunction,
    PrivateScoreCurves,
    PrivateSurvival,
    PrivateVectorMean,
    load,
    release_function,
)
from dpfda.bases import BoxBasis, CosineBasis, FourierBasis
from dpfda.bounds import L1Ball, L2Ball, Search, ValueBounds
from dpfda.density.kernel import DensityKernel
from dpfda.machines.plan import Features
from dpfda.mean.settings import TwoLooks
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.records.weights import Weights
from dpfda.releases.function import ReleasedFunction

GOLDEN = Path(__file__).parent / "golden" / "v1"
GRID = np.linspace(0.0, 2.0, 21)
CURVES = np.sin(3 * GRID) + np.random.default_rng(8).normal(0, 0.3, (61, 1))


def certificate_of(guarantee: Guarantee, unit: str = "record") -> Certificate:
    """A certificate of replace-one neighbours for releases that are put together by hand."""
    costs = {"release": Cost(guarantee)}
    bound = {"description": "none"}
    return Certificate.charged(costs, Neighbours.REPLACE_ONE, unit, bound, {"name": "by hand"})


def custom_kernel(s: Any, t: Any) -> Any:
    """A kernel that no file can hold."""
    return np.exp(-np.abs(s - t)) + 0.5 * np.exp(-((s - t) ** 2))


def _fit(**parameters: Any) -> ReleasedFunction:
    made = {
        "epsilon": 1.0,
        "bounds": (-3.0, 3.0),
        "grid_points": GRID,
        "basis": Matern(0.3, nu=1.5),
        **parameters,
    }
    release: ReleasedFunction = PrivateMean(**made).fit(CURVES).release_
    return release


RELEASES: dict[str, Callable[[], ReleasedFunction]] = {
    "pure": _fit,
    "approximate": lambda: _fit(delta=1e-6, mechanism="gaussian"),
    "process": lambda: _fit(delta=1e-6, mechanism="gaussian-process"),
    "iclp": lambda: _fit(mechanism="iclp", bounds=L1Ball(3.0)),
    "laplace": lambda: _fit(mechanism="laplace", bounds=L2Ball(3.0)),
    "add-remove": lambda: _fit(neighbours="add-remove"),
    "add-remove, public size": lambda: _fit(neighbours="add-remove", public_size=50),
    "curved bounds": lambda: _fit(bounds=ValueBounds(np.sin(GRID) - 2, 2 + GRID**2)),
    "wider domain": lambda: _fit(domain_range=(-0.5, 2.5), quadrature="uniform"),
    "composed kernel": lambda: _fit(basis=ConstantKernel(2.0) * RBF(0.5) + Matern(0.2, nu=2.5)),
    "standardized": lambda: _fit(
        bounds=None, standardize=True, labels={"domain": "t (h)"}, unit="person"
    ),
    "cosine": lambda: _fit(basis=CosineBasis.on_grid(9, GRID, (0.0, 2.0)), bounds=L2Ball(3.0)),
    "cosine, add-remove": lambda: _fit(
        basis=CosineBasis.on_grid(9, GRID), delta=1e-5, neighbours="add-remove"
    ),
    "student-t": lambda: _fit(mechanism="student-t"),
    "l1 estimate": lambda: _fit(mechanism="iclp-l1"),
    "bernstein": lambda: _fit(mechanism="bernstein", basis=None),
    "fourier": lambda: _fit(basis=FourierBasis.on_grid(7, GRID, (0.0, 2.1))),
    "derivative": lambda: _fit().derivative(),
    "measured": lambda: _fit(epsilon=5.0, basis=None),
    "measured, approximate": lambda: _fit(epsilon=5.0, delta=1e-6, basis=None),
    "measured, add-remove": lambda: _fit(
        epsilon=2.5,
        basis=None,
        neighbours="add-remove",
        public_size=61,
        bounds=ValueBounds(np.sin(GRID) - 2, 2 + GRID**2),
    ),
}

LABELS = {"domain": "hour of the day", "value": "load (MW)"}
GROUPS = np.where(np.arange(len(CURVES)) % 2, "case", "control")
PLACES = np.linspace(0.1, 0.9, 60)
PLANE = np.random.default_rng(3).uniform(size=(60, 2))
WAVES = 0.2 * np.sin(3 * np.linspace(0, 1, 12)) * np.linspace(-1, 1, 80)[:, None]
IMAGES = np.linspace(0, 1, 40 * 64).reshape(40, 8, 8)


def _second(kind: Any, **parameters: Any) -> Any:
    made = {"epsilon": 2.0, "center": 0.0, "radius": 0.4, **parameters}
    return kind(**made).fit(WAVES).release_


def _months(**parameters: Any) -> Any:
    made = PrivateRunningMean(
        bounds=(-3, 3), steps=6, domain=Domain(GRID, labels=LABELS), unit="home",
        **{"most_months": 1, **parameters},
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, made.open(Path(folder) / "state") as months:
        return [months.publish(CURVES) for _ in range(2)][-1]


def _machine(kind: Any, targets: Any, inputs: Any = PLACES[:, None], **parameters: Any) -> Any:
    return kind(2.0, bounds=(-1, 1), **parameters).fit(inputs, targets).release_


def _box(images: Any, *cells: int) -> Any:
    basis = BoxBasis.on_grid("cosine", cells, [(0.0, 1.0)] * len(cells))
    return PrivateMean(1.0, bounds=(0, 1), basis=basis).fit(images).release_


def _density(points: Any, **parameters: Any) -> Any:
    domain = parameters.pop("domain", [(0.0, 1.0)] * np.ndim(points))
    return PrivateDensity(1.0, domain_range=domain, **parameters).fit(points).release_


def _quantiles(**parameters: Any) -> Any:
    return PrivateQuantiles(1.0, domain=(0.0, 1.0), **parameters).fit(PLACES).release_


def _compared(groups: Any = GROUPS) -> Any:
    made = PrivateComparison(
        1.0, bounds=(-3, 3), domain=Domain(grid_points=GRID, labels=LABELS), unit="home"
    )
    return made.fit(CURVES, groups).release_


def _tested(**given: Any) -> Any:
    domain = Domain(grid_points=GRID, labels=LABELS)
    made = PrivateEqualityTest(1.0, bounds=(-3, 3), domain=domain, unit="home", **given)
    return made.fit(CURVES, GROUPS).release_


def _answered() -> Any:
    estimator = PrivateMean(1.0, 1e-6, bounds=(-3, 3), domain=Domain(GRID), mechanism="gaussian")
    with (
        tempfile.TemporaryDirectory() as folder,
        estimator.open_session(CURVES, Path(folder) / "session") as session,
    ):
        session.value(0.5)
        session.integral(0.0, 1.0)
        return load(session.export(Path(folder) / "answers.json"))


FOLLOWED = np.random.default_rng(4).exponential(0.6, 90)


def _survival(**given: Any) -> Any:
    made = {"domain": (0.0, 1.0), "cells": 4, "unit": "patient"} | given.pop("made", {})
    return PrivateSurvival(2.0, **made).fit(FOLLOWED, np.arange(90) % 4 > 0, **given).release_


def _hazards(**given: Any) -> Any:
    made = {"domain": Domain(domain_range=(0.0, 1.0), labels={"domain": "years"}), "unit": "patient"}
    known = {"age": (40, 90), "arm": ["a", "b", "c"]}
    estimator = PrivateCox(2.0, covariates=known, **{**made, "cells": 4, **given})
    columns = {"age": np.linspace(30, 95, 90), "arm": np.array(["a", "b", "c"])[np.arange(90) % 3]}
    return estimator.fit(FOLLOWED, np.arange(90) % 4 > 0, columns).release_


def _effects(**given: Any) -> Any:
    made = {"bounds": (-3, 3), "domain": Domain(GRID, labels=LABELS), "unit": "home"} | given
    covariates = {"area": (20, 200), "kind": ["flat", "house", "hut"]}
    kinds = np.array(["flat", "house", "hut"])[np.arange(61) % 3]
    estimator = PrivateFunctionalRegression(2.0, covariates=covariates, **made)
    return estimator.fit(CURVES, {"area": np.linspace(10, 210, 61), "kind": kinds}).release_


CLASSES = np.where(PLACES > 0.5, "high", "low")
BOTH = {"classes": ("low", "high")}
# Every kind, where its words, values or pictures differ.
KINDS: dict[str, Callable[[], Any]] = {
    "default mean": lambda: _fit(unit="home", labels=LABELS),
    "derivative of the default mean": lambda: _fit(mechanism="knorm").derivative(),
    "mean in a ball": lambda: _fit(bounds=L2Ball(3.0), mechanism="laplace"),
    "mean of a private number": lambda: _fit(neighbours="add-remove", delta=1e-6),
    "mean with weights": lambda: (
        PrivateMean(2.0, bounds=(-3, 3), unit=PrivacyUnit("home", neighbours="add-remove"))
        .fit(CURVES, weights=Weights(np.linspace(0, 9, len(CURVES)), 5))
        .release_
    ),
    "pooled mean": lambda: _fit(basis=None, missing="pooled", unit="person", labels=LABELS),
    "mean and variance": lambda: _fit(basis=None, variance=0.2, unit="home", labels=LABELS),
    "mean with a measured band, under rho": lambda: _fit(epsilon=None, rho=3.0, basis=None),
    "two looks": lambda: _fit(basis=None, epsilon=100.0, mechanism=TwoLooks()),
    "two looks, and how far the line is": lambda: (
        PrivateMean(100.0, bounds=(-3, 3), domain=Domain(np.linspace(0, 2, 120)))
        .fit(np.sin(3 * np.linspace(0, 2, 120)) + np.linspace(-0.5, 0.5, 61)[:, None])
        .release_
    ),
    "bounds looked for": lambda: _fit(basis=None, epsilon=100.0, bounds=Search(-300, 500)),
    "two stages": lambda: load(GOLDEN / "two_stages_private_spread.json"),
    "curve on a box": lambda: _box(np.linspace(0, 1, 20) * np.ones((50, 1)), 20),
    "image": lambda: _box(IMAGES, 8, 8),
    "solid": lambda: _box(np.ones((9, 3, 3, 3)), 3, 3, 3),
    "density": lambda: _density(PLACES),
    "density of whole numbers": lambda: _density(np.rint(PLACES * 20), domain=(0, 20), step=1),
    "density with atoms": lambda: _density(PLACES, domain=(0.0, 1.0), atoms=[0, 0.5]),
    "density of a private number": lambda: _density(PLACES, neighbours="add-remove", cells=8),
    "density by a kernel": lambda: _density(PLACES, mechanism=DensityKernel(components=8)),
    "density in the plane": lambda: _density(PLANE, cells=8),
    "conditional density": lambda: _density(PLANE, cells=8).conditional(0.4, axis=1),
    "quantiles": lambda: _quantiles(levels=(0.25, 0.5, 0.75), step=0.01),
    "median of a private number": lambda: _quantiles(neighbours="add-remove"),
    "reference band": lambda: (
        PrivateReferenceBand(1.0, bounds=(-3, 3), coverage=0.5, domain=Domain(GRID), unit="home")
        .fit(CURVES)
        .release_
    ),
    "running mean": lambda: _months(epsilon=1.0),
    "running mean, units in two months": lambda: _months(rho=0.5, most_months=2),
    "combined mean": lambda: _fit(basis=None).combined(_fit(basis=None, epsilon=2.0)),
    "quantile curves": lambda: (
        PrivateQuantileCurves(1.0, bounds=(-3, 3), domain=Domain(GRID), unit="home").fit(CURVES).release_
    ),
    "centiles of visits": lambda: (
        PrivateQuantileCurves(1.0, 1e-6, bounds=(-3, 3), domain=Domain(GRID), missing="pooled")
        .fit(CURVES)
        .release_[0.9]
    ),
    "regression on curves": lambda: (
        PrivateScalarOnFunction(
            1.0, bounds=(-3, 3), target_bounds=(-3, 3), covariates={"age": (0, 1)}, domain=Domain(GRID)
        )
        .fit(CURVES, CURVES[:, 0], np.linspace(0, 1, len(CURVES)))
        .release_
    ),
    "score curves": lambda: (
        PrivateScoreCurves(2.0, score_bounds=(0, 1), unit="patient").fit(PLACES, PLACES > 0.5).release_
    ),
    "score curves beyond risks": lambda: (
        PrivateScoreCurves(2.0, 1e-6, score_bounds=(-1, 9), neighbours="add-remove", cells=5)
        .fit(PLACES, PLACES > 0.5)
        .release_
    ),
    "synthetic curves": lambda: (
        PrivateCurveSampler(1.0, bounds=(-3, 3), domain=Domain(GRID)).fit(CURVES).release_
    ),
    "synthetic curves by group": lambda: (
        PrivateCurveSampler(1.0, bounds=(-3, 3), levels=("case", "control"), domain=Domain(GRID))
        .fit(CURVES, GROUPS)
        .release_
    ),
    "clusters of curves": lambda: (
        PrivateCurveClusters(1.0, bounds=(-3, 3), domain=Domain(GRID)).fit(CURVES).release_
    ),
    "histogram": lambda: _density(PLACES).raw,
    "histogram in the plane": lambda: _density(PLANE, cells=8).raw,
    "covariance": lambda: _second(PrivateCovariance, unit="person"),
    "covariance of a private number": lambda: _second(
        PrivateCovariance, bounds=(-1, 1), center="private", neighbours="add-remove"
    ),
    "covariance of visits": lambda: (
        PrivateCovariance(2.0, bounds=(-3, 3), domain=Domain(GRID, labels=LABELS), missing="pooled")
        .fit(CURVES)
        .release_
    ),
    "components": lambda: _second(PrivateFPCA, n_components=2),
    "directions": lambda: _second(PrivateFPCA, n_components=1, mechanism="exponential"),
    "several values": lambda: (
        PrivateVectorMean(2.0, bounds=(-3, 3), domain=Domain(GRID), unit="walker")
        .fit({"east": CURVES, "north": -CURVES})
        .release_
    ),
    "comparison": _compared,
    "crossed groups": lambda: _compared(
        {"case": GROUPS, "arm": np.where(np.arange(len(CURVES)) % 4 < 2, "a", "b")}
    ),
    "difference": lambda: _compared().difference("case", "control"),
    "test of equality": _tested,
    "test of slopes": lambda: _tested(look_for="slope", delta=1e-6),
    "answers": _answered,
    "survival": _survival,
    "survival by group": lambda: _survival(
        by=np.arange(90) % 2, made={"levels": (0, 1), "neighbours": "add-remove"}
    ),
    "survival with causes": lambda: _survival(
        start=FOLLOWED / 3,
        made={"causes": (0, 1), "censored": (), "delta": 1e-6, "noise": "gaussian", "cells": 5},
    ),
    "hazards": _hazards,
    "hazards by rounds": lambda: _hazards(delta=1e-6, method="rounds").at(age=60, arm="b"),
    "hazards in strata": lambda: _hazards(strata=["arm"], neighbours="add-remove", cells=6),
    "curves by covariates": _effects,
    "coefficient function": lambda: _effects(neighbours="add-remove", cells=5)["area"],
    "curve at covariates": lambda: _effects(delta=1e-6, noise="gaussian").at(kind="hut", area=50),
    "regression": lambda: _machine(PrivateKernelRegressor, PLACES, target_bounds=(-1, 2)),
    "regression on two inputs": lambda: _machine(
        PrivateKernelRegressor, PLANE[:, 0], PLANE, target_bounds=(-1, 2)
    ),
    "kernel regression": lambda: _machine(
        PrivateKernelRegressor, PLACES, target_bounds=(-1, 2), loss="huber"
    ),
    "kernel regression on two inputs": lambda: _machine(
        PrivateKernelRegressor, PLANE[:, 0], PLANE, target_bounds=(-1, 2), loss="squared"
    ),
    "classification": lambda: _machine(PrivateKernelClassifier, CLASSES, **BOTH),
    "margins": lambda: _machine(PrivateKernelClassifier, CLASSES, loss="hinge", **BOTH),
    "probabilities": lambda: _machine(PrivateKernelClassifier, CLASSES, loss="logistic", **BOTH),
    "descent": lambda: _machine(PrivateKernelClassifier, CLASSES, delta=1e-6, loss="logistic", **BOTH),
    "power looked for": lambda: _machine(
        PrivateKernelClassifier, CLASSES, PLANE, features=Features(power="search"), loss="hinge", **BOTH
    ),
    "lattice": lambda: release_function(lambda at: at[:, 0], 0.1, 1.0, 3, [(0, 1)]),
    "lattice in the plane": lambda: release_function(
        lambda at: at[:, 0] * at[:, 1], 0.1, 1.0, 2, [(0, 1), (0, 1)]
    ),
}


@cache
def made(name: str) -> Any:
    """One release of a kind, the same for all tests of a process: releases do not change."""
    return (KINDS | RELEASES)[name]()
