"""A clipping radius from noisy counts of units by length: post-processing and public numbers alone."""

from __future__ import annotations

import math

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
# About what the default line between bounds misses, in shares of their distance: so many times n epsilon
# to minus this power.
MISSED, POWER = 0.9, 0.72
# What clipping may move at a point, of the average excess of residuals over the radius: in releases of
# earlier versions; and as it is expected before that excess is measured, with so much of the doubt.
MOVED = 0.25
TRIED, HIDDEN = 0.5, 0.25
# A try is worth its price where the error that it promises is so much of the one without.
WORTH = 0.93
# Share of the budget for it at n epsilon of 20,000.
TRY = 0.05


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
    least = np.log(radii[-1]) - shorter * math.log(2) / 2
    places = np.linspace(least, np.log(radii[0]), 4 * (radii.size + shorter) - 3)
    place, width = (grid.ravel() for grid in np.meshgrid(places, WIDTHS))
    above = normal_chance((place - np.log(radii[1:, None])) / width)
    chances = np.diff(np.vstack([np.zeros(place.size), above, np.ones(place.size)]), axis=0)
    logs = -np.abs(counts[:, None] - size * chances).sum(axis=0) * math.sqrt(2) / deviation
    weights = np.exp(logs - logs.max())
    quantiles = normal_quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    lengths = np.exp(place[:, None] + width[:, None] * quantiles)
    excess = np.maximum(lengths[None] ** 2 - radii[:, None, None] ** 2, 0.0).mean(axis=2)
    moved = (excess**2 @ weights) / weights.sum()
    return int(np.argmin(np.asarray(noise) + ALIGNED**2 * moved))


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
    return np.asarray(MOVED * np.hypot(*excesses(radii, shares, deviation)))


def excesses(radii: Floats, shares: Floats, deviation: float) -> tuple[Floats, Floats]:
    """Average excess of residuals over each radius (C,), and what noise may hide of it, as above."""
    middles = (radii + np.append(radii[1:], 0.0)) / 2
    above = np.tril(np.maximum(middles - radii[:, None], 0.0), -1)
    return np.maximum(above @ shares, 0.0), deviation * np.sqrt(np.sum(above**2, axis=1))


def residual_radius(
    radii: Floats, shares: Floats, deviation: float, strengths: tuple[float, float], rough: float
) -> int:
    """At which candidate it is worth a try to clip residuals from a rough line; 0 where at none.

    That of least expected error. Clipping is taken to move a mean by half of the average excess, which
    the try will measure, and a quarter of what noise hides of it is added in the square.

    radii, shares, deviation: As of `moved_at_most`; radii in shares of the distance between the bounds,
        the first one half.
    strengths: n epsilon of the second look, without a try and after it.
    rough: That of the rough line: residuals cannot be shorter than what it misses.
    """
    whole, tried = strengths
    excess, doubt = excesses(radii, shares, deviation)
    noise = np.array([line_error(tried, 2 * radius) for radius in radii])
    errors = np.hypot(noise, TRIED * np.hypot(excess, HIDDEN * doubt))
    errors[radii < line_error(rough)] = np.inf
    errors[0] = WORTH * line_error(whole)
    return int(np.argmin(errors))


def share_of_try(strength: float) -> float:
    """Of the second look's budget, for a try of a radius: less for a larger n epsilon."""
    return float(min(max(TRY * (20_000 / strength) ** 0.2, TRY / 3), 2 * TRY))
