"""Quantile curves as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import ValueBounds
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Floats, Integers
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.numerics.parameters import shown, whole
from dpfda.publication import Prepared
from dpfda.records.frames import is_dask
from dpfda.records.labels import units_of
from dpfda.reference.centiles.plan import QuantileCurvesPlan, quantile_curves_plan
from dpfda.reference.centiles.release import MOST_LEVELS, ReleasedQuantileCurves, read_quantile
from dpfda.spine.arguments import (
    Beside,
    Bounds,
    Columns,
    Labels,
    Number,
    Payer,
    Place,
    Protected,
    Records,
)
from dpfda.spine.choices import check_choices, check_count, value_bounds
from dpfda.spine.clusters import fit_on_cluster
from dpfda.spine.curves import POINTS, is_pooled, public_basis, read_curves, read_matrix
from dpfda.spine.embedding import embedding_of
from dpfda.spine.estimator import Estimator, warn_of_labels
from dpfda.spine.pooled import Rows
from dpfda.spine.pooled_curves import PooledTable, pooled_observations
from dpfda.spine.settings import Reading, Settings
from dpfda.spine.sums import matrix_on, read_block


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
        integers = [cells.times, cells.values, *(curve.tobytes().hex() for curve in numbers)]
        return {"reading": self.settings.reading.rules, "integers": integers}

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


class PrivateQuantileCurves(Estimator):
    """Quantile curves of curves, or of few visits a person, under differential privacy.

    Percentiles of load at every hour; centiles of growth. They are smooth in time and never cross.

    Parameters
    ----------
    epsilon : number or text
        Privacy loss, positive.
    delta, rho : number or text
        As in `dpfda.PrivateMean`. With either, whole curves get several times less noise.
    bounds : (lower, upper) or ValueBounds
        Public bounds on values, in the units of the data; numbers, or curves on the grid. Values beyond
        count as on them. The closer they follow what can be, the finer the curves.
    levels : float or sequence of float
        Shares below the curves that tables and pictures show, increasing, from .005 to .995, at most
        16. What is released answers for any other at no cost.
    domain : (a, b) or Domain
        As in `dpfda.PrivateMean`. For few visits the public ends of time; ``grid_points`` with them,
        where bounds are curves.
    unit : str or PrivacyUnit, optional
        As in `dpfda.PrivateMean`.
    reading, ledger
        As in `dpfda.PrivateMean`; ``missing="pooled"`` reads an array with gaps as few visits.

    Attributes
    ----------
    release_ : ReleasedQuantileCurves
        The published curves: ``release_[0.9](t)``.
    n_features_in_, feature_names_in_
        As in scikit-learn, for whole curves.

    Notes
    -----
    **Guarantee.** One table of cells of time and value gets exact noise. A unit has one share in all,
    divided among its values, however many they are; a curve has equal shares at all grid points. All
    the rest follows the noisy table. Proof and measured errors: the page on quantile curves.

    References
    ----------
    Cole & Green (1992) for centiles by smooth parameters of a law; Jones & Pewsey (2009) for its
    skewness.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> hours = np.linspace(0, 24, 24)
    >>> loads = 2 + np.sin(hours / 4) + 0.3 * rng.normal(size=(5000, 1))
    >>> made = PrivateQuantileCurves(1.0, bounds=(0, 5), levels=(0.1, 0.5, 0.9), domain=(0, 24))
    >>> release = made.fit(loads).release_
    >>> bool(2.8 < release[0.5](6.0) < 3.2), bool(3.2 < release[0.9](6.0) < 3.6)
    (True, True)
    """

    release_: ReleasedQuantileCurves

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        levels: ArrayLike = (0.1, 0.5, 0.9),
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(self, X: Records, y: Labels = None, groups: Labels = None) -> Self:
        """Release quantile curves.

        Parameters
        ----------
        X : array (n, m), DataFrame, Arrow table, DataArray or FDataGrid; or LongCurves, FDataIrregular
            Curves on one grid, one a row; or visits, each with its time and value. Private. Curves of
            Dask are added up where they lie.
        y : None
            Not read; where there are no `groups` a warning says so.
        groups : array (n,) or str, optional
            Privacy unit of each record, for `LongCurves` of each visit: for example the person. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateMean.fit`.
        """
        warn_of_labels(y, groups)
        if is_dask(X):
            self.release_ = fit_on_cluster(self, X, groups)
            self.n_features_in_ = self.release_.grid_points.size
            return self
        # Whether arithmetic overflows depends on values: it may neither warn nor raise.
        with np.errstate(all="ignore"):
            prepared = self.prepare(X, groups)
        self.release_ = prepared.plan.publish(prepared.total, self._paying())
        if not prepared.plan.cells.visits:
            self.n_features_in_ = self.release_.grid_points.size
            self._set_feature_names(X, groups)
        return self

    def plan(self, n: int, columns: Columns = POINTS) -> QuantileCurvesPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units.
        columns : int or array (m,)
            Number of equally spaced grid points, or the grid, where the domain has none of its own. With
            ``missing="pooled"`` it is a plan for few visits.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        check_choices(self)
        settings = self.settings
        basis = public_basis(settings, None, columns)
        visits = settings.reading.missing == "pooled"
        grid = flat_grid(basis)
        return self._plan(settings, whole(n, "n", 2), None, grid, basis.domain_range, visits, True)

    def pooled(self, n: int, columns: Columns = POINTS) -> PooledQuantileCurves:
        """The sum as several holders make it of whole curves; see `PooledSum`."""
        self._check_road("pooled")
        if self.settings.reading.missing == "pooled":
            words = "be 'refuse' or 'complete' for one sum of several holders"
            raise ParameterError("missing", words, "'pooled'")
        basis = public_basis(self.settings, None, columns)
        return PooledQuantileCurves(self.settings, self.plan(n, columns), basis)

    def _pooled_for(self, n: int, X: object, y: object, grouped: bool) -> PooledQuantileCurves:
        """The same on the columns of X."""
        return self.pooled(n, flat_grid(read_curves(self.settings, None, X)[1]))

    def prepare(self, X: Records, groups: Labels = None) -> Prepared[QuantileCurvesPlan, IntegerSum]:
        """Everything before the noise. The result is private."""
        check_choices(self)
        self._bound()
        settings = self._settings_for(X, groups)
        if is_pooled(self.settings, X):
            seen, grid, ends, labelled = pooled_observations(settings, X, groups)
            plan = self._plan(settings, seen.units, labelled or None, grid, ends, True)
            return Prepared(plan, IntegerSum.of(plan.cells.visit_shares(seen, plan.lower, plan.upper)))
        values, basis, labels = read_curves(settings, None, X, groups)
        reading, grid = settings.reading, flat_grid(basis)
        matrix = matrix_on(values, basis, reading)
        codes, count = units_of(labels, len(matrix), reading.invalid)
        check_count(settings.unit.relation, count, reading.invalid)
        plan = self._plan(settings, count, labels, grid, basis.domain_range, False)
        pool = PooledQuantileCurves(settings, plan, basis)
        return Prepared(plan, pool.add_up(pool.rows_of(matrix), codes))

    def _plan(
        self, settings: Settings, count: int, groups: object, grid: Floats,
        ends: tuple[float, float], visits: bool, planned: bool = False,
    ) -> QuantileCurvesPlan:  # fmt: skip
        if settings.reading.standardize:
            raise ParameterError("standardize", "be False for quantile curves", "True")
        if embedding_of(settings.reading) is not None:
            words = "be the records themselves for quantile curves"
            raise ParameterError("embed", words, "a method of one's own")
        return quantile_curves_plan(
            self.asked(), count, settings=settings, unit=settings.unit.called(groups), grid=grid,
            ends=ends, bound=self._bound(), levels=self._levels(), visits=visits, planned=planned,
        )  # fmt: skip

    def _bound(self) -> ValueBounds:
        return value_bounds(self.bounds, "quantile curves")

    def _levels(self) -> tuple[float, ...]:
        try:
            stated = list(self.levels)
        except TypeError:
            stated = [self.levels]
        levels = tuple(read_quantile(level, "levels") for level in stated[: MOST_LEVELS + 1])
        if not 1 <= len(levels) <= MOST_LEVELS or list(levels) != sorted(set(levels)):
            words = f"be one to {MOST_LEVELS} increasing numbers from .005 to .995"
            raise ParameterError("levels", words, shown(self.levels))
        return levels
