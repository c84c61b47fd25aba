"""The plan of a sampler of curves, or of one a group: moments, then counts of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Self

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds import ValueBounds
from dpfda.noise import gaussian_ratio
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.embedding import coefficients
from dpfda.numerics.errors import DpfdaError
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, PureDP
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import charge, planner, stamp
from dpfda.publication.moments import LENGTHS_SHARE, MomentsDesign, lengths, parted, shared
from dpfda.releases.moments import Moments
from dpfda.sampler.release import (
    BINS,
    COUNT,
    COUNTED,
    EDGES,
    LEFT,
    ReleasedCurveSampler,
    ReleasedCurveSamplers,
    beyond,
    score_axes,
)
from dpfda.spine.memberships import divided
from dpfda.spine.settings import Settings
from dpfda.spine.vectors import VectorPlan, divisor_for

# Of pure and of normal noise: steps of second moments, share of the budget for counts of scores, and of
# what is left each time for the mean and for lengths.
PURE = 2, Fraction(3, 10), Fraction(1, 3), LENGTHS_SHARE
NORMAL = 4, Fraction(3, 50), Fraction(1, 12), Fraction(1, 24)
# Functions, or directions; with normal noise one for so much of n mu, if that is more, and so many at
# most. Functions are taken to matter less and less, as in `Moments`.
FUNCTIONS, A_FUNCTION, MOST_FUNCTIONS, DECAY = 12, 25, 48, 0.5
# Functions in all: the lengths of what lies in those beyond are counted.
MOST = 200
SCORES = "scores"


@dataclass(frozen=True, eq=False, repr=False)
class SamplerPlan(VectorPlan[ReleasedCurveSampler]):
    """Plan of a sampler of curves."""

    @property
    def error_words(self) -> str:
        return (
            "none is stated: how near synthetic curves are depends on how far curves lie within "
            f"{self.design.size} functions; docs/synthetic_curves.md tells it of real ones"
        )

    @property
    def counted(self) -> int:
        """Number of scores that are counted."""
        return min(COUNTED, self.design.size)

    @property
    def tables(self) -> int:
        """Number of laws that are counted: of scores, and where functions lie beyond, of lengths."""
        return self.counted + (self.basis.eigenvalues.size > self.design.size)

    @property
    def widths(self) -> dict[str, int]:
        """A unit is in one bin of each."""
        return {SCORES: self.tables * self.neighbours.differences(COUNT)}

    @property
    def longest(self) -> dict[str, int]:
        return {SCORES: COUNT}

    @property
    def blocks(self) -> dict[str, tuple[int, ...]]:
        return {SCORES: (1,) * (self.tables * BINS)}

    def drawn(self, vectors: Floats, certificate: Certificate) -> ReleasedCurveSampler:
        moments = self.design.published(vectors[:, : self.design.coordinates], self.size)
        noise = self.laws[SCORES]
        counts = self.scores(vectors, moments).with_noise(noise.draw())
        return ReleasedCurveSampler(
            moments, counts, noise, self.basis, np.stack(self.limits), certificate,
            {**self.about, **stamp()},
        )  # fmt: skip

    def scores(self, vectors: Floats, moments: Moments) -> IntegerSum:
        """Counts of scores in bins, component by component, and of how long what is left of curves is.

        Each unit is in one bin of each. Private.
        """
        deviations, directions = score_axes(moments)
        through = (directions / deviations)[:, : self.counted]
        deviations = vectors - np.pad(moments.centre, (0, vectors.shape[1] - moments.centre.size))
        found = coefficients(deviations[:, : len(through)], np.asarray(through, dtype=np.float64))
        bins = [*np.searchsorted(EDGES[1:-1], found).T]
        if self.tables > self.counted:
            left = lengths(coefficients(deviations, beyond(moments, vectors.shape[1])))
            bins.append(np.searchsorted(LEFT[1:-1] * self.design.bounds[0], left))
        counts = [np.bincount(column, minlength=BINS) for column in bins]
        total = IntegerSum(len(counts) * BINS)
        return total.add_totals((np.concatenate(counts) * COUNT).tolist(), len(vectors))


@dataclass(frozen=True, eq=False, repr=False)
class GroupsPlan(SamplerPlan):
    """Plan of the samplers of disjoint groups; what it says of one of them is that of the first.

    samplers: Plan of each group's sampler, by its name: with the whole budget, and equal costs.
    """

    samplers: Mapping[str, SamplerPlan] = field(kw_only=True)

    @classmethod
    def of(cls, samplers: Mapping[str, SamplerPlan]) -> Self:
        """The plan of these groups together."""
        first, *others = samplers.values()
        if any(other.costs() != first.costs() for other in others):
            raise DpfdaError("Groups that one charge is to pay for have different costs.")
        own = {each.name: getattr(first, each.name) for each in fields(first)}
        size = sum(part.size for part in samplers.values())
        about = {**first.about, "summary": "synthetic curves by group"}
        return cls(**own | {"size": size, "about": about, "expected_size": None}, samplers=samplers)

    def remade(self, guarantee: Guarantee, n: int) -> Self:
        """The plan for another guarantee, and n units in all, in the proportions of this one."""
        sizes = divided(n, [part.size for part in self.samplers.values()])
        pairs = zip(self.samplers.items(), sizes, strict=True)
        return self.of({name: part.remade(guarantee, size) for (name, part), size in pairs})

    def entry(self) -> dict[str, object]:
        return super().entry() | {"groups": [*self.samplers], "composition": "parallel"}

    def publish_groups(self, vectors: Sequence[Floats], paying: Paying = NAMED) -> ReleasedCurveSamplers:
        """Charge once, draw for every group, and add.

        A unit is in one group, in either of two neighbouring data sets: the releases of the others have
        the same law, and all noise is independent. The loss of all is that of this one (McSherry 2009,
        Theorem 4).

        vectors: Of each group (units, d). Private; no unit is in two of them.
        """
        certificate = self.certified()
        for part in self.samplers.values():
            part.whole_achieved()
        charge(paying, certificate, self.entry())
        pairs = zip(self.samplers.items(), vectors, strict=True)
        return ReleasedCurveSamplers(
            {name: part.drawn(each, certificate) for (name, part), each in pairs}
        )


@planner
def sampler_plan(
    guarantee: Guarantee, count: int, *, settings: Settings, basis: Basis, bound: ValueBounds, unit: str,
    planned: bool = False,
) -> SamplerPlan:  # fmt: skip
    """The plan, checked: whatever can be refused is refused here.

    Parameters
    ----------
    guarantee : Guarantee
    count : int
        Number of units; used where it is public.
    settings : Settings
    basis, bound, unit
        As in `SamplerPlan`.
    planned : bool
        Whether the number of units is planned, and in the place of a public size.

    Raises
    ------
    ParameterError
        If the basis is not orthonormal, or the number of units is private and none was stated.
    """
    size = divisor_for(settings, count, planned)
    used = basis.truncate(min(MOST, basis.eigenvalues.size))
    leading = min(_functions(guarantee, size), used.eigenvalues.size)
    SymmetricTensorBasis(used.truncate(leading))
    bounds, blocks = (bound.radius_on(used.grid_points, used.weights),), (leading,)
    pure, functions = isinstance(guarantee, PureDP), used.eigenvalues.size
    steps, counts, mean, length = PURE if pure else NORMAL
    seen = None if pure or leading == functions else functions
    part, rest = parted(shared(guarantee), counts)
    design = MomentsDesign(
        blocks, bounds, ("curves",), rest, settings.unit.relation, steps, mean, length, DECAY, steps - 1,
        seen,
    )  # fmt: skip
    about = {"summary": "synthetic curves", **settings.said()}
    plan = SamplerPlan(design, {SCORES: part}, guarantee, used, bound, size, unit, about)
    plan.whole_achieved()
    return plan


def _functions(guarantee: Guarantee, size: int) -> int:
    """Number of functions whose second moments are measured."""
    if isinstance(guarantee, PureDP):
        return FUNCTIONS
    return min(max(int(size * gaussian_ratio(guarantee) / A_FUNCTION), FUNCTIONS), MOST_FUNCTIONS)
