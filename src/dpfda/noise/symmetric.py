"""Noise laws on symmetric integer matrices, drawn exactly; none depends on the choice of axes.

A symmetric matrix of size M is written as its lower triangle, row by row, so that a leading block is a
leading part: (0,0), (1,0), (1,1), (2,0), ... In the orthonormal coordinates of symmetric matrices, in
which an entry off the diagonal counts sqrt(2) times, all entries have one variance. The laws know
nothing of bounds or budgets; `dpfda.calibration.symmetric` finds their scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpfda import exactness
from dpfda.errors import ParameterError

Floats = NDArray[np.float64]


class SymmetricNoise(Protocol):
    """What the rest of the library asks of a law on symmetric matrices."""

    law: ClassVar[str]

    @property
    def size(self) -> int:
        """Number M of rows."""

    @property
    def scale(self) -> int:
        """Scale, in grid units; what it means is the law's."""

    @property
    def components(self) -> int:
        """Number of entries in the lower triangle."""

    @property
    def power(self) -> float:
        """Variance of a diagonal entry, twice that of any other, in squared grid units."""

    def draw(self) -> list[int]:
        """One exact draw from the operating system's entropy, rounded: the lower triangle."""

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, M, M): for studies and bands, never for a release."""

    def describe(self) -> str:
        """Say the law in words."""


def triangle(size: int) -> int:
    """Number of entries in the lower triangle of a symmetric matrix."""
    return size * (size + 1) // 2


@dataclass(frozen=True)
class _OnMatrices:
    size: int
    scale: int

    def __post_init__(self) -> None:
        if any(type(value) is not int or value < 1 for value in (self.size, self.scale)):
            raise ParameterError("size and scale", "be positive integers", "others")

    @property
    def components(self) -> int:
        """Number of entries in the lower triangle."""
        return triangle(self.size)


@dataclass(frozen=True)
class SymmetricGaussianNoise(_OnMatrices):
    """Normal entries, of deviation s on the diagonal and s / sqrt(2) off it.

    Parameters
    ----------
    size : int
        Number M of rows.
    scale : int
        The deviation s, in grid units.
    """

    law: ClassVar[str] = "symmetric-gaussian"

    @property
    def power(self) -> float:
        """Variance of a diagonal entry."""
        return float(self.scale) ** 2

    def draw(self) -> list[int]:
        """One exact draw, rounded."""
        count = self.components

        def transform(uniforms: Sequence[arb]) -> list[arb]:
            return _triangle_of(exactness.normals(uniforms)[:count], arb(self.scale), self.size)

        return exactness.draw_rounded(transform, count + count % 2)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, M, M)."""
        return _filled(generator.standard_normal((draws, self.components)), self.size) * float(
            self.scale
        )

    def describe(self) -> str:
        """Say the law in words."""
        return f"symmetric Gaussian noise on a matrix of size {self.size}"


@dataclass(frozen=True)
class SymmetricKNormNoise(_OnMatrices):
    """Density proportional to exp(-|X|_F / c), |X|_F the Frobenius norm.

    Parameters
    ----------
    size : int
        Number M of rows.
    scale : int
        The scale c, in grid units.

    Notes
    -----
    With N = M (M + 1) / 2 it is c sqrt(chi^2_{N+1}) times a standard normal vector in orthonormal
    coordinates, by the argument of `dpfda.noise.KNormNoise`.
    """

    law: ClassVar[str] = "symmetric-k-norm"

    @property
    def power(self) -> float:
        """Variance of a diagonal entry."""
        return float(self.scale) ** 2 * (self.components + 1)

    def draw(self) -> list[int]:
        """One exact draw, rounded."""
        count = self.components
        pairs, odd = divmod(count + 1, 2)
        normals = count + odd + (count + odd) % 2

        def transform(uniforms: Sequence[arb]) -> list[arb]:
            gaussians = exactness.normals(uniforms[pairs:])
            square = exactness.chi_square(uniforms[:pairs])
            if odd:
                square += gaussians[count] ** 2
            return _triangle_of(gaussians[:count], self.scale * square.sqrt(), self.size)

        return exactness.draw_rounded(transform, pairs + normals)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, M, M)."""
        mixing = np.sqrt(generator.chisquare(self.components + 1, size=(draws, 1)))
        normal = generator.standard_normal((draws, self.components))
        return _filled(normal * mixing, self.size) * float(self.scale)

    def describe(self) -> str:
        """Say the law in words."""
        return f"K-norm noise (Frobenius norm) on a matrix of size {self.size}"


@dataclass(frozen=True)
class WishartDifferenceNoise(_OnMatrices):
    """A - B for independent Wishart matrices of M + 1 degrees of freedom and covariance c I.

    Each is a sum of M + 1 outer products of normal vectors of variance c, with density proportional to
    exp(-tr A / (2c)) on the positive semidefinite matrices. For M = 1 it is Laplace noise of scale 2c.

    Parameters
    ----------
    size : int
        Number M of rows.
    scale : int
        The variance c, in grid units of the matrix.
    """

    law: ClassVar[str] = "wishart-difference"

    @property
    def power(self) -> float:
        """Variance of a diagonal entry."""
        return 4.0 * (self.size + 1) * float(self.scale) ** 2

    def draw(self) -> list[int]:
        """One exact draw, rounded."""
        size, half = self.size, self.size * (self.size + 1)

        def transform(uniforms: Sequence[arb]) -> list[arb]:
            gaussians = exactness.normals(uniforms)
            plus = [gaussians[i : i + size] for i in range(0, half, size)]
            minus = [gaussians[i : i + size] for i in range(half, 2 * half, size)]
            return [
                self.scale
                * (sum((g[j] * g[k] for g in plus), arb(0)) - sum((g[j] * g[k] for g in minus), arb(0)))
                for j in range(size)
                for k in range(j + 1)
            ]

        return exactness.draw_rounded(transform, 2 * half)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, M, M)."""
        shape = (draws, self.size, self.size + 1)
        plus, minus = generator.standard_normal(shape), generator.standard_normal(shape)
        difference = plus @ plus.transpose(0, 2, 1) - minus @ minus.transpose(0, 2, 1)
        return np.asarray(difference * float(self.scale))

    def describe(self) -> str:
        """Say the law in words."""
        return f"the difference of two Wishart matrices of size {self.size}"


SYMMETRIC_LAWS: dict[
    str, type[SymmetricGaussianNoise] | type[SymmetricKNormNoise] | type[WishartDifferenceNoise]
] = {law.law: law for law in (SymmetricGaussianNoise, SymmetricKNormNoise, WishartDifferenceNoise)}


def _triangle_of(gaussians: Sequence[arb], length: arb, size: int) -> list[arb]:
    """Orthonormal coordinates times a length, as entries of the lower triangle."""
    aside = length / arb(2).sqrt()
    places = ((j, k) for j in range(size) for k in range(j + 1))
    return [(length if j == k else aside) * g for (j, k), g in zip(places, gaussians, strict=True)]


def _filled(coordinates: Floats, size: int) -> Floats:
    """Orthonormal coordinates (draws, N) as symmetric matrices (draws, M, M)."""
    rows, columns = np.tril_indices(size)
    values = coordinates * np.where(rows == columns, 1.0, np.sqrt(0.5))
    matrices = np.zeros((coordinates.shape[0], size, size))
    matrices[:, rows, columns] = values
    matrices[:, columns, rows] = values
    return matrices
