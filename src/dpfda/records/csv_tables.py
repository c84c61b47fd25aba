"""Text tables (CSV): numbers and labels out of a file, fast where it is clean, exact where it is not.

A record is a line: a line break inside quotes is not supported, so that what a row becomes depends on
that row alone. A file is read in chunks of whole lines, each on one of two roads. The fast one is
pyarrow; it is taken only where it is certain to agree with the slow one, which reads cell by cell and
decides everything else.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from dpfda.errors import DataError, OrientationError
from dpfda.records.headers import DECIMAL_COMMA, NUMBER

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]

MISSING = frozenset({"", "NA", "NaN", "nan", "null", "None", "N/A"})
EMPTY_LINE = re.compile(rb"(?<=\n)\r?\n")
INFINITE = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)
# From here on float64 does not hold every integer: such a cell is a label, or would be rounded unseen.
TOO_LARGE = 2.0**53
CHUNK_BYTES = 1 << 23
BLOCK_BYTES = 1 << 20
BYTES_A_CELL = 512
BROKEN_FILE = (OSError, EOFError, zlib.error)
OUTSIDE = "This check is outside the privacy guarantee."


class Table(NamedTuple):
    """What was read: numbers (n, k), NaN where missing, and label columns with None where missing."""

    numbers: Floats
    labels: list[list[Any]]


@dataclass(frozen=True)
class TextFile:
    """A text table whose header is known.

    Parameters
    ----------
    path : Path
        The file; one that ends in .gz is decompressed while it is read.
    header : tuple of str
        Column labels.
    delimiter : str
        Comma, semicolon or tab.
    """

    path: Path
    header: tuple[str, ...]
    delimiter: str

    @classmethod
    def open(cls, path: Path) -> TextFile:
        """Read the header line.

        The delimiter is the one of comma, semicolon and tab that is in the header, outside quotes.

        Raises
        ------
        DataError
            If the file is empty, broken or not in UTF-8.
        OrientationError
            If the header holds two of the delimiters (a tab decides for itself in a .tsv file).
        """
        try:
            with _opened(path) as (stream, _):
                raw = _header_line(stream)
        except BROKEN_FILE:
            raise _broken(path) from None
        if not raw:
            raise DataError(f"{path.name} must hold a header line and records; found an empty file.")
        if b"\r" in raw:
            raise DataError("Lines must end with LF or CR LF; found CR alone. Save the file again.")
        line = raw.decode("utf-8", "surrogateescape")
        if _undecodable(line) or "\0" in line:
            raise DataError(
                "The header line must be text in UTF-8; found other bytes. Save the file as UTF-8."
            )
        delimiter = _delimiter(line, ".tsv" in path.suffixes)
        cells = _cells(line, delimiter)
        if isinstance(cells, str):
            raise DataError(f"The header line must be readable; found {cells}.")
        return cls(path, tuple(cell.strip() for cell in cells), delimiter)


@dataclass(frozen=True)
class Columns:
    """What to read: positions of the columns of numbers and of labels; what to do with unusable rows."""

    source: TextFile
    numbers: tuple[int, ...]
    labels: tuple[int, ...]
    invalid: str = "refuse"


class _UnreadableError(Exception):
    """A cell that is no number; carries the kind, in fixed words, never the text."""


def read_text(
    source: TextFile,
    numbers: Sequence[int],
    labels: Sequence[int],
    invalid: str = "refuse",
    progress: Progress | None = None,
) -> Table:
    """Read the columns at these positions.

    Parameters
    ----------
    source : TextFile
        Private but for its header.
    numbers, labels : sequences of int
        Positions of the columns to read as numbers and as labels.
    invalid : {"refuse", "repair"}
        Raise on a row that cannot be read, or keep it with all its numbers infinite.
    progress : callable, optional
        Called with the bytes read and the size of the file.

    Raises
    ------
    DataError
        With the row (1 is the first after the header; empty lines do not count) and the column's
        label, never the cell.
    """
    columns = Columns(source, tuple(numbers), tuple(labels), invalid)
    values = array("d")
    found: list[list[Any]] = [[] for _ in labels]
    rows = 0
    try:
        with _opened(source.path) as (stream, raw):
            size = source.path.stat().st_size
            _header_line(stream)
            while chunk := stream.read(CHUNK_BYTES) + stream.readline():
                part = read_fast(chunk, columns) or read_slowly(chunk, columns, rows)
                values.frombytes(part.numbers.tobytes())
                for column, more in zip(found, part.labels, strict=True):
                    column.extend(more)
                rows += len(part.numbers)
                if progress is not None:
                    progress(raw.tell(), size)
    except BROKEN_FILE:
        raise _broken(source.path) from None
    return Table(_matrix(values, rows, len(numbers)), found)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The decompressed bytes of a file, and the raw file whose position is the progress."""
    with path.open("rb") as raw:
        if path.suffix.lower() == ".gz":
            yield cast(IO[bytes], gzip.GzipFile(fileobj=raw)), raw
        else:
            yield raw, raw


def _broken(path: Path) -> DataError:
    return DataError(f"{path.name} must be a complete file; found one that breaks off or is damaged.")


def _header_line(stream: IO[bytes]) -> bytes:
    """The first line that is not empty, without its end and without a byte order mark."""
    while raw := stream.readline():
        line = raw.removesuffix(b"\n").removesuffix(b"\r").removeprefix(b"\xef\xbb\xbf")
        if line:
            return line
    return b""


def _delimiter(line: str, tabs: bool) -> str:
    """The delimiter that is in the header, outside quotes.

    Raises
    ------
    OrientationError
        If there are two.
    """
    bare = re.sub('"[^"]*"', "", line)
    found = [delimiter for delimiter in ",;\t" if delimiter in bare]
    if tabs and "\t" in found:
        return "\t"
    if len(found) > 1:
        names = {",": "commas", ";": "semicolons", "\t": "tabs"}
        raise OrientationError(
            "The header must hold one delimiter: comma, semicolon or tab; found "
            f"{' and '.join(names[delimiter] for delimiter in found)}. Put labels that hold a "
            "delimiter in quotes; save numbers with a decimal point."
        )
    return found[0] if found else ","


def _matrix(values: array[float], rows: int, columns: int) -> Floats:
    """The values as a matrix, without a copy."""
    flat = np.frombuffer(values, dtype=np.float64) if values else np.empty(0)
    return flat.reshape(rows, columns)


# The slow road: line by line, cell by cell.


def read_slowly(chunk: bytes, columns: Columns, before: int = 0) -> Table:
    """Read whole lines with the standard library; `before` is the number of rows above them."""
    values = array("d")
    labels: list[list[Any]] = [[] for _ in columns.labels]
    row = before
    for raw in chunk.split(b"\n"):
        line = raw.removesuffix(b"\r").decode("utf-8", "surrogateescape")
        if not line:
            continue
        row += 1
        cells = _cells(line, columns.source.delimiter)
        try:
            values.extend(_row_numbers(cells, columns))
        except DataError as error:
            if columns.invalid == "refuse":
                raise DataError(f"Row {row}{error} {OUTSIDE}") from None
            values.extend([math.inf] * len(columns.numbers))
        _append_labels(labels, cells, columns, row)
    return Table(_matrix(values, row - before, len(columns.numbers)), labels)


def _row_numbers(cells: list[str] | str, columns: Columns) -> list[float]:
    """The numbers of one row; the error's text goes on from the words 'Row 7'."""
    header = columns.source.header
    if isinstance(cells, str):
        raise DataError(f" must be split into cells by its delimiter; found {cells}.")
    if len(cells) != len(header):
        raise DataError(
            f" must have a cell for each of the {len(header)} labels of the header; found "
            f"{len(cells)} cells. Complete the row, with empty cells for missing values."
        )
    found = []
    for position in columns.numbers:
        try:
            found.append(cell_number(cells[position]))
        except _UnreadableError as kind:
            raise DataError(
                f", column {header[position]!r} must hold a number or be empty; found {kind}. Correct "
                "the cell, or use invalid='repair' (--invalid repair) to replace unusable records by a "
                "fixed public element."
            ) from None
    return found


def cell_number(text: str) -> float:
    """Read one cell; NaN where it is one of the words for a missing value."""
    text = text.strip()
    if NUMBER.fullmatch(text):
        number = float(text)
        if -TOO_LARGE < number < TOO_LARGE:
            return number
        if math.isinf(number):
            raise _UnreadableError("a number that is too large for double precision")
        if text.lstrip("+-").isdigit():
            raise _UnreadableError("an integer that is too large to be held exactly (2^53 or more)")
        return number
    if text in MISSING:
        return math.nan
    infinite = INFINITE.fullmatch(text)
    if infinite:
        return -math.inf if infinite[1] == "-" else math.inf
    raise _UnreadableError(_kind(text))


def _kind(text: str) -> str:
    if _undecodable(text):
        return "bytes that are not UTF-8"
    if DECIMAL_COMMA.fullmatch(text) or NUMBER.fullmatch(re.sub("[,' _]", "", text)):
        return "a number with a decimal comma or a thousands separator"
    return "something else"


def cell_label(text: str | None) -> str | None:
    """A label without surrounding blanks; None where it is missing."""
    label = None if text is None else text.strip()
    return None if label in MISSING else label


def _append_labels(found: list[list[Any]], cells: list[str] | str, columns: Columns, row: int) -> None:
    for column, position in zip(found, columns.labels, strict=True):
        readable = not isinstance(cells, str) and position < len(cells)
        label = cell_label(cells[position]) if readable else None
        if columns.invalid == "refuse" and label is not None and _undecodable(label):
            raise DataError(
                f"Row {row}, column {columns.source.header[position]!r} must hold text in UTF-8; found "
                f"other bytes. Save the file as UTF-8. {OUTSIDE}"
            )
        column.append(label)


def _undecodable(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _cells(line: str, delimiter: str) -> list[str] | str:
    """The cells of a line, or what is wrong with it, in fixed words."""
    if line.count('"') % 2:
        return "an unclosed quote"
    try:
        return next(csv.reader([line], delimiter=delimiter))
    except csv.Error:
        return "a cell that is too long or holds a line break"


# The fast road: a whole chunk at once, or nothing.


def read_fast(chunk: bytes, columns: Columns) -> Table | None:
    """Read whole lines with pyarrow; None where it might not agree with the slow road.

    It might not where pyarrow refuses; where a line may not be one record (a line break in quotes or a
    CR inside a line; any quote under "repair"); and where a number is infinite, NaN, or 2^53 or more.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if b"\r" in chunk and chunk.count(b"\r") != chunk.count(b"\r\n"):
        return None
    if columns.invalid == "repair" and b'"' in chunk:
        return None
    names = [str(i) for i in range(len(columns.source.header))]
    types = {str(i): pa.float64() for i in columns.numbers}
    types |= {str(i): pa.string() for i in columns.labels}
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(chunk),
            arrow_csv.ReadOptions(
                column_names=names, block_size=max(BLOCK_BYTES, BYTES_A_CELL * len(names))
            ),
            arrow_csv.ParseOptions(delimiter=columns.source.delimiter),
            arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=sorted(MISSING),
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowException:
        return None
    numbers = _block(table, columns.numbers)
    if numbers is None or not _is_a_row_a_line(chunk, table.num_rows):
        return None
    labels = [list(map(cell_label, table.column(str(i)).to_pylist())) for i in columns.labels]
    return Table(numbers, labels)


def _is_a_row_a_line(chunk: bytes, rows: int) -> bool:
    """Whether there are as many rows as lines that are not empty."""
    lines = chunk.count(b"\n") + (chunk[-1:] != b"\n")
    if rows < lines:
        lines -= len(EMPTY_LINE.findall(b"\n" + chunk))
    return rows == lines


def _block(table: Any, numbers: Sequence[int]) -> Floats | None:
    """The numbers of a chunk, None where a cell is for the slow road to judge."""
    block = np.empty((table.num_rows, len(numbers)))
    for target, position in enumerate(numbers):
        column = table.column(str(position))
        values = column.to_numpy()
        if np.count_nonzero(np.abs(values) < TOO_LARGE) + column.null_count != values.size:
            return None
        block[:, target] = values
    return block
