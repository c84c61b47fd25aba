"""A verb as a command: what it declares becomes options that are typed, a help page and a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand

from dpfda.command.declared import Declared, Given
from dpfda.command.running import EXIT_CODES, epilog, flowing, guarded

CONTEXT = {"help_option_names": ["--help", "-h"]}


def without_types(parameters: Sequence[Any]) -> list[Any]:
    """Parameters of a command, of which flags are shown without a type."""
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return list(parameters)


class Plain(TyperCommand):
    """A command whose page of help says of a flag no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All that can be typed."""
        return without_types(super().get_params(ctx))


def command_of(verb: Declared) -> Any:
    """The command of a verb: the parameters of the function that it calls are the options."""
    options = verb.told()

    def run(**given: object) -> None:
        guarded(verb.run, options)(Given(**given))

    parameters = [option.parameter() for option in options]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    add_command(alone, verb, run)
    return typer.main.get_command(alone)


def _nothing() -> None:
    """Stands for a verb in the list of them."""


def add_command(home: typer.Typer, verb: Declared, run: Callable[..., None] = _nothing) -> None:
    """Add a verb to a list of commands."""
    home.command(
        verb.name,
        cls=Plain,
        help=flowing(verb.help),
        epilog=examples_below(verb.examples),
        rich_help_panel=verb.panel,
        context_settings=CONTEXT,
    )(run)


def examples_below(lines: Sequence[str]) -> str:
    """Lines that can be typed, below a help page."""
    return epilog("Example" if len(lines) == 1 else "Examples", *lines, EXIT_CODES)
