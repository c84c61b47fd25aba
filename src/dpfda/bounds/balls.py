"""Integer balls, boxes and ellipsoids: clip a row of coefficients, round, and verify it in integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.numerics.embedding import Rows, sum_columns, times_powers
from dpfda.numerics.errors import ParameterError

Norm = Literal["l1", "l2", "linf"]

# Exponents beyond this would overflow; a record that large is clipped along its direction anyway.
LARGEST_EXPONENT = 900


@dataclass(frozen=True)
class IntegerBall:
    """Integer vectors c with |c| <= radius, in units of 2^-exponent of the coefficients.

    Parameters
    ----------
    norm : {"l1", "l2", "linf"}
        Norm of the ball.
    radius : int
        Largest norm, in grid units.
    exponent : int
        The grid is 2^-exponent.
    """

    norm: Norm
    radius: int
    exponent: int

    def __post_init__(self) -> None:
        if self.norm not in get_args(Norm):
            raise ParameterError("norm", f"be one of {get_args(Norm)}", repr(self.norm))

    @classmethod
    def of(cls, norm: Norm, radius: float, components: int) -> IntegerBall:
        """Choose the grid from public numbers: components * (radius + 1)^2 stays below 2^62."""
        return cls.up_to(norm, radius, math.isqrt(2**62 // components) - 1)

    @classmethod
    def up_to(cls, norm: Norm, radius: float, limit: int) -> IntegerBall:
        """Choose the finest grid on which a public radius is at most so many units."""
        exact = Fraction(radius)
        # One more than the binary logarithm of limit / exact, at most: floats would overflow.
        ratio = limit / exact
        exponent = ratio.numerator.bit_length() - ratio.denominator.bit_length()
        while exact * Fraction(2) ** exponent > limit:
            exponent -= 1
        return cls(norm, math.floor(exact * Fraction(2) ** exponent), exponent)

    @property
    def step(self) -> float:
        """Size of one step of the grid."""
        return math.ldexp(1.0, -self.exponent)

    def clip(self, rows: Rows) -> Integers:
        """Bring rows into the ball and round them to integers toward zero.

        Each row is then checked in integer arithmetic. One that is still outside (floats cannot tell
        it from the boundary) is moved by one unit a coordinate toward zero; if that does not help it
        is halved, and in the end it becomes the zero vector. Nothing is raised, because an error
        would depend on the value of a record.
        """
        # Sums of sizes are made in floats, of squares in integers.
        largest = rows.mantissas.shape[1] * self.radius ** (2 if self.norm == "l2" else 1)
        if largest >= (2**53 if self.norm == "l1" else 2**63):
            raise ParameterError(
                "radius", "be small enough to verify a row in 64 bits", f"{self.radius}"
            )
        exponents = np.minimum(rows.exponents + self.exponent, LARGEST_EXPONENT)
        with np.errstate(all="ignore"):
            clipped = self.scaled(rows.mantissas, exponents)
            np.trunc(clipped, out=clipped)
            if self.norm == "l2" and self.radius < 2**26:
                # Floats add up squares of integers exactly up to 2^53, and from there on stay above it.
                sizes = np.einsum("ij,ij->i", clipped, clipped)
                if (sizes <= self.radius**2).all():
                    return clipped.astype(np.int64)
        return repaired(clipped, self.radius, self.inside)

    def scaled(self, mantissas: Floats, exponents: Integers) -> Floats:
        """Rows brought to the ball in floats, whose rounding may leave one outside; `clip` checks."""
        if self.norm == "l1":
            return _onto_l1_ball(times_powers(mantissas, exponents), float(self.radius))
        if self.norm == "linf":
            return np.clip(times_powers(mantissas, exponents), -self.radius, self.radius)
        longest = self.radius / np.sqrt(sum_columns(mantissas * mantissas))
        scale = np.minimum(np.ldexp(1.0, exponents), longest)
        return np.asarray(mantissas * scale[:, None])

    def inside(self, integers: Integers) -> Flags:
        """Rows of any 64-bit integers that lie in the ball."""
        # Entry by entry first, without abs: below this limit no square and no sum can wrap around.
        inside = np.asarray(((-self.radius <= integers) & (integers <= self.radius)).all(axis=1))
        safe = np.where(inside[:, None], integers, 0)
        if self.norm == "l1":
            inside &= np.abs(safe).sum(axis=1) <= self.radius
        elif self.norm == "l2":
            inside &= (safe**2).sum(axis=1) <= self.radius**2
        return inside


def repaired(clipped: Floats, largest: int, inside: Callable[[Integers], Flags]) -> Integers:
    """Rows of integers held in floats, moved toward zero until an integer check finds them inside.

    A row outside is moved by one unit a coordinate, then halved, then it becomes the zero vector.

    clipped: array (n, K). Private.
    largest: Entries beyond it by more than one, and what is no number, make a row the zero vector.
    inside: Which of n rows of integers are inside; true for the zero vector.
    """
    # Whatever is no number, or too large for an integer, must not reach the cast.
    with np.errstate(all="ignore"):
        sound = np.asarray((np.abs(clipped) <= largest + 1).all(axis=1))
    if not sound.all():
        clipped = np.where(sound[:, None], clipped, 0.0)
    integers = clipped.astype(np.int64)
    outside = np.flatnonzero(~inside(integers))
    if not outside.size:
        return integers
    some = integers[outside]
    signs, sizes = np.sign(some), np.abs(some)
    for closer in (some - signs, signs * (sizes // 2), np.zeros_like(some)):
        integers[outside] = np.where(inside(integers[outside])[:, None], integers[outside], closer)
    return integers


def _onto_l1_ball(rows: Floats, radius: float) -> Floats:
    """Nearest integer point of the l1 ball but for rounding toward zero: sizes lowered by one level.

    Only entries within `radius` of the largest survive, so all are first lowered by the same amount
    to at most `radius`; the projection is the same and no magnitude cancels it. Sizes are then
    integers whose sums are below 2^53, so that no order of additions shows. The level rises from one
    that leaves too much to the next (Michelot 1986), (sum - radius) / count over the sizes above it,
    until these are the same. Rounded up it takes at least sum - radius away: what is left is in the
    ball. (A quotient of such numbers is less than 1 / count off, and is not rounded to an integer
    that it exceeds.)
    """
    lowered = np.abs(rows)
    largest = np.max(lowered, axis=1)
    high = np.flatnonzero(largest > radius)
    if high.size:
        lowered[high] = np.maximum(radius - (largest[high, None] - lowered[high]), 0.0)
    np.floor(lowered, out=lowered)
    level = np.zeros(rows.shape[0])
    outside = np.flatnonzero(lowered.sum(axis=1) > radius)
    some = lowered[outside]
    while outside.size:
        above = some > level[outside, None]
        higher = ((some * above).sum(axis=1) - radius) / np.count_nonzero(above, axis=1)
        rising = higher > level[outside]
        level[outside] = higher
        outside, some = outside[rising], some[rising]
    lowered -= np.ceil(level)[:, None]
    np.maximum(lowered, 0.0, out=lowered)
    return np.asarray(np.copysign(lowered, rows, out=lowered))


def exponentials(values: Floats) -> Floats:
    """Exponentials of numbers up to zero, to seven digits: each by itself, whatever stands beside it."""
    scaled = np.maximum(values, -40.0) * (1 / math.log(2))
    powers = np.rint(scaled)
    rest = (scaled - powers) * math.log(2)
    power = np.full_like(rest, 1 / math.factorial(7))
    for order in range(6, -1, -1):
        power = power * rest + 1 / math.factorial(order)
    return np.asarray(np.ldexp(power, powers.astype(np.int32)))


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


BodyNorm = Literal["box", "ellipsoid"]

# Sizes further apart than this would leave the smallest no room on the common grid.
LARGEST_RATIO = 2.0**20


@dataclass(frozen=True)
class IntegerBody:
    """Integer vectors with |c_j| <= a_j for all j (box), or sum_j c_j^2 / a_j^2 <= 1 (ellipsoid).

    Coefficients beyond the last axis are zero.

    Parameters
    ----------
    norm : {"box", "ellipsoid"}
        Which of the two.
    axes : tuple of int
        Half-widths or semi-axes a_j, positive, in grid units.
    exponent : int
        The grid is 2^-exponent.
    """

    norm: BodyNorm
    axes: tuple[int, ...]
    exponent: int

    def __post_init__(self) -> None:
        if self.norm not in get_args(BodyNorm):
            raise ParameterError("norm", f"be one of {get_args(BodyNorm)}", repr(self.norm))
        if not self.axes or any(type(axis) is not int or not 1 <= axis < 2**31 for axis in self.axes):
            # Larger ones would wrap around where a row is verified.
            raise ParameterError("axes", "be positive integers below 2^31", "others")

    @classmethod
    def of(cls, norm: BodyNorm, axes: Sequence[float], components: int) -> IntegerBody:
        """Round sizes down to a public grid, as fine as that of a ball that holds the body.

        Parameters
        ----------
        norm : {"box", "ellipsoid"}
        axes : sequence of float
            Sizes in units of the coefficients; those beyond `components` are left out.
        components : int
            Number of coefficients of the basis.

        Raises
        ------
        ParameterError
            If the sizes are more than a factor 2^20 apart.
        """
        sizes = [Fraction(axis) for axis in axes[:components]]
        if max(sizes) > min(sizes) * Fraction(LARGEST_RATIO):
            words = "have sizes within a factor 2^20 of each other"
            remedy = "Leave out the smallest: coefficients without a size are taken to be zero."
            raise ParameterError("bounds", words, "others", remedy)
        length = math.hypot(*map(float, sizes)) if norm == "box" else float(max(sizes))
        exponent = IntegerBall.of("l2", length, components).exponent
        grid = Fraction(2) ** exponent
        return cls(norm, tuple(max(1, math.floor(axis * grid)) for axis in sizes), exponent)

    @cached_property
    def radius(self) -> int:
        """Radius of an l2 ball around zero that holds the body, in grid units."""
        if self.norm == "ellipsoid":
            return max(self.axes)
        return math.isqrt(sum(axis**2 for axis in self.axes) - 1) + 1

    @property
    def enclosing(self) -> IntegerBall:
        """The l2 ball of that radius."""
        return IntegerBall("l2", self.radius, self.exponent)

    @property
    def step(self) -> float:
        """Size of one step of the grid."""
        return math.ldexp(1.0, -self.exponent)

    def clip(self, rows: Rows) -> Integers:
        """Bring rows into the body and round them to integers toward zero, verified in integers.

        Box: each coefficient is moved to the nearest end by itself. Ellipsoid: the row is shrunk along
        its direction. Repairs are those of `IntegerBall.clip`.
        """
        exponents = np.minimum(rows.exponents + self.exponent, LARGEST_EXPONENT)
        axes = self._axes(rows.mantissas.shape[1])
        sizes = np.where(axes > 0, axes, 1).astype(np.float64)
        with np.errstate(all="ignore"):
            if self.norm == "box":
                scaled = np.clip(np.ldexp(rows.mantissas, exponents[:, None]), -sizes, sizes)
            else:
                lengths = np.sqrt(sum_columns((rows.mantissas * (axes > 0) / sizes) ** 2))
                # As far inside as the check in integers rounds up, so that it does not halve the row.
                limit = 1.0 - (math.isqrt(axes.size) + 3) * math.ldexp(1.0, -_bits(axes.size))
                scale = np.minimum(np.ldexp(1.0, exponents), limit / lengths)
                scaled = rows.mantissas * scale[:, None]
            clipped = np.trunc(scaled * (axes > 0))
        return repaired(clipped, self.radius, lambda integers: self._inside(integers, axes))

    def _axes(self, columns: int) -> Integers:
        """Sizes of the leading coefficients, zero for those without one."""
        axes = np.zeros(columns, dtype=np.int64)
        count = min(columns, len(self.axes))
        axes[:count] = self.axes[:count]
        return axes

    def _inside(self, integers: Integers, axes: Integers) -> Flags:
        """Whether rows are in the body; in doubt they are not.

        Ellipsoid: with q_j = ceil(2^s |c_j| / a_j), sum_j q_j^2 <= 4^s implies sum_j c_j^2 / a_j^2 <= 1.
        As |c_j| <= a_j < 2^31 is checked first, all is below 2^62. A q_j is rounded up by less than 1,
        so the root of their sum of squares by less than K^(1/2).
        """
        inside = np.asarray(((-axes <= integers) & (integers <= axes)).all(axis=1))
        if self.norm == "box":
            return inside
        shift = _bits(axes.size)
        safe = np.abs(np.where(inside[:, None], integers, 0))
        shares = -(-(safe << shift) // np.maximum(axes, 1))
        return np.asarray(inside & ((shares**2).sum(axis=1) <= 1 << (2 * shift)))


def _bits(components: int) -> int:
    """Binary digits s of a share |c_j| / a_j such that the sum of K squares stays below 2^62."""
    return min(30, (61 - components.bit_length()) // 2)
