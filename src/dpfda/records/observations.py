"""Observations of curves, pooled: whose, when, how much; and each unit's shares of public cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.numerics.arrays import Flags, Floats, Integers, doubles
from dpfda.numerics.errors import DataError, Location, Private
from dpfda.records.cells import OUTSIDE
from dpfda.records.containers import matrix_of
from dpfda.records.curves import check_orientation
from dpfda.records.labels import numbered, read_keys, unit_codes
from dpfda.records.long import LongCurves

# Corners of what a value is spread over: its weights are (1 - v)^2, 2 v (1 - v) and v^2.
CORNERS = 3
# Observations are read in blocks, for less memory.
BLOCK = 2**18
# Units whose pairs are looked at together.
PERSONS = 2**12


@dataclass(frozen=True, eq=False, repr=False)
class Observations(Private):
    """Values of units at times, one a row. Private.

    codes: array (n,) of int. Number of each observation's unit.
    times: array (n,) or (n, d). Points of the domain. Finite where usable.
    values: array (n,). Finite where usable.
    usable: array (n,) of bool. The others are left out; a unit without any usable one is all zeros.
    units: Number of units.
    records: array (n,) of int, optional. Number of each observation's curve, where units have several.
    """

    codes: Integers
    times: Floats
    values: Floats
    usable: Flags
    units: int
    records: Integers | None = None

    def shares(
        self, cells: CellGrid, bounds: tuple[float, float] | None, unit: int, corners: int = CORNERS
    ) -> list[int]:
        """Sums over units of their shares (cells x corners, the corners running fastest), exactly.

        A unit with k usable observations gives each of them q = floor(unit / k). An observation in cell
        c of value v, clipped to the bounds and scaled to [0, 1], adds floor(q v^2) to the last corner of
        the cell, floor(2 q v (1 - v)) to the middle one, but no more than is left, and what is left of q
        to the first: integers >= 0 of sum q. So a unit's shares are not negative and add up to at most
        `unit`, whatever its observations are, and follow from these alone. The corners' values 0, 1/2, 1
        give back v on average, and the last one v^2. Where values are numbers of classes, an observation
        adds all of q to the corner of its class.

        cells: Of the domain. Public.
        bounds: (float, float) or None. Public; None for classes.
        unit: At most 2^20; sums stay below 2^53, where sums in doubles are exact in any order.
        corners: Three, or the number of classes.
        """
        sizes = np.bincount(self.codes[self.usable], minlength=self.units)
        total = np.zeros(cells.size * corners)
        for start in range(0, self.codes.size, BLOCK):
            rows = slice(start, start + BLOCK)
            usable = self.usable[rows]
            value, time = self.values[rows][usable], doubles(self.times[rows])[usable]
            weight = (unit // sizes[self.codes[rows][usable]]).astype(np.float64)
            place = cells.index(time.reshape(value.size, cells.dimensions)) * corners
            parts = (
                [(value.astype(np.int64), weight)] if bounds is None else _spread(value, weight, bounds)
            )
            for corner, part in parts:
                total += np.bincount(place + corner, part, total.size)
        return [int(share) for share in total]

    def pair_shares(self, cells: CellGrid, unit: int, squares: int) -> list[int]:
        """Sums over units of their shares (N + 1, 2) of the N pairs of cells, and of squares.

        Values are deviations in shares of their reach, clipped to [-1, 1]. A unit's n pairs of
        observations of one curve at two visits share floor(unit m / n) out to each pair of cells that
        holds m of them, and w goes to its two corners: floor(w (1 + p) / 2) to the last one, where p is
        the mean of the m products, the rest of w to the first. Of its squares, in one cell for all
        times, floor(`squares` s) goes to the last corner, s their mean, the rest to the first. So a
        unit's shares are integers >= 0 that add up to at most `unit` + `squares`, whatever its
        observations are, and follow from these alone. The difference of the corners gives back the
        products on average, their sum how many there are; the last corner of squares gives these back.

        cells: Of an interval. Public. Pairs (i, j), i <= j, row by row.
        unit, squares: At most 2^20 together.
        """
        total = np.zeros((cells.size * (cells.size + 1) // 2 + 1, 2))
        order = np.flatnonzero(self.usable)
        records = self.codes if self.records is None else self.records
        order = order[np.lexsort((records[order], self.codes[order]))]
        codes, records, values = self.codes[order], records[order], np.clip(self.values[order], -1, 1)
        place = cells.index(self.times[order][:, None])
        begins = (np.diff(codes, prepend=-1) != 0) | (np.diff(records, prepend=-1) != 0)
        for start in range(0, self.units, PERSONS):
            rows = slice(*np.searchsorted(codes, (start, start + PERSONS)))
            if rows.start == rows.stop:
                continue
            curve = np.cumsum(begins[rows]) - 1
            # Curves of one unit are added up before anything is shared out.
            starts = np.flatnonzero(np.diff(codes[rows][begins[rows]], prepend=-1))
            pairs, square_sums = _products(curve, place[rows], values[rows], cells.size)
            total[:-1] += _corners(unit, *(np.add.reduceat(column, starts) for column in pairs))
            total[-1:] += _corners(squares, *(np.add.reduceat(column, starts) for column in square_sums))
        return [int(share) for share in total.ravel()]


def _products(
    curve: Integers, place: Integers, values: Floats, cells: int
) -> Iterator[tuple[Floats, Floats]]:
    """Of each curve: numbers and sums of products by pairs of cells, and of squares in all."""
    shape = int(curve[-1]) + 1, cells
    count, summed, square = (
        np.bincount(curve * cells + place, weights, shape[0] * cells).reshape(shape).astype(np.float64)
        for weights in (None, values, values * values)
    )
    first, second = np.triu_indices(cells)
    n, s, same = count[:, first], summed[:, first], first == second
    # Of a cell with itself, every pair of two visits once.
    yield (
        np.where(same, n * (n - 1) / 2, n * count[:, second]),
        np.where(same, (s * s - square[:, first]) / 2, s * summed[:, second]),
    )
    # Squares lie in [0, 1], and are brought to [-1, 1].
    seen = count.sum(axis=1, keepdims=True)
    yield seen, 2 * square.sum(axis=1, keepdims=True) - seen


def _corners(unit: int, count: Floats, products: Floats) -> Floats:
    """Sums (cells, 2) of the corners, from numbers and sums of products (units, cells)."""
    # The floors add up to a whole number that exceeds the unit by rounding at most, so not at all.
    shares = np.floor(unit * (count / np.maximum(count.sum(axis=1, keepdims=True), 1.0)))
    mean = np.clip(products / np.maximum(count, 1.0), -1.0, 1.0)
    upper = np.minimum(np.floor(shares * ((1 + mean) / 2)), shares)
    return np.stack([(shares - upper).sum(axis=0), upper.sum(axis=0)], axis=1)


def _spread(value: Floats, shares: Floats, bounds: tuple[float, float]) -> Iterable[tuple[int, Floats]]:
    """The three corners, and what each gets of shares (n,): whole numbers that add up to them."""
    lower, upper = bounds
    scaled = np.clip((np.clip(value, lower, upper) - lower) / (upper - lower), 0.0, 1.0)
    last = np.floor(shares * (scaled * scaled))
    middle = np.minimum(np.floor(shares * (2 * scaled * (1 - scaled))), shares - last)
    return enumerate((shares - last - middle, middle, last))


def observations_from_long(
    long: LongCurves, groups: object, ends: tuple[float, float], invalid: str
) -> Observations:
    """Observations of a long table; the unit of each is its group, or its record where there are none.

    groups: array (n,). Instead of those of `long`.
    ends: (float, float). Public ends of the domain.
    invalid: {"refuse", "repair"}. Raise on observations without a unit, unusable or outside the domain;
        or leave them out, and count all of the first kind as one unit's.
    Raises DataError with the row of the first offence, never its value.
    """
    groups = long.groups if groups is None else groups
    name, labels = ("ids", long.ids) if groups is None else ("groups", groups)
    keys = read_keys(labels, name, invalid, of="observation")
    if len(keys) != long.times.size:
        raise DataError(
            f"groups must hold one label an observation ({long.times.size}); found {len(keys)}.",
            "groups",
        )
    codes = numbered(keys)
    usable = long.usable(ends, invalid)
    records = None if groups is None else numbered(read_keys(long.ids, "ids", "repair"))
    return Observations(codes, long.times, long.values, usable, int(codes.max(initial=-1)) + 1, records)


def observations_from_array(values: object, grid: Floats, groups: object, invalid: str) -> Observations:
    """Observations of a matrix with gaps: one curve a row, NaN where it was not observed.

    values: array (n, m).
    grid: array (m,). Public times of the columns.
    groups: array (n,). Unit of each row; by default each is one.
    invalid: {"refuse", "repair"}. Raise on infinite values and rows without any value, or leave them
        out.
    Raises DataError or OrientationError with row and column of the first offence, never its value.
    """
    cells = matrix_of(values, invalid)
    check_orientation(cells.shape, grid.size)
    matrix = doubles(cells)
    usable = np.isfinite(matrix)
    if invalid == "refuse":
        infinite = np.isinf(matrix)
        if infinite.any():
            row, column = (int(i) for i in np.unravel_index(infinite.argmax(), matrix.shape))
            raise DataError(
                "X must hold finite values and gaps; found an infinity (inf) in $place. Use $invalid "
                f"to leave such values out. {OUTSIDE}",
                place=Location(row, column),
            )
        if not usable.any(axis=1).all():
            raise DataError(
                "X must have a value in every row; found none in $place. Use $invalid to count such a "
                f"row as a unit without observations. {OUTSIDE}",
                place=Location(int(np.argmin(usable.any(axis=1)))),
            )
    rows = matrix.shape[0]
    codes = np.arange(rows) if groups is None else unit_codes(groups, rows, invalid)
    return Observations(
        np.repeat(codes, grid.size),
        np.tile(grid, rows),
        matrix.ravel(),
        usable.ravel(),
        int(codes.max(initial=-1)) + 1,
        np.repeat(np.arange(rows), grid.size),
    )
