"""A ledger in one SQLite file, shared by processes and threads, committed before anyone is told.

- Every operation opens its own connection and closes it, so none is carried through a fork; a fork in
  another thread waits until the operation is over.
- A write begins with BEGIN IMMEDIATE: the balance is read under the lock under which it is changed.
- synchronous=EXTRA is FULL and, in addition, makes the removal of the rollback journal durable. With
  FULL alone a power failure just after a commit may bring the journal back and undo the commit.
- Rows are appended; triggers refuse to change, remove or replace one.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from dpfda.errors import LedgerError
from dpfda.guarantees import KINDS, Guarantee, Neighbours
from dpfda.ledger.accounts import Amount, Budget
from dpfda.ledger.base import Journal, Ledger, audit
from dpfda.ledger.history import Record

# "dpfd" in ASCII: what tells a ledger from another SQLite file.
APPLICATION = 0x64706664
SCHEMA_VERSION = 1
# How long a write waits for others, in seconds.
PATIENCE = 60.0

SCHEMA = (
    """
    CREATE TABLE history (
        number INTEGER PRIMARY KEY,
        time TEXT NOT NULL,
        dataset TEXT NOT NULL,
        action TEXT NOT NULL CHECK (action IN ('create', 'charge', 'raise', 'note')),
        kind TEXT NOT NULL CHECK (kind IN ('pure', 'approximate', 'zero-concentrated')),
        budget TEXT NOT NULL,
        spent TEXT NOT NULL,
        cost TEXT,
        neighbours TEXT NOT NULL,
        unit TEXT NOT NULL,
        asked TEXT,
        details TEXT NOT NULL
    )
    """,
    "CREATE INDEX history_of_dataset ON history (dataset, number)",
    """
    CREATE TRIGGER history_is_not_changed BEFORE UPDATE ON history
    BEGIN SELECT RAISE(ABORT, 'the history is append-only'); END
    """,
    """
    CREATE TRIGGER history_is_not_removed BEFORE DELETE ON history
    BEGIN SELECT RAISE(ABORT, 'the history is append-only'); END
    """,
    # INSERT OR REPLACE would remove a row without the trigger above.
    """
    CREATE TRIGGER history_is_not_replaced BEFORE INSERT ON history
    WHEN EXISTS (SELECT 1 FROM history WHERE number = NEW.number)
    BEGIN SELECT RAISE(ABORT, 'the history is append-only'); END
    """,
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
_COLUMNS = "number, time, dataset, action, kind, budget, spent, cost, neighbours, unit, asked, details"
_SELECT = f"SELECT {_COLUMNS} FROM history"  # noqa: S608 - constants alone
_INSERT = f"INSERT INTO history ({_COLUMNS}) VALUES ({', '.join('?' * 12)})"  # noqa: S608


class _ForkGuard:
    """A lock held by every operation; a fork takes it, so that no child inherits a connection."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._acquire, after_in_parent=self._release, after_in_child=self._renew
            )

    def _acquire(self) -> None:
        self.lock.acquire()

    def _release(self) -> None:
        self.lock.release()

    def _renew(self) -> None:
        self.lock = threading.RLock()


_GUARD = _ForkGuard()


class FileLedger(Ledger):
    """Budgets in one SQLite file.

    Parameters
    ----------
    path : path
        The file. `create` makes it; everything else needs it to be there. It must be on a local disk:
        network file systems do not lock reliably.

    Notes
    -----
    A pickled ledger is its path: wherever it is loaded, it is the same file. A copy of the file made by
    other means, or an old backup put back, is a second budget; no program can prevent that.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(os.path.abspath(os.path.expanduser(path)))

    def __reduce__(self) -> tuple[Any, ...]:
        return (FileLedger, (str(self.path),))

    def check(self) -> None:
        with self._connection("BEGIN", new=False) as connection:
            found = connection.execute("PRAGMA integrity_check").fetchone()[0]
            if found != "ok":
                raise LedgerError(f"The file {str(self.path)!r} is damaged: {found}. Restore a backup.")
            audit(_FileJournal(connection).records(None))

    def _title(self) -> str:
        return f"FileLedger({str(self.path)!r})"

    @contextmanager
    def _reading(self) -> Iterator[Journal]:
        with self._connection("BEGIN", new=False) as connection:
            yield _FileJournal(connection)

    @contextmanager
    def _writing(self, new: bool = False) -> Iterator[Journal]:
        with self._connection("BEGIN IMMEDIATE", new) as connection:
            yield _FileJournal(connection)

    @contextmanager
    def _connection(self, begin: str, new: bool) -> Iterator[sqlite3.Connection]:
        """One connection for one transaction; committed on leaving, or nothing of it."""
        self._check_path(new)
        mode = "rwc" if new else "rw"
        uri = f"{self.path.as_uri()}?mode={mode}"
        with _GUARD.lock, self._explained():
            connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
            # Closing rolls back what was not committed.
            with closing(connection):
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("PRAGMA fullfsync = ON")
                connection.execute(begin)
                self._check_schema(connection, new)
                yield connection
                connection.execute("COMMIT")

    def _check_path(self, new: bool) -> None:
        if not new and not self.path.exists():
            raise LedgerError(
                f"The ledger must be an existing file; found none at {str(self.path)!r}. Make it with "
                "create(dataset, guarantee, neighbours, unit)."
            )
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise LedgerError(
                f"The ledger must be a file in an existing folder; found {str(self.path)!r}. Create the "
                "folder or choose another path."
            )

    def _check_schema(self, connection: sqlite3.Connection, new: bool) -> None:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if new and application == version == tables == 0:
            for statement in SCHEMA:
                connection.execute(statement)
        elif application != APPLICATION:
            raise LedgerError(
                f"The ledger must be a file that dpfda made; {str(self.path)!r} is another kind of file."
            )
        elif version != SCHEMA_VERSION:
            raise LedgerError(
                f"The ledger must have schema version {SCHEMA_VERSION}; {str(self.path)!r} has "
                f"{version}. Update dpfda."
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            reason = next((words for start, words in _REASONS.items() if name.startswith(start)), None)
            raise LedgerError(
                f"The ledger {str(self.path)!r} {reason or f'failed: {error}.'}"
            ) from error


_REASONS = {
    "SQLITE_NOTADB": "must be a file that dpfda made; it is another kind of file.",
    "SQLITE_CORRUPT": "is damaged; nothing was charged. Restore a backup.",
    "SQLITE_READONLY": "must be a file that can be written to; it is read-only. Change its permissions.",
    "SQLITE_CANTOPEN": "cannot be opened. Check the permissions of the file and of its folder.",
    "SQLITE_BUSY": "is in use by another process for too long; nothing was charged. Try again.",
    "SQLITE_FULL": "cannot grow, the disk is full; nothing was charged. Make room.",
    "SQLITE_IOERR": (
        "could not be read or written; a charge may or may not have been kept, so no noise may be "
        "drawn. Check the disk, then history()."
    ),
}


class _FileJournal:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def latest(self, dataset: str) -> Record | None:
        query = _SELECT + " WHERE dataset = ? ORDER BY number DESC LIMIT 1"
        row = self._connection.execute(query, (dataset,)).fetchone()
        return None if row is None else _read(row)

    def records(self, dataset: str | None) -> list[Record]:
        if dataset is None:
            rows = self._connection.execute(_SELECT + " ORDER BY number")
        else:
            rows = self._connection.execute(_SELECT + " WHERE dataset = ? ORDER BY number", (dataset,))
        return [_read(row) for row in rows]

    def append(self, make: Callable[[int], Record]) -> Record:
        query = "SELECT coalesce(max(number), 0) + 1 FROM history"
        record = make(self._connection.execute(query).fetchone()[0])
        row = record.to_json()
        texts = {name: row[name] if name in _PLAIN else _json(row[name]) for name in row}
        self._connection.execute(_INSERT, [texts[name.strip()] for name in _COLUMNS.split(",")])
        return record


_PLAIN = ("number", "time", "dataset", "action", "kind", "neighbours", "unit")


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, allow_nan=False)


def _read(row: tuple[Any, ...]) -> Record:
    """A row as a record.

    Raises
    ------
    LedgerError
        If it is not one that this library wrote.
    """
    number, time, dataset, action, kind, budget, spent, cost, neighbours, unit, asked, details = row
    try:
        amount = Amount.read(kind, json.loads(budget))
        guarantee: Guarantee = KINDS[kind](*amount.values)
        return Record(
            number=int(number),
            time=time,
            dataset=dataset,
            action=action,
            budget=Budget(guarantee, Neighbours.parse(neighbours), unit),
            spent=Amount.read(kind, json.loads(spent)),
            cost=None if cost is None else Amount.read(kind, json.loads(cost)),
            asked=None if asked is None else json.loads(asked),
            details=json.loads(details),
        )
    except (TypeError, ValueError, KeyError, ZeroDivisionError) as error:
        raise LedgerError(
            f"Row {number} of the ledger is damaged ({type(error).__name__}). Restore a backup."
        ) from error
