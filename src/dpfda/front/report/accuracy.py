"""How far a release may be from what it stands for, by its default band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpfda.releases.bands import Band
from dpfda.releases.function import ReleasedFunction

LEVEL = 0.95


@dataclass(frozen=True)
class Accuracy:
    """Half-widths of the default band, in the units of the function.

    Parameters
    ----------
    level : float
        Probability of the bands.
    typical, largest : float
        Mean and largest half-width of the simultaneous band over the domain.
    at_a_point : float
        Mean half-width of the pointwise band.
    """

    level: float
    typical: float
    largest: float
    at_a_point: float


def accuracy_of(release: ReleasedFunction, level: float = LEVEL) -> Accuracy:
    """Half-widths of the default band of a release, simultaneous and pointwise."""
    points = np.linspace(*release.domain_range, 201)
    widths = [
        (band.upper - band.lower) / 2
        for band in (release.band(level, simultaneous, points) for simultaneous in (True, False))
    ]
    everywhere, pointwise = widths
    return Accuracy(level, float(everywhere.mean()), float(everywhere.max()), float(pointwise.mean()))


def band_at(
    release: ReleasedFunction,
    points: ArrayLike,
    level: float = LEVEL,
    simultaneous: bool = True,
    kind: str = "mean",
) -> Band:
    """Band at some points that holds, if simultaneous, over the whole domain.

    `ReleasedFunction.band` with a few points is simultaneous over those alone; tables made for
    different points would then not hold together.
    """
    at = np.atleast_1d(np.asarray(points, dtype=np.float64))
    everywhere = np.linspace(*release.domain_range, 201)
    band = release.band(level, simultaneous, np.concatenate([at, everywhere, release.grid_points]), kind)
    return Band(at, band.lower[: at.size], band.upper[: at.size], band.level, simultaneous)
