"""Tables as CSV, as aligned text and as data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dpfda.numerics.errors import ParameterError, needed
from dpfda.numerics.parameters import shown
from dpfda.numerics.words import csv_text
from dpfda.views.shapes import Table

if TYPE_CHECKING:
    import pandas as pd


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
