"""What plans of summaries derive from: they can be made again, and foretell by simulated releases.

A trial goes the whole way of a release, but that its data are made up by a public formula, and its
noise is simulated from a fixed key, as for bands: the same public numbers have the same trials.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial, update_wrapper
from inspect import signature
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar, cast

import numpy as np

from dpfda.bases.ordinary import Outlook
from dpfda.numerics.arrays import Floats
from dpfda.numerics.parameters import known, length
from dpfda.numerics.speed import one_thread
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication.needed import times
from dpfda.publication.plan import Plan
from dpfda.releases.bands import Band
from dpfda.releases.facts import Claim

Choices = ParamSpec("Choices")
# What has given guarantees, perhaps of some kinds alone, to a plan for so many units.
Given = TypeVar("Given", bound=Guarantee)
Made = TypeVar("Made", bound="PlanAgain")


@dataclass(frozen=True, eq=False, repr=False)
class PlanAgain(Plan):
    """A plan that a function marked by `planner` made, and can make for other public numbers.

    again: Makes the plan for another guarantee and number of units; set by `planner`.
    expected_size: Number of units to expect, where it is private.
    """

    again: Callable[[Guarantee, int], PlanAgain] | None = field(default=None, kw_only=True)
    expected_size: int | None = field(default=None, kw_only=True)

    def remade(self, guarantee: Guarantee, n: int) -> Self:
        return cast("Self", known(self.again)(guarantee, n))

    def weighted(self, largest: float, **changed: Any) -> Self:
        """The plan of records with survey weights, whose sum is private; made again it is so, too.

        largest: Public. Raises ParameterError if it is no positive number.
        changed: What else differs.
        """
        again, about = self.again, {**self.about, "max_weight": length(largest, "max_weight")}
        if again is not None:
            changed["again"] = lambda guarantee, n: again(guarantee, n).weighted(largest)
        return replace(self, expected_size=self.n, **changed | {"size": None, "about": about})


class Designed(PlanAgain):
    """A plan whose choices, such as a number of cells, are for a public number of units.

    designed: None where there is none.
    """

    designed: int | None

    @property
    def n(self) -> int | None:
        return self.designed or self.expected_size


def planner(
    make: Callable[Concatenate[Given, int, Choices], Made],
) -> Callable[Concatenate[Given, int, Choices], Made]:
    """Mark a function of guarantee, number of units and public choices: its plans can be made again.

    guarantee: As it is asked for.
    count: Number of units; used where it is public.
    planned: Of those that have it: whether the number of units is planned, in the place of a public
        size, and no count of records. It is when a plan is made again, and the number is to be expected
        where it is private.

    All raise ParameterError if a public number is missing or unusable.
    """
    choice = "planned" in signature(make).parameters

    def marked(guarantee: Given, count: int, /, *args: Choices.args, **choices: Choices.kwargs) -> Made:
        plan = make(guarantee, count, *args, **choices)
        more: dict[str, object] = {**choices, "planned": True} if choice else choices
        # Set, and not replaced: what has been designed for the plan stays with it.
        object.__setattr__(plan, "again", partial(remake, **more))
        object.__setattr__(plan, "expected_size", count if choices.get("planned") else None)
        return plan

    remake: Callable[..., Made] = marked
    update_wrapper(marked, make)
    return marked


# Of functions that errors are expected over; a budget so many times larger is unlimited.
ORDINARY = "the middle over ordinary"
UNLIMITED, LARGEST = Fraction(10**6), 10**8


def large(guarantee: Guarantee) -> Guarantee:
    """So large a budget that its noise does not count."""
    (term, *_) = guarantee.terms
    budget = Fraction(getattr(guarantee, term))
    return times(guarantee, min(UNLIMITED, LARGEST / budget))


@dataclass(frozen=True, eq=False)
class Trial:
    """A simulated release, and what its error is the distance from.

    release: A function with a band; it is made while its values are asked for.
    points, truth: array (q,). Points spread evenly, and values (q,) there of the function that it is to
        be near.
    places: Where its band is looked at; by default where it is drawn.
    """

    release: Any
    points: object
    truth: Floats
    places: Floats | None = None

    @cached_property
    def error(self) -> float:
        """Root mean square distance."""
        return float(np.sqrt(np.mean((self._values() - self.truth) ** 2)))

    def _values(self) -> Floats:
        return np.asarray(self.release(self.points))

    def half_width(self, level: float) -> float:
        """Of the default band, on average."""
        where = {} if self.places is None else {"points": self.places}
        band: Band = self.release.band(level, **where)
        return float(np.mean(band.upper - band.lower)) / 2


class PairTrial(Trial):
    """A trial of a function of two points; its band is looked at where they are one."""

    def _values(self) -> Floats:
        return np.asarray(self.release.on_grid())


class TriedPlan(Plan):
    """A plan that expects what its trials have."""

    TRIALS: ClassVar[int] = 16
    QUICK: ClassVar[int] = 6
    # Of these so many are asked for a band, which may take long.
    BANDS: ClassVar[int] = 16
    simulated: ClassVar[bool] = True

    @abstractmethod
    def trials(self, count: int) -> Sequence[Trial]:
        """The first of its trials; none where too little is known, such as the number of units."""

    @property
    def apart(self) -> float:
        """How far errors of sets of data lie apart beyond those of its trials, in logarithms."""
        return 0.0

    @property
    def bands_apart(self) -> float:
        """The same of half-widths of bands."""
        return 0.0

    @cached_property
    def _tried(self) -> Sequence[Trial]:
        return self.trials(self.TRIALS)

    @one_thread(scipy=False)
    def outlook(self, quick: bool = False) -> Outlook | None:
        tried = self._tried[: self.QUICK if quick else None]
        errors = np.array([trial.error for trial in tried])
        return Outlook.of(errors, apart=self.apart) if tried else None

    def _band_said(self, level: float) -> str:
        (trial, *_) = self._tried
        claim: Claim = trial.release._claims()[0]
        return claim.words(level)

    @one_thread(scipy=False)
    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        tried = self._tried[: self.QUICK if quick else self.BANDS]
        widths = np.array([trial.half_width(level) for trial in tried])
        return Outlook.of(widths, apart=self.bands_apart) if tried else None
