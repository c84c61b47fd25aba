"""Privacy loss distributions: never below the truth, close to another accountant's from both sides."""

import math
import time
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda.privacy.composition import (
    ApproximateLoss,
    BlockLoss,
    BlocksLoss,
    ConcentratedLoss,
    Cost,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    RangeLoss,
    account,
    compose,
    gaussian_epsilon,
)
from dpfda.privacy.composition.block_profile import estimated_delta
from dpfda.privacy.composition.distributions import Distribution, composed_epsilon, distribution
from dpfda.privacy.guarantees import ApproximateDP, PureDP

INTERVAL = 1e-4


def laplace(epsilon, pessimistic):
    return pld.from_laplace_mechanism(
        1 / epsilon, pessimistic_estimate=pessimistic, value_discretization_interval=INTERVAL
    )


def gaussian(rho, pessimistic):
    return pld.from_gaussian_mechanism(
        1 / math.sqrt(2 * rho), pessimistic_estimate=pessimistic, value_discretization_interval=INTERVAL
    )


def unknown(epsilon, delta, pessimistic):
    # A coin that tells one bit with odds e^epsilon, and all with probability delta.
    heads, tails = (math.log1p(-delta) - math.log1p(math.exp(side)) for side in (-epsilon, epsilon))
    lower, upper = {"1": heads, "0": tails}, {"1": tails, "0": heads}
    if delta:
        lower["one for sure"] = upper["nought for sure"] = math.log(delta)
    return pld.from_two_probability_mass_functions(
        lower, upper, pessimistic_estimate=pessimistic, value_discretization_interval=INTERVAL
    )


def block(dimension, epsilon, interval):
    """From the profile, by the other accountant's own lines through dots, on a finer grid."""
    losses = np.arange(-round(epsilon / interval) - 1, round(epsilon / interval) + 2)
    sizes = np.abs(losses * interval)
    gaps = np.maximum(epsilon - sizes, 1e-300)
    deltas = np.array(
        [float(estimated_delta(dimension, gap, e)) for gap, e in zip(gaps, sizes, strict=True)]
    )
    deltas = np.where(losses < 0, 1 - np.exp(losses * interval) * (1 - deltas), deltas)
    return pld.PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots(interval, losses, deltas)
    )


def between(found, exact_below, above, delta):
    low = exact_below.get_epsilon_for_delta(delta)
    high = above.get_epsilon_for_delta(delta)
    assert low * (1 - 1e-9) <= found <= 1.01 * high


CASES = [(0.1, 50, 1e-6), (0.01, 600, 1e-6), (1, 4, 1e-9)]


@pytest.mark.parametrize(("epsilon", "count", "delta"), CASES)
def test_laplace_releases(epsilon, count, delta):
    found = float(composed_epsilon([LaplaceLoss(str(epsilon))] * count, Fraction(str(delta))))
    low, high = (laplace(epsilon, way).self_compose(count) for way in (False, True))
    between(found, low, high, delta)


def test_releases_of_several_laws():
    losses = [
        *[LaplaceLoss("0.1")] * 10,
        *[GaussianLoss("0.002")] * 5,
        *[ApproximateLoss("0.1", "1e-8")] * 5,
        *[PureLoss("0.3")] * 2,
    ]
    found = float(composed_epsilon(losses, Fraction(1, 10**6)))
    low, high = (
        laplace(0.1, way)
        .self_compose(10)
        .compose(gaussian(0.01, way))
        .compose(unknown(0.1, 1e-8, way).self_compose(5))
        .compose(unknown(0.3, 0.0, way).self_compose(2))
        for way in (False, True)
    )
    between(found, low, high, 1e-6)


def test_ten_blocks_of_twenty_dimensions():
    found = compose([Cost(PureDP(1), BlockLoss(20, 1))] * 10, delta="1e-6")
    truth = block(20, 1.0, 5e-3).self_compose(10).get_epsilon_for_delta(1e-6)
    # The other accountant's lines are finer, but lines too: it is above the truth by less than 1e-3.
    assert truth * (1 - 1e-3) <= float(found.epsilon) <= 1.005 * truth
    assert float(found.epsilon) == pytest.approx(3.22, abs=0.01)


def coins(epsilon, failure, count, delta):
    """Optimal composition of equal (epsilon, failure) by the binomial formula, in 50 digits.

    Kairouz, Oh & Viswanath (2015): epsilons (count - 2 i) epsilon and their deltas; between
    them the profile is solved by bisection.
    """
    with mpmath.workdps(50):
        e, d = mpmath.mpf(epsilon), mpmath.mpf(failure)

        def profile(x):
            total = mpmath.mpf(0)
            for heads in range(count + 1):
                loss = (2 * heads - count) * e
                if loss > x:
                    chance = mpmath.binomial(count, heads) * mpmath.exp(heads * e)
                    chance /= (1 + mpmath.exp(e)) ** count
                    total += chance * (1 - mpmath.exp(x - loss))
            return 1 - (1 - d) ** count * (1 - total)

        low, high = mpmath.mpf(0), count * e
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if profile(middle) > delta else (low, middle)
        return high


@pytest.mark.parametrize(
    ("epsilon", "failure", "count", "delta"),
    [("0.1", "1e-8", 50, "1.5e-6"), ("0.5", "1e-7", 8, "1e-5"), ("0.01", "0", 200, "1e-9")],
)
def test_releases_of_unknown_law_cost_what_optimal_composition_says(epsilon, failure, count, delta):
    loss = PureLoss(epsilon) if failure == "0" else ApproximateLoss(epsilon, failure)
    found = composed_epsilon([loss] * count, Fraction(delta))
    with mpmath.workdps(50):
        true = coins(epsilon, failure, count, mpmath.mpf(delta))
        value = mpmath.mpf(found.numerator) / found.denominator
        assert true * (1 - mpmath.mpf("1e-15")) <= value <= true * mpmath.mpf("1.002")


def test_five_hundred_small_laplace_releases_fit_a_total_of_one():
    total = compose([Cost(PureDP("0.01"), LaplaceLoss("0.01"))] * 564, "approximate", "1e-6")
    assert total.epsilon <= 1


@pytest.mark.parametrize(
    ("loss", "low", "high"),
    [
        (LaplaceLoss(5000), 14_990, 15_000),
        (PureLoss(400), 1199, 1200),
        (BlockLoss(3, 500), 1480, 1500),
        (GaussianLoss(1000), 3300, 4000),
    ],
    ids=str,
)
def test_large_losses_stay_large(loss, low, high):
    found = composed_epsilon([loss] * 3, Fraction(1, 10**6))
    assert found is None or low <= found <= high
    if loss.kind == "gaussian":
        assert found is None or found >= gaussian_epsilon(3 * loss.rho, Fraction(1, 10**6))


def test_a_distribution_of_one_loss_gives_the_epsilon_of_that_loss():
    # P(A) <= e^x + delta is all that a certain loss of 2 leaves: x solves 1 - e^(x - 2) = delta.
    one = Distribution(Fraction(1), 2, (2**80,), 0, 80)
    assert float(one.epsilon(Fraction(1, 10))) == pytest.approx(2 + math.log(0.9), rel=1e-12)
    assert one.power(3, 0).epsilon(Fraction(1, 10)) > Fraction(58, 10)


# --- what must hold for any losses ---

numbers = st.fractions(Fraction(1, 50), 2, max_denominator=100)
laws = st.one_of(
    numbers.map(PureLoss),
    numbers.map(LaplaceLoss),
    numbers.map(RangeLoss),
    st.builds(BlockLoss, st.integers(1, 30), numbers),
    st.builds(lambda e, share: BlocksLoss(e, e**2 / share), numbers, st.integers(2, 20)),
    st.builds(ApproximateLoss, numbers, st.sampled_from(["1e-9", "1e-7"])),
    numbers.map(lambda e: GaussianLoss(e**2 / 20)),
    numbers.map(lambda e: ConcentratedLoss(e**2 / 20)),
)


def cost(loss):
    if loss.kind == "approximate":
        return Cost(ApproximateDP(loss.epsilon, loss.failure), loss)
    if loss.epsilon is None:
        epsilon = composed_epsilon([loss], Fraction(1, 10**8))
        return Cost(ApproximateDP(epsilon, "1e-8"), loss)
    return Cost(PureDP(loss.epsilon), loss)


@given(st.lists(laws, min_size=1, max_size=6), st.randoms())
@settings(deadline=None, max_examples=25)
def test_a_total_is_no_more_than_the_sum_and_no_less_than_any_part(losses, random):
    costs = [cost(loss) for loss in losses]
    delta = Fraction(1, 10**5)
    total = compose(costs, "approximate", delta).epsilon
    assert total <= sum(part.guarantee.epsilon for part in costs)
    for part in costs:
        alone = compose([part], "approximate", delta).epsilon
        assert alone <= total * Fraction(1001, 1000)
    # Smaller delta, larger epsilon; and the order of releases is no matter.
    assert compose(costs, "approximate", delta / 3).epsilon >= total
    random.shuffle(costs)
    shuffled = compose(costs, "approximate", delta).epsilon
    assert float(shuffled) == pytest.approx(float(total), rel=2e-3)


# A profile that is the least of two bounds is not convex; then only the true one is below the line.
MIXED = ("blocks", "zero-concentrated")


@given(laws.filter(lambda loss: loss.kind not in MIXED), st.integers(1, 60), st.integers(0, 300))
@settings(deadline=None, max_examples=40)
def test_the_line_through_the_dots_lies_above_the_profile_everywhere(loss, fine, at):
    step = Fraction(1, fine)
    made = distribution(loss, step, 100, 2**40)
    with mpmath.workdps(40):
        for epsilon in (Fraction(at, 100), -Fraction(at, 100)):
            e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
            h = mpmath.mpf(step.numerator) / step.denominator
            total = mpmath.mpf(made.infinite)
            for index, mass in enumerate(made.masses):
                over = (made.start + index) * h - e
                total += mass * -mpmath.expm1(-over) if over > 0 else 0
            profile = loss.delta(epsilon)
            assert total / 2**100 >= mpmath.mpf(profile.numerator) / profile.denominator * (
                1 - mpmath.mpf("1e-11")
            )


def test_a_product_is_the_convolution_and_what_is_cut_off_is_counted_as_worse():
    one = distribution(LaplaceLoss(1), Fraction(1, 4), 80, 1)
    exact = np.convolve(np.array(one.masses, dtype=float), np.array(one.masses, dtype=float)) / 2.0**80
    whole = one.times(one, 0)
    start = whole.start - 2 * one.start
    assert np.allclose(
        exact[start : start + len(whole.masses)], np.array(whole.masses, dtype=float), rtol=1e-12
    )
    cut = one.times(one, 2**79)
    assert cut.infinite > whole.infinite
    assert len(cut.masses) < len(whole.masses)
    assert sum(cut.masses) + cut.infinite == sum(whole.masses) + whole.infinite
    for delta in ("0.3", "0.1"):
        assert (cut.epsilon(Fraction(delta)) or math.inf) >= whole.epsilon(Fraction(delta))
    assert one.power(5, 0).start == 5 * one.start
    assert cut.epsilon(Fraction(1, 10**9)) is None


def test_fifty_releases_of_many_laws_are_added_up_within_a_second():
    losses = [
        *[LaplaceLoss(Fraction(k, 37)) for k in range(1, 21)],
        *[GaussianLoss(Fraction(k, 5001)) for k in range(1, 11)],
        *[BlockLoss(20, Fraction(3, 7))] * 10,
        *[PureLoss(Fraction(1, 11))] * 5,
        *[ApproximateLoss(Fraction(1, 13), "1e-9")] * 5,
    ]
    begin = time.process_time()
    made = account([cost(loss) for loss in losses], "approximate", "1e-6")
    assert "privacy loss distributions" in made.how
    # It takes a quarter of a second; the machine may be busy.
    assert time.process_time() - begin < 2.5
