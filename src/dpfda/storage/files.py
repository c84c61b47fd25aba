"""Files of releases: written whole or not at all, read as JSON of a known format and version."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from dpfda.errors import StorageError

Made = TypeVar("Made")


def check_writable(path: str | Path) -> Path:
    """Make sure that a file can be written there, before anything is charged or drawn.

    Raises
    ------
    StorageError
        If its folder does not exist or cannot be written to, or the path is a folder.
    """
    target = Path(path)
    folder = target.parent
    if target.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise StorageError(
            f"The output path must be a file in an existing folder that can be written to; found "
            f"{str(target)!r}. Create the folder or choose another path."
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise StorageError(f"The output file {str(target)!r} exists and cannot be overwritten.")
    return target


def write_text(path: str | Path, text: str) -> Path:
    """Write a file whole or not at all."""
    target = check_writable(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as handle:
            temporary = Path(handle.name)
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise StorageError(f"{str(target)!r} could not be written: {error.strerror}.") from None
    return target


def write_json(path: str | Path, written: dict[str, Any]) -> Path:
    """Write JSON types to a file, whole or not at all."""
    return write_text(path, json.dumps(written, indent=1, allow_nan=False) + "\n")


def read_json(path: str | Path) -> Any:
    """The content of a JSON file."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise StorageError(f"{str(path)!r} could not be read: {error.strerror}.") from None
    except ValueError:
        raise StorageError(f"{str(path)!r} must be a JSON file; found something else.") from None


def built(make: Callable[[], Made], path: str | Path) -> Made:
    """What a reader makes of a file; whatever goes wrong in it is damage."""
    try:
        return make()
    except StorageError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StorageError(
            f"{str(path)!r} is damaged: {type(error).__name__} while reading it."
        ) from None
