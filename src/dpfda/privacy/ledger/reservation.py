"""What estimators are given of a ledger: one data set's account, or charges made in advance."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol, Self

from dpfda.numerics.errors import BudgetError, LedgerError
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, added
from dpfda.privacy.ledger.accounts import Amount, checked_name
from dpfda.privacy.ledger.history import Record
from dpfda.privacy.ledger.rows import costs_of, required

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
        found = (checked_name(dataset, "dataset"), Neighbours.parse(relation), str(unit))
        wanted = (self.rows[0].dataset, self._neighbours, stated or str(unit))
        if found != wanted:
            raise BudgetError(
                f"A release must be of what was reserved, {_words(wanted)}; found {_words(found)}.",
                dataset,
            )
        asked = Amount.of(promised)
        if asked.kind != self._guarantee.kind or asked.exceeds(Amount.of(self._guarantee)):
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
