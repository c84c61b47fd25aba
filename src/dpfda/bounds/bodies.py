"""Integer bodies with one size a coefficient, boxes and ellipsoids: clip a row, round it, verify it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from dpfda.bounds.balls import LARGEST_EXPONENT, IntegerBall, repaired
from dpfda.numerics.arrays import Flags, Integers
from dpfda.numerics.embedding import Rows, sum_columns
from dpfda.numerics.errors import ParameterError

BodyNorm = Literal["box", "ellipsoid"]

# Sizes further apart than this would leave the smallest no room on the common grid.
LARGEST_RATIO = 2.0**20


@dataclass(frozen=True)
class IntegerBody:
    """Integer vectors with |c_j| <= a_j for all j (box), or sum_j c_j^2 / a_j^2 <= 1 (ellipsoid).

    Coefficients beyond the last axis are zero.

    Parameters
    ----------
    norm : {"box", "ellipsoid"}
        Which of the two.
    axes : tuple of int
        Half-widths or semi-axes a_j, positive, in grid units.
    exponent : int
        The grid is 2^-exponent.
    """

    norm: BodyNorm
    axes: tuple[int, ...]
    exponent: int

    def __post_init__(self) -> None:
        if self.norm not in get_args(BodyNorm):
            raise ParameterError("norm", f"be one of {get_args(BodyNorm)}", repr(self.norm))
        if not self.axes or any(type(axis) is not int or not 1 <= axis < 2**31 for axis in self.axes):
            # Larger ones would wrap around where a row is verified.
            raise ParameterError("axes", "be positive integers below 2^31", "others")

    @classmethod
    def of(cls, norm: BodyNorm, axes: Sequence[float], components: int) -> IntegerBody:
        """Round sizes down to a public grid, as fine as that of a ball that holds the body.

        Parameters
        ----------
        norm : {"box", "ellipsoid"}
        axes : sequence of float
            Sizes in units of the coefficients; those beyond `components` are left out.
        components : int
            Number of coefficients of the basis.

        Raises
        ------
        ParameterError
            If the sizes are more than a factor 2^20 apart.
        """
        kept = [Fraction(axis) for axis in axes[:components]]
        if max(kept) > min(kept) * Fraction(LARGEST_RATIO):
            raise ParameterError(
                "bounds",
                "have sizes within a factor 2^20 of each other",
                "others",
                "Leave out the smallest: coefficients without a size are taken to be zero.",
            )
        whole = math.hypot(*map(float, kept)) if norm == "box" else float(max(kept))
        exponent = IntegerBall.of("l2", whole, components).exponent
        grid = Fraction(2) ** exponent
        return cls(norm, tuple(max(1, math.floor(axis * grid)) for axis in kept), exponent)

    @cached_property
    def radius(self) -> int:
        """Radius of an l2 ball around zero that holds the body, in grid units."""
        if self.norm == "ellipsoid":
            return max(self.axes)
        return math.isqrt(sum(axis**2 for axis in self.axes) - 1) + 1

    @property
    def enclosing(self) -> IntegerBall:
        """The l2 ball of that radius."""
        return IntegerBall("l2", self.radius, self.exponent)

    @property
    def step(self) -> float:
        """Size of one step of the grid."""
        return math.ldexp(1.0, -self.exponent)

    def clip(self, rows: Rows) -> Integers:
        """Bring rows into the body and round them to integers toward zero, verified in integers.

        Box: each coefficient is moved to the nearest end by itself. Ellipsoid: the row is shrunk along
        its direction. Repairs are those of `IntegerBall.clip`.
        """
        exponents = np.minimum(rows.exponents + self.exponent, LARGEST_EXPONENT)
        axes = self._axes(rows.mantissas.shape[1])
        sizes = np.where(axes > 0, axes, 1).astype(np.float64)
        with np.errstate(all="ignore"):
            if self.norm == "box":
                scaled = np.clip(np.ldexp(rows.mantissas, exponents[:, None]), -sizes, sizes)
            else:
                lengths = np.sqrt(sum_columns((rows.mantissas * (axes > 0) / sizes) ** 2))
                # As far inside as the check in integers rounds up, so that it does not halve the row.
                limit = 1.0 - (math.isqrt(axes.size) + 3) * math.ldexp(1.0, -_bits(axes.size))
                scale = np.minimum(np.ldexp(1.0, exponents), limit / lengths)
                scaled = rows.mantissas * scale[:, None]
            clipped = np.trunc(scaled * (axes > 0))
        return repaired(clipped, self.radius, lambda integers: self._inside(integers, axes))

    def _axes(self, columns: int) -> Integers:
        """Sizes of the leading coefficients, zero for those without one."""
        axes = np.zeros(columns, dtype=np.int64)
        kept = min(columns, len(self.axes))
        axes[:kept] = self.axes[:kept]
        return axes

    def _inside(self, integers: Integers, axes: Integers) -> Flags:
        """Whether rows are in the body; in doubt they are not.

        Ellipsoid: with q_j = ceil(2^s |c_j| / a_j), sum_j q_j^2 <= 4^s implies sum_j c_j^2 / a_j^2 <= 1.
        As |c_j| <= a_j < 2^31 is checked first, all is below 2^62. A q_j is rounded up by less than 1,
        so the root of their sum of squares by less than K^(1/2).
        """
        inside = np.asarray(((-axes <= integers) & (integers <= axes)).all(axis=1))
        if self.norm == "box":
            return inside
        shift = _bits(axes.size)
        safe = np.abs(np.where(inside[:, None], integers, 0))
        shares = -(-(safe << shift) // np.maximum(axes, 1))
        return np.asarray(inside & ((shares**2).sum(axis=1) <= 1 << (2 * shift)))


def _bits(components: int) -> int:
    """Binary digits s of a share |c_j| / a_j such that the sum of K squares stays below 2^62."""
    return min(30, (61 - components.bit_length()) // 2)
