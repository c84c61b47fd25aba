"""Bounds that are looked for: what each stage moves, draws and costs, what is found, what is refused.

Statistical tests fit a law at its scale, and reject it at that scale times or over the root of two; each
raises a false alarm with a chance of 1e-6 (`statistical.FALSE_ALARM`).
"""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, gamma

from dpfda import Domain, PrivateComparison, PrivateMean, Reading, load
from dpfda.bases.cells import CellGrid
from dpfda.bounds import L2Ball, Search
from dpfda.errors import BudgetError, DataError, ParameterError, StorageError
from dpfda.mean import search
from dpfda.mean.found_release import BETWEEN, SEARCH, UNSEEN, FoundMean
from dpfda.mean.search import extreme_shares, interval_of, reached, searched
from dpfda.mean.settings import TwoLooks
from dpfda.mean.two_looks import published, sides_of
from dpfda.mechanisms.design.radii import (
    CLEAR,
    CLEAR_FARTHER,
    FINER,
    found_bounds,
    found_reaches,
    line_edges,
    moved_by_bounds,
    moved_by_cutting,
    search_edges,
)
from dpfda.noise import BoxNoise, KNormNoise
from dpfda.noise.shares import UNIT
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP, added
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication.distances import largest_distance, line_in_integers, with_distance
from dpfda.publication.zoom import CANDIDATES
from dpfda.records import LongCurves
from dpfda.testing import check_release, exact_totals, prepared_looks
from statistical import FALSE_ALARM, fits_only_at_its_scale

GRID = np.linspace(0.0, 1.0, 12)
LARGEST = np.finfo(float).max


def curves_of(size=9000, seed=0):
    """Curves around a sine at 40, that reach from 37 to 43."""
    shifts = np.random.default_rng(seed).uniform(-1, 1, (size, 1))
    return 40 + 2 * np.sin(6 * GRID) + shifts


def mean(**parameters):
    made = {"epsilon": 1.0, "bounds": Search(0, 1000), "domain": Domain(GRID)}
    return PrivateMean(**made | parameters)


@pytest.fixture(scope="module")
def release():
    return mean(epsilon=10.0).fit(curves_of()).release_


def charges(ledger):
    return [record for record in ledger.history("curves") if record.action == "charge"]


# The budget.


@pytest.mark.parametrize(
    ("asked", "whole"),
    [
        ({}, PureDP(1)),
        ({"delta": 1e-6}, ApproximateDP(1, "1/1000000")),
        ({"epsilon": None, "rho": 0.5}, ZeroConcentratedDP("1/2")),
    ],
)
@pytest.mark.parametrize("relation", [{}, {"neighbours": "add-remove", "public_size": 9000}])
def test_stages_add_up_to_what_was_asked_and_are_charged_once(asked, whole, relation):
    ledger = MemoryLedger().create("curves", whole, neighbours=relation.get("neighbours", "replace-one"))
    made = mean(**asked, **relation, ledger=ledger.of("curves")).fit(curves_of()).release_
    assert made.certificate.stages == (*SEARCH, BETWEEN)
    parts = [cost.guarantee for cost in made.certificate.costs]
    assert made.guarantee == added(parts) == whole
    assert all(isinstance(part, PureDP) for part in parts[:-1])
    assert getattr(parts[-1], "delta", 0) == getattr(whole, "delta", 0)
    assert len(charges(ledger)) == 1
    with pytest.raises(BudgetError):
        mean(epsilon=0.2, **relation, ledger=ledger.of("curves")).fit(curves_of())


def test_a_ledger_that_refuses_stops_everything(monkeypatch):
    ledger = MemoryLedger().create("curves", PureDP("99/100"))
    for law in (BoxNoise, KNormNoise):
        monkeypatch.setattr(law, "draw", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(BudgetError):
        mean(ledger=ledger.of("curves")).fit(curves_of())
    assert ledger.spent("curves")["epsilon"] == 0


# What one unit moves, and the noise that hides it.


HOSTILE = [0.0, 5e-324, -1e-300, 40.0, 999.99, 1000.0, 1e150, -LARGEST, LARGEST, np.nan, np.inf]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("relation", [{}, {"neighbours": "add-remove", "public_size": 900}])
def test_neighbours_move_every_stage_by_no_more_than_its_noise_hides(value, relation, monkeypatch):
    rows = curves_of(size=6, seed=1)
    other = rows.copy()
    other[2] = value
    other[2, ::2] *= -1
    if relation:
        other = np.delete(rows, 2, axis=0)
        rows[2] = value
        rows[2, ::3] /= -3
    estimator = mean(epsilon=2000.0, reading=Reading(invalid="repair"), **relation)
    pair = [prepared_looks(estimator, records) for records in (rows, other)]
    plan = pair[0].plan
    zoom, moves = plan.zoom, plan.whole.neighbours.differences(1)
    fine = [extreme_shares(plan, each.total, zoom.fine) for each in pair]
    assert all(shares.sum() <= UNIT * 6 for shares in fine)
    assert np.abs(fine[0] - fine[1]).sum() <= moves * UNIT
    for apart, scores in (
        (zoom.moved_apart[0], [zoom.width_scores(shares.tolist()) for shares in fine]),
        *((zoom.moved_apart[1], [zoom.place_scores(shares, k) for shares in fine]) for k in (0, 9, 28)),
    ):
        gaps = np.array(scores[0], dtype=float) - np.array(scores[1], dtype=float)
        assert np.ptp(gaps) <= apart
    # The road itself, with noise at zero: the same interval, then sums of shares.
    monkeypatch.setattr(KNormNoise, "draw", lambda law: [0] * law.components)
    found = [searched(plan, each.total, fine[0]) for each in pair]
    assert found[0].edges == found[1].edges
    shares = [np.array(each.noisy_shares, dtype=float) for each in found]
    assert np.abs(shares[0] - shares[1]).sum() <= moves * UNIT
    ends = plan.found(found[0])
    line = np.linspace(*ends, GRID.size)
    apart = [reached(plan, each.total, line, ends) for each in pair]
    assert apart[0].edges == apart[1].edges
    shares = [np.array(each.noisy_shares, dtype=float) for each in apart]
    assert np.abs(shares[0] - shares[1]).sum() <= moves * UNIT
    between = plan.held(*plan.around(line, ends, apart[0].interval))
    sums = [exact_totals(each.total.total(between)) for each in pair]
    norm, widths = between.problem(plan.size).differences(between.public_design)
    assert norm == "box"
    assert all(abs(a - b) <= width for a, b, width in zip(*sums, widths, strict=True))


@pytest.mark.parametrize("moves", [2, 1])
@pytest.mark.parametrize("place", [0, 2])
def test_the_histograms_get_laplace_noise_of_their_parts(moves, place):
    relation = {} if moves == 2 else {"neighbours": "add-remove", "public_size": 9000}
    prepared = prepared_looks(mean(**relation), curves_of(size=50) if moves == 1 else curves_of())
    plan, ends, line = prepared.plan, (36.0, 44.0), 40 + 2 * np.sin(6 * GRID)
    epsilon = plan.shares[place].epsilon
    assert set(plan.counting(3, plan.shares[place]).scales) == {math.ceil(moves * UNIT / epsilon)}
    fine, errors = extreme_shares(plan, prepared.total, plan.zoom.fine), []
    while len(errors) < 2500:
        if place == 0:
            values, around = searched(plan, prepared.total, fine), ()
        else:
            values, around = reached(plan, prepared.total, line, ends), (ends, line)
        cells = CellGrid.from_edges(values.edges)
        exact = extreme_shares(plan, prepared.total, cells, *around)
        errors += [a - int(b) for a, b in zip(values.noisy_shares, exact, strict=True)]
    scale = float(moves * UNIT / epsilon)
    # Sizes apart from signs: laws of sizes differ twice as much.
    assert fits_only_at_its_scale(np.abs(errors) / scale, lambda x: 1 - np.exp(-x))
    assert binomtest(int(np.sum(np.array(errors) > 0)), len(errors)).pvalue > FALSE_ALARM


def test_both_choices_get_noise_of_their_parts():
    zoom = mean().plan(9000, GRID).zoom
    assert sum(part.epsilon for part in zoom.parts) == PureDP("110/9000").epsilon
    for law, apart, part in (
        (zoom.width_noise(), 10 * UNIT, zoom.parts[0]),
        (zoom.place_noise(5), 2 * UNIT, zoom.parts[1]),
    ):
        assert set(law.scales) == {math.ceil(apart / part.epsilon)}
        drawn = [value for _ in range(12_000 // law.components + 1) for value in law.draw()]
        scale = float(apart / part.epsilon)
        assert fits_only_at_its_scale(
            drawn, lambda x, scale=scale: 0.5 + np.sign(x) * (1 - np.exp(-np.abs(x) / scale)) / 2
        )


def test_both_choices_are_made_with_that_noise(monkeypatch):
    """Not only the laws: what is added where an interval is looked for."""
    relation = {"neighbours": "add-remove", "public_size": 9000}
    prepared = prepared_looks(mean(**relation), curves_of(size=50))
    plan, drawn, choose = prepared.plan, [], search.noisy_largest
    fine = extreme_shares(plan, prepared.total, plan.zoom.fine)

    def seen(scores, noise):
        drawn.append(noise)
        return choose(scores, noise)

    monkeypatch.setattr(search, "noisy_largest", seen)
    for _ in range(400):
        searched(plan, prepared.total, fine)
    assert len(drawn) == 800
    for own, apart, part in zip((drawn[::2], drawn[1::2]), (10, 1), plan.zoom.parts, strict=True):
        values = [value for noise in own for value in noise][:12_000]
        scale = float(apart * UNIT / part.epsilon)
        assert fits_only_at_its_scale(np.abs(values) / scale, lambda x: 1 - np.exp(-x))
        assert binomtest(int(np.sum(np.array(values) > 0)), len(values)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("place", [1, -1])
def test_line_and_mean_get_the_box_noise_of_their_bounds_and_parts(place):
    prepared = prepared_looks(mean(), curves_of(size=9000))
    plan, line = prepared.plan, 40 + 2 * np.sin(6 * GRID)
    bounds = (36.0, 44.0) if place == 1 else plan.around(line, (36.0, 44.0), (1.0, 2.0))
    between = plan.held(*bounds, plan.shares[place])
    exact, errors = exact_totals(prepared.total.total(between)), []
    halves = np.broadcast_to(np.subtract(*bounds[::-1]) / 2, GRID.shape)
    widths = np.bincount(between.public_design.hierarchy.labels, halves)
    for _ in range(400):
        look = search.publish_curve(prepared.total.total(between), between, between.certified())
        off = np.array([a - b for a, b in zip(look.noisy_sum, exact, strict=True)], dtype=float)
        errors.append(np.max(np.abs(off) / widths))
    scale = 2 * math.ldexp(1.0, look.exponent) / float(plan.shares[place].epsilon)
    # The largest coordinate of box noise on M cells is Gamma(M).
    assert fits_only_at_its_scale(errors, lambda x: gamma.cdf(x, len(exact), scale=scale))


def test_whole_searches_release_sums_between_public_bounds_with_their_noise():
    """Rough line and mean of publications, less what is exact between the bounds that were released."""
    prepared = prepared_looks(mean(epsilon=50), curves_of(size=200))
    plan, records, found = prepared.plan, prepared.total, {"rough": [], "mean": []}
    for _ in range(150):
        made = plan.publish(records)
        ends, line = plan.found(made.extremes), np.asarray(made.first(GRID))
        parts = {
            "rough": (made.first, plan.held(*ends, plan.shares[1])),
            "mean": (made, plan.held(*plan.around(line, ends, made.apart.interval))),
        }
        for stage, (look, held) in parts.items():
            triples = zip(
                look.noisy_sum, exact_totals(records.total(held)), held.public_design.noise.scales,
                strict=True,
            )  # fmt: skip
            found[stage].append(max(abs(a - b) / scale for a, b, scale in triples))
    for errors, cells in ((found["rough"], len(made.first.noisy_sum)), (found["mean"], GRID.size)):
        assert fits_only_at_its_scale(errors, gamma(cells).cdf)


@settings(max_examples=40, deadline=None)
@given(st.floats(-1e90, 1e90), st.floats(1e-90, 1e90), st.integers(0, 28), st.floats(0, 1),
       st.sampled_from([1, FINER]), st.data())  # fmt: skip
def test_bounds_lie_in_the_range_whatever_was_released(low, width, number, part, finer, data):
    high = low + width
    if not high - low > 2.0**-24 * max(abs(low), abs(high)):
        return
    k, blocks = CANDIDATES[number]
    middle, half = interval_of((low, high), number, int(part * (2**k - blocks)))
    edges = search_edges((low, high), middle, half, finer)
    assert np.all(np.diff(edges) > 0)
    shares = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=edges.size - 1,
                                         max_size=edges.size - 1)))  # fmt: skip
    for scale in (1e-4, 0.1):
        a, b = found_bounds(edges, shares, scale, (12, 5000.0), middle, half)
        assert low <= a < b <= high
        assert b - a >= (high - low) * 2.0**-18


# What is found.


def test_the_bounds_hold_nearly_all_and_the_error_is_that_of_good_bounds(release):
    assert isinstance(release, FoundMean)
    low, high = release.found
    assert 33 < low < 37.7
    assert 42.3 < high < 47
    assert release.beyond < 0.05
    curves = curves_of()
    truth = curves.mean(axis=0)

    def error(bounds):
        one = mean(
            epsilon=2.0, bounds=bounds, mechanism="one-look" if isinstance(bounds, tuple) else "auto"
        )
        made = [one.fit(curves).release_(GRID) for _ in range(40)]
        return math.sqrt(np.mean((np.array(made) - truth) ** 2))

    # From bounds 160 times too wide, around a line: .52 of the error between bounds that hold all curves
    # and no more, and above it in one of ten thousand comparisons of 40 draws.
    assert error(Search(0, 1000)) < error((37.0, 43.0))


def test_the_rule_moves_and_stretches_with_the_values():
    shares = np.random.default_rng(3).dirichlet(np.ones(40))
    edges = search_edges((0.0, 64.0), 33.0, 2.0)
    shares = shares[: edges.size - 1]
    for scale in (1e-3, 1e-2):
        a, b = found_bounds(edges, shares, scale, (12, 5000.0), 33.0, 2.0)
        again = found_bounds(4 * edges - 100, shares, scale, (12, 5000.0), 32.0, 8.0)
        assert again == pytest.approx((4 * a - 100, 4 * b - 100))


@pytest.mark.parametrize("scale", [1e-5, 1e-3])
def test_where_counts_are_clear_nothing_much_is_cut(scale):
    edges = search_edges((0.0, 1000.0), 400.0, 1.0)
    inside = (edges[:-1] >= 397) & (edges[1:] <= 402)
    shares = inside / inside.sum()
    a, b = found_bounds(edges, shares, scale, (12, 1e5), 400.0, 1.0)
    assert 395 < a <= 397.3
    assert 401.7 <= b < 404


def test_around_a_line_records_are_held_as_near_as_clear_counts_allow():
    line, ends = 40 + 2 * np.sin(6 * GRID), (30.0, 50.0)
    edges = line_edges(line, ends)
    assert edges[0] == pytest.approx(30 - line.max())
    assert edges[-1] == pytest.approx(50 - line.min())
    rooms, reaches = (line - ends[0], ends[1] - line), []
    for scale in (1e-4, 1e-1):
        # Of a twentieth of the units all distances above are ten times as large.
        shares = np.histogram([-0.8] * 20 + [0.8] * 19 + [8.0], edges)[0] / 40
        reaches.append(found_reaches(edges, shares, scale, (12, 2e4), rooms))
    (below, above), (doubtful, far) = reaches
    assert 0.8 <= below < 1.3
    assert 7 < above <= edges[-1]
    # Where noise hides all, more is held.
    assert doubtful > 2 * below
    assert far > 4


@settings(max_examples=40, deadline=None)
@given(st.floats(-1e90, 1e90), st.floats(1e-90, 1e90),
       st.lists(st.floats(0, 1), min_size=12, max_size=12), st.data())  # fmt: skip
def test_curves_around_any_line_lie_between_the_bounds(low, width, levels, data):
    high = low + width
    if not high - low > 2.0**-40 * max(abs(low), abs(high)):
        return
    line = np.clip(low + width * np.array(levels), low, high)
    edges = line_edges(line, (low, high))
    assert np.all(np.diff(edges) > 0)
    shares = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=edges.size - 1,
                                         max_size=edges.size - 1)))  # fmt: skip
    plan = mean().plan(9000, GRID)
    for scale in (1e-4, 0.1):
        reaches = found_reaches(edges, shares, scale, (12, 5000.0), (line - low, high - line))
        lower, upper = plan.around(line, (low, high), reaches)
        assert np.all(low <= lower)
        assert np.all(lower < upper)
        assert np.all(upper <= high)


def test_finer_cells_hold_all_and_less_that_is_empty():
    found = []
    for finer in (1, FINER):
        edges = search_edges((0.0, 1000.0), 400.0, 1.0, finer)
        shares = np.diff(np.clip(edges, 398.9, 401.1)) / 2.2
        found.append(found_bounds(edges, shares, 1e-4, (12, 1e5), 400.0, 1.0))
    (a, b), (low, high) = found
    assert low <= 398.9 + 0.05
    assert high >= 401.1 - 0.05
    assert high - low < 0.92 * (b - a)


def test_finer_cells_still_tell_a_tail_that_only_together_is_seen():
    edges = search_edges((0.0, 1000.0), 400.0, 1.0, FINER)
    tail = (edges[:-1] >= 402.0) & (edges[1:] <= 402.5)
    assert tail.sum() == FINER
    bounds = []
    for part in (0.0, 0.02):
        # Each cell of it has 5 scales of the noise, all have 20.
        shares = (1 - part) * np.diff(np.clip(edges, 399.0, 401.0)) / 2 + part * tail / FINER
        bounds.append(found_bounds(edges, shares, 1e-3, (12, 1e5), 400.0, 1.0)[1])
    assert bounds[0] < 402 < bounds[1]


@pytest.mark.parametrize(
    ("epsilon", "parts"),
    [(1.0, 1), (1.2, FINER // 2), (3.0, FINER // 2), (3.2, FINER)],
)
def test_cells_are_finer_where_units_times_epsilon_are_many(epsilon, parts):
    plan = prepared_looks(mean(epsilon=epsilon), curves_of())
    values = searched(plan.plan, plan.total, extreme_shares(plan.plan, plan.total, plan.plan.zoom.fine))
    least = np.diff(values.edges).min() / values.interval[1]
    assert least == pytest.approx(0.5 / parts, rel=1e-6)
    # Around a line: the outermost cell as a share of its distance.
    apart = reached(plan.plan, plan.total, np.full(12, 40.0), (30.0, 60.0))
    assert apart.edges[-1] == pytest.approx(20)
    assert apart.edges[-2] / apart.edges[-1] == pytest.approx(2 ** (-0.5 if parts == 1 else -0.25))


def test_finer_cells_around_a_line_hold_all_and_less_that_is_empty():
    line, ends = np.full(12, 40.0), (30.0, 50.0)
    reaches = []
    for finer in (False, True):
        edges = line_edges(line, ends, finer)
        # All distances are between 4 and 8 of the 10 that the bounds leave.
        shares = np.array([0.5 * side for side in np.histogram(np.linspace(-8, -4, 2001), edges)[0]])
        shares = (shares + shares[::-1]) / 2001
        reaches.append(found_reaches(edges, shares, 1e-4, (12, 2e4), (line - 30, 50 - line)))
    assert all(reach > 7.5 for reach in reaches[1])
    assert sum(reaches[1]) < 0.95 * sum(reaches[0])


def test_groups_and_blocks_on_disk_are_read_as_one_array(tmp_path):
    curves = curves_of(size=600)
    doubled, people = np.repeat(curves, 2, axis=0), np.repeat(np.arange(600), 2)
    plain = prepared_looks(mean(epsilon=10), curves)
    fine = extreme_shares(plain.plan, plain.total, plain.plan.zoom.fine)
    stored = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", float, curves.shape)
    stored[:] = curves
    for records, groups in (
        (doubled, people),
        (np.load(tmp_path / "x.npy", mmap_mode="r"), None),
        (pd.DataFrame(curves), None),
    ):
        other = prepared_looks(mean(epsilon=10), records, groups=groups)
        assert np.array_equal(extreme_shares(other.plan, other.total, other.plan.zoom.fine), fine)


def test_under_add_remove_the_number_of_records_shows_nowhere():
    relation = {"neighbours": "add-remove", "public_size": 9000}
    plans = [prepared_looks(mean(**relation), np.full((n, 12), 40.0)).plan for n in (3, 400)]
    assert plans[0].costs() == plans[1].costs()
    made = mean(**relation).fit(np.full((3, 12), 40.0)).release_
    assert made.count == 9000


def test_a_tail_of_which_no_cell_is_clear_is_found_and_noise_alone_is_none():
    scale, edges = 0.004, search_edges((-4000.0, 4000.0), 0.0, 1.0)
    core = np.diff(np.clip(edges, -0.8, 0.8)) / 1.6
    tail = (edges[:-1] >= 8) & (edges[1:] <= 256)
    assert tail.sum() == 5
    # Each cell of it has eight scales of the noise: fewer than a cell so far needs by itself.
    bounds = [
        found_bounds(edges, (1 - part) * core + part * tail / 5, scale, (12, 5000.0), 0.0, 1.0)
        for part in (0.0, 40 * scale)
    ]
    assert bounds[0][1] < 4
    assert 64 < bounds[1][1] < 512
    assert bounds[1][0] > -4
    generator = np.random.default_rng(4)
    far = [
        found_bounds(edges, core + generator.laplace(0, scale, core.size), scale, (12, 5e3), 0.0, 1.0)
        for _ in range(200)
    ]
    # Of noise alone 1 in 500 is taken for more: 4 of 200 once in 1,000 times.
    assert sum(high - low > 8 for low, high in far) < 4


# What was cut off.


def test_what_is_cut_off_moves_the_mean_by_the_average_excess_that_is_counted():
    edges = np.array([-8.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0, 64.0])
    shares = np.array([0.0, 0.1, 0.3, 0.3, 0.2, 0.06, 0.04, 0.0])
    for sign in (1, -1):
        at, counted = (edges, shares) if sign == 1 else (-edges[::-1], shares[::-1])
        down, up = moved_by_cutting(at, counted, 0.0, (-1.5, 1.5))[::sign]
        # Half of a cell: an eighth of it if it lies evenly, a root of a 24th at one place; whole cells.
        half = (0.125 + math.sqrt(1 / 24)) / 2
        assert up == pytest.approx(0.2 * half + 0.06 * 1.5 + 0.04 * 4.5)
        assert down == pytest.approx(0.1 * half)
    _, hidden = moved_by_cutting(edges, 0 * shares, 0.01, (-1.5, 1.5))
    assert hidden == pytest.approx(0.01 * math.sqrt(2) * math.hypot(half, 1.5, 4.5, 34.5))


def test_beyond_bounds_the_band_allows_for_tails_and_for_cells_that_are_clear():
    edges, scale = search_edges((-1000.0, 1000.0), 0.0, 1.0), 0.005
    core = np.diff(np.clip(edges, -0.9, 0.9)) / 1.8

    def allowed(shares):
        return moved_by_bounds(edges, shares, scale, (-1.5, 1.5), 0.0, 1.0)

    # Nothing beyond: at least what noise hides of the nearest cell, and little more.
    nothing = allowed(core)
    assert nothing[0] == pytest.approx(nothing[1])
    assert scale * math.sqrt(2) * 0.25 < nothing[0] < scale
    # A tail that halves from cell to cell, and moves the mean by two thirds of this on average.
    tail = np.where(edges[:-1] >= 1, 0.1 * np.exp(-np.maximum(edges[:-1], 1) / 2), 0.0)
    excess = float(np.maximum((edges[:-1] + edges[1:]) / 2 - 1.5, 0) @ tail)
    down, up = allowed(core * (1 - tail.sum()) + tail)
    assert down < 2 * nothing[0]
    assert excess < up < 6 * excess
    # A far cell counts in full from so many scales on, and not as noise.
    far = int(np.searchsorted(edges, 16.0))
    needed = CLEAR + CLEAR_FARTHER * 4
    for scales, seen in ((needed - 0.2, False), (needed + 0.2, True)):
        shares = core.copy()
        shares[far] += scales * scale
        assert (allowed(shares)[1] > scales * scale * 22) == seen


def test_the_band_is_wider_by_what_was_cut_off(release, monkeypatch):
    nothing = FoundMean.moved
    with monkeypatch.context() as without:
        without.setattr(FoundMean, "moved", property(lambda self: 0 * nothing.fget(self)))
        held = release.band(0.95, points=GRID)
    (down, up), band = release.moved, release.band(0.95, points=GRID)
    assert 0 < down < 1
    assert 0 < up < 1
    assert band.lower == pytest.approx(held.lower - down)
    assert band.upper == pytest.approx(held.upper + up)
    wide = replace(release, apart=replace(release.apart, interval=(0.3, 0.3)))
    assert np.all(wide.moved > release.moved + 0.1)
    # The noise is what it was; that of a slope says nothing of what was cut off.
    assert wide.band(0.95, of="noise").upper == pytest.approx(release.band(0.95, of="noise").upper)
    slopes = [each.derivative().band(0.95).upper for each in (wide, release)]
    assert np.array_equal(*slopes)
    people = release.band(0.95, points=GRID, of="population", variance=0.01)
    assert np.all(people.upper > held.upper + up)
    assert np.all(people.lower < held.lower - down)


def test_the_band_holds_the_mean_of_records_of_which_many_are_cut_off():
    """Levels are Laplace: of 40 bands two or three miss, and more than nine once in 1,000 times."""
    generator, missed, narrow = np.random.default_rng(8), 0, 0
    for _ in range(40):
        curves = 40 + np.sin(6 * GRID) + generator.laplace(0, 1, (9000, 1))
        made = mean(epsilon=2.0).fit(curves).release_
        truth, band = curves.mean(axis=0), made.band(0.95, points=GRID)
        missed += not np.all((band.lower <= truth) & (truth <= band.upper))
        down, up = made.moved
        narrow += not np.all((band.lower + down <= truth) & (truth <= band.upper - up))
    assert missed <= 9
    assert narrow > 9


def test_it_is_said_what_the_band_allows_for_and_what_it_cannot(release):
    words = " ".join(release.describe().split())
    down, up = release.moved
    assert f"by {down:.3g} below and {up:.3g} above" in words
    assert "meant to hold the mean of these curves, with what was cut off" in words
    assert "whatever the curves are" not in words
    # A record has a half of its share in either of its two points.
    share = 200 * UNSEEN * 2 * UNIT / float(release.certificate.costs[2].guarantee.epsilon) / UNIT / 9000
    assert f"a part of less than about {share:.2g} %" in words


# What the box tells beside.


@pytest.fixture(scope="module")
def told():
    return long_mean(epsilon=4.0).fit(LONG).release_


LONG_GRID = np.linspace(0.0, 1.0, 40)
LONG = 40 + 2 * np.sin(6 * LONG_GRID) + np.random.default_rng(5).uniform(-1, 1, (1200, 1))


def long_mean(**parameters):
    return mean(domain=Domain(LONG_GRID), **parameters)


def test_sides_of_the_box_tell_how_far_the_line_is_from_the_mean_between_the_bounds():
    prepared = prepared_looks(long_mean(epsilon=4.0), LONG)
    plan, records, ends, errors = prepared.plan, prepared.total, (36.0, 44.0), []
    wide = plan.held(*ends, plan.shares[1])
    between = plan.closest(40 + 2 * np.sin(6 * LONG_GRID), ends, (0.7, 1.5))
    total, truth = records.on_grid(wide), np.clip(LONG, *ends).mean(axis=0)
    sides = sides_of(wide, between)
    for _ in range(400):
        look, noise = published(records.total(between), sides, between, between.certified())
        made = with_distance(look, total, wide, sides.law, noise)
        apart = np.max(np.abs(made(LONG_GRID) - truth)) / 8
        number = made.distance.numbers[0] / (2 * made.distance.largest * made.count)
        errors.append((number - apart) * made.count * float(plan.shares[-1].epsilon))
    whole = made.distance.noise.whole
    # R U, with R ~ Gamma(whole + 1) and U uniform on (-1, 1): sizes are Gamma(d + 1) times uniform.
    sizes = np.abs(errors)

    def law(x):
        return gamma.cdf(x, whole + 1) + x / whole * gamma.sf(x, whole)

    assert fits_only_at_its_scale(sizes, law)


def test_the_distance_holds_the_mean_between_the_bounds_and_is_kept_in_files(told, tmp_path):
    assert told.distance is not None
    truth, band = np.clip(LONG, *told.found).mean(axis=0), told.band(points=LONG_GRID)
    assert np.all((band.lower <= truth) & (truth <= band.upper))
    assert load(told.save(tmp_path / "told.json")).distance == told.distance
    check_release(told)
    # By the distance alone it is wider; without one what holding records near moves is added.
    without = replace(told, distance=None)
    assert np.all(without.moved > told.moved)
    written = json.loads((tmp_path / "told.json").read_text())
    written["distance"]["noise"]["scales"] = [
        each // 2 for each in written["distance"]["noise"]["scales"]
    ]
    (tmp_path / "less.json").write_text(json.dumps(written))
    with pytest.raises(StorageError):
        load(tmp_path / "less.json")


@pytest.mark.parametrize("sides", [1, -1])
@pytest.mark.parametrize("whole", [True, False])
def test_a_file_with_another_number_of_sides_is_refused(told, sides, whole, tmp_path):
    """The least of all numbers, alone, would make the band narrower than it is."""
    path = told.save(tmp_path / "told.json")
    written = json.loads(path.read_text())
    distance, law = written["distance"], written["distance"]["noise"]
    numbers = sorted([distance["noisy"], *distance["again"]])
    numbers = [*numbers, numbers[-1]] if sides == 1 else numbers[:-1]
    distance["noisy"], *distance["again"] = numbers
    law["scales"] = law["scales"][:1] * len(numbers)
    if whole:
        for noise in (law, written["noise"]):
            noise["whole"] += sides
    path.write_text(json.dumps(written))
    with pytest.raises(StorageError):
        load(path)


def test_one_draw_hides_the_mean_and_its_distance(monkeypatch):
    """Each by a draw of its own would cost as much again."""
    drawn, draw = [], BoxNoise.draw

    def seen(law):
        drawn.append(list(draw(law)))
        return drawn[-1]

    monkeypatch.setattr(BoxNoise, "draw", seen)
    prepared = prepared_looks(long_mean(epsilon=4.0), LONG)
    plan, records = prepared.plan, prepared.total
    made = plan.publish(records)
    ends, line = plan.found(made.extremes), np.asarray(made.first(LONG_GRID))
    wide = plan.held(*ends, plan.shares[1])
    exact = exact_totals(records.total(plan.closest(line, ends, made.apart.interval)))
    public = (*line_in_integers(made, wide), plan.size)
    apart = largest_distance([exact_totals(records.on_grid(wide))], public)
    cells = [noisy - total for noisy, total in zip(made.noisy_sum, exact, strict=True)]
    assert cells + [number - apart for number in made.distance.numbers] == drawn[-1]


def test_neighbours_move_the_distance_by_no_more_than_its_side_hides():
    rows = np.full((6, 40), -1e300)
    other = rows.copy()
    other[2] = 1e300
    pair = [prepared_looks(long_mean(epsilon=2000.0), records) for records in (rows, other)]
    plan, ends = pair[0].plan, (36.0, 44.0)
    wide = plan.held(*ends, plan.shares[1])
    line = np.full(40, ends[0])
    between = plan.closest(line, ends, (1.0, 2.0))
    noise = sides_of(wide, between).law
    rule = wide.on_grid.rule
    public = (
        [int(x) for x in np.rint((line - rule.center) * rule.scale)],
        list(map(int, rule.half_widths)),
    )
    sums = [exact_totals(each.total.on_grid(wide)) for each in pair]
    moved = abs(np.subtract(*(largest_distance([list(each)], (*public, 6)) for each in sums)))
    assert moved <= noise.scales[0] * plan.shares[-1].epsilon
    assert moved > 0.99 * noise.scales[0] * plan.shares[-1].epsilon


# Released and read again.


def test_a_file_holds_everything(release, tmp_path):
    again = load(release.save(tmp_path / "found.json"))
    assert type(again) is FoundMean
    assert np.array_equal(again(GRID), release(GRID))
    assert (again.extremes, again.found, again.beyond) == (
        release.extremes,
        release.found,
        release.beyond,
    )
    assert again.certificate == release.certificate
    check_release(release)
    words = again.describe()
    assert "Its bounds were looked for between 0 and 1000" in " ".join(words.split())


def test_a_file_that_does_not_fit_is_refused(release, tmp_path):
    path = release.save(tmp_path / "found.json")
    written = json.loads(path.read_text())
    values, bound, apart, closer = (written[name] for name in ("extremes", "bound", "apart", "closer"))
    wrong = [
        {"bound": {**bound, "lower": -9.0}},
        {"bound": {**bound, "upper": bound["upper"] + 1}},
        {"extremes": {**values, "searched": [39.0, 1000.0]}},
        {"extremes": {**values, "edges": values["edges"][::-1]}},
        {"extremes": {**values, "noisy_shares": values["noisy_shares"][1:]}},
        {"extremes": {**values, "noise": {**values["noise"], "scales": [
            scale // 2 for scale in values["noise"]["scales"]]}}},
        {"apart": {**apart, "interval": [2 * reach for reach in apart["interval"]]}},
        {"apart": {**apart, "noise": {**apart["noise"], "scales": [
            scale // 2 for scale in apart["noise"]["scales"]]}}},
        {"apart": None},
        {"closer": {**closer, "lower": [low + 0.1 for low in closer["lower"]]}},
        {"first": None, "apart": None, "closer": None},
    ]  # fmt: skip
    for entries in wrong:
        path.write_text(json.dumps({**written, **entries}))
        with pytest.raises(StorageError):
            load(path)


# What is refused, before anything is charged.


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"neighbours": "add-remove"}, "public_size must be given"),
        ({"mechanism": "laplace"}, "bounds must be stated for anything but the default mean"),
        ({"mechanism": TwoLooks()}, "bounds must be stated for two looks"),
        ({"prior": np.full(12, 40.0)}, "bounds must be stated for a mean with public curves"),
        ({"variance": 0.1}, "variance must be None"),
        ({"epsilon": 0.1}, "bounds must be stated where the number of units times epsilon is below"),
        ({"bounds": Search(1e9, 1e9 + 1)}, "bounds must be farther apart than"),
    ],
)
def test_parameters_that_are_refused(parameters, words):
    ledger = MemoryLedger().create("curves", PureDP(9))
    with pytest.raises(ParameterError, match=words):
        mean(**parameters, ledger=ledger.of("curves")).fit(curves_of())
    assert not charges(ledger)


@pytest.mark.parametrize("ends", [(1, 0), (0, 0), (0, np.inf), (np.nan, 1), ([0, 1], 2), (0, 1e-101)])
def test_ends_of_a_range_that_are_refused(ends):
    with pytest.raises(ParameterError):
        Search(*ends)


def test_what_reads_records_once_is_refused(tmp_path):
    curves = curves_of(size=20)
    long = LongCurves(np.repeat(np.arange(4), 3), np.tile([0.0, 0.5, 1.0], 4), np.ones(12))
    for road in (
        lambda: mean().partial_fit(curves),
        lambda: mean().pooled(9000, GRID),
        lambda: mean().open_session(curves, tmp_path / "session"),
        lambda: mean(reading=Reading(missing="complete")).fit(long),
        lambda: mean(reading=Reading(missing="pooled")).fit(long),
        lambda: mean(reading=Reading(missing="pooled")).plan(9000, GRID),
        lambda: PrivateComparison(1.0, bounds=Search(0, 1)).fit(curves, np.arange(20) % 2),
    ):
        with pytest.raises(ParameterError, match="bounds must be stated for"):
            road()


def test_bad_data_are_refused_before_anything_is_charged():
    ledger = MemoryLedger().create("curves", PureDP(9))
    curves = curves_of()
    curves[3, 4] = np.nan
    with pytest.raises(DataError, match="row 3"):
        mean(ledger=ledger.of("curves")).fit(curves)
    assert not charges(ledger)


def test_a_plan_says_what_is_looked_for():
    plan = mean().plan(9000, GRID)
    assert plan.bounded == {
        "description": "values clipped to bounds that were looked for between 0 and 1000"
    }
    assert plan.at(n=20_000).error < plan.error < 1000
    few = mean(bounds=L2Ball(1.0)).plan(9000, GRID).at(n=500)
    assert few.error is not None
    assert mean().plan(500, GRID).error is None


def test_a_delta_that_noise_of_a_box_leaves_does_not_keep_it_from_telling_its_distance(tmp_path):
    grid = np.linspace(0, 1, 24)
    curves = np.sin(6 * grid) + np.linspace(-1, 1, 9000)[:, None]
    made = mean(bounds=Search(-300, 700), delta=1e-6, domain=Domain(grid)).fit(curves).release_
    law, told = made.noise, made.distance.noise
    assert law.whole == told.whole == law.components + told.components
    share = made.certificate.costs[-1].guarantee.epsilon
    assert told.scales[0] == pytest.approx((2 * made.distance.largest + 1) / float(share), rel=1e-6)
    made.save(tmp_path / "found.json")
    assert load(tmp_path / "found.json").distance == made.distance
