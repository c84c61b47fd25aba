"""The list of verbs, found by scan, and what holds for all: version, help, exit codes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from dpfda.command.functions import CONTEXT, Group, command_of, examples_below, listed, plainly_read
from dpfda.command.running import EXIT_CODES, epilog
from dpfda.front.verbs import declared_verbs, scanned
from dpfda.numerics.scan import Late
from dpfda.numerics.words import visible

if TYPE_CHECKING:
    from typer._click.core import Command, Context, Parameter
    from typer._click.shell_completion import CompletionItem

    from dpfda.command.functions import Declared

    AnyVerb = Declared | Group

# So many verbs are named.
SHOWN = 3
# What to write for an option that a verb has not: the first of these whose own option it has.
COVARIATE = ("--covariate", "Write --covariate NAME:LO:HI, or NAME:A,B for levels.")
COLUMN = ("--column", "Write --column NAME:LO:HI, which has the bounds.")
AGREED = ("--agreement", "How records are read is agreed: give it to dpfda agree.")
MEANT: Mapping[str, Sequence[tuple[str, str]]] = {
    "--bounds": (COLUMN, COVARIATE),
    "--column": (("--columns", "Write --columns PATTERN for columns of the curve."), COVARIATE),
    "--domain": (COLUMN, ("--score", "Write --score NAME:LO:HI, which has the bounds."), COVARIATE),
    "--feature": (COVARIATE,),
    "--features": (COVARIATE,),
    "--input": (COVARIATE,),
    "--invalid": (AGREED,),
    "--missing": (AGREED,),
    "--out": (("--plot", "Write --plot F.png."),),
}


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpfda {sys.modules['dpfda'].__version__}")
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
    """Around the reading of what was typed: errors name the form to write.

    They repeat words, which a terminal must not obey.
    """
    try:
        yield
    except Exception as error:
        message = getattr(error, "message", None)
        if isinstance(message, str):
            option, words = getattr(error, "param", None), visible(message)
            if option is not None and option.opts[0].startswith("--"):
                options = [option, *getattr(error, "others", ())]
                forms = [f"{param.opts[0]} {param.metavar or ''}".rstrip() for param in options]
                form = f"Write {' '.join(forms)}"
                if form not in words:
                    words = ". ".join(filter(None, (words.rstrip("."), form))) + "."
            # An option that is none of this verb's has others near it; one that lacks its value has not.
            flag = getattr(error, "option_name", None) if hasattr(error, "possibilities") else None
            command = getattr(getattr(error, "ctx", None), "command", None)
            has = {name for param in getattr(command, "params", ()) for name in param.opts}
            meant = next((advice for name, advice in MEANT.get(flag or "", ()) if name in has), None)
            elsewhere = None if meant else _elsewhere(flag)
            if meant:
                error.possibilities = []  # type: ignore[attr-defined]
                if meant not in words:
                    words = f"{words.rstrip('.')}. {meant}"
            if elsewhere and elsewhere not in words:
                # One that differs by more than an s is seldom meant.
                likely = getattr(error, "possibilities", None) or ()
                near = [own for own in likely if flag in (f"{own}s", own[:-1])]
                error.possibilities = near  # type: ignore[attr-defined]
                words = f"{words}. It is an option of {elsewhere}."
            error.message = words  # type: ignore[attr-defined]
        raise


def _elsewhere(flag: str | None) -> str:
    """The verbs that have an option which this one has not."""
    declared = declared_verbs() if flag else {}
    names = [name for name, verb in declared.items() if flag in {x.flag for x in verb.all_options()}]
    shown = ", ".join(f"dpfda {name}" for name in names[:SHOWN])
    return shown + " and others" * (len(names) > SHOWN)


class Verbs(TyperGroup):
    """Verbs that are loaded when one is named, and whose options are read then: a list comes at once."""

    declared: ClassVar[Mapping[str, AnyVerb]] = {}
    default: ClassVar[str | None] = None

    def __init__(self, **words: Any) -> None:
        super().__init__(**words)
        self.commands = Late([*self.declared], lambda name: _listed(self.declared[name]))  # type: ignore[assignment]

    def get_params(self, ctx: Context) -> list[Parameter]:
        """All that can be typed before a verb."""
        return plainly_read(super().get_params(ctx))

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """What was typed; the default verb is meant where an option comes first."""
        options = [name for option in self.get_params(ctx) for name in option.opts]
        if self.default is not None and args and args[0][:1] == "-" and args[0] not in options:
            args = [self.default, *args]
        with _usage():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Context) -> object:
        """Run the verb that was named."""
        with _usage():
            return super().invoke(ctx)

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        """What may follow; also the options of the default verb, which need not be named."""
        items = super().shell_complete(ctx, incomplete)
        default = self.declared.get(self.default or "")
        if default is None or isinstance(default, Group) or incomplete[:1] != "-":
            return items
        meant = command_of(default)
        names = {item.value for item in items}
        more = meant.shell_complete(ctx, incomplete)
        return [*items, *(item for item in more if item.value not in names)]

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """The verb that is named, with its options."""
        name, command, rest = super().resolve_command(ctx, args)
        verb = self.declared.get(name or "")
        full = command if verb is None or isinstance(verb, Group) else command_of(verb)
        return name, full, rest


def _listed(verb: AnyVerb) -> Command:
    """A verb as it stands in the list of them, or a group of verbs."""
    if not isinstance(verb, Group):
        return listed(verb)
    group = _group(
        verb.verbs, verb.default, name=verb.name, rich_help_panel=verb.panel, help=verb.help,
        epilog=examples_below(verb.examples),
    )  # fmt: skip
    group.callback()(lambda: None)
    return typer.main.get_group(group)


def _group(
    declared: Mapping[str, AnyVerb], default: str | None = None, completion: bool = False, **words: Any
) -> typer.Typer:
    return typer.Typer(
        cls=type("Verbs", (Verbs,), {"declared": declared, "default": default}),
        no_args_is_help=True,
        context_settings=CONTEXT,
        add_completion=completion,
        rich_markup_mode="rich",
        # Locals hold private data: no traceback may show them.
        pretty_exceptions_enable=False,
        **words,
    )


def build() -> typer.Typer:
    """The command with all verbs of all wings and of `dpfda.front.verbs`."""
    group = _group(
        scanned(),
        name="dpfda",
        completion=True,
        help="Publish functions of private data under differential privacy: mean curves first.\n\n"
        "What is published is a whole function with noise added, as a JSON file. It can be evaluated, "
        "drawn and mailed as often as anyone likes at no further cost to privacy.",
        epilog=epilog(
            "Start with:  dpfda demo",
            "Then:  dpfda plan --units 500 --epsilon 1 --bounds 0 1",
            "dpfda mean scans.csv --epsilon 1 --bounds 0 1 --out mean.json --plot mean.png",
            "dpfda show mean.json",
            EXIT_CODES,
        ),
    )
    group.callback()(_options)
    return group


app = build()
