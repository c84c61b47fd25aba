"""The least budget, or number of units, that an expected error asks for."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpfda.numerics.errors import ParameterError

# How closely it is looked for, and digits of the answer, which is rounded up.
CLOSE, DIGITS, STEPS = 0.005, 3, 40


def beyond(error: float | None, band: float | None, reach: str) -> ParameterError:
    """Nothing within reach is enough."""
    name, wanted = ("error", error) if band is None else ("band", band)
    remedy = "What bounds, smoothing and the grid leave out stays, whatever the budget and the number."
    return ParameterError(name, f"be within reach of {reach}", f"{wanted:g}", remedy)


def least(
    ratio: Callable[[float, bool], float], start: float, limits: tuple[float, float]
) -> float | None:
    """The least value, rounded up to a few digits, at which a falling ratio is at most one.

    None where there is none within the limits. The ratio is taken to fall about like one over the value:
    steps follow the two last values that lie on either side of one.
    """
    lowest, highest = limits
    at, below, above = min(max(start, lowest), highest), None, None
    for step in range(STEPS):
        found = ratio(at, True)
        if found > 1:
            below = (math.log(at), math.log(found))
        else:
            above = (math.log(at), math.log(max(found, 1e-12)))
            if found > 1 - CLOSE:
                break
        if below and above:
            if above[0] - below[0] < CLOSE:
                break
            # A little below one is aimed at, which is close enough.
            share = (below[1] + CLOSE / 2) / (below[1] - above[1])
            # Every other step halves: where the design changes the ratio jumps, and never comes near.
            share = 0.5 if step % 2 else min(max(share, 0.05), 0.95)
            at = math.exp(below[0] + share * (above[0] - below[0]))
        elif (at >= highest and below) or (at <= lowest and above):
            break
        else:
            # To the other side of one, by some way at least: the ratio may jump there.
            move = max(1.02 * found, 1.03) if found > 1 else min(0.98 * found, 0.97)
            at = min(max(at * min(max(move, 1 / 30), 30.0), lowest), highest)
    if above is None:
        return None
    value = _rounded_up(math.exp(above[0]))
    for step in range(STEPS // 4):
        if ratio(value, False) <= 1:
            return value
        value = _rounded_up(value * (1 + CLOSE * 2**step))
    return None


def _rounded_up(value: float) -> float:
    digits = DIGITS - 1 - math.floor(math.log10(value))
    # A value that has few digits already stays.
    return round(math.ceil(round(value * 10.0**digits, 6)) * 10.0**-digits, max(digits, 0))
