"""The exact sum of outer products of records around a center that is public by then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.embedding import Rows, product, quantised, row_lengths
from dpfda.publication.moments import CovariancePlan
from dpfda.records import Curves
from dpfda.records.second_moments import OuterSum
from dpfda.releases.counts import NoisyCount
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.staged import Selection

# Rows that are embedded at a time: a public number, below the limit of the exact sum.
BLOCK = 8192


@dataclass(frozen=True, eq=False, repr=False)
class Stage:
    """What is known once the count and the center are public."""

    plan: CovariancePlan
    divisor: float | NoisyCount
    center: Floats
    mean: ReleasedFunction | None
    selection: Selection | None = None

    @property
    def public(self) -> tuple[float | NoisyCount, Floats, ReleasedFunction | None, Selection | None]:
        """Divisor, center, mean and choice of the radius, in the order in which they are published."""
        return self.divisor, self.center, self.mean, self.selection

    @property
    def size(self) -> int:
        """Number of units that designs are made for."""
        return (
            max(1, round(self.divisor.value))
            if isinstance(self.divisor, NoisyCount)
            else int(self.divisor)
        )


def outer_sum(curves: Curves, stage: Stage, components: int) -> OuterSum:
    """Subtract the center, embed, clip, round, multiply out and add up.

    Unusable rows count as the center itself: they add nothing.
    """
    total = OuterSum(components)
    with np.errstate(all="ignore"):
        for rows in _deviations(curves, stage, components):
            total.add(stage.plan.ball.clip(rows))
    return total


def lengths(curves: Curves, stage: Stage) -> Floats:
    """L2 lengths (n,) of the deviations from the center within all functions of the basis. Private."""
    components = stage.plan.basis.eigenvalues.size
    return np.concatenate([row_lengths(rows) for rows in _deviations(curves, stage, components)])


def _deviations(curves: Curves, stage: Stage, components: int) -> Iterator[Rows]:
    """Coefficients of the deviations from the center, a block at a time."""
    plan = stage.plan
    # Pairs are differences already.
    center = 0.0 if plan.about["center"] == "pairs" else stage.center
    analysis, grid, restrict = plan.basis.analysis, plan.basis.grid_points, _restriction(plan)
    # A difference of the largest doubles may overflow; it is clipped to the ball anyway.
    largest = np.finfo(np.float64).max / 4
    # The whole matrix is rounded, so that no coefficient depends on how many there are.
    public, exponent, bits = quantised(analysis)
    with np.errstate(all="ignore"):
        for start in range(0, curves.usable.size, BLOCK):
            rows = slice(start, start + BLOCK)
            centered = np.clip(restrict(curves.values[rows], grid) - center, -largest, largest)
            centered = np.where(curves.usable[rows, None], centered, 0.0)
            yield product(centered, public[:, :components], exponent, bits)


def _restriction(plan: CovariancePlan) -> Callable[[Floats, Floats], Floats]:
    """Values clipped to the bounds on a record, where these are on values."""
    written = plan.bounded["records"]
    if plan.about["center"] == "pairs" or not isinstance(written, dict) or written["kind"] != "values":
        return lambda values, grid: values
    lower, upper = np.asarray(written["lower"]), np.asarray(written["upper"])
    return lambda values, grid: np.asarray(np.clip(values, lower, upper))
