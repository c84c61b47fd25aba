"""Variants of a mean: of pooled observations, of weighted records, and with a variance beside it.

**Survey weights.** A record x of weight w adds v (x - c) to the sums and v to the count, with c the
middle of the bounds and v = floor(2^20 min(w / largest, 1)) / 2^20. The former are the integers of any
record between the bounds, times v and rounded toward zero: at most v times as far from 0 as bounds are.
The latter is 2^20 v, at most the 2^20 that a record counts without weights. So where one data set has a
record more than another, sums and count differ by no more than without weights, and get the same noise:
that of a mean under add/remove neighbours whose number of units is private. Where a record is replaced,
sums of cells of half-width H move by at most 2 H, as without weights, and the count, of 0 to 2^20 a
record, by at most 2^20: a box of these sides. The mean is the ratio of sums and count.

**A variance function.** For a share of the budget the sum of ((x - middle) / half-width)^2, entry by
entry of each unit's clipped values, is released as well: a function of that unit alone, between 0 and
1, and so a mean of curves between bounds like the first. The release is the composition of both: its
guarantee is the sum of theirs (`privacy.guarantees.split`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from dpfda.bases.protocol import flat_grid
from dpfda.bounds import Search, ValueBounds
from dpfda.mean.settings import TwoLooks, strategy_of
from dpfda.mean.streams import InBlocks
from dpfda.mean.variance_release import MEAN, VARIANCE, MeanAndVariance
from dpfda.mean.vector.together import publish_together
from dpfda.mechanisms import COUNT_SCALE
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.gridsums import integers
from dpfda.numerics.parameters import exact, known, length, real, shown
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours, split
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import MeanPlan, Prepared
from dpfda.records import Curves
from dpfda.records.frames import Container
from dpfda.records.weights import Weights, check_weights, weight_shares
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.spine.arguments import Beside, Labels, Records
from dpfda.spine.choices import check_choices
from dpfda.spine.curves import is_pooled
from dpfda.spine.embedding import embedding_of
from dpfda.spine.pooled_curves import (
    PooledPlan,
    PooledTable,
    noise_of_table,
    planned_ends,
    pooled_observations,
    pooled_plan,
    two_bounds,
)
from dpfda.spine.sums import Readable, Summation

REMEDY = "For the estimate that fills each person's gaps first: $missing."


def prepare_pooled(
    estimator: InBlocks, X: object, groups: object = None
) -> Prepared[PooledPlan, IntegerSum]:
    """Everything before the noise. The result is private.

    A unit has the weight one, divided among its observations: what each adds is
    `dpfda.records.observations.Observations.shares`, and how much the noise must hide is
    `dpfda.noise.shares`. All the rest follows the noisy table: docs/sparse.md.

    Parameters
    ----------
    estimator : PrivateMean
    X : LongCurves, FDataIrregular, or array (n, m) with gaps
    groups
        As in `PrivateMean.fit`. Private.
    """
    check_choices(estimator)
    bounds, noise = _asked(estimator)
    records = Container.of(X, groups)
    settings = estimator._settings_for(records)
    if embedding_of(settings.reading) is not None:
        words = "be 'refuse' or 'complete', with curves on one grid, for a class that embeds records"
        raise ParameterError("missing", words, repr(settings.reading.missing))
    # Whether arithmetic overflows depends on values: it may neither warn nor raise.
    with np.errstate(all="ignore"):
        observations, _, ends, labelled = pooled_observations(settings, records)
        unit = settings.unit.called(labelled or None)
        plan = pooled_plan(
            estimator.asked(), observations.units, settings=settings, noise=noise, unit=unit,
            ends=ends, bounds=bounds,
        )  # fmt: skip
        return Prepared(plan, IntegerSum.of(plan.shares(observations)))


def plan_pooled(estimator: InBlocks, n: int) -> PooledPlan:
    """What would be published of n units, from public numbers alone."""
    (bounds, noise), settings = _asked(estimator), estimator.settings
    return pooled_plan(
        estimator.asked(), n, settings=settings, noise=noise,
        unit=settings.unit.called(None), ends=planned_ends(settings), bounds=bounds, planned=True,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PooledVisits(PooledTable[ReleasedPooledMean]):
    """The same table as a sum of several holders, on the cells of a plan for all of their units."""

    plan: PooledPlan

    @property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        terms = [self.plan.cells.to_json(), [float(end).hex() for end in self.plan.bounds]]
        return {"reading": self.invalid, "integers": terms}

    def total(self, X: Records, groups: Labels = None, y: Beside = None) -> IntegerSum:
        plan, (start, end) = self.plan, self.plan.ends
        with np.errstate(all="ignore"):
            observations, _, ends, _ = pooled_observations(self.settings, X, groups)
            if ends != plan.ends:
                raise ParameterError("X", f"be on the domain {start:g} to {end:g} of all", "another")
            return IntegerSum(self.numbers).add_totals(plan.shares(observations), observations.units)


def _asked(estimator: InBlocks) -> tuple[tuple[float, float], str]:
    """The public bounds and the noise; and everything that a pooled mean has no use for is refused."""
    noise = noise_of_table(
        estimator.mechanism, "a pooled mean", REMEDY, basis=estimator.basis, prior=estimator.prior,
        standardize=estimator.settings.reading.standardize,
    )  # fmt: skip
    return two_bounds(estimator.bounds, "a pooled mean", REMEDY), noise


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
    checked = check_weights(weights)
    alone = records.groups is None and estimator.variance is None
    strategy = strategy_of(estimator.bounds, estimator.mechanism)
    refuse_weights(strategy, alone and not records.on_cluster and not records.irregular)
    check_choices(estimator)
    read = estimator._read(records)
    return weighted_sum(read.plan, read.total, checked)


def weighted_plan(plan: MeanPlan, largest: float) -> MeanPlan:
    """The plan of a weighted mean, whose divisor is private. Raises ParameterError if there is none."""
    replaced = plan.neighbours is Neighbours.REPLACE_ONE
    weighted = replace(plan, size=None, expected_size=plan.n) if replaced else plan
    if not weighted.joins_count or not isinstance(plan.bound, ValueBounds):
        words = "be $none but for the default mean of curves between bounds without a public size"
        remedy = "Give $bounds alone: the total of the weights is private."
        raise ParameterError("weights", words, shown(largest), remedy)
    return replace(weighted, about={**plan.about, "max_weight": length(largest, "max_weight")})


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
    total, rule = summation.empty(), known(plan.on_grid).rule
    shares = weight_shares(weights, len(records), summation.reading.invalid)
    for curves in records.units(plan):
        part = np.where(curves.usable, shares[first : first + curves.usable.size], 0.0)
        counts = np.floor(part * COUNT_SCALE)
        # A product of whole numbers below 2^52, over a power of two: exact.
        weighted = np.trunc(integers(curves.values, rule) * (counts / COUNT_SCALE)[:, None])
        total.add(weighted.astype(np.int64))
        counted += int(counts.sum())
        first += curves.usable.size
    return summation.prepared(total.counted_as(counted, COUNT_SCALE))


# The largest share of the budget that goes to the variance function.
MOST = 0.5


def check_share(share: object) -> Fraction:
    """Read the share of the budget that goes to the variance function."""
    words = f"be None, or a share of the budget above 0 and at most {MOST:g}"
    if real(share, "variance", 0.0, MOST, words) == 0:
        raise ParameterError("variance", words, shown(share))
    return exact(share, "variance")


def both_plans(plan: MeanPlan, share: object) -> tuple[MeanPlan, MeanPlan]:
    """The plans of the mean and of the mean square, from that of a mean with the whole budget.

    Raises
    ------
    ParameterError
        If values have no bounds, functions are on a box, or the number of units is neither public nor
        given.
    """
    part, rest = split(plan.guarantee, check_share(share))
    if not isinstance(plan.bound, ValueBounds) or np.ndim(plan.basis.grid_points) != 1:
        words = "be $none but for curves between bounds on values"
        raise ParameterError("variance", words, shown(share))
    if plan.size is None:
        words = "be given with a private variance function"
        raise ParameterError("public_size", words, "None", "Or give the variance where it is public.")
    about = {**plan.about, "summary": "mean squared distance from the middle of the bounds"}
    about.pop("value", None)
    squares = MeanPlan.of(
        plan.basis, ValueBounds(0.0, 1.0), part, plan.neighbours, "auto", plan.size, plan.unit, about,
        reading=plan.reading,
    )  # fmt: skip
    return replace(plan, guarantee=rest), squares


def squares_of(curves: Curves, plan: MeanPlan) -> Curves:
    """Squared distances from the middle of the bounds, in half-widths; 0 for what is not usable.

    What is not usable counts as the middle in the mean, so its distance is nothing.
    """
    grid, bound = flat_grid(plan.basis), cast("ValueBounds", plan.bound)
    half = (np.asarray(bound.upper, dtype=float) - bound.lower) / 2
    scaled = bound.restrict(curves.values, grid) / half
    values = np.where(curves.usable[:, None], np.clip(scaled * scaled, 0.0, 1.0), 0.0)
    return Curves(values, np.ones(curves.usable.size, dtype=bool))


def prepare_both(estimator: InBlocks, records: Container) -> tuple[tuple[MeanPlan, MeanPlan], Readable]:
    """The plans of both, and the records. These are private."""
    check_choices(estimator)
    check_share(estimator.variance)
    settings = estimator.settings
    if records.on_cluster or is_pooled(settings, records) or settings.reading.standardize:
        words = "be $none but for curves between bounds, on a grid and in memory"
        raise ParameterError("variance", words, shown(estimator.variance))
    read = estimator._read(records)
    return both_plans(read.plan, estimator.variance), read.total


def publish_both(
    plans: tuple[MeanPlan, MeanPlan], records: Readable, paying: Paying = NAMED
) -> MeanAndVariance:
    """Check both plans, charge once, draw both."""
    mean, squares = plans
    # The last stage is that of the function itself.
    stages = {VARIANCE: squares, MEAN: mean}
    summation = Summation.of(squares)
    total = summation.empty()
    for curves in records.units(mean):
        summation.add_curves(total, squares_of(curves, mean))
    totals = {VARIANCE: summation.finish(total, squares), MEAN: records.total(mean)}
    costs = {name: next(iter(plan.costs().values())) for name, plan in stages.items()}
    charged = Certificate.charged(costs, mean.neighbours, mean.unit, mean.bounded, mean.tuning)
    entry = mean.entry() | {"summary": "mean curve and variance"}
    names = {name: [name] for name in stages}
    means, paid = publish_together(totals, stages, names, charged, entry, paying)
    first = means[MEAN]
    paid = paid.fulfilled(paid.achieved, first.certificate.mechanism, first.certificate.bound)
    release: MeanAndVariance = first._as(MeanAndVariance, certificate=paid, squares=means[VARIANCE])
    return release
