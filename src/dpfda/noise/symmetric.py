"""Noise laws on symmetric integer matrices, drawn exactly; none depends on the choice of axes.

A symmetric matrix of size M is written as its lower triangle, row by row, so that a leading block is a
leading part: (0,0), (1,0), (1,1), (2,0), ... In the orthonormal coordinates of symmetric matrices, in
which an entry off the diagonal counts sqrt(2) times, all entries have one variance.

A record is an integer vector c with |c|_2 <= R, verified in integers, and adds c c^T. How far one record
moves the sum, D, and the losses of the laws, are proved in docs/covariance.md:

- *replace-one*: |D|_F^2 <= 2 R^4 (R^4 for M = 1), tr|D| <= 2 R^2, positive and negative part at most
  R^2;
- *add/remove*: |D|_F = tr|D| = |c|^2 <= R^2.

K-norm noise loses at most |D|_F / c; Gaussian noise has the exact profile at mu = |D|_F / s; differences
of positive matrices: `dpfda.noise.wishart`. Adding one Wishart matrix is not private at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from dpfda.noise.charges import laws_of
from dpfda.noise.gaussian import gaussian_loss, gaussian_ratio, of_length
from dpfda.noise.mixtures import drawn_mixture
from dpfda.noise.protocol import AnyLaw, Law, check_positive
from dpfda.numerics import drawing
from dpfda.numerics.arrays import Floats
from dpfda.numerics.drawing import Arithmetic, At, Real
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.numerics.exactness import root_at_least
from dpfda.privacy.composition import BlockLoss, Loss
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP, ZeroConcentratedDP


@dataclass(frozen=True)
class OuterDifference:
    """How far one record moves a sum of outer products, in squared grid units.

    frobenius_square: Largest |D|_F^2.
    trace: Largest tr|D|.
    part: Largest trace of the positive or of the negative part of D.
    """

    frobenius_square: int
    trace: int
    part: int

    @classmethod
    def of(cls, size: int, radius: int, neighbours: Neighbours) -> Self:
        """For integer vectors of the given size and length at most `radius`."""
        return cls.of_square(size, radius**2, neighbours)

    @classmethod
    def of_square(cls, size: int, square: int, neighbours: Neighbours) -> Self:
        """The same by the largest square of the length."""
        factor = 2 if neighbours is Neighbours.REPLACE_ONE and size > 1 else 1
        return cls(factor * square**2, factor * square, square)

    @property
    def frobenius(self) -> Fraction:
        """Largest |D|_F, rounded up."""
        return root_at_least(Fraction(self.frobenius_square))


class SymmetricNoise(AnyLaw, Protocol):
    """What the rest of the library asks of a law on symmetric matrices; draws are lower triangles."""

    mechanism: ClassVar[str]

    @property
    def size(self) -> int:
        """Number M of rows."""

    @property
    def scale(self) -> int:
        """Scale, in grid units; what it means is the law's."""

    @property
    def power(self) -> float:
        """Mean variance of the orthonormal coordinates, in squared grid units."""

    def variances(self) -> Floats:
        """Variances of the entries of the lower triangle, in squared grid units."""

    def achieved(self, difference: OuterDifference, requested: Guarantee) -> Guarantee:
        """What the integer scale in force gives, rounded outward."""


def triangle(size: int) -> int:
    """Number of entries in the lower triangle of a symmetric matrix."""
    return size * (size + 1) // 2


@dataclass(frozen=True)
class MatrixLaw(Law):
    """A law on symmetric matrices, by its number of rows and its scale.

    A law has its name in ``mechanism``, and `scaled`, which finds its scale.
    """

    size: int
    scale: int
    mechanism: ClassVar[str]

    def __post_init__(self) -> None:
        check_positive("size and scale", (self.size, self.scale))

    @property
    def components(self) -> int:
        """Number of entries in the lower triangle."""
        return triangle(self.size)

    @property
    def power(self) -> float:
        """Mean variance of the orthonormal coordinates."""
        raise NotImplementedError

    def variances(self) -> Floats:
        """Variances of the entries of the lower triangle: here of one variance in all coordinates."""
        return np.where(np.equal(*np.tril_indices(self.size)), self.power, self.power / 2)


@dataclass(frozen=True)
class SymmetricKNormNoise(MatrixLaw):
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
    mechanism: ClassVar[str] = "knorm"

    @property
    def power(self) -> float:
        """Variance of each orthonormal coordinate."""
        return float(self.scale) ** 2 * (self.components + 1)

    def draw(self) -> list[int]:
        """One exact draw, rounded."""

        def scaled(a: Arithmetic[Real], square: Real) -> At[Real]:
            return _deviations(a, self.scale, self.size, a.sqrt(square))

        return drawn_mixture(self.components, self.components + 1, scaled)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, M, M)."""
        mixing = np.sqrt(generator.chisquare(self.components + 1, size=(draws, 1)))
        normal = generator.standard_normal((draws, self.components))
        return filled(normal * mixing, self.size) * float(self.scale)

    def describe(self) -> str:
        """Say the law in words."""
        return f"K-norm noise (Frobenius norm) on a matrix of size {self.size}"

    @classmethod
    def scaled(cls, size: int, difference: OuterDifference, guarantee: PureDP | ApproximateDP) -> Self:
        """Scaled to the epsilon of a guarantee."""
        return cls(size, math.ceil(difference.frobenius / guarantee.epsilon))

    def achieved(self, difference: OuterDifference, requested: Guarantee) -> PureDP:
        """Pure, from the very number that scales are made from: no second rounding can put it above."""
        return PureDP(difference.frobenius / self.scale)

    def loss(self, requested: Guarantee) -> Loss | None:
        """That of one block."""
        if isinstance(requested, PureDP):
            return BlockLoss(self.components, requested.epsilon)
        return None


@dataclass(frozen=True)
class SymmetricGaussianNoise(MatrixLaw):
    """Normal entries, of deviation s on the diagonal and s / sqrt(2) off it.

    size: Number M of rows.
    scale: The deviation s, in grid units.
    """

    law: ClassVar[str] = "symmetric-gaussian"
    mechanism: ClassVar[str] = "gaussian"

    @property
    def power(self) -> float:
        """Variance of each orthonormal coordinate."""
        return float(self.scale) ** 2

    def draw(self) -> list[int]:
        """One exact draw, rounded."""
        count = self.components

        def values(a: Arithmetic[Real]) -> At[Real]:
            deviations = _deviations(a, self.scale, self.size)
            return lambda places: deviations(places) * drawing.normals(a, 0, places)

        return drawing.draw_array(values, count + count % 2, count)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, M, M)."""
        return filled(generator.standard_normal((draws, self.components)), self.size) * float(self.scale)

    def describe(self) -> str:
        """Say the law in words."""
        return f"symmetric Gaussian noise on a matrix of size {self.size}"

    @classmethod
    def scaled(cls, size: int, difference: OuterDifference, guarantee: Guarantee) -> Self:
        """Scaled to a guarantee."""
        return cls(size, math.ceil(difference.frobenius / gaussian_ratio(guarantee)))

    def achieved(
        self, difference: OuterDifference, requested: Guarantee
    ) -> ApproximateDP | ZeroConcentratedDP:
        """The exact delta at the requested epsilon, or the exact rho."""
        return of_length(self, difference.frobenius / self.scale, requested)

    def loss(self, requested: Guarantee) -> Loss | None:
        """That of Gaussian noise."""
        return gaussian_loss(requested)


def symmetric_noise(
    name: str, size: int, difference: OuterDifference, guarantee: Guarantee
) -> SymmetricNoise:
    """Scale a law on symmetric matrices to a guarantee.

    name: {"wishart", "coupled", "knorm", "gaussian"}.
    size: Number of rows.
    difference: How far neighbouring sums are apart.
    guarantee: What the noise must give. Pure noise under an approximate guarantee uses its epsilon
        alone; a zero-concentrated one needs Gaussian noise.
    Raises RefusedMechanismError if the law cannot give the guarantee. Raises ParameterError if the name
    is unknown.
    """
    laws = symmetric_mechanisms()
    if name not in laws:
        raise ParameterError("mechanism", f"be 'auto' or one of {', '.join(laws)}", repr(name))
    if isinstance(guarantee, ZeroConcentratedDP) and laws[name] is not SymmetricGaussianNoise:
        raise RefusedMechanismError(
            "mechanism", "be 'auto' or 'gaussian' under rho", repr(name), "Ask for an epsilon instead."
        )
    law: SymmetricNoise = laws[name].scaled(size, difference, guarantee)
    return law


def quietest_symmetric(size: int, difference: OuterDifference, guarantee: Guarantee) -> SymmetricNoise:
    """The law of least power that gives a guarantee: what to add to a sum of outer products.

    size: Number of rows.
    difference: How far neighbouring sums are apart.
    guarantee: What the noise must give.
    """
    names = [name for name in symmetric_mechanisms() if suits(name, guarantee)]
    laws = [symmetric_noise(name, size, difference, guarantee) for name in names]
    return min(laws, key=lambda law: law.power)


def suits(name: str, guarantee: Guarantee) -> bool:
    """Whether a law can give a guarantee of this kind."""
    try:
        symmetric_noise(name, 1, OuterDifference(1, 1, 1), guarantee)
    except RefusedMechanismError:
        return False
    return True


def symmetric_mechanisms() -> dict[str, type[Any]]:
    """Names of the laws on matrices, with their classes."""
    return {law.mechanism: law for law in laws_of(MatrixLaw).values() if law.mechanism}


def _deviations(a: Arithmetic[Real], scale: int, size: int, length: Real | None = None) -> At[Real]:
    """What standard normal variables are multiplied with to be entries of the lower triangle."""
    off_diagonal = drawing.one_integer(a, scale) * (1 if length is None else length)
    aside = off_diagonal / a.sqrt(drawing.one_integer(a, 2))
    diagonal = np.equal(*np.tril_indices(size))
    return lambda places: a.where(diagonal[places], off_diagonal, aside)


def filled(coordinates: Floats, size: int) -> Floats:
    """Orthonormal coordinates (draws, N) as symmetric matrices (draws, M, M)."""
    rows, columns = np.tril_indices(size)
    values = coordinates * np.where(rows == columns, 1.0, np.sqrt(0.5))
    matrices = np.zeros((coordinates.shape[0], size, size))
    matrices[:, rows, columns] = values
    matrices[:, columns, rows] = values
    return matrices
