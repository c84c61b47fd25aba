"""The looks at records, one after the other: line, distances, try of a radius, closer mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from dpfda.bases.priors import CurvePrior
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import ValueBounds
from dpfda.mean.staged_release import FIRST, LAST, CloserMean, Excess, width_beyond
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.parameters import known
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import PureDP, added
from dpfda.publication import EXACT, Draw, MeanPlan, publish_curve, recomputed
from dpfda.publication.means import with_distance
from dpfda.publication.moments import part_noise
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.staged import Selection
from dpfda.spine.sums import Readable

if TYPE_CHECKING:
    from dpfda.mean.two_looks import LooksPlan


@dataclass(frozen=True)
class RadiusTry:
    """How it is measured how much a radius would cut off, before it is taken. Public.

    What a unit adds is its largest distance from the line beyond the radius, an integer between 0 and a
    public width: replacing, adding or removing a unit moves the sum by no more than that.

    radius, reach: As of `Excess`.
    part: Share of the budget.
    """

    radius: float
    reach: float
    part: PureDP

    @cached_property
    def noise(self) -> NoiseLaw:
        """Law of the noise, checked."""
        return part_noise((1,), "l1", self._width, self.part)

    @property
    def _width(self) -> int:
        return width_beyond(self.radius, self.reach)

    def released(self, lengths: Floats, draw: Draw = EXACT) -> Excess:
        """The noisy sum, from private lengths (n,). The ledger has been charged."""
        beyond = np.clip(np.floor((lengths - self.radius) * UNIT), 0, self._width)
        total = IntegerSum(1).add_totals([int(beyond.astype(np.int64).sum())], lengths.size)
        (noisy,) = total.with_noise(draw(self.noise))
        achieved = recomputed(self.noise, "l1", self._width, self.part)
        return Excess(self.radius, self.reach, noisy, self.noise, achieved)


def looked(
    plan: LooksPlan, records: Readable, total: IntegerSum, certificate: Certificate, draw: Draw = EXACT
) -> CloserMean:
    """Release all stages, which the caller has charged for.

    total: Of the rough line. Private.
    draw: As of `dpfda.publication.publish`.
    """
    first = publish_curve(total, plan.rough, certificate.part(FIRST), draw)
    line = np.asarray(first(first.grid_points))
    lengths = distances(plan.whole, records, line)
    selection = plan.choice.released(lengths, draw(plan.choice.noise))
    place, part, excess = plan.place(selection), plan.shares[2], None
    if place:
        part = plan.tried[1]
        excess = plan.tries(line, place).released(lengths, draw)
        place = place if excess.small(plan.size) else 0
    closer = plan.closer(line, place, part)
    look = publish_curve(records.total(closer), closer, certificate.part(LAST), draw)
    radius = selection.radii[place]
    made = assembled(plan, certificate, (first, selection, excess, look), closer, radius)
    if plan.whole.distance_share is None:
        return made
    return with_distance(made, records.total(plan.whole), plan.whole, draw)


def assembled(
    plan: LooksPlan,
    certificate: Certificate,
    released: tuple[ReleasedFunction, Selection, Excess | None, ReleasedFunction],
    closer: MeanPlan,
    radius: float,
) -> CloserMean:
    """The release around the output of all stages; everything in it is public."""
    first, selection, excess, look = released
    design, stated = known(closer.public_design), known(plan.whole.curves)
    bound, prior = cast("ValueBounds", closer.bound), cast("CurvePrior", look.hierarchy)
    tuning = {**look.mechanism, "name": "two looks", "radius": radius, "closer look": design.mechanism}
    tried = [] if excess is None else [excess.achieved]
    measured = plan.whole.distance_achieved()
    # Of a try and a look together no law is known.
    law = Cost(plan.shares[2]) if tried else closer.cost(design, plan.size)
    whole = certificate.fulfilled(
        added([*measured, first.achieved, selection.achieved, *tried, look.achieved]),
        tuning,
        drawn={LAST: law},
    )
    prior = replace(prior, lower=stated.lower, upper=stated.upper)
    return look._as(
        CloserMean, certificate=whole, hierarchy=prior, center=first.center,
        first=first, selection=selection, closer=bound, excess=excess,
    )  # fmt: skip


def distances(plan: MeanPlan, records: Readable, line: Floats) -> Floats:
    """Largest distances (n,) of the units from a line, in shares of the bounds'. Private.

    Each is a function of that unit alone; of one that cannot be used it is nothing.
    """
    grid, bound, found = flat_grid(plan.basis), plan.bound, [np.empty(0)]
    middle, width = bound.center_on(grid), known(plan.curves).width
    for curves in records.units(plan):
        values = bound.restrict(curves.values, grid) + middle
        apart = np.max(np.abs(values - line) / width, axis=1)
        found.append(np.where(curves.usable, apart, 0.0))
    return np.concatenate(found)
