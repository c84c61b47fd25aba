"""The means of several channels as one exact sum, wherever the units are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy

from dpfda.bases.protocol import Functions
from dpfda.mean.pooled import PooledMean
from dpfda.mean.streams import finished
from dpfda.mean.vector.plan import VectorPlan, publish_vector
from dpfda.mean.vector.release import ReleasedVector
from dpfda.mean.vector.together import ALL
from dpfda.mechanisms import Design
from dpfda.noise import GaussianNoise
from dpfda.noise.differences import sizes_of
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Integers
from dpfda.numerics.errors import DpfdaError, ParameterError, RefusedMechanismError
from dpfda.privacy.guarantees import Neighbours
from dpfda.publication import MeanPlan, Prepared, read_ledger
from dpfda.publication.means import released_mean
from dpfda.publication.shares import SharedLaw, Sharing, designed
from dpfda.records.labels import read_keys
from dpfda.spine.arguments import Labels, Records
from dpfda.spine.pooled import PooledSum, Rows
from dpfda.spine.settings import Settings
from dpfda.spine.sums import Summation


@dataclass(frozen=True, eq=False)
class PooledVector(PooledSum):
    """Means of channels of the same units as a sum: their sums one after another.

    Shares of Gaussian noise are on all that is measured together. One unit moves channel k by at most a
    length m_k, each number in units of its own deviation, and all by at most (sum_k m_k^2)^(1/2)
    (`dpfda.mean.vector.together`): as a box does that has, of each channel, the widths of its own box,
    or that number alone by which its own body is longest.

    Parameters
    ----------
    settings : Settings
    plan : VectorPlan
        On the columns of all holders.
    parted : callable
        From records to those of each channel, in order.
    """

    settings: Settings
    plan: VectorPlan
    parted: Callable[[object], list[Any]]

    @cached_property
    def ones(self) -> list[PooledMean]:
        """How each channel is added up."""
        return [PooledMean(self.settings, Summation.of(plan)) for plan in self.plan.shares.values()]

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return sum(one.numbers for one in self.ones)

    @property
    def largest(self) -> int:  # type: ignore[override]
        return max(one.largest for one in self.ones)

    @property
    def thresholds(self) -> bool:
        return any(one.thresholds for one in self.ones)

    @property
    def stated_basis(self) -> Functions | None:
        return self.ones[0].stated_basis

    @cached_property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        return {
            "reading": self.curves_read,
            "integers": [
                [name, one.rule] for name, one in zip(self.plan.shares, self.ones, strict=True)
            ],
        }

    def read(self, X: Records, y: Labels = None) -> Rows:
        raise DpfdaError("Channels are added up from records: see total.")

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        raise DpfdaError("Channels are added up from records: see total.")

    def total(self, X: Records, groups: Labels = None, y: Labels = None) -> IntegerSum:
        if groups is not None and not isinstance(groups, str):
            # Read once: it may be a stream.
            groups = read_keys(groups, "groups", self.invalid)
        parts = zip(self.ones, self.parted(X), strict=True)
        return _joined([one.total(own, groups) for one, own in parts])

    def _sums(self, total: IntegerSum) -> Iterator[tuple[str, Summation, IntegerSum]]:
        """The sum of each channel."""
        start = 0
        for name, one in zip(self.plan.shares, self.ones, strict=True):
            places = scipy.sparse.eye_array(one.numbers, self.numbers, k=start, dtype=np.int64)
            yield name, one.summation, total.through(places)
            start += one.numbers

    def publish(self, total: IntegerSum, ledger: object = None) -> ReleasedVector:
        plan, sums = self.plan, self._sums(total)
        if plan.neighbours is Neighbours.REPLACE_ONE:
            plan = plan.remade(plan.whole, total.count_with_noise(0, 1))
            # Held to the rule by which they were added up.
            made = {k: finished(own, each, partial(_planned, plan.parts[k])) for k, own, each in sums}
        else:
            made = {k: own.prepared(each, plan.parts[k]) for k, own, each in sums}
        totals = {name: prepared.total for name, prepared in made.items()}
        return publish_vector(Prepared(plan, totals), read_ledger(ledger))

    @cached_property
    def _designs(self) -> dict[str, Design]:
        return {name: designed(part) for name, part in self.plan.parts.items()}

    @property
    def sharing(self) -> Sharing:
        plan, scales, sides = self.plan, list[int](), list[int]()
        for part, design in zip(plan.parts.values(), self._designs.values(), strict=True):
            norm, width = part.problem(int(part.size or 0)).differences(design)
            if not isinstance(design.noise, GaussianNoise):
                words, remedy = "be Gaussian for shares of several channels", "Use it with rho or delta."
                raise RefusedMechanismError("mechanism", words, design.mechanism, remedy)
            own, widths = design.noise.scales, [*sizes_of(design.components, norm, width)]
            if norm != "box":
                ratios = [Fraction(side, scale) for side, scale in zip(widths, own, strict=True)]
                longest = ratios.index(max(ratios))
                widths = [side * (j == longest) for j, side in enumerate(widths)]
            scales += own
            sides += widths
        return Sharing(plan, GaussianNoise(tuple(scales)), "box", tuple(sides), plan.whole)

    def measured(self, total: IntegerSum) -> IntegerSum:
        leading = [
            own.prepared(each, self.plan.parts[name]).total.with_noise(
                [0] * self._designs[name].components
            )
            for name, own, each in self._sums(total)
        ]
        numbers = [number for each in leading for number in each]
        return IntegerSum(len(numbers)).add_totals(numbers, total.count_with_noise(0, 1))

    def publish_shared(
        self, total: IntegerSum, law: SharedLaw, size: Any, ledger: object
    ) -> ReleasedVector:
        noisy, certificate = self.sharing.opened(total, law, read_ledger(ledger))
        units = int(size or self.plan.size or 0)
        # Each channel sees some of the noise that was drawn for all.
        certificate, start = replace(certificate, stages=(ALL,)), 0
        released: dict[str, Any] = {}
        for name, design in self._designs.items():
            own = slice(start, start + design.components)
            start = own.stop
            made = replace(design, noise=replace(law, scales=law.scales[own]))
            # Its noise alone gives less than all together.
            plan = replace(self.plan.parts[name], guarantee=self.plan.whole)
            released[name] = released_mean(
                plan.around(units, made, float(units), certificate), made, noisy[own]
            )
        return ReleasedVector(released, certificate)


def _planned(plan: MeanPlan, units: int) -> MeanPlan:
    """The plan that was made for so many units."""
    return plan


def _joined(sums: list[IntegerSum]) -> IntegerSum:
    """Sums over the same units, one after another."""
    counts = {each.count_with_noise(0, 1) for each in sums}
    if len(counts) > 1:
        raise ParameterError("X", "have the same units in every channel", "others")
    numbers = [number for each in sums for number in each.with_noise([0] * each.components)]
    return IntegerSum(len(numbers)).add_totals(numbers, counts.pop())
