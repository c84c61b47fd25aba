"""Released group comparisons as JSON types, and back."""

from __future__ import annotations

from typing import Any

from dpfda.bases.encoding import name
from dpfda.releases.comparison import ReleasedComparison
from dpfda.storage import functions

FORMAT = "dpfda-comparison"
SCHEMA_VERSION = 1


def to_json(release: ReleasedComparison) -> dict[str, Any]:
    """The releases of all groups, by name."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "composition": release.describe_composition(),
        "groups": [
            {"name": name, "mean": functions.to_json(mean)} for name, mean in release.means.items()
        ],
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> ReleasedComparison:
    """Build a comparison from JSON types."""
    return ReleasedComparison(
        {name(part["name"]): functions.from_json(part["mean"], kernel) for part in written["groups"]}
    )
