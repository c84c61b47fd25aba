"""What mypy and editors know of what users hold: checked by ``mypy tests/typed_use.py``, never run."""

from typing import assert_type

import numpy as np
from opendp.mod import Domain as InputDomain
from opendp.mod import Measurement, Metric

from dpfda import (
    Domain,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    load,
)
from dpfda.interop.opendp import as_release, guarantee_of, make_mean
from dpfda.privacy.guarantees import Guarantee
from dpfda.releases.base import Release
from dpfda.releases.comparison import ReleasedComparison
from dpfda.releases.components import ReleasedComponents
from dpfda.releases.covariance import ReleasedCovariance
from dpfda.releases.density import ReleasedDensity
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.predictor import ReleasedPredictor
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
