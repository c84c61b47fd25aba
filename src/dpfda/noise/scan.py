"""Laws found by scan: a file in this folder that defines a law is found by itself, by its ``law``."""

from __future__ import annotations

from typing import Any

from dpfda.noise.protocol import Law, VectorLaw
from dpfda.numerics.encoding import mapping, text
from dpfda.numerics.scan import classes_in


def laws_of(kind: type[Law] = VectorLaw) -> dict[str, type[Any]]:
    """Names of all laws of a kind in the files of this folder, with their classes."""
    laws = classes_in(__name__.rpartition(".")[0], "law")
    return {law.law: law for law in laws if issubclass(law, kind)}


def law_from_json(written: object, kind: type[Law] = VectorLaw) -> Any:
    """The law that `Law.to_json` wrote. Raises KeyError if no law of this kind has the name."""
    entries = mapping(written)
    return laws_of(kind)[text(entries["law"])].from_json(entries)
