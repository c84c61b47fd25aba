"""What is open over a secret file, and what it writes there; how a step that handles secrets is run."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn, Self, TypeVar

from dpfda.numerics.errors import DpfdaError, SessionError, StorageError
from dpfda.privacy.certificates import Certified
from dpfda.publication.session.conditional import Draw, Uniforms
from dpfda.publication.session.journal import Journal, Record
from dpfda.releases.answers import Answer, ReleasedAnswers
from dpfda.releases.function import ReleasedFunction

FORMAT = "dpfda-session"
SCHEMA_VERSION = 1
# Whether a write fails for lack of room may tell how long a record is. So no length depends on a secret
# or an answer: a double is written with at most 24 characters, the sum with 256 bits and a sign.
_VALUE_WIDTH = 24
_TOTAL_WIDTH = 65
WARNING = (
    "SECRET: this file holds the exact sum of private data and the noise of every answer. Whoever reads "
    "it can undo the privacy protection. Do not copy, share or back it up."
)


class Resumable(Certified, ABC):
    """What is open over a secret file: let go of, gone on with and ended in one way."""

    def __init__(self, journal: Journal) -> None:
        self.path = journal.path
        self._journal = journal
        self._state = "open"
        self._lock = threading.RLock()

    @abstractmethod
    def _check_open(self) -> None:
        """Refuse what is suspended or closed. Raises SessionError."""

    @abstractmethod
    def _forget(self, state: str) -> None:
        """Let go of what is secret in memory, and be in another state."""

    def suspend(self) -> None:
        """Let go of the file, which keeps the secret state; `resume` goes on from it."""
        with self._lock:
            if self._state == "open":
                self._journal.close()
                self._forget("suspended")

    def close(self) -> None:
        """End it for good: overwrite and remove the secret state; what was published stays.

        Nothing further can ever be answered or published from this path. Overwriting cannot reach
        copies that a file system with a journal or snapshots, a solid-state disk or a backup may hold.

        Raises
        ------
        SessionError
            If it is not open.
        StorageError
            If the file could not be overwritten or removed. It is closed all the same.
        """
        with self._lock:
            self._check_open()
            self._journal.check_process()
            # First of all, so that nothing is answered from a file that is destroyed in part.
            self._forget("closed")
            self._journal.destroy()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.suspend()

    def __reduce__(self) -> NoReturn:
        raise SessionError(
            f"{type(self).__name__} cannot be pickled or copied: two copies could draw twice for one "
            "query. Suspend it and resume it from its file."
        )


def header_to_json(journal: Journal, frame: ReleasedFunction, total: tuple[int, ...]) -> Record:
    """First record of a file: what the session is, and the exact sum. Secret."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "warning": WARNING,
        "origin": journal.origin(),
        "release": frame.to_json(),
        "total": [f"{value:+0{_TOTAL_WIDTH}x}" for value in total],
    }


def origin_of(records: list[Record]) -> Record:
    """Where the file was last vouched for."""
    places: list[Record] = [record["moved"] for record in records if "moved" in record]
    return places[-1] if places else dict(records[0]["origin"])


def checked_header(records: list[Record], journal: Journal, moved: bool, name: str = FORMAT) -> Record:
    """The first record, of a session that may be resumed from this file.

    name: The format that it must be of.
    Raises StorageError if it is not a session, or of another schema. Raises SessionError if the file is
    not where it was last vouched for, and `moved` does not vouch for it.
    """
    header = records[0]
    if header.get("format") != name or header.get("schema_version") != SCHEMA_VERSION:
        raise StorageError(
            f"{str(journal.path)!r} must be a session of schema version {SCHEMA_VERSION}; found "
            f"{header.get('format')!r}, version {header.get('schema_version')!r}."
        )
    origin, here = origin_of(records), journal.origin()
    # What an earlier version did not write is not asked for.
    if any(here[name] != value for name, value in origin.items()) and not moved:
        raise SessionError(
            f"The session was opened at {origin['path']!r}; {str(journal.path)!r} is a copy, "
            "or was moved or restored. Two copies that answer give two draws of the noise, "
            "which averages out. If this is the latest state and the only one that will be resumed, "
            "pass $moved.",
            moved=True,
        )
    return header


@contextmanager
def undamaged(journal: Journal, *passing: type[Exception]) -> Iterator[None]:
    """Around the reading of a file's records: if it fails the file is let go of, and called damaged.

    passing: Errors beside StorageError that say more than that.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        journal.close()
        if isinstance(error, (StorageError, *passing)):
            raise
        raise StorageError(
            f"The file {str(journal.path)!r} is damaged: {type(error).__name__} while reading it."
        ) from None
    except BaseException:
        journal.close()
        raise


def take_over(journal: Journal, records: list[Record]) -> None:
    """Vouch for the file where it is now."""
    if origin_of(records) != journal.origin():
        journal.append([{"moved": journal.origin()}])


def answer_to_json(answer: Answer) -> Record:
    """Record of an answer, as long for every value."""
    # Its number is its place in the file.
    written = {name: part for name, part in answer.to_json().items() if name != "number"}
    return {**written, "value": f"{answer.value!r:>{_VALUE_WIDTH}}"}


def draw_to_json(draw: Draw) -> Record:
    """Record of a draw, as long for every value of its bits. Secret."""
    digits = -(-draw.bits // 4)
    uniforms = _pairs(draw.uniforms, digits)
    direction = None if draw.direction is None else [f"{m:x}" for m in draw.direction]
    written = {"bits": draw.bits, "uniforms": uniforms, "direction": direction}
    if draw.mixing:
        written["mixing"] = _pairs(draw.mixing, digits)
    return {"draw": written}


def draw_from_json(written: Record) -> Draw:
    """A draw as it was."""
    direction = written["direction"]
    return Draw(
        bits=int(written["bits"]),
        uniforms=_uniforms(written["uniforms"]),
        direction=None if direction is None else tuple(int(m, 16) for m in direction),
        mixing=_uniforms(written.get("mixing", {})),
    )


def _pairs(uniforms: Mapping[int, Uniforms], digits: int) -> dict[str, list[str]]:
    return {str(k): [f"{value:0{digits}x}" for value in pair] for k, pair in uniforms.items()}


def _uniforms(written: Mapping[str, list[str]]) -> dict[int, Uniforms]:
    return {int(k): (int(first, 16), int(second, 16)) for k, (first, second) in written.items()}


def public_side(frame: ReleasedFunction, answers: list[Answer]) -> ReleasedAnswers:
    """Guarantee, neighbours, unit, bound, noise law and every answer; nothing secret."""
    # The frame is a release without its coefficients: its sum is filled with zeros.
    left_out = ("order", "noisy_sum")
    design = {name: part for name, part in frame._to_entries().items() if name not in left_out}
    return ReleasedAnswers(tuple(answers), design, frame.certificate, frame.about)


T = TypeVar("T")


def sealed(step: Callable[[], T]) -> T:
    """The result of a step; an exception from it has no traceback, cause or context from inside.

    A traceback holds the local variables of every frame, and tools that report errors write them out.

    Raises SessionError: In place of any exception that is not dpfda's own. Its message is left out, for
    it may quote secrets. Interruptions keep their type.
    """
    try:
        return step()
    except BaseException as error:
        failure = _bare(error)
    raise failure from None


def _bare(error: BaseException) -> BaseException:
    if isinstance(error, Exception) and not isinstance(error, DpfdaError):
        return SessionError(
            f"The session failed: {type(error).__name__}. Where it happened is left out, for it holds "
            "secrets. Resume the session from its file."
        )
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
