"""Releases on a lattice as JSON types, and back."""

from __future__ import annotations

from typing import Any

from dpfda.bases.encoding import exponent, integer, integers, mapping, name, number
from dpfda.guarantees import Neighbours, rational
from dpfda.releases.lattice import LatticeRelease
from dpfda.storage.parts import guarantee_from_json, guarantee_to_json

FORMAT = "dpfda-lattice-release"
SCHEMA_VERSION = 1


def to_json(release: LatticeRelease) -> dict[str, Any]:
    """Everything in a release on a lattice as JSON types."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "guarantee": guarantee_to_json(release.guarantee),
        "guarantee_recomputed": guarantee_to_json(release.stated),
        "neighbours": str(release.neighbours),
        "privacy_unit": release.unit,
        "sensitivity": str(release.sensitivity),
        "about": dict(release.about),
        "domain_range": [list(ends) for ends in release.domain_range],
        "degree": release.degree,
        "exponent": release.exponent,
        "laplace_scale": release.scale,
        "noisy_values": list(release.noisy_values),
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> LatticeRelease:
    """Build a release on a lattice from JSON types."""
    return LatticeRelease(
        noisy_values=integers(written["noisy_values"]),
        degree=integer(written["degree"], 1, 1000),
        domain_range=tuple((number(start), number(end)) for start, end in written["domain_range"]),
        exponent=exponent(written["exponent"]),
        scale=integer(written["laplace_scale"], 1),
        sensitivity=rational(written["sensitivity"]),
        guarantee=guarantee_from_json(written["guarantee"]),
        stated=guarantee_from_json(written["guarantee_recomputed"]),
        neighbours=Neighbours.parse(written["neighbours"]),
        unit=name(written["privacy_unit"]),
        about=mapping(written["about"]),
    )
