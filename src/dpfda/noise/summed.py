"""Noise of a public sum of independent draws of one law: what is seen of several noisy sums together.

Integers that got noise one after the other, each by itself, are added up with public weights
afterwards, and so is their noise. What that promises is a matter of how far a unit moves the integers
that got it (`dpfda.mean.running`). By itself the sum of draws promises something only where one of them
has the weight 1 or -1: the others are then added to what has the guarantee of that one already. Of
weights that share a factor the remainder of an integer by that factor would show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.noise.bodies import BoxNoise
from dpfda.noise.gaussian import GaussianNoise
from dpfda.noise.protocol import AnyNorm, ScaledLaw, Width, unsuited
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.guarantees import Guarantee

LAWS: dict[str, type[BoxNoise] | type[GaussianNoise]] = {
    law.law: law for law in (BoxNoise, GaussianNoise)
}


@dataclass(frozen=True)
class SummedNoise(ScaledLaw):
    """Independent draws of one law, times whole numbers, added up.

    scales: Of the law of one draw, in grid units.
    of: {"k-norm-box", "gaussian"}. The law of one draw.
    weights: What each draw is multiplied with, not 0.
    """

    of: str
    weights: tuple[int, ...]
    law: ClassVar[str] = "summed"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.of not in LAWS:
            raise ParameterError("of", f"be {' or '.join(map(repr, LAWS))}", repr(self.of))
        if not self.weights or any(type(weight) is not int or not weight for weight in self.weights):
            raise ParameterError("weights", "be whole numbers other than 0", "others")

    @property
    def one(self) -> BoxNoise | GaussianNoise:
        """The law of one draw."""
        return LAWS[self.of](self.scales)

    def draw(self) -> list[int]:
        draws = [(weight, self.one.draw()) for weight in self.weights]
        return [
            sum(weight * drawn[place] for weight, drawn in draws) for place in range(self.components)
        ]

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        if self.of == GaussianNoise.law:
            return self.one.simulate(generator, draws) * self._length
        made = np.zeros((draws, self.components))
        for weight in self.weights:
            made += weight * self.one.simulate(generator, draws)
        return made

    def variances(self) -> Floats:
        return np.asarray(self.one.variances() * self._length**2)

    @property
    def _length(self) -> float:
        """Length of the weights."""
        return float(np.linalg.norm(np.array(self.weights, dtype=np.float64)))

    def describe(self) -> str:
        count = len(self.weights)
        what = "a multiple" if count == 1 else f"the sum, with public weights, of {count} draws"
        return f"{what} of {self.one.describe()}"

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        if not {1, -1} & set(self.weights):
            raise unsuited(self, requested)
        return self.one.achieved(norm, width, requested)
