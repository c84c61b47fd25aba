"""Verbs: a function whose parameters are the options, as a command; how it runs, and how it fails."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from shlex import quote
from types import NoneType, UnionType
from typing import TYPE_CHECKING, NoReturn, TextIO, TypeAlias, get_args

import typer
from typer.core import TyperCommand

from dpfda.command.declared import REQUIRED, Given, Option, described
from dpfda.command.options import PARAMETERS, SHARED, told
from dpfda.numerics.errors import DpfdaError, InPython, ParameterError, in_python
from dpfda.numerics.words import visible

if TYPE_CHECKING:
    # Typer's own copy, of which no public module has the names.
    from typer._click.core import Command, Context, Parameter

    from dpfda.command.publishing import Publication


Progress = Callable[[int, int], None]
# Who is told how far a reading is, in the place of a bar on stderr.
WATCHER: ContextVar[Progress | None] = ContextVar("watcher", default=None)

# A file to read is an argument, without a flag; methods of a ledger are verbs.
ARGUMENTS = {
    "path": "FILE", "X": "FILE", "other": "F.json", "levels": "--at", "custodians": "NAME.card",
    "none": "left out", "raise_budget": "dpfda ledger raise", "create": "dpfda ledger create",
    "long": "--id, --time, --value",
}  # fmt: skip
REFUSED = 2
FAILED = 1
EXIT_CODES = (
    "Exit status: 0 done; 2 refused, because an argument or the data cannot be used (nothing is "
    "published); 1 anything else, such as a disk that is full. A release that is written is 0, also "
    "where its picture or table fails: a warning says so."
)


def epilog(*paragraphs: str) -> str:
    """Paragraphs below a help page, safe from being read as markup."""
    return "\n\n".join(paragraph.replace("[", "\\[") for paragraph in paragraphs)


def flowing(text: str | None) -> str:
    """A docstring as paragraphs of one line each, which the help page breaks where it wants."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return epilog(*(" ".join(paragraph.split()) for paragraph in paragraphs))


@contextmanager
def guarded(options: Sequence[Option]) -> Iterator[None]:
    """Around the run of a verb: errors are one line on stderr, without traceback or values of data."""
    try:
        with warnings.catch_warnings():
            # Whether a library warns, and its words, can depend on private values.
            warnings.simplefilter("ignore")
            yield
    except typer.Exit:
        raise
    except DpfdaError as error:
        fail(typed(error, options), REFUSED)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        fail(f"{error.strerror or type(error).__name__}{where}", FAILED)
    except Exception as error:
        if os.environ.get("DPFDA_TRACEBACK"):
            raise
        fail(
            f"unexpected {type(error).__name__}. Its details are not shown, because they could "
            "contain private values; set DPFDA_TRACEBACK=1 to see them.",
            FAILED,
        )


def flags_of(options: Sequence[Option]) -> dict[str, str]:
    """Parameters by what is typed to set them: an option's own first, then others that it sets."""
    others = {name: option.flag for option in options for name in option.sets}
    return ARGUMENTS | others | {option.name: option.flag for option in options if option.flag}


def typed(error: DpfdaError, options: Sequence[Option] = ()) -> str:
    """The message of an error, its parts as they can be typed: what only Python says is left out."""
    flags = flags_of(options)
    repeated = {option.flag for option in options if option.type == list[str]}

    def said(part: str, value: object) -> str:
        if part == "parameter":
            # One of several is called covariates['age'] in Python.
            name, _, own = str(value).partition("['")
            return " ".join(filter(None, (flags[name], own[:-2]))) if name in flags else str(value)
        if part in ("found", "place"):
            return "none" if value == "None" else str(value)
        if part not in flags:
            return "" if isinstance(value, InPython) else in_python(part, value)
        flag = flags[part]
        if value is True or isinstance(value, InPython):
            return flag
        texts = [
            str(each).strip("'") for each in (value if isinstance(value, list | tuple) else [value])
        ]
        words = [quote(text) if text[:1].isalnum() else repr(text) for text in texts]
        between = " or " if isinstance(value, tuple) else f" {flag} " if flag in repeated else " "
        return f"{flag} {between.join(words)}"

    return visible(error.told(said))


def say(text: str, err: bool = False, nl: bool = True, file: TextIO | None = None) -> None:
    """Print words. All that a verb prints goes through here: nothing in it moves a terminal's cursor.

    file: Another stream than the one that stdout is now.
    """
    typer.echo(visible(text, "\n"), file, nl, err)


def fail(message: str, status: int) -> NoReturn:
    """Print an error and leave."""
    _printed(visible(f"error: {message}"), err=True)
    raise typer.Exit(status) from None


def warn(message: str) -> None:
    """Print a warning, which may be about public things only.

    Where stderr is closed or full it is lost: between the charge and the file nothing may fail for it.
    """
    _printed(visible(f"warning: {message}"), err=True)


def note(message: str) -> None:
    """Print what is worth knowing about public things, on stderr; as a warning is."""
    _printed(visible(f"note: {message}"), err=True)


def print_json(answer: Mapping[str, object]) -> None:
    """Print the one object that --json promises."""
    say(_as_json(answer))


def tell(answer: str | Mapping[str, object]) -> None:
    """Print words, or the object that --json promises, about a release that is written.

    A reader who has gone or a full disk behind stdout is no failure then: a script that saw one would
    release again.
    """
    text = answer if isinstance(answer, str) else _as_json(answer)
    if not _printed(text):
        note("the release is written, but what is printed about it could not be printed")


def _as_json(answer: Mapping[str, object]) -> str:
    return json.dumps(answer, indent=1, allow_nan=False)


def _printed(text: str, err: bool = False) -> bool:
    """Print a line; whether it went out."""
    stream = sys.stderr if err else sys.stdout
    try:
        say(text, err)
        if stream is not None:
            stream.flush()
    except (OSError, ValueError):
        _give_up(stream)
        return False
    return True


def _give_up(stream: TextIO | None) -> None:
    """Lead a stream nowhere, so that what is left in its buffer does not fail when Python ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())  # type: ignore[union-attr]
        finally:
            os.close(nowhere)


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """A bar on stderr where a person looks at it; None where stderr is a file or a pipe."""
    watcher = WATCHER.get()
    if watcher is not None:
        yield watcher
        return
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(visible(label), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


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
    told : callable
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
    told: Callable[[], Sequence[Option]]
    run: Callable[[Given], None]
    examples: Sequence[str] = ()
    panel: str | None = None

    @classmethod
    def of(
        cls,
        name: str,
        function: Callable[..., None],
        examples: Sequence[str] = (),
        panel: str | None = None,
    ) -> Verb:
        """A function as a verb: its parameters are arguments and, after a star, options.

        Its docstring is the help page. What that says of a parameter is "name : METAVAR" and the words
        below; beside METAVAR stand the flag, where it is not the name ("--at T"), and a variable that
        sets it, too ("T ($DPFDA_T)"). Of what many verbs have it need say nothing: that is in
        `options.SHARED`.
        """
        written = inspect.getdoc(function) or ""

        def options() -> list[Option]:
            said = described(written)
            parameters = inspect.signature(function, eval_str=True).parameters
            return told([_option(each, *said.get(name, ("", ""))) for name, each in parameters.items()])

        words = written.partition("\n\nParameters\n---")[0]
        return cls(name, words, options, lambda given: function(**vars(given)), examples, panel)


def _option(parameter: inspect.Parameter, written: str, words: str) -> Option:
    """The option that sets a parameter."""
    name, kind = parameter.name, parameter.annotation
    if isinstance(kind, UnionType):
        (kind,) = set(get_args(kind)) - {NoneType}
    sets = PARAMETERS[name].sets if name in PARAMETERS else ()
    known = SHARED.get(name) or Option(name, "--" + name.replace("_", "-"), sets=sets)
    flag, metavar, variable = WRITTEN.fullmatch(written).groups()  # type: ignore[union-attr]
    if words:
        known = replace(known, metavar=metavar, help=words, envvar=variable)
    return replace(
        known,
        flag=flag or known.flag if parameter.kind is parameter.KEYWORD_ONLY else "",
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
    for each in parameters:
        if getattr(each, "is_flag", False):
            each.metavar = ""
        each.process_value = partial(_process, each)  # type: ignore[method-assign]
    return list(parameters)


def _process(parameter: Parameter, context: Context, value: object) -> object:
    """A value as it was typed, in the place of typer's method, which is called where one is missing."""
    if parameter.required and parameter.value_is_missing(value):
        return type(parameter).process_value(parameter, context, value)
    if value is None and (parameter.multiple or parameter.nargs == -1):
        value = ()
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


def _given(options: Sequence[Option], typed: Mapping[str, object]) -> Given:
    """What was typed, read; of options that a state keeps with defaults, and in ``typed`` without.

    Raises ParameterError where it cannot be read.
    """
    read = {option.name: option.read(typed[option.name]) for option in options}
    kept = {option.name: option.otherwise for option in options if option.standing is not REQUIRED}
    own = {name: read[name] for name in kept if read[name] not in (None, ())}
    return Given(**read | kept | own | ({"typed": own} if kept else {}))


class Plain(TyperCommand):
    """A command whose page of help says of a flag no type."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """All that can be typed."""
        return plainly_read(super().get_params(ctx))

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """What was typed; to a shell that asks how an option goes on, what stands before it."""
        if ctx.resilient_parsing and args and args[-1][:1] == "-":
            args = args[:-1]
        for each in self.params if "--dry-run" in args else ():
            # It writes nothing.
            each.required = each.required and each.name != "out"
        try:
            return super().parse_args(ctx, [*args])
        except Exception as error:
            # Of what is missing the first one is named; the others are to be known at once.
            if type(error).__name__ == "MissingParameter":
                found, _, _ = self.make_parser(ctx).parse_args([*args])
                lacking = [each for each in self.params if each.required and each.name not in found]
                error.others = [each for each in lacking if each is not error.param]  # type: ignore[attr-defined]
            raise


def command_of(verb: Declared) -> Command:
    """The command of a verb: the parameters of the function that it calls are the options."""
    options = verb.told()

    def run(**typed: object) -> None:
        with guarded(options):
            verb.run(_given(options, typed))

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
        return _given(verb.told(), command_of(verb).make_context(verb.name, [*typed]).params)


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


def _nothing() -> None:
    """Stands for a verb in the list of them."""


def listed(verb: Declared, run: Callable[..., None] = _nothing) -> Command:
    """A verb as a command."""
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
