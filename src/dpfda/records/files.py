"""Curves out of CSV and Parquet files: which columns are what, and what cannot be told.

Messages name rows and columns, never the text of a cell.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpfda.errors import DataError, MissingExtraError, OrientationError, ParameterError
from dpfda.records.csv_tables import OUTSIDE, Progress, Table, TextFile, read_text
from dpfda.records.curves import check_choice
from dpfda.records.headers import check_labels, curve_columns, find_column, grid_points
from dpfda.records.long import LongCurves
from dpfda.records.parquet_tables import open_parquet, read_parquet

Floats = NDArray[np.float64]

TEXT = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
INSPECTED = 100


class TableCurves(NamedTuple):
    """Curves as a file holds them.

    Parameters
    ----------
    data : array (n, m) or LongCurves
        Private. A row a curve, NaN where a value is missing; or observations.
    grid_points : array (m,) or None
        Public points of the grid; None where the labels are no numbers, and for observations.
    groups : array (n,) of objects, or None
        Private. Label of each record's privacy unit; `LongCurves` carries its own.
    """

    data: Floats | LongCurves
    grid_points: Floats | None
    groups: NDArray[Any] | None

    def __repr__(self) -> str:
        return "TableCurves(content private)"


class _Source(NamedTuple):
    """An opened file, of which only the labels are known."""

    labels: tuple[str, ...]
    content: Any

    def read(
        self, numbers: Sequence[int], labels: Sequence[int], invalid: str, progress: Progress | None
    ) -> Table:
        read: Any = read_text if isinstance(self.content, TextFile) else read_parquet
        table: Table = read(self.content, numbers, labels, invalid, progress)
        if len(table.numbers) == 0:
            raise DataError(
                "The file must hold records below its header; found a header alone. If that line is a "
                "record, add a header line above it."
            )
        return table


def read_curves(
    path: str | os.PathLike[str],
    *,
    columns: str | Sequence[str] | None = None,
    groups: str | None = None,
    id: str | None = None,
    time: str | None = None,
    value: str | None = None,
    invalid: str = "refuse",
    progress: Progress | None = None,
) -> TableCurves:
    """Read curves from a file: wide (a row a curve) or, with id, time and value, long.

    Parameters
    ----------
    path : path
        A file that ends in .csv, .tsv or .txt (each also with .gz), or in .parquet or .pq. Text is
        UTF-8 with a header line; its delimiter is the one of comma, semicolon and tab that the header
        holds. Numbers have a decimal point and no thousands separator. A record is one line. Cells
        that are empty or read NA, NaN, nan, null, None or N/A are missing values.
    columns : str or sequence of str, optional
        Labels or globs ('cca_*') of the curve's columns, taken in the order of the file. Without it,
        all columns but `groups`, if they are numbers or words that differ in a number.
    groups : str, optional
        Label of the column that names each record's privacy unit.
    id, time, value : str, optional
        Labels of the columns of the long layout: whose curve, when, how much. All or none.
    invalid : {"refuse", "repair"}
        Raise on a row that cannot be read; or keep it as a record whose numbers are infinite, which
        later steps replace by a fixed public element. Its label is kept where it can be read.
    progress : callable, optional
        Called as ``progress(done, total)``, in bytes of a text file or rows of a Parquet file.

    Returns
    -------
    TableCurves
        With the grid where all labels of the curve's columns are numbers.

    Raises
    ------
    ParameterError
        If the path, its ending or a column label is unusable.
    OrientationError
        If it cannot be told which columns hold the curve, or whether curves are rows or columns.
    DataError
        If the file cannot be read, with row (1 is the first below the header; empty lines do not
        count) and column label, never with a value. Outside the privacy guarantee.
    MissingExtraError
        Without pyarrow.

    Notes
    -----
    Under "repair" nothing depends on the values of other rows: which columns are read, and whether
    the file is refused, follows from the header alone. Under "refuse" a file without `columns` is
    also refused where its header looks like one of its records (increasing, like them, and within
    their range), since it would be published as the grid.
    """
    check_choice(invalid, "invalid", ("refuse", "repair"))
    long = _long_layout(id, time, value, columns)
    source = _opened(_checked_path(path))
    check_labels(source.labels)
    if long is not None:
        return _read_long(source, *long, groups, invalid, progress)
    return _read_wide(source, columns, groups, invalid, progress)


def _checked_path(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    suffixes = [suffix.lower() for suffix in file.suffixes]
    packed = suffixes[-1:] == [".gz"]
    ending = suffixes[-2:-1] if packed else suffixes[-1:]
    if not ending or ending[0] not in (TEXT if packed else TEXT + PARQUET):
        raise ParameterError(
            "path",
            f"end in {', '.join(TEXT)} (or these with .gz), {' or '.join(PARQUET)}",
            repr(str(file)),
            "Rename the file, or export it as CSV or Parquet.",
        )
    if not file.exists():
        raise ParameterError("path", "name an existing file", repr(str(file)), "Check the spelling.")
    if not file.is_file():
        raise ParameterError("path", "name a file", f"the folder {str(file)!r}")
    try:
        file.open("rb").close()
    except OSError:
        raise ParameterError(
            "path", "name a file that may be read", repr(str(file)), "Check its permissions."
        ) from None
    return file


def _opened(path: Path) -> _Source:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("pyarrow", "cli", "Reading CSV and Parquet files") from None
    if path.suffix.lower() in PARQUET:
        file = open_parquet(path)
        return _Source(tuple(file.schema_arrow.names), file)
    text = TextFile.open(path)
    return _Source(text.header, text)


def _long_layout(
    id: str | None, time: str | None, value: str | None, columns: Any
) -> tuple[str, str, str] | None:
    """The labels of the long layout, None where the layout is wide."""
    given = {"id": id, "time": time, "value": value}
    lacking = [name for name, label in given.items() if label is None]
    if len(lacking) == len(given):
        return None
    if id is None or time is None or value is None:
        raise ParameterError(
            "id, time and value",
            "be given together (long layout) or not at all (wide layout)",
            f"no {' and no '.join(lacking)}",
        )
    if columns is not None:
        raise ParameterError(
            "columns", "be left out in the long layout", repr(columns), "id, time and value say all."
        )
    if time in (id, value) or id == value:
        raise ParameterError("id, time and value", "name three columns", repr((id, time, value)))
    return id, time, value


def _read_wide(
    source: _Source, columns: Any, groups: str | None, invalid: str, progress: Progress | None
) -> TableCurves:
    group = [] if groups is None else [find_column(source.labels, groups, "groups")]
    chosen = curve_columns(source.labels, columns, groups)
    grid = grid_points(source.labels, chosen)
    if len(chosen) < 2:
        raise DataError(
            f"A curve must have at least two columns; found {len(chosen)}. The header's delimiter must "
            "be a comma, a semicolon or a tab."
        )
    table = source.read(chosen, group, invalid, progress)
    if invalid == "refuse":
        _refuse_missing_labels(table.labels, group, source.labels)
        if columns is None and grid is not None:
            _refuse_record_as_grid(grid, table.numbers[:INSPECTED])
    return TableCurves(table.numbers, grid, _objects(table.labels[0]) if group else None)


def _read_long(
    source: _Source,
    id: str,
    time: str,
    value: str,
    groups: str | None,
    invalid: str,
    progress: Progress | None,
) -> TableCurves:
    numbers = [find_column(source.labels, time, "time"), find_column(source.labels, value, "value")]
    labels = [find_column(source.labels, id, "id")]
    if groups is not None:
        labels.append(find_column(source.labels, groups, "groups"))
    if set(labels) & set(numbers):
        raise ParameterError("groups", "differ from time and value", repr(groups))
    table = source.read(numbers, labels, invalid, progress)
    if invalid == "refuse":
        _refuse_missing_labels(table.labels, labels, source.labels)
    ids, *units = map(_objects, table.labels)
    times, values = table.numbers.T
    # An observation whose record is unknown stands for no curve.
    lost = np.array([label is None for label in ids])
    values = np.where(lost, np.inf, values)
    return TableCurves(LongCurves(ids, times, values, units[0] if units else None), None, None)


def _refuse_missing_labels(
    columns: Sequence[Sequence[Any]], positions: Sequence[int], labels: Sequence[str]
) -> None:
    for column, position in zip(columns, positions, strict=True):
        if None in column:
            raise DataError(
                f"Row {list(column).index(None) + 1}, column {labels[position]!r} must hold a label; "
                "found none. A record without its person cannot be protected as that person's. "
                f"{OUTSIDE}"
            )


def _refuse_record_as_grid(grid: Floats, rows: Floats) -> None:
    """Refuse a header that looks like one of the increasing curves below it."""
    finite = rows[np.isfinite(rows).all(axis=1)]
    if len(finite) < 2:
        return
    increasing = (np.diff(finite, axis=1) > 0).all(axis=1)
    within = (finite.min(axis=0) <= grid) & (grid <= finite.max(axis=0))
    if increasing.mean() >= 0.5 and within.mean() >= 0.5:
        raise OrientationError(
            "A numeric header is the grid; found one that looks like the increasing curves below it. "
            "Perhaps the header line is missing: then one person's curve would be published as the "
            f"grid. Add a header line, or say that it is one with columns='*' (--columns '*'). {OUTSIDE}"
        )


def _objects(labels: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
