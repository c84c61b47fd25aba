"""Kinds of containers, found by scan: a file in this folder with a `Door` is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dpfda.records.doors.protocol import Door


def door_of(data: object) -> Door | None:
    """The door for a container, by its type; None for arrays, sequences and tables."""
    _load(tuple(__path__))
    return next(
        (door for door in (kind() for kind in Door.__subclasses__()) if door.recognises(data)), None
    )


@cache
def _load(path: tuple[str, ...]) -> None:
    for found in pkgutil.iter_modules(path):
        importlib.import_module(f"{__name__}.{found.name}")


__all__ = ["Door", "door_of"]
