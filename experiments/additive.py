"""Releases that are a fixed curve plus independent Laplace noise on functions: closed form and draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments.common import Floats

# Releases drawn at a time.
BLOCK = 1000


@dataclass(frozen=True, eq=False)
class LaplaceRelease:
    """A released curve `center + sum_j scales_j L_j functions_j`, L_j independent standard Laplace.

    Parameters
    ----------
    center : array (m,)
        What is released without noise, on the grid.
    functions : array (K, m)
        Functions that carry the noise.
    scales : array (K,)
        Laplace scales at epsilon = 1; they are divided by epsilon.
    weights : array (m,)
        Quadrature weights of the distance.
    """

    center: Floats
    functions: Floats
    scales: Floats
    weights: Floats

    def bias(self, target: Floats) -> float:
        """Squared distance without noise."""
        return float(self.weights @ (self.center - target) ** 2)

    def noise_power(self, epsilon: float) -> float:
        """Expected squared norm of the noise: the variance of a standard Laplace variable is 2."""
        squares = self.functions**2 @ self.weights
        return float(2 * np.sum((self.scales / epsilon) ** 2 * squares))

    def expected(self, target: Floats, epsilon: float) -> float:
        """Expected squared distance to the target, in closed form."""
        return self.bias(target) + self.noise_power(epsilon)

    def deviation(self, target: Floats, epsilon: float) -> float:
        """Standard deviation of one squared distance, in closed form.

        With independent L_j, variance 2 and fourth moment 24, and g = D G D for the weighted Gram matrix
        G and the scales D: var(L'gL + 2 h'L) = sum_j 20 g_jj^2 + sum_{i != j} 8 g_ij^2 + 8 |h|^2.
        """
        scaled = self.functions * (self.scales / epsilon)[:, None]
        gram = (scaled * self.weights) @ scaled.T
        slope = (scaled * self.weights) @ (self.center - target)
        diagonal = np.diag(gram)
        return float(np.sqrt(12 * np.sum(diagonal**2) + 8 * np.sum(gram**2) + 8 * np.sum(slope**2)))

    def distances(
        self, target: Floats, epsilon: float, draws: int, generator: np.random.Generator
    ) -> Floats:
        """Squared distances (draws,) of simulated releases to the target."""
        parts = list(self._blocks(target, epsilon, draws, generator))
        return np.concatenate(parts)

    def _blocks(
        self, target: Floats, epsilon: float, draws: int, generator: np.random.Generator
    ) -> Iterator[Floats]:
        loadings = self.functions * (self.scales / epsilon)[:, None]
        for start in range(0, draws, BLOCK):
            count = min(BLOCK, draws - start)
            noise = generator.laplace(size=(count, self.scales.size))
            yield (self.center - target + noise @ loadings) ** 2 @ self.weights
