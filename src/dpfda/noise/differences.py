"""How far neighbouring sums differ, in exact numbers, and shapes scaled to it.

Sums differ by a vector d of a *ball*, a *box* |d_j| <= w_j or an *ellipsoid* sum_j d_j^2 / w_j^2 <= 1.
What is not rational is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dpfda.noise.protocol import AnyNorm, Width
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import DpfdaError, ParameterError
from dpfda.privacy.composition.rounding import root_at_least


def enclosing_width(norm: AnyNorm, width: Sequence[int]) -> int:
    """Radius of an l2 ball that holds the body."""
    if norm == "ellipsoid":
        return max(width)
    return math.isqrt(max(sum(w**2 for w in width) - 1, 0)) + 1


def sizes_of(components: int, norm: AnyNorm, width: Width) -> tuple[int, ...]:
    """How far each coordinate may move; for a ball, what holds for the losses of this room."""
    if isinstance(width, int) != (norm in ("l1", "l2", "linf")):
        raise ParameterError("width", "be one integer for a ball, sizes for a body", f"{norm}")
    sizes = (width,) * components if isinstance(width, int) else width[:components]
    if len(sizes) < components:
        raise DpfdaError(f"{len(sizes)} sizes for {components} coordinates of noise.")
    return sizes


def largest_ratio(sizes: Sequence[int], scales: Sequence[int]) -> Fraction:
    """Largest size in units of the scale."""
    return max(Fraction(w, scale) for w, scale in zip(sizes, scales, strict=True))


def root_sum(sizes: Sequence[int], scales: Sequence[int]) -> Fraction:
    """Length of the vector of sizes in units of the scales, rounded up."""
    return root_at_least(squares([Fraction(w, s) for w, s in zip(sizes, scales, strict=True)]))


def squares(ratios: Sequence[Fraction]) -> Fraction:
    """Sum of squares."""
    return sum((ratio**2 for ratio in ratios), Fraction(0))


def checked_shape(relative: ArrayLike) -> Floats:
    """Relative scales with a smallest one of 1.

    Raises ParameterError if they are not positive and finite, or too far apart for floats.
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


def exact_shape(relative: ArrayLike) -> list[Fraction]:
    """Relative scales, at least about one, as short fractions."""
    # Few bits keep the sums of these fractions short.
    parts = [math.frexp(value) for value in checked_shape(relative).tolist()]
    return [round(part * 2**24) * Fraction(2) ** (exponent - 24) for part, exponent in parts]


def scaled_up(shape: Sequence[Fraction], factor: Fraction) -> tuple[int, ...]:
    """Integer scales of this shape, rounded up."""
    return tuple(max(1, math.ceil(factor * value)) for value in shape)
