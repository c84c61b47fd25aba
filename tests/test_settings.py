"""Parameters gathered in objects: checked when made, read by scikit-learn, few in each estimator."""

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import Matern
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import dpfda
from dpfda import (
    Domain,
    PrivacyUnit,
    PrivateComparison,
    PrivateCovariance,
    PrivateCurveClusters,
    PrivateCurveSampler,
    PrivateDensity,
    PrivateEqualityTest,
    PrivateFPCA,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    PrivateQuantiles,
    PrivateScalarOnFunction,
    PrivateScoreCurves,
    PrivateSurvival,
    Reading,
)
from dpfda.covariance.strategies import Center, Exponential, MatrixNoise
from dpfda.errors import DataError, OrientationError, ParameterError
from dpfda.machines.plan import Features, Solving
from dpfda.spine.estimator import Estimator

GRID = np.linspace(0.0, 3.0, 7)
CURVES = np.sin(GRID) + np.linspace(-0.2, 0.2, 40)[:, None]
SUMMARIES: list[type[Estimator]] = [
    PrivateMean,
    PrivateComparison,
    PrivateEqualityTest,
    PrivateCovariance,
    PrivateFPCA,
    PrivateDensity,
    PrivateQuantiles,
    PrivateKernelRegressor,
    PrivateKernelClassifier,
    PrivateScalarOnFunction,
    PrivateCurveSampler,
    PrivateCurveClusters,
]
MADE: list[Any] = [
    Domain(GRID, (0, 3), labels={"domain": "hour"}),
    Domain(domain_range=[(0, 1), (0, 2)]),
    PrivacyUnit("person", "add-remove", 20),
    Reading("complete", "repair", 0.1, True),
    Center("private", 0.3, 0.4),
    MatrixNoise("gaussian", 4, "none"),
    Exponential(3, 0.4),
    Features("fourier", Matern(0.3), 8, 1),
    Solving("sums", 0.1),
]


def test_the_root_has_few_names_and_all_of_them_are_there():
    # One name for each summary; beside these, what every summary shares.
    summaries = {name for name in dpfda.__all__ if name.startswith("Private")}
    shared = {"release_function", "Session", "Ledger", "load", "Domain", "PrivacyUnit", "Reading"}
    assert set(dpfda.__all__) - summaries == shared
    assert set(dpfda.__all__) <= set(dir(dpfda))
    assert {kind.__name__ for kind in SUMMARIES} <= set(dpfda.__all__)
    with pytest.raises(AttributeError, match="no attribute 'TwoStageMean'"):
        dpfda.TwoStageMean  # noqa: B018


@pytest.mark.parametrize("kind", SUMMARIES)
def test_an_estimator_has_at_most_twelve_parameters_the_budget_first(kind):
    # Fields of the objects, by their own names, are no parameters of the estimator.
    names = list(inspect.signature(kind).parameters)
    assert set(names) == set(kind(1.0).get_params(deep=False))
    assert len(names) <= 12
    assert names[:2] == ["epsilon", "delta"]
    assert {"domain", "unit", "reading", "ledger"} <= set(names)
    shown = {word for line in kind.__doc__.splitlines() for word in line.strip().split(", ")}
    documented = {word.split(" : ")[0] for word in shown}
    assert set(names) <= documented


class TestFieldsByTheirOwnNames:
    def test_they_make_the_objects(self):
        made = PrivateMean(
            1.0, bounds=(0, 1), grid_points=GRID, neighbours="add-remove", kernel=Matern(0.3)
        )
        assert made.get_params(deep=False) == {
            **PrivateMean(1.0, bounds=(0, 1)).get_params(deep=False),
            "basis": Matern(0.3),
            "domain": Domain(GRID),
            "unit": PrivacyUnit(neighbours="add-remove"),
        }
        assert repr(clone(made)) == repr(made)

    def test_they_complete_an_object_that_is_given(self):
        made = PrivateMean(1.0, bounds=(0, 1), domain=(0, 4), grid_points=GRID, unit="person")
        assert made.domain == Domain(GRID, (0, 4))
        assert made.unit == "person"

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"grid_pionts": GRID}, "found 'grid_pionts'. Did you mean grid_points?"),
            ({"speed": 1}, "A parameter of PrivateMean must be one of basis, bounds, .*; found 'speed'"),
            ({"missing": "drop"}, "missing must be one of 'refuse', 'complete', 'pooled'; found 'drop'"),
            ({"basis": Matern(0.3), "kernel": Matern(0.3)}, "kernel must be given as basis alone"),
            ({"public_size": 0}, "public_size must be a positive integer; found 0"),
        ],
    )
    def test_others_are_refused(self, fields, words):
        with pytest.raises(ParameterError, match=words):
            PrivateMean(1.0, bounds=(0, 1), **fields)

    def test_bounds_of_points_are_their_domain(self):
        with pytest.raises(ParameterError, match=r"found 'bounds'\. Did you mean domain\?"):
            PrivateDensity(1.0, bounds=(0, 1))
        # Where that is no parameter, what is most like it.
        with pytest.raises(ParameterError, match=r"found 'bounds'\. Did you mean score_bounds\?"):
            PrivateScoreCurves(1.0, bounds=(0, 1))

    @pytest.mark.parametrize("path", ["scans.csv", Path("scans.csv")])
    def test_a_path_is_no_record(self, path):
        with pytest.raises(DataError, match=r"found a text or a path\. Read the file first"):
            PrivateMean(1.0, bounds=(0, 1)).fit(path)


@pytest.mark.parametrize("made", MADE, ids=lambda made: type(made).__name__)
class TestObjects:
    def test_they_are_frozen_and_equal_to_what_has_the_same_fields(self, made):
        again = type(made)(**made.get_params())
        assert again == made
        assert repr(again) == repr(made)
        assert clone(made) == made
        field, *_ = made.get_params()
        with pytest.raises(AttributeError):
            setattr(made, field, 1)
        assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301

    def test_one_field_is_changed_at_a_time(self, made):
        fields = made.get_params()
        for name, value in fields.items():
            changed = made.but(**{name: value}).get_params()
            assert list(changed) == list(fields)
        assert made != type(made)()
        with pytest.raises(ParameterError, match=f"A parameter of {type(made).__name__} must be one of"):
            made.but(speed=1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Domain([0, 1, 1]), "grid_points must increase strictly; found repeated points"),
        (lambda: Domain(domain_range=(1, 0)), "domain must be finite with a < b"),
        (lambda: Domain([0, 1, 2], (0, 1)), "domain must contain the grid"),
        (lambda: Domain(quadrature="simpson"), "quadrature must be 'trapezoid', 'uniform' or an array"),
        (lambda: Domain([0, 1, 2], quadrature=[1, 1]), "quadrature must be 3 positive finite weights"),
        (lambda: Domain(labels={"x": "t"}), "labels must have the keys 'domain' and 'value'"),
        (lambda: PrivacyUnit(""), "unit must be a word for who is protected, or None; found ''"),
        (lambda: PrivacyUnit(neighbours="swap"), "neighbours must be 'replace-one' or 'add-remove'"),
        (lambda: PrivacyUnit(public_size=2.5), "public_size must be a positive integer; found 2.5"),
        (lambda: PrivacyUnit(public_size={"a": 0}), "public_size must be a positive integer; found 0"),
        (lambda: PrivacyUnit(design_size=0), "design_size must be None or a positive integer; found 0"),
        (
            lambda: Reading(missing="drop"),
            "missing must be one of 'refuse', 'complete', 'pooled'; found 'drop'",
        ),
        (lambda: Reading(invalid=None), "invalid must be one of 'refuse', 'repair'; found None"),
        (lambda: Reading(nugget=-1), "nugget must be a number from 0 to 1e"),
        (lambda: Reading(standardize=1), "standardize must be True or False; found 1"),
        (lambda: MatrixNoise(shrinkage="all"), "shrinkage must be one of 'prior', 'none'"),
        (lambda: Features("deep"), "features must be one of 'auto', 'linear'"),
    ],
)
def test_they_are_checked_when_they_are_made(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_what_is_kept_cannot_be_written_to():
    grid = GRID.copy()
    domain = Domain(grid)
    grid[0] = -9.0
    assert domain.grid_points[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        domain.grid_points[0] = 1.0


class TestEstimators:
    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"domain": "day"}, r"domain must be the ends \(a, b\), a Domain or None; found 'day'"),
            ({"domain": 24}, "domain must be the ends"),
            ({"domain": (0, "b")}, "domain must be"),
            ({"unit": 7}, "unit must be a word for who is protected, or None; found 7"),
            ({"reading": "repair"}, "reading must be a Reading or None; found 'repair'"),
            ({"basis": 3.0}, "basis must be a basis, such as"),
            ({"ledger": "scans"}, "ledger must say which ledger has the data set"),
            ({"ledger": 3}, "ledger must be that of a data set"),
        ],
    )
    def test_what_is_neither_object_nor_shorthand_is_refused(self, given, words, monkeypatch):
        monkeypatch.delenv("DPFDA_LEDGER", raising=False)
        with pytest.raises(ParameterError, match=words):
            PrivateMean(1.0, bounds=(-2, 2), **given).fit(CURVES)

    def test_shorthands_say_what_objects_say(self):
        short = PrivateMean(1.0, bounds=(-2, 2), domain=(0, 3), unit="person").settings
        long = PrivateMean(
            1.0, domain=Domain(domain_range=(0, 3)), unit=PrivacyUnit("person"), reading=Reading()
        ).settings
        assert short == long

    def test_fields_are_parameters(self):
        mean = PrivateMean(1.0, bounds=(-2, 2), domain=Domain(GRID), reading=Reading("complete"))
        found = mean.get_params()
        assert found["domain__grid_points"].tolist() == GRID.tolist()
        assert found["reading__missing"] == "complete"
        before = mean.reading
        mean.set_params(reading__nugget=0.1, unit__neighbours="add-remove", epsilon=2)
        assert mean.reading == Reading("complete", nugget=0.1)
        assert before == Reading("complete")
        assert mean.unit == PrivacyUnit(neighbours="add-remove")
        assert mean.epsilon == 2
        # A shorthand stays what it said.
        short = PrivateMean(1.0, unit="person").set_params(unit__neighbours="add-remove")
        assert short.unit == PrivacyUnit("person", "add-remove")

    def test_unknown_ones_and_those_of_no_object_are_refused(self):
        mean = PrivateMean(1.0)
        with pytest.raises(ParameterError, match="A parameter of Reading must be one of missing"):
            mean.set_params(reading__speed=1)
        with pytest.raises(
            ParameterError, match=r"A parameter of PrivateMean must be one of basis, .*; found 'speed'"
        ):
            PrivateMean(1.0, speed=1)
        assert PrivateKernelRegressor(1.0, solver="sums", penalty=0.1).solver == Solving("sums", 0.1)
        machine = PrivateKernelRegressor(1.0, features=Features("fourier"))
        assert machine.set_params(features__seed=3).features == Features("fourier", seed=3)

    def test_a_clone_is_equal_and_shares_what_is_frozen(self):
        mean = PrivateMean(1.0, bounds=(-2, 2), domain=Domain(GRID), unit=PrivacyUnit("day"))
        copied = clone(mean)
        assert copied.domain is mean.domain
        assert repr(copied) == repr(mean)
        assert copied.fit(CURVES).release_.unit == "day"

    def test_a_search_over_objects_and_over_fields(self, monkeypatch):
        # A process is warned once.
        monkeypatch.setattr("dpfda.publication.charging.WARNED", set())
        grid = {"reading": [Reading(), Reading("complete")], "unit__name": ["day", "record"]}

        class Scored(PrivateMean):
            def score(self, X: Any, y: Any = None) -> float:
                return float(self.settings.reading.missing == "complete") + len(self.unit.name)

        search = GridSearchCV(Scored(1.0, bounds=(-2, 2)), grid, cv=2)
        with pytest.warns(dpfda.errors.RepeatedReleaseWarning):
            search.fit(CURVES)
        assert search.best_params_ == {"reading": Reading("complete"), "unit__name": "record"}
        assert search.best_estimator_.release_.unit == "record"

    def test_two_lines_stay_two_lines(self):
        release = PrivateMean(1.0, bounds=(-2, 2)).fit(CURVES).release_
        assert release.count == 40

    @pytest.mark.filterwarnings("ignore::dpfda.errors.UnreadLabelsWarning")
    def test_scikit_learn_checks_an_estimator_with_objects(self):
        mean = PrivateMean(
            1.0, bounds=(-10, 10), domain=(0, 1), unit=PrivacyUnit("day"), reading=Reading("complete")
        )
        results = check_estimator(mean, on_fail=None, on_skip=None)
        failed = {r["check_name"] for r in results if r["status"] == "failed"}
        # A cell that is no number is a DataError, which never shows the cell.
        assert failed == {"check_dtype_object"}
        assert isinstance(mean, BaseEstimator)


def test_what_is_learned_is_not_there_before_fit():
    mean = PrivateMean(1.0, bounds=(0, 1))
    with pytest.raises(NotFittedError, match="call fit before release_"):
        mean.release_  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'rel'"):
        mean.rel  # noqa: B018
    assert not hasattr(mean, "release_")


def test_the_package_shows_its_public_names_alone():
    assert dir(dpfda) == sorted([*dpfda.__all__, "__version__"])


def test_a_stated_grid_states_the_ends_where_they_are_needed() -> None:
    public = Domain((0, 24), step=1)
    assert public.ends == (0, 24)
    assert Domain(GRID, (0, 4)).ends == (0, 4)
    assert Domain(step=1).ends is None
    for summary in (PrivateDensity, PrivateQuantiles, PrivateSurvival):
        made = summary(1.0, domain=public).fit(np.arange(25.0)).release_
        assert str(made).splitlines()[0].endswith("on [0, 24]")
    with pytest.raises(OrientationError, match=r"its ends alone are Domain\(domain_range=\(a, b\)\)"):
        PrivateMean(1.0, bounds=(0, 1), domain=Domain((0, 24))).fit(np.full((60, 48), 0.5))
