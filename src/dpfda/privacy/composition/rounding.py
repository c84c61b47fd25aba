"""Rational numbers a little above real ones: the private side of every bound in this room."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from dpfda.numerics.exactness import upper_end
from dpfda.numerics.specials import narrowed

# Bits of ball arithmetic, and significant bits that a rounded-up number keeps.
PRECISION = 256
KEPT = 64
# Stands for a positive number where a bound came out at zero or below.
SMALLEST = Fraction(1, 2**64)


def at_least(value: arb | Fraction) -> Fraction:
    """A number at or above the one given, by at most one part in 2^63, with a short denominator."""
    number = upper_end(value) if isinstance(value, arb) else value
    if number == 0:
        return number
    bits = number.numerator.bit_length() - number.denominator.bit_length()
    grid = Fraction(2) ** (KEPT - bits)
    return Fraction(math.ceil(number * grid)) / grid


def root_at_least(value: Fraction) -> Fraction:
    """The square root, where it is a rational number; else one above it, by at most one part in 2^63.

    A scale that divides evenly is then stated by the loss it was made for, and not by a little more.
    """
    exact = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    if exact**2 == value:
        return exact
    bits = value.numerator.bit_length() - value.denominator.bit_length()
    # An even number of bits is shifted, so that the root of the shift is a power of two.
    half = KEPT - bits // 2
    shifted = value * Fraction(4) ** half
    return Fraction(math.isqrt(math.ceil(shifted) - 1) + 1) / Fraction(2) ** half


def turning(
    holds: Callable[[Fraction], bool], start: Fraction = Fraction(1)
) -> tuple[Fraction, Fraction]:
    """As `narrowed`, for a predicate that is true of small positive numbers: its ends are looked for.

    They are a doubling apart, of numbers that are a power of two times `start`.
    """
    high = start
    while holds(high):
        high *= 2
    while not holds(high / 2):
        high /= 2
    return narrowed(holds, high / 2, high)


def log_of(value: Fraction) -> float:
    """Natural logarithm in floats, also where the number itself is beyond them."""
    return math.log(value.numerator) - math.log(value.denominator)


def bits_for(epsilon: Fraction) -> int:
    """Enough that a denominator with the exponential of epsilon keeps its digits."""
    return PRECISION + max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
