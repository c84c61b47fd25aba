"""Clip, round and add up records on the grid: integers whose sum is exact in any order.

A record's values become integers of at most 30 bits, by operations on one entry (and one length of its
own row, summed in a fixed order). Such integers are added up in float64 without any rounding as long as
the sum stays below 2^53, so the order of the additions, the number of threads and the size of blocks do
not show, and the compiled loop and NumPy give the same integers bit for bit.
"""

from __future__ import annotations

import numpy as np

from dpfda.numerics import compiled
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers, doubles
from dpfda.numerics.gridrules import Rule

ROWS_AT_ONCE = 2**22
# A row's squares are added up in this many lanes: a fixed order that processors can do in parallel.
LANES = 32
# Numbers that NumPy works on at a time, so that they stay in the processor's cache.
NUMBERS_AT_ONCE = 2**16


def integers(values: Cells, rule: Rule) -> Integers:
    """The integers (n, m) of each record; row i is a function of ``values[i]`` alone.

    A record with NaN, infinity or an integer of 2^53 or more becomes the zero vector: the center.
    """
    return _integers(values, rule)[0].astype(np.int64)


def grid_sum(values: Cells, rule: Rule, compile: bool | None = None) -> tuple[Integers, int]:
    """Add up the integers of many records.

    Parameters
    ----------
    values : array (n, m)
        Records of any real type and memory layout. Private.
    rule : Rule
        Public.
    compile : bool, optional
        Use the compiled loops; by default for many numbers. The result is the
        same.

    Returns
    -------
    totals : array (m,) of int64
        Exact sums.
    unusable : int
        Number of records with NaN, infinity or an integer of 2^53 or more; each counted as zero.
    """
    totals, unusable = np.zeros(rule.center.size, dtype=np.int64), 0
    chosen = compiled.worthwhile(values.size) if compile is None else compile
    add = compiled.clip_round_sum if chosen else _sum
    step = ROWS_AT_ONCE if chosen else max(1, NUMBERS_AT_ONCE // rule.center.size)
    for start in range(0, values.shape[0], step):
        part, bad = add(values[start : start + step], rule)
        # Exact, also where integers below 2^53 are held in float64.
        totals += part.astype(np.int64)
        unusable += bad
    return totals, unusable


def _sum(values: Cells, rule: Rule) -> tuple[Floats, int]:
    rows, unusable = _integers(values, rule)
    return rows.sum(axis=0), int(np.count_nonzero(unusable))


def _integers(values: Cells, rule: Rule) -> tuple[Floats, Flags]:
    """Integers of records, held in float64, and which records are unusable: zeros there."""
    rows = doubles(values)
    # Here, because a thread does not inherit it: a warning of an overflow tells something of values.
    with np.errstate(all="ignore"):
        if rule.shrinks:
            numbers = _shrunk(rows, rule)
        else:
            numbers = rows - rule.center
            numbers *= rule.scale
            np.rint(numbers, out=numbers)
        np.minimum(numbers, rule.half_widths, out=numbers)
        np.maximum(numbers, -rule.half_widths, out=numbers)
        # Finite only if all terms are; entries times these are too small for a sum of them to overflow.
        unusable = ~np.isfinite(rows @ np.full(rule.center.size, 2.0**-100))
    numbers[unusable] = 0.0
    return numbers, unusable


def _shrunk(rows: Floats, rule: Rule) -> Floats:
    """Records in grid units, shrunk to a length and rounded toward zero."""
    numbers = rows * rule.scale
    lengths = square_lengths(numbers, rule.weights)
    factors = np.where(lengths > rule.limit * rule.limit, rule.limit / np.sqrt(lengths), 1.0)
    huge = np.flatnonzero(~np.isfinite(lengths))
    # Their squares overflow: first they are divided by a power of two, to entries of at most 1.
    exponents = np.frexp(np.max(np.abs(rows[huge]), axis=1, initial=0.0))[1]
    numbers[huge] = np.ldexp(rows[huge], -exponents[:, None])
    factors[huge] = rule.limit / np.sqrt(square_lengths(numbers[huge], rule.weights))
    numbers *= factors[:, None]
    return np.trunc(numbers, out=numbers)


def square_lengths(rows: Floats, weights: Floats) -> Floats:
    """Sums of w_k y_k^2, each in the fixed order of `lane_sums`."""
    return lane_sums(rows * rows * weights)


def lane_sums(rows: Floats) -> Floats:
    """Sums of each row in a fixed order: column k is added to lane k mod 32, then lanes are paired."""
    lanes, half = np.zeros((LANES, len(rows))), LANES // 2
    for start in range(0, rows.shape[1], LANES):
        part = rows.T[start : start + LANES]
        lanes[: len(part)] += part
    while half:
        lanes, half = lanes[:half] + lanes[half : 2 * half], half // 2
    return np.asarray(lanes[0])
