"""Scales that cells are equal on; the private choice of an interval: sensitivities, law, releases."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpfda import Ledger, PrivateDensity, load
from dpfda.bases.cells import CellGrid
from dpfda.bases.scales import Scale, read_scale
from dpfda.density.quantiles_design import zoomed
from dpfda.errors import BudgetError, DpfdaError, ParameterError
from dpfda.estimates.histospline import monotone_probabilities
from dpfda.noise import KNormNoise
from dpfda.noise.shares import EXPONENT, UNIT
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    added,
    within,
)
from dpfda.publication.zoom import CANDIDATES, FINE, Zoom, zoom_for, zoomed_part
from dpfda.records.points import PlacedPoints
from dpfda.testing import simulate_density

REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE
ONES = PureDP(1), PureDP(1)
ENDS = (-100.0, 100.0)


# Scales.

SCALES = [
    Scale.zoom(ENDS, 0.3, 0.5),
    Scale.log((1e-3, 1e6)),
    Scale.through([1, 2, 50], (0, 100)),
    Scale.of(lambda x: np.sqrt(x + 1), (0, 9)),
    Scale(np.array([0.0, 1.0])),
]


@pytest.mark.parametrize("scale", SCALES)
def test_a_scale_goes_up_from_zero_to_one_and_back(scale: Scale) -> None:
    at = np.concatenate([np.linspace(*scale.domain_range, 4001), scale.knots])
    there = scale.positions(np.sort(at))
    assert there[0] == 0
    assert there[-1] == 1
    assert np.all(np.diff(there) >= 0)
    np.testing.assert_allclose(scale.points(there), np.sort(at), atol=1e-9 * np.ptp(at))
    # Its slope is the derivative: differences between points close by, away from knots.
    middle = scale.points(np.linspace(0.013, 0.987, 61))
    step = 1e-6 * np.gradient(middle)
    numeric = (scale.positions(middle + step) - scale.positions(middle - step)) / (2 * step)
    np.testing.assert_allclose(scale.slopes(middle), numeric, rtol=1e-5)


@settings(max_examples=50)
@given(st.lists(st.floats(1e-2, 1e2), min_size=1, max_size=9))
def test_any_increasing_knots_make_an_increasing_scale(widths: list[float]) -> None:
    scale = Scale(np.concatenate([[0.0], np.cumsum(widths)]))
    positions = np.linspace(0, 1, 301)
    assert np.all(np.diff(scale.points(positions)) >= 0)
    np.testing.assert_allclose(scale.positions(scale.points(positions)), positions, atol=1e-7)
    np.testing.assert_allclose(scale.positions(scale.knots) * len(widths), range(len(widths) + 1))


def test_a_zoom_is_an_inverse_hyperbolic_sine_and_log_a_logarithm() -> None:
    at = np.linspace(*ENDS, 999)
    expected = np.arcsinh((at - 0.3) / 0.5)
    low, high = np.arcsinh((np.array(ENDS) - 0.3) / 0.5)
    np.testing.assert_allclose(SCALES[0].positions(at), (expected - low) / (high - low), atol=1e-6)
    at = np.geomspace(1e-3, 1e6, 999)
    np.testing.assert_allclose(SCALES[1].positions(at), np.linspace(0, 1, 999), atol=1e-6)


@pytest.mark.parametrize(
    ("scale", "domain", "words"),
    [
        ("log", (0.0, 1.0), "domain must be positive for scale 'log'"),
        ("asinh", (0.0, 1.0), "scale must be 'auto', 'linear', 'log', 'zoom'"),
        ([2.0, 1.0], (0.0, 3.0), "scale must increase strictly and lie between the ends"),
        ([1.0, 4.0], (0.0, 3.0), "scale must increase strictly and lie between the ends"),
        ([], (0.0, 3.0), "scale must hold a number or more"),
        (lambda x: -x, (0.0, 3.0), "scale must be finite and increase strictly"),
        (np.log, (0.0, 3.0), "scale must be finite and increase strictly"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_is_no_scale(scale: object, domain: tuple[float, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        read_scale(scale, domain)
    ledger_is_untouched = PrivateDensity(1, domain=domain, scale=scale)
    with pytest.raises(ParameterError, match=words):
        ledger_is_untouched.fit(np.linspace(0, 1, 50))


# Scores and what a unit does to them.


def placed(points: object) -> PlacedPoints:
    values = np.asarray(points, dtype=float)[:, None]
    return PlacedPoints(values, np.ones(len(values), dtype=bool), None, EXPONENT)


def scores(zoom: Zoom, points: list[float]) -> tuple[np.ndarray, list[np.ndarray]]:
    fine = placed(points).shares(zoom.fine)
    every = [np.array(zoom.place_scores(fine, i)) for i in range(len(CANDIDATES))]
    return np.array(zoom.width_scores(fine)), every


def test_scores_are_shares_of_intervals() -> None:
    zoom = Zoom((0.0, 1.0), 5, ONES, REPLACE)
    points = [0.1, 0.12, 0.13, 0.6, 0.99]
    widths, places = scores(zoom, points)
    for i, length in ((0, 1.0), (1, 0.75), (2, 0.5), (6, 0.125), (7, 0.09375), (28, 2.0**-14)):
        step = length / CANDIDATES[i][1]
        starts = np.arange(0, 1 - length + step / 2, step)
        found = [sum(start <= x < start + length for x in points) for start in starts]
        assert (places[i] / UNIT).tolist() == found
        assert widths[i] == -abs(5 * max(found) - 3 * 5) * UNIT
        assert zoom.narrow(i) == (length < 1 / 8)


points_of_interval = st.lists(st.floats(0, 1), min_size=2, max_size=7)


@settings(max_examples=25, deadline=None)
@given(points_of_interval, st.floats(0, 1), st.sampled_from([REPLACE, ADD]))
def test_no_unit_moves_two_scores_farther_apart(
    points: list[float], other: float, neighbours: Neighbours
) -> None:
    zoom = Zoom((0.0, 1.0), len(points), ONES, neighbours)
    after = [other, *points[1:]] if neighbours is REPLACE else [other, *points]
    (widths, places), (widths_after, places_after) = scores(zoom, points), scores(zoom, after)
    width_apart, place_apart = zoom.moved_apart
    assert np.ptp(widths_after - widths) <= width_apart
    assert all(np.ptp(b - a) <= place_apart for a, b in zip(places, places_after, strict=True))


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
def test_some_unit_moves_them_as_far(neighbours: Neighbours) -> None:
    # Three fifths of five units are in the left half; one more comes there, from the right or nowhere.
    points = [0.1, 0.2, 0.3, 0.7, 0.9]
    zoom = Zoom((0.0, 1.0), 5, ONES, neighbours)
    after = [0.1, 0.2, 0.3, 0.11, 0.9] if neighbours is REPLACE else [*points, 0.11]
    (widths, places), (widths_after, places_after) = scores(zoom, points), scores(zoom, after)
    assert max(np.ptp(b - a) for a, b in zip(places, places_after, strict=True)) == zoom.moved_apart[1]
    assert np.ptp(widths_after - widths) == zoom.moved_apart[0]


# The noisy maximum.


@pytest.mark.parametrize("epsilon", ["1/20", "1", "3"])
@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
def test_scales_of_the_noise_are_the_distance_over_epsilon(epsilon: str, neighbours: Neighbours) -> None:
    zoom = Zoom((0.0, 1.0), 100, (PureDP(epsilon), PureDP(epsilon)), neighbours)
    laws = zoom.width_noise(), zoom.place_noise(5)
    for law, apart in zip(laws, zoom.moved_apart, strict=True):
        assert set(law.scales) == {math.ceil(apart / Fraction(epsilon))}
    assert [law.components for law in laws] == [29, 14]


def test_the_chance_of_an_index_changes_by_epsilon_and_no_more() -> None:
    """Two indices, their scores moved by the distance: the ratio comes close to exp(epsilon)."""
    zoom = Zoom((0.0, 1.0), 100, ONES, REPLACE)
    apart, scale = zoom.moved_apart[0], zoom.width_noise().scales[0]

    def wins(behind: float, scale: float) -> float:
        # P(Z - Z' > behind) of independent Laplace variables.
        return (2 + behind / scale) / 4 * math.exp(-behind / scale)

    def loss(scale: float) -> float:
        behinds = np.linspace(0, 60 * apart, 400)
        return max(math.log(wins(at, scale) / wins(at + apart, scale)) for at in behinds)

    assert 0.95 < loss(scale) <= 1
    assert loss(scale / math.sqrt(2)) > 1
    assert loss(scale * math.sqrt(2)) < 0.95


def test_the_interval_that_is_published_has_the_stated_law() -> None:
    """Frequencies of chosen places by exact draws, against a simulation of the noisy maximum."""
    zoom = Zoom((0.0, 1.0), 12, (PureDP("1/2"),) * 2, REPLACE)
    fine = placed(np.repeat([0.1, 0.35, 0.8], [6, 4, 2])).shares(zoom.fine)
    values = np.array(zoom.place_scores(fine, 2)) / UNIT
    drawn = [np.argmax(values + np.array(zoom.place_noise(2).draw()) / UNIT) for _ in range(3000)]
    generator = np.random.default_rng(3)

    def expected(scale: float) -> np.ndarray:
        noisy = values + generator.laplace(scale=scale, size=(400_000, 3))
        return np.bincount(noisy.argmax(axis=1), minlength=3) / 400_000 * len(drawn)

    found = np.bincount(drawn, minlength=3)
    assert stats.chisquare(found, expected(4.0)).pvalue > 1e-6
    # Wrong by root two either way is told apart.
    assert stats.chisquare(found, expected(4.0 / math.sqrt(2))).pvalue < 1e-6
    assert stats.chisquare(found, expected(4.0 * math.sqrt(2))).pvalue < 1e-6


@pytest.mark.parametrize("near", [1.0, 0.05])
def test_counts_get_the_noise_of_their_case_and_nothing_else_leaves(near: float) -> None:
    """A wide interval: no place is chosen, and the law without one. A narrow one: the first fullest."""
    zoom = Zoom((0.0, 1.0), 5, ONES, REPLACE)
    units = placed(near * np.array([0.1, 0.2, 0.3, 0.7, 0.9]))
    noises, asked = (KNormNoise.equal(3, 7), KNormNoise.equal(4, 9)), []
    scale, counts = zoomed(units, zoom, noises, lambda law: asked.append(law) or [0] * law.components)
    assert sum(counts) == 5 * UNIT
    if near == 1.0:
        assert scale is None
        assert counts == (2 * UNIT, UNIT, UNIT, UNIT)
        assert asked == [zoom.width_noise(), noises[1]]
    else:
        # A width of 3 / 64 holds all five, one of 1 / 32 three, at the first place.
        assert scale is not None
        width = CANDIDATES.index((6, 2))
        assert np.array_equal(scale.knots, zoom.scale(width, 0).knots)
        assert asked == [zoom.width_noise(), zoom.place_noise(width), noises[0]]


def test_noise_of_counts_that_is_no_integer_is_refused() -> None:
    zoom, noises = Zoom((0.0, 1.0), 5, ONES, REPLACE), (KNormNoise.equal(3, 7),) * 2

    def draw(law: KNormNoise) -> list[float]:
        return [0.5 if law in noises else 0] * law.components

    with pytest.raises(DpfdaError, match="must be integers"):
        zoomed(placed(np.array([0.1, 0.2, 0.3, 0.7, 0.9])), zoom, noises, draw)


# What is charged.


@pytest.mark.parametrize(
    "guarantee", [PureDP(1), ApproximateDP(1, Fraction(1, 10**6)), ZeroConcentratedDP("1/2")]
)
def test_parts_add_up_to_what_was_asked_for(guarantee: object) -> None:
    zoom, rest = zoom_for(ENDS, 3000, guarantee, REPLACE)  # type: ignore[arg-type]
    assert zoom.parts == (PureDP("3/200"), PureDP("13/600"))
    assert added([*zoom.parts, rest]) == guarantee
    few, _ = zoom_for(ENDS, 10, PureDP(1), REPLACE)
    assert few.parts == (PureDP("9/88"), PureDP("13/88"))
    many, _ = zoom_for(ENDS, 10**6, PureDP(1), REPLACE)
    assert many.parts == (PureDP("9/880"), PureDP("13/880"))


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_both_laws_of_the_counts_cost_what_is_left(neighbours: str) -> None:
    unit = {"neighbours": neighbours} | ({"public_size": 3000} if neighbours == "add-remove" else {})
    plan = PrivateDensity(1, domain=ENDS, **unit).plan(3000)
    placed_law, unplaced = plan.noises
    apart = 2 * UNIT if neighbours == "replace-one" else UNIT
    # 1 - 110 / n with a place, 1 - 45 / n without.
    assert set(placed_law.scales) == {math.ceil(apart / Fraction(289, 300))}
    assert set(unplaced.scales) == {math.ceil(apart / Fraction(197, 200))}
    assert plan.costs()["place and counts"].guarantee == PureDP("197/200")
    with pytest.raises(DpfdaError, match="which is more than"):
        replace(plan, unplaced=KNormNoise.equal(9, unplaced.scales[0] - 1)).costs()


def test_its_price_grows_from_nothing_with_the_number_of_units() -> None:
    for size in (457, 473, 490, 500):
        plan = PrivateDensity(1, domain=ENDS).plan(size)
        part = Fraction(size - 455, 45)
        assert plan.zoom.parts == (PureDP(45 * part / size), PureDP(65 * part / size))
        assert plan.guarantee == PureDP(1)
        # Where units are spread widely, as much noise in persons as 455 units have without a choice.
        assert set(plan.noises[1].scales) == {math.ceil(2 * UNIT * Fraction(size, 455))}
        # Without a unit all scores are alike but for the margin: noise exceeds it in 1 of 500.
        noise, scores = plan.zoom.width_noise(), plan.zoom.width_scores([0] * FINE)
        narrow = [plan.zoom.narrow(width) for width in range(len(CANDIDATES))]
        more = noise.scales[0] * (1 - part)
        lower = [max(scores) - score for score in scores]
        assert lower == [math.ceil(10 * more) * each for each in narrow]
    assert len(CANDIDATES) * math.exp(-10) / 2 < 1 / 500


def test_under_rho_counts_have_one_law() -> None:
    plan = PrivateDensity(rho=0.5, domain=ENDS).plan(3000)
    assert plan.noises == (plan.noise, plan.noise)
    assert list(plan.costs()) == ["width of an interval", "place of the interval", "counts"]
    assert within(plan.certified().achieved, ZeroConcentratedDP("1/2"))


def test_the_default_follows_from_public_numbers() -> None:
    parts = [zoomed_part(size, PureDP(1)) for size in (455, 473, 499, 500, 10**6)]
    assert parts == [0, Fraction(2, 5), Fraction(44, 45), 1, 1]
    assert PrivateDensity(1, domain=ENDS).plan(500).zoom is not None
    planned = PrivateDensity(1, domain=ENDS).plan(500).functions
    assert "equal on a scale chosen privately of" in planned
    assert "or on that itself where units are spread widely" in planned
    assert PrivateDensity(1, domain=ENDS).plan(455).zoom is None
    for other in ({"cells": 20}, {"bandwidth": 2.0}, {"scale": "linear"}):
        assert PrivateDensity(1, domain=ENDS, **other).plan(9000).zoom is None
    assert PrivateDensity(1, domain=[ENDS, ENDS]).plan(9000).zoom is None
    # Ends that floats hardly tell apart.
    assert PrivateDensity(1, domain=(1e9, 1e9 + 1)).plan(9000).zoom is None


def test_all_is_charged_before_the_first_choice(tmp_path, monkeypatch) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.create("incomes", PureDP("3/2"), unit="person")
    points = np.linspace(-1, 1, 3000)
    release = (
        PrivateDensity(1, domain=ENDS, unit="person", ledger=ledger.of("incomes")).fit(points).release_
    )
    assert release.certificate.stages == ("width of an interval", "place and counts")
    assert [cost.guarantee for cost in release.certificate.costs] == [PureDP("3/200"), PureDP("197/200")]
    assert release.guarantee == PureDP(1)
    assert within(release.certificate.achieved, PureDP(1))
    monkeypatch.setattr("dpfda.density.plan.zoomed", lambda *given: pytest.fail("drawn"))
    with pytest.raises(BudgetError):
        PrivateDensity(1, domain=ENDS, unit="person", ledger=ledger.of("incomes")).fit(points)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"domain": [ENDS, ENDS], "scale": "zoom"},
            "scale must be 'auto' or 'linear' but for a histogram",
        ),
        (
            {"mechanism": "kernel", "scale": "log"},
            "scale must be 'auto' or 'linear' but for a histogram",
        ),
        ({"bandwidth": 1.0, "scale": "zoom"}, "scale must be 'auto' or 'linear' but for a histogram"),
        ({"domain": (1e9, 1e9 + 1), "scale": "zoom"}, "domain must be longer than 2\\^-24"),
        (
            {"neighbours": "add-remove", "scale": "zoom", "cells": 9},
            "scale must be given under add/remove",
        ),
    ],
)
def test_zooms_that_there_cannot_be(parameters: dict[str, object], words: str) -> None:
    given = {"domain": ENDS, **parameters}
    points = np.zeros((50, len(given["domain"]) if isinstance(given["domain"], list) else 1))
    with pytest.raises(ParameterError, match=words):
        PrivateDensity(1, **given).fit(points)


def test_counts_and_several_places_have_no_zoom() -> None:
    with pytest.raises(ParameterError, match="scale must be left out for counts"):
        PrivateDensity(1, scale="zoom").fit_counts([3, 4], [0, 1, 2])
    with pytest.raises(ParameterError, match="scale must be 'linear' or public where"):
        PrivateDensity(1, domain=ENDS, scale="zoom").pooled(5000)
    assert PrivateDensity(1, domain=ENDS).pooled(5000).plan.zoom is None


def test_holders_add_up_on_a_public_scale_as_one_fit_does() -> None:
    points = np.random.default_rng(0).lognormal(size=60)
    density = PrivateDensity(1, domain=(1e-3, 1e3), scale="log", cells=7)
    pool = density.pooled(60)
    parts = [pool.add_up(pool.read(part), None) for part in (points[:20], points[20:])]
    together = parts[0].merge(parts[1]) if hasattr(parts[0], "merge") else parts[0] + parts[1]
    assert together.with_noise([0] * 7) == density.prepare(points).total.with_noise([0] * 7)


def test_prepared_points_are_private() -> None:
    prepared = PrivateDensity(1, domain=ENDS).prepare(np.linspace(-1, 1, 3000))
    assert "private" in repr(prepared)
    with pytest.raises(DpfdaError, match="cannot be pickled"):
        prepared.total.__reduce__()


# Releases.


@pytest.fixture(scope="module")
def heavy() -> np.ndarray:
    return np.clip(stats.t(2).rvs(size=20_000, random_state=4), *ENDS)


def test_heavy_tails_are_seen_as_by_an_expert(heavy: np.ndarray) -> None:
    levels, law = np.array([0.1, 0.25, 0.5, 0.75, 0.9]), stats.t(2)
    at = np.linspace(-10, 10, 2001)
    errors = {}
    for scale in ("zoom", "linear"):
        prepared = PrivateDensity(0.2, domain=ENDS, scale=scale).prepare(heavy)
        made = [simulate_density(prepared, np.random.default_rng(i)) for i in range(8)]
        quantiles = np.sqrt(np.mean([(r.quantile(levels) - law.ppf(levels)) ** 2 for r in made]))
        errors[scale] = quantiles, np.mean([np.sum((r(at) - law.pdf(at)) ** 2) for r in made])
    # 0.2 n = 4000: measured .03 and .25 of a unit, and a hundredth of the squared error.
    assert errors["zoom"][0] < 0.08
    assert errors["zoom"][0] < errors["linear"][0] / 2
    assert errors["zoom"][1] < errors["linear"][1] / 10


def test_a_release_on_a_scale_is_a_density_of_the_axis(heavy: np.ndarray, tmp_path) -> None:
    prepared = PrivateDensity(1, domain=ENDS, unit="person").prepare(heavy)
    release = simulate_density(prepared, np.random.default_rng(8))
    assert release.scale is not None
    assert release.domain_range == (ENDS,)
    fine = release.scale.points((np.arange(200_000) + 0.5) / 200_000)
    widths = np.gradient(fine)
    assert np.sum(release(fine) * widths) == pytest.approx(1, abs=1e-4)
    levels = np.array([0.0, 0.01, 0.3, 0.5, 0.99, 1.0])
    np.testing.assert_allclose(release.cdf(release.quantile(levels)), levels, atol=1e-12)
    assert release.integral() == pytest.approx(1)
    assert release.integral(-1, 1) == pytest.approx(release.cdf(1.0) - release.cdf(-1.0))
    near = fine[np.abs(fine) < 3]
    # Where the units' shares of cells are kept, it is in proportion within each cell alone.
    numeric = np.gradient(replace(release, smooth=True).cdf(near), near)
    np.testing.assert_allclose(release(near)[5:-5], numeric[5:-5], rtol=0.01, atol=1e-3)
    knots, values = release.marginal()
    np.testing.assert_allclose(values, release(knots), atol=1e-12)
    drawn = release.sample(4000, 1)
    assert stats.kstest(drawn, release.cdf).pvalue > 1e-6
    band = release.band(0.95)
    assert band.lower.min() >= 0
    assert band.contains(release(band.points))
    assert release.band(exact=True).points.tolist() == band.points.tolist()
    release.save(tmp_path / "heavy.json")
    again = load(tmp_path / "heavy.json")
    assert np.array_equal(again(fine[::100]), release(fine[::100]))
    assert again.certificate == release.certificate
    told = " ".join(release.describe().split())
    assert "an interval where many persons lie was chosen with noise, its width, then its place" in told
    assert "equal on a scale chosen privately" in told
    with pytest.raises(ParameterError, match="smoothing must be 'adaptive' or 'monotone' on a scale"):
        release.smoothed(2.0)
    assert release.smoothed("monotone").integral() == pytest.approx(1)


def test_a_public_scale_costs_nothing() -> None:
    incomes = np.random.default_rng(5).lognormal(10, 1, size=300)
    release = PrivateDensity(1, domain=(100, 1e7), scale="log").fit(incomes).release_
    assert release.certificate.stages == ("release",)
    assert release.scale is not None
    assert "equal on a public scale" in release.describe()
    assert "an interval where" not in " ".join(release.describe().split())


def test_an_interval_in_the_middle_of_the_domain_leaves_the_axis_as_it_is() -> None:
    release = PrivateDensity(1, domain=(0, 1), scale="zoom").fit(np.linspace(0, 1, 3000)).release_
    assert release.scale is None
    assert release.raw.cells.domain_range == ((0, 1),)


def test_intervals_of_quantiles_hold(heavy: np.ndarray) -> None:
    levels = np.array([0.05, 0.25, 0.5, 0.9])
    points = np.round(heavy[:4000])
    true = np.quantile(points, levels, method="inverted_cdf")
    for scale in ("linear", "zoom"):
        prepared = PrivateDensity(1, domain=ENDS, scale=scale).prepare(points)
        held = 0
        for i in range(40):
            release = simulate_density(prepared, np.random.default_rng(i))
            lower, upper = release.quantile_interval(levels, 0.9)
            held += bool(np.all((lower <= true) & (true <= upper)))
        # Of 40 at .9 or more, 28 or fewer have a chance below 1e-4.
        assert held > 28
    lower, upper = release.quantile_interval(0.5)
    assert lower <= release.quantile(0.5) <= upper
    assert upper - lower < 1
    with pytest.raises(ParameterError, match="levels must be probabilities"):
        release.quantile_interval(1.5)
    kernel = PrivateDensity(1, domain=ENDS, mechanism="kernel").fit(points[:200]).release_
    with pytest.raises(ParameterError, match="quantile_interval must be asked of counts"):
        kernel.quantile_interval(0.5)


# Values that repeat.


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=8))
def test_levelled_values_are_probabilities_and_the_nearest(values: list[float]) -> None:
    given = np.array([*values, 1 - sum(values)])
    found = monotone_probabilities(given)
    assert np.all(found >= 0)
    assert found.sum() == pytest.approx(1)
    if np.all(given >= 0):
        np.testing.assert_allclose(found, given, atol=1e-12)


def test_levelled_values_by_hand() -> None:
    # The running sum .5, .4, .9, 1 falls once: its first two values become their mean.
    found = monotone_probabilities(np.array([0.5, -0.1, 0.5, 0.1]))
    np.testing.assert_allclose(found, [0.45, 0.0, 0.45, 0.1])


@pytest.mark.parametrize("scale", ["linear", "zoom"])
def test_values_that_repeat_keep_their_tail(scale: str) -> None:
    """Like visits to a doctor in a year: a third have none, the tail is long."""
    visits = np.floor(np.random.default_rng(6).lognormal(0.6, 1.3, size=20_000)).clip(0, 99)
    levels = [0.75, 0.9, 0.95, 0.99]
    prepared = PrivateDensity(2, domain=(0, 100), scale=scale).prepare(visits)
    release = simulate_density(prepared, np.random.default_rng(7))
    true = np.quantile(visits, levels)
    np.testing.assert_allclose(release.quantile(levels), true + 0.5, atol=0.6, rtol=0.1)
    band = release.band(0.9)
    assert band.lower.min() >= 0
    assert band.contains(release(band.points))


def test_fine_cells_are_the_candidates() -> None:
    zoom = Zoom((0.0, 1.0), 9, ONES, REPLACE)
    assert zoom.fine.size == FINE == 2 ** CANDIDATES[-1][0]
    for width, place in itertools.product((7, 18), (0, 5)):
        scale = zoom.scale(width, place)
        k, blocks = CANDIDATES[width]
        middle = (place + blocks / 2) * 2.0**-k
        # Even in the middle: cells there are about as wide as the interval's share of the scale.
        assert scale.slopes(middle) == pytest.approx(
            scale.slopes(np.linspace(0, 1, 999)).max(), rel=1e-2
        )
    assert CellGrid.regular(5, (0, 1)).along(scale).size == 5


@pytest.mark.parametrize("scale", ["linear", "zoom"])
@pytest.mark.parametrize(
    "ends", [(-1e100, 1e100), (-1e100, -1e99), (0.0, 1e-99), (-1e-90, 1e90), (1.0, 1 + 2.0**-23)]
)
def test_domains_of_any_size_work(ends: tuple[float, float], scale: str) -> None:
    middle = ends[0] / 2 + ends[1] / 2
    for points in (np.full(600, ends[0]), np.linspace(ends[0], middle, 600)):
        prepared = PrivateDensity(1, domain=ends, scale=scale).prepare(points)
        release = simulate_density(prepared, np.random.default_rng(1))
        found = release.quantile([0.0, 0.1, 0.5, 0.9, 1.0])
        assert np.all(np.diff(found) >= 0)
        assert ends[0] <= found[0] <= found[-1] <= ends[1]
        assert np.all(release(found) >= 0)
        assert release.integral() == pytest.approx(1)
        lower, upper = release.quantile_interval([0.1, 0.5])
        assert np.all(lower <= upper)


@pytest.mark.parametrize("scale", ["auto", "linear", "log", "zoom"])
@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((1e-300, 1e300), "domain must have ends of size at most 1e100"),
        ((0.0, 5e-324), "domain must have ends of size at most 1e100 and a length of at least"),
        ((1.0, float(np.nextafter(1.0, 2.0))), "domain must be longer than 2\\^-40 of its larger end"),
    ],
)
def test_domains_that_floats_cannot_part_are_refused(
    ends: tuple[float, float], scale: str, words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        PrivateDensity(1, domain=ends, scale=scale).fit(np.full(600, ends[0]))


def test_two_million_cells_are_refused() -> None:
    with pytest.raises(ParameterError, match="cells must be at most 1048576 in all"):
        PrivateDensity(1, domain=ENDS, scale="zoom", cells=2 * 10**6).fit(np.zeros(600))


@pytest.mark.parametrize("neighbours", [REPLACE, ADD])
def test_every_neighbour_at_the_ends_of_any_domain_keeps_the_distance(neighbours: Neighbours) -> None:
    """All replacements, or additions, among points at, beside and beyond ends and edges of cells."""
    for ends in ((-1e100, 1e100), (1.0, 1 + 2.0**-23)):
        zoom = Zoom(ends, 3, ONES, neighbours)
        edge = zoom.fine.edges[0][FINE // 2]
        pool = [*ends, edge, np.nextafter(edge, -np.inf), 2 * ends[1], -np.inf]
        base = [ends[0], edge, ends[1]]
        before = scores(zoom, base)
        for place, other in itertools.product(range(3), pool):
            after = list(base)
            after[place : place + (neighbours is REPLACE)] = [other]
            widths, places = scores(zoom, after)
            assert np.ptp(widths - before[0]) <= zoom.moved_apart[0]
            assert all(
                np.ptp(b - a) <= zoom.moved_apart[1] for a, b in zip(before[1], places, strict=True)
            )
