"""Epsilon as a risk: against riskcal, closed forms and attacks that are carried out."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from riskcal import analysis
from scipy import stats

from dpfda import PrivateMean, PrivateSurvival
from dpfda.errors import ParameterError
from dpfda.privacy.composition import (
    ApproximateLoss,
    BlockLoss,
    ConcentratedLoss,
    Cost,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    RangeLoss,
    account,
    attack_risk,
)
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP

RATES = np.array([0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9])


def gaussian(mu):
    rho = Fraction(mu) ** 2 / 2
    return Cost(ZeroConcentratedDP(rho), GaussianLoss(rho))


def laplace(epsilon):
    return Cost(PureDP(epsilon), LaplaceLoss(epsilon))


@pytest.mark.parametrize("mu", ["0.1", "1", "3"])
@pytest.mark.parametrize("times", [1, 4])
def test_normal_noise_has_the_risk_that_riskcal_finds(mu, times):
    risk = attack_risk([gaussian(mu)] * times)
    length = float(Fraction(mu)) * math.sqrt(times)
    assert risk.advantage == pytest.approx(analysis.get_advantage_from_gdp(length), abs=1e-3)
    expected = analysis.get_beta_from_gdp(length, RATES)
    np.testing.assert_allclose(risk.misses(RATES), expected, atol=1e-3)
    assert np.all(risk.misses(RATES) <= expected + 1e-9)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2"])
@pytest.mark.parametrize("times", [1, 10])
def test_laplace_noise_has_the_risk_that_riskcal_finds(epsilon, times):
    risk = attack_risk([laplace(epsilon)] * times)
    one = pld.from_laplace_mechanism(1 / float(epsilon), value_discretization_interval=1e-3)
    whole = one.self_compose(times)
    assert risk.advantage == pytest.approx(analysis.get_advantage_from_pld(whole), abs=1e-3)
    expected = [analysis.get_beta_from_pld(whole, rate) for rate in RATES]
    np.testing.assert_allclose(risk.misses(RATES), expected, atol=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "1e-6"), ("1", "0.01"), ("3", "1e-5")])
def test_a_law_that_is_not_known_has_the_risk_of_its_guarantee(epsilon, delta):
    (risk,) = [attack_risk([Cost(ApproximateDP(epsilon, delta))])]
    e, d = float(epsilon), float(delta)
    assert risk.advantage == pytest.approx(analysis.get_advantage_from_adp(e, d), abs=1e-9)
    expected = [analysis.get_beta_from_adp(e, d, rate) for rate in RATES]
    np.testing.assert_allclose(risk.misses(RATES), expected, atol=1e-9)


def test_an_attack_that_is_carried_out_comes_as_far_as_that():
    # The best test on one Laplace variable is a threshold; six standard errors of 400,000 draws.
    generator, draws = np.random.default_rng(4), 400_000
    risk = attack_risk([laplace(1)])
    stayed, moved = generator.laplace(size=draws), 1 + generator.laplace(size=draws)
    advantage = (moved > 0.5).mean() - (stayed > 0.5).mean()
    assert abs(advantage - risk.advantage) <= 6 * math.sqrt(0.5 / draws)
    for rate in (0.01, 0.05, 0.1):
        misses = (moved <= stats.laplace.isf(rate)).mean()
        assert abs(misses - float(risk.misses(rate))) <= 6 * math.sqrt(0.25 / draws) + 1e-3
    # Noise smaller by sqrt(2) lets through an attack beyond what is stated.
    nearer = 1 + generator.laplace(scale=1 / math.sqrt(2), size=draws)
    still = generator.laplace(scale=1 / math.sqrt(2), size=draws)
    assert (nearer > 0.5).mean() - (still > 0.5).mean() > risk.advantage + 0.05


@pytest.mark.parametrize(
    "cost",
    [
        Cost(PureDP(1)),
        Cost(PureDP(1), BlockLoss(20, 1)),
        Cost(PureDP(1), RangeLoss(1)),
        Cost(ZeroConcentratedDP("0.1"), ConcentratedLoss("0.1")),
        Cost(ApproximateDP(1, "1e-6"), ApproximateLoss(1, "1e-6")),
        Cost(PureDP(10**5), PureLoss(10**5)),
        Cost(PureDP(10**9), BlockLoss(93, 10**9)),
        Cost(PureDP(300), BlockLoss(1500, 300)),
        Cost(PureDP("1e-70"), LaplaceLoss("1e-70")),
    ],
)
def test_a_trade_off_is_a_convex_bound_between_certainty_and_guessing(cost):
    for costs in ([cost], [cost, laplace("1/2")], [cost] * 5):
        risk = attack_risk(costs)
        rates = np.linspace(0, 1, 201)
        misses = risk.misses(rates)
        assert np.all((misses >= 0) & (misses <= 1 - rates + 1e-12))
        assert np.all(np.diff(misses) <= 1e-12)
        assert np.all(np.diff(misses, 2) >= -1e-9)
        assert 0 <= risk.advantage <= 1
        assert np.all(1 - rates - misses <= risk.advantage + 1e-9)
        # More releases are no smaller a risk.
        assert risk.advantage >= attack_risk([cost]).advantage - 1e-9


def test_costs_that_add_up_in_no_kind_are_certainty():
    mixed = [Cost(ZeroConcentratedDP(10**5)), Cost(ApproximateDP(1, "1e-6"))]
    assert attack_risk(mixed).advantage == 1.0
    with pytest.raises(ParameterError, match="costs must be costs, one or more"):
        attack_risk([])
    with pytest.raises(ParameterError, match="false_alarms must be from 0 to 1"):
        attack_risk([laplace(1)]).misses([0.5, 1.5])


def test_releases_and_accounts_state_their_risk():
    mean = PrivateMean(1.0, bounds=(0, 1)).fit(np.zeros((50, 12))).release_
    survival = PrivateSurvival(1.0, domain=(0, 10)).fit(np.arange(1.0, 10), np.ones(9)).release_
    for release in (mean, survival):
        right = 100 * release.certificate.attack_risk().guess
        words = " ".join(release.describe().split())
        assert f"with this release at most {right:.1f}% are" in words
    both = account([mean, survival])
    assert both.attack_risk() == attack_risk(both.costs)
    assert both.attack_risk().advantage > mean.certificate.attack_risk().advantage
    assert "the best attacker guesses right at most" in str(both)
