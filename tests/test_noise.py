"""The law that is drawn is the law that is claimed, and no law a factor sqrt(2) away.

Each goodness-of-fit assertion raises a false alarm with chance `FALSE_ALARM`. At these sample sizes a
scale wrong by sqrt(2) is missed with chance below 1e-6 too (the distance between the distribution
functions exceeds the critical distance by more than five standard deviations of its estimate).
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from dpfda.noise import GaussianNoise, KNormNoise
from statistical import (
    FALSE_ALARM,
    fits,
    fits_only_at_its_scale,
    normal_only_at_its_scale,
    rounded_laplace,
    rounded_laplace_p_value,
    same_law,
)

WIDE = 2**40  # Rounding is far below what a test of continuous laws can see.


def draws(law, count: int) -> np.ndarray:
    return np.array([law.draw() for _ in range(count)], dtype=float)


# Laplace.


@pytest.mark.parametrize("scale", [1, 2, 7])
def test_small_scales_have_the_exact_law_of_a_rounded_laplace_variable(scale):
    law = KNormNoise((1,), (scale,))
    integers = [law.draw()[0] for _ in range(8000)]
    assert rounded_laplace_p_value(integers, scale) > FALSE_ALARM
    assert rounded_laplace_p_value(integers, scale * math.sqrt(2)) < FALSE_ALARM
    assert rounded_laplace_p_value(integers, scale / math.sqrt(2)) < FALSE_ALARM


def test_large_scales_have_the_laplace_law():
    values = draws(KNormNoise((1,), (WIDE,)), 15_000)[:, 0] / WIDE
    assert fits_only_at_its_scale(values, stats.laplace.cdf)


def test_the_laplace_reference_adds_up_to_one():
    """The chi-square test's reference against differences of the distribution function."""
    for scale in (0.7, 1, 2 * math.sqrt(2), 7):
        total = 0.0
        for k in range(-400, 401):
            low, high = stats.laplace.cdf([k - 0.5, k + 0.5], scale=scale)
            mass = (
                high - low
                if k < 0
                else stats.laplace.sf(k - 0.5, scale=scale) - stats.laplace.sf(k + 0.5, scale=scale)
            )
            assert rounded_laplace(k, scale) == pytest.approx(mass, rel=1e-9, abs=1e-300)
            total += mass
        assert total == pytest.approx(1.0, abs=1e-12)


# Blocks.


@cache
def block_draws(size):
    """Draws of one block, the same for its length and its direction."""
    return draws(KNormNoise((size,), (WIDE,)), 3000)


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_a_blocks_length_has_a_gamma_law(size):
    lengths = np.linalg.norm(block_draws(size), axis=1) / WIDE
    assert fits_only_at_its_scale(lengths, stats.gamma(size).cdf)
    # Nor is it the length of one dimension more or less.
    assert not fits(lengths, stats.gamma(size + 1).cdf)
    assert not fits(lengths, stats.gamma(size - 1).cdf)


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_a_blocks_direction_is_uniform_and_independent_of_its_length(size):
    block = block_draws(size)
    lengths = np.linalg.norm(block, axis=1)
    directions = block / lengths[:, None]
    # A coordinate u of a uniform point of the sphere: (1 + u) / 2 is Beta((M - 1) / 2, (M - 1) / 2).
    marginal = stats.beta((size - 1) / 2, (size - 1) / 2).cdf
    generator = np.random.default_rng(size)
    axes = [*np.eye(size), np.full(size, size**-0.5)]
    axes += [axis / np.linalg.norm(axis) for axis in generator.normal(size=(3, size))]
    longer = lengths > np.median(lengths)
    for axis in axes:
        along = directions @ axis
        assert fits((1 + along) / 2, marginal)
        assert same_law(along[longer], along[~longer])


def test_a_lopsided_direction_would_be_found_out():
    block = block_draws(3) * np.array([1.0, 1.0, math.sqrt(2)])
    directions = block / np.linalg.norm(block, axis=1)[:, None]
    assert not fits((1 + directions[:, 2]) / 2, stats.beta(1, 1).cdf)


def test_a_rounded_block_has_its_density():
    """Small scale, two dimensions: chances of cells from the density exp(-|z|/c) / (2 pi c^2)."""
    scale, count, half = 3, 6000, 12
    integers = np.array([KNormNoise((2,), (scale,)).draw() for _ in range(count)])
    fine = 40
    points = (np.arange(-half * fine, (half + 1) * fine) + 0.5) / fine - 0.5
    x, y = np.meshgrid(points, points, indexing="ij")
    cells = 2 * half + 1
    mass = np.exp(-np.hypot(x, y) / scale) / (2 * np.pi * scale**2) / fine**2
    mass = mass.reshape(cells, fine, cells, fine).sum(axis=(1, 3))
    inside = np.abs(integers).max(axis=1) <= half
    observed = np.zeros((cells, cells))
    np.add.at(observed, tuple((integers[inside] + half).T), 1)
    common = count * mass >= 20
    expected = np.append(count * mass[common], count * (1 - mass[common].sum()))
    found = np.append(observed[common], count - observed[common].sum())
    assert stats.chisquare(found, expected).pvalue > FALSE_ALARM


def test_blocks_are_independent_and_have_their_own_scales():
    law = KNormNoise((1, 3, 1, 2), (WIDE, 2 * WIDE, 8 * WIDE, 4 * WIDE))
    values = draws(law, 4000) / WIDE
    parts = [values[:, :1], values[:, 1:4] / 2, values[:, 4:5] / 8, values[:, 5:] / 4]
    lengths = [np.linalg.norm(part, axis=1) for part in parts]
    for length, size in zip(lengths, law.block_sizes, strict=True):
        assert fits_only_at_its_scale(length, stats.gamma(size).cdf)
    for index, length in enumerate(lengths):
        for other in (*lengths[index + 1 :], *(part[:, 0] for part in parts[index + 1 :])):
            assert stats.spearmanr(length, other).pvalue > FALSE_ALARM
    # Within a block the lengths of coordinates do depend on each other, so that test has power.
    assert stats.spearmanr(np.abs(values[:, 1]), np.abs(values[:, 2])).pvalue < FALSE_ALARM


# Gaussian.


def test_gaussian_components_have_their_own_scales():
    law = GaussianNoise((WIDE, 8 * WIDE, 3 * WIDE))
    values = draws(law, 4000) / np.array(law.scales)
    for column in values.T:
        assert normal_only_at_its_scale(column)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        assert stats.spearmanr(values[:, first], values[:, second]).pvalue > FALSE_ALARM
        assert stats.spearmanr(values[:, first] ** 2, values[:, second] ** 2).pvalue > FALSE_ALARM


def test_small_gaussian_scales_have_the_exact_law_of_a_rounded_normal():
    integers = draws(GaussianNoise((2,)), 8000)[:, 0].astype(int)
    edges = np.arange(-4, 6) - 0.5
    for scale, right in ((2, True), (2 * math.sqrt(2), False), (math.sqrt(2), False)):
        inside = np.diff(stats.norm.cdf(edges, scale=scale))
        expected = 8000 * np.concatenate([[stats.norm.cdf(-4.5, scale=scale)], inside])
        expected = np.append(expected, 8000 - expected.sum())
        observed = np.bincount(np.clip(integers, -5, 5) + 5, minlength=11)
        assert (stats.chisquare(observed, expected).pvalue > FALSE_ALARM) == right


# Simulation has the same law as exact drawing.

SIMULATED = [
    KNormNoise((1,), (WIDE,)),
    KNormNoise((1, 4, 2), (WIDE, 2 * WIDE, 5 * WIDE)),
    GaussianNoise((WIDE, 3 * WIDE)),
    KNormNoise((1, 1, 1), (WIDE, 4 * WIDE, 2 * WIDE)),
]


def summaries(values: np.ndarray, law) -> list[np.ndarray]:
    """Numbers that tell laws apart: each component, a length over all, a product of neighbours."""
    scaled = values / WIDE
    parts = [*scaled.T, np.linalg.norm(scaled, axis=1), scaled.sum(axis=1)]
    return parts + [scaled[:, i] * scaled[:, i + 1] for i in range(law.components - 1)]


@pytest.mark.parametrize(
    "law",
    # The last is to the second what the first is to one number.
    [*SIMULATED[:-1], pytest.param(SIMULATED[-1], marks=pytest.mark.thorough)],
    ids=lambda law: law.describe(),
)
def test_simulated_noise_has_the_law_of_drawn_noise(law):
    exact = draws(law, 6000)
    simulated = law.simulate(np.random.default_rng(0), 60_000)
    assert simulated.shape == (60_000, law.components)
    assert simulated.dtype == np.float64
    for drawn, floats in zip(summaries(exact, law), summaries(simulated, law), strict=True):
        assert same_law(drawn, floats)
        assert not same_law(drawn * math.sqrt(2), floats)
        assert not same_law(drawn / math.sqrt(2), floats)


@pytest.mark.parametrize("law", SIMULATED, ids=lambda law: law.describe())
def test_variances_are_those_of_the_law(law):
    simulated = law.simulate(np.random.default_rng(1), 400_000)
    squares = simulated**2
    error = squares.std(axis=0) / math.sqrt(len(squares))
    assert np.all(np.abs(squares.mean(axis=0) - law.variances()) < 5.5 * error)
    # Second moments in closed form: 2 b^2, c^2 (M + 1), s^2.
    if law == SIMULATED[1]:
        expected = [2, *[4 * 5] * 4, *[25 * 3] * 2]
        assert law.variances() == pytest.approx(np.array(expected) * float(WIDE) ** 2, rel=1e-14)


def test_simulation_repeats_with_its_seed_and_drawing_never_does():
    law = KNormNoise((1, 2), (WIDE, WIDE))
    first, second = (law.simulate(np.random.default_rng(5), 4) for _ in range(2))
    assert np.array_equal(first, second)
    assert law.draw() != law.draw()


@pytest.mark.parametrize("law", [KNormNoise((2, 1), (5, 2**70)), GaussianNoise((5, 2**70, 1))])
def test_draws_are_python_integers_one_a_component(law):
    noise = law.draw()
    assert [type(value) for value in noise] == [int] * law.components == [int] * 3


def test_laws_say_what_they_are():
    assert KNormNoise((1, 1), (2, 2)).describe() == "independent Laplace noise on 2 coefficients"
    assert KNormNoise((4,), (2,)).describe() == "one K-norm block on 4 coefficients"
    assert KNormNoise((1, 4), (2, 2)).describe() == "K-norm noise in 2 blocks on 5 coefficients"
    assert GaussianNoise((2, 2, 2)).describe() == "Gaussian noise on 3 coefficients"


def test_one_coefficient_is_said_in_the_singular():
    for law, said in (
        (GaussianNoise.equal(1, 9), "Gaussian noise on 1 coefficient"),
        (KNormNoise.equal(1, 9), "independent Laplace noise on 1 coefficient"),
        (KNormNoise.equal(2, 9), "independent Laplace noise on 2 coefficients"),
    ):
        assert law.describe() == said
