"""Bases on boxes: transforms against plain sums, spectra against integrals of kernels, exact order."""

import itertools
import json
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import j0
from sklearn.gaussian_process.kernels import RBF, Matern

from dpfda.bases import BoxBasis
from dpfda.bases.closed_form import AXES
from dpfda.bases.grids import product_points
from dpfda.bases.products import leading_modes, spectral_decay
from dpfda.bases.protocol import on_box
from dpfda.bases.reading import basis_from_json
from dpfda.errors import ParameterError

KINDS = ("cosine", "sine", "fourier")
SQUARE = [(0.0, 1.0), (0.0, 1.0)]


@st.composite
def bases(draw, largest=9):
    """Any small basis: kinds, shape, box, spectrum, range, number of functions."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    shape = [draw(st.integers(3 if kind == "fourier" else 2, largest)) for kind in kinds]
    starts = [draw(st.floats(-5, 5)) for _ in kinds]
    box = [(start, start + draw(st.floats(0.1, 10))) for start in starts]
    scale = draw(st.none() | st.floats(0.05, 2))
    nu = draw(st.floats(0.3, 4))
    spectrum = draw(st.sampled_from(["matern", "sobolev"]))
    whole = BoxBasis.on_grid(kinds, shape, box, None, scale, nu, spectrum)
    return whole.truncate(draw(st.integers(1, whole.components)))


def gauss(start: float, end: float, count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    half = (end - start) / 2
    return start + half * (nodes + 1), half * weights


class TestFunctions:
    @pytest.mark.parametrize("kind", KINDS)
    def test_functions_of_one_axis_are_orthonormal_in_l2(self, kind):
        basis = BoxBasis.on_grid(kind, 12, (2.0, 5.0))
        at, weights = gauss(2.0, 5.0)
        values = basis.evaluate(at)
        gram = values.T @ (weights[:, None] * values)
        np.testing.assert_allclose(gram, np.eye(basis.components), rtol=0, atol=1e-12)

    @given(basis=bases(6))
    @settings(max_examples=40, deadline=None)
    def test_functions_are_orthonormal_under_the_weights(self, basis):
        values = basis.evaluate(product_points(basis.grid_points))
        gram = values.T @ (basis.weights[:, None] * values)
        np.testing.assert_allclose(gram, np.eye(basis.components), rtol=0, atol=1e-11)
        assert basis.weights.sum() == pytest.approx(basis.volume, rel=1e-12)

    def test_functions_are_the_formulas(self):
        basis = BoxBasis.on_grid(("cosine", "sine", "fourier"), (4, 4, 5), [(0, 2), (1, 4), (0, 5)])
        x, y, z = 0.3, 1.7, 4.1
        for column, (f, g, h) in enumerate(basis.frequencies):
            first = math.sqrt((1 + (f > 0)) / 2) * math.cos(f * math.pi * x / 2)
            second = math.sqrt(2 / 3) * math.sin(g * math.pi * (y - 1) / 3)
            wave = math.cos if h >= 0 else math.sin
            third = math.sqrt((1 + (h != 0)) / 5) * wave(2 * math.pi * abs(h) * z / 5)
            found = basis.evaluate([[x, y, z]])[0, column]
            assert found == pytest.approx(first * second * third, abs=1e-14)
        assert len({tuple(row) for row in basis.frequencies.tolist()}) == 4 * 3 * 5

    def test_boundary_conditions(self):
        ends = np.array([0.0, 1.0])
        cosine, sine, fourier = (BoxBasis.on_grid(kind, 9, (0, 1)) for kind in KINDS)
        np.testing.assert_allclose(cosine.evaluate(ends, 1), 0, atol=1e-12)
        np.testing.assert_allclose(sine.evaluate(ends), 0, atol=1e-13)
        for order in (0, 1, 2):
            left, right = fourier.evaluate(ends, order)
            np.testing.assert_allclose(left, right, atol=1e-11 * 30**order)

    def test_the_grid_is_midpoints_and_leaves_out_what_it_cannot_measure(self):
        basis = BoxBasis.on_grid(KINDS, (4, 4, 4), [(0, 1)] * 3)
        assert basis.resolved == (4, 3, 3)
        np.testing.assert_allclose(basis.grid_points[0], [0.125, 0.375, 0.625, 0.875])
        assert BoxBasis.on_grid("fourier", 5, (0, 1)).resolved == (5,)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_derivatives_are_the_limit_of_differences(self, kind, order):
        basis = BoxBasis.on_grid(kind, 7, (1.0, 3.0))
        at, step = np.linspace(1.2, 2.8, 9), 1e-5
        slope = (basis.evaluate(at + step, order - 1) - basis.evaluate(at - step, order - 1)) / (
            2 * step
        )
        np.testing.assert_allclose(basis.evaluate(at, order), slope, rtol=0, atol=1e-6 * 10**order)

    def test_mixed_derivatives(self):
        basis = BoxBasis.on_grid(("cosine", "fourier"), (5, 5), [(0, 2), (0, 3)])
        at, step = np.random.default_rng(0).uniform(0.1, 1.9, (6, 2)), 1e-4
        right, up = np.array([step, 0]), np.array([0, step])
        corners = [(1, right + up), (-1, right - up), (-1, up - right), (1, -right - up)]
        mixed = sum(sign * basis.evaluate(at + move) for sign, move in corners) / (4 * step**2)
        np.testing.assert_allclose(basis.evaluate(at, (1, 1)), mixed, rtol=0, atol=1e-5)

    @given(basis=bases(5))
    @settings(max_examples=30, deadline=None)
    def test_integrals(self, basis):
        axes = [gauss(*ends, 30) for ends in basis.domain_range]
        values = basis.evaluate(product_points([at for at, _ in axes]))
        weights = np.ones(1)
        for _, along in axes:
            weights = np.outer(weights, along).ravel()
        np.testing.assert_allclose(basis.integrals, weights @ values, rtol=0, atol=1e-10 * basis.volume)

    def test_points_may_be_given_as_for_one_dimension(self):
        basis = BoxBasis.on_grid("cosine", 5, (0, 1))
        assert np.array_equal(basis.evaluate([0.1, 0.7]), basis.evaluate([[0.1], [0.7]]))


class TestTransforms:
    @given(basis=bases(), seed=st.integers(0, 2**32 - 1))
    @settings(max_examples=60, deadline=None)
    def test_the_transform_is_the_sum_it_stands_for(self, basis, seed):
        values = np.random.default_rng(seed).normal(size=basis.shape)
        functions = basis.evaluate(product_points(basis.grid_points))
        plain = (basis.weights * values.ravel()) @ functions
        scale = math.sqrt(basis.volume)
        np.testing.assert_allclose(basis.transform(values), plain, rtol=0, atol=1e-12 * scale)
        assert np.array_equal(basis.transform(values.ravel()), basis.transform(values))
        np.testing.assert_allclose(values.ravel() @ basis.analysis, plain, rtol=0, atol=1e-12 * scale)

    @given(basis=bases(), seed=st.integers(0, 2**32 - 1), finer=st.integers(0, 7))
    @settings(max_examples=60, deadline=None)
    def test_synthesis_is_evaluation_on_every_grid(self, basis, seed, finer):
        coefficients = np.random.default_rng(seed).normal(size=basis.components)
        shape = tuple(cells + finer for cells in basis.shape)
        found = basis.values_on_grid(coefficients, shape)
        assert found.shape == shape
        at = product_points(basis.midpoints(shape))
        plain = basis.evaluate(at) @ coefficients
        size = np.abs(coefficients).sum() * math.sqrt(2**basis.dimensions / basis.volume)
        np.testing.assert_allclose(found.ravel(), plain, rtol=0, atol=1e-13 * size)
        np.testing.assert_allclose(basis.values_at(at, coefficients), plain, rtol=0, atol=1e-13 * size)

    @given(basis=bases(), seed=st.integers(0, 2**32 - 1))
    @settings(max_examples=60, deadline=None)
    def test_round_trip_and_parseval(self, basis, seed):
        coefficients = np.random.default_rng(seed).normal(size=basis.components)
        values = basis.values_on_grid(coefficients)
        np.testing.assert_allclose(basis.transform(values), coefficients, rtol=0, atol=1e-12)
        energy = float(basis.weights @ values.ravel() ** 2)
        assert energy == pytest.approx(float(coefficients @ coefficients), rel=1e-12)

    def test_all_cosines_give_any_array_back(self):
        values = np.random.default_rng(1).normal(size=(6, 5, 4))
        basis = BoxBasis.on_grid("cosine", (6, 5, 4), [(0, 1), (0, 2), (0, 3)])
        np.testing.assert_allclose(basis.values_on_grid(basis.transform(values)), values, atol=1e-13)

    def test_leading_coefficients_alone_are_a_truncated_sum(self):
        basis = BoxBasis.on_grid(("fourier", "cosine"), (8, 7), SQUARE)
        coefficients = np.random.default_rng(2).normal(size=11)
        plain = basis.evaluate(product_points(basis.grid_points))[:, :11] @ coefficients
        np.testing.assert_allclose(basis.values_on_grid(coefficients).ravel(), plain, atol=1e-13)
        # A coarser grid will do as long as it holds these functions.
        coarse = basis.values_on_grid(coefficients, (7, 5))
        at = product_points(basis.midpoints((7, 5)))
        np.testing.assert_allclose(coarse.ravel(), basis.evaluate(at)[:, :11] @ coefficients, atol=1e-13)

    def test_too_coarse_a_grid_is_refused(self):
        basis = BoxBasis.on_grid("sine", 9, (0, 1))
        with pytest.raises(ParameterError, match=r"shape must be at least \(6,\)"):
            basis.values_on_grid(np.ones(5), 5)
        assert basis.values_on_grid(np.ones(5), 6).shape == (6,)

    def test_several_functions_at_once_are_the_functions_one_by_one(self):
        basis = BoxBasis.on_grid(("sine", "fourier"), (9, 8), SQUARE, 30)
        coefficients = np.random.default_rng(3).normal(size=(3, 2, 30))
        together = basis.values_on_grid(coefficients, (12, 13))
        for i, j in itertools.product(range(3), range(2)):
            one = basis.values_on_grid(coefficients[i, j], (12, 13))
            np.testing.assert_allclose(together[i, j], one, rtol=0, atol=1e-13)


class TestOneRecordAlone:
    @pytest.mark.parametrize("kinds", [("cosine", "fourier"), ("sine", "sine"), ("fourier",)])
    def test_the_bits_depend_on_the_values_alone(self, kinds):
        shape = (33, 20)[: len(kinds)]
        basis = BoxBasis.on_grid(kinds, shape, [(0, 1)] * len(kinds))
        values = np.random.default_rng(4).normal(size=shape)
        found = basis.transform(values)
        room = np.zeros(values.size * 8 + 64, dtype=np.uint8)
        for offset in (0, 1, 8, 24, 40):
            # Same values elsewhere in memory: unaligned, shifted, in another order, in a batch.
            place = room[offset : offset + values.nbytes].view(np.float64).reshape(shape)
            place[...] = values
            assert np.array_equal(basis.transform(place), found)
        assert np.array_equal(basis.transform(np.asfortranarray(values)), found)
        batch = np.stack([values * 1e6, values, values - 1.0])
        assert np.array_equal(basis.transform(batch[1]), found)
        assert np.array_equal(basis.transform(values.tolist()), found)

    @given(exponent=st.integers(-1000, 900), seed=st.integers(0, 2**32 - 1))
    @settings(max_examples=40, deadline=None)
    def test_powers_of_two_pass_through(self, exponent, seed):
        basis = BoxBasis.on_grid("fourier", (5, 6), [(0, 1), (0, 2)])
        values = np.random.default_rng(seed).uniform(0.5, 1.0, size=(5, 6))
        mantissas, shift = basis.scaled_transform(values)
        scaled, further = basis.scaled_transform(np.ldexp(values, exponent))
        assert np.array_equal(mantissas, scaled)
        assert further == shift + exponent

    def test_the_largest_floats_do_not_overflow(self):
        largest = np.finfo(float).max
        basis = BoxBasis.on_grid("cosine", (8, 8), SQUARE)
        values = np.full((8, 8), largest)
        found = basis.transform(values)
        assert found[0] == pytest.approx(largest, rel=1e-14)
        assert np.isfinite(found).all()
        wide = BoxBasis.on_grid("cosine", (8, 8), [(0, 10), (0, 10)])
        assert wide.transform(values)[0] == largest
        assert not np.any(basis.transform(np.zeros((8, 8))))

    def test_the_smallest_floats_do_not_vanish(self):
        basis = BoxBasis.on_grid("cosine", 8, (0, 1))
        values = np.full(8, 5e-324)
        mantissas, exponent = basis.scaled_transform(values)
        assert mantissas[0] == pytest.approx(0.5)
        assert exponent == -1073


class TestOrder:
    @pytest.mark.parametrize("spectrum", ["matern", "sobolev", "heat"])
    @pytest.mark.parametrize("dimensions", [1, 2, 3])
    def test_on_cubes_the_order_is_that_of_integers(self, spectrum, dimensions):
        basis = BoxBasis.on_grid(
            "cosine", [6] * dimensions, [(0, 1)] * dimensions, length_scale=0.4, spectrum=spectrum
        )
        indices = list(itertools.product(range(6), repeat=dimensions))
        exact = sorted(indices, key=lambda index: (sum(i * i for i in index), index))
        assert [tuple(row) for row in basis.frequencies.tolist()] == exact[: basis.components]
        assert basis.components > 1

    @given(basis=bases())
    @settings(max_examples=40, deadline=None)
    def test_eigenvalues_decrease_and_add_up_to_the_volume(self, basis):
        assert (basis.eigenvalues > 0).all()
        assert (np.diff(basis.eigenvalues) <= 0).all()
        missing = basis.residual
        assert basis.eigenvalues.sum() + missing == pytest.approx(basis.volume, rel=1e-12)
        whole = BoxBasis.from_json(basis.to_json() | {"components": None})
        assert whole.residual == 0.0
        assert np.array_equal(whole.modes[: basis.components], basis.modes)
        assert np.array_equal(whole.truncate(basis.components).eigenvalues, basis.eigenvalues)
        left = whole.eigenvalues[basis.components :].sum()
        assert missing == pytest.approx(float(left), rel=1e-6, abs=1e-12 * basis.volume)

    @given(
        entries=st.lists(st.integers(0, 5), min_size=1, max_size=60),
        share=st.floats(0, 1),
    )
    def test_leading_modes_are_those_of_a_stable_sort(self, entries, share):
        array = np.array(entries, dtype=float)
        count = max(1, round(share * array.size))
        assert leading_modes(array, count).tolist() == np.argsort(array, kind="stable")[:count].tolist()

    def test_a_million_modes_in_order(self):
        basis = BoxBasis.on_grid("cosine", (1024, 1024), SQUARE, 20_000)
        squares = (basis.frequencies**2).sum(axis=1)
        keys = squares * 2**20 + basis.frequencies[:, 0] * 1024 + basis.frequencies[:, 1]
        assert (np.diff(keys) > 0).all()
        # Nothing before the last one is left out: the lattice points of a quarter disc.
        inside = np.add.outer(np.arange(1024) ** 2, np.arange(1024) ** 2) < squares[-1]
        assert (
            np.count_nonzero(inside)
            < 20_000
            <= np.count_nonzero(inside)
            + np.sum(np.add.outer(np.arange(1024) ** 2, np.arange(1024) ** 2) == squares[-1])
        )

    def test_a_longer_range_lets_frequencies_along_its_axis_come_later(self):
        basis = BoxBasis.on_grid("cosine", (5, 5), SQUARE, length_scale=(0.4, 0.1))
        indices = list(itertools.product(range(5), repeat=2))
        exact = sorted(indices, key=lambda index: (16 * index[0] ** 2 + index[1] ** 2, index))
        assert [tuple(row) for row in basis.frequencies.tolist()] == exact


class TestSpectra:
    @pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
    def test_in_one_dimension_it_is_the_cosine_transform_of_the_matern_kernel(self, nu):
        basis = BoxBasis.on_grid("cosine", 6, (0, 2), length_scale=0.3, nu=nu)
        kernel = Matern(0.3, nu=nu)

        def height(w):
            return quad(lambda h: kernel([[0.0]], [[h]])[0, 0] * math.cos(w * h), 0, 12, limit=400)[0]

        integrals = [height(j * math.pi / 2) for j in range(6)]
        found = basis.eigenvalues / basis.eigenvalues[0]
        np.testing.assert_allclose(found, np.array(integrals) / integrals[0], rtol=1e-6)

    def test_in_two_dimensions_it_is_the_hankel_transform_of_the_matern_kernel(self):
        basis = BoxBasis.on_grid("cosine", (4, 4), [(0, 2), (0, 3)], length_scale=0.3, nu=1.5)
        kernel = Matern(0.3, nu=1.5)

        def height(w):
            radial = lambda r: kernel([[0.0]], [[r]])[0, 0] * j0(w * r) * r  # noqa: E731
            return quad(radial, 0, 8, limit=400)[0]

        speeds = math.pi * np.hypot(basis.frequencies[:, 0] / 2, basis.frequencies[:, 1] / 3)
        integrals = np.array([height(w) for w in speeds])
        found = basis.eigenvalues / basis.eigenvalues[0]
        np.testing.assert_allclose(found, integrals / integrals[0], rtol=1e-6)

    def test_heat_on_a_circle_is_the_periodic_gaussian(self):
        basis = BoxBasis.on_grid("fourier", 40, (0, 1), length_scale=0.1, spectrum="heat")
        at = np.array([0.0, 0.07, 0.21, 0.5, 0.9])
        values = basis.evaluate(at)
        covariance = (values * basis.eigenvalues) @ values.T
        copies = np.arange(-4, 5)
        gaps = at[:, None, None] - at[None, :, None] + copies
        kernel = RBF(0.1)(gaps.reshape(-1, 1), [[0.0]]).reshape(gaps.shape).sum(axis=-1)
        np.testing.assert_allclose(covariance / covariance[0, 0], kernel / kernel[0, 0], atol=1e-12)

    def test_sobolev_is_the_norm_of_values_and_second_derivatives(self):
        basis = BoxBasis.on_grid("cosine", 7, (0, 2), length_scale=0.3, nu=1.5, spectrum="sobolev")
        at, weights = gauss(0, 2, 80)
        bent = weights @ basis.evaluate(at, 2) ** 2
        shape = 1 / (1 + 0.3**4 * bent)
        np.testing.assert_allclose(basis.eigenvalues / basis.eigenvalues[0], shape, rtol=1e-10)

    def test_variances_on_a_line_fall_as_the_decay_says(self):
        for spectrum, dimensions in itertools.product(("matern", "sobolev"), (1, 2)):
            basis = BoxBasis.on_grid(
                "cosine",
                [4096] if dimensions == 1 else [600, 600],
                [(0, 1)] * dimensions,
                None if dimensions == 1 else 60_000,
                nu=1.0,
                spectrum=spectrum,
            )
            last = basis.components
            rise = math.log(basis.eigenvalues[last // 4 - 1] / basis.eigenvalues[last - 1])
            assert rise / math.log(4) == pytest.approx(basis.decay, rel=0.03)
        assert basis.decay == 2.0
        assert spectral_decay("heat", 1.5, 2) == math.inf

    def test_variances_too_small_for_a_float_are_left_out(self):
        basis = BoxBasis.on_grid("cosine", 200, (0, 1), length_scale=1.0, spectrum="heat")
        assert 10 < basis.components < 20
        assert basis.eigenvalues[-1] > 0
        with pytest.raises(ParameterError, match="components must be an integer from 1 to"):
            BoxBasis.on_grid("cosine", 200, (0, 1), 100, 1.0, spectrum="heat")


class TestStorage:
    @given(basis=bases(), seed=st.integers(0, 2**32 - 1))
    @settings(max_examples=25, deadline=None)
    def test_writing_and_reading_gives_the_same_bits(self, basis, seed):
        again = basis_from_json(json.loads(json.dumps(basis.to_json())), None)
        values = np.random.default_rng(seed).normal(size=basis.shape)
        assert np.array_equal(again.modes, basis.modes)
        assert np.array_equal(again.eigenvalues, basis.eigenvalues)
        assert np.array_equal(again.transform(values), basis.transform(values))
        assert again.describe() == basis.describe()
        assert again.domain_range == basis.domain_range

    def test_a_million_points_are_written_in_a_few_words(self):
        basis = BoxBasis.on_grid("cosine", (1024, 1024), SQUARE, 10_000)
        assert len(json.dumps(basis.to_json())) < 400

    def test_memory_is_a_few_arrays_of_the_grids_size(self):
        values = np.random.default_rng(5).normal(size=(512, 512))
        for kind in KINDS:
            basis = BoxBasis.on_grid(kind, (512, 512), SQUARE, 5000)
            assert basis.weights.strides == (0,)
            tracemalloc.start()
            coefficients = basis.transform(values)
            basis.values_on_grid(coefficients)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 8 * values.nbytes

    def test_scattered_values_need_no_matrix(self):
        basis = BoxBasis.on_grid("cosine", (256, 256), SQUARE, 20_000)
        coefficients = np.zeros(20_000)
        coefficients[[0, -1]] = [1.0, 2.0]
        at = np.random.default_rng(6).uniform(size=(20_000, 2))
        tracemalloc.start()
        found = basis.values_at(at, coefficients)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # The matrix would take 3.2 GB.
        assert peak < 800 * 2**20
        plain = basis.evaluate(at[:50]) @ coefficients
        np.testing.assert_allclose(found[:50], plain, rtol=0, atol=1e-12)

    def test_it_keeps_the_protocol_and_cannot_be_changed(self):
        basis = BoxBasis.on_grid("cosine", (4, 4), SQUARE)
        assert on_box(basis)
        for array in (basis.eigenvalues, basis.modes, basis.weights, basis.grid_points[0]):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    def test_it_says_what_it_is(self):
        basis = BoxBasis.on_grid(("cosine", "fourier"), (4, 5), SQUARE, nu=2.5)
        assert basis.describe() == (
            "cosine x fourier basis on 4 x 5 cells (Whittle-Matern, range 0.1, 0.1, nu 2.5)"
        )
        assert "nu" not in BoxBasis.on_grid("sine", 9, (0, 1), spectrum="heat").describe()


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"kinds": "cos"}, "kinds must be one name or 2 names"),
            ({"kinds": ("cosine",)}, "kinds must be one name or 2 names"),
            ({"shape": (4,)}, "shape must be 2 numbers of cells"),
            ({"shape": (4, 1)}, "shape must be 2 numbers of cells"),
            ({"shape": (4, 4.0)}, "shape must be 2 numbers of cells"),
            ({"kinds": "fourier", "shape": (4, 2)}, r"at least \(3, 3\)"),
            ({"domain_range": [(0, 1), (1, 0)]}, "domain must be finite with a < b"),
            ({"domain_range": "ab"}, r"domain must be \(a, b\), or up to 32 pairs"),
            ({"domain_range": [(0, 1, 2)]}, "domain must be two numbers"),
            ({"components": 0}, "components must be an integer from 1 to 20"),
            ({"components": 21}, "components must be an integer from 1 to 20"),
            ({"components": 2.0}, "components must be an integer from 1 to 20"),
            ({"components": True}, "components must be an integer from 1 to 20"),
            ({"length_scale": 0.0}, "length_scale must be one positive number or 2"),
            ({"length_scale": (1.0, 1.0, 1.0)}, "length_scale must be one positive number or 2"),
            ({"nu": -1.0}, "nu must be a positive number"),
            ({"nu": math.nan}, "nu must be a positive number"),
            ({"spectrum": "white"}, "spectrum must be one of"),
        ],
    )
    def test_unusable_arguments(self, change, message):
        usable = {"kinds": "cosine", "shape": (4, 5), "domain_range": SQUARE}
        with pytest.raises(ParameterError, match=message):
            BoxBasis.on_grid(**usable | change)

    def test_unusable_calls(self):
        basis = BoxBasis.on_grid("cosine", (4, 5), SQUARE)
        with pytest.raises(ParameterError, match=r"values must have the shape \(4, 5\)"):
            basis.transform(np.zeros((5, 4)))
        with pytest.raises(ParameterError, match="coefficients must be 1 to 20 numbers"):
            basis.values_on_grid(np.zeros(21))
        with pytest.raises(ParameterError, match="coefficients must be of one function"):
            basis.values_at([[0.5, 0.5]], np.zeros((2, 20)))
        with pytest.raises(ParameterError, match="order must be 2 integers from 0 to 64"):
            basis.evaluate([[0.5, 0.5]], 1)
        with pytest.raises(ParameterError, match="order must be 2 integers from 0 to 64"):
            basis.evaluate([[0.5, 0.5]], (1, -1))
        with pytest.raises(ParameterError, match="points must lie in the domain"):
            basis.evaluate([[0.5, 1.5]])
        with pytest.raises(ParameterError, match="points must"):
            basis.evaluate([[0.5, 0.5, 0.5]])
        huge = BoxBasis.on_grid("cosine", (256, 256), SQUARE, 1000)
        with pytest.raises(ParameterError, match="Use transform"):
            _ = huge.analysis

    def test_every_kind_is_known_by_its_name(self):
        assert set(AXES) == set(KINDS)
