"""The noise of a released number of units, by which whatever is divided by it is scaled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.noise import NoiseLaw
from dpfda.numerics.arrays import Floats


@dataclass(frozen=True)
class CountNoise:
    """Noise of a count: of its own, or of its own and once more in one law with the sum.

    noise: On one component; with a rough count before, that of the sum, with the count as its last.
    scale: Grid units per unit counted.
    before: Of the rough count that the sum was designed for. The two are averaged by their precision.
    """

    noise: NoiseLaw
    scale: int
    before: CountNoise | None = None

    @property
    def variance(self) -> float:
        """Of this count, without the one before."""
        return float(self.noise.variances()[-1]) / self.scale**2

    @property
    def share(self) -> float:
        """Weight of the count before in the average."""
        return 0.0 if self.before is None else self.variance / (self.variance + self.before.variance)

    def errors(self, generator: np.random.Generator, draws: int, beside: Floats) -> Floats:
        """Simulated errors (draws,) of the average.

        beside: array (draws, 0 or 1). Simulated last coordinate of the noise of the sum, where that is
            the count's.
        """
        if self.before is None:
            return np.asarray(self.noise.simulate(generator, draws)[:, 0] / self.scale)
        own = beside[:, 0] / self.scale
        return np.asarray(own + self.share * (self.before.errors(generator, draws, beside) - own))
