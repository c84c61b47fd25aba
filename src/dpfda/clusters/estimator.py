"""Clusters of curves, as a scikit-learn estimator."""

from __future__ import annotations

from typing import ClassVar, Unpack

from dpfda.clusters.plan import ClustersPlan, clusters_plan
from dpfda.clusters.release import ReleasedCurveClusters
from dpfda.numerics.parameters import whole
from dpfda.privacy.guarantees import Guarantee
from dpfda.spine.arguments import Bounds, Functions, Number, Payer, Place, Protected
from dpfda.spine.settings import Reading
from dpfda.spine.vectors import Choices, OfVectors

# Clusters at most.
MOST = 20


class PrivateCurveClusters(OfVectors[ClustersPlan]):
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
    cluster. Shares of the budget add up; with a delta or a rho all noise is normal, and charged as one
    law. Parameters are public; `X` and `groups` are private.

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
    CALLED: ClassVar[str] = "clusters of curves"

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

    def _planned(self, guarantee: Guarantee, count: int, **choices: Unpack[Choices]) -> ClustersPlan:
        return clusters_plan(guarantee, count, clusters=self.clusters, **choices)

    def _checked(self) -> Guarantee:
        whole(self.clusters, "clusters", 2, MOST)
        return super()._checked()
