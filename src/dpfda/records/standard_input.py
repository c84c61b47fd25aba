"""A table on standard input (the file name "-"), held in memory and never written to a disk."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import NamedTuple, TextIO

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.private import Private

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
