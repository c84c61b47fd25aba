"""Spreadsheets and files of statistics packages, against the same table as text."""

import zipfile
from datetime import date, datetime, time
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat
import pytest

from dpfda.errors import DataError, OrientationError, ParameterError
from dpfda.records.files import read_curves
from dpfda.records.foreign_tables import open_spreadsheet

HEADER = ["who", "seen", "y1", "y2"]
ROWS = [
    ["a", date(2024, 3, 1), 1.5, -99],
    ["b", date(2024, 3, 2), None, 2],
    ["b", None, 3.25, 4],
]


def spreadsheet(path: Path, header: list[object], *rows: list[object]) -> Path:
    book = openpyxl.Workbook()
    for row in (header, *rows):
        book.active.append(row)
    book.save(path)
    return path


@pytest.fixture(params=["t.csv", "t.xlsx", "t.dta", "t.sav", "t.xpt"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    frame = pd.DataFrame(ROWS, columns=HEADER)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".xlsx":
        spreadsheet(path, HEADER, *ROWS)
    else:
        write = {
            ".dta": pyreadstat.write_dta,
            ".sav": pyreadstat.write_sav,
            ".xpt": pyreadstat.write_xport,
        }
        write[path.suffix](frame, str(path))
    return path


def test_each_reads_what_the_text_reads(table: Path) -> None:
    found = read_curves(table, columns="y*", groups="who", na=("-99",), numbers=[], labels=[])
    np.testing.assert_array_equal(found.data, [[1.5, np.nan], [np.nan, 2], [3.25, 4]])
    assert found.groups is not None
    assert list(found.groups) == ["a", "b", "b"]
    assert found.header == tuple(HEADER)


def test_dates_are_days(table: Path) -> None:
    found = read_curves(
        table, id="who", time="seen", value="y2", dates="iso", since="2024-02-28", na=("-99",)
    )
    np.testing.assert_array_equal(found.data.times, [2, 3, np.nan])
    np.testing.assert_array_equal(found.data.values, [np.nan, 2, 4])


def test_a_header_of_times_or_numbers_is_the_grid(tmp_path: Path) -> None:
    rows: list[list[object]] = [[1, 2, 3], [4, 5, 6]]
    times = spreadsheet(tmp_path / "a.xlsx", [time(0), time(6, 30), time(13)], *rows)
    assert read_curves(times).grid_points.tolist() == [0, 6.5, 13]
    assert read_curves(times).axis == "clock"
    numbers = spreadsheet(tmp_path / "b.xlsx", [0.0, 1, 2.5], *rows, [None, None, None])
    assert read_curves(numbers).header == ("0", "1", "2.5")
    assert len(read_curves(numbers).data) == 2, "a row without cells is no record"


def test_what_is_no_number_is_named_by_its_place(tmp_path: Path) -> None:
    path = spreadsheet(
        tmp_path / "a.xlsx", ["y1", "y2"], [1, 2], [3, datetime(2024, 1, 1)], [4, "secret"]
    )
    with pytest.raises(DataError, match="Row 2, column 'y2' must hold a number") as refused:
        read_curves(path)
    assert "2024" not in str(refused.value)
    repaired = read_curves(path, invalid="repair").data
    np.testing.assert_array_equal(repaired, [[1, 2], [np.inf, np.inf], [np.inf, np.inf]])


@pytest.mark.parametrize("name", ["a.xlsx", "a.ods", "a.sav", "a.dta", "a.sas7bdat", "a.xpt"])
def test_damaged_files_are_refused_in_our_words(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"secret 4711 " * 99)
    with pytest.raises(DataError, match=f"{name} must be a .*found one that cannot be read") as refused:
        read_curves(path)
    assert "4711" not in str(refused.value)


def test_a_workbook_has_one_sheet(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["y1", "y2"])
    book.create_sheet("notes")
    book.save(tmp_path / "one.xlsx")
    with pytest.raises(DataError, match="must hold records below its header"):
        read_curves(tmp_path / "one.xlsx")
    book["notes"].append(["more"])
    book.save(tmp_path / "two.xlsx")
    with pytest.raises(
        DataError, match=r"must hold one sheet with cells; found 2 that do. Save the sheet"
    ):
        read_curves(tmp_path / "two.xlsx")
    with pytest.raises(ParameterError, match=r"path must end in \.csv.*\.xlsx.*\.dta"):
        read_curves(tmp_path / "two.doc")


@pytest.mark.parametrize("place", ["XFD1048576", "DZ1048576", "XFD2", "ZZZZZZ2", "A99999999999999"])
def test_a_cell_far_from_all_others_is_refused_before_room_is_made(tmp_path: Path, place: str) -> None:
    path = spreadsheet(tmp_path / "t.xlsx", HEADER, *([f"p{i}", None, 1.5, 2] for i in range(40)))
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    assert b'r="D41"' in parts[sheet]
    parts[sheet] = parts[sheet].replace(b'r="D41"', f'r="{place}"'.encode())
    with zipfile.ZipFile(path, "w") as book:
        for name, text in parts.items():
            book.writestr(name, text)
    if place == "XFD2":
        # Wide, and soon read.
        assert len(open_spreadsheet(path).header) == 16384
        return
    with pytest.raises(DataError, match=r"t\.xlsx must hold one table; found cells that lie far"):
        read_curves(path, columns="y*", groups="who")


def test_a_record_for_a_header_is_refused(tmp_path: Path) -> None:
    rows = [[0.1, 0.3, 0.7], [0.05, 0.2, 0.6], [0.15, 0.4, 0.8], [0.02, 0.35, 0.75]]
    path = spreadsheet(tmp_path / "a.xlsx", *rows)
    with pytest.raises(OrientationError, match="looks like the increasing curves below it"):
        read_curves(path)


@pytest.mark.parametrize("name", ["t.dta", "t.sav", "t.xpt"])
def test_a_moment_that_is_too_far_for_a_date_is_one_record_s(tmp_path: Path, name: str) -> None:
    """The package that reads these files would refuse all of the file for one cell."""
    path, form = tmp_path / name, {"dta": "%td", "sav": "DATE11", "xpt": "DATE9"}[name[2:]]
    write = {"dta": pyreadstat.write_dta, "sav": pyreadstat.write_sav, "xpt": pyreadstat.write_xport}
    days = np.array([1.0, 2.0, 1e12])
    units = days * 86_400 if name == "t.sav" else days
    frame = pd.DataFrame({"who": ["a", "b", "c"], "seen": units, "y1": [1.0, 2, 3]})
    write[name[2:]](frame, str(path), variable_format={"seen": form})
    since = "1582-10-14" if name == "t.sav" else "1960-01-01"
    found = read_curves(path, id="who", time="seen", value="y1", dates="iso", since=since)
    np.testing.assert_allclose(found.data.times, days)  # type: ignore[union-attr]
    with pytest.raises(DataError, match=r"Column 'seen' must hold numbers; found dates"):
        read_curves(path, columns=["seen", "y1"])
