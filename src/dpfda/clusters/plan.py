"""The plan of clusters of curves: moments, then counts of cells, then sums of each cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds import ValueBounds
from dpfda.clusters.release import ReleasedCurveClusters
from dpfda.clusters.stages import AXES, Lattice, Sums, ball_of, nearest, unit_rows
from dpfda.mechanisms import COUNT_SCALE
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, PureDP
from dpfda.publication import planner, stamp
from dpfda.publication.moments import MomentsDesign, Part, part_noise, parted, shared
from dpfda.releases.moments import Moments
from dpfda.spine.settings import Settings
from dpfda.spine.vectors import VectorPlan, divisor_for

CELLS, SUMS = "counts of cells", "sums of clusters"
# Shares of the budget: of sums, where they are measured, of cells in what is left, of the mean in what
# is left then; steps of second moments. Chosen on simulated curves.
SUMS_SHARE, CELLS_SHARE, MEAN_SHARE, STEPS = Fraction(7, 20), Fraction(1, 2), Fraction(2, 5), 2
# Of pure and of normal noise: units times epsilon for which sums tell more than they cost, how functions
# that moments are measured of grow with these, and decay, as in `Moments`.
PURE, NORMAL = (1500, 0.47, None), (700, 0.6, 0.0)
# Functions: of centers, and least that moments are measured of.
FUNCTIONS, FEWEST = 12, 3
# Cells: most, least for each cluster, and units times epsilon that they grow by.
MOST, EACH, PERSONS = 4096, 8, 6
# Deviations are shortened to such a multiple of the root of all variance.
RADIUS = 0.6


@dataclass(frozen=True, eq=False, repr=False)
class ClustersPlan(VectorPlan[ReleasedCurveClusters]):
    """Plan of clusters of curves.

    Parameters
    ----------
    clusters : int
    most : int
        No more cells than that.
    """

    clusters: int
    most: int
    error_words = (
        "none is stated: how well clusters are found depends on how far they lie apart; "
        "docs/clusters.md tells it of simulated ones"
    )

    @property
    def widths(self) -> dict[str, int]:
        """A unit is in one cell, and in the block of one cluster."""
        moved = {CELLS: COUNT_SCALE, SUMS: ball_of(self.basis.eigenvalues.size).radius}
        return {name: self.neighbours.differences(moved[name]) for name in self.parts}

    @property
    def longest(self) -> dict[str, int]:
        return self.widths | ({CELLS: COUNT_SCALE} if CELLS in self.parts else {})

    @property
    def blocks(self) -> dict[str, tuple[int, ...]]:
        sizes = {CELLS: (1,) * self.most, SUMS: (self.basis.eigenvalues.size + 1,) * self.clusters}
        return {name: sizes[name] for name in self.parts}

    def drawn(self, vectors: Floats, certificate: Certificate) -> ReleasedCurveClusters:
        with np.errstate(all="ignore"):
            vectors = np.where(np.isfinite(vectors), vectors, 0.0)
            moments = self.design.published(vectors[:, : self.design.size], self.size)
            lattice = Lattice.of(moments, self.most)
            noise = part_noise((1,) * math.prod(lattice.bins), *self.moved[CELLS], self.parts[CELLS])
            cells = self.cells(vectors, moments, lattice).with_noise(noise.draw())
            deviation = math.sqrt(noise.variances()[0]) / COUNT_SCALE
            counts = np.array(cells, dtype=np.float64) / COUNT_SCALE
            anchors = moments.centre + lattice.anchors(counts, deviation, self.clusters)
            sums = None
            if SUMS in self.parts:
                radius = RADIUS * math.sqrt(max(float(np.trace(moments.matrix)), 1e-300))
                total = self.sums(vectors, anchors, radius)
                sums = Sums(radius, total.with_noise(self.laws[SUMS].draw()), self.laws[SUMS])
        return ReleasedCurveClusters(
            moments, lattice, cells, noise, anchors, sums, self.basis, np.stack(self.limits),
            certificate, {**self.about, **stamp()},
        )  # fmt: skip

    def cells(self, vectors: Floats, moments: Moments, lattice: Lattice) -> IntegerSum:
        """Counts of cells; each unit is in one. Private."""
        places = lattice.places(vectors[:, : self.design.size] - moments.centre)
        counts = np.bincount(places, minlength=math.prod(lattice.bins))
        return IntegerSum(counts.size).add_totals((counts * COUNT_SCALE).tolist(), len(vectors))

    def sums(self, vectors: Floats, anchors: Floats, radius: float) -> IntegerSum:
        """Sums of the clusters, one after another; each unit is in one, that of its anchor. Private."""
        size = self.basis.eigenvalues.size
        own = nearest(vectors[:, : self.design.size], anchors)
        beyond = np.zeros((self.clusters, size - self.design.size))
        rows = unit_rows(vectors - np.column_stack([anchors, beyond])[own], radius)
        parts = [IntegerSum(size + 1).add(rows[own == each]) for each in range(self.clusters)]
        return IntegerSum.side_by_side(parts)


@planner
def clusters_plan(
    guarantee: Guarantee,
    count: int,
    *,
    clusters: int,
    settings: Settings,
    basis: Basis,
    bound: ValueBounds,
    unit: str,
    planned: bool = False,
) -> ClustersPlan:
    """The plan, checked: whatever can be refused is refused here.

    Parameters
    ----------
    guarantee, clusters, basis, bound, unit
        As in `ClustersPlan`.
    count : int
        Number of units; used where it is public.
    settings : Settings
    planned : bool
        Whether the number of units is planned, and in the place of a public size.

    Raises
    ------
    ParameterError
        If the basis is not orthonormal, or the number of units is private and none was stated.
    """
    size = divisor_for(settings, count, planned)
    used = basis.truncate(min(FUNCTIONS, basis.eigenvalues.size))
    SymmetricTensorBasis(used)
    worth, growth, decay = PURE if isinstance(guarantee, PureDP) else NORMAL
    parts, rest = dict[str, Part](), shared(guarantee)
    persons = size * _epsilon(rest)
    if persons >= worth:
        parts[SUMS], rest = parted(rest, SUMS_SHARE)
    parts[CELLS], rest = parted(rest, CELLS_SHARE)
    most = (size * _epsilon(parts[CELLS]) / PERSONS) ** (2 * AXES / (2 + AXES))
    first = min(max(FEWEST, round(growth * persons ** (1 / 3))), used.eigenvalues.size)
    design = MomentsDesign(
        (first,), (bound.radius_on(used.grid_points, used.weights),), ("curves",), rest,
        settings.unit.relation, STEPS, MEAN_SHARE, decay=decay,
    )  # fmt: skip
    about = {"summary": "clusters of curves", **settings.said()}
    parts = {name: parts[name] for name in (CELLS, SUMS) if name in parts}
    cells = int(min(MOST, max(most, EACH * clusters)))
    plan = ClustersPlan(
        design, parts, guarantee, used, bound, size, unit, about, clusters=clusters, most=cells
    )
    plan.whole_achieved()
    return plan


def _epsilon(part: Part) -> float:
    """That of Laplace noise on counts as large as the part's noise, which constants are in terms of."""
    return float(part.epsilon) if isinstance(part, PureDP) else 2 * math.sqrt(2 * part.rho)
