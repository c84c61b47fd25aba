"""How far a released line lies from the mean at most, with noise; and what follows for its band."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpfda.noise import KNormNoise, NoiseLaw
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.guarantees import Neighbours
from dpfda.releases import entries as file
from dpfda.releases.promise import AddedNoise

# Half of the distance between bounds has so many bits in a sum on the grid.
BITS = 30


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

    def __post_init__(self) -> None:
        if not isinstance(self.noise, KNormNoise) or self.noise.components != 1:
            raise ParameterError("noise", "be Laplace noise on one number", repr(self.noise))

    def at_most(self, level: float, divisor: float) -> float:
        """What it is at most, in shares of the bounds' distance, in so many of 100 releases.

        Shares were rounded down; of line and records see `rounding`.
        """
        return max(0.0, (self.noisy + self._reach(level) + 1) / divisor) / (2 * self.largest)

    def rounding(self, width: Floats) -> float:
        """What rounding may add at any point between bounds `width` (m,) apart, in their units.

        Less than one unit of the sums for records, as much for the line, and as much for the ends of
        either; where bounds are close a unit is no small share of them.
        """
        return 2 * float(np.max(width)) / self.largest

    def at_least(self, level: float, divisor: float) -> float:
        """The same from below."""
        return max(0.0, (self.noisy - self._reach(level)) / divisor - 2) / (2 * self.largest)

    def _reach(self, level: float) -> float:
        """What noise is beyond on one side with a chance of 1 - level at most.

        That of Laplace noise of scale s, and one for its rounding.
        """
        assert isinstance(self.noise, KNormNoise)  # noqa: S101
        return self.noise.scales[0] * math.log(0.5 / (1 - level)) + 1

    def added(self, neighbours: Neighbours) -> AddedNoise:
        """Its noise; it was paid for first."""
        return AddedNoise(self.noise, "l1", moved(self.largest, neighbours), 0)

    def check(self, width: Floats) -> None:
        """Refuse units that are not those of a sum between bounds that are `width` (m,) apart.

        Raises ValueError.
        """
        half = float(np.max(width)) / 2
        if self.largest != math.floor(math.ldexp(half, BITS - math.frexp(half)[1])):
            raise ValueError("the largest distance is in other units than the bounds'")


def moved(largest: int, neighbours: Neighbours) -> int:
    """By how much one unit moves the largest distance of sums: as a sum where bounds are widest.

    Distances are taken to that width by a division, rounded down, which may add one.
    """
    return neighbours.differences(largest) + 1
