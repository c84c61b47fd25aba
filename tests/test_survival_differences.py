"""Differences of two arms of a released survival curve: in risk at a time, in mean time up to one."""

import lifelines
import numpy as np
import pytest

from dpfda import PrivateSurvival
from dpfda.errors import ParameterError

TIMES = np.array([0.1, 0.3, 0.5, 0.8])
SCALES = {"new": 0.9, "old": 0.5}


def people(generator, size):
    arm = generator.choice([*SCALES], size)
    died = np.vectorize(SCALES.get)(arm) * generator.weibull(1.3, size)
    left = generator.uniform(0.2, 1.5, size)
    return np.minimum(died, left), died <= left, arm


def kaplan_meier(time, event):
    fitted = lifelines.KaplanMeierFitter().fit(time, event)
    return fitted.survival_function_at_times(TIMES).to_numpy()


def risk_difference(time, event, arm):
    """Without noise, of the persons at hand."""
    new, old = (kaplan_meier(time[arm == name], event[arm == name]) for name in SCALES)
    return old - new


@pytest.fixture(scope="module")
def fitted():
    time, event, arm = people(np.random.default_rng(1), 2000)
    survival = PrivateSurvival(1, domain=(0, 1), levels=[*SCALES])
    return survival.fit(time, event, by=arm).release_, risk_difference(time, event, arm)


def test_without_noise_it_is_that_of_kaplan_and_meiers_curves_and_of_their_areas():
    time, event, arm = people(np.random.default_rng(2), 2000)
    survival = PrivateSurvival(1e6, domain=(0, 1), levels=[*SCALES], cells=100)
    gap = survival.fit(time, event, by=arm).release_.difference("new", "old")
    assert np.allclose(gap(TIMES), risk_difference(time, event, arm), atol=0.005)
    means = [
        lifelines.utils.restricted_mean_survival_time(
            lifelines.KaplanMeierFitter().fit(time[arm == name], event[arm == name]), 0.7
        )
        for name in SCALES
    ]
    assert gap.restricted_mean(0.7).value == pytest.approx(means[0] - means[1], abs=0.002)


def test_intervals_hold_as_often_as_they_say_and_what_is_not_seen_widens_them():
    """Of 40 data sets: where .95 hold at a time, fewer than 31 do with a chance below 1e-4."""
    generator, held = np.random.default_rng(3), np.zeros((2, 4))
    truth = np.subtract(*(np.exp(-((TIMES / SCALES[name]) ** 1.3)) for name in ("old", "new")))
    survival = PrivateSurvival(1, domain=(0, 1), levels=[*SCALES], cells=7)
    widths = []
    for _ in range(40):
        drawn = people(generator, 600)
        gap = survival.fit(drawn[0], drawn[1], by=drawn[2]).release_.difference("new", "old")
        bands = [gap.band(TIMES, of=of) for of in ("noise", "sample", "population")]
        for row, value in enumerate((risk_difference(*drawn), truth)):
            held[row] += (bands[row + 1].lower <= value) & (value <= bands[row + 1].upper)
        widths.append([np.mean(band.upper - band.lower) for band in bands])
    assert held.min() >= 31
    noise, sample, population = np.mean(widths, axis=0)
    assert 1.02 * noise < sample
    assert 1.1 * sample < population


@pytest.mark.parametrize("of", ["noise", "population"])
def test_errors_of_arms_add_up_as_squares(fitted, of):
    """Draws of two arms that rise and fall together would leave out much of what sampling adds."""

    def reach(estimate):
        return estimate.upper - estimate.lower

    release, _ = fitted
    arms = [reach(release[name].restricted_mean(0.6, of=of)) for name in SCALES]
    both = reach(release.difference("new", "old").restricted_mean(0.6, of=of))
    assert both == pytest.approx(np.hypot(*arms), rel=0.15)


def test_it_turns_its_sign_with_its_arms_and_says_numbers(fitted):
    release, truth = fitted
    gap, turned = release.difference("new", "old"), release.difference("old", "new")
    found, other = gap.risk(0.5), turned.risk(0.5)
    assert found.value == pytest.approx(-other.value, abs=1e-12)
    assert (found.lower, found.upper) == pytest.approx((-other.upper, -other.lower), abs=1e-12)
    assert found.lower <= truth[2] <= found.upper < 0
    assert gap.restricted_mean(0.5).lower > 0
    whole = gap.band([0.5], level=0.5)
    assert found.lower < whole.lower[0] <= found.value <= whole.upper[0] < found.upper


def test_tables_pictures_and_reports_say_it(fitted):
    release, _ = fitted
    gap = release.difference("new", "old")
    columns = release.table(TIMES, of="population").columns
    band = gap.band(TIMES, of="population")
    assert np.allclose(columns["risk new minus old"], gap(TIMES))
    assert np.allclose(columns["risk new minus old, upper"], band.upper)
    (line,) = release.difference_view().lines
    assert line.label == "new minus old"
    assert np.all((line.lower <= line.values) & (line.values <= line.upper))
    facts = release.facts.to_json()
    assert facts["risk_differences_at"] == 0.5
    assert facts["risk_differences"] == {"new minus old": gap.risk(0.5).to_json()}
    assert facts["mean_time_differences"] == {"new minus old": gap.restricted_mean().to_json()}
    said = " ".join(release.describe().split())
    assert f"at 0.5: new minus old: {gap.risk(0.5)}." in said
    assert f"Those of all like them: new minus old: {gap.risk(0.5, of='population')}." in said


def test_what_is_refused(fitted):
    release, _ = fitted
    with pytest.raises(ParameterError, match="group must be one of"):
        release.difference("new", "newer")
    gap = release.difference("new", "old")
    with pytest.raises(ParameterError, match=r"lie in the domain \[0.0, 1.0\]"):
        gap.risk(2.0)
    with pytest.raises(ParameterError, match="of must be one of"):
        gap.risk(0.5, of="sampel")
    alone = PrivateSurvival(1, domain=(0, 1)).fit([0.2, 0.4, 0.8]).release_
    with pytest.raises(ParameterError, match="two or more for a difference"):
        alone.difference_view()


# Strata.


def strata_of(generator, size, ratio):
    """Two sites of unlike hazards; most of one's persons are in the new arm, most of the other's not."""
    south = generator.uniform(size=size) < 0.5
    new = generator.uniform(size=size) < np.where(south, 0.8, 0.2)
    died = generator.exponential(np.where(south, 0.3, 1.2)) / np.where(new, ratio, 1.0)
    left = generator.uniform(0.3, 1.5, size)
    group = np.char.add(np.where(new, "new ", "old "), np.where(south, "south", "north"))
    return np.minimum(died, left), died <= left, group


GROUPS = [f"{arm} {site}" for site in ("north", "south") for arm in ("new", "old")]
STRATA = [GROUPS[:2], GROUPS[2:]]


def log_rank(time, event, group):
    """The stratified statistic, by hand."""
    off, variance = 0.0, 0.0
    for new, old in STRATA:
        inside = np.isin(group, (new, old)) & (time < 1)
        for at in np.unique(time[inside & event]):
            there = np.isin(group, (new, old)) & (time >= at)
            number, own = there.sum(), (there & (group == new)).sum()
            died = inside & event & (time == at)
            off += (died & (group == new)).sum() - died.sum() * own / number
            variance += died.sum() * own * (number - own) / number**2
    return off**2 / variance


def test_a_stratified_test_compares_within_strata_alone():
    time, event, group = strata_of(np.random.default_rng(5), 1500, 1.0)
    made = PrivateSurvival(1e4, domain=(0, 1), levels=GROUPS, cells=40).fit(time, event, by=group)
    arm = PrivateSurvival(1e4, domain=(0, 1), levels=["new", "old"], cells=40)
    mixed = arm.fit(time, event, by=[name[:3] for name in group]).release_.test()
    found = made.release_.test(strata=STRATA)
    assert mixed.p_value < 0.001
    assert not found.differ
    assert found.statistic == pytest.approx(log_rank(time, event, group), abs=0.4)
    assert "of new north, old north; of new south, old south have one hazard" in str(found)
    time, event, group = strata_of(np.random.default_rng(6), 4000, 1.8)
    made = PrivateSurvival(1, domain=(0, 1), levels=GROUPS).fit(time, event, by=group).release_
    assert made.test(strata=STRATA).p_value < 0.01


@pytest.mark.parametrize(
    ("strata", "words"),
    [
        ([["new north", "old"]], "strata must be one of"),
        ([["new north"], ["new south"]], "strata must be lists of groups, as many in each, two or more"),
        (["north"], "strata must be lists of groups"),
        ([GROUPS[:2], GROUPS[1:3]], "and each group once"),
    ],
)
def test_strata_that_cannot_be_are_refused(strata, words):
    made = PrivateSurvival(1, domain=(0, 1), levels=GROUPS, cells=4)
    release = made.fit([0.1, 0.5, 0.7, 0.9], by=GROUPS).release_
    with pytest.raises(ParameterError, match=words):
        release.test(strata=strata)


def test_a_difference_holds_where_few_are_in_one_arm() -> None:
    # All 30 of one die by 5. Before, .35 of 20 such intervals held: five of six by chance in .02.
    generator, held = np.random.default_rng(41), 0
    arm = np.repeat(["a", "b"], [600, 30])
    survival = PrivateSurvival(epsilon=1, domain=(0, 10), levels=["a", "b"])
    for _ in range(6):
        times = np.where(arm == "a", generator.exponential(10, 630), generator.uniform(0, 4, 630))
        release = survival.fit(times, by=arm).release_
        found = release.difference("b", "a").risk(5)
        held += found.lower <= 1 - np.mean(times[arm == "a"] <= 5) <= found.upper
    assert held >= 5
