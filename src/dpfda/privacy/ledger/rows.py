"""Rows of a history inside one transaction: what a charge asks, makes of an account, and appends."""

from __future__ import annotations

import datetime
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Protocol, Self

from dpfda.numerics.errors import BudgetError, LedgerError, ParameterError, UnknownDatasetError
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
from dpfda.privacy.ledger.history import Action, Record, record_from_json
from dpfda.privacy.ledger.lines import row_text


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
        passed = first(budget.guarantee, parts, amount) if nothing else None
        # What a filter has begun it finishes: sums beside it would spend delta twice.
        passed = passed if before.filter is None else before.filter.plus(parts, amount)
        if passed is not None:
            return _filtered(before, passed, amount, budget.guarantee)
    spent = before.spent.plus(amount)
    if spent.exceeds(budget.amount):
        raise _over(dataset, amount, before.left, budget)
    return Spending(amount, spent)


def _filtered(before: Record, passed: Filter, amount: Amount, budget: ApproximateDP) -> Spending:
    left = before.left
    if not passed.sums(budget) and not passed.lengths(budget):
        if passed.failures > SPARE * budget.delta:
            # Most of delta is for the filter, which takes in little of what may fail altogether.
            failed = Amount(left.kind, (left["epsilon"], left["delta"] * 0))
            raise _over(before.dataset, amount, failed, before.budget)
        raise _over(before.dataset, amount, left, before.budget)
    if before.filter is None and passed.sums(budget):
        # One release alone costs what it states.
        epsilon, delta = passed.epsilon, passed.delta
    else:
        epsilon, delta = passed.spent(budget)
    # Spending that was stated is never taken back.
    spent = Amount(left.kind, (max(epsilon, before.spent["epsilon"]), max(delta, before.spent["delta"])))
    return Spending(spent.minus(before.spent), spent, passed)


def _over(dataset: str, amount: Amount, left: Amount, budget: Budget) -> BudgetError:
    return BudgetError(
        f"A release from {dataset!r} must cost at most what is left of its budget, {left}; found "
        f"{amount}. The budget is {budget}. Ask for less, or raise the budget with a reason.",
        dataset,
        amount,
        left,
    )


def costs_of(costs: Guarantee | Cost | Sequence[Cost]) -> tuple[Cost, ...]:
    """The costs of a release, one a stage."""
    if isinstance(costs, Sequence):
        if not costs or not all(isinstance(cost, Cost) for cost in costs):
            raise ParameterError("costs", "be one or more costs", repr(costs))
        return tuple(costs)
    return (costs if isinstance(costs, Cost) else Cost(checked_guarantee(costs)),)


def asked_by(costs: Sequence[Cost]) -> dict[str, object]:
    """What a release costs in its own terms, and what each of its stages does."""
    total = added([cost.guarantee for cost in costs])
    written = {"kind": total.kind, **Amount.of(total).written()}
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


class Rows:
    """A history inside one transaction: rows as texts, of which those are read that are asked for.

    kept: Texts of the rows so far; those of this transaction are `added`.
    """

    def __init__(self, rows: tuple[bytes, ...]) -> None:
        self.kept = rows
        self.added: list[bytes] = []

    def latest(self, dataset: str) -> Record | None:
        """Last row of a data set, which holds its budget and what is spent."""
        # The text of another row may hold these bytes too, but they rule out most rows.
        part = b'"dataset": ' + json.dumps(dataset).encode("ascii")
        for row in reversed((*self.kept, *self.added)):
            if part in row and (record := _read(row)).dataset == dataset:
                return record
        return None

    def records(self, dataset: str | None) -> list[Record]:
        """Rows of a data set, or all, in order."""
        records = (_read(row) for row in (*self.kept, *self.added))
        return [record for record in records if dataset in (None, record.dataset)]

    def append(self, make: Callable[[int], Record]) -> Record:
        """Append the row that is made for the next number."""
        record = make(len(self.kept) + len(self.added) + 1)
        self.added.append(row_text(record.to_json()))
        return record


def _read(row: bytes) -> Record:
    try:
        return record_from_json(json.loads(row))
    except (ValueError, RecursionError):
        raise LedgerError("A row of the ledger is damaged. Restore a backup.") from None


def appended(
    rows: Rows, dataset: str, parts: Sequence[Cost], entry: Mapping[str, object], unit: str | None
) -> Record:
    """The row of a charge, appended if the budget allows it."""
    neighbours = Neighbours.parse(required(entry, "neighbours"))
    details = plain(entry)
    before = latest_of(rows, dataset)
    # Whoever is first, under the lock, states the unit.
    budget = before.budget.held_to(unit, dataset)
    spending = spend(before, parts, neighbours)
    spending.amount.written()
    spending.spent.written()
    return after(
        rows, before, "charge", budget=budget, spent=spending.spent, cost=spending.amount,
        asked=asked_by(parts), details=details, filter=spending.filter,
    )  # fmt: skip


def after(rows: Rows, before: Record, action: Action, **fields: Any) -> Record:
    """A new row: budget, spending and filter are as before unless stated."""
    own = {"cost": None, "asked": None, "details": None, **fields}
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


Take = Callable[[Record, Sequence[Cost], Mapping[str, object]], None]


class Reservation:
    """Rows that are charged already, for as many releases, each of at most one guarantee.

    `AnyLedger.reserve` makes one. It is given to an estimator in the place of a ledger, and each release
    takes one of its rows, which the ledger notes; what is not taken stays charged, and is left to take
    while the reservation lives. Copies and clones are the same reservation.
    It cannot be pickled, nor used in a forked process: there its rows would be taken twice.

    Attributes
    ----------
    rows : tuple of Record
        The rows, committed.
    """

    def __init__(
        self, rows: tuple[Record, ...], guarantee: Guarantee, neighbours: Neighbours, take: Take
    ) -> None:
        self.rows = rows
        self._take = take
        self._guarantee = guarantee
        self._neighbours = neighbours
        self._taken = 0
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def dataset(self) -> str:
        """The data set from which the releases are reserved."""
        return self.rows[0].dataset

    @property
    def left(self) -> int:
        """How many releases it still holds."""
        return len(self.rows) - self._taken

    def charge(
        self, dataset: str, costs: Guarantee | Cost | Sequence[Cost], entry: Mapping[str, object]
    ) -> Record:
        """Take a row for a release, and note in the ledger that it did.

        Raises
        ------
        BudgetError
            If the release is of another data set, relation or unit, costs more than was reserved for
            one, or none is left.
        LedgerError
            In a forked process, or if the ledger cannot be written; no row is taken then.
        """
        if os.getpid() != self._process:
            raise LedgerError(
                "A reservation must be used in the process that made it; found another process. Run the "
                "search with n_jobs=1, or in threads."
            )
        parts = costs_of(costs)
        promised = added([cost.guarantee for cost in parts])
        stated = self.rows[0].budget.unit
        relation, unit = (required(entry, key) for key in ("neighbours", "privacy_unit"))
        charged = (checked_name(dataset, "dataset"), Neighbours.parse(relation), str(unit))
        wanted = (self.rows[0].dataset, self._neighbours, stated or str(unit))
        if charged != wanted:
            raise BudgetError(
                f"A release must be of what was reserved, {_words(wanted)}; found {_words(charged)}.",
                dataset,
            )
        amount = Amount.of(promised)
        if amount.kind != self._guarantee.kind or amount.exceeds(Amount.of(self._guarantee)):
            raise BudgetError(
                f"A release must cost at most what was reserved for one, {self._guarantee}; "
                f"found {promised}.",
                dataset,
                promised,
                self._guarantee,
            )
        with self._lock:
            if self.left == 0:
                raise BudgetError(
                    f"All {len(self.rows)} releases reserved from {dataset!r} are made; found one more. "
                    "A search fits once a candidate and fold, and once more if it refits.",
                    dataset,
                    promised,
                )
            row = self.rows[self._taken]
            # The ledger refuses a unit that is not that of its first release: then no row is taken.
            self._take(row, parts, entry)
            self._taken += 1
            return row

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise LedgerError(
            "A reservation cannot be pickled: its rows would be taken twice. Run the search with "
            "n_jobs=1, or in threads."
        )

    def __repr__(self) -> str:
        return f"Reservation({self.left} of {len(self.rows)} left, each of at most {self._guarantee})"


def _words(parts: tuple[str, Neighbours, str]) -> str:
    dataset, neighbours, unit = parts
    return f"{dataset!r} for {neighbours} neighbours per {unit}"


class Chargeable(Protocol):
    """What releases are charged to: a ledger, or what stands before one."""

    def charge(self, dataset: str, costs: Sequence[Cost], entry: Mapping[str, object]) -> Record: ...
    def remaining(self, dataset: str) -> Amount: ...


@dataclass(frozen=True)
class DatasetLedger:
    """A ledger and the data set in it that releases are charged to; `Ledger.of` makes one.

    Parameters
    ----------
    ledger : Ledger
    dataset : str
        Name of the data set.

    Examples
    --------
    >>> from dpfda.privacy.guarantees import PureDP
    >>> from dpfda.privacy.ledger import MemoryLedger
    >>> scans = MemoryLedger().create("scans", PureDP(1)).of("scans")
    >>> print(scans.remaining())
    epsilon 1
    """

    ledger: Chargeable
    dataset: str

    def __post_init__(self) -> None:
        checked_name(self.dataset, "dataset")

    def remaining(self) -> Amount:
        """What is left of the budget."""
        return self.ledger.remaining(self.dataset)
