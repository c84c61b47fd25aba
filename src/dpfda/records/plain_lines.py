"""Plain lines: those that two parsers are certain to read alike, many at once.

Whether a line is plain is asked of the line alone, by one regular expression. A plain line holds
printable ASCII without double quotes, one cell for each label of the header, and in the columns of
numbers nothing but words for a missing value and short decimal numbers: at most 15 digits before the
decimal sign and 20 after it, at most two in the exponent, and no plus sign in front. Such a line has
the cells that lie between its delimiters, whoever splits it; such a number is finite, normal or zero,
and no integer of 2^53 or more, so that the nearest float64 is all there is to find. pyarrow, which
rounds correctly, then reads as `dpfda.records.lines` does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpfda.numerics.arrays import Flags, Floats, Integers, put_columns
from dpfda.records.cells import MISSING

if TYPE_CHECKING:
    from pyarrow import ChunkedArray

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
    found = compute.match_substring_regex(lines, pattern=pattern)
    # By this road pyarrow does not load pandas, which takes longer than a small file.
    matched: Flags = np.from_dlpack(found.cast(pa.uint8())).view(np.bool_)
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


def kept_bytes(chunk: Bytes, starts: Integers, kept: Flags) -> Bytes:
    """The bytes of the lines that are kept."""
    return chunk if kept.all() else chunk[np.repeat(kept, np.diff(starts))]


def positions_in(chosen: Sequence[int]) -> tuple[int, ...]:
    """Positions without repetition, in order."""
    return tuple(sorted(set(chosen)))
