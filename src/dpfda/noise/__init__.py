"""Noise laws: exact draws in ball arithmetic, simulation, variances."""

from dpfda.noise.laws import (
    LAWS,
    BoxNoise,
    EllipsoidNoise,
    EllipticalNoise,
    GaussianNoise,
    KNormNoise,
    NoiseLaw,
)

__all__ = [
    "BoxNoise",
    "EllipsoidNoise",
    "EllipticalNoise",
    "GaussianNoise",
    "KNormNoise",
    "LAWS",
    "NoiseLaw",
]
