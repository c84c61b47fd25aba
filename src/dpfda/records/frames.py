"""Labelled containers: which columns hold the records, which the unit, and what labels say of the grid.

Labels of columns, names of dimensions and coordinates are public, cells are not. A frame is refused as
the command refuses a file with such a header; the coordinates of a labelled array are the grid, or the
array is refused: nothing that is labelled is read as if it were not.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpfda.numerics.arrays import Cells, doubles
from dpfda.numerics.errors import DataError, OrientationError
from dpfda.records.arrow import arrow_table
from dpfda.records.cells import OUTSIDE, moments
from dpfda.records.containers import (
    column_labels,
    is_frame,
    matrix_of,
    refuse_kinds,
    taken_out,
)
from dpfda.records.doors import Handed, door_of
from dpfda.records.headers import (
    INSPECTED,
    check_labels,
    curve_columns,
    find_column,
    grid_points,
    identifiers,
    increasing_dates,
    refuse_other_labels,
    refuse_record_as_grid,
)

# How to say that a frame's labels are the grid, where they look like a record.
LABELS = (
    "Read the file as one without a header line; or say that it has one, by grid_points with the points."
)


def curves_handed(
    X: object, groups: object = None, stated: object = None, invalid: str = "refuse"
) -> Handed:
    """Curves, their privacy units, and the grid that they are labelled with.

    X: Private.
    stated: array (m,), tuple of d arrays, or None. The grid, where it is stated elsewhere. It then goes
        before labels, and all columns but the unit's are taken to be the curve.
    invalid: {"refuse", "repair"}. Whether labels of text that look like one of the increasing curves
        below them are refused. Under "repair" nothing depends on values.
    Raises DataError if the type of a column but the unit's, which may be of any, holds no numbers.
    Raises OrientationError if it cannot be told from the labels which columns are the curve, or which
    way it lies; or if they look like a record. Raises ParameterError if there is no column called
    `groups`.
    """
    X, door = arrow_table(X), door_of(X)
    labels = None if door is not None else column_labels(X)
    words = [_word(label) for label in labels or ()]
    values, own = _split(X, words, groups) if labels else (X, groups)
    refuse_kinds(values)
    if door is not None:
        return door.curves(X, groups, stated)
    if not labels:
        return Handed(X, groups)
    unit = groups if isinstance(groups, str) else None
    chosen = [place for place, word in enumerate(words) if word != unit]
    if stated is not None:
        _point_out([words[place] for place in chosen])
        return Handed(values, own)
    try:
        check_labels(words)
        dated = moments([words[place] for place in chosen])
        if dated is None:
            chosen = curve_columns(words, None, unit)
        grid = grid_points(words, chosen) if dated is None else increasing_dates(dated[0])
        if grid is None:
            refuse_other_labels([labels[place] for place in chosen])
    except OrientationError as refused:
        found = refused.message
    else:
        written = grid is not None and all(isinstance(label, str) for label in labels)
        if written and dated is None and invalid == "refuse":
            values = matrix_of(values)
            refuse_record_as_grid(grid, doubles(values[:INSPECTED]), LABELS)
        return Handed(values, own, grid)
    raise OrientationError(
        f"{found} Name the privacy unit's column as groups, and pass X[[...]] with the columns of the "
        "curve, and that one, alone; or state grid_points, with one point for each column of the curve."
    )


def cells_handed(X: object, groups: object = None) -> Handed:
    """Points or inputs, one a row, and their privacy units; columns may have any labels.

    Raises ParameterError if there is no column called `groups`.
    """
    X, door = arrow_table(X), door_of(X)
    if door is not None:
        return door.points(X, groups)
    labels = column_labels(X)
    if labels is None:
        return Handed(X, groups)
    words = [_word(label) for label in labels]
    _point_out([word for word in words if not isinstance(groups, str) or word != groups])
    return Handed(*_split(X, words, groups))


def units_apart(X: object, groups: object) -> tuple[Any, Any]:
    """The columns of a frame but the unit's, and the unit's, where `groups` is its label.

    Raises ParameterError if there is no column called `groups`.
    """
    return _split(X, [_word(label) for label in column_labels(X) or ()], groups)


def words_of(X: object, groups: object = None) -> dict[str, str]:
    """What a container calls its variables and values, by the keys of a domain's labels. Public."""
    door = door_of(X)
    if door is not None:
        found = dict(door.words(X))
    else:
        labels = column_labels(X)
        if not labels:
            return {}
        words = [_word(label) for label in labels]
        dated = moments([word for word in words if not isinstance(groups, str) or word != groups])
        found = {} if dated is None else {"domain": dated[1]}
    return {key: str(name) for key, name in found.items() if name is not None}


def names_of(X: object, groups: object = None) -> Cells | None:
    """Labels of the columns of a frame but the unit's, where all are text; else None."""
    labels = column_labels(X)
    if not labels or not all(isinstance(label, str) for label in labels):
        return None
    unit = groups if isinstance(groups, str) else None
    return np.array([label for label in labels if label != unit], dtype=object)


def _word(label: object) -> str:
    """A label of a column as the header of a file would hold it."""
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def _split(X: object, words: Sequence[str], groups: object) -> tuple[object, object]:
    """The columns but the unit's, and the unit's."""
    if not isinstance(groups, str):
        _check_order(X, groups)
        return X, groups
    rest, (own,) = taken_out(X, [find_column(words, groups, "groups")])
    return rest, own


def _check_order(X: object, groups: object) -> None:
    """Refuse a series that has the index of the frame in another order: labels go by their places.

    By its index it would say that records are of others than by its places.
    """
    if not (is_frame(X) and hasattr(groups, "iloc") and hasattr(groups, "index")):
        return
    try:
        if groups.index.equals(X.index):
            return
        other = groups.index.sort_values().equals(X.index.sort_values())
    except Exception:
        # Labels of rows that have no order; what they raise may tell them.
        return
    if other:
        raise DataError(
            "groups must have the rows of X in their order; found the index of X in another order. "
            "Labels go by their places: pass groups.loc[X.index] if they go by the index, "
            f"groups.to_numpy() if not. {OUTSIDE}",
            "groups",
        )


def _point_out(words: Sequence[str]) -> None:
    """Warn of columns that look like the name of a person, in one line."""
    if found := identifiers(words):
        warnings.warn(
            f"The column {found[0]!r} looks like an identifier and is read as a number of each record: "
            f"if it names the person, pass groups={found[0]!r}; else leave it out of X.",
            UserWarning,
            stacklevel=2,
        )


__all__ = ["Handed", "cells_handed", "curves_handed", "names_of", "units_apart", "words_of"]
