"""Units that a plan makes up, and how far a release of them is from what it is to be near."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.arrays import Floats
from dpfda.publication.planners import Trial
from dpfda.records.points import PlacedPoints


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

    @cached_property
    def error(self) -> float:
        at = np.asarray(self.points, dtype=np.float64).ravel()
        square = np.trapezoid((self._values() - self.truth) ** 2, at)
        return float(np.sqrt(square / (at[-1] - at[0])))


def without_noise(law: NoiseLaw) -> list[int]:
    """A draw of no noise."""
    return [0] * law.simulate(np.random.default_rng(0), 1).size
