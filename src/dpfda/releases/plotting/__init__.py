"""Pictures and tables of releases and plans."""

from dpfda.releases.plotting.functions import (
    beside,
    frame_of,
    frame_of_field,
    new_axis,
    plot_density,
    plot_field,
    plot_plan,
    plot_predictor,
    plot_release,
)

__all__ = [
    "beside",
    "frame_of",
    "frame_of_field",
    "new_axis",
    "plot_density",
    "plot_field",
    "plot_plan",
    "plot_predictor",
    "plot_release",
]
