"""The pooled mean of sparse curves: what a unit adds, what is private, and how near it comes.

Audits, their error rates and their power are those of `statistical`.
"""

import csv
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpfda
from dpfda import PrivateMean
from dpfda.bases.cells import CellGrid
from dpfda.errors import DataError, ParameterError
from dpfda.estimates.pooled import CORNERS, PooledMean, cells_for
from dpfda.mean.variants import prepare_pooled
from dpfda.noise import KNormNoise
from dpfda.noise.shares import UNIT, share_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import Neighbours, PureDP
from dpfda.records import LongCurves
from dpfda.records.observations import Observations
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.testing import check_release, exact_totals
from statistical import Audit, cut_noise

CELLS = CellGrid.regular(4, (0.0, 1.0))
seen = st.tuples(st.floats(0, 1), st.floats(-3, 3))
people = st.lists(st.lists(seen, max_size=9), min_size=1, max_size=5)


def observed(units: list[list[tuple[float, float]]]) -> Observations:
    rows = [(i, t, y) for i, unit in enumerate(units) for t, y in unit]
    codes = np.array([i for i, _, _ in rows], dtype=np.int64)
    times, values = (np.array([row[j] for row in rows], dtype=float) for j in (1, 2))
    return Observations(codes, times, values, np.ones(len(rows), dtype=bool), len(units))


def shares(units: list[list[tuple[float, float]]]) -> np.ndarray:
    return np.array(observed(units).shares(CELLS, (-1.0, 1.0), UNIT), dtype=object)


# What a unit adds.


@given(people)
def test_a_unit_adds_at_most_one_and_the_sum_is_that_of_the_units(units) -> None:
    alone = [shares([unit]) for unit in units]
    for unit, row in zip(units, alone, strict=True):
        assert min(row) >= 0
        assert sum(row) == (len(unit) * (UNIT // len(unit)) if unit else 0) <= UNIT
    assert shares(units).tolist() == sum(alone).tolist()


@given(st.lists(seen, min_size=1, max_size=9))
def test_corners_give_back_values_and_squares(unit) -> None:
    table = shares([unit]).astype(float).reshape(-1, 3) / UNIT
    values = (np.clip([y for _, y in unit], -1, 1) + 1) / 2
    cells = np.minimum((np.array([t for t, _ in unit]) * 4).astype(int), 3)
    for c in range(4):
        inside = values[cells == c] / len(unit)
        # Each observation loses less than three grid units to rounding.
        assert abs(table[c] @ CORNERS - inside.sum()) < 3 * len(unit) / UNIT
        assert abs(table[c, 2] - (inside * values[cells == c]).sum()) < 3 * len(unit) / UNIT


@settings(max_examples=50)
@given(people, st.lists(seen, max_size=9))
def test_neighbours_are_as_far_apart_as_the_noise_is_made_for(units, other) -> None:
    difference = shares(units) - shares([other, *units[1:]])
    assert sum(abs(difference)) <= share_noise(12, PureDP(1), Neighbours.REPLACE_ONE)[3]
    assert sum(shares([other])) <= share_noise(12, PureDP(1), Neighbours.ADD_REMOVE)[3]


def test_the_widths_are_reached() -> None:
    apart = shares([[(0.1, -1.0)]]) - shares([[(0.9, 1.0)]])
    assert sum(abs(apart)) == share_noise(12, PureDP(1), Neighbours.REPLACE_ONE)[3]


def test_blocks_of_reading_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    units = [list(zip(rng.random(k), rng.normal(size=k), strict=True)) for k in rng.integers(1, 9, 40)]
    whole = shares(units).tolist()
    monkeypatch.setattr("dpfda.records.observations.BLOCK", 7)
    assert shares(units).tolist() == whole


# The noise, from outside.


def audit_of(mean: PrivateMean) -> Audit:
    """Two data sets that differ in one person's three visits, and the likelihood ratio."""
    prepared = []
    for t, y in ((0.1, -1.0), (0.9, 1.0)):
        long = LongCurves(["a", "b", "c", "c", "c"], [0.2, 0.7, t, t, t], [0.0, 0.3, y, y, y])
        prepared.append(prepare_pooled(mean, long, None))
    noise = prepared[0].plan.table.law
    sums = [np.array(each.total.with_noise([0] * noise.components), dtype=float) for each in prepared]

    made = [each.total.with_noise for each in prepared]
    return Audit(sums, noise, float(mean.epsilon), float(mean.delta), publish=made)


@pytest.mark.parametrize("cut", [False, True], ids=["as stated", "cut by root two"])
def test_an_audit_finds_the_claim_and_what_breaks_it(cut: bool, monkeypatch) -> None:
    audit = audit_of(PrivateMean(1.5, bounds=(-1, 1), domain=(0, 1)))
    if cut:
        cut_noise(monkeypatch, KNormNoise)
    bound = audit.bound(9000)
    assert (bound > audit.claim) == cut
    assert bound >= audit.claim / 2


def test_the_release_has_the_scale_of_one_person_who_moves_everything() -> None:
    release = visits(400).release_
    assert set(release.shares.noise.scales) == {2 * UNIT}
    assert release.certificate.achieved == PureDP(1)
    assert release.unit == "person"
    add = PrivateMean(
        Fraction(1), bounds=(-4, 4), domain=(0, 1), neighbours="add-remove", public_size=400
    ).fit(long_visits(400))
    assert set(add.release_.shares.noise.scales) == {UNIT}
    assert add.release_.public_units is None


# How near it comes.


def truth(t: np.ndarray) -> np.ndarray:
    return 1.25 * np.sin(2 * np.pi * t)


def long_visits(people: int, each: int = 3, seed: int = 0, late: bool = False) -> LongCurves:
    rng = np.random.default_rng(seed)
    ids, t = np.repeat(np.arange(people), each), rng.random(people * each)
    t = 0.6 * t if late else t
    own = rng.normal(size=(people, 2)) * (0.6, 0.4)
    curve = truth(t) + own[ids, 0] + own[ids, 1] * np.sqrt(2) * np.cos(np.pi * t)
    return LongCurves(ids, t, curve + rng.normal(scale=0.3, size=t.size))


def visits(people: int, each: int = 3, epsilon: float = 1.0, **more) -> PrivateMean:
    mean = PrivateMean(epsilon, bounds=(-4, 4), domain=(0, 1), unit="person")
    return mean.fit(long_visits(people, each, **more))


def from_table(rng: np.random.Generator, long: LongCurves, people: int, cells: int) -> PooledMean:
    """The estimate with noise drawn in floats."""
    found = Observations(long.ids, long.times, long.values, np.ones(long.times.size, bool), people)
    law = share_noise(3 * cells, PureDP(1), Neighbours.REPLACE_ONE)[0]
    table = np.array(found.shares(CellGrid.regular(cells, (0, 1)), (-4, 4), UNIT), dtype=float)
    table = (table + law.simulate(rng, 1)[0]).reshape(-1, 3) / UNIT / people
    return PooledMean(table, law, 1 / UNIT / people, float(people))


@pytest.mark.parametrize("each", [2, 5])
def test_the_error_is_a_twentieth_of_the_values_scale(each: int) -> None:
    rng, errors, held = np.random.default_rng(8), [], []
    for seed in range(6):
        made = from_table(rng, long_visits(5000, each, seed), 5000, 12)
        error = 8 * made.line - 4 - truth(made.grid)
        errors.append(np.mean(error**2))
        held.append(bool(np.all(np.abs(error) <= 8 * made.half_widths(0.95, True))))
    # Measured over 25: .044 to .046; interpolating each person's values is off by .14 to .45.
    assert np.sqrt(np.mean(errors)) < 0.06
    # The band holds in 95 of 100 at least: two misses of six have a probability below 3 per cent.
    assert sum(held) >= 5


def test_without_noise_to_speak_of_it_is_the_mean_of_the_values_in_each_cell() -> None:
    long = long_visits(3000, 4)
    release = PrivateMean(1e7, bounds=(-4, 4), domain=(0, 1)).fit(long).release_
    edges = release.cells.edges[0]
    cell = np.clip(np.searchsorted(edges, long.times, side="right") - 1, 0, edges.size - 2)
    means = np.array([np.clip(long.values[cell == c], -4, 4).mean() for c in range(edges.size - 1)])
    at = (edges[:-1] + edges[1:]) / 2
    apart = release(at) - means
    # Sampling alone is left in the means: about .8 / sqrt(3000 * 4 / 64).
    assert np.sqrt(np.mean(apart**2)) < 0.08
    assert release.deviation(0.5) == pytest.approx(
        long.values[np.abs(long.times - 0.5) < 0.02].std(), rel=0.15
    )


def test_where_nobody_was_observed_the_band_is_wide() -> None:
    release = visits(5000, late=True).release_
    at = np.array([0.3, 0.95])
    band = release.band(points=at)
    width = (band.upper - band.lower) / 2
    assert width[1] > 4 * width[0]
    assert release.observed(0.3) > 1.4
    assert release.observed(0.95) < 0.15


def test_the_density_of_times_has_integral_one() -> None:
    release = visits(500).release_
    at = np.linspace(0, 1, 2001)
    assert np.trapezoid(release.observed(at), at) == pytest.approx(1, abs=0.02)
    assert np.min(release.observed(at)) >= 0


def test_more_units_and_less_noise_make_more_cells() -> None:
    # Noise of 8^(1/2) persons; 5000 people have 12 cells.
    assert cells_for(5000, 8**0.5) == 12
    assert cells_for(1e9, 8**0.5) == 64
    assert cells_for(20, 8**0.5) == 4


def test_a_plan_says_what_noise_and_sampling_leave() -> None:
    asked = PrivateMean(1, bounds=(-4, 4), missing="pooled", unit="person")
    plan = asked.plan(5000)
    release = visits(5000).release_
    assert plan.table.law == release.shares.noise
    assert plan.functions == release.cells.describe()
    # Measured: .041 to .046, of a smoother mean than most; half-widths of 12 releases .35 to .68.
    assert 0.03 < plan.error < 0.1
    band = release.band()
    assert 0.5 < plan.band() / np.mean(band.upper - band.lower) * 2 < 2
    assert plan.at(epsilon=0.5).error > plan.error > plan.at(n=20_000).error
    hidden = asked.set_params(unit__neighbours="add-remove").plan(5000)
    assert hidden.size is None
    assert hidden.error < plan.error


# Doors.


def test_layouts_of_the_same_observations_add_up_to_the_same_sum() -> None:
    grid, rng = np.linspace(0, 1, 9), np.random.default_rng(4)
    matrix = rng.normal(size=(30, 9))
    matrix[rng.random((30, 9)) < 0.6] = np.nan
    matrix[:, 4] = 0.25
    rows, columns = np.nonzero(np.isfinite(matrix))
    long = LongCurves(rows, grid[columns], matrix[rows, columns])
    named = LongCurves([f"p{row}" for row in rows], grid[columns], matrix[rows, columns])
    mean = PrivateMean(1, bounds=(-2, 2), domain=(0, 1), missing="pooled")
    totals = [
        prepare_pooled(mean, each, None).total.with_noise([0] * 12)
        for each in (matrix, long, named, matrix.tolist(), pd.DataFrame(matrix).add_prefix("v"))
    ]
    assert len(set(totals)) == 1
    by_two = prepare_pooled(mean, matrix, np.arange(30) // 2)
    assert by_two.plan.table.public_size == 15
    assert by_two.plan.table.unit == "group"
    assert sum(by_two.total.with_noise([0] * by_two.plan.table.cells)) <= 15 * UNIT


def test_which_estimate_it_is_follows_from_the_layout_and_can_be_chosen() -> None:
    long = long_visits(60, 20)
    assert isinstance(visits(60).release_, ReleasedPooledMean)
    filled = PrivateMean(1, bounds=(-4, 4), domain=(0, 1), missing="complete").fit(long).release_
    assert not isinstance(filled, ReleasedPooledMean)
    dense = PrivateMean(1, bounds=(-4, 4)).fit(np.zeros((40, 9))).release_
    assert not isinstance(dense, ReleasedPooledMean)
    pooled = PrivateMean(1, bounds=(-4, 4), missing="pooled").fit(np.zeros((40, 9))).release_
    assert isinstance(pooled, ReleasedPooledMean)
    assert "all observations are pooled" in " ".join(pooled.describe().split())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"basis": "matern:10%:1.5"}, "basis must be None for a pooled mean"),
        ({"mechanism": "iclp"}, "mechanism must be 'auto', 'laplace' or 'gaussian'"),
        ({"bounds": (np.zeros(3), 1.0)}, "bounds must be two numbers"),
        ({"prior": lambda t: t}, "prior must be None for a pooled mean"),
        ({"domain": None}, "domain must be given for irregular curves"),
        ({"neighbours": "add-remove"}, "public_size must be given under add/remove"),
    ],
)
def test_what_it_has_no_use_for_is_refused_before_anything_is_charged(given, words) -> None:
    mean = PrivateMean(**{"epsilon": 1, "bounds": (-4, 4), "domain": (0, 1), **given})
    with pytest.raises(ParameterError, match=words.replace("(", r"\(")):
        mean.fit(long_visits(30))


def test_sums_of_functions_need_whole_curves() -> None:
    with pytest.raises(ParameterError, match="missing must be 'complete' for irregular curves"):
        PrivateMean(1, bounds=(-4, 4), domain=(0, 1)).prepare(long_visits(30))


def test_unusable_observations_are_refused_without_their_values_or_left_out() -> None:
    spoilt = LongCurves([1, 1, 2, 3], [0.1, 7.25, 0.5, 0.5], [0.0, 1.0, 3.75, np.nan])
    mean = PrivateMean(1, bounds=(-4, 4), domain=(0, 1))
    with pytest.raises(DataError, match=r"inside the domain \[0, 1\].*in row 1") as caught:
        mean.fit(spoilt)
    assert "7.25" not in str(caught.value)
    prepared = prepare_pooled(mean.set_params(reading__invalid="repair"), spoilt, None)
    clean = LongCurves([1, 2, 3, 3], [0.1, 0.5, 9.0, 9.0], [0.0, 3.75, 0.0, 0.0])
    again = prepare_pooled(mean, clean, None)
    assert prepared.plan.size == again.plan.size == 3
    assert exact_totals(prepared.total) == exact_totals(again.total)


def test_nothing_private_is_kept() -> None:
    mean = visits(50)
    kinds = (IntegerSum, Observations, LongCurves)
    held = [*vars(mean).values(), *vars(mean.release_).values()]
    assert not [each for each in held if isinstance(each, kinds)]


def test_it_keeps_what_kinds_of_release_promise(tmp_path) -> None:
    release = visits(300).release_
    check_release(release)
    release.save(tmp_path / "mean.json")
    again = dpfda.load(tmp_path / "mean.json")
    at = np.linspace(0, 1, 7)
    assert np.array_equal(again(at), release(at))
    assert set(again.table().columns) == {"point", "value", "lower", "upper", "observed"}
    assert release.view().foot is not None


def test_visits_of_real_people(dti) -> None:
    curves, people = dti["curves"], dti["person"]
    rng = np.random.default_rng(0)
    gaps = np.where(rng.random(curves.shape) < 0.05, curves, np.nan)
    mean = PrivateMean(100, bounds=(0, 1), missing="pooled", invalid="repair", unit="person")
    release = mean.fit(gaps, groups=people).release_
    assert release.count == len(set(people)) == 142
    whole = np.nanmean(curves, axis=0)
    # About five values a scan of 93: enough for its shape.
    error = release(np.linspace(0, 1, 93)) - whole
    assert np.sqrt(np.mean(error**2)) < 0.75 * whole.std()


def test_rare_weights_of_real_pigs() -> None:
    """Of 72 pigs weighed every week for twelve, each at three of its weeks: the mean of all weights."""
    statsmodels = pytest.importorskip("statsmodels")
    found = list(Path(statsmodels.__file__).parent.glob("**/dietox.csv"))
    if not found:
        pytest.skip("statsmodels came without its tests' data")
    with found[0].open(newline="") as file:
        # Number of the row, weight, feed, week, pig.
        rows = [(row[4], float(row[3]), float(row[1])) for row in [*csv.reader(file)][1:]]
    pigs = {pig: place for place, pig in enumerate(sorted({row[0] for row in rows}))}
    seen = [row for row in rows if (pigs[row[0]] + row[1]) % 4 == 0]
    visits = LongCurves(*(np.array(column) for column in zip(*seen, strict=True)))
    made = PrivateMean(10**4, bounds=(0, 150), domain=(0.5, 12.5), unit="pig")
    release = made.fit(visits).release_
    weeks = np.arange(1, 13)
    means = [np.mean([weight for _, week, weight in rows if week == at]) for at in weeks]
    # Weights of a week deviate by 3 to 13 kilograms, and a quarter of the pigs are seen in it.
    assert np.abs(release(weeks) - means).max() < 4
    band = release.band(points=weeks)
    assert np.all((band.lower <= means) & (means <= band.upper))
