"""Attacks by somebody who wrote none of it: K-norm shares in blocks, weights in every shared summary.

What broke is said at its test. The others are kept because they would notice a break.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfda import (
    PrivacyUnit,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateFunctionalRegression,
    PrivateMean,
    PrivateSurvival,
    PrivateVectorMean,
)
from dpfda.bounds import BoxBound, Ellipsoid, L2Ball
from dpfda.errors import BudgetError, CustodyError, DpfdaError, ParameterError, RefusedMechanismError
from dpfda.noise.knorm_shares import SharedBlocksNoise, SharedKNormNoise, in_blocks
from dpfda.noise.shared import (
    SharedGaussianNoise,
    SharedLaplaceNoise,
    SharedSymmetricKNormNoise,
    SharedSymmetricNoise,
)
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.privacy.ledger.named import NAMED
from dpfda.publication.shares import Sharing
from dpfda.releases.base import load

pytest.importorskip("cryptography")

from dpfda.front.agreed import agreed_sum
from dpfda.front.custodians import agree, estimator_of, merge, part, statements
from dpfda.publication.custody import Keys

POINTS, UNITS, WIDE = 9, 4, 2**60
HOSTILE = [0.0, 1e308, -1e308, 5e-324, 1.0, 0.5, 3.0, -2.0, np.nan, np.inf]
STEPS = np.linspace(0.1, 3, POINTS)
TINY = Fraction(1, 10**6)
WEIGHTS = (None, Fraction(1, 3), Fraction(999, 1000), TINY)
GAUSSIAN = {"rho": "1/2", "mechanism": "gaussian"}
AGE = {"age": (20, 80), "sex": ["f", "m"]}


def vector(*bounds: Any, **fixed: Any) -> Callable[..., Any]:
    channels = ["x", "y", "z"][: len(bounds)]
    return lambda **a: PrivateVectorMean(bounds=[*bounds], channels=channels, **fixed, **a)


def effects(**fixed: Any) -> Callable[..., Any]:
    def made(mechanism: str = "auto", **asked: Any) -> Any:
        return PrivateFunctionalRegression(
            bounds=(0, 1), covariates=AGE, noise=mechanism, cells=3, **fixed, **asked
        )

    return made


def noisy(kind: Any, **fixed: Any) -> Callable[..., Any]:
    """Of tables, whose law is called noise."""
    return lambda mechanism="auto", **a: kind(noise=mechanism, **fixed, **a)


MATRIX = {"bounds": (0, 1), "center": "bound"}
PERSON = PrivacyUnit("person", "add-remove", 100)
# The estimator, and the share of what is stated that hostile neighbours get to at least.
SUMMARIES: dict[str, tuple[Callable[..., Any], float]] = {
    "boxes": (vector((0, 1), (0, 1e-3), (0, 1e3)), 0.97),
    "unequal": (vector((-STEPS, 2 * STEPS), (0, 2)), 0.9),
    "balls": (vector(L2Ball(1.0), Ellipsoid(radius=2.0, power=1.0)), 0.35),
    "mixed": (vector((0, 1), L2Ball(1.0)), 0.7),
    "coefficients": (vector(BoxBound(0.3), BoxBound(2)), 0.4),
    "persons": (vector((0, 1), (0, 2), unit="person", missing="complete", invalid="repair"), 0.97),
    "effects": (effects(invalid="repair"), 0.7),
    "effects of persons": (effects(unit="person", invalid="repair"), 0.7),
    "effects, add/remove": (effects(unit=PERSON, invalid="repair"), 0.6),
    "comparison": (lambda **a: PrivateComparison(bounds=(0, 1), levels=["p", "q"], **a), 0.9),
    "covariance": (lambda **a: PrivateCovariance(**MATRIX, **a), 0.3),
    "components": (lambda **a: PrivateFPCA(**MATRIX, **a), 0.3),
    "density": (noisy(PrivateDensity, domain=[(0, 1)], cells=8), 0.9),
    "survival": (noisy(PrivateSurvival, domain=(0, 1), cells=4), 0.4),
}  # fmt: skip
LAWS = (
    SharedKNormNoise, SharedGaussianNoise, SharedLaplaceNoise, SharedSymmetricNoise,
    SharedSymmetricKNormNoise,
)  # fmt: skip
SEVERAL = ("persons", "effects of persons", "effects, add/remove")


def started(
    estimator: Any, units: int | None = UNITS, columns: int | None = POINTS, **rules: Any
) -> Any:
    own, lead = [Keys.make(name, units) for name in "abc"], Keys.make("lead")
    return own, lead, agree(estimator, [k.card for k in own], lead, columns, "shared", **rules)


def curve(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    kind = random.integers(4)
    if kind == 0:
        return random.choice(HOSTILE, shape)
    if kind == 1:
        return np.sign(random.standard_normal(shape)) * 1e6
    if kind == 2:
        return np.full(shape, random.choice([-1e7, 1e7]))
    wave = 0.5 + 9 * np.sin(random.integers(1, 4) * np.linspace(0, 3, POINTS))
    return np.broadcast_to(wave[:, None] if len(shape) > 1 else wave, shape)


def of_unit(random: np.random.Generator, name: str, channels: int) -> list[tuple[Any, ...]]:
    """Records of one unit: a curve, or a time; an age and a level."""
    shape = (POINTS, channels) if channels else (POINTS,)
    made = []
    for _ in range(random.integers(1, 5) if name in SEVERAL else 1):
        value = curve(random, shape)
        if name in ("density", "survival"):
            value = random.choice([0.0, 1.0, 0.5, -1.0, 7.0, random.random()])
        elif name not in SEVERAL and not name.startswith("effects"):
            value = np.nan_to_num(value, nan=0.2)
        made.append((value, random.choice([20, 80, 50, -1e9, 33.3]), random.choice([*"fm?"])))
    return made


def handed(name: str, held: list[list[tuple[Any, ...]]]) -> tuple[Any, Any, Any]:
    rows = [record for unit in held for record in unit]
    X, y = np.array([record[0] for record in rows]), None
    if name.startswith("effects"):
        y = {"age": np.array([r[1] for r in rows]), "sex": np.array([r[2] for r in rows])}
    elif name == "comparison":
        y = ["p", "q"] * (UNITS // 2)
    elif name == "survival":
        y = np.array([int(record[2] == "f") for record in rows])
    labels = np.repeat(np.arange(len(held)), [len(unit) for unit in held])
    return X, labels if name in SEVERAL else None, y


def lost(law: Any, moved: list[int]) -> float:
    """The loss of a difference by the law itself: sums of lengths of blocks, an l1 or an l2 length."""
    squares = getattr(law, "squares", None) or [Fraction(scale**2) for scale in law.scales]
    ratios = [float(Fraction(int(d) ** 2) / s) for d, s in zip(moved, squares, strict=True)]
    if isinstance(law, SharedLaplaceNoise):
        return sum(map(math.sqrt, ratios))
    blocks = law.blocks if isinstance(law, SharedKNormNoise) else [slice(None)]
    return sum(math.sqrt(math.fsum(ratios[block])) for block in blocks)


@pytest.mark.parametrize("asked", [{"epsilon": "3/4"}, GAUSSIAN, {"epsilon": 500}], ids=str)
@pytest.mark.parametrize("name", SUMMARIES)
def test_no_neighbours_of_any_weight_are_farther_apart_than_is_stated(
    name: str, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the real road: clipped, missing and extreme records, units of several, all weights."""
    for kind in LAWS:
        monkeypatch.setattr(kind, "share", lambda law: [0] * law.components)
    random = np.random.default_rng([*map(ord, name)])
    made, least = SUMMARIES[name]
    if name in ("covariance", "components") and "epsilon" in asked:
        asked = {**asked, "mechanism": "knorm"}
    alone = name in ("density", "survival")
    units, columns = None if "add" in name else UNITS, None if alone else POINTS
    kinds = WEIGHTS[:1] if units is None else WEIGHTS
    for weight in kinds:
        rules = {"colluding": 1, "weights": {"a": weight} if weight else None}
        try:
            _, _, agreement = started(made(**asked), units, columns, **rules)
        except ParameterError as error:
            # Refused in time, where rounding would be more than a unit.
            assert weight == TINY
            assert "leave a unit more than rounding moves" in str(error)  # noqa: PT017
            continue
        pooled, worst = agreed_sum(agreement), 0.0
        law = pooled.sharing.law(agreement.honest)
        channels = (
            len(estimator_of(agreement).bounds) if isinstance(made(**asked), PrivateVectorMean) else 0
        )

        paid = agreement.weight("a") if weight else None

        def integers(held: Any, pooled: Any = pooled, law: Any = law, paid: Any = paid) -> Any:
            total = pooled.measured(pooled.total(*handed(name, held)))
            made = pooled.sharing.with_share(total, law, NAMED, paid)
            return np.array(made.with_noise([0] * pooled.sharing.numbers(law)), dtype=object)

        for trial in range(8):
            held = [of_unit(random, name, channels) for _ in range(UNITS)]
            place = int(random.integers(UNITS))
            if trial == 0:
                # From bound to bound.
                held[place] = [(np.zeros_like(held[place][0][0]) - (0 if alone else 1e7), 20, "f")]
            other = [*held[:place], *held[place + 1 :]]
            if units is not None:
                new = of_unit(random, name, channels)
                if trial == 0:
                    new = [(np.zeros_like(new[0][0]) + (1 if alone else 1e7), 20, "f")]
                other.insert(place, new)
            moved = integers(held) - integers(other)
            # In a comparison one group moves, and the numbers of units do not.
            groups = max(1, pooled.sharing.groups)
            parts = moved[: groups * law.components].reshape(-1, law.components)
            lengths = [lost(law, row) for row in parts]
            assert sum(length > 0 for length in lengths) <= 1
            assert not np.any(moved[parts.size :])
            worst = max(worst, *lengths)
        told: Any = statements(agreement, "a")
        assert {0, 1} <= set(told)
        kept = float(told[1].epsilon) if "epsilon" in asked else math.sqrt(2 * told[1].rho)
        assert least < worst / kept <= 1 + 1e-9
        if "epsilon" in asked:
            assert told[1].epsilon <= agreement.weight("a") * Fraction(asked["epsilon"])
        else:
            assert told[1].rho <= agreement.weight("a") ** 2 * Fraction(asked["rho"])


def farthest(random: np.random.Generator, norm: str, width: Any, count: int) -> list[int]:
    """An integer difference at the edge of a body: in a corner, along a side or anywhere."""
    kind = random.integers(3)
    sides = np.array(width if isinstance(width, tuple) else (width,) * count, dtype=float)
    along = random.standard_normal(count)
    if kind < 2:
        along = random.choice([-1.0, 1.0], count) * (
            (np.arange(count) == random.integers(count)) | bool(kind)
        )
    order = {"l1": 1, "l2": 2, "ellipsoid": 2}.get(norm, np.inf)
    return [int(side) for side in sides * along / np.linalg.norm(along, order)]


def roundings(random: np.random.Generator, factor: Fraction, step: list[int]) -> list[int]:
    """The farthest that a step moves rounded multiples, of forty starts for each coordinate."""
    count, found = len(step), [0] * len(step)
    for one in random.integers(-(10**6), 10**6, (40, count)).tolist():
        ends = [one, [a + b for a, b in zip(one, step, strict=True)]]
        first, second = (IntegerSum.of(end).weighed(factor).with_noise([0] * count) for end in ends)
        moved = [a - b for a, b in zip(first, second, strict=True)]
        found = [max(pair, key=abs) for pair in zip(found, moved, strict=True)]
    return found


def test_small_integers_of_parts_lose_what_is_stated_with_any_weight_and_rounding() -> None:
    """Widths and scales of one digit and more, where a unit of rounding is not small."""
    random, worst, refused, count = np.random.default_rng(4), {False: 0.0, True: 0.0}, 0, 0
    for _ in range(500):
        big, parts = int(10 ** random.uniform(0.5, 5)), []
        for _ in range(random.integers(1, 4)):
            size, norm = (
                int(random.integers(1, 5)),
                str(random.choice(["l1", "l2", "linf", "box", "ellipsoid"])),
            )
            body = norm in ("box", "ellipsoid")
            sides = random.integers(1, big + 1, size).tolist()
            parts.append((size, norm, tuple(sides) if body else sides[0]))
        epsilon = Fraction(int(random.integers(1, 100)), int(random.integers(10, 3000)))
        weighed, weight = bool(random.integers(2)), Fraction(int(random.integers(1, 999)), 999)
        honest = int(random.integers(1, 6))
        try:
            made = in_blocks(parts, PureDP(epsilon))  # type: ignore[arg-type]
            sharing = Sharing(None, *made, PureDP(epsilon), along=True)  # type: ignore[arg-type]
            law = sharing.law(honest)
            factor = sharing.moved(weight)[0] if weighed else Fraction(1)
            told: Any = sharing.lost(law, honest, weight if weighed else Fraction(1))
        except DpfdaError:
            refused += 1
            continue
        assert told.epsilon <= epsilon * (weight if weighed else 1)
        for _ in range(5):
            step = [d for size, norm, width in parts for d in farthest(random, norm, width, size)]
            moved = roundings(random, factor, step) if weighed else step
            assert all(abs(m) < factor * abs(d) + 1 for m, d in zip(moved, step, strict=True))
            worst[weighed] = max(worst[weighed], lost(law, moved) / float(told.epsilon))
            count += 1
    assert count > 1500
    assert refused < 200
    assert 0.99 < worst[False] <= 1 + 1e-12
    assert 0.95 < worst[True] <= 1 + 1e-12


def test_the_side_with_least_room_decides_how_much_a_sum_counts_for() -> None:
    law, sides = SharedKNormNoise((100, 100), 1, 1), (1000, 7)
    sharing = Sharing(None, law, "box", sides, PureDP(20))  # type: ignore[arg-type]
    told: Any = sharing.lost(law, 1, Fraction(1, 2))
    factor, allowed = sharing.moved(Fraction(1, 2))
    moved = roundings(np.random.default_rng(3), factor, [*sides])
    assert all(abs(d) <= side for d, side in zip(moved, allowed, strict=True))  # type: ignore[arg-type]
    assert lost(law, moved) <= told.epsilon <= law.achieved("box", sides, PureDP(20)).epsilon / 2


def test_no_rounding_of_scales_makes_another_side_the_longest() -> None:
    """All of epsilon is used, so that scales are raised by one, which is more of a short one."""
    moved, epsilon = (3000, 1000001), Fraction(3, 2)
    made = in_blocks([(2, "ellipsoid", moved)], PureDP(epsilon))
    sharing = Sharing(None, *made, PureDP(epsilon), along=True)  # type: ignore[arg-type]
    law = sharing.law(2)
    assert law.scales[0] > 2000
    told: Any = sharing.lost(law, 2)
    assert max(map(Fraction, moved, law.scales)) <= told.epsilon <= epsilon


def test_blocks_of_a_share_are_independent_and_each_has_one_gamma_variable() -> None:
    """By the characteristic function of several blocks: a product over blocks, and over no more.

    E cos(w z) = prod_B (1 + |w_B|^2)^-q_B at every w in units of the scales, q_B = (K_B + 1) / 2m.
    """
    scales, count, sizes = (WIDE, 3 * WIDE, WIDE // 50, WIDE, 9 * WIDE), 1500, (2, 1, 2)
    law = SharedBlocksNoise(scales, 2, 1, sizes)
    points = np.array([law.share() for _ in range(count)], dtype=float) / np.array(scales, float)
    frequency = np.array([0.45, -0.4, 0.5, 0.35, -0.55])
    blocks, orders = [frequency[:2], frequency[2:3], frequency[3:]], [3 / 4, 2 / 4, 3 / 4]

    def away(expected: float, factor: float = 1) -> float:
        cosines = np.cos(points @ frequency * factor)
        return float(abs(cosines.mean() - expected) / (cosines.std() / count**0.5))

    exact = math.prod((1 + w @ w) ** -q for w, q in zip(blocks, orders, strict=True))
    assert away(exact) < 4.4
    assert min(away(exact, 2**0.5), away(exact, 2**-0.5)) > 5
    # One gamma variable for all, or one for each coordinate.
    assert away((1 + frequency @ frequency) ** (-6 / 4)) > 4.4
    assert away(math.prod(float(1 + w**2) ** (-2 / 4) for w in frequency)) > 2


@pytest.mark.parametrize("name", ["boxes", "effects"])
def test_one_share_fewer_than_are_honest_states_nothing(name: str) -> None:
    _, _, agreement = started(SUMMARIES[name][0](epsilon=1), colluding=1)
    made = agreed_sum(agreement)
    law = made.sharing.law(agreement.honest)
    assert isinstance(law, SharedBlocksNoise)
    # Sides stand for parts, of channels under rho too: rounding moves more coordinates than those.
    assert made.sharing.along
    assert name == "effects" or agreed_sum(started(SUMMARIES[name][0](**GAUSSIAN))[2]).sharing.along
    # One block for all rows would lose no more, and have more noise.
    assert len(law.block_sizes) == (made.table.rows if name == "effects" else 3)
    with pytest.raises(RefusedMechanismError):
        made.sharing.lost(law, agreement.honest - 1, Fraction(1, 2))
    assert set(statements(agreement)) == {0, 1}


def test_no_two_custodians_draw_shares_of_different_laws_under_one_agreement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It broke: "auto" was signed, and whichever law it took where a share was drawn was drawn.

    The numbers were as many and the rule of the integers was the same, so that shares of one law were
    added to those of another, of which nothing is proved.
    """
    own, _, agreement = started(PrivateMean(1, bounds=(0, 1)), colluding=1)
    assert estimator_of(agreement).mechanism == "auto"
    true = Sharing.law

    def other(sharing: Sharing, honest: int) -> Any:
        return SharedLaplaceNoise(true(sharing, honest).scales, honest, honest)

    monkeypatch.setattr(Sharing, "law", other)
    ledger = MemoryLedger().create("own", PureDP(9), unit="record")
    with pytest.raises(CustodyError, match="shares of the same law"):
        part(agreement, own[0], np.full((UNITS, POINTS), 0.2), ledger=ledger.of("own"))
    assert ledger.spent("own").values == (0,)


@pytest.mark.parametrize("name", SUMMARIES)
def test_what_auto_becomes_is_signed_and_read_alike(name: str) -> None:
    if "add" in name:
        return
    columns = None if name in ("density", "survival") else POINTS
    for asked in ({"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": 1}):
        _, _, agreement = started(SUMMARIES[name][0](**asked), UNITS, columns, colluding=1)
        law = agreed_sum(agreement).sharing.law(agreement.honest)
        first: Any = statements(agreement)[1]
        assert getattr(first, "epsilon", first) <= 1 if "epsilon" in asked else first.rho <= 1
        assert type(law).__name__.startswith("Shared")
        assert getattr(first, "delta", 0) <= Fraction(asked.get("delta", 0))


def test_weights_of_least_variance_keep_every_budget_in_exact_fractions() -> None:
    random = np.random.default_rng(6)
    for trial in range(25):
        names = [f"c{number}" for number in range(random.integers(2, 5))]
        cards = [Keys.make(each, units=int(10 ** random.uniform(0.5, 4))).card for each in names]
        odd = [Fraction(int(random.integers(1, 10**6)), 10**6), Fraction(1, int(random.integers(2, 50)))]
        budgets = {each: odd[random.integers(2)] for each in names[1:] if random.random() < 0.8}
        visits = {each: str(round(10 ** random.uniform(-3, 3), 4)) for each in names[::2]}
        asked = str(round(10 ** random.uniform(-4, 3), 7))
        power = 1 + trial % 2
        given = {"epsilon": asked} if power == 1 else {"rho": asked, "mechanism": "gaussian"}
        mean = PrivateMean(bounds=(0, 1), **given)
        rules = {"weights": budgets, "visits": visits, "colluding": 1}
        agreement = agree(mean, cards, Keys.make("lead"), 6, "shared", **rules)
        agreed = estimator_of(agreement)
        most = Fraction(str(agreed.epsilon if power == 1 else agreed.rho))
        for each in names:
            allowed = Fraction(asked) * budgets.get(each, Fraction(1)) ** power
            assert most * agreement.weight(each) ** power <= allowed
            told: Any = statements(agreement, each)[1]
            assert (told.epsilon if power == 1 else told.rho) <= allowed


def test_a_weighed_share_of_blocks_is_paid_for_before_it_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, _, agreement = started(SUMMARIES["boxes"][0](epsilon=1), weights={"a": TINY}, colluding=1)
    ledger, seen = MemoryLedger(), []
    ledger.create("own", PureDP(Fraction(1, 10**6)), unit="record")
    ledger.create("less", PureDP(Fraction(9, 10**7)), unit="record")

    def share(law: SharedKNormNoise) -> list[int]:
        seen.append(ledger.spent("own").values)
        return [0] * law.components

    monkeypatch.setattr(SharedKNormNoise, "share", share)
    records = np.full((UNITS, POINTS, 3), 0.3)
    with pytest.raises(BudgetError):
        part(agreement, own[0], records, ledger=ledger.of("less"))
    assert not seen
    part(agreement, own[0], records, ledger=ledger.of("own"))
    told: Any = statements(agreement, "a")[1]
    assert seen == [(told.epsilon,)]
    assert 0.9 * TINY < told.epsilon <= TINY


def laws_in(written: Any) -> list[dict[str, Any]]:
    if isinstance(written, dict):
        own = [written] if {"law", "scales"} <= {*written} else []
        return own + [law for each in written.values() for law in laws_in(each)]
    return [law for each in written for law in laws_in(each)] if isinstance(written, list) else []


@pytest.mark.parametrize("name", ["boxes", "effects"])
def test_no_changed_file_of_blocks_promises_more(name: str, tmp_path: Path) -> None:
    own, lead, agreement = started(SUMMARIES[name][0](epsilon="3/4"), colluding=1)
    y = {"age": np.full(UNITS, 30.0), "sex": np.array([*"fmfm"])} if name == "effects" else None
    X = np.full((UNITS, POINTS, 3) if name == "boxes" else (UNITS, POINTS), 0.3)
    release = merge(agreement, [part(agreement, keys, X, y=y) for keys in own], lead)
    path = release.save(tmp_path / "release.json")
    text = path.read_text()
    first = laws_in(json.loads(text))[0]
    count = len(first["scales"])
    changes: list[dict[str, Any]] = [
        {"law": law} for law in ("shared-laplace", "shared-gaussian", "k-norm-box", "gaussian", "k-norm")
    ]
    changes += [{"scales": [scale * 2 // 3 for scale in first["scales"]]}, {"honest": 4}, {"drawn": 1}]
    odd: list[Any] = [[1] * count, [count - 1, 1], [0, count], [count + 1], ["a"], None]
    changes += [{"law": "shared-k-norm-blocks", "block_sizes": sizes} for sizes in odd]
    for change in changes:
        written = json.loads(text)
        laws_in(written)[0].update(change)
        path.write_text(json.dumps(written))
        with pytest.raises(DpfdaError):
            load(path)
    path.write_text(text)
    assert load(path).certificate.achieved == release.certificate.achieved


def test_numbers_of_groups_under_weights_tell_those_of_every_custodian() -> None:
    """Nothing broke: they are public. But a page said that only their totals are opened."""
    weights, held = {"a": Fraction(331, 1000), "b": TINY * 777}, {"a": 7, "b": 23, "c": 11}
    own, lead, agreement = started(
        PrivateComparison(1, bounds=(0, 1), levels=["p", "q"]), 40, weights=weights, colluding=1
    )
    parts = [
        part(agreement, keys, np.full((40, POINTS), 0.5), y=["p"] * n + ["q"] * (40 - n))
        for keys, n in zip(own, held.values(), strict=True)
    ]
    told = merge(agreement, parts, lead)["p"].count
    sizes = range(41)
    fits = [
        (i, j, k) for i in sizes for j in sizes for k in sizes
        if abs(i * 0.331 + j * 0.000777 + k - told) < 3e-6
    ]  # fmt: skip
    assert fits == [tuple(held.values())]


def test_a_group_that_counts_for_less_than_two_units_is_released(tmp_path: Path) -> None:
    """It broke: every custodian had paid for its share, and nothing could be released."""
    weights = {"a": Fraction(1, 1000), "b": Fraction(1, 1000)}
    comparison = PrivateComparison(10**6, bounds=(0, 1), levels=["p", "q"])
    own, lead, agreement = started(comparison, weights=weights)
    X, of = np.full((UNITS, POINTS), 0.3), {"a": "p", "b": "p", "c": "q"}
    parts = [part(agreement, keys, X, y=[of[keys.card.name]] * UNITS) for keys in own]
    release = merge(agreement, parts, lead)
    found = load(release.save(tmp_path / "groups.json"))
    assert found["p"].count == pytest.approx(8 / 1000, rel=1e-3)
    assert found["q"](np.array([0.5])) == pytest.approx([0.3], abs=0.01)


def test_nobody_forges_a_weight_that_leaves_rounding_no_room() -> None:
    """`part` takes what is signed only where a factor is left, and has charged nothing before."""
    narrow = vector(Ellipsoid(radius=2.0, power=1.0), Ellipsoid(radius=1.0, power=2.0))
    own, lead, agreement = started(narrow(epsilon=500), weights={"b": Fraction(1, 2)})
    forged = replace(agreement, weights={"a": TINY}).signed(lead)
    ledger = MemoryLedger().create("own", PureDP(999), unit="record")
    with pytest.raises(ParameterError, match="leave a unit more than rounding moves"):
        part(forged, own[0], np.full((UNITS, POINTS, 2), 0.2), ledger=ledger.of("own"))
    assert ledger.spent("own").values == (0,)
