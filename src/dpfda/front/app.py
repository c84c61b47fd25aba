"""The list of verbs, found by scan, and what holds for all: version, help, exit codes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from dpfda.command.declared import Declared, Given
from dpfda.command.functions import Group
from dpfda.command.running import EXIT_CODES, epilog, flowing, guarded
from dpfda.front.verbs import scanned
from dpfda.numerics.words import visible

CONTEXT = {"help_option_names": ["--help", "-h"]}


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"dpfda {version('dpfda')}")
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


@contextmanager
def _usage() -> Iterator[None]:
    """Around the reading of what was typed: its errors repeat words, which a terminal must not obey."""
    try:
        yield
    except Exception as error:
        if isinstance(getattr(error, "message", None), str):
            error.message = visible(error.message)  # type: ignore[attr-defined]
        raise


class Verbs(TyperGroup):
    """Verbs whose options are read only when one of them is named: a list of them comes at once."""

    declared: ClassVar[dict[str, Declared]] = {}
    default: ClassVar[str | None] = None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What was typed; the default verb is meant where an option comes first."""
        options = [name for option in self.get_params(ctx) for name in option.opts]
        if self.default is not None and args and args[0][:1] == "-" and args[0] not in options:
            args = [self.default, *args]
        with _usage():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that was named."""
        with _usage():
            return super().invoke(ctx)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """What may follow; also the options of the default verb, which need not be named."""
        found = super().shell_complete(ctx, incomplete)
        if self.default is None or incomplete[:1] != "-":
            return found
        meant = _with_options(self.declared[self.default])
        known = {item.value for item in found}
        more = meant.shell_complete(ctx, incomplete)
        return [*found, *(item for item in more if item.value not in known)]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that is named, with its options."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is None or command.name not in self.declared:
            return name, command, rest
        return name, _with_options(self.declared[command.name]), rest


def _with_options(verb: Declared) -> Any:
    """The command of a verb: the parameters of the function that it calls are the options."""
    options = verb.told()

    def run(**given: object) -> None:
        guarded(verb.run, options)(Given(**given))

    parameters = [option.parameter() for option in options]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    _add(alone, verb, run)
    return typer.main.get_command(alone)


def _nothing() -> None:
    """Stands for a verb in the list of them."""


def _add(home: typer.Typer, verb: Declared, run: Callable[..., None] = _nothing) -> None:
    home.command(
        verb.name,
        help=flowing(verb.help),
        epilog=_examples(verb.examples),
        rich_help_panel=verb.panel,
        context_settings=CONTEXT,
    )(run)


def _group(
    verbs: Sequence[Declared], default: str | None = None, completion: bool = False, **words: Any
) -> typer.Typer:
    listed: dict[str, object] = {"declared": {verb.name: verb for verb in verbs}, "default": default}
    made = typer.Typer(
        cls=type("Verbs", (Verbs,), listed),
        no_args_is_help=True,
        context_settings=CONTEXT,
        add_completion=completion,
        rich_markup_mode="rich",
        # Locals hold private data: no traceback may show them.
        pretty_exceptions_enable=False,
        **words,
    )
    for verb in verbs:
        _add(made, verb)
    return made


def _examples(lines: Sequence[str]) -> str:
    return epilog("Example" if len(lines) == 1 else "Examples", *lines, EXIT_CODES)


def declared_verbs() -> dict[str, Declared]:
    """All verbs by what is typed for them, such as "ledger show"."""
    alone = {verb.name: verb for verb in scanned() if not isinstance(verb, Group)}
    groups = [group for group in scanned() if isinstance(group, Group)]
    return alone | {f"{group.name} {verb.name}": verb for group in groups for verb in group.verbs}


def build() -> typer.Typer:
    """The command with all verbs of all wings and of `dpfda.front.verbs`."""
    found = scanned()
    made = _group(
        [verb for verb in found if not isinstance(verb, Group)],
        name="dpfda",
        completion=True,
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
    )
    made.callback()(_options)
    for group in found:
        if isinstance(group, Group):
            words: dict[str, Any] = {"help": group.help, "epilog": _examples(group.examples)}
            made.add_typer(
                _group(group.verbs, group.default, **words), name=group.name, rich_help_panel=group.panel
            )
    return made


app = build()
