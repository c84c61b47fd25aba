"""The least of increasing candidates that enough units do not exceed: the sparse vector technique.

Each unit has a private number s, and C(r) of n units have s <= r. A threshold T gets noise once, and
the counts at r_1 < r_2 < .. are compared with it one after the other, each with noise of its own; the
first that is no smaller is published, and the last candidate where none is. Proof of the guarantee and
of how many units lie below: the page on reference bands.
"""

from __future__ import annotations

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
SHARE = Fraction(7, 20)
# Points of the integrals over the noise, and how many scales they reach.
STEPS, REACH = 1001, 40.0
# Units by which numeric integrals, and noise that is rounded to the grid, may be off: far less.
SLACK = 1e-3


@dataclass(frozen=True)
class FirstAbove:
    """The law of a choice among candidates. Public.

    candidates: How many there are, at least two.
    part: What the choice may cost, where one unit moves all counts up, or all down, by one at most.
    """

    candidates: int
    part: PureDP

    @cached_property
    def threshold(self) -> KNormNoise:
        """Noise on the threshold."""
        return knorm_noise((1,), np.ones(1), "l1", COUNT_SCALE, PureDP(self.part.epsilon * SHARE))

    @cached_property
    def counted(self) -> KNormNoise:
        """Noise on the counts at all candidates but the last."""
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
        noisy = exact.with_noise(self.counted.draw())
        least = round(threshold * COUNT_SCALE) + self.threshold.draw()[0]
        return next((place for place, count in enumerate(noisy) if count >= least), counts.size)

    # What is known of how many units lie below.

    def least_below(self, threshold: float, units: int) -> float:
        """Units below the published candidate: a bound on their expected number, whatever the data.

        It is E min(n, max(0, T + Z - max_j Y_j)) for the noise Z and Y_j, a little rounded down: the
        integral over y from 0 to n of P(T + Z - max_j Y_j > y).
        """
        at, integral = self._integral
        # Beyond the points the probability is zero or one.
        ends = [
            np.interp(u, at, integral) + max(0.0, u - at[-1]) for u in (threshold, threshold - units)
        ]
        return float(ends[0] - ends[1]) - SLACK

    @cached_property
    def _integral(self) -> tuple[Floats, Floats]:
        """Points u, and the integral up to them of P(u + Z - max_j Y_j > 0)."""
        first, other = (law.scales[0] / COUNT_SCALE for law in (self.threshold, self.counted))
        noise = np.linspace(-REACH, REACH, STEPS)
        weights = np.exp(-np.abs(noise))
        weights /= weights.sum()
        at = np.linspace(-REACH, REACH, STEPS) * (first + other)
        gap = (at[:, None] + first * noise) / other
        below = 0.5 * np.exp(-np.abs(gap))
        share = np.where(gap < 0, below, 1 - below) ** (self.candidates - 1) @ weights
        steps = np.diff(at) * (share[1:] + share[:-1]) / 2
        return at, np.append(0.0, np.cumsum(steps))

    def threshold_for(self, expected: float, units: int) -> float | None:
        """The least threshold with that many units below at least; None where there is none."""
        low, high = expected, units + REACH / float(self.part.epsilon)
        if self.least_below(high, units) < expected:
            return None
        while high - low > SLACK:
            middle = (low + high) / 2
            low, high = (low, middle) if self.least_below(middle, units) >= expected else (middle, high)
        return high
