"""Value bounds: the K-norm noise of the ball, of the projected cube, and of cells of the grid.

Run `python -m experiments.bodies`. The projected cube Z = {B v : |v_k| <= 1} is sampled by hit and run,
each chord found by linear programming, so that the error of its K-norm law, which the library does not
draw, can be set beside the laws that it does. The last table is on the two real data sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.gaussian_process.kernels import Matern

from dpfda import PrivateMean
from dpfda.bases import KernelBasis
from dpfda.bounds import ValueBounds
from dpfda.mechanisms.cells import Cells, measured_error
from dpfda.privacy.guarantees import PureDP
from dpfda.testing import simulate_releases
from dpfda.testing.contracts import make_problem
from experiments import common
from experiments.common import Floats

SEED = 2026112604
POINTS = 48
KERNEL = Matern(0.5, nu=1.5)
DIMENSIONS = (2, 4, 6, 8, 12, 16)
BUDGETS = (5, 20, 63, 200, 508)
# Points of a chain for each dimension, after a tenth more that are thrown away.
STEPS = 300
DRAWS = 4000
MECHANISMS = ("laplace", "knorm", "cells", "auto")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write both tables and print them."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    steps = 40 if options.quick else STEPS
    basis = KernelBasis.on_grid(KERNEL, np.linspace(0, 1, POINTS))
    generator = np.random.default_rng(options.seed)
    moments = {
        count: projected_cube(basis.analysis[:, :count], steps * (count + 4), generator)
        for count in common.shown(DIMENSIONS, "projected cubes")
    }
    powers = [power_row(count, moment) for count, moment in moments.items()]
    errors = [error_row(basis, budget, moments) for budget in BUDGETS]
    real = real_rows(200 if options.quick else DRAWS, options.seed)
    common.write_csv(options.results / "bodies_power.csv", powers)
    common.write_csv(options.results / "bodies_error.csv", errors)
    common.write_csv(options.results / "bodies_real.csv", real)
    for rows in (powers, errors, real):
        cells = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows]
        print(common.markdown_table(list(rows[0]), cells), end="\n\n")


def projected_cube(analysis: Floats, steps: int, generator: np.random.Generator) -> Floats:
    """Second moments (M, M) of a uniform point of {B v : |v_k| <= 1}, B = analysis' of shape (M, m)."""
    matrix = analysis.T
    point, total = np.zeros(len(matrix)), np.zeros((len(matrix), len(matrix)))
    for step in range(-steps // 10, steps):
        direction = generator.normal(size=len(matrix))
        low, high = chord(matrix, point, direction)
        point = point + generator.uniform(low, high) * direction
        if step >= 0:
            total += np.outer(point, point)
    return np.asarray(total / steps)


def chord(matrix: Floats, point: Floats, direction: Floats) -> tuple[float, float]:
    """Ends s of the chord {point + s direction} of the projected cube."""
    columns = matrix.shape[1]
    bounds = [(-1.0, 1.0)] * columns + [(None, None)]
    ends = [
        linprog(
            np.append(np.zeros(columns), sign),
            A_eq=np.column_stack([matrix, -direction]),
            b_eq=point,
            bounds=bounds,
            method="highs-ds",
        ).x[-1]
        for sign in (1.0, -1.0)
    ]
    return float(ends[0]), float(ends[1])


def power_row(count: int, moment: Floats) -> dict[str, Any]:
    """Noise power of K-norm laws on M numbers, over that of the l2 block, M (M + 1)."""
    block = count * (count + 1.0)
    return {
        "M": count,
        "projected cube": float((count + 1) * (count + 2) * np.trace(moment) / block),
        "cells": (count + 2) / 3 / count,
    }


def error_row(basis: KernelBasis, budget: int, moments: dict[int, Floats]) -> dict[str, Any]:
    """Least expected squared errors under the prior, over that of the best l2 block."""
    problem = make_problem(basis, ValueBounds(-1.0, 1.0), budget, PureDP(1))
    prior, scale = problem.prior, 2 / budget

    def block(count: int) -> float:
        return risk(prior, np.eye(count) * scale**2 * (count + 1))

    def cube(count: int) -> float:
        return risk(prior, moments[count] * scale**2 * (count + 1) * (count + 2))

    def cells(count: int) -> float:
        return sum(measured_error(problem, Cells(count).design(problem)))

    row: dict[str, Any] = {"n epsilon": budget}
    for name, error, counts in (
        ("l2 block", block, range(1, prior.size + 1)),
        ("projected cube", cube, tuple(moments)),
        ("cells", cells, range(1, basis.grid_points.size + 1)),
    ):
        row |= best(name, error, counts)
    row |= {f"{name} / l2 block": row[name] / row["l2 block"] for name in ("projected cube", "cells")}
    return row


def best(name: str, error: Callable[[int], float], counts: Sequence[int]) -> dict[str, Any]:
    """Least error over the counts, and where."""
    found = {count: error(count) for count in counts}
    count = min(found, key=lambda key: found[key])
    return {name: found[count], f"M of {name}": count}


def risk(prior: Floats, noise: Floats) -> float:
    """Error of the best linear estimate of all coefficients from the leading noisy ones."""
    kept = np.diag(prior[: len(noise)])
    inside = np.linalg.solve(kept + noise, kept)
    return float(np.trace(kept - kept @ inside) + prior[len(noise) :].sum())


def real_rows(draws: int, seed: int) -> list[dict[str, Any]]:
    """Root mean square errors at a grid point, of simulated releases from the mean of the curves."""
    scans, _ = common.scans()
    complete = scans[np.isfinite(scans).all(axis=1)]
    sets = (("electricity (MW)", common.electricity(), (0, 3000)), ("DTI", complete, (0, 1)))
    kernels = ("matern:10%:1.5", "matern:50%:1.5")
    # A seed for every cell: they do not share their luck.
    seeds = iter(np.random.SeedSequence(seed).generate_state(len(sets) * len(kernels) * len(MECHANISMS)))
    rows = []
    for name, curves, bounds in sets:
        for kernel in kernels:
            row: dict[str, Any] = {"data": name, "kernel": kernel, "bounds": str(bounds)}
            for mechanism in MECHANISMS:
                mean = PrivateMean(1.0, bounds=bounds, basis=kernel, mechanism=mechanism)
                released = np.asarray(simulate_releases(mean, curves, draws, int(next(seeds))))
                row[mechanism] = math.sqrt(np.mean((released - curves.mean(axis=0)) ** 2))
            rows.append(row)
    return rows


if __name__ == "__main__":
    main()
