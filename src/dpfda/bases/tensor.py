"""Symmetric functions on a square: products of the functions of a basis on an interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfda.bases.grids import frozen
from dpfda.bases.protocol import Basis
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError


@dataclass(frozen=True, eq=False)
class SymmetricTensorBasis:
    """phi_j(s) phi_j(t) and (phi_j(s) phi_k(t) + phi_k(s) phi_j(t)) / sqrt(2) for k < j.

    Orthonormal in L2 of the square where the phi_j are orthonormal on the interval. The order is that
    of the lower triangle of a matrix, row by row: (0,0), (1,0), (1,1), (2,0), ...

    Parameters
    ----------
    base : Basis
        M functions on an interval.

    Raises
    ------
    ParameterError
        If the functions of the base are not orthonormal.

    Examples
    --------
    >>> from dpfda.bases import CosineBasis
    >>> basis = SymmetricTensorBasis(CosineBasis.on_grid(2, [0.0, 0.5, 1.0]))
    >>> basis.evaluate([0.0], [1.0]).round(3)
    array([[ 1.,  0., -2.]])
    """

    base: Basis

    def __post_init__(self) -> None:
        if not np.allclose(self.base.square_norms, 1.0):
            remedy = "Use a kernel, cosine, Fourier or Legendre basis."
            raise ParameterError("basis", "be orthonormal", self.base.describe(), remedy)

    @property
    def size(self) -> int:
        """Number M of functions on the interval."""
        return int(self.base.eigenvalues.size)

    @cached_property
    def places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and columns (N,) of the lower triangle, N = M (M + 1) / 2."""
        return np.tril_indices(self.size)

    @cached_property
    def roots(self) -> Floats:
        """What an entry of the matrix counts as a coordinate: 1 on the diagonal, sqrt(2) off it."""
        rows, columns = self.places
        return frozen(np.where(rows == columns, 1.0, np.sqrt(2.0)))

    @cached_property
    def eigenvalues(self) -> Floats:
        """Products (N,) of the eigenvalues of the base, in the order of the triangle."""
        rows, columns = self.places
        return frozen(self.base.eigenvalues[rows] * self.base.eigenvalues[columns])

    def evaluate(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Values (q, N) of the functions at q pairs of points (s, t) of the domain."""
        rows, columns = self.places
        at_s, at_t = self.base.evaluate(first), self.base.evaluate(second)
        straight = at_s[:, rows] * at_t[:, columns]
        crossed = at_s[:, columns] * at_t[:, rows]
        return np.asarray((straight + crossed) / 2 * self.roots)

    def coordinates(self, matrix: Floats) -> Floats:
        """Coordinates (..., N) of symmetric matrices (..., M, M) of coefficients."""
        rows, columns = self.places
        return np.asarray(matrix[..., rows, columns] * self.roots)

    def matrix(self, coordinates: Floats) -> Floats:
        """The symmetric matrices (..., M, M) of coordinates (..., N)."""
        rows, columns = self.places
        values = coordinates / self.roots
        matrices = np.zeros((*coordinates.shape[:-1], self.size, self.size))
        matrices[..., rows, columns] = values
        matrices[..., columns, rows] = values
        return matrices
