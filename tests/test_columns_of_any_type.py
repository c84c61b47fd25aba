"""A column of any type is read cell by cell, in every container: whose a record is, and its values."""

import datetime
import itertools
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpfda import PrivateComparison, PrivateMean
from dpfda.errors import DataError
from dpfda.records import containers
from dpfda.records.cells import read_cell
from dpfda.records.containers import column_of
from dpfda.records.labels import read_keys
from dpfda.testing import exact_totals

CURVES = np.random.default_rng(0).uniform(-1, 1, (12, 3)).round(3)
PERSON = np.arange(12) % 5
# Neither sorted nor all alike, the greater one first.
FLAGS = PERSON % 2 == 0
NAMES = ["0.0", "0.5", "1.0"]
WORDS = [f"p{person}" for person in PERSON]
TEXTS = {
    "text": pa.array(WORDS),
    "large text": pa.array(WORDS, pa.large_string()),
    "views of text": pa.array(WORDS, pa.string_view()),
    "categories": pa.array(WORDS).dictionary_encode(),
    "categories of views": pa.DictionaryArray.from_arrays(
        pa.array(PERSON), pa.array([f"p{i}" for i in range(5)], pa.string_view())
    ),
    "bytes": pa.array([word.encode() for word in WORDS]),
    "views of bytes": pa.array([word.encode() for word in WORDS], pa.binary_view()),
    "with a missing one": pa.array([None if word == "p0" else word for word in WORDS], pa.string_view()),
    "no UTF-8": pa.array([bytes([255, person]) for person in PERSON]).view(pa.string()),
    "moments": pa.array(PERSON, pa.timestamp("us", "UTC")),
    "after the year 9999": pa.array(10**15 + PERSON, pa.timestamp("s")),
    "days after the year 9999": pa.array(2**30 + PERSON.astype(np.int32)).view(pa.date32()),
    "spans": pa.array(2**62 + PERSON, pa.duration("s")),
}
FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "Arrow": lambda table: table,
    "chunks": lambda table: pa.concat_tables([table.slice(0, 5), table.slice(5)]),
    "reader": lambda table: table.to_reader(5),
    "DuckDB": duckdb.from_arrow,
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
}


def frame(curves: Any = CURVES, **beside: Any) -> pa.Table:
    return pa.table({**{name: curves[:, i] for i, name in enumerate(NAMES)}, **beside})


def summed(X: Any, groups: Any = None, invalid: str = "refuse") -> Any:
    total = PrivateMean(1.0, bounds=(-1, 1), invalid=invalid).prepare(X, groups).total
    return exact_totals(total), total.count_with_noise(0, 1)


def expected(groups: Any) -> Any:
    """By labels that are whole numbers."""
    return summed(frame(), np.asarray(groups, dtype=np.int64))


@pytest.mark.parametrize("invalid", ["refuse", "repair"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "held",
    [
        np.array, list, pd.Series, pd.array, pd.Categorical, pd.Index, pa.array, pl.Series,
        lambda flags: np.repeat(flags, 2)[::2], lambda flags: pd.DataFrame({"flag": flags}),
    ],
)  # fmt: skip
def test_bools_are_labels_in_any_order(held: Any, turned: bool, invalid: str) -> None:
    flags = ~FLAGS if turned else FLAGS
    assert summed(frame(), held(flags), invalid) == expected(PERSON % 2)


@pytest.mark.parametrize("kind", [np.bool_, *"bhilqBHILQ"])
def test_whole_numbers_of_every_width_are_labels(kind: Any) -> None:
    ends = (0, 1) if kind is np.bool_ else (np.iinfo(kind).min, np.iinfo(kind).max)
    for values in (ends, ends[::-1]):
        for order in (FLAGS, np.sort(FLAGS), ~FLAGS):
            labels = np.array(values, dtype=kind)[order.astype(int)]
            assert summed(frame(), labels) == expected(order)
            assert summed(frame(), labels.astype(labels.dtype.newbyteorder())) == expected(order)


# What these cannot hold themselves.
NOT_HELD = {("no UTF-8", "polars"), ("no UTF-8", "lazy"), ("spans", "DuckDB")}


@pytest.mark.parametrize(
    ("kind", "container"), [pair for pair in itertools.product(TEXTS, FRAMES) if pair not in NOT_HELD]
)
def test_the_column_of_units_may_have_any_type(kind: str, container: str) -> None:
    X = FRAMES[container](frame(who=TEXTS[kind]))
    assert summed(X, "who", "repair") == expected(PERSON)


@pytest.mark.parametrize("container", FRAMES)
@pytest.mark.parametrize("kind", ["text", "large text", "views of text", "categories of views"])
@pytest.mark.parametrize("invalid", ["refuse", "repair"])
def test_numbers_may_be_written_in_text_of_any_type(kind: str, container: str, invalid: str) -> None:
    written = TEXTS[kind].type
    # Not increasing, so that no check of labels ends before the records are looked at.
    column = pa.array([str(value) for value in CURVES[:, 1]])
    if pa.types.is_dictionary(written):
        places, column = pa.array(np.arange(12)), column.cast(pa.string_view())
        column = pa.DictionaryArray.from_arrays(places, column)
    else:
        column = column.cast(written)
    table = frame().set_column(1, NAMES[1], column)
    assert summed(FRAMES[container](table), invalid=invalid) == summed(frame())
    compared = PrivateComparison(1.0, bounds=(-1, 1), invalid=invalid)
    sums = [
        [exact_totals(part.total) for part in compared.prepare(X, WORDS)[1]]
        for X in (FRAMES[container](table), frame())
    ]
    assert sums[0] == sums[1]


def test_infinite_dates_of_a_database_are_labels() -> None:
    X = duckdb.sql(
        'SELECT 0.3 "0.0", 0.2 "0.5", 0.1 "1.0", unnest([\'infinity\', \'-infinity\', '
        "'2020-01-01', 'infinity'])::DATE AS day"
    )
    assert summed(X, "day")[1] == summed(X, "day", "repair")[1] == 3


def test_a_cell_that_python_cannot_hold_changes_no_other() -> None:
    days = pa.array([0, 1, 0, 2**30], pa.int32()).view(pa.date32())
    near = [datetime.date(1970, 1, 1), datetime.date(1970, 1, 2), datetime.date(1970, 1, 1)]
    curves = np.tile([0.3, 0.2, 0.1], (4, 1)) * np.arange(1, 5)[:, None]
    assert summed(frame(curves), days) == summed(frame(curves), [*near, "else"])


@pytest.mark.parametrize("lazy", [False, True])
def test_equal_objects_of_polars_are_one_person_wherever_they_lie(lazy: bool) -> None:
    # Each its own object in memory.
    labels = pl.Series("who", ["".join(["p", str(person)]) for person in PERSON], dtype=pl.Object)
    X = pl.from_arrow(frame()).with_columns(labels)
    assert summed(X.lazy() if lazy else X, "who") == expected(PERSON)
    assert summed(frame(), labels) == expected(PERSON)
    numbers = pl.Series(NAMES[0], list(CURVES[:, 0]), dtype=pl.Object)
    assert summed(pl.from_arrow(frame()).with_columns(numbers)) == summed(frame())


def test_wide_integers_of_polars_are_labels() -> None:
    labels = pl.Series("who", [2**100 + int(person) for person in PERSON], dtype=pl.Int128)
    X = pl.from_arrow(frame()).with_columns(labels)
    assert summed(X, "who") == summed(frame(), labels) == expected(PERSON)


@pytest.mark.parametrize(
    "lost", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "D"), np.ma.masked]
)
def test_a_refusal_of_labels_does_not_depend_on_the_order_of_rows(lost: Any) -> None:
    labels = [lost, [1], "a secret", 3, {}, "a secret", True, b"4", 2.5, (1,), {2}, object()]
    said = set()
    for turn in range(12):
        with pytest.raises(DataError, match="groups must hold words, numbers or dates") as refused:
            summed(frame(), labels[turn:] + labels[:turn])
        assert "secret" not in str(refused.value)
        said.add(re.sub(r"row \d+", "row", str(refused.value)))
    assert len(said) == 1


def test_a_column_of_dates_beside_the_units_is_refused_by_its_type() -> None:
    X = frame(who=TEXTS["moments"])
    with pytest.raises(DataError, match="X must be numbers; found dates or spans of time"):
        summed(X, invalid="repair")


EDGES: dict[str, list[Any]] = {
    "double": [0.1, -0.0, 5e-324, 1.7e308, math.inf, -math.inf, math.nan, None],
    "float": [0.1, -0.0, 1e-45, 3e38, math.inf, -math.inf, math.nan, None],
    "halffloat": [0.1, -0.0, 6e-8, 65504.0, math.inf, -math.inf, math.nan, None],
    "int64": [0, -1, 2**53 - 1, 2**53, 2**53 + 1, -(2**53), 2**63 - 1, None],
    "uint64": [0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**63, 2**64 - 1, None],
    "int8": [0, -1, 127, -128, 1, 2, 3, None],
    "bool": [True, False, True, False, False, True, True, None],
}
TYPES = {"double": pa.float64(), "float": pa.float32(), "halffloat": pa.float16(), "bool": pa.bool_()}


def held_by_libraries(kind: str, cells: list[Any]) -> dict[str, Any]:
    """A column of a numeric type as each library holds it."""
    half = kind == "halffloat"
    halves = [None if cell is None else np.float16(cell) for cell in cells] if half else cells
    stated = TYPES.get(kind, kind)
    column = pa.array(halves, stated, from_pandas=False)
    held = {
        "Arrow": column,
        "chunks": pa.chunked_array([column.slice(0, 3), column.slice(3, 0), column.slice(3)]),
        "pandas of Arrow": pd.Series(column, dtype=pd.ArrowDtype(column.type)),
        "categories": column.dictionary_encode() if not half else column,
        "polars": pl.Series(column) if not half else column,
    }
    if not half:
        mask = np.array([cell is None for cell in cells])
        filled = np.array([0 if cell is None else cell for cell in cells], column.type.to_pandas_dtype())
        build = {"d": pd.arrays.FloatingArray, "f": pd.arrays.FloatingArray, "b": pd.arrays.BooleanArray}
        held["pandas with nulls"] = pd.Series(build.get(kind[0], pd.arrays.IntegerArray)(filled, mask))
        held["masked array"] = np.ma.masked_array(filled, mask)
    return held


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", EDGES)
def test_a_column_taken_as_an_array_holds_what_each_cell_alone_is(kind: str, missing: bool) -> None:
    cells = EDGES[kind] if missing else EDGES[kind][:-1]
    single = {"float": np.float32, "halffloat": np.float16}.get(kind, lambda cell: cell)
    alone = [read_cell(None if cell is None else single(cell)) for cell in cells]
    first = next(((place, why) for place, (_, why) in enumerate(alone) if why), None)
    expected = np.array([number for number, _ in alone])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, column in held_by_libraries(kind, cells).items():
            numbers, offence = column_of(column, "X")
            assert np.array_equal(np.isnan(numbers), np.isnan(expected)), name
            kept = ~np.isnan(expected)
            assert numbers[kept].tobytes() == expected[kept].tobytes(), name
            assert offence == first, name


@pytest.mark.parametrize("kind", EDGES)
def test_columns_of_numbers_are_not_taken_apart_cell_by_cell(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(cell: object) -> Any:
        raise AssertionError("read by itself")

    held = held_by_libraries(kind, EDGES[kind])
    del held["categories"]
    monkeypatch.setattr(containers, "read_cell", refuse)
    for name, column in held.items():
        assert column_of(column, "X")[0].size == len(EDGES[kind]), name


def test_categories_are_decoded_and_name_the_same_people() -> None:
    words = pa.array(["b", None, "a", "b", "c"])
    encoded = pa.chunked_array(
        [words.slice(0, 2).dictionary_encode(), words.slice(2).dictionary_encode()]
    )
    assert read_keys(encoded, "groups", "repair") == ["b", None, "a", "b", "c"]
