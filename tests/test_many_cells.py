"""Bands of densities of very many cells: what is done by transforms is what matrices would do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpfda import PrivateDensity, load
from dpfda.bases.cells import CellGrid
from dpfda.density import cell_errors, conditional_release, sample_band
from dpfda.density.banded import MANY
from dpfda.density.cell_errors import block_noise, errors_at, node_errors, running_width
from dpfda.density.many_cells import (
    averaging,
    block_lines,
    block_response,
    blocks_for,
    cosine_sums,
    cosine_values,
    edge_values,
    errors_on_nodes,
    variances_at,
)
from dpfda.density.release import ReleasedDensity
from dpfda.estimates.histospline import Smoother, bandwidth_smoother, smoother_for
from dpfda.noise import GaussianNoise, KNormNoise
from dpfda.numerics.arrays import Floats

SHAPES = [(600,), (2500,), (24, 36), (6, 8, 10)]


def smoothers(shape: tuple[int, ...]) -> list[Smoother]:
    """One with weights found from noisy shares, and one with a bandwidth."""
    cells = CellGrid.regular(shape, [(0.0, 1.0)] * len(shape))
    generator = np.random.default_rng(1)
    shares = generator.dirichlet(np.full(cells.size, 0.3)).reshape(shape)
    found = smoother_for("adaptive", cells, shares, 1e-7, 1e4)
    return [found, bandwidth_smoother(cells, 0.06)]


def places(shape: tuple[int, ...], count: int = 7) -> Floats:
    generator = np.random.default_rng(2)
    inside = generator.uniform(size=(count, len(shape)))
    return np.concatenate([inside, np.zeros((1, len(shape))), np.ones((1, len(shape)))])


class TestTransforms:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_single_cells_do_what_the_matrix_says(self, shape: tuple[int, ...]) -> None:
        for smoother in smoothers(shape):
            exact = smoother.response(places(shape))
            np.testing.assert_allclose(
                block_response(smoother, places(shape), [1] * len(shape)), exact, atol=1e-9
            )
            np.testing.assert_allclose(
                variances_at(smoother, places(shape)), np.sum(exact**2, axis=1), rtol=1e-9
            )

    @pytest.mark.parametrize("shape", SHAPES)
    def test_blocks_do_what_their_cells_do_on_average(self, shape: tuple[int, ...]) -> None:
        for smoother in smoothers(shape):
            exact = smoother.response(places(shape)).reshape(-1, *shape)
            blocks = [2 if size % 3 else 3 for size in shape]
            made = block_response(smoother, places(shape), blocks)
            for axis, block in enumerate(blocks, 1):
                split = (*exact.shape[:axis], -1, block, *exact.shape[axis + 1 :])
                exact = exact.reshape(split).mean(axis=axis + 1)
            exact = exact.reshape(made.shape)
            # But for the factor that brings them to the variance of single cells.
            factors = np.linalg.norm(made, axis=1) / np.linalg.norm(exact, axis=1)
            np.testing.assert_allclose(made, exact * factors[:, None], atol=1e-9)
            assert np.all(factors > 1 - 1e-9)
            np.testing.assert_allclose(
                np.sum(made**2, axis=1) * np.prod(blocks),
                variances_at(smoother, places(shape)),
                rtol=1e-9,
            )

    @pytest.mark.parametrize("shape", SHAPES)
    def test_blocks_are_as_large_as_may_be(self, shape: tuple[int, ...]) -> None:
        for smoother in smoothers(shape):
            blocks, at = blocks_for(smoother), places(shape, 400)[:-2]
            assert all(size % block == 0 for size, block in zip(shape, blocks, strict=True))
            exact = smoother.response(at).reshape(-1, *shape)
            kept = exact
            for axis, block in enumerate(blocks, 1):
                split = (*kept.shape[:axis], -1, block, *kept.shape[axis + 1 :])
                kept = np.repeat(kept.reshape(split).mean(axis=axis + 1), block, axis=axis)
            assert np.sum((exact - kept) ** 2) <= 0.007 * np.sum(exact**2)
        # A wide bandwidth needs few blocks.
        assert np.prod(blocks_for(bandwidth_smoother(CellGrid.regular(512, (0.0, 1.0)), 0.1))) >= 8

    def test_averages_over_cells(self) -> None:
        smoother = smoothers((600,))[0]
        middles = (np.arange(600)[:, None] + 0.5) / 600
        made = block_response(smoother, middles, (1,), averaging(smoother))
        np.testing.assert_allclose(made / 600, smoother.cell_response(), atol=1e-12)

    def test_sums_of_cosines(self) -> None:
        generator = np.random.default_rng(3)
        coefficients, at = generator.standard_normal(3000), generator.uniform(size=9)
        values = np.sqrt(2) * np.cos(np.pi * np.outer(at, np.arange(3000)))
        values[:, 0] = 1
        np.testing.assert_allclose(cosine_sums(coefficients, at), values @ coefficients, atol=1e-9)
        np.testing.assert_allclose(
            edge_values(coefficients), cosine_sums(coefficients, np.linspace(0, 1, 3001)), atol=1e-9
        )

    @pytest.mark.parametrize(("blocks", "nodes"), [((1,), 500), ((5,), 250), ((2,), 250)])
    def test_errors_on_nodes(self, blocks: tuple[int], nodes: int) -> None:
        smoother = smoothers((2500,))[1]
        sums = np.random.default_rng(4).standard_normal(2500 // blocks[0])
        middles = (np.arange(nodes)[:, None] + 0.5) / nodes
        response = block_response(smoother, middles, blocks)
        np.testing.assert_allclose(
            errors_on_nodes(smoother, sums, blocks, nodes), response @ sums, rtol=0.01, atol=0.2
        )

    @pytest.mark.parametrize("axis", [0, 1])
    def test_lines_of_a_plane(self, axis: int) -> None:
        shape, waves = (24, 36), np.stack([cosine_values(48 + 24 * axis, t) for t in (0.0, 0.3)])
        sums = np.random.default_rng(5).standard_normal((8, 18))
        for smoother in smoothers(shape):
            spread = np.kron(sums, np.ones((3, 2)) / 6)
            even = smoother.cells.shares
            exact = smoother.coefficients(even + spread) - smoother.coefficients(even)
            exact = np.tensordot(waves, np.moveaxis(exact, axis, 0), axes=1)
            made = block_lines(smoother, axis, waves, (1, 1))(spread)
            np.testing.assert_allclose(made, exact, atol=1e-10)
            # Blocks say nearly the same of what is slow along the line.
            made = block_lines(smoother, axis, waves, (3, 2))(sums)[:, :5]
            assert np.abs(made - exact[:, :5]).max() < 0.02 * np.abs(exact).max()


@pytest.mark.parametrize("law", [KNormNoise, GaussianNoise])
class TestNoise:
    def test_sums_over_blocks_have_the_law_of_sums(self, law: type) -> None:
        # Kolmogorov distance of 20,000 draws each: .0195 is passed with a chance below .001.
        for count in (1, 3):
            summed = law.equal(6, 1000).simulate(np.random.default_rng(1), 10_000)
            plain = np.sort(summed.reshape(-1, count).sum(axis=1)[: 60_000 // 3])
            made = block_noise(law.equal(6, 1000), np.random.default_rng(2), 10_000, 2, count)
            assert made.shape == (10_000, 2)
            grid = np.sort(np.concatenate([plain, made.ravel()]))
            found = [np.searchsorted(np.sort(each), grid) / each.size for each in (plain, made.ravel())]
            assert np.max(np.abs(found[0] - found[1])) < 0.0195
            # A scale wrong by sqrt(2) is seen.
            other = np.searchsorted(np.sort(made.ravel()) * np.sqrt(2), grid) / made.size
            assert np.max(np.abs(found[0] - other)) > 0.04

    def test_a_law_adds_up_its_own_components(self, law: type) -> None:
        noise = law.equal(12, 5)
        made = noise.simulate_sums(np.random.default_rng(5), 20_000, 4)
        assert made.shape == (20_000, 3)
        np.testing.assert_allclose(made.var(axis=0), 4 * noise.variances()[0], rtol=0.07)

    def test_running_sums_stay_within(self, law: type, few_draws: None) -> None:
        noise = law.equal(5000, 1000)
        width = running_width(noise, 0.8)
        drawn = np.cumsum(noise.simulate(np.random.default_rng(6), 600), axis=1)
        inside = np.mean(np.all(np.abs(drawn) <= width, axis=1))
        # Five deviations of 600 draws, with a chance below a millionth.
        assert abs(inside - 0.8) < 0.085


def test_bands_by_blocks_are_those_by_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(7).beta(2, 5, 3000)
    release = PrivateDensity(1.0, domain=(0, 1), cells=1200, scale="linear").fit(points).release_.raw
    at = np.linspace(0, 1, 40)
    widths = []
    for few in (4096, 64):
        monkeypatch.setattr(cell_errors, "FEW", few)
        for simultaneous in (True, False):
            band = release.band(0.9, simultaneous, at)
            widths.append(band.upper - band.lower)
    np.testing.assert_allclose(widths[2], widths[0], rtol=0.03)
    np.testing.assert_allclose(widths[3], widths[1], rtol=0.05)


class TestManyCells:
    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    def test_bands_hold(self, delta: float) -> None:
        """The exact variance of the errors, by noise on the counts of a release that is held."""
        points = np.random.default_rng(8).normal(0.5, 0.1, 20_000)
        density = PrivateDensity(
            1.0,
            delta,
            domain=(0, 1),
            cells=20_000,
            scale="linear",
            noise="laplace" if not delta else "gaussian",
        )
        raw = density.fit(points).release_.raw
        at = np.linspace(0.05, 0.95, 30)
        band = raw.band(0.6, True, at)
        generator, even = np.random.default_rng(9), raw.cells.shares
        moved = np.empty((200, at.size))
        for row in moved:
            noise = raw.noise.simulate(generator, 1)[0] * 2.0**-raw.exponent / raw.size
            row[:] = cosine_sums(
                raw.smoother.coefficients(even + noise) - raw.smoother.coefficients(even), at
            )
        held = np.mean(np.all(np.abs(moved) <= (band.upper - band.lower) / 2, axis=1))
        # Five deviations of 200 draws; a width wrong by sqrt(2) holds in far more or fewer.
        assert abs(held - 0.6) < 0.175
        errors = errors_at(raw.smoother, raw.noise, at[:, None]) * raw.share_step
        np.testing.assert_allclose(errors.std(axis=0), moved.std(axis=0), rtol=0.3)

    def test_a_release_keeps_what_all_keep(self, tmp_path: Path, few_draws: None) -> None:
        points = np.random.default_rng(10).exponential(0.1, 4000)
        density = PrivateDensity(2.0, domain=(0, 1), cells=10_000, scale="linear", bandwidth="monotone")
        release = density.fit(points).release_
        assert release.node_values.size == 10_000
        band = release.band(0.9, points=np.linspace(0, 1, 20))
        assert band.contains(release(band.points))
        assert abs(release.integral() - 1) < 1e-9
        release.save(tmp_path / "many.json")
        again = load(tmp_path / "many.json")
        assert isinstance(again, ReleasedDensity)
        assert np.array_equal(again.node_values, release.node_values)
        lower, upper = release.quantile_interval([0.25, 0.5, 0.9])
        assert np.all(lower <= release.quantile([0.25, 0.5, 0.9]) + 0.02)
        assert np.all(upper >= release.quantile([0.25, 0.5, 0.9]) - 0.02)

    def test_a_distribution_that_falls_is_levelled_with_a_band(self, few_draws: None) -> None:
        # Everybody at two places: the smooth function is far below zero beside them.
        points = np.repeat([0.3, 0.30005], [3000, 3000])
        density = PrivateDensity(2.0, domain=(0, 1), cells=8192, scale="linear")
        release = density.fit(points).release_
        assert np.minimum(release.raw.on_grid(), 0).mean() < -1 / 16
        for simultaneous in (True, False):
            band = release.band(0.9, simultaneous, np.linspace(0.25, 0.35, 21))
            assert band.contains(release(band.points))
            assert np.all(band.lower >= 0)

    @pytest.mark.parametrize("cells", [65_537, 2 * 65_537])
    def test_cells_that_hardly_divide_have_as_many_nodes_as_others(self, cells: int) -> None:
        points = np.random.default_rng(12).beta(2, 5, 20_000)
        release = PrivateDensity(4.0, domain=(0, 1), cells=cells).fit(points).release_
        assert release.node_values.size >= 2048
        assert abs(release.quantile(0.5) - 0.264) < 0.02
        assert abs(release.integral() - 1) < 1e-9
        nodes = release.node_values.size
        places = np.linspace(0, nodes - 1, 20).astype(int)
        raw = release.raw
        made = node_errors(raw.smoother, raw.noise, 80, nodes)[:, places].std(axis=0) * raw.share_step
        exact = variances_at(raw.smoother, (places[:, None] + 0.5) / nodes)
        shares = np.mean(made / np.sqrt(exact * raw.share_variance))
        # Far above five deviations; a width wrong by sqrt(2) is off by .29 or more.
        assert abs(shares - 1) < 0.15

    def test_a_plane_of_many_cells(self, few_draws: None, monkeypatch: pytest.MonkeyPatch) -> None:
        # A quarter as many as where earlier files end, and bands of few draws: they hold what is
        # drawn inside them however wide they are.
        monkeypatch.setitem(MANY, 2, 2**16)
        monkeypatch.setattr(sample_band, "DRAWS", 40)
        monkeypatch.setattr(conditional_release, "DRAWS", 100)
        points = np.random.default_rng(11).beta(2, 5, (20_000, 2))
        density = PrivateDensity(4.0, domain=((0, 1), (0, 1)), cells=(320, 256), noise="laplace")
        release = density.fit(points).release_
        assert release.node_values.shape == (320, 320)
        assert abs(release.integral() - 1) < 1e-9
        band = release.band(0.9, points=points[:5])
        assert band.contains(release(band.points))
        given = release.conditional(0.3)
        assert abs(given.quantile(0.5) - 0.264) < 0.1
        assert np.all(given.band(0.9, points=[0.2, 0.4]).lower >= 0)
