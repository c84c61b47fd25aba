"""Columns out of CSV and Parquet files by their use, such as follow-ups: a time and how it ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpfda.errors import ParameterError
from dpfda.records.csv_tables import Progress
from dpfda.records.files import Stated, in_file, objects, opened
from dpfda.records.headers import find_column
from dpfda.records.lines import Notation

Floats = NDArray[np.float64]
# What columns are for, as options and arguments are called.
NUMBERS, LABELS = ("time", "start"), ("event", "by", "groups")


class TableFollowUps(NamedTuple):
    """Follow-ups, or other columns by their use, as a file holds them.

    Parameters
    ----------
    columns : mapping
        Private. Cells by what they are for: numbers of "time" and "start", labels of the others.
    lines : array (n,) of int, or None
        Private. The line of the file on which each row stands; None for a file without lines.
    header : tuple of str
        Public. Labels of all columns.
    """

    columns: dict[str, Any]
    lines: NDArray[np.int64] | None = None
    header: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "TableFollowUps(content private)"

    def in_file(self, message: str) -> str:
        """A message about rows of the data, counted from 0, as one about the file."""
        return in_file(message, self.lines)


def read_followups(
    path: str | os.PathLike[str],
    named: dict[str, str],
    *,
    decimal: str = ".",
    invalid: str = "refuse",
    progress: Progress | None = None,
    numbers: Sequence[str] = NUMBERS,
    labels: Sequence[str] = LABELS,
) -> TableFollowUps:
    """Read follow-ups from a file, one a row.

    Parameters
    ----------
    path : path
        As in `dpfda.records.files.read_curves`.
    named : mapping
        Labels of columns by what they are for: "time", and "start", "event", "by" and "groups" where
        there are such.
    decimal : {".", ","}
        The decimal sign.
    invalid : {"refuse", "repair"}
        Raise on a row that cannot be read, or keep it as one whose numbers are infinite.
    progress : callable, optional
        Called as ``progress(done, total)``.
    numbers, labels : sequence of str
        Which uses are of columns of numbers, and which of labels.

    Raises
    ------
    ParameterError
        If the path or a label is unusable, or a column has two uses.
    DataError
        If the file cannot be read, with line and column, never a value. Outside the guarantee.
    MissingExtraError
        Without pyarrow.
    """
    if len({*named.values()}) < len(named):
        raise ParameterError("Columns", "be named once each", repr([*named.values()]))
    source = opened(path, Stated(Notation(decimal), None, invalid, progress))
    places = {use: find_column(source.labels, label, use) for use, label in named.items()}
    first, last = _in_order(places, numbers), _in_order(places, labels)
    table = source.read([places[use] for use in first], [places[use] for use in last])
    found: dict[str, Any] = {use: table.numbers[:, i] for i, use in enumerate(first)}
    found |= {use: objects(table.labels[i]) for i, use in enumerate(last)}
    return TableFollowUps(found, table.lines, source.labels)


def _in_order(places: dict[str, int], uses: Sequence[str]) -> list[str]:
    """Uses in the order of the file, in which tables come."""
    return sorted((use for use in uses if use in places), key=lambda use: places[use])
