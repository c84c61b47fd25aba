"""Ledgers in one file, shared by processes and on the disk before anyone is told; and in memory.

- The file is all there is: no journal, log or lock lies beside it, so a file that is renamed, moved or
  reached by a symbolic link is the same ledger, also after a crash. See `dpfda.privacy.ledger.lines`.
- Every operation opens the file, locks it and closes it, so no lock is carried through a fork; a fork in
  another thread waits until the operation is over.
- A write reads the balance under the lock under which it changes it.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from dpfda.numerics import parameters
from dpfda.numerics.errors import LedgerError
from dpfda.privacy.ledger import disk, lines
from dpfda.privacy.ledger.base import AnyLedger
from dpfda.privacy.ledger.rows import Rows

# How long `create` waits for whoever is making the file, in seconds.
MAKING = 1.0


# Held by every operation. A fork takes it, so that no child inherits a locked file.
_GUARD = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_GUARD.acquire, after_in_parent=_GUARD.release, after_in_child=_GUARD.release
    )


class Ledger(AnyLedger):
    """Budgets in one file of JSON lines.

    Parameters
    ----------
    path : path
        The file. `create` makes it; everything else needs it to be there. It must be on a local disk:
        network file systems do not lock reliably.

    Notes
    -----
    A pickled ledger is its path: wherever it is loaded, it is the same file. A symbolic link to the file
    is the file; a file with several hard links is refused. A copy of the file, or an old backup put
    back, is a second budget; no program can prevent that. A file whose bytes were changed is refused,
    but whoever changes it on purpose can also make new digests.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(os.path.abspath(os.path.expanduser(parameters.path(path))))

    def __reduce__(self) -> tuple[type[Ledger], tuple[str]]:
        return (Ledger, (str(self.path),))

    def title(self) -> str:
        return f"Ledger({str(self.path)!r})"

    @contextmanager
    def _reading(self) -> Iterator[Rows]:
        with _GUARD, self._explained():
            self._check_path(new=False)
            with disk.locked(self.path, writing=False) as descriptor:
                content = disk.content_of(descriptor)
            yield Rows(lines.read(content, repr(str(self.path))).rows)

    @contextmanager
    def _writing(self, new: bool = False) -> Iterator[Rows]:
        with _GUARD, self._explained():
            self._check_path(new)
            created = new and _make(self.path)
            with disk.locked(self.path, writing=True, new=new) as descriptor:
                content = disk.content_of(descriptor)
                if created and not content:
                    content = lines.new_file()
                    disk.write_at(descriptor, 0, content)
                    disk.folder_to_disk(self.path.parent)
                book = lines.read(content, repr(str(self.path)))
                rows = Rows(book.rows)
                yield rows
                if rows.added:
                    _commit(descriptor, book, tuple(rows.added), self.path)

    def _check_path(self, new: bool) -> None:
        if not new and not self.path.exists():
            raise LedgerError(
                f"The ledger must be an existing file; found none at {str(self.path)!r}. Make it with "
                "$create if nothing was released of its data yet. One that was lost must come back from "
                "a backup: a new one takes nothing as spent."
            )
        if self.path.is_dir() or not self.path.parent.is_dir():
            raise LedgerError(
                f"The ledger must be a file in an existing folder; found {str(self.path)!r}. Create the "
                "folder or choose another path."
            )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            words = _REASONS.get(error.errno or 0, _UNCERTAIN)
            raise LedgerError(f"The ledger {str(self.path)!r} {words}") from error


_READ_ONLY = "must be a file that can be written to; it is read-only. Change its permissions."
_FULL = "cannot grow, the disk is full; nothing was charged. Make room."
_REASONS = {
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.EROFS: _READ_ONLY,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.ENOLCK: "cannot be locked where it lies. Put it on a local disk.",
    errno.ENOENT: "was removed while it was used; nothing was charged.",
}
_UNCERTAIN = (
    "could not be read or written; a charge may or may not have been kept, so no noise may be drawn. "
    "Check the disk, then history()."
)


def _make(path: Path) -> bool:
    """Make an empty file if there is none; whether this process did.

    An empty file that nobody is about to fill is refused: it may have been a ledger.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    except FileExistsError:
        until = time.monotonic() + MAKING
        while path.exists() and path.stat().st_size == 0 and time.monotonic() < until:
            time.sleep(0.01)
        return False
    return True


def _commit(descriptor: int, book: lines.Lines, rows: tuple[bytes, ...], path: Path) -> None:
    """Write rows, then the count that covers them, each to the disk."""
    if not book.covered:
        # A crash came between a row and its count: the row may not have reached the disk.
        disk.to_disk(descriptor)
        book = _counted(descriptor, book, len(book.rows), book.last)
    text, last = lines.chained(rows, book.last)
    try:
        os.ftruncate(descriptor, book.end)
        disk.write_at(descriptor, book.end, text)
    except OSError:
        # Where even this fails, the row may stay, and then it counts.
        with suppress(OSError):
            os.ftruncate(descriptor, book.end)
        raise
    try:
        _counted(descriptor, book, len(book.rows) + len(rows), last)
    except OSError as error:
        # The row is on the disk and counts, also where a full disk kept its count from it.
        raise LedgerError(f"The ledger {str(path)!r} {_UNCERTAIN}") from error
    # A file without a name loses what is written to it.
    if os.fstat(descriptor).st_nlink == 0:
        raise LedgerError(
            f"The ledger {str(path)!r} was removed or replaced while it was written, and the charge "
            "with it; no noise may be drawn. Restore the file."
        )


def _counted(descriptor: int, book: lines.Lines, rows: int, last: bytes) -> lines.Lines:
    """Overwrite the older count."""
    count, place = lines.Count(rows, last), book.older
    where = lines.HEADER_SIZE + place * lines.COUNT_SIZE
    disk.write_at(descriptor, where, lines.count_line(book.start, count))
    counts = (count, book.counts[1]) if place == 0 else (book.counts[0], count)
    return lines.Lines(book.start, counts, book.rows, book.last, book.end)


_REMEDY = "Use Ledger(path), which all processes share."


class MemoryLedger(AnyLedger):
    """Budgets in the memory of one process.

    Copies and clones are the same ledger. It cannot be pickled, nor used in a forked process: there
    it would be a second budget.

    Examples
    --------
    >>> from dpfda.privacy.guarantees import PureDP
    >>> ledger = MemoryLedger().create("scans", PureDP(1), unit="person")
    >>> release = {"neighbours": "replace-one", "privacy_unit": "person"}
    >>> row = ledger.charge("scans", PureDP("0.9"), release)
    >>> print(ledger.remaining("scans"))
    epsilon 0.1
    """

    def __init__(self) -> None:
        self._rows: tuple[bytes, ...] = ()
        self._lock = threading.RLock()
        self._process = os.getpid()

    @contextmanager
    def _reading(self) -> Iterator[Rows]:
        if os.getpid() != self._process:
            raise LedgerError(
                "An in-memory ledger must be used in the process that made it; found another process. "
                + _REMEDY
            )
        with self._lock:
            yield Rows(self._rows)

    @contextmanager
    def _writing(self, new: bool = False) -> Iterator[Rows]:
        with self._reading() as rows:
            yield rows
            longer = rows.kept + tuple(rows.added)
            if self._rows is not rows.kept:
                # An entry's own words may charge as they are written down, or a signal's handler.
                raise LedgerError("A charge must not be made within another; nothing more was charged.")
            self._rows = longer

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise LedgerError(
            "An in-memory ledger cannot be pickled: that would fork its budgets. " + _REMEDY
        )
