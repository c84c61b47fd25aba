"""Text tables (CSV): numbers and labels out of a file.

What a line means depends on that line alone; `dpfda.records.lines` says what it means. A file is read in
chunks of whole lines. The plain lines of a chunk are read together (`dpfda.records.lines`), the
others one by one, and each record is put where its line stands. Whether a line is plain is asked of
that line alone, and a plain line is read alike either way, so that chunks and neighbours do not matter.
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

import numpy as np

from dpfda.numerics.arrays import Cells, Flags, Floats, Integers
from dpfda.numerics.errors import DataError, OrientationError
from dpfda.numerics.words import so_many
from dpfda.records.cells import MOMENT, NUMBER, OUTSIDE, Dates, UnreadableCellError
from dpfda.records.lines import (
    BYTE_ORDER_MARK,
    Bytes,
    Layout,
    Notation,
    StandardInput,
    UnreadableLineError,
    content,
    decoded,
    empty_lines,
    kept_bytes,
    line_starts,
    plain_lines,
    plain_pattern,
    positions_in,
    read_plain,
    split_cells,
    undecodable,
)

if TYPE_CHECKING:
    from pyarrow import ChunkedArray

Progress = Callable[[int, int], None]

CHUNK_BYTES = 1 << 23
# Fewer bytes are read line by line in less time than pyarrow is loaded in.
SMALL = 1 << 16
BROKEN_FILE = (OSError, EOFError, zlib.error)
DATED = " Where the column holds times, give $dates."
SHORT = "Complete the line, with an empty cell in the place of each missing value."
LONG = "Put cells that hold the delimiter in quotes; save decimal commas as points."
COMMAS = " If commas are decimal signs, use $decimal; thousands have no sign."


class Table(NamedTuple):
    """What was read.

    numbers: array (n, k). NaN where missing.
    labels: Columns of labels, None where missing.
    lines: array (n,) of int, or None. The line of the file on which each record stands, the first being
        1; None for a file without lines, whose rows are counted from 1.
    """

    numbers: Floats
    labels: Sequence[Sequence[object]]
    lines: Integers | None = None

    def place(self, record: int) -> str:
        """Where a record stands in the file, for messages."""
        return f"Row {record + 1}" if self.lines is None else f"Line {self.lines[record]}"


class Stated(NamedTuple):
    """What is stated of a file beyond the names of its columns.

    notation: How numbers are written.
    dates: How dates are written.
    invalid: {"refuse", "repair"}. What to do with rows that cannot be read.
    progress: Called with what is read and the whole.
    """

    notation: Notation = Notation()
    dates: Dates | None = None
    invalid: str = "refuse"
    progress: Progress | None = None


@dataclass(frozen=True)
class TextFile:
    """A text table whose header is known.

    path: The file; one that ends in .gz is decompressed while it is read.
    header: Column labels. Numbers with the decimal comma that is stated are labels with a point.
    delimiter: Comma, semicolon or tab.
    first: The line after the header.
    notation: How numbers are written.
    """

    path: Path | StandardInput
    header: tuple[str, ...]
    delimiter: str
    first: int = 2
    notation: Notation = field(default_factory=Notation)

    @classmethod
    def open(cls, path: Path | StandardInput, notation: Notation | None = None) -> TextFile:
        """Read the header line.

        The delimiter is the one of comma, semicolon and tab that is in the header, outside quotes. A
        comma is none where it is the decimal sign.

        Raises DataError if the file is empty, broken or not in UTF-8. Raises OrientationError if the
        header holds two of the delimiters (a tab decides for itself in a .tsv file).
        """
        notation = notation or Notation()
        try:
            with _opened(path) as (stream, _):
                raw, number = _header_line(stream)
        except BROKEN_FILE:
            raise _broken(path) from None
        if not raw:
            raise DataError(f"{path.name} must hold a header line and records; found an empty file.")
        # A null byte is half of a character of UTF-16, whose lines do not end in bytes CR LF.
        if b"\r" in raw and b"\0" not in raw:
            raise DataError("Lines must end with LF or CR LF; found CR alone. Save the file again.")
        line = decoded(raw)
        if undecodable(line) or "\0" in line:
            raise DataError(
                "The header line must be text in UTF-8; found other bytes. Save the file as UTF-8."
            )
        delimiter = _delimiter(line, ".tsv" in path.suffixes, notation)
        try:
            cells = split_cells(line, delimiter)
        except UnreadableLineError as found:
            raise DataError(f"The header line must be readable; found {found}.") from None
        labels = tuple(_pointed(cell.strip(), notation) for cell in cells)
        return cls(path, labels, delimiter, number + 1, notation)

    def read(
        self, numbers: Sequence[int], labels: Sequence[int], dated: Sequence[int], stated: Stated
    ) -> Table:
        """Read the columns at these positions.

        numbers, labels: Positions of the columns to read as numbers and as labels.
        dated: Columns of numbers that hold dates.
        stated: Rows that cannot be read are kept with all their numbers infinite, unless they are
            refused.
        Raises DataError with the line of the file and the column's label, never the cell.
        """
        with_dates = frozenset(() if stated.dates is None else dated)
        columns = Columns(self, tuple(numbers), tuple(labels), stated.invalid, with_dates, stated.dates)
        values, places = array("d"), array("q")
        label_columns: list[list[object]] = [[] for _ in labels]
        line = self.first
        try:
            with _opened(self.path) as (stream, raw):
                size = self.path.stat().st_size
                _header_line(stream)
                while chunk := stream.read(CHUNK_BYTES) + stream.readline():
                    part, count = read_chunk(chunk, columns, line)
                    values.frombytes(part.numbers.reshape(-1).view(np.uint8).data)
                    places.frombytes(cast(Integers, part.lines).view(np.uint8).data)
                    for column, more in zip(label_columns, part.labels, strict=True):
                        column.extend(more)
                    line += count
                    if stated.progress is not None:
                        stated.progress(raw.tell(), size)
        except BROKEN_FILE:
            raise _broken(self.path) from None
        lines = buffered(places)
        return Table(buffered(values).reshape(lines.size, len(numbers)), label_columns, lines)


@dataclass(frozen=True)
class Columns:
    """What to read.

    numbers, labels: Positions of the columns of numbers and of labels.
    invalid: {"refuse", "repair"}. What to do with unusable rows.
    dated: Which columns of numbers hold dates.
    dates: How they are written.
    """

    source: TextFile
    numbers: tuple[int, ...]
    labels: tuple[int, ...]
    invalid: str = "refuse"
    dated: frozenset[int] = frozenset()
    dates: Dates | None = None

    def number(self, text: str, position: int) -> float:
        """Read a cell of this column as a number."""
        return self.source.notation.number(text, self.dates if position in self.dated else None)

    def layout(self) -> Layout:
        """What a plain line holds."""
        numbers = positions_in([i for i in self.numbers if i not in self.dated])
        texts = positions_in([*self.labels, *self.dated])
        width, notation = len(self.source.header), self.source.notation
        return Layout(width, self.source.delimiter, notation.decimal, numbers, texts, notation.na)


@contextmanager
def _opened(path: Path | StandardInput) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The decompressed bytes of a file, and the raw file whose position is the progress."""
    with path.open("rb") as raw:
        if path.suffix.lower() == ".gz":
            yield cast(IO[bytes], gzip.GzipFile(fileobj=raw)), raw
        else:
            yield raw, raw


def _broken(path: Path | StandardInput) -> DataError:
    return DataError(f"{path.name} must be a complete file; found one that breaks off or is damaged.")


def _header_line(stream: IO[bytes]) -> tuple[bytes, int]:
    """The first line that is not empty, without its end, and its number."""
    number = 0
    while raw := stream.readline():
        number += 1
        line = content(raw.removeprefix(BYTE_ORDER_MARK) if number == 1 else raw)
        if line:
            return line, number
    return b"", number


def _delimiter(line: str, tabs: bool, notation: Notation) -> str:
    """The delimiter that is in the header, outside quotes; else OrientationError."""
    bare = re.sub('"[^"]*"', "", line)
    candidates = ",;\t".replace(notation.decimal, "")
    present = [delimiter for delimiter in candidates if delimiter in bare]
    if tabs and "\t" in present:
        return "\t"
    if len(present) > 1:
        names = {",": "commas", ";": "semicolons", "\t": "tabs"}
        raise OrientationError(
            "The header must hold one delimiter: comma, semicolon or tab; found "
            f"{' and '.join(names[delimiter] for delimiter in present)}. Put labels that hold a "
            "delimiter in quotes; where commas are decimal signs, say so with $decimal.",
        )
    if not present and notation.decimal in bare:
        raise OrientationError(
            "The header must hold semicolons or tabs between columns where commas are decimal signs, "
            "with decimal=',' (--decimal ','); found commas alone. Save the file with semicolons, or "
            "with decimal points and without that option; put labels that hold a comma in quotes."
        )
    return present[0] if present else candidates[0]


def _pointed(label: str, notation: Notation) -> str:
    """A label; a number with the decimal comma that is stated gets a point."""
    pointed = label.replace(notation.decimal, ".")
    return pointed if NUMBER.fullmatch(pointed) and "." not in label else label


def buffered(values: array[int] | array[float]) -> Cells:
    """The numbers in a growing buffer, without a copy."""
    kind = np.dtype(values.typecode)
    return np.frombuffer(values, kind) if values else np.empty(0, kind)


def read_chunk(chunk: bytes, columns: Columns, first: int = 2) -> tuple[Table, int]:
    """Read whole lines, of which the first has this number; also how many lines they are."""
    raw = np.frombuffer(chunk if chunk.endswith(b"\n") else chunk + b"\n", dtype=np.uint8)
    starts = line_starts(raw)
    records = ~empty_lines(raw, starts)
    layout = columns.layout()
    pattern = plain_pattern(layout) if raw.size > SMALL else None
    easy = np.zeros(records.size, dtype=bool)
    if pattern is not None:
        easy = records & plain_lines(raw, starts, layout, pattern)
    together = _read_together(raw, starts, easy, columns, layout) if easy.any() else None
    if together is not None and easy.all() and not columns.dated:
        return together._replace(lines=first + np.arange(records.size)), records.size
    numbers = np.empty((records.size, len(columns.numbers)))
    labels: list[Cells] = [np.empty(records.size, dtype=object) for _ in columns.labels]
    if together is None:
        easy[:] = False
    else:
        numbers[easy] = together.numbers
        for column, part in zip(labels, together.labels, strict=True):
            column[easy] = part
        # A date that is none of those stated is for the other reader to judge.
        easy[easy] = ~np.isposinf(together.numbers).any(axis=1)
    for i in np.flatnonzero(records & ~easy):
        line = raw[starts[i] : starts[i + 1]].tobytes()
        numbers[i], line_labels = read_line(line, columns, first + int(i))
        for column, label in zip(labels, line_labels, strict=True):
            column[i] = label
    lines = first + np.flatnonzero(records)
    return Table(numbers[records], [column[records].tolist() for column in labels], lines), records.size


def _read_together(
    chunk: Bytes, starts: Integers, easy: Flags, columns: Columns, layout: Layout
) -> Table | None:
    """The records of the plain lines; a date that cannot be read is infinite."""
    read = read_plain(kept_bytes(chunk, starts, easy), layout, int(np.diff(starts)[easy].max()))
    if read is None or len(read[0]) != np.count_nonzero(easy):
        return None
    read_numbers, texts = read
    numbers = read_numbers
    if columns.numbers != layout.numbers:
        numbers = np.empty((len(read_numbers), len(columns.numbers)))
        for target, position in enumerate(columns.numbers):
            if position in layout.numbers:
                numbers[:, target] = read_numbers[:, layout.numbers.index(position)]
            else:
                numbers[:, target] = _dated(texts[layout.texts.index(position)], columns, position)
    labels = [
        list(map(columns.source.notation.label, texts[layout.texts.index(position)].to_pylist()))
        for position in columns.labels
    ]
    return Table(numbers, labels)


def _dated(texts: ChunkedArray, columns: Columns, position: int) -> Floats:
    """A column of dates, infinite where a cell is none; each spelling is read once."""
    encoded = texts.combine_chunks().dictionary_encode()
    days = np.array(
        [_date_or_infinity(text, columns, position) for text in encoded.dictionary.to_pylist()]
    )
    return np.asarray(days[encoded.indices.to_numpy()], dtype=np.float64)


def _date_or_infinity(text: str, columns: Columns, position: int) -> float:
    try:
        return columns.number(text, position)
    except UnreadableCellError:
        return math.inf


def read_line(line: bytes, columns: Columns, number: int = 2) -> tuple[list[float], list[str | None]]:
    """Read one line that is not empty: its numbers and its labels.

    Raises DataError unless repairing, with the line's number and the column's label.
    """
    text = decoded(line)
    try:
        cells = split_cells(text, columns.source.delimiter)
        wrong = ""
    except UnreadableLineError as kind:
        cells, wrong = [], str(kind)
    try:
        numbers = _line_numbers(cells, columns, wrong)
    except DataError as error:
        if columns.invalid == "refuse":
            raise DataError(f"Line {number}{error.template} {OUTSIDE}", "", **error.parts) from None
        numbers = [math.inf] * len(columns.numbers)
    return numbers, [_line_label(cells, columns, position, number) for position in columns.labels]


def _line_numbers(cells: list[str], columns: Columns, wrong: str) -> list[float]:
    """The numbers of one line; the error's text goes on from the words 'Line 7'."""
    header = columns.source.header
    if wrong:
        raise DataError(f" must be split into cells by its delimiter; found {wrong}.")
    if len(cells) != len(header):
        raise DataError(
            f" must have a cell for each of the {len(header)} labels of the header; found "
            f"{so_many(len(cells), 'cell')}. {SHORT if len(cells) < len(header) else LONG}"
        )
    numbers = []
    for position in columns.numbers:
        try:
            numbers.append(columns.number(cells[position], position))
        except UnreadableCellError as kind:
            what = "date" if position in columns.dated else "number"
            written = COMMAS if "decimal comma" in str(kind) else ""
            if what == "number" and MOMENT.fullmatch(cells[position].strip()):
                written = DATED
            raise DataError(
                f", column {header[position]!r} must hold a {what} or be empty; found {kind}."
                f"{written} Correct the cell (a missing one is empty, or NA); say what stands for a "
                "missing value, as in $na; or name another column.",
                na=["'k.A.'"],
            ) from None
    return numbers


def _line_label(cells: list[str], columns: Columns, position: int, number: int) -> str | None:
    label = columns.source.notation.label(cells[position]) if position < len(cells) else None
    if columns.invalid == "refuse" and label is not None and undecodable(label):
        raise DataError(
            f"Line {number}, column {columns.source.header[position]!r} must hold text in UTF-8; found "
            f"other bytes. Save the file as UTF-8. {OUTSIDE}"
        )
    return label
