"""`dpfda ledger`: a data set's budget in one file, created, shown and exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.command import options as o
from dpfda.command.functions import Group, Verb
from dpfda.command.running import print_json, recovered, say, state, words
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.privacy.guarantees import Guarantee
    from dpfda.privacy.ledger import AnyLedger, Ledger


def create(
    file: Path,
    *,
    dataset: str,
    epsilon: str | None = None,
    delta: str = "0",
    rho: str | None = None,
    neighbours: str = "replace-one",
    unit: str | None = None,
    as_json: bool = False,
) -> None:
    """Give a data set its budget. The file is made if it does not exist.

    Parameters
    ----------
    file : LEDGER
        The ledger's file.
    dataset : NAME
        Name of the data set, public. Example: scans-2026
    epsilon : E
        All the epsilon, spent and to be spent.
    delta : D
        All the delta; 0 is a budget for pure releases.
    rho : R
        Instead of epsilon: a budget in zero-concentrated terms, in which many Gaussian releases are
        cheap.
    neighbours : replace-one|add-remove
        Hide any one unit's data, the number of units being public (replace-one), or also whether it is
        there at all, their number being private (add-remove).
    unit : TEXT
        Who is protected, as the releases will say it: record, or the column of --groups. By default as
        the first release says; all later ones are held to it.

    Examples
    --------
    dpfda ledger create budget.ledger --dataset scans-2026 --epsilon 3 --unit ID
    """
    account = _opened(file).create(dataset, _budget(epsilon, delta, rho), neighbours, unit)
    _tell(account, dataset, as_json)


def show(file: Path, *, dataset: str | None = None, as_json: bool = False) -> None:
    """Show budgets, what is spent and what is left, the releases charged, and who raised what and why.

    Parameters
    ----------
    file : LEDGER
        The ledger's file.
    dataset : NAME
        This data set alone; by default all.

    Examples
    --------
    dpfda ledger show budget.ledger
    """
    _tell(_opened(file), dataset, as_json, listed=True)


def raise_(
    file: Path,
    *,
    dataset: str,
    reason: str,
    who: str | None = None,
    epsilon: str | None = None,
    delta: str = "0",
    rho: str | None = None,
    as_json: bool = False,
) -> None:
    """Enlarge a budget: name the new one, for everything spent and to be spent, of the same kind.

    Parameters
    ----------
    file : LEDGER
        The ledger's file.
    dataset : NAME
        Name of the data set, public. Example: scans-2026
    reason : TEXT
        Why; it is kept in the history.
    who : NAME
        Whose decision it is; it is kept as well.
    epsilon : E
        All the epsilon, spent and to be spent.
    delta : D
        All the delta; 0 is a budget for pure releases.
    rho : R
        Instead of epsilon: a budget in zero-concentrated terms, in which many Gaussian releases are
        cheap.

    Examples
    --------
    dpfda ledger raise budget.ledger --dataset scans-2026 --epsilon 4 --reason 'wave 2'
    """
    account = _opened(file)
    account.raise_budget(dataset, _budget(epsilon, delta, rho), reason, who)
    _tell(account, dataset, as_json)


def recover(file: Path, row: int, out: Path, *, overwrite: bool = False) -> None:
    """Put a release that was charged, but could not be written where it was wanted, in its place.

    Parameters
    ----------
    file : LEDGER
        The ledger's file.
    row : ROW
        The charge, as dpfda ledger show says.
    out : F.json
        Where the release is wanted.

    Examples
    --------
    dpfda ledger recover budget.ledger 2 fa.json
    """
    source = recovered(_opened(file), row, out, overwrite)
    say(f"{out}: the release of row {row}, which was kept in {source}. Nothing was charged.")


def export(file: Path, *, dataset: str | None = None, form: str = "jsonl") -> None:
    """Print the whole history: what was released, when, with which parameters, into which file.

    Parameters
    ----------
    file : LEDGER
        The ledger's file.
    dataset : NAME
        This data set alone; by default all.
    form : --format jsonl|csv
        JSON lines or a table.

    Examples
    --------
    dpfda ledger export budget.ledger --format csv
    """
    say(_opened(file).export(form, dataset), nl=False)


def _opened(file: Path) -> Ledger:
    from dpfda.privacy.ledger import Ledger

    return Ledger(file)


def _budget(epsilon: str | None, delta: str, rho: str | None) -> Guarantee:
    from dpfda.numerics.parameters import exact
    from dpfda.privacy.guarantees import ZeroConcentratedDP, guarantee_for

    if (epsilon is None) == (rho is None):
        count = "neither" if rho is None else "both"
        raise ParameterError("The budget", "be given by --epsilon or by --rho", count)
    if rho is not None:
        return ZeroConcentratedDP(exact(rho, "--rho"))
    return guarantee_for(epsilon, delta)


def _tell(ledger: AnyLedger, dataset: str | None, as_json: bool, listed: bool = False) -> None:
    """Budgets, what is spent and what is left, in words or as JSON; and what was charged, if listed."""
    names = ledger.datasets() if dataset is None else [dataset]
    if as_json:
        print_json({name: state(ledger, name, listed) for name in names})
        return
    for name in names:
        say(words(ledger, name, listed))


VERB = Group(
    "ledger",
    "Keep the privacy budgets of data sets in one file. A release with --ledger and --dataset is "
    "charged before its noise is drawn, and refused if the budget does not allow it.",
    {own.name: own for own in (Verb.of(verb) for verb in (create, show, raise_, recover, export))},
    (
        "dpfda ledger create budget.ledger --dataset scans-2026 --epsilon 3 --unit ID",
        "dpfda mean scans.csv --epsilon 1 --bounds 0 1 --columns 'cca_*' --groups ID "
        "--ledger budget.ledger --dataset scans-2026 --out fa.json",
        "dpfda ledger show budget.ledger",
        "DPFDA_LEDGER and DPFDA_DATASET name ledger and data set once, for the command and for Python; "
        "so do the keys ledger and dataset of dpfda.toml, or of [tool.dpfda] in pyproject.toml.",
    ),
    o.PLANNING,
)
