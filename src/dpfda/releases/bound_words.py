"""What a bound did to every record, in words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dpfda.privacy.words import number


def points_words(points: int) -> str:
    """What is bounded in a kernel density, in words."""
    return f"points, each moved to the nearest of {points} public ones"


def rule_words(bound: Mapping[str, object]) -> str:
    """What was done to every record before anything was added up."""
    kind, before = bound.get("kind"), "Before anything was added up, every "
    summed = f"{before}curve was written as a sum of basic curves, and "
    if kind is None:
        said = ""
    elif kind == "values" and np.asarray(bound["lower"]).ndim + np.asarray(bound["upper"]).ndim == 0:
        low, high = bound["lower"], bound["upper"]
        said = (
            f"{before}value below {low:g} was raised to {low:g} and every value above {high:g} was "
            f"lowered to {high:g}."
        )
    elif kind == "values":
        said = f"{before}value outside two public limit curves was moved to the nearer of them."
    elif kind == "l2":
        said = (
            f"{before}curve whose size (the root of the integral of its square) was above "
            f"{bound['radius']:g} was scaled down to that size."
        )
    elif kind == "box":
        said = (
            f"{summed}a part whose size was above its own public limit ({_limits(bound)}) was cut to it."
        )
    elif kind == "ellipsoid":
        said = (
            f"{summed}if their sizes, each as a share of its own public limit, had squares that added "
            "up to more than one, the curve was scaled down until they did not. The limits: "
            f"{_limits(bound)}."
        )
    else:
        said = (
            f"{summed}if the sizes of its parts added up to more than {bound['radius']:g}, they were "
            "lowered until they did not."
        )
    return said


def _limits(bound: Mapping[str, object]) -> str:
    sizes = np.asarray(bound.get("half_widths", bound.get("semi_axes")))
    first, last = number(float(sizes[0])), number(float(sizes[-1]))
    return f"{len(sizes)} of them, from {first} for the first part to {last} for the last that is kept"
