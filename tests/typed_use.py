"""What mypy and editors know of what users hold: checked by ``mypy tests/typed_use.py``, never run."""

from decimal import Decimal
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
    PrivateCox,
    PrivateCurveClusters,
    PrivateCurveSampler,
    PrivateDensity,
    PrivateEqualityTest,
    PrivateFPCA,
    PrivateFunctionalRegression,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    PrivateQuantileCurves,
    PrivateQuantiles,
    PrivateReferenceBand,
    PrivateRunningMean,
    PrivateScalarOnFunction,
    PrivateScoreCurves,
    PrivateSurvival,
    PrivateVectorMean,
    Session,
    load,
    release_function,
)
from dpfda.bases.cells import CellGrid
from dpfda.clusters.release import ReleasedCurveClusters
from dpfda.covariance.components_release import ReleasedComponents
from dpfda.covariance.release import ReleasedCovariance
from dpfda.covariance.sparse_release import ReleasedSparseCovariance
from dpfda.density.atoms_release import ReleasedDensityWithAtoms
from dpfda.density.conditional_release import ReleasedConditionalDensity
from dpfda.density.histogram_release import ReleasedHistogram
from dpfda.density.quantiles_release import ReleasedQuantiles
from dpfda.density.release import ReleasedDensity
from dpfda.effects.release import ReleasedFunctionalRegression
from dpfda.front.custodians import merge
from dpfda.front.interop.opendp import as_release, guarantee_of, make_mean
from dpfda.machines.predictor import Predictor
from dpfda.machines.release import ReleasedPredictor
from dpfda.machines.table_release import TablePredictor
from dpfda.mean.comparison.difference_release import ReleasedDifference
from dpfda.mean.comparison.release import ReleasedComparison
from dpfda.mean.comparison.tested_release import ReleasedTest
from dpfda.mean.found_release import FoundMean
from dpfda.mean.running.release import ReleasedRunningMean
from dpfda.mean.settings import TwoLooks
from dpfda.mean.staged_release import CloserMean
from dpfda.mean.streams import MeanStream
from dpfda.mean.variance_release import MeanAndVariance
from dpfda.mean.vector.release import ReleasedVector
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import Guarantee
from dpfda.privacy.ledger import Amount
from dpfda.publication.custody import Agreement, Keys, Part
from dpfda.records import LongCurves
from dpfda.records.features import LinearFeatures
from dpfda.reference.centiles.release import ReleasedQuantileCurves
from dpfda.reference.release import ReleasedReferenceBand
from dpfda.releases.answers import ReleasedAnswers
from dpfda.releases.base import Release
from dpfda.releases.combined import CombinedMean
from dpfda.releases.field import ReleasedField
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.lattice import LatticeRelease
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.releases.staged import TwoStageFunction
from dpfda.sampler.release import ReleasedCurveSampler, ReleasedCurveSamplers
from dpfda.scalar.release import ReleasedScalarOnFunction
from dpfda.scores.release import ReleasedScoreCurves
from dpfda.survival.cox_release import ReleasedCox
from dpfda.survival.release import ReleasedSurvival
from dpfda.tuning import private_selection
from dpfda.views import Table

X, Y = np.zeros((20, 8)), np.zeros(20)


def summaries() -> None:
    """Each estimator's release is of its own kind."""
    assert_type(PrivateDensity(1.0).fit(Y).release_, ReleasedDensity)
    assert_type(PrivateCovariance(1.0).fit(X).release_, ReleasedCovariance | ReleasedSparseCovariance)
    assert_type(PrivateFPCA(1.0).fit(X).release_, ReleasedComponents)
    assert_type(PrivateComparison(1.0).fit(X, Y).release_, ReleasedComparison)
    assert_type(PrivateKernelRegressor(1.0).fit(X, Y).release_, Predictor)
    assert_type(PrivateKernelClassifier(1.0).fit(X, Y).release_, Predictor)
    assert_type(PrivateMean(1.0).fit(X).release_, ReleasedFunction | ReleasedField | ReleasedPooledMean)
    assert_type(PrivateVectorMean(1.0).fit(X).release_, ReleasedVector)
    assert_type(PrivateEqualityTest(1.0).fit(X, Y).release_, ReleasedTest)
    assert_type(PrivateQuantiles(1.0).fit(Y).release_, ReleasedQuantiles)
    assert_type(PrivateQuantileCurves(1.0).fit(X).release_, ReleasedQuantileCurves)
    assert_type(PrivateScalarOnFunction(1.0).fit(X, Y).release_, ReleasedScalarOnFunction)
    assert_type(PrivateCurveSampler(1.0).fit(X).release_, ReleasedCurveSampler)
    assert_type(PrivateCurveClusters(1.0).fit(X).release_, ReleasedCurveClusters)
    assert_type(PrivateReferenceBand(1.0).fit(X).release_, ReleasedReferenceBand)
    assert_type(PrivateRunningMean(1.0).open("means.state").publish(X), ReleasedRunningMean)
    assert_type(PrivateSurvival(1.0).fit(Y, Y).release_, ReleasedSurvival)
    assert_type(PrivateScoreCurves(1.0).fit(Y, Y).release_, ReleasedScoreCurves)
    assert_type(PrivateCox(1.0).fit(Y, Y, X).release_, ReleasedCox)
    assert_type(PrivateFunctionalRegression(1.0).fit(X, X).release_, ReleasedFunctionalRegression)
    assert_type(release_function(np.sin, 1, 1.0, 4, (0, 1)), LatticeRelease)
    assert_type(PrivateMean(1.0).open_session(X, "mean.session"), Session)


def values() -> None:
    """A number at a point, an array at many."""
    mean, density = ReleasedFunction.load("mean.json"), PrivateDensity(1.0).fit(Y).release_
    assert_type(mean(0.5), float)
    assert_type(mean(Y), NDArray[np.float64])
    assert_type(mean([0.25, 0.5]), NDArray[np.float64])
    assert_type(density(0.5), float)
    assert_type(density(Y), NDArray[np.float64])
    assert_type(PrivateSurvival(1.0).fit(Y, Y).release_(0.5), float)
    assert_type(PrivateQuantileCurves(1.0).fit(X).release_[0.9](0.5), float)


def files() -> None:
    """Of a file it is known that it is a release, or of a kind that was asked for."""
    assert_type(load("mean.json"), Release)
    assert_type(ReleasedFunction.load("mean.json"), ReleasedFunction)
    assert_type(load("mean.json").table(), Table)
    assert_type(load("mean.json").guarantee, Guarantee)
    assert_type(ReleasedAnswers.load("f"), ReleasedAnswers)
    assert_type(ReleasedComparison.load("f"), ReleasedComparison)
    assert_type(ReleasedComponents.load("f"), ReleasedComponents)
    assert_type(ReleasedConditionalDensity.load("f"), ReleasedConditionalDensity)
    assert_type(ReleasedCovariance.load("f"), ReleasedCovariance)
    assert_type(ReleasedDensity.load("f"), ReleasedDensity)
    assert_type(ReleasedDensityWithAtoms.load("f"), ReleasedDensityWithAtoms)
    assert_type(ReleasedDifference.load("f"), ReleasedDifference)
    assert_type(ReleasedField.load("f"), ReleasedField)
    assert_type(ReleasedFunctionalRegression.load("f"), ReleasedFunctionalRegression)
    assert_type(ReleasedHistogram.load("f"), ReleasedHistogram)
    assert_type(LatticeRelease.load("f"), LatticeRelease)
    assert_type(MeanAndVariance.load("f"), MeanAndVariance)
    assert_type(ReleasedPooledMean.load("f"), ReleasedPooledMean)
    assert_type(ReleasedSparseCovariance.load("f"), ReleasedSparseCovariance)
    assert_type(ReleasedPredictor.load("f"), ReleasedPredictor)
    assert_type(TablePredictor.load("f"), TablePredictor)
    assert_type(ReleasedQuantiles.load("f"), ReleasedQuantiles)
    assert_type(ReleasedQuantileCurves.load("f"), ReleasedQuantileCurves)
    assert_type(ReleasedScalarOnFunction.load("f"), ReleasedScalarOnFunction)
    assert_type(ReleasedCurveSampler.load("f"), ReleasedCurveSampler)
    assert_type(ReleasedCurveSamplers.load("f"), ReleasedCurveSamplers)
    assert_type(ReleasedCurveClusters.load("f"), ReleasedCurveClusters)
    assert_type(ReleasedReferenceBand.load("f"), ReleasedReferenceBand)
    assert_type(ReleasedRunningMean.load("f"), ReleasedRunningMean)
    assert_type(CombinedMean.load("f"), CombinedMean)
    assert_type(ReleasedSurvival.load("f"), ReleasedSurvival)
    assert_type(ReleasedScoreCurves.load("f"), ReleasedScoreCurves)
    assert_type(ReleasedCox.load("f"), ReleasedCox)
    assert_type(ReleasedTest.load("f"), ReleasedTest)
    assert_type(TwoStageFunction.load("f"), TwoStageFunction)
    assert_type(CloserMean.load("f"), CloserMean)
    assert_type(FoundMean.load("f"), FoundMean)
    assert_type(ReleasedVector.load("f"), ReleasedVector)


def found(candidate: str, epsilon: Fraction) -> ReleasedDensity:
    """One run of a selection."""
    return PrivateDensity(epsilon, noise=candidate).fit(Y).release_


def seams(ledger: Ledger, agreement: Agreement, parts: list[Part], keys: Keys) -> None:
    """What is chosen, joined, streamed or left is known, too."""
    chosen = private_selection(["laplace", "gaussian"], found, lambda release: release(0.5), 1.0)
    assert_type(chosen.release, ReleasedDensity)
    assert_type(merge(agreement, parts, keys), Release)
    assert_type(MeanStream(PrivateMean(1.0).plan(9)).release(), ReleasedFunction | ReleasedField)
    pooled = PrivateMean(1.0).pooled(9).publish(IntegerSum(8))
    assert_type(pooled, ReleasedFunction | ReleasedField | ReleasedPooledMean)
    assert_type(ledger.of("scans").remaining(), Amount)
    assert_type(Domain.of((0, 24)), Domain)


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
    assert_type(PrivateMean(1.0, bounds=(0, 1), mechanism=TwoLooks()).fit(curves), PrivateMean)
    PrivateMean(1.0, bounds=[np.zeros(8), np.ones(8)], grid_points=range(8)).fit([[0.0] * 8] * 20)
    PrivateMean(1.0, bounds=(np.zeros(8), 1), unit=PrivacyUnit("day"), ledger=ledger.of("scans")).fit(X)
    PrivateComparison(1.0, levels=["a", 7]).fit(X, ["a", 7, None], groups=("p1", "p2"))
    PrivateQuantiles(1.0, levels=(0.25, 0.75), step=0.5, scale=np.log).fit(Y)
    PrivateDensity(1.0, cells=(8, 8), domain=[(0, 1), (0, 1)]).fit_counts(X, (Y, Y))
    PrivateKernelRegressor(1.0, loss="huber", features=LinearFeatures.of_columns(8)).fit(X, Y)
    CellGrid.from_edges(range(9))
    PrivateDensity(1.0, bandwidth=[0.1])  # type: ignore[arg-type]
    PrivateKernelRegressor(1.0, loss=1)  # type: ignore[arg-type]
    PrivateMean("1.0", Decimal("1e-6"))
    PrivateMean(b"1.0")  # type: ignore[arg-type]
    PrivateMean(1.0, bounds=3)  # type: ignore[arg-type]
    PrivateMean(1.0, unit=4)  # type: ignore[arg-type]
