"""Clusters of curves: their plan (moments, counts of cells, sums), and a scikit-learn estimator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds import ValueBounds
from dpfda.clusters.release import ReleasedCurveClusters
from dpfda.clusters.stages import AXES, Lattice, Sums, ball_of, nearest, unit_rows
from dpfda.mechanisms import COUNT_SCALE
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.parameters import whole
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, PureDP
from dpfda.publication import planner, stamp
from dpfda.publication.moments import MomentsDesign, Part, part_noise, shared, split
from dpfda.releases.moments import Moments
from dpfda.spine.arguments import Bounds, Functions, Number, Payer, Place, Protected
from dpfda.spine.settings import Reading, Settings
from dpfda.spine.vectors import Choices, OfVectors, VectorPlan, divisor_for

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
MOST_CELLS, EACH, PERSONS = 4096, 8, 6
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
        parts = [IntegerSum(size + 1).add(rows[own == cluster]) for cluster in range(self.clusters)]
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
    """The plan, checked: whatever can be refused is refused here. Parameters as of `ClustersPlan`.

    count: Number of units, used where it is public or `planned`.
    Raises ParameterError if the basis is not orthonormal, or a private number of units has no
    public size.
    """
    size = divisor_for(settings, count, planned)
    used = basis.truncate(min(FUNCTIONS, basis.eigenvalues.size))
    SymmetricTensorBasis(used)
    worth, growth, decay = PURE if isinstance(guarantee, PureDP) else NORMAL
    parts, rest = dict[str, Part](), shared(guarantee)
    persons = size * _epsilon(rest)
    if persons >= worth:
        parts[SUMS], rest = split(rest, SUMS_SHARE)
    parts[CELLS], rest = split(rest, CELLS_SHARE)
    most = (size * _epsilon(parts[CELLS]) / PERSONS) ** (2 * AXES / (2 + AXES))
    first = min(max(FEWEST, round(growth * persons ** (1 / 3))), used.eigenvalues.size)
    design = MomentsDesign(
        (first,), (bound.radius_on(used.grid_points, used.weights),), ("curves",), rest,
        settings.unit.relation, STEPS, MEAN_SHARE, decay=decay,
    )  # fmt: skip
    about = {"summary": "clusters of curves", **settings.said()}
    parts = {name: parts[name] for name in (CELLS, SUMS) if name in parts}
    cells = int(min(MOST_CELLS, max(most, EACH * clusters)))
    plan = ClustersPlan(
        design, parts, guarantee, used, bound, size, unit, about, clusters=clusters, most=cells
    )
    plan.whole_achieved()
    return plan


def _epsilon(part: Part) -> float:
    """That of Laplace noise on counts as large as the part's noise, which constants are in terms of."""
    return float(part.epsilon) if isinstance(part, PureDP) else 2 * math.sqrt(2 * part.rho)


# Clusters at most.
MOST_CLUSTERS = 20


class PrivateCurveClusters(OfVectors[ClustersPlan]):
    """Clusters of curves by k-means, under differential privacy: centers, and shares of the units.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    bounds : (lower, upper) or ValueBounds
        Public bounds on the values of a curve, enforced by clipping; centers keep to them. No default.
    clusters : int
        Public number of clusters, from 2 to 20.
    basis, domain, ledger
        As in `dpfda.PrivateMean`; the basis must be orthonormal, on an interval.
    unit : str or PrivacyUnit, optional
        Who is protected. Under add/remove a public size is needed, which sums are divided by.
    reading : Reading, optional
        As in `dpfda.PrivateMean`; an unusable record that is repaired counts as the middle of the
        bounds.

    Attributes
    ----------
    release_ : ReleasedCurveClusters
        ``release_.centers(t)``, ``release_.shares``, ``release_.assign(curves)``.
    n_features_in_ : int
        Number of grid points.

    Notes
    -----
    **Guarantee.** Pure epsilon, (epsilon, delta) or rho, one unit being one record, or the average of
    all records of one label of `groups`; another in its place, or one more or less. Moments are those
    of `dpfda.PrivateScalarOnFunction`; a unit is in one cell of their leading scores, and then in one
    cluster. Shares of the budget add up; with a delta or a rho all noise is normal, and charged as one
    law. Parameters are public; `X` and `groups` are private.

    References
    ----------
    Su, Cao, Li, Bertino & Jin (2016) for k-means of noisy cells and a step after it; Ding & He (2004)
    for clusters in leading components; Biswas, Dong, Kamath & Ullman (2020) for second moments.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> t, late = np.linspace(0, 1, 30), rng.random((3000, 1)) < 0.3
    >>> curves = np.exp(-50 * (t - np.where(late, 0.7, 0.3)) ** 2) + 0.1 * rng.normal(size=(3000, 1))
    >>> model = PrivateCurveClusters(1.0, bounds=(-1, 2), clusters=2, domain=(0, 1))
    >>> release = model.fit(curves).release_
    >>> bool(abs(release.shares[0] - 0.7) < 0.1), release.centers([0.3, 0.7]).shape
    (True, (2, 2))
    """

    release_: ReleasedCurveClusters
    CALLED: ClassVar[str] = "clusters of curves"

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        clusters: int = 3,
        basis: Functions = None,
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def _planned(self, guarantee: Guarantee, count: int, **choices: Unpack[Choices]) -> ClustersPlan:
        return clusters_plan(guarantee, count, clusters=self.clusters, **choices)

    def _checked(self) -> Guarantee:
        whole(self.clusters, "clusters", 2, MOST_CLUSTERS)
        return super()._checked()
