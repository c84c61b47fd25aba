"""Distances of groups' lines and of their differences: width, law, budget, bands, roads."""

import dataclasses
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpfda import Domain, PrivacyUnit, PrivateComparison, load
from dpfda.bounds import ValueBounds
from dpfda.errors import ParameterError
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import Neighbours, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.privacy.ledger.named import read_ledger
from dpfda.publication import publish_parallel
from dpfda.publication.distances import of_all, of_pairs, told_of_groups
from dpfda.releases.distance import (
    GroupDistance,
    box_quantile,
    moved,
    side_quantile,
    two_sides_quantile,
)
from dpfda.spine.sums import Summation
from statistical import FALSE_ALARM, SEEN

GRID = np.linspace(0, 1, 40)
NAMES, SIZES = ("a", "b", "c"), (200, 300, 500)


def made(points: int = 40, spike: float = 0.0) -> tuple[Any, Any]:
    """Curves of three groups of unequal size; the first may have a spike of one point."""
    grid, rows = np.linspace(0, 1, points), []
    for level, size in zip((0.4, 0.5, 0.55), SIZES, strict=True):
        curves = level + 0.2 * np.sin(5 * grid) + np.linspace(-0.2, 0.2, size)[:, None]
        curves[:, points // 3] += spike * (level == 0.4)
        rows.append(np.clip(curves, 0, 1))
    return np.concatenate(rows), np.repeat(NAMES, SIZES)


def means_of(curves: Any, labels: Any) -> dict[str, Any]:
    return {name: curves[labels == name].mean(axis=0) for name in NAMES}


cases = st.tuples(st.integers(1, 4), st.integers(2, 4)).flatmap(
    lambda shape: st.fixed_dictionaries(
        {
            "halves": st.lists(st.integers(0, 9), min_size=shape[0], max_size=shape[0]).filter(any),
            "sizes": st.lists(st.integers(1, 7), min_size=shape[1], max_size=shape[1]),
            "totals": st.lists(
                st.lists(st.integers(-60, 60), min_size=shape[0], max_size=shape[0]),
                min_size=shape[1],
                max_size=shape[1],
            ),
            "line": st.lists(st.integers(-9, 9), min_size=shape[0], max_size=shape[0]),
            "moves": st.lists(st.floats(-1, 1), min_size=shape[0], max_size=shape[0]),
            "group": st.integers(0, shape[1] - 1),
        }
    )
)


@given(cases)
@settings(max_examples=400, deadline=None)
@pytest.mark.parametrize("neighbours", [Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE])
def test_one_unit_moves_neither_by_more_than_is_said(neighbours: Any, case: Any) -> None:
    halves, sizes, totals = case["halves"], tuple(case["sizes"]), case["totals"]
    lines = [[at + place for at in case["line"]] for place in range(len(sizes))]
    changed = [list(row) for row in totals]
    for at, (share, half) in enumerate(zip(case["moves"], halves, strict=True)):
        changed[case["group"]][at] += round(share * neighbours.differences(half))
    for measure in (of_all, of_pairs):
        of = partial(measure, public=(lines, halves, sizes))
        assert abs(of(totals) - of(changed)) <= moved(max(halves), neighbours)


def test_a_unit_can_move_both_by_all_but_one() -> None:
    for measure in (of_all, of_pairs):
        of = partial(measure, public=([[0], [0]], [8], (3, 5)))
        assert of([[16], [0]]) - of([[0], [0]]) == 16


@given(
    st.lists(
        st.tuples(st.integers(1, 500), st.lists(st.floats(-1, 1), min_size=3, max_size=3)),
        min_size=2,
        max_size=5,
    )
)
@settings(max_examples=300, deadline=None)
def test_two_numbers_bound_every_line_and_difference(groups: Any) -> None:
    sizes = tuple(size for size, _ in groups)
    apart = np.array([row for _, row in groups])
    told = told_of_groups(apart, sizes)
    noise = PrivateComparison(1, bounds=(0, 1)).plan(1000, 200).one.distance.law
    largest = 2**29
    numbers = [int(2 * largest * each) for each in told]
    each = [
        GroupDistance(numbers[0], largest, noise, numbers[1], sizes, place)
        for place in range(len(sizes))
    ]
    for place, one in enumerate(each):
        # At the middle of the noise nothing is left of it.
        assert np.max(np.abs(apart[place])) <= one.at_most(0.5, sizes[place]) + 1e-6
        for other in range(len(sizes)):
            if other != place:
                gap = one.from_other(each[other], 0.5)
                assert gap is not None
                assert np.max(np.abs(apart[place] - apart[other])) <= gap + 1e-6
    assert each[0].from_other(dataclasses.replace(each[1], apart=numbers[1] + 1), 0.5) is None


@pytest.mark.parametrize(
    ("first", "second"), [(1.0, 0.0), (0.5, 0.5), (1.0, 0.3), (0.02, 1.0), (0.7, 0.7)]
)
def test_quantiles_are_those_of_the_noise(first: float, second: float) -> None:
    noise = PrivateComparison(1, bounds=(0, 1)).plan(1000, 200).one.distance.law
    drawn = noise.simulate(np.random.default_rng(5), 40_000) / noise.scales[0]
    for level in (0.9, 0.95, 0.99):
        below = int(np.sum(drawn @ [first, second] <= box_quantile(first, second, level)))
        assert stats.binomtest(below, 40_000, level).pvalue > FALSE_ALARM
        wrong = int(np.sum(drawn @ [first, second] <= box_quantile(first, second, level) / 2**0.5))
        assert stats.binomtest(wrong, 40_000, level).pvalue < SEEN


@pytest.fixture(scope="module")
def errors_in_scales() -> Any:
    """Noise on both numbers of fits, in units of the scale that a share of epsilon calls for."""
    curves, labels = made(12)
    grid, means, found = np.linspace(0, 1, 12), means_of(curves, labels), []
    comparison = PrivateComparison(1, bounds=(0, 1), domain=Domain(grid))
    for _ in range(400):
        release = comparison.fit(curves, labels).release_
        apart = np.array([release[name](grid) - means[name] for name in NAMES])
        one = release["a"].distance
        noisy = np.array([one.noisy, one.apart]) / (2 * one.largest)
        found.append((noisy - told_of_groups(apart, SIZES)) / 10)
    return np.array(found)


def scale_p_value(draws: Any) -> float:
    """That the larger of both has a Gamma(2) law of scale one, by their sum."""
    below = stats.gamma.cdf(np.sum(np.max(np.abs(draws), axis=1)), 2 * len(draws))
    return float(2 * min(below, 1 - below))


def test_noise_is_that_of_a_square_for_its_share_of_epsilon(errors_in_scales: Any) -> None:
    longest = np.max(np.abs(errors_in_scales), axis=1)
    assert stats.kstest(longest, stats.gamma(2).cdf).pvalue > FALSE_ALARM
    for sign in (1, -1):
        half = (errors_in_scales[:, 0] + sign * errors_in_scales[:, 1]) / 2
        assert stats.kstest(half, stats.laplace.cdf).pvalue > FALSE_ALARM
    assert scale_p_value(errors_in_scales) > FALSE_ALARM


@pytest.mark.parametrize("wrong", [2**0.5, 0.5**0.5])
def test_another_scale_would_be_seen(errors_in_scales: Any, wrong: float) -> None:
    assert scale_p_value(errors_in_scales * wrong) < SEEN


@pytest.mark.parametrize(
    "asked", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-5}, {"epsilon": None, "rho": Fraction(1, 2)}]
)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_lines_and_distances_are_the_budget(asked: Any, neighbours: str) -> None:
    curves, labels = made()
    size = None if neighbours[0] == "r" else dict(zip(NAMES, SIZES, strict=True))
    unit = PrivacyUnit("home", neighbours=neighbours, public_size=size)
    budget = PrivateComparison(**asked, bounds=(0, 1)).asked()
    ledger = MemoryLedger().create("homes", budget, neighbours)
    comparison = PrivateComparison(
        **asked, bounds=(0, 1), levels=NAMES, unit=unit, domain=Domain(GRID), ledger=ledger.of("homes")
    )
    release = comparison.fit(curves, labels).release_
    first, last = release.certificate.costs
    assert release.certificate.stages == ("largest distance", "function")
    one = release["a"].distance
    width = release.neighbours.differences(one.largest) + 1
    part = Fraction(width, min(one.noise.scales))
    assert first.guarantee.epsilon * (1 - Fraction(1, 10**6)) < part <= first.guarantee.epsilon
    assert within(compose([first.guarantee, last.guarantee]), budget)
    assert all(within(mean.certificate.achieved, budget) for mean in release.means.values())
    assert max(ledger.remaining("homes").values) < Fraction(1, 100)


def test_bands_hold_what_no_cell_shows() -> None:
    curves, labels = made(200, spike=0.6)
    means = means_of(curves, labels)
    held = {"measured": 0, "assumed": 0, "means": 0}
    for _ in range(50):
        release = PrivateComparison(1, bounds=(0, 1)).fit(curves, labels).release_
        gap = release.difference("a", "c")
        grid = release.grid_points
        bare = [dataclasses.replace(each, distance=None) for each in (gap.first, gap.second)]
        without = dataclasses.replace(gap, first=bare[0], second=bare[1])
        truth = means["a"] - means["c"]
        for name, each in (("measured", gap), ("assumed", without)):
            band = each.band(0.95, points=grid)
            held[name] += bool(np.all((band.lower <= truth) & (truth <= band.upper)))
        band = release["a"].band(0.95, points=grid)
        held["means"] += bool(np.all((band.lower <= means["a"]) & (means["a"] <= band.upper)))
    # At .95 fewer than 38 of 50 have a chance below 1e-6.
    assert min(held["measured"], held["means"]) >= 38
    assert held["assumed"] < 10
    assert "whatever the curves are" in " ".join(release.describe().split())
    assert gap.facts.bands[0].claim.among == ""


def test_it_comes_back_from_a_file_and_another_scale_is_refused(tmp_path: Any) -> None:
    curves, labels = made()
    release = PrivateComparison(1, bounds=(0, 1), domain=Domain(GRID)).fit(curves, labels).release_
    release.save(tmp_path / "groups.json")
    again = load(tmp_path / "groups.json")
    assert again["b"].distance == release["b"].distance
    bands = [each.difference("a", "b").band(0.95) for each in (release, again)]
    assert np.array_equal(bands[0].upper, bands[1].upper)
    written = release.to_json()
    noise = written["groups"][1]["mean"]["distance"]["noise"]
    noise["scales"] = [round(scale / 2**0.5) for scale in noise["scales"]]
    with pytest.raises(Exception, match=r"release|noise"):
        type(release).from_json(written)


def test_where_it_is_measured() -> None:
    curves, labels = made()
    groups = dict(zip(NAMES, SIZES, strict=True))
    domain = Domain(GRID)
    plan = PrivateComparison(1, bounds=(0, 1), domain=domain).plan(groups, GRID)
    assert plan.costs().keys() == {"largest distance", "function"}
    # For the smallest group.
    assert {part.distance_share for part in plan.parts.values()} == {Fraction(1, 10)}
    assert plan.at(300).costs().keys() == {"release"}
    private = PrivacyUnit(neighbours="add-remove")
    for other in ({"mechanism": "knorm"}, {"unit": private}):
        asked: Any = {"bounds": (0, 1), "levels": NAMES, "domain": domain, **other}
        made_so = PrivateComparison(1, **asked).fit(curves, labels).release_
        assert all(mean.distance is None for mean in made_so.means.values())
    pool = PrivateComparison(1, bounds=(0, 1), levels=NAMES, domain=domain).pooled_on(curves)
    assert pool.sharing.plan.costs().keys() == {"release"}
    whole = pool.publish(pool.total(curves, y=labels))
    assert whole["a"].distance is not None


def test_expected_half_widths_are_those_of_releases() -> None:
    curves, labels = made()
    comparison = PrivateComparison(1, bounds=(0, 1), domain=Domain(GRID))
    told = comparison.plan(dict(zip(NAMES, SIZES, strict=True)), GRID).outlook_width(0.95)
    found = []
    for _ in range(20):
        band = comparison.fit(curves, labels).release_["a"].band(0.95)
        found.append(np.mean(band.upper - band.lower) / 2)
    assert 0.6 < np.median(found) / told.typical < 1.6


def test_all_groups_pay_for_one_measurement() -> None:
    """At the least budget for it, where floats may be rounded another way for every size."""
    plan = PrivateComparison(0.064, bounds=(0, 1)).plan({"a": 3125, "b": 4007}, 40)
    assert {part.distance_share for part in plan.parts.values()} == {Fraction(1, 10)}
    parts = list(plan.parts.values())
    alone = parts[1].line_alone
    wider = dataclasses.replace(parts[1], bound=ValueBounds(0, 2))
    ledger = MemoryLedger().create("homes", plan.guarantee, plan.neighbours)
    for other in (alone, wider):
        pairs = [(Summation.of(part).empty(), part) for part in (parts[0], other)]
        with pytest.raises(ParameterError, match="distances"):
            publish_parallel(pairs, {}, read_ledger(ledger.of("homes")))
    assert ledger.remaining("homes").values == (plan.guarantee.epsilon,)


@pytest.mark.parametrize(
    ("name", "value"),
    [("sizes", [200_000, 300_000, 500_000]), ("sizes", [200, 300, 50_000]), ("place", 2)],
)
def test_sizes_and_places_of_groups_are_not_believed(name: str, value: Any) -> None:
    curves, labels = made()
    release = PrivateComparison(1, bounds=(0, 1), domain=Domain(GRID)).fit(curves, labels).release_
    written = release.to_json()
    for group in written["groups"]:
        group["mean"]["distance"][name] = value
    with pytest.raises(Exception, match="group"):
        type(release).from_json(written)
    if value != [200, 300, 50_000]:
        with pytest.raises(Exception, match="group's size"):
            type(release["a"]).from_json(written["groups"][0]["mean"])


def test_groups_of_a_file_have_one_measurement() -> None:
    curves, labels = made()
    release = PrivateComparison(1, bounds=(0, 1), domain=Domain(GRID)).fit(curves, labels).release_
    for name in ("noisy", "apart"):
        written = release.to_json()
        written["groups"][1]["mean"]["distance"][name] += 1
        with pytest.raises(Exception, match="one measurement"):
            type(release).from_json(written)


def test_groups_too_few_for_it_say_first_what_their_bands_assume() -> None:
    curves = np.tile(0.5 + 0.3 * np.sin(12 * np.pi * np.linspace(0, 1, 48)), (100, 1))
    release = PrivateComparison(1, bounds=(0, 1)).fit(curves, ["a", "b"] * 50).release_
    cells = len(release["a"].hierarchy.cells)  # type: ignore[union-attr, arg-type]
    assert 1 < cells < 48
    band = release["a"].band(0.95, points=release.grid_points)
    assert not np.all((band.lower <= curves[0]) & (curves[0] <= band.upper))
    said = f"no detail finer than one of {cells} cells"
    for each in (release, release.difference("a", "b")):
        assert said in each.facts.stated.first[0]
        assert said in " ".join(each.describe().split())
    measured = PrivateComparison(4, bounds=(0, 1)).fit(curves, ["a", "b"] * 50).release_
    assert "no detail finer" not in measured.describe()


@pytest.fixture(scope="module")
def small_groups() -> Any:
    """Releases of two groups that are too small for numbers of all, whose mean no cell shows."""
    curves = np.tile(0.5 + 0.3 * np.sin(12 * np.pi * np.linspace(0, 1, 48)), (220, 1))
    curves[::2] += 0.1
    groups = np.array(["a", "b"] * 110)
    made = PrivateComparison(1, bounds=(0, 1), unit="home")
    return curves, [made.fit(curves, groups).release_ for _ in range(150)]


def test_small_groups_tell_by_sides_of_their_own_boxes(small_groups: Any) -> None:
    curves, releases = small_groups
    plan = PrivateComparison(1, bounds=(0, 1)).plan({"a": 110, "b": 110}, 48)
    held = {"a": 0, "b": 0, "difference": 0}
    for release in releases:
        assert release.certificate.stages == ("release",)
        assert 1 - Fraction(1, 10**6) < release.certificate.achieved.epsilon <= 1
        for name in "ab":
            line, told = release[name], plan.parts[name].distance
            assert line.distance.noise == told.law
            # One box for both: the sums of the cells and one side more.
            assert line.noise.whole == line.distance.noise.whole == len(line.noisy_sum) + 1
            band = line.band(0.95, points=line.grid_points)
            mean = curves["ab".index(name)]
            held[name] += bool(np.all((band.lower <= mean) & (mean <= band.upper)))
        apart = release.difference("a", "b")
        band = apart.band(0.95, points=release.grid_points)
        held["difference"] += bool(np.all((band.lower <= 0.1 + 1e-9) & (band.upper >= 0.1 - 1e-9)))
        assert "whatever the curves are" in str(apart.facts)
    # At .95 fewer than 128 of 150 have a chance below 1e-6.
    assert min(held.values()) >= 128


def test_the_noise_on_distances_of_small_groups_is_that_of_their_boxes(small_groups: Any) -> None:
    curves, releases = small_groups
    found = []
    for release in releases:
        for place, name in enumerate("ab"):
            line = release[name]
            apart = np.max(np.abs(line(line.grid_points) - curves[place]))
            told = line.distance.noisy / line.count / (2 * line.distance.largest)
            # In scales of the box: the sum's noise over cells has the same length R.
            found.append((told - apart) * line.count)
    sides = releases[0]["a"].noise.whole
    # Of R U: E |R U| = (D + 1) / 2, E (R U)^2 = (D + 1) (D + 2) / 3.
    mean, square = (sides + 1) / 2, (sides + 1) * (sides + 2) / 3

    def p_value(draws: Any) -> float:
        off = (np.mean(np.abs(draws)) - mean) / np.sqrt((square - mean**2) / len(draws))
        return float(2 * stats.norm.sf(abs(off)))

    found = np.array(found)
    assert p_value(found) > FALSE_ALARM
    assert min(np.mean(found > 0), np.mean(found < 0)) > 0.25
    assert p_value(found * 2**0.5) < SEEN
    assert p_value(found / 2**0.5) < SEEN


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize(
    "parts", [((1.0, 5, 1), (1.0, 5, 1)), ((1.0, 5, 1), (0.4, 9, 3)), ((1.0, 42, 2), (1.0, 42, 2))]
)
def test_the_reach_of_two_sides_is_that_of_their_sum(level: float, parts: Any) -> None:
    law = np.random.default_rng(1)
    draws = sum(
        -weight * law.gamma(sides + 1, size=400_000) * law.uniform(-1, 1, (count, 400_000)).min(axis=0)
        for weight, sides, count in parts
    )
    reach = two_sides_quantile(parts, level)
    # A standard error of the share is at most .0005; two steps of 1/128 of the reach are rounded up.
    assert level - 0.0025 < np.mean(draws < reach) < level + 0.0075


def test_distances_of_small_groups_come_back_from_a_file(small_groups: Any, tmp_path: Any) -> None:
    release = small_groups[1][0]
    release.save(tmp_path / "groups.json")
    again = load(tmp_path / "groups.json")
    assert [again[name].distance for name in "ab"] == [release[name].distance for name in "ab"]
    bands = [each.difference("a", "b").band() for each in (again, release)]
    assert np.array_equal(bands[0].lower, bands[1].lower)


def test_many_groups_tell_by_their_own_boxes_and_few_large_ones_by_two_numbers() -> None:
    compare = PrivateComparison(1, bounds=(0, 1))
    for groups, size, own in ((3, 300, False), (4, 300, True), (4, 900, False), (8, 900, True)):
        plan = compare.plan({str(name): size + name for name in range(groups)}, 200)
        assert {part.distance.in_box for part in plan.parts.values()} == {own}
        assert (plan.costs().keys() == {"release"}) == own


def test_bands_of_many_groups_hold_what_no_cell_shows_and_are_narrower_than_of_all_together() -> None:
    sizes = [300, 400, 300, 500, 300, 300]
    cycle = np.tile(0.5 + 0.3 * np.sin(12 * np.pi * np.linspace(0, 1, 48)), (sum(sizes), 1))
    labels = np.repeat([str(name) for name in range(6)], sizes)
    curves = cycle + 0.02 * labels.astype(int)[:, None]
    compare, held = PrivateComparison(1, bounds=(0, 1)), 0
    for _ in range(40):
        release = compare.fit(curves, labels).release_
        assert 1 - Fraction(1, 10**6) < release.certificate.achieved.epsilon <= 1
        for name, mean in release.means.items():
            band = mean.band(0.95, points=mean.grid_points)
            true = curves[np.flatnonzero(labels == name)[0]]
            held += bool(np.all((band.lower <= true + 1e-9) & (true <= band.upper + 1e-9)))
    # 240 groups, each by itself: at .95 fewer have a chance below 1e-6.
    assert held >= stats.binom.ppf(1e-6, 240, 0.95)
    plan = compare.plan(dict.fromkeys(map(str, range(6)), 300), 48)
    together = box_quantile(1 / 6, 5 / 6, 0.95) / (0.1 * 600)
    one = plan.parts["0"]
    alone = side_quantile(one.public_design.noise.whole, one.distance.law.components, 0.95) / 600
    assert alone < 0.6 * together
