"""Public bounds on coefficients, each by itself or all together: boxes and ellipsoids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from dpfda.bounds.balls import BodyNorm, IntegerBody
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import LARGEST, SMALLEST, length, real, reals, shown
from dpfda.numerics.words import so_many


class AroundZero:
    """Shared by bounds around zero that are on coefficients, or on whole records: values stay."""

    def center_on(self, grid_points: Floats) -> Floats:
        return np.zeros_like(grid_points)

    def restrict(self, values: Floats, grid_points: Floats) -> Floats:
        return values


class _OnCoefficients(AroundZero):
    """Shared by boxes and ellipsoids."""

    norm: ClassVar[BodyNorm]

    def radius_on(self, grid_points: Floats, weights: Floats) -> float:
        """Radius of the l2 ball that holds the body."""
        sizes = self._stated_sizes()
        return math.hypot(*sizes) if self.norm == "box" else max(sizes)

    def body(self, components: int) -> IntegerBody:
        """The body in integers, for a basis of so many functions."""
        return IntegerBody.of(self.norm, self._stated_sizes(), components)

    def _stated_sizes(self) -> tuple[float, ...]:
        raise NotImplementedError


@dataclass(frozen=True)
class BoxBound(_OnCoefficients):
    """|c_j| <= b_j for the coefficients c_j of a record in the basis, each clipped by itself.

    **This is your public knowledge.** Records outside are pulled in: if the half-widths are too small
    the release is biased, and nothing in it will say so. They must not come from these data.

    Parameters
    ----------
    half_widths : float or array (L,)
        Public half-widths b_j, positive, in units of the data times the root of those of the domain; one
        number is for all coefficients. With an array, coefficients beyond its end are taken to be zero.

    Raises
    ------
    ParameterError
        If they are not positive finite numbers.

    Examples
    --------
    >>> BoxBound([2.0, 1.0, 0.5]).describe()
    '3 coefficients clipped one by one, the first to 2, the last to 0.5'
    """

    half_widths: float | Sequence[float] | Floats
    norm: ClassVar[BodyNorm] = "box"

    def __post_init__(self) -> None:
        object.__setattr__(self, "half_widths", _sizes(self.half_widths, "half_widths"))

    def on_basis(self, eigenvalues: Floats) -> BoxBound:
        """The bound with a size for each function of a basis at most."""
        if isinstance(self.half_widths, float):
            return BoxBound((self.half_widths,) * eigenvalues.size)
        return BoxBound(self.half_widths[: eigenvalues.size])

    def _stated_sizes(self) -> tuple[float, ...]:
        if isinstance(self.half_widths, float):
            raise _without_basis(self)
        return tuple(self.half_widths)

    def describe(self) -> str:
        if isinstance(self.half_widths, float):
            return f"coefficients clipped one by one to {self.half_widths:g}"
        many = so_many(len(self.half_widths), "coefficient")
        return f"{many} clipped one by one, {_ends(self.half_widths)}"

    def to_json(self) -> dict[str, object]:
        widths = self.half_widths
        return {"kind": "box", "half_widths": widths if isinstance(widths, float) else list(widths)}


@dataclass(frozen=True)
class Ellipsoid(_OnCoefficients):
    """sum_j c_j^2 / a_j^2 <= 1 for the coefficients c_j of a record; others are shrunk to it.

    With `radius` the semi-axes are a_j = radius lambda_j^(power / 2), lambda_j the basis's
    eigenvalues: the ball |x| <= radius of the Cameron-Martin space of the kernel's power.

    **This is your public knowledge.** Records outside are shrunk along their direction, all
    coefficients together: if they are rougher than you said the release is biased, and nothing in it
    will say so. The semi-axes must not come from these data.

    Parameters
    ----------
    semi_axes : array (L,), optional
        Public semi-axes a_j, positive, in units of the data times the root of those of the domain.
        Coefficients beyond the end are taken to be zero.
    radius : float, optional
        Public radius, instead of semi-axes: |x| <= radius in the Cameron-Martin norm.
    power : float
        Power of the kernel, positive.

    Raises
    ------
    ParameterError
        If not exactly one of `semi_axes` and `radius` is given, or they are not positive and finite.

    Examples
    --------
    >>> Ellipsoid([2.0, 1.0, 0.5]).describe()
    '3 coefficients clipped together to an ellipsoid, the first semi-axis 2, the last 0.5'
    >>> Ellipsoid(radius=1.0).on_basis(np.array([4.0, 1.0, 0.25])).semi_axes
    (2.0, 1.0, 0.5)
    """

    semi_axes: Sequence[float] | Floats | None = None
    radius: float | None = None
    power: float = 1.0
    norm: ClassVar[BodyNorm] = "ellipsoid"

    def __post_init__(self) -> None:
        if (self.semi_axes is None) == (self.radius is None):
            raise ParameterError(
                "Ellipsoid", "have semi_axes or a radius, and not both", "both or neither"
            )
        if self.radius is not None:
            object.__setattr__(self, "radius", length(self.radius, "Ellipsoid radius"))
        power = length(self.power, "Ellipsoid power")
        object.__setattr__(self, "power", real(power, "Ellipsoid power", 1e-100, 100.0))
        if self.semi_axes is not None:
            axes = _sizes(self.semi_axes, "semi_axes")
            object.__setattr__(self, "semi_axes", (axes,) if isinstance(axes, float) else axes)

    def on_basis(self, eigenvalues: Floats) -> Self:
        """The bound with explicit semi-axes, at most one for each function of a basis."""
        if self.radius is not None:
            axes = self.radius * np.asarray(eigenvalues, dtype=np.float64) ** (self.power / 2)
            return type(self)(tuple(axes.tolist()))
        return type(self)(self._stated_sizes()[: eigenvalues.size])

    def _stated_sizes(self) -> tuple[float, ...]:
        if self.semi_axes is None:
            raise _without_basis(self)
        return tuple(self.semi_axes)

    def describe(self) -> str:
        if self.semi_axes is None:
            return f"Cameron-Martin norm of power {self.power:g} clipped to {self.radius:g}"
        many, ends = so_many(len(self.semi_axes), "coefficient"), _ends(self.semi_axes, "semi-axis ")
        return f"{many} clipped together to an ellipsoid, {ends}"

    def to_json(self) -> dict[str, object]:
        if self.semi_axes is None:
            return {"kind": "ellipsoid", "radius": self.radius, "power": self.power}
        return {"kind": "ellipsoid", "semi_axes": list(self.semi_axes)}


def _ends(sizes: Sequence[float] | Floats, what: str = "") -> str:
    to = "" if what else "to "
    return f"the first {what}{to}{sizes[0]:g}, the last {to}{sizes[-1]:g}"


def _without_basis(bound: BoxBound | Ellipsoid) -> ParameterError:
    return ParameterError(
        "bounds",
        "be put on a basis before its sizes are asked for",
        bound.describe(),
        "Call on_basis(eigenvalues) first.",
    )


def _sizes(values: object, name: str) -> float | tuple[float, ...]:
    try:
        array = reals(values, name)
    except ParameterError:
        raise ParameterError(name, "be numbers", shown(values)) from None
    if array.ndim == 0:
        return length(values, name)
    if array.ndim != 1 or array.size == 0:
        raise ParameterError(name, "be one number or a list of numbers", f"shape {array.shape}")
    wrong = np.flatnonzero(~(np.isfinite(array) & (array > 0)))
    if wrong.size:
        raise ParameterError(name, "be positive and finite", f"{array[wrong[0]]} at position {wrong[0]}")
    if array.min() < SMALLEST or array.max() > LARGEST:
        raise ParameterError(name, "lie between 1e-100 and 1e100", "others")
    return tuple(array.tolist())
