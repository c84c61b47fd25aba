"""Clusters of curves, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Self

import numpy as np

from dpfda.bases import Basis
from dpfda.bounds import ValueBounds, read_bounds
from dpfda.clusters.plan import ClustersPlan, clusters_plan
from dpfda.clusters.release import ReleasedCurveClusters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.embedding import coefficients
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown, whole
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import Prepared
from dpfda.records import Curves, units
from dpfda.records.labels import units_of
from dpfda.spine.arguments import Bounds, Columns, Functions, Labels, Number, Payer, Place, Protected
from dpfda.spine.choices import check_choices, check_interval
from dpfda.spine.curves import POINTS, check_in_memory, public_basis, read_matrix
from dpfda.spine.estimator import Estimator, warn_of_labels
from dpfda.spine.settings import Reading
from dpfda.spine.sums import read_block

# Clusters at most.
MOST = 20


class PrivateCurveClusters(Estimator):
    """Clusters of curves by k-means, under differential privacy: centers, and shares of the units.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    bounds : (lower, upper) or ValueBounds
        Public bounds on the values of a curve, enforced by clipping; centers keep to them. No default.
    clusters : int
        Public number of clusters, from 2 to 20.
    basis, domain, ledger
        As in `dpfda.PrivateMean`; the basis must be orthonormal, on an interval.
    unit : str or PrivacyUnit, optional
        Who is protected. Under add/remove a public size is needed, which sums are divided by.
    reading : Reading, optional
        As in `dpfda.PrivateMean`; an unusable record that is repaired counts as the middle of the
        bounds.

    Attributes
    ----------
    release_ : ReleasedCurveClusters
        ``release_.centers(t)``, ``release_.shares``, ``release_.assign(curves)``.
    n_features_in_ : int
        Number of grid points.

    Notes
    -----
    **Guarantee.** Pure epsilon, (epsilon, delta) or rho, one unit being one record, or the average of
    all records of one label of `groups`; another in its place, or one more or less. Moments are those
    of `dpfda.PrivateScalarOnFunction`; a unit is in one cell of their leading scores, and then in one
    cluster. Shares of the budget add up. Parameters are public; `X` and `groups` are private.

    References
    ----------
    Su, Cao, Li, Bertino & Jin (2016) for k-means of noisy cells and a step after it; Ding & He (2004)
    for clusters in leading components; Biswas, Dong, Kamath & Ullman (2020) for second moments.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> t, late = np.linspace(0, 1, 30), rng.random((3000, 1)) < 0.3
    >>> curves = np.exp(-50 * (t - np.where(late, 0.7, 0.3)) ** 2) + 0.1 * rng.normal(size=(3000, 1))
    >>> model = PrivateCurveClusters(1.0, bounds=(-1, 2), clusters=2, domain=(0, 1))
    >>> release = model.fit(curves).release_
    >>> bool(abs(release.shares[0] - 0.7) < 0.1), release.centers([0.3, 0.7]).shape
    (True, (2, 2))
    """

    release_: ReleasedCurveClusters

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        bounds: Bounds = None,
        clusters: int = 3,
        basis: Functions = None,
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(self, X: object, y: Labels = None, groups: Labels = None) -> Self:
        """Release the clusters.

        Parameters
        ----------
        X : array (n, m), DataFrame, Arrow table, DataArray or FDataGrid
            One curve a row, in the units of the data. Private.
        y : None
            Not read; where there are no `groups` a warning says so.
        groups : array (n,) or str, optional
            Privacy unit of each record, for example the person. Private.

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
        guarantee = self._checked()
        # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
        with np.errstate(all="ignore"):
            prepared = self._prepare(guarantee, X, groups)
            self.release_ = prepared.plan.publish(prepared.total, self.paying())
        self.n_features_in_ = int(prepared.plan.basis.grid_points.size)
        return self

    def plan(self, n: int, columns: Columns = POINTS) -> ClustersPlan:
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
        guarantee = self._checked()
        whole(n, "n", 2)
        return self._plan(guarantee, public_basis(self.settings, self.basis, columns), n, None, True)

    def _prepare(
        self, guarantee: Guarantee, X: object, groups: object
    ) -> Prepared[ClustersPlan, Floats]:
        check_in_memory(X)
        settings = self.settings_for(X, groups)
        matrix, basis, groups = read_matrix(settings, self.basis, X, groups)
        codes, count = units_of(groups, len(matrix), settings.reading.invalid)
        plan = self._plan(guarantee, basis, count, groups)
        curves = read_block(matrix, basis, settings.reading)
        lower, upper = plan.limits
        middle = np.clip(curves.values, lower, upper) - (lower + upper) / 2
        joined = units(Curves(middle, curves.usable), codes)
        vectors = coefficients(joined.values, plan.basis.analysis)
        return Prepared(plan, np.where(joined.usable[:, None], vectors, 0.0))

    def _plan(
        self, guarantee: Guarantee, basis: Basis, count: int, groups: object, planned: bool = False
    ) -> ClustersPlan:
        settings, bound = self.settings, read_bounds(self.bounds, False)
        assert isinstance(bound, ValueBounds)  # noqa: S101
        return clusters_plan(
            guarantee, count, clusters=self.clusters, settings=settings, basis=basis, bound=bound,
            unit=settings.unit.called(groups), planned=planned,
        )  # fmt: skip

    def _checked(self) -> Guarantee:
        guarantee, reading = check_choices(self), self.settings.reading
        check_interval(self.basis, "clusters of curves", "Give curves on an interval.")
        whole(self.clusters, "clusters", 2, MOST)
        if not isinstance(read_bounds(self.bounds, reading.standardize), ValueBounds):
            words = "be (lower, upper), or ValueBounds: values are what is clipped"
            raise ParameterError("bounds", words, shown(self.bounds))
        if reading.standardize or reading.missing == "pooled":
            words = "have missing='refuse' or 'complete', and no standardize, for clusters"
            raise ParameterError("reading", words, shown(reading))
        return guarantee
