"""Spreadsheets, and files of statistics packages: cells as they are held, each read by itself.

- *Spreadsheets* (.xlsx, .xlsm, .xls, .xlsb, .ods): one sheet, whose first row is the header. A cell has
  a type of its own. A row without a cell is no record, as an empty line of text is none.
- *Stata, SPSS, SAS* (.dta, .sav, .zsav, .por, .sas7bdat, .xpt): a column has a type, and values that the
  file calls missing are. Codes are read as codes, not as their labels.

Then `dpfda.records.cells` says what is a number; text is read as in a text table; moments are numbers
only where dates are stated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np

from dpfda.numerics.errors import DataError, needed
from dpfda.records.cells import UnreadableCellError, cell_number, is_missing
from dpfda.records.csv_tables import Stated, Table
from dpfda.records.dates import NO_DATE, Dates
from dpfda.records.lines import Notation
from dpfda.records.parquet_tables import label_of, refuse_first

SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
# By which function of pyreadstat each is read.
STATISTICS = {
    ".dta": "read_dta", ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por",
    ".sas7bdat": "read_sas7bdat", ".xpt": "read_xport",
}  # fmt: skip


@dataclass(frozen=True, repr=False, eq=False)
class CellFile:
    """An opened file of cells. Private but for its header.

    columns: Columns at these positions, each a list of cells.
    """

    header: tuple[str, ...]
    columns: Callable[[Sequence[int]], Sequence[Sequence[object]]]

    def read(
        self, numbers: Sequence[int], labels: Sequence[int], dated: Sequence[int], stated: Stated
    ) -> Table:
        """Read the columns at these positions, as `dpfda.records.csv_tables.TextFile.read` does.

        Raises DataError if a cell is no number, with its row, counted from 1, and the column.
        """
        columns = self.columns([*numbers, *labels])
        rows = len(columns[0])
        values, wrong = np.empty((rows, len(numbers))), {}
        for target, place in enumerate(numbers):
            dates = stated.dates if place in dated else None
            for row, cell in enumerate(columns[target]):
                try:
                    values[row, target] = _number(cell, stated.notation, dates)
                except UnreadableCellError as found:
                    wrong[row, target] = str(found)
        values[np.isin(values, stated.notation.codes)] = np.nan
        if wrong and stated.invalid == "refuse":
            refuse_first(wrong, [self.header[place] for place in numbers], 0)
        values[[row for row, _ in wrong]] = np.inf
        named = [
            [label_of(cell, stated.notation) for cell in column] for column in columns[len(numbers) :]
        ]
        return Table(values, named)


def _number(cell: object, notation: Notation, dates: Dates | None) -> float:
    if isinstance(cell, str):
        missing = dates is None or cell.strip() in notation.missing
        return notation.number(cell) if missing or dates is None else dates.number(cell)
    if dates is None or is_missing(cell):
        return cell_number(cell)
    if not isinstance(cell, date):
        raise UnreadableCellError(NO_DATE)
    moment = cell if isinstance(cell, datetime) else datetime.combine(cell, time())
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return dates.days_to(moment)


def open_spreadsheet(path: Path) -> CellFile:
    """Open a workbook of one sheet.

    Raises DataError if it is none, or holds several sheets. Raises MissingExtraError without
    python-calamine.
    """
    with needed("python-calamine", "formats", "Reading spreadsheets"):
        import python_calamine as calamine

    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            sheets = [sheet.to_python() for sheet in map(book.get_sheet_by_name, book.sheet_names)]
    except (calamine.CalamineError, OSError):
        raise DataError(f"{path.name} must be a spreadsheet; found one that cannot be read.") from None
    filled = [sheet for sheet in sheets if sheet]
    if len(filled) != 1:
        found = f"{len(filled)} that do" if filled else "none that does"
        raise DataError(
            f"{path.name} must hold one sheet with cells; found {found}. Save the sheet as a file of "
            "its own."
        )
    first, *rows = filled[0]
    records = [
        [None if cell == "" else cell for cell in row] for row in rows if any(c != "" for c in row)
    ]
    header = tuple(map(_label, first))
    return CellFile(header, lambda places: [[row[place] for row in records] for place in places])


def _label(cell: Any) -> str:
    """A label of the header: a whole number without a point, a moment as in ISO 8601."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    if isinstance(cell, time):
        return cell.isoformat("minutes" if not cell.second else "seconds")
    if isinstance(cell, date):
        return cell.isoformat().removesuffix("T00:00:00")
    return str(cell).strip()


def open_statistics(path: Path) -> CellFile:
    """Open a file of Stata, SPSS or SAS.

    Raises DataError if it is none. Raises MissingExtraError without pyreadstat.
    """
    with needed("pyreadstat", "formats", "Reading files of Stata, SPSS and SAS"):
        import pyreadstat

    read = getattr(pyreadstat, STATISTICS[path.suffix.lower()])

    def opened(**asked: Any) -> Any:
        try:
            return read(str(path), output_format="dict", **asked)
        except Exception:
            # Its own message may hold what the file does.
            words = f"{path.name} must be a file of Stata, SPSS or SAS; found one that cannot be read."
            raise DataError(words) from None

    header = tuple(opened(metadataonly=True)[1].column_names)

    def columns(places: Sequence[int]) -> list[list[object]]:
        names = [header[place] for place in places]
        held, _ = opened(usecols=list(dict.fromkeys(names)))
        return [list(held[name]) for name in names]

    return CellFile(header, columns)
