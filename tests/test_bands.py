"""Bands: measured coverage of what the noise hides, and a wrong law that fails the same test."""

import functools
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.gaussian_process.kernels import Matern

from dpfda import PrivateMean
from dpfda.bases import CosineBasis
from dpfda.bounds import L1Ball
from dpfda.errors import ParameterError
from dpfda.mechanisms.laplace import Laplace
from dpfda.noise import EllipticalNoise
from dpfda.publication import publish
from dpfda.releases.bands import DRAWS, Band
from dpfda.releases.counts import NoisyCount
from dpfda.releases.expansion import noise_draws
from dpfda.releases.function import ReleasedFunction
from dpfda.testing import exact_totals
from released_lines import uncut
from statistical import drawn

GRID = np.linspace(0.0, 1.0, 16)
CURVES = np.cos(4 * GRID) + np.random.default_rng(1).normal(0, 0.4, (300, 1))
LEVELS = [0.5, 0.9, 0.95]
# Levels between the two that differ most are further cases.
CASES = [0.5, pytest.param(0.9, marks=pytest.mark.thorough), 0.95]
# Noise wrong by sqrt(2) is taken for right by one of the tests of coverage with less than 1e-6.
RELEASES = 2500
# Chance that one coverage test fails although the law is right, two-sided.
ERROR_RATE = 1e-6

MECHANISMS: dict[str, dict[str, Any]] = {
    "knorm": {"mechanism": "knorm"},
    "laplace": {"mechanism": "laplace"},
    "iid laplace": {"mechanism": Laplace(components=6, matched=False, shrink=False)},
    "iclp": {"mechanism": "iclp", "bounds": L1Ball(2.0)},
    "gaussian": {"mechanism": "gaussian", "delta": 1e-6},
    "gaussian-process": {"mechanism": "gaussian-process", "delta": 1e-6},
    "student-t": {"mechanism": "student-t"},
    "bernstein": {"mechanism": "bernstein", "basis": None},
    "cosine": {"basis": CosineBasis.on_grid(8, GRID), "bounds": L1Ball(2.0)},
}


class Study:
    """Exact releases of one mean by one mechanism, and the curve that their noise hides."""

    def __init__(self, name: str) -> None:
        made = {
            "epsilon": 1.0,
            "bounds": (-2.0, 2.0),
            "grid_points": GRID,
            "basis": Matern(0.2, nu=1.5),
        }
        estimator = PrivateMean(**(made | MECHANISMS[name]))
        self.prepared = estimator.prepare(CURVES)
        # The band is about what was measured, before a prior comes in.
        self.release: ReleasedFunction = publish(self.prepared.total, self.prepared.plan).unshrunk
        kept = len(self.release.noisy_sum)
        self.exact = exact_totals(self.prepared.total)[:kept]
        # Further releases differ in the noisy integers alone: exact noise is drawn for each.
        noise = np.array(drawn(self.release.noise, RELEASES), dtype=float)
        unit = 2.0**-self.release.exponent
        self.errors = noise * (self.release.shrinkage * unit / self.release.count)
        self.points = np.union1d(np.linspace(0, 1, 201), GRID)
        self.functions = self.release.basis.evaluate(self.points)

    def hidden(self) -> np.ndarray:
        """Mean of the clipped records with the same shrinkage."""
        return uncut(replace(self.release, noisy_sum=tuple(self.exact)), self.points)


@functools.cache
def study(name: str) -> Study:
    return Study(name)


@functools.cache
def band_of(name: str, level: float, simultaneous: bool = True) -> Band:
    """A band at the default points; it is the same whenever it is asked for."""
    return study(name).release.band(level, simultaneous, exact=True)


def is_plausible(covered: int, of: int, level: float, quantile_draws: int = DRAWS) -> bool:
    """Whether a count is within the binomial interval around the level, at the stated error rate.

    The quantile itself comes from `quantile_draws` simulated errors, so the level is known up to
    its standard error, which widens the interval.
    """
    slack = norm.isf(ERROR_RATE / 4) * math.sqrt(level * (1 - level) / quantile_draws)
    low = binom.ppf(ERROR_RATE / 4, of, max(level - slack, 0.0))
    high = binom.isf(ERROR_RATE / 4, of, min(level + slack, 1.0))
    return bool(low <= covered <= high)


def covered(band: Band, study: Study, scale: float = 1.0) -> tuple[int, np.ndarray]:
    """How many of the releases' bands hold the hidden curve everywhere, and at each point."""
    half = (band.upper - band.lower) / 2
    inside = np.abs(scale * study.errors @ study.functions.T) <= half
    return int(inside.all(axis=1).sum()), inside.sum(axis=0)


class TestCoverage:
    @pytest.mark.parametrize("name", MECHANISMS)
    def test_the_shortcut_is_the_release(self, name: str, few_draws: None) -> None:
        # Coverage is counted from errors and one half width; here with whole releases and bands.
        s = study(name)
        hidden, first = s.hidden(), s.release.band(0.9, exact=True)
        noise = s.errors * (s.release.count * 2.0**s.release.exponent) / s.release.shrinkage
        for draw in noise[:3]:
            noisy = tuple(a + round(b) for a, b in zip(s.exact, draw, strict=True))
            again = replace(s.release, noisy_sum=noisy)
            band = again.band(0.9, exact=True)
            error = uncut(again, s.points) - hidden
            assert np.array_equal(band.points, s.points)
            half = (band.upper - band.lower) / 2
            assert band.contains(hidden) == bool(np.all(np.abs(error) <= half))
            np.testing.assert_allclose(half, (first.upper - first.lower) / 2, rtol=1e-9)
            np.testing.assert_allclose(
                error,
                s.functions @ (draw * s.release.shrinkage / 2.0**s.release.exponent / s.release.count),
                rtol=0,
                atol=1e-9,
            )

    @pytest.mark.parametrize("level", CASES)
    @pytest.mark.parametrize("name", MECHANISMS)
    def test_simultaneous_band_covers_at_its_level(self, name: str, level: float) -> None:
        whole, _ = covered(band_of(name, level), study(name))
        assert is_plausible(whole, RELEASES, level), f"{whole / RELEASES:.4f} for {level}"

    @pytest.mark.parametrize("level", CASES)
    @pytest.mark.parametrize("name", MECHANISMS)
    def test_pointwise_band_covers_at_its_level_at_each_point(self, name: str, level: float) -> None:
        _, counts = covered(band_of(name, level, False), study(name))
        for place in (0, 37, 100, 163, -1):
            assert is_plausible(int(counts[place]), RELEASES, level), counts[place] / RELEASES

    @pytest.mark.parametrize("scale", [math.sqrt(2), 1 / math.sqrt(2)])
    @pytest.mark.parametrize("level", CASES)
    @pytest.mark.parametrize("name", MECHANISMS)
    def test_a_law_of_the_wrong_scale_fails_the_same_test(
        self, name: str, level: float, scale: float
    ) -> None:
        for simultaneous in (True, False):
            band = band_of(name, level, simultaneous)
            whole, counts = covered(band, study(name), scale)
            found = whole if simultaneous else int(counts[100])
            assert not is_plausible(found, RELEASES, level)

    @pytest.mark.parametrize("name", MECHANISMS)
    def test_a_band_from_the_wrong_law_fails_too(self, name: str) -> None:
        law: Any = study(name).release.noise
        cut = {"scales": tuple(math.ceil(scale / math.sqrt(2)) for scale in getattr(law, "scales", ()))}
        if isinstance(law, EllipticalNoise):
            cut = {"scale": math.ceil(law.scale / math.sqrt(2))}
        wrong = replace(study(name).release, noise=replace(law, **cut))
        whole, _ = covered(wrong.band(0.9, exact=True), study(name))
        assert not is_plausible(whole, RELEASES, 0.9)

    def test_a_gaussian_band_has_its_closed_form(self) -> None:
        release = study("gaussian").release
        at = np.array([0.2, 0.7])
        scale = release.shrinkage * 2.0**-release.exponent / release.count
        variances = release.noise.variances() * scale**2
        deviation = np.sqrt(release.basis.evaluate(at) ** 2 @ variances)
        for level in LEVELS:
            band = release.band(level, simultaneous=False, points=at, exact=True)
            quantile = norm.isf((1 - level) / 2)
            # Standard error of an empirical quantile: sqrt(p(1-p)/n) over the density of |N|.
            error = math.sqrt(level * (1 - level) / DRAWS) / (2 * norm.pdf(quantile)) / quantile
            np.testing.assert_allclose(
                (band.upper - band.lower) / 2, quantile * deviation, rtol=5 * error
            )

    def test_derivatives_are_covered(self) -> None:
        s = study("knorm")
        slope = s.release.derivative()
        band = slope.band(0.9, exact=True)
        errors = s.errors @ s.release.basis.evaluate(band.points, 1).T
        whole = int(np.all(np.abs(errors) <= (band.upper - band.lower) / 2, axis=1).sum())
        assert is_plausible(whole, RELEASES, 0.9)


class TestNoisyCount:
    """A count with noise of its own; the band is then approximate, on the wide side."""

    def releases(self, units: int, epsilon: float) -> Iterator[tuple[ReleasedFunction, np.ndarray]]:
        curves = np.cos(4 * GRID) + np.random.default_rng(2).normal(0, 0.4, (units, 1))
        kept = {"bounds": (-2, 2), "grid_points": GRID, "neighbours": "add-remove"}
        prepared = PrivateMean(epsilon, mechanism="knorm", **kept).prepare(curves)
        exact = np.array(exact_totals(prepared.total), dtype=float)
        while True:
            release = publish(prepared.total, prepared.plan)
            sums = exact[: len(release.noisy_sum)] / 2.0**release.exponent
            yield release, release.shrinkage * sums / units

    # Few units, whose count is least known, and many, of which the level is exact.
    @pytest.mark.parametrize(
        ("units", "epsilon"),
        [(40, 1.0), pytest.param(300, 1.0, marks=pytest.mark.thorough), (2000, 1.0)],
    )
    def test_coverage_is_not_below_the_level(
        self, units: int, epsilon: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("dpfda.releases.bands.DRAWS", 2000)
        inside = 0
        for release, coefficients in islice(self.releases(units, epsilon), 200):
            hidden = release.center + release.basis.evaluate(GRID) @ coefficients
            inside += release.band(0.9, points=GRID, exact=True).contains(hidden)
        assert inside >= binom.ppf(ERROR_RATE, 200, 0.9)
        if units == 2000:
            assert is_plausible(inside, 200, 0.9, 2000)

    def test_simulated_errors_have_the_size_of_true_ones(self) -> None:
        release, coefficients = next(self.releases(2000, 1.0))
        assert isinstance(release.divisor, NoisyCount)
        random = np.random.default_rng(4)
        scale = release.shrinkage * 2.0**-release.exponent
        sums = coefficients * 2000 + scale * release.noise.simulate(random, 40_000)
        counts = 2000 + release.divisor.noise.simulate(random, 40_000) / release.divisor.scale
        true = np.sqrt(np.mean((sums / counts - coefficients) ** 2, axis=0))
        found = np.sqrt(np.mean(noise_draws(release, random, 40_000) ** 2, axis=0))
        # The released values stand in for the unknown ones: off by their own relative error.
        np.testing.assert_allclose(found, true, rtol=0.1)


class TestShape:
    @pytest.mark.parametrize("name", MECHANISMS)
    def test_pointwise_is_narrower(self, name: str) -> None:
        for level in LEVELS:
            wide = band_of(name, level)
            narrow = band_of(name, level, False)
            assert (narrow.lower > wide.lower).all()
            assert (narrow.upper < wide.upper).all()
            assert wide.simultaneous
            assert not narrow.simultaneous

    def test_higher_levels_are_wider(self) -> None:
        for simultaneous in (True, False):
            bands = [band_of("knorm", level, simultaneous) for level in LEVELS]
            for inner, outer in pairwise(bands):
                assert (inner.upper < outer.upper).all()
                assert (inner.lower > outer.lower).all()

    def test_it_is_centred_and_always_the_same(self) -> None:
        release = study("knorm").release
        first, second = (release.band(0.9, exact=True) for _ in range(2))
        assert first.lower.tobytes() == second.lower.tobytes()
        np.testing.assert_allclose(
            (first.lower + first.upper) / 2, uncut(release, first.points), atol=1e-12
        )
        assert first.level == 0.9

    def test_fewer_points_make_a_narrower_simultaneous_band(self) -> None:
        release = study("laplace").release
        few = release.band(0.9, points=[0.1, 0.9], exact=True)
        many = release.band(0.9, points=np.union1d(np.linspace(0, 1, 101), [0.1, 0.9]), exact=True)
        at = np.searchsorted(many.points, [0.1, 0.9])
        assert (few.upper < many.upper[at]).all()
        one = release.band(0.9, points=0.4, exact=True)
        alone = release.band(0.9, simultaneous=False, points=0.4, exact=True)
        np.testing.assert_allclose(one.upper, alone.upper, rtol=1e-12)

    def test_contains(self) -> None:
        band = Band(np.arange(3.0), np.zeros(3), np.ones(3), 0.9, True)
        assert band.contains(np.array([0.0, 0.5, 1.0]))
        assert not band.contains(np.array([0.0, 0.5, 1.1]))
        assert not band.contains(np.array([-0.1, 0.5, 0.5]))

    def test_a_band_is_shown_in_a_line(self) -> None:
        band = Band(np.arange(500.0), np.full(500, -2.5), np.linspace(1, 7.25, 500), 0.9, False)
        assert repr(band) == "Band(0.9, at each point: lower and upper at 500 points, from -2.5 to 7.25)"

    @pytest.mark.parametrize("level", [0, 1, -0.1, 95, math.nan])
    def test_levels_are_probabilities(self, level: float) -> None:
        with pytest.raises(ParameterError, match="level must lie strictly between 0 and 1; found"):
            study("knorm").release.band(level)

    def test_points_must_lie_in_the_domain(self) -> None:
        with pytest.raises(ParameterError, match="points must lie in the domain"):
            study("knorm").release.band(0.9, points=[0.5, 1.5])
