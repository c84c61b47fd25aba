"""What the experiments on densities rely on: eigenpairs, sensitivities, closed forms, by other ways."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from dpfda.bases.cells import CellGrid
from dpfda.density.kernel import DensityKernel
from dpfda.privacy.guarantees import Neighbours
from experiments import common, density_recipe, figure3, figure4, table3
from experiments.density_recipe import Kernel, gaussian
from test_docs import block_with

# Standard errors that a mean of seeded draws may be off: 1 in 150,000.
ERRORS = 4.5


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return Kernel((np.arange(60)[:, None] + 0.5) / 60, 1.0, 0.15, gaussian)


@pytest.fixture(scope="module")
def shares() -> np.ndarray:
    return np.random.default_rng(3).dirichlet(np.ones(60))


class TestRecipe:
    def test_eigenpairs(self, kernel: Kernel) -> None:
        values, functions = kernel.pairs
        np.testing.assert_allclose(functions @ functions.T / 60, np.eye(values.size), atol=1e-10)
        gram = gaussian(np.abs(kernel.points - kernel.points.T) / 0.15)
        np.testing.assert_allclose((functions.T * values) @ functions, gram, atol=1e-9)

    def test_without_noise_it_is_the_kernel_estimate(self, kernel: Kernel, shares: np.ndarray) -> None:
        gram = gaussian(np.abs(kernel.points - kernel.points.T) / 0.15)
        direct = shares @ (gram / (gram.sum(axis=1) / 60)[:, None])
        np.testing.assert_allclose(kernel.estimate(shares), direct, atol=1e-8)

    @pytest.mark.parametrize("eta", [1.0, 1.25, 1.5])
    def test_estimates_integrate_to_one(self, kernel: Kernel, shares: np.ndarray, eta: float) -> None:
        assert math.isclose(kernel.estimate(shares, eta).mean(), 1, rel_tol=1e-9)

    @pytest.mark.parametrize("eta", [1.05, 1.5])
    def test_sensitivities_against_all_pairs(self, kernel: Kernel, eta: float) -> None:
        values, functions = kernel.pairs
        estimates = np.array([kernel.estimate(row, eta) for row in np.eye(60)])
        coefficients = estimates @ functions.T / 60
        scaled = coefficients / np.sqrt(values)
        largest = max(np.abs(a - b).sum() for a in scaled for b in scaled)
        assert math.isclose(density_recipe.direct(kernel, eta, 10), largest / 10, rel_tol=1e-6)
        # Theorem 14 is an upper bound.
        assert density_recipe.direct(kernel, eta, 10) <= density_recipe.theorem_14(kernel, eta, 10)

    def test_the_printed_scale_lacks_the_root(self, kernel: Kernel, shares: np.ndarray) -> None:
        release = density_recipe.iclp(kernel, shares, 10, 1.25)
        right = density_recipe.theorem_14(kernel, 1.25, 10) * np.sqrt(kernel.pairs[0])
        np.testing.assert_allclose(release.scales * math.sqrt(2), right)

    def test_the_right_scale_gives_its_epsilon(self, kernel: Kernel, shares: np.ndarray) -> None:
        release = density_recipe.iclp(kernel, shares, 10, 1.25, correct=True)
        table = kernel.elements(1.25) / release.scales / 10
        losses = [np.abs(a - b).sum() for a in table for b in table]
        assert math.isclose(max(losses), 1, rel_tol=1e-9)

    @pytest.mark.parametrize("count", [1, 4])
    def test_iid_laplace(self, kernel: Kernel, shares: np.ndarray, count: int) -> None:
        release = density_recipe.iid_laplace(kernel, shares, 10, count)
        table = kernel.elements(1.0, count) / release.scales / 10
        assert math.isclose(max(np.abs(a - b).sum() for a in table for b in table), 1, rel_tol=1e-9)

    def test_bernstein(self, kernel: Kernel, shares: np.ndarray) -> None:
        release = density_recipe.bernstein(kernel, shares, 10, 5)
        np.testing.assert_allclose(release.functions.sum(axis=0), 1)
        elements = kernel.elements(1.0) @ kernel.pairs[1]
        lattice = [0, 11, 23, 36, 48, 59]
        change = max(np.ptp(elements[:, place]) for place in lattice)
        np.testing.assert_allclose(release.scales, change * 6 / 10, rtol=0.02)

    def test_bernstein_on_a_square(self) -> None:
        axis = (np.arange(12) + 0.5) / 12
        grid = np.stack([a.ravel() for a in np.meshgrid(axis, axis, indexing="ij")], axis=1)
        square = Kernel(grid, 1.0, 0.3, density_recipe.exponential)
        flat = np.full(144, 1 / 144)
        release = density_recipe.bernstein(square, flat, 10, 3)
        assert release.functions.shape == (16, 144)
        np.testing.assert_allclose(release.functions.sum(axis=0), 1)
        # The first coordinate of the lattice varies slowest: function 4 belongs to (1, 0).
        at = np.argmin(np.sum((grid - [1 / 3, 0.04]) ** 2, axis=1))
        assert release.functions[4, at] == release.functions[:, at].max()

    def test_the_library_has_no_more_noise_than_the_recipe_at_its_scale(self) -> None:
        """Two ways to one sensitivity: the library's heat kernel and the recipe's normal kernel agree
        where the ends do not matter, and elsewhere the reflected kernel is the smaller one."""
        cells = CellGrid.regular(60, (0, 1))
        elements = DensityKernel(eta=1.5, bandwidth=0.15).elements(cells, 100)
        stated = math.ldexp(elements.width(Neighbours.REPLACE_ONE), -elements.exponent)
        other = Kernel(cells.midpoints()[0][:, None], 1.0, 0.15, gaussian)
        # The library's eigenvalues are relative to the first one.
        printed = density_recipe.direct(other, 1.5, 1) * math.sqrt(other.pairs[0][0])
        assert 0.3 * printed < stated < printed


class TestSamples:
    def test_the_mixture_on_the_interval(self) -> None:
        assert math.isclose(
            quad(lambda x: float(figure3.truth(np.array([x]))[0]), 0, 1)[0], 1, abs_tol=1e-8
        )
        points = figure3.sampled(np.random.default_rng(1), 40_000)
        assert points.min() > 0
        assert points.max() < 1
        mean = quad(lambda x: x * float(figure3.truth(np.array([x]))[0]), 0, 1)[0]
        assert abs(points.mean() - mean) < ERRORS * points.std() / 200

    def test_the_mixture_on_the_square(self) -> None:
        assert math.isclose(figure4.truth(figure4.GRID).sum() * figure4.WEIGHT, 1, rel_tol=1e-9)
        inside = dblquad(
            lambda y, x: float(figure4.truth(np.array([[x, y]]))), -5, 5, -5, 5, epsabs=1e-3
        )[0]
        assert math.isclose(inside, 1, abs_tol=2e-3)
        points = figure4.sampled(np.random.default_rng(2), 20_000)
        assert np.abs(points).max() <= 5
        mean = figure4.GRID.T @ figure4.truth(figure4.GRID) * figure4.WEIGHT
        assert np.all(
            np.abs(points.mean(axis=0) - mean) < ERRORS * points.std(axis=0) / math.sqrt(20_000)
        )


def test_figure_3_quick(tmp_path: Path) -> None:
    figure3.main(["--quick", "--results", str(tmp_path)])
    with (tmp_path / "figure3.csv").open(newline="") as handle:
        rows = {(r["column"], r["mechanism"]): r for r in csv.DictReader(handle)}
    assert (tmp_path / "figure3.png").stat().st_size > 10_000
    for found in rows.values():
        if found["closed_form"]:
            off = abs(float(found["to_kernel_estimate"]) - float(found["closed_form"]))
            # Twenty draws of skewed squares, from a fixed seed.
            assert off < 8 * float(found["standard_error"])
    # What the page says: the library's default is nearer to the truth than the estimate without noise.
    default = rows["honest", "library's default"]
    plain = rows["without noise", "kernel estimate"]
    assert float(default["to_truth"]) < float(plain["to_truth"])


class TestTable3:
    def test_the_printed_table_is_whole(self) -> None:
        lines = common.printed("table3")
        assert len(lines) == 19
        assert {*table3.PRINTED} <= set(lines[0])
        assert float(lines[0]["rkhs_1.01"]) == 1.685

    def test_the_factor_fits_the_bernstein_columns(self) -> None:
        rows = [
            {"mechanism": "bernstein_10", "printed": 8.0, "distance": 2.0},
            {"mechanism": "bernstein_20", "printed": 1.0, "distance": 1.0},
            {"mechanism": "library_persons", "printed": "", "distance": 3.0},
        ]
        found = table3.scaled(rows)
        assert math.isclose(found[0]["factor"], 2.0)
        assert math.isclose(found[2]["in_printed_units"], 6.0)

    def test_noise_that_standard_errors_imply(self) -> None:
        """Forwards: a bias of length 2 and noise of deviation 0.01 along it, 200 draws."""
        kernel = Kernel((np.arange(20)[:, None] + 0.5) / 20, 1.0, 0.2, gaussian)
        release = density_recipe.iid_laplace(kernel, np.full(20, 0.05), 10, 1)
        deviation = 2 * 2 * 0.01
        line = {"region": "X", "m": "4.0", "m_se_1e3": str(1000 * deviation / math.sqrt(200))}
        row = table3.reproduced(line, "m", release, np.zeros(20), 50.0)
        assert math.isclose(row["printed_noise_times_n"], 0.01 * 50, rel_tol=1e-9)

    def test_ours_is_below_what_is_printed(self, data_dir: Path) -> None:
        """At epsilon = 1, with a thousand deaths as one unit, even if the printed unit were ours."""
        generator = np.random.default_rng(7)
        table = table3.deaths()
        assert len(table) == 19
        assert all(counts.size == 21 for counts in table.values())
        for line in common.printed("table3"):
            distances, _ = table3.library(table[line["region"]], 1, 1, generator)
            least = min(float(line[name]) for name in table3.PRINTED)
            # The factor between the units is about 200: a tenth of the printed error in either unit.
            assert 208 * max(distances) < 0.1 * least


def test_the_page_on_densities_runs() -> None:
    names: dict[str, Any] = {}
    exec(block_with("docs/densities.md", "PrivateDensity(epsilon=1, domain=("), names)  # noqa: S102
    assert names["synthetic"].shape == (1000,)
    share = 4612.439 / (4612.439 + 599.401 + 2040.3)
    assert math.isclose(names["table"].release_.integral(0, 5), share, abs_tol=1e-3)
