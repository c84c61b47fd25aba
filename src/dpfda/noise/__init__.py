"""Noise laws, one file a family: exact draws, and what each law promises for its integer scales.

A file in this folder that defines a `Law` is found by itself. Every family has the search for its scales
beside it, rounded to the private side; nothing is drawn there.
"""

from dpfda.noise.blocks import (
    KNormNoise,
    block_lengths,
    knorm_loss,
    knorm_noise,
    knorm_targets,
    laplace_on_body,
    pure_budget,
)
from dpfda.noise.bodies import BoxNoise, BoxPartNoise, EllipsoidNoise, body_noise, parts_of
from dpfda.noise.charges import Calibrated, achieved_guarantee, cost_of, law_from_json, laws_of
from dpfda.noise.elliptical import EllipticalNoise, elliptical_noise, mixture_delta, t_loss
from dpfda.noise.gaussian import (
    GaussianNoise,
    gaussian_noise,
    gaussian_on_body,
    gaussian_ratio,
    moved_counts,
    repeated_width,
)
from dpfda.noise.mixtures import NoiseMixture
from dpfda.noise.protocol import AnyLaw, AnyNorm, Law, NoiseLaw, ScaledLaw, VectorLaw, Width

__all__ = [
    "AnyLaw", "AnyNorm", "BoxNoise", "BoxPartNoise", "Calibrated", "EllipsoidNoise", "EllipticalNoise",
    "GaussianNoise", "KNormNoise", "Law", "NoiseLaw", "NoiseMixture", "ScaledLaw", "VectorLaw", "Width",
    "achieved_guarantee", "block_lengths", "body_noise", "cost_of", "elliptical_noise",
    "gaussian_noise", "gaussian_on_body", "gaussian_ratio", "knorm_loss", "knorm_noise", "knorm_targets",
    "laplace_on_body", "law_from_json", "laws_of", "mixture_delta", "moved_counts", "parts_of",
    "pure_budget", "repeated_width", "t_loss",
]  # fmt: skip
