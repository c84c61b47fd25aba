"""Released covariances as JSON types, and back."""

from __future__ import annotations

from typing import Any

from dpfda.bases import Basis
from dpfda.bases.encoding import exponent, floats, integer, integers, mapping, name
from dpfda.bases.protocol import BoxFunctions
from dpfda.guarantees import Neighbours
from dpfda.noise.symmetric import SYMMETRIC_LAWS
from dpfda.releases.covariance import ReleasedCovariance
from dpfda.storage import functions
from dpfda.storage.parts import (
    basis_from_json,
    divisor_from_json,
    divisor_to_json,
    guarantee_from_json,
    guarantee_to_json,
)

FORMAT = "dpfda-covariance"
SCHEMA_VERSION = 1


def to_json(release: ReleasedCovariance) -> dict[str, Any]:
    """Everything in a release as JSON types, in the order in which a person would read it."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "guarantee": guarantee_to_json(release.guarantee),
        "guarantee_recomputed": guarantee_to_json(release.stated),
        "neighbours": str(release.neighbours),
        "privacy_unit": release.unit,
        "bound": dict(release.bound),
        "mechanism": dict(release.mechanism),
        "about": dict(release.about),
        "noisy_sum": list(release.noisy_sum),
        "exponent": release.exponent,
        "divisor": divisor_to_json(release.divisor),
        "shrunk": release.shrunk,
        "center": release.center.tolist(),
        "noise": {
            "law": release.noise.law,
            "words": release.noise.describe(),
            "size": release.noise.size,
            "scale": release.noise.scale,
        },
        "basis": release.basis.to_json(),
        "mean": None if release.mean is None else functions.to_json(release.mean),
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> ReleasedCovariance:
    """Build a release from JSON types."""
    noise = written["noise"]
    mean = written["mean"]
    release = ReleasedCovariance(
        basis=interval_basis(written["basis"], kernel),
        noisy_sum=integers(written["noisy_sum"]),
        exponent=exponent(written["exponent"]),
        divisor=divisor_from_json(written["divisor"]),
        center=floats(written["center"]),
        noise=SYMMETRIC_LAWS[noise["law"]](integer(noise["size"], 1), integer(noise["scale"], 1)),
        guarantee=guarantee_from_json(written["guarantee"]),
        stated=guarantee_from_json(written["guarantee_recomputed"]),
        neighbours=Neighbours.parse(written["neighbours"]),
        unit=name(written["privacy_unit"]),
        bound=mapping(written["bound"]),
        mechanism=mapping(written["mechanism"]),
        about=mapping(written["about"]),
        mean=None if mean is None else functions.from_json(mean, kernel),
        shrunk=written["shrunk"] is True,
    )
    if len(release.noisy_sum) != release.noise.components:
        raise ValueError("the integers do not fit the noise")
    if release.basis.eigenvalues.size != release.noise.size or not release.count > 0:
        raise ValueError("the functions must fit the noise and the divisor be positive")
    if release.center.shape != release.grid_points.shape:
        raise ValueError("the center must fit the grid")
    return release


def interval_basis(written: dict[str, Any], kernel: Any) -> Basis:
    """A basis of functions on an interval, by its kind."""
    basis = basis_from_json(written, kernel)
    if isinstance(basis, BoxFunctions):
        raise ValueError("the functions must be on an interval")
    return basis
