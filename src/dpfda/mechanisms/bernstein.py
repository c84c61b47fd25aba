"""Bernstein mechanism: Laplace noise on lattice values, then Bernstein polynomials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.bases import Basis, BernsteinBasis
from dpfda.bases.bernstein import LARGEST_DEGREE, check_degree
from dpfda.bounds import Bound, LatticeBounds, ValueBounds
from dpfda.mechanisms.protocol import Design, Problem
from dpfda.noise import knorm_noise, pure_budget
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.privacy.guarantees import Guarantee, Neighbours

# Degree where the number of units is private, so that no rule can use it.
PLAIN_DEGREE = 10


@dataclass(frozen=True)
class Bernstein:
    """Laplace noise on the mean's values at k + 1 lattice points, joined by Bernstein polynomials.

    The mechanism replaces the basis: released is the polynomial with coefficients f(a + (b - a) j/k) +
    Lap(Delta (k + 1) / epsilon), with f the mean of the clipped curves and Delta the most that one
    unit moves it anywhere. There is no shrinkage.

    **Guarantee.** Pure epsilon. Each lattice value of a record is bounded by itself, |c_j| <= R in
    grid units, so neighbouring integer sums differ by |d_j| <= w in every coordinate, w = 2R
    (replace-one) or R (add/remove), and the log density ratio of noise of scale B on each of k + 1
    values is at most sum_j |d_j| / B = w (k + 1) / B. The scale is B = w (k + 1) / epsilon, rounded up.

    **Error.** Noise: sum_j var_j times the integral of B_j^2. Bias: what the polynomial and the
    interpolation to the lattice miss, however smooth the mean is of order 1/k at best.
    `expected_error` states it under the kernel's prior, that is for a mean as large as the bound
    allows and as rough as the kernel; for a smooth mean it is far smaller.

    Parameters
    ----------
    degree : int, optional
        Degree k, from 1 to 1000. By default (n epsilon / 2)^(1/2) under replace-one and
        (n epsilon)^(1/2) under add/remove neighbours, rounded up, which balances a bias of order 1/k (a
        twice differentiable mean) against noise of order k w / (n epsilon), as shares of the bound.
        Where the number of units is private (add/remove without `public_size`) the default is 10.

    Raises
    ------
    ParameterError
        On `adapt`, without bounds on values: a bound on an L1 or L2 norm does not bound them.
    RefusedMechanismError
        On `design`, for an approximate guarantee or lattice values that are not bounded each by itself.

    References
    ----------
    Alda & Rubinstein (2017), "The Bernstein mechanism: function release under differential privacy".

    Examples
    --------
    >>> Bernstein(degree=12).degree
    12
    """

    degree: int | None = None
    name: ClassVar[str] = "bernstein"
    one_law: ClassVar[bool] = True

    def adapt(
        self, basis: Basis, bound: Bound, size: int | None, guarantee: Guarantee, neighbours: Neighbours
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
        return _on(basis, _plug_in(size, guarantee, neighbours)), values

    def design(self, problem: Problem) -> Design:
        """Equal Laplace scales on all lattice values."""
        if problem.ball.norm != "linf":
            words = "bound each lattice value (norm 'linf')"
            remedy = "Give bounds (lower, upper) on values and let `adapt` replace the basis."
            raise RefusedMechanismError(
                "bounds", words, f"norm {problem.ball.norm!r}", remedy, "Alda & Rubinstein 2017"
            )
        sizes = (1,) * problem.variances.size
        noise = knorm_noise(sizes, np.ones(len(sizes)), "linf", problem.width, problem.guarantee)
        return Design(self.name, {"degree": len(sizes) - 1}, noise, np.ones(len(sizes)))


def _plug_in(size: int | None, guarantee: Guarantee, neighbours: Neighbours) -> int:
    epsilon = float(pure_budget(guarantee))
    if size is None:
        return PLAIN_DEGREE
    return min(max(1, math.ceil(math.sqrt(size * epsilon / neighbours.differences(1)))), LARGEST_DEGREE)


def _on(basis: Basis, degree: int) -> BernsteinBasis:
    """Polynomials on the grid of a basis, with its functions and eigenvalues as the prior."""
    polynomials = BernsteinBasis.on_grid(degree, basis.grid_points, basis.domain_range, basis.weights)
    return polynomials.with_prior(basis.evaluate(basis.grid_points), basis.eigenvalues)
