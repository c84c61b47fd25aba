"""Text tables (CSV): numbers and labels out of a file, fast where it is clean, exact where it is not.

A record is a line: a line break inside quotes is not supported, so that what a row becomes depends on
that row alone. Two roads read a file. The fast one is pyarrow; it is taken for a whole file only where
it is certain to agree with the slow one, which reads cell by cell and decides everything else.
"""

from __future__ import annotations

import csv
import gzip
import io
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
INFINITE = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)
# From here on float64 does not hold every integer: such a cell is a label, or would be rounded unseen.
TOO_LARGE = 2.0**53
REPORT_EVERY = 1000
BLOCK_BYTES = 1 << 22
BYTES_A_CELL = 2048
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
                line = next(_lines(stream), None)
        except BROKEN_FILE:
            raise _broken(path) from None
        if line is None:
            raise DataError(f"{path.name} must hold a header line and records; found an empty file.")
        if _undecodable(line) or "\0" in line:
            raise DataError(
                "The header line must be text in UTF-8; found other bytes. Save the file as UTF-8."
            )
        delimiter = _delimiter(line, ".tsv" in path.suffixes)
        cells = _cells(line, delimiter)
        if isinstance(cells, str):
            raise DataError(f"The header line must be readable; found {cells}.")
        return cls(path, tuple(cell.strip() for cell in cells), delimiter)


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
        Called with the bytes read and the size of the file; begins again if the slow road is taken.

    Raises
    ------
    DataError
        With the row (1 is the first after the header; empty lines do not count) and the column's
        label, never the cell.
    """
    table = read_fast(source, numbers, labels, invalid, progress)
    return read_slowly(source, numbers, labels, invalid, progress) if table is None else table


# The slow road: one line, one record.


def read_slowly(
    source: TextFile,
    numbers: Sequence[int],
    labels: Sequence[int],
    invalid: str = "refuse",
    progress: Progress | None = None,
) -> Table:
    """As `read_text`, line by line with the standard library."""
    values = array("d")
    columns: list[list[Any]] = [[] for _ in labels]
    unusable = [np.inf] * len(numbers)
    row = 0
    try:
        with _opened(source.path) as (stream, raw):
            size = source.path.stat().st_size
            lines = _lines(stream)
            next(lines)
            for row, line in enumerate(lines, start=1):
                cells = _cells(line, source.delimiter)
                try:
                    values.extend(_row_numbers(cells, source.header, numbers))
                except DataError as error:
                    if invalid == "refuse":
                        raise DataError(f"Row {row}{error} {OUTSIDE}") from None
                    values.extend(unusable)
                _append_labels(columns, cells, labels, source.header, row, invalid)
                if progress is not None and row % REPORT_EVERY == 0:
                    progress(raw.tell(), size)
            if progress is not None:
                progress(size, size)
    except BROKEN_FILE:
        raise _broken(source.path) from None
    return Table(np.frombuffer(values, dtype=np.float64).reshape(row, len(numbers)), columns)


def _row_numbers(cells: list[str] | str, header: Sequence[str], positions: Sequence[int]) -> list[float]:
    """The numbers of one row; the error's text goes on from the words 'Row 7'."""
    if isinstance(cells, str):
        raise DataError(f" must be split into cells by its delimiter; found {cells}.")
    if len(cells) != len(header):
        raise DataError(
            f" must have a cell for each of the {len(header)} labels of the header; found "
            f"{len(cells)} cells. Complete the row, with empty cells for missing values."
        )
    found = []
    for position in positions:
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
    if text in MISSING:
        return np.nan
    if NUMBER.fullmatch(text):
        number = float(text)
        if np.isinf(number):
            raise _UnreadableError("a number that is too large for double precision")
        if abs(number) >= TOO_LARGE and text.lstrip("+-").isdigit():
            raise _UnreadableError("an integer that is too large to be held exactly (2^53 or more)")
        return number
    infinite = INFINITE.fullmatch(text)
    if infinite:
        return -np.inf if infinite[1] == "-" else np.inf
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


def _append_labels(
    columns: list[list[Any]],
    cells: list[str] | str,
    positions: Sequence[int],
    header: Sequence[str],
    row: int,
    invalid: str,
) -> None:
    for column, position in zip(columns, positions, strict=True):
        readable = not isinstance(cells, str) and position < len(cells)
        label = cell_label(cells[position]) if readable else None
        if invalid == "refuse" and label is not None and _undecodable(label):
            raise DataError(
                f"Row {row}, column {header[position]!r} must hold text in UTF-8; found other bytes. "
                f"Save the file as UTF-8. {OUTSIDE}"
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
        return "a cell that is too long"


def _lines(stream: IO[bytes]) -> Iterator[str]:
    """Lines that are not empty, without their ends; the first is the header."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline=None)
    for line in text:
        bare = line.removesuffix("\n")
        if bare:
            yield bare


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


# The fast road: a whole file at once, or nothing.


class _Body(io.RawIOBase):
    """The bytes after the header, with counts that tell whether each line is one record."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.newlines = self.returns = self.quotes = 0
        self.pairs = 0
        self.last = b"\n"

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        chunk = self.stream.read(size)
        if chunk:
            joined = self.last + chunk
            self.newlines += chunk.count(b"\n")
            self.returns += chunk.count(b"\r")
            self.pairs += joined.count(b"\r\n")
            self.quotes += chunk.count(b'"')
            self.last = chunk[-1:]
        return chunk

    def lines(self) -> int:
        return self.newlines + (self.last != b"\n")


def read_fast(
    source: TextFile,
    numbers: Sequence[int],
    labels: Sequence[int],
    invalid: str = "refuse",
    progress: Progress | None = None,
) -> Table | None:
    """As `read_text`, by pyarrow; None where it might not agree with the slow road.

    It might not where pyarrow refuses, where a line is not one record (quotes under "repair", line
    breaks in quotes, empty lines), and where a number is infinite, not a number or 2^53 or more.
    """
    import pyarrow as pa

    blocks: list[Floats] = []
    columns: list[list[Any]] = [[] for _ in labels]
    try:
        with _opened(source.path) as (stream, raw):
            size = source.path.stat().st_size
            if b"\r" in _header_line(stream):
                return None
            body = _Body(stream)
            for batch in _batches(body, source, numbers, labels):
                block = _block(batch, numbers)
                if block is None:
                    return None
                blocks.append(block)
                for column, position in zip(columns, labels, strict=True):
                    column.extend(map(cell_label, batch.column(str(position)).to_pylist()))
                if progress is not None:
                    progress(raw.tell(), size)
    except (pa.ArrowException, *BROKEN_FILE):
        return None
    rows = sum(len(block) for block in blocks)
    whole = rows == body.lines() and body.returns == body.pairs
    if not whole or (invalid == "repair" and body.quotes):
        return None
    return Table(joined(blocks, rows, len(numbers)), columns)


def _header_line(stream: IO[bytes]) -> bytes:
    """Skip the header line; its content, without its end."""
    while True:
        line = stream.readline()
        content = line.removesuffix(b"\n").removesuffix(b"\r").removeprefix(b"\xef\xbb\xbf")
        if content or not line:
            return content


def _batches(
    body: _Body, source: TextFile, numbers: Sequence[int], labels: Sequence[int]
) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names = [str(i) for i in range(len(source.header))]
    types = {str(i): pa.float64() for i in numbers} | {str(i): pa.string() for i in labels}
    block_size = max(BLOCK_BYTES, BYTES_A_CELL * len(names))
    reader = arrow_csv.open_csv(
        body,
        read_options=arrow_csv.ReadOptions(column_names=names, block_size=block_size),
        parse_options=arrow_csv.ParseOptions(delimiter=source.delimiter),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=sorted(MISSING),
            strings_can_be_null=False,
        ),
    )
    with reader:
        yield from reader


def _block(batch: Any, numbers: Sequence[int]) -> Floats | None:
    """The numbers of a batch, None where a cell is for the slow road to judge."""
    block = np.empty((batch.num_rows, len(numbers)))
    for target, position in enumerate(numbers):
        column = batch.column(str(position))
        values = column.to_numpy(zero_copy_only=False)
        if np.count_nonzero(np.abs(values) < TOO_LARGE) + column.null_count != values.size:
            return None
        block[:, target] = values
    return block


def joined(blocks: list[Floats], rows: int, columns: int) -> Floats:
    """One matrix; each block is let go as soon as it is copied, so memory stays near one matrix."""
    matrix = np.empty((rows, columns))
    end = rows
    while blocks:
        block = blocks.pop()
        matrix[end - len(block) : end] = block
        end -= len(block)
    return matrix
