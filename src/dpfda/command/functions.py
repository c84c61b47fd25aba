"""Verbs: a function whose parameters are the options, and any verb as a command, typed or called."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, TypeAlias, get_args

import typer
from typer.core import TyperCommand

from dpfda.command.declared import REQUIRED, SECTION, Given, Option, described
from dpfda.command.options import PARAMETERS, SHARED, arranged
from dpfda.command.running import EXIT_CODES, epilog, flowing, guarded, note
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    # Typer's own copy, of which no public module has the names.
    from typer._click.core import Command, Context, Parameter

    from dpfda.command.publishing import Publication

WRITTEN = re.compile(r"(--\S+)? ?(.*?)(?: \(\$(\w+)\))?")
# What a file of a verb holds; its options are asked for when it is run or explained, not when listed.
Declared: TypeAlias = "Verb | Publication"
CONTEXT = {"help_option_names": ["--help", "-h"]}


@dataclass(frozen=True)
class Verb:
    """A verb of the command: one file in `verbs` that holds it as ``VERB``, found by scan.

    Parameters
    ----------
    name : str
        As it is typed.
    help : str
        What it does.
    all_options : callable
        The options as they are shown; asked for when it is run or explained.
    run : callable
        Takes what was given.
    examples : sequence of str
        Lines that can be typed.
    panel : str, optional
        Where the list of verbs has it.
    """

    name: str
    help: str
    all_options: Callable[[], Sequence[Option]]
    run: Callable[[Given], None]
    examples: Sequence[str] = ()
    panel: str | None = None

    @classmethod
    def of(cls, function: Callable[..., None], panel: str | None = None) -> Verb:
        """A function as the verb of its name: its parameters are arguments and, after a star, options.

        Its docstring is the help page, with the examples. What that says of a parameter is "name :
        METAVAR" and the words below; beside METAVAR stand the flag, where it is not the name ("--at T"),
        and a variable that sets it, too ("T ($DPFDA_T)"). Of what many verbs have it need say nothing:
        that is in `options.SHARED`.
        """
        written = inspect.getdoc(function) or ""

        def options() -> list[Option]:
            words = described(written)
            parameters = inspect.signature(function, eval_str=True).parameters
            return arranged([_option(x, *words.get(name, ("", ""))) for name, x in parameters.items()])

        words = SECTION.split(written)[0]
        *_, shown = written.partition("\n\nExamples\n--------\n")
        examples = [" ".join(line.split()) for line in re.split(r"\n(?=\S)", shown) if line]
        name = function.__name__.rstrip("_")
        return cls(name, words, options, lambda args: function(**vars(args)), examples, panel)


def _option(parameter: inspect.Parameter, written: str, words: str) -> Option:
    """The option that sets a parameter."""
    name, kind = parameter.name, parameter.annotation
    if isinstance(kind, UnionType):
        (kind,) = set(get_args(kind)) - {NoneType}
    sets = PARAMETERS[name].sets if name in PARAMETERS else ()
    option = SHARED.get(name) or Option(name, "--" + name.replace("_", "-"), sets=sets)
    flag, metavar, variable = WRITTEN.fullmatch(written).groups()  # type: ignore[union-attr]
    if words:
        option = replace(option, metavar=metavar, help=words, envvar=variable)
    return replace(
        option,
        flag=flag or option.flag if parameter.kind is parameter.KEYWORD_ONLY else "",
        type=kind,
        default=parameter.default,
    )


@dataclass(frozen=True)
class Group:
    """Verbs under one name, such as ``dpfda ledger show``.

    Parameters
    ----------
    name, help, examples, panel
        As of a `Verb`.
    verbs : mapping
        By name; each is made when it is asked for.
    default : str, optional
        Which one is meant where an option comes first.
    """

    name: str
    help: str
    verbs: Mapping[str, Declared]
    examples: Sequence[str] = ()
    panel: str | None = None
    default: str | None = None


def plainly_read(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Parameters of a command, whose values stay what was typed; flags are shown without a type.

    Typer's own reader is a fourth of the time of a small command, and its errors say no value.
    """
    for param in parameters:
        if getattr(param, "is_flag", False):
            param.metavar = ""
        param.process_value = partial(_process, param)  # type: ignore[method-assign]
    return list(parameters)


def _process(parameter: Parameter, context: Context, value: object) -> object:
    """A value as it was typed, in the place of typer's method, which is called where one is missing."""
    if parameter.required and parameter.value_is_missing(value):
        return type(parameter).process_value(parameter, context, value)
    if value is None and (parameter.multiple or parameter.nargs == -1):
        value = ()
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


def _read_args(options: Sequence[Option], typed: Mapping[str, object]) -> Given:
    """What was typed, read; of options that a state keeps with defaults, and in ``typed`` without.

    Raises ParameterError where it cannot be read.
    """
    read = {option.name: option.read(typed[option.name]) for option in options}
    usual = {option.name: option.otherwise for option in options if option.standing is not REQUIRED}
    own = {name: read[name] for name in usual if read[name] not in (None, ())}
    return Given(**read | usual | own | ({"typed": own} if usual else {}))


class Plain(TyperCommand):
    """A command whose page of help says of a flag no type."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """All that can be typed."""
        return plainly_read(super().get_params(ctx))

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """What was typed; to a shell that asks how an option goes on, what stands before it."""
        if ctx.resilient_parsing and args and args[-1][:1] == "-":
            args = args[:-1]
        for param in self.params if "--dry-run" in args else ():
            # It writes nothing.
            param.required = param.required and param.name != "out"
        if not ctx.resilient_parsing:
            self._check_values(ctx, args)
        try:
            return super().parse_args(ctx, [*args])
        except Exception as error:
            # Of what is missing the first one is named; the others are to be known at once.
            if type(error).__name__ == "MissingParameter":
                values, _, _ = self.make_parser(ctx).parse_args([*args])
                lacking = [param for param in self.params if param.required and param.name not in values]
                error.others = [param for param in lacking if param is not error.param]  # type: ignore[attr-defined]
            raise

    def _check_values(self, ctx: Context, args: list[str]) -> None:
        """Refuse an option whose value is the name of another, and a second column of groups."""
        values, _, order = self.make_parser(ctx).parse_args([*args])
        names = {name for param in self.params for name in param.opts if name[:1] == "-"}
        for param in self.params:
            flag, value = param.opts[0], values.get(param.name)
            for part in names & {*(value if isinstance(value, list | tuple) else [value])}:
                ctx.fail(f"Option '{flag}' lacks a value before '{part}'. Write {flag} {param.metavar}.")
            # Other verbs cross groups that are named several times.
            again = order.count(param) > 1 and not getattr(param, "multiple", False)
            if again and param.name in ("epsilon", "delta", "rho"):
                note(f"{flag} is given more than once: the last one counts, {value}")
            if again and param.name == "by":
                ctx.fail("Option '--by' takes one column here, whose labels may be combinations.")


def command_of(verb: Declared) -> Command:
    """The command of a verb: the parameters of the function that it calls are the options."""
    options = verb.all_options()

    def run(**typed: object) -> None:
        with guarded(options):
            verb.run(_read_args(options, typed))

    parameters = [option.parameter() for option in options]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return listed(verb, run)


def called(verb: Declared, typed: Sequence[str]) -> int:
    """Run a verb as if it were typed; its exit status.

    Raises ParameterError where what is typed has not the form of its options.
    """
    with _readable():
        return command_of(verb)([*typed], standalone_mode=False) or 0


def read_options(verb: Declared, typed: Sequence[str]) -> Given:
    """What would be given to a verb, which is not run. Raises ParameterError if it cannot be read."""
    with _readable():
        return _read_args(verb.all_options(), command_of(verb).make_context(verb.name, [*typed]).params)


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # Of typer, whose errors have no base that all of its versions share.
        words = getattr(error, "format_message", None)
        if words is None:
            raise
        option = getattr(error, "param", None)
        name = option.opts[0] if option is not None else "An option"
        if type(error).__name__ == "MissingParameter":
            raise ParameterError(name, "be given", "none") from None
        remedy = (getattr(error, "message", "") or words()).rstrip(".")
        remedy += "." if option is None else f". Write {name} {option.metavar}."
        raise ParameterError(name, "be readable", "other text", remedy) from None


def listed(verb: Declared, run: Callable[..., None] = lambda: None) -> Command:
    """A verb as a command; in the list of verbs it does nothing."""
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
    alone.command(
        verb.name,
        cls=Plain,
        help=flowing(verb.help),
        epilog=examples_below(verb.examples),
        rich_help_panel=verb.panel,
        context_settings=CONTEXT,
    )(run)
    return typer.main.get_command(alone)


def examples_below(lines: Sequence[str]) -> str:
    """Lines that can be typed, below a help page."""
    return epilog("Example" if len(lines) == 1 else "Examples", *lines, EXIT_CODES)
