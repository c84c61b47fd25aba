"""A clipping radius from noisy counts of units by length: post-processing and public numbers alone."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats
from dpfda.numerics.specials import normal_chance, normal_quantile

# Candidates for the radius: those of the bound over powers of 2^(1/2).
CANDIDATES = 11
# Clipped parts do not all point the same way: their average is taken to be this part of their length.
ALIGNED = 0.5
# Lengths are taken to be log-normal, their logarithms with one of these deviations.
WIDTHS = (0.1, 0.2, 0.4, 0.8)
QUANTILES = 64
# Or a power of them is normal, with one of these deviations in shares of its middle (Box & Cox 1964).
POWERS, SPREADS = (0.0, 1 / 3, 2 / 3, 1.0), (0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
# No such law is exact: by such a share of the units it may miss each count.
MISFIT = 0.02
# About what the default line between bounds misses, in shares of their distance: so many times n epsilon
# to minus this power.
MISSED, POWER = 0.9, 0.72
# What clipping may move at a point, of the average excess of residuals over the radius.
MOVED = 0.25


def candidate_radii(radius: float) -> Floats:
    """Public candidates (CANDIDATES,) for the clipping radius, decreasing from that of the bound."""
    return np.asarray(radius * 2.0 ** (-np.arange(CANDIDATES) / 2))


def choose_radius(
    radii: Floats, counts: Floats, deviation: float, size: int, noise: ArrayLike, shorter: int = 0
) -> int:
    """Which candidate has the least predicted squared error of second moments, from noisy counts.

    Clipping at r moves second moments by at most the average of max(length^2 - r^2, 0). Lengths are
    taken to be log-normal, place and width unknown; these are weighed by how well they explain the noisy
    counts, and the squared average of the excess (half of it: clipped parts do not all point the same
    way) is added to the noise. Where counts are too noisy to tell, a large radius is chosen.

    radii: array (C,). Decreasing.
    counts: array (C,). Noisy numbers of units whose length is above the next candidate (and at most this
        one, but for the first).
    deviation: Standard deviation of a count's noise, which is Laplace.
    size: Number of units, or public divisor.
    noise: array (C,). Expected squared error of the last stage at each radius, without clipping.
    shorter: By how many powers of the root of two the places reach below the least candidate.
    Returns the index of the candidate.
    """
    place, width = (grid.ravel() for grid in np.meshgrid(_places(radii, shorter), WIDTHS))
    above = normal_chance((place - np.log(radii[1:, None])) / width)
    weights = _weights(above, counts, deviation, size)
    lengths = np.exp(place[:, None] + width[:, None] * _normal_points())
    excess = np.maximum(lengths[None] ** 2 - radii[:, None, None] ** 2, 0.0).mean(axis=2)
    moved = (excess**2 @ weights) / weights.sum()
    return int(np.argmin(np.asarray(noise) + ALIGNED**2 * moved))


def typical_length(
    radii: Floats, counts: Floats, deviation: float, size: int, shorter: int = 0
) -> float:
    """Root mean square of lengths, from noisy counts.

    Powers of lengths are taken to be normal, or their logarithms; power, place and width are weighed by
    how well they explain the noisy counts. Parameters are those of `choose_radius`.
    """
    # Relative to the largest, so that no square overflows.
    places = _places(radii / radii[0], shorter)
    ratios = np.log(radii[1:, None] / radii[0]) - places
    above, squares = list[Floats](), list[Floats]()
    for power, spread in product(POWERS, SPREADS):
        raised = np.expm1(power * ratios) / power if power else ratios
        above.append(normal_chance(-raised / spread))
        points = spread * _normal_points()
        shape = np.maximum(1 + power * points, 0.0) ** (1 / power) if power else np.exp(points)
        squares.append(np.exp(2 * places) * np.mean(shape**2))
    doubt = math.hypot(deviation, MISFIT * size)
    weights = _weights(np.hstack(above), counts, doubt, size)
    return float(radii[0]) * math.sqrt(weights @ np.concatenate(squares) / weights.sum())


def _places(radii: Floats, shorter: int) -> Floats:
    """Logarithms of lengths, from below the least candidate to the largest."""
    least = np.log(radii[-1]) - shorter * math.log(2) / 2
    return np.linspace(least, np.log(radii[0]), 4 * (radii.size + shorter) - 3)


def _weights(above: Floats, counts: Floats, deviation: float, size: int) -> Floats:
    """How well laws (J,) explain noisy counts (C,), by their chances (C - 1, J) above each candidate."""
    laws = above.shape[1]
    chances = np.diff(np.vstack([np.zeros(laws), above, np.ones(laws)]), axis=0)
    logs = -np.abs(counts[:, None] - size * chances).sum(axis=0) * math.sqrt(2) / deviation
    return np.asarray(np.exp(logs - logs.max()))


def _normal_points() -> Floats:
    """Points of equal chances (QUANTILES,) of the standard normal law."""
    return np.asarray(normal_quantile((np.arange(QUANTILES) + 0.5) / QUANTILES))


def line_error(strength: float, share: float = 1.0) -> float:
    """About what the default line misses for n epsilon = `strength`, of bounds a share as wide."""
    return float(MISSED * (share / strength) ** POWER)


def moved_at_most(radii: Floats, shares: Floats, deviation: float) -> Floats:
    """How far clipping residuals at each radius (C,) may move a mean at a point, from a noisy histogram.

    A residual in the bin between two candidates counts with its middle. What noise may hide of the
    average excess is added in the square.

    radii: array (C,). Decreasing.
    shares: array (C,). Of the units, with noise: above the next candidate, and at most this one but for
        the first.
    deviation: Of the noise in a share.
    """
    middles = (radii + np.append(radii[1:], 0.0)) / 2
    excess = np.tril(np.maximum(middles - radii[:, None], 0.0), -1)
    doubt = deviation * np.sqrt(np.sum(excess**2, axis=1))
    return np.asarray(MOVED * np.hypot(np.maximum(excess @ shares, 0.0), doubt))


def residual_radius(
    radii: Floats, shares: Floats, deviation: float, strength: float, rough: float
) -> int:
    """At which candidate residuals from a rough line are clipped: that of least expected error.

    radii, shares, deviation: As of `moved_at_most`; radii in shares of the distance between the bounds,
        the first one half.
    strength, rough: n epsilon of the second look and of the rough line, which residuals cannot be
        shorter than what it misses.
    Returns the index of the candidate; 0 where nothing is gained.
    """
    noise = np.array([line_error(strength, 2 * radius) for radius in radii])
    errors = np.hypot(noise, moved_at_most(radii, shares, deviation))
    allowed = radii >= line_error(rough)
    return int(np.argmin(np.where(allowed | (np.arange(radii.size) == 0), errors, np.inf)))
