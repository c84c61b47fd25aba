"""Noise in shares at the crossing: one party's share onto its sum, and the release of all of them.

Each party charges its own ledger before it draws, and whoever joins the sums draws nothing: the total
that it opens has the noise in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from dpfda.mechanisms import Design
from dpfda.noise import AnyNorm, NoiseLaw, Width, achieved_guarantee
from dpfda.noise.knorm_shares import SharedKNormNoise
from dpfda.noise.shared import SharedGaussianNoise, SharedLaplaceNoise, shared, shared_symmetric
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.privacy.ledger.named import Paying
from dpfda.publication.charging import charge, recomputed
from dpfda.publication.means import Framed, MeanPlan, ReleasedMean
from dpfda.publication.needed import times
from dpfda.publication.plan import Plan

SharedLaw = SharedGaussianNoise | SharedLaplaceNoise | SharedKNormNoise
ONE = Fraction(1)
# Of a unit that counts by the weight of its party, where units of a group are added up.
COUNTED = 1 << 20
PRIVATE = (
    "be drawn by the coordinator where the number of units is private",
    "'shared'",
    "Give public_size, a public number to divide by.",
)


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
    along: Whether sides of a box stand for parts that are no longer than these, in the norm of the
        noise, and move in other coordinates as well.
    """

    plan: Plan
    noise: NoiseLaw | SymmetricNoise
    norm: AnyNorm
    width: Width | OuterDifference
    guarantee: Guarantee
    groups: int = 0
    along: bool = False

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
        guarantee = self.guarantee if weight == ONE else times(self.guarantee, weight)
        drawn, width = replace(law, drawn=shares), self.moved(weight)[1]
        return achieved_guarantee(drawn, self.norm, width, guarantee)

    def moved(self, weight: Fraction) -> tuple[Fraction, Width | OuterDifference]:
        """The factor that gives a party's sum a weight, and the width by which a unit moves it then.

        That is less than the weight times the width: the factor leaves room for rounding
        (`IntegerSum.weighed`), which adds less than one to each coordinate of a difference.
        Raises ParameterError if there is no room.
        """
        width, count = self.width, self.noise.components
        if weight == ONE:
            return ONE, width
        if isinstance(width, OuterDifference):
            sides: tuple[int, ...] = (math.isqrt(width.frobenius_square),)
            spare = [Fraction(count + 1)]
        else:
            sides = width if isinstance(width, tuple) else (width,)
            spare = self._room(sides)
        less = tuple(max(math.ceil(weight * side) - 1, 0) for side in sides)
        pairs = zip(less, spare, sides, strict=True)
        factor = min((reach - room) / side for reach, room, side in pairs if side)
        if factor <= 0:
            words = "leave a unit more than rounding moves"
            raise ParameterError("weights", words, f"{weight} in {self.norm}")
        if isinstance(width, OuterDifference):
            return factor, replace(width, frobenius_square=less[0] ** 2)
        return factor, less if isinstance(width, tuple) else less[0]

    def _room(self, sides: tuple[int, ...]) -> list[Fraction]:
        """What rounding may add to each side.

        In a ball or a box the length of a vector of ones. Else the loss, a norm L, may grow by sum_j 1 /
        a_j <= K / min_j a_j, where L(width) is at least that of one side: all sides have so much less.
        One more than K is for scales that are rounded up.
        """
        count = self.noise.components
        ones = {"l1": count, "l2": math.isqrt(count) + 1, "linf": 1, "box": 1}
        if self.norm in ones and not self.along:
            return [Fraction(ones[self.norm])] * len(sides)
        scales = self.law(1).scales
        longest = max(Fraction(side, scale) for side, scale in zip(sides, scales, strict=False))
        return [side * (count + 1) / (longest * min(scales)) for side in sides]

    @property
    def relative_variance(self) -> float:
        """That of the noise on all numbers, where the most that one unit can have is one."""
        width, variances = self.width, self.noise.variances()
        if isinstance(width, OuterDifference):
            return 4 * float(variances.sum()) / float(width.frobenius_square)
        sides = width if isinstance(width, tuple) else (width,)
        return 4 * float(variances.sum()) / sum(float(side) ** 2 for side in sides)

    def certified(self, guarantee: Guarantee | None = None) -> Certificate:
        """The guarantee alone: sums of shares are close to the law that composes better, and not it."""
        cost = Cost(guarantee or self.guarantee)
        return replace(self.plan.certified(), guarantee=cost.guarantee, stages=(WHOLE,), costs=(cost,))

    def with_share(
        self, total: IntegerSum, law: SharedLaw, paying: Paying, weight: Fraction | None = None
    ) -> IntegerSum:
        """Charge, draw one share and add it to a party's sum: a sum that may be masked.

        weight: Of this party's units, which lose so much less: its ledger pays what they lose. None if
            nobody has one: units of groups are counted as wholes then, and else in parts of 1 / COUNTED.
        Raises BudgetError if the ledger refuses; nothing was drawn.
        """
        part, lost = IntegerSum(self.numbers(law)), None
        if weight is not None:
            factor = self.moved(weight)[0]
            total = total.weighed(factor, self.groups, COUNTED)
            lost = None if weight == ONE else self.lost(law, law.honest, weight)
        charge(paying, self.certified(lost), self.plan.entry())
        # Under add/remove neighbours the number of units is private, and has no noise: nobody opens it.
        public = self.plan.neighbours is Neighbours.REPLACE_ONE
        noise = [z for _ in range(max(1, self.groups)) for z in law.share()] + [0] * self.groups
        return part.add_totals(total.with_noise(noise), public and total.count_with_noise(0, 1))

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
    total: IntegerSum, plan: MeanPlan, law: SharedLaw, paying: Paying, size: int | Fraction | None = None
) -> ReleasedMean:
    """Charge for a mean's total that has the noise of all shares in it, and release it.

    law: As in `Sharing.opened`.
    size: The public number of units in it, where that is not the plan's; a fraction where it is weighed.
    """
    design, certificate = replace(designed(plan), noise=law), Sharing.of_mean(plan).certified()
    size = int(plan.size or 0) if size is None else size
    framed = around(plan, design, size, certificate)
    charge(paying, certificate, plan.entry())
    return framed.release(total.with_noise([0] * law.components))


def around(plan: MeanPlan, design: Design, size: int | Fraction, certificate: Certificate) -> Framed:
    """What a mean of so many units is released with, made before its total is opened."""
    framed = plan.around(math.floor(size), design, float(size), certificate)
    return framed.saying(**counted({}, size))


def counted(about: Mapping[str, object], size: object) -> dict[str, object]:
    """What a release says of units that count by the weights of their parties: `size` is a fraction."""
    weighed = {"counted": "by the weights of their custodians"} if isinstance(size, Fraction) else {}
    return {**about, **weighed}


def designed(plan: MeanPlan) -> Design:
    """The design of a mean whose noise is shared. Raises ParameterError if it awaits a private count."""
    design = plan.public_design
    if design is None or design.counts or design.thresholds:
        raise ParameterError("noise", *PRIVATE)
    return design
