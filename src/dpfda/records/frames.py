"""The container that records are handed over in: what it is, its labels, its units, and their grid.

Labels of columns, names of dimensions and coordinates are public, cells are not. A frame is refused as
the command refuses a file with such a header; the coordinates of a labelled array are the grid, or the
array is refused: nothing that is labelled is read as if it were not.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from dpfda.numerics.arrays import Cells, Floats, doubles
from dpfda.numerics.errors import DataError, Kept, OrientationError, ParameterError
from dpfda.records.arrow import arrow_table, is_arrow_table, is_tabular, names_in
from dpfda.records.cells import OUTSIDE, moments
from dpfda.records.containers import is_frame, matrix_of, opened, refuse_kinds
from dpfda.records.doors import PLAIN, Door, Handed, door_of
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
from dpfda.records.long import LongCurves

if TYPE_CHECKING:
    from dask.array import Array as DaskArray
    from dask.dataframe import DataFrame as DaskFrame

# How to say that a frame's labels are the grid, where they look like a record.
LABELS = (
    "Read the file as one without a header line; or say that it has one, by grid_points with the points."
)


def is_dask(data: object) -> TypeGuard[DaskArray | DaskFrame]:
    """Whether data are a Dask array or data frame, without importing Dask."""
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(
        data, "to_delayed"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Container(Kept):
    """Records as they are handed over, asked once what they are; a stream is read once, when it must be.

    given: Private, but for its type, labels and coordinates.
    groups: Label of each record's unit, private; or of the column that holds these, public.
    """

    given: Any
    groups: Any = None

    @classmethod
    def of(cls, X: object, groups: object = None) -> Container:
        """Records and their units, which a container of records has already."""
        return X if isinstance(X, Container) and groups is None else cls(X, groups)

    @cached_property
    def door(self) -> Door[Any] | None:
        """What opens it; None for arrays, sequences and tables."""
        return door_of(self.given)

    @cached_property
    def irregular(self) -> bool:
        """Whether each record has times of its own, by its type."""
        long = isinstance(self.given, LongCurves)
        return long or (self.door is not None and self.door.is_irregular(self.given))

    @cached_property
    def on_cluster(self) -> bool:
        """Whether Dask holds it."""
        return is_dask(self.given)

    @cached_property
    def table(self) -> Any:
        """What is read: what was handed over, or the table that a query or a stream gives."""
        return self.given if type(self.given) in PLAIN else arrow_table(self.given)

    @cached_property
    def labels(self) -> Sequence[object] | None:
        """Labels of columns; None where there are none. Public."""
        if self.door is not None or type(self.given) in PLAIN:
            return None
        # What does not say them is read.
        names = names_in(self.given) if is_tabular(self.given) else None
        if names is None and is_arrow_table(self.table):
            names = list(self.table.column_names)
        return list(self.table.columns) if names is None and hasattr(self.table, "columns") else names

    @cached_property
    def words(self) -> Sequence[str]:
        """Labels of columns as the header of a file would hold them."""
        return [_word(label) for label in self.labels or ()]

    @property
    def unit(self) -> str | None:
        """Label of the column of units, where there is one."""
        return self.groups if isinstance(self.groups, str) else None

    @cached_property
    def own(self) -> list[str]:
        """Labels of the columns of records."""
        return [word for word in self.words if word != self.unit]

    @cached_property
    def dated(self) -> tuple[Floats, str] | None:
        """The points of labels that are dates, and what they count."""
        return moments(self.own) if self.labels else None

    @property
    def names(self) -> Cells | None:
        """Labels of the columns of records, where all columns have text for one; else None."""
        labels = self.labels
        texts = labels and all(isinstance(label, str) for label in labels)
        return np.array(self.own, dtype=object) if texts else None

    @property
    def about(self) -> dict[str, str]:
        """What it calls its variables and values, by the keys of a domain's labels. Public."""
        if self.door is None:
            return {"domain": self.dated[1]} if self.dated else {}
        words = self.door.words(self.given)
        return {key: str(name) for key, name in words.items() if name is not None}

    def apart(self) -> tuple[Any, Any]:
        """The columns but the unit's, and the unit's.

        Raises ParameterError if there is no column called `groups`.
        """
        if self.unit is None:
            _check_order(self.table, self.groups)
            return self.table, self.groups
        rest, (own,) = self.without([self.unit], "groups")
        return rest, own

    def without(self, names: Sequence[str], use: str) -> tuple[Any, list[Any]]:
        """The columns of a table but those with these labels, and these columns.

        Raises ParameterError, which names the use, if there is no such column.
        """
        table = self.table
        for name in {*names} & {*getattr(getattr(table, "index", None), "names", ())} - {*self.words}:
            remedy = "It is of the index: X.reset_index() makes it a column."
            raise ParameterError(use, "be the label of a column", repr(name), remedy)
        places = [find_column(self.words, name, use) for name in names]
        others = [place for place in range(len(self.words)) if place not in places]
        if is_frame(table):
            return table.iloc[:, others], [table.iloc[:, place] for place in places]
        rest = table.select([table.column_names[place] for place in others])
        return rest, [table.column(place) for place in places]

    def cells(self) -> tuple[Any, Any]:
        """Points or inputs, one a row, and their privacy units; columns may have any labels.

        Raises ParameterError if there is no column called `groups`.
        """
        if self.door is not None:
            return self.door.points(self.given, self.groups)[:2]
        if self.labels is None:
            return self.table, self.groups
        _point_out(self.own)
        return self.apart()

    def curves(self, stated: object = None, invalid: str = "refuse") -> Handed:
        """Curves, their privacy units, and the grid and domain that they come with.

        stated: array (m,), tuple of d arrays, or None. The grid, where it is stated elsewhere. It then
            goes before labels, and all columns but the unit's are taken to be the curve.
        invalid: {"refuse", "repair"}. Whether labels of text that look like one of the increasing curves
            below them are refused. Under "repair" nothing depends on values.
        Raises DataError if the type of a column but the unit's, which may be of any, holds no numbers.
        Raises OrientationError if it cannot be told from the labels which columns are the curve, or
        which way it lies; or if they look like a record. Raises ParameterError if there is no column
        called `groups`.
        """
        if isinstance(self.given, LongCurves):
            return Handed(self.given, self.groups)
        values, own = self.apart() if self.labels else (self.table, self.groups)
        refuse_kinds(values)
        if self.door is not None:
            handed = self.door.curves(values, own, stated)
            return handed._replace(values=opened(handed.values))
        if not self.labels:
            return Handed(values if self.on_cluster else opened(values), own)
        if stated is not None:
            _point_out(self.own)
            return Handed(values, own)
        try:
            grid = self._grid(self.labels)
        except OrientationError as refused:
            raise OrientationError(
                f"{refused.message} Name the privacy unit's column as groups, and pass X[[...]] with "
                "the columns of the curve, and that one, alone; or state grid_points, with one point "
                "for each column of the curve."
            ) from None
        times = str(getattr(getattr(values, "index", None), "dtype", ""))
        numbered = grid is None or (self.dated is None and not np.any(grid % 1))
        if numbered and own is None and times.startswith(("datetime64", "period")):
            raise OrientationError(
                "X must hold a curve a row; found rows labelled by times and columns by words or whole "
                "numbers, as where each column is a curve. Pass X.T then; if each row is a curve, as a "
                "day by hours, state grid_points, such as X.columns."
            )
        written = grid is not None and self.names is not None
        if written and self.dated is None and invalid == "refuse":
            values = matrix_of(values)
            refuse_record_as_grid(grid, doubles(values[:INSPECTED]), LABELS)
        return Handed(values, own, grid)

    def _grid(self, labels: Sequence[object]) -> Floats | None:
        """The grid that labels spell, None where they are words that differ in a number."""
        check_labels(self.words)
        if self.dated is not None:
            return increasing_dates(self.dated[0])
        grid = grid_points(self.words, curve_columns(self.words, None, self.unit))
        if grid is None:
            named = zip(labels, self.words, strict=True)
            refuse_other_labels([label for label, word in named if word != self.unit])
        return grid


def _word(label: object) -> str:
    """A label of a column as the header of a file would hold it."""
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


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
    if named := identifiers(words):
        warnings.warn(
            f"The column {named[0]!r} looks like an identifier and is read as a number of each record: "
            f"if it names the person, pass groups={named[0]!r}; else leave it out of X.",
            UserWarning,
            stacklevel=2,
        )
