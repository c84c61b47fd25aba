"""Mean curves given covariates: a table of corners as one exact sum, and a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, Unpack

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.corners import Corners
from dpfda.bases.protocol import flat_grid
from dpfda.effects.plan import EffectsPlan, effects_plan
from dpfda.effects.release import ReleasedFunctionalRegression
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Flags, Integers
from dpfda.numerics.errors import DataError
from dpfda.numerics.parameters import choice
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import Prepared
from dpfda.publication.tables import NOISES, VALUE, WEIGHT
from dpfda.records import Curves
from dpfda.records.covariates import (
    columns_apart,
    columns_named,
    columns_on_cluster,
    corner_weights,
    table_rows,
)
from dpfda.records.frames import is_dask
from dpfda.records.labels import units_of
from dpfda.spine.arguments import Beside, Columns, Number, Records
from dpfda.spine.clusters import fit_on_cluster
from dpfda.spine.curves import POINTS, check_in_memory, public_basis, read_curves, read_matrix
from dpfda.spine.memberships import read_covariates, stated_covariates
from dpfda.spine.pooled import Rows
from dpfda.spine.pooled_curves import PooledCorners
from dpfda.spine.settings import Reading
from dpfda.spine.sums import read_block
from dpfda.spine.vectors import Choices, OfCurves

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
            for column, covariate in zip(covariates, corners.covariates, strict=True)
            if covariate.bounds is not None
        ]
        squares = np.stack(numbers, axis=1) if numbers else np.zeros((len(shares), 0))
        weights = corner_weights(corners, [column[rows] for column in covariates])
        parts, values = table_rows(
            weights, squares, np.clip(shares, -1, 1), plan.cells, sizes[rows], usable[rows],
            (WEIGHT, VALUE),
        )  # fmt: skip
        total.add_totals((parts.T @ values).ravel(), 0)
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
        parts = [plan.corners.to_json(), *plan.cells, *(curve.tobytes().hex() for curve in numbers)]
        return {"reading": self.settings.reading.rules, "integers": parts}

    def read(self, X: Records, y: Beside = None) -> Rows:
        covariates = self.plan.corners.covariates
        matrix, basis, _ = read_matrix(self.settings, None, X, None)
        if not np.array_equal(basis.grid_points, self.plan.grid):
            raise DataError("X must be on the grid of all holders; found another.")
        columns = columns_named(y, [covariate.name for covariate in covariates])
        terms, usable = read_covariates(covariates, self.stated, columns, len(matrix), self.invalid)
        curves = read_block(matrix, self.basis, self.settings.reading)
        return curves.values, usable & curves.usable, *terms

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        values, usable, *covariates = rows
        codes = np.arange(len(usable)) if codes is None else codes
        units = int(codes.max(initial=-1)) + 1

        def curves_of(rows: slice) -> Curves:
            return Curves(values[rows], usable[rows])

        return corner_sum(self.plan, curves_of, covariates, usable, codes, units)


class PrivateFunctionalRegression(OfCurves[EffectsPlan]):
    """Mean curve as a function of covariates, under differential privacy.

    The linear model x(t) = b_0(t) + b_1(t) z_1 + b_2(t) z_2 + ..., fitted by least squares at every t:
    coefficient *functions* of each covariate, and the mean curve at any values of them, with bands.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    bounds : (lower, upper) or ValueBounds
        Public bounds on the values of a curve, enforced by clipping. No default.
    covariates : mapping
        Public: for each covariate by name its bounds, two numbers that its values are clipped to, or the
        list of its levels. ``{"age": (20, 80), "sex": ["f", "m"]}``. Two levels that are written as the
        numbers 0 and 1 are bounds just as well.
    cells : int, optional
        Number of cells that curves are averaged over before the noise. By default chosen from public
        numbers.
    noise : {"auto", "box", "gaussian"}
        "auto" takes the law of least variance.
    domain, reading, ledger
        As in `dpfda.PrivateMean`; functions live on an interval.
    unit : str or PrivacyUnit, optional
        Who is protected. Under add/remove a public size is needed for the choice of cells, unless
        `cells` is given.

    Attributes
    ----------
    release_ : ReleasedFunctionalRegression
        The published coefficient functions.
    n_features_in_ : int
        Number of grid points.

    Notes
    -----
    **Guarantee.** Pure epsilon (delta = 0), (epsilon, delta) or rho, one unit being one record, or all
    records of one label of `groups`, of which each then has the same weight. Curve and covariates are
    both private, under replace-one neighbours too. A unit is spread over the corners of the covariates'
    box, and every corner has noise for the whole of epsilon: proof in `dpfda.publication.tables`;
    errors on the page on regression of curves.

    References
    ----------
    Ramsay & Silverman (2005), chapter 13, for the model; McSherry (2009), Theorem 4; Hardt & Talwar
    (2010) for the noise.

    Examples
    --------
    >>> import numpy as np
    >>> age = np.linspace(20, 80, 600)
    >>> t = np.linspace(0, 1, 30)
    >>> curves = np.sin(3 * t) + np.outer(age - 50, t) / 100
    >>> model = PrivateFunctionalRegression(4, bounds=(-1, 2), covariates={"age": (20, 80)})
    >>> release = model.fit(curves, age).release_
    >>> release["age"]([0.2, 0.8]).shape, release.at(age=70)(0.5) > release.at(age=30)(0.5)
    ((2,), True)
    """

    release_: ReleasedFunctionalRegression

    _embeds = True
    CALLED: ClassVar[str] = "a regression of curves"

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: object = None,
        covariates: Mapping[str, object] | None = None,
        cells: int | None = None,
        noise: str = "auto",
        domain: object = None,
        unit: object = None,
        reading: Reading | None = None,
        ledger: object = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(self, X: object, Z: object = None, groups: object = None) -> Self:
        """Release the coefficient functions.

        Parameters
        ----------
        X : array (n, m), DataFrame, Arrow table, DataArray or FDataGrid
            One curve a row, in the units of the data. Private. Dask arrays and frames are added up where
            they lie, with `Z` and `groups` in partitions like those of X.
        Z : array (n, q), DataFrame, mapping from name to column; optional
            Covariates of each record: the columns of a frame by the names of `covariates`, those of an
            array in their order. By default the columns of these names of a data frame X, which are
            then no part of the curve. Private.
        groups : array (n,) or str, optional
            Privacy unit of each record, for example the person, or the label of a column of X. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateMean.fit`.
        """
        if is_dask(X):
            X, columns = columns_on_cluster(X, Z, [c.name for c in self._corners().covariates])
            self.release_ = fit_on_cluster(self, X, groups, columns)
            self.n_features_in_ = int(self.release_.grid_points.size)
            return self
        prepared = self.prepare(X, Z, groups)
        self.release_ = prepared.plan.publish(prepared.total, self._paying())
        self.n_features_in_ = int(prepared.plan.grid.size)
        return self

    # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
    @np.errstate(all="ignore")
    def prepare(
        self, X: object, Z: object = None, groups: object = None
    ) -> Prepared[EffectsPlan, IntegerSum]:
        """Everything before the noise: read, clip, spread, add up. The result is private."""
        guarantee, corners, reading = self._checked(), self._corners(), self.settings.reading
        names = [covariate.name for covariate in corners.covariates]
        check_in_memory(X)
        X, columns = columns_apart(X, names) if Z is None else (X, columns_named(Z, names))
        matrix, basis, groups = read_matrix(self._settings_for(X, groups), None, X, groups)
        count = len(matrix)
        assert self.covariates is not None  # noqa: S101
        covariates, usable = read_covariates(
            corners.covariates, self.covariates, columns, count, reading.invalid
        )
        codes, units = units_of(groups, count, reading.invalid)
        plan = self._plan(guarantee, basis, units, groups)

        def curves_of(rows: slice) -> Curves:
            return read_block(matrix[rows], basis, reading, rows.start)

        if codes is not None or reading.invalid == "repair":
            for rows in blocks_of(count):
                usable[rows] &= curves_of(rows).usable
        codes = np.arange(count) if codes is None else codes
        return Prepared(plan, corner_sum(plan, curves_of, covariates, usable, codes, units))

    def pooled(self, n: int, columns: Columns = POINTS) -> PooledEffects:
        """The sum as several holders make it of curves, with covariates as y; see `PooledSum`."""
        self._check_road("pooled")
        plan, basis = self.plan(n, columns), public_basis(self.settings, None, columns)
        assert self.covariates is not None  # noqa: S101
        return PooledEffects(self.settings, plan, basis, self.covariates)

    def _pooled_for(self, n: int, X: object, y: object, grouped: bool) -> PooledEffects:
        """The same on the columns of X."""
        return self.pooled(n, flat_grid(read_curves(self.settings, None, X)[1]))

    def _planned(self, guarantee: Guarantee, count: int, **choices: Unpack[Choices]) -> EffectsPlan:
        return effects_plan(
            guarantee, count, corners=self._corners(), cells=self.cells, noise=self.noise, **choices
        )

    def _checked(self) -> Guarantee:
        choice(self.noise, "noise", NOISES)
        guarantee = super()._checked()
        self._corners()
        return guarantee

    def _corners(self) -> Corners:
        return Corners(stated_covariates(self.covariates))
