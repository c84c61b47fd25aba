"""What is found by scan, or loaded when first used: classes, files of a name, names of a package."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

Made = TypeVar("Made")


class Late(Mapping[str, Made]):
    """What is made when it is asked for, by names that are known before."""

    def __init__(self, names: Sequence[str], make: Callable[[str], Made]) -> None:
        self._names, self._make = names, cache(make)

    def __getitem__(self, name: str) -> Made:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def classes_in(package: str, attribute: str) -> tuple[type[Any], ...]:
    """Classes of the files in a package's folders that say an attribute of their own.

    package: Its name; packages within are left out.
    attribute: By which the classes are known.
    """
    return _scanned(package, tuple(importlib.import_module(package).__path__), attribute)


@cache
def _scanned(package: str, path: tuple[str, ...], attribute: str) -> tuple[type[object], ...]:
    classes: list[type[object]] = []
    for name in (module.name for module in pkgutil.iter_modules(path) if not module.ispkg):
        loaded = importlib.import_module(f"{package}.{name}")
        items = (item for item in vars(loaded).values() if isinstance(item, type))
        own = (item for item in items if item.__module__ == loaded.__name__)
        classes += [item for item in own if attribute in vars(item)]
    return tuple(classes)


@cache
def files_named(name: str) -> tuple[str, ...]:
    """Modules ``name`` and ``..._name`` of all folders of the package, without importing them."""
    root = Path(__file__).parents[1]
    return tuple(
        ".".join([root.name, *file.relative_to(root).with_suffix("").parts])
        for file in sorted(root.glob(f"*/**/*{name}.py"))
        if file.stem == name or file.stem.endswith(f"_{name}")
    )


def later(package: str) -> Callable[[str], object]:
    """The ``__getattr__`` of a package, from what stands under ``if TYPE_CHECKING`` in its file."""

    @cache
    def homes() -> dict[str, str]:
        # Slow to load.
        import ast

        loader: Any = sys.modules[package].__loader__
        parts = [part for part in ast.parse(loader.get_source(package)).body if isinstance(part, ast.If)]
        checked = [statement for part in parts for statement in part.body]
        imports = [statement for statement in checked if isinstance(statement, ast.ImportFrom)]
        return {name.name: str(statement.module) for statement in imports for name in statement.names}

    def load(name: str) -> object:
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes()[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
