"""Rows of a ledger's history, and their export as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypedDict, cast

from dpfda.numerics.encoding import integer, mapping, sequence, text
from dpfda.numerics.errors import LedgerError
from dpfda.numerics.parameters import rational
from dpfda.numerics.words import csv_text, legible
from dpfda.privacy.caveats import caveats_from_json
from dpfda.privacy.composition import Charge, Cost, loss_from_json
from dpfda.privacy.guarantees import KINDS, ApproximateDP, Guarantee, Neighbours
from dpfda.privacy.ledger.accounts import Amount, Budget, Filter

NOT_WRITTEN = "none noted: charged, perhaps not written"

Action = Literal["create", "charge", "raise", "note", "take"]


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
    action : {"create", "charge", "raise", "note", "take"}
        "take" is by a release that was charged in advance.
    budget : Budget
        In force after this row.
    spent : Amount
        Charged to the data set in all, after this row.
    cost : Amount or None
        What this row charged, in the budget's kind.
    asked : mapping or None
        What the release costs in its own terms: kind, exact values and what is known of its loss.
    details : mapping
        Parameters of the release; the reason of a raise; or the file and the number of a charge. Of a
        release charged in advance, its parameters and the number of the charge.
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
    asked: Mapping[str, object] | None = None
    details: Mapping[str, object] | None = None
    filter: Filter | None = None

    @property
    def left(self) -> Amount:
        """What is left of the budget after this row."""
        return self.budget.amount.minus(self.spent)

    def to_json(self) -> dict[str, object]:
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


def record_from_json(written: Mapping[str, object]) -> Record:
    """A row from what `Record.to_json` wrote.

    Raises LedgerError if it is not one that this library wrote.
    """
    try:
        written = legible(dict(written))
        kind, cost, terms = text(written["kind"]), written["cost"], written["asked"]
        passed, unit = written.get("filter"), None if written["unit"] is None else text(written["unit"])
        amount = Amount.read(kind, mapping(written["budget"]))
        guarantee: Guarantee = KINDS[kind](*amount.values)
        return Record(
            number=integer(written["number"]),
            time=str(written["time"]),
            dataset=str(written["dataset"]),
            action=cast("Action", written["action"]),
            budget=Budget(guarantee, Neighbours.parse(written["neighbours"]), unit),
            spent=Amount.read(kind, mapping(written["spent"])),
            cost=None if cost is None else Amount.read(kind, mapping(cost)),
            asked=None if terms is None else mapping(terms),
            details=mapping(written["details"]),
            filter=None if passed is None else Filter.from_json(mapping(passed)),
        )
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        number = written.get("number")
        raise LedgerError(
            f"Row {number} of the ledger is damaged ({type(error).__name__}). Restore a backup."
        ) from error


def audit(records: Iterable[Record]) -> None:
    """Add a whole history up again; see `AnyLedger.check`."""
    totals: dict[str, Amount] = {}
    for expected, record in enumerate(records, start=1):
        name = record.dataset
        if record.number != expected:
            raise LedgerError(f"The history must be without gaps; row {expected} is missing.")
        if (record.action == "create") == (name in totals):
            raise LedgerError(f"Row {expected} must follow one creation of {name!r}; it does not.")
        before = totals.get(name, Amount.zero(record.budget.guarantee.kind))
        totals[name] = before if record.cost is None else before.plus(record.cost)
        if totals[name] != record.spent:
            raise LedgerError(
                f"Row {expected} must hold the sum of the charges to {name!r}; it does not."
            )
        if record.spent.exceeds(record.budget.amount) or not _let_through(record):
            raise LedgerError(f"Row {expected} must keep within the budget of {name!r}; it does not.")


def _let_through(record: Record) -> bool:
    """Whether a filter, where there is one, lets through what it says it has."""
    budget = record.budget.guarantee
    if record.filter is None or not isinstance(budget, ApproximateDP):
        return record.filter is None
    return record.filter.sums(budget) or record.filter.lengths(budget)


class Charged(TypedDict):
    """What was charged in one row, in words, and the file that holds the release."""

    number: int
    time: str
    dataset: str
    what: str
    unit: str | None
    cost: str
    file: str | None
    release: str | None


def releases(records: Iterable[Record]) -> list[Charged]:
    """What was charged, oldest first; see `AnyLedger.releases`."""
    history = list(records)
    files = {d["charge"]: str(d["file"]) for r in history if r.action == "note" and (d := r.details)}
    units = {r.dataset: r.budget.unit for r in history}
    listed: list[Charged] = []
    for charged, row in _charged_rows(history):
        details = row.details or {}
        identity = details.get("release")
        listed.append(
            {
                "number": charged.number,
                "time": charged.time,
                "dataset": charged.dataset,
                "what": _what(details),
                "unit": units[charged.dataset],
                "cost": str(charged.cost),
                "file": files.get(charged.number),
                "release": None if identity is None else str(identity),
            }
        )
    return listed


def charges(records: Iterable[Record]) -> list[Charge]:
    """What the charges of one data set cost, to be added up; see `AnyLedger.charges`."""
    charges = []
    for charged, row in _charged_rows(list(records)):
        details = row.details or {}
        # A charge without an identity is identified by its row.
        identity = str(details.get("release") or f"{charged.time} row {charged.number}")
        relation, unit = Neighbours.parse(details["neighbours"]), details["privacy_unit"]
        charges.append(Charge(identity, _costs(row), relation, None if unit is None else str(unit)))
    return charges


def _charged_rows(records: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Each charge, and the row of its release: a later one where it was charged in advance."""
    taken = {r.details["charge"]: r for r in records if r.action == "take" and r.details}
    return [(r, taken.get(r.number, r)) for r in records if r.action == "charge"]


def _costs(record: Record) -> tuple[Cost, ...]:
    """What the release costs in its own terms, as it was asked for."""
    terms = mapping(record.asked)
    written = terms.get("costs")
    if written is None:
        # Before costs were kept by stage.
        return (Cost(_guarantee(terms)),)
    parts = map(mapping, sequence(written))
    return tuple(Cost(_guarantee(mapping(c["guarantee"])), loss_from_json(c["loss"])) for c in parts)


def _guarantee(written: Mapping[str, object]) -> Guarantee:
    kind = text(written["kind"])
    return KINDS[kind](*(rational(written[term]) for term in KINDS[kind].terms))


def _what(details: Mapping[str, object]) -> str:
    """What was released, and what its charge does not cover."""
    missing = ""
    # Entries are the caller's own: what is no list of caveats is none.
    with suppress(LookupError, TypeError, ValueError):
        missing = " and ".join(caveat.subject for caveat in caveats_from_json(details))
    return str(details.get("summary", "a release")) + (f", not covering {missing}" if missing else "")


def rows(listed: Sequence[Charged]) -> list[tuple[str, ...]]:
    """Releases for reading, each with its row of the ledger; first, what the columns are."""
    cells = [
        (
            str(row["number"]),
            row["time"][:19].replace("T", " "),
            row["what"],
            row["unit"] or "not stated",
            row["cost"],
            row["file"] or NOT_WRITTEN,
        )
        for row in listed
    ]
    return [("row", "when (UTC)", "what", "unit", "cost", "file"), *cells]


def table(listed: Sequence[Charged]) -> str:
    """The same as lines."""
    cells = rows(listed)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  " + "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def to_json_lines(records: Iterable[Record]) -> str:
    """One JSON object a line."""
    return "".join(json.dumps(record.to_json(), allow_nan=False) + "\n" for record in records)


def to_csv(records: Iterable[Record]) -> str:
    """One row a record, with a header that says what each column is."""
    rows: list[list[object]] = [[f"{name}: {meaning}" for name, meaning in _COLUMNS.items()]]
    for record in records:
        row = record.to_json()
        for name in ("cost", "spent", "budget"):
            row[name] = " ".join(f"{term}={value}" for term, value in mapping(row[name] or {}).items())
        for name in ("asked", "details", "filter"):
            row[name] = json.dumps(row[name] or {}, allow_nan=False)
        rows.append([row[name] for name in _COLUMNS])
    return csv_text(rows)


_COLUMNS = {
    "number": "row of the ledger",
    "time": "when, UTC",
    "dataset": "data set",
    "action": "what was done",
    "kind": "kind of the guarantee",
    "cost": "what was charged, in exact numbers",
    "spent": "spent since the data set was opened, in exact numbers",
    "budget": "of the data set, in exact numbers",
    "neighbours": "which data sets are hard to tell apart",
    "unit": "who is protected",
    "asked": "what was asked for, as JSON",
    "details": "further public numbers, as JSON",
    "filter": "how costs add up, as JSON",
}
