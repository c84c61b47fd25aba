"""Closed-form cosine basis on an interval, with a Whittle-Matern spectrum."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfda.bases.grids import check_domain, check_grid, check_points, quadrature_weights
from dpfda.errors import ParameterError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CosineBasis:
    """Cosines on [a, b], L = b - a: phi_0 = L^(-1/2), phi_j = (2/L)^(1/2) cos(j pi (t - a)/L).

    They are orthonormal in L2 and the eigenfunctions of the Laplacian with Neumann ends. The
    eigenvalues are those of a Whittle-Matern covariance with these ends,
    lambda_j ~ (1 + (length_scale j pi / L)^2 / (2 nu))^-(nu + 1/2), scaled to sum L.

    Curves on the grid are taken to coefficients by weighted least squares, so a combination of the
    K functions is recovered exactly although a grid makes them only nearly orthogonal.

    Parameters
    ----------
    components : int
        Number K of functions, at most the number of grid points.
    grid_points : array (m,)
        Public grid.
    domain_range : (float, float), optional
        Ends of the domain; by default those of the grid.
    length_scale : float, optional
        Range of the covariance in units of the domain; by default a tenth of it.
    nu : float
        Smoothness of the covariance.
    quadrature : {"trapezoid", "uniform"} or array (m,)
        Quadrature weights.

    Raises
    ------
    ParameterError
        If K is not between 1 and m, or the grid cannot tell K cosines apart.

    Examples
    --------
    >>> basis = CosineBasis.on_grid(3, [0.0, 0.5, 1.0])
    >>> basis.evaluate([0.0]).round(3)
    array([[1.   , 1.414, 1.414]])
    """

    grid_points: Floats
    domain_range: tuple[float, float]
    weights: Floats
    components: int
    length_scale: float
    nu: float
    fitted: int

    @classmethod
    def on_grid(
        cls,
        components: int,
        grid_points: ArrayLike,
        domain_range: tuple[float, float] | None = None,
        length_scale: float | None = None,
        nu: float = 1.5,
        quadrature: Any = "trapezoid",
    ) -> CosineBasis:
        """Build the basis for a public grid; see the class for the parameters."""
        grid = check_grid(grid_points)
        domain = check_domain(domain_range, grid)
        if not (isinstance(components, int | np.integer) and 1 <= components <= grid.size):
            raise ParameterError("components", f"be an integer from 1 to {grid.size}", repr(components))
        scale = 0.1 * (domain[1] - domain[0]) if length_scale is None else float(length_scale)
        if not (math.isfinite(scale) and scale > 0 and math.isfinite(nu) and nu > 0):
            raise ParameterError("length_scale and nu", "be positive", f"{length_scale}, {nu}")
        weights = quadrature_weights(quadrature, grid, domain)
        basis = cls(grid, domain, weights, int(components), scale, float(nu), int(components))
        condition = float(np.linalg.cond(basis._gram))
        if condition > 1e6:
            raise ParameterError(
                "components",
                "be few enough for the grid to tell the cosines apart",
                f"{components} (condition number {condition:.1e})",
                "Ask for fewer components.",
            )
        return basis

    @cached_property
    def eigenvalues(self) -> Floats:
        return self._spectrum[: self.components]

    @cached_property
    def _spectrum(self) -> Floats:
        start, end = self.domain_range
        frequencies = np.arange(self.grid_points.size) * math.pi / (end - start)
        spectrum = (1 + (self.length_scale * frequencies) ** 2 / (2 * self.nu)) ** -(self.nu + 0.5)
        return np.asarray(spectrum * (end - start) / spectrum.sum())

    @property
    def decay(self) -> float | None:
        return 2 * self.nu + 1

    @cached_property
    def _fitted_values(self) -> Floats:
        return replace(self, components=self.fitted).evaluate(self.grid_points)

    @cached_property
    def _gram(self) -> Floats:
        values = self._fitted_values
        return np.asarray(values.T @ (self.weights[:, None] * values))

    @cached_property
    def analysis(self) -> Floats:
        """Weighted least squares on all functions that were asked for, leading columns."""
        weighted = self.weights[:, None] * self._fitted_values
        solved = np.linalg.solve(self._gram, weighted.T)
        return np.asarray(solved.T[:, : self.components])

    def evaluate(self, points: ArrayLike, order: int = 0) -> Floats:
        """Values (len(points), K) of the functions, or of their derivative of any order."""
        at = check_points(points, self.domain_range)
        start, end = self.domain_range
        frequencies = np.arange(self.components) * math.pi / (end - start)
        angles = (at[:, None] - start) * frequencies + order * math.pi / 2
        scale = np.where(frequencies == 0, 1.0, math.sqrt(2)) / math.sqrt(end - start)
        return np.asarray(np.cos(angles) * frequencies**order * scale)

    def truncate(self, components: int) -> CosineBasis:
        return replace(self, components=components)

    def describe(self) -> str:
        return f"cosine basis (Whittle-Matern, range {self.length_scale:g}, nu {self.nu:g})"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "cosine",
            "domain_range": list(self.domain_range),
            "grid_points": self.grid_points.tolist(),
            "weights": self.weights.tolist(),
            "components": self.components,
            "fitted": self.fitted,
            "length_scale": self.length_scale,
            "nu": self.nu,
        }

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> CosineBasis:
        """Build the basis again."""
        basis = cls.on_grid(
            written["fitted"],
            written["grid_points"],
            tuple(written["domain_range"]),
            written["length_scale"],
            written["nu"],
            written["weights"],
        )
        return basis.truncate(int(written["components"]))
