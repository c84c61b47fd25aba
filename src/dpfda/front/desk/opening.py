"""A file that was opened: where it lies, and the names of its columns, of which alone is told."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from werkzeug.datastructures import FileStorage

# Names of columns that are offered, at most.
SHOWN = 500


@dataclass(frozen=True)
class Opened:
    """A file with records.

    called: What a study calls it.
    decimal: The decimal sign of its numbers.
    header: Names of columns that may be shown; there are `others`.
    """

    path: Path
    called: str
    decimal: str
    header: tuple[str, ...] = ()
    others: int = 0

    @property
    def kind(self) -> str:
        """Type of the file, as its name says."""
        return "".join(self.path.suffixes[-2:] if self.path.suffix == ".gz" else self.path.suffixes[-1:])


def open_file(path: Path, called: str, decimal: str, public: bool) -> Opened:
    """Read the header of a file, and no record.

    Names are told where their being public is stated. Numbers and dates among them are not: where the
    header line is missing, they are somebody's values. Raises DpfdaError if it holds no records' header.
    """
    from dpfda.numerics.parameters import choice
    from dpfda.records.csv_tables import Stated
    from dpfda.records.dates import moments
    from dpfda.records.files import opened
    from dpfda.records.headers import as_number
    from dpfda.records.lines import Notation

    choice(decimal, "--decimal", (".", ","))
    labels = opened(path, Stated(Notation(decimal), None, "refuse", None)).labels
    words = [x for x in labels if as_number(x) is None and moments([x]) is None]
    told = tuple(words[:SHOWN]) if public else ()
    return Opened(path, called, decimal, told, len(labels) - len(told))


class Uploads:
    """A private folder of this run for a file that came through the browser; one at a time.

    It can be read by this user alone, and goes with the desk, or when another file comes.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dpfda-desk-")

    def keep(self, upload: FileStorage) -> Path:
        """Keep what was sent, in the place of what was kept before."""
        from werkzeug.utils import secure_filename

        name = secure_filename(upload.filename or "")
        if not name:
            raise ParameterError("The file", "have a name", "none")
        self.clear()
        # No two files ever lie at one place: what was checked with one is never run with another.
        path = Path(self._folder.name) / secrets.token_hex(8) / name
        path.parent.mkdir()
        upload.save(path)
        return path

    def clear(self) -> None:
        """Remove what is kept."""
        for kept in Path(self._folder.name).iterdir():
            shutil.rmtree(kept)

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()
