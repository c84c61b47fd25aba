"""Attacks by coupling: two neighbours' releases with the same outputs, and what that costs in noise.

The first run is kept; the second is shown its outputs. How far apart the exact sums are that got one
draw is an exact number of scales. What broke is said at its test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpfda import Domain, PrivacyUnit, PrivateComparison, PrivateCurveSampler, PrivateMean, Reading
from dpfda.bounds import L2Ball
from dpfda.front.custodians import agree, merge, part
from dpfda.mean.streams import MeanStream
from dpfda.noise import BoxNoise, GaussianNoise, KNormNoise, gaussian_ratio
from dpfda.noise.symmetric import SymmetricGaussianNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import PureDP
from dpfda.publication.custody import Keys
from dpfda.records.second_moments import OuterSum

LAWS = BoxNoise, GaussianNoise, KNormNoise, SymmetricGaussianNoise
RELATIONS = ("replace-one", "add-remove")


class Tape:
    """Sums that left with noise: their totals, and the law and the places of the draw that they got."""

    def __init__(self) -> None:
        self.draws: list[tuple[Any, list[int]]] = []
        self.kept: list[tuple[list[int], list[int], tuple[int, ...]]] = []
        self.moved: list[list[int]] = []
        self.again = False

    def seen(self, totals: list[int], noise: list[int], out: tuple[int, ...]) -> tuple[int, ...]:
        if not self.again:
            self.kept.append((totals, noise, out))
            return out
        before, _, told = self.kept[len(self.moved)]
        assert len(before) == len(totals), "neighbours with the same outputs went another way"
        self.moved.append([a - b for a, b in zip(before, totals, strict=True)])
        return told

    def lost(self) -> tuple[float, float]:
        """Sum of the pure losses, and root of the sum of the squared lengths where noise is normal."""
        assert len(self.moved) == len(self.kept)
        shifts = [[0] * len(noise) for _, noise in self.draws]
        for (_, noise, _), moved in zip(self.kept, self.moved, strict=True):
            place, start = next(
                (number, start)
                for number, (_, whole) in enumerate(self.draws)
                for start in range(len(whole) - len(noise) + 1)
                if whole[start : start + len(noise)] == noise
            )
            shifts[place][start : start + len(noise)] = moved
        pure, square = 0.0, 0.0
        for (law, _), shift in zip(self.draws, shifts, strict=True):
            if isinstance(law, BoxNoise):
                pure += max(abs(a) / b for a, b in zip(shift, law.scales, strict=True))
            elif isinstance(law, KNormNoise):
                assert set(law.block_sizes) == {1}
                pure += sum(abs(a) / b for a, b in zip(shift, law.scales, strict=True))
            elif isinstance(law, GaussianNoise):
                square += sum((a / b) ** 2 for a, b in zip(shift, law.scales, strict=True))
            else:
                twice = 2 - np.equal(*np.tril_indices(law.size))
                square += sum(int(w) * a**2 for w, a in zip(twice, shift, strict=True)) / law.scale**2
        return pure, math.sqrt(square)


@pytest.fixture
def tape(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Tape]:
    """A fresh tape, on which everything that gets noise is from then on."""
    current = [Tape()]
    of_sum, of_outer = IntegerSum.with_noise, OuterSum.with_noise

    def summed(total: IntegerSum, noise: Any, thresholds: Any = ()) -> tuple[int, ...]:
        out = of_sum(total, noise, thresholds)
        assert not thresholds
        return current[0].seen([a - b for a, b in zip(out, noise, strict=True)], list(noise), out)

    def outer(total: OuterSum, noise: Any) -> tuple[int, ...]:
        return summed(total.triangle(), noise)

    for law in LAWS:
        own = law.draw

        def draw(self: Any, own: Any = own) -> list[int]:
            made = list(own(self))
            if not current[0].again:
                current[0].draws.append((self, made))
            return made

        monkeypatch.setattr(law, "draw", draw)
    monkeypatch.setattr(IntegerSum, "with_noise", summed)
    monkeypatch.setattr(OuterSum, "with_noise", outer)
    assert of_outer is not OuterSum.with_noise

    def fresh() -> Tape:
        current[0] = Tape()
        return current[0]

    return fresh


def coupled(fresh: Callable[[], Tape], summary: Any, one: tuple[Any, ...], *other: Any) -> Any:
    """The release of one data set, and what the neighbour with the same outputs loses."""
    tape = fresh()
    release = summary.fit(*one).release_
    tape.again = True
    summary.fit(*other)
    return release, *tape.lost()


def extremes(points: int, seed: int) -> list[Any]:
    """Ends of the bounds, and what moves most in one direction or another."""
    generator = np.random.default_rng(seed)
    flat = [np.zeros(points), np.ones(points), np.arange(points) % 2.0, np.eye(points)[points // 3]]
    return [*flat, generator.integers(0, 2, points).astype(float)]


@pytest.mark.parametrize("relation", RELATIONS)
def test_all_steps_together_lose_what_is_said_and_no_more(relation: str, tape: Any) -> None:
    """Synthetic curves: mean, lengths, a step of more coordinates, three of fewer, and counts."""
    generator, worst = np.random.default_rng(5), 0.0
    for number in range(18):
        points, far = (16, 30, 64)[number % 3], number % 2
        unit = PrivacyUnit("record", relation, 40 if relation == "add-remove" else None)
        sampler = PrivateCurveSampler(rho=8 if far else 0.5, bounds=(0, 1), unit=unit)
        curves = np.full((40, points), 0.5) + 0.01 * generator.standard_normal((40, points))
        one, other = (extremes(points, number)[at] for at in generator.choice(5, 2, replace=False))
        curves[0] = one
        changed = curves[1:] if relation == "add-remove" else np.vstack([other, curves[1:]])
        release, pure, length = coupled(tape, sampler, (curves,), changed)
        assert pure == 0
        assert release.moments.seen == points
        assert {step.noise.size for step in release.moments.steps[1:]} == {13}
        worst = max(worst, length / float(gaussian_ratio(release.certificate.guarantee)))
    assert 0.75 < worst <= 1


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sizes", [(30, 30, 30, 30, 30, 30), (100, 300), (200, 5, 80, 100)], ids=str)
def test_a_person_in_one_group_loses_epsilon_whatever_tells_the_distances(
    sizes: tuple[int, ...], relation: str, tape: Any
) -> None:
    """By boxes of their own, and by two numbers together; a move to another group is two losses."""
    generator, names = np.random.default_rng(6), [f"g{i}" for i in range(len(sizes))]
    stated = dict(zip(names, sizes, strict=True)) if relation == "add-remove" else None
    unit, labels, worst = PrivacyUnit("record", relation, stated), np.repeat(names, sizes), 0.0
    for number in range(10):
        comparison = PrivateComparison(3, bounds=(0, 1), levels=names, unit=unit)
        curves, at = generator.random((len(labels), 40)), int(generator.integers(len(labels)))
        curves[at] = extremes(40, number)[number % 5]
        rest = np.arange(len(labels)) != at
        changed, those = curves.copy(), labels
        changed[at] = 1 - curves[at]
        if relation == "add-remove":
            changed, those = curves[rest], labels[rest]
        _, pure, length = coupled(tape, comparison, (curves, labels), changed, those)
        assert length == 0
        worst = max(worst, pure / 3)
        if relation == "add-remove":
            elsewhere = labels.copy()
            elsewhere[at] = names[(names.index(str(labels[at])) + 1) % len(names)]
            _, pure, _ = coupled(tape, comparison, (curves, labels), curves, elsewhere)
            assert pure <= 6 * (1 + 1e-9)
    assert 0.85 < worst <= 1 + 1e-9


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("points", [12, 40, 96])
def test_a_share_for_the_distance_and_the_rest_are_the_whole_budget(
    points: int, relation: str, tape: Any
) -> None:
    generator = np.random.default_rng(7)
    curves = np.full((2000, points), 0.5) + 0.2 * generator.standard_normal((2000, points))
    curves[0] = 1.0
    changed = curves[1:] if relation == "add-remove" else np.vstack([0 * curves[:1], curves[1:]])
    unit = PrivacyUnit("record", relation, 2000 if relation == "add-remove" else None)
    mean = PrivateMean(rho=0.5, bounds=(0, 1), unit=unit, mechanism="auto")
    release, pure, length = coupled(tape, mean, (curves,), changed)
    told, line = release.certificate.costs
    assert isinstance(told.guarantee, PureDP)
    assert float(told.guarantee.epsilon**2 / 2 + line.guarantee.rho) == pytest.approx(0.5, rel=1e-9)
    assert pure <= told.guarantee.epsilon * (1 + 1e-9)
    assert 0.99 < length / float(gaussian_ratio(line.guarantee)) <= 1 + 1e-9


@pytest.mark.parametrize("missing", ["refuse", "complete"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_functions_with_cycles_are_the_same_on_every_road(
    relation: str, missing: Any, tape: Any
) -> None:
    """It broke: custodians signed an agreement, and then none of them could make a part."""
    generator, count, points = np.random.default_rng(8), 40, 28
    curves = generator.standard_normal((count, points)) * generator.choice([0.05, 1, 50], (count, 1))
    if missing == "complete":
        curves[generator.random(curves.shape) < 0.1] = np.nan
    unit = PrivacyUnit("record", relation, count if relation == "add-remove" else None)

    def mean() -> PrivateMean:
        domain = Domain(np.arange(points) * 1.0, periods=[7.0])
        reading = Reading(missing=missing)
        return PrivateMean(rho=0.5, bounds=L2Ball(2.0), domain=domain, unit=unit, reading=reading)

    def by_blocks() -> None:
        made = mean()
        for start in range(0, count, 9):
            made.partial_fit(curves[start : start + 9])
        made.finish()

    def by_streams() -> None:
        first, second = (MeanStream(mean().plan(count, np.arange(points) * 1.0)) for _ in range(2))
        first.add(curves[:11]).merge(second.add(curves[11:])).release()

    def by_custodians() -> None:
        half = None if relation == "add-remove" else count // 2
        own, lead = [Keys.make(name, half) for name in "ab"], Keys.make("registry")
        agreement = agree(mean(), [keys.card for keys in own], lead, points)
        parts = [
            part(agreement, own[0], curves[: count // 2]),
            part(agreement, own[1], curves[count // 2 :]),
        ]
        merge(agreement, parts, lead)

    found = []
    for road in (lambda: mean().fit(curves), by_blocks, by_streams, by_custodians):
        made = tape()
        road()
        found.append([total for total, _, _ in made.kept if len(total) == points][-1])
    assert all(total == found[0] for total in found)
    ball = mean().prepare(curves).plan.ball
    for row in curves[:8]:
        moved = np.array(
            mean().prepare(np.array([row, row]) * 1e3).total.with_noise([0] * points), object
        )
        assert moved @ moved <= (2 * int(ball.radius)) ** 2
