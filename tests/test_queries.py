"""Sums as a query: those of a fit on the rows in memory, bit for bit; no row leaves the data base."""

import math
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from unittest import mock

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda import Domain, PrivateMean, Reading
from dpfda.errors import DataError, OrientationError
from dpfda.records import queries
from dpfda.testing import exact_totals

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
# Bounds whose integers lie at halves, at a common place, far from zero, and where numbers are coarse.
BOUNDS = [(-1, 1), (0.1, 7.3), (1e6, 1e6 + 1), (-1e99, 1e99), (1e-90, 3e-90), (-7, 3.3)]
EXTREMES = [0.0, -0.0, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308, math.inf, -math.inf]
EXTREMES += [math.nan, 0.5, 2.0**-31, 3 * 2.0**-31, 1e6 + 2.0**-31, 1e16, -1e16, 1.0, 1e15 + 1]


@contextmanager
def nothing_read():
    """A table of a data base cannot be read whole meanwhile."""
    with mock.patch.object(pa, "table", side_effect=AssertionError("The table was read.")):
        yield


@pytest.fixture
def nothing_leaves():
    with nothing_read():
        yield


def found(X, groups=None, bounds=(-1, 1), invalid="repair", **other):
    reading = Reading(invalid=invalid)
    mean = PrivateMean(1.0, bounds=bounds, reading=reading, unit="person", **other)
    prepared = mean.prepare(X, groups)
    return (
        exact_totals(prepared.total),
        prepared.total.count_with_noise(0, 1),
        (prepared.plan.n, prepared.plan.bounded),
    )


doubles = st.one_of(st.none(), st.sampled_from(EXTREMES), st.floats(-2, 2), st.floats())
COLUMNS = {
    pa.float64(): doubles,
    pa.float32(): st.one_of(st.none(), st.floats(width=32)),
    pa.int64(): st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-2, 2)),
    pa.uint64(): st.one_of(st.none(), st.sampled_from([2**53 - 1, 2**53, 2**53 + 1, 2**64 - 1, 1])),
    pa.int16(): st.one_of(st.none(), st.integers(-3, 3)),
    pa.bool_(): st.one_of(st.none(), st.booleans()),
    pa.decimal128(38, 20): st.one_of(st.none(), st.decimals(-(10**17), 10**17, places=20)),
    pa.decimal128(18, 0): st.one_of(st.none(), st.integers(-(10**17), 10**17).map(Decimal)),
    pa.decimal128(5, 4): st.one_of(st.none(), st.decimals(-9, 9, places=4)),
}
LABELS = {
    pa.string(): st.one_of(st.none(), st.sampled_from(["", "a", "A", "a ", "ä", "NaN"])),
    pa.int64(): st.one_of(st.none(), st.integers(0, 3)),
    pa.bool_(): st.one_of(st.none(), st.booleans()),
}


@st.composite
def tables(draw):
    rows, kinds = draw(st.integers(2, 12)), draw(st.lists(st.sampled_from([*COLUMNS]), min_size=2))
    made = {
        f"at {k}": pa.array(draw(st.lists(COLUMNS[kind], min_size=rows, max_size=rows)), kind)
        for k, kind in enumerate(kinds[:5])
    }
    kind = draw(st.sampled_from([*LABELS]))
    return pa.Table.from_pydict(
        made | {"who": pa.array(draw(st.lists(LABELS[kind], min_size=rows, max_size=rows)), kind)}
    )


@cache
def pool(bounds, columns):
    settings = {"reading": Reading(invalid="repair"), "neighbours": "add-remove"}
    return PrivateMean(1.0, bounds=bounds, **settings).pooled_on(np.zeros((2, columns)))


@given(tables(), st.sampled_from(BOUNDS))
@settings(deadline=None, max_examples=25)
def test_a_query_adds_up_what_is_added_up_in_memory(table, bounds):
    curve = table.drop_columns("who")
    made = pool(bounds, curve.num_columns)
    for chosen, groups in ((table, "who"), (curve, None)):
        wanted = made.total(curve, groups and table["who"])
        query = queries.queried(duckdb.from_arrow(chosen), groups).query(made.summation.clipping)
        total = queries.sum_of_query(query, curve.num_columns, "repair")
        assert exact_totals(total) == exact_totals(wanted)
        assert total.count_with_noise(0, 1) == wanted.count_with_noise(0, 1)


RNG = np.random.default_rng(7)
# Averages of these hang on the order of a person's records, in their last bit and beyond.
MANY = RNG.normal(size=(130_000, 3)) * 10.0 ** RNG.integers(-16, 3, (130_000, 3))
WHOSE = RNG.integers(0, 40_000, len(MANY))
TABLE = pa.table({"0": MANY[:, 0], "0.5": MANY[:, 1], "1": MANY[:, 2], "who": WHOSE})


# What one thread does is what `found` does in the tests around.
@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.thorough), 4])
@pytest.mark.parametrize("groups", [None, "who"])
def test_threads_and_places_in_a_data_base_do_not_show(threads, groups, nothing_leaves):
    base = duckdb.connect(config={"threads": threads})
    base.register("handed", TABLE)
    base.execute("create table kept as select * from handed")
    wanted = found(MANY, None if groups is None else WHOSE, domain=Domain(grid_points=[0, 0.5, 1]))
    columns = '"0", "0.5", "1"' + (", who" if groups else "")
    for invalid in ("refuse", "repair"):
        assert found(base.table("kept").project(columns), groups, invalid=invalid)[:2] == wanted[:2]
    held = ibis.duckdb.from_connection(base).table("kept")
    held = held if groups else held.drop("who")
    assert found(held, groups)[:2] == wanted[:2]
    if groups is None:
        # Integers add up to the same in any order; averages of doubles do not.
        assert found(base.table("kept").order("hash(who)").project(columns))[:2] == wanted[:2]
        return
    turned = base.table("kept").order('hash(who), hash("0")')
    rows = turned.fetchnumpy()
    matrix = np.stack([rows[name] for name in ("0", "0.5", "1")], axis=1)
    assert found(turned, "who")[0] == found(matrix, rows["who"])[0]


def test_a_sum_of_integers_of_any_size_is_exact(nothing_leaves):
    wide = duckdb.sql(
        "select (0.5 + range % 2) :: double as a1, -1e300 :: double as a2 from range(3000000)"
    )
    totals, count, _ = found(wide, bounds=(-0.75, 1.25))
    assert count == 3_000_000
    assert found(wide.limit(2), bounds=(-0.75, 1.25))[0] == tuple(total // 1_500_000 for total in totals)


NULL = "select null :: double as a1, 1.0 :: double as a2, 'secret' as who union all select 1, 1, 'other'"


@pytest.mark.parametrize(
    ("asked", "groups"),
    [
        ("select null :: double as a1, 1.0 as a2 union all select 1, 1", None),
        (NULL, "who"),
        ("select 1.0 as a1, 9007199254740992 as a2 union all select 1, 1", None),
        ("select 'nan' :: double as a1, 1.0 as a2 union all select 1, 1", None),
        ("select 1.0 as a1, 1.0 as a2, null :: varchar as who union all select 1, 1, 'secret'", "who"),
        ("select case when 'secret' :: integer > 0 then 1.0 else 2.0 end as a1, 1.0 as a2", None),
    ],
)
def test_what_cannot_be_used_is_refused_without_its_content(asked, groups, nothing_leaves):
    with pytest.raises(DataError) as refused:
        found(duckdb.sql(asked), groups, invalid="refuse")
    told = f"{refused.value} {refused.value.__cause__} {refused.value.__context__}"
    assert "secret" not in str(refused.value)
    assert "9007" not in told


def test_labels_that_are_a_record_are_refused_as_in_memory(nothing_leaves):
    rows = np.sort(RNG.uniform(0, 100, (50, 6)), axis=1)
    labels = [repr(round(float(value), 2)) for value in np.sort(RNG.uniform(20, 80, 6))]
    table = pa.Table.from_arrays([*rows.T], labels)
    for held in (table, duckdb.from_arrow(table)):
        with pytest.raises(OrientationError, match="looks like the increasing curves"):
            found(held, bounds=(0, 100), invalid="refuse")
        assert found(held, bounds=(0, 100))[1] == 50
    even = pa.Table.from_arrays([*RNG.normal(size=(6, 50))], [str(k) for k in range(6)])
    assert found(duckdb.from_arrow(even), invalid="refuse")[0] == found(even, invalid="refuse")[0]


@pytest.mark.parametrize(
    "change",
    [
        {"bounds": (-1, 1), "groups": np.arange(40) // 2},
        {"reading": Reading(standardize=True), "bounds": None},
        {"reading": Reading(missing="complete"), "bounds": (-1, 1)},
        {"bounds": (-1, 1), "mechanism": "bernstein"},
    ],
)
def test_what_no_query_can_say_is_read_as_before(change):
    groups = change.pop("groups", None)
    table = pa.table({f"at {k}": RNG.uniform(-1, 1, 40) for k in range(5)})
    mean = PrivateMean(1.0, **change)
    made = [mean.prepare(held, groups) for held in (table, duckdb.from_arrow(table))]
    assert exact_totals(made[0].total) == exact_totals(made[1].total)


def test_a_stream_below_a_relation_is_asked_once():
    table = pa.table({"a1": RNG.uniform(-1, 1, 5000), "a2": RNG.uniform(-1, 1, 5000)})
    base = duckdb.connect()
    once = base.from_arrow(table.to_reader(100))
    assert found(once)[:2] == found(table)[:2]


def test_tables_that_are_not_asked(monkeypatch):
    assert queries.queried(np.zeros((2, 2)), None) is None
    assert queries.queried(duckdb.sql("select 1.0 as a1, 2.0 as a1"), None) is None
    assert queries.queried(duckdb.sql("select 1.0 as a1, date '2020-01-01' as a2"), None) is None
    assert queries.queried(duckdb.sql("select 1.0 as a1, 1.5 :: double as who"), "who") is None
    assert queries.queried(duckdb.sql("select 1.0 as a1, 'x' as a2"), None) is None
    assert queries.queried(duckdb.sql("select 1.0 as a1, 'x' as who"), "who") is not None
    assert "1.0" not in repr(queries.queried(duckdb.sql("select 1.0 as a1, 'x' as who"), "who"))


def test_a_label_is_no_part_of_the_query(nothing_leaves):
    names = ['x"1', 'x"); drop table kept; --2', "x''3"]
    table = pa.Table.from_arrays([*RNG.normal(size=(3, 40)), np.arange(40) // 2], [*names, 'w"ho'])
    wanted = found(table, 'w"ho', domain=Domain(grid_points=[0, 1, 2]))
    assert found(duckdb.from_arrow(table), 'w"ho', domain=Domain(grid_points=[0, 1, 2])) == wanted
