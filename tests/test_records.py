"""Records as they come in: layouts, missing values, units, standardising; each row on its own."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from dpfda import (
    PrivateCovariance,
    PrivateDensity,
    PrivateMean,
    PrivateQuantiles,
    PrivateVectorMean,
    Reading,
)
from dpfda.bases import KernelBasis
from dpfda.bases.grids import quadrature_weights
from dpfda.errors import (
    DataError,
    DpfdaError,
    OrientationError,
    ParameterError,
    UnreadLabelsWarning,
)
from dpfda.records import Curves, LongCurves, curves_from_array, curves_from_long, standardized, units
from dpfda.records.containers import column_of
from dpfda.records.labels import label_key, unit_codes
from dpfda.testing import exact_totals

GRID = np.linspace(0.0, 1.0, 8)
WEIGHTS = quadrature_weights("trapezoid", GRID, (0.0, 1.0))
CURVES = np.random.default_rng(5).normal(size=(12, 8))
# Numbers that no message may repeat, in any form.
MARKERS = [314.159265, -27182.8182, 1.61803e17, 5.77215e-9]


def mean(**parameters: Any) -> PrivateMean:
    return PrivateMean(**{"epsilon": 1.0, "bounds": (-10, 10), **parameters})


class TestOrientation:
    def test_columns_that_do_not_fit_the_grid_are_refused(self) -> None:
        with pytest.raises(OrientationError, match=r"one column a grid point \(9\); found 8 columns"):
            mean(grid_points=np.linspace(0, 1, 9)).fit(CURVES)

    def test_curves_in_columns_are_recognised(self) -> None:
        words = (
            r"found 8 rows and 12 columns for 8 grid points, which looks like curves in columns\. Pass"
        )
        with pytest.raises(OrientationError, match=words) as e:
            mean(grid_points=GRID).fit(CURVES.T)
        assert "Pass X.T." in str(e.value)

    def test_a_square_matrix_has_curves_in_rows(self) -> None:
        square = np.vstack([np.full(8, 2.0)] + [np.zeros(8)] * 7)
        curves = curves_from_array(square, GRID)
        assert np.array_equal(curves.values, square)

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            (CURVES[0], r"X must have two dimensions \(curves, points\); found 1"),
            (CURVES[None], r"X must have two dimensions \(curves, points\); found 3"),
            (3.5, r"X must have two dimensions \(curves, points\); found 0"),
            (np.empty((0, 8)), "X must hold at least two curves; found none"),
            ([[1.0, 2.0], [3.0]], "X must be a matrix of numbers with rows of one length"),
            ([["a", "b"], ["c", "d"]], "X must be a matrix of numbers"),
            (sparse.csr_matrix(CURVES), r"X must be dense; found a sparse matrix\. Use X\.toarray\(\)"),
            (CURVES * 1j, "Complex data not supported: X must be real"),
            (pd.DataFrame(CURVES * 1j), "Complex data not supported: X must be real"),
        ],
    )
    def test_other_shapes_and_kinds_are_refused(self, values: Any, words: str) -> None:
        with pytest.raises(DataError, match=words):
            curves_from_array(values, GRID)

    @pytest.mark.parametrize("values", [CURVES[0], CURVES[None], np.empty((0, 8)), [[1.0, 2.0], [3.0]]])
    def test_they_are_refused_by_the_estimator_too(self, values: Any) -> None:
        for parameters in ({}, {"grid_points": GRID}):
            with pytest.raises(DataError, match="X must"):
                mean(**parameters).fit(values)

    def test_one_curve_is_not_a_mean(self) -> None:
        with pytest.raises(DataError, match="There must be at least two privacy units; found 1"):
            mean().fit(CURVES[:1])
        with pytest.raises(DataError, match="There must be at least two privacy units"):
            mean(neighbours="add-remove").fit(CURVES[:1])

    def test_one_point_is_not_a_curve(self) -> None:
        with pytest.raises(DataError, match="X must have at least two grid points; found 1 feature"):
            mean().fit(CURVES[:, :1])

    def test_the_matrix_is_copied(self) -> None:
        values = CURVES.copy()
        curves = curves_from_array(values, GRID)
        values[:] = 0.0
        assert np.array_equal(curves.values, CURVES)
        where_it_lies = curves_from_array(values, GRID, copied=False)
        assert np.shares_memory(where_it_lies.values, values)
        assert where_it_lies.usable.all()
        # What has to be repaired is not written into.
        values[2, 3] = np.nan
        repaired = curves_from_array(values, GRID, invalid="repair", copied=False)
        assert np.array_equal(np.flatnonzero(~repaired.usable), [2])
        assert np.isnan(values[2, 3])

    @pytest.mark.parametrize("dtype", [np.float32, np.int64, object])
    def test_other_number_types_are_read(self, dtype: Any) -> None:
        values = np.round(10 * CURVES).astype(dtype)
        assert np.array_equal(curves_from_array(values, GRID).values, np.round(10 * CURVES))


class TestFrames:
    def test_numeric_labels_are_the_grid(self) -> None:
        points = [0.5, 1.0, 2.5, 3.0, 4.0, 5.5, 6.0, 7.0]
        for labels in (points, [str(point) for point in points]):
            fitted = mean().fit(pd.DataFrame(CURVES, columns=labels))
            assert np.array_equal(fitted.release_.grid_points, points)
            assert fitted.release_.domain_range == (0.5, 7.0)

    def test_the_argument_goes_before_the_labels(self) -> None:
        frame = pd.DataFrame(CURVES, columns=[str(10 * j) for j in range(8)])
        assert np.array_equal(mean(grid_points=GRID).fit(frame).release_.grid_points, GRID)

    def test_words_give_an_equally_spaced_grid(self) -> None:
        frame = pd.DataFrame(CURVES, columns=[f"point_{j}" for j in range(8)])
        assert np.array_equal(mean().fit(frame).release_.grid_points, GRID)
        hours = mean(domain_range=(0, 24)).fit(frame).release_
        np.testing.assert_allclose(hours.grid_points, 24 * GRID, rtol=1e-15)

    def test_mixed_labels_are_refused(self) -> None:
        frame = pd.DataFrame(CURVES, columns=["person", *map(str, range(7))])
        words = "found words in column 1 and numbers in columns 2-8. Name the privacy unit's column"
        with pytest.raises(OrientationError, match=words):
            mean().fit(frame)

    @pytest.mark.parametrize("kind", [pd.DataFrame, pa.Table.from_pandas])
    def test_a_record_in_the_place_of_labels_is_no_grid(self, kind: Any) -> None:
        """What pandas.read_csv and pyarrow make of growth curves without a header line."""
        rows = np.cumsum(np.random.default_rng(5).uniform(2, 9, (40, 8)), axis=1) + 70
        first = rows[np.argsort(rows[:, -1])[20]]
        heights = mean(bounds=(50, 200))
        frame = kind(pd.DataFrame(rows, columns=[str(value) for value in first]))
        with pytest.raises(OrientationError, match="looks like the increasing curves below it") as e:
            heights.fit(frame)
        assert not any(str(value)[:5] in str(e.value) for value in first)
        # Stated points, and labels that are numbers and not text, were chosen by somebody.
        ages = mean(bounds=(50, 200), grid_points=np.arange(8)).fit(frame)
        assert ages.release_.domain_range == (0, 7)
        chosen = mean(bounds=(50, 200)).fit(pd.DataFrame(rows, columns=first))
        assert np.array_equal(chosen.release_.grid_points, first)

    @pytest.mark.parametrize("labels", [range(1, 9), np.linspace(71, 74, 8)])
    def test_increasing_curves_under_a_grid_are_read(self, labels: Any) -> None:
        """Points below the range of the values, or of which most lie outside what is usual there."""
        rows = np.cumsum(np.random.default_rng(5).uniform(2, 9, (40, 8)), axis=1) + 70
        frame = pd.DataFrame(rows, columns=[str(label) for label in labels])
        release = mean(bounds=(50, 200)).fit(frame).release_
        np.testing.assert_allclose(release.grid_points, labels)

    @pytest.mark.parametrize("labels", [range(24), range(1990, 2014), np.linspace(0, 2.3, 24)])
    def test_increasing_curves_under_evenly_spaced_labels_are_read(self, labels: Any) -> None:
        """Counts since midnight, or since a year: the hour and the year lie within their range."""
        steps = (
            np.random.default_rng(6).exponential(1.0, (40, 24)) * np.geomspace(0.01, 300, 40)[:, None]
        )
        labels = [str(label) for label in labels]
        frame = pd.DataFrame(np.cumsum(steps, axis=1), columns=labels)
        release = mean(bounds=(0, 5000)).fit(frame).release_
        np.testing.assert_allclose(release.grid_points, np.array(labels, dtype=float))

    def test_a_record_among_evenly_rising_ones_is_no_grid(self) -> None:
        rows = np.arange(8.0) * np.arange(1, 41)[:, None] / 20
        frame = pd.DataFrame(rows, columns=[str(value) for value in rows[17]])
        with pytest.raises(OrientationError, match="looks like the increasing curves below it"):
            mean(bounds=(0, 20)).fit(frame)

    def test_a_repaired_fit_does_not_compare_labels_with_values(self) -> None:
        """Whether it is refused would depend on records."""
        rows = np.tile(np.arange(8.0), (40, 1))
        frame = pd.DataFrame(rows, columns=[str(j) for j in range(8)])
        assert mean(invalid="repair").fit(frame).release_.domain_range == (0, 7)

    def test_unsorted_labels_are_refused(self) -> None:
        frame = pd.DataFrame(CURVES, columns=[0, 1, 2, 4, 3, 5, 6, 7])
        with pytest.raises(OrientationError, match="must strictly increase; found one that does not"):
            mean().fit(frame)

    def test_repeated_labels_are_refused(self) -> None:
        frame = pd.DataFrame(CURVES, columns=[0, 1, 2, 2, 3, 5, 6, 7])
        with pytest.raises(OrientationError, match="the same label in columns 3 and 4"):
            mean().fit(frame)

    def test_a_label_that_is_not_a_number_of_any_size_is_refused(self) -> None:
        frame = pd.DataFrame(CURVES, columns=[0, 1, 2, 3, 4, 5, 6, math.nan])
        with pytest.raises(OrientationError, match=r"words in column 8 and numbers in columns 1-7"):
            mean().fit(frame)

    def test_nullable_columns_are_read(self) -> None:
        frame = pd.DataFrame(CURVES).astype("Float64")
        frame.iloc[3, 2] = pd.NA
        with pytest.raises(DataError, match="row 3, column 2"):
            mean().fit(frame)


class TestMissing:
    def test_refused_with_row_and_column(self) -> None:
        values = CURVES.copy()
        values[7, 3] = values[9, 0] = np.nan
        words = r"found a missing value \(NaN\) in row 7, column 3\. Use missing='complete' to fill gaps"
        with pytest.raises(DataError, match=words) as e:
            curves_from_array(values, GRID)
        assert "This check is outside the privacy guarantee." in str(e.value)

    @pytest.mark.parametrize("infinity", [np.inf, -np.inf])
    @pytest.mark.parametrize("missing", ["refuse", "complete"])
    def test_infinities_are_refused(self, infinity: float, missing: str) -> None:
        values = CURVES.copy()
        values[4, 6] = infinity
        with pytest.raises(DataError, match=r"infinity \(inf\) in row 4, column 6"):
            curves_from_array(values, GRID, missing)

    def test_gaps_are_interpolated_within_the_record(self) -> None:
        grid = np.array([0.0, 1.0, 3.0, 4.0, 10.0])
        values = np.array([[np.nan, 1.0, np.nan, 4.0, np.nan], [0.0, 1.0, 2.0, 3.0, 4.0]])
        curves = curves_from_array(values, grid, missing="complete")
        np.testing.assert_allclose(curves.values[0], [1.0, 1.0, 3.0, 4.0, 4.0], rtol=1e-15)
        assert np.array_equal(curves.values[1], values[1])
        assert curves.usable.all()

    def test_a_record_without_any_value_is_refused_or_replaced(self) -> None:
        values = CURVES.copy()
        values[2] = np.nan
        with pytest.raises(DataError, match="row 2, column 0"):
            curves_from_array(values, GRID, missing="complete")
        curves = curves_from_array(values, GRID, missing="complete", invalid="repair")
        assert curves.usable.tolist() == [row != 2 for row in range(12)]
        assert not curves.values[2].any()

    @given(st.integers(0, 2**32 - 1), st.integers(1, 20))
    @settings(max_examples=60, deadline=None)
    def test_completion_depends_on_its_own_record_only(self, seed: int, others: int) -> None:
        random = np.random.default_rng(seed)
        values = random.normal(size=(others + 1, 8)) * 10.0 ** random.integers(
            -300, 300, (others + 1, 1)
        )
        values[random.random(values.shape) < 0.4] = np.nan
        together = curves_from_array(values, GRID, "complete", "repair")
        alone = curves_from_array(values[:1], GRID, "complete", "repair")
        assert together.values[0].tobytes() == alone.values[0].tobytes()
        assert together.usable[0] == alone.usable[0]

    def test_repair_never_raises_on_values(self) -> None:
        values = CURVES.copy()
        values[0, 0], values[1, 1], values[2] = np.nan, np.inf, -np.inf
        values[3] = 1.7e308
        for missing in ("refuse", "complete"):
            for standardize in (False, True):
                fitted = mean(missing=missing, invalid="repair", standardize=standardize).fit(values)
                assert np.isfinite(fitted.release_(GRID)).all()

    def test_completion_of_extreme_values_does_not_warn(self) -> None:
        # A warning that depends on values would tell something of them (warnings are errors here).
        values = np.tile([1.7e308, np.nan, -1.7e308, np.nan], (3, 2))
        fitted = mean(missing="complete", invalid="repair").fit(values)
        assert np.isfinite(fitted.release_(GRID)).all()

    def test_an_unusable_record_counts_as_the_centre_of_the_bound(self) -> None:
        # Sum over 5 records at the upper bound, 5 unusable: the mean is midway.
        values = np.full((10, 8), 3.0)
        values[5:] = np.nan
        # All coefficients: what "auto" sums up depends on the number of records.
        fixed = {"epsilon": 1.0, "bounds": (1.0, 3.0), "mechanism": "laplace"}
        total = (
            PrivateMean(
                invalid="repair",
                **fixed,
            )
            .prepare(values)
            .total
        )
        full = PrivateMean(**fixed).prepare(np.full((5, 8), 3.0)).total
        shared = full.components
        assert exact_totals(total)[:shared] == exact_totals(full)[: total.components]
        assert max(exact_totals(total)) > 0
        assert total.count_with_noise(0, 1) == 10

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"missing": "drop"}, "missing must be one of 'refuse', 'complete', 'pooled'; found 'drop'"),
            ({"missing": None}, "missing must be one of 'refuse', 'complete', 'pooled'; found None"),
            ({"invalid": "ignore"}, "invalid must be one of 'refuse', 'repair'; found 'ignore'"),
        ],
    )
    def test_unknown_choices_are_refused(self, parameters: dict[str, Any], words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            mean(**parameters).fit(CURVES)


class TestUnits:
    @pytest.mark.parametrize(
        "summary",
        [
            PrivateMean(1.0, bounds=(-10, 10)),
            PrivateCovariance(1.0, bounds=(-10, 10)),
            PrivateDensity(1.0, domain=(-10, 10)),
            PrivateQuantiles(1.0, domain=(-10, 10)),
            PrivateVectorMean(1.0, bounds=(-10, 10)),
        ],
        ids=lambda summary: type(summary).__name__,
    )
    def test_labels_in_the_place_of_y_protect_nobody_and_are_pointed_out(self, summary: Any) -> None:
        vector = isinstance(summary, PrivateVectorMean)
        points = isinstance(summary, PrivateDensity | PrivateQuantiles)
        X = np.stack([CURVES] * 2, axis=2) if vector else CURVES[:, 0] if points else CURVES
        person = np.arange(len(X)) // 3
        with pytest.warns(UnreadLabelsWarning, match="y is not read.*pass it as groups"):
            assert clone(summary).fit(X, person).release_.unit == "record"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert clone(summary).fit(X, groups=person).release_.unit == "group"
            clone(summary).fit(X)

    def test_records_of_a_unit_are_averaged(self) -> None:
        groups = ["a", "b", "a", "c", "b", "a", "c", "c", "d", "d", "d", "e"]
        averaged = units(curves_from_array(CURVES, GRID), unit_codes(groups, 12))
        expected = pd.DataFrame(CURVES).groupby(groups, sort=False).mean().to_numpy()
        np.testing.assert_allclose(averaged.values, expected, rtol=1e-13, atol=1e-15)
        assert averaged.usable.all()

    def test_an_unusable_scan_leaves_the_others_of_its_person(self) -> None:
        values = CURVES[:5].copy()
        values[1, 2] = values[4, 0] = np.nan
        curves = curves_from_array(values, GRID, invalid="repair")
        averaged = units(curves, unit_codes(["a", "a", "a", "b", "c"], 5))
        np.testing.assert_allclose(averaged.values[0], (values[0] + values[2]) / 2, rtol=1e-14)
        assert np.array_equal(averaged.values[1], values[3])
        assert averaged.usable.tolist() == [True, True, False]
        assert not averaged.values[2].any()

    def test_a_person_counts_once_however_many_scans(self) -> None:
        many = np.vstack([np.full((9, 8), 1.0), np.full((1, 8), -1.0)])
        prepared = mean().prepare(many, ["a"] * 9 + ["b"])
        assert prepared.plan.size == 2
        assert exact_totals(prepared.total) == (0,) * prepared.total.components

    @given(st.integers(0, 2**32 - 1))
    @settings(max_examples=60, deadline=None)
    def test_a_unit_depends_on_its_own_rows_only(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        values = random.normal(size=(30, 8)) * 10.0 ** random.integers(-30, 30, (30, 1))
        labels = random.integers(0, 6, 30)
        labels[0] = 0
        together = units(curves_from_array(values, GRID), unit_codes(labels, 30))
        own = labels == 0
        alone = units(curves_from_array(values[own], GRID), unit_codes(labels[own], int(own.sum())))
        assert together.values[0].tobytes() == alone.values[0].tobytes()

    @given(st.permutations(list(range(12))))
    @settings(max_examples=30, deadline=None)
    def test_the_order_between_units_does_not_matter(self, order: list[int]) -> None:
        labels = np.array(list("aabbccddeeff"))
        # Rows of one unit stay in order; units are shuffled among each other.
        ranks = np.argsort(np.array(order)[np.arange(12) // 2 * 2], kind="stable")
        first = exact_totals(mean().prepare(CURVES, labels).total)
        second = exact_totals(mean().prepare(CURVES[ranks], labels[ranks]).total)
        assert first == second

    @pytest.mark.parametrize("other", [1.0, "none"])
    @pytest.mark.parametrize("kind", [list, lambda rows: np.array(rows, dtype=object), pd.DataFrame])
    def test_what_becomes_of_a_row_does_not_depend_on_others(self, other: Any, kind: Any) -> None:
        rows = [
            [np.timedelta64(3, "D"), 1.0],
            [np.datetime64("NaT", "D"), 1.0],
            [0.5, 1.0],
            [other, 1.0],
        ]
        curves = curves_from_array(kind(rows), np.array([0.0, 1.0]), invalid="repair")
        assert curves.usable.tolist() == [False, False, True, other == 1.0]

    def test_dates_are_no_numbers(self) -> None:
        dates = np.full((3, 2), np.datetime64("2020-01-01"))
        with pytest.raises(DataError, match="X must be numbers; found dates or spans of time"):
            curves_from_array(dates, np.array([0.0, 1.0]))
        with pytest.raises(DataError, match="X must be a matrix of numbers"):
            curves_from_array(dates.tolist(), np.array([0.0, 1.0]))

    def test_averages_do_not_overflow(self) -> None:
        values = np.full((4, 8), 1.7e308)
        averaged = units(curves_from_array(values, GRID), unit_codes(["a"] * 4, 4))
        np.testing.assert_allclose(averaged.values, 1.7e308, rtol=1e-15)

    @pytest.mark.parametrize(
        "lost", [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "D")], ids=repr
    )
    def test_missing_labels_are_refused(self, lost: Any) -> None:
        labels: list[Any] = ["a"] * 12
        labels[5] = lost
        with pytest.raises(
            DataError, match=r"groups must have a label for every record; found none in row 5\."
        ):
            mean().fit(CURVES, groups=labels)

    def test_missing_labels_in_a_frame_are_refused(self) -> None:
        column = pd.Series(["a"] * 11 + [pd.NA], dtype="string")
        with pytest.raises(DataError, match="found none in row 11"):
            mean().fit(CURVES, groups=column)

    def test_repair_makes_missing_labels_one_unit(self) -> None:
        labels = ["a", None, "b", math.nan, pd.NA, "a"]
        codes = unit_codes(labels, 6, invalid="repair")
        assert codes.tolist() == [0, 1, 2, 1, 1, 0]

    def test_an_empty_text_is_a_label(self) -> None:
        assert label_key("") == ""
        assert unit_codes(["", "a", ""], 3).tolist() == [0, 1, 0]

    def test_labels_must_fit_the_records(self) -> None:
        for labels, found in ((["a"] * 11, "shape"), (np.array([["a"]] * 12), "shape"), ("a", "a word")):
            with pytest.raises(DataError, match=f"groups must hold one label a record.*; found {found}"):
                mean().fit(CURVES, groups=labels)


class TestStandardize:
    @given(st.integers(0, 2**32 - 1))
    @settings(max_examples=60, deadline=None)
    def test_norm_one_and_mean_zero(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        values = random.normal(size=(5, 8)) * 10.0 ** random.integers(-150, 150, (5, 1))
        found = standardized(curves_from_array(values, GRID), WEIGHTS)
        np.testing.assert_allclose(np.sqrt(found.values**2 @ WEIGHTS), 1.0, rtol=1e-12)
        np.testing.assert_allclose(found.values @ WEIGHTS, 0.0, atol=1e-12)

    @given(
        st.floats(1e-3, 1e3),
        st.floats(-1e3, 1e3),
        st.integers(0, 2**32 - 1),
    )
    @settings(max_examples=60, deadline=None)
    def test_scale_and_shift_do_not_matter(self, scale: float, shift: float, seed: int) -> None:
        values = np.random.default_rng(seed).normal(size=(3, 8))
        first = standardized(curves_from_array(values, GRID), WEIGHTS)
        second = standardized(curves_from_array(scale * values + shift, GRID), WEIGHTS)
        # The shift costs digits of the shape: |shift| / (scale |shape|) of them.
        limit = 1e-13 * (10 + abs(shift) / scale / values.std(axis=1).min())
        np.testing.assert_allclose(second.values, first.values, rtol=0, atol=limit)

    def test_the_formula(self) -> None:
        values = CURVES[:1]
        centred = values - values @ WEIGHTS[:, None] / WEIGHTS.sum()
        expected = centred / np.sqrt(centred**2 @ WEIGHTS)
        found = standardized(curves_from_array(values, GRID), WEIGHTS)
        np.testing.assert_allclose(found.values, expected, rtol=1e-13)

    @pytest.mark.parametrize("level", [0.0, 1.0, 0.1, -3e5, 1e308, 5e-324])
    def test_flat_curves_become_the_fixed_element(self, level: float) -> None:
        found = standardized(curves_from_array(np.full((1, 8), level), GRID), WEIGHTS)
        assert found.usable.tolist() == [False]
        assert not found.values.any()

    def test_flat_to_rounding_is_flat(self) -> None:
        nearly = 1e6 + 1e-10 * np.arange(8.0)
        found = standardized(curves_from_array(nearly[None], GRID), WEIGHTS)
        assert found.usable.tolist() == [False]

    @pytest.mark.parametrize("size", [1e308, 1.7e308, 1e-300, 5e-324])
    def test_extreme_values(self, size: float) -> None:
        values = np.array([[1.0, -1.0] * 4]) * size
        found = standardized(curves_from_array(values, GRID), WEIGHTS)
        expected = standardized(curves_from_array([[1.0, -1.0] * 4], GRID), WEIGHTS)
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)

    def test_row_by_row(self) -> None:
        together = standardized(curves_from_array(CURVES, GRID), WEIGHTS)
        for row in range(12):
            alone = standardized(curves_from_array(CURVES[row : row + 1], GRID), WEIGHTS)
            assert alone.values[0].tobytes() == together.values[row].tobytes()

    def test_the_bound_one_is_implied(self) -> None:
        request = PrivateMean(1.0, reading=Reading(standardize=True)).prepare(CURVES).plan
        assert request.bound.radius_on(GRID, WEIGHTS) == 1.0
        assert request.about["standardized"] is True


BASIS = KernelBasis.on_grid(Matern(0.2, nu=1.5), np.linspace(0.0, 1.0, 41))


def observed(functions: list[Any], seed: int = 0, most: int = 30) -> LongCurves:
    """Irregular observations of functions, records interleaved."""
    random = np.random.default_rng(seed)
    rows = []
    for label, function in enumerate(functions):
        times = random.uniform(0, 1, random.integers(1, most))
        rows += [(label, time, function(time)) for time in times]
    random.shuffle(rows)
    labels, times, values = zip(*rows, strict=True)
    return LongCurves(labels, times, values)


class TestLongCurves:
    def test_smoothing_gives_a_smooth_function_back(self) -> None:
        times = np.sort(np.random.default_rng(1).uniform(0, 1, 200))

        def function(t: np.ndarray) -> np.ndarray:
            return 40 + 5 * np.sin(2 * math.pi * t) + 2 * t

        long = LongCurves(np.zeros(200), times, function(times))
        found = curves_from_long(long, BASIS, 1e-4)
        np.testing.assert_allclose(found.values[0], function(BASIS.grid_points), rtol=0, atol=0.1)

    def test_the_formula(self) -> None:
        # Posterior mean of a Gaussian process by its weight-space form, another way to it. Neither
        # the units of the domain nor the scale of the kernel matter.
        random = np.random.default_rng(2)
        times, values = random.uniform(0, 24, 15), random.normal(size=15)
        kernel = ConstantKernel(7.0) * Matern(4.8, nu=1.5)
        basis = KernelBasis.on_grid(kernel, np.linspace(0.0, 24.0, 41))
        found = curves_from_long(LongCurves([1] * 15, times, values), basis, 0.05).values[0]
        # Average variance one over the domain: its integral is the length.
        variances = 24 * basis.eigenvalues / basis.eigenvalues.sum()
        functions = basis.evaluate(times)
        precision = functions.T @ functions / 0.05 + np.diag(1 / variances)
        weights = np.linalg.solve(precision, functions.T @ (values - values.mean()) / 0.05)
        expected = values.mean() + basis.evaluate(basis.grid_points) @ weights
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)

    def test_one_observation_is_a_flat_start(self) -> None:
        found = curves_from_long(LongCurves(["a"], [0.3], [7.5]), BASIS, 0.01)
        np.testing.assert_allclose(found.values, 7.5, rtol=1e-12)

    def test_duplicated_times_are_averaged(self) -> None:
        twice = LongCurves(["a"] * 3, [0.5, 0.5, 0.9], [1.0, 3.0, 2.0])
        once = curves_from_long(twice, BASIS, 0.01)
        assert np.isfinite(once.values).all()
        np.testing.assert_allclose(once.values, 2.0, rtol=0, atol=1e-12)

    @given(st.integers(0, 2**32 - 1), st.integers(2, 12))
    @settings(max_examples=25, deadline=None)
    def test_a_record_alone_is_the_same_bit_for_bit(self, seed: int, records: int) -> None:
        random = np.random.default_rng(seed)
        long = observed([math.sin, math.cos, math.exp] * records, seed)
        together = curves_from_long(long, BASIS, 0.01)
        for rows, curve in zip(long.records(), together.values, strict=True):
            # Alone and in another order of its observations.
            order = random.permutation(rows)
            alone = LongCurves(long.ids[order], long.times[order], long.values[order])
            assert curves_from_long(alone, BASIS, 0.01).values[0].tobytes() == curve.tobytes()

    def test_times_outside_the_domain(self) -> None:
        long = LongCurves([1, 1, 2], [0.2, 1.2, 0.5], [1.0, 500.0, 3.0])
        with pytest.raises(
            DataError, match=r"finite and inside the domain \[0, 1\]; found one that is not in row 1"
        ):
            curves_from_long(long, BASIS, 0.01)
        repaired = curves_from_long(long, BASIS, 0.01, invalid="repair")
        without = curves_from_long(LongCurves([1, 2], [0.2, 0.5], [1.0, 3.0]), BASIS, 0.01)
        assert np.array_equal(repaired.values, without.values)

    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "noon", [1.0], 1j, None])
    def test_observations_that_are_not_finite(self, bad: float) -> None:
        for long in (
            LongCurves([1, 1, 2], [0.2, 0.4, 0.5], [1.0, 1.0, bad]),
            LongCurves([1, 1, 2], [0.2, 0.4, bad], [1.0, 1.0, 1.0]),
        ):
            with pytest.raises(DataError, match="found one that is not in row 2"):
                curves_from_long(long, BASIS, 0.01)
            repaired = curves_from_long(long, BASIS, 0.01, invalid="repair")
            assert repaired.usable.tolist() == [True, False]
            assert not repaired.values[1].any()

    def test_huge_values_stay_finite(self) -> None:
        long = LongCurves([1] * 4, [0.1, 0.4, 0.6, 0.8], [1.7e308, -1.7e308, 1.7e308, -1.7e308])
        found = curves_from_long(long, BASIS, 0.01)
        assert np.isfinite(found.values).all()

    @pytest.mark.parametrize("lost", [None, math.nan, pd.NA], ids=repr)
    def test_observations_without_a_record_are_refused(self, lost: Any) -> None:
        long = LongCurves([1, lost, 2, lost], [0.1, 0.2, 0.3, 0.4], [1.0, 2.0, 3.0, 4.0])
        with pytest.raises(
            DataError, match="ids must have a label for every observation; found none in row 1"
        ):
            curves_from_long(long, BASIS, 0.01)
        assert curves_from_long(long, BASIS, 0.01, invalid="repair").usable.size == 3

    @pytest.mark.parametrize(
        ("columns", "words"),
        [
            (
                ([1], [0.1, 0.2], [1.0, 2.0]),
                "ids, times, values and groups must be columns of one length",
            ),
            (([1, 2], [0.1, 0.2], [1.0, 2.0], ["a"]), "must be columns of one length"),
            ((np.array([[1]]), [0.1], [1.0]), r"ids must hold one value a record; found shape \(1, 1\)"),
            (([], [], []), "There must be at least one observation; found none"),
            (([1], np.array(["2020"], "M8[Y]"), [1.0]), "times must be numbers; found dates"),
            (([1], [0.1], np.array([1j])), "Complex data not supported: values must be real"),
        ],
    )
    def test_unusable_columns_are_refused(self, columns: Any, words: str) -> None:
        with pytest.raises(DataError, match=words):
            LongCurves(*columns)

    @pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
    def test_dates_as_times_are_refused_with_code_that_counts_them(self, zone: str | None) -> None:
        times = pd.Series(pd.date_range("2024-01-01 06:00", periods=3, freq="12h", tz=zone))
        for dated in (times, times.to_numpy(dtype="M8[ns]"), pd.DatetimeIndex(times)):
            with pytest.raises(DataError, match="from a public day and not from their") as refused:
                LongCurves([1, 1, 2], dated, [1.0, 2.0, 3.0])
            code = str(refused.value).partition("first: ")[2].removesuffix(".")
            counted = eval(code, {"numpy": np, "times": dated})  # noqa: S307
            hours = [6, 18, 30] if zone is None else [5, 17, 29]
            np.testing.assert_allclose(LongCurves([1, 1, 2], counted, [1, 2, 3]).times * 24, hours)
        with pytest.raises(DataError, match="dates as days since a public one"):
            curves_from_long(LongCurves([1, 1, 2], [*times], [1.0, 2.0, 3.0]), BASIS, 0.01)

    def test_a_record_belongs_to_one_unit(self) -> None:
        times, values = [0.1, 0.2, 0.3], [1.0, 2.0, 3.0]
        assert LongCurves([1, 2, 1], times, values, ["a", "b", "a"]).record_groups() == ["a", "b"]
        assert LongCurves([1, 2, 1], times, values).record_groups() is None
        with pytest.raises(DataError, match="found two in the record of row 0"):
            LongCurves([1, 2, 1], times, values, ["a", "b", "b"]).record_groups()

    def test_a_missing_unit_is_refused(self) -> None:
        long = LongCurves([1, 1, 2], [0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [math.nan, math.nan, "b"])
        with pytest.raises(
            DataError, match="groups must have a label for every record; found none in row 0"
        ):
            mean(domain_range=(0, 1), missing="complete").fit(long)
        with pytest.raises(DataError, match="a label for every observation; found none in row 0"):
            mean(domain_range=(0, 1)).fit(long)

    @pytest.mark.parametrize("smoothing", [0.0, -1.0, math.nan, math.inf])
    def test_smoothing_must_be_positive(self, smoothing: float) -> None:
        with pytest.raises(ParameterError, match="nugget must be finite and at least"):
            curves_from_long(LongCurves([1], [0.1], [1.0]), BASIS, smoothing)

    def test_the_domain_must_be_public(self) -> None:
        with pytest.raises(
            ParameterError, match="domain must be given for irregular curves; found None"
        ):
            mean().fit(observed([math.sin, math.cos]))

    def test_from_observations_to_a_release(self) -> None:
        functions = [lambda t, a=a: 3 + a * math.sin(6 * t) for a in np.linspace(0.8, 1.2, 300)]
        long = observed(functions, 4)
        per_person = mean(epsilon=1e6, bounds=(0, 6), domain_range=(0, 1), missing="complete")
        release = per_person.fit(long).release_
        at = np.linspace(0.1, 0.9, 9)
        np.testing.assert_allclose(release(at), 3 + np.sin(6 * at), rtol=0, atol=0.35)
        assert release.count == 300

    def test_units_of_irregular_records(self) -> None:
        long = LongCurves([1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4], [1.0, 3.0, 2.0, 2.0], ["a", "a", "b", "c"])
        prepared = mean(domain_range=(0, 1), missing="complete").prepare(long)
        assert prepared.plan.size == 3
        assert prepared.plan.unit == "group"


@dataclass
class Grid:
    """Looks like scikit-fda's FDataGrid."""

    data_matrix: Any
    grid_points: Any
    domain_range: Any


class TestGridObjects:
    def test_grid_and_domain_are_taken_over(self) -> None:
        data = Grid(CURVES[..., None], (2 * GRID,), ((-1.0, 3.0),))
        release = mean().fit(data).release_
        assert np.array_equal(release.grid_points, 2 * GRID)
        assert release.domain_range == (-1.0, 3.0)
        plain = mean(grid_points=2 * GRID, domain_range=(-1.0, 3.0))
        assert exact_totals(plain.prepare(CURVES).total) == exact_totals(mean().prepare(data).total)

    def test_arguments_go_first(self) -> None:
        data = Grid(CURVES[..., None], (2 * GRID,), ((-1.0, 3.0),))
        release = mean(grid_points=GRID, domain_range=(0.0, 1.0)).fit(data).release_
        assert np.array_equal(release.grid_points, GRID)
        assert release.domain_range == (0.0, 1.0)

    @pytest.mark.parametrize("shape", [(12, 8, 2), (12, 4, 2, 1)])
    def test_what_does_not_fit_its_grid_is_refused(self, shape: tuple[int, ...]) -> None:
        data = Grid(np.zeros(shape), (GRID,), ((0.0, 1.0),))
        with pytest.raises(DataError, match="must hold real-valued curves on an interval") as e:
            mean().fit(data)
        assert "fd.coordinates[0]" in str(e.value)


def _spellings(value: float) -> list[str]:
    """Ways in which a message could repeat a value: its leading digits in any notation."""
    digits = f"{abs(value):.5e}".replace(".", "")[:5]
    return [digits, f"{digits[0]}.{digits[1:]}", f"{abs(value):g}", str(value)]


class TestMessagesKeepSecrets:
    @given(
        st.sampled_from(MARKERS),
        st.integers(0, 11),
        st.integers(0, 7),
        st.sampled_from([math.nan, math.inf, -math.inf]),
        st.sampled_from(
            ["bad cell", "one row", "transposed", "three-d", "flat", "groups", "long", "mixed", "text"]
        ),
    )
    @settings(max_examples=150, deadline=None)
    def test_no_error_repeats_a_value(
        self, marker: float, row: int, column: int, bad: float, case: str
    ) -> None:
        values = np.full((12, 8), marker)
        values[row, column] = bad
        groups: Any = None
        data: Any = values
        if case == "one row":
            data = values[:1]
        elif case == "transposed":
            data = values.T
        elif case == "three-d":
            data = values[None]
        elif case == "flat":
            data = values[0]
        elif case == "groups":
            values[row, column] = marker
            groups = [marker] * 11 + [None]
        elif case == "long":
            data = LongCurves(values[:, 0], np.linspace(0, 1, 12), values[:, column])
            data.values[row] = bad
        elif case == "mixed":
            data = pd.DataFrame(values, columns=["who", *range(7)])
        elif case == "text":
            data = values.astype(object)
            data[row, column] = f"about {marker}"
        estimator = mean(grid_points=None if case == "mixed" else GRID, domain_range=(0, 1))
        with pytest.raises(DpfdaError) as e:
            estimator.fit(data, groups=groups)
        told = [str(e.value), repr(e.value), *map(repr, e.value.args), repr(vars(e.value))]
        assert e.value.__cause__ is None
        assert e.value.__suppress_context__ or e.value.__context__ is None
        for spelling in _spellings(marker):
            assert not any(spelling in text for text in told), told

    def test_containers_do_not_print_their_content(self) -> None:
        long = LongCurves([1, 2], [0.1, 0.2], MARKERS[:2])
        curves = Curves(np.full((1, 8), MARKERS[0]), np.array([True]))
        prepared = mean().prepare(np.full((3, 8), MARKERS[0]))
        for shown in (repr(long), str(long), repr(curves), repr(prepared.total), repr(prepared)):
            assert "314" not in shown
        assert "private" in repr(long)
        assert "private" in repr(curves)
        assert "private" in repr(prepared.total)


def test_repair_raises_for_no_label_of_an_observation():
    long = LongCurves([1, 2, 1, 2], [0.1, 0.2, 0.8, 0.9], [1.0, 2.0, 1.5, 2.5], ["a", "b", None, "c"])
    with pytest.raises(DataError, match="same for all observations of a record"):
        long.record_groups()
    # Observations of two units under one label are two records, each of its own unit.
    assert long.record_groups("repair") == ["a", "b", None, "c"]
    assert [list(rows) for rows in long.records()] == [[0], [1], [2], [3]]
    for missing in ("complete", "pooled"):
        mean = PrivateMean(1.0, bounds=(0, 3), domain=(0, 1), reading=Reading(missing, "repair"))
        assert mean.fit(long).release_.count == 4


def test_a_unit_whose_label_is_used_by_another_moves_the_sum_by_one_unit():
    # "a" names records that "b" names too. If a shared record went to the unit of its first row, the
    # rows of "b" would count for "a" in the first data set and for "b" in the second, and both move.
    def observed(first: str) -> LongCurves:
        shared = [(f"r{i}", 0.5, 1.0, "b") for i in range(60)]
        if first == "shared":
            shared = [row for r in shared for row in ((r[0], 0.1, 1.0, "a"), r)]
            own = [(f"a{i}", 0.5, -1.0, "a") for i in range(2000)]
        else:
            own = [("a", 0.5, 1.0, "a")]
        rows = [*own, *shared, ("b", 0.5, -1.0, "b"), ("c", 0.5, 0.0, "c")]
        ids, times, values, groups = zip(*rows, strict=True)
        return LongCurves(ids, times, values, groups)

    totals = []
    for first in ("shared", "apart"):
        mean = PrivateMean(
            1.0,
            bounds=(-1, 1),
            domain=(0, 1),
            reading=Reading("complete", "repair"),
            mechanism="laplace",
        )
        prepared = mean.prepare(observed(first))
        assert prepared.total.count_with_noise(0, 1) == 3
        totals.append(prepared.total.with_noise([0] * prepared.plan.components()))
    square = sum((one - other) ** 2 for one, other in zip(*totals, strict=True))
    assert square <= prepared.plan.problem(3).width ** 2


class Tensor:
    """Cells as a tensor holds them: of a type that is not numpy's own, and tensors one by one."""

    def __init__(self, values: Any) -> None:
        self.held = np.asarray(values)
        self.dtype, self.ndim = f"torch.{self.held.dtype.name}", self.held.ndim

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Any:
        return map(Tensor, self.held)

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.held


@pytest.mark.parametrize("kind", ["float32", "int64", "bool"])
def test_a_column_of_a_tensor_is_read_as_the_array_that_it_holds(kind: str) -> None:
    column = np.array([1, 0, 1, 1], dtype=kind)
    np.testing.assert_array_equal(column_of(Tensor(column), "y")[0], column)
    assert unit_codes(Tensor(column), 4).tolist() == [0, 1, 0, 0]
