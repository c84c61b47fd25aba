"""Files of releases: written whole or not at all, read as JSON of a known format and version."""

from __future__ import annotations

import itertools
import json
import math
import os
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from dpfda.numerics import parameters
from dpfda.numerics.errors import CustodyError, DpfdaError, StorageError
from dpfda.numerics.words import legible

Made = TypeVar("Made")

# What reading may meet in a file that is not as this library wrote it.
DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
# A file is read whole: at most half a gigabyte, of which text is one value and a number another.
LARGEST_FILE = 2**29
LARGEST_COUNT = 2**23
# Ends of names that promise something else than a release, which is JSON.
PICTURES = (".png", ".pdf", ".svg")
BINARY = (".xls", ".xlsx", ".parquet", ".pq", ".feather")
OTHERS = {
    "table": (".csv", ".tsv", *BINARY),
    "picture": (*PICTURES, ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".eps"),
    "page": (".html", ".htm"),
}


def check_writable(path: str | Path) -> Path:
    """Make sure that a file can be written there, before anything is charged or drawn.

    Raises StorageError if its folder does not exist or cannot be written to, or the path is a folder,
    device or pipe.
    """
    target = parameters.path(path)
    folder = target.parent
    if target.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise StorageError(
            f"The output path must be a file in an existing folder that can be written to; found "
            f"{str(target)!r}. Create the folder or choose another path."
        )
    if target.exists() and not target.is_file():
        raise StorageError(
            f"The output path must be a file; found {str(target)!r}, which is a device, pipe or socket "
            "and would be replaced. Choose another path."
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise StorageError(f"The output file {str(target)!r} exists and cannot be overwritten.")
    return target


def other_kind(path: str | Path) -> str | None:
    """What the name of a release's file says that it is, where that is not JSON: a table, say."""
    ends = parameters.path(path).suffix.lower()
    return next((kind for kind, endings in OTHERS.items() if ends in endings), None)


def free_name(path: str | Path) -> Path:
    """The path of a file that is not there: a.json, a-2.json, a-3.json."""
    wanted = parameters.path(path)
    others = (wanted.with_name(f"{wanted.stem}-{k}{wanted.suffix}") for k in itertools.count(2))
    return next(name for name in itertools.chain([wanted], others) if not name.exists())


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file whole or not at all."""
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes, mode: int = 0o644) -> Path:
    """Write a file whole or not at all; mode: who may read it."""
    target = check_writable(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as handle:
            temporary = Path(handle.name)
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise StorageError(f"{str(target)!r} could not be written: {error.strerror}.") from None
    return target


def write_json(path: str | Path, written: dict[str, object], overwrite: bool = False) -> Path:
    """Write JSON types to a file, whole or not at all.

    Raises StorageError if there is such a file, unless it may be overwritten.
    """
    if not parameters.flag(overwrite, "overwrite") and parameters.path(path).is_file():
        raise StorageError(
            f"path must be a new file; found that {str(path)!r} exists. Choose another path, or pass "
            "$overwrite.",
        )
    return write_text(path, json.dumps(written, indent=1, allow_nan=False) + "\n")


def read_json(path: str | Path) -> Any:
    """The content of a JSON file from anyone: its size, its parts and its depth are limited.

    Texts in it are `dpfda.numerics.words.visible`.

    Raises StorageError if it cannot be read, is too large, or is not JSON with finite numbers.
    """
    content = _read_bytes(parameters.path(path))
    if sum(map(content.count, (b",", b"[", b"{"))) > LARGEST_COUNT:
        raise StorageError(f"{str(path)!r} must hold at most {LARGEST_COUNT} values; found more.")
    try:
        read = json.loads(content.decode("utf-8-sig"), parse_constant=_refused)
        _check_finite(read)
        return legible(read)
    except (ValueError, RecursionError):
        raise StorageError(f"{str(path)!r} must be a JSON file; found something else.") from None


def _read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            content = handle.read(LARGEST_FILE + 1)
    except OSError as error:
        raise StorageError(f"{str(path)!r} could not be read: {error.strerror}.") from None
    if len(content) > LARGEST_FILE:
        raise StorageError(f"{str(path)!r} must have at most {LARGEST_FILE} bytes; found more.")
    return content


def _refused(written: str) -> NoReturn:
    raise ValueError(f"{written} is no number")


def _check_finite(read: object) -> None:
    """Refuse numbers that are too large for a float, at any depth."""
    waiting: list[dict[str, object] | list[object]] = [[read]]
    while waiting:
        part = waiting.pop()
        values: Collection[object] = part.values() if isinstance(part, dict) else part
        kinds = set(map(type, values))
        if float in kinds and (math.inf in values or -math.inf in values):
            raise ValueError("a number is not finite")
        if not kinds.isdisjoint((dict, list)):
            waiting.extend(value for value in values if isinstance(value, dict | list))


def built(make: Callable[[], Made], path: str | Path) -> Made:
    """What a reader makes of a file; whatever goes wrong in it is damage, but for what was agreed."""
    try:
        # Numbers that overflow are found where what they make is checked.
        with np.errstate(all="ignore"):
            return make()
    except (StorageError, CustodyError):
        raise
    except (DpfdaError, *DAMAGE) as error:
        raise StorageError(
            f"{str(path)!r} is damaged: {type(error).__name__} while reading it."
        ) from None
