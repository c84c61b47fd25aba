"""What every mechanism must do, found by name: a new file in `mechanisms` is tested by being there."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dpfda import PrivateMean
from dpfda.bases import KernelBasis
from dpfda.bases.kernels import default_kernel
from dpfda.bounds import L1Ball, L2Ball, ValueBounds
from dpfda.mechanisms import mechanisms
from dpfda.mechanisms.iclp import ICLPL1
from dpfda.noise import KNormNoise
from dpfda.numerics.aggregate import soft_threshold
from dpfda.privacy.guarantees import Neighbours, PureDP, ZeroConcentratedDP, guarantee_for
from dpfda.publication import MeanPlan
from dpfda.testing import check_mechanism, exact_totals, simulate_releases

pytestmark = pytest.mark.usefixtures("few_draws")

BOUNDS = [ValueBounds(-1.0, 1.0), L2Ball(1.0), L1Ball(2.0)]
GUARANTEES = [
    PureDP(Fraction(1, 8)),
    PureDP(4),
    guarantee_for(1, "1e-5"),
    ZeroConcentratedDP(Fraction(1, 2)),
]
SIZE = 200


def request_of(name, bound, guarantee, neighbours):
    grid = np.linspace(0, 1, 24)
    basis = KernelBasis.on_grid(default_kernel((0.0, 1.0)), grid)
    return MeanPlan.of(basis, bound, guarantee, neighbours, name, SIZE, "record", {})


def test_all_are_known():
    assert {"knorm", "laplace", "iid-laplace", "iclp", "iclp-l1", "gaussian", "gaussian-process",
            "student-t", "multivariate-laplace", "bernstein"} <= set(mechanisms())  # fmt: skip


def is_dear(name, bound, guarantee, neighbours):
    """A law whose loss is integrated: in every run one bound under each relation."""
    relation = Neighbours.ADD_REMOVE if isinstance(bound, L2Ball) else Neighbours.REPLACE_ONE
    kept = not isinstance(bound, L1Ball) and neighbours == relation
    return name == "multivariate-laplace" and guarantee == GUARANTEES[2] and not kept


@pytest.mark.parametrize(
    ("name", "bound", "guarantee", "neighbours"),
    [
        pytest.param(
            *case,
            marks=[pytest.mark.thorough] * is_dear(*case),
            id="-".join([case[0], type(case[1]).__name__, str(case[2]), case[3].value]),
        )
        for case in product(mechanisms(), BOUNDS, GUARANTEES, list(Neighbours))
    ],
)
def test_a_design_spends_the_budget_and_no_more_or_is_refused(name, bound, guarantee, neighbours):
    # Scales too large by sqrt(2) would give well below 0.9 of the budget.
    check_mechanism(name, bound, guarantee, neighbours, size=SIZE)


@pytest.mark.parametrize("name", mechanisms())
def test_everyone_gives_pure_or_approximate_privacy(name):
    relation = Neighbours.REPLACE_ONE
    assert any(check_mechanism(name, BOUNDS[0], guarantee, relation) for guarantee in GUARANTEES[:3])


@pytest.mark.parametrize("bound", [L2Ball(1.0), L1Ball(2.0)])
def test_iclp_l1_thresholds_what_survives_and_drops_what_vanishes(bound):
    request = request_of(ICLPL1(eta=2.5, penalty=1e-3), bound, PureDP(1), Neighbours.REPLACE_ONE)
    problem, design = request.problem(SIZE), request.public_design
    levels = 1e-3 / (2 * problem.eigenvalues**1.25)
    largest = SIZE * problem.ball.radius
    kept = design.components
    # J is the last coefficient that some data set leaves standing.
    assert levels[kept - 1] < 1 <= levels[kept]
    assert all(soft_threshold(largest, level) > 0 for level in design.thresholds)
    assert np.array(design.thresholds) == pytest.approx(levels[:kept] * largest, rel=1e-6)
    scales = np.array(design.noise.scales, dtype=float)
    assert scales / scales[0] == pytest.approx(
        np.sqrt(problem.eigenvalues[:kept] / problem.eigenvalues[0])
    )


def test_soft_thresholding_moves_no_two_values_apart():
    values = [-9, -4, -3, 0, 1, 3, 4, 7, 100]
    for level in (0, 1, 3, 50):
        for a in values:
            for b in values:
                assert abs(soft_threshold(a, level) - soft_threshold(b, level)) <= abs(a - b)


def test_iclp_l1_releases_the_thresholded_mean():
    grid = np.linspace(0, 1, 30)
    curves = np.sin(6 * grid) + np.linspace(-0.1, 0.1, 500)[:, None]
    mean = PrivateMean(2000.0, bounds=L2Ball(1.0), mechanism=ICLPL1(penalty=1e-4))
    prepared = mean.prepare(curves)
    design = prepared.plan.public_design
    kept = [soft_threshold(total, level) for total, level in
            zip(exact_totals(prepared.total), design.thresholds, strict=True)]  # fmt: skip
    wanted = np.array(kept, dtype=float) * prepared.plan.ball.step / 500
    basis = prepared.plan.basis
    curve = basis.evaluate(grid)[:, : wanted.size] @ wanted
    releases = np.asarray(simulate_releases(mean, curves, 4000, seed=2))
    noise = releases.std(axis=0) / np.sqrt(4000)
    assert np.all(np.abs(releases.mean(axis=0) - curve) < 6 * noise)
    release = mean.fit(curves).release_
    deviations = np.sqrt(design.noise.variances()) * prepared.plan.ball.step / 500
    assert np.all(np.abs(release.coefficients - wanted) < 40 * deviations)


def test_iid_laplace_on_the_l2_ball_has_the_root_of_its_components():
    request = request_of("iid-laplace", L2Ball(1.0), PureDP(1), Neighbours.REPLACE_ONE)
    problem, noise = request.problem(SIZE), request.public_design.noise
    assert isinstance(noise, KNormNoise)
    count = noise.components
    assert set(noise.block_sizes) == {1}
    assert noise.scales[0] == pytest.approx(problem.width * np.sqrt(count), rel=1e-9)
    l1 = request_of("iid-laplace", L1Ball(1.0), PureDP(1), Neighbours.REPLACE_ONE)
    assert set(l1.public_design.noise.scales) == {l1.problem(SIZE).width}
