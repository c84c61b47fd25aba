"""Noise in shares for covariances and comparisons: their laws, what one unit loses, what is left out."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpfda import PrivacyUnit, PrivateComparison, PrivateCovariance, load
from dpfda.errors import DataError, ParameterError, RefusedMechanismError, StorageError
from dpfda.noise import shared as laws
from dpfda.noise.symmetric import OuterDifference, SymmetricGaussianNoise, symmetric_mechanisms
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP, within
from dpfda.privacy.ledger import MemoryLedger
from tests.statistical import normal_only_at_its_scale

pytest.importorskip("cryptography")

from dpfda.front.custodians import agree, estimator_of, merge, part, pooled, statements
from dpfda.publication.custody import Keys, joined

POINTS, NAMES, UNITS, FUNCTIONS = 20, ("north", "south", "west"), 10, 4
KINDS = {
    "rho": ({"rho": "0.5"}, ZeroConcentratedDP(Fraction(1, 2))),
    "delta": ({"epsilon": 1, "delta": "1e-6"}, ApproximateDP(1, "1e-6")),
}
WHO = np.array(["a"] * 4 + ["b"] * 6)


def covariance(kind):
    return PrivateCovariance(
        bounds=(0, 1), center=np.full(POINTS, 0.5), mechanism="gaussian", **KINDS[kind][0]
    )


def comparison(kind):
    return PrivateComparison(bounds=(0, 1), levels=["a", "b"], mechanism="gaussian", **KINDS[kind][0])


def started(estimator, colluding=1):
    own, lead = [Keys.make(name, units=UNITS) for name in NAMES], Keys.make("registry")
    cards = [each.card for each in own]
    return own, lead, agree(estimator, cards, lead, POINTS, noise="shared", colluding=colluding)


def opened(agreement, own, lead, curves, y=None):
    total = joined(agreement, lead, [part(agreement, each, curves, y=y) for each in own])
    return np.array(total.with_noise([0] * agreement.numbers), dtype=object)


def without_noise(monkeypatch):
    for law in (laws.SharedGaussianNoise, laws.SharedLaplaceNoise, laws.SharedSymmetricNoise):
        monkeypatch.setattr(law, "share", lambda law: [0] * law.components)


def shared_law(agreement):
    return pooled(estimator_of(agreement), 3 * UNITS).sharing.law(agreement.honest)


@pytest.mark.parametrize("kind", KINDS)
def test_the_farthest_neighbours_of_a_covariance_lose_what_is_stated(kind, monkeypatch):
    """One unit deviates along the first function, then along the second, as far as the ball lets it."""
    without_noise(monkeypatch)
    totals = []
    for place in (0, 1):
        own, lead, agreement = started(covariance(kind))
        made = pooled(estimator_of(agreement), 3 * UNITS)
        functions = made.plan.basis.evaluate(made.plan.basis.grid_points)
        curves = np.full((UNITS, POINTS), 0.5)
        curves[0] += made.plan.radius * functions[:, place] / 3 / np.abs(functions).max()
        totals.append(opened(agreement, own, lead, curves))
    law, told = shared_law(agreement), statements(agreement)
    rows, columns = np.tril_indices(law.size)
    moved = (totals[1] - totals[0]) / len(NAMES)
    # Both triangles of a matrix count.
    square = sum(int(d) ** 2 * (1 + int(i != j)) for d, i, j in zip(moved, rows, columns, strict=True))
    most = OuterDifference.of(law.size, made.plan.ball.radius, made.plan.neighbours).frobenius_square
    shrunk = (1 / 3 / np.abs(functions).max()) ** 4
    assert square == pytest.approx(most * shrunk, rel=1e-3)
    assert within(told[1], KINDS[kind][1])
    assert not within(told[2], KINDS[kind][1])
    if kind == "rho":
        assert float(told[1].rho) == pytest.approx(most / law.scale**2 / 2, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_covariance_has_the_noise_of_its_law_and_no_other(kind, tmp_path):
    left = []
    for _ in range(12):
        own, lead, agreement = started(covariance(kind))
        curves = np.full((UNITS, POINTS), 0.5)
        parts = [part(agreement, each, curves) for each in own]
        # All are at the center: what is opened is noise.
        release = merge(agreement, parts, lead)
        law = release.noise
        diagonal = np.equal(*np.tril_indices(law.size))
        deviations = law.scale * np.sqrt(1.5 * np.where(diagonal, 1, 0.5))
        left += list(np.array(release.noisy_sum, dtype=float) / deviations)
        assert np.sqrt(law.variances()) == pytest.approx(deviations)
    assert normal_only_at_its_scale(left)
    assert release.certificate.guarantee == KINDS[kind][1]
    assert release.certificate.achieved == statements(agreement)[0]
    path = release.save(tmp_path / "covariance.json")
    assert load(path).noise == release.noise
    written = json.loads(path.read_text())
    # Smaller scales, or fewer shares, would not give what the file says.
    for changed in ({"scale": law.scale // 2}, {"honest": 6}, {"drawn": 1}, {"honest": 0}):
        path.write_text(json.dumps({**written, "noise": {**written["noise"], **changed}}))
        with pytest.raises(StorageError):
            load(path)


def test_no_covariance_is_asked_for_by_the_law_of_shares_and_none_of_another_is_shared():
    assert "" not in symmetric_mechanisms()
    central = SymmetricGaussianNoise(3, 10**9)
    difference = OuterDifference(10**17, 10**9, 10**8)
    with pytest.raises(RefusedMechanismError, match="can be drawn in shares"):
        laws.shared_symmetric(central, 2, difference, PureDP(1))
    with pytest.raises(RefusedMechanismError):
        laws.SharedSymmetricNoise(3, 1, 2, 2).achieved(difference, ZeroConcentratedDP(1))
    lead, cards = Keys.make("registry"), [Keys.make(name, units=UNITS).card for name in NAMES]
    pure = PrivateCovariance(1.0, bounds=(0, 1), center=np.full(POINTS, 0.5), mechanism="wishart")
    with pytest.raises(RefusedMechanismError, match="can be drawn in shares"):
        agree(pure, cards, lead, POINTS, noise="shared")
    without = [Keys.make(name).card for name in NAMES]
    unit = PrivacyUnit("person", "add-remove")
    for private in (covariance("rho"), comparison("rho")):
        private.unit = unit
        with pytest.raises(ParameterError, match="be drawn by the coordinator where the number"):
            agree(private, without, lead, POINTS, noise="shared")


@pytest.mark.parametrize("kind", KINDS)
def test_groups_have_noise_of_their_own_and_a_unit_moves_its_group_alone(kind, monkeypatch):
    own, lead, agreement = started(comparison(kind))
    law, curves = shared_law(agreement), np.full((UNITS, POINTS), 0.5)
    assert agreement.numbers == 2 * law.components + 2
    noisy = opened(agreement, own, lead, curves, WHO)
    assert [*noisy[-2:]] == [3 * 4, 3 * 6]
    # The middle of the bounds is zero in integers.
    first, second = (noisy[k * law.components : (k + 1) * law.components] for k in (0, 1))
    left = [float(z) / s for z, s in zip((*first, *second), 2 * law.scales, strict=True)]
    for _ in range(5):
        own, lead, agreement = started(comparison(kind))
        again = opened(agreement, own, lead, curves, WHO)[:-2]
        left += [float(z) / s for z, s in zip(again, 2 * law.scales, strict=True)]
    assert normal_only_at_its_scale(np.array(left) / 1.5**0.5)
    assert not np.any(first == second)
    without_noise(monkeypatch)
    totals = []
    for value in (0.0, 1.0):
        own, lead, agreement = started(comparison(kind))
        curves = np.full((UNITS, POINTS), 0.0)
        curves[0] = value
        totals.append(opened(agreement, own, lead, curves, WHO))
    moved = (totals[1] - totals[0]) / len(NAMES)
    assert not np.any(moved[law.components :])
    length = sum((int(d) / s) ** 2 for d, s in zip(moved, law.scales, strict=False)) ** 0.5
    told = statements(agreement)[1]
    assert within(told, KINDS[kind][1])
    if kind == "rho":
        assert length**2 / 2 == pytest.approx(float(told.rho), rel=1e-3)


@pytest.mark.parametrize("kind", [*KINDS, "pure"])
def test_a_comparison_is_released_with_shares_and_saved(kind, tmp_path):
    asked = comparison("rho") if kind == "pure" else comparison(kind)
    if kind == "pure":
        asked.rho, asked.epsilon, asked.mechanism = None, 1.0, "laplace"
    own, lead, agreement = started(asked)
    ledger = MemoryLedger()
    guarantee = PureDP(1) if kind == "pure" else KINDS[kind][1]
    for name in NAMES:
        ledger.create(name, guarantee, unit="record")
    curves = np.where(WHO == "a", 0.3, 0.6)[:, None] * np.ones(POINTS)
    parts = [part(agreement, each, curves, y=WHO, ledger=ledger.of(each.card.name)) for each in own]
    release = merge(agreement, parts, lead)
    assert {name: mean.count for name, mean in release.means.items()} == {"a": 12, "b": 18}
    assert release.guarantee == guarantee
    assert release["a"].noise == release["b"].noise
    assert (release["a"].noise.honest, release["a"].noise.drawn) == (2, 3)
    assert np.isfinite(release.difference("a", "b")(np.array([0.5]))).all()
    path = release.save(tmp_path / "groups.json")
    assert load(path)["b"].noise == release["b"].noise


def test_a_group_that_nobody_is_in_is_refused_before_the_charge():
    own, lead, agreement = started(comparison("rho"))
    ledger = MemoryLedger().create("sums", ZeroConcentratedDP(1), unit="record")
    parts = [part(agreement, each, np.zeros((UNITS, POINTS)), y=["a"] * UNITS) for each in own]
    with pytest.raises(DataError, match="'b' must have at least two units"):
        merge(agreement, parts, lead, ledger=ledger.of("sums"))
    assert not any(ledger.spent("sums").values)


def test_a_coalition_is_left_with_the_share_of_the_one_custodian_it_lacks(monkeypatch):
    """Of a covariance: coordinator and two of three subtract their sums and shares."""
    known, true, left = [], laws.SharedSymmetricNoise.share, []

    def kept(law):
        known.append(true(law))
        return known[-1]

    monkeypatch.setattr(laws.SharedSymmetricNoise, "share", kept)
    for _ in range(12):
        known.clear()
        own, lead, agreement = started(covariance("rho"), colluding=2)
        noisy = opened(agreement, own, lead, np.full((UNITS, POINTS), 0.5))
        law = shared_law(agreement)
        rest = noisy - sum(np.array(share, dtype=object) for share in known[1:])
        diagonal = np.equal(*np.tril_indices(law.size))
        left += list(rest.astype(float) / (law.scale * np.where(diagonal, 1, 0.5**0.5)))
    assert normal_only_at_its_scale(left)
    assert replace(law, drawn=3).power == 3 * law.power
