"""The plan of the means of several channels, their sums as one exact sum, and what is published."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import scipy

from dpfda.bases.ordinary import Outlook, widest
from dpfda.bases.protocol import Functions
from dpfda.mean.pooled import PooledMean
from dpfda.mean.streams import finished
from dpfda.mean.vector.release import ReleasedVector, own_level
from dpfda.mean.vector.together import (
    OneDraw,
    costs_together,
    equal_share,
    publish_in_one_draw,
    publish_together,
    stages_of,
)
from dpfda.mechanisms import Design
from dpfda.noise import BoxNoise, GaussianNoise
from dpfda.noise.charges import sizes_of
from dpfda.noise.knorm_shares import along_one, in_blocks
from dpfda.noise.shared import SharedGaussianNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import so_many
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP
from dpfda.privacy.ledger.named import NAMED, Paying, read_ledger
from dpfda.privacy.words import number
from dpfda.publication import MeanPlan, PlanOfMeans, Prepared, said_by
from dpfda.publication.distances import Telling
from dpfda.publication.needed import LEVEL
from dpfda.publication.shares import SharedLaw, Sharing, around, designed
from dpfda.records.labels import read_keys
from dpfda.releases.promise import ALL
from dpfda.spine.arguments import Beside, Labels, Records
from dpfda.spine.pooled import PooledSum, Size
from dpfda.spine.settings import Settings
from dpfda.spine.sums import Summation


@dataclass(frozen=True, eq=False, repr=False)
class VectorPlan(PlanOfMeans):
    """Plan of the means of several channels of the same records.

    Its error is that of all channels together: the distance between two vectors of values. Where
    channels are in units of their own, look at `errors`.

    Parameters
    ----------
    shares : mapping
        Plan of each channel's mean with an equal share of the budget, by its name.
    whole : Guarantee
        The requested guarantee, for all channels together.

    Examples
    --------
    >>> from dpfda import PrivateVectorMean
    >>> plan = PrivateVectorMean(1.0, bounds=[(-1, 2), (0, 2)], channels=["east", "north"]).plan(n=500)
    >>> plan.draw is not None, plan.error > max(plan.errors.values())
    (True, True)
    """

    shares: Mapping[str, MeanPlan]
    whole: Guarantee
    band_called: ClassVar[str] = "bands that hold together, of the widest"

    @property
    def measuring(self) -> VectorPlan:
        """The same, with how far each line is from its mean, by sides of one box, where that pays."""
        telling = Telling(asked=True, lines=len(self.shares))
        shares = {k: replace(plan, telling=telling) for k, plan in self.shares.items()}
        measured = VectorPlan(shares, self.whole)
        in_box = measured.draw is not None and isinstance(measured.draw.noise, BoxNoise)
        return measured if in_box or isinstance(self.whole, PureDP) else self

    @cached_property
    def draw(self) -> OneDraw | None:
        """One draw of noise for all channels; None where each has its share of the budget."""
        return OneDraw.best(self.shares, self.whole)

    @cached_property
    def parts(self) -> Mapping[str, MeanPlan]:  # type: ignore[override]
        """Plan of each channel's mean, with the noise that it will have."""
        return self.shares if self.draw is None else self.draw.seen

    guarantee = said_by("whole")
    size = said_by("one.size")
    expected_size = said_by("one.expected_size")
    tuning = said_by("one.tuning")

    @property
    def bounded(self) -> Mapping[str, object]:  # type: ignore[override]
        bounds = [f"{name}: {part.bound.describe()}" for name, part in self.parts.items()]
        return {"description": "; ".join(bounds)}

    @property
    def about(self) -> Mapping[str, object]:  # type: ignore[override]
        same = {
            key: value
            for key, value in self.one.about.items()
            if all(part.about.get(key) == value for part in self.parts.values())
        }
        return {**same, "summary": f"mean curve with {so_many(len(self.shares), 'value')}"}

    def entry(self) -> dict[str, object]:
        return self.one.entry() | {"bound": self.bounded["description"]}

    def costs(self) -> dict[str, Cost]:
        return costs_together(self.shares) if self.draw is None else self.draw.costs()

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> VectorPlan:
        share = equal_share(guarantee, len(self.shares))
        return VectorPlan({k: plan.remade(share, n) for k, plan in self.shares.items()}, guarantee)

    @cached_property
    def errors(self) -> dict[str, float | None]:
        """Expected error of each channel, in its own units, as `error` is of one mean."""
        return {name: part.error for name, part in self.parts.items()}

    def outlook(self, quick: bool = False) -> Outlook | None:
        outlooks = [part.outlook(quick) for part in self.parts.values()]
        if None in outlooks:
            return None
        typical, most = zip(*filter(None, outlooks), strict=True)
        return Outlook(math.hypot(*typical), math.hypot(*most))

    @property
    def error_words(self) -> str:
        return f"of all channels, the root of the sum of their squares; {self.one.error_words}"

    def bands(self, level: float = LEVEL) -> dict[str, float | None]:
        """Expected half-width of each channel's band, where all are to hold together.

        Parameters
        ----------
        level : float
            Probability that they do.
        """
        own = own_level(level, len(self.parts))
        return {name: part.band(own) for name, part in self.parts.items()}

    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        """Of the channel whose band is widest."""
        own = own_level(level, len(self.parts))
        return widest([part.outlook_width(own, quick) for part in self.parts.values()])

    @property
    def scale(self) -> tuple[float, str] | None:
        scales = [part.scale for part in self.parts.values()]
        public = [scale for scale in scales if scale is not None]
        if len(public) < len(scales) or len({words for _, words in public}) > 1:
            return None
        return math.hypot(*(size for size, _ in public)), public[0][1]

    @property
    def noise_words(self) -> str:
        mechanism, law = self.one.noise_words.split(": ", 1)
        if self.draw is None:
            return f"{mechanism}, with an equal share of the budget for each channel: {law}"
        return f"{mechanism}, one draw for all channels: {self.draw.noise.describe()}"

    def facts(self) -> dict[str, str]:
        channels = [
            name if error is None else f"{name} (error {number(error)})"
            for name, error in self.errors.items()
        ]
        return super().facts() | {"channels": ", ".join(channels)}

    def to_json(self, level: float = LEVEL) -> dict[str, object]:
        return super().to_json(level) | {"errors": self.errors, "bands": self.bands(level)}


def publish_vector(
    prepared: Prepared[VectorPlan, Mapping[str, IntegerSum]], paying: Paying = NAMED
) -> ReleasedVector:
    """Charge once, draw noise for all channels, and release; errors as of `publish_together`."""
    plan, totals = prepared.plan, prepared.total
    certificate, entry = plan.certified(), plan.entry()
    if plan.draw is None:
        stages = stages_of(plan.parts)
        return ReleasedVector(*publish_together(totals, plan.parts, stages, certificate, entry, paying))
    return ReleasedVector(*publish_in_one_draw(totals, plan.draw, certificate, entry, paying))


@dataclass(frozen=True, eq=False)
class PooledVector(PooledSum):
    """Means of channels of the same units as a sum: their sums one after another.

    Shares of Gaussian noise are on all that is measured together. One unit moves channel k by at most a
    length m_k, each number in units of its own deviation, and all by at most (sum_k m_k^2)^(1/2)
    (`dpfda.mean.vector.together`): as a box does that has, of each channel, the widths of its own box,
    or that number alone by which its own body is longest. Under pure epsilon each channel is a block of
    K-norm noise, and the losses sum_k m_k add up.

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
    parted: Callable[[Records], Sequence[Records]]

    @cached_property
    def ones(self) -> list[PooledMean]:
        """How each channel is added up."""
        return [PooledMean(self.settings, Summation.of(plan)) for plan in self.plan.shares.values()]

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return sum(pool.numbers for pool in self.ones)

    @property
    def largest(self) -> int:  # type: ignore[override]
        return max(pool.largest for pool in self.ones)

    @property
    def thresholds(self) -> bool:
        return any(pool.thresholds for pool in self.ones)

    @property
    def stated_basis(self) -> Functions | None:
        return self.ones[0].stated_basis

    @cached_property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        return {
            "reading": self.settings.reading.rules,
            "integers": [
                [name, pool.rule] for name, pool in zip(self.plan.shares, self.ones, strict=True)
            ],
        }

    def total(self, X: Records, groups: Labels = None, y: Beside = None) -> IntegerSum:
        if groups is not None and not isinstance(groups, str):
            # Read once: it may be a stream.
            groups = read_keys(groups, "groups", self.invalid)
        parts = zip(self.ones, self.parted(X), strict=True)
        return _joined([pool.total(own, groups) for pool, own in parts])

    def _sums(self, total: IntegerSum) -> Iterator[tuple[str, Summation, IntegerSum]]:
        """The sum of each channel."""
        start = 0
        for name, pool in zip(self.plan.shares, self.ones, strict=True):
            places = scipy.sparse.eye_array(pool.numbers, self.numbers, k=start, dtype=np.int64)
            yield name, pool.summation, total.through(places)
            start += pool.numbers

    def publish(self, total: IntegerSum, ledger: object = None) -> ReleasedVector:
        plan, sums = self.plan, self._sums(total)
        if plan.neighbours is Neighbours.REPLACE_ONE:
            plan = plan.remade(plan.whole, total.count_with_noise(0, 1))
            # Checked against the rule by which they were added up.
            means = {k: finished(own, part, partial(_planned, plan.parts[k])) for k, own, part in sums}
        else:
            means = {k: own.prepared(part, plan.parts[k]) for k, own, part in sums}
        totals = {name: prepared.total for name, prepared in means.items()}
        return publish_vector(Prepared(plan, totals), read_ledger(ledger))

    @cached_property
    def _designs(self) -> dict[str, Design]:
        return {name: designed(part) for name, part in self.plan.parts.items()}

    @property
    def sharing(self) -> Sharing:
        plan, designs = self.plan, self._designs
        moved = [
            (design.components, *part.problem(int(part.size or 0)).differences(design))
            for part, design in zip(plan.parts.values(), designs.values(), strict=True)
        ]
        if not all(isinstance(design.noise, GaussianNoise) for design in designs.values()):
            return Sharing(plan, *in_blocks(moved, plan.whole), plan.whole, along=True)
        scales, sides = list[int](), list[int]()
        for design, (count, norm, width) in zip(designs.values(), moved, strict=True):
            own, widths = design.noise.scales, sizes_of(count, norm, width)  # type: ignore[attr-defined]
            scales += own
            sides += widths if norm in ("linf", "box") else along_one(widths, own)
        return Sharing(plan, GaussianNoise(tuple(scales)), "box", tuple(sides), plan.whole, along=True)

    def measured(self, total: IntegerSum) -> IntegerSum:
        leading = [
            own.prepared(part, self.plan.parts[name]).total.with_noise(
                [0] * self._designs[name].components
            )
            for name, own, part in self._sums(total)
        ]
        numbers = [number for row in leading for number in row]
        return IntegerSum(len(numbers)).add_totals(numbers, total.count_with_noise(0, 1))

    def publish_shared(
        self, total: IntegerSum, law: SharedLaw, size: Size, ledger: object
    ) -> ReleasedVector:
        noisy, certificate = self.sharing.opened(total, law, read_ledger(ledger))
        units = size or self.plan.size or 0
        start = 0
        if isinstance(law, SharedGaussianNoise):
            # Each channel sees some of the noise that was drawn for all.
            certificate = replace(certificate, stages=(ALL,))
        released: Json = {}
        for name, design in self._designs.items():
            own = slice(start, start + design.components)
            start = own.stop
            own_design = replace(design, noise=law.part(own))
            # Its noise alone gives less than all together.
            plan = replace(self.plan.parts[name], guarantee=self.plan.whole)
            released[name] = around(plan, own_design, units, certificate).release(noisy[own])
        return ReleasedVector(released, certificate)


def _planned(plan: MeanPlan, units: int) -> MeanPlan:
    """The plan that was made for so many units."""
    return plan


def _joined(sums: list[IntegerSum]) -> IntegerSum:
    """Sums over the same units, one after another."""
    counts = {part.count_with_noise(0, 1) for part in sums}
    if len(counts) > 1:
        raise ParameterError("X", "have the same units in every channel", "others")
    numbers = [number for part in sums for number in part.with_noise([0] * part.components)]
    return IntegerSum(len(numbers)).add_totals(numbers, counts.pop())
