"""Coefficients of a linear model from noisy moments: a posterior that knows the noise."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.releases.moments import Moments

# Priors that are weighed by their evidence: how fast coefficients fall with the functions' eigenvalues,
# and how large they are.
EXPONENTS = (0.25, 0.5, 1.0)
SCALES = np.geomspace(0.3, 1e3, 15)
# Of coefficients of covariates, which lie in [-1, 1]: in variances of the target.
LOOSE = 10.0
# The residual is at least such a part of the variance of the target.
LEAST = 0.02
ROUNDING = 1e-14
# Priors of less weight than this are left out.
LIGHT = 1e-4


@dataclass(frozen=True, eq=False)
class Explained:
    """What the moments say of a linear model y - E y = b'(x - E x) + residual.

    coefficients: array (p,). Posterior means of b.
    covariance: array (p, p). Posterior covariance.
    variance, residual: Of y, and of what is left of it.
    """

    coefficients: Floats
    covariance: Floats
    variance: float
    residual: float


def explained(moments: Moments, eigenvalues: Floats) -> Explained:
    """Coefficients of the last coordinate given the others, the first of which are of functions.

    With A and h the noisy moments of x with x and y, h = A b + error. The error has the sampling part
    s^2 A / n and that of the noise: with L the factor that the last step was seen through, l its last
    row, it is normal with covariance power / 2 (l_y^2 + |l_x - L_x' b|^2) L_x L_x', up to diagonal
    entries of the noise, which count twice. b has a prior N(0, P); several P are weighed by their
    evidence.

    eigenvalues: array (K,). Of the public functions.
    """
    n, factor = moments.size, moments.factors[len(moments.steps) - 1]
    power, matrix = moments.power(len(moments.steps) - 1), moments.matrix
    second, mixed, variance = matrix[:-1, :-1], matrix[:-1, -1], float(matrix[-1, -1])
    inner, across, alone = factor[:-1, :-1], factor[-1, :-1], float(factor[-1, -1])
    count, total = eigenvalues.size, float(np.trace(second[: eigenvalues.size, : eigenvalues.size]))
    variance = max(variance, ROUNDING * float(np.trace(matrix)), 1e-300)
    priors = [
        np.append(
            scale * variance / max(total, 1e-300) * (eigenvalues / eigenvalues[0]) ** exponent,
            np.full(len(mixed) - count, LOOSE * variance),
        )
        for exponent, scale in product(EXPONENTS, SCALES)
    ]
    residual, found = variance, np.zeros(len(mixed))
    posterior = np.zeros_like(second)
    for round_ in range(2):
        # At first b is not known: it takes as much from the noise as the target itself.
        aside = float(np.sum((across - inner.T @ found) ** 2)) if round_ else alone**2
        error = residual / n * second + power / 2 * (alone**2 + aside) * inner @ inner.T
        error += ROUNDING * np.trace(second) * np.eye(len(mixed))
        weights = np.array([_evidence(second, mixed, prior, error) for prior in priors])
        weights = np.exp(weights - weights.max())
        weights /= weights.sum()
        made = [_posterior(second, mixed, prior, error) for prior in np.array(priors)[weights > LIGHT]]
        weights = weights[weights > LIGHT] / weights[weights > LIGHT].sum()
        means = np.array([mean for mean, _ in made])
        found = weights @ means
        posterior = np.einsum("i,ijk->jk", weights, np.array([spread for _, spread in made]))
        posterior += (means - found).T @ (weights[:, None] * (means - found))
        left = variance - 2 * float(mixed @ found) + float(found @ second @ found)
        residual = max(left, LEAST * variance)
    return Explained(found, (posterior + posterior.T) / 2, variance, residual)


def _posterior(second: Floats, mixed: Floats, prior: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Posterior mean and covariance of b under one prior."""
    gain = np.linalg.solve((second * prior) @ second + error, second * prior).T
    return gain @ mixed, np.diag(prior) - gain @ (second * prior)


def _evidence(second: Floats, mixed: Floats, prior: Floats, error: Floats) -> float:
    """Logarithm of the density of the mixed moments under a prior, up to a constant."""
    root = np.linalg.cholesky((second * prior) @ second + error)
    scaled = np.linalg.solve(root, mixed)
    return float(-scaled @ scaled / 2 - np.log(np.diag(root)).sum())
