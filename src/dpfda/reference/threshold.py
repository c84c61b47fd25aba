"""The least of increasing candidates that enough units do not exceed: comparisons from the largest down.

Each unit has a private number s, and C(r) of n units have s <= r. A threshold T is lowered by noise
once, and the counts at .. > r_2 > r_1, each lowered by noise of its own, are compared with it one after
the other; the last candidate that is no smaller before one is smaller is published. Proof of the
guarantee and of how many units lie below: the page on reference bands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpfda.mechanisms import COUNT_SCALE
from dpfda.noise import KNormNoise, knorm_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.privacy.guarantees import Guarantee, PureDP, added
from dpfda.publication import recomputed

# Share of epsilon for the noise on the threshold, which moves all comparisons alike.
SHARE = Fraction(3, 10)
# Units by which noise that is rounded to the grid may be off: far less.
SLACK = 1e-3


@dataclass(frozen=True)
class LastHeld:
    """The law of a choice among candidates. Public.

    candidates: How many there are, at least two.
    part: What the choice may cost, where one unit moves all counts up, or all down, by one at most.
    """

    candidates: int
    part: PureDP

    @cached_property
    def threshold(self) -> KNormNoise:
        """Law of which the size is taken off the threshold."""
        return knorm_noise((1,), np.ones(1), "l1", COUNT_SCALE, PureDP(self.part.epsilon * SHARE))

    @cached_property
    def counted(self) -> KNormNoise:
        """Law of which sizes are taken off the counts at all candidates but the last."""
        count = self.candidates - 1
        part = PureDP(self.part.epsilon * (1 - SHARE))
        return knorm_noise((1,) * count, np.ones(count), "l1", COUNT_SCALE, part)

    @property
    def achieved(self) -> Guarantee:
        """What the noise in force gives."""
        shares = ((self.threshold, SHARE), (self.counted, 1 - SHARE))
        return added(
            [
                recomputed(law, "l1", COUNT_SCALE, PureDP(self.part.epsilon * part))
                for law, part in shares
            ]
        )

    def choose(self, numbers: Floats, candidates: Floats, threshold: float) -> int:
        """Which candidate is published; the ledger has been charged.

        numbers: array (n,). One a unit, infinite where a unit lies below no candidate. Private.
        candidates: array (candidates,). Increasing. Public, or released.
        threshold: In units. Public.
        """
        counts = np.searchsorted(np.sort(numbers), candidates[:-1], side="right")
        exact = IntegerSum(counts.size).add_totals((counts * COUNT_SCALE).tolist(), numbers.size)
        noisy = exact.with_noise([-abs(size) for size in self.counted.draw()])
        least = round(threshold * COUNT_SCALE) - abs(self.threshold.draw()[0])
        smaller = (place + 1 for place in reversed(range(counts.size)) if noisy[place] < least)
        return next(smaller, 0)

    # What is known of how many units lie below.

    def threshold_for(self, expected: float) -> float:
        """A threshold with that many units below the published candidate at least, on average.

        They are T less the noise on it, if it is not the last candidate, whatever the data.
        """
        return expected + self.threshold.scales[0] / COUNT_SCALE + SLACK

    @property
    def scale(self) -> float:
        """Mean size, in units, of the noise on a count."""
        return float(self.counted.scales[0] / COUNT_SCALE)

    def stopped(self, room: float) -> float:
        """Chance that a candidate stops which has `room` units more than the threshold."""
        return float(SHARE) * math.exp(-max(room, 0.0) / self.scale)
