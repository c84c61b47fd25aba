"""The largest distance of the default line from the mean: width, law, budget, band, roads."""

import dataclasses
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpfda import Domain, PrivacyUnit, PrivateMean, load
from dpfda.bounds import L2Ball, ValueBounds
from dpfda.errors import BudgetError
from dpfda.mean.streams import MeanStream
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import Neighbours, PureDP, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.privacy.ledger.named import NAMED
from dpfda.publication.distances import largest_distance
from dpfda.releases.distance import Distance, moved
from dpfda.releases.lines import PROVED, misfit
from dpfda.views.languages import Language
from statistical import FALSE_ALARM, SEEN

GRID = np.linspace(0, 1, 40)
CURVES = 0.5 + 0.3 * np.sin(5 * GRID) + np.linspace(-0.2, 0.2, 300)[:, None]


def spiked(size: int = 400, points: int = 200) -> Any:
    """Curves that all have a spike of one point, much narrower than a cell."""
    curves = np.full((size, points), 0.3)
    curves[:, 77] = 0.9
    return curves


halves_and_records = st.integers(1, 6).flatmap(
    lambda points: (
        st.lists(st.integers(0, 9), min_size=points, max_size=points)
        .filter(any)
        .flatmap(
            lambda halves: st.tuples(
                st.just(halves),
                st.lists(
                    st.tuples(*(st.integers(-half, half) for half in halves)), min_size=2, max_size=5
                ),
                st.tuples(*(st.integers(-half, half) for half in halves)),
                st.tuples(*(st.integers(-half, half) for half in halves)),
            )
        )
    )
)


@given(halves_and_records)
@settings(max_examples=400, deadline=None)
def test_one_unit_moves_it_by_no_more_than_is_said(case: Any) -> None:
    halves, records, other, line = case
    measure = partial(largest_distance, public=(list(line), halves, len(records)))

    def of(rows: Any) -> int:
        return measure([[sum(column) for column in zip(*rows, strict=True)]])

    replaced, fewer = [other, *records[1:]], records[1:]
    widest = max(halves)
    assert abs(of(records) - of(replaced)) <= moved(widest, Neighbours.REPLACE_ONE)
    assert abs(of(records) - of(fewer)) <= moved(widest, Neighbours.ADD_REMOVE)


def test_a_unit_can_move_it_by_all_but_one() -> None:
    # From bound to bound, where the line lies on a bound.
    public = [8, 2], [8, 2], 1
    assert largest_distance([[-8, 2]], public) - largest_distance([[8, 2]], public) == 16
    assert moved(8, Neighbours.REPLACE_ONE) == 17
    # Where bounds are narrower, distances count in proportion.
    assert largest_distance([[8, -2]], public) == 16


@pytest.fixture(scope="module")
def errors_in_scales() -> Any:
    """Noise on distances of fits, in units of the scale that a tenth of epsilon calls for."""
    found, clipped = [], np.clip(CURVES, 0, 1).mean(axis=0)
    for _ in range(500):
        release = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID)).fit(CURVES).release_
        apart = np.max(np.abs(release(GRID) - clipped))
        told = release.distance.noisy / release.count / (2 * release.distance.largest)
        found.append((told - apart) * len(CURVES) / 10)
    return np.array(found)


def scale_p_value(draws: Any) -> float:
    """That Laplace draws have scale one: their sizes add up to a Gamma variable."""
    below = stats.gamma.cdf(np.sum(np.abs(draws)), len(draws))
    return float(2 * min(below, 1 - below))


def test_its_noise_is_laplace_of_its_share_of_epsilon(errors_in_scales: Any) -> None:
    assert stats.kstest(errors_in_scales, stats.laplace.cdf).pvalue > FALSE_ALARM
    assert scale_p_value(errors_in_scales) > FALSE_ALARM


@pytest.mark.parametrize("wrong", [2**0.5, 0.5**0.5])
def test_another_scale_would_be_seen(errors_in_scales: Any, wrong: float) -> None:
    assert scale_p_value(errors_in_scales * wrong) < SEEN


@pytest.mark.parametrize(
    "asked", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-5}, {"epsilon": None, "rho": Fraction(1, 2)}]
)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_line_and_distance_are_the_budget(asked: Any, neighbours: str) -> None:
    unit = PrivacyUnit("home", neighbours=neighbours, public_size=None if neighbours[0] == "r" else 300)
    budget = PrivateMean(**asked, bounds=(0, 1)).asked()
    ledger = MemoryLedger().create("homes", budget, neighbours)
    made = PrivateMean(**asked, bounds=(0, 1), unit=unit, domain=Domain(GRID), ledger=ledger.of("homes"))
    release = made.fit(CURVES).release_
    first, last = release.certificate.costs
    assert release.certificate.stages == ("largest distance", "function")
    law = Distance(0, release.distance.largest, release.distance.noise)
    # By the integer scale in force: no more than was paid for, and all but rounding.
    width = release.neighbours.differences(law.largest) + 1
    part = Fraction(width, release.distance.noise.scales[0])
    assert first.guarantee.epsilon * (1 - Fraction(1, 10**6)) < part <= first.guarantee.epsilon
    together = compose([first.guarantee, last.guarantee])
    assert within(together, budget)
    whole, asked_for = (vars(each).get("rho") or each.epsilon for each in (together, budget))
    assert whole > asked_for * (1 - Fraction(1, 1000))
    assert within(release.achieved, budget)
    assert max(ledger.remaining("homes").values) < Fraction(1, 100)
    with pytest.raises(BudgetError):
        made.fit(CURVES)


def test_band_holds_what_no_cell_shows() -> None:
    curves = spiked()
    mean = PrivateMean(1, bounds=(0, 1))
    grid = mean.fit(curves).release_.grid_points
    held = {"measured": 0, "assumed": 0}
    for _ in range(60):
        release = mean.fit(curves).release_
        without = dataclasses.replace(release, distance=None)
        for name, made in (("measured", release), ("assumed", without)):
            band = made.band(0.95)
            low, high = (np.interp(grid, band.points, end) for end in (band.lower, band.upper))
            held[name] += bool(np.all((low <= curves[0]) & (curves[0] <= high)))
    # At .95 fewer than 46 of 60 have a chance below 1e-6.
    assert held["measured"] >= 46
    assert held["assumed"] == 0
    words = release.describe()
    assert "whatever the curves are" in " ".join(words.split())
    assert "spike, a step or a cycle narrower than a cell" in " ".join(str(release.facts).split())


def test_rounding_is_no_spike() -> None:
    for narrow, named in ((3e-9, False), (1.0, True)):
        width = np.where(np.abs(np.arange(200) - 100) < 20, narrow, 1.0)
        mean = PrivateMean(2, bounds=ValueBounds(np.zeros(200), width))
        release = mean.fit(np.tile(0.7 * width, (2000, 1))).release_
        # As far as the one unit of a sum that the bounds are apart there, for all.
        far = dataclasses.replace(release.distance, noisy=2000 * release.distance.largest)
        assert far.at_least(0.95, 2000.0) > 0.4
        told = dataclasses.replace(release, distance=far).describe()
        assert ("spike, a step or a cycle narrower" in told.replace("\n", " ")) == named


@pytest.mark.parametrize("narrow", [1e-8, 1e-9, 1e-12])
def test_band_holds_where_bounds_are_hardly_apart_for_integers(narrow: float) -> None:
    # The bounds there are 11 units of the sums apart, one, and none.
    width = np.where(np.abs(np.arange(200) - 100) < 20, narrow, 1.0)
    mean = PrivateMean(2, bounds=ValueBounds(np.zeros(200), width))
    for curve in (width, np.where(np.arange(200) % 2, width, 0.0)):
        held = 0
        for _ in range(10):
            release = mean.fit(np.tile(curve, (2000, 1))).release_
            assert release.distance is not None
            band = release.band(0.99, points=release.grid_points)
            held += bool(np.all((band.lower <= curve) & (curve <= band.upper)))
        # At .99 four misses of 10 have a chance of 2e-6.
        assert held >= 7


def test_level_follows_the_law() -> None:
    release = PrivateMean(1, bounds=(0, 2), domain=Domain(GRID)).fit(CURVES).release_
    distance, scale = release.distance, release.distance.noise.scales[0]
    largest, count = distance.largest, release.count
    for level in (0.9, 0.95, 0.99):
        reach = distance.at_most(level, count) * 2 * largest * count - distance.noisy
        if distance.at_most(level, count) > 0:
            assert reach / scale == pytest.approx(stats.laplace.ppf(level), rel=1e-6)
    assert distance.at_least(0.95, count) <= max(0, distance.noisy) / count / (2 * largest)
    band = release.band(0.95)
    half = max(distance.at_most(0.95, count), 0) * 2
    inside = (band.lower > 0) & (band.upper < 2)
    widths = (band.upper - band.lower)[inside] / 2
    assert inside.any()
    assert np.all(widths >= half * (1 - 1e-9))


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_it_comes_back_from_a_file(tmp_path: Any, neighbours: str) -> None:
    unit = PrivacyUnit("home", neighbours=neighbours, public_size=None if neighbours[0] == "r" else 200)
    bounds = ValueBounds(-GRID, 1 + GRID)
    made = PrivateMean(1, 1e-6, bounds=bounds, unit=unit, domain=Domain(GRID)).fit(CURVES).release_
    made.save(tmp_path / "mean.json")
    again = load(tmp_path / "mean.json")
    assert again.distance == made.distance
    assert np.array_equal(again.band(0.95).upper, made.band(0.95).upper)


@pytest.mark.parametrize(
    "changed",
    [
        lambda written: written["distance"].update(largest=written["distance"]["largest"] // 2),
        lambda written: written["distance"]["noise"].update(
            scales=[round(written["distance"]["noise"]["scales"][0] / 2**0.5)]
        ),
    ],
)
def test_a_file_with_another_width_or_scale_is_refused(changed: Any) -> None:
    from dpfda.releases.function import ReleasedFunction

    release = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID)).fit(CURVES).release_
    written = release.to_json()
    assert ReleasedFunction.from_json(written).distance == release.distance
    changed(written)
    with pytest.raises(Exception, match=r"release|units|noise"):
        ReleasedFunction.from_json(written)


def test_roads_on_which_it_is_measured() -> None:
    mean = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID))
    blocks = mean.fit_blocks(iter([CURVES[:100], CURVES[100:]])).release_
    stream = MeanStream(mean.plan(300)).add(CURVES).release()
    assert blocks.distance is not None
    assert stream.distance is not None
    assert mean.plan(300).costs().keys() == {"largest distance", "function"}
    # Noise in shares and questions of a session are drawn before there is a line.
    assert mean.pooled(300).plan.costs().keys() == {"release"}


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 0.5},
        {"bounds": L2Ball(1.0)},
        {"basis": "matern:30%:2.5"},
        {"mechanism": "laplace"},
        {"mechanism": "one-look"},
        {"variance": 0.1},
        {"unit": PrivacyUnit("home", neighbours="add-remove")},
    ],
)
def test_where_it_is_not(other: Any) -> None:
    asked: Any = {"epsilon": 1, "bounds": (0, 1), "domain": Domain(GRID), **other}
    release = PrivateMean(**asked).fit(CURVES).release_
    assert getattr(getattr(release, "mean", release), "distance", None) is None


def test_expected_half_widths_are_those_of_releases() -> None:
    made = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID))
    told = made.plan(300).outlook_width(0.95)
    found = []
    for _ in range(20):
        band = made.fit(CURVES).release_.band(0.95)
        found.append(np.mean(band.upper - band.lower) / 2)
    assert 0.6 < np.median(found) / told.typical < 1.6


def test_budget_of_one_stage_is_no_less() -> None:
    plan = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID)).plan(300)
    assert plan.distance_share == Fraction(1, 10)
    assert plan.function_guarantee == PureDP(Fraction(9, 10))
    assert plan.at(n=3000, epsilon=Fraction(1, 10)).distance_share == Fraction(1, 10)
    assert plan.at(n=100).distance_share is None


def test_noise_in_shares_is_that_of_the_line_alone() -> None:
    unit = PrivacyUnit("home", neighbours="add-remove", public_size=300)
    pool = PrivateMean(1, bounds=(0, 1), unit=unit, domain=Domain(GRID)).pooled_on(CURVES)
    assert pool.plan.costs().keys() == {"largest distance", "function"}
    sharing, total = pool.sharing, pool.measured(pool.total(CURVES))
    assert sharing.guarantee == PureDP(1)
    assert total.components == sharing.noise.components
    law = sharing.law(1)
    release = pool.publish_shared(sharing.with_share(total, law, NAMED), law, 300, None)
    assert release.achieved == law.achieved(sharing.norm, sharing.width, PureDP(1))
    assert np.max(np.abs(release(GRID) - np.clip(CURVES, 0, 1).mean(axis=0))) < 0.2


def test_a_legend_is_without_reserve_where_nothing_is_assumed() -> None:
    mean = PrivateMean(1, bounds=(0, 1))
    sure, meant = mean.fit(spiked()).release_, mean.fit(spiked(60)).release_
    assert sure.view(0.99).lines[0].band == "99% band for the mean"
    assert meant.view().lines[0].band == "band meant to hold the mean, 95%"
    for name, said in (
        ("de", "95\xa0%-Band für den Mittelwert"),
        ("fr", "bande à 95\xa0% pour la moyenne"),
    ):
        assert Language(name).text(sure.view().lines[0].band) == said


@pytest.mark.parametrize("language", ["de", "fr"])
def test_all_that_it_says_is_translated(language: str) -> None:
    release = PrivateMean(20, bounds=(0, 1)).fit(spiked(200)).release_
    english = release.describe()
    assert "Somewhere the mean is farther from the line" in english.replace("\n", " ")
    assert "whatever the curves are" in english.replace("\n", " ")
    for paragraph in (fact.paragraph() for fact in release.facts.bands):
        assert all(said for _, said in Language(language).sentences(paragraph))
    for text in (PROVED, misfit(release)):
        assert text
        assert all(said for _, said in Language(language).sentences(text))


def test_holders_whose_coordinator_draws_measure_it_and_shares_do_not():
    curves = np.random.default_rng(0).uniform(0, 1, (5000, 60)).cumsum(axis=1) / 60
    # A spike at one point, which the line misses.
    curves[:, 30] = 1.0
    pool = PrivateMean(0.2, bounds=(0, 1)).pooled(5000, 60)
    release = pool.publish(pool.total(curves))
    assert release.certificate.stages == ("largest distance", "function")
    # That of the line from the mean, but for the noise: off by 20 of its scales with a chance of e^-20.
    apart = np.abs(release(release.grid_points) - curves.mean(axis=0)).max()
    unit = 2 * release.distance.largest * 5000
    scale = release.distance.noise.scales[0] / unit
    assert release.distance.noisy / unit == pytest.approx(apart, abs=20 * scale + 1e-3)
    assert 20 * scale < apart
    # Noise in shares is drawn before anyone has the line, of which all of the budget is then.
    assert pool.sharing.plan.distance_share is None
