"""Quantiles: the exact law of the draw, what it is calibrated to by brute force, and the release."""

import itertools
import json
import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpfda import Domain, PrivacyUnit, PrivateQuantiles, load
from dpfda.density.quantiles_design import (
    DENOMINATOR,
    PART_BITS,
    PublicPoints,
    QuantileLaw,
    dense_bound,
    rank_bound,
    spreads,
)
from dpfda.density.quantiles_release import ReleasedQuantiles
from dpfda.errors import BudgetError, DataError, ParameterError, StorageError
from dpfda.noise.shares import EXPONENT, UNIT
from dpfda.numerics.chains import Chain, Window, exponentials, ordered
from dpfda.numerics.exactness import below
from dpfda.privacy.guarantees import Neighbours, PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records.points import ranked
from statistical import FALSE_ALARM
from test_cli_verbs import run

REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE
MEDIAN = (DENOMINATOR // 2,)


# The draw, in integers.


def seeded_bits(seed: int):
    generator = np.random.default_rng(seed)
    return lambda bits: int.from_bytes(generator.bytes(-(-bits // 8)), "big") >> (-bits % 8)


@given(st.integers(-40, 40), st.integers(0, 90), st.lists(st.integers(0, 5), max_size=6))
def test_exponentials_are_those_rounded_down(first: int, bits: int, steps: list[int]) -> None:
    numbers = [first, *(first + sum(steps[: k + 1]) for k in range(len(steps)))]
    rate = Fraction(2, 7)
    with localcontext() as context:
        context.prec = 120
        exact = [(Decimal(2 * x) / 7).exp() * 2**bits for x in numbers]
        assert exponentials(rate, numbers, bits) == [int(value) for value in exact]


def made_chain(count: int) -> Chain:
    """Small windows: the last of three leaves out the runs at both ends."""
    starts, lengths, numbers = [0, 2, 3, 5], [2, 1, 2, 1], [-4, -1, 0, 2]
    windows = [Window(starts, lengths, [x - i for x in numbers]) for i in range(count)]
    if count == 3:
        windows[2] = Window(starts[1:3], lengths[1:3], numbers[1:3])
    return Chain(windows, 6, Fraction(1, 3), 40, 1 << (80 * (count + 1) - 6))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_sums_of_weights_are_those_of_all_ordered_places(count: int) -> None:
    chain = made_chain(count)
    every = [*itertools.combinations_with_replacement(range(6), count)]
    assert chain.total == sum(chain.weight(places) for places in every)
    drawn = [chain.draw(seeded_bits(seed)) for seed in range(4000)]
    observed = [drawn.count(places) for places in every]
    expected = [len(drawn) * chain.weight(places) / chain.total for places in every]
    assert sum(observed) == len(drawn)
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM


def test_weights_are_exponentials_of_the_changes_along_the_places() -> None:
    chain = made_chain(2)
    for places, change in (((0, 0), 4 + 1 + 5), ((2, 4), 1 + 0 + 1), ((0, 5), 4 + 5 + 1)):
        inside = (chain.weight(places) - chain.floor) / (1 << 240)
        assert inside == pytest.approx(math.exp(-change / 3), rel=1e-9)


def test_ordered_places_are_drawn_evenly() -> None:
    every = [*itertools.combinations_with_replacement(range(4), 3)]
    drawn = [tuple(ordered(3, 4, seeded_bits(seed))) for seed in range(4000)]
    assert stats.chisquare([drawn.count(places) for places in every]).pvalue > FALSE_ALARM
    assert ordered(3, 1) == [0, 0, 0]


def test_integers_below_a_bound_are_uniform() -> None:
    bits = seeded_bits(1)
    drawn = np.bincount([below(5, bits) for _ in range(5000)], minlength=5)
    assert drawn.size == 5
    assert stats.chisquare(drawn).pvalue > FALSE_ALARM
    assert below(1) == 0


# What it is calibrated to: all losses between neighbours, by brute force.


def losses(law: QuantileLaw, first, second, units: int | None) -> list[float]:
    """Logarithms of quotients of probabilities, at every kind of place that both laws tell apart."""
    chains = [law.chain(*data, units) for data in (first, second)]
    ends = sorted({0, *(int(p) for data in (first, second) for p in data[0])})
    totals = math.log(Fraction(chains[1].total, chains[0].total))
    return [
        math.log(Fraction(chains[0].weight(o), chains[1].weight(o))) + totals
        for o in itertools.combinations_with_replacement(ends, len(law.levels))
    ]


def units_at(places: list[list[int]]):
    """Ranked points of units, given by the places of their points."""
    flat = np.array([place for unit in places for place in unit], dtype=np.int64)
    codes = np.array([i for i, unit in enumerate(places) for _ in unit], dtype=np.int64)
    return ranked(flat << PART_BITS, np.ones(flat.size, dtype=bool), codes, EXPONENT)


unit_points = st.lists(st.integers(0, 7), min_size=1, max_size=3)
levels_of = st.sampled_from([(0.5,), (0.1,), (0.25, 0.75), (0.2, 0.3, 0.9)])


@settings(max_examples=60)
@given(st.lists(unit_points, min_size=2, max_size=5), unit_points, levels_of, st.sampled_from([0.3, 2]))
def test_no_unit_moves_a_probability_by_more_than_epsilon(
    units: list[list[int]], other: list[int], levels: tuple[float, ...], epsilon: float
) -> None:
    steps = tuple(round(level * DENOMINATOR) for level in levels)
    one, two, without = (units_at([own, *units[1:]]) for own in (units[0], other, []))
    pairs = [
        (REPLACE, one, two, len(units)),
        # Where points may be left out how many count is not public, and moves with the unit.
        *((REPLACE, *pair, None) for pair in itertools.permutations((one, two, without), 2)),
        (ADD, one, units_at([*units, other]), None),
    ]
    for neighbours, first, second, count in pairs:
        law = QuantileLaw(steps, 8, Fraction(epsilon), neighbours)
        found = losses(law, first, second, count)
        # In doubles; the proof leaves 2^-40 of epsilon for what is rounded.
        assert max(found) - min(found) <= epsilon * (1 + 1e-12)
        assert max(map(abs, found)) <= epsilon * (1 + 1e-12)


def test_one_unit_moves_probabilities_by_epsilon() -> None:
    """So that a rate that is too small fails, as one that is too large does above."""
    law = QuantileLaw(MEDIAN, 8, Fraction(1), REPLACE)
    # One goes from one end to the other: shares fall below the median, which is worse, and above it.
    found = losses(law, units_at([[0]] + [[3]] * 4), units_at([[7]] + [[3]] * 4), 5)
    assert max(found) - min(found) == pytest.approx(1, rel=1e-6)
    # One comes in: the median is farther from the first place, and nearer to the next ones.
    law = QuantileLaw(MEDIAN, 8, Fraction(1), ADD)
    found = losses(law, units_at([[5]] * 4), units_at([[5]] * 4 + [[2]]), None)
    assert max(found) - min(found) == pytest.approx(1, rel=1e-6)


def test_the_rates_are_those_of_the_proof() -> None:
    tenths = (DENOMINATOR // 10, DENOMINATOR // 2)
    assert QuantileLaw(MEDIAN, 8, Fraction(1), REPLACE).range == 4 * UNIT * DENOMINATOR
    assert QuantileLaw(MEDIAN, 8, Fraction(1), ADD).range == 2 * UNIT * DENOMINATOR
    assert QuantileLaw(tenths, 8, Fraction(1), ADD).range == 36 * UNIT * DENOMINATOR // 10


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_a_fit_has_the_law_of_the_exponential_mechanism(neighbours: str) -> None:
    """Smith's: exp(-epsilon |rank - n p| / 2), twice that for a median where a unit is added.

    Points are spread over the places of their public points, so its law is an average over these. With
    1,500 draws the right one passes with chance 1 - 10^-6; those of epsilon sqrt(2) and
    epsilon / sqrt(2) are rejected, their chi-square being 190 +- 28 at least.
    """
    at, count = np.array([3, 3, 4, 4]), 8
    epsilon = 4.0 if neighbours == "replace-one" else 2.0
    made = PrivateQuantiles(
        epsilon, levels=0.5, domain=(0, count - 1), step=1, unit=PrivacyUnit("person", neighbours)
    )
    drawn = [int(made.fit(at).release_.numbers[0]) for _ in range(1500)]
    observed = np.bincount(drawn, minlength=count)

    def law(epsilon: float) -> np.ndarray:
        inside = np.sort(np.random.default_rng(7).uniform(size=(40_000, at.size)) + at, axis=1)
        rate = epsilon / 2 * (1 if neighbours == "replace-one" else 2)
        found = np.zeros((len(inside), count))
        ends = np.concatenate([np.zeros((len(inside), 1)), inside, np.full((len(inside), 1), count)], 1)
        for rank in range(at.size + 1):
            weight = math.exp(-rate * abs(rank - at.size / 2))
            for cell in range(count):
                length = np.minimum(ends[:, rank + 1], cell + 1) - np.maximum(ends[:, rank], cell)
                found[:, cell] += weight * np.maximum(length, 0)
        return (found / found.sum(axis=1, keepdims=True)).mean(axis=0)

    p_values = [
        stats.chisquare(observed, law(epsilon * factor) * len(drawn)).pvalue
        for factor in (1, math.sqrt(2), math.sqrt(0.5))
    ]
    assert p_values[0] > FALSE_ALARM
    assert max(p_values[1:]) < FALSE_ALARM


def test_zero_concentrated_privacy_has_the_range_of_its_root() -> None:
    release = PrivateQuantiles(rho=0.125, levels=0.5, domain=(0, 1)).fit(np.arange(9) / 9).release_
    assert release.guarantee == ZeroConcentratedDP(Fraction(1, 8))
    assert release.law.epsilon == 1
    assert release.certificate.costs[0].rho <= Fraction(1, 8)
    pure = PrivateQuantiles(1, 1e-6, levels=0.5, domain=(0, 1)).fit(np.arange(9) / 9).release_
    assert pure.guarantee == PureDP(1)


@pytest.mark.parametrize("rho", ["1/3", "0.1", "0.03", "0.01", "1e-6", "1e-16"])
def test_what_was_published_under_any_rho_is_read_back(tmp_path: Path, rho: str):
    release = PrivateQuantiles(rho=rho, levels=0.5, domain=(0, 1)).fit(np.arange(9) / 9).release_
    read = load(release.save(tmp_path / "median.json"))
    assert read.certificate.costs == release.certificate.costs
    (cost,) = read.certificate.costs
    assert Fraction(rho) * (1 - Fraction(1, 2**40)) <= cost.rho <= Fraction(rho)


def test_ranges_of_earlier_versions_are_read_and_smaller_ones_are_not(tmp_path: Path):
    release = PrivateQuantiles(rho="0.01", levels=0.5, domain=(0, 1)).fit(np.arange(9) / 9).release_
    written, file = release.to_json(), tmp_path / "median.json"
    (cost,) = written["costs"]
    # The root of 8 rho was cut after 40 binary digits.
    root = math.isqrt(8 * 4**40 // 100)
    for digits, kept in ((root, True), (root - 2, False), (root + 2, False)):
        cost["loss"]["epsilon"] = str(Fraction(digits, 2**40))
        file.write_text(json.dumps(written))
        if kept:
            assert load(file).certificate.costs[0].rho < Fraction(1, 100)
        else:
            with pytest.raises(StorageError):
                load(file)


# The values.


def test_quantiles_are_near_those_of_the_data_and_as_far_as_the_plan_says() -> None:
    points = np.random.default_rng(3).standard_t(2, 400)
    made = PrivateQuantiles(1.0, levels=(0.1, 0.25, 0.5, 0.75, 0.9), domain=(-100, 100))
    shares = [
        [np.mean(points <= value) - level for value, level in zip(r.values, r.levels, strict=True)]
        for r in (made.fit(points).release_ for _ in range(90))
    ]
    found, planned = np.sqrt(np.mean(np.square(shares), axis=0)), spreads(made.plan(400).law, 400)
    # By resampling of 375 draws: logarithms of the ratios lie at -.15 to .14 and deviate by .10, that of
    # all levels together lies at .03 and deviates by .07. These are five deviations of either.
    assert np.all(np.abs(np.log(found / planned)) < 0.75)
    assert abs(np.log(np.mean(np.square(found / planned)))) / 2 < 0.38
    assert made.plan(400).error == pytest.approx(planned.max())
    farthest = np.max(np.abs(shares), axis=1)
    bound = float(rank_bound(made.plan(400).law, 0.95)) / 400
    assert np.mean(farthest <= bound) > 0.85
    # Where units lie densely .95 are nearer, up to half a unit; at half of it about .6 are.
    dense = dense_bound(made.plan(400).law, 400, 0.95)
    assert dense < bound / 5
    assert np.mean(farthest <= dense + 1 / 800) > 0.83
    assert np.mean(farthest <= dense / 2) < 0.9


def test_a_bound_for_dense_units_is_that_of_the_worst_case_where_an_empty_end_is_near() -> None:
    made = PrivateQuantiles(1.0, levels=(0.1, 0.25, 0.5, 0.75, 0.9), domain=(0, 1e5))
    near, far = (made.fit(1 + np.linspace(0, 9, n)).release_ for n in (300, 3000))
    assert near.dense_bound() == near.rank_bound()
    assert far.dense_bound() == dense_bound(far.law, 3000, 0.95) < far.rank_bound() / 5
    assert "where they lie densely" not in near.view().lines[0].band
    assert "where they lie densely" in far.view().lines[0].band
    assert f"none there is off by more than {far.dense_bound():.3g}" in " ".join(far.describe().split())


def test_a_bound_that_says_nothing_is_not_drawn_and_said_to_say_nothing() -> None:
    made = PrivateQuantiles(1.0, levels=(0.05, 0.5, 0.95), domain=(0, 500))
    few, many = (made.fit(np.linspace(1, 90, n)).release_ for n in (100, 3000))
    assert few.rank_bound() == few.dense_bound() == 1
    assert few.view().lines[0].lower is None
    words = " ".join(few.describe().split())
    assert "or less. Elsewhere it may be off by any share." in words
    assert "whatever the data are" not in words
    assert "Elsewhere" not in many.describe()
    assert f"none is off by more than {many.rank_bound():.3g}, whatever" in " ".join(
        many.describe().split()
    )


def test_repeated_values_are_found_where_the_step_is_known() -> None:
    """A tenth of all at each of ten values: the nine deciles fall within them."""
    points = np.repeat(np.arange(10), 300)
    made = PrivateQuantiles(2.0, levels=(0.05, 0.55, 0.95), domain=(0, 9), step=1)
    for _ in range(5):
        assert made.fit(points).release_.values.tolist() == [0, 5, 9]


def test_many_at_one_value_do_not_lose_the_quantile() -> None:
    """Half of all have no income, on a fine grid: the first quartile is zero, the others not."""
    points = np.concatenate([np.zeros(30_000), np.random.default_rng(1).lognormal(10, 0.5, 30_000)])
    release = PrivateQuantiles(1.0, levels=(0.25, 0.75), domain=(0, 1e6)).fit(points).release_
    assert release(0.25) == pytest.approx(0, abs=0.01)
    assert release(0.75) == pytest.approx(math.exp(10), rel=0.05)


def test_units_count_once_whatever_they_own() -> None:
    """One unit owns most points; the median is that of the units."""
    points = np.concatenate([np.full(5000, 9.0), np.linspace(1, 2, 400)])
    owners = np.concatenate([np.zeros(5000, dtype=int), np.arange(1, 401)])
    release = PrivateQuantiles(1.0, domain=(0, 10)).fit(points, groups=owners).release_
    assert 1.3 < release(0.5) < 1.7
    assert release.unit == "group"


def test_points_outside_and_unusable_ones_are_repaired() -> None:
    points = [float("nan"), -50, 3, 3, 3, 3, 3, 3, 3, 3, 500.0, float("inf")]
    # Another number has odds of 5 exp(-32) at most to one in ten.
    made = PrivateQuantiles(16.0, domain=(0, 5), step=1, invalid="repair")
    assert made.fit(points).release_.values.tolist() == [3]
    with pytest.raises(DataError, match="row 0"):
        PrivateQuantiles(8.0, domain=(0, 5)).fit(points)


@given(st.integers(1, 40), st.lists(st.floats(-20, 60), min_size=1, max_size=9))
def test_the_nearest_public_point_is_found(steps: int, points: list[float]) -> None:
    made = PublicPoints.every(Fraction(1, 4), (0, steps / 4))
    values = made.values(np.arange(made.count))
    for point, number in zip(points, made.nearest(points), strict=True):
        assert abs(values[number] - point) <= np.abs(values - point).min() + 1e-9
    assert values.tolist() == [k / 4 for k in range(steps + 1)]


def test_a_scale_weighs_orders_of_magnitude_equally() -> None:
    """Far more than the data can say: without any, the draw is uniform on the scale."""
    made = PrivateQuantiles(1e-6, domain=(1, 1e6), scale="log")
    drawn = np.log10([made.fit([5.0, 7.0]).release_(0.5) for _ in range(300)])
    assert stats.kstest(drawn / 6, "uniform").pvalue > FALSE_ALARM


# Refusals, the ledger, the release.


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"levels": (0.5, 0.2)}, "increasing"),
        ({"levels": ()}, "increasing"),
        ({"levels": "half"}, "levels"),
        ({"levels": [0.5, None]}, "levels"),
        ({"levels": 0}, "between 0 and 1"),
        ({"levels": (3, 50, 97)}, r"shares, not per cent: \.03, \.5, \.97"),
        ({"levels": np.linspace(0.01, 0.99, 17)}, "density answers"),
        ({"domain": None}, "span of the data is private"),
        ({"domain": (0, 1), "step": 0.3}, "whole steps"),
        ({"domain": (0, 1), "step": -1}, "step must be positive"),
        ({"domain": (1, 2), "step": 1, "scale": "log"}, "scale"),
        ({"domain": (0, 1), "scale": "log"}, "positive"),
        ({"domain": [(0, 1), (0, 1)]}, "domain"),
        ({"domain": (0, 1e90), "step": 1e-90}, "whole steps"),
    ],
)
def test_public_choices_are_refused_before_the_charge(given_: dict, said: str) -> None:
    ledger = MemoryLedger().create("people", PureDP(1))
    made = {"epsilon": 0.5, "domain": (0, 10), "ledger": ledger.of("people")} | given_
    with pytest.raises(ParameterError, match=said):
        PrivateQuantiles(**made).fit([1.0, 2.0, 3.0])
    # All of the budget is left.
    made = {"epsilon": 1, "domain": (0, 10), "ledger": ledger.of("people")}
    assert PrivateQuantiles(**made).fit([1.0, 2.0, 3.0]).release_.guarantee == PureDP(1)


def test_the_ledger_is_charged_before_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MemoryLedger().create("people", PureDP(1))
    made = PrivateQuantiles(0.75, domain=(0, 10), ledger=ledger.of("people"))
    made.fit([1.0, 2.0, 3.0])

    def refuse(size: int) -> bytes:
        raise AssertionError("drawn before the charge")

    monkeypatch.setattr("dpfda.density.quantiles_design.system_bytes", refuse)
    monkeypatch.setattr("dpfda.numerics.exactness.system_bytes", refuse)
    with pytest.raises(BudgetError):
        made.fit([1.0, 2.0, 3.0])


def test_a_release_answers_for_its_levels_alone() -> None:
    made = PrivateQuantiles(1.0, levels=(0.1, 1 / 3), domain=Domain(domain_range=(0, 1)))
    release = made.fit(np.linspace(0, 1, 500)).release_
    assert release([0.1, 1 / 3]).tolist() == release.values.tolist()
    with pytest.raises(ParameterError, match="density answers"):
        release(0.2)
    assert release.rank_bound(0.5) < release.rank_bound(0.99) < 1
    assert release.table().columns["value"].tolist() == release.values.tolist()
    (line,), far = release.view(0.9).lines, release.dense_bound(0.9)
    assert line.points.tolist() == release.values.tolist()
    np.testing.assert_allclose(line.upper, np.minimum(np.array(release.levels) + far, 1))
    np.testing.assert_allclose(line.lower, np.maximum(np.array(release.levels) - far, 0))
    assert release.view(None).lines[0].lower is None


def test_what_the_number_of_units_is_private_for_says_none() -> None:
    made = PrivateQuantiles(1.0, domain=(0, 1), neighbours="add-remove", unit="person")
    release = made.fit(np.linspace(0, 1, 347)).release_
    assert (
        release.public_size is release.spreads is release.rank_bound() is release.dense_bound() is None
    )
    assert release.view().lines[0].lower is None
    written = json.dumps({**release.to_json(), "release_id": ""})
    # Among the numbers of the file, none of which is the median.
    assert not re.search(r"(?<![\d.])347(?![\d])", written)
    told = " ".join(release.describe().split())
    assert "- the levels: 0.5; - the ends of the axis: 0 and 1; points outside" in told
    assert "- nothing about the number of persons." in told
    assert "347" not in told
    assert made.plan(1000).error == pytest.approx(made.plan(500).error / 2)
    # Half of the error that is planned where one is replaced.
    replaced = PrivateQuantiles(1.0, domain=(0, 1)).plan(500)
    assert made.plan(500).error == pytest.approx(replaced.error / 2)
    assert replaced.error == pytest.approx(math.sqrt(8) / 500, rel=1e-3)


def test_damaged_files_are_refused() -> None:
    written = PrivateQuantiles(1.0, domain=(0, 1)).fit(np.arange(9) / 9).release_.to_json()
    for changed in (
        {"levels": [0]}, {"levels": [DENOMINATOR]}, {"numbers": [-1]}, {"numbers": [2**28]},
        {"numbers": [1, 2]}, {"loss_range": "-1"}, {"public_size": 0},
        {"points": {"knots": [0.0, 1.0], "count": 1}},
    ):  # fmt: skip
        with pytest.raises((ValueError, ParameterError, StorageError)):
            ReleasedQuantiles.from_json({**written, **changed})


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--levels", "half"), "--levels must be numbers between 0 and 1, with commas between them"),
        (("--levels", "0.9,0.1"), "increasing numbers between 0 and 1"),
        (("--step", "0.8"), "--step must be positive, and divide the domain"),
        (("--column", "age:0:105"), "--column must name one column; found 2"),
        (("--scale", "square"), "--scale must be"),
    ],
)
def test_the_command_refuses_before_it_reads(typed: tuple[str, ...], said: str, tmp_path: Path) -> None:
    line = (
        "quantiles",
        "no.csv",
        "--column",
        "age:0:105",
        "--epsilon",
        "1",
        "--out",
        tmp_path / "q.json",
    )
    found = run(*line, *typed)
    assert found.exit_code == 2
    assert said in " ".join(found.stderr.split())


def test_the_command_publishes_and_plans(tmp_path: Path) -> None:
    rows = [f"{18 + 72 * i // 4000},{i // 2}" for i in range(4000)]
    (tmp_path / "people.csv").write_text("\n".join(["age,person", *rows]) + "\n")
    given = ("--column", "age:0:105", "--epsilon", 2, "--step", 1, "--levels", "0.25,0.5")
    files = ("--out", tmp_path / "q.json", "--plot", tmp_path / "q.png", "--csv", tmp_path / "q.csv")
    found = run("quantiles", tmp_path / "people.csv", *given, *files, "--groups", "person")
    assert found.exit_code == 0, found.stderr
    release = ReleasedQuantiles.load(tmp_path / "q.json")
    assert release.unit == "person"
    assert release.public_units == 2000
    assert np.abs(release.values - [36, 54]).max() <= 1
    first, *table = (tmp_path / "q.csv").read_text().splitlines()
    assert first == "level: share of the units below,value: age"
    assert len(table) == 2
    planned = run("plan", "quantiles", "--units", 500, "--column", "age:0:105", "--error", "1%")
    # The root of 8 over 500 times .01.
    assert "the least epsilon is 0.56" in planned.stdout


def test_intervals_hold_the_quantiles_of_the_data():
    values = np.random.default_rng(41).integers(0, 60, 2000).astype(float)
    levels = tuple(np.linspace(0.05, 0.95, 10).round(2))
    made, held = PrivateQuantiles(2, levels=levels, domain=(0, 60), step=1), 0
    for _ in range(12):
        release = made.fit(values).release_
        for share in (0.3, 0.5, 0.77):
            low, high = release.interval(share)
            # The least value with that share at or below it.
            held += low <= np.sort(values)[int(np.ceil(share * values.size)) - 1] <= high
    # It holds more often than it says.
    assert held == 36
    assert (low, high) != (0.0, 60.0)
    alone = PrivateQuantiles(2, levels=(0.5,), domain=(0, 60), step=1).fit(values).release_
    assert alone.interval(0.5) == (0.0, 60.0)
    assert "own quantiles" not in str(alone.report())
    assert "own quantiles lie between" in str(release.report())
    # The nearest value that the law of the shares leaves below.
    far = release.rank_bound(0.9)
    below = release.values[np.array(release.levels) + far < 0.66]
    assert release.interval(0.66, 0.9)[0] == below.max()
