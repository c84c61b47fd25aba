"""Laws found by scan: a file in this folder that defines a law is found by itself, by its ``law``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

import dpfda.noise
from dpfda.noise.protocol import Law, VectorLaw


def laws_of(kind: type[Law] = VectorLaw) -> dict[str, type[Any]]:
    """Names of all laws of a kind in the files of this folder, with their classes."""
    found: dict[str, type[Any]] = {}
    for module in pkgutil.iter_modules(dpfda.noise.__path__):
        loaded = importlib.import_module(f"{dpfda.noise.__name__}.{module.name}")
        for item in vars(loaded).values():
            named = isinstance(item, type) and "law" in vars(item) and item.__module__ == loaded.__name__
            if named and issubclass(item, kind):
                found[item.law] = item
    return found


def law_from_json(written: Mapping[str, Any], kind: type[Law] = VectorLaw) -> Any:
    """The law that `Law.to_json` wrote.

    Raises
    ------
    KeyError
        If no law of this kind has the name.
    """
    return laws_of(kind)[written["law"]].from_json(written)
