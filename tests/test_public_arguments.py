"""Odd values for every public argument: each works, or is refused at once in the library's own words.

Run as a program for all of them: ``python tests/test_public_arguments.py``.
"""

import inspect
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import dpfda
from dpfda import (
    L2Ball,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    TwoStageMean,
)
from dpfda.errors import DpfdaError

POOL: dict[str, Any] = {
    "None": None,
    "-1": -1,
    "0": 0,
    "1": 1,
    "True": True,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "1e-320": 1e-320,
    "1e-160": 1e-160,
    "1e160": 1e160,
    "1e300": 1e300,
    "1e13": 1e13,
    "10**400": 10**400,
    "-(10**400)": -(10**400),
    "1/10**400": Fraction(1, 10**400),
    "5": 5,
    "2.5": 2.5,
    "1j": 1j,
    "'x'": "x",
    "''": "",
    "'1'": "1",
    "b'x'": b"x",
    "[]": [],
    "()": (),
    "{}": {},
    "set": {1, 2},
    "object": object(),
    "type": float,
    "lambda": lambda *_: None,
    "(0, 1)": (0, 1),
    "(1, 0)": (1, 0),
    "(nan, 1)": (float("nan"), 1),
    "('a', 'b')": ("a", "b"),
    "nested": [[1, 2], [3]],
    "empty array": np.array([]),
    "scalar array": np.array(2.0),
    "one entry": np.array([1.0]),
    "three": np.array([1.0, 2.0, 3.0]),
    "matrix": np.ones((2, 3)),
    "cube": np.zeros((1, 2, 3)),
    "objects": np.array([None, "a"], dtype=object),
    "text array": np.array(["a", "b"]),
    "complex array": np.array([1j, 2]),
    "masked": np.ma.masked_array([1.0, 2.0], [True, False]),
    "np.int64": np.int64(3),
    "np.float32": np.float32(0.3),
    "date": np.datetime64("2026-01-01"),
    "{'domain': 1}": {"domain": 1},
    "{1: 'a'}": {1: "a"},
    "number in text": "1e999999999",
    "Decimal": Decimal("1e999999999"),
}
SECONDS = 2.0

GRID = np.linspace(0, 1, 8)
CURVES = np.sin(3 * GRID) * np.linspace(-0.5, 0.5, 20)[:, None]
GROUPS = np.repeat(["a", "b"], 10)
POINTS = np.linspace(0.05, 0.95, 40)
INPUTS = np.column_stack([POINTS, POINTS[::-1]])
CLASSES = np.where(POINTS > 0.5, "up", "down")

# Estimators: arguments that work, and how they are fitted.
ESTIMATORS: dict[str, tuple[dict[str, Any], Callable[[Any], Any]]] = {
    "PrivateMean": ({"epsilon": 1.0, "bounds": (-1, 1)}, lambda made: made.fit(CURVES)),
    "TwoStageMean": (
        {"epsilon": 1.0, "bounds": (-1, 1), "spread": 0.3},
        lambda made: made.fit(CURVES),
    ),
    "PrivateCovariance": (
        {"epsilon": 1.0, "radius": 0.5, "center": 0.0},
        lambda made: made.fit(CURVES),
    ),
    "PrivateFPCA": (
        {"epsilon": 1.0, "radius": 0.5, "center": 0.0, "method": "exponential", "components": 4},
        lambda made: made.fit(CURVES),
    ),
    "PrivateComparison": (
        {"epsilon": 1.0, "bounds": (-1, 1)},
        lambda made: made.fit(CURVES, GROUPS),
    ),
    "PrivateDensity": ({"epsilon": 1.0, "domain_range": (0, 1)}, lambda made: made.fit(POINTS)),
    "PrivateKernelRegressor": (
        {"epsilon": 1.0, "bounds": (0, 1), "target_bounds": (0, 1)},
        lambda made: made.fit(INPUTS, POINTS),
    ),
    "PrivateKernelClassifier": (
        {"epsilon": 1.0, "bounds": (0, 1), "classes": ("down", "up")},
        lambda made: made.fit(INPUTS, CLASSES),
    ),
}
# Other things to call: arguments that work.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "L1Ball": (dpfda.L1Ball, {"radius": 1.0}),
    "L2Ball": (dpfda.L2Ball, {"radius": 1.0}),
    "ValueBounds": (dpfda.ValueBounds, {"lower": 0.0, "upper": 1.0}),
    "BoxBound": (dpfda.BoxBound, {"half_widths": [1.0, 0.5]}),
    "Ellipsoid": (dpfda.Ellipsoid, {"semi_axes": [1.0, 0.5]}),
    "Ellipsoid of a kernel": (dpfda.Ellipsoid, {"radius": 1.0, "power": 1.0}),
    "DensityKernel": (dpfda.DensityKernel, {}),
    "CosineBasis": (dpfda.CosineBasis.on_grid, {"components": 3, "grid_points": GRID}),
    "SineBasis": (dpfda.SineBasis.on_grid, {"components": 3, "grid_points": GRID}),
    "FourierBasis": (dpfda.FourierBasis.on_grid, {"components": 3, "grid_points": GRID}),
    "LegendreBasis": (dpfda.LegendreBasis.on_grid, {"components": 3, "grid_points": GRID}),
    "BernsteinBasis": (dpfda.BernsteinBasis.on_grid, {"degree": 3, "grid_points": GRID}),
    "KernelBasis": (
        dpfda.KernelBasis.on_grid,
        {"kernel": dpfda.bases.kernels.default_kernel((0.0, 1.0)), "grid_points": GRID},
    ),
    "plug_in": (dpfda.plug_in, {"size": 100, "epsilon": 1.0, "decay": 3.0}),
    "release_bernstein": (
        dpfda.release_bernstein,
        {
            "target": np.zeros(4),
            "sensitivity": 0.1,
            "epsilon": 1.0,
            "degree": 3,
            "domain_range": (0, 1),
        },
    ),
    "cross_validate": (
        dpfda.cross_validate,
        {
            "curves": CURVES,
            "candidates": [PrivateMean(1.0, bounds=(-1, 1), mechanism="laplace")],
            "data_are_public": True,
            "folds": 2,
        },
    ),
    "private_selection": (
        dpfda.private_selection,
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
    "row_blocks": (lambda **k: list(dpfda.row_blocks(**k)), {"array": CURVES, "rows": 7}),
    "guarantee_for": (dpfda.privacy.guarantees.guarantee_for, {"epsilon": 1, "delta": 0}),
    "PureDP": (dpfda.privacy.guarantees.PureDP, {"epsilon": 1}),
    "ApproximateDP": (dpfda.privacy.guarantees.ApproximateDP, {"epsilon": 1, "delta": "1e-6"}),
    "ZeroConcentratedDP": (dpfda.privacy.guarantees.ZeroConcentratedDP, {"rho": 1}),
}
# What is made by the library itself, from arguments that are covered here.
NOT_CALLED = {
    "BoxBasis", "FourierFeatures", "FunctionalSession", "KroneckerBasis", "LandmarkFeatures",
    "LatticeRelease", "LinearFeatures", "LongCurves", "MeanStream", "ReleasedComparison",
    "ReleasedComponents", "ReleasedCovariance", "ReleasedDensity", "ReleasedField", "ReleasedFunction",
    "ReleasedPredictor", "TwoStageFunction",
}  # fmt: skip
# Methods of releases that write files or draw are called with paths and axes only by other tests.
NO_ODD = {"save", "load", "plot", "to_csv"}
GIVEN: dict[str, Any] = {
    "points": [0.2, 0.4], "first": 0.2, "second": 0.4, "start": 0.2, "end": 0.4, "level": 0.9,
    "index": 0, "curves": CURVES, "scores": np.zeros((2, 1)), "X": INPUTS[:2], "probabilities": [0.5],
    "size": 3, "count": 2, "order": 1, "other": None, "function": np.cos, "inputs": INPUTS[:2],
    "shape": (4, 4), "group": "a", "reference": "b", "name": "a", "values": [0.1],
}  # fmt: skip


def releases() -> dict[str, Any]:
    """One of every kind."""
    machine = PrivateKernelClassifier(1.0, bounds=(0, 1), classes=("down", "up"), loss="logistic")
    return {
        "function": PrivateMean(1.0, bounds=(-1, 1)).fit(CURVES).release_,
        "two stages": TwoStageMean(1.0, bounds=L2Ball(1), spread="private").fit(CURVES).release_,
        "covariance": PrivateCovariance(1.0, center=0.0, radius=0.5).fit(CURVES).release_,
        "components": PrivateFPCA(1.0, n_components=1, center=0.0, radius=0.5).fit(CURVES).release_,
        "comparison": PrivateComparison(1.0, bounds=(-1, 1)).fit(CURVES, GROUPS).release_,
        "density": PrivateDensity(1.0, domain_range=(0, 1)).fit(POINTS).release_,
        "machine": machine.fit(INPUTS, CLASSES).release_,
        "regression": PrivateKernelRegressor(1.0, bounds=(0, 1), target_bounds=(0, 1))
        .fit(INPUTS, POINTS)
        .release_,
        "lattice": dpfda.release_bernstein(np.zeros(4), 0.1, 1.0, 3, (0, 1)),
    }


def cases() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Every public argument: its name, and a call with an odd value for it."""
    yield from arguments()
    yield from questions()


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
    """Arguments of the methods of releases."""
    for kind, release in releases().items():
        for name, method in inspect.getmembers(type(release), callable):
            if (name.startswith("_") and name != "__call__") or name in NO_ODD:
                continue
            parameters = [*inspect.signature(method).parameters.values()][1:]
            needed = {p.name: GIVEN.get(p.name) for p in parameters if p.default is p.empty}
            for parameter in parameters:
                yield (
                    f"{kind}.{name}({parameter.name})",
                    lambda odd, r=release, n=name, g=needed, p=parameter.name: getattr(r, n)(
                        **{**g, p: odd}
                    ),
                )


def complaint(call: Callable[[Any], Any], odd: Any) -> str | None:
    """What is wrong with the answer to an odd value; None where nothing is."""
    start = time.perf_counter()
    try:
        call(odd)
    except (DpfdaError, NotFittedError):
        pass
    except Exception as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = (
            "" if place is None else f"{Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}"
        )
        return f"{type(error).__name__}: {str(error)[:90]} [{where}]"
    taken = time.perf_counter() - start
    return f"took {taken:.1f} s" if taken > SECONDS else None


def test_every_public_name_is_covered():
    named = {name.split(" ")[0] for name in (*ESTIMATORS, *CALLS)}
    assert set(dpfda.__all__) <= named | NOT_CALLED


@pytest.mark.parametrize("share", range(3))
def test_odd_arguments_work_or_are_refused_in_our_words(share):
    tried = [(n, c, key) for n, c in arguments() for key in POOL]
    chosen = np.random.default_rng(2026 + share).permutation(len(tried))[:400]
    wrong = []
    for number in chosen:
        name, call, key = tried[number]
        found = complaint(call, POOL[key])
        if found is not None:
            wrong.append(f"{name} = {key}: {found}")
    assert not wrong, "\n".join(wrong)


def main(only: str) -> None:
    warnings.simplefilter("error")
    count = bad = 0
    for name, call in cases():
        if only not in name:
            continue
        groups: dict[str, list[str]] = {}
        for key, odd in POOL.items():
            count += 1
            found = complaint(call, odd)
            if found is not None:
                bad += 1
                groups.setdefault(found, []).append(key)
        for found, keys in groups.items():
            print(f"{name}: {', '.join(keys)}\n    {found}", flush=True)
    print(f"{bad} of {count}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
