"""What an expected error or band needs: the least budget, or least numbers of units."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any

from dpfda.numerics.errors import ParameterError
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP

# A table has a half and twice the budget, and steps beyond.
TIMES = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
# Other tables go from an eighth of the budget or size to eight times it.
SPAN, ROWS = 8, 7
# Probability of a band that is wanted; where least budgets and sizes are looked for.
LEVEL, EPSILONS, SIZES = 0.95, (1e-6, 1e4), (2.0, 1e9)
# Digits of the answer, which is rounded up.
DIGITS, STEPS, ROUNDS = 3, 30, 4
# No answer is so many times as large as another that is enough.
LESS = 1.1
# Of steps: the slopes of log ratio against log value that are believed, and how far one goes at most.
FLATTEST, STEEPEST, FARTHEST = -0.25, -4.0, math.log(30.0)
# What a ratio counts for at most: where there is no plan at all nothing is enough.
TOO_LARGE = 1e6
# Remarks on the error that remains.
UNITS_MAY_DO = ". So does sampling, where it is counted: more units may do."
NOTHING_DOES = " and the number."
Falling = Callable[[float], float]


def ordered(rows: list[dict[str, float | None]]) -> list[dict[str, float | None]]:
    """Rows of growing budgets, of which none needs more units than a smaller one.

    Where ratios are nearly flat, trials make them rise and fall. What is enough in the middle is so with
    a larger budget, and no less is with a smaller one.
    """
    middle, numbers = len(rows) // 2, [row["least_n"] or math.inf for row in rows]
    smaller = [*accumulate(numbers[middle::-1], max)][:0:-1]
    numbers = [*smaller, *accumulate(numbers[middle:], min)]
    least = [None if math.isinf(many) else many for many in numbers]
    return [row | {"least_n": many} for row, many in zip(rows, least, strict=True)]


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


def factors(steps: int) -> list[Fraction]:
    """Factors from 1/SPAN to SPAN, evenly on a log scale, 1 in the middle."""
    exponents = [2 * index / (steps - 1) - 1 for index in range(steps)]
    return [Fraction(SPAN**exponent).limit_denominator(10**6) for exponent in exponents]


@dataclass(frozen=True, eq=False)
class Wanted:
    """What nine of ten releases are to keep to: an error, or a half-width of a band.

    name: {"error", "band"}.
    value: In the units of the function.
    ratio: What a plan for a guarantee and a number of units gives most releases, over the value;
        infinite where there is no such plan. The last argument is whether to be quick.
    close: How closely least numbers are looked for: no closer than errors are known.
    """

    name: str
    value: float
    ratio: Callable[[Guarantee, int | None, bool], float]
    close: float

    def least_epsilon(self, guarantee: Guarantee, n: int | None) -> float:
        """The least epsilon for so many units, from that of a guarantee on."""
        if isinstance(guarantee, ZeroConcentratedDP):
            raise ParameterError("rho", "be an epsilon where the least one is wanted", "rho")

        def at(epsilon: float, quick: bool) -> float:
            return self.ratio(with_epsilon(guarantee, Fraction(f"{epsilon:.12g}")), n, quick)

        answer = least(at, float(guarantee.epsilon), EPSILONS, self.close)
        if answer is None:
            raise self._beyond(f"an epsilon up to {EPSILONS[1]:g}", UNITS_MAY_DO)
        if answer[0] <= EPSILONS[0]:
            words = "be smaller: a release that says nothing is expected to be as exact"
            raise ParameterError(self.name, words, f"{self.value:g}")
        return answer[0]

    def least_units(self, guarantee: Guarantee, n: int | None) -> tuple[int, float]:
        """The least number of units, from `n` on, and the full ratio over the quick one there."""
        answer = least(
            lambda at, quick: self.ratio(guarantee, math.ceil(at), quick),
            float(n or 100), SIZES, self.close,
        )  # fmt: skip
        if answer is None:
            raise self._beyond(f"{SIZES[1]:g} units", NOTHING_DOES)
        return math.ceil(answer[0]), answer[1]

    def table(self, guarantee: Guarantee, n: int | None) -> list[dict[str, float | None]]:
        """The least numbers of units for a guarantee and others around it."""
        (units, factor), rows = self.least_units(guarantee, n), list[dict[str, float | None]]()
        slope = math.log2(self.ratio(guarantee, 2 * units, True) / self.ratio(guarantee, units, True))
        for share in TIMES:
            other, term = times(guarantee, share), guarantee.terms[0]

            def quickly(at: float, other: Guarantee = other) -> float:
                return factor * self.ratio(other, math.ceil(at), True)

            # A product of budget and number says nearly as much, whichever is larger: a look is enough.
            start = units / float(share)
            size = units if share == 1 else crossing(quickly, start, SIZES, 2 * self.close, slope)
            many = None if size is None else math.ceil(rounded_up(size))
            rows.append({term: float(getattr(other, term)), "least_n": many})
        return ordered(rows)

    def _beyond(self, reach: str, more: str) -> ParameterError:
        """Nothing within reach is enough."""
        remedy = f"What bounds, smoothing and the grid leave out stays, whatever the budget{more}"
        return ParameterError(self.name, f"be within reach of {reach}", f"{self.value:g}", remedy)


def least(
    ratio: Callable[[float, bool], float], start: float, limits: tuple[float, float], close: float
) -> tuple[float, float] | None:
    """The least value, rounded up to a few digits, at which a falling ratio is at most one.

    None where there is none within the limits. It is looked for by the quick ratio, times what the full
    one is of it near there; the answer is one where the full one is at most one.

    ratio: Takes a value and whether to be quick.
    limits: (float, float).
    close: How closely it is looked for.
    Returns (float, float): The value, and the full ratio over the quick one there.
    """
    cached, factor, at = cache(ratio), 1.0, start
    for _ in range(ROUNDS):
        crossed = crossing(lambda x, by=factor: by * cached(x, True), at, limits, close)  # type: ignore[misc]
        if crossed is None and cached(limits[1], False) <= 1:
            # What few releases have may level off above one where that of all does not.
            crossed = crossing(lambda x: cached(x, False), at, limits, close)
        if crossed is None:
            return None
        at = value = rounded_up(crossed)
        guessed, factor = factor, cached(value, False) / cached(value, True)
        if abs(factor / guessed - 1) < close:
            break
    for step in range(STEPS):
        if cached(value, False) <= 1:
            # Where errors hardly fall, the quick ratio may have led too far.
            while (less := rounded_up(value / LESS)) > limits[0] and cached(less, False) <= 1:
                value = less
            return value, factor
        value = rounded_up(value * (1 + close * 2.0**step))
    return None


def crossing(
    ratio: Falling, start: float, limits: tuple[float, float], close: float, slope: float = -1.0
) -> float | None:
    """A value at which a falling ratio is at most one, and hardly less of it is not.

    None where there is none within the limits. Steps go by the slope between the last two values, and
    where values on both sides of one are known, between these.

    limits: (float, float).
    close: So little more than the value sought is close enough.
    slope: That is believed at first.
    """
    lowest, highest = (math.log(limit) for limit in limits)
    at, slope = min(max(math.log(start), lowest), highest), min(max(slope, STEEPEST), FLATTEST)
    below = above = before = None
    for step in range(STEPS):
        height = math.log(min(max(ratio(math.exp(at)), 1e-12), TOO_LARGE))
        here = (at, height)
        # Where it has levelled off, the end decides whether it is within reach.
        flat = False
        if before is not None and before[0] != at:
            slope = (height - before[1]) / (at - before[0])
            flat = height > max(-slope * (highest - at), 0.0)
            slope = min(max(slope, STEEPEST), FLATTEST)
        before, room = here, -slope * close
        below, above = (here, above) if height > 0 else (below, here)
        if -room < height <= 0:
            break
        if below and above:
            if above[0] - below[0] < close:
                break
            # A little below one is aimed at, which is close enough. Every other step halves: where the
            # design changes the ratio jumps, and never comes near.
            share = 0.5 if step % 2 else (below[1] + room / 2) / (below[1] - above[1])
            at = below[0] + min(max(share, 0.05), 0.95) * (above[0] - below[0])
            continue
        if at in (lowest, highest):
            break
        # Always some way, and ever farther: the ratio may jump, or not fall for a while.
        move = min(max(abs((height + room / 2) / slope), close * 2.0**step), FARTHEST)
        at = highest if flat else min(max(at + math.copysign(move, height), lowest), highest)
    return None if above is None else math.exp(above[0])


def rounded_up(value: float) -> float:
    """The least number of a few digits that is not below a value."""
    digits = DIGITS - 1 - math.floor(math.log10(value))
    # A value that has few digits already stays.
    return round(math.ceil(round(value * 10.0**digits, 6)) * 10.0**-digits, max(digits, 0))
