"""The covariance of curves observed at a few times each: pairs of visits, one table of shares.

**Guarantee.** A unit's shares of all pairs of cells and of squares are integers >= 0 of sum at most
one unit, whatever its visits are (`Observations.pair_shares`): the table is one of shares, and how much
noise it needs is `dpfda.noise.shares`. Center and reach of deviations are public: stated,
or those of a mean that was released before, given which the shares are a function of that unit alone.
Both releases compose to the whole. All the rest follows the noisy tables
(`dpfda.covariance.sparse_release`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from dpfda.bases import CosineBasis
from dpfda.bases.cells import CellGrid
from dpfda.bases.grids import equally_spaced
from dpfda.covariance.components_release import stated_reach
from dpfda.covariance.deviations import Deviations
from dpfda.covariance.sparse_release import FINAL, PARTS, ReleasedSparseCovariance, cells_along
from dpfda.covariance.strategies import MEAN, MOMENTS, Center, MatrixNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import below_one, length
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, added, pure_part, split
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import Prepared, charge, planner, said_by, stamp
from dpfda.publication.tables import OfTable, ShareTable
from dpfda.records.observations import Observations
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.releases.shares import NoisyShares
from dpfda.spine.choices import check_choices, sizes_for, stated_size
from dpfda.spine.curves import POINTS
from dpfda.spine.embedding import embedding_of
from dpfda.spine.estimator import Estimator
from dpfda.spine.pooled_curves import (
    PooledPlan,
    noise_of_table,
    planned_ends,
    pooled_observations,
    pooled_plan,
    two_bounds,
)
from dpfda.spine.settings import Settings, read_labels

SUMMARY = "curves that are pooled"
REMEDY = "For curves that are filled between their visits first: $missing."
# Share of the budget for a mean as the center.
MEAN_SHARE = Fraction(1, 4)
# Deviations reach so many standard deviations, for few units times epsilon and from so many on. Set on
# sets of real curves; it decides accuracy alone.
NEAR, FAR, MANY = 2.0, 2.5, 5000
# A reach is at least this share of the distance between the bounds.
LEAST = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class SparsePlan(OfTable):
    """Plan of a covariance of sparse curves.

    table: Of pairs of cells, and of squares.
    stated: The bound on deviations, with its numbers.
    about: As of any plan.
    ends: (float, float). Of the domain.
    bounds: (float, float) or None. Of values; None where a public center has a radius.
    center: array (m,), or None where a mean is released first.
    radius: How far deviations reach; None where that follows from the released mean.
    mean: PooledPlan, optional. Of the mean that is released first.
    designed: Number of units that cells are for.
    """

    table: ShareTable
    stated: Mapping[str, object]
    about: Mapping[str, object]
    ends: tuple[float, float]
    bounds: tuple[float, float] | None
    center: Floats | None
    radius: float | None
    mean: PooledPlan | None
    designed: int

    size = said_by("table.public_size")
    bounded = said_by("stated")
    tuning = said_by("table.tuning")

    def costs(self) -> dict[str, Cost]:
        stages = {MEAN: self.mean.table, MOMENTS: self.table} if self.mean else {MOMENTS: self.table}
        return {name: next(iter(table.costs().values())) for name, table in stages.items()}

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        return added([cost.guarantee for cost in self.costs().values()])

    @property
    def along(self) -> int:
        """Number of cells along each side."""
        return int(math.sqrt(self.table.cells))

    @property
    def grid(self) -> Floats:
        """Public points that carry center and reach."""
        return equally_spaced(POINTS, self.ends)

    def around(self, mean: ReleasedPooledMean | None) -> tuple[Floats, Floats]:
        """Center and reach on the grid (m,), once the mean is public; the reach is positive."""
        center = self.center if mean is None else np.asarray(mean(self.grid))
        assert center is not None  # noqa: S101
        if mean is None or self.radius is not None:
            return center, np.full(center.size, self.radius)
        wide = mean.bounds[1] - mean.bounds[0]
        few = self.designed * pure_part(self.guarantee).epsilon < MANY
        variance = np.asarray(mean.deviation(self.grid)) ** 2
        overall = np.average(variance, weights=mean.observed(self.grid))
        # Its shape is partly noise, and where units are few mostly.
        reach = NEAR * np.full(center.size, np.sqrt(overall))
        if not few:
            reach = FAR * np.sqrt((variance + overall) / 2)
        return center, np.clip(reach, LEAST * wide, wide)


def prepare_sparse(
    estimator: Estimator, X: object, groups: object
) -> Prepared[SparsePlan, Observations]:
    """Everything before the noise: the plan, and the observations. Nothing is charged or drawn.

    X: LongCurves, FDataIrregular, or array (n, m) with gaps.
    groups: As in `PrivateCovariance.fit`. Private.
    """
    guarantee, settings = check_choices(estimator), estimator._settings_for(X, groups)
    # Whether arithmetic overflows depends on values: it may neither warn nor raise.
    with np.errstate(all="ignore"):
        observations, _, ends, labelled = pooled_observations(settings, X, groups)
    plan = sparse_plan(
        guarantee, observations.units, deviations=_deviations(estimator), settings=settings, ends=ends,
        noise=MatrixNoise.of(estimator.mechanism).law, unit=settings.unit.called(labelled or None),
    )  # fmt: skip
    return Prepared(plan, observations)


def plan_sparse(estimator: Estimator, n: int) -> SparsePlan:
    """What would be published of n units, from public numbers alone."""
    settings = estimator.settings
    return sparse_plan(
        check_choices(estimator), n, deviations=_deviations(estimator),
        noise=MatrixNoise.of(estimator.mechanism).law, settings=settings,
        unit=settings.unit.called(None), ends=planned_ends(settings), planned=True,
    )  # fmt: skip


@planner
def sparse_plan(
    guarantee: Guarantee,
    count: int,
    *,
    deviations: Deviations,
    noise: str,
    settings: Settings,
    unit: str,
    ends: tuple[float, float],
    planned: bool = False,
) -> SparsePlan:
    """The plan of a covariance of sparse curves; `count` units are there, or are planned."""
    designed = stated_size(sizes_for(settings, count, planned)[1], "public_size")
    size, neighbours = None if settings.unit.private else designed, settings.unit.relation
    center, radius = _center_and_radius(deviations, equally_spaced(POINTS, ends))
    bounds = None if deviations.bounds is None else two_bounds(deviations.bounds, SUMMARY, REMEDY)
    mean, rest = None, guarantee
    if center is None:
        share = deviations.center.mean_share
        part, rest = split(guarantee, MEAN_SHARE if share is None else below_one(share, "mean_share"))
        mean = pooled_plan(
            part, designed, settings=settings, noise="auto", unit=unit, ends=ends,
            bounds=two_bounds(deviations.bounds, SUMMARY, REMEDY), planned=True,
        )  # fmt: skip
    trial = ShareTable(1, rest, neighbours, unit, size, noise, parts=PARTS)
    along = cells_along(float(designed), trial.deviation)
    bounded = stated_reach(radius, None if bounds is None else list(bounds))
    words = {
        "summary": "covariance",
        "bound": str(bounded["description"]),
        "basis": f"pairs of {along} cells",
    }
    tuning = {"name": "pooled pairs", "cells": along}
    cells = along * (along + 1) + 2
    table = ShareTable(cells, rest, neighbours, unit, size, noise, words, tuning, PARTS)
    center_kind = "public" if mean is None else "private"
    about = {
        "summary": "covariance",
        "center": "of the bound" if deviations.word == "bound" else center_kind,
        **read_labels(settings.domain.labels),
    }
    return SparsePlan(table, bounded, about, ends, bounds, center, radius, mean, designed)


def _deviations(estimator: Estimator) -> Deviations:
    """How deviations are taken; refuses all that these estimates have no use for."""
    reading, law = estimator.settings.reading, MatrixNoise.of(estimator.mechanism)
    center = Center.of(estimator.center)
    deviations = Deviations(estimator.bounds, center, False)
    noise_of_table(
        law.law, SUMMARY, REMEDY, basis=estimator.basis, standardize=reading.standardize,
        embed=embedding_of(reading), radius_share=center.radius_share, functions=law.functions,
    )  # fmt: skip
    if deviations.word == "pairs":
        words = f"be 'private', 'bound', a curve or a function for {SUMMARY}"
        raise ParameterError("center", words, "'pairs'", REMEDY)
    return deviations


def _center_and_radius(deviations: Deviations, grid: Floats) -> tuple[Floats | None, float | None]:
    """The public center on the grid and how far deviations from it reach; None for what is private."""
    stated = deviations.center.radius
    radius = None if stated is None or stated == "private" else length(stated, "radius")
    if deviations.word in ("auto", "private"):
        return None, radius
    if stated == "private":
        words = f"be a number, in the units of values, around a public center for {SUMMARY}"
        raise ParameterError("radius", words, "'private'", REMEDY)
    if deviations.bounds is None and radius is not None and deviations.word is None:
        return deviations.center_on(grid), radius
    lower, upper = two_bounds(deviations.bounds, SUMMARY, REMEDY)
    if deviations.word == "bound":
        center = np.full(grid.size, (lower + upper) / 2)
    else:
        center = np.clip(cast("Floats", deviations.center_on(grid)), lower, upper)
    implied = float(np.max(np.maximum(upper - center, center - lower)))
    return center, implied if radius is None else min(radius, implied)


def publish_sparse(
    prepared: Prepared[SparsePlan, Observations], paying: Paying = NAMED
) -> ReleasedSparseCovariance:
    """Charge, draw, add: first the mean, where one is the center, then the table around it."""
    plan, observations = prepared.plan, prepared.total
    certificate, about = plan.certified(), {**plan.about, **stamp()}
    charge(paying, certificate, plan.entry())
    with np.errstate(all="ignore"):
        mean = None
        if plan.mean is not None:
            mean = _released_mean(plan.mean, observations, certificate.part(MEAN))
        center, reach = plan.around(mean)
        at, values = np.clip(observations.times, *plan.ends), observations.values
        values = values if plan.bounds is None else np.clip(values, *plan.bounds)
        values = (values - np.interp(at, plan.grid, center)) / np.interp(at, plan.grid, reach)
        cells = CellGrid.regular(plan.along, plan.ends)
        total = IntegerSum.of(replace(observations, values=values).pair_shares(cells, *PARTS))
    noisy, achieved = _drawn(plan.table, total)
    achieved = achieved if mean is None else added([mean.certificate.achieved, achieved])
    tuning = {**plan.tuning, "noise": plan.table.described}
    basis = CosineBasis.on_grid(FINAL, plan.grid, plan.ends)
    return ReleasedSparseCovariance(
        basis, noisy, center, reach, certificate.fulfilled(achieved, tuning), about, mean
    )


def _drawn(table: ShareTable, total: IntegerSum) -> tuple[NoisyShares, Guarantee]:
    """A table with noise, and what that gives. The ledger has been charged."""
    law, achieved = table.law, table.calibrated.achieved()
    return NoisyShares(total.with_noise(law.draw()), law, table.public_size), achieved


def _released_mean(
    plan: PooledPlan, observations: Observations, certificate: Certificate
) -> ReleasedPooledMean:
    """The mean as `PrivateMean` would release it. The ledger has been charged for the whole."""
    noisy, achieved = _drawn(plan.table, IntegerSum.of(plan.shares(observations)))
    own = certificate.fulfilled(achieved, {**plan.tuning, "noise": plan.table.described}, plan.bounded)
    return ReleasedPooledMean(noisy, plan.ends, plan.bounds, own, {**plan.about, **stamp()})
