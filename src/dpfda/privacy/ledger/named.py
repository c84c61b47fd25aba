"""What a release is charged to: as its `ledger` argument says, or as was named once for all releases."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import path, shown
from dpfda.privacy.ledger.accounts import checked_name
from dpfda.privacy.ledger.file import Ledger
from dpfda.privacy.ledger.rows import Chargeable, DatasetLedger, Reservation

LEDGER, DATASET = "DPFDA_LEDGER", "DPFDA_DATASET"
# In each folder from the working directory upwards: a file of its own, or a table in the project's.
OWN_FILE, PROJECT_FILE, TABLE = "dpfda.toml", "pyproject.toml", "tool.dpfda"
KEYS = ("ledger", "dataset")


@dataclass(frozen=True)
class Named:
    """What is named once.

    Parameters
    ----------
    ledger : Path or None
        The ledger's file.
    dataset : str or None
        The data set.
    where : mapping
        What names each of the two, in words, by "ledger" and "dataset".
    """

    ledger: Path | None
    dataset: str | None
    where: Mapping[str, str]


def named_once() -> Named:
    """What the environment names and, for what it does not, the project's file.

    Raises
    ------
    ParameterError
        If the project's file cannot be read or says something else.
    """
    named, where = _of_project()
    for key, variable in zip(KEYS, (LEDGER, DATASET), strict=True):
        if os.environ.get(variable):
            named[key], where[key] = os.environ[variable], variable
    ledger = named.get("ledger")
    return Named(None if ledger is None else path(ledger, "ledger"), named.get("dataset"), where)


def named_ledger(dataset: str | None = None) -> tuple[Ledger, str] | None:
    """The ledger that is named once, and the data set; None where none is named.

    Parameters
    ----------
    dataset : str, optional
        Name of the data set; by default the one that is named once.

    Raises
    ------
    ParameterError
        If a ledger is named and no data set, or a data set and no ledger; or the file that names them
        is unusable.
    """
    named = named_once()
    if named.ledger is None:
        if named.dataset is not None:
            words = f"be named, since {named.where['dataset']} names the data set {named.dataset!r}"
            raise ParameterError("ledger", words, "none", f"Set {LEDGER}, or pass the ledger.")
        return None
    name = dataset or named.dataset
    if not name:
        words = f"be named, since {named.where['ledger']} names the ledger {str(named.ledger)!r}"
        raise ParameterError("dataset", words, "none", f"Set {DATASET}, or pass the data set's name.")
    return Ledger(named.ledger), name


def _of_project() -> tuple[dict[str, str], dict[str, str]]:
    """What the nearest project file names, and where."""
    try:
        start = Path.cwd()
    except OSError:
        # The working directory was removed: it has no file, and nothing above it is known.
        return {}, {}
    for folder in (start, *start.parents):
        for file in (folder / OWN_FILE, folder / PROJECT_FILE):
            table = _table(file)
            if table is not None:
                named = _checked(table, file)
                return named, dict.fromkeys(named, str(file))
    return {}, {}


def _table(file: Path) -> object:
    """The table about ledgers in a file; None where there is no file or no table."""
    try:
        content = _content(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # It may name the ledger that must be charged.
        raise ParameterError(str(file), "be a file that can be read", error.strerror) from None
    except (ValueError, RecursionError):
        raise ParameterError(str(file), "be a TOML file", "something else") from None
    if file.name == OWN_FILE:
        return content
    tools = content.get("tool")
    return tools.get("dpfda") if isinstance(tools, dict) else None


@lru_cache(8)
def _content(written: bytes) -> dict[str, object]:
    # Projects' files are long: to read one anew takes longer than a small release.
    import tomllib

    return tomllib.loads(written.decode("utf-8"))


def _checked(table: object, file: Path) -> dict[str, str]:
    place = str(file) if file.name == OWN_FILE else f"[{TABLE}] in {file}"
    if not isinstance(table, dict) or not set(table) <= set(KEYS):
        others = sorted(set(table) - set(KEYS)) if isinstance(table, dict) else ()
        keys = ", ".join(map(repr, others)) or shown(table)
        raise ParameterError(place, "have the keys 'ledger' and 'dataset' alone", keys)
    named = {key: checked_name(value, f"{key} in {place}") for key, value in table.items()}
    if "ledger" in named:
        # As the file sees it, whatever the working directory.
        named["ledger"] = str(file.parent / os.path.expanduser(named["ledger"]))
    return named


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
            words = "say which ledger has the data set, where the environment names none"
            remedy = "Pass Ledger(path).of(name), or set DPFDA_LEDGER."
            raise ParameterError("ledger", words, repr(ledger), remedy)
        return Paying(None, ledger)
    if callable(getattr(ledger, "charge", None)) and not isinstance(ledger, type):
        words = "name the data set that the ledger charges"
        raise ParameterError("dataset", words, "None", "Pass ledger.of('scans').")
    raise ParameterError(
        "ledger", "be that of a data set, such as Ledger(path).of('scans'), or None", shown(ledger)
    )
