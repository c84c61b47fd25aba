"""A ball around a public function, such as an earlier release: records count by how they differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.bounds.balls import Norm
from dpfda.bounds.stated import Bound
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError


@dataclass(frozen=True, eq=False)
class BallAround:
    """|x - center| <= radius for the coefficients of a record's difference from a public function.

    A record further away is moved toward the center along the straight line. The length is that of the
    coefficients that get noise, verified in integers record by record (`IntegerBall.clip`).

    Parameters
    ----------
    center : array (m,)
        Public function on the grid, finite, in the units of the data.
    radius : float
        Public, positive and finite; units of the data times the root of the domain's.
    within : Bound, optional
        A public bound whose values are enforced first, entry by entry (bounds on values).

    Raises
    ------
    ParameterError
        If center or radius is not finite, or the radius is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> ball = BallAround(np.array([1.0, 2.0]), 0.5)
    >>> ball.restrict(np.array([[1.0, 4.0]]), np.array([0.0, 1.0])).tolist()
    [[0.0, 2.0]]
    """

    center: Floats
    radius: float
    within: Bound | None = None
    norm: ClassVar[Norm] = "l2"

    def __post_init__(self) -> None:
        center, radius = np.array(self.center, dtype=np.float64), float(self.radius)
        if center.ndim != 1 or not np.all(np.isfinite(center)):
            raise ParameterError("center", "be a finite function on the grid", f"shape {center.shape}")
        if not (math.isfinite(radius) and radius > 0):
            raise ParameterError("radius", "be positive and finite", repr(radius))
        center.setflags(write=False)
        object.__setattr__(self, "center", center)
        object.__setattr__(self, "radius", radius)

    def radius_on(self, grid_points: Floats, weights: Floats) -> float:
        return self.radius

    def center_on(self, grid_points: Floats) -> Floats:
        if self.center.shape != np.shape(grid_points):
            raise ParameterError(
                "center", f"have one value a grid point ({np.size(grid_points)})", f"{self.center.shape}"
            )
        return self.center

    def restrict(self, values: Floats, grid_points: Floats) -> Floats:
        if self.within is not None:
            values = self.within.restrict(values, grid_points) + self.within.center_on(grid_points)
        # A difference of the largest doubles overflows; it is then as far away as a float can say.
        largest = np.finfo(np.float64).max
        with np.errstate(all="ignore"):
            return np.asarray(np.clip(values - self.center_on(grid_points), -largest, largest))

    def describe(self) -> str:
        return f"records moved to an L2 distance of at most {self.radius:g} from a public function"

    def to_json(self) -> dict[str, object]:
        within = None if self.within is None else self.within.to_json()
        return {"kind": "around", "radius": self.radius, "within": within}
