"""Arrays of real numbers enclosed by sums of two floats: twice the bits of `dpfda.numerics.enclosures`.

A number x lies within `radius` of high + low. As there, only IEEE 754 is assumed, u = 2^-53, and
`outward` covers the roundings made in computing a radius. Sums of two floats are exact as pairs (Knuth;
additions do not underflow), and so are products (Dekker), where the product is at least 2^-800, say,
for then no part of it underflows; where it is smaller, so is all that could be lost, and 2^-799 is added
to the radius. An overflow leaves NaN in the lower part, and so in the radius of all that is made of it.

What is not exact is the arithmetic of lower parts. Each of its operations is off by at most u times its
result, and so the sum of these results is taken, times u, instead of a bound proved beforehand.

Logarithms, roots, cosines and quotients, of which few are wanted, are taken in ball arithmetic one by
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpfda.numerics.arrays import Flags, Floats, Integers, Objects
from dpfda.numerics.enclosures import DECIDED, UNIT, Enclosed, all_alike, no_radius, outward

_SPLITTER: Final = 2.0**27 + 1
_UNDERFLOW: Final = 2.0**-799


@dataclass(frozen=True, eq=False)
class Twofold(Enclosed):
    """Real numbers x_j with |x_j - high_j - low_j| <= radius_j.

    high, low, radius: Of one shape, or such that they can be broadcast to one. Where low or radius is
        infinite or NaN nothing is known.
    """

    high: Floats
    low: Floats
    radius: Floats

    def _of(self, value: object, /) -> Twofold:
        return exactly(value)

    def __neg__(self) -> Twofold:
        return Twofold(-self.high, -self.low, self.radius)

    def __add__(self, other: object) -> Twofold:
        other = exactly(other)
        total, error = _sum(self.high, other.high)
        lower = self.low + other.low
        rest = error + lower
        rounded = UNIT * (np.abs(lower) + np.abs(rest))
        return Twofold(*_sum(total, rest), outward(self.radius + other.radius + rounded))

    def __mul__(self, other: object) -> Twofold:
        other = exactly(other)
        product, error = exact_product(self.high, other.high)
        first, second = self.high * other.low, self.low * other.high
        cross = first + second
        rest = error + cross
        rounded = UNIT * (np.abs(first) + np.abs(second) + np.abs(cross) + np.abs(rest))
        # The product of the lower parts is left out.
        rounded = rounded + np.abs(self.low * other.low) + _UNDERFLOW
        reach = np.abs(other.high) + np.abs(other.low) + other.radius
        carried = (np.abs(self.high) + np.abs(self.low)) * other.radius + self.radius * reach
        return Twofold(*_sum(product, rest), outward(carried + rounded))

    def __truediv__(self, other: object) -> Twofold:
        return _from_balls(balls(self) / balls(exactly(other)))

    def sum(self, axis: int) -> Twofold:
        """Sums along an axis."""
        lines = Twofold(*(np.moveaxis(part, axis, 0) for part in (self.high, self.low, self.radius)))
        return reduce(Twofold.__add__, (lines[place] for place in range(len(lines.high))))

    def nearest(self) -> tuple[Integers, Flags]:
        """Nearest integers (n,), and which of them (n,) the enclosures determine."""
        first = np.rint(self.high)
        # Both numbers are multiples of the last place of the first: the difference is exact.
        rest = (self.high - first) + self.low
        more = np.rint(rest)
        distance = np.abs(rest - more) + self.radius + UNIT * np.abs(rest)
        decided = (distance < DECIDED) & (np.abs(self.high) < 2.0**61) & (np.abs(more) < 2.0**61)
        first, more = (np.where(decided, part, 0.0).astype(np.int64) for part in (first, more))
        return first + more, decided


def exactly(value: object) -> Twofold:
    """Floats are themselves; so are integers below 2^53 in size."""
    if isinstance(value, Twofold):
        return value
    exact = np.asarray(value, dtype=np.float64)
    return Twofold(exact, no_radius(exact.shape), no_radius(exact.shape))


def integers(values: Sequence[int]) -> Twofold:
    """Integers of any size below 2^1000, rounded to two floats."""
    if all_alike(values):
        one = integers(values[:1])
        return Twofold(*(np.broadcast_to(part, len(values)) for part in (one.high, one.low, one.radius)))
    high = np.asarray(values, dtype=np.float64)
    if np.abs(high).max(initial=0.0) < 2.0**62:
        low = (np.asarray(values, dtype=np.int64) - high.astype(np.int64)).astype(np.float64)
    else:
        nearest = (int(near) for near in high)
        low = np.array([float(value - near) for value, near in zip(values, nearest, strict=True)])
    return Twofold(high, low, np.where(np.abs(low) < 2.0**53, 0.0, outward(UNIT * np.abs(low))))


def uniforms(first: NDArray[np.uint64], second: NDArray[np.uint64], bits: int) -> Twofold:
    """Numbers in [0, 1] whose leading bits are known: so many (at most 64), and 64 more."""
    unit = 2.0**-bits
    upper, lower = (first >> np.uint64(32)).astype(np.float64), (first & np.uint64(2**32 - 1))
    high, low = _sum(upper * (2.0**32 * unit), lower.astype(np.float64) * unit)
    further = second.astype(np.float64) * (unit * 2.0**-64)
    rest = low + further
    radius = unit * 2.0**-64 + UNIT * (further + np.abs(rest))
    return Twofold(*_sum(high, rest), outward(radius))


def sum_of_logs(parts: Iterable[Twofold]) -> Twofold:
    """The sum of the logarithms of numbers (n,) in (0, 1], in parts: the logarithm of their product."""
    product, exponent = exactly(np.ones(1)), 0
    for part in parts:
        width = max(len(product.high), 1 << (len(part.high) - 1).bit_length())
        product, more = as_fraction(_padded(product, width) * _padded(part, width))
        exponent += more
    while product.high.size > 1:
        half = product.high.size // 2
        product, more = as_fraction(product[:half] * product[half:])
        exponent += more
    return _from_balls(balls(product[0]).log() + arb(2).log() * exponent)


def log(x: Twofold) -> Twofold:
    """Natural logarithms."""
    return _from_balls(_log(balls(x)))


def sqrt(x: Twofold) -> Twofold:
    """Square roots of numbers that are not negative."""
    return _from_balls(_sqrt(balls(x)))


def turns(x: Twofold) -> tuple[Twofold, Twofold]:
    """Cosines and sines of 2 pi x."""
    sines, cosines = sines_and_cosines(balls(x))
    return _from_balls(cosines), _from_balls(sines)


_log, _sqrt = np.frompyfunc(arb.log, 1, 1), np.frompyfunc(arb.sqrt, 1, 1)
sines_and_cosines: Callable[[Objects], tuple[Objects, Objects]] = np.frompyfunc(
    lambda x: (2 * x).sin_cos_pi(), 1, 2
)
_ball = np.frompyfunc(lambda high, low, radius: arb(high, radius) + low, 3, 1)


def balls(x: Twofold) -> Any:
    """The same enclosures as balls, one or an array of objects."""
    return _ball(x.high, x.low, x.radius)


def _from_balls(enclosures: Any) -> Twofold:
    high, low, radius = (np.asarray(part, dtype=np.float64) for part in _parts(enclosures))
    return Twofold(high, low, outward(radius))


def _parts_of(ball: arb) -> tuple[float, float, float]:
    high = float(ball)
    rest = ball - high
    low = float(rest)
    # Rounded to nearest, which `outward` covers; infinite or NaN where the ball is.
    return high, low, float((rest - low).abs_upper())


_parts = np.frompyfunc(_parts_of, 1, 3)


def _padded(x: Twofold, width: int) -> Twofold:
    """With ones behind."""
    if x.high.size == width:
        return x
    high, low, radius = np.ones(width), np.zeros(width), np.zeros(width)
    high[: x.high.size], low[: x.high.size], radius[: x.high.size] = x.high, x.low, x.radius
    return Twofold(high, low, radius)


def as_fraction(x: Twofold) -> tuple[Twofold, int]:
    """Numbers times powers of two, exactly, so that upper parts are in [1/2, 1); all exponents' sum."""
    high, exponents = np.frexp(x.high)
    low, radius = np.ldexp(x.low, -exponents), np.ldexp(x.radius, -exponents)
    # Subnormal numbers may have been rounded.
    return Twofold(high, low, outward(radius)), int(exponents.sum(dtype=np.int64))


def _sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """A sum of floats, and what it is off by."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _halves(a: Floats) -> tuple[Floats, Floats]:
    """Two floats of at most 26 bits that add up to one."""
    large = _SPLITTER * a
    upper = large - (large - a)
    return upper, a - upper


def exact_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """A product of floats, and what it is off by."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
