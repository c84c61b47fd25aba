"""Released functions on boxes as JSON types, and back."""

from __future__ import annotations

from typing import Any

from dpfda.releases.field import ReleasedField
from dpfda.releases.storage.certificates import CERTIFIED
from dpfda.releases.storage.functions import check_parts, numbers, parts_from_json, public_parts

FORMAT = "dpfda-field"
SCHEMA_VERSION = CERTIFIED


def to_json(release: ReleasedField) -> dict[str, Any]:
    """Everything in a release as JSON types, in the order in which a person would read it."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        **public_parts(release),
        **numbers(release),
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> ReleasedField:
    """Build a release from JSON types."""
    release = ReleasedField(**parts_from_json(written, kernel))
    check_parts(release)
    if release.center.size not in (1, release.basis.weights.size):
        raise ValueError("the center must fit the grid")
    return release
