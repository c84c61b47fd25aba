"""One data set's account in a ledger: what an estimator is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpfda.privacy.ledger.accounts import checked_name


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

    ledger: Any
    dataset: str

    def __post_init__(self) -> None:
        checked_name(self.dataset, "dataset")

    def remaining(self) -> Any:
        """What is left of the budget."""
        return self.ledger.remaining(self.dataset)
