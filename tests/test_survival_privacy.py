"""What one person's follow-up moves, by brute force, and audits that reject a wrong scale.

Audits, their error rates and their power are those of `test_privacy`.
"""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfda import PrivacyUnit, PrivateSurvival, Reading
from dpfda.errors import BudgetError
from dpfda.noise import KNormNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import PureDP, guarantee_for
from dpfda.privacy.ledger import MemoryLedger
from statistical import Audit, cut_noise, epsilon_bound, fits_only_at_its_scale

UNIT = 1 << 20
REPAIR = Reading(invalid="repair")
number = st.one_of(st.floats(-1, 12), st.sampled_from([None, "x", np.inf, 10, "3"]))
followup = st.tuples(
    number, st.sampled_from([0, 1, 2, None, "1"]), number, st.sampled_from(["a", "b", "c", None])
)
person = st.lists(followup, min_size=1, max_size=4)


def sums(people: list[list[tuple]], late: bool, neighbours: str = "replace-one") -> np.ndarray:
    """The private integers of some people."""
    rows = [(number, *record) for number, records in enumerate(people) for record in records]
    groups, time, event, start, by = zip(*rows, strict=True)
    unit = PrivacyUnit("person", neighbours)
    made = PrivateSurvival(
        1,
        domain=(0, 10),
        cells=4,
        causes=[1, 2],
        censored=[0],
        levels=["a", "b"],
        unit=unit,
        reading=REPAIR,
    )
    prepared = made.prepare(
        list(time), list(event), list(start) if late else None, list(by), list(groups)
    )
    return np.array(prepared.total.with_noise([0] * prepared.plan.cells.size), dtype=object)


@given(st.lists(person, min_size=2, max_size=4), person, st.booleans())
def test_one_person_moves_the_table_by_no_more_than_the_widths(
    people: list[list[tuple]], other: list[tuple], late: bool
) -> None:
    one, two = sums(people, late), sums([other, *people[1:]], late)
    assert sum(abs(one - two)) <= 2 * UNIT
    assert sum((one - two) ** 2) <= 2 * UNIT**2
    alone = one - sums([people[0][:0] or [(None, None, None, None)], *people[1:]], late)
    assert min(alone) >= 0
    assert sum(alone) <= UNIT


def test_the_widths_are_reached_also_across_groups() -> None:
    one, other = [(1.0, 1, 0, "a")], [(9.0, 0, 0, "b")]
    rest = [[(5.0, 1, 0, "a")]]
    assert sum(abs(sums([one, *rest], False) - sums([other, *rest], False))) == 2 * UNIT


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("start", [None, [0, 0, 0]])
def test_laplace_scales_are_the_width_over_epsilon(neighbours: str, start: list[int] | None) -> None:
    unit = PrivacyUnit("person", neighbours)
    made = PrivateSurvival(Fraction(7, 3), domain=(0, 1), cells=3, unit=unit)
    law = made.prepare([0.1, 0.5, 0.9], None, start).plan.table.law
    width = 2 * UNIT if neighbours == "replace-one" else UNIT
    assert isinstance(law, KNormNoise)
    assert {*law.scales} == {math.ceil(width / Fraction(7, 3))}


def test_released_counts_have_the_stated_law_and_no_other() -> None:
    made = PrivateSurvival(0.5, domain=(0, 1), cells=80, unit=PrivacyUnit("person", "add-remove"))
    errors = []
    for _ in range(110):
        errors += made.fit([0.5, 2]).release_.counts[0][40:-1].tolist()
    # Scale 1 / epsilon = 2 persons.
    law = lambda x: np.where(x < 0, np.exp(x / 2) / 2, 1 - np.exp(-x / 2) / 2)  # noqa: E731
    assert fits_only_at_its_scale(errors, law)


AUDITED = {
    "event or censored": (
        PrivateSurvival(1.5, domain=(0, 1), cells=3),
        [0.9, 0.9],
        [1, 0],
        None,
        10_000,
    ),
    "late": (PrivateSurvival(1.5, domain=(0, 1), cells=3), [0.3, 0.9], [1, 1], [0.1, 0.8], 10_000),
}


def audited(name: str) -> tuple[Audit, int]:
    """Two data sets that differ in one follow-up, and the likelihood ratio of what is published."""
    made, times, events, starts, trials = AUDITED[name]
    prepared = [
        made.prepare([0.2, 0.5, times[i]], [1, 0, events[i]], starts and [0, 0, starts[i]])
        for i in range(2)
    ]
    noise = prepared[0].plan.table.law
    exact = [np.array(each.total.with_noise([0] * noise.components), dtype=float) for each in prepared]

    publish = [each.total.with_noise for each in prepared]
    return Audit(exact, noise, float(made.epsilon), float(made.delta), publish=publish), trials


@pytest.mark.parametrize("name", AUDITED)
def test_no_event_tells_neighbours_apart_by_more_than_the_claim(name: str) -> None:
    audit, trials = audited(name)
    bound = audit.bound(trials)
    assert audit.claim / 2 <= bound <= audit.claim


def test_noise_cut_by_root_two_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    audit, trials = audited("event or censored")
    cut_noise(monkeypatch, KNormNoise)
    assert audit.bound(trials) > audit.claim


@pytest.mark.parametrize("cut", [False, True], ids=["as stated", "cut"])
def test_an_audit_through_fit(cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole fits with a person in each of 64 groups, who dies in the first cell or is censored there.

    Groups have cells of their own with independent noise, so each is a trial by itself: neighbours
    differ in its person alone. The event is that the counts of the two ends lie far apart, as one of the
    data sets has them.
    """
    if cut:
        cut_noise(monkeypatch, KNormNoise)
    levels = [f"arm {i}" for i in range(64)]
    made = PrivateSurvival(1.5, domain=(0, 1), cells=2, levels=levels)
    fits, hits = 160 if cut else 80, []
    for event in (1, 0):
        found = 0
        for _ in range(fits):
            release = made.fit(np.full(64, 0.2), np.full(64, event), by=levels).release_
            counts = np.stack([release.counts[k] for k in range(64)])
            found += int(np.sum((counts[:, 0] >= 1) & (counts[:, 2] <= 0)))
        hits.append(found)
    trials = 64 * fits
    bound = epsilon_bound((hits[0], hits[1]), trials, 0.0)
    assert (bound > 1.5) == cut
    assert bound >= 1.5 / 2


def test_the_ledger_is_charged_first(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MemoryLedger()
    ledger.create("trial", guarantee_for(3, 1e-5), "replace-one", "record")
    made = PrivateSurvival(1, 1e-6, domain=(0, 1), cells=4, ledger=ledger.of("trial"))
    assert made.fit([0.1, 0.2, 0.9]).release_.guarantee == PureDP(1)
    monkeypatch.setattr(KNormNoise, "draw", lambda self: pytest.fail("drawn"))
    with pytest.raises(BudgetError):
        made.set_params(epsilon=2.5).fit([0.1, 0.2, 0.9])


def test_a_release_depends_on_the_noisy_integers_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    made = PrivateSurvival(
        1, domain=(0, 1), levels=["a", "b"],
        unit=PrivacyUnit("person", "add-remove", public_size=100), reading=REPAIR,
    )  # fmt: skip
    files = []
    for name, times in (("few", [0.1, None]), ("many", np.linspace(0, 1, 700))):
        with monkeypatch.context() as patch:
            patch.setattr(
                IntegerSum,
                "with_noise",
                lambda self, noise: tuple((1 << 24) + i for i in range(len(noise))),
            )
            release = made.fit(times, by=["a"] * len(times)).release_
        release(0.5)
        files.append(json.loads(release.save(tmp_path / name).read_text()))
    identities = [written.pop("release_id") for written in files]
    assert identities[0] != identities[1]
    assert files[0] == files[1]
