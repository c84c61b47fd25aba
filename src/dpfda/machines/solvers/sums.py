"""The third and fourth solver: noise on the sums of products, or of the features of each class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.bounds import IntegerBall, Norm
from dpfda.machines.solvers.solver import SummingSolver, additive_noise, ceil_root
from dpfda.noise import KNormNoise, NoiseLaw
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise, quietest_symmetric, triangle
from dpfda.numerics.arrays import Floats, Integers

# Features lie in the ball of radius 2^14, so that entries stay below 2^33.
SUMS_BITS = 14
# A row is lifted to (4 z, 3 Y): of the integers from 1 to 4 these give the least error in general.
LIFT, TARGET = 4, 3
# Draws that the spread of the coefficients is simulated with.
DRAWS = 400


@dataclass(frozen=True, eq=False)
class SumsSolver(SummingSolver):
    """Noise on the sums of z z^T and y z, then ridge regression: for the square loss.

    **Guarantee.** With z in the integer ball of radius R = 2^14 and Y the integer nearest to R y, at
    most R in size, a row contributes the outer product of u = (4 z, 3 Y), |u|^2 <= 25 R^2, which holds
    z z^T and Y z at once. How far one row moves the sum, in every norm that a law needs, and the laws:
    `dpfda.noise.symmetric` and `dpfda.noise.wishart`. The one of least power is taken.

    With more than two classes, u = (4 z, 3 R e), e the unit vector of the record's class: |u| is bounded
    as before, so the squares of features are summed up once for all classes, and noise grows only with
    the number of rows K + C. Two records of different classes with features at right angles reach the
    bound. Nothing is composed: it is one sum of outer products.

    With several rows a unit contributes the average of its rows, which lies in their convex hull, where
    distances are no longer. Rounded down, the difference of two units moves by a symmetric matrix E of
    M = K + 1 (K + C) rows with entries between -1 and 1: |E|_F <= M and tr|E| <= M^(3/2). Under
    add/remove neighbours the sum moves by what one unit adds, and that is all that changes.

    The sums are exact. What follows is post-processing: the matrix of z z^T is made positive
    semidefinite by dropping negative eigenvalues, then b = (S / n + penalty)^-1 (noisy sum of y z) / n.

    Parameters
    ----------
    terms : Terms
        With the square loss.
    """

    name: ClassVar[str] = "sums"

    def __post_init__(self) -> None:
        if self.terms.loss.name != "squared":
            words = f"the {self.terms.loss.name} loss, which is no polynomial"
            others = ("objective", "output")
            raise self.unsuited(words, "Use $loss, or $solver.", loss="squared", solver=others)

    @property
    def ball(self) -> IntegerBall:
        """Where features lie."""
        return IntegerBall("l2", 2**SUMS_BITS, SUMS_BITS)

    @property
    def rows(self) -> int:
        """Number of rows of the matrix that is summed up."""
        return self.terms.components + self.terms.functions

    @property
    def entries(self) -> int:
        """Number of released sums: its lower triangle."""
        return triangle(self.rows)

    @property
    def width(self) -> OuterDifference:
        """How far the sums of neighbouring data sets are apart."""
        square = (LIFT**2 + TARGET**2) * self.ball.radius**2
        plain = OuterDifference.of_square(self.rows, square, self.terms.neighbours)
        if not self.terms.grouped:
            return plain
        nuclear = ceil_root(self.rows**3)
        frobenius = ceil_root(plain.frobenius_square) + self.rows
        return OuterDifference(frobenius**2, plain.trace + nuclear, plain.part + nuclear)

    @property
    def noise(self) -> SymmetricNoise:
        """The calibrated law."""
        return quietest_symmetric(self.rows, self.width, self.terms.guarantee)

    @property
    def deviation(self) -> float:
        """Of the noise in a square z_j^2, for features in the unit ball."""
        return math.sqrt(self.noise.power) / (LIFT * float(self.ball.radius)) ** 2

    def contributions(self, rows: Integers, targets: Floats) -> Integers:
        """Integers (N, entries) that rows add to the sums; row i from example i alone."""
        lifted = self._lifted(rows, targets)
        first, second = np.tril_indices(self.rows)
        return np.asarray(lifted[:, first] * lifted[:, second])

    def summed(self, rows: Integers, targets: Floats) -> Integers:
        # In floats, which hold sums of so few products of 16 bits exactly, in any order.
        lifted = self._lifted(rows, targets).astype(np.float64)
        return np.asarray((lifted.T @ lifted)[np.tril_indices(self.rows)].astype(np.int64))

    def _lifted(self, rows: Integers, targets: Floats) -> Integers:
        radius = self.ball.radius
        integers = np.clip(np.rint(targets * radius), -radius, radius).astype(np.int64)
        return np.column_stack([LIFT * rows, TARGET * integers])

    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        """Ridge regression on the noisy sums: (K,), or (K, C) for several classes."""
        inverse, sums = self._solved(noisy)
        return np.asarray(inverse @ sums if self.terms.functions > 1 else inverse @ sums[:, 0])

    def spread(self, noisy: tuple[int, ...]) -> Floats:
        """Covariance (K, K) of the noise in the coefficients; (C, K, K) for several classes.

        To first order in the noise N_G and N_s on the two sums, whose law is known, b moves by
        A^-1 (N_s - N_G b), A the noisy matrix with its penalty. It is simulated from public numbers.
        """
        count = self.terms.components
        inverse, sums = self._solved(noisy)
        noise = self.noise.simulate(np.random.default_rng(0), DRAWS) * self._scale
        moved = noise[:, :count, count:] / TARGET - noise[:, :count, :count] @ (inverse @ sums) / LIFT
        moved = inverse @ moved.transpose(2, 1, 0)
        powers = moved @ moved.transpose(0, 2, 1) / DRAWS
        return np.asarray(powers if self.terms.functions > 1 else powers[0])

    @property
    def _scale(self) -> float:
        return 1.0 / (LIFT * float(self.ball.radius) ** 2 * self.terms.units)

    def _solved(self, noisy: tuple[int, ...]) -> tuple[Floats, Floats]:
        """The inverse (K, K) of the positive part plus the penalty, and the sums (K, functions)."""
        count = self.terms.components
        matrix = np.zeros((self.rows, self.rows))
        first, second = np.tril_indices(self.rows)
        values = np.array([float(value) for value in noisy]) * self._scale
        matrix[first, second] = matrix[second, first] = values
        eigenvalues, vectors = np.linalg.eigh(matrix[:count, :count] / LIFT)
        eigenvalues = np.maximum(eigenvalues, 0.0) + float(self.terms.penalty)
        return np.asarray((vectors / eigenvalues) @ vectors.T), matrix[:count, count:] / TARGET


@dataclass(frozen=True, eq=False)
class MeansSolver(SummingSolver):
    """Noise on the sums of the features of each class: the hinge's machine where its penalty is large.

    With a penalty p so large that no margin reaches the arc, every slope of the hinge is one, and its
    minimiser against the rest is, up to what all classes share, b_c = (1 / (2 p n)) sum of z over class
    c: where noise is large next to the records, fewer numbers released are worth more than a better fit.

    **Guarantee.** With z in the integer ball of radius R a row contributes C blocks of K integers: z in
    the block of its class, and zeros. So the lengths of the blocks of one row add up to at most R, and
    by the triangle inequality those of the difference of two rows to at most

        width = 2 R,

    attained by two rows of length R of different classes, or opposite ones of one class. For blocks with
    densities proportional to exp(-|x|_2 / c) the loss is the largest sum of |d_B|_2 / c = width / c, as
    for the l1 ball (`dpfda.noise.blocks`), whatever the number of classes. The length of the whole
    difference is at most 2 R too: Gaussian noise hides that, by rho, or with a delta where it is less.
    With two classes there is one block, y z with y = -1 or 1, which moves by 2 R at most likewise.

    With several rows a unit contributes their average, rounded down, which adds at most C ceil(K^(1/2)).
    Under add/remove neighbours R takes the place of 2 R.

    Parameters
    ----------
    terms : Terms
        With the hinge.
    """

    name: ClassVar[str] = "means"

    def __post_init__(self) -> None:
        if self.terms.loss.name != "hinge":
            words = f"the {self.terms.loss.name} loss"
            raise self.unsuited(words, "Use $loss, or $solver.", loss="hinge", solver="auto")

    @property
    def width(self) -> int:
        """Largest sum of the lengths of the blocks of a difference, and of its length."""
        rounding = self.terms.functions * ceil_root(self.terms.components)
        return self.terms.neighbours.differences(self.ball.radius) + (
            rounding if self.terms.grouped else 0
        )

    @property
    def noise(self) -> NoiseLaw:
        """The calibrated law."""
        blocks = (self.terms.components,) * self.terms.functions
        return additive_noise(blocks, "l1", self.width, self.terms.guarantee)

    @property
    def norm(self) -> Norm:
        """What the width bounds, for the law in force."""
        return "l1" if isinstance(self.noise, KNormNoise) else "l2"

    def contributions(self, rows: Integers, targets: Floats) -> Integers:
        """Integers (N, entries) that rows add to the sums; row i from example i alone."""
        signs = np.rint(targets).astype(np.int64).reshape(len(rows), -1)
        return np.asarray((signs[:, :, None] * rows[:, None, :]).reshape(len(rows), self.entries))

    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        """The released functions' coefficients: (K,), or (K, C) for several classes."""
        values = np.array([float(value) for value in noisy]) * self._scale
        if self.terms.functions == 1:
            return values
        return np.ascontiguousarray(values.reshape(-1, self.terms.components).T)

    def spread(self, noisy: tuple[int, ...]) -> Floats:
        """Deviation () of the noise in every coefficient."""
        return np.array(math.sqrt(float(self.noise.variances()[0])) * self._scale)

    @property
    def _scale(self) -> float:
        return self.ball.step / (2 * float(self.terms.penalty) * self.terms.units)
