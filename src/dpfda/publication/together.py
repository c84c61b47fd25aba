"""Several releases of the same privacy units under one charge: shares of a budget, or one box for all.

*Shares.* Each has noise for its share of the budget; basic composition adds them up.

*One box.* Where each has box noise on what it measures and the budget is pure, all measured integers
together differ between neighbours by a vector d with |d_j| <= w_j, the sides of each sum's own box: a
unit is in all sums at once. Box noise on all D coordinates with the scales w_j / epsilon, rounded up,
has the loss max_j w_j / b_j <= epsilon (Hardt & Talwar 2010; `dpfda.noise.bodies`). A coordinate has
variance w_j^2 (D + 1)(D + 2) / (3 epsilon^2) then. With c shares and M = D / c coordinates each it has
w_j^2 c^2 (M + 1)(M + 2) / (3 epsilon^2), which is more for every c > 1: twice as much for two averages,
1.07 times for twice twenty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any, cast

from dpfda.noise import BoxNoise, BoxPartNoise, NoiseLaw, body_noise, cost_of, parts_of
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
    added,
)
from dpfda.privacy.ledger import AnyLedger
from dpfda.publication.averages import Paid, check, publish
from dpfda.publication.charging import charge, recomputed
from dpfda.publication.means import MeanPlan

# The one stage of releases that share a draw.
ALL = "all together"


def equal_share(guarantee: Guarantee, parts: int) -> Guarantee:
    """What each of so many releases may cost, exactly; they add up to the guarantee.

    Basic composition: epsilon and delta add up, and so do zero-concentrated losses (Bun & Steinke 2016,
    Lemma 2.3).
    """
    share = Fraction(1, parts)
    if isinstance(guarantee, ZeroConcentratedDP):
        return ZeroConcentratedDP(guarantee.rho * share)
    if isinstance(guarantee, PureDP):
        return PureDP(guarantee.epsilon * share)
    return ApproximateDP(guarantee.epsilon * share, guarantee.delta * share)


def publish_together(
    parts: Mapping[str, tuple[IntegerSum, MeanPlan]],
    entry: Mapping[str, object],
    ledger: AnyLedger | None = None,
    dataset: str | None = None,
) -> tuple[dict[str, Any], Certificate]:
    """Release several sums over the same privacy units; the ledger is charged once, before any noise.

    Parameters
    ----------
    parts : mapping from str to (IntegerSum, MeanPlan)
        Private sums and the public sides of their releases, by name.
    entry : mapping
        Public description for the ledger's history.
    ledger, dataset
        As in `publish`.

    Returns
    -------
    dict from str to release, Certificate
        Each carries its own part of the certificate of all.

    Raises
    ------
    BudgetError
        If the ledger refuses; no noise was drawn.
    """
    plans = {name: plan for name, (_, plan) in parts.items()}
    named = {
        name: {f"{name}: {stage}": cost for stage, cost in plan.costs().items()}
        for name, plan in plans.items()
    }
    first = next(iter(plans.values()))
    bound = {"description": entry["bound"]}
    costs = {stage: cost for stages in named.values() for stage, cost in stages.items()}
    whole = Certificate.charged(costs, first.neighbours, first.unit, bound, first.tuning)
    own = {name: whole.part(*stages) for name, stages in named.items()}
    for name, plan in plans.items():
        check(plan, own[name])
    charge(ledger, dataset, whole, entry)
    released = {
        name: publish(total, plan, certificate=own[name]) for name, (total, plan) in parts.items()
    }
    return released, whole.fulfilled(added([each.achieved for each in released.values()]))


def one_box(plans: Mapping[str, MeanPlan], guarantee: Guarantee) -> BoxNoise | None:
    """The noise of one box on all that several plans measure; None where shares are needed.

    Parameters
    ----------
    plans : mapping from str to MeanPlan
        In the order of the coordinates. What they measure was designed for shares of the budget.
    guarantee : Guarantee
        For all together.
    """
    boxes = [plan.answers_with_line and isinstance(_noise(plan), BoxNoise) for plan in plans.values()]
    if len(plans) < 2 or not isinstance(guarantee, PureDP) or not all(boxes):
        return None
    sides = [side for plan in plans.values() for side in _sides(plan)]
    return cast("BoxNoise", body_noise("box", sides, guarantee))


def publish_in_one_box(
    parts: Mapping[str, tuple[IntegerSum, MeanPlan]],
    box: BoxNoise,
    guarantee: Guarantee,
    entry: Mapping[str, object],
    ledger: AnyLedger | None = None,
    dataset: str | None = None,
) -> tuple[dict[str, Any], Certificate]:
    """Release several sums over the same units with one draw of a box's noise, at one charge.

    Parameters
    ----------
    parts : mapping from str to (IntegerSum, MeanPlan)
        As in `publish_together`.
    box : BoxNoise
        Of `one_box`.
    guarantee : Guarantee
        Of all together.
    entry, ledger, dataset
        As in `publish`.

    Returns
    -------
    dict from str to release, Certificate
        Each carries the certificate of all: one draw paid for them.

    Raises
    ------
    DpfdaError
        If the noise gives more than the guarantee; nothing was charged.
    BudgetError
        If the ledger refuses; no noise was drawn.
    """
    plans = {name: plan for name, (_, plan) in parts.items()}
    each = {name: _sides(plan) for name, plan in plans.items()}
    sides = tuple(side for own in each.values() for side in own)
    achieved = recomputed(box, "box", sides, guarantee)
    first, costs = next(iter(plans.values())), {ALL: cost_of(box, achieved, guarantee)}
    bound = {"description": entry["bound"]}
    whole = Certificate.charged(costs, first.neighbours, first.unit, bound, first.tuning)
    laws = dict(zip(plans, parts_of(box, tuple(map(len, each.values()))), strict=True))
    paid = {name: _with_part(plan, laws[name], guarantee, whole) for name, plan in plans.items()}
    charge(ledger, dataset, whole, entry)
    noise, released = iter(box.draw()), {}
    for name, (total, plan) in parts.items():
        sums = plan.measure(total, paid[name].design)
        own = list(islice(noise, laws[name].components))
        released[name] = paid[name].release(sums.with_noise(own))
    return released, whole.fulfilled(achieved)


def _noise(plan: MeanPlan) -> NoiseLaw | None:
    return None if plan.public_design is None else plan.public_design.noise


def _sides(plan: MeanPlan) -> tuple[int, ...]:
    """How far one unit moves each integer that gets noise; it does not depend on the budget."""
    assert plan.public_design is not None and plan.size is not None  # noqa: S101, PT018
    kind, sides = plan.problem(plan.size).differences(plan.public_design)
    assert kind == "box" and not isinstance(sides, int)  # noqa: S101, PT018
    return sides


def _with_part(
    plan: MeanPlan, law: BoxPartNoise, guarantee: Guarantee, certificate: Certificate
) -> Paid:
    """All but the output of one part, whose law is recomputed and must keep the guarantee of all."""
    assert plan.public_design is not None and plan.size is not None  # noqa: S101, PT018
    design, size = replace(plan.public_design, noise=law), plan.size
    spent = replace(plan, guarantee=guarantee)
    return Paid(design, spent.around(size, design, float(size), certificate))
