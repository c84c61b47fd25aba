"""Laws found by scan: a file in this folder that defines a law is found by itself, by its ``law``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any

import dpfda.noise
from dpfda.noise.protocol import Law, VectorLaw
from dpfda.numerics.encoding import mapping, text


def laws_of(kind: type[Law] = VectorLaw) -> dict[str, type[Any]]:
    """Names of all laws of a kind in the files of this folder, with their classes."""
    return {law.law: law for law in _laws(tuple(dpfda.noise.__path__)) if issubclass(law, kind)}


@cache
def _laws(path: tuple[str, ...]) -> tuple[type[Any], ...]:
    found: list[type[Any]] = []
    for module in pkgutil.iter_modules(path):
        loaded = importlib.import_module(f"{dpfda.noise.__name__}.{module.name}")
        items = (item for item in vars(loaded).values() if isinstance(item, type))
        found += [item for item in items if "law" in vars(item) and item.__module__ == loaded.__name__]
    return tuple(found)


def law_from_json(written: object, kind: type[Law] = VectorLaw) -> Any:
    """The law that `Law.to_json` wrote.

    Raises
    ------
    KeyError
        If no law of this kind has the name.
    """
    entries = mapping(written)
    return laws_of(kind)[text(entries["law"])].from_json(entries)
