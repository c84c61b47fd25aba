"""The rule for a cell, the rule for a label, and containers whose labels say how they lie."""

import datetime
import math
import re
import uuid
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from doors import CELLS, HOSTILE, LOST, NUMBERS
from dpfda import (
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    Reading,
)
from dpfda.covariance.strategies import Center
from dpfda.errors import DataError, OrientationError, ParameterError
from dpfda.mean.streams import MeanStream
from dpfda.numerics.arrays import doubles
from dpfda.numerics.gridsums import grid_sum
from dpfda.privacy.guarantees import Neighbours, PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records import LongCurves
from dpfda.records.cells import (
    NO_NUMBER,
    TOO_LARGE_INTEGER,
    TOO_LARGE_NUMBER,
    UnreadableCellError,
    cell_number,
    read_cell,
    whole_number,
)
from dpfda.records.containers import matrix_of
from dpfda.records.labels import label_key, read_label
from dpfda.testing import exact_totals

GRID = np.linspace(0.0, 1.0, 5)
CURVES = np.random.default_rng(0).uniform(-1, 1, (12, 5))


def mean(**parameters):
    return PrivateMean(1.0, **{"bounds": (-1, 1), "mechanism": "laplace"} | parameters)


def total(X, groups=None, **parameters):
    return exact_totals(mean(**parameters).prepare(X, groups).total)


class TestCells:
    def test_the_three_kinds(self):
        assert all(math.isfinite(cell_number(cell)) for cell in NUMBERS)
        assert all(math.isnan(cell_number(cell)) for cell in LOST)
        assert all(math.isinf(read_cell(cell)[0]) for cell in HOSTILE)

    @pytest.mark.parametrize("cell", CELLS, ids=lambda cell: type(cell).__name__)
    def test_nothing_else_is_raised_nor_shown(self, cell):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kind = read_cell(cell)[1]
        assert kind in ("", NO_NUMBER, TOO_LARGE_INTEGER, TOO_LARGE_NUMBER)
        if kind:
            with pytest.raises(UnreadableCellError, match=re.escape(kind)) as caught:
                cell_number(cell)
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None

    @pytest.mark.parametrize(
        ("cell", "number"),
        [
            (True, 1.0),
            (np.bool_(False), 0.0),
            (2**53 - 1, 2.0**53 - 1),
            (" 1.5 ", 1.5),
            ("-.5e1", -5.0),
            (Decimal("0.1"), 0.1),
            (Fraction(1, 3), 1 / 3),
            (np.float16(0.1), float(np.float16(0.1))),
            (1e300, 1e300),
            ("1e300", 1e300),
            (Decimal("1e300"), 1e300),
            (np.array(2), 2.0),
        ],
    )
    def test_numbers(self, cell, number):
        assert cell_number(cell) == number

    @pytest.mark.parametrize(
        ("cell", "kind"),
        [
            (2**53, TOO_LARGE_INTEGER),
            (-(2**53), TOO_LARGE_INTEGER),
            (np.int64(2**53), TOO_LARGE_INTEGER),
            ("9007199254740992", TOO_LARGE_INTEGER),
            (Decimal(2**53 + 1), TOO_LARGE_INTEGER),
            (Fraction(2**53), TOO_LARGE_INTEGER),
            (Decimal("1e400"), TOO_LARGE_NUMBER),
            ("1e400", TOO_LARGE_NUMBER),
            (Fraction(10**400, 3), TOO_LARGE_NUMBER),
            (1j, NO_NUMBER),
            (np.longdouble(1), NO_NUMBER),
            ([1.0], NO_NUMBER),
            (np.timedelta64(1, "D"), NO_NUMBER),
        ],
    )
    def test_refused(self, cell, kind):
        with pytest.raises(UnreadableCellError) as caught:
            cell_number(cell)
        assert caught.value.args == (kind,)

    def test_a_cell_that_holds_itself(self):
        endless = np.empty((), dtype=object)
        endless[()] = endless
        assert read_cell(endless) == (math.inf, NO_NUMBER)

    @pytest.mark.parametrize(
        "dtype", ["?", "i1", "u1", "i2", "u4", "i8", "u8", ">i8", "f2", "f4", "f8", ">f8"]
    )
    @given(st.data())
    @settings(max_examples=20, deadline=None)
    def test_the_fast_way_is_the_rule(self, dtype, data):
        raw = data.draw(st.binary(min_size=64, max_size=64))
        values = (
            np.frombuffer(raw, dtype="u1") % 2 == 1 if dtype == "?" else np.frombuffer(raw, dtype=dtype)
        )
        edges = np.array([0, 1, 2**53 - 1, 2**53, 2**63 - 1], dtype="i8")
        if values.dtype.kind == "i" and values.dtype.itemsize == 8:
            values = np.concatenate([values, edges.astype(values.dtype), -edges.astype(values.dtype)])
        assert doubles(values).tobytes() == np.array(
            [read_cell(cell)[0] for cell in values]
        ).tobytes() or (
            np.array_equal(doubles(values), [read_cell(cell)[0] for cell in values], equal_nan=True)
        )

    @pytest.mark.parametrize("compile", [False, True])
    def test_integers_that_are_too_large_leave_every_kernel(self, compile):
        rule = mean().prepare(CURVES).plan.on_grid.rule
        small = np.ones((4, 5), dtype=np.int64)
        for place in (2**53, -(2**63), 2**63 - 1):
            large = small.copy()
            large[2, 3] = place
            assert grid_sum(large, rule, compile)[1] == 1
            whole, rest = grid_sum(large, rule, compile)[0], grid_sum(small[:3], rule, compile)[0]
            assert whole.tolist() == rest.tolist()
            with pytest.raises(DataError, match=r"an integer that is too large .* in row 2, column 3"):
                mean().fit(large)

    def test_counts_are_exact(self):
        assert whole_number(10**18 + 1, 1) == (10**18 + 1, True)
        assert whole_number(np.int64(2**60 + 1), 2) == (2**61 + 2, True)
        assert whole_number("4612.439", 1000) == (4612439, True)
        assert whole_number(Decimal("0.5"), 1) == (1, False)
        assert whole_number(Decimal("1e-999999999"), 1) == (0, False)
        for cell in (*LOST, -1, Decimal("-0.1"), 1j, [1], "1e400", Decimal("1e999999999")):
            assert whole_number(cell, 1) == (0, False)


class TestLabels:
    @pytest.mark.parametrize(
        "equals",
        [
            [
                1,
                1.0,
                True,
                np.int64(1),
                np.uint8(1),
                np.float16(1),
                np.bool_(True),
                Decimal("1.0"),
                Fraction(1),
                np.array(1),
            ],
            [0.1, np.float64(0.1), Fraction(0.1), Decimal.from_float(0.1)],
            ["1", np.str_("1"), np.array("1", dtype=object)],
            [
                pd.Timestamp("2020-01-01", tz="UTC"),
                pd.Timestamp("2020-01-01T01", tz="CET"),
                datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
            ],
            [
                pd.Timestamp("2020-01-01"),
                np.datetime64("2020-01-01"),
                np.datetime64("2020-01-01", "ns"),
                datetime.datetime(2020, 1, 1),
                np.datetime64("2020", "Y"),
            ],
            [pd.Timedelta(1, "D"), np.timedelta64(24, "h"), datetime.timedelta(days=1)],
            [(1, "a"), (True, np.str_("a"))],
            [pd.Interval(0, 1), pd.Interval(0.0, 1.0)],
            [uuid.UUID(int=5), uuid.UUID(int=5)],
        ],
    )
    def test_equal(self, equals):
        keys = {label_key(label) for label in equals}
        assert len(keys) == 1
        assert None not in keys

    def test_different(self):
        labels = [
            1,
            "1",
            "01",
            " 1",
            1.5,
            "a",
            "A",
            "",
            b"1",
            0.1,
            np.float32(0.1),
            2**53,
            2**53 + 1,
            math.inf,
            datetime.date(2020, 1, 1),
            datetime.datetime(2020, 1, 1),
            pd.Timestamp("2020-01-01", tz="UTC"),
            pd.Timestamp("2020-01-01") + pd.Timedelta(1, "ns"),
            (1,),
            ("1",),
            pd.Interval(0, 1),
            pd.Interval(0, 1, closed="left"),
            pd.Period("2020"),
            pd.Period("2020-01"),
            datetime.timedelta(1),
        ]
        assert len({label_key(label) for label in labels}) == len(labels)

    def test_missing_and_unreadable(self):
        for label in (None, math.nan, pd.NA, pd.NaT, np.ma.masked, Decimal("sNaN")):
            assert read_label(label) == (None, True)
        for label in ([1], {}, 1j, np.zeros(2), object(), *HOSTILE[-6:]):
            assert read_label(label) == (None, False)

    def test_a_list_is_not_made_one_type(self):
        # numpy.asarray makes text of both.
        prepared = mean().prepare(CURVES[:3], [1, "1", 1])
        assert prepared.plan.size == 2

    def test_repair_makes_unreadable_labels_one_unit(self):
        labels = ["a", "a", [1], {}, None, 1j, *"bcdefg"]
        assert mean(invalid="repair").prepare(CURVES, labels).plan.size == 8
        with pytest.raises(
            DataError, match="groups must hold words, numbers or dates; found labels of ano"
        ):
            mean().fit(CURVES, groups=labels)

    def test_hidden_labels_are_missing(self):
        labels = np.ma.masked_array(np.arange(12), mask=[0] * 10 + [1, 1])
        with pytest.raises(DataError, match="found none in row 10"):
            mean().fit(CURVES, groups=labels)
        assert mean(invalid="repair").prepare(CURVES, labels).plan.size == 11

    def test_dates_with_a_zone_are_units_as_other_dates_are(self):
        days = pd.date_range("2020-01-01", periods=6, tz="CET")
        codes = [
            mean().prepare(CURVES, labels).plan.size
            for labels in (
                pd.Series(days.repeat(2)),
                list(days.repeat(2)),
                pd.Series(list(days.repeat(2)), dtype=object),
            )
        ]
        assert codes == [6, 6, 6]

    def test_classes_and_groups_go_by_the_rule(self):
        X = CURVES[:, :2]
        machine = PrivateKernelClassifier(1.0, bounds=(-1, 1), classes=(0, 1), features="grid")
        y = [1, 1.0, True, np.int64(1), Decimal(1), 0, 0.0, False, np.float32(0), 0, 1, 0]
        assert machine.prepare(X, y).total.targets.tolist() == [1] * 5 + [-1] * 5 + [1, -1]
        assert machine.set_params(classes="from-y").prepare(X, y).plan.classes == (0, 1)
        mixed = [1, "1"] * 6
        with pytest.raises(DataError, match="y must hold labels of one type"):
            machine.prepare(X, mixed)
        # Of stated classes a number may be written as text; other text is another label.
        stated = PrivateKernelClassifier(1.0, bounds=(-1, 1), classes=(0, 1), features="grid")
        assert stated.prepare(X, mixed).total.targets.tolist() == [1] * 12
        with pytest.raises(
            DataError, match=r"one of the classes \[0, 1\]; found another label in row 1"
        ):
            stated.fit(X, [1, "one"] * 6)
        names, _ = PrivateComparison(1.0, bounds=(-1, 1)).prepare(CURVES, [1, True, 1.0, 2, 2.0, 2] * 2)
        assert names == ["1", "2"]


class TestMasked:
    """Something is hidden under every mask; it must not be read."""

    def test_comparison(self):
        y = ["a", "b"] * 6
        hidden = np.ma.masked_array(CURVES + 0, mask=np.zeros((12, 5)))
        hidden[3] = np.ma.masked
        with pytest.raises(DataError, match=r"missing value \(NaN\)"):
            PrivateComparison(1.0, bounds=(-1, 1)).fit(hidden, y)
        shown = CURVES.copy()
        shown[3] = np.nan
        parts = [
            PrivateComparison(1.0, bounds=(-1, 1), reading=Reading(invalid="repair")).prepare(X, y)[1]
            for X in (hidden, shown)
        ]
        assert [exact_totals(p.total) for p in parts[0]] == [exact_totals(p.total) for p in parts[1]]
        lost = np.ma.masked_array(y, mask=[0, 0, 1] + [0] * 9)
        with pytest.raises(DataError, match="y must have a group for every record; found none in row 2"):
            PrivateComparison(1.0, bounds=(-1, 1)).fit(CURVES, lost)

    def test_targets(self):
        y = np.ma.masked_array(np.linspace(-1, 1, 12), mask=[0, 1] + [0] * 10)
        machine = PrivateKernelRegressor(1.0, bounds=(-1, 1), target_bounds=(-1, 1), loss="huber")
        with pytest.raises(DataError, match=r"missing value \(NaN\) in row 1"):
            machine.fit(CURVES[:, :1], y)
        targets = machine.set_params(reading__invalid="repair").prepare(CURVES[:, :1], y).total.targets
        assert targets[1] == 0

    def test_classes(self):
        y = np.ma.masked_array([0, 1] * 6, mask=[0, 1] + [0] * 10)
        machine = PrivateKernelClassifier(1.0, bounds=(-1, 1), classes=(0, 1))
        with pytest.raises(DataError, match="found a missing label in row 1"):
            machine.fit(CURVES[:, :1], y)

    def test_counts(self):
        counts = np.ma.masked_array([3, 4, 5], mask=[0, 1, 0])
        with pytest.raises(DataError, match="position 1 that is negative, missing"):
            PrivateDensity(1.0).fit_counts(counts, [0, 1, 2, 3])
        density = PrivateDensity(1.0, reading=Reading(invalid="repair"))
        weights = exact_totals(density.prepare_counts(counts, [0, 1, 2, 3]).total)
        assert weights[1] == 0 < weights[0]

    def test_points(self):
        points = np.ma.masked_array([0.1, 0.2, 0.3], mask=[0, 1, 0])
        prepared = PrivateDensity(
            1.0, domain=(0, 1), cells=1, reading=Reading(invalid="repair")
        ).prepare(points)
        shown = PrivateDensity(1.0, domain=(0, 1), cells=1).prepare([0.1, 0.3])
        assert exact_totals(prepared.total) == exact_totals(shown.total)

    def test_observations(self):
        values = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])
        long = LongCurves(["a", "a", "b"], [0.1, 0.5, 0.9], values)
        with pytest.raises(DataError, match="found one that is not in row 1"):
            mean(domain_range=(0, 1)).fit(long)
        ids = np.ma.masked_array(["a", "a", "b"], mask=[0, 1, 0])
        assert LongCurves(ids, [0.1, 0.5, 0.9], [1.0, 2.0, 3.0]).ids.tolist() == ["a", None, "b"]

    def test_blocks(self):
        hidden = np.ma.masked_array(CURVES, mask=np.zeros((12, 5)))
        hidden[3] = np.ma.masked
        stream = MeanStream(mean(invalid="repair").plan(n=12, columns=5))
        for start in range(0, 12, 5):
            stream.add(hidden[start : start + 5])
        assert exact_totals(stream.prepared().total) == total(hidden, invalid="repair")


class Measured:
    """Numbers with units, as libraries of these hold them: no array, but one that says its content."""

    units = "metre"

    def __init__(self, held):
        self.held, self.dtype, self.shape, self.ndim = held, held.dtype, held.shape, held.ndim

    def __len__(self):
        return len(self.held)

    def __array__(self, dtype=None, copy=None):
        return self.held


class TestSequences:
    def test_rows_of_another_length_are_refused_in_either_mode(self):
        rows = CURVES.tolist()
        rows[4] = rows[4][:3]
        for invalid in ("refuse", "repair"):
            with pytest.raises(DataError, match="rows of one length; found row 4 of another shape"):
                mean(invalid=invalid).fit(rows)

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            (CURVES.astype(np.longdouble), "at most 64 bits; found extended precision, which would be"),
            (np.zeros(12, dtype=[("a", "f8"), ("b", "f8")]), "found structured records or bytes"),
            (CURVES.astype("S"), "found structured records or bytes"),
            (
                pd.DataFrame({"p1": pd.date_range("2020", periods=12, tz="CET"), "p2": 0.0}),
                "dates or spans",
            ),
            (pa.table({"p1": pd.date_range("2020", periods=12), "p2": [0.0] * 12}), "dates or spans"),
            (CURVES.view(type("Metres", (np.ndarray,), {})), "of a class of its own, whose meaning"),
            (Measured(CURVES), "values with units, which would be lost"),
            ([Measured(row) for row in CURVES], "values with units, which would be lost"),
        ],
    )
    def test_exotic_types_are_refused_with_the_remedy(self, values, words):
        ledger = MemoryLedger().create("d", PureDP(10), Neighbours.REPLACE_ONE, "record")
        for invalid in ("refuse", "repair"):
            with pytest.raises(DataError, match=words):
                mean(invalid=invalid, ledger=ledger.of("d")).fit(values)
        assert ledger.spent("d")["epsilon"] == 0

    def test_a_native_matrix_is_not_copied(self):
        for values in (
            CURVES,
            CURVES.astype(np.float32),
            CURVES.astype(np.int64),
            np.asfortranarray(CURVES),
        ):
            assert np.shares_memory(matrix_of(values), values)

    def test_columns_of_one_type_are_those_of_another(self):
        whole = np.round(5 * CURVES)
        frames = [
            pd.DataFrame(whole),
            pd.DataFrame(whole).astype(np.int64),
            pd.DataFrame(whole, dtype=object),
            pd.DataFrame(whole).convert_dtypes(),
            pd.DataFrame(whole).astype({0: np.int8, 1: np.float32}),
            pd.DataFrame(whole).astype(str),
            pa.Table.from_pandas(pd.DataFrame(whole)),
        ]
        sums = {tuple(total(frame, bounds=(-5, 5), grid_points=GRID)) for frame in frames}
        assert sums == {tuple(total(whole, bounds=(-5, 5), grid_points=GRID))}


class TestFrames:
    FRAME = pd.DataFrame(CURVES, columns=[f"p{j}" for j in range(5)])

    def test_a_column_names_the_units(self):
        people = list("aabbccddeeff")
        for frame in (self.FRAME.assign(ID=people), pa.Table.from_pandas(self.FRAME.assign(ID=people))):
            fitted = mean().fit(frame, groups="ID")
            assert fitted.release_.count == 6
            assert fitted.n_features_in_ == 5
            assert fitted.feature_names_in_.tolist() == self.FRAME.columns.tolist()
            assert total(frame, "ID") == total(CURVES, people)

    def test_everywhere(self):
        frame = self.FRAME.assign(ID=list("aabbccddeeff"))
        assert (
            PrivateCovariance(1, center="private", bounds=(-1, 1)).fit(frame, groups="ID").release_.count
        )
        y = np.repeat(["x", "y"], 6)
        comparison = PrivateComparison(1.0, bounds=(-1, 1)).fit(frame, y, groups="ID")
        assert [each.count for each in comparison.release_.means.values()] == [3, 3]
        machine = PrivateKernelRegressor(1.0, bounds=(-1, 1), target_bounds=(-1, 1), features="linear")
        machine.fit(frame, CURVES[:, 0], groups="ID")
        assert machine.release_.size == 6
        assert machine.predict(self.FRAME).shape == (12,)
        density = PrivateDensity(1.0, domain=((-1, 1),) * 2)
        assert density.prepare(frame[["p0", "p1", "ID"]], "ID").plan.size == 6

    def test_a_column_that_is_not_there(self):
        with pytest.raises(
            ParameterError, match=r"groups must be the label of a column.*Did you mean 'ID'"
        ):
            mean().fit(self.FRAME.assign(ID=1), groups="id")

    def test_what_the_command_refuses(self):
        for frame, words in (
            (self.FRAME.assign(ID=range(12)), r"of one family.*found 'p0'..'p4', 'ID'.*X\[\[\.\.\.\]\]"),
            (
                pd.DataFrame(CURVES, columns=["ID", 1, 2, 3, 4]),
                "words in column 1 and numbers in columns 2-5",
            ),
            (
                pd.DataFrame(CURVES, columns=["time", *"abcd"]),
                "a first column called 'time', which looks",
            ),
            (
                pd.DataFrame(CURVES, columns=["p1", "p1", "p2", "p3", "p4"]),
                "the same label in columns 1 an",
            ),
            (
                pd.DataFrame(CURVES, columns=["p1", "p10", "p2", "p3", "p4"]),
                "in the order of their numbers",
            ),
        ):
            with pytest.raises(OrientationError, match=words):
                mean().fit(frame)

    def test_identifiers_are_pointed_out(self):
        frame = pd.DataFrame(CURVES, columns=["subject_id", "age", "height", "humid", "grid"])
        with pytest.warns(
            UserWarning, match="The column 'subject_id' looks like an identifier and is read"
        ):
            mean(grid_points=GRID).fit(frame)
        with pytest.warns(UserWarning, match="pass groups='subject_id'"):
            PrivateKernelRegressor(1.0, bounds=(-1, 1), target_bounds=(-1, 1)).fit(frame, CURVES[:, 0])
        mean(grid_points=GRID[:4]).fit(frame, groups="subject_id")


class TestLabelledArrays:
    def array(self, dims=("person", "time"), **coordinates):
        return xr.DataArray(CURVES, dims=dims, coords=coordinates)

    def test_the_coordinate_is_the_grid(self):
        array = self.array(time=[5.0, 6.0, 8.0, 9.0, 10.0], person=range(12))
        release = mean().fit(array).release_
        assert release.domain_range == (5.0, 10.0)
        assert release.grid_points.tolist() == [5.0, 6.0, 8.0, 9.0, 10.0]
        assert total(array) == total(CURVES, grid_points=[5.0, 6.0, 8.0, 9.0, 10.0])
        names = self.array(dims=("person", "depth"), depth=range(5), person=list("abcdefghijkl"))
        assert mean().fit(names).release_.domain_range == (0.0, 4.0)

    def test_without_coordinates_it_is_an_array(self):
        assert mean().fit(self.array()).release_.domain_range == (0.0, 1.0)

    def test_a_transposed_one_is_refused(self):
        turned = self.array(time=np.arange(5.0)).T
        for parameters in ({}, {"grid_points": np.arange(12.0)}):
            with pytest.raises(
                OrientationError, match=r"found 'time' first.*transpose\('person', 'time'\)"
            ):
                mean(**parameters).fit(turned)
        with pytest.raises(OrientationError, match="found 'depth' first, which looks like the grid"):
            mean().fit(self.array(dims=("depth", "person"), depth=np.arange(12.0)))
        assert mean().fit(turned.transpose("person", "time")).release_.count == 12

    def test_what_cannot_be_told_is_refused(self):
        both = self.array(dims=("a", "b"), a=np.arange(12), b=np.arange(5))
        with pytest.raises(OrientationError, match=r"numbers along both 'a' and 'b'.*drop_vars\('a'\)"):
            mean().fit(both)
        assert mean().fit(both.drop_vars("a")).release_.domain_range == (0.0, 4.0)
        with pytest.raises(OrientationError, match="'time' must be numbers that increase"):
            mean().fit(self.array(time=[3, 2, 1, 0, 5]))
        dates = self.array(time=pd.date_range("2020", periods=5))
        # Days since the first one.
        assert mean().fit(dates).release_.domain_range == (0.0, 4.0)

    def test_a_coordinate_by_another_name_is_not_ignored(self):
        beside = self.array(hours=("time", np.arange(5.0)))
        with pytest.raises(OrientationError, match=r"swap_dims\({'time': 'hours'}\)"):
            mean().fit(beside)
        assert mean().fit(beside.swap_dims(time="hours")).release_.domain_range == (0.0, 4.0)

    def test_nan_and_kinds_are_read_as_in_an_array(self):
        holes = self.array(time=GRID).where(np.arange(12)[:, None] != 3)
        with pytest.raises(DataError, match=r"missing value \(NaN\) in row 3, column 0"):
            mean().fit(holes)
        with pytest.raises(DataError, match="Complex data not supported"):
            mean().fit(self.array() * 1j)
        with pytest.raises(DataError, match="one variable; found a data set of several"):
            mean().fit(xr.Dataset({"a": self.array(), "b": self.array()}))


class TestScores:
    @pytest.mark.parametrize("cell", [math.nan, "abc", Decimal("sNaN"), [1.0], 1j, None, 10**400])
    @pytest.mark.parametrize("method", ["auto", "exponential"])
    def test_scores_of_repaired_records_come_after_the_charge_and_do_not_raise(self, cell, method):
        X = CURVES.astype(object)
        X[3, 2] = cell
        fpca = PrivateFPCA(
            n_components=1,
            mechanism=method,
            epsilon=1.0,
            center=Center(0.0, radius=1.0),
            reading=Reading(invalid="repair"),
        )
        scores = fpca.fit_transform(X)
        assert scores.shape == (12, 1)
        assert scores[3, 0] == 0.0
        assert np.array_equal(fpca.transform(X), scores)
        assert np.array_equal(np.delete(scores, 3, axis=0), fpca.transform(np.delete(CURVES, 3, axis=0)))

    def test_what_is_refused_is_refused_before_the_charge(self):
        ledger = MemoryLedger().create("d", PureDP(10), Neighbours.REPLACE_ONE, "record")
        fpca = PrivateFPCA(
            n_components=1, epsilon=1.0, center=Center(0.0, radius=1.0), ledger=ledger.of("d")
        )
        X = CURVES.copy()
        X[3, 2] = np.nan
        with pytest.raises(DataError, match="row 3, column 2"):
            fpca.fit_transform(X)
        assert ledger.spent("d")["epsilon"] == 0

    def test_gaps_are_filled_as_in_fit(self):
        X = CURVES.copy()
        X[3, 2] = np.nan
        scores = PrivateFPCA(
            n_components=1,
            epsilon=1.0,
            center=Center(0.0, radius=1.0),
            reading=Reading(missing="complete"),
        ).fit_transform(X)
        assert scores[3, 0] != 0.0

    def test_long_curves_and_a_named_unit(self):
        times = np.tile(np.linspace(0, 1, 5), 12)
        long = LongCurves(np.repeat(np.arange(12), 5), times, CURVES.ravel())
        fpca = PrivateFPCA(n_components=1, epsilon=1.0, center=Center(0.0, radius=1.0), domain=(0, 1))
        assert fpca.fit_transform(long).shape == (12, 1)
        frame = pd.DataFrame(CURVES, columns=[f"p{j}" for j in range(5)]).assign(ID=list("aabbccddeeff"))
        assert fpca.fit_transform(frame, groups="ID").shape == (12, 1)
