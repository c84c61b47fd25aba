"""What stands for a missing value, where it is stated: read alike by all readers of a file."""

from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from dpfda.errors import DataError, ParameterError
from dpfda.records import csv_tables, lines
from dpfda.records.files import read_curves
from dpfda.records.lines import Notation

CELLS = ["k.A.", "-99", " -99", "-99 ", "-99.0", "99", "NA", "", "1.5", " 2 ", "k.a.", "-9", "-999"]
STATED = ("k.A.", "-99")


@pytest.mark.parametrize("na", [(), ("k.A.",), ("-99",), STATED])
def test_lines_read_together_are_as_lines_read_by_themselves(
    na: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(f"{na}")  # noqa: S311 - no secret
    rows = [[rng.choice(CELLS) for _ in range(4)] for _ in range(300)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(map(",".join, [["y1", "y2", "y3", "who"], *rows])))

    def read() -> tuple[np.ndarray, list[object]]:
        found = read_curves(path, columns="y*", groups="who", na=na, invalid="repair")
        return np.asarray(found.data), list(found.groups)  # type: ignore[arg-type]

    monkeypatch.setattr(csv_tables, "SMALL", 0)
    together = read()
    monkeypatch.setattr(lines, "MOST_COUNTED", -1)
    apart = read()
    np.testing.assert_array_equal(together[0], apart[0])
    assert together[1] == apart[1]
    # Each cell by the rule in words: stated text, blanks around it taken off, is missing.
    for row, read_row, who in zip(rows, together[0], together[1], strict=True):
        words = [cell.strip() for cell in row]
        known = {"", "NA", *na}
        assert who == (None if words[3] in known else words[3])
        if all(word in known or word.lstrip("-").replace(".", "").isdigit() for word in words[:3]):
            expected = [np.nan if word in known else float(word) for word in words[:3]]
            np.testing.assert_array_equal(read_row, expected)
        else:
            assert np.isinf(read_row).all()


def test_codes_are_missing_in_columns_of_numbers(tmp_path: Path) -> None:
    columns = {
        "y1": [1, -99, 3],
        "y2": [-99.0, 2.5, None],
        "y3": ["k.A.", "-99", "7"],
        "who": ["a", "-99", "b"],
    }
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table(columns), path)
    found = read_curves(path, columns="y*", groups="who", na=STATED, invalid="repair")
    nan = np.nan
    np.testing.assert_array_equal(found.data, [[1, nan, nan], [nan, 2.5, nan], [3, nan, 7]])
    assert list(found.groups) == ["a", None, "b"]  # type: ignore[arg-type]


def test_dates_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,seen,value\na,2024-01-03,1\na,k.A.,2\n")
    found = read_curves(
        path, id="id", time="seen", value="value", dates="iso", since="2024-01-01", na=STATED
    )
    np.testing.assert_array_equal(found.data.times, [2, np.nan])  # type: ignore[union-attr]


def test_words(tmp_path: Path) -> None:
    for wrong in (("",), (" NA",), ("a ",)):
        with pytest.raises(ParameterError, match="na must be words, without blanks around them"):
            Notation(na=wrong)
    path = tmp_path / "a.csv"
    path.write_text("y1,y2\n1,k.A.\n")
    with pytest.raises(DataError, match=r"say what stands for a missing value, as in na=\('k.A.',\)"):
        read_curves(path)
