"""The largest distance of a line where the number of units is private or records have weights.

Statistical assertions raise a false alarm with chance at most 1e-6 each.
"""

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpfda import Domain, PrivacyUnit, PrivateMean, PrivateVectorMean, Reading, load
from dpfda.errors import DpfdaError
from dpfda.mean.streams import MeanStream
from dpfda.mean.variants import weighted_sum
from dpfda.mechanisms import COUNT_SCALE
from dpfda.noise import BoxNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import Neighbours, PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication import publish
from dpfda.publication.distances import DistanceNoise, farthest, largest_of_counted
from dpfda.records.weights import Weights
from dpfda.releases.distance import CountedDistance, side_quantile
from dpfda.releases.function import ReleasedFunction
from dpfda.spine.sums import Readable
from dpfda.testing import check_release, exact_totals
from statistical import FALSE_ALARM, SEEN

GRID = np.linspace(0, 1, 40)
CURVES = np.clip(0.6 + 0.3 * np.sin(5 * GRID) + np.linspace(-0.2, 0.2, 300)[:, None], 0, 1)
WEIGHTS = np.linspace(0, 6, 300)
PRIVATE = PrivacyUnit("home", neighbours="add-remove")
ROADS = {
    "private": (PRIVATE, None),
    "weights": ("home", Weights(WEIGHTS, 5)),
    "both": (PRIVATE, Weights(WEIGHTS, 5)),
}


def fitted(road: str, curves: Any = CURVES, epsilon: Any = 1, **more: Any) -> Any:
    unit, weights = ROADS[road]
    mean = PrivateMean(epsilon, bounds=(0, 1), domain=Domain(GRID), unit=unit, **more)
    return mean.fit(curves, weights=weights).release_


def shares(road: str) -> Any:
    return np.ones(300) if road == "private" else np.minimum(WEIGHTS, 5) / 5


def truth(road: str, curves: Any = CURVES) -> Any:
    return shares(road) @ curves / shares(road).sum()


# One unit: what it adds, and by how much it moves what is measured.

units = st.integers(1, 5).flatmap(
    lambda points: (
        st.lists(st.integers(0, 9), min_size=points, max_size=points)
        .filter(any)
        .flatmap(
            lambda halves: st.tuples(
                st.just(halves),
                st.tuples(*(st.integers(-half, half) for half in halves)),
                st.lists(
                    st.tuples(
                        st.tuples(*(st.integers(-half, half) for half in halves)),
                        st.integers(0, COUNT_SCALE),
                    ),
                    min_size=2,
                    max_size=5,
                ),
            )
        )
    )
)


@given(units)
@settings(max_examples=400, deadline=None)
def test_one_unit_moves_it_by_no_more_than_the_bounds_distance(case: Any) -> None:
    halves, line, records = case
    # As weighted sums add them: times the weight, rounded toward zero.
    rows = [
        (*(math.trunc(Fraction(x * weight, COUNT_SCALE)) for x in curve), weight)
        for curve, weight in records
    ]

    def of(some: Any, neighbours: Neighbours) -> int:
        most = farthest(list(line), halves, neighbours)
        return largest_of_counted([[sum(column) for column in zip(*some, strict=True)]], (
            list(line), halves, most,
        ))  # fmt: skip

    for neighbours, other in (
        (Neighbours.ADD_REMOVE, rows[1:]),
        (Neighbours.REPLACE_ONE, [rows[-1], *rows[1:]]),
    ):
        assert abs(of(rows, neighbours) - of(other, neighbours)) <= 2 * max(halves)


def test_a_unit_can_move_it_so_far() -> None:
    # From bound to bound; and added at the one, where the line lies on the other or in the middle.
    halves, replaced, added = [8, 2], Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE
    assert farthest([-8, 0], halves, replaced) == 16
    for line, far in (([-8, -2], 16), ([0, 0], 8), ([4, 0], 12), ([0, 1], 12)):
        assert farthest(line, halves, added) == far
    public = [-8, 2], halves, farthest([-8, 2], halves, added)
    ones = [[-8, 2, COUNT_SCALE], [8, 2, COUNT_SCALE]]
    assert largest_of_counted([ones[0]], public) == 0
    assert largest_of_counted([ones[1]], public) == 16
    middle = [0, 0], halves, farthest([0, 0], halves, added)
    assert largest_of_counted([[0, 0, 0]], middle) == 0
    assert largest_of_counted([[8, 0, COUNT_SCALE]], middle) == 16


@pytest.mark.parametrize("weight", [0.0, 1e-9, 0.3, 1 / 3, 4.999, 5.0, 9.0, np.inf, np.nan, -1.0])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (1e12, 1e12 + 1e-3), (0.0, 1e-80)], ids=str)
def test_weighted_integers_are_no_farther_from_the_middle_than_their_weight(
    weight: float, bounds: Any
) -> None:
    # What moves sums and count together rests on it: |s_t| <= v h_t for each record, exactly.
    mean = PrivateMean(1, bounds=bounds, domain=Domain(GRID), reading=Reading(invalid="repair"))
    plan = mean.plan(100, GRID)
    half = plan.on_grid.rule.half_widths.astype(int).tolist()
    random = np.random.default_rng(0)
    for values in (*np.broadcast_to(np.array(bounds)[:, None], (2, 40)), random.normal(0.5, 9, 40)):
        made = weighted_sum(plan, Readable(values[None, :]), Weights([weight], 5)).total
        count = made.count_with_noise(0, COUNT_SCALE)
        assert 0 <= count <= COUNT_SCALE
        sums = exact_totals(made)
        assert all(abs(s) * COUNT_SCALE <= count * h for s, h in zip(sums, half, strict=True))


# The law of the noise, and what was paid.


@pytest.fixture(scope="module", params=ROADS)
def noise_in_scales(request: pytest.FixtureRequest) -> Any:
    """Of 300 fits: noise of sums, of the count and of the numbers, in scales; and sides of the box."""
    road, rows = request.param, []
    own = truth(road)
    for _ in range(300):
        release = fitted(road)
        distance, cells = release.distance, release.hierarchy.cells
        assert isinstance(distance, CountedDistance)
        size, half = float(shares(road).sum()), distance.largest
        line = 2 * release(GRID) - 1
        far = 2.0 if road == "weights" else 1 + np.max(np.abs(line))
        assert distance.most == pytest.approx(far * half, rel=1e-6)
        # 2 h / most of the distance that it is in sums.
        apart = 2 * half * size * np.max(np.abs(release(GRID) - own)) * 2 / far
        starts = np.cumsum((0, *cells[:-1]))
        sums = np.add.reduceat((own - 0.5) * 2 * half * size, starts)
        noisy = [*release.noisy_sum, release.divisor.noisy, *distance.numbers]
        exact = [*sums, size * COUNT_SCALE, *[apart] * len(distance.numbers)]
        scales = [*release.noise.scales, *distance.noise.scales]
        assert len(scales) == release.noise.whole == distance.noise.whole
        rows.append((np.array(noisy, dtype=float) - exact) / scales)
    return rows


def as_uniform(draw: Any, place: int, factor: float = 1.0) -> float:
    """One side of a box, R U, by its distribution function: boxes of several sizes alike."""
    x, sides = np.abs(draw[place]) * factor, len(draw)
    tail = stats.gamma.sf(x, sides + 1) - x / sides * stats.gamma.sf(x, sides)
    return float(1 - tail)


@pytest.mark.parametrize("place", [0, -2, -1])
def test_each_side_has_the_noise_that_it_should(noise_in_scales: Any, place: int) -> None:
    # A sum over a cell, the count, and the number that tells the distance.
    made = {
        factor: stats.kstest([as_uniform(draw, place, factor) for draw in noise_in_scales], "uniform")
        for factor in (1.0, 2**0.5, 0.5**0.5)
    }
    assert made[1.0].pvalue > FALSE_ALARM
    assert made[2**0.5].pvalue < SEEN
    assert made[0.5**0.5].pvalue < SEEN


def test_one_box_hides_sums_count_and_distance(noise_in_scales: Any) -> None:
    # The norm of all sides: with lengths of their own, for two parts, it would have another law.
    farthest_side = [stats.gamma.cdf(np.max(np.abs(draw)), len(draw)) for draw in noise_in_scales]
    assert stats.kstest(farthest_side, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("road", ROADS)
def test_a_tenth_and_the_rest_are_the_budget_at_one_charge(road: str) -> None:
    added = "add-remove" if road != "weights" else "replace-one"
    ledger = MemoryLedger().create("homes", PureDP(1), added)
    release = fitted(road, ledger=ledger.of("homes"))
    assert release.certificate.stages == ("count", "function")
    assert ledger.remaining("homes").values == (0,)
    rest, distance = Fraction(9, 10), release.distance
    # By the integer scales in force: no more than was paid for, and all but rounding.
    for part in (
        Fraction(2 * distance.largest + 1, distance.scale),
        Fraction(COUNT_SCALE, release.noise.scales[-1]),
    ):
        assert rest * (1 - Fraction(1, 10**6)) < part <= rest
    assert 1 - Fraction(1, 10**6) < release.certificate.achieved.epsilon <= 1


def test_noise_that_is_too_small_is_refused_before_it_is_drawn(monkeypatch: Any) -> None:
    made = DistanceNoise.of_box.__func__  # type: ignore[attr-defined]

    def cut(cls: Any, *parts: Any) -> Any:
        told = made(cls, *parts)
        less = tuple(round(scale / 2**0.5) for scale in told.law.scales)
        return dataclasses.replace(told, law=dataclasses.replace(told.law, scales=less))

    monkeypatch.setattr(DistanceNoise, "of_box", classmethod(cut))
    # What one unit is designed for is checked before the charge; here it has a distance already.
    with pytest.raises(DpfdaError, match="which is more than"):
        fitted("private", epsilon=100)


@pytest.mark.parametrize("road", ROADS)
def test_outputs_are_about_as_likely_of_neighbours_wherever_the_line_is(road: str) -> None:
    # The density of sums y, a count n, a number d: that of noise at (y - S, n - N, d - D(S, N, line)).
    random, halves, epsilon, found = np.random.default_rng(8), [2**20, 2**18], 0.7, []
    replaced = road == "weights"
    neighbours = Neighbours.REPLACE_ONE if replaced else Neighbours.ADD_REMOVE
    widths = [neighbours.differences(half) for half in halves] + [COUNT_SCALE, 2 * max(halves) + 1]
    law = BoxNoise(tuple(math.ceil(width / epsilon) for width in widths))

    def unit(at: Any) -> list[int]:
        weight = COUNT_SCALE if road == "private" else int(random.choice([0, 1, 2**19, COUNT_SCALE]))
        return [*(int(x) * weight // COUNT_SCALE for x in at), weight]

    rows = [unit([random.integers(-half, half + 1) for half in halves]) for _ in range(30)]

    def log_density(some: Any, noisy: Any, told: float, line: list[int]) -> float:
        sums = np.sum(some, axis=0)
        most = farthest(line, halves, neighbours)
        apart = largest_of_counted([list(map(int, sums))], (line, halves, most))
        return float(law.log_density(np.array([[*(noisy - sums), told - apart]]))[0])

    for _ in range(300):
        corner = unit(random.choice([-1, 1], 2) * halves)
        other = [corner, *rows[1:]] if replaced else [*rows, corner]
        noise = law.simulate(random, 1)[0]
        noisy = np.sum(rows, axis=0) + noise[:3]
        # Any line that follows from what is noisy.
        line = [
            int(np.clip(1.3 * x / max(1, noisy[2] / COUNT_SCALE), -half, half))
            for x, half in zip(noisy, halves, strict=False)
        ]
        output = noisy, noise[3] + 10**5, line
        found.append(abs(log_density(rows, *output) - log_density(other, *output)))
    assert 0.5 * epsilon < max(found) <= epsilon


# What it says.


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("ratio", [0.0, 0.05, 0.3, 1.0])
def test_a_ratio_is_beyond_what_is_said_no_more_often_than_a_number(count: int, ratio: float) -> None:
    """r U - min_i U_i is above (1 + r) x / R with no more than the chance for r = 0: see the proof."""
    random, sides = np.random.default_rng(5), 13 + count
    lengths = random.gamma(sides + 1.0, size=200_000)
    least = lengths * random.uniform(-1, 1, (200_000, count)).min(axis=1)
    other = lengths * random.uniform(-1, 1, 200_000)
    for level in (0.9, 0.95, 0.99):
        far = side_quantile(sides, count, level)
        missed = int(np.sum(ratio * other - least > (1 + ratio) * far))
        assert stats.binom.sf(missed - 1, 200_000, 1 - level) > FALSE_ALARM
        if ratio == 0.0:
            assert stats.binom.cdf(missed, 200_000, 1 - level) > FALSE_ALARM


@pytest.mark.parametrize("road", ROADS)
def test_band_holds_what_no_cell_shows(road: str) -> None:
    curves, (unit, weights) = np.full((300, 200), 0.3), ROADS[road]
    curves[:, 77] = 0.95
    held, mean = {"measured": 0, "assumed": 0}, PrivateMean(1, bounds=(0, 1), unit=unit)
    for _ in range(40):
        release = mean.fit(curves, weights=weights).release_
        without = dataclasses.replace(release, distance=None)
        for name, made in (("measured", release), ("assumed", without)):
            band = made.band(0.95, points=release.grid_points)
            held[name] += bool(np.all((band.lower <= curves[0]) & (curves[0] <= band.upper)))
    # At .95 fewer than 29 of 40 have a chance below 1e-6.
    assert held["measured"] >= 29
    assert held["assumed"] < 10
    assert "whatever the curves are" in " ".join(release.describe().split())


def test_a_number_that_may_be_nothing_leaves_all_open() -> None:
    release = fitted("private")
    divisor = dataclasses.replace(release.divisor, noisy=COUNT_SCALE)
    nothing = dataclasses.replace(release, divisor=divisor)
    assert release.distance.at_most(0.95, release.divisor) < 0.5
    assert nothing.distance.at_most(0.95, nothing.divisor) == 1.0
    band = nothing.band(0.95, points=GRID)
    assert np.all(band.lower == 0)
    assert np.all(band.upper == 1)


def test_the_number_is_taken_for_as_small_as_its_noise_may_have_made_it() -> None:
    release = fitted("private", epsilon=4)
    distance, divisor = release.distance, release.divisor
    far = side_quantile(distance.noise.whole, len(distance.numbers), 0.95)
    told = (min(distance.numbers) + distance.scale * far) * distance.most / (2 * distance.largest)
    least = (divisor.noisy - divisor.noise.scales[-1] * far) / COUNT_SCALE
    said = distance.at_most(0.95, divisor)
    assert said == pytest.approx(told / least / (2 * distance.largest), rel=1e-6)
    assert distance.at_least(0.95, divisor) <= np.max(np.abs(release(GRID) - truth("private"))) <= said


@pytest.mark.parametrize("road", ["private", "weights"])
def test_expected_half_widths_are_those_of_releases(road: str) -> None:
    unit, weights = ROADS[road]
    mean = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID), unit=unit)
    most = None if weights is None else 5
    plan = mean.plan(round(shares(road).sum()), GRID, max_weight=most)
    assert plan.at(n=40).planned.noise.components == plan.at(n=40).planned.components + 1
    found = []
    for _ in range(12):
        band = mean.fit(CURVES, weights=weights).release_.band(0.95)
        found.append(np.mean(band.upper - band.lower) / 2)
    assert 0.6 < np.median(found) / plan.outlook_width(0.95).typical < 1.6


# Files and roads.


@pytest.mark.parametrize("road", ROADS)
def test_it_comes_back_from_a_file(tmp_path: Any, road: str) -> None:
    made = fitted(road)
    again = load(made.save(tmp_path / "mean.json"))
    assert again.distance == made.distance
    assert np.array_equal(again.band(0.95).upper, made.band(0.95).upper)
    check_release(made)


@pytest.mark.parametrize(
    "changed",
    [
        lambda written: written["distance"].update(largest=written["distance"]["largest"] // 2),
        lambda written: written["distance"].update(most=written["distance"]["largest"] // 2),
        lambda written: written["distance"]["noise"].update(
            scales=[round(scale / 2**0.5) for scale in written["distance"]["noise"]["scales"]]
        ),
        lambda written: written["distance"]["noise"].update(whole=30),
        # As if the number were public, or were told of one that is.
        lambda written: written["distance"].pop("most"),
        lambda written: written.update(divisor={"kind": "public", "value": 300.0}),
    ],
)
def test_a_file_with_another_width_or_scale_is_refused(changed: Any) -> None:
    release = fitted("private")
    written = release.to_json()
    assert ReleasedFunction.from_json(written).distance == release.distance
    changed(written)
    with pytest.raises(Exception, match=r"release|units|noise|box|number|distance"):
        ReleasedFunction.from_json(written)


@pytest.mark.parametrize("bounds", [(0, 1), (1e9 - GRID**3 - 1e-5, 1e9 + GRID), (-1, 1.001 - GRID)])
@pytest.mark.parametrize("road", ROADS)
def test_a_file_says_how_far_a_unit_moves_it_as_the_line_does(road: str, bounds: Any) -> None:
    unit, weights = ROADS[road]
    mean = PrivateMean(1, bounds=bounds, domain=Domain(GRID), unit=unit)
    written = mean.fit(CURVES, weights=weights).release_.to_json()
    assert ReleasedFunction.from_json(written).to_json() == written
    # Less by a hundredth, the band would be narrower by as much.
    for factor in (0.99, 1.01):
        changed = written["distance"] | {"most": round(written["distance"]["most"] * factor)}
        with pytest.raises(ValueError, match=r"than the line says|be below|between|at most"):
            ReleasedFunction.from_json(written | {"distance": changed})


def test_roads_on_which_it_is_measured() -> None:
    mean = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID), unit=PRIVATE)
    blocks = mean.fit_blocks(iter([CURVES[:100], CURVES[100:]])).release_
    stream = MeanStream(mean.plan(300)).add(CURVES).release()
    pool = mean.pooled(300)
    joined = pool.publish(pool.total(CURVES))
    for release in (blocks, stream, joined):
        assert isinstance(release.distance, CountedDistance)
    # Few units tell too little, and a name of one look has all of the budget in its line.
    assert fitted("private", CURVES[:20]).distance is None
    assert fitted("private", mechanism="one-look").distance is None
    # Noise of another law, which a delta calls for, has no sides.
    assert PrivateMean(1, 0.1, bounds=(0, 1), unit=PRIVATE).fit(CURVES).release_.distance is None


def test_totals_of_masked_parts_are_folded_before_they_are_compared() -> None:
    total, modulus = [7, -3], 2**200
    masked = IntegerSum.modulo([each % modulus for each in total], 5, modulus)
    plain = IntegerSum.of(total).counted_as(5, 1)
    made = [
        exact_totals(IntegerSum.one_number([each], lambda found: sum(found[0]), counts=COUNT_SCALE))
        for each in (masked, plain)
    ]
    assert made[0] == made[1] == (4 + 5 * COUNT_SCALE,)


def test_several_values_of_a_private_number_have_a_distance_each() -> None:
    curves = np.stack([CURVES, 1 - CURVES], axis=2)
    mean = PrivateVectorMean(2, bounds=(0, 1), channels=["x", "y"], unit=PRIVATE)
    held = 0
    for _ in range(20):
        release = mean.fit(curves).release_
        assert all(isinstance(own.distance, CountedDistance) for own in release.means.values())
        bands = release.bands(0.95, points=np.linspace(0, 1, 40))
        held += all(
            np.all((bands[name].lower <= own) & (own <= bands[name].upper))
            for name, own in zip("xy", (truth("private"), 1 - truth("private")), strict=True)
        )
    # At .95 fewer than 13 of 20 have a chance below 1e-6.
    assert held >= 13


def test_a_prepared_sum_is_that_of_the_line_alone() -> None:
    mean = PrivateMean(1, bounds=(0, 1), domain=Domain(GRID), unit=PRIVATE)
    ready = mean.prepare(CURVES)
    assert publish(ready.total, ready.plan).distance is None
