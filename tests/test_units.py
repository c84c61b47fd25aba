"""Records to units to integers: the compiled loops and NumPy agree bit for bit, however units lie."""

import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dpfda import PrivateMean
from dpfda.bounds import L2Ball
from dpfda.errors import DataError
from dpfda.numerics import compiled, gridsums
from dpfda.records.curves import (
    Curves,
    curves_from_array,
    fill_gaps,
    shape_limits,
    standardized,
    sums_in_order,
    units,
)
from dpfda.spine import sums
from dpfda.spine.sums import Summation
from dpfda.testing import exact_totals

POINTS = 37
GRID = np.sort(np.random.default_rng(0).uniform(size=POINTS))
hostile = st.sampled_from(
    [
        0.0,
        -0.0,
        5e-324,
        -1e-310,
        1e-200,
        0.5,
        1.0,
        -3.75,
        1e10,
        1e300,
        -1.7e308,
        sys.float_info.max,
        np.nan,
        np.inf,
        -np.inf,
    ]
)


def total_of(mean: PrivateMean, X: Any, codes: Any, road: bool, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Exact sum and count by one of the roads."""
    monkeypatch.setattr(compiled, "worthwhile", lambda numbers: road)
    request = mean.prepare(np.full((2, X.shape[1]), 0.25)).plan
    summation = Summation.of(request)
    total = summation.of_records(X, codes)
    return exact_totals(total), total.count_with_noise(0, 1)


def both(mean: PrivateMean, X: Any, codes: Any = None) -> Any:
    with pytest.MonkeyPatch.context() as monkeypatch:
        # Blocks of a few records on one road, and of all on the other.
        monkeypatch.setattr(sums, "NUMBERS_AT_ONCE", 3 * POINTS)
        monkeypatch.setattr(gridsums, "NUMBERS_AT_ONCE", 4 * POINTS)
        monkeypatch.setattr(compiled, "NUMBERS_AT_ONCE", 5 * POINTS)
        monkeypatch.setattr(compiled, "MORE_AT_ONCE", 4 * POINTS)
        monkeypatch.setattr(compiled, "NUMBERS_A_THREAD", 7 * POINTS)
        return [total_of(mean, X, codes, road, monkeypatch) for road in (False, True)]


@st.composite
def records(draw: Any) -> Any:
    n = draw(st.integers(1, 30))
    X = np.random.default_rng(draw(st.integers(0, 999))).normal(0.5, 0.4, (n, POINTS))
    X *= 10.0 ** draw(st.sampled_from([0, 0, 0, 200, -200, 3]))
    for value in draw(st.lists(hostile, max_size=12)):
        X[draw(st.integers(0, n - 1)), draw(st.integers(0, POINTS - 1))] = value
    for row in draw(st.lists(st.integers(0, n - 1), max_size=3)):
        X[row] = draw(hostile)
    codes = np.unique(draw(arrays.arrays(np.int64, n, elements=st.integers(0, n))), return_inverse=True)[
        1
    ]
    kind = draw(st.sampled_from([np.float64, np.float64, np.float32, np.float16]))
    with np.errstate(all="ignore"):
        return X.astype(kind), codes, draw(st.booleans()), draw(st.booleans())


@settings(max_examples=40, deadline=None)
@given(made=records(), bound=st.sampled_from([(0.0, 1.0), (-4.0, 1e9), L2Ball(0.7)]))
def test_both_roads_make_the_same_integers_of_any_records(made: Any, bound: Any) -> None:
    X, codes, complete, standardize = made
    mean = PrivateMean(
        1.0, bounds=bound, grid_points=GRID, missing="complete" if complete else "refuse",
        invalid="repair", standardize=standardize,
    )  # fmt: skip
    for units_ in (None, codes, np.sort(codes)):
        slow, fast = both(mean, X, units_)
        assert slow == fast
        assert fast[1] == (len(X) if units_ is None else codes.max() + 1)


@given(data=st.data(), n=st.integers(1, 80))
def test_units_are_added_up_from_their_first_record_on(data: Any, n: int) -> None:
    rows = np.random.default_rng(n).normal(size=(n, 3)) * 10.0 ** np.arange(n)[:, None] % 17
    ends = sorted(data.draw(st.sets(st.integers(1, n), max_size=6)) | {n})
    expected = []
    for first, last in zip([0, *ends[:-1]], ends, strict=True):
        total = rows[first].copy()
        for row in rows[first + 1 : last]:
            total += row
        expected.append(total)
    assert np.array_equal(sums_in_order(rows, np.array([0, *ends])), expected)


def test_a_sum_over_units_is_that_of_their_averages(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(1).normal(0.5, 0.4, (200, POINTS))
    codes = np.random.default_rng(2).integers(0, 30, 200)
    codes[:30] = np.arange(30)
    mean = PrivateMean(1.0, bounds=(0, 1), grid_points=GRID)
    averages = units(curves_from_array(X, GRID), codes).values
    alone = total_of(mean, averages, None, False, monkeypatch)
    assert total_of(mean, X, codes, False, monkeypatch) == alone
    np.testing.assert_allclose(averages[7], X[codes == 7].mean(axis=0), rtol=1e-12)


def test_labels_in_any_order_of_any_kind_name_the_same_units() -> None:
    X = np.random.default_rng(1).normal(0.5, 0.4, (60, POINTS))
    labels = np.random.default_rng(2).integers(-5, 5, 60)
    mean = PrivateMean(1.0, bounds=(0, 1), grid_points=GRID)
    totals = [
        (exact_totals(made.total), made.total.count_with_noise(0, 1))
        for groups in (labels, labels.astype(np.int8), labels * 2**55, [f"{each}" for each in labels])
        for made in [mean.prepare(X, groups)]
    ]
    assert all(total == totals[0] for total in totals)


@pytest.mark.parametrize("large", [False, True])
def test_refusals_say_where_a_value_is_not_finite(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "worthwhile", lambda numbers: large)
    X = np.full((50, POINTS), 0.5)
    X[3, 4], X[31, 7] = np.nan, np.inf
    groups = np.arange(50)[::-1] // 2
    with pytest.raises(DataError, match=r"infinity \(inf\) in row 31, column 7"):
        PrivateMean(1.0, bounds=(0, 1), missing="complete").fit(X, groups=groups)
    X[31] = 0.5
    PrivateMean(1.0, bounds=(0, 1), missing="complete").fit(X, groups=groups)
    with pytest.raises(DataError, match=r"missing value \(NaN\) in row 3, column 4"):
        PrivateMean(1.0, standardize=True).fit(X, groups=groups)


@pytest.mark.parametrize("road", [False, True])
def test_units_take_little_memory_beside_the_data(road: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "worthwhile", lambda numbers: road)
    monkeypatch.setattr(sums, "NUMBERS_AT_ONCE", 2**16)
    X = np.full((40_000, 100), 0.5)
    groups = np.random.default_rng(0).integers(0, 30_000, 40_000)
    mean = PrivateMean(1.0, bounds=(0, 1), missing="complete")
    mean.prepare(X[:500], groups[:500])
    tracemalloc.start()
    mean.prepare(X, groups)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The data have 32 MB; labels, numbers and places of records about 20 bytes each.
    assert peak < 8e6


def test_loops_compile_where_no_folder_for_them_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    from dpfda.numerics import numba_loops

    real = numba.njit

    def refusing(**words: Any) -> Any:
        if words.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(**words)

    monkeypatch.setattr(numba, "njit", refusing)
    assert numba_loops.compiled(lambda x: x + 1)(2) == 3
    assert Path(numba_loops.__file__).exists()


@pytest.mark.parametrize("points", [2, 63, 64, 65, 130])
@pytest.mark.parametrize("bound", [(-1.0, 1.0), L2Ball(0.7)])
def test_gaps_of_any_length_are_filled_alike(
    points: int, bound: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(points)
    X = generator.normal(size=(300, points))
    shares = generator.choice([0.0, 0.03, 0.5, 0.95], (300, 1))
    X[generator.random(X.shape) < shares] = np.nan
    first = generator.integers(0, points, 100)
    for row, start, length in zip(X, first, generator.integers(1, points + 1, 100), strict=False):
        row[start : start + length] = np.nan
    mean = PrivateMean(
        1.0, bounds=bound, grid_points=np.linspace(0, 1, points) ** 2, missing="complete",
        invalid="repair",
    )  # fmt: skip
    for codes in (None, np.repeat(np.arange(100), 3)):
        assert total_of(mean, X, codes, True, monkeypatch) == total_of(
            mean, X, codes, False, monkeypatch
        )


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
def test_gaps_become_straight_lines_and_level_beyond_the_ends(share: float) -> None:
    generator = np.random.default_rng(int(10 * share))
    rows = generator.normal(size=(200, POINTS))
    rows[generator.random(rows.shape) < share] = np.nan
    filled = rows.copy()
    fill_gaps(filled, GRID)
    for before, after in zip(rows, filled, strict=True):
        present = ~np.isnan(before)
        if not present.any():
            assert np.isnan(after).all()
            continue
        assert np.array_equal(after[present], before[present])
        np.testing.assert_allclose(after, np.interp(GRID, GRID[present], before[present]), atol=1e-12)


@pytest.mark.parametrize("points", [2, 31, 32, 33, 100, 129, 257])
def test_standardised_records_are_the_same_to_the_last_bit(points: int) -> None:
    from dpfda.numerics import numba_units

    generator = np.random.default_rng(points)
    X = generator.normal(size=(200, points)) * 2.0 ** generator.integers(-1000, 1000, (200, 1))
    X[:60] = generator.normal(size=(60, points)) + 10.0 ** generator.integers(0, 17, (60, 1))
    X[60], X[61], X[62, 0], X[63, -1] = -0.0, 1.7e308, np.nan, -np.inf
    weights = generator.uniform(0.5, 1.5, points) / points
    usable = np.isfinite(X).all(axis=1)
    expected = standardized(Curves(X, usable), weights)
    rows, shaped = np.empty_like(X), np.empty(200, dtype=np.bool_)
    refused = numba_units.standardize(X, rows, shaped, weights, *shape_limits(weights))
    assert refused == 2
    assert np.array_equal(shaped, expected.usable)
    assert np.array_equal(rows[shaped], expected.values[shaped])
    assert np.isnan(rows[~shaped]).all()
