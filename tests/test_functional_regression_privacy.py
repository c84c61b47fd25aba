"""What one person's curve and covariates move, by brute force, and checks that reject a wrong scale."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from dpfda import PrivacyUnit, PrivateFunctionalRegression, Reading
from dpfda.errors import BudgetError, DataError, ParameterError
from dpfda.noise import BoxNoise, GaussianNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import PureDP, ZeroConcentratedDP, guarantee_for
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication.tables import CORNER_EXPONENT
from dpfda.records.covariates import columns_named
from dpfda.spine.memberships import members
from statistical import FALSE_ALARM, cut_noise, epsilon_bound, fits_only_at_its_scale

ONE = 1 << CORNER_EXPONENT
COVARIATES: dict[str, Any] = {"age": (20, 80), "sex": ["f", "m", "x"]}
REPAIR = Reading(invalid="repair")
value = st.one_of(st.floats(-3, 3), st.sampled_from([np.nan, np.inf, -1.0, 1.0, 1e300]))
age = st.one_of(st.floats(0, 100), st.sampled_from([None, "x", 20, 80, "50", np.inf]))
record = st.tuples(
    st.lists(value, min_size=4, max_size=4), age, st.sampled_from(["f", "m", "x", "other", None])
)
person = st.lists(record, min_size=1, max_size=3)


def estimator(**given: Any) -> PrivateFunctionalRegression:
    made = {"epsilon": 1, "bounds": (-1, 1), "covariates": COVARIATES, "cells": 2, **given}
    return PrivateFunctionalRegression(**made)


def rows_of(people: list[list[tuple]], neighbours: str = "replace-one") -> np.ndarray:
    """The private integers of some people (R, J)."""
    rows = [(number, *record) for number, records in enumerate(people) for record in records]
    groups, curves, ages, sexes = zip(*rows, strict=True)
    made = estimator(unit=PrivacyUnit("person", neighbours), reading=REPAIR)
    prepared = made.prepare(np.array(curves), {"age": list(ages), "sex": list(sexes)}, list(groups))
    table = prepared.plan.table
    numbers = prepared.total.with_noise([0] * (table.rows * table.columns))
    return np.array(numbers, dtype=object).reshape(table.rows, table.columns)


def farthest(moved: np.ndarray) -> int:
    """The loss of noise of scale one: the sum over rows of the largest shift."""
    return int(np.sum(np.max(np.abs(moved), axis=1)))


@settings(deadline=None)
@given(st.lists(person, min_size=2, max_size=3), person)
def test_one_person_moves_the_table_by_no_more_than_the_widths(
    people: list[list[tuple]], other: list[tuple]
) -> None:
    moved = rows_of(people) - rows_of([other, *people[1:]])
    assert farthest(moved) <= 2 * ONE
    assert np.sum(moved**2) <= moved.shape[1] * (2 * ONE) ** 2
    nobody = [([np.nan] * 4, None, None)]
    alone = rows_of(people) - rows_of([nobody, *people[1:]])
    assert farthest(alone) <= ONE
    assert min(alone[:, 0]) >= 0
    assert sum(alone[:, 0]) <= ONE


def test_the_widths_are_reached_by_the_curve_alone_and_across_corners() -> None:
    rest = [[([0.0] * 4, 50, "f")]]
    high, low = [([9.0] * 4, 20, "m")], [([-9.0] * 4, 20, "m")]
    assert farthest(rows_of([high, *rest]) - rows_of([low, *rest])) == 2 * ONE
    elsewhere = [([9.0] * 4, 80, "f")]
    assert farthest(rows_of([high, *rest]) - rows_of([elsewhere, *rest])) == 2 * ONE
    # Spread between the ends of age, all of it still counts for one.
    between = [([9.0] * 4, 37, "m"), ([9.0] * 4, 64, "x")]
    assert 2 * ONE - 2**24 <= farthest(rows_of([between, *rest]) - rows_of([low, *rest])) <= 2 * ONE


def test_the_sums_are_those_of_corners_and_clipped_curves() -> None:
    """Second road: in fractions, one record at a time."""
    curves = [[0.25, 0.75, -5.0, 0.0], [1.0, 1.0, 1.0, 0.5], [-0.5, 0.5, 0.25, 0.25]]
    ages, sexes, owners = [35, 100, 50], ["f", "x", "m"], [0, 1, 1]
    people: list[list[tuple]] = [[], []]
    for owner, *rest in zip(owners, curves, ages, sexes, strict=True):
        people[owner].append(tuple(rest))
    expected = np.zeros((6, 4), dtype=object)
    for owner, curve, years, sex in zip(owners, curves, ages, sexes, strict=True):
        u = Fraction(min(max(years, 20), 80) - 50, 30)
        clipped = [Fraction(min(max(x, -1.0), 1.0)) for x in curve]
        numbers = [1, 2 * u * u - 1, sum(clipped[:2]) / 2, sum(clipped[2:]) / 2]
        for place, weight in enumerate([(1 - u) / 2, (1 + u) / 2]):
            share = weight / (1 if owner == 0 else 2)
            expected[3 * place + "fmx".index(sex)] += [share * number for number in numbers]
    found = rows_of(people) / ONE
    assert np.max(np.abs(found - expected)) < 1e-6


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_scales_are_the_width_over_epsilon(neighbours: str) -> None:
    made = estimator(epsilon=Fraction(7, 3), unit=PrivacyUnit("person", neighbours))
    law = made.plan(50, 4).table.law
    width = 2 * ONE if neighbours == "replace-one" else ONE
    assert isinstance(law, BoxNoise)
    assert {*law.scales} == {math.ceil(width / Fraction(7, 3))}
    assert len(law.scales) == 1 + 1 + 2


def test_gaussian_scales_are_those_of_the_longest_shift() -> None:
    table = estimator(epsilon=None, rho=Fraction(1, 8), noise="gaussian").plan(50, 4).table
    assert isinstance(table.law, GaussianNoise)
    assert table.calibrated.charged == ZeroConcentratedDP("1/8")
    # Four columns: rho = J (2 W C)^2 / (2 sigma^2).
    assert table.law.scales[0] == pytest.approx(math.sqrt(4 * (2 * ONE) ** 2 / (2 / 8)), rel=1e-6)


def test_the_density_ratio_over_all_rows_reaches_epsilon_and_no_more() -> None:
    table = estimator(epsilon=0.5).plan(50, 4).table
    law, generator = table.law, np.random.default_rng(0)
    at = law.simulate(generator, 6 * 4000).reshape(4000, 6, 4) * 3

    def loss(people: list[list[tuple]], others: list[list[tuple]]) -> np.ndarray:
        moved = (rows_of(people) - rows_of(others)).astype(float)
        found = law.log_density(at) - law.log_density(at - moved)  # type: ignore[attr-defined]
        return np.abs(found.sum(axis=1))

    rest = [[([0.0] * 4, 50, "f")]]
    high, low = [([9.0] * 4, 20, "m")], [([-9.0] * 4, 20, "m")]
    same = loss([high, *rest], [low, *rest])
    assert 0.499 < same.max() <= 0.5 * (1 + 1e-9)
    spread = loss([[([9.0] * 4, 40, "m")], *rest], [[([-9.0] * 4, 70, "x")], *rest])
    assert 0.3 < spread.max() <= 0.5 * (1 + 1e-9)


def test_released_counts_have_the_stated_law_and_no_other() -> None:
    made = estimator(epsilon=0.5, cells=2, covariates={"sex": ["f", "m"]})
    errors = []
    for _ in range(700):
        release = made.fit(np.zeros((2, 4)), {"sex": ["f", "f"]}).release_
        # The two of the first level, and the row of the second, in which nobody is.
        errors += [release.noisy_sum[0] / ONE - 2, release.noisy_sum[3] / ONE]
    # A coordinate of the K-norm noise of a box: R U, R ~ Gamma(4), U uniform on (-4, 4) persons.
    at = np.linspace(-120, 120, 4001)
    density = np.array([_marginal(abs(x) / 4) / 4 for x in at])
    steps = np.concatenate([[0.0], integrate.cumulative_simpson(density, x=at)])
    # Sizes apart from signs: laws of sizes differ twice as much.
    assert fits_only_at_its_scale(np.abs(errors), lambda x: 2 * np.interp(x, at, steps / steps[-1]) - 1)
    assert stats.binomtest(int(np.sum(np.array(errors) > 0)), len(errors)).pvalue > FALSE_ALARM


def _marginal(x: float) -> float:
    """Density of R U at x, for R ~ Gamma(4) and U uniform on (-1, 1): int_x^oo r^2 e^-r / 12 dr."""
    return math.exp(-x) * (x * x + 2 * x + 2) / 12


@pytest.mark.parametrize("cut", [False, True], ids=["as stated", "cut"])
def test_an_audit_through_fit(cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole fits with a person at each of 64 corners, whose curve is one bound or the other.

    Corners have independent noise, so each is a trial by itself: neighbours differ in its person alone.
    The event is that its curve's noise is the larger one, and on the side of the upper bound.
    """
    if cut:
        cut_noise(monkeypatch, BoxNoise)
    levels = [f"arm {i}" for i in range(64)]
    made = estimator(epsilon=1.5, covariates={"arm": levels}, cells=1)
    fits, hits = 230 if cut else 80, []
    for side in (9.0, -9.0):
        count = 0
        for _ in range(fits):
            release = made.fit(np.full((64, 2), side), {"arm": levels}).release_
            people, curve = np.array(release.noisy_sum, dtype=float).reshape(64, 2).T / ONE
            count += int(np.sum(curve - 1 >= np.abs(people - 1)))
        hits.append(count)
    bound = epsilon_bound((hits[0], hits[1]), 64 * fits, 0.0)
    assert (bound > 1.5) == cut
    assert bound >= 1.5 / 2


def test_the_ledger_is_charged_before_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MemoryLedger()
    ledger.create("trial", guarantee_for(3, 1e-5), "replace-one", "record")
    made = estimator(ledger=ledger.of("trial"), delta=1e-6)
    curves, Z = np.zeros((3, 4)), {"age": [20, 30, 40], "sex": ["f", "m", "x"]}
    made.fit(curves, Z)
    monkeypatch.setattr(BoxNoise, "draw", lambda self: pytest.fail("drawn"))
    monkeypatch.setattr(GaussianNoise, "draw", lambda self: pytest.fail("drawn"))
    with pytest.raises(BudgetError):
        made.set_params(epsilon=2.5).fit(curves, Z)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"covariates": None}, "covariates must be a mapping"),
        ({"covariates": {}}, "covariates must be a mapping"),
        ({"covariates": {"age": (80, 20)}}, r"covariates\['age'\] must have a lower end below"),
        ({"covariates": {"age": ["f"]}}, "age must be a list of at least 2 different labels"),
        ({"covariates": {"age": 3}}, "age must be a list of at least 2 different labels"),
        ({"covariates": {3: (0, 1)}}, "covariates must be named by words"),
        ({"covariates": {"baseline": (0, 1)}}, "with different names"),
        ({"covariates": {f"x{i}": (0, 1) for i in range(7)}}, "at most 64 combinations"),
        ({"bounds": None}, "bounds must"),
        ({"cells": 5}, "cells must be from 1 to 4"),
        ({"noise": "laplace"}, "noise must be one of"),
        ({"reading": Reading(standardize=True)}, "no standardize"),
        ({"reading": Reading(missing="pooled")}, "missing='refuse' or 'complete'"),
        (
            {"cells": None, "unit": PrivacyUnit("p", "add-remove")},
            "cells must be given under add/remove",
        ),
        ({"noise": "gaussian"}, "Gaussian"),
    ],
)
def test_what_is_refused_is_refused_before_the_charge(given: dict[str, Any], words: str) -> None:
    ledger = MemoryLedger()
    ledger.create("trial", guarantee_for(3), "replace-one", "record")
    made = estimator(ledger=ledger.of("trial"), **given)
    with pytest.raises(ParameterError, match=words):
        made.fit(np.zeros((3, 4)), {"age": [20, 30, 40], "sex": ["f", "m", "x"]})
    assert ledger.remaining("trial").values == (3,)


@pytest.mark.parametrize(
    ("Z", "words"),
    [
        (
            {"age": [20, 30, np.nan], "sex": ["f", "m", "x"]},
            "age .* found one that is missing or no finite number in row 2",
        ),
        (
            {"age": [20, 30, 40], "sex": ["f", "zzz", "x"]},
            r"sex must hold one of the levels \['f', 'm', 'x'\]; found another label in row 1",
        ),
        ({"age": [20, 30], "sex": ["f", "m"]}, "age must have one entry a curve"),
        ({"age": [20, 30, 40]}, "Z must have a column for each of age, sex"),
        (np.zeros((3, 1)), "Z must have one column a covariate"),
        (None, "Z must hold the covariates"),
    ],
)
def test_data_that_cannot_be_used_are_refused_without_their_values(Z: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as refused:
        estimator().fit(np.zeros((3, 4)), Z)
    assert "zzz" not in str(refused.value)


def test_a_release_depends_on_the_noisy_integers_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    made = estimator(unit=PrivacyUnit("person", "add-remove"), reading=REPAIR)
    generator, files = np.random.default_rng(2), []
    for name, count in (("few", 2), ("many", 700)):
        with monkeypatch.context() as patch:
            patch.setattr(
                IntegerSum,
                "with_noise",
                lambda self, noise: tuple((5 + i) << CORNER_EXPONENT for i in range(len(noise))),
            )
            Z = {"age": generator.uniform(0, 99, count), "sex": ["f", "z"] * (count // 2)}
            release = made.fit(generator.normal(size=(count, 4)), Z).release_
        release(0.5)
        release.at(age=30).band()
        files.append(json.loads(release.save(tmp_path / name).read_text()))
    identities = [written.pop("release_id") for written in files]
    assert identities[0] != identities[1]
    assert files[0] == files[1]


def test_without_delta_where_the_noise_of_a_box_needs_none() -> None:
    assert estimator(epsilon=1, delta=1e-9).plan(50, 4).guarantee == PureDP(1)


def test_covariates_of_a_frame_are_read_column_by_column() -> None:
    """One missing cell would else change how the whole numbers of others are read."""
    pd = pytest.importorskip("pandas")
    large = 2**53 + 1
    for other in (5, pd.NA):
        columns = columns_named(pd.DataFrame({0: pd.array([large, other], "Int64")}), ["visit"])
        assert members(columns[0], [large, large - 1], "visit")[0] == 0
        two = pd.DataFrame({0: pd.array([large, other], "Int64"), 1: pd.array([1, 2], "Int64")})
        assert columns_named(two, ["visit", "arm"])[0][0] == large
