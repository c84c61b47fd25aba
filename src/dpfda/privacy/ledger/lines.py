"""The text of a ledger's file: JSON lines, each chained to the one before, and a count renewed in place.

::

    {"format":"dpfda-ledger","schema_version":2,"ledger":"<id>","digest":".."}
    {"rows":"<count>","last":"<digest of that row>","digest":".."}            two of these, of fixed
    {"rows":"<count>","last":"<digest of that row>","digest":".."}            length, renewed in turn
    {"row":{..},"digest":".."}                                                one a row
    ..

The digest of a row covers the row and the digest before it, that of the first row the ledger's random
id. The digest of a count covers it and the id. So no byte can change unnoticed, but by someone who
makes new digests on purpose.

**Writing.** (1) The new row goes to the end of the file and to the disk; (2) the older of the two counts
is overwritten with the new one, and that goes to the disk; (3) `charge` returns. There is no second
file: whatever names the file has or gets, what is needed to read it after a crash is in it.

**Reading.** A row that is whole counts, whether or not a count covers it. After a crash in (1) both
counts are sound and the end may hold part of a row, from which nobody returned: it does not count and is
cut off by the next write. After a crash in (2) one count may be torn, and then the row that it was to
cover is whole. Anything else is damage and the file is refused: fewer whole rows than a count says, no
sound count, or one alone and no row beyond it. So what is read is never less than what was returned.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass

from dpfda.numerics.errors import LedgerError

SCHEMA_VERSION = 2
_START = b'{"format":"dpfda-ledger","schema_version":'
_HEADER = re.compile(_START + rb'2,"ledger":"([0-9a-f]{32})","digest":"([0-9a-f]{32})"}\n')
_COUNT = re.compile(rb'{"rows":"([0-9]{20})","last":"([0-9a-f]{32})","digest":"([0-9a-f]{32})"}\n')
_ROW = re.compile(rb'{"row":({.*}),"digest":"([0-9a-f]{32})"}')
_NOTHING = b"0" * 32


@dataclass(frozen=True)
class Count:
    """How many rows there are, and the digest of the last."""

    rows: int
    last: bytes


@dataclass(frozen=True)
class Lines:
    """A file, read and verified.

    start: Digest of the header, where the chain begins.
    counts: The two counts; None for one that a crash tore.
    rows: JSON texts of the rows.
    last: Digest of the last row.
    end: Where the next row goes. What follows is part of a row that nobody returned from.
    """

    start: bytes
    counts: tuple[Count | None, Count | None]
    rows: tuple[bytes, ...]
    last: bytes
    end: int

    @property
    def covered(self) -> bool:
        """Whether both counts are sound and the higher covers all rows."""
        return None not in self.counts and max(c.rows for c in self.counts if c) == len(self.rows)

    @property
    def older(self) -> int:
        """The count to overwrite next: a torn one, or the lower."""
        numbers = [-1 if count is None else count.rows for count in self.counts]
        return numbers.index(min(numbers))


def new_file(rows: tuple[bytes, ...] = ()) -> bytes:
    """The text of a new ledger, with a random id."""
    head = _START + b'%d,"ledger":"%s"' % (SCHEMA_VERSION, os.urandom(16).hex().encode())
    start = digest(b"", head)
    text, last = chained(rows, start)
    count = count_line(start, Count(len(rows), last if rows else _NOTHING))
    return head + b',"digest":"%s"}\n' % start + count + count + text


def chained(rows: tuple[bytes, ...], last: bytes) -> tuple[bytes, bytes]:
    """The lines of rows, and the digest of the last."""
    lines = []
    for row in rows:
        last = digest(last, row)
        lines.append(b'{"row":%s,"digest":"%s"}\n' % (row, last))
    return b"".join(lines), last


def count_line(start: bytes, count: Count) -> bytes:
    """The line of a count."""
    text = b'"rows":"%020d","last":"%s"' % (count.rows, count.last)
    return b'{%s,"digest":"%s"}\n' % (text, digest(start, text))


def digest(before: bytes, text: bytes) -> bytes:
    """Digest of a text and of the digest before it."""
    return hashlib.blake2b(before + text, digest_size=16).hexdigest().encode()


HEADER_SIZE = len(new_file().split(b"\n", 1)[0]) + 1
COUNT_SIZE = len(count_line(_NOTHING, Count(0, _NOTHING)))
_FIRST_ROW = HEADER_SIZE + 2 * COUNT_SIZE


def read(content: bytes, title: str) -> Lines:
    """Verify a file.

    title: What to call it in messages.
    Raises LedgerError if it is another kind of file, of a later schema, or damaged.
    """
    start = _start(content, title)
    first = _count(content, HEADER_SIZE, start)
    second = _count(content, HEADER_SIZE + COUNT_SIZE, start)
    rows, digests, end = [], [start], _FIRST_ROW
    while (stop := content.find(b"\n", end)) >= 0:
        match = _ROW.fullmatch(content, end, stop)
        if match is None or digest(digests[-1], match[1]) != match[2]:
            break
        rows.append(match[1])
        digests.append(match[2])
        end = stop + 1
    digests[0] = _NOTHING
    sound = [count for count in (first, second) if count is not None]
    if not sound:
        raise damaged(title, "no count of its rows is sound")
    for count in sound:
        if count.rows > len(rows) or digests[count.rows] != count.last:
            raise damaged(title, f"row {min(len(rows) + 1, count.rows)} is missing or was changed")
    if len(sound) == 1 and sound[0].rows == len(rows):
        raise damaged(title, "a count of its rows was changed")
    return Lines(start, (first, second), tuple(rows), digests[-1] if rows else start, end)


def damaged(title: str, what: str) -> LedgerError:
    """The refusal of a file whose bytes were changed."""
    return LedgerError(
        f"The ledger {title} is damaged: {what}. Nothing was charged. Restore a backup, and "
        "charge again what was released since it was made."
    )


def _start(content: bytes, title: str) -> bytes:
    match = _HEADER.match(content)
    if match is not None:
        start = digest(b"", match[0][: -len(b',"digest":"%s"}\n' % match[2])])
        if start == match[2]:
            return start
    elif not content:
        raise LedgerError(
            f"The ledger must be a file that dpfda made; {title} is empty. If it never was a ledger, "
            "remove it."
        )
    elif content.startswith(b"SQLite format 3") and content[68:72] == b"dpfd":
        raise LedgerError(
            f"The ledger must have schema version {SCHEMA_VERSION}; {title} is of version 1, an SQLite "
            "file, which is read no more. Nothing was charged. Create a new ledger whose budgets are "
            "what is left: the old one's table history says it in the last row of each data set."
        )
    elif not content.startswith(_START):
        raise LedgerError(f"The ledger must be a file that dpfda made; {title} is another kind of file.")
    elif (version := re.match(_START + rb"(\d{1,9}),", content)) and int(version[1]) != SCHEMA_VERSION:
        raise LedgerError(
            f"The ledger must have schema version {SCHEMA_VERSION}; {title} has {int(version[1])}. "
            "Update dpfda."
        )
    raise damaged(title, "its first line was changed")


def _count(content: bytes, place: int, start: bytes) -> Count | None:
    match = _COUNT.fullmatch(content, place, place + COUNT_SIZE)
    if match is None:
        return None
    count = Count(int(match[1]), match[2])
    return count if count_line(start, count) == match[0] else None


def row_text(row: dict[str, object]) -> bytes:
    """A row as one line of JSON."""
    return json.dumps(row, allow_nan=False).encode("ascii")
