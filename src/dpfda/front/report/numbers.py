"""Numbers of a guarantee, and how they are written for people."""

from __future__ import annotations

import math

from dpfda.privacy.guarantees import Guarantee, ZeroConcentratedDP

# The delta at which a zero-concentrated guarantee is put into words.
EXAMPLE_DELTA = 1e-6


def worded_epsilon(guarantee: Guarantee) -> float:
    """Epsilon that the words use; for rho-zCDP that of Bun & Steinke 2016, Proposition 1.3."""
    if isinstance(guarantee, ZeroConcentratedDP):
        rho = float(guarantee.rho)
        return rho + 2 * math.sqrt(rho * math.log(1 / EXAMPLE_DELTA))
    return float(guarantee.epsilon)


def factor(epsilon: float) -> float:
    """Factor by which odds can change."""
    return math.exp(epsilon) if epsilon < 700 else math.inf


def posterior(epsilon: float, prior: float = 0.5) -> float:
    """Largest probability that a suspicion can grow to: its odds times exp(epsilon)."""
    return prior / (prior + (1 - prior) * math.exp(-epsilon))


def percent(probability: float) -> str:
    """A probability in per cent that never reads as 0% or 100% by rounding."""
    rarer = 100 * min(probability, 1 - probability)
    if rarer < 1e-5:
        return "99.99999%" if probability > 0.5 else "0.00001%"
    digits = 2 - math.floor(math.log10(rarer))
    return f"{100 * probability:.{digits}f}".rstrip("0").rstrip(".") + "%"


def number(value: float) -> str:
    """Three significant digits, and no powers of ten where plain digits will do."""
    if math.isinf(value):
        return "more than 1e300"
    return f"{value:.3g}" if value < 1000 or value >= 1e9 else f"{value:,.0f}"


def thousands(value: float) -> str:
    """A large count with separators."""
    return f"{value:,.0f}" if value < 1e9 else f"{value:.0e}"


def first_up(text: str) -> str:
    """A text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]
