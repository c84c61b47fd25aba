"""Rows of a ledger's history, and their export as text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dpfda.errors import LedgerError
from dpfda.guarantees import KINDS, Guarantee, Neighbours
from dpfda.ledger.accounts import Amount, Budget
from dpfda.ledger.filters import Filter

Action = Literal["create", "charge", "raise", "note"]


@dataclass(frozen=True)
class Record:
    """One row of the history. Rows are appended and never changed.

    Parameters
    ----------
    number : int
        Consecutive over the whole ledger, from 1.
    time : str
        UTC, ISO 8601.
    dataset : str
    action : {"create", "charge", "raise", "note"}
    budget : Budget
        In force after this row.
    spent : Amount
        Charged to the data set in all, after this row.
    cost : Amount or None
        What this row charged, in the budget's kind.
    asked : mapping or None
        What the release costs in its own terms: kind, exact values and what is known of its loss.
    details : mapping
        Parameters of the release; the reason of a raise; or the file and the number of a charge.
    filter : Filter or None
        How charges add up after this row, where not by sums.
    """

    number: int
    time: str
    dataset: str
    action: Action
    budget: Budget
    spent: Amount
    cost: Amount | None = None
    asked: Mapping[str, Any] | None = None
    details: Mapping[str, Any] | None = None
    filter: Filter | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON types; amounts as exact text."""
        return {
            "number": self.number,
            "time": self.time,
            "dataset": self.dataset,
            "action": self.action,
            "kind": self.budget.guarantee.kind,
            "cost": None if self.cost is None else self.cost.written(),
            "spent": self.spent.written(),
            "budget": self.budget.amount.written(),
            "neighbours": str(self.budget.neighbours),
            "unit": self.budget.unit,
            "asked": None if self.asked is None else dict(self.asked),
            "details": dict(self.details or {}),
            "filter": None if self.filter is None else self.filter.to_json(),
        }


def record_from_json(written: Mapping[str, Any]) -> Record:
    """A row from what `Record.to_json` wrote.

    Raises
    ------
    LedgerError
        If it is not one that this library wrote.
    """
    try:
        kind, cost, asked = written["kind"], written["cost"], written["asked"]
        amount = Amount.read(kind, written["budget"])
        guarantee: Guarantee = KINDS[kind](*amount.values)
        return Record(
            number=int(written["number"]),
            time=str(written["time"]),
            dataset=str(written["dataset"]),
            action=written["action"],
            budget=Budget(guarantee, Neighbours.parse(written["neighbours"]), written["unit"]),
            spent=Amount.read(kind, written["spent"]),
            cost=None if cost is None else Amount.read(kind, cost),
            asked=None if asked is None else dict(asked),
            details=dict(written["details"]),
            filter=None if written.get("filter") is None else Filter.from_json(written["filter"]),
        )
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        number = written.get("number")
        raise LedgerError(
            f"Row {number} of the ledger is damaged ({type(error).__name__}). Restore a backup."
        ) from error


def to_json_lines(records: Iterable[Record]) -> str:
    """One JSON object a line."""
    return "".join(json.dumps(record.to_json(), allow_nan=False) + "\n" for record in records)


def to_csv(records: Iterable[Record]) -> str:
    """One row a record, with a header; amounts as 'epsilon=1/10', what was asked and details as JSON."""
    text = io.StringIO()
    names = list(_COLUMNS)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for record in records:
        row = record.to_json()
        for name in ("cost", "spent", "budget"):
            row[name] = " ".join(f"{term}={value}" for term, value in (row[name] or {}).items())
        for name in ("asked", "details", "filter"):
            row[name] = json.dumps(row[name] or {}, allow_nan=False)
        writer.writerow(row)
    return text.getvalue()


_COLUMNS = (
    "number",
    "time",
    "dataset",
    "action",
    "kind",
    "cost",
    "spent",
    "budget",
    "neighbours",
    "unit",
    "asked",
    "details",
    "filter",
)
