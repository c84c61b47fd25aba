"""Named columns of numbers out of CSV and Parquet files, with the privacy unit of each row."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpfda.errors import ParameterError
from dpfda.records.csv_tables import Progress
from dpfda.records.curves import check_choice
from dpfda.records.files import _checked_path, _objects, _opened, _refuse_missing_labels
from dpfda.records.headers import check_labels, find_column

Floats = NDArray[np.float64]


class TableColumns(NamedTuple):
    """Columns as a file holds them.

    Parameters
    ----------
    numbers : array (n, d)
        Private. NaN where a value is missing.
    groups : array (n,) of objects, or None
        Private. Label of each row's privacy unit.
    """

    numbers: Floats
    groups: NDArray[Any] | None

    def __repr__(self) -> str:
        return "TableColumns(content private)"


def read_columns(
    path: str | os.PathLike[str],
    names: Sequence[str],
    *,
    groups: str | None = None,
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
    invalid : {"refuse", "repair"}
        Raise on a row that cannot be read, or keep it as one whose numbers are infinite.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Raises
    ------
    ParameterError
        If the path or a label is unusable, or a column has two uses.
    DataError
        If the file cannot be read, with row and column, never a value. Outside the guarantee.
    MissingExtraError
        Without pyarrow.
    """
    check_choice(invalid, "invalid", ("refuse", "repair"))
    source = _opened(_checked_path(path))
    check_labels(source.labels)
    places = [find_column(source.labels, name, "column") for name in names]
    units = [] if groups is None else [find_column(source.labels, groups, "groups")]
    if len({*places, *units}) < len(places) + len(units):
        raise ParameterError("column and groups", "name different columns", repr([*names, groups]))
    # Tables come in the order of the file.
    table = source.read(sorted(places), units, invalid, progress)
    if invalid == "refuse":
        _refuse_missing_labels(table.labels, units, source.labels)
    numbers = table.numbers[:, [sorted(places).index(place) for place in places]]
    return TableColumns(numbers, _objects(table.labels[0]) if units else None)
