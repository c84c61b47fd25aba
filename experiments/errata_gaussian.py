"""Numbers behind docs/errata.md for Mirshani, Reimherr & Slavkovic (2019) and their package PFDA.

The package was read, not run: what it computes is written anew in `experiments.gaussian_recipe`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpfda.noise import gaussian_ratio
from dpfda.privacy.guarantees import ApproximateDP
from experiments import common
from experiments.common import Floats
from experiments.gaussian_recipe import Tuning, eigenpairs, kernel_matrix, largest_norm, release_of

Row = dict[str, Any]
POINTS = 93  # of the DTI scans
DEFAULT = Tuning(rho=0.2)  # of the package: Gaussian kernel, phi = 0.01, delta = 0.1
TABLE_2 = (
    Tuning("gaussian", 0.03, 0.005),
    Tuning("matern32", 0.25, 0.005),
    Tuning("exponential", 7 / 15, 0.01),
)


def _row(check: str, quantity: str, stated: float, found: float) -> Row:
    return {"check": check, "quantity": quantity, "stated": stated, "found": found}


def _named(tuning: Tuning) -> str:
    return f"{tuning.kernel}, rho = {tuning.rho:.3g}, phi = {tuning.phi:g}"


def coded_length(tuning: Tuning, points: int = POINTS) -> float:
    """Largest length of a move in the norm of the coded noise, over the sensitivity that is coded."""
    values, _ = eigenpairs(tuning.kernel, tuning.rho, points)
    slopes = values / (values + tuning.phi) ** 2
    return math.sqrt(points * slopes.max() / slopes.sum())


def coded_sensitivity() -> list[Row]:
    """PFDA: eigenvectors of length one in the noise, a sum for the supremum in the sensitivity."""
    return [
        _row("PFDA, sensitivity", f"{_named(tuning)}: true / coded", 1.0, coded_length(tuning))
        for tuning in (DEFAULT, *TABLE_2)
    ]


def coded_epsilon() -> list[Row]:
    """What the tuning of Table 2 gives at delta = 0.1 if tau were public, exactly."""
    flat = np.ones(POINTS)
    return [
        _row(
            "M, Table 2",
            f"{_named(tuning)}: epsilon, noise as {convention}",
            1.0,
            release_of(flat, 376, 1.0, tuning, convention).true_epsilon,
        )
        for tuning in TABLE_2
        for convention in ("coded", "printed")
    ]


def loose_rule() -> list[Row]:
    """The classical rule at (1, 0.1) against the exact profile."""
    exact = gaussian_ratio(ApproximateDP(1, "0.1"))
    classical = gaussian_ratio(ApproximateDP(1, "0.1"), "classical")
    return [
        _row("M, section 5", "noise needed at (1, 0.1), relative", 1.0, float(classical / exact)),
    ]


def white_noise_kernels() -> list[Row]:
    """Scenario 3 prints rho = 0.001 for all kernels: largest correlation of neighbouring grid points."""
    grid = np.linspace(0, 1, 100)
    return [
        _row(
            "M, scenario 3",
            f"{kernel}, rho = 0.001: correlation of neighbours",
            kernel_matrix("gaussian", 0.001, grid)[0, 1],
            kernel_matrix(kernel, 0.001, grid)[0, 1],
        )
        for kernel in ("matern52", "matern32", "exponential")
    ]


def farthest_pair(curves: Floats, tuning: Tuning) -> float:
    """Farthest pair of curves in the norm of the coded noise, over the sensitivity that is coded."""
    values, functions = eigenpairs(tuning.kernel, tuning.rho, curves.shape[1])
    # Coefficients on vectors of length one, smoothed, in units of the noise.
    rows = curves @ functions.T / math.sqrt(curves.shape[1]) * np.sqrt(values) / (values + tuning.phi)
    gram = rows @ rows.T
    squares = np.diag(gram)[:, None] + np.diag(gram) - 2 * gram
    coded = 4 * largest_norm(curves) ** 2 * np.sum(values / (values + tuning.phi) ** 2)
    return math.sqrt(float(squares.max()) / coded)


def pairs_of_scans() -> list[Row]:
    """Actual pairs of DTI scans, as they are and standardised as in L."""
    raw, _ = common.scans()
    curves = raw[~np.isnan(raw).any(axis=1)]
    shapes = common.standardised(curves, common.trapezoid(curves.shape[1]))
    matern = Tuning("matern32", 0.2, 0.01)
    return [
        _row(
            "PFDA, sensitivity",
            f"farthest pair, {words}, {_named(tuning)}",
            1.0,
            farthest_pair(x, tuning),
        )
        for words, x in (("scans", curves), ("standardised scans", shapes))
        for tuning in (DEFAULT, matern)
    ]


FROM_FORMULAS = (coded_sensitivity, coded_epsilon, loose_rule, white_noise_kernels)
FROM_DATA = (pairs_of_scans,)
