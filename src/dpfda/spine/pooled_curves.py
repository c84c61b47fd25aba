"""Observations of curves that are pooled, and the plan of their one table of noisy shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.bases.cells import CellGrid, box_domain
from dpfda.bases.grids import check_domain
from dpfda.bounds import ValueBounds, read_bounds
from dpfda.estimates.pooled import cells_for
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import planner, stamp
from dpfda.publication.tables import CornersPlan, ShareTable
from dpfda.records import LongCurves
from dpfda.records.observations import (
    CORNERS,
    Observations,
    observations_from_array,
    observations_from_long,
)
from dpfda.releases.pooled_line import bound_words
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.releases.shares import NoisyShares
from dpfda.spine.choices import sizes_for, stated_size
from dpfda.spine.curves import grid_of, handed_curves, is_pooled, stated_ends
from dpfda.spine.estimator import Estimator
from dpfda.spine.settings import Settings, read_labels

NOISES = ("auto", "laplace", "gaussian")


def refuse_pooled(estimator: Estimator, X: object) -> None:
    """Refuse what would be pooled where one sum of functions is wanted, by its layout.

    Raises
    ------
    ParameterError
    """
    if is_pooled(estimator.settings, X):
        words = "be 'complete' for irregular curves where one sum of functions is wanted"
        remedy = "Observations are pooled by fit alone: not for streams, blocks, Dask and sessions."
        raise ParameterError("missing", words, repr(estimator.settings.reading.missing), remedy)


@dataclass(frozen=True, eq=False, repr=False)
class PooledPlan(CornersPlan[ReleasedPooledMean]):
    """Plan of a pooled mean.

    Parameters
    ----------
    ends : (float, float)
        Of the domain.
    """

    ends: tuple[float, float] = (0.0, 1.0)

    def assemble(self, noisy: NoisyShares, certificate: Certificate) -> ReleasedPooledMean:
        about = {**self.about, **stamp()}
        return ReleasedPooledMean(noisy, self.ends, self.bounds, certificate, about)


def planned_ends(settings: Settings) -> tuple[float, float]:
    """The ends of the domain, as far as they are stated, for a plan."""
    given = settings.domain.domain_range
    if given is None and settings.domain.grid_points is not None:
        given = check_domain(None, np.asarray(settings.domain.grid_points))
    return interval_of((0.0, 1.0) if given is None else given)


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


def pooled_observations(
    settings: Settings, X: object, groups: object
) -> tuple[Observations, tuple[float, float], bool]:
    """The observations, the public ends of their times, and whether units are groups."""
    domain, invalid = settings.domain, settings.reading.invalid
    handed = handed_curves(X, groups, domain.grid_points, invalid)
    given = domain.domain_range if domain.domain_range is not None else handed.domain_range
    if isinstance(handed.values, LongCurves):
        ends = interval_of(stated_ends(given))
        found = observations_from_long(handed.values, handed.groups, ends, invalid)
        return found, ends, handed.groups is not None or handed.values.groups is not None
    grid = grid_of(settings, handed)
    ends = interval_of(check_domain(given, grid))
    found = observations_from_array(handed.values, grid, handed.groups, invalid)
    return found, ends, handed.groups is not None


def interval_of(given: object) -> tuple[float, float]:
    """The public ends of a domain. Raises ParameterError if it has several variables."""
    box = box_domain(given)
    if len(box) != 1:
        raise ParameterError("domain_range", "be an interval for a pooled mean", f"{len(box)} variables")
    return box[0]
