"""Closed-form bases on an interval: cosine, sine, Fourier, Legendre, with a Whittle-Matern spectrum."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_points, frozen, grid_from_json, grid_to_json, public_grid
from dpfda.numerics import later as scipy
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.encoding import integer, number
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import length, real, whole


class Axis(ABC):
    """One kind of functions on [0, 1], orthonormal there; function n is the n-th, from zero."""

    kind: ClassVar[str]
    # Half periods of the first function.
    first: ClassVar[int] = 0

    def count(self, points: int) -> int:
        """How many functions a grid of this many midpoints resolves."""
        return points - self.first

    def points_for(self, count: int) -> int:
        """The fewest midpoints that resolve this many functions."""
        return count + self.first

    def numbers(self, index: Integers) -> Integers:
        """Mode numbers for people: half periods of a cosine or sine; periods, negative for a sine."""
        return index + self.first

    def half_periods(self, count: int) -> Floats:
        """Frequencies (count,) in half periods over the axis."""
        return np.arange(self.first, self.first + count, dtype=np.float64)

    def shifts(self, count: int) -> Floats:
        """By how many half periods (count,) functions are ahead of cosines."""
        return np.zeros(count)

    def values(self, position: Floats, count: int, order: int) -> Floats:
        """Values (q, count) at positions in [0, 1], differentiated in position."""
        frequencies = self.half_periods(count)
        angles = position[:, None] * frequencies + (self.shifts(count) + order / 2)
        values = math.sqrt(2) * np.cos(math.pi * angles) * (math.pi * frequencies) ** order
        # The constant has mean square one as it is.
        values[:, frequencies == 0] /= math.sqrt(2)
        return np.asarray(values)

    def integrals(self, count: int) -> Floats:
        """Integrals (count,) over [0, 1]: here of the constant alone."""
        return np.where(np.arange(count) == 0, 1.0, 0.0)

    @abstractmethod
    def analyse(self, values: Floats, axis: int) -> Floats:
        """Products along an axis with the functions, scaled to unit vectors of the midpoints' space."""

    @abstractmethod
    def synthesise(self, coefficients: Floats, axis: int, points: int) -> Floats:
        """Sums of the unit vectors on this many midpoints: what `analyse` undoes."""


class CosineAxis(Axis):
    """1, then 2^(1/2) cos(n pi x): slope zero at both ends (Neumann)."""

    kind = "cosine"

    def analyse(self, values: Floats, axis: int) -> Floats:
        return np.asarray(scipy.fft.dct(values, type=2, axis=axis, norm="ortho", workers=1))

    def synthesise(self, coefficients: Floats, axis: int, points: int) -> Floats:
        values = scipy.fft.idct(coefficients, type=2, n=points, axis=axis, norm="ortho", workers=1)
        return np.asarray(values)


class SineAxis(Axis):
    """2^(1/2) sin((n + 1) pi x): zero at both ends (Dirichlet)."""

    kind = "sine"
    first = 1

    def shifts(self, count: int) -> Floats:
        return np.full(count, -0.5)

    def integrals(self, count: int) -> Floats:
        frequencies = self.half_periods(count)
        return np.asarray(np.where(frequencies % 2 == 1, math.sqrt(8) / (math.pi * frequencies), 0.0))

    def analyse(self, values: Floats, axis: int) -> Floats:
        coefficients = scipy.fft.dst(values, type=2, axis=axis, norm="ortho", workers=1)
        return np.asarray(np.take(coefficients, range(values.shape[axis] - 1), axis))

    def synthesise(self, coefficients: Floats, axis: int, points: int) -> Floats:
        values = scipy.fft.idst(coefficients, type=2, n=points, axis=axis, norm="ortho", workers=1)
        return np.asarray(values)


class FourierAxis(Axis):
    """1, then 2^(1/2) cos(2 pi x), 2^(1/2) sin(2 pi x), ...: whole periods."""

    kind = "fourier"

    def count(self, points: int) -> int:
        return 2 * ((points - 1) // 2) + 1

    def points_for(self, count: int) -> int:
        return count + 1 - count % 2

    def numbers(self, index: Integers) -> Integers:
        return np.where(index % 2 == 1, 1, -1) * ((index + 1) // 2)

    def half_periods(self, count: int) -> Floats:
        return np.asarray(2.0 * ((np.arange(count) + 1) // 2))

    def shifts(self, count: int) -> Floats:
        index = np.arange(count)
        return np.where((index % 2 == 0) & (index > 0), -0.5, 0.0)

    def analyse(self, values: Floats, axis: int) -> Floats:
        lines = np.moveaxis(values, axis, -1)
        points = lines.shape[-1]
        spectrum = scipy.fft.rfft(lines, norm="ortho", workers=1)[..., : (points + 1) // 2]
        cosine, sine = _half_step(points)
        # In real arithmetic, operation by operation: each is rounded on its own.
        turned = np.empty((*lines.shape[:-1], 2 * spectrum.shape[-1]))
        turned[..., 0::2] = spectrum.real * cosine + spectrum.imag * sine
        turned[..., 1::2] = spectrum.real * sine - spectrum.imag * cosine
        coefficients = np.empty((*lines.shape[:-1], self.count(points)))
        coefficients[..., 0] = turned[..., 0]
        coefficients[..., 1:] = turned[..., 2:] * math.sqrt(2)
        return np.moveaxis(coefficients, -1, axis)

    def synthesise(self, coefficients: Floats, axis: int, points: int) -> Floats:
        lines = np.moveaxis(coefficients, axis, -1)
        highest = lines.shape[-1] // 2
        pairs = np.zeros((*lines.shape[:-1], points // 2 + 1), dtype=np.complex128)
        pairs.real[..., 0] = lines[..., 0]
        cosine, sine = (part[1 : highest + 1] / math.sqrt(2) for part in _half_step(points))
        real = lines[..., 1::2]
        imaginary = np.zeros_like(real)
        imaginary[..., : lines[..., 2::2].shape[-1]] = lines[..., 2::2]
        pairs.real[..., 1 : highest + 1] = real * cosine + imaginary * sine
        pairs.imag[..., 1 : highest + 1] = real * sine - imaginary * cosine
        values = scipy.fft.irfft(pairs, n=points, norm="ortho", workers=1)
        return np.moveaxis(np.asarray(values), -1, axis)


AXES: dict[str, Axis] = {axis.kind: axis for axis in (CosineAxis(), SineAxis(), FourierAxis())}


@lru_cache(maxsize=16)
def _half_step(points: int) -> tuple[Floats, Floats]:
    """Cosine and sine of pi k / m: midpoints lie half a step from the points of the FFT."""
    angles = np.arange((points + 1) // 2) * (math.pi / points)
    return frozen(np.cos(angles)), frozen(np.sin(angles))


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
        basis = cls(grid, domain, weights, count, scale, real(nu, "nu", 1e-3, 1e3), count)
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
