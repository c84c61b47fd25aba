"""How far known noise on the coefficients of features moves a function of them."""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpfda.noise import KNormNoise, NoiseLaw
from dpfda.noise.symmetric import MatrixLaw, SymmetricGaussianNoise, SymmetricNoise
from dpfda.numerics.arrays import Floats

# Parts of equal probability of the length of K-norm noise.
PARTS = 4000
# Fewest and most draws of the noise at all points at once, multiplications with them, and points at a
# time.
FEWEST, DRAWS, WORK, PART = 4000, 20_000, 2 * 10**8, 128
# Entries of all matrices whose lengths are drawn, about, and fewest of these: large ones hardly differ.
ENTRIES, LENGTHS = 10**7, 200


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


def widths(
    features: Floats,
    spread: Floats,
    level: float,
    simultaneous: bool,
    noise: NoiseLaw | SymmetricNoise,
    everywhere: Floats | None = None,
) -> Floats:
    """Half-widths (q,), (q, 1) or (q, C) of a band for known noise on the coefficients.

    At a point it is a quantile of one direction. For all points at once it is one multiple of the
    deviations, by draws of the noise from a fixed key: of every class alone. Noise on sums moves
    coefficients to first order by many of its entries, and so about as a normal vector times its
    length.

    Parameters
    ----------
    features : array (q, K)
    spread
        As for `deviations`.
    level : float
    simultaneous : bool
        Whether for all points at once.
    noise : NoiseLaw or SymmetricNoise
        That was added: on coefficients, where `spread` is a number, else on sums.
    everywhere : array (N, K), optional
        All points, where they are not these.
    """
    reach = deviations(features, spread)
    if not simultaneous:
        return np.asarray(factor(features.shape[1], level, is_block(spread, noise)) * reach)
    whole = features if everywhere is None else everywhere
    draws = _draws(whole, spread, noise)
    if spread.ndim == 0:
        return _held(whole, draws, level) * reach
    ends = [_held(whole @ _root(each), draws, level) for each in np.atleast_3d(spread.T).T]
    return reach * (np.array(ends) if spread.ndim == 3 else ends[0])


def _root(covariance: Floats) -> Floats:
    """A root (K, K) of a covariance matrix."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def is_block(spread: Floats, noise: NoiseLaw | SymmetricNoise) -> bool:
    """Whether the noise on coefficients is one K-norm block, and not normal."""
    return spread.ndim == 0 and isinstance(noise, KNormNoise)


def _draws(features: Floats, spread: Floats, noise: NoiseLaw | SymmetricNoise) -> Floats:
    """Draws (draws, K) of noise whose every coordinate has variance one."""
    count = features.shape[1]
    draws = min(DRAWS, max(FEWEST, WORK // features.size))
    generator = np.random.Generator(np.random.Philox(key=0))
    drawn = generator.standard_normal((draws, count))
    if is_block(spread, noise):
        lengths = generator.gamma(count, size=draws) / math.sqrt(count + 1)
        drawn *= (lengths / np.linalg.norm(drawn, axis=1))[:, None]
    elif isinstance(noise, MatrixLaw) and not isinstance(noise, SymmetricGaussianNoise):
        few = min(FEWEST, draws, max(LENGTHS, ENTRIES // noise.size**2))
        lengths = np.linalg.norm(noise.simulate(generator, few), axis=(1, 2))
        lengths /= np.sqrt(np.mean(lengths**2))
        drawn *= np.resize(lengths, draws)[:, None]
    return drawn


def _held(forms: Floats, draws: Floats, level: float) -> float:
    """What multiple of their deviations forms (q, K) of the noise stay within, all at once."""
    lengths = np.linalg.norm(forms, axis=1)
    scaled = (forms[lengths > 0] / lengths[lengths > 0, None]).T
    largest = np.zeros(len(draws))
    for part in np.array_split(scaled, 1 + scaled.shape[1] // PART, axis=1):
        np.maximum(largest, np.abs(draws @ part).max(axis=1, initial=0.0), out=largest)
    return float(np.quantile(largest, level, method="higher"))


def factor(count: int, level: float, knorm: bool) -> float:
    """Half width of a band at a point, in deviations, for noise on `count` coefficients.

    Parameters
    ----------
    count : int
        Number K of coefficients.
    level : float
    knorm : bool
        Whether the density is that of one K-norm block; else it is normal. A block is c R U, R ~
        Gamma(K, 1), of deviation c (K + 1)^(1/2) along any direction, along which it is c chi_{K+1}
        times a standard normal variable.
    """
    if not knorm:
        return float(scipy.stats.norm.ppf((1 + level) / 2))
    shares = (np.arange(PARTS) + 0.5) / PARTS
    lengths = np.sqrt(scipy.stats.chi2(count + 1).ppf(shares) / (count + 1))

    def missing(far: float) -> float:
        return float(np.mean(2 * scipy.stats.norm.cdf(far / lengths) - 1)) - level

    return float(scipy.optimize.brentq(missing, 0.0, 1e3))
