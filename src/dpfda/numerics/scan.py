"""Classes found by scan: a file in a folder that defines one is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any


def classes_in(package: str, attribute: str) -> tuple[type[Any], ...]:
    """Classes of the files in a package's folders that say an attribute of their own.

    Parameters
    ----------
    package : str
        Its name; packages within are left out.
    attribute : str
        By which the classes are known.
    """
    return _scanned(package, tuple(importlib.import_module(package).__path__), attribute)


@cache
def _scanned(package: str, path: tuple[str, ...], attribute: str) -> tuple[type[Any], ...]:
    found: list[type[Any]] = []
    for name in (module.name for module in pkgutil.iter_modules(path) if not module.ispkg):
        loaded = importlib.import_module(f"{package}.{name}")
        items = (item for item in vars(loaded).values() if isinstance(item, type))
        own = (item for item in items if item.__module__ == loaded.__name__)
        found += [item for item in own if attribute in vars(item)]
    return tuple(found)
