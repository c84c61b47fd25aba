"""Laplace noise on the same numbers twice: the wider is the narrower with more noise on it.

With scales b <= B let L be a Laplace variable of scale b, and W independent: zero with the probability
(b / B)^2, else Laplace of scale B. W has the characteristic function

    b^2 / B^2 + (1 - b^2 / B^2) / (1 + B^2 t^2) = (1 + b^2 t^2) / (1 + B^2 t^2),

and L has 1 / (1 + b^2 t^2): so L + W is Laplace of scale B (Koufogiannis, Han & Pappas 2015, "Gradual
release of sensitive data under differential privacy"). Whoever sees numbers with L and with L + W has
seen a random function of the former, since W says nothing of the data: both cost what L costs alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.noise.blocks import KNormNoise
from dpfda.numerics import drawing
from dpfda.numerics.arrays import Floats
from dpfda.numerics.drawing import Arithmetic, At, Real
from dpfda.numerics.exactness import below


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
