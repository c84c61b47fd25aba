"""Special functions of a few numbers: loading SciPy's takes longer than all else that a plan does."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import TypeVar

import numpy as np

from dpfda.numerics.arrays import Floats

Number = TypeVar("Number", float, Fraction)
# From here on the series of erfcx has no term left that counts; exp(x^2) overflows below the other.
SERIES, LEAST = 25.0, -26.0
HALVINGS, TINY = 60, 1e-40
_erfc = np.frompyfunc(math.erfc, 1, 1)
_quantile = np.frompyfunc(NormalDist().inv_cdf, 1, 1)
# The chances next to zero and one.
ENDS = 5e-324, 1 - 2.0**-53


def normal_chance(x: Floats) -> Floats:
    """Chance that a standard normal number is at most x: of some thousands, not of millions."""
    return np.asarray(0.5 * _erfc(np.asarray(x) / -math.sqrt(2)), dtype=float)


def normal_quantile(chance: Floats | float) -> Floats:
    """Find x of a chance, to about 1e-15; finite at zero and one too."""
    return np.asarray(_quantile(np.clip(chance, *ENDS)), dtype=float)


def student_quantile(chance: float, freedom: float) -> float:
    """What Student's t stays below with a chance of at least a half.

    With t = freedom^(1/2) tan(u) the density of u is as cos(u)^(freedom - 1).

    Examples
    --------
    >>> [round(student_quantile(0.975, freedom), 3) for freedom in (1, 2.5, 30)]
    [12.706, 3.575, 2.042]
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(math.pi) / 2

    def below(end: float) -> float:
        inside = np.cos(end * (nodes + 1) / 2) ** (freedom - 1)
        return 0.5 + math.exp(log) * end / 2 * float(weights @ inside)

    return math.sqrt(freedom) * math.tan(halved(lambda end: below(end) < chance, 0.0, math.pi / 2))


def narrowed(holds: Callable[[Number], bool], low: Number, high: Number) -> tuple[Number, Number]:
    """Two numbers, 2^-60 of the given distance apart, of which the lower satisfies a monotone predicate.

    holds: True up to some number between `low` and `high`, false from there on. Where it is decided
        exactly, as of fractions, either end may be relied on.
    """
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def halved(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that holds from `low` on ends, from above, by halving what is left to `high`."""
    return narrowed(holds, low, high)[1]


def scaled_erfc(x: Floats) -> Floats:
    """Find exp(x^2) erfc(x), to about 1e-13; infinite below -26."""
    middle = np.clip(x, LEAST, SERIES)
    near = np.exp(middle**2) * np.asarray(_erfc(middle), dtype=float)
    inverse = 1 / (2 * np.maximum(x, SERIES) ** 2)
    series = 1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse * (1 - 7 * inverse)))
    far = series * np.sqrt(2 * inverse / np.pi)
    return np.asarray(np.where(x > SERIES, far, np.where(x < LEAST, np.inf, near)))


def gamma_chance(shape: int, x: float) -> float:
    """Chance that a Gamma number of this whole shape is at most x: one less a sum of Poisson chances."""
    if x <= 0:
        return 0.0
    counts = np.arange(shape)
    logs = counts * math.log(x) - x - np.concatenate([[0.0], np.cumsum(np.log(counts[1:]))])
    return float(1 - np.exp(logs).sum())


def gamma_quantile(shape: int, chance: float) -> float:
    """Number x (at most of chance 1 - 1e-15 or so) with `gamma_chance(shape, x) = chance`."""
    high = shape + 40.0 + 10 * math.sqrt(shape)
    return halved(lambda x: gamma_chance(shape, x) < chance, 0.0, high)


def gamma_ends(shape: float, tail: float) -> tuple[float, float]:
    """Numbers that a Gamma number of this whole or half shape is below, and above, with a small chance.

    Both chances are sums of terms x^j e^-x / j!, from the shape on and up to it, of which none cancel;
    for halves the latter are erfc(x^(1/2)) more.
    """
    half, reach = shape % 1, 60 + 12 * math.sqrt(shape)
    over, under = _terms(shape + np.arange(reach)), _terms(np.arange(half, shape))
    low = _crossing(lambda x: over(x) - tail, shape)
    high = _crossing(lambda x: tail - under(x) - (math.erfc(math.sqrt(x)) if half else 0.0), shape)
    return low, high


def _terms(powers: Floats) -> Callable[[float], float]:
    logs = np.array([math.lgamma(power + 1) for power in powers])
    return lambda x: float(np.exp(powers * math.log(x) - x - logs).sum())


def _crossing(rising: Callable[[float], float], shape: float) -> float:
    """Where a function of a Gamma number of this shape gets positive, far into both tails."""
    high = math.log(shape + 40.0 + 10 * math.sqrt(shape))
    return math.exp(halved(lambda log: rising(math.exp(log)) < 0, math.log(TINY), high))
