"""Draws of curves that the mean may be, given a release; noise of its count, and of its rows.

A component comes as often as its weight says; a curve and noise are drawn freely from it, and corrected
by what they miss of the release (Matheron's rule). Draws repeat: their keys are fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpfda.bases.grids import frozen
from dpfda.estimates.components import Fit
from dpfda.estimates.curves import CurveModel, CurvePosterior
from dpfda.noise import NoiseLaw
from dpfda.numerics.arrays import Floats, Integers

# So many normals at most are kept.
MOST_KEPT = 2**20


def deviations(
    posterior: CurvePosterior, key: int, weights: list[Floats], draws: int, rows: Integers | slice
) -> tuple[Floats, Floats]:
    """Curves (draws, k) that the mean may be: component by weight, then curve and noise given it.

    Beside them the coordinates of that noise (draws, 0 or 1) that are not of what was measured.
    """
    generator = np.random.Generator(np.random.Philox(key=key))
    flat, model = np.concatenate(weights), posterior.model
    # Systematic: components come as often as their weights say, not by chance.
    places = (np.arange(draws) + generator.random()) / draws * flat.sum() * (1 - 1e-12)
    chosen = np.searchsorted(np.cumsum(flat), places)
    noise = model.noise.simulate(generator, draws)
    most = max(fit.part.functions.shape[1] for fit in posterior.fits)
    normals = standard_normals(key, draws, most)
    ends = np.cumsum([0, *(weight.size for weight in weights)])
    bounds, free = np.searchsorted(chosen, ends), []
    for fit, begun, start, stop in zip(posterior.fits, ends, bounds, bounds[1:], strict=False):
        if start < stop:
            part = slice(start, stop)
            drawn = normals[part, : fit.part.functions.shape[1]]
            free.append(Free(fit, chosen[part] - begun, drawn, noise[part, : model.resolution]))
    return np.concatenate([_given(model, group, rows) for group in free]), noise[:, model.resolution :]


def standard_normals(key: int, draws: int, count: int) -> Floats:
    """Normals (draws, count) of a fixed key, read-only: alike for all releases, and so kept for them."""
    return (_kept_normals if draws * count <= MOST_KEPT else _normals)(key, draws, count)


def _normals(key: int, draws: int, count: int) -> Floats:
    return frozen(np.random.Generator(np.random.Philox(key=[key, 1])).standard_normal((draws, count)))


_kept_normals = lru_cache(maxsize=8)(_normals)


class Free(NamedTuple):
    """Free draws of a component's normals (draws, K) and of noise (draws, M); scales by draw."""

    fit: Fit
    scales: Integers
    normals: Floats
    noise: Floats

    @property
    def sizes(self) -> Floats:
        """Variances (draws, 1)."""
        return self.fit.scales[self.scales][:, None]

    @property
    def loadings(self) -> Floats:
        """Those (draws, K) on the component's functions."""
        spread, roots = self.fit.part.spread, np.sqrt(self.sizes)
        return np.asarray(self.normals * (roots if spread is None else roots * spread))

    def missed(self, measured: Floats) -> Floats:
        """What curves that are measured so (draws, M) miss of the release, to be added to them."""
        part = self.fit.part
        rotated = (self.fit.rotated - measured @ part.vectors) * self.sizes
        return np.asarray((rotated / part.power[self.scales]) @ part.vectors.T)


def _given(model: CurveModel, free: Free, rows: Integers | slice) -> Floats:
    """Curves given component and scales: drawn freely, corrected by what they miss of the release."""
    part, loadings = free.fit.part, free.loadings
    measured = loadings @ part.seen.T + free.noise * (model.step / model.deviations)
    corrected = free.missed(measured) @ part.seen
    loadings += corrected if part.spread is None else corrected * part.spread**2
    return np.asarray(loadings @ part.functions[rows].T + free.fit.center[rows])


def spread(deviations: Sequence[Floats], level: float, simultaneous: bool) -> Floats:
    """Half-widths (k,) that deviations (draws, k), or the first less the second, stay within.

    Everywhere, or at each point.
    """
    first, *others = deviations
    apart = np.abs(first - sum(others))
    if not simultaneous:
        return np.asarray(np.quantile(apart, level, axis=0))
    deviation = np.sqrt(np.mean(apart**2, axis=0))
    safe = np.where(deviation > 0, deviation, 1.0)
    return np.asarray(deviation * np.quantile((apart / safe).max(axis=1), level))


@dataclass(frozen=True)
class CountNoise:
    """Noise of a count: of its own, or of its own and once more in one law with the sum.

    noise: On one component; with a rough count before, that of the sum, with the count as its last.
    scale: Grid units per unit counted.
    before: Of the rough count that the sum was designed for. The two are averaged by their precision.
    """

    noise: NoiseLaw
    scale: int
    before: CountNoise | None = None

    @property
    def variance(self) -> float:
        """Of this count, without the one before."""
        return float(self.noise.variances()[-1]) / self.scale**2

    @property
    def share(self) -> float:
        """Weight of the count before in the average."""
        return 0.0 if self.before is None else self.variance / (self.variance + self.before.variance)

    def errors(self, generator: np.random.Generator, draws: int, beside: Floats) -> Floats:
        """Simulated errors (draws,) of the average.

        beside: array (draws, 0 or 1). Simulated last coordinate of the noise of the sum, where that is
            the count's.
        """
        if self.before is None:
            return np.asarray(self.noise.simulate(generator, draws)[:, 0] / self.scale)
        own = beside[:, 0] / self.scale
        return np.asarray(own + self.share * (self.before.errors(generator, draws, beside) - own))


@dataclass(frozen=True, eq=False)
class Forms:
    """Noise of one linear form of rows of numbers, such as the sums of groups over cells.

    Parameters
    ----------
    law : NoiseLaw
        Of one row.
    weights : array (R,)
        Of the rows, in the units of what is estimated.
    start : int
        Coordinates of the law before this one are not looked at.
    """

    law: NoiseLaw
    weights: Floats
    start: int = 0

    @property
    def components(self) -> int:
        """How many numbers a row has."""
        return self.law.components - self.start

    def variances(self) -> Floats:
        """Of each number."""
        return np.asarray(self.law.variances()[self.start :] * np.sum(self.weights**2))

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Errors (draws, M)."""
        total = np.zeros((draws, self.components))
        for weight in self.weights[self.weights != 0]:
            total += weight * self.law.simulate(generator, draws)[:, self.start :]
        return total
