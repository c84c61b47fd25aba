"""A clipping radius chosen privately: noisy counts of units by length, and a rule that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.mechanisms.design.radii import candidate_radii, choose_radius
from dpfda.noise import KNormNoise, knorm_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.privacy.guarantees import Neighbours, PureDP
from dpfda.publication import COUNT_SCALE, recomputed
from dpfda.releases.staged import Selection

# Share of the units that the radius may clip, and allowance for noise, in deviations of a sum of counts.
CLIPPED, ALLOWED = 0.03, 1.0
# Lengths may be shorter than the least candidate by so many powers of the root of two.
SHORTER = 8


@dataclass(frozen=True)
class RadiusChoice:
    """How a radius is chosen. Public.

    Each unit falls into exactly one of the bins between candidate radii, by its length alone: counts
    move by two in l1 under replace-one neighbours, by one under add/remove, and get Laplace noise of
    that scale over epsilon. The radius is computed from the noisy counts alone.

    largest: Largest candidate, which no length exceeds but by repair.
    part: Share of the budget.
    """

    largest: float
    part: PureDP
    neighbours: Neighbours

    @property
    def radii(self) -> Floats:
        """Candidates, decreasing."""
        return candidate_radii(self.largest)

    @property
    def width(self) -> int:
        """How far neighbouring counts are apart in l1."""
        return self.neighbours.differences(COUNT_SCALE)

    @cached_property
    def noise(self) -> KNormNoise:
        """Law of the noise on the counts, checked."""
        bins = self.radii.size
        noise = knorm_noise((1,) * bins, np.ones(bins), "l1", self.width, self.part)
        recomputed(noise, "l1", self.width, self.part)
        return noise

    def released(self, lengths: Floats, noise: Sequence[int] | None = None) -> Selection:
        """The noisy counts, from private lengths (n,). The ledger has been charged.

        noise: By default drawn; simulated where the lengths are made up.
        """
        achieved = recomputed(self.noise, "l1", self.width, self.part)
        drawn = self.noise.draw() if noise is None else noise
        noisy = bin_counts(lengths, self.radii).with_noise(drawn)
        return Selection(tuple(self.radii.tolist()), noisy, COUNT_SCALE, self.noise, achieved)

    def simulated(self, lengths: Floats, size: int, generator: np.random.Generator) -> Selection:
        """A choice from made-up lengths, each of several of so many units. No data, nothing private."""
        counts = bin_counts(lengths, self.radii).with_noise([0] * self.radii.size)
        noisy = np.array(counts, dtype=np.float64) * (size / lengths.size)
        noisy = np.rint(noisy + self.noise.simulate(generator, 1)[0])
        counted = tuple(int(count) for count in noisy)
        return Selection(tuple(self.radii.tolist()), counted, COUNT_SCALE, self.noise, self.part)

    def radius(self, selection: Selection, units: int, square: float) -> float:
        """The radius for second moments, from noisy counts: post-processing.

        A sum of k counts has noise of k times the variance. Where a deviation of that is no more than 3
        in 100 units, the least candidate above which there are no more units than both: noise alone
        then stops early by two deviations or more. Else sums of counts say little: the candidate of
        least expected error, when lengths are log-normal as in `choose_radius`.

        units: How many there are, or were released.
        square: Expected squared error of the second moments without clipping, relative to radius^4.
        """
        counts = np.array([float(count) / COUNT_SCALE for count in selection.noisy_counts])
        deviation = float(np.sqrt(self.noise.variances()[0])) / COUNT_SCALE
        allowed = ALLOWED * deviation * np.sqrt(np.arange(1, counts.size))
        if allowed[-1] <= CLIPPED * units:
            kept = np.cumsum(counts)[:-1] <= CLIPPED * units + allowed
            index = int(np.argmin(np.append(kept, False)))
        else:
            # Relative to the largest, so that no power overflows.
            radii = self.radii / self.radii[0]
            errors = square * radii**4
            index = choose_radius(radii, counts, deviation, units, errors, SHORTER)
        return float(selection.radii[index])


def bin_counts(lengths: Floats, radii: Floats) -> IntegerSum:
    """One-hot counts (C,) of lengths: a bin is how many candidates, but the largest, are not below."""
    # What is no number falls into the outermost bin.
    bins = (lengths[:, None] <= radii[1:]).sum(axis=1)
    counts = np.bincount(bins, minlength=radii.size)
    return IntegerSum(radii.size).add_totals((counts * COUNT_SCALE).tolist(), bins.size)
