"""The least budget, or number of units, that an expected error asks for."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from dpfda.numerics.errors import ParameterError

# Probability of a band that is wanted; where least budgets and sizes are looked for.
LEVEL, EPSILONS, SIZES = 0.95, (1e-6, 1e4), (2.0, 1e9)
# Digits of the answer, which is rounded up.
DIGITS, STEPS, ROUNDS = 3, 30, 4
# Of steps: the slopes of log ratio against log value that are believed, and how far one goes at most.
FLATTEST, STEEPEST, FARTHEST = -0.25, -4.0, math.log(30.0)
# What a ratio counts for at most: where there is no plan at all nothing is enough.
TOO_LARGE = 1e6

Ratio = Callable[[float], float]


def beyond(error: float | None, band: float | None, reach: str) -> ParameterError:
    """Nothing within reach is enough."""
    name, wanted = ("error", error) if band is None else ("band", band)
    remedy = "What bounds, smoothing and the grid leave out stays, whatever the budget and the number."
    return ParameterError(name, f"be within reach of {reach}", f"{wanted:g}", remedy)


def least(
    ratio: Callable[[float, bool], float], start: float, limits: tuple[float, float], close: float
) -> tuple[float, float] | None:
    """The least value, rounded up to a few digits, at which a falling ratio is at most one.

    None where there is none within the limits. It is looked for by the quick ratio, times what the full
    one is of it near there; the answer is one where the full one is at most one.

    Parameters
    ----------
    ratio : callable
        Takes a value and whether to be quick.
    start : float
    limits : (float, float)
    close : float
        How closely it is looked for.

    Returns
    -------
    (float, float)
        The value, and the full ratio over the quick one there.
    """
    known, factor, at = cache(ratio), 1.0, start
    for _ in range(ROUNDS):
        found = crossing(lambda x, by=factor: by * known(x, True), at, limits, close)  # type: ignore[misc]
        if found is None:
            return None
        at = value = rounded_up(found)
        guessed, factor = factor, known(value, False) / known(value, True)
        if abs(factor / guessed - 1) < close:
            break
    for step in range(STEPS):
        if known(value, False) <= 1:
            return value, factor
        value = rounded_up(value * (1 + close * 2.0**step))
    return None


def crossing(ratio: Ratio, start: float, limits: tuple[float, float], close: float) -> float | None:
    """A value at which a falling ratio is at most one, and hardly less of it is not.

    None where there is none within the limits. Steps go by the slope between the last two values, and
    where values on both sides of one are known, between these.

    Parameters
    ----------
    ratio : callable
    start : float
    limits : (float, float)
    close : float
        So little more than the value sought is close enough.
    """
    lowest, highest = (math.log(limit) for limit in limits)
    at, slope = min(max(math.log(start), lowest), highest), -1.0
    below = above = before = None
    for step in range(STEPS):
        height = math.log(min(max(ratio(math.exp(at)), 1e-12), TOO_LARGE))
        here = (at, height)
        if before is not None and before[0] != at:
            slope = min(max((height - before[1]) / (at - before[0]), STEEPEST), FLATTEST)
        before, room = here, -slope * close
        below, above = (here, above) if height > 0 else (below, here)
        if -room < height <= 0:
            break
        if below and above:
            if above[0] - below[0] < close:
                break
            at = _between(below, above, room / 2, halve=step % 2 == 1)
            continue
        if at in (lowest, highest):
            break
        # Always some way, and ever farther: the ratio may jump, or not fall for a while.
        move = min(max(abs((height + room / 2) / slope), close * 2.0**step), FARTHEST)
        at = min(max(at + math.copysign(move, height), lowest), highest)
    return None if above is None else math.exp(above[0])


def _between(below: tuple[float, float], above: tuple[float, float], lower: float, halve: bool) -> float:
    # A little below one is aimed at, which is close enough. Every other step halves: where the design
    # changes the ratio jumps, and never comes near.
    share = (below[1] + lower) / (below[1] - above[1])
    share = 0.5 if halve else min(max(share, 0.05), 0.95)
    return below[0] + share * (above[0] - below[0])


def rounded_up(value: float) -> float:
    """The least number of a few digits that is not below a value."""
    digits = DIGITS - 1 - math.floor(math.log10(value))
    # A value that has few digits already stays.
    return round(math.ceil(round(value * 10.0**digits, 6)) * 10.0**-digits, max(digits, 0))
