"""Curves out of CSV and Parquet files: which columns are what, and what stays ambiguous.

Messages name lines of a text file (rows of a Parquet file) and columns, never the text of a cell.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpfda.bases.grids import check_grid
from dpfda.numerics.arrays import Cells, Floats, Integers
from dpfda.numerics.errors import DataError, Location, ParameterError, Private, needed
from dpfda.numerics.parameters import choice
from dpfda.records.cells import OUTSIDE, Dates
from dpfda.records.csv_tables import Progress, Stated, Table, TextFile
from dpfda.records.foreign_tables import (
    SPREADSHEETS,
    STATISTICS,
    CellFile,
    open_spreadsheet,
    open_statistics,
)
from dpfda.records.headers import (
    INSPECTED,
    are_times,
    check_labels,
    curve_columns,
    date_grid,
    find_column,
    grid_points,
    refuse_record_as_grid,
    same_grid,
    says_header,
)
from dpfda.records.lines import NAME, Notation, StandardInput, standard_input
from dpfda.records.long import LongCurves
from dpfda.records.parquet_tables import TypedFile, open_arrow, open_parquet

TEXT = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
ARROW = (".feather", ".arrow", ".arrows", ".ipc")
EVERY = (*TEXT, *PARQUET, *ARROW, *SPREADSHEETS, *STATISTICS)
# How to say that there is a header line, where it looks like a record.
HEADER = (
    "Add a header line; or say that it is one, by $columns, by the columns' labels one by one, or by "
    "stating $grid."
)
# Whether a file is opened for the names of its columns alone: no record is read, as if it had none.
HEADER_ALONE: ContextVar[bool] = ContextVar("header alone", default=False)
# What columns are for, and their labels.
Uses = Sequence[tuple[str, str]]


@contextmanager
def header_alone() -> Iterator[None]:
    """Within it files have columns and no records: nothing private is read."""
    before = HEADER_ALONE.set(True)
    try:
        yield
    finally:
        HEADER_ALONE.reset(before)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class InFile(Private):
    """Records as a file holds them, which know where in it they stand.

    lines: array (n,) of int, or None. Private. The line of the file on which each record or observation
        stands, the first being 1; None for a file without lines.
    header: Public. Labels of all columns.
    columns: Public. Labels of the columns of numbers: of the curve, of inputs; of id, time and value in
        the long layout.
    """

    lines: Integers | None
    header: tuple[str, ...]
    columns: tuple[str, ...] = ()

    def where(self, place: Location) -> str:
        """A place in the data, as one in the file."""
        row, column = place
        where = f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"
        if column is None:
            return f"{where} of the file"
        return f"{where} of the file, column {repr(self.columns[column]) if self.columns else column}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableCurves(InFile):
    """Curves as a file holds them.

    data: array (n, m) or LongCurves. Private. A row a curve, NaN where a value is missing; or
        observations.
    grid_points: array (m,) or None. Public points of the grid; None where the labels are no numbers, and
        for observations.
    groups: array (n,) of objects, or None. Private. Label of each record's privacy unit; `LongCurves`
        carries its own.
    axis: Public. Where the grid came from: "header", "clock" (times of day), "stated", "words" (it is to
        be equally spaced), or "time"; with dates, also the day from which days are counted.
    beside: sequence of array (n,). Private. Further columns that were asked for, of numbers and then of
        labels.
    """

    data: Floats | LongCurves
    grid_points: Floats | None = None
    groups: Cells | None = None
    axis: str = "stated"
    beside: Sequence[Cells] = ()


# A file of any kind, of which only the labels are known.
Opened = TextFile | TypedFile | CellFile


class Source(NamedTuple):
    """An opened file, and what is stated of it."""

    content: Opened
    stated: Stated

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of its columns."""
        return self.content.header

    def places(self, uses: Uses) -> list[int]:
        """Positions of columns by what they are for and their labels."""
        return [find_column(self.labels, label, use) for use, label in uses]

    def read(self, numbers: Sequence[int], labels: Sequence[int], dated: Sequence[int] = ()) -> Table:
        """Read these columns of numbers, of which some hold dates, and of labels."""
        if set(numbers) & set(labels):
            named = [self.labels[place] for place in (*numbers, *labels)]
            raise ParameterError("Columns", "be of numbers or of labels, and not both", repr(named))
        if HEADER_ALONE.get():
            return Table(np.zeros((0, len(numbers))), [[] for _ in labels])
        table = self.content.read(numbers, labels, dated, self.stated)
        if len(table.numbers) == 0:
            raise DataError(
                "The file must hold records below its header; found a header alone. If that line is a "
                "record, add a header line above it."
            )
        if self.stated.invalid == "refuse":
            self._refuse_missing_labels(table, labels)
        return table

    def _refuse_missing_labels(self, table: Table, positions: Sequence[int]) -> None:
        for column, position in zip(table.labels, positions, strict=True):
            if None in column:
                raise DataError(
                    f"{table.place(column.index(None))}, column {self.labels[position]!r} must hold a "
                    "label; found none. Fill it in, or leave the record out of the file: whose it is, "
                    f"or what, cannot be guessed. {OUTSIDE}"
                )


def read_curves(
    path: str | os.PathLike[str],
    *,
    columns: str | Sequence[str] | None = None,
    groups: str | None = None,
    id: str | None = None,
    time: str | None = None,
    value: str | None = None,
    decimal: str = ".",
    na: Sequence[str] = (),
    dates: str | None = None,
    since: str | None = None,
    grid: object = None,
    numbers: Uses = (),
    labels: Uses = (),
    invalid: str = "refuse",
    progress: Progress | None = None,
) -> TableCurves:
    """Read curves from a file: wide (a row a curve) or, with id, time and value, long.

    Parameters
    ----------
    path : path
        A file that ends in .csv, .tsv or .txt (each also with .gz), in .parquet or .pq, or in .feather,
        .arrow, .arrows or .ipc; "-" for any of these on standard input; or one of
        `dpfda.records.foreign_tables` (dpfda[sheets], dpfda[formats]). Text is UTF-8 with
        a header line; its delimiter is the one of comma, semicolon and tab that the header holds.
        Numbers have no thousands separator. A record is one line, and what a line means depends on
        that line alone. Empty cells and those that read NA, NaN, nan, null, None or N/A are missing.
    columns : str or sequence of str, optional
        Labels, ranges ('cca_1..cca_93') or globs ('cca_*') of the curve's columns. Without it, all
        columns but `groups`, if they are numbers or words that differ in a number.
    groups : str, optional
        Label of the column that names each record's privacy unit.
    id, time, value : str, optional
        Labels of the columns of the long layout: whose curve, when, how much. All or none.
    decimal : {".", ","}
        The decimal sign, of numeric labels too.
    na : sequence of str
        Further words for a missing value: ``("k.A.", "-99")``.
    dates : str, optional
        How the times of the long layout, or the labels of the curve's columns, are written where they
        are dates: "iso" or a format of `datetime.strptime`. Read as days since `since`.
    since : str, optional
        A public date, written in the same way: day 0. By default the first label of the curve's columns;
        in the long layout 1 January 1970.
    grid : array (m,), optional
        Public points of the grid, for columns whose labels are words. Numbers must agree.
    numbers, labels : sequence of (str, str)
        Wide: further columns, by what they are for and their labels.
    invalid : {"refuse", "repair"}
        Raise on a row that cannot be read; or keep it as a record whose numbers are infinite, which
        later steps replace by a fixed public element. Its label is kept where it can be read.
    progress : callable, optional
        Called as ``progress(done, total)``, in bytes of a text file or rows of a Parquet file.

    Returns
    -------
    TableCurves
        With the grid where the labels of the curve's columns are numbers or dates, or it is stated.

    Raises
    ------
    ParameterError
        If the path, its ending or a column label is unusable.
    OrientationError
        If it cannot be told which columns hold the curve, or whether curves are rows or columns.
    DataError
        If the file cannot be read, with the line of the file (the first is 1), or the row where there
        are no lines, and the column's label, never with a value. Outside the privacy guarantee.
    MissingExtraError
        Without pyarrow, or what reads the format.

    Notes
    -----
    Under "repair" nothing depends on other rows: which columns are read, and whether the file is
    refused, follows from the header alone. Under "refuse" a header that looks like a record is too,
    unless `columns` is "*" or labels without wildcards, or the grid is stated.
    """
    long = _long_layout(id, time, value, columns)
    if since is not None and dates is None:
        raise ParameterError("since", "come with dates", repr(since))
    if grid is not None and (long is not None or dates is not None):
        raise ParameterError("grid", "be left out in the long layout and with dates", "both")
    written = None if dates is None else Dates(dates)
    stated = Stated(Notation(decimal, tuple(na)), written, invalid, progress)
    source = opened(path, stated)
    if long is not None:
        return _read_long(source, *long, groups, since)
    points = None if grid is None else check_grid(grid)
    beside = source.places(numbers), source.places(labels)
    return _read_wide(source, columns, groups, since, points, beside)


def opened(path: str | os.PathLike[str], stated: Stated) -> Source:
    """Open a file and check its labels.

    Raises ParameterError, OrientationError, DataError or MissingExtraError as in `read_curves`.
    """
    choice(stated.invalid, "invalid", ("refuse", "repair"))
    file = _checked_path(path)
    # It takes longer to load than a small file to read.
    with needed("pyarrow", "cli", "Reading CSV and Parquet files"):
        if find_spec("pyarrow") is None:
            raise ImportError
    content = _content(file, stated)
    check_labels(content.header)
    return Source(content, stated)


def _content(file: Path | StandardInput, stated: Stated) -> Opened:
    suffix = file.suffix.lower()
    if suffix in PARQUET:
        return open_parquet(file)
    if suffix in ARROW:
        return open_arrow(file)
    if isinstance(file, Path) and suffix in SPREADSHEETS:
        return open_spreadsheet(file)
    if isinstance(file, Path) and suffix in STATISTICS:
        return open_statistics(file)
    return TextFile.open(file, stated.notation)


def _checked_path(path: str | os.PathLike[str]) -> Path | StandardInput:
    if str(path) == NAME:
        return standard_input()
    file = Path(path)
    suffixes = [suffix.lower() for suffix in file.suffixes]
    packed = suffixes[-1:] == [".gz"]
    ending = suffixes[-2:-1] if packed else suffixes[-1:]
    if not ending or ending[0] not in (TEXT if packed else EVERY):
        raise ParameterError(
            "path",
            f"end in {', '.join(TEXT)} (or these with .gz), or one of {', '.join(EVERY[len(TEXT) :])}",
            repr(str(file)),
            "Unpack or rename the file, or export it as CSV or Parquet.",
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


def _long_layout(
    id: str | None, time: str | None, value: str | None, columns: object
) -> tuple[str, str, str] | None:
    """The labels of the long layout, None where the layout is wide."""
    labels = {"id": id, "time": time, "value": value}
    lacking = [name for name, label in labels.items() if label is None]
    if len(lacking) == len(labels):
        return None
    if id is None or time is None or value is None:
        words = "be given together (long layout) or not at all (wide layout)"
        raise ParameterError("id, time and value", words, f"no {' and no '.join(lacking)}")
    if columns is not None:
        raise ParameterError(
            "columns", "be left out in the long layout", repr(columns), "id, time and value say all."
        )
    if time in (id, value) or id == value:
        raise ParameterError("id, time and value", "name three columns", repr((id, time, value)))
    return id, time, value


def _read_wide(
    source: Source,
    columns: str | Sequence[str] | None,
    groups: str | None,
    since: str | None,
    stated: Floats | None,
    beside: tuple[list[int], list[int]],
) -> TableCurves:
    group = source.places([] if groups is None else [("groups", groups)])
    numbers, labels = beside
    chosen = curve_columns(source.labels, columns, groups, (*numbers, *labels))
    if len(chosen) < 2:
        delimiters = "a semicolon" if source.stated.notation.decimal == "," else "a comma, a semicolon"
        remedy = f"The header's delimiter must be {delimiters} or a tab."
        if len(source.labels) > 1:
            remedy = "Select all columns of the curve; one number a record has a density or quantiles."
        raise DataError(f"A curve must have at least two columns; found {len(chosen)}. {remedy}")
    grid, axis = _grid(source, chosen, since, stated)
    table = source.read([*chosen, *numbers], [*group, *labels])
    values = np.ascontiguousarray(table.numbers[:, : len(chosen)])
    looked = source.stated.invalid == "refuse" and len(values) > 0
    if looked and not says_header(columns) and axis == "header":
        refuse_record_as_grid(grid, values[:INSPECTED], HEADER)
    named = [objects(column) for column in table.labels]
    return TableCurves(
        data=values, grid_points=grid, groups=named[0] if group else None, axis=axis,
        beside=[*table.numbers[:, len(chosen) :].T, *named[len(group) :]],
        lines=table.lines, header=source.labels,
        columns=tuple(source.labels[i] for i in chosen),
    )  # fmt: skip


def _grid(
    source: Source, chosen: Sequence[int], since: str | None, stated: Floats | None
) -> tuple[Floats | None, str]:
    """The grid, and where it came from."""
    labels = [source.labels[i] for i in chosen]
    if source.stated.dates is not None:
        # What is no date is refused by its column first: a first label may be somebody's value.
        date_grid(labels, source.stated.dates)
        dates = source.stated.dates.since(labels[0] if since is None else since)
        return date_grid(labels, dates), dates.describe()
    numbers = grid_points(source.labels, chosen)
    if stated is not None:
        return same_grid(stated, numbers, len(chosen)), "stated"
    if numbers is None:
        return None, "words"
    return numbers, "clock" if are_times(labels) else "header"


def _read_long(
    source: Source, id: str, time: str, value: str, groups: str | None, since: str | None
) -> TableCurves:
    numbers = source.places([("time", time), ("value", value)])
    labels = source.places([("id", id), *([] if groups is None else [("groups", groups)])])
    if set(labels) & set(numbers):
        raise ParameterError("groups", "differ from time and value", repr(groups))
    dates, axis = source.stated.dates, "time"
    if dates is not None:
        dates = dates if since is None else dates.since(since)
        axis = dates.describe()
        source = source._replace(stated=source.stated._replace(dates=dates))
    table = source.read(numbers, labels, numbers[:1])
    ids, *units = map(objects, table.labels)
    times, values = table.numbers.T
    # An observation whose record is unknown stands for no curve.
    lost = np.array([label is None for label in ids])
    values = np.where(lost, np.inf, values)
    curves = LongCurves(ids, times, values, units[0] if units else None)
    named = (id, time, value)
    return TableCurves(data=curves, axis=axis, lines=table.lines, header=source.labels, columns=named)


def objects(labels: Sequence[object]) -> Cells:
    """Labels as an array, each as it is."""
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
