"""Attacks by somebody who wrote none of it: scores, clusters, pairs of visits, quantiles, months.

What broke is said at its test. The others are kept because they would notice a break.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfda import (
    PrivacyUnit,
    PrivateCovariance,
    PrivateCurveClusters,
    PrivateQuantileCurves,
    PrivateRunningMean,
    PrivateScoreCurves,
    Reading,
    load,
)
from dpfda.errors import ParameterError, StorageError
from dpfda.noise import BoxNoise
from dpfda.numerics import exactness
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records import LongCurves

POINTS, SIZE = 12, 20
RELATIONS = ("replace-one", "add-remove")
ASKED: list[dict[str, Any]] = [{"epsilon": 3}, {"rho": "0.5"}, {"epsilon": 3, "delta": "1e-6"}]
VALUES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    np.nextafter(0.5, 0),
    5e-324,
    1e308,
    -1e308,
    np.inf,
    -np.inf,
    np.nan,
]
TIMES = [0.0, 1.0, 0.5, np.nextafter(0.5, 0), 1 / 3, 5e-324, np.nan, np.inf, -1.0, np.nextafter(1, 2)]
OUTCOMES = [0, 1, True, 2, np.nan, None, "1", "x", b"1", (1,), -1, 1e308]
Totals = list[np.ndarray]


def unit_of(relation: str) -> PrivacyUnit:
    return PrivacyUnit("person", relation, SIZE if relation == "add-remove" else None)


@contextmanager
def told(outputs: list[tuple[int, ...]] | None = None) -> Any:
    """Exact totals of all sums that get noise, and what was published of them.

    Where outputs are given these are published in their order: what later stages follow from.
    """
    exact: Totals = []
    published: list[tuple[int, ...]] = []
    said = IntegerSum.with_noise

    def with_noise(total: IntegerSum, noise: Sequence[int], thresholds: Sequence[int] = ()) -> Any:
        if any(noise):
            exact.append(np.array(said(total, [0] * len(noise)), dtype=object))
            fresh = outputs is None or len(published) >= len(outputs)
            published.append(said(total, noise, thresholds) if fresh else outputs[len(published)])
            return published[-1]
        return said(total, noise, thresholds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IntegerSum, "with_noise", with_noise)
        yield exact, published


def neighbours(
    random: np.random.Generator, relation: str, record: Callable[[int], Any], rest: int = 8
) -> list[tuple[Any, list[str]]]:
    """Records and the persons that they are of: two data sets that differ in all records of p0."""
    others, names = record(rest), [f"p{1 + place // 2}" for place in range(rest)]
    found = []
    for most in (400, 3 if relation == "replace-one" else 0):
        own = int(random.choice([1, 2, most])) if most else 0
        made = [(*mine, *theirs) for mine, theirs in zip(record(own), others, strict=True)]
        found.append((made, ["p0"] * own + names))
    return found


def moved(fits: Sequence[Callable[[], object]]) -> Totals:
    """By how much neighbours move each stage, given the outputs of the stages before it."""
    with told() as (first, outputs):
        fits[0]()
    with told(outputs) as (second, _):
        fits[1]()
    assert len(first) == len(second) == len(outputs)
    return [one - other for one, other in zip(first, second, strict=True)]


def share_of(table: Any, difference: np.ndarray) -> float:
    """How much of what a table's noise is for."""
    _, _, norm, width = table.calibrated
    length = sum(abs(difference)) if norm == "l1" else math.sqrt(sum(difference**2))
    return length / width


def hostile(random: np.random.Generator, cells: Sequence[Any], size: int) -> list[Any]:
    """Cells of any kind; or one for all."""
    chosen = random.integers(len(cells), size=size)
    return [cells[place] for place in (chosen if random.random() < 0.6 else [*chosen[:1]] * size)]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", [(0, 1), (-1e300, 1e300), (0.5, np.nextafter(0.5, 0.6) + 1e-9)])
def test_no_person_moves_score_curves_further(relation: str, bounds: tuple[float, float]) -> None:
    random, farthest = np.random.default_rng(1), 0.0
    for place in range(60):
        asked = ASKED[place % 3] | {"unit": unit_of(relation), "reading": Reading(invalid="repair")}
        model = PrivateScoreCurves(score_bounds=bounds, cells=int(random.integers(2, 30)), **asked)

        def record(size: int) -> Any:
            return hostile(random, VALUES, size), hostile(random, OUTCOMES, size)

        first, second = (
            model.prepare(*data, groups) for data, groups in neighbours(random, relation, record)
        )
        totals = [
            np.array(each.total.with_noise([0] * each.total.components), dtype=object)
            for each in (first, second)
        ]
        farthest = max(farthest, share_of(first.plan.table, totals[0] - totals[1]))
    assert 0.99 < farthest <= 1


def visits(random: np.random.Generator, relation: str) -> list[LongCurves]:
    """Neighbours in visits, of persons with several curves of one name, at odd and at equal times."""

    def record(size: int) -> Any:
        times = hostile(random, TIMES, size) if random.random() < 0.7 else [*random.random(size)]
        curves = hostile(random, range(3), size)
        return curves, times, hostile(random, VALUES, size)

    pairs = neighbours(random, relation, record)
    return [LongCurves(*(list(each) for each in data), groups) for data, groups in pairs]


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_person_moves_pairs_of_visits_further(relation: str) -> None:
    """The mean that is the center, then the table of pairs around what was published of it."""
    random, farthest = np.random.default_rng(2), [0.0, 0.0]
    for place in range(8):
        given: dict[str, Any] = {"center": "private" if place % 2 else "bound", **ASKED[place % 3]}
        reading = Reading(invalid="repair", missing="pooled")
        bounds = [(-1, 1), (1e10, 1e10 + 1e-3), (-1e99, 1e99)][place // 3]
        model = PrivateCovariance(
            bounds=bounds, domain=(0, 1), reading=reading, unit=unit_of(relation), **given
        )
        pair = visits(random, relation)
        differences = moved([partial(model.fit, curves) for curves in pair])
        plan = model.plan(SIZE if relation == "add-remove" else 5)
        tables = [plan.table] if plan.mean is None else [plan.mean.table, plan.table]
        assert len(tables) == len(differences)
        for stage, (table, difference) in enumerate(zip(tables[::-1], differences[::-1], strict=True)):
            farthest[stage] = max(farthest[stage], share_of(table, difference))
    assert min(farthest) > 0.5
    assert max(farthest) <= 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_person_moves_quantile_curves_further(relation: str) -> None:
    random, farthest = np.random.default_rng(3), 0.0
    for place in range(12):
        pooled = place % 2 == 0
        reading = Reading(invalid="repair", missing="pooled" if pooled else "complete")
        given = {"unit": unit_of(relation), "reading": reading, **ASKED[place % 3]}
        model = PrivateQuantileCurves(bounds=(-1, 1), domain=(0, 1), **given)
        fits = []
        if pooled:
            fits = [partial(model.fit, curves) for curves in visits(random, relation)]
        else:

            def record(size: int) -> Any:
                return ([np.array(hostile(random, VALUES, POINTS)) for _ in range(size)],)

            for (curves,), groups in neighbours(random, relation, record):
                fits.append(partial(model.fit, np.array(curves), groups=groups))
        (difference,) = moved(fits)
        plan = model.plan(SIZE if relation == "add-remove" else 5, POINTS)
        farthest = max(farthest, share_of(plan.table, difference))
    assert 0.9 < farthest <= 1


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("bounds", [(-4, 4), (-1e99, 1e99), (1e10, 1e10 + 1e-3)])
def test_no_person_moves_cells_and_sums_of_clusters_further(
    relation: str, bounds: tuple[float, float]
) -> None:
    """Given what was published before: a person is in one cell, and in the sums of one cluster."""
    random, farthest = np.random.default_rng(4), {"counts of cells": 0.0, "sums of clusters": 0.0}
    unit, reading = unit_of(relation), Reading(invalid="repair", missing="complete")
    model = PrivateCurveClusters(
        500, bounds=bounds, clusters=3, unit=unit, reading=reading, domain=(0, 1)
    )
    plan = model.plan(SIZE if relation == "add-remove" else 5, POINTS)
    assert set(plan.parts) == set(farthest)

    def record(size: int) -> Any:
        waves = [np.sin(random.integers(1, 9) * np.linspace(0.1, 3, POINTS)) for _ in range(size)]
        odd = [np.array(hostile(random, VALUES, POINTS)) for _ in range(size)]
        return ([random.choice([1e300 * np.sign(w), o]) for w, o in zip(waves, odd, strict=True)],)

    for _ in range(4):
        pairs = neighbours(random, relation, record)
        fits = [partial(model.fit, np.array(c), groups=g) for (c,), g in pairs]
        *_, cells, sums = moved(fits)
        lengths = [math.sqrt(sum(block**2)) for block in sums.reshape(3, -1)]
        for name, length in (("counts of cells", sum(abs(cells))), ("sums of clusters", sum(lengths))):
            farthest[name] = max(farthest[name], length / plan.widths[name])
    assert min(farthest.values()) > 0.4
    assert max(farthest.values()) <= 1 + 1e-12


MODELS: dict[str, Callable[..., Any]] = {
    "scores": lambda **k: PrivateScoreCurves(score_bounds=(0, 1), **k),
    "clusters": lambda **k: PrivateCurveClusters(bounds=(-2, 2), domain=(0, 1), **k),
    "pairs": lambda **k: PrivateCovariance(
        bounds=(-1, 1), domain=(0, 1), reading=Reading(missing="pooled"), **k
    ),
    "quantiles": lambda **k: PrivateQuantileCurves(bounds=(-1, 1), domain=(0, 1), **k),
}


def records_of(name: str, persons: int) -> tuple[Any, ...]:
    random = np.random.default_rng(5)
    if name == "scores":
        scores = random.random(persons)
        return scores, random.random(persons) < scores
    if name == "pairs":
        many = 4 * persons
        return (LongCurves(np.repeat(range(persons), 4), random.random(many), random.normal(size=many)),)
    return (random.normal(size=(persons, POINTS)),)


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_the_ledger_has_all_of_it_before_any_noise(
    name: str, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what stages give adds up to no more than was asked for."""
    model, fresh = MODELS[name](**asked), exactness.system_bytes
    ledger = MemoryLedger().create("own", model.asked(), unit="record")

    def late(size: int) -> bytes:
        assert ledger.history("own")[-1].action == "charge"
        return fresh(size)

    monkeypatch.setattr(exactness, "system_bytes", late)
    release = model.set_params(ledger=ledger.of("own")).fit(*records_of(name, 600)).release_
    charges = [each for each in ledger.history("own") if each.action == "charge"]
    assert len(charges) == 1
    for term in release.certificate.achieved.terms:
        assert getattr(release.certificate.achieved, term) <= getattr(model.asked(), term, 0)
    if isinstance(release.certificate.achieved, PureDP):
        assert ledger.spent("own").values[0] >= release.certificate.achieved.epsilon


def test_a_file_does_not_leave_out_the_mean_that_it_was_made_around(tmp_path: Path) -> None:
    """It broke: without mean and its cost a file promised 0.75, of numbers that cost 1."""
    release = MODELS["pairs"](epsilon=1).fit(*records_of("pairs", 300)).release_
    written = json.loads(release.save(tmp_path / "whole.json").read_text())
    (cost,) = (each for each in written["costs"] if each["stage"] != "mean")
    without = {**written, "mean": None, "costs": [cost]}
    without |= dict.fromkeys(("guarantee", "achieved_guarantee"), cost["guarantee"])
    for center in ("private", "public"):
        file = tmp_path / f"{center}.json"
        file.write_text(json.dumps(without | {"about": {**written["about"], "center": center}}))
        with pytest.raises(StorageError, match="damaged"):
            load(file)


# Running means.


@pytest.mark.parametrize("first", [None, 5])
@pytest.mark.parametrize(
    "changed",
    [{"most_months": 1}, {"steps": 9}, {"unit": "home"}, {"epsilon": 5}, {"bounds": (0, 2)}],
    ids=str,
)
def test_no_month_is_published_under_other_parameters_than_were_charged(
    tmp_path: Path, first: int | None, changed: dict[str, Any]
) -> None:
    """It broke: paid for persons in all months, noise was for one month; or for more months."""
    running = PrivateRunningMean(1, bounds=(0, 1), steps=5, most_months=5, unit="person", domain=(0, 1))
    months = running.open(tmp_path / "state", first, POINTS)
    curves = np.full((5, POINTS), 0.3)
    running.set_params(**changed)
    with pytest.raises(ParameterError, match="those that the file was opened with"):
        months.publish(curves)
    assert months.published == 0
    running.set_params(most_months=5, steps=5, unit="person", epsilon=1, bounds=(0, 1))
    assert months.publish(curves).months == (1, 1)


@pytest.mark.parametrize("asked", [{"epsilon": 1}, {"rho": "0.5"}], ids=str)
@pytest.mark.parametrize("most", [1, 2, 4])
def test_no_person_loses_more_in_all_months_together(
    tmp_path: Path, asked: dict[str, Any], most: int
) -> None:
    """By closed form: a shift of normal noise, and the norm of a shift of box noise."""
    rows, reading = [], Reading(invalid="repair")
    running = PrivateRunningMean(
        bounds=(-1, 1), steps=4, most_months=most, unit="person", domain=(0, 1), reading=reading, **asked
    )
    groups = ["p0", "p0", "p1", "p2", "p2"]
    for side in (1e300, -np.inf):
        with told() as (exact, _), running.open(tmp_path / str(side), 3, POINTS) as months:
            for month in range(4):
                own = np.full((2, POINTS), side if month < most else 0.5)
                # What cannot be used is the middle of the bounds, for whomever.
                own[1] = 1e308 * np.sign(side)
                rest = np.full((3, POINTS), np.nan)
                months.publish(np.vstack([own if month < most else 0 * own, rest]), groups)
            assert months.plan is not None
            law, guarantee = months.plan.chosen.law, months.certificate.guarantee
        rows.append(np.array([row.astype(float) for row in exact]))
    shifts = (rows[0] - rows[1]) / np.array(law.scales, dtype=float)
    if isinstance(law, BoxNoise):
        loss = float(np.abs(shifts).max(axis=1).sum())
        lost = loss if isinstance(guarantee, PureDP) else loss + math.exp(-loss) - 1
    else:
        lost = float((shifts**2).sum()) / 2
    assert 0.4 < lost / float(getattr(guarantee, guarantee.terms[0])) <= 1 + 1e-9
