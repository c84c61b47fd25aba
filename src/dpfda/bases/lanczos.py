"""Leading eigenpairs of a kernel's Gram matrix by Lanczos, checked afterwards, and its fast products.

Products with vectors take O(m) or O(m log m), without the matrix. On a uniform grid the Gram matrix of
a stationary kernel is Toeplitz: a product is a convolution. For Matern 1/2, 3/2 and 5/2 it is
semiseparable on any sorted grid: the part below the diagonal follows from a recursion over the points
with one, two or three states, a banded triangular system. (The inverse is banded too, but so ill-
conditioned that eigenpairs found with it lose digits.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dpfda.bases.kernels import (
    POLYNOMIALS,
    MaternSum,
    MaternTerm,
    is_scikit_learn_kernel,
    kernel_function,
    matern_terms,
)
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError

Product = Callable[[Floats], Floats]

# Deviation of a grid from equal steps, relative to its length, that is taken for rounding.
_UNEVEN = 1e-12
# Entries of the states that one step of a product holds.
LARGEST_STATE = 2**25


def gram_product(kernel: object, grid: Floats) -> Product | None:
    """The product V -> C V with the Gram matrix on a grid; None where no fast one is known.

    kernel: Only scikit-learn's and `MaternSum` are recognised: they are known to be positive
        semidefinite.
    grid: array (m,). Sorted points.
    Returns what takes arrays (m,) or (m, n).
    """
    stationary = isinstance(kernel, MaternSum) or (
        is_scikit_learn_kernel(kernel) and kernel.is_stationary()
    )
    if stationary and is_uniform(grid):
        row = kernel_function(kernel)(grid[:1], grid)[0]
        return toeplitz_product(row) if row[0] > 0 else None
    terms = matern_terms(kernel)
    return None if terms is None else semiseparable_product(terms, grid)


def is_uniform(grid: Floats) -> bool:
    """Whether steps are equal up to rounding."""
    even = np.linspace(grid[0], grid[-1], grid.size)
    return bool(np.max(np.abs(grid - even)) <= _UNEVEN * (grid[-1] - grid[0]))


def toeplitz_product(row: Floats) -> Product:
    """Product with the symmetric Toeplitz matrix of this first row: a circular convolution."""
    size = row.size
    length = scipy.fft.next_fast_len(2 * size - 1, real=True)
    circle = np.concatenate([row, np.zeros(length - 2 * size + 1), row[:0:-1]])
    spectrum = scipy.fft.rfft(circle).real

    def product(vectors: Floats) -> Floats:
        moved = scipy.fft.rfft(vectors.T, length) * spectrum
        return np.asarray(scipy.fft.irfft(moved, length)[..., :size].T)

    return product


def semiseparable_product(terms: Sequence[MaternTerm], points: Floats) -> Product:
    """Product with the Gram matrix of a sum of Matern kernels on sorted points, repeats allowed."""
    parts = [_matern_product(term, points) for term in terms]

    def product(vectors: Floats) -> Floats:
        return np.asarray(sum(part(vectors) for part in parts))

    return product


def cross_product(terms: Sequence[MaternTerm], at: Floats, points: Floats, vectors: Floats) -> Floats:
    """Rows k(at, points) @ vectors (q, n), in O((q + m) n): the union's product with zeros put in."""
    both = np.concatenate([points, at])
    order = np.argsort(both, kind="stable")
    padded = np.concatenate([vectors, np.zeros((at.size, vectors.shape[1]))])[order]
    product = semiseparable_product(terms, both[order])
    unsorted = np.empty_like(padded)
    unsorted[order] = product(padded)
    return unsorted[points.size :]


def _matern_product(term: MaternTerm, points: Floats) -> Product:
    """Below the diagonal: states z_k(i) = sum_{j <= i} exp(-r_ij) r_ij^k v_j, combined linearly.

    From one point to the next, r grows by a step h for all j, so
    z_k(i) = exp(-h) sum_l C(k, l) h^(k-l) z_l(i - 1), plus v_i for k = 0.
    The part above the diagonal is the transpose.
    """
    polynomial = np.array(POLYNOMIALS[term.nu])
    states = polynomial.size
    steps = math.sqrt(2 * term.nu) / term.length_scale * np.diff(points)
    band = np.zeros((2 * states, points.size * states), order="F")
    for k in range(states):
        for source in range(k + 1):
            entries = -math.comb(k, source) * steps ** (k - source) * np.exp(-steps)
            band[states + k - source, source : (points.size - 1) * states : states] = entries

    def solved(right: Floats, transposed: bool) -> Floats:
        flat = right.reshape(points.size * states, -1)
        answer, _ = scipy.linalg.lapack.dtbtrs(
            band, flat, uplo="L", trans="T" if transposed else "N", diag="U"
        )
        return np.asarray(answer.reshape(right.shape))

    def product(vectors: Floats) -> Floats:
        columns = vectors.reshape(points.size, -1)
        values = np.empty_like(columns)
        width = max(1, LARGEST_STATE // (points.size * states))
        for start in range(0, columns.shape[1], width):
            part = columns[:, start : start + width]
            right = np.zeros((points.size, states, part.shape[1]))
            right[:, 0] = part
            below = np.tensordot(solved(right, False), polynomial, axes=(1, 0))
            above = solved(part[:, None, :] * polynomial[:, None], True)[:, 0]
            values[:, start : start + width] = below + above - part
        return term.variance * values.reshape(vectors.shape)

    return product


# Largest |A u - l u| that is accepted, relative to the largest eigenvalue.
LARGEST_DEFECT = 1e-10
# Eigenvalues below this share of the largest are not looked for.
NEGLIGIBLE = 1e-10


class EigenPairs(NamedTuple):
    """Eigenvalues (k,) decreasing, orthonormal vectors (m, k), and what was measured of their error.

    `defect` is the largest |A u - l u|_2 over the pairs, relative to the largest eigenvalue. Each l lies
    within that share of the largest eigenvalue of an exact eigenvalue; u within about that share divided
    by the relative distance to the next eigenvalue, as with any solver.
    """

    values: Floats
    vectors: Floats
    defect: float


def leading_eigenpairs(product: Product, size: int, scale: float, count: int) -> EigenPairs:
    """Find the largest eigenvalues and their vectors.

    Implicitly restarted Lanczos (ARPACK) finds the space, one Rayleigh-Ritz step the pairs. Lanczos
    from one vector can miss copies of a repeated eigenvalue; the complement of what was found is
    therefore searched for anything larger than the least of it, until there is nothing. Starting vectors
    are fixed, so the answer is the same in every run.

    Parameters
    ----------
    product : callable
        V -> A V for arrays (m,) and (m, n).
    size : int
        Dimension m.
    scale : float
        A number of the order of the largest eigenvalue, such as the trace.
    count : int
        Number k of pairs, less than half of m.

    Raises
    ------
    ParameterError
        If they cannot be found to an accuracy of 1e-10.

    References
    ----------
    Parlett (1998), "The symmetric eigenvalue problem", theorem 4.5.1 for the residual bound.
    """
    from scipy.sparse.linalg import ArpackNoConvergence

    try:
        pairs = _ritz(product, _space(product, size, scale, count), count)
        for attempt in range(1, count + 2):
            missed = _largest_outside(product, pairs, attempt)
            if missed is None:
                break
            pairs = _ritz(product, np.column_stack([pairs.vectors, missed]), count)
    except ArpackNoConvergence:
        raise _not_found("no convergence", count) from None
    if not pairs.defect <= LARGEST_DEFECT:
        # Where eigenvalues repeat, ARPACK may leave more than it says: once more, with the residuals.
        left = product(pairs.vectors) - pairs.vectors * pairs.values
        pairs = _ritz(product, np.column_stack([pairs.vectors, left]), count)
    if not pairs.defect <= LARGEST_DEFECT:
        raise _not_found(f"a relative residual of {pairs.defect:.1e}", count)
    return pairs


def _space(product: Product, size: int, shift: float, count: int) -> Floats:
    """Vectors of the largest eigenvalues.

    ARPACK stops when residuals are small beside the eigenvalue. For a smooth kernel they never are: its
    small eigenvalues are rounding. A shift of the order of the largest makes that the yardstick.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    shifted = LinearOperator(
        (size, size), matvec=lambda v: product(v.ravel()) + shift * v.ravel(), dtype=np.float64
    )
    width = min(size, max(2 * count + 1, 20))
    _, vectors = eigsh(shifted, k=count, which="LA", v0=start_vector(size, 0), ncv=width)
    return np.asarray(vectors)


def _ritz(product: Product, space: Floats, count: int) -> EigenPairs:
    """The best pairs in a space, so many of the largest, with their residuals."""
    space, _ = scipy.linalg.qr(space, mode="economic")
    image = product(space)
    small = space.T @ image
    values, turn = scipy.linalg.eigh((small + small.T) / 2)
    values, turn = values[::-1][:count], turn[:, ::-1][:, :count]
    vectors = space @ turn
    residuals = np.linalg.norm(image @ turn - vectors * values, axis=0)
    return EigenPairs(values, vectors, float(residuals.max() / values[0]))


def _largest_outside(product: Product, pairs: EigenPairs, seed: int) -> Floats | None:
    """A vector orthogonal to the found ones with a larger quotient than the least of theirs, if any."""
    largest, least = float(pairs.values[0]), float(pairs.values[-1])
    yardstick = max(least, NEGLIGIBLE * largest)
    value, _ = _first_outside(product, pairs.vectors, seed, yardstick, 1e-6)
    if value <= (1 + 1e-6) * yardstick:
        return None
    # Roughly is enough to know that there is one; what joins the others is found as well as they were.
    return _first_outside(product, pairs.vectors, seed, largest, 0.0)[1]


def _first_outside(
    product: Product, basis: Floats, seed: int, shift: float, tolerance: float
) -> tuple[float, Floats]:
    """The largest eigenpair on the complement of orthonormal vectors (m, k)."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = basis.shape[0]

    def outside(vector: Floats) -> Floats:
        return np.asarray(vector - basis @ (basis.T @ vector))

    def deflated(vector: Floats) -> Floats:
        remainder = outside(vector.ravel())
        return outside(product(remainder)) + shift * remainder

    operator = LinearOperator((size, size), matvec=deflated, dtype=np.float64)
    start = outside(start_vector(size, seed))
    values, vectors = eigsh(operator, k=1, which="LA", v0=start, ncv=min(size, 20), tol=tolerance)
    return float(values[0] - shift), vectors[:, 0]


def start_vector(size: int, seed: int) -> Floats:
    """Fractional parts of k^2 times an irrational number: neither even nor odd nor smooth."""
    index = np.arange(1.0, size + 1)
    turns = index * index * ((np.sqrt(5.0) - 1) / 2) * (1 + seed / 8)
    return np.asarray(turns - np.floor(turns) - 0.5)


def _not_found(reason: str, count: int) -> ParameterError:
    return ParameterError(
        "components",
        "be few enough for Lanczos to find their eigenfunctions",
        f"{count} ({reason})",
        "Leave components out for the dense solver, or ask for fewer.",
    )
