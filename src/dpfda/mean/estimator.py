"""The mean curve of many records, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import Search, read_bounds
from dpfda.mean.pooled import PooledMean
from dpfda.mean.public_curves import read_public_curves
from dpfda.mean.search import StagedPlans, fit_staged, staged_plan, strategy_of
from dpfda.mean.sparse import PooledVisits, plan_pooled, prepare_pooled
from dpfda.mean.streams import InBlocks, counted, open_summation, refuse_irregular
from dpfda.mean.two_looks import (
    LooksPlan,
    TwoLooks,
    default_plan,
    is_one_look,
    mechanism_of_look,
    single,
)
from dpfda.mean.variance import both_plans, check_share, publish_both
from dpfda.mean.variance_release import MeanAndVariance
from dpfda.mean.weighted import refuse_weights, weighted_plan, weighted_sum
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Integers
from dpfda.numerics.errors import DpfdaError, ParameterError
from dpfda.numerics.parameters import shown, whole
from dpfda.publication import MeanPlan, Prepared, publish
from dpfda.publication.means import ReleasedMean
from dpfda.records import Curves, LongCurves
from dpfda.records.dask_arrays import is_dask, sample
from dpfda.records.frames import units_apart
from dpfda.records.labels import units_of
from dpfda.records.queries import queried, sum_of_query
from dpfda.records.weights import Weights, check_weights
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.spine.arguments import (
    Bounds,
    Columns,
    Functions,
    Labels,
    Noise,
    Number,
    Payer,
    Place,
    Protected,
    PublicCurves,
    Records,
)
from dpfda.spine.choices import check_choices, is_basis, mean_plan, public_size
from dpfda.spine.clusters import total_on_cluster
from dpfda.spine.curves import POINTS, is_pooled, public_basis, read_curves, unit_curves
from dpfda.spine.embedding import own_fit
from dpfda.spine.estimator import warn_of_labels
from dpfda.spine.pooled_curves import PooledPlan, refuse_pooled
from dpfda.spine.settings import Reading, Settings
from dpfda.spine.sums import Readable, Summation, Summed, matrix_on

if TYPE_CHECKING:
    from dpfda.publication.session import Session


class PrivateMean(InBlocks):
    """Mean curve under differential privacy.

    Each record (or, with `groups`, the average of each person's records) is clipped to a public bound
    and rounded to integers, these are added up exactly, and exact noise is added to the sum. What is
    released is a function on the whole domain. `X` and `groups` are private, parameters public.

    Parameters
    ----------
    epsilon : number or text
        Privacy loss, positive. Text is exactly the decimal or quotient that it says: "0.1", "1/10".
    delta : number or text
        Failure mass; 0 means pure differential privacy.
    rho : number or text, optional
        Zero-concentrated privacy loss, in the place of epsilon: exactly one of the two is given.
    bounds : (lower, upper), ValueBounds, L2Ball, L1Ball, BoxBound, Ellipsoid or Search
        Public bound on a record, enforced by clipping: from knowledge of the measurement, never from
        these data. `dpfda.bounds.Search` looks for bounds in a wide range, for a part of the budget.
    basis : kernel, text such as "matern:10%:1.5", or Basis, optional
        Public covariance kernel (of scikit-learn, or a callable k(s, t), in units of the domain): how
        rough the mean may be; by default a mixture. Or a basis made beforehand, with grid and ends.
    mechanism : "auto", name, mechanism object or TwoLooks
        "auto" is that of least expected error. Between bounds on values, n epsilon being 5,000 or more
        and records at hand, it has two looks (`dpfda.mean.two_looks`); "one-look" has one, and all of
        the budget in its line.
    prior : array (m,) or (C, m), callable, release, or a list of them
        Public curves that the mean may be near to, never made from these data; with bounds on values.
    variance : float, optional
        Share of the budget, at most a half, for the records' variance and so for the population's band.
    domain : (a, b) or Domain, optional
        Ends of the domain; with its grid, quadrature and words in a `dpfda.Domain`.
    unit : str or PrivacyUnit, optional
        Who is protected; with neighbours and public size in a `dpfda.PrivacyUnit`.
    reading : Reading, optional
        What happens to missing and unusable values, and whether curves are standardised.
    ledger : ledger.of(dataset), optional
        Charged before noise is drawn. A name alone: in the ledger that the environment names.

    Attributes
    ----------
    release_ : ReleasedFunction
        The published mean curve; a `ReleasedPooledMean` where observations were pooled.
    n_features_in_, feature_names_in_
        As in scikit-learn: the number of grid points, and their labels. Public, like the grid.

    Notes
    -----
    **Guarantee.** Pure epsilon (delta = 0), (epsilon, delta) or rho, one unit being one record, or one
    label of `groups`. The integers that get noise differ between neighbours by a vector of 2C (replace)
    or C (add/remove), C a set of integers that holds what one unit adds: proofs on the page on privacy.

    Lin & Reimherr (2023), section 4.2; Mirshani, Reimherr & Slavkovic (2019), section 4.

    Examples
    --------
    >>> import numpy as np
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 50)[:, None]
    >>> mean = PrivateMean(epsilon=1.0, bounds=(-1.5, 1.5), domain=(0, 3)).fit(curves)
    >>> mean.release_([0.5, 1.5]).shape
    (2,)
    """

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        basis: Functions = None,
        mechanism: Noise = "auto",
        prior: PublicCurves = None,
        variance: Number = None,
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(
        self, X: Records, y: Labels = None, groups: Labels = None, weights: Weights | None = None
    ) -> Self:
        """Release the mean of the curves.

        Parameters
        ----------
        X : array (n, m), DataFrame, Arrow table, DataArray, FDataGrid, LongCurves, Dask array or frame
            One curve a row, in the units of the data; NaN marks a missing value. Numeric labels of
            columns, or the coordinate of a DataArray, are the grid. Observations of `LongCurves` are
            pooled unless ``missing="complete"``: `dpfda.mean.sparse`. Private.
        y : None
            Not read; where there are no `groups` a warning says so.
        groups : array (n,) or str, optional
            Privacy unit of each record, for example the person. Private. Where X is a data frame also
            the label of one of its columns, which is then no part of the curve.
        weights : Weights, optional
            Survey weights (`dpfda.records.weights`), a record being a unit: the mean is the ratio of
            weighted sums. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable. Nothing was charged and no noise was drawn.
        DataError
            If the data cannot be used as they are; row and column, never a value.
        BudgetError
            If the ledger refuses.
        """
        warn_of_labels(y, groups)
        made: ReleasedMean | ReleasedPooledMean
        if weights is not None:
            made = self._fit_weighted(X, groups, weights)
        elif self._staged is not None:
            with np.errstate(all="ignore"):
                made = fit_staged(self._prepare_looks(X, groups), self._paying())
        elif self.variance is not None:
            made = self._fit_with_variance(X, groups)
        elif is_pooled(self.settings, X):
            pooled = prepare_pooled(self, X, groups)
            made = pooled.plan.publish(pooled.total, self._paying())
        else:
            made = self._fit_default(X, groups)
        self.release_ = made
        points = made.grid_points if isinstance(made, ReleasedPooledMean) else made.basis.weights
        self.n_features_in_ = points.size
        self._set_feature_names(X, groups)
        return self

    def _fit_weighted(self, X: object, groups: object, weights: object) -> ReleasedMean:
        """The mean of records with survey weights."""
        given = check_weights(weights)
        alone = groups is None and self.variance is None and not is_dask(X)
        refuse_weights(self._staged, alone and not isinstance(X, LongCurves))
        check_choices(self)
        with np.errstate(all="ignore"):
            settings = self._settings_for(X, None)
            values, basis, _ = read_curves(settings, self.basis, X)
            summation, matrix, _ = self._opened(settings, values, basis, None)
            prepared = weighted_sum(summation.plan, matrix, given)
            return publish(prepared.total, prepared.plan, self._paying())

    def _fit_default(self, X: object, groups: object) -> ReleasedMean:
        """The mean of what nothing more was said."""
        prepared = self._to_publish(X, groups)
        if isinstance(prepared.plan, LooksPlan):
            with np.errstate(all="ignore"):
                return fit_staged(prepared, self._paying())
        return publish(prepared.total, prepared.plan, self._paying())

    def _to_publish(self, X: Any, groups: Any) -> Prepared[Any, Any]:
        """A sum, or records to be read again where two looks are to be had and pay."""
        if not self._measures:
            return self.prepare(X, groups)
        made = self._summed(X, groups, again=True) if self._looks else self._summed(X, groups)
        return made.prepared(made.summation.plan.measuring) if isinstance(made, Summed) else made

    @property
    def _measures(self) -> bool:
        """Whether `fit` may measure how far its line is: not where all of the budget is the line's."""
        return type(self).prepare is PrivateMean.prepare and not is_one_look(self.mechanism)

    @property
    def _looks(self) -> bool:
        """Whether the default may have two looks: not where a class has its own way to one sum."""
        own = any(
            getattr(type(self), road) is not getattr(PrivateMean, road)
            for road in ("prepare", "_summed")
        )
        return isinstance(self.mechanism, str) and self.mechanism == "auto" and not own

    @property
    def _staged(self) -> TwoLooks | Search | None:
        """What makes records be read more than once."""
        return strategy_of(self.bounds, self.mechanism)

    def _fit_with_variance(self, X: object, groups: object) -> MeanAndVariance:
        check_choices(self)
        check_share(self.variance)
        if is_dask(X) or is_pooled(self.settings, X) or self.settings.reading.standardize:
            words = "be None but for curves between bounds, on a grid and in memory"
            raise ParameterError("variance", words, shown(self.variance))
        with np.errstate(all="ignore"):
            plan, curves = self._read(X, groups)
            return publish_both(both_plans(plan, self.variance), curves, self._paying())

    def _read(self, X: object, groups: object) -> tuple[MeanPlan, Curves]:
        """The plan of one mean, and one curve a unit. The curves are private."""
        settings = self._settings_for(X, groups)
        values, basis, groups = read_curves(settings, self.basis, X, groups)
        curves, groups = unit_curves(settings, basis, values, groups)
        return self._plan(basis, curves.usable.size, groups, settings), curves

    def open_session(
        self, X: Records, path: str | Path, groups: Labels = None, questions: int | None = None
    ) -> Session:
        """Answer functionals of the mean one at a time, instead of releasing the whole function.

        The guarantee of the whole path is charged at once; see `dpfda.Session`.

        Parameters
        ----------
        X, groups
            As in `fit`. Private.
        path : path
            Where the session's secret state is kept; there must be no file yet.
        questions : int, optional
            For a pure epsilon: the number of linearly independent functionals that will be answered at
            most. All are charged at once. Public.

        Raises
        ------
        RefusedMechanismError
            If the noise is not Gaussian, for example because delta is 0 and no number of questions is
            given.
        """
        from dpfda.publication.session import Session

        return Session.open(self, X, path, groups, questions)

    def plan(
        self, n: int, columns: Columns = POINTS, max_weight: float | None = None
    ) -> MeanPlan | StagedPlans | PooledPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units; where that is private, a number to expect.
        columns : int or array (m,)
            Number of equally spaced grid points, or the grid, where the domain has none of its own.
        max_weight : float, optional
            With survey weights, the largest; n is then what they add up to, over this.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        check_choices(self)
        whole(n, "n", 2)
        settings = self.settings
        self._refuse_with_stages()
        if max_weight is not None:
            refuse_weights(self._staged, settings.reading.missing != "pooled" and not self.variance)
        if settings.reading.missing == "pooled":
            return plan_pooled(self, n)
        if (kind := self._class_with_fit()) is not None:
            settings = replace(settings, reading=own_fit(settings.reading, kind))
        basis = public_basis(settings, self.basis, columns)
        plan = self._plan(basis, n, None, settings, n)
        if max_weight is not None:
            return weighted_plan(plan, max_weight)
        if self.variance is not None:
            # Of the mean, with what the variance leaves.
            return both_plans(plan, self.variance)[0]
        if (strategy := self._staged) is not None:
            return staged_plan(plan, strategy)
        plan = plan.measuring if self._measures else plan
        return default_plan(plan) if self._looks else plan

    def _refuse_with_stages(self) -> None:
        """Refuse what there is not between bounds that are looked for, nor in two looks."""
        if (strategy := self._staged) is None:
            return
        if self.variance is not None:
            raise ParameterError("variance", "be None for two looks", shown(self.variance))
        if self.settings.reading.missing == "pooled":
            raise strategy.refusal("irregular curves")

    def _prepare_looks(self, X: Records, groups: Labels = None) -> Prepared[Any, Readable]:
        """Check, plan and read the records, where what is summed follows from a first release."""
        check_choices(self)
        strategy = self._staged
        assert strategy is not None  # noqa: S101
        self._refuse_with_stages()
        if is_dask(X) or isinstance(X, LongCurves):
            raise strategy.refusal("Dask arrays and irregular curves")
        settings = self._settings_for(X, groups)
        values, basis, labels = read_curves(settings, self.basis, X, groups)
        if isinstance(values, LongCurves):
            raise strategy.refusal("irregular curves")
        summation, matrix, codes = self._opened(settings, values, basis, labels)
        return Prepared(staged_plan(summation.plan, strategy), Readable(matrix, codes))

    def prepare(self, X: Records, groups: Labels = None) -> Prepared[MeanPlan, IntegerSum]:
        """Everything before the noise: check, embed, clip, round, add up. The result is private.

        Of the line alone, with all of the budget: what `fit` measures beside it is not in it.

        Parameters
        ----------
        X, groups
            As in `fit`.
        """
        made: Summed = self._summed(X, groups)
        return made.prepared()

    def _summed(self, X: Records, groups: Labels = None, again: bool = False) -> Any:
        """A `Summed`, of which it is not said yet what gets noise; parameters as of `prepare`.

        again: Whether records are kept to be read again instead, prepared, where two looks pay.
        """
        self._refuse_looks()
        # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
        check_choices(self)
        refuse_pooled(self, X)
        with np.errstate(all="ignore"):
            if is_dask(X):
                X, groups = units_apart(X, groups)
                pool = self._pool_on(sample(X), groups)
                return counted(pool.summation, total_on_cluster(pool, X, groups))
            return self._queried(X, groups) or self._prepare(X, groups, again)

    def _queried(self, X: object, groups: Any) -> Summed | None:
        """The sum as a query, where X is in a data base that can be asked for it; else None."""
        if (table := queried(X, groups)) is None:
            return None
        settings = self._settings_for(X, groups)
        try:
            _, basis, _ = read_curves(settings, self.basis, table.made_up, groups, boxes=True)
            summation = open_summation(self._plan(basis, 2, groups, settings))
        except DpfdaError:
            # Raised again where the table is read, or it is of no concern there.
            return None
        invalid, stated = settings.reading.invalid, settings.domain.grid_points is not None
        named = invalid == "refuse" and not stated and not is_basis(self.basis)
        grid = table.grid(groups) if named else None
        rule = summation.clipping
        if rule is None or (query := table.query(rule, grid is not None)) is None:
            return None
        return counted(summation, sum_of_query(query, rule.center.size, invalid, grid))

    def _refuse_looks(self) -> None:
        if (strategy := self._staged) is not None:
            raise strategy.refusal("one sum, as for streams, blocks, Dask and sessions")
        self._refuse_more("where one sum is wanted, as for streams, blocks, Dask and sessions")

    def _refuse_more(self, where: str) -> None:
        if self.variance is not None:
            raise ParameterError("variance", f"be None {where}", shown(self.variance))

    def pooled(self, n: int, columns: Columns = POINTS) -> PooledMean | PooledVisits:
        """The sum as several holders make it, for n units of all of them; see `PooledSum`."""
        self._check_road("pooled")
        self._refuse_more("for one sum of several holders")
        plan = self.plan(n, columns)
        if isinstance(plan, PooledPlan):
            return PooledVisits(self.settings, plan)
        if (strategy := self._staged) is not None:
            raise strategy.refusal("one sum of several holders")
        one = single(plan)
        assert isinstance(one, MeanPlan)  # noqa: S101
        # Noise in shares is drawn before anyone has the line.
        return PooledMean(self.settings, Summation.of(replace(one, measures_distance=False)))

    def pooled_on(self, X: Records, groups: Labels = None) -> PooledMean:
        """The same on the columns of X, where the number of records is not known yet."""
        self._check_road("pooled_on")
        return self._pool_on(X, groups)

    def _pool_on(self, X: object, groups: object) -> PooledMean:
        return PooledMean(self.settings, open_summation(self._planned_on(X, groups)))

    def _planned_on(self, X: object, groups: object = None) -> MeanPlan:
        """The plan on the columns of X, where the number of records is not known yet."""
        check_choices(self)
        self._refuse_looks()
        refuse_irregular(X)
        values, basis, _ = read_curves(self.settings, self.basis, X, boxes=True)
        refuse_irregular(values)
        plan = self._plan(basis, 2, groups, self._settings_for(X, groups))
        return plan.measuring if self._measures else plan

    def _prepare(
        self, X: object, groups: object, again: bool = False
    ) -> Summed | Prepared[LooksPlan, Readable]:
        settings = self._settings_for(X, groups)
        read_bounds(self.bounds, settings.reading.standardize)
        values, basis, groups = read_curves(settings, self.basis, X, groups, boxes=True)
        if not isinstance(values, LongCurves):
            summation, matrix, codes = self._opened(settings, values, basis, groups)
            plan = default_plan(summation.plan.measuring) if again else summation.plan
            if isinstance(plan, LooksPlan):
                return Prepared(plan, Readable(matrix, codes))
            return Summed(summation, summation.of_records(matrix, codes))
        curves, groups = unit_curves(settings, basis, values, groups)
        summation = Summation.of(self._plan(basis, curves.usable.size, groups, settings))
        total = summation.empty()
        summation.add_curves(total, curves)
        return Summed(summation, total)

    def _opened(
        self, settings: Settings, values: object, basis: Basis, groups: object
    ) -> tuple[Summation, Cells, Integers | None]:
        """How records are added up, their matrix, and numbers of their units.

        Nothing needs all records at once: they are read block by block, where they lie.
        """
        matrix = matrix_on(values, basis, settings.reading)
        codes, count = units_of(groups, len(matrix), settings.reading.invalid, in_order=False)
        return Summation.of(self._plan(basis, count, groups, settings)), matrix, codes

    def _summation_for(self, X: Records) -> Summation:
        """How the records of a matrix will be added up; of the matrix its shape alone is looked at."""
        check_choices(self)
        self._refuse_looks()
        settings = self._settings_for(X, None)
        values, basis, _ = read_curves(settings, self.basis, X, boxes=True)
        return self._opened(settings, values, basis, None)[0]

    def _plan(
        self,
        basis: Basis,
        count: int,
        groups: object,
        settings: Settings,
        expected_size: int | None = None,
    ) -> MeanPlan:
        """The plan on a basis; of the number of units only what is public is in it."""
        bounds = self.bounds.stated if isinstance(self.bounds, Search) else self.bounds
        return mean_plan(
            self.asked(),
            settings,
            basis,
            read_bounds(bounds, settings.reading.standardize),
            public_size(settings.unit, count, settings.reading.invalid),
            settings.unit.called(groups),
            mechanism_of_look(self.mechanism),
            None if self.prior is None else read_public_curves(self.prior, flat_grid(basis)),
            expected_size,
        )
