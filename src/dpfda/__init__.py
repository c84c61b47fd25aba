"""Functions of private data, published under differential privacy.

Names are loaded when they are first used, so importing the package costs next to nothing. Bases, bounds,
features, tuning and the like lie in the modules named after them: `dpfda.bases`, `dpfda.bounds`,
`dpfda.records.features`, `dpfda.summaries.tuning`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfda.privacy.ledger import Ledger
    from dpfda.publication.session import Session
    from dpfda.releases.base import load
    from dpfda.summaries.bernstein import release_function
    from dpfda.summaries.classification import PrivateKernelClassifier
    from dpfda.summaries.comparison import PrivateComparison
    from dpfda.summaries.covariance import PrivateCovariance
    from dpfda.summaries.density import PrivateDensity
    from dpfda.summaries.equality import PrivateEqualityTest
    from dpfda.summaries.fpca import PrivateFPCA
    from dpfda.summaries.functional_regression import PrivateFunctionalRegression
    from dpfda.summaries.mean import PrivateMean
    from dpfda.summaries.quantiles import PrivateQuantiles
    from dpfda.summaries.regression import PrivateKernelRegressor
    from dpfda.summaries.settings import Domain, PrivacyUnit, Reading
    from dpfda.summaries.survival import PrivateSurvival
    from dpfda.summaries.vector import PrivateVectorMean

__version__ = "0.1.0"

_HOMES = {
    "PrivateMean": "summaries.mean",
    "PrivateVectorMean": "summaries.vector",
    "PrivateComparison": "summaries.comparison",
    "PrivateEqualityTest": "summaries.equality",
    "PrivateCovariance": "summaries.covariance",
    "PrivateFPCA": "summaries.fpca",
    "PrivateDensity": "summaries.density",
    "PrivateQuantiles": "summaries.quantiles",
    "PrivateSurvival": "summaries.survival",
    "PrivateFunctionalRegression": "summaries.functional_regression",
    "PrivateKernelRegressor": "summaries.regression",
    "PrivateKernelClassifier": "summaries.classification",
    "release_function": "summaries.bernstein",
    "Session": "publication.session",
    "Ledger": "privacy.ledger",
    "load": "releases.base",
    "Domain": "summaries.settings",
    "PrivacyUnit": "summaries.settings",
    "Reading": "summaries.settings",
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
    "PrivateSurvival",
    "PrivateFunctionalRegression",
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
