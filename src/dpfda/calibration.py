"""Guarantee and bound to integer scales, rounded to the private side; nothing is drawn here.

The integer sum of the records moves, between neighbouring data sets, by a vector d of norm at most
``width`` (an exact integer). With independent blocks of scale c_B, the privacy loss is the largest

    sum_B |d_B|_2 / c_B      over      |d| <= width.

- l2 ball: Cauchy-Schwarz gives width sqrt(sum_B 1 / c_B^2), attained at |d_B| ~ 1 / c_B.
- l1 ball: |d_B|_2 <= |d_B|_1, so it is width max_B 1 / c_B, attained at a coordinate vector.

(By the reverse triangle inequality the density ratio of block noise is at most exp(|d_B|_2 / c_B),
and blocks are independent.) For Gaussian noise of standard deviations s_j the Cameron-Martin length of d
is at most mu = width max_j 1 / s_j for either ball, and the exact privacy profile is that of
Balle & Wang (2018, Theorem 8):

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

Every number that a release states is recomputed here from its integer scales as the upper end of
a ball, so it holds for the scales in force and not for their real-valued targets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpfda.bounds import Norm
from dpfda.errors import ParameterError, RefusedMechanismError
from dpfda.exactness import ball, precision, upper_end
from dpfda.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP, readable
from dpfda.noise import GaussianNoise, KNormNoise, NoiseLaw

PRECISION = 256
# Integer scales may exceed their targets by this much, relatively, before the loss is recomputed.
MARGIN = Fraction(1, 2**45)


def knorm_loss(scales: Sequence[int], norm: Norm, width: int) -> Fraction:
    """Privacy loss of independent K-norm blocks, rounded up.

    Parameters
    ----------
    scales : sequence of int
        Block scales c_B, in grid units.
    norm : {"l1", "l2"}
        Norm in which neighbouring sums differ by at most `width`.
    width : int
        That distance, in grid units.
    """
    if norm == "l1":
        return Fraction(width, min(scales))
    with precision(PRECISION):
        total = arb(0)
        for scale in scales:
            total += arb(1) / arb(scale) ** 2
        return upper_end(width * total.sqrt())


def knorm_noise(
    block_sizes: Sequence[int],
    relative: ArrayLike,
    norm: Norm,
    width: int,
    guarantee: Guarantee,
) -> KNormNoise:
    """Scale K-norm blocks of given relative scales to a pure guarantee.

    Parameters
    ----------
    block_sizes : sequence of int
        Sizes of consecutive blocks.
    relative : array (blocks,)
        Relative scales, positive.
    norm, width
        As in `knorm_loss`.
    guarantee : PureDP or ZeroConcentratedDP
        What the noise must give. A rho-zCDP request is met through the Laplace profile
        rho = epsilon + exp(-epsilon) - 1, which dominates every product of blocks of size one.

    Raises
    ------
    RefusedMechanismError
        For any other guarantee.
    """
    epsilon = pure_budget(guarantee, block_sizes)
    shape = np.asarray(relative, dtype=float)
    if not (np.all(np.isfinite(shape)) and np.all(shape > 0)):
        raise ParameterError("relative scales", "be positive and finite", "other values")
    shape = shape / shape.min()
    loss = 1.0 if norm == "l1" else math.sqrt(float(np.sum(1.0 / shape**2)))
    factor = Fraction(width) * Fraction(loss) / epsilon
    while True:
        scales = tuple(max(1, math.ceil(factor * Fraction(float(s)))) for s in shape)
        if knorm_loss(scales, norm, width) <= epsilon:
            return KNormNoise(tuple(int(size) for size in block_sizes), scales)
        factor *= 1 + MARGIN


def pure_budget(guarantee: Guarantee, block_sizes: Sequence[int]) -> Fraction:
    """Epsilon that K-norm noise may spend to stay within the guarantee."""
    if isinstance(guarantee, PureDP):
        return guarantee.epsilon
    if isinstance(guarantee, ZeroConcentratedDP) and set(block_sizes) == {1}:
        return _laplace_epsilon(guarantee.rho)
    raise RefusedMechanismError(
        "mechanism",
        "suit the guarantee",
        f"K-norm noise for {guarantee}",
        "Ask for delta=0, or use mechanism='gaussian'.",
    )


def _laplace_epsilon(rho: Fraction) -> Fraction:
    """Largest dyadic epsilon with epsilon + exp(-epsilon) - 1 <= rho, rounded down."""

    def cost(epsilon: Fraction) -> Fraction:
        with precision(PRECISION):
            value = ball(epsilon)
            return upper_end(value + (-value).exp() - 1)

    return _largest(lambda x: cost(x) <= rho, rho + 2)


def gaussian_delta(epsilon: Fraction, ratio: Fraction) -> Fraction:
    """Exact delta of Gaussian noise at epsilon, rounded up.

    Parameters
    ----------
    epsilon : Fraction
        Privacy loss.
    ratio : Fraction
        Cameron-Martin length of the difference, mu = width / scale.

    Notes
    -----
    Balle & Wang (2018), Theorem 8. The two terms nearly cancel for large epsilon, so the precision
    is raised until the difference has 53 correct bits.
    """
    bits = PRECISION
    while True:
        with precision(bits):
            mu, e = ball(ratio), ball(epsilon)
            root = arb(2).sqrt()
            first = ((e / mu - mu / 2) / root).erfc() / 2
            second = ((e / mu + mu / 2) / root).erfc() / 2
            delta = first - e.exp() * second
            if delta.rel_accuracy_bits() >= 53 or bits > 2**20:
                return upper_end(delta)
        bits *= 2


def gaussian_ratio(guarantee: Guarantee, calibration: str = "exact") -> Fraction:
    """Largest mu = width / scale that keeps the guarantee, rounded down.

    Parameters
    ----------
    guarantee : ApproximateDP or ZeroConcentratedDP
        Target.
    calibration : {"exact", "classical"}
        Balle & Wang's profile, or scale = width sqrt(2 log(2/delta)) / epsilon
        (Hall, Rinaldo & Wasserman 2013, Proposition 3), which is proved for epsilon <= 1 only.

    Raises
    ------
    RefusedMechanismError
        For a pure guarantee, and for the classical rule beyond epsilon = 1.
    """
    if calibration not in ("exact", "classical"):
        raise ParameterError("calibration", "be 'exact' or 'classical'", repr(calibration))
    if isinstance(guarantee, PureDP):
        raise RefusedMechanismError(
            "delta",
            "be positive for Gaussian noise",
            "0",
            "The density ratio of Gaussian noise is unbounded, so no scale gives pure differential"
            " privacy. Set delta (for example 1e-6) or use mechanism='knorm' or 'iclp'.",
            "Reimherr & Awan 2019, Theorem 4",
        )
    if isinstance(guarantee, ZeroConcentratedDP):
        # rho = mu^2 / 2.
        grid = 2**60
        return Fraction(math.isqrt(int(2 * guarantee.rho * grid**2)), grid)
    if calibration == "classical":
        return _classical_ratio(guarantee)
    epsilon, delta = guarantee.epsilon, guarantee.delta
    ceiling = 1 + 2 * Fraction(math.isqrt(int(2 * epsilon) + 1) + 1) + 40
    return _largest(lambda mu: gaussian_delta(epsilon, mu) <= delta, ceiling)


def _classical_ratio(guarantee: ApproximateDP) -> Fraction:
    if guarantee.epsilon > 1:
        raise RefusedMechanismError(
            "epsilon",
            "be at most 1 for the classical Gaussian rule",
            readable(guarantee.epsilon),
            "Its proof ends there and the rule fails by epsilon = 8. Use calibration='exact'.",
            "Hall, Rinaldo & Wasserman 2013, Proposition 3; Balle & Wang 2018, section 2",
        )
    with precision(PRECISION):
        inverse = (2 * (2 / ball(guarantee.delta)).log()).sqrt() / ball(guarantee.epsilon)
        return 1 / upper_end(inverse)


def gaussian_noise(
    relative: ArrayLike, width: int, guarantee: Guarantee, calibration: str = "exact"
) -> GaussianNoise:
    """Scale Gaussian noise of given relative deviations to a guarantee.

    Parameters
    ----------
    relative : array (components,)
        Relative standard deviations, positive.
    width : int
        Distance, in the l1 or l2 norm and in grid units, by which neighbouring sums differ.
    guarantee : ApproximateDP or ZeroConcentratedDP
    calibration : {"exact", "classical"}
    """
    ratio = gaussian_ratio(guarantee, calibration)
    shape = np.asarray(relative, dtype=float)
    shape = shape / shape.min()
    smallest = Fraction(width) / ratio
    return GaussianNoise(tuple(math.ceil(smallest * Fraction(float(s))) for s in shape))


def gaussian_length(noise: GaussianNoise, width: int) -> Fraction:
    """Cameron-Martin length mu of the largest difference between neighbouring sums."""
    return Fraction(width, min(noise.scales))


def stated_guarantee(noise: NoiseLaw, norm: Norm, width: int, requested: Guarantee) -> Guarantee:
    """Recompute, from the integer scales in force, what a noise law gives; rounded outward.

    The result is of the requested kind: a pure epsilon, the delta at the requested epsilon, or rho.
    """
    if isinstance(noise, KNormNoise):
        epsilon = knorm_loss(noise.scales, norm, width)
        if isinstance(requested, ZeroConcentratedDP):
            with precision(PRECISION):
                value = ball(epsilon)
                return ZeroConcentratedDP(upper_end(value + (-value).exp() - 1))
        return PureDP(epsilon)
    if isinstance(noise, GaussianNoise):
        mu = gaussian_length(noise, width)
        if isinstance(requested, ApproximateDP):
            return ApproximateDP(requested.epsilon, gaussian_delta(requested.epsilon, mu))
        if isinstance(requested, ZeroConcentratedDP):
            return ZeroConcentratedDP(mu**2 / 2)
    raise RefusedMechanismError("mechanism", "suit the guarantee", f"{noise.describe()} for {requested}")


def within(stated: Guarantee, requested: Guarantee) -> bool:
    """Whether a recomputed guarantee is at most the requested one, exactly."""
    if isinstance(stated, PureDP) and isinstance(requested, PureDP):
        return stated.epsilon <= requested.epsilon
    if isinstance(stated, ApproximateDP) and isinstance(requested, ApproximateDP):
        return stated.epsilon <= requested.epsilon and stated.delta <= requested.delta
    if isinstance(stated, ZeroConcentratedDP) and isinstance(requested, ZeroConcentratedDP):
        return stated.rho <= requested.rho
    return False


def _largest(holds: Callable[[Fraction], bool], ceiling: Fraction) -> Fraction:
    """Largest number that satisfies a monotone predicate, to 60 bits and from below."""
    high = Fraction(ceiling)
    while not holds(high / 2):
        high /= 2
    low = high / 2
    for _ in range(60):
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
