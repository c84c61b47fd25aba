"""Budgets of data sets: charged before noise is drawn, never over."""

from __future__ import annotations

from typing import Any, Protocol

from dpfda.guarantees import Guarantee


class Ledger(Protocol):
    """What a release asks of a ledger."""

    def charge(self, dataset: str, guarantee: Guarantee, entry: dict[str, Any]) -> None:
        """Charge a release to a data set's budget, durably, or raise and charge nothing.

        Parameters
        ----------
        dataset : str
            Name of the data set.
        guarantee : Guarantee
            What the release costs.
        entry : dict
            Public description for the history.

        Raises
        ------
        BudgetError
            If the budget does not allow it.
        """
