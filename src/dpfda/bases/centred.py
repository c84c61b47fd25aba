"""Functions that integrate to zero, from any basis: for curves that have been standardised."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import first_signs, frozen
from dpfda.bases.protocol import Basis
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import array_from_json, array_to_json, floats
from dpfda.numerics.speed import remembered

# Functions whose share of the variance is below this are zero to rounding.
RELATIVE_RANK = 1e-10


@dataclass(frozen=True, eq=False)
class CentredBasis:
    """Principal functions of a prior after each of its functions loses its own mean.

    A curve minus its own mean is orthogonal to the constant function, so one dimension of noise is
    saved. With functions phi_k and variances l_k of the inner basis, and centred functions psi_k =
    phi_k - mean(phi_k), the covariance sum_k l_k psi_k(s) psi_k(t) is diagonalised again under the
    quadrature weights.

    Build one with `CentredBasis.of`; all fields are public.

    inner: With orthonormal functions.
    transform: array (K, K'). Combinations of the centred functions.
    eigenvalues: array (K',). Variances, decreasing.
    """

    inner: Basis
    transform: Floats
    eigenvalues: Floats

    @classmethod
    @remembered(16)
    def of(cls, inner: Basis) -> CentredBasis:
        """Center a basis.

        Examples
        --------
        >>> import numpy as np
        >>> from dpfda.bases import CosineBasis
        >>> basis = CentredBasis.of(CosineBasis.on_grid(4, [0.0, 0.25, 0.5, 0.75, 1.0]))
        >>> bool(np.abs(basis.weights @ basis.values).max() < 1e-12)
        True
        """
        values = inner.evaluate(inner.grid_points)
        weights = inner.weights
        deviations = np.sqrt(inner.eigenvalues)
        centred = (values - weights @ values / weights.sum()) * deviations
        left, sizes, right = np.linalg.svd(np.sqrt(weights)[:, None] * centred, full_matrices=False)
        rank = int(np.sum(sizes**2 > RELATIVE_RANK * sizes[0] ** 2))
        # The sign of the largest entry, so that a basis does not depend on the linear algebra library.
        signs = first_signs(left[:, :rank])
        transform = deviations[:, None] * right[:rank].T / sizes[:rank] * signs
        return cls(inner, frozen(transform), frozen(sizes[:rank] ** 2))

    @property
    def grid_points(self) -> Floats:
        return np.asarray(self.inner.grid_points)

    @property
    def domain_range(self) -> tuple[float, float]:
        start, end = self.inner.domain_range
        return float(start), float(end)

    @property
    def weights(self) -> Floats:
        return np.asarray(self.inner.weights)

    @property
    def decay(self) -> float | None:
        decay: float | None = self.inner.decay
        return decay

    @property
    def square_norms(self) -> Floats:
        return np.ones(self.eigenvalues.size)

    @property
    def residual(self) -> float:
        return float(self.inner.residual)

    @cached_property
    def values(self) -> Floats:
        """Values (m, K') of the functions on the grid."""
        return frozen(self.evaluate(self.grid_points))

    @cached_property
    def analysis(self) -> Floats:
        return frozen(self.weights[:, None] * self.values)

    def coefficients(self, values: Floats) -> Floats:
        """Coefficients (..., K') of functions with these values (..., m) on the grid."""
        return np.asarray(values @ self.analysis)

    def evaluate(self, points: ArrayLike, order: int = 0) -> Floats:
        functions = np.asarray(self.inner.evaluate(points, order))
        if order == 0:
            values = self.inner.evaluate(self.grid_points)
            functions = functions - self.weights @ values / self.weights.sum()
        return np.asarray(functions @ self.transform)

    def truncate(self, components: int) -> CentredBasis:
        return replace(
            self,
            transform=frozen(self.transform[:, :components]),
            eigenvalues=frozen(self.eigenvalues[:components]),
        )

    def describe(self) -> str:
        return f"{self.inner.describe()}, centred"

    def to_json(self) -> dict[str, object]:
        return {
            "kind": "centred",
            "inner": self.inner.to_json(),
            "eigenvalues": self.eigenvalues.tolist(),
            "transform": array_to_json(self.transform),
        }

    @classmethod
    def from_json(cls, written: dict[str, object], inner: Basis) -> CentredBasis:
        """Build the basis again around its inner one."""
        transform = frozen(array_from_json(written["transform"]))
        return cls(inner, transform, frozen(floats(written["eigenvalues"])))
