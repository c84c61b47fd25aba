"""Releases that a verb opens: from their files, or one that is piped in."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.releases.base import Release

# Stands for standard input.
PIPED = "-"


def opened(file: Path) -> Release:
    """The release in a file; of -, the one on standard input.

    Raises
    ------
    ParameterError
        If nothing was piped in.
    StorageError
        If it is no release.
    """
    from dpfda.releases.base import load

    return load(file) if str(file) != PIPED else opened_with_bytes(file)[0]


def conditional(release: Release, given: str) -> Release:
    """The density of one variable of two where the other has a value: "40", "age=40".

    Raises
    ------
    ParameterError
        If the release is no density of two variables, or it is none of these.
    """
    from dpfda.releases.density import ReleasedDensity

    if not isinstance(release, ReleasedDensity) or release.dimensions != 2:
        raise ParameterError("--given", "be of a density of two variables", type(release).__name__)
    name, _, value = given.rpartition("=")
    labels = [release.axis_label(axis).partition(" (")[0] for axis in range(2)]
    if name.strip() not in ("", *labels):
        raise ParameterError("--given", f"name one of {labels}", repr(name))
    try:
        place = float(value)
    except ValueError:
        words = "be a value of the first variable, or NAME=VALUE"
        raise ParameterError("--given", words, repr(given), "Example: --given age=40") from None
    return release.conditional(place, labels.index(name.strip()) if name else 0)


def opened_with_bytes(file: Path) -> tuple[Release, bytes]:
    """The release as of `opened`, and what the file holds, for its hash."""
    from dpfda.releases.base import load

    if str(file) != PIPED:
        return load(file), file.read_bytes()
    if sys.stdin is None or sys.stdin.isatty():
        raise ParameterError("F.json", "be '-' only where a release is piped in", "a terminal")
    # A release is public: it may be written anywhere.
    with tempfile.TemporaryDirectory() as folder:
        piped = Path(folder) / "standard input"
        piped.write_bytes(sys.stdin.buffer.read())
        return load(piped), piped.read_bytes()
