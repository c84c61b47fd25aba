"""The default line of curves between bounds: cut at them, its band, its error and its misfit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.grids import piecewise
from dpfda.privacy.words import number
from dpfda.releases.bands import Accuracy, Band, check_level, check_places, enclosing

if TYPE_CHECKING:
    from dpfda.releases.function import ReleasedFunction

Floats = NDArray[np.float64]

# Typical errors, as shares of the distance between the bounds, and what they are called.
VERDICTS = ((0.02, "very good"), (0.05, "good"), (0.1, "fair"), (0.2, "coarse"))
WORST = "of little use"


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


def is_line(release: ReleasedFunction) -> bool:
    """Whether a release is the default line of curves between bounds, or a derivative of it."""
    return isinstance(release.hierarchy, CurvePrior)


def verdict(release: ReleasedFunction) -> str | None:
    """The typical error in one line, from public numbers; None where it is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> curves = np.full((4000, 50), 0.3)
    >>> verdict(PrivateMean(1.0, bounds=(0, 1)).fit(curves).release_)
    'typical error 1 % of your bounds or less: very good'
    """
    if not is_line(release) or release.order > 0:
        return None
    share = release.widths.typical_error
    word = next((word for limit, word in VERDICTS if share <= limit), WORST)
    size = "1 % of your bounds or less" if share < 0.01 else f"{100 * share:.0f} % of your bounds"
    return f"typical error {size}: {word}"


def misfit(release: ReleasedFunction) -> str | None:
    """A warning where what was measured is rougher than its cells can follow; None elsewhere."""
    if not is_line(release) or not release.widths.misfit:
        return None
    return (
        "What was measured changes from cell to cell by more than the noise does: the mean is rougher "
        "than the line can follow, and the band may miss it between cells."
    )


def promise(found: Accuracy, units: str) -> list[str]:
    """What the default band says and what it does not."""
    often = f"{100 * found.level:g}"
    return [
        f"The band around the published curve, typically {number(found.typical)} to either side and at "
        f"most {number(found.largest)} ({units}), is meant to hold the mean of these bounded curves, "
        f"everywhere at once, in {often} of 100 releases of curves like ordinary ones. At a single "
        f"point chosen in advance {number(found.at_a_point)} is enough. Measured on 39 sets of real "
        "curves, the band for 95% held the mean in 89 to 97 of 100 releases, by the number of units, "
        "and in 95 over all; these sets were in view when it was made.",
        "The noise is known exactly. How the mean wiggles between the places that were measured is "
        "assumed: spikes, steps and cycles narrower than a cell can be missed altogether. What the "
        "bound cut off, and how far these data are from a wider population, is not included.",
    ]
