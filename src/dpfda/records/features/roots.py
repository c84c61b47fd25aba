"""Features of roots of inputs: of columns with many small values, such as counts and amounts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import length, shown
from dpfda.records.features.inputs import FeatureMap

# By the number of square roots, which IEEE 754 rounds correctly: no bit of a row depends on others.
POWERS = {0.5: 1, 0.25: 2, 0.125: 3, 0.0625: 4}


@dataclass(frozen=True, eq=False)
class RootFeatures:
    """A feature map of inputs that are first raised to a public power, on the unit interval.

    Parameters
    ----------
    features : feature map
        Public.
    power : {0.5, 0.25, 0.125, 0.0625}

    Examples
    --------
    >>> from dpfda.records.features import LinearFeatures
    >>> linear = LinearFeatures.of_waves(2)
    >>> points = np.array([[0.0625, 1.0]])
    >>> bool(np.all(RootFeatures(linear, 0.25).values(points) == linear.values(points**0.25)))
    True
    """

    features: FeatureMap
    power: float

    def __post_init__(self) -> None:
        if length(self.power, "power") not in POWERS:
            raise ParameterError("power", f"be one of {', '.join(map(str, POWERS))}", shown(self.power))

    @property
    def inputs(self) -> int:
        return self.features.inputs

    @property
    def components(self) -> int:
        return self.features.components

    def values(self, points: Floats) -> Floats:
        for _ in range(POWERS[self.power]):
            points = np.sqrt(points)
        return self.features.values(points)

    def describe(self) -> str:
        return f"{self.features.describe()}; of inputs to the power {self.power:g}"

    def to_json(self) -> dict[str, object]:
        return {"kind": "roots", "power": self.power, "features": self.features.to_json()}
