"""Whether what is of Arrow or Parquet holds as many rows as it states.

Both take stated numbers on trust: beyond the end of a buffer Arrow reads what else lies in memory, and
pages of Parquet beyond the stated rows are left out unseen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpfda.numerics.errors import DataError

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Table
    from pyarrow.parquet import FileMetaData


def contradiction() -> DataError:
    """The error for rows that are stated and not there, or the other way round."""
    return DataError(
        "The file must hold as many rows as it states, in all its places; found one that contradicts "
        "itself. Write it again from its source: rows may be lost."
    )


def check_footer(stated: FileMetaData) -> None:
    """Check that the numbers of rows in a footer are one: of the file, its groups and their columns.

    Raises DataError if they are not.
    """
    groups = [stated.row_group(place) for place in range(stated.num_row_groups)]
    # Where a cell holds several values there are more of these than rows.
    flat = [
        place
        for place in range(stated.num_columns)
        if not stated.schema.column(place).max_repetition_level
    ]
    if sum(group.num_rows for group in groups) != stated.num_rows or any(
        group.column(place).num_values != group.num_rows for group in groups for place in flat
    ):
        raise contradiction()


def check_buffers(table: Table | RecordBatch) -> None:
    """Check that no column's buffers end before its rows do.

    Raises pyarrow.ArrowInvalid if one's do. Nothing is said of how text is written: that is a matter of
    its row alone.
    """
    for column in table.columns:
        for part in getattr(column, "chunks", [column]):
            _check(part)


def _check(column: Any) -> None:
    from pyarrow import binary, binary_view, large_binary, types

    column.validate()
    kind = column.type
    if types.is_dictionary(kind):
        _check(column.dictionary)
    elif types.is_string(kind):
        column.view(binary()).validate(full=True)
    elif types.is_large_string(kind):
        column.view(large_binary()).validate(full=True)
    elif types.is_string_view(kind):
        column.view(binary_view()).validate(full=True)
