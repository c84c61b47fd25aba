"""Gaussian noise: its exact privacy profile, and the way back from a guarantee to the noise.

A shift of Cameron-Martin length mu has the profile (Balle & Wang 2018, Theorem 8)

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

Lengths add in squares: releases of lengths mu_1, mu_2, ... from one data set, each chosen in the
knowledge of those before, are together no worse than one of length (mu_1^2 + mu_2^2 + ...)^(1/2)
(Dong, Roth & Su 2022, Corollary 3.3). In zero-concentrated terms rho = mu^2/2.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpfda.numerics.exactness import enclosed, precision, upper_end
from dpfda.privacy.composition.rounding import (
    PRECISION,
    SMALLEST,
    at_least,
    narrowed,
    root_at_least,
    turning,
)
from dpfda.privacy.guarantees import ApproximateDP, ZeroConcentratedDP

# Between these, floats find epsilon; beyond, bisection does.
SMALL, LARGE = Fraction(1, 10**200), Fraction(100)
# Phi(-REACH) < exp(-REACH^2 / 2) < 2^-NEGLIGIBLE.
REACH, NEGLIGIBLE = 110, 8193


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
    with precision(PRECISION):
        return upper_end(_profile(epsilon, ratio))


def _profile(epsilon: Fraction, ratio: Fraction) -> arb:
    if epsilon / ratio - ratio / 2 > REACH:
        # At most Phi(-REACH). An enclosure of erfc so far out would take as many bits as it is small.
        return arb(0, arb(2) ** -NEGLIGIBLE)
    bits = PRECISION
    while True:
        with precision(bits):
            mu, e = enclosed(ratio), enclosed(epsilon)
            root = arb(2).sqrt()
            first = ((e / mu - mu / 2) / root).erfc() / 2
            second = ((e / mu + mu / 2) / root).erfc() / 2
            delta = first - e.exp() * second
            if delta.rel_accuracy_bits() >= 53 or bits > 2**20:
                return delta
        bits *= 2


def estimated_gaussian_delta(epsilon: float, mu: float) -> float:
    """Delta in floats: for design and first guesses, never to state a guarantee."""
    import scipy

    first = scipy.special.log_ndtr(mu / 2 - epsilon / mu)
    second = epsilon + scipy.special.log_ndtr(-mu / 2 - epsilon / mu)
    return float(math.exp(first) * -math.expm1(min(second - first, 0.0)))


def gaussian_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Epsilon at delta of Gaussian releases of total rho, rounded up.

    Parameters
    ----------
    rho : Fraction
        Sum of mu^2/2 over the releases.
    delta : Fraction
        Between 0 and 1.
    """
    mu = root_at_least(2 * rho)
    guess = _guessed(float(mu), float(delta)) if min(mu, delta) > SMALL and mu < LARGE else None
    if guess is not None and gaussian_delta(guess, mu) <= delta:
        return guess
    high = SMALLEST
    while gaussian_delta(high, mu) > delta:
        high *= 2
    low = Fraction(0) if high == SMALLEST else high / 2
    _, enough = narrowed(lambda epsilon: gaussian_delta(epsilon, mu) > delta, low, high)
    return at_least(enough)


def _guessed(mu: float, delta: float) -> Fraction | None:
    """Epsilon by floats, a little above; whoever uses it has to verify it."""

    def over(epsilon: float) -> bool:
        return estimated_gaussian_delta(epsilon, mu) > delta

    low, high = 0.0, 1.0
    while over(high):
        low, high = high, 2 * high
    if not over(low):
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if over(middle) else (low, middle)
    return Fraction(high * (1 + 1e-11))


@lru_cache(maxsize=4096)
def gaussian_rho(guarantee: ApproximateDP | ZeroConcentratedDP) -> Fraction:
    """Zero-concentrated rho of the Gaussian noise that has this guarantee, rounded up.

    guarantee: For an approximate one, delta is at least the profile's value at epsilon. The profile
        grows with mu, so any mu whose profile there is at least delta is at least the noise's.
    """
    if isinstance(guarantee, ZeroConcentratedDP):
        return guarantee.rho
    epsilon, delta = guarantee.epsilon, guarantee.delta

    def short(mu: Fraction) -> bool:
        with precision(PRECISION):
            return upper_end(-_profile(epsilon, mu)) > -delta

    _, enough = turning(short)
    return at_least(enough**2 / 2)
