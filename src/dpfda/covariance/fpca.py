"""Functional principal components, as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from dpfda.covariance.components_release import ReleasedComponents
from dpfda.covariance.estimator import SecondMoments, Sought
from dpfda.covariance.publish import PooledCovariance, release_covariance, release_subspace
from dpfda.covariance.release import ReleasedCovariance
from dpfda.covariance.strategies import Exponential, MatrixNoise
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.numerics.parameters import whole
from dpfda.records import LongCurves, curves_from_long
from dpfda.records.arrow import arrow_table
from dpfda.records.containers import matrix_of
from dpfda.records.frames import Container
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
from dpfda.spine.base import mixin
from dpfda.spine.curves import POINTS, check_same_grid
from dpfda.spine.embedding import embedding_of
from dpfda.spine.settings import Reading
from dpfda.spine.sums import read_block

if TYPE_CHECKING:
    from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
else:
    ClassNamePrefixFeaturesOutMixin = mixin("ClassNamePrefixFeaturesOutMixin")
    TransformerMixin = mixin("TransformerMixin")


class Strategy(MatrixNoise):
    """Noise on the covariance, or the exponential mechanism: how components are found."""

    @classmethod
    def of(cls, value: object) -> Any:
        """Read the `mechanism` of an estimator of components.

        Raises
        ------
        RefusedMechanismError
            If it is the joint law over subspaces.
        """
        if isinstance(value, Exponential | MatrixNoise):
            return value
        if isinstance(value, str) and value == "joint":
            raise RefusedMechanismError(
                "mechanism",
                "be a law of noise or 'exponential'",
                "'joint'",
                "The joint law over subspaces is a matrix Bingham law; no sampler of it is both exact "
                "and fast enough, and an inexact one has no guarantee. 'exponential' draws one "
                "direction at a time, exactly.",
                "Awan, Kenney, Reimherr & Slavkovic 2019, section 4",
            )
        exponential = isinstance(value, str) and value == "exponential"
        return Exponential() if exponential else MatrixNoise.of(value)


class PrivateFPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SecondMoments):  # type: ignore[misc]
    """Functional principal components under differential privacy.

    By default the covariance function is released (`dpfda.PrivateCovariance`) and its eigenfunctions are
    taken. ``mechanism="exponential"`` draws the leading directions one by one by the exponential
    mechanism and then releases the small covariance within their span.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateCovariance`.
    n_components : int, optional
        Number k of components. By default those whose eigenvalue exceeds the noise floor (at least one);
        for "exponential", one.
    mechanism : "auto", "coupled", "wishart", "knorm", "gaussian", "exponential" or an object
        Law of the noise on the covariance, or the exponential mechanism; with the number of basis
        functions and more in an object of `dpfda.covariance.strategies`.
    bounds, center
        As in `dpfda.PrivateCovariance`.
    basis, domain, unit, reading, ledger
        As in `dpfda.PrivateMean`.

    Attributes
    ----------
    release_ : ReleasedComponents
        The published components: functions on the domain, variances, guarantee.
    covariance_ : ReleasedCovariance or None
        The covariance that they come from: of the same release, at no further cost. None for
        "exponential".
    mean_release_ : ReleasedFunction or None
        The mean that was released as the center.
    components_ : array (k, m)
        Eigenfunctions on the grid, of norm one in L2. Signs are fixed as in `ReleasedComponents`.
    explained_variance_ : array (k,)
        Variances along them: squared units of the data times units of the domain.
    explained_variance_ratio_ : array (k,)
        Their shares of the released total variance; NaN for "exponential", which does not release it.
    noise_floor_ : float
        What noise alone stays below in an eigenvalue, with probability 0.95.
    n_features_in_ : int
        Number of grid points.

    Notes
    -----
    **Guarantee.** That of `dpfda.PrivateCovariance`. With "exponential", pure epsilon, of which each
    direction takes a part and the variances along them the rest (proof: page on covariances). How long
    its sampler takes depends on the private sum: running times tell something unaccounted for.

    References
    ----------
    Awan, Kenney, Reimherr & Slavkovic (2019), arXiv 1901.10864; Chaudhuri, Sarwate & Sinha (2013);
    Kapralov & Talwar (2013); Kent, Ganeiber & Mardia (2013), arXiv 1310.8110.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda.covariance.strategies import Center
    >>> waves = np.sin(np.linspace(0, 3, 20)) * np.linspace(-0.2, 0.2, 50)[:, None]
    >>> fpca = PrivateFPCA(1.0, n_components=1, center=Center(0.0, 0.4), domain=(0, 3)).fit(waves)
    >>> fpca.transform(waves).shape
    (50, 1)
    """

    _gathered: ClassVar = {**SecondMoments._gathered, "mechanism": (Strategy, Exponential)}

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        n_components: int | None = None,
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

    def fit(self, X: Records, y: Labels = None, groups: Labels = None) -> Self:
        """Release the principal components of the curves.

        Parameters
        ----------
        X : array (n, m), DataFrame, FDataGrid or LongCurves
            One curve a row, in the units of the data; NaN marks a missing value. Private.
        y : None
            Ignored.
        groups : array (n,), optional
            Privacy unit of each record. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError, RefusedMechanismError, DataError, BudgetError
            As `PrivateMean.fit`.
        """
        stage, total, certificate, _ = self._charged(X, groups)
        self.covariance_: ReleasedCovariance | None = None
        if stage.plan.subspace is not None:
            release: ReleasedComponents = release_subspace(total, stage, certificate)
        else:
            covariance = self.covariance_ = release_covariance(total.triangle(), stage, certificate)
            release = self._components(covariance)
        self.release_ = release
        self.mean_release_ = release.mean
        self.components_ = release(release.grid_points)
        self.explained_variance_ = release.variances
        unknown = np.full(release.count, np.nan)
        self.explained_variance_ratio_ = np.asarray(
            unknown if release.ratios is None else release.ratios
        )
        self.noise_floor_ = release.floor
        self.n_features_in_ = int(release.grid_points.size)
        self._set_feature_names(X, groups)
        return self

    def pooled(self, n: int, columns: Columns = POINTS) -> PooledCovariance:
        """The covariance as several holders add it up, of which components are told; see `PooledSum`."""
        return PooledCovariance.of(self.settings, self.plan(n, columns), seen=self._components)

    def _components(self, covariance: ReleasedCovariance) -> ReleasedComponents:
        count = self.n_components
        return covariance.components(None if count is None else min(count, covariance.noise.size))

    @property
    def _n_features_out(self) -> int:
        """Number of scores, which are columns of what `transform` gives."""
        return self.release_.count

    def _sought(self) -> Sought:
        if self.n_components is not None:
            whole(self.n_components, "n_components", words="be $none or a positive integer")
        strategy = Strategy.of(self.mechanism)
        return {"strategy": strategy, "components": self.n_components, "summary": "principal components"}

    def fit_transform(self, X: Records, y: Labels = None, groups: Labels = None) -> Floats:
        """Release the components, and give the scores (n, k) of the curves: these stay private.

        Parameters
        ----------
        X, y, groups
            As in `fit`, which reads the curves as `transform` does: what that could not read is refused
            before anything is charged, and repaired where ``invalid="repair"``.
        """
        # A stream or a query is read once.
        X = arrow_table(X)
        self.fit(X, groups=groups)
        return self._scores(X, groups)

    def transform(self, X: Records) -> Floats:
        """Scores (n, k) of curves (n, m) on the grid, in any container that `fit` takes.

        Scores of private curves are private, those of `fit_transform` among them: they are not part of
        the release. A curve that ``invalid="repair"`` replaces has the scores of the center, zero.

        Raises
        ------
        NotFittedError
            Before `fit`.
        DataError
            Unless repairing, if a curve cannot be used.
        """
        self._check_feature_names(X)
        return self._scores(X, None)

    def _scores(self, X: object, groups: object) -> Floats:
        release, basis, reading = self.release_, self.release_.basis, self.settings.reading
        handed = Container.of(X, groups).curves(basis.grid_points)
        if isinstance(handed.values, LongCurves):
            curves = curves_from_long(handed.values, basis, reading.nugget, reading.invalid)
        else:
            if self.settings.domain.grid_points is None:
                check_same_grid(basis, handed)
            values = matrix_of(handed.values, reading.invalid)
            if values.shape[1] != self.n_features_in_ and embedding_of(reading) is None:
                raise ParameterError(
                    "X",
                    f"have one column a grid point ({self.n_features_in_})",
                    f"another number: X has {values.shape[1]} features, but PrivateFPCA is expecting "
                    f"{self.n_features_in_} features as input",
                )
            curves = read_block(values, basis, reading)
        with np.errstate(all="ignore"):
            return release.transform(np.where(curves.usable[:, None], curves.values, release.center))

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Curves (n, m) on the grid from scores (n, k).

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        return self.release_.inverse_transform(X)
