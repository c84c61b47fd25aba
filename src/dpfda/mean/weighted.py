"""The mean of records with survey weights: each counts as its weight over a public largest one.

**Guarantee.** A record x of weight w adds v (x - c) to the sums and v to the count, with c the middle of
the bounds and v = w / largest, clipped to [0, 1]. Whatever its floats do, the former are integers in the
box of any record between the bounds, as c + v (x - c) is clipped and rounded as any other; the latter is
floor(2^20 v), at most the 2^20 that a record counts without weights. So where one data set has a record
more than another, sums and count differ by no more than without weights, and get the same noise: that of
a mean under add/remove neighbours whose number of units is private. The mean is their ratio.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpfda.bases.protocol import flat_grid
from dpfda.bounds import ValueBounds
from dpfda.mechanisms import COUNT_SCALE
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Floats
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.numerics.parameters import length
from dpfda.publication import MeanPlan, Prepared
from dpfda.records import Curves
from dpfda.records.cells import OUTSIDE
from dpfda.records.containers import column_of
from dpfda.spine.sums import Summation


@dataclass(frozen=True, repr=False, eq=False)
class Weights:
    """Survey weights and their largest value, for ``PrivateMean(..).fit(X, weights=Weights(w, 5))``.

    Parameters
    ----------
    values : array (n,)
        A weight a record. Private. It must follow from that record alone, as by design: weights that
        are calibrated to the sample change with whoever else is in it, and no noise hides that.
    largest : float
        Larger weights count as this. Public.

    Raises
    ------
    ParameterError
        If the largest is no positive number.
    """

    values: object
    largest: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", length(self.largest, "largest"))


def check_weights(weights: object, plain: bool) -> Weights:
    """The weights. Raises ParameterError if they are none, or of what has none.

    plain: Whether they are of curves on a grid, one a unit, in memory, without variance.
    """
    if not isinstance(weights, Weights):
        raise ParameterError("weights", "be Weights(values, largest)", type(weights).__name__)
    if not plain:
        words = "be None but for curves on a grid, one a unit, in memory, without variance"
        raise ParameterError("weights", words, "weights")
    return weights


def weighted_plan(plan: MeanPlan, largest: float) -> MeanPlan:
    """The plan of a weighted mean. Raises ParameterError if there is none."""
    if not plan.joins_count or not isinstance(plan.bound, ValueBounds):
        raise ParameterError(
            "weights", "be None but for the default mean of curves between bounds, under add-remove "
            "neighbours without a public size", f"{largest:g}",
            "Pass unit=PrivacyUnit(neighbours='add-remove'): the total of the weights is private.",
        )  # fmt: skip
    return replace(plan, about={**plan.about, "max_weight": largest})


def weighted_sum(stated: MeanPlan, matrix: Cells, weights: Weights) -> Prepared[MeanPlan, IntegerSum]:
    """The sums of weighted records, and the total of their weights. Private.

    stated: The plan without weights.
    weights: Clipped at the largest; one that is no number, or below 0, is refused, or taken for 0 where
        records are repaired.
    """
    plan = weighted_plan(stated, weights.largest)
    summation, counted, first = Summation.of(plan), 0, 0
    total = summation.empty()
    grid, shares = (
        flat_grid(plan.basis),
        _shares(weights, len(matrix), summation.reading.invalid),
    )
    center = plan.bound.center_on(grid)
    for curves in summation.units(matrix, None):
        part = np.where(curves.usable, shares[first : first + curves.usable.size], 0.0)
        held = center + part[:, None] * plan.bound.restrict(curves.values, grid)
        summation.add_curves(total, Curves(held, curves.usable))
        counted += int(np.floor(part * COUNT_SCALE).astype(np.int64).sum())
        first += curves.usable.size
    return summation.prepared(total.counted_as(counted, COUNT_SCALE))


def _shares(weights: Weights, size: int, invalid: str) -> Floats:
    """Weights (n,) over the largest, from 0 to 1. Private."""
    column, first = column_of(weights.values, "weights")
    if column.shape != (size,):
        raise DataError(f"weights must be one a record ({size}); found {column.size}.", "weights")
    sound = np.isfinite(column) & (column >= 0)
    if invalid == "refuse" and (first is not None or not sound.all()):
        row = int(np.argmin(sound)) if first is None else first[0]
        raise DataError(
            f"weights must be finite and not negative; found another in row {row}. {OUTSIDE}"
        )
    return np.clip(np.where(sound, column, 0.0) / weights.largest, 0.0, 1.0)
