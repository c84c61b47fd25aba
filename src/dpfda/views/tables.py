"""Tables as CSV, as aligned text and as data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dpfda.errors import MissingExtraError
from dpfda.views.shapes import Table

if TYPE_CHECKING:
    import pandas as pd


def to_csv(table: Table) -> str:
    """The table as CSV; floats with the digits that give them back exactly."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(zip(*(column.tolist() for column in table.columns.values()), strict=True))
    return text.getvalue()


def aligned(columns: Mapping[str, Sequence[str]]) -> str:
    """Columns of words aligned to the right, for reading."""
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
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "pandas", "A data frame") from None
    return pd.DataFrame(dict(table.columns))
