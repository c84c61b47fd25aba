"""A covariance function whose coefficients are public: its values, components, tables and picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_points
from dpfda.covariance.components_release import ReleasedComponents, ordered, stated_deviation
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import whole
from dpfda.releases.bands import Asked
from dpfda.releases.base import LEVEL, Column, OnBasis
from dpfda.releases.function import ReleasedFunction
from dpfda.views import Image

# Pixels of a picture along each axis.
PIXELS = 121


class CovarianceSurface(OnBasis):
    """A released covariance function C(s, t) = sum of matrix entries A_jk phi_j(s) phi_k(t).

    A kind of release that derives from it has a `basis`, a `matrix` and a `noise_floor`, and what
    components take over: `center`, `mean`.
    """

    center: Floats
    mean: ReleasedFunction | None = None

    @property
    def matrix(self) -> Floats:
        """Coefficients (M, M): symmetric, positive semidefinite."""
        raise NotImplementedError

    def noise_floor(self, level: float = 0.95) -> float:
        """What the largest eigenvalue of the noise stays below with this probability."""
        raise NotImplementedError

    def __call__(self, first: ArrayLike, second: ArrayLike) -> float | Floats:
        """Values C(s, t) at pairs of points.

        Parameters
        ----------
        first, second : float or array (q,)
            s and t; a single point goes with every point of the other.

        Returns
        -------
        float or array (q,)
            Values, in squared units of the data.

        Raises
        ------
        ParameterError
            If a point is outside the domain, or the lengths differ.
        """
        at_s, at_t = self._pairs(first, second)
        values = np.einsum(
            "qj,jk,qk->q", self.basis.evaluate(at_s), self.matrix, self.basis.evaluate(at_t)
        )
        return float(values[0]) if np.ndim(first) == np.ndim(second) == 0 else values

    def _pairs(self, first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
        at_s, at_t = (check_points(points, self.domain_range) for points in (first, second))
        if at_s.size != at_t.size and 1 not in (at_s.size, at_t.size):
            raise ParameterError("points", "come in pairs", f"{at_s.size} and {at_t.size}")
        both = np.broadcast_arrays(at_s, at_t)
        return np.asarray(both[0]), np.asarray(both[1])

    def on_grid(self, points: ArrayLike | None = None) -> Floats:
        """Values (q, q) at all pairs of q points, by default of the public grid."""
        functions = self.basis.evaluate(self.grid_points if points is None else points)
        return np.asarray(functions @ self.matrix @ functions.T)

    def variance(self, points: ArrayLike) -> float | Floats:
        """Variance C(t, t), in squared units of the data; never negative."""
        return self(points, points)

    def correlation(self, first: ArrayLike, second: ArrayLike) -> float | Floats:
        """Correlation C(s, t) / (C(s, s) C(t, t))^(1/2); NaN where a variance is zero."""
        at_s, at_t = self._pairs(first, second)
        product = np.asarray(self.variance(at_s) * self.variance(at_t))
        positive = product > 0
        values = np.where(positive, self(at_s, at_t) / np.sqrt(np.where(positive, product, 1.0)), np.nan)
        values = np.clip(values, -1.0, 1.0)
        return float(values[0]) if np.ndim(first) == np.ndim(second) == 0 else values

    def components(self, count: int | None = None) -> ReleasedComponents:
        """Eigenfunctions and eigenvalues, largest first.

        Parameters
        ----------
        count : int, optional
            How many; by default those above the noise floor, at least one.

        Raises
        ------
        ParameterError
            If it is not between 1 and M.
        """
        floor = self.noise_floor()
        values, vectors = np.linalg.eigh(self.matrix)
        if count is None:
            count = max(1, int(np.sum(values > floor)))
        count = whole(count, "count", 1, values.size)
        return ReleasedComponents(
            self.basis,
            *ordered(vectors[:, -count:], values[-count:], self.basis),
            total=float(values.sum()),
            floor=floor,
            center=self.center,
            certificate=self.certificate,
            about=self.about,
            mean=self.mean,
        )

    def _stated_bound(self) -> dict[str, object]:
        return stated_deviation(self, self.mean)

    # Tables, pictures and words.

    @property
    def _axes(self) -> dict[str, tuple[float, float]]:
        return {"s": self.domain_range, "t": self.domain_range}

    def _axis_label(self, axis: int) -> str:
        return str(self.about.get("domain", f"{'st'[axis]} (units of the grid)"))

    @property
    def _along(self) -> Floats:
        """Points along each axis of its table."""
        return self.grid_points

    def _default_points(self) -> Floats:
        second, first = (axis.ravel() for axis in np.meshgrid(*[self._along] * 2, indexing="ij"))
        return np.column_stack([first, second])

    def _functions(self, at: Floats) -> dict[str, Floats]:
        return {self._subject: np.asarray(self(*at.T))}

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        first, second = at.T
        return {
            "covariance": (np.asarray(self(first, second)), self._value_label),
            "correlation": (np.asarray(self.correlation(first, second)), "no unit"),
        }

    def view(self, level: float | None = LEVEL) -> Image:
        start, end = self.domain_range
        middles = start + (end - start) * (np.arange(PIXELS) + 0.5) / PIXELS
        return replace(self._image(self.on_grid(middles)), signed=True, square=True)
