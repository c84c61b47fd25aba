"""Pictures and tables of releases and plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpfda.errors import MissingExtraError, ParameterError
from dpfda.views import given_axis

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dpfda.mechanisms.design import Plan
    from dpfda.releases.density import ReleasedDensity
    from dpfda.releases.field import ReleasedField
    from dpfda.releases.function import ReleasedFunction
    from dpfda.releases.predictor import ReleasedPredictor

# A picture shows two variables at most, on at least so many cells along each.
PICTURE = 2
FINE = 256


def frame_of(release: ReleasedFunction, level: float) -> pd.DataFrame:
    """Values and simultaneous band on the grid, one row a grid point.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "pandas", "A data frame") from None
    band = release.band(level, points=release.grid_points)
    return pd.DataFrame(
        {
            "point": release.grid_points,
            "value": release(release.grid_points),
            "lower": band.lower,
            "upper": band.upper,
        }
    )


def plot_release(release: ReleasedFunction, ax: Axes | None = None, level: float | None = 0.95) -> Axes:
    """Draw a release and its simultaneous band.

    Parameters
    ----------
    release : ReleasedFunction
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
    start, end = release.domain_range
    points = [start + (end - start) * i / 400 for i in range(401)]
    axis.plot(points, release(points), color="C0", label="released function")
    if level is not None:
        band = release.band(level)
        axis.fill_between(
            band.points,
            band.lower,
            band.upper,
            color="C0",
            alpha=0.2,
            linewidth=0,
            label=_band_label(release, level),
        )
    labels = release.about
    axis.set_xlabel(labels.get("domain", "t (units of the grid)"))
    value = labels.get("value", "standardised value" if labels.get("standardized") else "value")
    axis.set_ylabel(value if release.order == 0 else f"derivative of {value}")
    axis.set_title(f"{_subject(release)}\n{release.guarantee}", fontsize="medium")
    axis.legend(fontsize="small")
    return axis


def _band_label(release: ReleasedFunction, level: float) -> str:
    from dpfda.bases.curve_priors import CurvePrior

    if isinstance(release.hierarchy, CurvePrior):
        return f"band meant to hold the mean, {level:.0%}"
    return f"{level:.0%} band for the privacy noise"


def _subject(release: ReleasedFunction) -> str:
    """What a picture shows: of what, of how many, who is protected."""
    from dpfda.privacy.guarantees import Neighbours

    what = str(release.about.get("summary", "function"))
    known = release.neighbours is Neighbours.REPLACE_ONE
    whose = f"{release.count:.0f} {release.unit}s" if known else f"a private number of {release.unit}s"
    return f"{what[:1].upper()}{what[1:]} of {whose}; each {release.unit} is protected"


def frame_of_field(release: ReleasedField, level: float) -> pd.DataFrame:
    """Values and simultaneous band on the grid of a release on a box, one row a grid point."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "pandas", "A data frame") from None
    points = release.midpoints([axis.size for axis in release.grid_points])
    band = release.band(level, points=points)
    columns = {f"point_{axis + 1}": points[:, axis] for axis in range(release.dimensions)}
    values = release.on_grid().ravel()
    return pd.DataFrame(columns | {"value": values, "lower": band.lower, "upper": band.upper})


def plot_field(release: ReleasedField, ax: Axes | None = None) -> Axes:
    """Draw a release of one variable as a curve, of two as an image with its scale.

    Raises
    ------
    ParameterError
        If it has three variables or more: draw `release.on_grid()[:, :, k]` instead.
    MissingExtraError
        If matplotlib is not installed.
    """
    if release.dimensions > PICTURE:
        raise ParameterError(
            "release",
            f"have at most {PICTURE} variables to be drawn",
            f"{release.dimensions}",
            "Draw a slice of release.on_grid().",
        )
    axis = given_axis(ax) or new_axis()
    labels = release.about
    value = labels.get("value", "value")
    shape = [max(cells.size, FINE) for cells in release.grid_points]
    values = release.on_grid(shape)
    if release.dimensions == 1:
        axis.plot(release.midpoints(shape)[:, 0], values, color="C0", label="released function")
        axis.set_xlabel(labels.get("domain", "t (units of the grid)"))
        axis.set_ylabel(value)
    else:
        (left, right), (bottom, top) = release.domain_range
        image = axis.imshow(
            values.T, origin="lower", extent=(left, right, bottom, top), aspect="auto", cmap="viridis"
        )
        axis.figure.colorbar(image, ax=axis, label=value)
        axis.set_xlabel(labels.get("domain", "first variable (units of the grid)"))
        axis.set_ylabel(labels.get("domain_2", "second variable (units of the grid)"))
    axis.set_title(f"{release.guarantee}", fontsize="medium")
    return axis


def plot_density(release: ReleasedDensity, ax: Axes | None = None, level: float | None = 0.95) -> Axes:
    """Draw a released density: a line on an interval, an image on a rectangle.

    Parameters
    ----------
    release : ReleasedDensity
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    level : float or None
        Level of the band, on an interval; None draws none. The band is that of the estimate before it
        was made a density, so it may reach below zero and need not contain the line.

    Raises
    ------
    ParameterError
        If it has three variables: draw marginals.
    MissingExtraError
        If matplotlib is not installed.
    """
    if release.dimensions > PICTURE:
        raise ParameterError(
            "release",
            f"have at most {PICTURE} variables to be drawn",
            f"{release.dimensions}",
            "Draw release.marginal(axis), or a slice of release.on_grid().",
        )
    axis = given_axis(ax) or new_axis()
    labels = release.about
    value = labels.get("value", "density (per unit of the axis)")
    if release.dimensions == 1:
        knots, values = release.marginal()
        axis.plot(knots, values, color="C0", label="released density")
        if level is not None:
            band = release.band(level)
            axis.fill_between(
                band.points,
                band.lower,
                band.upper,
                color="C0",
                alpha=0.2,
                linewidth=0,
                label=f"{level:.0%} band for the privacy noise",
            )
        axis.axhline(0, color="0.7", linewidth=0.8, zorder=0)
        axis.set_xlabel(labels.get("domain", "x (units of the data)"))
        axis.set_ylabel(value)
        axis.legend(fontsize="small")
    else:
        (left, right), (bottom, top) = release.domain_range
        extent = (left, right, bottom, top)
        image = axis.imshow(
            release.on_grid().T, origin="lower", extent=extent, aspect="auto", cmap="viridis", vmin=0
        )
        area = labels.get("value", "density (per unit of area)")
        axis.figure.colorbar(image, ax=axis, label=area)
        axis.set_xlabel(labels.get("domain", "first variable (units of the data)"))
        axis.set_ylabel(labels.get("domain_2", "second variable (units of the data)"))
    axis.set_title(f"{release.guarantee}", fontsize="medium")
    return axis


def new_axis() -> Axes:
    """An axis of a new figure.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "A plot") from None
    _, axis = pyplot.subplots(figsize=(7, 4), layout="constrained")
    return axis


def beside(axis: Axes) -> tuple[Axes, Axes]:
    """An axis of a figure of its own, and a second one to its right with the same vertical scale."""
    figure = axis.get_figure(root=True)
    if figure is None:
        raise ParameterError("ax", "belong to a figure", "none")
    figure.clear()
    figure.set_size_inches(11, 4.2)
    first, second = figure.subplots(1, 2, sharey=True)
    return first, second


def plot_plan(
    values: Sequence[float],
    plans: Sequence[Plan],
    ax: Axes | None = None,
    units: str = "",
    against: str = "epsilon (smaller is more private)",
) -> Axes:
    """Draw the expected error of a release, its parts and the limit for it, on log axes.

    Parameters
    ----------
    values : sequence of float
        Privacy losses, or numbers of units, increasing.
    plans : sequence of Plan
        One for each.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    units : str
        Units of the error, for its axis.
    against : str
        What the values are.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    axis = given_axis(ax) or new_axis()
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    errors = {
        part: [math.sqrt(getattr(plan.error, part) / plan.length) for plan in plans]
        for part in ("total", "noise", "bias", "sampling")
    }
    # The total above its parts; parts far below it do not matter and would flatten the picture.
    axis.plot(values, errors["total"], label="error (noise and bias)", linewidth=2.5, zorder=3)
    axis.plot(values, errors["noise"], label="privacy noise", color="C3", linestyle="-.", zorder=4)
    axis.plot(values, errors["bias"], label="bias of smoothing", color="C1", linestyle="--")
    limits = [plan.typical_limit for plan in plans if plan.typical_limit is not None]
    if len(limits) == len(plans):
        axis.plot(values, limits, label="limit for such noise", color="C2", linestyle=(0, (1, 1)))
    axis.plot(
        values,
        errors["sampling"],
        label="for comparison: sampling, at most",
        color="0.5",
        linestyle=":",
    )
    largest = max(max(part) for part in errors.values())
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.set_ylim(min(errors["total"]) / 10, 2 * largest)
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.grid(color="0.9")
    axis.set_xlabel(against)
    if units:
        axis.set_ylabel(f"typical error at a point\n({units})")
        axis.legend(fontsize="small", loc="lower left")
    return axis


def plot_predictor(release: ReleasedPredictor, ax: Axes | None = None) -> Axes:
    """Draw a released function of one or two inputs over their bounds.

    Parameters
    ----------
    release : ReleasedPredictor
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Raises
    ------
    ParameterError
        For more than two inputs.
    MissingExtraError
        If matplotlib is not installed.
    """
    import numpy as np

    from dpfda.errors import ParameterError
    from dpfda.releases.predictor import CURVE_POINTS, FIELD_POINTS

    if release.dimensions > 2:
        raise ParameterError("plot", "be of one or two inputs", f"{release.dimensions} inputs")
    axis = given_axis(ax) or new_axis()
    labels = release.about
    domain = str(labels.get("domain", ""))
    decision = release.task == "classification"
    value = labels.get("value", "" if decision else "target")
    if decision:
        value = f"decision function {value}".rstrip() + f" (above 0: {release.classes[1]})"
    if release.dimensions == 1:
        points = np.linspace(*release.domain_range[0], CURVE_POINTS)
        axis.plot(points, release(points), color="C0", label="released function")
        if decision:
            axis.axhline(0.0, color="0.5", linewidth=1)
        axis.set_xlabel(domain or "input")
        axis.set_ylabel(str(value))
        axis.legend(fontsize="small")
    else:
        first, second = (np.linspace(*ends, FIELD_POINTS) for ends in release.domain_range)
        mesh = np.stack(np.meshgrid(first, second), axis=-1)
        values = release(mesh.reshape(-1, 2)).reshape(mesh.shape[:2])
        if decision:
            largest = float(np.max(np.abs(values)))
            drawn = axis.pcolormesh(
                first, second, values, cmap="RdBu_r", vmin=-largest, vmax=largest, rasterized=True
            )
            if values.min() < 0 < values.max():
                axis.contour(first, second, values, levels=[0.0], colors="black", linewidths=1)
        else:
            drawn = axis.pcolormesh(first, second, values, cmap="viridis", rasterized=True)
        axis.figure.colorbar(drawn, ax=axis, label=str(value))
        names = [*domain.split(","), ""] if domain else ["first input", "second input"]
        axis.set_xlabel(names[0].strip())
        axis.set_ylabel(names[1].strip())
    axis.set_title(f"{release.guarantee}", fontsize="medium")
    return axis
