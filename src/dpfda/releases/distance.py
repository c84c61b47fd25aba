"""How far a released line lies from the mean at most, with noise; and what follows for its band."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from dpfda.noise import AnyNorm, BoxNoise, BoxPartNoise, KNormNoise, NoiseLaw, Width
from dpfda.noise.bodies import InBox
from dpfda.numerics import encoding
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.specials import halved
from dpfda.privacy.guarantees import Neighbours
from dpfda.releases import entries as file
from dpfda.releases.counts import Divisor, NoisyCount
from dpfda.releases.promise import AddedNoise

# Half of the distance between bounds has so many bits in a sum on the grid.
BITS = 30
# Two scales are taken for equal from this ratio on; quantiles are found by so many halvings.
ALIKE = 0.999
# Sums of two noises are rounded up to so many steps of their reach.
STEPS = 128


def _sizes(written: object) -> tuple[int, ...]:
    return tuple(encoding.integer(size, 1) for size in encoding.sequence(written))


@dataclass(frozen=True)
class Distance(file.Written):
    """The largest distance of the line from the mean of the bounded records on the grid; public.

    At each point it is taken in shares of the bounds' distance there. The line was public when it was
    measured, and one unit moves the mean at a point by no more than these shares over the divisor: so
    does it move the largest of them.

    noisy: Largest distance of sums, plus noise, in units of which half of the bounds' distance has
        `largest`.
    largest: Where the bounds are farthest apart.
    noise: Laplace.
    """

    noisy: int = field(metadata=file.whole_number().kept)
    largest: int = field(metadata=file.whole_number(1, 2**BITS).kept)
    noise: NoiseLaw = field(metadata=file.LAW.kept)

    # How many numbers got noise together, and whether by sides of the box that hides its line.
    of: ClassVar[int] = 1
    of_box: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.noise, KNormNoise) or self.noise.components != 1:
            raise ParameterError("noise", "be Laplace noise on one number", repr(self.noise))

    def at_most(self, level: float, divisor: Divisor) -> float:
        """What it is at most, in shares of the bounds' distance, in so many of 100 releases.

        Shares were rounded down; of line and records see `rounding`.
        """
        assert not isinstance(divisor, NoisyCount)  # noqa: S101 - `check` has refused it
        return max(0.0, (min(self.numbers) + self._reach(level) + 1) / divisor) / (2 * self.largest)

    def rounding(self, width: Floats) -> float:
        """What rounding may add at any point between bounds `width` (m,) apart, in their units.

        Less than one unit of the sums for records, as much for the line, and as much for the ends of
        either; where bounds are close a unit is no small share of them.
        """
        return 2 * float(np.max(width)) / self.largest

    def at_least(self, level: float, divisor: Divisor) -> float:
        """The same from below."""
        assert not isinstance(divisor, NoisyCount)  # noqa: S101 - `check` has refused it
        return max(0.0, (max(self.numbers) - self._reach(level)) / divisor - 2) / (2 * self.largest)

    def from_other(self, other: Distance | None, level: float) -> float | None:
        """What the difference of two lines is from that of the means at most; None if not measured."""
        return None

    @property
    def numbers(self) -> tuple[int, ...]:
        """All that tell it, each with noise."""
        return (self.noisy,)

    def _reach(self, level: float) -> float:
        """What noise is beyond on one side with a chance of 1 - level at most.

        That of Laplace noise of scale s, and one for its rounding.
        """
        return self.scale * math.log(0.5 / (1 - level)) + 1

    @property
    def scale(self) -> int:
        """Of its noise."""
        return int(vars(self.noise)["scales"][0])

    def beside(self, own: list[AddedNoise], neighbours: Neighbours) -> list[AddedNoise]:
        """Its noise, which was paid for first, with all other: that of the line is last."""
        return [AddedNoise(self.noise, *moved_together(self.largest, neighbours, self.of), 0), *own]

    def check(self, width: Floats, divisor: Divisor) -> None:
        """Refuse units that are not those of a sum between bounds that are `width` (m,) apart.

        divisor: Of the line.
        Raises ValueError.
        """
        if isinstance(divisor, NoisyCount) is not isinstance(self, CountedDistance):
            raise ValueError("a distance is told of a public number of units, or with a private one")
        half = float(np.max(width)) / 2
        if self.largest != math.floor(math.ldexp(half, BITS - math.frexp(half)[1])):
            raise ValueError("the largest distance is in other units than the bounds'")


def moved(largest: int, neighbours: Neighbours) -> int:
    """By how much one unit moves the largest distance of sums: as a sum where bounds are widest.

    Distances are taken to that width by a division, rounded down, which may add one.
    """
    return neighbours.differences(largest) + 1


def moved_together(largest: int, neighbours: Neighbours, numbers: int) -> tuple[AnyNorm, Width]:
    """Norm and width of one distance, or of several that one unit may move all at once."""
    width = moved(largest, neighbours)
    return ("l1", width) if numbers == 1 else ("box", (width,) * numbers)


@dataclass(frozen=True)
class DistanceInBox(Distance):
    """The same by k numbers, which have noise of the one box that hides what the line was made of.

    See `dpfda.publication.distances`. With U_i uniform on (-1, 1) and R ~ Gamma(d + 1), d the sides of
    the box, they are D + R U_i in scales. So D is beyond the smallest of them and w, or the largest of
    them less w is beyond D, with a chance of E[1 - ((1 + w / R) / 2)^k; R > w].

    noisy: The first number.
    noise: What they see of the noise.
    again: The others.
    """

    again: tuple[int, ...] = field(metadata=file.entry(encoding.integers, list).kept)

    of_box: ClassVar[bool] = True

    def __post_init__(self) -> None:
        noise, count = self.noise, len(self.numbers)
        if not isinstance(noise, BoxPartNoise) or not noise.components == count < noise.whole:
            raise ParameterError("noise", "be that of some sides of a box, one a number", repr(noise))
        if len(set(noise.scales)) > 1:
            raise ParameterError("noise", "have equal scales", repr(noise))

    @property
    def numbers(self) -> tuple[int, ...]:
        return (self.noisy, *self.again)

    def _reach(self, level: float) -> float:
        return self.scale * self._far(level) + 1

    def _far(self, level: float) -> float:
        """The same in scales, without rounding."""
        assert isinstance(self.noise, BoxPartNoise)  # noqa: S101
        return side_quantile(self.noise.whole, len(self.numbers), level)

    def beside(self, own: list[AddedNoise], neighbours: Neighbours) -> list[AddedNoise]:
        """All noise, that of the box last: it was paid for once."""
        *others, line = own
        parts = [part for part in (line.noise, self.noise) if isinstance(part, BoxPartNoise)]
        sides = tuple(scale for part in parts for scale in part.scales)
        boxes = {part.whole for part in parts}
        if len(parts) < 2 or len(boxes) > 1 or min(boxes) < len(sides):
            raise ValueError("what the line was made of and its largest distance have no box in common")
        cells = cast("tuple[int, ...]", line.width)
        width = *cells, *(moved(self.largest, neighbours) for _ in self.numbers)
        return [*others, line._replace(noise=BoxPartNoise(sides, *boxes), width=width)]


@dataclass(frozen=True)
class CountedDistance(DistanceInBox):
    """The same where the number of units N is private: a side of the same box has hidden it.

    The k numbers tell 2 h / most times the distance: so much moves them as if a unit were replaced. In
    scales they are D + R U_i and N + R U. With r = D / N, which is at most one, D / N is beyond the
    smallest of them and x, over the noisy N less x, where max_i -U_i + r U > (1 + r) x / R: for every r
    with no larger a chance than for r = 0, which is that above (docs/appendix/default_mean.md).

    most: How far one unit may move N times the distance, where bounds are widest: up to 2 h.
    """

    most: int = field(metadata=file.whole_number(1, 2 ** (BITS + 1)).kept)

    def at_most(self, level: float, divisor: Divisor) -> float:
        far, (least, _) = self._reach(level), self._number(level, divisor)
        distance = max(0.0, min(self.numbers) + far + 1) * self.most / (4 * self.largest**2)
        return min(1.0, distance / least) if least > 0 else 1.0

    def at_least(self, level: float, divisor: Divisor) -> float:
        far, (_, most) = self._reach(level), self._number(level, divisor)
        distance = max(0.0, max(self.numbers) - far) * self.most / (4 * self.largest**2)
        return max(0.0, distance / most - 1 / self.largest) if most > 0 else 0.0

    def _number(self, level: float, divisor: Divisor) -> tuple[float, float]:
        """What the number of units is at least, and at most."""
        if not isinstance(divisor, NoisyCount) or not isinstance(divisor.noise, InBox):
            raise ParameterError("divisor", "be a number with noise of a box", repr(divisor))
        far = divisor.noise.scales[-1] * self._far(level) + 1
        return (divisor.noisy - far) / divisor.scale, (divisor.noisy + far) / divisor.scale

    def beside(self, own: list[AddedNoise], neighbours: Neighbours) -> list[AddedNoise]:
        return super().beside(own, Neighbours.REPLACE_ONE)

    def check_line(self, width: Floats, away: Floats) -> None:
        """Refuse, by a ValueError, that one unit moves it by other than a line and its bounds say.

        away: array (2, m). How far it is from their middle, at least and at most; half of `width` (m,)
            where a unit is replaced.
        """
        unit = BITS - math.frexp(float(np.max(width)) / 2)[1]
        half = np.floor(np.ldexp(width / 2, unit))
        far = np.clip(np.ldexp(away, unit), 0.0, half) / np.maximum(half, 1.0)
        least, most = self.largest * (1 + np.max(far, axis=1)) + [-2, 2]
        if not least <= self.most <= most:
            raise ValueError("one unit moves the largest distance by other than the line says")


@dataclass(frozen=True)
class GroupDistance(Distance):
    """The same for the line of one of several disjoint groups, by two numbers that tell of all.

    With e_g how far the line of group g lies from its mean (in shares, with its sign), N_g its number to
    divide by and N their sum, these are

        Q = max_t |sum_g N_g e_g(t)|    and    P = max_t max_(g, h) min(N_g, N_h) |e_g(t) - e_h(t)|.

    For any two groups |e_g - e_h| is then P / min(N_g, N_h) at most; and since e_g is the average of
    all, weighted by N_h / N, plus that of what it differs from each,

        |e_g| <= Q / N + P sum_(h != g) (N_h / N) / min(N_g, N_h).

    One unit is in one group g. It moves N_g e_g by as much as it moves a sum, and so each term of Q and,
    as min(N_g, N_h) / N_g is at most one, of P: noise of a box hides both at the price of one.

    noisy: Q, plus noise.
    apart: P, plus noise.
    sizes: Number to divide by of each group.
    place: Of this group among them.
    noise: Of a box, on both.
    """

    apart: int = field(metadata=file.whole_number().kept)
    sizes: tuple[int, ...] = field(metadata=file.entry(_sizes, list).kept)
    place: int = field(metadata=file.whole_number(0).kept)

    of: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not isinstance(self.noise, BoxNoise) or self.noise.components != self.of:
            raise ParameterError("noise", "be noise of a box on two numbers", repr(self.noise))
        if len(set(self.noise.scales)) > 1:
            raise ParameterError("noise", "be noise of a square", repr(self.noise))
        if self.place >= len(self.sizes):
            raise ParameterError("place", "be that of a group", str(self.place))

    def check(self, width: Floats, divisor: Divisor) -> None:
        super().check(width, divisor)
        if self.sizes[self.place] != divisor:
            raise ValueError("the group's size is not what its sum was divided by")

    def at_most(self, level: float, divisor: Divisor) -> float:
        own, total = self.sizes[self.place], sum(self.sizes)
        beside = sum(size / min(size, own) for size in self.sizes) - 1
        return self._within(level, 1 / total, beside / total)

    def from_other(self, other: Distance | None, level: float) -> float | None:
        if not isinstance(other, GroupDistance) or replace(other, place=self.place) != self:
            return None
        return self._within(level, 0.0, 1 / min(self.sizes[self.place], self.sizes[other.place]))

    def at_least(self, level: float, divisor: Divisor) -> float:
        """Of one group among several nothing is known from below."""
        return 0.0

    def _within(self, level: float, first: float, second: float) -> float:
        """What so many times the first and the second number are at most; each was rounded down."""
        reach = self.scale * box_quantile(first, second, level)
        most = first * (self.noisy + 2) + second * (self.apart + 2) + reach
        return max(0.0, most) / (2 * self.largest)


def told_by(numbers: Sequence[int], largest: int, noise: NoiseLaw, most: int | None = None) -> Distance:
    """The distance that numbers tell, by the law of their noise; `most` as of `CountedDistance`."""
    if isinstance(noise, BoxPartNoise):
        if most is not None:
            return CountedDistance(numbers[0], largest, noise, tuple(numbers[1:]), most)
        return DistanceInBox(numbers[0], largest, noise, tuple(numbers[1:]))
    return Distance(numbers[0], largest, noise)


def check_together(parts: Sequence[tuple[Distance | None, Divisor]]) -> None:
    """Refuse distances of all groups of one release that are not from one measurement.

    parts: Distance and number to divide by of each group, in order.
    Raises ValueError.
    """
    if all(distance is None for distance, _ in parts):
        return
    if all(distance is not None and distance.of_box for distance, _ in parts):
        # Each by its own box, which its line is checked with.
        return
    one, sizes = parts[0][0], tuple(divisor for _, divisor in parts)
    if isinstance(one, GroupDistance) and one.sizes == sizes:
        expected = [replace(one, place=place) for place in range(len(parts))]
        if [distance for distance, _ in parts] == expected:
            return
    raise ValueError("distances of groups are from one measurement of all")


def box_quantile(first: float, second: float, level: float) -> float:
    """What first X + second Y stays below with a chance of `level`, (X, Y) noise of a square, scale one.

    Their density is proportional to exp(-max(|x|, |y|)), and max(|a + b|, |a - b|) = |a| + |b|: so they
    are A + B and A - B of independent Laplace variables A and B. The sum asked for is a sum of these
    with p = |first| + |second| and q = ||first| - |second||, up to signs.

    Examples
    --------
    >>> round(box_quantile(1.0, 0.0, 0.95), 2), round(box_quantile(0.5, 0.5, 0.95), 2)
    (3.27, 2.3)
    """
    one, other = abs(first), abs(second)
    # As of two independent Laplace variables: the larger scale, and the smaller.
    scales = one + other, abs(one - other)
    return _crossed(lambda far: _beyond(far, *scales), 1 - level, sum(scales))


@lru_cache(maxsize=64)
def side_quantile(sides: int, count: int, level: float) -> float:
    """What -R U stays below with a chance of `level`, U the smallest of so many uniform on (-1, 1).

    R ~ Gamma(sides + 1): noise of scale one on as many sides of a box.

    Examples
    --------
    >>> [round(side_quantile(13, count, 0.95), 1) for count in (1, 2, 3)]
    [13.3, 15.1, 16.0]
    """
    return _crossed(lambda far: float(_beyond_sides(far, sides, count)), 1 - level, sides + 1.0)


def _beyond_sides(far: ArrayLike, sides: int, count: int) -> Floats:
    """The chance of -R U beyond values: that not all of the uniform numbers are above -value / R.

    Of that the power is expanded. Of R^-j beyond a value there is the mean of a Gamma number of less
    shape, which is beyond x with the chance of fewer than so many Poisson events.
    """
    size, powers = np.maximum(np.abs(far), 1e-300), np.arange(sides + 1)
    logs = np.array([math.lgamma(power + 1) for power in powers])
    events = np.exp(np.multiply.outer(np.log(size), powers) - size[..., None] - logs)
    left = np.cumsum(events, axis=-1)[..., ::-1]
    terms = range(count + 1)
    weights = [math.comb(count, term) * math.exp(logs[sides - term] - logs[sides]) for term in terms]
    above = sum(weights[term] * np.copysign(size, far) ** term * left[..., term] for term in terms)
    return np.asarray(np.where(np.greater(far, 0), left[..., 0], 1.0) - above / 2**count)


def _crossed(falling: Callable[[float], float], chance: float, high: float) -> float:
    """From where on what falls is no more than a chance."""
    while falling(high) > chance:
        high *= 2
    return halved(lambda at: falling(at) > chance, 0.0, high)


def sum_at_most(parts: Sequence[tuple[Distance, Divisor]], level: float) -> float:
    """What two distances by sides of independent boxes are together at most, in shares of common bounds.

    With noises V and W on their smallest numbers, the sum is beyond what these say by more than x with
    the chance that V + W is below -x, whatever the distances have to do with the noise.

    parts: Distance and number to divide by of each.
    """
    alone = [(distance, size) for distance, size in parts if not isinstance(size, NoisyCount)]
    if len(alone) < len(parts):
        return sum(distance.at_most((1 + level) / 2, size) for distance, size in parts)
    laws = [(distance.scale / size, cast("BoxPartNoise", distance.noise)) for distance, size in alone]
    sides = [(weight, noise.whole, noise.components) for weight, noise in laws]
    total = sum((min(distance.numbers) + 2) / size for distance, size in alone)
    return max(0.0, total + two_sides_quantile(tuple(sides), level)) / (2 * parts[0][0].largest)


@lru_cache(maxsize=64)
def two_sides_quantile(parts: tuple[tuple[float, int, int], ...], level: float) -> float:
    """What the sum of -R U of two independent boxes stays below with a chance of `level`.

    See `side_quantile`. Each is rounded up to a grid: so is the quantile.

    parts: Weight, number of sides of the box, and of those that tell it.

    Examples
    --------
    >>> [round(two_sides_quantile(((1.0, 5, count),) * 2, 0.95), 1) for count in (1, 2)]
    [8.7, 11.4]
    >>> round(2 * side_quantile(5, 1, 0.975), 1)
    14.5
    """
    most = sum(weight * side_quantile(sides, count, (1 + level) / 2) for weight, sides, count in parts)
    edges = most / STEPS * np.arange(-4 * STEPS, 4 * STEPS + 1)
    below = [1 - _beyond_sides(edges / weight, sides, count) for weight, sides, count in parts]
    first, second = (np.diff(running, prepend=0.0) for running in below)
    chances = np.cumsum(np.convolve(first, second))
    place = int(np.argmax(chances >= level))
    return float(most / STEPS * (place - 8 * STEPS))


def average_at_most(parts: Sequence[tuple[float, Distance, Divisor]], level: float) -> float:
    """What an average of lines is from that of their means at most, in shares of common bounds.

    By each at a part of what the level leaves, whatever their noise has to do with each other's.

    parts: Weight, distance and number to divide by.
    """
    own = 1 - (1 - level) / len(parts)
    return sum(weight * distance.at_most(own, size) for weight, distance, size in parts)


def _beyond(value: float, p: float, q: float) -> float:
    """The chance of p A + q B above a value that is not negative: p the larger one."""
    if q > ALIKE * p:
        # As if they were equal, when it is larger.
        return math.exp(-value / p) * (2 + value / p) / 4
    less = q**2 * math.exp(-value / q) if q else 0.0
    return (p**2 * math.exp(-value / p) - less) / (2 * (p**2 - q**2))


def distance_from_json(written: object) -> Distance:
    """Of one line, or of one among those of groups; whatever does not fit raises a `ValueError`."""
    entries = encoding.mapping(written)
    if "sizes" in entries:
        return GroupDistance.from_json(entries)
    kind = CountedDistance if "most" in entries else DistanceInBox if "again" in entries else Distance
    return kind.from_json(entries)
