"""Noise in shares at the crossing: one party's share onto its sum, and the release of all of them.

Each party charges its own ledger before it draws, and whoever joins the sums draws nothing: the total
that it opens has the noise in it.
"""

from __future__ import annotations

from dataclasses import replace

from dpfda.mechanisms import Design
from dpfda.noise.shared import SharedGaussianNoise, SharedLaplaceNoise, shared
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.publication.charging import charge
from dpfda.publication.means import MeanPlan, ReleasedMean, released_mean
from dpfda.publication.paying import Paying

SharedLaw = SharedGaussianNoise | SharedLaplaceNoise


def shared_law(plan: MeanPlan, honest: int) -> SharedLaw:
    """The law of so many shares, which together keep the plan's guarantee.

    Raises ParameterError or RefusedMechanismError if the plan's noise cannot be drawn in shares.
    """
    design, problem = _design(plan), plan.problem(int(plan.size or 0))
    return shared(design.noise, honest, *problem.differences(design), problem.guarantee)


def lost(plan: MeanPlan, law: SharedLaw, shares: int) -> Guarantee:
    """What is lost to whoever can subtract all but so many shares, rounded outward.

    Raises RefusedMechanismError where nothing is proved for so few.
    """
    problem = plan.problem(int(plan.size or 0))
    left = replace(law, drawn=shares)
    return left.achieved(*problem.differences(_design(plan)), problem.guarantee)


def with_share(total: IntegerSum, plan: MeanPlan, law: SharedLaw, paying: Paying) -> IntegerSum:
    """Charge, draw one share and add it to a party's sum: a sum that may be masked.

    Raises BudgetError if the ledger refuses; nothing was drawn.
    """
    made = IntegerSum(law.components)
    charge(paying, _certified(plan), plan.entry())
    # Under add/remove neighbours the number of units is private, and has no noise: nobody opens it.
    public = plan.neighbours is Neighbours.REPLACE_ONE
    return made.add_totals(total.with_noise(law.share()), public and total.count_with_noise(0, 1))


def publish_shared(
    total: IntegerSum, plan: MeanPlan, law: SharedLaw, paying: Paying, size: int | None = None
) -> ReleasedMean:
    """Charge for a total that has the noise of all shares in it, and release it.

    law: With as many shares drawn as are in the total.
    size: The public number of units in it, where that is not the plan's.
    """
    design, certificate = replace(_design(plan), noise=law), _certified(plan)
    size = int(plan.size or 0) if size is None else size
    public = plan.around(size, design, float(size), certificate)
    charge(paying, certificate, plan.entry())
    return released_mean(public, design, total.with_noise([0] * law.components))


def _design(plan: MeanPlan) -> Design:
    design = plan.public_design
    if design is None or design.counts or design.thresholds:
        raise ParameterError(
            "noise", "be drawn by the coordinator where the number of units is private", "'shared'"
        )
    return design


def _certified(plan: MeanPlan) -> Certificate:
    """The guarantee alone: sums of shares are close to the law that composes better, and not it."""
    cost = Cost(plan.guarantee)
    return replace(plan.certified(), guarantee=cost.guarantee, stages=(WHOLE,), costs=(cost,))
