"""Examples out of CSV and Parquet files: columns of inputs, a target, and the privacy unit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from dpfda.numerics.arrays import Cells, Floats
from dpfda.numerics.errors import ParameterError
from dpfda.records.csv_tables import Progress, Stated
from dpfda.records.files import InFile, objects, opened
from dpfda.records.headers import find_column
from dpfda.records.lines import Notation


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableExamples(InFile):
    """Examples as a file holds them.

    Parameters
    ----------
    inputs : array (n, d)
        Private. NaN where a value is missing. Columns are in the order of the file.
    target : array (n,)
        Private. Numbers, or labels as text.
    groups : array (n,) of objects, or None
        Private. Label of each record's privacy unit.
    matched : tuple of int
        Which of the patterns each input matched first.
    """

    inputs: Floats
    target: Cells
    groups: Cells | None
    matched: tuple[int, ...]


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
    patterns : sequence of str
        Labels or globs ('px_*') of the columns of inputs; columns come in the order of the file.
    target : str
        Label of the target's column.
    labels : bool
        Read the target as labels (text) and not as numbers.
    path, groups, decimal, invalid, progress
        As in `dpfda.records.files.read_curves`, whose errors it raises; a `ParameterError` also where a
        column has two uses.
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
    return TableExamples(
        inputs=inputs, target=found, groups=unit_labels,
        matched=tuple(chosen[place] for place in places),
        lines=table.lines, header=source.labels,
        columns=tuple(source.labels[place] for place in places),
    )  # fmt: skip


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
