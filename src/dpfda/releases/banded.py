"""Releases whose values have a band: it is asked for in one way, and each kind answers."""

from __future__ import annotations

import inspect
from types import FunctionType

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_box_points, check_points
from dpfda.numerics.arrays import Floats
from dpfda.numerics.parameters import choice
from dpfda.releases.bands import Band, check_level, check_places
from dpfda.releases.base import LEVEL, Release


class Banded(Release):
    """A release of one function, or of a table, with a band around it.

    A kind of release says in `_around` how its band is made and what it contains; the docstring of its
    `band` is made of that.
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        own = vars(cls).get("_around")
        if own is not None and "band" not in vars(cls):
            asked = Banded.band
            made = FunctionType(asked.__code__, asked.__globals__, "band", asked.__defaults__)
            summary, _, notes = inspect.cleandoc(own.__doc__ or "").partition("\n\n")
            rest = inspect.cleandoc(asked.__doc__ or "").partition("\n\n")[2]
            made.__doc__ = "\n\n".join(each for each in (summary, rest, notes) if each)
            made.__annotations__, made.__qualname__ = asked.__annotations__, f"{cls.__qualname__}.band"
            cls.band = made  # type: ignore[method-assign]

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
        level = check_level(level, simultaneous)
        kind = self.band_kinds[0] if kind is None else choice(kind, "kind", self.band_kinds)
        given = self.band_points() if points is None else points
        if np.ndim(self.domain_range) == 2:
            at = check_box_points(given, tuple(self.axes.values()))[0]
        else:
            at = check_points(given[:, 0] if points is None else given, self.domain_range)  # type: ignore[index]
        check_places(at)
        return self._around(at, level, simultaneous, kind)

    def _around(self, at: Floats, level: float, simultaneous: bool, kind: str) -> Band:
        """The band, for parameters as of `band` that have been checked."""
        raise NotImplementedError
