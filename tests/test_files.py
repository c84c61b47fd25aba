"""Reading curves from files: both ways give one result, and messages say all but the cells."""

import csv
import gzip
import math
import sys
import time
import traceback
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from dpfda import PrivateMean, Reading
from dpfda.errors import (
    DataError,
    DpfdaError,
    MissingExtraError,
    OrientationError,
    ParameterError,
)
from dpfda.records import LongCurves, csv_tables
from dpfda.records import lines as plain_lines
from dpfda.records.cells import MISSING
from dpfda.records.csv_tables import Columns, TextFile, read_chunk, read_line
from dpfda.records.files import TableCurves, read_curves
from dpfda.records.lines import UnreadableLineError, split_cells

Write = Callable[..., Path]


@pytest.fixture(autouse=True, scope="module")
def together():
    """Of few bytes, too, plain lines are read together: what holds for them holds for many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_tables, "SMALL", 0)
        yield


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write text or bytes to a file of this name."""

    def written(content: str | bytes, name: str = "curves.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


def refused(error: type[DpfdaError], path: Path, *words: str, **options: Any) -> str:
    """The message of a refusal, which holds all these words."""
    with pytest.raises(error) as caught:
        read_curves(path, **options)
    message = str(caught.value)
    for word in words:
        assert word in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


class TestWideLayout:
    def test_numeric_header_is_the_grid(self, write: Write) -> None:
        table = read_curves(write("0,0.5,2\n1,2,3\n4,NA,-6e-1\n"))
        np.testing.assert_array_equal(table.grid_points, [0, 0.5, 2])
        np.testing.assert_array_equal(table.data, [[1, 2, 3], [4, np.nan, -0.6]])
        assert table.groups is None

    def test_numbered_words_are_a_family_without_grid(self, write: Write) -> None:
        table = read_curves(write("cca_1,cca_2,cca_10\n1,2,3\n"))
        assert table.grid_points is None
        np.testing.assert_array_equal(table.data, [[1, 2, 3]])

    def test_groups_column_is_left_out_of_the_curve(self, write: Write) -> None:
        path = write("0,1,who,2\n1,2, ann ,3\n4,5,bo,6\n")
        table = read_curves(path, groups="who")
        np.testing.assert_array_equal(table.grid_points, [0, 1, 2])
        np.testing.assert_array_equal(table.data, [[1, 2, 3], [4, 5, 6]])
        assert list(table.groups) == ["ann", "bo"]
        assert table.groups.dtype == object

    @pytest.mark.parametrize(
        "columns", ["c_*", ["c_2", "c_1"], ["c_[2]", "c_*"], ("c_1", "c_?")], ids=str
    )
    def test_columns_are_taken_in_file_order(self, write: Write, columns: Any) -> None:
        table = read_curves(write("id,c_1,other,c_2\n9,1,word,2\n9,3,word,4\n"), columns=columns)
        np.testing.assert_array_equal(table.data, [[1, 2], [3, 4]])

    def test_a_label_with_glob_characters_is_found_as_it_is(self, write: Write) -> None:
        table = read_curves(write("a*,ab,[x]\n1,2,3\n"), columns=["a*", "[x]"])
        np.testing.assert_array_equal(table.data, [[1, 3]])

    @pytest.mark.parametrize("columns", ["b..d", "d..b", ["b", "who..d"]])
    def test_a_range_takes_neighbours_in_file_order(self, write: Write, columns: Any) -> None:
        table = read_curves(write("a,b,who,d,e\n9,1,7,2,9\n"), columns=columns, groups="who")
        np.testing.assert_array_equal(table.data, [[1, 2]])

    def test_a_label_with_dots_is_no_range(self, write: Write) -> None:
        table = read_curves(write("a,b,a..b\n1,2,3\n"), columns=["a", "a..b"])
        np.testing.assert_array_equal(table.data, [[1, 3]])

    def test_a_glob_leaves_the_groups_column_out(self, write: Write) -> None:
        table = read_curves(write("who,a,b\n7,1,2\n"), columns="*", groups="who")
        np.testing.assert_array_equal(table.data, [[1, 2]])
        assert list(table.groups) == ["7"]

    @pytest.mark.parametrize(
        "word", ["", "NA", "NaN", "nan", "null", "NULL", "None", "N/A", "n/a", " NA ", '"NA"', '""']
    )
    def test_missing_words(self, write: Write, word: str) -> None:
        table = read_curves(write(f"0,1,2\n1,{word},3\n"))
        np.testing.assert_array_equal(table.data, [[1, np.nan, 3]])

    def test_infinite_cells_are_passed_on(self, write: Write) -> None:
        table = read_curves(write("0,1,2,3\ninf,-inf,Infinity,+INF\n"))
        np.testing.assert_array_equal(table.data, [[np.inf, -np.inf, np.inf, np.inf]])

    def test_byte_order_mark_line_ends_and_empty_lines(self, write: Write) -> None:
        plain = read_curves(write("0,1\n1,2\n3,4\n", "plain.csv"))
        dressed = read_curves(write(b"\xef\xbb\xbf0,1\r\n\r\n1,2\r\n\r\n\r\n3,4", "dressed.csv"))
        np.testing.assert_array_equal(plain.data, dressed.data)
        np.testing.assert_array_equal(dressed.grid_points, [0, 1])
        named = read_curves(write("\ufeffcca_1,cca_2\n1,2\n", "named.csv"), columns=["cca_1", "cca_2"])
        np.testing.assert_array_equal(named.data, [[1, 2]])

    @pytest.mark.parametrize(
        ("name", "delimiter"),
        [
            ("a.csv", ","),
            ("a.csv", ";"),
            ("a.txt", "\t"),
            ("a.txt", ";"),
            ("a.tsv", "\t"),
            ("a.CSV", ","),
        ],
    )
    def test_delimiter_is_that_of_the_header(self, write: Write, name: str, delimiter: str) -> None:
        path = write("0,1,2\n1,,3\n4,5,6\n".replace(",", delimiter), name)
        table = read_curves(path)
        np.testing.assert_array_equal(table.data, [[1, np.nan, 3], [4, 5, 6]])
        np.testing.assert_array_equal(table.grid_points, [0, 1, 2])

    def test_compressed_text(self, write: Write) -> None:
        table = read_curves(write(gzip.compress(b"0,1\n1,2\n3,4\n"), "curves.csv.gz"))
        np.testing.assert_array_equal(table.data, [[1, 2], [3, 4]])

    def test_quoted_labels_may_hold_delimiters(self, write: Write) -> None:
        path = write('"who; or what","x,1","x,2"\n"a;b",1,2\n"c,d",3,4\n')
        table = read_curves(path, columns="x,*", groups="who; or what")
        np.testing.assert_array_equal(table.data, [[1, 2], [3, 4]])
        assert list(table.groups) == ["a;b", "c,d"]

    def test_content_is_not_printed(self, write: Write) -> None:
        table = read_curves(write("0,1,who\n12345,67890,ann\n"), groups="who")
        assert repr(table) == "TableCurves(content private)"


class TestOrientation:
    def test_words_of_several_families(self, write: Write) -> None:
        header = "ID,visit,case," + ",".join(f"cca_{i}" for i in range(1, 94))
        path = write(header + "\n" + ",".join(["5"] * 96) + "\n")
        refused(
            OrientationError, path, "one family", "'ID', 'visit', 'case', 'cca_1'..'cca_93'",
            "columns='cca_*'", "as groups",
        )  # fmt: skip

    def test_suggested_glob_matches_its_family_alone(self, write: Write) -> None:
        message = refused(OrientationError, write("case,c1,c2,c3\n1,2,3,4\n"), "Select the columns")
        assert "columns='c[0-9]*'" in message

    def test_words_without_numbers(self, write: Write) -> None:
        refused(OrientationError, write("Jan,Feb,Mar\n1,2,3\n"), "'Jan', 'Feb', 'Mar'", "columns='*'")
        table = read_curves(write("Jan,Feb,Mar\n1,2,3\n"), columns="*")
        np.testing.assert_array_equal(table.data, [[1, 2, 3]])

    @pytest.mark.parametrize("columns", [None, "*"])
    def test_numbers_and_words(self, write: Write, columns: str | None) -> None:
        path = write("ID,1,2,3\n7,1,2,3\n")
        refused(
            OrientationError, path, "words in column 1 and numbers in columns 2-4", "columns='[0-9]*'",
            "as groups", columns=columns,
        )  # fmt: skip
        np.testing.assert_array_equal(read_curves(path, columns="[0-9]*").grid_points, [1, 2, 3])

    @pytest.mark.parametrize("label", ["t", "time", "Time", "x", "arg", "argvals"])
    def test_curves_in_columns(self, write: Write, label: str) -> None:
        path = write(f"{label},s1,s2,s3\n0,1,2,3\n0.5,1,2,3\n1,1,2,3\n")
        for columns in (None, "s*"):
            message = refused(
                OrientationError, path, f"first column called {label!r}", "curves in columns",
                "Transpose", columns=columns,
            )  # fmt: skip
            assert "rename that column" in message

    def test_a_first_column_x_that_is_selected_is_a_point(self, write: Write) -> None:
        table = read_curves(write("x,x1,x2\n0,1,2\n"), columns="x*")
        np.testing.assert_array_equal(table.data, [[0, 1, 2]])

    def test_row_names_of_r_are_no_argument(self, write: Write) -> None:
        table = read_curves(write("X,s1,s2\n1,5,6\n2,7,8\n"), columns="s*")
        np.testing.assert_array_equal(table.data, [[5, 6], [7, 8]])

    @pytest.mark.parametrize("header", ["3.5,2.25,7.125", "1,1.0,2", "5,4,3"])
    def test_header_that_does_not_increase(self, write: Write, header: str) -> None:
        path = write(header + "\n1,2,3\n4,5,6\n")
        message = refused(
            OrientationError, path, "strictly increase", "header line is missing", "one person's"
        )
        assert not set(header.split(",")) & set(message.replace(";", " ").split())

    @given(
        curves=st.lists(
            st.lists(st.floats(0.125, 8, width=32), min_size=5, max_size=5, unique=True).map(sorted),
            min_size=30, max_size=30,
        )
    )  # fmt: skip
    @settings(max_examples=20, deadline=None)
    def test_missing_header_of_increasing_curves(
        self, tmp_path_factory: pytest.TempPathFactory, curves: list[list[float]]
    ) -> None:
        """A record within the range of the others is not taken for the grid."""
        median = np.median(curves, axis=0)
        if (np.diff(median) <= 0).any():
            return
        path = tmp_path_factory.mktemp("growth") / "curves.csv"
        path.write_text("\n".join(",".join(map(repr, map(float, row))) for row in [median, *curves]))
        refused(OrientationError, path, "looks like the increasing curves below it", "columns='*'")
        assert read_curves(path, columns="*").data.shape == (30, 5)
        # Unattended, nothing may depend on values.
        assert read_curves(path, invalid="repair").data.shape == (30, 5)

    GROWTH = np.cumsum(np.random.default_rng(5).uniform(2, 9, (40, 8)), axis=1).round(3) + 70

    def test_missing_header_where_columns_are_chosen_by_a_pattern(self, write: Write) -> None:
        """A pattern that the refusal of mixed labels suggests does not say that there is a header."""
        median = self.GROWTH[np.argsort(self.GROWTH[:, -1])[20]]
        rows = [f"P{i}," + ",".join(map(str, row)) for i, row in enumerate([median, *self.GROWTH])]
        path = write("\n".join(rows))
        for columns in ("[0-9]*", ["[0-9]*"], ["*.*", str(median[0])]):
            message = refused(
                OrientationError,
                path,
                "looks like the increasing curves",
                "stating the grid",
                columns=columns,
            )
            assert not any(str(value) in message for value in median)
        labels = [str(value) for value in median]
        assert read_curves(path, columns=labels).data.shape == (40, 8)
        assert read_curves(path, columns="[0-9]*", grid=median).data.shape == (40, 8)

    def test_increasing_curves_below_a_true_grid_are_read(self, write: Write) -> None:
        ages = np.arange(1, 19)
        heights = 75 + 6 * ages + np.arange(20)[:, None]
        lines = [",".join(map(str, row)) for row in [ages, *heights]]
        assert read_curves(write("\n".join(lines))).data.shape == (20, 18)

    def test_a_header_that_is_no_date_is_not_shown(self, write: Write) -> None:
        """Where the header line is missing it is somebody's values."""
        path = write("37.4375,38.5625\n36,37\n")
        message = refused(OrientationError, path, "column 1 of the curve", dates="iso")
        assert "4375" not in message

    def test_dates_in_the_place_of_numbers_are_to_be_stated(self, write: Write) -> None:
        path = write("who,t,y\na,2024-03-01,1\n")
        long = {"id": "who", "time": "t", "value": "y"}
        message = refused(DataError, path, "Line 2, column 't'", "dates='iso'", **long)
        assert "2024" not in message
        assert "dates=" not in refused(DataError, write("who,t,y\na,soon,1\n"), "Line 2", **long)

    def test_one_column_names_the_delimiters_that_there_may_be(self, write: Write) -> None:
        refused(DataError, write("a\n1\n"), "must be a comma, a semicolon or a tab")
        refused(DataError, write("a\n1\n"), "must be a semicolon or a tab", decimal=",")

    def test_labels_twice(self, write: Write) -> None:
        refused(OrientationError, write("a1,a2,a1\n1,2,3\n"), "same label in columns 1 and 3")
        message = refused(OrientationError, write("0.4375,2,0.4375\n1,2,3\n"), "columns 1 and 3")
        assert "4375" not in message

    def test_numbered_columns_in_the_order_of_the_alphabet(self, write: Write) -> None:
        path = write("y1,y10,y2\n1,2,3\n")
        refused(OrientationError, path, "in the order of their numbers")
        refused(OrientationError, path, "in the order of their numbers", columns="y*")

    def test_commas_alone_divide_no_columns_where_they_are_decimal_signs(self, write: Write) -> None:
        path = write('ID,0,1\na,"1,5","2,5"\n')
        refused(OrientationError, path, "must hold semicolons or tabs", decimal=",")

    def test_decimal_commas_in_the_header(self, write: Write) -> None:
        message = refused(OrientationError, write("0,25;0,5\n1;2\n"), "commas and semicolons")
        assert "25" not in message
        message = refused(OrientationError, write('"0,25";"0,5"\n1;2\n'), "comma in column 1")
        assert "25" not in message

    def test_two_delimiters(self, write: Write) -> None:
        refused(OrientationError, write("a;b,c\td\n"), "found commas and semicolons and tabs")

    def test_words_that_python_reads_as_numbers_are_words(self, write: Write) -> None:
        for label in ("nan", "inf", "1_000", "1e999"):
            refused(OrientationError, write(f"1,2,{label}\n1,2,3\n"), "words in column 3")


class TestFilesAndLabels:
    def test_file_that_is_not_there(self, tmp_path: Path) -> None:
        refused(ParameterError, tmp_path / "none.csv", "path must name an existing file", "none.csv")

    def test_folder(self, tmp_path: Path) -> None:
        (tmp_path / "folder.csv").mkdir()
        refused(ParameterError, tmp_path / "folder.csv", "path must name a file", "the folder")

    def test_file_that_may_not_be_read(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write("0,1\n1,2\n")

        def denied(*_: Any, **__: Any) -> None:
            raise PermissionError

        monkeypatch.setattr(Path, "open", denied)
        refused(ParameterError, path, "path must name a file that may be read", "permissions")

    @pytest.mark.parametrize("name", ["a.doc", "a", "a.parquet.gz", "a.gz", "csv"])
    def test_ending(self, write: Write, name: str) -> None:
        refused(
            ParameterError, write("0,1\n1,2\n", name), "path must end in .csv", ".parquet, .pq", name
        )

    @pytest.mark.parametrize("content", ["", "\n", "\n\r\n\n", "\ufeff"])
    def test_empty_file(self, write: Write, content: str) -> None:
        refused(DataError, write(content), "found an empty file")

    @pytest.mark.parametrize("invalid", ["refuse", "repair"])
    @pytest.mark.parametrize("content", ["0,1,2", "0,1,2\n", "y1,y2\n\n\n"])
    def test_header_alone(self, write: Write, content: str, invalid: str) -> None:
        refused(DataError, write(content), "found a header alone", "add a header line", invalid=invalid)

    def test_one_column(self, write: Write) -> None:
        path = write("y1|y2\n1|2\n")
        refused(DataError, path, "at least two columns; found 1", "a comma, a semicolon", columns="*")
        several = write("age,sex\n1,2\n")
        refused(DataError, several, "at least two columns; found 1", "a density or quan", columns="age")

    def test_damaged_gzip(self, write: Write) -> None:
        whole = gzip.compress(b"0,1\n" + b"1,2\n" * 5000)
        refused(DataError, write(whole[: len(whole) // 2], "a.csv.gz"), "breaks off or is damaged")
        refused(DataError, write(b"0,1\n1,2\n", "b.csv.gz"), "breaks off or is damaged")

    def test_bytes_that_are_no_text(self, write: Write) -> None:
        refused(DataError, write("0,1\n1,2\n".encode("utf-16")), "UTF-8")
        refused(DataError, write("0,1\n1,2\n".encode("utf-16-le")), "UTF-8")
        refused(DataError, write("0,1\r\n1,2\r\n".encode("utf-16")), "UTF-8")
        refused(DataError, write("gr\u00f6\u00dfe1,gr\u00f6\u00dfe2\n1,2\n".encode("latin-1")), "UTF-8")
        refused(DataError, write(b"0,1\n1,2\n3,\xff\xfe\n"), "Line 3, column '1'", "not UTF-8")
        refused(
            DataError,
            write(b"0,1,who\n1,2,a\n3,4,\xff\n"),
            "Line 3, column 'who'",
            "UTF-8",
            groups="who",
        )

    def test_bytes_in_columns_that_are_not_read_do_not_matter(self, write: Write) -> None:
        table = read_curves(write(b"y1,y2,note\n1,2,\xff\n"), columns="y*")
        np.testing.assert_array_equal(table.data, [[1, 2]])

    def test_line_ends_of_old_macintosh(self, write: Write) -> None:
        refused(DataError, write("0,1\r1,2\r3,4\r"), "found CR alone")

    def test_unknown_labels_and_near_matches(self, write: Write) -> None:
        path = write("Person,cca_1,cca_2\na,1,2\n")
        refused(
            ParameterError, path, "groups must be the label", "'persn'", "mean 'Person'", groups="persn"
        )
        refused(ParameterError, path, "'PERSON'", "Did you mean 'Person'?", groups="PERSON")
        refused(ParameterError, path, "columns must be", "Did you mean 'cca_", columns="cca_3")
        refused(ParameterError, path, "For several columns give a pattern, such as 'cca_*'",
                columns="cca_1:cca_2")  # fmt: skip
        refused(ParameterError, path, "columns must be the label", columns="cca_1..cca_9")
        refused(
            ParameterError, path, "columns must match at least one column", "'fa_*'",
            "The columns are 'Person', 'cca_1'..'cca_2'", columns="fa_*",
        )  # fmt: skip
        refused(ParameterError, path, "columns must match", "'fa_*'", columns=["cca_1", "fa_*"])
        refused(ParameterError, path, "time must be", "'when'", id="Person", time="when", value="cca_1")

    def test_unknown_label_where_the_header_is_missing(self, write: Write) -> None:
        message = refused(ParameterError, write("anna,3.5,2.5\nbo,1,2\n"), "header line is missing",
                          groups="ann")  # fmt: skip
        assert "anna" not in message

    @pytest.mark.parametrize("columns", [[], [3], 3.5])
    def test_columns_that_are_no_labels(self, write: Write, columns: Any) -> None:
        path = write("y1,y2\n1,2\n")
        refused(
            ParameterError,
            path,
            "be a label, a range of labels, a glob, or a list",
            repr(columns),
            columns=columns,
        )

    def test_groups_is_no_curve_column(self, write: Write) -> None:
        path = write("y1,y2,y3\n1,2,3\n")
        refused(
            ParameterError, path, "not name the privacy unit's column", groups="y1", columns=["y1", "y2"]
        )

    def test_choice_of_invalid(self, write: Write) -> None:
        path = write("0,1\n1,2\n")
        refused(ParameterError, path, "be one of 'refuse', 'repair'", "'drop'", invalid="drop")

    @pytest.mark.parametrize("package", ["pyarrow"])
    def test_without_the_extra(
        self, write: Write, package: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = write("0,1\n1,2\n")
        monkeypatch.setitem(sys.modules, package, None)
        refused(MissingExtraError, path, "needs the package 'pyarrow'", "dpfda[cli]")


BAD_CELLS = {
    "abc": "something else",
    "12.5%": "a number with a per cent sign",
    "12 %": "a number with a per cent sign",
    "%": "something else",
    "1,5": "decimal comma or a thousands separator",
    "1,234.5": "decimal comma or a thousands separator",
    "1'234": "decimal comma or a thousands separator",
    "1 234": "decimal comma or a thousands separator",
    "1_234": "decimal comma or a thousands separator",
    "9007199254740993": "integer that is too large",
    "-9007199254740992": "integer that is too large",
    "1" * 400: "too large for double precision",
    "1e999": "too large for double precision",
    "0x10": "something else",
    "1.2.3": "something else",
    "1e": "something else",
    "\u0661\u0662": "something else",
    "NAN": "something else",
    "-nan": "something else",
    "true": "something else",
    "2020-01-01": "something else",
}


class TestBadCells:
    @pytest.mark.parametrize(("cell", "kind"), BAD_CELLS.items(), ids=lambda text: text[:12])
    def test_refused_with_line_column_and_kind(self, write: Write, cell: str, kind: str) -> None:
        path = write(f'0,1,2\n1,2,3\n1,"{cell}",3\n')
        message = refused(DataError, path, "Line 3, column '1' must hold a number or be empty", kind,
                          "Correct the cell", "outside the privacy guarantee")  # fmt: skip
        assert cell not in message
        # In a column of another notation each record would be replaced.
        assert "repair" not in message

    @pytest.mark.parametrize("cell", BAD_CELLS, ids=lambda text: text[:12])
    def test_repaired_in_place(self, write: Write, cell: str) -> None:
        path = write(f'0,1,2\n1,2,3\n1,"{cell}",3\n4,NA,6\n')
        table = read_curves(path, invalid="repair")
        np.testing.assert_array_equal(table.data, [[1, 2, 3], [np.inf, np.inf, np.inf], [4, np.nan, 6]])

    def test_large_numbers_that_are_no_integers_are_read(self, write: Write) -> None:
        table = read_curves(write("0,1,2\n1e300,9007199254740993.0,9007199254740991\n"))
        np.testing.assert_array_equal(table.data, [[1e300, 2.0**53, 2.0**53 - 1]])

    @pytest.mark.parametrize("row", ["1,2", "1,2,3,4", "1", "1,2,3,", '1,2,"3', '1,"2,3'])
    def test_ragged_rows(self, write: Write, row: str) -> None:
        path = write(f"who,0,1\na,1,2\n{row}\nc,5,6\n")
        refused(DataError, path, "Line 3 must", groups="who")
        table = read_curves(path, groups="who", invalid="repair")
        np.testing.assert_array_equal(table.data, [[1, 2], [np.inf, np.inf], [5, 6]])
        assert [table.groups[0], table.groups[2]] == ["a", "c"]

    def test_ragged_row_says_how_many_cells(self, write: Write) -> None:
        refused(DataError, write("0,1,2\n1,2,3\n1,2\n"), "each of the 3 labels", "found 2 cells")
        refused(DataError, write('0,1,2\n1,2,"3\n'), "Line 2", "an unclosed quote")

    def test_a_line_break_in_quotes_ends_the_record(self, write: Write) -> None:
        """Else a stray quote of one person would swallow the records of others."""
        path = write('y1,y2,note\n1,2,"a\n3,4,b"\n5,6,c\n')
        refused(DataError, path, "Line 2", "an unclosed quote", columns="y*")
        table = read_curves(path, columns="y*", invalid="repair")
        np.testing.assert_array_equal(table.data, [[np.inf, np.inf], [np.inf, np.inf], [5, 6]])

    def test_carriage_return_in_a_cell(self, write: Write) -> None:
        path = write("0,1\n1,2\n3\r4,5\n6,7\n")
        refused(DataError, path, "Line 3", "a CR inside the line")
        np.testing.assert_array_equal(
            read_curves(path, invalid="repair").data, [[1, 2], [np.inf, np.inf], [6, 7]]
        )

    def test_missing_group_label(self, write: Write) -> None:
        path = write("who,0,1\na,1,2\n ,3,4\n")
        refused(DataError, path, "Line 3, column 'who' must hold a label", groups="who")
        table = read_curves(path, groups="who", invalid="repair")
        assert list(table.groups) == ["a", None]

    def test_repaired_records_count_and_are_released(self, write: Write) -> None:
        lines = ["y1,y2,y3"] + ["0.5,0.25,0.75"] * 40 + ["0.5,oops,0.75", "0.5"]
        table = read_curves(write("\n".join(lines)), invalid="repair")
        assert table.data.shape == (42, 3)
        mean = PrivateMean(epsilon=1.0, bounds=(0.0, 1.0), reading=Reading(invalid="repair"))
        assert mean.prepare(table.data).plan.size == 42
        assert np.isfinite(mean.fit(table.data).release_([0.0, 1.0])).all()

    def test_line_number_counts_all_lines_across_chunks(
        self, write: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(csv_tables, "CHUNK_BYTES", 16)
        lines = ["0,1,2", *("1,2,3" for _ in range(50)), "", "1,x,3", "4,5,6"]
        refused(DataError, write("\n".join(lines)), "Line 53, column '1'")
        table = read_curves(write("\n".join(lines)), invalid="repair")
        assert table.data.shape == (52, 3)
        assert np.flatnonzero(np.isinf(table.data).any(axis=1)).tolist() == [50]

    def test_progress_grows_to_the_whole(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(csv_tables, "CHUNK_BYTES", 100)
        path = write("0,1,2\n" + "1,2,3\n" * 500)
        calls: list[tuple[int, int]] = []
        read_curves(path, progress=lambda done, total: calls.append((done, total)))
        size = path.stat().st_size
        assert {total for _, total in calls} == {size}
        done = [amount for amount, _ in calls]
        assert len(done) > 10
        assert done == sorted(done)
        assert done[-1] == size


# Cells of every kind: plain numbers in many notations, missing words, and things that are no number.
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e6, 1e6).map("{:.17e}".format),
    st.integers(-(2**53) + 1, 2**53 - 1).map(str),
    st.decimals(-1000, 1000, places=25).map(str),
    st.from_regex(r"\A[0-9]{1,30}\.[0-9]{1,30}\Z"),
)
CELLS = st.one_of(
    NUMBERS,
    st.sampled_from(sorted(MISSING)),
    st.sampled_from(["inf", "-Infinity", "+1", " 2 ", "5.", ".5", "-0", "1E5", "1e-400", "NAN", "-nan"]),
)
ODD_CELLS = st.one_of(
    CELLS,
    st.sampled_from([*BAD_CELLS, '"1"', '"1"5', 'a"b', '"', '"1\n2"', "\r", " ", "\t", "1\r", '""""']),
    st.text(alphabet='0123456789eE+-._ ,"ainf\n\r', max_size=8),
)


def columns_for(path: Path, width: int, invalid: str) -> Columns:
    """Numbers but for the last column, which is a label."""
    source = TextFile(path, tuple(f"y{i}" for i in range(width)), ",")
    return Columns(source, tuple(range(width - 1)), (width - 1,), invalid)


def one_by_one(chunk: bytes, columns: Columns) -> tuple[list[list[float]], list[Any], list[int]]:
    """Numbers, labels and line numbers as the reading of single lines has them."""
    numbers, labels, places = [], [], []
    for place, line in enumerate(chunk.split(b"\n"), start=2):
        if line.removesuffix(b"\r"):
            found, (label,) = read_line(line, columns)
            numbers.append(found)
            labels.append(label)
            places.append(place)
    return numbers, labels, places


def is_plain(line: bytes, columns: Columns) -> bool:
    """Whether a line is read together with others like it."""
    layout = columns.layout()
    pattern = plain_lines.plain_pattern(layout)
    assert pattern is not None
    chunk = np.frombuffer(line + b"\n", dtype=np.uint8)
    starts = plain_lines.line_starts(chunk)
    return bool(plain_lines.plain_lines(chunk, starts, layout, pattern)[0])


class TestLinesTogetherAndOneByOne:
    """A chunk is what its lines are, read one by one."""

    # Several cells an example: 80 examples hold about four hundred numbers.
    @given(cells=st.lists(NUMBERS, min_size=4, max_size=6))
    @example(cells=["0.1", "2.2250738585072011e-308", "9007199254740991"])
    @example(cells=["179769313486231580793728971405301e276", "9007199254740993.0"])
    @example(cells=["0.500000000000000166533453693773481063544750213623046875"])
    @settings(max_examples=80, deadline=None)
    def test_numbers_are_those_of_python(self, cells: list[str]) -> None:
        columns = columns_for(Path("none.csv"), 2, "repair")
        table, _ = read_chunk("".join(f"{cell},a\n" for cell in cells).encode(), columns)
        whole = [cell.lstrip("+-").isdigit() and abs(float(cell)) >= 2**53 for cell in cells]
        expected = np.where(whole, math.inf, [float(cell) for cell in cells])
        assert table.numbers.tobytes() == expected.tobytes()

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["", "-"]),
                st.text("0123456789", min_size=1, max_size=15),
                st.one_of(st.just(""), st.text("0123456789", max_size=20).map(".{}".format)),
                st.one_of(st.just(""), st.integers(-99, 99).map("e{}".format)),
            ).map("".join),
            min_size=4,
            max_size=6,
        )
    )
    @settings(max_examples=80, deadline=None)
    def test_plain_numbers_are_those_of_python(self, cells: list[str]) -> None:
        columns = columns_for(Path("none.csv"), 2, "refuse")
        assert all(is_plain(f"{cell},a".encode(), columns) for cell in cells)
        table, _ = read_chunk("".join(f"{cell},a\n" for cell in cells).encode(), columns)
        assert table.numbers.tobytes() == np.array([float(cell) for cell in cells]).tobytes()

    @given(
        rows=st.lists(st.lists(ODD_CELLS, min_size=2, max_size=4), min_size=1, max_size=5),
        end=st.sampled_from(["\n", "\r\n", "\n\n"]),
        plain=st.integers(0, 3),
    )
    @settings(max_examples=100, deadline=None)
    def test_a_chunk_is_its_lines(self, rows: list[list[str]], end: str, plain: int) -> None:
        lines = [",".join(row) for row in rows] + ["1,NA,b"] * plain
        self.agree(end.join(lines).encode())

    @staticmethod
    def agree(chunk: bytes) -> None:
        columns = columns_for(Path("none.csv"), 3, "repair")
        table, count = read_chunk(chunk, columns)
        numbers, labels, places = one_by_one(chunk, columns)
        assert table.numbers.tobytes() == np.array(numbers, dtype=np.float64).tobytes()
        assert table.labels == [labels]
        assert table.lines is not None
        assert table.lines.tolist() == places
        assert count == chunk.count(b"\n") + (not chunk.endswith(b"\n"))

    @pytest.mark.parametrize(
        "chunk",
        [b'1,2,a"b\n', b"\r1,2,a\n", b"1,2,a\r", b'1,2,"a\n\r3,4,b"\n', b'"1"5,2,a\n', b'1,2,"a""b"\n',
         b"1\r2,3\n", b"1,2,\xff\n", b" 1 , 2\t, a \n", b"1,2,a\n\n \n", b"-nan,NAN,a\n", b"1,2,\0\n",
         b"\xef\xbb\xbf1,2,a\n", b"\xef\xbb\xbf\n", b"\xff\xfe1,2,a\n", b"#1,2,a\n", b"1,2,a,\n",
         b"1,2," + b"x" * 200_000 + b"\n", b"1" * 200_000 + b"x,2,a\n", b"\t\n", b",,\n",
         b"\xc2\xa01,2,a\n",
         b"1\x1c,\x0b2,\x85\n", b"\r\r\n", b'"1,2,a""\n'],
        ids=lambda chunk: repr(chunk)[:40],
    )  # fmt: skip
    @pytest.mark.parametrize("more", [b"", b"3,4,b\n"])
    def test_odd_lines(self, chunk: bytes, more: bytes) -> None:
        self.agree(chunk + more)
        self.agree(more + chunk)

    def test_clean_lines_are_read_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The agreement above would be empty if no line were plain."""

        def never(*_: Any) -> None:
            raise AssertionError

        monkeypatch.setattr(csv_tables, "read_line", never)
        for invalid in ("refuse", "repair"):
            columns = columns_for(Path("none.csv"), 3, invalid)
            for chunk in (b"1,2,a\n3,NA,b\n", b"1,2,a\r\n\r\n3,,b", b"1,2e-7,a\n\n\n3,-4.,b\n\n"):
                table, _ = read_chunk(chunk, columns)
                assert table.labels == [["a", "b"]]

    @given(
        kinds=st.lists(st.sampled_from(["number", "label", "other"]), min_size=1, max_size=7),
        cells=st.lists(st.sampled_from(["1", "-2.5e3", "NA", "", "word", "a b", '"3"', " 4 "]),
                       min_size=40,
                       max_size=40),
    )  # fmt: skip
    @settings(max_examples=60, deadline=None)
    def test_whatever_the_order_of_columns(self, kinds: list[str], cells: list[str]) -> None:
        """Words in a column of numbers, and numbers in one of labels, with the runs of each anywhere."""
        width = len(kinds)
        numbers = tuple(i for i, kind in enumerate(kinds) if kind == "number")
        labels = tuple(i for i, kind in enumerate(kinds) if kind == "label")
        source = TextFile(Path("none.csv"), tuple(f"y{i}" for i in range(width)), ",")
        columns = Columns(source, numbers, labels, "repair")
        rows = [cells[i : i + width] for i in range(0, 40 - width, width)]
        lines = [",".join(row).encode() for row in rows if row != [""]]
        table, _ = read_chunk(b"\n".join(lines), columns)
        alone = [read_line(line, columns) for line in lines]
        found = np.array([number for number, _ in alone], dtype=np.float64)
        assert table.numbers.tobytes() == found.tobytes()
        assert [list(column) for column in table.labels] == [
            [label[i] for _, label in alone] for i in range(len(labels))
        ]

    def test_more_runs_than_a_pattern_is_made_for(self, write: Write) -> None:
        header = ",".join(f"{kind}{i}" for i in range(450) for kind in ("y", "z"))
        line = ",".join(f"{i}.5,word" for i in range(450))
        table = read_curves(write(f"{header}\n{line}\n{line}x\n"), columns="y*")
        np.testing.assert_array_equal(table.data, [np.arange(450) + 0.5] * 2)

    @given(line=st.lists(ODD_CELLS, min_size=2, max_size=5).map(",".join))
    @settings(max_examples=80, deadline=None)
    def test_cells_are_those_of_the_standard_library(self, line: str) -> None:
        line = line.replace("\n", "").replace("\r", "")
        try:
            cells = split_cells(line, ",")
        except UnreadableLineError:
            assert '"' in line
        else:
            assert cells == next(csv.reader([line])) or not line

    def test_a_long_cell_takes_time_in_proportion(self, write: Write) -> None:
        """A regular expression that goes back over digits would need hours."""
        path = write("0,1\n1,2\n" + "1" * 1_000_000 + "x,2\n")
        start = time.process_time()
        refused(DataError, path, "Line 3, column '0'", "something else")
        assert time.process_time() - start < 5

    @pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb\xbf7", b"\xef\xbb\xbf1,2,a"])
    @pytest.mark.parametrize("at", range(4))
    def test_a_byte_order_mark_inside_the_file_is_text(
        self, write: Write, monkeypatch: pytest.MonkeyPatch, mark: bytes, at: int
    ) -> None:
        """Wherever chunks begin: taken off there, a line of it alone would be no record."""
        monkeypatch.setattr(csv_tables, "CHUNK_BYTES", 1)
        lines = [b"1,2,a", b"3,4,b", b"5,6,c", b"7,8,d"]
        lines[at] = mark
        table = read_curves(write(b"y1,y2,who\n" + b"\n".join(lines)), groups="who", invalid="repair")
        expected = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]])
        expected[at] = np.inf
        np.testing.assert_array_equal(table.data, expected)

    @given(
        rows=st.lists(st.lists(ODD_CELLS, min_size=1, max_size=4), min_size=1, max_size=6),
        other=st.lists(ODD_CELLS, min_size=1, max_size=4),
        at=st.integers(0, 5),
    )
    @settings(max_examples=50, deadline=None)
    def test_a_record_depends_on_its_line_alone(
        self, tmp_path_factory: pytest.TempPathFactory,
        rows: list[list[str]], other: list[str], at: int,
    ) -> None:  # fmt: skip
        """Under "repair" a line gives the same record whatever the other lines are."""
        lines = [",".join(row).replace("\n", "") for row in rows]
        changed = list(lines)
        changed[at % len(lines)] = ",".join(other).replace("\n", "")
        folder = tmp_path_factory.mktemp("lines")
        tables = []
        for name, content in (("a.csv", lines), ("b.csv", changed)):
            filled = [line.removesuffix("\r") or "x" for line in content]
            (folder / name).write_bytes("\n".join(["y1,y2,who", *filled]).encode())
            tables.append(read_curves(folder / name, groups="who", invalid="repair"))
        kept = [i for i in range(len(lines)) if i != at % len(lines)]
        assert tables[0].data.shape == tables[1].data.shape == (len(lines), 2)
        assert tables[0].data[kept].tobytes() == tables[1].data[kept].tobytes()
        assert list(tables[0].groups[kept]) == list(tables[1].groups[kept])


MARKERS = st.integers(0, 10**6).map("marker{:07d}".format)
MARKED_CELLS = st.one_of(
    MARKERS,
    MARKERS.map(lambda text: f"{text[-5:]},{text[-3:]}7351"),
    MARKERS.map(lambda text: f'"{text}'),
    st.integers(10**17, 10**18).map(str),
    st.floats(1000, 2000).map("{:.9f}".format),
)


def told(path: Path, **options: Any) -> str:
    """All that a traceback of a refusal would print; nothing if the file is read."""
    try:
        read_curves(path, **options)
    except DpfdaError as error:
        return (
            "".join(traceback.format_exception_only(error))
            + repr(error.__cause__)
            + ("" if error.__suppress_context__ else repr(error.__context__))
        )
    return ""


class TestNothingIsTold:
    @given(
        rows=st.lists(st.lists(MARKED_CELLS, min_size=2, max_size=5), min_size=1, max_size=5),
        header=st.sampled_from(["who,y1,y2", "who,1,2", "1,2,3", "id,t,v", None]),
        options=st.sampled_from(
            [
                {}, {"columns": "y*"}, {"columns": "*"}, {"groups": "who"}, {"groups": "marker0000001"},
                {"columns": "marker*"}, {"columns": "y*", "groups": "who"}, {"groups": "whom"},
                {"id": "id", "time": "t", "value": "v"}, {"id": "who", "time": "1", "value": "2"},
            ]
        ),
    )  # fmt: skip
    @example(rows=[["marker0000001", "marker0000000"]], header=None, options={"columns": "marker*"})
    @settings(max_examples=80, deadline=None)
    def test_no_message_holds_a_cell(
        self, tmp_path_factory: pytest.TempPathFactory,
        rows: list[list[str]], header: str | None, options: dict[str, str],
    ) -> None:  # fmt: skip
        if header is None:
            # A line of words, or of increasing numbers, could be a header.
            rows[0] = [*rows[0], "1876.543219", "1234.567891"]
        path = tmp_path_factory.mktemp("marked") / "curves.csv"
        lines = ([] if header is None else [header]) + [",".join(row) for row in rows]
        path.write_text("\n".join(lines))
        for invalid in ("refuse", "repair"):
            message = told(path, invalid=invalid, **options)
            message = message.replace("'marker0000001'", "").replace("'marker*'", "")
            assert [cell for row in rows for cell in row if cell.strip('"') in message] == []
            assert "marker" not in message


class TestLongLayout:
    LONG = "who,person,t,y\na,p,0,1\na,p,0.5,2\nb,q,0.25,3\n"

    def test_observations(self, write: Write) -> None:
        table = read_curves(write(self.LONG), id="who", time="t", value="y", groups="person")
        assert isinstance(table.data, LongCurves)
        assert table.grid_points is None
        assert table.groups is None
        assert list(table.data.ids) == ["a", "a", "b"]
        assert list(table.data.groups) == ["p", "p", "q"]
        np.testing.assert_array_equal(table.data.times, [0, 0.5, 0.25])
        np.testing.assert_array_equal(table.data.values, [1, 2, 3])

    def test_without_groups(self, write: Write) -> None:
        table = read_curves(write(self.LONG), id="who", time="t", value="y")
        assert isinstance(table.data, LongCurves)
        assert table.data.groups is None
        assert [list(rows) for rows in table.data.records()] == [[0, 1], [2]]

    def test_the_id_can_be_the_privacy_unit(self, write: Write) -> None:
        table = read_curves(write(self.LONG), id="who", time="t", value="y", groups="who")
        assert isinstance(table.data, LongCurves)
        assert table.data.record_groups() == ["a", "b"]

    @pytest.mark.parametrize(
        "options", [{"id": "who"}, {"time": "t", "value": "y"}, {"id": "who", "value": "y"}]
    )
    def test_all_or_none(self, write: Write, options: dict[str, str]) -> None:
        path = write(self.LONG)
        refused(ParameterError, path, "id, time and value must be given together", "no ", **options)

    def test_columns_have_one_role(self, write: Write) -> None:
        path = write(self.LONG)
        refused(ParameterError, path, "name three columns", id="who", time="t", value="t")
        refused(
            ParameterError, path, "columns must be left out", id="who", time="t", value="y", columns="*"
        )
        refused(ParameterError, path, "groups must differ", id="who", time="t", value="y", groups="t")

    def test_bad_cells(self, write: Write) -> None:
        path = write("who,t,y\na,0,1\na,soon,2\nb,1,3\n,0.5,4\nb,2\n")
        refused(DataError, path, "Line 3, column 't' must hold a number", id="who", time="t", value="y")
        table = read_curves(path, id="who", time="t", value="y", invalid="repair")
        assert isinstance(table.data, LongCurves)
        assert list(table.data.ids) == ["a", "a", "b", None, "b"]
        # Without its record an observation stands for no curve.
        usable = np.isfinite(table.data.times) & np.isfinite(table.data.values)
        assert usable.tolist() == [True, False, True, False, False]

    def test_missing_id(self, write: Write) -> None:
        path = write("who,t,y\na,0,1\nNA,1,2\n")
        refused(DataError, path, "Line 3, column 'who' must hold a label", id="who", time="t", value="y")

    def test_released(self, write: Write) -> None:
        lines = ["who,t,y"] + [f"{i},{t / 4},{math.sin(t)}" for i in range(30) for t in range(5)]
        table = read_curves(write("\n".join(lines)), id="who", time="t", value="y")
        mean = PrivateMean(epsilon=1.0, bounds=(-1, 1), domain=(0, 1)).fit(table.data)
        assert np.isfinite(mean.release_([0.1, 0.9])).all()


class TestParquet:
    @staticmethod
    def write(
        tmp_path: Path, columns: dict[str, Any], name: str = "curves.parquet", **options: Any
    ) -> Path:
        parquet.write_table(pa.table(columns), tmp_path / name, **options)
        return tmp_path / name

    @pytest.mark.parametrize("name", ["curves.parquet", "curves.pq"])
    def test_numbers_of_any_type(self, tmp_path: Path, name: str) -> None:
        path = self.write(
            tmp_path,
            {
                "0": pa.array([1, None], pa.int8()),
                "0.5": pa.array([0.1, np.nan], pa.float64()),
                "1": pa.array([0.5, np.inf], pa.float32()),
                "2": pa.nulls(2),
            },
            name,
        )
        table = read_curves(path)
        np.testing.assert_array_equal(table.grid_points, [0, 0.5, 1, 2])
        np.testing.assert_array_equal(
            table.data, [[1, 0.1, 0.5, np.nan], [np.nan, np.nan, np.inf, np.nan]]
        )

    def test_same_as_csv(self, tmp_path: Path, write: Write) -> None:
        curves = np.random.default_rng(1).normal(size=(50, 4))
        text = "\n".join(["a,y0,y1,y2,y3"] + [f"p{i}," + ",".join(map(repr, map(float, c)))
                                              for i, c in enumerate(curves)])  # fmt: skip
        columns = {"a": [f"p{i}" for i in range(50)]} | {f"y{j}": curves[:, j] for j in range(4)}
        first = read_curves(write(text), groups="a")
        second = read_curves(self.write(tmp_path, columns, row_group_size=7), groups="a")
        assert isinstance(first.data, np.ndarray)
        assert isinstance(second.data, np.ndarray)
        assert first.data.tobytes() == second.data.tobytes() == curves.tobytes()
        assert list(first.groups) == list(second.groups)

    @pytest.mark.parametrize(
        ("labels", "expected"),
        [
            (pa.array([3, 3, None]), [3, 3, None]),
            (pa.array(["a", " a", ""]), ["a", "a", None]),
            (pa.array([1.5, float("nan"), 2.0]), [1.5, None, 2.0]),
            (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
            (pa.array([True, False, None]), [True, False, None]),
        ],
        ids=["int", "text", "float", "dictionary", "bool"],
    )
    def test_group_labels_of_any_scalar_type(self, tmp_path: Path, labels: Any, expected: Any) -> None:
        path = self.write(tmp_path, {"who": labels, "y1": [1.0, 2.0, 3.0], "y2": [1, 2, 3]})
        table = read_curves(path, groups="who", invalid="repair")
        assert list(table.groups) == expected
        np.testing.assert_array_equal(table.data, [[1, 1], [2, 2], [3, 3]])

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([b"marker1", b"2"]),
            pa.array([[1.0], [2.0]]),
            pa.array([0, 1], pa.date32()),
            pa.array([0, 1], pa.timestamp("us", tz="Europe/Berlin")),
            pa.array([0, 1], pa.duration("s")),
            pa.array([0, 1], pa.time32("s")),
        ],
        ids=["bytes", "list", "date", "moment", "span", "time"],
    )
    def test_columns_that_are_no_numbers(self, tmp_path: Path, column: Any) -> None:
        path = self.write(tmp_path, {"y1": [1.0, 2.0], "y2": column})
        for invalid in ("refuse", "repair"):
            message = refused(
                DataError, path, "Column 'y2' must hold numbers; found the type", invalid=invalid
            )
            assert "marker1" not in message

    @pytest.mark.parametrize(
        ("column", "expected"),
        [
            (pa.array([True, None, False, True]), [1, np.nan, 0, 1]),
            (pa.array(np.array([0.1, np.nan, 65504, 6e-8], np.float16)), [0.0999755859375, np.nan, 65504,
                                                                         2.0**-24]),
            (pa.array([Decimal("0.10"), None, Decimal("9007199254740993.55"), Decimal("-0.01")]),
             [0.1, np.nan, 9007199254740994.0, -0.01]),
            (pa.array([Decimal("0.1")] * 4, pa.decimal256(70, 30)), [0.1] * 4),
            (pa.array(["0.1", " NA ", "1e-400", "+2"]), [0.1, np.nan, 0, 2]),
            (pa.array(["0.1", None, "marker1", "1,5"], pa.large_string()),
             [0.1, np.nan, np.inf, np.inf]),
            (pa.array(["2", "3", "2", None]).dictionary_encode(), [2, 3, 2, np.nan]),
            (pa.array([0.1, float("nan"), None, 2.0]).dictionary_encode(), [0.1, np.nan, np.nan, 2]),
            (pa.array([2**53 - 1, 2**53, 2**64 - 1, None], pa.uint64()),
             [2**53 - 1, np.inf, np.inf, np.nan]),
            (pa.array([-(2**53), -(2**53) + 1, 0, 2**63 - 1]), [np.inf, -(2**53) + 1, 0, np.inf]),
        ],
        ids=["bool", "half", "decimal", "decimal256", "text", "large text", "categories", "floats in "
             "categories", "unsigned", "integers"],
    )  # fmt: skip
    def test_cells_are_read_by_the_rule(
        self, tmp_path: Path, column: Any, expected: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = self.write(tmp_path, {"y1": [1.0] * 4, "y2": column})
        wanted = np.array(expected, dtype=np.float64)
        for rows in (1, 3, 100):
            monkeypatch.setattr("dpfda.records.parquet_tables.BATCH_ROWS", rows)
            table = read_curves(path, invalid="repair")
            assert table.data[:, 1].tobytes() == np.where(np.isnan(wanted), np.nan, wanted).tobytes()
            # A row with a cell that is no number is lost as a whole.
            assert (np.isinf(table.data[:, 0]) == np.isinf(wanted)).all()
        if np.isinf(wanted).any():
            message = refused(
                DataError, path, f"Row {1 + int(np.argmax(np.isinf(wanted)))}, column 'y2'"
            )
            assert "marker1" not in message

    @given(cells=st.lists(st.one_of(
        st.none(), st.decimals(-(10**18), 10**18, places=9, allow_nan=False)), min_size=1, max_size=8,
    ))  # fmt: skip
    @settings(max_examples=100, deadline=None)
    def test_decimals_are_rounded_once(
        self, tmp_path_factory: pytest.TempPathFactory, cells: list[Decimal | None]
    ) -> None:
        column = pa.array(cells, pa.decimal128(38, 9))
        path = self.write(tmp_path_factory.mktemp("d"), {"y1": column, "y2": column})
        wanted = [math.nan if cell is None else float(cell) for cell in cells]
        np.testing.assert_array_equal(read_curves(path).data[:, 0], wanted)

    def test_a_label_depends_on_its_cell_alone(self, tmp_path: Path) -> None:
        """A gap makes floats of a column of integers; the units of the others stay what they are."""
        columns = {"y1": [1.0, 2.0, 3.0], "y2": [1.0, 2.0, 3.0]}
        whole = self.write(tmp_path, {"who": [7, 8, 7], **columns}, "a.parquet")
        gap = self.write(tmp_path, {"who": [7.0, float("nan"), 7.0], **columns}, "b.parquet")
        first, second = (
            read_curves(path, groups="who", invalid="repair").groups for path in (whole, gap)
        )
        assert [repr(label) for label in first] == ["7", "8", "7"]
        assert [repr(label) for label in second] == ["7", "None", "7"]

    @pytest.mark.parametrize(
        "column",
        [
            pa.array(["2024-03-01", "soon", None, "2024-03-02T12:00"]),
            pa.array(["2024-03-01", "soon", None, "2024-03-02 12:00+00:00"]).dictionary_encode(),
            pa.array([19783 * 86400, 2**52, None, 19784 * 86400 + 43200], pa.timestamp("s")),
            pa.array(
                [19783 * 86400, 2**52, None, 19784 * 86400 + 43200], pa.timestamp("s", tz="Asia/Tokyo")
            ),
        ],
        ids=["text", "categories", "moments", "moments in a zone"],
    )
    def test_dates_where_they_are_stated(self, tmp_path: Path, column: Any) -> None:
        path = self.write(tmp_path, {"who": [1, 1, 2, 2], "t": column, "y": [1.0, 2.0, 3.0, 4.0]})
        options = {"id": "who", "time": "t", "value": "y", "dates": "iso", "since": "2024-02-29"}
        table = read_curves(path, invalid="repair", **options)
        assert isinstance(table.data, LongCurves)
        times = table.data.times
        assert times[[0, 3]].tolist() == [1.0, 2.5]
        assert np.isnan(times[2])
        # Far outside the domain or no date: neither is any other record's concern.
        assert times[1] > 1e10
        assert table.axis == "days since 2024-02-29"
        if pa.types.is_timestamp(column.type):
            without = {key: text for key, text in options.items() if key not in ("dates", "since")}
            refused(DataError, path, "'t' must hold numbers", "dates='iso'", **without)

    def test_nested_groups(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, {"who": [[1], [2]], "y1": [1.0, 2.0], "y2": [1.0, 2.0]})
        refused(DataError, path, "Column 'who' must hold one label a row", groups="who")

    def test_integers_that_are_too_large(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dpfda.records.parquet_tables.BATCH_ROWS", 2)
        path = self.write(tmp_path, {"y1": [1, 2, 3, 4], "y2": [1, 2, 3, 2**53 + 1]})
        message = refused(DataError, path, "Row 4, column 'y2'", "2^53 or more")
        assert str(2**53 + 1) not in message
        table = read_curves(path, invalid="repair")
        np.testing.assert_array_equal(table.data, [[1, 1], [2, 2], [3, 3], [np.inf, np.inf]])

    def test_bad_files(self, tmp_path: Path, write: Write) -> None:
        for content in (b"", b"marker1,2\n3,4\n", b"PAR1marker1PAR1"):
            message = refused(DataError, write(content, "a.parquet"), "must be a Parquet file")
            assert "marker1" not in message
        whole = self.write(tmp_path, {"y1": np.arange(5000.0), "y2": np.arange(5000.0)}).read_bytes()
        damaged = whole[:100] + bytes(2000) + whole[2100:]
        refused(DataError, write(damaged, "b.parquet"), "found a damaged part")

    def test_no_rows(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, {"y1": pa.array([], pa.float64()), "y2": pa.array([], pa.float64())})
        refused(DataError, path, "found a header alone")

    def test_labels_are_judged_as_for_text(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, {"ID": [1], "y1": [1.0], "y2": [1.0]})
        refused(OrientationError, path, "'ID', 'y1'..'y2'", "columns='y*'")

    def test_long(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, {"who": [1, 1, 2], "t": [0.0, 1.0, 0.5], "y": [1, None, 3]})
        table = read_curves(path, id="who", time="t", value="y")
        assert isinstance(table.data, LongCurves)
        assert list(table.data.ids) == [1, 1, 2]
        np.testing.assert_array_equal(table.data.values, [1, np.nan, 3])

    def test_progress(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dpfda.records.parquet_tables.BATCH_ROWS", 10)
        path = self.write(tmp_path, {"y1": np.arange(35.0), "y2": np.arange(35.0)})
        calls: list[tuple[int, int]] = []
        read_curves(path, progress=lambda done, total: calls.append((done, total)))
        assert calls == [(10, 35), (20, 35), (30, 35), (35, 35)]


class TestRealFiles:
    def test_scans(self, data_dir: Path, dti: dict[str, np.ndarray]) -> None:
        table = read_curves(data_dir / "dti_cca.csv", columns="cca_*", groups="ID")
        assert isinstance(table, TableCurves)
        assert table.data.shape == (382, 93)
        assert table.grid_points is None
        assert np.isnan(table.data).any(axis=1).sum() == 6
        assert len(set(table.groups)) == 142
        np.testing.assert_array_equal(table.data, dti["curves"])
        np.testing.assert_array_equal(table.groups, dti["person"])

    def test_scans_without_columns(self, data_dir: Path) -> None:
        refused(
            OrientationError, data_dir / "dti_cca.csv", "'ID', 'visit', 'case', 'cca_1'..'cca_93'",
            "columns='cca_*'",
        )  # fmt: skip

    def test_demand(self, data_dir: Path, electricity: np.ndarray) -> None:
        table = read_curves(data_dir / "adelaide_monday_demand.csv")
        assert table.data.shape == (508, 48)
        np.testing.assert_array_equal(table.grid_points, np.arange(1, 49))
        np.testing.assert_array_equal(table.data, electricity)

    def test_deaths_are_long(self, data_dir: Path) -> None:
        path = data_dir / "wpp2019_deaths_by_age.csv"
        refused(OrientationError, path, "columns id, time and value")
        table = read_curves(path, id="region", time="age_start", value="deaths_thousands")
        assert isinstance(table.data, LongCurves)
        assert np.isfinite(table.data.values).all()
