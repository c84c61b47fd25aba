"""Mechanisms, one file a family: each states its norm and its proof.

A file in this folder that defines classes with a ``name`` and a ``design`` method is found by itself.
"""

from __future__ import annotations

from operator import attrgetter
from typing import cast

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
from dpfda.numerics.scan import classes_in


def mechanisms() -> dict[str, type[Mechanism]]:
    """Names of all mechanisms, with their classes."""
    return {kind.name: kind for kind in sorted(classes_in(__name__, "name"), key=attrgetter("name"))}


def read_mechanism(mechanism: object) -> Mechanism:
    """Read a mechanism from its name or take it as it is.

    Raises ParameterError if the name is unknown or the object has no `design` method.
    """
    named = mechanisms()
    if isinstance(mechanism, str):
        if mechanism not in named:
            words = f"be 'auto' or one of {', '.join(named)}"
            remedy = "Means of curves between bounds know 'one-look' and 'two-looks' beside these."
            raise ParameterError("mechanism", words, repr(mechanism), remedy)
        return named[mechanism]()
    if isinstance(mechanism, type) or not hasattr(mechanism, "design"):
        raise ParameterError(
            "mechanism", "be a name or a mechanism object", shown(mechanism), "Add parentheses?"
        )
    return cast("Mechanism", mechanism)


__all__ = [
    "COUNT_SCALE", "AdaptingMechanism", "CandidateMechanism", "Design", "Mechanism", "Problem",
    "mechanisms", "read_mechanism",
]  # fmt: skip
