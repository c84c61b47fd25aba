"""A file that is locked while it is used, whatever names it has; and what reaches the disk."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpfda.numerics.errors import LedgerError

# How long one waits for others, in seconds, and how often one asks.
PATIENCE = 60.0
_PAUSE = 0.003


@contextmanager
def locked(path: Path, *, writing: bool, new: bool = False) -> Iterator[int]:
    """A descriptor of the file at a path, locked: by all readers together, or by one writer.

    The lock is on the file itself and not on a name of it. It is asked again whether the path still
    names this file once the lock is held.

    Raises LedgerError if it is in use for too long, has several names, or was removed meanwhile. Raises
    OSError if it cannot be opened.
    """
    until = time.monotonic() + PATIENCE
    while True:
        descriptor = _opened(path, writing, new)
        try:
            _lock(descriptor, path, writing, until)
            if is_at(path, descriptor):
                _check_names(path, descriptor)
                yield descriptor
                return
        finally:
            # Closing unlocks.
            os.close(descriptor)


def content_of(descriptor: int) -> bytes:
    """All bytes of a file."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, "rb", closefd=False) as handle:
        return handle.read()


def write_at(descriptor: int, place: int, content: bytes) -> None:
    """Bytes at a place, and to the disk."""
    os.lseek(descriptor, place, os.SEEK_SET)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    to_disk(descriptor)


def to_disk(descriptor: int) -> None:
    """What was written to a file reaches the disk."""
    if sys.platform == "darwin":  # where fsync leaves the data in the drive's cache
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def folder_to_disk(folder: Path) -> None:
    """The names in a folder reach the disk, where folders can be opened."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _opened(path: Path, writing: bool, new: bool) -> int:
    flags = (os.O_RDWR if writing else os.O_RDONLY) | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        if not new:
            raise
        return os.open(path, flags | os.O_CREAT, 0o644)


def is_at(path: Path, descriptor: int) -> bool:
    """Whether a path names this file."""
    try:
        named = os.stat(path)
    except OSError:
        return False
    own = os.fstat(descriptor)
    return (named.st_ino, named.st_dev) == (own.st_ino, own.st_dev)


def _check_names(path: Path, descriptor: int) -> None:
    names = os.fstat(descriptor).st_nlink
    if names > 1:
        raise LedgerError(
            f"The ledger must have one name; {str(path)!r} has {names} (hard links), and replacing the "
            "file under one of them would make a second budget. Remove the others: find them with "
            "find -samefile. A symbolic link may be used instead."
        )


if sys.platform == "win32":
    import msvcrt

    # A place beyond the content, so that the lock keeps nobody from reading it.
    _LOCKED = 2**40

    def _try_lock(descriptor: int, writing: bool) -> bool:
        os.lseek(descriptor, _LOCKED, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
else:
    import fcntl

    def _try_lock(descriptor: int, writing: bool) -> bool:
        kind = fcntl.LOCK_EX if writing else fcntl.LOCK_SH
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _lock(descriptor: int, path: Path, writing: bool, until: float) -> None:
    while not _try_lock(descriptor, writing):
        if time.monotonic() > until:
            raise LedgerError(
                f"The ledger {str(path)!r} is in use by another process for too long; nothing was "
                "charged. Try again."
            )
        time.sleep(_PAUSE)
