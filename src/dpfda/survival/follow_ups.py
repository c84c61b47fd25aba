"""Follow-ups: codes of their ends, how they are read and counted, and their table as one sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dpfda.bases.lifetimes import CENSORED, LifeCells
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Flags, Integers
from dpfda.numerics.errors import DataError, Location, ParameterError
from dpfda.numerics.parameters import shown
from dpfda.records.arrow import is_arrow_table
from dpfda.records.cells import OUTSIDE
from dpfda.records.containers import column_of
from dpfda.records.points import cell_weights
from dpfda.spine.arguments import Beside, Labels, Records
from dpfda.spine.memberships import OTHER, level_key, members, none_of, public_labels
from dpfda.spine.pooled import Rows
from dpfda.spine.pooled_curves import PooledTable
from dpfda.survival.plan import SurvivalPlan
from dpfda.survival.release import ReleasedSurvival

# Less than any cause and than censoring: another code than those stated; and one less, no code.
UNCODED = CENSORED - 1
# The coding that is usual: an event is 1 or True, censoring 0 or False.
EVENT, STILL = 1, 0


@dataclass(frozen=True)
class Coding:
    """What the codes of events mean. Public.

    Parameters
    ----------
    causes, censored : tuple of labels
        Codes that end a follow-up, and those of censoring. No other code has a meaning.
    names : tuple of str
        What the causes are called.
    stated : bool
        Whether both were stated, and neither has its default.
    """

    causes: tuple[object, ...]
    censored: tuple[object, ...]
    names: tuple[str, ...]
    stated: bool

    @classmethod
    def of(cls, causes: object, censored: object) -> Coding:
        """Read what an estimator was given; what is None has the usual code.

        Raises
        ------
        ParameterError
            If these are no lists of labels, or one label has two meanings.
        """
        ends = [EVENT] if causes is None else public_labels(causes, "causes", 1)
        still = [STILL] if censored is None else public_labels(censored, "censored", 0)
        if {level_key(label) for label in ends} & {level_key(label) for label in still}:
            words = "have no code in common with the causes (which are 1 by default, and it is 0)"
            remedy = "State both: what a code means is never read from the data."
            raise ParameterError("censored", words, shown(still), remedy)
        names = ("event",) if causes is None else tuple(map(str, ends))
        return cls(tuple(ends), tuple(still), names, causes is not None and censored is not None)

    def checked(self, coded: bool, invalid: str) -> Self:
        """What is stated fits what is read: codes with events, and under repair both lists of them.

        Raises
        ------
        ParameterError
            If codes are stated and there are no events; or if events are read under ``"repair"``, under
            which other codes are left out, and not both are stated.
        """
        if not coded and (self.causes, self.censored) != ((EVENT,), (STILL,)):
            words = "be given where causes or censored are stated"
            remedy = "Without it every follow-up ends with an event."
            raise ParameterError("event", words, "None", remedy)
        if coded and invalid == "repair" and not self.stated:
            raise ParameterError(
                "censored",
                "be stated, and the causes, where events are read with $invalid",
                "a coding by default",
                "Follow-ups of any other code are left out then: with codes that are not those of the "
                "data a wrong curve would be published. Where 1 is an event and 0 is censoring: "
                "$causes, $censored.",
                causes=[1],
                censored=[0],
            )
        return self

    def describe(self) -> str:
        """The codes in words."""
        ends, still = (" or ".join(map(str, codes)) for codes in (self.causes, self.censored))
        return f"{ends} is an event, {still or 'no code'} is censoring"

    def words(self, invalid: str) -> str:
        """What a release says of the codes."""
        rest = "any other is refused"
        if invalid == "repair":
            rest = "follow-ups of any other code were left out"
        return f"in the data {self.describe()}; {rest}"

    def refuse_others(self, ends: Integers) -> None:
        """Say what the coding is taken to be where a follow-up has another code, and how to state it.

        Raises
        ------
        DataError
            With the row, and not the code.
        """
        if (ends == UNCODED).any():
            raise DataError(
                f"event must have the codes that are stated ({self.describe()}); found another in "
                "$place. State what each code means: $causes, $censored where 2 is an event, 1 "
                f"censoring. {OUTSIDE}",
                "event",
                place=Location(int(np.argmax(ends == UNCODED))),
                causes=[2],
                censored=[1],
            )

    def refuse(self, offences: Mapping[tuple[str, str], Flags], coded: bool) -> None:
        """Refuse the first offence that a follow-up makes, and say how to leave such ones out.

        offences: Which follow-ups make it, by the column's name and what it must.
        given: Whether there are events.
        Raises DataError, with the row.
        """
        stated = " (and $causes, $censored)" if coded else ""
        remedy = f"Correct them, or use $invalid{stated} to leave such follow-ups out. {OUTSIDE}"
        for (name, words), broken in offences.items():
            if broken.any():
                place = Location(int(np.argmax(broken)))
                codes = {"causes": [*self.causes], "censored": [*self.censored]}
                raise DataError(f"{name} must {words} in $place. {remedy}", name, place=place, **codes)

    def read(self, event: object) -> Integers:
        """Number of each follow-up's cause, or `CENSORED`; `UNCODED` for another code, less for none."""
        places = members(event, [*self.causes, *self.censored], "event")
        return np.select(
            [places < 0, places < len(self.causes)], [places + UNCODED - OTHER, places], CENSORED
        )


def read_follow_ups(
    coding: Coding, levels: Sequence[object], invalid: str, time: object, event: Labels = None,
    start: Labels = None, by: Labels = None, called: tuple[str, str] = ("time", "event"),
) -> Rows:  # fmt: skip
    """Times, endings, groups, which follow-ups are usable and, with `start`, where they begin. Private.

    coding, levels: Public: what codes of `event` and labels of `by` mean.
    called: Names of the first two in refusals.
    Raises DataError with the row of a follow-up that cannot be used, unless repairing.
    """
    times = column_of(time, called[0])[0]
    count = len(times)
    ends = np.zeros(count, dtype=np.int64) if event is None else coding.read(event)
    starts = None if start is None else column_of(start, "start")[0]
    member = np.zeros(count, dtype=np.int64) if by is None else members(by, levels, "by")
    for column, name in ((ends, called[1]), (starts, "start"), (member, "by")):
        if column is not None and len(column) != count:
            raise DataError(f"{name} must have one entry a follow-up ({count}); found {len(column)}.")
    if invalid == "refuse":
        # First: with a code or group that has no meaning the coding is not that of the data, and
        # to leave follow-ups out, the remedy for all others, would change what they say.
        coding.refuse_others(ends)
        if (member == OTHER).any():
            raise none_of("by", "levels", levels, int(np.argmax(member == OTHER)), "by")
    late = np.zeros(count, dtype=np.bool_)
    if starts is not None:
        with np.errstate(invalid="ignore"):
            late = ~(np.isfinite(starts) & (starts < times))
    offences = {
        (called[1], "have a code for every follow-up; found none"): ends < CENSORED,
        ("by", "have a level for every follow-up; found none"): member < 0,
        (called[0], "be finite numbers; found one that is missing or infinite"): ~np.isfinite(times),
        ("start", "be before the end; found one that is not"): late,
    }
    if invalid == "refuse":
        coding.refuse(offences, event is not None)
    usable = ~np.any([*offences.values()], axis=0)
    rows = np.where(usable, times, 0.0), ends, member, usable
    return rows if starts is None else (*rows, starts)


def counted_in(
    cells: LifeCells, rows: Rows, codes: Integers | None, weights: Integers | None = None
) -> list[int]:
    """Exact sums of all units' shares of the cells, in units of 2^-20."""
    times, ends, member, usable, *starts = rows
    shift = np.where(usable, member, 0) * cells.each
    index = shift + cells.ends(times, np.where(usable, ends, CENSORED))
    if not starts:
        return cell_weights(index, usable, codes, cells.size, EXPONENT, weights)
    begins = shift + cells.begins(np.where(usable, starts[0], 0.0))
    owners = np.arange(len(times)) if codes is None else codes
    both = np.concatenate([index, begins])
    twice = None if weights is None else np.tile(weights, 2)
    return cell_weights(both, np.tile(usable, 2), np.tile(owners, 2), cells.size, EXPONENT, twice)


@dataclass(frozen=True, eq=False)
class PooledSurvival(PooledTable[ReleasedSurvival]):
    """A life table as a sum of follow-ups, whose times are X.

    Parameters
    ----------
    coding : Coding
    levels : sequence of labels
        Of groups.
    """

    plan: SurvivalPlan
    coding: Coding
    levels: Sequence[object]

    @property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        return {"reading": self.invalid, "integers": [self.plan.cells.to_json(), self.coding.names]}

    def read(self, X: Records, y: Beside = None) -> Rows:
        """As of a sum; y holds events, or columns by the names that `PrivateSurvival.fit` has."""
        columns: Mapping[str, Any] = y if isinstance(y, Mapping) else {"event": y}
        time: object = X
        if is_arrow_table(time) and len(time.column_names) == 1:
            time = time.column(0)
        return read_follow_ups(self.coding, self.levels, self.invalid, time, **columns)

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        units = len(rows[0]) if codes is None else int(codes.max(initial=-1)) + 1
        sums = counted_in(self.plan.cells, rows, codes)
        return IntegerSum(self.numbers).add_totals(sums, units)
