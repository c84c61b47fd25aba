"""Mechanisms, one file a family: each states its norm and its proof.

A file in this folder that defines classes with a ``name`` and a ``design`` method is found by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any

from dpfda.mechanisms.protocol import (
    COUNT_SCALE,
    AdaptingMechanism,
    CandidateMechanism,
    Design,
    Mechanism,
    Problem,
)
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown

_SHARED = {"protocol", "blocks", "bodies"}


def mechanisms() -> dict[str, type[Any]]:
    """Names of all mechanisms, with their classes."""
    return dict(_found(tuple(__path__)))


@cache
def _found(path: tuple[str, ...]) -> Mapping[str, type[Any]]:
    found: dict[str, type[Any]] = {}
    for module in pkgutil.iter_modules(path):
        if module.ispkg or module.name in _SHARED:
            continue
        loaded = importlib.import_module(f"{__name__}.{module.name}")
        for item in vars(loaded).values():
            if isinstance(item, type) and item.__module__ == loaded.__name__:
                found[str(vars(item)["name"])] = item
    return dict(sorted(found.items()))


def read_mechanism(mechanism: Any) -> Mechanism:
    """Read a mechanism from its name or take it as it is.

    Raises
    ------
    ParameterError
        If the name is unknown or the object has no `design` method.
    """
    known = mechanisms()
    if isinstance(mechanism, str):
        if mechanism not in known:
            raise ParameterError("mechanism", f"be 'auto' or one of {', '.join(known)}", repr(mechanism))
        made: Mechanism = known[mechanism]()
        return made
    if isinstance(mechanism, type) or not hasattr(mechanism, "design"):
        raise ParameterError(
            "mechanism", "be a name or a mechanism object", shown(mechanism), "Add parentheses?"
        )
    given: Mechanism = mechanism
    return given


__all__ = [
    "COUNT_SCALE",
    "AdaptingMechanism",
    "CandidateMechanism",
    "Design",
    "Mechanism",
    "Problem",
    "mechanisms",
    "read_mechanism",
]
