"""Shared by the families: monotone search from the private side, and the check of a shape."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.composition.rounding import narrowed


def largest(holds: Callable[[Fraction], bool], ceiling: Fraction) -> Fraction:
    """Largest number that satisfies a monotone predicate, to 60 bits and from below."""
    high = Fraction(ceiling)
    while not holds(high / 2):
        high /= 2
    return narrowed(holds, high / 2, high)[0]


def checked_shape(relative: ArrayLike) -> Floats:
    """Relative scales with a smallest one of 1.

    Raises
    ------
    ParameterError
        If they are not positive and finite, or too far apart for floats.
    """
    shape = np.asarray(relative, dtype=np.float64)
    sound = shape.size > 0 and bool(np.all(np.isfinite(shape) & (shape > 0)))
    if sound:
        with np.errstate(over="ignore"):
            shape = shape / shape.min()
    if not sound or shape.max() > 1e150:
        raise ParameterError(
            "relative scales", "be positive, finite and within a factor 1e150", "other values"
        )
    return shape
