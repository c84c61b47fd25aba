"""Eigenbasis of a covariance kernel on a public grid with quadrature weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import (
    check_points,
    first_signs,
    frozen,
    grid_from_json,
    grid_to_json,
    public_grid,
)
from dpfda.bases.kernels import (
    MaternSum,
    is_differentiable,
    is_scikit_learn_kernel,
    kernel_decay,
    kernel_from_json,
    kernel_function,
    kernel_to_json,
    matern_terms,
)
from dpfda.bases.lanczos import EigenPairs, Product, cross_product, gram_product, leading_eigenpairs
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import array_from_json, array_to_json, floats, number
from dpfda.numerics.errors import ParameterError, StorageError
from dpfda.numerics.parameters import whole
from dpfda.numerics.speed import remembered

# Eigenvalues below this share of the largest are indistinguishable from rounding: off the grid a
# function is divided by its eigenvalue, which would turn 1e-16 into 1e-6 at this limit.
RELATIVE_RANK = 1e-10
# Entries of a matrix and of its mirror image differ by no more than rounding, relative to the largest.
UNEVEN = 2.0**-46
# Lanczos is taken from this many points on, for at most this share of the functions.
LANCZOS_POINTS = 1000
LANCZOS_SHARE = 1 / 5
# From so many points on all functions above rounding are looked for among so few by Lanczos.
MANY_POINTS, FEW_FUNCTIONS = 2500, 240
# Kernel values between the grid and other points that are held at once.
LARGEST_MATRIX = 2**24
# Values that are kept, because a band, a picture and a table ask for the same ones.
LARGEST_REMEMBERED = 2**17


@dataclass(frozen=True, eq=False)
class KernelBasis:
    """Eigenfunctions of the integral operator of a kernel.

    With weights W and Gram matrix C on the grid, U and l from W^(1/2) C W^(1/2) = U diag(l) U^T give
    eigenvalues l and functions phi = W^(-1/2) U, orthonormal under the weights. Off the grid
    (Nystrom), phi_j(t) = (1/l_j) sum_k w_k C(t, t_k) phi_j(t_k). Eigenvalues that are zero to
    rounding are left out, negative ones among them.

    Build one with `KernelBasis.on_grid`; all fields are public.

    Attributes
    ----------
    total : float or None
        Trace of the operator, where only some of its functions were asked for.
    defect : float or None
        Largest |A u - l u| over the pairs, A the weighted Gram matrix, relative to the largest
        eigenvalue, as measured; None from the dense solver, which works to rounding.
    """

    kernel: object
    grid_points: Floats
    domain_range: tuple[float, float]
    weights: Floats
    eigenvalues: Floats
    values: Floats
    total: float | None = None
    defect: float | None = None

    @classmethod
    @remembered(16)
    def on_grid(
        cls,
        kernel: object,
        grid_points: ArrayLike,
        domain_range: tuple[float, float] | None = None,
        quadrature: object = "trapezoid",
        components: int | None = None,
    ) -> KernelBasis:
        """Compute the eigenbasis of a kernel.

        All functions cost O(m^3) time and O(m^2) memory. A few leading ones (`components` at most a
        fifth of at least 1000 points) are found by Lanczos with fast products where the kernel has a
        structure: a stationary scikit-learn kernel on a uniform grid, or sums and multiples of Matern
        1/2, 3/2 and 5/2 on any grid. That costs O(m K^2) time and O(m K) memory. So are all of a
        smooth kernel on at least 2,500 points, if no more than 240 are above rounding.

        Parameters
        ----------
        kernel : scikit-learn kernel or callable k(s, t)
            Covariance kernel on the domain, in its units; symmetric, positive semidefinite.
        grid_points : array (m,)
            Public grid, strictly increasing.
        domain_range : (float, float), optional
            Ends of the domain; by default those of the grid.
        quadrature : {"trapezoid", "uniform"} or array (m,)
            Quadrature weights.
        components : int, optional
            Number K of leading functions; by default, and at most, all whose eigenvalue is not zero to
            rounding.

        Raises
        ------
        ParameterError
            If the grid, the domain or the weights are unusable, or if the kernel is not finite,
            symmetric and positive semidefinite on the grid.

        Examples
        --------
        >>> from sklearn.gaussian_process.kernels import RBF
        >>> basis = KernelBasis.on_grid(RBF(0.2), [0.0, 0.25, 0.5, 0.75, 1.0])
        >>> basis.eigenvalues.shape
        (5,)
        """
        if is_scikit_learn_kernel(kernel):
            from sklearn.base import clone

            # A copy: the caller's object may change later, the basis must not.
            kernel = clone(kernel)
        grid, domain, weights = public_grid(grid_points, domain_range, quadrature)
        count = grid.size if components is None else whole(components, "components", 1, grid.size)
        pairs, trace = _fast_pairs(kernel, grid, weights, count, components is None)
        if pairs is None:
            pairs = _all_pairs(kernel, grid, weights)
            trace = float(pairs.values.sum())
        rank = min(count, int(np.sum(pairs.values > RELATIVE_RANK * pairs.values[0])))
        return cls(
            kernel,
            grid,
            domain,
            weights,
            frozen(pairs.values[:rank]),
            frozen(fix_signs(pairs.vectors[:, :rank]) / np.sqrt(weights)[:, None]),
            None if components is None else trace,
            pairs.defect or None,
        )

    @property
    def decay(self) -> float | None:
        return kernel_decay(self.kernel)

    @property
    def square_norms(self) -> Floats:
        return np.ones(self.eigenvalues.size)

    @property
    def residual(self) -> float:
        if self.total is None:
            return 0.0
        share = max(0.0, 1 - float(self.eigenvalues.sum()) / self.total)
        return share * float(self.weights.sum())

    @cached_property
    def analysis(self) -> Floats:
        return frozen(self.weights[:, None] * self.values)

    @cached_property
    def _synthesis(self) -> Floats:
        return self.analysis / self.eigenvalues

    def evaluate(self, points: ArrayLike, order: int = 0) -> Floats:
        """Values (len(points), K) of the functions or of a derivative.

        Parameters
        ----------
        points : array
            Points of the domain.
        order : int
            Order of the derivative: 0, 1 or 2. Derivatives are central differences of the kernel
            with a step of 1e-4 (order 1) or 1e-3 (order 2) of the domain.

        Raises
        ------
        ParameterError
            If a point lies outside the domain, or the kernel's functions have no such derivative.
        """
        at, order = check_points(points, self.domain_range), parameters.order(order)
        function = kernel_function(self.kernel)
        if order == 0:
            return self.values if np.array_equal(at, self.grid_points) else self._extended(at)
        length = self.domain_range[1] - self.domain_range[0]
        if order not in (1, 2) or not is_differentiable(function, self.grid_points, length):
            words = "be smooth enough for the derivative"
            remedy = "Use a smoother kernel, such as Matern with nu >= 1.5, before fitting."
            raise ParameterError("kernel", words, f"{self.kernel} for order {order}", remedy)
        step = length * (1e-4 if order == 1 else 1e-3)
        above, below = self._extended(at + step), self._extended(at - step)
        if order == 1:
            return np.asarray((above - below) / (2 * step))
        return np.asarray((above - 2 * self._extended(at) + below) / step**2)

    def _extended(self, at: Floats) -> Floats:
        """Values (q, K) off the grid, remembered for the points that were asked for last."""
        key = at.tobytes()
        recent = self._recent.get(key)
        if recent is not None:
            return recent
        values = frozen(self._made_off_grid(at))
        self._recent.clear()
        if values.size <= LARGEST_REMEMBERED:
            self._recent[key] = values
        return values

    @cached_property
    def _recent(self) -> dict[bytes, Floats]:
        return {}

    def _made_off_grid(self, at: Floats) -> Floats:
        """For many points in O(q + m), or some rows at a time."""
        entries = at.size * self.grid_points.size
        terms = matern_terms(self.kernel) if entries > LARGEST_MATRIX else None
        if terms is not None:
            return cross_product(terms, at, self.grid_points, self._synthesis)
        function = kernel_function(self.kernel)
        parts = np.array_split(at, -(-entries // LARGEST_MATRIX) or 1)
        rows = [function(part, self.grid_points) @ self._synthesis for part in parts]
        return rows[0] if len(rows) == 1 else np.concatenate(rows)

    def truncate(self, components: int) -> KernelBasis:
        components = whole(components, "components")
        return replace(
            self,
            eigenvalues=frozen(self.eigenvalues[:components]),
            values=frozen(self.values[:, :components]),
        )

    def describe(self) -> str:
        return f"eigenbasis of {self.kernel} on {self.grid_points.size} grid points"

    def to_json(self) -> dict[str, object]:
        return {
            "kind": "kernel",
            "kernel": kernel_to_json(self.kernel),
            "kernel_name": str(self.kernel) if kernel_to_json(self.kernel) else "custom",
            **grid_to_json(self.grid_points, self.domain_range, self.weights),
            "eigenvalues": self.eigenvalues.tolist(),
            "values": array_to_json(self.values),
            "total": self.total,
            "defect": self.defect,
        }

    @classmethod
    def from_json(cls, written: Mapping[str, object], kernel: object = None) -> KernelBasis:
        """Build the basis again; `kernel` is needed where the file's own is not a known one."""
        grid, domain, weights = grid_from_json(written)
        grid, weights = frozen(grid), frozen(weights)
        if written["kernel"] is not None:
            kernel = MaternSum.from_json(written["kernel"]) or kernel_from_json(written["kernel"])
        elif kernel is None:
            raise StorageError(
                "The release was made with a custom kernel, which a file cannot hold. "
                "Pass the same function as kernel= to load it."
            )
        eigenvalues = frozen(floats(written["eigenvalues"]))
        values = frozen(array_from_json(written["values"]))
        if not values.shape == (grid.size, eigenvalues.size) or weights.shape != grid.shape:
            raise ValueError("values, functions and grid differ in number")
        measured = (_number_or_none(written.get(part)) for part in ("total", "defect"))
        basis = cls(kernel, grid, domain, weights, eigenvalues, values, *measured)
        # On its grid `evaluate` would answer with the values themselves.
        if not np.allclose(basis._extended(grid), values, rtol=0, atol=1e-3 * np.abs(values).max()):
            raise StorageError("kernel= is not the kernel that the release was made with.")
        return basis


def _number_or_none(written: object) -> float | None:
    return None if written is None else number(written)


def _all_pairs(kernel: object, grid: Floats, weights: Floats) -> EigenPairs:
    """All eigenpairs of W^(1/2) C W^(1/2), by LAPACK."""
    root = np.sqrt(weights)
    matrix = root[:, None] * _gram(kernel, grid) * root
    mirrored = matrix[::-1, ::-1]
    if np.max(np.abs(matrix - mirrored)) <= UNEVEN * np.max(np.abs(matrix)):
        values, vectors = _even_and_odd((matrix + mirrored) / 2)
    else:
        values, vectors = _eigenpairs(matrix)
    if values[0] <= 0 or values[-1] < -1e-8 * values[0]:
        raise ParameterError(
            "kernel",
            "be positive semidefinite",
            f"eigenvalues from {values[-1]:.3g} to {values[0]:.3g} on the grid",
        )
    return EigenPairs(values, vectors, 0.0)


def _eigenpairs(matrix: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues, the largest first, and eigenvectors of a symmetric matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1], vectors[:, ::-1]


def _even_and_odd(matrix: Floats) -> tuple[Floats, Floats]:
    """Eigenpairs of a matrix that is its own mirror image: vectors exactly even or odd.

    On (u, Ju) / 2^(1/2) and (u, -Ju) / 2^(1/2), J turning the order round, it is A + BJ and A - BJ, with
    A its first quarter and B the one beside it. Where eigenvalues are close, rounding would mix both
    kinds; products with vectors of one kind take half the work (`dpfda.numerics.compiled`).
    """
    size = matrix.shape[0]
    half, rest = size // 2, size - size // 2
    across = matrix[:rest, ::-1][:, :rest]
    # A point in the middle is its own image: it belongs to the even ones, at the length of one entry.
    length = np.where(np.arange(rest) < half, 1.0, math.sqrt(0.5))
    even, sums = _eigenpairs((matrix[:rest, :rest] + across) * length * length[:, None])
    odd, differences = _eigenpairs(matrix[:half, :half] - across[:half, :half])
    vectors = np.zeros((size, size))
    vectors[:rest, :rest] = sums * (length * math.sqrt(0.5))[:, None]
    vectors[:half, rest:] = differences * math.sqrt(0.5)
    vectors[rest:, :rest] = vectors[:half, :rest][::-1]
    vectors[rest:, rest:] = -vectors[:half, rest:][::-1]
    if rest > half:
        vectors[half, :rest] = sums[half]
    values = np.concatenate([even, odd])
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def _fast_pairs(
    kernel: object, grid: Floats, weights: Floats, count: int, smooth: bool
) -> tuple[EigenPairs | None, float]:
    """Leading eigenpairs by Lanczos, and the trace; None where it does not pay.

    smooth: Whether all above rounding are wanted, which for a smooth kernel are few.
    """
    wanted = FEW_FUNCTIONS if smooth and grid.size >= MANY_POINTS else count
    few = grid.size >= LANCZOS_POINTS and wanted <= LANCZOS_SHARE * grid.size
    product = gram_product(kernel, grid) if few else None
    if product is None:
        return None, 0.0
    # Kernels with fast products are stationary: the same on the diagonal everywhere.
    trace = float(kernel_function(kernel)(grid[:1], grid[:1])[0, 0] * weights.sum())
    try:
        pairs = _few_pairs(product, weights, trace, wanted)
    except ParameterError:
        if smooth:
            return None, 0.0
        raise
    return (None if (smooth and pairs.values[-1] > RELATIVE_RANK * pairs.values[0]) else pairs), trace


def _few_pairs(product: Product, weights: Floats, trace: float, count: int) -> EigenPairs:
    """The leading eigenpairs, from products with C alone."""
    root = np.sqrt(weights)

    def weighted(vectors: Floats) -> Floats:
        scale = root if vectors.ndim == 1 else root[:, None]
        return np.asarray(scale * product(scale * vectors))

    return leading_eigenpairs(weighted, root.size, trace, count)


def _gram(kernel: object, grid: Floats) -> Floats:
    gram = kernel_function(kernel)(grid, grid)
    if gram.shape != (grid.size, grid.size) or not np.all(np.isfinite(gram)):
        raise ParameterError("kernel", "be finite on the grid", f"an array of shape {gram.shape}")
    if not np.allclose(gram, gram.T, rtol=1e-8, atol=1e-12 * np.abs(gram).max()):
        raise ParameterError("kernel", "be symmetric", "k(s, t) != k(t, s) on the grid")
    return gram


def fix_signs(vectors: Floats) -> Floats:
    """Make the first large entry of each vector positive, so that a basis does not depend on LAPACK.

    The largest entry would not do: on a symmetric grid an odd function has two, of opposite sign,
    and rounding decides between them.
    """
    return np.asarray(vectors * first_signs(vectors))
