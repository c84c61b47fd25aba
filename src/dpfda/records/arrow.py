"""Tables and columns that speak Arrow, and rows with named columns: recognised by what they offer.

Whatever hands itself over as a stream of Arrow becomes an Arrow table, once: frames of polars (eager
and lazy) and narwhals, relations of DuckDB, tables of Ibis, readers of IPC streams and files, data sets.
What a column's type is, the container says as it is handed over.

Both take stated numbers on trust: beyond the end of a buffer Arrow reads what else lies in memory, and
pages of Parquet beyond the stated rows are left out unseen.

Every cell is read by itself, whatever the others of its column are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from dpfda.numerics.arrays import Cells
from dpfda.numerics.errors import DataError, MissingExtraError, Private, needed

if TYPE_CHECKING:
    from pyarrow import Array, ChunkedArray, RecordBatch, Scalar, Table
    from pyarrow.parquet import FileMetaData


@dataclass(frozen=True, eq=False, repr=False)
class NamedRows(Private):
    """Rows of cells under labels; it answers as a table of Arrow does.

    column_names: Public.
    rows: Private.
    """

    column_names: Sequence[str]
    rows: Sequence[Sequence[object]]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return len(self.column_names)

    def column(self, place: int) -> list[object]:
        """The cells of a column."""
        return [row[place] for row in self.rows]

    def select(self, names: Sequence[str]) -> NamedRows:
        """The columns with these labels."""
        places = [list(self.column_names).index(name) for name in names]
        return NamedRows(names, [[row[place] for place in places] for row in self.rows])


class Cursor(Protocol):
    """A result of SQLAlchemy, or a cursor of the DB-API; which has `description` instead of `keys`."""

    description: Sequence[Sequence[str]]
    keys: Callable[[], Iterable[str]]
    fetchall: Callable[[], Sequence[Sequence[object]]]
    fetchmany: Callable[[int], Sequence[Sequence[object]]]


class Lazy(Protocol):
    """A query of polars or narwhals that has not run."""

    collect: Callable[[], object]


def is_cursor(values: object) -> TypeGuard[Cursor]:
    """Whether this is a result of SQLAlchemy, or a cursor of the DB-API on which a query has run."""
    queried = hasattr(values, "keys") or hasattr(values, "description")
    # A relation of DuckDB can be fetched from too, but speaks Arrow.
    return queried and hasattr(values, "fetchmany") and not hasattr(values, "__arrow_c_stream__")


def labels_of(cursor: Cursor) -> list[str]:
    """Labels of the columns that were asked for."""
    return list(cursor.keys()) if hasattr(cursor, "keys") else [part[0] for part in cursor.description]


def rows_of(cursor: Cursor) -> NamedRows:
    """All rows that are left."""
    return NamedRows(labels_of(cursor), cursor.fetchall())


def blocks_of_rows(cursor: Cursor, size: int) -> Iterator[NamedRows]:
    """The rows that are left, so many at a time."""
    labels = labels_of(cursor)
    while rows := cursor.fetchmany(size):
        yield NamedRows(labels, rows)


def contradiction() -> DataError:
    """The error for rows that are stated and not there, or the other way round."""
    return DataError(
        "The file must hold as many rows as it states, in all its places; found one that contradicts "
        "itself. Write it again from its source: rows may be lost."
    )


def check_footer(stated: FileMetaData) -> None:
    """Check that the numbers of rows in a footer are one: of the file, its groups and their columns.

    Raises DataError if they are not.
    """
    groups = [stated.row_group(place) for place in range(stated.num_row_groups)]
    # Where a cell holds several values there are more of these than rows.
    flat = [
        place
        for place in range(stated.num_columns)
        if not stated.schema.column(place).max_repetition_level
    ]
    if sum(group.num_rows for group in groups) != stated.num_rows or any(
        group.column(place).num_values != group.num_rows for group in groups for place in flat
    ):
        raise contradiction()


def check_buffers(table: Table | RecordBatch) -> None:
    """Check that no column's buffers end before its rows do.

    Raises pyarrow.ArrowInvalid if one's do. The encoding of text is not checked: it is a matter of its
    row alone.
    """
    for column in table.columns:
        for part in getattr(column, "chunks", [column]):
            _check(part)


def _check(column: Array) -> None:
    from pyarrow import binary, binary_view, large_binary, types

    column.validate()
    kind = column.type
    if types.is_dictionary(kind):
        _check(column.dictionary)
    elif types.is_string(kind):
        column.view(binary()).validate(full=True)
    elif types.is_large_string(kind):
        column.view(large_binary()).validate(full=True)
    elif types.is_string_view(kind):
        column.view(binary_view()).validate(full=True)


NUMERIC = frozenset(
    {
        "bool",
        "double",
        "float",
        "halffloat",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    }
)
COPY = {"zero_copy_only": False}
# Types of polars that Arrow has not. Of objects polars would hand over the addresses in memory.
NOT_IN_ARROW = frozenset({"Object", "Int128", "UInt128"})
# Tables that cannot change and were checked, by where they are in memory as long as they are there.
CHECKED: WeakValueDictionary[int, Table | RecordBatch] = WeakValueDictionary()
# Rows of a block, where a source does not have blocks of its own.
BLOCK_ROWS = 65536


def is_arrow_table(values: object) -> TypeGuard[Table | RecordBatch | NamedRows]:
    """Whether this is a table or a batch of records, or rows with named columns."""
    arrow = _root(values) == "pyarrow" and hasattr(values, "column_names")
    return (arrow and hasattr(values, "num_rows")) or isinstance(values, NamedRows)


def is_arrow_array(values: object) -> TypeGuard[Array | ChunkedArray]:
    """Whether this is a column."""
    return (
        _root(values) == "pyarrow"
        and hasattr(values, "to_pylist")
        and not hasattr(values, "column_names")
    )


Read = TypeVar("Read")


def arrow_numbers(column: ChunkedArray) -> Cells | None:
    """A column of a numeric type as an array, nulls masked; None where its type is another."""
    if str(column.type) not in NUMERIC:
        return None
    plain = column.cast("uint8") if str(column.type) == "bool" else column
    if not column.null_count:
        numbers: Cells = plain.to_numpy(**COPY)
        return numbers
    # Through bytes: pyarrow takes bits one at a time.
    lost = column.is_null().cast("uint8").to_numpy(**COPY).view(np.bool_)
    return np.ma.masked_array(plain.fill_null(0).to_numpy(**COPY), mask=lost)


def arrow_cells(column: Array | ChunkedArray) -> list[object]:
    """The cells of a column as objects of Python, each by itself, whatever the others are.

    What Python cannot hold (moments beyond the year 9999, among them the infinite ones of databases) is
    of numpy; bytes in text that are not UTF-8 become lone surrogates, as in files of text.
    """
    chunks = getattr(column, "chunks", [column])
    try:
        # Those that number their categories are taken apart much faster as columns of their type.
        plain = (c.dictionary_decode() if hasattr(c, "dictionary_decode") else c for c in chunks)
        return [cell for chunk in plain for cell in chunk.to_pylist()]
    except Exception:
        # One cell stops the conversion of all. Each comes out as it would have.
        return [_cell(scalar) for scalar in column]


def _cell(scalar: Scalar) -> object:
    try:
        return scalar.as_py()
    except Exception:
        return _without_python(scalar)


def _without_python(scalar: Scalar) -> object:
    from pyarrow import types

    kind = scalar.type
    if types.is_dictionary(kind):
        return _cell(scalar.value)
    if types.is_date(kind):
        return np.datetime64(scalar.value, "D" if types.is_date32(kind) else "ms")
    if types.is_timestamp(kind):
        return np.datetime64(scalar.value, kind.unit)
    if types.is_duration(kind):
        return np.timedelta64(scalar.value, kind.unit)
    if hasattr(scalar, "as_buffer"):
        return scalar.as_buffer().to_pybytes().decode("utf-8", "surrogateescape")
    return scalar


def is_tabular(values: object) -> bool:
    """Whether `arrow_table` makes a table of this that is none yet: a query, a stream, a frame."""
    if _root(values) in ("pandas", "dask", "dask_expr", "numpy") or is_arrow_table(values):
        return False
    if is_cursor(values) or _is_lazy(values):
        return True
    if _root(values) == "pyarrow":
        return any(hasattr(values, name) for name in ("read_all", "to_table", "iter_batches"))
    return hasattr(values, "columns") and hasattr(values, "__arrow_c_stream__")


def arrow_table(values: object) -> Any:
    """The table that something tabular holds; other things as they are.

    A query is run, and a stream is read, here and once.

    Raises DataError if it cannot be read, or holds fewer rows than it states; the other library's
    message may hold cells and is not shown. Raises MissingExtraError without pyarrow.
    """
    table = _table(values)
    checked = isinstance(table, NamedRows) or CHECKED.get(id(table)) is table
    if is_arrow_table(table) and not checked:
        guarded(lambda: check_buffers(table))
        CHECKED[id(table)] = table
    return table


def _table(values: object) -> object:
    if not is_tabular(values):
        return values
    _check_parquet(values)
    if is_cursor(values):
        return guarded(lambda: rows_of(values))
    if _is_lazy(values):
        return _table(guarded(values.collect))
    if _beyond_arrow(values):
        return guarded(lambda: _rows_of_columns(values))
    if hasattr(values, "__arrow_c_stream__"):
        return guarded(lambda: _pyarrow().table(values))
    readers = (getattr(values, name, None) for name in ("read_all", "to_table", "read"))
    return guarded(next(reader for reader in readers if reader is not None))


def _check_parquet(values: object) -> None:
    if hasattr(values, "iter_batches") and hasattr(values, "metadata"):
        check_footer(values.metadata)


def arrow_array(values: object) -> object:
    """A column of another library that speaks Arrow, as an array of Arrow; other things as they are."""
    foreign = _root(values) not in ("pandas", "pyarrow", "numpy")
    if foreign and hasattr(values, "__arrow_c_stream__") and not hasattr(values, "columns"):
        if _beyond_arrow(values) and hasattr(values, "to_list"):
            return guarded(values.to_list)
        return guarded(lambda: _pyarrow().chunked_array(values))
    return values


def _beyond_arrow(values: object) -> bool:
    """Whether a frame or a column has a type that Arrow has not, as its own schema says."""
    schema = getattr(values, "schema", None)
    kinds = schema.values() if isinstance(schema, Mapping) else [getattr(values, "dtype", None)]
    return not NOT_IN_ARROW.isdisjoint(map(str, kinds))


def _rows_of_columns(frame: Any) -> NamedRows:
    """The rows of a frame, each column of which is read as it would be alone."""
    names = list(frame.columns)
    columns = [arrow_array(frame[name]) for name in names]
    cells = [column if isinstance(column, list) else arrow_cells(column) for column in columns]
    return NamedRows(names, list(zip(*cells, strict=True)))


def names_in(values: object) -> Sequence[object] | None:
    """Labels of the columns of something tabular, without reading it; None where it does not say."""
    if hasattr(values, "collect_schema"):
        return list(values.collect_schema().names())
    if is_cursor(values):
        return labels_of(values)
    for name in ("schema", "schema_arrow"):
        names = getattr(getattr(values, name, None), "names", None)
        if names is not None and not callable(names):
            return list(names)
    return list(values.columns) if hasattr(values, "columns") else None


def blocks_of(source: object) -> Iterator[Any]:
    """The blocks of a source, one at a time: batches of a stream, a file or a query, or what it yields.

    Raises DataError if it is a container of all records already, or cannot be read.
    """
    _check_parquet(source)
    blocks = guarded(lambda: _blocks(source))
    if blocks is None:
        raise DataError(
            "Blocks must come one after the other, from a stream, a query or an iterator; found "
            "something else. Use fit for records that are all at hand."
        )
    if blocks is source:
        # The caller's own iterator: its errors are the caller's.
        yield from source
        return
    nothing = object()
    while (block := guarded(lambda: next(blocks, nothing))) is not nothing:
        yield block


def _blocks(source: object) -> Iterator[object] | None:
    if hasattr(source, "num_record_batches") and hasattr(source, "get_batch"):
        return (source.get_batch(i) for i in range(source.num_record_batches))
    if is_cursor(source):
        return blocks_of_rows(source, BLOCK_ROWS)
    for name in ("to_batches", "iter_batches", "collect_batches"):
        if hasattr(source, name):
            batches: Iterable[object] = getattr(source, name)()
            return iter(batches)
    if _beyond_arrow(source):
        return iter([arrow_table(source)])
    if hasattr(source, "__arrow_c_stream__") and _root(source) != "pandas":
        batches = _pyarrow().RecordBatchReader.from_stream(source)
        return iter(batches)
    return source if isinstance(source, Iterator) else None


def guarded(read: Callable[[], Read]) -> Read:
    """What another library reads. Raises DataError in place of its errors, which may hold cells."""
    try:
        return read()
    except MissingExtraError:
        raise
    except Exception:
        raise DataError(
            "X must be a table that can be read; found one that cannot, or a query that fails. Run it by"
            " itself to see why: the message may hold cells, so that it is not repeated here."
        ) from None


def _pyarrow() -> ModuleType:
    with needed("pyarrow", "tables", "Reading tables of other libraries"):
        return import_module("pyarrow")


def _is_lazy(values: object) -> TypeGuard[Lazy]:
    return (
        hasattr(values, "collect") and hasattr(values, "collect_schema") and not hasattr(values, "shape")
    )


def _root(values: object) -> str:
    return type(values).__module__.partition(".")[0]
