"""Releases as JSON files with a schema version; reading one never runs code from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpfda.releases.storage.files import check_writable, write_text
from dpfda.releases.storage.functions import SCHEMA_VERSION, from_json, to_json
from dpfda.releases.storage.kinds import KINDS, load_kind, save_as

__all__ = [
    "KINDS",
    "SCHEMA_VERSION",
    "check_writable",
    "from_json",
    "load",
    "load_kind",
    "save_as",
    "to_json",
    "write_text",
]


def load(path: str | Path, kernel: Any = None) -> Any:
    """Read a release of any kind from a JSON file.

    Parameters
    ----------
    path : path
    kernel : callable, optional
        The kernel, where the release was made with a custom function.

    Returns
    -------
    ReleasedFunction, LatticeRelease or another released object
        As the file says.

    Raises
    ------
    StorageError
        If the file is missing, not a release, of a later schema, or damaged.
    """
    return load_kind(path, None, kernel)
