"""Custodians whose units lose less than others: one masked sum with weights, and what each loses."""

import json
from dataclasses import astuple, replace
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dpfda import PrivacyUnit, PrivateMean, load
from dpfda.errors import BudgetError, CustodyError, DpfdaError, ParameterError, StorageError
from dpfda.front.app import app
from dpfda.noise import shared as laws
from dpfda.noise.gaussian import GaussianNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication.shares import Sharing
from dpfda.records import LongCurves
from tests.statistical import normal_only_at_its_scale

pytest.importorskip("cryptography")

from dpfda.front.custodians import agree, answer, merge, part, pooled, roll, statements, words
from dpfda.publication.custody import Agreement, Keys, joined, keys

POINTS, UNITS = 30, {"north": 8, "south": 12, "west": 10}
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
WEIGHTS = {"north": HALF, "west": THIRD}
KINDS = {
    "rho": (
        {"rho": "0.5", "mechanism": "gaussian"}, lambda w: ZeroConcentratedDP(w**2 / 2),
    ),
    "delta": (
        {"epsilon": 1, "delta": "1e-6", "mechanism": "gaussian"}, lambda w: ApproximateDP(w, "1e-6"),
    ),
    "pure": ({"epsilon": 1, "mechanism": "laplace"}, PureDP),
}  # fmt: skip


def asked_for(kind):
    return PrivateMean(bounds=(0, 1), **KINDS[kind][0])


def started(kind="rho", weights=WEIGHTS, **rules):
    own, lead = [Keys.make(name, units=n) for name, n in UNITS.items()], Keys.make("registry")
    cards = [each.card for each in own]
    return own, lead, agree(asked_for(kind), cards, lead, POINTS, "shared", weights=weights, **rules)


def constant(own, values=(0.2, 0.4, 0.8)):
    rows = zip(own, values, strict=True)
    return [(each, np.full((each.card.units, POINTS), value)) for each, value in rows]


def exact_totals(agreement, own, lead, records, monkeypatch):
    """The total without noise, as nobody but this test can open it."""
    for law in (laws.SharedGaussianNoise, laws.SharedLaplaceNoise):
        monkeypatch.setattr(law, "share", lambda law: [0] * law.components)
    total = joined(agreement, lead, [part(agreement, each, X) for each, X in records])
    return np.array(total.with_noise([0] * agreement.numbers), dtype=object)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNITS)
def test_the_farthest_neighbours_lose_what_is_stated_and_no_statement_is_wrong_by_the_root_of_two(
    kind, name, monkeypatch
):
    """One unit of one custodian goes from one bound to the other: as far as any can move the sum."""
    weight, scaled = WEIGHTS.get(name, Fraction(1)), KINDS[kind][1]
    totals = []
    for value in (0.0, 1.0):
        own, lead, agreement = started(kind)
        records = constant(own, (0.0, 0.0, 0.0))
        for each, X in records:
            X[0] = value if each.card.name == name else 0.0
        totals.append(exact_totals(agreement, own, lead, records, monkeypatch))
    told = statements(agreement, name)[0]
    assert within(told, scaled(weight))
    moved = totals[1] - totals[0]
    planned = sum(int(WEIGHTS.get(k, 1) * 60) * n for k, n in UNITS.items()) // 60
    law = pooled(asked_for(kind), planned, POINTS).sharing.law(3)
    if kind == "pure":
        lost = sum(abs(int(d)) / b for d, b in zip(moved, law.scales, strict=True))
        # Of the l2 ball that the scales are for, a constant curve is not the worst direction.
        assert 0.2 * float(told.epsilon) < lost <= float(told.epsilon)
        return
    length = sum((int(d) / s) ** 2 for d, s in zip(moved, law.scales, strict=True)) ** 0.5
    if kind == "rho":
        assert length**2 / 2 == pytest.approx(float(told.rho), rel=1e-6)
        assert length**2 / 2 <= float(told.rho)
        return
    normal = GaussianNoise((10**12,)).achieved("l2", round(length * 10**12), told)
    assert float(normal.delta) == pytest.approx(float(told.delta), rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_every_custodian_is_charged_what_its_units_lose_before_its_share_is_drawn(kind, monkeypatch):
    own, lead, agreement = started(kind, colluding=1)
    ledger, scaled = MemoryLedger(), KINDS[kind][1]
    drawn = laws.SharedLaplaceNoise if kind == "pure" else laws.SharedGaussianNoise
    true, seen = drawn.share, []

    def late(law):
        seen.append(sum(any(ledger.spent(name).values) for name in UNITS))
        return true(law)

    monkeypatch.setattr(drawn, "share", late)
    for name in UNITS:
        ledger.create(name, scaled(WEIGHTS.get(name, Fraction(1))), unit="record")
    ledger.create("less", scaled(Fraction(9, 20)), unit="record")
    made = []
    for each, X in constant(own):
        name = each.card.name
        if name == "north":
            with pytest.raises(BudgetError):
                part(agreement, each, X, ledger=ledger.of("less"))
        made.append(part(agreement, each, X, ledger=ledger.of(name)))
    assert seen == [1, 2, 3]
    for name in UNITS:
        lost, weight = statements(agreement, name)[1], WEIGHTS.get(name)
        # All of the budget is charged as it was asked for; less, as it is computed.
        expected = scaled(Fraction(1)) if weight is None else lost
        assert ledger.spent(name).values == astuple(expected)
        assert weight is None or within(lost, scaled(weight))
    assert merge(agreement, made, lead).count == pytest.approx(8 / 2 + 12 + 10 / 3, rel=1e-12)


def test_the_release_is_the_mean_with_these_weights_and_its_noise_that_of_the_whole_budget(monkeypatch):
    left = []
    known, true = [], laws.SharedGaussianNoise.share

    def kept(law):
        known.append(true(law))
        return known[-1]

    for _ in range(20):
        own, lead, agreement = started()
        monkeypatch.setattr(laws.SharedGaussianNoise, "share", kept)
        known.clear()
        release = merge(agreement, [part(agreement, each, X) for each, X in constant(own)], lead)
        noise = np.array(release.noisy_sum, dtype=object)
        shares = sum(np.array(share, dtype=object) for share in known)
        left += [int(z) / s for z, s in zip(shares, release.noise.scales, strict=True)]
        step = 2.0**-release.exponent / release.count
        line = (noise - shares).astype(float) * step
        functions = (
            release.basis.functions[:, : line.size] if hasattr(release.basis, "functions") else None
        )
        assert functions is None or release.center + functions @ line == pytest.approx(
            (4 * 0.2 + 12 * 0.4 + 10 / 3 * 0.8) / (4 + 12 + 10 / 3), abs=1e-9
        )
    assert normal_only_at_its_scale(left)
    assert release.certificate.guarantee == ZeroConcentratedDP(HALF)
    assert "need not be the number of records" in " ".join(release.describe().split())


SUMS = st.lists(st.integers(-(10**6), 10**6), min_size=4, max_size=4)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["l1", "l2", "linf", "box"]), SUMS, SUMS, st.integers(20, 4000),
    st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=50),
)  # fmt: skip
def test_no_unit_moves_a_weighed_sum_further_than_its_loss_is_computed_for(
    norm, one, step, width, weight
):
    """Rounding included; `step` is made a difference of neighbours."""
    sizes = {
        "l1": sum(map(abs, step)), "linf": max(map(abs, step)), "box": max(map(abs, step)),
        "l2": isqrt(sum(d * d for d in step)) + 1,
    }  # fmt: skip
    step = [int(d * width / max(sizes[norm], width)) for d in step]
    widths = (width, width // 2, width, 0) if norm == "box" else width
    step = [0 if norm == "box" and size == 0 else max(-size, min(size, d)) if norm == "box" else d
            for d, size in zip(step, widths if norm == "box" else [0] * 4, strict=True)]  # fmt: skip
    sharing = Sharing(None, GaussianNoise((100,) * 4), norm, widths, ZeroConcentratedDP(1))
    try:
        factor, allowed = sharing.moved(weight)
    except ParameterError:
        assert weight * width < 14
        return
    first, second = (
        IntegerSum.of(each).weighed(factor).with_noise([0] * 4)
        for each in (one, [a + b for a, b in zip(one, step, strict=True)])
    )
    moved = [abs(a - b) for a, b in zip(first, second, strict=True)]
    assert 0 < factor < weight
    if norm == "box":
        assert all(m <= size for m, size in zip(moved, allowed, strict=True))
        assert all(size <= weight * whole for size, whole in zip(allowed, widths, strict=True))
        return
    length = {"l1": sum(moved), "linf": max(moved), "l2": sum(m * m for m in moved) ** 0.5}[norm]
    assert length <= allowed < weight * width


@settings(max_examples=200, deadline=None)
@given(
    SUMS, SUMS, st.integers(1, 400), st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=50)
)
def test_no_unit_of_an_ellipsoid_or_of_parts_moves_a_weighed_sum_further(one, step, scale, weight):
    """Their loss is held to what is stated, with unlike scales and coordinates that no side is of."""
    law = GaussianNoise((200 * scale, 300 * scale, 250 * scale, 999 * scale))
    for sharing in (
        Sharing(None, law, "ellipsoid", (90 * scale, 80 * scale, 7, 70 * scale), ZeroConcentratedDP(1)),
        Sharing(None, law, "box", (90 * scale, 0, 0, 70 * scale), ZeroConcentratedDP(1), along=True),
    ):
        whole = law.achieved(sharing.norm, sharing.width, ZeroConcentratedDP(1)).rho
        lost = sum(Fraction(d, s) ** 2 for d, s in zip(step, law.scales, strict=True)) / 2
        # Any step that loses no more than a unit does without a weight.
        short = Fraction(0.999999 * float(whole / max(lost, whole)) ** 0.5)
        moved = [int(short * d) for d in step]
        try:
            factor, allowed = sharing.moved(weight)
        except ParameterError:
            assert weight * scale < 50
            continue
        first, second = (
            IntegerSum.of(each).weighed(factor).with_noise([0] * 4)
            for each in (one, [a + b for a, b in zip(one, moved, strict=True)])
        )
        ends = zip(first, second, law.scales, strict=True)
        found = sum(Fraction(a - b, s) ** 2 for a, b, s in ends) / 2
        told = law.achieved(sharing.norm, allowed, ZeroConcentratedDP(1)).rho
        assert found <= told <= weight**2 * whole


def test_no_masked_total_is_rounded():
    sharing = Sharing(None, GaussianNoise((9, 9)), "l2", 9, ZeroConcentratedDP(1))
    assert sharing.moved(Fraction(1)) == (1, 9)
    with pytest.raises(ParameterError, match="weights must leave a unit more than rounding moves"):
        sharing.moved(Fraction(1, 9))
    with pytest.raises(DpfdaError, match="cannot be rounded"):
        IntegerSum.modulo([5], 1, 2**64).weighed(HALF)


def test_only_those_present_count_and_the_custodian_of_weight_one_may_vanish():
    own, lead, agreement = started(threshold=2)
    made = [part(agreement, each, X) for each, X in constant(own) if each.card.name != "south"]
    called = roll(agreement, made, lead)
    answers = [answer(agreement, each, called) for each in own if each.card.name != "south"]
    release = merge(agreement, made, lead, answers=answers)
    assert release.count == pytest.approx(8 / 2 + 10 / 3, rel=1e-12)


def test_a_custodian_on_a_grid_of_its_own_hands_over_points():
    """Each reads its curves onto the agreed grid: straight lines stay what they are."""
    own, lead = [Keys.make(name, units=n) for name, n in UNITS.items()], Keys.make("registry")
    unit = PrivacyUnit("person")
    mean = PrivateMean(rho=10**6, bounds=(0, 1), mechanism="gaussian", unit=unit, missing="complete")
    agreement = agree(
        mean, [each.card for each in own], lead, np.linspace(0, 1, POINTS), "shared", weights=WEIGHTS
    )
    made = []
    for each, points in zip(own, (11, 30, 7), strict=True):
        grid, n = np.linspace(0, 1, points), each.card.units
        X = LongCurves(np.repeat(np.arange(n), points), np.tile(grid, n), np.tile(grid, n))
        made.append(part(agreement, each, X))
    release = merge(agreement, made, lead)
    assert release(np.array([0.1, 0.5, 0.9])) == pytest.approx([0.1, 0.5, 0.9], abs=0.02)


def test_weights_that_cannot_be_kept_are_refused():
    _, lead, agreement = started()
    cards = agreement.custodians
    for weights, found in (
        ({"north": 1}, "strictly between 0 and 1"),
        ({"north": 0}, "strictly between 0 and 1"),
        ({"north": Fraction(1, 10**7)}, "denominator of at most a million"),
        ({"north": "half"}, "weights must be a finite number"),
        ({"east": HALF}, "name custodians among north, south, west"),
        (dict.fromkeys(UNITS, HALF), "leave out the custodian whose units may lose all"),
    ):
        with pytest.raises(ParameterError, match=found):
            agree(asked_for("rho"), cards, lead, POINTS, "shared", weights=weights)
    with pytest.raises(ParameterError, match="where the coordinator draws the noise"):
        agree(asked_for("rho"), cards, lead, POINTS, weights=WEIGHTS)
    unit = PrivacyUnit("person", "add-remove", 30)
    private = PrivateMean(rho=1, bounds=(0, 1), mechanism="gaussian", unit=unit)
    without = [Keys.make(name).card for name in UNITS]
    with pytest.raises(ParameterError, match="where the number of units is private"):
        agree(private, without, lead, POINTS, "shared", weights=WEIGHTS)
    assert statements(agreement) == statements(agreement, "south")
    with pytest.raises(CustodyError, match="must name the custodian"):
        statements(agreement, "east")


def test_nobody_changes_a_weight_on_its_way(tmp_path):
    _, lead, agreement = started()
    path = agreement.save(tmp_path / "agreed.json")
    again = Agreement.load(path)
    assert (again.digest, dict(again.weights)) == (agreement.digest, WEIGHTS)
    with pytest.raises(StorageError, match="version"):
        keys.opened(path, Agreement.FORMAT, (1, 2, 3))
    written = json.loads(path.read_text())
    for changed in (
        {"weights": {"north": "1/2"}},
        {"weights": {}},
        {"version": 3},
        {"noise": "central"},
    ):
        path.write_text(json.dumps({**written, **changed}))
        with pytest.raises(CustodyError, match="must be as it was signed"):
            Agreement.load(path)
    # A coordinator may sign anything: what it may not is refused by name or as damage, whatever it is.
    odd = ["0", "-1/2", "3/2", "1/0", "1" * 5000, "1e-9", 0.5, None, {}, "1/2 "]
    for weights in [*({"north": value} for value in odd), {"east": "1/2"}, ["north"], "north"]:
        content = {**agreement.content, "weights": weights}
        path.write_text(json.dumps({**content, "signature": lead.sign(content)["signature"]}))
        with pytest.raises((StorageError, CustodyError)):
            Agreement.load(path)


def test_a_coordinator_that_tells_custodians_different_weights_opens_nothing():
    own, lead, agreement = started()
    other = replace(agreement, weights={"north": HALF}).signed(lead)
    assert other.fingerprint != agreement.fingerprint
    records = constant(own)
    made = [part(deal, *each) for deal, each in zip((agreement, other, other), records, strict=True)]
    with pytest.raises(CustodyError, match="must be made under this agreement"):
        merge(agreement, made, lead)


def test_weights_by_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        done = CliRunner().invoke(app, [*map(str, arguments)])
        assert done.exit_code == 0, done.output
        return done.stdout

    for name, units in UNITS.items():
        run("keys", name, "--units", units)
        header = ",".join(map(str, range(POINTS)))
        X = np.full((units, POINTS), 0.3)
        np.savetxt(f"{name}.csv", X, delimiter=",", header=header, comments="")
        run("ledger", "create", f"{name}.db", "--dataset", "own", "--rho", 1, "--unit", "record")
    run("keys", "registry")
    told = run(
        "agree", "mean", *(f"{name}.card" for name in UNITS), "--keys", "registry.keys", "--rho", "0.5",
        "--bounds", 0, 1, "--mechanism", "gaussian", "--grid", f"0:{POINTS - 1}:1", "--noise", "shared",
        "--custodian-weights", "north:1/2,west:1/3", "--out", "agreed.json",
    )  # fmt: skip
    agreement = Agreement.load("agreed.json")
    assert dict(agreement.weights) == WEIGHTS
    assert words(agreement) in told
    assert "weight 1/2:   what units of north lose\n  to readers:                    0.12499" in told
    for name in UNITS:
        run(
            "part", f"{name}.csv", "--agreement", "agreed.json", "--keys", f"{name}.keys",
            "--fingerprint", agreement.fingerprint, "--ledger", f"{name}.db", "--dataset", "own",
            "--out", f"{name}.part",
        )  # fmt: skip
    assert "0.12499" in run("ledger", "show", "north.db", "--dataset", "own")
    parts = [f"{name}.part" for name in UNITS]
    run("merge", *parts, "--agreement", "agreed.json", "--keys", "registry.keys", "--out", "fa.json")
    assert load("fa.json").count == pytest.approx(8 / 2 + 12 + 10 / 3)
