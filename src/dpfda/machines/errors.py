"""How far noise on coefficients moves a function of features, and what is expected of it beforehand."""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpfda.machines.solvers import GradientSolver, ObjectiveSolver, Solver, SummingSolver
from dpfda.noise import KNormNoise, NoiseLaw
from dpfda.noise.symmetric import MatrixLaw, SymmetricGaussianNoise, SymmetricNoise
from dpfda.numerics.arrays import Floats
from dpfda.records.features import FeatureMap, embedded

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
    points = features if everywhere is None else everywhere
    draws = _draws(points, spread, noise)
    if spread.ndim == 0:
        return _held(points, draws, level) * reach
    ends = [_held(points @ _root(covariance), draws, level) for covariance in np.atleast_3d(spread.T).T]
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


# Inputs that are made up, spread evenly, and the wave that targets follow along the first of them.
INPUTS, AMPLITUDE = 400, 0.5
# How much of its largest curvature a loss is taken to have on average: of classes, and of a regression.
BENDS, BENDS_NEARBY = 0.5, 1.0


def noise_at_inputs(
    solver: Solver, features: FeatureMap, inputs: int, half: float | None
) -> tuple[Floats, Floats, Floats] | None:
    """Deviations of the function for its noise at inputs; their features, and what bands are made of.

    Penalty, features and few records are no part of them. With noise on sums
    they are for the matrix of the made-up examples. With noise in the objective, or in the steps of a
    descent, bands rest on the penalty or the steps alone; what is expected counts, to first order, how
    examples damp the noise if their losses have half of the curvature that they may have, or all of it
    in a regression, where most residuals are small: with H that share times the mean of phi phi', noise
    w in the gradient moves a minimiser by (H + 2 penalty I)^-1 w, and what a step of size h did is
    (1 - h l)^s of itself s steps later, along an eigenvector of H of value l.

    Parameters
    ----------
    solver : Solver
    features : FeatureMap
    inputs : int
        Number of inputs.
    half : float or None
        Half of the distance between the bounds of a regression's target; None of a classification.

    Returns
    -------
    (array (INPUTS,), array (INPUTS, K), array () or (K, K)) or None
        To be expected, in units of the target; features; and the spread, as of a release. None for
        several classes, of whose functions no deviation is known.
    """
    if solver.terms.functions > 1:
        return None
    points = np.random.Generator(np.random.Philox(key=0)).random((INPUTS, inputs))
    rows, noisy = embedded(features, solver.ball, points), tuple[int, ...]()
    if isinstance(solver, SummingSolver):
        targets = AMPLITUDE * np.cos(2 * np.pi * points[:, 0])
        targets = np.where(targets < 0, -1.0, 1.0) if half is None else targets
        sums = solver.contributions(rows, targets).astype(np.float64).mean(axis=0)
        noisy = tuple(int(x) for x in np.rint(sums * solver.terms.units))
    spread = solver.spread(noisy)
    if spread is None:
        return None
    at: Floats = np.asarray(rows * solver.ball.step, dtype=np.float64)
    width = half or 1.0
    bends = BENDS if half is None else BENDS_NEARBY
    expected = _damped(solver, at, float(spread), bends) if spread.ndim == 0 else spread
    return width * deviations(at, expected), at, spread


def _damped(solver: Solver, at: Floats, spread: float, bends: float) -> Floats:
    """Covariance (K, K) of the noise in the coefficients; their deviation () where nothing damps it."""
    curvature = bends * float(solver.terms.loss.smoothness)
    values, vectors = np.linalg.eigh(curvature * (at.T @ at) / len(at))
    values = np.maximum(values, 0.0)
    if isinstance(solver, ObjectiveSolver):
        last, ridge = solver.deviation, 2 * float(solver.terms.penalty)
        powers = ((spread - last) * ridge / (values + ridge)) ** 2 + last**2
    elif isinstance(solver, GradientSolver):
        powers = spread**2 * _kept(solver, values) / _kept(solver, np.zeros(1))
    else:
        return np.array(spread)
    return np.asarray((vectors * powers) @ vectors.T)


def _kept(solver: GradientSolver, values: Floats) -> Floats:
    """Sum of squares of what is left of each step's noise in the mean of the later points."""
    steps, late = solver.steps, solver.steps - solver.steps // 2
    shrunk = np.clip(1 - solver.step * values, 0.0, 1.0)
    left, total = np.zeros_like(values), np.zeros_like(values)
    power = np.ones_like(values)
    # From the last step backwards; of early ones only what is left of them late counts.
    for back in range(steps):
        if back < late:
            left = 1 + shrunk * left
        else:
            power *= shrunk
        total += (left * power / late) ** 2
    return total
