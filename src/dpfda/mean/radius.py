"""How far the units lie from a public line, and the try of a radius before it is taken."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.mean.staged_release import TOLERATED, Excess, reach_of, width_beyond
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.gridrules import FromLine
from dpfda.numerics.parameters import known
from dpfda.privacy.guarantees import PureDP
from dpfda.publication import EXACT, Draw, MeanPlan, recomputed
from dpfda.publication.moments import part_noise
from dpfda.spine.sums import Readable


@dataclass(frozen=True, eq=False)
class RadiusTry:
    """How it is measured how far holding records at a radius would move their mean. Public.

    What is cut off a unit at a point, in shares of the bounds' distance there, is an integer between
    public limits. These are added up at each point, and the largest of the sums, up or down, gets noise:
    replacing, adding or removing a unit moves each of them by no more than its limits are apart, and so
    does the largest of them. As it is what the mean of all units is moved by, parts that are cut off
    above and below, or at different points, make it no larger.

    line: array (m,). That around which records are held.
    stated, closer: Two arrays (m,) each. Lower and upper bounds, and those at the radius.
    radius: In shares of the bounds' distance.
    part: Share of the budget.
    """

    line: Floats
    stated: tuple[Floats, Floats]
    closer: tuple[Floats, Floats]
    radius: float
    part: PureDP

    @cached_property
    def noise(self) -> NoiseLaw:
        """Law of the noise, checked."""
        return part_noise((1,), "l1", self._width, self.part)

    @property
    def reach(self) -> float:
        """As of `Excess`: farther from the line is no record, and no limits are farther apart."""
        return reach_of(self.line, self.stated, self.radius)

    @property
    def _width(self) -> int:
        return width_beyond(self.radius, self.reach)

    @cached_property
    def _limits(self) -> tuple[Floats, Floats]:
        """How much is cut off below and above at most, in whole units."""
        (low, high), (lower, upper) = self.stated, self.closer
        below = np.clip(np.floor((lower - low) / (high - low) * UNIT), 0, self._width)
        above = np.floor((high - upper) / (high - low) * UNIT)
        return below, np.clip(above, 0, self._width - below)

    def released(self, records: Readable, plan: MeanPlan, draw: Draw = EXACT) -> Excess:
        """The noisy number, from records as a plan reads them. The ledger has been charged."""
        total = IntegerSum(self.line.size)
        for some in records.units(plan):
            cut = self._cut_off(some.values[some.usable]).sum(axis=0)
            total.add_totals(cut.tolist(), some.usable.size)
        (noisy,) = IntegerSum.one_number([total], largest_total).with_noise(draw(self.noise))
        achieved = recomputed(self.noise, "l1", self._width, self.part)
        return Excess(self.radius, self.reach, noisy, self.noise, achieved, TOLERATED)

    def _cut_off(self, values: Floats) -> Integers:
        """Of finite curves (n, m), each by itself. Private."""
        (low, high), (below, above) = self.stated, self._limits
        values = np.clip(values, low, high)
        cut = (values - np.clip(values, *self.closer)) / (high - low) * UNIT
        return np.clip(np.rint(cut), -below, above).astype(np.int64)


def largest_total(totals: list[list[int]]) -> int:
    """Of sums at all points that of the largest absolute value. Private."""
    return max(map(abs, totals[0]))


def distances(plan: MeanPlan, records: Readable, line: Floats) -> Floats:
    """Largest distances (n,) of the units from a line, in shares of the bounds'. Private.

    Each is a function of that unit alone; of one that cannot be used it is nothing.
    """
    stated = known(plan.curves)
    return records.lengths(plan, FromLine(stated.lower, stated.upper, line, 1 / stated.width))
