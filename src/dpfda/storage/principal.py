"""Released principal components as JSON types, and back."""

from __future__ import annotations

from typing import Any

from dpfda.bases.encoding import floats, mapping, name, number
from dpfda.guarantees import Neighbours
from dpfda.releases.components import ReleasedComponents
from dpfda.storage import functions
from dpfda.storage.covariances import interval_basis
from dpfda.storage.parts import guarantee_from_json, guarantee_to_json

FORMAT = "dpfda-components"
SCHEMA_VERSION = 1


def to_json(release: ReleasedComponents) -> dict[str, Any]:
    """Everything in a release as JSON types, in the order in which a person would read it."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "guarantee": guarantee_to_json(release.guarantee),
        "neighbours": str(release.neighbours),
        "privacy_unit": release.unit,
        "bound": dict(release.bound),
        "mechanism": dict(release.mechanism),
        "about": dict(release.about),
        "variances": release.variances.tolist(),
        "total_variance": release.total,
        "noise_floor": release.floor,
        "vectors": release.vectors.tolist(),
        "center": release.center.tolist(),
        "basis": release.basis.to_json(),
        "mean": None if release.mean is None else functions.to_json(release.mean),
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> ReleasedComponents:
    """Build a release from JSON types."""
    mean = written["mean"]
    release = ReleasedComponents(
        basis=interval_basis(written["basis"], kernel),
        vectors=floats(written["vectors"]),
        variances=floats(written["variances"]),
        total=None if written["total_variance"] is None else number(written["total_variance"]),
        floor=None if written["noise_floor"] is None else number(written["noise_floor"]),
        center=floats(written["center"]),
        guarantee=guarantee_from_json(written["guarantee"]),
        neighbours=Neighbours.parse(written["neighbours"]),
        unit=name(written["privacy_unit"]),
        bound=mapping(written["bound"]),
        mechanism=mapping(written["mechanism"]),
        about=mapping(written["about"]),
        mean=None if mean is None else functions.from_json(mean, kernel),
    )
    if release.vectors.shape != (release.basis.eigenvalues.size, release.count):
        raise ValueError("vectors, functions and variances differ in number")
    if release.center.shape != release.grid_points.shape:
        raise ValueError("the center must fit the grid")
    return release
