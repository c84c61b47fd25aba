"""Reference bands: the choice of a radius, coverage whatever the law, the guarantee, words and files."""

import math
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest

from dpfda import Domain, PrivacyUnit, PrivateReferenceBand, Reading, load
from dpfda.bounds import L2Ball
from dpfda.errors import BudgetError, DataError, ParameterError
from dpfda.mechanisms import COUNT_SCALE
from dpfda.privacy.guarantees import PureDP, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records import LongCurves
from dpfda.reference.estimator import random_order
from dpfda.reference.plan import SHARE, LastHeld, left_above
from dpfda.testing import check_release, check_summary

GRID = np.linspace(0.0, 3.0, 16)
BOUNDS = (-3.0, 3.0)
GENERATOR = np.random.default_rng(20261124)


def curves(count: int) -> np.ndarray:
    levels, slopes = GENERATOR.standard_t(4, size=(2, count, 1))
    return np.sin(GRID) + 0.3 * levels + 0.1 * slopes * GRID


def band(epsilon: float = 1.0, **given: object) -> PrivateReferenceBand:
    return PrivateReferenceBand(epsilon, bounds=BOUNDS, domain=Domain(GRID), **given)


# The choice among candidates.


def _law(choice: LastHeld, counts: np.ndarray, threshold: float) -> np.ndarray:
    """Probability of each candidate, by integration over the noise on the threshold."""
    first, other = choice.threshold.scales[0] / COUNT_SCALE, choice.counted.scales[0] / COUNT_SCALE
    # By the middles of steps: to a few millionths.
    noise = (np.arange(20_000) + 0.5) * (first / 500)
    weights = np.exp(-noise / first)
    # The chance that a count less its noise is smaller than the threshold less its own.
    beyond = -np.maximum(counts[:, None] - threshold + noise, 0.0) / other
    smaller, held = np.exp(beyond), -np.expm1(beyond)
    above = np.cumprod(np.vstack([np.ones(noise.size), held[::-1]]), axis=0)[::-1]
    return (above * np.vstack([np.ones(noise.size), smaller])) @ weights / weights.sum()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_neighbour_makes_a_choice_more_likely_than_epsilon_says(epsilon: float) -> None:
    choice, worst = LastHeld(25, PureDP(epsilon)), 0.0
    for counts, threshold in product(
        (np.full(24, 20.0), np.repeat([3.0, 8.0, 9.0], 8)), (-20.0, 10.0, 19.0, 40.0)
    ):
        law = _law(choice, counts, threshold)
        assert law.sum() == pytest.approx(1, abs=1e-9)
        # Moved down, one unit's number enters counts from some candidate on, up to its former one.
        for first, last in ((0, 24), (0, 23), (1, 24), (23, 24), (8, 16), (0, 12)):
            other = counts.copy()
            other[first:last] += 1
            found = np.array([law, _law(choice, other, threshold)])
            likely = found.min(axis=0) > 1e-12
            worst = max(worst, np.abs(np.log(found[0] / found[1]))[likely].max())
    assert worst <= epsilon * (1 + 1e-3)
    # Scales that are larger than needed by a root of two would be seen, as would smaller ones.
    assert worst > epsilon / math.sqrt(2) * 1.05


def test_choices_have_the_law_of_the_proof() -> None:
    """Found in many draws: sizes of noise are taken off, from the largest candidate down."""
    choice, numbers = LastHeld(8, PureDP(2)), np.linspace(0, 1, 41)
    candidates = np.linspace(0.3, 1, 8)
    law = _law(choice, np.array([np.sum(numbers <= each) for each in candidates[:-1]]), 25.0)
    seen = np.bincount([choice.choose(numbers, candidates, 25.0) for _ in range(4000)], minlength=8)
    # Chi-square with 7 degrees of freedom at most: one in 100,000.
    used = law > 1e-4
    assert np.sum((seen - 4000 * law)[used] ** 2 / (4000 * law[used])) < 36


def test_the_scales_in_force_are_those_of_the_proof() -> None:
    choice = LastHeld(7, PureDP(1))
    assert choice.threshold.scales[0] == pytest.approx(COUNT_SCALE / float(SHARE), rel=1e-6)
    assert set(choice.counted.scales) == {choice.counted.scales[0]}
    assert choice.counted.scales[0] == pytest.approx(COUNT_SCALE / float(1 - SHARE), rel=1e-6)
    assert choice.counted.components == 6
    assert within(choice.achieved, PureDP(1))


@pytest.mark.parametrize(
    "numbers",
    [np.zeros(60), np.full(60, 0.55), np.linspace(0, 1, 60), np.repeat([0.0, 1.0], [48, 12])],
    ids=["all below", "at one place", "spread", "two places"],
)
def test_as_many_units_lie_below_as_stated(numbers: np.ndarray) -> None:
    choice, candidates = LastHeld(12, PureDP(1)), np.linspace(1 / 12, 1, 12)
    threshold = choice.threshold_for(46.0, 60)
    below = [
        np.sum(numbers <= candidates[choice.choose(numbers, candidates, threshold)]) for _ in range(400)
    ]
    # False alarms: one in 30,000 for each set of numbers.
    assert np.mean(below) >= 46 - 4 * np.std(below) / 20


@pytest.mark.parametrize(
    ("epsilon", "units", "least"), [(1.0, 400, 350.0), (0.5, 400, 350.0), (1.0, 60, 46.0)]
)
def test_the_statement_is_met_by_the_worst_numbers_and_hardly_more(
    epsilon: float, units: int, least: float
) -> None:
    """Exactly, by integration: counts that fall in even steps, or first by shares of what is left."""
    choice = LastHeld(2, PureDP(epsilon))
    threshold = choice.threshold_for(least, units)
    far, past = (units - threshold) * 0.6 ** np.arange(1, 12), []
    for step in (0.25, 0.5, 0.75, 1, 1.5, 2, 4, 8):
        even = np.arange(threshold - 40, units, step)
        shares = np.r_[even[even <= threshold + step], far[far > step][::-1] + threshold]
        for counts in (even, shares):
            past.append(
                [
                    _law(choice, counts, at) @ np.append(counts, units)
                    for at in (threshold, threshold - 1)
                ]
            )
    kept, lower = np.min(past, axis=0) - least
    assert 0 <= kept < 0.3 / epsilon
    # With a threshold that is lower by one unit it would not be met.
    assert lower < 0


# The split.


def test_every_split_is_equally_likely() -> None:
    seen = Counter(tuple(random_order(3).tolist()) for _ in range(6000))
    square = sum((count - 1000) ** 2 / 1000 for count in seen.values())
    # Chi-square with 5 degrees of freedom: one in 100,000.
    assert len(seen) == 6
    assert square < 30.9


def test_each_half_of_the_units_is_looked_at_by_one_stage_alone() -> None:
    """A unit is either in the centre's sum or among the numbers of the radius."""
    plan = band().plan(500)
    assert plan.first == 275
    assert plan.first + plan.second == 500
    assert plan.centre.size == plan.first
    for n in (500, 5000):
        shares = band().plan(n).shares
        assert sum(share.epsilon for share in shares) == 1
    assert band().plan(500).last.part == PureDP(1)


# Coverage.


@pytest.mark.parametrize(
    ("n", "coverage"), [(120, 0.7), pytest.param(400, 0.9, marks=pytest.mark.thorough), (1500, 0.9)]
)
def test_new_curves_lie_inside_as_often_as_stated(n: int, coverage: float) -> None:
    inside = [
        float(band(coverage=coverage).fit(curves(n)).release_.contains(curves(500)).mean())
        for _ in range(40)
    ]
    # False alarms: one in 30,000. Far too wide a band would be no use either.
    assert np.mean(inside) >= coverage - 4 * np.std(inside) / np.sqrt(40)
    assert np.mean(inside) < coverage + (1 - coverage) * 0.9


def test_widths_follow_the_spread_where_there_are_many() -> None:
    spread = 0.05 + np.abs(GRID - 1.5)
    values = np.sin(GRID) + spread * 0.3 * GENERATOR.normal(size=(8000, 1))
    release = band().fit(values).release_
    wide = release.upper(GRID) - release.lower(GRID)
    assert wide[0] / wide[GRID.size // 2] > 2
    assert band().fit(values[:500]).release_.widths == pytest.approx(1)


def test_a_person_is_inside_with_all_curves_alone() -> None:
    values, person = curves(3000), np.arange(3000) // 3
    values[::9] = 2.9
    # A third of the persons has a wild curve: a band for most of them must reach it.
    wide = band(epsilon=8, coverage=0.9, unit="person").fit(values, groups=person).release_
    assert wide.upper(GRID).min() >= 2.5
    assert wide.unit == "person"
    assert wide.size == 1000
    narrow = band(epsilon=8, coverage=0.5, unit="person").fit(values, groups=person).release_
    assert narrow.upper(GRID).max() < 2.9


def test_records_that_are_repaired_count_as_outside() -> None:
    values = np.zeros((600, GRID.size)) + 0.01 * GENERATOR.normal(size=(600, 1))
    values[:300] = np.nan
    made = band(epsilon=8, coverage=0.9, invalid="repair").fit(values).release_
    assert made.upper(1.0) == 3
    assert made.lower(1.0) == -3


# The release.


@pytest.fixture(scope="module")
def release():
    made = {"domain": "hour", "value": "load (kW)"}
    labelled = PrivateReferenceBand(
        1.0, bounds=BOUNDS, domain=Domain(GRID, labels=made), unit="household"
    )
    return labelled.fit(curves(1500)).release_


def test_a_release_keeps_the_contract(release, tmp_path) -> None:
    check_release(release)
    again = load(release.save(tmp_path / "band.json"))
    values = curves(200)
    assert np.array_equal(again.contains(values), release.contains(values))
    assert np.array_equal(again.lower(GRID), release.lower(GRID))


def test_the_summary_keeps_the_contract() -> None:
    check_summary(band(coverage=0.4), curves(60))


def test_contains_is_between_the_ends_and_values_beyond_bounds_count_as_on_them() -> None:
    release = band().fit(curves(4000) / 4).release_
    lower, upper = release.lower(GRID), release.upper(GRID)
    assert release.contains([lower, upper, (lower + upper) / 2]).all()
    above, lost = upper.copy(), (lower + upper) / 2
    above[3] += 1e-6
    lost[2] = np.nan
    assert not release.contains([above, lost]).any()
    open_above = PrivateReferenceBand(8.0, bounds=(-1, 1), coverage=0.5, domain=Domain(GRID))
    clipped = open_above.fit(curves(500) + 2).release_
    assert clipped.contains(curves(3) + 50).all()


def test_its_words_say_share_and_guarantee(release) -> None:
    said = " ".join(release.describe().split())
    assert "90 of 100 of them, at least, have their whole curve in it" in said
    assert "1125 households chosen at random show where curves lie, 375 others" in said
    assert "holds the whole curve of 90 of 100 new households" in repr(release)
    assert "90% of new households have their whole curve in it" in str(release.view().lines[0])


def test_a_file_that_contradicts_itself_is_refused(release) -> None:
    written = release.to_json()
    for name, value in (("radius", -1.0), ("widths", [1.0]), ("coverage", 1.5)):
        with pytest.raises((ParameterError, ValueError)):
            type(release).from_json({**written, name: value})


# What is refused, and the ledger.


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"neighbours": "add-remove"}, "whose coverage needs a public number of units"),
        ({"coverage": 1.0}, "coverage"),
        ({"coverage": 0.99}, "Or take more of them, or a larger epsilon"),
        ({"standardize": True}, "standardize"),
        ({"bounds": L2Ball(1.0)}, "Give bounds on values"),
        ({"bounds": None}, "in the units of the data, from knowledge of the measurement and never"),
        ({"rho": 1}, "rho must be left out of PrivateReferenceBand"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given: dict[str, object], words: str) -> None:
    settings = {"bounds": BOUNDS, "domain": Domain(GRID)} | given
    with pytest.raises(ParameterError, match=words):
        PrivateReferenceBand(1.0, **settings).fit(curves(100))


def test_irregular_curves_are_refused() -> None:
    times, values = np.tile(GRID, 40), curves(40).ravel()
    long = LongCurves(np.repeat(np.arange(40), GRID.size), times, values)
    with pytest.raises(DataError, match="curves on a common grid, in memory"):
        PrivateReferenceBand(1.0, bounds=BOUNDS, domain=(0, 3)).fit(long)


def test_epsilon_is_charged_once() -> None:
    ledger = MemoryLedger()
    ledger.create("loads", PureDP(1), unit="household")
    made = band(ledger=ledger.of("loads"), unit=PrivacyUnit("household"))
    release = made.fit(curves(300)).release_
    (charged,) = [row for row in ledger.history("loads") if row.action == "charge"]
    assert charged.details["release"] == release.certificate.identity
    with pytest.raises(BudgetError):
        made.fit(curves(300))


def test_candidates_reach_to_all_there_can_be_and_are_fewer_where_noise_would_stop_at_them() -> None:
    for n, count, least in ((120, 24, 6 / 40), (300, 114, 6 / 100), (2000, 345, 6 / 1000)):
        plan = band().plan(n)
        found = plan.radii(plan.largest)
        assert found.size == plan.last.candidates == count
        assert found[0] == pytest.approx(least, rel=1e-2)
        assert found[-1] == pytest.approx(6)
        assert all(a < b for a, b in pairwise(found))


@pytest.mark.parametrize(("name", "value"), [("coverage", 0.95), ("size", 4000)])
def test_coverage_and_size_in_a_file_are_held_to_the_threshold(name: str, value: float) -> None:
    release = band(coverage=0.9).fit(curves(800)).release_
    written = release.to_json()
    assert type(release).from_json(written).coverage == 0.9
    with pytest.raises(Exception, match="threshold"):
        type(release).from_json({**written, name: value})
    less = {key: each for key, each in written["mechanism"].items() if key != "threshold"}
    with pytest.raises(Exception, match="threshold"):
        type(release).from_json({**written, "mechanism": less})


@pytest.mark.parametrize(("epsilon", "coverage"), [(0.3, 0.8), (1, 0.9), (3, 0.95), (1, 0.5)])
@pytest.mark.parametrize("n", [150, 600, 4000])
def test_the_coverage_is_of_units_that_can_be_used_however_many_cannot(epsilon, coverage, n):
    try:
        plan = PrivateReferenceBand(epsilon, bounds=(0, 1), coverage=coverage, domain=(0, 1)).plan(n)
    except ParameterError:
        assert n < 600
        return
    law, threshold = plan.last, plan.threshold
    lowered = threshold - law.threshold.scales[0] / COUNT_SCALE
    for usable in range(math.ceil(threshold - 1), plan.second + 1):
        left = law.scale * left_above((usable - threshold) / law.scale)
        assert (lowered + left) / (usable + 1) >= coverage - 1e-12
    # Below that the least is at the largest number of these.
    assert math.ceil(threshold - 1) + 1 >= threshold


def test_a_release_says_what_became_of_curves_that_cannot_be_used():
    curves = np.random.default_rng(2).uniform(0, 1, (400, 4))
    curves[::5, 1] = np.nan
    made = PrivateReferenceBand(3, bounds=(0, 1), reading=Reading(invalid="repair")).fit(curves).release_
    said = " ".join(made.describe().split())
    assert (
        "Each record with a curve that cannot be used lies in no band, and counted as one outside"
        in said
    )
    # One in five: the band ends at the bounds, or close to them, and holds nine of ten of the others.
    usable = np.random.default_rng(3).uniform(0, 1, (4000, 4))
    assert made.contains(usable).mean() > 0.9
