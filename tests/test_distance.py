"""The largest distance of the default line from the mean: width, law, budget, band, roads."""

import dataclasses
import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpfda import Domain, PrivacyUnit, PrivateMean, PrivateVectorMean, load
from dpfda.bounds import L2Ball, ValueBounds
from dpfda.errors import BudgetError
from dpfda.mean.streams import MeanStream
from dpfda.noise import BoxNoise
from dpfda.privacy.composition import Cost, LaplaceLoss, compose
from dpfda.privacy.guarantees import Neighbours, PureDP, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.privacy.ledger.named import NAMED
from dpfda.publication.distances import largest_distance
from dpfda.releases.distance import Distance, moved, side_quantile
from dpfda.releases.lines import PROVED, misfit
from dpfda.testing import exact_totals
from dpfda.views.languages import Language
from statistical import FALSE_ALARM, SEEN

GRID = np.linspace(0, 1, 40)
CURVES = 0.5 + 0.3 * np.sin(5 * GRID) + np.linspace(-0.2, 0.2, 300)[:, None]


def spiked(size: int = 400, points: int = 200) -> Any:
    """Curves that all have a spike of one point, much narrower than a cell."""
    curves = np.full((size, points), 0.3)
    curves[:, 77] = 0.95
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
        release = PrivateMean(1, 0.01, bounds=(0, 1), domain=Domain(GRID)).fit(CURVES).release_
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


@pytest.fixture(scope="module")
def sides_of_box() -> Any:
    """Noise of fits (draws, D), in scales: of sums over cells, and of numbers for the distance."""
    grid, curves = GRID[:24] / GRID[23], CURVES[:, :24]
    mean, rows = PrivateMean(1, bounds=(0, 1), domain=Domain(grid)), []
    sums, clipped = exact_totals(mean.prepare(curves).total), np.clip(curves, 0, 1).mean(axis=0)
    for _ in range(400):
        release = mean.fit(curves).release_
        distance, unit = release.distance, 2 * release.distance.largest * release.count
        apart = np.max(np.abs(release(grid) - clipped)) * unit
        cells = [noisy - exact for noisy, exact in zip(release.noisy_sum, sums, strict=True)]
        told = [number - apart for number in distance.numbers]
        scales = [*release.noise.scales, *distance.noise.scales]
        rows.append(np.array([*cells, *told], dtype=float) / scales)
    return np.array(rows)


def side_p_value(draws: Any, sides: int) -> float:
    """That one side of a box is R U: |R U| is beyond x with a chance of E[1 - x / R; R > x]."""

    def below(x: Any) -> Any:
        return 1 - stats.gamma.sf(x, sides + 1) + x / sides * stats.gamma.sf(x, sides)

    return float(stats.kstest(np.abs(draws), below).pvalue)


def test_one_box_hides_line_and_distance(sides_of_box: Any) -> None:
    count = sides_of_box.shape[1]
    # The norm of all sides: with lengths of their own, for two parts, it would have another law.
    farthest = np.max(np.abs(sides_of_box), axis=1)
    assert stats.kstest(farthest, stats.gamma(count).cdf).pvalue > FALSE_ALARM
    assert side_p_value(sides_of_box[:, -1], count) > FALSE_ALARM
    assert side_p_value(sides_of_box[:, 0], count) > FALSE_ALARM
    # Large sums come with large numbers, as they have their length in common.
    far = np.max(np.abs(sides_of_box[:, :-1]), axis=1)
    assert stats.spearmanr(far, np.abs(sides_of_box[:, -1])).pvalue < SEEN


@pytest.mark.parametrize("wrong", [2**0.5, 0.5**0.5])
def test_another_scale_of_a_side_would_be_seen(sides_of_box: Any, wrong: float) -> None:
    assert side_p_value(sides_of_box[:, -1] * wrong, sides_of_box.shape[1]) < SEEN


@pytest.fixture(scope="module")
def sides_of_both() -> Any:
    """Noise of fits of two values (draws, D), in scales; curves are half-way between their bounds."""
    mean, curves, rows = PrivateVectorMean(1, bounds=(0, 1)), np.full((400, 24, 2), 0.5), []
    for _ in range(400):
        found = []
        for release in mean.fit(curves).release_.means.values():
            distance, unit = release.distance, 2 * release.distance.largest * release.count
            apart = np.max(np.abs(release(release.grid_points) - 0.5)) * unit
            found += [
                noisy / scale
                for noisy, scale in zip(release.noisy_sum, release.noise.scales, strict=True)
            ]
            found += [(number - apart) / distance.scale for number in distance.numbers]
        rows.append(found)
    return np.array(rows, dtype=float)


def test_one_box_hides_both_lines_and_their_distances(sides_of_both: Any) -> None:
    count = sides_of_both.shape[1]
    farthest = np.max(np.abs(sides_of_both), axis=1)
    assert stats.kstest(farthest, stats.gamma(count).cdf).pvalue > FALSE_ALARM
    first, second = sides_of_both[:, count // 2 - 1], sides_of_both[:, -1]
    for numbers in (first, second):
        assert side_p_value(numbers, count) > FALSE_ALARM
        for wrong in (2**0.5, 0.5**0.5):
            assert side_p_value(numbers * wrong, count) < SEEN
    # One length for the numbers and all sums: with another draw for these nothing would tell it.
    told = np.maximum(np.abs(first), np.abs(second))
    sums = np.delete(sides_of_both, [count // 2 - 1, count - 1], axis=1)
    assert stats.spearmanr(np.max(np.abs(sums), axis=1), told).pvalue < SEEN


def test_outputs_are_about_as_likely_of_neighbours_wherever_the_line_is() -> None:
    # The density of sums y and a number d is that of the noise at (y - S, d - D(S, line of y)).
    generator, count, halves = np.random.default_rng(8), 30, [2**20, 2**18]
    rows = np.stack([generator.integers(-half, half + 1, count) for half in halves], axis=1)
    epsilon, found = 0.7, []
    widths = [*(2 * half for half in halves), moved(max(halves), Neighbours.REPLACE_ONE)]
    law = BoxNoise(tuple(math.ceil(width / epsilon) for width in widths))

    def log_density(records: Any, noisy: Any, told: float, line: list[int]) -> float:
        sums = records.sum(axis=0)
        apart = largest_distance([sums.tolist()], (line, halves, count))
        return float(law.log_density(np.array([[*(noisy - sums), told - apart]]))[0])

    for _ in range(300):
        other = rows.copy()
        other[0] = generator.choice([-1, 1], 2) * halves
        noise = law.simulate(generator, 1)[0]
        noisy = rows.sum(axis=0) + noise[:2]
        # Any line that follows from the noisy sums.
        line = [
            int(np.clip(1.3 * x / count, -half, half)) for x, half in zip(noisy, halves, strict=True)
        ]
        output = noisy, noise[2] + 10**5, line
        found.append(abs(log_density(rows, *output) - log_density(other, *output)))
    assert 0.5 * epsilon < max(found) <= epsilon


@pytest.mark.parametrize("count", [1, 2, 5])
def test_what_sides_stay_below_is_their_quantile(count: int) -> None:
    generator = np.random.default_rng(5)
    lengths = generator.gamma(14.0 + count, size=100_000)
    least = lengths * generator.uniform(-1, 1, (100_000, count)).min(axis=1)
    for level in (0.9, 0.95, 0.99):
        reach = side_quantile(13 + count, count, level)
        held, wrong = (int(np.sum(-least <= far)) for far in (reach, reach / 2**0.5))
        assert stats.binomtest(held, len(least), level).pvalue > FALSE_ALARM
        assert stats.binomtest(wrong, len(least), level).pvalue < SEEN


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_sides_are_the_budget_at_one_charge(neighbours: str) -> None:
    unit = PrivacyUnit("home", neighbours=neighbours, public_size=None if neighbours[0] == "r" else 300)
    ledger = MemoryLedger().create("homes", PureDP(1), neighbours)
    made = PrivateMean(1, bounds=(0, 1), unit=unit, domain=Domain(GRID), ledger=ledger.of("homes"))
    release = made.fit(CURVES).release_
    distance, sides = release.distance, release.neighbours.differences
    assert release.certificate.costs == (Cost(PureDP(1), LaplaceLoss(Fraction(1))),)
    # By the integer scales in force: no more than was paid for, and all but rounding.
    given = Fraction(sides(distance.largest) + 1, distance.scale)
    assert 1 - Fraction(1, 10**6) < given <= 1
    assert {distance.noise.whole, release.noise.whole} == {
        len(release.noisy_sum) + len(distance.numbers)
    }
    assert 1 - Fraction(1, 10**6) < release.certificate.achieved.epsilon <= 1
    assert ledger.remaining("homes").values[0] == 0
    with pytest.raises(BudgetError):
        made.fit(CURVES)


@pytest.mark.parametrize(
    "asked", [{"epsilon": 1, "delta": 0.1}, {"epsilon": None, "rho": Fraction(1, 2)}]
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
    assert within(release.certificate.achieved, budget)
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
    spent, release = (
        PrivateMean(1, delta, bounds=(0, 2), domain=Domain(GRID)).fit(CURVES).release_
        for delta in (0.01, 0.0)
    )
    for distance in (spent.distance, release.distance):
        largest, count, scale = distance.largest, release.count, distance.scale
        for level in (0.9, 0.95, 0.99):
            reach = distance.at_most(level, count) * 2 * largest * count - min(distance.numbers)
            if distance.at_most(level, count) > 0:
                far = stats.laplace.ppf(level)
                if distance is release.distance:
                    far = side_quantile(distance.noise.whole, len(distance.numbers), level)
                assert reach / scale == pytest.approx(far, rel=1e-6)
        assert distance.at_least(0.95, count) <= max(0, *distance.numbers) / count / (2 * largest)
    band = release.band(0.95)
    half = max(release.distance.at_most(0.95, count), 0) * 2
    inside = (band.lower > 0) & (band.upper < 2)
    widths = (band.upper - band.lower)[inside] / 2
    assert inside.any()
    assert np.all(widths >= half * (1 - 1e-9))


@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_it_comes_back_from_a_file(tmp_path: Any, neighbours: str, delta: float) -> None:
    unit = PrivacyUnit("home", neighbours=neighbours, public_size=None if neighbours[0] == "r" else 200)
    bounds = ValueBounds(-GRID, 1 + GRID)
    made = PrivateMean(1, delta, bounds=bounds, unit=unit, domain=Domain(GRID)).fit(CURVES).release_
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
        # Noise of a box that the line does not share, and a number that nothing paid for.
        lambda written: written["distance"]["noise"].update(whole=20),
        lambda written: written["distance"].update(
            again=[5], noise={**written["distance"]["noise"], "scales": [2**30 + 1] * 2}
        ),
        lambda written: written["distance"].pop("again"),
    ],
)
def test_a_file_with_another_width_or_scale_is_refused(changed: Any) -> None:
    from dpfda.releases.function import ReleasedFunction

    release = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID)).fit(CURVES).release_
    written = release.to_json()
    assert ReleasedFunction.from_json(written).distance == release.distance
    changed(written)
    with pytest.raises(Exception, match=r"release|units|noise|box"):
        ReleasedFunction.from_json(written)


def test_roads_on_which_it_is_measured() -> None:
    mean = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID))
    blocks = mean.fit_blocks(iter([CURVES[:100], CURVES[100:]])).release_
    stream = MeanStream(mean.plan(300)).add(CURVES).release()
    assert blocks.distance is not None
    assert stream.distance is not None
    assert mean.plan(300).distance_sides == len(stream.distance.numbers) == 1
    assert mean.plan(300).costs().keys() == {"release"}
    # Noise in shares and questions of a session are drawn before there is a line.
    assert mean.pooled(300).plan.costs().keys() == {"release"}


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 0.15},
        {"bounds": L2Ball(1.0)},
        {"basis": "matern:30%:2.5"},
        {"mechanism": "laplace"},
        {"mechanism": "one-look"},
        {"variance": 0.1},
        {"unit": PrivacyUnit("home", neighbours="add-remove"), "epsilon": 0.1},
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


def test_a_delta_that_the_line_leaves_takes_nothing_from_its_band() -> None:
    for points, units in ((40, 300), (24, 70), (200, 130)):
        pure, plan = (PrivateMean(1, delta, bounds=(0, 1)).plan(units, points) for delta in (0, 1e-6))
        assert plan.distance.law == pure.distance.law
        assert plan.public_design.noise == pure.public_design.noise
        assert plan.distance_share is None
        # Pure noise on all of it costs no delta, and once.
        assert plan.costs() == pure.costs()
        assert plan.band() == pytest.approx(pure.band())
    release = PrivateMean(1, 1e-6, bounds=(0, 1), domain=Domain(GRID)).fit(CURVES).release_
    sides = {release.distance.noise.whole, len(release.noisy_sum) + len(release.distance.numbers)}
    assert sides == {release.noise.whole}
    assert release.certificate.stages == ("release",)
    assert 1 - Fraction(1, 10**6) < release.certificate.achieved.epsilon <= 1
    assert isinstance(release.certificate.achieved, PureDP)


def test_few_units_have_a_band_that_says_something() -> None:
    # Means that rise from bound to bound look rough in three cells: assumed bands held nothing back.
    curves = np.clip(np.linspace(0.2, 0.8, 24) + np.linspace(-0.1, 0.1, 90)[:, None], 0, 1)
    release = PrivateMean(1, bounds=(0, 1)).fit(curves).release_
    assert release.facts.bands[0].half_width < 0.3
    assert "whatever the curves are" in " ".join(release.describe().split())


def test_budget_of_one_stage_is_no_less() -> None:
    pure, plan = (
        PrivateMean(1, delta, bounds=(0, 1), domain=Domain(GRID)).plan(300) for delta in (0, 0.1)
    )
    assert plan.distance_share == Fraction(1, 10)
    assert plan.function_guarantee.epsilon == Fraction(9, 10)
    assert plan.at(n=3000, epsilon=Fraction(1, 10)).distance_share == Fraction(1, 10)
    assert plan.at(n=100).distance_share is None
    # Where noise is pure there is no share: sides of the box grow with its cells.
    assert pure.distance_share is None
    assert pure.function_guarantee == PureDP(1)
    longer = PrivateMean(1, bounds=(0, 1)).plan(300, 200)
    sides = [longer.at(n=n).distance_sides for n in (50, 300, 3000)]
    assert sides == [0, 1, round(0.05 * longer.at(n=3000).components())] == [0, 1, 3]


def test_noise_in_shares_is_that_of_the_line_alone() -> None:
    unit = PrivacyUnit("home", neighbours="add-remove", public_size=300)
    pool = PrivateMean(1, bounds=(0, 1), unit=unit, domain=Domain(GRID)).pooled_on(CURVES)
    assert pool.plan.distance is not None
    sharing, total = pool.sharing, pool.measured(pool.total(CURVES))
    assert sharing.guarantee == PureDP(1)
    assert total.components == sharing.noise.components
    law = sharing.law(1)
    release = pool.publish_shared(sharing.with_share(total, law, NAMED), law, 300, None)
    assert release.certificate.achieved == law.achieved(sharing.norm, sharing.width, PureDP(1))
    assert np.max(np.abs(release(GRID) - np.clip(CURVES, 0, 1).mean(axis=0))) < 0.2


def test_a_legend_is_without_reserve_where_nothing_is_assumed() -> None:
    mean = PrivateMean(1, bounds=(0, 1))
    sure, meant = mean.fit(spiked()).release_, mean.fit(spiked(50)).release_
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
    # That of the line from the mean, but for the noise: off by 20 of its scales with a chance of e^-20.
    apart = np.abs(release(release.grid_points) - curves.mean(axis=0)).max()
    unit = 2 * release.distance.largest * 5000
    scale = release.distance.noise.scales[0] / unit
    assert release.distance.noisy / unit == pytest.approx(apart, abs=20 * scale + 1e-3)
    assert 20 * scale < apart
    # Noise in shares is drawn before anyone has the line, of which all of the budget is then.
    assert pool.sharing.plan.distance is None


def test_lines_of_several_values_have_one_box_with_all_that_tells_them(tmp_path: Any) -> None:
    curves = np.stack([spiked(), 1 - spiked()], axis=2)
    mean = PrivateVectorMean(1, bounds=(0, 1), channels=["x", "y"])
    plan, held, whole = mean.plan(400, 200), 0, 0
    for _ in range(30):
        release = mean.fit(curves).release_
        bands = release.bands(0.95, points=np.linspace(0, 1, 200))
        whole = sum(len(own.noisy_sum) + len(own.distance.numbers) for own in release.means.values())
        held += all(
            np.all((bands[name].lower <= truth) & (truth <= bands[name].upper))
            for name, truth in zip("xy", curves[0].T, strict=True)
        )
    # At .95 fewer than 21 of 30 have a chance below 1e-6.
    assert held >= 21
    laws = [law for own in release.means.values() for law in (own.noise, own.distance.noise)]
    assert {law.whole for law in laws} == {whole} == {len(plan.draw.noise.scales)}
    # One unit moves each of all these by no more than its scale times epsilon.
    assert plan.draw.achieved() == release.certificate.achieved
    assert 1 - Fraction(1, 10**6) < release.certificate.achieved.epsilon <= 1
    release.save(tmp_path / "both.json")
    again = load(tmp_path / "both.json")
    assert [own.distance for own in again.means.values()] == [
        own.distance for own in release.means.values()
    ]
    written = release.to_json()
    own = written["channels"][0]["mean"]
    own["distance"]["noise"]["scales"] = [round(own["distance"]["noise"]["scales"][0] / 2**0.5)]
    with pytest.raises(Exception, match=r"release|noise"):
        type(release).from_json(written)


def with_other_box(written: Any, whole: int | None) -> Any:
    """The file of several values whose noise is of boxes of so many sides, or of one each."""
    for channel in written["channels"]:
        own = channel["mean"]
        if whole is None:
            del own["distance"]
            own["noise"] = {"law": "k-norm-box", "scales": own["noise"]["scales"]}
            continue
        for law in (own["noise"], own["distance"]["noise"]):
            law["whole"] = whole
    return written


@pytest.mark.parametrize("whole", ["own", "more", None])
def test_a_file_of_several_values_says_one_box_has_paid_for_all(whole: str | None) -> None:
    """Boxes of fewer sides would have less noise, and would lose epsilon for each value."""
    curves = np.stack([spiked(), 1 - spiked()], axis=2)
    release = PrivateVectorMean(1, bounds=(0, 1), channels=["x", "y"]).fit(curves).release_
    own = release.means["x"]
    sides = {"own": len(own.noisy_sum) + len(own.distance.numbers), "more": own.noise.whole + 1}
    written = with_other_box(release.to_json(), sides.get(whole or ""))
    with pytest.raises(ValueError, match="one box"):
        type(release).from_json(written)


def test_a_closer_look_pays_for_it_by_sides_of_its_box() -> None:
    generator = np.random.default_rng(2)
    curves = 0.5 + 0.3 * np.sin(5 * GRID) + generator.normal(0, 0.02, (5000, 1))
    made = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID))
    truth, held = np.clip(curves, 0, 1).mean(axis=0), 0
    for _ in range(20):
        release = made.fit(curves).release_
        distance, cells = release.distance, len(release.noisy_sum)
        assert release.certificate.stages[-1] == "closer look"
        assert distance.noise.whole == release.noise.whole == cells + len(distance.numbers)
        # A unit moves it by the stated bounds' distance, however close the look is.
        left = release.certificate.costs[-1].guarantee.epsilon
        if release.excess is not None:
            left -= release.excess.achieved.epsilon
        given = Fraction(2 * distance.largest + 1, distance.scale)
        assert abs(given / left - 1) < Fraction(1, 10**6)
        held += np.max(np.abs(release(GRID) - truth)) <= distance.at_most(0.95, release.count)
    # At .95 fewer than 13 of 20 have a chance below 1e-6.
    assert held >= 13
