"""Tables and arrays of Arrow, recognised by their module, not imported."""

from __future__ import annotations

from typing import Any

import numpy as np

NUMERIC = frozenset(
    {
        "double",
        "float",
        "halffloat",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    }
)
COPY = {"zero_copy_only": False}


def is_arrow_table(values: Any) -> bool:
    """Whether this is a table or a batch of records."""
    return _of_arrow(values) and hasattr(values, "column_names") and hasattr(values, "num_rows")


def is_arrow_array(values: Any) -> bool:
    """Whether this is a column."""
    return _of_arrow(values) and hasattr(values, "to_pylist") and not is_arrow_table(values)


def arrow_column(table: Any, place: int) -> Any:
    """A column: an array, with nulls masked, where its type is numeric; else the cells as they are."""
    column = table.column(place)
    if str(column.type) in NUMERIC:
        numbers = column.fill_null(0).to_numpy(**COPY)
        return np.ma.masked_array(numbers, mask=column.is_null().to_numpy(**COPY))
    return column


def _of_arrow(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pyarrow"
