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

# What an estimator may be asked for.
SMALLEST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**9), Fraction(10**9)
# Where delta is positive: the profiles of larger ones take seconds.
LARGEST_APPROXIMATE_EPSILON = Fraction(10**6)
SMALLEST_DELTA = Fraction(1, 10**100)
NOTHING = Fraction(0)


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
    kind.kind: kind for kind in (PureDP, ApproximateDP, ZeroConcentratedDP)
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
    epsilons, deltas, rhos = _by_term(parts)
    concentrated = sum(rhos, sum((epsilon**2 for epsilon in epsilons), NOTHING) / 2)
    return _joined(sum(epsilons, NOTHING), sum(deltas, NOTHING), any(rhos), concentrated)


def _by_term(parts: Sequence[Guarantee]) -> list[list[Fraction]]:
    """Epsilon, delta and rho of each part; 0 where it has none."""
    terms = ("epsilon", "delta", "rho")
    return [[getattr(part, term, NOTHING) for part in parts] for term in terms]


def _joined(epsilon: Fraction, delta: Fraction, has_rho: bool, rho: Fraction) -> Guarantee:
    """The guarantee of these numbers, in zero-concentrated terms where a part is."""
    if not has_rho:
        return ApproximateDP(epsilon, delta) if delta else PureDP(epsilon)
    if delta:
        raise ParameterError("parts", "be pure or zero-concentrated, or pure or approximate", "others")
    return ZeroConcentratedDP(rho)


def largest(parts: Sequence[Guarantee]) -> Guarantee:
    """What several guarantees give together where the records of every unit went into one part alone.

    Parallel composition (McSherry 2009, Theorem 4): neighbours differ in one part's records, and in no
    other's. Each number is the largest of the parts'; a pure epsilon among rhos counts epsilon^2 / 2.

    Examples
    --------
    >>> print(largest([PureDP("1/4"), ApproximateDP("1/8", "1e-6")]))
    (0.25, 1e-06)-differential privacy
    """
    epsilon, delta, rho = (max(losses, default=NOTHING) for losses in _by_term(parts))
    return _joined(epsilon, delta, rho > 0, max(rho, epsilon**2 / 2))


def within(part: Guarantee, limit: Guarantee) -> bool:
    """Whether a guarantee is at most another, exactly and number by number.

    Pure epsilon is within approximate guarantees of that epsilon and within rho = epsilon^2 / 2 (Bun &
    Steinke 2016, Proposition 1.4).
    """
    if isinstance(part, PureDP):
        if isinstance(limit, ZeroConcentratedDP):
            return part.epsilon**2 / 2 <= limit.rho
        return part.epsilon <= limit.epsilon
    return type(part) is type(limit) and all(
        getattr(part, term) <= getattr(limit, term) for term in part.terms
    )


def budget(epsilon: object, delta: object = 0) -> PureDP | ApproximateDP:
    """The guarantee that an estimator is asked for.

    Numbers are read by `dpfda.numerics.parameters.exact`, as everywhere: int, float, Fraction, Decimal,
    numpy's scalars, and text such as "0.1" or "1/10", which is exactly that number.

    epsilon: From 1e-9 to 1e9, or to 1e6 where delta is positive.
    delta: 0, or from 1e-100 to below 1.
    Raises ParameterError if either is no number or out of range.
    """
    guarantee = guarantee_for(_read(epsilon, "epsilon"), _read(delta, "delta"))
    approximate = isinstance(guarantee, ApproximateDP)
    if isinstance(guarantee, ApproximateDP) and guarantee.delta < SMALLEST_DELTA:
        raise ParameterError("delta", "be 0 or at least 1e-100", shown(delta))
    largest = LARGEST_APPROXIMATE_EPSILON if approximate else LARGEST_EPSILON
    if not SMALLEST_EPSILON <= guarantee.epsilon <= largest:
        words = "1e6 where delta is positive" if approximate else "1e9"
        raise ParameterError("epsilon", f"lie between 1e-9 and {words}", shown(epsilon))
    return guarantee


def asked(epsilon: object, delta: object = 0, rho: object = None) -> Guarantee:
    """The guarantee that an estimator is asked for: by epsilon and delta, or by rho.

    epsilon, delta: As in `budget`.
    rho: From 1e-18 to 1e9, in the place of epsilon.
    Raises ParameterError if both or neither of epsilon and rho are given, or one is no number or out of
    range.
    """
    if rho is None:
        if epsilon is None:
            raise ParameterError(
                "epsilon", "be a number", "None", "It has no default: choose it, or rho in its place."
            )
        return budget(epsilon, delta)
    if epsilon is not None:
        remedy = "Leave one out: rho is zero-concentrated privacy, epsilon pure or with a delta."
        raise ParameterError("rho", "be given instead of epsilon, not beside it", shown(rho), remedy)
    if _read(delta, "delta") != 0:
        raise ParameterError(
            "delta", "be 0 beside rho, which implies a delta for every epsilon", shown(delta)
        )
    guarantee = ZeroConcentratedDP(_read(rho, "rho"))
    if not SMALLEST_EPSILON**2 <= guarantee.rho <= LARGEST_EPSILON:
        raise ParameterError("rho", "lie between 1e-18 and 1e9", shown(rho))
    return guarantee


def _read(value: object, name: str) -> Fraction:
    remedy = ""
    if name == "delta" and isinstance(value, tuple | list):
        remedy = "Bounds are given by their name: bounds=(lower, upper)."
    elif value is None:
        remedy = "It has no default: choose it."
    else:
        return exact(value, name)
    raise ParameterError(name, "be a number", shown(value), remedy)
