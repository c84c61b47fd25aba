"""Lines cut at the public bounds, and bands that hold them: one rule for every kind of release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.grids import piecewise
from dpfda.mechanisms.posteriors import CurveModel, Widths
from dpfda.mechanisms.posteriors.widths import around_lines, around_slopes
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.words import number
from dpfda.releases.bands import Accuracy, Band, check_level, check_places

Limits = tuple[Floats, Floats]
# Halvings of the distance between two points that find a crossing to the last digits.
HALVINGS = 50

# Typical errors, as shares of the distance between the bounds, and what they are called.
VERDICTS = ((0.02, "very good"), (0.05, "good"), (0.1, "fair"), (0.2, "coarse"))
WORST = "of little use"


class Mean(Protocol):
    """What is asked of a released mean curve, or of a derivative of one."""

    @property
    def order(self) -> int: ...
    @property
    def limits(self) -> Limits | None: ...
    @property
    def grid_points(self) -> Floats: ...
    @property
    def basis(self) -> Basis: ...
    @property
    def hierarchy(self) -> Any: ...
    @property
    def curve_model(self) -> CurveModel: ...
    @property
    def widths(self) -> Widths: ...
    def unclipped(self, points: ArrayLike, order: int = 0, /) -> Floats: ...
    def __call__(self, points: ArrayLike, /) -> Any: ...


def limits_of(bound: Mapping[str, object], points: int) -> Limits | None:
    """Public bounds on values, () or (m,), that were stated for a grid of m points; None for others.

    Parameters
    ----------
    bound : mapping
        Of a certificate; it may come from a file.
    points : int
        Number m of points of the grid.

    Raises
    ------
    ParameterError
        If they are not finite numbers in order, one or one a point.
    """
    if bound.get("kind") != "values":
        return None
    try:
        lower, upper = (np.asarray(bound[end], dtype=np.float64) for end in ("lower", "upper"))
    except (KeyError, TypeError, ValueError):
        raise ParameterError("bound", "state its lower and upper values", "others") from None
    shaped = all(end.shape in ((), (points,)) for end in (lower, upper))
    if not (shaped and np.all(np.isfinite(lower) & np.isfinite(upper) & (lower <= upper))):
        raise ParameterError("bound", "have lower <= upper, finite, one or one a grid point", "others")
    return lower, upper


def settled(band: Band, values: Floats, limits: Limits | None = None) -> Band:
    """A band that holds the line: widened where the line leaves it, then cut at public bounds.

    Parameters
    ----------
    band : Band
    values : array (k,)
        The line at the band's points.
    limits : (array, array), optional
        Ends, () or (k,), that the line was cut at. What lay in the band and between them still does.
    """
    lower, upper = np.minimum(band.lower, values), np.maximum(band.upper, values)
    if limits is not None:
        lower, upper = np.clip(lower, *limits), np.clip(upper, *limits)
    return replace(band, lower=lower, upper=upper)


def limits_at(release: Mean, at: Floats, order: int = 0) -> Limits | None:
    """Public bounds (k,) of a release at points, or their derivatives; linear between grid points."""
    if release.limits is None:
        return None
    lower, upper = (piecewise(release.grid_points, end, at, order) for end in release.limits)
    return lower, upper


def line_at(release: Mean, at: Floats) -> Floats:
    """Values (k,) of the line cut at its public bounds; a derivative there is that of the bound."""
    values, limits = release.unclipped(at, release.order), limits_at(release, at)
    if limits is None:
        return values
    if release.order == 0:
        return np.clip(values, *limits)
    line, slopes = release.unclipped(at, 0), limits_at(release, at, release.order)
    assert slopes is not None  # noqa: S101
    return np.where(line < limits[0], slopes[0], np.where(line > limits[1], slopes[1], values))


def cuts(release: Mean, points: Floats) -> Floats:
    """Where the line meets its public bounds, once at most between neighbouring points (k,)."""
    found = []
    for side in (0, 1) if release.limits is not None else ():
        gap = _above(release, points, side)
        crossed = np.flatnonzero(gap[1:] * gap[:-1] < 0)
        low, high, rising = points[crossed], points[crossed + 1], gap[crossed] < 0
        for _ in range(HALVINGS if crossed.size else 0):
            middle = (low + high) / 2
            before = (_above(release, middle, side) < 0) == rising
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        found.append(low)
    return np.concatenate(found) if found else np.empty(0)


def _above(release: Mean, at: Floats, side: int) -> Floats:
    limits = limits_at(release, at)
    assert limits is not None  # noqa: S101
    return release.unclipped(at) - limits[side]


def band_around(release: Mean, band: Band) -> Band:
    """A band of a release, made to hold its line between its public bounds."""
    limits = limits_at(release, band.points) if release.order == 0 else None
    return settled(band, release(band.points), limits)


def mean_band(release: Mean, level: float, simultaneous: bool, at: Floats) -> Band:
    """The band for the mean itself; see `dpfda.mechanisms.posteriors.widths`."""
    level = check_level(level, simultaneous)
    check_places(at)
    line = release.unclipped(at, release.order) if release.order else release(at)
    half = _half_widths((release,), level, simultaneous, at)
    band = Band(at, line - half, line + half, float(level), simultaneous)
    limits = limits_at(release, at) if release.order == 0 else None
    return settled(band, release(at) if release.order else line, limits)


def difference_band(first: Mean, second: Mean, level: float, simultaneous: bool, at: Floats) -> Band:
    """The band for the difference of two means, from what both may be, independently."""
    lines = [mean.unclipped(at, mean.order) if mean.order else mean(at) for mean in (first, second)]
    half = _half_widths((first, second), level, simultaneous, at)
    line = lines[0] - lines[1]
    return around_difference(
        first, second, Band(at, line - half, line + half, float(level), simultaneous)
    )


def around_difference(first: Mean, second: Mean, band: Band) -> Band:
    """A band made to hold the first line less the second, between what their bounds let it be."""
    at, limits = band.points, None
    ends = [limits_at(mean, at) for mean in (first, second)]
    if not first.order and ends[0] is not None and ends[1] is not None:
        limits = ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]
    return settled(band, first(at) - second(at), limits)


def _half_widths(means: tuple[Mean, ...], level: float, simultaneous: bool, at: Floats) -> Floats:
    """Half-widths (k,) for a default line, or for the first less the second, in units of the data."""
    widths = [mean.widths for mean in means]
    if means[0].order == 0:
        if len(widths) == 1:
            half = widths[0].around_line(level, simultaneous)
        else:
            half = around_lines(widths, level, simultaneous)
        half = half * _scale(means[0])
        return piecewise(means[0].grid_points, half, at)
    return around_slopes(widths, level, simultaneous, [_slopes(mean, at) for mean in means])


def _scale(release: Mean) -> Floats:
    """Distance (m,) between the public bounds."""
    assert isinstance(release.hierarchy, CurvePrior)  # noqa: S101
    return release.hierarchy.width


def _slopes(release: Mean, at: Floats) -> Floats:
    """Takes shares of the bounds at the carrying points to derivatives (k,), in units of the data."""
    slopes = release.basis.evaluate(at, release.order) @ (release.basis.analysis.T * _scale(release))
    lift = release.curve_model.lift
    return np.asarray(slopes if lift is None else slopes @ lift)


def is_line(release: Mean) -> bool:
    """Whether a release is the default line of curves between bounds, or a derivative of it."""
    return isinstance(release.hierarchy, CurvePrior)


def verdict(release: Mean) -> str | None:
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


def misfit(release: Mean) -> str | None:
    """A warning where what was measured is rougher than its cells can follow; None elsewhere."""
    if not is_line(release) or not release.widths.misfit:
        return None
    return (
        "What was measured changes from cell to cell by more than the noise does: the mean is rougher "
        "than the line can follow, and the band may miss it between cells."
    )


def held(order: int) -> str:
    """What the default band is meant to hold."""
    return "the derivative of the mean" if order else "the mean"


def promise(found: Accuracy, units: str, order: int = 0) -> list[str]:
    """What the default band says and what it does not."""
    often = f"{100 * found.level:g}"
    measured = (
        "held it in 80 to 90 of 100 releases: less often than meant"
        if order
        else "held the mean in 88 to 96 of 100 releases, by the number of units, and in 94 over all"
    )
    return [
        f"The band around the published curve reaches typically {number(found.typical)}, and at most "
        f"{number(found.largest)}, from it ({units}). It is meant to hold {held(order)} of these "
        f"bounded curves, everywhere at once, in {often} of 100 releases of curves like ordinary ones. "
        f"At a single point chosen in advance {number(found.at_a_point)} is enough. Measured on 39 sets "
        f"of real curves, the band for 95% {measured}; these sets were in view when it was made.",
        "The noise is known exactly. How the mean wiggles between the places that were measured is "
        "assumed: spikes, steps and cycles narrower than a cell can be missed altogether. What the "
        "bound cut off, and how far these data are from a wider population, is not included.",
    ]
