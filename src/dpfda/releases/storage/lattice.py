"""Releases on a lattice as JSON types, and back."""

from __future__ import annotations

from functools import partial
from typing import Any

from dpfda.bases.encoding import exponent, integer, integers, mapping, number
from dpfda.noise import KNormNoise
from dpfda.numerics.rationals import rational, readable
from dpfda.releases.lattice import LatticeRelease, stated_by_caller
from dpfda.releases.storage.certificates import (
    CERTIFIED,
    certificate_from_json,
    certificate_to_json,
    earlier_sum,
)

FORMAT = "dpfda-lattice-release"
SCHEMA_VERSION = CERTIFIED


def to_json(release: LatticeRelease) -> dict[str, Any]:
    """Everything in a release on a lattice as JSON types."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        **certificate_to_json(release.certificate),
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
    noise = KNormNoise((1,), (integer(written["laplace_scale"], 1),))
    move = rational(written["sensitivity"])
    return LatticeRelease(
        noisy_values=integers(written["noisy_values"]),
        degree=integer(written["degree"], 1, 1000),
        domain_range=tuple((number(start), number(end)) for start, end in written["domain_range"]),
        exponent=exponent(written["exponent"]),
        scale=integer(written["laplace_scale"], 1),
        sensitivity=move,
        certificate=certificate_from_json(
            written,
            partial(earlier_sum, noise, 1.0),
            lambda: ({"description": stated_by_caller(readable(move))}, {"name": "bernstein"}),
            [noise],
        ),
        about=mapping(written["about"]),
    )
