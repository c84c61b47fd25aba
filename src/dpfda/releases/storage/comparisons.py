"""Released group comparisons as JSON types, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpfda.bases.encoding import name
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost
from dpfda.releases.comparison import ReleasedComparison
from dpfda.releases.storage import functions
from dpfda.releases.storage.certificates import CERTIFIED, certificate_to_json, identity_of

FORMAT = "dpfda-comparison"
SCHEMA_VERSION = CERTIFIED


def to_json(release: ReleasedComparison) -> dict[str, Any]:
    """The releases of all groups, by name."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        **certificate_to_json(release.certificate),
        "composition": release.describe_composition(),
        "groups": [
            {"name": name, "mean": functions.to_json(mean)} for name, mean in release.means.items()
        ],
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> ReleasedComparison:
    """Build a comparison from JSON types."""
    means = {name(part["name"]): functions.from_json(part["mean"], kernel) for part in written["groups"]}
    if written.get("schema_version") == 1:
        # One charge paid for all; what all groups have in common is the guarantee.
        identity = identity_of({"noise": [identity_of(part["mean"]) for part in written["groups"]]})
        for group, mean in means.items():
            whole = Cost(mean.guarantee)
            certificate = replace(mean.certificate, identity=identity, stages=(WHOLE,), costs=(whole,))
            means[group] = replace(mean, certificate=certificate)
    return ReleasedComparison(means)
