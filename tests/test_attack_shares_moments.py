"""Attacks by somebody who wrote none of it: shared noise, moments, the sampler, combined means.

What broke is said at its test. The others are kept because they would notice a break.
"""

from __future__ import annotations

import copy
import gc
import json
import math
import pickle
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpfda import PrivacyUnit, PrivateCurveSampler, PrivateMean, PrivateScalarOnFunction, Reading
from dpfda.errors import BudgetError, CustodyError, DpfdaError, StorageError
from dpfda.front.custodians import agree, merge, part, statements
from dpfda.mechanisms import COUNT_SCALE
from dpfda.noise.shared import SharedGaussianNoise
from dpfda.noise.symmetric import OuterDifference
from dpfda.numerics import drawing, exactness
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication import Prepared
from dpfda.publication.custody import Keys, joined
from dpfda.releases.base import load
from dpfda.releases.moments import filled
from dpfda.sampler.estimator import SamplerPlan
from dpfda.sampler.release import COUNT

POINTS = 12
RHO: dict[str, Any] = {"rho": 0.5, "mechanism": "gaussian"}
SHARED: list[dict[str, Any]] = [
    RHO,
    {"epsilon": 1, "mechanism": "laplace"},
    {"epsilon": 1, "delta": "1e-6", "mechanism": "gaussian"},
]
RELATIONS = ("replace-one", "add-remove")


def unit_of(relation: str, size: int = 20) -> PrivacyUnit:
    return PrivacyUnit("person", relation, size if relation == "add-remove" else None)


def started(
    asked: dict[str, Any], custodians: int = 2, units: int | None = 10, **given: Any
) -> tuple[list[Keys], Keys, Any]:
    own, lead = [Keys.make(f"c{i}", units) for i in range(custodians)], Keys.make("registry")
    unit = given.pop("unit", None)
    mean = PrivateMean(bounds=(0, 1), unit=unit, **asked)
    cards = [keys.card for keys in own]
    return own, lead, agree(mean, cards, lead, POINTS, noise="shared", **given)


# Noise in shares.


@pytest.mark.parametrize("asked", SHARED, ids=str)
def test_nobody_opens_the_number_of_units_where_it_is_private(asked: dict[str, Any]) -> None:
    """It broke: the coordinator opened 17 persons, and 16 of the neighbour, without any noise."""
    records, seen = np.full((10, POINTS), 0.3), []
    for persons in (7, 6):
        own, lead, agreement = started(asked, units=None, unit=unit_of("add-remove"))
        parts = [part(agreement, own[0], records[:persons]), part(agreement, own[1], records)]
        seen.append(joined(agreement, lead, parts).count_with_noise(0, 1))
        assert merge(agreement, parts, lead).count == 20
    assert seen[0] == seen[1]


def test_no_key_of_a_custodian_burns_the_budget_of_another() -> None:
    """It broke: with a key of small order on a third card each try charged, and gave no part."""
    own, lead, agreement = started(RHO, 3)
    broken = replace(own[2].card, exchange=bytes(32))
    forged = replace(agreement, custodians=[own[0].card, own[1].card, broken]).signed(lead)
    ledger = MemoryLedger().create("own", ZeroConcentratedDP(Fraction(1)), unit="record")
    with pytest.raises(CustodyError, match="public key of c2 cannot be used"):
        part(forged, own[0], np.full((10, POINTS), 0.3), ledger=ledger.of("own"))
    assert ledger.spent("own").values == (0,)


def test_what_is_said_of_large_coalitions_is_true_or_not_said() -> None:
    """It broke: delta was capped at 1 - 2^-20 where one share in ten leaves 1 - 2e-14.

    The second road is the profile of one normal variable, in the tail.
    """
    _, _, agreement = started({"epsilon": 50, "delta": "1e-6", "mechanism": "gaussian"}, 10)
    told = statements(agreement)
    assert 0 in told
    assert 9 not in told
    law, epsilon = SharedGaussianNoise((2**30,), 10, 10), Fraction(10)
    shift = 3 * 2**30
    for drawn in range(1, 11):
        mu = 3 / math.sqrt(drawn / 10)
        missing = norm.sf(mu / 2 - 10 / mu) + math.exp(10 + norm.logcdf(-mu / 2 - 10 / mu))
        said = replace(law, drawn=drawn).achieved("l2", shift, ApproximateDP(epsilon, Fraction(1, 2)))
        assert 1 - float(said.delta) <= missing * (1 + 1e-9)
        assert float(said.delta) <= (1 - missing) * 1.001 + 1e-6


def test_all_coordinates_count_in_what_shares_give() -> None:
    """Exact delta of three coarse coordinates that all move; one coordinate's delta is far smaller."""
    reach, law = 60, SharedGaussianNoise((6, 6, 6), 2, 2)
    places = np.arange(-reach, reach + 1)
    one = np.exp(-(places**2) / (2 * 18.0))
    chances = np.convolve(one, one, "same")
    chances /= chances.sum()
    here, there = chances[2:], chances[:-2]
    keep = here > 1e-9
    p, q = here[keep], there[keep]
    both, other = (np.multiply.outer(x, x).ravel() for x in (p, q))
    exact = sum(np.maximum(a * both - math.e * b * other, 0).sum() for a, b in zip(p, q, strict=True))
    alone = np.maximum(p - math.e * q, 0).sum()
    width = math.isqrt(12 - 1) + 1
    said = law.achieved("l2", width, ApproximateDP(Fraction(1), Fraction(1, 2)))
    assert alone * 10 < exact <= float(said.delta)


def test_restored_keys_draw_another_share_and_pay_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator who gets both parts learns the difference of two shares, not of records."""
    own, lead, agreement = started(RHO, 3)
    kept = shutil.copy(own[0].save(tmp_path / "c0.keys"), tmp_path / "backup.keys")
    ledger = MemoryLedger().create("own", ZeroConcentratedDP(Fraction(3)), unit="record")
    shares, true, records = [], SharedGaussianNoise.share, np.full((10, POINTS), 0.3)
    monkeypatch.setattr(SharedGaussianNoise, "share", lambda law: shares.append(true(law)) or shares[-1])
    files = (tmp_path / "c0.keys", kept)
    twice = [part(agreement, Keys.load(file), records, ledger=ledger.of("own")) for file in files]
    assert ledger.spent("own").values == (1,)
    difference = np.subtract(*(np.array(share, dtype=object) for share in shares))
    assert np.all(difference != 0)
    rest = [part(agreement, keys, records) for keys in own[1:]]
    totals = [joined(agreement, lead, [one, *rest]).with_noise([0] * POINTS) for one in twice]
    assert np.all(np.subtract(*(np.array(each, dtype=object) for each in totals)) == difference)
    with pytest.raises(CustodyError, match="two different ones"):
        joined(agreement, lead, [*twice, *rest])


@pytest.mark.parametrize(("size", "fits"), [(1 << 100, True), (1 << 200, False)])
def test_a_share_of_any_size_wraps_no_total(
    size: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One party's huge share moves the total as far as it says, or is refused; it never comes back."""
    own, lead, agreement = started(RHO, 3)
    assert agreement.bits == 256
    monkeypatch.setattr(SharedGaussianNoise, "share", lambda law: [size] * law.components)
    parts = [part(agreement, keys, np.full((10, POINTS), 0.3)) for keys in own]
    total = joined(agreement, lead, parts)
    if fits:
        assert min(total.with_noise([0] * POINTS)) > 2 * size
    else:
        with pytest.raises(CustodyError, match="sum of records"):
            total.with_noise([0] * POINTS)


# Moments: regression on curves, and the sampler.

CELLS = [0.0, 1e308, -1e308, np.inf, -np.inf, np.nan, 5e-324, 1.0, -1.0, 4.0, -4.0]


def hostile(random: np.random.Generator, size: int) -> np.ndarray:
    """A record made to get far: odd cells, one odd value, or a square wave at both bounds."""
    if (kind := random.integers(3)) == 0:
        return random.choice(CELLS, size)
    if kind == 1:
        return np.full(size, random.choice(CELLS))
    return 1e9 * np.sign(np.sin(random.integers(1, 9) * np.linspace(0.1, 3, size)))


def outputs(plan: Any, vectors: Any, told: list[list[int]]) -> tuple[list[list[int]], Any]:
    """Exact totals of each stage, where every stage before it has published what is told."""
    exact: list[list[int]] = []
    while True:
        stage = iter(range(99))

        def drawn(law: Any) -> list[int]:
            place = next(stage)  # noqa: B023
            zero = place >= len(exact) or place >= len(told)
            pairs = [] if zero else zip(told[place], exact[place], strict=True)
            return [0] * law.components if zero else [said - total for said, total in pairs]

        found = plan.design.published(vectors, plan.size, drawn)
        totals = [found.mean_sum, *(each.noisy_counts for each in found.selections)]
        totals += [each.noisy_sum for each in found.steps]
        if not told or len(exact) == len(totals):
            return exact or [list(each) for each in totals], found
        exact.append(list(totals[len(exact)]))


def moved(plan: Any, one: np.ndarray, other: np.ndarray) -> list[float]:
    """How far two data sets are apart in each stage, over what its noise is for."""
    told, _ = outputs(plan, one, [])
    (first, moments), (second, _) = outputs(plan, one, told), outputs(plan, other, told)
    design = plan.design

    def far(difference: Any, each: int, most: int) -> float:
        """Of counts, each of which moves by so much: in l2 where noise is normal, else in l1."""
        if design.joint:
            return math.sqrt(sum(difference**2) / (each * most))
        return sum(abs(difference)) / most

    differences = [np.subtract(*(np.array(each, dtype=object) for each in pair)) for pair in zip(
        first, second, strict=True)]  # fmt: skip
    mean, *rest = differences
    width = design.neighbours.differences(design.ball.radius)
    ratios = [math.sqrt(sum(mean**2)) / width]
    lengths, steps = rest[: len(design.choices)], rest[len(design.choices) :]
    ratios += [far(d, COUNT_SCALE, each.width) for d, each in zip(lengths, design.choices, strict=True)]
    for step, law in zip(steps, design.laws.values(), strict=True):
        most = OuterDifference.of(law.size, design.outer.radius, design.neighbours)
        matrix = filled(step, law.size)
        values = np.linalg.eigvalsh(matrix)
        above, below = values[values > 0].sum(), -values[values < 0].sum()
        ratios += [math.sqrt((matrix**2).sum() / most.frobenius_square), max(above, below) / most.part]
    if hasattr(plan, "scores"):
        sums = [plan.scores(each, moments) for each in (one, other)]
        counts = [np.array(each.with_noise([0] * each.components), dtype=object) for each in sums]
        ratios.append(far(counts[0] - counts[1], COUNT, plan.widths["scores"]))
    return ratios


def models(bounds: tuple[float, float], relation: str, missing: str = "refuse") -> list[Any]:
    given: dict[str, Any] = {
        "bounds": bounds,
        "unit": unit_of(relation, 5),
        "reading": Reading(invalid="repair", missing=missing),
    }
    beside = {"age": bounds, "dose": (0, 1)}
    return [
        PrivateScalarOnFunction(1.0, target_bounds=bounds, covariates=beside, **given),
        PrivateScalarOnFunction(1.0, 1e-6, target_bounds=bounds, covariates=beside, **given),
        PrivateCurveSampler(1.0, **given),
        PrivateCurveSampler(1.0, delta=1e-6, **given),
    ]


def prepared(model: Any, table: np.ndarray, groups: list[str]) -> Any:
    curves, beside, number = table[:, :POINTS], table[:, POINTS:-1], table[:, -1]
    if not isinstance(model, PrivateCurveSampler):
        return model.prepare(curves, number, beside, groups)
    with pytest.MonkeyPatch.context() as patch:
        # What `fit` hands over to be published.
        patch.setattr(SamplerPlan, "publish", lambda plan, vectors, paying: Prepared(plan, vectors))
        return model.fit(curves, groups=groups).release_


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", [(-4.0, 4.0), (-1e99, 1e99), (0.0, 2e-100), (1e10, 1e10 + 1e-3)])
def test_no_person_moves_a_stage_further_than_its_noise_is_for(
    relation: str, bounds: tuple[float, float]
) -> None:
    """Through the way that `fit` takes: a person with any number of records, of any content."""
    random, farthest = np.random.default_rng(7), 0.0
    for missing in ("refuse", "complete"):
        for model in models(bounds, relation, missing):
            for _ in range(2):
                rest = np.array([hostile(random, POINTS + 3) for _ in range(8)])
                names = [f"p{1 + i // 2}" for i in range(8)]
                data = []
                for records in (3, random.integers(1, 6) if relation == "replace-one" else 0):
                    own = [hostile(random, POINTS + 3) for _ in range(records)]
                    table = np.vstack([*own, rest])
                    data.append(prepared(model, table, ["p0"] * records + names))
                others = [{row.tobytes() for row in each.total} for each in data]
                assert len(others[0] - others[1]) <= 1, "the rows of others follow from them alone"
                ratios = moved(data[0].plan, data[0].total, data[1].total)
                assert max(ratios) <= 1 + 1e-12
                farthest = max(farthest, *ratios)
    assert farthest > 0.99, "the bound is reached, so that half of it would be noticed"


def test_prepared_records_stay_where_they_are() -> None:
    """It broke: pickle and deepcopy took the vectors of all persons along."""
    table = np.random.default_rng(0).random((6, POINTS + 3))
    for model in models((0.0, 1.0), "replace-one"):
        made = prepared(model, table, [f"p{i}" for i in range(6)])
        for way in (pickle.dumps, copy.deepcopy, copy.copy):
            with pytest.raises(DpfdaError, match="private"):
                way(made)
        assert repr(made) == f"Prepared({type(made.plan).__name__}, content private)"


def test_a_release_holds_public_numbers_alone_and_needs_no_other(tmp_path: Path) -> None:
    """What is read from its file predicts and samples the same; no number of units is reachable."""
    persons, random = 1319, np.random.default_rng(1)
    curves = random.random((persons, POINTS))
    unit = unit_of("add-remove", 1000)
    scalar = PrivateScalarOnFunction(1.0, bounds=(0, 1), target_bounds=(0, 1), unit=unit)
    sampler = PrivateCurveSampler(1.0, bounds=(0, 1), unit=unit)
    for model in (scalar.fit(curves, curves[:, 0]), sampler.fit(curves)):
        again = load(model.release_.save(tmp_path / f"{type(model).__name__}.json"))
        if model is scalar:
            assert np.array_equal(again.predict(curves), model.release_.predict(curves))
        else:
            assert np.array_equal(again.sample(50, 3), model.release_.sample(50, 3))
        for held in reachable(vars(model)):
            assert not (isinstance(held, np.ndarray) and persons in held.shape)
            assert not (type(held) in (int, float) and held == persons)


def reachable(start: object) -> Iterator[object]:
    seen, waiting = set(), [start]
    while waiting:
        held = waiting.pop()
        plain = not isinstance(held, type) and type(held).__module__ != "sys"
        if id(held) not in seen and plain and type(held).__name__ not in ("module", "function"):
            seen.add(id(held))
            yield held
            waiting += gc.get_referents(held)


# Ledgers.


def runs() -> dict[str, Callable[[Any], object]]:
    curves = np.random.default_rng(0).random((20, POINTS))
    own, _, agreement = started(RHO)
    known: dict[str, Any] = {"bounds": (0, 1), "rho": 0.5}
    return {
        "share": lambda payer: part(agreement, own[0], curves[:10], ledger=payer),
        "sampler": lambda payer: PrivateCurveSampler(**known, ledger=payer).fit(curves),
        "scalar": lambda payer: PrivateScalarOnFunction(**known, target_bounds=(0, 1), ledger=payer).fit(
            curves, curves[:, 0]
        ),
    }


@pytest.mark.parametrize("name", ["share", "sampler", "scalar"])
def test_no_byte_of_noise_is_drawn_before_the_charge(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, spent, true = MemoryLedger(), [], exactness.system_bytes
    for dataset, size in (("poor", Fraction(1, 10)), ("rich", Fraction(10))):
        ledger.create(dataset, ZeroConcentratedDP(size), unit="record")

    def logged(size: int) -> bytes:
        spent.append(ledger.spent("rich").values[0])
        return true(size)

    for module in (exactness, drawing):
        if hasattr(module, "system_bytes"):
            monkeypatch.setattr(module, "system_bytes", logged)
    run = runs()[name]
    with pytest.raises(BudgetError):
        run(ledger.of("poor"))
    assert not spent
    run(ledger.of("rich"))
    assert spent
    assert min(spent) == ledger.spent("rich").values[0] > 0


# Files, and several releases as one.


def test_no_file_of_shared_noise_promises_less_than_its_noise_gives(tmp_path: Path) -> None:
    """Scales, numbers of shares and laws changed, each alone and scales with shares."""
    for asked in SHARED:
        own, lead, agreement = started(asked, 3, colluding=1)
        parts = [part(agreement, keys, np.full((10, POINTS), 0.3)) for keys in own]
        release = merge(agreement, parts, lead)
        file = release.save(tmp_path / "mean.json", overwrite=True)
        written, noise = json.loads(file.read_text()), json.loads(file.read_text())["noise"]
        shares = [0, 1, -1, 3, 2.0, "2", True, None, 10**9, 10**400]
        less = [max(1, scale // 2) for scale in noise["scales"]]
        laws = ("gaussian", "laplace", "shared-gaussian", "shared-laplace", "k-norm")
        changes = [{key: value} for key in ("honest", "drawn") for value in shares]
        changes += [{"law": law} for law in laws]
        changes += [{"scales": less, "drawn": n, "honest": m} for n in (2, 3, 12) for m in (1, 2, 3)]
        for change in changes:
            file.write_text(json.dumps(written | {"noise": noise | change}))
            try:
                read = load(file)
            except StorageError:
                continue
            assert read.guarantee == release.guarantee
            (term, *_) = release.guarantee.terms
            said, true = (getattr(each.certificate.achieved, term) for each in (read, release))
            assert said >= true * Fraction(998, 1000), change


def test_what_is_combined_never_promises_less_than_its_parts(tmp_path: Path) -> None:
    curves = np.random.default_rng(0).random((40, POINTS))
    one, other = (PrivateMean(e, bounds=(0, 1)).fit(curves).release_ for e in (1.0, 2.0))
    both, apart = one.combined(other), one.combined(other, apart=True)
    assert (both.guarantee, apart.guarantee) == (PureDP(3), PureDP(2))
    assert both.combined(PrivateMean(4.0, bounds=(0, 1)).fit(curves).release_, apart=True).guarantee == (
        PureDP(4)
    )
    again = load(one.save(tmp_path / "one.json"))
    for same in (one, again, both, apart):
        with pytest.raises(DpfdaError, match="another charge"):
            one.combined(same)
    assert "Not covered by the promise" in apart.describe()
    for made in (both, apart):
        file = made.save(tmp_path / "both.json", overwrite=True)
        written = json.loads(file.read_text())
        for change in (
            {"apart": not written.get("apart")},
            {"second": written["first"]},
            {"guarantee": json.loads((tmp_path / "one.json").read_text())["guarantee"]},
            {"caveats": []} if "caveats" in written else {"apart": True},
        ):
            file.write_text(json.dumps(written | change))
            with pytest.raises(StorageError):
                load(file)
