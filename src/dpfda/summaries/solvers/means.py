"""The fourth solver: noise on the sums of the features of each class, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.bounds import IntegerBall, Norm
from dpfda.noise import KNormNoise, NoiseLaw, gaussian_noise, knorm_noise
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import RefusedMechanismError
from dpfda.privacy.guarantees import PureDP, ZeroConcentratedDP
from dpfda.records.features import feature_ball
from dpfda.summaries.solvers.terms import Labelled, Terms, ceil_root


@dataclass(frozen=True, eq=False)
class MeansSolver:
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

    terms: Terms
    name: ClassVar[str] = "means"

    def __post_init__(self) -> None:
        if self.terms.loss.name != "hinge":
            raise RefusedMechanismError(
                "solver",
                "suit the loss",
                f"'means' for the {self.terms.loss.name} loss",
                "Use loss='hinge', or solver='auto'.",
            )

    @property
    def ball(self) -> IntegerBall:
        """Where features lie."""
        return feature_ball(self.terms.components)

    @property
    def entries(self) -> int:
        """Number of released sums."""
        return self.terms.components * self.terms.functions

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
        guarantee, blocks = self.terms.guarantee, (self.terms.components,) * self.terms.functions
        if isinstance(guarantee, ZeroConcentratedDP):
            return gaussian_noise(np.ones(self.entries), self.width, guarantee)
        pure = knorm_noise(blocks, np.ones(len(blocks)), "l1", self.width, PureDP(guarantee.epsilon))
        if isinstance(guarantee, PureDP):
            return pure
        normal = gaussian_noise(np.ones(self.entries), self.width, guarantee)
        return normal if normal.variances()[0] < pure.variances()[0] else pure

    @property
    def norm(self) -> Norm:
        """What the width bounds, for the law in force."""
        return "l1" if isinstance(self.noise, KNormNoise) else "l2"

    def contributions(self, rows: Integers, targets: Floats) -> Integers:
        """Integers (N, entries) that rows add to the sums; row i from example i alone."""
        signs = np.rint(targets).astype(np.int64).reshape(len(rows), -1)
        return np.asarray((signs[:, :, None] * rows[:, None, :]).reshape(len(rows), self.entries))

    def averages(self, data: Labelled, start: int, stop: int) -> Integers:
        """Contributions (stop - start, entries) of units; the average of a unit's rows, rounded down."""
        return data.averages(start, stop, self.contributions)

    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        """The released functions' coefficients: (K,), or (K, C) for several classes."""
        scale = self.ball.step / (2 * float(self.terms.penalty) * self.terms.units)
        values = np.array([float(value) for value in noisy]) * scale
        if self.terms.functions == 1:
            return values
        return np.ascontiguousarray(values.reshape(-1, self.terms.components).T)

    def spread(self, noisy: tuple[int, ...]) -> Floats:
        """Deviation () of the noise in every coefficient."""
        scale = self.ball.step / (2 * float(self.terms.penalty) * self.terms.units)
        return np.array(math.sqrt(float(self.noise.variances()[0])) * scale)

    def describe(self) -> dict[str, object]:
        return {"entries": self.entries}
