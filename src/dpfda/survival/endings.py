"""How follow-ups end, in the codes of the data: which codes are events, and which are censoring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from dpfda.bases.lifetimes import CENSORED
from dpfda.numerics.arrays import Flags, Integers
from dpfda.numerics.errors import DataError, Location, ParameterError
from dpfda.numerics.parameters import shown
from dpfda.records.cells import OUTSIDE
from dpfda.spine.memberships import OTHER, level_key, members, public_labels

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

    def checked(self, given: bool, invalid: str) -> Self:
        """What is stated fits what is read: codes with events, and under repair both lists of them.

        Raises
        ------
        ParameterError
            If codes are stated and there are no events; or if events are read under ``"repair"``, under
            which other codes are left out, and not both are stated.
        """
        if not given and (self.causes, self.censored) != ((EVENT,), (STILL,)):
            words = "be given where causes or censored are stated"
            raise ParameterError(
                "event", words, "None", "Without it every follow-up ends with an event."
            )
        if given and invalid == "repair" and not self.stated:
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
        rest = (
            "follow-ups of any other code were left out"
            if invalid == "repair"
            else "any other is refused"
        )
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

    def refuse(self, offences: Mapping[tuple[str, str], Flags], given: bool) -> None:
        """Refuse the first offence that a follow-up makes, and say how to leave such ones out.

        offences: Which follow-ups make it, by the column's name and what it must.
        given: Whether there are events.
        Raises DataError, with the row.
        """
        stated = " (and $causes, $censored)" if given else ""
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
