"""The mean in two looks: a rough line, then only what the curves do around it.

Bounds on values let a unit move by their whole distance at every point, and noise is in proportion. Most
curves stay near their mean: who knows it roughly clips closer, and pays for that alone.

Mechanisms run one after the other: a rough line (pure e1), a histogram of the largest distances from it
(pure e2), and the mean of records between curves, line minus and plus a radius that is computed from the
noisy counts alone (what is left, and all of delta). Where a radius is worth a try, a part of what is
left (pure e3) first measures how much it would cut off; where that is not small, the stated bounds stay.
Last, the largest distance of the line from the mean between the stated bounds may be measured, with a
share that is set aside before (`dpfda.publication.distances`).
Each keeps its part whatever those before it published, parts add up to the whole on every way, and the
whole is charged once, before the first noise: docs/appendix/two_looks.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from dpfda.bases.ordinary import Outlook
from dpfda.bases.priors import CurvePrior
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import Search, ValueBounds
from dpfda.mean.staged_release import FIRST, LAST, RADIUS, CloserMean, Excess, width_beyond
from dpfda.mechanisms.design import ExpectedError, choose
from dpfda.mechanisms.design.expectation import DRAWS
from dpfda.mechanisms.design.lines import equal_cells, number_of_cells
from dpfda.mechanisms.design.radii import residual_radius, share_of_try
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.gridsums import FromLine
from dpfda.numerics.remembered import remembered
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, PureDP, added, split
from dpfda.publication import (
    COUNT_SCALE,
    EXACT,
    NAMED,
    Draw,
    MeanPlan,
    Paying,
    Plan,
    PlanOfMeans,
    Prepared,
    charge,
    check,
    publish,
    publish_curve,
    recomputed,
)
from dpfda.publication.distances import with_distance
from dpfda.publication.moments import RadiusChoice, part_noise
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.staged import Selection
from dpfda.spine.settings import Gathered
from dpfda.spine.sums import Readable

Planned = TypeVar("Planned", bound=MeanPlan)
# Shares of the budget for the rough line and for the histogram; and n epsilon from which on there are
# two looks: below it the histogram says too little.
ROUGH, COUNTING, LEAST = Fraction(15, 1000), Fraction(15, 1000), 5000.0
# Units up to which the default has two: beyond, noise is below what sampling leaves at ordinary budgets.
MOST = 500_000
# What says so in the place of an object, on the command line or in a study; and that there is one alone.
NAME, ONE = "two-looks", "one-look"
# Errors over ordinary curves at `LEAST`, over those of one look, and the power by which they fall from
# there: as measured on every second set of real curves.
GAINED, FALLING = 0.91, 0.035
# The largest residual that is told apart, in shares of the distance between the bounds.
HALF = 0.5


@dataclass(frozen=True, repr=False, eq=False)
class TwoLooks(Gathered):
    """Strategy of a mean between bounds: a rough line first, then the records held close to it.

    The default, ``mechanism="auto"``, where `may_look` says so. Given as ``mechanism=TwoLooks()``, or by
    its name, "two-looks", it is refused where there cannot be two looks; "one-look" is one alone. There
    is nothing to say: where the number of units times epsilon is below 5,000 there is one look;
    elsewhere 3 % of the budget find out how far records lie from the mean, and where that is as far as
    the bounds allow the other 97 % make what one look would.

    Notes
    -----
    The guarantee is proved in the docstring of this module. Records are read three times, so there are
    no streams, Dask arrays or custodians; under add/remove neighbours a public size is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 9000)[:, None]
    >>> mean = PrivateMean(epsilon=10.0, bounds=(-5, 5), mechanism=TwoLooks()).fit(curves)
    >>> mean.release_.mechanism["name"]
    'two looks'
    """

    def refusal(self, what: str) -> ParameterError:
        """What to raise where there cannot be two looks."""
        remedy = "Two looks need records between bounds that can be read more than once."
        return ParameterError("mechanism", f"have one look for {what}", repr(self), remedy)


def two_looks_of(mechanism: object) -> TwoLooks | None:
    """The strategy, where a mechanism is it or its name."""
    if isinstance(mechanism, TwoLooks):
        return mechanism
    return TwoLooks() if isinstance(mechanism, str) and mechanism == NAME else None


def is_one_look(mechanism: object) -> bool:
    """Whether records are to be asked for one thing alone, the line."""
    return isinstance(mechanism, str) and mechanism == ONE


def mechanism_of_look(mechanism: object) -> object:
    """What a look of its own draws with, for what was said of looks: the default."""
    said = two_looks_of(mechanism) is not None or is_one_look(mechanism)
    return "auto" if said else mechanism


def refuse_two_looks(mechanism: object, what: str) -> None:
    """Raise ParameterError where a mechanism is two looks, which there are not for something."""
    if (strategy := two_looks_of(mechanism)) is not None:
        raise strategy.refusal(what)


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
        assert self.whole.size is not None  # noqa: S101
        return self.whole.size

    def strength(self, guarantee: Guarantee) -> float:
        """Number of units times epsilon, as under replace-one neighbours."""
        return self.whole.strength(guarantee)


class DefaultPlan(MeanPlan):
    """Plan of a default mean in one look, which has two at other public numbers."""

    def remade(self, guarantee: Guarantee, n: int) -> Any:
        return default_plan(super().remade(guarantee, n))


def default_plan(whole: MeanPlan) -> MeanPlan | LooksPlan:
    """What the default publishes where records can be read again: in two looks where they pay."""
    # A record that is repaired counts as the middle of the bounds, which in a closer look is another.
    if not may_look(whole) or (whole.reading is not None and whole.reading.invalid != "refuse"):
        return whole
    made = LooksPlan(_as_kind(MeanPlan, whole), None)
    return made if made.two_looks else _as_kind(DefaultPlan, whole)


def may_look(whole: MeanPlan) -> bool:
    """Whether there can be two looks: the default mean between bounds on values, of a public size."""
    between = whole.answers_with_line and whole.on_grid is not None and whole.on_grid.cube is not None
    return between and whole.size is not None


def single(plan: Plan) -> Plan:
    """The plan of one look whatever the public numbers, for that of a default which may have two."""
    if isinstance(plan, LooksPlan) and plan.strategy is None:
        return plan.whole
    return _as_kind(MeanPlan, plan) if isinstance(plan, DefaultPlan) else plan


def _as_kind(kind: type[Planned], plan: MeanPlan) -> Planned:
    return kind(**{field.name: getattr(plan, field.name) for field in fields(plan)})


def check_staged(whole: MeanPlan, strategy: TwoLooks | Search) -> None:
    """Refuse what has no stages. Raises ParameterError."""
    if whole.size is None:
        raise ParameterError(
            "public_size", "be given under add-remove neighbours: what is planned needs it", "None",
            "Pass a public number to divide by, or have one look, which releases the count.",
        )  # fmt: skip
    if not may_look(whole):
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
    def of(cls, whole: MeanPlan, strategy: TwoLooks) -> LooksPlan:
        """The plan in two looks for that of one. Raises ParameterError if there cannot be two."""
        check_staged(whole, strategy)
        return cls(whole.measuring, strategy)

    @property
    def two_looks(self) -> bool:
        """Whether there are two: a public rule."""
        few = self.strategy is not None or self.size <= MOST
        return few and self.strength(self.whole.guarantee) >= LEAST

    @cached_property
    def shares(self) -> tuple[PureDP, PureDP, Guarantee]:
        """Of rough line, histogram and closer look, with the largest distance they are the whole."""
        first, rest = split(self.whole.function_guarantee, ROUGH)
        counting, last = split(rest, COUNTING / (1 - ROUGH))
        return first, counting, last

    @cached_property
    def tried(self) -> tuple[PureDP, Guarantee]:
        """Of a try of a radius, and what it leaves of the closer look's."""
        share = share_of_try(self.strength(self.whole.guarantee))
        return split(self.shares[2], Fraction(share).limit_denominator(1000))

    @cached_property
    def rough(self) -> MeanPlan:
        """Of the rough line."""
        return replace(self.whole, guarantee=self.shares[0], measures_distance=False)

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
        measured = self.whole.distance_costs()
        # Of one law, or of two that follow each other, no more is known than their guarantee.
        looks = {FIRST: rough, RADIUS: Cost(counting, LaplaceLoss(counting.epsilon)), LAST: Cost(last)}
        return measured | looks

    @property
    def _extremes(self) -> tuple[Floats, Floats]:
        """The stated bounds, as lines: those of which half of what a radius allows is cut off."""
        assert self.whole.curves is not None  # noqa: S101
        return self.whole.curves.lower, self.whole.curves.upper

    def check(self) -> None:
        """Design what is known before anything is drawn, so that it is refused before the charge."""
        if not self.two_looks:
            check(self.whole)
            return
        check(self.rough)
        self.choice.noise  # noqa: B018
        self.whole.distance_achieved()
        # Of the words about the data nothing hangs.
        _check_closer(LooksPlan(replace(self.whole, about={}), self.strategy))

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> LooksPlan:
        return LooksPlan(self.whole.remade(guarantee, n), self.strategy)

    @property
    def expected_of(self) -> MeanPlan:
        if not self.two_looks:
            return self.whole
        return replace(self.whole, guarantee=self.shares[2], measures_distance=False)

    @property
    def gained(self) -> float:
        """What errors are over ordinary curves, of those of one look with what is left of the budget."""
        strength = self.strength(self.whole.guarantee)
        return GAINED * (LEAST / strength) ** FALLING if self.two_looks else 1.0

    def outlook(self, quick: bool = False) -> Outlook | None:
        return self._over_ordinary(self.expected_of.outlook(quick))

    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        if self.whole.distance_share is not None:
            # Most of it is the noise on the largest distance, on which two looks gain nothing.
            return self.whole.outlook_width(level, quick)
        return self._over_ordinary(self.expected_of.outlook_width(level, quick))

    def _over_ordinary(self, one: Outlook | None) -> Outlook | None:
        """For most, who may fill their bounds, as in one look."""
        return None if one is None else Outlook(one.typical * self.gained, one.most)

    def expected_error(self, draws: int = DRAWS) -> ExpectedError | None:
        """As `MeanPlan.expected_error`."""
        found, square = self.expected_of.expected_error(draws), self.gained**2
        if found is None:
            return None
        return replace(found, bias=found.bias * square, noise=found.noise * square)

    @property
    def error_words(self) -> str:
        less = "; as much as in one look where they fill their bounds"
        return self.whole.error_words + (less if self.two_looks else "")

    @property
    def noise_words(self) -> str:
        return f"{self.tuning['name']}: {self.expected_of.noise_words}"

    # What is released.

    def place(self, selection: Selection) -> int:
        """Which candidate is worth a try, from noisy counts; 0 where none is."""
        noise = float(np.sqrt(selection.noise.variances()[0])) / COUNT_SCALE / self.size
        shares = np.array([float(count) for count in selection.noisy_counts]) / COUNT_SCALE / self.size
        strengths = self.strength(self.shares[2]), self.strength(self.tried[1])
        return residual_radius(
            self.choice.radii, shares, noise, strengths, self.strength(self.shares[0])
        )

    def tries(self, line: Floats, place: int) -> RadiusTry:
        """How a candidate for the radius around a public line (m,) is tried."""
        low, high = self._extremes
        reach = float(np.max(np.maximum(line - low, high - line) / (high - low)))
        return RadiusTry(float(self.choice.radii[place]), min(max(reach, HALF), 1.0), self.tried[0])

    def closer(self, line: Floats, place: int, part: Guarantee) -> MeanPlan:
        """The plan of the closer look around a public line (m,), at a candidate for the radius.

        Cells are as many as one look would have whose noise is as small.

        part: What of the budget is left for it.
        """
        radius = float(self.choice.radii[place])
        bound = self._around(line, place)
        plan = replace(self.whole, bound=bound, guarantee=part, measures_distance=False)
        made, points = plan.curves, line.size
        assert made is not None  # noqa: S101
        strengths = self.strength(part) * HALF / radius, self.strength(self.whole.guarantee)
        cells = max(number_of_cells(points, strength) for strength in strengths)
        cells = max(cells, len(made.cells or ()))
        problem = replace(
            plan.problem(self.size), curves=replace(made, cells=equal_cells(points, cells))
        )
        return replace(plan, drawn=choose(problem))

    def _around(self, line: Floats, place: int) -> ValueBounds:
        """Curves at the radius from a line, cut at the stated bounds, which stay at the largest one.

        And where floats are too few to tell such curves apart.
        """
        stated = self.whole.bound
        assert isinstance(stated, ValueBounds)  # noqa: S101
        low, high = stated.curves_on(flat_grid(self.whole.basis))
        reach = float(self.choice.radii[place]) * (high - low)
        lower, upper = np.maximum(low, line - reach), np.minimum(high, line + reach)
        told = np.all(upper - lower >= reach / 2) and np.all(reach > 1e-90)
        return ValueBounds(lower, upper) if place and told else ValueBounds(low, high)


@dataclass(frozen=True)
class RadiusTry:
    """How it is measured how much a radius would cut off, before it is taken. Public.

    What a unit adds is its largest distance from the line beyond the radius, an integer between 0 and a
    public width: replacing, adding or removing a unit moves the sum by no more than that.

    radius, reach: As of `Excess`.
    part: Share of the budget.
    """

    radius: float
    reach: float
    part: PureDP

    @cached_property
    def noise(self) -> NoiseLaw:
        """Law of the noise, checked."""
        return part_noise((1,), "l1", self._width, self.part)

    @property
    def _width(self) -> int:
        return width_beyond(self.radius, self.reach)

    def released(self, lengths: Floats, draw: Draw = EXACT) -> Excess:
        """The noisy sum, from private lengths (n,). The ledger has been charged."""
        beyond = np.clip(np.floor((lengths - self.radius) * UNIT), 0, self._width)
        total = IntegerSum(1).add_totals([int(beyond.astype(np.int64).sum())], lengths.size)
        (noisy,) = total.with_noise(draw(self.noise))
        achieved = recomputed(self.noise, "l1", self._width, self.part)
        return Excess(self.radius, self.reach, noisy, self.noise, achieved)


@remembered(16)
def _check_closer(plan: LooksPlan) -> None:
    """Check the closer looks around the lines and at the radii that are extreme."""
    for line in plan._extremes:
        plan.tries(line, 1).noise  # noqa: B018
        for place in (0, -1):
            for part in (plan.shares[2], plan.tried[1]):
                check(plan.closer(line, place, part))


def fit_looks(prepared: Prepared[LooksPlan, Readable], paying: Paying = NAMED) -> ReleasedFunction:
    """Release a mean whose mechanism is `TwoLooks`."""
    plan, records = prepared.plan, prepared.total
    certificate = plan.certified()
    plan.check()
    if not plan.two_looks:
        made = publish(records.total(plan.whole), plan.whole, paying)
        assert isinstance(made, ReleasedFunction)  # noqa: S101
        return made
    # What is wrong with the records is found before the charge; and the whole budget is charged before
    # the first noise.
    total = records.total(plan.rough)
    charge(paying, certificate, plan.entry())
    return looked(plan, records, total, certificate)


def looked(
    plan: LooksPlan,
    records: Readable,
    total: IntegerSum,
    certificate: Certificate,
    draw: Draw = EXACT,
) -> CloserMean:
    """Release all stages, which the caller has charged for.

    total: Of the rough line. Private.
    draw: As of `dpfda.publication.publish`.
    """
    first = publish_curve(total, plan.rough, certificate.part(FIRST), draw)
    line = np.asarray(first(first.grid_points))
    lengths = distances(plan.whole, records, line)
    selection = plan.choice.released(lengths, draw(plan.choice.noise))
    place, part, excess = plan.place(selection), plan.shares[2], None
    if place:
        part = plan.tried[1]
        excess = plan.tries(line, place).released(lengths, draw)
        place = place if excess.small(plan.size) else 0
    closer = plan.closer(line, place, part)
    look = publish_curve(records.total(closer), closer, certificate.part(LAST), draw)
    radius = selection.radii[place]
    made = assembled(plan, certificate, (first, selection, excess, look), closer, radius)
    if plan.whole.distance_share is None:
        return made
    return with_distance(made, records.total(plan.whole), plan.whole, draw)


def assembled(
    plan: LooksPlan,
    certificate: Certificate,
    released: tuple[ReleasedFunction, Selection, Excess | None, ReleasedFunction],
    closer: MeanPlan,
    radius: float,
) -> CloserMean:
    """The release around the output of all stages; everything in it is public."""
    first, selection, excess, look = released
    design, stated, bound = closer.public_design, plan.whole.curves, closer.bound
    assert design is not None and stated is not None and isinstance(bound, ValueBounds)  # noqa: S101, PT018
    assert isinstance(look.hierarchy, CurvePrior)  # noqa: S101
    tuning = {**look.mechanism, "name": "two looks", "radius": radius, "closer look": design.mechanism}
    tried = [] if excess is None else [excess.achieved]
    measured = plan.whole.distance_achieved()
    # Of a try and a look together no law is known.
    law = Cost(plan.shares[2]) if tried else closer.cost(design, plan.size)
    whole = certificate.fulfilled(
        added([*measured, first.achieved, selection.achieved, *tried, look.achieved]),
        tuning,
        drawn={LAST: law},
    )
    parts = {field.name: getattr(look, field.name) for field in fields(ReleasedFunction)}
    prior = replace(look.hierarchy, lower=stated.lower, upper=stated.upper)
    parts |= {"certificate": whole, "hierarchy": prior, "center": first.center}
    return CloserMean(**parts, first=first, selection=selection, closer=bound, excess=excess)


def distances(plan: MeanPlan, records: Readable, line: Floats) -> Floats:
    """Largest distances (n,) of the units from a line, in shares of the bounds'. Private.

    Each is a function of that unit alone; of one that cannot be used it is nothing.
    """
    stated = plan.curves
    assert stated is not None  # noqa: S101
    shares = FromLine(stated.lower, stated.upper, line, 1 / stated.width)
    return records.lengths(plan, shares)
