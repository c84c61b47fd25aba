"""Releases whose values have a band: it is asked for in one way, and each kind answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_box_points, check_points
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import flag, shown
from dpfda.releases.bands import Asked, Band, Of, Variance, check_level, check_of
from dpfda.releases.base import LEVEL, Release
from dpfda.releases.published import Published, as_given

# Why a kind cannot state a band.
UNKNOWN = {
    "noise": "Its band is about noise and sampling together.",
    "sample": "How far what was left out may be is not known; its band is about the privacy noise.",
    "population": "What other units would add is not known for it.",
}


def checked(release: Published, level: float, simultaneous: bool, of: Of | None, exact: bool) -> Asked:
    """Which band of a release is asked for; the first that it states by default.

    Raises ParameterError if the level is none, or the release states no such band.
    """
    level, stated = check_level(level, simultaneous), [claim.of for claim in release._claims()]
    if check_of(of) not in (None, *stated):
        words = f"be {' or '.join(map(repr, stated))} for this {release.CALLED}"
        raise ParameterError("of", words, repr(of), UNKNOWN[str(of)])
    if flag(exact, "exact") and (of not in (None, "noise") or not release._has_exact):
        words = "be left out here: it is for of='noise', where what was measured is drawn as well"
        raise ParameterError("exact", words, "True")
    return Asked(level, simultaneous, of or ("noise" if exact else stated[0]), exact)


class Banded(Release):
    """A release of one function, or of a table, with a band around it.

    A kind of release says in `_claims` what its bands are for, and in `_around` how they are made.
    """

    _has_exact: ClassVar[bool] = True

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
        of: Of | None = None,
        exact: bool = False,
        variance: Variance | None = None,
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
        of : {"noise", "sample", "population"}, optional
            What it is a band for: the same estimate without noise; what an unlimited budget would
            publish of these units; or the function of the population that they are a sample of. By
            default the first of those that this release states: see ``facts.bands``.
        exact : bool
            For of="noise": the band as the law of the noise gives it, around what was measured. The
            published function may leave it; else it is widened where that does, and cut at public
            bounds.
        variance : float or callable, optional
            For of="population": variance of a unit's value, of a residual in a regression, known to be
            public, in squared units of the data; a function of points, too, such as another release.
            By default the largest one that the public bounds allow.

        Raises
        ------
        ParameterError
            If the release states no such band, or a parameter is unusable.
        """
        asked = checked(self, level, simultaneous, of, exact)
        at = self._read(as_given(self._band_points()) if points is None else points)[0]
        if not len(at):
            raise ParameterError("points", "be at least one for a band", "none")
        if asked.of == "population":
            return self._around_population(at, asked, variance)
        if variance is not None:
            raise ParameterError("variance", "be for of='population'", shown(variance))
        return self._around(at, asked)

    def _around(self, at: Floats, asked: Asked) -> Band:
        """The band that is asked for, by what has been checked."""
        raise NotImplementedError

    def _around_population(self, at: Floats, asked: Asked, variance: Variance | None) -> Band:
        """The band for the population; by default its variance is from the release itself."""
        if variance is not None:
            words = "be left out: that of sampling is taken from what was released"
            raise ParameterError("variance", words, shown(variance))
        return self._around(at, asked)


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
