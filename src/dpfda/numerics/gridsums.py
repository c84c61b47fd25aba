"""Clip, round and add up records on the grid: integers whose sum is exact in any order.

A record's values become integers of at most 30 bits, by operations on one entry (and one length of its
own row, summed in a fixed order). Such integers are added up in float64 without any rounding as long as
the sum stays below 2^53, so the order of the additions, the number of threads and the size of blocks do
not show, and the compiled loop (extra `fast`) and NumPy give the same integers bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.numerics import compiled
from dpfda.numerics.native_arrays import doubles

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Bits of an integer, so that 2^23 of them add up below 2^53.
BITS = 30
ROWS_AT_ONCE = 2**22
# A row's squares are added up in this many lanes: a fixed order that processors can do in parallel.
LANES = 32
# Numbers that NumPy works on at a time, so that they stay in the processor's cache.
NUMBERS_AT_ONCE = 2**15


@dataclass(frozen=True, eq=False)
class GridRule:
    """What turns one record into integers; all of it public.

    With y = (x - center) 2^exponent, a record is either clipped entry by entry, to the nearest integer
    with |y_k| <= h_k, or (where `limit` is finite) shrunk along its direction until
    (sum_k w_k y_k^2)^(1/2) <= limit and rounded toward zero.

    Parameters
    ----------
    center : array (m,)
        Subtracted from every record, in the units of the data.
    half_widths : array (m,)
        Integers h_k below 2^30 + 2, held in float64. No integer of a record is larger.
    weights : array (m,)
        Quadrature weights.
    exponent : int
        The grid of values is 2^-exponent, in the units of the data.
    limit : float
        Largest weighted length in grid units; infinity for bounds on values.
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
class SideBySide:
    """Rules of several channels, for records (m, d) flattened: d values at a point lie side by side.

    Parameters
    ----------
    channels : tuple of d GridRule
        On m points each, all for bounds on values.
    """

    channels: tuple[GridRule, ...]
    limit: float = field(init=False, default=np.inf)
    shrinks: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        if any(rule.shrinks for rule in self.channels):
            raise ValueError("records of several channels are clipped entry by entry")

    def _together(self, parts: list[Floats]) -> Floats:
        return np.stack(parts, axis=1).ravel()

    @cached_property
    def center(self) -> Floats:
        """Center (m d,)."""
        return self._together([rule.center for rule in self.channels])

    @cached_property
    def half_widths(self) -> Floats:
        """Largest integers (m d,)."""
        return self._together([rule.half_widths for rule in self.channels])

    @cached_property
    def weights(self) -> Floats:
        """Quadrature weights (m d,)."""
        return self._together([rule.weights for rule in self.channels])

    @cached_property
    def scale(self) -> Floats:
        """Grid units (m d,) per unit of the data."""
        return self._together([np.full(rule.center.size, rule.scale) for rule in self.channels])


def integers(values: NDArray[Any], rule: GridRule) -> Integers:
    """The integers (n, m) of each record; row i is a function of ``values[i]`` alone.

    A record with NaN, infinity or an integer of 2^53 or more becomes the zero vector: the center.
    """
    with np.errstate(all="ignore"):
        return _rows(values, rule, np.empty((2, values.size)))[0].astype(np.int64)


def grid_sum(
    values: NDArray[Any], rule: GridRule | SideBySide, compile: bool | None = None
) -> tuple[Integers, int]:
    """Add up the integers of many records.

    Parameters
    ----------
    values : array (n, m)
        Records of any real type and memory layout. Private.
    rule : GridRule or SideBySide
        Public.
    compile : bool, optional
        Use the compiled loop where numba is installed; by default for many numbers. The result is the
        same.

    Returns
    -------
    totals : array (m,) of int64
        Exact sums.
    unusable : int
        Number of records with NaN, infinity or an integer of 2^53 or more; each counted as zero.
    """
    totals, unusable = np.zeros(rule.center.size, dtype=np.int64), 0
    chosen = compiled.worthwhile(values.size) if compile is None else compile and compiled.available()
    add = compiled.clip_round_sum if chosen else _blocked
    for start in range(0, values.shape[0], ROWS_AT_ONCE):
        part, bad = add(values[start : start + ROWS_AT_ONCE], rule)
        # Exact: integers below 2^53 held in float64.
        totals += part.astype(np.int64)
        unusable += bad
    return totals, unusable


def _blocked(values: NDArray[Any], rule: GridRule | SideBySide) -> tuple[Floats, int]:
    totals, unusable = np.zeros(rule.center.size), 0
    step = max(1, NUMBERS_AT_ONCE // rule.center.size)
    # Memory that is new to the process costs several times as much as what is done in it.
    spare = np.empty((2, min(step, values.shape[0]) * rule.center.size))
    with np.errstate(all="ignore"):
        for start in range(0, values.shape[0], step):
            part, bad = _rows(values[start : start + step], rule, spare)
            totals += part.sum(axis=0)
            unusable += bad
    return totals, unusable


def _rows(values: NDArray[Any], rule: GridRule | SideBySide, spare: Floats) -> tuple[Floats, int]:
    """Integers in float64, in spare memory, and how many records were not usable."""
    rows = values if values.dtype == np.float64 else doubles(values)
    spare = spare[:, : rows.size]
    if rule.shrinks:
        # In the order of columns, as `lane_sums` takes it.
        made, squares = spare.reshape(2, *rows.shape[::-1]).swapaxes(1, 2)
        _shrink(rows, rule, made, squares)
    else:
        made = spare[0].reshape(rows.shape)
        centered = np.subtract(rows, rule.center, out=made) if rule.center.any() else rows
        np.multiply(centered, rule.scale, out=made)
        np.rint(made, out=made)
    np.minimum(made, rule.half_widths, out=made)
    np.maximum(made, -rule.half_widths, out=made)
    # A sum is finite only if all of its terms are.
    if np.isfinite(rows.sum()):
        return made, 0
    unusable = ~np.isfinite(rows).all(axis=1)
    made[unusable] = 0.0
    return made, int(np.count_nonzero(unusable))


def _shrink(rows: Floats, rule: GridRule | SideBySide, scaled: Floats, spare: Floats) -> None:
    """Put into `scaled` the rows in grid units, shrunk and rounded toward zero."""
    np.multiply(rows, rule.scale, out=scaled)
    squares = square_lengths(scaled, rule.weights, spare)
    huge = ~np.isfinite(squares)
    if huge.any():
        # Their squares overflow: they are first divided by a power of two, to entries of at most one.
        chosen = rows[huge]
        exponents = np.frexp(np.max(np.abs(chosen), axis=1))[1]
        scaled[huge] = np.ldexp(chosen, -exponents[:, None])
        squares[huge] = square_lengths(scaled[huge], rule.weights)
    factors = np.where(huge | (squares > rule.limit * rule.limit), rule.limit / np.sqrt(squares), 1.0)
    scaled *= factors[:, None]
    np.trunc(scaled, out=scaled)


def square_lengths(rows: Floats, weights: Floats, spare: Floats | None = None) -> Floats:
    """Sums of w_k y_k^2, each in the fixed order of `lane_sums`."""
    squares = np.multiply(rows, rows, out=spare)
    squares *= weights
    return lane_sums(squares)


def lane_sums(rows: Floats) -> Floats:
    """Sums of each row in a fixed order: column k is added to lane k mod 32, then lanes are paired."""
    # Column by column, each contiguous, which processors do several times faster.
    columns, lanes = np.ascontiguousarray(rows.T), np.zeros((LANES, rows.shape[0]))
    for start in range(0, len(columns), LANES):
        part = columns[start : start + LANES]
        lanes[: len(part)] += part
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = lanes[:half] + lanes[half:]
    return np.asarray(lanes[0])
