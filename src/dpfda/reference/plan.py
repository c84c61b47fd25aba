"""The plan of a reference band: how units are split, the shares of epsilon, and the threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import ValueBounds
from dpfda.mechanisms import COUNT_SCALE
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import several
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP
from dpfda.publication import MeanPlan, Plan, check
from dpfda.reference.threshold import FirstAbove

# Of the units, those from which centre and widths are made.
FIRST = Fraction(11, 20)
# Shares of epsilon on these: centre, largest deviation, widths, first radius. Widths that follow the
# spread cost more than they save where n epsilon is less.
FOLLOWING = (Fraction(12, 20), Fraction(3, 40), Fraction(5, 20), Fraction(3, 40))
CONSTANT = (Fraction(17, 20), Fraction(0), Fraction(0), Fraction(3, 20))
WORTH = 1000.0
# Largest deviations are exceeded by about so many of the first units.
KEPT = 0.97
# Rough candidates lie a quarter apart, fine ones around the first radius closer.
ROUGH, LEAST = 1.25, 24
FINE, REACH = 1.02, 18
COARSE = 11
# Noise on the pilot's threshold is hardly ever larger than so many of its scales.
UNLIKELY = 4


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
            If there are too few units for the coverage.
        """
        _ = self.threshold, self.pilot.achieved, self.last.achieved
        check(self.centre)
        if self.follows:
            check(self.widths(1.0))

    @property
    def first(self) -> int:
        """Number of units from which centre and widths are made."""
        return round(FIRST * self.size)

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
        """Of epsilon: centre, largest deviation, widths, first radius."""
        chosen = FOLLOWING if self.follows else CONSTANT
        return tuple(PureDP(self.guarantee.epsilon * share) for share in chosen if share)

    @cached_property
    def centre(self) -> MeanPlan:
        """Of the curve in the middle."""
        return self._mean(self.bound, self.shares[0], "mean curve")

    def widths(self, largest: float) -> MeanPlan:
        """Of the mean absolute deviation from the middle, clipped to a largest one that was released."""
        return self._mean(ValueBounds(0.0, largest), self.shares[2], "mean absolute deviation")

    def _mean(self, bound: ValueBounds, part: Guarantee, summary: str) -> MeanPlan:
        about = {**self.about, "summary": summary}
        return MeanPlan.of(
            self.basis, bound, part, self.neighbours, "auto", self.first, self.unit, about
        )

    @cached_property
    def pilot(self) -> FirstAbove:
        """How rough radii of the first units are chosen."""
        return FirstAbove(LEAST, PureDP(self.shares[-1].epsilon))  # type: ignore[union-attr]

    @cached_property
    def last(self) -> FirstAbove:
        """How the radius is chosen."""
        return FirstAbove(2 * (REACH + COARSE), self.guarantee)

    @cached_property
    def threshold(self) -> float:
        """What noisy numbers of the second units below a radius are compared with.

        With it the share of new units inside is at least the coverage: see `FirstAbove.least_below`.
        """
        wanted = self.coverage * (self.second + 1)
        made = self.last.threshold_for(wanted, self.second) if wanted < self.second else None
        if made is None:
            raise ParameterError(
                "coverage",
                f"be lower for {self.size} {several(self.unit)} at this epsilon",
                f"{self.coverage:g}",
                "Or take more of them, or a larger epsilon.",
            )
        return made

    def rough(self, largest: float) -> Floats:
        """Candidates of the pilot, increasing to the largest that can be."""
        return np.asarray(largest * ROUGH ** np.arange(1.0 - LEAST, 1.0))

    def fine(self, around: float, largest: float) -> Floats:
        """Candidates of the radius: close around a first one, and far apart below and above."""
        close = around * FINE ** np.arange(-REACH, REACH)
        below = close[0] * ROUGH ** np.arange(-COARSE, 0)
        above = np.geomspace(min(close[-1], largest), largest, COARSE + 1)[1:]
        return np.asarray(np.minimum(np.concatenate([below, close, above]), largest))

    def kept(self, share: float) -> float:
        """Threshold of the pilot for a share of the first units, if noise leaves room above it."""
        scale = self.pilot.threshold.scales[0] / COUNT_SCALE
        return max(self.first / 2, min(share * self.first, self.first - UNLIKELY * scale))

    @property
    def largest(self) -> float:
        """The largest distance between two curves within the bounds."""
        lower, upper = self.bound.curves_on(flat_grid(self.basis))
        return float(np.max(upper - lower))

    # What is said of it.

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
