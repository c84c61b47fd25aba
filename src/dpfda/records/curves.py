"""Curves on a common public grid: checks, missing values, standardising, privacy units.

Every step here is a function of one record (or of the records of one unit), entry by entry or in a
fixed order, so that what a row becomes never depends, even in its last bit, on other rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpfda.embedding import sum_columns
from dpfda.errors import DataError, OrientationError, ParameterError

Floats = NDArray[np.float64]
Invalid = Literal["refuse", "repair"]
Missing = Literal["refuse", "complete"]

# A curve whose deviations from its mean are this small relative to its size has no shape.
FLAT = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Curves:
    """Private curves on a grid.

    Parameters
    ----------
    values : array (n, m)
        Finite values; rows that are not usable hold zeros.
    usable : array (n,) of bool
        Rows that hold a record. The others stand for a fixed public element.
    """

    values: Floats
    usable: NDArray[np.bool_]

    def __repr__(self) -> str:
        return "Curves(content private)"


def check_choice(value: Any, name: str, choices: Sequence[str]) -> str:
    """Read one of a few words."""
    if value not in choices:
        raise ParameterError(name, f"be one of {', '.join(map(repr, choices))}", repr(value))
    return str(value)


def curves_from_array(
    values: Any,
    grid_points: Floats,
    missing: str = "refuse",
    invalid: str = "refuse",
    first_row: int = 0,
) -> Curves:
    """Check a matrix of curves.

    Parameters
    ----------
    values : array (n, m)
        One curve a row. NaN marks a missing value. Private.
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

    Raises
    ------
    DataError, OrientationError
        With row and column of the first offence, never its value.
    """
    check_choice(missing, "missing", ("refuse", "complete"))
    check_choice(invalid, "invalid", ("refuse", "repair"))
    matrix = matrix_of(values, invalid)
    check_orientation(matrix.shape, grid_points.size)
    with np.errstate(all="ignore"):
        matrix = matrix.astype(np.float64, order="C")
    if missing == "complete":
        matrix = _completed(matrix, grid_points)
    usable = np.asarray(np.isfinite(matrix).all(axis=1))
    if not usable.all():
        if invalid == "refuse":
            refuse_unusable(matrix, first_row)
        matrix[~usable] = 0.0
    return Curves(matrix, usable)


def refuse_kinds(values: Any) -> None:
    """Refuse kinds of input whose conversion to numbers would lose something without a word.

    Raises
    ------
    DataError
        If the values are complex, dates or spans of time, or in a sparse matrix.
    """
    if hasattr(values, "tocsr"):
        raise DataError("X must be dense; found a sparse matrix. Use X.toarray().")
    dtypes = np.array(getattr(values, "dtypes", getattr(values, "dtype", None)), dtype=object)
    kinds = {dtype.kind for dtype in dtypes.ravel() if isinstance(dtype, np.dtype)}
    if kinds & set("mM"):
        raise DataError(
            "X must be numbers; found dates or spans of time. Turn them into numbers of a public unit."
        )
    if "c" in kinds:
        raise DataError(
            "Complex data not supported: X must be real; found complex numbers. "
            "Release X.real and X.imag apart."
        )


def matrix_of(values: Any, invalid: str = "refuse") -> NDArray[Any]:
    """The records as a matrix of real numbers; an array that is one already is not copied.

    Raises
    ------
    DataError
        If there is no such matrix. The shape and type of the data are public.
    """
    refuse_kinds(values)
    array = isinstance(values, np.ndarray) and not np.ma.isMaskedArray(values)
    # Memory maps among them: they are read where they lie.
    matrix = np.asarray(values) if array and values.dtype.kind in "biuf" else _converted(values)
    if matrix is None and invalid == "repair":
        matrix = _cell_by_cell(values)
    # Raised here and not where the conversion failed, whose message holds the cell.
    if matrix is None:
        raise DataError(
            "X must be a matrix of numbers with rows of one length; found something else. "
            "Pass one curve a row, NaN for missing values."
        )
    if matrix.ndim != 2:
        raise DataError(
            f"X must have two dimensions (curves, points); found {matrix.ndim}. "
            "Reshape your data: one curve a row."
        )
    if matrix.shape[0] == 0:
        raise DataError("X must hold at least two curves; found none (0 sample(s)).")
    return matrix


def _converted(values: Any) -> Floats | None:
    try:
        if holds_times(values):
            return None
        if hasattr(values, "isna"):
            # A pandas frame may hold NA, which numpy alone does not take for NaN.
            values = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.ma.isMaskedArray(values):
            # What is masked is missing, whatever stands below the mask.
            values = np.ma.filled(values.astype(np.float64), np.nan)
        with np.errstate(all="ignore"):
            return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        return None


def holds_times(values: Any) -> bool:
    """Whether a cell among objects is a date or a span of time of numpy's.

    Numpy takes such a cell for a number where all cells can be numbers; read cell by cell it is none.
    What becomes of a record would depend on the others.
    """
    dtypes = np.array(getattr(values, "dtypes", getattr(values, "dtype", None)), dtype=object)
    if all(isinstance(dtype, np.dtype) and dtype.kind != "O" for dtype in dtypes.ravel()):
        return False
    cells = np.array(values, dtype=object)
    return any(isinstance(cell, np.datetime64 | np.timedelta64) for cell in cells.flat)


def _cell_by_cell(values: Any) -> Floats | None:
    """A matrix whose cells without a number are infinite, so that their records are not usable."""
    try:
        cells = np.array(values, dtype=object)
    except ValueError:
        return None
    if cells.ndim != 2:
        return None
    return np.array([[as_float(cell) for cell in row] for row in cells], dtype=np.float64)


def as_float(cell: Any) -> float:
    """A cell as a number: NaN where it is missing, infinity where it is no number or too large."""
    if is_missing(cell):
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.inf


def check_orientation(shape: tuple[int, ...], points: int) -> None:
    """Refuse a matrix whose rows do not fit the grid.

    Raises
    ------
    OrientationError
        If the columns do not match the grid; the message says whether the rows would.
    """
    if shape[1] == points:
        return
    if shape[0] == points:
        raise OrientationError(
            f"X must have one curve a row and one grid point a column; found {shape[0]} rows and "
            f"{shape[1]} columns for {points} grid points, which looks like curves in columns. "
            "Pass X.T."
        )
    raise OrientationError(
        f"X must have one column a grid point ({points}); found {shape[1]} columns. "
        "Pass grid_points that match the data."
    )


def _completed(matrix: Floats, grid_points: Floats) -> Floats:
    """Fill NaN by linear interpolation, row by row and in place; rows without any number stay NaN."""
    for index in np.flatnonzero(np.isnan(matrix).any(axis=1)):
        row = matrix[index]
        known = ~np.isnan(row)
        if known.any() and np.isfinite(row[known]).all():
            row[~known] = np.interp(grid_points[~known], grid_points[known], row[known])
    return matrix


def refuse_unusable(matrix: NDArray[Any], first_row: int = 0) -> None:
    """Refuse a matrix in which some record is not finite.

    Raises
    ------
    DataError
        With row and column of the first such value; rows are counted from `first_row`.
    """
    step = max(1, 2**20 // matrix.shape[1])
    for start in range(0, matrix.shape[0], step):
        with np.errstate(all="ignore"):
            block = matrix[start : start + step].astype(np.float64)
        usable = np.isfinite(block).all(axis=1)
        if usable.all():
            continue
        row = int(np.argmin(usable))
        column = int(np.argmin(np.isfinite(block[row])))
        kind = "missing value (NaN)" if np.isnan(block[row, column]) else "infinity (inf)"
        raise DataError(
            f"X must be complete and finite; found a {kind} in row {first_row + start + row}, column "
            f"{column}. Use missing='complete' to fill gaps within a record, or invalid='repair' to "
            "replace unusable records by a fixed public element. This check is outside the privacy "
            "guarantee."
        )


def standardized(curves: Curves, weights: Floats) -> Curves:
    """Each curve minus its own mean, over its own norm, in L2 with quadrature weights.

    The result has norm one by construction, so the l2 bound 1 is public. A curve without shape (flat
    to rounding) becomes unusable, that is, the fixed public element.
    """
    values = curves.values
    # Halving by the row's power of two first keeps the squares of huge values finite.
    exponents = np.frexp(np.max(np.abs(values), axis=1))[1]
    scaled = np.ldexp(values, -exponents[:, None])
    means = sum_columns(weights * scaled) / sum_columns(weights[None, :])
    centered = scaled - means[:, None]
    norms = np.sqrt(sum_columns(weights * centered**2))
    shaped = curves.usable & (norms > FLAT * np.sqrt(sum_columns(weights[None, :])))
    safe = np.where(shaped, norms, 1.0)
    return Curves(np.where(shaped[:, None], centered / safe[:, None], 0.0), shaped)


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or pandas's NA."""
    try:
        return label is None or not bool(label == label)  # noqa: PLR0124
    except TypeError:
        # The comparison of pandas's NA is neither true nor false.
        return True


def _is_hashable(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True


def unit_codes(groups: Any, records: int, invalid: str = "refuse") -> NDArray[np.int64]:
    """Number the privacy units: records with one label belong to one unit.

    Raises
    ------
    DataError
        If there is not one label a record, or (unless repairing) a label is missing.
    """
    labels = np.asarray(groups, dtype=object)
    if labels.shape != (records,):
        raise DataError(f"groups must hold one label a record ({records}); found shape {labels.shape}.")
    missing = np.array([is_missing(label) for label in labels])
    if invalid == "refuse" and missing.any():
        raise DataError(
            f"groups must have a label for every record; found none in row {int(missing.argmax())}."
            " A record without its person cannot be protected as that person's."
        )
    if not all(lost or _is_hashable(label) for lost, label in zip(missing, labels, strict=True)):
        raise DataError("groups must hold words or numbers; found labels of another type.")
    codes: dict[Any, int] = {}
    numbered = [
        codes.setdefault((True, "") if lost else (False, label), len(codes))
        for lost, label in zip(missing, labels, strict=True)
    ]
    return np.array(numbered, dtype=np.int64)


def units(curves: Curves, codes: NDArray[np.int64] | None) -> Curves:
    """Average the usable records of each unit into one; a unit without any is not usable.

    Each value is divided by the unit's number of records before it is added, in the order of the
    rows, so the average depends on the unit's own records alone. Rounding can carry an average of the
    largest doubles to infinity; it is brought back to the largest double.
    """
    if codes is None:
        return curves
    count = int(codes.max()) + 1
    sizes = np.bincount(codes[curves.usable], minlength=count)
    order = np.argsort(codes, kind="stable")
    order = order[curves.usable[order]]
    total = np.zeros((count, curves.values.shape[1]))
    ranks = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    with np.errstate(all="ignore"):
        for rank in range(int(sizes.max(initial=0))):
            rows = order[ranks == rank]
            total[codes[rows]] += curves.values[rows] / sizes[codes[rows]][:, None]
    largest = np.finfo(np.float64).max
    return Curves(np.clip(total, -largest, largest), sizes > 0)
