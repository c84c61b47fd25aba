"""Observations of curves that are pooled, and the plan of their one table of noisy shares.

Tables of shares or corners as one exact sum, wherever the units are: visits, survival, effects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from dpfda.bases.cells import CellGrid, box_domain
from dpfda.bases.grids import check_domain
from dpfda.bounds import ValueBounds, read_bounds
from dpfda.estimates.pooled import cells_for
from dpfda.noise import GaussianNoise
from dpfda.noise.knorm_shares import in_blocks
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.privacy.ledger.named import read_ledger
from dpfda.publication import planner, said_by, stamp
from dpfda.publication.shares import SharedLaw, Sharing, counted
from dpfda.publication.tables import CORNER_EXPONENT, CornersPlan, ShareTable, TablePlan
from dpfda.records import LongCurves
from dpfda.records.frames import Container
from dpfda.records.observations import (
    CORNERS,
    Observations,
    observations_from_array,
    observations_from_long,
)
from dpfda.releases.base import Release
from dpfda.releases.pooled_line import bound_words
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.releases.shares import NoisyShares
from dpfda.spine.choices import sizes_for, stated_size
from dpfda.spine.curves import grid_of
from dpfda.spine.pooled import PooledSum, Size
from dpfda.spine.settings import Settings, read_labels

NOISES = ("auto", "laplace", "gaussian")


@dataclass(frozen=True, eq=False, repr=False)
class PooledPlan(CornersPlan[ReleasedPooledMean]):
    """Plan of a pooled mean.

    Parameters
    ----------
    ends : (float, float)
        Of the domain.
    """

    ends: tuple[float, float] = (0.0, 1.0)

    @property
    def cells(self) -> CellGrid:
        """Public cells of time."""
        return CellGrid.regular(self.table.cells // CORNERS, self.ends)

    def shares(self, seen: Observations) -> list[int]:
        """Sums over units of their shares of the corners of the cells. Private."""
        return seen.shares(self.cells, self.bounds, UNIT)

    def assemble(self, noisy: NoisyShares, certificate: Certificate) -> ReleasedPooledMean:
        return ReleasedPooledMean(noisy, self.ends, self.bounds, certificate, {**self.about, **stamp()})


def planned_ends(settings: Settings) -> tuple[float, float]:
    """The ends of the domain, as far as they are stated, for a plan."""
    ends = settings.domain.domain_range
    if ends is None and settings.domain.grid_points is not None:
        ends = check_domain(None, np.asarray(settings.domain.grid_points))
    return interval_of((0.0, 1.0) if ends is None else ends)


@planner
def pooled_plan(
    guarantee: Guarantee,
    count: int,
    *,
    settings: Settings,
    noise: str,
    unit: str,
    ends: tuple[float, float],
    bounds: tuple[float, float],
    planned: bool = False,
) -> PooledPlan:
    """The plan of a pooled mean; `count` units are there, or are planned."""
    if planned:
        size, designed = None if settings.unit.private else count, count
    else:
        designed = stated_size(sizes_for(settings, count, planned)[1], "public_size")
        size = None if settings.unit.private else designed
    neighbours = settings.unit.relation
    trial = ShareTable(1, guarantee, neighbours, unit, size, noise)
    cells = cells_for(float(designed), trial.deviation)
    words = {
        "summary": "mean curve",
        "bound": bound_words(bounds, unit),
        "basis": CellGrid.regular(cells, ends).describe(),
    }
    tuning = {"name": "pooled", "cells": cells}
    table = ShareTable(cells * CORNERS, guarantee, neighbours, unit, size, noise, words, tuning)
    about = {"summary": "mean curve", **read_labels(settings.domain.labels)}
    return PooledPlan(table, bounds, about, designed, ends)


def two_bounds(bounds: object, summary: str, remedy: str = "") -> tuple[float, float]:
    """Public bounds on values that are the same at all times. Raises ParameterError if they are not."""
    bound = read_bounds(bounds, False)
    ends = (bound.lower, bound.upper) if isinstance(bound, ValueBounds) else (None, None)
    if not (isinstance(ends[0], float) and isinstance(ends[1], float)):
        words = f"be two numbers (lower, upper) for {summary}"
        raise ParameterError("bounds", words, shown(bounds), remedy)
    return ends[0], ends[1]


def noise_of_table(noise: object, summary: str, remedy: str, **others: object) -> str:
    """The noise that is asked for a table; whatever else is given, and of no use to it, is refused."""
    for name, value in others.items():
        default = False if name == "standardize" else None
        if value is not default:
            words = f"be {'$none' if default is None else default} for {summary}"
            raise ParameterError(name, words, shown(value), remedy)
    if not isinstance(noise, str) or noise not in NOISES:
        words = f"be 'auto', 'laplace' or 'gaussian' for {summary}"
        raise ParameterError("mechanism", words, shown(noise), remedy)
    return noise


def pooled_observations(
    settings: Settings, X: object, groups: object = None
) -> tuple[Observations, Floats, tuple[float, float], bool]:
    """The observations, the public grid and ends of their times, and whether units are groups."""
    domain, invalid = settings.domain, settings.reading.invalid
    handed = Container.of(X, groups).curves(domain.grid_points, invalid)
    stated = domain.domain_range if domain.domain_range is not None else handed.domain_range
    grid, values = grid_of(settings, handed), handed.values
    ends = interval_of(check_domain(stated, grid))
    if not isinstance(values, LongCurves):
        observations = observations_from_array(values, grid, handed.groups, invalid)
        return observations, grid, ends, handed.groups is not None
    observations = observations_from_long(values, handed.groups, ends, invalid)
    return observations, grid, ends, handed.groups is not None or values.groups is not None


def interval_of(domain: object) -> tuple[float, float]:
    """The public ends of a domain. Raises ParameterError if it has several variables."""
    box = box_domain(domain)
    if len(box) != 1:
        raise ParameterError("domain", "be an interval for a pooled mean", f"{len(box)} variables")
    return box[0]


Made = TypeVar("Made", bound=Release)


@dataclass(frozen=True, eq=False)
class PooledTable(PooledSum, Generic[Made]):
    """A table of shares as a sum.

    Parameters
    ----------
    settings : Settings
    plan : TablePlan
        Its cells are the same for all holders.
    """

    settings: Settings
    plan: TablePlan[Made]
    largest = UNIT

    # Public side of the noise.
    table = said_by("plan.table")
    numbers = said_by("table.cells")

    def publish(self, total: IntegerSum, ledger: object = None) -> Made:
        noisy, certificate = self.table.publish(total, read_ledger(ledger))
        if noisy.public_size is not None:
            # Of those who are in it: others may have vanished since it was planned.
            noisy = replace(noisy, public_size=total.count_with_noise(0, 1))
        return self.plan.assemble(noisy, certificate)

    @property
    def sharing(self) -> Sharing:
        law, charged, norm, width = self.table.calibrated
        return Sharing(self.plan, law, norm, width, charged)

    def publish_shared(self, total: IntegerSum, law: SharedLaw, size: Size, ledger: object) -> Made:
        noisy, certificate = self.sharing.opened(total, law, read_ledger(ledger))
        return self._assembled(noisy, law, size, certificate)

    def _assembled(
        self, noisy: tuple[int, ...], law: SharedLaw, size: Size, certificate: Certificate
    ) -> Made:
        shares = NoisyShares(noisy, law, None if size is None else round(size))
        return self._counted(size).assemble(shares, certificate)

    def _counted(self, units: object, **changes: object) -> TablePlan[Made]:
        """The plan that says how units are counted."""
        plan: Any = self.plan
        plan_of_units: TablePlan[Made] = replace(plan, about=counted(plan.about, units), **changes)
        return plan_of_units


@dataclass(frozen=True, eq=False)
class PooledCorners(PooledTable[Made]):
    """A table of corners as a sum: with noise that may be in shares, all of it at once.

    One unit moves all rows together by at most the length by which it could move one alone, in Gaussian
    noise's square and in the sum of the lengths of blocks (`dpfda.publication.tables`), so that the law
    of a row, drawn for each, is one law on that length.
    """

    largest = 1 << CORNER_EXPONENT

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return int(self.table.rows * self.table.columns)

    def publish(self, total: IntegerSum, ledger: object = None) -> Made:
        # A private number of units is not looked at.
        public = self.plan.neighbours is Neighbours.REPLACE_ONE
        plan = self._of(total.count_with_noise(0, 1) if public else None)
        release: Made = plan.publish(total, read_ledger(ledger))
        return release

    def _assembled(
        self, noisy: tuple[int, ...], law: SharedLaw, size: Size, certificate: Certificate
    ) -> Made:
        row = law.part(slice(0, self.table.columns))
        release: Made = self._of(size).assemble(noisy, certificate, row)
        return release

    def _of(self, units: Size) -> Any:
        """The plan for who is in the sum, where their number is public."""
        size = {} if self.plan.size is None else {"size": units and round(units)}
        return self._counted(units, **size)

    @property
    def stated_grid(self) -> tuple[Floats, tuple[float, float]]:
        plan: Any = self.plan
        return plan.grid, plan.domain_range

    @property
    def sharing(self) -> Sharing:
        (law, charged, norm, width), rows = self.table.calibrated, self.table.rows
        if isinstance(law, GaussianNoise):
            return Sharing(self.plan, GaussianNoise(law.scales * rows), norm, width, charged)
        law_of_row, norm, width = in_blocks([(self.table.columns, norm, width)], charged)
        # As if one row alone moved, and as far as it can.
        still = (0,) * (self.table.columns * (rows - 1))
        return Sharing(self.plan, law_of_row.times(rows), norm, (*width, *still), charged, along=True)
