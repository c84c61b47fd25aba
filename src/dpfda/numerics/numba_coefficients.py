"""Loops of records whose coefficients are bounded, compiled by numba; imported only for large data.

`dpfda.bounds.l1sums`, of sums in an l1 ball, and `dpfda.covariance.deviations` call them, and say what
they make, and why.
"""

from __future__ import annotations

import math

import numpy as np

from dpfda.numerics.arrays import Flags, Floats, Integers, Numbers
from dpfda.numerics.numba_lanes import lane_square
from dpfda.numerics.numba_loops import (
    LARGEST,
    UNSIGNED,
    compiled,
    in_any_order,
    is_finite,
    room_for_lanes,
)

# Exponents beyond which a row is left to NumPy.
FAREST = 900


@compiled
def place(
    rows: Numbers, weights: Floats, exponent: int, limit: float, integers: Floats, near: Flags
) -> None:
    """Rows as integers of the public grid, and which of them are within its limit of length."""
    scale = math.ldexp(1.0, exponent)
    for i in range(rows.shape[0]):
        row, own = rows[i], integers[i]
        for k in range(UNSIGNED(row.size)):
            own[k] = np.rint(np.float64(row[k]) * scale)
        near[i] = lane_square(own, weights, 1.0, 0.0) <= limit * limit


@compiled
def on_own_grids(
    rows: Numbers, lower: Floats, upper: Floats, center: Floats, bits: int, own: Floats, out: Integers
) -> None:
    """Finite rows, clipped and less a center, as integers of at most so many bits; and a shift of each.

    Row i of what is made is 2^shift times what it stands for, rounded: a function of the record alone.
    """
    for i in range(rows.shape[0]):
        row, scaled, largest = rows[i], own[i], np.int64(0)
        for k in range(UNSIGNED(row.size)):
            scaled[k] = min(max(np.float64(row[k]), lower[k]), upper[k]) - center[k]
            # Bits of sizes, which are in the order of these: integers are compared as vectors.
            largest = max(largest, np.float64(abs(scaled[k])).view(np.int64))
        out[i] = bits - math.frexp(np.int64(largest).view(np.float64))[1]
        if abs(out[i]) <= FAREST:
            # A product with a power of two is what ldexp gives, where that power is a float.
            factor = math.ldexp(1.0, out[i])
            for k in range(UNSIGNED(row.size)):
                scaled[k] = np.rint(scaled[k] * factor)
        else:
            for k in range(row.size):
                scaled[k] = np.rint(math.ldexp(scaled[k], out[i]))


@compiled
def place_long(
    rows: Numbers, exponent: int, bits: int, integers: Floats, exponents: Integers, near: Flags
) -> int:
    """Make the other rows again, each with an exponent of its own; returns how many are unusable."""
    unusable, center = 0, np.zeros(rows.shape[1])
    lower, upper = center - np.inf, center + np.inf
    for i in range(rows.shape[0]):
        exponents[i] = 0
        if near[i]:
            continue
        if is_finite(rows[i]):
            alone = slice(i, i + 1)
            on_own_grids(rows[alone], lower, upper, center, bits, integers[alone], exponents[alone])
            exponents[i] = exponent - exponents[i]
        else:
            unusable, near[i] = unusable + 1, True
            integers[i] = 0.0
    return unusable


@in_any_order
def _floors(row: Floats, factor: float, sizes: Floats) -> tuple[np.int64, float, float]:
    """Sizes of a row in whole grid units, the bits of the largest one before that, and their sum.

    And the sum of sizes that are rounded up.
    """
    largest, total, above = np.int64(0), 0.0, 0.0
    for k in range(UNSIGNED(row.size)):
        size = np.float64(abs(row[k]) * factor)
        largest = max(largest, size.view(np.int64))
        sizes[k] = np.floor(size)
        total += np.floor(size)
        above += np.ceil(size)
    return largest, total, above


@in_any_order
def _above(sizes: Floats, level: float) -> tuple[float, float]:
    """By how much integers are above a level, together, and how many of them."""
    total, count = 0.0, 0.0
    for k in range(UNSIGNED(sizes.size)):
        more = sizes[k] - level
        total += max(more, 0.0)
        count += 1.0 if more > 0.0 else 0.0
    return total, count


@compiled
def _level(sizes: Floats, limit: float, total: float) -> float:
    """The least whole number by which integers are to be lowered for a sum of at most `limit`.

    What is left is a convex function of the level, and a step of Newton's, rounded up, leads from a
    level that is too low to a higher one that is not too high; the first is from zero, where all of
    `total` is left, as if of all numbers. All numbers are integers below 2^53, and a quotient of such
    numbers is less than 1 / count off: it is not rounded to an integer that it exceeds.
    """
    level, count = 0.0, float(sizes.size)
    while total > limit:
        level += np.ceil((total - limit) / count)
        total, count = _above(sizes, level)
    return level


@compiled
def add_up(
    integers: Floats,
    coefficients: Floats,
    exponents: Integers,
    near: Flags,
    shift: int,
    limit: float,
    careful: Flags,
    grid: Floats,
    projected: Floats,
) -> None:
    """Add rows inside the ball on the grid, of others projections; some are left to the caller."""
    # With zeros behind, which are above no level: loops are faster over numbers that fill vectors.
    sizes = room_for_lanes(coefficients.shape[1])
    for i in range(coefficients.shape[0]):
        row, careful[i] = coefficients[i], abs(exponents[i] - shift) > FAREST
        if careful[i]:
            continue
        factor = math.ldexp(1.0, exponents[i] - shift)
        bits, total, above = _floors(row, factor, sizes)
        largest = np.int64(bits).view(np.float64)
        careful[i] = not largest <= LARGEST
        if careful[i]:
            continue
        if near[i] and above <= limit:
            own = integers[i]
            for k in range(UNSIGNED(own.size)):
                grid[k] += own[k]
            continue
        if largest > limit:
            # First all sizes are lowered to at most the limit.
            for k in range(UNSIGNED(row.size)):
                sizes[k] = np.floor(max(limit - (largest - abs(row[k]) * factor), 0.0))
            total = _above(sizes, 0.0)[0]
        level = _level(sizes, limit, total) if total > limit else 0.0
        for k in range(UNSIGNED(row.size)):
            projected[k] += math.copysign(max(sizes[k] - level, 0.0), row[k])
