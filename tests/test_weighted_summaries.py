"""Units that count by the weight of their custodian, in every summary that has noise in shares."""

from fractions import Fraction

import numpy as np
import pytest

from dpfda import (
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFunctionalRegression,
    PrivateMean,
    PrivateSurvival,
    PrivateVectorMean,
    load,
)
from dpfda.errors import ParameterError
from dpfda.noise import knorm_shares
from dpfda.noise import shared as laws

pytest.importorskip("cryptography")

from dpfda.front.custodians import agree, estimator_of, merge, part, pooled, statements
from dpfda.publication.custody import Keys, joined

pytestmark = pytest.mark.usefixtures("few_draws")

POINTS, UNITS = 12, {"north": 8, "south": 12, "west": 10}
WEIGHTS = {"north": Fraction(1, 2), "west": Fraction(1, 3)}
GENERATOR = np.random.default_rng(21)
GAUSSIAN = {"mechanism": "gaussian"}
SEX = {"sex": ["f", "m"]}


def groups(n):
    return np.array(["a"] * (n // 4) + ["b"] * (n - n // 4))


SUMMARIES = {
    "comparison": lambda **k: PrivateComparison(bounds=(0, 1), levels=["a", "b"], **k),
    "covariance": lambda **k: PrivateCovariance(bounds=(0, 1), center="bound", **k),
    "density": lambda **k: PrivateDensity(domain=[(0, 1)], cells=8, **k),
    "effects": lambda **k: PrivateFunctionalRegression(bounds=(0, 1), covariates=SEX, **k),
    "survival": lambda **k: PrivateSurvival(domain=(0, 1), cells=4, **k),
    "vector": lambda **k: PrivateVectorMean(bounds=[(0, 1), (0, 2)], channels=["x", "y"], **k),
    "visits": lambda **k: PrivateMean(bounds=(0, 1), missing="pooled", **k),
}  # fmt: skip


def records(name, n):
    beside = {
        "comparison": groups(n), "survival": np.arange(n) % 2,
        "effects": {"sex": np.where(groups(n) == "a", "f", "m")},
    }.get(name)  # fmt: skip
    shape = {"density": (n,), "survival": (n,), "vector": (n, POINTS, 2)}.get(name, (n, POINTS))
    return GENERATOR.uniform(0, 1, shape), beside


def started(estimator, name, **rules):
    own, lead = [Keys.make(who, units=n) for who, n in UNITS.items()], Keys.make("registry")
    columns = None if name in ("density", "survival") else POINTS
    cards = [each.card for each in own]
    return own, lead, agree(estimator, cards, lead, columns, "shared", **rules)


def without_noise(monkeypatch):
    for law in (
        laws.SharedGaussianNoise, laws.SharedLaplaceNoise, laws.SharedSymmetricNoise,
        laws.SharedSymmetricKNormNoise, knorm_shares.SharedKNormNoise,
    ):  # fmt: skip
        monkeypatch.setattr(law, "share", lambda law: [0] * law.components)


def opened(agreement, own, lead, held):
    parts = [part(agreement, k, X, y=y) for k, (X, y) in zip(own, held, strict=True)]
    total = joined(agreement, lead, parts)
    return np.array(total.with_noise([0] * agreement.numbers), dtype=object)


@pytest.mark.parametrize("asked", [{"epsilon": 1}, {"rho": 1}], ids=str)
@pytest.mark.parametrize("name", SUMMARIES)
def test_a_unit_moves_the_total_by_its_weight_and_loses_as_much_less(name, asked, monkeypatch):
    """One unit of a custodian whose weight is a half is replaced; the others' integers stay."""
    without_noise(monkeypatch)
    law = {"noise": "gaussian"} if name in ("density", "effects", "survival") else GAUSSIAN
    estimator = SUMMARIES[name](**asked, **({} if "epsilon" in asked else law))
    held = [records(name, n) for n in UNITS.values()]
    other = [(X.copy(), y) for X, y in held]
    other[0][0][0] = 1 - np.round(other[0][0][0])
    found = {}
    for weights in (None, WEIGHTS):
        totals = []
        for data in (held, other):
            own, lead, agreement = started(estimator, name, weights=weights, colluding=1)
            totals.append(opened(agreement, own, lead, data))
        found[weights is None] = totals[1] - totals[0], statements(agreement, "north")
        count = len(totals[0]) - 2 if name == "comparison" else None
    made = pooled(estimator_of(agreement), 8 // 2 + 12 + 10 // 3)
    factor = made.sharing.moved(WEIGHTS["north"])[0]
    assert 0.49 < factor < 0.5
    (weighed, told), (whole, full) = found[False], found[True]
    assert np.any(whole[:count])
    differences = zip(weighed[:count], whole[:count], strict=True)
    assert all(abs(d - factor * e) < 1 for d, e in differences)
    # Numbers of units of groups do not move.
    assert count is None or not np.any(weighed[count:])
    for colluding in (0, 1):
        lost, most = (
            float(getattr(each[colluding], "epsilon" if "epsilon" in asked else "rho"))
            for each in (told, full)
        )
        expected = most * (0.5 if "epsilon" in asked else 0.25)
        assert expected * (1 - 1e-4) < lost <= expected * (1 + 1e-9)


@pytest.mark.parametrize(
    ("asked", "visits"),
    [({"epsilon": 1}, {"north": 2}), ({"epsilon": 400}, {"north": 2, "west": 30}), ({"rho": 9000}, {})],
    ids=str,
)
def test_weights_of_least_variance_are_below_the_budgets_and_no_others_are_better(asked, visits):
    budgets = {"north": Fraction(1, 2), "south": Fraction(1), "west": Fraction(1, 3)}
    kind = {} if "epsilon" in asked else GAUSSIAN
    estimator = PrivateMean(bounds=(0, 1), **asked, **kind)
    own = [Keys.make(who, units=100 * n) for who, n in UNITS.items()]
    cards, lead = [each.card for each in own], Keys.make("registry")
    rules = {"weights": WEIGHTS, "visits": visits}
    agreement = agree(estimator, cards, lead, POINTS, "shared", **rules)
    agreed = estimator_of(agreement)
    field = "epsilon" if "epsilon" in asked else "rho"
    top = Fraction(getattr(agreed, field)) / asked[field]
    top = float(top) if field == "epsilon" else float(top) ** 0.5
    found = {who: top * float(agreement.weight(who)) for who in UNITS}
    assert all(found[who] <= budgets[who] for who in UNITS)
    lost = {who: statements(agreement, who)[0] for who in UNITS}
    most = {who: asked[field] * budgets[who] ** (1 if field == "epsilon" else 2) for who in UNITS}
    assert all(getattr(lost[who], field) <= most[who] for who in UNITS)
    # Second road: a grid of all weights within the budgets, by the variance that is stated.
    sharing = pooled(estimator, 100 * 30, POINTS).sharing
    noise = 50 * sharing.relative_variance
    spread = np.array([1 + sharing.noise.components / visits.get(who, np.inf) for who in UNITS])
    sizes = 100.0 * np.array([*UNITS.values()])

    def variance(f):
        return ((f**2 * sizes * spread).sum(axis=-1) + noise) / (f * sizes).sum(axis=-1) ** 2

    steps = np.linspace(0.02, 1, 50)
    grid = np.stack(np.meshgrid(*(steps * float(budgets[who]) for who in UNITS)), axis=-1)
    best = variance(np.array([*found.values()]))
    assert best <= variance(grid).min() * 1.02
    if asked == {"epsilon": 1}:
        # Noise alone decides: all that may be lost is.
        assert found == pytest.approx({who: float(w) for who, w in budgets.items()}, rel=1e-5)
    elif visits:
        assert found["north"] < 0.9 * float(budgets["north"])


def test_visits_are_of_custodians_who_draw_shares():
    estimator, lead = PrivateMean(1, bounds=(0, 1)), Keys.make("registry")
    cards = [Keys.make(who, units=n).card for who, n in UNITS.items()]
    for visits, noise, found in (
        ({"east": 3}, "shared", "be positive numbers of"),
        ({"west": 0}, "shared", "be positive numbers of"),
        ({"west": 3}, "central", "be left out where the coordinator"),
    ):
        with pytest.raises(ParameterError, match=found):
            agree(estimator, cards, lead, POINTS, noise, visits=visits)


@pytest.mark.parametrize("name", ["comparison", "covariance", "vector", "visits", "density", "effects"])
def test_what_is_released_is_of_units_with_their_weights(name, monkeypatch, tmp_path):
    without_noise(monkeypatch)
    levels = dict(zip(UNITS, (0.2, 0.6, 0.9), strict=True))
    own, lead, agreement = started(SUMMARIES[name](epsilon=10**6), name, weights=WEIGHTS)
    parts = []
    for keys in own:
        who, n = keys.card.name, keys.card.units
        X, y = records(name, n)
        X[:] = levels[who]
        parts.append(part(agreement, keys, X, y=y))
    release = merge(agreement, parts, lead)
    counted = {who: n * WEIGHTS.get(who, 1) for who, n in UNITS.items()}
    mean = float(sum(counted[who] * levels[who] for who in UNITS) / sum(counted.values()))
    at = np.array([0.3])
    if name == "comparison":
        sizes = {who: n // 4 * WEIGHTS.get(who, 1) for who, n in UNITS.items()}
        mean = float(sum(sizes[who] * levels[who] for who in UNITS) / sum(sizes.values()))
        assert release["a"].count == pytest.approx(float(sum(sizes.values())), rel=1e-5)
        assert release["a"](at) == pytest.approx([mean], abs=0.02)
        assert release["a"].about["counted"] == "by the weights of their custodians"
    elif name == "covariance":
        square = float(sum(counted[w] * (levels[w] - 0.5) ** 2 for w in UNITS) / sum(counted.values()))
        assert release.count == pytest.approx(float(sum(counted.values())), rel=1e-6)
        assert np.trace(release.matrix) == pytest.approx(square, rel=0.05)
    elif name == "density":
        share = float(counted["north"] / sum(counted.values()))
        assert release.cdf(np.array([0.5])) == pytest.approx([share], abs=0.04)
    else:
        line = release["x"] if name == "vector" else release
        assert line(at).ravel() == pytest.approx([mean], abs=0.02)
    # Nobody is told the number that was divided by as the number of units.
    assert f": {round(sum(counted.values()))}" not in release.facts.units
    assert load(release.save(tmp_path / "release.json")).facts.units == release.facts.units
