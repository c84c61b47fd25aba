"""The list of verbs, and what holds for all of them: version, help, exit codes."""

from __future__ import annotations

from typing import Annotated

import typer

from dpfda import __version__
from dpfda.cli.classify import classify
from dpfda.cli.compare import compare
from dpfda.cli.compose import compose
from dpfda.cli.covariance import covariance
from dpfda.cli.demo import demo
from dpfda.cli.density import density
from dpfda.cli.evaluate import evaluate
from dpfda.cli.ledger import ledger
from dpfda.cli.mean import mean
from dpfda.cli.plan import plan
from dpfda.cli.regress import regress
from dpfda.cli.running import EXIT_CODES, epilog, flowing
from dpfda.cli.show import show

app = typer.Typer(
    name="dpfda",
    help="Publish functions of private data under differential privacy: mean curves first.\n\n"
    "What is published is a whole function with noise added, as a JSON file. It can be evaluated, "
    "drawn and mailed as often as anyone likes at no further cost to privacy.",
    epilog=epilog(
        "Start with:  dpfda demo",
        "Then:  dpfda plan --curves 500 --epsilon 1 --bounds 0 1",
        "dpfda mean scans.csv --epsilon 1 --bounds 0 1 --out mean.json --plot mean.png",
        "dpfda show mean.json",
        EXIT_CODES,
    ),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    # Locals hold private data: no traceback may show them.
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpfda {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


app.command(
    "mean",
    help=flowing(mean.__doc__),
    epilog=epilog(
        "Examples",
        "dpfda mean scans.csv --epsilon 1 --bounds 0 1 --columns 'cca_*' --groups ID "
        "--missing complete --out fa.json --plot fa.png",
        "dpfda mean demand.csv --epsilon 0.5 --bounds 500 3500 --domain 0 24 "
        "--x-label 'hour of the day' --y-label 'demand (MW)' --out demand.json",
        "dpfda mean visits.csv --epsilon 1 --bounds 40 200 --id patient --time week --value weight "
        "--domain 0 52 --out weight.json",
        EXIT_CODES,
    ),
)(mean)
app.command(
    "regress",
    help=flowing(regress.__doc__),
    epilog=epilog(
        "Example",
        "dpfda regress visits.csv --epsilon 1 --input age:18:90 --target pressure "
        "--target-bounds 60 200 --out pressure.json --plot pressure.png",
        EXIT_CODES,
    ),
)(regress)
app.command(
    "classify",
    help=flowing(classify.__doc__),
    epilog=epilog(
        "Example",
        "dpfda classify scans.csv --epsilon 1 --input 'cca_*:0:1' --target case --classes 0 1 "
        "--groups ID --out case.json",
        EXIT_CODES,
    ),
)(classify)
app.command(
    "density",
    help=flowing(density.__doc__),
    epilog=epilog(
        "Examples",
        "dpfda density people.csv --epsilon 1 --column age:0:105 --out ages.json --plot ages.png",
        "dpfda density visits.csv --epsilon 1 --column lon:-4:4 --column lat:50:54 --groups patient "
        "--out map.json --plot map.png",
        "dpfda density deaths.csv --epsilon 1 --counts deaths --edges 0:105:5 --multiplier 1000 "
        "--unit person --x-label 'age (years)' --out deaths.json --csv deaths-by-age.csv",
        EXIT_CODES,
    ),
)(density)
app.command(
    "covariance",
    help=flowing(covariance.__doc__),
    epilog=epilog(
        "Examples",
        "dpfda covariance demand.csv --epsilon 1 --center mean.json --radius 450 --out cov.json "
        "--plot cov.png --components pca.json",
        "dpfda covariance scans.csv --epsilon 1 --center private --bounds 0.2 0.9 --radius 0.12 "
        "--columns 'cca_*' --groups ID --missing complete --out cov.json",
        EXIT_CODES,
    ),
)(covariance)
app.command(
    "compare",
    help=flowing(compare.__doc__),
    epilog=epilog(
        "Example",
        "dpfda compare scans.csv --by case --groups ID --epsilon 1 --bounds 0.2 0.9 "
        "--columns 'cca_*' --missing complete --out groups.json --difference-plot difference.png",
        EXIT_CODES,
    ),
)(compare)
app.command(
    "eval",
    help=flowing(evaluate.__doc__),
    epilog=epilog("Example", "dpfda eval fa.json --at 0,0.25,0.5 --csv values.csv", EXIT_CODES),
)(evaluate)
app.command(
    "show", help=flowing(show.__doc__), epilog=epilog("Example", "dpfda show fa.json", EXIT_CODES)
)(show)
app.command(
    "compose",
    help=flowing(compose.__doc__),
    epilog=epilog(
        "Examples",
        "dpfda compose mean.json density.json",
        "dpfda compose mean.json density.json groups.json --delta 1e-6 --json",
        EXIT_CODES,
    ),
)(compose)
app.command(
    "plan",
    help=flowing(plan.__doc__),
    epilog=epilog(
        "Examples",
        "dpfda plan --curves 500 --epsilon 1 --bounds 0 1",
        "dpfda plan --curves 142 --epsilon 1 --delta 1e-6 --standardize --plot plan.png",
        EXIT_CODES,
    ),
)(plan)
app.command(
    "demo",
    help=flowing(demo.__doc__),
    epilog=epilog("Example", "dpfda demo --out dpfda-demo", EXIT_CODES),
)(demo)
app.add_typer(ledger)
