"""One mean from several releases of it: what each measured, under one prior.

Release s measured A_s u_s plus noise of known variances D_s; u_s is the mean of its n_s units. That
differs from the common mean u by chance: the difference is taken as normal, a level and a rough part of
half of the variance SPREAD / n_s each. With the Cholesky factor L of D_s + A_s K A_s' the rows L^-1 A_s
have errors of variance one, and the rows of all releases together are one measurement of u: grids,
cells, bounds and budgets may differ. Its posterior is that of `dpfda.estimates.curves`.

Averaging curves that were smoothed one by one keeps what each smoothed away. Here it is smoothed once,
by as much as all releases together call for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpfda.bases.priors import CurvePrior
from dpfda.estimates.curves import LARGEST_GRID, CurveModel, interpolation
from dpfda.estimates.widths import Widths
from dpfda.numerics.arrays import Floats
from dpfda.numerics.speed import one_thread

# Variance of a curve's value, in squared distances between the bounds, and how far along the domain the
# rough part of it reaches.
SPREAD, REACH = 1 / 64, 0.2
# Grid points nearer to each other than this share of the domain are one.
ALIKE = 1e-9


@dataclass(frozen=True)
class UnitErrors:
    """Independent normal errors of variance one."""

    components: int

    def variances(self) -> Floats:
        """One each (M,)."""
        return np.ones(self.components)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Draws (draws, M)."""
        return generator.standard_normal((draws, self.components))


@dataclass(frozen=True, eq=False)
class Measured:
    """What one release measured.

    model: Of its mean, in shares of its own bounds' distance.
    noisy: array (M,). In the units of `model.forms`.
    size: Number n of units.
    """

    model: CurveModel
    noisy: Floats
    size: float


@one_thread(scipy=False)
def joined(parts: Sequence[Measured], lower: float, upper: float) -> Widths:
    """The mean that all of them measured, on a common grid of the unit interval.

    lower, upper: Bounds on it, in the units of the data; the widths are in shares of their distance.
    """
    grid = common_grid([part.model.grid for part in parts])
    chance = SPREAD * (1 + np.exp(-np.abs(np.subtract.outer(grid, grid)) / REACH)) / 2
    rows, seen = zip(*(_whitened(part, grid, chance, lower, upper) for part in parts), strict=True)
    version = max(part.model.prior.version for part in parts)
    bounds = np.full(grid.size, lower), np.full(grid.size, upper)
    forms, noisy = np.concatenate(rows), np.concatenate(seen)
    prior, places = CurvePrior(*bounds, version=version), np.arange(grid.size)
    finest = max(part.model.resolution for part in parts)
    model = CurveModel(prior, grid, places, forms, UnitErrors(noisy.size), 1.0, finest)
    return Widths(model.posterior(noisy))


def common_grid(grids: Sequence[Floats]) -> Floats:
    """All points of all grids, or equally spaced ones where these are too many to carry a curve."""
    points = np.unique(np.concatenate(grids))
    points = points[np.concatenate([[True], np.diff(points) > ALIKE])]
    return points if points.size <= LARGEST_GRID else np.linspace(0.0, 1.0, LARGEST_GRID)


def _whitened(
    part: Measured, grid: Floats, chance: Floats, lower: float, upper: float
) -> tuple[Floats, Floats]:
    """Rows (M, m) that see a curve minus 1/2, in shares of the common bounds, and what they saw (M,).

    chance: array (m, m). Covariance of one unit's curve on the common grid, in shares of its own bounds.
    """
    model, prior = part.model, part.model.prior
    onto = interpolation(grid, model.grid)
    shares, own = model.forms @ onto, model.forms / prior.width
    noisy = part.noisy + own @ ((prior.lower + prior.upper - lower - upper) / 2)
    errors = np.diag(model.deviations**2) + shares @ chance @ shares.T / part.size
    both = np.column_stack([own @ onto * (upper - lower), noisy])
    whitened = np.linalg.solve(np.linalg.cholesky(errors), both)
    return whitened[:, :-1], whitened[:, -1]
