"""One data set's account in a ledger: what an estimator is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dpfda.privacy.composition import Cost
from dpfda.privacy.ledger.accounts import Amount, checked_name
from dpfda.privacy.ledger.history import Record


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
