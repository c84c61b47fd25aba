"""Functions of private data, published under differential privacy.

Names are loaded when they are first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpfda.bases import (
        BernsteinBasis,
        BoxBasis,
        CosineBasis,
        FourierBasis,
        KernelBasis,
        KroneckerBasis,
        LegendreBasis,
        SineBasis,
    )
    from dpfda.bounds import BoxBound, Ellipsoid, L1Ball, L2Ball, ValueBounds
    from dpfda.publication.session import FunctionalSession
    from dpfda.records import LongCurves
    from dpfda.records.features import FourierFeatures, LandmarkFeatures, LinearFeatures
    from dpfda.releases.base import load
    from dpfda.releases.comparison import ReleasedComparison
    from dpfda.releases.components import ReleasedComponents
    from dpfda.releases.covariance import ReleasedCovariance
    from dpfda.releases.density import ReleasedDensity
    from dpfda.releases.field import ReleasedField
    from dpfda.releases.function import ReleasedFunction
    from dpfda.releases.lattice import LatticeRelease
    from dpfda.releases.predictor import ReleasedPredictor
    from dpfda.releases.staged import TwoStageFunction
    from dpfda.summaries import PrivateDensity, PrivateMean, release_bernstein
    from dpfda.summaries.classification import PrivateKernelClassifier
    from dpfda.summaries.comparison import PrivateComparison
    from dpfda.summaries.covariance import PrivateCovariance
    from dpfda.summaries.density_kernel import DensityKernel
    from dpfda.summaries.fpca import PrivateFPCA
    from dpfda.summaries.regression import PrivateKernelRegressor
    from dpfda.summaries.streams import MeanStream, row_blocks
    from dpfda.summaries.tuning import cross_validate, plug_in, private_selection
    from dpfda.summaries.two_stage import TwoStageMean

__version__ = "0.1.0"

_HOMES = {
    "BernsteinBasis": "bases",
    "BoxBasis": "bases",
    "BoxBound": "bounds",
    "CosineBasis": "bases",
    "FourierBasis": "bases",
    "DensityKernel": "summaries.density_kernel",
    "Ellipsoid": "bounds",
    "FourierFeatures": "records.features",
    "FunctionalSession": "publication.session",
    "KernelBasis": "bases",
    "KroneckerBasis": "bases",
    "LegendreBasis": "bases",
    "L1Ball": "bounds",
    "L2Ball": "bounds",
    "LandmarkFeatures": "records.features",
    "LatticeRelease": "releases.lattice",
    "LinearFeatures": "records.features",
    "LongCurves": "records",
    "MeanStream": "summaries.streams",
    "PrivateComparison": "summaries.comparison",
    "PrivateCovariance": "summaries.covariance",
    "PrivateDensity": "summaries",
    "PrivateFPCA": "summaries.fpca",
    "PrivateKernelClassifier": "summaries.classification",
    "PrivateKernelRegressor": "summaries.regression",
    "PrivateMean": "summaries",
    "ReleasedComparison": "releases.comparison",
    "ReleasedComponents": "releases.components",
    "ReleasedCovariance": "releases.covariance",
    "ReleasedDensity": "releases.density",
    "ReleasedField": "releases.field",
    "ReleasedFunction": "releases.function",
    "ReleasedPredictor": "releases.predictor",
    "SineBasis": "bases",
    "TwoStageFunction": "releases.staged",
    "TwoStageMean": "summaries.two_stage",
    "ValueBounds": "bounds",
    "cross_validate": "summaries.tuning",
    "load": "releases.base",
    "plug_in": "summaries.tuning",
    "private_selection": "summaries.tuning",
    "release_bernstein": "summaries",
    "row_blocks": "summaries.streams",
}

__all__ = [
    "BernsteinBasis",
    "BoxBasis",
    "BoxBound",
    "CosineBasis",
    "FourierBasis",
    "DensityKernel",
    "Ellipsoid",
    "FourierFeatures",
    "FunctionalSession",
    "KernelBasis",
    "KroneckerBasis",
    "LegendreBasis",
    "L1Ball",
    "L2Ball",
    "LandmarkFeatures",
    "LatticeRelease",
    "LinearFeatures",
    "LongCurves",
    "MeanStream",
    "PrivateComparison",
    "PrivateCovariance",
    "PrivateDensity",
    "PrivateFPCA",
    "PrivateKernelClassifier",
    "PrivateKernelRegressor",
    "PrivateMean",
    "ReleasedComparison",
    "ReleasedComponents",
    "ReleasedCovariance",
    "ReleasedDensity",
    "ReleasedField",
    "ReleasedFunction",
    "ReleasedPredictor",
    "SineBasis",
    "TwoStageFunction",
    "TwoStageMean",
    "ValueBounds",
    "cross_validate",
    "load",
    "plug_in",
    "private_selection",
    "release_bernstein",
    "row_blocks",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dpfda' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dpfda.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
