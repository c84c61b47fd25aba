"""Zero-concentrated privacy as an argument of estimators, in the place of epsilon."""

import math
from typing import Any

import numpy as np
import pytest

from dpfda import (
    Domain,
    PrivacyUnit,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateMean,
)
from dpfda.bounds import L2Ball
from dpfda.covariance.strategies import Center
from dpfda.errors import BudgetError, ParameterError, RefusedMechanismError
from dpfda.privacy.guarantees import PureDP, ZeroConcentratedDP, pure_part, within
from dpfda.privacy.ledger import MemoryLedger

GRID = np.linspace(0.0, 1.0, 12)
CURVES = np.sin(3 * GRID) + np.linspace(-0.4, 0.4, 60)[:, None]
POINTS = np.linspace(0.01, 0.99, 200)
COUNTED = PrivacyUnit(neighbours="add-remove")
RELEASES: dict[str, Any] = {
    "mean": lambda: PrivateMean(rho=0.1, bounds=(-2, 2)).fit(CURVES),
    "counted": lambda: PrivateMean(rho=0.1, bounds=(-2, 2), unit=COUNTED).fit(CURVES),
    "path": lambda: PrivateMean(rho=0.1, bounds=(-2, 2), mechanism="gaussian-process").fit(CURVES),
    "groups": lambda: PrivateComparison(rho=0.1, bounds=(-2, 2)).fit(CURVES, np.arange(60) % 2),
    "covariance": lambda: PrivateCovariance(rho=0.1, bounds=(-2, 2), center="private").fit(CURVES),
    "components": lambda: PrivateFPCA(rho=0.1, center=Center(0.0, radius=1.0)).fit(CURVES),
    "directions": lambda: PrivateFPCA(
        rho=0.1, center=Center("private", radius=1.0), bounds=(-2, 2), mechanism="exponential"
    ).fit(CURVES),
    "counts": lambda: PrivateDensity(rho=0.1, domain=(0, 1), noise="gaussian").fit(POINTS),
}


@pytest.mark.parametrize("name", RELEASES)
def test_every_summary_promises_rho_and_spends_nearly_all_of_it(name):
    release = RELEASES[name]().release_
    release = release[release.names[0]] if name == "groups" else release
    assert release.guarantee == ZeroConcentratedDP("0.1")
    assert within(release.certificate.achieved, release.guarantee)
    assert float(release.certificate.achieved.rho) > 0.0999
    assert "zero-concentrated" in release.describe()


def test_noise_has_the_scale_of_rho_and_no_other():
    mean = PrivateMean(rho=0.5, bounds=L2Ball(1.0), mechanism="gaussian", domain=Domain(GRID))
    release = mean.fit(CURVES).release_
    # Two units differ by twice the radius: rho = (2 R / s)^2 / 2, so s = 2 R / (2 rho)^(1/2).
    radius = mean.prepare(CURVES).plan.ball.radius
    scale = float(release.noise.scales[0])
    assert scale == pytest.approx(2 * radius / math.sqrt(2 * 0.5), rel=1e-6)
    counts = PrivateDensity(rho=0.5, domain=(0, 1), cells=4, noise="gaussian").fit(POINTS).release_
    assert float(counts.raw.noise.scales[0]) == pytest.approx(math.sqrt(2) * 2**20, rel=1e-6)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "epsilon must be a number; found None. It has no default: choose it, or rho in its place"),
        ({"epsilon": 1, "rho": 0.1}, "rho must be given instead of epsilon, not beside it; found 0.1"),
        ({"rho": 0.1, "delta": 1e-6}, "delta must be 0 beside rho"),
        ({"rho": 0}, "rho must be positive; found 0"),
        ({"rho": float("nan")}, "rho must be finite"),
        ({"rho": 1e-30}, "rho must lie between 1e-18 and 1e9"),
    ],
)
def test_exactly_one_of_epsilon_and_rho(given, words):
    with pytest.raises(ParameterError, match=words):
        PrivateMean(bounds=(-2, 2), **given).fit(CURVES)


def test_noise_that_has_no_such_guarantee_is_refused():
    with pytest.raises(RefusedMechanismError, match="mechanism must be 'auto' or 'gaussian' under rho"):
        PrivateCovariance(rho=0.1, bounds=(-2, 2), mechanism="wishart").fit(CURVES)


def test_a_ledger_of_rho_is_charged_rho():
    ledger = MemoryLedger().create("scans", ZeroConcentratedDP("0.25"))
    mean = PrivateMean(rho=0.125, bounds=(-2, 2), ledger=ledger.of("scans"))
    mean.fit(CURVES).fit(CURVES)
    assert ledger.spent("scans")["rho"] == 0.25
    with pytest.raises(BudgetError):
        mean.fit(CURVES)


def test_laplace_noise_on_counts_has_the_largest_epsilon_that_costs_rho():
    release = PrivateDensity(rho=0.125, domain=(0, 1), noise="laplace").fit(POINTS).release_
    assert release.guarantee == ZeroConcentratedDP("0.125")
    (cost,) = release.certificate.costs
    epsilon = float(cost.loss.epsilon)
    assert cost.loss.kind == "laplace"
    assert epsilon + math.expm1(-epsilon) == pytest.approx(0.125, rel=1e-9)
    assert epsilon > 0.5
    assert pure_part(PureDP(2)) == PureDP(2)
