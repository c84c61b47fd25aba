"""Verbs, found by scan and loaded when asked for: files of this folder, and those of what is published.

A verb is called as its file: ``eval``, what stands before ``_verb``, or the folder of a file ``verb``.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

from dpfda.command.functions import Declared, Group
from dpfda.numerics.scan import Late, Made, files_named

if TYPE_CHECKING:
    from dpfda.command.publishing import Publication


def published() -> Late[Publication]:
    """Verbs that publish, by name."""
    return _loaded({_called(module): module for module in files_named("verb")})


def scanned() -> Late[Declared | Group]:
    """All verbs and groups of verbs, by name."""
    own = {module.name: f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)}
    return _loaded(own | {_called(module): module for module in files_named("verb")})


def _loaded(modules: dict[str, str]) -> Late[Made]:
    return Late(sorted(modules), lambda name: import_module(modules[name]).VERB)


def _called(module: str) -> str:
    *_, folder, file = module.split(".")
    return (file.removesuffix("verb").removesuffix("_") or folder).replace("_", "-")


def declared_verbs() -> dict[str, Declared]:
    """All verbs by what is typed for them, such as "ledger show"."""
    listed = {**scanned()}
    groups = {name: verb for name, verb in listed.items() if isinstance(verb, Group)}
    alone = {name: verb for name, verb in listed.items() if not isinstance(verb, Group)}
    within = ((name, group.verbs) for name, group in groups.items())
    return alone | {f"{name} {own}": verb for name, verbs in within for own, verb in verbs.items()}
