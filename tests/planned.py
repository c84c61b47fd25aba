"""Plans of means made from basis, bound and budget, with what tests of designs look at."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpfda.bases import Basis
from dpfda.bounds import Bound
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.design import ExpectedError
from dpfda.mechanisms.design.expectation import DRAWS
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.publication import MeanPlan


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan of a mean of a public number of units."""

    plan: MeanPlan
    draws: int

    @property
    def problem(self) -> Problem:
        return self.plan.problem(self.plan.size or 0)

    @property
    def design(self) -> Design:
        assert self.plan.planned is not None
        return self.plan.planned

    @cached_property
    def error(self) -> ExpectedError:
        found = self.plan.expected_error(self.draws)
        assert found is not None
        return found

    @property
    def typical_error(self) -> float:
        return self.plan.typical(self.error.total)

    @property
    def typical_limit(self) -> float | None:
        return self.plan.limit()

    @property
    def typical_limit_of_any(self) -> float | None:
        return self.plan.limit_of_any()


def make_plan(
    basis: Basis,
    bound: Bound,
    size: int,
    guarantee: Guarantee,
    neighbours: Neighbours = Neighbours.REPLACE_ONE,
    mechanism: Any = "auto",
    draws: int = DRAWS,
) -> Planned:
    """The plan of a mean of `size` units."""
    return Planned(
        MeanPlan.of(basis, bound, guarantee, neighbours, mechanism, size, "record", {}), draws
    )
