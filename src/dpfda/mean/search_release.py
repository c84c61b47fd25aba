"""The release of a mean between bounds that were looked for: range, histogram, bounds and mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar

import numpy as np

from dpfda.noise import NoiseLaw
from dpfda.noise.shares import UNIT
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import reals
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import loss_of
from dpfda.releases import entries as file
from dpfda.releases.costs import certified
from dpfda.releases.facts import Stated
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.promise import AddedNoise

# Stages that are paid for.
SEARCH = "width of an interval", "place of the interval", "histogram of extremes"
LAST = "mean between the bounds found"


def looked_for(low: float, high: float) -> str:
    """What the bound is, before it is known and after."""
    return f"values clipped to bounds that were looked for between {low:g} and {high:g}"


@dataclass(frozen=True)
class Extremes(file.Written):
    """Where units' lowest and highest values lie: a chosen interval, and a noisy histogram. Public.

    searched: Ends of the range.
    interval: Middle and half of the length.
    edges: Of the cells.
    noisy_shares: Of the cells, summed over units, in units of 2^-20, with noise.
    noise: Its law.
    """

    searched: tuple[float, float] = field(metadata=file.NUMBERS.kept)
    interval: tuple[float, float] = field(metadata=file.NUMBERS.kept)
    edges: tuple[float, ...] = field(metadata=file.NUMBERS.kept)
    noisy_shares: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    noise: NoiseLaw = field(metadata=file.LAW.kept)

    def __post_init__(self) -> None:
        cells = len(self.noisy_shares)
        if not len(self.edges) - 1 == cells == self.noise.components or len(self.searched) != 2:
            raise ParameterError("noisy_shares", "be one a cell, and have one noise", cells)
        if np.any(np.diff(reals(self.edges, "edges")) <= 0) or len(self.interval) != 2:
            raise ParameterError("edges", "increase, around an interval", "others")
        if (self.edges[0], self.edges[-1]) != self.searched:
            raise ParameterError("edges", "end where the range does", "others")

    def shares(self, count: float) -> Floats:
        """Of the extremes in each cell, with noise."""
        return np.array([float(share) for share in self.noisy_shares]) / UNIT / count

    def scale(self, count: float) -> float:
        """Of the Laplace noise on a share."""
        return float(np.sqrt(self.noise.variances()[0] / 2)) / UNIT / count

    def beyond(self, low: float, high: float, count: float) -> float:
        """Share of the extremes in the cells that lie beyond bounds, with noise; parts in proportion."""
        edges = np.array(self.edges)
        inside = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
        parts = 1 - np.clip(inside / np.diff(edges), 0.0, 1.0)
        return float(np.clip(parts @ self.shares(count), 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class FoundMean(ReleasedFunction):
    """A mean curve between bounds that were looked for in a wide range.

    Its bound is the one that was found. The certificate is that of search and mean together. The band is
    for the mean of the records held in these bounds: what lies beyond them is not in it.

    Parameters
    ----------
    extremes : Extremes
        The range that was searched, and the noisy histogram from which the bounds follow.
        The others: see `ReleasedFunction`.
    """

    FORMAT: ClassVar[str] = "dpfda-found-mean"
    CALLED: ClassVar[str] = "released mean between bounds looked for"

    _: KW_ONLY
    extremes: Extremes = field(metadata=file.itself(Extremes.from_json).kept)

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.found
        if not self.extremes.searched[0] <= low < high <= self.extremes.searched[1]:
            raise ParameterError("extremes", "have been searched where the bounds are", "elsewhere")

    @property
    def found(self) -> tuple[float, float]:
        """The bounds that were found."""
        if self.limits is None:
            raise ParameterError("bounds", "be on values", "others")
        return float(np.min(self.limits[0])), float(np.max(self.limits[1]))

    @property
    def beyond(self) -> float:
        """About what share of lowest and highest values lies beyond, by the noisy histogram."""
        return self.extremes.beyond(*self.found, self.count)

    # Its file.

    def _stated_bound(self) -> Mapping[str, object]:
        return {**super()._stated_bound(), "description": looked_for(*self.extremes.searched)}

    def _added_noise(self) -> list[AddedNoise]:
        histogram = AddedNoise(self.extremes.noise, "l1", self.neighbours.differences(UNIT), -2)
        return [histogram, *super()._added_noise()]

    @classmethod
    def _charged(cls, written: Mapping[str, object], held: file.Held) -> Certificate:
        made = certified(written, laws=[held["extremes"].noise, held["noise"]])
        if any(cost.loss != loss_of(cost.guarantee) for cost in made.costs[:-2]):
            raise ValueError("of a choice no more is known than its guarantee")
        return made

    # Words.

    def _stated(self) -> Stated:
        own, (low, high) = super()._stated(), self.extremes.searched
        search = (
            f"Its bounds were looked for between {low:g} and {high:g}, from a noisy histogram of "
            "lowest and highest values. The promise is for all of it together."
        )
        return replace(own, what=f"{own.what} {search}")

    def _bounded(self) -> list[str]:
        rule, *_ = super()._bounded()
        cut = (
            f"The bounds follow from the noisy histogram alone. About {100 * self.beyond:.2g} % of the "
            "lowest and highest values lie beyond them and were cut off; no band covers what that moved."
        )
        return [rule, cut]
