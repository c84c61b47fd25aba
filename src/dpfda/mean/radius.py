"""How far the units lie from a public line, and the try of a radius before it is taken."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.mean.staged_release import Excess, width_beyond
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.gridrules import FromLine
from dpfda.numerics.parameters import known
from dpfda.privacy.guarantees import PureDP
from dpfda.publication import EXACT, Draw, MeanPlan, recomputed
from dpfda.publication.moments import part_noise
from dpfda.spine.sums import Readable


@dataclass(frozen=True)
class RadiusTry:
    """How it is measured how much a radius would cut off, before it is taken. Public.

    What a unit adds is its largest distance from the line beyond the radius, an integer between 0 and a
    public width: replacing, adding or removing a unit moves the sum by no more than that.

    radius, reach: As of `Excess`.
    part: Share of the budget.
    """

    radius: float
    reach: float
    part: PureDP

    @cached_property
    def noise(self) -> NoiseLaw:
        """Law of the noise, checked."""
        return part_noise((1,), "l1", self._width, self.part)

    @property
    def _width(self) -> int:
        return width_beyond(self.radius, self.reach)

    def released(self, lengths: Floats, draw: Draw = EXACT) -> Excess:
        """The noisy sum, from private lengths (n,). The ledger has been charged."""
        beyond = np.clip(np.floor((lengths - self.radius) * UNIT), 0, self._width)
        total = IntegerSum(1).add_totals([int(beyond.astype(np.int64).sum())], lengths.size)
        (noisy,) = total.with_noise(draw(self.noise))
        achieved = recomputed(self.noise, "l1", self._width, self.part)
        return Excess(self.radius, self.reach, noisy, self.noise, achieved)


def distances(plan: MeanPlan, records: Readable, line: Floats) -> Floats:
    """Largest distances (n,) of the units from a line, in shares of the bounds'. Private.

    Each is a function of that unit alone; of one that cannot be used it is nothing.
    """
    stated = known(plan.curves)
    return records.lengths(plan, FromLine(stated.lower, stated.upper, line, 1 / stated.width))
