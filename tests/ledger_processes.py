"""What the processes of the ledger's tests do; light to import, as each process imports it."""

import os
import time

from dpfda.errors import BudgetError, LedgerError
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import Ledger

ENTRY = {"neighbours": "replace-one", "privacy_unit": "record"}


def race(path, gate, results, amount):
    """Charge six times, all processes at once; report the rows accepted and the number refused."""
    ledger = Ledger(path)
    accepted, refused = [], 0
    gate.wait()
    for _ in range(6):
        try:
            accepted.append(ledger.charge("scans", PureDP(amount), ENTRY).number)
        except BudgetError:
            refused += 1
    results.put((accepted, refused))


def race_of_units(path, gate, results, unit, names):
    """Charge each data set once for a unit, all processes at once; report which were accepted."""
    ledger, accepted = Ledger(path), []
    for name in names:
        gate.wait()
        try:
            ledger.charge(name, PureDP(1), {**ENTRY, "privacy_unit": unit})
        except BudgetError:
            continue
        accepted.append(name)
    results.put((unit, accepted))


def charge_until_killed(path, told):
    """Charge for ever; after each charge tell its number through a pipe."""
    ledger = Ledger(path)
    while True:
        try:
            number = ledger.charge("scans", PureDP("0.001"), ENTRY).number
        except BudgetError:
            time.sleep(0.01)
            continue
        os.write(told, f"{number}\n".encode())


def charge_by_any_name(names, told):
    """Charge for ever by whichever name is the ledger's; after each charge tell its number."""
    while True:
        for name in names:
            try:
                number = Ledger(name).charge("scans", PureDP("0.001"), ENTRY).number
            except LedgerError:
                continue
            except BudgetError:
                time.sleep(0.01)
                continue
            os.write(told, f"{number}\n".encode())
