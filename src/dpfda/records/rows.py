"""Rows with named columns, as results of SQL come: of SQLAlchemy, or of any cursor of the DB-API.

Every cell is read by itself, whatever the others of its column are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeGuard

from dpfda.numerics.private import Private


@dataclass(frozen=True, eq=False, repr=False)
class NamedRows(Private):
    """Rows of cells under labels; it answers as a table of Arrow does.

    column_names: Public.
    rows: Private.
    """

    column_names: Sequence[str]
    rows: Sequence[Sequence[object]]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return len(self.column_names)

    def column(self, place: int) -> list[object]:
        """The cells of a column."""
        return [row[place] for row in self.rows]

    def select(self, names: Sequence[str]) -> NamedRows:
        """The columns with these labels."""
        places = [list(self.column_names).index(name) for name in names]
        return NamedRows(names, [[row[place] for place in places] for row in self.rows])

    def slice(self, start: int, count: int) -> NamedRows:
        """So many rows from this one on."""
        return NamedRows(self.column_names, self.rows[start : start + count])


class Cursor(Protocol):
    """A result of SQLAlchemy, or a cursor of the DB-API; which has `description` instead of `keys`."""

    description: Sequence[Sequence[str]]
    keys: Callable[[], Iterable[str]]
    fetchall: Callable[[], Sequence[Sequence[object]]]
    fetchmany: Callable[[int], Sequence[Sequence[object]]]


def is_cursor(values: object) -> TypeGuard[Cursor]:
    """Whether this is a result of SQLAlchemy, or a cursor of the DB-API on which a query has run."""
    asked = hasattr(values, "keys") or hasattr(values, "description")
    # A relation of DuckDB can be fetched from too, but speaks Arrow.
    return asked and hasattr(values, "fetchmany") and not hasattr(values, "__arrow_c_stream__")


def labels_of(cursor: Cursor) -> list[str]:
    """Labels of the columns that were asked for."""
    return list(cursor.keys()) if hasattr(cursor, "keys") else [part[0] for part in cursor.description]


def rows_of(cursor: Cursor) -> NamedRows:
    """All rows that are left."""
    return NamedRows(labels_of(cursor), cursor.fetchall())


def blocks_of_rows(cursor: Cursor, size: int) -> Iterator[NamedRows]:
    """The rows that are left, so many at a time."""
    labels = labels_of(cursor)
    while rows := cursor.fetchmany(size):
        yield NamedRows(labels, rows)
