"""Text tables: bytes, lines, cells, in files or on standard input; each line is read by itself.

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
"""

from __future__ import annotations

import functools
import math
import re
import sys
from dataclasses import dataclass
from functools import cached_property, lru_cache
from io import BytesIO
from typing import NamedTuple, TextIO

from dpfda.numerics.errors import ParameterError, Private
from dpfda.records.cells import MISSING, NO_NUMBER, NUMBER, Dates, UnreadableCellError, text_number

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
