"""The first solver: noise on the minimiser itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpfda.machines.minimiser import least_tolerance, minimise
from dpfda.machines.solvers.solver import (
    Labelled,
    MinimisingSolver,
    additive_noise,
    ceil_root,
    grid_exponent,
    rounded,
    sensitivity,
)
from dpfda.noise import NoiseLaw
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats

# Share of the exact sensitivity that the minimisation's inexactness may add.
INEXACTNESS = 0.005


@dataclass(frozen=True, eq=False)
class OutputSolver(MinimisingSolver):
    """Noise on the minimiser itself.

    **Guarantee.** The computed point is within eta = tolerance / (2 penalty) of b*, whatever the data,
    and its entries times 2^q are rounded to nearest integers, which moves a difference by at most
    K^(1/2). So neighbouring data sets give integers at most

        width = ceil(2^q (r + 2 eta)) + ceil(K^(1/2))

    apart in length, with r of `sensitivity`; tolerance, q and width come from public numbers. One
    K-norm block on all K integers then gives pure epsilon, Gaussian noise (epsilon, delta).

    Parameters
    ----------
    terms : Terms
    """

    name: ClassVar[str] = "output"

    @property
    def tolerance(self) -> float:
        """Length of gradient at which the minimisation stops."""
        wanted = INEXACTNESS * 2 * float(self.terms.penalty * sensitivity(self.terms))
        return max(wanted, least_tolerance(self.terms.loss, self.terms.penalty, self.terms.components))

    @property
    def exponent(self) -> int:
        """Exponent q of the grid 2^-q of the result."""
        return grid_exponent(sensitivity(self.terms))

    @property
    def width(self) -> int:
        """Largest distance of the integers of neighbouring data sets."""
        eta = Fraction(self.tolerance) / (2 * self.terms.penalty)
        moved = (sensitivity(self.terms) + 2 * eta) * Fraction(2) ** self.exponent
        return math.ceil(moved) + ceil_root(self.terms.components)

    @property
    def noise(self) -> NoiseLaw:
        """The calibrated law."""
        return additive_noise((self.terms.components,), "l2", self.width, self.terms.guarantee)

    @property
    def cost_of_inexactness(self) -> float:
        """What rounding and the minimisation add to the noise, relatively."""
        return self.width / float(sensitivity(self.terms) * Fraction(2) ** self.exponent) - 1

    def total(self, data: Labelled) -> IntegerSum:
        return IntegerSum.of(self.integers(data))

    def integers(self, data: Labelled) -> list[int]:
        """The rounded minimiser. Private."""
        examples = data.examples(self.ball.step)
        found = minimise(examples, self.terms.loss, self.terms.penalty, self.tolerance)
        grid = Fraction(2) ** self.exponent
        return [rounded(Fraction(value) * grid) for value in found.tolist()]

    def spread(self, noisy: tuple[int, ...]) -> Floats:
        """Deviation () of the noise in every coefficient."""
        return np.array(self.deviation)

    def describe(self) -> dict[str, object]:
        return {"sensitivity": float(sensitivity(self.terms)), "tolerance": self.tolerance}
