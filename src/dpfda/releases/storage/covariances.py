"""Released covariances as JSON types, and back."""

from __future__ import annotations

from functools import partial
from typing import Any

from dpfda.bases import Basis
from dpfda.bases.encoding import exponent, floats, integers, mapping
from dpfda.bases.protocol import BoxFunctions
from dpfda.noise import law_from_json
from dpfda.noise.symmetric import MatrixLaw, SymmetricNoise
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee
from dpfda.releases.covariance import ReleasedCovariance
from dpfda.releases.function import NoisyCount
from dpfda.releases.storage import functions
from dpfda.releases.storage.certificates import (
    CERTIFIED,
    Costs,
    certificate_from_json,
    certificate_to_json,
    drawn_laws,
    earlier_sum,
)
from dpfda.releases.storage.parts import (
    basis_from_json,
    divisor_from_json,
    divisor_to_json,
)

FORMAT = "dpfda-covariance"
SCHEMA_VERSION = CERTIFIED


def to_json(release: ReleasedCovariance) -> dict[str, Any]:
    """Everything in a release as JSON types, in the order in which a person would read it."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        **certificate_to_json(release.certificate),
        "about": dict(release.about),
        "noisy_sum": list(release.noisy_sum),
        "exponent": release.exponent,
        "divisor": divisor_to_json(release.divisor),
        "shrunk": release.shrunk,
        "center": release.center.tolist(),
        "noise": release.noise.to_json(),
        "basis": release.basis.to_json(),
        "mean": None if release.mean is None else functions.to_json(release.mean),
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> ReleasedCovariance:
    """Build a release from JSON types."""
    mean = written["mean"]
    noise: SymmetricNoise = law_from_json(written["noise"], MatrixLaw)
    divisor = divisor_from_json(written["divisor"])
    release = ReleasedCovariance(
        basis=interval_basis(written["basis"], kernel),
        noisy_sum=integers(written["noisy_sum"]),
        exponent=exponent(written["exponent"]),
        divisor=divisor,
        center=floats(written["center"]),
        noise=noise,
        certificate=certificate_from_json(
            written,
            partial(_earlier, noise, divisor, mean),
            laws=drawn_laws(noise, divisor) if mean is None else None,
        ),
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


def _earlier(
    noise: SymmetricNoise,
    divisor: float | NoisyCount,
    mean: Any,
    guarantee: Guarantee,
    achieved: Guarantee,
) -> Costs:
    if mean is not None:
        # The file does not say exactly what the mean was given.
        return {WHOLE: Cost(guarantee)}
    return earlier_sum(noise, divisor, guarantee, achieved)


def interval_basis(written: dict[str, Any], kernel: Any) -> Basis:
    """A basis of functions on an interval, by its kind."""
    basis = basis_from_json(written, kernel)
    if isinstance(basis, BoxFunctions):
        raise ValueError("the functions must be on an interval")
    return basis
