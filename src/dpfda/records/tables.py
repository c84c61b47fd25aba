"""Examples out of CSV and Parquet files: columns of inputs, a target, and the privacy unit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpfda.errors import ParameterError
from dpfda.records.csv_tables import Progress
from dpfda.records.files import Stated, in_file, objects, opened
from dpfda.records.headers import find_column
from dpfda.records.lines import Notation

Floats = NDArray[np.float64]


class TableExamples(NamedTuple):
    """Examples as a file holds them.

    Parameters
    ----------
    inputs : array (n, d)
        Private. NaN where a value is missing.
    target : array (n,)
        Private. Numbers, or labels as text.
    groups : array (n,) of objects, or None
        Private. Label of each record's privacy unit.
    columns : tuple of str
        Public labels of the inputs, in the order of the file.
    matched : tuple of int
        Which of the patterns each input matched first.
    lines : array (n,) of int, or None
        Private. The line of the file on which each row stands; None for a file without lines.
    header : tuple of str
        Public. Labels of all columns.
    """

    inputs: Floats
    target: NDArray[Any]
    groups: NDArray[Any] | None
    columns: tuple[str, ...]
    matched: tuple[int, ...]
    lines: NDArray[np.int64] | None = None
    header: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "TableExamples(content private)"

    def in_file(self, message: str) -> str:
        """A message about rows and columns of the data, counted from 0, as one about the file."""
        return in_file(message, self.lines, self.columns)


def read_examples(
    path: str | os.PathLike[str],
    patterns: Sequence[str],
    target: str,
    *,
    labels: bool = False,
    groups: str | None = None,
    decimal: str = ".",
    invalid: str = "refuse",
    progress: Progress | None = None,
) -> TableExamples:
    """Read inputs, a target and privacy units from a file, one record a row.

    Parameters
    ----------
    path : path
        As in `dpfda.records.files.read_curves`.
    patterns : sequence of str
        Labels or globs ('px_*') of the columns of inputs; columns come in the order of the file.
    target : str
        Label of the target's column.
    labels : bool
        Read the target as labels (text) and not as numbers.
    groups : str, optional
        Label of the column that names each record's privacy unit.
    decimal : {".", ","}
        The decimal sign.
    invalid : {"refuse", "repair"}
        Raise on a row that cannot be read, or keep it as one whose inputs are infinite.
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
    target_column = find_column(source.labels, target, "target")
    units = [] if groups is None else [find_column(source.labels, groups, "groups")]
    taken = {target_column, *units}
    if len(taken) < 1 + len(units):
        raise ParameterError("groups", "differ from the target", repr(groups))
    chosen = _matches(source.labels, patterns, taken)
    places = sorted(chosen)
    number_columns = places if labels else [*places, target_column]
    label_columns = [*([target_column] if labels else []), *units]
    table = source.read(number_columns, label_columns)
    found = objects(table.labels[0]) if labels else table.numbers[:, -1]
    unit_labels = objects(table.labels[-1]) if units else None
    inputs = table.numbers[:, : len(places)]
    names = tuple(source.labels[place] for place in places)
    matched = tuple(chosen[place] for place in places)
    return TableExamples(inputs, found, unit_labels, names, matched, table.lines, source.labels)


def _matches(labels: Sequence[str], patterns: Sequence[str], taken: set[int]) -> dict[int, int]:
    """Positions of input columns, with the first pattern that each matches."""
    chosen: dict[int, int] = {}
    for number, pattern in enumerate(patterns):
        exact = pattern in labels or not set(pattern) & set("*?[")
        found = (
            [find_column(labels, pattern, "input")]
            if exact
            else [i for i, label in enumerate(labels) if fnmatchcase(label, pattern) and i not in taken]
        )
        if not found or taken & set(found):
            raise ParameterError(
                "input", "match a column that is not target or privacy unit", repr(pattern)
            )
        for place in found:
            chosen.setdefault(place, number)
    return chosen
