"""Everything public that can be called, with arguments that work: objects, methods, functions."""

import inspect
import secrets
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import dpfda
import dpfda.bases
import dpfda.bounds
import dpfda.datasets
import dpfda.privacy.composition
import dpfda.privacy.guarantees
import dpfda.privacy.ledger
import dpfda.testing
import dpfda.tuning
import dpfda.views
from dpfda import (
    Domain,
    PrivacyUnit,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateEqualityTest,
    PrivateFPCA,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    PrivateQuantiles,
    PrivateScoreCurves,
    PrivateVectorMean,
    Reading,
)
from dpfda.bounds import L2Ball, Search
from dpfda.covariance.strategies import Center, Exponential, MatrixNoise
from dpfda.machines.plan import Features, Solving
from dpfda.mean.settings import TwoLooks
from dpfda.mean.streams import MeanStream
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import ApproximateDP, PureDP
from dpfda.privacy.ledger import Ledger, MemoryLedger

with warnings.catch_warnings():
    # Of packages below it.
    warnings.simplefilter("ignore")
    from skfda.representation.basis import BSplineBasis

FOLDER = Path(tempfile.mkdtemp(prefix="dpfda-surface-"))
GRID = np.linspace(0, 1, 8)
CURVES = np.sin(3 * GRID) * np.linspace(-0.5, 0.5, 20)[:, None]
GROUPS = np.repeat(["a", "b"], 10)
POINTS = np.linspace(0.05, 0.95, 40)
INPUTS = np.column_stack([POINTS, POINTS[::-1]])
CLASSES = np.where(POINTS > 0.5, "up", "down")


def _first_month(made: Any) -> Any:
    """What is open after one month was published."""
    with made.open(FOLDER / f"{secrets.token_hex(8)}.state") as months:
        months.publish(CURVES)
    return months


# Estimators: arguments that work, and how they are fitted.
ESTIMATORS: dict[str, tuple[dict[str, Any], Callable[[Any], Any]]] = {
    "PrivateMean": ({"epsilon": 1.0, "bounds": (-1, 1)}, lambda made: made.fit(CURVES)),
    "PrivateVectorMean": (
        {"epsilon": 1.0, "bounds": (-1, 1)},
        lambda made: made.fit({"x": CURVES, "y": CURVES[::-1]}),
    ),
    "PrivateCovariance": (
        {"epsilon": 1.0, "center": Center(0.0, radius=0.5)},
        lambda made: made.fit(CURVES),
    ),
    "PrivateFPCA": (
        {
            "epsilon": 1.0,
            "center": Center(0.0, radius=0.5),
            "mechanism": Exponential(functions=4),
        },
        lambda made: made.fit(CURVES),
    ),
    "PrivateComparison": (
        {"epsilon": 1.0, "bounds": (-1, 1)},
        lambda made: made.fit(CURVES, GROUPS),
    ),
    "PrivateEqualityTest": (
        {"epsilon": 1.0, "bounds": (-1, 1)},
        lambda made: made.fit(CURVES, GROUPS),
    ),
    "PrivateDensity": ({"epsilon": 1.0, "domain": (0, 1)}, lambda made: made.fit(POINTS)),
    "PrivateQuantiles": ({"epsilon": 1.0, "domain": (0, 1)}, lambda made: made.fit(POINTS)),
    "PrivateReferenceBand": (
        {"epsilon": 1.0, "bounds": (-1, 1), "coverage": 0.1},
        lambda made: made.fit(CURVES),
    ),
    "PrivateRunningMean": (
        {"epsilon": 1.0, "bounds": (-1, 1), "steps": 3, "most_months": 2},
        _first_month,
    ),
    "PrivateQuantileCurves": (
        {"epsilon": 1.0, "bounds": (-1, 1)},
        lambda made: made.fit(CURVES),
    ),
    "PrivateSurvival": (
        {"epsilon": 1.0, "domain": (0, 1), "cells": 4},
        lambda made: made.fit(POINTS),
    ),
    "PrivateScoreCurves": (
        {"epsilon": 1.0, "score_bounds": (0, 1), "cells": 4},
        lambda made: made.fit(POINTS, POINTS > 0.5),
    ),
    "PrivateCox": (
        {"epsilon": 1.0, "domain": (0, 1), "cells": 4, "covariates": {"x": (0, 1)}},
        lambda made: made.fit(POINTS, None, {"x": POINTS}),
    ),
    "PrivateFunctionalRegression": (
        {"epsilon": 1.0, "bounds": (-1, 1), "covariates": {"x": (0, 1)}, "cells": 3},
        lambda made: made.fit(CURVES, POINTS[:20]),
    ),
    "PrivateScalarOnFunction": (
        {"epsilon": 1.0, "bounds": (-1, 1), "target_bounds": (0, 1)},
        lambda made: made.fit(CURVES, POINTS[:20]),
    ),
    "PrivateCurveSampler": ({"epsilon": 1.0, "bounds": (-1, 1)}, lambda made: made.fit(CURVES)),
    "PrivateCurveClusters": ({"epsilon": 1.0, "bounds": (-1, 1)}, lambda made: made.fit(CURVES)),
    "PrivateKernelRegressor": (
        {"epsilon": 1.0, "bounds": (0, 1), "target_bounds": (0, 1)},
        lambda made: made.fit(INPUTS, POINTS),
    ),
    "PrivateKernelClassifier": (
        {"epsilon": 1.0, "bounds": (0, 1), "classes": ("down", "up")},
        lambda made: made.fit(INPUTS, CLASSES),
    ),
}
# Objects that gather parameters: the parameter that takes each.
OWNERS = {
    "Domain": ("domain", Domain), "PrivacyUnit": ("unit", PrivacyUnit), "Reading": ("reading", Reading),
    "Center": ("center", Center),
    "MatrixNoise": ("mechanism", MatrixNoise), "Exponential": ("mechanism", Exponential),
    "Features": ("features", Features),
    "Solving": ("solver", Solving),
}  # fmt: skip


def _inside(owner: str, name: str, given: dict[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A fit with an object, by the fields of the object."""
    settled, fit = ESTIMATORS[name]
    parameter, kind = OWNERS[owner]

    def call(**k: Any) -> Any:
        return fit(getattr(dpfda, name)(**{**settled, parameter: kind(**k)}))

    return call, {**kind().get_params(), **given}


# Other things to call: arguments that work.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "L1Ball": (dpfda.bounds.L1Ball, {"radius": 1.0}),
    "L2Ball": (dpfda.bounds.L2Ball, {"radius": 1.0}),
    "ValueBounds": (dpfda.bounds.ValueBounds, {"lower": 0.0, "upper": 1.0}),
    "Search": (dpfda.bounds.Search, {"low": 0.0, "high": 1.0}),
    "BoxBound": (dpfda.bounds.BoxBound, {"half_widths": [1.0, 0.5]}),
    "Ellipsoid": (dpfda.bounds.Ellipsoid, {"semi_axes": [1.0, 0.5]}),
    "Ellipsoid of a kernel": (dpfda.bounds.Ellipsoid, {"radius": 1.0, "power": 1.0}),
    "DensityKernel": (dpfda.density.kernel.DensityKernel, {}),
    "CosineBasis": (dpfda.bases.CosineBasis.on_grid, {"components": 3, "grid_points": GRID}),
    "SineBasis": (dpfda.bases.SineBasis.on_grid, {"components": 3, "grid_points": GRID}),
    "FourierBasis": (dpfda.bases.FourierBasis.on_grid, {"components": 3, "grid_points": GRID}),
    "LegendreBasis": (dpfda.bases.LegendreBasis.on_grid, {"components": 3, "grid_points": GRID}),
    "BernsteinBasis": (dpfda.bases.BernsteinBasis.on_grid, {"degree": 3, "grid_points": GRID}),
    "KernelBasis": (
        dpfda.bases.KernelBasis.on_grid,
        {"kernel": dpfda.bases.kernels.default_kernel((0.0, 1.0)), "grid_points": GRID},
    ),
    "plug_in": (dpfda.tuning.plug_in, {"size": 100, "epsilon": 1.0, "decay": 3.0}),
    "release_function": (
        dpfda.release_function,
        {
            "target": np.zeros(4),
            "sensitivity": 0.1,
            "epsilon": 1.0,
            "degree": 3,
            "domain_range": (0, 1),
        },
    ),
    "cross_validate": (
        dpfda.tuning.cross_validate,
        {
            "curves": CURVES,
            "candidates": [PrivateMean(1.0, bounds=(-1, 1), mechanism="laplace")],
            "data_are_public": True,
            "folds": 2,
        },
    ),
    "private_selection": (
        dpfda.tuning.private_selection,
        {
            "candidates": [1, 2],
            "fit": lambda candidate, epsilon: PrivateMean(
                epsilon, bounds=(-1, 1), mechanism="laplace"
            ).fit(CURVES),
            "score": lambda fitted: 0.0,
            "epsilon": 1.0,
        },
    ),
    "load": (dpfda.load, {"path": "no such file"}),
    **{
        f"{owner} in {name}": _inside(owner, name, given)
        for owner, name, given in (
            ("Domain", "PrivateMean", {"grid_points": GRID}),
            ("Domain", "PrivateDensity", {"domain_range": (0, 1)}),
            ("PrivacyUnit", "PrivateMean", {"neighbours": "add-remove", "public_size": 20}),
            ("PrivacyUnit", "PrivateComparison", {}),
            ("PrivacyUnit", "PrivateDensity", {"neighbours": "add-remove", "public_size": 20}),
            ("Reading", "PrivateMean", {}),
            ("Reading", "PrivateDensity", {}),
            ("Center", "PrivateCovariance", {"curve": 0.0, "radius": 0.5}),
            ("MatrixNoise", "PrivateCovariance", {"functions": 4}),
            ("Exponential", "PrivateFPCA", {"functions": 4}),
            ("Features", "PrivateKernelRegressor", {"kind": "fourier", "components": 5}),
            ("Solving", "PrivateKernelRegressor", {"solver": "sums", "penalty": 0.1}),
        )
    },
    "guarantee_for": (dpfda.privacy.guarantees.guarantee_for, {"epsilon": 1, "delta": 0}),
    "budget": (dpfda.privacy.guarantees.budget, {"epsilon": 1, "delta": 0}),
    "asked": (dpfda.privacy.guarantees.asked, {"epsilon": 1, "delta": 0, "rho": None}),
    "PureDP": (dpfda.privacy.guarantees.PureDP, {"epsilon": 1}),
    "ApproximateDP": (dpfda.privacy.guarantees.ApproximateDP, {"epsilon": 1, "delta": "1e-6"}),
    "ZeroConcentratedDP": (dpfda.privacy.guarantees.ZeroConcentratedDP, {"rho": 1}),
}
LINE = dpfda.views.Line(GRID, GRID, "mean")
VIEW = dpfda.views.Curve((LINE,), "t", "x", "title")
TABLE = dpfda.views.Table({"a": GRID}, {"a": "numbers"})
GAUSSIAN = PrivateMean(1.0, bounds=(-1, 1), mechanism="laplace")
# Functions and classes of public modules: arguments that work.
CALLS |= {
    f"{module.__name__}.{name}": (getattr(module, name), given)
    for module, calls in {
        dpfda.privacy.composition: {
            "compose": {"releases": [PureDP(1)]},
            "account": {"releases": [PureDP(1)]},
            "Cost": {"guarantee": PureDP(1)},
            "attack_risk": {"costs": [Cost(PureDP(1))]},
            "PureLoss": {"epsilon": 1},
            "LaplaceLoss": {"epsilon": 1},
            "RangeLoss": {"epsilon": 1},
            "GaussianLoss": {"rho": 1},
            "ConcentratedLoss": {"rho": 1},
            "ApproximateLoss": {"epsilon": 1, "failure": "1e-6"},
            "BlockLoss": {"dimension": 3, "epsilon": 1},
            "BlocksLoss": {"epsilon": 1, "rho": "0.1"},
            "for_group": {"guarantee": PureDP(1), "size": 3},
            "for_replace_one": {"guarantee": PureDP(1)},
        },
        dpfda.privacy.ledger: {
            "Ledger": {"path": FOLDER / "some.ledger"},
            "Budget": {"guarantee": PureDP(1), "neighbours": "replace-one", "unit": "record"},
            "named_ledger": {},
        },
        dpfda.tuning: {"matern_decay": {"smoothness": 1.5}},
        dpfda.testing: {
            "simulate_releases": {"estimator": GAUSSIAN, "X": CURVES, "draws": 3, "seed": 1},
            "non_private_mean": {"estimator": GAUSSIAN, "X": CURVES},
        },
        dpfda.views: {
            "Line": {"points": GRID, "values": GRID, "label": "mean"},
            "Curve": {"lines": (LINE,), "x_label": "t", "y_label": "x", "title": "title"},
            "Panels": {
                "lines": (LINE,), "x_label": "t", "y_label": "x", "title": "title", "rows": ("a",),
                "columns": ("b",), "places": ((0, 0),),
            },
            "Image": {
                "values": np.eye(3), "extent": ((0, 1), (0, 1)), "x_label": "s", "y_label": "t",
                "value_label": "x", "title": "title",
            },
            "Table": {"columns": {"a": GRID}, "meanings": {"a": "numbers"}},
            "aligned": {"columns": {"a": ["1", "2"]}},
            "draw": {"view": VIEW},
            "draw_beside": {"views": (VIEW, VIEW)},
            "draw_panels": {"views": (VIEW, VIEW)},
            "given_axis": {"ax": None},
            "to_csv": {"table": TABLE},
            "to_frame": {"table": TABLE},
        },
        dpfda.bounds: {"read_bounds": {"bounds": (0, 1), "standardize": False}},
    }.items()
    for name, given in calls.items()
}  # fmt: skip
# What the library makes, or hands to itself, in these modules; protocols.
NOT_FOR_USERS = {
    "Account", "Amount", "AttackRisk", "Basis", "BodyNorm", "Bound", "CLOSED_FORMS", "CrossValidation",
    "Cube", "Guarantee", "IntegerBall", "IntegerBody", "KINDS", "L1Rule", "LatticeBounds", "Ledger",
    "Loss", "MemoryLedger", "Named", "Neighbours", "Norm", "NotPrivate", "OnGrid", "PlugIn", "Record",
    "Released", "Reservation", "Selection", "Stopping", "TemperatureCurves", "USUAL_DELTA", "View",
    "added",
    "ball_of", "block_length", "check_law", "check_mechanism", "check_release", "check_summary",
    "checked_guarantee", "exact_totals", "estimated_profile", "filter_charge",
    "gaussian_delta", "gaussian_epsilon", "gaussian_limit", "gaussian_rho", "l1_rule", "l1_sum",
    "laplace_rho", "largest",
    "load_temperatures", "loss_from_json", "loss_of", "named_once", "on_grid", "prepared_looks",
    "pure_rho", "released_coefficients", "simulate_density", "simulated_coefficients", "split",
    "to_json_lines", "pure_part", "within", "without_delta", "zcdp_delta", "zcdp_epsilon",
}  # fmt: skip
# Modules whose functions and classes users call.
MODULES: tuple[ModuleType, ...] = (
    dpfda, dpfda.bases, dpfda.bounds, dpfda.datasets, dpfda.privacy.composition,
    dpfda.privacy.guarantees, dpfda.privacy.ledger, dpfda.tuning, dpfda.testing, dpfda.views,
)  # fmt: skip
# Methods that the library calls itself, with arrays that it made or files that it read.
SEAMS = {
    "assemble", "body", "center_on", "charged", "curves_on", "from_json", "fulfilled",
    "of", "on_basis", "paid_with", "part", "prepare", "prepare_counts",
    "radius_on", "remade", "restrict", "scaled_transform", "to_json", "values_at", "weighted",
    "with_prior",
}  # fmt: skip
# Methods of scikit-learn, which raise its errors.
LEARN = {
    "get_feature_names_out", "get_metadata_routing", "get_params", "set_fit_request", "set_output",
    "set_params", "score",
    "set_partial_fit_request", "set_predict_request", "set_score_request", "set_transform_request",
    "set_inverse_transform_request",
}  # fmt: skip
# What releases are combined with.
OTHER = PrivateMean(1.0, bounds=(-1, 1)).fit(CURVES).release_
# Arguments that work, by name, for parameters without a default.
GIVEN: dict[str, Any] = {
    "points": [0.2, 0.4], "first": 0.2, "second": 0.4, "level": 0.9, "index": 0, "curves": CURVES,
    "road": "fit", "beyond": 0.1, "scores": np.zeros((2, 1)), "X": CURVES[:3], "start": 0.1, "end": 0.7,
    "path": FOLDER / "written",
    "order": 1, "function": np.cos, "shape": (4, 4), "name": "a", "point": 0.3, "levels": [0.1, 0.5],
    "n": 3, "generator": np.random.default_rng(0), "draws": 4, "components": 2, "grid_points": GRID,
    "degree": 3, "smoothing": 0.1, "dataset": "a", "reason": "more", "guarantee": PureDP("0.001"),
    "times": 2, "costs": PureDP("0.001"), "file": "x.json", "blocks": iter([CURVES]),
    "basis": BSplineBasis(n_basis=5, domain_range=(0, 1)),
    "entry": {"neighbours": "replace-one", "privacy_unit": "record"},
    "charges": [(PureDP("0.001"), {"neighbours": "replace-one", "privacy_unit": "record"})],
    "inputs": 1, "other": OTHER,
}  # fmt: skip
# Of one kind of object, or of one of its methods, where the name alone does not say it.
OWN: dict[str, dict[str, Any]] = {
    "comparison": {"first": "a", "second": "b"},
    "derivative.combined": {"other": OTHER.derivative()},
    "gaussian.combined": {
        "other": PrivateMean(1.0, 1e-6, bounds=L2Ball(1), mechanism="gaussian").fit(CURVES).release_
    },
    "cost": {"law": Cost(PureDP(1)), "other": Cost(PureDP(1)), "losses": [], "guarantee": PureDP(1)},
    "machine": {"points": INPUTS[:2]},
    "regression": {"points": INPUTS[:2]},
    "field": {"points": [[0.2, 0.3]]},
    "two-dimensional density": {"points": [[0.2, 0.3]]},
    "two-dimensional density.cdf": {"points": [0.2]},
    "two-dimensional density.conditional": {"value": 0.2},
    "conditional density": {"value": 0.2},
    "box basis": {
        "points": [[0.2, 0.3]], "values": np.ones((4, 4)), "coefficients": np.ones(2),
        "kinds": "cosine", "domain_range": [(0, 1), (0, 1)],
    },
    **{
        f"{name}.to_fdatagrid": {"points": ([0.2, 0.3], [0.1, 0.5])}
        for name in ("field", "two-dimensional density", "machine", "regression")
    },
    "kernel basis": {"kernel": dpfda.bases.kernels.default_kernel((0.0, 1.0))},
    "bernstein basis": {"components": 4},
    "classifier": {"X": INPUTS, "y": CLASSES},
    "regressor": {"X": INPUTS, "y": POINTS},
    "density.conditional": {"value": 0.2},
    "density estimator": {"X": POINTS, "counts": [3, 4, 0, 1, 5, 2], "edges": np.linspace(0, 1, 7)},
    "comparing estimator": {"X": CURVES, "y": GROUPS, "n": 8},
    "testing estimator": {"X": CURVES, "y": GROUPS, "n": 8},
    "plan of a test.least_n": {"error": 0.05}, "plan of a test.least_epsilon": {"error": 0.05},
    "quantiles estimator": {"X": POINTS}, "quantiles.to_fdatagrid": {"points": [0.1, 0.5]},
    "quantiles.interval": {"share": 0.5},
    "score curves": {"threshold": 0.4, "thresholds": [0.2, 0.4], "scores": [0.2, 0.4]},
    "several values": {"name": "x"}, "estimator of several values": {"X": {"x": CURVES, "y": CURVES}},
    "estimator of several values.plan": {"channels": ("x", "y")},
    **{
        f"plan of several values.{name}": {"error": 0.05}
        for name in ("between", "least_n", "least_epsilon")
    },
    "plan of quantiles.between": {"error": 0.05}, "plan of a test.between": {"error": 0.05},
    "plan of quantiles.least_n": {"error": 0.05}, "plan of quantiles.least_epsilon": {"error": 0.05},
    "component estimator.inverse_transform": {"X": np.zeros((2, 1))},
    "mean estimator": {"X": CURVES},
    "memory ledger.create": {"dataset": "b"},
    "file ledger.create": {"dataset": "b"},
    "session.open": {
        "estimator": PrivateMean(1.0, 1e-6, bounds=(-1, 1), mechanism="gaussian"), "X": CURVES,
    },
}  # fmt: skip
# What a kind refuses whatever is asked: no probabilities, its own stream, a second session.
NEVER = {
    # What has bands of its parts, or none at all.
    "components.band", "comparison.band", "test of equality.band", "several values.band",
    "quantiles.band",
    "regression.predict_proba", "stream.merge", "mean estimator.open_session", "session.resume",
    "session.open",
    # The fit counts a table, whose edges are the cells: there are none for points in several places.
    "density estimator.pooled_on",
    "memory ledger.raise_budget", "file ledger.raise_budget",
    "several values.to_basis", "field.to_basis", "covariance.to_basis", "machine.to_basis",
    "two-dimensional density.to_basis",
    "two-dimensional density.quantile_interval", "regression.to_basis", "quantiles.to_basis",
    # Of one variable already, and out of cells in the plane.
    "density.conditional", "conditional density.conditional", "conditional density.quantile_interval",
}  # fmt: skip


@cache
def objects() -> dict[str, Any]:
    """One public object of every kind, made once."""
    images = np.random.default_rng(1).uniform(size=(30, 4, 4))
    box = dpfda.bases.BoxBasis.on_grid("cosine", (4, 4), [(0, 1), (0, 1)])
    mean = PrivateMean(1.0, bounds=(-1, 1)).fit(CURVES)
    covariance = PrivateCovariance(
        1.0, center=Center(0.0, radius=0.5), mechanism=MatrixNoise(functions=3)
    ).fit(CURVES)
    comparison = PrivateComparison(1.0, bounds=(-1, 1), levels=["a", "b"]).fit(CURVES, GROUPS)
    tested = PrivateEqualityTest(1.0, bounds=(-1, 1), levels=["a", "b"]).fit(CURVES, GROUPS)
    components = PrivateFPCA(
        1.0, n_components=1, center=Center(0.0, radius=0.5), mechanism=MatrixNoise(functions=3)
    ).fit(CURVES)
    several = PrivateVectorMean(1.0, bounds=(-1, 1), channels=("x", "y"))
    several.fit({"x": CURVES, "y": CURVES[::-1]})
    density = PrivateDensity(1.0, domain=(0, 1), cells=6).fit(POINTS)
    plane = PrivateDensity(1.0, domain=[(0, 1), (0, 1)], cells=3).fit(INPUTS)
    quantiles = PrivateQuantiles(1.0, levels=[0.1, 0.5], domain=(0, 1)).fit(POINTS)
    classes = PrivateKernelClassifier(1.0, bounds=(0, 1), classes=("down", "up"), loss="logistic")
    targets = PrivateKernelRegressor(1.0, bounds=(0, 1), target_bounds=(0, 1)).fit(INPUTS, POINTS)
    gaussian = PrivateMean(1.0, 1e-6, bounds=(-1, 1), mechanism="gaussian")
    memory = MemoryLedger().create("a", PureDP(50))
    basis = dpfda.bases.CosineBasis.on_grid(3, GRID)
    return {
        "function": mean.release_,
        "derivative": mean.release_.derivative(),
        "gaussian": PrivateMean(1.0, 1e-6, bounds=L2Ball(1), mechanism="gaussian").fit(CURVES).release_,
        "two looks": PrivateMean(500.0, bounds=(-1, 1), mechanism=TwoLooks()).fit(CURVES).release_,
        "found": PrivateMean(500.0, bounds=Search(-9, 9)).fit(CURVES).release_,
        "field": PrivateMean(1.0, bounds=(0, 1), basis=box).fit(images).release_,
        "covariance": covariance.release_,
        "components": components.release_,
        "eigenfunction": components.release_.function(0),
        "comparison": comparison.release_,
        "difference": comparison.release_.difference("a", "b"),
        "test of equality": tested.release_,
        "plan of a test": tested.plan(40),
        "testing estimator": tested,
        "several values": several.release_,
        "plan of several values": several.plan(40, channels=2),
        "estimator of several values": several,
        "density": density.release_,
        "quantiles": quantiles.release_,
        "plan of quantiles": quantiles.plan(40),
        "quantiles estimator": quantiles,
        "score curves": PrivateScoreCurves(1.0, score_bounds=(0, 1)).fit(POINTS, POINTS > 0.5).release_,
        "conditional density": plane.release_.conditional(0.4),
        "two-dimensional density": plane.release_,
        "histogram": density.release_.raw,
        "machine": classes.fit(INPUTS, CLASSES).release_,
        "regression": targets.release_,
        "lattice": dpfda.release_function(np.zeros(4), 0.1, 1.0, 3, (0, 1)),
        "band": mean.release_.band(),
        "certificate": mean.release_.certificate,
        "session": gaussian.open_session(CURVES, FOLDER / "session"),
        "memory ledger": memory,
        "file ledger": Ledger(FOLDER / "ledger").create("a", PureDP(50)),
        "reservation": memory.reserve("a", PureDP("0.001"), 3),
        "stream": MeanStream(PrivateMean(1.0, bounds=(-1, 1)).plan(9, GRID.size)),
        "mean estimator": mean,
        "covariance estimator": covariance,
        "component estimator": components,
        "comparing estimator": comparison,
        "density estimator": PrivateDensity(1.0, domain=(0, 1)).fit(POINTS),
        "classifier": classes,
        "regressor": targets,
        "cosine basis": basis,
        "bernstein basis": dpfda.bases.BernsteinBasis.on_grid(3, GRID),
        "kernel basis": mean.release_.basis,
        "box basis": box.truncate(2),
        "guarantee": ApproximateDP(1, "1e-6"),
        "cost": Cost(PureDP(1)),
    }


def public_methods(kind: str, thing: Any) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """Name, method and arguments that work, of each public method that takes any."""
    for name, method in inspect.getmembers(type(thing), callable):
        if (name.startswith("_") and name not in ("__call__", "__getitem__")) or name in SEAMS | LEARN:
            continue
        try:
            parameters = inspect.signature(getattr(thing, name)).parameters
        except (TypeError, ValueError):
            continue
        own = {**OWN.get(kind, {}), **OWN.get(f"{kind}.{name}", {})}
        known = {**GIVEN, **own}
        needed = {
            parameter.name: known.get(parameter.name)
            for parameter in parameters.values()
            if (parameter.default is parameter.empty or parameter.name in own)
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        }
        if "overwrite" in parameters:
            needed["overwrite"] = True
        if name == "load":
            kept = FOLDER / kind
            needed["path"] = kept if kept.is_file() else thing.save(kept)
        if name in ("contains", "reach"):
            needed["values"] = thing.lower
        if parameters:
            yield name, method, needed


def arguments() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Arguments of estimators, bounds, bases and functions."""
    for name, (given, fit) in ESTIMATORS.items():
        kind = getattr(dpfda, name)
        for parameter in inspect.signature(kind).parameters:
            yield (
                f"{name}({parameter})",
                lambda odd, k=kind, g=given, p=parameter, f=fit: f(k(**{**g, p: odd})),
            )
    for name, (call, given) in CALLS.items():
        known = [*inspect.signature(call).parameters]
        for parameter in {*known, *given} - {"k"}:
            yield f"{name}({parameter})", lambda odd, c=call, g=given, p=parameter: c(**{**g, p: odd})


def questions() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Arguments of the methods of public objects."""
    for kind, thing in objects().items():
        for name, method, needed in public_methods(kind, thing):
            for parameter in inspect.signature(method).parameters.values():
                if parameter.name == "self" or parameter.kind is parameter.VAR_KEYWORD:
                    continue
                yield (
                    f"{kind}.{name}({parameter.name})",
                    lambda odd, t=thing, n=name, g=needed, p=parameter.name: getattr(t, n)(
                        **{**g, p: odd}
                    ),
                )
