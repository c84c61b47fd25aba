"""How a verb runs: errors in one line, nothing private printed; the ledger charged, the release kept."""

from __future__ import annotations

import inspect
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TextIO

import typer

from dpfda.numerics.errors import DpfdaError, InPython, LedgerError, ParameterError, in_python
from dpfda.numerics.words import visible

if TYPE_CHECKING:
    from dpfda.command.declared import Option
    from dpfda.privacy.certificates import Certificate
    from dpfda.privacy.composition import Cost
    from dpfda.privacy.guarantees import Guarantee, Neighbours
    from dpfda.privacy.ledger import AnyLedger, Ledger
    from dpfda.releases.base import Release

Progress = Callable[[int, int], None]
# Called with the progress of a reading, in place of a bar on stderr.
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
    except BrokenPipeError:
        # Who reads what is printed has read enough.
        raise typer.Exit(FAILED) from None
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

    def worded(part: str, value: object) -> str:
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
            str(item).strip("'") for item in (value if isinstance(value, list | tuple) else [value])
        ]
        words = [quote(text) if text[:1].isalnum() else repr(text) for text in texts]
        between = " or " if isinstance(value, tuple) else f" {flag} " if flag in repeated else " "
        return f"{flag} {between.join(words)}"

    return visible(error.told(worded))


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


class Account(NamedTuple):
    """A ledger, and the data set in it."""

    ledger: Ledger
    dataset: str

    def row_of(self, release: Release) -> int | None:
        """The row of the charge that paid for a release; None where it cannot be found."""
        rows, identity = self.ledger.releases(self.dataset), release.certificate.identity
        return next((row["number"] for row in rows if row["release"] == identity), None)

    def note_file(self, release: Release, file: Path) -> None:
        """Note on the row of its charge in which file a release is."""
        row = self.row_of(release)
        if row is not None:
            self.ledger.note_file(self.dataset, file.resolve(), row)


def words(ledger: AnyLedger, dataset: str, listed: bool = False) -> str:
    """A data set's budget, what is spent and left; if listed, the charges and who raised it."""
    from dpfda.privacy.ledger.history import table

    charged = ledger.releases(dataset) if listed else []
    raised = [f"  {line}" for line in raises(ledger, dataset)] if listed else []
    return "\n".join([ledger.show(dataset), *([table(charged)] if charged else []), *raised])


def raises(ledger: AnyLedger, dataset: str) -> list[str]:
    """Who enlarged the budget, to what and why, in words."""
    return [
        f"row {row['number']}, {str(row['time'])[:19].replace('T', ' ')} (UTC): raised to "
        f"{row['budget']} by {row['who'] or 'nobody named'}: {row['reason']}"
        for row in _raises(ledger, dataset)
    ]


def state(ledger: AnyLedger, dataset: str, listed: bool = False) -> dict[str, object]:
    """The same as JSON types."""
    return {
        "budget": str(ledger.budget(dataset)),
        "spent": ledger.spent(dataset).written(),
        "remaining": ledger.remaining(dataset).written(),
        **({"releases": ledger.releases(dataset), "raises": _raises(ledger, dataset)} if listed else {}),
    }


def _raises(ledger: AnyLedger, dataset: str) -> list[dict[str, object]]:
    """Who enlarged the budget, to what and why, oldest first."""
    rows = [row for row in ledger.history(dataset) if row.action == "raise"]
    return [
        {"number": row.number, "time": row.time, "budget": str(row.budget.amount),
         **{name: (row.details or {}).get(name) for name in ("who", "reason")}}
        for row in rows
    ]  # fmt: skip


def opened_account(file: Path | None, dataset: str | None, announced: bool = True) -> Account | None:
    """The account that a release is charged to, given or named once; None without one. It is announced.

    Raises
    ------
    ParameterError
        If only one of file and data set is named.
    LedgerError
        If the file is no ledger or does not know the data set.
    """
    from dpfda.privacy.ledger import Ledger, named_once

    named = named_once()
    typed = named.ledger is None or file not in (None, named.ledger)
    file, dataset = file or named.ledger, dataset or named.dataset
    if (file is None) != (dataset is None):
        lacking, other = ("--ledger", "--dataset") if file is None else ("--dataset", "--ledger")
        remedy = (
            "A ledger may hold many. DPFDA_LEDGER and DPFDA_DATASET, or a file dpfda.toml, name both "
            "once for all releases."
        )
        raise ParameterError(lacking, f"be given with {other}", "none", remedy)
    if file is None or dataset is None:
        return None
    account = Ledger(file)
    account.budget(dataset)
    where = "" if typed else f", as {named.where['ledger']} says"
    if announced:
        note(f"The release will be charged to {dataset!r} in {account.path}{where}.")
    return Account(account, dataset)


def save(release: Release, out: Path, account: Account | None = None) -> None:
    """Write a release, or else keep it beside the ledger or in the folder for temporary files, and fail.

    The release is public once its noise is drawn, so any place is allowed. The message says where it is.
    """
    try:
        # Whether it may be replaced was asked before anything was charged.
        release.save(out, overwrite=True)
    except DpfdaError as error:
        row = None
        with suppress(DpfdaError, OSError):
            row = account and account.row_of(release)
        name = f"{out.stem}.kept.json" if row is None else f"{out.stem}.row-{row}.json"
        folders = [Path(tempfile.gettempdir()), Path.home()]
        if account is not None:
            folders.insert(0, account.ledger.path.parent)
        place = _saved_elsewhere(release, [folder / name for folder in folders])
        if place is None:
            fail(
                f"{error} Noise had been drawn and the release is lost, since no other place could be "
                "written to either: running again is a second release.",
                FAILED,
            )
        remedy = f"Move it to {str(out)!r} yourself."
        if account is not None and row is not None:
            with suppress(LedgerError):
                account.note_file(release, place)
                words = f"dpfda ledger recover {account.ledger.path} {row} {out}"
                remedy = f"Put it in its place with: {words}"
        fail(
            f"{error} The release counts, and is kept in {str(place)!r}. Running again would be "
            f"a second release. {remedy}",
            FAILED,
        )


def recovered(ledger: Ledger, row: int, out: Path, overwrite: bool) -> Path:
    """Copy the file that is noted on a charge to where it is wanted, and note that.

    Raises
    ------
    LedgerError
        If the row is no charge, or has no file.
    StorageError
        If that file holds no release, or the new one cannot be written.
    """
    from dpfda.command.files import check_outputs
    from dpfda.releases.base import load
    from dpfda.releases.files import write_text

    charge = next((listed for listed in ledger.releases() if listed["number"] == row), None)
    if charge is None:
        raise LedgerError(f"ROW must be a charge of the ledger; found {row}. See dpfda ledger show.")
    if charge["file"] is None:
        raise LedgerError(
            f"The charge must have a file; row {row} has none. Its release was written by other "
            "means, or is lost: its noise cannot be drawn again under the same charge."
        )
    source = Path(charge["file"])
    check_outputs({"F.json": out}, {"the kept file": source}, overwrite)
    load(source)
    write_text(out, source.read_text(encoding="utf-8"))
    ledger.note_file(charge["dataset"], out.resolve(), row)
    return source


def _saved_elsewhere(release: Release, places: list[Path]) -> Path | None:
    for place in places:
        if place.exists():
            continue
        with suppress(DpfdaError, OSError):
            release.save(place)
            return place.resolve()
    return None


Charge = tuple[Sequence["Cost"], Mapping[str, object]]
# Charges of the releases that a study makes before, by ledger and data set.
BEFORE: ContextVar[dict[tuple[str, str], list[Charge]] | None] = ContextVar("charges", default=None)
# Whether a dry run only checks.
QUIET: ContextVar[bool] = ContextVar("quiet", default=False)
# At most so many names of columns are printed.
SHOWN = 6


def tell_dry_run(facts: Mapping[str, str], as_json: bool, warnings: Sequence[str]) -> None:
    """Say what a verb would do."""
    if QUIET.get():
        return
    if as_json:
        print_json({"dry_run": True, **facts, "warnings": [*warnings]})
        return
    lines = [f"  {name + ':':<11} {fact}" for name, fact in facts.items() if fact]
    say("\n".join(["Dry run: nothing is charged, drawn or written. It would do this:", *lines]))


def listed(names: Sequence[str]) -> Sequence[str]:
    """Names of columns; of many only the first and the last."""
    return names if len(names) <= SHOWN else [*names[:2], "..", f"{names[-1]} ({len(names)})"]


def foreseen_charge(
    guarantee: Guarantee, planned: Certificate | None, account: Account | None, relation: Neighbours,
    unit: str, paid: str,
) -> dict[str, str]:  # fmt: skip
    """What would be charged, and what would be left; refused where the budget does not allow it.

    paid: Why nothing would be charged.
    """
    from dpfda.privacy.composition import Cost

    if paid:
        return {"charge": f"nothing: {paid}"}
    if account is None:
        return {"charge": "no ledger is named: keep an account of all releases (--ledger, --dataset)"}
    costs = planned.costs if planned is not None else (Cost(guarantee),)
    charges: list[Charge] = [(costs, {"neighbours": str(relation), "privacy_unit": unit})]
    before, key = BEFORE.get(), (str(account.ledger.path), account.dataset)
    if before is not None:
        charges = [*before.get(key, []), *charges]
    left = account.ledger.foreseen(account.dataset, charges)
    if before is not None:
        before[key] = charges
    now = account.ledger.remaining(account.dataset)
    where = f"{account.dataset!r} in {account.ledger.path}"
    return {"charge": f"{guarantee} to {where}", "left": f"{now} before, {left} after"}
