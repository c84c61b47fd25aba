"""Records made to break the guarantee: none may leave the ball, warn, raise or show itself."""

import math
import traceback
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpfda import PrivacyUnit, PrivateMean, Reading, release_function
from dpfda.bounds import IntegerBall, L1Ball, L2Ball, ValueBounds
from dpfda.errors import DataError, DpfdaError, ParameterError, RefusedMechanismError
from dpfda.mechanisms import Design
from dpfda.noise import (
    EllipticalNoise,
    GaussianNoise,
    KNormNoise,
    achieved_guarantee,
    elliptical_noise,
    gaussian_noise,
    knorm_noise,
)
from dpfda.numerics.aggregate import IntegerSum, soft_threshold
from dpfda.numerics.embedding import Rows
from dpfda.numerics.parameters import exact
from dpfda.privacy.guarantees import PureDP, guarantee_for
from dpfda.records import LongCurves
from dpfda.records.containers import column_of
from dpfda.records.labels import unit_codes
from dpfda.testing import exact_totals

LARGEST = np.finfo(float).max
NORMS = ("l1", "l2", "linf")


def norm_of(row, norm):
    """Exact norm of an integer row, squared for l2."""
    sizes = [abs(int(entry)) for entry in row]
    return {"l1": sum(sizes), "l2": sum(s * s for s in sizes), "linf": max(sizes)}[norm]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf, -(2.0**63), 2.0**63, LARGEST])
@pytest.mark.parametrize("exponent", [-1074, 0, 900, 2000])
def test_no_mantissa_leaves_the_ball(norm, entry, exponent):
    ball = IntegerBall.of(norm, 1.0, 3)
    mantissas = np.array([[entry, 0.0, 0.0], [entry, -entry, 1.0], [1.0, entry, entry]])
    rows = ball.clip(Rows(mantissas, np.full(3, exponent)))
    limit = ball.radius**2 if norm == "l2" else ball.radius
    assert all(norm_of(row, norm) <= limit for row in rows)


@pytest.mark.parametrize("norm", NORMS)
def test_integers_that_would_wrap_around_are_outside(norm):
    ball = IntegerBall.of(norm, 1.0, 2)
    extremes = np.array([[-(2**63), 0], [2**63 - 1, 0], [2**32, 2**32], [-(2**62), 2**62]])
    assert not ball.inside(extremes).any()
    assert ball.inside(np.zeros((1, 2), dtype=np.int64)).all()


@pytest.mark.parametrize("bounds", [L1Ball(1.0), L2Ball(1.0), ValueBounds(-1, 1)])
@pytest.mark.parametrize("copies", [1, 3, 9, 11, 17])
def test_the_average_of_a_units_largest_doubles_stays_finite_and_in_the_ball(bounds, copies):
    curves = np.vstack([np.zeros((2, 20)), np.full((copies, 20), LARGEST)])
    groups = [0, 1] + [2] * copies
    mean = PrivateMean(1.0, bounds=bounds, reading=Reading(invalid="repair"))
    whole = exact_totals(mean.prepare(curves, groups).total)
    rest = exact_totals(mean.prepare(curves[:2], groups[:2]).total)
    ball = mean.prepare(curves, groups).plan.ball
    moved = [a - b for a, b in zip(whole, (*rest, *[0] * len(whole)), strict=False)]
    limit = ball.radius**2 if ball.norm == "l2" else ball.radius
    assert 0 < norm_of(moved, ball.norm) <= limit


@pytest.mark.parametrize(
    "cell", [5e-324, -0.0, LARGEST, -LARGEST, np.inf, np.nan, 10**400, "abc", None, pd.NA]
)
def test_repair_is_silent_even_where_numpy_is_set_to_raise(cell):
    matrix = np.zeros((4, 6), dtype=object)
    matrix[2, 3] = cell
    with np.errstate(all="raise"):
        mean = PrivateMean(
            1.0, bounds=(-1, 1), reading=Reading(invalid="repair", standardize=False)
        ).fit(matrix)
        PrivateMean(1.0, reading=Reading(standardize=True, invalid="repair")).fit(matrix)
    assert mean.release_.count == 4


def test_repair_smooths_any_irregular_record():
    times = [0.5] * 50 + [0.1, 0.1, 0.9]
    values = [LARGEST, -LARGEST] * 25 + [10**400, 1.0, 5e-324]
    long = LongCurves(["a"] * 50 + ["b", "b", "c"], times, values)
    mean = PrivateMean(1.0, bounds=(-1, 1), domain=(0, 1), reading=Reading("complete", "repair", 1e-8))
    with np.errstate(all="raise"):
        assert mean.fit(long).release_.count == 3
        assert mean.set_params(reading__missing="pooled").fit(long).release_.count == 3
    with pytest.raises(ParameterError, match="nugget must be finite and at least 1e-08"):
        PrivateMean(1.0, bounds=(-1, 1), domain=(0, 1), reading=Reading("complete", nugget=1e-17)).fit(
            long
        )


def test_what_is_masked_is_missing():
    hidden = np.ma.masked_array(np.full((4, 6), 9.0), mask=[[True] * 6] + [[False] * 6] * 3)
    with pytest.raises(DataError, match=r"missing value \(NaN\) in row 0, column 0"):
        PrivateMean(1.0, bounds=(0, 10)).fit(hidden)
    prepared = PrivateMean(1.0, bounds=(-9, 9), reading=Reading(invalid="repair")).prepare(hidden)
    shown = PrivateMean(1.0, bounds=(-9, 9)).prepare(np.full((3, 6), 9.0))
    assert exact_totals(prepared.total) == exact_totals(shown.total)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1.0, 2.0, 3.0]] * 3, columns=["0.61", "0.42", "0.51"]),
        pd.DataFrame([[1.0, 2.0, 3.0]] * 3, columns=["Mr Secret", "0.42", "0.51"]),
        np.array([["secret-42", 1.0, 2.0]] * 3, dtype=object),
    ],
)
def test_no_error_nor_its_context_shows_a_label_or_a_cell(frame):
    with pytest.raises((DataError, ParameterError)) as caught:
        PrivateMean(1.0, bounds=(0, 1)).fit(frame)
    shown = "".join(traceback.format_exception(caught.value))
    shown += str(caught.value.__context__) + str(caught.value.__cause__)
    for secret in ("0.61", "0.42", "Secret", "secret-42"):
        assert secret not in shown


def test_negative_thresholds_are_refused():
    noise = KNormNoise((1,), (5,))
    for thresholds in ((-1,), (1, 1), (0.5,), (True,)):
        with pytest.raises(ParameterError, match="thresholds must be 1 integers of at least 0"):
            Design("bad", {}, noise, np.ones(1), thresholds)
    assert soft_threshold(1, -5) == 1
    assert soft_threshold(-7, 3) == -4


@pytest.mark.parametrize("shrinkage", [np.ones(2), np.array([np.nan]), np.ones((1, 1))])
def test_unfit_shrinkage_is_refused(shrinkage):
    with pytest.raises(ParameterError, match="shrinkage must be 1 finite factors"):
        Design("bad", {}, KNormNoise((1,), (5,)), shrinkage)


@pytest.mark.parametrize(
    "make",
    [
        lambda: KNormNoise((1, 1), (5,)),
        lambda: KNormNoise((1,), (0,)),
        lambda: KNormNoise((), ()),
        lambda: GaussianNoise((1.5,)),
        lambda: GaussianNoise((-3,)),
        lambda: EllipticalNoise(2, 5, "student-t", 0),
        lambda: EllipticalNoise(2, 5, "cauchy", 3),
    ],
)
def test_malformed_laws_are_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_a_law_under_another_ones_name_is_not_certified():
    class Silent(KNormNoise):
        def draw(self):
            return [0] * self.components

    with pytest.raises(RefusedMechanismError, match="suit the guarantee"):
        achieved_guarantee(Silent((1,), (10,)), "l2", 10, PureDP(1))


def test_multivariate_laplace_is_never_certified_pure():
    with pytest.raises(RefusedMechanismError, match="pole at the centre"):
        achieved_guarantee(EllipticalNoise(3, 10, "laplace", 0), "l2", 10, PureDP(5))


@pytest.mark.parametrize("relative", [[0.0, 1.0], [np.inf, 1.0], [-1.0, 1.0], [1e-300, 1e300], []])
def test_unusable_shapes_are_refused_by_every_family(relative):
    with pytest.raises(ParameterError, match="relative scales must be positive, finite and within"):
        knorm_noise((1,) * len(relative), relative, "l2", 10, PureDP(1))
    with pytest.raises(ParameterError, match="relative scales must be positive, finite and within"):
        gaussian_noise(relative, 10, guarantee_for(1, 1e-6))


def test_budgets_out_of_reach_are_refused_in_time():
    curves = np.zeros((3, 5))
    for epsilon in (1e-200, 1e200, Fraction(1, 10**400), 10**400):
        with pytest.raises(ParameterError, match="epsilon must lie between 1e-9 and 1e9"):
            PrivateMean(epsilon, bounds=(0, 1)).fit(curves)
    with pytest.raises(ParameterError, match="delta must be 0 or at least 1e-100"):
        PrivateMean(1, Decimal("1e-4000"), bounds=(0, 1), mechanism="gaussian").fit(curves)
    with pytest.raises(ParameterError, match="at least 1e-300 for Gaussian noise"):
        gaussian_noise([1.0], 10, guarantee_for(1, "1e-4000"))
    with pytest.raises(ParameterError, match="epsilon must be a number of at most 5000 digits"):
        guarantee_for("1e999999999")
    with pytest.raises(ParameterError, match="at least 1e-60 for elliptical noise"):
        elliptical_noise(2, 10, guarantee_for(1, "1e-100"))


class TestBernsteinTargets:
    """A target's values are taken exactly: a cast could move them by more than the sensitivity."""

    @staticmethod
    def integers(target, sensitivity, monkeypatch):
        monkeypatch.setattr(KNormNoise, "draw", lambda self: [0] * self.components)
        release = release_function(target, sensitivity, 1, 1, (0, 1))
        return release.noisy_values, Fraction(2) ** release.exponent

    @pytest.mark.parametrize(
        ("one", "other", "sensitivity"),
        [
            (np.array([2**62 + 511, 0]), np.array([2**62 + 513, 0]), 2),
            ([2**53 + 1, 0], [2**53 + 2, 0], 1),
            ([Fraction(10**17 + 1, 10**9), 0], [Fraction(10**17 + 2, 10**9), 0], Fraction(1, 10**9)),
            ([Decimal("1e20"), 0], [Decimal("100000000000000000000.5"), 0], Fraction(1, 2)),
            (
                np.array([1, 0], dtype=np.longdouble),
                np.array([1 + np.finfo(np.longdouble).eps, 0]),
                1e-18,
            ),
        ],
    )
    def test_neighbours_move_by_no_more_than_the_sensitivity(self, one, other, sensitivity, monkeypatch):
        first, grid = self.integers(one, sensitivity, monkeypatch)
        second, _ = self.integers(other, sensitivity, monkeypatch)
        width = math.ceil(exact(sensitivity, "sensitivity") * grid)
        assert all(abs(a - b) <= width for a, b in zip(first, second, strict=True))
        assert first != second

    @pytest.mark.parametrize("cell", [math.nan, math.inf, None, np.longdouble("inf"), Decimal("NaN")])
    def test_repair_puts_zero_in_place_of_what_is_not_finite(self, cell, monkeypatch):
        with np.errstate(all="raise"):
            release = release_function([cell, 10**400], 1, 1, 1, (0, 1), invalid="repair")
        assert release.noisy_values[1] > 10**399
        with pytest.raises(DataError, match="found a value that is not at position 0"):
            release_function([cell, 1], 1, 1, 1, (0, 1))

    def test_what_is_no_number_is_refused_without_showing_it(self):
        for target in (["secret", 1], [1j, 1], [[1], [2, 3]]):
            with pytest.raises(DataError, match="target must give") as caught:
                release_function(target, 1, 1, 1, (0, 1))
            assert "secret" not in str(caught.value) + str(caught.value.__context__)


class TestDesignsOfOthers:
    """A mechanism from outside may be wrong: what is checked must be what is drawn."""

    @staticmethod
    def release(design):
        class Mechanism:
            name = "other"

            def design(self, problem):
                return design(problem)

        return PrivateMean(1, bounds=(0, 1), mechanism=Mechanism()).fit(np.zeros((4, 6)))

    def test_something_like_a_design_is_refused(self):
        def duck(problem):
            noise = KNormNoise((1,) * 6, (2**40,) * 6)
            return SimpleNamespace(
                mechanism="d", parameters={}, noise=noise, shrinkage=np.ones(6),
                thresholds=[0.5] * 6, components=6,
            )  # fmt: skip

        with pytest.raises(ParameterError, match="answer with a Design whose noise is one of"):
            self.release(duck)

    def test_a_law_that_was_tampered_with_draws_as_itself(self):
        def tampered(problem):
            noise = KNormNoise((1,) * 6, (4 * problem.width,) * 6)
            object.__setattr__(noise, "draw", lambda: [0] * 6)
            return Design("t", {}, noise, np.ones(6))

        noisy = self.release(tampered).release_.noisy_sum
        assert sum(value != 0 for value in noisy) == 6

    def test_a_law_that_answers_twice_differently_is_refused(self):
        class Shifty(Design):
            @property
            def noise(self):
                return KNormNoise((1,) * 6, (2**40,) * 6)

            @noise.setter
            def noise(self, value):
                pass

        with pytest.raises((ParameterError, AttributeError)):
            self.release(lambda problem: Shifty("s", {}, None, np.ones(6)))

    def test_sums_take_integers_alone(self):
        total = IntegerSum(2).add(np.array([[3, -4]]))
        for noise, levels in (([0.5, 1], ()), ([1, 1], (0.5, 0)), ([True, 1], ())):
            with pytest.raises(DpfdaError, match="Noise and thresholds must be integers"):
                total.with_noise(noise, levels)
        assert total.with_noise([10, 10], (1, 1)) == (12, 7)


def test_an_unknown_norm_is_no_ball():
    with pytest.raises(ParameterError, match="norm must be one of"):
        IntegerBall("Linf", 10, 0)


class TestColumnsOfAnotherLibrary:
    """One missing cell must not change how those of others are read."""

    LARGE = 2**60

    @pytest.mark.parametrize(
        "column",
        [
            lambda cells: pd.array(cells, dtype="Int64"),
            lambda cells: pd.Index(pd.array(cells, dtype="Int64")),
            pd.Categorical,
            lambda cells: pd.Series(pd.array(cells, dtype="Int64")),
            lambda cells: pd.array(cells, dtype="int64[pyarrow]"),
        ],
        ids=["nullable", "index", "categories", "series", "arrow"],
    )
    def test_a_missing_label_leaves_large_numbers_apart(self, column):
        whole = [self.LARGE, self.LARGE + 1, self.LARGE]
        alone = unit_codes(column(whole), 3, "repair")
        beside = unit_codes(column([*whole, None]), 4, "repair")
        assert alone.tolist() == [0, 1, 0]
        assert beside[:3].tolist() == [0, 1, 0]
        assert beside[3] not in (0, 1)

    def test_a_missing_value_leaves_the_others_as_unusable_as_they_were(self):
        alone, _ = column_of(pd.array([1, self.LARGE], dtype="Int64"), "time")
        beside, _ = column_of(pd.array([1, self.LARGE, None], dtype="Int64"), "time")
        np.testing.assert_array_equal(beside[:2], alone)

    def test_a_person_more_moves_the_sum_by_one_person(self):
        people = [self.LARGE + i for i in range(30)]
        curves = np.full((31, 6), 0.9)
        mean = PrivateMean(
            1.0, bounds=(0, 1), unit=PrivacyUnit("person", "add-remove"), invalid="repair"
        )
        sums = [
            mean.prepare(curves[: len(labels)], groups=pd.array(labels, dtype="Int64")).total
            for labels in (people, [*people, None])
        ]
        moved = [abs(b - a) for a, b in zip(*(exact_totals(total) for total in sums), strict=True)]
        assert sums[1].count_with_noise(0, 1) - sums[0].count_with_noise(0, 1) == 1
        # The new person has no label and 0.9 everywhere: no more than one unit's share of each sum.
        largest = max(abs(number) for number in exact_totals(sums[0])) / len(people)
        assert max(moved) <= 1.0001 * largest
