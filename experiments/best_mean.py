"""How near the library's mean comes to the best possible: the 24 settings of Table 2, and beyond.

Run `python -m experiments.best_mean` (`--quick` for few draws) with DPFDA_DATA_DIR set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from dpfda import PrivateMean, Reading
from dpfda.datasets import load_temperatures
from dpfda.mechanisms.design import expected_error, least_error
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP
from dpfda.publication import Prepared
from dpfda.testing import non_private_mean, simulated_coefficients
from experiments import common
from experiments.best_mean_page import draw_picture, write_page
from experiments.common import Floats, Options, trapezoid
from experiments.recipe import RANGE, SMOOTHNESS

SEED = 2026112603
DRAWS, QUICK_DRAWS = 8000, 400
EPSILONS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
# Two guarantees beside pure ones, at which Gaussian noise is used.
OTHERS: tuple[tuple[str, Guarantee], ...] = (
    ("pure, epsilon 1", PureDP(1)),
    ("(1, 1e-6)", ApproximateDP(1, 1e-6)),
    ("zCDP, rho 1/2", ZeroConcentratedDP("1/2")),
)
RIVALS = {"iclp_rkhs": "iclp", "iid_laplace": "iid-laplace"}

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Source:
    """Curves, the unit of privacy of each, and whether the paper printed errors for them.

    Parameters
    ----------
    name : str
    curves : array (n, m)
        Raw, NaN where missing.
    groups : array (n,) or None
        Unit of each curve; None takes each curve for a unit.
    """

    name: str
    curves: Floats
    groups: Any = None


def sources() -> list[Source]:
    """Electricity, DTI by scan and by person, and the packaged temperatures."""
    scans, people = common.scans()
    return [
        Source("electricity", common.electricity()),
        Source("dti_cca", scans),
        Source("dti_cca by person", scans, people),
        Source("temperatures", load_temperatures().values),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all settings; write best_mean.csv, best_mean_other.csv, best_mean.md and best_mean.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    draws = QUICK_DRAWS if options.quick else DRAWS
    rows, others = run(options, draws), run_others(options, draws)
    common.write_csv(options.results / "best_mean.csv", rows)
    common.write_csv(options.results / "best_mean_other.csv", others)
    write_page(options.results / "best_mean.md", rows, others, options.seed, draws)
    draw_picture(options.results / "best_mean.png", rows)


def run(options: Options, draws: int) -> list[Row]:
    """One row a data set, kernel and epsilon, under pure differential privacy."""
    printed = {
        (line["dataset"], line["kernel"], float(line["epsilon"])): float(line["iclp_rkhs"])
        for line in common.printed("table2")
    }
    cells = [(source, kernel, eps) for source in sources() for kernel in SMOOTHNESS for eps in EPSILONS]
    seeds = np.random.SeedSequence(options.seed).spawn(len(cells))
    rows = []
    for (source, kernel, epsilon), seed in common.shown(zip(cells, seeds, strict=True), "best mean"):
        row: Row = {"dataset": source.name, "kernel": kernel, "epsilon": epsilon}
        row["printed"] = printed.get((source.name, kernel, epsilon), math.nan)
        named = Matern(RANGE, nu=SMOOTHNESS[kernel])
        columns: list[tuple[str, Any, str]] = [(name, named, law) for name, law in RIVALS.items()]
        # Without a kernel the library's own: the same release for both kernels of the paper.
        columns += [("named", named, "auto"), ("ours", None, "auto")]
        # No two columns share their luck: a ratio of two would inherit it.
        for (column, prior, law), own in zip(columns, seed.spawn(len(columns)), strict=True):
            row |= _errors(column, source, prior, law, PureDP(epsilon), own, draws)
        rows.append(row | _stated(source, None, PureDP(epsilon)))
    return rows


def run_others(options: Options, draws: int) -> list[Row]:
    """Approximate and zero-concentrated privacy, beside the Gaussian process of Mirshani et al."""
    cells = [(source, name, guarantee) for source in sources() for name, guarantee in OTHERS]
    # Other streams than those of `run`, two a cell.
    seeds = np.random.SeedSequence([options.seed, len(cells)]).spawn(2 * len(cells))
    rows = []
    for index, (source, name, guarantee) in enumerate(common.shown(cells, "other guarantees")):
        ours, process = seeds[2 * index : 2 * index + 2]
        row: Row = {"dataset": source.name, "guarantee": name}
        row |= _errors("ours", source, None, "auto", guarantee, ours, draws)
        row |= _stated(source, None, guarantee)
        if not isinstance(guarantee, PureDP):
            named = Matern(RANGE, nu=1.5)
            row |= _errors("process", source, named, "gaussian-process", guarantee, process, draws)
        else:
            row |= dict.fromkeys(("process", "process_se", "process_equal"), math.nan)
        rows.append(row)
    return rows


def _prepared(source: Source, kernel: Any, mechanism: str, guarantee: Guarantee) -> Prepared:
    """Standardised curves, by unit: the l2 bound 1 holds by construction. Nothing is read from them."""
    prepared = _summed(source.name, kernel is None, 0.0 if kernel is None else float(kernel.nu))
    return replace(prepared, plan=replace(prepared.plan, mechanism=mechanism, guarantee=guarantee))


@cache
def _summed(name: str, own: bool, smoothness: float) -> Prepared:
    """All coefficients of the sum, from which a design takes the leading ones."""
    source = next(each for each in sources() if each.name == name)
    return _estimator(own, smoothness).prepare(source.curves, source.groups)


def _estimator(own: bool, smoothness: float) -> PrivateMean:
    kernel = None if own else Matern(RANGE, nu=smoothness)
    return PrivateMean(
        1.0, reading=Reading(standardize=True, missing="complete"), basis=kernel, mechanism="laplace"
    )


@cache
def _target(name: str) -> Floats:
    """Mean of the standardised curves of the units: what a release should be near."""
    source = next(each for each in sources() if each.name == name)
    # The smoothest kernel would cut off what the grid can tell: take the roughest.
    return np.asarray(non_private_mean(_estimator(False, 0.5), source.curves, source.groups))


def _errors(
    column: str,
    source: Source,
    kernel: Any,
    mechanism: str,
    guarantee: Guarantee,
    seed: np.random.SeedSequence,
    draws: int,
) -> Row:
    """Mean squared distance of simulated releases to the mean, and its standard error.

    The distance is the library's, with trapezoid weights; `equal` is the paper's, with equal weights
    1/m, so that what stands beside a printed number is measured as that was.
    """
    prepared = _prepared(source, kernel, mechanism, guarantee)
    coefficients = simulated_coefficients(prepared, np.random.default_rng(seed), draws)
    basis = prepared.plan.basis
    functions = basis.evaluate(basis.grid_points)[:, : coefficients.shape[1]]
    squares = (coefficients @ functions.T - _target(source.name)) ** 2
    distances = squares @ trapezoid(source.curves.shape[1])
    error = float(distances.std(ddof=1)) / math.sqrt(draws)
    return {
        column: float(distances.mean()),
        f"{column}_se": error,
        f"{column}_equal": float(squares.mean()),
    }


def _stated(source: Source, kernel: Any, guarantee: Guarantee) -> Row:
    """What the plan says without the data: mechanism, expected error and limit under its prior."""
    request = _prepared(source, kernel, "auto", guarantee).plan
    design = request.public_design
    if design is None or request.size is None:
        raise ValueError("the number of units must be public")
    problem = request.problem(request.size)
    expected = expected_error(problem, design, request.basis)
    limit = least_error(problem)
    return {
        "mechanism": f"{design.mechanism}, {design.components} coefficients",
        "expected": expected.total,
        # None is proved under (epsilon, delta).
        "limit": math.nan if limit is None else limit,
    }


if __name__ == "__main__":
    main()
