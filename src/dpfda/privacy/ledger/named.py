"""The ledger that is named once, in the environment, so that no release forgets it."""

from __future__ import annotations

import os

from dpfda.errors import ParameterError
from dpfda.privacy.ledger.file import FileLedger

LEDGER, DATASET = "DPFDA_LEDGER", "DPFDA_DATASET"


def from_environment(dataset: str | None = None) -> tuple[FileLedger, str] | None:
    """The file that DPFDA_LEDGER names and the data set; None where it names none.

    Parameters
    ----------
    dataset : str, optional
        Name of the data set; by default the one that DPFDA_DATASET names.

    Raises
    ------
    ParameterError
        If there is a ledger and no data set.
    """
    file = os.environ.get(LEDGER)
    if not file:
        return None
    name = dataset or os.environ.get(DATASET)
    if not name:
        raise ParameterError(
            "dataset",
            f"be named, since {LEDGER} names the ledger {file!r}",
            "none",
            f"Set {DATASET}, or pass the data set's name.",
        )
    return FileLedger(file), name
