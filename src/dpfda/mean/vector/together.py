"""Several releases of the same privacy units under one charge: shares of a budget, or one draw for all.

*Shares.* Each has noise for its share of the budget; basic composition adds them up.

*One box.* Where each has box noise on what it measures, all measured integers together differ between
neighbours by a vector d with |d_j| <= w_j, the sides of each sum's own box: a unit is in all sums at
once. Box noise on all D coordinates with the scales w_j / epsilon, rounded up, has the loss
max_j w_j / b_j <= epsilon (Hardt & Talwar 2010; `dpfda.noise.bodies`). A coordinate has variance
w_j^2 (D + 1)(D + 2) / (3 epsilon^2) then. With c shares and M = D / c coordinates each it has
w_j^2 c^2 (M + 1)(M + 2) / (3 epsilon^2), which is more for every c > 1: twice as much for two averages,
1.07 times for twice twenty. Numbers that tell how far each line is are coordinates more of the same box
(`dpfda.publication.distances`).

*One Gaussian*, with a delta. Sum k gets independent normal noise of deviations s_k; let m_k be the
largest Cameron-Martin length |d_k / s_k| by which one unit moves it (`dpfda.noise.gaussian`, from the
integer scales, rounded up). All sums as one vector, each in units of its own deviations, are one
Gaussian mechanism whose shift has the length (sum_k |d_k / s_k|^2)^(1/2) <= (sum_k m_k^2)^(1/2) = mu,
attained where one unit moves every sum as far as it goes. So the whole has the exact profile at mu
(Balle & Wang 2018, Theorem 8), and that alone must keep (epsilon, delta). Sums get equal parts,
m_k = mu / c^(1/2), mu the largest that the guarantee allows: deviations c^(1/2) times those of one sum
by itself. Shares (epsilon / c, delta / c) never do better: c of them give (epsilon, delta) by basic
composition and are one Gaussian of length c^(1/2) m, so c^(1/2) m <= mu. They have about c^(1/2) times
the deviation, as m falls about like epsilon.

Under zero-concentrated privacy shares of rho *are* that: rho / c for each is m_k^2 / 2 = mu^2 / (2 c).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Self, cast

from dpfda.mechanisms import Design
from dpfda.mechanisms.design import counted_power
from dpfda.noise import (
    BoxNoise,
    BoxPartNoise,
    GaussianNoise,
    NoiseLaw,
    body_noise,
    cost_of,
    gaussian_ratio,
    parts_of,
)
from dpfda.noise.charges import normal_within
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.encoding import Json
from dpfda.numerics.parameters import known
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP, added
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import MeanPlan, charge, recomputed
from dpfda.publication.averages import check, publish
from dpfda.publication.distances import with_distance
from dpfda.publication.means import Framed
from dpfda.publication.needed import times
from dpfda.releases.distance import moved
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.promise import ALL


def equal_share(guarantee: Guarantee, parts: int) -> Guarantee:
    """What each of so many releases may cost, exactly; they add up to the guarantee.

    Basic composition: epsilon and delta add up, and so do zero-concentrated losses (Bun & Steinke 2016,
    Lemma 2.3).
    """
    share = times(guarantee, Fraction(1, parts))
    return replace(share, delta=share.delta / parts) if isinstance(share, ApproximateDP) else share


def gaussian_share(guarantee: ApproximateDP, parts: int) -> ZeroConcentratedDP:
    """What each of so many sums has of one Gaussian with this guarantee: equal parts of mu^2 / 2."""
    return ZeroConcentratedDP(gaussian_ratio(guarantee) ** 2 / (2 * parts))


def stages_of(plans: Mapping[str, MeanPlan]) -> dict[str, dict[str, Cost]]:
    """What each plan's stages cost, by names that tell them from those of other plans."""
    costs = {name: plan.costs().items() for name, plan in plans.items()}
    return {name: {f"{name}: {stage}": cost for stage, cost in own} for name, own in costs.items()}


def costs_together(plans: Mapping[str, MeanPlan]) -> dict[str, Cost]:
    """What each stage of each plan costs."""
    return dict(chain.from_iterable(own.items() for own in stages_of(plans).values()))


def publish_together(
    totals: Mapping[str, IntegerSum],
    plans: Mapping[str, MeanPlan],
    stages: Mapping[str, Iterable[str]],
    whole: Certificate,
    entry: Mapping[str, object],
    paying: Paying = NAMED,
) -> tuple[Json, Certificate]:
    """Release several sums over the same privacy units; the ledger is charged once, before any noise.

    totals: Private sums, by name.
    plans: Public sides of their releases.
    stages: Names of what each of them costs in the certificate of all.
    whole: Of all together.
    entry: Public description for the ledger's history.
    paying: As in `dpfda.publication.publish`.
    Returns releases, each with its own part of the certificate of all.
    Raises BudgetError if the ledger refuses; no noise was drawn.
    """
    own = {name: whole.part(*stages[name]) for name in plans}
    for name, plan in plans.items():
        check(plan, own[name])
    charge(paying, whole, entry)
    released = {name: publish(totals[name], plan, certificate=own[name]) for name, plan in plans.items()}
    return released, whole.fulfilled(added([mean.certificate.achieved for mean in released.values()]))


@dataclass(frozen=True, eq=False)
class OneDraw:
    """Noise that one draw puts on all that several plans measure. Public.

    plans: In the order of the coordinates; their designs say what is measured.
    noise: On all coordinates.
    guarantee: For all together.
    """

    plans: Mapping[str, MeanPlan]
    noise: BoxNoise | GaussianNoise
    guarantee: PureDP | ApproximateDP

    @classmethod
    def best(cls, plans: Mapping[str, MeanPlan], guarantee: Guarantee) -> Self | None:
        """That with the least noise for a public number of units; None where shares have less.

        Compared are products over the plans of `counted_power`, under one box and, with a delta, one
        Gaussian. Plans whose records are not clipped on the grid have shares.

        plans: As they were designed for equal shares of the budget.
        guarantee: For all together.
        """
        on_grid = all(plan.size and plan.on_grid and plan.images is None for plan in plans.values())
        if len(plans) < 2 or not on_grid or isinstance(guarantee, ZeroConcentratedDP):
            return None
        candidates = (cls.of_box(plans, guarantee), cls.of_gaussian(plans, guarantee))
        draws = [draw for draw in candidates if draw is not None]
        if not draws:
            return None
        shares = _logs(plans, {name: _design(plan) for name, plan in plans.items()})
        best = min(draws, key=lambda draw: _logs(plans, draw.designs))
        return best if _logs(plans, best.designs) < shares else None

    @classmethod
    def of_box(cls, plans: Mapping[str, MeanPlan], guarantee: PureDP | ApproximateDP) -> Self | None:
        """One box on sums over cells; None where what is measured has no box."""
        pure = PureDP(guarantee.epsilon)
        if isinstance(guarantee, ApproximateDP):
            plans = _under(equal_share(pure, len(plans)), plans)
        if not all(
            plan.answers_with_line and isinstance(_design(plan).noise, BoxNoise | BoxPartNoise)
            for plan in plans.values()
        ):
            return None
        sides = tuple(side for plan in plans.values() for side in _sides(plan))
        return cls(plans, cast("BoxNoise", body_noise("box", sides, pure)), guarantee)

    @classmethod
    def of_gaussian(
        cls, plans: Mapping[str, MeanPlan], guarantee: PureDP | ApproximateDP
    ) -> Self | None:
        """One Gaussian; None where there is no delta, or a mechanism has other noise."""
        if not isinstance(guarantee, ApproximateDP):
            return None
        alone = {name: plan.line_alone for name, plan in plans.items()}
        plans = _under(gaussian_share(guarantee, len(plans)), alone)
        laws = [_design(plan).noise for plan in plans.values()]
        if not all(isinstance(law, GaussianNoise) for law in laws):
            return None
        scales = [scale for law in laws for scale in cast("GaussianNoise", law).scales]
        return cls(plans, GaussianNoise(tuple(scales)), guarantee)

    @property
    def sizes(self) -> dict[str, int]:
        """Number of coordinates of each plan."""
        return {
            name: _design(plan).components + plan.distance_sides for name, plan in self.plans.items()
        }

    @property
    def designs(self) -> dict[str, Design]:
        """The design of each plan, with what it sees of the noise."""
        laws = dict[str, NoiseLaw]()
        if isinstance(self.noise, BoxNoise):
            laws |= {name: cells for name, (cells, _) in self._in_box.items()}
        else:
            scales = self.parted(self.noise.scales)
            laws |= {name: GaussianNoise(tuple(own)) for name, own in scales.items()}
        return {name: replace(_design(plan), noise=laws[name]) for name, plan in self.plans.items()}

    @cached_property
    def _in_box(self) -> dict[str, tuple[BoxPartNoise, BoxPartNoise | None]]:
        """What each plan's cells see of a box's noise, and the sides that tell its largest distance."""
        noises, noise = {}, cast("BoxNoise", self.noise)
        for name, part in zip(self.plans, parts_of(noise, tuple(self.sizes.values())), strict=True):
            cells = _design(self.plans[name]).components
            scales, sides = part.scales[:cells], part.scales[cells:]
            beside = replace(part, scales=sides) if sides else None
            noises[name] = replace(part, scales=scales), beside
        return noises

    def parted(self, values: Sequence[object]) -> Json:
        """One value a coordinate, dealt to the plans."""
        parts, start = {}, 0
        for name, size in self.sizes.items():
            parts[name], start = values[start : start + size], start + size
        return parts

    def achieved(self) -> Guarantee:
        """What the scales in force give for all together, recomputed and rounded outward.

        Raises DpfdaError if it is more than the guarantee.
        """
        if isinstance(self.noise, BoxNoise):
            sides = tuple(side for plan in self.plans.values() for side in _sides(plan))
            return recomputed(self.noise, "box", sides, PureDP(self.guarantee.epsilon))
        lost = Fraction(0)
        for name, design in self.designs.items():
            plan = self.plans[name]
            differences = plan.problem(known(plan.size)).differences(design)
            rho = design.noise.achieved(*differences, ZeroConcentratedDP(Fraction(1)))
            lost += cast("ZeroConcentratedDP", rho).rho
        return normal_within(ZeroConcentratedDP(lost), self.guarantee)

    def costs(self) -> dict[str, Cost]:
        """What the one stage costs."""
        return {ALL: cost_of(self.noise, self.achieved(), self.guarantee)}

    @cached_property
    def seen(self) -> dict[str, MeanPlan]:
        """Each plan with what it sees of the noise, under the guarantee of all."""
        sides = self._in_box if isinstance(self.noise, BoxNoise) else {}
        return {
            name: replace(
                self.plans[name],
                guarantee=self.guarantee,
                drawn=design,
                telling=replace(
                    self.plans[name].telling, beside=sides[name][1] if name in sides else None
                ),
            )
            for name, design in self.designs.items()
        }


def publish_in_one_draw(
    totals: Mapping[str, IntegerSum],
    draw: OneDraw,
    whole: Certificate,
    entry: Mapping[str, object],
    paying: Paying = NAMED,
) -> tuple[Json, Certificate]:
    """Release several sums over the same units with one draw of noise, at one charge.

    totals: Private sums of what the plans of the draw measure.
    whole: Of all together, with the costs of the draw.
    entry, paying: As in `publish_together`.
    Returns releases, each with the certificate of all: one draw paid for them.
    Raises DpfdaError if the noise gives more than the guarantee; nothing was charged. Raises BudgetError
    if the ledger refuses; no noise was drawn.
    """
    # The law of each part is recomputed, and must keep the guarantee of all.
    paid = {name: cast("Framed", check(plan, whole)) for name, plan in draw.seen.items()}
    achieved = draw.achieved()
    charge(paying, whole, entry)
    noise, released = draw.parted(draw.noise.draw()), {}
    for name, plan in draw.seen.items():
        design, total = paid[name].design, totals[name]
        sums = plan.measure(total, design)
        released[name] = paid[name].release(sums.with_noise(noise[name][: design.components]))
        if (beside := plan.telling.beside) is not None:
            line, sides = cast("ReleasedFunction", released[name]), noise[name][design.components :]
            released[name] = with_distance(line, total, plan, beside, sides)
    return released, whole.fulfilled(achieved)


def _under(share: Guarantee, plans: Mapping[str, MeanPlan]) -> dict[str, MeanPlan]:
    return {name: plan.remade(share, known(plan.size)) for name, plan in plans.items()}


def _logs(plans: Mapping[str, MeanPlan], designs: Mapping[str, Design]) -> float:
    """Logarithm of the product of what designs of these plans are compared by."""
    problems = {name: plan.problem(known(plan.size)) for name, plan in plans.items()}
    return sum(math.log(counted_power(problem, designs[name])) for name, problem in problems.items())


def _design(plan: MeanPlan) -> Design:
    return known(plan.public_design)


def _sides(plan: MeanPlan) -> tuple[int, ...]:
    """How far one unit moves each integer that gets noise; it does not depend on the budget."""
    kind, sides = plan.problem(known(plan.size)).differences(_design(plan))
    assert kind == "box" and not isinstance(sides, int)  # noqa: S101, PT018
    return sides + (moved(plan.largest_half, plan.neighbours),) * plan.distance_sides
