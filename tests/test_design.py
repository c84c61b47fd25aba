"""Design: expected errors against simulation, the best block by brute force, more budget never hurts."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, Matern

from dpfda import PrivateMean
from dpfda.bases import Basis, CosineBasis, KernelBasis
from dpfda.bases.kernels import default_kernel
from dpfda.bases.priors import Prior
from dpfda.bounds import L1Ball, L2Ball, ValueBounds
from dpfda.mechanisms import Problem, mechanisms
from dpfda.mechanisms.design import (
    ExpectedError,
    choose,
    expected_error,
    least_error,
    least_error_of_any,
)
from dpfda.mechanisms.design.choice import typical_error
from dpfda.mechanisms.design.limits import distortion, least_share_of_box, told_at_most
from dpfda.mechanisms.gaussian import Gaussian, GaussianProcess
from dpfda.mechanisms.iclp import ICLP
from dpfda.mechanisms.knorm import KNorm, best_block
from dpfda.mechanisms.laplace import Laplace
from dpfda.mechanisms.protocol import rkhs_shrinkage, smoothing_exponent, wiener
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.testing import released_coefficients
from dpfda.testing.contracts import make_problem
from planned import Planned, make_plan

GRID = np.linspace(0.0, 1.0, 40)
BASES: dict[str, Basis] = {
    "matern": KernelBasis.on_grid(Matern(0.1, nu=1.5), GRID),
    "rbf": KernelBasis.on_grid(RBF(0.2), GRID),
    "cosine": CosineBasis.on_grid(30, GRID),
}
PURE = ["knorm", "laplace", "iclp"]


def problem(
    basis: str = "matern",
    bound: Any = None,
    size: int = 500,
    guarantee: Any = None,
    relation: str = "replace-one",
) -> Problem:
    return make_problem(
        BASES[basis], bound or L2Ball(2.0), size, guarantee or PureDP(1), Neighbours.parse(relation)
    )


def error(
    mechanism: Any = "auto",
    basis: str = "matern",
    bound: Any = None,
    size: int = 500,
    guarantee: Any = None,
    relation: str = "replace-one",
) -> ExpectedError:
    """Expected error, reached as a user does."""
    made = make_plan(
        BASES[basis],
        bound or L2Ball(2.0),
        size,
        guarantee or PureDP(1),
        Neighbours.parse(relation),
        mechanism,
    )
    return made.error


CASES = [
    (name, bound, guarantee)
    for name, guarantee in [
        *((name, PureDP(1)) for name in PURE),
        (KNorm(block_sizes=(1, 2, 4, 8)), PureDP(1)),
        (Laplace(components=8, matched=False, shrink=False), PureDP(1)),
        ("gaussian", ApproximateDP(1, 1e-6)),
        ("gaussian-process", ApproximateDP(1, 1e-6)),
        ("gaussian", ZeroConcentratedDP("0.1")),
        ("laplace", ZeroConcentratedDP("0.1")),
    ]
    for bound in (L2Ball(2.0), L1Ball(2.0), ValueBounds(-1.0, 3.0))
]


class TestExpectedError:
    @pytest.mark.parametrize("basis", BASES)
    @pytest.mark.parametrize(("mechanism", "bound", "guarantee"), CASES)
    def test_against_simulation(self, basis: str, mechanism: Any, bound: Any, guarantee: Any) -> None:
        # Means are drawn from the stated prior, noise from the stated law, and the released
        # coefficients compared with the means, in the units of the data.
        p = problem(basis, bound, 500, guarantee)
        design = choose(p, mechanism)
        stated = error(mechanism, basis, bound, 500, guarantee)
        random = np.random.default_rng(7)
        draws, kept = 8000, design.components
        radius = p.ball.radius * p.ball.step
        means = random.standard_normal((draws, p.prior.size)) * np.sqrt(p.prior) * radius
        noise = design.noise.simulate(random, draws) * p.ball.step / p.size
        released = np.zeros_like(means)
        released[:, :kept] = design.shrinkage * (means[:, :kept] + noise)
        total = np.mean(np.sum((released - means) ** 2, axis=1))
        assert math.isclose(stated.total, total, rel_tol=0.05)
        shrunk = np.zeros_like(means)
        shrunk[:, :kept] = design.shrinkage * means[:, :kept]
        bias = np.mean(np.sum((shrunk - means) ** 2, axis=1))
        assert math.isclose(stated.bias, bias, rel_tol=0.05)
        spread = np.mean(np.sum((design.shrinkage * noise) ** 2, axis=1))
        assert math.isclose(stated.noise, spread, rel_tol=0.05)
        assert stated.total == stated.bias + stated.noise

    def test_the_prior_fills_the_bound(self) -> None:
        # l2: E|mu|^2 = tau^2. l1: the sum of the root mean squares is tau.
        assert math.isclose(problem(bound=L2Ball(3.0)).prior.sum(), 1.0)
        assert math.isclose(np.sqrt(problem(bound=L1Ball(3.0)).prior).sum(), 1.0)
        p = problem(bound=L1Ball(3.0))
        np.testing.assert_allclose(p.prior / p.prior[0], p.eigenvalues / p.eigenvalues[0], rtol=1e-12)

    def test_sampling_error_is_bounded_by_that_of_the_ball(self) -> None:
        # n records in a ball of radius 2 around their mean: variance of the mean at most 4 / n.
        assert math.isclose(error(size=100).sampling, 4.0 / 100, rel_tol=1e-6)

    def test_it_scales_with_the_units_of_the_data(self) -> None:
        small, large = error(), error(bound=L2Ball(20.0))
        assert math.isclose(large.total, 100 * small.total, rel_tol=1e-6)

    @pytest.mark.parametrize("mechanism", PURE)
    def test_pure_noise_power_has_its_closed_form(self, mechanism: str) -> None:
        p = problem()
        design = choose(p, mechanism)
        scales = np.array(design.noise.scales, dtype=float) * p.ball.step / p.size
        sizes = np.array(design.noise.block_sizes)
        # E|c R U|^2 = c^2 M (M + 1); with factors inside, the coefficients share it equally.
        per_coefficient = np.repeat(scales**2 * (sizes + 1), sizes)
        expected = np.sum(design.shrinkage**2 * per_coefficient)
        assert math.isclose(error(mechanism).noise, expected, rel_tol=1e-12)
        loss = 2 * 2.0 / p.size * np.sqrt(np.sum(1 / scales**2))
        assert math.isclose(loss, 1.0, rel_tol=1e-6)

    @pytest.mark.parametrize("bound", [L2Ball(2.0), L1Ball(2.0)])
    def test_iclp_noise_is_shaped_like_the_kernel(self, bound: Any) -> None:
        # After shrinkage the noise of component j has the scale Delta sqrt(lambda_j) / epsilon.
        p = problem(bound=bound, guarantee=PureDP(2))
        design = choose(p, ICLP(eta=1.25, penalty=0.01))
        scales = np.array(design.noise.scales, dtype=float) * p.ball.step / p.size * design.shrinkage
        slopes = p.eigenvalues**0.75 / (p.eigenvalues**1.25 + 0.01)
        norm = np.max(slopes) if bound.norm == "l1" else np.sqrt(np.sum(slopes**2))
        expected = 2 * 2.0 / 500 * norm / 2 * np.sqrt(p.eigenvalues)
        np.testing.assert_allclose(scales, expected, rtol=1e-6)


class TestBestBlock:
    @pytest.mark.parametrize("basis", BASES)
    @pytest.mark.parametrize("bound", [L2Ball(2.0), L1Ball(2.0)])
    @pytest.mark.parametrize(("size", "epsilon"), [(20, 0.1), (100, 1), (500, 1), (5000, 1), (500, 10)])
    def test_it_is_the_best_by_brute_force(
        self, basis: str, bound: Any, size: int, epsilon: Any
    ) -> None:
        p = problem(basis, bound, size, PureDP(epsilon))
        errors = [
            error(KNorm(block_sizes=block), basis, bound, size, PureDP(epsilon)).total
            for block in range(1, p.prior.size + 1)
        ]
        assert best_block(p) == 1 + int(np.argmin(errors))
        assert choose(p, "knorm").components == best_block(p)

    def test_more_records_open_more_coefficients(self) -> None:
        blocks = [best_block(problem(size=size)) for size in (10, 100, 1000, 10_000)]
        assert blocks == sorted(blocks)
        assert blocks[0] < blocks[-1]


class TestAuto:
    @pytest.mark.parametrize("basis", BASES)
    @pytest.mark.parametrize("bound", [L2Ball(2.0), L1Ball(2.0), ValueBounds(0.0, 4.0)])
    @pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
    @pytest.mark.parametrize(("size", "epsilon"), [(20, "0.1"), (500, 1), (20_000, 2)])
    def test_never_worse_than_a_candidate(
        self, basis: str, bound: Any, relation: str, size: int, epsilon: Any
    ) -> None:
        setting = (basis, bound, size, PureDP(epsilon), relation)
        p = problem(*setting)
        chosen = choose(p)
        for name in PURE:
            assert typical_error(p, chosen) <= typical_error(p, choose(p, name)) * (1 + 1e-9), name

    @pytest.mark.parametrize("basis", BASES)
    @pytest.mark.parametrize("bound", [L2Ball(2.0), L1Ball(2.0)])
    def test_nor_under_an_approximate_guarantee(self, basis: str, bound: Any) -> None:
        setting = (basis, bound, 500, ApproximateDP(1, 1e-6))
        p = problem(*setting)
        chosen = typical_error(p, choose(p))
        for rival in (Gaussian(), Gaussian("classical"), GaussianProcess()):
            assert chosen <= typical_error(p, choose(p, rival)) * (1 + 1e-9), rival
        # A pure release of the same epsilon would do as well.
        pure = problem(basis, bound, 500, PureDP(1))
        assert chosen <= typical_error(pure, choose(pure)) * (1 + 1e-9)

    @pytest.mark.parametrize(("size", "epsilon"), [(20, "0.1"), (500, 1), (20_000, 2)])
    def test_not_to_know_the_scale_costs_little(self, size: int, epsilon: Any) -> None:
        # A mean that is as large and rough as declared: a linear estimate that knows so is the best.
        for bound in (L2Ball(2.0), ValueBounds(0.0, 4.0)):
            knowing = error("knorm", bound=bound, size=size, guarantee=PureDP(epsilon)).total
            assert error("auto", bound=bound, size=size, guarantee=PureDP(epsilon)).total < 1.1 * knowing

    @pytest.mark.parametrize("mechanism", ["auto", *PURE])
    @pytest.mark.parametrize("bound", [L2Ball(2.0), L1Ball(2.0)])
    def test_more_budget_never_hurts(self, mechanism: str, bound: Any) -> None:
        budgets = [2.0**k for k in range(-5, 8)]
        problems = [problem(bound=bound, guarantee=PureDP(e)) for e in budgets]
        errors = [typical_error(p, choose(p, mechanism)) for p in problems]
        assert (np.diff(errors) <= 1e-9 * np.array(errors[:-1])).all()

    def test_nor_does_more_epsilon_or_delta_under_gaussian_noise(self) -> None:
        for guarantees in (
            [ApproximateDP(2.0**k, 1e-6) for k in range(-4, 6)],
            [ApproximateDP(1, 10.0**-k) for k in range(12, 1, -1)],
            [ZeroConcentratedDP(2.0**k) for k in range(-8, 4)],
        ):
            problems = [problem(guarantee=guarantee) for guarantee in guarantees]
            errors = [typical_error(p, choose(p)) for p in problems]
            assert (np.diff(errors) <= 0).all()
            assert errors[-1] < errors[0]

    @pytest.mark.parametrize("mechanism", ["auto", *PURE])
    def test_nor_do_more_records(self, mechanism: str) -> None:
        sizes = [10, 30, 100, 300, 1000, 3000]
        errors = [error(mechanism, size=size).total for size in sizes]
        assert (np.diff(errors) < 0).all()

    def test_add_remove_needs_half_the_noise(self) -> None:
        ratio = [
            float(np.sum(choose(p, KNorm(block_sizes=5)).noise.variances()))
            for p in (problem(), problem(relation="add-remove"))
        ]
        assert math.isclose(ratio[0], 4 * ratio[1], rel_tol=1e-6)

    def test_matched_noise_is_never_above_iclp_on_the_l1_ball(self) -> None:
        # Same estimate, same epsilon, less noise in every component.
        p = problem(bound=L1Ball(2.0))
        matched = np.array(choose(p, "laplace").noise.scales, dtype=float)
        kernel_shaped = np.array(choose(p, "iclp").noise.scales, dtype=float)
        assert (matched <= kernel_shaped).all()


class TestShrinkage:
    def test_wiener_factors_are_the_best(self) -> None:
        prior, power = np.array([1.0, 0.1, 1e-3]), np.array([0.1, 0.1, 0.1])
        best = wiener(prior, power)

        def risk(s: np.ndarray) -> np.ndarray:
            return (1 - s) ** 2 * prior + s**2 * power

        for change in (-0.01, 0.01):
            assert (risk(best + change) > risk(best)).all()

    def test_rkhs_factors_minimise_the_penalised_distance(self) -> None:
        eigenvalues, eta, penalty, x = np.array([0.7, 0.2, 0.1]), 1.25, 0.03, np.array([1.0, -2.0, 0.5])

        def objective(theta: np.ndarray) -> float:
            return float(np.sum((x - theta) ** 2) + penalty * np.sum(theta**2 / eigenvalues**eta))

        best = rkhs_shrinkage(eigenvalues, eta, penalty) * x
        for direction in np.vstack([np.eye(3), -np.eye(3)]):
            assert objective(best + 1e-4 * direction) > objective(best)

    def test_plug_in_rules(self) -> None:
        # Theorem 13: eta = 1 + 1 / (2 nu), 2 nu = 4 for Matern 3/2 on the line.
        assert smoothing_exponent(4.0, 9.0) == 1.25
        assert smoothing_exponent(6.0, 9.0) == 1 + 1 / 6
        assert smoothing_exponent(math.inf, 9.0) == 1.0
        assert smoothing_exponent(None, 9.0) == 9.0
        assert choose(problem(size=400, guarantee=PureDP(2)), "iclp").parameters["penalty"] == 1 / 1600
        l1 = choose(problem(bound=L1Ball(2.0), size=400, guarantee=PureDP(2)), "iclp").parameters
        assert l1["eta"] == 1.25
        assert math.isclose(l1["penalty"], 1600**-1.25, rel_tol=1e-12)


class TestPlan:
    def test_from_public_numbers_alone(self) -> None:
        plan = make_plan(BASES["matern"], ValueBounds(0.0, 1.0), 382, PureDP(1))
        assert math.isclose(plan.typical_error, math.sqrt(plan.error.total), rel_tol=1e-12)
        assert math.isclose(plan.problem.ball.radius * plan.problem.ball.step, 0.5, rel_tol=1e-6)

    def test_a_typical_error_is_per_point_of_the_domain(self) -> None:
        day = KernelBasis.on_grid(Matern(2.4, nu=1.5), 24 * GRID)
        plans = [make_plan(b, ValueBounds(0.0, 1.0), 382, PureDP(1)) for b in (BASES["matern"], day)]
        assert math.isclose(plans[0].typical_error, plans[1].typical_error, rel_tol=1e-6)

    def test_every_mechanism_has_a_name(self) -> None:
        for name, kind in mechanisms().items():
            assert kind.name == name


class TestLimit:
    """The lower bound for pure mechanisms: against an independent optimiser, and against designs."""

    @staticmethod
    def problem(epsilon, bound=None, size=500):
        grid = np.linspace(0, 1, 40)
        basis = KernelBasis.on_grid(Matern(0.1, nu=1.5), grid)
        return make_problem(basis, bound or L2Ball(1.0), size, PureDP(epsilon)), basis

    @pytest.mark.parametrize("epsilon", ["1/8", "1", "4", "100"])
    def test_water_filling_is_the_best_division_of_the_information(self, epsilon):
        problem, _ = self.problem(Fraction(epsilon))
        prior = problem.prior
        information = (float(Fraction(epsilon)) * 500 / 2) ** 2
        # An independent way: bisection on the level at which all information is spent.
        low, high = 0.0, float(prior[0])
        for _ in range(200):
            level = (low + high) / 2
            spent = np.sum(np.maximum(1 / level - 1 / prior, 0.0))
            low, high = (level, high) if spent > information else (low, level)
        assert least_error(problem) == pytest.approx(np.minimum(prior, high).sum(), rel=1e-6)

    @pytest.mark.parametrize("epsilon", ["1/8", "1/4", "1/2", "1", "2", "4"])
    def test_one_block_is_within_nine_per_cent_of_it_on_the_l2_ball(self, epsilon):
        problem, basis = self.problem(Fraction(epsilon))
        expected = expected_error(problem, choose(problem, "knorm"), basis).total
        limit = least_error(problem)
        assert limit < expected < 1.09 * limit
        # The default does not take the prior at its word.
        assert limit < expected_error(problem, choose(problem), basis).total < 1.2 * limit

    @pytest.mark.parametrize("epsilon", ["1/8", "1", "4"])
    def test_nothing_falls_below_it(self, epsilon):
        for bound in (L2Ball(2.5), L1Ball(4.0)):
            problem, basis = self.problem(Fraction(epsilon), bound)
            for name in ("knorm", "laplace", "iid-laplace", "iclp", "student-t"):
                total = expected_error(problem, choose(problem, name), basis).total
                assert total > least_error(problem)

    def test_the_zero_concentrated_limit_is_the_gaussian_closed_form(self):
        # Equal Gaussian noise with Wiener shrinkage attains it: sum_j p v / (p + v), v = a^2 / (2 rho).
        for rho in (Fraction(1, 100), Fraction(1, 2)):
            problem, basis = self.problem(1)
            problem = replace(problem, guarantee=ZeroConcentratedDP(rho))
            power = (2 / 500) ** 2 / (2 * float(rho))
            closed = float(np.sum(problem.prior * power / (problem.prior + power)))
            assert least_error(problem) == pytest.approx(closed, rel=1e-6)
            gaussian = expected_error(problem, choose(problem, "gaussian"), basis).total
            assert gaussian == pytest.approx(closed, rel=1e-6)

    def test_nor_under_other_guarantees(self):
        guarantees = [
            ApproximateDP(1, 1e-6),
            ApproximateDP(4, 1e-3),
            *map(ZeroConcentratedDP, (1, 0.01)),
        ]
        for bound in (L2Ball(2.5), L1Ball(4.0)):
            for guarantee in guarantees:
                problem, basis = self.problem(1, bound)
                problem = replace(problem, guarantee=guarantee)
                limit, lowest = least_error(problem), least_error_of_any(problem)
                for name in ("gaussian", "gaussian-process", "knorm"):
                    total = expected_error(problem, choose(problem, name), basis).total
                    assert lowest < total
                    if isinstance(guarantee, ApproximateDP):
                        assert limit is None
                    else:
                        # Integer scales exceed their targets by rounding alone.
                        assert limit <= total * (1 + 1e-6), (name, guarantee)

    def test_it_is_none_where_coefficients_are_bounded_one_by_one(self):
        problem, _ = self.problem(1)
        box = replace(problem, ball=replace(problem.ball, norm="linf"))
        assert least_error(box) is None
        assert least_error_of_any(box) is None

    def test_bounds_on_values_lower_it(self):
        # Averages over cells fall below what holds for the ball around the bounds.
        problem, basis = self.problem(1, ValueBounds(-1.0, 1.0))
        total = expected_error(problem, choose(problem), basis).total
        assert least_error(problem) < total < least_error(replace(problem, cube=None))

    @settings(max_examples=30, deadline=None)
    @given(
        st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=6),
        st.lists(st.floats(1e-6, 1.0), min_size=6, max_size=6),
        st.floats(0.05, 50.0),
    )
    def test_a_mixture_divides_the_information_once(self, first, second, epsilon):
        # The dual is compared with divisions of the information: none of them may fall below it, and
        # the best that a general optimiser finds is near.
        problem, _ = self.problem(Fraction(epsilon))
        shapes = np.array([first, second[: len(first)]])
        information = (epsilon * 500 / 2) ** 2
        found = least_error(replace(problem, mixture=Prior.of(shapes)))

        def risk(logits):
            parts = information * softmax(logits)
            return float(np.mean(np.sum(shapes / (1 + shapes * parts), axis=1)))

        best = minimize(lambda x: math.log(risk(x)), np.zeros(len(first)), method="Nelder-Mead").fun
        assert found <= math.exp(best) * (1 + 1e-6)
        assert found >= math.exp(best) * 0.9

    def test_without_information_nothing_is_learnt(self):
        # As the budget vanishes the bounds tend to the prior variance, or to what a coin would tell.
        for guarantee in (PureDP("1e-9"), ZeroConcentratedDP("1e-18"), ApproximateDP("1e-9", "1e-12")):
            problem, _ = self.problem(1)
            problem = replace(problem, guarantee=guarantee)
            if not isinstance(guarantee, ApproximateDP):
                assert least_error(problem) == pytest.approx(1.0, rel=1e-3)
            assert 0.5 < least_error_of_any(problem) <= 1.0 + 1e-8

    def test_ziv_zakai_against_quadrature(self):
        # Pure, one coefficient: the integral over h of 2 h Phi(-h / (2 p^(1/2))) / (1 + e^(k epsilon)).
        problem, _ = self.problem(Fraction(1, 2))
        step, p = 2 / 500, 1e-4
        nodes = np.linspace(0, 12 * math.sqrt(p), 2_000_001)[1:]
        chances = 1 / (1 + np.exp(0.5 * np.ceil(nodes / step)))
        terms = 2 * nodes * norm.cdf(-nodes / (2 * math.sqrt(p))) * chances
        integral = float(np.sum(terms)) * nodes[0]
        problem = replace(problem, mixture=Prior.of([[p]]))
        assert least_error_of_any(problem) == pytest.approx(integral, rel=1e-3)

    # What any pure mechanism must leave, in units of the prior: a simulation of the exact information
    # E -log E exp(-|c - c'| epsilon n / 2), integrated over a mixture of normal laws (400 draws).
    @pytest.mark.parametrize(
        ("size", "epsilon", "simulated"),
        [(508, "1/8", 0.0412), (508, "1", 0.00343), (508, "4", 0.000596), (5000, "1", 0.000177)],
    )
    def test_the_limit_for_all_pure_mechanisms_keeps_the_dimension(self, size, epsilon, simulated):
        grid = np.linspace(0, 1, 100)
        basis = KernelBasis.on_grid(Matern(0.1, nu=1.5), grid)
        problem = make_problem(basis, L2Ball(1.0), size, PureDP(epsilon))
        prior = Prior.of([basis.eigenvalues / basis.eigenvalues.sum()])
        limit = least_error_of_any(replace(problem, mixture=prior))
        # The closed form gives away little; a distance between neighbours over root 2 would be 1.2 off.
        assert 0.97 * simulated < limit < 1.01 * simulated
        achieved = expected_error(problem, choose(problem, "knorm"), basis).total
        assert 2.5 < achieved / limit < 6

    def test_what_an_output_tells_of_one_number(self):
        # Laplace noise on c ~ N(0, p): the mutual information by quadrature lies below the bound.
        p, step = 1.0, 0.25
        problem = make_problem(BASES["matern"], L1Ball(1.0), 8, PureDP(1))
        nodes = np.linspace(-9, 9, 3601)
        width = nodes[1] - nodes[0]
        density = np.exp(-np.abs(nodes) / step) / (2 * step)
        seen = np.convolve(norm.pdf(nodes), density, mode="same") * width
        entropy = -float(np.sum(seen * np.log(seen)) * width)
        information = entropy - (1 + math.log(2 * step))
        found = told_at_most(np.array([p]), step, problem)
        assert information < found < information + 2.1
        # It falls with the budget, to nothing.
        weak = told_at_most(np.array([p]), step, replace(problem, guarantee=PureDP("1/1000")))
        assert weak < 0.01

    @pytest.mark.parametrize("rate", [0.0, 0.3, 4.0, 60.0])
    def test_what_is_left_of_normal_numbers(self, rate):
        # Of equal ones p exp(-2 R / K) each; of one that is much smaller, itself.
        assert distortion(np.full(5, 0.7), rate) == pytest.approx(3.5 * math.exp(-2 * rate / 5))
        both = distortion(np.array([1.0, 1e-60]), rate)
        assert both == pytest.approx(math.exp(-2 * rate))


class TestMixture:
    """Without a kernel the prior is the public mixture."""

    basis = KernelBasis.on_grid(default_kernel((0.0, 1.0)), GRID)

    def plan(self, bound: Any = None, guarantee: Any = None, size: int = 400) -> Planned:
        return make_plan(self.basis, bound or L2Ball(1.0), size, guarantee or PureDP(1))

    def test_a_named_kernel_is_taken_at_its_word(self) -> None:
        assert problem().mixture is None
        assert self.plan().problem.mixture is not None

    @pytest.mark.parametrize("guarantee", [PureDP(1), PureDP("1/8"), ZeroConcentratedDP("1/2")])
    @pytest.mark.parametrize("bound", [L2Ball(1.0), L2Ball(3.0)])
    def test_expected_errors_are_those_of_simulated_releases(self, bound: Any, guarantee: Any) -> None:
        # Means drawn from the stated prior, noise from the stated law, in the units of the data. An
        # estimate that knows shape and scale, and whose risk is exact, takes out most of the chance.
        plan = self.plan(bound, guarantee)
        p, design = plan.problem, plan.design
        random, draws = np.random.default_rng(11), 2520
        radius, unit = p.ball.radius * p.ball.step, math.ldexp(1.0, -design.exponent(p)) / p.size
        variances = p.belief.variances * radius**2
        rows = np.resize(np.arange(len(variances)), draws)
        means = random.standard_normal((draws, p.prior.size)) * np.sqrt(variances[rows])
        forms = np.eye(p.prior.size)[: design.components]
        if design.hierarchy.forms is not None:
            forms = design.hierarchy.forms
        noisy = means @ forms.T + design.noise.simulate(random, draws) * unit
        released = np.zeros_like(means)
        released[:, : design.functions] = released_coefficients(design, noisy, unit)
        power, known = design.noise.variances() * unit**2, []
        gaps = np.sum((released - means) ** 2, axis=1)
        for row, spread in enumerate(variances):
            crossed = forms * spread
            gain = np.linalg.solve(crossed @ forms.T + np.diag(power), crossed)
            chosen = rows == row
            gaps[chosen] -= np.sum((noisy[chosen] @ gain - means[chosen]) ** 2, axis=1)
            known.append(spread.sum() - np.sum(gain * crossed))
        assert plan.error.total == pytest.approx(gaps.mean() + np.mean(known), rel=0.03)

    @pytest.mark.parametrize("guarantee", [PureDP(1), PureDP(4), ZeroConcentratedDP("1/2")])
    def test_the_limit_is_below(self, guarantee: Any) -> None:
        plan = self.plan(guarantee=guarantee)
        assert plan.typical_limit_of_any < plan.typical_limit < plan.typical_error

    def test_under_a_delta_none_is_stated_but_that_for_all_mechanisms(self) -> None:
        plan = self.plan(guarantee=ApproximateDP(1, 1e-6))
        assert plan.typical_limit is None
        assert plan.typical_limit_of_any < plan.typical_error

    @pytest.mark.parametrize("delta", ["1e-6", "1e-3"])
    def test_under_a_delta_the_block_calibrated_to_it_is_chosen(self, delta: str) -> None:
        plan = self.plan(guarantee=ApproximateDP(1, delta))
        others = [
            typical_error(plan.problem, choose(plan.problem, "gaussian")),
            typical_error(plan.problem, choose(replace(plan.problem, guarantee=PureDP(1)))),
        ]
        assert plan.design.mechanism == "knorm"
        assert 1.01 * typical_error(plan.problem, plan.design) < min(others)

    def test_delta_is_not_spent_for_less_than_a_hundredth(self) -> None:
        # Few units: few coefficients are worth their noise, and a small block gains hardly anything.
        problem = self.plan(size=3, guarantee=ApproximateDP("1/10", "1e-9")).problem
        chosen, block = choose(problem), choose(problem, "knorm")
        pure = choose(replace(problem, guarantee=PureDP("1/10")))
        assert typical_error(problem, block) <= typical_error(problem, pure)
        assert chosen.noise == pure.noise

    def test_more_records_and_more_budget_help(self) -> None:
        by_size = [self.plan(size=size).typical_error for size in (50, 400, 3200)]
        by_budget = [self.plan(guarantee=PureDP(e)).typical_error for e in ("1/4", 1, 4)]
        for errors in (by_size, by_budget):
            assert (np.diff(errors) < 0).all()

    def test_small_means_are_expected_to_be_released_better(self) -> None:
        # Wide bounds on values, and a mean that may be small beside them.
        wide = make_plan(BASES["matern"], ValueBounds(0.0, 1.0), 500, PureDP(1)).typical_error
        assert self.plan(ValueBounds(0.0, 1.0), size=500).typical_error < 0.7 * wide

    def test_the_block_has_the_least_noise_and_rest(self) -> None:
        # Noise of scale 2 / (n epsilon) on M functions has M + 1 times its square on each.
        for size in (60, 400, 3000, 10**6):
            sizes = np.arange(2, self.plan().problem.prior.size + 1)
            errors = (2 / size) ** 2 * sizes * (sizes + 1) + 0.42 / (sizes - 1) ** 2
            errors[-1] -= 0.42 / (sizes[-1] - 1) ** 2
            assert self.plan(size=size).design.components == sizes[np.argmin(errors)]

    def test_under_a_delta_the_block_is_the_best_by_brute_force(self) -> None:
        p = self.plan(guarantee=ApproximateDP(1, 1e-6)).problem
        errors = [typical_error(p, choose(p, KNorm(block_sizes=m))) for m in range(1, 37)]
        assert choose(p).components == 1 + int(np.argmin(errors))


def test_the_volume_that_outputs_leave_possible_is_a_limit_for_boxes() -> None:
    # One cell: an interval of half-length b exp(-epsilon), of variance a third of its square.
    assert least_share_of_box(np.array([3.0]), 2.0) == pytest.approx(math.exp(-4) / 6)
    found = [least_share_of_box(np.full(cells, 7.0), 1.0) for cells in (4, 12, 100)]
    assert np.round(found, 2).tolist() == [0.09, 0.11, 0.1]
    # What is said of sides that differ is of their sum of squares.
    assert least_share_of_box(np.array([1.0, 2.0]), 1.0) == pytest.approx(
        0.8 * least_share_of_box(np.ones(2), 1.0)
    )
    mean = PrivateMean(1, bounds=(0, 1))
    cells = mean.plan(700).planned.components
    assert mean.plan(700).limit_of_box() == pytest.approx(
        least_share_of_box(np.ones(cells), 1.0), rel=0.1
    )
    assert PrivateMean(1, bounds=L2Ball(1.0)).plan(700).limit_of_box() is None
