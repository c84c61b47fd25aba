"""Curves with covariates as a table of corners: read, spread, and one exact sum wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpfda.bases import Basis
from dpfda.effects.plan import EffectsPlan
from dpfda.effects.release import ReleasedFunctionalRegression
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Flags, Integers
from dpfda.numerics.errors import DataError
from dpfda.publication.tables import VALUE, WEIGHT
from dpfda.records import Curves
from dpfda.records.covariates import columns_named, corner_weights, table_rows
from dpfda.spine.arguments import Beside, Records
from dpfda.spine.curves import read_matrix
from dpfda.spine.memberships import read_covariates
from dpfda.spine.pooled import Rows
from dpfda.spine.pooled_curves import PooledCorners
from dpfda.spine.sums import read_block

# Records that are added up at a time: public, and so few that sums of products stay below 2^63.
BLOCK = 4096


def blocks_of(count: int) -> list[slice]:
    """Rows that are added up at a time."""
    return [slice(start, start + BLOCK) for start in range(0, count, BLOCK)]


def corner_sum(
    plan: EffectsPlan, curves_of: Callable[[slice], Curves], covariates: Sequence[Cells], usable: Flags,
    codes: Integers, units: int,
) -> IntegerSum:  # fmt: skip
    """The exact sum over units of what their records add to the table of a plan. Private.

    curves_of: Curves that have been read, of some rows.
    """
    corners, size = plan.corners, plan.table.rows * plan.table.columns
    sizes = np.bincount(codes[usable], minlength=units)[codes]
    total = IntegerSum(size).add_totals([0] * size, units)
    lower, upper = plan.limits
    for rows in blocks_of(len(usable)):
        shares = (2 * curves_of(rows).values - lower - upper) / (upper - lower)
        numbers = [
            column[rows]
            for column, each in zip(covariates, corners.covariates, strict=True)
            if each.bounds is not None
        ]
        squares = np.stack(numbers, axis=1) if numbers else np.zeros((len(shares), 0))
        weights = corner_weights(corners, [column[rows] for column in covariates])
        parts, found = table_rows(
            weights, squares, np.clip(shares, -1, 1), plan.cells, sizes[rows], usable[rows],
            (WEIGHT, VALUE),
        )  # fmt: skip
        total.add_totals((parts.T @ found).ravel(), 0)
    return total


@dataclass(frozen=True, eq=False)
class PooledEffects(PooledCorners[ReleasedFunctionalRegression]):
    """A regression of curves as a sum, with covariates as y.

    Parameters
    ----------
    basis : Basis
        For curves on the grid of all holders.
    stated : mapping
        The covariates, as they were given.
    """

    plan: EffectsPlan
    basis: Basis
    stated: Mapping[str, Iterable[object]]

    @property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        plan = self.plan
        numbers = plan.grid, *plan.limits
        made = [plan.corners.to_json(), *plan.cells, *(each.tobytes().hex() for each in numbers)]
        return {"reading": self.settings.reading.rules, "integers": made}

    def read(self, X: Records, y: Beside = None) -> Rows:
        covariates = self.plan.corners.covariates
        matrix, basis, _ = read_matrix(self.settings, None, X, None)
        if not np.array_equal(basis.grid_points, self.plan.grid):
            raise DataError("X must be on the grid of all holders; found another.")
        columns = columns_named(y, [each.name for each in covariates])
        found, usable = read_covariates(covariates, self.stated, columns, len(matrix), self.invalid)
        curves = read_block(matrix, self.basis, self.settings.reading)
        return curves.values, usable & curves.usable, *found

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        values, usable, *covariates = rows
        codes = np.arange(len(usable)) if codes is None else codes
        units = int(codes.max(initial=-1)) + 1

        def curves_of(rows: slice) -> Curves:
            return Curves(values[rows], usable[rows])

        return corner_sum(self.plan, curves_of, covariates, usable, codes, units)
