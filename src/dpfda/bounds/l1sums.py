"""Sums of records in an l1 ball of coefficients: exact, and most records without their coefficients.

*What is summed.* A record becomes integers x on a public grid of values, and Q x are its coefficients,
for a public integer matrix Q: exactly, as every partial sum stays below 2^53. A unit of projected
coefficients is 2^s of those. A record with sum_j ceil(|Q x|_j / 2^s) <= R is inside, and adds Q x. Any
other adds 2^s z, where z is its projection to the ball of radius R in these units, rounded toward zero
(`IntegerBall.clip`), and |z|_1 <= R is checked in integers. So whatever a record is, it moves the sum
by an integer vector of l1 norm at most 2^s R. This is exact, for any Q: no error of rounding enters it.

A record whose weighted length on the grid, the root of sum_k w_k x_k^2 in floats and in a fixed order,
is above a public limit gets a grid of its own, 2^e times as coarse, and is projected. On both grids
|sum_k Q_jk x_k| over any of the k is below 2^53: for the first it is at most |Q_j V^-1|_2 |V x|_2,
V^2 = diag(w), by Cauchy and Schwarz, and for the second at most 2^b sum_k |Q_jk|.

*How.* The sum over records inside is Q times the sum of their x, so it is enough to know that a record
is inside. Where functions are orthonormal on the grid, k leading coefficients c often prove it:

    |Q x|_1 <= |c|_1 + sqrt(K - k) t,        t^2 = |Q V^-1|_2^2 |V x|_2^2 - |c|_2^2,

with the matrix norm bounded as in `dpfda.bounds.ongrid`. No coefficient behind the leading ones is
larger than t, so where these alone are lowered by t or more when they are projected, the others leave
nothing, and the projection is that of the leading ones. Both only decide how a record is taken: what it
adds is the same. All other records are multiplied by Q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpfda.bounds.balls import IntegerBall
from dpfda.bounds.ongrid import EXPONENT_RANGE, LARGEST_SQUARE, WEIGHT_RANGE, OnInterval, square_norm
from dpfda.bounds.stated import Bound, L1Ball
from dpfda.numerics import compiled, compiled_l1
from dpfda.numerics.aggregate import exact_product
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers
from dpfda.numerics.embedding import OwnTransform, Rows
from dpfda.numerics.gridsums import NUMBERS_AT_ONCE, ROWS_AT_ONCE, square_lengths
from dpfda.numerics.native_arrays import doubles
from dpfda.numerics.remembered import remembered

# How many times the radius a record on the public grid may be long.
LONGEST = 4
# Bits by which the matrix is finer than values of the size of the radius, beside those of the number of
# points: its rounding is the same for all records, that of values is not.
FINER = 4
# Leading coefficients that are looked at first, where there are twice as many.
HEAD = 16
# Of a sum of sizes, of squares, a root and products, in relative terms: far more than all roundings.
INWARD, OUTWARD = 1 - 2.0**-30, 1 + 2.0**-30
# An entry of a record on the public grid, so that blocks of them add up exactly.
LARGEST_ENTRY = 2.0**37


@dataclass(frozen=True, eq=False)
class L1Rule:
    """What turns one record into integer coefficients in an l1 ball; all of it public.

    Parameters
    ----------
    matrix : array (m, K)
        Q, integers held in float64, from integers on the grid to coefficients.
    weights : array (m,)
        Quadrature weights.
    exponent : int
        The public grid of values is 2^-exponent.
    limit : float
        Largest weighted length of a record on it.
    bits : int
        Of the integers of a longer record.
    projected : IntegerBall
        The ball in units of projected coefficients.
    shift : int
        Such a unit is 2^shift of those of the sum.
    square : float
        At least |Q V^-1|_2^2.
    head : int
        Number of leading coefficients that are looked at first, or zero.
    """

    matrix: Floats
    weights: Floats
    exponent: int
    limit: float
    bits: int
    projected: IntegerBall
    shift: int
    square: float
    head: int

    @property
    def radius(self) -> int:
        """Radius in units of projected coefficients."""
        return self.projected.radius

    @cached_property
    def ball(self) -> IntegerBall:
        """Holds what a record adds to the sum."""
        return IntegerBall("l1", self.radius << self.shift, self.projected.exponent + self.shift)

    @cached_property
    def tail(self) -> tuple[float, float, float]:
        """A bound of the coefficients' square length over the record's, a root, and a largest sum.

        The root is of the number of coefficients behind the head. A record is inside if the sizes of its
        head, and the root times what is left of its length, are at most the largest sum together: it is
        less than the radius by one unit a coefficient, since sizes are rounded up.
        """
        points, size = self.matrix.shape
        square = self.square * (1 + (points + size + 64) * 2.0**-52)
        room = (self.radius - size) * 2.0**self.shift * INWARD
        return square, math.sqrt(size - self.head), room

    def truncated(self, components: int) -> L1Rule:
        """For the leading coefficients alone."""
        return replace(
            self, matrix=self.matrix[:, :components].copy(), head=_head(components, self.head)
        )


def l1_rule(bound: Bound, basis: OnInterval) -> L1Rule | None:
    """The rule for a bound and the functions of a basis.

    Returns
    -------
    L1Rule or None
        None for other bounds, for functions on boxes, and for numbers near the ends of the range of
        floats: then records are embedded and clipped one by one.
    """
    return _l1_rule(bound, basis) if type(bound) is L1Ball else None


@remembered(16)
def _l1_rule(bound: L1Ball, basis: OnInterval) -> L1Rule | None:
    if isinstance(basis, OwnTransform):
        return None
    analysis, weights = np.asarray(basis.analysis), np.asarray(basis.weights, dtype=np.float64)
    if not (np.all(weights > 2.0**-WEIGHT_RANGE) and np.all(weights < 2.0**WEIGHT_RANGE)):
        return None
    points, components = analysis.shape
    projected = IntegerBall.of("l1", bound.radius, components)
    with np.errstate(all="ignore"):
        largest = float(np.max(np.sum(analysis.T**2 / weights, axis=1))) ** 0.5 * LONGEST * bound.radius
        if not 2.0**-EXPONENT_RANGE < largest < 2.0**EXPONENT_RANGE:
            return None
        both = 52 - math.frexp(largest)[1]
        bits = both + math.frexp(bound.radius)[1]
        exponent = (bits - math.ceil(math.log2(points)) - FINER) // 2 - math.frexp(bound.radius)[1]
        scaled = np.rint(np.ldexp(analysis, both - exponent))
        limit = LONGEST * math.ldexp(bound.radius, exponent)
        lengths = np.sqrt(np.sum(scaled.T**2 / weights, axis=1))
        sizes = float(np.abs(scaled).sum(axis=0).max())
        square = square_norm(scaled.T, both - exponent, weights)
    finest = max(abs(exponent), abs(both), abs(both - exponent)) < EXPONENT_RANGE
    exact = np.all(lengths * limit < 2.0**52.9) and limit / math.sqrt(weights.min()) < LARGEST_ENTRY
    shift = both - projected.exponent
    if not (finest and exact and 1 <= sizes < 2.0**44 and shift >= 0):
        return None
    head = HEAD if square <= LARGEST_SQUARE else 0
    spread = math.ldexp(float(square) * OUTWARD, 2 * (both - exponent))
    long = 52 - math.frexp(sizes)[1]
    return L1Rule(
        np.ascontiguousarray(scaled), weights, exponent, limit, long, projected, shift, spread,
        _head(components, head),
    )  # fmt: skip


def _head(components: int, head: int) -> int:
    return head if components >= 2 * head else 0


def l1_sum(values: Cells, rule: L1Rule, compile: bool | None = None) -> tuple[list[int], int]:
    """Sum of the integers of records.

    Parameters
    ----------
    values : array (n, m) of any real type
        Private.
    rule : L1Rule
        Public.
    compile : bool, optional
        Use the compiled loops; by default for many numbers. The result is the
        same.

    Returns
    -------
    totals : list of K integers
        In units of `rule.ball`.
    unusable : int
        Number of records with NaN, infinity or an integer of 2^53 or more; each counted as zero.
    """
    chosen = compiled.worthwhile(values.size) if compile is None else compile
    points, size = rule.matrix.shape
    inside, projected = np.zeros(points, dtype=object), np.zeros(size, dtype=object)
    few = max(1, NUMBERS_AT_ONCE // points)
    step, unusable = ROWS_AT_ONCE if chosen else few, 0
    for start in range(0, values.shape[0], step):
        block = values[start : start + step]
        parts = compiled_l1.sums(block, rule) if chosen else _sums(doubles(block), rule)
        unusable += parts.unusable
        # A few at a time: how many there are is private, and memory is not to tell it.
        left = np.split(parts.careful, range(few, parts.careful.size, few))
        for part in (parts, *(_sums(doubles(block[rows]), rule) for rows in left)):
            inside += part.grid
            projected += part.projected
    taken = exact_product(rule.matrix.T.astype(np.int64), inside.tolist())
    return [a + (b << rule.shift) for a, b in zip(taken, projected.tolist(), strict=True)], unusable


def _sums(values: Floats, rule: L1Rule) -> compiled_l1.Parts:
    """The sums of a block of records, by NumPy."""
    none = np.empty(0, dtype=np.int64)
    with np.errstate(all="ignore"):
        integers, exponents, squares, near, unusable = placed(values, rule)
        inside = near & proved(integers, squares, rule)
        left = np.flatnonzero(~inside)
        # Exact, in any order of summation.
        coefficients = integers[left] @ rule.matrix
        units = np.ceil(np.ldexp(np.abs(coefficients), -rule.shift)).sum(axis=1)
        found = near[left] & (units <= rule.radius)
        inside[left[found]] = True
        rest = left[~found]
        rows = Rows(coefficients[~found], exponents[rest] - rule.ball.exponent)
        projected = rule.projected.clip(rows).sum(axis=0) if rest.size else 0
    totals = integers[inside].sum(axis=0).astype(np.int64)
    return compiled_l1.Parts(totals, projected + np.zeros(len(rule.matrix.T), np.int64), unusable, none)


def placed(values: Floats, rule: L1Rule) -> tuple[Floats, Integers, Floats, Flags, int]:
    """Rows on the public grid, long ones on their own; exponents, squares, which are near, unusable."""
    integers = np.rint(np.ldexp(values, rule.exponent))
    squares, exponents = square_lengths(integers, rule.weights), np.zeros(len(values), dtype=np.int64)
    near = squares <= rule.limit * rule.limit
    long = np.flatnonzero(~near)
    if not long.size:
        return integers, exponents, squares, near, 0
    usable = np.isfinite(values[long]).all(axis=1)
    integers[long[~usable]], squares[long[~usable]], near[long[~usable]] = 0.0, 0.0, True
    unusable, long = int(np.count_nonzero(~usable)), long[usable]
    shifts = rule.bits - np.frexp(np.max(np.abs(values[long]), axis=1, initial=0.0))[1]
    integers[long] = np.rint(np.ldexp(values[long], shifts[:, None]))
    squares[long] = square_lengths(integers[long], rule.weights)
    exponents[long] = rule.exponent - shifts
    return integers, exponents, squares, near, unusable


def proved(integers: Floats, squares: Floats, rule: L1Rule) -> Flags:
    """Rows that are inside the ball by their head and their length."""
    if not rule.head:
        return np.zeros(len(integers), dtype=np.bool_)
    square, root, room = rule.tail
    heads = integers @ rule.matrix[:, : rule.head]
    rest = np.maximum(square * squares - (heads * heads).sum(axis=1), 0.0)
    return np.asarray(np.abs(heads).sum(axis=1) + root * np.sqrt(rest) * OUTWARD <= room)
