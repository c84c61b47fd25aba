"""The mean in two looks: what each stage moves, draws and costs, what it gains, and what it refuses.

Statistical tests fit a law at its scale, and reject it at that scale times or over the root of two; each
raises a false alarm with a chance of 1e-6 (`statistical.FALSE_ALARM`).
"""

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, gamma
from typer.testing import CliRunner

from dpfda import Domain, PrivateMean, Reading, load
from dpfda.bounds import L2Ball, ValueBounds
from dpfda.errors import BudgetError, DataError, DpfdaError, ParameterError, StorageError
from dpfda.front.app import app
from dpfda.mean import two_looks
from dpfda.mean.radius import distances
from dpfda.mean.settings import TwoLooks
from dpfda.mean.staged_release import FIRST, LAST, RADIUS, TOLERATED, CloserMean, Excess
from dpfda.mean.streams import MeanStream
from dpfda.mean.two_looks import MOST
from dpfda.mechanisms import COUNT_SCALE
from dpfda.mechanisms.design.radii import (
    candidate_radii,
    excesses,
    line_error,
    moved_at_most,
    residual_radius,
)
from dpfda.noise import BoxNoise
from dpfda.numerics import compiled
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, ZeroConcentratedDP, added
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication import publish_curve
from dpfda.publication.distances import DISTANCE, largest_distance, line_in_integers
from dpfda.publication.moments import bin_counts
from dpfda.records import LongCurves
from dpfda.records.weights import Weights
from dpfda.releases.function import ReleasedFunction
from dpfda.testing import check_release, exact_totals, prepared_looks
from released_lines import widths_of
from statistical import FALSE_ALARM, fits_only_at_its_scale

GRID = np.linspace(0.0, 1.0, 12)
LARGEST = np.finfo(float).max
RADII = candidate_radii(0.5)


def curves_of(size=9000, spread=0.2, seed=0):
    """Curves near a sine, far inside the bounds used here."""
    shifts = np.random.default_rng(seed).uniform(-spread, spread, (size, 1))
    return 2 * np.sin(3 * GRID) + shifts * (1 + GRID)


def mean(**parameters):
    made = {"epsilon": 1.0, "bounds": (-5.0, 5.0), "domain": Domain(GRID), "mechanism": TwoLooks()}
    return PrivateMean(**made | parameters)


@pytest.fixture(scope="module")
def release():
    # So many that noise does not hide that records are near their mean. At an edge of two bins, as in
    # files of earlier versions.
    made = (mean(epsilon=10.0).fit(curves_of()).release_ for _ in range(60))
    return next(each for each in made if each.certificate.mechanism["radius"] in RADII[1:])


# The budget.


def charges(ledger):
    return [record for record in ledger.history("curves") if record.action == "charge"]


BUDGETS = [
    {"epsilon": 1.0},
    {"epsilon": 1.0, "delta": 1e-6},
    {"epsilon": None, "rho": "1/2"},
    {"epsilon": 1.0, "neighbours": "add-remove", "public_size": 9000},
]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_stages_add_up_to_the_whole_which_is_charged_once_before_any_noise(budget, monkeypatch):
    ledger, seen = MemoryLedger(), []
    whole = mean(**budget).asked()
    ledger.create("curves", whole, neighbours=budget.get("neighbours", "replace-one"))
    draw, counting = BoxNoise.draw, two_looks.RadiusChoice.released

    def drawn(self, *args, **more):
        seen.append(len(charges(ledger)))
        return draw(self, *args, **more)

    def counted(self, *args):
        seen.append(len(charges(ledger)))
        return counting(self, *args)

    monkeypatch.setattr(BoxNoise, "draw", drawn)
    monkeypatch.setattr(two_looks.RadiusChoice, "released", counted)
    made = mean(**budget, ledger=ledger.of("curves")).fit(curves_of()).release_
    assert seen, "noise was drawn"
    assert set(seen) == {1}
    assert isinstance(made, CloserMean)
    # Of normal noise on functions no point is known by itself: the distance has a share of its own.
    apart = [DISTANCE] if isinstance(whole, ZeroConcentratedDP) else []
    assert made.certificate.stages == (*apart, FIRST, RADIUS, LAST)
    costs = [cost.guarantee for cost in made.certificate.costs]
    assert made.guarantee == added(costs) == whole
    # Shares of epsilon or of what is left of rho; all of delta is the last look's.
    told, (first, count, last) = costs[: len(apart)], costs[len(apart) :]
    n_epsilon = mean(**budget).plan(9000).strength(whole)
    share = 0.04 * (5000 / n_epsilon) ** 0.5
    if isinstance(whole, ZeroConcentratedDP):
        for part, of_it in ((first, share), (count, 0.03)):
            left = float(whole.rho) - told[0].epsilon ** 2 / 2
            assert part.epsilon**2 / 2 == pytest.approx(left * of_it, rel=0.02)
    else:
        assert first.epsilon == pytest.approx(float(whole.epsilon) * share, rel=0.02)
        assert count == PureDP(whole.epsilon * 3 / 100)
        assert last.epsilon == whole.epsilon - first.epsilon - count.epsilon
        assert getattr(last, "delta", 0) == getattr(whole, "delta", 0)


def test_a_ledger_that_refuses_stops_everything(monkeypatch):
    ledger = MemoryLedger().create("curves", PureDP("99/100"))
    monkeypatch.setattr(BoxNoise, "draw", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(BudgetError):
        mean(ledger=ledger.of("curves")).fit(curves_of())
    assert ledger.spent("curves")["epsilon"] == 0


# What one unit moves, and the noise that hides it.


@pytest.mark.parametrize("moves", [2, 1])
def test_scales_in_force_are_those_of_each_part_in_closed_form(moves):
    relation = {} if moves == 2 else {"neighbours": "add-remove", "public_size": 9000}
    made = mean(epsilon=10.0, **relation).fit(curves_of()).release_
    first, last = made.first, made.noise
    epsilon = {name: cost.guarantee.epsilon for name, cost in _costs(made).items()}
    # What is cut off of a record lies between - and + half of that; who is replaced may turn it round.
    tried, plan = made.excess, mean(epsilon=10.0, **relation).plan(9000)
    width = math.ceil(moves * math.floor((tried.reach - tried.radius) * 2**20) / 2) + 8
    assert tried.width(made.neighbours) == width
    assert 0 <= tried.noise.scales[0] - Fraction(width) / plan.tried[0].epsilon <= 1
    assert plan.tried[0].epsilon + plan.tried[1].epsilon == epsilon[LAST]
    epsilon[LAST] = plan.tried[1].epsilon
    counts = made.selection.noise
    assert set(counts.scales) == {math.ceil(moves * COUNT_SCALE / epsilon[RADIUS])}
    lower, upper = made.closer.curves_on(GRID)
    for law, exponent, halves, name in (
        (first.noise, first.exponent, np.full(12, 5.0), FIRST),
        (last, made.exponent, (upper - lower) / 2, LAST),
    ):
        sizes = np.floor(np.ldexp(halves, exponent)).astype(object)
        cells = np.split(sizes, np.cumsum((made if law is last else first).hierarchy.cells)[:-1])
        widths = [moves * int(cell.sum()) for cell in cells]
        assert len(widths) == len(law.scales)
        for scale, width in zip(law.scales, widths, strict=True):
            assert 0 <= scale - Fraction(width) / epsilon[name] <= 1
    # Less than the stated bounds need at the same exponent: that is the gain.
    assert np.all(upper - lower <= 20 * made.certificate.mechanism["radius"] + 1e-9)


def _costs(made):
    return dict(zip(made.certificate.stages, made.certificate.costs, strict=True))


def test_counts_get_laplace_noise_of_their_part():
    plan = mean().plan(9000, GRID)
    lengths = np.linspace(0, 0.6, 50)
    exact = exact_totals(bin_counts(lengths, plan.choice.radii))
    errors = []
    for _ in range(400):
        noisy = plan.choice.released(lengths).noisy_counts
        errors += [a - b for a, b in zip(noisy, exact, strict=True)]
    # A replaced unit moves two counts by one, and they have three of a hundred parts of epsilon.
    scale = 2 * COUNT_SCALE * 100 / 3
    assert fits_only_at_its_scale(
        errors, lambda x: 0.5 + np.sign(x) * (1 - np.exp(-np.abs(x) / scale)) / 2
    )


def test_the_closer_look_gets_the_box_noise_of_its_bounds():
    prepared = prepared_looks(mean(), curves_of(size=7000))
    plan, line = prepared.plan, 2 * np.sin(3 * GRID)
    closer = plan.closer(line, RADII[4], plan.shares[2])
    exact = exact_totals(prepared.total.total(closer))
    errors = []
    for _ in range(400):
        look = publish_curve(prepared.total.total(closer), closer, closer.certified())
        errors.append(max(abs(a - b) for a, b in zip(look.noisy_sum, exact, strict=True)))
    lower, upper = closer.bound.curves_on(GRID)
    reach = float(RADII[4]) * 10
    # Cut at the stated bounds where the line is near them, which it is not here.
    assert np.allclose((upper - lower) / 2, reach)
    scale = 2 * (12 / len(exact)) * math.ldexp(reach, look.exponent) / plan.shares[2].epsilon
    # The largest coordinate of box noise on M cells is Gamma(M).
    assert fits_only_at_its_scale(errors, lambda x: gamma.cdf(x, len(exact), scale=scale))


HOSTILE = [0.0, 5e-324, -1e-300, 1.0, 1e150, -LARGEST, LARGEST, np.nan, np.inf]


def drawn_by_stage(points, draws):
    """Noise of whole publications in scales, by stage: what was released less what is exact for it."""
    grid = np.linspace(0.0, 1.0, points)
    shifts = np.random.default_rng(4).uniform(-0.2, 0.2, (200, 1))
    prepared = prepared_looks(mean(epsilon=50, domain=Domain(grid)), 2 * np.sin(3 * grid) + shifts)
    plan, records = prepared.plan, prepared.total
    rough, stated = exact_totals(records.total(plan.rough)), exact_totals(records.total(plan.whole))
    found = {"rough": [], "counts": [], "beyond": [], "box": [], "sides": []}
    for _ in range(draws):
        made = plan.publish(records)
        line, part = np.asarray(made.first(grid)), plan.shares[2]
        lengths, radius = distances(plan.whole, records, line), plan.radius(made.selection)
        found["rough"].append(np.max(np.abs(off(made.first.noisy_sum, rough, made.first.noise.scales))))
        counts = exact_totals(bin_counts(lengths, plan.choice.radii))
        found["counts"] += off(made.selection.noisy_counts, counts, plan.choice.noise.scales)
        if made.excess is not None:
            tried, part = plan.tries(line, radius), plan.tried[1]
            beyond = shifted(plan, records, line, radius).noisy
            found["beyond"] += off([made.excess.noisy], [beyond], tried.noise.scales)
            radius = radius if made.excess.small(plan.size) else 0.5
        cells = exact_totals(records.total(plan.closer(line, radius, part)))
        sums = off(made.noisy_sum, cells, made.noise.scales)
        if made.distance is not None:
            apart = largest_distance([stated], (*line_in_integers(made, plan.whole), plan.size))
            told = [(number - apart) / made.distance.scale for number in made.distance.numbers]
            sums += told
            found["sides"].append(told[0])
        found["box"].append((len(sums), np.max(np.abs(sums))))
    return found, rough


def shifted(plan, records, line, radius, draw=lambda law: [0]):
    """What a try of a radius finds: without noise, by default."""
    sums = records.on_grid(plan.whole), records.on_grid(plan.held(line, radius))
    return plan.tries(line, radius).released(*sums, draw)


def off(noisy, exact, scales):
    return [float((a - b) / scale) for a, b, scale in zip(noisy, exact, scales, strict=True)]


@pytest.mark.parametrize(("points", "draws"), [(12, 250), (30, 900)])
def test_every_stage_of_a_publication_gets_its_noise(points, draws):
    found, rough = drawn_by_stage(points, draws)
    # The largest distance is told by sides of the closer look's box: from 20 cells on, and of fewer
    # where records are held closer.
    sizes = {size for size, _ in found["box"]}
    assert sizes == ({12, 13} if points == 12 else {32})
    assert fits_only_at_its_scale(found["rough"], gamma(len(rough)).cdf)
    for size in sizes:
        own = [farthest for each, farthest in found["box"] if each == size]
        assert fits_only_at_its_scale(own, gamma(size).cdf)
    assert fits_only_at_its_scale(np.abs(found["counts"]), lambda x: 1 - np.exp(-x))
    # Of fewer the sum of all sizes tells more: it is a Gamma variable.
    beyond = np.abs(found["beyond"])
    chances = [gamma.cdf(beyond.sum() * wrong, beyond.size) for wrong in (1, 2**0.5, 0.5**0.5)]
    assert FALSE_ALARM < chances[0] < 1 - FALSE_ALARM
    if draws > 500:
        assert beyond.size > 700
        assert chances[1] > 1 - 1e-5
        assert chances[2] < 1e-5
        # One side of a box with its sign away: R U.
        assert fits_only_at_its_scale(
            np.abs(found["sides"]), lambda x: 1 - gamma.sf(x, 33) + x / 32 * gamma.sf(x, 32)
        )


@pytest.mark.parametrize("loops", [False, True], ids=["numpy", "compiled"])
@pytest.mark.parametrize("value", HOSTILE)
def test_a_replaced_record_moves_one_count_and_sums_by_no_more_than_the_bounds(
    value, loops, monkeypatch
):
    monkeypatch.setattr(compiled, "worthwhile", lambda numbers: loops)
    rows = np.random.default_rng(1).normal(size=(5, GRID.size))
    other = rows.copy()
    other[2] = value
    other[2, ::2] *= -1
    estimator = mean(epsilon=2000.0, reading=Reading(invalid="repair"))
    pair = [prepared_looks(estimator, records) for records in (rows, other)]
    plan = pair[0].plan
    for line, place in ((np.sin(GRID), 6), (np.full(12, 4.99), 3), (np.full(12, -5.0), 10)):
        lengths = [distances(plan.whole, each.total, line) for each in pair]
        assert [each.size for each in lengths] == [5, 5]
        assert (Counter(lengths[0].tolist()) - Counter(lengths[1].tolist())).total() <= 1
        bins = [np.array(exact_totals(bin_counts(each, plan.choice.radii))) for each in lengths]
        assert all(counts.sum() == 5 * COUNT_SCALE for counts in bins)
        assert np.abs(bins[0] - bins[1]).sum() in (0, 2 * COUNT_SCALE)
        closer = plan.closer(line, RADII[place], plan.shares[2])
        lower, upper = closer.bound.curves_on(GRID)
        assert np.all((lower >= -5) & (upper <= 5))
        sums = [exact_totals(each.total.total(closer)) for each in pair]
        norm, widths = closer.problem(5).differences(closer.public_design)
        assert norm == "box"
        assert all(abs(a - b) <= width for a, b, width in zip(*sums, widths, strict=True))
        assert plan.choice.width == 2 * COUNT_SCALE


@settings(max_examples=40, deadline=None)
@given(
    st.floats(-1e150, 1e150), st.floats(1e-98, 1e150), st.floats(0, 1), st.integers(0, RADII.size - 1)
)
def test_closer_bounds_lie_between_the_stated_ones_whatever_the_line(low, width, level, place):
    try:
        plan = mean(epsilon=1e4, bounds=(low, low + width)).plan(10, GRID)
    except ParameterError:
        return
    line = np.clip(np.full(12, low + level * width), low, low + width)
    lower, upper = plan.closer(line, RADII[place], plan.shares[2]).bound.curves_on(GRID)
    assert np.all((low <= lower) & (lower < upper) & (upper <= low + width))
    assert np.all((lower <= line) & (line <= upper))
    # What a try adds up moves by no more than its noise hides, however coarse floats are.
    tried = plan.tries(line, min(RADII[place], 0.42))
    assert tried.moved <= tried.noise.scales[0] * plan.tried[0].epsilon


def test_an_exact_sum_is_that_of_clipped_records(release):
    records = np.array([[9.0] * 12, [-9.0] * 12, [0.25] * 12, [2.0] * 12, [np.inf] * 12])
    prepared = prepared_looks(mean(epsilon=2000.0, reading=Reading(invalid="repair")), records)
    closer = prepared.plan.closer(np.full(12, 1.0), 0.125, prepared.plan.shares[2])
    lower, upper = closer.bound.curves_on(GRID)
    assert (lower[0], upper[0]) == (1 - 10 / 8, 1 + 10 / 8)
    expected = np.clip([9.0, -9.0, 0.25, 2.0, 1.0], lower[0], upper[0]) - 1.0
    totals = np.array(exact_totals(prepared.total.total(closer)), dtype=float)
    per_cell = 12 / totals.size
    unit = math.ldexp(1.0, -closer.public_design.exponent(closer.problem(5)))
    assert totals * unit == pytest.approx(per_cell * expected.sum(), abs=1e-9)


# The rule for the radius.


@pytest.mark.parametrize("place", range(1, 8))
def test_where_counts_are_exact_the_radius_is_the_least_that_clips_nothing(place):
    shares = np.zeros(RADII.size)
    shares[place:] = 1 / (RADII.size - place)
    assert residual_radius(RADII, shares, 0.0, (1e5, 1e5), 1e9) == RADII[place]


def test_counts_that_tell_nothing_leave_the_stated_bounds():
    shares = np.zeros(RADII.size)
    shares[-1] = 1.0
    assert residual_radius(RADII, shares, 1.0, (1e5, 1e5), 1e9) == 0.5
    # Nor is there a try where all that it may gain is its price.
    assert residual_radius(RADII, shares, 0.0, (1e5, 1e2), 1e9) == 0.5
    # A line that is rough itself: no residual can be told to be shorter than what it misses.
    assert residual_radius(RADII, shares, 0.0, (1e5, 1e5), 100) >= line_error(100)


def test_counts_that_noise_explains_are_none_until_one_is_more():
    shares = np.zeros(RADII.size)
    shares[4:] = 1 / (RADII.size - 4)
    quiet, loud = shares.copy(), shares.copy()
    # Scales of the Laplace noise: its deviation over the root of two.
    quiet[:3], loud[:3] = 1.9e-3, 2.1e-3
    rule = [residual_radius(RADII, each, 2**0.5 * 1e-3, (1e5, 1e5), 1e9) for each in (quiet, loud)]
    assert rule[0] == residual_radius(RADII, shares, 2**0.5 * 1e-3, (1e5, 1e5), 1e9) <= RADII[3]
    assert rule[1] > rule[0]


def test_a_radius_between_two_bins_cuts_one_of_them_in_proportion():
    over, doubt = excesses(np.array([0.4, 0.2]), np.array([0.3, 0.7]), 0.01, np.array([0.3, 0.1]))
    # Above .3 there is half of the first bin, .05 beyond on average; above .1 all of it and half of the
    # second.
    assert over == pytest.approx([0.3 * 0.025, 0.3 * 0.2 + 0.7 * 0.025])
    assert doubt == pytest.approx([0.01 * 0.025, 0.01 * math.hypot(0.2, 0.025)])


def test_what_clipping_moves_in_closed_form():
    shares = np.array([0.1, 0.3, 0.6])
    radii = np.array([0.4, 0.2, 0.1])
    found = moved_at_most(radii, shares, 0.0)
    # Bins count with their middles .3, .15 and .05.
    assert found == pytest.approx([0, 0.25 * 0.1 * 0.1, 0.25 * (0.1 * 0.2 + 0.3 * 0.05)])
    noisy = moved_at_most(radii, shares, 0.01)
    assert noisy[2] == pytest.approx(math.hypot(found[2], 0.25 * 0.01 * math.hypot(0.2, 0.05)))


# What is gained, released and read again.


def test_it_is_closer_than_one_look_where_records_stay_near_their_mean():
    curves = curves_of()
    truth = curves.mean(axis=0)

    def squares(mechanism):
        fits = [mean(epsilon=10.0, mechanism=mechanism).fit(curves).release_ for _ in range(41)]
        return float(np.median([np.mean((each(GRID) - truth) ** 2) for each in fits]))

    # Records lie within .04 of the range of their mean: in four of five releases noise is a half of what
    # it was, or less.
    assert squares(TwoLooks()) < 0.7 * squares("one-look")


def test_a_small_n_epsilon_has_one_look():
    made = mean().fit(curves_of(size=4900)).release_
    assert not isinstance(made, CloserMean)
    assert made.certificate.stages == ("release",)


def test_a_file_holds_everything(release, tmp_path):
    again = load(release.save(tmp_path / "looks.json"))
    assert type(again) is CloserMean
    assert np.array_equal(again(GRID), release(GRID))
    band, other = release.band(0.95), again.band(0.95)
    assert np.array_equal(band.lower, other.lower)
    assert again.selection == release.selection
    assert again.certificate == release.certificate
    check_release(release)


def test_a_file_whose_looks_do_not_fit_is_refused(release, tmp_path):
    path = release.save(tmp_path / "looks.json")
    written = json.loads(path.read_text())
    wider = {**written, "closer": {"kind": "values", "lower": -9.0, "upper": 9.0}}
    other = {**written, "mechanism": {**written["mechanism"], "radius": 0.123}}
    # As if noise of these scales hid records between the stated bounds.
    loose = {**written, "closer": {"kind": "values", "lower": -5.0, "upper": 5.0}}
    # As if much had been found beyond the radius; and noise that hides less than what was paid for.
    much = {**written, "excess": {**written["excess"], "noisy": 2**40}}
    law = {**written["excess"]["noise"], "scales": [1000]}
    bare = {**written, "excess": {**written["excess"], "noise": law}}
    # As if records lay nearer to the rough line than they may, and so much less noise were enough.
    near = {**written, "excess": {**written["excess"], "reach": 0.5}}
    share = (0.5 - release.excess.radius) / (release.excess.reach - release.excess.radius)
    assert share < 0.9
    near["excess"]["noise"] = {**law, "scales": [round(release.excess.noise.scales[0] * share)]}
    tight = {**written, "noise": {**written["noise"]}}
    tight["noise"]["scales"] = [round(scale / 2) for scale in release.noise.scales]
    lower, upper = release.closer.curves_on(GRID)
    ends = (3 * lower + upper) / 4, (lower + 3 * upper) / 4
    tight["closer"] = dict(
        zip(("kind", "lower", "upper"), ("values", *(end.tolist() for end in ends)), strict=True)
    )
    radii = [radius / 2**0.5 for radius in release.selection.radii]
    short = {**written, "selection": {**written["selection"], "radii": radii}}
    short["mechanism"] = {
        **written["mechanism"],
        "radius": release.certificate.mechanism["radius"] / 2**0.5,
    }
    short["excess"] = {**written["excess"], "radius": release.excess.radius / 2**0.5}
    # As if a stage gave less than its noise does.
    less = {"kind": "pure", "epsilon": 0.001, "exact": {"epsilon": "1/1000"}}
    told = [
        {**written, stage: {**written[stage], "guarantee_recomputed": less}}
        for stage in ("selection", "excess")
    ]
    for entries in (wider, other, loose, much, bare, near, tight, short, *told):
        path.write_text(json.dumps(entries))
        with pytest.raises(StorageError):
            load(path)


def test_a_try_of_earlier_versions_with_twice_the_noise_is_read(tmp_path):
    # Where a unit comes or goes; with less noise for what is claimed the file is refused.
    estimator = mean(epsilon=10.0, neighbours="add-remove", public_size=9000)
    made = (estimator.fit(curves_of()).release_ for _ in range(20))
    release = next(each for each in made if each.certificate.mechanism["radius"] < 0.5)
    path, written = tmp_path / "two.json", release.to_json()
    (scale,) = release.excess.noise.scales
    for times, read in ((1, True), (2, True), (2**0.5, False), (0.5**0.5, False)):
        noise = {**written["excess"]["noise"], "scales": [math.ceil(times * scale)]}
        path.write_text(json.dumps({**written, "excess": {**written["excess"], "noise": noise}}))
        if read:
            assert load(path).excess.noise.scales == (times * scale,)
            continue
        with pytest.raises(StorageError):
            load(path)


def test_the_band_allows_for_what_clipping_may_move(release):
    tried = release.excess
    assert release.certificate.mechanism["radius"] == tried.radius < 0.5
    scale = tried.noise.scales[0] / 2**20 / 9000
    average = tried.noisy / 2**20 / 9000
    assert release.clipped == pytest.approx(max(average, 0) + scale, rel=1e-6)
    # Of files of earlier versions, where far points of all units were added up, three quarters.
    before = replace(tried, tolerated=None)
    assert before.moved(9000) == pytest.approx(0.75 * release.clipped)
    assert (before.small(9000), tried.small(9000)) == (average <= scale, average <= 2 * scale)
    band, line = release.band(0.95), release(release.band(0.95).points)
    assert np.all((band.lower <= line) & (line <= band.upper))
    # As if nothing had been tried: the rule of earlier files, from the histogram.
    old = replace(release, excess=None)
    counts = release.selection.noise.variances()[0] ** 0.5 / COUNT_SCALE / 9000
    shares = np.array(release.selection.noisy_counts, dtype=float) / COUNT_SCALE / 9000
    place = release.selection.radii.index(tried.radius)
    assert old.clipped == pytest.approx(moved_at_most(RADII, shares, counts)[place])
    # Beside what it is without.
    more = float(np.max(band.upper - line)) - 10 * release.clipped
    assert 0 < more < float(np.max(band.upper - line))


# Far records.


def test_what_is_cut_off_is_the_largest_shift_of_the_sum_with_laplace_noise():
    prepared = prepared_looks(mean(epsilon=2000.0), np.array([0.0, 4.0, -4.0, 5.0, 1.0])[:, None] + GRID)
    plan, line = prepared.plan, np.full(12, 0.0)
    tried = plan.tries(line, 0.25)
    # Beyond a quarter of the range of ten, up and down.
    found = shifted(plan, prepared.total, line, 0.25)
    cut = [np.clip(np.clip(value + GRID, -5, 5), -2.5, 2.5) for value in (0, 4, -4, 5, 1)]
    whole = [np.clip(value + GRID, -5, 5) for value in (0, 4, -4, 5, 1)]
    shift = np.abs(np.sum(whole, axis=0) - np.sum(cut, axis=0)).max() / 10
    assert found.noisy == pytest.approx(shift * 2**20, abs=5)
    # Of distances of the farthest points it would be more: those up and down would not cancel.
    farthest = [np.abs(one - other).max() / 10 for one, other in zip(whole, cut, strict=True)]
    assert found.noisy < 0.75 * 2**20 * sum(farthest)
    sums = prepared.total.on_grid(plan.whole), prepared.total.on_grid(plan.held(line, 0.25))
    errors = [tried.released(*sums).noisy - found.noisy for _ in range(4000)]
    # A line in the middle keeps half of the range: the other half is what one unit moves.
    scale = 2**19 / float(plan.tried[0].epsilon)
    assert fits_only_at_its_scale(
        errors, lambda x: 0.5 + np.sign(x) * (1 - np.exp(-np.abs(x) / scale)) / 2
    )


@pytest.mark.parametrize("other", HOSTILE)
@pytest.mark.parametrize("radius", [0.25, 0.42, 0.03])
def test_a_replaced_record_moves_what_is_cut_off_by_no_more_than_its_width(other, radius):
    # One at either end, and all others where nothing is cut off: both moves are the largest there are.
    rows = np.vstack([np.full((2, 12), -5.0), np.zeros((3, 12))])
    changed = rows.copy()
    changed[1, ::2], changed[1, 1::2] = other, -other if abs(other) <= LARGEST else other
    estimator = mean(epsilon=2000.0, reading=Reading(invalid="repair"))
    pair = [prepared_looks(estimator, records) for records in (rows, changed)]
    plan = pair[0].plan
    for line in (np.sin(GRID), np.full(12, 4.99), np.full(12, -5.0), np.linspace(-5, 5, 12)):
        found = [shifted(plan, each.total, line, radius) for each in pair]
        assert abs(found[0].noisy - found[1].noisy) <= found[0].width(plan.neighbours)
        nearest = np.minimum(line + 5, 5 - line).min() / 10
        assert found[0].reach == pytest.approx(1 - min(nearest, radius))


def test_a_record_may_move_what_is_cut_off_by_its_whole_width():
    rows = np.repeat([[-5.0], [5.0], [5.0]], 12, axis=1)
    pair = [prepared_looks(mean(epsilon=2000.0), records) for records in (rows[:2], rows[1:])]
    sums = [shifted(each.plan, each.total, np.zeros(12), 0.25) for each in pair]
    assert [each.noisy for each in sums] == pytest.approx([0, 2**19], abs=2)
    # Beside which noise allows for rounding.
    assert sums[0].width(Neighbours.REPLACE_ONE) == 2**19 + 8


@pytest.mark.parametrize("record", [-5.0, 5.0, 0.0, 1.7])
@pytest.mark.parametrize("level", [0.0, 2.0, -4.99])
def test_a_record_more_moves_what_is_cut_off_by_half_of_that(record, level):
    estimator = mean(epsilon=5000.0, neighbours="add-remove", public_size=2)
    rows = np.repeat([[-5.0], [5.0], [record]], 12, axis=1)
    pair = [prepared_looks(estimator, records) for records in (rows[:2], rows)]
    plan, line = pair[0].plan, np.full(12, level)
    found = [shifted(plan, each.total, line, 0.25) for each in pair]
    moved, tried = abs(found[0].noisy - found[1].noisy), plan.tries(line, 0.25)
    # Between the least and the most that is kept of ten: half on both sides, or a quarter at a bound.
    half = (1 - min(0.5, 0.25 + min(level + 5, 5 - level) / 10)) / 2
    assert tried.width == pytest.approx(half * 2**20 + 8, abs=1)
    assert moved <= tried.width
    # The records at the bounds move it by all of that.
    if abs(record) == 5 and level == 0:
        assert moved >= tried.width - 10


def test_what_a_shift_is_at_most_is_so_with_its_chance():
    plan = mean(epsilon=20.0).plan(9000)
    tried = plan.tries(np.zeros(12), 0.125)
    sums = [prepared_looks(mean(epsilon=20.0), curves_of()).total.on_grid(each)
            for each in (plan.whole, plan.held(np.zeros(12), 0.125))]  # fmt: skip
    exact, draws = tried.released(*sums, lambda law: [0]).noisy, 4000
    assert exact > 2 * tried.noise.scales[0]
    made = [tried.released(*sums) for _ in range(draws)]
    for level in (0.9, 0.98):
        most = np.array([each.at_most(level, 9000) for each in made]) * 9000 * 2**20
        missed = int(np.sum(most < exact))
        # Of noise that is larger or smaller by the root of two, the tail has such a power of the chance.
        chances = [0.5 * (2 * (1 - level)) ** power for power in (1, 2**0.5, 0.5**0.5)]
        fits = [binomtest(missed, draws, chance).pvalue for chance in chances]
        assert fits[0] > FALSE_ALARM
        assert max(fits[1:]) < FALSE_ALARM


def held_of_many_points(**parameters):
    """One that was held closer, on so many points that the largest distance is told as well."""
    grid = np.linspace(0, 1, 30)
    shifts = np.random.default_rng(8).uniform(-2, 2, (9000, 1))
    estimator = mean(epsilon=10.0, domain=Domain(grid), **parameters)
    made = (estimator.fit(2 * np.sin(3 * grid) + shifts).release_ for _ in range(40))
    return next(each for each in made if each.certificate.mechanism["radius"] < 0.5)


@pytest.fixture
def untold(monkeypatch):
    """Closer looks that tell no distance, as in files of earlier versions with a delta."""
    monkeypatch.setattr(two_looks.StagedPlan, "with_sides", lambda plan, closer, always=True: closer)


@pytest.mark.parametrize("told", [True, False])
def test_a_band_is_what_distance_and_cells_both_allow(told, request):
    if not told:
        request.getfixturevalue("untold")
    release = held_of_many_points(delta=0.0 if told else 1e-6)
    grid, tried, count = release.grid_points, release.excess, release.count
    band, line = release.band(0.95, points=grid), release(grid)
    # Two fifths of what the level leaves for the shift, and the rest for one or for both.
    ways = 1 if release.distance is None else 2
    level = 1 - 0.6 * 0.05 / ways
    assert ways == (2 if told else 1)
    beyond = tried.noise.scales[0] * math.log(0.5 / (0.4 * 0.05)) + 2
    shift = 10 * max(tried.noisy + beyond, 0) / 2**20 / count
    low, high = (10 * np.array(end) - 5 for end in widths_of(release).measured(level, True))
    low, high = low - shift, high + shift
    if release.distance is not None:
        most = 10 * max(release.distance.at_most(level, count), widths_of(release).typical_error)
        assert np.any(low > line - most), "cells tell more somewhere"
        low, high = np.maximum(low, line - most), np.minimum(high, line + most)
    assert band.lower == pytest.approx(np.minimum(low, line), abs=1e-6)
    assert band.upper == pytest.approx(np.maximum(high, line), abs=1e-6)
    assert "whatever the curves are" in release.report().replace("\n", " ")
    if release.distance is not None:
        assert np.all(release.band(0.5, points=grid).upper < band.upper)


def test_a_shift_has_its_part_of_the_level_where_its_radius_is_not_kept(monkeypatch):
    # Which hangs on its noise: else a band would miss more often than it says.
    monkeypatch.setattr("dpfda.mean.radius.TOLERATED", -50.0)
    grid = np.linspace(0, 1, 12)
    made = (mean(epsilon=10.0).fit(curves_of()).release_ for _ in range(20))
    release = next(each for each in made if each.excess is not None)
    assert (release.certificate.mechanism["radius"], release.distance) == (0.5, None)
    low, high = (10 * np.array(end) - 5 for end in widths_of(release).measured(1 - 0.6 * 0.05, True))
    band, line = release.band(0.95, points=grid), release(grid)
    assert band.lower == pytest.approx(np.minimum(low, line))
    assert band.upper == pytest.approx(np.maximum(high, line))


@pytest.mark.usefixtures("untold")
def test_where_bounds_are_far_nearer_than_elsewhere_nothing_is_said_of_a_shift():
    reach = np.where(GRID < 0.5, 5.0, 5e-3)
    rows = np.random.default_rng(8).uniform(-0.2, 0.2, (9000, 1)) * reach
    estimator = mean(epsilon=10.0, delta=1e-6, bounds=ValueBounds(-reach, reach))
    made = (estimator.fit(rows).release_ for _ in range(40))
    release = next(each for each in made if each.certificate.mechanism["radius"] < 0.5)
    band = release.band(0.95, points=GRID)
    said = (band.upper - band.lower) / (2 * reach)
    assert np.array_equal(said == 1, GRID >= 0.5)
    assert np.all(said[GRID < 0.5] < 0.1)


@pytest.mark.parametrize("narrow", [1e-3, 1e-4, 1e-7])
@pytest.mark.parametrize("relation", [{}, {"neighbours": "add-remove", "public_size": 9000}])
def test_bounds_that_are_far_nearer_at_some_points_have_a_try(narrow, relation):
    # There integers are so few that rounding alone moves shares of the bounds' distance.
    upper = np.geomspace(narrow, 1.0, 12)
    estimator = mean(epsilon=5.0, bounds=ValueBounds(0 * upper, upper), **relation)
    plan = estimator.plan(9000)
    plan.check()
    for line in (0.5 * upper, upper, 0.1 * upper):
        tried = plan.tries(line, 0.03)
        assert tried.moved <= tried.width
        ends = [
            shifted(plan, prepared_looks(estimator, np.array(rows) * upper).total, line, 0.03).noisy
            for rows in ([[0.0]] * 3, [[1.0], [0.0], [0.0]], [[0.0]] * 2)
        ]
        # Of a record that is replaced, or of one that goes.
        moved = abs(ends[0] - ends[2 if relation else 1])
        assert 0.99 * tried.width <= moved <= tried.width


def test_sums_of_masked_parts_have_no_try():
    # A total that wraps would turn one sum round and not the other: their difference moves by both.
    prepared = prepared_looks(mean(epsilon=2000.0), np.zeros((3, 12)))
    whole = prepared.total.on_grid(prepared.plan.whole)
    masked = IntegerSum.modulo(exact_totals(whole), 3, 2**200)
    tried = prepared.plan.tries(np.zeros(12), 0.25)
    for sums in ((masked, whole), (whole, masked)):
        with pytest.raises(DpfdaError, match="masked parts cannot be compared"):
            tried.released(*sums)


def test_far_records_that_the_histogram_overlooks_are_not_cut_off():
    near = curves_of(size=4000)
    far = np.where(np.arange(4000)[:, None] < 40, 5.0, near)
    truth = far.mean(axis=0)

    def made(mechanism):
        fits = [mean(epsilon=5.0, mechanism=mechanism).fit(far).release_ for _ in range(40)]
        return fits, float(np.mean([(each(GRID) - truth) ** 2 for each in fits]))

    one, two = made("one-look"), made("auto")
    # Cutting off one of a hundred units would move the mean by several deviations of one look's error.
    assert two[1] < 2 * one[1]
    assert np.mean([each.band(0.95, points=GRID).contains(truth) for each in two[0]]) > 0.75
    assert np.mean([each.certificate.mechanism["radius"] < 0.5 for each in two[0]]) < 0.25


def test_a_radius_is_kept_where_little_is_found_beyond_it(release):
    tried = release.excess
    scale = tried.noise.scales[0]
    at, above = (replace(tried, noisy=int(scale * TOLERATED) + more) for more in (-2, 2))
    assert at.small(9000)
    assert not above.small(9000)
    with pytest.raises(ParameterError):
        Excess(0.25, 1.5, 0, tried.noise, tried.achieved)


def test_the_line_is_the_posterior_of_the_measured_mean_between_the_stated_bounds(release):
    exact = mean(epsilon=1e7).fit(curves_of()).release_
    assert isinstance(exact, CloserMean)
    assert exact(GRID) == pytest.approx(curves_of().mean(axis=0), abs=1e-3)
    assert exact.unshrunk(GRID) == pytest.approx(exact(GRID), abs=2e-2)
    assert np.array_equal(exact.hierarchy.lower, np.full(12, -5.0))


@pytest.mark.parametrize("groups", [None, "in order", "mixed"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize("missing", ["refuse", "complete"])
def test_distances_are_the_same_with_compiled_loops_and_many_threads(
    groups, dtype, missing, monkeypatch
):
    rows = (curves_of(size=700, spread=5.0) * 100).astype(dtype)
    if rows.dtype.kind == "f":
        rows[::7, 3:5], rows[5], rows[11, 2] = np.nan, np.nan, np.inf
    people = np.random.default_rng(0).integers(0, 300, 700)
    codes = {None: None, "in order": np.sort(people), "mixed": people}[groups]
    reading = Reading(missing=missing, invalid="repair")
    made = prepared_looks(mean(epsilon=1e4, bounds=(-400, 400), reading=reading), rows, groups=codes)
    line = 200 * np.sin(3 * GRID) + 1

    def found(loops):
        monkeypatch.setattr(compiled, "worthwhile", lambda numbers: loops)
        return np.sort(distances(made.plan.whole, made.total, line))

    monkeypatch.setattr(compiled, "NUMBERS_A_THREAD", 1000)
    by_numpy = found(False)
    assert np.array_equal(found(True), by_numpy)
    assert by_numpy.size == (700 if groups is None else np.unique(people).size)
    if groups is None:
        whole = rows.astype(float)
        if missing == "complete":
            whole = pd.DataFrame(whole).interpolate(axis=1, limit_direction="both").to_numpy()
        apart = np.max(np.abs(np.clip(whole, -400, 400) - line), axis=1) / 800
        apart[~np.isfinite(whole).all(axis=1)] = 0.0
        assert by_numpy == pytest.approx(np.sort(apart))


def test_groups_and_blocks_on_disk_are_read_as_one_array(tmp_path):
    curves = np.repeat(curves_of(size=6000), 2, axis=0)
    people = np.repeat(np.arange(6000), 2)
    grouped = prepared_looks(mean(), curves, groups=people)
    alone = prepared_looks(mean(), curves_of(size=6000))
    line = np.sin(3 * GRID)
    assert distances(grouped.plan.whole, grouped.total, line) == pytest.approx(
        distances(alone.plan.whole, alone.total, line)
    )
    closer = alone.plan.closer(line, 2, alone.plan.shares[2])
    assert exact_totals(grouped.total.total(closer)) == exact_totals(alone.total.total(closer))
    stored = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", float, curves_of(size=6000).shape)
    stored[:] = curves_of(size=6000)
    mapped = prepared_looks(mean(), np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert exact_totals(mapped.total.total(closer)) == exact_totals(alone.total.total(closer))
    framed = prepared_looks(mean(), pd.DataFrame(curves_of(size=6000)))
    assert exact_totals(framed.total.total(closer)) == exact_totals(alone.total.total(closer))


def test_under_add_remove_the_number_of_records_shows_nowhere():
    relation = {"neighbours": "add-remove", "public_size": 9000}
    plans = [prepared_looks(mean(**relation), np.zeros((n, 12))).plan for n in (3, 400)]
    assert plans[0].costs() == plans[1].costs()
    made = mean(**relation).fit(np.zeros((3, 12))).release_
    assert (made.count, made.first.count) == (9000, 9000)


# The default.


def test_the_default_has_two_looks_where_a_public_rule_says_so():
    curves = curves_of(size=6000)
    for mechanism, kind in {"auto": CloserMean, "one-look": ReleasedFunction}.items():
        made = mean(mechanism=mechanism).fit(curves).release_
        assert type(made) is kind
        # As planned.
        plan = mean(mechanism=mechanism).plan(6000)
        assert plan.costs() == dict(zip(made.certificate.stages, made.certificate.costs, strict=True))
    few = mean(mechanism="auto").fit(curves[:4900]).release_
    assert type(few) is ReleasedFunction
    plan = mean(mechanism="auto").plan(4900)
    staged = [LAST in plan.at(n=n).costs() for n in (4999, 5000, MOST, MOST + 1)]
    assert staged == [False, True, True, False]
    assert plan.at(n=20_000).error < mean(mechanism="one-look").plan(20_000).error


@pytest.mark.parametrize(
    "parameters",
    [
        {"neighbours": "add-remove"},
        {"bounds": L2Ball(1.0)},
        {"bounds": None, "standardize": True},
        {"variance": 0.1},
        {"basis": "matern:10%:1.5"},
    ],
    ids=str,
)
def test_the_default_has_one_look_where_there_cannot_be_two(parameters):
    made = mean(**{"mechanism": "auto"} | parameters).fit(curves_of(size=5200)).release_
    assert not isinstance(made, CloserMean)


def test_the_default_has_one_look_where_there_is_one_sum(tmp_path):
    curves = curves_of(size=6000)
    estimator = mean(mechanism="auto")
    assert type(estimator.partial_fit(curves).finish().release_) is ReleasedFunction
    assert type(estimator.fit_blocks(iter([curves])).release_) is ReleasedFunction
    assert type(MeanStream(estimator.plan(6000)).add(curves).release()) is ReleasedFunction
    session = estimator.open_session(curves, tmp_path / "session", questions=1)
    assert session.certificate.stages != (FIRST, RADIUS, LAST)
    pool = estimator.pooled(6000, GRID)
    assert pool.summation.plan.costs().keys() == {"release"}
    weighted = estimator.fit(curves, weights=Weights(np.ones(6000), 1)).release_
    assert type(weighted) is ReleasedFunction


def test_a_class_with_its_own_sum_is_heard():
    class Halved(PrivateMean):
        def prepare(self, X, groups=None):
            return super().prepare(np.asarray(X) / 2, groups)

    curves = curves_of(size=6000)
    made = Halved(10.0, bounds=(-5, 5)).fit(curves).release_
    assert type(made) is ReleasedFunction
    assert made(GRID) == pytest.approx(curves.mean(axis=0) / 2, abs=0.05)


def test_a_class_that_embeds_has_two_looks_at_what_it_embeds():
    class Exponential(PrivateMean):
        def embed(self, values):
            return np.exp(values)

    curves = curves_of(size=9000) / 4
    made = Exponential(10.0, bounds=(0, 20)).fit(curves).release_
    assert isinstance(made, CloserMean)
    assert made.certificate.mechanism["radius"] < 0.5
    assert made(GRID) == pytest.approx(np.exp(curves).mean(axis=0), abs=0.05)


def test_nothing_exact_is_left_in_a_release(release):
    exact = prepared_looks(mean(epsilon=10.0), curves_of())
    line = np.asarray(release.first(release.grid_points))
    counts = exact_totals(bin_counts(distances(exact.plan.whole, exact.total, line), RADII))
    assert not {count for count in counts if count} & set(release.selection.noisy_counts)
    sizes = [np.size(value) for value in vars(release).values() if isinstance(value, np.ndarray)]
    assert max(sizes) < 9000


# What is refused, before anything is charged.


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"neighbours": "add-remove"}, "public_size must be given"),
        ({"bounds": L2Ball(1.0)}, "have one look for anything but the default mean of curves between"),
        ({"bounds": None, "standardize": True}, "have one look for anything but the default mean"),
        ({"variance": 0.1}, "variance must be None for two looks"),
        ({"epsilon": -1}, "epsilon must be"),
    ],
)
def test_parameters_that_are_refused(parameters, words):
    ledger = MemoryLedger().create("curves", PureDP(9))
    with pytest.raises(ParameterError, match=words):
        mean(**parameters, ledger=ledger.of("curves")).fit(curves_of())
    assert not charges(ledger)


def test_what_needs_one_look_is_refused(tmp_path):
    curves = curves_of(size=20)
    long = LongCurves(np.repeat(np.arange(4), 3), np.tile([0.0, 0.5, 1.0], 4), np.ones(12))
    for road in (
        lambda: mean().partial_fit(curves),
        lambda: mean().pooled(9000, GRID),
        lambda: mean().open_session(curves, tmp_path / "session"),
        lambda: mean(reading=Reading(missing="complete")).fit(long),
    ):
        with pytest.raises(ParameterError, match="have one look for"):
            road()


def test_bad_data_are_refused_before_anything_is_charged():
    ledger = MemoryLedger().create("curves", PureDP(9))
    curves = curves_of()
    curves[3, 4] = np.nan
    with pytest.raises(DataError, match="row 3"):
        mean(ledger=ledger.of("curves")).fit(curves)
    assert not charges(ledger)


def test_the_name_is_as_good_as_the_object(tmp_path):
    plans = [mean(mechanism=how).plan(9000) for how in (TwoLooks(), "two-looks")]
    assert plans[0].costs() == plans[1].costs()
    assert plans[1].two_looks
    rooms, out = tmp_path / "rooms.csv", tmp_path / "rooms.json"
    pd.DataFrame(curves_of(size=1000), columns=GRID).to_csv(rooms, index=False)
    words = ["mean", rooms, "--epsilon", 10, "--bounds", -5, 5, "--mechanism", "two-looks", "--out", out]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert isinstance(load(out), CloserMean)


def test_a_delta_is_used_by_the_last_look_alone():
    made = mean(delta=1e-3).fit(curves_of()).release_
    assert made.guarantee == ApproximateDP(1, "1/1000")
    assert isinstance(made.first.guarantee, PureDP)
    assert ValueBounds(-5.0, 5.0).to_json()["lower"] == made.first.certificate.bound["lower"]


def test_a_delta_that_noise_of_a_box_leaves_does_not_keep_it_from_telling_its_distance(tmp_path):
    made = mean(delta=1e-6).fit(curves_of()).release_
    law, told = made.noise, made.distance.noise
    # One draw: both are of one box, and no side of it is left over.
    assert law.whole == told.whole == law.components + told.components
    last = made.certificate.mechanism
    share = float(made.certificate.costs[-1].guarantee.epsilon) - (
        0.0 if made.excess is None else float(made.excess.achieved.epsilon)
    )
    assert last["name"] == "two looks"
    assert told.scales[0] == pytest.approx((2 * made.distance.largest + 1) / share, rel=1e-6)
    made.save(tmp_path / "looks.json")
    assert load(tmp_path / "looks.json").distance == made.distance


@pytest.mark.parametrize(("delta", "share"), [(1e-5, Fraction(57, 1000)), (0.0, None)])
def test_of_functions_the_distance_is_told_though_every_point_is_measured(delta, share):
    """Noise of one block is on functions, of which no cell tells a point: before, bands assumed.

    Of rough means of 80 % zeros they held 3 of 12.
    """
    made = PrivateMean(1.0, delta, bounds=(0, 1), domain=Domain(np.linspace(0, 1, 96))).plan(5000)
    assert made.whole.distance_share == share
    assert isinstance(made.whole.line_alone.public_design.noise, BoxNoise) == (share is None)
    assert made.whole.distance is not None
