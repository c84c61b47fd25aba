"""K-norm noise in one or many blocks: pure differential privacy with less noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.mechanisms.bodies import block_design, knorm_on_body
from dpfda.mechanisms.protocol import Design, Problem, wiener
from dpfda.noise import block_lengths
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.guarantees import ApproximateDP, PureDP

# What means of curves have beyond M functions is about this over (M - 1)^2, in squares of the radius:
# set on half of the sets of real curves, at n epsilon from 50 to 20,000.
TAIL = 0.42


@dataclass(frozen=True)
class KNorm:
    """Elliptical noise on blocks of raw coefficients, then shrinkage.

    Each block B of M_B coefficients of the sum gets c_B R U, R ~ Gamma(M_B, 1), U uniform on the
    sphere: density proportional to exp(-|z|_2 / c_B).

    **Guarantee.** Pure epsilon, and (epsilon, delta) for one block. By the triangle inequality a block's
    log density ratio is at most |d_B|_2 / c_B, and blocks are independent, so epsilon = sup_d sum_B
    |d_B|_2 / c_B: on the l2 ball w (sum_B c_B^-2)^(1/2), on the l1 ball w max_B 1/c_B, where |d| <= w
    between neighbours. One block
    is the elliptical mechanism of Reimherr & Awan (Example 4); blocks of size one are product Laplace
    noise. Unlike an elliptical law alone (their Theorem 4) infinitely many blocks are possible.

    Under (epsilon, delta) the radius of one block is calibrated to its exact privacy profile, a single
    integral (`dpfda.privacy.composition.block_profile`), at the largest |d| / c: more than epsilon is
    allowed,
    as the largest loss is rare. On l1 and l2 balls and on ellipsoids that takes up to 1.5 times less
    noise power than the better of Gaussian noise and the pure block (epsilon = 1, delta = 1e-6).

    Where records are bounded by a box or an ellipsoid the one block has the K-norm law of that body:
    density proportional to exp(-epsilon |z|), |d| <= 1 being the set of differences, so epsilon is
    exact again. Several blocks are calibrated to an l2 ball around the body.

    Parameters
    ----------
    block_sizes : int or tuple of int, optional
        Sizes of consecutive blocks of leading coefficients; an integer means one block. By default
        one block, its size chosen to minimise the expected error under the kernel's prior.

    Raises
    ------
    ParameterError
        On `design`, if the sizes are not positive or exceed the basis.

    References
    ----------
    Hardt & Talwar (2010); Reimherr & Awan (2019), Example 4 and Theorem 4.

    Examples
    --------
    >>> KNorm(block_sizes=(1, 4, 16)).block_sizes
    (1, 4, 16)
    """

    block_sizes: int | tuple[int, ...] | None = None
    name: ClassVar[str] = "knorm"
    takes_bodies: ClassVar[bool] = True

    def design(self, problem: Problem) -> Design:
        """Block scales and Wiener shrinkage."""
        sizes = self.block_sizes
        if sizes is None:
            sizes = (best_block(problem),)
        elif isinstance(sizes, int | np.integer):
            sizes = (int(sizes),)
        if len(sizes) == 0 or any(size < 1 or size != int(size) for size in sizes):
            raise ParameterError("block_sizes", "be positive integers", repr(self.block_sizes))
        sizes = tuple(int(size) for size in sizes)
        if problem.body is not None and len(sizes) == 1:
            return knorm_on_body(problem, self.name, {}, None if self.block_sizes is None else sizes[0])
        return block_design(problem, sizes, self.name, {"block_sizes": list(sizes)})

    def candidates(self, problem: Problem, error: Callable[[Design], float]) -> Iterator[Design]:
        """One block, for pure privacy and, where its profile is known, with a delta."""
        box = problem.body is not None and problem.body[0] == "box"
        approximate = isinstance(problem.guarantee, ApproximateDP)
        if isinstance(problem.guarantee, PureDP) or (approximate and not box):
            yield KNorm(_believed_block(problem)).design(problem)


def block_powers(problem: Problem, count: int) -> Floats:
    """Noise power (count,) on each coefficient of one block of 1, 2, ... coefficients."""
    scales = problem.width / block_lengths(problem.guarantee, count)
    return problem.noise_power(scales**2) * np.arange(2.0, count + 2)


def _believed_block(problem: Problem) -> int | None:
    """Size of the one block with the least average typical error; None leaves it to `best_block`.

    Under pure privacy that with the least noise power and what usual means have beyond it.
    """
    if problem.mixture is None or problem.body is not None:
        return None
    variances, chances = problem.belief.variances, problem.belief.chances
    powers = block_powers(problem, variances.shape[1])
    if isinstance(problem.guarantee, PureDP):
        sizes = np.arange(1.0, powers.size + 1)
        beyond = np.append(TAIL / np.maximum(sizes[:-1] - 1, 0.5) ** 2, 0.0)
        return 1 + int(np.argmin(sizes * powers + beyond))
    errors = []
    for size, power in enumerate(powers.tolist(), start=1):
        measured = variances[:, :size]
        risks = (measured * power / (measured + power)).sum(axis=1) + variances[:, size:].sum(axis=1)
        errors.append(float(chances @ np.sqrt(risks)))
    return 1 + int(np.argmin(errors))


def best_block(problem: Problem) -> int:
    """Size of the one block that minimises the expected squared error.

    With scale c on the sum, each of M coefficients gets variance c^2 (M + 1); after Wiener shrinkage
    the error is sum_{j<=M} p_j v / (p_j + v) + sum_{j>M} p_j.
    """
    prior = problem.prior
    powers = block_powers(problem, prior.size)
    tails = np.append(np.cumsum(prior[::-1])[::-1], 0.0)
    errors = []
    for size in range(1, prior.size + 1):
        power = np.full(size, powers[size - 1])
        errors.append(float(np.sum(wiener(prior[:size], power) * power)) + float(tails[size]))
    return 1 + int(np.argmin(errors))
