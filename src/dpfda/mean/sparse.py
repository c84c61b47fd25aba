"""The mean of curves observed at a few times each: what is read, and what is asked of its plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.mean.streams import InBlocks
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.publication import Prepared
from dpfda.records.frames import Container
from dpfda.records.observations import CORNERS
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.spine.arguments import Beside, Labels, Records
from dpfda.spine.choices import check_choices
from dpfda.spine.embedding import embedding_of
from dpfda.spine.pooled_curves import (
    NOISES,
    PooledPlan,
    PooledTable,
    planned_ends,
    pooled_observations,
    pooled_plan,
    two_bounds,
)

REMEDY = "For the estimate that fills each person's gaps first: $missing."


def prepare_pooled(
    estimator: InBlocks, X: object, groups: object = None
) -> Prepared[PooledPlan, IntegerSum]:
    """Everything before the noise. The result is private.

    A unit has the weight one, divided among its observations: what each adds is
    `dpfda.records.observations.Observations.shares`, and how much the noise must hide is
    `dpfda.noise.shares`. All the rest follows the noisy table: docs/sparse.md.

    Parameters
    ----------
    estimator : PrivateMean
    X : LongCurves, FDataIrregular, or array (n, m) with gaps
    groups
        As in `PrivateMean.fit`. Private.
    """
    check_choices(estimator)
    bounds, noise = _asked(estimator)
    records = Container.of(X, groups)
    settings = estimator._settings_for(records)
    if embedding_of(settings.reading) is not None:
        words = "be 'refuse' or 'complete', with curves on one grid, for a class that embeds records"
        raise ParameterError("missing", words, repr(settings.reading.missing))
    # Whether arithmetic overflows depends on values: it may neither warn nor raise.
    with np.errstate(all="ignore"):
        found, _, ends, labelled = pooled_observations(settings, records)
        unit = settings.unit.called(labelled or None)
        plan = pooled_plan(
            estimator.asked(), found.units, settings=settings, noise=noise, unit=unit,
            ends=ends, bounds=bounds,
        )  # fmt: skip
        cells = CellGrid.regular(plan.table.cells // CORNERS, ends)
        return Prepared(plan, IntegerSum.of(found.shares(cells, bounds, UNIT)))


def plan_pooled(estimator: InBlocks, n: int) -> PooledPlan:
    """What would be published of n units, from public numbers alone."""
    (bounds, noise), settings = _asked(estimator), estimator.settings
    return pooled_plan(
        estimator.asked(), n, settings=settings, noise=noise,
        unit=settings.unit.called(None), ends=planned_ends(settings), bounds=bounds, planned=True,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PooledVisits(PooledTable[ReleasedPooledMean]):
    """The same table as a sum of several holders, on the cells of a plan for all of their units."""

    plan: PooledPlan

    @property
    def cells(self) -> CellGrid:
        """Public cells of time."""
        return CellGrid.regular(self.numbers // CORNERS, self.plan.ends)

    @property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        made = [self.cells.to_json(), [float(end).hex() for end in self.plan.bounds]]
        return {"reading": self.invalid, "integers": made}

    def total(self, X: Records, groups: Labels = None, y: Beside = None) -> IntegerSum:
        plan, (start, end) = self.plan, self.plan.ends
        with np.errstate(all="ignore"):
            found, _, ends, _ = pooled_observations(self.settings, X, groups)
            if ends != plan.ends:
                raise ParameterError("X", f"be on the domain {start:g} to {end:g} of all", "another")
            sums = found.shares(self.cells, plan.bounds, UNIT)
            return IntegerSum(self.numbers).add_totals(sums, found.units)


def _asked(estimator: InBlocks) -> tuple[tuple[float, float], str]:
    """The public bounds and the noise; and everything that a pooled mean has no use for is refused."""
    reading = estimator.settings.reading
    for name, given, default in (
        ("basis", estimator.basis, None),
        ("prior", estimator.prior, None),
        ("standardize", reading.standardize, False),
    ):
        if given is not default:
            words = f"be {'$none' if default is None else default} for a pooled mean"
            raise ParameterError(name, words, shown(given), REMEDY)
    noise = estimator.mechanism
    if not isinstance(noise, str) or noise not in NOISES:
        words = "be 'auto', 'laplace' or 'gaussian' for a pooled mean"
        raise ParameterError("mechanism", words, shown(noise), REMEDY)
    return two_bounds(estimator.bounds, "a pooled mean", REMEDY), noise
