"""A file that was opened: where it lies, and the names of its columns, which alone are shown."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from werkzeug.datastructures import FileStorage
from werkzeug.utils import secure_filename

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice
from dpfda.numerics.words import visible
from dpfda.records.csv_tables import Stated
from dpfda.records.files import opened
from dpfda.records.lines import Notation

PREFIX = "dpfda-desk-"
# Characters of a file's name that all systems take, beside what is written with it.
LONGEST = 200
# Names of columns that are offered, at most.
SHOWN = 500
# Numerals that the words of a refusal have anyway: alone they tell nothing of a header.
COMMON = {"0", "1", "2"}
# So much of a long label gives it away.
TELLING = 30


@dataclass(frozen=True)
class Opened:
    """A file with records.

    called: What a study calls it.
    copied: Whether it came through the browser: what it is called is no path then.
    decimal: The decimal sign of its numbers.
    header: Names of columns that may be shown.
    withheld: All others: they are never shown where they were not typed.
    """

    path: Path
    called: str
    decimal: str
    header: tuple[str, ...] = ()
    withheld: tuple[str, ...] = field(default=(), repr=False)
    copied: bool = False

    def tells(self, words: str, typed: str) -> bool:
        """Whether words hold a name of a column that is withheld, and that nobody typed."""
        return any(_holds(words, name) and not _holds(typed, name) for name in self.withheld)


def open_file(path: Path, called: str, decimal: str, public: bool, copied: bool = False) -> Opened:
    """Read the header of a file, and no record.

    Names are told where their being public is stated. Those that do not begin with a letter, such as
    numbers, dates and amounts, are not: where the header line is missing, they are somebody's values.
    Raises DpfdaError if it holds no records' header.
    """
    choice(decimal, "--decimal", (".", ","))
    labels = opened(path, Stated(Notation(decimal), None, "refuse", None)).labels
    words = [x for x in labels if x[:1].isalpha() or x[:1] == "_"] if public else []
    names = tuple(words[:SHOWN])
    return Opened(path, called, decimal, names, tuple(x for x in labels if x not in {*names}), copied)


def _holds(words: str, name: str) -> bool:
    """Whether words contain a name as a word, as it is or as Python writes it."""
    ways = {name.strip(), repr(name)[1:-1], visible(name)} - {""}
    with suppress(ValueError):
        ways |= {str(float(name)), f"{float(name):g}"}
    if ways & COMMON:
        ways = {f"'{name}'"}
    # What is cut off in a message is found by its beginning.
    near = [way for way in ways if way[:TELLING] in words]
    pattern = "|".join(re.escape(way[:TELLING]) + ("" if way[TELLING:] else r"(?!\w)") for way in near)
    return bool(pattern) and re.search(rf"(?<!\w)(?:{pattern})", words) is not None


class Uploads:
    """A private folder of this run for a file that came through the browser; one at a time.

    It can be read by this user alone, and goes with the desk, or when another file comes. What a desk
    that was killed has left goes when a later one starts: a living desk holds a lock on its folder,
    which has its name only after that.
    """

    def __init__(self) -> None:
        for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            lock = _lock(left)
            if lock is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(lock)
        folder = Path(tempfile.mkdtemp())
        self._lock = _lock(folder)
        self._folder = folder.rename(folder.with_name(PREFIX + folder.name))

    def keep(self, upload: FileStorage) -> Path:
        """Keep what was sent, in the place of what was kept before."""
        name = secure_filename(upload.filename or "")
        if not 0 < len(name) <= LONGEST:
            raise ParameterError("The file", f"have a name of 1 to {LONGEST} characters", len(name))
        self.clear()
        # No two files ever lie at one place: what was checked with one is never run with another.
        path = self._folder / secrets.token_hex(8) / name
        path.parent.mkdir()
        path.touch(mode=0o600)
        upload.save(path)
        return path

    def clear(self) -> None:
        """Remove what is kept."""
        for entry in self._folder.iterdir():
            shutil.rmtree(entry)

    def close(self) -> None:
        """Remove the folder."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self._folder)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _lock(folder: Path) -> int | None:
    """An open lock on a folder of this user; None where another has it, or there are no such locks."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (ImportError, OSError):
        return None
    with suppress(OSError):
        if os.fstat(descriptor).st_uid == os.getuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
    os.close(descriptor)
    return None
