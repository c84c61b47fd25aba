"""Noise of a sum over rows that have independent noise of one law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.noise import NoiseLaw
from dpfda.numerics.arrays import Floats


@dataclass(frozen=True, eq=False)
class Forms:
    """Noise of one linear form of rows of numbers, such as the sums of groups over cells.

    Parameters
    ----------
    law : NoiseLaw
        Of one row.
    weights : array (R,)
        Of the rows, in the units of what is estimated.
    start : int
        Coordinates of the law before this one are not looked at.
    """

    law: NoiseLaw
    weights: Floats
    start: int = 0

    @property
    def components(self) -> int:
        """How many numbers a row has."""
        return self.law.components - self.start

    def variances(self) -> Floats:
        """Of each number."""
        return np.asarray(self.law.variances()[self.start :] * np.sum(self.weights**2))

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Errors (draws, M)."""
        total = np.zeros((draws, self.components))
        for weight in self.weights[self.weights != 0]:
            total += weight * self.law.simulate(generator, draws)[:, self.start :]
        return total
