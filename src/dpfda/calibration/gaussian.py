"""Gaussian noise: the exact privacy profile, and the classical rule where it is proved.

For standard deviations s_j the Cameron-Martin length of a shift |d| <= width is at most mu = width
max_j 1 / s_j, on the l1 and on the l2 ball, and the exact profile (Balle & Wang 2018, Theorem 8) is

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
"""

from __future__ import annotations

import math
from fractions import Fraction

from numpy.typing import ArrayLike

from dpfda.calibration.search import checked_shape, largest
from dpfda.composition import gaussian_delta
from dpfda.composition.rounding import PRECISION
from dpfda.errors import ParameterError, RefusedMechanismError
from dpfda.exactness import ball, precision, upper_end
from dpfda.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP, readable
from dpfda.noise import GaussianNoise

SMALLEST_DELTA = Fraction(1, 10**300)

__all__ = [
    "gaussian_delta",
    "gaussian_length",
    "gaussian_noise",
    "gaussian_ratio",
]


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
    if delta < SMALLEST_DELTA:
        raise ParameterError("delta", "be at least 1e-300 for Gaussian noise", f"{guarantee}")
    ceiling = 1 + 2 * Fraction(math.isqrt(int(2 * epsilon) + 1) + 1) + 40
    return largest(lambda mu: gaussian_delta(epsilon, mu) <= delta, ceiling)


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
    shape = checked_shape(relative)
    smallest = Fraction(width) / ratio
    return GaussianNoise(tuple(math.ceil(smallest * Fraction(float(s))) for s in shape))


def gaussian_length(noise: GaussianNoise, width: int) -> Fraction:
    """Cameron-Martin length mu of the largest difference between neighbouring sums."""
    return Fraction(width, min(noise.scales))
