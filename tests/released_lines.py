"""What tests work out again from the public numbers of a released function."""

import numpy as np

from dpfda.estimates import Widths
from dpfda.releases.combined import measured
from dpfda.releases.counts import NoisyCount
from dpfda.releases.function import ReleasedFunction


def widths_of(release: ReleasedFunction) -> Widths:
    """How far the mean may lie from a default line between bounds."""
    known = measured(release)
    count = release.divisor.law if isinstance(release.divisor, NoisyCount) else None
    return Widths(known.model.posterior(known.noisy), count, known.size)


def uncut(release: ReleasedFunction, at: np.ndarray) -> np.ndarray:
    """Values of the estimate at points, before it is cut at public bounds."""
    center = np.interp(at, release.grid_points, release.center)
    return np.asarray(center + release.basis.evaluate(at) @ release.coefficients)
