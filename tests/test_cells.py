"""Averages over cells: records inside the box exactly, the loss, the estimate, what is published.

Audits are wrong with chance 2e-7 each and miss noise cut by sqrt(2) with a chance far below 1e-6; see
`test_privacy`.
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import Matern

from dpfda import Domain, PrivacyUnit, PrivateMean
from dpfda.bases import CosineBasis, KernelBasis
from dpfda.bounds import L2Ball, ValueBounds
from dpfda.errors import ParameterError, RefusedMechanismError
from dpfda.mechanisms.cells import Cells, measured_error, measured_forms
from dpfda.mechanisms.design import choose, expected_error, least_error
from dpfda.mechanisms.knorm import KNorm
from dpfda.mechanisms.protocol import Measurement
from dpfda.noise import BoxNoise, achieved_guarantee
from dpfda.numerics.aggregate import exact_product
from dpfda.privacy.guarantees import Neighbours, PureDP, ZeroConcentratedDP, guarantee_for, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication import MeanPlan
from dpfda.releases.expansion import noise_draws
from dpfda.releases.function import ReleasedFunction
from dpfda.testing import non_private_mean, simulate_releases
from dpfda.testing.contracts import make_problem
from experiments import bodies
from statistical import Audit

GRID = np.linspace(0.0, 1.0, 25)
UNEVEN = np.sort(np.concatenate([[0.0, 1.0], np.random.default_rng(0).uniform(size=17)]))
KERNEL = Matern(0.3, nu=1.5)
BASIS = KernelBasis.on_grid(KERNEL, GRID)
BOUND = ValueBounds(-1.0, 2.0 + GRID)
SIZE = 300


def problem_of(guarantee=None, grid=GRID, bound=None, neighbours=Neighbours.REPLACE_ONE, size=SIZE):
    basis = KernelBasis.on_grid(KERNEL, grid)
    bound = ValueBounds(-1.0, 2.0 + grid) if bound is None else bound
    return make_problem(basis, bound, size, guarantee or PureDP(1), neighbours)


# The box of differences.


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 19), st.integers(0, 2**32), st.sampled_from([0.5, 5.0, 1e9]))
def test_every_record_lies_in_the_box_of_the_cells_exactly(count, seed, size):
    """Real records, through clipping and rounding: extreme ones, wild ones, vertices."""
    mean = PrivateMean(
        1.0, bounds=(-1.0, 3.0), domain=Domain(UNEVEN), basis=KERNEL, mechanism=Cells(count)
    )
    generator = np.random.default_rng(seed)
    records = generator.normal(size=(2, UNEVEN.size)) * size
    records[0] = np.where(generator.random(UNEVEN.size) < 0.5, -size, size)
    totals = []
    for record in (*records, np.full(UNEVEN.size, 1.0)):
        prepared = mean.prepare(np.vstack([np.full((2, UNEVEN.size), 1.0), record]))
        totals.append(np.array(prepared.total.with_noise([0] * count), dtype=object))
    problem = prepared.plan.problem(3)
    kind, widths = problem.differences(prepared.plan.public_design)
    assert (kind, len(widths)) == ("box", count)
    for one, other in itertools.combinations(totals, 2):
        assert all(abs(a - b) <= width for a, b, width in zip(one, other, widths, strict=True))
    # The center of the bounds is zero, so that a record alone stays within half of it.
    assert all(2 * abs(a - c) <= w for a, c, w in zip(totals[0], totals[2], widths, strict=True))


def test_the_box_is_attained():
    mean = PrivateMean(1.0, bounds=(-1.0, 3.0), domain=Domain(UNEVEN), basis=KERNEL, mechanism=Cells(5))
    ends = []
    for value in (-9.0, 9.0):
        prepared = mean.prepare(np.vstack([np.ones((2, UNEVEN.size)), np.full(UNEVEN.size, value)]))
        ends.append(prepared.total.with_noise([0] * 5))
    request = prepared.plan
    widths = request.problem(3).differences(request.public_design)[1]
    assert tuple(high - low for low, high in zip(*ends, strict=True)) == widths
    half = request.problem(3).cube.half_widths
    labels = request.public_design.measurement.matrix
    assert list(widths) == [2 * int(row @ half) for row in labels]


@pytest.mark.parametrize("grid", [GRID, UNEVEN], ids=["even", "uneven"])
def test_cells_are_runs_of_points_that_share_them_out_about_equally(grid):
    for count in range(1, grid.size + 1):
        design = Cells(count).design(problem_of(grid=grid))
        matrix = design.measurement.matrix
        assert matrix.shape == (count, grid.size)
        labels = matrix.argmax(axis=0)
        assert np.array_equal(matrix.sum(axis=0), np.ones(grid.size))
        assert set(np.diff(labels)) <= {0, 1}
        assert (labels[0], labels[-1]) == (0, count - 1)
        assert matrix.sum(axis=1).min() >= 1
    weights = problem_of(grid=GRID).cube.weights
    shares = Cells(6).design(problem_of()).measurement.matrix @ weights
    assert shares.max() <= 1 / 6 + weights.max()


# The loss.


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("guarantee", [PureDP("1/8"), PureDP(3), ZeroConcentratedDP("1/2")], ids=str)
def test_the_loss_is_the_budget_and_that_of_noise_cut_by_root_two_is_more(guarantee, neighbours):
    problem = problem_of(guarantee, neighbours=neighbours)
    design = Cells().design(problem)
    widths = [
        (2 if neighbours is Neighbours.REPLACE_ONE else 1) * int(row @ problem.cube.half_widths)
        for row in design.measurement.matrix
    ]
    assert problem.differences(design) == ("box", tuple(widths))
    # Restated: the largest of max_j |d_j| / b_j over the box.
    loss = max(Fraction(w, b) for w, b in zip(widths, design.noise.scales, strict=True))
    stated = achieved_guarantee(design.noise, "box", tuple(widths), guarantee)
    assert within(stated, guarantee)
    if isinstance(guarantee, PureDP):
        assert stated.epsilon == loss
        assert guarantee.epsilon * (1 - Fraction(1, 10**6)) < loss <= guarantee.epsilon
    cut = BoxNoise(tuple(round(b / math.sqrt(2)) for b in design.noise.scales))
    assert not within(achieved_guarantee(cut, "box", tuple(widths), guarantee), guarantee)
    wide = BoxNoise(tuple(round(b * math.sqrt(2)) for b in design.noise.scales))
    less = achieved_guarantee(wide, "box", tuple(widths), guarantee)
    cost = "rho" if isinstance(guarantee, ZeroConcentratedDP) else "epsilon"
    assert getattr(less, cost) < Fraction(3, 4) * getattr(guarantee, cost)


def test_refusals_say_what_to_do_instead():
    request = MeanPlan.of(
        BASIS, BOUND, guarantee_for(1, "1e-6"), Neighbours.REPLACE_ONE, "cells", 100, "record", {}
    )
    with pytest.raises(RefusedMechanismError, match="Ask for delta=0, or use mechanism='gaussian'"):
        request.design(100)
    with pytest.raises(RefusedMechanismError, match="bounds on values that are enforced on the grid"):
        Cells().design(problem_of(bound=L2Ball(1.0)))
    with pytest.raises(ParameterError, match="cells must be from 1 to 25 grid points; found 26"):
        Cells(26).design(problem_of())
    curves = np.zeros((9, 25))
    mean = PrivateMean(1.0, bounds=(-1, 1), unit=PrivacyUnit(neighbours="add-remove"), mechanism="cells")
    with pytest.raises(ParameterError, match="cells must be given where the number of units is private"):
        mean.fit(curves)
    with pytest.raises(ParameterError, match=r"an integer matrix \(M, m\) and a synthesis \(K, M\)"):
        Measurement(np.ones((2, 3)), 0, np.ones((4, 2)))


# The estimate.


def second_road(problem, design):
    """Conditional expectation and its risk by the textbook, from the numbers in force."""
    cube, unit = problem.cube, problem.ball.radius * problem.ball.step
    functions = BASIS.evaluate(GRID)
    average = design.measurement.matrix @ functions
    power = design.noise.variances() * 4.0**-cube.exponent / problem.size**2
    prior = problem.prior * unit**2
    inside = average * prior @ average.T + np.diag(power)
    synthesis = np.linalg.solve(inside, average * prior).T
    risk = np.trace(np.diag(prior) - synthesis @ average * prior)
    return average, synthesis, risk, power


@pytest.mark.parametrize("count", [1, 4, 11, 25])
def test_the_estimate_is_the_conditional_expectation_and_its_stated_error_the_risk(count):
    problem = problem_of()
    design = Cells(count).design(problem)
    average, synthesis, risk, power = second_road(problem, design)
    np.testing.assert_allclose(design.measurement.synthesis, synthesis, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(design.coefficients(np.eye(count)), synthesis.T, rtol=1e-5, atol=1e-9)
    error = expected_error(problem, design, BASIS)
    assert error.total == pytest.approx(risk, rel=1e-6)
    noise = np.sum(synthesis**2 @ power)
    assert error.noise == pytest.approx(noise, rel=1e-5)
    forms, shares = measured_forms(problem, design)
    np.testing.assert_allclose(forms, average, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(shares * (problem.ball.radius * problem.ball.step) ** 2, power, rtol=1e-9)


@pytest.mark.parametrize("epsilon", ["1/8", 1, 8])
def test_the_number_of_cells_is_about_the_best_one(epsilon):
    problem = problem_of(PureDP(epsilon))
    errors = [sum(measured_error(problem, Cells(count).design(problem))) for count in range(1, 26)]
    chosen = Cells().design(problem).components
    assert errors[chosen - 1] == pytest.approx(min(errors), rel=0.01)


def test_the_stated_error_is_that_of_simulated_means_and_noise():
    problem = problem_of()
    design = Cells(9).design(problem)
    generator = np.random.default_rng(1)
    unit = problem.ball.radius * problem.ball.step
    means = generator.normal(size=(40_000, problem.prior.size)) * np.sqrt(problem.prior) * unit
    averages = means @ (design.measurement.matrix @ BASIS.evaluate(GRID)).T
    noise = design.noise.simulate(generator, 40_000) * 2.0**-problem.cube.exponent / problem.size
    squares = np.sum((design.coefficients(averages + noise) - means) ** 2, axis=1)
    tolerance = 6 * squares.std() / squares.mean() / math.sqrt(len(squares))
    assert tolerance < 0.03
    error = expected_error(problem, design, BASIS)
    assert error.total == pytest.approx(squares.mean(), rel=tolerance)


@pytest.mark.parametrize(("epsilon", "least"), [("1/4", 0.75), (1, 0.7), (8, 0.7)])
def test_cells_fall_below_the_ball_and_its_limit(epsilon, least):
    """The limit for additive pure noise on the l2 ball is no limit for the cube inside it."""
    problem = problem_of(PureDP(epsilon))
    cells, ball = (expected_error(problem, choose(problem, name), BASIS) for name in ("cells", "knorm"))
    assert cells.total < least * ball.total
    assert cells.total < least_error(replace(problem, cube=None))
    assert choose(problem).mechanism == "cells"


def test_a_cube_of_one_cell_is_a_laplace_variable_on_the_mean_level():
    design = Cells(1).design(problem_of())
    assert design.noise.components == 1
    assert np.array_equal(design.measurement.matrix, np.ones((1, 25), dtype=np.int64))


# Published.


CURVES = np.sin(4 * GRID) + np.linspace(-0.4, 0.4, 200)[:, None]


def test_a_large_budget_gives_the_mean_of_the_clipped_curves():
    bounds = (-0.8, 1.1)
    for basis in (None, CosineBasis.on_grid(25, GRID)):
        made = {"grid_points": GRID, "basis": basis, "mechanism": "cells"}
        release = PrivateMean(1e8, bounds=bounds, **made).fit(CURVES).release_
        assert release.certificate.mechanism["cells"] == 25
        expected = np.clip(CURVES, *bounds).mean(axis=0)
        np.testing.assert_allclose(release(GRID), expected, rtol=0, atol=1e-3)


def test_a_release_reads_back_the_same_and_simulates_its_own_noise(tmp_path):
    mean = PrivateMean(1.0, bounds=(-2, 2), domain=Domain(GRID), basis=KERNEL, mechanism="cells")
    release = mean.fit(CURVES).release_
    again = ReleasedFunction.load(release.save(tmp_path / "cells.json"))
    assert again.noise == release.noise
    assert again.noisy_sum == release.noisy_sum
    assert np.array_equal(again.synthesis, release.synthesis)
    assert np.array_equal(again(GRID), release(GRID))
    assert np.array_equal(again.band().lower, release.band().lower)
    with pytest.raises(ValueError, match="read-only"):
        again.synthesis[0] = 1.0
    # By hand: noisy averages, then the public matrix.
    raw = np.array([float(v) for v in release.noisy_sum]) * 2.0**-release.exponent / 200
    np.testing.assert_allclose(release.coefficients, release.synthesis @ raw, rtol=1e-12, atol=1e-15)
    errors = noise_draws(release, np.random.default_rng(2), 60_000)
    power = release.noise.variances() * 4.0**-release.exponent / 200**2
    wanted = release.synthesis * power @ release.synthesis.T
    np.testing.assert_allclose(np.cov(errors.T), wanted, atol=0.03 * np.diag(wanted).max())


def test_the_band_covers_what_would_have_been_released_without_noise():
    mean = PrivateMean(1.0, bounds=(-2, 2), domain=Domain(GRID), basis=KERNEL, mechanism="cells")
    prepared = mean.prepare(CURVES)
    design = prepared.plan.public_design
    exact = np.array(prepared.total.with_noise([0] * design.components), dtype=float)
    unit = 2.0 ** -prepared.plan.problem(200).cube.exponent / 200
    shrunk = BASIS.evaluate(GRID) @ design.coefficients(exact * unit)
    hits = sum(mean.fit(CURVES).release_.band(0.9, points=GRID).contains(shrunk) for _ in range(120))
    # Binomial(120, 0.9) is below 87 with chance 3e-8 and above 119 with chance 4e-5.
    assert 87 <= hits <= 119


def test_simulated_releases_have_the_error_of_exact_ones():
    mean = PrivateMean(1.0, bounds=(-2, 2), domain=Domain(GRID), basis=KERNEL, mechanism="cells")
    simulated = np.asarray(simulate_releases(mean, CURVES, 20_000, seed=3))
    exact = np.array([mean.fit(CURVES).release_(GRID) for _ in range(400)])
    spread = simulated.std(axis=0)
    assert np.all(np.abs(exact.mean(axis=0) - simulated.mean(axis=0)) < 6 * spread / 20)
    # A standard deviation from 400 draws is off by a tenth less than once in 1e5.
    np.testing.assert_allclose(exact.std(axis=0), spread, rtol=0.2)
    plain = np.asarray(non_private_mean(mean, CURVES))
    np.testing.assert_allclose(plain, CURVES.mean(axis=0), atol=1e-6)


def test_a_private_number_of_units_goes_with_a_public_number_of_cells():
    made = {"bounds": (-2, 2), "grid_points": GRID, "basis": KERNEL, "neighbours": "add-remove"}
    release = PrivateMean(1e7, mechanism=Cells(25), **made).fit(CURVES).release_
    np.testing.assert_allclose(release(GRID), CURVES.mean(axis=0), rtol=0, atol=0.01)
    assert release.count == pytest.approx(200, abs=1)
    # "auto" would choose their number by the count, after the sum is made: it does without.
    assert PrivateMean(1.0, **made).fit(CURVES).release_.certificate.mechanism["name"] != "cells"
    public = PrivateMean(1.0, public_size=200, **made).fit(CURVES).release_
    assert public.certificate.mechanism["name"] == "cells"


class ByCount:
    """A mechanism whose cells depend on the number of units."""

    name = "by-count"

    def design(self, problem):
        return Cells(2 if problem.size < 50 else 3).design(problem)


def test_noise_that_does_not_fit_the_sums_is_never_added_nor_charged(monkeypatch):
    """Cells for one unit, summed beforehand, are not those for the count that is released later."""
    drawn = []
    monkeypatch.setattr(BoxNoise, "draw", lambda law: drawn.append(law) or [0])
    ledger = MemoryLedger()
    ledger.create("data", PureDP(1000), neighbours="add-remove")
    kept = {"ledger": ledger.of("data")}
    mean = PrivateMean(100.0, bounds=(-2, 2), neighbours="add-remove", mechanism=ByCount(), **kept)
    with pytest.raises(ParameterError, match="measure the same sums whatever the number of units"):
        mean.fit(CURVES)
    assert not drawn
    assert not [row for row in ledger.history("data") if row.action == "charge"]


class Picky:
    """A mechanism that fails for numbers of units that it does not expect."""

    name = "picky"

    def design(self, problem):
        if 190 < problem.size < 210:
            raise RuntimeError("An unlucky number.")
        return KNorm().design(problem)


def test_a_mechanism_that_fails_for_the_released_count_has_its_design_for_one_unit():
    mean = PrivateMean(
        100.0, bounds=(-2, 2), unit=PrivacyUnit(neighbours="add-remove"), mechanism=Picky()
    )
    release = mean.fit(CURVES).release_
    assert 199 < release.count < 201
    assert release.noise == mean.prepare(CURVES).plan.trial.noise


# Audit.


def audit_of_cells(cut):
    mean = PrivateMean(1.0, bounds=(-1, 1), domain=Domain(GRID), basis=KERNEL, mechanism=Cells(3))
    # The most that one record can do: from one end of the bounds to the other, everywhere.
    prepared = [mean.prepare(np.vstack([np.zeros((2, 25)), np.full(25, v)])) for v in (-7.0, 7.0)]
    noise = prepared[0].plan.public_design.noise
    sums = [np.array(each.total.with_noise([0] * 3), dtype=float) for each in prepared]
    noise = BoxNoise(tuple(round(scale / cut) for scale in noise.scales))
    return Audit(sums, noise, 1.0)


def test_an_audit_keeps_to_the_claim_and_breaks_it_where_the_noise_is_cut():
    assert audit_of_cells(1.0).bound(4000) <= 1.0
    assert audit_of_cells(math.sqrt(2)).bound(8000) > 1.0


# The experiment that sets cells beside the projected cube.


def test_the_sampled_projected_cube_is_the_box_where_functions_are_cells():
    halves = np.kron(np.eye(2), np.full((6, 1), 1 / 12))
    low, high = bodies.chord(halves.T, np.array([0.1, -0.2]), np.array([0.5, 0.0]))
    assert (low, high) == pytest.approx((-1.2, 0.8))
    moments = bodies.projected_cube(halves, 600, np.random.default_rng(6))
    # Uniform on |z_j| <= 1/2; a chain of 600 points is about as good as 200 independent ones.
    np.testing.assert_allclose(moments, np.eye(2) / 12, atol=6 * 0.075 / math.sqrt(200))


def test_the_risk_of_the_experiment_is_that_of_the_library():
    problem = problem_of(bound=ValueBounds(-1.0, 1.0))
    row = bodies.error_row(BASIS, SIZE, {2: np.eye(2) / 12})
    design = choose(problem, "knorm")
    error = expected_error(problem, design, BASIS).total / (problem.ball.radius * problem.ball.step) ** 2
    assert row["M of l2 block"] == design.components
    assert row["l2 block"] == pytest.approx(error, rel=1e-6)
    assert row["cells"] == pytest.approx(sum(measured_error(problem, Cells().design(problem))), rel=0.01)


# Real curves.


def test_electricity_is_published_with_less_error_than_by_the_block(electricity):
    """508 days, bounds that are public knowledge, epsilon = 1: measured .79 and .80 of the block's."""
    truth = electricity.mean(axis=0)
    for kernel, most in (("matern:50%:1.5", 0.85), ("matern:10%:1.5", 0.95)):
        errors = {}
        for name in ("cells", "knorm"):
            mean = PrivateMean(1.0, bounds=(0, 3000), basis=kernel, mechanism=name)
            releases = np.asarray(simulate_releases(mean, electricity, 2000, seed=4))
            errors[name] = math.sqrt(np.mean((releases - truth) ** 2))
        assert errors["cells"] < most * errors["knorm"]


def test_a_sum_over_cells_is_the_sum_of_the_records_integers():
    request = MeanPlan.of(BASIS, BOUND, PureDP(1), Neighbours.REPLACE_ONE, Cells(4), 3, "record", {})
    matrix = request.grid_matrix(request.on_grid)
    assert np.array_equal(matrix, request.public_design.measurement.matrix)
    vector = [2**70 + k for k in range(25)]
    assert exact_product(matrix, vector) == [
        sum(v for v, inside in zip(vector, row, strict=True) if inside) for row in matrix
    ]
