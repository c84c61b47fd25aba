"""Ledgers of schema version 1, which were SQLite files: read, and replaced by the first write.

SQLite finds the journal that a crash left by the *name* of the database, so that a file renamed after a
crash was read half-written, and a journal that waited under a name was rolled into whatever file came
to have it. Nothing is written to such a file any more, but that it was replaced.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.numerics.errors import LedgerError
from dpfda.privacy.ledger.disk import folder_to_disk, write_at
from dpfda.privacy.ledger.history import Record, audit, record_from_json
from dpfda.privacy.ledger.lines import damaged, new_file, row_text

if TYPE_CHECKING:
    import sqlite3

START = b"SQLite format 3\x00"
APPLICATION = 0x64706664
_COLUMNS = "number, time, dataset, action, kind, budget, spent, cost, neighbours, unit, asked, details"
_JSON = ("budget", "spent", "cost", "asked", "details")
_JOURNAL = bytes.fromhex("d9d505f920a163d7")


def read(path: Path) -> list[Record]:
    """All rows.

    Raises
    ------
    LedgerError
        If it is another database, damaged, or a journal of another name may belong to it.
    """
    with _opened(path) as connection:
        connection.execute("BEGIN")
        return _records(connection, path)


def replace(path: Path) -> None:
    """Put a file of the present schema, with the same rows, in the place of an old one.

    The old file is marked, so that a program of an earlier version that waits for it refuses it, and
    held until the new one has its name, so that of several programs one replaces it.

    Raises
    ------
    LedgerError
        As in `read`.
    """
    target = Path(os.path.realpath(path))
    before = target.stat()
    with _opened(target) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        records = _records(connection, path)
        audit(records)
        connection.execute("PRAGMA user_version = 2")
        connection.execute("COMMIT")
        connection.execute("BEGIN EXCLUSIVE")
        if not os.path.samestat(before, target.stat()):
            return
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        text = new_file(tuple(row_text(record.to_json()) for record in records))
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            write_at(descriptor, 0, text)
            os.chmod(temporary, before.st_mode & 0o777)
        finally:
            os.close(descriptor)
        os.replace(temporary, target)
        folder_to_disk(target.parent)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    import sqlite3

    target = Path(os.path.realpath(path))
    _check_journals(target)
    uri = f"{target.as_uri()}?mode=rw"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=60.0, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise damaged(repr(str(path)), str(error)) from error
        raise LedgerError(f"The ledger {str(path)!r} failed: {error}.") from error


def _records(connection: sqlite3.Connection, path: Path) -> list[Record]:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerError(
            f"The ledger must be a file that dpfda made; {str(path)!r} is another kind of file."
        )
    found = connection.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        raise damaged(repr(str(path)), found)
    names = _COLUMNS.split(", ")
    rows = connection.execute(f"SELECT {_COLUMNS} FROM history ORDER BY number")  # noqa: S608
    records: list[Record] = []
    for row in rows:
        written = dict(zip(names, row, strict=True))
        try:
            for name in _JSON:
                text = written[name]
                written[name] = None if text is None else json.loads(text)
        except (TypeError, ValueError):
            raise damaged(repr(str(path)), f"row {len(records) + 1} was changed") from None
        records.append(record_from_json(written))
    return records


def _check_journals(path: Path) -> None:
    """Refuse where a journal waits for a database that is gone: this file may be that database."""
    for journal in path.parent.glob("*-journal"):
        database = journal.with_name(journal.name.removesuffix("-journal"))
        if database.exists() or not journal.is_file():
            continue
        with journal.open("rb") as handle:
            if handle.read(len(_JOURNAL)) != _JOURNAL:
                continue
        raise LedgerError(
            f"The ledger {str(path)!r} may have been renamed after a crash: {str(journal)!r} waits for "
            f"{database.name!r}, which is gone. If this is that file, rename the journal to "
            f"{path.name + '-journal'!r}; else move the journal away."
        )
