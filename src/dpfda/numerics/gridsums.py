"""Clip, round and add up records on the grid: integers whose sum is exact in any order.

A record's values become integers of at most 30 bits, by operations on one entry (and one length of its
own row, summed in a fixed order). Such integers are added up in float64 without any rounding as long as
the sum stays below 2^53, so the order of the additions, the number of threads and the size of blocks do
not show, and the compiled loop (extra `fast`) and NumPy give the same integers bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from dpfda.numerics import compiled
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers
from dpfda.numerics.native_arrays import doubles
from dpfda.numerics.one_thread import one_thread

Mend = Callable[[Floats], None]
Shape = Callable[[Floats, Floats], Flags]

# Bits of an integer, so that 2^23 of them add up below 2^53.
BITS = 30
ROWS_AT_ONCE = 2**22
# A row's squares are added up in this many lanes: a fixed order that processors can do in parallel.
LANES = 32
# No records.
NONE = np.empty(0, dtype=np.int64)
# Short rows are put together to so many numbers.
WIDE = 1024
# Numbers that NumPy works on at a time, so that they stay in the processor's cache.
NUMBERS_AT_ONCE = 2**16


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


def integers(values: Cells, rule: GridRule) -> Integers:
    """The integers (n, m) of each record; row i is a function of ``values[i]`` alone.

    A record with NaN, infinity or an integer of 2^53 or more becomes the zero vector: the center.
    """
    return BlockSum(rule, len(values), len(values)).integers(values)[0].astype(np.int64)


def grid_sum(
    values: Cells,
    rule: GridRule | SideBySide,
    compile: bool | None = None,
    mend: Mend | None = None,
    shape: Shape | None = None,
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
    mend, shape : callable, optional
        See `BlockSum`; only for NumPy.

    Returns
    -------
    totals : array (m,) of int64
        Exact sums.
    unusable : int
        Number of records with NaN, infinity or an integer of 2^53 or more; each counted as zero.
    """
    totals, unusable = np.zeros(rule.center.size, dtype=np.int64), 0
    chosen = compiled.worthwhile(values.size) if compile is None else compile and compiled.available()
    add = (
        compiled.clip_round_sum if chosen and mend is None else partial(_blocked, mend=mend, shape=shape)
    )
    for start in range(0, values.shape[0], ROWS_AT_ONCE):
        part, bad = add(values[start : start + ROWS_AT_ONCE], rule)
        # Exact, also where integers below 2^53 are held in float64.
        totals += part.astype(np.int64)
        unusable += bad
    return totals, unusable


def _blocked(
    values: Cells, rule: GridRule | SideBySide, mend: Mend | None, shape: Shape | None
) -> tuple[Integers, int]:
    made, unusable = BlockSum(rule, len(values), mend=mend, shape=shape), 0
    with one_thread() if len(values) > made.step else nullcontext():
        for start in range(0, len(values), made.step):
            unusable += made.add(values[start : start + made.step]).size
    return made.totals, unusable


class BlockSum:
    """Adds up integers of records by NumPy, block by block, in memory that is used for each again.

    Parameters
    ----------
    rule : GridRule or SideBySide
        Public.
    records : int
        How many there are.
    step : int, optional
        How many records are taken at a time, at most; by default what stays in the processor's cache.
    mend : callable, optional
        Puts what is to be added in place of rows (n, m) that are not all finite.
    shape : callable, optional
        Puts what is to be added in place of columns (m, n), given spare memory of twice their size, and
        returns which records are usable.
    """

    def __init__(
        self,
        rule: GridRule | SideBySide,
        records: int,
        step: int | None = None,
        mend: Mend | None = None,
        shape: Shape | None = None,
    ) -> None:
        points = rule.center.size
        # So many rows are taken as one, for what differs from point to point: long loops are faster.
        self._times = max(1, min(WIDE, NUMBERS_AT_ONCE) // points)
        some = NUMBERS_AT_ONCE // points
        self.step = step or max(1, some - some % self._times)
        self.totals = np.zeros(points, dtype=np.int64)
        self._rule, self._ones = rule, np.ones(max(points, self.step))
        self._mend, self._shape = mend, shape
        # Entries times these are so small that only those which are not finite make a sum infinite.
        self._small = np.full(points, 2.0**-100)
        rows = min(self.step, records)
        # Memory that is new to the process costs several times as much as what is done in it.
        self._spare = np.empty((4 if rule.shrinks or shape else 1, rows * points))
        half_widths = rule.half_widths
        if rule.shrinks:
            self._high = np.repeat(half_widths, rows).reshape(points, rows)
        else:
            self._high = np.tile(half_widths, self._times)
        self._low = -self._high

    def add(self, values: Cells) -> Integers:
        """Add a block (n, m) of any real type; returns the places of unusable records, not added."""
        made, unusable = self.integers(values)
        # Integers below 2^53: exact in any order, so BLAS may take its own.
        self.totals += (self._ones[: len(made)] @ made).astype(np.int64)
        return unusable

    def integers(self, values: Cells) -> tuple[Floats, Integers]:
        """Integers of a block, held in float64, and the places of unusable records: zeros there."""
        # Here, because a thread does not inherit it: a warning of an overflow tells something of values.
        with np.errstate(all="ignore"):
            rows, unusable = self._read(values)
            made = self._shrunk(rows) if self._rule.shrinks else self._clipped(rows)
        if unusable.size:
            made[unusable] = 0.0
        return made, unusable

    def _read(self, values: Cells) -> tuple[Floats, Integers]:
        """Records as float64, mended and shaped, and the places of those that are not usable."""
        room = self._spare[0, : values.size].reshape(values.shape)
        rows = values if values.dtype == np.float64 else doubles(values, room)
        unusable = NONE
        looked_at = self._shape is None or self._mend is not None
        # Finite only if all terms are. Of all that could come first this fetches rows fastest.
        if looked_at and not np.isfinite(rows.sum()):
            if self._mend is not None:
                np.copyto(room, rows)
                self._mend(room)
                rows = room
            unusable = np.flatnonzero(~np.isfinite(rows @ self._small))
        if self._shape is None:
            return rows, unusable
        columns = self._columns(1, rows)
        np.copyto(columns, rows.T)
        return columns.T, np.flatnonzero(~self._shape(columns, self._spare[2:]))

    def _columns(self, place: int, rows: Floats) -> Floats:
        return self._spare[place, : rows.size].reshape(rows.shape[::-1])

    def _clipped(self, rows: Floats) -> Floats:
        """Integers of rows, clipped entry by entry."""
        made, rule = self._spare[0, : rows.size].reshape(rows.shape), self._rule
        if rule.center.any():
            rows = np.subtract(rows, rule.center, out=made)
        np.multiply(rows, rule.scale, out=made)
        np.rint(made, out=made)
        self._by_point(np.minimum, made, self._high)
        self._by_point(np.maximum, made, self._low)
        return made

    def _shrunk(self, rows: Floats) -> Floats:
        """Integers of rows, shrunk to a length and rounded toward zero."""
        rule, count = self._rule, len(rows)
        # Column by column: so lengths of many rows are added up at once.
        made, squares = self._columns(2, rows), self._columns(3, rows)
        np.copyto(made, rows.T)
        made *= rule.scale
        np.multiply(made, made, out=squares)
        squares *= rule.weights[:, None]
        lengths = sums_by_lanes(squares)
        factors = np.where(lengths > rule.limit * rule.limit, rule.limit / np.sqrt(lengths), 1.0)
        huge = np.flatnonzero(~np.isfinite(lengths))
        if huge.size:
            # Their squares overflow: first they are divided by a power of two, to entries of at most 1.
            chosen = rows[huge]
            exponents = np.frexp(np.max(np.abs(chosen), axis=1))[1]
            chosen = np.ldexp(chosen, -exponents[:, None])
            made[:, huge] = chosen.T
            factors[huge] = rule.limit / np.sqrt(square_lengths(chosen, rule.weights))
        made *= factors
        np.trunc(made, out=made)
        np.minimum(made, self._high[:, :count], out=made)
        np.maximum(made, self._low[:, :count], out=made)
        return made.T

    def _by_point(self, function: np.ufunc, rows: Floats, numbers: Floats) -> None:
        """Put what a function makes of rows and of public numbers (m,), tiled, in place of the rows."""
        whole = len(rows) - len(rows) % self._times
        wide, rest = rows[:whole].reshape(-1, numbers.size), rows[whole:]
        function(wide, numbers, out=wide)
        if rest.size:
            function(rest, numbers[: rows.shape[1]], out=rest)


def square_lengths(rows: Floats, weights: Floats) -> Floats:
    """Sums of w_k y_k^2, each in the fixed order of `lane_sums`."""
    squares = np.multiply(rows, rows)
    squares *= weights
    return lane_sums(squares)


def lane_sums(rows: Floats) -> Floats:
    """Sums of each row in a fixed order: column k is added to lane k mod 32, then lanes are paired."""
    # Column by column, each contiguous, which processors do several times faster.
    return sums_by_lanes(np.array(rows.T, order="C"))


def sums_by_lanes(columns: Floats) -> Floats:
    """`lane_sums` of columns (m, n), which are overwritten; the sums lie in their memory."""
    points, count = columns.shape
    if points < LANES:
        columns = np.concatenate([columns, np.zeros((LANES - points, count))])
    lanes, half = columns[:LANES], LANES // 2
    for start in range(LANES, points, LANES):
        part = columns[start : start + LANES]
        lanes[: len(part)] += part
    while half:
        np.add(lanes[:half], lanes[half : 2 * half], out=lanes[:half])
        half //= 2
    return np.asarray(lanes[0])
