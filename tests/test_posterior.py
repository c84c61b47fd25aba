"""Posterior means and bands: against quadrature, against each other, and calibrated on their prior."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, gamma

from dpfda import Domain, PrivateMean, Reading, load
from dpfda.bases.priors import SCALES, Hierarchy, Prior, public_shapes
from dpfda.bounds import L2Ball
from dpfda.errors import ParameterError
from dpfda.estimates import Posterior
from dpfda.noise import (
    BoxNoise,
    EllipsoidNoise,
    EllipticalNoise,
    GaussianNoise,
    KNormNoise,
    VectorLaw,
)

GRID = np.linspace(0.0, 2.0, 25)
CURVES = np.sin(3 * GRID) + np.random.default_rng(8).normal(0, 0.3, (80, 1))
LAWS: dict[str, Any] = {
    "block": KNormNoise((7,), (3,)),
    "laplace": KNormNoise((1,) * 4, (1, 2, 3, 4)),
    "blocks": KNormNoise((2, 6), (5, 2)),
    "gaussian": GaussianNoise((2, 3, 4)),
    "ellipsoid": EllipsoidNoise((2, 9, 4)),
    "box": BoxNoise((2, 9, 4, 3)),
    "t": EllipticalNoise(5, 2, "student-t", 9),
    "multivariate laplace": EllipticalNoise(5, 2, "laplace", 0),
}


def posterior(size: int = 8, scale: float = 0.02) -> Posterior:
    hierarchy = Hierarchy(Prior.of(public_shapes(30), SCALES).truncate(size))
    return Posterior(hierarchy, KNormNoise((size,), (1,)).mixture().scaled(scale))


class TestMixture:
    @pytest.mark.parametrize("name", LAWS)
    def test_it_has_the_variances_of_the_law(self, name: str) -> None:
        law, made = LAWS[name], LAWS[name].mixture()
        means = np.empty(law.components)
        for block in made.blocks:
            chances = np.exp(block.logs)
            assert chances.sum() == pytest.approx(1.0, abs=1e-6)
            means[block.start : block.stop] = chances @ block.factors
        # A t law with few degrees has so heavy a tail that the nodes miss a little of its variance.
        tolerance = 1e-3 if name == "t" else 1e-4
        np.testing.assert_allclose(means * made.deviations**2, law.variances(), rtol=tolerance)

    @pytest.mark.parametrize("size", [1, 2, 5, 9])
    def test_a_block_has_its_density(self, size: int) -> None:
        # exp(-r / c) against the sum over nodes of normal densities, both over their value at r = M c.
        made = KNormNoise((size,), (3,)).mixture()
        factors, logs = made.blocks[0].factors, made.blocks[0].logs

        def density(length: float) -> float:
            parts = logs - size / 2 * np.log(factors) - length**2 / 2 / factors
            return float(np.sum(np.exp(parts)))

        for ratio in (0.5, 1.5, 2.5):
            expected = math.exp(size * (1 - ratio))
            assert density(size * ratio) / density(size) == pytest.approx(expected, rel=1e-4)

    def test_the_length_of_a_box_is_kept(self) -> None:
        made = BoxNoise((2, 9, 4, 3)).mixture()
        square = float(np.exp(made.blocks[0].logs) @ made.blocks[0].factors) * 3
        assert square == pytest.approx(gamma(5).moment(2), rel=1e-6)

    def test_a_law_that_is_not_known_has_none(self) -> None:
        assert VectorLaw().mixture() is None


class TestMeans:
    @pytest.mark.parametrize("seen", [0.0, 0.7, -3.0, 11.0])
    def test_laplace_noise_against_quadrature(self, seen: float) -> None:
        p, b = 2.0, 3.0
        law = Posterior(Hierarchy(Prior.of([[p]])), KNormNoise((1,), (3,)).mixture())
        ends, points = 16.0, [seen]

        def weight(c: float) -> float:
            return math.exp(-(c**2) / 2 / p - abs(seen - c) / b)

        whole = quad(weight, -ends, ends, points=points, epsabs=1e-13)[0]
        first = quad(lambda c: c * weight(c), -ends, ends, points=points, epsabs=1e-13)[0]
        assert law.means(np.array([[seen]]))[0, 0] == pytest.approx(first / whole, abs=1e-5)

    def test_two_scales_against_quadrature(self) -> None:
        # A block of two coefficients, whose density is exp(-|z|), by sums over a fine lattice.
        prior = Prior([[1.0, 0.2], [0.3, 0.3]], [1.0, 9.0], [[0.1, 0.4], [0.3, 0.2]])
        law = Posterior(Hierarchy(prior), KNormNoise((2,), (1,)).mixture())
        seen = np.array([1.5, -2.0])
        axis = np.arange(-14, 14, 0.02) + 0.003
        first, second = np.meshgrid(axis, axis, indexing="ij")
        density = np.zeros_like(first)
        for chance, (p, q) in zip(prior.chances, prior.variances, strict=True):
            density += chance * np.exp(-(first**2) / 2 / p - second**2 / 2 / q) / math.sqrt(p * q)
        density *= np.exp(-np.hypot(seen[0] - first, seen[1] - second))
        expected = [np.sum(first * density), np.sum(second * density)] / density.sum()
        np.testing.assert_allclose(law.means(seen[None, :])[0], expected, rtol=2e-4)

    def test_gaussian_noise_and_one_shape_is_wiener(self) -> None:
        shape, noise = np.array([3.0, 1.0, 0.1]), GaussianNoise((1, 2, 3))
        law = Posterior(Hierarchy(Prior.of([shape])), noise.mixture())
        seen = np.random.default_rng(1).normal(size=(50, 3))
        factors = shape / (shape + noise.variances())
        np.testing.assert_allclose(law.means(seen), seen * factors, rtol=1e-12)

    def test_forms_of_the_identity_change_nothing(self) -> None:
        plain = posterior()
        forms = Posterior(Hierarchy(plain.hierarchy.prior, np.eye(8)), plain.noise)
        seen = np.random.default_rng(2).normal(0, 0.3, (40, 8))
        np.testing.assert_allclose(forms.means(seen), plain.means(seen), atol=1e-10)

    def test_forms_against_the_normal_equations(self) -> None:
        random = np.random.default_rng(3)
        forms, shape = random.normal(size=(4, 6)), random.uniform(0.1, 2, 6)
        noise = GaussianNoise((1, 2, 3, 4))
        law = Posterior(Hierarchy(Prior.of([shape]), forms), noise.mixture())
        seen = random.normal(size=(5, 4))
        precision = np.diag(1 / shape) + forms.T @ np.diag(1 / noise.variances()) @ forms
        expected = np.linalg.solve(precision, forms.T @ np.diag(1 / noise.variances()) @ seen.T).T
        np.testing.assert_allclose(law.means(seen), expected, rtol=1e-9)

    def test_it_is_the_same_in_parts_and_again(self) -> None:
        law, seen = posterior(), np.random.default_rng(4).normal(0, 0.3, (3, 8))
        whole = law.means(seen)
        np.testing.assert_allclose(whole, [law.means(row[None, :])[0] for row in seen], rtol=1e-9)
        np.testing.assert_array_equal(whole, posterior().means(seen))

    @pytest.mark.parametrize("size", [1e-200, 1e-12, 1.0, 1e9, 1e60])
    def test_nothing_overflows(self, size: float) -> None:
        made = posterior().means(np.full((1, 8), size))
        assert np.isfinite(made).all()
        assert (np.abs(made) <= size * (1 + 1e-9)).all()

    def test_sizes_must_fit(self) -> None:
        with pytest.raises(ParameterError, match="noise must have 8 coordinates; found 3"):
            Posterior(posterior().hierarchy, GaussianNoise((1, 1, 1)).mixture())
        with pytest.raises(ParameterError, match="one block where forms are measured"):
            Posterior(Hierarchy(Prior.of([[1.0, 1.0]]), np.eye(2)), KNormNoise((1, 1), (1, 1)).mixture())

    def test_it_beats_linear_shrinkage_on_small_means(self) -> None:
        # Means a tenth as large as declared: factors for the declared size let the noise through.
        law, random = posterior(), np.random.default_rng(5)
        shape = public_shapes(30)[4][:8]
        means = random.standard_normal((400, 8)) * np.sqrt(shape / 100)
        noise = KNormNoise((8,), (1,))
        seen = means + noise.simulate(random, 400) * 0.02
        linear = seen * shape / (shape + noise.variances() * 0.02**2)
        errors = [np.mean(np.sum((made - means) ** 2, axis=1)) for made in (law.means(seen), linear)]
        assert errors[0] < 0.75 * errors[1]


class TestDraws:
    def test_their_mean_is_the_posterior_mean(self) -> None:
        law, random = posterior(), np.random.default_rng(6)
        seen = random.normal(0, 0.2, 8)
        drawn = law.draws(seen, random, 40_000)
        slack = 4 * drawn.std(axis=0) / 200
        assert (np.abs(drawn.mean(axis=0) - law.means(seen[None, :])[0]) < slack).all()

    def test_credible_regions_hold_what_they_say_on_the_prior(self) -> None:
        # Over means from the prior and releases of them, the truth's rank among draws is uniform.
        law, random, cases = posterior(), np.random.default_rng(7), 300
        prior = law.hierarchy.prior
        rows = random.choice(prior.chances.size, size=cases, p=prior.chances)
        means = random.standard_normal((cases, 8)) * np.sqrt(prior.variances[rows])
        seen = means + KNormNoise((8,), (1,)).simulate(random, cases) * 0.02
        inside = dict.fromkeys((0.5, 0.9), 0)
        direction = np.array([1.0, -1, 1, 1, -1, 1, 1, 1])
        for truth, release in zip(means, seen, strict=True):
            drawn = law.draws(release, random, 400) @ direction
            for level in inside:
                low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
                inside[level] += bool(low <= truth @ direction <= high)
        for level, count in inside.items():
            # Error rate 1e-4 a side; a level off by a third of its complement is found.
            assert binom.ppf(1e-4, cases, level) <= count <= binom.isf(1e-4, cases, level)
        assert inside[0.5] < binom.ppf(1e-4, cases, 0.7)


@pytest.fixture(scope="module")
def release() -> Any:
    return PrivateMean(1.0, bounds=L2Ball(3.0), domain=Domain(GRID)).fit(CURVES).release_


class TestRelease:
    def test_it_is_the_posterior_mean_of_the_noisy_sum(self, release: Any) -> None:
        raw = np.array([float(v) for v in release.noisy_sum]) * 2.0**-release.exponent / release.count
        noise = release.noise.mixture().scaled(2.0**-release.exponent / release.count)
        expected = Posterior(release.hierarchy, noise).means(raw[None, :])[0]
        np.testing.assert_array_equal(release.coefficients, expected)
        np.testing.assert_allclose(release.unshrunk.coefficients, raw, rtol=1e-12)

    @pytest.mark.parametrize("bounds", [L2Ball(3.0), (-2.0, 2.0)])
    def test_round_trip(self, bounds: Any, tmp_path: Path) -> None:
        release = PrivateMean(1.0, bounds=bounds, domain=Domain(GRID)).fit(CURVES).release_
        again = load(release.save(tmp_path / "a.json"))
        np.testing.assert_array_equal(again(GRID), release(GRID))
        posterior = [{"of": "sample"}] if isinstance(bounds, L2Ball) else []
        for asked in ({}, {"exact": True}, *posterior):
            np.testing.assert_array_equal(again.band(**asked).upper, release.band(**asked).upper)

    def test_a_file_without_a_prior_is_linear(self, release: Any, tmp_path: Path) -> None:
        # As files of earlier versions are.
        path = release.save(tmp_path / "a.json")
        written = json.loads(path.read_text())
        del written["hierarchy"]
        path.write_text(json.dumps(written))
        again = load(path)
        raw = np.array([float(v) for v in release.noisy_sum]) * 2.0**-release.exponent / release.count
        np.testing.assert_allclose(again.coefficients, again.shrinkage * raw, rtol=1e-12)

    def test_the_noise_band_covers_what_was_measured(self, release: Any, few_draws: None) -> None:
        # Releases of one sum with fresh noise; the band holds the sum's function without any shrinkage.
        exact = tuple(int(v) for v in release.noisy_sum)
        hidden = replace(release, noisy_sum=exact).unshrunk(GRID)
        # Fewer or more hold with a chance of 1e-6.
        cases, held = 240, 0
        for _ in range(cases):
            noisy = tuple(v + d for v, d in zip(exact, release.noise.draw(), strict=True))
            held += replace(release, noisy_sum=noisy).band(0.8, points=GRID).contains(hidden)
        assert binom.ppf(5e-7, cases, 0.8) <= held <= binom.isf(5e-7, cases, 0.8)

    def test_kinds_of_bands(self, release: Any) -> None:
        with pytest.raises(
            ParameterError,
            match="of must be one of 'noise', 'sample', 'population'; found 'both'",
        ):
            release.band(of="both")
        with pytest.raises(ParameterError, match="of must be 'noise' or 'population' for this"):
            release.unshrunk.band(of="sample")
        # What came out as zero is what shrinkage expects; noise may be so large that it widens the band.
        release = replace(release, noisy_sum=(0,) * len(release.noisy_sum))
        noise, credible = release.band(exact=True), release.band(of="sample")
        assert (credible.upper - credible.lower).mean() < (noise.upper - noise.lower).mean()
        middle = (credible.upper + credible.lower) / 2
        np.testing.assert_allclose(middle, release(credible.points), atol=1e-9)

    def test_standardized_releases_integrate_to_zero(self) -> None:
        curves = CURVES + np.random.default_rng(1).normal(0, 0.3, CURVES.shape)
        release = (
            PrivateMean(1.0, reading=Reading(standardize=True), domain=Domain(GRID)).fit(curves).release_
        )
        weights = release.basis.weights
        assert abs(weights @ release(GRID)) < 1e-9 * np.abs(release(GRID)).max()
        slope = release.derivative()(1.0)
        assert slope == pytest.approx((release(1.0005) - release(0.9995)) / 1e-3, rel=1e-3, abs=1e-6)


class TestPrior:
    def test_draws_have_the_variances(self) -> None:
        prior = Prior([[1.0, 0.1], [0.0, 4.0]], [1.0, 0.5], [[0.4, 0.1], [0.2, 0.3]])
        drawn, rows = prior.draw(np.random.default_rng(0), 100_000)
        np.testing.assert_allclose(np.bincount(rows) / 100_000, prior.chances, atol=1e-4)
        np.testing.assert_allclose((drawn**2).mean(axis=0), prior.chances @ prior.variances, rtol=0.03)

    def test_public_shapes_sum_to_one_and_fall(self) -> None:
        for dimensions in (1, 2):
            shapes = public_shapes(50, dimensions)
            np.testing.assert_allclose(shapes.sum(axis=1), 1.0)
            assert (np.diff(shapes, axis=1) < 0).all()

    @pytest.mark.parametrize(
        ("parts", "words"),
        [
            (([[1.0, -1.0]], [1.0], [[1.0]]), "shapes must be finite rows of at least 0"),
            (([[1.0, 1.0]], [0.0], [[1.0]]), "scales must be positive and finite"),
            (([[1.0, 1.0]], [1.0], [[0.5]]), "weights must be probabilities"),
        ],
    )
    def test_refusals(self, parts: Any, words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            Prior(*parts)

    def test_forms_must_fit(self) -> None:
        with pytest.raises(
            ParameterError, match=r"forms must be finite, of shape \(M, 2\); found \(1, 3\)"
        ):
            Hierarchy(Prior.of([[1.0, 1.0]]), np.ones((1, 3)))
