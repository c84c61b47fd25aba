"""What is done to a noisy release with public knowledge alone: free of privacy cost."""

from dpfda.noise import NoiseMixture
from dpfda.postprocessing.curves import CurveModel, CurvePosterior
from dpfda.postprocessing.mixtures import mixture_of
from dpfda.postprocessing.posterior import Posterior
from dpfda.postprocessing.widths import CountError, Widths

__all__ = [
    "CountError", "CurveModel", "CurvePosterior", "NoiseMixture", "Posterior", "Widths", "mixture_of",
]  # fmt: skip
