"""Quantile curves of whole curves as one exact sum, wherever these are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.protocol import flat_grid
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Integers
from dpfda.numerics.errors import DataError
from dpfda.reference.centiles.plan import QuantileCurvesPlan
from dpfda.reference.centiles.release import ReleasedQuantileCurves
from dpfda.spine.arguments import Beside, Records
from dpfda.spine.curves import read_matrix
from dpfda.spine.pooled import Rows
from dpfda.spine.pooled_curves import PooledTable
from dpfda.spine.sums import read_block


@dataclass(frozen=True, eq=False)
class PooledQuantileCurves(PooledTable[ReleasedQuantileCurves]):
    """A table of cells of time and of value as a sum.

    Parameters
    ----------
    basis : Basis
        For curves on the grid of all holders.
    """

    plan: QuantileCurvesPlan
    basis: Basis

    @property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        plan, cells = self.plan, self.plan.cells
        numbers = flat_grid(self.basis), plan.lower, plan.upper
        made = [cells.times, cells.values, *(each.tobytes().hex() for each in numbers)]
        return {"reading": self.settings.reading.rules, "integers": made}

    def read(self, X: Records, y: Beside = None) -> Rows:
        matrix, basis, _ = read_matrix(self.settings, None, X, None)
        if not np.array_equal(basis.grid_points, self.basis.grid_points):
            raise DataError("X must be on the grid of all holders; found another.")
        return self.rows_of(matrix)

    def rows_of(self, matrix: Cells) -> Rows:
        """Cells (n, m) of the values of curves, and which curves are usable. Private."""
        curves = read_block(matrix, self.basis, self.settings.reading)
        # What is not usable has a cell, too, and no share.
        values = np.where(curves.usable[:, None], curves.values, self.plan.lower)
        return self.plan.cells.of_values(values, self.plan.lower, self.plan.upper), curves.usable

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        cells, usable = rows
        codes = np.arange(len(cells)) if codes is None else codes
        units = int(codes.max(initial=-1)) + 1
        shares = self.plan.cells.curve_shares(cells[usable], codes[usable], units)
        return IntegerSum(self.numbers).add_totals(shares, units)
