"""What a plan needs for an expected error or band: least numbers of units, one or a table of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, Protocol, Self

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import probability, real
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP
from dpfda.publication.least import SIZES, crossing, least, rounded_up

# A table has a half and twice the budget, and steps beyond.
TIMES = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))


class Expecting(Protocol):
    """What is asked of a plan: what it expects, and what plans for other public numbers do."""

    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def n(self) -> int | None: ...

    @property
    def simulated(self) -> bool: ...

    @property
    def close(self) -> float: ...

    @property
    def error_words(self) -> str: ...

    @property
    def band_words(self) -> str: ...

    def at(self, n: int | None = None, *, guarantee: Guarantee | None = None) -> Self: ...

    def expected(self, quick: bool = False) -> float | None: ...

    def half_width(self, level: float) -> float | None: ...


# What the plan for a guarantee and a number of units gives over what is wanted; perhaps quickly.
Ratio = Callable[[Guarantee, int | None, bool], float]


def ratio_of(plan: Expecting, error: float | None, band: float | None, level: float) -> Ratio:
    """What plans give over what is wanted; infinite where there is no such plan.

    Parameters
    ----------
    plan : Plan
        Others are made from it.
    error, band : float
        Exactly one of them.
    level : float
        Of the band.

    Raises
    ------
    ParameterError
        If they are unusable. The ratio raises where none can be stated.
    """
    if (error is None) == (band is None):
        found = "none" if error is None else "both"
        raise ParameterError("error", "be given, or band, and not both", found)
    name = "error" if band is None else "band"
    wanted = real(error if band is None else band, name, 1e-100, 1e100)
    probability(level, "level")

    @cache
    def ratio(guarantee: Guarantee, n: int | None, quick: bool) -> float:
        if quick and not (plan.simulated and band is None):
            return ratio(guarantee, n, False)
        try:
            made = plan.at(n=n, guarantee=guarantee)
        except ParameterError:
            if n is None:
                raise
            # A budget so small, or so few units, that what is asked for cannot be published at all.
            return math.inf
        given = made.expected(quick) if band is None else made.half_width(level)
        if given is None:
            words = plan.error_words if band is None else plan.band_words
            raise ParameterError(name, "be one that can be stated", "none", words)
        return given / wanted

    return ratio


def least_units(plan: Expecting, ratio: Ratio) -> tuple[int, float] | None:
    """The least number of units, and what the full ratio is of the quick one there."""
    found = least(
        lambda at, quick: ratio(plan.guarantee, math.ceil(at), quick),
        float(plan.n or 100), SIZES, plan.close,
    )  # fmt: skip
    return None if found is None else (math.ceil(found[0]), found[1])


def table(plan: Expecting, ratio: Ratio) -> list[dict[str, float | None]] | None:
    """The least numbers of units for the plan's budget and others around it; None where it has none."""
    middle = least_units(plan, ratio)
    if middle is None:
        return None
    (units, factor), rows, term = middle, [], plan.guarantee.terms[0]
    for share in TIMES:
        other = times(plan.guarantee, share)

        def quickly(at: float, other: Guarantee = other) -> float:
            return factor * ratio(other, math.ceil(at), True)

        # A product of budget and number says nearly as much, whichever is larger: a look is enough.
        start = units / float(share)
        found = units if share == 1 else crossing(quickly, start, SIZES, 2 * plan.close)
        many = None if found is None else math.ceil(rounded_up(found))
        row: dict[str, float | None] = {term: float(getattr(other, term)), "least_n": many}
        rows.append(row)
    return rows


def with_epsilon(guarantee: Guarantee, epsilon: Any) -> Guarantee:
    """The guarantee with another epsilon."""
    if isinstance(guarantee, ZeroConcentratedDP):
        raise ParameterError("epsilon", "be left out of a plan by rho", f"{epsilon}", "Pass guarantee=.")
    delta = getattr(guarantee, "delta", None)
    return PureDP(epsilon) if delta is None else ApproximateDP(epsilon, delta)


def times(guarantee: Guarantee, factor: Fraction) -> Guarantee:
    """The guarantee with its epsilon, or rho, times a factor."""
    if isinstance(guarantee, ZeroConcentratedDP):
        return ZeroConcentratedDP(guarantee.rho * factor)
    return with_epsilon(guarantee, guarantee.epsilon * factor)
