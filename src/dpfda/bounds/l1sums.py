"""Sums of records in an l1 ball of coefficients, exactly.

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

The sum over records inside is Q times the sum of their x: one exact product for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpfda.bounds.balls import IntegerBall
from dpfda.bounds.ongrid import EXPONENT_RANGE, WEIGHT_RANGE, OnInterval
from dpfda.bounds.stated import Bound, L1Ball
from dpfda.numerics import compiled
from dpfda.numerics.aggregate import exact_product
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers, doubles, is_direct
from dpfda.numerics.embedding import OwnTransform, Rows
from dpfda.numerics.gridsums import NUMBERS_AT_ONCE, ROWS_AT_ONCE, square_lengths
from dpfda.numerics.speed import one_thread, remembered

# How many times the radius a record on the public grid may be long.
LONGEST = 4
# Bits by which the matrix is finer than values of the size of the radius, beside those of the number of
# points: its rounding is the same for all records, that of values is not.
FINER = 4
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
    """

    matrix: Floats
    weights: Floats
    exponent: int
    limit: float
    bits: int
    projected: IntegerBall
    shift: int

    @property
    def radius(self) -> int:
        """Radius in units of projected coefficients."""
        return self.projected.radius

    @cached_property
    def ball(self) -> IntegerBall:
        """Holds what a record adds to the sum."""
        return IntegerBall("l1", self.radius << self.shift, self.projected.exponent + self.shift)

    def truncated(self, components: int) -> L1Rule:
        """For the leading coefficients alone."""
        return replace(self, matrix=self.matrix[:, :components].copy())


class Parts(NamedTuple):
    """Sums over records: on the grid of those inside, and of projected coefficients. Private."""

    grid: Integers
    projected: Integers
    unusable: int
    careful: Integers


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
    finest = max(abs(exponent), abs(both), abs(both - exponent)) < EXPONENT_RANGE
    exact = np.all(lengths * limit < 2.0**52.9) and limit / math.sqrt(weights.min()) < LARGEST_ENTRY
    shift = both - projected.exponent
    if not (finest and exact and 1 <= sizes < 2.0**44 and shift >= 0):
        return None
    long = 52 - math.frexp(sizes)[1]
    return L1Rule(np.ascontiguousarray(scaled), weights, exponent, limit, long, projected, shift)


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
        parts = _in_threads(block, rule) if chosen else _sums(doubles(block), rule)
        unusable += parts.unusable
        # A few at a time: how many there are is private, and memory is not to tell it.
        left = np.split(parts.careful, range(few, parts.careful.size, few))
        for part in (parts, *(_sums(doubles(block[rows]), rule) for rows in left)):
            inside += part.grid
            projected += part.projected
    taken = exact_product(rule.matrix.T.astype(np.int64), inside.tolist())
    return [a + (b << rule.shift) for a, b in zip(taken, projected.tolist(), strict=True)], unusable


def _sums(values: Floats, rule: L1Rule) -> Parts:
    """The sums of a block of records, by NumPy."""
    with np.errstate(all="ignore"):
        integers, exponents, near, unusable = _placed(values, rule)
        # Exact, in any order of summation.
        coefficients = integers @ rule.matrix
        units = np.ceil(np.ldexp(np.abs(coefficients), -rule.shift)).sum(axis=1)
        inside = near & (units <= rule.radius)
        rows = Rows(coefficients[~inside], exponents[~inside] - rule.ball.exponent)
        projected = rule.projected.clip(rows).sum(axis=0)
    totals = integers[inside].sum(axis=0).astype(np.int64)
    return Parts(totals, projected, unusable, np.empty(0, dtype=np.int64))


def _placed(values: Floats, rule: L1Rule) -> tuple[Floats, Integers, Flags, int]:
    """Rows on the public grid, long ones on their own; exponents, which are near, unusable ones."""
    integers = np.rint(np.ldexp(values, rule.exponent))
    exponents = np.zeros(len(values), dtype=np.int64)
    near = square_lengths(integers, rule.weights) <= rule.limit * rule.limit
    usable = near | np.isfinite(values).all(axis=1)
    integers[~usable], long = 0.0, np.flatnonzero(~near & usable)
    shifts = rule.bits - np.frexp(np.max(np.abs(values[long]), axis=1, initial=0.0))[1]
    integers[long] = np.rint(np.ldexp(values[long], shifts[:, None]))
    exponents[long] = rule.exponent - shifts
    return integers, exponents, near | ~usable, int(np.count_nonzero(~usable))


def _in_threads(values: Cells, rule: L1Rule) -> Parts:
    """The sums of records by compiled loops; those in `careful` are left to the caller."""
    # No thread without a row, however long the rows.
    wanted = min(compiled.threads(), 1 + values.size // compiled.NUMBERS_A_THREAD, len(values))
    ends = np.linspace(0, len(values), max(1, wanted) + 1).astype(np.int64).tolist()
    # The threads are ours: BLAS with threads of its own beside them is several times slower.
    with one_thread():
        parts = compiled.in_threads(lambda part: _compiled(values, part, rule), [*pairwise(ends)])
    grid, projected, unusable, careful = zip(*parts, strict=True)
    return Parts(np.sum(grid, axis=0), np.sum(projected, axis=0), sum(unusable), np.concatenate(careful))


def _compiled(values: Cells, part: tuple[int, int], rule: L1Rule) -> Parts:
    """The same of some rows, as many at a time as stay in the processor's cache."""
    from dpfda.numerics import numba_coefficients as loops

    (first, last), (points, size) = part, rule.matrix.shape
    rows = max(64, compiled.NUMBERS_AT_ONCE // points)
    integers, coefficients = np.empty((rows, points)), np.empty((rows, size))
    exponents, near, careful = np.empty(rows, np.int64), np.empty(rows, bool), np.empty(rows, bool)
    grid, projected = np.zeros(points, np.int64), np.zeros(size, np.int64)
    weights, unusable, left = np.array(rule.weights), 0, [np.empty(0, dtype=np.int64)]
    # Here, because a thread does not inherit it: a warning of an overflow tells something of values.
    with np.errstate(all="ignore"):
        for start in range(first, last, rows):
            block = values[start : min(start + rows, last)]
            block, some = block if is_direct(block) else doubles(block), slice(len(block))
            sums = np.zeros(points), np.zeros(size)
            loops.place(block, weights, rule.exponent, rule.limit, integers, near)
            unusable += loops.place_long(block, rule.exponent, rule.bits, integers, exponents, near)
            np.matmul(integers[some], rule.matrix, out=coefficients[some])
            loops.add_up(
                integers, coefficients[some], exponents, near, rule.shift, float(rule.radius), careful,
                *sums,
            )  # fmt: skip
            grid += sums[0].astype(np.int64)
            projected += sums[1].astype(np.int64)
            left.append(start + np.flatnonzero(careful[some]))
    return Parts(grid, projected, unusable, np.concatenate(left))
