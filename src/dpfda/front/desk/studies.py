"""The study in the making: as text and as a command, tried, and published once."""

from __future__ import annotations

import io
import json
import re
import secrets
import shlex
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpfda.command.running import FAILED, REFUSED, WATCHER, typed
from dpfda.front.desk.fields import FLAG, WORDS, Stated, Value
from dpfda.front.desk.opening import Opened
from dpfda.front.verbs.run import Planned, options_of, releases_of
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import DpfdaError, ParameterError, StorageError
from dpfda.privacy.ledger import Ledger

# What a release may be called: the name of a file, and a part of an address.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
# What a verb says goes to the process's own streams, and matplotlib draws one picture at a time.
ONE = threading.Lock()
# Seconds that a page waits for another one's run.
PATIENCE = 30


@dataclass(frozen=True)
class Draft:
    """A study of one release in the making.

    data: What all verbs are given: who is protected, ledger, data set.
    chosen: Options of the verb.
    name: What the release is called: its file is NAME.json and its study NAME.toml.
    """

    opened: Opened | None = None
    data: Stated = field(default_factory=dict)
    verb: str = ""
    chosen: Stated = field(default_factory=dict)
    name: str = ""

    def tells(self, words: str) -> bool:
        """Whether words hold a name of a column that is not to be shown, and that was not typed."""
        stated = [self.name, *self.data.values(), *self.chosen.values()]
        typed = [text for part in stated for text in (part if isinstance(part, list) else [str(part)])]
        return self.opened is not None and self.opened.tells(words, "\n".join(typed))

    @property
    def file(self) -> Opened:
        """The file with the records. Raises ParameterError if none was opened."""
        if self.opened is None:
            raise ParameterError("The file", "be opened first", "none")
        return self.opened

    def study(self) -> str:
        """The study as text. Raises ParameterError as `file`, or if the name cannot be one."""
        decimal = {} if self.file.decimal == "." else {"decimal": self.file.decimal}
        data = {"file": self.file.called, **self.data, **decimal}
        own = {"verb": self.verb, **self.chosen, "out": f"{check_name(self.name)}.json"}
        return f"[data]\n{_table(data)}\n[[release]]\n{_table(own)}"


def check_name(name: str) -> str:
    """The name of a release. Raises ParameterError if it cannot be that of a file."""
    if not NAME.fullmatch(name):
        words = "be letters, digits, dashes and underscores, at most 64"
        raise ParameterError("Name", words, repr(name), "Example: loads-2026")
    return name


def planned(draft: Draft, folder: Path) -> Planned:
    """The release of a draft in a folder, reading the file from where it lies.

    Raises ParameterError as `Draft.study`, or if it would write elsewhere.
    """
    written = tomllib.loads(draft.study())
    written["data"]["file"] = str(draft.file.path)
    (own,) = written["release"]
    (release,) = releases_of(written, folder)
    options = options_of(release.verb)
    for name, value in own.items():
        if options[name.replace("-", "_")].type is Path and not _inside(folder / value, folder):
            raise ParameterError(f"--{name}", "be a file in the desk's folder", repr(value))
    return release


def _inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):
        return False


def command_line(study: str) -> str:
    """What would be typed for a study of one release."""
    (release,) = releases_of(tomllib.loads(study), Path())
    return shlex.join(["dpfda", release.verb.name, *release.typed])


def _table(stated: Mapping[str, Value]) -> str:
    """As TOML, in which all values stand as they were typed: quoted, so that none becomes another."""
    lines = (f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in stated.items())
    return "".join(lines).replace("\x7f", "\\u007f")


class BusyError(Exception):
    """Another page's run takes long."""


@dataclass(frozen=True)
class Said:
    """The outcome of a run: its status, the object that it printed; warnings, notes and errors."""

    status: int
    answer: Json = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def refusal(self) -> str:
        """Why it was not done; empty where it was."""
        errors = [note for note in self.notes if note.startswith("error: ")]
        return " ".join(errors or self.notes).removeprefix("error: ") if self.status else ""

    @property
    def remarks(self) -> list[str]:
        """Warnings, and what is worth knowing of the reading."""
        warnings = [f"Warning: {text}" for text in self.answer.get("warnings", ())]
        return [*warnings, *self.answer.get("notes", ())]

    def screened(self, draft: Draft) -> Said:
        """The same without names of columns that are not to be shown."""
        answer = dict(self.answer)
        if draft.tells(str(answer.get("columns", ""))):
            # Nor their ends, which the axis may have in other words.
            answer |= {"columns": WORDS["not_shown"], "axis": ""}
        for list_ in ("warnings", "notes"):
            answer[list_] = [text for text in answer.get(list_, ()) if not draft.tells(text)]
        return replace(self, answer=answer, notes=tuple(_screened(note, draft) for note in self.notes))


def _screened(note: str, draft: Draft) -> str:
    if not draft.tells(note):
        return note
    flag = FLAG.match(note.removeprefix("error: "))
    return f"error: {flag[0] if flag else 'What is stated'} {WORDS['untold']}"


@contextmanager
def alone(patience: float = PATIENCE) -> Iterator[None]:
    """Within it no other page's verb runs and no other picture is drawn."""
    if not ONE.acquire(timeout=patience):
        raise BusyError
    try:
        yield
    finally:
        ONE.release()


def captured(call: Callable[[], int], patience: float = PATIENCE) -> Said:
    """Run something that prints, and keep what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with alone(patience), redirect_stdout(out), redirect_stderr(err):
        try:
            status = call()
        except DpfdaError as error:
            return Said(REFUSED, notes=(f"error: {typed(error)}",))
    answer = {}
    with suppress(ValueError):
        answer = json.loads(out.getvalue())
    return Said(status, answer, tuple(filter(None, err.getvalue().splitlines())))


@dataclass
class Publication:
    """A study that was tried and may be published once.

    outcome: What came of it, when it is over.
    charged: What the ledger says then: free, charged, or unknown, where that could not be found out.
    progress: How many per cent of the file are read.
    """

    draft: Draft
    folder: Path
    outcome: Said | None = None
    charged: str = "free"
    progress: int | None = None
    study: str = field(init=False)

    def __post_init__(self) -> None:
        self.study, self._seen = self.draft.study(), _state(self.draft.file.path)

    def run(self) -> None:
        """Publish, and keep what comes of it; nothing that goes wrong is lost in the thread."""
        WATCHER.set(self.watch)
        try:
            self.outcome = captured(self._publish, patience=-1).screened(self.draft)
        except BaseException as error:
            # Some readers end with more than an Exception; its words could hold private values.
            self.outcome = Said(FAILED, notes=(f"error: unexpected {type(error).__name__}",))

    def _publish(self) -> int:
        release, before = planned(self.draft, self.folder), self._charges()
        if _state(self.draft.file.path) not in (self._seen, None):
            words = "be the one that was shown"
            raise ParameterError("The file", words, "a changed one", "Try again with what it is now.")
        written = self.folder / f"{self.draft.name}.toml"
        try:
            # Another desk, or this one before it was killed, cannot have begun the same.
            with written.open("x", encoding="utf-8") as file:
                file.write(self.study)
        except FileExistsError:
            raise StorageError(
                f"{written.name} exists: this release was begun before. The ledger says whether it "
                "was charged. Choose another name only if you want another release."
            ) from None
        status = FAILED
        try:
            status = release.call("--json")
        finally:
            self.charged = "unknown"
            with suppress(Exception):
                self.charged = "charged" if self._charges() > before else "free"
            if status and self.charged == "free":
                written.unlink()
        return status

    def _charges(self) -> int:
        file, dataset = (str(self.draft.data[name]) for name in ("ledger", "dataset"))
        return len(Ledger(self.folder / file).releases(dataset))

    def watch(self, done: int, total: int) -> None:
        """Note the progress of the reading in per cent: numbers of records may be private."""
        self.progress = 100 * done // total if total else None


def _state(path: Path) -> tuple[int, ...] | None:
    """What changes when a file does; None where there is none."""
    with suppress(OSError):
        stat = path.stat()
        return stat.st_size, stat.st_mtime_ns, stat.st_ino
    return None


class Publications:
    """Publications by their one-use numbers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offered: dict[str, Publication] = {}
        # Not daemons: a desk that is stopped in good order ends after them.
        self._threads: dict[str, threading.Thread] = {}

    def offer(self, publication: Publication) -> str:
        """A new number, which publishes once."""
        number = secrets.token_urlsafe(12)
        self._offered[number] = publication
        return number

    def begin(self, number: str) -> bool:
        """Begin a publication; again, nothing happens. Whether there is one of this number."""
        with self._lock:
            if number in self._offered and number not in self._threads:
                self._threads[number] = threading.Thread(target=self._offered[number].run)
                self._threads[number].start()
        return number in self._offered

    def begun(self, number: str) -> Publication | None:
        """The publication that was begun with a number."""
        return self._offered[number] if number in self._threads else None

    def running(self) -> bool:
        """Whether one is under way."""
        return any(thread.is_alive() for thread in self._threads.values())

    def join(self) -> None:
        """Wait until all are over."""
        for thread in self._threads.values():
            thread.join()
