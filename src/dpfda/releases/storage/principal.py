"""Released principal components as JSON types, and back."""

from __future__ import annotations

from typing import Any

from dpfda.bases.encoding import floats, mapping, number
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost
from dpfda.releases.components import ReleasedComponents
from dpfda.releases.storage import functions
from dpfda.releases.storage.certificates import CERTIFIED, certificate_from_json, certificate_to_json
from dpfda.releases.storage.covariances import interval_basis

FORMAT = "dpfda-components"
SCHEMA_VERSION = CERTIFIED


def to_json(release: ReleasedComponents) -> dict[str, Any]:
    """Everything in a release as JSON types, in the order in which a person would read it."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        **certificate_to_json(release.certificate),
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
        certificate=certificate_from_json(written, lambda whole, _: {WHOLE: Cost(whole)}),
        about=mapping(written["about"]),
        mean=None if mean is None else functions.from_json(mean, kernel),
    )
    if release.vectors.shape != (release.basis.eigenvalues.size, release.count):
        raise ValueError("vectors, functions and variances differ in number")
    if release.center.shape != release.grid_points.shape:
        raise ValueError("the center must fit the grid")
    return release
