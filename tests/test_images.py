"""The default mean of images between bounds: cells of a box, their noise, and the line through them."""

import json
import math

import numpy as np
import pytest
from scipy import optimize, special
from scipy.special import expit, logsumexp

from dpfda import PrivacyUnit, PrivateComparison, PrivateMean, load
from dpfda.bases import BoxBasis
from dpfda.bases.priors import ImagePrior
from dpfda.errors import DataError, ParameterError, StorageError
from dpfda.estimates import ImageModel
from dpfda.estimates.box_law import constant_evidence
from dpfda.mean.streams import MeanStream
from dpfda.mechanisms.design.images import image_cells
from dpfda.noise import BoxNoise, GaussianNoise, KNormNoise
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.testing import exact_totals, simulate_releases
from statistical import normal_only_at_its_scale

SHAPE, DOMAIN = (6, 8), [(0.0, 2.0), (-1.0, 1.0)]


def basis_of(shape=SHAPE, domain=DOMAIN):
    return BoxBasis.on_grid("cosine", shape, domain)


def some_images(count, shape=SHAPE, seed=3):
    generator = np.random.default_rng(seed)
    rows = np.linspace(0, 1, shape[0])[:, None] * np.cos(np.linspace(0, 2, shape[1]))
    return np.clip(0.5 + rows / 2 + 0.1 * generator.standard_normal((count, *shape)), 0, 1)


@pytest.mark.parametrize("cells", [(6, 8), (3, 4), (2, 8), (4, 5), (1, 1), (5, 7)])
def test_cells_are_equal_and_share_points_by_area(cells):
    prior = ImagePrior(0.0, 1.0, SHAPE, cells)
    matrix = prior.matrix.toarray()
    assert matrix.dtype == np.int64
    assert np.all(matrix.sum(axis=1) == prior.weight)
    # Of a function that is constant on grid points, averages over cells are integrals: a second road.
    image = some_images(1)[0]
    fine = np.repeat(np.repeat(image, cells[0], axis=0), cells[1], axis=1)
    means = fine.reshape(cells[0], SHAPE[0], cells[1], SHAPE[1]).mean(axis=(1, 3))
    assert np.allclose(matrix @ image.ravel() / prior.weight, means.ravel(), atol=1e-12)


@pytest.mark.parametrize(("relation", "moves"), [("replace-one", 2), ("add-remove", 1)])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 40.0])
def test_noise_is_calibrated_to_how_far_one_image_moves_the_sums(relation, moves, epsilon):
    # Between neighbours the sums over cells move by `moves` half-widths, attained; b = width / epsilon.
    unit = PrivacyUnit(neighbours=relation, public_size=100 if moves == 1 else None)
    estimator = PrivateMean(epsilon, bounds=(0, 1), basis=basis_of(), unit=unit)
    images = some_images(100)
    images[0] = 5.0
    prepared = estimator.prepare(images)
    changed = images.copy()
    changed[0] = -7.0
    far = np.subtract(*(exact_totals(each.total) for each in (prepared, estimator.prepare(changed))))
    design = prepared.plan.design(100)
    assert isinstance(design.noise, BoxNoise)
    norm, width = prepared.plan.problem(100).differences(design)
    assert norm == "box"
    assert tuple(far.tolist()) == tuple(2 * w // moves for w in width)
    scales = design.noise.scales
    assert all(b == math.ceil(w / epsilon) for b, w in zip(scales, width, strict=True))
    # A scale less by a root of two, or by one unit, is refused before anything is drawn.
    assert float(prepared.plan.certified().costs[0].guarantee.epsilon) == epsilon


def test_nothing_of_another_record_changes_the_integers_of_one():
    estimator = PrivateMean(1.0, bounds=(0, 1), basis=basis_of())
    images = some_images(7)
    odd = images.copy()
    odd[3] = 1e308
    with_one, other = (exact_totals(estimator.prepare(x).total) for x in (images, odd))
    alone = [exact_totals(estimator.prepare(np.stack([x[3], x[0]])).total) for x in (images, odd)]
    assert [a - b for a, b in zip(with_one, other, strict=True)] == [
        a - b for a, b in zip(*alone, strict=True)
    ]


@pytest.mark.parametrize(("shape", "cells"), [((4, 6), (2, 3)), ((4, 4), (4, 4)), ((6, 4), (2, 4))])
def test_the_line_is_the_posterior_mean(shape, cells):
    # Dense Gaussian algebra over all functions of the grid, where cells divide it.
    basis, prior = basis_of(shape, [(0, 1), (0, 1)]), ImagePrior(-1.0, 3.0, shape, cells)
    step = 0.03 * prior.weight * prior.width
    generator = np.random.default_rng(5)
    noisy = prior.matrix @ (generator.uniform(-1, 1.5, 1) + generator.normal(0, 0.4, math.prod(shape)))
    model = ImageModel(prior, basis, step)
    seen = noisy / prior.weight / prior.width
    functions = basis.evaluate(
        np.stack(np.meshgrid(*basis.grid_points, indexing="ij"), -1).reshape(-1, 2)
    )
    forms = prior.matrix @ functions / prior.weight
    length = 1 + np.sqrt(np.sum(basis.frequencies.astype(float) ** 2, axis=1))
    logs, means = [], []
    for exponent in (4, 6, 8, 2, 3):
        for reach in (0.1, 0.3, 1.0):
            shaped = (1 + (reach * length) ** 2) ** (-(exponent + 1) / 2)
            for level in (1.0, 1e4):
                variances = shaped * 0.25 / shaped.sum()
                variances[0] *= level
                for k in range(10):
                    spread = 10 ** (-2 * k / 3) * variances
                    covariance = (forms * spread) @ forms.T + 0.03**2 * np.eye(len(forms))
                    solved = np.linalg.solve(covariance, seen)
                    evidence = -(np.linalg.slogdet(covariance / 0.03**2)[1] + seen @ solved) / 2
                    logs.append(evidence + math.log(0.03 if exponent < 4 else 1.0))
                    means.append(spread * (forms.T @ solved))
    total = logsumexp(logs)
    mean = np.exp(np.array(logs) - total) @ np.array(means)
    evidence, level = constant_evidence(seen, 0.03, len(forms))
    share = expit(math.log(3.0 * len(forms)) + evidence - total)
    mean = (1 - share) * mean + share * level * np.eye(len(mean))[0]
    assert np.allclose(model.coefficients(noisy), mean * prior.width, rtol=1e-8, atol=1e-10)


def test_a_finer_grid_makes_no_constant_of_a_smooth_image():
    """Normal noise of one deviation a function tells as much of a slope, on however many points."""
    kept = []
    for side in (8, 16, 64):
        basis, prior = (
            basis_of((side, side), [(0, 1), (0, 1)]),
            ImagePrior(0.0, 1.0, *[(side, side)] * 2),
        )
        # A three-hundredth of a share of noise a function, on a slope of five times that.
        model = ImageModel(prior, basis, 1 / 300 * prior.weight * side, normal=True)
        coarse = np.zeros((side, side))
        coarse[0, 0], coarse[1, 0] = -0.2, 5 / 300
        found = model.coefficients(model.sums(coarse.ravel()))
        kept.append(np.sort(np.abs(found))[-2] / (5 / 300))
    assert kept[0] > 0.7
    assert np.allclose(kept, kept[0], rtol=0.05)


def test_without_the_prior_cosines_go_through_what_was_measured():
    basis, prior = basis_of((6, 8)), ImagePrior(0.0, 2.0, (6, 8), (3, 4), shrunk=False)
    model, noisy = ImageModel(prior, basis, 0.1), np.arange(12.0) / 7
    values = basis.values_on_grid(model.coefficients(noisy)).ravel()
    assert np.allclose(prior.matrix @ values, noisy, atol=1e-10)
    assert np.allclose(model.linear(noisy[None]), model.coefficients(noisy)[None])


def test_a_constant_image_is_found():
    # Of the law of the box: the average of the cells has (M / 3)^(1/2) / S.
    images = np.full((400, 32, 32), 0.4)
    estimator = PrivateMean(50.0, bounds=(0, 1), basis=basis_of((32, 32)))
    assert image_cells((32, 32), 20_000.0) == (11, 11)
    draws = np.asarray(simulate_releases(estimator, images, 100, seed=4)) - 0.4
    assert np.sqrt(np.mean(draws**2)) < 0.9 * (121 / 3) ** 0.5 / 20_000


def test_the_default_beats_a_block_of_coefficients():
    images = some_images(500, (16, 16))
    truth = images.mean(axis=0).ravel()

    def error(mechanism):
        estimator = PrivateMean(2.0, bounds=(0, 1), basis=basis_of((16, 16)), mechanism=mechanism)
        draws = np.asarray(simulate_releases(estimator, images, 60, seed=9))
        return np.sqrt(np.mean((draws - truth) ** 2))

    assert error("auto") < 0.7 * error("knorm")


def test_expected_errors_fall_with_the_budget_and_state_the_scale():
    plans = [
        PrivateMean(epsilon, bounds=(0, 4), basis=basis_of((8, 8))).plan(n=500)
        for epsilon in (0.1, 1.0, 10.0)
    ]
    errors = [plan.outlook(quick=True).typical for plan in plans]
    assert errors[0] > 1.5 * errors[1] > 3 * errors[2] > 0
    assert plans[1].scale == (4.0, "the distance between the bounds")
    assert "between the bounds" in plans[1].error_words
    assert plans[1].limit() is None
    assert 0 < plans[1].band(0.9) < 4


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_scales_are_the_claimed_widths_over_epsilon(epsilon):
    """Wrong by sqrt 2, either way, they are not: one image moves a cell by twice its half-width."""
    plan = PrivateMean(epsilon, bounds=(0, 1), basis=basis_of()).plan(300)
    design, halves = plan.planned, plan.on_grid.cube.half_widths
    widths = 2 * (design.hierarchy.matrix.toarray() @ halves.astype(object))
    np.testing.assert_allclose(
        np.array(design.noise.scales, float), widths.astype(float) / epsilon, 1e-6
    )
    drawn = np.array([design.noise.draw() for _ in range(2000)], float)
    # The largest share of a scale has the law Gamma(cells): its mean within six standard errors.
    found = np.mean(np.max(np.abs(drawn) / np.array(design.noise.scales, float), axis=1))
    assert abs(found / widths.size - 1) < 6 / math.sqrt(2000 * widths.size)


def normal_ratio(epsilon, delta):
    """Width over deviation, by the profile of normal noise in floats."""

    def excess(mu):
        tail = math.exp(epsilon) * special.ndtr(-mu / 2 - epsilon / mu)
        return special.ndtr(mu / 2 - epsilon / mu) - tail - delta

    return optimize.brentq(excess, 1e-3, 50)


# Guarantees, and the width over the deviation that they allow.
NORMAL = [
    ({"rho": 0.02}, 0.2),
    ({"epsilon": 0.5, "delta": 1e-3}, normal_ratio(0.5, 1e-3)),
]


@pytest.mark.parametrize(("asked", "ratio"), NORMAL)
@pytest.mark.parametrize(("relation", "moves"), [("replace-one", 2), ("add-remove", 1)])
def test_normal_noise_is_that_of_the_diagonal_of_the_box(asked, ratio, relation, moves):
    # More points than one block may have.
    shape = (70, 70)
    unit = PrivacyUnit(neighbours=relation, public_size=5000 if moves == 1 else None)
    plan = PrivateMean(**asked, bounds=(0, 1), basis=basis_of(shape), unit=unit).plan(5000)
    design, halves = plan.planned, plan.on_grid.cube.half_widths.astype(float)
    assert isinstance(design.noise, GaussianNoise)
    assert design.hierarchy.cells == shape
    # One image moves every point by its whole width at once: wrong by sqrt 2 either way fails.
    expected = moves * np.linalg.norm(halves) / ratio
    np.testing.assert_allclose(np.array(design.noise.scales, float), expected, rtol=1e-6)
    drawn = np.array(design.noise.draw(), float) / expected
    assert normal_only_at_its_scale(drawn)


def test_one_block_under_a_delta_has_its_own_ratio():
    plan = PrivateMean(6.0, 1e-6, bounds=(0, 1), basis=basis_of((40, 40))).plan(5000)
    noise, halves = plan.planned.noise, plan.on_grid.cube.half_widths.astype(float)
    assert isinstance(noise, KNormNoise)
    assert noise.block_sizes == (1600,)
    width = 2 * np.linalg.norm(halves)
    # Along the diagonal the loss of a block is (|z + d| - |z|) / c, |z| ~ c Gamma(1600): simulated.
    generator = np.random.default_rng(8)
    z = generator.standard_normal((200_000, 2))
    rest = generator.chisquare(1598, 200_000)
    long = generator.gamma(1600, size=200_000)

    def delta(scale):
        shift = width / scale
        cosine = z[:, 0] / np.sqrt(z[:, 0] ** 2 + z[:, 1] ** 2 + rest)
        loss = np.sqrt(long**2 + 2 * long * shift * cosine + shift**2) - long
        return np.mean(np.maximum(1 - np.exp(6.0 - loss), 0))

    # Of 200,000 losses about one is beyond epsilon where delta is 1e-6, thousands at sqrt 2 less noise.
    assert delta(noise.scales[0]) < 1e-4 < delta(noise.scales[0] / math.sqrt(2))
    # Nor is it more than that of normal noise of the same guarantee, as it would be at sqrt 2 more.
    normal = normal_ratio(6.0, 1e-6)
    assert width / noise.scales[0] > math.sqrt(1601) * normal > width / noise.scales[0] / math.sqrt(2)
    drawn = np.linalg.norm(np.array(noise.draw(), float)) / noise.scales[0]
    assert abs(drawn / 1600 - 1) < 6 / math.sqrt(1600)


@pytest.mark.parametrize(
    "asked", [{"epsilon": 1.0, "delta": 1e-6}, {"rho": 0.05}, {"epsilon": 4, "delta": 1e-5}]
)
def test_with_a_delta_or_rho_it_beats_a_block_of_coefficients(asked):
    images = some_images(500, (24, 24))
    truth = images.mean(axis=0).ravel()

    def error(mechanism):
        estimator = PrivateMean(**asked, bounds=(0, 1), basis=basis_of((24, 24)), mechanism=mechanism)
        draws = np.asarray(simulate_releases(estimator, images, 40, seed=9))
        return np.sqrt(np.mean((draws - truth) ** 2))

    others = ["gaussian"] if "rho" in asked else ["knorm", "gaussian"]
    assert error("auto") < 0.9 * min(map(error, others))


def test_files_with_normal_noise_are_held_to_its_scale(tmp_path):
    estimator = PrivateMean(rho=0.05, bounds=(0, 1), basis=basis_of())
    release = estimator.fit(some_images(300)).release_
    path = release.save(tmp_path / "image.json")
    assert load(path).on_grid((12, 16)).tobytes() == release.on_grid((12, 16)).tobytes()
    assert release.band(0.9).contains(release(release.band(0.9).points))
    written = json.loads(path.read_text())
    scales = [round(b / math.sqrt(2)) for b in written["noise"]["scales"]]
    path.write_text(json.dumps(written | {"noise": {**written["noise"], "scales": scales}}))
    with pytest.raises(StorageError):
        load(path)


def test_files_hold_it_and_refuse_noise_that_is_too_small(tmp_path):
    release = PrivateMean(1.0, bounds=(0, 1), basis=basis_of()).fit(some_images(300)).release_
    path = release.save(tmp_path / "image.json")
    again = load(path)
    assert again.on_grid((12, 16)).tobytes() == release.on_grid((12, 16)).tobytes()
    written = json.loads(path.read_text())
    assert written["hierarchy"]["kind"] == "images between bounds"
    scales = written["noise"]["scales"]
    for change in (
        {"noise": {**written["noise"], "scales": [round(b / math.sqrt(2)) for b in scales]}},
        {"hierarchy": {**written["hierarchy"], "cells": [1, 1]}},
        {"hierarchy": {**written["hierarchy"], "shape": [8, 6]}},
        {"hierarchy": {**written["hierarchy"], "version": 99}},
    ):
        path.write_text(json.dumps(written | change))
        with pytest.raises(StorageError):
            load(path)


def test_streams_add_up_the_same_integers():
    estimator, images = PrivateMean(1.0, bounds=(0, 1), basis=basis_of()), some_images(90)
    first, second = (MeanStream(estimator.plan(n=90)) for _ in range(2))
    for block in (images[:20], images[20:50]):
        first.add(block)
    prepared = first.merge(second.add(images[50:])).prepared()
    assert exact_totals(prepared.total) == exact_totals(estimator.prepare(images).total)


def test_what_says_more_of_the_mean_keeps_its_own_estimate():
    images = some_images(200)
    rough = BoxBasis.on_grid("cosine", SHAPE, DOMAIN, nu=0.5)
    few = BoxBasis.on_grid("cosine", SHAPE, DOMAIN, components=20)
    periodic = BoxBasis.on_grid("fourier", SHAPE, DOMAIN)
    for basis in (rough, few, periodic):
        assert PrivateMean(1.0, bounds=(0, 1), basis=basis).plan(200).images is None
    counted = PrivateMean(
        1.0, bounds=(0, 1), basis=basis_of(), unit=PrivacyUnit(neighbours="add-remove")
    )
    assert counted.fit(images).release_.certificate.mechanism["name"] != "cells"


def test_cells_follow_the_strength():
    assert image_cells((7, 24), 20_000) == (7, 24)
    assert image_cells((200, 200), 5000) == (8, 7)
    assert image_cells((4, 1000), 5000) == (4, 14)
    assert image_cells((10, 10, 10), 1.0) == (2, 2, 2)


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError, match="bounds must be finite with lower < upper"):
        ImagePrior(1.0, 1.0, (4, 4), (2, 2))
    with pytest.raises(ParameterError, match="cells must be 1 to the points of each axis"):
        ImagePrior(0.0, 1.0, (4, 4), (5, 2))
    with pytest.raises(DataError, match="For the mean of images pass basis=BoxBasis"):
        PrivateMean(1.0, bounds=(0, 1)).fit(np.zeros((5, 4, 4)))


def test_a_comparison_of_images_is_refused_before_the_charge():
    ledger = MemoryLedger().create("images", PureDP(1), "replace-one", "record")
    compared = PrivateComparison(
        1.0, levels=("a", "b"), bounds=(0, 1), basis=basis_of(), ledger=ledger.of("images")
    )
    for asked in (lambda: compared.plan(100), lambda: compared.fit(some_images(200), ["a", "b"] * 100)):
        with pytest.raises(ParameterError, match=r"basis must be of curves on an interval.*PrivateMean"):
            asked()
    assert ledger.remaining("images").values == (1,)
