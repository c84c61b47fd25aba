"""Several releases of the same privacy units under one charge: their losses add up to one budget."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

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
from dpfda.publication.averages import check, publish
from dpfda.publication.charging import charge
from dpfda.publication.means import MeanPlan


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
