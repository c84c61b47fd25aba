"""What noise in force is charged at: the guarantee asked for, and the loss that is known to keep it."""

from __future__ import annotations

from typing import Any

from dpfda.composition import (
    BlockLoss,
    BlocksLoss,
    Cost,
    GaussianLoss,
    LaplaceLoss,
    Loss,
    block_length,
    gaussian_rho,
    loss_of,
)
from dpfda.composition.rounding import at_least
from dpfda.guarantees import ApproximateDP, Guarantee, PureDP
from dpfda.noise import EllipsoidNoise, GaussianNoise, KNormNoise, NoiseLaw
from dpfda.noise.symmetric import SymmetricGaussianNoise, SymmetricKNormNoise, SymmetricNoise


def cost_of(noise: NoiseLaw | SymmetricNoise, achieved: Guarantee, requested: Guarantee) -> Cost:
    """What a release of a sum with this noise costs.

    The cost is the requested guarantee, and the loss of the same law that has it: both cover what is
    achieved, whose scales were rounded up, and both are known before the integers are. Pure noise that
    was chosen for an approximate guarantee costs no delta. A law without a rule here is known by its
    guarantee alone.

    Parameters
    ----------
    noise : NoiseLaw or SymmetricNoise
        In force.
    achieved : Guarantee
        What it gives, recomputed; within the requested guarantee.
    requested : Guarantee
        What it was scaled to.
    """
    if isinstance(achieved, PureDP) and isinstance(requested, ApproximateDP):
        requested = PureDP(requested.epsilon)
    # The types themselves: a subclass may draw another law.
    if isinstance(requested, PureDP):
        return Cost(requested, _pure_loss(noise, requested))
    if type(noise) is GaussianNoise or type(noise) is SymmetricGaussianNoise:
        return Cost(requested, GaussianLoss(gaussian_rho(requested)))
    one = type(noise) is KNormNoise and len(noise.block_sizes) == 1
    if isinstance(requested, ApproximateDP) and (one or type(noise) is EllipsoidNoise):
        # One block with a delta, at the longest shift that the guarantee allows it.
        length = block_length(noise.components, requested)
        return Cost(requested, None if length is None else BlockLoss(noise.components, length))
    return Cost(requested)


def _pure_loss(noise: Any, requested: PureDP) -> Loss:
    epsilon = requested.epsilon
    if type(noise) is KNormNoise:
        sizes = noise.block_sizes
        if set(sizes) == {1}:
            return LaplaceLoss(epsilon)
        if len(sizes) == 1:
            return BlockLoss(noise.components, epsilon)
        # At a given loss the longest shift is in the smallest block.
        return BlocksLoss(epsilon, at_least(epsilon**2 / (2 * min(sizes))))
    if type(noise) is EllipsoidNoise:
        return BlockLoss(noise.components, epsilon)
    if type(noise) is SymmetricKNormNoise:
        return BlockLoss(noise.components, epsilon)
    return loss_of(requested)
