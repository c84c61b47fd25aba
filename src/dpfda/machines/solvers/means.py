"""The fourth solver: noise on the sums of the features of each class, and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.bounds import Norm
from dpfda.machines.solvers.solver import SummingSolver
from dpfda.machines.solvers.terms import additive_noise, ceil_root
from dpfda.noise import KNormNoise, NoiseLaw
from dpfda.numerics.arrays import Floats, Integers


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
            raise self.unsuited(
                f"the {self.terms.loss.name} loss", "Use loss='hinge', or solver='auto'."
            )

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
