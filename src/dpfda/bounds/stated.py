"""Public bounds on a record as users state them: on values, on its length, or on each coefficient."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, cast, get_args

import numpy as np

from dpfda.bounds.balls import BodyNorm, IntegerBall, IntegerBody, Norm
from dpfda.bounds.bodies import AroundZero, BoxBound, Ellipsoid
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import InPython, ParameterError
from dpfda.numerics.parameters import SMALLEST, curve, length


class Bound(Protocol):
    """A set of records, as a user states it."""

    @property
    def norm(self) -> Norm | BodyNorm:
        """Kind of the set in which coefficients lie."""

    def radius_on(self, grid_points: Floats, weights: Floats) -> float:
        """Radius of the coefficient ball, for a public grid with quadrature weights."""

    def center_on(self, grid_points: Floats) -> Floats:
        """Public center (m,) that is subtracted from every record."""

    def restrict(self, values: Floats, grid_points: Floats) -> Floats:
        """Clip values (n, m), entry by entry, and subtract the center."""

    def describe(self) -> str:
        """Say in words what is bounded."""

    def to_json(self) -> dict[str, object]:
        """The bound as JSON types."""


@dataclass(frozen=True)
class ValueBounds:
    """lower(t) <= x(t) <= upper(t), in the units of the data.

    Values outside are moved to the nearest bound. The set lies in the l2 ball around the midpoint
    of radius |upper - lower| / 2, so the coefficients do too: by a proof where the bound is enforced
    on the grid (`dpfda.bounds.on_grid`), elsewhere it is enforced on them as well.

    Parameters
    ----------
    lower, upper : float or array (m,)
        Public bounds, one number or one a grid point.

    Raises
    ------
    ParameterError
        If they are not finite, or lower is not below upper, or their shapes do not fit the grid.
    """

    lower: float | Sequence[float] | Floats
    upper: float | Sequence[float] | Floats
    norm: ClassVar[Norm] = "l2"

    def __post_init__(self) -> None:
        lower, upper = curve(self.lower, "lower bound"), curve(self.upper, "upper bound")
        if np.ndim(lower) and np.ndim(upper) and np.shape(lower) != np.shape(upper):
            raise ParameterError("bounds", "have one length", f"{np.shape(lower)} and {np.shape(upper)}")
        if not np.all(np.asarray(lower) < np.asarray(upper)):
            raise ParameterError(
                "bounds",
                "have lower < upper",
                f"({lower!r}, {upper!r})" if np.ndim(lower) + np.ndim(upper) == 0 else "curves",
                "Swap the ends?"
                if np.all(np.asarray(lower) > np.asarray(upper))
                else "Give (lower, upper) in the units of the data.",
            )
        if not np.all(np.asarray(upper) - np.asarray(lower) >= SMALLEST):
            raise ParameterError("bounds", "be at least 1e-100 apart", "closer ones")
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    def curves_on(self, grid_points: Floats) -> tuple[Floats, Floats]:
        """Lower and upper bounds (m,) on a grid."""
        for name in ("lower", "upper"):
            shape = np.shape(getattr(self, name))
            if shape not in ((), grid_points.shape):
                raise ParameterError(
                    "bounds", f"have one value a grid point ({grid_points.size})", f"{shape}"
                )
        ones = np.ones_like(grid_points)
        return np.asarray(self.lower) * ones, np.asarray(self.upper) * ones

    def radius_on(self, grid_points: Floats, weights: Floats) -> float:
        lower, upper = self.curves_on(grid_points)
        return float(np.sqrt(np.sum(weights * ((upper - lower) / 2) ** 2)))

    def center_on(self, grid_points: Floats) -> Floats:
        lower, upper = self.curves_on(grid_points)
        return np.asarray(lower + (upper - lower) / 2)

    def restrict(self, values: Floats, grid_points: Floats) -> Floats:
        lower, upper = self.curves_on(grid_points)
        return np.asarray(np.clip(values, lower, upper) - self.center_on(grid_points))

    def describe(self) -> str:
        if np.ndim(self.lower) + np.ndim(self.upper) == 0:
            return f"values clipped to [{self.lower:g}, {self.upper:g}]"
        return "values clipped between two public curves"

    def to_json(self) -> dict[str, object]:
        return {
            "kind": "values",
            "lower": np.asarray(self.lower).tolist(),
            "upper": np.asarray(self.upper).tolist(),
        }


@dataclass(frozen=True)
class LatticeBounds(ValueBounds):
    """lower(t) <= x(t) <= upper(t) for records whose coefficients are values at points.

    Each coefficient, an average of neighbouring values minus that of the midpoint, is bounded by itself:
    |c_j| <= R with R half of the largest distance between the bounds. Wants a basis whose
    coefficients are values, such as `dpfda.BernsteinBasis`.

    Parameters
    ----------
    lower, upper : float or array (m,)
        As in `ValueBounds`.
    """

    norm: ClassVar[Norm] = "linf"

    def radius_on(self, grid_points: Floats, weights: Floats) -> float:
        lower, upper = self.curves_on(grid_points)
        return float(np.max((upper - lower) / 2))


@dataclass(frozen=True)
class _Ball(AroundZero):
    """A ball around zero: what both norms share."""

    radius: float
    norm: ClassVar[Norm]

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", length(self.radius, f"{type(self).__name__} radius"))

    def radius_on(self, grid_points: Floats, weights: Floats) -> float:
        return self.radius

    def to_json(self) -> dict[str, object]:
        return {"kind": self.norm, "radius": self.radius}


@dataclass(frozen=True)
class L2Ball(_Ball):
    """|x| <= radius in L2 of the domain: units of the data times the root of those of the domain.

    A longer record is shrunk along its direction. The length is that of the record on the grid, by
    quadrature, whatever the basis leaves of it; where the basis is not orthonormal on the grid (such as
    cosines on uneven points), or has a transform of its own, it is that of the coefficients.

    Parameters
    ----------
    radius : float
        Public, positive and finite.
    """

    norm: ClassVar[Norm] = "l2"

    def describe(self) -> str:
        return f"records shrunk to an L2 norm of at most {self.radius:g}"


@dataclass(frozen=True)
class L1Ball(_Ball):
    """sum_j |c_j| <= radius for the coefficients c_j of a record; others are projected to it.

    Parameters
    ----------
    radius : float
        Public, positive and finite.
    """

    norm: ClassVar[Norm] = "l1"

    def describe(self) -> str:
        return f"coefficients clipped to the l1 ball of radius {self.radius:g}"


@dataclass(frozen=True)
class Search:
    """Bounds on values that are looked for within a wide range, for a part of the budget.

    Given as ``PrivateMean(..., bounds=Search(low, high))``. A noisy histogram of the units' lowest and
    highest values tells where they lie; records are then held in bounds found from it, and the release
    states range, histogram and bounds. From a number of units times epsilon of 1,000 on.

    Parameters
    ----------
    low, high : float
        Ends of the range: public, from knowledge of the measurement, as far apart as they need be.

    Raises
    ------
    ParameterError
        If they are not finite numbers in order.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> from dpfda.bounds import Search
    >>> curves = 37 + np.linspace(-0.5, 0.5, 9000)[:, None] * np.ones(12)
    >>> release = PrivateMean(epsilon=10, bounds=Search(0, 1000)).fit(curves).release_
    >>> low, high = (found[0] for found in (release.hierarchy.lower, release.hierarchy.upper))
    >>> bool(30 < low < 37 < high < 44)
    True
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if np.ndim(self.low) or np.ndim(self.high):
            raise ParameterError("Search", "have two numbers, the ends of the range", "curves")
        for name, value in zip(("low", "high"), (self.stated.lower, self.stated.upper), strict=True):
            object.__setattr__(self, name, float(cast("float", value)))

    @property
    def stated(self) -> ValueBounds:
        """The whole range, as bounds."""
        return ValueBounds(self.low, self.high)

    def refusal(self, what: str) -> ParameterError:
        """What to raise where bounds cannot be looked for."""
        remedy = "Bounds are looked for by PrivateMean, in records that can be read more than once."
        return ParameterError("bounds", f"be stated for {what}", repr(self), remedy)


# What bounds can be beside two ends.
BODIES = InPython(", L2Ball(radius), L1Ball(radius), BoxBound(half_widths) or Ellipsoid(semi_axes)")


def read_bounds(bounds: object, standardize: bool) -> Bound:
    """Read the `bounds` argument of an estimator.

    Raises
    ------
    ParameterError
        If there are none: no bound has a default, and none is taken from the data.
    """
    if bounds is None:
        if standardize:
            return L2Ball(1.0)
        remedy = (
            "Pass $bounds in the units of the data$bodies, from knowledge of the measurement and never "
            "from these data; or $standardize."
        )
        raise ParameterError("bounds", "be given", "None", remedy, bodies=BODIES, standardize=True)
    if isinstance(bounds, ValueBounds | L2Ball | L1Ball | BoxBound | Ellipsoid):
        return bounds
    if isinstance(bounds, tuple | list) and len(bounds) == 2:
        return ValueBounds(*bounds)
    if isinstance(bounds, Search):
        raise bounds.refusal("anything but the default mean of curves")
    words = "be (lower, upper), ValueBounds, L2Ball, L1Ball, BoxBound or Ellipsoid"
    raise ParameterError("bounds", words, type(bounds).__name__)


STATED: dict[str, type[Any]] = {
    "values": ValueBounds, "l2": L2Ball, "l1": L1Ball, "box": BoxBound, "ellipsoid": Ellipsoid,
}  # fmt: skip


def bound_from_json(written: Mapping[str, object]) -> Bound:
    """The bound that `Bound.to_json` wrote; a `ValueError` where it is of another kind or damaged."""
    kind = STATED.get(str(written.get("kind")))
    if kind is None:
        raise ValueError("a bound is of an unknown kind")
    numbers = {field.name: written[field.name] for field in fields(kind) if field.name in written}
    return cast("Bound", kind(**numbers))


def ball_of(
    bound: Bound, grid_points: Floats, weights: Floats, components: int
) -> IntegerBall | IntegerBody:
    """Where integer coefficients lie under a bound that is enforced on them.

    Parameters
    ----------
    bound : Bound
        Already on its basis, where it has a size for each function.
    grid_points, weights : array (m,)
        Public grid and its quadrature weights.
    components : int
        Number of functions of the basis.

    Raises
    ------
    ParameterError
        If the bound gives no positive finite radius.
    """
    if isinstance(bound, BoxBound | Ellipsoid):
        return bound.body(components)
    radius = bound.radius_on(grid_points, weights)
    if not (radius > 0 and math.isfinite(radius)) or bound.norm not in get_args(Norm):
        raise ParameterError("bounds", "give a positive finite radius", f"{radius}")
    return IntegerBall.of(cast("Norm", bound.norm), radius, components)
