"""An append-only secret file with one writer: what `append` returned from survives any crash.

One record a line: JSON, a tab, and a digest that continues the digest of the line before, so that no
line can be changed, dropped from the middle or moved unnoticed. `append` returns once the records are
on the disk. A line that a crash cut short was never returned from; it is recognised (it does not end in
a newline, or it holds the zeros of a block that was never written) and cut off. A whole line with a
wrong digest is damage, and the file is refused: going on without it could mean drawing again.

The file has mode 0600 and is locked by its holder, so that a second process is turned away. It knows its
own path, inode and, where the file system tells it, the generation of the inode: a file that is removed
and put back from a backup mostly gets the inode that was just let go of. A copy is refused unless its
owner vouches for it.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Self

from dpfda.numerics import parameters
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import SessionError, StorageError
from dpfda.numerics.words import legible
from dpfda.privacy.ledger import disk
from dpfda.privacy.ledger.lines import digest as digest_of

Record = Json

START = b"dpfda-session"
# How Linux is asked for the generation of an inode, which is another for every file that has it in turn.
_GENERATION = 0x80087601


class Journal:
    """An open, locked file of records. Make one with `create` or `open`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        self._process = os.getpid()
        self._size = 0
        self._digest = START

    @classmethod
    def create(cls, path: str | Path) -> Self:
        """Make an empty file that was not there, readable by its owner alone.

        Raises StorageError if it exists or cannot be made.
        """
        _locks()
        target = Path(os.path.realpath(parameters.path(path)))
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        try:
            descriptor = os.open(target, flags, 0o600)
        except FileExistsError:
            raise StorageError(
                f"The session's file must not exist yet; found one at {str(target)!r}. Resume it, or "
                "choose another path."
            ) from None
        except OSError as error:
            raise StorageError(
                f"The session's file {str(target)!r} cannot be made: {error.strerror}."
            ) from None
        journal = cls(target, descriptor)
        journal._lock()
        return journal

    @classmethod
    def open(cls, path: str | Path) -> tuple[Self, list[Record]]:
        """Lock a file, check every line, cut off what a crash left unfinished.

        Returns the file and its records.
        Raises SessionError if another process or session holds it. Raises StorageError if it is missing,
        readable by others, damaged or empty.
        """
        target = Path(os.path.realpath(parameters.path(path)))
        try:
            descriptor = os.open(target, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            raise StorageError(
                f"The session's file {str(target)!r} cannot be opened: {error.strerror}."
            ) from None
        journal = cls(target, descriptor)
        try:
            journal._lock()
            journal._check_mode()
            return journal, journal._read()
        except BaseException:
            journal.close()
            raise

    def append(self, records: list[Record]) -> None:
        """Write records, together, to the disk.

        Raises SessionError if the file is closed, is no longer the one at its path, or was opened by the
        parent of this process. Raises StorageError if the disk refuses. What is on it is then uncertain,
        so the file is let go of: it has to be opened again.
        """
        descriptor = self.check()
        digest, lines = self._digest, b""
        for record in records:
            line, digest = _line(record, digest)
            lines += line
        try:
            disk.write_at(descriptor, self._size, lines)
            if self._size == 0:
                disk.folder_to_disk(self.path.parent)
        except BaseException as error:
            # Where even this fails, the line is cut off or refused when the file is opened again.
            self._undo(descriptor)
            self.close()
            if isinstance(error, OSError):
                raise StorageError(
                    f"The session's file {str(self.path)!r} could not be written: {error.strerror}. "
                    "Nothing was told of what was drawn last. Mend the disk, then resume the session."
                ) from None
            raise
        self._size += len(lines)
        self._digest = digest

    def origin(self) -> Record:
        """Where the file is and which file it is: for its first record."""
        descriptor = self._open_descriptor()
        inode, generation = os.fstat(descriptor).st_ino, _generation(descriptor)
        return {"path": str(self.path), "inode": inode, "generation": generation}

    def close(self) -> None:
        """Close the file, which unlocks it; it can be opened again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def destroy(self) -> None:
        """Overwrite the file, remove it and close it: each, whatever becomes of the others.

        Raises StorageError if something is left; the message says what.
        """
        self.check_process()
        descriptor, left = self._open_descriptor(), []
        try:
            try:
                _overwrite(descriptor)
            except OSError as error:
                left.append(f"it was not overwritten ({error.strerror}), so its blocks hold the secrets")
            try:
                if disk.is_at(self.path, descriptor):
                    self.path.unlink()
                    disk.folder_to_disk(self.path.parent)
                elif self.path.exists():
                    left.append("another file is at its path, which was let alone")
            except OSError as error:
                left.append(f"it was not removed ({error.strerror})")
        finally:
            self.close()
        if left:
            raise StorageError(
                f"The session is closed, but something is left of its file {str(self.path)!r}: "
                f"{'; '.join(left)}. Destroy what is left by other means."
            )

    def discard(self) -> None:
        """Remove a file that no session came of, overwriting it as far as the disk lets us."""
        try:
            if self._descriptor is not None:
                with suppress(OSError):
                    _overwrite(self._descriptor)
            self.path.unlink(missing_ok=True)
        finally:
            self.close()

    def check_process(self) -> None:
        """Refuse a child of the process that opened the file. Raises SessionError."""
        if os.getpid() != self._process:
            raise SessionError(
                "The session was opened by the parent of this process. Ask there: two writers could "
                "draw twice for one query."
            )

    def check(self) -> int:
        """The file's descriptor, after checks that what is written to it is kept at its path.

        Raises SessionError if the file is closed, was removed, replaced or written to, or belongs to the
        parent process.
        """
        self.check_process()
        descriptor = self._open_descriptor()
        if not disk.is_at(self.path, descriptor):
            raise SessionError(
                f"The session's file {str(self.path)!r} was removed or replaced while the session was "
                "open. Nothing more is answered: what is drawn now could not be kept."
            )
        if os.fstat(descriptor).st_size != self._size:
            raise SessionError(
                f"The session's file {str(self.path)!r} was written to by something else. Nothing more "
                "is answered."
            )
        return descriptor

    def _undo(self, descriptor: int) -> None:
        """Take off the disk, as far as it lets us, what was not written whole."""
        if self._size == 0:
            # A first record holds exact sums, and there is no session to forget them for.
            with suppress(OSError):
                _overwrite(descriptor)
        with suppress(OSError):
            os.ftruncate(descriptor, self._size)

    def _lock(self) -> None:
        fcntl = _locks()
        try:
            fcntl.flock(self._open_descriptor(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise SessionError(
                f"The session at {str(self.path)!r} is open elsewhere. Suspend it there first."
            ) from None

    def _check_mode(self) -> None:
        mode = stat.S_IMODE(os.fstat(self._open_descriptor()).st_mode)
        if mode & 0o077:
            raise StorageError(
                f"The session's file must be readable by its owner alone (mode 600); "
                f"{str(self.path)!r} has mode {mode:o}. It holds the exact sum of the data: find out "
                "who read it, then chmod 600."
            )

    def _open_descriptor(self) -> int:
        if self._descriptor is None:
            raise SessionError("The session's file is closed. Resume the session from it.")
        return self._descriptor

    def _read(self) -> list[Record]:
        descriptor = self._open_descriptor()
        content = disk.content_of(descriptor)
        records: list[Record] = []
        *lines, rest = content.split(b"\n")
        for number, line in enumerate(lines):
            record = _record(line, self._digest)
            last = number == len(lines) - 1 and not rest.strip(b"\0")
            if record is None:
                if last and b"\0" in line:
                    rest = b"\0"
                    break
                raise StorageError(
                    f"Line {number + 1} of the session's file {str(self.path)!r} is damaged. It cannot "
                    "be resumed: noise that was told might be drawn again."
                )
            self._digest = line[-32:]
            self._size += len(line) + 1
            records.append(record)
        if not records:
            raise StorageError(
                f"The session's file {str(self.path)!r} holds no session: it was closed, or opening it "
                "was cut short, before any answer. Name another file, or move this one away."
            )
        if rest:
            os.ftruncate(descriptor, self._size)
            disk.to_disk(descriptor)
        return records


def _locks() -> ModuleType:
    try:
        import fcntl
    except ImportError:
        raise SessionError(
            "Sessions need the file locks of POSIX systems, which this one lacks. Use fit() instead."
        ) from None
    return fcntl


def _generation(descriptor: int) -> str | None:
    """Eight digits that tell a file from an earlier one of the same inode; None where nothing does."""
    number = bytearray(8)
    try:
        _locks().ioctl(descriptor, _GENERATION, number)
    except OSError:
        return None
    return f"{int.from_bytes(number[:4], sys.byteorder):08x}"


def _line(record: Record, before: bytes) -> tuple[bytes, bytes]:
    text = json.dumps(record, allow_nan=False, separators=(",", ":")).encode("ascii")
    digest = digest_of(before, text)
    return text + b"\t" + digest + b"\n", digest


def _record(line: bytes, before: bytes) -> Record | None:
    """The record of a line; None if it is not whole."""
    text, _, digest = line.rpartition(b"\t")
    if digest != digest_of(before, text):
        return None
    record: Record = legible(json.loads(text))
    return record


def _overwrite(descriptor: int) -> None:
    """Zeros over the whole file, on the disk."""
    disk.write_at(descriptor, 0, bytes(os.fstat(descriptor).st_size))
