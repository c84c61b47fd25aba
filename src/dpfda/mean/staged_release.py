"""Releases of means whose records were read again: what they share, and those in two looks."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpfda.bases.priors import CurvePrior
from dpfda.bounds import ValueBounds
from dpfda.bounds.stated import bound_from_json
from dpfda.mechanisms.design.lines import distance_sides
from dpfda.mechanisms.design.radii import candidate_radii, moved_at_most
from dpfda.noise import AnyNorm, NoiseLaw, Width
from dpfda.noise.shares import UNIT
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import known, real
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, Limits
from dpfda.releases.distance import DistanceInBox
from dpfda.releases.facts import Stated
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.promise import AddedNoise, same
from dpfda.releases.staged import GUARANTEE, Selection

# Stages that are paid for.
FIRST, RADIUS, LAST = "rough line", "histogram of distances", "closer look"


# A radius is kept where what is found to be cut off is at most so many scales of its noise. In files of
# earlier versions it is each unit's farthest point that was added up, and the band allows for so much of
# that.
TOLERATED, TOLERATED_BEFORE, ALLOWED_BEFORE = 2.0, 1.0, 0.75
# Units of 2^-20 that rounding adds to what a unit moves, at most.
ROUNDED = 8
# Of what a level leaves, the part of a shift; bounds so much nearer than elsewhere; and what rounding of
# records and middles adds to a shift at most, in shares of the largest distance of the bounds.
OF_SHIFT, CLOSE, ROUNDED_OFF = 0.4, 2.0**-8, 2.0**-28
# What is recomputed from a line agrees to this share of the bounds' distance.
AGREED = 1e-6


@dataclass(frozen=True)
class Excess(file.Written):
    """How far the mean moves if records are held at a radius around a line, with noise. Public.

    radius: The radius that was tried.
    reach: Farther from the line is no record; less the radius it is what is cut off of one at most.
    noisy: The sum over units where it is largest, in units of 2^-20, with noise.
    noise: Its law.
    achieved: What that gives.
    tolerated: Up to how many scales of the noise the radius is kept. None in files of earlier versions,
        where each unit was counted with its farthest point.
    """

    radius: float = field(metadata=file.NUMBER.kept)
    reach: float = field(metadata=file.NUMBER.kept)
    noisy: int = field(metadata=file.whole_number().kept)
    noise: NoiseLaw = field(metadata=file.LAW.kept)
    achieved: Guarantee = field(metadata=GUARANTEE.named("guarantee_recomputed").kept)
    tolerated: float | None = field(default=None, metadata=file.NUMBER.or_absent.kept)

    def __post_init__(self) -> None:
        if self.noise.components != 1 or not 0 < self.radius <= 0.5 <= self.reach <= 1:
            raise ParameterError("excess", "be one number, beyond a radius within reach", "others")

    def width(self, neighbours: Neighbours) -> int:
        """By how much one unit moves it at most, or is taken to by what was achieved."""
        before = width_beyond(self.radius, self.reach)
        if self.tolerated is None:
            return before
        # Files of earlier versions took twice as much where a unit comes or goes.
        now, earlier = width_of_shift(self.radius, self.reach, neighbours), before + ROUNDED
        achieved = AddedNoise(self.noise, "l1", earlier).achieved(PureDP(Fraction(1)))
        return earlier if same(achieved, self.achieved) else now

    def average(self, count: float) -> float:
        """Over so many units, in shares of the distance between the bounds."""
        return self.noisy / UNIT / count

    def scale(self, count: float) -> float:
        """Of the Laplace noise on it."""
        return float(np.sqrt(self.noise.variances()[0] / 2)) / UNIT / count

    def small(self, count: float) -> bool:
        """Whether the radius is kept: a public rule."""
        return self.average(count) <= (self.tolerated or TOLERATED_BEFORE) * self.scale(count)

    def moved(self, count: float) -> float:
        """What clipping at the radius may move a mean by, as the band allows for."""
        part = ALLOWED_BEFORE if self.tolerated is None else 1.0
        return part * (max(self.average(count), 0.0) + self.scale(count))

    def at_most(self, level: float, count: float) -> float:
        """What it moves the mean by at most, in shares of the distance between the bounds.

        Its noise is Laplace, which is beyond that on one side with a chance of 1 - level; and one unit
        for its rounding, one for that of the number.
        """
        beyond = self.scale(count) * math.log(0.5 / (1 - level))
        return max(self.average(count) + beyond + 2 / UNIT / count, 0.0)

    def added(self, neighbours: Neighbours) -> AddedNoise:
        """Its noise, which the last stage paid for. A unit moves it by no more than the width."""
        return AddedNoise(self.noise, "l1", self.width(neighbours))


def reach_of(line: Floats, stated: tuple[Floats, Floats], radius: float) -> float:
    """How far a record may be from a line (m,) between bounds, in shares of their distance.

    Not less than what is cut off beyond the radius, below and above together, and the radius: on either
    side that much is kept, or what there is between line and bound.
    """
    low, high = stated
    nearest = float(np.min(np.minimum(line - low, high - line) / (high - low)))
    return 1 - max(0.0, min(nearest, radius))


def width_beyond(radius: float, reach: float) -> int:
    """The farthest that a record lies beyond a radius, in units of 2^-20."""
    return max(1, int(np.floor((reach - radius) * UNIT)))


def width_of_shift(radius: float, reach: float, neighbours: Neighbours) -> int:
    """By how much one unit moves a shift of the mean at most: see `dpfda.mean.radius.RadiusTry`."""
    return math.ceil(neighbours.differences(width_beyond(radius, reach)) / 2) + ROUNDED


@dataclass(frozen=True, eq=False)
class HeldCloser(ReleasedFunction):
    """A mean curve whose records were held between curves around a rough line.

    What was measured are sums of records between these, with the noise that they need; the line is the
    posterior mean given these sums under the public prior between wider bounds.

    Parameters
    ----------
    first : ReleasedFunction, optional
        The rough line.
    closer : ValueBounds, optional
        Curves between which records were held; None where there is nothing but the bounds.
        The others: see `ReleasedFunction`.
    """

    _LOOK: ClassVar[str]

    _: KW_ONLY
    first: ReleasedFunction | None = field(
        default=None, metadata=file.part(ReleasedFunction).or_absent.kept
    )
    closer: ValueBounds | None = field(
        default=None, metadata=file.itself(bound_from_json).or_absent.kept
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.closer is None:
            return
        limits = self._limits
        if not isinstance(self.closer, ValueBounds) or limits is None:
            raise ParameterError("closer", "be bounds on values between others", "none")
        lower, upper = self.closer.curves_on(self.grid_points)
        if not (np.all(limits[0] <= lower) and np.all(upper <= limits[1])):
            raise ParameterError("closer", "be between the stated bounds", "others")

    @property
    def look(self) -> ReleasedFunction:
        """The closer look by itself: a mean of records between the closer bounds."""
        closer, own, prior = known(self.closer), self.certificate, self.hierarchy
        if isinstance(prior, CurvePrior):
            lower, upper = closer.curves_on(self.grid_points)
            prior = replace(prior, lower=lower, upper=upper)
        # The best of several runs has no stages.
        own = own.part(self._LOOK) if self._LOOK in own.stages else own
        return self._as(
            ReleasedFunction,
            certificate=own.fulfilled(own.achieved, bound=closer.to_json()),
            hierarchy=prior,
            center=closer.center_on(self.grid_points),
            distance=None,
        )

    @property
    def unshrunk(self) -> ReleasedFunction:  # type: ignore[override]
        return super().unshrunk if self.closer is None else self.look.unshrunk

    @property
    def _measured(self) -> Floats:
        """What a measurement around the middle of the wider bounds would have shown."""
        if self.closer is None:
            return super()._measured
        moved = self.closer.center_on(self.grid_points) - self.center
        forms = self._curve_model.forms / self._scale
        return super()._measured + forms @ moved

    def _moved(self) -> tuple[AnyNorm, Width] | None:
        return super()._moved() if self.closer is None else self.look._moved()

    def _checked(self) -> None:
        super()._checked()
        if isinstance(distance := self.distance, DistanceInBox):
            # The least of more numbers than stated would be lower than its quantile allows for.
            cells, sides = self.noise.components, len(distance.numbers)
            if sides != distance_sides(cells) or getattr(distance.noise, "whole", 0) != cells + sides:
                raise ValueError("other numbers tell the largest distance than the cells call for")

    def _check_apart(self, below: float, above: float) -> None:
        """Refuse closer bounds that are less far from the rough line: less noise would do for them.

        Lines differ in their last digits between machines. Raises ValueError.
        """
        low, high = self._limits or (self.center, self.center)
        line, room = np.asarray(known(self.first)(self.grid_points)), AGREED * (high - low)
        lower, upper = known(self.closer).curves_on(self.grid_points)
        if np.any(lower > np.maximum(low, line - below * (high - low)) + room) or np.any(
            upper < np.minimum(high, line + above * (high - low)) - room
        ):
            raise ValueError("closer bounds are nearer to the rough line than the radius")


@dataclass(frozen=True, eq=False)
class CloserMean(HeldCloser):
    """A mean curve between bounds whose records were held in closer ones around a rough line.

    What was measured are sums of records between the closer bounds, with the noise that these need. The
    line is the posterior mean given these sums under the public prior between the stated bounds. The
    certificate is that of rough line, histogram and closer look together.

    Parameters
    ----------
    first : ReleasedFunction
        The rough line.
    selection : Selection
        How many units are how far from it, with noise: as shares of the distance between the bounds.
    closer : ValueBounds
        Curves between which records were held; the stated bounds where nothing was to be gained.
    excess : Excess, optional
        What a radius would have cut off; None where none was tried, and in files of earlier versions.
        The others: see `ReleasedFunction`.
    """

    _FORMAT: ClassVar[str] = "dpfda-two-looks"
    _CALLED: ClassVar[str] = "released mean in two looks"
    _LOOK: ClassVar[str] = LAST

    _: KW_ONLY
    first: ReleasedFunction = field(metadata=file.part(ReleasedFunction).kept)
    selection: Selection = field(metadata=file.itself(Selection.from_json).kept)
    closer: ValueBounds = field(metadata=file.itself(bound_from_json).kept)
    excess: Excess | None = field(default=None, metadata=file.itself(Excess.from_json).or_absent.kept)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.closer is None or self.first is None:
            raise ParameterError("closer", "be bounds on values between others", "none")

    @property
    def _radius(self) -> float:
        """In shares of the distance between the bounds."""
        return real(self.certificate.mechanism["radius"], "radius", 0.0, 1.0, "be a share")

    @property
    def clipped(self) -> float:
        """How far holding records in the closer bounds may have moved the mean, as the band allows for.

        In shares of the distance between the bounds. In files of earlier versions from the histogram: a
        quarter of the average excess over the radius and of what noise hides of it.
        """
        chosen, tried = self.selection, self.excess
        if tried is not None:
            return tried.moved(self.count) if tried.small(self.count) else 0.0
        radii = np.array(chosen.radii)
        noise = float(np.sqrt(chosen.noise.variances()[0])) / chosen.scale / self.count
        shares = np.array([float(count) for count in chosen.noisy_counts]) / chosen.scale / self.count
        return float(moved_at_most(radii, shares, noise)[chosen.radii.index(self._radius)])

    @property
    def _is_proved(self) -> bool:
        return self._tells_mean and super()._is_proved

    @property
    def _tells_mean(self) -> bool:
        """Whether the measured distance is that of the mean between the stated bounds."""
        return self.distance is not None or self.excess is not None or not self._is_held

    @property
    def _is_held(self) -> bool:
        """Whether records were held nearer to the line than the bounds are."""
        return self._radius != self.selection.radii[0]

    def _offsets(self, asked: Asked) -> list[Limits]:
        """As of any line; what cells tell is of records as they were held, beside how much that moves.

        If a radius was tried, its shift has its part of what the level leaves, whether the radius is
        kept, which hangs on that noise, or not. The others have the rest, whatever came before.
        """
        if self.excess is None:
            return super()._offsets(asked)
        missed, scale = 1 - asked.level, self._scale
        limits = super()._offsets(replace(asked, level=1 - (1 - OF_SHIFT) * missed))
        if self._is_held and self._tells_points:
            low, high = limits.pop()
            moved = self.excess.at_most(1 - OF_SHIFT * missed, self.count)
            # Where bounds are far nearer than elsewhere their shares were not told so exactly.
            beside = np.where(scale < CLOSE * np.max(scale), 1.0, moved) * scale
            beside += ROUNDED_OFF * np.max(scale)
            limits.append((low - beside, high + beside))
        return limits

    def _mean_band(self, asked: Asked, at: Floats) -> Band:
        band = super()._mean_band(asked, at)
        if self.order or self.distance is not None or (self._tells_mean and self._tells_points):
            return band
        lower, upper = self._limits_at(at) or (0.0, 0.0)
        beside = self.clipped * (np.asarray(upper) - lower)
        return self._settled(replace(band, lower=band.lower - beside, upper=band.upper + beside))

    # Its file.

    def _added_noise(self) -> list[AddedNoise]:
        tried = [] if self.excess is None else [self.excess.added(self.neighbours)]
        return [self.selection.added(self.neighbours), *tried, *super()._added_noise()]

    def _checked(self) -> None:
        super()._checked()
        tried, most = self.excess, self.selection.radii[0]
        # Without a try, as in files of earlier versions, what clipping moves follows from the counts.
        if self.certificate.bound != self.first.certificate.bound or (
            tried is None and self._radius not in self.selection.radii
        ):
            raise ValueError("the looks differ in their bound, or the radius is no candidate")
        if tried is not None and self._radius != (tried.radius if tried.small(self.count) else most):
            raise ValueError("the radius is not the one that its excess allows")
        noises = [(self.selection.achieved, self.selection.added(self.neighbours))]
        noises += [] if tried is None else [(tried.achieved, tried.added(self.neighbours))]
        if not all(same(noise.achieved(PureDP(Fraction(1))), achieved) for achieved, noise in noises):
            raise ValueError("the noise of a stage gives something else")
        self._check_reach()

    def _check_reach(self) -> None:
        """Refuse closer bounds or a reach that are less than follows from the rough line.

        Less noise would do for them. Lines differ in their last digits between machines.

        Raises ValueError.
        """
        self._check_apart(self._radius, self._radius)
        if not np.allclose(self.selection.radii, candidate_radii(0.5), rtol=AGREED, atol=0):
            raise ValueError("the radii are not those that are counted")
        if self.excess is not None:
            low, high = self._limits or (self.center, self.center)
            line = np.asarray(self.first(self.grid_points))
            radius = 0.5 if self.excess.tolerated is None else self.excess.radius
            if self.excess.reach < reach_of(line, (low, high), radius) - AGREED:
                raise ValueError("records lie farther from the rough line than the reach")

    # Words.

    def _stated(self) -> Stated:
        own, share = super()._stated(), self._radius
        two = (
            "It was released in two looks: a rough line and a histogram of the records' distances "
            f"from it, then the mean of the records held within {share:.3g} of the distance between "
            "the bounds from that line. The promise is for all of it together."
        )
        if share == self.selection.radii[0]:
            two = (
                "It was released in two looks: a rough line and a histogram of the records' distances "
                "from it, then the mean of the records between the stated bounds, as nothing nearer was "
                "safe and worth it. The promise is for all of it together."
            )
        return replace(own, what=f"{own.what} {two}")

    def _lines(self) -> dict[str, str]:
        records = f", on records held within {self._radius:.3g} of the range from a rough line"
        if self._radius == self.selection.radii[0]:
            records = ", on records between the stated bounds"
        own = super()._lines()
        return own | {"mechanism": own["mechanism"] + records, "first look": f"{self.first.guarantee}"}
