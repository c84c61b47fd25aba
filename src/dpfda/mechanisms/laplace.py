"""Product Laplace noise on leading coefficients: equal scales, or scales matched to the shrinkage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.mechanisms.bodies import block_design, laplace_design
from dpfda.mechanisms.protocol import Design, Problem
from dpfda.noise import pure_budget
from dpfda.privacy.guarantees import ApproximateDP


@dataclass(frozen=True)
class Laplace:
    """Independent Laplace noise on M raw coefficients.

    **Guarantee.** Pure epsilon: the log density ratio is at most sum_j |d_j| / B_j, which is
    w max_j 1/B_j on the l1 ball and at most w (sum_j B_j^-2)^(1/2) on the l2 ball, for |d| <= w
    between neighbours; where sums differ by a box of half-widths w_j it is sum_j w_j / B_j, by an
    ellipsoid (sum_j w_j^2 / B_j^2)^(1/2). With equal scales on the l2 ball that is
    B = w M^(1/2) / epsilon.

    Matched scales minimise the expected error for given shrinkage factors, and a few rounds settle both.
    On the l1 ball they are equal on the raw sum, and none is larger than that of ICLP at the same
    budget, whatever its estimate. On the l2 ball they are larger where shrinkage is strong, and smaller
    where it is not.

    Parameters
    ----------
    components : int, optional
        Number M of leading coefficients; by default all of the basis.
    matched : bool
        Scales matched to the shrinkage, rather than equal.
    shrink : bool
        Apply Wiener shrinkage. Without it, and with equal scales, this is the IID Laplace mechanism.

    References
    ----------
    Lin & Reimherr (2023), section 4.1 (IID Laplace); the matched scales are derived in docs/accuracy.md.

    Examples
    --------
    >>> Laplace(components=8, matched=False, shrink=False).components
    8
    """

    components: int | None = None
    matched: bool = True
    shrink: bool = True
    name: ClassVar[str] = "laplace"
    one_law: ClassVar[bool] = True
    takes_bodies: ClassVar[bool] = True

    def design(self, problem: Problem) -> Design:
        """Scales and shrinkage."""
        count = problem.prior.size if self.components is None else int(self.components)
        parameters = {"components": count, "matched": self.matched, "shrink": self.shrink}
        if problem.body is not None and self.shrink:
            return laplace_design(problem, self.name, parameters, count, self.matched)
        return block_design(problem, (1,) * count, self.name, parameters, not self.matched, self.shrink)

    def candidates(self, problem: Problem, error: Callable[[Design], float]) -> Iterator[Design]:
        """Matched noise on all coefficients; a delta is of no use to it."""
        if not isinstance(problem.guarantee, ApproximateDP):
            yield self.design(problem)


@dataclass(frozen=True)
class IIDLaplace:
    """Equal Laplace noise on M leading coefficients, without shrinkage: the classical truncation.

    **Guarantee.** Pure epsilon, as for `Laplace` with equal scales: B = w / epsilon on the l1 ball,
    whatever M; w M^(1/2) / epsilon on the l2 ball (the authors' code uses w M / epsilon).

    Parameters
    ----------
    components : int, optional
        Number M of coefficients; by default the number with the least expected error under the
        kernel's prior.

    References
    ----------
    Lin & Reimherr (2023), section 4.1.

    Examples
    --------
    >>> IIDLaplace(components=4).name
    'iid-laplace'
    """

    components: int | None = None
    name: ClassVar[str] = "iid-laplace"

    def design(self, problem: Problem) -> Design:
        """Equal scales, no shrinkage."""
        count = _best_truncation(problem) if self.components is None else int(self.components)
        parameters = {"components": count}
        return block_design(problem, (1,) * count, self.name, parameters, equal=True, shrink=False)


def _best_truncation(problem: Problem) -> int:
    """Number of components that minimises truncation bias plus noise."""
    counts = np.arange(1, problem.prior.size + 1)
    scale = problem.width / float(pure_budget(problem.guarantee))
    squares = 2 * scale**2 * (counts if problem.norm == "l2" else np.ones_like(counts))
    noise = counts * problem.noise_power(np.asarray(squares, dtype=np.float64))
    bias = problem.prior.sum() - np.cumsum(problem.prior)
    return int(counts[np.argmin(noise + bias)])
