"""Released densities: proper, consistent with themselves, near the truth; bad input; files; pictures."""

import copy
import csv
import math
import pickle
import tracemalloc
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern

from dpfda import Domain, PrivacyUnit, PrivateDensity, Reading, load
from dpfda.bases.cells import CellGrid, analyse
from dpfda.density.banded import NODES
from dpfda.density.histogram_release import ReleasedHistogram
from dpfda.density.kernel import DensityKernel
from dpfda.density.release import ReleasedDensity
from dpfda.errors import DataError, ParameterError, RefusedMechanismError, StorageError
from dpfda.estimates.histospline import nearest_probabilities, smoother_for
from dpfda.noise import KNormNoise
from dpfda.noise.shares import EXPONENT, share_noise
from dpfda.privacy.guarantees import Neighbours, PureDP
from dpfda.records.points import points_from_array
from sample_releases import certificate_of
from statistical import fits, lower_limit, upper_limit

SQUARE = [(-1.0, 1.0), (0.0, 4.0)]


def histogram(counts: np.ndarray, domain, scale: float = 1.0, **changes) -> ReleasedHistogram:
    """A release around given noisy counts, with Laplace noise of a given scale in persons."""
    cells = CellGrid.regular(counts.shape, domain)
    grid = [round(float(c) * 2**EXPONENT) for c in counts.flat]
    noise = KNormNoise((1,) * cells.size, (round(scale * 2**EXPONENT),) * cells.size)
    parts = {
        "smoothing": "adaptive",
        "public_size": round(float(counts.sum())),
        "certificate": certificate_of(PureDP(1), "person"),
    }
    return ReleasedHistogram(cells, tuple(grid), EXPONENT, noise=noise, **{**parts, **changes})


@pytest.fixture(scope="module")
def line() -> ReleasedDensity:
    """Sharp, with stretches of zero: the noisy counts are as if by chance."""
    counts = np.array([0, 1, -2, 80, 300, 90, -1, 2, 0, 40, 35, -3], dtype=float)
    return ReleasedDensity(histogram(counts, (2.0, 10.0)), smooth=True)


@pytest.fixture(scope="module")
def square() -> ReleasedDensity:
    generator = np.random.default_rng(11)
    counts = np.outer([5, 60, 20, 1], [1, 30, 9]) + generator.laplace(size=(4, 3)) * 3
    return ReleasedDensity(histogram(counts, SQUARE, 3.0))


@pytest.fixture(scope="module")
def cube() -> ReleasedDensity:
    counts = np.random.default_rng(12).uniform(0, 50, size=(3, 2, 4))
    return ReleasedDensity(histogram(counts, [(0, 1), (0, 2), (-1, 1)]))


class TestProjection:
    @settings(max_examples=60)
    @given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40))
    def test_the_nearest_proper_values(self, values: list[float]) -> None:
        given_values = np.array(values)
        found = nearest_probabilities(given_values)
        assert np.all(found >= 0)
        assert math.isclose(found.sum(), 1, rel_tol=1e-12)
        # Optimal: one number is subtracted wherever something is left, and at least that elsewhere.
        taken = given_values - found
        level = taken[found > 0]
        assert np.ptp(level) <= 1e-9 * (1 + np.abs(given_values).max())
        assert np.all(taken[found == 0] <= level.min() + 1e-9 * (1 + np.abs(given_values).max()))

    def test_a_proper_density_stays(self) -> None:
        values = np.random.default_rng(1).dirichlet(np.ones(50))
        np.testing.assert_allclose(nearest_probabilities(values), values, rtol=1e-12)


class TestFunction:
    def test_integral_and_sign(self, line, square, cube) -> None:
        for release in (line, square, cube):
            assert abs(release.integral() - 1) < 1e-12
            assert np.all(release.on_grid() >= 0)
            volume = math.prod(b - a for a, b in release.domain_range)
            assert math.isclose(release.on_grid().mean() * volume, 1, rel_tol=1e-12)
            assert release.raw.integral() == 1.0

    def test_the_line_has_stretches_of_zero_that_raw_has_not(self, line) -> None:
        assert line(8.0) >= 0
        assert np.any(line.on_grid() == 0)
        assert np.any(line.raw.on_grid((2048,)) < 0)

    def test_a_call_and_the_grid_agree(self, line, square) -> None:
        np.testing.assert_allclose(line(line.midpoints()[0]), line.on_grid(), rtol=1e-9, atol=1e-12)
        axes = square.midpoints((5, 7))
        points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        np.testing.assert_allclose(square(points), square.on_grid((5, 7)).ravel(), rtol=1e-12)
        assert square([0.1, 2.0]) == square([[0.1, 2.0]])[0]

    def test_raw_by_call_and_by_transform(self, line, square, cube) -> None:
        for release, shape in ((line, (23,)), (square, (9, 5)), (cube, (4, 5, 6))):
            axes = release.midpoints(shape)
            points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
            np.testing.assert_allclose(
                release.raw(points), release.raw.on_grid(shape).ravel(), rtol=1e-9, atol=1e-12
            )

    def test_integrals_by_quadrature(self, line, square) -> None:
        for low, high in ((2.0, 3.7), (4.001, 4.9), (2.0, 10.0), (9.99, 10.0)):
            points = np.linspace(low, high, 2_000_001)
            by_sum = np.trapezoid(line(points), points)
            assert math.isclose(line.integral(low, high), by_sum, abs_tol=1e-7)
            assert math.isclose(line.cdf(high) - line.cdf(low), by_sum, abs_tol=1e-7)
        low, high = np.array([-0.7, 0.5]), np.array([0.31, 3.99])
        shape = (1500, 1500)
        axes = [a + (b - a) * (np.arange(m) + 0.5) / m for a, b, m in zip(low, high, shape, strict=True)]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        by_sum = square(points).mean() * np.prod(high - low)
        assert math.isclose(square.integral(low, high), by_sum, abs_tol=1e-6)

    def test_marginals(self, square) -> None:
        for axis, ends in enumerate(SQUARE):
            knots, values = square.marginal(axis)
            assert math.isclose(np.trapezoid(values, knots), 1, rel_tol=1e-12)
            lower, upper = [a for a, _ in SQUARE], [b for _, b in SQUARE]
            upper[axis] = middle = (2 * ends[0] + ends[1]) / 3
            assert math.isclose(square.cdf(middle, axis), square.integral(lower, upper), abs_tol=1e-12)
        with pytest.raises(ParameterError, match="axis must be an integer from 0 to 1; found 2"):
            square.marginal(2)

    def test_variables_are_known_by_their_labels(self) -> None:
        ages, loads = np.random.default_rng(3).uniform(size=(2, 400))
        domain = Domain(None, [(0, 1), (0, 2)], labels={"domain": "age (years)", "domain_2": "load"})
        release = PrivateDensity(1.0, domain=domain).fit(np.column_stack([ages, 2 * loads])).release_
        for name, number in (("age", 0), ("age (years)", 0), ("load", 1)):
            np.testing.assert_array_equal(release.marginal(name), release.marginal(number))
            assert release.cdf(0.3, name) == release.cdf(0.3, number)
            assert release.quantile(0.3, name) == release.quantile(0.3, number)
            assert release.conditional(0.3, name).axis == number
        assert release.quantile(0.9, "load") > 1 > release.quantile(0.9, "age")
        with pytest.raises(ParameterError, match=r"axis must be .* 'load'\]; found 'loads'"):
            release.marginal("loads")
        twice = replace(release.raw, about={**release.about, "domain_2": "age"})
        with pytest.raises(ParameterError, match="axis must be the number"):
            replace(release, raw=twice).cdf(0.3, "age")

    @given(st.floats(0, 1))
    def test_quantiles_undo_the_distribution_function(self, level: float) -> None:
        counts = np.array([0, 1, -2, 80, 300, 90, -1, 2, 0, 40, 35, -3], dtype=float)
        release = ReleasedDensity(histogram(counts, (2.0, 10.0)))
        point = release.quantile(level)
        assert 2.0 <= point <= 10.0
        assert math.isclose(release.cdf(point), level, abs_tol=1e-12)
        # The smallest such point.
        if point > 2.001:
            assert release.cdf(point - 1e-3) <= level

    def test_the_distribution_function_ends_at_zero_and_one(self, line) -> None:
        assert line.cdf([2.0, 10.0]).tolist() == [0.0, 1.0]
        assert np.all(np.diff(line.cdf(np.linspace(2, 10, 5000))) >= 0)
        assert np.all(np.diff(line.quantile(np.linspace(0, 1, 999))) >= 0)
        with pytest.raises(ParameterError, match="levels must be probabilities"):
            line.quantile(1.1)

    def test_draws_have_the_density(self, line, square) -> None:
        drawn = line.sample(30_000, np.random.default_rng(21))
        assert drawn.shape == (30_000,)
        assert fits(drawn, line.cdf)
        assert not fits(drawn, lambda x: line.cdf(np.clip(x + 0.05, 2, 10)))
        pairs = square.sample(30_000, 22)
        assert pairs.shape == (30_000, 2)
        for axis in (0, 1):
            assert fits(pairs[:, axis], lambda x, axis=axis: square.cdf(x, axis))
        lower, upper = np.array([-0.5, 1.0]), np.array([0.2, 2.0])
        hits = int(np.sum(np.all((lower <= pairs) & (pairs <= upper), axis=1)))
        probability = square.integral(lower, upper)
        assert lower_limit(hits, 30_000, 1e-7) < probability < upper_limit(hits, 30_000, 1e-7)

    def test_draws_follow_the_callers_generator(self, line) -> None:
        assert np.array_equal(line.sample(5, 1), line.sample(5, np.random.default_rng(1)))

    def test_draws_near_an_edge_are_folded(self) -> None:
        # All mass in the first node: the density is flat for half a cell, then falls over one.
        release = ReleasedDensity(histogram(np.array([10.0, 0.0]), (0.0, 1.0)))
        values = np.zeros(NODES[1])
        values[0] = NODES[1]
        vars(release)["node_values"] = values
        drawn = release.sample(20_000, 3)
        assert fits(drawn, release.cdf)
        assert drawn.min() >= 0

    def test_points_outside_and_shapes_that_do_not_fit(self, line, square) -> None:
        with pytest.raises(ParameterError, match=r"points must lie in the domain \[2.0, 10.0\]"):
            line(1.0)
        with pytest.raises(ParameterError, match=r"points must have shape \(q, 2\)"):
            square([[1.0, 2.0, 3.0]])
        with pytest.raises(ParameterError, match="shape must be 2 integers"):
            square.on_grid((5,))

    def test_smoothing_again_costs_nothing(self, line) -> None:
        wide = line.smoothed(1.5)
        assert wide.raw.noisy_counts == line.raw.noisy_counts
        assert wide.guarantee == line.guarantee
        assert wide.on_grid().max() < 0.7 * line.on_grid().max()
        kernel = PrivateDensity(1, domain=(0, 1), mechanism="kernel").fit([0.1, 0.5]).release_
        with pytest.raises(ParameterError, match="smoothing must be changed on a histogram only"):
            kernel.smoothed(0.1)


class TestBand:
    """A band from a known law: its level against fresh noise, within exact limits on both sides."""

    @pytest.mark.parametrize("simultaneous", [True, False])
    def test_level_with_a_bandwidth(self, simultaneous: bool) -> None:
        exact = np.array([50.0, 300, 120, 80, 10, 40])
        raw = histogram(exact, (0.0, 1.0), 4.0, smoothing=0.1)
        points = np.linspace(0, 1, 15)
        band = raw.band(0.9, simultaneous, points)
        width = (band.upper - band.lower) / 2
        noise = np.random.default_rng(31).laplace(size=(4000, 6)) * 4
        for errors in noise[:200]:
            again = histogram(exact + errors, (0.0, 1.0), 4.0, smoothing=0.1, public_size=600)
            assert np.allclose(
                again(points) - raw(points),
                again.smoother.response(points[:, None]) @ errors / 600,
                atol=1e-6,
            )
        errors = np.abs(noise @ raw.smoother.response(points[:, None]).T / 600)
        inside = (errors <= width).all(axis=1) if simultaneous else errors[:, 7] <= width[7]
        hits = int(inside.sum())
        assert lower_limit(hits, 4000, 1e-6) < 0.9 < upper_limit(hits, 4000, 1e-6)

    def test_level_of_the_distribution_function(self) -> None:
        exact = np.array([50.0, 300, 120, 80, 10, 40])
        raw = histogram(exact, (0.0, 1.0), 4.0)
        band = raw.cdf_band(0.8)
        noise = np.random.default_rng(32).laplace(size=(4000, 6)) * 4
        shares = np.cumsum(exact) / 600
        centers = np.cumsum(exact + noise, axis=1) / 600
        half = (band.upper - band.lower) / 2
        hits = int((np.abs(centers - shares) <= half).all(axis=1).sum())
        assert lower_limit(hits, 4000, 1e-6) < 0.8 < upper_limit(hits, 4000, 1e-6)
        assert band.points.tolist() == raw.cells.edges[0][1:].tolist()

    @pytest.mark.usefixtures("few_draws")
    def test_bands_of_boxes(self, square, cube) -> None:
        for release in (square, cube):
            band = release.band(0.9, points=[[0.5] * release.dimensions])
            assert band.points.shape == (1, release.dimensions)
            middle = [[0.5] * release.dimensions]
            assert 0 <= band.lower[0] <= release(middle)[0] <= band.upper[0]
            exact = release.band(0.9, points=middle, exact=True)
            assert exact.lower[0] < release.raw(middle)[0] < exact.upper[0]
        with pytest.raises(ParameterError, match="cdf_band must be asked of a density on an interval"):
            square.raw.cdf_band()

    def test_a_level_that_is_none(self, line) -> None:
        with pytest.raises(ParameterError, match="level must lie strictly between 0 and 1"):
            line.band(1.0)


class TestMonotone:
    """Shares of cells joined by a monotone distribution function, beside a cell that stands out."""

    COUNTS = np.array([4600.0, 600, 400, 450, 540, 600, 650, 30])

    def test_cells_keep_their_shares_and_nothing_is_negative(self) -> None:
        raw = histogram(self.COUNTS * 1000, (0.0, 80.0), 0.001, smoothing="monotone")
        release = ReleasedDensity(raw)
        edges = raw.cells.edges[0]
        below = np.cumsum(self.COUNTS) / self.COUNTS.sum()
        np.testing.assert_allclose(release.cdf(edges[1:]), below, atol=2e-4)
        # The smooth function overshoots there: that is what this is for.
        assert raw.smoothed("adaptive")(np.linspace(0, 80, 500)).min() < 0
        assert raw(np.linspace(0, 80, 500)).min() >= 0
        assert np.abs(raw.on_grid((2048,)) - release.on_grid()).max() < 1e-12
        total = quad(raw, 0, 80, points=edges[1:-1].tolist(), limit=200)[0]
        assert math.isclose(total, 1, rel_tol=1e-6)

    def test_level_of_the_band_with_weights_held(self) -> None:
        raw = histogram(self.COUNTS / 10, (0.0, 80.0), 9.0, smoothing="monotone")
        at = (raw.cells.edges[0][1:] + raw.cells.edges[0][:-1]) / 2
        band = raw.band(0.9, True, at, exact=True)
        shares = raw.smoother.cell_shares(raw.coefficients)
        np.testing.assert_allclose((band.lower + band.upper) / 2, shares / 10, atol=1e-12)
        noise = np.random.default_rng(33).laplace(size=(4000, 8)) * 9 / self.COUNTS.sum() * 10
        errors = np.abs(noise @ raw.smoother.cell_response().T) / 10
        hits = int((errors <= (band.upper - band.lower) / 2).all(axis=1).sum())
        assert lower_limit(hits, 4000, 1e-6) < 0.9 < upper_limit(hits, 4000, 1e-6)

    @pytest.mark.parametrize("edges", [None, [0.0, 1, 5, 15, 25, 40, 60, 70, 80]])
    def test_the_response_of_cells_is_their_share(self, edges) -> None:
        cells = CellGrid.regular(8, (0, 80)) if edges is None else CellGrid.from_edges(edges)
        shares = self.COUNTS / self.COUNTS.sum()
        smoother = smoother_for("monotone", cells, shares, 1e-4, 500.0)
        base = shares if cells.is_regular else shares - cells.shares
        direct = smoother.cell_shares(smoother.coefficients(shares))
        np.testing.assert_allclose(cells.shares + smoother.cell_response() @ base, direct, atol=1e-12)

    def test_it_is_for_tables_on_an_interval(self) -> None:
        table = PrivateDensity(1).fit_counts([5, 30, 100], [0, 1, 15, 100]).release_
        assert table.raw.smoothing == "monotone"
        assert "monotone smoothing" in repr(table)
        box = PrivateDensity(1).fit_counts([[5, 30]], ([0, 1], [0, 1, 2])).release_
        assert box.raw.smoothing == "adaptive"
        with pytest.raises(ParameterError, match="smoothing must be 'adaptive' or a bandwidth on a box"):
            box.smoothed("monotone")


class TestFit:
    def test_points_are_counted_in_the_nearest_cell(self) -> None:
        density = PrivateDensity(1, domain=(0, 4), cells=4)
        points = [-7.0, 0.0, 1.0, 1.5, 3.999, 4.0, 1e300]
        assert counted(density.prepare(points)) == [2, 2, 0, 3]

    def test_columns_and_rows(self) -> None:
        points = np.random.default_rng(41).uniform(size=(30, 2))
        density = PrivateDensity(1, domain=[(0, 1), (0, 1)], cells=(2, 3))
        counts = counted(density.prepare(points))
        direct = np.histogram2d(points[:, 0], points[:, 1], bins=(2, 3), range=[(0, 1), (0, 1)])[0]
        assert counts == direct.astype(int).ravel().tolist()
        assert counts == counted(density.prepare(points[np.random.default_rng(1).permutation(30)]))

    def test_a_person_with_many_points_counts_once(self) -> None:
        density = PrivateDensity(1, domain=(0, 3), cells=3)
        prepared = density.prepare([0.5, 0.5, 1.5, 2.5, 2.5], groups=["a", "a", "a", "b", "b"])
        third = 2**EXPONENT // 3
        assert list(prepared.total.with_noise([0] * 3)) == [2 * 2**EXPONENT // 3, third, 2**EXPONENT]
        assert prepared.plan.size == 2
        assert prepared.plan.unit == "group"

    def test_unusable_points_add_nothing(self) -> None:
        density = PrivateDensity(1, domain=(0, 3), cells=3, reading=Reading(invalid="repair"))
        points = [0.5, math.nan, math.inf, None, 2.5]
        prepared = density.prepare(np.array(points, dtype=object))
        assert counted(prepared) == [1, 0, 1]
        # Of three left out nobody knows: counts are divided by their own sum.
        assert (prepared.plan.size, prepared.plan.n) == (None, 5)
        with pytest.raises(
            DataError, match="X must be finite; found a missing or infinite value in row 1"
        ):
            PrivateDensity(1, domain=(0, 3)).prepare([0.5, math.nan])

    def test_nobody_at_all_under_add_remove(self) -> None:
        """How many there are is private, so that there are none is no error."""
        density = PrivateDensity(1, domain=(0, 1), cells=5, unit=PrivacyUnit(neighbours="add-remove"))
        for groups in (None, []):
            release = density.fit([], groups=groups).release_
            assert abs(release.integral() - 1) < 1e-12
        repaired = density.set_params(reading__invalid="repair").fit([math.nan, math.inf]).release_
        assert np.all(np.isfinite(repaired.on_grid()))

    def test_counts_are_the_same_problem_as_points(self) -> None:
        edges, counts = np.linspace(0, 1, 6), [3, 0, 7, 2, 1]
        points = np.repeat((edges[1:] + edges[:-1]) / 2, counts)
        by_counts = PrivateDensity(1).prepare_counts(counts, edges)
        by_points = PrivateDensity(1, domain=(0, 1), cells=5).prepare(points)
        assert counted(by_counts) == counted(by_points) == counts
        assert by_counts.plan.noise == by_points.plan.noise
        assert by_counts.plan.size == 13

    def test_thousands_are_exact(self) -> None:
        table = [4612.439, 0.001, 1e6, 8.005]
        prepared = PrivateDensity(1).prepare_counts(table, [0, 5, 10, 15, 100], multiplier=1000)
        assert counted(prepared) == [4612439, 1, 10**9, 8005]
        assert prepared.plan.size == 4612439 + 1 + 10**9 + 8005

    def test_millions_do_not_overflow(self) -> None:
        prepared = PrivateDensity(1).prepare_counts([10**17, 10**18], [0, 1, 2])
        assert counted(prepared) == [10**17, 10**18]

    @pytest.mark.parametrize("table", [[4.5, 1], [-1, 3], [math.nan, 3], [None, 3], ["many", 3]])
    def test_numbers_that_count_nobody(self, table: list) -> None:
        with pytest.raises(
            DataError, match="counts must be numbers of units; found one at position 0"
        ) as info:
            PrivateDensity(1).prepare_counts(table, [0, 1, 2])
        assert "4.5" not in str(info.value)
        repaired = PrivateDensity(1, reading=Reading(invalid="repair")).prepare_counts(table, [0, 1, 2])
        assert counted(repaired) == [5 if table[0] == 4.5 else 0, table[1]]

    def test_one_person_more_is_one_more_however_a_share_is_written(self) -> None:
        # Thirds in floats: 0.6666666666666666 times 3 is not whole, and 1.0 times 3 is.
        density = PrivateDensity(1, reading=Reading(invalid="repair"))
        found = [counted(density.prepare_counts([n / 3, 5], [0, 1, 2], 3))[0] for n in range(200)]
        assert found == list(range(200))

    @pytest.mark.parametrize("other", [1.0, "none"])
    def test_what_becomes_of_a_point_does_not_depend_on_others(self, other: object) -> None:
        times = [np.timedelta64(3, "D"), np.datetime64("1970-01-04"), np.timedelta64("NaT", "D")]
        _, usable = points_from_array([*times, 2.0, other], 1, "repair")
        assert usable.tolist() == [False, False, False, True, other == 1.0]

    def test_the_divisor_under_add_remove_is_the_noisy_number(self) -> None:
        density = PrivateDensity(1, domain=(0, 1), cells=4, unit=PrivacyUnit(neighbours="add-remove"))
        raw = density.fit(np.linspace(0, 1, 500)).release_.raw
        assert raw.public_size is None
        assert math.isclose(raw.size, raw.counts.sum())
        assert raw.size != 500
        assert abs(raw.size - 500) < 100

    def test_a_kernel_estimate_under_add_remove_is_divided_by_its_integral(self) -> None:
        density = PrivateDensity(
            1,
            domain=(0, 1),
            mechanism="kernel",
            unit=PrivacyUnit(neighbours="add-remove", public_size=400),
        )
        raw = density.fit(np.full(1000, 0.5)).release_.raw
        assert math.isclose(raw.integral(), 1, rel_tol=1e-9)
        assert abs(raw.count - 1000) < 300

    def test_the_kernel_estimate_is_the_estimate(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without noise: the mean over points of reflected normal densities of the bandwidth."""
        monkeypatch.setattr(KNormNoise, "draw", lambda self: [0] * self.components)
        kernel = DensityKernel(eta=1.0, bandwidth=0.07)
        points = np.random.default_rng(43).uniform(size=50)
        raw = PrivateDensity(1, domain=(0, 1), mechanism=kernel).fit(points).release_.raw
        moved = (np.floor(points * 512) + 0.5) / 512
        at = np.linspace(0, 1, 9)
        direct = sum(
            np.exp(-((at[:, None] - image) ** 2) / (2 * 0.07**2)).sum(axis=1)
            for image in (moved, -moved, 2 - moved)
        ) / (50 * 0.07 * math.sqrt(2 * math.pi))
        np.testing.assert_allclose(raw(at), direct, rtol=1e-3)

    def test_privacy_noise_of_a_coefficient(self) -> None:
        """8 M / (n epsilon)^2, by simulation."""
        noise = share_noise(16, PureDP(2), Neighbours.REPLACE_ONE)[0]
        draws = noise.simulate(np.random.default_rng(44), 20_000) / 2**EXPONENT / 1000
        coefficients = np.array([analyse(row * 16)[3] for row in draws])
        stated = 8 * 16 / (1000 * 2) ** 2
        raw = PrivateDensity(2, domain=(0, 1), cells=16).fit(np.linspace(0, 1, 1000)).release_.raw
        assert math.isclose(raw.share_variance * 16, stated, rel_tol=1e-5)
        # The kurtosis of a sum of 16 is below 3.4: the standard error of a variance is 1.1 per cent.
        assert abs(coefficients.var() / stated - 1) < 0.06

    def test_it_finds_the_density(self) -> None:
        generator = np.random.default_rng(45)
        first = generator.uniform(size=20_000) < 0.6
        points = np.where(first, generator.normal(0.3, 0.1, 20_000), generator.normal(0.7, 0.1, 20_000))

        def truth(t: np.ndarray) -> np.ndarray:
            bumps = [0.6 * np.exp(-((t - 0.3) ** 2) / 0.02), 0.4 * np.exp(-((t - 0.7) ** 2) / 0.02)]
            return sum(bumps) / (0.1 * math.sqrt(2 * math.pi))

        release = PrivateDensity(1, domain=(0, 1)).fit(points).release_
        middle = release.midpoints()[0]
        error = np.mean((release(middle) - truth(middle)) ** 2)
        # Ten times the usual error of about 6e-4; a histogram of 16 cells without smoothing has 3e-2.
        assert error < 6e-3

    def test_a_large_square_within_a_gigabyte(self) -> None:
        points = np.random.default_rng(46).normal(size=(2000, 2))
        tracemalloc.start()
        density = PrivateDensity(1, domain=[(-4, 4), (-4, 4)], cells=128)
        grid = density.fit(points).release_.on_grid((256, 256))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert grid.shape == (256, 256)
        assert peak < 2**28

    def test_scikit_learn_conventions(self) -> None:
        parameters = {"epsilon": 0.5, "domain_range": (0, 1), "mechanism": DensityKernel(eta=1.2)}
        density = PrivateDensity(**parameters)
        copied = clone(density)
        fitted = copied.fit(np.linspace(0, 1, 50))
        assert fitted is copied
        assert fitted.n_features_in_ == 1
        assert copied.get_params() == density.get_params()
        assert not hasattr(density, "release_")
        assert density.__sklearn_tags__().non_deterministic
        scores = fitted.score_samples([[0.5], [0.2]])
        np.testing.assert_allclose(np.exp(scores), fitted.release_([0.5, 0.2]))


def counted(prepared) -> list[int]:
    """Whole counts in a prepared sum."""
    total = prepared.total.with_noise([0] * prepared.plan.cells.size)
    assert all(value % 2**EXPONENT == 0 for value in total)
    return [value // 2**EXPONENT for value in total]


POINTS = np.linspace(0, 1, 40)
BAD = {
    "no domain": ({"domain_range": None}, "domain must be .* The ends must be public"),
    "four axes": ({"domain_range": [(0, 1)] * 4}, "domain must be"),
    "swapped": ({"domain_range": (1, 0)}, "domain must be finite with a < b"),
    "mechanism": ({"mechanism": "magic"}, "mechanism must be one of 'histogram', 'kernel'"),
    "cells": ({"cells": 0}, "cells must be a positive integer"),
    "many cells": (
        {"cells": 2**20 + 1},
        "cells must be at most 1048576 in all and, on a box, 4096 along",
    ),
    "noise": ({"noise": "white"}, "noise must be one of 'auto', 'laplace', 'gaussian'"),
    "gaussian": ({"noise": "gaussian"}, "delta must be positive for Gaussian noise"),
    "smoothing": (
        {"bandwidth": -1.0},
        "bandwidth must be 'adaptive', 'monotone' or a positive bandwidth",
    ),
    "epsilon": ({"epsilon": 0}, "epsilon must be positive"),
    "neighbours": ({"neighbours": "all"}, "neighbours must be 'replace-one' or 'add-remove'"),
    "public size": ({"public_size": 5}, "public_size must be None under replace-one"),
    "no size": ({"neighbours": "add-remove"}, "cells must be given under add/remove .* public_size"),
    "no size, kernel": (
        {"neighbours": "add-remove", "mechanism": "kernel"},
        "public_size must be given under add/remove",
    ),
    "size": ({"neighbours": "add-remove", "public_size": 0}, "public_size must be a positive integer"),
    "labels": (
        {"labels": {"x": "age"}},
        "labels must have the keys 'domain' and 'value' .on boxes also 'domain_2' and 'domain_3'",
    ),
    "invalid": ({"invalid": "drop"}, "invalid must be one of 'refuse', 'repair'"),
    "kernel on a box": (
        {"mechanism": DensityKernel(kernel=Matern()), "domain_range": [(0, 1), (0, 1)]},
        "kernel must be left out on a box",
    ),
    "large kernel grid": (
        {"mechanism": "kernel", "cells": 5000},
        "cells must be at most 4096 for a kernel",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters_are_refused_before_anything_is_drawn(name, monkeypatch) -> None:
    changes, words = BAD[name]
    monkeypatch.setattr(KNormNoise, "draw", lambda self: pytest.fail("drawn"))
    points = np.stack([POINTS, POINTS], axis=1) if name == "kernel on a box" else POINTS
    with pytest.raises(ParameterError, match=words):
        PrivateDensity(**{"epsilon": 1.0, "domain_range": (0, 1), **changes}).fit(points)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"noise": "white"}, "noise must be one of 'iclp'"),
        ({"eta": 0.2}, "eta must be a number of at least 0.5"),
        ({"eta": math.nan}, "eta must be a number"),
        ({"bandwidth": 0}, "bandwidth must be a positive number"),
        ({"components": 0}, "components must be an integer from 1"),
        ({"kernel": Matern(), "bandwidth": 0.1}, "bandwidth must be left out with a kernel"),
    ],
)
def test_bad_kernels_are_refused(changes: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        DensityKernel(**changes)


@pytest.mark.parametrize("noise", ["gaussian", "gaussian_process"])
def test_gaussian_noise_on_elements_needs_a_delta(noise: str) -> None:
    density = PrivateDensity(1, domain=(0, 1), mechanism=DensityKernel(noise=noise))
    with pytest.raises(RefusedMechanismError, match="delta must be positive"):
        density.fit(POINTS)
    release = density.set_params(delta=1e-6).fit(POINTS).release_
    assert release.guarantee.delta > 0
    assert release.certificate.achieved.delta <= release.guarantee.delta


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.ones((3, 2)), r"X must have shape \(n, 1\), one point a row; found \(3, 2\)"),
        (["a", "b"], "X must hold numbers"),
        ([0.5], "There must be at least two privacy units; found 1"),
        ([], "There must be at least two privacy units; found 0"),
        (np.array([1j, 2]), "Complex data not supported"),
    ],
)
def test_bad_points(points, words: str) -> None:
    with pytest.raises(DataError, match=words):
        PrivateDensity(1, domain=(0, 1)).fit(points)


@pytest.mark.parametrize(
    ("arguments", "changes", "words"),
    [
        (([1, 2], [0, 1]), {}, r"counts must have shape \(1,\)"),
        (([[1, 2], [3]], [0, 1]), {}, r"counts must have shape \(1,\)"),
        (([1, 2], [0, 2, 1]), {}, "edges must be finite and strictly increasing"),
        (([1, 2], [0, 1, 2], 0), {}, "multiplier must be a positive integer"),
        (([1, 2], [0, 1, 2]), {"cells": 2}, "cells must be left out for counts"),
        (([1, 2], [0, 1, 2]), {"domain_range": (0, 3)}, "domain must be that of the edges"),
        (([[1], [2]], ([0, 1, 3], [0, 1])), {}, "edges must be equally spaced"),
    ],
)
def test_bad_counts(arguments, changes, words: str) -> None:
    with pytest.raises((DataError, ParameterError), match=words):
        PrivateDensity(1, **changes).fit_counts(*arguments)


MADE = {
    "interval": lambda: PrivateDensity(1, domain=(0, 1), unit="person").fit(POINTS),
    "bandwidth": lambda: PrivateDensity(1, domain=(0, 1), bandwidth=0.1, cells=9).fit(POINTS),
    "ages": lambda: PrivateDensity(1).fit_counts([5, 30, 100], [0, 1, 15, 100]),
    "square": lambda: PrivateDensity(1, domain=[(0, 1), (0, 2)]).fit(np.stack([POINTS, POINTS], axis=1)),
    "gaussian": lambda: PrivateDensity(0.5, 0.01, domain=(0, 1), noise="gaussian").fit(POINTS),
    "kernel": lambda: PrivateDensity(1, domain=(0, 1), mechanism="kernel").fit(POINTS),
    "kernel, Matern": lambda: PrivateDensity(
        1, domain=(0, 1), mechanism=DensityKernel(kernel=Matern(0.2, nu=1.5)), cells=50
    ).fit(POINTS),
    "kernel, square": lambda: PrivateDensity(
        1, domain=[(0, 1), (0, 2)], mechanism=DensityKernel(components=20)
    ).fit(np.stack([POINTS, POINTS], axis=1)),
}


@pytest.mark.parametrize("name", MADE)
def test_files_pickles_and_copies(name: str, tmp_path: Path, few_draws: None) -> None:
    release = MADE[name]().release_
    path = release.save(tmp_path / "density.json")
    assert release.describe()
    band = release.band(of="noise")
    assert np.all(band.lower <= band.upper)
    for again in (
        ReleasedDensity.load(path),
        load(path),
        pickle.loads(pickle.dumps(release)),  # noqa: S301
        copy.deepcopy(release),
    ):
        assert isinstance(again, ReleasedDensity)
        assert np.array_equal(again.on_grid(), release.on_grid())
        assert (again.guarantee, again.certificate.achieved, again.unit) == (
            release.guarantee,
            release.certificate.achieved,
            release.unit,
        )
        assert repr(again) == repr(release)
        assert dict(again.about) == dict(release.about)


def test_damaged_files(tmp_path: Path) -> None:
    path = MADE["interval"]().release_.save(tmp_path / "density.json")
    text = path.read_text()
    for old, new, words in (
        ('"schema_version": 2', '"schema_version": 7', "must have schema version 2"),
        ('"dpfda-histogram"', '"dpfda-other"', "is damaged"),
        ('"exponent"', '"exponents"', "is damaged"),
    ):
        path.write_text(text.replace(old, new))
        with pytest.raises(StorageError, match=words):
            load(path)


def test_a_release_says_what_it_promises() -> None:
    text = repr(MADE["interval"]().release_)
    for words in (
        "ReleasedDensity on [0, 1]",
        "1-differential privacy (pure)",
        "data sets that differ in one person (the number of persons is public)",
        "histogram: independent Laplace noise on",
        "adaptive smoothing",
    ):
        assert words in text


class TestPictures:
    def test_a_line_with_its_band(self, line) -> None:
        pytest.importorskip("matplotlib").use("Agg")
        axis = line.plot()
        assert axis.get_xlabel()
        assert "density" in axis.get_ylabel()
        words = [text.get_text() for text in axis.get_legend().get_texts()]
        assert words == [
            "released density",
            "95% band for the share of these\npersons in each cell, over its size",
        ]

    def test_an_image_with_its_scale(self, square) -> None:
        pytest.importorskip("matplotlib").use("Agg")
        axis = square.plot()
        (image,) = axis.get_images()
        assert image.get_array().shape == (256, 256)
        # The first variable runs to the right, the second up.
        assert np.allclose(image.get_array().data, square.on_grid().T)
        assert len(axis.figure.axes) == 2
        assert "per unit of area" in axis.figure.axes[1].get_ylabel()

    def test_a_box_is_refused(self, cube) -> None:
        with pytest.raises(ParameterError, match="at most 2 variables to be drawn"):
            cube.plot()


# Deaths by age: counts of five-year ages, in thousands with three decimals.

AGES = [5.0 * i for i in range(21)] + [105.0]


@pytest.fixture(scope="module")
def deaths(data_dir: Path) -> dict[str, list[float]]:
    regions: dict[str, list[float]] = {}
    with (data_dir / "wpp2019_deaths_by_age.csv").open(encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            if row["period"] == "2010-2015":
                regions.setdefault(row["region"], []).append(float(row["deaths_thousands"]))
    return regions


class TestDeaths:
    def test_all_regions_at_epsilon_one(self, deaths) -> None:
        assert len(deaths) == 19
        density = PrivateDensity(1, unit="person", domain=Domain(labels={"domain": "age (years)"}))
        for counts in deaths.values():
            release = density.fit_counts(counts, AGES, multiplier=1000).release_
            total = round(sum(counts) * 1000)
            assert release.raw.public_size == total
            # Noise of a few persons among a million or more: no share is off by more than 1e-4, but
            # with a chance of exp(-0.9e6 * 1e-4 / 2) a cell.
            shares = np.array(counts) / sum(counts)
            assert np.abs(release.raw.counts / total - shares).max() < 1e-4
            assert abs(release.integral() - 1) < 1e-12
            below = np.array([release.cdf(age) for age in AGES[1:]])
            # Smoothing and the constraint of sign move what the noise does not.
            assert np.abs(below - np.cumsum(shares)).max() < 0.01

    def test_the_noise_in_the_density(self, deaths) -> None:
        """The distance to the same estimate without noise is far below the errors of the papers."""
        counts = np.array(deaths["Australia/New Zealand"]) * 1000
        density = PrivateDensity(1)
        release = density.fit_counts(counts.round().astype(int), AGES).release_
        exact = ReleasedHistogram(
            **{
                **{entry.name: getattr(release.raw, entry.name) for entry in fields(release.raw)},
                "noisy_counts": tuple(int(c) << EXPONENT for c in counts.round()),
            }
        )
        distance = quad(lambda t: (release(t) - ReleasedDensity(exact)(t)) ** 2, 0, 105, limit=400)[0]
        assert distance < 1e-6
