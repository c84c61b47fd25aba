"""Bases: closed forms, a second way to every number, and one protocol for both kinds."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic, WhiteKernel

from dpfda import PrivateMean
from dpfda.bases import CosineBasis, FourierBasis, KernelBasis, LegendreBasis, SineBasis
from dpfda.bases.grids import quadrature_weights
from dpfda.bases.kernel import fix_signs
from dpfda.bases.kernels import (
    MaternSum,
    MaternTerm,
    as_scikit_learn,
    default_kernel,
    kernel_decay,
    kernel_from_json,
    kernel_function,
    kernel_to_json,
    parse_kernel,
)
from dpfda.errors import ParameterError

RNG = np.random.default_rng(20)
IRREGULAR = np.sort(RNG.uniform(2.0, 5.0, 40))
EVEN = np.linspace(0.0, 1.0, 60)
EVEN_WEIGHTS = quadrature_weights("trapezoid", EVEN, (0.0, 1.0))[:, None]

PROTOCOL = {
    "kernel, even grid": lambda: KernelBasis.on_grid(Matern(0.1, nu=1.5), EVEN),
    "kernel, irregular grid": lambda: KernelBasis.on_grid(Matern(0.5, nu=2.5), IRREGULAR, (1.9, 5.1)),
    "kernel, uniform weights": lambda: KernelBasis.on_grid(RBF(0.3), EVEN, (-0.1, 1.1), "uniform"),
    "cosine, even grid": lambda: CosineBasis.on_grid(12, EVEN),
    "cosine, irregular grid": lambda: CosineBasis.on_grid(9, IRREGULAR, (1.9, 5.1)),
    "cosine, uniform weights": lambda: CosineBasis.on_grid(12, EVEN, (-0.1, 1.1), quadrature="uniform"),
    "sine": lambda: SineBasis.on_grid(9, IRREGULAR, (1.9, 5.1)),
    "fourier": lambda: FourierBasis.on_grid(9, IRREGULAR, (1.9, 5.1)),
    "legendre": lambda: LegendreBasis.on_grid(7, IRREGULAR, (1.9, 5.1)),
}


@pytest.fixture(params=PROTOCOL.values(), ids=PROTOCOL.keys())
def basis(request: Any) -> Any:
    return request.param()


class TestProtocol:
    """What every basis owes the rest of the library."""

    def test_weights_are_positive_and_add_up_to_the_length(self, basis: Any) -> None:
        start, end = basis.domain_range
        assert (basis.weights > 0).all()
        assert math.isclose(basis.weights.sum(), end - start, rel_tol=1e-12)

    def test_eigenvalues_are_positive_and_decrease(self, basis: Any) -> None:
        assert (basis.eigenvalues > 0).all()
        assert (np.diff(basis.eigenvalues) <= 0).all()

    def test_analysis_undoes_synthesis(self, basis: Any) -> None:
        functions = basis.evaluate(basis.grid_points)
        identity = functions.T @ basis.analysis
        # Off-grid functions carry rounding over their eigenvalue, hence a limit for each column.
        limit = 1e-10 + 1e4 * np.finfo(float).eps * basis.eigenvalues[0] / basis.eigenvalues
        assert (np.abs(identity - np.eye(basis.eigenvalues.size)) < limit[:, None]).all()

    def test_points_off_the_grid_have_finite_values(self, basis: Any) -> None:
        start, end = basis.domain_range
        values = basis.evaluate(np.linspace(start, end, 77))
        assert values.shape == (77, basis.eigenvalues.size)
        assert np.isfinite(values).all()

    def test_derivative_is_the_limit_of_differences(self, basis: Any) -> None:
        start, end = basis.domain_range
        step = 2e-4 * (end - start)
        at = np.linspace(start, end, 23)[1:-1]
        slope = (basis.evaluate(at + step) - basis.evaluate(at - step)) / (2 * step)
        slopes = basis.evaluate(at, 1)
        scale = np.abs(slopes).max(axis=0) + 1e-12
        assert (np.abs(slopes - slope) / scale)[:, :8].max() < 1e-3

    def test_truncation_keeps_the_leading_functions(self, basis: Any) -> None:
        short = basis.truncate(3)
        at = np.linspace(*basis.domain_range, 11)
        assert np.array_equal(short.eigenvalues, basis.eigenvalues[:3])
        np.testing.assert_allclose(short.evaluate(at), basis.evaluate(at)[:, :3], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(short.analysis, basis.analysis[:, :3], rtol=0, atol=1e-12)
        assert short.domain_range == basis.domain_range

    def test_points_outside_the_domain_are_refused(self, basis: Any) -> None:
        start, end = basis.domain_range
        for outside in (start - 0.01, end + 0.01):
            with pytest.raises(ParameterError, match=r"points must lie in the domain \["):
                basis.evaluate([outside])
        with pytest.raises(ParameterError, match="points must be finite"):
            basis.evaluate([math.nan])

    def test_writing_and_reading_gives_the_same_bits(self, basis: Any) -> None:
        again = type(basis).from_json(basis.to_json())
        at = np.linspace(*basis.domain_range, 31)
        assert np.array_equal(again.evaluate(at), basis.evaluate(at))
        assert np.array_equal(again.analysis, basis.analysis)
        assert np.array_equal(again.eigenvalues, basis.eigenvalues)
        assert again.domain_range == basis.domain_range

    def test_arrays_cannot_be_changed(self, basis: Any) -> None:
        for name in ("grid_points", "weights", "eigenvalues", "analysis"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(basis, name)[0] = 7.0

    def test_it_says_what_it_is(self, basis: Any) -> None:
        kind = type(basis).__name__.removesuffix("Basis").lower()
        assert ("eigenbasis of" if kind == "kernel" else kind) in basis.describe().lower()


class TestKernelEigenbasis:
    @pytest.mark.parametrize("kernel", [Matern(0.1, nu=0.5), Matern(0.2, nu=1.5), RBF(0.1)])
    @pytest.mark.parametrize("grid", [EVEN, (IRREGULAR - 2) / 3], ids=["even", "irregular"])
    @pytest.mark.parametrize("rule", ["trapezoid", "uniform"])
    def test_functions_are_orthonormal_under_the_weights(
        self, kernel: Any, grid: np.ndarray, rule: str
    ) -> None:
        basis = KernelBasis.on_grid(kernel, grid, (0, 1), rule)
        gram = basis.values.T @ (basis.weights[:, None] * basis.values)
        np.testing.assert_allclose(gram, np.eye(basis.eigenvalues.size), rtol=0, atol=1e-10)

    @pytest.mark.parametrize("kernel", [Matern(0.1, nu=1.5), RBF(0.2), Matern(0.5, nu=0.5)])
    def test_mercer_sum_gives_the_kernel_back(self, kernel: Any) -> None:
        basis = KernelBasis.on_grid(kernel, EVEN)
        mercer = (basis.values * basis.eigenvalues) @ basis.values.T
        np.testing.assert_allclose(mercer, kernel(EVEN[:, None]), rtol=0, atol=1e-8)

    def test_trace_is_the_integral_of_the_diagonal(self) -> None:
        basis = KernelBasis.on_grid(ConstantKernel(3.0) * Matern(0.1, nu=1.5), IRREGULAR, (1.5, 5.5))
        assert math.isclose(basis.eigenvalues.sum(), 3.0 * 4.0, rel_tol=1e-10)

    def test_eigenvalues_of_brownian_motion(self) -> None:
        grid = (np.arange(400) + 0.5) / 400
        basis = KernelBasis.on_grid(np.minimum, grid, (0, 1))
        frequency = (np.arange(1, 21) - 0.5) * math.pi
        error = np.abs(basis.eigenvalues[:20] * frequency**2 - 1)
        # The midpoint rule is off by (w h)^2 / 12 to leading order.
        assert (error < (frequency / 400) ** 2 / 11).all()

    def test_eigenfunctions_of_brownian_motion(self) -> None:
        grid = (np.arange(400) + 0.5) / 400
        basis = KernelBasis.on_grid(np.minimum, grid, (0, 1))
        at = np.linspace(0.0, 1.0, 41)
        for order in range(5):
            exact = math.sqrt(2) * np.sin((order + 0.5) * math.pi * at)
            found = basis.evaluate(at)[:, order]
            sign = np.sign(found @ exact)
            np.testing.assert_allclose(sign * found, exact, rtol=0, atol=5e-4)

    @pytest.mark.parametrize("length", [0.1, 0.5, 2.0])
    def test_eigenvalues_of_the_exponential_kernel(self, length: float) -> None:
        # exp(-c|s - t|) on [0, 1]: 2c / (w^2 + c^2), w the roots of (w^2 - c^2) sin w = 2 c w cos w.
        c = 1 / length
        basis = KernelBasis.on_grid(Matern(length, nu=0.5), (np.arange(400) + 0.5) / 400, (0, 1))

        def secular(w: float) -> float:
            return (w * w - c * c) * math.sin(w) - 2 * c * w * math.cos(w)

        roots = [brentq(secular, j * math.pi + 1e-9, (j + 1) * math.pi) for j in range(12)]
        exact = [2 * c / (w * w + c * c) for w in roots]
        np.testing.assert_allclose(basis.eigenvalues[:12], exact, rtol=2e-3)

    @pytest.mark.parametrize(("nu", "decay"), [(0.5, 2.0), (1.5, 4.0), (2.5, 6.0)])
    def test_stated_decay_is_that_of_the_eigenvalues(self, nu: float, decay: float) -> None:
        basis = KernelBasis.on_grid(Matern(1.0, nu=nu), np.linspace(0, 1, 400))
        assert basis.decay == decay
        order = np.arange(25, 40)
        slope = np.polyfit(np.log(order), np.log(basis.eigenvalues[order - 1]), 1)[0]
        assert abs(-slope - decay) < 0.12 * decay

    @pytest.mark.parametrize("points", [100, 200, 500])
    def test_rank_deficient_kernels_give_finite_functions(self, points: int) -> None:
        basis = KernelBasis.on_grid(RBF(0.1), np.linspace(0, 1, points))
        raw = np.linalg.eigvalsh(RBF(0.1)(basis.grid_points[:, None]))
        assert raw.min() < 0, "the case is only hard where rounding makes eigenvalues negative"
        assert basis.eigenvalues.size < points / 3
        assert (basis.eigenvalues > 0).all()
        draws = np.sqrt(basis.eigenvalues) * np.random.default_rng(0).standard_normal(
            (200, basis.eigenvalues.size)
        )
        paths = draws @ basis.evaluate(np.linspace(0, 1, 333)).T
        assert np.isfinite(paths).all()
        # Variance 1 everywhere: nothing that matters was left out.
        assert abs(np.mean(paths**2) - 1) < 0.1

    def test_numerical_rank_does_not_depend_on_the_grid(self) -> None:
        ranks = {
            KernelBasis.on_grid(RBF(0.1), np.linspace(0, 1, points)).eigenvalues.size
            for points in (100, 200, 500)
        }
        assert len(ranks) == 1

    @pytest.mark.parametrize("kernel", [Matern(0.1, nu=0.5), Matern(0.1, nu=2.5), RBF(0.1)])
    def test_off_grid_formula_agrees_with_the_values_at_grid_points(self, kernel: Any) -> None:
        basis = KernelBasis.on_grid(kernel, IRREGULAR / 5, (0.3, 1.1))
        error = np.abs(basis.evaluate(basis.grid_points) - basis.values).max(axis=0)
        # Rounding of the order of eps is divided by the relative eigenvalue.
        assert (error < 1e3 * np.finfo(float).eps * basis.eigenvalues[0] / basis.eigenvalues).all()

    def test_off_grid_formula_agrees_with_a_much_finer_grid(self) -> None:
        coarse = KernelBasis.on_grid(Matern(0.2, nu=2.5), np.linspace(0, 1, 100))
        fine = KernelBasis.on_grid(Matern(0.2, nu=2.5), np.linspace(0, 1, 600))
        at = np.linspace(0, 1, 57)
        found, expected = coarse.evaluate(at)[:, :6], fine.evaluate(at)[:, :6]
        np.testing.assert_allclose(coarse.eigenvalues[:6], fine.eigenvalues[:6], rtol=5e-3)
        found = found * np.sign(np.sum(found * expected, axis=0))
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-2)

    @pytest.mark.parametrize("kernel", [Matern(0.1, nu=0.5), Matern(0.1, nu=1.5), RBF(0.2)])
    def test_signs_do_not_depend_on_rounding(self, kernel: Any) -> None:
        # On a symmetric grid the largest entries of odd functions come in pairs of opposite sign.
        basis = KernelBasis.on_grid(kernel, EVEN)
        noise = np.random.default_rng(3).standard_normal((60, 60))
        jitter = 1e-15 * (noise + noise.T)

        def nearly(s: np.ndarray, t: np.ndarray) -> np.ndarray:
            return kernel(s[:, :1], t[0][:, None]) + jitter

        vectors = basis.values * np.sqrt(EVEN_WEIGHTS)
        for vector in vectors.T:
            large = np.abs(vector) > np.abs(vector).max() / 2
            assert vector[large][0] > 0

        again = KernelBasis.on_grid(nearly, EVEN)
        sure = basis.eigenvalues > 1e-6 * basis.eigenvalues[0]
        overlap = np.sum(basis.values * EVEN_WEIGHTS * again.values[:, : sure.size], axis=0)
        np.testing.assert_allclose(overlap[sure], 1.0, rtol=0, atol=1e-6)

    def test_signs_of_an_odd_function_do_not_hang_on_its_last_bits(self) -> None:
        odd = np.sin(2 * math.pi * EVEN)[:, None]
        for tilt in (0.0, 1e-15, -1e-15):
            tilted = odd * (1 + tilt * np.sign(EVEN - 0.5))[:, None]
            for sign in (1, -1):
                assert fix_signs(sign * tilted)[5, 0] > 0

    def test_the_domain_is_measured_in_its_own_units(self) -> None:
        unit = KernelBasis.on_grid(Matern(0.1, nu=1.5), EVEN)
        hours = KernelBasis.on_grid(Matern(2.4, nu=1.5), 24 * EVEN)
        np.testing.assert_allclose(hours.eigenvalues, 24 * unit.eigenvalues, rtol=1e-9)


def _matern_32(s: np.ndarray, t: np.ndarray, length: float) -> np.ndarray:
    a, r = math.sqrt(3) / length, s[:, None] - t
    return -(a**2) * r * np.exp(-a * np.abs(r))


def _matern_52(s: np.ndarray, t: np.ndarray, length: float) -> np.ndarray:
    a, r = math.sqrt(5) / length, s[:, None] - t
    return -(a**2) / 3 * r * (1 + a * np.abs(r)) * np.exp(-a * np.abs(r))


def _rbf(s: np.ndarray, t: np.ndarray, length: float) -> np.ndarray:
    r = s[:, None] - t
    return -r / length**2 * np.exp(-(r**2) / (2 * length**2))


def _matern_32_second(s: np.ndarray, t: np.ndarray, length: float) -> np.ndarray:
    a, r = math.sqrt(3) / length, s[:, None] - t
    return -(a**2) * (1 - a * np.abs(r)) * np.exp(-a * np.abs(r))


def _rbf_second(s: np.ndarray, t: np.ndarray, length: float) -> np.ndarray:
    r = s[:, None] - t
    return (r**2 / length**4 - length**-2) * np.exp(-(r**2) / (2 * length**2))


class TestKernelDerivatives:
    AT = np.concatenate([np.linspace(0.013, 0.987, 37), EVEN[5:10]])

    @pytest.mark.parametrize(
        ("kernel", "order", "formula", "limit"),
        [
            (Matern(0.1, nu=1.5), 1, _matern_32, 1e-4),
            (Matern(0.1, nu=2.5), 1, _matern_52, 1e-4),
            (RBF(0.1), 1, _rbf, 2e-4),
            (RBF(0.3), 1, _rbf, 2e-4),
            (RBF(0.1), 2, _rbf_second, 1e-2),
        ],
    )
    def test_against_the_derivative_of_the_kernel(
        self, kernel: Any, order: int, formula: Callable[..., np.ndarray], limit: float
    ) -> None:
        basis = KernelBasis.on_grid(kernel, EVEN)
        synthesis = basis.weights[:, None] * basis.values / basis.eigenvalues
        exact = formula(self.AT, EVEN, kernel.length_scale) @ synthesis
        error = np.abs(basis.evaluate(self.AT, order) - exact).max(axis=0)
        assert (error < limit * np.abs(exact).max(axis=0)).all()

    def test_second_derivative_where_the_kernel_has_a_kink(self) -> None:
        # At a grid point the kernel's third derivative jumps by 2 a^3: a central difference with
        # step h is off by (2/3) a^3 h there, weighted as that grid point is.
        basis = KernelBasis.on_grid(Matern(0.1, nu=1.5), EVEN)
        synthesis = basis.weights[:, None] * basis.values / basis.eigenvalues
        inner = EVEN[1:-1]
        error = basis.evaluate(inner, 2) - _matern_32_second(inner, EVEN, 0.1) @ synthesis
        kink = 2 / 3 * (math.sqrt(3) / 0.1) ** 3 * 1e-3 * np.abs(synthesis[1:-1])
        assert (np.abs(error) < 1.05 * kink + 1e-4 * np.abs(basis.evaluate(inner, 2)).max(axis=0)).all()

    @pytest.mark.parametrize(
        ("kernel", "order"),
        [
            (Matern(0.1, nu=0.5), 1),
            (Matern(3.0, nu=0.5), 1),
            (np.minimum, 1),
            (lambda s, t: np.exp(-np.abs(s - t)), 1),
            (Matern(0.1, nu=1.5), 3),
        ],
    )
    def test_refused_where_there_is_none(self, kernel: Any, order: int) -> None:
        basis = KernelBasis.on_grid(kernel, EVEN)
        with pytest.raises(ParameterError, match="kernel must be smooth enough for the derivative") as e:
            basis.evaluate([0.5], order)
        assert "Use a smoother kernel, such as Matern with nu >= 1.5" in str(e.value)


class TestCallableKernels:
    GRID = np.linspace(0.1, 1.0, 25)

    def test_broadcasting_and_scalar_ones_agree(self) -> None:
        known = KernelBasis.on_grid(Matern(0.3, nu=0.5), self.GRID)
        broadcasting = KernelBasis.on_grid(lambda s, t: np.exp(-np.abs(s - t) / 0.3), self.GRID)
        scalar = KernelBasis.on_grid(lambda s, t: math.exp(-abs(s - t) / 0.3), self.GRID)
        at = [0.2, 0.77]
        for basis in (broadcasting, scalar):
            np.testing.assert_allclose(basis.eigenvalues, known.eigenvalues, rtol=1e-9)
            np.testing.assert_allclose(basis.evaluate(at), known.evaluate(at), rtol=0, atol=1e-8)

    @pytest.mark.parametrize(
        ("kernel", "words"),
        [
            (lambda s, t: s - t + 2.0 * (s == t), "kernel must be symmetric; found k"),
            (lambda s, t: -np.exp(-np.abs(s - t)), "kernel must be positive semidefinite; found eigen"),
            (lambda s, t: np.cos(9 * (s + t)), "kernel must be positive semidefinite; found eigen"),
            (lambda s, t: np.abs(s - t), "kernel must be positive semidefinite; found eigen"),
            (lambda s, t: np.full_like(s, np.nan), "kernel must be finite on the grid"),
            (lambda s, t: np.where(s == t, np.inf, 1.0), "kernel must be finite on the grid"),
            (lambda s, t: 0.0 * s * t, "kernel must be positive semidefinite"),
            (Matern, "kernel must be an instance; found the class Matern. Add parentheses"),
            (3.0, r"kernel must be a scikit-learn kernel or a callable k\(s, t\); found float"),
        ],
    )
    def test_unusable_ones_are_refused(self, kernel: Any, words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            KernelBasis.on_grid(kernel, self.GRID)

    def test_a_kernel_that_returns_words_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="kernel must take two numbers and return one"):
            KernelBasis.on_grid(lambda s, t: "a word", self.GRID)

    def test_a_kernel_of_one_argument_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="kernel must take two numbers and return one") as e:
            KernelBasis.on_grid(lambda s: s, self.GRID)
        assert isinstance(e.value.__cause__, TypeError)


class TestKernelText:
    def test_names_and_percentages(self) -> None:
        assert parse_kernel("matern:0.2:1.5", (0, 1)) == Matern(0.2, nu=1.5)
        assert parse_kernel("matern:25%:2.5", (0, 24)) == Matern(6.0, nu=2.5)
        assert parse_kernel("rbf:3", (0, 24)) == RBF(3.0)
        assert parse_kernel("exponential:25%", (-2, 2)) == Matern(1.0, nu=0.5)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (
                "gauss:1",
                "kernel must be matern:RANGE:NU, rbf:RANGE or exponential:RANGE; found 'gauss:1'",
            ),
            ("matern:1", "kernel must be matern:RANGE:NU"),
            ("rbf", "kernel must be matern:RANGE:NU"),
            ("rbf:wide", "kernel must have numbers after the colons; found 'rbf:wide'"),
            ("rbf:%", "kernel must have numbers after the colons"),
            ("rbf:0", "kernel must have a positive range and smoothness"),
            ("matern:1:-1", "kernel must have a positive range and smoothness"),
            ("matern:1:nan", "kernel must have a positive range and smoothness"),
            ("rbf:inf", "kernel must have a positive range and smoothness"),
        ],
    )
    def test_anything_else_is_refused(self, text: str, words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            parse_kernel(text, (0, 1))

    @pytest.mark.parametrize(
        "kernel",
        [
            Matern(0.1, nu=1.5),
            Matern(0.1, nu=math.inf),
            RBF(0.2),
            RationalQuadratic(0.3, 1.5),
            ConstantKernel(2.0) * Matern(0.1) + RBF(0.5) ** 2,
        ],
    )
    def test_known_kernels_survive_writing(self, kernel: Any) -> None:
        written = kernel_to_json(kernel)
        assert written is not None
        assert kernel_from_json(written) == kernel

    def test_others_are_not_written(self) -> None:
        assert kernel_to_json(lambda s, t: s) is None
        assert kernel_to_json(RBF() + WhiteKernel()) is None
        assert kernel_to_json(RBF([1.0, 2.0])) is None

    def test_decay_sees_through_a_constant(self) -> None:
        assert kernel_decay(ConstantKernel(2.0) * Matern(0.1, nu=1.5)) == 4.0
        assert kernel_decay(Matern(nu=2.5) * ConstantKernel(2.0)) == 6.0
        assert kernel_decay(Matern(nu=math.inf)) == math.inf
        # Of a sum it is that of the slower part, where all are known.
        assert kernel_decay(RBF() + Matern(nu=1.5)) == 4.0
        assert kernel_decay(Matern() + RationalQuadratic()) is None
        assert kernel_decay(lambda s, t: s) is None


@pytest.mark.parametrize("kind", [CosineBasis, SineBasis, FourierBasis, LegendreBasis])
class TestClosedForms:
    def test_functions_are_orthonormal_in_l2(self, kind: Any) -> None:
        basis = kind.on_grid(9, IRREGULAR, (2.0, 5.0))
        nodes, weights = np.polynomial.legendre.leggauss(80)
        values = basis.evaluate(3.5 + 1.5 * nodes)
        gram = values.T @ (1.5 * weights[:, None] * values)
        np.testing.assert_allclose(gram, np.eye(9), rtol=0, atol=1e-12)

    @given(seed=st.integers(0, 2**32 - 1), components=st.integers(1, 12))
    @settings(max_examples=40, deadline=None)
    def test_its_own_span_is_recovered_on_any_grid(self, kind: Any, seed: int, components: int) -> None:
        random = np.random.default_rng(seed)
        basis = kind.on_grid(components, np.cumsum(random.uniform(0.5, 1.5, 50)))
        coefficients = random.uniform(-10, 10, components)
        curve = basis.evaluate(basis.grid_points) @ coefficients
        np.testing.assert_allclose(curve @ basis.analysis, coefficients, rtol=0, atol=1e-8)


class TestCosine:
    def test_functions_are_the_formula(self) -> None:
        basis = CosineBasis.on_grid(4, IRREGULAR, (2.0, 5.0))
        at = np.array([2.0, 2.5, 3.3, 5.0])
        values = basis.evaluate(at)
        np.testing.assert_allclose(values[:, 0], 1 / math.sqrt(3), rtol=1e-14)
        for j in (1, 2, 3):
            exact = math.sqrt(2 / 3) * np.cos(j * math.pi * (at - 2) / 3)
            np.testing.assert_allclose(values[:, j], exact, rtol=0, atol=1e-14)

    def test_sines_are_the_formula_with_no_constant(self) -> None:
        basis = SineBasis.on_grid(3, IRREGULAR, (2.0, 5.0), length_scale=0.3)
        at = np.array([2.0, 2.5, 3.3, 5.0])
        order = np.arange(1, 4)
        exact = math.sqrt(2 / 3) * np.sin(order * math.pi * (at[:, None] - 2) / 3)
        np.testing.assert_allclose(basis.evaluate(at), exact, rtol=0, atol=1e-14)
        slopes = math.sqrt(2 / 3) * order * math.pi / 3 * np.cos(order * math.pi * (at[:, None] - 2) / 3)
        np.testing.assert_allclose(basis.evaluate(at, 1), slopes, rtol=0, atol=1e-13)
        shape = (1 + (0.3 * order * math.pi / 3) ** 2 / 3) ** -2.0
        np.testing.assert_allclose(
            basis.eigenvalues / basis.eigenvalues[0], shape / shape[0], rtol=1e-12
        )

    def test_a_grid_with_both_ends_tells_two_sines_fewer_apart(self) -> None:
        assert SineBasis.on_grid(10, np.linspace(0, 1, 12)).components == 10
        with pytest.raises(ParameterError, match="few enough for the grid to tell"):
            SineBasis.on_grid(11, np.linspace(0, 1, 12))

    def test_truncation_keeps_the_fit_of_the_whole(self) -> None:
        # Least squares on all functions, then the first: not least squares on the first alone.
        basis = CosineBasis.on_grid(10, IRREGULAR, (2.0, 5.0))
        curve = basis.evaluate(IRREGULAR) @ np.arange(1.0, 11.0)
        found = curve @ basis.truncate(4).analysis
        np.testing.assert_allclose(found, [1, 2, 3, 4], rtol=0, atol=1e-10)
        again = CosineBasis.from_json(basis.truncate(4).to_json())
        np.testing.assert_allclose(curve @ again.analysis, [1, 2, 3, 4], rtol=0, atol=1e-10)

    @pytest.mark.parametrize("order", [1, 2, 3, 4])
    def test_derivatives_are_the_formula(self, order: int) -> None:
        basis = CosineBasis.on_grid(6, 2 * EVEN - 1, (-1.0, 1.0))
        at = np.linspace(-1, 1, 17)
        frequency = np.arange(6) * math.pi / 2
        wave = [np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin][order % 4]
        exact = frequency**order * wave((at[:, None] + 1) * frequency)
        exact[:, 0] = 0.0
        np.testing.assert_allclose(basis.evaluate(at, order), exact, rtol=0, atol=1e-10 * 8**order)

    def test_spectrum_is_that_of_whittle_and_matern(self) -> None:
        basis = CosineBasis.on_grid(60, 2 * EVEN, length_scale=0.3, nu=2.5)
        order = np.arange(60)
        shape = (1 + (0.3 * order * math.pi / 2) ** 2 / 5) ** -3.0
        np.testing.assert_allclose(basis.eigenvalues / basis.eigenvalues[0], shape, rtol=1e-12)
        assert math.isclose(basis.eigenvalues.sum(), 2.0, rel_tol=1e-12)
        assert basis.decay == 6.0

    @pytest.mark.parametrize("components", [0, -1, 61, 2.5, "3", True])
    def test_number_of_functions_must_fit(self, components: Any) -> None:
        with pytest.raises(ParameterError, match="components must be an integer from 1 to 60"):
            CosineBasis.on_grid(components, EVEN)

    @pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
    def test_range_and_smoothness_must_be_positive(self, scale: float) -> None:
        with pytest.raises(ParameterError, match="length_scale must be positive and finite"):
            CosineBasis.on_grid(3, EVEN, length_scale=scale)
        with pytest.raises(ParameterError, match=r"nu must be a number from 0\.001 to 1000"):
            CosineBasis.on_grid(3, EVEN, nu=scale)

    def test_grids_that_cannot_tell_cosines_apart_are_refused(self) -> None:
        crowded = np.concatenate([np.linspace(0, 1e-4, 20), [1.0]])
        with pytest.raises(ParameterError, match="components must be few enough for the grid"):
            CosineBasis.on_grid(15, crowded)


GRIDS = [
    ([0.0, math.nan, 1.0], "grid_points must be finite; found NaN or infinity"),
    ([0.0, math.inf], "grid_points must be finite"),
    (
        [0.0, 0.5, 0.5, 1.0],
        r"grid_points must increase strictly; found repeated points 0\.5, 0\.5 at pos",
    ),
    (
        [0.0, 0.7, 0.5],
        r"found unsorted points 0\.7, 0\.5 at positions 1 and 2\. Sort the grid and the col",
    ),
    ([0.3], r"hold at least two points in one dimension; found shape \(1,\)\. A curve on a grid of one"),
    ([], r"hold at least two points in one dimension; found shape \(0,\)"),
    (0.3, r"hold at least two points in one dimension; found shape \(\)"),
    ([[0.0, 1.0]], r"hold at least two points in one dimension; found shape \(1, 2\)"),
    (["a", "b"], "grid_points must be numbers"),
]

DOMAINS = [
    (
        (0.2, 1.0),
        r"domain must contain the grid; found \(0\.2, 1\.0\) for a grid from 0\.0 to 1\.0",
    ),
    ((0.0, 0.9), "domain must contain the grid"),
    ((1.0, 0.0), r"domain must be finite with a < b; found \(1\.0, 0\.0\)\. Swap the ends\?"),
    ((0.0, 0.0), "domain must be finite with a < b"),
    ((0.0, math.inf), "domain must be finite with a < b"),
    ((math.nan, 1.0), "domain must be finite with a < b"),
    ((0.0, 1.0, 2.0), r"domain must be two numbers \(a, b\)"),
    (1.0, r"domain must be two numbers \(a, b\); found 1\.0"),
    ("ab", r"domain must be two numbers \(a, b\)"),
]

WEIGHTS = [
    ("simpson", "quadrature must be 'trapezoid', 'uniform' or an array of weights; found 'simpson'"),
    ([1.0, 1.0], "quadrature must be 60 positive finite weights, one a grid point"),
    (np.zeros(60), "quadrature must be 60 positive finite weights"),
    (np.full(60, np.nan), "quadrature must be 60 positive finite weights"),
]

MAKERS = {
    "kernel": lambda grid, domain=None, rule="trapezoid": KernelBasis.on_grid(
        Matern(0.1, nu=1.5), grid, domain, rule
    ),
    "cosine": lambda grid, domain=None, rule="trapezoid": CosineBasis.on_grid(
        2, grid, domain, quadrature=rule
    ),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
class TestGrids:
    @pytest.mark.parametrize(("grid", "words"), GRIDS)
    def test_unusable_grids_are_refused(self, make: Any, grid: Any, words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            make(grid)

    @pytest.mark.parametrize(("domain", "words"), DOMAINS)
    def test_unusable_domains_are_refused(self, make: Any, domain: Any, words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            make(EVEN, domain)

    @pytest.mark.parametrize(("rule", "words"), WEIGHTS)
    def test_unusable_weights_are_refused(self, make: Any, rule: Any, words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            make(EVEN, None, rule)

    def test_the_caller_keeps_the_arrays(self, make: Any) -> None:
        grid, rule = EVEN.copy(), np.full(60, 1 / 60)
        basis = make(grid, None, rule)
        grid[0], rule[0] = -9.0, 9.0
        assert basis.grid_points[0] == 0.0
        assert basis.weights[0] == 1 / 60


class TestQuadrature:
    def test_trapezoid_rule_on_the_span_of_the_grid(self) -> None:
        weights = quadrature_weights("trapezoid", IRREGULAR, (IRREGULAR[0], IRREGULAR[-1]))
        values = np.cos(IRREGULAR)
        assert math.isclose(weights @ values, np.trapezoid(values, IRREGULAR), rel_tol=1e-12)

    def test_midpoints_get_equal_weights(self) -> None:
        grid = (np.arange(20) + 0.5) / 20
        weights = quadrature_weights("trapezoid", grid, (0, 1))
        np.testing.assert_allclose(weights, 1 / 20, rtol=1e-12)

    def test_uniform_rule(self) -> None:
        weights = quadrature_weights("uniform", IRREGULAR, (0.0, 8.0))
        assert np.array_equal(weights, np.full(40, 0.2))


@pytest.mark.parametrize("points", [2, 3, 60, 61])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (3.0, 17.3)])
def test_eigenfunctions_on_a_grid_that_is_its_own_image_are_exactly_even_or_odd(
    points: int, ends: tuple[float, float]
) -> None:
    grid = np.linspace(*ends, points)
    length = ends[1] - ends[0]
    basis = KernelBasis.on_grid(Matern(0.2 * length, nu=2.5), grid)
    assert np.array_equal(basis.weights, basis.weights[::-1])
    even = np.all(basis.values == basis.values[::-1], axis=0)
    odd = np.all(basis.values == -basis.values[::-1], axis=0)
    assert np.all(even != odd)
    # Modes of a stationary kernel change sides one by one.
    assert np.array_equal(even[:10], np.arange(points)[:10] % 2 == 0)
    gram = Matern(0.2 * length, nu=2.5)(grid[:, None])
    image = gram @ (basis.weights[:, None] * basis.values)
    np.testing.assert_allclose(image, basis.values * basis.eigenvalues, atol=1e-13 * length)
    inner = basis.values.T @ (basis.weights[:, None] * basis.values)
    np.testing.assert_allclose(inner, np.eye(basis.eigenvalues.size), atol=1e-12)


class TestOwnMatern:
    """The default kernel does without scikit-learn, and is its kernel to the last digit."""

    own = default_kernel((2.0, 26.0))
    theirs = Matern(0.3 * 24.0, nu=2.5) + ConstantKernel(0.01) * Matern(0.3 * 24.0, nu=1.5)

    @pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, math.inf])
    def test_values_are_those_of_scikit_learn(self, nu: float) -> None:
        one = RBF(3.0) if math.isinf(nu) else Matern(3.0, nu=nu)
        at = 24 * np.sort(np.random.default_rng(1).uniform(size=60))
        for own, theirs in (
            (MaternSum((MaternTerm(2.0, 3.0, nu),)), ConstantKernel(2.0) * one),
            (MaternSum((MaternTerm(1.0, 3.0, nu),)), one),
            (self.own, self.theirs),
        ):
            found = kernel_function(own)(at, at[:9])
            assert np.array_equal(found, kernel_function(theirs)(at, at[:9]))
            assert str(own) == str(theirs)
            assert kernel_to_json(own) == kernel_to_json(theirs)
            assert MaternSum.from_json(kernel_to_json(theirs)) == own
            assert kernel_decay(own) == kernel_decay(theirs)
            assert own == theirs
            assert as_scikit_learn(own) == theirs
        assert self.own.length_scale == math.inf
        assert MaternSum((MaternTerm(2.0, 3.0, nu),)) != one

    def test_a_mean_with_either_is_planned_alike(self) -> None:
        grid = np.linspace(0, 1, 30)
        same = Matern(0.3, nu=2.5) + ConstantKernel(0.01) * Matern(0.3, nu=1.5)
        plans = [
            PrivateMean(1, bounds=(0, 1), kernel=each, grid_points=grid).plan(90)
            for each in (None, same)
        ]
        assert plans[0].describe() == plans[1].describe()

    @pytest.mark.parametrize(
        "written",
        [
            {"name": "RBF", "length_scale": -1.0},
            {"name": "Matern", "length_scale": 1.0, "nu": 0.7},
            {"name": "Matern", "length_scale": -1.0, "nu": 1.5},
            {
                "name": "Sum",
                "k1": {"name": "Matern", "length_scale": 1.0, "nu": 0.5},
                "k2": {"name": "RBF"},
            },
            {"name": "Product", "k1": {"name": "RBF"}, "k2": {"name": "Matern"}},
        ],
    )
    def test_others_are_left_to_scikit_learn(self, written: dict[str, object]) -> None:
        assert MaternSum.from_json(written) is None
