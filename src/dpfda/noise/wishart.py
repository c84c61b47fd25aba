"""Differences of positive matrices as noise on sums of outer products: pure, and without axes.

X = A - B for positive semidefinite A and B of size M whose joint density depends on their traces alone,
g(tr A, tr B) = exp(-s(tr A, tr B) / c), s a norm that grows with both. Where neighbouring sums differ by
D = P - N, its positive and negative parts, the loss is at most s(tr P, tr N) / c (docs/covariance.md):

- half of the sum: A and B are independent Wishart matrices of M + 1 degrees of freedom and covariance
  c I, and the loss is at most tr|D| / (2c);
- the maximum: the loss is at most max(tr P, tr N) / c, and the traces of A and B vary together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from dpfda.noise.blocks import symmetric_loss
from dpfda.noise.symmetric import MatrixLaw, OuterDifference, triangle
from dpfda.numerics import drawing
from dpfda.numerics.arrays import Floats
from dpfda.numerics.drawing import Arithmetic, At, Real
from dpfda.privacy.composition import Loss
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP


@dataclass(frozen=True)
class WishartDifferenceNoise(MatrixLaw):
    """A - B for independent Wishart matrices of M + 1 degrees of freedom and covariance c I.

    Each is a sum of M + 1 outer products of normal vectors of variance c, with density proportional to
    exp(-tr A / (2c)) on the positive semidefinite matrices. For M = 1 it is Laplace noise of scale 2c.

    size: Number M of rows.
    scale: The variance c, in grid units of the matrix.
    """

    law: ClassVar[str] = "wishart-difference"
    mechanism: ClassVar[str] = "wishart"

    @property
    def power(self) -> float:
        """Variance of each orthonormal coordinate."""
        return 4.0 * (self.size + 1) * float(self.scale) ** 2

    def draw(self) -> list[int]:
        """One exact draw, rounded."""

        def values(a: Arithmetic[Real]) -> At[Real]:
            scale = drawing.one_integer(a, self.scale)
            plus, minus = (_products(a, self.size, part)[0] for part in (0, 1))
            return lambda places: scale * (plus(places) - minus(places))

        return _drawn(self.size, values)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, M, M)."""
        plus, minus = (_simulated(generator, self.size, draws) for _ in range(2))
        return np.asarray((plus - minus) * float(self.scale))

    def describe(self) -> str:
        """Say the law in words."""
        return f"the difference of two Wishart matrices of size {self.size}"

    @classmethod
    def scaled(cls, size: int, difference: OuterDifference, guarantee: PureDP | ApproximateDP) -> Self:
        """Scaled to the epsilon of a guarantee."""
        return cls(size, math.ceil(difference.trace / (2 * guarantee.epsilon)))

    def achieved(self, difference: OuterDifference, requested: object) -> PureDP:
        """Pure."""
        return PureDP(Fraction(difference.trace, 2 * self.scale))

    def loss(self, requested: Guarantee) -> Loss | None:
        """That of a symmetric law, in the norm by which it is scaled."""
        return symmetric_loss(requested)


@dataclass(frozen=True)
class CoupledNoise(MatrixLaw):
    """A - B with joint density proportional to exp(-max(tr A, tr B) / c) on the positive matrices.

    Parameters
    ----------
    size : int
        Number M of rows.
    scale : int
        The scale c, in grid units of the matrix.

    Notes
    -----
    With N = M (M + 1) / 2 the traces have density (a b)^(N - 1) exp(-max(a, b)): the larger is
    r ~ Gamma(2N), the smaller r times a Beta(N, 1) variable, either with chance one half. Over its trace
    a Wishart matrix W of M + 1 degrees of freedom is uniform and independent of it, and its trace is
    twice a Gamma(N) variable: with a standard exponential variable e, tr W / (tr W + 2 e) is
    Beta(N, 1). So

        X = +- c r (W / tr W - W' / (tr W' + 2 e)).

    For M = 1 it is Laplace noise of scale c.
    """

    law: ClassVar[str] = "coupled-difference"
    mechanism: ClassVar[str] = "coupled"

    @property
    def power(self) -> float:
        """Mean variance of the orthonormal coordinates; that of the trace is less than this."""
        return (2 * self._moments[0] - 2 * self._moments[1] / self.size) / self.components

    def variances(self) -> Floats:
        """Variances of the entries of the lower triangle: the trace varies less than the rest."""
        squares, product = self._moments
        size, count = self.size, self.components
        along = 2 * (squares / self._roundness - product) / size
        across = (self.power * count - along) / max(1, count - 1)
        diagonal = along / size + across * (1 - 1 / size)
        return np.where(np.equal(*np.tril_indices(size)), diagonal, across / 2)

    @property
    def _roundness(self) -> float:
        """E |W|_F^2 / E (tr W)^2 of a Wishart matrix of M + 1 degrees of freedom."""
        return (2 * self.size + 2) / (self.size * (self.size + 1) + 2)

    @property
    def _moments(self) -> tuple[float, float]:
        """E |A|_F^2, which is that of B, and E tr A tr B; E tr(A B) is the latter over M."""
        n, square = self.components, float(self.scale) ** 2
        traces = 2 * n * (2 * n + 1) * (n + 1) / (n + 2)
        return self._roundness * traces * square, 2 * n * n * (2 * n + 1) / (n + 1) * square

    def draw(self) -> list[int]:
        """One exact draw, rounded."""
        count, first = self.components, 2 * _normals(self.size)

        def values(a: Arithmetic[Real]) -> At[Real]:
            scale = drawing.one_integer(a, self.scale)
            plus, trace = _products(a, self.size, 0)
            minus, less = _products(a, self.size, 1)
            larger = scale * (drawing.chi_square(a, first, 2 * count) / 2)
            less = less - 2 * a.log(a.uniforms(np.array([first + 2 * count])))
            side = a.uniforms(np.array([first + 2 * count + 1]))

            def entries(places: drawing.Places) -> Real:
                within = np.minimum(places, count - 1)
                entry = larger * (plus(within) / trace - minus(within) / less)
                return a.where(places == count, side, entry)

            return entries

        # One value more than entries is a uniform variable, rounded: which trace is the larger.
        *drawn, side = _drawn(self.size, values, 2 * count + 2, count + 1)
        return [-value if side else value for value in drawn]

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, M, M)."""
        plus, minus = (_simulated(generator, self.size, draws) for _ in range(2))
        larger = generator.gamma(2.0 * self.components, size=draws) * float(self.scale)
        larger *= 2.0 * generator.integers(0, 2, draws) - 1
        trace, less = (np.trace(part, axis1=1, axis2=2) for part in (plus, minus))
        less = less + 2 * generator.exponential(size=draws)
        scaled = (plus / trace[:, None, None], minus / less[:, None, None])
        return np.asarray(larger[:, None, None] * (scaled[0] - scaled[1]))

    def describe(self) -> str:
        """Say the law in words."""
        return f"the difference of two positive matrices of size {self.size} with coupled traces"

    @classmethod
    def scaled(cls, size: int, difference: OuterDifference, guarantee: PureDP | ApproximateDP) -> Self:
        """Scaled to the epsilon of a guarantee."""
        return cls(size, math.ceil(difference.part / guarantee.epsilon))

    def achieved(self, difference: OuterDifference, requested: object) -> PureDP:
        """Pure."""
        return PureDP(Fraction(difference.part, self.scale))

    def loss(self, requested: Guarantee) -> Loss | None:
        """That of a symmetric law, in the norm by which it is scaled."""
        return symmetric_loss(requested)


def _normals(size: int) -> int:
    """Number of normal variables of a Wishart matrix of M + 1 degrees of freedom: even."""
    return size * (size + 1)


def _products(a: Arithmetic[Real], size: int, part: int) -> tuple[At[Real], Real]:
    """Entries of one of two Wishart matrices as a function of places, and its trace."""
    count, (first, second) = _normals(size), np.tril_indices(size)
    normal = drawing.normals(a, part * count, np.arange(count))
    at = np.arange(count).reshape(-1, size)
    trace = (normal * normal).sum(axis=0)
    return lambda places: (normal[at[:, first[places]]] * normal[at[:, second[places]]]).sum(
        axis=0
    ), trace


def _drawn(
    size: int, values: drawing.Values, uniforms: int = 0, outputs: int | None = None
) -> list[int]:
    """One exact draw, rounded, of functions of two Wishart matrices and some more uniforms."""
    at_once = max(1, drawing.AT_ONCE * 32 // (size + 1))
    return drawing.draw_array(
        values, 2 * _normals(size) + uniforms, outputs or triangle(size), at_once=at_once
    )


def _simulated(generator: np.random.Generator, size: int, draws: int) -> Floats:
    normal = generator.standard_normal((draws, size, size + 1))
    return np.asarray(normal @ normal.transpose(0, 2, 1))
