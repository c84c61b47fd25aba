"""Bands for the population: closed forms, which variance they use, and how often they hold."""

import numpy as np
import pytest
from scipy import stats

from dpfda import PrivateComparison, PrivateMean
from dpfda.bounds import L2Ball
from dpfda.errors import ParameterError
from dpfda.mean.variance_release import RELEASED
from dpfda.mean.variants import both_plans, squares_of
from dpfda.privacy.guarantees import PureDP, ZeroConcentratedDP, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records import Curves
from dpfda.releases.bands import BOUNDED, STATED, Band, each_part, for_population

T = np.linspace(0, 1, 30)
TRUTH = 1.25 * np.sin(2 * np.pi * T)


def people(rng: np.random.Generator, count: int, law: str) -> np.ndarray:
    """Curves around the truth: levels, slopes and errors of one law, of variance .7 at most."""
    shape = (count, 2 + T.size)
    drawn = {
        "gaussian": lambda: rng.standard_normal(shape),
        "skewed": lambda: rng.exponential(size=shape) - 1,
        "heavy-tailed": lambda: rng.standard_t(3, shape) / np.sqrt(3),
    }[law]()
    return TRUTH + 0.6 * drawn[:, :1] + 0.7 * drawn[:, 1:2] * (T - 0.5) + 0.3 * drawn[:, 2:]


def flat(half: float, places: int = 5, simultaneous: bool = True) -> tuple[Band, np.ndarray]:
    line = np.zeros(places)
    return Band(np.linspace(0, 1, places), line - half, line + half, 0.95, simultaneous), line


def test_noise_and_sampling_add_up_and_sampling_is_that_of_independent_points() -> None:
    band, line = flat(0.3)
    found = for_population(band, line, None, 4.0, 100, 7, 0.95)
    quantile = stats.norm.ppf((1 + 0.95 ** (1 / 14)) / 2)
    np.testing.assert_allclose(found.upper, 0.3 + quantile * 0.2)
    np.testing.assert_allclose(found.lower, -found.upper)
    assert found.covers == STATED
    assert found.level == 0.95
    single = for_population(*flat(0.0, simultaneous=False), None, 4.0, 100, 7, 0.95)
    np.testing.assert_allclose(single.upper, stats.norm.ppf((1 + 0.95**0.5) / 2) * 0.2, rtol=1e-6)


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_the_sum_holds_where_the_root_of_squares_does_not(noise: float) -> None:
    # Noise of a box and white sampling, each at the root of the level: of 20,000 draws a band that held
    # 94.5 in 100 would pass twice in 1,000. The root of squares, at .95 each, is what it was before.
    rng, draws, places = np.random.default_rng(int(10 * noise)), 20_000, 25
    lengths = rng.gamma(places + 1, size=(draws, 1)) * noise / places
    apart = lengths * rng.uniform(-1, 1, (draws, places)) + rng.normal(size=(draws, places))
    largest = np.abs(apart).max(axis=1)

    def half(level: float) -> tuple[float, float]:
        return (
            noise / places * stats.gamma.ppf(level, places),
            stats.norm.ppf((1 + level ** (1 / places)) / 2),
        )

    band, line = flat(half(each_part(0.95))[0], 1)
    wide = for_population(band, line, None, 1.0, 1.0, places, 0.95).upper[0]
    assert np.mean(largest <= wide) >= 0.95
    assert np.mean(largest <= np.hypot(*half(0.95))) < np.mean(largest <= wide)


def test_bounds_allow_the_variance_of_values_at_both_ends_and_no_more() -> None:
    limits = np.array(-1.0), np.array(3.0)
    band, line = flat(0.5)
    found = for_population(band, line, limits, None, 400, 1, 0.95)
    # The mean may be as near to the middle, 1, as 0.5; values are at -1 and 3 then.
    share = 1.5 / 4
    spread = 16 * share * (1 - share)
    quantile = stats.norm.ppf((1 + 0.95**0.5) / 2)
    np.testing.assert_allclose(found.upper, 0.5 + quantile * np.sqrt(spread / 400), rtol=1e-6)
    assert found.covers == BOUNDED
    # A variance that is stated counts for no more than bounds allow.
    assert np.array_equal(for_population(band, line, limits, 1e9, 400, 1, 0.95).upper, found.upper)


@pytest.mark.parametrize("law", ["gaussian", "skewed", "heavy-tailed"])
def test_it_holds_the_populations_mean(law: str) -> None:
    rng = np.random.default_rng(5)
    target = np.clip(people(rng, 100_000, law), -4, 4).mean(axis=0)
    held, widths = [], []
    for _ in range(8):
        release = PrivateMean(20, bounds=(-4, 4)).fit(people(rng, 150, law)).release_
        bands = [
            release.band(points=T),
            release.band(points=T, of="population", variance=lambda t: 0.45 + 0.49 * (t - 0.5) ** 2),
            release.band(points=T, of="population"),
        ]
        held.append([band.contains(target) for band in bands])
        widths.append([float((band.upper - band.lower).mean()) for band in bands])
    # Two misses of eight have a probability of 6 per cent where 95 of 100 hold.
    assert np.sum(held, axis=0)[1] >= 7
    assert np.sum(held, axis=0)[2] == 8
    noise, known, free = np.mean(widths, axis=0)
    assert noise < known < free


def test_the_unit_is_who_is_sampled() -> None:
    rng = np.random.default_rng(1)
    curves = people(rng, 400, "gaussian")
    each = PrivateMean(1e4, bounds=(-4, 4)).fit(curves).release_
    four = PrivateMean(1e4, bounds=(-4, 4)).fit(curves, groups=np.arange(400) // 4).release_
    wide = [r.band(of="population", points=T, variance=0.5) for r in (each, four)]
    ratio = (wide[1].upper - wide[1].lower) / (wide[0].upper - wide[0].lower)
    assert np.median(ratio) == pytest.approx(2, rel=0.1)


def test_what_cannot_be_known_is_refused() -> None:
    curves = people(np.random.default_rng(2), 60, "gaussian")
    bounded = PrivateMean(1, bounds=(-4, 4)).fit(curves).release_
    ball = PrivateMean(1, bounds=L2Ball(3.0), mechanism="laplace").fit(curves).release_
    with pytest.raises(ParameterError, match="variance must be stated where values have no public"):
        ball.band(of="population")
    assert ball.band(of="population", variance=0.5).covers == STATED
    with pytest.raises(ParameterError, match="variance must be a number from 0"):
        bounded.band(of="population", variance=-1)
    with pytest.raises(ParameterError, match="variance must be for of='population'"):
        bounded.band(variance=1.0)
    with pytest.raises(
        ParameterError,
        match="of must be 'sample' or 'noise' for this released function; found 'population'",
    ):
        bounded.derivative().band(of="population")


def test_tables_have_it() -> None:
    release = PrivateMean(1, bounds=(-4, 4)).fit(people(np.random.default_rng(3), 80, "skewed")).release_
    usual, wide = release.table(), release.table(of="population")
    assert np.all(wide.columns["upper"] >= usual.columns["upper"])


# A share of the budget for the variance.


def test_both_stages_cost_what_was_asked_for_together() -> None:
    curves = people(np.random.default_rng(4), 300, "gaussian")
    ledger = MemoryLedger().create("visits", PureDP(2), unit="record")
    mean = PrivateMean(1, bounds=(-4, 4), variance=0.25, ledger=ledger.of("visits"))
    release = mean.fit(curves).release_
    assert release.guarantee == PureDP(1)
    assert within(release.certificate.achieved, PureDP(1))
    assert not within(release.certificate.achieved, PureDP("0.99"))
    costs = dict(zip(release.certificate.stages, release.certificate.costs, strict=True))
    assert costs["variance"].guarantee == PureDP("1/4")
    assert costs["mean"].guarantee == PureDP("3/4")
    assert within(release.squares.certificate.achieved, PureDP("1/4"))
    assert len(ledger.releases("visits")) == 1
    # The noise is that of a mean with three quarters: box noise of the bounds' width, for 30 places.
    alone = PrivateMean(0.75, bounds=(-4, 4), mechanism="one-look").fit(curves).release_
    assert release.noise == alone.noise
    concentrated = PrivateMean(rho=0.5, bounds=(-4, 4), variance=0.25).fit(curves).release_
    assert concentrated.guarantee == ZeroConcentratedDP("1/2")


def test_squares_lie_between_zero_and_one_and_are_of_one_record() -> None:
    plan = PrivateMean(1, bounds=(-2, 6)).plan(3, 4)
    values = np.array([[-9.0, -2.0, 2.0, 4.0], [6.0, 8.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0]])
    made = squares_of(Curves(values, np.array([True, True, False])), plan)
    expected = [[1, 1, 0, 0.25], [1, 1, 0.25, 0.0625], [0, 0, 0, 0]]
    np.testing.assert_array_equal(made.values, expected)
    # What cannot be used counts as the middle of the bounds in the mean: its square is nothing.
    assert made.usable.all()
    assert both_plans(plan, 0.5)[1].bound.to_json()["upper"] == 1.0


def test_the_variance_is_that_of_the_records() -> None:
    rng = np.random.default_rng(6)
    curves = TRUTH + 0.6 * (1 + T) * rng.standard_normal((3000, 1))
    release = PrivateMean(1000, bounds=(-4, 4), variance=0.3).fit(curves).release_
    at = np.linspace(0.1, 0.9, 9)
    np.testing.assert_allclose(release.variance(at), np.interp(at, T, curves.var(axis=0)), atol=0.08)
    assert np.all(release.variance(at, 0.95) >= release.variance(at))
    band = release.band(of="population", points=at)
    assert band.covers == RELEASED
    free = PrivateMean(700, bounds=(-4, 4)).fit(curves).release_.band(of="population", points=at)
    assert np.all(band.upper - band.lower < 0.7 * (free.upper - free.lower))


def test_it_holds_with_a_variance_that_was_paid_for() -> None:
    rng = np.random.default_rng(9)
    target = np.clip(people(rng, 100_000, "skewed"), -4, 4).mean(axis=0)
    mean = PrivateMean(20, bounds=(-4, 4), variance=0.2)
    bands = [
        mean.fit(people(rng, 150, "skewed")).release_.band(points=T, of="population") for _ in range(8)
    ]
    assert sum(band.contains(target) for band in bands) >= 7


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"variance": 0.9}, "variance must be None, or a share of the budget above 0 and at most 0.5"),
        ({"variance": 0}, "variance must be None, or a share"),
        (
            {"variance": 0.1, "bounds": L2Ball(3.0)},
            "variance must be None but for curves between bounds",
        ),
        ({"variance": 0.1, "missing": "pooled"}, "variance must be None but for curves between bounds"),
        ({"variance": 0.1, "neighbours": "add-remove"}, "public_size must be given with a private var"),
    ],
)
def test_a_share_that_buys_nothing_is_refused(given, words) -> None:
    with pytest.raises(ParameterError, match=words):
        PrivateMean(**{"epsilon": 1, "bounds": (-4, 4), **given}).fit(np.zeros((20, 6)))
    with pytest.raises(ParameterError, match="variance must be None for one sum"):
        PrivateMean(1, bounds=(-4, 4), variance=0.1).partial_fit(np.zeros((20, 6)))


def test_a_difference_has_a_band_for_the_populations_made_of_both_groups() -> None:
    """Two groups of one population: at .95, fewer than 15 of 20 held has a chance below 1e-3."""
    generator, grid, held = np.random.default_rng(), np.linspace(0, 1, 20), 0
    names = np.repeat(["a", "b"], 300)
    for _ in range(20):
        curves = 0.5 + generator.normal(0, 0.1, (600, 1)) + 0 * grid
        made = PrivateComparison(20, bounds=(0, 1)).fit(curves, names).release_
        gap = made.difference("a", "b")
        band = gap.band(of="population", variance=0.01)
        held += band.contains(np.zeros(band.points.size))
    assert held >= 15
    alone = [made[name].band(0.975, of="population", variance=0.01) for name in "ab"]
    assert np.allclose(band.upper, alone[0].upper - alone[1].lower)
    assert np.all(gap.band(of="population").upper >= band.upper)
    assert band.covers == STATED
    with pytest.raises(ParameterError, match="variance must be for of='population'"):
        gap.band(variance=0.01)
