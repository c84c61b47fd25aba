"""Special functions of a few numbers: loading SciPy's takes longer than all else that a plan does."""

from __future__ import annotations

import math

import numpy as np

from dpfda.numerics.arrays import Floats

# From here on the series of erfcx has no term left that counts; exp(x^2) overflows below the other.
SERIES, LEAST = 25.0, -26.0
HALVINGS = 60
_erfc = np.frompyfunc(math.erfc, 1, 1)


def scaled_erfc(x: Floats) -> Floats:
    """Find exp(x^2) erfc(x), to about 1e-13; infinite below -26."""
    middle = np.clip(x, LEAST, SERIES)
    found = np.exp(middle**2) * np.asarray(_erfc(middle), dtype=float)
    inverse = 1 / (2 * np.maximum(x, SERIES) ** 2)
    series = 1 - inverse * (1 - 3 * inverse * (1 - 5 * inverse * (1 - 7 * inverse)))
    far = series * np.sqrt(2 * inverse / np.pi)
    return np.asarray(np.where(x > SERIES, far, np.where(x < LEAST, np.inf, found)))


def gamma_chance(shape: int, x: float) -> float:
    """Chance that a Gamma number of this whole shape is at most x: one less a sum of Poisson chances."""
    if x <= 0:
        return 0.0
    counts = np.arange(shape)
    logs = counts * math.log(x) - x - np.concatenate([[0.0], np.cumsum(np.log(counts[1:]))])
    return float(1 - np.exp(logs).sum())


def gamma_quantile(shape: int, chance: float) -> float:
    """Number x (at most of chance 1 - 1e-15 or so) with `gamma_chance(shape, x) = chance`."""
    low, high = 0.0, shape + 40.0 + 10 * math.sqrt(shape)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if gamma_chance(shape, middle) < chance else (low, middle)
    return high
