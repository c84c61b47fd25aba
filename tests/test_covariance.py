"""Covariances: sensitivity, noise laws, calibration, release, files, refusals."""

import copy
import json
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import gammaln, kv

import dpfda
from dpfda import PrivacyUnit, PrivateCovariance, PrivateFPCA, PrivateMean, Reading
from dpfda.bases import BernsteinBasis, BoxBasis, CosineBasis, KernelBasis
from dpfda.bases.ordinary import ordinary_modes
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds import L1Ball, L2Ball
from dpfda.covariance import deviations
from dpfda.covariance import publish as publishing
from dpfda.covariance.design import best_symmetric, chosen_radius, symmetric_laws
from dpfda.covariance.estimator import first_stage
from dpfda.covariance.publish import outer_sum
from dpfda.covariance.release import ReleasedCovariance
from dpfda.covariance.strategies import Center, MatrixNoise
from dpfda.errors import BudgetError, DataError, DpfdaError, ParameterError, RefusedMechanismError
from dpfda.noise import achieved_guarantee
from dpfda.noise.symmetric import (
    OuterDifference,
    SymmetricGaussianNoise,
    SymmetricKNormNoise,
    quietest_symmetric,
    symmetric_noise,
)
from dpfda.noise.wishart import CoupledNoise, WishartDifferenceNoise
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.privacy.words import number
from dpfda.publication.moments import RadiusChoice, bin_counts
from dpfda.records import LongCurves
from dpfda.records.second_moments import LARGEST, OuterSum, outer_ball
from dpfda.releases.moments import nearest_positive
from statistical import FALSE_ALARM, fits, lower_limit, upper_limit

REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE
LAWS = {
    "wishart": WishartDifferenceNoise,
    "coupled": CoupledNoise,
    "knorm": SymmetricKNormNoise,
    "gaussian": SymmetricGaussianNoise,
}
small_rows = st.lists(st.integers(-9, 9), min_size=3, max_size=3)


def waves(count, points=25, seed=0):
    generator = np.random.default_rng(seed)
    grid = np.linspace(0, 1, points)
    scores = generator.uniform(-1, 1, (count, 2)) * [0.3, 0.1]
    return scores @ [np.sin(np.pi * grid), np.cos(np.pi * grid)]


def released(curves=None, **parameters):
    settings_ = {"epsilon": 5.0, "center": 0.0, "radius": 0.4, **parameters}
    return PrivateCovariance(**settings_).fit(waves(300) if curves is None else curves).release_


def symmetric(entries, size):
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = entries
    return matrix + np.tril(matrix, -1).T


@cache
def exact_draws(law, size):
    """Entries (n, M) of exact draws at scale 2^20: one sample for all that is asked of a law."""
    # Of size one, coupled laws whose scales are sqrt(2) apart differ least: by .063, for 4,000 draws.
    few = size == 3 and law is not WishartDifferenceNoise
    count = 4000 if (law, size) == (CoupledNoise, 1) else 2000 if few else 3000
    return np.array([law(size, 2**20).draw() for _ in range(count)], dtype=float)


class TestSensitivity:
    @given(first=small_rows, second=small_rows)
    def test_no_pair_of_integer_rows_exceeds_it(self, first, second):
        c, d = np.array(first, dtype=object), np.array(second, dtype=object)
        square = max(int(c @ c), int(d @ d))
        # The smallest integer radius whose ball holds both.
        radius = math.isqrt(square - 1) + 1 if square else 1
        moved = np.outer(c, c) - np.outer(d, d)
        bound = OuterDifference.of(3, radius, REPLACE)
        assert int((moved**2).sum()) <= bound.frobenius_square
        eigenvalues = np.linalg.eigvalsh(moved.astype(float))
        assert np.abs(eigenvalues).sum() <= bound.trace * (1 + 1e-9)
        parts = eigenvalues.clip(0).sum(), -eigenvalues.clip(None, 0).sum()
        assert max(parts) <= bound.part * (1 + 1e-9)
        alone = OuterDifference.of(3, radius, ADD)
        assert int((np.outer(c, c) ** 2).sum()) <= alone.frobenius_square
        assert int(c @ c) <= alone.trace

    @pytest.mark.parametrize("neighbours", [REPLACE, ADD])
    def test_it_is_attained(self, neighbours):
        radius = 13
        c, d = np.array([5, 12, 0]), np.array([-12, 5, 0])
        moved = np.outer(c, c) - (np.outer(d, d) if neighbours is REPLACE else 0)
        bound = OuterDifference.of(3, radius, neighbours)
        assert int((moved**2).sum()) == bound.frobenius_square
        eigenvalues = np.linalg.eigvalsh(moved)
        assert np.abs(eigenvalues).sum() == pytest.approx(bound.trace, rel=1e-12)
        assert eigenvalues.clip(0).sum() == pytest.approx(bound.part, rel=1e-12)

    def test_one_function_alone_moves_by_half_as_much(self):
        # There are no orthogonal directions: the extremes are c = R and c = 0.
        values = [a * a - b * b for a in range(-7, 8) for b in range(-7, 8)]
        assert max(values) == OuterDifference.of(1, 7, REPLACE).trace == 49

    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.integers(1, 6))
    def test_the_sum_is_that_of_exact_outer_products(self, seed, size):
        rows = np.random.default_rng(seed).integers(-LARGEST, LARGEST + 1, (7, size))
        total = OuterSum(size).add(rows[:3])
        total.add(rows[3:])
        exact = [[sum(int(r[j]) * int(r[k]) for r in rows) for k in range(size)] for j in range(size)]
        expected = tuple(exact[j][k] for j in range(size) for k in range(j + 1))
        assert total.with_noise([0] * len(expected)) == expected

    def test_a_full_block_of_the_largest_rows_does_not_wrap_around(self):
        rows = np.full((2**14, 2), LARGEST, dtype=np.int64)
        assert OuterSum(2).add(rows).with_noise([0] * 3) == (2**62,) * 3

    @pytest.mark.parametrize("entry", [-LARGEST, LARGEST - 2**11, 2**11 - LARGEST, 2**12 + 2**11, -1])
    def test_full_blocks_are_multiplied_exactly(self, entry):
        # Halves of 12 bits at their ends, where one is rounded to the other.
        rows = np.full((2**14, 2), [entry, 2**11], dtype=np.int64)
        expected = tuple(2**14 * product for product in (entry**2, entry * 2**11, 2**22))
        assert OuterSum(2).add(rows).with_noise([0] * 3) == expected

    def test_longer_blocks_and_larger_rows_are_refused(self):
        with pytest.raises(DpfdaError, match="clipped to the ball"):
            OuterSum(1).add(np.zeros((2**14 + 1, 1), dtype=np.int64))
        with pytest.raises(DpfdaError, match="clipped to the ball"):
            OuterSum(1).add(np.array([[LARGEST + 1]]))

    @settings(max_examples=50)
    @given(st.floats(1e-300, 1e300))
    def test_the_grid_holds_every_public_radius(self, radius):
        ball = outer_ball(radius)
        assert LARGEST // 2 <= ball.radius <= LARGEST
        assert Fraction(ball.radius) <= Fraction(radius) * Fraction(2) ** ball.exponent

    def test_a_compressed_sum_is_that_of_compressed_rows(self):
        rows = np.random.default_rng(1).integers(-50, 50, (9, 4))
        directions = [[3, -1, 0, 2], [0, 5, 1, -4]]
        images = rows @ np.array(directions).T
        direct = OuterSum(2).add(images)
        assert OuterSum(4).add(rows).compressed(directions).with_noise([0] * 3) == direct.with_noise(
            [0] * 3
        )

    def test_the_sum_cannot_be_looked_at_copied_or_given_fractions(self):
        total = OuterSum(1).add(np.array([[3]]))
        assert "9" not in repr(total)
        import copy
        import pickle

        for leave in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(DpfdaError, match="private"):
                leave(total)
        with pytest.raises(DpfdaError, match="integers"):
            total.with_noise([0.5])

    @pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
    def test_every_record_is_in_the_ball_that_the_noise_is_made_for(self, neighbours, monkeypatch):
        seen = []
        add = OuterSum.add
        monkeypatch.setattr(OuterSum, "add", lambda self, rows: seen.append(rows) or add(self, rows))
        wild = np.vstack([waves(20) * 1e6, np.full((1, 25), 1e300), np.full((1, 25), np.inf)])
        size = 22 if neighbours == "add-remove" else None
        release = released(wild, neighbours=neighbours, public_size=size, invalid="repair")
        radius = outer_ball(0.4).radius
        lengths = [int(r @ r) for rows in seen for r in rows.astype(object)]
        assert max(lengths) <= radius**2
        # Clipping reaches the ball: a bound that is not attained would be noise for nothing.
        assert max(lengths) > (0.999 * radius) ** 2
        expected = OuterDifference.of(release.noise.size, radius, Neighbours(neighbours))
        assert (
            achieved_guarantee(release.noise, "l2", expected, release.guarantee)
            == release.certificate.achieved
        )


class TestLaws:
    """Each sampler against a law in closed form, which it also tells from wrong scales."""

    def test_a_quadratic_form_of_the_wishart_difference_has_its_density(self):
        # v'Xv / c is a difference of two chi-square variables of M + 1 = 4 degrees of freedom, whose
        # density is a Bessel function: |x|^(3/2) K_(3/2)(|x|/2) / (2^4 sqrt(pi) Gamma(2)).
        scale, v = 2**20, np.array([0.6, 0.0, 0.8])
        rows = exact_draws(WishartDifferenceNoise, 3)
        draws = [float(v @ symmetric(row, 3) @ v) / scale for row in rows]
        order = 1.5

        def density(x):
            size = max(abs(x), 1e-12)
            log = order * np.log(size) - (2 * order + 1) * np.log(2) - gammaln(order + 0.5)
            return np.exp(log) * kv(order, size / 2) / np.sqrt(np.pi)

        grid = np.linspace(-80, 80, 8001)
        values = np.array([density(x) for x in grid])
        mass = integrate.cumulative_simpson(values, x=grid, initial=0)
        assert mass[-1] == pytest.approx(1.0, abs=1e-6)

        def law(x):
            return np.interp(x, grid, mass)

        assert fits(draws, law)
        assert not fits(draws, lambda x: law(x * np.sqrt(2)))
        assert not fits(draws, lambda x: law(x / np.sqrt(2)))

    def test_an_entry_aside_is_a_sum_of_laplace_variables(self):
        # g h + g' h' of independent normals is Laplace: an entry of A - B sums M + 1 of them.
        draws = exact_draws(WishartDifferenceNoise, 2)[:, 1] / 2**20
        reference = np.random.default_rng(5).laplace(size=(200_000, 3)).sum(axis=1)
        assert stats.ks_2samp(draws, reference).pvalue > FALSE_ALARM
        for factor in (np.sqrt(2), np.sqrt(0.5)):
            assert stats.ks_2samp(draws, factor * reference).pvalue < FALSE_ALARM

    def test_size_one_is_laplace_noise_of_twice_the_scale(self):
        draws = exact_draws(WishartDifferenceNoise, 1)[:, 0] / 2**21
        assert fits(draws, stats.laplace.cdf)
        for factor in (np.sqrt(2), np.sqrt(0.5)):
            assert not fits(draws, lambda x, f=factor: stats.laplace.cdf(x * f))

    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_the_trace_of_the_coupled_difference_has_its_density(self, size):
        # The traces a, b of its parts have density (a b)^(N-1) exp(-max(a, b)); here by quadrature.
        count, scale = size * (size + 1) // 2, 2**20
        draws = [np.trace(symmetric(row, size)) / scale for row in exact_draws(CoupledNoise, size)]
        b, x = np.linspace(0, 120, 2001), np.linspace(0, 60, 601)
        density = [integrate.simpson(((t + b) * b) ** (count - 1) * np.exp(-(t + b)), x=b) for t in x]
        half = integrate.cumulative_simpson(density, x=x, initial=0)

        def law(t):
            return 0.5 + np.sign(t) * 0.5 * np.interp(np.abs(t), x, half / half[-1])

        assert fits(draws, law)
        for factor in (np.sqrt(2), np.sqrt(0.5)):
            assert not fits(draws, lambda t, f=factor: law(t * f))

    def test_the_coupled_difference_has_its_shape(self):
        # By another road: matrices that are uniform given their traces, kept by the density.
        generator = np.random.default_rng(11)
        parts = generator.standard_normal((2, 60_000, 2, 3))
        parts = parts @ parts.transpose(0, 1, 3, 2)
        traces = np.trace(parts, axis1=2, axis2=3)
        # From the density exp(-(tr A + tr B) / 2) to exp(-max(tr A, tr B)).
        kept = generator.uniform(size=traces.shape[1]) < np.exp(traces.mean(axis=0) - traces.max(axis=0))
        reference = (parts[0] - parts[1])[kept]
        draws = [symmetric(row, 2) / 2**20 for row in exact_draws(CoupledNoise, 2)]
        for statistic in (lambda x: np.linalg.norm(x, axis=(1, 2)), lambda x: x[:, 0, 1]):
            found, expected = statistic(np.array(draws)), statistic(reference)
            assert stats.ks_2samp(found, expected).pvalue > FALSE_ALARM
            for factor in (np.sqrt(2), np.sqrt(0.5)):
                assert stats.ks_2samp(found, factor * expected).pvalue < FALSE_ALARM

    @pytest.mark.parametrize("size", [2, 3])
    def test_frobenius_lengths(self, size):
        count, scale = size * (size + 1) // 2, 2**20
        for law, cdf in (
            (SymmetricKNormNoise, stats.gamma(count).cdf),
            (SymmetricGaussianNoise, stats.chi(count).cdf),
        ):
            lengths = [np.linalg.norm(symmetric(row, size)) / scale for row in exact_draws(law, size)]
            assert fits(lengths, cdf)
            for factor in (np.sqrt(2), np.sqrt(0.5)):
                assert not fits(lengths, lambda x, f=factor, c=cdf: c(x * f))

    @pytest.mark.parametrize("law", LAWS.values())
    def test_no_axis_is_special(self, law):
        # Entries aside are those of the diagonal after a turn by 45 degrees: (X11 - X22) / 2 ~ X12.
        draws = exact_draws(law, 2)
        assert stats.ks_2samp((draws[:, 0] - draws[:, 2]) / 2, draws[:, 1]).pvalue > FALSE_ALARM
        assert stats.ks_2samp(draws[:, 0] - draws[:, 2], draws[:, 1]).pvalue < FALSE_ALARM

    @pytest.mark.parametrize("law", LAWS.values())
    def test_simulation_and_power_agree_with_the_exact_draws(self, law):
        noise = law(3, 2**20)
        exact = exact_draws(law, 3)
        simulated = noise.simulate(np.random.default_rng(3), 40_000)[:, *np.tril_indices(3)]
        for entry in range(6):
            assert stats.ks_2samp(exact[:, entry], simulated[:, entry]).pvalue > FALSE_ALARM
        # The standard error of a variance of 40,000 draws is below one per cent even for these tails.
        np.testing.assert_allclose(simulated.var(axis=0) / noise.variances(), 1, rtol=0.08)
        counted = noise.variances() * [1, 2, 1, 2, 2, 1]
        assert counted.mean() == pytest.approx(noise.power)

    @pytest.mark.parametrize("law", LAWS.values())
    def test_sizes_and_scales_are_positive_integers(self, law):
        for size, scale in ((0, 1), (1, 0), (2, 1.5), (True, 1)):
            with pytest.raises(ParameterError, match="positive integers"):
                law(size, scale)


class TestCalibration:
    @pytest.mark.parametrize("neighbours", [REPLACE, ADD])
    @pytest.mark.parametrize("size", [1, 2, 7])
    @pytest.mark.parametrize("name", ["wishart", "coupled", "knorm", "gaussian"])
    def test_the_smallest_scale_that_keeps_the_guarantee(self, name, size, neighbours):
        guarantee = PureDP("0.7") if name != "gaussian" else ApproximateDP("0.7", Fraction(1, 10**6))
        difference = OuterDifference.of(size, 2**24, neighbours)
        noise = symmetric_noise(name, size, difference, guarantee)
        stated = achieved_guarantee(noise, "l2", difference, guarantee)
        smaller = LAWS[name](size, int(noise.scale / 1.0001))
        over = achieved_guarantee(smaller, "l2", difference, guarantee)
        if name == "gaussian":
            assert stated.delta <= guarantee.delta < over.delta
        else:
            assert stated.epsilon <= guarantee.epsilon < over.epsilon

    @pytest.mark.parametrize("epsilon", ["0.05", "0.1", "0.3", "0.7", "1", "3", "8"])
    @pytest.mark.parametrize("size", [1, 2, 3])
    @pytest.mark.parametrize("radius", [2**24, 2**24 - 1, 12_345_678])
    def test_scales_that_divide_evenly_keep_the_guarantee(self, epsilon, size, radius):
        guarantee = PureDP(epsilon)
        for name in ("wishart", "coupled", "knorm"):
            difference = OuterDifference.of(size, radius, ADD)
            noise = symmetric_noise(name, size, difference, guarantee)
            stated = achieved_guarantee(noise, "l2", difference, guarantee)
            assert stated.epsilon <= guarantee.epsilon
            # The statement is an upper bound of the loss, by another way.
            largest = Fraction(difference.trace, 2) if name == "wishart" else Fraction(radius) ** 2
            assert stated.epsilon >= largest / noise.scale

    def test_closed_forms(self):
        difference = OuterDifference.of(4, 1000, REPLACE)
        wishart = achieved_guarantee(WishartDifferenceNoise(4, 10**6), "l2", difference, PureDP(1))
        assert wishart.epsilon == 1
        knorm = achieved_guarantee(SymmetricKNormNoise(4, 10**6), "l2", difference, PureDP(1))
        assert 2 <= knorm.epsilon**2 < 2 + Fraction(1, 10**12)
        gauss = achieved_guarantee(
            SymmetricGaussianNoise(4, 10**6), "l2", difference, ApproximateDP(1, "0.5")
        )
        mu = math.sqrt(2)
        profile = stats.norm.cdf(mu / 2 - 1 / mu) - math.e * stats.norm.cdf(-mu / 2 - 1 / mu)
        assert float(gauss.delta) == pytest.approx(profile, rel=1e-9)

    @pytest.mark.parametrize("size", [1, 2, 4])
    def test_the_wishart_loss_bounds_its_density_ratio_and_is_approached(self, size):
        # Along D = d vv' the quadratic form v'Xv shifts by d; its density is a Bessel function of
        # order M / 2, so the log ratio is computed without the noise law's code.
        order, d, scale = size / 2, 1.0, 0.5

        def log_density(x):
            size_ = np.abs(x) / scale
            return order * np.log(size_) + np.log(kv(order, size_ / 2))

        x = np.linspace(5, 400, 500)
        ratios = log_density(x) - log_density(x + d)
        loss = d / (2 * scale)
        # For M = 1 the ratio is the loss everywhere, to rounding.
        assert 0.98 * loss < ratios.max() <= loss * (1 + 1e-12)

    def test_the_wishart_loss_counts_an_indefinite_shift_by_its_nuclear_norm(self):
        # For D = d (vv' - ww'), M = 2, tr(DX) / c is a difference of chi-square variables of 6 degrees
        # of freedom that moves by 2 d: a loss of 2 d / (2c) = tr|D| / (2c), approached in the tail.
        draws = WishartDifferenceNoise(2, 1).simulate(np.random.default_rng(8), 4000)
        statistic = draws[:, 0, 0] - draws[:, 1, 1]
        reference = np.random.default_rng(9).chisquare(6, (2, 100_000))
        assert stats.ks_2samp(statistic, reference[0] - reference[1]).pvalue > FALSE_ALARM

        def log_density(x):
            return 2.5 * np.log(x) + np.log(kv(2.5, x / 2))

        x, moved = np.linspace(5, 400, 500), 4.0
        ratios = log_density(x) - log_density(x + moved)
        assert 0.98 * moved / 2 < ratios.max() <= moved / 2

    @pytest.mark.parametrize("name", ["wishart", "coupled"])
    def test_the_loss_of_two_by_two_matrices_by_quadrature(self, name):
        # A = (a + z.s) / 2 is positive where |z| <= a, so that A >= 0 and A >= X = (x + y.s) / 2 where z
        # is in two discs, of radius a around 0 and a - x around y: a lens, whose area is known.
        def lens(r, s, d):
            r, s = np.maximum(r, 0), np.maximum(s, 0)
            inner = np.pi * np.minimum(r, s) ** 2
            with np.errstate(all="ignore"):
                first = np.arccos(np.clip((d * d + r * r - s * s) / (2 * d * r), -1, 1))
                second = np.arccos(np.clip((d * d + s * s - r * r) / (2 * d * s), -1, 1))
                square = (r + s - d) * (d + r - s) * (d + s - r) * (d + r + s)
                area = r * r * first + s * s * second - np.sqrt(np.maximum(square, 0)) / 2
            return np.where(d >= r + s, 0.0, np.where(d <= np.abs(r - s), inner, area))

        def log_density(x, y):
            start = max((x + np.hypot(*y)) / 2, x, 0.0)
            a = start + np.linspace(0, 60, 30001)
            exponent = a - x / 2 if name == "wishart" else np.maximum(a, a - x)
            base = exponent.min()
            values = np.exp(base - exponent) * lens(a, a - x, np.hypot(*y))
            return np.log(integrate.simpson(values, x=a)) - base

        generator, ratios = np.random.default_rng(3), []
        moves = [(1.0, np.array([1.0, 0.0])), (0.0, np.array([0.0, 2.0])), (0.5, np.array([0.9, 0.2]))]
        for d, e in moves:
            parts = max(d + np.hypot(*e), 0) / 2, max(np.hypot(*e) - d, 0) / 2
            loss = sum(parts) / 2 if name == "wishart" else max(parts)
            for reach in (0.5, 3, 30):
                x, y = reach * generator.normal() / 2, reach * generator.normal(size=2)
                assert abs(log_density(x + d, y + e) - log_density(x, y)) <= loss * (1 + 1e-5)
            far = log_density(60 * d, 60 * e) - log_density(61 * d, 61 * e)
            ratios.append(far / loss)
        # The positive part alone, and both alike: the loss is approached, and no smaller one would do.
        assert max(ratios) <= 1 + 1e-5
        assert ratios[0 if name == "wishart" else 1] > 0.9

    def test_the_quietest_law(self):
        for neighbours, size, law in (
            (REPLACE, 2, "coupled"), (REPLACE, 24, "coupled"), (ADD, 2, "wishart"), (ADD, 24, "wishart")
        ):  # fmt: skip
            difference = OuterDifference.of(size, 2**14, neighbours)
            assert quietest_symmetric(size, difference, PureDP(1)).mechanism == law
        # Against independent traces and against the Frobenius norm; the laws' own ratios of power.
        difference = OuterDifference.of(4, 2**20, REPLACE)
        powers = {
            name: symmetric_noise(name, 4, difference, PureDP(1)).power
            for name in LAWS
            if name != "gaussian"
        }
        assert powers["wishart"] / powers["coupled"] == pytest.approx(200 / 158.7, rel=0.01)
        assert powers["knorm"] / powers["coupled"] == pytest.approx(220 / 158.7, rel=0.01)

    def test_refusals(self):
        difference = OuterDifference.of(2, 5, REPLACE)
        with pytest.raises(RefusedMechanismError, match="delta must be positive"):
            symmetric_noise("gaussian", 2, difference, PureDP(1))
        with pytest.raises(ParameterError, match="knorm, gaussian, wishart, coupled"):
            symmetric_noise("laplace", 2, difference, PureDP(1))

        class Sly(WishartDifferenceNoise):
            pass

        with pytest.raises(RefusedMechanismError, match="suit the guarantee"):
            achieved_guarantee(Sly(2, 5), "l2", difference, PureDP(1))

    def test_auto_has_the_least_expected_error(self):
        eigenvalues = 1.0 / np.arange(1, 31) ** 4.0
        laws = symmetric_laws(30, 2**20, PureDP(1), REPLACE)
        few = best_symmetric(laws, eigenvalues, 2**20, 60)
        many = best_symmetric(laws, eigenvalues, 2**20, 10_000)
        assert few.size < many.size
        assert isinstance(many, CoupledNoise)
        laws = symmetric_laws(30, 2**20, PureDP(1), REPLACE, components=2)
        two = best_symmetric(laws, eigenvalues, 2**20, 500)
        assert isinstance(two, CoupledNoise)
        assert two.size == 2


class TestEstimate:
    def test_with_little_noise_it_is_the_second_moment(self):
        curves = waves(400)
        grid = np.linspace(0, 1, 25)
        release = released(curves, epsilon=1e6, functions=8, shrinkage="none")
        basis = KernelBasis.on_grid(release.basis.kernel, grid, (0, 1)).truncate(8)
        coefficients = curves @ basis.analysis
        functions = basis.evaluate(grid)
        direct = functions @ (coefficients.T @ coefficients / 400) @ functions.T
        np.testing.assert_allclose(release.on_grid(), direct, atol=2e-6)
        assert release(0.25, 0.5) == pytest.approx(direct[6, 12], abs=2e-6)

    def test_it_is_symmetric_positive_and_consistent(self):
        release = released(epsilon=0.5)
        values = release.on_grid()
        np.testing.assert_allclose(values, values.T, atol=1e-15)
        assert np.linalg.eigvalsh(values).min() > -1e-12
        points = np.linspace(0, 1, 7)
        np.testing.assert_allclose(release.variance(points), np.diag(release.on_grid(points)))
        correlation = release.correlation(points, 0.5)
        by_hand = release(points, 0.5) / np.sqrt(release.variance(points) * release.variance(0.5))
        np.testing.assert_allclose(correlation, by_hand)
        assert release.correlation(0.3, 0.3) == pytest.approx(1.0)

    @settings(max_examples=60)
    @given(st.integers(0, 2**32 - 1))
    def test_projection_moves_nothing_away_from_a_covariance(self, seed):
        generator = np.random.default_rng(seed)
        factor = generator.standard_normal((4, 4))
        truth = factor @ factor.T
        noisy = truth + symmetric(generator.standard_normal(10) * 3, 4)
        made = nearest_positive(noisy)
        assert np.linalg.eigvalsh(made).min() >= -1e-10
        assert np.linalg.norm(made - truth) <= np.linalg.norm(noisy - truth) + 1e-10

    def test_shrinkage_helps_where_noise_is_large(self):
        truth = np.cov(waves(300).T, bias=True)
        curves = waves(300)
        errors = {
            name: np.mean(
                [
                    np.linalg.norm(
                        released(curves, epsilon=0.3, functions=8, shrinkage=name).on_grid() - truth
                    )
                    for _ in range(12)
                ]
            )
            for name in ("prior", "none")
        }
        assert errors["prior"] < errors["none"]

    def test_noise_that_is_wrong_by_root_two_would_show(self):
        release = released(epsilon=1.0, functions=3, shrinkage="none")
        exact = released(epsilon=1e9, functions=3, shrinkage="none").noisy_coordinates
        errors = np.array(
            [
                released(epsilon=1.0, functions=3, mechanism="wishart").noisy_coordinates - exact
                for _ in range(150)
            ]
        )
        unit = (0.4**2 / 300) ** 2
        # c = R^2 / epsilon; an orthonormal coordinate has variance 4 (M + 1) c^2.
        ratio = (errors**2).sum(axis=1).mean() / (6 * 16 * unit)
        assert release.noise.size == 3
        assert 1 / 1.5 < ratio < 1.5

    def test_private_center_pairs_and_public_center_agree(self):
        curves = waves(4000, seed=4) + 0.3
        truth = np.cov(curves.T, bias=True)
        for parameters in (
            {"center": "private", "bounds": (-0.5, 1.0), "radius": 0.5},
            {"center": "pairs", "radius": 0.5},
            {"center": 0.3, "radius": 0.5},
            {"center": lambda t: 0.3 + 0 * t, "radius": 0.5},
        ):
            release = released(curves, epsilon=40.0, **parameters)
            error = np.linalg.norm(release.on_grid() - truth) / np.linalg.norm(truth)
            assert error < 0.12, parameters

    def test_an_earlier_release_is_a_public_center(self):
        curves = waves(500) + 0.3
        mean = PrivateMean(50.0, bounds=(-0.5, 1.0)).fit(curves).release_
        release = released(curves, center=mean, radius=0.5)
        np.testing.assert_allclose(release.center, mean(mean.grid_points))
        assert release.mean is None
        np.testing.assert_array_equal(
            released(curves, center=mean, bounds=(-0.5, 1.0)).center, release.center
        )

    def test_a_unit_is_in_one_pair_only_whatever_its_data(self, monkeypatch):
        # One unit's data change, and the number and places of its rows: one integer row moves.
        rows = []
        add = OuterSum.add
        monkeypatch.setattr(OuterSum, "add", lambda self, r: rows.append(r.copy()) or add(self, r))
        # The guarantee holds given the matching, whatever it is.
        monkeypatch.setattr(deviations, "matching", lambda units: np.array([4, 0, 3, 2, 5, 1]))
        curves, people = waves(12), np.repeat([f"p{i}" for i in range(6)], 2)
        fixed = {"center": "pairs", "functions": 3}
        PrivateCovariance(1.0, radius=0.4, **fixed).fit(curves, groups=people)
        other = np.vstack([waves(1, seed=9), curves[people != "p3"]])
        labels = np.append(["p3"], people[people != "p3"])
        PrivateCovariance(1.0, radius=0.4, **fixed).fit(other, groups=labels)
        assert rows[0].shape == (3, 3)
        assert (rows[0] != rows[1]).any(axis=1).tolist() == [False, True, False]

    @pytest.mark.parametrize("named", [False, True])
    def test_who_is_paired_does_not_depend_on_when_somebody_was_first_observed(self, named, monkeypatch):
        monkeypatch.setattr(deviations, "matching", np.arange)

        def matrix(first):
            # Twelve persons, seen twice; the file is sorted by time, and person 11 comes first or last.
            times = np.append(np.linspace(0.1, 0.2, 11), first)
            ids, times = np.tile(np.arange(12), 2), np.append(times, times + 0.5)
            values = np.where(ids // 2 % 2 == 0, 1.0, -1.0) * (ids < 11)
            order = np.argsort(times)
            people = ids[order] if named else None
            long = LongCurves(ids[order], times[order], values[order], people)
            estimator = PrivateCovariance(
                1.0, bounds=(-1, 1), center="pairs", domain=(0, 1), missing="complete"
            )
            prepared = estimator.prepare(long)
            stage, _ = first_stage(prepared, prepared.plan.certified())
            size = prepared.plan.noise(stage.size).size
            moments = outer_sum(prepared.total, stage, size).through(partial(np.array, dtype=object))
            return moments, prepared.plan.ball.radius

        (last, radius), (first, _) = matrix(0.3), matrix(0.05)
        difference = (last - first).astype(float)
        assert np.sum(difference**2) <= 2 * float(radius) ** 4

    def test_units_are_paired_at_random(self):
        found = np.array([deviations.matching(4) for _ in range(2400)])
        assert np.array_equal(np.sort(found, axis=1), np.tile(np.arange(4), (2400, 1)))
        orders, times = np.unique(found, axis=0, return_counts=True)
        assert len(orders) == 24
        assert stats.chisquare(times).pvalue > 1e-5

    def test_neighbouring_rows_that_are_alike_do_not_make_it_small(self):
        curves = waves(4000, seed=4)
        curves = curves[np.argsort(curves[:, 5])]
        release = released(curves, epsilon=40.0, center="pairs", radius=0.5)
        truth = np.cov(curves.T, bias=True)
        assert np.linalg.norm(release.on_grid() - truth) < 0.15 * np.linalg.norm(truth)

    @pytest.mark.parametrize(("summary", "share"), [(PrivateCovariance, None), (PrivateFPCA, "0.2")])
    def test_the_default_center_follows_from_public_numbers(self, summary, share):
        def budget(size, **parameters):
            plan = summary(1.0, bounds=(-1.0, 1.0), **parameters).plan(size, 12)
            return plan.about["center"], dict(plan.shares.describe()).get("mean", "").split("-")[0]

        assert budget(29_999) == ("pairs", share or "")
        assert budget(30_000) == ("private", "0.2")
        # More for the mean, and for the radius, where units are few; always shares of epsilon.
        assert budget(300, center="private") == ("private", "0.6")
        assert budget(300, center=Center("private", mean_share=0.3)) == ("private", "0.3")
        assert budget(200, neighbours="add-remove", public_size=200)[0] == "private"
        assert budget(200, center="pairs") == ("pairs", "")
        assert budget(200, center=Center("pairs", mean_share=0.1)) == ("pairs", "0.1")

    def test_scores_beside_pairs_are_counted_from_a_released_mean(self):
        curves = waves(200) + 0.4
        fpca = PrivateFPCA(10.0, bounds=(-0.5, 1.0), n_components=1).fit(curves)
        assert fpca.release_.about["center"] == "pairs"
        assert abs(fpca.mean_release_(0.5) - 0.4) < 0.1
        np.testing.assert_allclose(
            fpca.release_.center, fpca.mean_release_(fpca.release_.grid_points), atol=1e-12
        )
        assert abs(fpca.transform(curves).mean()) < 0.1
        assert fpca.release_.guarantee == PureDP(10)

    def test_pairs_leave_an_odd_unit_out(self):
        assert released(waves(11), center="pairs").count == 5

    def test_persons_are_averaged_into_one_record(self):
        curves = np.repeat(waves(60), 3, axis=0)
        people = np.repeat(np.arange(60), 3)
        estimator = PrivateCovariance(
            1e6, center=Center(0.0, radius=0.4), mechanism=MatrixNoise(functions=4)
        )
        grouped = estimator.fit(curves, groups=people).release_
        assert (grouped.count, grouped.unit) == (60.0, "group")
        alone = released(waves(60), epsilon=1e6, functions=4)
        np.testing.assert_allclose(grouped.on_grid(), alone.on_grid(), atol=1e-6)

    def test_a_band_covers_the_release_without_noise(self):
        curves = waves(200)
        parameters = {"functions": 4, "shrinkage": "none", "epsilon": 1.0}
        exact = released(curves, **{**parameters, "epsilon": 1e9})
        points = np.linspace(0, 1, 9)
        functions = exact.tensor.evaluate(points, points)
        target = functions @ exact.noisy_coordinates
        hits = sum(
            released(curves, **parameters).band(0.8, True, points).contains(target) for _ in range(160)
        )
        # 0.8 of 160 is 128; each of the two limits is wrong with chance 5e-7.
        assert stats.binom.ppf(5e-7, 160, 0.8) <= hits <= stats.binom.isf(5e-7, 160, 0.8)

    def test_pointwise_and_simultaneous_bands(self):
        release = released(functions=3)
        first, second = [0.1, 0.5, 0.9], [0.2, 0.2, 0.7]
        # Bands of the mean are moved where the positive part of the release lies outside.
        wide = release.band(0.9, True, first, second, exact=True)
        narrow = release.band(0.9, False, first, second, exact=True)
        assert wide.points.shape == (3, 2)
        assert np.all(wide.upper - wide.lower > narrow.upper - narrow.lower)
        middle = (wide.upper + wide.lower) / 2
        np.testing.assert_allclose(middle, (narrow.upper + narrow.lower) / 2)
        # A pointwise band of one quadratic form of Gaussian noise has a closed form.
        gauss = released(delta=1e-6, mechanism="gaussian", functions=3)
        band = gauss.band(0.9, False, [0.3], [0.6])
        deviation = math.sqrt(
            float((gauss.tensor.evaluate([0.3], [0.6]) ** 2).sum()) * gauss.noise_power[0]
        )
        width = stats.norm.ppf(0.95) * deviation
        assert float(band.upper[0] - band.lower[0]) / 2 == pytest.approx(width, rel=0.03)


class TestTensorBasis:
    def test_it_is_orthonormal_on_the_square(self):
        nodes, weights = np.polynomial.legendre.leggauss(40)
        t, w = (nodes + 1) / 2, weights / 2
        base = CosineBasis.on_grid(4, np.linspace(0, 1, 50))
        tensor = SymmetricTensorBasis(base)
        s_all, t_all = (axis.ravel() for axis in np.meshgrid(t, t))
        values = tensor.evaluate(s_all, t_all)
        gram = values.T @ (np.outer(w, w).ravel()[:, None] * values)
        np.testing.assert_allclose(gram, np.eye(10), atol=1e-12)

    @settings(max_examples=30)
    @given(st.lists(st.floats(-5, 5), min_size=6, max_size=6))
    def test_coordinates_keep_lengths_and_lead_back(self, entries):
        tensor = SymmetricTensorBasis(CosineBasis.on_grid(3, np.linspace(0, 1, 9)))
        matrix = symmetric(entries, 3)
        coordinates = tensor.coordinates(matrix)
        assert np.linalg.norm(coordinates) == pytest.approx(np.linalg.norm(matrix), abs=1e-12)
        np.testing.assert_allclose(tensor.matrix(coordinates), matrix, atol=1e-14)

    def test_functions_that_are_not_orthonormal_are_refused(self):

        with pytest.raises(ParameterError, match="basis must be orthonormal"):
            PrivateCovariance(1.0, center=Center(0.0, radius=1.0), basis=BernsteinBasis.on_grid(
                3, np.linspace(0, 1, 9), (0, 1))).fit(np.zeros((5, 9)))  # fmt: skip


class TestBudget:
    def test_what_is_refused_is_refused_before_the_charge(self, monkeypatch):
        ledger = MemoryLedger()
        ledger.create("waves", PureDP(100))
        monkeypatch.setattr("dpfda.noise.charges.within", lambda stated, part: False)
        with pytest.raises(DpfdaError, match="which is more than"):
            # Of a budget whose laws no other release has had checked.
            released(epsilon=1.3125, ledger=ledger.of("waves"))
        assert [row.action for row in ledger.history("waves")] == ["create"]

    def ledger(self, guarantee=None, neighbours=REPLACE):
        return MemoryLedger().create("d", guarantee or PureDP(10), neighbours, "record")

    @pytest.mark.parametrize(
        "parameters",
        [
            {"center": 0.0, "radius": 0.4},
            {"center": "private", "bounds": (-1.0, 1.0)},
            {"center": "pairs", "radius": 0.4},
        ],
    )
    def test_the_whole_is_charged_once(self, parameters):
        ledger = self.ledger()
        PrivateCovariance(1.5, ledger=ledger.of("d"), **parameters).fit(waves(50))
        assert ledger.spent("d")["epsilon"] == Fraction(3, 2)
        assert [r.action for r in ledger.history("d")] == ["create", "charge"]

    def test_shares_are_stated_and_add_up(self):
        ledger = self.ledger(neighbours=ADD)
        estimator = PrivateCovariance(
            2.0,
            bounds=(-1.0, 1.0),
            center=Center("private", mean_share=0.25),
            unit=PrivacyUnit(neighbours="add-remove"),
            ledger=ledger.of("d"),
        )
        release = estimator.fit(waves(80)).release_
        budget = dict(release.certificate.mechanism["budget"])
        assert budget == dict(ledger.history("d")[-1].details["budget"])
        # A tenth for the count, a quarter of 1.8 for the mean, and of the rest .15 for the radius.
        words = {
            "count": "0.2",
            "mean": "0.45",
            "choice of the radius": "0.2025",
            "second moments": "1.1475",
        }
        assert {k: v.split("-")[0] for k, v in budget.items()} == words
        # The mean is divided by the count, which it therefore costs too.
        assert release.mean.guarantee == PureDP("0.65")
        assert release.guarantee == PureDP(2)
        assert Fraction(1999, 1000) < release.certificate.achieved.epsilon <= 2

    def test_pure_noise_under_an_approximate_guarantee_costs_no_delta(self):
        ledger = MemoryLedger().create("d", ApproximateDP(10, "0.1"), REPLACE, "record")
        parameters = {"center": 0.0, "radius": 0.4, "ledger": ledger.of("d")}
        PrivateCovariance(1.0, 1e-6, mechanism="wishart", **parameters).fit(waves(50))
        assert ledger.spent("d")["delta"] == 0
        PrivateCovariance(1.0, 1e-6, mechanism="gaussian", **parameters).fit(waves(50))
        assert ledger.spent("d")["delta"] == Fraction(1, 10**6)

    @pytest.mark.parametrize("center", [0.0, "private", "pairs"])
    def test_nothing_is_drawn_where_the_ledger_refuses(self, center, monkeypatch):
        from dpfda.numerics import drawing

        monkeypatch.setattr(drawing, "draw_array", None)
        ledger = self.ledger(PureDP("0.1"))
        with pytest.raises(BudgetError):
            PrivateCovariance(
                1.0, bounds=(-1, 1), center=center, ledger=ledger.of("d")).fit(waves(50))  # fmt: skip
        assert ledger.spent("d")["epsilon"] == 0

    def test_releases_compose(self):
        total = compose([released(epsilon=1.0), released(epsilon=2.0)])
        assert 2.9999 < total.epsilon <= 3

    def test_the_count_is_noisy_where_it_is_private(self):
        release = released(waves(400), neighbours="add-remove", epsilon=4.0)
        assert abs(release.count - 400) < 100
        with pytest.raises(ParameterError, match="public_size must be given for a band"):
            release.band()

    # Two functions add nothing to the claim of one: sensitivities and laws of size two are tested above.
    @pytest.mark.parametrize("size", [1, pytest.param(2, marks=pytest.mark.thorough)])
    def test_an_audit_on_the_worst_neighbours(self, size):
        # One record along the first function against one along the last (or, alone, none at all).
        basis = CosineBasis.on_grid(2, np.linspace(0, 1, 9))
        functions = basis.evaluate(basis.grid_points).T
        trials, error = 7000 if size == 1 else 20_000, 1e-5
        sums = []
        for record in (functions[0] * 5, functions[1] * 5):
            estimator = PrivateCovariance(
                1.0,
                center=Center(0.0, radius=1.0),
                basis=basis,
                mechanism=MatrixNoise("wishart", functions=size),
            )
            prepared = estimator.prepare(np.vstack([record, 0 * record]))
            noise = prepared.plan.noise(2)
            stage, _ = first_stage(prepared, prepared.plan.certified())
            total = outer_sum(prepared.total, stage, size)
            sums.append(total)
        # The same noise on both: that the limits hold needs no independence.
        drawn = [noise.draw() for _ in range(trials)]
        draws = []
        for total in sums:
            made = np.array([total.with_noise(row) for row in drawn], dtype=float)
            draws.append((made[:, 0] - (made[:, 2] if size == 2 else 0)) / LARGEST**2)
        losses = []
        for threshold in (-1.0, 0.0, 1.0, 2.0, 3.0):
            high = lower_limit(int((draws[0] > threshold).sum()), trials, error)
            low = upper_limit(int((draws[1] > threshold).sum()), trials, error)
            losses.append(math.log(high / low))
        assert max(losses) <= 1.0
        # Along one function the loss is attained: noise short of sqrt(2) would be found out, and so
        # would noise that is sqrt(2) too large.
        assert max(losses) > (1 / math.sqrt(2) if size == 1 else 0.4)


class TestFiles:
    @pytest.mark.parametrize(
        "parameters",
        [{}, {"center": "private", "bounds": (-1.0, 1.0)}, {"delta": 1e-6, "mechanism": "gaussian"}],
    )
    def test_a_release_comes_back_exactly(self, parameters, tmp_path):
        release = released(**parameters)
        file = release.save(tmp_path / "c.json")
        for back in (dpfda.load(file), ReleasedCovariance.load(file)):
            np.testing.assert_array_equal(back.on_grid(), release.on_grid())
            assert repr(back) == repr(release)
            assert back.certificate.achieved == release.certificate.achieved
            assert back.noise == release.noise
        assert (back.mean is None) == (release.mean is None)

    def test_other_kinds_and_damage_are_refused(self, tmp_path):
        file = released().save(tmp_path / "c.json")
        with pytest.raises(DpfdaError, match="must be a released function; found dpfda-covariance"):
            dpfda.releases.function.ReleasedFunction.load(file)
        written = json.loads(file.read_text())
        written["noisy_sum"] = written["noisy_sum"][:-1]
        file.write_text(json.dumps(written))
        with pytest.raises(DpfdaError, match="damaged"):
            dpfda.load(file)

    def test_a_release_holds_no_numbers_of_the_data(self, tmp_path):
        curves = waves(40)
        text = released(curves).save(tmp_path / "c.json").read_text()
        assert not any(repr(float(value)) in text for value in curves[:, 3])

    def test_it_can_be_pickled(self):
        import pickle

        release = released()
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(release)).matrix, release.matrix)  # noqa: S301

    def test_the_picture_has_units(self):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        axis = released(labels={"domain": "hour", "value": "load (MW)"}).plot()
        figure = axis.get_figure()
        assert axis.get_xlabel() == axis.get_ylabel() == "hour"
        assert [a.get_ylabel() for a in figure.axes][1] == "covariance of load (MW), squared units"
        image = axis.images[0]
        assert image.norm.vmin == -image.norm.vmax
        pyplot.close(figure)


class TestRefusals:
    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"bounds": None, "radius": None}, "bounds must be given"),
            ({"center": None}, "Pass a public curve as center"),
            ({"center": "private"}, "bounds must be given where the center is not"),
            ({"center": "median"}, "center must be 'auto', 'private', 'pairs', 'bound', a curve"),
            ({"center": np.zeros(3)}, r"one value a grid point \(25\); found shape \(3,\)"),
            ({"center": np.full(25, np.nan)}, "center must be finite"),
            ({"center": [["a"]]}, "center must be a curve, a number or a function"),
            ({"bounds": L1Ball(1.0)}, "ValueBounds or L2Ball for a covariance; found L1Ball"),
            ({"radius": 0.0}, "radius must be positive and finite"),
            ({"functions": 0}, "functions must be an integer from 1 to 24; found 0"),
            ({"functions": 2.5}, "functions must be an integer"),
            ({"mechanism": "laplace"}, "must be 'auto' or one of knorm, gaussian, wishart, coupled"),
            ({"mechanism": "gaussian"}, "delta must be positive"),
            ({"shrinkage": "lots"}, "shrinkage must be one of"),
            ({"radius": "small", "bounds": (-1, 1)}, "radius must be a positive length or 'private'"),
            ({"radius": "private"}, "bounds must be given"),
            ({"radius": "private", "bounds": (-1, 1), "radius_share": 0}, "radius_share must lie"),
            ({"center": "private", "bounds": (-1, 1), "mean_share": 1}, "strictly between 0 and 1"),
            ({"center": "pairs", "neighbours": "add-remove"}, "would change who is paired"),
            ({"labels": {"z": "x"}}, "labels must have the keys"),
            ({"epsilon": 0}, "epsilon must be positive"),
            ({"basis": BoxBasis.on_grid("cosine", (5, 5), [(0, 1)] * 2)}, "interval, for second"),
        ],
    )  # fmt: skip
    def test_by_their_words_and_free_of_charge(self, parameters, words):
        ledger = MemoryLedger().create("d", PureDP(10), REPLACE, "record")
        with pytest.raises(ParameterError, match=words):
            released(**parameters, ledger=ledger.of("d"))
        assert ledger.spent("d")["epsilon"] == 0

    def test_data_errors_name_places_and_no_values(self):
        curves = waves(30)
        curves[4, 7] = np.nan
        with pytest.raises(DataError, match="row 4, column 7") as caught:
            released(curves)
        assert "0.1" not in str(caught.value)
        released(curves, missing="complete")
        released(curves, invalid="repair")

    def test_unusable_records_count_as_the_center(self):
        curves = np.vstack([waves(30), np.full((30, 25), np.nan)])
        halved = released(curves, invalid="repair", epsilon=1e6, functions=4)
        whole = released(waves(30), epsilon=1e6, functions=4)
        np.testing.assert_allclose(halved.on_grid(), whole.on_grid() / 2, atol=1e-5)

    def test_points_outside_the_domain(self):
        release = released()
        with pytest.raises(ParameterError, match="lie in the domain"):
            release(0.5, 1.5)
        with pytest.raises(ParameterError, match="come in pairs"):
            release([0.1, 0.2], [0.1, 0.2, 0.3])


@pytest.mark.parametrize("center", ["bound", "private", "pairs"])
@pytest.mark.parametrize("bounds", [(-1, 1), L2Ball(3.0)])
def test_deviations_of_many_curves_are_those_of_few_to_the_last_bit(center, bounds, monkeypatch):
    generator = np.random.default_rng(5)
    curves = generator.normal(size=(1100, 7)) * 10.0 ** generator.uniform(-3, 3, (1100, 1))
    curves[::9] *= 10.0 ** generator.uniform(-320, 304, (123, 1))
    curves[5], curves[6], curves[7] = 0.0, 1.7e308, [5e-324, -5e-324, 0, 0, 1, -0.0, 1e-308]
    prepared = PrivateCovariance(1.0, bounds=bounds, center=center).prepare(curves)
    stage, _ = first_stage(prepared, prepared.plan.certified())
    found = []
    for large in (curves.size + 1, 1):
        monkeypatch.setattr(publishing, "LARGE", large)
        lengths, rows = publishing.measured(prepared.total, stage)
        total = outer_sum(prepared.total, stage, stage.components).through(lambda matrix: matrix)
        found.append((lengths.tolist(), [[part.tolist() for part in some] for some in rows], total))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateCovariance(1.0, bounds=(-1, 1)),
        dpfda.PrivateFPCA(1.0, n_components=1, bounds=(-1, 1)),
        dpfda.PrivateComparison(1.0, bounds=(-1, 1)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks(estimator):
    from sklearn.utils.estimator_checks import check_estimator

    expected = {
        "check_dtype_object": "a cell that is no number is a DataError, which never shows the cell",
    }
    if isinstance(estimator, dpfda.PrivateFPCA):
        expected |= {
            "check_fit_idempotent": "noise is drawn anew in every fit",
            "check_transformer_data_not_an_array": "reads the shape of public input through numpy",
        }
    results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None)
    assert {r["check_name"] for r in results if r["status"] == "failed"} == set()
    assert sum(r["status"] == "passed" for r in results) > 25


def test_moments_around_the_middle_of_the_bound_are_not_called_a_covariance():
    curves = 0.7 + 0.05 * np.sin(np.linspace(0, 3, 12)) * np.linspace(-1, 1, 60)[:, None]
    moment = PrivateCovariance(50.0, bounds=(0, 1), center="bound").fit(curves).release_
    assert moment.view().title.startswith("Second moment function around the middle of the bound")
    assert moment.view().value_label.startswith("second moment of")
    assert "larger than the covariance" in " ".join(moment.describe().split())
    around = PrivateCovariance(50.0, bounds=(0, 1)).fit(curves)
    assert around.release_.view().title.startswith("Covariance function")
    assert "larger than the covariance" not in " ".join(around.release_.describe().split())


class TestChosenRadius:
    """The length that deviations are shortened to, chosen from noisy counts."""

    def chosen(self, curves, epsilon=1e5, **parameters):
        estimator = PrivateCovariance(epsilon, bounds=(-4.0, 4.0), **parameters)
        return estimator, estimator.fit(curves).release_

    def test_it_is_the_default_around_a_released_mean_and_clips_few(self):
        curves = 3 * waves(2000)
        _, release = self.chosen(curves)
        away = (curves - release.center) @ release.basis.analysis
        away = np.linalg.norm(away * np.sqrt(np.arange(1, release.noise.size + 1)), axis=1)
        radius = release.certificate.mechanism["radius"]
        # 4.9 times the root mean square at so large an epsilon; candidates are 1.19 apart.
        assert 0.9 < radius / math.sqrt(np.mean(away**2)) / 4.9 < 1.11
        assert release.certificate.bound["radius"] == radius
        words = f"of a radius that was chosen privately, {radius:g}"
        assert release.certificate.bound["description"].endswith(words)
        assert list(release.certificate.stages) == [
            "mean", "largest distance", "choice of the radius", "second moments"
        ]  # fmt: skip
        assert release.guarantee == PureDP(10**5)
        again = ReleasedCovariance.from_json(json.loads(json.dumps(release.to_json())))
        assert again.certificate.mechanism["choice"]["noisy_counts"] == list(
            release.certificate.mechanism["choice"]["noisy_counts"]
        )
        np.testing.assert_array_equal(again.on_grid(), release.on_grid())

    def test_what_shortening_takes_is_given_back_to_the_estimate_and_its_noise_floor(self):
        _, release = self.chosen(3 * waves(2000), epsilon=1.0)
        plain = replace(release, restored=None)
        assert 1 < release.restored < 1.5
        np.testing.assert_allclose(release.on_grid(), release.restored * plain.on_grid())
        assert release.noise_floor() == pytest.approx(release.restored * plain.noise_floor())
        np.testing.assert_array_equal(release.noisy_coordinates, plain.noisy_coordinates)
        np.testing.assert_array_equal(release.eigenvalue_intervals(), plain.eigenvalue_intervals())
        written = json.loads(json.dumps(release.to_json()))
        assert written["restored"] == release.restored
        with pytest.raises(ValueError, match="shortening"):
            ReleasedCovariance.from_json(written | {"restored": 2.5})

    def test_nothing_is_given_back_where_no_record_can_be_longer(self):
        assert chosen_radius(1.0, 0.9, 1.0, 1000.0) == (1.0, 1.0)
        radius, restored = chosen_radius(8.0, 1.0, 1.0, 100.0)
        assert restored == pytest.approx(1 + 0.5 / radius**5)
        assert chosen_radius(8.0, 1.0, 1.0, 100.0, restored=False)[1] == 1.0

    @pytest.mark.parametrize("center", ["pairs", "private", 0.0])
    @pytest.mark.parametrize("neighbours", [REPLACE, ADD])
    @pytest.mark.parametrize("budget", [{}, {"delta": 1e-6}, {"epsilon": None, "rho": 0.5}])
    def test_whatever_stages_are_beside_it_the_file_can_be_read(
        self, center, neighbours, budget, tmp_path
    ):
        if (center, neighbours) == ("pairs", ADD):
            # Who is paired with whom would tell how many there are.
            return
        asked = {"epsilon": 1.0, "center": center, "neighbours": neighbours, **budget}
        release = PrivateCovariance(bounds=(-1.0, 1.0), **asked).fit(waves(40)).release_
        again = dpfda.load(release.save(tmp_path / "c.json"))
        assert again.certificate.costs == release.certificate.costs
        assert again.certificate.achieved == release.certificate.achieved
        assert within(again.certificate.achieved, again.guarantee)

    @pytest.mark.parametrize(
        "change",
        [
            lambda choice: choice["noise"].update(
                scales=[one // 2 for one in choice["noise"]["scales"]]
            ),
            lambda choice: choice.update(radii=[3 * radius for radius in choice["radii"]]),
            lambda choice: choice.update(noisy_counts=choice["noisy_counts"][1:]),
        ],
    )
    def test_a_file_with_another_choice_is_refused(self, change, tmp_path):
        release = PrivateCovariance(1.0, bounds=(-1.0, 1.0)).fit(waves(40)).release_
        file = release.save(tmp_path / "c.json")
        written = json.loads(file.read_text())
        change(written["mechanism"]["choice"])
        file.write_text(json.dumps(written))
        with pytest.raises(DpfdaError, match="damaged"):
            dpfda.load(file)

    @pytest.mark.parametrize("neighbours", [REPLACE, ADD])
    def test_counts_have_noise_for_exactly_how_far_one_unit_moves_them(self, neighbours):
        choice = RadiusChoice(8.0, PureDP("0.5"), neighbours)
        lengths = np.array([0.0, 3.0, 8.0, np.inf, np.nan, 0.1])
        whole = np.array(bin_counts(lengths, choice.radii).with_noise([0] * choice.radii.size))
        moved = []
        for other in (0.0, 2.9, 7.9, 1e300, np.nan):
            changed = np.append(lengths[:-1], other) if neighbours is REPLACE else lengths[:-1]
            counts = bin_counts(changed, choice.radii).with_noise([0] * choice.radii.size)
            moved.append(int(np.abs(whole - np.array(counts)).sum()))
        assert max(moved) == choice.width
        # Laplace noise of that over epsilon; the smallest integer that is no less.
        assert set(choice.noise.scales) == {2 * choice.width}
        draws = [choice.released(lengths).noisy_counts for _ in range(800)]
        errors = (np.array(draws, dtype=float) - whole).ravel() / (2 * choice.width)
        assert fits(errors, stats.laplace.cdf)
        for factor in (np.sqrt(2), np.sqrt(0.5)):
            assert not fits(errors, lambda x, f=factor: stats.laplace.cdf(x * f))

    @staticmethod
    def chosen_among(counts, units, epsilon, draws):
        """Radii (draws,) that noisy counts lead to, over the root mean square length."""
        choice = RadiusChoice(1.0, PureDP(epsilon), REPLACE)
        lengths = np.repeat(choice.radii * 0.9, counts)
        assert lengths.size == units
        found = [choice.radius(choice.released(lengths), units, 1.0) for _ in range(draws)]
        return np.array(found) / math.sqrt(np.mean(lengths**2))

    def test_noise_does_not_lead_far_from_where_the_lengths_are(self):
        # Seven bins deep a sum of counts has a deviation of 77 of 500 units: no such sum says much.
        counts = [0, 0, 0, 0, 0, 50, 150, 150, 100, 50, 0]
        found = self.chosen_among(counts, 500, "0.0975", 200)
        assert np.mean(np.abs(np.log(found)) < np.log(2)) > 0.93
        assert 0.7 < np.median(found) < 1.4

    def test_quiet_counts_lead_to_radii_that_clip_nothing(self):
        counts = [0, 0, 0, 0, 0, 50, 150, 150, 100, 50, 0]
        assert min(self.chosen_among(counts, 500, "1000", 20)) > 2.5

    def test_lengths_below_every_candidate_take_about_the_least(self):
        counts = [0] * 10 + [300]
        assert np.mean(self.chosen_among(counts, 300, "0.0975", 100) < 2.5) > 0.8

    def test_noise_is_then_made_for_the_chosen_radius(self):
        _, release = self.chosen(waves(300), epsilon=4.0, center=Center(0.0, "private"))
        plan_radius = outer_ball(release.certificate.mechanism["radius"])
        rest = PureDP(4 * Fraction(90, 100))
        difference = OuterDifference.of(release.noise.size, plan_radius.radius, REPLACE)
        assert release.exponent == 2 * plan_radius.exponent
        stated = achieved_guarantee(release.noise, "l2", difference, rest)
        assert rest.epsilon / Fraction(10001, 10000) < stated.epsilon <= rest.epsilon
        assert list(release.certificate.stages) == ["choice of the radius", "second moments"]

    @pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
    def test_the_typical_length_is_found_from_noisy_counts(self, power):
        # Lengths whose power is normal, or their logarithm; 1,000 units, noise of 20 a bin.
        normal = np.random.default_rng(3).standard_normal((1, 1000))
        lengths = (
            np.maximum(1 + 0.4 * normal[0] * power, 0) ** (1 / power)
            if power
            else np.exp(0.4 * normal[0])
        )
        choice = RadiusChoice(8.0, PureDP("0.1"), REPLACE)
        exact = math.sqrt(np.mean(lengths**2))
        told = [choice.typical(choice.released(lengths), 1000) for _ in range(60)]
        found = np.array([length for length, _ in told]) / exact
        assert {round(share, 9) for _, share in told} == {1.0}
        assert 0.93 < np.median(found) < 1.07
        assert np.mean(np.abs(np.log(found)) < 0.2) > 0.9

    @pytest.mark.parametrize("rest", [0.0, 0.5])
    def test_curves_that_are_mostly_one_constant_keep_their_covariance(self, rest):
        # Only 15 in 100 curves deviate from it; by far more than a typical length of all would tell.
        generator = np.random.default_rng(8)
        times = np.linspace(0, 2 * np.pi, 30)
        modes = np.array([0 * times + 0.1, 0.08 * np.sin(times), 0.08 * np.cos(times)])
        curves = np.full((5000, 30), rest)
        some = generator.random(5000) < 0.15
        curves[some] = np.clip(0.3 + rest / 2 + generator.standard_normal((some.sum(), 3)) @ modes, 0, 1)
        truth = np.cov(curves, rowvar=False, bias=True)
        for _ in range(3):
            found = PrivateCovariance(1.0, bounds=(0.0, 1.0)).fit(curves).release_.on_grid()
            assert 0.6 < np.trace(found) / np.trace(truth) < 1.3
            assert np.linalg.norm(found - truth) < 0.5 * np.linalg.norm(truth)

    def test_a_share_without_length_is_told_from_noisy_counts(self):
        choice = RadiusChoice(8.0, PureDP("0.1"), REPLACE)
        lengths = np.append(np.zeros(1400), np.exp(0.4 * np.random.default_rng(3).standard_normal(600)))
        exact = math.sqrt(np.mean(lengths[1400:] ** 2))
        found = np.array([choice.typical(choice.released(lengths), 2000) for _ in range(60)])
        assert np.mean(np.abs(np.log(found / (exact, 0.3))) < 0.3, axis=0).min() > 0.9

    def test_half_as_many_bins_are_counted_of_few_records(self):
        made = PrivateCovariance(1.0, bounds=(-4.0, 4.0), center="pairs")
        few, many = (made.plan(n, 25).choice.radii for n in (1400, 1600))
        np.testing.assert_array_equal(few, many[::2])

    @pytest.mark.parametrize("budget", [{}, {"delta": 1e-6}])
    def test_noise_falls_along_the_functions_as_is_stated(self, budget):
        # Without deviations the release is noise, and its variances are stated.
        still = np.zeros((400, 25))
        squares = [
            release.noisy_coordinates**2 / release.noise_power
            for release in (
                PrivateCovariance(1.0, bounds=(-4.0, 4.0), mechanism=MatrixNoise(functions=6), **budget)
                .fit(still)
                .release_
                for _ in range(150)
            )
        ]
        means = np.mean(squares, axis=0)
        diagonal = [0, 2, 5, 9, 14, 20]
        # A scale that is wrong by the root of two doubles or halves them: first, last and all.
        assert 1 / 1.5 < means.mean() < 1.5
        assert 1 / 1.5 < means[diagonal].mean() < 1.5
        release = (
            PrivateCovariance(1.0, bounds=(-4.0, 4.0), mechanism=MatrixNoise(functions=6))
            .fit(still)
            .release_
        )
        powers = release.noise_power[diagonal]
        np.testing.assert_allclose(powers[0] / powers, np.arange(1, 7) ** 2, rtol=1e-12)

    def test_what_was_multiplied_is_divided_again(self):
        curves = waves(1000)
        _, release = self.chosen(
            curves, epsilon=1e7, mechanism=MatrixNoise(functions=4), center="private"
        )
        away = (curves - release.center) @ release.basis.analysis
        exact = release.tensor.coordinates(away.T @ away / 1000)
        np.testing.assert_allclose(release.noisy_coordinates, exact, atol=1e-3 * exact.max())

    @pytest.mark.parametrize("emphasis", [-0.5, 40.0, "none"])
    def test_a_file_with_an_impossible_emphasis_is_refused(self, emphasis, tmp_path):
        file = (
            PrivateCovariance(1.0, bounds=(-1.0, 1.0)).fit(waves(40)).release_.save(tmp_path / "c.json")
        )
        file.write_text(json.dumps({**json.loads(file.read_text()), "emphasis": emphasis}))
        with pytest.raises(DpfdaError, match="damaged"):
            dpfda.load(file)

    def test_a_file_from_before_has_none(self):
        written = released().to_json()
        assert "emphasis" not in written
        assert ReleasedCovariance.from_json(written).emphasis is None

    def test_a_wild_unit_lies_in_one_bin_and_in_the_ball(self, monkeypatch):
        seen = []
        add = OuterSum.add
        monkeypatch.setattr(OuterSum, "add", lambda self, rows: seen.append(rows) or add(self, rows))
        wild = np.vstack([waves(200), np.full((1, 25), 1e300), np.full((1, 25), np.nan)])
        _, release = self.chosen(wild, unit=PrivacyUnit(), reading=Reading(invalid="repair"))
        radius = outer_ball(release.certificate.mechanism["radius"]).radius
        assert max(int(r @ r) for rows in seen for r in rows.astype(object)) <= radius**2

    def test_it_is_nearer_than_what_the_bounds_alone_allow(self):
        curves, grid = waves(2000), np.linspace(0, 1, 25)
        exact = np.cov(curves.T, bias=True)

        def error(**parameters):
            _, release = self.chosen(curves, epsilon=1.0, **parameters)
            return np.linalg.norm(release.on_grid(grid) - exact) / np.linalg.norm(exact)

        default = np.median([error() for _ in range(5)])
        given = np.median([error(center=Center("private", radius=8.0)) for _ in range(5)])
        assert default < given / 2

    def test_the_plan_says_what_it_assumes_and_comes_true(self):
        made = PrivateCovariance(1.0, bounds=(-4.0, 4.0))
        plan, grid = made.plan(2000, 25), np.linspace(0, 1, 25)
        assert "curves that deviate by 0.48 from their mean" in plan.error_words
        modes = 0.48 * ordinary_modes(grid, 40)[32:]
        errors = []
        for place, mode in enumerate(modes):
            generator = np.random.default_rng(place)
            curves = generator.standard_normal((2000, len(mode))) @ mode
            # Some are larger than others.
            curves *= np.exp(0.5 * generator.standard_normal((2000, 1)) - 0.25)
            release = made.fit(curves).release_
            apart = release.on_grid(grid) - np.cov(curves.T, bias=True)
            errors.append(float(np.sqrt(np.mean(apart**2))))
        assert 0.7 < np.exp(np.mean(np.log(errors))) / plan.error < 1.4
        assert np.sum(np.array(errors) <= plan.error_for_most) >= 5

    def test_the_exponential_mechanism_uses_it_too(self):
        fpca = PrivateFPCA(50.0, n_components=1, bounds=(-4.0, 4.0), mechanism="exponential")
        release = fpca.fit(waves(400)).release_
        assert release.certificate.mechanism["radius"] < 2
        assert release.guarantee == PureDP(50)
        assert release.certificate.achieved.epsilon <= 50


class TestEigenvalues:
    """Intervals for all eigenvalues at once, and the number of components above the noise."""

    def covered(self, curves, factor, monkeypatch=None):
        estimator = PrivateCovariance(
            2.0, center=Center(0.0, radius=0.4), mechanism=MatrixNoise("coupled", functions=3)
        )
        first = estimator.fit(curves).release_
        coefficients = curves @ first.basis.analysis
        # Rounding may take one that is zero below it.
        true = np.maximum(np.linalg.eigvalsh(coefficients.T @ coefficients / len(curves))[::-1], 0.0)
        held = more = 0
        for _ in range(150):
            total = np.array(first.noise.draw()) * factor
            exact = coefficients.T @ coefficients * 2.0**first.exponent
            noisy = tuple(int(x) for x in np.rint(exact[np.tril_indices(3)] + total))
            release = replace(first, noisy_sum=noisy)
            intervals = release.eigenvalue_intervals(0.9)
            held += bool(np.all((intervals[:, 0] <= true) & (true <= intervals[:, 1])))
            more += release.standing_out(0.9) > 0
        return held, more

    def test_all_are_held_and_noise_alone_rarely_stands_out(self):
        held, _ = self.covered(waves(200), 1.0)
        assert lower_limit(held, 150, FALSE_ALARM) > 0.7
        assert upper_limit(held, 150, FALSE_ALARM) >= 0.9
        # Of records that are all zero no component is there: any that stands out is one too many.
        _, more = self.covered(np.zeros((200, 25)), 1.0)
        assert lower_limit(more, 150, FALSE_ALARM) <= 0.1

    def test_the_reach_is_a_quantile_of_the_noise_and_of_no_other_scale(self):
        # Around zero all are held exactly where the noise stays within the reach. That is a quantile of
        # 2,000 simulated draws, .7 within five standard errors of .0102; the draws here are exact.
        level, trials, slack = 0.7, 1500, 0.052
        release = released(np.zeros((200, 25)), mechanism=MatrixNoise("coupled", functions=3))
        noisy = np.linalg.eigvalsh(release.tensor.matrix(release.noisy_coordinates))
        reach = release.eigenvalue_intervals(level)[0, 1] - noisy[-1]
        unit = math.ldexp(1.0, -release.exponent) / release.count
        draws = [symmetric(release.noise.draw(), 3) * unit for _ in range(trials)]
        norms = np.abs(np.linalg.eigvalsh(draws)).max(axis=1)

        def inside(factor):
            held = int(np.sum(norms * factor <= reach))
            return lower_limit(held, trials, FALSE_ALARM), upper_limit(held, trials, FALSE_ALARM)

        low, high = inside(1.0)
        assert low < level + slack
        assert high > level - slack
        # True levels of .93 and .38: ten standard errors or more beyond the limits.
        assert inside(1 / math.sqrt(2))[0] > level + slack
        assert inside(math.sqrt(2))[1] < level - slack

    def test_an_estimate_that_is_drawn_to_zero_is_not_told_as_a_small_covariance(self):
        """The noise is drawn to zero with it: what is left of that says nothing of the covariance."""
        release = released(epsilon=0.1)
        nothing = replace(release, noisy_sum=(0,) * len(release.noisy_sum))
        high = nothing.eigenvalue_intervals()[0, 1]
        assert nothing.noise_floor() < high / 1000
        largest = f"between 0 and {number(high)}, with"
        assert largest in nothing.facts.lines()["largest"]
        words = " ".join(nothing.describe().split())
        assert f"the largest variance of these curves as they were clipped lies {largest}" in words
        assert "small numbers are then no finding" in words

    def test_with_little_noise_both_components_of_the_waves_are_found(self):
        release = released(waves(400), epsilon=1e5, functions=6)
        assert release.standing_out() >= 2
        intervals = release.eigenvalue_intervals()
        assert np.all(np.diff(intervals, axis=0) <= 0)
        assert np.all(intervals[:, 0] <= np.linalg.eigvalsh(release.matrix)[::-1] + 1e-9)


@pytest.mark.parametrize("leave", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("center", ["pairs", "private"])
def test_curves_that_were_prepared_do_not_pickle_or_copy(leave, center):
    curves = np.random.default_rng(0).uniform(size=(12, 5))
    prepared = PrivateCovariance(1.0, bounds=(0, 1), center=center).prepare(curves)
    with pytest.raises(DpfdaError, match="private and cannot be pickled or copied"):
        leave(prepared.total)
