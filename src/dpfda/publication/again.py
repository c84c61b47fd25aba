"""Plans that can be made again, for another guarantee and number of units, from the same choices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, update_wrapper
from inspect import signature
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from dpfda.numerics.parameters import known, length
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication.plan import Plan

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

    def made(guarantee: Given, count: int, /, *args: Choices.args, **choices: Choices.kwargs) -> Made:
        plan = make(guarantee, count, *args, **choices)
        more: dict[str, object] = {**choices, "planned": True} if choice else choices
        # Set, and not replaced: what has been designed for the plan stays with it.
        object.__setattr__(plan, "again", partial(remake, **more))
        object.__setattr__(plan, "expected_size", count if choices.get("planned") else None)
        return plan

    remake: Callable[..., Made] = made
    update_wrapper(made, make)
    return made
