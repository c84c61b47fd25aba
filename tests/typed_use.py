"""What mypy and editors know of what users hold: checked by ``mypy tests/typed_use.py``, never run."""

from fractions import Fraction
from typing import assert_type

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from opendp.mod import Domain as InputDomain
from opendp.mod import Measurement, Metric
from sklearn.gaussian_process.kernels import Matern

from dpfda import (
    Domain,
    Ledger,
    PrivacyUnit,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    PrivateSurvival,
    load,
)
from dpfda.bounds import L2Ball
from dpfda.front.interop.opendp import as_release, guarantee_of, make_mean
from dpfda.privacy.guarantees import Guarantee
from dpfda.records import LongCurves
from dpfda.releases.base import Release
from dpfda.releases.comparison import ReleasedComparison
from dpfda.releases.components import ReleasedComponents
from dpfda.releases.covariance import ReleasedCovariance
from dpfda.releases.density import ReleasedDensity
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.predictor import ReleasedPredictor
from dpfda.summaries.two_stage import TwoStages
from dpfda.views import Table

X, Y = np.zeros((20, 8)), np.zeros(20)


def summaries() -> None:
    """Each estimator's release is of its own kind."""
    assert_type(PrivateDensity(1.0).fit(Y).release_, ReleasedDensity)
    assert_type(PrivateCovariance(1.0).fit(X).release_, ReleasedCovariance)
    assert_type(PrivateFPCA(1.0).fit(X).release_, ReleasedComponents)
    assert_type(PrivateComparison(1.0).fit(X, Y).release_, ReleasedComparison)
    assert_type(PrivateKernelRegressor(1.0).fit(X, Y).release_, ReleasedPredictor)
    assert_type(PrivateKernelClassifier(1.0).fit(X, Y).release_, ReleasedPredictor)


def values() -> None:
    """A number at a point, an array at many."""
    mean, density = ReleasedFunction.load("mean.json"), PrivateDensity(1.0).fit(Y).release_
    assert_type(mean(0.5), float)
    assert_type(mean(Y), NDArray[np.float64])
    assert_type(mean([0.25, 0.5]), NDArray[np.float64])
    assert_type(density(0.5), float)
    assert_type(density(Y), NDArray[np.float64])
    assert_type(PrivateSurvival(1.0).fit(Y, Y).release_(0.5), float)


def files() -> None:
    """Of a file it is known that it is a release, or of a kind that was asked for."""
    assert_type(load("mean.json"), Release)
    assert_type(ReleasedFunction.load("mean.json"), ReleasedFunction)
    assert_type(load("mean.json").table(), Table)
    assert_type(load("mean.json").guarantee, Guarantee)


def with_opendp(domain: InputDomain, metric: Metric) -> None:
    """Measurements are OpenDP's, and what is made of their outputs is a release."""
    measurement = make_mean(domain, metric, PrivateMean(1.0))
    assert_type(measurement, Measurement)
    assert_type(guarantee_of(measurement), Guarantee)
    assert_type(as_release(Y, measurement, 0.1, Domain(Y), law="gaussian"), ReleasedFunction)


def arguments(frame: pd.DataFrame, curves: LongCurves, ledger: Ledger) -> None:
    """What estimators accept: arrays, frames, irregular curves, lists; objects or their shorthands."""
    mean = PrivateMean(
        Fraction(1, 2), bounds=(0, 1), basis=Matern(0.1), domain=(0, 24), unit="person", prior=np.sin
    )
    assert_type(mean.fit(frame, groups=frame["person"]), PrivateMean)
    assert_type(PrivateMean(1.0, bounds=L2Ball(2.0), mechanism=TwoStages()).fit(curves), PrivateMean)
    PrivateMean(1.0, bounds=[np.zeros(8), np.ones(8)], grid_points=range(8)).fit([[0.0] * 8] * 20)
    PrivateMean(1.0, bounds=(np.zeros(8), 1), unit=PrivacyUnit("day"), ledger=ledger.of("scans")).fit(X)
    PrivateComparison(1.0, levels=["a", 7]).fit(X, ["a", 7, None], groups=("p1", "p2"))
    PrivateMean("1.0")  # type: ignore[arg-type]
    PrivateMean(1.0, bounds=3)  # type: ignore[arg-type]
    PrivateMean(1.0, unit=4)  # type: ignore[arg-type]
