"""Points of a box as records: checks, and the share of each cell in each privacy unit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.errors import DataError
from dpfda.records.curves import as_float, check_choice, holds_times, refuse_kinds

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def points_from_array(values: Any, dimensions: int, invalid: str = "refuse") -> tuple[Floats, Any]:
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
    check_choice(invalid, "invalid", ("refuse", "repair"))
    refuse_kinds(values)
    matrix = _numbers(values, invalid)
    if matrix is None:
        raise DataError("X must hold numbers, one point a row; found something else.")
    if matrix.ndim == 1 and dimensions == 1:
        matrix = matrix[:, None]
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
            f"X must be finite; found a missing or infinite value in row {row}, column {column}. Use "
            "invalid='repair' to leave such points out. This check is outside the privacy guarantee."
        )
    return np.where(usable[:, None], matrix, 0.0), usable


def cell_weights(
    index: Integers, usable: NDArray[np.bool_], codes: Integers | None, cells: int, exponent: int
) -> list[int]:
    """Sum over privacy units of the share of each cell in the unit's points, in units of 2^-exponent.

    A unit's shares are floor(2^exponent k_c / k), with k_c of its k usable points in cell c: integers
    from integers, not negative, of sum at most 2^exponent; all zero for a unit without a usable point.

    Parameters
    ----------
    index : array (n,) of int
        Cell of each point.
    usable : array (n,) of bool
    codes : array (n,) of int, or None
        Number of each point's unit; None where each point is a unit.
    cells : int
    exponent : int
        At most 31.
    """
    if codes is None:
        counts = np.bincount(index[usable], minlength=cells)
        return [int(count) << exponent for count in counts]
    kept, owner = index[usable], codes[usable].astype(np.int64)
    pairs, counts = np.unique(owner * cells + kept, return_counts=True)
    units = pairs // cells
    sizes = np.bincount(owner, minlength=1)
    shares = (counts.astype(np.int64) << exponent) // sizes[units]
    total = np.zeros(cells, dtype=np.int64)
    np.add.at(total, pairs % cells, shares)
    return [int(value) for value in total]


def whole_counts(
    counts: Any, shape: tuple[int, ...], multiplier: int, invalid: str = "refuse"
) -> list[int]:
    """Numbers of units in cells, exactly: each number as its decimal digits, times the multiplier.

    Parameters
    ----------
    counts : array in the shape of the cells
        Private.
    shape : tuple of int
    multiplier : int
        What one in the table stands for: 1000 for thousands.
    invalid : {"refuse", "repair"}
        Raise on a number that is negative, not finite or, times the multiplier, not whole; or take it as
        zero where it is negative or not finite, and round it to the nearest where it is not whole.

    Raises
    ------
    DataError
        With the position, never the number.
    """
    check_choice(invalid, "invalid", ("refuse", "repair"))
    refuse_kinds(counts)
    try:
        table = np.asarray(counts, dtype=object)
    except ValueError:
        raise DataError("counts must be a table of numbers with rows of one length.") from None
    if table.shape != shape:
        raise DataError(
            f"counts must have shape {shape}, one number a cell; found {table.shape}. There must be one "
            "edge more than cells along each axis."
        )
    found = [_whole(cell, multiplier) for cell in table.flat]
    for position, (_, sound) in enumerate(found):
        if invalid == "refuse" and not sound:
            where = ", ".join(str(int(i)) for i in np.unravel_index(position, shape))
            raise DataError(
                f"counts must be numbers of units; found one at position {where} that is negative, "
                f"missing or, times multiplier={multiplier}, not whole. A table in thousands needs "
                "multiplier=1000. This check is outside the privacy guarantee."
            )
    return [number for number, _ in found]


def _whole(cell: Any, multiplier: int) -> tuple[int, bool]:
    """Whole number of units in a cell, and whether that is what the table says."""
    try:
        # A float stands for its shortest decimal form: 4612.439 thousand are 4612439.
        exact = Fraction(repr(float(cell))) if isinstance(cell, float | np.floating) else Fraction(cell)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return 0, False
    product = exact * multiplier
    if product < 0:
        return 0, False
    # To the nearest: a third of two is written 0.6666666666666666, and thrice that is two.
    return math.floor(product + Fraction(1, 2)), product.denominator == 1


def _numbers(values: Any, invalid: str) -> Floats | None:
    try:
        if holds_times(values):
            raise TypeError
        if hasattr(values, "isna"):
            values = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.ma.isMaskedArray(values):
            values = np.ma.filled(values.astype(np.float64), np.nan)
        with np.errstate(all="ignore"):
            return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        pass
    if invalid != "repair":
        return None
    try:
        cells = np.array(values, dtype=object)
    except ValueError:
        return None
    if cells.ndim not in (1, 2):
        return None
    return np.array([as_float(cell) for cell in cells.flat], dtype=np.float64).reshape(cells.shape)
