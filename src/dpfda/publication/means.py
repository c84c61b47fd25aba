"""The plan of a mean: its design, what is released around it, and how exact it is expected to be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, TypeVar, cast

import numpy as np

from dpfda.bases.centred import CentredBasis
from dpfda.bases.ordinary import Outlook, ordinary_curves
from dpfda.bases.priors import CurvePrior, ImagePrior
from dpfda.bases.protocol import flat_grid, on_box, volume
from dpfda.bounds import ValueBounds
from dpfda.estimates import CountNoise
from dpfda.mechanisms import COUNT_SCALE, Design
from dpfda.mechanisms import design as designs
from dpfda.mechanisms.design import expected_error
from dpfda.mechanisms.design.expectation import DRAWS, made_up_sums
from dpfda.noise import BoxNoise, BoxPartNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import known
from dpfda.numerics.speed import one_thread, remembered
from dpfda.privacy.certificates import Certificate, said_by
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, added, split
from dpfda.publication.charging import recomputed, stamp
from dpfda.publication.distances import (
    DistanceNoise,
    Draw,
    farthest,
    line_in_integers,
    telling,
    told_of_groups,
)
from dpfda.publication.mean_designs import COUNT_SHARE, MeanDesign
from dpfda.publication.plan import Plan
from dpfda.releases.counts import NoisyCount
from dpfda.releases.distance import Distance, GroupDistance, told_by
from dpfda.releases.field import ReleasedField
from dpfda.releases.function import ReleasedFunction

# On an interval, or on a box.
ReleasedMean: TypeAlias = ReleasedFunction | ReleasedField

Line = TypeVar("Line", bound=ReleasedFunction)

# Releases that are simulated for an expected band, and where it is to be quick.
EXAMPLES, QUICK = 16, 6
# Standardised curves have one length, and a mean mostly more than half of it: of these scales at most.
OF_ONE_LENGTH = 2


@dataclass(frozen=True, eq=False)
class Framed:
    """All that a released mean holds but the mechanism's output, so that nothing fails after the noise.

    design: Its noise law has been checked against the guarantee.
    public: What the released function has beside the output: its certificate, too.
    """

    design: Design
    public: Json

    def release(self, noisy_sum: tuple[int, ...], noisy_count: int | None = None) -> ReleasedMean:
        """The released function around the mechanism's output: on an interval or on a box.

        noisy_count: The number of units, where it has the last coordinate of the noise.
        """
        kind = ReleasedField if on_box(self.public["basis"]) else ReleasedFunction
        public, design = dict(self.public), self.design
        if noisy_count is not None:
            public["divisor"] = NoisyCount(noisy_count, design.counts, design.noise, public["divisor"])
        return kind(noisy_sum=noisy_sum, **public)

    def around(self, sums: IntegerSum, noise: Sequence[int]) -> ReleasedMean:
        """The released function of sums with noise, and of their number where it has the last of it."""
        design = self.design
        noisy = sums.with_noise(noise[: design.components], design.thresholds)
        if not design.counts:
            return self.release(noisy)
        return self.release(noisy, sums.count_with_noise(noise[-1], design.counts))

    def saying(self, **more: object) -> Framed:
        """The same with more labels."""
        return replace(self, public={**self.public, "about": {**self.public["about"], **more}})


def line_and_noise(
    sums: IntegerSum, framed: Framed, distance: DistanceNoise, draw: Draw
) -> tuple[ReleasedFunction, Sequence[int]]:
    """A line, and the noise on what tells its largest distance: one draw where both are of one box."""
    cells = framed.design.noise
    if distance.in_box:
        parts = [cast("BoxPartNoise", part).scales for part in (cells, distance.law)]
        drawn, count = draw(BoxNoise((*parts[0], *parts[1]))), cells.components
        own, noise = drawn[:count], drawn[count:]
    else:
        own, noise = draw(cells), draw(distance.law)
    return cast("ReleasedFunction", framed.around(sums, own)), noise


@dataclass(frozen=True, eq=False, repr=False)
class MeanPlan(MeanDesign):
    """Plan of a mean: parameters as of `dpfda.publication.mean_designs.MeanDesign`.

    Make one with `of`, where a mechanism may put another basis or form of bound in their place.
    """

    def around(
        self,
        size: int,
        design: Design,
        divisor: float | NoisyCount,
        certificate: Certificate,
        drawn: Mapping[str, Cost] | None = None,
    ) -> Framed:
        """All that the released function holds beside the mechanism's output, made before the noise.

        Raises DpfdaError if the noise gives more than its part of the budget.
        """
        problem = self.problem(size)
        achieved = self.achieved(design, size)
        if (distance := self.distance_beside(design)) is not None:
            achieved = distance.with_line(achieved)
        if isinstance(divisor, NoisyCount):
            part, _ = split(self.guarantee, COUNT_SHARE)
            achieved = added([recomputed(divisor.noise, "l1", divisor.scale, part), achieved])
        tuning = {"name": design.mechanism, **design.parameters}
        public = {
            "basis": self.basis.truncate(design.functions),
            "exponent": design.exponent(problem),
            "divisor": divisor,
            "shrinkage": design.shrinkage,
            "synthesis": None if design.measurement is None else design.measurement.synthesis,
            "center": self.bound.center_on(flat_grid(self.basis)),
            "noise": design.noise,
            "hierarchy": design.hierarchy,
            "certificate": certificate.fulfilled(achieved, tuning, self.bounded, drawn),
            "about": dict(self.about) | stamp(),
        }
        return Framed(design, public)

    # What to expect.

    @property
    def one(self) -> MeanPlan:
        """Itself; of plans that are made of several, the first."""
        return self

    @cached_property
    def planned(self) -> Design | None:
        """The design for the number of units that is public, or to be expected; None without one."""
        return self.public_design or (None if self.n is None else self.design(self.n))

    @one_thread(scipy=False)
    def expected_error(self, draws: int = DRAWS) -> designs.ExpectedError | None:
        """Bias, noise and sampling that are to be expected; None without a number of units.

        draws: Means that are simulated where the error has no closed form.
        """
        if self.planned is None or self.n is None:
            return None
        rough = CountNoise(self.count_noise, COUNT_SCALE) if self.joins_count else None
        problem = self.problem(self.n)
        if isinstance(self.basis, CentredBasis) and problem.mixture is not None:
            mixture = designs.public_mixture(self.basis, self.ball.norm, OF_ONE_LENGTH)
            problem = replace(problem, mixture=mixture)
        return expected_error(problem, self.planned, self.basis, draws, rough)

    def outlook(self, quick: bool = False) -> Outlook | None:
        return self._outlook

    @cached_property
    def _outlook(self) -> Outlook | None:
        error = self.expected_error()
        return None if error is None else Outlook(self.typical(error.total), self.typical(error.most))

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
        hierarchy = None if self.planned is None else self.planned.hierarchy
        if isinstance(hierarchy, CurvePrior):
            return "the middle over ordinary curves between the bounds"
        if isinstance(hierarchy, ImagePrior):
            return "over smooth images between the bounds"
        if self.n is not None and self.problem(self.n).mixture is not None:
            least = "half" if isinstance(self.basis, CentredBasis) else "a hundredth"
            return f"over smooth means, from as large as the bound allows to {least} of that"
        return "for a mean as rough as the kernel and as large as the bound allows"

    def _band_said(self, level: float) -> str:
        return self.examples(1)[0]._claims()[0].words(level)

    @remembered(64)
    @one_thread(scipy=False)
    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        if self.n is None:
            return None
        return self.width_of(self.examples(QUICK if quick else EXAMPLES), level)

    def width_of(self, examples: Sequence[ReleasedMean], level: float, groups: int = 1) -> Outlook:
        """What is expected of a half-width by examples; with groups, of the widest of so many."""
        bands = [release.band(level) for release in examples]
        halves = np.array([np.mean(band.upper - band.lower) / 2 for band in bands])
        halves = np.max([np.roll(halves, place) for place in range(groups)], axis=0)
        # A band of values is cut at their bounds.
        most = self.scale[0] / 2 if isinstance(self.bound, ValueBounds) else math.inf
        return Outlook.of(halves, most)

    def examples(self, count: int) -> list[ReleasedMean]:
        """Releases of made-up means with simulated noise, to look at; no data are in them."""
        design, size = self.planned, self.n
        if design is None or size is None:
            raise ParameterError("n", "be given", "None", "The number of units is private: expect one.")
        divisor: float | NoisyCount = float(size)
        if self.size is None:
            divisor = NoisyCount(COUNT_SCALE * size, COUNT_SCALE, self.count_noise)
        framed = self.around(size, design, divisor, self.certified())
        framed = framed.saying(simulated="an example: no data are in it")
        sums = made_up_sums(self.problem(size), design, self.basis, count, design.counts > 0)
        noise = design.noise.simulate(np.random.Generator(np.random.Philox(key=2)), count)
        rows = np.rint(sums + noise[:, : design.components]).astype(object)
        counted = size * design.counts if design.counts else None
        releases = [framed.release(tuple(int(x) for x in row), counted) for row in rows]
        if (distance := self.distance_beside(design)) is None:
            return releases
        return self._with_distances(cast("list[ReleasedFunction]", releases), distance)

    def _with_distances(
        self, releases: Sequence[ReleasedFunction], measured: DistanceNoise
    ) -> list[ReleasedMean]:
        """Examples with the largest distances of their lines, and simulated noise on these."""
        generator, half, law = np.random.Generator(np.random.Philox(key=3)), measured.half, measured.law
        noise = law.simulate(generator, len(releases))
        apart = np.zeros((len(releases), flat_grid(self.basis).size))
        for place, release in enumerate(releases):
            curve = ordinary_curves(release._curve_model.grid, len(releases))[place]
            lower, upper = known(release._limits)
            width = upper - lower
            off = np.asarray(release(release.grid_points)) - lower - width * curve
            apart[place, width > 0] = off[width > 0] / width[width > 0]
        answers = list[ReleasedMean]()
        among = self.telling.among
        own = among.index(self.size or 0) if among else 0
        for place, (release, drawn) in enumerate(zip(releases, noise, strict=True)):
            if measured.in_box or not among:
                most = None
                if self.size is None:
                    most = farthest(*line_in_integers(release, self), self.neighbours)
                largest = 2 * half * release.count * float(np.max(np.abs(apart[place])))
                numbers = np.rint(largest * 2 * half / (most or 2 * half) + drawn).astype(int).tolist()
                distance: Distance = told_by(numbers, half, law, most)
            else:
                # Of the other groups, which are examples too.
                others = [(place + group - own) % len(releases) for group in range(len(among))]
                both = told_of_groups(apart[others], among)
                numbers = np.rint(2 * half * np.array(both) + drawn).astype(int).tolist()
                distance = GroupDistance(numbers[0], half, law, numbers[1], among, own)
            answers.append(telling(release, distance))
        return answers

    @property
    def scale(self) -> tuple[float, str]:
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
        least = designs.least_error(self.problem(self.n))
        return None if least is None else self.typical(least)

    def limit_of_any(self) -> float | None:
        """What no mechanism with the guarantee can expect to fall below, as `error`."""
        least = None if self.n is None else designs.least_error_of_any(self.problem(self.n))
        return None if least is None else self.typical(least)

    def limit_of_box(self) -> float | None:
        """What share of the noise power of its box any pure mechanism has, if means are alike likely."""
        design, guarantee = self.planned, self.function_guarantee
        if design is None or design.counts or not isinstance(guarantee, PureDP):
            return None
        if not isinstance(design.noise, BoxNoise | BoxPartNoise):
            return None
        scales = np.array([float(scale) for scale in design.noise.scales])
        return designs.least_share_of_box(scales, float(guarantee.epsilon))


class PlanOfMeans(Plan):
    """A plan that is made of plans of means, and says what one of them says but for what it adds."""

    parts: Mapping[str, MeanPlan]

    @property
    def one(self) -> MeanPlan:
        """The plan of one mean, the first: guarantee, bound and basis are the same for all."""
        return next(iter(self.parts.values()))

    guarantee: Guarantee = said_by("one.guarantee")
    neighbours: Neighbours = said_by("one.neighbours")
    unit: str = said_by("one.unit")
    bounded: Mapping[str, object] = said_by("one.bounded")
    about: Mapping[str, object] = said_by("one.about")

    functions = said_by("one.functions")
    scale = said_by("one.scale")

    @property
    def expected_of(self) -> MeanPlan | None:
        """The plan whose errors and bands are to be expected; None where none can be stated."""
        return self.one

    def outlook(self, quick: bool = False) -> Outlook | None:
        plan = self.expected_of
        return None if plan is None else plan.outlook(quick)

    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        plan = self.expected_of
        return None if plan is None else plan.outlook_width(level, quick)
