"""Several noisy sums of one thing: of independent draws, or of one draw with more noise on it.

**Twice.** With scales b <= B let L be a Laplace variable of scale b, and W independent: zero with the
probability (b / B)^2, else Laplace of scale B. W has the characteristic function

    b^2 / B^2 + (1 - b^2 / B^2) / (1 + B^2 t^2) = (1 + b^2 t^2) / (1 + B^2 t^2),

and L has 1 / (1 + b^2 t^2): so L + W is Laplace of scale B (Koufogiannis, Han & Pappas 2015, "Gradual
release of sensitive data under differential privacy"). Whoever sees numbers with L and with L + W has
seen a random function of the former, since W says nothing of the data: both cost what L costs alone.

**Summed.** Integers that got noise one after the other, each by itself, are added up with public weights
afterwards, and so is their noise. What that promises is a matter of how far a unit moves the integers
that got it (`dpfda.mean.running`). By itself the sum of draws promises something only where one of them
has the weight 1 or -1: the others are then added to what has the guarantee of that one already. Of
weights that share a factor the remainder of an integer by that factor would show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.noise.blocks import KNormNoise
from dpfda.noise.bodies import BoxNoise
from dpfda.noise.gaussian import GaussianNoise
from dpfda.noise.protocol import AnyNorm, ScaledLaw, Width, unsuited
from dpfda.numerics import drawing
from dpfda.numerics.arrays import Floats
from dpfda.numerics.drawing import Arithmetic, At, Real
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.exactness import below
from dpfda.privacy.guarantees import Guarantee


@dataclass(frozen=True)
class TwiceLaplace:
    """Both in a row: the narrower noise on all numbers, then the wider on all of them, in grid units."""

    components: int
    narrow: int
    wide: int

    @property
    def wider(self) -> KNormNoise:
        """The law of the wider noise by itself."""
        return KNormNoise.equal(self.components, self.wide)

    def draw(self) -> list[int]:
        """One exact draw, each sum of real variables rounded, from the operating system's entropy."""
        count = self.components
        # The chance is a quotient of whole numbers.
        alike = np.array([below(self.wide**2) < self.narrow**2 for _ in range(count)])

        def values(a: Arithmetic[Real]) -> At[Real]:
            scales = a.integers((self.narrow, self.wide))

            def at(places: drawing.Places) -> Real:
                own, none = places % count, np.zeros_like(places)
                first = scales[none] * drawing.laplace(a, 0, own)
                more = first + scales[none + 1] * drawing.laplace(a, 2 * count, own)
                return a.where((places < count) | alike[own], first, more)

            return at

        return drawing.draw_array(values, 4 * count, 2 * count)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, 2 K); the generator goes on as if the narrower noise alone were drawn."""
        first = KNormNoise.equal(self.components, self.narrow).simulate(generator, draws)
        others = generator.spawn(1)[0]
        more = self.wider.simulate(others, draws)
        alike = others.random(more.shape) < (self.narrow / self.wide) ** 2
        return np.concatenate([first, first + np.where(alike, 0.0, more)], axis=1)


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
        errors = np.zeros((draws, self.components))
        for weight in self.weights:
            errors += weight * self.one.simulate(generator, draws)
        return errors

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
