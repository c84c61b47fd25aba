"""Names of a package that are loaded when first used, as its imports for type checking state them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def later(package: str) -> Callable[[str], object]:
    """The ``__getattr__`` of a package, from what stands under ``if TYPE_CHECKING`` in its file."""

    @cache
    def homes() -> dict[str, str]:
        # Slow to load.
        import ast

        loader: Any = sys.modules[package].__loader__
        parts = [part for part in ast.parse(loader.get_source(package)).body if isinstance(part, ast.If)]
        checked = [each for part in parts for each in part.body]
        imports = [each for each in checked if isinstance(each, ast.ImportFrom)]
        return {name.name: str(each.module) for each in imports for name in each.names}

    def load(name: str) -> object:
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(homes()[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return load
