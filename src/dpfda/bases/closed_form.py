"""Closed-form bases on an interval: cosine, sine, Fourier, Legendre, with a Whittle-Matern spectrum."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from dpfda.bases.axes import AXES, Axis
from dpfda.bases.grids import check_points, frozen, grid_from_json, grid_to_json, public_grid
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import integer, number
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import length, real, whole


@dataclass(frozen=True, eq=False)
class ClosedFormBasis:
    """Functions given by a formula, orthonormal in L2 of [a, b], with L = b - a.

    Function j oscillates like a cosine of frequency f_j pi / L, and the eigenvalues are those of a
    Whittle-Matern covariance, (1 + (length_scale f_j pi / L)^2 / (2 nu))^-(nu + 1/2), scaled to sum L
    over as many functions as there are grid points.

    Curves on the grid are taken to coefficients by weighted least squares, so a combination of the K
    functions is recovered exactly although a grid makes them only nearly orthogonal.

    Build one with `on_grid`; all fields are public.
    """

    grid_points: Floats
    domain_range: tuple[float, float]
    weights: Floats
    components: int
    length_scale: float
    nu: float
    fitted: int
    kind: ClassVar[str]
    # Whose frequencies these functions have, or about have.
    axis: ClassVar[Axis]

    @classmethod
    def on_grid(
        cls,
        components: int,
        grid_points: ArrayLike,
        domain_range: tuple[float, float] | None = None,
        length_scale: float | None = None,
        nu: float = 1.5,
        quadrature: object = "trapezoid",
    ) -> Self:
        """Build the basis for a public grid.

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
            If K is not between 1 and m, or the grid cannot tell the K functions apart.
        """
        grid, domain, weights = public_grid(grid_points, domain_range, quadrature)
        count = whole(components, "components", 1, grid.size)
        width = domain[1] - domain[0]
        scale = 0.1 * width if length_scale is None else length(length_scale, "length_scale")
        shape = real(nu, "nu", 1e-3, 1e3)
        basis = cls(grid, domain, weights, count, scale, shape, count)
        condition = float(np.linalg.cond(basis._gram))
        if condition > 1e6:
            raise ParameterError(
                "components",
                "be few enough for the grid to tell the functions apart",
                f"{components} (condition number {condition:.1e})",
                "Ask for fewer components.",
            )
        return basis

    def _values(self, position: Floats, order: int) -> Floats:
        """Functions of position in [0, 1], orthonormal there, differentiated in position."""
        frequencies = self.axis.half_periods(self.components) * math.pi
        shifts = self.axis.shifts(self.components) * math.pi
        angles = position[:, None] * frequencies + shifts + order * math.pi / 2
        scale = np.where(np.arange(frequencies.size) == 0, 1.0, math.sqrt(2))
        return np.asarray(np.cos(angles) * frequencies**order * scale)

    @property
    def _length(self) -> float:
        return self.domain_range[1] - self.domain_range[0]

    @cached_property
    def eigenvalues(self) -> Floats:
        angles = (
            self.length_scale * self.axis.half_periods(self.grid_points.size) * math.pi / self._length
        )
        spectrum = (1 + angles**2 / (2 * self.nu)) ** -(self.nu + 0.5)
        return frozen((spectrum * self._length / spectrum.sum())[: self.components])

    @property
    def decay(self) -> float | None:
        return 2 * self.nu + 1

    @property
    def square_norms(self) -> Floats:
        return np.ones(self.components)

    @property
    def residual(self) -> float:
        return 0.0

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
        return frozen(np.asarray(solved.T[:, : self.components], dtype=np.float64))

    def evaluate(self, points: ArrayLike, order: int = 0) -> Floats:
        """Values (len(points), K) of the functions, or of their derivative of any order."""
        at, order = check_points(points, self.domain_range), parameters.order(order)
        position = (at - self.domain_range[0]) / self._length
        return self._values(position, order) / math.sqrt(self._length) / self._length**order

    def truncate(self, components: int) -> Self:
        return replace(self, components=components)

    def describe(self) -> str:
        return f"{self.kind} basis (Whittle-Matern, range {self.length_scale:g}, nu {self.nu:g})"

    def to_json(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            **grid_to_json(self.grid_points, self.domain_range, self.weights),
            "components": self.components,
            "fitted": self.fitted,
            "length_scale": self.length_scale,
            "nu": self.nu,
        }

    @classmethod
    def from_json(cls, written: dict[str, object]) -> Self:
        """Build the basis again."""
        grid, domain, weights = grid_from_json(written)
        scale, nu = number(written["length_scale"]), number(written["nu"])
        basis = cls.on_grid(integer(written["fitted"], 1), grid, domain, scale, nu, weights)
        return basis.truncate(integer(written["components"], 1, basis.components))


@dataclass(frozen=True, eq=False)
class CosineBasis(ClosedFormBasis):
    """Cosines: L^(-1/2) and (2/L)^(1/2) cos(j pi (t - a)/L), the Laplacian's with Neumann ends.

    Examples
    --------
    >>> basis = CosineBasis.on_grid(3, [0.0, 0.5, 1.0])
    >>> basis.evaluate([0.0]).round(3)
    array([[1.   , 1.414, 1.414]])
    """

    kind: ClassVar[str] = "cosine"
    axis: ClassVar[Axis] = AXES["cosine"]


@dataclass(frozen=True, eq=False)
class SineBasis(ClosedFormBasis):
    """Sines: (2/L)^(1/2) sin(j pi (t - a)/L), j = 1, 2, ..., the Laplacian's with Dirichlet ends.

    Every combination is zero at both ends of the domain, and no constant is among them: for curves that
    are known to start and end at zero, or whose known ends were subtracted. On others the expansion
    converges slowly, with a jump at the ends. Grid points at the ends say nothing about the functions,
    so a grid that has both tells at most m - 2 of them apart.

    Examples
    --------
    >>> basis = SineBasis.on_grid(2, [0.25, 0.5, 0.75], domain_range=(0, 1))
    >>> basis.evaluate([0.5]).round(3)
    array([[1.414, 0.   ]])
    """

    kind: ClassVar[str] = "sine"
    axis: ClassVar[Axis] = AXES["sine"]

    def _values(self, position: Floats, order: int) -> Floats:
        frequencies = self.axis.half_periods(self.components) * math.pi
        angles = position[:, None] * frequencies + order * math.pi / 2
        return np.asarray(math.sqrt(2) * np.sin(angles) * frequencies**order)


@dataclass(frozen=True, eq=False)
class FourierBasis(ClosedFormBasis):
    """Sines and cosines of whole periods: for curves whose ends meet, such as days or years.

    The order is 1, cos, sin, cos, sin, ... with frequencies 1, 1, 2, 2, ... over the domain. The
    endpoint of a period repeats its start: a grid should hold only one of them.

    Examples
    --------
    >>> basis = FourierBasis.on_grid(3, [0.0, 0.25, 0.5, 0.75], domain_range=(0, 1))
    >>> basis.evaluate([0.0]).round(3)
    array([[1.   , 1.414, 0.   ]])
    """

    kind: ClassVar[str] = "Fourier"
    axis: ClassVar[Axis] = AXES["fourier"]


@dataclass(frozen=True, eq=False)
class LegendreBasis(ClosedFormBasis):
    """Legendre polynomials P_j, scaled to norm one; P_j has about the frequency of cos(j pi t / L).

    Examples
    --------
    >>> basis = LegendreBasis.on_grid(3, [0.0, 0.5, 1.0])
    >>> basis.evaluate([1.0]).round(3)
    array([[1.   , 1.732, 2.236]])
    """

    kind: ClassVar[str] = "Legendre"
    axis: ClassVar[Axis] = AXES["cosine"]

    def _values(self, position: Floats, order: int) -> Floats:
        scaled = legendre.legder(np.eye(self.components), order) * 2.0**order
        values = legendre.legvander(2 * position - 1, max(scaled.shape[0] - 1, 0)) @ scaled
        return np.asarray(values * np.sqrt(2 * np.arange(self.components) + 1.0))
