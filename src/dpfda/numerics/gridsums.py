"""Records on the grid as integers whose sum is exact in any order: the public rules, and the sums.

A record's values become integers of at most 30 bits, by operations on one entry (and one length of its
own row, summed in a fixed order). Such integers are added up in float64 without any rounding as long as
the sum stays below 2^53, so the order of the additions, the number of threads and the size of blocks do
not show, and the compiled loop and NumPy give the same integers bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np

from dpfda.numerics import compiled
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers, doubles

# Bits of an integer, so that 2^23 of them add up below 2^53.
BITS = 30


@dataclass(frozen=True, eq=False)
class GridRule:
    """What turns one record into integers; all of it public.

    With y = (x - center) 2^exponent, a record is either clipped entry by entry, to the nearest integer
    with |y_k| <= h_k, or (where `limit` is finite) shrunk along its direction until
    (sum_k w_k y_k^2)^(1/2) <= limit and rounded toward zero.

    center: array (m,). Subtracted from every record, in the units of the data.
    half_widths: array (m,). Integers h_k below 2^30 + 2, held in float64. No integer of a record is
        larger.
    weights: array (m,). Quadrature weights.
    exponent: The grid of values is 2^-exponent, in the units of the data.
    limit: Largest weighted length in grid units; infinity for bounds on values.
    """

    center: Floats
    half_widths: Floats
    weights: Floats
    exponent: int
    limit: float = np.inf
    scale: float = field(init=False)

    def __post_init__(self) -> None:
        if not np.all(self.half_widths <= 2.0**BITS + 1):
            raise ValueError("half-widths leave the range in which sums are exact")
        if self.shrinks and np.any(self.center):
            raise ValueError("records are shrunk toward zero, not toward another center")
        object.__setattr__(self, "scale", float(np.ldexp(1.0, self.exponent)))

    @property
    def shrinks(self) -> bool:
        """Whether records are shrunk to a length, rather than clipped entry by entry."""
        return bool(np.isfinite(self.limit))

    def same(self, other: GridRule) -> bool:
        """Whether both make the same integers of every record."""
        names = ("center", "half_widths", "weights", "exponent", "limit")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)


@dataclass(frozen=True, eq=False)
class FromLine:
    """How far a record, clipped between public curves, is from a public line at its farthest point.

    lower, upper, line: array (m,).
    shares: array (m,). What a distance is multiplied by at each point.
    """

    lower: Floats
    upper: Floats
    line: Floats
    shares: Floats

    def lengths(self, values: Floats) -> Floats:
        """Of finite records (n, m), each by itself; `compiled.read_lengths` gives the same. Private."""
        apart = np.clip(values, self.lower, self.upper)
        apart -= self.line
        np.abs(apart, out=apart)
        apart *= self.shares
        return np.asarray(apart.max(axis=1))


class SideBySide:
    """Rules of several channels, for records (m, d) flattened: d values at a point lie side by side.

    channels: On m points each, all for bounds on values.
    """

    limit: ClassVar[float] = np.inf
    shrinks: ClassVar[bool] = False

    def __init__(self, channels: Sequence[GridRule]) -> None:
        if any(rule.shrinks for rule in channels):
            raise ValueError("records of several channels are clipped entry by entry")

        def together(parts: list[Floats]) -> Floats:
            return np.stack(parts, axis=1).ravel()

        self.center = together([rule.center for rule in channels])
        self.half_widths = together([rule.half_widths for rule in channels])
        self.weights = together([rule.weights for rule in channels])
        self.scale = together([np.full(rule.center.size, rule.scale) for rule in channels])


# What the sums of records on a grid are made by.
Rule: TypeAlias = GridRule | SideBySide


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
    made, unusable = _integers(values, rule)
    return made.sum(axis=0), int(np.count_nonzero(unusable))


def _integers(values: Cells, rule: Rule) -> tuple[Floats, Flags]:
    """Integers of records, held in float64, and which records are unusable: zeros there."""
    rows = doubles(values)
    # Here, because a thread does not inherit it: a warning of an overflow tells something of values.
    with np.errstate(all="ignore"):
        if rule.shrinks:
            made = _shrunk(rows, rule)
        else:
            made = rows - rule.center
            made *= rule.scale
            np.rint(made, out=made)
        np.minimum(made, rule.half_widths, out=made)
        np.maximum(made, -rule.half_widths, out=made)
        # Finite only if all terms are; entries times these are too small for a sum of them to overflow.
        unusable = ~np.isfinite(rows @ np.full(rule.center.size, 2.0**-100))
    made[unusable] = 0.0
    return made, unusable


def _shrunk(rows: Floats, rule: Rule) -> Floats:
    """Records in grid units, shrunk to a length and rounded toward zero."""
    made = rows * rule.scale
    lengths = square_lengths(made, rule.weights)
    factors = np.where(lengths > rule.limit * rule.limit, rule.limit / np.sqrt(lengths), 1.0)
    huge = np.flatnonzero(~np.isfinite(lengths))
    # Their squares overflow: first they are divided by a power of two, to entries of at most 1.
    exponents = np.frexp(np.max(np.abs(rows[huge]), axis=1, initial=0.0))[1]
    made[huge] = np.ldexp(rows[huge], -exponents[:, None])
    factors[huge] = rule.limit / np.sqrt(square_lengths(made[huge], rule.weights))
    made *= factors[:, None]
    return np.trunc(made, out=made)


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
