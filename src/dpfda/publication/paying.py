"""What a release is charged to, and how the `ledger` argument says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.ledger import DatasetLedger, Reservation, named_ledger

if TYPE_CHECKING:
    from dpfda.privacy.ledger.reservation import Chargeable


class Paying(NamedTuple):
    """What a release is charged to.

    ledger: By default the one that the environment names, if it does.
    dataset: Name of the data set in it.
    """

    ledger: Chargeable | Reservation | None = None
    dataset: str | None = None


NAMED = Paying()


def read_ledger(ledger: object) -> Paying:
    """Read the `ledger` argument: None, ``ledger.of("name")``, a reservation, or a data set's name.

    Raises
    ------
    ParameterError
        If it is something else, or a name and no ledger is named in the environment.
    """
    if ledger is None:
        return NAMED
    if isinstance(ledger, DatasetLedger):
        return Paying(ledger.ledger, ledger.dataset)
    if isinstance(ledger, Reservation):
        return Paying(ledger, ledger.dataset)
    if isinstance(ledger, str) and ledger:
        if named_ledger(ledger) is None:
            raise ParameterError(
                "ledger",
                "say which ledger has the data set, where the environment names none",
                repr(ledger),
                "Pass Ledger(path).of(name), or set DPFDA_LEDGER.",
            )
        return Paying(None, ledger)
    if callable(getattr(ledger, "charge", None)) and not isinstance(ledger, type):
        words = "name the data set that the ledger charges"
        raise ParameterError("dataset", words, "None", "Pass ledger.of('scans').")
    raise ParameterError(
        "ledger", "be that of a data set, such as Ledger(path).of('scans'), or None", shown(ledger)
    )
