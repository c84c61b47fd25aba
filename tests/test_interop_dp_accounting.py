"""Releases as events of dp-accounting: its accountants find what this library finds, or more."""

import math
from fractions import Fraction
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda import Domain, PrivateMean
from dpfda.bounds import L2Ball
from dpfda.errors import ConversionError, MissingExtraError, ParameterError
from dpfda.front.interop.dp_accounting import event
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import (
    ApproximateLoss,
    BlockLoss,
    Cost,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    RangeLoss,
    compose,
)
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP, ZeroConcentratedDP
from sample_releases import KINDS, certificate_of

RELATION = dp_accounting.NeighboringRelation
GRID = np.linspace(0, 1, 8)
CURVES = np.sin(3 * GRID) * np.linspace(-0.5, 0.5, 20)[:, None]


def charged(guarantee: Guarantee, loss: Any, neighbours: str = "replace-one") -> Certificate:
    costs = {"release": Cost(guarantee, loss)}
    bound = {"description": "none"}
    return Certificate.charged(costs, Neighbours.parse(neighbours), "record", bound, {"name": "by hand"})


def delta_of(accountant: Any, one: Certificate, epsilon: float, relation: Any = None) -> float:
    made = event(one, relation=relation)
    return float(accountant.compose(made).get_delta(epsilon))


def test_gaussian_noise_is_known_exactly() -> None:
    one = charged(ZeroConcentratedDP(Fraction(1, 8)), GaussianLoss(Fraction(1, 8)))
    assert event(one).noise_multiplier == pytest.approx(2.0, rel=1e-12)
    for epsilon in (0.1, 0.5, 2.0):
        known = float(GaussianLoss(Fraction(1, 8)).delta(Fraction(epsilon)))
        assert delta_of(PLDAccountant(), one, epsilon) == pytest.approx(known, rel=1e-3)
    two = [one, charged(ZeroConcentratedDP(Fraction(1, 8)), GaussianLoss(Fraction(1, 8)))]
    total = compose(two, kind="approximate", delta=1e-6)
    assert isinstance(total, ApproximateDP)
    found = PLDAccountant().compose(event(*two)).get_epsilon(1e-6)
    assert found == pytest.approx(float(total.epsilon), rel=1e-3)


@pytest.mark.parametrize("loss", [LaplaceLoss(1), PureLoss(1), RangeLoss(1), BlockLoss(5, 1)])
@pytest.mark.parametrize("relation", [None, RELATION.REPLACE_SPECIAL, RELATION.REPLACE_ONE])
def test_a_pure_law_is_never_cheaper_than_it_is(loss: Any, relation: Any) -> None:
    one = charged(PureDP(1), loss)
    accountant: dict[str, Any] = {} if relation is None else {"neighboring_relation": relation}
    for epsilon in (0.0, 0.3, 0.7, 0.95):
        found = delta_of(PLDAccountant(**accountant), one, epsilon, relation)
        assert found >= float(loss.delta(Fraction(epsilon))) - 1e-9
    exact = isinstance(loss, LaplaceLoss) != (relation is RELATION.REPLACE_ONE)
    if exact and isinstance(loss, LaplaceLoss | PureLoss):
        found = delta_of(PLDAccountant(**accountant), one, 0.3, relation)
        if isinstance(loss, LaplaceLoss) or relation is RELATION.REPLACE_ONE:
            assert found == pytest.approx(float(loss.delta(Fraction(0.3))), rel=1e-3)
    # Wrong by a factor of two it would be far off.
    assert delta_of(PLDAccountant(**accountant), one, 0.3, relation) < float(
        PureLoss(2).delta(Fraction(0.3))
    )


@given(st.floats(1e-9, 60), st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_the_coin_lies_below_its_laplace_law(epsilon: float, share: float) -> None:
    """The claim of the module: Laplace's profile exceeds the coin's by what it says."""
    t = share * epsilon
    multiplier = event(charged(PureDP(Fraction(epsilon)), None)).noise_multiplier
    laplace = -math.expm1((t - 1 / multiplier) / 2)
    coin = -math.expm1(t - epsilon) / (1 + math.exp(-epsilon))
    gap = math.expm1(t / 2) ** 2 * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    assert laplace >= coin * (1 - 1e-12)
    assert laplace - coin == pytest.approx(gap, abs=1e-12 + 1e-9 * coin)


@pytest.mark.parametrize("name", ["default mean", "density", "covariance", "components", "comparison"])
def test_every_release_has_an_event(name: str) -> None:
    release = KINDS[name]()
    accountant = PLDAccountant().compose(event(release))
    epsilon = float(accountant.get_epsilon(1e-9))
    asked = float(release.guarantee.epsilon)
    # A coin's Laplace law has at most 2 log((1 + e^epsilon) / 2).
    assert epsilon <= 2 * math.log((1 + math.exp(asked)) / 2) * 1.001
    assert RdpAccountant().supports(event(release))


def test_a_gaussian_mean_costs_what_it_promises() -> None:
    release = PrivateMean(1.0, 1e-6, bounds=(-1, 1), mechanism="gaussian").fit(CURVES).release_
    assert PLDAccountant().compose(event(release)).get_epsilon(1e-6) == pytest.approx(1.0, rel=1e-3)


def test_copies_count_once_and_releases_add_up() -> None:
    estimator = PrivateMean(1.0, bounds=L2Ball(3.0), domain=Domain(GRID), mechanism="laplace")
    release = estimator.fit(CURVES).release_
    assert event(release, release.derivative()) == event(release)
    other = estimator.fit(CURVES).release_
    both = event(release, other)
    assert both.events == [event(release), event(other)]


def test_mixed_neighbours_are_brought_to_one() -> None:
    added = charged(PureDP(1), LaplaceLoss(1), "add-remove")
    replaced = charged(PureDP(1), LaplaceLoss(1))
    assert event(added).noise_multiplier == pytest.approx(1.0)
    # To replace is to remove and to add: twice the loss.
    multipliers = [part.noise_multiplier for part in event(added, replaced).events]
    assert multipliers == pytest.approx([0.5, 1.0])


def test_numbers_are_on_the_private_side() -> None:
    for rho in (Fraction(1, 3), Fraction(10, 7), Fraction(1, 10**6)):
        multiplier = Fraction(
            event(charged(ZeroConcentratedDP(rho), GaussianLoss(rho))).noise_multiplier
        )
        assert 1 / (2 * multiplier**2) >= rho
    assert Fraction(event(certificate_of(ZeroConcentratedDP(Fraction(1, 3)))).rho) >= Fraction(1, 3)
    assert event(certificate_of(PureDP(5000))).noise_multiplier < 1 / 9990
    told = event(certificate_of(PureDP(5000)), relation=RELATION.REPLACE_ONE)
    assert told.noise_parameter == 0.0


def test_what_has_no_event_is_refused() -> None:
    unknown = charged(ApproximateDP(1, "1e-6"), ApproximateLoss(1, "1e-6"))
    with pytest.raises(ConversionError, match="An event needs a known law, or no delta"):
        event(unknown)
    with pytest.raises(ParameterError, match="releases must be releases, one or more"):
        event()
    with pytest.raises(ParameterError, match="relation must be a NeighboringRelation"):
        event(unknown, relation="replace")  # type: ignore[arg-type]


def test_an_absent_dp_accounting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dp_accounting", None)
    with pytest.raises(MissingExtraError, match=r"dpfda\[accounting\]"):
        event(certificate_of(PureDP(1)))
