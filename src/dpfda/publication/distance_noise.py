"""The noise that tells how far a line lies from the mean at most, and the budget that it keeps to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from dpfda.noise import BoxPartNoise, NoiseLaw, body_noise, knorm_noise, pure_budget
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, added, largest, without_delta
from dpfda.publication.charging import recomputed
from dpfda.releases.distance import moved, moved_together

# The stage of a release that tells the largest distance of its line with a share of the budget.
DISTANCE = "largest distance"


@dataclass(frozen=True)
class Telling:
    """What may tell how far a line is from the mean at most; by default nothing does. Public.

    asked: Whether sides of the line's own box, or a share of the budget, may, where that pays.
    among: Where it is measured together with those of other groups, the numbers to divide by of all.
    lines: How many lines may have one draw of noise together, each with a share of the budget.
    beside: What numbers that tell it see of noise that one draw puts on several lines.
    """

    asked: bool = False
    among: tuple[int, ...] = ()
    lines: int = 1
    beside: BoxPartNoise | None = None

    @property
    def alone(self) -> Telling:
        """Of one line, or one channel, by itself, whatever other groups there are."""
        return Telling(self.asked, lines=self.lines)


NOTHING = Telling()


@dataclass(frozen=True)
class DistanceNoise:
    """The noise on the largest distance of a line from the mean.

    half: Half of the distance between the bounds where it is largest, in units of sums on the grid.
    law: Laplace noise, that of a box on two numbers of groups, or of sides of the line's own box.
    budget: What it keeps to: a share of the whole, or what the line's own box has.
    in_box: Whether it is of sides of that box.
    """

    half: int
    neighbours: Neighbours
    law: NoiseLaw
    budget: Guarantee
    in_box: bool = False

    @classmethod
    def apart(cls, half: int, neighbours: Neighbours, budget: PureDP, groups: bool) -> Self:
        """With a share of the budget; of groups two numbers tell it."""
        width = moved(half, neighbours)
        if groups:
            return cls(half, neighbours, body_noise("box", (width, width), budget), budget)
        return cls(half, neighbours, knorm_noise((1,), (1.0,), "l1", width, budget), budget)

    @classmethod
    def of_box(cls, half: int, neighbours: Neighbours, budget: Guarantee, line: BoxPartNoise) -> Self:
        """By those sides of a box that a line's part of its noise leaves; no delta is needed."""
        scale = math.ceil(moved(half, neighbours) / pure_budget(without_delta(budget)))
        law = BoxPartNoise((scale,) * (line.whole - line.components), line.whole)
        return cls(half, neighbours, law, budget, in_box=True)

    def costs(self) -> dict[str, Cost]:
        """What it costs beside the line: nothing by sides of its box."""
        if self.in_box:
            return {}
        if isinstance(self.budget, PureDP) and self.law.components == 1:
            return {DISTANCE: Cost(self.budget, LaplaceLoss(self.budget.epsilon))}
        return {DISTANCE: Cost(self.budget)}

    def achieved(self) -> Guarantee:
        """What its scales give. Raises DpfdaError if that is more than its budget."""
        if self.in_box:
            widths = (moved(self.half, self.neighbours),) * self.law.components
            return recomputed(self.law, "box", widths, self.budget)
        return recomputed(
            self.law, *moved_together(self.half, self.neighbours, self.law.components), self.budget
        )

    def with_line(self, achieved: Guarantee) -> Guarantee:
        """What both give together; sides of one box give what the worst of them does."""
        return (largest if self.in_box else added)([self.achieved(), achieved])
