"""Curves on a common public grid: checks, missing values, standardising, privacy units.

Every step here is a function of one record (or of the records of one unit), entry by entry or in a
fixed order, so that what a row becomes never depends, even in its last bit, on other rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers, doubles, is_direct
from dpfda.numerics.errors import DataError, Kept, Location, OrientationError
from dpfda.numerics.gridsums import NUMBERS_AT_ONCE, lane_sums, square_lengths
from dpfda.numerics.parameters import choice
from dpfda.numerics.words import so_many
from dpfda.records.cells import OUTSIDE, TOO_LARGE_INTEGER
from dpfda.records.containers import matrix_of

# A curve whose deviations from its mean are this small relative to it has no shape.
FLAT = 1e-12
# Squares of norms beyond these may have overflown, or lost digits.
LEAST_SQUARE, LARGEST_SQUARE = 2.0**-800, 2.0**800


@dataclass(frozen=True, eq=False, repr=False)
class Curves(Kept):
    """Private curves on a grid.

    Parameters
    ----------
    values : array (n, m)
        Finite values, to be read alone; rows that are not usable hold zeros.
    usable : array (n,) of bool
        Rows that hold a record. The others stand for a fixed public element.
    """

    values: Floats
    usable: Flags


def curves_from_array(
    values: object,
    grid_points: Floats,
    missing: str = "refuse",
    invalid: str = "refuse",
    first_row: int = 0,
    fills: bool = True,
    copied: bool = True,
) -> Curves:
    """Check a matrix of curves.

    Parameters
    ----------
    values : array (n, m)
        One curve a row, in any container (see `dpfda.records.containers`). Private.
    grid_points : array (m,)
        Public grid.
    missing : {"refuse", "complete"}
        Raise on missing values, or fill them by linear interpolation within the record (the nearest
        value beyond its ends).
    invalid : {"refuse", "repair"}
        Raise on records that cannot be used (infinite, all missing, or incomplete under
        ``missing="refuse"``), or replace each by a fixed public element.
    first_row : int
        Number of the first row, for errors.
    fills : bool
        Whether gaps could be filled, for errors.
    copied : bool
        Whether values are those of now, and not those of an array of doubles that may change.

    Raises
    ------
    DataError, OrientationError
        With row and column of the first offence, never its value.
    """
    choice(missing, "missing", ("refuse", "complete"))
    choice(invalid, "invalid", ("refuse", "repair"))
    cells = matrix_of(values, invalid)
    check_orientation(cells.shape, grid_points.size)
    if not copied and cells.dtype == np.float64 and is_direct(cells) and _is_finite(cells):
        return Curves(cells, np.ones(cells.shape[0], dtype=np.bool_))
    matrix = doubles(cells)
    if missing == "complete":
        matrix = _completed(matrix, grid_points)
    usable = np.asarray(np.isfinite(matrix).all(axis=1))
    if not usable.all():
        if invalid == "refuse":
            fills = fills and missing == "refuse"
            refuse_unusable(cells if cells.dtype.kind in "iu" else matrix, first_row, fills)
        matrix[~usable] = 0.0
    return Curves(matrix, usable)


def _is_finite(matrix: Floats) -> bool:
    """Whether all numbers are finite, as far as the sums of some of them say."""
    numbers = matrix.ravel()
    parts = (
        numbers[start : start + NUMBERS_AT_ONCE] for start in range(0, numbers.size, NUMBERS_AT_ONCE)
    )
    with np.errstate(all="ignore"):
        return all(np.isfinite(part.sum()) for part in parts)


def check_orientation(shape: tuple[int, ...], points: int) -> None:
    """Refuse a matrix whose rows do not fit the grid.

    Raises OrientationError if the columns do not match the grid; the message says whether the rows
    would.
    """
    if shape[1] == points:
        return
    if shape[0] == points:
        raise OrientationError(
            f"X must have one curve a row and one grid point a column; found "
            f"{so_many(shape[0], 'row')} and {so_many(shape[1], 'column')} for "
            f"{so_many(points, 'grid point')}, which looks like curves in columns. Pass X.T."
        )
    raise OrientationError(
        f"X must have one column a grid point ({points}); found {so_many(shape[1], 'column')}. "
        "The grid must be that of the data"
        + (", and its ends alone are Domain(domain_range=(a, b))." if points == 2 else ".")
    )


def _completed(matrix: Floats, grid_points: Floats) -> Floats:
    """Fill NaN by straight lines in place; rows that are not finite then stay as they were."""
    chosen = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    step = max(1, NUMBERS_AT_ONCE // grid_points.size)
    for start in range(0, chosen.size, step):
        some = chosen[start : start + step]
        rows = matrix[some]
        fill_gaps(rows, grid_points)
        finite = np.isfinite(rows).all(axis=1)
        matrix[some[finite]] = rows[finite]
    return matrix


# What is offered where records have an axis along which gaps can be filled.
FILL = "$missing to fill gaps within a record, or "
# What it does to the result is documented with the parameter.
REPLACE = "$invalid to replace each such record by a fixed public one, which draws the result to it"


def refuse_unusable(matrix: Cells, first_row: int = 0, fills: bool = True) -> None:
    """Refuse a matrix in which some record is not finite; `fills` where gaps can be filled.

    Raises DataError with row and column of the first such value; rows are counted from `first_row`.
    """
    step = max(1, 2**20 // matrix.shape[1])
    for start in range(0, matrix.shape[0], step):
        block = doubles(matrix[start : start + step])
        usable = np.isfinite(block).all(axis=1)
        if usable.all():
            continue
        row = int(np.argmin(usable))
        column = int(np.argmin(np.isfinite(block[row])))
        kind = "a missing value (NaN)" if np.isnan(block[row, column]) else "an infinity (inf)"
        remedy = f"Use {FILL if fills and np.isnan(block[row, column]) else ''}{REPLACE}."
        if matrix.dtype.kind in "iu":
            kind, remedy = TOO_LARGE_INTEGER, "Pass the columns of measurements alone."
        words = f"X must be complete and finite; found {kind} in $place. {remedy} {OUTSIDE}"
        raise DataError(words, place=Location(first_row + start + row, column))


def standardized(curves: Curves, weights: Floats) -> Curves:
    """Each curve minus its own mean, over its own norm, in L2 with quadrature weights.

    The result has norm one by construction, so the l2 bound 1 is public. A curve without shape (flat
    to rounding) becomes unusable, that is, the fixed public element.
    """
    rows, (total, flat) = curves.values, shape_limits(weights)
    with np.errstate(all="ignore"):
        centered, means, squares = _centered(rows, weights, total)
        extreme = np.flatnonzero(~((squares > LEAST_SQUARE) & (squares < LARGEST_SQUARE)))
        if extreme.size:
            # Divided by the record's power of two, the squares of any numbers are finite and not lost.
            some = rows[extreme]
            scaled = np.ldexp(some, -np.frexp(np.max(np.abs(some), axis=1))[1][:, None])
            centered[extreme], means[extreme], squares[extreme] = _centered(scaled, weights, total)
        norms = np.sqrt(squares)
        shaped = np.asarray(norms > flat * np.abs(means))
        shapes = centered * np.where(shaped, 1.0 / norms, np.nan)[:, None]
    shaped &= curves.usable
    return Curves(np.where(shaped[:, None], shapes, 0.0), shaped)


def _centered(rows: Floats, weights: Floats, total: float) -> tuple[Floats, Floats, Floats]:
    """Records minus their means, these means, and the squared norms of the differences."""
    means = lane_sums(rows * weights) / total
    centered = rows - means[:, None]
    return centered, means, square_lengths(centered, weights)


def units(curves: Curves, codes: Integers | None) -> Curves:
    """Average the usable records of each unit into one; a unit without any is not usable.

    Each value is multiplied by one over the unit's number of records before it is added, in the order
    of the rows, so the average depends on the unit's own records alone. Rounding can carry an average of
    the largest doubles to infinity; it is brought back to the largest double.
    """
    if codes is None:
        return curves
    count = int(codes.max()) + 1
    sizes = np.bincount(codes[curves.usable], minlength=count)
    order = order_by_unit(codes)
    order = order[curves.usable[order]]
    total = np.zeros((count, curves.values.shape[1]))
    with np.errstate(all="ignore"):
        parts = curves.values[order] * (1.0 / sizes[codes[order]])[:, None]
        total[sizes > 0] = sums_in_order(parts, np.append(0, np.cumsum(sizes[sizes > 0])))
    largest = np.finfo(np.float64).max
    return Curves(np.clip(total, -largest, largest), sizes > 0)


def sums_in_order(rows: Floats, starts: Integers) -> Floats:
    """Sums (units, m) of the rows from each start to the next, each added up from its first row on.

    rows: array (n, m).
    starts: array (units + 1,) of int. Increasing, from 0 to n.
    """
    if starts.size > len(rows):
        return rows  # Of one row each: SciPy need not be loaded.
    ones, places = np.ones(len(rows)), np.arange(len(rows))
    # A sparse matrix takes the rows of a sum one after another; times one nothing is rounded.
    chosen = scipy.sparse.csr_array((ones, places, starts), shape=(starts.size - 1, len(rows)))
    return np.asarray(chosen @ rows)


def order_by_unit(codes: Integers) -> Integers:
    """Rows by the number of their unit, in the order of the rows within it."""
    places = np.arange(codes.size)
    if not np.any(codes[1:] < codes[:-1]):
        return places
    # Its entries are dealt out to its rows in their order, which takes less time than sorting.
    dealt = scipy.sparse.csr_array((np.ones(codes.size, dtype=np.bool_), (codes, places)))
    return np.asarray(dealt.indices, dtype=np.int64)


def shape_limits(weights: Floats) -> tuple[float, float]:
    """The sum of quadrature weights, and up to which norm deviations from a mean of one are no shape."""
    total = float(lane_sums(weights[None, :])[0])
    return total, FLAT * math.sqrt(total)


def fill_gaps(rows: Floats, grid: Floats) -> None:
    """Put straight lines into the gaps of rows, and the nearest value beyond their ends, in place.

    Each gap is filled from the two values beside it alone, operation by operation, so that compiled code
    can do the same to the last bit. A row without any number stays as it is.

    rows: array (n, m), contiguous. Private. Gaps are NaN.
    grid: array (m,). Public.
    """
    flat, points = rows.reshape(-1), grid.size
    places = np.flatnonzero(np.isnan(flat))
    if not places.size:
        return
    columns = places % points
    # A gap begins at the first column, or where the place before is none of it.
    begins = np.flatnonzero(np.append(True, np.diff(places) > 1) | (columns == 0))
    lengths = np.diff(begins, append=places.size)
    first, column = places[begins], columns[begins]
    begun, ended = column > 0, column + lengths < points
    before = first - begun
    after = np.where(ended, first + lengths, before)
    before = np.where(begun, before, after)
    left, right = before - (first - column), after - (first - column)
    low = flat[before]
    inside = begun & ended
    with np.errstate(all="ignore"):
        slopes = (flat[after] - low) / np.where(inside, grid[right] - grid[left], 1.0)
        # Beyond an end the line is level.
        slopes[~inside] = 0.0
        lines = np.repeat(slopes, lengths) * (grid[columns] - np.repeat(grid[left], lengths))
        flat[places] = lines + np.repeat(low, lengths)
