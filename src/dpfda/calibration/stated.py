"""What noise in force guarantees, recomputed from its integer scales and rounded outward."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpfda.calibration.blocks import block_rho, knorm_loss
from dpfda.calibration.bodies import (
    ONE_BLOCK,
    AnyNorm,
    Width,
    body_length,
    body_loss,
    enclosing_width,
)
from dpfda.calibration.elliptical import stated_elliptical
from dpfda.calibration.gaussian import gaussian_delta, gaussian_length
from dpfda.composition.block_profile import block_delta
from dpfda.errors import RefusedMechanismError
from dpfda.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP
from dpfda.noise import (
    BoxNoise,
    EllipsoidNoise,
    EllipticalNoise,
    GaussianNoise,
    KNormNoise,
    NoiseLaw,
)


def stated_guarantee(noise: NoiseLaw, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
    """Recompute, from the integer scales in force, what a noise law gives; rounded outward.

    Parameters
    ----------
    noise : NoiseLaw
        In force.
    norm : {"l1", "l2", "linf", "box", "ellipsoid"}
        Kind of the set in which neighbouring sums differ.
    width : int or tuple of int
        Its radius; for a box or an ellipsoid its size in each coordinate, in grid units.
    requested : Guarantee
        Of the kind that is wanted: a pure epsilon, the delta at the requested epsilon, or rho.
    """
    # The types themselves: a subclass may draw another law.
    if type(noise) is KNormNoise:
        return _of_blocks(_block_loss(noise, norm, width), noise.block_sizes, requested)
    if type(noise) is EllipsoidNoise:
        return _of_blocks(body_loss(noise, norm, width), (noise.components,), requested)
    if type(noise) is BoxNoise:
        return _pure(body_loss(noise, norm, width), ONE_BLOCK, requested)
    if norm == "linf":
        raise RefusedMechanismError(
            "mechanism",
            "have a loss under the linf norm",
            noise.describe(),
            "Gaussian and elliptical noise are calibrated to the l2 norm. Use mechanism='bernstein'.",
        )
    if type(noise) is GaussianNoise:
        mu = _length(noise, norm, width)
        if isinstance(requested, ApproximateDP):
            return ApproximateDP(requested.epsilon, gaussian_delta(requested.epsilon, mu))
        if isinstance(requested, ZeroConcentratedDP):
            return ZeroConcentratedDP(mu**2 / 2)
    if type(noise) is EllipticalNoise:
        return stated_elliptical(noise, _radius(norm, width), requested)
    raise RefusedMechanismError("mechanism", "suit the guarantee", f"{noise.describe()} for {requested}")


def _of_blocks(epsilon: Fraction, block_sizes: Sequence[int], requested: Guarantee) -> Guarantee:
    """What blocks of this largest loss give: with a delta only where epsilon alone does not cover it."""
    one = len(block_sizes) == 1
    if one and isinstance(requested, ApproximateDP) and epsilon > requested.epsilon:
        delta = block_delta(block_sizes[0], epsilon, requested.epsilon)
        return ApproximateDP(requested.epsilon, delta)
    return _pure(epsilon, block_sizes, requested)


def _pure(epsilon: Fraction, block_sizes: Sequence[int], requested: Guarantee) -> Guarantee:
    if isinstance(requested, ZeroConcentratedDP):
        return ZeroConcentratedDP(block_rho(block_sizes)(epsilon))
    return PureDP(epsilon)


def _block_loss(noise: KNormNoise, norm: AnyNorm, width: Width) -> Fraction:
    if isinstance(width, int) and norm in ("l1", "l2", "linf"):
        return knorm_loss(noise.scales, norm, width, noise.block_sizes)
    return body_loss(noise, norm, width)


def _length(noise: GaussianNoise, norm: AnyNorm, width: Width) -> Fraction:
    if isinstance(width, int) and norm in ("l1", "l2"):
        return gaussian_length(noise, width)
    return body_length(noise, norm, width)


def _radius(norm: AnyNorm, width: Width) -> int:
    return width if isinstance(width, int) else enclosing_width(norm, width)
