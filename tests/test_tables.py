"""Tables of other libraries, with their real packages: each is read as the same data frame would be."""

import datetime
import sqlite3
from decimal import Decimal

import duckdb
import ibis
import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
import sqlalchemy
import xarray as xr

from doors import Raising
from dpfda import PrivateDensity, PrivateKernelRegressor, PrivateMean
from dpfda.errors import DataError, OrientationError, ParameterError
from dpfda.records.containers import matrix_of
from dpfda.records.files import read_curves
from dpfda.records.labels import read_keys
from dpfda.testing import exact_totals

RNG = np.random.default_rng(3)
POINTS = ["0", "6", "12", "18"]
CURVES = RNG.uniform(size=(40, 4))
FRAME = pd.DataFrame(CURVES, columns=POINTS).assign(who=[f"p{i // 2}" for i in range(40)])
TABLE = pa.Table.from_pandas(FRAME)
POLARS = pl.from_arrow(TABLE)
ASKED = 'select "0", "6", "12", "18" from t'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of all kinds."""
    folder = tmp_path_factory.mktemp("tables")
    FRAME.to_csv(folder / "t.csv", index=False)
    pa.parquet.write_table(TABLE, folder / "t.parquet", row_group_size=7)
    pa.feather.write_feather(TABLE, folder / "t.feather", chunksize=9)
    POLARS.write_ipc(folder / "t.ipc", compression="zstd")
    POLARS.write_ipc_stream(folder / "t.arrows")
    with pa.OSFile(str(folder / "t.arrow"), "wb") as sink, pa.ipc.new_stream(sink, TABLE.schema) as out:
        out.write_table(TABLE, max_chunksize=9)
    return folder


@pytest.fixture(scope="module")
def bases():
    """Data bases that hold the table as t."""
    lite = sqlite3.connect(":memory:")
    lite.execute('create table t ("0" real, "6" real, "12" real, "18" real, who text)')
    lite.executemany("insert into t values (?, ?, ?, ?, ?)", FRAME.to_numpy().tolist())
    lite.commit()
    duck = duckdb.connect()
    duck.register("t", TABLE)
    engine = sqlalchemy.create_engine(
        "sqlite://", creator=lambda: lite, poolclass=sqlalchemy.pool.StaticPool
    )
    with engine.connect() as alchemy:
        yield {"lite": lite, "duck": duck, "alchemy": alchemy}
    lite.close()
    duck.close()


WHOLE = {
    "polars": lambda f, b: POLARS,
    "polars, lazy": lambda f, b: POLARS.lazy(),
    "narwhals": lambda f, b: narwhals.from_native(POLARS),
    "narwhals, lazy": lambda f, b: narwhals.from_native(POLARS.lazy()),
    "batch": lambda f, b: TABLE.combine_chunks().to_batches()[0],
    "reader": lambda f, b: TABLE.to_reader(7),
    "IPC stream": lambda f, b: pa.ipc.open_stream(f / "t.arrow"),
    "IPC file": lambda f, b: pa.ipc.open_file(f / "t.feather"),
    "data set": lambda f, b: pa.dataset.dataset(f / "t.parquet"),
    "scanner": lambda f, b: pa.dataset.dataset(f / "t.parquet").scanner(),
    "Parquet": lambda f, b: pa.parquet.ParquetFile(f / "t.parquet"),
    "DuckDB": lambda f, b: b["duck"].table("t"),
    "DuckDB, executed": lambda f, b: b["duck"].execute("select * from t"),
    "Ibis": lambda f, b: ibis.duckdb.from_connection(b["duck"]).table("t"),
    "SQLAlchemy": lambda f, b: b["alchemy"].execute(sqlalchemy.text("select * from t")),
    "DB-API": lambda f, b: b["lite"].execute("select * from t"),
}
BLOCKS = {
    "polars, lazy": lambda f, b: POLARS.lazy().select(POINTS),
    "reader": lambda f, b: TABLE.select(POINTS).to_reader(7),
    "data set": lambda f, b: pa.dataset.dataset(TABLE.select(POINTS)),
    "DuckDB": lambda f, b: b["duck"].sql(ASKED),
    "DuckDB, executed": lambda f, b: b["duck"].execute(ASKED),
    "Ibis": lambda f, b: ibis.duckdb.from_connection(b["duck"]).table("t").select(POINTS),
    "SQLAlchemy": lambda f, b: b["alchemy"].execute(sqlalchemy.text(ASKED)),
    "DB-API": lambda f, b: b["lite"].execute(ASKED),
    "pandas, in chunks": lambda f, b: pd.read_sql(ASKED, b["lite"], chunksize=7),
    "iterator": lambda f, b: (FRAME[POINTS].iloc[start : start + 9] for start in range(0, 40, 9)),
}


# Of Ibis, with a later DuckDB than it knows.
pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")


def mean():
    return PrivateMean(1.0, bounds=(0, 1))


@pytest.mark.parametrize("name", WHOLE)
def test_a_table_is_the_frame(name, folder, bases):
    wanted = mean().prepare(FRAME, groups="who")
    found = mean().prepare(WHOLE[name](folder, bases), groups="who")
    assert exact_totals(found.total) == exact_totals(wanted.total)
    assert found.plan.basis.grid_points.tolist() == [0, 6, 12, 18]
    fitted = mean().fit(WHOLE[name](folder, bases), groups="who")
    assert list(fitted.feature_names_in_) == POINTS


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_the_whole(name, folder, bases, monkeypatch):
    monkeypatch.setattr("dpfda.records.arrow.BLOCK_ROWS", 7)
    totals = []
    monkeypatch.setattr(
        "dpfda.mean.streams.publish",
        lambda total, *rest: totals.append((total.count_with_noise(0, 1), exact_totals(total))),
    )
    mean().fit_blocks(BLOCKS[name](folder, bases))
    wanted = mean().prepare(FRAME[POINTS]).total
    assert totals == [(40, exact_totals(wanted))]


def test_blocks_are_no_container_and_leave_nothing_behind():
    for whole in (FRAME, CURVES, CURVES.tolist(), 7):
        with pytest.raises(DataError, match="one after the other"):
            mean().fit_blocks(whole)

    def broken():
        yield CURVES
        raise OSError("of one's own")

    estimator = mean()
    with pytest.raises(OSError, match="one's own"):
        estimator.fit_blocks(broken())
    with pytest.raises(DataError, match="no block was given"):
        estimator.finish()
    with pytest.raises(DataError, match="blocks that wait"):
        estimator.partial_fit(CURVES).fit_blocks(iter([CURVES]))


def test_a_query_that_fails_shows_no_cell():
    secret = duckdb.sql("select cast(x as integer) as a, 1.0 as b from (values ('secret')) as s(x)")
    for read in (mean().fit, mean().fit_blocks):
        with pytest.raises(DataError, match="query that fails") as caught:
            read(secret)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__


def test_typed_columns_are_read_cell_by_cell():
    frame = pl.DataFrame(
        {
            "0": [1, None, 3, 4],
            "1": ["0.5", " NA ", None, "0.25"],
            "2": pl.Series(["1", "2", "1", "2"], dtype=pl.Categorical),
            "3": [True, False, None, True],
        }
    )
    found = matrix_of(frame)
    wanted = [[1, 0.5, 1, 1], [np.nan, np.nan, 2, 0], [3, np.nan, 1, np.nan], [4, 0.25, 2, 1]]
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(DataError, match="dates or spans of time"):
        mean().fit(pl.DataFrame({"0": [datetime.date(2020, 1, 1)] * 3, "1": [1.0] * 3}))


def test_labels_of_a_column_of_polars_are_its_own():
    # Made floats because of a gap, the first two would be one.
    large = [2**53, 2**53 + 1, None]
    assert len(set(read_keys(pl.Series(large), "groups", "repair"))) == 3


def test_other_summaries_take_tables(bases):
    points = PrivateDensity(1.0, domain=((0, 1), (0, 1)))
    wanted = exact_totals(points.prepare(FRAME[["0", "6"]]).total)
    assert exact_totals(points.prepare(POLARS.lazy().select("0", "6")).total) == wanted
    machine = PrivateKernelRegressor(1.0, bounds=(0, 1), target_bounds=(0, 1))
    machine.fit(bases["duck"].sql('select "0", "6" from t'), POLARS["12"], groups=POLARS["who"])
    assert machine.predict(POLARS.select("0", "6").lazy()).shape == (40,)


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "arrow", "ipc", "arrows"])
def test_files_and_standard_input(ending, folder, monkeypatch):
    path = folder / f"t.{ending}"
    with path.open("rb") as file:
        monkeypatch.setattr(
            "sys.stdin", type("Piped", (), {"buffer": file, "isatty": lambda self: False})()
        )
        tables = [read_curves(path, groups="who"), *(read_curves("-", groups="who") for _ in range(2))]
    for table in tables:
        np.testing.assert_array_equal(table.data, CURVES)
        assert table.groups.tolist() == FRAME["who"].tolist()
        assert table.grid_points.tolist() == [0, 6, 12, 18]


def test_a_damaged_arrow_file_is_refused(tmp_path):
    for content in (b"", b"ARROW1 nonsense", b"\xff\xff\xff\xff\x10"):
        (tmp_path / "t.feather").write_bytes(content)
        with pytest.raises(DataError, match="Arrow file"):
            read_curves(tmp_path / "t.feather")


class TestDates:
    DAYS = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-31", "2024-03-01"])

    @pytest.mark.parametrize(
        "labels",
        [DAYS, DAYS.date, DAYS.strftime("%Y-%m-%d"), DAYS.to_numpy()],
        ids=["moments", "days", "text", "numpy"],
    )
    def test_labels_that_are_dates_are_the_grid_in_days(self, labels):
        basis = mean().prepare(pd.DataFrame(CURVES, columns=labels)).plan.basis
        assert basis.grid_points.tolist() == [0, 1, 30, 60]
        assert basis.domain_range == (0, 60)

    def test_months_and_hours(self):
        months = pd.period_range("2024-01", periods=4, freq="M")
        basis = mean().prepare(pd.DataFrame(CURVES, columns=months)).plan.basis
        assert basis.grid_points.tolist() == [0, 31, 60, 91]
        hours = pd.date_range("2024-01-01 06:00", periods=4, freq="6h")
        basis = mean().prepare(pd.DataFrame(CURVES, columns=hours)).plan.basis
        assert basis.grid_points.tolist() == [0, 0.25, 0.5, 0.75]

    def test_a_coordinate(self):
        array = xr.DataArray(CURVES, dims=("who", "time"), coords={"time": self.DAYS})
        assert mean().prepare(array).plan.basis.grid_points.tolist() == [0, 1, 30, 60]
        with pytest.raises(OrientationError, match="must be numbers that increase"):
            mean().prepare(array[:, ::-1])

    def test_names_and_units_of_a_labelled_array(self):
        hours = xr.DataArray([0.0, 6.0, 12.0, 18.0], dims="hour", attrs={"units": "h"})
        array = xr.DataArray(CURVES, dims=("who", "hour"), coords={"hour": hours}, name="heat")
        about = mean().fit(array.assign_attrs(units="K", long_name="temperature")).release_.about
        assert (about["domain"], about["value"]) == ("hour (h)", "temperature (K)")
        about = mean().fit(xr.DataArray(CURVES)).release_.about
        assert "domain" not in about
        dated = xr.DataArray(CURVES, dims=("who", "time"), coords={"time": self.DAYS})
        for given in (dated, pd.DataFrame(CURVES, columns=self.DAYS)):
            assert mean().fit(given).release_.about["domain"] == "days since 2024-01-01"

    def test_moments_of_a_time_zone_are_where_they_are_in_utc(self):
        days = pd.to_datetime(["2024-03-29", "2024-03-30", "2024-04-01", "2024-06-01"])
        berlin = days.tz_localize("Europe/Berlin")
        words = [str(moment).replace(" ", "T") for moment in berlin]
        for labels, first in ((berlin, 23), (words, 23), (days.tz_localize("UTC"), 0)):
            frame = pd.DataFrame(CURVES, columns=labels)
            plan = mean().prepare(frame).plan
            expected = [0, 1, 3, 64] if first == 0 else [0, 1, 3 - 1 / 24, 64 - 1 / 24]
            np.testing.assert_allclose(plan.basis.grid_points, expected, rtol=0, atol=1e-12)
            said = "2024-03-28 23:00:00" if first else "2024-03-29"
            assert plan.about["domain"] == f"days since {said} UTC"
        array = xr.DataArray(CURVES, dims=("who", "time"), coords={"time": berlin})
        assert mean().prepare(array).plan.basis.grid_points[1] == 1
        # Before the first year there is no moment.
        with pytest.raises(OrientationError, match="of one family"):
            mean().prepare(pd.DataFrame(CURVES, columns=["0001-01-01T00:00+14:00", *words[1:]]))

    @pytest.mark.parametrize(
        "labels",
        [
            pd.to_timedelta([0, 1, 5, 20], unit="h"),
            pd.IntervalIndex.from_breaks([0, 1, 5, 20, 100]),
            pd.PeriodIndex(["2024Q1", "2024Q2", "2024Q4", "2026Q1"], freq="Q"),
        ],
        ids=("spans", "intervals", "quarters"),
    )
    def test_labels_that_are_neither_words_nor_read_are_refused(self, labels):
        with pytest.raises(OrientationError, match="must be numbers, dates or words; found one of type"):
            mean().prepare(pd.DataFrame(CURVES, columns=labels))
        stated = PrivateMean(1.0, bounds=(0, 1), grid_points=[0, 1, 5, 20])
        plan = stated.prepare(pd.DataFrame(CURVES, columns=labels)).plan
        assert plan.basis.grid_points.tolist() == [0, 1, 5, 20]

    def test_curves_in_columns_by_times_are_refused(self):
        times = pd.date_range("2024-01-01", periods=len(CURVES), freq="30min")
        meters = pd.DataFrame(CURVES, index=times, columns=[f"meter{k}" for k in range(CURVES.shape[1])])
        for rows in (times, times.tz_localize("UTC"), times.to_period("30min")):
            with pytest.raises(OrientationError, match=r"each column is a curve. Pass X.T then"):
                mean().prepare(meters.set_axis(rows))
        # So are numbered columns, which may be meters or hours of days; on fractions they are a grid.
        numbered = meters.set_axis(range(CURVES.shape[1]), axis=1)
        with pytest.raises(OrientationError, match=r"state grid_points, such as X.columns"):
            mean().prepare(numbered)
        mean().prepare(numbered.set_axis(numbered.columns / 2, axis=1))
        mean().prepare(numbered, groups=range(len(CURVES)))
        mean().prepare(meters, groups=range(len(CURVES)))
        for frame in (meters, numbered):
            stated = PrivateMean(1, bounds=(0, 1), grid_points=numbered.columns)
            assert stated.prepare(frame).plan.basis.grid_points.tolist() == [*numbered.columns]

    def test_a_unit_in_the_index_is_said_to_be_there(self):
        meters = pd.DataFrame(CURVES).rename_axis("meter")
        with pytest.raises(ParameterError, match=r"is of the index: X.reset_index\(\) makes"):
            mean().prepare(meters, groups="meter")
        mean().prepare(meters.reset_index(), groups="meter")

    def test_dates_that_do_not_increase_are_refused(self):
        with pytest.raises(OrientationError, match="must strictly increase"):
            mean().prepare(pd.DataFrame(CURVES, columns=self.DAYS[::-1]))


def test_a_series_of_units_in_another_order_than_the_frame_is_refused():
    frame, who = FRAME.drop(columns="who"), FRAME["who"]
    shuffled = who.sample(frac=1.0, random_state=1)
    ages = pd.DataFrame({"age": np.arange(40.0)})
    density = PrivateDensity(1.0, domain=(0, 40))
    for fit in (lambda own: mean().fit(frame, groups=own), lambda own: density.fit(ages, groups=own)):
        with pytest.raises(DataError, match="found the index of X in another order"):
            fit(shuffled)
        # By its place, in its order, or with an index of its own, it is a column like any other.
        for own in (shuffled.to_numpy(), shuffled.loc[frame.index], who.set_axis(range(100, 140))):
            fit(own)


def test_what_labels_of_rows_raise_is_not_told():
    """An index may hold what has no order, or nothing equal, and what it raises is of one record."""
    frame, who = FRAME.drop(columns="who"), FRAME["who"]
    for odd in (Decimal("NaN"), Raising()):
        index = pd.Index([odd, *range(1, 40)], dtype=object)
        assert (
            mean().prepare(frame.set_axis(index), who).plan.size
            == mean().prepare(FRAME, "who").plan.size
        )


def test_a_word_is_no_column_of_an_array():
    with pytest.raises(DataError, match="found a word, but no table with columns that have names"):
        mean().fit(CURVES, groups="who")


class Stored:
    """An array that is brought into memory where it is asked for, as one of a file is."""

    shape, ndim, dtype = CURVES.shape, CURVES.ndim, CURVES.dtype

    def __init__(self) -> None:
        self.times = 0

    def __array__(self, *more: object, **named: object) -> np.ndarray:
        self.times += 1
        return CURVES


def test_what_is_stored_is_read_once():
    stored = Stored()
    wanted, found = mean().prepare(CURVES), mean().prepare(stored)
    assert exact_totals(found.total) == exact_totals(wanted.total)
    assert stored.times == 1
    mean().fit(stored)
    assert stored.times == 2
