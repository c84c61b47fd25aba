"""The plan of quantile curves: their table, and what is to be expected of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy

from dpfda.bases.ordinary import Outlook, ordinary_curves, spread_evenly
from dpfda.bounds import ValueBounds
from dpfda.noise.shares import UNIT
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import floats
from dpfda.numerics.speed import one_thread
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import planner, said_by, stamp
from dpfda.publication.tables import ShareTable, TablePlan, cut_width
from dpfda.reference.centiles.cells import Cells
from dpfda.reference.centiles.fit import Posterior, fitted
from dpfda.reference.centiles.release import ReleasedQuantileCurves, bound_words, half_widths
from dpfda.releases.shares import NoisyShares
from dpfda.spine.choices import sizes_for, stated_size
from dpfda.spine.settings import Settings

# Laws over which errors are expected: normal about ordinary curves, of such deviations.
LAWS, QUICK = 6, 2
DEVIATIONS = 0.05 * 4 ** spread_evenly(LAWS, 1)[:, 0]
# What smooth laws leave out of real ones does not fall with the number of units: in shares of their
# scale, law by law. Chosen on half of the sets that the page on quantile curves names.
LEFT_OUT = 0.02 * 15 ** spread_evenly(LAWS, 2)[:, 1]
# Real curves bend more than ordinary ones, so that bands are so many times as wide. All sets were seen.
WIDER = 1.1
# A noise of curves is spread over about so many cells of time when the number of cells is chosen.
USUAL = 16


@dataclass(frozen=True, eq=False, repr=False)
class QuantileCurvesPlan(TablePlan[ReleasedQuantileCurves]):
    """Plan of quantile curves.

    Parameters
    ----------
    table : ShareTable
    cells : Cells
    lower, upper : array (m,)
        Bounds on the grid.
    levels : tuple of float
    about : mapping
    designed : int
        Number of units that the cells are for, and that errors are expected for.
    """

    table: ShareTable
    cells: Cells
    lower: Floats
    upper: Floats
    levels: tuple[float, ...]
    about: Mapping[str, object]
    designed: int
    # Its errors are those of a few made-up tables.
    simulated: ClassVar[bool] = True
    error_words = (
        "root mean square at a point, over the levels, from the quantile curves of the population, "
        "sampling included, over ordinary laws"
    )

    size = said_by("table.public_size")

    def assemble(self, noisy: NoisyShares, certificate: Certificate) -> ReleasedQuantileCurves:
        return ReleasedQuantileCurves(
            noisy, self.cells, self.lower, self.upper, self.levels, self.levels[len(self.levels) // 2],
            certificate, {**self.about, **stamp()},
        )  # fmt: skip

    @property
    def scale(self) -> tuple[float, str]:
        return float(np.mean(self.upper - self.lower)), "the distance between the bounds"

    def outlook(self, quick: bool = False) -> Outlook:
        fits = self._few_fits if quick else self._fits
        return Outlook.of(self.scale[0] * np.array([error for _, error in fits]))

    def outlook_width(self, level: float, quick: bool = False) -> Outlook:
        """As `band`, of the median or the level next to it."""
        middle, cells = self.levels[len(self.levels) // 2], self.cells
        at = cells.nodes.positions
        fits = self._few_fits if quick else self._fits
        halves = [
            cut_width(
                fit.at(at).quantiles(middle),
                WIDER * half_widths(fit, at, cells.times, middle, level, True),
            )
            for fit, _ in fits
        ]
        return Outlook.of(self.scale[0] * np.array(halves), self.scale[0] / 2)

    @cached_property
    def _fits(self) -> list[tuple[Posterior, float]]:
        return [*self._few_fits, *map(self._fit, self._invented[QUICK:], LEFT_OUT[QUICK:])]

    @cached_property
    def _few_fits(self) -> list[tuple[Posterior, float]]:
        return [*map(self._fit, self._invented[:QUICK], LEFT_OUT)]

    @cached_property
    def _invented(self) -> list[Floats]:
        """Tables of invented units.

        What a unit adds at one time is taken not to depend on another.
        """
        nodes, law = self.cells.nodes, self.table.law
        generator = np.random.Generator(np.random.Philox(key=37))
        centres = 0.25 + 0.5 * ordinary_curves(nodes.positions, LAWS)
        edges = np.linspace(0.0, 1.0, self.cells.values + 1)
        edges[0], edges[-1] = -np.inf, np.inf
        tables = []
        for centre, deviation in zip(centres, DEVIATIONS, strict=True):
            chances = np.diff(scipy.special.ndtr((edges - centre[:, None]) / deviation), axis=1)
            expected = nodes.summed(chances)
            # Whole curves are all seen in every cell of time, visits each in one.
            share = expected.sum(axis=1, keepdims=True)
            people = np.maximum(1.0, self.designed * (share if self.cells.visits else share**0))
            seen = generator.multinomial(np.rint(people[:, 0]).astype(np.int64), expected / share)
            noise = law.simulate(generator, 1)[0].reshape(expected.shape) / UNIT
            tables.append(seen * (self.designed * share / people) + noise)
        return tables

    @one_thread()
    def _fit(self, table: Floats, left: float) -> tuple[Posterior, float]:
        """The fit of such a table, and the error that it states: what it has is more by chance.

        left: What real laws have beside, in scales of the law.
        """
        nodes, terms = self.cells.nodes, self.cells.terms(self.size is not None)
        posterior = fitted(table, nodes, terms, float(self.designed), self.table.deviation)
        parts = (posterior.errors(nodes.positions, level) for level in self.levels)
        stated = float(np.mean([np.sum(root**2, axis=1) + rough for root, rough, _ in parts]))
        beside = left * float(np.mean(posterior.at(nodes.positions).scale))
        return posterior, math.hypot(math.sqrt(stated), beside)


@planner
def quantile_curves_plan(
    guarantee: Guarantee,
    count: int,
    *,
    settings: Settings,
    unit: str,
    grid: Floats,
    ends: tuple[float, float],
    bound: ValueBounds,
    levels: tuple[float, ...],
    visits: bool,
    planned: bool = False,
) -> QuantileCurvesPlan:
    """The plan of quantile curves; `count` units are there, or are planned."""
    size, usual = sizes_for(settings, count, planned)
    designed = count if planned else stated_size(usual, "public_size")
    relation = settings.unit.relation
    parts = (UNIT,) if visits else (UNIT // USUAL,) * USUAL
    trial = ShareTable(1, guarantee, relation, unit, size, parts=parts)
    cells = Cells.chosen(designed / trial.deviation, grid, ends, visits)
    words = {"summary": "quantile curves", "bound": bound_words(bound, unit), "basis": cells.describe()}
    tuning = {"name": "quantile curves", "cells": [cells.times, cells.values]}
    table = ShareTable(
        cells.size, guarantee, relation, unit, size, "auto", words, tuning, parts=cells.parts
    )
    about = {"summary": "quantile curves", **settings.said()}
    lower, upper = (floats(end.tolist()) for end in bound.curves_on(grid))
    return QuantileCurvesPlan(table, cells, lower, upper, levels, about, designed)
