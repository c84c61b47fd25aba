"""Spreadsheets, and files of statistics packages: cells as they are held, each read by itself.

- *Spreadsheets* (.xlsx, .xlsm, .xls, .xlsb, .ods): one sheet, whose first row is the header. A cell has
  a type of its own. A row without a cell is no record, as an empty line of text is none.
- *Stata, SPSS, SAS* (.dta, .sav, .zsav, .por, .sas7bdat, .xpt): a column has a type, and values that the
  file calls missing are. Codes are read as codes, not as their labels. A column is one of moments where
  its format, which is public, says so; each is then a number of days or seconds after the package's own
  beginning, so that none is too far for a date.

Then `dpfda.records.cells` says what is a number; text is read as in a text table; moments are numbers
only where dates are stated.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

import numpy as np

from dpfda.numerics.errors import DataError, needed
from dpfda.records.cells import NO_DATE, Dates, UnreadableCellError, cell_number, is_missing
from dpfda.records.csv_tables import Stated, Table
from dpfda.records.lines import Notation
from dpfda.records.parquet_tables import each_number, label_of, settle

if TYPE_CHECKING:
    from pyreadstat import metadata_container

    # Columns of a file, and what it says of them.
    Held: TypeAlias = tuple[Mapping[str, Sequence[object]], metadata_container]

SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
# The function of pyreadstat that reads each.
STATISTICS = {
    ".dta": "read_dta", ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por",
    ".sas7bdat": "read_sas7bdat", ".xpt": "read_xport",
}  # fmt: skip


# Formats of dates, with the days that one unit has, and when units begin.
MOMENTS: dict[str, tuple[tuple[re.Pattern[str], float], ...]] = {
    ".dta": ((re.compile("%-?t[dD]"), 1.0), (re.compile("%-?t[cC]"), 1 / 86_400_000)),
    ".sav": ((re.compile("[AESJ]?DATE|DATETIME|YMDHMS|MOYR|QYR|WKYR"), 1 / 86_400),),
    ".sas7bdat": (
        (re.compile("DATETIME|DATEAMPM|[BE]8601D[TNXZ]|DTDATE|MDYAMPM"), 1 / 86_400),
        (re.compile("DATE|(YY|DD)MM[YD][DY]|MMDDYY|[BE]8601DA|MONYY|WORDDAT|WEEKDAT|JULIAN|DAY"), 1.0),
    ),
}  # fmt: skip
MOMENTS |= {".zsav": MOMENTS[".sav"], ".por": MOMENTS[".sav"], ".xpt": MOMENTS[".sas7bdat"]}
BEGINNING = datetime(1960, 1, 1)
OF_SPSS = datetime(1582, 10, 14)
# Where a row or a cell of .xlsx lies. So many places for each that is filled, and so many anyway, may be
# between the first and the last: room is made for all of them, which a far one alone would exhaust.
ADDRESS = re.compile(rb"""\br=["']([A-Za-z]{0,9})([0-9]{1,18})["']""")
SPARSE, ANYWAY = 20, 2**22
PIECE, LONGEST = 2**20, 40


@dataclass(frozen=True, repr=False, eq=False)
class CellFile:
    """An opened file of cells. Private but for its header.

    columns: Columns at these positions, each a list of cells.
    moments: Positions of columns that hold numbers for moments: days a unit, and when units begin.
    """

    header: tuple[str, ...]
    columns: Callable[[Sequence[int]], Sequence[Sequence[object]]]
    moments: Mapping[int, tuple[float, datetime]] = field(default_factory=dict)

    def read(
        self, numbers: Sequence[int], labels: Sequence[int], dated: Sequence[int], stated: Stated
    ) -> Table:
        """Read the columns at these positions, as `dpfda.records.csv_tables.TextFile.read` does.

        Raises DataError if a cell is no number, with its row, counted from 1, and the column; or if a
        column of moments is not said to hold dates.
        """
        for place in numbers:
            if place in self.moments and (stated.dates is None or place not in dated):
                raise DataError(
                    f"Column {self.header[place]!r} must hold numbers; found dates. State $dates "
                    "where it holds times.",
                )
        columns = self.columns([*numbers, *labels])
        values, wrong = np.empty((len(columns[0]), len(numbers))), dict[tuple[int, int], str]()
        for target, place in enumerate(numbers):
            dates, of_file = stated.dates if place in dated else None, self.moments.get(place)
            read = partial(_number, notation=stated.notation, dates=dates, of_file=of_file)
            values[:, target], unreadable = each_number(columns[target], read)
            wrong |= {(row, target): kind for row, kind in unreadable.items()}
        settle(values, wrong, [self.header[place] for place in numbers], 0, stated)
        named = [
            [label_of(cell, stated.notation) for cell in column] for column in columns[len(numbers) :]
        ]
        return Table(values, named)


def _number(
    cell: object, notation: Notation, dates: Dates | None, of_file: tuple[float, datetime] | None
) -> float:
    if dates is not None and of_file is not None:
        days, begins = of_file
        return dates.days_to(begins) + days * cell_number(cell)
    if isinstance(cell, str):
        return notation.number(cell, dates)
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
    with needed("python-calamine", "sheets", "Reading spreadsheets"):
        import python_calamine as calamine

    with suppress(zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError):
        # Other formats than .xlsx and what is damaged have no such sheets.
        if any(map(_absurd, _sheets(path))):
            raise DataError(
                f"{path.name} must hold one table; found cells that lie far from all others. Copy the "
                "table into a new sheet, or save it as CSV."
            )
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            sheets = [sheet.to_python() for sheet in map(book.get_sheet_by_name, book.sheet_names)]
    except (calamine.CalamineError, OSError):
        raise DataError(f"{path.name} must be a spreadsheet; found one that cannot be read.") from None
    filled = [sheet for sheet in sheets if sheet]
    if len(filled) != 1:
        number = f"{len(filled)} that do" if filled else "none that does"
        raise DataError(
            f"{path.name} must hold one sheet with cells; found {number}. Save the sheet as a file of "
            "its own."
        )
    first, *rows = filled[0]
    records = [
        [None if cell == "" else cell for cell in row] for row in rows if any(c != "" for c in row)
    ]
    header = tuple(map(_label, first))
    return CellFile(header, lambda places: [[row[place] for row in records] for place in places])


def _sheets(path: Path) -> Iterator[Iterator[list[tuple[bytes, bytes]]]]:
    """Addresses in each sheet of .xlsx, some at a time."""
    with zipfile.ZipFile(path) as book:
        for name in book.namelist():
            if name.startswith("xl/worksheets/"):
                with book.open(name) as sheet:
                    yield _addresses(sheet)


def _addresses(sheet: IO[bytes]) -> Iterator[list[tuple[bytes, bytes]]]:
    rest = b""
    while piece := sheet.read(PIECE):
        yield ADDRESS.findall(rest + piece)
        # One may begin in this piece and end in the next.
        rest = piece[-LONGEST:]


def _absurd(addresses: Iterator[list[tuple[bytes, bytes]]]) -> bool:
    """Whether a table between the first and the last address would be almost empty."""
    columns, rows, filled = {b""}, 0, 0
    for some in addresses:
        columns |= {letters for letters, _ in some}
        rows = max(rows, *map(int, {row for _, row in some}), 0)
        filled += len(some)
    return rows * max(_place(name.upper()) for name in columns) > SPARSE * filled + ANYWAY


def _place(letters: bytes) -> int:
    """Number of a column from its letters."""
    place = 0
    for letter in letters:
        place = 26 * place + letter - 64
    return place


def _label(cell: object) -> str:
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

    read: Callable[..., Held] = getattr(pyreadstat, STATISTICS[path.suffix.lower()])

    def opened(**options: object) -> Held:
        try:
            # Moments stay numbers: one that is too far for a date would make all of the file unreadable.
            return read(str(path), output_format="dict", disable_datetime_conversion=True, **options)
        except Exception:
            # Its own message may hold what the file does.
            words = f"{path.name} must be a file of Stata, SPSS or SAS; found one that cannot be read."
            raise DataError(words) from None

    about = opened(metadataonly=True)[1]
    header, suffix = tuple(about.column_names), path.suffix.lower()
    begins = OF_SPSS if MOMENTS[suffix] is MOMENTS[".sav"] else BEGINNING
    moments = {
        place: (days, begins)
        for place, name in enumerate(header)
        for days in _days_of(about.original_variable_types.get(name) or "", suffix)
    }

    def columns(places: Sequence[int]) -> list[list[object]]:
        names = [header[place] for place in places]
        cells, _ = opened(usecols=list(dict.fromkeys(names)))
        return [list(cells[name]) for name in names]

    return CellFile(header, columns, moments)


def _days_of(written: str, suffix: str) -> list[float]:
    """The days that one unit of a column with this format has; none if it is none of moments."""
    return [days for form, days in MOMENTS[suffix] if form.match(written)][:1]
