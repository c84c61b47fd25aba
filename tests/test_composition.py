"""Composition: every conversion against a second way, and never below the truth."""

import math
from fractions import Fraction

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import rdp_privacy_accountant as rdp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from dpfda import PrivateMean
from dpfda.bounds import L2Ball
from dpfda.errors import ConversionError, ParameterError
from dpfda.noise import BoxNoise, BoxPartNoise, EllipsoidNoise, KNormNoise, cost_of
from dpfda.noise.blocks import laplace_on_body
from dpfda.noise.symmetric import SymmetricKNormNoise
from dpfda.noise.wishart import CoupledNoise, WishartDifferenceNoise
from dpfda.numerics.exactness import at_least, root_at_least
from dpfda.privacy.composition import (
    BlockLoss,
    BlocksLoss,
    Cost,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    account,
    compose,
    for_group,
    for_replace_one,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_rho,
    laplace_rho,
    pure_rho,
    zcdp_delta,
    zcdp_epsilon,
)
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, ZeroConcentratedDP

GRID = np.linspace(0.0, 1.0, 15)
CURVES = np.sin(3 * GRID) * np.linspace(-1, 1, 40)[:, None]
fractions = st.fractions(min_value=Fraction(1, 10**9), max_value=50)


def laplace_divergence(epsilon, alpha):
    """Renyi divergence of Lap(1) and Lap(1) shifted by epsilon, in 60 digits."""
    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(alpha)
        total = a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * e)
        return mpmath.log(total) / (a - 1)


def coin_divergence(p, q, alpha):
    with mpmath.workdps(60):
        p, q, a = mpmath.mpf(p), mpmath.mpf(q), mpmath.mpf(alpha)
        total = p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)
        return mpmath.log(total) / (a - 1)


def mp(value: Fraction):
    return mpmath.mpf(value.numerator) / value.denominator


ORDERS = [1 + 10.0**k for k in np.arange(-9, 6.1, 0.5)]


# --- zero-concentrated costs of pure mechanisms ---


@pytest.mark.parametrize(("epsilon", "alpha"), [(0.3, 1.5), (1.0, 2.0), (2.5, 7.0)])
def test_the_closed_form_of_the_laplace_divergence_is_that_of_an_integral(epsilon, alpha):
    def integrand(x):
        return 0.5 * math.exp(-alpha * abs(x) - (1 - alpha) * abs(x - epsilon))

    pieces = ((-60, 0), (0, epsilon), (epsilon, 60))
    total = sum(integrate.quad(integrand, a, b, epsabs=1e-13)[0] for a, b in pieces)
    by_integral = math.log(total) / (alpha - 1)
    assert by_integral == pytest.approx(float(laplace_divergence(epsilon, alpha)), rel=1e-9)


@pytest.mark.parametrize("epsilon", ["1e-6", "0.01", "0.5", "1", "3", "20", "200"])
def test_laplace_rho_covers_every_order_and_is_attained_towards_order_one(epsilon):
    with mpmath.workdps(60):
        rho = mp(laplace_rho(Fraction(epsilon)))
        for alpha in ORDERS:
            assert laplace_divergence(epsilon, alpha) <= rho * mpmath.mpf(alpha)
        # A cost smaller by one part in a million is refuted near order 1.
        near = 1 + mpmath.mpf("1e-10")
        assert laplace_divergence(epsilon, near) > rho * near * (1 - mpmath.mpf("1e-6"))


def test_laplace_rho_agrees_with_an_independent_accountant():
    orders = [1.01, 1.1, 1.5, 2.0, 5.0, 30.0]
    for epsilon in (0.1, 1.0, 4.0):
        accountant = rdp.RdpAccountant(orders)
        accountant.compose(dp_accounting.LaplaceDpEvent(1 / epsilon))
        rho = float(laplace_rho(Fraction(str(epsilon))))
        ratios = np.array(accountant._rdp) / np.array(orders) / rho
        assert np.all(ratios <= 1 + 1e-12)
        # From below, and tight as the order falls to 1.
        assert np.all(np.diff(ratios) < 0)
        assert ratios[0] > 0.99


@given(st.lists(fractions, min_size=2, max_size=6))
@settings(deadline=None, max_examples=60)
def test_laplace_rho_is_superadditive_so_a_product_is_covered_by_its_total_loss(parts):
    total = laplace_rho(sum(parts))
    assert sum(laplace_rho(part) for part in parts) <= total * (1 + Fraction(1, 2**60))
    for alpha in (1.001, 2.0, 50.0):
        divergence = sum(laplace_divergence(mp(part), alpha) for part in parts)
        assert divergence <= mp(total) * alpha * (1 + mpmath.mpf("1e-15"))


@given(
    st.floats(0.001, 8.0),
    st.floats(0.001, 0.999),
    st.floats(-1.0, 1.0),
    st.floats(0.001, 5.0).map(lambda s: 1 + s),
)
@settings(deadline=None, max_examples=200)
def test_pure_rho_covers_every_coin_within_epsilon(epsilon, p, direction, alpha):
    # The second coin is anywhere within the pure bound of the first.
    low = max(p * math.exp(-epsilon), 1 - (1 - p) * math.exp(epsilon))
    high = min(p * math.exp(epsilon), 1 - (1 - p) * math.exp(-epsilon))
    q = min(max(low + (high - low) * (direction + 1) / 2, low * (1 + 1e-12)), high * (1 - 1e-12))
    rho = mp(pure_rho(Fraction(epsilon)))
    assert coin_divergence(p, q, alpha) <= rho * alpha * (1 + mpmath.mpf("1e-9"))


@pytest.mark.parametrize("epsilon", ["0.001", "1", "6"])
def test_pure_rho_is_attained_by_the_fair_answer_to_one_bit(epsilon):
    with mpmath.workdps(60):
        rho = mp(pure_rho(Fraction(epsilon)))
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        for alpha in ORDERS:
            assert coin_divergence(p, 1 - p, alpha) <= rho * alpha
        near = 1 + mpmath.mpf("1e-10")
        assert coin_divergence(p, 1 - p, near) > rho * near * (1 - mpmath.mpf("1e-6"))


@given(fractions)
@settings(deadline=None)
def test_laplace_costs_less_than_any_pure_and_both_less_than_half_the_square(epsilon):
    assert laplace_rho(epsilon) <= pure_rho(epsilon) <= epsilon**2 / 2


# --- out of zero-concentrated differential privacy ---


def bound_at(rho, epsilon, alpha):
    """Canonne, Kamath & Steinke's delta at one order, by another program."""
    a = mpmath.mpf(alpha)
    return mpmath.exp((a - 1) * (a * rho - epsilon)) / (a - 1) * (1 - 1 / a) ** a


ZCDP = [("1e-8", "1e-12"), ("1e-8", "1e-6")] + [
    (rho, delta) for rho in ("0.001", "0.1", "1", "30") for delta in ("1e-12", "1e-6", "0.01")
]


@pytest.mark.parametrize(("rho", "delta"), ZCDP)
def test_zcdp_epsilon_is_the_least_over_all_orders_and_on_the_private_side(rho, delta):
    epsilon = zcdp_epsilon(Fraction(rho), Fraction(delta))
    with mpmath.workdps(50):
        guess = mpmath.sqrt(-mpmath.log(mpmath.mpf(delta)) / mpmath.mpf(rho))
        orders = [1 + guess * mpmath.mpf(10) ** (k / mpmath.mpf(400)) for k in range(-600, 601)]
        at = min(bound_at(mpmath.mpf(rho), mp(epsilon), a) for a in orders)
        # Some order proves it (to the spacing of these), and none proves one part in 10^5 less.
        assert at <= mpmath.mpf(delta) * (1 + mpmath.mpf("1e-3"))
        less = mp(epsilon) * (1 - mpmath.mpf("1e-5"))
        assert all(bound_at(mpmath.mpf(rho), less, a) > mpmath.mpf(delta) for a in orders)


@pytest.mark.parametrize(("rho", "delta"), ZCDP)
def test_zcdp_epsilon_lies_between_the_gaussian_and_an_accountant_on_a_grid_of_orders(rho, delta):
    epsilon = float(zcdp_epsilon(Fraction(rho), Fraction(delta)))
    # A Gaussian with this rho is one mechanism that the bound must cover.
    sigma = 1 / math.sqrt(2 * float(rho))
    assert epsilon >= dp_accounting.get_epsilon_gaussian(sigma, float(delta))
    orders = [1 + math.exp(k / 50) for k in range(-200, 800)]
    other, _ = rdp.compute_epsilon(orders, [float(rho) * a for a in orders], float(delta))
    assert other * (1 - 2e-3) <= epsilon <= other


@given(st.fractions(Fraction(1, 10**6), 20), st.fractions(Fraction(1, 10**12), Fraction(1, 4)))
@settings(deadline=None, max_examples=60)
def test_zcdp_delta_and_epsilon_invert_each_other(rho, delta):
    epsilon = zcdp_epsilon(rho, delta)
    if epsilon > Fraction(1, 10**6):
        assert float(zcdp_delta(rho, epsilon)) == pytest.approx(float(delta), rel=1e-6)


def test_a_bound_that_says_nothing_is_still_a_bound():
    assert Fraction(99, 100) < zcdp_delta(Fraction(10), Fraction(1, 100)) <= 1
    # At so large a delta the formula allows an epsilon below zero.
    assert 0 < zcdp_epsilon(Fraction(1, 10**8), Fraction(1, 100)) <= Fraction(1, 2**64)


@pytest.mark.parametrize("rho", [Fraction(1, 10**400), Fraction(10) ** 6])
def test_conversions_survive_numbers_beyond_floats(rho):
    assert zcdp_epsilon(rho, Fraction(1, 10**500)) > 0
    assert 0 < zcdp_delta(rho, Fraction(1)) <= 1


# --- Gaussian releases ---


@pytest.mark.parametrize(
    ("releases", "sigma", "delta"), [(1, 2.0, 1e-6), (10, 4.0, 1e-5), (40, 30.0, 1e-8)]
)
def test_gaussian_releases_add_up_to_their_exact_profile(releases, sigma, delta):
    rho = releases * Fraction(1) / (2 * Fraction(sigma) ** 2)
    epsilon = float(gaussian_epsilon(rho, Fraction(delta)))
    exact = dp_accounting.get_epsilon_gaussian(sigma / math.sqrt(releases), delta)
    assert epsilon == pytest.approx(exact, rel=1e-9)
    convolved = pld.from_gaussian_mechanism(sigma, value_discretization_interval=1e-4)
    by_convolution = convolved.self_compose(releases).get_epsilon_for_delta(delta)
    assert epsilon <= by_convolution <= epsilon * 1.01 + 1e-3


@given(st.fractions(Fraction(1, 100), 3), st.fractions(Fraction(1, 20), 6))
@settings(deadline=None, max_examples=60)
def test_gaussian_rho_is_found_again_from_a_point_of_the_profile(epsilon, mu):
    delta = gaussian_delta(epsilon, mu)
    if delta < 1:
        rho = gaussian_rho(ApproximateDP(epsilon, delta))
        assert mu**2 / 2 <= rho <= mu**2 / 2 * (1 + Fraction(1, 10**9))


# --- groups and neighbours ---


def test_a_group_costs_what_the_chain_of_data_sets_in_between_adds_up_to():
    epsilon, delta = 0.5, 1e-7
    assert for_group(PureDP("0.5"), 3) == PureDP("1.5")
    assert for_group(ZeroConcentratedDP("0.1"), 3) == ZeroConcentratedDP("0.9")
    group = for_group(ApproximateDP("0.5", "1e-7"), 4)
    assert isinstance(group, ApproximateDP)
    chain = sum(math.exp(k * epsilon) for k in range(4)) * delta
    assert group.epsilon == 2
    assert float(group.delta) == pytest.approx(chain, rel=1e-12)
    with mpmath.workdps(60):
        true = mpmath.mpf("1e-7") * mpmath.expm1(2) / mpmath.expm1(mpmath.mpf("0.5"))
        assert true <= mp(group.delta) <= true * (1 + mpmath.mpf(2) ** -60)


@given(st.fractions(Fraction(1, 10), 3), st.fractions(Fraction(1, 10), 2), st.integers(2, 4))
@settings(deadline=None, max_examples=40)
def test_a_group_guarantee_covers_a_gaussian_whose_shift_is_that_many_times_as_long(epsilon, mu, size):
    one = ApproximateDP(epsilon, gaussian_delta(epsilon, mu))
    try:
        group = for_group(one, size)
    except ConversionError:
        return
    assert isinstance(group, ApproximateDP)
    assert gaussian_delta(size * epsilon, size * mu) <= group.delta


def test_replace_one_costs_two_steps():
    assert for_replace_one(PureDP(1)) == PureDP(2)
    assert for_replace_one(ZeroConcentratedDP("0.3")) == ZeroConcentratedDP("1.2")
    two = for_replace_one(ApproximateDP(1, "1e-6"))
    assert isinstance(two, ApproximateDP)
    assert two.epsilon == 2
    assert float(two.delta) == pytest.approx((1 + math.e) * 1e-6, rel=1e-12)


def test_a_group_whose_delta_reaches_one_is_refused():
    with pytest.raises(ConversionError, match="delta must stay below 1") as caught:
        for_group(ApproximateDP(5, "0.01"), 3)
    assert caught.value.guarantee == ApproximateDP(5, "0.01")
    for size in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="size must be a positive integer"):
            for_group(PureDP(1), size)


def test_a_gaussian_cost_keeps_its_profile_under_replace_one():
    stated = ApproximateDP(1, gaussian_delta(Fraction(1), Fraction(1, 4)))
    one = Cost(stated, GaussianLoss(gaussian_rho(stated)))
    two = one.for_replace_one()
    assert float(two.rho) == pytest.approx((2 / 4) ** 2 / 2, rel=1e-9)
    assert two.rho >= Fraction(1, 8)
    assert two.guarantee.delta < for_replace_one(one.guarantee).delta


# --- compose ---


def test_ten_tenths_are_one():
    assert compose([PureDP(0.1)] * 10) == PureDP(1)


def test_epsilons_and_deltas_add_where_nothing_is_known_of_the_law():
    total = compose([ApproximateDP("0.1", "1e-7"), PureDP("0.2"), ApproximateDP("0.3", "2e-7")])
    assert total == ApproximateDP("0.6", "3e-7")


def test_many_small_pure_releases_cost_less_than_their_sum_at_a_delta():
    costs = [Cost(PureDP("0.05"), LaplaceLoss("0.05"))] * 200
    made = account(costs, kind="approximate", delta="1e-6")
    assert isinstance(made.total, ApproximateDP)
    convolved = pld.from_laplace_mechanism(20.0, value_discretization_interval=1e-4)
    truth = convolved.self_compose(200).get_epsilon_for_delta(1e-6)
    assert 0.99 * truth <= float(made.total.epsilon) <= 1.01 * truth
    assert "privacy loss distributions" in made.how
    assert compose(costs) == PureDP(10)


def test_a_delta_alone_says_which_kind_of_total_is_wanted():
    costs = [Cost(PureDP("0.05"), LaplaceLoss("0.05"))] * 200
    assert compose(costs, delta="1e-6") == compose(costs, "approximate", "1e-6")
    assert compose([ZeroConcentratedDP("0.1")], delta="1e-6").kind == "approximate"


def test_few_pure_releases_at_a_delta_still_cost_their_sum():
    made = account([PureDP(1), PureDP(2)], kind="approximate", delta="1e-9")
    assert made.total == ApproximateDP(3, "1e-9")
    assert made.how == "basic composition: epsilons and deltas add"


def test_gaussian_releases_compose_far_below_their_sum():
    stated = ApproximateDP(1, "1e-6")
    one = Cost(stated, GaussianLoss(gaussian_rho(stated)))
    total = compose([one] * 10)
    assert isinstance(total, ApproximateDP)
    assert total.delta == Fraction(10, 10**6)
    sigma = dp_accounting.get_sigma_gaussian(1.0, 1e-6)
    truth = dp_accounting.get_epsilon_gaussian(sigma / math.sqrt(10), 1e-5)
    assert float(total.epsilon) == pytest.approx(truth, rel=1e-6)
    assert compose([one.guarantee] * 10) == ApproximateDP(10, "1e-5")


def test_mixed_kinds_take_the_cheapest_of_the_valid_roads():
    parts = [PureDP("0.2"), ZeroConcentratedDP("0.05"), ApproximateDP("0.3", "1e-6")]
    made = account(parts, delta="3e-6")
    left = Fraction(2, 10**6)
    apart = Fraction("0.5") + zcdp_epsilon(Fraction("0.05"), left)
    together = Fraction("0.3") + zcdp_epsilon(Fraction("0.05") + pure_rho(Fraction("0.2")), left)
    assert made.total.epsilon <= min(apart, together)
    assert made.total.epsilon >= zcdp_epsilon(Fraction("0.05"), Fraction(3, 10**6))


def test_losses_that_no_grid_holds_are_added_up_in_other_ways():
    tiny = Fraction(1, 10**100)
    parts = [PureDP(tiny), ZeroConcentratedDP("0.05"), ApproximateDP("0.3", "1e-6")]
    made = account(parts, delta="3e-6")
    left = Fraction(2, 10**6)
    together = Fraction("0.3") + zcdp_epsilon(Fraction("0.05") + pure_rho(tiny), left)
    assert made.total.epsilon <= together
    assert "tight formula" in made.how
    assert "The rest: epsilons and deltas add" in made.how
    assert compose([PureDP(10**9)] * 2, "approximate", "1e-6") == ApproximateDP(2 * 10**9, "1e-6")


def test_a_concentrated_total_adds_rhos():
    parts = [Cost(PureDP(1), LaplaceLoss(1)), PureDP(2), ZeroConcentratedDP("0.25")]
    total = compose(parts)
    assert isinstance(total, ZeroConcentratedDP)
    expected = (1 + math.exp(-1) - 1) + 2 * math.tanh(1) + 0.25
    assert float(total.rho) == pytest.approx(expected, rel=1e-12)


def test_an_account_prints_itself():
    made = account([Cost(PureDP(1), LaplaceLoss(1)), PureDP("0.5")], neighbours="add-remove")
    text = str(made)
    assert text.startswith("1.5-differential privacy (pure)\n")
    assert "how:        basic composition: epsilons add" in text
    assert "one has one record more" in text
    assert "- 1-differential privacy (pure), symmetric noise of loss 1" in text


def test_what_has_no_common_kind_is_refused_in_words():
    with pytest.raises(ConversionError, match=r"A pure total needs pure releases; found \(1, 1e-06\)"):
        compose([PureDP(1), ApproximateDP(1, "1e-6")], kind="pure")
    with pytest.raises(ConversionError, match=r"needs releases that have a rho.*kind 'approximate'"):
        compose([ApproximateDP(1, "1e-6")], kind="zero-concentrated")
    with pytest.raises(ParameterError, match="delta must be given where no release has one"):
        compose([PureDP(1)], kind="approximate")
    with pytest.raises(ParameterError, match="delta must leave room for the deltas of the releases"):
        compose([ApproximateDP(1, "1e-6")] * 2, delta="1e-6")
    with pytest.raises(ParameterError, match="delta must be None for a total of kind 'pure'"):
        compose([PureDP(1)], kind="pure", delta="1e-6")
    with pytest.raises(ParameterError, match="kind must be one of 'pure', 'approximate'"):
        compose([PureDP(1)], kind="renyi")
    with pytest.raises(ParameterError, match="releases must hold at least one release"):
        compose([])
    with pytest.raises(ParameterError, match="releases must be releases, guarantees or costs"):
        compose([0.5])
    with pytest.raises(
        ParameterError, match=r"loss must have the epsilon .* found Gaussian noise of rho 1"
    ):
        Cost(PureDP(1), GaussianLoss(1))


# --- releases ---


def released(**parameters):
    estimator = PrivateMean(**{"epsilon": 1.0, "bounds": L2Ball(1.0), "grid_points": GRID, **parameters})
    return estimator, estimator.fit(CURVES).release_


def test_a_laplace_release_costs_its_exact_rho():
    _, release = released(epsilon=1.0, mechanism="iclp")
    assert set(release.noise.block_sizes) == {1}
    total = compose([release], kind="zero-concentrated")
    assert float(total.rho) == pytest.approx(1 + math.exp(-1) - 1, rel=1e-12)
    _, again = released(epsilon=1.0, mechanism="iclp")
    assert compose([release, again]) == PureDP(2)


def test_a_block_of_noise_costs_its_square_over_its_dimensions():
    _, release = released(epsilon=1.0, mechanism="knorm")
    assert release.noise.block_sizes != (1,) * release.noise.components
    total = compose([release], kind="zero-concentrated")
    assert float(total.rho) == pytest.approx(1 / (2 * release.noise.components), rel=1e-6)


def test_a_gaussian_release_costs_the_rho_of_its_scales():
    estimator, release = released(epsilon=1.0, delta=1e-6, mechanism="gaussian")
    problem = estimator.prepare(CURVES).plan.problem(len(CURVES))
    by_scales = Fraction(problem.width, min(release.noise.scales)) ** 2 / 2
    rho = compose([release], kind="zero-concentrated").rho
    assert by_scales <= rho <= by_scales * (1 + Fraction(1, 10**6))


def test_a_release_with_its_own_count_costs_both_parts():
    _, release = released(epsilon=1.0, mechanism="iclp", neighbours="add-remove")
    made = account([release])
    assert [cost.loss.kind for cost in made.costs] == ["laplace", "laplace"]
    assert made.total == PureDP(1)
    count = Fraction(release.divisor.scale, release.divisor.noise.scales[0])
    assert count <= made.costs[0].guarantee.epsilon == Fraction(1, 10)
    assert made.neighbours is Neighbours.ADD_REMOVE


def test_a_gaussian_release_with_a_count_is_covered_by_its_parts():
    estimator, release = released(epsilon=1.0, delta=1e-6, mechanism="gaussian", neighbours="add-remove")
    made = account([release], kind="zero-concentrated")
    problem = estimator.prepare(CURVES).plan.problem(1)
    count = laplace_rho(Fraction(release.divisor.scale, release.divisor.noise.scales[0]))
    by_scales = Fraction(problem.width, min(release.noise.scales)) ** 2 / 2
    assert count + by_scales <= made.total.rho <= (count + by_scales) * (1 + Fraction(1, 10**6))


def test_add_remove_releases_are_brought_to_replace_one_before_they_are_added():
    _, replace = released(epsilon=1.0, mechanism="iclp")
    _, add = released(epsilon=0.5, mechanism="iclp", neighbours="add-remove", public_size=40)
    made = account([replace, add])
    assert made.neighbours is Neighbours.REPLACE_ONE
    assert made.total == PureDP(2)
    alone = account([add, PureDP(1)])
    assert alone.neighbours is Neighbours.ADD_REMOVE
    assert alone.total == PureDP(Fraction(3, 2))
    with pytest.raises(ParameterError, match="neighbours must say for which relation"):
        compose([replace, add, PureDP(1)])
    both = compose([replace, add, PureDP(1)], neighbours="add-remove")
    assert both == PureDP(made.total.epsilon + 2)


def test_releases_for_different_units_do_not_add_up():
    _, scan = released(unit="scan")
    _, person = released(unit="person")
    with pytest.raises(ParameterError, match="same privacy unit; found 'person' and 'scan'"):
        compose([scan, person])


@pytest.mark.parametrize(
    ("noise", "loss"),
    [
        (KNormNoise((1, 1), (5, 5)), LaplaceLoss(1)),
        (KNormNoise((7,), (5,)), BlockLoss(7, 1)),
        (KNormNoise((4, 7), (5, 6)), BlocksLoss(1, Fraction(1, 8))),
        (EllipsoidNoise((5, 6, 7)), BlockLoss(3, 1)),
        (BoxNoise((5, 6, 7)), LaplaceLoss(1)),
        (BoxPartNoise((5, 6, 7), 9), LaplaceLoss(1)),
        (SymmetricKNormNoise(4, 5), BlockLoss(10, 1)),
        (WishartDifferenceNoise(4, 5), LaplaceLoss(1)),
        (CoupledNoise(4, 5), LaplaceLoss(1)),
        (object(), PureLoss(1)),
    ],
)
def test_a_noise_law_has_its_loss_and_one_without_a_rule_counts_at_its_guarantee(noise, loss):
    assert cost_of(noise, PureDP(1), PureDP(1)) == Cost(PureDP(1), loss)


# --- rounding ---


@given(st.fractions().filter(lambda value: value != 0))
def test_rounding_goes_up_by_little(value):
    up = at_least(value)
    assert value <= up <= value + abs(value) / 2**62
    assert up.denominator & (up.denominator - 1) == 0


@given(st.fractions(Fraction(1, 10**60), 10**30))
def test_roots_are_rounded_up_by_little(value):
    root = root_at_least(value)
    assert value <= root**2 <= value * (1 + Fraction(1, 2**60))


@given(st.fractions(0, 10**6))
def test_a_rational_root_is_not_rounded(root):
    assert root_at_least(root**2) == root


@given(st.integers(1, 10**9), st.sampled_from([0.05, 0.1, 0.3, 1.0, 2.0]))
def test_a_scale_that_divides_evenly_keeps_its_guarantee(width, epsilon):
    asked = PureDP(epsilon)
    widths = (asked.epsilon.numerator * width,)
    noise = laplace_on_body([1.0], "ellipsoid", widths, asked)
    assert noise.scales == (asked.epsilon.denominator * width,)
    assert noise.achieved("ellipsoid", widths, asked) == asked
