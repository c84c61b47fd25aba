"""Quantiles of points, several at once, by the exponential mechanism on a public grid.

**Places.** The axis has G public points, and each of them PARTS places behind one another, C in all. A
unit has 2^20 shares, which its points have in equal parts, rounded down; what is left lies behind the
last place. Every point lies in a place of its nearest public point, which of them is drawn anew for
every fit, so that repeated values lie apart. With R(o) the shares of all units up to place o, T the
shares of all, levels p_1 < .. < p_m and p_0 = 0, p_(m+1) = 1, ordered places o_1 <= .. <= o_m have the
score

    u(o) = - sum_{i=1}^{m+1} |e_i - e_{i-1}|,  e_i = R(o_i) - p_i T,  e_0 = e_(m+1) = 0,

minus the sum over all gaps of how much the shares between two places are off from what the levels say
(Gillenwater, Joseph & Kulesza 2021, "Differentially private quantiles"). One place alone has
u = -2 |R(o) - p T|, twice the score of Smith (2011). Levels are multiples of 10^-9 and all is multiplied
by 10^9: integers.

**How far a unit moves the scores.** Take the places of all points as given. The shares of a unit in the
m + 1 gaps are s_i >= 0, of sum W = 2^20.

- A unit is replaced; T = n W is public. The shares in the gaps move by sum_i |s'_i - s_i| <= 2 W, so u
  by at most 2 W up or down: losses have a range of 4 W. Where records may be left out, T is of
  those that count and may move too, the terms by |s'_i - s_i - pi_i (S' - S)|. Their sum is convex in s
  and s', so largest where each is zero or has all in one gap: 2 W for two gaps, 2 (1 - pi_i) W where
  one is zero.
- A unit is added or removed, and T with it. The term of gap i moves by |s_i - pi_i S|, with
  pi_i = p_i - p_{i-1} and S = sum_j s_j <= W. The sum is convex in s, so largest where all shares are in
  one gap: 2 (1 - pi_i) S. Losses have a range of 4 W (1 - min_i pi_i), for a median half as much.

The places of points are drawn independently of everything and are not released. Two neighbouring data
sets have the same places for the points that both have, so their laws are averages, with the same
weights, of laws that are as close as said below. Averages are no farther apart: not in the logarithm of
a probability, nor in the hockey-stick divergence at any epsilon (jointly convex), nor in a Renyi
divergence (jointly quasi-convex; van Erven & Harremoes 2014, Theorem 13). So epsilon, rho and the
profile of `RangeLoss` hold, all that is ever read of it; that single losses have a range holds for given
places alone.

**Law.** Places have weights proportional to exp(c u(o)) + 2^-L, c = epsilon' / range. Adding a constant
to weights that change by factors between e^-a and e^b, a and b >= 0, leaves them between. The exact
integer weights (`dpfda.numerics.chains`) are theirs times a factor between exp(-2^-78) and 1, the same
constant throughout: in a window |e_i| <= H for all i, exp(c u) is rounded down as said there; outside of
it, exp(c u) <= exp(-2 c H) <= 2^-(L + 80) is left out beside 2^-L. A loss is the logarithm of a quotient
of weights and of one of sums of weights; the latter is the same for all places. So losses lie in an
interval of length c range + 2^-77 <= epsilon, with epsilon' = epsilon (1 - 2^-40) and epsilon >= 1e-9:
for given places the range is bounded by epsilon (Dong, Durfee & Rogers 2020), so the guarantee is pure
epsilon, and rho = epsilon^2 / 8 (Cesar & Rogers 2021). L is so large that 2^-L summed over all places is
at most 2^-40.

Nothing is said of how far a quantile's value is off: that depends on where the others are. Its share is
off by about 8^(1/2) / (n epsilon) for one level; `spreads` has those of several, `dense_bound` how far
all are off at most, with a probability. Both hold where units lie densely, `rank_bound` always.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.cells import CellGrid, box_domain
from dpfda.bases.grids import frozen
from dpfda.bases.scales import Scale, read_scale
from dpfda.density.made_up import Units
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.chains import Chain, Window
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.exactness import BitSource, system_bytes
from dpfda.numerics.parameters import exact, root_at_most, shown
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.publication.distances import Draw
from dpfda.publication.zoom import Zoom, noisy_largest
from dpfda.releases import entries as file

MOST_POINTS = 2**28


@dataclass(frozen=True, eq=False)
class PublicPoints(file.Written):
    """Points equally far apart on a scale of an interval, from one end to the other.

    Parameters
    ----------
    scale : Scale
        What they are equal on; of two knots where that is the axis itself.
    count : int
        How many there are, two or more.

    Examples
    --------
    >>> ages = PublicPoints.every(1, (0, 105))
    >>> ages.count, ages.nearest(np.array([-3.0, 17.4, 200.0])), ages.values([17])
    (106, array([  0,  17, 105]), array([17.]))
    """

    scale: Scale = field(metadata=file.itself(Scale.from_json).named("knots").kept)
    count: int = field(metadata=file.whole_number(2, MOST_POINTS).kept)

    @classmethod
    def on(cls, scale: object, domain_range: object) -> PublicPoints:
        """As many as there may be, equal on "linear", "log", a scale of public points or a function.

        Raises ParameterError if the scale is unusable.
        """
        own = read_scale(scale, domain_range)
        ((a, b),) = box_domain(domain_range)
        return cls(Scale(frozen(np.array([a, b]))) if own is None else own, MOST_POINTS)

    @classmethod
    def every(cls, step: object, domain_range: object) -> PublicPoints:
        """The multiples of a step from the lower end to the upper one.

        Raises ParameterError if the length of the domain is no multiple of it, or there are too many.
        """
        ((a, b),) = box_domain(domain_range)
        width, steps = exact(step, "step"), Fraction(0)
        if width > 0:
            steps = (exact(b, "domain") - exact(a, "domain")) / width
        if not 1 <= steps < MOST_POINTS or steps.denominator != 1:
            words = f"be positive, and divide the domain ({a:g}, {b:g}) into whole steps"
            raise ParameterError("step", f"{words}, below {MOST_POINTS}", shown(step))
        return cls(Scale(frozen(np.array([a, b]))), int(steps) + 1)

    @property
    def domain_range(self) -> tuple[float, float]:
        """First and last point."""
        return self.scale.domain_range

    def nearest(self, points: ArrayLike) -> Integers:
        """Number of the nearest public point, each from its own point alone; outside, of an end."""
        return np.rint(self.scale.positions(points) * (self.count - 1)).astype(np.int64)

    def values(self, numbers: ArrayLike) -> Floats:
        """The points with these numbers, in the units of the data."""
        at = np.asarray(numbers, dtype=np.int64)
        if self.scale.knots.size > 2:
            return self.scale.points(at / (self.count - 1))
        # Multiples of a decimal step are the decimals that a person would write.
        a, b = (Fraction(repr(end)) for end in self.domain_range)
        width = (b - a) / (self.count - 1)
        return np.array([float(a + int(number) * width) for number in at.ravel()]).reshape(at.shape)

    def describe(self) -> str:
        """The points in words."""
        a, b = self.domain_range
        if self.scale.knots.size > 2:
            return f"{self.count} points, equal on a public scale of [{a:g}, {b:g}]"
        return f"{self.count} points, {(b - a) / (self.count - 1):.3g} apart, on [{a:g}, {b:g}]"


# Levels are multiples of one over this.
DENOMINATOR = 10**9
# Places of each public point.
PART_BITS = 31
# More levels are better read off a density.
MOST_LEVELS = 16
# Of epsilon, for what is rounded.
SPARE = Fraction(1, 2**40)
# All places together have at most 2^-UNLIKELY of the weight of one with the best score.
UNLIKELY = 40
# Weights outside of the windows are this much smaller than what is added to all: 2^-CUT.
CUT = 80
# Steps of the grid on which the law of ranks is computed, to a distance of REACH.
STEPS, REACH = 40, 40


@dataclass(frozen=True)
class QuantileLaw:
    """The law of noisy quantiles: public numbers.

    Parameters
    ----------
    levels : tuple of int
        Increasing multiples of 10^-9, between 0 and 10^9.
    points : int
        Number G of public points.
    epsilon : Fraction
        Range of the losses.
    neighbours : Neighbours
    """

    levels: tuple[int, ...]
    points: int
    epsilon: Fraction
    neighbours: Neighbours

    @property
    def places(self) -> int:
        """Number C of places."""
        return self.points << PART_BITS

    @property
    def range(self) -> int:
        """Length of the interval in which one unit moves all scores, in units of 10^-9 shares."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return 4 * UNIT * DENOMINATOR
        return 4 * UNIT * (DENOMINATOR - min(self.gaps))

    @property
    def gaps(self) -> list[int]:
        """What lies between the levels, and before and behind them."""
        ends = [0, *self.levels, DENOMINATOR]
        return [after - before for before, after in pairwise(ends)]

    @property
    def rate(self) -> Fraction:
        """c: how fast weights fall with the score."""
        return self.epsilon * (1 - SPARE) / self.range

    @property
    def floor_bits(self) -> int:
        """L."""
        count = len(self.levels)
        return UNLIKELY + math.comb(self.places + count - 1, count).bit_length()

    @property
    def window(self) -> int:
        """H: the smallest integer with exp(-2 c H) <= 2^-(L + CUT), or a larger one."""
        # 7/10 is more than log 2.
        return math.ceil(Fraction(7, 20) * (self.floor_bits + CUT) / self.rate)

    def chain(self, places: Integers, shares: Integers, units: int | None) -> Chain:
        """The exact law of the places of the quantiles. Private.

        Parameters
        ----------
        places : array (k,) of int
            Increasing: those where there are points.
        shares : array (k,) of int
            Of all units, up to each of them.
        units : int or None
            Public number of units; None where it is private.
        """
        total = UNIT * units if units is not None else int(shares[-1]) if shares.size else 0
        reach = self.window
        # Within a window the exponentials are at least 2^-depth; 3/2 is more than 1 / log 2.
        depth = math.ceil(self.rate * reach * Fraction(3, 2))
        bits = depth + CUT + (2 * len(self.levels) + 2).bit_length()
        windows = [self._window(places, shares, level * total, reach) for level in self.levels]
        floor = 1 << (2 * bits * (len(self.levels) + 1) - self.floor_bits)
        return Chain(windows, self.places, self.rate, bits, floor)

    def draw(
        self, places: Integers, shares: Integers, units: int | None, source: BitSource | None = None
    ) -> tuple[int, ...]:
        """The public points of the quantiles, by number; the caller has charged for them."""
        drawn = self.chain(places, shares, units).draw(source)
        return tuple(place >> PART_BITS for place in drawn)

    def _window(self, places: Integers, shares: Integers, target: int, reach: int) -> Window:
        """Runs of places whose shares are near the target."""
        low, high = -((reach - target) // DENOMINATOR), (target + reach) // DENOMINATOR
        most = int(np.iinfo(np.int64).max)
        first = int(np.searchsorted(shares, min(max(low, 0), most)))
        last = int(np.searchsorted(shares, min(high, most), side="right"))
        # A run from each point on, and one from the beginning on.
        starts, reached = places[first:last].tolist(), shares[first:last].tolist()
        if low <= 0:
            starts, reached = [0, *starts], [0, *reached]
        ends = [*starts[1:], int(places[last]) if last < places.size else self.places]
        lengths = [end - start for start, end in zip(starts, ends[: len(starts)], strict=True)]
        runs = [run for run, length in enumerate(lengths) if length]
        return Window(
            [starts[run] for run in runs],
            [lengths[run] for run in runs],
            [reached[run] * DENOMINATOR - target for run in runs],
        )


def range_of(guarantee: Guarantee) -> Fraction:
    """The largest range of losses within a guarantee: epsilon, or the root of 8 rho."""
    if not isinstance(guarantee, ZeroConcentratedDP):
        return guarantee.epsilon
    return root_at_most(8 * guarantee.rho, 80)


def charged(guarantee: Guarantee) -> Guarantee:
    """What is charged: no delta is needed."""
    return guarantee if isinstance(guarantee, ZeroConcentratedDP) else PureDP(guarantee.epsilon)


def spreads(law: QuantileLaw, units: int) -> Floats:
    """Root mean square distance of the share below each quantile from its level.

    Where units lie densely and evenly, e_1, .., e_m are a walk whose steps have Laplace laws of scale
    1 / c, given that it ends at zero.
    """
    at, laws = _walk(len(law.levels))
    return np.sqrt(laws @ at**2) / _steps(law, units)


def dense_bound(law: QuantileLaw, units: int, level: float) -> float:
    """By how much the shares below all quantiles are off with a probability, where `spreads` are known.

    The chances that one of them is farther off add up to at most one minus the probability.
    """
    at, laws = _walk(len(law.levels))
    far = np.abs(at)
    order = np.argsort(-far, kind="stable")
    beyond = np.cumsum(laws.sum(axis=0)[order])
    return float(far[order][np.searchsorted(beyond, 1 - level)]) / _steps(law, units)


def ends_are_far(law: QuantileLaw, units: int, numbers: tuple[int, ...], level: float) -> bool:
    """Whether no quantile leaves the units for an empty end of the axis, as far as can be seen.

    With K units before a level, the empty end has exp(-2 c K) of the weight of a place beside the
    quantile, times the points of the axis over those from one unit to the next. That is read off the
    two quantiles there; of one quantile nothing is known but that units are a public point apart.
    """
    levels, ends = np.array(law.levels) / DENOMINATOR, (0, -1)
    apart = np.ones(2)
    if levels.size > 1:
        apart = np.maximum(1.0, (np.diff(numbers) / np.diff(levels) / units)[[*ends]])
    outside = np.array([levels[0], 1 - levels[-1]])
    costs = 2 * outside * _steps(law, units)
    return bool(np.all(costs > np.log(law.points / apart) + math.log(2 / (1 - level))))


def _walk(count: int) -> tuple[Floats, Floats]:
    """Distances in steps of 1 / c, and laws (count, k) of the places of the walk that ends at zero."""
    at = np.arange(-REACH * STEPS, REACH * STEPS + 1) / STEPS
    step = np.exp(-np.abs(at))
    walks = [step / step.sum()]
    for _ in range(count - 1):
        longer = np.convolve(walks[-1], step, "same")
        walks.append(longer / longer.sum())
    laws = np.array([walks[i] * walks[count - 1 - i] for i in range(count)])
    return at, laws / laws.sum(axis=1, keepdims=True)


def _steps(law: QuantileLaw, units: int) -> float:
    """All units in steps of 1 / c."""
    return float(law.rate) * DENOMINATOR * UNIT * units


def rank_bound(law: QuantileLaw, level: float) -> Fraction:
    """By how many units the shares below all quantiles are off at most, with a probability.

    There is a place with score zero, or nearly. All places whose score is below -d have together at most
    C' exp(-c d) of its weight, C' the number of ordered places; |e_i| is at most half of d.
    """
    count = len(law.levels)
    logarithm = math.log(math.comb(law.places + count - 1, count)) - math.log1p(-level)
    return Fraction(math.ceil(logarithm / float(law.rate)) + 2, 2 * DENOMINATOR * UNIT)


def zoomed(
    units: Units, zoom: Zoom, noises: tuple[Any, Any], draw: Draw
) -> tuple[Scale | None, tuple[int, ...]]:
    """The scale, where a place was chosen, and the noisy counts; the caller has charged for all.

    noises: On counts at a chosen place, and where none is chosen; of one law, or of noise twice.
    """
    # What lies at atoms lies in none of the intervals.
    fine = units.shares(zoom.fine)[: zoom.fine.size]
    width = noisy_largest(zoom.width_scores(fine), draw(zoom.width_noise()))
    placed, unplaced = noises
    if zoom.narrow(width):
        place = noisy_largest(zoom.place_scores(fine, width), draw(zoom.place_noise(width)))
        scale = zoom.scale(width, place)
        cells = CellGrid.regular(placed.components - len(zoom.atoms), (0.0, 1.0)).along(scale)
        return scale, _added(units, cells.with_atoms(zoom.atoms), draw(placed))
    cells = CellGrid.regular(unplaced.components - len(zoom.atoms), zoom.domain_range)
    return None, _added(units, cells.with_atoms(zoom.atoms), draw(unplaced))


def _added(units: Units, cells: CellGrid, noise: Sequence[int]) -> tuple[int, ...]:
    # Noise may be of several laws, one after another.
    exact = units.shares(cells)
    return IntegerSum.of(exact * (len(noise) // len(exact))).with_noise(noise)


def spread(count: int) -> Integers:
    """The parts of their public points in which so many points lie: uniform bits of the system."""
    return (np.frombuffer(system_bytes(4 * count), dtype="<u4") >> (32 - PART_BITS)).astype(np.int64)
