"""What a charge makes of a data set's account: sums, or a filter where that takes more releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpfda.numerics.errors import BudgetError
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import ApproximateDP, Neighbours
from dpfda.privacy.ledger.accounts import Amount, Budget, cost_under, in_kind
from dpfda.privacy.ledger.filters import SPARE, Filter, first
from dpfda.privacy.ledger.history import Record


@dataclass(frozen=True)
class Spending:
    """An account after a charge.

    amount: What the charge adds to the total.
    spent: The total.
    filter: How it adds up, where not by sums.
    """

    amount: Amount
    spent: Amount
    filter: Filter | None = None


def spend(before: Record, costs: Sequence[Cost], neighbours: Neighbours) -> Spending:
    """The account after a release, if the budget allows it.

    before: The data set's last row.
    costs: Of the release, one a stage, under its own neighbours.
    neighbours: The release's.
    Raises BudgetError if the budget does not allow it. Raises IncompatibleChargeError if kind or
    neighbours cannot be turned into the budget's.
    """
    budget, dataset = before.budget, before.dataset
    parts = [cost_under(budget, cost, neighbours, dataset) for cost in costs]
    amount = Amount.zero(budget.guarantee.kind)
    for part in parts:
        amount = amount.plus(in_kind(budget, part, dataset))
    if isinstance(budget.guarantee, ApproximateDP):
        # Nothing is spent before the first charge alone; rows of old ledgers add up by sums.
        nothing = before.filter is None and not any(before.spent.values)
        made = first(budget.guarantee, parts, amount) if nothing else None
        # What a filter has begun it finishes: sums beside it would spend delta twice.
        made = made if before.filter is None else before.filter.plus(parts, amount)
        if made is not None:
            return _filtered(before, made, amount, budget.guarantee)
    spent = before.spent.plus(amount)
    if spent.exceeds(budget.amount):
        raise _over(dataset, amount, budget.amount.minus(before.spent), budget)
    return Spending(amount, spent)


def _filtered(before: Record, made: Filter, asked: Amount, whole: ApproximateDP) -> Spending:
    left = before.budget.amount.minus(before.spent)
    if not made.sums(whole) and not made.lengths(whole):
        if made.failures > SPARE * whole.delta:
            # Most of delta is for the filter, which takes in little of what may fail altogether.
            failed = Amount(left.kind, (left["epsilon"], left["delta"] * 0))
            raise _over(before.dataset, asked, failed, before.budget)
        raise _over(before.dataset, asked, left, before.budget)
    if before.filter is None and made.sums(whole):
        # One release alone costs what it states.
        epsilon, delta = made.epsilon, made.delta
    else:
        epsilon, delta = made.spent(whole)
    # What was said to be spent is never taken back.
    spent = Amount(left.kind, (max(epsilon, before.spent["epsilon"]), max(delta, before.spent["delta"])))
    return Spending(spent.minus(before.spent), spent, made)


def _over(dataset: str, asked: Amount, left: Amount, budget: Budget) -> BudgetError:
    return BudgetError(
        f"A release from {dataset!r} must cost at most what is left of its budget, {left}; found "
        f"{asked}. The budget is {budget}. Ask for less, or raise the budget with a reason.",
        dataset,
        asked,
        left,
    )
