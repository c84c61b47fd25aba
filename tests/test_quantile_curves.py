"""Quantile curves: sensitivity and noise, laws that never cross, z-scores, few visits, words."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dpfda import Domain, PrivateQuantileCurves, PrivateQuantiles, load
from dpfda.bounds import L2Ball
from dpfda.errors import BudgetError, ParameterError, StorageError
from dpfda.front.app import app
from dpfda.noise import GaussianNoise, KNormNoise
from dpfda.noise.shares import UNIT, share_differences, share_noise
from dpfda.privacy.guarantees import Neighbours, PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records import LongCurves
from dpfda.records.observations import observations_from_long
from dpfda.reference.centiles.cells import Cells
from dpfda.reference.centiles.fit import Left, Nodes, Posterior, fitted
from dpfda.reference.centiles.laws import EDGES, SHAPES, Terms
from dpfda.reference.centiles.release import ReleasedQuantileCurves, half_widths
from dpfda.testing import check_release, check_summary

GENERATOR = np.random.default_rng(20261126)
GRID = np.linspace(0.0, 24.0, 24)
LEVELS = (0.1, 0.5, 0.9)
NORMAL = scipy.special.ndtri(np.array(LEVELS))
BOTH = (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE)


def centre(at: np.ndarray) -> np.ndarray:
    return 2.5 + np.sin(at / 4)


def curves(count: int, generator: np.random.Generator = GENERATOR) -> np.ndarray:
    """Normal about a centre at every hour, of deviation 0.3."""
    levels, hours = generator.normal(size=(count, 1)), generator.normal(size=(count, GRID.size))
    return centre(GRID) + 0.3 * (0.8 * levels + 0.6 * hours)


def made(epsilon: float = 1.0, delta: float = 0.0, **given: object) -> PrivateQuantileCurves:
    settings = {"bounds": (0, 5), "domain": Domain(GRID)} | given
    return PrivateQuantileCurves(epsilon, delta, **settings)


def visits(count: int, each: int = 1) -> LongCurves:
    """Heights against ages: normal, of a deviation that grows."""
    people = np.repeat(np.arange(count), each)
    ages = GENERATOR.uniform(1, 6, people.size)
    heights = 70 + 7 * ages + (2 + 0.4 * ages) * GENERATOR.normal(size=people.size)
    return LongCurves(np.arange(people.size), ages, heights, people)


# What a unit adds, and the noise.


@pytest.mark.parametrize("neighbours", BOTH)
def test_neighbours_differ_by_no_more_than_stated_and_some_by_as_much(neighbours) -> None:
    """All pairs of units with one or two curves on three points, in 2 x 2 cells."""
    cells = Cells(2, 2, np.arange(3.0), (0.0, 2.0), visits=False)
    assert cells.parts == (2 * UNIT // 3, UNIT // 3)
    curves = list(itertools.product((0, 1), repeat=3))
    units = [np.array([one]) for one in curves]
    units += [np.array(pair) for pair in itertools.combinations_with_replacement(curves, 2)]
    added = [
        np.array(cells.curve_shares(unit, np.zeros(len(unit), dtype=int), 1), dtype=object)
        for unit in units
    ]
    moved = added
    if neighbours is Neighbours.REPLACE_ONE:
        moved = [one - other for one, other in itertools.product(added, added)]
    l1 = max(sum(abs(each)) for each in moved)
    square = max(sum(each**2) for each in moved)
    plain = share_differences(False, neighbours, *cells.parts)[1]
    euclid = share_differences(True, neighbours, *cells.parts)[1]
    assert l1 <= plain <= l1 + 12
    assert square <= euclid**2
    # What a root of two less or more would not allow.
    assert euclid**2 < square * 1.001


def test_parts_hold_for_every_number_of_points_and_cells() -> None:
    for points in (2, 5, 7, 24, 101):
        cells = Cells.chosen(700.0, np.arange(float(points)), (0.0, points - 1.0), False)
        one = cells.curve_shares(np.zeros((3, points), dtype=int), np.zeros(3, dtype=int), 1)
        rows = np.array(one).reshape(cells.times, cells.values).sum(axis=1)
        assert np.all(rows <= cells.parts)
        assert sum(cells.parts) <= UNIT
        assert np.all(rows > 0)


@pytest.mark.parametrize("neighbours", BOTH)
def test_visits_of_a_unit_share_one_however_many_they_are(neighbours) -> None:
    cells = Cells.chosen(100.0, np.linspace(1, 6, 5), (1.0, 6.0), True)
    lower, upper = np.zeros(5), np.full(5, 2.0)
    totals = []
    for times, values in (([1.2], [0.3]), ([1.2, 5.0, 5.9], [9.0, -7.0, np.nan]), ([9.0], [1.0])):
        long = LongCurves(np.zeros(len(times), dtype=int), times, values)
        seen = observations_from_long(long, np.zeros(len(times), dtype=int), (1.0, 6.0), "repair")
        totals.append(np.array(cells.visit_shares(seen, lower, upper), dtype=object))
    assert [sum(total) for total in totals] == [UNIT, UNIT, 0]
    width = share_differences(False, neighbours, *cells.parts)[1]
    assert width == (2 * UNIT if neighbours is Neighbours.REPLACE_ONE else UNIT)
    assert sum(abs(totals[0] - totals[1])) == 2 * UNIT


@pytest.mark.parametrize("neighbours", BOTH)
def test_laplace_noise_has_the_scale_of_the_guarantee(neighbours) -> None:
    plan = made(0.5, neighbours=neighbours, **_sized(neighbours)).plan(1000, GRID)
    law = plan.table.law
    assert isinstance(law, KNormNoise)
    width = (2 if neighbours is Neighbours.REPLACE_ONE else 1) * sum(plan.cells.parts)
    assert law.scales[0] == pytest.approx(width / 0.5, rel=1e-4)


@pytest.mark.parametrize("neighbours", BOTH)
def test_normal_noise_has_the_scale_of_the_guarantee(neighbours) -> None:
    plan = made(0.5, 1e-6, neighbours=neighbours, **_sized(neighbours)).plan(1000, GRID)
    law = plan.table.law
    assert isinstance(law, GaussianNoise)
    square = sum(part**2 for part in plan.cells.parts)
    distance = math.sqrt(square * (2 if neighbours is Neighbours.REPLACE_ONE else 1))
    ratio = distance / math.sqrt(float(law.variances()[0]))
    # Balle & Wang (2018): delta at this epsilon, and of noise that is a root of two smaller or larger.
    spent = [_delta(ratio * factor) for factor in (1, math.sqrt(2), 1 / math.sqrt(2))]
    assert 0.99e-6 < spent[0] <= 1e-6
    assert spent[1] > 1e-5
    assert spent[2] < 1e-7


def _delta(ratio: float, epsilon: float = 0.5) -> float:
    a, b = ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio
    return float(scipy.special.ndtr(a) - math.exp(epsilon) * scipy.special.ndtr(b))


def _sized(neighbours: Neighbours) -> dict[str, object]:
    return {"public_size": 1000} if neighbours is Neighbours.ADD_REMOVE else {}


def test_noise_of_whole_curves_is_less_by_the_root_of_the_cells() -> None:
    guarantee = made(1.0, 1e-6).asked()
    whole, parts = (
        share_noise(64, guarantee, Neighbours.REPLACE_ONE, "gaussian", split)[0].variances()[0]
        for split in ((UNIT,), (UNIT // 16,) * 16)
    )
    assert math.sqrt(float(whole / parts)) == pytest.approx(4, rel=1e-3)


def test_the_noise_that_is_added_follows_its_law() -> None:
    """Counts of cells where nobody can be: the sum over them of |noise| is a gamma variable."""
    release = made(1.0).fit(np.full((6000, GRID.size), 0.01)).release_
    table = release.shares.counts.reshape(release.cells.times, release.cells.values)
    empty = np.abs(table[:, 1:]).ravel()
    mean = release.shares.deviation / math.sqrt(2)
    # 5 deviations of a mean of exponentials: one in a million, far from a root of two.
    assert abs(empty.mean() / mean - 1) < 5 / math.sqrt(empty.size) < math.sqrt(2) - 1
    assert mean == pytest.approx(2.0, rel=1e-3)


# Laws.


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 3.0))
def test_quantiles_of_any_law_never_cross(seed: int, size: float) -> None:
    terms = Terms(6, 3, 0)
    parameters = size * np.random.default_rng(seed).normal(size=terms.count)
    laws = terms.at(parameters, np.linspace(0, 1, 30))
    found = np.array([laws.quantiles(level) for level in np.linspace(0.005, 0.995, 23)])
    assert np.all(np.diff(found, axis=0) >= 0)
    below = laws.below(np.tile(np.linspace(0, 1, 40), (30, 1)))
    assert np.all(np.diff(below, axis=1) >= -1e-12)
    assert np.all((below >= 0) & (below <= 1 + 1e-12))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_slopes_are_differences(seed: int) -> None:
    terms, generator = Terms(4, 3, 2), np.random.default_rng(seed)
    parameters = 0.15 * generator.normal(size=terms.count)
    parameters[[0, 4]] = 0.5, -1.5
    at, values = np.array([0.1, 0.6]), np.array([[0.31], [0.64]])
    slopes = terms.at(parameters, at).slopes(values[:, 0])
    step = 1e-6

    def moved(place: int, by: float) -> np.ndarray:
        other = parameters.copy()
        other[place] += by
        return terms.at(other, at).below(values)[:, 0]

    found = [(moved(place, step) - moved(place, -step)) / (2 * step) for place in range(terms.count)]
    assert np.allclose(np.array(found).T, slopes[1], atol=1e-5)
    laws = terms.at(parameters, at)
    rise = (laws.below(values + step) - laws.below(values - step)) / (2 * step)
    assert np.allclose(rise[:, 0], slopes[0], rtol=1e-4)


def test_sums_of_products_are_those_of_each_cell_of_time() -> None:
    """Also where cells have unlike numbers of nodes."""
    nodes = Nodes(np.linspace(0, 1, 7), np.array([0, 2, 5]), np.linspace(0.1, 0.2, 7))
    values, times = GENERATOR.normal(size=(7, 3, 2)), GENERATOR.normal(size=(7, 4))
    each = values[..., None] * times[:, None, None] * nodes.weights[:, None, None, None]
    sums = np.array([each[:2].sum(axis=0), each[2:5].sum(axis=0), each[5:].sum(axis=0)])
    assert np.allclose(nodes.products(values, times), sums)
    assert np.allclose(nodes.summed(values), nodes.products(values, np.ones((7, 1)))[..., 0])


def test_levels_of_quantiles_are_these_levels() -> None:
    terms = Terms(3, 2, 0)
    parameters = np.zeros(terms.count)
    parameters[[0, 1, 3, 6, 9]] = 0.5, 0.05, -3.0, 0.3, 0.4
    laws = terms.at(parameters, np.linspace(0, 1, 9))
    for level in (0.01, 0.3, 0.5, 0.97):
        assert np.allclose(laws.below(laws.quantiles(level)[:, None]), level)
    assert laws.chances(7).sum(axis=1) == pytest.approx(1)
    assert laws.masses.shape == (9, EDGES.size - 1)
    assert terms.parts[3].stop - terms.parts[3].start == 2 * SHAPES


def test_laws_that_are_no_normal_ones_are_found() -> None:
    """Two groups, and a skewed law: from a table with next to no noise."""
    cells = Cells(16, 32, np.linspace(0, 1, 32), (0.0, 1.0), False)
    normal = GENERATOR.normal(size=(60_000, 1))
    ends = np.zeros(32), np.ones(32)
    for values in (
        np.where(normal > 0.4, 0.7, 0.3) + 0.05 * GENERATOR.normal(size=(60_000, 32)),
        0.2 + 0.1 * np.exp(0.5 * GENERATOR.normal(size=(60_000, 32))),
    ):
        inside = cells.of_values(values, *ends)
        total = cells.curve_shares(inside, np.arange(len(values)), len(values))
        table = np.array(total, dtype=float).reshape(16, 32) / UNIT
        found = fitted(table, cells.nodes, cells.terms(True), 60_000.0, 1.0).at(cells.nodes.positions)
        for level in (0.1, 0.25, 0.9):
            share = np.mean(values < found.quantiles(level), axis=0)
            assert np.abs(share - level).max() < 0.03


# Curves, against closed forms and against a quantile at each point by itself.


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_quantile_curves_of_normal_curves_are_closed_forms(delta: float) -> None:
    release = made(2.0, delta).fit(curves(8000)).release_
    for level, z in zip(LEVELS, NORMAL, strict=True):
        off = release[level](GRID) - (centre(GRID) + 0.3 * z)
        # Three times what was measured.
        assert np.sqrt(np.mean(off**2)) < 0.05
    assert release(3.0) == release[0.5](3.0)


def test_the_error_is_less_than_half_of_that_of_quantiles_point_by_point() -> None:
    values = curves(2000)
    release = made(1.0).fit(values).release_
    truth = centre(GRID) + 0.3 * NORMAL[:, None]
    ours = np.array([release[level](GRID) for level in LEVELS]) - truth
    alone = PrivateQuantiles(1 / GRID.size, levels=LEVELS, domain=(0, 5))
    points = [alone.fit(column).release_.values for column in values.T]
    theirs = np.array(points).T - truth
    assert np.sqrt(np.mean(ours**2)) < 0.5 * np.sqrt(np.mean(theirs**2))


def test_bands_hold_the_populations_curves() -> None:
    held, exact = [], centre(GRID)
    for _ in range(20):
        release = made(1.0).fit(curves(1500)).release_
        for level, z in zip(LEVELS, NORMAL, strict=True):
            band = release[level].band(0.9, points=GRID)
            held.append(band.contains(exact + 0.3 * z))
    # 60 bands, three of one fit depending on one another; false alarms: below one in 10,000.
    assert np.mean(held) > 0.75
    assert release.band(0.99).reach(release(release.band(0.99).points)).mean() < 1.0


def test_what_is_not_known_is_refused(release) -> None:
    for of in ("sample", "noise"):
        with pytest.raises(ParameterError, match="of must be 'population'"):
            release.band(of=of)
    for level in (0.0, 0.001, 0.999, 1.0, "half"):
        with pytest.raises(ParameterError, match=r"level must be a number from 0\.005 to 0\.995"):
            release[level]
    with pytest.raises(ParameterError, match="values must be one a time"):
        release.z([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(ParameterError, match="points"):
        release.level(99.0, 1.0)


# Few visits.


def test_z_scores_of_normal_heights_are_closed_forms() -> None:
    release = PrivateQuantileCurves(2.0, bounds=(60, 135), domain=(1, 6)).fit(visits(20_000)).release_
    ages = np.linspace(1.3, 5.7, 12)
    for z in (-1.5, 0.0, 1.0):
        found = release.z(ages, 70 + 7 * ages + (2 + 0.4 * ages) * z)
        assert np.sqrt(np.mean((found - z) ** 2)) < 0.15
    assert release.level(3.0, 91.0) == pytest.approx(0.5, abs=0.05)
    # As a level and as a curve it is one law.
    assert np.allclose(release.level(ages, release[0.9](ages)), 0.9, atol=1e-6)
    assert np.isnan(release.z(3.0, np.nan))
    assert release.z([2.0, 3.0], 90.0).shape == (2,)


def test_people_with_many_visits_count_once() -> None:
    """A third of the people has nine visits each, all high: they move a median by a third alone."""
    low, high = np.arange(4000), 4000 + np.repeat(np.arange(2000), 9)
    people = np.concatenate([low, high])
    ages = GENERATOR.uniform(1, 6, people.size)
    heights = np.where(people < 4000, 80, 110) + GENERATOR.normal(size=people.size)
    long = LongCurves(np.arange(people.size), ages, heights)
    grouped = PrivateQuantileCurves(4.0, bounds=(60, 130), domain=(1, 6), unit="child")
    release = grouped.fit(long, groups=people).release_
    assert abs(release[0.5](3.0) - 80) < 3
    assert release.level(3.0, 95.0) == pytest.approx(2 / 3, abs=0.05)
    assert release.unit == "child"
    assert release.public_units == 6000


def test_bounds_may_follow_what_can_be() -> None:
    ages = np.linspace(1, 6, 20)
    bounds = (56 + 7 * ages, 84 + 7 * ages)
    fine = PrivateQuantileCurves(1.0, bounds=bounds, domain=Domain(ages)).fit(visits(6000)).release_
    assert np.abs(fine(ages) - (70 + 7 * ages)).max() < 2
    assert fine.certificate.bound["description"].startswith("values clipped between two public curves")


def test_arrays_with_gaps_are_read_as_visits() -> None:
    values = curves(3000)
    values[GENERATOR.random(values.shape) < 0.8] = np.nan
    seen = np.isfinite(values).any(axis=1)
    release = made(2.0, missing="pooled").fit(values[seen]).release_
    assert release.cells.visits
    assert np.sqrt(np.mean((release(GRID) - centre(GRID)) ** 2)) < 0.15


# The release.


@pytest.fixture(scope="module")
def release():
    labels = {"domain": "hour", "value": "load (kW)"}
    labelled = PrivateQuantileCurves(1.0, bounds=(0, 5), domain=Domain(GRID, labels=labels), unit="home")
    return labelled.fit(curves(1500)).release_


def test_a_release_keeps_the_contract(release, tmp_path) -> None:
    check_release(release)
    again = load(release[0.9].save(tmp_path / "curves.json"))
    assert np.array_equal(again(GRID), release[0.9](GRID))
    assert again.levels == release.levels == LEVELS


def test_the_summary_keeps_the_contract() -> None:
    check_summary(made(), curves(60))
    # The number of units being private, the sum of the table stands for it.
    private = made(neighbours="add-remove", public_size=60).fit(curves(80)).release_
    assert private.public_units is None
    check_release(private)


def test_a_table_and_a_picture_show_all_levels(release) -> None:
    assert list(release.table().columns)[-3:] == ["q10", "q50", "q90"]
    unnamed = replace(release, about={})
    assert unnamed.table().meanings["point"] == "t (units of the grid)"
    labels = [line.label for line in release.view().lines]
    assert labels == ["quantile curve of 0.5", "of 0.9", "of 0.1"]
    said = " ".join(release.describe().split())
    assert "a given share of the population lies, at any time; here for shares of 0.1, 0.5" in said
    assert "levels:       0.1, 0.5, 0.9" in repr(release) or "0.1: " in repr(release)


def test_the_command_tells_curves_of_other_shares(release, tmp_path) -> None:
    arguments = ["eval", str(release.save(tmp_path / "curves.json")), "--at", "0.5", "--quantiles"]
    told = json.loads(CliRunner().invoke(app, [*arguments, "0.8,0.25", "--json"]).stdout)
    assert told["q25"] == pytest.approx([release[0.25](0.5)])
    assert told["value"] == told["q80"] == pytest.approx([release[0.8](0.5)])
    assert told["upper"] == pytest.approx(release[0.8].table([0.5]).columns["upper"])
    refused = CliRunner().invoke(app, [*arguments, "0.999"])
    assert "--quantiles must be a number from 0.005 to 0.995" in " ".join(refused.output.split())


def test_a_file_that_contradicts_itself_is_refused(release) -> None:
    written = release.to_json()
    for name, value in (
        ("levels", [0.9, 0.1]),
        ("levels", []),
        ("chosen", 1.5),
        ("times", 3),
        ("upper", [1.0]),
        ("lower", [9.0] * GRID.size),
        ("domain_range", [5.0, 6.0]),
        # Noise of visits would be that of another sensitivity.
        ("visits", True),
    ):
        if name == "visits":
            normal = made(1.0, 1e-6).fit(curves(60)).release_.to_json()
            with pytest.raises(ValueError, match=r".+"):
                type(release).from_json({**normal, name: value})
            continue
        with pytest.raises((ParameterError, ValueError)):
            type(release).from_json({**written, name: value})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"levels": (0.5, 0.1)}, "levels must be one to 16 increasing numbers"),
        ({"levels": ()}, "levels must be one to 16"),
        ({"levels": (0.001, 0.5)}, r"levels must be a number from 0\.005 to 0\.995"),
        ({"levels": (3, 50, 97)}, r"shares, not per cent: \.03, \.5, \.97"),
        ({"bounds": None}, "bounds must be given"),
        ({"bounds": L2Ball(1.0)}, "Give bounds on values"),
        ({"standardize": True}, "standardize must be False"),
        ({"neighbours": "add-remove"}, "public_size must be given under add/remove"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        made(**given).fit(curves(40))


def test_epsilon_is_charged_once() -> None:
    ledger = MemoryLedger()
    ledger.create("loads", PureDP(1), unit="record")
    estimator = made(1.0, ledger=ledger.of("loads"))
    release = estimator.fit(curves(60)).release_
    (charged,) = [row for row in ledger.history("loads") if row.action == "charge"]
    assert charged.details["release"] == release.certificate.identity
    with pytest.raises(BudgetError):
        estimator.fit(curves(60))


def test_a_plan_foretells_the_error_of_ordinary_curves() -> None:
    plan = made(1.0).plan(2000, GRID)
    errors, widths = [], []
    # Ripples of a tenth of the distance from the .1 to the .9 curve: laws leave them out.
    ripple = 0.08 * np.sin(2 * np.pi * np.arange(GRID.size) / 3)
    for _ in range(6):
        release = made(1.0).fit(curves(2000) + ripple).release_
        off = [
            release[level](GRID) - (centre(GRID) + ripple + 0.3 * z)
            for level, z in zip(LEVELS, NORMAL, strict=True)
        ]
        errors.append(np.sqrt(np.mean(np.square(off))))
        band = release.band(points=GRID)
        widths.append(np.mean(band.upper - band.lower) / 2)
    assert plan.error / 3 < np.mean(errors) < plan.error_for_most * 2
    assert made(4.0).plan(2000, GRID).error < plan.error
    # A band is for curves that are rougher than these, too.
    assert plan.error < plan.band() / 2 < np.mean(widths) < 2 * plan.band()


@pytest.mark.parametrize("exponent", [10, 19, 21, 40])
def test_a_file_whose_shares_are_in_other_units_is_refused(release, tmp_path, exponent) -> None:
    """Read in smaller units the noise would look smaller than what the guarantee needs."""
    path = release.save(tmp_path / "curves.json")
    written = json.loads(path.read_text(encoding="utf-8"))
    written["shares"]["exponent"] = exponent
    path.write_text(json.dumps(written), encoding="utf-8")
    with pytest.raises(StorageError):
        load(path)


def test_a_quantile_at_a_bound_leaves_the_band_elsewhere_a_number() -> None:
    terms = Terms(6, 6, 0)
    parameters = np.zeros(terms.count)
    # The median lies between the bounds at first, and far above the upper one at last.
    parameters[:2], parameters[terms.parts[1].start] = (4.0, 2.2), np.log(0.1)
    nodes = Nodes((np.arange(6) + 0.5) / 6, np.arange(6), np.full(6, 1 / 6))
    left = Left(np.zeros((6, 4)), np.ones((6, 4)), np.ones((6, 4)), np.zeros((6, 4, 1)))
    posterior = Posterior(terms, parameters, 0.01 * np.eye(terms.count), (1e-6, 1e-6), left, nodes)
    errors = posterior.errors(np.linspace(0, 1, 51), 0.5)[0]
    assert np.any(np.all(errors == 0, axis=1))
    assert np.all(half_widths(posterior, np.array([0.02]), 6, 0.5, 0.95, True) > 0)


@pytest.mark.parametrize(("taken", "spare"), [(0.5, 1.0), (0.0, 0.5), (0.0, 1.0)])
def test_what_a_table_cannot_tell_is_measured_against_the_noise_that_laws_leave(
    taken: float, spare: float
) -> None:
    """Laws took a part of the noise, or the table has less of it than its bound: shares are off by .1.

    Against all of the noise it would be .074 in both. The mean of 50 has a deviation of .002.
    """
    times, cells, generator = 60, 8, np.random.default_rng(3)
    below = np.where(np.arange(cells) < cells // 2, 0.5, -0.5) / math.sqrt(cells / 4)
    moved = np.sqrt(taken) * np.eye(times)[:, None] * below[:, None]
    expected = np.full((times, cells), math.sqrt(200 / cells**2))
    off, size = [], 0.1 * expected.sum(axis=1)[0]
    for _ in range(50):
        noise = generator.normal(size=(times, cells)) * math.sqrt(spare)
        noise -= (1 - math.sqrt(1 - taken)) * (noise @ below)[:, None] * below
        signs = generator.choice([-1.0, 1.0], times)[:, None]
        rest = noise + signs * size * below / math.sqrt(cells / 4)
        off.append(Left(rest, expected, np.ones((times, cells)), moved).untold(np.full(times, 0.5), 0.5))
    assert 0.09 < np.mean(off) < 0.112


def test_curves_that_smooth_laws_cannot_follow_are_named_first() -> None:
    generator = np.random.default_rng(5)
    # A week's cycle: in four weeks cells of time show it, in a year they are wider than it.
    for days, named in ((28, False), (364, True)):
        level = np.where(np.arange(days) % 7 > 4, 1.0, 4.0)
        values = level + 0.1 * generator.normal(size=(6000, days))
        release = PrivateQuantileCurves(2.0, bounds=(0, 5)).fit(values).release_
        assert ("the curves are rougher" in " ".join(release.describe().split())) == named
        # What is not named is followed, and held.
        assert named or np.sqrt(np.mean((release[0.5](release.grid_points) - level) ** 2)) < 0.3
        assert named or release[0.5].band(points=release.grid_points).contains(level)
        told = release.describe("de"), release.describe("fr")
        assert ["dennoch verfehlen" in told[0], "les manquer" in " ".join(told[1].split())] == [
            named
        ] * 2


@pytest.mark.parametrize("kind", ["spike", "steps", "smooth"])
def test_a_spike_or_a_step_in_few_cells_of_time_is_named_first(kind: str) -> None:
    """Of 60 points one has a spike, or a level starts and ends: it is named, or the band holds it.

    So it was in 38 of 40 releases of spikes and in all others: less than three of five are 1 in 800.
    """
    at = np.linspace(0, 1, 60)
    levels = {
        "spike": np.where(np.arange(60) == 20, 9.0, 0.0),
        "steps": np.where((at > 0.3) & (at < 0.37), 8.0, np.where(at > 0.7, 5.0, 1.0)),
        "smooth": 1 + 2 * np.sin(4 * at),
    }
    noise = GENERATOR.normal(size=(3000, 1)) + 0.3 * GENERATOR.normal(size=(3000, 60))
    values = levels[kind] + (0.5 if kind == "spike" else 1.0) * noise
    honest = 0
    for _ in range(5):
        release = PrivateQuantileCurves(1.0, bounds=(-5, 15)).fit(values).release_
        said = " ".join(release.describe().split())
        named = "made wider for that" in said
        honest += named or release[0.5].band(points=release.grid_points).contains(levels[kind])
        assert not (named and kind == "smooth")
    assert honest >= 3


def visited(ages: np.ndarray, heights: np.ndarray) -> tuple[ReleasedQuantileCurves, str]:
    """A growth chart of such visits, and what it says, in one line."""
    long = LongCurves(np.arange(ages.size), ages, heights)
    release = PrivateQuantileCurves(1.0, bounds=(60, 210), domain=(2, 18)).fit(long).release_
    return release, " ".join(release.describe().split())


def test_ages_at_which_hardly_anybody_was_seen_are_named_first() -> None:
    ages = GENERATOR.uniform(2, 18, 3000)
    heights = 75 + 6 * ages + 4 * GENERATOR.normal(size=3000)
    # All ages; whole years; children below ten alone.
    for times, named in ((ages, False), (np.floor(ages), False), (ages / 2 + 1, True)):
        release, said = visited(times, heights)
        assert ("Hardly anybody was seen at these times" in said) == named
        band = release.band(points=[5.0, 16.0])
        assert (band.lower[1] == 60 and band.upper[1] == 210) == named
        assert band.upper[0] - band.lower[0] < 40
    assert "kaum jemand gesehen" in " ".join(release.describe("de").split())
    assert "Presque personne" in " ".join(release.describe("fr").split())


def test_values_in_other_units_are_named_first() -> None:
    ages = GENERATOR.uniform(2, 18, 3000)
    heights = 75 + 6 * ages + 4 * GENERATOR.normal(size=3000)
    for values, named in ((heights, False), (heights / 100, True), (heights * 10, True)):
        assert ("check units and bounds" in visited(ages, values)[1]) == named


def test_two_groups_far_apart_are_both_found() -> None:
    """At one time a third is at .7 of the bounds and the rest at .3: no narrow law is near both."""
    cells = Cells(12, 32, np.linspace(0, 1, 24), (0.0, 1.0), False)
    far = np.where(GENERATOR.random((9000, 1)) < 1 / 3, 0.7, 0.3)
    inside = cells.of_values(far + 0.015 * GENERATOR.normal(size=(9000, 24)), np.zeros(24), np.ones(24))
    total = cells.curve_shares(inside, np.arange(9000), 9000)
    table = np.array(total, dtype=float).reshape(12, 32) / UNIT
    found = fitted(table, cells.nodes, cells.terms(True), 9000.0, 1.0).at(cells.nodes.positions)
    assert np.abs(found.below(np.full((24, 1), 0.5)) - 2 / 3).max() < 0.05
