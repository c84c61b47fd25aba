"""How far the units lie from a public line, and the try of a radius before it is taken."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from dpfda.mean.staged_release import TOLERATED, Excess, width_of_shift
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import DpfdaError
from dpfda.numerics.gridrules import FromLine, GridRule
from dpfda.numerics.parameters import known
from dpfda.privacy.guarantees import Neighbours, PureDP
from dpfda.publication import EXACT, Draw, MeanPlan, recomputed
from dpfda.publication.moments import part_noise
from dpfda.spine.sums import Readable

# Half distances of bounds below so many units are rounded too roughly for shares of 2^-20.
COARSE = 2**21


@dataclass(frozen=True, eq=False)
class RadiusTry:
    """How it is measured how far holding records at a radius would move their mean. Public.

    Two exact sums of all units tell it: between the stated bounds, and between those at the radius. Let
    a record x at a point become an integer k(x) of size h at most under the one rule, k'(x) of size h'
    under the other, in the finer of their units. As the stated bounds contain the others, k(x) - k'(x)
    falls nowhere, and goes from h' - h to h - h': its size is at most h - h', and what rounding adds. So
    much at most does one unit move the difference of the two sums if it comes or goes, and twice that if
    it is replaced. From the difference is taken what the middles of the bounds are apart, and it is
    counted in shares of their distance, 2 h. Of these a unit moves (1 - h'/h) / 2, or 1 - h'/h, which is
    the reach less the radius at most. The largest size among all points gets noise, and moves by no more
    than one of them.

    It is what the mean itself is moved by: what is cut off above and below cancels.

    wide, close: How records become integers.
    size: Public number to divide by.
    neighbours: What a unit does.
    radius, reach: As of `Excess`.
    part: Share of the budget.
    """

    wide: GridRule
    close: GridRule
    size: int
    neighbours: Neighbours
    radius: float
    reach: float
    part: PureDP

    @cached_property
    def noise(self) -> NoiseLaw:
        """Law of the noise, checked: what a unit moves is no more than is promised."""
        if self.moved > self.width:
            raise DpfdaError("What is cut off beyond a radius may be more than its noise hides.")
        return part_noise((1,), "l1", self.width, self.part)

    @property
    def width(self) -> int:
        return width_of_shift(self.radius, self.reach, self.neighbours)

    @property
    def moved(self) -> int:
        """By how much one unit moves the number at most."""
        return int(np.ceil(np.max(self._limits / self._parts) * UNIT)) + 1

    @property
    def _limits(self) -> Floats:
        """By how many of the finest units one unit moves the difference of the sums (m,) at most."""
        (wide, close), halves = self._units, self.wide.half_widths
        apart = np.abs(self.close.center - self.wide.center) * close * self.close.scale
        beyond = np.maximum(apart + close * self.close.half_widths - wide * halves, 0.0)
        limits = wide * halves - close * self.close.half_widths + 2 * beyond + wide + close + 1
        return np.asarray(self.neighbours.differences(1) * limits)

    @property
    def _parts(self) -> Floats:
        """The units (m,) in which the difference is measured, in finest units: the bounds' distance.

        Or more, where that is far less than elsewhere, so that rounding alone would move it further.
        """
        spans = 2 * self._units[0] * self.wide.half_widths
        least = np.ceil(self._limits * (UNIT / (self.width - 2)))
        return np.where(self.wide.half_widths < COARSE, np.maximum(spans, least), spans)

    @property
    def _units(self) -> tuple[int, int]:
        """How many of the finest units one of either rule is."""
        finest = max(self.wide.exponent, self.close.exponent)
        return 2 ** (finest - self.wide.exponent), 2 ** (finest - self.close.exponent)

    def released(self, wide: IntegerSum, close: IntegerSum, draw: Draw = EXACT) -> Excess:
        """The noisy number, from private sums at all points. The ledger has been charged."""
        units = self._units
        apart = (self.close.center - self.wide.center) * units[1] * self.close.scale
        parts = [int(part) for part in self._parts]
        public = [self.size * round(shift) for shift in apart.tolist()], parts
        largest = partial(largest_shift, units=units, public=public)
        number = IntegerSum.one_number([wide, close], largest, apart=False)
        (noisy,) = number.with_noise(draw(self.noise))
        achieved = recomputed(self.noise, "l1", self.width, self.part)
        return Excess(self.radius, self.reach, noisy, self.noise, achieved, TOLERATED)


def largest_shift(
    totals: list[list[int]], units: tuple[int, int], public: tuple[list[int], list[int]]
) -> int:
    """Of two sums (m,) less a public one, in parts of the bounds' distance, the largest size. Private.

    units: By which the sums are multiplied.
    public: What is taken off (m,), and of how many units shares are told (m,).
    """
    (unit, other_unit), places = units, zip(*totals, *public, strict=True)
    return int(max(abs(a * unit - b * other_unit - off) * UNIT // part for a, b, off, part in places))


def distances(plan: MeanPlan, records: Readable, line: Floats) -> Floats:
    """Largest distances (n,) of the units from a line, in shares of the bounds'. Private.

    Each is a function of that unit alone; of one that cannot be used it is nothing.
    """
    stated = known(plan.curves)
    return records.lengths(plan, FromLine(stated.lower, stated.upper, line, 1 / stated.width))
