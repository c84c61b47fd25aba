"""Releases whose values have a band: it is asked for in one way, and each kind answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_box_points, check_points
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, shown
from dpfda.releases.bands import CONFIDENCE, Band, check_level, check_places
from dpfda.releases.base import LEVEL, Release
from dpfda.releases.confidence import Variance
from dpfda.releases.published import as_given


class Banded(Release):
    """A release of one function, or of a table, with a band around it.

    A kind of release says in `_around` how its band is made and what it contains; the docstring of its
    `band` is made of that.
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        own = vars(cls).get("_around")
        if own is not None and own.__doc__ and "band" not in vars(cls):
            asked: Any = cls.band
            made = FunctionType(asked.__code__, asked.__globals__, "band", asked.__defaults__)
            summary, _, notes = inspect.cleandoc(own.__doc__).partition("\n\n")
            rest = inspect.cleandoc(asked.__doc__ or "").partition("\n\n")[2]
            made.__doc__ = "\n\n".join(each for each in (summary, rest, notes) if each)
            made.__annotations__, made.__qualname__ = asked.__annotations__, f"{cls.__qualname__}.band"
            cls.band = made  # type: ignore[method-assign]

    def _read(self, points: ArrayLike) -> tuple[Floats, bool]:
        """Points (q,) of the domain, or (q, d) of a box; and whether a single one was given."""
        if np.ndim(self.domain_range) == 2:
            return check_box_points(points, tuple(self.axes.values()))
        return check_points(points, self.domain_range), np.ndim(points) == 0

    def band(
        self,
        level: float = LEVEL,
        simultaneous: bool = True,
        points: ArrayLike | None = None,
        kind: str | None = None,
    ) -> Band:
        """Band around what was published.

        Parameters
        ----------
        level : float
            Probability of the band, between 0 and 1.
        simultaneous : bool
            Whether it is for all points at once, or for each point by itself.
        points : array (q,), or (q, d) in d dimensions; optional
            Where; by default 201 points of an interval and the grid, or about 400 of a box.
        kind : str, optional
            One of `band_kinds`, by default the first.

        Raises
        ------
        ParameterError
            If the level or the kind is none, or a point is outside the domain.
        """
        return self._around(*self._asked(level, simultaneous, points, kind))

    def _asked(
        self, level: float, simultaneous: bool, points: ArrayLike | None, kind: str | None
    ) -> tuple[Floats, float, bool, str]:
        """Parameters of `band`, checked, as `_around` takes them."""
        level = check_level(level, simultaneous)
        kind = self.band_kinds[0] if kind is None else choice(kind, "kind", self.band_kinds)
        at = self._read(as_given(self.band_points()) if points is None else points)[0]
        check_places(at)
        return at, level, simultaneous, kind

    def _around(self, at: Floats, level: float, simultaneous: bool, kind: str) -> Band:
        """The band, for parameters as of `band` that have been checked."""
        raise NotImplementedError


class Valued(Banded):
    """A release of one function of points, with a band; a kind says its values in `_values`."""

    @overload
    def __call__(self, points: float) -> float: ...

    @overload
    def __call__(self, points: ArrayLike) -> Floats: ...

    def __call__(self, points: ArrayLike) -> Any:
        """Values of the function.

        Parameters
        ----------
        points : float or array (q,)
            Points of the domain; in d dimensions an array (q, d) or (d,).

        Returns
        -------
        float or array (q,)
            Values, in their units; cut at public bounds where there are any.

        Raises
        ------
        ParameterError
            If a point is outside the domain, or has another number of coordinates.
        """
        return self._at(self._values, points)

    def _at(self, function: Callable[[Floats], Floats], points: ArrayLike) -> Any:
        """Values of a function at points of the domain: a number at a single one."""
        at, single = self._read(points)
        values = function(at)
        return float(values[0]) if single else values

    def _values(self, at: Floats) -> Floats:
        """Values (q,) at points that have been checked."""
        raise NotImplementedError


class Sampled(Valued):
    """A function of units that are a sample, with a band of kind "confidence" for their population.

    A kind says in `_around_population` how that band is made.
    """

    def band(
        self,
        level: float = LEVEL,
        simultaneous: bool = True,
        points: ArrayLike | None = None,
        kind: str | None = None,
        variance: Variance | None = None,
    ) -> Band:
        """Band around what was published.

        Parameters
        ----------
        level : float
            Probability of the band, between 0 and 1.
        simultaneous : bool
            Whether it is for all points at once, or for each point by itself.
        points : array (q,), optional
            Where; by default the grid, with 201 points of the domain where functions are smooth.
        kind : str, optional
            One of `band_kinds`, by default the first.
        variance : float or callable, optional
            For kind "confidence": variance of a unit's value, of a residual in a regression, known to be
            public, in squared units of the data; a function of points, too, such as another release. By
            default the largest one that the public bounds allow.

        Raises
        ------
        ParameterError
            If the level, the kind or the variance is none, or a point is outside the domain.
        """
        at, level, simultaneous, kind = self._asked(level, simultaneous, points, kind)
        if kind == CONFIDENCE:
            return self._around_population(at, level, simultaneous, variance)
        if variance is not None:
            raise ParameterError("variance", "be for kind='confidence'", shown(variance))
        return self._around(at, level, simultaneous, kind)

    def _around_population(
        self, at: Floats, level: float, simultaneous: bool, variance: Variance | None
    ) -> Band:
        """The band of kind "confidence", for parameters that have been checked."""
        raise NotImplementedError
