"""The default line of curves between bounds, cut at them, and the band around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.grids import piecewise
from dpfda.releases.bands import Band, check_level, check_places, enclosing

if TYPE_CHECKING:
    from dpfda.releases.function import ReleasedFunction

Floats = NDArray[np.float64]


def unclipped(release: ReleasedFunction, at: Floats, order: int) -> Floats:
    """The line, or a derivative, before it is cut."""
    center = piecewise(release.grid_points, release.center, at, order)
    return np.asarray(center + release.basis.evaluate(at, order) @ release.coefficients)


def between_bounds(release: ReleasedFunction, prior: CurvePrior, at: Floats) -> Floats:
    """Values (k,) of the line cut at its public bounds; a derivative there is that of the bound."""
    grid, order = release.grid_points, release.order
    line = unclipped(release, at, 0)
    lower, upper = (piecewise(grid, curve, at) for curve in (prior.lower, prior.upper))
    if order == 0:
        return np.clip(line, lower, upper)
    slopes = [piecewise(grid, curve, at, order) for curve in (prior.lower, prior.upper)]
    inside = unclipped(release, at, order)
    return np.where(line < lower, slopes[0], np.where(line > upper, slopes[1], inside))


def mean_band(
    release: ReleasedFunction, prior: CurvePrior, level: float, simultaneous: bool, at: Floats
) -> Band:
    """The band for the mean itself; see `dpfda.mechanisms.posteriors.widths`."""
    level = check_level(level, simultaneous)
    check_places(at)
    grid, model, values = release.grid_points, release.curve_model, release(at)
    if release.order == 0:
        widths = release.widths.around_line(level, simultaneous) * prior.width
        half = piecewise(grid, widths, at)
        lower = np.maximum(values - half, piecewise(grid, prior.lower, at))
        upper = np.minimum(values + half, piecewise(grid, prior.upper, at))
        return Band(at, lower, upper, float(level), simultaneous)
    slopes = release.basis.evaluate(at, release.order) @ (release.basis.analysis.T * prior.width)
    functions = slopes if model.lift is None else slopes @ model.lift
    half = release.widths.around_slope(level, simultaneous, functions)
    line = unclipped(release, at, release.order)
    return enclosing(Band(at, line - half, line + half, float(level), simultaneous), values)
