"""Arrays of real numbers enclosed by floats: a midpoint and a proved radius each.

What is assumed of the machine: float64 addition, subtraction, multiplication, division and square root
are those of IEEE 754 (correctly rounded to nearest; a fused multiply-add is one rounding less), and
`numpy.frexp`, `numpy.rint` and conversion from integers likewise. No logarithm, sine or cosine of a
mathematical library is used: they are polynomials here, with their errors bounded below.

Write u = 2^-53. Every operation of floats is exact up to a factor 1 + d, |d| <= u, or, where the result
is subnormal, an absolute error below 2^-1074. A radius is a sum of a few non-negative terms, each
computed with a few such factors: all of them are covered by the factor 1 + 2^-45 and the addition of
2^-1000 in `outward`.

**Logarithm.** x = m 2^e with m in [r, 2r), r the float next to the root of 1/2. f = m - 1 is exact
(Sterbenz), s = f / (2 + f), |s| <= .1716, log m = 2 artanh s = 2 s (1 + s^2/3 + ... + s^20/21) + t,
|t| <= 2 |s| s^22 / (23 (1 - s^2)) < 2 |s| 2^-60. s carries 2 u, s^2 thus 5 u, the sum of the terms
after 1, below .0101, less than 20 u of itself (Horner's rule: each further term is smaller by .03), so
the bracket u + .21 u, and 2 s (...) less than 5 u. Where e is not 0, |log x| >= log(2)/2 >= |log m|;
e times the upper part of log 2, of 32 bits, is exact; the lower parts and two additions bring less
than 3 u |log x|. Together below 8 u |log x|.

**Cosine and sine of 2 pi v.** q = rint(4 v) and v - q/4 are exact (Sterbenz; 0 <= v <= 1).
y = 2 pi (v - q/4), |y| <= pi/4 + u, carries 2 u of itself, 1.6 u at most, and the derivative of either
function is at most 1. Taylor's polynomials to y^17 and y^16 miss less than 2^-58; evaluating them adds
less than 2 u (the sums after the first term, below .3, carry less than 5 u of themselves, the last
addition half a u). Together below 4 u, absolutely.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Final, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpfda.numerics.arrays import Flags, Floats, Integers

UNIT: Final = 2.0**-53
_RELATIVE: Final = 1 + 2.0**-45
_ABSOLUTE: Final = 2.0**-1000
# What covers the roundings of sums of many terms, and of how many.
_SUM_RELATIVE: Final = 1 + 2.0**-30
MOST_TERMS: Final = 2**21
_ZERO: Final = np.zeros(())
LOG_ERROR: Final = 8 * UNIT
_TURN_ERROR: Final = 4 * UNIT
_TWO_PI: Final = 2 * math.pi
# More than 2 pi: how fast cosines and sines of 2 pi x change.
_TURN_SLOPE: Final = 7.0
# Upper part of log 2 with 32 bits, and the rest.
_LOG2_HIGH: Final = float.fromhex("0x1.62e42feep-1")
_LOG2_LOW: Final = float.fromhex("0x1.a39ef35793c76p-33")
_ROOT_HALF: Final = math.sqrt(0.5)
_LOG_TERMS: Final = tuple(1 / k for k in range(21, 1, -2))
_SINE_TERMS: Final = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(8, 0, -1))
_COSINE_TERMS: Final = tuple((-1) ** k / math.factorial(2 * k) for k in range(8, 0, -1))
# So many factors of a product keep it above the smallest normal number.
FACTORS: Final = 8
# What a product may be off by, relative to itself, and what covers the squares of it.
_LARGEST_ERROR: Final = 2.0**-10
_PRODUCT_RELATIVE: Final = 1 + 2.0**-8
# An integer is taken where nothing enclosed is as far from it.
DECIDED: Final = 0.5 - 2.0**-40

Radius = TypeVar("Radius", float, Floats)


def outward(radius: Radius) -> Radius:
    """A radius that also covers the roundings made in computing it."""
    return radius * _RELATIVE + _ABSOLUTE


class Enclosed(Protocol):
    """Real numbers in an array, each known by an enclosure; a divisor must be positive.

    A class of them is a dataclass of arrays; what is turned round or taken from others is written here.
    """

    # So that NumPy leaves products with arrays to these classes.
    __array_ufunc__: ClassVar[None] = None

    def _of(self, value: object, /) -> Self:
        """A value as numbers of this class."""

    def __neg__(self) -> Self: ...
    def __add__(self, other: object, /) -> Self: ...
    def __mul__(self, other: object, /) -> Self: ...
    def __truediv__(self, other: object, /) -> Self: ...
    def sum(self, axis: int) -> Self: ...
    def nearest(self) -> tuple[Integers, Flags]: ...

    def __getitem__(self, places: object, /) -> Self:
        return type(self)(*(part[places] for part in vars(self).values()))

    def __sub__(self, other: object, /) -> Self:
        return self + (-self._of(other))

    def __radd__(self, other: object, /) -> Self:
        return self + other

    def __rmul__(self, other: object, /) -> Self:
        return self * other

    def __rsub__(self, other: object, /) -> Self:
        return self._of(other) - self

    def __rtruediv__(self, other: object, /) -> Self:
        return self._of(other) / self


Real = TypeVar("Real", bound=Enclosed)


@dataclass(frozen=True, eq=False)
class Enclosures(Enclosed):
    """Real numbers x_j with |x_j - middle_j| <= radius_j; radius infinite or NaN where nothing is known.

    middle, radius: Of one shape.
    """

    middle: Floats
    radius: Floats

    def _of(self, value: object, /) -> Enclosures:
        return enclosed(value)

    def __neg__(self) -> Enclosures:
        return Enclosures(-self.middle, self.radius)

    def __add__(self, other: object) -> Enclosures:
        other = enclosed(other)
        middle = self.middle + other.middle
        return Enclosures(middle, outward(self.radius + other.radius + UNIT * np.abs(middle)))

    def __mul__(self, other: object) -> Enclosures:
        other = enclosed(other)
        middle = self.middle * other.middle
        carried = np.abs(self.middle) * other.radius + self.radius * (
            np.abs(other.middle) + other.radius
        )
        return Enclosures(middle, outward(carried + UNIT * np.abs(middle)))

    def __truediv__(self, other: object) -> Enclosures:
        """Quotients; the divisor must be positive, and is not known to be where its radius reaches 0."""
        other = enclosed(other)
        middle = self.middle / other.middle
        least = other.middle - other.radius
        # What underflows before the division is as large as any other error after it.
        carried = outward(self.radius + outward(np.abs(middle)) * other.radius) / least
        radius = np.where(least > 0, carried + 2 * UNIT * np.abs(middle), np.inf)
        return Enclosures(middle, outward(radius))

    def sum(self, axis: int) -> Enclosures:
        """Sums along an axis, added up in any order; of more than `MOST_TERMS` nothing is known."""
        middle, count = self.middle.sum(axis=axis), self.middle.shape[axis]
        # Each of the additions is off by at most u times the sum of sizes, up to a factor (1 + u)^n.
        # Zero times a sum that overflowed, in whatever order, is NaN: nothing is known of it.
        roundings = count * UNIT * (np.abs(self.middle).sum(axis=axis) + 0.0 * middle)
        radius = outward((self.radius.sum(axis=axis) + roundings) * _SUM_RELATIVE)
        return Enclosures(middle, radius if count <= MOST_TERMS else np.full_like(radius, np.inf))

    def nearest(self) -> tuple[Integers, Flags]:
        """Nearest integers (n,), and which of them (n,) the enclosures determine."""
        nearest = np.rint(self.middle)
        # Both numbers are multiples of the last place of the middle: the difference is exact.
        with np.errstate(invalid="ignore"):
            distance = np.abs(self.middle - nearest) + self.radius
        decided = (distance < DECIDED) & (np.abs(self.middle) < 2.0**51)
        return np.where(decided, nearest, 0.0).astype(np.int64), decided


def enclosed(value: object) -> Enclosures:
    """Floats are themselves; so are integers below 2^53 in size."""
    if isinstance(value, Enclosures):
        return value
    exact = np.asarray(value, dtype=np.float64)
    return Enclosures(exact, no_radius(exact.shape))


def no_radius(shape: tuple[int, ...]) -> Floats:
    """Zeros of a shape, in the room of one."""
    return np.broadcast_to(_ZERO, shape) if shape else _ZERO


def integers(values: Sequence[int]) -> Enclosures:
    """Integers of any size below 2^1000, rounded to floats."""
    if all_alike(values):
        unit = integers(values[:1])
        return Enclosures(*(np.broadcast_to(part, len(values)) for part in (unit.middle, unit.radius)))
    middle = np.asarray(values, dtype=np.float64)
    return Enclosures(middle, np.where(np.abs(middle) < 2.0**53, 0.0, outward(UNIT * np.abs(middle))))


def all_alike(values: Sequence[int]) -> bool:
    """Whether it is one number several times, which need not be converted so often."""
    return len(values) > 1 and values.count(values[0]) == len(values)


def uniforms(numerators: NDArray[np.uint64], bits: int = 64) -> Enclosures:
    """Numbers in [0, 1] whose leading bits (at most 64) are known."""
    scale = 2.0**-bits
    middle = numerators.astype(np.float64) * scale
    return Enclosures(middle, outward(scale + UNIT * middle))


def log(x: Enclosures) -> Enclosures:
    """Natural logarithms; see the proof above."""
    with np.errstate(all="ignore"):
        middle = _log(x.middle)
        least = x.middle - x.radius
        radius = np.where(least > 0, x.radius / least * _RELATIVE, np.inf) + LOG_ERROR * np.abs(middle)
        return Enclosures(middle, outward(radius))


def sqrt(x: Enclosures) -> Enclosures:
    """Square roots of numbers that are not negative."""
    with np.errstate(all="ignore"):
        middle = np.sqrt(x.middle)
        # |sqrt(m + d) - sqrt(m)| <= |d| / sqrt(m).
        radius = np.where(x.middle > x.radius, x.radius / middle + UNIT * middle, np.inf)
        return Enclosures(middle, outward(radius))


def turns(x: Enclosures) -> tuple[Enclosures, Enclosures]:
    """Cosines and sines of 2 pi x, x between 0 and 1; see the proof above."""
    with np.errstate(all="ignore"):
        quarter = np.rint(4 * x.middle)
        angle = _TWO_PI * (x.middle - quarter / 4)
        square = angle * angle
        sine = angle + angle * (square * _horner(square, _SINE_TERMS))
        cosine = 1.0 + square * _horner(square, _COSINE_TERMS)
        odd = np.abs(quarter - 2) == 1
        first, second = np.where(odd, sine, cosine), np.where(odd, cosine, sine)
        # Quarters 1 and 2 have negative cosines, 2 and 3 negative sines.
        first = np.where((quarter == 1) | (quarter == 2), -first, first)
        second = np.where((quarter == 2) | (quarter == 3), -second, second)
        radius = outward(np.broadcast_to(_TURN_SLOPE * x.radius + _TURN_ERROR, first.shape))
        return Enclosures(first, radius), Enclosures(second, radius)


def sum_of_logs(parts: Iterable[Enclosures]) -> Enclosures:
    """The sum of the logarithms of numbers in (0, 1], in parts; each at least 2^-64 but for chance."""
    with np.errstate(all="ignore"):
        logs = [logs_of_products(part) for part in parts]
    if not all(np.isfinite(part.radius).all() for part in logs):
        return Enclosures(np.zeros(()), np.full((), np.inf))
    # Both sums are rounded once.
    middle = math.fsum(chain.from_iterable(part.middle for part in logs))
    radius = math.fsum(chain.from_iterable(part.radius for part in logs))
    return Enclosures(np.asarray(middle), np.asarray(outward(radius + UNIT * abs(middle))))


def logs_of_products(x: Enclosures) -> Enclosures:
    """Logarithms of the products of a few numbers each."""
    count = -(-x.middle.size // FACTORS) * FACTORS
    middle, relative = np.ones(count), np.zeros(count)
    middle[: x.middle.size] = x.middle
    relative[: x.middle.size] = x.radius / x.middle
    factors, errors = middle.reshape(-1, FACTORS), relative.reshape(-1, FACTORS)
    product = np.prod(factors, axis=1)
    error = errors.sum(axis=1) + FACTORS * UNIT
    # prod (1 + e_i) - 1 <= (1 + 2^-8) sum e_i where the sum is below 2^-10; its inverse likewise.
    radius = np.where(error < _LARGEST_ERROR, product * error * _PRODUCT_RELATIVE, np.inf)
    return log(Enclosures(product, outward(radius)))


def where(chosen: Flags, x: Real, y: Real) -> Real:
    """Elements of x where chosen, else of y."""
    pairs = zip(vars(x).values(), vars(y).values(), strict=True)
    return type(x)(*(np.where(chosen, mine, other) for mine, other in pairs))


def _log(x: Floats) -> Floats:
    mantissa, exponent = np.frexp(x)
    low = mantissa < _ROOT_HALF
    mantissa = np.where(low, 2 * mantissa, mantissa)
    exponent = exponent - low
    f = mantissa - 1.0
    s = f / (2.0 + f)
    z = s * s
    part = 2 * s * (1.0 + z * _horner(z, _LOG_TERMS))
    return np.asarray(exponent * _LOG2_HIGH + (exponent * _LOG2_LOW + part))


def _horner(x: Floats, terms: tuple[float, ...]) -> Floats:
    """The polynomial whose coefficients these are, the constant last."""
    total = np.full_like(x, terms[0])
    for term in terms[1:]:
        total *= x
        total += term
    return total
