"""Public points of an interval among which quantiles are chosen, and the nearest of them to a point."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.cells import box_domain
from dpfda.bases.grids import frozen
from dpfda.bases.scales import Scale, read_scale
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import exact, shown


@dataclass(frozen=True, eq=False)
class PublicPoints:
    """Points equally far apart on a scale of an interval, from one end to the other.

    Parameters
    ----------
    scale : Scale
        What they are equal on; of two knots where that is the axis itself.
    count : int
        How many there are, two or more.

    Examples
    --------
    >>> ages = PublicPoints.every(1, (0, 105))
    >>> ages.count, ages.nearest(np.array([-3.0, 17.4, 200.0])), ages.values([17])
    (106, array([  0,  17, 105]), array([17.]))
    """

    scale: Scale
    count: int

    @classmethod
    def on(cls, scale: object, domain_range: object, count: int) -> PublicPoints:
        """So many, equal on "linear", "log", a scale of public points or a function.

        Raises ParameterError if the scale is unusable.
        """
        made = read_scale(scale, domain_range)
        ((a, b),) = box_domain(domain_range)
        return cls(Scale(frozen(np.array([a, b]))) if made is None else made, count)

    @classmethod
    def every(cls, step: object, domain_range: object, most: int = 2**28) -> PublicPoints:
        """The multiples of a step from the lower end to the upper one.

        Raises ParameterError if the length of the domain is no multiple of it, or there are too many.
        """
        ((a, b),) = box_domain(domain_range)
        width, steps = exact(step, "step"), Fraction(0)
        if width > 0:
            steps = (exact(b, "domain") - exact(a, "domain")) / width
        if not 1 <= steps < most or steps.denominator != 1:
            words = f"be positive, and divide the domain ({a:g}, {b:g}) into whole steps, below {most}"
            raise ParameterError("step", words, shown(step))
        return cls(Scale(frozen(np.array([a, b]))), int(steps) + 1)

    @property
    def domain_range(self) -> tuple[float, float]:
        """First and last point."""
        return self.scale.domain_range

    def nearest(self, points: ArrayLike) -> Integers:
        """Number of the nearest public point, each from its own point alone; outside, of an end."""
        return np.rint(self.scale.positions(points) * (self.count - 1)).astype(np.int64)

    def values(self, numbers: ArrayLike) -> Floats:
        """The points with these numbers, in the units of the data."""
        at = np.asarray(numbers, dtype=np.int64)
        if self.scale.knots.size > 2:
            return self.scale.points(at / (self.count - 1))
        # Multiples of a decimal step are the decimals that a person would write.
        a, b = (Fraction(repr(end)) for end in self.domain_range)
        width = (b - a) / (self.count - 1)
        return np.array([float(a + int(number) * width) for number in at.ravel()]).reshape(at.shape)

    def describe(self) -> str:
        """The points in words."""
        a, b = self.domain_range
        if self.scale.knots.size > 2:
            return f"{self.count} points, equal on a public scale of [{a:g}, {b:g}]"
        return f"{self.count} points, {(b - a) / (self.count - 1):.3g} apart, on [{a:g}, {b:g}]"
