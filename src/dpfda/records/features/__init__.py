"""Public feature maps of inputs: columns, their products, random Fourier features, kernels at landmarks.

Every map takes inputs on the unit cube to feature vectors that are meant to have length at most one:
the kernel of the map is k(s, t) = phi(s) . phi(t), scaled to k(t, t) <= 1. The bound is not trusted:
`embedded` clips every vector to an integer ball, so it holds for any input and any rounding.

Row i of an embedding depends on input i alone, bit for bit: products are exact in integers, and
elementwise functions run over blocks of a fixed size with rows padded to whole vector registers.
"""

from dpfda.records.features.inputs import FeatureMap, InputBox, embedded, feature_ball
from dpfda.records.features.kernel import FourierFeatures, LandmarkFeatures
from dpfda.records.features.linear import LinearFeatures
from dpfda.records.features.quadratic import QuadraticFeatures
from dpfda.records.features.reading import features_from_json

__all__ = [
    "FeatureMap",
    "FourierFeatures",
    "InputBox",
    "LandmarkFeatures",
    "LinearFeatures",
    "QuadraticFeatures",
    "embedded",
    "feature_ball",
    "features_from_json",
]
