"""Text tables: bytes, lines and cells, each line read by itself; and many plain lines at once.

- *Bytes*. A byte-order mark is dropped at the very start of the file and is text anywhere else.
- *Lines* end in LF, and one CR before it (or before the end of the file) belongs to the line's end. No
  other byte ends a line, in quotes or not. Lines are counted from 1, the header and empty ones included.
  A line without a byte is empty and no record; any other is one record, also one of blanks alone.
- *Cells*. The text of a line is UTF-8; what is not is kept apart and is never a number. Its cells stand
  between delimiters. A cell that begins with a double quote reaches to the next one that is not doubled,
  delimiters included; a quote anywhere else is text. A line with an odd number of quotes, with a quoted
  cell that is never closed (both are what a line break in quotes leaves), or with a CR before its end
  has no cells and cannot be read. '#' and NUL are characters like others; no cell is too long.
- *Numbers and labels*. Blanks around a cell are taken off; then `dpfda.records.cells` says what is a
  number and what is missing. Where a decimal comma is stated, it is read as the point that it stands
  for, and a number with a point is refused.

Whether a line is plain is asked of the line alone, by one regular expression. A plain line holds
printable ASCII without double quotes, one cell for each label of the header, and in the columns of
numbers nothing but words for a missing value and short decimal numbers: at most 15 digits before the
decimal sign and 20 after it, at most two in the exponent, and no plus sign in front. Such a line has
the cells that lie between its delimiters, whoever splits it; such a number is finite, normal or zero,
and no integer of 2^53 or more, so that the nearest float64 is all there is to find. pyarrow, which
rounds correctly, then reads as `dpfda.records.lines` does.
"""

from __future__ import annotations

import functools
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from dpfda.numerics.arrays import Flags, Floats, Integers, put_columns
from dpfda.numerics.errors import ParameterError, Private
from dpfda.records.cells import MISSING, NO_NUMBER, NUMBER, Dates, UnreadableCellError, text_number

if TYPE_CHECKING:
    from pyarrow import ChunkedArray


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DECIMAL_COMMA = re.compile(r"[+-]?[0-9.' ]*,[0-9]++(?:[eE][+-]?[0-9]++)?")


class UnreadableLineError(Exception):
    """A line without cells; carries what is wrong with it, in fixed words."""


@dataclass(frozen=True)
class Notation:
    """How numbers are written, as stated.

    decimal: {".", ","}. The decimal sign.
    na: What a cell reads that is missing, beside the usual words; a number too, such as -99.
    """

    decimal: str = "."
    na: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ParameterError("decimal", "be '.' or ','", repr(self.decimal))
        if not all(word == word.strip() != "" for word in self.na):
            raise ParameterError("na", "be words, without blanks around them", repr(self.na))

    @cached_property
    def missing(self) -> frozenset[str]:
        """All words for a missing value."""
        return MISSING | {*self.na}

    @cached_property
    def codes(self) -> list[float]:
        """Those of the stated words that are numbers, as columns of numbers hold them."""
        return [float(word) for word in self.na if NUMBER.fullmatch(word)]

    def label(self, text: str | None) -> str | None:
        """A label without surrounding blanks; None where it is missing."""
        label = None if text is None else text.strip()
        return None if label in self.missing else label

    def number(self, text: str, dates: Dates | None = None) -> float:
        """Read a cell as a number, or as a date where dates are stated; NaN where it is missing.

        Raises UnreadableCellError with the kind of offence, never the text.
        """
        if text.strip() in self.missing:
            return math.nan
        if dates is not None:
            return dates.number(text)
        pointed = text
        if self.decimal == ",":
            if "." in text and NUMBER.fullmatch(text.strip()):
                raise UnreadableCellError("a number with a decimal point")
            pointed = text.replace(",", ".")
        try:
            return text_number(pointed)
        except UnreadableCellError as kind:
            raise UnreadableCellError(self._kind(text, str(kind))) from None

    def _kind(self, text: str, kind: str) -> str:
        if kind != NO_NUMBER:
            return kind
        if undecodable(text):
            return "bytes that are not UTF-8"
        if DECIMAL_COMMA.fullmatch(text) or NUMBER.fullmatch(re.sub("[,' _]", "", text)):
            comma = "a decimal comma or " if self.decimal == "." else ""
            return f"a number with {comma}a thousands separator"
        return kind


def content(line: bytes) -> bytes:
    """A line without its end."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def decoded(line: bytes) -> str:
    """The text of a line without its end; bytes that are not UTF-8 become lone surrogates."""
    return content(line).decode("utf-8", "surrogateescape")


def undecodable(text: str) -> bool:
    """Whether there are bytes that were not UTF-8."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def split_cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line without its end. Raises UnreadableLineError if it has none."""
    if "\r" in line:
        raise UnreadableLineError("a CR inside the line")
    quotes = line.count('"')
    if not quotes:
        return line.split(delimiter)
    if quotes % 2:
        raise UnreadableLineError("an unclosed quote")
    pattern = _cell_pattern(delimiter)
    cells, place = [], 0
    while True:
        match = pattern.match(line, place)
        if match is None:
            raise UnreadableLineError("an unclosed quote")
        quoted, after, bare = match.groups()
        cells.append(bare if quoted is None else quoted.replace('""', '"') + after)
        place = match.end() + 1
        if place > len(line):
            return cells


@functools.cache
def _cell_pattern(delimiter: str) -> re.Pattern[str]:
    other = f"[^{delimiter}]*"
    return re.compile(f'"((?:[^"]|"")*+)"({other})|((?!"){other})', re.DOTALL)


NAME = "-"
# What is handed over says itself what it is: CSV says nothing.
BEGINNINGS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",
    b"\x1f\x8b": ".gz",
}


class Size(NamedTuple):
    """What readers ask of a file's size."""

    st_size: int


@dataclass(frozen=True, repr=False)
class StandardInput(Private):
    """What readers ask of a file's path. The content is private."""

    content: bytes
    suffix: str
    name: str = "standard input"

    @property
    def suffixes(self) -> list[str]:
        """The ending that the content calls for."""
        return [self.suffix]

    def open(self, mode: str = "rb") -> BytesIO:
        """The content, from its beginning."""
        return BytesIO(self.content)

    def stat(self) -> Size:
        """The size in bytes."""
        return Size(len(self.content))


def standard_input() -> StandardInput:
    """What is on standard input, however often it is asked for.

    Raises ParameterError if nothing was piped into it.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise ParameterError("FILE", "be '-' only where a table is piped in", "a terminal")
    return _read(sys.stdin)


@lru_cache(maxsize=1)
def _read(stream: TextIO) -> StandardInput:
    content = stream.buffer.read()
    ending = (ending for start, ending in BEGINNINGS.items() if content.startswith(start))
    return StandardInput(content, next(ending, ".csv"))


Bytes = NDArray[np.uint8]

LF, CR = 10, 13
BLOCK_BYTES = 1 << 20
# A pattern with more columns outside its longest run of numbers is larger than is worth compiling.
MOST_COUNTED = 400


@dataclass(frozen=True)
class Layout:
    """What a line of a file must hold; public.

    width: Number of cells.
    numbers, texts: Positions of the columns to read as numbers and as text.
    """

    width: int
    delimiter: str
    decimal: str
    numbers: tuple[int, ...]
    texts: tuple[int, ...]
    na: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """Words for a missing value that a plain line may hold."""
        text = re.compile(_text_class(self.delimiter) + "+")
        return sorted((MISSING - {""}) | {word for word in self.na if text.fullmatch(word)})


def plain_pattern(layout: Layout) -> str | None:
    """The regular expression of a plain line, but for its number of cells; None if it is too large.

    The longest run of columns of numbers is not counted: as many cells as the header has labels leave
    it no choice.
    """
    delimiter, decimal = map(re.escape, (layout.delimiter, layout.decimal))
    fraction = f"{decimal}[0-9]"
    # Blanks around a number that stands for a missing value are for the other reader to take off.
    blank = "" if layout.na else " *"
    digits = f"[0-9]{{1,15}}(?:{fraction}{{0,20}})?|{fraction}{{1,20}}"
    number = f"{blank}-?(?:{digits})(?:[eE][+-]?[0-9]{{1,2}})?{blank}"
    words = "|".join(map(re.escape, layout.missing))
    cells = {True: f"(?:{number}|{words})?", False: _text_class(layout.delimiter) + "*"}
    wanted = set(layout.numbers)
    runs = [
        (is_number, sum(1 for _ in run))
        for is_number, run in groupby(place in wanted for place in range(layout.width))
    ]
    longest = max(range(len(runs)), key=lambda i: runs[i][1] if runs[i][0] else 0)
    counted = sum(length for i, (_, length) in enumerate(runs) if i != longest)
    if counted > MOST_COUNTED:
        return None
    pieces = [
        f"(?:{cells[is_number]}{delimiter})" + ("*" if i == longest else f"{{{length}}}")
        for i, (is_number, length) in enumerate(runs)
    ]
    # Each cell is followed by a delimiter but the last, which is followed by the line's end.
    is_number, length = runs[-1]
    last = len(runs) - 1
    pieces[-1] = pieces[-1] if last == longest else f"(?:{cells[is_number]}{delimiter}){{{length - 1}}}"
    return f"^{''.join(pieces)}{cells[is_number]}\r?\n$"


def _text_class(delimiter: str) -> str:
    """The class of characters of a text cell: printable ASCII and tab, no quote, no delimiter."""
    characters = [c for c in ["\t", *map(chr, range(32, 127))] if c not in ('"', delimiter)]
    return f"[{''.join(re.escape(c) for c in characters)}]"


def line_starts(chunk: Bytes) -> Integers:
    """Where lines start, and the end of the chunk, whose last byte is LF."""
    return np.concatenate([[0], np.flatnonzero(chunk == LF) + 1])


def empty_lines(chunk: Bytes, starts: Integers) -> Flags:
    """Lines without a byte before their end."""
    lengths = np.diff(starts)
    return np.asarray((lengths == 1) | ((lengths == 2) & (chunk[starts[:-1]] == CR)))


def plain_lines(chunk: Bytes, starts: Integers, layout: Layout, pattern: str) -> Flags:
    """Which lines are plain."""
    import pyarrow as pa
    from pyarrow import compute

    lines = pa.Array.from_buffers(
        pa.large_binary(), starts.size - 1, [None, pa.py_buffer(starts), pa.py_buffer(chunk)]
    )
    matches = compute.match_substring_regex(lines, pattern=pattern)
    # By this road pyarrow does not load pandas, which takes longer than a small file.
    matched: Flags = np.from_dlpack(matches.cast(pa.uint8())).view(np.bool_)
    delimiters = np.searchsorted(np.flatnonzero(chunk == ord(layout.delimiter)), starts)
    return np.asarray(matched & (np.diff(delimiters) == layout.width - 1))


def read_plain(chunk: Bytes, layout: Layout, longest: int) -> tuple[Floats, list[ChunkedArray]] | None:
    """The numbers and the text columns of lines all of which are plain.

    None where pyarrow refuses, which costs time and changes nothing.
    """
    import pyarrow as pa
    from pyarrow import compute, csv

    names = [str(i) for i in range(layout.width)]
    types = {str(i): pa.float64() for i in layout.numbers}
    types |= {str(i): pa.string() for i in layout.texts}
    try:
        table = csv.read_csv(
            pa.BufferReader(pa.py_buffer(chunk)),
            csv.ReadOptions(column_names=names, block_size=max(BLOCK_BYTES, 2 * longest)),
            csv.ParseOptions(delimiter=layout.delimiter, quote_char=False, double_quote=False),
            csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=["", *layout.missing],
                strings_can_be_null=False,
                decimal_point=layout.decimal,
            ),
        )
    except (pa.ArrowException, OverflowError):
        return None
    (missing,) = pa.Array.from_buffers(pa.float64(), 1, [None, pa.py_buffer(np.full(1, np.nan))])
    numbers = np.empty((table.num_rows, len(layout.numbers)))
    columns = (table.column(str(position)) for position in layout.numbers)
    filled = (compute.fill_null(column, missing).combine_chunks() for column in columns)
    put_columns(numbers, [np.from_dlpack(column) for column in filled])
    return numbers, [table.column(str(i)) for i in layout.texts]


def kept_bytes(chunk: Bytes, starts: Integers, lines: Flags) -> Bytes:
    """The bytes of the lines that are kept."""
    return chunk if lines.all() else chunk[np.repeat(lines, np.diff(starts))]


def positions_in(chosen: Sequence[int]) -> tuple[int, ...]:
    """Positions without repetition, in order."""
    return tuple(sorted(set(chosen)))
