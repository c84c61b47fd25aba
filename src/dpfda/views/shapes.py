"""Neutral views of what was published: curves, images and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from dpfda.numerics.arrays import Flags, Floats
from dpfda.numerics.errors import ParameterError, needed
from dpfda.numerics.parameters import reals, shown
from dpfda.numerics.words import csv_text

if TYPE_CHECKING:
    import pandas as pd


Stroke = Literal["solid", "dashed", "dotted", "dashdot"]


@dataclass(frozen=True, eq=False)
class Line:
    """One line, with a band around it where there is one.

    Parameters
    ----------
    points, values : array (k,)
        Where, and how much.
    label : str
        What the line is, for the legend.
    lower, upper : array (k,), optional
        Ends of the band at the same points.
    band : str
        What the band is, for the legend; lines that share a text share an entry.
    stroke : {"solid", "dashed", "dotted", "dashdot"}
    marked : bool
        Whether its points are marked, where nothing is known between them.
    """

    points: Floats
    values: Floats
    label: str
    lower: Floats | None = None
    upper: Floats | None = None
    band: str = ""
    stroke: Stroke = "solid"
    marked: bool = False

    def __post_init__(self) -> None:
        ends = [self.lower, self.upper]
        for array in (self.points, self.values, *ends):
            if array is not None:
                reals(array, "line")
        present = [np.shape(array) for array in (self.points, self.values, *ends) if array is not None]
        if len(set(present)) != 1 or (ends[0] is None) != (ends[1] is None):
            raise ParameterError("line", "have points, values and band of one length", f"{present}")


@dataclass(frozen=True, eq=False)
class Curve:
    """Lines over one variable.

    Parameters
    ----------
    lines : tuple of Line
    x_label, y_label : str
        With units.
    title, subtitle : str
        What is shown, of whom; and the guarantee.
    baseline : float, optional
        Height of a thin line to compare with, such as no difference.
    logarithmic : bool
        Whether both axes are.
    foot : Line, optional
        Drawn at the foot on a scale of its own, such as where observations are.
    below : (array (k,), tuple of (str, array (k,))), optional
        Points, and rows of whole numbers at them to be written under the axis, each with its name.
    behind : tuple of Line
        Drawn thin and grey behind the others; those that share a label share an entry of the legend.
    shown : (float, float), optional
        Part of the variable that a picture shows, where all of it would show little; it says so.
    """

    lines: tuple[Line, ...]
    x_label: str
    y_label: str
    title: str
    subtitle: str = ""
    baseline: float | None = None
    logarithmic: bool = False
    foot: Line | None = None
    below: tuple[Floats, tuple[tuple[str, Floats], ...]] | None = None
    behind: tuple[Line, ...] = ()
    shown: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Panels(Curve):
    """A small picture of each line, in a table with one scale.

    Parameters
    ----------
    rows, columns : tuple of str
        What they are of.
    places : tuple of (int, int)
        Row and column of each line.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Image:
    """Values over two variables.

    Parameters
    ----------
    values : array (a, b)
        ``values[i, j]`` belongs to cell i of the first variable and cell j of the second.
    extent : ((left, right), (bottom, top))
        Ends of the first and of the second variable.
    x_label, y_label, value_label : str
        With units.
    title, subtitle : str
        What is shown, of whom; and the guarantee.
    signed : bool
        Whether colours are centred at zero.
    floor : float, optional
        Least value of the scale of colours, such as 0 for densities.
    contour : float, optional
        Value at which a line is drawn, such as the boundary of two classes.
    square : bool
        Whether both variables are one, and drawn to one scale.
    faded : array (a, b) of bool, optional
        Cells that are drawn pale.
    rows : bool
        Whether the first variable runs down, as the rows of an image do; else it runs to the right.
    names : tuple of str
        What the values 0, 1, 2, ... stand for, where they stand for something: a colour each.
    """

    values: Floats
    extent: tuple[tuple[float, float], tuple[float, float]]
    x_label: str
    y_label: str
    value_label: str
    title: str
    subtitle: str = ""
    signed: bool = False
    floor: float | None = None
    contour: float | None = None
    square: bool = False
    faded: Flags | None = None
    rows: bool = False
    names: tuple[str, ...] = ()


View = Curve | Image


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of one length, each with its meaning.

    Parameters
    ----------
    columns : mapping of str to array (k,)
    meanings : mapping of str to str
        What each column is, with units.
    """

    columns: Mapping[str, Floats]
    meanings: Mapping[str, str]

    def __post_init__(self) -> None:
        for name, part in (("columns", self.columns), ("meanings", self.meanings)):
            if not isinstance(part, Mapping):
                raise ParameterError(name, "be a mapping", shown(part))
        lengths = {np.shape(column) for column in self.columns.values()}
        if len(lengths) > 1 or set(self.columns) != set(self.meanings):
            raise ParameterError(
                "table", "have columns of one length, each with its meaning", f"{sorted(self.columns)}"
            )


def to_csv(table: Table) -> str:
    """The table as CSV; floats with the digits that give them back exactly.

    The first line says what each column is: ``value: load (MW)``. Words that a spreadsheet would run as
    a formula begin with a single quote (`dpfda.numerics.words.cell`).
    """
    _check(table)
    header = [f"{name}: {table.meanings[name]}" for name in table.columns]
    return csv_text([header, *zip(*(column.tolist() for column in table.columns.values()), strict=True)])


def aligned(columns: Mapping[str, Sequence[str]]) -> str:
    """Columns of words aligned to the right, for reading."""
    cells = columns.values() if isinstance(columns, Mapping) else (None,)
    if not all(isinstance(column, list | tuple) for column in cells):
        raise ParameterError("columns", "be a mapping of names to lists of words", shown(columns))
    widths = [max(map(len, [name, *cells])) for name, cells in columns.items()]
    rows = [tuple(columns), *zip(*columns.values(), strict=True)]
    lines = ["  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(lines)


def to_frame(table: Table) -> pd.DataFrame:
    """The table as a pandas data frame.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.
    """
    with needed("pandas", "pandas", "A data frame"):
        import pandas as pd
    _check(table)
    return pd.DataFrame(dict(table.columns))


def _check(table: object) -> None:
    if not isinstance(table, Table):
        raise ParameterError("table", "be a Table", shown(table))


# Points of a band by default, over all axes together; cells along each axis of a picture, at least.
BAND_POINTS = 400
FINE = 256
# Points of a table by default: a band at more of them would take more than half a gigabyte.
TABLE_POINTS = 2500
# A picture shows two variables at most.
PICTURE = 2


def check_drawn(dimensions: int, remedy: str) -> None:
    """Refuse to draw more than two variables."""
    if dimensions > PICTURE:
        raise ParameterError(
            "release", f"have at most {PICTURE} variables to be drawn", f"{dimensions}", remedy
        )
