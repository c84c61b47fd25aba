"""The covariance function of many records, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, Required, Self, TypedDict

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds import ValueBounds
from dpfda.covariance.deviations import Deviations, Paired
from dpfda.covariance.plan import CovariancePlan
from dpfda.covariance.publish import (
    PooledCovariance,
    Stage,
    measured,
    outer_sum,
    release_covariance,
    released_count,
    with_distance,
)
from dpfda.covariance.release import ReleasedCovariance
from dpfda.covariance.sparse import SparsePlan, plan_sparse, prepare_sparse, publish_sparse
from dpfda.covariance.sparse_release import ReleasedSparseCovariance
from dpfda.covariance.strategies import (
    COUNT,
    MEAN,
    Center,
    Exponential,
    MatrixNoise,
    Shares,
    distance_share,
    subspace_shares,
)
from dpfda.noise import achieved_guarantee
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.embedding import Rows
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import below_one, whole
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, added, pure_part
from dpfda.publication import MeanPlan, Prepared, charge, check, planner, publish_curve
from dpfda.records import Curves, LongCurves
from dpfda.records.dask_arrays import sample
from dpfda.records.frames import Container, is_dask
from dpfda.records.second_moments import OuterSum
from dpfda.releases.counts import NoisyCount
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.spine.arguments import (
    Bounds,
    Columns,
    Functions,
    Labels,
    Middle,
    Noise,
    Number,
    Payer,
    Place,
    Protected,
    Records,
)
from dpfda.spine.choices import check_choices, check_interval, mean_plan, public_size
from dpfda.spine.clusters import total_on_cluster
from dpfda.spine.curves import POINTS, is_pooled, public_basis, read_curves, refuse_pooled, unit_curves
from dpfda.spine.estimator import Estimator, warn_of_labels
from dpfda.spine.settings import Reading, Settings
from dpfda.spine.sums import Readable


class Sought(TypedDict, total=False):
    """What is sought, and by which strategy, as `covariance_plan` takes it."""

    strategy: Required[MatrixNoise | Exponential]
    summary: str
    components: int | None


class SecondMoments(Estimator):
    """Shared by `PrivateCovariance` and `dpfda.PrivateFPCA`; not for use by itself."""

    _gathered: ClassVar = {**Estimator._gathered, "center": (Center,)}

    bounds: Bounds
    center: Middle
    basis: Functions

    def plan(self, n: int, columns: Columns = POINTS) -> CovariancePlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n, columns
            As in `PrivateMean.plan`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        guarantee, deviations = self._checked()
        whole(n, "n", 2)
        basis = public_basis(self.settings, self.basis, columns)
        planned = self.settings.unit.public_size is None
        return self._plan(guarantee, n, deviations, basis, None, self.settings, planned)

    def prepare(self, X: Records, groups: Labels = None) -> Prepared[CovariancePlan, Curves]:
        """Check everything that is public, and read the curves. Nothing is charged or drawn.

        What is summed up is known once the count and the center are public: until then the private side
        is the curves.
        """
        # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
        with np.errstate(all="ignore"):
            guarantee, deviations = self._checked()
            settings = self._settings_for(X, groups)
            values, basis, own = read_curves(settings, self.basis, X, groups)
            curves, own = unit_curves(settings, basis, values, own)
            plan = self._plan(guarantee, int(curves.usable.size), deviations, basis, own, settings)
            if plan.about["center"] == "pairs":
                # A file of observations may be sorted by time: which record comes first is then private.
                labels = values.ids if own is None and isinstance(values, LongCurves) else own
                curves = deviations.paired(curves, labels)
        return Prepared(plan, curves)

    def _charged(self, X: Records, groups: Labels) -> tuple[Stage, OuterSum, Certificate, Curves]:
        """Charge, release what comes before the second moments, and add these up.

        Sum and curves are private.
        """
        prepared = self.prepare(X, groups)
        plan, certificate = prepared.plan, prepared.plan.certified()
        charge(self._paying(), certificate, plan.entry())
        stage, rows = first_stage(prepared, certificate)
        total = outer_sum(prepared.total, stage, stage.components, rows)
        return stage, total, certificate, prepared.total

    def _checked(self) -> tuple[Guarantee, Deviations]:
        guarantee = check_choices(self)
        check_interval(self.basis, "second moments", "Release a PrivateMean of functions on a box.")
        settings = self.settings
        deviations = Deviations(self.bounds, Center.of(self.center), settings.reading.standardize)
        if deviations.word == "pairs" and settings.unit.private:
            words = "not be 'pairs' under add/remove neighbours"
            remedy = "One unit more would change who is paired with whom. Use $center or a curve."
            raise ParameterError("center", words, "'pairs'", remedy, center="private")
        deviations.bound  # noqa: B018
        return guarantee, deviations

    def _plan(
        self,
        guarantee: Guarantee,
        count: int,
        deviations: Deviations,
        basis: Basis,
        groups: object,
        settings: Settings,
        planned: bool = False,
    ) -> CovariancePlan:
        return covariance_plan(
            guarantee, count, settings=settings, deviations=deviations, basis=basis,
            unit=settings.unit.called(groups), planned=planned, **self._sought(),
        )  # fmt: skip

    def _sought(self) -> Sought:
        """Strategy, and what is sought, for `covariance_plan`."""
        raise NotImplementedError


class PrivateCovariance(SecondMoments):
    """Covariance function under differential privacy.

    Each record (or the average of each person's records) minus a public curve is taken to M
    coefficients in a public basis, shortened to a public length and rounded to integers c; the integer
    matrices c c' are added up exactly, and exact noise is added to the sum. What is released is a
    symmetric, positive semidefinite function on the square of the domain.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`, of the whole release.
    bounds : (lower, upper), ValueBounds or L2Ball, optional
        Public bound on a record, in the units of the data, enforced by clipping. It may be left out
        where a radius and a public center are given.
    center : "auto", "private", "pairs", curve, callable, ReleasedFunction, "bound" or Center
        What is subtracted from every record: by default another record, at random, where n epsilon is
        below 30,000, and else a mean that is released first. With "bound" the middle of the bound: a
        second moment. With the length of deviations, and the shares of the budget for mean and length,
        in a `dpfda.covariance.strategies.Center`.
    mechanism : {"auto", "coupled", "wishart", "knorm", "gaussian"} or MatrixNoise
        Law of the noise; with the number of basis functions and shrinkage in a
        `dpfda.covariance.strategies.MatrixNoise`.
    basis, domain, unit, reading, ledger
        As in `dpfda.PrivateMean`; the basis must be orthonormal, on an interval.

    Attributes
    ----------
    release_ : ReleasedCovariance
        The published covariance function; a `ReleasedSparseCovariance` where observations were pooled.
    mean_release_ : ReleasedFunction or None
        The mean that was released as the center.
    n_features_in_ : int
        Number of grid points.

    Notes
    -----
    **Guarantee.** Pure epsilon, (epsilon, delta) or rho for the whole release. Between neighbours the
    integer sum of outer products moves by D with |D|_F^2 <= 2 R^4 and positive and negative parts of
    trace at most R^2 (replace-one), or R^4 and one such part (add/remove), R the integer length that
    every row is verified against: proof on the page on covariances; laws in `dpfda.noise.symmetric` and
    `dpfda.noise.wishart`. A released count and a released mean have budgets of their own, which add up.

    Parameters are public. `X` and `groups` are private.

    References
    ----------
    Hardt & Talwar (2010) and Reimherr & Awan (2019), Example 4, for K-norm noise; Balle & Wang (2018)
    for Gaussian noise; differences of positive matrices are proved here.

    Examples
    --------
    >>> import numpy as np
    >>> waves = np.sin(np.linspace(0, 3, 20)) * np.linspace(-0.2, 0.2, 50)[:, None]
    >>> estimator = PrivateCovariance(epsilon=1.0, center=Center(0.0, radius=0.4), domain=(0, 3))
    >>> estimator.fit(waves).release_.on_grid().shape
    (20, 20)
    """

    _gathered: ClassVar = {**SecondMoments._gathered, "mechanism": (MatrixNoise,)}

    _embeds = True

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        center: Middle = None,
        basis: Functions = None,
        mechanism: Noise = "auto",
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    release_: ReleasedCovariance | ReleasedSparseCovariance
    mean_release_: ReleasedFunction | ReleasedPooledMean | None

    def fit(self, X: Records, y: Labels = None, groups: Labels = None) -> Self:
        """Release the covariance of the curves.

        Parameters
        ----------
        X : array (n, m), DataFrame, FDataGrid or LongCurves
            One curve a row, in the units of the data; NaN marks a missing value. Irregular curves are
            pooled unless ``missing="complete"``: `dpfda.covariance.sparse`. Private.
        y : None
            Not read; where there are no `groups` a warning says so.
        groups : array (n,), optional
            Privacy unit of each record. Private.

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
            return self._fit_on_cluster(X, groups)
        if is_pooled(self.settings, X):
            sparse = publish_sparse(prepare_sparse(self, X, groups), self._paying())
            self.release_, self.mean_release_ = sparse, sparse.pooled
            self.n_features_in_ = int(sparse.center.size)
            return self
        stage, total, certificate, curves = self._charged(X, groups)
        covariance = release_covariance(total.triangle(), stage, certificate)
        self.release_ = with_distance(covariance, curves, stage.plan)
        self.mean_release_ = stage.mean
        self.n_features_in_ = int(stage.plan.basis.grid_points.size)
        return self

    def plan(self, n: int, columns: Columns = POINTS) -> CovariancePlan | SparsePlan:  # type: ignore[override]
        """As `SecondMoments.plan`; of curves that are pooled under ``missing="pooled"``."""
        pooled = self.settings.reading.missing == "pooled"
        return plan_sparse(self, whole(n, "n", 2)) if pooled else super().plan(n, columns)

    def prepare(self, X: Records, groups: Labels = None) -> Prepared[CovariancePlan, Curves]:
        """As `SecondMoments.prepare`, of curves that are not pooled."""
        refuse_pooled(self.settings, X)
        return super().prepare(X, groups)

    def _fit_on_cluster(self, X: Records, groups: Labels) -> Self:
        X, groups = Container.of(X, groups).apart()
        pool = self.pooled_on(sample(X), groups)
        self.release_ = pool.publish(total_on_cluster(pool, X, groups), self.ledger)
        self.mean_release_ = None
        self.n_features_in_ = int(pool.plan.basis.grid_points.size)
        return self

    def pooled(self, n: int, columns: Columns = POINTS) -> PooledCovariance:
        """The sum as several holders make it, for n units of all of them; see `PooledSum`."""
        return PooledCovariance.of(self.settings, super().plan(n, columns))

    def pooled_on(self, X: Records, groups: Labels = None) -> PooledCovariance:
        """The same on the columns of X, where the number of records is not known yet."""
        guarantee, deviations = self._checked()
        basis = read_curves(self.settings, self.basis, X)[1]
        plan = self._plan(guarantee, 2, deviations, basis, groups, self.settings)
        return PooledCovariance.of(self.settings, plan)

    def _sought(self) -> Sought:
        return {"strategy": MatrixNoise.of(self.mechanism)}


@planner
def covariance_plan(
    guarantee: Guarantee,
    count: int,
    *,
    settings: Settings,
    deviations: Deviations,
    basis: Basis,
    unit: str,
    strategy: MatrixNoise | Exponential,
    summary: str = "covariance",
    components: int | None = None,
    planned: bool = False,
) -> CovariancePlan:
    """The plan of a covariance, or of components, checked.

    Parameters
    ----------
    guarantee, unit, basis
        As in `CovariancePlan`.
    count : int
        Number of units; used where it is public.
    settings : Settings
    deviations : Deviations
    strategy : MatrixNoise or Exponential
    summary : str
        For the ledger's history.
    components : int, optional
        Number of components that are wanted.
    planned : bool
        Whether the number of units is planned, and in the place of a public size.

    Raises
    ------
    ParameterError, RefusedMechanismError
        If something cannot be given.
    """
    size = public_size(settings.unit, count, settings.reading.invalid)
    size = count if planned and size is not None else size
    units, neighbours = size, settings.unit.relation
    settled = deviations.settled(guarantee, size, neighbours, scores=summary == "principal components")
    counted, size = size is None, size // 2 if size and settled.word == "pairs" else size
    SymmetricTensorBasis(basis)
    center = settled.center_on(basis.grid_points)
    radius = settled.radius_on(basis, center)
    radius_share = below_one(settled.center.radius_share, "radius_share") if settled.chosen else None
    own_share, around = None, settled.chosen and settled.word in ("pairs", "private")
    eligible = around and summary == "covariance" and isinstance(settled.bound, ValueBounds)
    if eligible and units is not None and neighbours is Neighbours.REPLACE_ONE:
        own_share = distance_share(units * pure_part(guarantee).epsilon)
    shares = Shares.of(guarantee, counted, settled.mean_share, radius_share, own_share)
    noisy = strategy if isinstance(strategy, MatrixNoise) else MatrixNoise()
    about = {
        "summary": "covariance",
        "center": "of the bound" if settled.word == "bound" else settled.word or "public",
        "standardized": settings.reading.standardize,
        **settings.said(),
    }
    if neighbours is Neighbours.REPLACE_ONE:
        about["units"] = units
    subspace = mean = None
    if isinstance(strategy, Exponential):
        subspace = subspace_shares(shares, basis, size, strategy, components or 1)
    if shares.mean is not None:
        mean = mean_plan(shares.mean, settings, basis, settled.bound, units or 1, unit)
    plan = CovariancePlan(
        basis, radius, shares, neighbours, noisy.law, strategy.functions,
        size, unit, settled.described(radius), about, noisy.shrinkage == "prior", center, mean, subspace,
        summary,
    )  # fmt: skip
    plan.check()
    if subspace is None and components is not None and size is not None:
        possible = plan.noise(size).size
        if components > possible:
            words = f"be at most the number of basis functions that the budget allows ({possible})"
            remedy = "Ask for fewer; more need a larger budget, or a mechanism of so many functions."
            raise ParameterError("n_components", words, repr(components), remedy)
    return plan


def first_stage(
    prepared: Prepared[CovariancePlan, Curves], certificate: Certificate
) -> tuple[Stage, list[Rows] | None]:
    """Release count, mean and radius, where they are private. The ledger has been charged.

    Where lengths were measured, private coefficients are handed on.
    """
    plan, curves = prepared.plan, prepared.total
    divisor: float | NoisyCount = float(plan.size or 1)
    if plan.count_noise is not None:
        counted = IntegerSum(1).add(np.zeros((curves.usable.size, 1), dtype=np.int64))
        divisor = released_count(counted, plan.count_noise)
    if plan.mean is None:
        stage = Stage(plan, divisor, np.zeros(0) if plan.center is None else plan.center, None)
    else:
        units = curves.units if isinstance(curves, Paired) else curves
        mean = _released_mean(plan.mean, units, divisor, certificate)
        center, bound = mean(plan.basis.grid_points), plan.mean.bound
        if isinstance(bound, ValueBounds):
            center = np.clip(center, np.asarray(bound.lower), np.asarray(bound.upper))
        stage = Stage(plan, divisor, np.asarray(center), mean)
    if plan.choice is None:
        return stage, None
    lengths, rows = measured(curves, stage)
    selection = plan.choice.released(lengths)
    return replace(stage, plan=plan.chosen(selection, stage.size), selection=selection), rows


def _released_mean(
    plan: MeanPlan, curves: Curves, divisor: float | NoisyCount, certificate: Certificate
) -> ReleasedFunction:
    """The mean, designed for the count where that is public by now."""
    if isinstance(divisor, NoisyCount):
        counted = replace(plan, size=max(1, round(divisor.value)))
        try:
            check(counted)
        except Exception:
            # All has been charged. The design for one unit was checked before that.
            counted = plan
        plan = counted
    mean = publish_curve(Readable(curves).total(plan), plan, certificate=certificate.part(MEAN))
    if not isinstance(divisor, NoisyCount):
        return mean
    # What it is divided by, and designed for, was released for it, too.
    count = achieved_guarantee(divisor.noise, "l1", divisor.scale, PureDP(Fraction(1)))
    both = added([count, mean.certificate.achieved])
    own = certificate.part(COUNT, MEAN).fulfilled(
        both, mean.certificate.mechanism, mean.certificate.bound
    )
    return replace(mean, certificate=own)
