"""The recipe of Mirshani, Reimherr & Slavkovic (2019), as printed and as coded. NOT PRIVATE.

The bound tau is the largest norm in the data, so the noise has another scale on a neighbouring data set.
Two scales of the noise are kept apart:

- "printed": Theorem 4.1, a Gaussian process with the kernel's covariance, sensitivity with a supremum;
- "coded": the authors' R package PFDA, read but not run: eigenvectors of Euclidean length one stand for
  functions of norm one, so the noise is m^(-1/2) times the process (m grid points), and the sensitivity
  has a sum in the place of the supremum. The two together do not make up for each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np

from dpfda.privacy.composition import gaussian_epsilon
from experiments.common import Floats, trapezoid

CONVENTIONS = ("printed", "coded")
KERNELS = ("gaussian", "matern52", "matern32", "exponential")
KERNEL_NAMES = {
    "gaussian": "Gaussian (C1)",
    "matern52": "Matern 5/2 (C2)",
    "matern32": "Matern 3/2 (C3)",
    "exponential": "exponential (C4)",
}


def kernel_matrix(kernel: str, rho: float, grid: Floats) -> Floats:
    """Equation (6) of the supplement; the Gaussian kernel is exp(-d^2/rho), not exp(-d^2/(2 rho^2))."""
    distance = np.abs(grid[:, None] - grid)
    if kernel == "gaussian":
        return np.asarray(np.exp(-(distance**2) / rho))
    if kernel == "exponential":
        return np.asarray(np.exp(-distance / rho))
    if kernel == "matern32":
        scaled = math.sqrt(3) * distance / rho
        return np.asarray((1 + scaled) * np.exp(-scaled))
    scaled = math.sqrt(5) * distance / rho
    return np.asarray((1 + scaled + scaled**2 / 3) * np.exp(-scaled))


@cache
def eigenpairs(kernel: str, rho: float, points: int) -> tuple[Floats, Floats]:
    """Positive eigenvalues (K,) of C/m and functions (K, m) of norm one under equal weights."""
    gram = kernel_matrix(kernel, rho, np.linspace(0, 1, points))
    values, vectors = np.linalg.eigh(gram / points)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > 0
    return values[kept], vectors[:, kept].T * math.sqrt(points)


@dataclass(frozen=True, eq=False)
class Tuning:
    """What a release of the paper is made with.

    Parameters
    ----------
    kernel : one of `KERNELS`
        Of the smoothing and of the noise (eta = 1).
    rho : float
        Range parameter of the kernel, in units of the domain (squared for the Gaussian kernel).
    phi : float
        Penalty.
    epsilon, delta : float
        Nominal budget.
    """

    kernel: str = "gaussian"
    rho: float = 0.001
    phi: float = 0.01
    epsilon: float = 1.0
    delta: float = 0.1


@dataclass(frozen=True, eq=False)
class GaussianRelease:
    """An estimate plus independent normal noise on functions.

    Parameters
    ----------
    center : array (m,)
        What is released without noise.
    functions : array (K, m)
        Functions that carry the noise, of norm one under equal weights.
    deviations : array (K,)
        Standard deviations.
    width : float
        Largest move of the mean between neighbours, 2 tau/n, tau taken for a public bound.
    shrinkage : array (K,)
        Factors on the mean's coefficients.
    delta : float
    """

    center: Floats
    functions: Floats
    deviations: Floats
    width: float
    shrinkage: Floats
    delta: float

    @cached_property
    def weights(self) -> Floats:
        """Trapezoid weights of distances."""
        return trapezoid(self.center.size)

    @property
    def noise_power(self) -> float:
        """Expected squared norm of the noise."""
        return float(self.deviations**2 @ (self.functions**2 @ self.weights))

    def expected(self, target: Floats) -> float:
        """Expected squared distance to a target, in closed form."""
        return float(self.weights @ (self.center - target) ** 2) + self.noise_power

    def draws(self, count: int, generator: np.random.Generator) -> Floats:
        """Simulated releases (count, m)."""
        noise = generator.standard_normal((count, self.deviations.size)) * self.deviations
        return np.asarray(self.center + noise @ self.functions)

    @property
    def length(self) -> float:
        """Cameron-Martin length mu of the largest move between neighbours, over the noise."""
        return self.width * float(np.max(self.shrinkage / self.deviations))

    @property
    def true_epsilon(self) -> float:
        """Exact epsilon at the nominal delta, if the bound were a public number (it is a maximum)."""
        rho = Fraction(self.length) ** 2 / 2
        return float(gaussian_epsilon(rho, Fraction(repr(self.delta))))


def largest_norm(curves: Floats) -> float:
    """The bound tau: the largest norm in the data, by the trapezoid rule. NOT PRIVATE."""
    return float(np.sqrt((curves**2 @ trapezoid(curves.shape[1])).max()))


def release_of(
    mean: Floats, size: int, bound: float, tuning: Tuning, convention: str = "printed"
) -> GaussianRelease:
    """The release of a mean of `size` curves of norm at most `bound`.

    Parameters
    ----------
    mean : array (m,)
        Mean curve on equally spaced points of [0, 1].
    size : int
    bound : float
        As `largest_norm` takes it from the data. NOT PRIVATE.
    tuning : Tuning
    convention : {"printed", "coded"}
    """
    values, functions = eigenpairs(tuning.kernel, tuning.rho, mean.size)
    shrinkage = values / (values + tuning.phi)
    slopes = values / (values + tuning.phi) ** 2
    width = 2 * bound / size
    classical = math.sqrt(2 * math.log(2 / tuning.delta)) / tuning.epsilon
    if convention == "printed":
        scale = classical * width * math.sqrt(slopes.max())
    else:
        scale = classical * width * math.sqrt(slopes.sum() / mean.size)
    center = (shrinkage * (functions @ mean) / mean.size) @ functions
    return GaussianRelease(
        np.asarray(center), functions, scale * np.sqrt(values), width, shrinkage, tuning.delta
    )
