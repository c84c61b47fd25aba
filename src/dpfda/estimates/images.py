"""The default mean of images between bounds: a posterior mean that knows neither roughness nor scale.

As `dpfda.estimates.curves` for functions of d variables on the midpoints of a regular grid,
by fast transforms alone. In shares of the distance between the bounds the mean is 1/2 plus a sum of
products of cosines, c_k phi_k with frequencies k, mean squares one. What is seen are averages over
equal cells plus noise of one variance. The cosine transform of these M averages is white noise plus, at
each coarse frequency, the coefficients that it cannot tell apart (k and 2 M_a - k along axis a, and so
on), each times the factor

    (M_a / m_a) sin(pi k / 2 M_a) / sin(pi k / 2 m_a)

by which averaging over m_a / M_a points damps it: exact where M_a divides m_a. So given a component of
the prior and a scale all coarse frequencies are independent, and the posterior costs O(m log m).

**Components.** Variances (1 + (r (1 + |k|))^2)^(-(e + d - 1) / 2) of sum 1/4, r in {.1, .3, 1}: smooth
for e in {4, 6, 8}, rough for e in {2, 3}, each also with 10^4 times the first variance, a level of its
own; ten scales; and a constant, for which the law of box noise is exact. Components and scales are
weighed by their evidence, as for curves, with the same constants. A constant's weight grows with the
number of cells, which near-constant shapes come to explain as well. Normal noise is put on every point,
however many there are: its weight is that of as many cells as box noise would have had.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from dpfda.bases.boxes import BoxBasis
from dpfda.bases.cells import aliases
from dpfda.bases.priors import ImagePrior
from dpfda.estimates.box_law import constant_evidence
from dpfda.estimates.components import KEPT, LINE, RANGES, SCALES, SMOOTH, scaled, with_levels
from dpfda.estimates.curves import CONSTANT
from dpfda.noise import BoxNoise, NoiseLaw
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.speed import one_thread

# Frequencies that the prior counts along an axis, over the number of cells.
BEYOND = 4
# At n epsilon = S box noise has .82 S^(1/2) cells, four at least (`dpfda.mechanisms.design.images`), and
# normal noise a deviation of 1 / S a function, in shares.
BOX_CELLS, FEWEST = 0.82, 4


@dataclass(frozen=True, eq=False)
class ImageModel:
    """What was measured of a mean image, ready for any number of noisy outcomes.

    basis: Of the release: K cosines.
    step: Standard deviation of the noise, in units of what is measured: the means of sums over cells.
    normal: Whether it is taken as normal; else it is that of a box.
    """

    prior: ImagePrior
    basis: BoxBasis
    step: float
    normal: bool = False

    @classmethod
    def of(cls, prior: ImagePrior, basis: BoxBasis, noise: NoiseLaw, step: float) -> Self:
        """With noise in units of `step`; its coordinates have one variance, as equal cells have."""
        deviation = float(np.sqrt(noise.variances()[0])) * step
        return cls(prior, basis, deviation, not isinstance(noise, BoxNoise))

    @property
    def deviation(self) -> float:
        """Of the noise in the transform of the averages, in shares of the bounds' distance."""
        return self.step / self._unit / math.sqrt(self.prior.measured)

    @property
    def _unit(self) -> float:
        return self.prior.weight * self.prior.width

    @one_thread()
    def coefficients(self, noisy: Floats) -> Floats:
        """Coefficients (K,) of the mean minus the middle of the bounds, from noisy means (M,).

        In the units of the data times the root of those of the domain, not clipped.
        """
        seen = self.transformed(noisy)
        unit = self._posterior(seen, noisy) if self.prior.shrunk else self._through(seen)
        return np.asarray(unit * self.prior.width * math.sqrt(self.basis.volume))

    def linear(self, noisy: Floats) -> Floats:
        """Coefficients (n, K) of the cosines through noisy means (n, M), without the prior."""
        unit = self._through(self.transformed(noisy))
        return np.asarray(unit * self.prior.width * math.sqrt(self.basis.volume))

    def transformed(self, noisy: Floats) -> Floats:
        """Coarse coefficients (..., M) of noisy means (..., M), in shares of the bounds' distance."""
        averages = (noisy / self._unit).reshape(-1, *self.prior.cells)
        coarse = scipy.fft.dctn(averages, axes=range(1, averages.ndim), norm="ortho")
        return np.asarray(coarse.reshape(noisy.shape) / math.sqrt(self.prior.measured))

    def sums(self, coarse: Floats) -> Floats:
        """Means (M,) of sums over cells, of coarse coefficients (M,): the inverse of `transformed`."""
        table = coarse.reshape(self.prior.cells) * math.sqrt(self.prior.measured)
        return np.asarray(scipy.fft.idctn(table, norm="ortho").ravel() * self._unit)

    def made_up(self, kind: int, scale: float, level: float, normals: Floats) -> tuple[Floats, Floats]:
        """A mean of the smooth kind of this number: its coefficients (K,) and coarse ones (M,), shares.

        kind, scale, level: Which component, its variance relative to the largest, and the mean's level
            minus 1/2.
        normals: array (F,). Standard normal numbers, one a frequency that the prior counts.
        """
        smooth = [(e, r) for e in SMOOTH for r in RANGES]
        variances = scaled(self._falling(*smooth[kind % len(smooth)]))
        drawn = np.sqrt(scale * variances) * normals
        drawn[0] = level
        coarse = np.bincount(self._coarse, weights=self._gains * drawn, minlength=self.prior.measured)
        return drawn[self._released], np.asarray(coarse, dtype=np.float64)

    @property
    def frequencies(self) -> int:
        """Number F of frequencies that the prior counts."""
        return int(self._squares.size)

    def _posterior(self, seen: Floats, noisy: Floats) -> Floats:
        """Posterior mean (K,) of the coefficients: over components and scales, by their evidence."""
        power, measured, logs, components = self.deviation**2, self.prior.measured, [], []
        for kind, variances in with_levels(self._falling):
            weight = LINE[kind]
            signal = np.bincount(self._coarse, weights=self._gains**2 * variances, minlength=measured)
            ratios = 1 + SCALES[:KEPT, None] * (signal / power)
            likelihoods = np.log(ratios).sum(axis=1) + (seen**2 / power / ratios).sum(axis=1)
            logs.append(np.log(weight) - likelihoods / 2)
            components.append((np.log(weight), ratios, variances))
        total = float(scipy.special.logsumexp(logs))
        mean = np.zeros(self.basis.components)
        for log, (_, ratios, variances) in zip(logs, components, strict=True):
            gain = np.exp(log - total) @ (SCALES[:KEPT, None] / ratios) * seen / power
            mean += (self._gains * variances)[self._released] * gain[self._coarse][self._released]
        evidence, level = self._constant(seen, noisy)
        share = scipy.special.expit(np.log(CONSTANT * self._box_cells) + evidence - total)
        mean *= 1 - share
        mean[self._first] += share * level
        return mean

    @property
    def _box_cells(self) -> float:
        """How many cells there are under box noise, or would be under as much of it."""
        if not self.normal:
            return self.prior.measured
        return float(min(self.prior.measured, max(FEWEST, BOX_CELLS / math.sqrt(self.deviation))))

    def _constant(self, seen: Floats, noisy: Floats) -> tuple[float, float]:
        """Log evidence of one level between the bounds, and that level minus 1/2."""
        if not self.normal:
            return constant_evidence(noisy / self._unit, self.step / self._unit, self.prior.measured)
        power = self.deviation**2
        evidence = (np.log(2 * np.pi * power) - np.sum(seen[1:] ** 2) / power) / 2
        return float(evidence), float(np.clip(seen[0], -0.5, 0.5))

    def _through(self, seen: Floats) -> Floats:
        """The M lowest cosines that have what was seen: nothing beyond."""
        lowest = np.all(np.array(self._indices) < np.array(self.prior.cells)[:, None], axis=0)
        inside = np.where(lowest, self._gains, 1.0)
        factors = np.where(lowest, 1 / inside, 0.0)[self._released]
        return np.asarray(seen[..., self._coarse[self._released]] * factors)

    def _falling(self, exponent: float, reach: float) -> Floats:
        """How prior variances (F,) fall: power at a frequency falls alike in any dimension."""
        distances = 1 + np.sqrt(self._squares)
        return np.asarray(
            (1 + (reach * distances) ** 2) ** (-(exponent + len(self.prior.cells) - 1) / 2)
        )

    # Frequencies that the prior counts, on a box of indices, flattened in C order; zero is the first.

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        largest = [int(index.max()) + 1 for index in self.basis.indices]
        pairs = zip(self.prior.shape, self.prior.cells, largest, strict=True)
        return tuple(min(size, max(BEYOND * count, least)) for size, count, least in pairs)

    @cached_property
    def _indices(self) -> tuple[Integers, ...]:
        return tuple(index.ravel() for index in np.indices(self._shape))

    @cached_property
    def _squares(self) -> Floats:
        return np.asarray(np.sum([index.astype(float) ** 2 for index in self._indices], axis=0))

    @cached_property
    def _released(self) -> Integers:
        """Places (K,) of the functions of the basis among the frequencies."""
        return np.asarray(np.ravel_multi_index(self.basis.indices, self._shape), dtype=np.int64)

    @property
    def _first(self) -> int:
        return int(np.argmin(self._released))

    @cached_property
    def _coarse(self) -> Integers:
        """Coarse frequency (F,) at which each is seen."""
        seen = [np.where(sign == 0, 0, like)[at] for at, like, sign in self._aliases]
        return np.asarray(np.ravel_multi_index(seen, self.prior.cells), dtype=np.int64)

    @cached_property
    def _gains(self) -> Floats:
        """Factor (F,) by which each is seen there; zero where no cell sees it."""
        gains = np.ones(self._coarse.size)
        parts = zip(self._aliases, self.prior.shape, self.prior.cells, strict=True)
        for (at, _, sign), size, count in parts:
            gains *= (_damping(size, count) * sign)[at]
        return gains

    @property
    def _aliases(self) -> Iterator[tuple[Integers, Integers, Floats]]:
        """Along each axis: index (F,), and what cosines look like at the midpoints of the cells."""
        parts = zip(self._indices, self.prior.shape, self.prior.cells, strict=True)
        return ((index, *aliases(size, count)) for index, size, count in parts)


def _damping(size: int, count: int) -> Floats:
    """Averages of cosines over size / count points, relative to their value in the middle."""
    angles = np.pi * np.arange(size) / (2 * size)
    ratio = size / count
    with np.errstate(invalid="ignore"):
        damping = np.sin(ratio * angles) / (ratio * np.sin(angles))
    damping[0] = 1.0
    return np.asarray(damping)
