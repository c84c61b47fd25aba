"""Guarantee and bound to integer scales, rounded to the private side; nothing is drawn here.

The integer sum of the records moves, between neighbouring data sets, by a vector d of norm at most
``width``, an exact integer. Each family of laws has a module that turns this into scales and back.
Every number that a release states is recomputed from its integer scales as the upper end of a ball,
so it holds for the scales in force and not for their real-valued targets.
"""

from dpfda.calibration.approximate import block_ratio, block_scale
from dpfda.calibration.blocks import (
    block_lengths,
    knorm_loss,
    knorm_noise,
    knorm_targets,
    pure_budget,
)
from dpfda.calibration.bodies import (
    AnyNorm,
    Width,
    body_length,
    body_loss,
    body_noise,
    enclosing_width,
    gaussian_on_body,
    laplace_on_body,
)
from dpfda.calibration.costs import cost_of
from dpfda.calibration.elliptical import elliptical_noise, mixture_delta, t_loss
from dpfda.calibration.gaussian import (
    gaussian_delta,
    gaussian_length,
    gaussian_noise,
    gaussian_ratio,
)
from dpfda.calibration.stated import stated_guarantee
from dpfda.guarantees import within

__all__ = [
    "AnyNorm",
    "Width",
    "block_lengths",
    "block_ratio",
    "block_scale",
    "body_length",
    "body_loss",
    "body_noise",
    "cost_of",
    "elliptical_noise",
    "enclosing_width",
    "gaussian_delta",
    "gaussian_length",
    "gaussian_noise",
    "gaussian_on_body",
    "gaussian_ratio",
    "knorm_loss",
    "knorm_noise",
    "knorm_targets",
    "laplace_on_body",
    "mixture_delta",
    "pure_budget",
    "stated_guarantee",
    "t_loss",
    "within",
]
