"""Pictures and tables of releases and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfda.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from dpfda.release import ReleasedFunction


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
    axis = new_axis() if ax is None else ax
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
            label=f"{level:.0%} band for the privacy noise",
        )
    labels = release.about
    axis.set_xlabel(labels.get("domain", "t (units of the grid)"))
    value = labels.get("value", "standardised value" if labels.get("standardized") else "value")
    axis.set_ylabel(value if release.order == 0 else f"derivative of {value}")
    axis.set_title(f"{release.guarantee}", fontsize="medium")
    axis.legend(fontsize="small")
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
