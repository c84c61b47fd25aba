"""Words that several kinds share: how well a curve is resolved, and what a density is one over."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from dpfda.numerics.arrays import Floats

# The unit at the end of a label such as "age (years)".
UNIT = re.compile(r"\(([^()]+)\)$")
TIMES = re.compile(r"^(year|month|week|day|hour|minute|second)s$")
# An error above this share of what a curve varies, in root mean square, shows its course roughly.
ROUGHLY = 0.5
# A curve lies on a bound where it is this near over so much of the domain, and that near is known.
NEAR, MOSTLY, KNOWN = 0.01, 0.8, 0.05


def resolution_words(curve: Floats, error: float, ends: tuple[Floats, Floats] | None = None) -> str:
    """How much of a curve's own shape is resolved, in a line, from released numbers alone.

    Parameters
    ----------
    curve : array (m,)
        Released, in shares of the distance between public bounds, 0 to 1.
    error : float
        Its typical error, in the same shares.
    ends : (array, array), optional
        These bounds, in the units of the data.

    Examples
    --------
    >>> resolution_words(np.linspace(0.2, 0.6, 5), 0.02)
    'resolves the course: typical error 5 % of its height, 2 % of your bounds'
    >>> resolution_words(np.full(5, 0.4), 0.02)
    'shape not resolved: a flat line would serve as well; typical error 2 % of your bounds'
    """
    size = "1 % of your bounds or less" if error < 0.01 else f"{100 * error:.0f} % of your bounds"
    for distance, end in ((curve, 0), (1 - curve, 1)):
        if error <= KNOWN and np.mean(distance <= max(NEAR, error)) >= MOSTLY:
            place = f"the {'upper' if end else 'lower'} bound"
            if ends is not None and np.ptp(ends[end]) == 0:
                place = f"{ends[end][0]:g}"
            return f"at the bound: most values lie on {place} or beyond; check units and bounds"
    if error >= curve.std():
        return f"shape not resolved: a flat line would serve as well; typical error {size}"
    share = error / np.ptp(curve)
    height = "1 % of its height or less" if share < 0.01 else f"{100 * share:.0f} % of its height"
    roughly = error > ROUGHLY * curve.std()
    course = "shows the course roughly" if roughly else "resolves the course"
    return f"{course}: typical error {height}, {size}"


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
    known = [unit[1] for unit in units if unit]
    if len(known) == dimensions:
        return str(about.get("value", f"density (one over {' times '.join(known)})"))
    whole = "the axis" if dimensions == 1 else "area" if dimensions == 2 else "volume"
    return str(about.get("value", f"density (per unit of {whole})"))
