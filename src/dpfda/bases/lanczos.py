"""Leading eigenpairs of a symmetric positive semidefinite operator by Lanczos, checked afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError

Product = Callable[[Floats], Floats]

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
    import scipy

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
    product: Product, found: Floats, seed: int, shift: float, tolerance: float
) -> tuple[float, Floats]:
    """The largest eigenpair on the complement of orthonormal vectors (m, k)."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = found.shape[0]

    def outside(vector: Floats) -> Floats:
        return np.asarray(vector - found @ (found.T @ vector))

    def deflated(vector: Floats) -> Floats:
        kept = outside(vector.ravel())
        return outside(product(kept)) + shift * kept

    operator = LinearOperator((size, size), matvec=deflated, dtype=np.float64)
    start = outside(start_vector(size, seed))
    width = min(size, 20)
    values, vectors = eigsh(operator, k=1, which="LA", v0=start, ncv=width, tol=tolerance)
    return float(values[0] - shift), vectors[:, 0]


def start_vector(size: int, seed: int) -> Floats:
    """Fractional parts of k^2 times an irrational number: neither even nor odd nor smooth."""
    index = np.arange(1.0, size + 1)
    turns = index * index * ((np.sqrt(5.0) - 1) / 2) * (1 + seed / 8)
    return np.asarray(turns - np.floor(turns) - 0.5)


def _not_found(found: str, count: int) -> ParameterError:
    return ParameterError(
        "components",
        "be few enough for Lanczos to find their eigenfunctions",
        f"{count} ({found})",
        "Leave components out for the dense solver, or ask for fewer.",
    )
