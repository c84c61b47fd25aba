"""Units that a plan makes up, and how far a release of them is from what it is to be near."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from dpfda.bases.cells import CellGrid, Domain
from dpfda.bases.ordinary import ordinary_densities
from dpfda.bases.scales import Scale
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import real, shown
from dpfda.publication.planners import Trial
from dpfda.records.points import PlacedPoints

# Points at which bands of trials are looked at.
BAND_POINTS = 51


class MadeUp(NamedTuple):
    """Units spread evenly between points of an interval, as `PlacedPoints` has points.

    ends: array (m + 1,). The points.
    below: array (m + 1,). How many units lie below each; no whole numbers.
    """

    ends: Floats
    below: Floats

    def shares(self, cells: CellGrid) -> list[int]:
        """As `PlacedPoints.shares`; none at atoms."""
        reached = np.rint(np.ldexp(np.interp(cells.edges[0], self.ends, self.below), EXPONENT))
        return [*np.diff(reached).astype(np.int64).tolist(), *[0] * len(cells.atoms)]


Units = PlacedPoints | MadeUp


class UnevenTrial(Trial):
    """A trial whose points, increasing, are nearer to each other where there is more to see."""

    @classmethod
    def of(cls, release: Any, exact: Any) -> Self:
        """Of a released density beside that of the same units without noise."""
        at = np.union1d(release._default_points(), exact._default_points())
        places = release._even_points
        return cls(release, at, exact(at), places[:: math.ceil(len(places) / BAND_POINTS)])

    @cached_property
    def error(self) -> float:
        at = np.asarray(self.points, dtype=np.float64).ravel()
        square = np.trapezoid((self._values() - self.truth) ** 2, at)
        return float(np.sqrt(square / (at[-1] - at[0])))


def stretch(quarter: float, domain: Domain, scale: Scale | None) -> float:
    """The stated length of a stretch, in lengths of the interval."""
    if scale is not None or len(domain) > 1:
        words = "be left out but for an interval without a public scale"
        raise ParameterError("quarter", words, shown(quarter))
    ((a, b),) = domain
    words = "be positive, and at most a quarter of the interval"
    return real(quarter, "quarter", math.nextafter(0, 1), (b - a) / 4, words) / (b - a)


def ordinary_units(
    count: int, size: int, domain: tuple[float, float], quarter: float | None
) -> Iterator[MadeUp]:
    """So many units, size, of each of the first ordinary densities on an interval.

    As people would be counted, but that near numbers of them have near counts.
    """
    generator = np.random.Generator(np.random.Philox(2))
    a, b = domain
    for ends, shares in zip(*ordinary_densities(count, quarter), strict=True):
        units = size * shares + np.sqrt(size * shares) * generator.standard_normal(shares.size)
        below = np.append(0.0, np.cumsum(np.maximum(units, 0.0)))
        yield MadeUp(a + (b - a) * ends, below * (size / below[-1]))


def simulated(generator: np.random.Generator, law: NoiseLaw) -> list[int]:
    """A draw of noise for a trial."""
    return [int(z) for z in np.rint(law.simulate(generator, 1)[0])]


def without_noise(law: NoiseLaw) -> list[int]:
    """A draw of no noise."""
    return [0] * law.simulate(np.random.default_rng(0), 1).size
