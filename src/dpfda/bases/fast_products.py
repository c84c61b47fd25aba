"""Products of a kernel's Gram matrix with vectors, in O(m) or O(m log m), without the matrix.

Two structures are used. On a uniform grid the Gram matrix of a stationary kernel is Toeplitz: a product
is a convolution. For Matern 1/2, 3/2 and 5/2 it is semiseparable on any sorted grid: the part below the
diagonal follows from a recursion over the points with one, two or three states, a banded triangular
system. (The inverse is banded too, but so ill-conditioned that eigenpairs found with it lose digits.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dpfda.bases.kernels import (
    POLYNOMIALS,
    MaternSum,
    MaternTerm,
    is_scikit_learn_kernel,
    kernel_function,
    matern_terms,
)
from dpfda.numerics.arrays import Floats

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
    import scipy

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
    found = np.empty_like(padded)
    found[order] = product(padded)
    return found[points.size :]


def _matern_product(term: MaternTerm, points: Floats) -> Product:
    """Below the diagonal: states z_k(i) = sum_{j <= i} exp(-r_ij) r_ij^k v_j, combined linearly.

    From one point to the next, r grows by a step h for all j, so
    z_k(i) = exp(-h) sum_l C(k, l) h^(k-l) z_l(i - 1), plus v_i for k = 0.
    The part above the diagonal is the transpose.
    """
    import scipy

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
        made = np.empty_like(columns)
        width = max(1, LARGEST_STATE // (points.size * states))
        for start in range(0, columns.shape[1], width):
            part = columns[:, start : start + width]
            right = np.zeros((points.size, states, part.shape[1]))
            right[:, 0] = part
            below = np.tensordot(solved(right, False), polynomial, axes=(1, 0))
            above = solved(part[:, None, :] * polynomial[:, None], True)[:, 0]
            made[:, start : start + width] = below + above - part
        return term.variance * made.reshape(vectors.shape)

    return product
