"""Verbs, found by scan: modules of this folder, and modules named verb, that hold a ``VERB``."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

from dpfda.command.declared import Declared
from dpfda.command.functions import Group
from dpfda.command.publishing import Publication
from dpfda.numerics.scan import files_named


def scanned(without: tuple[str, ...] = ()) -> list[Any]:
    """The declarations of all verbs, in order of their names.

    Parameters
    ----------
    without : tuple of str
        Modules of this folder that are left out.
    """
    own = [module.name for module in pkgutil.iter_modules(__path__) if module.name not in without]
    names = [*(f"{__name__}.{name}" for name in own), *files_named("verb")]
    return sorted((import_module(name).VERB for name in names), key=lambda verb: str(verb.name))


def declared_verbs() -> dict[str, Declared]:
    """All verbs by what is typed for them, such as "ledger show"."""
    alone = {verb.name: verb for verb in scanned() if not isinstance(verb, Group)}
    groups = [group for group in scanned() if isinstance(group, Group)]
    return alone | {f"{group.name} {verb.name}": verb for group in groups for verb in group.verbs}


def publications() -> dict[str, Publication]:
    """All verbs that publish."""
    return {name: verb for name, verb in declared_verbs().items() if isinstance(verb, Publication)}
