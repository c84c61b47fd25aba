"""Labelled containers: which columns hold the records, which the unit, and what labels say of the grid.

Labels of columns, names of dimensions and coordinates are public, cells are not. A frame is refused as
the command refuses a file with such a header; the coordinates of a labelled array are the grid, or the
array is refused: nothing that is labelled is read as if it were not.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.errors import OrientationError, ParameterError
from dpfda.records.arrow import arrow_table
from dpfda.records.containers import column_labels, is_frame
from dpfda.records.dates import moments
from dpfda.records.handed import Handed
from dpfda.records.headers import ARGUMENTS, check_labels, curve_columns, find_column, grid_points
from dpfda.records.labelled_arrays import (
    coordinate_beside,
    coordinates,
    is_labelled,
    labelled_words,
)
from dpfda.records.scikit_fda import functional_handed, functional_words, is_functional

Floats = NDArray[np.float64]

# Words that name a person rather than measure one.
IDENTIFIER = re.compile(
    r"(?:.*[_ .-])?(?:ids?|uid|uuid|pid|ssn|mrn|email|identifier|name|person|patient|subject|participant"
    r"|individual)(?:[_ .-](?:id|no|nr|num|number|code|key|name))?|(?-i:[A-Za-z]+I[dD])",
    re.IGNORECASE,
)


def curves_handed(X: Any, groups: Any = None, stated: Any = None) -> Handed:
    """Curves, their privacy units, and the grid that they are labelled with.

    Parameters
    ----------
    X : container
        Private.
    groups : column, or str for the label of a column of a frame
    stated : array (m,), tuple of d arrays, or None
        The grid, where it is stated elsewhere. It then goes before labels, and all columns but the
        unit's are taken to be the curve.

    Raises
    ------
    OrientationError
        If it cannot be told from the labels which columns are the curve, or which way it lies.
    ParameterError
        If there is no column called `groups`.
    """
    X = arrow_table(X)
    if is_functional(X):
        return functional_handed(X, groups, stated)
    if is_labelled(X):
        return Handed(X, groups, _grid_along(X, stated is not None))
    labels = column_labels(X)
    if not labels:
        return Handed(X, groups)
    words = [_word(label) for label in labels]
    values, own = _split(X, words, groups)
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
        grid = grid_points(words, chosen) if dated is None else _of_dates(dated[0])
    except OrientationError as refused:
        found = str(refused)
    else:
        return Handed(values, own, grid)
    raise OrientationError(
        f"{found} For a data frame: pass X[[...]] with the columns of the curve alone, or "
        "grid_points with one point for each of them."
    )


def cells_handed(X: Any, groups: Any = None) -> Handed:
    """Points or inputs, one a row, and their privacy units; columns may have any labels.

    Raises
    ------
    ParameterError
        If there is no column called `groups`.
    """
    X = arrow_table(X)
    labels = column_labels(X)
    if labels is None:
        return Handed(X, groups)
    words = [_word(label) for label in labels]
    _point_out([word for word in words if not isinstance(groups, str) or word != groups])
    return Handed(*_split(X, words, groups))


def words_of(X: Any, groups: Any = None) -> dict[str, str]:
    """What a container calls its variables and values, by the keys of a domain's labels. Public."""
    if is_functional(X):
        found = functional_words(X)
    elif is_labelled(X) and hasattr(X, "coords"):
        found = labelled_words(X)
        _, along = coordinates(X)
        dated = moments([str(label) for label in along[1]]) if _dated(along[1:2]) else None
        found |= {} if dated is None else {"domain": dated[1]}
    else:
        words = [_word(label) for label in column_labels(X) or ()]
        dated = moments([word for word in words if not isinstance(groups, str) or word != groups])
        found = {} if dated is None else {"domain": dated[1]}
    return {key: str(name) for key, name in found.items() if name is not None}


def _dated(along: Sequence[Any]) -> bool:
    return any(found is not None and found.dtype.kind in "MOUT" for found in along)


def names_of(X: Any, groups: Any = None) -> NDArray[Any] | None:
    """Labels of the columns of a frame but the unit's, where all are text; else None."""
    labels = column_labels(X)
    if not labels or not all(isinstance(label, str) for label in labels):
        return None
    unit = groups if isinstance(groups, str) else None
    return np.array([label for label in labels if label != unit], dtype=object)


def _of_dates(grid: Floats) -> Floats:
    if (np.diff(grid) > 0).all():
        return grid
    raise OrientationError(
        "Labels that are dates are the grid and must strictly increase; found some that do not. Reorder "
        "the columns."
    )


def _word(label: Any) -> str:
    """A label of a column as the header of a file would hold it."""
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def _split(X: Any, words: Sequence[str], groups: Any) -> tuple[Any, Any]:
    """The columns but the unit's, and the unit's."""
    if not isinstance(groups, str):
        return X, groups
    place = find_column(words, groups, "groups")
    others = [i for i in range(len(words)) if i != place]
    if is_frame(X):
        return X.iloc[:, others], X.iloc[:, place]
    return X.select([X.column_names[i] for i in others]), X.column(place)


def _point_out(words: Sequence[str]) -> None:
    """Warn of columns that look like the name of a person, in one line."""
    found = [word for word in words if IDENTIFIER.fullmatch(word)]
    if found:
        warnings.warn(
            f"The column {found[0]!r} looks like an identifier and is read as a number of each record: "
            f"if it names the person, pass groups={found[0]!r}; else leave it out of X.",
            UserWarning,
            stacklevel=2,
        )


def _grid_along(X: Any, stated: bool) -> Floats | None:
    """The grid that a labelled array's second dimension has as coordinate, None where it has none.

    Raises
    ------
    OrientationError
        If the first dimension looks like the grid, or it cannot be told which of the two is.
    """
    names, along = coordinates(X)
    if len(names) != 2:
        return None
    rows, columns = map(_increasing, along)
    first, second = names
    turned = first.lower() in ARGUMENTS and second.lower() not in ARGUMENTS
    if turned or (rows is not None and columns is None and not stated):
        raise OrientationError(
            f"X must have the curves along its first dimension and the grid along its second; found "
            f"{first!r} first, which looks like the grid. Pass X.transpose({second!r}, {first!r}); if "
            f"{first!r} does number the curves, X.drop_vars({first!r})."
        )
    if stated:
        return None
    if along[1] is not None and columns is None:
        if along[1].dtype.kind in "OUST":
            return None
        raise OrientationError(
            f"The coordinate of {second!r} must be numbers that increase, since it is the grid; found "
            f"others. Sort X.sortby({second!r}), or pass X.drop_vars({second!r})."
        )
    beside = coordinate_beside(X, 1) if along[1] is None else None
    if beside is not None:
        raise OrientationError(
            f"The grid must be the coordinate of its dimension; found {beside!r} along {second!r}. Pass "
            f"X.swap_dims({{{second!r}: {beside!r}}}), or X.drop_vars({beside!r})."
        )
    if rows is not None and columns is not None and second.lower() not in ARGUMENTS:
        raise OrientationError(
            f"It must be clear which dimension of X is the grid; found numbers along both {first!r} and "
            f"{second!r}. Pass X.drop_vars({first!r}), so that {second!r} is the grid; or "
            f"X.transpose({second!r}, {first!r}).drop_vars({second!r}), so that {first!r} is."
        )
    return columns


def _increasing(along: Any) -> Floats | None:
    """A coordinate as points of a grid, where it is real numbers, or dates, that increase."""
    if along is None or along.ndim != 1 or along.size < 2:
        return None
    if along.dtype.kind in "MOUT":
        dated = moments([str(label) for label in along])
        along = np.zeros(0) if dated is None else dated[0]
    if along.dtype.kind not in "biuf" or along.size < 2:
        return None
    points = along.astype(np.float64)
    return points if np.isfinite(points).all() and (np.diff(points) > 0).all() else None


def check_axes(X: Any, axes: Sequence[Any]) -> None:
    """Refuse a labelled array whose coordinates are not the public axes of a box.

    Raises
    ------
    ParameterError
        If a dimension after the first has other numbers than the axis.
    """
    if not is_labelled(X):
        return
    names, along = coordinates(X)
    if len(names) != 1 + len(axes):
        return
    for name, found, axis in zip(names[1:], along[1:], axes, strict=True):
        points = _increasing(found)
        if points is not None and not (points.size == axis.size and np.allclose(points, axis)):
            raise ParameterError(
                "X",
                "have the basis's points as coordinates",
                f"others along {name!r}",
                f"Pass X.drop_vars({name!r}) if it means the same, or a basis on these points.",
            )


__all__ = ["Handed", "cells_handed", "check_axes", "curves_handed", "names_of", "words_of"]
