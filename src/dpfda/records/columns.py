"""Named columns out of CSV and Parquet files: of numbers, or by what each is for."""

from __future__ import annotations

import os
from collections.abc import Sequence, Sized
from dataclasses import dataclass

from dpfda.numerics.arrays import Cells, Floats
from dpfda.numerics.errors import ParameterError
from dpfda.records.csv_tables import Progress, Stated
from dpfda.records.files import InFile, objects, opened
from dpfda.records.headers import find_column
from dpfda.records.lines import Notation

# What columns of follow-ups are for, as options and arguments are called.
NUMBERS, LABELS = ("time", "start"), ("event", "by", "groups")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableColumns(InFile):
    """Columns as a file holds them.

    Parameters
    ----------
    numbers : array (n, d)
        Private. NaN where a value is missing.
    groups : array (n,) of objects, or None
        Private. Label of each row's privacy unit.
    """

    numbers: Floats
    groups: Cells | None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableFollowUps(InFile):
    """Follow-ups, or other columns by their use, as a file holds them.

    Parameters
    ----------
    cells : mapping
        Private. Cells by what they are for: numbers of "time" and "start", labels of the others.
    """

    cells: dict[str, Sized]


def read_columns(
    path: str | os.PathLike[str],
    names: Sequence[str],
    *,
    groups: str | None = None,
    decimal: str = ".",
    invalid: str = "refuse",
    progress: Progress | None = None,
) -> TableColumns:
    """Read columns of numbers from a file, in the order in which they are named.

    Parameters
    ----------
    names : sequence of str
        Labels of the columns.
    path, groups, decimal, invalid, progress
        As in `dpfda.records.files.read_curves`, whose errors it raises; a `ParameterError` also where a
        column has two uses.
    """
    source = opened(path, Stated(Notation(decimal), None, invalid, progress))
    places = [find_column(source.labels, name, "column") for name in names]
    units = [] if groups is None else [find_column(source.labels, groups, "groups")]
    if len({*places, *units}) < len(places) + len(units):
        raise ParameterError("column and groups", "name different columns", repr([*names, groups]))
    table = source.read(places, units)
    labels = objects(table.labels[0]) if units else None
    return TableColumns(
        numbers=table.numbers, groups=labels,
        lines=table.lines, header=source.labels, columns=tuple(names),
    )  # fmt: skip


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
    """Read follow-ups from a file, one a row: columns by their use.

    Parameters
    ----------
    named : mapping
        Labels of columns by what they are for: "time", and "start", "event", "by" and "groups" where
        there are such.
    numbers, labels : sequence of str
        Which uses are of columns of numbers, and which of labels.
    path, decimal, invalid, progress
        As in `dpfda.records.files.read_curves`, whose errors it raises; a `ParameterError` also where a
        column has two uses.
    """
    if len({*named.values()}) < len(named):
        raise ParameterError("Columns", "be named once each", repr([*named.values()]))
    source = opened(path, Stated(Notation(decimal), None, invalid, progress))
    places = {use: find_column(source.labels, label, use) for use, label in named.items()}
    first, last = ([use for use in uses if use in places] for uses in (numbers, labels))
    table = source.read([places[use] for use in first], [places[use] for use in last])
    found: dict[str, Sized] = dict(zip(first, table.numbers.T, strict=True))
    found |= dict(zip(last, map(objects, table.labels), strict=True))
    return TableFollowUps(cells=found, lines=table.lines, header=source.labels)
