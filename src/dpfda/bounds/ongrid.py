"""Bounds that are enforced on the grid: public integer matrix, half-widths, and the proved radius.

A record becomes an integer vector x on the grid (`dpfda.numerics.gridsums`), the exact sum over records
is multiplied by a public integer matrix B, and so a record's contribution to the coefficients of the sum
is B x, exactly. Its length is bounded here, from public numbers alone:

    |B x|_2 <= |B V^-1|_2 |V x|_2,        V = diag(v), v_k the float nearest to sqrt(w_k).

*Second factor.* Values: |x_k| <= h_k is enforced on integers, so |V x|^2 <= sum_k (v_k h_k)^2. Length:
the record is multiplied by a factor computed in floats and rounded toward zero. A float sum of m
nonnegative terms, in any order, with or without fused operations, is within a relative (m + 2) 2^-53
(Higham 2002, section 3.1); with product, root, quotient and last product the weighted length of x is
within a relative (m + 16) 2^-52 of the limit, rounding toward zero makes no entry larger, and v_k^2 is
within 2^-51 of w_k.

*First factor.* With A = B V^-1, |A|_2^2 = |A A^T|_2 <= max_j sum_i |(A A^T)_ji|. The product is computed
in floats; each entry is off by at most g |A| |A|^T, g = (m + 16) 2^-52, whatever the order of summation
(Higham, section 3.5; the factors' own rounding included), and the row sums of that are added. For
functions that are orthonormal under the weights the result is 1 to about 1e-8: the noise is that of the
bound itself.

Where the functions are not orthonormal on the grid the first factor would raise the noise, and each
record is projected and clipped by itself, as is done for l1 bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np

from dpfda.bounds.balls import IntegerBall
from dpfda.bounds.stated import Bound, L2Ball, ValueBounds
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.embedding import OwnTransform, transform_matrix
from dpfda.numerics.gridrules import BITS, GridRule
from dpfda.numerics.speed import remembered

# Rounding the matrix may move |A|_2^2 by 2^-MATRIX_BITS, and orthonormality may fail by this much.
MATRIX_BITS = 27
LARGEST_SQUARE = 1 + 1e-6
# Entries of a transform's matrix: beyond them it would take more memory and time than it is worth.
LARGEST_MATRIX = 2**20
# Weights and scales within these powers of two neither overflow nor underflow anywhere below.
WEIGHT_RANGE, EXPONENT_RANGE = 200, 800


@dataclass(frozen=True, eq=False)
class Cube:
    """Where records lie that are clipped value by value: {B v : |v_k| <= h_k}, in grid units. Public.

    Parameters
    ----------
    matrix : array (K, m) of int64
        B. A record's integer coefficients are exactly B x for an integer vector x on the grid.
    half_widths : array (m,) of int64
        h, with |x_k| <= h_k for every record.
    weights : array (m,)
        Quadrature weights of the grid.
    exponent : int
        x is in units of 2^-exponent of a value.
    scale : int
        B is 2^scale times the matrix that takes values to coefficients, rounded.
    """

    matrix: Integers
    half_widths: Integers
    weights: Floats
    exponent: int
    scale: int

    @cached_property
    def functions(self) -> Floats:
        """Values (m, K) of the basis functions on the grid, to the rounding of B.

        B takes functions to coefficients by weighted least squares, so with D = W^-1 B^T the functions
        are D (B D)^-1; B D is one for functions that are orthonormal under the weights.
        """
        analysis = np.ldexp(self.matrix, -self.scale)
        duals = analysis / self.weights
        functions = np.ascontiguousarray(np.linalg.solve(analysis @ duals.T, duals).T)
        functions.setflags(write=False)
        return functions


@dataclass(frozen=True, eq=False)
class OnGrid:
    """How records are bounded on the grid, and what follows for their coefficients. Public.

    Parameters
    ----------
    rule : GridRule
        From a record to integers on the grid.
    matrix : array (K, m) of int64
        From integers on the grid to integer coefficients; without rows where only values are summed.
    ball : IntegerBall
        Holds B x for every record; its radius is the proved bound.
    box : bool
        Whether B is for functions on a box, whose points have no order that cells could follow.
    """

    rule: GridRule
    matrix: Integers
    ball: IntegerBall
    box: bool = False

    @cached_property
    def cube(self) -> Cube | None:
        """The body that holds every B x, for bounds on values on an interval; None for others."""
        if self.rule.shrinks or self.box:
            return None
        rule = self.rule
        scale = self.ball.exponent - rule.exponent
        return Cube(self.matrix, rule.half_widths.astype(np.int64), rule.weights, rule.exponent, scale)


class OnPoints(Protocol):
    """What is asked of the functions of a basis on its grid."""

    @property
    def eigenvalues(self) -> Floats: ...

    @property
    def weights(self) -> Floats: ...


class OnInterval(OnPoints, Protocol):
    """Functions on an interval, with their matrix `analysis` from values to coefficients."""

    @property
    def grid_points(self) -> Floats: ...

    @property
    def analysis(self) -> Floats: ...


class OnBox(OnPoints, OwnTransform, Protocol):
    """Functions on the grid of a box, whose transform stands for the matrix."""


def on_grid(bound: Bound, basis: OnInterval | OnBox, coefficients: bool = True) -> OnGrid | None:
    """Enforce a bound on the grid, where that costs no noise.

    Parameters
    ----------
    bound : Bound
        Only `ValueBounds` and `L2Ball` themselves are enforced on the grid.
    basis : Basis
        With its quadrature weights and its matrix `analysis`, or the transform that stands for it.
    coefficients : bool
        Whether sums are taken to coefficients. Where values alone are summed there is no matrix, and
        so neither is it asked how large it is, nor whether the functions are orthonormal.

    Returns
    -------
    OnGrid or None
        None where records have to be projected one by one: other bounds, functions that are not
        orthonormal under the weights, transforms whose matrix would be large, numbers near the ends of
        the range of floats.
    """
    # Classes derived from these bound something else (lattice values, say).
    if not isinstance(bound, ValueBounds | L2Ball) or type(bound) not in (ValueBounds, L2Ball):
        return None
    return _on_grid(bound, basis, coefficients)


@remembered(16)
def _on_grid(
    bound: ValueBounds | L2Ball, basis: OnInterval | OnBox, coefficients: bool
) -> OnGrid | None:
    weights = np.asarray(basis.weights, dtype=np.float64)
    if not (np.all(weights > 2.0**-WEIGHT_RANGE) and np.all(weights < 2.0**WEIGHT_RANGE)):
        return None
    embedding = _matrix(basis, weights) if coefficients else _no_matrix(weights.size)
    if embedding is None:
        return None
    # The points of a box are numbered: bounds have one value a point, or one for all.
    grid = np.arange(float(weights.size)) if isinstance(basis, OwnTransform) else basis.grid_points
    with np.errstate(all="ignore"):
        rule = _rule(bound, grid, weights)
    if rule is None:
        return None
    matrix, exponent, square = embedding
    squared = square * _square_length(rule) * Fraction(4) ** exponent
    radius = math.isqrt(math.ceil(squared)) + 1
    ball = IntegerBall("l2", radius, exponent + rule.exponent)
    return OnGrid(rule, matrix, ball, coefficients and isinstance(basis, OwnTransform))


def _rule(bound: ValueBounds | L2Ball, grid_points: Floats, weights: Floats) -> GridRule | None:
    roots = np.sqrt(weights)
    if isinstance(bound, L2Ball):
        largest = bound.radius / float(roots.min())
    else:
        lower, upper = bound.curves_on(grid_points)
        halves = (upper - lower) / 2
        largest = float(halves.max())
    exponent = BITS - math.frexp(largest)[1]
    if not (0 < largest < math.inf and abs(exponent) <= EXPONENT_RANGE):
        return None
    if isinstance(bound, L2Ball):
        limit = math.ldexp(bound.radius, exponent)
        return GridRule(np.zeros_like(weights), np.floor(limit / roots) + 1, weights, exponent, limit)
    center = bound.center_on(grid_points)
    return GridRule(center, np.floor(np.ldexp(halves, exponent)), weights, exponent)


def _square_length(rule: GridRule) -> Fraction:
    """Upper bound for |V x|^2 over the integers x of all records."""
    points = rule.weights.size
    if rule.shrinks:
        return Fraction(rule.limit) ** 2 * (1 + Fraction(points + 16, 2**50))
    total = math.fsum((np.sqrt(rule.weights) * rule.half_widths) ** 2)
    return Fraction(total) * (1 + Fraction(1, 2**49))


def _no_matrix(points: int) -> tuple[Integers, int, Fraction]:
    """As `_matrix` where the values themselves are the coefficients: nothing is multiplied."""
    return np.zeros((0, points), dtype=np.int64), 0, Fraction(1)


def _matrix(basis: OnInterval | OnBox, weights: Floats) -> tuple[Integers, int, Fraction] | None:
    """B, its exponent p (B is about 2^p times the analysis) and a bound for |2^-p B V^-1|_2^2."""
    if not isinstance(basis, OwnTransform):
        analysis = np.asarray(basis.analysis)
    elif weights.size * basis.eigenvalues.size <= LARGEST_MATRIX:
        analysis = transform_matrix(basis, weights.size)
    else:
        return None
    components = analysis.shape[1]
    # Rounding moves a row of A by at most |V^-1 1| / 2 units, and so |A|^2 by 2^-MATRIX_BITS.
    exponent = MATRIX_BITS + math.ceil(math.log2(components * np.sum(1 / weights)) / 2)
    with np.errstate(all="ignore"):
        scaled = np.rint(np.ldexp(analysis.T, exponent))
    if not np.all(np.abs(scaled) < 2.0**52):
        return None
    bound = square_norm(scaled, exponent, weights)
    if bound > LARGEST_SQUARE:
        return None
    return np.ascontiguousarray(scaled, dtype=np.int64), exponent, bound


def square_norm(scaled: Floats, exponent: int, weights: Floats) -> Fraction:
    """Upper bound for |2^-p B V^-1|_2^2, B a matrix (K, m) of integers held in floats."""
    components, points = scaled.shape
    factor = np.ldexp(scaled, -exponent) / np.sqrt(weights)
    sizes = np.abs(factor)
    square = float(np.max(np.abs(factor @ factor.T).sum(axis=1)))
    slack = float(np.max(sizes @ sizes.sum(axis=0))) * (points + components + 16) * 2.0**-52
    # The row sums are rounded too; 2^-900 is for products that underflow.
    bound = Fraction(square) + 2 * Fraction(slack) + Fraction(1, 2**900)
    return bound * (1 + Fraction(components + 16, 2**52))
