"""Named columns out of CSV and Parquet files: of numbers, or of labels, by what each is for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpfda.numerics.arrays import Cells, Floats
from dpfda.numerics.errors import ParameterError
from dpfda.records.csv_tables import Stated
from dpfda.records.files import InFile, Uses, objects, opened
from dpfda.records.headers import matching


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableColumns(InFile):
    """Columns as a file holds them.

    numbers: array (n, d). Private. NaN where a value is missing.
    labels: mapping of str to array (n,) of objects. Private. Columns of labels by what they are for;
        also that of a target, which may be of numbers.
    matched: Which of the patterns that columns of numbers were named by each of them matched first.
    """

    numbers: Floats
    labels: Mapping[str, Cells]
    matched: tuple[int, ...] = ()

    @property
    def groups(self) -> Cells | None:
        """Private. Label of each row's privacy unit."""
        return self.labels.get("groups")


def read_columns(
    path: str | os.PathLike[str], numbers: Uses, labels: Uses = (), stated: Stated | None = None
) -> TableColumns:
    """Read columns from a file, in the order in which they are named.

    numbers, labels: sequence of (str, str). What a column is for, and its label.
    path, stated: As in `dpfda.records.files.opened`, whose errors it raises; a `ParameterError` also
        where a column has two uses.
    """
    source = opened(path, stated or Stated())
    named = [label for _, label in (*numbers, *labels)]
    if len({*named}) < len(named):
        remedy = "A column has one use: for two, write it twice, under two names, in the file."
        raise ParameterError("Columns", "be named once each", repr(named), remedy)
    first, last = source.places(numbers), source.places(labels)
    table = source.read(first, last)
    uses = [use for use, _ in labels]
    return TableColumns(
        numbers=table.numbers,
        labels=dict(zip(uses, map(objects, table.labels), strict=True)),
        lines=table.lines,
        header=source.labels,
        columns=tuple(source.labels[place] for place in first),
    )


def read_examples(
    path: str | os.PathLike[str],
    patterns: Sequence[str],
    target: str,
    *,
    labels: bool = False,
    groups: str | None = None,
    stated: Stated | None = None,
) -> TableColumns:
    """Read inputs, a target and privacy units from a file, one record a row.

    patterns: Labels, ranges ('px_1..px_9') or globs ('px_*') of the columns of inputs, which come in
        the order of the file.
    target: Label of the target's column.
    labels: Read the target as labels (text) and not as numbers.
    path, groups, stated: As in `read_columns`, whose errors it raises.
    """
    source = opened(path, stated or Stated())
    (place,) = source.places([("target", target)])
    units = source.places([] if groups is None else [("groups", groups)])
    if place in units:
        raise ParameterError("groups", "differ from the target", repr(groups))
    chosen = _matches(source.labels, patterns, {place, *units})
    inputs = sorted(chosen)
    table = source.read(inputs if labels else [*inputs, place], [place, *units] if labels else units)
    beside = {"target": objects(table.labels[0]) if labels else table.numbers[:, -1]}
    return TableColumns(
        numbers=table.numbers[:, : len(inputs)],
        labels=beside | ({"groups": objects(table.labels[-1])} if units else {}),
        matched=tuple(chosen[column] for column in inputs),
        lines=table.lines,
        header=source.labels,
        columns=tuple(source.labels[column] for column in inputs),
    )


def _matches(labels: Sequence[str], patterns: Sequence[str], taken: set[int]) -> dict[int, int]:
    """Positions of input columns, with the first pattern that each matches."""
    chosen: dict[int, int] = {}
    for number, pattern in enumerate(patterns):
        places = matching(labels, pattern, "input")
        if pattern not in labels:
            places = [place for place in places if place not in taken]
        if not places or taken & set(places):
            words = "match a column that is not target or privacy unit"
            raise ParameterError("input", words, repr(pattern))
        for place in places:
            chosen.setdefault(place, number)
    return chosen
