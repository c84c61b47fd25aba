"""What one person's follow-up and covariates move, by brute force, and scales that reject others."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfda import PrivacyUnit, PrivateCox, Reading
from dpfda.errors import BudgetError, DataError, RefusedMechanismError
from dpfda.noise import GaussianNoise, KNormNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.survival.cox_plan import publish_cox

UNIT = 1 << 20
KNOWN = {"age": (0, 10), "arm": ["a", "b"], "site": ["x", "y"]}
number = st.one_of(st.floats(-1, 12), st.sampled_from([None, "x", np.inf, 10, "3", 1e300]))
record = st.tuples(
    number, st.sampled_from([0, 1, None, "1"]), number,
    st.sampled_from(["a", "b", "c", None]), st.sampled_from(["x", "y", None]),
)  # fmt: skip
person = st.lists(record, min_size=1, max_size=4)
ENTRIES = 2 * 4 * (1 + 2) + 2 + 3


def model(method: str, relation: str = "replace-one", **more: Any) -> PrivateCox:
    made = {"rho": 1} if method == "rounds" else {"epsilon": 1}
    return PrivateCox(
        **{**made, **more}, covariates=KNOWN, strata=["site"], domain=(0, 10), cells=4, method=method,
        causes=[1], censored=[0], unit=PrivacyUnit("person", relation),
        reading=Reading(invalid="repair"),
    )  # fmt: skip


def prepared(people: list[list[tuple]], method: str, relation: str = "replace-one") -> Any:
    rows = [(place, *each) for place, records in enumerate(people) for each in records]
    groups, time, event, age, arm, site = map(list, zip(*rows, strict=True))
    data = {"age": age, "arm": arm, "site": site}
    return model(method, relation).prepare(time, event, data, groups)


def opened(total: IntegerSum) -> np.ndarray:
    return np.array(total.with_noise([0] * total.components), dtype=object)


def rounds(people: list[list[tuple]], history: list[list[int]]) -> list[np.ndarray]:
    """The private integers of each round, given what the rounds before released."""
    made = prepared(people, "rounds")
    total, noisy, found = made.plan.rounds.summed(made.total), [], []
    for each in history:
        found.append(opened(total(noisy)))
        noisy = each
    return found


@given(st.lists(person, min_size=2, max_size=4), person)
def test_one_person_moves_the_table_by_no_more_than_the_width(
    people: list[list[tuple]], other: list[tuple]
) -> None:
    one, two = (opened(prepared([own, *people[1:]], "table").total) for own in (people[0], other))
    assert sum(abs(one - two)) <= 2 * UNIT
    assert sum((one - two) ** 2) <= 2 * UNIT**2


history = st.lists(
    st.lists(st.integers(-(2**24), 2**24), min_size=ENTRIES, max_size=ENTRIES), min_size=8, max_size=8
)


@given(st.lists(person, min_size=2, max_size=3), person, history)
def test_one_person_moves_every_round_by_no_more_than_the_width_whatever_was_released(
    people: list[list[tuple]], other: list[tuple], released: list[list[int]]
) -> None:
    unusable = [(None, None, None, None, None)]
    alone, before, after = (rounds([own, *people[1:]], released) for own in (unusable, people[0], other))
    for nobody, one, two in zip(alone, before, after, strict=True):
        assert sum((one - two) ** 2) <= (2 * UNIT) ** 2
        assert sum((one - nobody) ** 2) <= UNIT**2


def test_the_widths_are_reached() -> None:
    event, censored = [(1.0, 1, 10.0, "a", "x")], [(9.0, 0, 0.0, "b", "y")]
    rest = [[(5.0, 1, 5.0, "a", "x")]]
    tables = [opened(prepared([own, *rest], "table").total) for own in (event, censored)]
    assert sum(abs(tables[0] - tables[1])) == 2 * UNIT
    # In a round of slopes two persons whose parts are clipped, one with an event and one long without.
    made = prepared([event, *rest], "rounds").plan.rounds
    quiet = [[0] * made.entries] * 2
    hazards = [[2**26 if place < 8 else 0 for place in range(made.entries)]]
    # Each alone is as long as it may be; opposite they are not, for one has events and both have time.
    early, late = [(0.01, 1, 10.0, "b", "x")], [(10.0, 0, 10.0, "b", "x")]
    nobody = [(None, None, None, None, None)]
    alone = rounds([nobody, *rest], hazards + quiet)[-1]
    apart = [rounds([own, *rest], hazards + quiet)[-1] for own in (early, late)]
    assert math.sqrt(sum((apart[1] - alone) ** 2)) == pytest.approx(UNIT, rel=1e-5)
    assert 1.1 * UNIT < math.sqrt(sum((apart[0] - apart[1]) ** 2)) <= 2 * UNIT


def test_a_person_of_many_records_moves_every_round_by_no_more_than_one_of_one() -> None:
    nobody, record = (None, None, None, None, None), (9.0, 1, 9.0, "b", "x")
    for size in (0, 2**22, -(2**22)):
        history = [[size] * ENTRIES] * 23
        ways = [[nobody], [record], [record] * 4]
        base, one, four = (rounds([own, [(5.0, 1, 5.0, "a", "x")]], history) for own in ways)
        for before, alone, many in zip(base, one, four, strict=True):
            # Each of the four is rounded by less than one.
            assert np.max(np.abs(many - alone)) <= 5
            assert sum((many - before) ** 2) <= UNIT**2


@pytest.mark.parametrize(("relation", "width"), [("replace-one", 2 * UNIT), ("add-remove", UNIT)])
def test_scales_spend_the_budget_and_no_more(relation: str, width: int) -> None:
    people = [[(1.0, 1, 5.0, "a", "x")]] * 3
    table = prepared(people, "table", relation).plan
    assert isinstance(table.noise, KNormNoise)
    assert {*table.noise.scales} == {width}
    # rho of T normal releases of width w and deviation s is T w^2 / (2 s^2).
    steps = prepared(people, "rounds", relation).plan.rounds
    assert isinstance(steps.noise, GaussianNoise)
    deviation = math.sqrt(float(steps.noise.variances()[0]))
    assert deviation == pytest.approx(width * math.sqrt(steps.count / 2), rel=1e-5)
    assert deviation >= width * math.sqrt(steps.count / 2)


def test_what_is_released_has_this_noise_and_no_other() -> None:
    # Records that are left out add nothing, so that what is released is the noise alone. The mean size
    # of 40 tables' 8,960 counts has a deviation of 1.1 % of a scale, the root of the mean square of 725
    # sums one of 2.7 %: both limits lie over four of them away. A scale wrong by 2^(1/2) is off by 29 %.
    nothing = [[(None, None, None, None, None)]] * 3
    sizes: list[float] = []
    for _ in range(40):
        noisy = publish_cox(prepared(nothing, "table")).noisy_sum
        sizes += [abs(value) / (2 * UNIT) for value in noisy]
    assert np.mean(sizes) == pytest.approx(1.0, abs=0.1)
    made = prepared(nothing, "rounds")
    rounds_made, noisy = made.plan.rounds, publish_cox(made).noisy_sum
    expected = 2 * UNIT * math.sqrt(rounds_made.count / 2)
    assert np.sqrt(np.mean(np.square(np.array(noisy, dtype=float)))) / expected == pytest.approx(
        1, abs=0.13
    )


def test_rows_are_made_of_their_own_record_to_the_last_bit() -> None:
    generator = np.random.default_rng(3)
    n = 40_000
    columns = {
        "age": generator.uniform(0, 10, n), "arm": generator.choice(["a", "b"], n),
        "site": generator.choice(["x", "y"], n),
    }  # fmt: skip
    times, events = generator.uniform(0, 12, n), generator.integers(0, 2, n)
    made = model("rounds")
    halves = [slice(0, 17_001), slice(17_001, n)]
    parts = [
        made.prepare(times[rows], events[rows], {k: v[rows] for k, v in columns.items()})
        for rows in (slice(0, n), *halves)
    ]
    totals = [each.plan.rounds.summed(each.total) for each in parts]
    noisy: list[int] = []
    for draw in range(8):
        whole, first, second = (opened(total(noisy)) for total in totals)
        assert np.array_equal(whole, first + second)
        noisy = [int(value) + (draw + 1) * 1000 for value in whole]


def test_the_ledger_is_charged_before_noise_and_a_refusal_draws_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = {"age": [1, 2, 3], "arm": ["a", "b", "a"], "site": ["x", "y", "x"]}
    for method in ("table", "rounds"):
        budget = PureDP(Fraction(1)) if method == "table" else ZeroConcentratedDP(Fraction(1))
        ledger = MemoryLedger().create("trial", budget)
        made = model(method, ledger=ledger.of("trial"))
        made.fit([1, 2, 3], [1, 0, 1], data)
        for law in (KNormNoise, GaussianNoise):
            monkeypatch.setattr(law, "draw", lambda self: pytest.fail("noise was drawn"))
        with pytest.raises(BudgetError):
            made.fit([1, 2, 3], [1, 0, 1], data)
        monkeypatch.undo()


def test_rounds_are_refused_at_a_pure_epsilon() -> None:
    with pytest.raises(RefusedMechanismError, match=r"delta must be positive for method 'rounds'"):
        model("rounds", rho=None, epsilon=1).plan(100)


def test_a_table_needs_no_delta() -> None:
    made = PrivateCox(1, 1e-6, covariates={"arm": ["a", "b"]}, domain=(0, 1), method="table")
    assert made.plan(1000).guarantee in (PureDP(Fraction(1)), made.asked())


@pytest.mark.parametrize("odd", [b"1", 1j])
def test_one_label_does_not_change_how_others_are_read(odd: Any) -> None:
    data = {"age": [1, 2, 3], "arm": ["a", "b", "a"], "site": ["x", "y", "x"]}
    with pytest.raises(DataError, match="event must hold text or numbers; found bytes or complex"):
        model("table").prepare([1, 2, 3], np.array([1, 0, odd]), data)
    # In a list each is read by itself: the odd one is no code, and its record is left out.
    whole, less = (
        opened(model("table").prepare([1, 2, 3], events, data).total)
        for events in ([1, 0, odd], [1, 0, None])
    )
    assert np.array_equal(whole, less)


def test_what_values_are_raises_nothing_whatever_numpy_is_told() -> None:
    data = {"age": [1e-200, 5, 1e300], "arm": ["a", "b", "a"], "site": ["x", "y", "x"]}
    with np.errstate(all="raise"):
        for method in ("table", "rounds"):
            made = model(method).fit([1e-200, -1.7e308, 3], [1, 0, 1], data)
            assert made.release_.effects == ("age", "arm=b")
