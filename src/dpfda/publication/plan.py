"""A plan: what would be published, of whom and at what price, from public numbers alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours

PlanType = TypeVar("PlanType", bound="Plan")
Total = TypeVar("Total")


class Plan(ABC):
    """The public side of a release: all but the data. Base of the plans of all summaries.

    An estimator makes one from its parameters, the columns and the number of units, and hands it down:
    whatever reads, sums, charges or draws knows the plan and not the estimator.

    Attributes
    ----------
    guarantee : Guarantee
        Of the whole release.
    neighbours : Neighbours
    unit : str
        Who is protected.
    bounded : mapping
        The public bound on one unit: its description, and its numbers where it has any.
    about : mapping
        Name of the summary, labels and units of the axes.
    """

    guarantee: Guarantee
    neighbours: Neighbours
    unit: str
    bounded: Mapping[str, Any]
    about: Mapping[str, Any]

    @property
    @abstractmethod
    def functions(self) -> str:
        """What the published function consists of, in words."""

    @property
    @abstractmethod
    def tuning(self) -> Mapping[str, Any]:
        """Name of the mechanism and its public tuning, as they are known before the charge."""

    @abstractmethod
    def costs(self) -> dict[str, Cost]:
        """What each stage of the release costs."""

    def certified(self) -> Certificate:
        """The certificate of the release, which is about to be charged."""
        return Certificate.charged(self.costs(), self.neighbours, self.unit, self.bounded, self.tuning)

    def entry(self) -> dict[str, Any]:
        """Public description of the release for the ledger's history."""
        return {
            "summary": self.about.get("summary", "function"),
            "neighbours": str(self.neighbours),
            "privacy_unit": self.unit,
            "bound": self.bounded["description"],
            "basis": self.functions,
            "mechanism": self.tuning["name"],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Prepared(Generic[PlanType, Total]):
    """A plan and the private side that answers it, before anything is charged or drawn.

    Parameters
    ----------
    plan : Plan
        Public.
    total : IntegerSum, or what it will be made of
        Private: the exact sum; the records, where what is summed follows from an earlier stage.
    """

    plan: PlanType
    total: Total

    def __repr__(self) -> str:
        return f"Prepared({type(self.plan).__name__}, content private)"
