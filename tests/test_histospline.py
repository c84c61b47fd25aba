"""Cells, cosine transforms and the smoothing of noisy shares, each by a second way."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from dpfda.bases.cells import (
    CellGrid,
    aliases,
    analyse,
    box_domain,
    cell_averages,
    cosines,
    synthesise,
)
from dpfda.errors import ParameterError
from dpfda.estimates.histospline import (
    DESIGN_SCALE,
    DESIGN_SIZE,
    DESIGN_SMOOTHNESS,
    SCALES,
    SIZES,
    SMOOTHNESS,
    adaptive_smoother,
    bandwidth_smoother,
    expected_error,
    mode_counts,
    smoother_for,
)

AGES = CellGrid.from_edges([0.0, 1.0, 5.0, 20.0, 60.0, 100.0])


def values_at(coefficients: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Direct sum of the products of cosines."""
    axes = [cosines(m, column) for m, column in zip(coefficients.shape, position.T, strict=True)]
    letters = "abc"[: len(axes)]
    terms = ",".join(f"q{letter}" for letter in letters)
    return np.einsum(f"{terms},{letters}->q", *axes, coefficients)


def prior(modes: int, exponent: float, scale: float, total: float) -> np.ndarray:
    """Variances (modes,) of the coefficients; the first is known."""
    falling = (1 + (np.arange(modes) / scale) ** 2) ** -exponent
    falling[0] = 0.0
    return total * falling / falling.sum()


def posterior(
    cells: CellGrid, variances: np.ndarray, privacy: float, size: float
) -> tuple[np.ndarray, np.ndarray]:
    """Matrix from what the shares differ from uniform by to the posterior mean, and their covariance."""
    edges = (cells.edges[0] - cells.edges[0][0]) / cells.volume
    widths = np.diff(edges)
    averages = cell_averages(variances.size, edges) * widths[:, None]
    covariance = averages * variances @ averages.T + np.diag(privacy + widths / size)
    return variances[:, None] * averages.T @ np.linalg.inv(covariance), covariance


class TestCells:
    def test_a_point_is_in_the_cell_above_its_edge_and_outside_in_the_nearest(self) -> None:
        points = np.array([[-1e300], [0.0], [0.999], [1.0], [59.0], [60.0], [100.0], [1e300]])
        assert AGES.index(points).tolist() == [0, 0, 0, 1, 3, 4, 4, 4]

    def test_numbers_run_along_the_last_axis_first(self) -> None:
        cells = CellGrid.regular((2, 3), [(0, 2), (0, 3)])
        points = np.array(list(itertools.product([0.5, 1.5], [0.5, 1.5, 2.5])))
        assert cells.index(points).tolist() == list(range(6))

    @given(st.lists(st.floats(-2, 3), min_size=1, max_size=30))
    def test_a_cell_depends_on_its_own_point_alone(self, values: list[float]) -> None:
        cells = CellGrid.regular(7, (0, 1))
        points = np.array(values)[:, None]
        alone = [int(cells.index(points[i : i + 1])[0]) for i in range(len(values))]
        assert cells.index(points).tolist() == alone

    @pytest.mark.parametrize("cells", [AGES, CellGrid.regular((3, 4), [(0, 1), (-2, 5)])])
    def test_json(self, cells: CellGrid) -> None:
        again = CellGrid.from_json(cells.to_json())
        assert again.shape == cells.shape
        assert all(np.array_equal(a, b) for a, b in zip(again.edges, cells.edges, strict=True))

    def test_shares_add_up(self) -> None:
        assert AGES.shares.tolist() == [0.01, 0.04, 0.15, 0.4, 0.4]
        assert AGES.volume == 100.0
        assert not AGES.is_regular
        assert "5 cells on [0, 100]" in AGES.describe()

    @pytest.mark.parametrize(
        "edges", [[0.0], [0.0, 1.0, 1.0], [0.0, np.inf], np.eye(2), ["a", "b"], ([0.0, 1.0], [2.0, 1.0])]
    )
    def test_edges_that_are_none(self, edges: object) -> None:
        with pytest.raises(ParameterError, match="edges must be"):
            CellGrid.from_edges(edges)

    @pytest.mark.parametrize("shape", [0, (2, 2), 2.5, True])
    def test_numbers_of_cells_that_are_none(self, shape: object) -> None:
        with pytest.raises(ParameterError, match="cells must be a positive integer"):
            CellGrid.regular(shape, (0, 1))

    @pytest.mark.parametrize("domain", [None, 3, (), [(0, 1)] * 4])
    def test_a_domain_must_be_given(self, domain: object) -> None:
        with pytest.raises(ParameterError, match="domain must be"):
            box_domain(domain)


class TestTransforms:
    @pytest.mark.parametrize(("modes", "cells"), [(30, 4), (30, 5), (3, 7), (41, 10)])
    def test_averages_over_equal_cells_are_aliases_damped(self, modes: int, cells: int) -> None:
        like, sign = aliases(modes, cells)
        middle = cosines(cells, (np.arange(cells) + 0.5) / cells)
        seen = middle[:, np.minimum(like, cells - 1)] * sign * np.sinc(np.arange(modes) / (2 * cells))
        averages = cell_averages(modes, np.linspace(0, 1, cells + 1))
        np.testing.assert_allclose(seen, averages, atol=1e-13)

    def test_averages_by_quadrature(self) -> None:
        edges = np.array([0.0, 0.1, 0.15, 0.7, 1.0])
        averages = cell_averages(6, edges)
        for cell, k in itertools.product(range(4), range(6)):
            a, b = edges[cell : cell + 2]
            found = quad(lambda t, k=k: float(cosines(6, np.array([t]))[0, k]), a, b)[0]
            assert math.isclose(averages[cell, k], found / (b - a), abs_tol=1e-12)

    @settings(max_examples=25)
    @given(
        st.lists(st.tuples(st.integers(1, 9), st.integers(1, 12)), min_size=1, max_size=3),
        st.integers(0, 99),
    )
    def test_synthesis_is_the_sum(self, sizes: list[tuple[int, int]], seed: int) -> None:
        modes, shape = (tuple(column) for column in zip(*sizes, strict=True))
        coefficients = np.random.default_rng(seed).standard_normal(modes)
        axes = [(np.arange(m) + 0.5) / m for m in shape]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        direct = values_at(coefficients, points).reshape(shape)
        np.testing.assert_allclose(synthesise(coefficients, shape), direct, atol=1e-11)

    def test_analysis_undoes_synthesis(self) -> None:
        coefficients = np.random.default_rng(1).standard_normal((5, 6))
        np.testing.assert_allclose(analyse(synthesise(coefficients, (5, 6))), coefficients, atol=1e-13)


class TestSmoothers:
    def shares(self, cells: CellGrid, seed: int = 3) -> np.ndarray:
        return np.random.default_rng(seed).dirichlet(np.ones(cells.size)).reshape(cells.shape)

    @pytest.mark.parametrize("cells", [CellGrid.regular(9, (0, 2)), AGES], ids=["equal", "ages"])
    @pytest.mark.parametrize(("privacy", "size"), [(1e-4, 500.0), (1e-9, 1e6)])
    def test_the_mixture_of_posteriors_by_another_road(
        self, cells: CellGrid, privacy: float, size: float
    ) -> None:
        shares = self.shares(cells)
        rest = shares - cells.shares
        smoother = adaptive_smoother(cells, shares, privacy, size)
        scales = np.geomspace(1, max(2, cells.size), SCALES)
        means, likelihoods = [], []
        for falling, scale, total in itertools.product(SMOOTHNESS, scales, SIZES):
            variances = prior(smoother.modes[0], 0.5 + falling, scale, total)
            matrix, covariance = posterior(cells, variances, privacy, size)
            means.append(matrix @ rest)
            misfit = rest @ np.linalg.solve(covariance, rest)
            likelihoods.append(-0.5 * (np.linalg.slogdet(covariance)[1] + misfit))
        weights = np.exp(np.array(likelihoods) - max(likelihoods))
        slow = weights / weights.sum() @ np.array(means)
        np.testing.assert_allclose(smoother.coefficients(shares)[1:], slow[1:], atol=1e-6)

    @pytest.mark.parametrize("cells", [AGES, CellGrid.regular(12, (0, 1))])
    def test_without_noise_the_cells_keep_their_shares(self, cells: CellGrid) -> None:
        shares = cells.shares * np.linspace(0.5, 1.5, cells.size)
        shares = shares / shares.sum()
        found = adaptive_smoother(cells, shares, 1e-12, 1e11).coefficients(shares)
        edges = (cells.edges[0] - cells.edges[0][0]) / cells.volume
        averages = cell_averages(found.size, edges) @ found
        np.testing.assert_allclose(averages * cells.shares, shares, atol=1e-5)

    def test_pure_noise_is_smoothed_away(self) -> None:
        cells = CellGrid.regular(64, (0, 1))
        noise = np.random.default_rng(4).laplace(size=64) * 0.02
        found = adaptive_smoother(cells, cells.shares + noise, 2 * 0.02**2, 1e4).coefficients(
            cells.shares + noise
        )
        raw = analyse((cells.shares + noise) * 64)
        assert np.sum(found[1:] ** 2) < 0.1 * np.sum(raw[1:] ** 2)

    @pytest.mark.parametrize(
        "cells",
        [
            AGES,
            CellGrid.regular(6, (0, 2)),
            CellGrid.regular((3, 4), [(0, 1), (0, 5)]),
            CellGrid.regular(2, [(0, 1)] * 3),
        ],
        ids=["ages", "1-d", "2-d", "3-d"],
    )
    @pytest.mark.parametrize("smoothing", ["adaptive", 0.3])
    def test_the_response_is_the_estimate(self, cells: CellGrid, smoothing: object) -> None:
        shares = self.shares(cells)
        smoother = smoother_for(smoothing, cells, shares, 1e-4, 800.0)
        position = np.random.default_rng(5).uniform(size=(7, cells.dimensions))
        direct = values_at(smoother.coefficients(shares), position)
        base = shares if cells.is_regular else shares - cells.shares
        np.testing.assert_allclose(1 + smoother.response(position) @ base.ravel(), direct, atol=1e-12)

    def test_expected_error_by_simulation(self) -> None:
        """Coefficients drawn from the prior: the mean squared error is that of the formula."""
        cells, privacy, size = CellGrid.regular(12, (0, 1)), 2e-5, 2000.0
        modes = 512
        variances = prior(modes, 0.5 + DESIGN_SMOOTHNESS, DESIGN_SCALE, DESIGN_SIZE)
        matrix, _ = posterior(cells, variances, privacy, size)
        generator = np.random.default_rng(6)
        averages = cell_averages(modes, np.linspace(0, 1, 13))
        errors = []
        for _ in range(2000):
            truth = np.sqrt(variances) * generator.standard_normal(modes)
            truth[0] = 1.0
            deviation = math.sqrt(privacy + 1 / (size * 12))
            shares = averages @ truth / 12 + deviation * generator.standard_normal(12)
            errors.append(np.sum((matrix @ (shares - cells.shares) - truth)[1:] ** 2))
        found, error = np.mean(errors), np.std(errors) / math.sqrt(len(errors))
        stated = expected_error(cells, privacy, size)
        assert abs(found - stated) < 4.5 * error
        assert 4.5 * error < 0.1 * stated

    def test_a_bandwidth_convolves_with_a_reflected_normal_density(self) -> None:
        bandwidth, shares = 8.0, np.array([0.3, 0.1, 0.1, 0.2, 0.3])
        smoother = bandwidth_smoother(AGES, bandwidth)
        found = values_at(smoother.coefficients(shares), np.array([[0.02], [0.5], [0.97]])) / 100

        def density(s: float) -> float:
            cell = min(int(np.searchsorted(AGES.edges[0], s, side="right")) - 1, 4)
            return float(shares[cell] / np.diff(AGES.edges[0])[cell])

        for t, value in zip([2.0, 50.0, 97.0], found, strict=True):
            total = 0.0
            for image in (t, -t, 200 - t):
                for a, b in itertools.pairwise(AGES.edges[0]):
                    total += quad(
                        lambda s, image=image, a=a, b=b: (
                            density((a + b) / 2) * math.exp(-((s - image) ** 2) / (2 * bandwidth**2))
                        ),
                        a,
                        b,
                    )[0]
            total /= math.sqrt(2 * math.pi) * bandwidth
            assert math.isclose(value, total, rel_tol=1e-3)

    def test_a_bandwidth_on_equal_cells_keeps_low_frequencies(self) -> None:
        # The averaging over cells is undone: a cosine comes back damped by the kernel alone.
        cells, k, h = CellGrid.regular(16, (0, 1)), 3, 0.05
        shares = (1 + 0.5 * cell_averages(k + 1, cells.edges[0])[:, k]) / 16
        found = bandwidth_smoother(cells, h).coefficients(shares)
        expected = np.zeros(found.size)
        expected[0], expected[k] = 1, 0.5 * math.exp(-((math.pi * k * h) ** 2) / 2)
        np.testing.assert_allclose(found, expected, atol=1e-12)

    @pytest.mark.parametrize("bandwidth", [0, -1.0, math.nan, "wide", None])
    def test_bandwidths_that_are_none(self, bandwidth: object) -> None:
        with pytest.raises(
            ParameterError, match="smoothing must be 'adaptive', 'monotone' or a positive bandwidth"
        ):
            bandwidth_smoother(AGES, bandwidth)

    def test_unequal_cells_on_a_box_are_refused(self) -> None:
        cells = CellGrid.from_edges(([0.0, 1.0, 3.0], [0.0, 1.0]))
        with pytest.raises(ParameterError, match="edges must be equally spaced"):
            mode_counts(cells)
