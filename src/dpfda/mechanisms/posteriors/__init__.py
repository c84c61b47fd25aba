"""What is done to a noisy release with public knowledge alone: free of privacy cost."""

from dpfda.mechanisms.posteriors.counts import CountNoise
from dpfda.mechanisms.posteriors.curves import CurveModel, CurvePosterior
from dpfda.mechanisms.posteriors.images import ImageModel
from dpfda.mechanisms.posteriors.posterior import Posterior
from dpfda.mechanisms.posteriors.widths import Widths
from dpfda.noise import NoiseMixture

__all__ = [
    "CountNoise", "CurveModel", "CurvePosterior", "ImageModel", "NoiseMixture", "Posterior", "Widths",
]  # fmt: skip
