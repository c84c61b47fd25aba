"""A mean and, for a share of the budget, the variance function around it: two sums, one charge.

The second sum is that of ((x - middle) / half-width)^2, entry by entry of each unit's clipped values: a
function of that unit alone, between 0 and 1, and so a mean of curves between bounds like the first. The
release is the composition of both: its guarantee is the sum of theirs (`privacy.guarantees.split`).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import cast

import numpy as np

from dpfda.bases.protocol import flat_grid
from dpfda.bounds import ValueBounds
from dpfda.mean.streams import InBlocks
from dpfda.mean.variance_release import MEAN, VARIANCE, MeanAndVariance
from dpfda.mean.vector.together import publish_together
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import exact, real, shown
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import split
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import MeanPlan
from dpfda.records import Curves
from dpfda.records.frames import Container
from dpfda.spine.choices import check_choices
from dpfda.spine.curves import is_pooled
from dpfda.spine.sums import Readable, Summation

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
    made, whole = publish_together(totals, stages, names, charged, entry, paying)
    first = made[MEAN]
    whole = whole.fulfilled(whole.achieved, first.certificate.mechanism, first.certificate.bound)
    release: MeanAndVariance = first._as(MeanAndVariance, certificate=whole, squares=made[VARIANCE])
    return release
