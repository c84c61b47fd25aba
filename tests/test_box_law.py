"""Means under the law of box noise: against integrals, and what they gain where the mean is smooth."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaincc

from dpfda.bases.priors import CurvePrior
from dpfda.estimates import CurveModel
from dpfda.estimates.box_law import Prior, as_normal, standard_mean
from dpfda.noise import BoxNoise


def integrated(root: Any, seen: Any, others: int = 0, rows: int = 1) -> tuple[Any, Any]:
    """Mean and deviation (K,) of z given root @ z + noise, on a grid of one or two dimensions."""
    axis = np.linspace(-6, 6, 1601 if root.shape[1] == 1 else 401)
    places = np.stack(np.meshgrid(*[axis] * root.shape[1], indexing="ij"), -1).reshape(-1, root.shape[1])
    farthest = np.abs(seen - places @ root.T).reshape(len(places), rows, -1).max(axis=2)
    chances = np.exp(-0.5 * (places**2).sum(axis=1)) * gammaincc(others + 1, farthest).prod(axis=1)
    chances /= chances.sum()
    mean = chances @ places
    return mean, np.sqrt(chances @ (places - mean) ** 2)


@pytest.mark.parametrize("others", [0, 1, 4])
@pytest.mark.parametrize(("cells", "functions"), [(3, 1), (12, 1), (60, 1), (12, 2), (60, 2)])
def test_it_is_the_mean_under_the_law(cells: int, functions: int, others: int) -> None:
    generator = np.random.default_rng(cells + functions)
    times = np.linspace(-1, 1, cells)
    root = np.stack([np.full(cells, 0.3 * cells), 0.2 * cells * times], axis=1)[:, :functions]
    for _ in range(5):
        length = generator.gamma(cells + others + 1)
        seen = root @ generator.standard_normal(functions) + length * generator.uniform(-1, 1, cells)
        mean, deviation = integrated(root, seen, others)
        # Normal noise of the same variance is off by more than a deviation now and then.
        np.testing.assert_array_less(np.abs(standard_mean(root, seen, others) - mean), 0.12 * deviation)


@pytest.mark.parametrize("others", [0, 2])
@pytest.mark.parametrize("cells", [4, 30])
def test_boxes_have_a_length_each(cells: int, others: int) -> None:
    # Two numbers, turned into two rows: their noise differs threefold.
    generator, times = np.random.default_rng(cells), np.linspace(-1, 1, cells)
    functions = 0.3 * cells * np.stack([np.ones(cells), times], axis=1)
    root = np.vstack([0.8 * functions, 0.6 * functions * [1, -1]])
    apart = []
    for _ in range(10):
        lengths = np.repeat([0.5, 1.5], cells) * (cells + others + 1)
        seen = root @ generator.standard_normal(2) + lengths * generator.uniform(-1, 1, 2 * cells)
        mean, deviation = integrated(root, seen, others, 2)
        found = [standard_mean(root, seen, others, rows) for rows in (2, 1)]
        apart.append(np.abs(found - mean) / deviation)
    own, shared = np.max(apart, axis=(0, 2))
    assert own < 0.25
    # One length for both leads elsewhere.
    assert shared > 0.5


def test_a_level_lies_amid_the_farthest_cells() -> None:
    generator = np.random.default_rng(1)
    seen = 40 + 51 * generator.uniform(-1, 1, 50)
    level = 1e3 * standard_mean(np.full((50, 1), 1e3), seen)[0]
    assert level == pytest.approx((seen.min() + seen.max()) / 2, abs=0.1)
    assert abs(seen.mean() - level) > 1


def test_normal_noise_leads_to_the_mean_from_what_it_would_show() -> None:
    # Two directions follow what is seen by 3/4, the others are settled by the prior: R has the
    # eigenvalues 1/4 and one.
    generator, cells = np.random.default_rng(2), 8
    vectors = np.linalg.qr(generator.standard_normal((cells, cells)))[0]
    left = np.where(np.arange(cells) < 2, 0.25, 1 - 1e-12)
    prior, scale = generator.standard_normal(cells), np.sqrt(3 / 90)
    matrix = (vectors * left) @ vectors.T
    seen = prior + vectors[:, 0] * 2 + scale * 9 * generator.uniform(-1, 1, cells)
    shown = as_normal([Prior(seen, matrix, matrix @ prior)], float(scale), 0)[0]
    root = vectors[:, :2] * np.sqrt(3)
    mean, deviation = integrated(root / scale, (seen - prior) / scale)
    share = left.mean()
    whole = seen + (shown - seen) / share
    led = (whole - prior) @ vectors[:, :2] * 0.75
    np.testing.assert_allclose(led, np.sqrt(3) * mean, atol=0.12 * np.sqrt(3) * deviation.max())


def model_of(points: int, cells: int, strength: float, version: int, centers: Any = ()) -> CurveModel:
    """Box noise on cells of a grid of [0, 1], bounds 0 and 1, noise of a mean of n units."""
    sizes = np.bincount((2 * np.arange(points) + 1) * cells // (2 * points))
    scales = tuple(int(size) * 2**20 for size in sizes)
    bounds, public = (np.zeros(points), np.ones(points)), np.array(list(centers))
    prior = CurvePrior(*bounds, tuple(sizes.tolist()), public, version=version)
    grid = np.linspace(0, 1, points)
    return CurveModel.of(prior, grid, np.eye(points), BoxNoise(scales), 2.0**-20 / strength)


def gain(mean: Any, cells: int, strength: float, draws: int, centers: Any = ()) -> float:
    """Error of the line over that of the second version's, from the same draws."""
    models = [model_of(mean.size, cells, strength, version, centers) for version in (3, 2)]
    draw = models[0].noise.simulate(np.random.default_rng(3), draws) * models[0].step
    errors = [
        [model.posterior(model.forms @ (mean - 0.5) + z).line - mean for z in draw] for model in models
    ]
    now, before = (np.sqrt(np.mean(np.square(each))) for each in errors)
    return float(now / before)


TIMES = np.linspace(0, 1, 60)


def test_smooth_means_on_many_cells_gain() -> None:
    # About .8, with a standard error of .03.
    means = [0.2 + 0.6 * TIMES**2, 0.5 + 0.3 * np.sin(3 * TIMES), 0.3 + 0.4 * TIMES]
    ratios = [gain(mean, 60, 5000.0, 40) for mean in means]
    assert np.exp(np.mean(np.log(ratios))) < 0.9


def test_what_needs_every_cell_loses_little() -> None:
    rough = np.random.default_rng(4).uniform(0.2, 0.8, 60)
    for mean in (rough, np.where(TIMES < 0.5, 0.3, 0.7), 0.5 + 0.4 * np.sin(60 * TIMES)):
        assert gain(mean, 60, 5000.0, 30) < 1.03


def test_public_curves_are_followed_as_before() -> None:
    mean = 0.5 + 0.3 * np.sin(9 * TIMES) * TIMES
    assert gain(mean, 14, 500.0, 40, [mean + 0.01, 1 - mean]) < 1.03


@pytest.mark.parametrize(("points", "cells"), [(2, 2), (3, 3), (40, 3), (300, 300)])
@pytest.mark.parametrize("strength", [1e-3, 1.0, 1e9])
def test_any_outcome_has_a_line(points: int, cells: int, strength: float) -> None:
    model, generator = model_of(points, cells, strength, 3), np.random.default_rng(5)
    outcomes = [
        np.zeros(cells),
        np.eye(cells)[0] * 1e3,
        model.noise.simulate(generator, 1)[0] * model.step,
    ]
    for noisy in outcomes:
        assert np.all(np.isfinite(model.posterior(noisy).mean))


def test_other_noise_is_normal_as_before() -> None:
    model = model_of(40, 10, 300.0, 3)
    earlier = replace(model, prior=replace(model.prior, version=2))
    noisy = model.noise.simulate(np.random.default_rng(6), 1)[0] * model.step
    assert np.max(np.abs(model.posterior(noisy).mean - earlier.posterior(noisy).mean)) > 1e-6

    class Plain:
        components = 10

        def variances(self) -> Any:
            return model.noise.variances()

        def simulate(self, generator: np.random.Generator, draws: int) -> Any:
            return model.noise.simulate(generator, draws)

    lines = [replace(each, noise=Plain()).posterior(noisy).mean for each in (model, earlier)]
    np.testing.assert_array_equal(*lines)
