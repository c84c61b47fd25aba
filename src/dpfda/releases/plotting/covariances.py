"""Pictures of released covariances, principal components and group comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpfda.releases.plotting import new_axis
from dpfda.views import given_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpfda.releases.comparison import ReleasedComparison, ReleasedDifference
    from dpfda.releases.components import ReleasedComponents
    from dpfda.releases.covariance import ReleasedCovariance

PIXELS = 121


def plot_covariance(release: ReleasedCovariance, ax: Axes | None = None) -> Axes:
    """Draw a covariance as an image over the square, its colours centred at zero.

    Parameters
    ----------
    release : ReleasedCovariance
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    axis = given_axis(ax) or _square_axis()
    start, end = release.domain_range
    points = np.linspace(start, end, PIXELS)
    values = release.on_grid(points)
    largest = float(np.abs(values).max()) or 1.0
    image = axis.imshow(
        values,
        origin="lower",
        extent=(start, end, start, end),
        cmap="RdBu_r",
        vmin=-largest,
        vmax=largest,
        interpolation="nearest",
    )
    label = release.about.get("domain", "t (units of the grid)")
    axis.set_xlabel(label)
    axis.set_ylabel(label)
    axis.set_title(f"{release.guarantee}", fontsize="medium")
    figure = axis.get_figure(root=True)
    if figure is not None:
        bar = figure.colorbar(image, ax=axis)
        bar.set_label(f"covariance of {_value(release.about)}, squared units")
    return axis


def plot_components(release: ReleasedComponents, ax: Axes | None = None) -> Axes:
    """Draw the eigenfunctions of a release; the legend holds their variances.

    Parameters
    ----------
    release : ReleasedComponents
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    axis = given_axis(ax) or new_axis()
    points = np.linspace(*release.domain_range, 401)
    ratios = release.ratios
    for index, values in enumerate(release(points)):
        share = "" if ratios is None else f" ({ratios[index]:.0%})"
        words = f"{index + 1}: variance {release.variances[index]:.3g}{share}"
        below = release.floor is not None and release.variances[index] <= release.floor
        style = "--" if below else "-"
        words += ", within the noise" if below else ""
        axis.plot(points, values, style, color=f"C{index % 10}", label=words)
    axis.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    axis.set_xlabel(release.about.get("domain", "t (units of the grid)"))
    axis.set_ylabel("eigenfunction (unit norm)")
    axis.set_title(f"{release.guarantee}", fontsize="medium")
    axis.legend(fontsize="small")
    return axis


def plot_comparison(
    release: ReleasedComparison, ax: Axes | None = None, level: float | None = 0.95
) -> Axes:
    """Draw the released mean of every group with its simultaneous band.

    Parameters
    ----------
    release : ReleasedComparison
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    level : float or None
        Level of each band; None draws none.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    axis = given_axis(ax) or new_axis()
    points = np.linspace(*release.domain_range, 401)
    for index, (name, mean) in enumerate(release.means.items()):
        color = f"C{index % 10}"
        axis.plot(points, mean(points), color=color, label=str(name))
        if level is not None:
            band = mean.band(level)
            axis.fill_between(band.points, band.lower, band.upper, color=color, alpha=0.2, linewidth=0)
    if level is not None:
        axis.fill_between([], [], [], color="0.5", alpha=0.3, label=f"{level:.0%} bands, privacy noise")
    axis.set_xlabel(release.about.get("domain", "t (units of the grid)"))
    axis.set_ylabel(_value(release.about))
    axis.set_title(f"{release.guarantee}", fontsize="medium")
    axis.legend(fontsize="small")
    return axis


def plot_difference(
    difference: ReleasedDifference, ax: Axes | None = None, level: float | None = 0.95
) -> Axes:
    """Draw a difference of two means with its simultaneous band and the line of no difference.

    Parameters
    ----------
    difference : ReleasedDifference
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    level : float or None
        Level of the band; None draws none.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    axis = given_axis(ax) or new_axis()
    points = np.linspace(*difference.domain_range, 401)
    first, second = difference.names
    axis.plot(points, difference(points), color="C0", label=f"{first} minus {second}")
    axis.plot(points, difference.smoothed(points), color="C0", linestyle="--", label="smoothed")
    if level is not None:
        band = difference.band(level)
        axis.fill_between(
            band.points,
            band.lower,
            band.upper,
            color="C0",
            alpha=0.2,
            linewidth=0,
            label=f"{level:.0%} band for the privacy noise",
        )
    axis.axhline(0.0, color="0.5", linewidth=0.8, zorder=0)
    about = difference.first.about
    axis.set_xlabel(about.get("domain", "t (units of the grid)"))
    axis.set_ylabel(f"difference in {_value(about)}")
    axis.set_title(f"{difference.first.guarantee}", fontsize="medium")
    axis.legend(fontsize="small")
    return axis


def _square_axis() -> Axes:
    axis = new_axis()
    figure = axis.get_figure(root=True)
    if figure is not None:
        figure.set_size_inches(5.6, 4.4)
    return axis


def _value(about: object) -> str:
    labels = dict(about) if hasattr(about, "keys") else {}  # type: ignore[call-overload]
    return str(labels.get("value", "standardised value" if labels.get("standardized") else "value"))
