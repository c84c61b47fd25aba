"""Parquet and Arrow files (Feather, IPC): numbers and labels out of typed columns.

What a column is, its type says, which is public. Each cell is then read by `dpfda.records.cells`:

- Integers, floats (of 16 to 64 bits), bools and columns of nulls are read together, which leaves no
  choice; an integer of 2^53 or more makes its row unreadable.
- Decimals and text are read cell by cell. Dates and timestamps are numbers only where dates are stated;
  one with a time zone is the same moment in UTC.
- A column of categories (dictionary) is one of its values.
- Other types (lists, structures, bytes, times of day, spans of time) are refused.

A label is the cell: text without surrounding blanks, a number as it is (a whole one as an integer, so
that a column of floats with gaps names the same units as one of integers), a moment as its whole number
of ticks. What a cell names depends on the cell alone.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpfda.numerics.arrays import TOO_LARGE, Floats
from dpfda.numerics.errors import DataError, InPython
from dpfda.records.arrow import arrow_cells, check_buffers, check_footer, contradiction
from dpfda.records.cells import OUTSIDE, TOO_LARGE_INTEGER, Dates, UnreadableCellError, cell_number
from dpfda.records.csv_tables import Stated, Table, buffered
from dpfda.records.lines import Notation, StandardInput

if TYPE_CHECKING:
    from pyarrow import Array, DataType, RecordBatch, Schema

BATCH_ROWS = 8192
Label = str | int | float | None
TICKS_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, repr=False, eq=False)
class TypedFile:
    """An opened file whose columns have types. Private but for its schema.

    rows: As the file states it. No memory is taken by it: how many there are is seen when they are read.
    batches: Blocks of these columns.
    """

    schema: Schema
    rows: int
    batches: Callable[[Sequence[str]], Iterable[RecordBatch]]

    @property
    def header(self) -> tuple[str, ...]:
        """Labels of the columns."""
        return tuple(self.schema.names)

    def read(
        self, numbers: Sequence[int], labels: Sequence[int], dated: Sequence[int], stated: Stated
    ) -> Table:
        """Read the columns at these positions; nulls are missing values.

        numbers, labels, dated, stated: As in `dpfda.records.csv_tables.TextFile.read`; a row with a cell
            that is no number counts as one that cannot be read.
        Raises DataError if a column has a type that holds no numbers or no labels (with its label), a
        cell is no number (with its row, counted from 1, and the column), or the file holds another
        number of rows than it states.
        """
        import pyarrow as pa

        dates = dict.fromkeys(dated, stated.dates) if stated.dates is not None else {}
        _check_types(self.schema, numbers, labels, {*dates})
        values, rows = array("d"), 0
        columns: list[list[object]] = [[] for _ in labels]
        names = [self.header[i] for i in [*numbers, *labels]]
        try:
            for batch in self.batches(names):
                block = np.empty((batch.num_rows, len(numbers)))
                wrong: dict[tuple[int, int], str] = {}
                for target, place in enumerate(numbers):
                    cells = batch.column(self.header[place])
                    block[:, target], unread = _read_numbers(cells, stated.notation, dates.get(place))
                    wrong |= {(row, target): kind for row, kind in unread.items()}
                settle(block, wrong, names, rows, stated)
                values.frombytes(block.tobytes())
                for keys, place in zip(columns, labels, strict=True):
                    cells = _ticks(batch.column(self.header[place]))[0]
                    keys.extend(label_of(cell, stated.notation) for cell in cells)
                rows += batch.num_rows
                if stated.progress is not None:
                    stated.progress(rows, self.rows)
        except (pa.ArrowException, OSError):
            raise DataError("The file must be complete; found a damaged part.") from None
        if rows != self.rows:
            raise contradiction()
        return Table(buffered(values).reshape(rows, len(numbers)), columns)


def open_parquet(path: Path | StandardInput) -> TypedFile:
    """Open a Parquet file and read its schema.

    Raises DataError if it is no Parquet file, a damaged one, or one whose footer contradicts itself.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path if isinstance(path, Path) else path.open())
    except (pa.ArrowException, OSError):
        raise DataError(f"{path.name} must be a Parquet file; found one that cannot be read.") from None
    check_footer(file.metadata)
    return TypedFile(
        file.schema_arrow,
        file.metadata.num_rows,
        lambda names: file.iter_batches(BATCH_ROWS, columns=list(names)),
    )


def open_arrow(path: Path | StandardInput) -> TypedFile:
    """Open a file of Arrow, without reading columns where it is not compressed.

    Raises DataError if it is no file of Arrow, or a damaged one.
    """
    import pyarrow as pa

    try:
        source = pa.memory_map(str(path)) if isinstance(path, Path) else pa.BufferReader(path.content)
        try:
            file = pa.ipc.open_file(source)
            batches = [file.get_batch(i) for i in range(file.num_record_batches)]
        except pa.ArrowInvalid:
            source.seek(0)
            file = pa.ipc.open_stream(source)
            batches = list(file)
    except (pa.ArrowException, OSError):
        raise DataError(f"{path.name} must be an Arrow file; found one that cannot be read.") from None
    rows = sum(batch.num_rows for batch in batches)
    return TypedFile(file.schema, rows, lambda names: _blocks(batches, names))


def _blocks(batches: Sequence[RecordBatch], names: Sequence[str]) -> Iterator[RecordBatch]:
    """Blocks of at most so many rows of these columns."""
    for batch in batches:
        chosen = batch.select(list(names))
        check_buffers(chosen)
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield chosen.slice(start, BATCH_ROWS)


def _value_type(kind: DataType) -> DataType:
    """The type of a column's values; that of its categories, if it has some."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _check_types(schema: Schema, numbers: Sequence[int], labels: Sequence[int], dated: set[int]) -> None:
    from pyarrow import types

    for position in numbers:
        kind = _value_type(schema.field(position).type)
        text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
        moment = types.is_date(kind) or types.is_timestamp(kind)
        if position in dated:
            if not (text or moment or types.is_null(kind)):
                raise DataError(
                    f"Column {schema.names[position]!r} must hold dates; found the type {kind}. Leave "
                    "$dates out, or write it as a date, a timestamp or text.",
                    dates=InPython("dates"),
                )
        elif not (_is_native(kind) or types.is_decimal(kind) or text):
            remedy = "State $dates where it holds times." if moment else ""
            raise DataError(
                f"Column {schema.names[position]!r} must hold numbers; found the type {kind}. "
                f"Write it as float64, in the units of the bounds. {remedy}".rstrip(),
            )
    for position in labels:
        kind = _value_type(schema.field(position).type)
        binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
        if types.is_nested(kind) or binary:
            raise DataError(
                f"Column {schema.names[position]!r} must hold one label a row; found the type {kind}."
            )


def _is_native(kind: object) -> bool:
    """Whether cells of this type can be numbers in one way only."""
    from pyarrow import types

    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
    )


def _read_numbers(
    column: Array, notation: Notation, dates: Dates | None
) -> tuple[Floats, dict[int, str]]:
    """The numbers of a column, and which rows hold none, with the kind of offence.

    Which way is taken depends on the column's type alone. Where `dates` are given they are dates.
    """
    if dates is None and _is_native(column.type):
        return _native(column)
    cells, ticks_a_day = _ticks(column)

    def number(cell: object) -> float:
        if isinstance(cell, str):
            return notation.number(cell, dates)
        if dates is None or not isinstance(cell, int):
            return cell_number(cell)
        return dates.days_of_ticks(cell, ticks_a_day)

    return each_number(cells, number)


def each_number(
    cells: Sequence[object], number: Callable[[object], float]
) -> tuple[Floats, dict[int, str]]:
    """Cells as numbers, infinite where they are none, with the kind of offence of these by their row."""
    numbers, wrong = np.empty(len(cells)), {}
    for row, cell in enumerate(cells):
        try:
            numbers[row] = number(cell)
        except UnreadableCellError as found:
            numbers[row], wrong[row] = math.inf, str(found)
    return numbers, wrong


def _ticks(column: Array) -> tuple[list[object], int]:
    """The cells of a column; moments as whole numbers of ticks since 1970, with the ticks in a day.

    Python's dates end in the year 9999: a cell beyond it would make the conversion of all fail.
    """
    from pyarrow import int32, int64, types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if not types.is_temporal(kind) or types.is_interval(kind):
        return arrow_cells(column), 1
    if types.is_date32(kind):
        return column.cast(int32()).to_pylist(), 1
    unit = "ms" if types.is_date64(kind) else kind.unit
    if types.is_time32(kind):
        column = column.cast(int32())
    return column.cast(int64()).to_pylist(), 86400 * TICKS_A_SECOND[unit]


def _native(column: Array) -> tuple[Floats, dict[int, str]]:
    """Cells of a numeric type, all at once, as the rule for a cell reads each."""
    from pyarrow import float32, float64, types, uint8

    kind = column.type
    if types.is_boolean(kind):
        column = column.cast(uint8())
    elif types.is_float16(kind):
        column = column.cast(float32())
    # Without the check of pyarrow's safe cast: its message would print the cell.
    numbers = column.cast(float64(), safe=False).to_numpy(zero_copy_only=False)
    if not types.is_integer(kind):
        return numbers, {}
    rows = np.flatnonzero(np.abs(numbers) >= TOO_LARGE)
    return numbers, dict.fromkeys(rows.tolist(), TOO_LARGE_INTEGER)


def settle(
    block: Floats, wrong: dict[tuple[int, int], str], names: Sequence[str], start: int, stated: Stated
) -> None:
    """Put NaN for stated codes, and infinity in rows with a cell that is no number.

    Raises DataError for the first of these where they are refused; rows are counted from `start`.
    """
    block[np.isin(block, stated.notation.codes)] = np.nan
    if wrong and stated.invalid == "refuse":
        row, column = min(wrong)
        raise DataError(
            f"Row {start + row + 1}, column {names[column]!r} must hold a number that double precision "
            f"holds exactly; found {wrong[row, column]}. Correct the cell, or name another "
            f"column. {OUTSIDE}"
        )
    block[[row for row, _ in wrong]] = np.inf


def label_of(value: object, notation: Notation) -> Label:
    """What names the unit of a cell; None where it is missing."""
    if isinstance(value, str):
        return notation.label(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float | Decimal | np.floating):
        number = float(value)
        if math.isnan(number):
            return None
        exact = isinstance(value, Decimal) or abs(number) < TOO_LARGE
        return int(value) if math.isfinite(number) and exact and value == int(value) else number
    return str(value)
