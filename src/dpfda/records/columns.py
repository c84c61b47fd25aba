"""Named columns of numbers out of CSV and Parquet files, with the privacy unit of each row."""

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


class TableColumns(NamedTuple):
    """Columns as a file holds them.

    Parameters
    ----------
    numbers : array (n, d)
        Private. NaN where a value is missing.
    groups : array (n,) of objects, or None
        Private. Label of each row's privacy unit.
    lines : array (n,) of int, or None
        Private. The line of the file on which each row stands; None for a file without lines.
    header : tuple of str
        Public. Labels of all columns.
    columns : tuple of str
        Public. Labels of these columns.
    """

    numbers: Floats
    groups: NDArray[Any] | None
    lines: NDArray[np.int64] | None = None
    header: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "TableColumns(content private)"

    def in_file(self, message: str) -> str:
        """A message about rows and columns of the data, counted from 0, as one about the file."""
        return in_file(message, self.lines, self.columns)


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
    path : path
        As in `dpfda.records.files.read_curves`.
    names : sequence of str
        Labels of the columns.
    groups : str, optional
        Label of the column that names each row's privacy unit.
    decimal : {".", ","}
        The decimal sign.
    invalid : {"refuse", "repair"}
        Raise on a row that cannot be read, or keep it as one whose numbers are infinite.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Raises
    ------
    ParameterError
        If the path or a label is unusable, or a column has two uses.
    DataError
        If the file cannot be read, with line (or row of a Parquet file, from 1) and column, never a
        value. Outside the guarantee.
    MissingExtraError
        Without pyarrow.
    """
    source = opened(path, Stated(Notation(decimal), None, invalid, progress))
    places = [find_column(source.labels, name, "column") for name in names]
    units = [] if groups is None else [find_column(source.labels, groups, "groups")]
    if len({*places, *units}) < len(places) + len(units):
        raise ParameterError("column and groups", "name different columns", repr([*names, groups]))
    # Tables come in the order of the file.
    table = source.read(sorted(places), units)
    numbers = table.numbers[:, [sorted(places).index(place) for place in places]]
    labels = objects(table.labels[0]) if units else None
    return TableColumns(numbers, labels, table.lines, source.labels, tuple(names))
