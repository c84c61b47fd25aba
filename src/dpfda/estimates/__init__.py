"""What is done to a noisy release with public knowledge alone: free of privacy cost."""

from typing import TYPE_CHECKING

from dpfda.numerics.scan import later

if TYPE_CHECKING:
    from dpfda.estimates.curves import CurveModel, CurvePosterior
    from dpfda.estimates.draws import CountNoise
    from dpfda.estimates.images import ImageModel
    from dpfda.estimates.posterior import Posterior
    from dpfda.estimates.widths import Widths
    from dpfda.noise import NoiseMixture
else:
    __getattr__ = later(__name__)

__all__ = [
    "CountNoise", "CurveModel", "CurvePosterior", "ImageModel", "NoiseMixture", "Posterior", "Widths",
]  # fmt: skip
