"""Cells of time and of value: what a unit adds to the table, how much at most, and when it was seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.noise.shares import UNIT
from dpfda.numerics.arrays import Floats, Integers
from dpfda.records.observations import Observations
from dpfda.reference.centiles.fit import CENTRE, SHAPE, Nodes
from dpfda.reference.centiles.laws import Terms

# Cells of time and of value: so many at a quotient of one of units and noise, growing with a power of
# it, between limits. Chosen on one half of the sets that the page on quantile curves names.
TIMES, VALUES, POWER = 2.2, 2.9, 0.35
TIME_LIMITS, VALUE_LIMITS = (6, 48), (8, 64)
# Times in a cell at which a law is taken for it, where visits are spread over it; more in wide cells.
INSIDE, WIDE, INSIDE_WIDE = 2, 16, 4


@dataclass(frozen=True, eq=False)
class Cells:
    """Equal cells of time, and of value between the bounds. Public.

    times, values: Numbers J and K of cells.
    grid_points: array (m,). Of the curves and the bounds.
    domain_range: (float, float)
    visits: Whether units are seen at times of their own, rather than on the grid.
    """

    times: int
    values: int
    grid_points: Floats
    domain_range: tuple[float, float]
    visits: bool

    @classmethod
    def chosen(cls, quotient: float, grid: Floats, ends: tuple[float, float], visits: bool) -> Cells:
        """Cells for a quotient of the number of units and the noise in a cell."""
        times, values = (
            int(np.clip(round(many * quotient**POWER), *limits))
            for many, limits in ((TIMES, TIME_LIMITS), (VALUES, VALUE_LIMITS))
        )
        return cls(times if visits else min(times, grid.size), values, grid, ends, visits)

    @property
    def size(self) -> int:
        """Number of all cells."""
        return self.times * self.values

    @property
    def _starts(self) -> Integers:
        """First grid point in each cell of time, where all curves are on the grid."""
        return -(-np.arange(self.times + 1) * self.grid_points.size // self.times)

    @property
    def parts(self) -> tuple[int, ...]:
        """How many of its 2^20 shares a unit has in each cell of time at most, where that is known."""
        if self.visits:
            return (UNIT,)
        points = self.grid_points.size
        return tuple(int(count) * UNIT // points for count in np.diff(self._starts))

    def position(self, points: Floats) -> Floats:
        """Points of the domain as shares of it."""
        start, end = self.domain_range
        return np.clip((points - start) / (end - start), 0.0, 1.0)

    @cached_property
    def nodes(self) -> Nodes:
        """Times at which laws are taken for the cells."""
        if self.visits:
            inside = INSIDE_WIDE if self.times <= WIDE else INSIDE
            count = self.times * inside
            at, starts = (np.arange(count) + 0.5) / count, np.arange(self.times) * inside
        else:
            at, starts = self.position(self.grid_points), self._starts[:-1]
        return Nodes(at, starts, np.full(at.size, 1 / at.size))

    def terms(self, known: bool) -> Terms:
        """How many terms in time such a table speaks for; `known`: whether the number of units is."""
        visits = self.times if self.visits else int(not known)
        return Terms(min(self.times, CENTRE), min(self.times, SHAPE), visits)

    def of_values(self, values: Floats, lower: Floats, upper: Floats) -> Integers:
        """Cells of values between bounds, each by itself; values beyond count as on them."""
        share = (np.clip(values, lower, upper) - lower) / (upper - lower)
        return np.clip(np.floor(share * self.values), 0, self.values - 1).astype(np.int64)

    def curve_shares(self, cells: Integers, codes: Integers, units: int) -> list[int]:
        """Sums (J x K) over units of their shares, exactly: a curve has equal ones at all grid points.

        cells: array (n, m). Cell of each value.
        codes: array (n,). Unit of each curve; c curves of one have floor(2^20 / (c m)) shares a point.
        """
        points = cells.shape[1]
        shares = UNIT // (np.maximum(np.bincount(codes, minlength=units), 1)[codes] * points)
        time = np.repeat(np.arange(self.times), np.diff(self._starts))
        # Whole numbers below 2^53, whose sums in doubles are exact.
        weights = np.repeat(shares.astype(np.float64), points)
        place = (time * self.values + cells).ravel()
        return [int(share) for share in np.bincount(place, weights, self.size)]

    def visit_shares(self, seen: Observations, lower: Floats, upper: Floats) -> list[int]:
        """Sums (J x K) over units of their shares, exactly: a unit's are divided among its visits."""
        usable = seen.usable
        at = np.where(usable, seen.times, self.domain_range[0])
        ends = (np.interp(at, self.grid_points, end) for end in (lower, upper))
        cells = self.of_values(np.where(usable, seen.values, 0.0), *ends).astype(np.float64)
        placed = Observations(seen.codes, at, cells, usable, seen.units)
        grid = CellGrid.regular(self.times, self.domain_range)
        return placed.shares(grid, None, UNIT, self.values)

    def describe(self) -> str:
        """Say in words what the cells are."""
        start, end = self.domain_range
        return f"{self.times} x {self.values} cells of times on [{start:g}, {end:g}] and of values"
