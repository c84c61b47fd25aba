"""The covariance of sparse curves: what a unit adds, what is private, and how near it comes.

Sums are heard where they get noise, in `fit` itself; the audit's error rates are those of `statistical`.
"""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dpfda
from dpfda import PrivateCovariance
from dpfda.bases.cells import CellGrid
from dpfda.covariance.components_release import ReleasedComponents
from dpfda.covariance.release import ReleasedCovariance
from dpfda.covariance.sparse_release import PARTS, PairEstimate, ReleasedSparseCovariance, cells_along
from dpfda.covariance.strategies import Center, MatrixNoise
from dpfda.errors import BudgetError, DataError, ParameterError
from dpfda.front import main
from dpfda.noise import GaussianNoise, KNormNoise, achieved_guarantee
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import PureDP, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records import LongCurves
from dpfda.records.observations import Observations
from dpfda.testing import check_release
from statistical import fits_only_at_its_scale

CELLS = CellGrid.regular(4, (0.0, 1.0))
seen = st.tuples(st.floats(0, 1), st.floats(-3, 3))
people = st.lists(st.lists(seen, max_size=7), min_size=1, max_size=5)


def observed(units: list[list[tuple[float, float]]], records: list[int] | None = None) -> Observations:
    rows = [(i, t, y) for i, unit in enumerate(units) for t, y in unit]
    codes = np.array([i for i, _, _ in rows], dtype=np.int64)
    times, values = (np.array([row[j] for row in rows], dtype=float) for j in (1, 2))
    curves = None if records is None else np.array(records)
    return Observations(codes, times, values, np.ones(len(rows), dtype=bool), len(units), curves)


def shares(units: list[list[tuple[float, float]]], records: list[int] | None = None) -> np.ndarray:
    return np.array(observed(units, records).pair_shares(CELLS, *PARTS), dtype=object).reshape(-1, 2)


def by_hand(unit: list[tuple[float, float]]) -> np.ndarray:
    """Shares of one unit with one curve, pair by pair."""
    first, second = np.triu_indices(4)
    place = dict(zip(zip(first, second, strict=True), range(first.size), strict=True))
    cells = [min(int(t * 4), 3) for t, _ in unit]
    y = np.clip([y for _, y in unit], -1, 1)
    pairs = [(a, b) for a in range(len(unit)) for b in range(a)]
    found = np.zeros((first.size + 1, 2))
    for a, b in pairs:
        w, corner = PARTS[0] / len(pairs), y[a] * y[b]
        row = place[min(cells[a], cells[b]), max(cells[a], cells[b])]
        found[row] += [w * (1 - corner) / 2, w * (1 + corner) / 2]
    for value in y:
        found[-1] += PARTS[1] / len(unit) * np.array([1 - value**2, value**2])
    return found


# What a unit adds.


@given(people)
def test_a_unit_adds_at_most_one_and_the_sum_is_that_of_the_units(units) -> None:
    alone = [shares([unit]) for unit in units]
    for unit, rows in zip(units, alone, strict=True):
        assert rows.min() >= 0
        assert rows[:-1].sum() <= PARTS[0] * (len(unit) > 1)
        assert rows[-1].sum() == PARTS[1] * (len(unit) > 0)
    assert shares(units).tolist() == sum(alone).tolist()


@given(st.lists(seen, max_size=7))
def test_corners_give_back_products_of_different_visits(unit) -> None:
    # Each pair of cells loses less than two grid units to rounding.
    assert np.abs(shares([unit]).astype(float) - by_hand(unit)).max() < 2


@settings(max_examples=50)
@given(people, st.lists(seen, max_size=7))
def test_neighbours_are_no_further_apart_than_the_noise_is_made_for(units, other) -> None:
    apart = shares(units) - shares([other, *units[1:]])
    assert abs(apart).sum() <= 2 * UNIT
    # Normal noise: shares are not negative, and in two parts.
    assert (apart**2).sum() <= 2 * sum(part**2 for part in PARTS)


def test_the_widths_are_reached() -> None:
    apart = shares([[(0.1, -1.0), (0.1, 1.0)]]) - shares([[(0.9, 0.0), (0.9, 0.0)]])
    assert abs(apart).sum() == 2 * UNIT
    # Products alone, one corner each.
    apart = shares([[(0.1, 1.0), (0.1, 1.0)]]) - shares([[(0.9, 1.0), (0.9, 1.0)]])
    assert (apart**2).sum() == 2 * PARTS[0] ** 2


def test_many_visits_of_one_person_add_no_more_and_lose_nothing() -> None:
    rng = np.random.default_rng(2)
    unit = list(zip(rng.random(3000), rng.normal(size=3000) + 0.3, strict=True))
    found = shares([unit])
    assert UNIT - 22 <= found.sum() <= UNIT
    y = np.clip([y for _, y in unit], -1, 1)
    product = (y.sum() ** 2 - (y**2).sum()) / (3000 * 2999)
    assert (found[:-1, 1] - found[:-1, 0]).sum() / PARTS[0] == pytest.approx(product, abs=1e-4)


def test_visits_of_two_curves_of_one_person_are_no_pair() -> None:
    unit = [(0.1, 0.5), (0.4, 0.5), (0.6, -0.5), (0.9, -0.5)]
    found = shares([unit], [0, 0, 1, 1])
    # Pairs of cells (0, 1) and (2, 3), half of the unit each.
    assert np.flatnonzero(found[:-1].sum(axis=1)).tolist() == [1, 8]
    assert found[:-1].sum(axis=1).max() == PARTS[0] // 2
    # Numbers of curves may fall where those of persons rise.
    assert shares([unit[:2], unit[2:]], [1, 1, 0, 0])[1].sum() == PARTS[0]


def test_blocks_of_units_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    units = [list(zip(rng.random(k), rng.normal(size=k), strict=True)) for k in rng.integers(0, 6, 40)]
    whole = shares(units).tolist()
    monkeypatch.setattr("dpfda.records.observations.PERSONS", 7)
    assert shares(units).tolist() == whole


# What fit adds noise to.

FIXED = {"center": Center(0.0, radius=1.5), "domain": (0, 1), "unit": "person"}
OWN = {
    "no other visit": ([0.3], [9.0]),
    "two": ([0.1, 0.9], [9.0, -9.0]),
    "the same moment": ([0.5] * 5, [1.5] * 5),
    "nothing but the center": ([0.9, 0.9], [0.0, 0.0]),
    "many": (np.linspace(0, 1, 400), np.tile([-50.0, 0.2, 50.0, 1e300], 100)),
}


def others(count: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return np.repeat(np.arange(count), 3), rng.random(3 * count), rng.normal(size=3 * count)


def with_one(own: str | None) -> LongCurves:
    ids, times, values = others()
    extra = OWN.get(str(own), ([], []))
    ids = np.append(ids, np.full(len(extra[0]), 99))
    return LongCurves(ids, np.append(times, extra[0]), np.append(values, extra[1]))


def heard(monkeypatch, estimator: PrivateCovariance, long: LongCurves) -> list[np.ndarray]:
    """The exact sums that `fit` adds noise to; all of them are published as if they were the same."""
    sums, plain = [], IntegerSum.with_noise

    def with_noise(total: IntegerSum, noise: list[int]) -> tuple[int, ...]:
        sums.append(np.array(plain(total, [0] * len(noise)), dtype=object))
        # As many units as there are, in the corners' middle: the stage after it is the same.
        return tuple(12 * UNIT // len(noise) for _ in noise)

    monkeypatch.setattr(IntegerSum, "with_noise", with_noise)
    estimator.fit(long)
    monkeypatch.undo()
    return sums


# With a private center the first stage is that of a mean of visits; both are tried with one budget in
# every run.
STAGES = [
    ("public", {"epsilon": 2}), ("private", {"epsilon": 2}),
    ("public", {"epsilon": 0.5, "delta": 0.1}), ("public", {"rho": 0.5}),
    pytest.param("private", {"epsilon": 0.5, "delta": 0.1}, marks=pytest.mark.thorough),
    pytest.param("private", {"rho": 0.5}, marks=pytest.mark.thorough),
]  # fmt: skip


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("center", "budget"), STAGES)
def test_what_one_person_moves_is_hidden_by_the_noise_in_force(
    center, neighbours, budget, monkeypatch
) -> None:
    size = {} if neighbours == "replace-one" else {"public_size": 12}
    more = FIXED if center == "public" else {"bounds": (-4, 4), "domain": (0, 1)}
    estimator = PrivateCovariance(**budget, **more, neighbours=neighbours, **size)
    sums = {own: heard(monkeypatch, estimator, with_one(own)) for own in [*OWN, None]}
    release = estimator.fit(with_one("two")).release_
    laws = [release.shares.noise] if center == "public" else [release.pooled.shares.noise]
    laws += [release.shares.noise] * (center == "private")
    costs = release.certificate.costs
    assert len(laws) == len(costs) == len(sums["two"])
    if neighbours == "replace-one":
        pairs = [(a, b) for a in OWN for b in OWN if a < b]
    else:
        pairs = [(a, None) for a in OWN]
    for stage, (law, cost) in enumerate(zip(laws, costs, strict=True)):
        norm, reached = ("l2", 0) if isinstance(law, GaussianNoise) else ("l1", 0)
        for a, b in pairs:
            apart = sums[a][stage] - sums[b][stage]
            size = int((apart**2).sum()) ** 0.5 if norm == "l2" else abs(apart).sum()
            reached = max(reached, size)
        # What the noise gives for the largest difference is within what was charged, and not by far.
        size = int(np.ceil(reached))
        assert within(achieved_guarantee(law, norm, size, cost.guarantee), cost.guarantee)
        if center == "public" and neighbours == "replace-one" and norm == "l1":
            assert reached == 2 * UNIT
            cut = KNormNoise.equal(law.components, int(law.scales[0] / 2**0.5))
            given = achieved_guarantee(cut, norm, size, PureDP(1))
            assert given.epsilon > 1.4 * achieved_guarantee(law, norm, size, PureDP(1)).epsilon


def test_released_numbers_have_the_noise_that_is_stated_and_no_other_scale(monkeypatch) -> None:
    estimator, long = PrivateCovariance(Fraction(2), **FIXED), with_one("two")
    (exact,) = heard(monkeypatch, estimator, long)
    releases = [estimator.fit(long).release_ for _ in range(300)]
    drawn = np.concatenate([(np.array(r.shares.noisy, dtype=object) - exact) for r in releases])
    # One unit in the place of another moves them by two, at epsilon two.
    assert set(releases[0].shares.noise.scales) == {UNIT}
    assert fits_only_at_its_scale(drawn.astype(float) / UNIT, stats.laplace.cdf)


def test_the_budget_is_split_and_charged_before_anything_is_drawn() -> None:
    ledger = MemoryLedger()
    ledger.create("visits", PureDP(1), unit="person")
    estimator = PrivateCovariance(
        1, bounds=(-4, 4), domain=(0, 1), unit="person", ledger=ledger.of("visits")
    )
    release = estimator.fit(simulated(200)[0]).release_
    certificate = release.certificate
    assert certificate.stages == ("mean", "second moments")
    assert [str(cost.guarantee.epsilon) for cost in certificate.costs] == ["1/4", "3/4"]
    assert certificate.guarantee == PureDP(1)
    assert certificate.achieved.epsilon <= 1
    assert release.pooled.certificate.guarantee == PureDP(Fraction(1, 4))
    with pytest.raises(BudgetError):
        estimator.fit(simulated(200)[0])
    own = PrivateCovariance(1, bounds=(-4, 4), center=Center("private", mean_share=0.5), domain=(0, 1))
    costs = own.fit(simulated(200)[0]).release_.certificate.costs
    assert [cost.guarantee for cost in costs] == [PureDP(Fraction(1, 2))] * 2


# How near it comes.


def truth(t: np.ndarray) -> np.ndarray:
    both = np.sqrt(2) * np.array([np.sin(np.pi * t), 0.5 * np.cos(2 * np.pi * t)])
    return both.T @ both


def simulated(people: int, seed: int = 0, noise: float = 0.4) -> tuple[LongCurves, np.ndarray]:
    """Two to five visits; a mean, two eigenfunctions, errors of measurement; and everybody's scores."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(people), rng.integers(2, 6, people))
    t, own = rng.random(ids.size), rng.normal(size=(people, 2)) * (1.0, 0.5)
    curve = own[ids, 0] * np.sin(np.pi * t) + own[ids, 1] * np.cos(2 * np.pi * t)
    values = t + np.sqrt(2) * curve + rng.normal(scale=noise, size=t.size)
    return LongCurves(ids, t, values), own


GRID = np.linspace(0, 1, 61)


def error(release: ReleasedSparseCovariance) -> float:
    exact = truth(GRID)
    return float(np.linalg.norm(release.on_grid(GRID) - exact) / np.linalg.norm(exact))


def test_two_visits_a_person_give_covariance_components_and_error_of_measurement() -> None:
    releases = [
        PrivateCovariance(4, bounds=(-5, 6), domain=(0, 1)).fit(simulated(5000, seed)[0]).release_
        for seed in range(3)
    ]
    # Measured over 12: .09 to .19, and of 6 without noise .07 to .12; of a covariance of zero it is 1.
    assert np.mean([error(release) for release in releases]) < 0.22
    for release in releases:
        first = release.components(1).function(0)(GRID)
        wave = np.sqrt(2) * np.sin(np.pi * GRID)
        assert abs(np.trapezoid(first * wave, GRID)) > 0.97
        # Measured: .12 to .20, around .16.
        assert 0.04 < release.error_variance < 0.3
        assert np.linalg.eigvalsh(release.matrix).min() > -1e-9


def test_errors_of_measurement_do_not_inflate_the_diagonal() -> None:
    fixed = {"center": Center(lambda t: t, radius=4.0), "domain": (0, 1)}
    large = [PrivateCovariance(1e5, **fixed).fit(simulated(20_000, 1, noise)[0]).release_
             for noise in (0.0, 1.0)]  # fmt: skip
    at = np.linspace(0.1, 0.9, 9)
    assert np.abs(large[0].variance(at) - large[1].variance(at)).max() < 0.3
    assert large[1].error_variance - large[0].error_variance == pytest.approx(1.0, abs=0.15)


def test_without_noise_the_table_is_that_of_products_and_the_estimate_near_their_averages(
    monkeypatch,
) -> None:
    monkeypatch.setattr(KNormNoise, "draw", lambda law: [0] * law.components)
    long, _ = simulated(400, 3)
    release = (
        PrivateCovariance(1, center=Center(lambda t: t, radius=2.0), domain=(0, 1)).fit(long).release_
    )
    cells = round(len(release.shares.noisy) ** 0.5 - 0.5)
    first, second = np.triu_indices(cells)
    expected = np.zeros((first.size + 1, 2))
    scaled = np.clip((long.values - np.interp(long.times, GRID, GRID)) / 2, -1, 1)
    cell = np.minimum((long.times * cells).astype(int), cells - 1)
    for person in range(400):
        (rows,) = np.nonzero(long.ids == person)
        pairs = [(a, b) for a in rows for b in rows if a < b]
        for a, b in pairs:
            low, high = sorted((cell[a], cell[b]))
            row = np.flatnonzero((first == low) & (second == high))[0]
            p = scaled[a] * scaled[b]
            expected[row] += PARTS[0] / len(pairs) * np.array([(1 - p) / 2, (1 + p) / 2])
        p = np.mean(scaled[rows] ** 2)
        expected[-1] += PARTS[1] * np.array([1 - p, p])
    # Less than two grid units a person and cell are lost to rounding.
    found = np.array(release.shares.noisy).reshape(-1, 2)
    assert np.abs(found - expected).max() < 2 * 400
    # By itself each pair of cells says what the smooth estimate says, up to sampling.
    averages = 4 * (expected[:-1, 1] - expected[:-1, 0]) / expected[:-1].sum(axis=1)
    middle = (np.arange(cells) + 0.5) / cells
    assert np.corrcoef(release(middle[first], middle[second]), averages)[0, 1] > 0.6


def test_noise_alone_stays_below_the_floor_and_is_smoothed() -> None:
    floors, above = [], 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        ids, t = np.repeat(np.arange(600), 3), rng.random(1800)
        estimator = PrivateCovariance(2, center=Center(0.0, radius=2.0), domain=(0, 1))
        release = estimator.fit(LongCurves(ids, t, rng.normal(scale=0.3, size=1800))).release_
        floors.append(release.noise_floor())
        above += release.components(1).variances[0] > 1.2 * release.noise_floor()
    assert 0 < np.median(floors) < 4
    # One in twenty is meant to at most: more than five of twelve have a chance of 1e-5.
    assert above <= 5


def test_more_units_and_less_noise_make_more_cells() -> None:
    assert [cells_along(n, 3.8) for n in (50, 2000, 10_000, 1e7)] == [3, 4, 6, 10]


def test_the_estimate_does_not_fail_on_any_noise() -> None:
    law = KNormNoise.equal(22, 2 * UNIT)
    for factor in (0.0, 1.0, -1.0, 1e6):
        table = factor * np.random.default_rng(0).laplace(size=(11, 2)) * 100
        made = PairEstimate(table, law, 1 / UNIT)
        assert np.isfinite(made.matrix).all()
        assert made.error > 0


# Scores of a person with few visits.


def test_scores_are_conditional_expectations() -> None:
    long, own = simulated(1000, 6)
    release = PrivateCovariance(1e5, bounds=(-5, 6), domain=(0, 1)).fit(long).release_
    made = release.components(2)
    scores = release.scores(long, 2)
    assert scores.shape == (1000, 2)
    # By hand, for one person.
    rows = long.ids == 17
    t, y = long.times[rows], long.values[rows]
    seen = release(np.repeat(t, t.size), np.tile(t, t.size)).reshape(t.size, -1)
    seen += release.error_variance * np.eye(t.size)
    apart = y - np.interp(t, release.grid_points, release.center)
    expected = made.variances * (made(t) @ np.linalg.solve(seen, apart))
    assert scores[17] == pytest.approx(expected)
    signs = np.sign(np.trapezoid(made(GRID)[0] * np.sin(np.pi * GRID), GRID))
    assert np.corrcoef(signs * scores[:, 0], own[:, 0])[0, 1] > 0.8
    line = release.predict(LongCurves(np.zeros(t.size), t, y), GRID, 2)
    center = np.interp(GRID, release.grid_points, release.center)
    assert line[0] == pytest.approx(center + expected @ made(GRID))
    with pytest.raises(DataError, match="inside the domain"):
        release.scores(LongCurves([1], [7.0], [0.0]))
    with pytest.raises(ParameterError, match="curves must be LongCurves"):
        release.scores([[0.5, 1.0]])


# Doors.


def test_layouts_of_the_same_observations_add_up_to_the_same_sum(monkeypatch) -> None:
    grid, rng = np.linspace(0, 1, 9), np.random.default_rng(4)
    matrix = rng.normal(size=(30, 9))
    matrix[rng.random((30, 9)) < 0.6] = np.nan
    matrix[:, 4] = 0.25
    rows, columns = np.nonzero(np.isfinite(matrix))
    named = LongCurves([f"p{row}" for row in rows], grid[columns], matrix[rows, columns])
    by_two = LongCurves(rows, grid[columns], matrix[rows, columns], rows // 2)
    estimator = PrivateCovariance(1, **{**FIXED, "missing": "pooled"})
    sums = [heard(monkeypatch, estimator, each)[0].tolist() for each in (matrix, named)]
    assert sums[0] == sums[1]
    released = estimator.fit(by_two).release_
    assert released.public_units == 15
    assert estimator.fit(matrix, groups=np.arange(30) // 2).release_.public_units == 15


def test_which_estimate_it_is_follows_from_the_layout_and_can_be_chosen() -> None:
    long, _ = simulated(60)
    made = PrivateCovariance(1, bounds=(-4, 4), domain=(0, 1))
    assert isinstance(made.fit(long).release_, ReleasedSparseCovariance)
    assert made.mean_release_ is made.release_.pooled
    filled = made.set_params(reading__missing="complete").fit(long)
    assert isinstance(filled.release_, ReleasedCovariance)
    dense = PrivateCovariance(1, bounds=(-4, 4)).fit(np.zeros((40, 9)))
    assert isinstance(dense.release_, ReleasedCovariance)


def test_a_plan_is_of_public_numbers_and_that_of_the_release() -> None:
    asked = PrivateCovariance(1, bounds=(-4, 4), domain=(0, 1), missing="pooled")
    plan = asked.plan(5000)
    release = asked.fit(simulated(5000)[0]).release_
    assert plan.table.law == release.shares.noise
    assert plan.functions == "pairs of 5 cells"
    assert plan.error is None
    assert plan.at(epsilon=4).along > plan.along


def test_parameters_that_are_set_later_are_not_in_a_plan_that_was_made_before() -> None:
    asked = PrivateCovariance(1, bounds=(-4, 4), domain=(0, 1), missing="pooled")
    plan = asked.plan(5000)
    asked.set_params(bounds=(-9, 9), center="bound", mechanism=MatrixNoise("gaussian"), delta=1e-6)
    again = plan.at(n=5000)
    assert again.facts() == plan.facts()
    assert (again.bounds, again.radius, again.mean is None) == ((-4, 4), None, False)
    assert again.table.law == plan.table.law


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"basis": "matern:10%:1.5"}, "basis must be None for curves that are pooled"),
        ({"standardize": True}, "standardize must be False for curves that are pooled"),
        ({"mechanism": "wishart"}, "mechanism must be 'auto', 'laplace' or 'gaussian'"),
        ({"center": "pairs"}, "center must be 'private', 'bound', a curve or a function"),
        ({"center": Center(0.0, radius="private")}, "radius must be a number, in the units of values"),
        ({"center": Center("private", radius=-1)}, "radius must be"),
        ({"center": Center("private", radius_share=0.1)}, "radius_share must be None"),
        ({"center": Center("private", mean_share=1)}, "mean_share must lie strictly between 0 and 1"),
        ({"bounds": None}, "bounds must be given"),
        ({"bounds": (np.zeros(3), 1.0)}, "bounds must be two numbers"),
        ({"domain": None}, "domain must be given for irregular curves"),
        ({"neighbours": "add-remove"}, "public_size must be given under add/remove"),
    ],
)
def test_what_it_has_no_use_for_is_refused_before_anything_is_charged(given, words) -> None:
    ledger = MemoryLedger()
    ledger.create("visits", PureDP(1), given.get("neighbours", "replace-one"), "record")
    made = {"epsilon": 1, "bounds": (-4, 4), "domain": (0, 1), "ledger": ledger.of("visits"), **given}
    with pytest.raises(ParameterError, match=words.replace("(", r"\(")):
        PrivateCovariance(**made).fit(simulated(30)[0])
    assert not [record for record in ledger.history("visits") if record.action == "charge"]


def test_errors_print_no_values() -> None:
    spoilt = LongCurves([1, 1, 2, 3], [0.1, 7.25, 0.5, 0.5], [0.0, 1.0, 3.75, np.nan])
    made = PrivateCovariance(1, bounds=(-4, 4), domain=(0, 1))
    with pytest.raises(DataError, match=r"inside the domain \[0, 1\].*in row 1") as caught:
        made.fit(spoilt)
    assert "7.25" not in str(caught.value)
    with pytest.raises(ParameterError, match="missing must be 'complete' for irregular curves"):
        made.prepare(spoilt)


def test_unusable_observations_are_left_out_when_told_so(monkeypatch) -> None:
    spoilt = LongCurves([1, 1, 1, 2, 3], [0.1, 0.4, 7.25, 0.5, 0.5], [0.5, 0.5, 9.0, 0.75, np.nan])
    clean = LongCurves([1, 1, 2, 3], [0.1, 0.4, 0.5, 9.0], [0.5, 0.5, 0.75, 0.0])
    made = PrivateCovariance(1, **{**FIXED, "invalid": "repair"})
    one, other = (heard(monkeypatch, made, each)[0].tolist() for each in (spoilt, clean))
    assert one == other


def test_nothing_private_is_kept() -> None:
    made = PrivateCovariance(1, bounds=(-4, 4), domain=(0, 1)).fit(simulated(50)[0])
    kinds = (IntegerSum, Observations, LongCurves)
    held = [*vars(made).values(), *vars(made.release_).values()]
    assert not [each for each in held if isinstance(each, kinds)]


@pytest.mark.parametrize("center", ["private", 0.5])
def test_it_keeps_what_kinds_of_release_promise(center, tmp_path) -> None:
    made = PrivateCovariance(2, 1e-6, bounds=(-4, 4), center=center, domain=(0, 1), unit="person")
    release = made.fit(simulated(300)[0]).release_
    check_release(release)
    check_release(release.components(2))
    release.save(tmp_path / "cov.json")
    again = dpfda.load(tmp_path / "cov.json")
    assert np.array_equal(again.on_grid(), release.on_grid())
    assert isinstance(release.components(), ReleasedComponents)
    assert "Pairs of different visits are pooled" in " ".join(release.describe().split())


def test_a_file_whose_noise_is_too_small_is_refused(tmp_path) -> None:
    made = PrivateCovariance(1, bounds=(-4, 4), domain=(0, 1)).fit(simulated(80)[0])
    path = made.release_.save(tmp_path / "cov.json")
    written = json.loads(path.read_text())
    scale = written["shares"]["noise"]["scale"]
    path.write_text(json.dumps(written).replace(str(scale), str(int(scale / 2**0.5))))
    with pytest.raises(dpfda.errors.StorageError):
        dpfda.load(path)


def test_the_command_takes_a_row_an_observation(tmp_path, monkeypatch, capsys) -> None:
    long, _ = simulated(200)
    rows = zip(long.ids, long.times, long.values, strict=True)
    lines = ["person,when,value", *(f"{i},{t:.6f},{y:.6f}" for i, t, y in rows)]
    (tmp_path / "visits.csv").write_text("\n".join(lines))
    arguments = ["covariance", tmp_path / "visits.csv", "--id", "person", "--time", "when", "--value",
        "value", "--domain", "0", "1", "--epsilon", "2", "--bounds", "-5", "6",
        "--out", tmp_path / "cov.json", "--components-file", tmp_path / "pca.json"]  # fmt: skip
    monkeypatch.setattr("sys.argv", ["dpfda", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None), capsys.readouterr().err
    release = dpfda.load(tmp_path / "cov.json")
    assert isinstance(release, ReleasedSparseCovariance)
    assert release.unit == "person"
    assert isinstance(dpfda.load(tmp_path / "pca.json"), ReleasedComponents)
