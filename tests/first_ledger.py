"""Ledgers as version 1 of the schema kept them: an SQLite file."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

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
    "PRAGMA application_id = 1685087844",
    "PRAGMA user_version = 1",
)


COLUMNS = "number, time, dataset, action, kind, budget, spent, cost, neighbours, unit, asked, details"
PLAIN = ("number", "time", "dataset", "action", "kind", "neighbours", "unit")


def make(path: Path) -> None:
    """An empty ledger."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        connection.commit()


def insert(connection: sqlite3.Connection, rows: Iterable[dict[str, Any]]) -> None:
    """Rows, as `Record.to_json` gives them."""
    for row in rows:
        texts = [
            row[name] if name in PLAIN or row[name] is None else json.dumps(row[name])
            for name in COLUMNS.split(", ")
        ]
        connection.execute(
            f"INSERT INTO history ({COLUMNS}) VALUES ({', '.join('?' * 12)})",  # noqa: S608
            texts,
        )


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """A ledger with rows."""
    make(path)
    with closing(sqlite3.connect(path)) as connection:
        insert(connection, rows)
        connection.commit()
