"""The mean in two looks: a rough line, then only what the curves do around it.

Bounds on values let a unit move by their whole distance at every point, and noise is in proportion. Most
curves stay near their mean: who knows it roughly clips closer, and pays for that alone.

Three mechanisms run one after the other: a rough line (pure e1), a histogram of the largest distances
from it (pure e2), and the mean of records between curves, line minus and plus a radius that is computed
from the noisy counts alone (what is left, and all of delta). Each keeps its part whatever those before
it published, and the whole is charged once, before the first noise: docs/appendix/two_looks.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpfda.bases.priors import CurvePrior
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import Search, ValueBounds
from dpfda.mean.staged_release import FIRST, LAST, RADIUS, CloserMean
from dpfda.mechanisms.design import choose
from dpfda.mechanisms.design.lines import equal_cells, number_of_cells
from dpfda.mechanisms.design.radii import residual_radius
from dpfda.noise import pure_budget
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, PureDP, added, split, without_delta
from dpfda.publication import (
    COUNT_SCALE,
    NAMED,
    MeanPlan,
    Paying,
    PlanOfMeans,
    Prepared,
    charge,
    check,
    publish,
    publish_curve,
)
from dpfda.publication.moments import RadiusChoice
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.staged import Selection
from dpfda.spine.settings import Gathered
from dpfda.spine.sums import Readable

# Shares of the budget for the rough line and for the histogram; and n epsilon from which on there are
# two looks: below it the histogram says too little.
ROUGH, COUNTING, LEAST = Fraction(2, 100), Fraction(2, 100), 5000.0
# What says so in the place of an object: on the command line, in a study.
NAME = "two-looks"
# The largest residual that is told apart, in shares of the distance between the bounds.
HALF = 0.5


@dataclass(frozen=True, repr=False, eq=False)
class TwoLooks(Gathered):
    """Strategy of a mean between bounds: a rough line first, then the records held close to it.

    Given as ``PrivateMean(..., mechanism=TwoLooks())``, or by its name, "two-looks". There is nothing to
    say: where the number of units times epsilon is below 5,000 there is one look as without it;
    elsewhere 4 % of the budget find out how far records lie from the mean, and where that is as far as
    the bounds allow the other 96 % make what one look would.

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
    >>> mean.release_.mechanism["radius"] < 0.5
    True
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
        epsilon = float(pure_budget(without_delta(guarantee)))
        return 2 * self.size * epsilon / self.whole.neighbours.differences(1)


def check_staged(whole: MeanPlan, strategy: TwoLooks | Search) -> None:
    """Refuse what has no stages. Raises ParameterError."""
    if whole.size is None:
        raise ParameterError(
            "public_size", "be given under add-remove neighbours: what is planned needs it", "None",
            "Pass a public number to divide by, or have one look, which releases the count.",
        )  # fmt: skip
    if not whole.answers_with_line or whole.on_grid is None or whole.on_grid.cube is None:
        raise strategy.refusal("anything but the default mean of curves between bounds on values")


@dataclass(frozen=True, eq=False, repr=False)
class LooksPlan(StagedPlan):
    """Plan of a mean in two looks, or in one where n epsilon is small.

    whole: Of one look with the whole budget.
    strategy: As it was given.
    """

    whole: MeanPlan
    strategy: TwoLooks

    @classmethod
    def of(cls, whole: MeanPlan, strategy: TwoLooks) -> LooksPlan:
        """The plan in two looks for that of one. Raises ParameterError if there cannot be two."""
        check_staged(whole, strategy)
        return cls(whole, strategy)

    @property
    def two_looks(self) -> bool:
        """Whether there are two: a public rule."""
        return self.strength(self.whole.guarantee) >= LEAST

    @cached_property
    def shares(self) -> tuple[PureDP, PureDP, Guarantee]:
        """Of rough line, histogram and closer look; they compose to the whole."""
        first, rest = split(self.whole.guarantee, ROUGH)
        counting, last = split(rest, COUNTING / (1 - ROUGH))
        return first, counting, last

    @cached_property
    def rough(self) -> MeanPlan:
        """Of the rough line."""
        return replace(self.whole, guarantee=self.shares[0])

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
        losses = [self.closer(line, 0).public_design for line in self._extremes]
        return {
            FIRST: rough,
            RADIUS: Cost(counting, LaplaceLoss(counting.epsilon)),
            LAST: Cost.awaited(last, [made.noise.loss(last) for made in losses if made is not None]),
        }

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
        for line in self._extremes:
            for place in (0, -1):
                check(self.closer(line, place))

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> LooksPlan:
        return LooksPlan.of(self.whole.remade(guarantee, n), self.strategy)

    @property
    def expected_of(self) -> MeanPlan:
        return replace(self.whole, guarantee=self.shares[2]) if self.two_looks else self.whole

    @property
    def error_words(self) -> str:
        less = ", where curves fill their bounds; less where they stay near their mean"
        return self.whole.error_words + (less if self.two_looks else "")

    @property
    def noise_words(self) -> str:
        return f"{self.tuning['name']}: {self.expected_of.noise_words}"

    # What is released.

    def place(self, selection: Selection) -> int:
        """Which candidate the radius is, from noisy counts."""
        noise = float(np.sqrt(selection.noise.variances()[0])) / COUNT_SCALE / self.size
        shares = np.array([float(count) for count in selection.noisy_counts]) / COUNT_SCALE / self.size
        rough, _, last = self.shares
        return residual_radius(
            self.choice.radii, shares, noise, self.strength(last), self.strength(rough)
        )

    def closer(self, line: Floats, place: int) -> MeanPlan:
        """The plan of the closer look around a public line (m,), at a candidate for the radius.

        Cells are as many as one look would have whose noise is as small.
        """
        last, radius = self.shares[2], float(self.choice.radii[place])
        plan = replace(self.whole, bound=self._around(line, place), guarantee=last)
        made, points = plan.curves, line.size
        assert made is not None  # noqa: S101
        strengths = self.strength(last) * HALF / radius, self.strength(self.whole.guarantee)
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
    first = publish_curve(total, plan.rough, certificate=certificate.part(FIRST))
    line = np.asarray(first(first.grid_points))
    selection = plan.choice.released(distances(plan.whole, records, line))
    place = plan.place(selection)
    closer = plan.closer(line, place)
    look = publish_curve(records.total(closer), closer, certificate=certificate.part(LAST))
    return assembled(plan, certificate, (first, selection, look), closer, selection.radii[place])


def assembled(
    plan: LooksPlan,
    certificate: Certificate,
    released: tuple[ReleasedFunction, Selection, ReleasedFunction],
    closer: MeanPlan,
    radius: float,
) -> CloserMean:
    """The release around the output of all stages; everything in it is public."""
    first, selection, look = released
    design, stated, bound = closer.public_design, plan.whole.curves, closer.bound
    assert design is not None and stated is not None and isinstance(bound, ValueBounds)  # noqa: S101, PT018
    assert isinstance(look.hierarchy, CurvePrior)  # noqa: S101
    tuning = {**look.mechanism, "name": "two looks", "radius": radius, "closer look": design.mechanism}
    whole = certificate.fulfilled(
        added([first.achieved, selection.achieved, look.achieved]),
        tuning,
        drawn={LAST: closer.cost(design, plan.size)},
    )
    parts = {field.name: getattr(look, field.name) for field in fields(ReleasedFunction)}
    prior = replace(look.hierarchy, lower=stated.lower, upper=stated.upper)
    parts |= {"certificate": whole, "hierarchy": prior, "center": first.center}
    return CloserMean(**parts, first=first, selection=selection, closer=bound)


def distances(plan: MeanPlan, records: Readable, line: Floats) -> Floats:
    """Largest distances (n,) of the units from a line, in shares of the bounds'. Private.

    Each is a function of that unit alone; of one that cannot be used it is nothing.
    """
    grid, bound, found = flat_grid(plan.basis), plan.bound, [np.empty(0)]
    assert plan.curves is not None  # noqa: S101
    middle = bound.center_on(grid)
    for curves in records.units(plan):
        values = bound.restrict(curves.values, grid) + middle
        apart = np.max(np.abs(values - line) / plan.curves.width, axis=1)
        found.append(np.where(curves.usable, apart, 0.0))
    return np.concatenate(found)
