"""The mean of records with survey weights: each counts as its weight over a public largest one.

**Guarantee.** A record x of weight w adds v (x - c) to the sums and v to the count, with c the middle of
the bounds and v = w / largest, clipped to [0, 1]. Whatever its floats do, the former are integers in the
box of any record between the bounds, as c + v (x - c) is clipped and rounded as any other; the latter is
floor(2^20 v), at most the 2^20 that a record counts without weights. So where one data set has a record
more than another, sums and count differ by no more than without weights, and get the same noise: that of
a mean under add/remove neighbours whose number of units is private. Where a record is replaced, sums of
cells of half-width H move by at most 2 H, as without weights, and the count, of 0 to 2^20 a record, by
at most 2^20: a box of these sides. The mean is the ratio of sums and count.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpfda.bases.protocol import flat_grid
from dpfda.bounds import Search, ValueBounds
from dpfda.mean.strategies import TwoLooks
from dpfda.mean.streams import InBlocks
from dpfda.mechanisms import COUNT_SCALE
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import length, shown
from dpfda.privacy.guarantees import Neighbours
from dpfda.publication import MeanPlan, Prepared
from dpfda.records import Curves
from dpfda.records.frames import Container
from dpfda.records.weights import Weights, check_weights, weight_shares
from dpfda.spine.choices import check_choices
from dpfda.spine.sums import Readable, Summation


def refuse_weights(strategy: TwoLooks | Search | None, plain: bool) -> None:
    """Refuse survey weights of what has none.

    plain: Whether they are of curves on a grid, one a unit, in memory, without variance.
    """
    if strategy is not None:
        raise strategy.refusal("survey weights")
    if not plain:
        words = "be $none but for curves on a grid, one a unit, in memory, without variance"
        raise ParameterError("weights", words, "weights")


def prepare_weighted(
    estimator: InBlocks, records: Container, weights: object
) -> Prepared[MeanPlan, IntegerSum]:
    """Everything before the noise. The result is private."""
    given = check_weights(weights)
    alone = records.groups is None and estimator.variance is None
    refuse_weights(estimator._staged, alone and not records.on_cluster and not records.irregular)
    check_choices(estimator)
    read = estimator._read(records)
    return weighted_sum(read.plan, read.total, given)


def weighted_plan(plan: MeanPlan, largest: float) -> MeanPlan:
    """The plan of a weighted mean, whose divisor is private. Raises ParameterError if there is none."""
    replaced = plan.neighbours is Neighbours.REPLACE_ONE
    made = replace(plan, size=None, expected_size=plan.n) if replaced else plan
    if not made.joins_count or not isinstance(plan.bound, ValueBounds):
        words = "be $none but for the default mean of curves between bounds without a public size"
        remedy = "Give $bounds alone: the total of the weights is private."
        raise ParameterError("weights", words, shown(largest), remedy)
    return replace(made, about={**plan.about, "max_weight": length(largest, "max_weight")})


def weighted_sum(
    stated: MeanPlan, records: Readable, weights: Weights
) -> Prepared[MeanPlan, IntegerSum]:
    """The sums of weighted records, and the total of their weights. Private.

    stated: The plan without weights.
    weights: Clipped at the largest; one that is no number, or below 0, is refused, or taken for 0 where
        records are repaired.
    """
    plan = weighted_plan(stated, weights.largest)
    summation, counted, first = Summation.of(plan), 0, 0
    total = summation.empty()
    grid, count = flat_grid(plan.basis), len(records)
    shares = weight_shares(weights, count, summation.reading.invalid)
    center = plan.bound.center_on(grid)
    for curves in records.units(plan):
        part = np.where(curves.usable, shares[first : first + curves.usable.size], 0.0)
        held = center + part[:, None] * plan.bound.restrict(curves.values, grid)
        summation.add_curves(total, Curves(held, curves.usable))
        counted += int(np.floor(part * COUNT_SCALE).astype(np.int64).sum())
        first += curves.usable.size
    return summation.prepared(total.counted_as(counted, COUNT_SCALE))
