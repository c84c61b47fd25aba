"""Publish the mean day of a year of temperatures, and draw it: the picture of the README.

Run with: python examples/mean_day.py [FILE.png]
"""

import sys

import numpy as np

from dpfda import Domain, PrivateMean
from dpfda.datasets import load_temperatures


def main(path: str = "mean_day.png") -> None:
    """Publish, draw beside the mean without noise (these data are public), save the picture."""
    days = load_temperatures()
    mean = PrivateMean(
        epsilon=2.0,
        bounds=(-10.0, 40.0),
        domain=Domain(
            grid_points=days.grid_points,
            labels={"domain": "hour of the day", "value": "temperature (degrees Celsius)"},
        ),
        unit="day",
    )
    release = mean.fit(days.values).release_
    print(release)
    axis = release.plot()
    axis.plot(
        days.grid_points,
        np.mean(days.values, axis=0),
        color="black",
        linestyle="--",
        label="mean without noise (these data are public)",
    )
    axis.legend(fontsize="small")
    axis.figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
