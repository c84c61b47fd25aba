"""The mean curve of many records, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import Bound, Search, read_bounds
from dpfda.mean.pooled import PooledMean
from dpfda.mean.search import StagedPlans, staged_plan
from dpfda.mean.settings import TwoLooks, is_one_look, mechanism_of_look, read_public_curves, strategy_of
from dpfda.mean.streams import InBlocks, counted, open_summation, refuse_irregular
from dpfda.mean.two_looks import LooksPlan, single
from dpfda.mean.variants import (
    PooledVisits,
    both_plans,
    plan_pooled,
    prepare_both,
    prepare_pooled,
    prepare_weighted,
    publish_both,
    refuse_weights,
    weighted_plan,
)
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import DpfdaError, ParameterError
from dpfda.numerics.parameters import shown, whole
from dpfda.publication import MeanPlan, Prepared, publish
from dpfda.publication.means import ReleasedMean
from dpfda.records.dask_arrays import sample
from dpfda.records.frames import Container
from dpfda.records.queries import queried, sum_of_query
from dpfda.records.weights import Weights
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
from dpfda.spine.choices import check_choices, in_cycles, is_basis, mean_plan, public_size
from dpfda.spine.clusters import total_on_cluster
from dpfda.spine.curves import POINTS, is_pooled, public_basis, read_curves, readable, refuse_pooled
from dpfda.spine.embedding import own_fit
from dpfda.spine.estimator import warn_of_labels
from dpfda.spine.pooled_curves import PooledPlan
from dpfda.spine.settings import Reading, Settings
from dpfda.spine.sums import Answered, Readable, Summation

# Where there is neither a second look nor a second sum.
ONE_SUM = "one sum, as for streams, blocks, Dask and sessions"


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
            pooled unless ``missing="complete"``: `dpfda.mean.variants`. Private.
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
        records = Container.of(X, groups)
        # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
        with np.errstate(all="ignore"):
            mean = self._published(records, weights)
        self.release_ = mean
        points = mean.grid_points if isinstance(mean, ReleasedPooledMean) else mean.basis.weights
        self.n_features_in_ = points.size
        self._set_feature_names(records)
        return self

    def _published(
        self, records: Container, weights: Weights | None
    ) -> ReleasedMean | ReleasedPooledMean:
        paying = self._paying()
        if weights is not None:
            sums = prepare_weighted(self, records, weights)
            return publish(sums.total, sums.plan.measuring if self._measures else sums.plan, paying)
        if self._staged is not None:
            staged = self._prepare_looks(records)
            return staged.plan.publish(staged.total, paying)
        if self.variance is not None:
            return publish_both(*prepare_both(self, records), paying)
        if is_pooled(self.settings, records):
            pooled = prepare_pooled(self, records)
            return pooled.plan.publish(pooled.total, paying)
        prepared = self._to_publish(records)
        if isinstance(prepared.plan, LooksPlan):
            return prepared.plan.publish(prepared.total, paying)
        return publish(prepared.total, prepared.plan, paying)

    def _prepare_looks(self, records: Container) -> Prepared[StagedPlans, Readable]:
        """Check, plan and read the records, where what is summed follows from a first release."""
        check_choices(self)
        self._refuse_with_stages()
        strategy = self._staged or TwoLooks()
        if records.on_cluster or records.irregular:
            raise strategy.refusal("Dask arrays and irregular curves")
        read = self._read(records)
        return Prepared(staged_plan(read.plan, strategy), read.total)

    def _to_publish(
        self, records: Container
    ) -> Prepared[MeanPlan, IntegerSum] | Prepared[LooksPlan, Readable]:
        """A sum, or records to be read again where two looks are to be had and pay."""
        if not self._measures:
            # A derived class may have a `prepare` of its own.
            return self.prepare(records.given, records.groups)
        prepared = self._answering(records, asks=not self._looks)
        plan = prepared.plan.measuring
        if self._looks and isinstance(prepared.total, Readable):
            looks = LooksPlan.where_it_pays(plan)
            if isinstance(looks, LooksPlan):
                return Prepared(looks, prepared.total)
        return Prepared(plan, prepared.total.total(plan))

    @property
    def _measures(self) -> bool:
        """Whether `fit` may measure how far its line is: not where all of the budget is the line's."""
        return type(self).prepare is PrivateMean.prepare and not is_one_look(self.mechanism)

    @property
    def _looks(self) -> bool:
        """Whether the default may have two looks: not where a class has its own way to one sum."""
        return self._measures and isinstance(self.mechanism, str) and self.mechanism == "auto"

    @property
    def _staged(self) -> TwoLooks | Search | None:
        """What makes records be read more than once."""
        return strategy_of(self.bounds, self.mechanism)

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
        plan = self._plan(basis, n, None, settings, expected=True)
        if max_weight is not None:
            weighed = weighted_plan(plan, max_weight)
            return weighed.measuring if self._measures else weighed
        if self.variance is not None:
            # Of the mean, with what the variance leaves.
            return both_plans(plan, self.variance)[0]
        if (strategy := self._staged) is not None:
            return staged_plan(plan, strategy)
        plan = plan.measuring if self._measures else plan
        return LooksPlan.where_it_pays(plan) if self._looks else plan

    def _refuse_with_stages(self) -> None:
        """Refuse what there is not between bounds that are looked for, nor in two looks."""
        if (strategy := self._staged) is None:
            return
        if self.variance is not None:
            raise ParameterError("variance", "be $none for two looks", shown(self.variance))
        if self.settings.reading.missing == "pooled":
            raise strategy.refusal("irregular curves")

    def prepare(self, X: Records, groups: Labels = None) -> Prepared[MeanPlan, IntegerSum]:
        """Everything before the noise: check, embed, clip, round, add up. The result is private.

        Of the line alone, with all of the budget: what `fit` measures beside it is not in it.

        Parameters
        ----------
        X, groups
            As in `fit`.
        """
        answer = self._answering(Container.of(X, groups))
        return Prepared(answer.plan, answer.total.total(answer.plan))

    def _answering(self, records: Container, asks: bool = True) -> Answered:
        """The plan of one mean, and what has its integers.

        asks: Whether a data base is asked for the sum. For two looks its records are read.
        """
        self._refuse_more(ONE_SUM)
        check_choices(self)
        refuse_pooled(self.settings, records)
        # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
        with np.errstate(all="ignore"):
            if records.on_cluster:
                X, groups = records.apart()
                pool = self._pool_on(sample(X), groups)
                total = total_on_cluster(pool, X, groups)
                summed = counted(pool.summation, total).summed(total)
                # The caller decides whether more than the line is measured, as for records in memory.
                return Prepared(summed.plan.line_alone, summed.total)
            return (asks and self._queried(records)) or self._read(records, boxes=True)

    def _queried(self, records: Container) -> Answered | None:
        """The sum as a query, where a data base holds them that can be asked for it; else None."""
        groups = records.groups
        if (table := queried(records.given, groups)) is None:
            return None
        settings = self._settings_for(records)
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
        if rule is None:
            return None
        if (query := table.query(rule, invalid == "repair", grid is not None)) is None:
            return None
        total = sum_of_query(query, rule.center.size, invalid, grid)
        return counted(summation, total).summed(total)

    def _refuse_more(self, what: str) -> None:
        """Refuse what is more than one sum."""
        if (strategy := self._staged) is not None:
            raise strategy.refusal(what)
        if self.variance is not None:
            raise ParameterError("variance", f"be $none for {what}", shown(self.variance))

    def pooled(self, n: int, columns: Columns = POINTS) -> PooledMean | PooledVisits:
        """The sum as several holders make it, for n units of all of them; see `PooledSum`."""
        self._check_road("pooled")
        self._refuse_more("one sum of several holders")
        plan = self.plan(n, columns)
        if isinstance(plan, PooledPlan):
            return PooledVisits(self.settings, plan)
        # Noise in shares is drawn before anyone has the line: there all is in it (`PooledMean.sharing`).
        return PooledMean(self.settings, Summation.of(single(plan)))

    def pooled_on(self, X: Records, groups: Labels = None) -> PooledMean:
        """The same on the columns of X, where the number of records is not known yet."""
        self._check_road("pooled_on")
        return self._pool_on(X, groups)

    def _pool_on(self, X: object, groups: object) -> PooledMean:
        return PooledMean(self.settings, open_summation(self._planned_on(X, groups)))

    def _planned_on(self, X: object, groups: object = None) -> MeanPlan:
        """The plan on the columns of X, where the number of records is not known yet."""
        check_choices(self)
        self._refuse_more(ONE_SUM)
        refuse_irregular(X)
        basis = read_curves(self.settings, self.basis, X, boxes=True)[1]
        plan = self._plan(basis, 2, groups, self._settings_for(X, groups))
        return plan.measuring if self._measures else plan

    def _read(self, records: Container, boxes: bool = False) -> Prepared[MeanPlan, Readable]:
        """The plan of one mean, and its records, of which the shape alone was looked at.

        But where they are irregular. Others are read block by block, where they lie.
        """
        settings = self._settings_for(records)
        self._bound(settings)
        values, basis, labels = read_curves(settings, self.basis, records, boxes=boxes)
        read, count, labels = readable(settings, basis, values, labels)
        return Prepared(self._plan(basis, count, labels, settings), read)

    def _summation_for(self, X: Records) -> Summation:
        """How the records of a matrix will be added up; of the matrix its shape alone is looked at."""
        check_choices(self)
        self._refuse_more(ONE_SUM)
        return Summation.of(self._read(Container.of(X), boxes=True).plan)

    def _bound(self, settings: Settings) -> Bound:
        bounds = self.bounds.stated if isinstance(self.bounds, Search) else self.bounds
        return read_bounds(bounds, settings.reading.standardize)

    def _plan(
        self, basis: Basis, count: int, groups: object, settings: Settings, expected: bool = False
    ) -> MeanPlan:
        """The plan on a basis; of the number of units only what is public is in it."""
        bound = self._bound(settings)
        if self.basis is None:
            settings, basis = in_cycles(settings, basis, bound)
        return mean_plan(
            self.asked(),
            settings,
            basis,
            bound,
            public_size(settings.unit, count, settings.reading.invalid),
            settings.unit.called(groups),
            mechanism_of_look(self.mechanism),
            None if self.prior is None else read_public_curves(self.prior, flat_grid(basis)),
            count if expected else None,
        )
