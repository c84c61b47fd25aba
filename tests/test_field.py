"""Functions on boxes: images in, a released field out; calls, transforms and files agree."""

import copy
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpfda import Domain, PrivateMean, Reading, load
from dpfda.bases import BoxBasis
from dpfda.bounds import L2Ball
from dpfda.errors import DataError, ParameterError, StorageError
from dpfda.numerics.embedding import transform
from dpfda.releases.field import ReleasedField
from dpfda.releases.function import ReleasedFunction
from dpfda.testing import exact_totals, non_private_mean, simulate_releases

DOMAIN = [(0.0, 2.0), (-1.0, 1.0)]
SHAPE = (6, 8)


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    generator = np.random.default_rng(3)
    first = np.linspace(0, 1, SHAPE[0])[:, None] * np.ones(SHAPE[1])
    return np.clip(first + 0.1 * generator.standard_normal((300, *SHAPE)), 0, 1)


@pytest.fixture(scope="module")
def basis() -> BoxBasis:
    return BoxBasis.on_grid("cosine", SHAPE, DOMAIN)


@pytest.fixture(scope="module")
def release(images: np.ndarray, basis: BoxBasis) -> ReleasedField:
    made = PrivateMean(
        2.0, bounds=(0, 1), basis=basis, domain=Domain(labels={"value": "grey level"})
    ).fit(images)
    assert made.n_features_in_ == 48
    return made.release_


def test_the_mean_of_images_is_released(images, basis):
    estimator = PrivateMean(1000.0, bounds=(0, 1), basis=basis, mechanism="laplace")
    release = estimator.fit(images).release_
    assert isinstance(release, ReleasedField)
    # 48 Laplace variables of scale about 0.003 in the mean: 1e-3 in the worst of them at a point.
    assert np.abs(release.on_grid() - images.mean(axis=0)).max() < 0.02


def test_images_and_their_rows_are_the_same_records(images, basis):
    estimator = PrivateMean(1.0, bounds=(0, 1), basis=basis)
    rows = images.reshape(len(images), -1)
    assert exact_totals(estimator.prepare(images).total) == exact_totals(estimator.prepare(rows).total)


def test_the_sum_holds_the_mean_of_the_records(images, basis):
    found = non_private_mean(PrivateMean(1.0, bounds=(0, 1), basis=basis, mechanism="laplace"), images)
    assert np.allclose(found.reshape(SHAPE), images.mean(axis=0), atol=1e-6)


def test_a_row_is_embedded_by_itself(images, basis):
    rows = images.reshape(len(images), -1)
    together = transform(rows, basis)
    for i in (0, 7, 299):
        alone = transform(rows[i : i + 1], basis)
        assert alone.mantissas.tobytes() == together.mantissas[i : i + 1].tobytes()
        assert alone.exponents[0] == together.exponents[i]


@pytest.mark.parametrize("size", [1e300, 5e-324, np.finfo(float).max])
def test_no_size_of_record_leaves_the_ball(basis, size):
    estimator = PrivateMean(1.0, bounds=L2Ball(1.0), basis=basis)
    prepared = estimator.prepare(np.full((2, *SHAPE), size))
    assert sum(v * v for v in exact_totals(prepared.total)) <= (2 * prepared.plan.ball.radius) ** 2


def test_calls_transforms_and_finer_grids_agree(release):
    at = release.midpoints(SHAPE)
    assert np.allclose(release(at).reshape(SHAPE), release.on_grid(), atol=1e-12)
    fine = release.midpoints((12, 16))
    assert np.allclose(release(fine).reshape(12, 16), release.on_grid((12, 16)), atol=1e-12)
    assert release([0.3, 0.2]) == pytest.approx(float(release([[0.3, 0.2]])[0]), abs=0)


def test_partial_derivatives_are_limits_of_differences(release):
    at, step = np.array([[0.7, 0.1], [1.4, -0.6]]), 1e-5
    for order, shift in (((1, 0), [step, 0]), ((0, 1), [0, step])):
        slope = (release(at + shift) - release(at - shift)) / (2 * step)
        assert np.allclose(release(at, order), slope, rtol=1e-6, atol=1e-6)


def test_the_integral_is_the_volume_times_the_mean(images, basis):
    # Every cosine but the constant one integrates to zero; so little noise leaves nothing to be cut.
    release = PrivateMean(1e4, bounds=(-1, 2), basis=basis).fit(images).release_
    assert release.integral() == pytest.approx(
        4 * 0.5 + release.coefficients[0] * math.sqrt(4), abs=1e-9
    )


def test_bounds_may_vary_over_the_box(images, basis):
    lower, upper = np.zeros(48), np.linspace(1.0, 2.0, 48)
    release = PrivateMean(1.0, bounds=(lower, upper), basis=basis).fit(images).release_
    at = release.midpoints(SHAPE)
    smooth = basis.values_on_grid(release.coefficients).ravel()
    assert np.allclose(release.on_grid().ravel(), np.clip(smooth + upper / 2, lower, upper))
    assert np.allclose(release(at), release.on_grid().ravel())
    # Linear between midpoints: half way along the last axis it is the average of both.
    between = release.midpoints(SHAPE)[:2].mean(axis=0)
    smooth = basis.evaluate(between[None]) @ release.coefficients
    ends = (upper[0] + upper[1]) / 2
    assert release(between) == pytest.approx(np.clip(float(smooth[0]) + ends / 2, 0, ends))
    with pytest.raises(ParameterError, match="order must be 0 where the public center is not constant"):
        release(between, (1, 0))


def test_noise_has_the_size_that_the_design_expects(images, basis):
    estimator = PrivateMean(1.0, bounds=(0, 1), basis=basis, mechanism="laplace")
    request = estimator.prepare(images).plan
    design = request.design(300)
    draws = simulate_releases(estimator, images, 2000, seed=8)
    power = (np.asarray(draws).var(axis=0) * basis.weights).sum()
    unit = (request.ball.step / 300) ** 2
    expected = float(np.sum(design.shrinkage**2 * design.noise.variances())) * unit
    # The relative standard error of 2000 draws of 48 Laplace variables is below 1 per cent.
    assert power == pytest.approx(expected, rel=0.05)


def test_the_band_covers_the_field_without_noise(images, basis, few_draws):
    estimator = PrivateMean(1.0, bounds=(0, 1), basis=basis)
    exact = exact_totals(estimator.prepare(images).total)
    hits = 0
    for _ in range(120):
        release = estimator.fit(images).release_
        band = release.band(0.9)
        hidden = replace(release, noisy_sum=exact).unshrunk
        hits += band.contains(hidden.center + hidden.basis.evaluate(band.points) @ hidden.coefficients)
    # 120 trials at 0.9: 92 or fewer with probability 2e-5, all but one of them with 5e-5.
    assert 92 < hits < 119


def test_files_give_back_the_same_field(release, tmp_path):
    path = release.save(tmp_path / "field.json")
    for again in (load(path), ReleasedField.load(path), copy.deepcopy(release)):
        assert again.on_grid((9, 9)).tobytes() == release.on_grid((9, 9)).tobytes()
        assert repr(again) == repr(release)
        assert again.guarantee == release.guarantee
    assert json.loads(path.read_text())["format"] == "dpfda-field"
    with pytest.raises(StorageError, match="must be a released function; found dpfda-field"):
        ReleasedFunction.load(path)


def test_damaged_fields_are_refused(release, tmp_path):
    path = release.save(tmp_path / "field.json")
    written = json.loads(path.read_text())
    path.write_text(json.dumps(written | {"center": [0.0, 1.0]}))
    with pytest.raises(StorageError, match="is damaged"):
        load(path)


def test_tables_and_pictures_name_their_axes(release):
    frame = release.to_frame()
    assert list(frame.columns) == ["point_1", "point_2", "value", "lower", "upper"]
    np.testing.assert_allclose(frame["value"], release.on_grid().ravel(), rtol=1e-12, atol=1e-14)
    assert (frame["lower"] <= frame["value"]).all()
    axis = release.plot()
    # Nobody has said what the axes are: an image, whose rows run down.
    assert axis.get_ylabel().startswith("first variable")
    assert axis.get_xlabel().startswith("second variable")
    title = axis.get_title()
    assert "each record is protected" in title
    assert "2-differential privacy" in " ".join(title.split())
    assert axis.images[0].get_extent() == [-1.0, 1.0, 2.0, 0.0]
    np.testing.assert_array_equal(axis.images[0].get_array(), release.on_grid((256, 256)))


def test_an_image_is_drawn_as_it_was_given_and_a_named_field_on_its_axes():
    letter = np.zeros((8, 8))
    letter[1:7, 2], letter[1, 2:6], letter[3, 2:5] = 1, 1, 1
    basis = BoxBasis.on_grid("cosine", (8, 8), [(0, 1), (0, 1)], components=60)
    for labels in ({}, {"domain": "longitude", "domain_2": "latitude"}):
        mean = PrivateMean(1000.0, bounds=(0, 1), basis=basis, labels=labels)
        axis = mean.fit(np.repeat(letter[None], 200, axis=0)).release_.plot()
        shown, pixels = axis.images[0], np.asarray(axis.images[0].get_array())
        coarse = pixels.reshape(8, 32, 8, 32).mean(axis=(1, 3))
        if labels:
            assert (axis.get_xlabel(), axis.get_ylabel()) == ("longitude", "latitude")
            assert (shown.origin, shown.get_extent()) == ("lower", [0.0, 1.0, 0.0, 1.0])
            coarse = coarse.T
        else:
            assert (shown.origin, shown.get_extent()) == ("upper", [0.0, 1.0, 1.0, 0.0])
        np.testing.assert_allclose(coarse, letter, atol=0.3)


def test_one_and_three_variables(images):
    line = BoxBasis.on_grid("cosine", (40,), (0, 3))
    curves = np.linspace(0, 1, 40) * np.ones((50, 1))
    release = PrivateMean(1.0, bounds=(0, 1), basis=line).fit(curves).release_
    assert release([0.5, 1.5]).shape == (2,)
    assert release.plot().get_ylabel() == "value"
    cube = BoxBasis.on_grid("cosine", (3, 4, 5), [(0, 1)] * 3)
    solid = PrivateMean(1.0, bounds=(0, 1), basis=cube).fit(np.ones((9, 3, 4, 5))).release_
    assert solid([[0.1, 0.2, 0.3]]).shape == (1,)
    with pytest.raises(ParameterError, match="have at most 2 variables to be drawn; found 3"):
        solid.plot()


def test_wrong_images_are_refused_by_their_words(images, basis):
    estimator = PrivateMean(1.0, bounds=(0, 1), basis=basis)
    with pytest.raises(DataError, match="must have two dimensions"):
        estimator.fit(images[:, :5])
    with pytest.raises(ParameterError, match="missing must be 'refuse' on a box"):
        PrivateMean(1.0, bounds=(0, 1), basis=basis, reading=Reading(missing="complete")).fit(images)
    holes = images.copy()
    holes[4, 0, 3] = np.nan
    with pytest.raises(DataError, match="row 4"):
        estimator.fit(holes)


def test_points_outside_are_refused(release):
    with pytest.raises(ParameterError, match="lie in the domain"):
        release([[3.0, 0.0]])
    with pytest.raises(ParameterError, match=r"have shape \(q, 2\)"):
        release([[0.1, 0.2, 0.3]])
