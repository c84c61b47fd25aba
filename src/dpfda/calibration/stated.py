"""What noise in force guarantees, recomputed from its integer scales and rounded outward."""

from __future__ import annotations

from dpfda.bounds import Norm
from dpfda.calibration.blocks import block_rho, knorm_loss
from dpfda.calibration.elliptical import stated_elliptical
from dpfda.calibration.gaussian import gaussian_delta, gaussian_length
from dpfda.errors import RefusedMechanismError
from dpfda.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP
from dpfda.noise import EllipticalNoise, GaussianNoise, KNormNoise, NoiseLaw


def stated_guarantee(noise: NoiseLaw, norm: Norm, width: int, requested: Guarantee) -> Guarantee:
    """Recompute, from the integer scales in force, what a noise law gives; rounded outward.

    The result is of the requested kind: a pure epsilon, the delta at the requested epsilon, or rho.
    """
    # The types themselves: a subclass may draw another law.
    if type(noise) is KNormNoise:
        epsilon = knorm_loss(noise.scales, norm, width, noise.block_sizes)
        if isinstance(requested, ZeroConcentratedDP):
            return ZeroConcentratedDP(block_rho(noise.block_sizes)(epsilon))
        return PureDP(epsilon)
    if norm == "linf":
        raise RefusedMechanismError(
            "mechanism",
            "have a loss under the linf norm",
            noise.describe(),
            "Gaussian and elliptical noise are calibrated to the l2 norm. Use mechanism='bernstein'.",
        )
    if type(noise) is GaussianNoise:
        mu = gaussian_length(noise, width)
        if isinstance(requested, ApproximateDP):
            return ApproximateDP(requested.epsilon, gaussian_delta(requested.epsilon, mu))
        if isinstance(requested, ZeroConcentratedDP):
            return ZeroConcentratedDP(mu**2 / 2)
    if type(noise) is EllipticalNoise:
        return stated_elliptical(noise, width, requested)
    raise RefusedMechanismError("mechanism", "suit the guarantee", f"{noise.describe()} for {requested}")


def within(stated: Guarantee, requested: Guarantee) -> bool:
    """Whether a recomputed guarantee is at most the requested one, exactly."""
    if isinstance(stated, PureDP) and isinstance(requested, PureDP):
        return stated.epsilon <= requested.epsilon
    if isinstance(stated, PureDP) and isinstance(requested, ApproximateDP):
        return stated.epsilon <= requested.epsilon
    if isinstance(stated, ApproximateDP) and isinstance(requested, ApproximateDP):
        return stated.epsilon <= requested.epsilon and stated.delta <= requested.delta
    if isinstance(stated, ZeroConcentratedDP) and isinstance(requested, ZeroConcentratedDP):
        return stated.rho <= requested.rho
    return False
