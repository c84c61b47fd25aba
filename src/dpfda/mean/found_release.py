"""Releases of means between bounds that were looked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar

import numpy as np

from dpfda.mean.staged_release import FIRST, RADIUS, HeldCloser
from dpfda.mechanisms.design.radii import moved_by_bounds, moved_by_cutting
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import UNIT
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import reals
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import loss_of
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, Limits, Variance
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.promise import AddedNoise

# Stages that are paid for.
SEARCH = "width of an interval", "place of the interval", "histogram of extremes", FIRST, RADIUS
BETWEEN = "mean between the bounds found"
# A far cell may have about so many scales of the noise and not be told from it.
UNSEEN = 7.0
# Words.
WHOLE = "the mean of these curves, with what was cut off"
HELD = (
    ". Measured on 86 sets of curves, the band for 95% held the mean in 95 of 100 releases from 5,000 "
    "units times epsilon on, and in 91 at 2,000: not where few units lie far from all others"
)
OPEN = "How far these data are from a wider population is not included."


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

    def counted(self, count: float) -> tuple[Floats, Floats, float]:
        """Edges of the cells, shares of the extremes in them, and the scale of the noise on these."""
        return np.array(self.edges), self.shares(count), self.scale(count)


@dataclass(frozen=True, eq=False)
class FoundMean(HeldCloser):
    """A mean curve between bounds that were looked for in a wide range, held close to a rough line.

    Its bound is the one that was found. The certificate is that of search and mean together. The band
    allows for what was cut off, as far as the noisy histograms tell it; that of the noise does not, nor
    that of a derivative. Files of earlier versions have no rough line.

    Parameters
    ----------
    extremes : Extremes
        The range that was searched, and the noisy histogram from which the bounds follow.
    apart : Extremes, optional
        Where the farthest points below and above the rough line lie, with noise; its interval says how
        far from the line records were held: (below, above).
        The others: see `ReleasedFunction`.
    """

    _FORMAT: ClassVar[str] = "dpfda-found-mean"
    _CALLED: ClassVar[str] = "released mean between bounds looked for"
    _LOOK: ClassVar[str] = BETWEEN

    _: KW_ONLY
    extremes: Extremes = field(metadata=file.itself(Extremes.from_json).kept)
    apart: Extremes | None = field(default=None, metadata=file.itself(Extremes.from_json).or_absent.kept)

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.found
        if not self.extremes.searched[0] <= low < high <= self.extremes.searched[1]:
            raise ParameterError("extremes", "have been searched where the bounds are", "elsewhere")
        if len({part is None for part in (self.first, self.closer, self.apart)}) > 1:
            raise ParameterError("apart", "go with a rough line and closer bounds", "none of them")

    @property
    def found(self) -> tuple[float, float]:
        """The bounds that were found."""
        if self._limits is None:
            raise ParameterError("bounds", "be on values", "others")
        return float(np.min(self._limits[0])), float(np.max(self._limits[1]))

    @property
    def beyond(self) -> float:
        """About what share of lowest and highest values was cut off, by the noisy histograms."""
        shares = self.extremes.beyond(*self.found, self.count)
        if (apart := self.apart) is not None:
            shares += apart.beyond(-apart.interval[0], apart.interval[1], self.count)
        return min(shares, 1.0)

    @property
    def moved(self) -> Floats:
        """What cutting off may have moved the mean by, down and up (2,), as the band allows for.

        Where the distance of the line from the mean between the bounds was measured, beyond these.
        """
        cut = moved_by_bounds(*self.extremes.counted(self.count), self.found, *self.extremes.interval)
        if self.distance is not None or self.apart is None:
            return np.array(cut)
        below, above = self.apart.interval
        near = moved_by_cutting(*self.apart.counted(self.count), (-below, above))
        return np.array(cut) + near

    def _offsets(self, asked: Asked) -> list[Limits]:
        # Cells tell of records as they were held.
        return super()._offsets(asked) if self.distance is None else [self._by_distance(asked)]

    @property
    def _is_proved(self) -> bool:
        return False

    def _around(self, at: Floats, asked: Asked) -> Band:
        band = super()._around(at, asked)
        return self._with_cut(band) if asked.of == "sample" else band

    def _around_population(self, at: Floats, asked: Asked, variance: Variance | None) -> Band:
        return self._with_cut(super()._around_population(at, asked, variance))

    def _with_cut(self, band: Band) -> Band:
        """A band for a mean of records as they were held, made one for the mean of the records."""
        if self.order:
            return band
        (low, high), (down, up) = self.extremes.searched, self.moved
        lower, upper = np.maximum(band.lower - down, low), np.minimum(band.upper + up, high)
        return replace(band, lower=lower, upper=upper)

    # Its file.

    def _stated_bound(self) -> Mapping[str, object]:
        return {**super()._stated_bound(), "description": looked_for(*self.extremes.searched)}

    def _added_noise(self) -> list[AddedNoise]:
        moved = self.neighbours.differences(UNIT)
        noises = [AddedNoise(self.extremes.noise, "l1", moved, -2 if self.apart is None else -4)]
        if self.apart is not None:
            noises.append(AddedNoise(self.apart.noise, "l1", moved, -2))
        return [*noises, *super()._added_noise()]

    def _checked(self) -> None:
        super()._checked()
        if self.apart is not None:
            low, high = self.found
            self._check_apart(*(reach / (high - low) for reach in self.apart.interval))

    @classmethod
    def _charged(cls, written: Mapping[str, object], fields: file.Held) -> Certificate:
        certificate = super()._charged(written, fields)
        # Nor of a line of which nothing is known before its bounds are found.
        unknown = [*certificate.costs[:2], *certificate.costs[3:-2]]
        if any(cost.loss != loss_of(cost.guarantee) for cost in unknown):
            raise ValueError("of a choice no more is known than its guarantee")
        return certificate

    # Words.

    def _stated(self) -> Stated:
        own, (low, high) = super()._stated(), self.extremes.searched
        search = (
            f"Its bounds were looked for between {low:g} and {high:g}, from a noisy histogram of "
            "lowest and highest values. The promise is for all of it together."
        )
        if self.apart is not None:
            below, above = self.apart.interval
            search += (
                f" Records were held between {below:.3g} below and {above:.3g} above a rough line that "
                "was released first."
            )
        return replace(own, what=f"{own.what} {search}")

    def _bounded(self) -> list[str]:
        rules = super()._bounded()[:1]
        if self.apart is not None:
            below, above = self.apart.interval
            rules.append(
                f"Values more than {below:.3g} below or {above:.3g} above the rough line were moved "
                "there."
            )
        rules.append(
            f"The bounds follow from what was released alone. About {100 * self.beyond:.2g} % of the "
            "lowest and highest values were cut off."
        )
        return rules

    def _claims(self) -> tuple[Claim, ...]:
        mean, *others = super()._claims()
        return mean if self.order else replace(mean, holds=WHOLE, seen=HELD), *others

    def _remarks(self) -> list[str]:
        if self.order:
            return super()._remarks()
        (down, up), share = self.moved, 200 * UNSEEN * self.extremes.scale(self.count)
        return [
            f"What was cut off is allowed for as far as the noisy histograms tell it: by {down:.3g} "
            f"below and {up:.3g} above. They cannot tell of a part of less than about {share:.2g} % "
            "that lies far from all others: it may move the mean by its share of that distance.",
            OPEN,
        ]
