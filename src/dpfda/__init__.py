"""Functions of private data, published under differential privacy.

Names are loaded when they are first used, so importing the package costs next to nothing. Bases, bounds,
features, tuning and the like lie in the modules named after them: `dpfda.bases`, `dpfda.bounds`,
`dpfda.records.features`, `dpfda.tuning`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfda.numerics.scan import later

if TYPE_CHECKING:
    from dpfda.clusters.estimator import PrivateCurveClusters
    from dpfda.covariance.estimator import PrivateCovariance
    from dpfda.covariance.fpca import PrivateFPCA
    from dpfda.density.estimator import PrivateDensity
    from dpfda.density.quantiles import PrivateQuantiles
    from dpfda.effects.estimator import PrivateFunctionalRegression
    from dpfda.machines.classification import PrivateKernelClassifier
    from dpfda.machines.regression import PrivateKernelRegressor
    from dpfda.mean.comparison.equality_test import PrivateEqualityTest
    from dpfda.mean.comparison.estimator import PrivateComparison
    from dpfda.mean.estimator import PrivateMean
    from dpfda.mean.running.estimator import PrivateRunningMean
    from dpfda.mean.vector.estimator import PrivateVectorMean
    from dpfda.privacy.ledger import Ledger
    from dpfda.publication.lattice import release_function
    from dpfda.publication.session import Session
    from dpfda.reference.centiles.estimator import PrivateQuantileCurves
    from dpfda.reference.estimator import PrivateReferenceBand
    from dpfda.releases.base import load
    from dpfda.sampler.estimator import PrivateCurveSampler
    from dpfda.scalar.estimator import PrivateScalarOnFunction
    from dpfda.scores.estimator import PrivateScoreCurves
    from dpfda.spine.settings import Domain, PrivacyUnit, Reading
    from dpfda.survival.cox import PrivateCox
    from dpfda.survival.estimator import PrivateSurvival
else:
    __getattr__ = later(__name__)

__version__ = "0.1.0"

__all__ = [
    "PrivateMean",
    "PrivateVectorMean",
    "PrivateComparison",
    "PrivateEqualityTest",
    "PrivateCovariance",
    "PrivateFPCA",
    "PrivateDensity",
    "PrivateQuantiles",
    "PrivateQuantileCurves",
    "PrivateSurvival",
    "PrivateCox",
    "PrivateScoreCurves",
    "PrivateReferenceBand",
    "PrivateRunningMean",
    "PrivateFunctionalRegression",
    "PrivateScalarOnFunction",
    "PrivateCurveSampler",
    "PrivateCurveClusters",
    "PrivateKernelRegressor",
    "PrivateKernelClassifier",
    "release_function",
    "Session",
    "Ledger",
    "load",
    "Domain",
    "PrivacyUnit",
    "Reading",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
