"""Parquet tables: numbers and labels out of typed columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.errors import DataError
from dpfda.records.csv_tables import OUTSIDE, TOO_LARGE, Progress, Table, cell_label

BATCH_ROWS = 8192


def open_parquet(path: Path) -> Any:
    """Open a file and read its schema.

    Raises
    ------
    DataError
        If it is no Parquet file, or a damaged one.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path)
    except (pa.ArrowException, OSError):
        raise DataError(f"{path.name} must be a Parquet file; found one that cannot be read.") from None


def read_parquet(
    file: Any,
    numbers: Sequence[int],
    labels: Sequence[int],
    invalid: str = "refuse",
    progress: Progress | None = None,
) -> Table:
    """Read the columns at these positions; nulls are missing values.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
        Private but for its schema.
    numbers, labels : sequences of int
        Positions of the columns to read as numbers and as labels.
    invalid : {"refuse", "repair"}
        Raise on an integer that float64 cannot hold, or make all numbers of its row infinite.
    progress : callable, optional
        Called with the rows read and the number of rows.

    Raises
    ------
    DataError
        If a column has another type (with its label), or a number is too large (with its row).
    """
    import pyarrow as pa

    schema = file.schema_arrow
    _check_types(schema, numbers, labels)
    rows = file.metadata.num_rows
    matrix = np.empty((rows, len(numbers)))
    columns: list[list[Any]] = [[] for _ in labels]
    names = [schema.names[i] for i in [*numbers, *labels]]
    start = 0
    try:
        for batch in file.iter_batches(BATCH_ROWS, columns=names):
            block = matrix[start : start + batch.num_rows]
            too_large = _fill(block, batch, [schema.names[i] for i in numbers])
            if invalid == "refuse":
                _refuse_first(too_large, names, start)
            block[too_large.any(axis=1)] = np.inf
            for column, position in zip(columns, labels, strict=True):
                column.extend(map(_label, batch.column(schema.names[position]).to_pylist()))
            start += batch.num_rows
            if progress is not None:
                progress(start, rows)
    except (pa.ArrowException, OSError):
        raise DataError("The Parquet file must be complete; found a damaged part.") from None
    return Table(matrix, columns)


def _check_types(schema: Any, numbers: Sequence[int], labels: Sequence[int]) -> None:
    from pyarrow import types

    for position in numbers:
        kind = schema.field(position).type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind)):
            raise DataError(
                f"Column {schema.names[position]!r} must hold numbers; found the type {kind}. "
                "Write it as float64."
            )
    for position in labels:
        kind = schema.field(position).type
        if types.is_nested(kind):
            raise DataError(
                f"Column {schema.names[position]!r} must hold one label a row; found the type {kind}."
            )


def _fill(block: NDArray[np.float64], batch: Any, names: Sequence[str]) -> NDArray[np.bool_]:
    """Write a batch's numbers into the block; where they are integers that float64 may not hold."""
    from pyarrow import float64, types

    too_large = np.zeros(block.shape, dtype=bool)
    for target, name in enumerate(names):
        column = batch.column(name)
        # Without the check of pyarrow's safe cast: its message would print the cell.
        block[:, target] = column.cast(float64(), safe=False).to_numpy(zero_copy_only=False)
        if types.is_integer(column.type):
            too_large[:, target] = np.abs(block[:, target]) >= TOO_LARGE
    return too_large


def _refuse_first(too_large: NDArray[np.bool_], names: Sequence[str], start: int) -> None:
    if not too_large.any():
        return
    row, column = np.argwhere(too_large)[0]
    raise DataError(
        f"Row {start + row + 1}, column {names[column]!r} must hold a number that double precision "
        "holds exactly; found an integer that is too large (2^53 or more). Write the column as "
        f"float64, or use invalid='repair' (--invalid repair). {OUTSIDE}"
    )


def _label(value: Any) -> Any:
    """A label as it is in the file; None where it is missing."""
    if isinstance(value, str):
        return cell_label(value)
    return None if isinstance(value, float) and np.isnan(value) else value
