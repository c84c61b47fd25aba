"""What is asked of a charge, as the history keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, added, checked_guarantee
from dpfda.privacy.ledger.accounts import Amount, checked_name


def costs_of(given: Guarantee | Cost | Sequence[Cost]) -> tuple[Cost, ...]:
    """The costs of a release, one a stage."""
    if isinstance(given, Sequence):
        if not given or not all(isinstance(cost, Cost) for cost in given):
            raise ParameterError("costs", "be one or more costs", repr(given))
        return tuple(given)
    return (given if isinstance(given, Cost) else Cost(checked_guarantee(given)),)


def asked_by(costs: Sequence[Cost]) -> dict[str, object]:
    """What a release costs in its own terms, and what each of its stages does."""
    whole = added([cost.guarantee for cost in costs])
    written = {"kind": whole.kind, **Amount.of(whole).written()}
    return {**written, "costs": [cost.to_json() for cost in costs]}


def required(entry: Mapping[str, object], key: str) -> object:
    """What an entry must say."""
    if not isinstance(entry, Mapping):
        raise ParameterError("entry", "be a mapping of words to public things", shown(entry))
    if key not in entry:
        raise ParameterError(
            "entry",
            f"have the key {key!r}",
            f"{sorted(map(str, entry))}",
            "A charge is meaningless without it.",
        )
    return entry[key]


def unit_of(entry: Mapping[str, object]) -> str:
    """The privacy unit of a release."""
    return checked_name(required(entry, "privacy_unit"), "privacy_unit")


def plain(entry: Mapping[str, object]) -> dict[str, object]:
    """The entry as JSON types, so that it can be kept and read back."""
    try:
        plain: dict[str, object] = json.loads(json.dumps(dict(entry), default=str, allow_nan=False))
    except (TypeError, ValueError):
        raise ParameterError("entry", "consist of JSON types", "something else") from None
    return plain
