"""How a verb runs: errors become one line and an exit status, and nothing private is printed."""

from __future__ import annotations

import inspect
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from shlex import quote
from typing import TYPE_CHECKING, NoReturn, TextIO

import typer

from dpfda.numerics.errors import DpfdaError, InPython, in_python
from dpfda.numerics.words import visible

if TYPE_CHECKING:
    from dpfda.command.declared import Option

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
        if part == "dates" and options and part not in flags:
            return "numbers, such as days since a start"
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
