"""Zero-concentrated differential privacy: what noise costs in it, and the tight way out of it.

A product of independent Laplace variables whose total loss is at most epsilon is rho-zCDP with rho =
epsilon + exp(-epsilon) - 1, attained by one variable; any pure mechanism with rho = epsilon
tanh(epsilon/2), attained by a coin that tells one bit. Proofs: docs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from dpfda.numerics.exactness import enclosed, precision, upper_end
from dpfda.privacy.composition.rounding import PRECISION, SMALLEST, at_least, bits_for, log_of

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
        value = alpha * enclosed(rho) + (_log_factor_enclosed(alpha) - enclosed(delta).log()) / (
            alpha - 1
        )
        return max(at_least(value), SMALLEST)


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
        exponent = (alpha - 1) * (alpha * enclosed(rho) - enclosed(epsilon)) + _log_factor_enclosed(
            alpha
        )
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
