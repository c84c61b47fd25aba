"""Operating system entropy, ball arithmetic and rounding: the only place that draws privacy noise.

A draw is a continuous variable, a function of uniform variables, rounded to the nearest integer.
Each uniform is known by its leading bits, that is, as an interval; the function is evaluated on
intervals (python-flint's ``arb``) and the integer is read off when the result determines it. If it
does not, more bits are appended *to the same uniforms*. Drawing afresh instead would bias the law
towards integers whose intervals are decided early. Every integer returned is therefore the exact
rounding of the exact function of an infinite sequence of fair bits: no float is involved.

Bounds are rational numbers a little above real ones: the private side (`at_least`).

Only the bits matter for correctness: an ``arb`` is an enclosure at whatever working precision is in
force, so another thread that changes python-flint's global precision can slow a draw down but not
falsify it.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx, fmpq

from dpfda.numerics.specials import narrowed

BitSource = Callable[[int], int]
Transform = Callable[[Sequence[arb]], list[arb]]

INITIAL_BITS = 128
GUARD_BITS = 32
# Bits of ball arithmetic, and significant bits that a rounded-up number keeps.
PRECISION, KEPT = 256, 64
# Stands for a positive number where a bound came out at zero or below.
SMALLEST = Fraction(1, 2**64)


# One for python-flint's global precision.
_lock = threading.RLock()


def _renew() -> None:
    """Make the lock anew in a forked child: its owner may not be there."""
    global _lock  # noqa: PLW0603
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Hold python-flint's precision at this many bits, restoring it afterwards."""
    with _lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def system_bytes(size: int) -> bytes:
    """Fresh bytes from the operating system, whence all noise comes; nothing is buffered."""
    return os.urandom(size)


def system_bits(bits: int) -> int:
    """Fresh bits from the operating system as a non-negative integer."""
    size = (bits + 7) // 8
    return int.from_bytes(system_bytes(size), "big") >> (8 * size - bits)


def enclosed(value: Fraction | int) -> arb:
    """Enclose a rational number."""
    if type(value) is not Fraction:
        value = Fraction(value)
    return arb(fmpq(value.numerator, value.denominator))


def upper_end(value: arb) -> Fraction:
    """Upper end of an enclosure, exactly, or 2^-8192 where it is smaller in size than that.

    The exponent of an enclosure is unbounded; written out, e^(-10^12) would fill the memory.
    """
    mantissa, exponent = (int(part) for part in value.upper().man_exp())
    if mantissa.bit_length() + exponent < -8192:
        return Fraction(1, 2**8192)
    return Fraction(mantissa << exponent) if exponent > 0 else Fraction(mantissa, 1 << -exponent)


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


def nearest_integer(value: arb) -> int | None:
    """Integer nearest to the number enclosed, or None where the enclosure does not determine it."""
    integer = (value + arb(0.5)).floor().unique_fmpz()
    return None if integer is None else int(integer)


def uniform_ball(numerator: int, bits: int) -> arb:
    """Enclosure of a uniform variable on [0, 1] whose leading bits are known."""
    return arb(2 * numerator + 1, 1) / _power(bits + 1)


@lru_cache(maxsize=64)
def _power(bits: int) -> arb:
    """A power of two, which is exact at any precision."""
    return arb(2) ** bits


class Uniforms:
    """Uniform variables, each known by as many bits as were asked for so far: more stand behind them.

    source: Gives fair bits; by default the operating system's.
    """

    def __init__(self, count: int, bits: int = INITIAL_BITS, source: BitSource | None = None) -> None:
        self._source = system_bits if source is None else source
        self._bits, self._numerators = bits, [self._source(bits) for _ in range(count)]

    def balls(self, bits: int) -> list[arb]:
        """Enclosures of them, by this many bits or more."""
        more = bits - self._bits
        if more > 0:
            self._numerators = [number << more | self._source(more) for number in self._numerators]
            self._bits = bits
        return [uniform_ball(number, self._bits) for number in self._numerators]


def draw_rounded(
    transform: Transform,
    uniforms: int,
    source: BitSource | None = None,
    initial_bits: int = INITIAL_BITS,
) -> list[int]:
    """Round a function of independent uniform variables to integers, exactly.

    Parameters
    ----------
    transform : callable
        Takes enclosures of the uniforms, returns enclosures of the values to round.
    uniforms : int
        How many uniforms it takes.
    source : callable, optional
        Gives fair bits; the operating system's (`system_bits`) except in tests of this function.
    initial_bits : int
        Leading bits that each uniform starts with.

    Returns
    -------
    list of int
        Nearest integers of the transform at the uniforms.

    Notes
    -----
    There is no limit on refinement. The chance that 128 bits do not decide a value of magnitude
    2^40 is of order 2^-80.
    """
    drawn, bits = Uniforms(uniforms, initial_bits, source), initial_bits
    while True:
        with precision(bits + GUARD_BITS):
            integers = [nearest_integer(value) for value in transform(drawn.balls(bits))]
        decided = [integer for integer in integers if integer is not None]
        if len(decided) == len(integers):
            return decided
        bits *= 2


def normals(uniforms: Sequence[arb]) -> list[arb]:
    """Standard normal variables, as many as uniforms (an even number): Box and Muller."""
    values: list[arb] = []
    for radius, angle in zip(uniforms[::2], uniforms[1::2], strict=True):
        length = (-2 * radius.log()).sqrt()
        sine, cosine = (2 * angle).sin_cos_pi()
        values += [length * cosine, length * sine]
    return values


def below(bound: int, source: BitSource | None = None) -> int:
    """A uniform integer from 0 to bound - 1, exactly: bits are drawn again until they are below it."""
    source = system_bits if source is None else source
    bits = bound.bit_length()
    while True:
        drawn = source(bits)
        if drawn < bound:
            return drawn
