"""Products of pairs of linear functions beside the functions themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.records.features.linear import LinearFeatures

# Of a record's squared length, for its products: on public data, docs/appendix/kernel_machines.md.
SHARE = 0.35


def quadratic_count(linear: int) -> int:
    """Number of features that are so many linear functions and their products."""
    return linear * (linear + 3) // 2


@dataclass(frozen=True, eq=False)
class QuadraticFeatures:
    """Linear features u, taken to length one, beside all products u_i u_j.

    They are ((1 - share)^(1/2) u, share^(1/2) (u_i^2, 2^(1/2) u_i u_j for i < j)), of length one. Their
    kernel is (1 - share) u . v + share (u . v)^2. With a constant among the u, every quadratic function
    of the inputs is a sum of them, up to a factor that is positive.

    Parameters
    ----------
    linear : LinearFeatures
        Public.
    share : float
        Public part of the squared length that products have, between 0 and 1.

    Examples
    --------
    >>> features = QuadraticFeatures(LinearFeatures.of_waves(2))
    >>> features.components, float(np.round(np.sum(features.values(np.ones((1, 2))) ** 2), 12))
    (9, 1.0)
    """

    linear: LinearFeatures
    share: float = SHARE

    def __post_init__(self) -> None:
        if not 0.0 < self.share < 1.0:
            raise ParameterError("share", "lie between 0 and 1", repr(self.share))

    @classmethod
    def of_waves(cls, inputs: int, components: int, share: float = SHARE) -> QuadraticFeatures:
        """Columns, or the slowest cosines over them: at most `components` features, or five."""
        linear = max((math.isqrt(8 * components + 9) - 3) // 2, 2)
        return cls(LinearFeatures.of_waves(inputs, linear), share)

    @property
    def inputs(self) -> int:
        return self.linear.inputs

    @property
    def components(self) -> int:
        return quadratic_count(self.linear.components)

    def values(self, points: Floats) -> Floats:
        columns = self.linear.values(points).T
        square = np.zeros(points.shape[0])
        # One after another: no row's last bit depends on how many rows there are.
        for column in columns:
            square += column * column
        columns = columns / np.where(square > 0, np.sqrt(square), 1.0)
        first, second = np.triu_indices(len(columns))
        products = columns[first] * columns[second]
        weights = math.sqrt(self.share) * np.where(first == second, 1.0, math.sqrt(2.0))
        parts = [math.sqrt(1 - self.share) * columns, weights[:, None] * products]
        return np.ascontiguousarray(np.vstack(parts).T)

    def describe(self) -> str:
        return f"{self.linear.describe()}, taken to length one; and their products"

    def to_json(self) -> dict[str, object]:
        return {"kind": "quadratic", "linear": self.linear.to_json(), "share": self.share}
