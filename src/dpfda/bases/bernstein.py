"""Bernstein polynomials: functions whose coefficients are values on a lattice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import (
    check_points,
    frozen,
    grid_from_json,
    grid_to_json,
    product_points,
    public_grid,
)
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import integer, number
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import whole

LARGEST_DEGREE = 1000


def bernstein_values(degree: int, position: Floats, order: int = 0) -> Floats:
    """Values (q, degree + 1) of B_j(t) = C(k, j) t^j (1 - t)^(k-j), or of a derivative, on [0, 1].

    By the recurrence B_{j,k} = (1 - t) B_{j,k-1} + t B_{j-1,k-1}. Its terms are not negative, so
    nothing cancels: each value has a relative error of at most about 3 k units in the last place, and
    the functions add up to one. Derivatives follow from B'_{j,k} = k (B_{j-1,k-1} - B_{j,k-1}).
    """
    if order > degree:
        return np.zeros((position.size, degree + 1))
    # Functions along the rows, so that each step works on whole rows.
    values = np.zeros((degree + 1, position.size))
    values[0] = 1.0
    for reached in range(1, degree - order + 1):
        lower = values[:reached].copy()
        values[:reached] = lower * (1.0 - position)
        values[1 : reached + 1] += lower * position
    for reached in range(degree - order + 1, degree + 1):
        lower = values[:reached].copy()
        values[:reached] = -reached * lower
        values[1 : reached + 1] += reached * lower
    return np.ascontiguousarray(values.T)


def bernstein_square_norms(degree: int) -> Floats:
    """Integrals of B_j^2 over [0, 1]: C(k, j)^2 / (C(2k, 2j) (2k + 1)), in integers until the end."""
    factor = 2 * degree + 1
    return np.array(
        [
            float(Fraction(math.comb(degree, j) ** 2, math.comb(2 * degree, 2 * j) * factor))
            for j in range(degree + 1)
        ]
    )


def lattice(degree: int, domain_range: Sequence[tuple[float, float]]) -> Floats:
    """Points ((degree + 1)^d, d) of the lattice on a box, the last coordinate running fastest."""
    return product_points([lattice_axis(degree, ends) for ends in domain_range])


def lattice_axis(degree: int, ends: tuple[float, float]) -> Floats:
    """Points a + (b - a) j / k of one axis."""
    return np.linspace(*ends, degree + 1)


def check_degree(degree: object) -> int:
    """Read a degree. Raises ParameterError if it is not an integer from 1 to 1000."""
    return whole(degree, "degree", 1, LARGEST_DEGREE)


@dataclass(frozen=True, eq=False)
class BernsteinBasis:
    """Bernstein polynomials of degree k on [a, b]; coefficient j is the value at a + (b - a) j / k.

    The functions are nonnegative and add up to one, so a function lies between the smallest and the
    largest of its coefficients. They are not orthogonal: squared errors of coefficients count with
    `square_norms`. Values on the grid are taken to the lattice by linear interpolation, constant beyond
    the outermost grid points; both are averages, so bounds on values hold for the coefficients.

    Build one with `on_grid`; all fields are public.

    References
    ----------
    Alda & Rubinstein (2017), "The Bernstein mechanism".
    """

    grid_points: Floats
    domain_range: tuple[float, float]
    weights: Floats
    degree: int
    residual: float = 0.0

    @classmethod
    def on_grid(
        cls,
        degree: int,
        grid_points: ArrayLike,
        domain_range: tuple[float, float] | None = None,
        quadrature: object = "trapezoid",
    ) -> BernsteinBasis:
        """Build the basis for a public grid.

        Parameters
        ----------
        degree : int
            Degree k, from 1 to 1000; there are k + 1 functions.
        grid_points : array (m,)
            Public grid.
        domain_range : (float, float), optional
            Ends of the domain; by default those of the grid.
        quadrature : {"trapezoid", "uniform"} or array (m,)
            Quadrature weights.

        Raises
        ------
        ParameterError
            If the degree, the grid, the domain or the weights are unusable.

        Examples
        --------
        >>> basis = BernsteinBasis.on_grid(2, [0.0, 0.5, 1.0])
        >>> basis.evaluate([0.5])
        array([[0.25, 0.5 , 0.25]])
        """
        return cls(*public_grid(grid_points, domain_range, quadrature), check_degree(degree))

    def with_prior(self, functions: Floats, variances: Floats) -> BernsteinBasis:
        """The basis, knowing how much of a public prior its polynomials leave out.

        Parameters
        ----------
        functions : array (m, K)
            Values on the grid of the functions of a prior mean sum_j c_j phi_j.
        variances : array (K,)
            Relative variances of the independent coefficients c_j.

        Returns
        -------
        BernsteinBasis
            With `residual`, the expected squared L2 distance on the grid of a function of the prior to
            its polynomial, where the prior has average variance one: trace(W (I - T) C (I - T)^T) with
            T the matrix from grid values to values of the polynomial on the grid.
        """
        scaled = functions * np.sqrt(variances)
        missed = scaled - self.evaluate(self.grid_points) @ (self.analysis.T @ scaled)
        total = float(np.sum(self.weights @ scaled**2))
        length = self.domain_range[1] - self.domain_range[0]
        return replace(self, residual=float(np.sum(self.weights @ missed**2)) * length / total)

    @property
    def eigenvalues(self) -> Floats:
        """Ones (k + 1,): no lattice point is expected to be larger than another."""
        return frozen(np.ones(self.degree + 1))

    @property
    def decay(self) -> float | None:
        return None

    @cached_property
    def square_norms(self) -> Floats:
        length = self.domain_range[1] - self.domain_range[0]
        return frozen(bernstein_square_norms(self.degree) * length)

    @cached_property
    def analysis(self) -> Floats:
        """Linear interpolation at the lattice points: each column has one or two entries, of sum one."""
        at = lattice_axis(self.degree, self.domain_range)
        grid = self.grid_points
        inside = np.clip(at, grid[0], grid[-1])
        cell = np.clip(np.searchsorted(grid, inside, "right") - 1, 0, grid.size - 2)
        share = (inside - grid[cell]) / (grid[cell + 1] - grid[cell])
        matrix = np.zeros((grid.size, at.size))
        matrix[cell, np.arange(at.size)] = 1 - share
        matrix[cell + 1, np.arange(at.size)] = share
        return frozen(matrix)

    def evaluate(self, points: ArrayLike, order: int = 0) -> Floats:
        """Values (len(points), k + 1) of the functions, or of their derivative of any order."""
        at, order = check_points(points, self.domain_range), parameters.order(order)
        start, end = self.domain_range
        position = (at - start) / (end - start)
        return bernstein_values(self.degree, position, order) / (end - start) ** order

    def truncate(self, components: int) -> BernsteinBasis:
        """The basis itself: leading functions alone approximate nothing.

        Raises
        ------
        ParameterError
            For fewer components than it has.
        """
        if whole(components, "components") != self.degree + 1:
            words = f"be {self.degree + 1}, all Bernstein polynomials of degree {self.degree}"
            raise ParameterError("components", words, components, "Choose another degree instead.")
        return self

    def describe(self) -> str:
        return f"Bernstein polynomials of degree {self.degree}"

    def to_json(self) -> dict[str, object]:
        return {
            "kind": "Bernstein",
            **grid_to_json(self.grid_points, self.domain_range, self.weights),
            "degree": self.degree,
            "residual": self.residual,
        }

    @classmethod
    def from_json(cls, written: dict[str, object]) -> BernsteinBasis:
        """Build the basis again."""
        basis = cls.on_grid(integer(written["degree"], 1), *grid_from_json(written))
        return replace(basis, residual=number(written["residual"]))
