"""The proofs of the three solvers, checked: bounds reached and never exceeded, laws and scales."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpfda.errors import DpfdaError, RefusedMechanismError
from dpfda.machines.defaults import default_penalty, default_solver
from dpfda.machines.minimiser import Loss
from dpfda.machines.solvers import (
    Labelled,
    MeansSolver,
    ObjectiveSolver,
    OutputSolver,
    SumsSolver,
    Terms,
    sensitivity,
)
from dpfda.noise import GaussianNoise, KNormNoise, knorm_loss
from dpfda.noise.wishart import CoupledNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.composition import gaussian_delta
from dpfda.privacy.guarantees import ApproximateDP, PureDP
from dpfda.publication.integers import publish_perturbed
from statistical import FALSE_ALARM, fits_only_at_its_scale, lower_limit, upper_limit

HALF = Fraction(1, 2)
LOSSES = {name: Loss(name, HALF) for name in ("hinge", "logistic", "huber", "squared")}
LIPSCHITZ = ["hinge", "logistic", "huber"]


def plan_of(
    name, components=3, units=20, penalty=Fraction(1, 8), guarantee=None, grouped=False, functions=1
):
    budget = PureDP(1) if guarantee is None else guarantee
    return Terms(components, units, LOSSES[name], penalty, budget, grouped, functions)


def on_ball(rows, solver):
    """Float rows of length at most one as integers of the solver's ball, rounded toward zero."""
    rows = np.asarray(rows, dtype=float)
    return np.trunc(rows * solver.ball.radius * (1 - 1e-12)).astype(np.int64)


def labelled(rows, targets, solver, codes=None):
    codes = np.arange(len(targets)) if codes is None else np.asarray(codes)
    return Labelled(on_ball(rows, solver), np.asarray(targets, float), codes, int(codes.max()) + 1)


def distance(first, second):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(first, second, strict=True)))


def unit_rows(rng, count, components):
    rows = rng.normal(size=(count, components))
    return rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-9)[:, None]


class TestOutput:
    def test_a_pair_reaches_the_bound_of_the_hinge(self):
        # One unit alone has features; its label is turned round.
        solver = OutputSolver(plan_of("hinge", units=20, penalty=HALF))
        rows = np.zeros((20, 3))
        rows[0, 0] = 1.0
        targets = np.ones(20)
        turned = targets.copy()
        turned[0] = -1.0
        ends = [solver.integers(labelled(rows, y, solver)) for y in (targets, turned)]
        moved = distance(*ends)
        exact = float(sensitivity(solver.terms)) * 2.0**solver.exponent
        assert moved == pytest.approx(exact, rel=0.011)
        assert 0.98 * solver.width <= moved <= solver.width

    @settings(max_examples=60, deadline=None)
    @given(
        name=st.sampled_from(list(LOSSES)),
        seed=st.integers(0, 10**6),
        units=st.integers(2, 12),
        log_penalty=st.integers(-9, 3),
        flip=st.booleans(),
        spread=st.sampled_from([0.0, 0.1, 1.0]),
    )
    def test_no_pair_exceeds_the_width(self, name, seed, units, log_penalty, flip, spread):
        rng = np.random.default_rng(seed)
        solver = OutputSolver(plan_of(name, 3, units, Fraction(2) ** log_penalty))
        rows = unit_rows(rng, units + 1, 3) * spread + np.array([1.0, 0.0, 0.0])
        rows /= np.linalg.norm(rows, axis=1)[:, None]
        targets = rng.choice([-1.0, 1.0], size=units + 1)
        other = targets[:units].copy()
        rows_other = rows[:units].copy()
        other[0] = -targets[0] if flip else targets[units]
        if not flip:
            rows_other[0] = rows[units]
        first = solver.integers(labelled(rows[:units], targets[:units], solver))
        second = solver.integers(labelled(rows_other, other, solver))
        assert distance(first, second) <= solver.width

    def test_the_square_bound_is_neither_exceeded_nor_loose(self):
        # The replaced rows lie between a direction that the others fill and one that they do not.
        penalty, units = Fraction(1, 100), 200
        plan = plan_of("squared", 2, units, penalty)
        worst = 0.0
        for spread in np.linspace(0.02, 0.5, 25):
            for angle in np.linspace(0.1, 1.5, 25):
                rows = np.tile([spread, 0.0], (units, 1))
                targets = np.ones(units)
                rows[0] = np.array([math.cos(angle), math.sin(angle)])
                targets[0] = -1.0
                other = rows.copy()
                other[0] = np.array([-math.cos(angle), math.sin(angle)])
                turned = targets.copy()
                turned[0] = 1.0
                found = [
                    np.linalg.solve(z.T @ z / units + float(penalty) * np.eye(2), z.T @ y / units)
                    for z, y in ((rows, targets), (other, turned))
                ]
                worst = max(worst, float(np.linalg.norm(found[0] - found[1])))
        bound = float(sensitivity(plan))
        # The general bound takes the steepest slope that |b| <= penalty^(-1/2) allows.
        general = 2 * (1 + 1 / math.sqrt(penalty)) / (float(penalty) * units)
        assert 0.5 * bound <= worst <= bound
        assert general > 2.5 * bound

    @pytest.mark.parametrize("grouped", [False, True])
    def test_the_square_bound_is_the_maximum_that_is_derived(self, grouped):
        for penalty in (Fraction(1, 1000), Fraction(1, 10), Fraction(3)):
            plan = plan_of("squared", penalty=penalty, units=50, grouped=grouped)
            s = np.linspace(0, 1, 200_001)
            g = 1 / math.sqrt(penalty)
            largest = 1 + g / 2 if grouped else np.max(s * (1 + g * np.sqrt(s * (1 - s))))
            exact = 2 / (50 * float(penalty)) * largest
            assert exact <= float(sensitivity(plan)) <= 1.001 * exact

    def test_noise_has_the_scale_of_the_width_and_no_other(self):
        solver = OutputSolver(plan_of("hinge", components=7))
        law = solver.noise
        assert type(law) is KNormNoise
        assert law.block_sizes == (7,)
        assert solver.width / law.scales[0] <= 1 < solver.width / (law.scales[0] / math.sqrt(2))
        assert law.scales[0] <= 1.0001 * solver.width
        guarantee = ApproximateDP("0.5", "1e-6")
        solver = OutputSolver(plan_of("hinge", components=200, guarantee=guarantee))
        law = solver.noise
        assert type(law) is GaussianNoise
        scale = law.scales[0]
        assert gaussian_delta(Fraction(1, 2), Fraction(solver.width, scale)) <= guarantee.delta
        assert (
            gaussian_delta(Fraction(1, 2), Fraction(solver.width, round(scale / 1.01))) > guarantee.delta
        )

    def test_few_components_get_pure_noise_under_a_small_delta(self):
        solver = OutputSolver(plan_of("hinge", components=4, guarantee=ApproximateDP(1, "1e-6")))
        assert type(solver.noise) is KNormNoise

    def test_released_coefficients_follow_their_law(self):
        solver = OutputSolver(plan_of("logistic", components=3))
        rng = np.random.default_rng(0)
        exact = np.array(
            solver.integers(labelled(unit_rows(rng, 20, 3), np.ones(20), solver)), dtype=float
        )
        noisy = np.array([exact + solver.noise.draw() for _ in range(1500)])
        lengths = np.linalg.norm((noisy - exact), axis=1) / (solver.width / 1.0)
        assert fits_only_at_its_scale(lengths, stats.gamma(3).cdf)


def minimiser_for(solver, data, w):
    """The minimiser t of F(t) + w . t / n: by Newton's method on formulas of the test's own."""
    rows, y, n = data.rows * solver.ball.step, data.targets, data.units
    penalty = float(solver.terms.penalty)
    t = np.zeros(rows.shape[1])
    for _ in range(200):
        loss = solver.terms.loss
        gradient = rows.T @ loss.slopes(y, rows @ t) / n + 2 * penalty * t + w / n
        bends = loss.curvatures(y, rows @ t)
        t = t - np.linalg.solve((rows.T * bends) @ rows / n + 2 * penalty * np.eye(t.size), gradient)
    return t


def perturbation_of(solver, data, t):
    """w = -n grad F(t)."""
    rows = data.rows * solver.ball.step
    slopes = solver.terms.loss.slopes(data.targets, rows @ t)
    return -(rows.T @ slopes + 2 * float(solver.terms.penalty) * data.units * t)


class TestObjective:
    def pair(self, seed, solver, units=20):
        rng = np.random.default_rng(seed)
        rows, targets = unit_rows(rng, units + 1, 3), rng.choice([-1.0, 1.0], size=units + 1)
        keep = np.arange(units)
        other = keep.copy()
        other[0] = units
        return (labelled(rows[i], targets[i], solver) for i in (keep, other))

    @pytest.mark.parametrize("name", LIPSCHITZ)
    @pytest.mark.parametrize("size", [0.0, 1.0, 50.0, 1e9])
    def test_one_minimiser_gives_integers_within_the_width(self, name, size):
        solver = ObjectiveSolver(plan_of(name))
        grid = 2.0**solver.gradient_exponent
        for seed in range(4):
            first, second = self.pair(seed, solver)
            w = size * np.random.default_rng(seed).normal(size=3)
            t = minimiser_for(solver, first, w)
            # The perturbation that leads the neighbour to the same minimiser.
            v = perturbation_of(solver, second, t)
            u = perturbation_of(solver, first, t)
            assert np.linalg.norm(u - v) <= 2 * float(solver.terms.loss.lipschitz) + 1e-6 * size
            if size > 100:
                continue
            drawn = [[round(float(x) * grid) for x in shift] for shift in (u, v)]
            ends = [solver.integers(d, w) for d, w in zip((first, second), drawn, strict=True)]
            assert distance(*ends) <= solver.width
            np.testing.assert_allclose(
                solver.coefficients(tuple(ends[0])), t, atol=2 * solver.width * 2.0**-solver.exponent
            )

    def test_a_pair_reaches_twice_the_slope(self):
        solver = ObjectiveSolver(plan_of("hinge"))
        rows = np.zeros((20, 3))
        rows[0, 0] = 1.0
        targets = np.ones(20)
        turned = np.concatenate([[-1.0], targets[1:]])
        first, second = (labelled(rows, y, solver) for y in (targets, turned))
        t = np.zeros(3)
        moved = perturbation_of(solver, first, t) - perturbation_of(solver, second, t)
        assert np.linalg.norm(moved) == pytest.approx(2.0)
        law = solver.perturbation
        rest = 1 - SHARE - solver.curvature_loss
        width = 2 * 2.0**solver.gradient_exponent
        assert float(rest) * 0.9999 <= width / law.scales[0] <= float(rest) * (1 + 1e-9)

    @settings(max_examples=60, deadline=None)
    @given(
        seed=st.integers(0, 10**6),
        units=st.integers(4, 30),
        rows_a_unit=st.integers(1, 3),
        name=st.sampled_from(LIPSCHITZ),
    )
    def test_the_ratio_of_determinants_is_bounded(self, seed, units, rows_a_unit, name):
        rng = np.random.default_rng(seed)
        solver = ObjectiveSolver(plan_of(name, 3, 30, Fraction(1, 2), grouped=rows_a_unit > 1))
        smooth, penalty, n = float(solver.terms.loss.smoothness), 0.5, 30
        common = unit_rows(rng, units, 3) * rng.uniform(0, 1, (units, 1))
        base = smooth * common.T @ common + 2 * penalty * n * np.eye(3)
        ends = []
        for scale in (1.0, 0.0):
            own = unit_rows(rng, rows_a_unit, 3)
            ends.append(np.linalg.slogdet(base + scale * smooth * own.T @ own / rows_a_unit)[1])
        assert ends[0] - ends[1] <= float(solver.curvature_loss) + 1e-12

    def test_the_curvature_loss_is_reached_by_one_record(self):
        solver = ObjectiveSolver(plan_of("hinge", 1, 30, HALF))
        x = 2.0 / 30
        assert math.log1p(x) <= float(solver.curvature_loss) <= math.log1p(x) * 1.0001
        grouped = ObjectiveSolver(plan_of("hinge", 1, 30, HALF, grouped=True))
        assert float(grouped.curvature_loss) == pytest.approx(x)

    @settings(max_examples=200, deadline=None)
    @given(st.floats(1e-9, 50))
    def test_the_rational_bound_of_the_logarithm(self, x):
        with mpmath.workdps(40):
            value = mpmath.mpf(x)
            assert value * (6 + value) / (6 + 4 * value) >= mpmath.log1p(value)

    def test_the_released_minimiser_gives_back_a_perturbation_of_the_stated_law(self):
        solver = ObjectiveSolver(plan_of("hinge", 3, 20, Fraction(1, 4)))
        first, _ = self.pair(3, solver)
        lengths = []
        for _ in range(700):
            noisy = IntegerSum.of(solver.integers(first, solver.perturbation.draw()))
            released = solver.coefficients(noisy.with_noise(solver.noise.draw()))
            lengths.append(np.linalg.norm(perturbation_of(solver, first, released)))
        scale = solver.perturbation.scales[0] * 2.0**-solver.gradient_exponent
        assert fits_only_at_its_scale(np.array(lengths) / scale, stats.gamma(3).cdf)

    @pytest.mark.parametrize("guarantee", [PureDP("0.3"), PureDP(4), ApproximateDP(1, "1e-6")])
    @pytest.mark.parametrize("name", LIPSCHITZ)
    def test_both_steps_together_cost_no_more_than_the_budget(self, name, guarantee):
        solver = ObjectiveSolver(plan_of(name, 5, 500, Fraction(1, 16), guarantee))
        second = knorm_loss(solver.noise.scales, "l2", solver.width)
        spent = solver.loss.epsilon + second
        assert 0.999 * guarantee.epsilon <= spent <= guarantee.epsilon

    def test_noise_below_the_budget_is_not_published(self, monkeypatch):
        solver = ObjectiveSolver(plan_of("hinge"))
        drawn = []
        law = replace(solver.noise, scales=(math.floor(solver.noise.scales[0] / math.sqrt(2)),))
        entry = {"neighbours": "replace-one", "privacy_unit": "record", "bound": "", "mechanism": ""}
        perturbation, minimiser = solver.shares
        for shares in (solver.shares, (PureDP(perturbation.epsilon / 2), minimiser)):
            noise = law if shares == solver.shares else solver.noise
            with pytest.raises(DpfdaError, match="which is more than"):
                publish_perturbed(
                    drawn.append,
                    solver.perturbation,
                    solver.loss,
                    noise,
                    "l2",
                    solver.width,
                    shares,
                    entry,
                )
        assert not drawn

    def test_what_it_cannot_do_is_refused(self):
        with pytest.raises(RefusedMechanismError, match="'objective' for the square loss, whose slope"):
            ObjectiveSolver(plan_of("squared"))
        with pytest.raises(
            RefusedMechanismError, match=r"penalty must be at least about 0.02 .* size and eps"
        ):
            ObjectiveSolver(plan_of("hinge", units=100, penalty=Fraction(1, 100)))
        ObjectiveSolver(plan_of("hinge", units=100, penalty=Fraction(21, 1000)))


SHARE = Fraction(1, 50)


def moved(solver, rows, targets):
    """The symmetric matrix by which two records' contributions differ."""
    data = labelled(np.array(rows), np.array(targets), solver)
    first, second = solver.contributions(data.rows, data.targets).astype(float)
    matrix = np.zeros((solver.rows, solver.rows))
    matrix[np.tril_indices(solver.rows)] = first - second
    return matrix + np.tril(matrix, -1).T


class TestSums:
    def test_the_contributions_are_exact_products(self):
        solver = SumsSolver(plan_of("squared", 4))
        rng = np.random.default_rng(2)
        data = labelled(unit_rows(rng, 30, 4), rng.uniform(-1, 1, 30), solver)
        found = solver.contributions(data.rows, data.targets)
        radius = solver.ball.radius
        for row, y, integers in zip(data.rows.tolist(), data.targets, found.tolist(), strict=True):
            lifted = [*(4 * z for z in row), 3 * round(y * radius)]
            assert integers == [lifted[j] * lifted[k] for j in range(5) for k in range(j + 1)]
        assert np.max(np.abs(found)) < 2**33

    @settings(max_examples=200, deadline=None)
    @given(
        seed=st.integers(0, 10**9),
        lengths=st.tuples(*[st.sampled_from([0.0, 0.3, 0.8, 1.0])] * 2),
        targets=st.tuples(*[st.sampled_from([-1.0, -0.4, 1.0])] * 2),
    )
    def test_no_pair_exceeds_the_width(self, seed, lengths, targets):
        solver = SumsSolver(plan_of("squared", 3))
        rows = unit_rows(np.random.default_rng(seed), 2, 3) * np.array(lengths)[:, None]
        found = moved(solver, rows, targets)
        eigenvalues = np.linalg.eigvalsh(found)
        assert (found**2).sum() <= solver.width.frobenius_square
        assert np.abs(eigenvalues).sum() <= solver.width.trace * (1 + 1e-9)
        assert np.abs(eigenvalues.clip(0)).sum() <= solver.width.part * (1 + 1e-9)

    def test_a_pair_reaches_it(self):
        # (4 z, 3 Y) and (4 z', 3 Y') of full length at a right angle: z.z' = 9 / 16 of opposite targets.
        solver = SumsSolver(plan_of("squared", 2))
        cosine = 9 / 16
        found = moved(solver, [[1.0, 0.0], [cosine, math.sqrt(1 - cosine**2)]], [1.0, -1.0])
        eigenvalues = np.linalg.eigvalsh(found)
        assert 0.999 * solver.width.frobenius_square <= (found**2).sum()
        assert 0.999 * solver.width.trace <= np.abs(eigenvalues).sum()
        assert 0.999 * solver.width.part <= eigenvalues.clip(0).sum()

    def test_without_noise_it_is_ridge_regression(self):
        solver = SumsSolver(plan_of("squared", 4, 30, Fraction(1, 4)))
        rng = np.random.default_rng(5)
        rows, targets = unit_rows(rng, 30, 4), rng.uniform(-1, 1, 30)
        data = labelled(rows, targets, solver)
        total = [sum(column) for column in zip(*solver.averages(data, 0, 30).tolist(), strict=True)]
        ridge = np.linalg.solve(rows.T @ rows / 30 + 0.25 * np.eye(4), rows.T @ targets / 30)
        np.testing.assert_allclose(solver.coefficients(tuple(total)), ridge, atol=1e-3)

    def test_a_matrix_that_noise_made_indefinite_is_repaired(self):
        solver = SumsSolver(plan_of("squared", 2, 10, Fraction(1, 4)))
        huge = 4 * solver.ball.radius**2 * 10
        # Entries (1,1), (2,1), (2,2), the vector and its square: eigenvalues -100 and 1 become 0 and 1.
        found = solver.coefficients((-400 * huge, 0, 4 * huge, 3 * huge, 3 * huge, 7))
        np.testing.assert_allclose(found, [1 / 0.25, 1 / 1.25])

    def test_units_with_several_rows_weigh_as_one(self):
        solver = SumsSolver(plan_of("squared", 3, 5, grouped=True))
        rng = np.random.default_rng(1)
        rows, targets, codes = unit_rows(rng, 12, 3), rng.uniform(-1, 1, 12), np.arange(12) % 5
        data = labelled(rows, targets, solver, codes)
        averages = solver.averages(data, 0, 5)
        for unit in range(5):
            own = solver.contributions(data.rows[codes == unit], data.targets[codes == unit])
            np.testing.assert_array_equal(averages[unit], own.sum(axis=0) // len(own))
        np.testing.assert_array_equal(solver.averages(data, 2, 4), averages[2:4])

    def test_rounding_averages_down_is_in_the_width(self):
        plain, solver = (
            SumsSolver(plan_of("squared", 3, 5, grouped=grouped)) for grouped in (False, True)
        )
        # Entries between -1 and 1: the worst symmetric signs of four rows, by all of them.
        signs = np.array(list(itertools.product([-1.0, 1.0], repeat=10)))
        matrices = np.zeros((len(signs), 4, 4))
        matrices[:, *np.tril_indices(4)] = signs
        matrices += np.tril(matrices, -1).transpose(0, 2, 1)
        eigenvalues = np.linalg.eigvalsh(matrices)
        assert np.abs(eigenvalues).sum(axis=1).max() <= solver.width.trace - plain.width.trace
        assert eigenvalues.clip(0).sum(axis=1).max() <= solver.width.part - plain.width.part
        longest = math.sqrt(plain.width.frobenius_square) + np.linalg.norm(matrices, axis=(1, 2)).max()
        assert longest**2 <= solver.width.frobenius_square

    def test_noise_has_the_scale_of_the_width_and_no_other(self):
        solver = SumsSolver(plan_of("squared", 4))
        law = solver.noise
        assert isinstance(law, CoupledNoise)
        assert law.size == 5
        assert 1 / math.sqrt(2) < 0.9999 <= solver.width.part / law.scale <= 1

    def test_the_noise_on_products_of_features_is_a_fraction_of_one_block_of_all_sums(self):
        # One K-norm block on 25 features, at the sensitivity (9/2)^(1/2) R^2 of the sums.
        count, sums = 25, 25 * 28 / 2
        solver = SumsSolver(Terms(count, 100, LOSSES["squared"], Fraction(1), PureDP(1), False))
        assert 4.5 * (sums + 1) / solver.deviation**2 > 6

    def test_other_losses_are_refused(self):
        with pytest.raises(
            RefusedMechanismError, match="'sums' for the hinge loss, which is no polynom"
        ):
            SumsSolver(plan_of("hinge"))


def one_hot(classes, count=3):
    return np.float64(np.asarray(classes)[:, None] == np.arange(count))


def block_lengths(difference, components):
    return np.linalg.norm(np.reshape(np.float64(difference), (-1, components)), axis=1)


class TestSeveralClasses:
    @settings(max_examples=100, deadline=None)
    @given(
        seed=st.integers(0, 10**9),
        lengths=st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 2),
        classes=st.tuples(*[st.integers(0, 2)] * 2),
    )
    def test_no_pair_exceeds_the_width(self, seed, lengths, classes):
        rows = unit_rows(np.random.default_rng(seed), 2, 4) * np.array(lengths)[:, None]
        solver = MeansSolver(plan_of("hinge", 4, functions=3))
        data = labelled(rows, one_hot(classes), solver)
        first, second = solver.averages(data, 0, 2)
        assert block_lengths(first - second, 4).sum() <= solver.width
        assert distance(first.tolist(), second.tolist()) <= solver.width
        solver = SumsSolver(plan_of("squared", 4, functions=3))
        data = labelled(rows, one_hot(classes), solver)
        moved = symmetric(*(solver.averages(data, 0, 2)), 7)
        assert np.abs(moved).sum() <= solver.width.trace * (1 + 1e-9)
        assert np.sqrt((moved**2).sum()) <= math.sqrt(solver.width.frobenius_square) * (1 + 1e-9)
        assert moved[moved > 0].sum() <= solver.width.part * (1 + 1e-9)

    def test_two_records_of_different_classes_reach_it(self):
        rows = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
        solver = MeansSolver(plan_of("hinge", functions=3))
        first, second = solver.averages(labelled(rows, one_hot([0, 2]), solver), 0, 2)
        assert block_lengths(first - second, 3).sum() == pytest.approx(solver.width, rel=1e-6)
        solver = SumsSolver(plan_of("squared", functions=3))
        moved = symmetric(*(solver.averages(labelled(rows, one_hot([0, 2]), solver), 0, 2)), 6)
        assert np.abs(moved).sum() == pytest.approx(solver.width.trace, rel=1e-3)

    def test_noise_has_the_scale_of_the_width_and_no_other(self):
        solver = MeansSolver(plan_of("hinge", 4, functions=3))
        law = solver.noise
        assert (law.block_sizes, solver.norm) == ((4, 4, 4), "l1")
        assert 1 / math.sqrt(2) < 0.9999 <= knorm_loss(law.scales, "l1", solver.width) <= 1
        assert law.scales[0] == pytest.approx(solver.width, rel=1e-6)
        guarantee = ApproximateDP(1, "1e-6")
        wide = MeansSolver(plan_of("hinge", 200, functions=3, guarantee=guarantee))
        assert (type(wide.noise), wide.norm) == (GaussianNoise, "l2")
        assert gaussian_delta(Fraction(1), Fraction(wide.width, wide.noise.scales[0])) <= guarantee.delta

    @pytest.mark.parametrize("functions", [1, 3])
    def test_the_means_are_those_of_the_hinge_with_a_large_penalty(self, functions):
        rng = np.random.default_rng(0)
        rows, classes = unit_rows(rng, 30, 3), np.arange(30) % max(functions, 2)
        solver = MeansSolver(plan_of("hinge", 3, 30, Fraction(2), functions=functions))
        targets = 2.0 * classes - 1 if functions == 1 else one_hot(classes)
        data = labelled(rows, targets, solver)
        found = solver.coefficients(tuple(solver.averages(data, 0, 30).sum(axis=0).tolist()))
        np.testing.assert_allclose(found, rows.T @ targets / (2 * 2 * 30), atol=1e-6)

    def test_units_with_several_rows_move_no_more(self):
        rng = np.random.default_rng(1)
        solver = MeansSolver(plan_of("hinge", 3, 2, grouped=True, functions=3))
        rows, codes = unit_rows(rng, 9, 3), np.array([0] * 5 + [1] * 4)
        data = labelled(rows, one_hot(np.arange(9) % 3), solver, codes)
        first, second = solver.averages(data, 0, 2)
        assert block_lengths(first - second, 3).sum() <= solver.width
        whole = (data.targets[codes == 0][:, :, None] * data.rows[codes == 0][:, None, :]).mean(axis=0)
        np.testing.assert_array_equal(first, np.floor(whole.ravel()).astype(np.int64))

    def test_least_squares_of_each_class_against_the_rest(self):
        rng = np.random.default_rng(5)
        rows, classes = unit_rows(rng, 30, 4), rng.integers(3, size=30)
        solver = SumsSolver(plan_of("squared", 4, 30, Fraction(1, 4), functions=3))
        data = labelled(rows, one_hot(classes), solver)
        total = solver.averages(data, 0, 30).sum(axis=0)
        ridge = np.linalg.solve(rows.T @ rows / 30 + 0.25 * np.eye(4), rows.T @ one_hot(classes) / 30)
        np.testing.assert_allclose(solver.coefficients(tuple(total.tolist())), ridge, atol=1e-3)

    @pytest.mark.parametrize("kind", [OutputSolver, ObjectiveSolver])
    def test_other_solvers_refuse_several_functions(self, kind):
        with pytest.raises(
            RefusedMechanismError, match="solver must be 'auto', 'means' or 'sums' for mo"
        ):
            kind(plan_of("hinge", functions=3))

    def test_the_odds_change_by_no_more_than_epsilon_and_by_more_with_half_the_noise(self):
        # One record changes its class: both blocks fall on one side of what they were.
        solver = MeansSolver(plan_of("hinge", 1, functions=3))
        ends = [
            solver.averages(labelled([[1.0]], one_hot([c]), solver), 0, 1)[0].astype(float)
            for c in (0, 1)
        ]
        ratios = []
        for law in (solver.noise, replace(solver.noise, scales=(solver.noise.scales[0] // 2,) * 3)):
            noise = np.array([law.draw() for _ in range(3000)], dtype=float)
            both = [
                int(np.sum(((noise + e)[:, 0] > ends[0][0]) & ((noise + e)[:, 1] < ends[0][1])))
                for e in ends
            ]
            ratios.append(
                (lower_limit(both[0], 3000, FALSE_ALARM), upper_limit(both[1], 3000, FALSE_ALARM))
            )
        assert ratios[0][0] <= math.e * ratios[0][1]
        assert ratios[1][0] > math.e * ratios[1][1]


def symmetric(first, second, rows):
    """Eigenvalues of the difference of two lower triangles."""
    matrix = np.zeros((rows, rows))
    where = np.tril_indices(rows)
    matrix[where] = first - second
    return np.linalg.eigvalsh(matrix, UPLO="L")


class TestGroups:
    @settings(max_examples=30, deadline=None)
    @given(seed=st.integers(0, 10**6), name=st.sampled_from(list(LOSSES)))
    def test_replacing_a_unit_of_several_rows_stays_within_the_width(self, seed, name):
        rng = np.random.default_rng(seed)
        solver = OutputSolver(plan_of(name, 3, 6, Fraction(1, 16), grouped=True))
        rows = unit_rows(rng, 12, 3)
        targets = rng.choice([-1.0, 1.0], size=12)
        codes = np.concatenate([np.arange(6), np.zeros(6, dtype=np.int64)])
        whole = solver.integers(labelled(rows, targets, solver, codes))
        # The other data set: unit 0 has one row, turned round.
        kept = rows[:6].copy()
        kept[0] = -rows[0]
        other = solver.integers(labelled(kept, targets[:6], solver))
        assert distance(whole, other) <= solver.width

    def test_rows_given_twice_change_nothing(self):
        solver = OutputSolver(plan_of("logistic", 3, 8, grouped=True))
        rng = np.random.default_rng(0)
        rows, targets = unit_rows(rng, 8, 3), rng.choice([-1.0, 1.0], size=8)
        once = solver.integers(labelled(rows, targets, solver))
        twice = solver.integers(
            labelled(
                np.repeat(rows, 2, axis=0), np.repeat(targets, 2), solver, np.repeat(np.arange(8), 2)
            )
        )
        eta = solver.tolerance / (2 * float(solver.terms.penalty))
        assert distance(once, twice) <= 2 * eta * 2.0**solver.exponent + 2


def test_the_road_is_chosen_from_public_numbers():
    small, large = ApproximateDP(1, "1e-6"), ApproximateDP(8, "1e-6")
    for loss, components, budget, expected in (
        ("squared", 10, PureDP(1), "sums"),
        ("hinge", 500, PureDP(1), "objective"),
        ("hinge", 20, small, "objective"),
        ("logistic", 100, small, "output"),
        ("logistic", 10, large, "objective"),
    ):
        given = Terms(components, 100, LOSSES[loss], Fraction(1), budget, False)
        assert default_solver(given) == expected


class TestAudit:
    """Worst neighbours, told apart by the release as often as epsilon allows and no more often.

    One of 20 units has a feature, and its label is turned round. The released coefficient passes a
    threshold with probability 1/2 in one data set and (1/2) exp(-2 M / c) in the other.
    """

    DRAWS = 1500

    def passing(self, solver, label, laws, threshold):
        rows = np.zeros((20, 1))
        rows[0] = 1.0
        data = labelled(rows, [label, *[1.0] * 19], solver)
        passed = 0
        fixed = None if isinstance(solver, ObjectiveSolver) else solver.integers(data)
        for _ in range(self.DRAWS):
            integers = solver.integers(data, laws[0].draw()) if fixed is None else fixed
            noisy = IntegerSum.of(integers).with_noise(laws[1].draw())
            passed += solver.coefficients(noisy)[0] > threshold
        return passed

    @pytest.mark.parametrize("kind", [ObjectiveSolver, OutputSolver])
    def test_the_odds_change_by_no_more_than_epsilon_and_by_more_with_half_the_noise(self, kind):
        solver = kind(plan_of("hinge", 1, 20, Fraction(10)))
        # Where the noise in favour of the first data set is zero.
        quiet = OutputSolver(solver.terms)
        rows = [[1.0], *[[0.0]] * 19]
        first = quiet.coefficients(tuple(quiet.integers(labelled(rows, [1.0] * 20, quiet))))[0]
        right = (getattr(solver, "perturbation", None), solver.noise)
        halves = tuple(law and replace(law, scales=(law.scales[0] // 2,)) for law in right)
        ratios = []
        for laws in (right, halves):
            often = self.passing(solver, 1.0, laws, first)
            seldom = self.passing(solver, -1.0, laws, first)
            ratios.append(
                (
                    lower_limit(often, self.DRAWS, FALSE_ALARM),
                    upper_limit(seldom, self.DRAWS, FALSE_ALARM),
                )
            )
        assert ratios[0][0] <= math.e * ratios[0][1]
        assert ratios[1][0] > math.e * ratios[1][1]


@pytest.mark.parametrize("name", list(LOSSES))
@pytest.mark.parametrize("units", [2, 100, 10**6])
@pytest.mark.parametrize(
    "guarantee", [PureDP("0.0001"), PureDP("0.1"), PureDP(8), ApproximateDP(1, "1e-8")]
)
def test_default_penalties_can_be_used_everywhere(name, units, guarantee):
    loss = LOSSES[name]
    for solver in (OutputSolver, SumsSolver if loss.lipschitz is None else ObjectiveSolver):
        given = Terms(12, units, loss, Fraction(1), guarantee, True)
        penalty = default_penalty(solver.name, given)
        made = solver(replace(given, penalty=Fraction(penalty)))
        assert made.noise.components == (13 * 14 // 2 if made.name == "sums" else 12)
        if not isinstance(made, SumsSolver):
            assert made.width > 0
            # Rounding and inexactness do not outweigh the noise, however many units there are.
            assert 0 < made.cost_of_inexactness < 0.21
