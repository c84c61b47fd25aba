"""Words that several kinds share: on curves and densities, and what a bound did to every record."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.privacy.words import number

# The unit at the end of a label such as "age (years)".
UNIT = re.compile(r"\(([^()]+)\)$")
TIMES = re.compile(r"^(year|month|week|day|hour|minute|second)s$")
# An error above this share of what a curve varies, in root mean square, shows its course roughly; so
# does one somewhere of this share of its height.
ROUGHLY = 0.5
# A curve lies on a bound where it is this near over so much of the domain, and that near is known.
NEAR, MOSTLY, KNOWN = 0.01, 0.8, 0.05


def resolution_words(
    curve: Floats, error: float, ends: tuple[Floats, Floats] | None = None, missed: float = 0.0
) -> str:
    """How much of a curve's own shape is resolved, in a line, from released numbers alone.

    Parameters
    ----------
    curve : array (m,)
        Released, in shares of the distance between public bounds, 0 to 1.
    error : float
        Its typical error, in the same shares.
    ends : (array, array), optional
        These bounds, in the units of the data.
    missed : float
        How far the curve is off somewhere at least, in the same shares, where that was measured.

    Examples
    --------
    >>> resolution_words(np.linspace(0.2, 0.6, 5), 0.02)
    'resolves the course: typical error 5 % of its height, 2 % of your bounds'
    >>> resolution_words(np.full(5, 0.4), 0.02)
    'shape not resolved: a flat line would serve as well; typical error of its level 2 % of your bounds'
    """
    size = "1 % of your bounds or less" if error < 0.01 else f"{100 * error:.0f} % of your bounds"
    for distance, end in ((curve, 0), (1 - curve, 1)):
        if error <= KNOWN and np.mean(distance <= max(NEAR, error)) >= MOSTLY:
            place = f"the {'upper' if end else 'lower'} bound"
            if ends is not None and np.ptp(ends[end]) == 0:
                place = f"{ends[end][0]:g}"
            return f"at the bound: most of the line lies on {place} or near it; check units and bounds"
    if error >= curve.std():
        return f"shape not resolved: a flat line would serve as well; typical error of its level {size}"
    if missed > ROUGHLY * np.ptp(curve):
        more = "misses more than it shows" if missed > np.ptp(curve) else "shows the course roughly"
        return f"{more}: somewhere off by at least {100 * missed / np.ptp(curve):.0f} % of its height"
    share = error / np.ptp(curve)
    height = "1 % of its height or less" if share < 0.01 else f"{100 * share:.0f} % of its height"
    roughly = error > ROUGHLY * curve.std()
    course = "shows the course roughly" if roughly else "resolves the course"
    return f"{course}: typical error {height}, {size}"


def assumed_words(cells: int, points: int) -> list[str]:
    """What a band assumes where only sums over cells were measured, and these are wider than points.

    Examples
    --------
    >>> assumed_words(7, 48)[0][:75]
    'It is assumed that curves show no detail finer than one of 7 cells. Bands m'
    >>> assumed_words(48, 48)
    []
    """
    if cells >= points:
        return []
    return [
        f"It is assumed that curves show no detail finer than one of {cells} cells. Bands miss narrower "
        "waves, spikes and steps, and nothing tells of them."
    ]


def per_axis(about: Mapping[str, object], order: int) -> str:
    """What a derivative is one over: the unit in brackets in the label of the axis, where it has one."""
    unit = UNIT.search(str(about.get("domain", "")))
    if unit is None:
        return "per unit of the axis"
    return "per " + TIMES.sub(r"\1", unit[1]) + (f"^{order}" if order > 1 else "")


def density_label(about: Mapping[str, object], dimensions: int) -> str:
    """What a density is one over: the units in brackets in all labels of axes."""
    keys = [f"domain_{i + 1}" if i else "domain" for i in range(dimensions)]
    units = [UNIT.search(str(about.get(key, ""))) for key in keys]
    labels = [unit[1] for unit in units if unit]
    if len(labels) == dimensions:
        return str(about.get("value", f"density (one over {' times '.join(labels)})"))
    place = "the axis" if dimensions == 1 else "area" if dimensions == 2 else "volume"
    return str(about.get("value", f"density (per unit of {place})"))


def points_words(points: int) -> str:
    """What is bounded in a kernel density, in words."""
    return f"points, each moved to the nearest of {points} public ones"


def rule_words(bound: Mapping[str, object]) -> str:
    """What was done to every record before anything was added up."""
    kind, before = bound.get("kind"), "Before anything was added up, every "
    summed = f"{before}curve was written as a sum of basic curves, and "
    if kind is None:
        rule = ""
    elif kind == "values" and np.asarray(bound["lower"]).ndim + np.asarray(bound["upper"]).ndim == 0:
        low, high = bound["lower"], bound["upper"]
        rule = (
            f"{before}value below {low:g} was raised to {low:g} and every value above {high:g} was "
            f"lowered to {high:g}."
        )
    elif kind == "values":
        rule = f"{before}value outside two public limit curves was moved to the nearer of them."
    elif kind == "l2":
        rule = (
            f"{before}curve whose size (the root of the integral of its square) was above "
            f"{bound['radius']:g} was scaled down to that size."
        )
    elif kind == "box":
        rule = (
            f"{summed}a part whose size was above its own public limit ({_limits(bound)}) was cut to it."
        )
    elif kind == "ellipsoid":
        rule = (
            f"{summed}if their sizes, each as a share of its own public limit, had squares that added "
            "up to more than one, the curve was scaled down until they did not. The limits: "
            f"{_limits(bound)}."
        )
    else:
        rule = (
            f"{summed}if the sizes of its parts added up to more than {bound['radius']:g}, they were "
            "lowered until they did not."
        )
    return rule


def _limits(bound: Mapping[str, object]) -> str:
    sizes = np.asarray(bound.get("half_widths", bound.get("semi_axes")))
    first, last = number(float(sizes[0])), number(float(sizes[-1]))
    return f"{len(sizes)} of them, from {first} for the first part to {last} for the last that is kept"
