"""`dpfda ledger`: a data set's budget in one file, created, shown and exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpfda.cli import options as o
from dpfda.cli.running import EXIT_CODES, epilog, guarded, print_json
from dpfda.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.guarantees import Guarantee
    from dpfda.ledger import Ledger

ledger = typer.Typer(
    name="ledger",
    help="Keep the privacy budgets of data sets in one file. A release with --ledger and --dataset is "
    "charged before its noise is drawn, and refused if the budget does not allow it.",
    epilog=epilog(
        "Example",
        "dpfda ledger create budget.db --dataset scans-2026 --epsilon 3 --unit ID",
        "dpfda mean scans.csv --epsilon 1 --bounds 0 1 --groups ID --ledger budget.db "
        "--dataset scans-2026 --out fa.json",
        "dpfda ledger show budget.db",
        "DPFDA_LEDGER and DPFDA_DATASET name ledger and data set once, for the command and for Python.",
        EXIT_CODES,
    ),
    no_args_is_help=True,
)

LedgerFile = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's file.")]
Dataset = Annotated[
    str,
    typer.Option("--dataset", metavar="NAME", help="Name of the data set, public. Example: scans-2026"),
]
OneDataset = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME", help="This data set alone; by default all.")
]


@ledger.command("create")
@guarded
def create(
    file: LedgerFile,
    *,
    dataset: Dataset,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", metavar="E", help="All the epsilon that may ever be spent."),
    ] = None,
    delta: Annotated[
        str, typer.Option("--delta", metavar="D", help="All the delta; 0 is a budget for pure releases.")
    ] = "0",
    rho: Annotated[
        str | None,
        typer.Option(
            "--rho",
            metavar="R",
            help="Instead of epsilon: a budget in zero-concentrated terms, in which many Gaussian "
            "releases are cheap.",
        ),
    ] = None,
    neighbours: o.NeighbourRelation = "replace-one",
    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            metavar="NAME",
            help="Who is protected, as the releases will say it: record, or the column of --groups.",
        ),
    ] = "record",
    as_json: o.AsJson = False,
) -> None:
    """Give a data set its budget. The file is made if it does not exist."""
    from dpfda.ledger import FileLedger

    made = FileLedger(file).create(dataset, _budget(epsilon, delta, rho), neighbours, unit)
    _tell(made, dataset, as_json)


@ledger.command("show")
@guarded
def show(file: LedgerFile, *, dataset: OneDataset = None, as_json: o.AsJson = False) -> None:
    """Show budgets, what is spent and what is left, and the releases charged."""
    from dpfda.ledger import FileLedger

    _tell(FileLedger(file), dataset, as_json, listed=True)


@ledger.command("raise")
@guarded
def enlarge(
    file: LedgerFile,
    *,
    dataset: Dataset,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept in the history.")
    ],
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="E", help="All the epsilon, spent and new.")
    ] = None,
    delta: Annotated[str, typer.Option("--delta", metavar="D", help="All the delta.")] = "0",
    rho: Annotated[str | None, typer.Option("--rho", metavar="R", help="Instead of epsilon.")] = None,
    as_json: o.AsJson = False,
) -> None:
    """Enlarge a budget: name the new one, for everything spent and to be spent, of the same kind."""
    from dpfda.ledger import FileLedger

    account = FileLedger(file)
    account.raise_budget(dataset, _budget(epsilon, delta, rho), reason)
    _tell(account, dataset, as_json)


@ledger.command("recover")
@guarded
def recover(
    file: LedgerFile,
    row: Annotated[int, typer.Argument(metavar="ROW", help="The charge, as dpfda ledger show says.")],
    out: Annotated[Path, typer.Argument(metavar="F.json", help="Where the release is wanted.")],
    *,
    overwrite: o.Overwrite = False,
) -> None:
    """Put a release that was charged, but could not be written where it was wanted, in its place."""
    from dpfda.cli.keeping import recovered
    from dpfda.ledger import FileLedger

    found = recovered(FileLedger(file), row, out, overwrite)
    typer.echo(f"{out}: the release of row {row}, which was kept in {found}. Nothing was charged.")


@ledger.command("export")
@guarded
def export(
    file: LedgerFile,
    *,
    dataset: OneDataset = None,
    form: Annotated[
        str, typer.Option("--format", metavar="jsonl|csv", help="JSON lines or a table.")
    ] = "jsonl",
) -> None:
    """Print the whole history: what was released, when, with which parameters, into which file."""
    from dpfda.ledger import FileLedger

    typer.echo(FileLedger(file).export(form, dataset), nl=False)


def _budget(epsilon: str | None, delta: str, rho: str | None) -> Guarantee:
    from dpfda.guarantees import ZeroConcentratedDP, exact, guarantee_for

    if (epsilon is None) == (rho is None):
        raise ParameterError("The budget", "be given by --epsilon or by --rho", "both or neither")
    if rho is not None:
        return ZeroConcentratedDP(exact(rho, "--rho"))
    return guarantee_for(epsilon, delta)


def _tell(account: Ledger, dataset: str | None, as_json: bool, listed: bool = False) -> None:
    if not as_json:
        for name in account.datasets() if dataset is None else [dataset]:
            typer.echo(account.show(name))
            if listed and (charged := account.releases(name)):
                from dpfda.ledger.history import table

                typer.echo(table(charged))
        return
    names = account.datasets() if dataset is None else [dataset]
    print_json(
        {
            name: {
                "budget": str(account.budget(name)),
                "spent": account.spent(name).written(),
                "remaining": account.remaining(name).written(),
            }
            | ({"releases": account.releases(name)} if listed else {})
            for name in names
        }
    )
