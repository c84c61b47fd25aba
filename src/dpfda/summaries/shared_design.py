"""One design of noise and shrinkage for several releases, whatever their sizes.

Means that are shrunk by different factors differ even where the data do not. Groups that are compared
are therefore all released with the design for one public number of units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpfda.bases import Basis
from dpfda.bounds import Bound
from dpfda.mechanisms import AdaptingMechanism, Design, Problem, read_mechanism
from dpfda.mechanisms.design import choose
from dpfda.privacy.guarantees import Guarantee, Neighbours


@dataclass(frozen=True)
class SharedDesign:
    """The design of a mechanism for a fixed number of units.

    **Guarantee.** That of the mechanism: its noise on the sum depends on bound, budget and neighbours,
    and the number of units decides tuning alone.

    Parameters
    ----------
    mechanism : "auto", name or Mechanism
    size : int
        Public number of units that the design is made for.
    """

    mechanism: Any
    size: int
    name: ClassVar[str] = "shared"
    takes_bodies: ClassVar[bool] = True

    def design(self, problem: Problem) -> Design:
        """What the mechanism chooses for `size` units."""
        return choose(replace(problem, size=self.size), self.mechanism)


@dataclass(frozen=True)
class AdaptingSharedDesign(SharedDesign):
    """The same for a mechanism that replaces the basis or the form of the bound."""

    def adapt(
        self,
        basis: Basis,
        bound: Bound,
        size: int | None,
        guarantee: Guarantee,
        neighbours: Neighbours,
    ) -> tuple[Basis, Bound]:
        """What the mechanism makes of them for `size` units."""
        made = read_mechanism(self.mechanism)
        if not isinstance(made, AdaptingMechanism):
            return basis, bound
        return made.adapt(basis, bound, self.size, guarantee, neighbours)


def shared_design(mechanism: object, size: int) -> SharedDesign:
    """One design for releases of any size.

    Raises
    ------
    ParameterError
        If the mechanism is unknown.
    """
    if isinstance(mechanism, str) and mechanism == "auto":
        return SharedDesign(mechanism, size)
    if isinstance(read_mechanism(mechanism), AdaptingMechanism):
        return AdaptingSharedDesign(mechanism, size)
    return SharedDesign(mechanism, size)
