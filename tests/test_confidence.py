"""Bands for the population: closed forms, which variance they use, and how often they hold."""

import numpy as np
import pytest
from scipy import stats

from dpfda import PrivateMean
from dpfda.bounds import L2Ball
from dpfda.errors import ParameterError
from dpfda.releases.bands import Band
from dpfda.releases.confidence import BOUNDED, STATED, for_population

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


def test_noise_and_sampling_add_as_squares_and_sampling_is_that_of_independent_points() -> None:
    band, line = flat(0.3)
    found = for_population(band, line, None, 4.0, 100, 7)
    quantile = stats.norm.ppf((1 + 0.95 ** (1 / 7)) / 2)
    np.testing.assert_allclose(found.upper, np.hypot(0.3, quantile * 0.2))
    np.testing.assert_allclose(found.lower, -found.upper)
    assert found.covers == STATED
    single = for_population(*flat(0.0, simultaneous=False), None, 4.0, 100, 7)
    np.testing.assert_allclose(single.upper, 1.959964 * 0.2, rtol=1e-6)
    # Independent points are the case in which it holds as often as it says and no more.
    rng = np.random.default_rng(0)
    held = np.abs(rng.normal(size=(40_000, 7))).max(axis=1) <= quantile
    assert held.mean() == pytest.approx(0.95, abs=0.005)


def test_bounds_allow_the_variance_of_values_at_both_ends_and_no_more() -> None:
    limits = np.array(-1.0), np.array(3.0)
    band, line = flat(0.5)
    found = for_population(band, line, limits, None, 400, 1)
    # The mean may be as near to the middle, 1, as 0.5; values are at -1 and 3 then.
    share = 1.5 / 4
    spread = 16 * share * (1 - share)
    np.testing.assert_allclose(found.upper, np.hypot(0.5, 1.959964 * np.sqrt(spread / 400)), rtol=1e-6)
    assert found.covers == BOUNDED
    # A variance that is stated counts for no more than bounds allow.
    assert np.array_equal(for_population(band, line, limits, 1e9, 400, 1).upper, found.upper)


@pytest.mark.parametrize("law", ["gaussian", "skewed", "heavy-tailed"])
def test_it_holds_the_populations_mean(law: str) -> None:
    rng = np.random.default_rng(5)
    target = np.clip(people(rng, 100_000, law), -4, 4).mean(axis=0)
    held, widths = [], []
    for _ in range(8):
        release = PrivateMean(20, bounds=(-4, 4)).fit(people(rng, 150, law)).release_
        bands = [
            release.band(points=T),
            release.band(points=T, kind="confidence", variance=lambda t: 0.45 + 0.49 * (t - 0.5) ** 2),
            release.band(points=T, kind="confidence"),
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
    wide = [r.band(kind="confidence", points=T, variance=0.5) for r in (each, four)]
    ratio = (wide[1].upper - wide[1].lower) / (wide[0].upper - wide[0].lower)
    assert np.median(ratio) == pytest.approx(2, rel=0.1)


def test_what_cannot_be_known_is_refused() -> None:
    curves = people(np.random.default_rng(2), 60, "gaussian")
    bounded = PrivateMean(1, bounds=(-4, 4)).fit(curves).release_
    ball = PrivateMean(1, bounds=L2Ball(3.0), mechanism="laplace").fit(curves).release_
    with pytest.raises(ParameterError, match="variance must be stated where values have no public"):
        ball.band(kind="confidence")
    assert ball.band(kind="confidence", variance=0.5).covers == STATED
    with pytest.raises(ParameterError, match="variance must be a number from 0"):
        bounded.band(kind="confidence", variance=-1)
    with pytest.raises(ParameterError, match="variance must be for kind='confidence'"):
        bounded.band(variance=1.0)
    with pytest.raises(ParameterError, match="kind must be another for a derivative"):
        bounded.derivative().band(kind="confidence")


def test_tables_have_it() -> None:
    release = PrivateMean(1, bounds=(-4, 4)).fit(people(np.random.default_rng(3), 80, "skewed")).release_
    usual, wide = release.table(), release.table(kind="confidence")
    assert np.all(wide.columns["upper"] >= usual.columns["upper"])
