"""scikit-learn's conventions: its own checks, with every expected failure and its reason."""

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import EstimatorCheckFailedWarning, SkipTestWarning
from sklearn.gaussian_process.kernels import Matern
from sklearn.inspection import partial_dependence
from sklearn.model_selection import ParameterGrid
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import _NotAnArray, check_estimator

from dpfda import (
    Domain,
    PrivacyUnit,
    PrivateComparison,
    PrivateCovariance,
    PrivateFPCA,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    Reading,
)
from dpfda.bounds import L2Ball
from dpfda.errors import ParameterError, RepeatedReleaseWarning, UnreadLabelsWarning
from dpfda.testing import exact_totals

CURVES = np.random.default_rng(0).normal(size=(40, 9))

# It wants numpy's own TypeError for a cell that is no number. Ours is a DataError, a ValueError,
# because numpy's error would carry the private cell in its traceback.
EXPECTED_FAILURES = {
    "check_dtype_object": "a cell that is no number is a DataError, which never shows the cell",
}
TWO_FITS = "two fits of the same records differ by their noise"
NOISE = dict.fromkeys(
    [
        "check_fit_idempotent",
        "check_supervised_y_2d",
        "check_regressors_int",
        "check_regressor_data_not_an_array",
        "check_classifier_data_not_an_array",
    ],
    TWO_FITS,
)
SKIPPED = {
    "check_array_api_input": "wants SCIPY_ARRAY_API to be set in the environment",
    **dict.fromkeys(
        [
            "check_pipeline_consistency",
            "check_transformer_general",
            "check_transformer_data_not_an_array",
        ],
        "skipped by scikit-learn for estimators tagged as non-deterministic",
    ),
}
CURVES_OF_TEN = {"bounds": (-10, 10), "center": "private"}


class TestChecks:
    @pytest.mark.parametrize(
        "estimator",
        [
            PrivateMean(1.0, bounds=(-10, 10)),
            PrivateMean(1.0, bounds=(-10, 10), delta=1e-6, unit=PrivacyUnit(neighbours="add-remove")),
            PrivateMean(1.0, bounds=(-10, 10), reading=Reading(missing="complete")),
            PrivateCovariance(1.0, **CURVES_OF_TEN),
            PrivateFPCA(1.0, n_components=1, **CURVES_OF_TEN),
            PrivateComparison(1.0, bounds=(-10, 10)),
            PrivateKernelClassifier(1.0, bounds=(-10, 10), classes="from-y"),
        ],
        ids=[
            "plain",
            "approximate, add-remove",
            "missing values",
            "covariance",
            "components",
            "groups",
            "hinge",
        ],
    )
    def test_scikit_learns_own(self, estimator: Any) -> None:
        expected = EXPECTED_FAILURES | NOISE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EstimatorCheckFailedWarning)
            warnings.simplefilter("ignore", SkipTestWarning)
            # Columns that hold a constant, and targets of one column.
            warnings.simplefilter("ignore", RepeatedReleaseWarning)
            # Every check passes some y.
            warnings.simplefilter("ignore", UnreadLabelsWarning)
            results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None)
        by_status: dict[str, set[str]] = {}
        for result in results:
            by_status.setdefault(result["status"], set()).add(result["check_name"])
        reasons = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
        assert not reasons
        # What noise makes fail may pass by chance; the rest of the list holds nothing that would.
        assert EXPECTED_FAILURES.keys() <= by_status["xfail"] <= expected.keys()
        assert by_status.get("skipped", set()) <= SKIPPED.keys()
        assert len(by_status["passed"]) > 30
        noisy = {r["check_name"]: str(r["exception"]) for r in results if r["check_name"] in NOISE}
        assert all("Not equal to tolerance" in why for why in noisy.values() if why != "None")

    def test_an_array_of_another_class_is_read(self) -> None:
        # As check_transformer_data_not_an_array, which is skipped where there is noise.
        other = _NotAnArray(CURVES)
        mean = PrivateMean(1.0, bounds=(-10, 10))
        assert exact_totals(mean.prepare(other).total) == exact_totals(mean.prepare(CURVES).total)
        fpca = PrivateFPCA(1.0, n_components=1, **CURVES_OF_TEN).fit(CURVES)
        assert np.array_equal(fpca.transform(other), fpca.transform(CURVES))

    def test_tags(self) -> None:
        tags = get_tags(PrivateMean(1.0))
        assert tags.non_deterministic
        assert tags.requires_fit
        assert not tags.target_tags.required
        assert not tags.input_tags.allow_nan
        assert not tags.input_tags.sparse
        assert get_tags(PrivateMean(1.0, reading=Reading(missing="complete"))).input_tags.allow_nan
        assert get_tags(PrivateMean(1.0, reading=Reading(invalid="repair"))).input_tags.allow_nan
        assert get_tags(PrivateKernelRegressor(1.0)).regressor_tags.poor_score
        assert get_tags(PrivateKernelClassifier(1.0)).classifier_tags.poor_score
        assert not get_tags(PrivateKernelRegressor(1.0)).input_tags.allow_nan
        repairing = PrivateKernelRegressor(1.0, reading=Reading(invalid="repair"))
        assert get_tags(repairing).input_tags.allow_nan


class TestParameters:
    def test_are_kept_as_they_were_given(self) -> None:
        given = {
            "epsilon": Fraction(1, 10),
            "bounds": [-1, 1],
            "basis": Matern(0.3),
            "domain": Domain([0, 1, 2]),
        }
        estimator = PrivateMean(**given)
        for name, value in given.items():
            assert getattr(estimator, name) is value
            assert estimator.get_params(deep=False)[name] is value

    def test_are_checked_in_fit_alone(self) -> None:
        estimator = PrivateMean(epsilon="nonsense", bounds=3, mechanism=7)
        assert estimator.set_params(epsilon=-1).epsilon == -1
        clone(estimator)

    def test_fit_changes_none(self) -> None:
        for parameters in ({"bounds": (-9, 9)}, {"standardize": True}, {"bounds": L2Ball(3.0)}):
            estimator = PrivateMean(1.0, **parameters)
            before = estimator.get_params()
            estimator.fit(CURVES)
            after = estimator.get_params()
            assert before.keys() == after.keys()
            assert all(before[name] is after[name] for name in before)

    def test_clone_is_unfitted_and_equal(self) -> None:
        estimator = PrivateMean(2.0, bounds=(-9, 9), basis=Matern(0.3, nu=2.5)).fit(CURVES)
        copy = clone(estimator)
        assert not hasattr(copy, "release_")
        assert repr(copy) == repr(estimator)
        assert copy.basis == estimator.basis
        copy.fit(CURVES)
        # Two fits are two releases.
        assert copy.release_.noisy_sum != estimator.release_.noisy_sum

    def test_set_params_reaches_into_the_kernel(self) -> None:
        estimator = PrivateMean(1.0, bounds=(-9, 9), basis=Matern(0.3, nu=2.5))
        estimator.set_params(basis__length_scale=0.7, epsilon=3)
        assert "length_scale=0.7" in repr(estimator.fit(CURVES).release_)
        assert "3-differential privacy" in repr(estimator.release_)

    def test_a_grid_of_parameters(self) -> None:
        grid = ParameterGrid({"epsilon": [0.5, 1], "mechanism": ["knorm", "laplace"]})
        for parameters in grid:
            release = PrivateMean(1.0, bounds=(-9, 9)).set_params(**parameters).fit(CURVES).release_
            assert release.guarantee.epsilon == parameters["epsilon"]
            assert release.certificate.mechanism["name"] == parameters["mechanism"]

    def test_unknown_ones_are_refused(self) -> None:
        with pytest.raises(ValueError, match="Invalid parameter 'random_state'"):
            PrivateMean(1.0).set_params(random_state=0)
        with pytest.raises(ParameterError, match="found 'random_state'"):
            PrivateMean(1.0, random_state=0)

    def test_all_but_the_budget_are_keywords(self) -> None:
        with pytest.raises(TypeError, match="positional"):
            PrivateMean(1.0, 0.0, (-1, 1))  # type: ignore[misc]


class TestFeatures:
    def test_their_number_is_that_of_the_grid(self) -> None:
        estimator = PrivateMean(1.0, bounds=(-9, 9)).fit(CURVES)
        assert estimator.n_features_in_ == 9
        assert not hasattr(estimator, "feature_names_in_")

    def test_names_come_from_text_labels(self) -> None:
        names = [f"point_{j}" for j in range(9)]
        estimator = PrivateMean(1.0, bounds=(-9, 9)).fit(pd.DataFrame(CURVES, columns=names))
        assert list(estimator.feature_names_in_) == names
        assert estimator.feature_names_in_.dtype == object
        assert not hasattr(estimator.fit(CURVES), "feature_names_in_")

    def test_numbers_are_no_names(self) -> None:
        assert not hasattr(
            PrivateMean(1.0, bounds=(-9, 9)).fit(pd.DataFrame(CURVES)), "feature_names_in_"
        )

    def test_a_failed_fit_leaves_no_release(self) -> None:
        estimator = PrivateMean(1.0, bounds=(-9, 9))
        bad: Any = CURVES.copy()
        bad[0, 0] = np.nan
        with pytest.raises(ValueError, match="row 0, column 0"):
            estimator.fit(bad)
        assert not hasattr(estimator, "release_")
        assert not hasattr(estimator, "n_features_in_")

    @pytest.mark.filterwarnings("ignore::dpfda.errors.UnreadLabelsWarning")
    def test_y_is_not_read(self) -> None:
        estimator = PrivateMean(1.0, bounds=(-9, 9))
        assert estimator.fit(CURVES, y=["anything"] * 3) is estimator


INPUTS = np.random.default_rng(1).uniform(size=(300, 2))
CLASSES = (INPUTS[:, 0] > 0.5).astype(int)


def classifier(**parameters: Any) -> PrivateKernelClassifier:
    return PrivateKernelClassifier(100.0, bounds=(0, 1), classes=(0, 1), **parameters)


class TestTools:
    def test_only_what_has_probabilities_shows_them(self) -> None:
        for loss in ("hinge", "squared", "nonsense"):
            assert not hasattr(classifier(loss=loss), "predict_proba")
        assert classifier(loss="logistic").fit(INPUTS, CLASSES).predict_proba(INPUTS).shape == (300, 2)

    @pytest.mark.parametrize("loss", ["hinge", "logistic"])
    def test_partial_dependence(self, loss: str) -> None:
        fitted = classifier(loss=loss).fit(INPUTS, CLASSES)
        (average,) = partial_dependence(fitted, INPUTS, [0], grid_resolution=5)["average"]
        assert average[-1] > average[0]

    @pytest.mark.filterwarnings("ignore::dpfda.errors.RepeatedReleaseWarning")
    def test_one_against_rest(self) -> None:
        three = (3 * INPUTS[:, 0]).astype(int)
        fitted = OneVsRestClassifier(classifier()).fit(INPUTS, three)
        assert set(fitted.predict(INPUTS)) <= {0, 1, 2}
        assert fitted.score(INPUTS, three) > 0.6

    def test_a_point_that_is_none_is_refused_or_has_no_features(self) -> None:
        lost = np.array([[0.9, np.nan]])
        with pytest.raises(ValueError, match="missing"):
            classifier().fit(INPUTS, CLASSES).predict(lost)
        reading = Reading(invalid="repair")
        fitted = classifier(loss="logistic", reading=reading).fit(INPUTS, CLASSES)
        assert fitted.decision_function(lost).tolist() == [0.0]
        assert fitted.predict_proba(lost).tolist() == [[0.5, 0.5]]
        machine = PrivateKernelRegressor(1.0, bounds=(0, 1), target_bounds=(2, 6), reading=reading)
        assert machine.fit(INPUTS, CLASSES + 3.0).predict(lost).tolist() == [4.0]

    def test_scores_in_a_frame(self) -> None:
        fpca = PrivateFPCA(10.0, n_components=2, **CURVES_OF_TEN).set_output(transform="pandas")
        scores = fpca.fit_transform(pd.DataFrame(CURVES, index=range(5, 45)))
        assert list(scores.columns) == ["privatefpca0", "privatefpca1"]
        assert list(scores.index) == list(range(5, 45))
        assert list(fpca.get_feature_names_out()) == list(scores.columns)

    def test_columns_of_other_names_are_refused(self) -> None:
        frame = pd.DataFrame(CURVES, columns=[f"c{i}" for i in range(9)])
        fpca = PrivateFPCA(1.0, n_components=1, **CURVES_OF_TEN).fit(frame)
        with pytest.raises(ParameterError, match="feature names should match"):
            fpca.transform(frame.rename(columns={"c0": "other"}))

    @pytest.mark.filterwarnings("ignore::dpfda.errors.FittedStepWarning")
    @pytest.mark.filterwarnings("ignore::dpfda.errors.RepeatedReleaseWarning")
    def test_a_transformer_is_handed_the_labels_of_a_pipeline(self) -> None:
        make_pipeline(PrivateFPCA(1.0, n_components=1, **CURVES_OF_TEN), classifier()).fit(
            CURVES, np.arange(40) % 2
        )

    @pytest.mark.filterwarnings("ignore::dpfda.errors.FittedStepWarning")
    @pytest.mark.filterwarnings("ignore::dpfda.errors.RepeatedReleaseWarning")
    def test_groups_are_routed(self) -> None:
        groups, labels = np.arange(40) // 2, np.arange(40) % 2
        with config_context(enable_metadata_routing=True):
            line = make_pipeline(
                PrivateFPCA(1.0, n_components=1, **CURVES_OF_TEN).set_fit_request(groups=True),
                classifier().set_fit_request(groups=True),
            ).fit(CURVES, labels, groups=groups)
        for step in (line[0], line[1]):
            assert step.release_.unit == "group"
