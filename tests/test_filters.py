"""The Gaussian filter with a buffer, and what a ledger lets through by it."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from dpfda.errors import BudgetError, IncompatibleChargeError, LedgerError
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
    filter_charge,
    gaussian_delta,
    gaussian_limit,
    gaussian_rho,
)
from dpfda.privacy.composition.distributions import distribution
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger import Ledger, MemoryLedger
from dpfda.privacy.ledger.accounts import SPARE, Filter
from dpfda.privacy.ledger.base import audit

ENTRY = {"neighbours": "replace-one", "privacy_unit": "record"}
LAWS = [
    PureLoss("0.3"),
    PureLoss("3"),
    LaplaceLoss("0.3"),
    LaplaceLoss("3"),
    RangeLoss("0.3"),
    RangeLoss("2"),
    BlockLoss(3, "0.5"),
    BlockLoss(4, "3"),
    BlockLoss(20, "1"),
    BlockLoss(20, "6"),
]


def gaussian_profile(epsilon, square):
    mu = math.sqrt(square)
    second = np.exp(epsilon + special.log_ndtr(-mu / 2 - epsilon / mu))
    return float(special.ndtr(mu / 2 - epsilon / mu) - second)


def together(loss, buffer, epsilon):
    """Profile of a release and Gaussian noise, over the atoms of a fine grid of the release's losses.

    The grid's profile is above the true one; it is fine enough for what is compared here.
    """
    made = distribution(loss, loss.epsilon / 400, 120, 1)
    return sum(
        mass / 2.0**made.bits * gaussian_profile(epsilon - float((made.start + i) * made.step), buffer)
        for i, mass in enumerate(made.masses)
    )


@pytest.mark.parametrize("loss", LAWS, ids=str)
@pytest.mark.parametrize("buffer", [Fraction(1, 500), Fraction(1, 20), Fraction(1)])
def test_a_release_and_the_buffer_are_below_gaussian_noise_of_what_is_charged(loss, buffer):
    charge = filter_charge(loss, buffer)
    spread = math.sqrt(float(charge + buffer))
    for epsilon in np.linspace(0.0, 7.0, 15) * spread:
        bound = gaussian_profile(epsilon, float(buffer + charge))
        if bound > 1e-10:
            assert together(loss, float(buffer), epsilon) <= bound * (1 + 2e-4) + 1e-13


@pytest.mark.parametrize("loss", [PureLoss("0.3"), LaplaceLoss("0.3"), BlockLoss(5, "0.5")], ids=str)
def test_a_charge_smaller_by_a_tenth_would_not_do(loss):
    buffer = Fraction(1)
    less = float(buffer + filter_charge(loss, buffer) * Fraction(9, 10))
    points = np.linspace(0.0, 4.0, 41) * math.sqrt(less)
    assert any(together(loss, float(buffer), e) > gaussian_profile(e, less) * 1.0001 for e in points)


def test_a_small_release_is_charged_little_more_than_twice_its_rho():
    buffer = Fraction(1, 400)
    for loss in (PureLoss("0.01"), LaplaceLoss("0.01"), BlockLoss(20, "0.05")):
        assert 1 < filter_charge(loss, buffer) / (2 * loss.rho) < Fraction(103, 100)
    assert filter_charge(GaussianLoss("0.01"), buffer) == Fraction(1, 50)
    assert filter_charge(ConcentratedLoss("0.01"), buffer) is None
    coin = filter_charge(PureLoss("0.1"), buffer)
    assert filter_charge(ApproximateLoss("0.1", "1e-9"), buffer) == coin
    laplace = filter_charge(LaplaceLoss("0.1"), buffer)
    assert filter_charge(BlocksLoss("0.1", "0.001"), buffer) == laplace
    assert filter_charge(BlockLoss(2, "0.1"), buffer) == laplace


@given(st.fractions(Fraction(1, 20), 4), st.sampled_from(["1e-9", "1e-6", "0.01"]))
@settings(deadline=None, max_examples=20)
def test_the_limit_is_the_longest_gaussian_noise_within_the_budget(epsilon, delta):
    limit, delta = gaussian_limit(epsilon, Fraction(delta)), Fraction(delta)
    with_root = float(gaussian_delta(epsilon, Fraction(math.sqrt(float(limit)))))
    assert with_root == pytest.approx(float(delta), rel=1e-6)
    rho = gaussian_rho(ApproximateDP(epsilon, delta))
    assert float(limit) == pytest.approx(2 * float(rho), rel=1e-9)


def test_an_analyst_who_chooses_by_the_losses_seen_stays_within_what_the_filter_says():
    """An adversary's best play by dynamic programming over (loss so far, charges left).

    It sees every loss and takes, until the filter refuses, the release that makes the profile largest,
    among coins and Laplace variables of two sizes: no play can exceed the budget's delta.
    """
    epsilon, delta = 1.0, 1e-3
    limit = gaussian_limit(Fraction(1), Fraction(delta))
    buffer = limit / 8
    unit = (limit - buffer) / 40
    step, reach = 0.02, 150
    losses = step * np.arange(-reach, reach + 1)
    offers = []
    for loss in (PureLoss("0.1"), PureLoss("0.2"), LaplaceLoss("0.1"), LaplaceLoss("0.2")):
        made = distribution(loss, Fraction(1, 50), 100, 1)
        # Charges rounded down favour the adversary.
        price = int(filter_charge(loss, buffer) / unit)
        offers.append((price, made.start, np.array(made.masses, dtype=float) / 2.0**100))
    stop = np.maximum(-np.expm1(epsilon - losses), 0.0)
    best = [stop.copy() for _ in range(41)]
    for left in range(1, 41):
        for price, start, masses in offers:
            if 0 < price <= left:
                after = best[left - price]
                play = sum(
                    mass * after[np.clip(np.arange(losses.size) + start + i, 0, losses.size - 1)]
                    for i, mass in enumerate(masses)
                )
                best[left] = np.maximum(best[left], play)
        best[left] = np.maximum(best[left], best[left - 1])
    worst = best[40][reach]
    assert worst <= delta
    # The play is worth something: it is near what the best fixed sequence attains.
    assert worst > delta / 4


# --- ledgers ---


def made(budget=None):
    return MemoryLedger().create("scans", budget or ApproximateDP(1, "1e-6"))


def taken(ledger, cost, most=10_000):
    for count in range(most):
        try:
            ledger.charge("scans", cost, ENTRY)
        except BudgetError:
            return count
    return most


def small(epsilon="0.01"):
    return Cost(PureDP(epsilon), LaplaceLoss(epsilon))


def test_a_budget_takes_more_than_five_hundred_small_releases():
    ledger = made()
    assert 500 < taken(ledger, small()) < 564
    spent = ledger.spent("scans")
    assert Fraction(99, 100) < spent["epsilon"] <= 1
    assert spent["delta"] == Fraction(1, 10**6)
    audit(ledger.history())
    # What releases state is not what they cost together; the rows say what each added.
    rows = [row for row in ledger.history() if row.action == "charge"]
    assert sum(row.cost["epsilon"] for row in rows) == spent["epsilon"]
    assert rows[-1].filter.epsilon > 5


def test_gaussian_releases_are_charged_by_their_lengths():
    one = ApproximateDP("0.1", "1e-7")
    ledger = made()
    count = taken(ledger, Cost(one, GaussianLoss(gaussian_rho(one))))
    limit = gaussian_limit(Fraction(1), Fraction(1, 10**6))
    assert 0.85 * limit / (2 * gaussian_rho(one)) < count <= limit / (2 * gaussian_rho(one))


def test_one_release_alone_costs_what_it_states():
    ledger = made(ApproximateDP(5, "1e-3"))
    one = ApproximateDP(2, "1e-6")
    ledger.charge("scans", Cost(one, GaussianLoss(gaussian_rho(one))), ENTRY)
    assert ledger.history()[-1].filter is not None
    assert ledger.spent("scans").values == (2, one.delta)


def test_large_releases_add_up_as_they_always_did():
    ledger = made()
    assert taken(ledger, small("0.1")) == 10
    assert ledger.spent("scans").values == (1, 0)
    ledger = made()
    ledger.charge("scans", PureDP("0.5"), ENTRY)
    ledger.charge("scans", ApproximateDP("0.5", "1e-6"), ENTRY)
    assert ledger.remaining("scans").values == (0, 0)
    assert all(row.filter is None for row in ledger.history())


def test_what_is_spent_is_the_sum_until_the_filter_says_less():
    ledger = made()
    for _ in range(20):
        ledger.charge("scans", small(), ENTRY)
    assert ledger.spent("scans").values == (Fraction(1, 5), 0)
    before = ledger.spent("scans")
    for _ in range(200):
        ledger.charge("scans", small(), ENTRY)
        spent = ledger.spent("scans")
        assert not before.exceeds(spent)
        before = spent
    assert Fraction(1, 2) < spent["epsilon"] < Fraction(3, 4)


def test_mixed_releases_are_let_through_while_lengths_allow_it():
    ledger = made()
    for _ in range(150):
        ledger.charge("scans", small(), ENTRY)
    ledger.charge("scans", Cost(PureDP("0.1"), BlockLoss(20, "0.1")), ENTRY)
    ledger.charge("scans", ApproximateDP("0.01", SPARE / 10**6), ENTRY)
    with pytest.raises(BudgetError, match=r"delta 0; found epsilon 0.01, delta 1e-12"):
        ledger.charge("scans", ApproximateDP("0.01", "1e-12"), ENTRY)
    with pytest.raises(BudgetError, match="must cost at most what is left of its budget"):
        ledger.charge("scans", PureDP("0.5"), ENTRY)
    with pytest.raises(IncompatibleChargeError):
        ledger.charge("scans", ZeroConcentratedDP("0.001"), ENTRY)
    state = ledger.history()[-1].filter
    assert state.failures == SPARE / 10**6
    assert Filter.from_json(state.to_json()) == state


def test_a_raised_budget_is_filled_by_the_same_filter():
    ledger = made(ApproximateDP("0.1", "1e-6"))
    count = taken(ledger, small("0.002"))
    ledger.raise_budget("scans", ApproximateDP("0.2", "1e-6"), "a second study")
    more = taken(ledger, small("0.002"))
    assert more > 2 * count
    audit(ledger.history())


def test_a_file_keeps_the_filter_and_charges_fast(tmp_path):
    ledger = Ledger(tmp_path / "ledger").create("scans", ApproximateDP(1, "1e-6"))
    times = []
    for _ in range(60):
        begin = time.process_time()
        ledger.charge("scans", small(), ENTRY)
        times.append(time.process_time() - begin)
    again = Ledger(tmp_path / "ledger")
    again.check()
    assert again.history()[-1].filter == ledger.history()[-1].filter
    assert again.history()[-1].filter.length == 60 * filter_charge(
        LaplaceLoss("0.01"), again.history()[-1].filter.buffer
    )
    assert sorted(times)[30] < 0.05


def test_a_row_that_lets_through_too_much_is_found():
    ledger = made(ApproximateDP("0.1", "1e-6"))
    taken(ledger, small("0.002"))
    rows = ledger.history()
    state = rows[-1].filter
    object.__setattr__(rows[-1], "filter", Filter(state.buffer, 2 * state.length, Fraction(9)))
    with pytest.raises(LedgerError, match="must keep within the budget"):
        audit(rows)


def test_a_loss_without_a_length_is_charged_as_its_guarantee_and_the_filter_stays():
    """By sums it would have a second delta: what lengths let through may have failed with the first."""
    ledger = made()
    ledger.charge("scans", small(), ENTRY)
    buffer = ledger.history()[-1].filter.buffer
    unknown = Cost(ApproximateDP("0.01", "1e-8"), ConcentratedLoss("0.0001"))
    ledger.charge("scans", unknown, ENTRY)
    state = ledger.history()[-1].filter
    assert state.length == filter_charge(LaplaceLoss("0.01"), buffer) + filter_charge(
        PureLoss("0.01"), buffer
    )
    assert state.failures == state.delta == Fraction(1, 10**8)
    with pytest.raises(BudgetError, match="must cost at most what is left"):
        ledger.charge("scans", Cost(ApproximateDP("0.3", "9e-7"), ConcentratedLoss("0.001")), ENTRY)


def test_a_charge_far_above_the_budget_is_refused_at_once():
    # Its squared length was bracketed by exp(10^10), written out.
    assert filter_charge(PureLoss(10**4), Fraction(1, 100)) == pytest.approx(4e10, rel=1e-3)
    ledger = made()
    ledger.charge("scans", small(), ENTRY)
    with pytest.raises(BudgetError, match="found epsilon 10000"):
        ledger.charge("scans", PureDP(10**4), ENTRY)


def test_gaussian_noise_far_below_epsilon_has_a_profile_at_once():
    """Its enclosure took as many bits as delta is small: a budget of 10^9 was never answered."""
    begin = time.process_time()
    assert 0 < gaussian_delta(Fraction(1), Fraction(1, 10**9)) <= Fraction(1, 2**8192)
    # On either side of where the bound takes over: exp(-y^2 / 2) at y = 109 and 111.
    near, far = (gaussian_delta(Fraction(2 * y + 2), Fraction(2)) for y in (109, 111))
    assert 0 < far <= near <= Fraction(1, 2**8191)
    ledger = made(ApproximateDP(10**9, "1e-6"))
    ledger.charge("scans", small("1000"), ENTRY)
    assert ledger.spent("scans")["epsilon"] == 1000
    assert time.process_time() - begin < 5
