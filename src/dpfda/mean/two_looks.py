"""The mean in two looks: a rough line, then only what the curves do around it.

Bounds on values let a unit move by their whole distance at every point, and noise is in proportion. Most
curves stay near their mean: who knows it roughly clips closer, and pays for that alone.

Mechanisms run one after the other: a rough line (pure e1), a histogram of the largest distances from it
(pure e2), and the mean of records between curves, line minus and plus a radius that is computed from the
noisy counts alone (what is left, and all of delta). Where a radius is worth a try, a part of what is
left (pure e3) first measures how far it would move the mean; where that is not small, the stated bounds
stay.
Last, the largest distance of the line from the mean between the stated bounds may be measured: by sides
of the closer look's box, or with a share that is set aside before (`dpfda.publication.distances`). The
band is by that and by cells and try (`CloserMean`): docs/appendix/two_looks.md.
Each keeps its part whatever those before it published, parts add up to the whole on every way, and the
whole is charged once, before the first noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np

from dpfda.bases.ordinary import Outlook
from dpfda.bases.priors import CurvePrior
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import Search, ValueBounds
from dpfda.mean.radius import RadiusTry, distances
from dpfda.mean.settings import TwoLooks
from dpfda.mean.staged_release import FIRST, LAST, RADIUS, CloserMean, Excess, reach_of
from dpfda.mechanisms import COUNT_SCALE
from dpfda.mechanisms.design import ExpectedError, distance_sides, with_sides
from dpfda.mechanisms.design.expectation import DRAWS
from dpfda.mechanisms.design.lines import number_of_cells
from dpfda.mechanisms.design.radii import residual_radius, share_of_rough, share_of_try
from dpfda.noise import BoxNoise, BoxPartNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import known
from dpfda.numerics.speed import remembered
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, PureDP, added, split
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import (
    EXACT,
    Draw,
    MeanPlan,
    Plan,
    PlanOfMeans,
    charge,
    check,
    pay,
    publish,
    publish_curve,
)
from dpfda.publication.distances import DistanceNoise, with_distance
from dpfda.publication.means import line_and_noise
from dpfda.publication.moments import RadiusChoice
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.staged import Selection
from dpfda.spine.sums import Readable

# Share of the budget for the histogram; and n epsilon from which on there are two looks: below it the
# histogram says too little.
COUNTING, LEAST = Fraction(3, 100), 5000.0
# Cells from which on a side more of their box, for the largest distance, costs little. It is worth more
# of fewer, too, where records are held closer, so that cells alone do not tell the mean.
FEWEST_CELLS = 20
# Units up to which the default has two: beyond, noise is below what sampling leaves at ordinary budgets.
MOST = 500_000
# Errors over ordinary curves at `LEAST`, over those of one look, and the power by which they fall from
# there: as measured on every second set of real curves.
GAINED, FALLING = 0.85, 0.02
# What cells tell of bands is alike in all releases, a try is not: nine of ten are so much wider at most.
WIDER = 1.4
# Neighbouring floats are no farther apart than such a part of a radius.
TOLD = 1e-8
# The largest residual that is told apart, in shares of the distance between the bounds.
HALF = 0.5


class StagedPlan(PlanOfMeans):
    """Plan of a default mean whose records are read once more after what was released of them.

    whole: With the whole budget, between the bounds that were stated.
    """

    whole: MeanPlan

    @property
    def one(self) -> MeanPlan:
        return self.whole

    @property
    def size(self) -> int:  # type: ignore[override]
        """Public number of units, or public divisor."""
        return known(self.whole.size)

    def strength(self, guarantee: Guarantee) -> float:
        """Number of units times epsilon, as under replace-one neighbours."""
        return self.whole.strength(guarantee)

    def with_sides(self, closer: MeanPlan, always: bool = True) -> MeanPlan:
        """A closer look with sides of its box that tell the largest distance, where that is worth it.

        always: Whether records are held nearer than the bounds between which the distance is told.
        """
        design = known(closer.public_design)
        cells = design.components
        alone = self.whole.distance_share is None and isinstance(design.noise, BoxNoise)
        if not alone or not (always or cells >= FEWEST_CELLS):
            return closer
        return replace(closer, drawn=with_sides(design, distance_sides(cells)))


def sides_of(wide: MeanPlan, closer: MeanPlan) -> DistanceNoise | None:
    """What the sides of a closer look see of its noise; None without them.

    wide: Of a mean between the bounds of which they tell the distance.
    """
    law = known(closer.public_design).noise
    if not isinstance(law, BoxPartNoise):
        return None
    return DistanceNoise.of_box(wide.largest_half, wide.neighbours, closer.guarantee, law)


def published(
    summed: IntegerSum,
    sides: DistanceNoise | None,
    closer: MeanPlan,
    own: Certificate,
    draw: Draw = EXACT,
) -> tuple[ReleasedFunction, Sequence[int]]:
    """A closer look at sums that get noise, and the noise on the sides that measure the distance."""
    if sides is None:
        return publish_curve(summed, closer, own, draw), ()
    return line_and_noise(summed, pay(summed, closer, certificate=own), sides, draw)


def may_look(plan: MeanPlan) -> bool:
    """Whether there can be two looks: the default mean between bounds on values, of a public size."""
    between = plan.answers_with_line and plan.on_grid is not None and plan.on_grid.cube is not None
    return between and plan.size is not None


def single(plan: Plan) -> Any:
    """The plan of one look whatever the public numbers, for that of a default which may have two."""
    if isinstance(plan, LooksPlan) and plan.strategy is None:
        return plan.whole
    if isinstance(plan, MeanPlan) and plan.again is not None:
        return replace(plan, again=None)
    return plan


def check_staged(plan: MeanPlan, strategy: TwoLooks | Search) -> None:
    """Refuse what has no stages. Raises ParameterError."""
    if plan.size is None:
        words = "be given under add-remove neighbours: what is planned needs it"
        remedy = "Pass a public number to divide by, or have one look, which releases the count."
        raise ParameterError("public_size", words, "None", remedy)
    if not may_look(plan):
        raise strategy.refusal("anything but the default mean of curves between bounds on values")


@dataclass(frozen=True, eq=False, repr=False)
class LooksPlan(StagedPlan):
    """Plan of a mean in two looks, or in one where n epsilon is small.

    whole: Of one look with the whole budget.
    strategy: As it was given; None where it is the default, which has one look for more than `MOST`.
    """

    whole: MeanPlan
    strategy: TwoLooks | None

    @classmethod
    def of(cls, plan: MeanPlan, strategy: TwoLooks) -> LooksPlan:
        """The plan in two looks for that of one. Raises ParameterError if there cannot be two."""
        check_staged(plan, strategy)
        return cls(plan.measuring, strategy)

    @staticmethod
    def where_it_pays(plan: MeanPlan) -> MeanPlan | LooksPlan:
        """What the default publishes where records can be read again."""
        # A repaired record counts as the middle of the bounds, which in a closer look is another.
        if not may_look(plan) or (plan.reading is not None and plan.reading.invalid != "refuse"):
            return plan
        looks = LooksPlan(plan, None)
        return looks if looks.two_looks else replace(plan, again=LooksPlan.where_it_pays)

    @property
    def two_looks(self) -> bool:
        """Whether there are two: a public rule."""
        few = self.strategy is not None or self.size <= MOST
        return few and self.strength(self.whole.guarantee) >= LEAST

    @cached_property
    def shares(self) -> tuple[PureDP, PureDP, Guarantee]:
        """Of rough line, histogram and closer look, with the largest distance they are the whole."""
        share = Fraction(share_of_rough(self.strength(self.whole.guarantee))).limit_denominator(1000)
        first, rest = split(self.whole.function_guarantee, share)
        counting, last = split(rest, COUNTING / (1 - share))
        return first, counting, last

    @cached_property
    def tried(self) -> tuple[PureDP, Guarantee]:
        """Of a try of a radius, and what it leaves of the closer look's."""
        share = share_of_try(self.strength(self.whole.guarantee))
        return split(self.shares[2], Fraction(share).limit_denominator(1000))

    @cached_property
    def rough(self) -> MeanPlan:
        """Of the rough line."""
        return replace(self.whole.line_alone, guarantee=self.shares[0])

    @cached_property
    def choice(self) -> RadiusChoice:
        """The histogram."""
        return RadiusChoice(HALF, self.shares[1], self.whole.neighbours)

    @property
    def tuning(self) -> Mapping[str, object]:
        return {"name": "two looks"} if self.two_looks else self.whole.tuning

    def entry(self) -> dict[str, object]:
        return super().entry() | ({"summary": "mean curve in two looks"} if self.two_looks else {})

    def costs(self) -> dict[str, Cost]:
        """The costs of all stages; the scales of the last one follow from what comes before."""
        if not self.two_looks:
            return self.whole.costs()
        (rough,) = self.rough.costs().values()
        counting, last = self.shares[1:]
        measured = {} if self.whole.distance is None else self.whole.distance.costs()
        # Of one law, or of two that follow each other, no more is known than their guarantee.
        looks = {FIRST: rough, RADIUS: Cost(counting, LaplaceLoss(counting.epsilon)), LAST: Cost(last)}
        return measured | looks

    @property
    def _extremes(self) -> tuple[Floats, Floats]:
        """The stated bounds, as lines: those of which half of what a radius allows is cut off."""
        stated = known(self.whole.curves)
        return stated.lower, stated.upper

    def check(self) -> None:
        """Design what is known before anything is drawn, so that it is refused before the charge."""
        if not self.two_looks:
            check(self.whole)
            return
        check(self.rough)
        self.choice.noise  # noqa: B018
        if self.whole.distance is not None:
            self.whole.distance.achieved()
        # Of the words about the data nothing hangs.
        _check_closer(LooksPlan(replace(self.whole, about={}), self.strategy))

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> LooksPlan:
        return LooksPlan(self.whole.remade(guarantee, n), self.strategy)

    @property
    def expected_of(self) -> MeanPlan:
        if not self.two_looks:
            return self.whole
        return replace(self.whole.line_alone, guarantee=self.shares[2])

    @property
    def gained(self) -> float:
        """What errors are over ordinary curves, of those of one look with what is left of the budget."""
        strength = self.strength(self.whole.guarantee)
        return GAINED * (LEAST / strength) ** FALLING if self.two_looks else 1.0

    def outlook(self, quick: bool = False) -> Outlook | None:
        # For most, who may fill their bounds, as in one look.
        of_one = self.expected_of.outlook(quick)
        return None if of_one is None else Outlook(of_one.typical * self.gained, of_one.most)

    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        # Most of it is noise on what tells the mean, and on a try: two looks gain nothing there.
        if self.whole.distance is not None:
            return self.whole.outlook_width(level, quick)
        of_one = self.expected_of.outlook_width(level, quick)
        wider = WIDER if self.two_looks else 1.0
        return None if of_one is None else Outlook(of_one.typical, wider * of_one.most)

    def expected_error(self, draws: int = DRAWS) -> ExpectedError | None:
        """As `MeanPlan.expected_error`."""
        expected, square = self.expected_of.expected_error(draws), self.gained**2
        if expected is None:
            return None
        return replace(expected, bias=expected.bias * square, noise=expected.noise * square)

    @property
    def error_words(self) -> str:
        less = "; as much as in one look where they fill their bounds"
        return self.whole.error_words + (less if self.two_looks else "")

    @property
    def noise_words(self) -> str:
        return f"{self.tuning['name']}: {self.expected_of.noise_words}"

    # What is released.

    def radius(self, selection: Selection) -> float:
        """Which radius is worth a try, from noisy counts; the largest where none is."""
        noise = float(np.sqrt(selection.noise.variances()[0])) / COUNT_SCALE / self.size
        shares = np.array([float(count) for count in selection.noisy_counts]) / COUNT_SCALE / self.size
        strengths = self.strength(self.shares[2]), self.strength(self.tried[1])
        return residual_radius(
            self.choice.radii, shares, noise, strengths, self.strength(self.shares[0])
        )

    def tries(self, line: Floats, radius: float) -> RadiusTry:
        """How a radius around a public line (m,) is tried."""
        wide, close = (known(plan.on_grid).rule for plan in (self.whole, self.held(line, radius)))
        reach, part = reach_of(line, self._extremes, radius), self.tried[0]
        return RadiusTry(wide, close, self.size, self.whole.neighbours, radius, reach, part)

    def closer(self, line: Floats, radius: float, part: Guarantee) -> MeanPlan:
        """The plan of the closer look around a public line (m,), at a radius.

        Cells are as many as one look would have whose noise is as small.

        part: What of the budget is left for it.
        """
        plan = replace(self.held(line, radius), guarantee=part)
        strengths = self.strength(part) * HALF / radius, self.strength(self.whole.guarantee)
        plan = plan.on_cells(max(number_of_cells(line.size, strength) for strength in strengths))
        return self.with_sides(plan, radius < HALF)

    def distance(self, closer: MeanPlan) -> DistanceNoise | None:
        """What measures the largest distance: sides of the closer look's box, or a share of its own."""
        own = self.whole.distance
        return sides_of(self.whole, closer) or (None if own is None or own.in_box else own)

    def publish(self, records: Readable, paying: Paying = NAMED) -> ReleasedFunction:
        """Charge for all stages, and release them one after the other."""
        certificate = self.certified()
        self.check()
        if not self.two_looks:
            return cast("ReleasedFunction", publish(records.total(self.whole), self.whole, paying))
        # What is wrong with the records is found before the charge; and the whole budget is charged
        # before the first noise.
        total = records.on_grid(self.whole)
        charge(paying, certificate, self.entry())
        return looked(self, records, total, certificate)

    def held(self, line: Floats, radius: float) -> MeanPlan:
        """The plan of a mean of records at the radius from a line."""
        return replace(self.whole.line_alone, bound=self._around(line, radius))

    def _around(self, line: Floats, radius: float) -> ValueBounds:
        """Curves at the radius from a line, cut at the stated bounds, which stay at the largest one.

        And where floats are too few to tell such curves apart.
        """
        stated = cast("ValueBounds", self.whole.bound)
        low, high = stated.curves_on(flat_grid(self.whole.basis))
        reach = radius * (high - low)
        lower, upper = np.maximum(low, line - reach), np.minimum(high, line + reach)
        coarse = np.spacing(np.maximum(np.abs(low), np.abs(high)))
        distinct = np.all(coarse <= TOLD * reach) and np.all(reach > 1e-90)
        return ValueBounds(lower, upper) if radius < HALF and distinct else ValueBounds(low, high)


@remembered(16)
def _check_closer(plan: LooksPlan) -> None:
    """Check the closer looks around the lines and at the radii that are extreme."""
    for line in plan._extremes:
        least = float(plan.choice.radii[-1])
        plan.tries(line, least).noise  # noqa: B018
        for radius in (HALF, least):
            for part in (plan.shares[2], plan.tried[1]):
                closer = plan.closer(line, radius, part)
                check(closer)
                if (sides := plan.distance(closer)) is not None:
                    sides.achieved()


def looked(
    plan: LooksPlan, records: Readable, total: IntegerSum, certificate: Certificate, draw: Draw = EXACT
) -> CloserMean:
    """Release all stages, which the caller has charged for.

    total: At all points of the grid, between the stated bounds. Private.
    draw: As of `dpfda.publication.publish`.
    """
    first = publish_curve(records.of_grid(total, plan.rough), plan.rough, certificate.part(FIRST), draw)
    line = np.asarray(first(first.grid_points))
    lengths = distances(plan.whole, records, line)
    selection = plan.choice.released(lengths, draw(plan.choice.noise))
    radius, part, excess, sums = plan.radius(selection), plan.shares[2], None, total
    if radius < HALF:
        part, sums = plan.tried[1], records.on_grid(plan.held(line, radius))
        excess = plan.tries(line, radius).released(total, sums, draw)
        if not excess.small(plan.size):
            radius, sums = HALF, total
    closer = plan.closer(line, radius, part)
    summed = records.of_grid(sums, closer)
    sides = plan.distance(closer)
    look, noise = published(summed, sides, closer, certificate.part(LAST), draw)
    mean = assembled(plan, certificate, (first, selection, excess, look), closer, radius)
    if sides is None:
        return mean
    return with_distance(mean, total, plan.whole, sides.law, noise)


def assembled(
    plan: LooksPlan,
    certificate: Certificate,
    released: tuple[ReleasedFunction, Selection, Excess | None, ReleasedFunction],
    closer: MeanPlan,
    radius: float,
) -> CloserMean:
    """The release around the output of all stages; everything in it is public."""
    first, selection, excess, look = released
    design, stated = known(closer.public_design), known(plan.whole.curves)
    bound, prior = cast("ValueBounds", closer.bound), cast("CurvePrior", look.hierarchy)
    tuning = {
        **look.certificate.mechanism,
        "name": "two looks",
        "radius": radius,
        "closer look": design.mechanism,
    }
    tried = [] if excess is None else [excess.achieved]
    # Of a try and a look together no law is known.
    law = Cost(plan.shares[2]) if tried else closer.cost(design, plan.size)
    sides, last = plan.distance(closer), look.certificate.achieved
    if sides is not None:
        last = sides.with_line(last)
    fulfilled = certificate.fulfilled(
        added([first.certificate.achieved, selection.achieved, *tried, last]), tuning, drawn={LAST: law}
    )
    prior = replace(prior, lower=stated.lower, upper=stated.upper)
    return look._as(
        CloserMean, certificate=fulfilled, hierarchy=prior, center=first.center,
        first=first, selection=selection, closer=bound, excess=excess,
    )  # fmt: skip
