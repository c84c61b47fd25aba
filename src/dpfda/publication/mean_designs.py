"""What is asked for of a mean, and the design that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, Self, cast

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.priors import CurvePrior, ImagePrior, Prior
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import Bound, IntegerBall, IntegerBody, L1Rule, OnGrid, ball_of, l1_rule, on_grid
from dpfda.mechanisms import COUNT_SCALE, Design, Problem, mechanisms
from dpfda.mechanisms import design as designs
from dpfda.mechanisms.design import distance_share, distance_sides
from dpfda.mechanisms.design.lines import LEAST_OF_COUNTED, LEAST_OF_DISTANCE, equal_cells
from dpfda.noise import BoxNoise, BoxPartNoise, KNormNoise, cost_of, knorm_noise, pure_budget
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import known
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, split, without_delta
from dpfda.publication.charging import recomputed
from dpfda.publication.distances import NOTHING, DistanceNoise, Telling
from dpfda.publication.plan import Plan

# Under add/remove neighbours without a public size, a tenth of the budget goes to the count: its
# relative error at n = 500, epsilon = 1 is then about 3 per cent, below that of the curve.
COUNT_SHARE = Fraction(1, 10)
# Stages of a release whose number of units, or something else, is released too.
COUNT, FUNCTION = "count", "function"
# What a plan takes over where something else is asked for.
ASKED = (
    "guarantee", "neighbours", "mechanism", "size", "unit", "about", "shape", "reading", "telling",
)  # fmt: skip


class ReadingRule(Protocol):
    """How records are read, each by itself; see `dpfda.Reading`. Public."""

    @property
    def missing(self) -> str: ...

    @property
    def invalid(self) -> str: ...

    @property
    def standardize(self) -> bool: ...

    @property
    def rules(self) -> list[object]: ...


@dataclass(frozen=True, eq=False, repr=False)
class MeanQuestion(Plan):
    """What is asked for of a mean, and how its records are held in their bound.

    Make one with `of`, where a mechanism may put another basis or form of bound in their place.

    guarantee: For the whole release.
    size: Under replace-one neighbours the number of units; under add/remove a public divisor, or None to
        release the count with a share of the budget.
    unit: Who is protected.
    about: Labels and units of the axes.
    reading: How records are read; None where they have been read.
    stated: (Basis, Bound). What was stated, where the mechanism has put something else in its place.
    expected_size: Number of units to expect, where it is private.
    drawn: Where one draw of noise hides several sums: the design, with what this one sees of that noise.
    again: Where records can be read again: what says, at other public numbers, whether that pays.
    """

    basis: Basis
    bound: Bound
    guarantee: Guarantee
    neighbours: Neighbours
    mechanism: object
    size: int | None
    unit: str
    about: Mapping[str, object]
    shape: designs.Shape = designs.UNSTATED
    reading: ReadingRule | None = None
    stated: tuple[Basis, Bound] | None = None
    expected_size: int | None = None
    drawn: Design | None = None
    telling: Telling = NOTHING
    again: Callable[[Any], Any] | None = None

    @classmethod
    def of(
        cls,
        basis: Basis,
        bound: Bound,
        guarantee: Guarantee,
        neighbours: Neighbours,
        mechanism: object,
        size: int | None,
        unit: str,
        about: Mapping[str, object],
        **more: Any,
    ) -> Self:
        """The plan with the basis and the bound that the mechanism works with; parameters as above."""
        part = _for_function(guarantee, size)
        worked = designs.adapted(mechanism, basis, bound, size, part, neighbours)
        stated = (basis, bound)
        return cls(*worked, guarantee, neighbours, mechanism, size, unit, about, stated=stated, **more)

    def but(self, **changed: Any) -> Self:
        """The plan where something else is asked for; the mechanism works on what was stated anew."""
        terms = {name: getattr(self, name) for name in ASKED}
        terms["basis"], terms["bound"] = self.stated or (self.basis, self.bound)
        return self.of(**terms | changed)

    def remade(self, guarantee: Guarantee, n: int) -> Self:
        if self.drawn is not None:
            words, remedy = "be that of all functions whose noise is drawn at once", "Ask that one."
            raise ParameterError("plan", words, "the plan of one of them", remedy)
        size = None if self.size is None else n
        plan = self.but(guarantee=guarantee, size=size, expected_size=n, telling=self.telling.alone)
        return plan if self.again is None else cast("Self", self.again(plan))

    @property
    def bounded(self) -> dict[str, object]:  # type: ignore[override]
        return {"description": self.bound.describe(), **self.bound.to_json()}

    @property
    def functions(self) -> str:
        return self.basis.describe()

    @property
    def tuning(self) -> dict[str, object]:
        return {"name": getattr(self.mechanism, "name", str(self.mechanism))}

    def entry(self) -> dict[str, object]:
        return super().entry() | {"mechanism": str(self.mechanism)}

    @property
    def measuring(self) -> Self:
        """The same, with the largest distance of the line where that pays."""
        return replace(self, telling=replace(self.telling, asked=True))

    @property
    def line_alone(self) -> Self:
        """The same with all of the budget in the line."""
        return replace(self, telling=NOTHING)

    def strength(self, guarantee: Guarantee, size: int | None = None) -> float:
        """Units times epsilon, as under replace-one neighbours; by default of the public number."""
        epsilon = float(pure_budget(without_delta(guarantee)))
        return 2 * (size or known(self.size)) * epsilon / self.neighbours.differences(1)

    # How records are held.

    @cached_property
    def on_grid(self) -> OnGrid | None:
        """How the bound is enforced on the grid; None where records are projected one by one."""
        return on_grid(self.bound, self.basis, coefficients=self.images is None)

    @cached_property
    def in_l1(self) -> L1Rule | None:
        """How an l1 bound is enforced; None for other bounds, and where no rule is exact."""
        return l1_rule(self.bound, self.basis)

    @cached_property
    def ball(self) -> IntegerBall | IntegerBody:
        """Where integer coefficients lie: a function of public numbers without the size."""
        if self.on_grid is not None:
            return self.on_grid.ball
        if self.in_l1 is not None:
            return self.in_l1.ball
        basis = self.basis
        return ball_of(self.bound, flat_grid(basis), basis.weights, basis.eigenvalues.size)

    @property
    def largest_half(self) -> int:
        """Half of the distance between the bounds where it is largest, in units of sums on the grid."""
        return int(known(self.on_grid).rule.half_widths.max())

    # What the default estimates.

    @cached_property
    def curves(self) -> CurvePrior | None:
        """What the default mean of curves between bounds is estimated from; None for anything else."""
        prior = designs.public_curves(self.basis, self.bound)
        return None if prior is None else self.shape.told(prior, flat_grid(self.basis))

    @cached_property
    def _mixture(self) -> Prior | None:
        return designs.public_mixture(self.basis, self.ball.norm)

    @cached_property
    def images(self) -> ImagePrior | None:
        """What the default mean of images between bounds is estimated from; None for anything else.

        Where the number of units is public.
        """
        if self.size is None or not isinstance(self.mechanism, str) or self.mechanism != "auto":
            return None
        return designs.public_images(self.basis, self.bound)

    @property
    def answers_with_line(self) -> bool:
        """Whether the release will be the default line of curves between bounds."""
        return isinstance(self.mechanism, str) and self.mechanism == "auto" and self.curves is not None


class MeanDesign(MeanQuestion):
    """The design that follows from what is asked of a mean: what is summed, its noise and its price."""

    def costs(self) -> dict[str, Cost]:
        """What each stage costs, and what is known of its law before the count is."""
        design, size = self.public_design, self.size
        if design is not None and size is not None:
            cost = self.cost(design, size)
            measured = {} if self.distance is None else self.distance.costs()
            # That of the line is last: where there is a delta, it has it.
            return measured | {FUNCTION: cost} if measured else {WHOLE: cost}
        part, rest = split(self.guarantee, COUNT_SHARE)
        trial = self.cost(self.trial, 1)
        function = Cost.awaited(rest, [trial.loss]) if self.awaits_count else trial
        return {COUNT: Cost(part, LaplaceLoss(part.epsilon)), FUNCTION: function}

    @property
    def awaits_count(self) -> bool:
        """Whether the law of the noise will follow from a released number of units."""
        named = isinstance(self.mechanism, str) and mechanisms().get(self.mechanism)
        return self.public_design is None and not getattr(named, "one_law", False)

    def cost(self, design: Design, size: int) -> Cost:
        """What a design costs that follows from a public or released number of units."""
        return cost_of(design.noise, self.achieved(design, size), self.function_guarantee)

    def achieved(self, design: Design, size: int) -> Guarantee:
        """What it gives, recomputed. Raises DpfdaError if that is more than there is for it."""
        problem = self.problem(size)
        return recomputed(design.noise, *problem.differences(design), problem.guarantee)

    @property
    def function_guarantee(self) -> Guarantee:
        """What is left for the function after the count's share, or that of its largest distance."""
        if (share := self.distance_share) is not None:
            return split(self.guarantee, share)[1]
        return _for_function(self.guarantee, self.size)

    @cached_property
    def distance_share(self) -> Fraction | None:
        """Share of the budget for the largest distance of the line from the mean; None for nothing.

        Where a point is no cell of its own, what the mean does between cells is not measured otherwise.
        """
        strength = self._strength_of_distance
        if strength is None or self._in_one_box:
            return None
        # Groups, whose shares must be alike, have boxes.
        cells = bool(self.telling.among) or isinstance(self.guarantee, PureDP)
        return distance_share(flat_grid(self.basis).size, strength, cells)

    @cached_property
    def distance(self) -> DistanceNoise | None:
        """The noise on the largest distance of the line from the mean; None without one."""
        share, neighbours, beside = self.distance_share, self.neighbours, self.telling.beside
        if beside is not None:
            return DistanceNoise(self.largest_half, neighbours, beside, self.guarantee, in_box=True)
        if share is not None:
            part = split(self.guarantee, share)[0]
            return DistanceNoise.apart(
                self.largest_half, neighbours, part, groups=bool(self.telling.among)
            )
        if not self._has_sides:
            return None
        law = cast("BoxPartNoise", known(self.public_design).noise)
        return DistanceNoise.of_box(self.largest_half, neighbours, self.guarantee, law)

    def distance_beside(self, design: Design) -> DistanceNoise | None:
        """The same beside a design for a count, which is a side of its box; see `largest_of_counted`."""
        if self.size is not None or not isinstance(design.noise, BoxPartNoise):
            return self.distance
        replaced = Neighbours.REPLACE_ONE
        return DistanceNoise.of_box(self.largest_half, replaced, self.function_guarantee, design.noise)

    @property
    def distance_sides(self) -> int:
        """How many sides of the line's own box tell it: the noise of the line is a little larger."""
        distance = self.distance
        return distance.law.components if distance is not None and distance.in_box else 0

    @cached_property
    def _in_one_box(self) -> bool:
        """Whether one box hides both: where that of a box, which is pure, is the noise of a line.

        Of several groups where they are small, or many: of few larger ones two numbers tell more of all.
        """
        strength, groups = self._strength_of_distance, len(self.telling.among)
        if groups and (strength is None or strength >= LEAST_OF_DISTANCE * (groups // 2) ** 2):
            return False
        if isinstance(self.guarantee, PureDP):
            return True
        return isinstance(known(self.line_alone.public_design).noise, BoxNoise)

    @cached_property
    def _has_sides(self) -> bool:
        strength = self._strength_of_distance
        if strength is None or not self._in_one_box:
            return False
        return designs.worth_sides(flat_grid(self.basis).size, strength, self.telling.lines)

    @cached_property
    def _strength_of_distance(self) -> float | None:
        """Units times epsilon that tell whether the distance is measured; None if it cannot be.

        Of the smallest group, in the same floats for all: they pay for one measurement.
        """
        among = self.telling.among
        line = self.answers_with_line or (among and self.curves is not None)
        if not (self.telling.asked and line) or self.size is None:
            return None
        if self.drawn is not None or self.on_grid is None or self.on_grid.cube is None:
            return None
        return self.strength(self.guarantee, min(among, default=self.size))

    @property
    def joins_count(self) -> bool:
        """Whether a private number of units may get noise once more, in one with sums over cells.

        Sums are then kept for every grid point, and those over cells are made of them after the count
        that the cells are designed for.
        """
        if self.size is not None or not self.answers_with_line:
            return False
        return self.on_grid is not None and self.on_grid.cube is not None

    @property
    def keeps_grid(self) -> bool:
        """Whether sums are kept for every grid point until the line is released."""
        return self.joins_count or self.distance is not None

    @property
    def count_noise(self) -> KNormNoise:
        """Laplace noise for that share on the number of units, which moves by one under add/remove."""
        return knorm_noise((1,), (1.0,), "l1", COUNT_SCALE, split(self.guarantee, COUNT_SHARE)[0])

    def problem(self, size: int) -> Problem:
        """The mechanism's problem for a public or released number of units."""
        basis, cube = self.basis, None if self.on_grid is None else self.on_grid.cube
        terms = basis.eigenvalues, basis.decay, self.ball, size, self.function_guarantee, self.neighbours
        return Problem(*terms, cube, self._mixture, self.curves, self.images)

    def design(self, size: int) -> Design:
        """The mechanism's design for a public or released number of units.

        Where the number of units is private, what is measured on the grid is fixed before the sum is
        made, unless the count joins it: "auto" would choose it by the number, and leaves it out.
        """
        problem = self.problem(size)
        if self.joins_count:
            chosen = designs.with_count(problem, designs.choose(problem, self.mechanism))
            enough = size * float(pure_budget(problem.pure.guarantee)) >= LEAST_OF_COUNTED
            tells = self.telling.asked and chosen.counts > 0 and enough
            return designs.with_sides(chosen, distance_sides(chosen.components)) if tells else chosen
        if self.size is None and isinstance(self.mechanism, str):
            problem = replace(problem, cube=None)
        chosen = designs.choose(problem, self.mechanism)
        if self._has_sides:
            chosen = designs.with_sides(chosen, distance_sides(chosen.components))
        return chosen

    def on_cells(self, count: int) -> Self:
        """The same with at least so many equal cells, where there is a line and the size is public."""
        prior = self.curves
        if prior is None or self.size is None:
            return self
        cells = equal_cells(flat_grid(self.basis).size, max(count, len(prior.cells or ())))
        finer = replace(self.problem(self.size), curves=replace(prior, cells=cells))
        return replace(self, drawn=designs.choose(finer))

    @cached_property
    def public_design(self) -> Design | None:
        """The design where the size is public; None where it awaits the count."""
        return self.drawn or (None if self.size is None else self.design(self.size))

    def components(self) -> int:
        """How many coefficients are needed: all of them where the design awaits the count."""
        if self.public_design is None:
            # A trial design, so that a refused mechanism is refused before records are read.
            self.trial  # noqa: B018
            return int(self.basis.eigenvalues.size)
        return self.public_design.components

    @cached_property
    def trial(self) -> Design:
        """The design for one unit: it says what is measured, and holds whatever the count will be."""
        return self.design(1)

    @property
    def measured(self) -> Integers | None:
        """Public matrix from sums on the grid to what gets noise, where that is not coefficients."""
        measurement = (self.public_design or self.trial).measurement
        return None if measurement is None else measurement.matrix

    def grid_matrix(self, placed: OnGrid) -> Integers:
        """Public matrix from sums on the grid to the integers that get noise: coefficients, mostly."""
        return placed.matrix[: self.components()] if self.measured is None else self.measured

    def measure(self, total: IntegerSum, design: Design) -> IntegerSum:
        """The sums that a design adds noise to: made by now, but where those on the grid are kept."""
        if not self.keeps_grid or self.on_grid is None:
            return total
        if design.measurement is None:
            return total.through(self.on_grid.matrix[: design.components])
        return total.through(design.measurement.matrix)

    def counted_design(self, units: int) -> Design:
        """The design for a released number of units, which must measure what was summed before.

        Raises ParameterError if it measures something else: its noise would not fit the sums.
        """
        design = self.design(units)
        if self.joins_count:
            return design
        after = None if design.measurement is None else design.measurement.matrix
        before, after = (np.empty(0) if matrix is None else matrix for matrix in (self.measured, after))
        if not np.array_equal(before, after):
            words = "measure the same sums whatever the number of units, where that is private"
            remedy = "Give public_size, or fix what is measured."
            raise ParameterError("mechanism", words, design.mechanism, remedy)
        return design


def _for_function(guarantee: Guarantee, size: int | None) -> Guarantee:
    return guarantee if size else split(guarantee, COUNT_SHARE)[1]
