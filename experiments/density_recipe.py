"""Kernel density estimates with the noise of Lin & Reimherr (2023), section 4.4, and at a right scale.

All bounds here are public, so what may not be private in the "printed" form is its scale alone: noise
of variance lambda_j sigma^2 with sigma = Delta / epsilon (Theorem 7) gives sqrt(2) times the nominal
epsilon on a difference as large as Delta. Delta is Theorem 14's, with everything under its roots and the
kernel's own integral divided out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import binom

from experiments.additive import LaplaceRelease
from experiments.common import Floats

# Eigenvalues below this share of the largest are rounding.
RANK = 1e-12


@dataclass(frozen=True, eq=False)
class Kernel:
    """A density kernel on a grid of equal cells: its eigenpairs, its powers and their integrals.

    Parameters
    ----------
    points : array (m, d)
        Midpoints of the cells.
    volume : float
        Volume of the domain.
    bandwidth : float
        Unit of the distance.
    profile : callable
        Value of the kernel at a distance, in units of the bandwidth.
    """

    points: Floats
    volume: float
    bandwidth: float
    profile: Callable[[Floats], Floats]

    @property
    def weight(self) -> float:
        """Volume of a cell."""
        return self.volume / len(self.points)

    @cached_property
    def pairs(self) -> tuple[Floats, Floats]:
        """Eigenvalues (K,), and functions (K, m) of norm one."""
        gram = self.profile(cdist(self.points, self.points) / self.bandwidth)
        values, vectors = np.linalg.eigh(gram * self.weight)
        kept = values[::-1] > RANK * values[-1]
        return values[::-1][kept], vectors.T[::-1][kept] / np.sqrt(self.weight)

    def elements(self, eta: float, components: int | None = None) -> Floats:
        """Coefficients (m, K) of the element of each grid point: the power eta over its integral."""
        values, functions = self.pairs
        powers = values**eta
        integrals = functions.T @ (powers * functions.sum(axis=1)) * self.weight
        table = (powers[:, None] * functions).T / integrals[:, None]
        return table if components is None else table[:, :components]

    def estimate(self, shares: Floats, eta: float = 1.0, components: int | None = None) -> Floats:
        """Density estimate (m,) from the shares (m,) of the data at the grid points."""
        return np.asarray(shares @ self.elements(eta, components) @ self.pairs[1][: components or None])


def gaussian(distance: Floats) -> Floats:
    """Profile of the Gaussian kernel."""
    return np.asarray(np.exp(-(distance**2) / 2))


def exponential(distance: Floats) -> Floats:
    """Profile of the exponential kernel."""
    return np.asarray(np.exp(-distance))


def theorem_14(kernel: Kernel, eta: float, size: int) -> float:
    """Printed sensitivity: (2/n) sup_x |r_x| in the space of C^eta, times tr(C^(eta-1))^(1/2)."""
    values = kernel.pairs[0]
    table = kernel.elements(eta)
    longest = np.sqrt(np.max(np.sum(table**2 / values**eta, axis=1)))
    return float(2 / size * longest * np.sqrt(np.sum(values ** (eta - 1))))


def direct(kernel: Kernel, eta: float, size: int) -> float:
    """Largest |r_x - r_x'|_{1,C} / n over grid points, found by trying all pairs."""
    table = kernel.elements(eta) / np.sqrt(kernel.pairs[0])
    return largest_distance(table, "cityblock") / size


def largest_distance(table: Floats, metric: str) -> float:
    """Largest distance between two rows."""
    rows = max(1, 2**23 // len(table))
    return float(
        max(cdist(table[i : i + rows], table, metric).max() for i in range(0, len(table), rows))
    )


def iclp(kernel: Kernel, shares: Floats, size: int, eta: float, correct: bool = False) -> LaplaceRelease:
    """ICLP with operator powers: as printed, or with the direct sensitivity and the right scale.

    Parameters
    ----------
    kernel : Kernel
    shares : array (m,)
        Shares of the data at the grid points.
    size : int
        Number of data n.
    eta : float
    correct : bool
    """
    values, functions = kernel.pairs
    if correct:
        scales = direct(kernel, eta, size) * np.sqrt(values)
    else:
        scales = theorem_14(kernel, eta, size) * np.sqrt(values / 2)
    return _release(kernel, kernel.estimate(shares, eta), functions, scales)


def iid_laplace(kernel: Kernel, shares: Floats, size: int, components: int) -> LaplaceRelease:
    """Equal Laplace noise on the leading coefficients of the kernel estimate, at its right scale."""
    table = kernel.elements(1.0, components)
    scale = largest_distance(table, "cityblock") / size
    functions = kernel.pairs[1][:components]
    estimate = kernel.estimate(shares, 1.0, components)
    return _release(kernel, estimate, functions, np.full(components, scale))


def best_iid_laplace(
    kernel: Kernel, shares: Floats, size: int, counts: range, target: Floats
) -> LaplaceRelease:
    """The number of components with the least expected error. NOT PRIVATE: it knows the target."""
    made = (iid_laplace(kernel, shares, size, count) for count in counts)
    return min(made, key=lambda release: release.expected(target, 1.0))


def bernstein(kernel: Kernel, shares: Floats, size: int, degree: int) -> LaplaceRelease:
    """Alda & Rubinstein: the estimate at the lattice with noise of scale Delta (degree + 1)^d.

    Delta is the largest change of a value, sup_x r_x(t) - inf_x' r_x'(t); the estimate at a lattice
    point is that at the nearest grid point.
    """
    estimate = kernel.estimate(shares)
    span = np.array([[column.min(), column.max()] for column in kernel.points.T])
    cell = (span[:, 1] - span[:, 0]) / (round(len(estimate) ** (1 / len(span))) - 1)
    ends = span + np.array([-0.5, 0.5]) * cell[:, None]
    axes = [np.linspace(a, b, degree + 1) for a, b in ends]
    lattice = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    nearest = cdist(lattice, kernel.points).argmin(axis=1)
    position = ((kernel.points - ends[:, 0]) / (ends[:, 1] - ends[:, 0])).T
    functions = np.ones((1, len(estimate)))
    for column in position:
        axis_functions = binom.pmf(np.arange(degree + 1)[:, None], degree, column)
        functions = (functions[:, None, :] * axis_functions).reshape(-1, len(estimate))
    values = kernel.elements(1.0) @ kernel.pairs[1][:, nearest]
    change = float(np.max(values.max(axis=0) - values.min(axis=0))) / size
    scales = np.full(len(lattice), change * len(lattice))
    return _release(kernel, estimate[nearest] @ functions, functions, scales)


def _release(kernel: Kernel, center: Floats, functions: Floats, scales: Floats) -> LaplaceRelease:
    return LaplaceRelease(center, functions, scales, np.full(len(center), kernel.weight))


def one_draw(release: LaplaceRelease, epsilon: float, generator: np.random.Generator) -> Floats:
    """One released function on the grid."""
    noise = generator.laplace(size=release.scales.size) * release.scales / epsilon
    return np.asarray(release.center + noise @ release.functions)


def shares_at(points: Floats, edges: Sequence[Floats]) -> Floats:
    """Shares of points in the cells of a grid, the last axis running fastest."""
    counts = np.histogramdd(points, bins=edges)[0]
    return np.asarray(counts.ravel() / len(points))
