"""Eigenbases of product kernels on rectangular grids, from one small decomposition an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import frozen
from dpfda.bases.kernel import KernelBasis
from dpfda.bases.products import ProductBasis, PublicMatrix, fixed_product, in_two_parts, leading_modes
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.encoding import check_grid_size, integer, mapping, sequence
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import whole


@dataclass(frozen=True, eq=False)
class KroneckerBasis(ProductBasis):
    """Eigenfunctions of a product kernel k(s, t) = prod_a k_a(s_a, t_a) on a rectangular grid.

    With product weights the operator is a Kronecker product, so its eigenpairs are the products of those
    of the axes: m_1^3 + ... + m_d^3 operations in place of (m_1 ... m_d)^3. The K leading ones are kept,
    ordered by eigenvalue, ties by their indices along the axes. Coefficients and values on the grid are
    products with one matrix an axis.

    Build one with `on_grid`, or with `of` from eigenbases of the axes; everything in it is public.
    """

    factors: tuple[KernelBasis, ...]
    shape: tuple[int, ...]
    domain_range: tuple[tuple[float, float], ...]
    modes: Integers
    eigenvalues: Floats

    @classmethod
    def on_grid(
        cls,
        kernels: object,
        grid_points: Sequence[ArrayLike],
        domain_range: Sequence[tuple[float, float]] | None = None,
        components: int | None = None,
        quadrature: object = "trapezoid",
    ) -> KroneckerBasis:
        """Compute the eigenbasis.

        Parameters
        ----------
        kernels : kernel, or d kernels
            Covariance kernel of each axis, as for `KernelBasis.on_grid`; one is for all axes.
        grid_points : d arrays
            Public grid along each axis, strictly increasing.
        domain_range : d pairs (a, b), optional
            The box; by default that of the grid.
        components : int, optional
            Number K of functions; by default all products of the axes' functions.
        quadrature : {"trapezoid", "uniform"}, or d rules or arrays
            Quadrature weights along each axis.

        Raises
        ------
        ParameterError
            If there is not one kernel, pair or rule for each axis, if `KernelBasis.on_grid` refuses one,
            or if K is not between 1 and the number of products.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.gaussian_process.kernels import Matern
        >>> axis = np.linspace(0, 1, 20)
        >>> basis = KroneckerBasis.on_grid(Matern(0.3, nu=1.5), [axis, axis], components=6)
        >>> basis.evaluate([[0.5, 0.5]]).shape
        (1, 6)
        """
        axes = len(grid_points)
        laws = _one_each(kernels, axes, "kernels")
        rules = _one_each(quadrature, axes, "quadrature")
        boxes = [None] * axes if domain_range is None else _one_each(domain_range, axes, "domain_range")
        factors = (
            KernelBasis.on_grid(*parts) for parts in zip(laws, grid_points, boxes, rules, strict=True)
        )
        return cls.of(tuple(factors), components)

    @classmethod
    def of(cls, factors: Sequence[KernelBasis], components: int | None = None) -> KroneckerBasis:
        """The basis of products of the axes' eigenfunctions.

        Parameters
        ----------
        factors : d KernelBasis
            Eigenbases of the axes. One that holds leading functions alone will do as long as the K
            leading products need no others.
        components : int, optional
            Number K of functions; by default all products.

        Raises
        ------
        ParameterError
            If K is not between 1 and the number of products, or a factor holds too few functions.
        """
        basis = _leading(tuple(factors), components)
        heads = [float(factor.eigenvalues[0]) for factor in factors]
        for axis, factor in enumerate(factors):
            others = math.prod(heads[:axis] + heads[axis + 1 :])
            if factor.total is not None and factor.eigenvalues[-1] * others > basis.eigenvalues[-1]:
                raise ParameterError(
                    f"factor {axis}",
                    f"hold all functions that the {basis.components} leading products need",
                    f"{factor.eigenvalues.size} functions",
                    "Give it more components, or ask for fewer products.",
                )
        return basis

    @property
    def grid_points(self) -> tuple[Floats, ...]:
        return tuple(factor.grid_points for factor in self.factors)

    @cached_property
    def weights(self) -> Floats:
        product = np.ones(1)
        for factor in self.factors:
            product = np.outer(product, factor.weights).ravel()
        return frozen(product)

    @property
    def resolved(self) -> tuple[int, ...]:
        return tuple(factor.eigenvalues.size for factor in self.factors)

    @property
    def decay(self) -> float | None:
        """The slowest of the axes; logarithms that products bring are left out."""
        rates = [factor.decay for factor in self.factors]
        return min((rate for rate in rates if rate is not None), default=None) if all(rates) else None

    @property
    def residual(self) -> float:
        total = math.prod(factor.total or 0.0 for factor in self.factors)
        return max(0.0, 1 - float(self.eigenvalues.sum()) / total) * self.volume

    def values_on_grid(
        self, coefficients: ArrayLike, shape: int | Sequence[int] | None = None
    ) -> Floats:
        """Values on the grid, or on midpoints of equal cells, of functions with these coefficients.

        Parameters
        ----------
        coefficients : array (K',) or (..., K')
            Of the leading K' <= K functions; leading axes hold several functions.
        shape : d integers, optional
            Cells along each axis; by default the values are those on the grid itself.

        Returns
        -------
        array of that shape, after the leading axes
        """
        rows = self._read_coefficients(coefficients)
        table = self._tabulated(rows)
        counts = table.shape[rows.ndim - 1 :]
        if shape is None or tuple(np.atleast_1d(shape)) == self.shape:
            along = [factor.values for factor in self.factors]
        else:
            points = self.midpoints([shape] if isinstance(shape, int) else shape)
            along = [f.evaluate(at) for f, at in zip(self.factors, points, strict=True)]
        for values, count in zip(along, counts, strict=True):
            table = np.tensordot(table, values[:, :count], axes=([rows.ndim - 1], [1]))
        return table

    def describe(self) -> str:
        kernels = " x ".join(str(factor.kernel) for factor in self.factors)
        grid = " x ".join(str(points) for points in self.shape)
        return f"eigenbasis of {kernels} on {grid} grid points"

    def to_json(self) -> dict[str, object]:
        """The axes' functions that are used, and how many products."""
        used = (int(index.max()) + 1 for index in self.indices)
        parts = [factor.truncate(count) for factor, count in zip(self.factors, used, strict=True)]
        return {
            "kind": "kronecker",
            "components": self.components,
            "factors": [part.to_json() for part in parts],
        }

    @classmethod
    def from_json(cls, written: dict[str, object], kernel: object = None) -> KroneckerBasis:
        """Build the basis again; `kernel`, one or d, is needed where the file's own are not known."""
        parts = [mapping(part) for part in sequence(written["factors"])]
        kernels = _one_each(kernel, len(parts), "kernel")
        factors = tuple(KernelBasis.from_json(*pair) for pair in zip(parts, kernels, strict=True))
        check_grid_size([factor.eigenvalues.size for factor in factors])
        return _leading(factors, integer(written["components"], 1))

    @cached_property
    def _split(self) -> tuple[PublicMatrix, ...]:
        used = (int(index.max()) + 1 for index in self.indices)
        pairs = zip(self.factors, used, strict=True)
        return tuple(in_two_parts(factor.analysis[:, :count]) for factor, count in pairs)

    def _along(self, axis: int, at: Floats, count: int, order: int) -> Floats:
        return self.factors[axis].truncate(count).evaluate(at, order)

    def _products(self, values: Floats) -> Floats:
        for matrix in self._split:
            # The first axis goes, its functions come last: after all axes the order is the old one.
            lines = values.reshape(values.shape[0], -1).T
            product = fixed_product(np.ascontiguousarray(lines), matrix)
            values = product.reshape(*values.shape[1:], -1)
        padded = np.zeros(self.resolved)
        padded[tuple(slice(size) for size in values.shape)] = values
        return padded


def _leading(factors: tuple[KernelBasis, ...], components: int | None) -> KroneckerBasis:
    """The K leading products, whatever the factors leave out."""
    every = math.prod([factor.eigenvalues.size for factor in factors])
    count = every if components is None else whole(components, "components", 1, every)
    products = np.ones(())
    for factor in factors:
        products = products[..., None] * factor.eigenvalues
    modes = leading_modes(-products, count)
    modes.setflags(write=False)
    return KroneckerBasis(
        tuple(replace(f, total=f.total or float(f.eigenvalues.sum())) for f in factors),
        tuple(factor.grid_points.size for factor in factors),
        tuple(factor.domain_range for factor in factors),
        modes,
        frozen(products.ravel()[modes]),
    )


def _one_each(stated: object, axes: int, name: str) -> list[Any]:
    """One entry an axis: d of them, or one for all."""
    if not isinstance(stated, list | tuple):
        return [stated] * axes
    if len(stated) != axes:
        raise ParameterError(name, f"be one or {axes}, one an axis", f"{len(stated)}")
    return list(stated)
