"""Rows of a history inside one transaction, and the row that a charge appends."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from dpfda.numerics.errors import UnknownDatasetError
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.ledger.accounts import checked_name
from dpfda.privacy.ledger.entries import asked_by, plain, required
from dpfda.privacy.ledger.history import Action, Record
from dpfda.privacy.ledger.spending import spend


class Rows(Protocol):
    """A history inside one transaction."""

    def latest(self, dataset: str) -> Record | None:
        """Last row of a data set, which holds its budget and what is spent."""

    def records(self, dataset: str | None) -> list[Record]:
        """Rows of a data set, or all, in order."""

    def append(self, make: Callable[[int], Record]) -> Record:
        """Append the row that is made for the next number."""


@dataclass
class Foreseen:
    """A history to which rows are appended in memory alone: what would be, if the charges were made."""

    rows: Rows
    made: dict[str, Record] = field(default_factory=dict)

    def latest(self, dataset: str) -> Record | None:
        return self.made.get(dataset) or self.rows.latest(dataset)

    def records(self, dataset: str | None) -> list[Record]:
        return self.rows.records(dataset)

    def append(self, make: Callable[[int], Record]) -> Record:
        made = make(0)
        self.made[made.dataset] = made
        return made


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
            "Give it one with create(dataset, guarantee, neighbours, unit)."
        )
    return last


def now() -> str:
    """UTC, as rows say it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
