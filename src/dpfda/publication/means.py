"""The plan of a mean: what is asked for, and the design that follows from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpfda.bases import Basis
from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.image_priors import ImagePrior
from dpfda.bases.protocol import BoxFunctions, flat_grid
from dpfda.bounds import (
    Bound,
    IntegerBall,
    IntegerBody,
    OnGrid,
    ValueBounds,
    ball_of,
    on_grid,
    values_on_grid,
)
from dpfda.mechanisms import COUNT_SCALE, Design, Problem, mechanisms
from dpfda.mechanisms.design import (
    ExpectedError,
    adapted,
    choose,
    expected_error,
    least_error,
    least_error_of_any,
    public_curves,
    public_images,
    public_mixture,
    with_count,
)
from dpfda.mechanisms.design.expectation import DRAWS, made_up_sums, volume
from dpfda.mechanisms.posteriors import CountNoise
from dpfda.noise import KNormNoise, cost_of, knorm_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.one_thread import one_thread
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, added, split
from dpfda.publication.charging import recomputed, stamp
from dpfda.publication.plan import Plan
from dpfda.releases.counts import NoisyCount
from dpfda.releases.field import ReleasedField
from dpfda.releases.function import ReleasedFunction

# Under add/remove neighbours without a public size, a tenth of the budget goes to the count: its
# relative error at n = 500, epsilon = 1 is then about 3 per cent, below that of the curve.
COUNT_SHARE = Fraction(1, 10)
# Means that are simulated where an error is looked for, and releases for an expected band.
QUICK_DRAWS, EXAMPLES = 300, 8
# Stages of a release whose number of units is released too.
COUNT, FUNCTION = "count", "function"


class ReadingRule(Protocol):
    """How records are read, each by itself; see `dpfda.Reading`. Public."""

    @property
    def missing(self) -> str: ...

    @property
    def invalid(self) -> str: ...

    @property
    def standardize(self) -> bool: ...


@dataclass(frozen=True, eq=False)
class MeanPlan(Plan):
    """Plan of a mean: basis and bound, and from them what is summed, the design and its noise.

    Make one with `of`, where a mechanism may put another basis or form of bound in their place.

    Parameters
    ----------
    basis : Basis
    bound : Bound
    guarantee : Guarantee
        For the whole release.
    neighbours : Neighbours
    mechanism : "auto", name or Mechanism
    size : int or None
        Under replace-one neighbours the number of units; under add/remove a public divisor, or None
        to release the count with a share of the budget.
    unit : str
        Who is protected.
    about : mapping
        Labels and units of the axes.
    line : bool
        Whether "auto" may answer bounds on values with the line of `dpfda.mechanisms.design.lines`.
    centers : array (C, m), optional
        Public curves that the mean may be near to; for the line alone.
    reading : ReadingRule, optional
        How records are read; None where they have been read.
    stated : (Basis, Bound), optional
        What was stated, where the mechanism has put something else in its place.
    expected_size : int, optional
        Number of units to expect, where it is private.
    """

    basis: Basis
    bound: Bound
    guarantee: Guarantee
    neighbours: Neighbours
    mechanism: Any
    size: int | None
    unit: str
    about: Mapping[str, Any]
    line: bool = True
    centers: NDArray[np.float64] | None = None
    reading: ReadingRule | None = None
    stated: tuple[Basis, Bound] | None = None
    expected_size: int | None = None

    @classmethod
    def of(
        cls,
        basis: Basis,
        bound: Bound,
        guarantee: Guarantee,
        neighbours: Neighbours,
        mechanism: Any,
        size: int | None,
        unit: str,
        about: Mapping[str, Any],
        **more: Any,
    ) -> Self:
        """The plan with the basis and the bound that the mechanism works with; parameters as above."""
        part = _for_function(guarantee, size)
        worked = adapted(mechanism, basis, bound, size, part, neighbours)
        stated = (basis, bound)
        return cls(*worked, guarantee, neighbours, mechanism, size, unit, about, stated=stated, **more)

    def remade(self, guarantee: Guarantee, n: int) -> Self:
        basis, bound = self.stated or (self.basis, self.bound)
        more = {name: getattr(self, name) for name in ("line", "centers", "reading")}
        size, asked = None if self.size is None else n, (self.neighbours, self.mechanism)
        return self.of(
            basis, bound, guarantee, *asked, size, self.unit, self.about, expected_size=n, **more
        )

    @property
    def bounded(self) -> dict[str, Any]:  # type: ignore[override]
        return {"description": self.bound.describe(), **self.bound.to_json()}

    @property
    def functions(self) -> str:
        return self.basis.describe()

    @property
    def tuning(self) -> dict[str, Any]:
        return {"name": getattr(self.mechanism, "name", str(self.mechanism))}

    def entry(self) -> dict[str, Any]:
        return super().entry() | {"mechanism": str(self.mechanism)}

    def costs(self) -> dict[str, Cost]:
        """What each stage costs, and its law where that is known beforehand.

        A law that awaits the released count is not known: the stage then costs its guarantee, whatever
        the count is.
        """
        design, size = self.public_design, self.size
        if design is not None and size is not None:
            return {WHOLE: self._cost(design, size)}
        part, rest = split(self.guarantee, COUNT_SHARE)
        named = isinstance(self.mechanism, str) and mechanisms().get(self.mechanism)
        known = getattr(named, "one_law", False)
        function = self._cost(self.trial, 1) if known else Cost(rest)
        return {COUNT: Cost(part, LaplaceLoss(part.epsilon)), FUNCTION: function}

    def _cost(self, design: Design, size: int) -> Cost:
        problem = self.problem(size)
        achieved = recomputed(design.noise, *problem.differences(design), problem.guarantee)
        return cost_of(design.noise, achieved, problem.guarantee)

    @cached_property
    def on_grid(self) -> OnGrid | None:
        """How the bound is enforced on the grid; None where records are projected one by one."""
        if self.images is not None and isinstance(self.bound, ValueBounds):
            return values_on_grid(self.bound, flat_grid(self.basis), np.asarray(self.basis.weights))
        return on_grid(self.bound, self.basis)

    @cached_property
    def ball(self) -> IntegerBall | IntegerBody:
        """Where integer coefficients lie: a function of public numbers without the size."""
        if self.on_grid is not None:
            return self.on_grid.ball
        basis = self.basis
        return ball_of(self.bound, flat_grid(basis), basis.weights, basis.eigenvalues.size)

    @property
    def function_guarantee(self) -> Guarantee:
        """What is left for the function after the count's share."""
        return _for_function(self.guarantee, self.size)

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
    def count_noise(self) -> KNormNoise:
        """Laplace noise for that share on the number of units, which moves by one under add/remove."""
        part, _ = split(self.guarantee, COUNT_SHARE)
        return knorm_noise((1,), (1.0,), "l1", COUNT_SCALE, part)

    def problem(self, size: int) -> Problem:
        """The mechanism's problem for a public or released number of units."""
        return Problem(
            self.basis.eigenvalues,
            self.basis.decay,
            self.ball,
            size,
            self.function_guarantee,
            self.neighbours,
            None if self.on_grid is None else self.on_grid.cube,
            public_mixture(self.basis, self.ball.norm),
            self.curves,
            self.images,
        )

    @cached_property
    def curves(self) -> CurvePrior | None:
        """What the default mean of curves between bounds is estimated from; None for anything else."""
        made = public_curves(self.basis, self.bound) if self.line else None
        return made if made is None or self.centers is None else replace(made, centers=self.centers)

    @cached_property
    def images(self) -> ImagePrior | None:
        """What the default mean of images between bounds is estimated from; None for anything else.

        Under pure privacy, and where the number of units is public.
        """
        pure = isinstance(self.guarantee, PureDP) and self.size is not None
        named = not isinstance(self.mechanism, str) or self.mechanism != "auto"
        return None if named or not pure or not self.line else public_images(self.basis, self.bound)

    def design(self, size: int) -> Design:
        """The mechanism's design for a public or released number of units.

        Where the number of units is private, what is measured on the grid is fixed before the sum is
        made, unless the count joins it: "auto" would choose it by the number, and leaves it out.
        """
        problem = self.problem(size)
        if self.joins_count:
            return with_count(problem, choose(problem, self.mechanism))
        if self.size is None and isinstance(self.mechanism, str):
            problem = replace(problem, cube=None)
        return choose(problem, self.mechanism)

    @property
    def answers_with_line(self) -> bool:
        """Whether the release will be the default line of curves between bounds."""
        return isinstance(self.mechanism, str) and self.mechanism == "auto" and self.curves is not None

    @cached_property
    def public_design(self) -> Design | None:
        """The design where the size is public; None where it awaits the count."""
        return None if self.size is None else self.design(self.size)

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
    def measured(self) -> NDArray[np.int64] | None:
        """Public matrix from sums on the grid to what gets noise, where that is not coefficients."""
        measurement = (self.public_design or self.trial).measurement
        return None if measurement is None else measurement.matrix

    def grid_matrix(self, placed: OnGrid) -> NDArray[np.int64]:
        """Public matrix from sums on the grid to the integers that get noise: coefficients, mostly."""
        return placed.matrix[: self.components()] if self.measured is None else self.measured

    def measure(self, total: IntegerSum, design: Design) -> IntegerSum:
        """The sums that a design adds noise to; they are made by now but where the count joins them."""
        if not self.joins_count or self.on_grid is None:
            return total
        measured = design.measurement
        if measured is None:
            return total.through(self.on_grid.matrix[: design.components])
        return total.through(measured.matrix)

    def counted_design(self, units: int) -> Design:
        """The design for a released number of units, which must measure what was summed before.

        Raises
        ------
        ParameterError
            If it measures something else: its noise would not fit the sums.
        """
        design = self.design(units)
        if self.joins_count:
            return design
        made = None if design.measurement is None else design.measurement.matrix
        if not np.array_equal(
            np.empty(0) if made is None else made,
            np.empty(0) if self.measured is None else self.measured,
        ):
            raise ParameterError(
                "mechanism",
                "measure the same sums whatever the number of units, where that is private",
                design.mechanism,
                "Give public_size, or fix what is measured.",
            )
        return design

    def around(
        self, size: int, design: Design, divisor: float | NoisyCount, certificate: Certificate
    ) -> dict[str, Any]:
        """All that the released function holds beside the mechanism's output, made before the noise.

        Raises
        ------
        DpfdaError
            If the noise gives more than its part of the budget.
        """
        problem = self.problem(size)
        achieved = recomputed(design.noise, *problem.differences(design), problem.guarantee)
        if isinstance(divisor, NoisyCount):
            part, _ = split(self.guarantee, COUNT_SHARE)
            achieved = added([recomputed(divisor.noise, "l1", divisor.scale, part), achieved])
        tuning = {"name": design.mechanism, **design.parameters}
        return {
            "basis": self.basis.truncate(design.functions),
            "exponent": design.exponent(problem),
            "divisor": divisor,
            "shrinkage": design.shrinkage,
            "synthesis": None if design.measurement is None else design.measurement.synthesis,
            "center": self.bound.center_on(flat_grid(self.basis)),
            "noise": design.noise,
            "hierarchy": design.hierarchy,
            "certificate": certificate.fulfilled(achieved, tuning, self.bounded),
            "about": dict(self.about) | stamp(),
        }

    # What to expect.

    @cached_property
    def planned(self) -> Design | None:
        """The design for the number of units that is public, or to be expected; None without one."""
        return self.public_design or (None if self.n is None else self.design(self.n))

    @one_thread()
    def expected_error(self, draws: int = DRAWS) -> ExpectedError | None:
        """Bias, noise and sampling that are to be expected; None without a number of units.

        Parameters
        ----------
        draws : int
            Means that are simulated where the error has no closed form.
        """
        if self.planned is None or self.n is None:
            return None
        rough = CountNoise(self.count_noise, COUNT_SCALE) if self.joins_count else None
        return expected_error(self.problem(self.n), self.planned, self.basis, draws, rough)

    def expected(self, quick: bool = False) -> float | None:
        found = self.expected_error(QUICK_DRAWS if quick else DRAWS)
        return None if found is None else self.typical(found.total)

    def typical(self, square: float) -> float:
        """Root mean square at a point for a squared L2 distance."""
        return math.sqrt(square / volume(self.basis))

    @property
    def error_words(self) -> str:
        if self.n is None:
            return "none can be stated without a number of units to expect"
        return f"root mean square at a point, from the mean of the same bounded records, {self.belief}"

    @property
    def belief(self) -> str:
        """What means the error is expected for."""
        if self.planned is not None and isinstance(self.planned.hierarchy, CurvePrior | ImagePrior):
            return "over smooth curves between the bounds"
        if self.n is not None and self.problem(self.n).mixture is not None:
            return "over smooth means, from as large as the bound allows to a hundredth of that"
        return "for a mean as rough as the kernel and as large as the bound allows"

    @one_thread()
    def half_width(self, level: float) -> float | None:
        """As `band`: the median over made-up means with simulated noise."""
        if self.n is None:
            return None
        made = [release.band(level) for release in self.examples(EXAMPLES)]
        return float(np.median([np.mean(band.upper - band.lower) / 2 for band in made]))

    def examples(self, count: int) -> list[Any]:
        """Releases of made-up means with simulated noise, to look at; no data are in them."""
        design, size = self.planned, self.n
        if design is None or size is None:
            raise ParameterError("n", "be given", "None", "The number of units is private: expect one.")
        divisor: float | NoisyCount = float(size)
        if self.size is None:
            divisor = NoisyCount(COUNT_SCALE * size, COUNT_SCALE, self.count_noise)
        public = self.around(size, design, divisor, self.certified())
        public["about"] = {**public["about"], "simulated": "an example: no data are in it"}
        # Of means whose shapes and sizes come in turn, every fifth: some of each.
        sums = made_up_sums(self.problem(size), design, self.basis, 5 * count, design.counts > 0)[::5]
        noise = design.noise.simulate(np.random.Generator(np.random.Philox(key=2)), count)
        rows = np.rint(sums + noise[:, : design.components]).astype(object)
        counted = size * design.counts if design.counts else None
        return [released_mean(public, design, tuple(int(x) for x in row), counted) for row in rows]

    @property
    def scale(self) -> tuple[float, str] | None:
        if isinstance(self.bound, ValueBounds):
            lower, upper = self.bound.curves_on(flat_grid(self.basis))
            return float(np.mean(upper - lower)), "the distance between the bounds"
        ball = self.ball
        return self.typical((ball.radius * ball.step) ** 2), "the bound, spread over the domain"

    @property
    def noise_words(self) -> str:
        design = self.planned or self.trial
        return f"{design.mechanism}: {design.noise.describe()}"

    def limit(self) -> float | None:
        """What no mechanism that protects in proportion can expect to fall below, as `error`.

        None where no such limit is proved: under (epsilon, delta), where the bound is a body, and for
        the line of curves between bounds, whose means are not those of the limit.
        """
        hierarchy = None if self.planned is None else self.planned.hierarchy
        if self.planned is None or self.n is None or isinstance(hierarchy, CurvePrior | ImagePrior):
            return None
        least = least_error(self.problem(self.n))
        return None if least is None else self.typical(least)

    def limit_of_any(self) -> float | None:
        """What no mechanism with the guarantee can expect to fall below, as `error`."""
        least = None if self.n is None else least_error_of_any(self.problem(self.n))
        return None if least is None else self.typical(least)


def released_mean(
    public: Mapping[str, Any],
    design: Design,
    noisy_sum: tuple[int, ...],
    noisy_count: int | None = None,
) -> Any:
    """The released function around a mechanism's output: on an interval or on a box.

    Parameters
    ----------
    public : mapping
        Of `MeanPlan.around`.
    design : Design
    noisy_sum : tuple of int
    noisy_count : int, optional
        The number of units, where it has the last coordinate of the noise.
    """
    made = ReleasedField if isinstance(public["basis"], BoxFunctions) else ReleasedFunction
    public = dict(public)
    if noisy_count is not None:
        public["divisor"] = NoisyCount(noisy_count, design.counts, design.noise, public["divisor"])
    return made(noisy_sum=noisy_sum, **public)


def _for_function(guarantee: Guarantee, size: int | None) -> Guarantee:
    return guarantee if size else split(guarantee, COUNT_SHARE)[1]
