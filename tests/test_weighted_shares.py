"""Survey weights of points and follow-ups: what a unit adds, the noise that hides it, what comes out."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpfda import PrivacyUnit, PrivateDensity, PrivateQuantiles, PrivateSurvival, Reading, load
from dpfda.density.quantiles_design import DENOMINATOR, PART_BITS, QuantileLaw
from dpfda.errors import DataError, ParameterError
from dpfda.noise.shares import EXPONENT, UNIT
from dpfda.privacy.guarantees import Neighbours, PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication.zoom import CANDIDATES, Zoom
from dpfda.records.points import PlacedPoints, cell_weights, ranked
from dpfda.records.weights import Weights, whole_weights
from dpfda.testing import check_release
from statistical import fits_only_at_its_scale
from test_cli_verbs import run
from test_quantiles import losses

REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE
GENERATOR = np.random.default_rng(6)
COUNT = 4000
WEIGHTS = GENERATOR.uniform(0.2, 8, COUNT)
CUT = np.minimum(WEIGHTS, 5)
INCOMES = np.exp(GENERATOR.normal(size=COUNT) / 2 + WEIGHTS / 4)
DIED, LEFT = GENERATOR.exponential(400 / WEIGHTS), GENERATOR.uniform(100, 1500, COUNT)
REPAIR = Reading(invalid="repair")
# Of a record, also of one who has read the code.
any_weight = st.one_of(
    st.floats(0, 10), st.sampled_from([5e-324, 1e308, math.inf, math.nan, -1.0, -math.inf, 5.0])
)
records = st.lists(st.tuples(st.floats(0, 1), any_weight), max_size=3)


def unit(neighbours: str = "replace-one", **more) -> PrivacyUnit:
    return PrivacyUnit("person", neighbours=neighbours, **more)


def weighted_share(values: np.ndarray, below: np.ndarray | float) -> np.ndarray:
    """Share of the cut weights at or below points."""
    return np.array([CUT[values <= at].sum() for at in np.atleast_1d(below)]) / CUT.sum()


# What a unit adds.


def test_records_count_as_their_weight_over_the_largest():
    weights = Weights([0, 2.5, 5, 7, 1.25, 5e-324], 5)
    found = whole_weights(weights, 6, "refuse", EXPONENT)
    assert found.tolist() == [0, UNIT // 2, UNIT, UNIT, UNIT // 4, 0]
    # Ten is 2 halves and 1 of three records, rounded down in each cell.
    index, codes, usable = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), np.ones(4, dtype=bool)
    shares = cell_weights(index, usable, codes, 3, EXPONENT, found[[1, 2, 1, 4]])
    assert shares == [3 * UNIT // 2 // 3, UNIT // 2 // 3 + UNIT // 4, 0]
    places, sums = ranked(index << PART_BITS, usable, codes, EXPONENT, found[[1, 2, 1, 4]])
    assert places.tolist() == [0, 1 << PART_BITS]
    assert sums.tolist() == [shares[0], shares[0] + shares[1]]


@settings(max_examples=80, deadline=None)
@given(st.lists(records, min_size=2, max_size=4), records)
def test_no_unit_moves_the_counts_by_more_than_the_noise_hides(people, other):
    def totals(units):
        rows = [(i, *record) for i, unit in enumerate(units) for record in unit]
        who, at, weights = np.array(rows, dtype=float).reshape(-1, 3).T
        counted = whole_weights(Weights(weights, 5), at.size, "repair", EXPONENT)
        index, codes = np.minimum((at * 4).astype(int), 3), who.astype(int)
        return np.array(cell_weights(index, np.ones(at.size, dtype=bool), codes, 4, EXPONENT, counted))

    before, after, more = totals(people), totals([other, *people[1:]]), totals([*people, other])
    assert (more - before).min() >= 0
    assert (more - before).sum() <= UNIT
    assert np.abs(after - before).sum() <= 2 * UNIT
    assert ((after - before) ** 2).sum() <= 2 * UNIT**2


def test_a_record_moves_counts_as_far_as_the_noise_is_made_for():
    estimator = PrivateDensity(1, cells=4, scale="linear", domain=(0, 1))
    one, two = (
        estimator.prepare([at, 0.4, 0.4], weights=Weights([9.0, 1.0, 1.0], 5)).total.with_noise([0] * 4)
        for at in (0.1, 0.9)
    )
    plan = estimator.plan(3, max_weight=5.0)
    assert sum(abs(a - b) for a, b in zip(one, two, strict=True)) == plan.width == 2 * UNIT


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("kind", ["density", "survival"])
def test_counts_get_laplace_noise_of_the_stated_scale(neighbours, kind):
    """From fits; wrong by root two either way it is told apart."""
    errors, weights = [], Weights(WEIGHTS[:50], 5)
    exact = whole_weights(weights, 50, "refuse", EXPONENT).sum()
    for _ in range(20):
        if kind == "density":
            made = PrivateDensity(
                2, cells=500, scale="linear", domain=(0, 1), unit=unit(neighbours), noise="laplace"
            )
            noisy = np.array(made.fit(np.zeros(50), weights=weights).release_.raw.noisy_counts)
        else:
            made = PrivateSurvival(2, cells=300, domain=(0, 1), unit=unit(neighbours))
            noisy = np.array(made.fit(np.full(50, 0.001), weights=weights).release_.shares.noisy)
        noisy[0] -= exact
        errors += noisy.tolist()
    scale = UNIT * (1 if neighbours == "add-remove" else 2) / 2
    assert fits_only_at_its_scale(errors, stats.laplace(scale=scale).cdf)


points = st.lists(st.tuples(st.floats(0, 1), st.integers(0, UNIT)), min_size=2, max_size=7)


@settings(max_examples=25, deadline=None)
@given(points, st.tuples(st.floats(0, 1), st.integers(0, UNIT)), st.sampled_from([REPLACE, ADD]))
def test_no_weighted_unit_moves_two_scores_of_the_zoom_farther_apart(people, other, neighbours):
    zoom = Zoom((0.0, 1.0), len(people), (PureDP(1), PureDP(1)), neighbours, weighted=True)

    def scores(units):
        at, counted = (np.array(column) for column in zip(*units, strict=True))
        placed = PlacedPoints(at[:, None], np.ones(at.size, dtype=bool), None, EXPONENT, counted)
        fine = placed.shares(zoom.fine)
        places = [np.array(zoom.place_scores(fine, i)) for i in range(len(CANDIDATES))]
        return np.array(zoom.width_scores(fine)), places

    after = [other, *people[1:]] if neighbours is REPLACE else [other, *people]
    (widths, places), (widths_after, places_after) = scores(people), scores(after)
    width_apart, place_apart = zoom.moved_apart
    assert np.ptp(widths_after - widths) <= width_apart
    assert all(np.ptp(b - a) <= place_apart for a, b in zip(places, places_after, strict=True))


def test_a_weighted_unit_moves_scores_of_the_zoom_as_far_as_the_noise_is_made_for():
    zoom = Zoom((0.0, 1.0), 5, (PureDP(1), PureDP(1)), REPLACE, weighted=True)

    def widths(at):
        placed = PlacedPoints(
            np.array([0.1, 0.2, 0.3, at, 0.9])[:, None], np.ones(5, dtype=bool), None, EXPONENT,
            np.full(5, UNIT),
        )  # fmt: skip
        return np.array(zoom.width_scores(placed.shares(zoom.fine)))

    assert np.ptp(widths(0.11) - widths(0.7)) == zoom.moved_apart[0]


weighted_points = st.lists(st.tuples(st.integers(0, 7), st.integers(0, UNIT)), min_size=1, max_size=3)
levels_of = st.sampled_from([(0.5,), (0.1,), (0.25, 0.75), (0.2, 0.3, 0.9)])


def ranks(people):
    rows = [(i, *record) for i, unit in enumerate(people) for record in unit]
    who, at, counted = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return ranked(at << PART_BITS, np.ones(at.size, dtype=bool), who, EXPONENT, counted)


@settings(max_examples=60, deadline=None)
@given(st.lists(weighted_points, min_size=2, max_size=5), weighted_points, levels_of)
def test_no_weighted_unit_moves_a_probability_of_quantiles_by_more_than_epsilon(people, other, levels):
    steps = tuple(round(level * DENOMINATOR) for level in levels)
    first, second, more = ranks(people), ranks([other, *people[1:]]), ranks([*people, other])
    for neighbours, after in ((REPLACE, second), (ADD, more)):
        found = losses(QuantileLaw(steps, 8, Fraction(2), neighbours), first, after, None)
        assert max(found) - min(found) <= 2 * (1 + 1e-12)
        assert max(map(abs, found)) <= 2 * (1 + 1e-12)


def test_one_weighted_unit_moves_probabilities_of_quantiles_by_epsilon():
    law = QuantileLaw((DENOMINATOR // 2,), 8, Fraction(1), REPLACE)
    others = [[(3, UNIT)]] * 4
    found = losses(law, ranks([[(0, UNIT)], *others]), ranks([[(7, UNIT)], *others]), None)
    assert max(found) - min(found) == pytest.approx(1, rel=1e-6)


# What comes out.


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_a_density_and_quantiles_are_those_of_the_weighted_points(neighbours):
    weights, levels = Weights(WEIGHTS, 5), (0.1, 0.5, 0.9)
    size = {} if neighbours == "replace-one" else {"public_size": 2800}
    density = PrivateDensity(1, domain=(0.01, 500), unit=unit(neighbours, **size))
    released = density.fit(INCOMES, weights=weights).release_
    values = PrivateQuantiles(1, levels=levels, domain=(0.01, 500), unit=unit(neighbours))
    found = values.fit(INCOMES, weights=weights).release_.values
    assert weighted_share(INCOMES, found) == pytest.approx(levels, abs=0.01)
    assert released.cdf(found) == pytest.approx(levels, abs=0.04)
    # Without weights the shares are others.
    assert np.mean(found[1] >= INCOMES) > 0.55
    assert released.raw.size == pytest.approx(CUT.sum() / 5, rel=0.05)


def test_a_survival_curve_is_that_of_the_weighted_follow_ups():
    at, weights = np.array([50, 100, 200, 400]), Weights(WEIGHTS, 5)
    time, event = np.minimum(DIED, LEFT), DIED <= LEFT
    survival = PrivateSurvival(2, domain=(0, 1000), unit="person")
    found = survival.fit(time, event, weights=weights).release_(at)
    order = np.argsort(time)
    risk = np.cumsum(CUT[order][::-1])[::-1]
    steps = np.cumprod(np.where(event[order], 1 - CUT[order] / risk, 1.0))
    kaplan_meier = steps[np.searchsorted(time[order], at, side="right") - 1]
    assert found == pytest.approx(kaplan_meier, abs=0.04)
    plain = survival.fit(time, event).release_(at)
    assert np.all(plain - found > 0.05)


def test_late_beginnings_count_with_their_weight():
    survival = PrivateSurvival(1, domain=(0, 10), cells=4, unit="person")
    starts, ends = np.array([0, 0, 6.0]), np.array([3, 9, 9.0])
    prepared = survival.prepare(ends, start=starts, weights=Weights([5, 2.5, 1.25], 5))
    counts = prepared.total.with_noise([0] * prepared.plan.cells.size)
    # Half of a person is an end, the other half a beginning.
    assert sorted(counts) == [*[0] * (len(counts) - 4), *(UNIT * x // 8 for x in (1, 3, 4, 6))]


def test_weights_alike_change_no_share():
    weights = Weights(np.full(COUNT, 2.5), 5)
    density = PrivateDensity(1, cells=8, scale="linear", domain=(0, 500))
    half, whole = (density.prepare(INCOMES, weights=given).total for given in (weights, None))
    assert [2 * count for count in half.with_noise([0] * 8)] == list(whole.with_noise([0] * 8))


def test_unusable_weights_count_nothing_where_records_are_repaired():
    bad = np.where(np.arange(COUNT) % 3, WEIGHTS, np.nan)
    density = PrivateDensity(1e5, cells=8, scale="linear", domain=(0, 500), reading=REPAIR)
    made = density.fit(INCOMES, weights=Weights(bad, 5)).release_
    assert made.raw.size == pytest.approx(CUT[np.arange(COUNT) % 3 > 0].sum() / 5, rel=1e-3)


# What is said of them, and planned.


@pytest.mark.parametrize("kind", ["density", "quantiles", "survival"])
def test_a_file_says_that_records_were_weighted(kind, tmp_path):
    estimator = {
        "density": PrivateDensity(1, domain=(0, 500), scale="linear"),
        "quantiles": PrivateQuantiles(1, domain=(0, 500)),
        "survival": PrivateSurvival(1, domain=(0, 500)),
    }[kind]
    made = estimator.fit(INCOMES, weights=Weights(WEIGHTS, 5)).release_
    again = load(made.save(tmp_path / "weighted.json"))
    said = " ".join(again.describe().split())
    assert "Each counts as its weight over 5, one at most" in said
    assert "- Weights that follow from more than a record's own data" in said
    check_release(made)
    plan = estimator.plan(800, max_weight=5)
    assert plan.size is None
    assert plan.n == 800
    assert plan.at(epsilon=2).size is None
    assert plan.error == pytest.approx(estimator.plan(800).error, rel=0.1)


def test_quantiles_of_a_private_total_say_how_far_their_shares_are_off():
    estimator, far = PrivateQuantiles(1, levels=(0.25, 0.5), domain=(0, 500)), []
    for _ in range(120):
        made = estimator.fit(INCOMES, weights=Weights(WEIGHTS, 5)).release_
        far.append((weighted_share(INCOMES, made.values) - made.levels) * CUT.sum())
    said = " ".join(made.describe().split())
    assert "over the sum of all weights, which is private" in said
    typical, bound = re.search("typically off by ([0-9.]+) or less.*by ([0-9.]+) at most", said).groups()
    assert np.abs(far).max() <= float(bound)
    # Within a factor of 1.5: 120 draws of near Laplace steps are outside in less than one of 1,000 runs.
    assert 1 / 1.5 < np.sqrt(np.mean(np.square(far), axis=0)).max() / float(typical) < 1.5
    alone = PrivateQuantiles(1, domain=(0, 500), unit=unit("add-remove")).fit(INCOMES).release_
    assert "over the number of persons, which is private" in " ".join(alone.describe().split())


@pytest.mark.parametrize(("weight", "lost"), [(0.0, True), (5.0, False)])
def test_a_density_whose_total_is_lost_in_noise_says_so_first(weight, lost):
    made = PrivateDensity(1, domain=(0, 500)).fit(INCOMES, weights=Weights([weight] * COUNT, 5)).release_
    said = " ".join(made.describe().split())
    assert ("Hardly anybody is seen through the noise: how records are spread is not" in said) is lost
    assert ("lie below a point is known better" in said) is not lost


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (WEIGHTS[1:], "weights must be one a record"),
        (np.where(np.arange(COUNT) == 7, -1, WEIGHTS), "found another in row 7"),
        (["a"] * COUNT, "found another in row 0"),
    ],
)
@pytest.mark.parametrize("kind", [PrivateDensity, PrivateQuantiles, PrivateSurvival])
def test_weights_that_are_refused(kind, weights, words):
    ledger = MemoryLedger().create("people", PureDP(9))
    with pytest.raises(DataError, match=words):
        kind(1, domain=(0, 500), ledger=ledger.of("people")).fit(INCOMES, weights=Weights(weights, 5))
    with pytest.raises(ParameterError, match=r"weights must be Weights\(values, largest\)"):
        kind(1, domain=(0, 500), ledger=ledger.of("people")).fit(INCOMES, weights=WEIGHTS)
    assert [record.action for record in ledger.history("people")] == ["create"]


def test_a_kernel_estimate_has_no_weights():
    with pytest.raises(ParameterError, match="weights must be None but for a histogram"):
        PrivateDensity(1, domain=(0, 1), mechanism="kernel").fit([0.2, 0.3], weights=Weights([1, 1], 5))


# The command.


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("weighted") / "people.csv"
    rows = np.column_stack([INCOMES, np.minimum(DIED, LEFT), DIED <= LEFT, WEIGHTS])
    np.savetxt(path, rows, fmt=["%.6f", "%.6f", "%d", "%.6f"], delimiter=",", comments="",
               header="income,time,event,weight")  # fmt: skip
    return path


VERBS = {
    "density": ("--column", "income:0:500"),
    "quantiles": ("--column", "income:0:500"),
    "survival": ("--time", "time", "--event", "event", "--domain", "0", "1000"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_the_command_takes_a_column_of_weights(verb, people, tmp_path):
    out = tmp_path / "out.json"
    typed = (verb, str(people), "--epsilon", "1", *VERBS[verb], "--out", str(out))
    dry = run(*typed, "--weights", "weight:5", "--dry-run")
    assert dry.exit_code == 0
    assert "weight" in dry.stderr + dry.output
    assert run(*typed, "--weights", "weight:5").exit_code == 0
    assert load(out).about["max_weight"] == 5
    for wrong in ("weight", "weight:0", "weight:nan", ":5", "weight:a"):
        refused = run(*typed, "--weights", wrong, "--overwrite")
        assert refused.exit_code == 2
        assert "--weights must be COLUMN:LARGEST" in " ".join(refused.stderr.split())
