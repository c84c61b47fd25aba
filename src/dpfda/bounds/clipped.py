"""Parts of a sum clipped to a public length, as integers: each from its own record, to the last bit."""

from __future__ import annotations

import math

import numpy as np

from dpfda.numerics.arrays import Floats, Integers


def exponentials(values: Floats) -> Floats:
    """Exponentials of numbers up to zero, to seven digits: each by itself, whatever stands beside it."""
    scaled = np.maximum(values, -40.0) * (1 / math.log(2))
    whole = np.rint(scaled)
    rest = (scaled - whole) * math.log(2)
    power = np.full_like(rest, 1 / math.factorial(7))
    for order in range(6, -1, -1):
        power = power * rest + 1 / math.factorial(order)
    return np.asarray(np.ldexp(power, whole.astype(np.int32)))


def in_order(parts: Floats) -> Floats:
    """Sum over the first axis, one after another."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return np.asarray(total)


def clipped(columns: Floats, levels: Integers, clip: float) -> Integers:
    """Columns (C, N), clipped to a public length, as integers of length at most a level (N,) each."""
    lengths = np.sqrt(in_order(columns * columns))
    scale = levels * (1 - 2.0**-40) / np.maximum(lengths, clip)
    floats = np.trunc(columns * scale)
    # What is no number, or too large for the square, is no integer either.
    integers = np.where(np.abs(floats) <= levels, floats, 2.0 * levels).astype(np.int64)
    inside = (integers * integers).sum(axis=0) <= levels * levels
    return np.asarray(np.where(inside, integers, 0))
