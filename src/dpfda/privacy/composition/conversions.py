"""Conversions between guarantees: into rho and out of it, of Gaussian noise, and for groups of units.

A product of independent Laplace variables whose total loss is at most epsilon is rho-zCDP with rho =
epsilon + exp(-epsilon) - 1, attained by one variable; any pure mechanism with rho = epsilon
tanh(epsilon/2), attained by a coin that tells one bit. Proofs: docs/composition.md.

Gaussian noise, for a shift of Cameron-Martin length mu, has the profile (Balle & Wang 2018, Theorem 8)

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

Lengths add in squares: releases of lengths mu_1, mu_2, ... from one data set, each chosen in the
knowledge of those before, are together no worse than one of length (mu_1^2 + mu_2^2 + ...)^(1/2)
(Dong, Roth & Su 2022, Corollary 3.3). In zero-concentrated terms rho = mu^2/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpfda.numerics.errors import ConversionError
from dpfda.numerics.exactness import (
    PRECISION,
    SMALLEST,
    at_least,
    bits_for,
    enclosed,
    log_of,
    precision,
    root_at_least,
    turning,
    upper_end,
)
from dpfda.numerics.parameters import whole
from dpfda.numerics.specials import halved, narrowed
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
    checked_guarantee,
)

# The search for an order starts this far, in log(alpha - 1), on either side of a guess.
REACH = 12.0


def laplace_rho(epsilon: Fraction) -> Fraction:
    """Cost rho of product Laplace noise of total privacy loss epsilon, rounded up.

    Parameters
    ----------
    epsilon : Fraction
        Positive.

    Returns
    -------
    Fraction
        epsilon + exp(-epsilon) - 1, attained in the limit of order 1.
    """
    # For small epsilon the terms cancel down to epsilon^2 / 2.
    with precision(bits_for(epsilon)):
        value = enclosed(epsilon)
        return min(at_least(value + (-value).expm1()), epsilon**2 / 2)


def pure_rho(epsilon: Fraction) -> Fraction:
    """Cost rho of any mechanism of pure privacy loss epsilon, rounded up.

    Parameters
    ----------
    epsilon : Fraction
        Positive.

    Returns
    -------
    Fraction
        epsilon tanh(epsilon/2), at most epsilon^2/2.
    """
    with precision(PRECISION):
        value = enclosed(epsilon)
        return min(at_least(value * (value / 2).tanh()), epsilon**2 / 2)


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Epsilon at delta of rho-zCDP by the tight conversion, rounded up.

    Parameters
    ----------
    rho : Fraction
        Positive.
    delta : Fraction
        Between 0 and 1.

    Notes
    -----
    Canonne, Kamath & Steinke (2020), Corollary 13: for every order alpha > 1,

        delta = exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha.

    It is solved for epsilon. The order is found in floats; the bound is evaluated at it in ball
    arithmetic and holds whatever the order, so the search can cost tightness but not truth.
    """
    log_rho, log_delta = log_of(rho), log_of(delta)

    def epsilon_at(s: float) -> float:
        alpha_rho = _exp(max(s, 0.0) + math.log1p(math.exp(-abs(s))) + log_rho)
        return alpha_rho + (_log_factor(s) - log_delta) * _exp(-s)

    guess = (math.log(1.0 - log_delta) - log_rho) / 2
    order = _order(epsilon_at, guess)
    with precision(_precision(order)):
        alpha = enclosed(order)
        logs = _log_factor_enclosed(alpha) - enclosed(delta).log()
        return max(at_least(alpha * enclosed(rho) + logs / (alpha - 1)), SMALLEST)


def zcdp_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Delta at epsilon of rho-zCDP by the tight conversion, rounded up and at most 1.

    Parameters
    ----------
    rho, epsilon : Fraction
        Positive.

    Notes
    -----
    As `zcdp_epsilon`, which solves the same formula.
    """
    log_rho, log_epsilon = log_of(rho), log_of(epsilon)

    def log_delta_at(s: float) -> float:
        alpha_rho = _exp(max(s, 0.0) + math.log1p(math.exp(-abs(s))) + log_rho)
        return _exp(s) * (alpha_rho - _exp(log_epsilon)) + _log_factor(s)

    guess = math.log1p(_exp(log_epsilon - log_rho)) - math.log(2.0)
    order = _order(log_delta_at, guess)
    with precision(_precision(order)):
        alpha = enclosed(order)
        exponent = (alpha - 1) * (alpha * enclosed(rho) - enclosed(epsilon))
        exponent += _log_factor_enclosed(alpha)
        # Beyond 0 the bound says nothing.
        return Fraction(1) if upper_end(exponent) >= 0 else min(at_least(exponent.exp()), Fraction(1))


def _log_factor(s: float) -> float:
    """Logarithm of (1 - 1/alpha)^alpha / (alpha - 1) at alpha = 1 + e^s."""
    if s > 0:
        return -(1.0 + math.exp(s)) * math.log1p(math.exp(-s)) - s if s < 500 else -1.0 - s
    return (1.0 + math.exp(s)) * (s - math.log1p(math.exp(s))) - s


def _log_factor_enclosed(alpha: arb) -> arb:
    return alpha * (-1 / alpha).log1p() - (alpha - 1).log()


def _order(objective: Callable[[float], float], guess: float) -> Fraction:
    """An order alpha near the least value of a function of log(alpha - 1)."""
    low, high = guess - REACH, guess + REACH
    best = guess
    for _ in range(9):
        points = [low + (high - low) * k / 32 for k in range(33)]
        best = min(points, key=objective)
        step = (high - low) / 32
        low, high = best - step, best + step
    return 1 + Fraction(_exp(best))


def _precision(order: Fraction) -> int:
    """Bits that survive the cancellation of orders far from 1 and close to it."""
    size = order.numerator.bit_length() - order.denominator.bit_length()
    return PRECISION + 2 * abs(size) + order.denominator.bit_length()


def _exp(x: float) -> float:
    return math.exp(min(max(x, -700.0), 700.0))


# Between these, floats find epsilon; beyond, bisection does.
SMALL, LARGE = Fraction(1, 10**200), Fraction(100)
# Below this length logarithms of tails are too close for floats.
CANCELLING = 1e-6
# Phi(-FAR) < exp(-FAR^2 / 2) < 2^-NEGLIGIBLE.
FAR, NEGLIGIBLE = 110, 8193


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
    if epsilon / ratio - ratio / 2 > FAR:
        # At most Phi(-FAR). An enclosure of erfc so far out would take as many bits as it is small.
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

    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near > 0 and mu < CANCELLING:
        # Densities at both ends differ by e^epsilon, so that the ratios of tails to densities are left.
        first, second = (scipy.special.erfcx(end / math.sqrt(2)) for end in (near, far))
        return float(math.exp(-(near**2) / 2) * (first - second) / 2)
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
    return Fraction(halved(over, low, high) * (1 + 1e-11))


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


def for_group(guarantee: Guarantee, size: int) -> Guarantee:
    """What a guarantee for one unit says of data sets that differ in several.

    Parameters
    ----------
    guarantee : Guarantee
        For one unit.
    size : int
        Number k of units that differ, for example the most records that one person can have.

    Returns
    -------
    Guarantee
        k epsilon; delta (e^(k epsilon) - 1)/(e^epsilon - 1), rounded up; k^2 rho.

    Raises
    ------
    ParameterError
        If the size is not a positive integer.
    ConversionError
        If delta would reach 1.

    Notes
    -----
    Pure and approximate: the triangle inequality through k - 1 data sets in between, whose factors
    1 + e^epsilon + ... + e^((k-1) epsilon) add up as above. Concentrated: Bun & Steinke (2016),
    Proposition 1.9.
    """
    size = whole(size, "size", words="be a positive integer")
    checked_guarantee(guarantee)
    if isinstance(guarantee, PureDP):
        return PureDP(size * guarantee.epsilon)
    if isinstance(guarantee, ZeroConcentratedDP):
        return ZeroConcentratedDP(size**2 * guarantee.rho)
    delta = _group_delta(guarantee, size)
    if delta >= 1:
        raise ConversionError(
            f"A group of {size} has no guarantee left: delta must stay below 1, but that of "
            f"{guarantee} reaches it. Use a smaller delta, or pure differential privacy.",
            guarantee,
        )
    return ApproximateDP(size * guarantee.epsilon, delta)


def _group_delta(guarantee: ApproximateDP, size: int) -> Fraction:
    if size == 1:
        return guarantee.delta
    with precision(PRECISION):
        epsilon = enclosed(guarantee.epsilon)
        factor = (size * epsilon).expm1() / epsilon.expm1()
        return at_least(enclosed(guarantee.delta) * factor)


def for_replace_one(guarantee: Guarantee) -> Guarantee:
    """What an add/remove guarantee says under replace-one neighbours.

    To replace a unit is to remove one and add another: 2 epsilon, (1 + e^epsilon) delta, 4 rho. There
    is no way back: replace-one neighbours have equally many units, so a replace-one guarantee says
    nothing of data sets of different size.

    Raises
    ------
    ConversionError
        If delta would reach 1.
    """
    return for_group(guarantee, 2)
