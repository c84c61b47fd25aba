"""How far known noise on the coefficients of features moves a function of them."""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpfda.numerics.arrays import Floats

# Parts of equal probability of the length of K-norm noise.
PARTS = 4000


def deviations(features: Floats, spread: Floats) -> Floats:
    """Deviations (q,) of functions (q, K) of noisy coefficients; for several classes (q, 1) or (q, C).

    Parameters
    ----------
    features : array (q, K)
    spread : array () or (K, K), or (C, K, K)
        Deviation of every coefficient, in any direction; or their covariance matrix, or that of each
        class.
    """
    if spread.ndim == 0:
        return np.asarray(float(spread) * np.linalg.norm(features, axis=1))
    squares = np.sum((features @ spread) * features, axis=-1).T
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def factor(count: int, level: float, simultaneous: bool, knorm: bool) -> float:
    """Half width of a band, in deviations, for noise on `count` coefficients.

    At a point it is a quantile of one direction. For all points at once it is one of the length: by
    Cauchy and Schwarz |phi . d| <= |phi| |d|, which holds for all phi together.

    Parameters
    ----------
    count : int
        Number K of coefficients.
    level : float
    simultaneous : bool
    knorm : bool
        Whether the density is that of one K-norm block; else it is normal. A block is c R U, R ~
        Gamma(K, 1), of deviation c (K + 1)^(1/2) along any direction, along which it is c chi_{K+1}
        times a standard normal variable.
    """
    if simultaneous:
        if knorm:
            return float(scipy.stats.gamma(count).ppf(level)) / math.sqrt(count + 1)
        return math.sqrt(float(scipy.stats.chi2(count).ppf(level)))
    if not knorm:
        return float(scipy.stats.norm.ppf((1 + level) / 2))
    shares = (np.arange(PARTS) + 0.5) / PARTS
    lengths = np.sqrt(scipy.stats.chi2(count + 1).ppf(shares) / (count + 1))

    def missing(far: float) -> float:
        return float(np.mean(2 * scipy.stats.norm.cdf(far / lengths) - 1)) - level

    return float(scipy.optimize.brentq(missing, 0.0, 1e3))
