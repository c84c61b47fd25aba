"""Bernstein mechanism: Laplace noise on lattice values, then Bernstein polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.bases import Basis, BernsteinBasis
from dpfda.bases.bernstein import check_degree
from dpfda.bounds import Bound, LatticeBounds, ValueBounds
from dpfda.calibration import knorm_noise, pure_budget
from dpfda.errors import ParameterError, RefusedMechanismError
from dpfda.guarantees import Guarantee, Neighbours
from dpfda.mechanisms.protocol import Design, Problem

# Degree where the number of units is private, so that the best one cannot be found.
PLAIN_DEGREE = 10
LARGEST_CANDIDATE = 200


@dataclass(frozen=True)
class Bernstein:
    """Laplace noise on the mean's values at k + 1 lattice points, joined by Bernstein polynomials.

    The mechanism replaces the basis: released is the polynomial with coefficients f(a + (b - a) j/k) +
    Lap(Delta (k + 1) / epsilon), with f the mean of the clipped curves and Delta the most that one
    unit moves it anywhere. There is no shrinkage.

    **Guarantee.** Pure epsilon. Each lattice value of a record is bounded by itself, |c_j| <= R in grid
    units, so neighbouring integer sums differ by |d_j| <= w in every coordinate, w = 2R (replace-one) or R
    (add/remove), and the log density ratio of noise of scale B on each of k + 1 values is at most
    sum_j |d_j| / B = w (k + 1) / B. The scale is B = w (k + 1) / epsilon, rounded up.

    **Error.** Noise: sum_j var_j times the integral of B_j^2. Bias: what the polynomial and the
    interpolation to the lattice miss, which falls like 1/k only, and which `expected_error` states under the
    kernel's prior. The paper's tables leave it out.

    Parameters
    ----------
    degree : int, optional
        Degree k, from 1 to 1000. By default the one with the least expected noise plus bias, from public
        numbers: kernel, bound, number of units, epsilon. Where the number of units is private (add/remove
        without `public_size`) the default is 10.

    Raises
    ------
    ParameterError
        On `adapt`, without bounds on values: a bound on an L1 or L2 norm does not bound them.
    RefusedMechanismError
        On `design`, for an approximate guarantee or lattice values that are not bounded each by itself.

    References
    ----------
    Alda & Rubinstein (2017), Theorems 2 and 4.

    Examples
    --------
    >>> Bernstein(degree=12).degree
    12
    """

    degree: int | None = None
    name: ClassVar[str] = "bernstein"

    def adapt(
        self,
        basis: Basis,
        bound: Bound,
        size: int | None,
        guarantee: Guarantee,
        neighbours: Neighbours,
    ) -> tuple[Basis, Bound]:
        """Bernstein polynomials on the same grid, and bounds on each lattice value."""
        if not isinstance(bound, ValueBounds):
            raise ParameterError(
                "bounds",
                "be values (lower, upper) for mechanism 'bernstein'",
                bound.describe(),
                "It releases values at lattice points. A norm of a curve, which is also all that"
                " standardizing bounds, does not limit its values: give bounds on the (standardized)"
                " values.",
            )
        values = LatticeBounds(bound.lower, bound.upper)
        if isinstance(basis, BernsteinBasis) and self.degree in (None, basis.degree):
            return basis, values
        if self.degree is not None:
            return _on(basis, check_degree(self.degree)), values
        if size is None:
            return _on(basis, PLAIN_DEGREE), values
        largest_move = neighbours.differences(1) / size
        return _best_degree(basis, largest_move / float(pure_budget(guarantee, (1,)))), values

    def design(self, problem: Problem) -> Design:
        """Equal Laplace scales on all lattice values."""
        if problem.ball.norm != "linf":
            raise RefusedMechanismError(
                "bounds",
                "bound each lattice value (norm 'linf')",
                f"norm {problem.ball.norm!r}",
                "Give bounds (lower, upper) on values and let `adapt` replace the basis.",
                "Alda & Rubinstein 2017, Theorem 2",
            )
        sizes = (1,) * problem.variances.size
        noise = knorm_noise(sizes, np.ones(len(sizes)), "linf", problem.width, problem.guarantee)
        return Design(self.name, {"degree": len(sizes) - 1}, noise, np.ones(len(sizes)))


def _on(basis: Basis, degree: int) -> BernsteinBasis:
    """Polynomials on the grid of a basis, with its functions and eigenvalues as the prior."""
    made = BernsteinBasis.on_grid(degree, basis.grid_points, basis.domain_range, basis.weights)
    return made.with_prior(basis.evaluate(basis.grid_points), basis.eigenvalues)


def _best_degree(basis: Basis, scale: float) -> BernsteinBasis:
    """Polynomials of the degree with the least expected noise plus bias.

    In units of the squared bound on values: noise of scale `scale` (k + 1) on each value, and the
    residual of a prior of average variance one.
    """
    best, least = _on(basis, 1), np.inf
    for degree in _candidates():
        made = _on(basis, degree)
        noise = 2 * (scale * (degree + 1)) ** 2 * float(made.square_norms.sum())
        if noise + made.residual < least:
            best, least = made, noise + made.residual
        # Noise grows with the degree, so nothing better comes once it is as large by itself.
        if noise >= least:
            break
    return best


def _candidates() -> list[int]:
    """Degrees to try: all small ones, then about a tenth apart."""
    degrees, degree = [], 1
    while degree <= LARGEST_CANDIDATE:
        degrees.append(degree)
        degree = max(degree + 1, degree * 11 // 10)
    return degrees
