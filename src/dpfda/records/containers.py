"""The one door for records in memory: a container becomes a matrix of numbers, or a column of cells.

The way of reading is chosen by the container's type as handed over, which is public, and never by its
content:

- an array of numpy of bools, integers or floats of at most 64 bits is taken as it lies, uncopied;
- so is a column with such a type, whatever library made it, where nulls and masked entries are missing;
- everything else is read cell by cell by the rule of `dpfda.records.cells`, row by row.

No sequence of a user's is ever converted as a whole: what numpy made of it would depend on all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np

from dpfda.numerics.arrays import WIDEST, Cells, Floats, doubles, is_native, is_plain, put_columns
from dpfda.numerics.errors import DataError, Location
from dpfda.records.arrow import (
    arrow_array,
    arrow_cells,
    arrow_numbers,
    arrow_table,
    is_arrow_array,
    is_arrow_table,
)
from dpfda.records.cells import NO_NUMBER, OUTSIDE, TOO_LARGE_INTEGER, read_cell
from dpfda.records.doors import PLAIN, door_of

if TYPE_CHECKING:
    from pandas import DataFrame, Series
    from pyarrow import RecordBatch, Table

    Tabular: TypeAlias = DataFrame | Table | RecordBatch

# One cell a record, or one record a row, one after the other.
Column: TypeAlias = Cells | Sequence[object]
# Columns that are put into a matrix together.
COLUMNS_AT_ONCE = 64
# Rows of a piece of a table, at least, that is read by itself.
ROWS_OF_PIECE = 2**12
# How types of numbers of 32 bits are called.
SINGLE = frozenset({"float", "float32", "Float32", "float[pyarrow]"})
WIDTHS = (8, 16, 32, 64)
# Types of pandas that hold a mask beside an array of numpy's.
NULLABLE = {
    "boolean",
    "Float32",
    "Float64",
    *(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in WIDTHS),
}


def is_frame(values: object) -> TypeGuard[DataFrame]:
    """Whether this is a data frame of pandas."""
    return hasattr(values, "iloc") and hasattr(values, "columns")


def is_series(values: object) -> TypeGuard[Series]:
    """Whether this is a column of pandas, or what it holds one in."""
    return type(values).__module__.partition(".")[0] == "pandas" and hasattr(values, "dtype")


def opened(values: object) -> object:
    """What an object holds, where that is an array: what is in a labelled or another library's array.

    An object's own conversion, where it offers one (`__array__`), is taken for what was handed over
    where it keeps the type that the object says its cells have. A column of another library's type is
    taken cell by cell: such a conversion may find the type by looking at all cells, and one missing
    cell would change how those of others are read (whole numbers of pandas become floats).
    """
    if type(values) in PLAIN:
        return values
    if (door := door_of(values)) is not None:
        values = door.cells(values)
    if hasattr(values, "dask") and hasattr(values, "compute"):
        values = values.compute()
    values = arrow_array(arrow_table(values))
    if isinstance(values, np.ndarray | list | tuple) or is_frame(values) or is_arrow_table(values):
        return values
    if hasattr(values, "tocsr") or hasattr(values, "iloc") or is_arrow_array(values):
        return values
    if isinstance(values, str | Path):
        raise DataError(
            "X must hold the records themselves; found a text or a path. Read the file first "
            "(pandas.read_csv), or use the command: dpfda mean FILE."
        )
    if hasattr(values, "columns"):
        raise DataError(
            "X must be an array, a list of rows, a data frame of pandas, or a table that speaks Arrow; "
            "found a frame of another library. Use X.to_pandas() or X.to_arrow()."
        )
    return _converted(values)


def _converted(values: object) -> object:
    # A column of dates has a unit, the one it counts in: its type is refused later.
    dated = getattr(getattr(values, "dtype", None), "kind", "") in ("m", "M")
    if dated or not hasattr(values, "__array__"):
        return values
    if hasattr(values, "units") or hasattr(values, "unit"):
        raise DataError(
            "X must be numbers alone; found values with units, which would be lost. Convert them to "
            "those of the bounds first; then pass the numbers."
        )
    stated = getattr(values, "dtype", None)
    # Tensors have types of their own, by the names of numpy's.
    name = str(getattr(stated, "name", stated)).rpartition(".")[2]
    if isinstance(stated, np.dtype) or name in np.sctypeDict:
        array = values.__array__()
        if name == array.dtype.name:
            return array
    if getattr(values, "ndim", 1) == 1 and isinstance(values, Sized) and isinstance(values, Iterable):
        return list(values)
    return values.__array__()


def refuse_kinds(values: object, name: str = "X") -> None:
    """Refuse types of containers that hold no real numbers of at most 64 bits, by their type alone.

    Raises DataError if the type says complex numbers, dates, spans of time, extended precision, records
    or bytes, or the container is a sparse matrix.
    """
    if isinstance(values, np.ndarray):
        _refuse_kind(values.dtype, name)
        return
    if hasattr(values, "tocsr"):
        raise DataError(f"{name} must be dense; found a sparse matrix. Use {name}.toarray().")
    if is_arrow_table(values) and hasattr(values, "schema"):
        for kind in map(str, values.schema.types):
            if kind.startswith(("date", "time", "duration")):
                _refuse_kind(np.dtype("M8[s]"), name)
    stated = getattr(values, "dtypes", None)
    dtypes = list(stated) if stated is not None and np.ndim(stated) == 1 else [stated]
    dtypes.append(getattr(values, "dtype", None))
    for dtype in dtypes:
        _refuse_kind(dtype, name)


def _refuse_kind(dtype: object, name: str) -> None:
    # pandas' own types have kinds too: those of dates with a time zone, for one.
    kind = getattr(dtype, "kind", None)
    if kind in ("m", "M"):
        since = f"(numpy.asarray({name}, 'M8[us]') - numpy.datetime64('2024-01-01'))"
        raise DataError(
            f"{name} must be numbers; found dates or spans of time. Count them in a public unit, dates "
            f"from a public day and not from their first: {since if kind == 'M' else name} / "
            "numpy.timedelta64(1, 'D')."
        )
    if kind == "c":
        raise DataError(
            f"Complex data not supported: {name} must be real; found complex numbers. "
            f"Release {name}.real and {name}.imag apart."
        )
    if kind == "f" and getattr(dtype, "itemsize", 0) > 8:
        raise DataError(
            f"{name} must be numbers of at most 64 bits; found extended precision, which would be "
            f"rounded unseen. Use {name}.astype(numpy.float64)."
        )
    if isinstance(dtype, np.dtype) and (kind in ("V", "S") or dtype.names is not None):
        raise DataError(
            f"{name} must be numbers, one a cell; found structured records or bytes, or numbers that "
            "numpy does not know. Pass the columns of numbers as a matrix of float64."
        )


def shape_of(values: object) -> tuple[int, ...]:
    """The public shape of records: of an array its own, else the rows and the length of the first."""
    values = opened(values)
    if hasattr(values, "shape"):
        return tuple(map(int, values.shape))
    if is_arrow_table(values):
        return values.num_rows, values.num_columns
    rows = cells_of(values)
    if rows is None:
        return ()
    if len(rows) == 0:
        return (0,) if not hasattr(rows, "shape") else tuple(rows.shape)
    first = cells_of(rows[0])
    return (len(rows),) if first is None else (len(rows), len(first))


def matrix_of(values: object, invalid: str = "refuse", name: str = "X") -> Cells:
    """The records as a matrix of native numbers; an array that is one already is not copied.

    What cannot be read is infinite under ``invalid="repair"``, so that its record is not usable; what
    is missing is NaN.

    Raises DataError if there is no such matrix, which is public; or, unless repairing, with row and
    column of the first cell that cannot be read, never its content.
    """
    values = opened(values)
    refuse_kinds(values, name)
    if isinstance(values, np.ndarray):
        check_dimensions(values.shape, name)
        return _array(values, invalid, name)
    if is_frame(values) or is_arrow_table(values):
        return _columns(values, invalid, name)
    rows = None if hasattr(values, "iloc") else cells_of(values)
    if rows is None or len(rows) == 0:
        check_dimensions((0,) if rows is not None else shape_of(values), name)
        raise DataError(
            f"{name} must be an array, a list of rows or a data frame; found something else."
        )
    if cells_of(rows[0]) is None:
        check_dimensions((len(rows),), name)
    return rows_of(rows, None, invalid, name)


def check_dimensions(shape: tuple[int, ...], name: str = "X", more: str = "") -> None:
    """Refuse what is no matrix with a row; `more` is added to the message."""
    if len(shape) in (1, 2) and shape[0] == 0:
        raise DataError(f"{name} must hold at least two curves; found none (0 sample(s)).")
    if len(shape) != 2:
        raise DataError(
            f"{name} must have two dimensions (curves, points); found {len(shape)}. "
            f"Reshape your data: one curve a row.{more}"
        )


def _array(values: Cells, invalid: str, name: str) -> Cells:
    if is_native(values.dtype):
        if is_plain(values):
            return np.asarray(values)
        if np.ma.isMaskedArray(values):
            return _without_masked(values)
        if type(values) is not np.matrix:
            raise DataError(
                f"{name} must be an array of numpy itself; found one of a class of its own, whose "
                "meaning would be lost. Where it has units, convert it to those of the bounds first; "
                f"then numpy.asarray({name})."
            )
        return np.asarray(values)
    return rows_of(values, values.shape[1:], invalid, name)


def _without_masked(values: Cells) -> Floats:
    """A masked native array: what is masked is missing, whatever stands below the mask."""
    numbers = doubles(np.asarray(np.ma.getdata(values)))
    numbers[np.ma.getmaskarray(values)] = np.nan
    return numbers


def rows_of(rows: Column, shape: tuple[int, ...] | None, invalid: str, name: str = "X") -> Floats:
    """Rows as a matrix, each read by itself, and cell by cell unless it is a native array.

    rows: Of sequences of cells, nested as `shape` says.
    shape: Public shape of a record; its cells become one row. By default that of the first row.
    """
    if shape is None:
        first = cells_of(rows[0])
        shape = (0 if first is None else len(first),)
    matrix = np.empty((len(rows), int(np.prod(shape))))
    for number in range(len(rows)):
        record = _record(rows[number], shape)
        if record is None:
            raise DataError(
                f"{name} must be a matrix of numbers with rows of one length; found $place of "
                "another shape than the first. Pass one record a row, NaN for missing values.",
                place=Location(number),
            )
        matrix[number], offence = record
        if offence is not None and invalid == "refuse":
            place, kind = offence
            raise _unreadable(name, kind, number, place, "one record a row, NaN for missing values")
    return matrix


Offence = tuple[int, str]


def _unreadable(name: str, kind: str, row: int, column: int, wanted: str) -> DataError:
    words = f"{name} must be a matrix of numbers; found {kind} in $place. Pass {wanted}. {OUTSIDE}"
    return DataError(words, place=Location(row, column))


def _record(record: object, shape: tuple[int, ...]) -> tuple[Floats, Offence | None] | None:
    """One record as a row, and its first cell that cannot be read; None where it has another shape."""
    if isinstance(record, np.ndarray) and record.shape == shape and is_native(record.dtype):
        if is_plain(record):
            numbers = doubles(record.ravel())
        elif np.ma.isMaskedArray(record):
            numbers = _without_masked(record.ravel())
        else:
            numbers = np.full(int(np.prod(shape)), np.inf)
            return numbers, (0, NO_NUMBER)
        large = np.isinf(numbers) if record.dtype.kind in "iu" else np.zeros(0, dtype=bool)
        return numbers, (int(large.argmax()), TOO_LARGE_INTEGER) if large.any() else None
    cells = flat_cells(record, shape)
    return None if cells is None else numbers_in(cells)


def flat_cells(record: object, shape: tuple[int, ...]) -> list[object] | None:
    """The cells of a nested sequence in order, None where it has another shape than this public one."""
    cells = cells_of(record)
    if cells is None or len(cells) != shape[0]:
        return None
    if len(shape) == 1:
        return list(cells)
    parts = [flat_cells(cell, shape[1:]) for cell in cells]
    if any(part is None for part in parts):
        return None
    return [cell for part in parts if part is not None for cell in part]


def numbers_in(cells: Column) -> tuple[Floats, Offence | None]:
    """Cells as numbers, each by itself, infinite where it is none; and the first that is none."""
    numbers, first = np.empty(len(cells)), None
    for place, cell in enumerate(cells):
        numbers[place], offence = read_cell(cell)
        if offence and first is None:
            first = place, offence
    return numbers, first


def cells_of(values: object) -> Column | None:  # noqa: PLR0911 - a table of types
    """What a sequence holds, one after the other: an array, a list or a tuple; None for what is none.

    Text and bytes are cells, not sequences.
    """
    if isinstance(values, np.ndarray):
        if values.ndim == 1 and np.ma.isMaskedArray(values):
            hidden = np.ma.getmaskarray(values)
            cells = np.ma.getdata(values)
            return [np.ma.masked if lost else cell for lost, cell in zip(hidden, cells, strict=True)]
        return values if values.ndim else None
    if isinstance(values, list | tuple):
        return values
    if isinstance(values, str | bytes | dict | set | frozenset):
        return None
    if is_frame(values):
        return cells_of(values.iloc[:, 0]) if values.shape[1] == 1 else None
    if is_arrow_array(values):
        return arrow_cells(values)
    if is_series(values):
        # A column of numpy's own is an array, one of Arrow's is read as Arrow is; others give objects.
        if isinstance(values.dtype, np.dtype):
            column: Cells = values.to_numpy()
            return column
        if hasattr(values.dtype, "pyarrow_dtype") or getattr(values.dtype, "storage", "") == "pyarrow":
            return arrow_cells(getattr(values, "array", values).__arrow_array__())
        return list(values)
    if (door := door_of(values)) is not None:
        column_cells = door.cells(values)
        return None if column_cells is values else cells_of(column_cells)
    if isinstance(values, Sequence):
        return list(values)
    if hasattr(values, "__array__") and hasattr(values, "shape"):
        array = opened(values)
        return cells_of(array) if isinstance(array, np.ndarray) or is_arrow_array(array) else None
    return None


def cells_in(values: object, name: str) -> Column:
    """A column of cells, one a record: an array (n,) or a list. Raises DataError if it is no column."""
    cells = cells_of(opened(values)) if not isinstance(values, str | bytes) else None
    if cells is None or (isinstance(cells, np.ndarray) and cells.ndim != 1):
        shape = f"shape {getattr(values if cells is None else cells, 'shape', ())}"
        if isinstance(values, str):
            shape = "a word, but no table with columns that have names"
        remedy = "Pass an array (n,), a list or one column of a table."
        what = "label" if name in ("groups", "y") else "value"
        raise DataError(f"{name} must hold one {what} a record; found {shape}. {remedy}")
    return cells


def cells_taken(cells: Column, rows: Cells) -> Column:
    """The cells of some records."""
    return cells[rows] if isinstance(cells, np.ndarray) else [cells[row] for row in rows.tolist()]


def column_of(values: object, name: str) -> tuple[Floats, Offence | None]:
    """A column of numbers, each cell by itself, infinite where it is none; and the first that is none.

    Raises DataError if it is no column, or its type says that it holds no real numbers.
    """
    values = opened(values)
    refuse_kinds(values, name)
    return _numbers(values, name)


def _numbers(values: object, name: str, as_it_lies: bool = False) -> tuple[Cells, Offence | None]:
    """A column that is opened, and of no refused type; uncopied, where it may stay `as_it_lies`."""
    native = _native_column(values)
    cells = cells_in(values, name) if native is None else native
    if isinstance(cells, np.ndarray):
        wide = cells.dtype.kind in "iu" and cells.dtype.itemsize == WIDEST
        if as_it_lies and is_plain(cells) and is_native(cells.dtype) and not wide:
            return cells, None
        record = _record(cells, cells.shape)
        if record is not None:
            return record
    return numbers_in(cells)


def _native_column(values: object) -> Cells | None:
    """A column whose type says bools, integers or floats, as an array, nulls masked; else None."""
    if is_arrow_array(values):
        return arrow_numbers(values)
    if np.ma.isMaskedArray(values):
        masked: Cells = values
        return masked if masked.ndim == 1 and is_native(masked.dtype) else None
    return _series_numbers(values) if hasattr(values, "dtype") else None


def _series_numbers(values: Series) -> Cells | None:
    # A series makes others of itself, which takes longer than a short column.
    dtype, array = values.dtype, values.array if hasattr(values, "array") else values
    if hasattr(dtype, "pyarrow_dtype"):
        return arrow_numbers(array.__arrow_array__())
    if type(dtype).__module__.partition(".")[0] == "pandas" and str(dtype) in NULLABLE:
        lost = np.asarray(array.isna())
        if not lost.any():
            return np.asarray(array.to_numpy(dtype=dtype.numpy_dtype))
        return np.ma.masked_array(array.to_numpy(dtype=dtype.numpy_dtype, na_value=0), mask=lost)
    return None


def _columns(values: Tabular, invalid: str, name: str) -> Cells:
    """The matrix of a frame or an Arrow table, column by column."""
    count, width = shape_of(values)
    check_dimensions((count, width), name)
    if of_pandas := is_frame(values):
        dtypes = list(values.dtypes)
        if width and all(dtype == dtypes[0] for dtype in dtypes) and is_native(dtypes[0]):
            matrix: Cells = values.to_numpy()
            return matrix
    kinds = values.dtypes if of_pandas else getattr(getattr(values, "schema", None), "types", [None])
    single = {*map(str, kinds)} <= SINGLE
    matrix = np.empty((count, width), dtype=np.float32 if single else np.float64)
    start = 0
    for piece in _pieces(values):
        # By items a frame does not make each column anew.
        every = (cells for _, cells in piece.items()) if of_pandas else map(piece.column, range(width))
        for first in range(0, width, COLUMNS_AT_ONCE):
            columns = []
            for place, cells in enumerate(islice(every, COLUMNS_AT_ONCE), first):
                numbers, offence = _numbers(cells, name, as_it_lies=True)
                if offence is not None and invalid == "refuse":
                    row, kind = offence
                    raise _unreadable(name, kind, start + row, place, "the columns of numbers alone")
                columns.append(numbers)
            rows = slice(start, start + len(columns[0]))
            put_columns(matrix[rows, first : first + len(columns)], columns)
        start = rows.stop
    return matrix


def _pieces(values: Tabular) -> Sequence[Tabular]:
    """A table in its pieces, or whole: many small ones would take longer."""
    pieces = values.to_batches() if hasattr(values, "to_batches") else []
    return pieces if 0 < len(pieces) * ROWS_OF_PIECE <= len(values) else [values]
