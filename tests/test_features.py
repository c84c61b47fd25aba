"""Public features: each row from its own input, never longer than one, with the right kernel."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern

from dpfda.bases import KernelBasis
from dpfda.errors import ParameterError, StorageError
from dpfda.records.features import (
    DistanceFeatures,
    FeatureMap,
    FourierFeatures,
    InputBox,
    LandmarkFeatures,
    LinearFeatures,
    QuadraticFeatures,
    RootFeatures,
    embedded,
    feature_ball,
    features_from_json,
)

POINTS = np.random.default_rng(4).uniform(size=(300, 3))
MAPS: dict[str, FeatureMap] = {
    "linear": LinearFeatures.of_columns(3),
    "short": LinearFeatures.of_columns(3, norm_bound=0.5),
    "waves": LinearFeatures.of_waves(3, 3),
    "no constant": LinearFeatures.of_columns(3, constant=0.0),
    "products": QuadraticFeatures(LinearFeatures.of_waves(3), 0.4),
    "distances": DistanceFeatures.of_columns(3),
    "distances and products": QuadraticFeatures(DistanceFeatures.of_columns(3), 0.4),
    "roots": RootFeatures(QuadraticFeatures(LinearFeatures.of_waves(3), 0.4), 0.125),
    "fourier": FourierFeatures.drawn(Matern(0.4, nu=1.5), 3, 21),
    "points": LandmarkFeatures.on_points(RBF(0.5), POINTS[:23]),
    "grid": LandmarkFeatures.on_grid(Matern(0.5, nu=2.5), 3, 4, 10),
}
both = pytest.mark.parametrize("features", MAPS.values(), ids=MAPS.keys())


def integers(features: FeatureMap, points: np.ndarray) -> np.ndarray:
    return embedded(features, feature_ball(features.components), points)


@both
def test_a_row_does_not_depend_on_other_rows(features):
    together = integers(features, POINTS)
    for count in (1, 33, 34, 256, 257):
        np.testing.assert_array_equal(integers(features, POINTS[:count]), together[:count])
    order = np.random.default_rng(0).permutation(len(POINTS))
    np.testing.assert_array_equal(integers(features, POINTS[order]), together[order])


@both
@settings(max_examples=30, deadline=None)
@given(points=st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=4))
def test_no_row_is_longer_than_one(features, points):
    rows = integers(features, np.array(points, dtype=float)).astype(object)
    radius = feature_ball(features.components).radius
    assert all(sum(int(v) ** 2 for v in row) <= radius**2 for row in rows)


def test_fourier_features_have_the_kernel_and_length_one():
    for kernel in (RBF(0.5), Matern(0.5, nu=1.5)):
        rows = FourierFeatures.drawn(kernel, 3, 20_000, seed=1).values(POINTS[:12])
        # The error of a mean of 10,000 cosines is .01 at one deviation.
        np.testing.assert_allclose(rows @ rows.T, kernel(POINTS[:12]), atol=0.05)
        np.testing.assert_allclose(np.sum(rows**2, axis=1), 1.0, atol=1e-12)


def test_landmark_features_are_a_projection_in_the_kernels_space():
    kernel = Matern(0.4, nu=2.5)
    marks = POINTS[:15]
    features = LandmarkFeatures.on_points(kernel, marks)
    assert features.components == 15
    # |P k(t, .)|^2 and <P k(s, .), P k(t, .)>, by another way than the eigendecomposition.
    cross = kernel(POINTS[20:60], marks)
    expected = cross @ np.linalg.solve(kernel(marks), cross.T)
    rows = features.values(POINTS[20:60])
    np.testing.assert_allclose(rows @ rows.T, expected, atol=1e-4)
    assert np.all(np.sum(features.values(np.random.default_rng(1).uniform(size=(2000, 3))) ** 2, 1) < 1)


def test_a_kernel_is_scaled_to_length_one():
    features = LandmarkFeatures.on_points(9.0 * RBF(0.3), POINTS[:10])
    same = LandmarkFeatures.on_points(RBF(0.3), POINTS[:10])
    rows, others = (np.abs(made.values(POINTS[:10])) for made in (features, same))
    np.testing.assert_allclose(np.sum(rows**2, axis=1), 1.0, atol=1e-3)
    np.testing.assert_allclose(rows, others, atol=1e-3)


def test_an_operator_power_weighs_eigenfunctions():
    kernel, marks = Matern(0.6, nu=1.5), np.linspace(0, 1, 40)[:, None]
    plain, twice = (LandmarkFeatures.on_points(kernel, marks, 5, power=p) for p in (1.0, 2.0))
    eigenvalues = np.linalg.eigvalsh(kernel(marks) / 40)[::-1][:5]
    ratio = np.abs(twice.values(marks) / plain.values(marks)).mean(axis=0)
    np.testing.assert_allclose(ratio / ratio[0], np.sqrt(eigenvalues / eigenvalues[0]), rtol=1e-4)
    assert np.max(np.sum(twice.values(marks) ** 2, axis=1)) == pytest.approx(1.0, abs=1e-5)


def test_curves_become_coefficients():
    basis = KernelBasis.on_grid(Matern(0.3, nu=1.5), np.linspace(0, 1, 30))
    curves = np.random.default_rng(3).uniform(2, 5, size=(7, 30))
    features = LinearFeatures.of_curves(basis.analysis[:, :6], (2, 5), norm_bound=4.0, center=3.0)
    rows = features.values(InputBox.of((2, 5), 30).scaled(curves))
    np.testing.assert_allclose(rows[:, 1:] * 4.0, (curves - 3.0) @ basis.analysis[:, :6], atol=1e-6)
    np.testing.assert_allclose(rows[:, 0], 0.25)


def test_one_length_for_all_keeps_the_side_of_every_linear_function():
    features = LinearFeatures.of_waves(3)
    rows = integers(features, POINTS) * feature_ball(4).step
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    b = np.array([0.1, 1.0, -0.8, 0.5])
    affine = b[0] * features.constant + (2 * POINTS - 1) @ b[1:]
    assert np.array_equal(rows @ b > 0, affine > 0)


def test_products_have_the_kernel_of_length_one_and_every_quadric():
    linear = LinearFeatures.of_waves(3)
    rows = QuadraticFeatures(linear, 0.4).values(POINTS)
    units = linear.values(POINTS)
    units /= np.linalg.norm(units, axis=1)[:, None]
    np.testing.assert_allclose(
        rows @ rows.T, 0.6 * units @ units.T + 0.4 * (units @ units.T) ** 2, atol=1e-12
    )
    # The sign of x y, and the side of an ellipsoid, are those of a sum of them.
    centred = 2 * POINTS - 1
    for quadric in (centred[:, 0] * centred[:, 1], np.sum(centred**2 * [1, 2, 3], axis=1) - 1.3):
        scaled = quadric / np.sum(linear.values(POINTS) ** 2, axis=1)
        fitted = rows @ np.linalg.lstsq(rows, scaled, rcond=None)[0]
        np.testing.assert_allclose(fitted, scaled, atol=1e-7)


def test_sums_of_distances_bend_in_each_column_and_products_are_of_columns_alone():
    features = DistanceFeatures.of_columns(3)
    rows = features.values(POINTS)
    for bent in (np.abs(2 * POINTS[:, 1] - 1) ** 0.5, POINTS[:, 0], np.ones(len(POINTS))):
        np.testing.assert_allclose(rows @ np.linalg.lstsq(rows, bent, rcond=None)[0], bent, atol=1e-6)
    units = rows / np.linalg.norm(rows, axis=1)[:, None]
    found = QuadraticFeatures(features, 0.4).values(POINTS)
    kernel = 0.6 * units @ units.T + 0.4 * (units[:, :4] @ units[:, :4].T) ** 2
    np.testing.assert_allclose(found @ found.T, kernel, atol=1e-12)
    assert found.shape[1] == 7 + 10
    with pytest.raises(ParameterError, match="linear must have two inputs a column"):
        DistanceFeatures(LinearFeatures.of_waves(3))


def test_so_many_waves_that_the_products_do_not_exceed_a_number():
    for most, count in ((2, 5), (5, 5), (8, 5), (9, 9), (100, 90)):
        assert QuadraticFeatures.of_waves(50, most).components == count
    assert QuadraticFeatures.of_waves(3, 100).components == 14


def test_the_slowest_waves_of_smooth_columns_lose_little():
    at = (np.arange(64) + 0.5) / 64
    curves = 0.5 + 0.4 * np.sin(2 * np.pi * (at + np.linspace(0, 1, 50)[:, None]))
    whole, few = LinearFeatures.of_waves(64), LinearFeatures.of_waves(64, 10)
    assert (whole.components, few.components) == (65, 10)
    np.testing.assert_allclose(
        *(f.values(curves) @ f.values(curves).T for f in (whole, few)), atol=0.02, rtol=0.02
    )


@both
def test_json_gives_them_back_to_the_bit(features):
    again = features_from_json(features.to_json())
    np.testing.assert_array_equal(again.values(POINTS), features.values(POINTS))
    assert again.describe() == features.describe()


def test_roots_are_powers_of_inputs():
    linear = LinearFeatures.of_waves(3)
    for power in (0.5, 0.25, 0.125, 0.0625):
        found = RootFeatures(linear, power).values(POINTS)
        np.testing.assert_allclose(found, linear.values(POINTS**power), rtol=1e-14)


def test_inputs_are_clipped_to_their_bounds():
    box = InputBox.of([(0, 10), (-1, 1)], 2)
    scaled = box.scaled(np.array([[5.0, 0.0], [-1e300, 1e300], [11.0, -1.0]]))
    np.testing.assert_array_equal(scaled, [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])
    for one in (((18, 90), (0, 1)), np.array([[18, 90], [0, 1]])):
        # As lower and upper ends these would be out of order.
        assert InputBox.of(one, 2).upper.tolist() == [90, 1]


REFUSED: list[tuple[Any, str]] = [
    (lambda: InputBox.of(None, 2), "bounds must be given; found None. Pass bounds="),
    (lambda: InputBox.of((1, 0), 2), "bounds must be finite with lower < upper in every column"),
    (lambda: InputBox.of([(0, 0), (1, 2)], 2), r"found \(0, 0\). Write \(lower, upper\) of each column"),
    (lambda: InputBox.of(([0, 0, 0], 1), 2), r"bounds must be .* or one such pair a column \(2\)"),
    (lambda: InputBox.of(([0, 0, 0], [1, 1, 1]), 3), "one such pair a column .3.; found"),
    (
        lambda: InputBox.of(([0, 1], [5, 6]), 2),
        r"write \[\[0.0, 1.0\], .*ends \[\[0.0, 5.0\], \[1",
    ),
    *(
        (lambda given=given: InputBox.of(given, 2), "be a list of pairs, one a column; found")
        for given in (((0, 18), (1, 90)), np.array([[0, 1], [18, 90]]), ((0, 1), (18, 90)))
    ),
    (lambda: InputBox.of((0, np.inf), 2), "bounds must be finite"),
    (lambda: InputBox.of("ab", 2), "bounds must be .lower, upper."),
    (lambda: FourierFeatures.drawn(DotProduct(), 2, 8), "kernel must be RBF or Matern"),
    (lambda: FourierFeatures.drawn(RBF([1.0, 2.0]), 2, 8), "with one length scale"),
    (lambda: FourierFeatures.drawn(RBF(), 2, 0), "components must be an integer of at least 1"),
    (
        lambda: FourierFeatures.drawn(RBF(), 2, 10**13),
        "components must be at most 10000000 for 2 inputs",
    ),
    (lambda: LandmarkFeatures.on_points(DotProduct(), [[0.0]]), "known scikit-learn kernel"),
    (lambda: LandmarkFeatures.on_points(RBF(), [[np.nan]]), "landmarks must be finite points"),
    (lambda: LandmarkFeatures.on_points(RBF(), [[0.0]], power=0.5), "power must lie between 1 and 10"),
    (lambda: LandmarkFeatures.on_grid(RBF(), 4, 10), "at most 4096 grid points; found 10000"),
    (lambda: QuadraticFeatures(LinearFeatures.of_waves(2), 1.0), "share must lie between 0 and 1"),
    (lambda: RootFeatures(LinearFeatures.of_waves(2), 0.3), "power must be one of 0.5, 0.25, 0.125"),
    (lambda: LinearFeatures(np.zeros((2, 2)), np.zeros(2), 1.0, 1.0), "matrix must not be zero"),
    (lambda: LinearFeatures.of_columns(2, norm_bound=0.0), "norm_bound positive"),
    (lambda: LinearFeatures(np.eye(2), np.zeros(3), 1.0, 1.0), "one row an input"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_bad_features_are_refused_in_these_words(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_an_unknown_kind_in_a_file_is_refused():
    with pytest.raises(StorageError, match="Unknown kind of features 'neural'"):
        features_from_json({"kind": "neural"})
