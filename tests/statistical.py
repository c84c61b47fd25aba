"""Statistics that the tests share: goodness of fit with a stated false-alarm rate, exact intervals."""

from collections.abc import Callable, Sequence

import mpmath
import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6
"""Chance that one statistical assertion fails although the code is right."""


def rounded_laplace(integer: int, scale: float) -> float:
    """Chance that a Laplace variable of this scale rounds to this integer, in closed form."""
    if integer == 0:
        return float(-mpmath.expm1(-1 / (2 * mpmath.mpf(scale))))
    return float(
        mpmath.exp(-abs(integer) / mpmath.mpf(scale)) * mpmath.sinh(1 / (2 * mpmath.mpf(scale)))
    )


def rounded_laplace_p_value(draws: Sequence[int], scale: float) -> float:
    """Chi-square test that integers have the law of a rounded Laplace variable of this scale.

    Cells are single integers where at least 20 draws are expected, and the two tails beyond.
    """
    last = 0
    while len(draws) * rounded_laplace(last + 1, scale) >= 20:
        last += 1
    inside = [rounded_laplace(k, scale) for k in range(-last, last + 1)]
    tail = (1 - sum(inside)) / 2
    expected = np.array([tail, *inside, tail]) * len(draws)
    cells = np.clip(draws, -last - 1, last + 1) + last + 1
    observed = np.bincount(cells, minlength=expected.size)
    return float(stats.chisquare(observed, expected).pvalue)


def fits(draws: Sequence[float], law: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Kolmogorov-Smirnov test against a distribution function, at `FALSE_ALARM`."""
    return bool(stats.kstest(np.asarray(draws, dtype=float), law).pvalue > FALSE_ALARM)


def fits_only_at_its_scale(draws: Sequence[float], law: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether draws fit a law, and neither the law cut nor the law stretched by sqrt(2)."""
    root = np.sqrt(2.0)
    return (
        fits(draws, law)
        and not fits(draws, lambda x: law(x * root))
        and not fits(draws, lambda x: law(x / root))
    )


def same_law(first: Sequence[float], second: Sequence[float]) -> bool:
    """Two-sample Kolmogorov-Smirnov test at `FALSE_ALARM`."""
    test = stats.ks_2samp(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    return bool(test.pvalue > FALSE_ALARM)


def lower_limit(hits: int, trials: int, error: float) -> float:
    """Clopper-Pearson lower limit of a probability, too high with chance at most `error`."""
    return 0.0 if hits == 0 else float(stats.beta.ppf(error, hits, trials - hits + 1))


def upper_limit(hits: int, trials: int, error: float) -> float:
    """Clopper-Pearson upper limit of a probability, too low with chance at most `error`."""
    return 1.0 if hits == trials else float(stats.beta.isf(error, hits + 1, trials - hits))


def block_profile_reference(dimension: int, length, epsilon) -> mpmath.mpf:
    """Delta at epsilon of one K-norm block of two coordinates or more, shifted by `length` scales.

    The law of the loss is integrated at mpmath's precision; its mass is made one and not known.
    """
    rho = mpmath.mpf(length) / 2
    nu = mpmath.mpf(dimension) / 2
    ratio = rho / (dimension - 1) * mpmath.besselk(nu - 1, rho) / mpmath.besselk(nu, rho)

    def weight(psi):
        sine = mpmath.sin(psi)
        return sine ** (dimension - 2) * (1 + ratio * sine**2)

    whole = mpmath.quad(
        lambda x: mpmath.exp(rho * mpmath.cos(x)) * weight(x), mpmath.linspace(0, mpmath.pi, 9)
    )
    end = mpmath.acos(mpmath.mpf(epsilon) / length)
    e = mpmath.mpf(epsilon)

    def gain(psi):
        return (mpmath.exp(rho * mpmath.cos(psi)) - mpmath.exp(e - rho * mpmath.cos(psi))) * weight(psi)

    # The integrator stops at an absolute error: tiny integrands are scaled.
    size = max(gain(end * k / 16) for k in range(1, 16))
    inside = size * mpmath.quad(lambda psi: gain(psi) / size, mpmath.linspace(0, end, 9))
    return inside / whole


def pure_rho_reference(epsilon: float) -> float:
    """Zero-concentrated cost of pure epsilon: the worst pure mechanism is randomised response.

    Any pair of laws of pure loss epsilon is a post-processing of it (Kairouz, Oh & Viswanath 2015), so
    the cost is its largest Renyi divergence over the order.
    """
    with mpmath.workdps(30):
        e = mpmath.mpf(epsilon)
        heads = mpmath.exp(e) / (1 + mpmath.exp(e))
        tails = 1 - heads

        def divergence(a: mpmath.mpf) -> mpmath.mpf:
            return mpmath.log(heads**a * tails ** (1 - a) + tails**a * heads ** (1 - a)) / (a - 1)

        orders = [1 + mpmath.mpf(10) ** (mpmath.mpf(power) / 4) for power in range(-32, 13)]
        return float(max(divergence(order) / order for order in orders))
