"""Privacy guarantees, neighbour relations and privacy units, in exact rational arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import below_one, exact, positive, readable, root_at_most, shown
from dpfda.numerics.words import several


class Neighbours(StrEnum):
    """Which pairs of data sets the guarantee makes hard to tell apart."""

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    @classmethod
    def parse(cls, value: Any) -> Neighbours:
        """Read a relation from its name."""
        try:
            return cls(value)
        except ValueError:
            raise ParameterError("neighbours", "be 'replace-one' or 'add-remove'", repr(value)) from None

    def differences(self, radius: int) -> int:
        """Norm by which one unit, held in a ball of this radius, can move the sum."""
        return 2 * radius if self is Neighbours.REPLACE_ONE else radius

    def describe(self, unit: str) -> str:
        """Say in words what neighbouring data sets are."""
        if self is Neighbours.REPLACE_ONE:
            return f"data sets that differ in one {unit} (the number of {several(unit)} is public)"
        return f"data sets of which one has one {unit} more (the number of {several(unit)} is private)"


@dataclass(frozen=True)
class PureDP:
    """Pure differential privacy: P(A) <= exp(epsilon) P'(A) for every event A."""

    epsilon: Fraction
    kind: ClassVar[str] = "pure"
    terms: ClassVar[tuple[str, ...]] = ("epsilon",)

    def __post_init__(self) -> None:
        epsilon = positive(self.epsilon, "epsilon", "Smaller epsilon is more private.")
        object.__setattr__(self, "epsilon", epsilon)

    def __str__(self) -> str:
        return f"{readable(self.epsilon)}-differential privacy (pure)"


@dataclass(frozen=True)
class ApproximateDP:
    """Approximate differential privacy: P(A) <= exp(epsilon) P'(A) + delta."""

    epsilon: Fraction
    delta: Fraction
    kind: ClassVar[str] = "approximate"
    terms: ClassVar[tuple[str, ...]] = ("epsilon", "delta")

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", PureDP(self.epsilon).epsilon)
        object.__setattr__(self, "delta", below_one(self.delta, "delta", "Use 0 for pure privacy."))

    def __str__(self) -> str:
        return f"({readable(self.epsilon)}, {readable(self.delta)})-differential privacy"


@dataclass(frozen=True)
class ZeroConcentratedDP:
    """Zero-concentrated differential privacy: Renyi divergence of order a at most rho a."""

    rho: Fraction
    kind: ClassVar[str] = "zero-concentrated"
    terms: ClassVar[tuple[str, ...]] = ("rho",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive(self.rho, "rho"))

    def __str__(self) -> str:
        return f"{readable(self.rho)}-zero-concentrated differential privacy"


Guarantee = PureDP | ApproximateDP | ZeroConcentratedDP

KINDS: dict[str, type[Guarantee]] = {
    made.kind: made for made in (PureDP, ApproximateDP, ZeroConcentratedDP)
}


def guarantee_for(epsilon: object, delta: object = 0) -> PureDP | ApproximateDP:
    """Pure guarantee where delta is 0, approximate elsewhere.

    Parameters
    ----------
    epsilon : number or text
        Privacy loss, positive and finite. Public.
    delta : number or text
        Failure mass, 0 <= delta < 1. Public.

    Raises
    ------
    ParameterError
        If either is out of range, not finite or not a number.

    Examples
    --------
    >>> print(guarantee_for(0.5))
    0.5-differential privacy (pure)
    """
    if exact(delta, "delta") == 0:
        return PureDP(exact(epsilon, "epsilon"))
    return ApproximateDP(exact(epsilon, "epsilon"), exact(delta, "delta"))


def checked_guarantee(guarantee: object) -> Guarantee:
    """A guarantee, or a ParameterError."""
    if not isinstance(guarantee, Guarantee):
        raise ParameterError(
            "guarantee", "be a PureDP, ApproximateDP or ZeroConcentratedDP", shown(guarantee)
        )
    return guarantee


def split(guarantee: Guarantee, share: Fraction) -> tuple[PureDP, Guarantee]:
    """Split off a pure share of the budget; what is left composes with it to the whole.

    The share is of epsilon. Basic composition: (e1, 0) and (e - e1, delta) give (e, delta); a pure
    e1 costs e1^2/2 in zero-concentrated terms (Bun & Steinke 2016, Proposition 1.4).
    """
    if isinstance(guarantee, ZeroConcentratedDP):
        # The largest dyadic e1 with e1^2 / 2 <= share * rho.
        part = root_at_most(2 * share * guarantee.rho, 40)
        return PureDP(part), ZeroConcentratedDP(guarantee.rho - part**2 / 2)
    part = guarantee.epsilon * share
    rest = guarantee.epsilon - part
    if isinstance(guarantee, PureDP):
        return PureDP(part), PureDP(rest)
    return PureDP(part), ApproximateDP(rest, guarantee.delta)


def without_delta(guarantee: Guarantee) -> PureDP | ZeroConcentratedDP:
    """The guarantee of noise that leaves a delta to others."""
    return PureDP(guarantee.epsilon) if isinstance(guarantee, ApproximateDP) else guarantee


def pure_part(guarantee: Guarantee) -> PureDP:
    """The largest pure guarantee that is within another: its epsilon, or the root of 2 rho."""
    if not isinstance(guarantee, ZeroConcentratedDP):
        return PureDP(guarantee.epsilon)
    return split(guarantee, Fraction(2**40 - 1, 2**40))[0]


def added(parts: Sequence[Guarantee]) -> Guarantee:
    """What several guarantees give together, each mechanism knowing the earlier outputs.

    Basic composition, exactly: epsilons add, deltas add (Dwork & Roth 2014, Theorem B.1), rhos add (Bun
    & Steinke 2016, Lemma 1.7), a pure epsilon among rhos counting epsilon^2 / 2 (their Proposition 1.4).

    Examples
    --------
    >>> print(added([PureDP("1/4"), ApproximateDP("3/4", "1e-6")]))
    (1, 1e-06)-differential privacy
    """
    epsilon, delta, rho = Fraction(0), Fraction(0), Fraction(0)
    for part in parts:
        if isinstance(part, ZeroConcentratedDP):
            rho += part.rho
        else:
            epsilon += part.epsilon
            delta += part.delta if isinstance(part, ApproximateDP) else 0
    if not rho:
        return ApproximateDP(epsilon, delta) if delta else PureDP(epsilon)
    if delta:
        raise ParameterError("parts", "be pure or zero-concentrated, or pure or approximate", "others")
    squares = [part.epsilon**2 for part in parts if isinstance(part, PureDP)]
    return ZeroConcentratedDP(rho + sum(squares, Fraction(0)) / 2)


def largest(parts: Sequence[Guarantee]) -> Guarantee:
    """What several guarantees give together where the records of every unit went into one part alone.

    Parallel composition (McSherry 2009, Theorem 4): neighbours differ in one part's records, and in no
    other's. Each number is the largest of the parts'; a pure epsilon among rhos counts epsilon^2 / 2.

    Examples
    --------
    >>> print(largest([PureDP("1/4"), ApproximateDP("1/8", "1e-6")]))
    (0.25, 1e-06)-differential privacy
    """
    none = Fraction(0)
    concentrated = [part for part in parts if isinstance(part, ZeroConcentratedDP)]
    others = [part for part in parts if not isinstance(part, ZeroConcentratedDP)]
    epsilon = max((part.epsilon for part in others), default=none)
    delta = max((part.delta for part in others if isinstance(part, ApproximateDP)), default=none)
    rho = max((part.rho for part in concentrated), default=none)
    if not rho:
        return ApproximateDP(epsilon, delta) if delta else PureDP(epsilon)
    if delta:
        raise ParameterError("parts", "be pure or zero-concentrated, or pure or approximate", "others")
    return ZeroConcentratedDP(max(rho, epsilon**2 / 2))


def within(part: Guarantee, whole: Guarantee) -> bool:
    """Whether a guarantee is at most another, exactly and number by number.

    Pure epsilon is within approximate guarantees of that epsilon and within rho = epsilon^2 / 2 (Bun &
    Steinke 2016, Proposition 1.4).
    """
    if isinstance(part, PureDP):
        if isinstance(whole, ZeroConcentratedDP):
            return part.epsilon**2 / 2 <= whole.rho
        return part.epsilon <= whole.epsilon
    return type(part) is type(whole) and all(
        getattr(part, term) <= getattr(whole, term) for term in part.terms
    )
