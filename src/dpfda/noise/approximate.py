"""One K-norm block under (epsilon, delta): how long a shift its exact profile allows.

A shift of length r, in units of the block's scale, has delta(epsilon) > 0 only for r > epsilon, so the
length that (epsilon, delta) allows exceeds epsilon: the noise is smaller than under pure epsilon. At
delta = 1e-6 and epsilon = 1 it allows r = 1.01, 1.09, 1.29, 1.82 for M = 5, 10, 20, 50. The profile
grows with r (`dpfda.privacy.composition.block_profile`), so that smaller scales cost more and a search
by halving finds the smallest that keeps within delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats
from dpfda.privacy.composition.block_profile import block_delta, estimated_gaps
from dpfda.privacy.guarantees import ApproximateDP

# Bits of a length of shift, and of the first step away from the estimate in floats.
BITS = 52
FIRST_STEP = 34


@lru_cache(maxsize=256)
def block_scale(dimension: int, length: Fraction, guarantee: ApproximateDP) -> int:
    """Smallest integer scale of a block that keeps the guarantee.

    dimension: Number M of coordinates.
    length: Longest shift, in grid units.
    Returns a scale at which the profile is at most delta, decided in ball arithmetic.
    """
    epsilon, delta = guarantee.epsilon, guarantee.delta

    def holds(scale: int) -> bool:
        return block_delta(dimension, length / scale, epsilon) <= delta

    start = math.ceil(length / (epsilon + _gap(dimension, guarantee)))
    return _smallest(holds, max(1, start))


def _smallest(holds: Callable[[int], bool], start: int) -> int:
    """Smallest positive integer that satisfies a predicate true from some number on."""
    step = max(1, start >> FIRST_STEP)
    if holds(start):
        high, low = start, start - step
        while low > 0 and holds(low):
            high, step = low, 2 * step
            low = high - step
        low = max(low, 0)
    else:
        low, high = start, start + step
        while not holds(high):
            low, step = high, 2 * step
            high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def block_ratio(dimension: int, guarantee: ApproximateDP) -> Fraction:
    """Longest shift over scale that keeps the guarantee, rounded down by less than one part in 2^50."""
    length: Fraction = (guarantee.epsilon + _gap(dimension, guarantee)) * 2**BITS
    return length / block_scale(dimension, length, guarantee)


def _gap(dimension: int, guarantee: ApproximateDP) -> Fraction:
    epsilon, delta = float(guarantee.epsilon), float(guarantee.delta)
    return Fraction(float(estimated_gaps(dimension, epsilon, delta)))


def estimated_ratios(dimensions: ArrayLike, guarantee: ApproximateDP) -> Floats:
    """`block_ratio` for several numbers of coordinates, in floats: to compare designs.

    Between a few numbers of coordinates it is interpolated, to about four digits.
    """
    sizes = np.asarray(dimensions, dtype=np.int64)
    nodes = np.unique(np.rint(np.geomspace(sizes.min(), sizes.max(), 40)).astype(np.int64))
    epsilon, delta = float(guarantee.epsilon), float(guarantee.delta)
    ratios = epsilon + estimated_gaps(nodes, epsilon, delta)
    return np.asarray(np.exp(np.interp(np.log(sizes), np.log(nodes), np.log(ratios))))
