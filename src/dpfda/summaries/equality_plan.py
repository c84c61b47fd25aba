"""The plan of a test that groups have one mean function: its statistic, its noise, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy

from dpfda.mechanisms.cells import Cells
from dpfda.mechanisms.design.forms import DESCRIBED, DEVIATION, FINE, LEVEL, Forms, quantiles
from dpfda.mechanisms.design.shares import EXPONENT
from dpfda.mechanisms.protocol import Design, Problem
from dpfda.noise import cost_of
from dpfda.numerics.aggregate import IntegerSum, exact_product
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import probability, real
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee
from dpfda.privacy.words import number
from dpfda.publication import MeanPlan, PlanOfMeans, Prepared, recomputed, stamp
from dpfda.publication.accounts import NAMED, Paying
from dpfda.publication.statistics import publish_statistic, statistic_noise
from dpfda.releases.shares import NoisyShares
from dpfda.releases.tested import ReleasedTest

POWER = 0.8


@dataclass(frozen=True)
class FineSums:
    """In the place of a mechanism: sums over fine cells are made as for it, and no noise is drawn."""

    name: ClassVar[str] = "fine sums"

    def design(self, problem: Problem) -> Design:
        """What is measured: sums over fine cells of the grid."""
        if problem.cube is None:
            raise ParameterError(
                "bounds", "be a pair (lower, upper) of bounds on values, for a test of equality",
                f"{problem.norm} body", "Or use PrivateComparison, whose release has a test.",
            )  # fmt: skip
        return Cells(min(FINE, problem.cube.weights.size)).design(problem)


@dataclass(frozen=True, eq=False)
class TestPlan(PlanOfMeans):
    """Plan of a test that groups have one mean function.

    Parameters
    ----------
    parts : mapping
        How the records of each group are summed, by its name; no noise is drawn by these plans.
    asked : Guarantee
    sizes : tuple of int
        Public number of units of each group.
    look_for : str
    """

    # Not a test of ours, whatever its name begins with.
    __test__ = False

    parts: Mapping[str, MeanPlan]
    asked: Guarantee
    sizes: tuple[int, ...]
    look_for: str

    @property
    def one(self) -> MeanPlan:
        """Of one of the groups: grid, bound and cells are the same for all."""
        return next(iter(self.parts.values()))

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What is charged: without delta where the noise needs none."""
        return statistic_noise(self.asked)[1]

    @property
    def size(self) -> int:  # type: ignore[override]
        """Of the smallest group."""
        return min(self.sizes)

    @property
    def bounded(self) -> Mapping[str, object]:  # type: ignore[override]
        return {"description": self.one.bounded["description"]}

    @property
    def about(self) -> Mapping[str, object]:  # type: ignore[override]
        return {**self.one.about, "summary": "test of equal mean curves"}

    @property
    def functions(self) -> str:
        return f"one number: {DESCRIBED[self.look_for]}"

    @property
    def tuning(self) -> dict[str, object]:
        said = statistic_noise(self.asked)[0].describe().replace("coefficients", "number")
        return {"name": "statistic", "looks for": self.look_for, "noise": said}

    def entry(self) -> dict[str, object]:
        return super().entry() | {"groups": list(self.parts)}

    def costs(self) -> dict[str, Cost]:
        law, charged, norm, width = statistic_noise(self.asked)
        return {WHOLE: cost_of(law, recomputed(law, norm, width, charged), charged)}

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Bounds (m,) on values at the grid points."""
        lower, upper = self.one.bound.curves_on(self.one.basis.grid_points)  # type: ignore[attr-defined]
        return lower, upper

    @cached_property
    def forms(self) -> Forms:
        """What the statistic is made of."""
        lower, upper = self.limits
        return Forms((upper - lower) / 2, self.one.basis.weights, self.sizes, self.look_for)

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> TestPlan:
        """The plan for another guarantee, and n units in each group."""
        return replace(self, asked=guarantee, sizes=(n,) * len(self.sizes))

    def detectable(
        self, level: float = LEVEL, power: float = POWER, variance: float | None = 0.0
    ) -> float:
        """The difference that is found with a probability, in the units of the values.

        Parameters
        ----------
        level : float
            Of the test.
        power : float
            The probability.
        variance : float, optional
            Of a unit's value at every point. At 0 of the groups themselves; None is the largest that
            the bounds allow.

        Returns
        -------
        float
            With look_for="any" or "level" a difference in level, else in what is looked for: half of
            that between the ends, or between ends and middle.
        """
        level, power = probability(level, "level"), probability(power, "power")
        half = self.forms.half_widths
        wide = 2 * float(half.mean())
        stated = half**2
        if variance is not None:
            stated = np.minimum(stated, real(variance, "variance", 0.0, 1e200))
        law, unit = statistic_noise(self.asked)[0], 2.0**EXPONENT * self.forms.smallest
        critical = self.forms.critical(level, law, stated)
        spread = max(float(each[0]) for each in self.forms.deviations(stated))
        drawn = quantiles(law)

        def missed(size: float) -> float:
            beyond = critical - drawn
            inside = scipy.special.ndtr((beyond - size) / spread) - scipy.special.ndtr(
                (-beyond - size) / spread
            )
            return float(np.mean(np.maximum(inside, 0.0))) - (1 - power)

        if spread == 0:
            return max(critical - float(np.quantile(drawn, 1 - power)), 0.0) / unit * wide
        highest = 2 * (abs(critical) + drawn[-1] + 9 * spread)
        return float(scipy.optimize.brentq(missed, 0.0, highest, rtol=1e-6)) / unit * wide

    def expected(self, quick: bool = False) -> float | None:
        return self.detectable()

    @property
    def error_axis(self) -> str:
        return f"difference that is found\n({self.about.get('value', 'units of the values')})"

    @property
    def error_words(self) -> str:
        wide, _ = self.scale
        usual = (self.detectable(variance=variance) for variance in ((DEVIATION * wide) ** 2, None))
        few, most = map(number, usual)
        return (
            f"the difference between groups that is found with probability {POWER:.0%} at level "
            f"{LEVEL:g}; between populations {few} where values deviate by {number(DEVIATION * wide)}, "
            f"and {most} where by as much as the bounds allow"
        )

    @property
    def scale(self) -> tuple[float, str]:
        lower, upper = self.limits
        return float(np.mean(upper - lower)), "the distance between the bounds"

    @property
    def noise_words(self) -> str:
        return f"statistic: {self.tuning['noise']}"


def publish_test(
    parts: Mapping[str, Prepared[MeanPlan, IntegerSum]], plan: TestPlan, paying: Paying = NAMED
) -> ReleasedTest:
    """Charge, draw, add: the released statistic of the sums of each group."""
    one = plan.one
    cube, cells = one.problem(plan.size).cube, one.measured
    assert cube is not None and cells is not None  # noqa: S101, PT018
    half_widths = exact_product(cells, cube.half_widths.tolist())
    lower, upper = plan.limits
    made = (tuple(plan.parts), plan.sizes, plan.look_for, one.basis.grid_points, one.basis.weights)
    about = {**plan.about, **stamp()}
    # All that can fail on public grounds has been tried before the charge.
    tried = NoisyShares((0,), statistic_noise(plan.asked)[0], plan.forms.smallest)
    ReleasedTest(*made, lower, upper, tried, plan.certified(), about)
    shares, certificate = publish_statistic(
        [part.total for part in parts.values()], half_widths, plan.forms, plan.asked, plan.entry(),
        plan.tuning, paying,
    )  # fmt: skip
    return ReleasedTest(*made, lower, upper, shares, certificate, about)
