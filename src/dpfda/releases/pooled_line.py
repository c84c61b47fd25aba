"""The line of a pooled mean: noisy shares of times and values, and the curve estimated from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.cells import CellGrid
from dpfda.estimates.pooled import CORNERS, PooledMean
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, Limits, settled
from dpfda.releases.base import LEVEL, Column, Valued
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.shares import NoisyShares, OfShares, used_units
from dpfda.views import Curve, Line

BAND_POINTS = 201
COVERS = "sampling with the variance from the same noisy numbers"


def bound_words(bounds: tuple[float, float], unit: str) -> str:
    """What is bounded, in words."""
    return f"values between {bounds[0]:g} and {bounds[1]:g}, one in all for each {unit}"


@dataclass(frozen=True, eq=False)
class PooledLine(Valued, OfShares):
    """Mean curve of pooled observations; fields as of `ReleasedPooledMean`, which is the kind of it."""

    shares: NoisyShares = field(metadata=file.itself(NoisyShares.from_json).kept)
    domain_range: tuple[float, float] = field(metadata=file.ENDS.kept)
    bounds: tuple[float, float] = field(metadata=file.ENDS.kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    # A pooled mean has no derivatives.
    order: ClassVar[int] = 0
    _axis_units: ClassVar[str] = "units of the data"
    _has_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.shares.noisy) % CORNERS.size or not self.bounds[0] < self.bounds[1]:
            raise ParameterError("shares", "be three a cell, between bounds in order", "others")

    @cached_property
    def cells(self) -> CellGrid:
        """Public cells of times."""
        return CellGrid.regular(len(self.shares.noisy) // CORNERS.size, self.domain_range)

    @cached_property
    def _estimate(self) -> PooledMean:
        shares = self.shares
        unit = 2.0**-shares.exponent / shares.size
        table = shares.counts.reshape(-1, CORNERS.size) / shares.size
        return PooledMean(table, shares.noise, unit, shares.size)

    @property
    def grid_points(self) -> Floats:
        """Points that carry the curve, which is linear between them."""
        return np.asarray(self.domain_range[0] + self._estimate.grid * np.ptp(self.domain_range))

    @property
    def _limits(self) -> Limits:
        """Public bounds of its values."""
        return np.array(self.bounds[0]), np.array(self.bounds[1])

    @property
    def _width(self) -> float:
        return self.bounds[1] - self.bounds[0]

    def _carried(self, values: Floats) -> Callable[[Floats], Floats]:
        """The function that is linear between values at the points of the grid."""
        return lambda at: np.interp(at, self.grid_points, values)

    def _values(self, at: Floats) -> Floats:
        return self._carried(self.bounds[0] + self._width * self._estimate.line)(at)

    def deviation(self, points: ArrayLike) -> float | Floats:
        """Standard deviation of a value at a time, between people and within; noisy as the mean is."""
        return self._at(self._carried(self._width * np.sqrt(self._estimate.variance)), points)

    def observed(self, points: ArrayLike) -> float | Floats:
        """Density of the observation times, per unit of the axis, each unit counting as one."""
        start, length = self.domain_range[0], np.ptp(self.domain_range)
        inside, times = self._estimate.inside, self._estimate.times / length
        return self._at(lambda at: np.interp((at - start) / length, inside, times), points)

    def _around(self, at: Floats, request: Asked) -> Band:
        """Band that is meant to hold the mean of the population.

        Notes
        -----
        Privacy noise and sampling: there is no mean of these people's curves, which nobody has seen
        in whole.

        The variance of sampling is from the same table, at no further cost, and allows for any
        dependence between one unit's observations (`dpfda.estimates.pooled`). How often
        the band holds was measured: `docs/sparse.md`. What the bounds cut off is not in it.
        """
        half = self._width * self._estimate.half_widths(request.level, request.simultaneous)
        values, reach = self._values(at), np.interp(at, self.grid_points, half)
        band = Band(at, values - reach, values + reach, request.level, request.simultaneous, COVERS)
        return settled(band, values, self._limits)

    def _stated_bound(self) -> dict[str, object]:
        return {"description": bound_words(self.bounds, self.unit)}

    # Tables, pictures and words.

    def _band_points(self) -> Floats:
        return np.linspace(*self.domain_range, BAND_POINTS)[:, None]

    def _columns(self, at: Floats, request: Asked) -> dict[str, Column]:
        columns = super()._columns(at, request)
        density = (
            np.asarray(self.observed(at[:, 0])),
            "density of the observation times, per unit of the axis",
        )
        return {**columns, "observed": density}

    def view(self, level: float | None = LEVEL) -> Curve:
        at = self._band_points()[:, 0]
        foot = Line(at, np.asarray(self.observed(at)), "where observations are (density, not to scale)")
        return self._curve([self._line("pooled mean", level)], foot=foot)

    @property
    def count(self) -> float:
        """Number of units: the public one, or the noisy one."""
        return self.shares.size

    def _claims(self) -> tuple[Claim, ...]:
        holds = f"the mean of the population that these {several(self.unit)} were drawn from"
        units = str(self.about.get("value", "units of the data"))
        return (Claim("population", holds, units, legend="the population's mean", among="samples"),)

    def _stated(self) -> Stated:
        unit, lower, upper = self.unit, *self.bounds
        noise = self.shares.noise.describe().replace("coefficient", "cell")
        return Stated(
            f"The mean curve over {self._spoken_domain}, and where it was observed. Every {unit} was "
            "observed at times of their own; all observations are pooled, and no curve is made up "
            f"between them: each {unit} counts as one, spread over their observations. Random noise "
            f"was added to the number of {several(unit)} in each cell of times and values.",
            noised=False,
            public=[f"the domain: {self._spoken_domain}; what was observed elsewhere is left out"],
            noise=f"{self.cells.describe()}, each in three parts by value, {noise}",
            units=used_units(self),
            bounded=[
                f"Values below {lower:g} or above {upper:g} count as these ends. The mean is that of "
                "the values so cut."
            ],
            remarks=[
                "The noise and the sampling are in it, the variance of sampling being taken from the "
                "same noisy numbers. Where few were observed it is wide: there the curve says what the "
                "rest of it makes likely. It is assumed that when somebody was observed says nothing of "
                "how high their curve is, and that the mean changes little within a cell of times."
            ],
            findings={"estimate": "pooled over all observations, each unit counting as one"},
        )

    def _lines(self) -> dict[str, str]:
        return {"cells": self.cells.describe()}
