"""What is done to a noisy release with public knowledge alone: free of privacy cost."""

from dpfda.noise import NoiseMixture
from dpfda.postprocessing.mixtures import mixture_of
from dpfda.postprocessing.posterior import Posterior

__all__ = ["NoiseMixture", "Posterior", "mixture_of"]
