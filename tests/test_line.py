"""The default mean of curves between bounds: its design, its line, its band, what is said of them."""

import csv
import json
import os
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dpfda import Domain, PrivacyUnit, PrivateComparison, PrivateMean, load
from dpfda.bases import KernelBasis
from dpfda.bases.kernels import default_kernel
from dpfda.bases.priors import CurvePrior
from dpfda.bounds import L1Ball, L2Ball, ValueBounds
from dpfda.errors import ParameterError
from dpfda.estimates import CurveModel, Widths
from dpfda.estimates.widths import around_lines
from dpfda.mechanisms.design import choose
from dpfda.mechanisms.design.lines import number_of_cells
from dpfda.noise import BoxNoise
from dpfda.privacy.guarantees import Neighbours, PureDP, ZeroConcentratedDP, guarantee_for
from dpfda.releases.lines import misfit, verdict
from dpfda.testing import simulate_releases
from dpfda.testing.contracts import make_problem
from experiments.atlas_rivals import rule_cells, spline
from planned import make_plan
from released_lines import widths_of

GRID = np.linspace(0, 1, 100)


def model_of(points: int, strength: float, centers: Any = (), cells: int | None = None) -> CurveModel:
    """Box noise on cells of a grid of [0, 1], bounds 0 and 1, noise of a mean of n units."""
    count = number_of_cells(points, strength) if cells is None else cells
    sizes = np.bincount((2 * np.arange(points) + 1) * count // (2 * points))
    # Per-cell scales in proportion to sizes, in units small enough for whole numbers.
    scales = tuple(int(size) * 2**20 for size in sizes)
    prior = CurvePrior(np.zeros(points), np.ones(points), tuple(sizes.tolist()), np.array(list(centers)))
    grid = np.linspace(0, 1, points)
    return CurveModel.of(prior, grid, np.eye(points), BoxNoise(scales), 2.0**-20 / strength)


def noisy(model: CurveModel, mean: Any, generator: Any) -> Any:
    return model.forms @ (mean - 0.5) + model.noise.simulate(generator, 1)[0] * model.step


def error(model: CurveModel, mean: Any, draws: int, seed: int) -> float:
    generator = np.random.default_rng(seed)
    lines = [model.posterior(noisy(model, mean, generator)).line for _ in range(draws)]
    return float(np.sqrt(np.mean((np.array(lines) - mean) ** 2)))


def means_of(points: int) -> list[Any]:
    t = np.linspace(0, 1, points)
    return [
        0.5 + 0.3 * np.sin(6 * t),
        0.2 + 0.6 * t**2,
        0.3 + 0.4 * np.exp(-(((t - 0.4) / 0.15) ** 2)),
        0.6 + 0.1 * np.cos(9 * t) - 0.2 * t,
    ]


class TestDesign:
    basis = KernelBasis.on_grid(default_kernel((0.0, 1.0)), GRID)

    def design(self, size: int, guarantee: Any, neighbours: Any = Neighbours.REPLACE_ONE) -> Any:
        problem = make_problem(self.basis, ValueBounds(0.0, 1.0), size, guarantee, neighbours)
        return choose(problem)

    def test_the_number_of_cells_grows_and_is_all_points_in_the_end(self) -> None:
        counts = [number_of_cells(200, s) for s in np.geomspace(1, 1e6, 60)]
        assert counts == sorted(counts)
        assert counts[0] == 3
        assert counts[-1] == 200
        assert not any(100 <= count < 200 for count in counts)
        assert [number_of_cells(m, 5000) for m in (2, 3, 24, 57)] == [2, 3, 24, 57]
        assert max(number_of_cells(5000, s) for s in np.geomspace(1, 1e12, 30)) == 300

    def test_more_cells_where_n_epsilon_is_large(self) -> None:
        grown, before = (
            [number_of_cells(200, s, grown) for s in (300, 1000, 2000, 5000, 8000)]
            for grown in (True, False)
        )
        assert grown[:2] == before[:2]
        assert grown[2] > before[2]
        assert grown[3] == int(1.4 * before[3])
        assert number_of_cells(200, 1e5, False) == number_of_cells(200, 1e5) == 200

    def test_cells_have_equal_numbers_of_points(self) -> None:
        for size in (50, 700, 3000):
            cells = np.array(self.design(size, PureDP(1)).hierarchy.cells)
            assert cells.sum() == 100
            assert np.ptp(cells) <= 1

    def test_the_noise_is_that_of_the_box(self) -> None:
        design = self.design(500, PureDP(1))
        sizes = np.array(design.hierarchy.cells)
        unit = 2.0**-design.measurement.exponent / 500
        # Replaced, one unit moves the sum over a cell by its number of points, in units of the bounds.
        np.testing.assert_allclose(np.array(design.noise.scales) * unit, sizes / 500, rtol=1e-6)
        other = self.design(250, PureDP(1), Neighbours.ADD_REMOVE)
        assert other.hierarchy.cells == design.hierarchy.cells

    def test_pure_privacy_never_takes_a_block(self) -> None:
        assert {self.design(n, PureDP(e)).mechanism for n in (10, 300, 80_000) for e in (1, 8)} == {
            "cells"
        }

    @pytest.mark.parametrize(
        ("epsilons", "deltas"),
        [
            (("1/4", "1", "4"), (0, "1e-9", "1e-2")),
            # Every step of what is above.
            pytest.param(
                ("1/4", "1/2", "1", "2", "4"), (0, "1e-9", "1e-5", "1e-2"), marks=pytest.mark.thorough
            ),
        ],
    )
    def test_more_budget_is_never_worse(self, epsilons: Any, deltas: Any) -> None:
        # Expected errors at one key: simulation and whole numbers of cells leave a few per cent.
        for size in (300, 8000):
            table = [
                [
                    make_plan(
                        self.basis, ValueBounds(0, 1), size, guarantee_for(e, d), draws=300
                    ).typical_error
                    for e in epsilons
                ]
                for d in deltas
            ]
            assert np.all(np.diff(table, axis=1) < 0)
            assert np.all(np.diff(table, axis=0) <= 0.03 * np.array(table)[1:])

    def test_a_delta_or_zcdp_takes_what_has_less_noise(self) -> None:
        assert self.design(20_000, guarantee_for(1, "1e-6")).mechanism == "knorm"
        assert self.design(50, guarantee_for(1, "1e-9")).mechanism == "cells"
        assert self.design(5000, ZeroConcentratedDP("1/2")).mechanism == "gaussian"

    def test_others_keep_theirs(self) -> None:
        for problem in (
            make_problem(self.basis, L2Ball(1.0), 500, PureDP(1)),
            make_problem(
                KernelBasis.on_grid(default_kernel((0.0, 2.0)), GRID), ValueBounds(0, 1), 9, PureDP(1)
            ),
        ):
            assert problem.curves is None


class TestLine:
    def test_it_beats_averages_over_cells_on_smooth_means(self) -> None:
        # Against piecewise constant averages over the cells that an expert would take.
        for strength in (300.0, 5000.0):
            count = max(3, round(0.62 * strength**0.45))
            ours, theirs = model_of(100, strength), model_of(100, strength, cells=count)
            generator, ratios = np.random.default_rng(1), []
            for mean in means_of(100):
                sizes = theirs.forms.sum(axis=1)
                plain = [(noisy(theirs, mean, generator) / sizes + 0.5) for _ in range(60)]
                steps = np.array(plain)[:, theirs.prior.labels]
                ratios.append(error(ours, mean, 12, 2) / np.sqrt(np.mean((steps - mean) ** 2)))
            # Measured .42 and .45, with standard errors of .02.
            assert np.exp(np.mean(np.log(ratios))) < 0.7

    def test_five_periods_are_followed(self) -> None:
        # About .05 on each grid, with a standard error of .0015.
        for points in (100, 101, 200):
            sine = 0.5 + 0.3 * np.sin(2 * np.pi * 5 * np.linspace(0, 1, points))
            assert error(model_of(points, 500.0), sine, 30, 3) < 0.06

    def test_twelve_periods_do_not_fall_between_cells(self) -> None:
        found = []
        for points in (100, 101):
            t = np.linspace(0, 1, points)
            found.append(error(model_of(points, 2000.0), 0.5 + 0.3 * np.sin(24 * np.pi * t), 20, 4))
        assert max(found) < 0.09
        assert max(found) < 1.3 * min(found)

    def test_a_level_of_its_own_costs_nothing(self) -> None:
        for strength in (300.0, 5000.0):
            model = model_of(100, strength)
            middle, far = (error(model, np.full(100, level), 40, 5) for level in (0.55, 0.93))
            assert far < 1.3 * middle

    @pytest.mark.parametrize(("points", "strength"), [(100, 300.0), (200, 5000.0), (100, 80_000.0)])
    def test_a_constant_is_found_better_than_by_an_average_of_the_cells(
        self, points: int, strength: float
    ) -> None:
        # Their average has a deviation of about (M / 3)^(1/2) / S: the law of the box tells more.
        model = model_of(points, strength)
        average = np.sqrt((model.resolution + 3) / 3) / strength
        assert error(model, np.full(points, 0.85), 60, 13) < 0.9 * average

    def test_nearly_constant_means_lose_little_by_it(self) -> None:
        model, times = model_of(100, 1000.0), np.linspace(0, 1, 100)
        first, second = (replace(model, prior=replace(model.prior, version=v)) for v in (1, 2))
        ratios = []
        for wave in (3, 10, 20, 40):
            mean = 0.6 + wave / 1000 * np.sin(5 * times)
            before = error(first, mean, 40, 14)
            ratios.append([error(each, mean, 40, 14) / before for each in (second, model)])
        assert np.max(ratios) < 1.15
        # Where there is no constant the law of the box still tells more than normal noise.
        assert ratios[-1][0] == pytest.approx(1, abs=0.02)
        assert ratios[-1][1] < 0.95

    def test_it_is_the_posterior_mean_of_a_normal_model(self) -> None:
        # An independent way: every component and scale by dense algebra, weighted by its evidence. The
        # third version begins where the second ends: tests/test_box_law.py.
        model = model_of(12, 40.0, cells=4)
        model = replace(model, prior=replace(model.prior, version=2))
        seen = noisy(model, np.linspace(0.2, 0.7, 12), np.random.default_rng(6))
        posterior, terms = model.posterior(seen), []
        power = np.diag(model.deviations**2)
        for fit in posterior.fits:
            weight = {"smooth": 1.0, "local": 2.0}.get(fit.part.kind, 0.03)
            for scale in fit.scales:
                covariance = scale * fit.part.root @ fit.part.root.T
                inside = model.forms @ covariance @ model.forms.T + power
                log = -0.5 * (np.linalg.slogdet(inside)[1] + seen @ np.linalg.solve(inside, seen))
                mean = 0.5 + covariance @ model.forms.T @ np.linalg.solve(inside, seen)
                terms.append((np.log(weight) + log, mean))
        # A constant by numerical integration of the law of the box over the level.
        levels, noise, cells = np.linspace(-0.5, 0.5, 20_001), model.noise, 4
        apart = (seen - levels[:, None] * model.forms.sum(axis=1)) / model.step
        chances = np.exp(noise.log_density(apart))
        # Expected logs of the two laws at their own noise, but for what they have in common.
        normal = -0.5 * np.linalg.slogdet(power)[1] - cells / 2
        log = np.log(np.mean(chances)) + cells + normal
        level = chances @ levels / chances.sum()
        terms.append((np.log(3.0 * cells) + log, np.full(12, 0.5 + level)))
        logs = np.array([log for log, _ in terms])
        weights = np.exp(logs - logs.max())
        expected = weights @ np.array([mean for _, mean in terms]) / weights.sum()
        np.testing.assert_allclose(posterior.mean, expected, atol=1e-5)

    def test_every_point_seen_needs_no_factorisation_and_changes_nothing(self) -> None:
        model = model_of(30, 1e4, cells=30)
        assert model.identity is not None
        tilted = replace(model, forms=model.forms * np.linspace(1, 1 + 1e-7, 30)[:, None])
        assert tilted.identity is None
        seen = noisy(model, means_of(30)[0], np.random.default_rng(7))
        np.testing.assert_allclose(model.posterior(seen).mean, tilted.posterior(seen).mean, atol=1e-4)

    def test_without_noise_to_speak_of_it_is_the_mean(self) -> None:
        mean = means_of(100)[2]
        assert error(model_of(100, 1e9), mean, 2, 8) < 1e-6

    def test_studies_of_many_releases_leave_out_the_local_component_alone(self) -> None:
        model = model_of(40, 200.0)
        seen = noisy(model, means_of(40)[0], np.random.default_rng(9))
        from dpfda.estimates.components import mixed_mean

        expected = mixed_mean(model.posterior(seen).fits[:-1])
        np.testing.assert_allclose(model.first_means(seen[None, :])[0], expected, atol=1e-10)

    def test_long_and_uneven_grids(self) -> None:
        grid = np.concatenate([np.linspace(0, 0.5, 300), np.linspace(0.5, 1, 501)[1:]])
        curves = np.clip(0.5 + 0.3 * np.sin(6 * grid) + np.zeros((4000, 1)), 0, 1)
        release = PrivateMean(1.0, bounds=(0, 1), domain=Domain(grid)).fit(curves).release_
        assert np.sqrt(np.mean((release(grid) - curves[0]) ** 2)) < 0.03
        assert release.band().contains(release(release.band().points))

    def test_curved_bounds(self) -> None:
        lower, upper = GRID, GRID + 1 + np.sin(GRID)
        mean = lower + (0.3 + 0.2 * GRID) * (upper - lower)
        fitted = PrivateMean(1.0, bounds=(lower, upper), domain=Domain(GRID)).fit(
            np.tile(mean, (5000, 1))
        )
        release, band = fitted.release_, fitted.release_.band(points=GRID)
        assert np.sqrt(np.mean((release(GRID) - mean) ** 2)) < 0.03
        assert np.all(band.lower >= lower) & np.all(band.upper <= upper)


class TestBand:
    @settings(deadline=None, max_examples=25)
    @given(
        level=st.floats(0.9, 0.999),
        simultaneous=st.booleans(),
        seed=st.integers(0, 2**32 - 1),
        points=st.integers(3, 60),
        strength=st.floats(5, 1e5),
    )
    def test_the_line_is_in_it_and_bounds_are_not_crossed(
        self, level: float, simultaneous: bool, seed: int, points: int, strength: float
    ) -> None:
        release = release_of(points, strength, seed)
        band = release.band(level, simultaneous)
        assert band.contains(release(band.points))
        assert band.lower.min() >= -1
        assert band.upper.max() <= 2
        wider = release.band(0.9995, simultaneous)
        assert np.mean(wider.upper - wider.lower) >= np.mean(band.upper - band.lower) - 1e-12
        slope = release.derivative()
        assert slope.band(level, simultaneous).contains(slope(band.points))

    # At both TestRealCurves looks whether real means are held.
    @pytest.mark.parametrize("strength", [pytest.param(300.0, marks=pytest.mark.thorough), 5000.0])
    def test_it_holds_smooth_means(self, strength: float) -> None:
        # Meant to hold in 95 of 100; a band that held 90 would fail here one time in a hundred or more.
        generator, held, cases = np.random.default_rng(11), 0, 120
        model, means = model_of(60, strength), means_of(60)
        for case in range(cases):
            mean = means[case % 4]
            widths = Widths(model.posterior(noisy(model, mean, generator)))
            held += bool(np.all(np.abs(widths.posterior.line - mean) <= widths.around_line(0.95)))
        assert held >= binom.ppf(1e-3, cases, 0.95)

    @pytest.mark.parametrize("points", [30, 120])
    def test_where_every_point_is_measured_it_holds_any_mean(self, points: int) -> None:
        # White noise, which no component expects: by the law of the noise alone. A band that held 90 or
        # 99 in 100 would pass less than one time in a hundred.
        generator, held, draws = np.random.default_rng(points), 0, 600
        model = model_of(points, 40.0 * points, cells=points)
        for _ in range(draws):
            mean = generator.uniform(0, 1, points)
            widths = Widths(model.posterior(noisy(model, mean, generator)))
            lower, upper = widths.measured(0.95, True)
            held += bool(np.all((lower <= mean) & (mean <= upper)))
        assert binom.ppf(1e-3, draws, 0.95) <= held <= binom.isf(1e-3, draws, 0.95)

    def test_a_spike_that_noise_hides_is_held_where_every_point_is_measured(self) -> None:
        # Flat but for one point, by no more than the noise: the line follows no such spike. A band that
        # held 85 in 100 would pass less than one time in a hundred.
        mean, held, draws = np.full(84, 0.3), 0, 120
        estimator = PrivateMean(4.0, bounds=(0, 1), domain=(0, 1))
        mean[36] += 0.006
        for _ in range(draws):
            release = estimator.fit(np.tile(mean, (5000, 1))).release_
            assert widths_of(release).whole
            held += release.band(0.95, points=release.grid_points).contains(mean)
        assert held >= binom.ppf(1e-3, draws, 0.95)

    @pytest.mark.parametrize("strength", [300.0, 5000.0])
    def test_beyond_the_middles_of_the_outer_cells_a_slope_may_go_on(self, strength: float) -> None:
        # The straight mean is seen in no cell to go on beyond its middle: half-widths have there what
        # the line changes over a cell, on average, but where it is flat nothing.
        model, t = model_of(200, strength), np.linspace(0, 1, 200)
        cells = model.resolution
        end, less = round(200 / cells), (40 / min(max(cells, 40), 80)) ** 0.5
        for slope in (0.0, 0.8):
            widths = Widths(model.posterior(model.forms @ (slope * (t - 0.5))))
            half, line = widths.around_line(0.95), widths.posterior.line
            step = np.abs(line[end:] - line[:-end]).mean()
            beyond = half[end - 1] - half[end]
            expected = less * (1 + 0.45 * widths.roughness) * 1.65 * step
            assert beyond == pytest.approx(expected, rel=0.15, abs=0.01 * half.max())

    def test_the_band_is_what_was_measured_and_the_line(self) -> None:
        t = np.linspace(0, 1, 60)
        spikes = np.where(np.arange(60) % 7 == 3, 0.9, 0.1)
        curves = np.tile(spikes, (4000, 1))
        release = PrivateMean(1.0, bounds=(0, 1), domain=Domain(t)).fit(curves).release_
        band, ends = release.band(points=t), widths_of(release).measured(0.95, True)
        line = release(t)
        assert band.lower == pytest.approx(np.minimum(np.maximum(ends[0], 0), line), abs=1e-12)
        assert band.upper == pytest.approx(np.maximum(np.minimum(ends[1], 1), line), abs=1e-12)
        slope = release.derivative().band(points=t)
        assert slope.upper.max() > band.upper.max()

    def test_between_the_points_it_is_as_wide_as_on_them(self) -> None:
        # Five points far apart, where the line bends: a band from point to point would leave it.
        curves = np.tile([0.1, 0.9, 0.2, 0.8, 0.3], (5000, 1))
        release = PrivateMean(4.0, bounds=(0, 1), domain=(0, 4)).fit(curves).release_
        inside, on = (release.band(points=at) for at in (np.arange(4) + 0.5, np.arange(5.0)))
        widths, known = inside.upper - inside.lower, on.upper - on.lower
        assert widths == pytest.approx((known[1:] + known[:-1]) / 2, rel=1e-6)

    def test_no_cut_where_cells_hold_several_points_or_the_number_is_private(self) -> None:
        assert widths_of(release_of(100, 300.0, 1)).measured(0.95, True) is None
        curves = np.full((5000, 30), 0.5)
        fitted = PrivateMean(1.0, bounds=(0, 1), unit=PrivacyUnit(neighbours="add-remove")).fit(curves)
        assert widths_of(fitted.release_).whole
        assert widths_of(fitted.release_).measured(0.95, True) is None

    def test_a_level_alone_is_not_taken_for_certain(self) -> None:
        # A flat line over few cells hides waves as large as the noise of a cell.
        model = model_of(100, 300.0)
        widths = Widths(model.posterior(np.zeros(model.resolution)))
        assert widths.around_line(0.95).min() > 0.3 * widths.noise_reach(0.95, True).max()

    @pytest.mark.parametrize(("points", "strength"), [(100, 5000.0), (600, 1e6)])
    def test_a_quick_one(self, points: int, strength: float) -> None:
        release = release_of(points, strength, 1)
        release(GRID)
        start = time.process_time()
        release.band()
        assert time.process_time() - start < 0.4  # .01 and .09 seconds on an idle machine

    def test_it_is_the_same_whenever_it_is_asked_for(self, tmp_path: Path) -> None:
        release = release_of(40, 300.0, 2)
        again = load(release.save(tmp_path / "a.json", overwrite=True))
        np.testing.assert_array_equal(again(GRID), release(GRID))
        for exact in (False, True):
            bands = [one.band(exact=exact).upper for one in (again, release)]
            np.testing.assert_array_equal(*bands)

    def test_levels_below_nine_tenths_are_for_what_was_measured(self) -> None:
        release = release_of(40, 300.0, 3)
        with pytest.raises(ParameterError, match=r"level must be at least 0\.9 .* exact=True"):
            release.band(0.8)
        assert release.band(0.8, exact=True).level == 0.8

    def test_that_of_a_difference_holds_and_is_narrower_than_both_together(self) -> None:
        generator, held, cases = np.random.default_rng(12), 0, 60
        model, means = model_of(60, 1000.0), means_of(60)
        for case in range(cases):
            pair = means[case % 4], means[(case + 1) % 4]
            both = [Widths(model.posterior(noisy(model, mean, generator))) for mean in pair]
            line = both[0].posterior.line - both[1].posterior.line
            half = around_lines(both, 0.95)
            held += bool(np.all(np.abs(line - (pair[0] - pair[1])) <= half))
            each = [np.mean(widths.around_line(0.95)) for widths in both]
            assert max(each) < np.mean(half) < 0.95 * sum(each)
            # Of two releases that came out alike: draws that were not independent would cancel.
            assert np.mean(around_lines((both[0], both[0]), 0.95)) > each[0] / 2
        assert held >= binom.ppf(1e-3, cases, 0.95)

    @pytest.mark.parametrize("case", ["decades", "squares", "few functions", "a long domain"])
    def test_what_functions_leave_out_widens_it(self, case: str) -> None:
        # Each point is a cell, but there are fewer functions than points, which cannot follow.
        t = np.linspace(0, 1, 40)
        grid = {"decades": 10.0 ** (6 * t - 3), "squares": t**2}.get(case, t)
        domain = (-2.0, 4.0) if case == "a long domain" else None
        few = KernelBasis.on_grid(default_kernel((0.0, 1.0)), t, components=5)
        mean = 0.5 + 0.3 * np.sin(6 * t) + 0.01 * np.cos(40 * t)
        for strength in (3e4, 3e6):
            fitted = PrivateMean(
                strength / 3000, bounds=(0, 1), domain=Domain(grid, domain),
                basis=few if case == "few functions" else None,
            )  # fmt: skip
            held = 0
            for _ in range(10):
                release = fitted.fit(np.tile(mean, (3000, 1))).release_
                assert release.basis.eigenvalues.size < 40
                band = release.band(0.95, points=grid)
                held += bool(np.all((band.lower <= mean) & (mean <= band.upper)))
            # One of 95 holds fewer than 7 of 10 in less than one of a thousand.
            assert held >= 7
        assert "than the released functions can follow" in release.describe()
        known = case in ("decades", "few functions")
        assert (": typical error 1 % of its height or less" in verdict(release)) != known

    def test_what_was_not_seen_widens_it(self) -> None:
        few = release_of(40, 30.0, 4).band(points=np.linspace(0, 1, 40))
        many = release_of(40, 3000.0, 4).band(points=np.linspace(0, 1, 40))
        assert np.mean(many.upper - many.lower) < 0.5 * np.mean(few.upper - few.lower)

    def test_a_private_count_widens_it(self) -> None:
        curves = np.full((300, 30), 0.95)
        fitted = PrivateMean(1.0, bounds=(0, 1), unit=PrivacyUnit(neighbours="add-remove")).fit(curves)
        widths = widths_of(fitted.release_)
        assert np.mean(widths.around_line(0.95)) > np.mean(replace(widths, count=None).around_line(0.95))

    def test_other_releases_have_the_exact_band_around_what_was_measured(self) -> None:
        curves = 0.3 * np.sin(6 * GRID) + np.zeros((500, 1))
        release = PrivateMean(1.0, bounds=L2Ball(1.0), domain=Domain(GRID)).fit(curves).release_
        exact, band = release.band(exact=True), release.band()
        assert np.all(band.lower <= exact.lower) & np.all(exact.upper <= band.upper)
        assert band.contains(release(band.points))


def weekly(days: int, wave: float = 0.25) -> Any:
    """Days and a mean that goes up and down each week, on a slow trend."""
    days_ = np.arange(float(days))
    return days_, 0.5 + wave * np.sign(np.sin(2 * np.pi * (days_ + 0.2) / 7)) + 0.1 * days_ / days


class TestKnownDetail:
    """What is known of the domain beforehand: the finest detail, cycles."""

    def release(self, days: int = 28, size: int = 300, **known: Any) -> Any:
        grid, mean = weekly(days)
        domain = Domain(grid, **known)
        fitted = PrivateMean(1.0, bounds=(0, 1), domain=domain, mechanism="one-look")
        return fitted.fit(np.tile(mean, (size, 1))).release_

    def error(self, days: int, **known: Any) -> float:
        grid, mean = weekly(days)
        found = [self.release(days, **known)(grid) - mean for _ in range(12)]
        return float(np.sqrt(np.mean(np.square(found))))

    def test_cells_are_half_as_long_as_the_finest_detail(self) -> None:
        assert len(self.release().noisy_sum) == 8
        assert len(self.release(finest=4).noisy_sum) == 28
        assert len(self.release(112, finest=8).noisy_sum) == 28
        # A coarse statement takes no cell away.
        assert len(self.release(112, 5000, finest=50).noisy_sum) == len(
            self.release(112, 5000).noisy_sum
        )
        assert sum(self.release(112, finest=8).hierarchy.cells) == 112

    def test_a_week_in_daily_data_is_found_once_it_is_stated(self) -> None:
        # Four weeks, and sixteen; standard errors are a tenth.
        plain, finest, cycle = (
            self.error(28, **known) for known in ({}, {"finest": 2}, {"periods": [7]})
        )
        assert finest < plain / 2
        assert cycle < 0.9 * finest
        assert self.error(112, periods=[7]) < self.error(112) / 3

    def test_a_plan_has_the_cells_of_the_release(self) -> None:
        grid, _ = weekly(28)
        mean = PrivateMean(1.0, bounds=(0, 1), domain=Domain(grid, periods=[7]))
        assert mean.plan(300).planned.components == 28
        again = mean.plan(300).remade(PureDP(2), 300)
        assert again.planned.components == 28

    def test_a_day_may_be_the_cycle_of_one_day_and_of_a_bit_less(self) -> None:
        hours = np.arange(0, 24, 0.5)
        for period in (24, 23, 13):
            mean = PrivateMean(1.0, bounds=(0, 1), domain=Domain(hours, periods=[period]))
            plan = mean.plan(400)
            assert 0 < plan.error < plan.band() < 1
            release = mean.fit(np.full((400, 48), 0.5)).release_
            assert release.band(points=hours).contains(np.full(48, 0.5))

    def test_files_hold_periods_and_older_programs_would_refuse_them(self, tmp_path: Path) -> None:
        release = self.release(periods=[7])
        path = release.save(tmp_path / "a.json")
        kept = json.loads(path.read_text())["hierarchy"]
        assert kept["version"] == 4
        assert np.array_equal(load(path)(np.arange(28.0)), release(np.arange(28.0)))
        assert load(path).hierarchy.periods == pytest.approx((7 / 27,))
        assert (
            "periods"
            not in json.loads(self.release(finest=2).save(tmp_path / "b.json").read_text())["hierarchy"]
        )

    def test_the_band_of_a_mean_with_a_cycle_holds_it(self) -> None:
        grid, mean = weekly(112)
        held = sum(self.release(112, periods=[7]).band(points=grid).contains(mean) for _ in range(20))
        # At .95 fewer than 16 of 20 have a chance of 2.6 in 1,000.
        assert held >= 16

    def test_functions_in_a_ball_repeat_where_cycles_are_known(self, tmp_path: Path) -> None:
        grid, mean = weekly(28)
        curves, errors = np.tile(mean - 0.5, (300, 1)), list[float]()
        for known in (None, [7]):
            made = PrivateMean(1.0, bounds=L2Ball(2.6), domain=Domain(grid, periods=known))
            drawn = simulate_releases(made, curves, draws=40, seed=11)
            errors.append(float(np.sqrt(np.mean((drawn - curves[0]) ** 2))))
        # .34 of the error, with a standard error of a tenth of that.
        assert errors[1] < 0.5 * errors[0]
        release = made.fit(curves).release_
        again = load(release.save(tmp_path / "a.json"))
        assert np.array_equal(again(grid), release(grid))
        assert release.certificate.achieved.epsilon <= 1
        with pytest.raises(
            ParameterError, match="periods must be no longer than the domain, 27; found 30"
        ):
            PrivateMean(1.0, bounds=L2Ball(2.6), domain=Domain(grid, periods=[30])).fit(curves)

    def test_what_makes_no_sense_is_refused(self) -> None:
        for known, words in (
            ({"finest": 0}, "finest must be a positive length, in units of the axis; found 0"),
            ({"finest": "2 days"}, "finest must be a positive length"),
            ({"periods": 7}, r"periods must be a list of lengths .* found 7.* Example: periods=\[7\]"),
            ({"periods": [7, -1]}, "periods must be a positive length"),
        ):
            with pytest.raises(ParameterError, match=words):
                Domain(np.arange(28.0), **known)
        with pytest.raises(
            ParameterError, match="periods must be no longer than the domain, 28; found 30"
        ):
            self.release(periods=[30])
        for known, bounds in (({"finest": 2}, L2Ball(1.0)), ({"periods": [7]}, L1Ball(1.0))):
            mean = PrivateMean(1.0, bounds=bounds, domain=Domain(np.arange(28.0), **known))
            with pytest.raises(ParameterError, match="must be None but for the default mean of curves"):
                mean.fit(np.zeros((30, 28)))


class TestRelease:
    def test_call_derivative_and_integral_are_of_one_curve(self) -> None:
        flat = np.clip(1.4 * np.sin(np.pi * GRID), 0, 1) + np.zeros((20_000, 1))
        release = PrivateMean(1.0, bounds=(0, 1), domain=Domain(GRID)).fit(flat).release_
        fine = np.linspace(0, 1, 20_001)
        values = release(fine)
        assert values.max() <= 1
        assert values.min() >= 0
        assert release.integral() == pytest.approx(np.trapezoid(values, fine), abs=1e-5)
        slopes = release.derivative()(fine)
        assert np.all(slopes[(values == 1) | (values == 0)] == 0)
        free = (values > 0) & (values < 1)
        inside = free[1:-1] & free[:-2] & free[2:]
        steps = (values[2:] - values[:-2]) / (fine[2] - fine[0])
        np.testing.assert_allclose(slopes[1:-1][inside], steps[inside], atol=0.02)

    def test_a_file_holds_public_ingredients_and_nothing_else_is_read(self, tmp_path: Path) -> None:
        release = release_of(40, 300.0, 5)
        written = json.loads(release.save(tmp_path / "a.json").read_text())
        kept = written["hierarchy"]
        assert (kept["kind"], kept["version"]) == ("curves between bounds", 3)
        assert sum(kept["cells"]) == 40
        for key, value in (
            ("version", 4),
            ("cells", [40]),
            ("cells", [-1, 41]),
            ("lower", kept["upper"]),
        ):
            (tmp_path / "b.json").write_text(json.dumps(written | {"hierarchy": kept | {key: value}}))
            with pytest.raises(Exception, match=r"version|damaged|cells|bounds|number"):
                load(tmp_path / "b.json")

    def test_what_is_said(self) -> None:
        assumed, release = release_of(100, 100.0, 6), release_of(100, 5000.0, 6)
        words, own = (" ".join(each.describe().split()) for each in (release, assumed))
        meant = "is meant to hold the mean of these bounded curves, everywhere at once, in 95 of 100"
        missed = "narrower than a cell can be missed altogether"
        assert meant in own
        assert missed in own
        assert "probability of about 95%" not in own
        holds = (
            "With a probability of about 95% the mean of these bounded curves lies, everywhere at once"
        )
        assert holds in words
        assert "whatever the curves are" in words
        assert missed not in words
        said = verdict(release)
        assert f"{said[:1].upper()}{said[1:]}." in words
        assert misfit(release) is None

    @pytest.mark.parametrize(
        ("mean", "bounds", "size", "said"),
        [
            (np.sin(6 * GRID), (-2, 2), 5000, "resolves the course: typical error"),
            # A peak narrower than a cell: what is released is flat.
            (
                0.1 + 0.8 * (np.abs(GRID - 0.4) < 0.006),
                (0, 1),
                100,
                "shape not resolved: a flat line would serve as well; typical error of its level",
            ),
            # More people measure how far off the line is there, and that is more than all that it shows.
            (
                0.1 + 0.02 * GRID + 0.8 * (np.abs(GRID - 0.4) < 0.006),
                (0, 1),
                1000,
                "misses more than it shows: somewhere off by at least",
            ),
            (
                0.1 + 0.5 * GRID + 0.4 * (np.abs(GRID - 0.4) < 0.006),
                (0, 1),
                1000,
                "shows the course roughly: somewhere off by at least",
            ),
            (np.full(100, 0.5), (0, 1), 50_000, "shape not resolved: a flat line would serve as well"),
            # Millimetres for metres, and metres for millimetres.
            (np.full(100, 1700.0), (0, 3), 2000, "at the bound: most of the line lies on 3 or near it"),
            (
                np.full(100, 1.7),
                (0, 3000),
                2000,
                "at the bound: most of the line lies on 0 or near it; check units",
            ),
        ],
    )
    def test_the_verdict_is_relative_to_the_curve(self, mean, bounds, size, said) -> None:
        curves = np.tile(mean, (size, 1))
        release = PrivateMean(1.0, bounds=bounds, domain=Domain(GRID)).fit(curves).release_
        assert verdict(release).startswith(said)
        assert "good" not in verdict(release)
        assert release.facts["verdict"] == verdict(release)

    def test_a_misfit_is_told_first_and_widens_the_band(self) -> None:
        steps = 0.5 + 0.45 * np.sign(np.sin(2 * np.pi * 17.3 * np.linspace(0, 1, 200)))
        model = model_of(200, 3000.0)
        widths = Widths(model.posterior(noisy(model, steps, np.random.default_rng(1))))
        assert widths.misfit
        wide = widths.around_line(0.95)
        calm = Widths(model.posterior(noisy(model, means_of(200)[0], np.random.default_rng(1))))
        assert not calm.misfit
        assert np.mean(wide) > 3 * np.mean(calm.around_line(0.95))
        curves = np.tile(steps, (3000, 1))
        release = PrivateMean(1.0, bounds=(0, 1)).fit(curves).release_
        assert release.facts.stated.first[0] == misfit(release)
        assert misfit(release) in " ".join(release.describe().split())

    def test_where_the_line_is_true_a_misfit_is_rare(self) -> None:
        # Smooth means: the test is at .95, and the line follows the noise a little.
        flags, generator = 0, np.random.default_rng(3)
        for case in range(200):
            model = model_of(100, (300.0, 1000.0)[case % 2])
            mean = means_of(100)[case % 4]
            flags += Widths(model.posterior(noisy(model, mean, generator))).misfit
        assert flags <= binom.isf(1e-3, 200, 0.05)

    def test_a_mean_rougher_than_its_cells_is_named(self) -> None:
        t = np.linspace(0, 1, 200)
        rough = 0.5 + 0.45 * np.sign(np.sin(2 * np.pi * 17.3 * t))
        flags = [
            Widths(model.posterior(noisy(model, rough, np.random.default_rng(seed)))).misfit
            for seed in range(10)
            for model in [model_of(200, 3000.0)]
        ]
        assert sum(flags) >= 8
        model = model_of(200, 3000.0)
        calm = [
            Widths(model.posterior(noisy(model, m, np.random.default_rng(1)))).misfit
            for m in means_of(200)
        ]
        assert not any(calm)

    def test_groups_are_lines_and_their_difference_is_in_its_band(self) -> None:
        curves = 0.4 + 0.3 * np.sin(6 * GRID) + np.zeros((600, 1))
        groups = ["a", "b"] * 300
        found = PrivateComparison(1.0, bounds=(0, 1), domain=Domain(GRID)).fit(curves, groups).release_
        assert isinstance(found["a"].hierarchy, CurvePrior)
        difference = found.difference("a", "b")
        assert difference.band().contains(difference(difference.band().points))


class TestPublicCurves:
    def test_near_curves_help_and_far_ones_cost_little(self) -> None:
        mean, other = means_of(100)[2], means_of(100)[1]
        plain, near, far = (
            error(model_of(100, 300.0, c), mean, 60, 12) for c in ((), (mean + 0.01,), (other,))
        )
        assert near < plain / 1.4
        assert far < 1.1 * plain

    def test_they_come_as_arrays_functions_and_releases(self, tmp_path: Path) -> None:
        curves = means_of(100)[0] + np.zeros((300, 1))
        first = PrivateMean(1.0, bounds=(0, 1), domain=Domain(GRID)).fit(curves).release_
        for prior in (curves[0], np.cos, first, [first, np.sin, curves[0]], curves[:2]):
            fitted = PrivateMean(1.0, bounds=(0, 1), domain=Domain(GRID), prior=prior).fit(curves)
            release = fitted.release_
            assert release.band().contains(release(release.band().points))
            again = load(release.save(tmp_path / "a.json", overwrite=True))
            np.testing.assert_array_equal(again(GRID), release(GRID))

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"prior": np.ones(7)}, "prior must have 100 finite values a curve"),
            ({"prior": lambda t: t / 0}, "prior must have 100 finite values"),
            ({"prior": "last year"}, "prior must be curves on the grid, or functions"),
            (
                {"prior": np.ones(100), "mechanism": "knorm"},
                "prior must be None but for the default mean",
            ),
        ],
    )
    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_refused(self, settings: Any, words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            PrivateMean(1.0, bounds=(0, 1), grid_points=GRID, **settings).fit(np.zeros((5, 100)))


def release_of(points: int, strength: float, seed: int) -> Any:
    """A release between -1 and 2, with floating-point noise from a seed."""
    generator = np.random.default_rng(seed)
    size = max(2, round(strength))
    grid = np.linspace(0, 1, points)
    mean = 3 * means_of(points)[seed % 4] - 1 + generator.uniform(-0.5, 0.5)
    fitted = PrivateMean(1.0, bounds=(-1, 2), domain=Domain(grid)).prepare(np.tile(mean, (2, 1)))
    request = replace(fitted.plan, size=size)
    from dpfda.publication.averages import check

    paid = check(request)
    placed = request.on_grid
    sums = np.rint(np.ldexp(np.clip(mean, -1, 2) - 0.5, placed.rule.exponent)) * size
    exact = request.grid_matrix(placed) @ sums
    noise = paid.design.noise.simulate(generator, 1)[0]
    return paid.release(tuple(int(v) for v in np.rint(exact + noise)))


ATLAS = Path(os.environ.get("DPFDA_DATA_DIR", "/nowhere")) / "atlas"


@pytest.mark.skipif(not (ATLAS / "atlas.csv").exists(), reason="real curves are not here")
class TestRealCurves:
    """On the sets that were in view when the constants were set: no gain is lost unseen."""

    def test_band_and_error(self) -> None:
        held, ratios, cases = 0, [], 0
        for name, curves in list(real_curves().items())[::2]:
            mean = curves.mean(axis=0)
            for strength in (300.0, 5000.0):
                seed = zlib.crc32(f"{name} {strength}".encode())
                model, generator = model_of(mean.size, strength), np.random.default_rng(seed)
                for _ in range(2):
                    widths = Widths(model.posterior(noisy(model, mean, generator)))
                    line, half = widths.posterior.line, widths.around_line(0.95)
                    held += bool(np.all(np.abs(line - mean) <= half))
                    ratios.append(np.mean(half) / np.sqrt(np.mean((line - mean) ** 2)))
                    cases += 1
        assert held >= 0.9 * cases
        assert np.median(ratios) < 7

    # Two sets of those that are worst in every run; four in a run of all.
    @pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.thorough)])
    def test_error_beside_an_expert(self, count: int) -> None:
        # Errors over those of the expert's rule of the page on baselines. With 4 draws a size the error
        # of a size has a standard error of about .14, and the geometric mean over 39 sets and four sizes
        # one of .014; with 40 draws those of a set have .035. Limits are four of these above what
        # was measured, .88 and 1.10 for the worst set: passed by luck less than once in 10,000 times.
        means = {name: curves.mean(axis=0) for name, curves in real_curves().items()}
        first = {name: over_expert(name, mean, 4) for name, mean in means.items()}
        assert np.exp(np.mean(list(first.values()))) < 0.937
        # Judged by other draws than those that picked them.
        worst = sorted(first, key=lambda name: -first[name])[:count]
        again = [np.exp(over_expert(f"{name} again", means[name], 40)) for name in worst]
        assert max(again) < 1.24


def real_curves() -> dict[str, Any]:
    """Curves of every set in shares of the public range, clipped to it."""
    found = {}
    for row in csv.DictReader((ATLAS / "atlas.csv").read_text().splitlines()):
        rows = np.loadtxt(ATLAS / f"{row['name']}.csv", delimiter=",")[1:]
        low, high = float(row["lo"]), float(row["hi"])
        found[row["name"]] = (np.clip(rows, low, high) - low) / (high - low)
    return found


def over_expert(name: str, mean: Any, draws: int) -> float:
    """Mean log of the error over that of the expert's rule, at four sizes."""
    logs = []
    for strength in (50.0, 500.0, 5000.0, 80_000.0):
        seed = zlib.crc32(f"{name} {strength}".encode())
        expert = spline(mean.size, rule_cells(mean.size, strength))
        releases = expert.releases(np.random.default_rng(seed), mean, strength, 200)
        theirs = np.sqrt(np.mean((releases - mean) ** 2))
        logs.append(np.log(error(model_of(mean.size, strength), mean, draws, seed) / theirs))
    return float(np.mean(logs))


def test_a_level_that_is_refused_is_the_one_that_was_asked() -> None:
    release = PrivateMean(1, bounds=(0, 1)).fit(np.full((50, 24), 0.4)).release_
    assert release.band(0.81, of="population").level == 0.81
    with pytest.raises(ParameterError, match=r"at least 0\.81 for .*; found 0\.8\."):
        release.band(0.8, of="population")
