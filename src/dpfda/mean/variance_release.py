"""The release of a mean and of the variance function around it, each for a share of one budget."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import known
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, Variance
from dpfda.releases.facts import Stated
from dpfda.releases.function import ReleasedFunction

# Stages that are paid for.
MEAN, VARIANCE = "mean", "variance"
RELEASED = "sampling with the variance function that was released beside it"
# The variance is taken from the upper end of a pointwise band of this level.
LEVEL = 0.9


@dataclass(frozen=True, eq=False)
class MeanAndVariance(ReleasedFunction):
    """A mean curve between bounds, with the mean of its records' squared distances from their middle.

    Values, bands and coefficients are those of the mean; `variance` is made of both. The certificate is
    that of both together.

    Parameters
    ----------
    squares : ReleasedFunction
        Mean of ((x - middle) / half-width of the bounds)^2, between 0 and 1.
        The others: see `ReleasedFunction`.
    """

    _FORMAT: ClassVar[str] = "dpfda-mean-and-variance"
    _CALLED: ClassVar[str] = "released mean and variance"

    _: KW_ONLY
    squares: ReleasedFunction = field(metadata=file.part(ReleasedFunction).kept)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._limits is None:
            raise ParameterError("release", "have bounds on values", "none")

    def variance(self, points: ArrayLike, level: float | None = None) -> float | Floats:
        """Variance of a unit's clipped value at points, in squared units of the data.

        Parameters
        ----------
        points : float or array (k,)
        level : float, optional
            Of the pointwise band of the mean square whose upper end is taken, at least .9; by default
            its line.
        """
        return self._at(lambda at: self._variance(at, level), points)

    def _variance(self, at: Floats, level: float | None) -> Floats:
        # `__post_init__` requires bounds on values.
        lower, upper = known(self._limits_at(at))
        squares = self.squares(at) if level is None else self.squares.band(level, False, at).upper
        line = np.asarray(replace(self, order=0)(at))
        variance = squares * (upper - lower) ** 2 / 4 - (line - (lower + upper) / 2) ** 2
        return np.clip(variance, 0.0, (upper - line) * (line - lower))

    def _around_population(self, at: Floats, asked: Asked, variance: Variance | None) -> Band:
        if variance is not None:
            return super()._around_population(at, asked, variance)
        band = super()._around_population(at, asked, lambda at: np.asarray(self.variance(at, LEVEL)))
        return replace(band, covers=RELEASED)

    # Words.

    def _stated(self) -> Stated:
        own = super()._stated()
        more = (
            "With it, for a share of the same promise, the variance of the records around it was "
            "released: the band for the population (of='population') uses it."
        )
        return replace(own, what=f"{own.what} {more}")

    def _lines(self) -> dict[str, str]:
        return super()._lines() | {"variance": f"{self.squares.guarantee}"}
