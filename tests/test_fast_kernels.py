"""Leading kernel eigenpairs without the matrix, and product kernels: against dense algebra."""

import itertools
import json
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh, subspace_angles
from scipy.sparse import linalg
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from dpfda.bases import KernelBasis, KroneckerBasis, lanczos
from dpfda.bases import kernel as kernel_module
from dpfda.bases.grids import product_points
from dpfda.bases.kernels import default_kernel
from dpfda.bases.lanczos import (
    cross_product,
    gram_product,
    is_uniform,
    matern_terms,
    semiseparable_product,
    toeplitz_product,
)
from dpfda.bases.products import fixed_product, in_two_parts
from dpfda.bases.protocol import on_box
from dpfda.bases.reading import basis_from_json
from dpfda.errors import ParameterError

POINTS = 1000
EVEN = np.linspace(0.0, 1.0, POINTS)
UNEVEN = np.sort(np.random.default_rng(30).uniform(0.0, 1.0, POINTS))
MIXED = ConstantKernel(3.0) * Matern(0.1, nu=1.5) + Matern(0.5, nu=2.5) * ConstantKernel(0.5)
MATERNS = [Matern(0.1, nu=0.5), Matern(0.1, nu=1.5), Matern(0.2, nu=2.5), MIXED]


def gram(kernel, at, points=None):
    points = at if points is None else points
    return kernel(at[:, None], points[:, None])


def operator(kernel, basis):
    root = np.sqrt(basis.weights)
    return root[:, None] * gram(kernel, basis.grid_points) * root


class TestProducts:
    @given(
        seed=st.integers(0, 2**32 - 1),
        size=st.integers(2, 60),
        kernel=st.sampled_from(MATERNS),
        stretch=st.floats(0.01, 1000),
    )
    @settings(max_examples=60, deadline=None)
    def test_semiseparable_products_are_products_with_the_matrix(self, seed, size, kernel, stretch):
        random = np.random.default_rng(seed)
        points = np.sort(random.uniform(0, stretch, size))
        points[random.integers(1, size)] = points[0]
        points.sort()
        vectors = random.normal(size=(size, 3))
        dense = gram(kernel, points) @ vectors
        found = semiseparable_product(matern_terms(kernel), points)(vectors)
        np.testing.assert_allclose(found, dense, rtol=0, atol=1e-12 * size)
        one = semiseparable_product(matern_terms(kernel), points)(vectors[:, 0])
        np.testing.assert_allclose(one, dense[:, 0], rtol=0, atol=1e-12 * size)

    def test_many_columns_are_taken_in_parts(self, monkeypatch):
        vectors = np.random.default_rng(0).normal(size=(50, 7))
        monkeypatch.setattr("dpfda.bases.lanczos.LARGEST_STATE", 300)
        points = UNEVEN[:50]
        found = semiseparable_product(matern_terms(MATERNS[1]), points)(vectors)
        np.testing.assert_allclose(found, gram(MATERNS[1], points) @ vectors, rtol=0, atol=1e-12)

    @given(seed=st.integers(0, 2**32 - 1), size=st.integers(2, 70))
    @settings(max_examples=30, deadline=None)
    def test_toeplitz_products_are_products_with_the_matrix(self, seed, size):
        random = np.random.default_rng(seed)
        row, vectors = random.normal(size=size), random.normal(size=(size, 2))
        lags = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        found = toeplitz_product(row)(vectors)
        np.testing.assert_allclose(found, row[lags] @ vectors, rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(toeplitz_product(row)(vectors[:, 1]), found[:, 1], atol=1e-13 * size)

    @pytest.mark.parametrize(
        "kernel", [*MATERNS, RBF(0.1), RationalQuadratic(0.2), ExpSineSquared(1, 1)]
    )
    def test_a_structure_is_found_on_uniform_grids(self, kernel):
        vectors = np.random.default_rng(1).normal(size=(POINTS, 2))
        found = gram_product(kernel, EVEN)(vectors)
        np.testing.assert_allclose(found, gram(kernel, EVEN) @ vectors, rtol=0, atol=1e-10)

    def test_no_structure_is_claimed_where_none_is_known(self):
        assert gram_product(RBF(0.1), UNEVEN) is None
        assert gram_product(lambda s, t: np.exp(-np.abs(s - t)), EVEN) is None
        assert gram_product(RBF(0.1) * Matern(0.1, nu=1.5), UNEVEN) is None
        assert gram_product(WhiteKernel(1.0), EVEN) is None
        assert gram_product(RBF(0.1) * RBF(0.1), EVEN) is not None

    def test_matern_terms_are_read_and_others_refused(self):
        assert [tuple(term) for term in matern_terms(MIXED)] == [(3.0, 0.1, 1.5), (0.5, 0.5, 2.5)]
        for other in (
            Matern(0.1, nu=0.7),
            Matern(0.1, nu=math.inf),
            Matern([0.1], nu=1.5),
            RBF(0.1),
            Matern(0.1, nu=1.5) * Matern(0.2, nu=1.5),
            Matern(0.1, nu=1.5) + RBF(0.1),
        ):
            assert matern_terms(other) is None

    def test_uniform_means_uniform_to_rounding(self):
        assert is_uniform(EVEN)
        assert is_uniform(np.linspace(-3.1, 7.7, 12345))
        bent = EVEN.copy()
        bent[500] += 1e-9
        assert not is_uniform(bent)

    @pytest.mark.parametrize("kernel", MATERNS)
    def test_products_between_two_sets_of_points(self, kernel):
        at = np.concatenate([UNEVEN[10:13], [0.5, 0.5, -0.2, 1.3]])
        vectors = np.random.default_rng(2).normal(size=(POINTS, 3))
        dense = gram(kernel, at, UNEVEN) @ vectors
        found = cross_product(matern_terms(kernel), at, UNEVEN, vectors)
        np.testing.assert_allclose(found, dense, rtol=0, atol=1e-10)


class TestLanczos:
    @pytest.mark.parametrize("found_at_first", [None, (0, 3, 4, 6, 10, 11, 12, 13, 14)])
    def test_copies_of_a_repeated_eigenvalue_are_not_missed(self, found_at_first, monkeypatch):
        values = np.concatenate([[5.0, 5, 5, 4, 3, 3, 2, 2, 2, 2], np.linspace(1, 0, 190)])
        turn, _ = np.linalg.qr(np.random.default_rng(9).normal(size=(200, 200)))
        if found_at_first is not None:
            # Lanczos from one vector sees one copy of each, but for rounding and restarts.
            found, real = iter([(None, turn[:, list(found_at_first)])]), linalg.eigsh
            monkeypatch.setattr(linalg, "eigsh", lambda *of, **by: next(found, None) or real(*of, **by))
        matrix = (turn * values) @ turn.T
        pairs = lanczos.leading_eigenpairs(lambda v: matrix @ v, 200, float(values.sum()), 9)
        np.testing.assert_allclose(pairs.values, values[:9], rtol=1e-12)
        gram = pairs.vectors.T @ pairs.vectors
        np.testing.assert_allclose(gram, np.eye(9), rtol=0, atol=1e-12)
        assert pairs.defect < 1e-12

    def test_a_wrong_operator_is_found_out(self):
        twisted = np.triu(np.random.default_rng(3).normal(size=(60, 60)))
        with pytest.raises(ParameterError, match="few enough for Lanczos"):
            lanczos.leading_eigenpairs(lambda v: twisted @ v, 60, 10.0, 4)

    # An eigenvalue that occurs eight times, of which ARPACK leaves a residual of 2e-9.
    @example(seed=37257, count=3)
    @given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 6))
    @settings(max_examples=20, deadline=None)
    def test_any_spectrum(self, seed, count):
        random = np.random.default_rng(seed)
        values = np.sort(random.choice([1.0, 0.5, 0.25, 1e-3, 1e-8, 0.0], 40))[::-1]
        values[0] = 1.0
        turn, _ = np.linalg.qr(random.normal(size=(40, 40)))
        matrix = (turn * values) @ turn.T
        pairs = lanczos.leading_eigenpairs(lambda v: matrix @ v, 40, float(values.sum()), count)
        np.testing.assert_allclose(pairs.values, values[:count], rtol=0, atol=1e-9)
        residuals = np.linalg.norm(matrix @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
        assert residuals.max() <= pairs.defect * pairs.values[0] + 1e-14


class TestLeadingFunctions:
    # Every pair of kernel, grid and rule occurs.
    @pytest.mark.parametrize(
        ("kernel", "grid", "rule"),
        [
            (kernel, grid, ("trapezoid", "uniform")[(place + column) % 2])
            for place, kernel in enumerate(MATERNS)
            for column, grid in enumerate((EVEN, UNEVEN))
        ],
    )
    def test_they_are_those_of_the_dense_solver(self, kernel, grid, rule):
        fast = KernelBasis.on_grid(kernel, grid, (0, 1), rule, components=30)
        dense = KernelBasis.on_grid(kernel, grid, (0, 1), rule)
        assert fast.defect is not None
        assert dense.defect is None
        first = dense.eigenvalues[0]
        np.testing.assert_allclose(fast.eigenvalues, dense.eigenvalues[:30], rtol=0, atol=1e-12 * first)
        # Signs agree too.
        np.testing.assert_allclose(fast.values, dense.values[:, :30], rtol=0, atol=1e-8)
        assert fast.residual == pytest.approx(1 - dense.eigenvalues[:30].sum() / fast.total, abs=1e-12)
        assert fast.total == pytest.approx(dense.eigenvalues.sum(), rel=1e-6)

    @pytest.mark.parametrize("kernel", [RBF(0.1), RationalQuadratic(0.3)])
    def test_smooth_kernels_agree_as_far_as_their_gaps_allow(self, kernel):
        fast = KernelBasis.on_grid(kernel, EVEN, components=60)
        dense = KernelBasis.on_grid(kernel, EVEN)
        assert fast.defect is not None
        count = fast.eigenvalues.size
        assert count == min(60, dense.eigenvalues.size)
        first = dense.eigenvalues[0]
        np.testing.assert_allclose(
            fast.eigenvalues, dense.eigenvalues[:count], rtol=0, atol=1e-13 * first
        )
        gaps = -np.diff(np.append(dense.eigenvalues, 0.0))[:count] / first
        closest = np.minimum(gaps, np.insert(gaps[:-1], 0, np.inf))
        distance = np.abs(fast.values - dense.values[:, :count]).max(axis=0)
        assert (distance < 1e-13 * np.sqrt(POINTS) / closest).all()
        assert distance[:5].max() < 1e-8

    @pytest.mark.parametrize("kernel", MATERNS[1:])
    def test_what_is_said_of_the_error_is_true(self, kernel):
        basis = KernelBasis.on_grid(kernel, UNEVEN, components=40)
        vectors = np.sqrt(basis.weights)[:, None] * basis.values
        misses = operator(kernel, basis) @ vectors - vectors * basis.eigenvalues
        assert np.linalg.norm(misses, axis=0).max() <= (basis.defect + 1e-14) * basis.eigenvalues[0]
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(40), rtol=0, atol=1e-12)

    def test_pairs_of_equal_eigenvalues_are_both_found(self):
        """On a circle the eigenvalues are the Fourier transform of the kernel, and come in pairs."""
        grid = (np.arange(POINTS) + 0.5) / POINTS
        kernel = ExpSineSquared(0.3, 1.0)
        basis = KernelBasis.on_grid(kernel, grid, (0, 1), "uniform", components=21)
        row = kernel([[grid[0]]], grid[:, None])[0] / POINTS
        exact = np.sort(np.fft.fft(row).real)[::-1][:21]
        np.testing.assert_allclose(basis.eigenvalues, exact, rtol=0, atol=1e-13)
        waves = np.stack(
            [np.ones(POINTS)]
            + [f(2 * np.pi * k * grid) for k in range(1, 11) for f in (np.cos, np.sin)],
            axis=1,
        )
        assert subspace_angles(basis.values, waves).max() < 1e-7

    def test_every_run_gives_the_same_bits(self):
        first, again = (KernelBasis.on_grid(MATERNS[1], UNEVEN, components=20) for _ in range(2))
        assert np.array_equal(first.values, again.values)
        assert np.array_equal(first.eigenvalues, again.eigenvalues)

    def test_small_problems_and_unknown_kernels_go_to_the_dense_solver(self):
        def bridge(s, t):
            return np.minimum(s, t) - s * t + 1.0

        small = np.linspace(0, 1, 80)
        for kernel, grid, count in (
            (MATERNS[1], small, 5),
            (MATERNS[1], EVEN, 900),
            (bridge, small, 5),
        ):
            short = KernelBasis.on_grid(kernel, grid, components=count)
            whole = KernelBasis.on_grid(kernel, grid)
            assert short.defect is None
            assert np.array_equal(short.eigenvalues, whole.eigenvalues[:count])
            assert np.array_equal(short.values, whole.values[:, :count])
            left = 1 - whole.eigenvalues[:count].sum() / whole.eigenvalues.sum()
            assert short.residual == pytest.approx(left, abs=1e-9)
            assert whole.residual == 0.0

    def test_all_of_a_smooth_kernel_on_many_points_are_found_without_the_matrix(self):
        grid = np.sort(np.random.default_rng(5).uniform(0, 1, 2600))
        kernel = default_kernel((0.0, 1.0))
        basis = KernelBasis.on_grid(kernel, grid)
        assert basis.defect is not None
        root = np.sqrt(basis.weights)
        vectors = root[:, None] * basis.values
        matrix = root[:, None] * kernel(grid[:, None], grid) * root
        first = basis.eigenvalues[0]
        misses = matrix @ vectors - vectors * basis.eigenvalues
        assert np.linalg.norm(misses, axis=0).max() <= 1e-12 * first
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), rtol=0, atol=1e-11)
        # Nothing above rounding is left: of the rest the largest is less than the rule's least.
        left = matrix - (vectors * basis.eigenvalues) @ vectors.T
        start = np.random.default_rng(6).normal(size=len(grid))
        for _ in range(60):
            start = left @ (start / np.linalg.norm(start))
        assert np.linalg.norm(start) < 1.1e-10 * first
        assert basis.eigenvalues[-1] > 1e-10 * first
        assert basis.residual == 0.0

    def test_a_rough_kernel_on_many_points_keeps_all_its_functions(self):
        basis = KernelBasis.on_grid(MATERNS[0], np.linspace(0, 1, 2500))
        assert basis.defect is None
        assert basis.eigenvalues.size == 2500

    def test_the_residual_is_in_units_of_the_domains_length(self):
        short = KernelBasis.on_grid(Matern(1.0, nu=0.5), 10 * np.linspace(0, 1, 50), components=4)
        whole = KernelBasis.on_grid(Matern(1.0, nu=0.5), 10 * np.linspace(0, 1, 50))
        # Average variance one: the trace is the length.
        assert whole.eigenvalues.sum() == pytest.approx(10.0)
        assert short.residual == pytest.approx(10.0 - whole.eigenvalues[:4].sum())
        assert short.truncate(2).residual == pytest.approx(10.0 - whole.eigenvalues[:2].sum())

    def test_functions_off_the_grid_in_parts_or_by_states(self, monkeypatch):
        at = np.linspace(0, 1, 57)
        for kernel in (MATERNS[1], RBF(0.2)):
            basis = KernelBasis.on_grid(kernel, EVEN, components=8)
            plain = basis.evaluate(at)
            slopes = basis.evaluate(at[1:-1], 1)
            with monkeypatch.context() as patch:
                patch.setattr(kernel_module, "LARGEST_MATRIX", 5000)
                np.testing.assert_allclose(basis.evaluate(at), plain, rtol=0, atol=1e-9)
                np.testing.assert_allclose(basis.evaluate(at[1:-1], 1), slopes, rtol=0, atol=1e-4)

    def test_twenty_thousand_points_need_little_memory(self):
        grid = np.sort(np.random.default_rng(4).uniform(0, 1, 20_000))
        tracemalloc.start()
        basis = KernelBasis.on_grid(Matern(0.1, nu=1.5), grid, (0, 1), components=30)
        again = basis.evaluate(grid)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        # The Gram matrix would take 3.2 GB.
        assert peak < 400 * 2**20
        np.testing.assert_allclose(again, basis.values, rtol=0, atol=1e-8)
        assert basis.defect < 1e-13

    def test_writing_and_reading_gives_the_same_bits(self):
        basis = KernelBasis.on_grid(MATERNS[1], UNEVEN, components=10)
        again = basis_from_json(json.loads(json.dumps(basis.to_json())), None)
        assert np.array_equal(again.values, basis.values)
        assert again.residual == basis.residual
        assert again.defect == basis.defect
        older = {k: v for k, v in basis.to_json().items() if k not in ("total", "defect")}
        assert KernelBasis.from_json(older).residual == 0.0

    @pytest.mark.parametrize("components", [0, -1, POINTS + 1, 2.5, "3", True])
    def test_number_of_functions_must_fit(self, components):
        with pytest.raises(ParameterError, match=f"components must be an integer from 1 to {POINTS}"):
            KernelBasis.on_grid(MATERNS[0], EVEN, components=components)


class TestFixedProducts:
    @given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 200), exponent=st.integers(-300, 300))
    @settings(max_examples=40, deadline=None)
    def test_the_order_of_summation_and_the_company_do_not_matter(self, seed, size, exponent):
        random = np.random.default_rng(seed)
        values = np.ldexp(random.normal(size=(6, size)), exponent)
        matrix = random.normal(size=(size, 4))
        found = fixed_product(values, in_two_parts(matrix))
        order = random.permutation(size)
        shuffled = fixed_product(values[:, order].copy(), in_two_parts(matrix[order].copy()))
        assert np.array_equal(found, shuffled)
        rows = random.permutation(6)
        assert np.array_equal(fixed_product(values[rows], in_two_parts(matrix)), found[rows])

    def test_it_is_accurate(self):
        random = np.random.default_rng(5)
        values, matrix = random.normal(size=(3, 300)), random.normal(size=(300, 2))
        found = fixed_product(values, in_two_parts(matrix))
        for i, j in itertools.product(range(3), range(2)):
            exact = sum(Fraction(x) * Fraction(y) for x, y in zip(values[i], matrix[:, j], strict=True))
            assert found[i, j] == pytest.approx(float(exact), abs=1e-10)

    def test_partial_sums_stay_whole(self):
        for size in (1, 2, 3, 1000, 1024, 1025, 2**20):
            bits = in_two_parts(np.ones((size, 1))).bits
            assert size * 2 ** (2 * bits) <= 2**53


FIRST = np.sort(np.random.default_rng(31).uniform(0.0, 1.0, 9))
SECOND = np.linspace(0.0, 2.0, 7)


@pytest.fixture(scope="module")
def kronecker():
    return KroneckerBasis.on_grid(
        [Matern(0.3, nu=1.5), Matern(0.5, nu=0.5)], [FIRST, SECOND], [(0, 1), (0, 2)]
    )


class TestKronecker:
    def test_eigenpairs_are_those_of_the_whole_matrix(self, kronecker):
        points = product_points([FIRST, SECOND])
        whole = gram(Matern(0.3, nu=1.5), points[:, 0]) * gram(Matern(0.5, nu=0.5), points[:, 1])
        root = np.sqrt(kronecker.weights)
        weighted = root[:, None] * whole * root
        exact = eigh(weighted, eigvals_only=True)[::-1]
        np.testing.assert_allclose(kronecker.eigenvalues, exact, rtol=0, atol=1e-13)
        vectors = root[:, None] * kronecker.values_on_grid(np.eye(63)).reshape(63, 63).T
        misses = weighted @ vectors - vectors * kronecker.eigenvalues
        assert np.abs(misses).max() < 1e-12
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(63), rtol=0, atol=1e-10)
        assert kronecker.weights.sum() == pytest.approx(2.0)

    def test_equal_axes_are_ordered_by_index_where_eigenvalues_tie(self):
        axis = np.linspace(0, 1, 8)
        basis = KroneckerBasis.on_grid(Matern(0.3, nu=1.5), [axis, axis])
        values = KernelBasis.on_grid(Matern(0.3, nu=1.5), axis).eigenvalues
        pairs = sorted(
            itertools.product(range(8), repeat=2), key=lambda ij: (-values[ij[0]] * values[ij[1]], ij)
        )
        assert list(zip(*(index.tolist() for index in basis.indices), strict=True)) == pairs

    @given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 63))
    @settings(max_examples=30, deadline=None)
    def test_transform_and_synthesis(self, kronecker, seed, count):
        basis = kronecker.truncate(count)
        random = np.random.default_rng(seed)
        values, coefficients = random.normal(size=(9, 7)), random.normal(size=count)
        found = basis.transform(values)
        np.testing.assert_allclose(found, values.ravel() @ basis.analysis, rtol=0, atol=1e-10)
        curve = basis.values_on_grid(coefficients)
        functions = basis.evaluate(product_points([FIRST, SECOND]))
        np.testing.assert_allclose(curve.ravel(), functions @ coefficients, rtol=0, atol=1e-9)
        np.testing.assert_allclose(basis.transform(curve), coefficients, rtol=0, atol=1e-10)
        energy = float(basis.weights @ curve.ravel() ** 2)
        assert energy == pytest.approx(float(coefficients @ coefficients), rel=1e-10)
        finer = basis.values_on_grid(coefficients, (5, 11))
        at = product_points(basis.midpoints((5, 11)))
        plain = basis.evaluate(at) @ coefficients
        np.testing.assert_allclose(finer.ravel(), plain, rtol=0, atol=1e-10)
        np.testing.assert_allclose(basis.values_at(at, coefficients), plain, rtol=0, atol=1e-10)

    def test_the_transform_of_a_record_is_its_own(self, kronecker):
        values = np.random.default_rng(6).normal(size=(4, 9, 7))
        alone = kronecker.transform(values[2].copy())
        assert np.array_equal(kronecker.transform(values[2]), alone)
        assert np.array_equal(kronecker.transform(np.asfortranarray(values[2])), alone)
        assert np.array_equal(kronecker.transform(values[2].ravel()), alone)
        assert np.array_equal(kronecker.transform(8 * values[2]), 8 * alone)

    def test_several_functions_at_once(self, kronecker):
        coefficients = np.random.default_rng(7).normal(size=(5, 2, 20))
        together = kronecker.values_on_grid(coefficients)
        assert together.shape == (5, 2, 9, 7)
        one = kronecker.values_on_grid(coefficients[3, 1])
        np.testing.assert_allclose(together[3, 1], one, rtol=0, atol=1e-12)

    def test_derivatives_are_those_of_the_axes(self, kronecker):
        at = np.array([[0.31, 0.4], [0.7, 1.2]])
        factor = kronecker.factors[0].evaluate(at[:, 0], 1), kronecker.factors[1].evaluate(at[:, 1])
        i, j = kronecker.indices
        found = kronecker.evaluate(at, (1, 0))
        np.testing.assert_allclose(found, factor[0][:, i] * factor[1][:, j], rtol=1e-12)

    def test_the_residual_is_the_share_that_is_left(self, kronecker):
        short = kronecker.truncate(10)
        total = kronecker.eigenvalues.sum()
        assert kronecker.residual == pytest.approx(0.0, abs=1e-12)
        left = 2.0 * (1 - kronecker.eigenvalues[:10].sum() / total)
        assert short.residual == pytest.approx(left, rel=1e-9)
        assert kronecker.decay == 2.0

    def test_factors_must_hold_what_the_products_need(self):
        few = [KernelBasis.on_grid(Matern(0.3, nu=1.5), axis, components=4) for axis in (FIRST, SECOND)]
        whole = [KernelBasis.on_grid(Matern(0.3, nu=1.5), axis) for axis in (FIRST, SECOND)]
        short = KroneckerBasis.of(few, 3)
        assert np.array_equal(short.eigenvalues, KroneckerBasis.of(whole, 3).eigenvalues)
        assert short.residual == pytest.approx(KroneckerBasis.of(whole, 3).residual)
        with pytest.raises(ParameterError, match="factor 0 must hold all functions"):
            KroneckerBasis.of(few, 16)

    def test_writing_and_reading_gives_the_same_bits(self, kronecker):
        short = kronecker.truncate(12)
        again = basis_from_json(json.loads(json.dumps(short.to_json())), None)
        values = np.random.default_rng(8).normal(size=(9, 7))
        assert np.array_equal(again.transform(values), short.transform(values))
        assert np.array_equal(again.eigenvalues, short.eigenvalues)
        assert again.residual == pytest.approx(short.residual, rel=1e-12)
        assert on_box(again)
        assert "Matern" in again.describe()

    def test_unusable_arguments(self, kronecker):
        with pytest.raises(ParameterError, match="kernels must be one or 2"):
            KroneckerBasis.on_grid([RBF(0.1)] * 3, [FIRST, SECOND])
        with pytest.raises(ParameterError, match="components must be an integer from 1 to 63"):
            KroneckerBasis.of(kronecker.factors, 64)
        with pytest.raises(ParameterError, match=r"values must have the shape \(9, 7\)"):
            kronecker.transform(np.zeros((7, 9)))
