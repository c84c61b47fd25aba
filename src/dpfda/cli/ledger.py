"""`dpfda ledger`: a data set's budget in one file, created, shown and exported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dpfda.cli import options as o
from dpfda.cli.running import EXIT_CODES, epilog, guarded, print_json
from dpfda.errors import ParameterError

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
    from dpfda.guarantees import Guarantee, ZeroConcentratedDP, exact, guarantee_for
    from dpfda.ledger import FileLedger

    if (epsilon is None) == (rho is None):
        raise ParameterError("The budget", "be given by --epsilon or by --rho", "both or neither")
    concentrated = rho is not None
    budget: Guarantee = (
        ZeroConcentratedDP(exact(rho, "--rho")) if concentrated else guarantee_for(epsilon, delta)
    )
    made = FileLedger(file).create(dataset, budget, neighbours, unit)
    _tell(made, dataset, as_json)


@ledger.command("show")
@guarded
def show(file: LedgerFile, *, dataset: OneDataset = None, as_json: o.AsJson = False) -> None:
    """Show budgets, what is spent and what is left, and the releases charged."""
    from dpfda.ledger import FileLedger

    _tell(FileLedger(file), dataset, as_json)


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


def _tell(account: Any, dataset: str | None, as_json: bool) -> None:
    if not as_json:
        typer.echo(account.show(dataset))
        return
    names = account.datasets() if dataset is None else [dataset]
    print_json(
        {
            name: {
                "budget": str(account.budget(name)),
                "spent": account.spent(name).written(),
                "remaining": account.remaining(name).written(),
            }
            for name in names
        }
    )
