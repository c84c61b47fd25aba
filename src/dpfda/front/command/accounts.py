"""The ledger that a command charges: found, opened, and told which file its release went into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.front.command.running import note
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.privacy.composition import Cost
    from dpfda.privacy.ledger import DatasetLedger, Ledger, Record


class Account:
    """A data set's ledger that remembers the row of its charge: the file is noted on that one."""

    def __init__(self, ledger: Ledger, dataset: str) -> None:
        self.ledger = ledger
        self.dataset = dataset
        self.row: Record | None = None

    def charge(self, dataset: str, costs: Sequence[Cost], entry: Mapping[str, object]) -> Record:
        """Charge, and remember the row."""
        self.row = self.ledger.charge(dataset, costs, entry)
        return self.row

    def payer(self) -> DatasetLedger:
        """What an estimator charges."""
        from dpfda.privacy.ledger import DatasetLedger

        return DatasetLedger(self, self.dataset)

    def note_file(self, file: Path) -> None:
        """Note the file on the row."""
        self.ledger.note_file(self.dataset, file.resolve(), self.row)


def opened_account(file: Path | None, dataset: str | None) -> Account | None:
    """What a release is charged to, given or named once; None where none is named.

    Raises
    ------
    ParameterError
        If only one of file and data set is named.
    LedgerError
        If the file is no ledger or does not know the data set.
    """
    from dpfda.privacy.ledger import Ledger, named_once

    named = named_once()
    typed = named.ledger is None or file not in (None, named.ledger)
    file, dataset = file or named.ledger, dataset or named.dataset
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
    where = "" if typed else f", as {named.where['ledger']} says"
    note(f"The release will be charged to {dataset!r} in {account.path}{where}.")
    return Account(account, dataset)
