"""The exact profile of a K-norm block against its definition, by other ways than its formula."""

import math
import time
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp
from scipy import integrate, special

from dpfda.noise import cost_of, knorm_loss, knorm_noise
from dpfda.privacy.composition import Cost, compose
from dpfda.privacy.composition.block_profile import (
    block_delta,
    block_length,
    estimated_delta,
)
from dpfda.privacy.composition.losses import BlockLoss
from dpfda.privacy.guarantees import ApproximateDP, PureDP
from statistical import block_profile_reference

SETTINGS = [
    (2, 1, 0.3), (2, 6, 2), (5, 1.5, 1), (5, 0.05, 0.02),
    (20, 2, 1), (20, 12, 3), (50, 3, 1), (50, 30, 8),
]  # fmt: skip


def exact(*values):
    return [Fraction(value) for value in values]


def polar(dimension: int, length: float, epsilon: float) -> float:
    """E(1 - e^(epsilon - L))_+ over length R ~ Gamma(M) and cosine u of a point around the shift.

    Here the loss is |y + d| - |y|: the point y + d is seen from both centres.
    """
    beta = (dimension - 1) / 2

    def given(radius: float) -> float:
        def gain(u: float) -> float:
            loss = math.sqrt(radius**2 + 2 * radius * length * u + length**2) - radius
            density = (1 - u * u) ** (beta - 1) / special.beta(beta, 0.5)
            return max(-math.expm1(epsilon - loss), 0.0) * density

        # The loss grows with u and is epsilon at this cosine.
        start = ((epsilon + radius) ** 2 - radius**2 - length**2) / (2 * radius * length)
        if start >= 1:
            return 0.0
        angle = math.acos(max(start, -1.0))
        value, _ = integrate.quad(
            lambda a: gain(math.cos(a)) * math.sin(a), 0.0, angle, epsabs=1e-15, epsrel=1e-11
        )
        return value

    def weighted(radius: float) -> float:
        logs = (dimension - 1) * math.log(radius) - radius - math.lgamma(dimension)
        return math.exp(logs) * given(radius)

    middle, spread = dimension, 12 * math.sqrt(dimension)
    ends = [1e-12, max(middle - spread / 3, 0.5), middle + spread / 3, middle + 4 * spread]
    return sum(
        integrate.quad(weighted, a, b, epsabs=1e-14, epsrel=1e-9, limit=200)[0]
        for a, b in pairwise(ends)
    )


@pytest.mark.parametrize(("dimension", "length", "epsilon"), SETTINGS)
def test_it_is_the_definition_integrated_over_length_and_angle(dimension, length, epsilon):
    found = float(block_delta(dimension, *exact(length, epsilon)))
    assert found == pytest.approx(polar(dimension, length, epsilon), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("dimension", "length", "epsilon"), [(2, 2, 0.5), (5, 3, 1), (20, 6, 1)])
def test_draws_have_the_chances_that_it_says(dimension, length, epsilon):
    """P(L > e) - e^e P(-L > e) over simulated losses: within five standard errors, error rate 1e-6."""
    generator, draws = np.random.default_rng(dimension), 200_000
    directions = generator.standard_normal((draws, dimension))
    points = directions / np.linalg.norm(directions, axis=1)[:, None]
    points *= generator.gamma(dimension, size=(draws, 1))
    shifted = points.copy()
    shifted[:, 0] += length
    losses = np.linalg.norm(shifted, axis=1) - np.linalg.norm(points, axis=1)
    gains = (losses > epsilon) - np.exp(epsilon) * (-losses > epsilon)
    error = gains.std() / math.sqrt(draws)
    assert gains.mean() == pytest.approx(
        float(block_delta(dimension, *exact(length, epsilon))), abs=5 * error
    )
    # The tolerance tells it from the profile of a scale wrong by a factor 2^(1/2).
    wrong = float(block_delta(dimension, Fraction(length / math.sqrt(2)), Fraction(epsilon)))
    assert abs(gains.mean() - wrong) > 20 * error


@pytest.mark.parametrize(("length", "epsilon"), [(1, 0.25), (0.01, 0), (30, 29.5), (3, -1)])
def test_one_coordinate_is_laplace_noise(length, epsilon):
    with mp.workdps(40):
        e, r = mp.mpf(epsilon), mp.mpf(length)
        wanted = 1 - mp.exp(-(r - e) / 2)  # In (0, r) and also below 0, by the mirror image.
        if epsilon < 0:
            wanted = 1 - mp.exp(e) * (1 - (1 - mp.exp(-(r + e) / 2)))
        found = block_delta(1, *exact(length, epsilon))
        assert wanted <= mp.mpf(found.numerator) / found.denominator <= wanted * (1 + mp.mpf(10) ** -12)


@pytest.mark.parametrize(
    ("dimension", "length", "epsilon"),
    [(2, 0.01, 0.004), (3, 50, 20), (7, 2, 1.9), (64, 1, 0.25), (300, 20, 2), (300, 50, 49)],
)
def test_it_is_rounded_up_and_hardly(dimension, length, epsilon):
    with mp.workdps(40):
        wanted = block_profile_reference(dimension, length, epsilon)
        found = block_delta(dimension, *exact(length, epsilon))
        stated = mp.mpf(found.numerator) / found.denominator
        assert wanted <= stated <= wanted * (1 + mp.mpf(10) ** -11)


def test_longer_shifts_and_smaller_losses_cost_more():
    lengths = exact(0.2, 0.5, 0.99, 1, 1.01, 2, 5, 20)
    losses = exact(-3, -0.5, 0, 0.1, 0.5, 0.9, 1, 3, 10)
    for dimension in (1, 2, 3, 17):
        table = np.array([[block_delta(dimension, r, loss) for loss in losses] for r in lengths])
        assert np.all(table[1:] >= table[:-1])
        assert np.all(table[:, 1:] <= table[:, :-1])
        assert np.all((table >= 0) & (table <= 1))


def test_a_chord_in_the_exponential_of_the_loss_lies_above():
    grid = [Fraction(k, 8) for k in range(-8, 25)]
    values = np.array([float(block_delta(9, Fraction(3), loss)) for loss in grid])
    middles = [Fraction(2 * k + 1, 16) for k in range(-8, 24)]
    between = np.array([float(block_delta(9, Fraction(3), loss)) for loss in middles])
    odds = np.exp(np.array([float(g) for g in grid]))
    share = (np.exp([float(m) for m in middles]) - odds[:-1]) / np.diff(odds)
    assert np.all((1 - share) * values[:-1] + share * values[1:] >= between * (1 - 1e-12))


def test_nothing_is_left_at_the_largest_loss_and_hardly_anything_near_it():
    assert block_delta(4, Fraction(2), Fraction(2)) == 0
    assert block_delta(4, Fraction(2), Fraction(7)) == 0
    near = block_delta(40, Fraction(1), 1 - Fraction(1, 2**60))
    assert 0 < near < Fraction(1, 10**300)


def test_a_mirrored_pair_has_a_mirrored_profile():
    for epsilon in (0.1, 1.0, 2.5):
        above, below = (block_delta(6, Fraction(3), loss) for loss in exact(epsilon, -epsilon))
        assert float(below) == pytest.approx(1 - math.exp(-epsilon) * (1 - float(above)), rel=1e-12)


def test_floats_for_design_agree():
    for dimension, length, epsilon in [*SETTINGS, (1, 2, 0.5), (200, 10, 3), (4000, 40, 1)]:
        found = float(estimated_delta(dimension, length - epsilon, epsilon))
        wanted = float(block_delta(dimension, *exact(length, epsilon)))
        assert found == pytest.approx(wanted, rel=1e-7, abs=1e-14)
    table = estimated_delta(np.array([[2], [20]]), np.array([1.0, 2.0, 3.0]), 1.5)
    assert table.shape == (2, 3)
    assert np.all(np.diff(table) > 0)


def test_a_value_takes_milliseconds():
    start = time.process_time()
    for k in range(1, 40):
        block_delta(100, Fraction(10), Fraction(k, 4))
    # Half a millisecond each on the machine where it was written.
    assert (time.process_time() - start) / 39 < 0.03


@pytest.mark.parametrize("dimension", [1, 2, 20, 300])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/8", "0.1"), ("20", "1e-12")])
def test_the_way_back_from_a_guarantee_is_the_longest_shift(dimension, epsilon, delta):
    guarantee = ApproximateDP(Fraction(epsilon), delta)
    length = block_length(dimension, guarantee)
    assert block_delta(dimension, length, guarantee.epsilon) >= guarantee.delta
    shorter = length * (1 - Fraction(1, 10**6))
    assert block_delta(dimension, shorter, guarantee.epsilon) < guarantee.delta


def test_a_block_with_a_delta_composes_by_its_law():
    """Ten of them cost far less than ten times epsilon and the sum of deltas."""
    guarantee = ApproximateDP(1, "1e-7")
    noise = knorm_noise((20,), (1.0,), "l2", 2**40, guarantee)
    cost = cost_of(noise, guarantee, guarantee)
    assert isinstance(cost.loss, BlockLoss)
    assert cost.loss.dimension == 20
    # The law covers the scale in force.
    assert knorm_loss(noise.scales, "l2", 2**40) <= cost.loss.epsilon <= Fraction(5, 4)
    total = compose([cost] * 10, delta="1e-6")
    assert float(total.epsilon) < 5
    # As tight as what rho = r^2 / (2M) promises, or better.
    assert (
        total.epsilon <= compose([Cost(PureDP(cost.loss.epsilon), cost.loss)] * 10, delta="1e-6").epsilon
    )
    # Replacing is removing and adding: the shift doubles, and the profile is known there.
    doubled = cost.for_replace_one().guarantee
    wanted = block_delta(20, 2 * cost.loss.epsilon, Fraction(2))
    assert (doubled.epsilon, doubled.delta) == (2, wanted)


def test_huge_dimensions_have_an_answer():
    # From a bound: coordinate by coordinate, the last one would take hours.
    for dimension in (2**15, 2**15 + 1, 10**9):
        length, epsilon = Fraction(math.isqrt(dimension)), Fraction(3)
        found = float(block_delta(dimension, length, epsilon))
        # About that of a normal shift of length one.
        assert 1e-4 * 0.1 < found < 0.02
        assert block_length(dimension, ApproximateDP(1, "1e-6")) is None or dimension == 2**15
