"""Coefficients of a linear model from noisy moments: a posterior that knows the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.specials import normal_quantile, student_quantile
from dpfda.releases.moments import Moments, nearest_positive

# Priors that are weighed by their evidence: how fast coefficients fall with the functions' eigenvalues,
# and how large they are.
EXPONENTS = (0.25, 0.5, 1.0)
SCALES = np.geomspace(0.3, 1e3, 15)
# For bands the size of b is estimated from the directions that are seen, and one more: so few that its
# law is Student's, whose reach at such a level is taken for that of a normal one.
REACHED = 0.975
# Of what curves are seen to vary at least such a part is taken for their own.
LEFT = 0.1
# Of curves that were brought to one level nothing is seen of the leading function, nearly a constant:
# for bands its coefficient may be larger than the others foretell, in so many variances.
LEVEL = 5.0
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


@dataclass(frozen=True, eq=False)
class _Equations:
    """Noisy second moments h = A b + error of x (p coordinates) with y, and of x; with their noise.

    inner, across, alone: Parts of the factor that the last step was seen through.
    moved, moved_alone: Variances of the noise in the means of x and y, about which moments were taken.
    """

    second: Floats
    mixed: Floats
    variance: float
    inner: Floats
    across: Floats
    alone: float
    moved: Floats
    moved_alone: float
    power: float
    n: int

    @classmethod
    def of(cls, moments: Moments, careful: bool = False) -> _Equations:
        """From noisy moments; for bands with care: the noise of means counts."""
        last = len(moments.steps) - 1
        factor, matrix = moments.root, moments.matrix
        # A mean that second moments measure anew is off by so little that its square counts for nothing.
        moved = moments.mean_power * (careful and moments.decay is None)
        variance = max(float(matrix[-1, -1]), ROUNDING * float(np.trace(matrix)), 1e-300)
        if careful:
            matrix = nearest_positive(matrix - np.diag(moved))
        return cls(
            matrix[:-1, :-1], matrix[:-1, -1], variance, factor[:-1, :-1], factor[-1, :-1],
            float(factor[-1, -1]), moved[:-1], float(moved[-1]), moments.power(last), moments.size,
        )  # fmt: skip

    def aside(self, coefficients: Floats) -> tuple[float, float]:
        """What b takes from the noise, and from that of the means, beside the target itself."""
        own = float(np.sum((self.across - self.inner.T @ coefficients) ** 2))
        return own, float(self.moved @ coefficients**2)

    def error(self, residual: float, aside: tuple[float, float]) -> Floats:
        """Covariance (p, p) of the error: sampling, and noise."""
        noise = self.power / 2 * (self.alone**2 + aside[0]) * self.inner @ self.inner.T
        noise += np.diag(self.moved * (self.moved_alone + aside[1]))
        rounding = ROUNDING * np.trace(self.second) * np.eye(len(self.mixed))
        return np.asarray(residual / self.n * self.second + noise + rounding)

    def clear(self) -> tuple[Floats, int]:
        """A (p, p) less what its noise may have added, and in how many directions more is seen."""
        seen = np.linalg.solve(self.inner, np.linalg.solve(self.inner, self.second).T)
        values, vectors = np.linalg.eigh((seen + seen.T) / 2)
        # About the largest eigenvalue of the noise alone. To one beyond it noise adds edge^2 / 4 over
        # that one (Benaych-Georges & Nadakuditi 2011).
        edge = 2 * np.sqrt(self.power / 2 * len(values))
        left = (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2 * (values > edge)
        root = self.inner @ (vectors * np.sqrt(left))
        return np.asarray(root @ root.T), int(np.count_nonzero(left))

    def priors(self, falls: Floats, sizes: Floats) -> Floats:
        """Variances of b: of functions by falls (.., K) and sizes (.., 1), of covariates `LOOSE`."""
        functions = falls * sizes * self.variance
        beside = len(self.mixed) - falls.shape[-1]
        return np.hstack([functions, np.full((len(functions), beside), LOOSE * self.variance)])


def explained(moments: Moments, eigenvalues: Floats) -> Explained:
    """Coefficients of the last coordinate given the others, the first of which are of functions.

    With A and h the noisy moments of x with x and y, h = A b + error. The error has the sampling part
    s^2 A / n and that of the noise: with L the factor that the last step was seen through, l its last
    row, it is normal with covariance power / 2 (l_y^2 + |l_x - L_x' b|^2) L_x L_x', up to diagonal
    entries of the noise, which count twice. b has a prior N(0, P); several P are weighed by their
    evidence.

    eigenvalues: array (K,). Of the public functions that were measured.
    """
    equations, falls = _Equations.of(moments), _falls(eigenvalues)
    second, mixed, variance = equations.second, equations.mixed, equations.variance
    trace = max(float(np.trace(second[: eigenvalues.size, : eigenvalues.size])), 1e-300)
    sizes = np.tile(SCALES, len(falls))[:, None] / trace
    priors = equations.priors(np.repeat(falls, SCALES.size, axis=0), sizes)
    residual, coefficients = variance, np.zeros(len(mixed))
    unknown = equations.alone**2, equations.moved_alone
    posterior = np.zeros_like(second)
    for round_ in range(2):
        # At first b is not known: it takes as much from the noise as the target itself.
        error = equations.error(residual, equations.aside(coefficients) if round_ else unknown)
        coefficients, posterior, _ = _weighed(second, mixed, priors, [error] * len(priors))
        left = variance - 2 * float(mixed @ coefficients) + float(coefficients @ second @ coefficients)
        residual = max(left, LEAST * variance)
    return Explained(coefficients, (posterior + posterior.T) / 2, variance, residual)


def cautious(moments: Moments, eigenvalues: Floats, model: Explained) -> tuple[Floats, Floats]:
    """Squared distances (p, p) from the coefficients that a band is made of; and of functions beyond.

    The latter (F - K,) are of public functions that nothing was measured of: the priors' variances.

    As the posterior, but that A is less what its noise may have added, and that each prior says itself
    how much of the noise b takes: else directions that noise drowns make large b look unlikely. Priors
    of small b are left out: where little is seen they are always likely, and the band would be theirs.
    How large b can be the target tells, whose variance is no less than what b explains of it; where few
    directions are seen b may by chance be small in these, and larger in others.

    Moments were taken about means that are off by noise e: A and h have e e' beside, and the error
    e_x (e_y - e_x' b). Of curves that vary little between their bounds e e' is most of A.
    """
    equations, falls = _Equations.of(moments, careful=True), _falls(eigenvalues)
    falls[:, 0] *= LEVEL
    second, seen = equations.clear()
    count = moments.blocks[0]
    falls, beyond = falls[:, :count], falls[:, count:]
    own, all_ = (falls @ np.diag(matrix)[:count] for matrix in (second, moments.matrix))
    # Covariates are seen first.
    degrees = 1.0 + max(0, seen - (len(second) - count))
    reach = student_quantile(REACHED, degrees) / float(normal_quantile(REACHED))
    sizes = reach**2 / np.maximum(np.maximum(own, LEFT * all_), 1e-300)
    priors = equations.priors(falls, sizes[:, None])
    across, inner = float(np.sum(equations.across**2)), np.sum(equations.inner**2, axis=1)
    asides = [(across + prior @ inner, prior @ equations.moved) for prior in priors]
    errors = [equations.error(model.residual, aside) for aside in asides]
    coefficients, covariance, weights = _weighed(second, equations.mixed, priors, errors)
    off = coefficients - model.coefficients
    return covariance + np.outer(off, off), weights * sizes @ beyond * equations.variance


def _falls(eigenvalues: Floats) -> Floats:
    """Variances (3, K) of coefficients, beside that of the first."""
    return np.array([(eigenvalues / eigenvalues[0]) ** exponent for exponent in EXPONENTS])


def _weighed(
    second: Floats, mixed: Floats, priors: Floats, errors: Sequence[Floats]
) -> tuple[Floats, Floats, Floats]:
    """Posterior mean and covariance of b over priors (q, p) weighed by their evidence; weights (q,)."""
    laws = list(zip(priors, errors, strict=True))
    logs = np.array([_evidence(second, mixed, *law) for law in laws])
    weights = np.exp(logs - logs.max())
    weights[weights <= LIGHT * weights.sum()] = 0.0
    weights /= weights.sum()
    places = np.flatnonzero(weights)
    posteriors = [_posterior(second, mixed, *laws[place]) for place in places]
    means = np.array([mean for mean, _ in posteriors])
    mean = weights[places] @ means
    spread = np.einsum(
        "i,ijk->jk", weights[places], np.array([covariance for _, covariance in posteriors])
    )
    return mean, spread + (means - mean).T @ (weights[places, None] * (means - mean)), weights


def _posterior(second: Floats, mixed: Floats, prior: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Posterior mean and covariance of b under one prior."""
    gain = np.linalg.solve((second * prior) @ second + error, second * prior).T
    return gain @ mixed, np.diag(prior) - gain @ (second * prior)


def _evidence(second: Floats, mixed: Floats, prior: Floats, error: Floats) -> float:
    """Logarithm of the density of the mixed moments under a prior, up to a constant."""
    root = np.linalg.cholesky((second * prior) @ second + error)
    scaled = np.linalg.solve(root, mixed)
    return float(-scaled @ scaled / 2 - np.log(np.diag(root)).sum())
