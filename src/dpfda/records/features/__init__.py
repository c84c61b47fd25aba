"""Public feature maps of inputs: columns, products, distances, Fourier features, landmarks.

Every map takes inputs on the unit cube to feature vectors that are meant to have length at most one:
the kernel of the map is k(s, t) = phi(s) . phi(t), scaled to k(t, t) <= 1. The bound is not trusted:
`embedded` clips every vector to an integer ball, so it holds for any input and any rounding.

Row i of an embedding depends on input i alone, bit for bit: products are exact in integers, and
elementwise functions run over blocks of a fixed size with rows padded to whole vector registers.
"""

from __future__ import annotations

from dpfda.bases.grids import frozen
from dpfda.bases.kernels import kernel_from_json
from dpfda.numerics.encoding import array_from_json, mapping, name, number
from dpfda.numerics.errors import StorageError
from dpfda.records.features.inputs import FeatureMap, InputBox, embedded, feature_ball
from dpfda.records.features.kernel import FourierFeatures, LandmarkFeatures
from dpfda.records.features.linear import (
    DistanceFeatures,
    LinearFeatures,
    QuadraticFeatures,
    RootFeatures,
)


def features_from_json(entries: object) -> FeatureMap:
    """Build a feature map from JSON types, from a closed list of kinds."""
    written = mapping(entries)
    kind = written["kind"]
    if kind == "linear":
        return _linear(written)
    if kind == "quadratic":
        linear = features_from_json(written["linear"])
        if not isinstance(linear, LinearFeatures | DistanceFeatures):
            raise ValueError("products are of linear functions")
        return QuadraticFeatures(linear, number(written["share"]))
    if kind == "distances":
        return DistanceFeatures(_linear(mapping(written["linear"])))
    if kind == "fourier":
        return FourierFeatures(frozen(array_from_json(written["frequencies"])), name(written["kernel"]))
    if kind == "landmarks":
        parts = (frozen(array_from_json(written[name])) for name in ("landmarks", "matrix"))
        return LandmarkFeatures(kernel_from_json(written["kernel"]), *parts)
    if kind == "roots":
        return RootFeatures(features_from_json(mapping(written["features"])), number(written["power"]))
    raise StorageError(f"Unknown kind of features {kind!r}; update dpfda?")


def _linear(written: dict[str, object]) -> LinearFeatures:
    matrix, center = (array_from_json(written[name]) for name in ("matrix", "center"))
    return LinearFeatures(matrix, center, number(written["constant"]), number(written["norm_bound"]))


__all__ = [
    "DistanceFeatures",
    "FeatureMap",
    "FourierFeatures",
    "InputBox",
    "LandmarkFeatures",
    "LinearFeatures",
    "QuadraticFeatures",
    "RootFeatures",
    "embedded",
    "feature_ball",
    "features_from_json",
]
