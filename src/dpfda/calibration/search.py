"""Monotone search on rational numbers, from the private side."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

# Bits of ball arithmetic in which losses are evaluated.
PRECISION = 256


def largest(holds: Callable[[Fraction], bool], ceiling: Fraction) -> Fraction:
    """Largest number that satisfies a monotone predicate, to 60 bits and from below."""
    high = Fraction(ceiling)
    while not holds(high / 2):
        high /= 2
    low = high / 2
    for _ in range(60):
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
