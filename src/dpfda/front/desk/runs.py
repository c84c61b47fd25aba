"""Verbs run for a page: what they say is kept, and a publication is made once."""

from __future__ import annotations

import io
import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dpfda.command.running import FAILED, REFUSED, WATCHER, typed
from dpfda.front.desk.drafts import Draft, planned
from dpfda.front.desk.fields import FLAG, WORDS
from dpfda.numerics.errors import DpfdaError, ParameterError, StorageError

# What a verb says goes to the process's own streams, and matplotlib draws one picture at a time.
ONE = threading.Lock()
# Seconds that a page waits for another one's run.
PATIENCE = 30


class BusyError(Exception):
    """Another page's run takes long."""


@dataclass(frozen=True)
class Said:
    """What a run said: its status, the object that it printed; warnings, notes and errors."""

    status: int
    answer: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def refusal(self) -> str:
        """Why it was not done; empty where it was."""
        errors = [note for note in self.notes if note.startswith("error: ")]
        return " ".join(errors or self.notes).removeprefix("error: ") if self.status else ""

    @property
    def remarks(self) -> list[str]:
        """Warnings, and what is worth knowing of the reading."""
        warnings = [f"Warning: {each}" for each in self.answer.get("warnings", ())]
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


def said(call: Callable[[], int], patience: float = PATIENCE) -> Said:
    """Run something that prints, and keep what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with alone(patience), redirect_stdout(out), redirect_stderr(err):
        try:
            status = call()
        except DpfdaError as error:
            return Said(REFUSED, notes=(f"error: {typed(error)}",))
    try:
        answer = json.loads(out.getvalue())
    except ValueError:
        answer = {}
    return Said(status, answer, tuple(filter(None, err.getvalue().splitlines())))


@dataclass
class Publication:
    """A study that was tried and may be published once.

    said: What came of it, when it is over.
    charged: Whether the ledger has a new charge then; None where that could not be found out.
    progress: How many per cent of the file are read.
    """

    draft: Draft
    folder: Path
    said: Said | None = None
    charged: bool | None = False
    progress: int | None = None
    study: str = field(init=False)

    def __post_init__(self) -> None:
        self.study, self._seen = self.draft.study(), _state(self.draft.file)

    def run(self) -> None:
        """Publish, and keep what comes of it; nothing that goes wrong is lost in the thread."""
        WATCHER.set(self.watch)
        try:
            kept = said(self._publish, patience=-1).screened(self.draft)
        except BaseException as error:
            # Some readers end with more than an Exception; its words could hold private values.
            kept = Said(FAILED, notes=(f"error: unexpected {type(error).__name__}",))
        self.said = kept

    def _publish(self) -> int:
        release, before = planned(self.study, self.folder, self.draft.file), self._charges()
        if _state(self.draft.file) not in (self._seen, None):
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
            self.charged = None
            with suppress(Exception):
                self.charged = self._charges() > before
            if status and self.charged is False:
                written.unlink()
        return status

    def _charges(self) -> int:
        from dpfda.privacy.ledger import Ledger

        file, dataset = (str(self.draft.data[name]) for name in ("ledger", "dataset"))
        return len(Ledger(self.folder / file).releases(dataset))

    def watch(self, done: int, total: int) -> None:
        """Note how far the reading is, in no numbers of records: these a release alone tells."""
        self.progress = 100 * done // total if total else None


def _state(path: Path) -> tuple[int, ...] | None:
    """What changes when a file does; None where there is none."""
    with suppress(OSError):
        found = path.stat()
        return found.st_size, found.st_mtime_ns, found.st_ino
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
