"""What a statistician would do in an afternoon, beside which the default is measured.

Curves are in shares of their public range, 0 to 1, and the noise is for replacing one of n of them at a
pure epsilon: `strength` is n times epsilon. All randomness is floating-point and seeded: nothing made
here is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.linalg import helmert

from experiments.common import Floats

# The expert's number of cells, .62 (n epsilon)^.45, and number of cosines, .8 (n epsilon)^.35.
CELLS, COSINES = (0.62, 0.45), (0.8, 0.35)
# Numbers of cells from which hindsight takes the best.
HINDSIGHT = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40, 50, 64, 80, 100, 125, 160, 200)
# Variances of the curve over that of the noise, from which empirical Bayes takes the likeliest.
SCALES = np.geomspace(1e-4, 1e16, 61)
# Coefficient j of a smooth curve falls like j^-2.
DECAY = -4.0


def rule_cells(points: int, strength: float, rule: tuple[float, float] = CELLS) -> int:
    """The expert's number of cells: a power of n epsilon, at least three, at most the grid points."""
    factor, power = rule
    return min(points, max(3, round(factor * strength**power)))


def rule_cosines(points: int, strength: float) -> int:
    """A number of cosines in the same manner."""
    factor, power = COSINES
    return min(points, max(2, round(factor * strength**power)))


def box_noise(generator: np.random.Generator, draws: int, cells: int) -> Floats:
    """Noise (draws, M) of density proportional to exp(-max |z|)."""
    radii = generator.gamma(cells + 1, size=(draws, 1))
    return np.asarray(radii * generator.uniform(-1, 1, (draws, cells)))


def ball_noise(generator: np.random.Generator, draws: int, count: int) -> Floats:
    """Noise (draws, K) of density proportional to exp(-|z|_2)."""
    directions = generator.standard_normal((draws, count))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(generator.gamma(count, size=(draws, 1)) * directions)


def likeliest_scales(seen: Floats, variances: Floats, power: float) -> Floats:
    """The scale (draws,) of a prior that makes each row of independent normal variables most likely.

    Parameters
    ----------
    seen : array (draws, K)
    variances : array (K,)
        Of the prior at scale one, over the power of the noise.
    power : float
        Variance of the noise.
    """
    totals = power * (1 + SCALES[:, None] * variances)
    losses = np.log(totals).sum(axis=1) + seen**2 @ (1 / totals).T
    return np.asarray(SCALES[np.argmin(losses, axis=1)])


@dataclass(frozen=True)
class CellSpline:
    """Cubic smoothing splines from noisy averages over cells, the smoothness by empirical Bayes.

    The curve is a level about which nothing is believed, a slope, and an integrated Wiener process; the
    scale of both is the one that makes the contrasts among the averages most likely (restricted maximum
    likelihood). The estimate is then the best linear one.

    Parameters
    ----------
    points : int
        Equally spaced grid points on [0, 1].
    cells : int
        Runs of neighbouring points, as equal in number as they go.
    """

    points: int
    cells: int

    @cached_property
    def averages(self) -> Floats:
        """Matrix (M, T) from a curve to its averages over cells."""
        places = (np.arange(self.points) + 0.5) / self.points
        members = np.floor(places * self.cells) == np.arange(self.cells)[:, None]
        return np.asarray(members / members.sum(axis=1, keepdims=True))

    @cached_property
    def contrasts(self) -> tuple[Floats, Floats, Floats]:
        """Variances (M-1,) of independent contrasts, forms (M, M-1), and what they tell (T, M-1)."""
        times = np.linspace(0, 1, self.points)
        least, most = np.minimum.outer(times, times), np.maximum.outer(times, times)
        kernel = least**2 * (3 * most - least) / 6 + np.outer(times - 0.5, times - 0.5)
        crossed = kernel @ self.averages.T
        # Orthonormal contrasts first: the eigenvectors of a centred matrix mix with the level where
        # their eigenvalues are as small as its own.
        contrasts = helmert(self.cells).T
        variances, vectors = np.linalg.eigh(contrasts.T @ self.averages @ crossed @ contrasts)
        variances, forms = np.maximum(variances, 0), contrasts @ vectors
        return variances, forms, crossed @ forms

    def estimate(self, noisy: Floats, power: float) -> Floats:
        """Curves (draws, T) from noisy averages (draws, M) whose noise has this variance each."""
        variances, forms, told = self.contrasts
        seen = noisy @ forms
        scales = likeliest_scales(seen, variances, power)[:, None]
        curves = (seen * scales / (1 + scales * variances)) @ told.T
        levels = (noisy - curves @ self.averages.T).mean(axis=1, keepdims=True)
        return np.asarray(curves + levels)

    def releases(
        self, generator: np.random.Generator, mean: Floats, strength: float, draws: int
    ) -> Floats:
        """Simulated releases (draws, T) of a mean (T,), with box noise on its averages."""
        noise = box_noise(generator, draws, self.cells) / strength
        power = (self.cells + 1) * (self.cells + 2) / 3 / strength**2
        return self.estimate(self.averages @ mean + noise, power)


@cache
def spline(points: int, cells: int) -> CellSpline:
    """One factorisation for all sets on as many points."""
    return CellSpline(points, cells)


def cosine_releases(generator: np.random.Generator, mean: Floats, strength: float, draws: int) -> Floats:
    """Simulated releases (draws, T) by K cosines with K-norm noise of the l2 ball, shrunk.

    Empirical Bayes: the level is kept as it comes, coefficient j has a prior variance like j^-4.
    """
    points = mean.size
    count = rule_cosines(points, strength)
    angles = np.outer(np.arange(count), (np.arange(points) + 0.5) * np.pi / points)
    functions = np.cos(angles) * np.sqrt(np.where(np.arange(count) > 0, 2.0, 1.0))[:, None]
    noisy = functions @ mean / points + ball_noise(generator, draws, count) / strength
    power, variances = (count + 1) / strength**2, np.arange(1.0, count) ** DECAY
    scales = likeliest_scales(noisy[:, 1:], variances, power)[:, None]
    noisy[:, 1:] *= scales * variances / (1 + scales * variances)
    return np.asarray(noisy @ functions)
