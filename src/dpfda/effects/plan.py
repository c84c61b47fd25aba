"""The plan of a regression of curves: its corners and cells, and the noise on the table of both."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.corners import Corners
from dpfda.bases.ordinary import ordinary_curves
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import ValueBounds
from dpfda.effects.estimate import VERSION, expected_table
from dpfda.effects.release import ReleasedFunctionalRegression, bound_words
from dpfda.estimates.curves import interpolation
from dpfda.mechanisms.cells import cell_labels
from dpfda.mechanisms.design.lines import growth, number_of_cells
from dpfda.noise import NoiseLaw
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.parameters import whole
from dpfda.numerics.words import several, so_many
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import Trial, TriedPlan, planner, stamp
from dpfda.publication.planners import ORDINARY
from dpfda.publication.tables import CORNER_EXPONENT, CornerTable, TablePlan
from dpfda.spine.choices import sizes_for, stated_size
from dpfda.spine.settings import Settings

SUMMARY = "regression of curves on covariates"
# Effects are smaller and smoother than means, and want the cells of means of so many times fewer units,
# where units are few; but so many at least. Where a mean of EVERY times fewer units has every point as
# a cell, short cycles may need them.
FEWER, FEWEST, EVERY = 2.5, 6, 1.5
# Columns of a trial table, and the deviation of its noise at epsilon 1 under replace-one neighbours.
TRIAL, USUAL = 10, math.sqrt(4 * 11 * 12 / 3)
# Ordinary effects are half of an ordinary curve each, so many times as large; curves and effects are
# given at so many points at most, and linear between: on more they would be rougher than real ones.
LARGER, GIVEN = 2.0, 40


@dataclass(frozen=True, eq=False, repr=False)
class EffectsPlan(TriedPlan, TablePlan[ReleasedFunctionalRegression]):
    """Plan of a regression of curves.

    Parameters
    ----------
    table : CornerTable
        Public side of the noise.
    corners : Corners
    grid : array (m,)
    domain_range : (float, float)
    bound : ValueBounds
    cells : tuple of int
        Numbers of grid points in the cells.
    size : int or None
        Public number of units that count; None where it is private.
    designed : int or None
        Public number of units that the cells are for.
    about : mapping
    """

    table: CornerTable
    corners: Corners
    grid: Floats
    domain_range: tuple[float, float]
    bound: ValueBounds
    cells: tuple[int, ...]
    size: int | None
    designed: int | None
    about: Mapping[str, object]
    TRIALS: ClassVar[int] = 8
    BANDS: ClassVar[int] = 8

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Public bounds (m,) on the grid."""
        return self.bound.curves_on(self.grid)

    def publish(self, total: IntegerSum, paying: Paying = NAMED) -> ReleasedFunctionalRegression:
        self.check()
        return super().publish(total, paying)

    def check(self) -> None:
        """Whatever can be refused is refused here, before the charge."""
        self.assemble((0,) * (self.table.rows * self.table.columns), self.certified())

    def assemble(
        self, noisy: tuple[int, ...], certificate: Certificate, noise: NoiseLaw | None = None
    ) -> ReleasedFunctionalRegression:
        """As of `TablePlan`; `noise` of a row, where it is not the table's."""
        return ReleasedFunctionalRegression(
            corners=self.corners,
            noisy_sum=noisy,
            noise=noise or self.table.law,
            exponent=CORNER_EXPONENT,
            public_size=self.size,
            grid_points=self.grid,
            domain_range=self.domain_range,
            bounds=np.stack(self.limits),
            cells=self.cells,
            certificate=certificate,
            about={**self.about, **stamp()},
            version=VERSION,
        )

    # What to expect.

    @property
    def error_words(self) -> str:
        return (
            "root mean square at a point of the curve at either end of the first covariate, from least "
            f"squares on these {several(self.unit)}, {ORDINARY} curves and effects, covariates spread "
            "evenly"
        )

    def _band_said(self, level: float) -> str:
        return f"{super()._band_said(level)}, of the curve at either end of the first covariate"

    def trials(self, count: int) -> list[Trial]:
        """Of ordinary coefficient functions: a table with simulated noise, looked at as it is drawn."""
        if self.n is None:
            return []
        start, end = self.domain_range
        size, starts = len(self.corners.terms), np.cumsum((0, *self.cells[:-1]))
        times, shape = (self.grid - start) / (end - start), (count, size, self.grid.size)
        knots = np.linspace(0.0, 1.0, min(times.size, GIVEN))
        carried = 2 * interpolation(knots, times).T
        curves, slow = (ordinary_curves(at, count * size) @ carried - 1 for at in (knots, knots / 2))
        lower, upper = self.limits
        generator = np.random.Generator(np.random.Philox(key=2))
        certificate, trials = self.certified(), list[Trial]()
        for coefficients, effects in zip(curves.reshape(shape), slow.reshape(shape), strict=True):
            # Covariates change curves, have no level of their own, and are smoother than curves.
            coefficients[1:] = LARGER * (effects - effects.mean(axis=1, keepdims=True))[1:]
            averages = np.add.reduceat(coefficients, starts, axis=1) / np.array(self.cells)
            seen = np.ldexp(expected_table(self.corners, averages, float(self.n)), CORNER_EXPONENT)
            noisy = np.rint(seen + self.table.law.simulate(generator, self.table.rows)).ravel()
            # What the law of boxes gains, a twentieth, is left out: it takes more time than all else.
            release = self.assemble(tuple(int(value) for value in noisy), certificate)
            release = replace(release, version=None)
            for shown in release.shown.values():
                line = np.clip(self.corners.point(shown.place) @ coefficients, -1.0, 1.0)
                truth = (lower + upper) / 2 + line * (upper - lower) / 2
                trials.append(Trial(shown, self.grid, truth))
        return trials

    @property
    def scale(self) -> tuple[float, str] | None:
        lower, upper = self.limits
        return float(np.mean(upper - lower)), "the distance between the bounds"


def cells_of_effects(points: int, strength: float) -> int:
    """Number of cells for a grid of so many points; `strength` is n epsilon of a mean with such noise.

    Examples
    --------
    >>> [cells_of_effects(100, strength) for strength in (1, 300, 1000, 2000, 5000)]
    [3, 6, 14, 26, 100]
    """
    of_a_mean = number_of_cells(points, strength, grown=False)
    if number_of_cells(points, strength / EVERY, grown=False) == points:
        return points
    fewer = number_of_cells(points, strength / FEWER ** (1 - growth(strength)), grown=False)
    return max(fewer, min(of_a_mean, FEWEST))


@planner
def effects_plan(
    guarantee: Guarantee,
    count: int,
    *,
    settings: Settings,
    basis: Basis,
    bound: ValueBounds,
    corners: Corners,
    cells: int | None,
    noise: str,
    unit: str,
    planned: bool = False,
) -> EffectsPlan:
    """The plan of a regression of curves; parameters as of `planner` and `EffectsPlan`."""
    grid = flat_grid(basis)
    size, designed = sizes_for(settings, count, planned)
    lower, upper = bound.curves_on(grid)

    def table_of(wanted: int, columns: int) -> CornerTable:
        words = {
            "summary": SUMMARY,
            "bound": bound_words(np.stack([lower, upper]), corners),
            "basis": f"averages over {so_many(wanted, 'cell')} at {corners.size} corners",
        }
        tuning = {"name": "corners", "corners": corners.size, "cells": wanted}
        return CornerTable(
            corners.size, columns, guarantee, settings.unit.relation, unit, noise, words, tuning
        )

    beside = 1 + len(corners.numbers)
    if cells is None:
        noisier = table_of(TRIAL, TRIAL).deviation * math.sqrt(corners.size)
        strength = stated_size(designed, "cells") * USUAL / noisier
        chosen = cells_of_effects(grid.size, strength)
    else:
        chosen = whole(cells, "cells", 1, grid.size, f"be from 1 to {grid.size} grid points")
    about = {"summary": SUMMARY, **settings.said()}
    return EffectsPlan(
        table_of(chosen, beside + chosen), corners, grid, basis.domain_range, bound,
        tuple(np.bincount(cell_labels(grid.size, chosen)).tolist()), size, designed, about,
    )  # fmt: skip
