"""What several kinds of release are made of, as JSON types: guarantees, noise laws, bases."""

from __future__ import annotations

from typing import Any

from dpfda.bases import CLOSED_FORMS, Basis, BernsteinBasis, BoxBasis, KernelBasis, KroneckerBasis
from dpfda.bases.centred import CentredBasis
from dpfda.bases.encoding import integer, number
from dpfda.bases.protocol import BoxFunctions
from dpfda.errors import StorageError
from dpfda.noise import law_from_json
from dpfda.numerics.rationals import rational
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP
from dpfda.releases.function import NoisyCount

_GUARANTEES: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "pure": (PureDP, ("epsilon",)),
    "approximate": (ApproximateDP, ("epsilon", "delta")),
    "zero-concentrated": (ZeroConcentratedDP, ("rho",)),
}


def guarantee_to_json(guarantee: Guarantee) -> dict[str, Any]:
    """A guarantee with its exact numbers and in words."""
    for kind, (made, names) in _GUARANTEES.items():
        if isinstance(guarantee, made):
            exact = {name: getattr(guarantee, name) for name in names}
            return {
                "kind": kind,
                **{name: float(value) for name, value in exact.items()},
                "exact": {name: str(value) for name, value in exact.items()},
                "words": str(guarantee),
            }
    raise StorageError(f"No way to write a guarantee of type {type(guarantee).__name__}.")


def guarantee_from_json(written: dict[str, Any]) -> Guarantee:
    """A guarantee from its exact numbers."""
    made, names = _GUARANTEES[written["kind"]]
    guarantee: Guarantee = made(*(rational(written["exact"][name]) for name in names))
    return guarantee


def divisor_to_json(divisor: float | NoisyCount) -> dict[str, Any]:
    """A public or a released count."""
    if isinstance(divisor, NoisyCount):
        return {
            "kind": "noisy count",
            "noisy": divisor.noisy,
            "scale": divisor.scale,
            "noise": divisor.noise.to_json(),
        }
    return {"kind": "public", "value": divisor}


def divisor_from_json(written: dict[str, Any]) -> float | NoisyCount:
    """A public or a released count."""
    if written["kind"] == "noisy count":
        noise = law_from_json(written["noise"])
        return NoisyCount(integer(written["noisy"]), integer(written["scale"], 1), noise)
    if written["kind"] == "public":
        return number(written["value"])
    raise ValueError(f"unknown divisor {written['kind']!r}")


def basis_from_json(written: dict[str, Any], kernel: Any) -> Basis | BoxFunctions:
    """A basis of this library, by its kind."""
    if written["kind"] == "kernel":
        return KernelBasis.from_json(written, kernel)
    if written["kind"] == "centred":
        return CentredBasis.from_json(written, basis_from_json(written["inner"], kernel))  # type: ignore[arg-type]
    if written["kind"] == "Bernstein":
        return BernsteinBasis.from_json(written)
    if written["kind"] == "box":
        return BoxBasis.from_json(written)
    if written["kind"] == "kronecker":
        return KroneckerBasis.from_json(written, kernel)
    if written["kind"] in CLOSED_FORMS:
        return CLOSED_FORMS[written["kind"]].from_json(written)
    raise StorageError(f"Unknown kind of basis {written['kind']!r}; update dpfda?")
