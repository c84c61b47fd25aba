"""The plan of a reference band: how units are split, the shares of epsilon, and the threshold.

The least of increasing candidates that enough units do not exceed: comparisons from the largest down.

Each unit has a private number s, and C(r) of n units have s <= r. A threshold T is lowered by noise
once, and the counts at .. > r_2 > r_1, each lowered by noise of its own, are compared with it one after
the other; the last candidate that is no smaller before one is smaller is published. Proof of the
guarantee and of how many units lie below: the page on reference bands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import ClassVar

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import ValueBounds
from dpfda.mechanisms import COUNT_SCALE
from dpfda.mechanisms.design.lines import number_of_cells
from dpfda.noise import KNormNoise, knorm_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import several
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, added
from dpfda.publication import MeanPlan, Plan, check, recomputed

# Share of epsilon for the noise on the threshold, which moves all comparisons alike.
SHARE = Fraction(3, 10)
# Units by which noise that is rounded to the grid may be off: far less.
SLACK = 1e-3


@dataclass(frozen=True)
class LastHeld:
    """The law of a choice among candidates. Public.

    candidates: How many there are, at least two.
    part: What the choice may cost, where one unit moves all counts up, or all down, by one at most.
    """

    candidates: int
    part: PureDP

    @cached_property
    def threshold(self) -> KNormNoise:
        """Law of which the size is taken off the threshold."""
        return knorm_noise((1,), np.ones(1), "l1", COUNT_SCALE, PureDP(self.part.epsilon * SHARE))

    @cached_property
    def counted(self) -> KNormNoise:
        """Law of which sizes are taken off the counts at all candidates but the last."""
        count = self.candidates - 1
        part = PureDP(self.part.epsilon * (1 - SHARE))
        return knorm_noise((1,) * count, np.ones(count), "l1", COUNT_SCALE, part)

    @property
    def achieved(self) -> Guarantee:
        """What the noise in force gives."""
        shares = ((self.threshold, SHARE), (self.counted, 1 - SHARE))
        return added(
            [
                recomputed(law, "l1", COUNT_SCALE, PureDP(self.part.epsilon * part))
                for law, part in shares
            ]
        )

    def choose(self, numbers: Floats, candidates: Floats, threshold: float) -> int:
        """Which candidate is published; the ledger has been charged.

        numbers: array (n,). One a unit, infinite where a unit lies below no candidate. Private.
        candidates: array (candidates,). Increasing. Public, or released.
        threshold: In units. Public.
        """
        counts = np.searchsorted(np.sort(numbers), candidates[:-1], side="right")
        exact = IntegerSum(counts.size).add_totals((counts * COUNT_SCALE).tolist(), numbers.size)
        noisy = exact.with_noise([-abs(size) for size in self.counted.draw()])
        least = round(threshold * COUNT_SCALE) - abs(self.threshold.draw()[0])
        smaller = (place + 1 for place in reversed(range(counts.size)) if noisy[place] < least)
        return next(smaller, 0)

    # What is known of how many units lie below.

    def threshold_for(self, expected: float, units: int) -> float:
        """A threshold with that many of the units below the published candidate at least, on average.

        They are T less the noise on it, and what noise on counts leaves above that, whatever the data.
        """
        lowered = expected + self.threshold.scales[0] / COUNT_SCALE + SLACK
        return lowered - self.scale * left_above((units - lowered) / self.scale)

    @property
    def scale(self) -> float:
        """Mean size, in units, of the noise on a count."""
        return float(self.counted.scales[0] / COUNT_SCALE)

    def stopped(self, room: float) -> float:
        """Chance that a candidate stops which has `room` units more than the threshold."""
        return float(SHARE) * math.exp(-max(room, 0.0) / self.scale)


# Scales of noise on a count between which what is left above is tabulated, and up to which.
STEP, FARTHEST = 0.01, 12.0


def left_above(start: float) -> float:
    """Least mean of what is left above the lowered threshold where a choice ends, in scales of a count.

    start: How far the first count is above it, at least.
    """
    return float(_left()[int(np.clip(start, 0.0, FARTHEST) / STEP)])


@cache
def _left() -> Floats:
    """The same for all starts, from below: whatever the counts, they fall from one start to another."""
    starts = STEP * np.arange(FARTHEST / STEP + 1)
    stops, left = np.exp(-starts), np.zeros(starts.size)
    for place in range(1, starts.size):
        # The choice stops here at the next count with at least that chance, or goes on from there.
        others = left[:place]
        left[place] = np.min(others + (starts[place] - others) * stops[1 : place + 1])
    return left


# Of the units, those from which the centre is made, and widths where they follow the spread.
FIRST = {False: Fraction(11, 20), True: Fraction(3, 4)}
# And where fewer units times epsilon than so many may lie beyond the band.
BEYOND, CLOSE = 80.0, Fraction(13, 20)
# Shares of epsilon on these: centre, largest deviation, what the centre is off, widths. Widths that
# follow the spread cost more than they save where n epsilon is less.
FOLLOWING = Fraction(5, 20), Fraction(1, 20), Fraction(9, 20), Fraction(5, 20)
CONSTANT = (Fraction(1),)
WORTH = 1000.0
# Largest deviations are exceeded by about so many of the first units; rough candidates lie a quarter
# apart, and noise on their counts is hardly ever larger than so many of its scales.
KEPT, ROUGH, LEAST, UNLIKELY = 0.97, 1.25, 24, 7
# The radius is one of so many candidates, as many as noise alone stops at with at most the chance. They
# reach down to the noise of a centre, a part of the largest that falls as n epsilon grows, and lie no
# closer than so many to e times as far.
CLOSEST, CHANCE, FINEST, REACH = 50.0, 0.01, 1000.0, 3.0


@dataclass(frozen=True, eq=False, repr=False)
class ReferencePlan(Plan):
    """Plan of a reference band.

    Parameters
    ----------
    basis : Basis
        On the public grid.
    bound : ValueBounds
    coverage : float
    guarantee : PureDP
    size : int
        Number of units.
    unit : str
    about : mapping
    """

    basis: Basis
    bound: ValueBounds
    coverage: float
    guarantee: PureDP
    size: int
    unit: str
    about: Mapping[str, object]
    neighbours = Neighbours.REPLACE_ONE
    tuning: ClassVar[Mapping[str, object]] = {"name": "split conformal"}

    def check(self) -> None:
        """Refuse before the charge what can be refused.

        Raises
        ------
        ParameterError
            If there are too few units for the coverage, or bounds are too near or too far.
        """
        _ = self.threshold, self.last.achieved
        check(self.centre)
        if self.follows:
            _ = self.pilot.achieved
            for end in self.rough(self.largest)[[0, -1]].tolist():
                check(self.closer(end))
                check(self.widths(end))

    @property
    def first(self) -> int:
        """Number of units from which centre and widths are made."""
        beyond = self.size * float(self.guarantee.epsilon) * (1 - self.coverage)
        return round((CLOSE if self.follows and beyond < BEYOND else FIRST[self.follows]) * self.size)

    @property
    def second(self) -> int:
        """Number of units from which the radius is made."""
        return self.size - self.first

    @property
    def follows(self) -> bool:
        """Whether widths follow the spread."""
        return self.size * float(self.guarantee.epsilon) >= WORTH

    @property
    def shares(self) -> tuple[Guarantee, ...]:
        """Of epsilon: centre and, where widths follow, largest deviation, a closer centre, widths."""
        chosen = FOLLOWING if self.follows else CONSTANT
        return tuple(PureDP(self.guarantee.epsilon * share) for share in chosen)

    @cached_property
    def centre(self) -> MeanPlan:
        """Of the curve in the middle."""
        return self._mean(self.bound, self.shares[0], "mean curve")

    def closer(self, largest: float) -> MeanPlan:
        """Of the mean deviation from the first centre, clipped to a largest one that was released.

        Cells are as many as one look would have whose noise is as small.
        """
        plan = self._mean(ValueBounds(-largest, largest), self.shares[2], "mean deviation")
        strength = plan.strength(plan.guarantee) * self.largest / 2 / largest
        return plan.on_cells(number_of_cells(flat_grid(self.basis).size, strength))

    def worth(self, largest: float) -> float:
        """Share of that mean which the centre is moved by: as noise in both says."""
        first = self.largest / 2 / float(self.shares[0].epsilon)  # type: ignore[union-attr]
        second = largest / float(self.shares[2].epsilon)  # type: ignore[union-attr]
        return first**2 / (first**2 + second**2)

    def widths(self, largest: float) -> MeanPlan:
        """Of the mean absolute deviation from the middle, clipped alike."""
        return self._mean(ValueBounds(0.0, largest), self.shares[3], "mean absolute deviation")

    def _mean(self, bound: ValueBounds, part: Guarantee, summary: str) -> MeanPlan:
        about = {**self.about, "summary": summary}
        return MeanPlan.of(
            self.basis, bound, part, self.neighbours, "auto", self.first, self.unit, about
        )

    @cached_property
    def pilot(self) -> LastHeld:
        """How the largest deviation of the first units is chosen."""
        return LastHeld(LEAST, PureDP(self.shares[1].epsilon))  # type: ignore[union-attr]

    @cached_property
    def last(self) -> LastHeld:
        """How the radius is chosen."""
        chance = LastHeld(2, self.guarantee).stopped(self.second - self.threshold)
        most = math.log(self.depth) * CLOSEST
        return LastHeld(max(LEAST, int(CHANCE / max(chance, CHANCE / most))), self.guarantee)

    @property
    def depth(self) -> float:
        """The largest candidate of a radius over the smallest."""
        if self.follows:
            return FINEST
        return max(ROUGH, min(FINEST, self.size * float(self.guarantee.epsilon) / REACH))

    @cached_property
    def threshold(self) -> float:
        """What noisy numbers of the second units below a radius are compared with.

        With it the share of new units inside is at least the coverage: see `LastHeld.threshold_for`.
        """
        single = LastHeld(2, self.guarantee)
        threshold = single.threshold_for(self.coverage * (self.second + 1), self.second)
        if self.second - threshold < single.scale:
            words = f"be lower for {self.size} {several(self.unit)} at this epsilon"
            remedy = "Or take more of them, or a larger epsilon."
            raise ParameterError("coverage", words, f"{self.coverage:g}", remedy)
        return threshold

    def rough(self, largest: float) -> Floats:
        """Candidates of the largest deviation, increasing to the largest that can be."""
        return np.asarray(largest * ROUGH ** np.arange(1.0 - LEAST, 1.0))

    def radii(self, largest: float) -> Floats:
        """Candidates of the radius, increasing to the largest that can be."""
        return np.geomspace(largest / self.depth, largest, self.last.candidates)

    @property
    def pilot_threshold(self) -> float:
        """Threshold of the pilot, if noise leaves room above it."""
        room = UNLIKELY * self.pilot.scale
        return max(self.first / 2, min(KEPT * self.first, self.first - room))

    @property
    def largest(self) -> float:
        """The largest distance between two curves within the bounds."""
        lower, upper = self.bound.curves_on(flat_grid(self.basis))
        return float(np.max(upper - lower))

    # Words.

    @property
    def bounded(self) -> dict[str, object]:  # type: ignore[override]
        return {"description": self.bound.describe(), **self.bound.to_json()}

    @property
    def functions(self) -> str:
        return f"a curve and a band around it at {flat_grid(self.basis).size} points"

    def costs(self) -> dict[str, Cost]:
        return {WHOLE: Cost(self.guarantee)}

    @property
    def error_words(self) -> str:
        exceeded = self.threshold / self.second
        return (
            "none can be stated: how wide the band is follows from how far curves lie from their mean. "
            f"It is made to hold {exceeded:.3g} of {self.second} {several(self.unit)}, so that it "
            f"holds at least {self.coverage:g} of new ones on average"
        )

    @property
    def noise_words(self) -> str:
        return (
            f"split conformal: the centre{' and widths' if self.follows else ''} from {self.first} "
            f"{several(self.unit)}, the radius from the other {self.second}; {self.centre.noise_words}"
        )

    def remade(self, guarantee: Guarantee, n: int) -> ReferencePlan:
        assert isinstance(guarantee, PureDP)  # noqa: S101
        return replace(self, guarantee=guarantee, size=n)
