"""Functions of private data, published under differential privacy.

Names are loaded when they are first used, so importing the package costs next to nothing. Bases, bounds,
features, tuning and the like lie in the modules named after them: `dpfda.bases`, `dpfda.bounds`,
`dpfda.records.features`, `dpfda.tuning`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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

__version__ = "0.1.0"

_HOMES = {
    "PrivateMean": "mean.estimator",
    "PrivateVectorMean": "mean.vector.estimator",
    "PrivateComparison": "mean.comparison.estimator",
    "PrivateEqualityTest": "mean.comparison.equality_test",
    "PrivateCovariance": "covariance.estimator",
    "PrivateFPCA": "covariance.fpca",
    "PrivateDensity": "density.estimator",
    "PrivateQuantiles": "density.quantiles",
    "PrivateQuantileCurves": "reference.centiles.estimator",
    "PrivateSurvival": "survival.estimator",
    "PrivateCox": "survival.cox",
    "PrivateScoreCurves": "scores.estimator",
    "PrivateReferenceBand": "reference.estimator",
    "PrivateRunningMean": "mean.running.estimator",
    "PrivateFunctionalRegression": "effects.estimator",
    "PrivateScalarOnFunction": "scalar.estimator",
    "PrivateCurveSampler": "sampler.estimator",
    "PrivateCurveClusters": "clusters.estimator",
    "PrivateKernelRegressor": "machines.regression",
    "PrivateKernelClassifier": "machines.classification",
    "release_function": "publication.lattice",
    "Session": "publication.session",
    "Ledger": "privacy.ledger",
    "load": "releases.base",
    "Domain": "spine.settings",
    "PrivacyUnit": "spine.settings",
    "Reading": "spine.settings",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dpfda' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dpfda.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
