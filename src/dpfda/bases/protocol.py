"""What the rest of the library asks of a basis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class Functions(Protocol):
    """Functions phi_1..phi_K, ordered by decreasing eigenvalue.

    Everything in a basis is public: it is built from the grid and the kernel, never from curves.
    """

    @property
    def eigenvalues(self) -> Floats:
        """Prior variances (K,) of the coefficients, positive and decreasing."""

    @property
    def decay(self) -> float | None:
        """Exponent a in lambda_j ~ j^-a where it is known, infinity for faster than any power."""

    @property
    def square_norms(self) -> Floats:
        """Squared L2 norms (K,) of the functions: ones for an orthonormal basis."""

    @property
    def residual(self) -> float:
        """Expected squared L2 distance of the mean to its best use of all K functions, under the prior.

        The prior is scaled to average variance one. Zero for a basis that holds the prior's functions.
        """

    def describe(self) -> str:
        """Say in words what the functions are."""

    def to_json(self) -> dict[str, object]:
        """Everything needed to build the basis again, as JSON types."""


class Basis(Functions, Protocol):
    """Functions phi_1..phi_K on an interval."""

    @property
    def grid_points(self) -> Floats:
        """Grid (m,) on which curves are observed, in units of the domain."""

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of the domain."""

    @property
    def weights(self) -> Floats:
        """Quadrature weights (m,) of the grid; they add up to the length of the domain."""

    @property
    def analysis(self) -> Floats:
        """Matrix (m, K) that takes values on the grid to coefficients: c = x @ analysis."""

    def evaluate(self, points: ArrayLike, order: int = 0) -> Floats:
        """Values (len(points), K) of the functions, or of a derivative, anywhere on the domain."""

    def truncate(self, components: int) -> Basis:
        """The leading components alone."""


def on_box(basis: object) -> TypeIs[BoxFunctions]:
    """Whether functions are on a box: they have a transform of their own, and no matrix."""
    return hasattr(basis, "scaled_transform")


def flat_grid(basis: Basis | BoxFunctions) -> Floats:
    """One number (m,) for each grid point: its place on an interval, its index in C order on a box."""
    points = basis.grid_points
    if isinstance(points, tuple):
        return np.arange(math.prod(axis.size for axis in points), dtype=np.float64)
    return points


def volume(basis: Basis | BoxFunctions) -> float:
    """Length of the interval, or volume of the box."""
    ends = basis.domain_range if on_box(basis) else (basis.domain_range,)
    return math.prod(end - start for start, end in ends)


class BoxFunctions(Functions, Protocol):
    """Functions phi_1..phi_K on a box in d dimensions, on a rectangular grid with fast transforms.

    It has d domains and d arrays of grid points, and no analysis matrix: a function on a grid of a
    million points is taken to coefficients by `transform`.
    """

    @property
    def grid_points(self) -> tuple[Floats, ...]:
        """Grid: d arrays of cell midpoints, in units of the domain."""

    @property
    def domain_range(self) -> tuple[tuple[float, float], ...]:
        """Ends of the domain for each variable."""

    @property
    def weights(self) -> Floats:
        """Quadrature weights (m,) of the grid in C order; they add up to the volume."""

    def transform(self, values: Floats) -> Floats:
        """Coefficients (K,) of one function, given on the grid."""

    def scaled_transform(self, values: Floats) -> tuple[Floats, int]:
        """Coefficients (K,) and an exponent e: those of `transform` are c 2^e."""

    def values_at(
        self, points: ArrayLike, coefficients: Floats, order: int | Sequence[int] = 0
    ) -> Floats:
        """Values (q,) at points (q, d) of a combination of the leading functions."""

    def values_on_grid(self, coefficients: Floats, shape: Sequence[int] | None = None) -> Floats:
        """Values of a combination of the leading functions, on the grid or a finer one."""

    def evaluate(self, points: ArrayLike, order: int | Sequence[int] = 0) -> Floats:
        """Values (q, K) of the functions, or of partial derivatives, at points (q, d)."""

    def truncate(self, components: int) -> BoxFunctions:
        """The leading components alone."""
