"""The third solver: noise on the sums of products, for the square loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpfda.bounds import IntegerBall
from dpfda.errors import RefusedMechanismError
from dpfda.noise import NoiseLaw
from dpfda.summaries.solvers.terms import Labelled, Terms, additive_noise, ceil_root

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Features lie in the ball of radius 2^14, so that entries stay below 2^31.
SUMS_BITS = 14
# Diagonal and off-diagonal entries count 5 and 7 times: 7/5 is just below the root of two.
DIAGONAL, OFF_DIAGONAL = 5, 7


@dataclass(frozen=True, eq=False)
class SumsSolver:
    """Noise on the sums of z z^T and y z, then ridge regression: for the square loss.

    **Guarantee.** A row contributes the upper triangle of z z^T and y z, in integers: z in the ball of
    radius R = 2^14, Y the integer nearest to R y, |Y| <= R; entries of the diagonal count 5 times, those
    off it 7 times, and Y z 5 times. As 7^2 <= 2 5^2, the squared length of a difference is at most

        25 (|z z^T - z' z'^T|_F^2 + |Y z - Y' z'|^2) <= 25 . (9/2) R^4.

    Proof of the last step, R = 1: with t = |z|^2, t' = |z'|^2 and c the cosine, the first term is
    t^2 + t'^2 - 2 t t' c^2, the second at most t + t' + 2 (t t')^(1/2) |c|. Their sum grows with t: with
    w = |c| (t'/t)^(1/2) <= t^(-1/2) its derivative is (1 + w)(1 + 2 t (1 - w)), and 2 t (w - 1) <=
    2 (t^(1/2) - t) <= 1/2 < 1. So t = t' = 1 is worst, where it is 2 (1 + |c|)(2 - |c|) <= 9/2, attained
    at |c| = 1/2. (Without the cross terms one would charge 2 + 4 = 6.)

    With several rows a unit contributes the average of its rows, which lies in their convex hull, where
    distances are no longer; rounding it down adds at most the root of the number of entries.

    The sums are exact; noise is Gaussian, or two K-norm blocks of one scale, for the matrix and for the
    vector (on the l2 ball the loss is width (sum_B c_B^-2)^(1/2), see `dpfda.noise.blocks`). What
    follows is post-processing: the matrix is made symmetric and positive semidefinite by dropping
    negative eigenvalues, then b = (S / n + penalty)^-1 (noisy sum of y z) / n.

    Parameters
    ----------
    terms : Terms
        With the square loss.
    """

    terms: Terms
    name: ClassVar[str] = "sums"

    def __post_init__(self) -> None:
        if self.terms.loss.name != "squared":
            raise RefusedMechanismError(
                "solver",
                "suit the loss",
                f"'sums' for the {self.terms.loss.name} loss, which is no polynomial",
                "Use loss='squared', or solver='objective' or 'output'.",
            )

    @property
    def ball(self) -> IntegerBall:
        """Where features lie."""
        return IntegerBall("l2", 2**SUMS_BITS, SUMS_BITS)

    @property
    def entries(self) -> int:
        """Number of released sums."""
        return self.terms.components * (self.terms.components + 3) // 2

    @property
    def width(self) -> int:
        """Largest distance of the sums of neighbouring data sets."""
        squared = 25 * 9 * self.ball.radius**4
        width = ceil_root(-(-squared // 2))
        return width + (ceil_root(self.entries) if self.terms.grouped else 0)

    @property
    def noise(self) -> NoiseLaw:
        """The calibrated law."""
        blocks = (self.entries - self.terms.components, self.terms.components)
        return additive_noise(blocks, self.width, self.terms.guarantee)

    def contributions(self, rows: Integers, targets: Floats) -> Integers:
        """Integers (N, entries) that rows add to the sums; row i from example i alone."""
        first, second = np.triu_indices(self.terms.components)
        factors = np.where(first == second, DIAGONAL, OFF_DIAGONAL)
        radius = self.ball.radius
        integers = np.clip(np.rint(targets * radius), -radius, radius).astype(np.int64)
        products = rows[:, first] * rows[:, second] * factors
        return np.hstack([products, DIAGONAL * integers[:, None] * rows])

    def averages(self, data: Labelled, start: int, stop: int) -> Integers:
        """Contributions (stop - start, entries) of units; the average of a unit's rows, rounded down."""
        chosen = np.flatnonzero((data.codes >= start) & (data.codes < stop))
        totals = np.zeros((stop - start, self.entries), dtype=np.int64)
        places = data.codes[chosen] - start
        np.add.at(totals, places, self.contributions(data.rows[chosen], data.targets[chosen]))
        return totals // np.bincount(places)[:, None]

    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        """Ridge regression on the noisy sums."""
        count = self.terms.components
        scale = 1.0 / (float(self.ball.radius) ** 2 * self.terms.units)
        values = np.array([float(value) for value in noisy]) * scale
        first, second = np.triu_indices(count)
        matrix = np.zeros((count, count))
        factors = np.where(first == second, DIAGONAL, OFF_DIAGONAL)
        matrix[first, second] = matrix[second, first] = values[: first.size] / factors
        eigenvalues, vectors = np.linalg.eigh(matrix)
        eigenvalues = np.maximum(eigenvalues, 0.0) + float(self.terms.penalty)
        return np.asarray(vectors @ ((vectors.T @ values[first.size :]) / DIAGONAL / eigenvalues))

    def describe(self) -> dict[str, Any]:
        return {"entries": self.entries}
