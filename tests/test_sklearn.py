"""scikit-learn's conventions: its own checks, with every expected failure and its reason."""

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import EstimatorCheckFailedWarning, SkipTestWarning
from sklearn.gaussian_process.kernels import Matern
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from dpfda import Domain, PrivacyUnit, PrivateMean, Reading
from dpfda.bounds import L2Ball
from dpfda.errors import ParameterError

CURVES = np.random.default_rng(0).normal(size=(40, 9))

EXPECTED_FAILURES = {
    # It wants numpy's own TypeError for a cell that is no number. Ours is a DataError, a ValueError,
    # because numpy's error would carry the private cell in its traceback.
    "check_dtype_object": "a cell that is no number is a DataError, which never shows the cell",
}
SKIPPED = {
    "check_array_api_input": "wants SCIPY_ARRAY_API to be set in the environment",
    "check_pipeline_consistency": "skipped by scikit-learn for estimators tagged as non-deterministic",
}


class TestChecks:
    @pytest.mark.parametrize(
        "estimator",
        [
            PrivateMean(1.0, bounds=(-10, 10)),
            PrivateMean(1.0, bounds=(-10, 10), delta=1e-6, unit=PrivacyUnit(neighbours="add-remove")),
            PrivateMean(1.0, bounds=(-10, 10), reading=Reading(missing="complete")),
        ],
        ids=["plain", "approximate, add-remove", "missing values"],
    )
    def test_scikit_learns_own(self, estimator: PrivateMean) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EstimatorCheckFailedWarning)
            warnings.simplefilter("ignore", SkipTestWarning)
            results = check_estimator(estimator, expected_failed_checks=EXPECTED_FAILURES, on_fail=None)
        by_status: dict[str, set[str]] = {}
        for result in results:
            by_status.setdefault(result["status"], set()).add(result["check_name"])
        reasons = {r["check_name"]: repr(r["exception"]) for r in results if r["status"] == "failed"}
        assert not reasons
        # The list holds nothing that would pass, or is not checked any more.
        assert by_status["xfail"] == set(EXPECTED_FAILURES)
        assert by_status.get("skipped", set()) <= SKIPPED.keys()
        assert len(by_status["passed"]) > 30

    def test_tags(self) -> None:
        tags = get_tags(PrivateMean(1.0))
        assert tags.non_deterministic
        assert tags.requires_fit
        assert not tags.target_tags.required
        assert not tags.input_tags.allow_nan
        assert not tags.input_tags.sparse
        assert get_tags(PrivateMean(1.0, reading=Reading(missing="complete"))).input_tags.allow_nan
        assert get_tags(PrivateMean(1.0, reading=Reading(invalid="repair"))).input_tags.allow_nan


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
            assert release.mechanism["name"] == parameters["mechanism"]

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

    def test_y_is_ignored(self) -> None:
        estimator = PrivateMean(1.0, bounds=(-9, 9))
        assert estimator.fit(CURVES, y=["anything"] * 3) is estimator
