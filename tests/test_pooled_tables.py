"""Tables of shares of several custodians, and means of people seen at a few times, as parts of one."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpfda import Domain, PrivacyUnit, PrivateMean, PrivateSurvival, load
from dpfda.bounds import L2Ball
from dpfda.errors import CustodyError, DataError, ParameterError, StorageError
from dpfda.mean.variants import prepare_pooled
from dpfda.noise.shared import SharedGaussianNoise, SharedLaplaceNoise
from dpfda.privacy.guarantees import PureDP, ZeroConcentratedDP
from dpfda.records import LongCurves
from dpfda.releases.combined import CombinedMean
from dpfda.testing import exact_totals

pytest.importorskip("cryptography")

from dpfda.front.custodians import agree, estimator_of, merge, part, pooled, statements
from dpfda.publication.custody import Keys, joined

NAMES, SIZES = ("east", "north", "west"), (30, 50, 20)
GENERATOR = np.random.default_rng(7)
ENDS = Domain(domain_range=(0, 1))
GRID = np.linspace(0, 1, 40)
BUDGETS = {"pure": {"epsilon": 1}, "rho": {"rho": 0.5}}
GUARANTEES = {"pure": PureDP(1), "rho": ZeroConcentratedDP(0.5)}


def visits(persons, each=3, first=0):
    who = np.repeat(np.arange(persons) + first, each)
    times = GENERATOR.uniform(0, 1, who.size)
    values = wave(times) + 0.05 * GENERATOR.standard_normal(who.size)
    return LongCurves(who, times, np.clip(values, 0, 1))


def wave(times):
    return 0.5 + 0.3 * np.sin(2 * np.pi * np.asarray(times))


def together(parts):
    """All of several holders' visits, whose labels differ."""
    columns = zip(*((each.ids, each.times, each.values) for each in parts), strict=True)
    return LongCurves(*(np.concatenate(column) for column in columns))


def sparse(unit="person", **asked):
    return PrivateMean(bounds=(0, 1), missing="pooled", domain=ENDS, unit=unit, **asked)


def survival(unit="person", **asked):
    return PrivateSurvival(domain=(0, 1000), unit=unit, **asked)


def started(estimator, private=False, **rules):
    sizes = zip(NAMES, SIZES, strict=True)
    own = [Keys.make(name, None if private else size) for name, size in sizes]
    lead = Keys.make("registry")
    return own, lead, agree(estimator, [keys.card for keys in own], lead, **rules)


@pytest.mark.parametrize("private", [False, True])
def test_the_total_of_visits_is_that_of_one_fit(private):
    unit = PrivacyUnit("person", "add-remove", 100) if private else "person"
    own, lead, agreement = started(sparse(unit, epsilon=1), private)
    held = [visits(size, first=100 * k) for k, size in enumerate(SIZES)]
    parts = [part(agreement, keys, X) for keys, X in zip(own, held, strict=True)]
    whole = prepare_pooled(sparse(unit, epsilon=1), together(held), None)
    opened = joined(agreement, lead, parts)
    assert exact_totals(opened) == exact_totals(whole.total)
    assert opened.count_with_noise(0, 1) == sum(SIZES)
    release = merge(agreement, parts, lead)
    assert release.shares.noise == whole.plan.table.law
    assert (release.guarantee, release.unit) == (PureDP(1), "person")
    assert release.public_units == (None if private else 100)


def test_the_total_of_follow_ups_is_that_of_one_fit():
    own, lead, agreement = started(survival(epsilon=1))
    held = [(GENERATOR.uniform(0, 1200, n), GENERATOR.uniform(size=n) < 0.7) for n in SIZES]
    parts = [part(agreement, k, time, y=event) for k, (time, event) in zip(own, held, strict=True)]
    whole = survival(epsilon=1).prepare(*map(np.concatenate, zip(*held, strict=True)))
    assert exact_totals(joined(agreement, lead, parts)) == exact_totals(whole.total)
    release = merge(agreement, parts, lead)
    assert release.shares.noise == whole.plan.table.law
    assert np.all(np.diff(release(np.linspace(0, 1000, 50))) <= 0)
    with pytest.raises(ParameterError, match="levels"):
        started(survival(epsilon=1, levels=["a", "b"]))


@pytest.mark.parametrize("kind", BUDGETS)
@pytest.mark.parametrize("summary", [sparse, survival])
def test_tables_have_noise_in_shares(summary, kind, tmp_path, monkeypatch):
    estimator = summary(**BUDGETS[kind])
    law = {"pure": SharedLaplaceNoise, "rho": SharedGaussianNoise}[kind]

    def records(size, value=0.3):
        if summary is sparse:
            return LongCurves(np.arange(size), np.full(size, 0.5), np.full(size, value)), None
        return np.full(size, 1000 * value), np.ones(size, dtype=bool)

    own, lead, agreement = started(estimator, noise="shared", colluding=1)
    held = [records(size) for size in SIZES]
    parts = [part(agreement, k, X, y=y) for k, (X, y) in zip(own, held, strict=True)]
    release = merge(agreement, parts, lead)
    assert isinstance(release.shares.noise, law)
    assert release.guarantee == GUARANTEES[kind]
    assert release.certificate.achieved == statements(agreement)[0]
    path = release.save(tmp_path / "table.json")
    assert load(path).shares.noise == release.shares.noise
    written = json.loads(path.read_text())
    held_in = written if "noise" in written else written["shares"]
    held_in["noise"]["scale"] //= 2
    path.write_text(json.dumps(written))
    with pytest.raises(StorageError):
        load(path)
    # One unit that moves as far as any can loses what is stated, and no less by the root of two.
    monkeypatch.setattr(law, "share", lambda law: [0] * law.components)
    totals = []
    for value in (0.0, 1.0):
        own, lead, agreement = started(estimator, noise="shared", colluding=1)
        held = [records(size, 0.0) for size in SIZES]
        changed = np.r_[value, np.zeros(SIZES[0] - 1)]
        if summary is sparse:
            held[0] = LongCurves(np.arange(SIZES[0]), np.full(SIZES[0], 0.5), changed), None
        else:
            held[0] = 999 * changed, held[0][1]
        parts = [part(agreement, k, X, y=y) for k, (X, y) in zip(own, held, strict=True)]
        totals.append(np.array(exact_totals(joined(agreement, lead, parts)), dtype=float))
    moved, scale = np.abs(totals[1] - totals[0]), release.shares.noise.scales[0]
    told = statements(agreement)[1]
    lost = moved.sum() / scale if kind == "pure" else (moved @ moved) / scale**2 / 2
    stated = float(told.epsilon if kind == "pure" else told.rho)
    assert stated / 1.01 < lost <= stated * (1 + 1e-9)


def test_what_a_table_cannot_do_is_refused():
    own, _, agreement = started(sparse(epsilon=1))
    assert pooled(estimator_of(agreement), sum(SIZES)).numbers == agreement.numbers
    with pytest.raises(DataError, match="30 units"):
        part(agreement, own[0], visits(29))
    part(agreement, own[0], visits(30))
    with pytest.raises(CustodyError):
        part(agreement, own[0], visits(30))


# Beside whole curves.


def parts_of_one_mean(**changed):
    dense = PrivateMean(1.0, **{"bounds": (0, 1), "domain": Domain(grid_points=GRID), **changed})
    curves = np.clip(wave(GRID) + 0.1 * GENERATOR.standard_normal((400, 1)), 0, 1)
    few = PrivateMean(2.0, bounds=(0, 1), domain=ENDS, unit=changed.get("unit", "record"))
    labelled = visits(900)
    return dense.fit(curves).release_, few.fit(labelled, groups=None).release_


def test_whole_curves_and_visits_are_one_measurement(tmp_path: Path):
    whole, few = parts_of_one_mean()
    both, turned = whole.combined(few, apart=True), few.combined(whole, apart=True)
    assert isinstance(both, CombinedMean)
    assert both.jointly
    assert both.guarantee == turned.guarantee == PureDP(2)
    assert both.combined(parts_of_one_mean()[1]).guarantee == PureDP(4)
    assert whole.combined(few).guarantee == PureDP(3)
    np.testing.assert_allclose(both(GRID), turned(GRID), atol=1e-6)
    error = np.sqrt(np.mean((both(GRID) - wave(GRID)) ** 2))
    assert error < 0.05
    band = both.band(points=GRID)
    assert np.all((band.lower <= wave(GRID)) & (wave(GRID) <= band.upper))
    assert "population" in both.describe()
    again = load(both.save(tmp_path / "both.json"))
    np.testing.assert_array_equal(again(GRID), both(GRID))
    written = json.loads((tmp_path / "both.json").read_text())
    for change in ({"apart": None}, {"second": written["first"]}):
        (tmp_path / "both.json").write_text(json.dumps({**written, **change}))
        with pytest.raises(StorageError):
            load(tmp_path / "both.json")


def test_many_visits_leave_less_error_than_few_curves_alone():
    """Each part counts by what it measured: adding 20 times the people must not make it worse."""
    alone, both = [], []
    for _ in range(4):
        few = np.clip(wave(GRID) + 0.1 * GENERATOR.standard_normal((60, 1)), 0, 1)
        whole = PrivateMean(0.5, bounds=(0, 1), domain=Domain(grid_points=GRID)).fit(few).release_
        more = PrivateMean(2.0, bounds=(0, 1), domain=ENDS).fit(visits(3000)).release_
        joint = whole.combined(more, apart=True)
        for kept, release in ((alone, whole), (both, joint)):
            kept.append(np.mean((release(GRID) - wave(GRID)) ** 2))
    assert np.mean(both) < np.mean(alone) / 10


def test_visits_are_no_part_of_an_average():
    few = parts_of_one_mean()[1]
    ball = PrivateMean(1.0, bounds=L2Ball(1.0), domain=Domain(grid_points=GRID), mechanism="laplace")
    other = ball.fit(np.full((50, GRID.size), 0.4)).release_
    with pytest.raises(ParameterError, match="default lines of means between bounds"):
        other.combined(few, apart=True)
    with pytest.raises(ParameterError, match="another charge"):
        few.combined(few)


def test_few_visits_and_whole_curves_of_other_grids_are_in_one_agreement():
    """Three visits a person, whole curves on the grid, and many times of each person's own."""
    own, lead, agreement = started(sparse(rho=10**5, mechanism="gaussian"), noise="shared", colluding=1)
    grid = pooled(estimator_of(agreement), sum(SIZES)).plan.ends
    assert grid == (0, 1)
    held = [visits(SIZES[0]), np.tile(wave(GRID), (SIZES[1], 1)), visits(SIZES[2], 200)]
    parts = []
    for keys, X in zip(own, held, strict=True):
        parts.append(part(agreement, keys, X))
    release = merge(agreement, parts, lead)
    at = np.linspace(0.1, 0.9, 9)
    assert release(at) == pytest.approx(wave(at), abs=0.06)
