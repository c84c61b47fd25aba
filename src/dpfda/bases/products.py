"""Bases of products of one-dimensional functions on a box: what all of them share.

Spectra of stationary covariances on a box: how prior variances fall with frequency.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from types import EllipsisType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_box_points, frozen, middles, product_points
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import reals, whole, wholes

Spectrum = Callable[[Floats, float, int], Floats]


def matern(squares: Floats, nu: float, dimensions: int) -> Floats:
    """Whittle-Matern: (1 + q / (2 nu))^-(nu + d/2), the spectral density of the Matern kernel.

    squares: Squared frequencies q = sum_a (r_a w_a)^2, with w_a in radians per unit of axis a and r_a
        the range of the covariance in that unit.
    nu: Smoothness.
    dimensions: Dimensions d of the box.
    """
    return np.asarray((1 + squares / (2 * nu)) ** -(nu + dimensions / 2))


def sobolev(squares: Floats, nu: float, dimensions: int) -> Floats:
    """Sobolev: 1 / (1 + q^s), s = nu + d/2: the space with the norm |f|^2 + |(-Laplace)^(s/2) f|^2."""
    return np.asarray(1 / (1 + squares ** (nu + dimensions / 2)))


def heat(squares: Floats, nu: float, dimensions: int) -> Floats:
    """Heat: exp(-q / 2), the spectral density of the squared exponential kernel; nu plays no part."""
    return np.exp(-squares / 2)


SPECTRA: dict[str, Spectrum] = {"matern": matern, "sobolev": sobolev, "heat": heat}


def spectral_decay(spectrum: str, nu: float, dimensions: int) -> float:
    """Exponent a of lambda_j ~ j^-a on a box in d dimensions: (2 nu + d) / d; infinity for heat.

    There are about R^d modes of frequency below R, so the j-th frequency grows like j^(1/d).
    """
    return math.inf if spectrum == "heat" else (2 * nu + dimensions) / dimensions


def leading_modes(squares: Floats, components: int) -> Integers:
    """Flat indices (K,) of the K smallest entries, in increasing order; ties by the flat index.

    A partial selection, then a sort of what it selected: O(m + K log K) for m entries. Comparisons
    alone decide, so the answer is the same on every machine.
    """
    flat = squares.ravel()
    largest = np.partition(flat, components - 1)[components - 1]
    candidates = np.flatnonzero(flat <= largest)
    order = np.argsort(flat[candidates], kind="stable")
    return np.asarray(candidates[order][:components], dtype=np.int64)


# Largest matrix (entries) that `analysis` writes out, and that one step of `values_at` holds.
LARGEST_MATRIX = 2**25


class ProductBasis(ABC):
    """Products phi_j(t) = prod_a f_{a, n_a(j)}(t_a) of functions along the axes of a box.

    A subclass is a frozen dataclass with the fields below; it says what the functions of an axis are.

    Attributes
    ----------
    shape : tuple of d int
        Grid points along each axis.
    domain_range : tuple of d pairs (a, b)
        The box, in the units of its axes.
    modes : array (K,)
        Which function of each axis, as one index into all `resolved` combinations in C order.
    eigenvalues : array (K,)
        Prior variances, decreasing.
    """

    shape: tuple[int, ...]
    domain_range: tuple[tuple[float, float], ...]
    modes: Integers
    eigenvalues: Floats

    @property
    @abstractmethod
    def grid_points(self) -> tuple[Floats, ...]:
        """Grid along each axis: d arrays."""

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """Quadrature weights (m,) of the grid in C order; read-only."""

    @property
    @abstractmethod
    def resolved(self) -> tuple[int, ...]:
        """How many functions there are along each axis."""

    @abstractmethod
    def _along(self, axis: int, at: Floats, count: int, order: int) -> Floats:
        """Values (q, count) of the leading functions of an axis at checked points, or derivatives."""

    @abstractmethod
    def _products(self, values: Floats) -> Floats:
        """Coefficients, in the shape of `resolved`, of one function given in the shape of the grid."""

    @property
    def dimensions(self) -> int:
        """Dimensions d of the box."""
        return len(self.domain_range)

    @property
    def components(self) -> int:
        """Number K of functions."""
        return int(self.modes.size)

    @property
    def lengths(self) -> tuple[float, ...]:
        """Lengths of the axes, in their units."""
        return tuple(end - start for start, end in self.domain_range)

    @property
    def volume(self) -> float:
        """Volume of the box."""
        return math.prod(self.lengths)

    @property
    def square_norms(self) -> Floats:
        return np.ones(self.components)

    @cached_property
    def indices(self) -> tuple[Integers, ...]:
        """Index (K,) of each function along each axis: d arrays."""
        return tuple(np.unravel_index(self.modes, self.resolved))

    @property
    def analysis(self) -> Floats:
        """Matrix (m, K) of the transform, for small bases.

        Raises
        ------
        ParameterError
            If it would have more than 2^25 entries.
        """
        points = math.prod(self.shape)
        if points * self.components > LARGEST_MATRIX:
            words = f"have at most {LARGEST_MATRIX} products of points and functions for a matrix"
            remedy = "Use transform, which needs none."
            raise ParameterError("basis", words, f"{points} x {self.components}", remedy)
        return frozen(self.evaluate(product_points(self.grid_points)) * self.weights[:, None])

    def midpoints(self, shape: Sequence[int]) -> tuple[Floats, ...]:
        """Midpoints of equal cells along each axis, for any number of cells."""
        wanted = wholes(shape, "shape", self.dimensions)
        return tuple(map(frozen, map(middles, self.domain_range, wanted)))

    def transform(self, values: ArrayLike) -> Floats:
        """Coefficients (K,) of one function, from its values on the grid.

        They are a function of these values alone, whatever else is in memory: one record at a time, in
        operations of a fixed order, and a power of two taken out first, so that nothing overflows on the
        way. A coefficient beyond the largest float becomes the largest float.

        Parameters
        ----------
        values : array of the grid's shape, or flattened (m,) in C order
            Finite values of one record on the grid, in its units. Private, where it is a record.

        Returns
        -------
        array (K,)
            sum_k w_k x(t_k) phi_j(t_k), in units of the values times the root of the volume's.

        Raises
        ------
        ParameterError
            If there are not as many values as grid points.
        """
        coefficients, exponent = self.scaled_transform(values)
        with np.errstate(over="ignore"):
            restored = np.ldexp(coefficients, exponent)
        limit = np.finfo(np.float64).max
        return np.clip(restored, -limit, limit)

    def scaled_transform(self, values: ArrayLike) -> tuple[Floats, int]:
        """Coefficients c (K,) and an exponent e: those of `transform` are c 2^e."""
        array = np.ascontiguousarray(reals(values, "values"))
        if array.shape not in (self.shape, (math.prod(self.shape),)):
            raise ParameterError(
                "values", f"have the shape {self.shape} of the grid", f"shape {array.shape}"
            )
        exponent = int(np.frexp(np.max(np.abs(array)))[1])
        scaled = np.ldexp(array.reshape(self.shape), -exponent)
        return np.ascontiguousarray(self._products(scaled)).ravel()[self.modes], exponent

    def evaluate(self, points: ArrayLike, order: int | Sequence[int] = 0) -> Floats:
        """Values (q, K) of the functions at scattered points, or of a derivative.

        Parameters
        ----------
        points : array (q, d), or (q,) for d = 1
            Points of the box.
        order : int or d integers
            Order of the derivative along each axis; one number is for d = 1, or zero.

        Raises
        ------
        ParameterError
            If a point lies outside the box.
        """
        at, _ = check_box_points(points, self.domain_range)
        product: Floats | float = 1.0
        counts = tuple(int(index.max()) + 1 for index in self.indices)
        for table, index in zip(self._tables(at, order, counts), self.indices, strict=True):
            product = product * table[:, index]
        return np.asarray(product)

    def values_at(
        self, points: ArrayLike, coefficients: ArrayLike, order: int | Sequence[int] = 0
    ) -> Floats:
        """Values (q,) at scattered points of a function with coefficients (K',), K' <= K.

        As `evaluate` times the coefficients, a part of the points at a time: no matrix (q, K) is held.
        """
        numbers = self._read_coefficients(coefficients)
        if numbers.ndim != 1:
            raise ParameterError("coefficients", "be of one function", f"shape {numbers.shape}")
        table = self._tabulated(numbers)
        at, _ = check_box_points(points, self.domain_range)
        step = max(1, LARGEST_MATRIX // max(table.size // table.shape[0], sum(table.shape)))
        parts = [self._contracted(at[i : i + step], table, order) for i in range(0, len(at), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def truncate(self, components: int) -> Self:
        components = whole(components, "components")
        parts: dict[str, object] = {
            "modes": self.modes[:components],
            "eigenvalues": frozen(self.eigenvalues[:components]),
        }
        basis: Any = self
        shortened: Self = replace(basis, **parts)
        return shortened

    def _read_coefficients(self, coefficients: ArrayLike) -> Floats:
        numbers = reals(coefficients, "coefficients")
        if numbers.ndim < 1 or not 1 <= numbers.shape[-1] <= self.components:
            raise ParameterError(
                "coefficients", f"be 1 to {self.components} numbers", f"shape {numbers.shape}"
            )
        return numbers

    def _tabulated(self, numbers: Floats) -> Floats:
        """Coefficients (..., K') on the smallest box of indices that holds them, zero elsewhere."""
        if self.dimensions == 1:
            # Along a single axis functions are in order already.
            return numbers
        indices = tuple(index[: numbers.shape[-1]] for index in self.indices)
        table = np.zeros((*numbers.shape[:-1], *(int(index.max()) + 1 for index in indices)))
        place: tuple[EllipsisType | Integers, ...] = (..., *indices)
        table[place] = numbers
        return table

    def _tables(
        self, at: Floats, order: int | Sequence[int], counts: tuple[int, ...]
    ) -> Iterator[Floats]:
        """Values (q, n_a) of the functions along each axis."""
        # A mixed derivative is asked for by name: one number is for one variable, or zero for all.
        named = (order,) if isinstance(order, int) and order else order
        orders = parameters.orders(named, self.dimensions)
        for axis, (count, wanted) in enumerate(zip(counts, orders, strict=True)):
            yield self._along(axis, at[:, axis], count, wanted)

    def _contracted(self, at: Floats, table: Floats, order: int | Sequence[int]) -> Floats:
        """Sums of products with a table of coefficients, axis after axis."""
        first, *others = self._tables(at, order, table.shape)
        sums = np.tensordot(first, table, axes=1)
        for values in others:
            sums = np.einsum("qn,qn...->q...", values, sums)
        return np.asarray(sums)


class PublicMatrix(NamedTuple):
    """A matrix as two integer parts: (high + low / 2^bits) 2^(exponent - bits)."""

    high: Floats
    low: Floats
    exponent: int
    bits: int


def in_two_parts(matrix: Floats, bits: int | None = None) -> PublicMatrix:
    """Split a matrix (m, n), or anything that meets one, into integers of at most 2^bits.

    By default of so many bits that sums of m products stay below 2^53.
    """
    if bits is None:
        bits = (53 - math.ceil(math.log2(matrix.shape[0]))) // 2
    exponent = int(np.frexp(np.max(np.abs(matrix)))[1])
    scaled = np.ldexp(matrix, bits - exponent)
    high = np.rint(scaled)
    return PublicMatrix(high, np.rint(np.ldexp(scaled - high, bits)), exponent, bits)


def fixed_product(values: Floats, matrix: PublicMatrix) -> Floats:
    """Values (r, m) times a public matrix (m, n): the same bits whatever order BLAS sums in.

    All sums are of integers below 2^53, so they are exact; what is rounded is rounded entry by entry.
    The error is about 2^(-2 bits) of the largest entries: 1e-12 for a thousand points.
    """
    private = in_two_parts(values, matrix.bits)
    cross = private.high @ matrix.low + private.low @ matrix.high
    total = private.high @ matrix.high + np.ldexp(cross, -matrix.bits)
    return np.ldexp(total, private.exponent + matrix.exponent - 2 * matrix.bits)
