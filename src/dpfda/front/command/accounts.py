"""The ledger that a command charges: found, opened, and told which file its release went into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.front.command.declared import Given
from dpfda.front.command.running import note
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.privacy.composition import Cost
    from dpfda.privacy.ledger import Ledger, Record


class Charged:
    """A ledger that remembers the row of its charge, so that the file is noted on that one."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.path = ledger.path
        self.row: Record | None = None

    def charge(self, dataset: str, costs: Sequence[Cost], entry: Mapping[str, object]) -> Record:
        """Charge, and remember the row."""
        self.row = self.ledger.charge(dataset, costs, entry)
        return self.row

    def note_file(self, dataset: str, file: Path) -> None:
        """Note the file on the row."""
        self.ledger.note_file(dataset, file, self.row)


def name_account(given: Given) -> str:
    """Fill in the ledger and the data set that are named once; where the ledger is named, in words."""
    from dpfda.privacy.ledger import named_once

    named = named_once()
    typed = given.ledger is not None and given.ledger != named.ledger
    given.ledger = given.ledger or named.ledger
    given.dataset = given.dataset or named.dataset
    return "" if typed or named.ledger is None else f", as {named.where['ledger']} says"


def opened_ledger(file: Path | None, dataset: str | None, where: str = "") -> Charged | None:
    """The ledger that a release is charged to, with its data set in it; None where none is named.

    Parameters
    ----------
    file, dataset
        As they were given or named once.
    where : str
        What names the file, in words.

    Raises
    ------
    ParameterError
        If only one of file and data set is named.
    LedgerError
        If the file is no ledger or does not know the data set.
    """
    from dpfda.privacy.ledger import Ledger

    if (file is None) != (dataset is None):
        raise ParameterError(
            "--ledger and --dataset",
            "be given together",
            "one of them",
            "A ledger may hold many. DPFDA_LEDGER and DPFDA_DATASET, or a file dpfda.toml, name both "
            "once for all releases.",
        )
    if file is None or dataset is None:
        return None
    account = Ledger(file)
    account.budget(dataset)
    note(f"The release will be charged to {dataset!r} in {account.path}{where}.")
    return Charged(account)
