"""The list of verbs, found by scan, and what holds for all: version, help, exit codes."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Annotated, Any

import typer

from dpfda import __version__
from dpfda.cli import verbs
from dpfda.cli.declared import Given, Group, Verb
from dpfda.cli.running import EXIT_CODES, epilog, flowing, guarded

CONTEXT = {"help_option_names": ["--help", "-h"]}


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpfda {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


def _command(verb: Verb) -> Callable[..., None]:
    """The function that reads a command line, whose parameters are the options of a verb."""
    options = verb.told()

    @functools.wraps(verb.run)
    def run(**given: Any) -> None:
        guarded(verb.run, options)(Given(**given))

    parameters = [option.parameter() for option in options]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _examples(lines: Any) -> str:
    return epilog("Example" if len(lines) == 1 else "Examples", *lines, EXIT_CODES)


def _add(home: typer.Typer, verb: Verb) -> None:
    home.command(
        verb.name,
        help=flowing(verb.help),
        epilog=_examples(verb.examples),
        rich_help_panel=verb.panel,
        context_settings=CONTEXT,
    )(_command(verb))


def build() -> typer.Typer:
    """The command with all verbs in `dpfda.cli.verbs`."""
    made = typer.Typer(
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
        context_settings=CONTEXT,
        # Locals hold private data: no traceback may show them.
        pretty_exceptions_enable=False,
    )
    made.callback()(_options)
    for found in sorted(pkgutil.iter_modules(verbs.__path__), key=lambda module: module.name):
        declared = importlib.import_module(f"{verbs.__name__}.{found.name}").VERB
        if not isinstance(declared, Group):
            _add(made, declared)
            continue
        group = typer.Typer(
            help=declared.words,
            epilog=_examples(declared.examples),
            no_args_is_help=True,
            context_settings=CONTEXT,
        )
        for verb in declared.verbs:
            _add(group, verb)
        made.add_typer(group, name=declared.name, rich_help_panel=declared.panel)
    return made


app = build()
