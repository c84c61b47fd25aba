"""Rows of a history inside one transaction: what a charge asks, makes of an account, and appends."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from dpfda.numerics.errors import BudgetError, ParameterError, UnknownDatasetError
from dpfda.numerics.parameters import shown
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, added, checked_guarantee
from dpfda.privacy.ledger.accounts import (
    SPARE,
    Amount,
    Budget,
    Filter,
    checked_name,
    cost_under,
    first,
    in_kind,
)
from dpfda.privacy.ledger.history import Action, Record


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


def costs_of(given: Guarantee | Cost | Sequence[Cost]) -> tuple[Cost, ...]:
    """The costs of a release, one a stage."""
    if isinstance(given, Sequence):
        if not given or not all(isinstance(cost, Cost) for cost in given):
            raise ParameterError("costs", "be one or more costs", repr(given))
        return tuple(given)
    return (given if isinstance(given, Cost) else Cost(checked_guarantee(given)),)


def asked_by(costs: Sequence[Cost]) -> dict[str, object]:
    """What a release costs in its own terms, and what each of its stages does."""
    whole = added([cost.guarantee for cost in costs])
    written = {"kind": whole.kind, **Amount.of(whole).written()}
    return {**written, "costs": [cost.to_json() for cost in costs]}


def required(entry: Mapping[str, object], key: str) -> object:
    """What an entry must say."""
    if not isinstance(entry, Mapping):
        raise ParameterError("entry", "be a mapping of words to public things", shown(entry))
    if key not in entry:
        remedy = "A charge is meaningless without it."
        raise ParameterError("entry", f"have the key {key!r}", f"{sorted(map(str, entry))}", remedy)
    return entry[key]


def unit_of(entry: Mapping[str, object]) -> str:
    """The privacy unit of a release."""
    return checked_name(required(entry, "privacy_unit"), "privacy_unit")


def plain(entry: Mapping[str, object]) -> dict[str, object]:
    """The entry as JSON types, so that it can be kept and read back."""
    try:
        plain: dict[str, object] = json.loads(json.dumps(dict(entry), default=str, allow_nan=False))
    except (TypeError, ValueError):
        raise ParameterError("entry", "consist of JSON types", "something else") from None
    return plain


class Rows(Protocol):
    """A history inside one transaction."""

    def latest(self, dataset: str) -> Record | None:
        """Last row of a data set, which holds its budget and what is spent."""

    def records(self, dataset: str | None) -> list[Record]:
        """Rows of a data set, or all, in order."""

    def append(self, make: Callable[[int], Record]) -> Record:
        """Append the row that is made for the next number."""


class MemoryRows:
    """Rows in memory, to which others are appended there alone."""

    def __init__(self, records: list[Record]) -> None:
        self._records = records

    def latest(self, dataset: str) -> Record | None:
        return next((r for r in reversed(self._records) if r.dataset == dataset), None)

    def records(self, dataset: str | None) -> list[Record]:
        return [r for r in self._records if dataset in (None, r.dataset)]

    def append(self, make: Callable[[int], Record]) -> Record:
        record = make(len(self._records) + 1)
        self._records.append(record)
        return record


def appended(
    rows: Rows, dataset: str, parts: Sequence[Cost], entry: Mapping[str, object], unit: str | None
) -> Record:
    """The row of a charge, appended if the budget allows it."""
    neighbours = Neighbours.parse(required(entry, "neighbours"))
    details = plain(entry)
    asked = asked_by(parts)
    before = latest_of(rows, dataset)
    # Whoever is first, under the lock, states the unit.
    budget = before.budget.held_to(unit, dataset)
    made = spend(before, parts, neighbours)
    made.amount.written()
    made.spent.written()
    return after(
        rows, before, "charge", budget=budget, spent=made.spent, cost=made.amount, asked=asked,
        details=details, filter=made.filter,
    )  # fmt: skip


def after(rows: Rows, before: Record, action: Action, **told: Any) -> Record:
    """A new row: budget, what is spent and the filter are as before where nothing else is told."""
    own = {"cost": None, "asked": None, "details": None, **told}
    return rows.append(lambda n: replace(before, number=n, time=now(), action=action, **own))


def latest_of(rows: Rows, dataset: str) -> Record:
    """The last row of a data set that has a budget."""
    last = rows.latest(checked_name(dataset, "dataset"))
    if last is None:
        raise UnknownDatasetError(
            f"The data set must have a budget in this ledger; found none for {dataset!r}. "
            "Give it one with $create."
        )
    return last


def now() -> str:
    """UTC, as rows say it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
