"""The plan of a sampler of curves: moments, then counts of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds import ValueBounds
from dpfda.noise import KNormNoise, cost_of, knorm_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.embedding import coefficients
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, added, split
from dpfda.publication import NAMED, Paying, PlanAgain, charge, planner, recomputed, stamp
from dpfda.publication.moments import MomentsDesign
from dpfda.releases.moments import Moments
from dpfda.sampler.release import BINS, COUNT, EDGES, ReleasedCurveSampler, bound_words, score_axes
from dpfda.spine.choices import public_size, stated_size
from dpfda.spine.settings import Settings, read_labels

# Functions, steps of their second moments, scores that are counted, and the share of the budget for
# that.
FUNCTIONS, STEPS, COUNTED, SCORES_SHARE = 12, 3, 6, Fraction(3, 10)
MEAN_SHARE = Fraction(1, 3)
SCORES = "scores"


@dataclass(frozen=True, eq=False, repr=False)
class SamplerPlan(PlanAgain):
    """Plan of a sampler of curves.

    Parameters
    ----------
    design : MomentsDesign
    part : PureDP
        For the counts of scores.
    whole : Guarantee
    basis : Basis
        With as many functions as are used.
    bound : ValueBounds
    size : int
        Public number of units, or public divisor.
    unit : str
    about : mapping
    """

    design: MomentsDesign
    part: PureDP
    whole: Guarantee
    basis: Basis
    bound: ValueBounds
    size: int
    unit: str
    about: Mapping[str, object]

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        return self.whole

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        return self.design.neighbours

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Public bounds (m,) on the grid."""
        return self.bound.curves_on(self.basis.grid_points)

    @property
    def bounded(self) -> Mapping[str, object]:  # type: ignore[override]
        lower, upper = self.limits
        return {"description": bound_words(float(lower.min()), float(upper.max()))}

    @property
    def functions(self) -> str:
        return self.basis.describe()

    @property
    def tuning(self) -> Mapping[str, object]:
        parts = {**self.design.parts, SCORES: self.part}
        return {"name": "moments", "budget": {name: str(part) for name, part in parts.items()}}

    @property
    def noise_words(self) -> str:
        moments = [law.describe() for law in self.design.laws.values()]
        return "; ".join([*moments, self.noise.describe()])

    @property
    def error_words(self) -> str:
        return (
            "none is stated: how near synthetic curves are depends on how far curves lie within "
            f"{self.basis.eigenvalues.size} functions; docs/synthetic_curves.md tells it of real ones"
        )

    @property
    def counted(self) -> int:
        """Number of scores that are counted."""
        return min(COUNTED, self.design.size)

    @property
    def width(self) -> int:
        """How far one unit moves all counts in l1: it is in one bin of each score."""
        return self.counted * self.neighbours.differences(COUNT)

    @cached_property
    def noise(self) -> KNormNoise:
        """Law of the noise on the counts, checked."""
        bins = self.counted * BINS
        noise = knorm_noise((1,) * bins, np.ones(bins), "l1", self.width, self.part)
        recomputed(noise, "l1", self.width, self.part)
        return noise

    def costs(self) -> dict[str, Cost]:
        own = recomputed(self.noise, "l1", self.width, self.part)
        return {**self.design.costs(), SCORES: cost_of(self.noise, own, self.part)}

    def publish(self, vectors: Floats, paying: Paying = NAMED) -> ReleasedCurveSampler:
        """Charge, draw, add. The vectors (units, d) are private."""
        certificate = self.certified()
        charge(paying, certificate, self.entry())
        moments = self.design.published(vectors, self.size)
        counts = self.scores(vectors, moments).with_noise(self.noise.draw())
        own = recomputed(self.noise, "l1", self.width, self.part)
        return ReleasedCurveSampler(
            moments, counts, self.noise, self.basis, np.stack(self.limits),
            certificate.fulfilled(added([self.design.whole(), own])), {**self.about, **stamp()},
        )  # fmt: skip

    def scores(self, vectors: Floats, moments: Moments) -> IntegerSum:
        """Counts of scores in bins, component by component; each unit is in one bin of each. Private."""
        deviations, directions = score_axes(moments)
        through = (directions / deviations)[:, : self.counted]
        found = coefficients(vectors - moments.mean, np.asarray(through, dtype=np.float64))
        bins = np.searchsorted(EDGES[1:-1], found)
        counts = [np.bincount(column, minlength=BINS) for column in bins.T]
        total = IntegerSum(self.counted * BINS)
        return total.add_totals((np.concatenate(counts) * COUNT).tolist(), len(vectors))


@planner
def sampler_plan(
    guarantee: Guarantee,
    count: int,
    *,
    settings: Settings,
    basis: Basis,
    bound: ValueBounds,
    unit: str,
    planned: bool = False,
) -> SamplerPlan:
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
    size = stated_size(public_size(settings.unit, count, settings.reading.invalid), "public_size")
    used = basis.truncate(min(FUNCTIONS, basis.eigenvalues.size))
    SymmetricTensorBasis(used)
    part, rest = split(guarantee, SCORES_SHARE)
    bounds, blocks = (bound.radius_on(used.grid_points, used.weights),), (used.eigenvalues.size,)
    design = MomentsDesign(blocks, bounds, ("curves",), rest, settings.unit.relation, STEPS, MEAN_SHARE)
    about = {"summary": "synthetic curves", **read_labels(settings.domain.labels)}
    size = count if planned else size
    plan = SamplerPlan(design, part, guarantee, used, bound, size, unit, about)
    plan.costs()
    return plan
