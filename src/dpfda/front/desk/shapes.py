"""Curves to try things on: made up by a formula, the same for everyone, or shipped and public."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpfda.numerics.arrays import Floats

# So many different curves are made up; larger populations repeat them.
PEOPLE = 997


@dataclass(frozen=True, eq=False)
class Shape:
    """Curves of made-up people, or public ones.

    Parameters
    ----------
    title, unit : str
        What they are, and who has one.
    domain_range : (float, float)
    labels : mapping of str to str
        Of axis and values, with units.
    bounds : (float, float)
        A public choice to begin with.
    reach : (float, float)
        How far the sliders of the bounds go.
    made : callable
        Takes the share of the domain (m,) and answers with curves (k, m).
    """

    title: str
    unit: str
    domain_range: tuple[float, float]
    labels: dict[str, str]
    bounds: tuple[float, float]
    reach: tuple[float, float]
    made: Callable[[Floats], Floats]

    def curves(self, points: int) -> Floats:
        """Different curves (k, points) on an equally spaced grid."""
        made: Floats = self.made(np.linspace(0.0, 1.0, points))
        return made


def even(which: int) -> Floats:
    """Numbers (PEOPLE, 1) spread evenly over (0, 1), in another order for each `which`."""
    root = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0][which])
    return np.asarray(np.modf((np.arange(PEOPLE) + 0.5) * root)[0][:, None])


def _bump(share: Floats, middle: Floats | float, width: float) -> Floats:
    return np.asarray(np.exp(-(((share - middle) / width) ** 2) / 2))


def _loads(share: Floats) -> Floats:
    size = np.exp(1.2 * (even(0) - 0.5))
    morning = 0.9 * _bump(share, 0.3 + 0.06 * (even(1) - 0.5), 0.05)
    evening = 1.6 * _bump(share, 0.8 + 0.08 * (even(2) - 0.5), 0.08)
    return np.asarray(size * (0.35 + morning + evening + 0.15 * even(3)))


def _heights(share: Floats) -> Floats:
    final, spurt = 150 + 40 * even(0), 0.62 + 0.14 * (even(1) - 0.5)
    early = 75 + (final - 95) * share**0.75
    return np.asarray(early + 20 / (1 + np.exp(-14 * (share - spurt))) + 6 * (even(2) - 0.5))


def _doses(share: Floats) -> Floats:
    height, peak = 4 + 8 * even(0), 0.08 + 0.1 * even(1)
    return np.asarray(height * share / peak * np.exp(1 - share / peak))


def _switches(share: Floats) -> Floats:
    on = 0.35 + 0.08 * (even(0) - 0.5)
    return np.asarray(20 + 25 * (share > on) * (share < 0.7) + 8 * (even(1) - 0.5))


def _temperatures(share: Floats) -> Floats:
    from dpfda.datasets import load_temperatures

    known = load_temperatures()
    hours = known.grid_points[-1] * share
    return np.array([np.interp(hours, known.grid_points, day) for day in known.values])


SHAPES = {
    "load": Shape(
        "Load of a household over a day (made up)", "household", (0.0, 24.0),
        {"domain": "hour of the day", "value": "load (kW)"}, (0.0, 5.0), (0.0, 20.0), _loads,
    ),
    "height": Shape(
        "Height of a child from 1 to 18 (made up)", "child", (1.0, 18.0),
        {"domain": "age (years)", "value": "height (cm)"}, (60.0, 210.0), (0.0, 300.0), _heights,
    ),
    "dose": Shape(
        "Concentration after a dose (made up)", "patient", (0.0, 48.0),
        {"domain": "time (hours)", "value": "concentration (mg/l)"}, (0.0, 15.0), (0.0, 60.0), _doses,
    ),
    "switch": Shape(
        "A machine that switches on and off (made up)", "machine", (0.0, 24.0),
        {"domain": "hour of the day", "value": "power (W)"}, (0.0, 60.0), (0.0, 200.0), _switches,
    ),
    "temperature": Shape(
        "Temperature of a day in Seattle (public data)", "day", (0.0, 23.0),
        {"domain": "hour of the day", "value": "temperature (degrees C)"}, (-20.0, 45.0),
        (-60.0, 80.0), _temperatures,
    ),
}  # fmt: skip
