"""Small public data sets that ship with the package, with their provenance."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEFT_OUT = np.datetime64("2010-03-14")


@dataclass(frozen=True, eq=False, repr=False)
class TemperatureCurves:
    """Days of hourly temperatures. Public.

    Parameters
    ----------
    values : array (364, 24)
        One day a row, in degrees Celsius.
    grid_points : array (24,)
        Hours of the day, local standard time.
    dates : array (364,) of datetime64
        Day of each row; the year is a placeholder.
    provenance : str
        Where the numbers are from, under which licence, and how the file was made.
    path : Path
        The packaged CSV file, for the command line.
    """

    values: Floats
    grid_points: Floats
    dates: NDArray[np.datetime64]
    provenance: str
    path: Path

    def __repr__(self) -> str:
        return f"TemperatureCurves({len(self.values)} days x {self.grid_points.size} hours, in deg C)"


def load_temperatures() -> TemperatureCurves:
    """Hourly temperatures in Seattle, a day a curve: NOAA, public domain.

    A record is a day, not a person. The values are climate normals (averages over thirty years for
    each hour of the calendar), so they are smoother than the weather of one year.

    Returns
    -------
    TemperatureCurves
        All days of a year but 14 March, which lacks an hour in the source.

    Examples
    --------
    >>> load_temperatures()
    TemperatureCurves(364 days x 24 hours, in deg C)
    """
    folder = files("dpfda") / "data"
    file = folder / "seattle_temperatures.csv"
    table = np.loadtxt(file.read_text(encoding="utf-8").splitlines(), delimiter=",")
    days = np.arange(np.datetime64("2010-01-01"), np.datetime64("2011-01-01"))
    return TemperatureCurves(
        values=table[1:],
        grid_points=table[0],
        dates=days[days != LEFT_OUT],
        provenance=(folder / "README.md").read_text(encoding="utf-8"),
        path=Path(str(file)),
    )
