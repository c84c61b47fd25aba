"""The kinds of release that files hold: a new kind is one module and one entry here.

The module has ``FORMAT``, ``SCHEMA_VERSION``, ``to_json(release)`` and ``from_json(written, kernel)``.
Modules are imported by the names below, never by a name from a file.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpfda.errors import StorageError
from dpfda.releases.storage.files import built, read_json, write_json


@dataclass(frozen=True)
class Kind:
    """A kind of release.

    Parameters
    ----------
    home : str
        Module that writes and reads it.
    words : str
        What people call it.
    loader : str
        What reads it from a file.
    """

    home: str
    words: str
    loader: str


# A session's answers: no release that can be evaluated, but one that was paid for.
ANSWERS = "dpfda-answers"

KINDS = {
    "dpfda-release": Kind("dpfda.releases.storage.functions", "dpfda release", "dpfda.load"),
    "dpfda-lattice-release": Kind(
        "dpfda.releases.storage.lattice", "dpfda release on a lattice", "dpfda.LatticeRelease.load"
    ),
    "dpfda-predictor": Kind(
        "dpfda.releases.storage.predictors", "released predictor", "dpfda.ReleasedPredictor.load"
    ),
    "dpfda-density": Kind(
        "dpfda.releases.storage.densities", "released density", "dpfda.ReleasedDensity.load"
    ),
    "dpfda-field": Kind("dpfda.releases.storage.fields", "dpfda release on a box", "dpfda.load"),
    "dpfda-two-stage": Kind(
        "dpfda.releases.storage.staged", "dpfda release in two stages", "dpfda.load"
    ),
    "dpfda-covariance": Kind(
        "dpfda.releases.storage.covariances", "released dpfda covariance", "dpfda.load"
    ),
    "dpfda-components": Kind(
        "dpfda.releases.storage.principal", "dpfda release of components", "dpfda.load"
    ),
    "dpfda-comparison": Kind(
        "dpfda.releases.storage.comparisons", "dpfda comparison of groups", "dpfda.load"
    ),
}


def check_version(found: Any, newest: int) -> bool:
    """Whether a file of this schema can be read: the newest, or one that came before."""
    return type(found) is int and 1 <= found <= newest


def save_as(kind: str, release: Any, path: str | Path) -> Path:
    """Write a release of a kind to a JSON file."""
    return write_json(path, importlib.import_module(KINDS[kind].home).to_json(release))


def load_kind(path: str | Path, kind: str | None = None, kernel: Any = None) -> Any:
    """Read a release from a JSON file.

    Parameters
    ----------
    path : path
    kind : str, optional
        The format that it must have; by default any.
    kernel : callable, optional
        The kernel, where the release was made with a custom function.

    Raises
    ------
    StorageError
        If the file is missing, not a release of the kind, of a later schema, or damaged.
    """
    written = read_json(path)
    found = written.get("format") if isinstance(written, dict) else None
    if not isinstance(found, str) or found not in KINDS or kind not in (None, found):
        wanted = KINDS[kind or "dpfda-release"].words
        known = isinstance(found, str) and found in KINDS
        remedy = f" Read it with {KINDS[str(found)].loader}." if known else ""
        words = found if known else "another kind of file"
        raise StorageError(f"{str(path)!r} must be a {wanted}; found {words}.{remedy}")
    home = importlib.import_module(KINDS[found].home)
    if not check_version(written.get("schema_version"), home.SCHEMA_VERSION):
        raise StorageError(
            f"{str(path)!r} must have schema version {home.SCHEMA_VERSION}; found "
            f"{written.get('schema_version')!r}. Update dpfda to read later files."
        )
    return built(lambda: _shown(home.from_json(written, kernel)), path)


def _shown(release: Any) -> Any:
    """A release, if it can be shown: its descriptions come from the file as well."""
    repr(release)
    return release
