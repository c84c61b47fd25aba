"""`dpfda ledger`: a data set's budget in one file, created, shown and exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dpfda.front.command import options as o
from dpfda.front.command.declared import REQUIRED, Given, Group, Option, Verb
from dpfda.front.command.running import print_json
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.privacy.guarantees import Guarantee
    from dpfda.privacy.ledger import AnyLedger

FILE = Option("file", "", "LEDGER", "The ledger's file.", type=Path, default=REQUIRED)
DATASET = Option(
    "dataset", "--dataset", "NAME", "Name of the data set, public. Example: scans-2026", default=REQUIRED
)
ONE = Option("dataset", "--dataset", "NAME", "This data set alone; by default all.", default=None)
BUDGET = (
    Option("epsilon", "--epsilon", "E", "All the epsilon, spent and to be spent.", default=None),
    Option("delta", "--delta", "D", "All the delta; 0 is a budget for pure releases.", default="0"),
    Option(
        "rho", "--rho", "R",
        "Instead of epsilon: a budget in zero-concentrated terms, in which many Gaussian releases are "
        "cheap.",
        default=None,
    ),
)  # fmt: skip


def create(given: Given) -> None:
    """Give a data set its budget. The file is made if it does not exist."""
    from dpfda.privacy.ledger import Ledger

    made = Ledger(given.file).create(
        given.dataset, _budget(given.epsilon, given.delta, given.rho), given.neighbours, given.unit
    )
    _tell(made, given.dataset, given.as_json)


def show(given: Given) -> None:
    """Show budgets, what is spent and what is left, and the releases charged."""
    from dpfda.privacy.ledger import Ledger

    _tell(Ledger(given.file), given.dataset, given.as_json, listed=True)


def enlarge(given: Given) -> None:
    """Enlarge a budget: name the new one, for everything spent and to be spent, of the same kind."""
    from dpfda.privacy.ledger import Ledger

    account = Ledger(given.file)
    budget = _budget(given.epsilon, given.delta, given.rho)
    account.raise_budget(given.dataset, budget, given.reason)
    _tell(account, given.dataset, given.as_json)


def recover(given: Given) -> None:
    """Put a release that was charged, but could not be written where it was wanted, in its place."""
    from dpfda.front.command.keeping import recovered
    from dpfda.privacy.ledger import Ledger

    found = recovered(Ledger(given.file), given.row, given.out, given.overwrite)
    typer.echo(
        f"{given.out}: the release of row {given.row}, which was kept in {found}. Nothing was charged."
    )


def export(given: Given) -> None:
    """Print the whole history: what was released, when, with which parameters, into which file."""
    from dpfda.privacy.ledger import Ledger

    typer.echo(Ledger(given.file).export(given.form, given.dataset), nl=False)


def _budget(epsilon: str | None, delta: str, rho: str | None) -> Guarantee:
    from dpfda.numerics.rationals import exact
    from dpfda.privacy.guarantees import ZeroConcentratedDP, guarantee_for

    if (epsilon is None) == (rho is None):
        raise ParameterError("The budget", "be given by --epsilon or by --rho", "both or neither")
    if rho is not None:
        return ZeroConcentratedDP(exact(rho, "--rho"))
    return guarantee_for(epsilon, delta)


def _tell(account: AnyLedger, dataset: str | None, as_json: bool, listed: bool = False) -> None:
    from dpfda.privacy.ledger.history import table

    names = account.datasets() if dataset is None else [dataset]
    charged = {name: account.releases(name) if listed else [] for name in names}
    if as_json:
        print_json({name: _state(account, name, charged[name] if listed else None) for name in names})
        return
    for name in names:
        typer.echo(account.show(name))
        if charged[name]:
            typer.echo(table(charged[name]))


def _state(account: AnyLedger, name: str, charged: object) -> dict[str, object]:
    """Budget, what is spent and what is left, as JSON types."""
    known: dict[str, object] = {
        "budget": str(account.budget(name)),
        "spent": account.spent(name).written(),
        "remaining": account.remaining(name).written(),
    }
    return known if charged is None else {**known, "releases": charged}


VERB = Group(
    "ledger",
    "Keep the privacy budgets of data sets in one file. A release with --ledger and --dataset is "
    "charged before its noise is drawn, and refused if the budget does not allow it.",
    (
        Verb(
            "create",
            create,
            (
                FILE, DATASET, *BUDGET,
                Option(
                    "neighbours", "--neighbours", "replace-one|add-remove",
                    "Hide any one unit's data, the number of units being public (replace-one), or also "
                    "whether it is there at all, their number being private (add-remove).",
                    default="replace-one",
                ),
                Option(
                    "unit", "--unit", "NAME",
                    "Who is protected, as the releases will say it: record, or the column of --groups.",
                    default="record",
                ),
                o.AS_JSON,
            ),
            ("dpfda ledger create budget.db --dataset scans-2026 --epsilon 3 --unit ID",),
        ),
        Verb("show", show, (FILE, ONE, o.AS_JSON), ("dpfda ledger show budget.db",)),
        Verb(
            "raise",
            enlarge,
            (
                FILE, DATASET,
                Option("reason", "--reason", "TEXT", "Why; it is kept in the history.",
                       default=REQUIRED),
                *BUDGET, o.AS_JSON,
            ),
            ("dpfda ledger raise budget.db --dataset scans-2026 --epsilon 4 --reason 'a second study'",),
        ),
        Verb(
            "recover",
            recover,
            (
                FILE,
                Option("row", "", "ROW", "The charge, as dpfda ledger show says.", type=int,
                       default=REQUIRED),
                Option("out", "", "F.json", "Where the release is wanted.", type=Path, default=REQUIRED),
                o.OVERWRITE,
            ),
            ("dpfda ledger recover budget.db 2 fa.json",),
        ),
        Verb(
            "export",
            export,
            (FILE, ONE,
             Option("form", "--format", "jsonl|csv", "JSON lines or a table.", default="jsonl")),
            ("dpfda ledger export budget.db --format csv",),
        ),
    ),
    (
        "dpfda ledger create budget.db --dataset scans-2026 --epsilon 3 --unit ID",
        "dpfda mean scans.csv --epsilon 1 --bounds 0 1 --groups ID --ledger budget.db "
        "--dataset scans-2026 --out fa.json",
        "dpfda ledger show budget.db",
        "DPFDA_LEDGER and DPFDA_DATASET name ledger and data set once, for the command and for Python; "
        "so do the keys ledger and dataset of dpfda.toml, or of [tool.dpfda] in pyproject.toml.",
    ),
    o.PLANNING,
)  # fmt: skip
