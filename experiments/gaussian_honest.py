"""The honest column for Mirshani, Reimherr & Slavkovic (2019): this library, bounds public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern

from dpfda.bases import KernelBasis
from dpfda.bounds import Bound
from dpfda.mechanisms.design import choose
from dpfda.mechanisms.gaussian import GaussianProcess
from dpfda.privacy.guarantees import guarantee_for
from dpfda.testing.contracts import make_problem
from experiments.common import Floats

SMOOTHNESS = {"matern52": 2.5, "matern32": 1.5, "exponential": 0.5}


def library_kernel(kernel: str, rho: float) -> Kernel:
    """The paper's kernel in scikit-learn's terms: exp(-d^2/rho) has length scale (rho/2)^(1/2)."""
    if kernel == "gaussian":
        return RBF(math.sqrt(rho / 2))
    return Matern(rho, nu=SMOOTHNESS[kernel])


@cache
def basis_of(kernel: str, rho: float, points: int) -> KernelBasis:
    """The library's eigenbasis on equally spaced points of [0, 1]."""
    return KernelBasis.on_grid(library_kernel(kernel, rho), np.linspace(0, 1, points))


@dataclass(frozen=True, eq=False)
class HonestRelease:
    """A fixed curve plus noise of known variances: the library's release, before it is drawn.

    Parameters
    ----------
    center : array (m,)
        Release without noise.
    functions : array (m, K)
        Basis functions on the grid.
    variances : array (K,)
        Of the released coefficients.
    weights : array (m,)
        Quadrature weights.
    """

    center: Floats
    functions: Floats
    variances: Floats
    weights: Floats

    @property
    def noise_power(self) -> float:
        """Expected squared norm of the noise."""
        return float(self.variances @ (self.functions.T**2 @ self.weights))

    def expected(self, target: Floats) -> float:
        """Expected squared distance to a target, in closed form."""
        return float(self.weights @ (self.center - target) ** 2) + self.noise_power

    def draws(self, count: int, generator: np.random.Generator) -> Floats:
        """Simulated releases (count, m) where the noise is normal."""
        noise = generator.standard_normal((count, self.variances.size)) * np.sqrt(self.variances)
        return np.asarray(self.center + noise @ self.functions.T)


def honest_release(
    mean: Floats,
    size: int,
    basis: KernelBasis,
    bound: Bound,
    epsilon: float,
    delta: float,
    phi: float,
) -> HonestRelease:
    """The paper's mechanism as the library has it, for curves that all lie within the bound.

    Parameters
    ----------
    mean : array (m,)
        Mean of the clipped curves.
    size : int
        Number of units.
    basis : KernelBasis
    bound : Bound
        Public.
    epsilon, delta : float
    phi : float
        Penalty (eta = 1); the noise is calibrated exactly.
    """
    shrinkage, variances = _design(basis, bound, size, epsilon, delta, phi)
    center = bound.center_on(basis.grid_points)
    functions = basis.values[:, : shrinkage.size]
    coefficients = ((mean - center) @ basis.analysis)[: shrinkage.size]
    center = center + functions @ (shrinkage * coefficients)
    return HonestRelease(center, functions, variances, basis.weights)


@cache
def _design(
    basis: KernelBasis, bound: Bound, size: int, epsilon: float, delta: float, phi: float
) -> tuple[Floats, Floats]:
    """Factors, and variances of the released coefficients: from public numbers, so made once."""
    problem = make_problem(basis, bound, size, guarantee_for(epsilon, delta))
    design = choose(problem, GaussianProcess(eta=1.0, penalty=phi))
    scale = design.shrinkage * problem.ball.step / size
    return design.shrinkage, scale**2 * design.noise.variances()


def clipped(curves: Floats, radius: float, weights: Floats) -> Floats:
    """Curves shrunk into an l2 ball, one by one."""
    lengths = np.sqrt(curves**2 @ weights)
    return np.asarray(curves * np.minimum(1, radius / np.maximum(lengths, 1e-300))[:, None])
