"""Noise in shares at the crossing: one party's share onto its sum, and the release of all of them.

Each party charges its own ledger before it draws, and whoever joins the sums draws nothing: the total
that it opens has the noise in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from dpfda.mechanisms import Design
from dpfda.noise import NoiseLaw
from dpfda.noise.knorm_shares import SharedKNormNoise
from dpfda.noise.protocol import AnyNorm, Width
from dpfda.noise.shared import SharedGaussianNoise, SharedLaplaceNoise, shared, shared_symmetric
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise, achieved_symmetric
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.publication.charging import charge, recomputed
from dpfda.publication.means import MeanPlan, ReleasedMean, released_mean
from dpfda.publication.needed import times
from dpfda.publication.paying import Paying
from dpfda.publication.plan import Plan

SharedLaw = SharedGaussianNoise | SharedLaplaceNoise | SharedKNormNoise
ONE = Fraction(1)


@dataclass(frozen=True, eq=False)
class Sharing:
    """What of a plan gets noise that can be drawn in shares. Public.

    plan: Whose certificate is charged.
    noise: The central law.
    norm, width: Neighbouring data sets move the integers by at most `width` in this norm; of noise on
        matrices the width says all.
    guarantee: What the noise gives.
    groups: Disjoint groups, whose sums get such noise one after another; behind them stand their public
        numbers of units. A unit is in one of them, and the noise of the others tells nothing of it. 0
        where there is one sum and no group.
    """

    plan: Plan
    noise: NoiseLaw | SymmetricNoise
    norm: AnyNorm
    width: Width | OuterDifference
    guarantee: Guarantee
    groups: int = 0

    @classmethod
    def of_mean(cls, plan: MeanPlan) -> Sharing:
        """Of a mean. Raises ParameterError if its number of units is private and has noise."""
        design, problem = designed(plan), plan.problem(int(plan.size or 0))
        return cls(plan, design.noise, *problem.differences(design), problem.guarantee)

    def numbers(self, law: SharedLaw) -> int:
        """How many integers each part has."""
        return law.components * max(1, self.groups) + self.groups

    def law(self, honest: int) -> SharedLaw:
        """The law of so many shares, which together keep the guarantee.

        Raises RefusedMechanismError if the noise cannot be drawn in shares.
        """
        if isinstance(self.width, OuterDifference):
            matrix = cast("SymmetricNoise", self.noise)
            return cast("SharedLaw", shared_symmetric(matrix, honest, self.width, self.guarantee))
        return shared(cast("NoiseLaw", self.noise), honest, self.norm, self.width, self.guarantee)

    def lost(self, law: SharedLaw, shares: int, weight: Fraction = ONE) -> Guarantee:
        """What is lost to whoever can subtract all but so many shares, rounded outward.

        weight: Of the custodian whose unit loses it.
        Raises RefusedMechanismError where nothing is proved for so few.
        """
        asked = self.guarantee if weight == ONE else times(self.guarantee, weight)
        drawn, width = replace(law, drawn=shares), self.moved(weight)[1]
        if isinstance(width, OuterDifference):
            return achieved_symmetric(cast("SymmetricNoise", drawn), width, asked)
        return drawn.achieved(self.norm, width, asked)

    def moved(self, weight: Fraction) -> tuple[Fraction, Width | OuterDifference]:
        """The factor that gives a party's sum a weight, and the width by which a unit moves it then.

        That is less than the weight times the width: the factor leaves room for rounding
        (`IntegerSum.weighed`), which adds less than one to each coordinate of a difference.
        Raises ParameterError if there is no room, or no factor is known for the norm.
        """
        if weight == ONE or isinstance(self.width, OuterDifference):
            return ONE, self.width
        widths = self.width if isinstance(self.width, tuple) else (self.width,)
        count = self.noise.components
        spare = {"l1": count, "l2": math.isqrt(count) + 1, "linf": 1, "box": 1}.get(
            self.norm, max(widths)
        )
        allowed = tuple(max(math.ceil(weight * width) - 1, 0) for width in widths)
        factors = [Fraction(a - spare, w) for a, w in zip(allowed, widths, strict=True) if w > spare < a]
        if len(factors) < sum(width > 0 for width in widths):
            words = "leave a unit more than rounding moves, in a box or in the norm l1 or l2"
            raise ParameterError("weights", words, f"{weight} in {self.norm}")
        return min(factors), allowed if isinstance(self.width, tuple) else allowed[0]

    def certified(self, guarantee: Guarantee | None = None) -> Certificate:
        """The guarantee alone: sums of shares are close to the law that composes better, and not it."""
        cost = Cost(guarantee or self.guarantee)
        return replace(self.plan.certified(), guarantee=cost.guarantee, stages=(WHOLE,), costs=(cost,))

    def with_share(
        self, total: IntegerSum, law: SharedLaw, paying: Paying, weight: Fraction = ONE
    ) -> IntegerSum:
        """Charge, draw one share and add it to a party's sum: a sum that may be masked.

        weight: Of this party's units, which lose so much less; its ledger pays what they lose.
        Raises BudgetError if the ledger refuses; nothing was drawn.
        """
        made, lost = IntegerSum(self.numbers(law)), None
        if weight != ONE:
            total = total.weighed(self.moved(weight)[0])
            lost = self.lost(law, law.honest, weight)
        charge(paying, self.certified(lost), self.plan.entry())
        # Under add/remove neighbours the number of units is private, and has no noise: nobody opens it.
        public = self.plan.neighbours is Neighbours.REPLACE_ONE
        noise = [z for _ in range(max(1, self.groups)) for z in law.share()] + [0] * self.groups
        return made.add_totals(total.with_noise(noise), public and total.count_with_noise(0, 1))

    def opened(
        self, total: IntegerSum, law: SharedLaw, paying: Paying
    ) -> tuple[tuple[int, ...], Certificate]:
        """Charge for a total with the noise of all shares in it: its integers, and what was promised.

        law: With as many shares drawn as are in the total.
        """
        certificate = self.certified().fulfilled(recomputed(law, self.norm, self.width, self.guarantee))
        charge(paying, certificate, self.plan.entry())
        return total.with_noise([0] * law.components), certificate


def publish_shared(
    total: IntegerSum,
    plan: MeanPlan,
    law: SharedLaw,
    paying: Paying,
    size: int | Fraction | None = None,
) -> ReleasedMean:
    """Charge for a mean's total that has the noise of all shares in it, and release it.

    law: As in `Sharing.opened`.
    size: The public number of units in it, where that is not the plan's; a fraction where it is weighed.
    """
    design, certificate = replace(designed(plan), noise=law), Sharing.of_mean(plan).certified()
    size = int(plan.size or 0) if size is None else size
    public = plan.around(math.floor(size), design, float(size), certificate)
    if isinstance(size, Fraction):
        public["about"] = {**public["about"], "counted": "by the weights of their custodians"}
    charge(paying, certificate, plan.entry())
    return released_mean(public, design, total.with_noise([0] * law.components))


def designed(plan: MeanPlan) -> Design:
    """The design of a mean whose noise is shared. Raises ParameterError if it awaits a private count."""
    design = plan.public_design
    if design is None or design.counts or design.thresholds:
        raise ParameterError(
            "noise", "be drawn by the coordinator where the number of units is private", "'shared'"
        )
    return design
