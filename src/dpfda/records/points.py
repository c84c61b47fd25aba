"""Points of a box as records: checks, and the share of each cell in each privacy unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.numerics.arrays import Flags, Floats, Integers, doubles
from dpfda.numerics.errors import DataError, Kept, Location
from dpfda.numerics.parameters import choice
from dpfda.records.arrow import is_arrow_table
from dpfda.records.cells import OUTSIDE, read_cell, whole_number
from dpfda.records.containers import (
    Offence,
    cells_of,
    column_of,
    flat_cells,
    is_frame,
    matrix_of,
    opened,
    refuse_kinds,
    shape_of,
)


def points_from_array(values: object, dimensions: int, invalid: str = "refuse") -> tuple[Floats, Flags]:
    """Check points of a box.

    Parameters
    ----------
    values : array (n, d), or (n,) on an interval
        One point a row. Private.
    dimensions : int
        Number d of coordinates.
    invalid : {"refuse", "repair"}
        Raise on a point with a coordinate that is NaN, infinite or no number; or mark it as unusable.

    Returns
    -------
    array (n, d)
        Finite points; zeros where they are not usable.
    array (n,) of bool
        Which are usable.

    Raises
    ------
    DataError
        With row and column of the first offence, never its value.
    """
    choice(invalid, "invalid", ("refuse", "repair"))
    values = opened(values)
    refuse_kinds(values)
    if shape_of(values) in ((0,), (0, dimensions)):
        matrix = np.zeros((0, dimensions))
    elif dimensions == 1 and not (is_frame(values) or is_arrow_table(values)):
        matrix, offence = _on_interval(values)
        if offence is not None and invalid == "refuse":
            row, kind = offence
            raise DataError(
                f"X must hold numbers, one point a row; found {kind} in $place. Correct it, or pass "
                f"another column. {OUTSIDE}",
                place=Location(row),
            )
    else:
        matrix = doubles(matrix_of(values, invalid))
    if matrix.ndim != 2 or matrix.shape[1] != dimensions:
        raise DataError(
            f"X must have shape (n, {dimensions}), one point a row; found {matrix.shape}. "
            "domain_range says how many coordinates a point has."
        )
    usable = np.asarray(np.isfinite(matrix).all(axis=1))
    if invalid == "refuse" and not usable.all():
        row = int(np.argmin(usable))
        column = int(np.argmin(np.isfinite(matrix[row])))
        raise DataError(
            "X must be finite; found a missing or infinite value in $place. Use $invalid to leave such "
            f"points out. {OUTSIDE}",
            place=Location(row, column),
        )
    return np.where(usable[:, None], matrix, 0.0), usable


def cell_weights(
    index: Integers,
    usable: Flags,
    codes: Integers | None,
    cells: int,
    exponent: int,
    weights: Integers | None = None,
) -> list[int]:
    """Sum over privacy units of the share of each cell in the unit's points, in units of 2^-exponent.

    A unit's shares are floor(2^exponent k_c / k), with k_c of its k usable points in cell c: integers
    from integers, not negative, of sum at most 2^exponent; all zero for a unit without a usable point.
    With weights a point counts as its weight instead of 2^exponent.

    index: array (n,) of int. Cell of each point.
    usable: array (n,) of bool.
    codes: array (n,) of int, or None. Number of each point's unit; None where each point is a unit.
    exponent: At most 31.
    weights: array (n,) of int, optional. From 0 to 2^exponent.
    """
    taken = _of_usable(usable, codes, weights)
    return [int(share) for share in _shares(index[usable], cells, exponent, *taken)]


def _of_usable(
    usable: Flags, codes: Integers | None, weights: Integers | None
) -> tuple[Integers | None, Integers | None]:
    """Units and weights of usable points, where there are any."""
    owners = None if codes is None else codes[usable].astype(np.int64)
    return owners, None if weights is None else weights[usable]


def _shares(
    index: Integers, cells: int, exponent: int, owners: Integers | None, weights: Integers | None
) -> Integers:
    """Sum over units of their shares (cells,)."""
    if owners is None:
        return _held(index, cells, exponent, weights)
    pairs, place = np.unique(owners * cells + index, return_inverse=True)
    sizes = np.bincount(owners, minlength=1)
    shares = _held(place.ravel(), pairs.size, exponent, weights) // sizes[pairs // cells]
    total = np.zeros(cells, dtype=np.int64)
    np.add.at(total, pairs % cells, shares)
    return total


def _held(place: Integers, places: int, exponent: int, weights: Integers | None) -> Integers:
    """What points count as in each place (places,), in units of 2^-exponent."""
    if weights is None:
        return np.bincount(place, minlength=places).astype(np.int64) << exponent
    total = np.zeros(places, dtype=np.int64)
    np.add.at(total, place, weights)
    return total


def ranked(
    places: Integers,
    usable: Flags,
    codes: Integers | None,
    exponent: int,
    weights: Integers | None = None,
) -> tuple[Integers, Integers]:
    """Places where there are points, increasing, and the shares of all units up to each of them.

    A unit's shares are those of `cell_weights`, its cells being the places; the number of these does not
    matter.
    """
    points, index = np.unique(places[usable], return_inverse=True)
    taken = _of_usable(usable, codes, weights)
    return points, np.cumsum(_shares(index.ravel(), points.size, exponent, *taken))


@dataclass(frozen=True, repr=False, eq=False)
class PlacedPoints(Kept):
    """Points whose cells are chosen later: their units' shares of any cells. Private.

    points, usable: As `points_from_array` gives them.
    codes, exponent, weights: As in `cell_weights`.
    """

    points: Floats
    usable: Flags
    codes: Integers | None
    exponent: int
    weights: Integers | None = None

    def shares(self, cells: CellGrid) -> list[int]:
        """Sum over units of their shares of each cell and atom, in units of 2^-exponent."""
        index = cells.index(self.points)
        return cell_weights(index, *(self.usable, self.codes, cells.places, self.exponent, self.weights))

    def __len__(self) -> int:
        return len(self.points)

    def ranked(self, places: Callable[[Floats], Integers]) -> tuple[Integers, Integers]:
        """Places where there are points of an interval, and the shares of all units up to them.

        places: Each point's place, a number, from it alone.
        """
        return ranked(places(self.points[:, 0]), *(self.usable, self.codes, self.exponent, self.weights))


def whole_counts(
    counts: object, shape: tuple[int, ...], multiplier: int, invalid: str = "refuse"
) -> list[int]:
    """Numbers of units in cells, exactly: each number as its decimal digits, times the multiplier.

    counts: Private.
    multiplier: What one in the table stands for: 1000 for thousands.
    invalid: {"refuse", "repair"}. Raise on a number that is negative, not finite or, times the
        multiplier, not whole; or take it as zero where it is negative or not finite, and round it to the
        nearest where it is not whole.
    Raises DataError with the position, never the number.
    """
    choice(invalid, "invalid", ("refuse", "repair"))
    counts = opened(counts)
    refuse_kinds(counts, "counts")
    cells = flat_cells(counts, shape)
    if cells is None:
        raise DataError(
            f"counts must have shape {shape}, one number a cell; found another. There must be one "
            "edge more than cells along each axis.",
            "counts",
        )
    numbers = [whole_number(cell, multiplier) for cell in cells]
    for position, (_, sound) in enumerate(numbers):
        if invalid == "refuse" and not sound:
            where = ", ".join(str(int(i)) for i in np.unravel_index(position, shape))
            raise DataError(
                f"counts must be numbers of units; found one at position {where} that is negative, "
                f"missing or, times $multiplier, not whole. A table in thousands needs "
                f"1000; shares, rates and weights are no numbers of units. {OUTSIDE}",
                "counts",
                multiplier=multiplier,
            )
    return [number for number, _ in numbers]


def _on_interval(values: object) -> tuple[Floats, Offence | None]:
    """Points (n, 1): numbers, or sequences of one number each; and the first that is neither."""
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if isinstance(values, np.ndarray) and values.ndim != 1:
        return doubles(matrix_of(values, "repair")), None
    if isinstance(values, list | tuple):
        points, first = np.empty((len(values), 1)), None
        for row, point in enumerate(values):
            cells = cells_of(point)
            points[row, 0], offence = read_cell(point if cells is None or len(cells) != 1 else cells[0])
            if offence and first is None:
                first = row, offence
        return points, first
    column, first = column_of(values, "X")
    return column[:, None], first
