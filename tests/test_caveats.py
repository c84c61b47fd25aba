"""A release says what its guarantee does not cover: searches, ensembles, steps fitted on its data."""

import copy
import json
import pickle
import re
import warnings
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, PolynomialFeatures, StandardScaler
from typer.testing import CliRunner

from dpfda import PrivateFPCA, PrivateKernelClassifier, PrivateKernelRegressor, PrivateMean, load
from dpfda.covariance.strategies import Center
from dpfda.errors import BudgetError, NotCoveredError, ParameterError, StorageError
from dpfda.front.app import app
from dpfda.front.interop.dp_accounting import event
from dpfda.privacy.caveats import ENSEMBLE, SEARCH, STEPS, Caveat
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.releases.pages import card, registry_entry, report_page
from dpfda.releases.plain import plain
from dpfda.tuning import private_selection
from dpfda.views.page import to_fragment, to_html
from sample_releases import KINDS
from test_file_format import SCHEMA

pytestmark = [
    pytest.mark.usefixtures("few_draws"),
    pytest.mark.filterwarnings("ignore::dpfda.errors.RepeatedReleaseWarning"),
    pytest.mark.filterwarnings("ignore::dpfda.errors.FittedStepWarning"),
]

GRID = np.linspace(0.0, 1.0, 12)
CURVES = np.sin(3 * GRID) * np.linspace(-1, 1, 80)[:, None]
CLASSES = np.arange(80) % 2
SEARCHED = "not covering the search it was made in"
MISSING = "the search it was made in is not covered"


class Scored(PrivateMean):
    """A mean with a scorer of its own: by private records, as scikit-learn's are."""

    def score(self, X, y=None):
        return -float(np.mean((X - self.release_(GRID)) ** 2))


def mean(epsilon=1.0, **more):
    return Scored(epsilon, bounds=(-1, 1), grid_points=GRID, **more)


def search(estimator=None, epsilons=(0.25, 0.5, 0.75, 1.0), **more):
    """A search of 16 fits, and one more for refitting."""
    made = GridSearchCV(mean() if estimator is None else estimator, {"epsilon": epsilons}, cv=4, **more)
    return made.fit(CURVES)


@pytest.fixture(scope="module")
def refitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search().best_estimator_.release_


def kinds(release):
    return [caveat.kind for caveat in release.certificate.caveats]


def inside_a_search(make):
    """What `make` gives while scikit-learn scores some other estimator."""
    made = []

    def scorer(*_):
        made.append(make())
        return 0.0

    cross_val_score(DummyRegressor(), CURVES, CLASSES, cv=2, scoring=scorer)
    return made[0]


# --- searches ---


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_refit_of_a_search_knows_how_many_fits_were_before_it(jobs):
    with warnings.catch_warnings():
        # Workers warn by themselves.
        warnings.simplefilter("ignore")
        release = search(n_jobs=jobs).best_estimator_.release_
    assert release.certificate.caveats == (Caveat(SEARCH, 17),)


def test_a_refit_says_so_in_the_first_lines_of_all_that_is_made_of_it(refitted, tmp_path):
    head = refitted.describe().splitlines()
    assert head[0] == "Not covered by the promise"
    assert " ".join(head[2:]).startswith(
        f"Made inside a search or cross-validation, beside at least 16 other fits of its estimator: "
        f"{MISSING}. "
    )
    assert SEARCHED in repr(refitted).splitlines()[1]
    for text in (refitted.facts.citation, refitted.view().subtitle, refitted.facts.warnings[0]):
        assert SEARCHED in text or MISSING in text
    assert refitted.facts["caveats"] == [
        {"kind": "search", "count": 17, "words": str(refitted.certificate.caveats[0])}
    ]
    assert SEARCHED in to_fragment(card(refitted))[:600]
    page = to_html(report_page({"a": refitted}))
    body = re.sub(r"<[^>]+>", "", page[page.index("<body") :])
    assert SEARCHED in body[:600]
    path = refitted.save(tmp_path / "a.json")
    written = json.loads(path.read_text())
    assert list(written)[:3] == ["format", "schema_version", "caveats"]
    assert SEARCHED in written["words"]["promise"]
    Draft202012Validator(SCHEMA).validate(written)
    told = CliRunner().invoke(app, ["show", str(path)])
    assert told.stdout.startswith("Not covered by the promise")
    assert MISSING in " ".join(told.stdout.split()[:40])


def test_what_adds_up_refuses_it_and_says_what_to_do(refitted, tmp_path):
    plain = mean().fit(CURVES).release_
    assert compose([plain]) == PureDP(1)
    words = (
        r"made inside a search .*a sum|A sum that counts it as one release would be too small\. Fit once"
    )
    for add in (
        lambda: compose([refitted]),
        lambda: compose([refitted], delta=1e-6),
        lambda: event(refitted),
        lambda: registry_entry([refitted]),
    ):
        with pytest.raises(NotCoveredError, match=words) as caught:
            add()
        assert caught.value.caveats == (Caveat(SEARCH, 17),)
    with pytest.raises(
        NotCoveredError, match="Release 2 of 2 must be no more than its guarantee covers"
    ):
        compose([plain, refitted])
    files = [str(made.save(tmp_path / name)) for made, name in ((plain, "a.json"), (refitted, "b.json"))]
    composed = CliRunner().invoke(app, ["compose", *files])
    assert composed.exit_code == 2
    assert MISSING in composed.stderr
    assert composed.stdout == ""


def test_a_report_of_several_gives_no_sum_and_says_of_which(refitted, tmp_path):
    releases = {"plain.json": mean().fit(CURVES).release_, "best.json": refitted}
    told = re.sub(r"<[^>]+>", "", to_html(report_page(releases)))
    assert "No sum is given: the guarantee of best.json does not cover all that was done." in told
    assert "Together these releases" not in told


@pytest.mark.parametrize(
    "fit",
    [
        lambda: cross_validate(mean(), CURVES, cv=3, return_estimator=True)["estimator"],
        lambda: cross_validate(make_pipeline(mean()), CURVES, cv=3, return_estimator=True)["estimator"],
        lambda: [
            RandomizedSearchCV(mean(), {"epsilon": [0.5, 1.0]}, n_iter=2, cv=2)
            .fit(CURVES)
            .best_estimator_
        ],
        lambda: cross_validate(
            GridSearchCV(mean(), {"epsilon": [0.5, 1.0]}, cv=2), CURVES, cv=2, return_estimator=True
        )["estimator"],
    ],
)
def test_every_fit_of_a_search_says_so(fit):
    for made in fit():
        last = made[-1] if hasattr(made, "steps") else getattr(made, "best_estimator_", made)
        assert kinds(last.release_) == [SEARCH]


def test_fits_of_a_learning_curve_say_so():
    seen = []

    def scorer(estimator, X, y=None):
        seen.append(estimator.release_)
        return 0.0

    learning_curve(mean(), CURVES, None, train_sizes=[20, 40], cv=2, scoring=scorer)
    # Scored on what they were fitted on, and on the rest.
    assert [kinds(release) for release in seen] == [[SEARCH]] * 8


def test_a_meta_estimator_that_fits_several_times_says_so():
    machine = PrivateKernelClassifier(1.0, bounds=(-1, 1), classes=(0, 1))
    fitted = OneVsRestClassifier(machine).fit(CURVES, np.arange(80) % 3)
    assert [kinds(one.release_) for one in fitted.estimators_] == [[ENSEMBLE]] * 3
    assert [one.release_.certificate.caveats[0].count for one in fitted.estimators_] == [1, 2, 3]
    assert "not covering the other fits it was made with" in repr(fitted.estimators_[2].release_)
    regressor = PrivateKernelRegressor(1.0, bounds=(-1, 1), target_bounds=(0, 1))
    bag = BaggingRegressor(regressor, n_estimators=2).fit(CURVES, CLASSES)
    assert [kinds(one.release_) for one in bag.estimators_] == [[ENSEMBLE]] * 2


def test_a_reserved_search_is_charged_whole_and_still_says_so():
    ledger = MemoryLedger().create("scans", PureDP(17))
    with pytest.raises(BudgetError, match=r"All 18 releases .* must fit"):
        ledger.reserve("scans", PureDP(1), times=18)
    assert ledger.spent("scans")["epsilon"] == 0
    reserved = ledger.reserve("scans", PureDP(1), times=17)
    best = search(mean(ledger=reserved), epsilons=(0.25, 0.5, 0.75, 1.0)).best_estimator_
    assert ledger.spent("scans")["epsilon"] == Fraction(17)
    assert reserved.left == 0
    # The fits are paid for; the scores, computed from private records, are not.
    assert best.release_.certificate.caveats == (Caveat(SEARCH, 17),)


# --- steps before ---


def machine():
    return PrivateKernelClassifier(1.0, bounds=(-1, 1), classes=(0, 1))


class Keeps(FunctionTransformer):
    """A step that learns nothing."""


UNION = FeatureUnion([("same", FunctionTransformer()), ("scaled", StandardScaler())])
COLUMNS = ColumnTransformer([("scaled", StandardScaler(), [0, 1]), ("same", "passthrough", [2, 3])])
HARMLESS = ColumnTransformer([("unit", Normalizer(), [0, 1])], remainder="passthrough")
PREFITTED = FrozenEstimator(make_pipeline(StandardScaler(), PCA(4)).fit(CURVES[::2]))


@pytest.mark.parametrize(
    ("steps", "count"),
    [
        ((StandardScaler(),), 1),
        ((SimpleImputer(), PCA(3)), 2),
        ((UNION,), 1),
        ((COLUMNS,), 1),
        ((make_pipeline(Normalizer(), StandardScaler()), PCA(3)), 2),
        ((Keeps(), Normalizer()), 0),
        ((PolynomialFeatures(1),), 0),
        ((HARMLESS,), 0),
        ((FeatureUnion([("same", FunctionTransformer())]),), 0),
        ((PREFITTED,), 0),
    ],
    ids=lambda value: (
        None if isinstance(value, int) else "-".join(type(step).__name__ for step in value)
    ),
)
def test_steps_that_learned_from_the_data_are_counted(steps, count):
    release = make_pipeline(*steps, machine()).fit(CURVES, CLASSES)[-1].release_
    assert release.certificate.caveats == ((Caveat(STEPS, count),) if count else ())
    outer = make_pipeline(FunctionTransformer(), make_pipeline(*steps, machine()))
    assert outer.fit(CURVES, CLASSES)[-1][-1].release_.certificate.caveats == release.certificate.caveats


def test_steps_around_a_pipeline_or_a_search_are_counted_too():
    outer = make_pipeline(StandardScaler(), make_pipeline(PCA(3), machine())).fit(CURVES, CLASSES)
    assert outer[-1][-1].release_.certificate.caveats == (Caveat(STEPS, 2),)
    searched = GridSearchCV(machine(), {"epsilon": [0.5, 1.0]}, cv=2)
    outer = make_pipeline(StandardScaler(), searched).fit(CURVES, CLASSES)
    release = outer[-1].best_estimator_.release_
    assert release.certificate.caveats == (Caveat(SEARCH, 5), Caveat(STEPS, 1))
    assert (
        "not covering the search it was made in and what steps before it learned from the same data"
        in repr(release)
    )


def test_a_target_that_was_scaled_by_the_data_is_told():
    def fitted(**transformed):
        regressor = PrivateKernelRegressor(1.0, bounds=(-1, 1), target_bounds=(-2, 2))
        made = TransformedTargetRegressor(regressor, **transformed).fit(CURVES, CURVES[:, 3])
        return kinds(made.regressor_.release_)

    assert fitted(transformer=StandardScaler()) == [STEPS]
    assert fitted(func=np.tanh, inverse_func=np.arctanh, check_inverse=False) == []


def test_a_scaled_release_says_so_and_does_not_add_up(tmp_path):
    ledger = MemoryLedger().create("scans", PureDP(2))
    made = machine().set_params(ledger=ledger.of("scans"))
    release = make_pipeline(StandardScaler(), made).fit(CURVES, CLASSES)[-1].release_
    told = " ".join(release.describe().split())
    assert told.startswith("Not covered by the promise")
    assert "through a step fitted on the same data: what steps before it learned" in told[:200]
    with pytest.raises(NotCoveredError, match=r"sklearn\.frozen\.FrozenEstimator"):
        compose([release])
    (row,) = ledger.releases("scans")
    assert row["what"].endswith(", not covering what steps before it learned from the same data")
    # Entries of others may hold what they like.
    for odd in ("none", [{"kind": "free text", "count": 1}], [{}]):
        entry = {"neighbours": "replace-one", "privacy_unit": "record", "summary": "own", "caveats": odd}
        ledger.charge("scans", PureDP("0.1"), entry)
    assert [row["what"] for row in ledger.releases("scans")[1:]] == ["own"] * 3


def test_a_pipeline_that_was_fitted_before_counts_steps_before_the_summary_alone():
    components = PrivateFPCA(1.0, bounds=(-1, 1), n_components=2, center=Center(0.0, radius=1.0))
    made = make_pipeline(FunctionTransformer(), components, StandardScaler(), machine())
    for _ in range(2):
        made.fit(CURVES, CLASSES)
        assert kinds(made[1].release_) == []
        assert made[-1].release_.certificate.caveats == (Caveat(STEPS, 1),)


# --- where there is nothing to say ---


def test_a_release_of_one_fit_has_no_caveats(tmp_path):
    estimator, searched = mean(), search()
    for release in (
        estimator.fit(CURVES).release_,
        # Another release, with a certificate of its own.
        estimator.fit(CURVES).release_,
        # What a search of public data chose, fitted once by the user.
        searched.best_estimator_.fit(CURVES).release_,
        mean(**searched.best_params_).fit(CURVES).release_,
    ):
        assert release.certificate.caveats == ()
        assert "ot cover" not in repr(release) + release.facts.citation + release.view().subtitle
        assert not release.describe().startswith("Not covered")
        assert "caveats" not in json.loads(release.save(tmp_path / "a.json", overwrite=True).read_text())
    first, second = (estimator.fit(CURVES).release_ for _ in range(2))
    assert compose([first, second]) == PureDP(2)


def test_a_private_selection_is_covered():
    def fit(mechanism, epsilon):
        return mean(epsilon, mechanism=mechanism).fit(CURVES).release_

    chosen = private_selection(["laplace", "knorm"], fit, lambda release: 0.0, 1.0)
    assert chosen.release.certificate.caveats == chosen.certificate.caveats == ()
    assert compose([chosen]) == PureDP(1)
    # But not the search that it runs in.
    made = inside_a_search(lambda: private_selection(["knorm"], fit, lambda release: 0.0, 1.0))
    assert kinds(made) == kinds(made.release) == [SEARCH]


def test_a_search_inside_a_run_of_a_selection_is_not_covered():
    def fit(epsilons, epsilon):
        made = mean(epsilon / 10)
        return (
            GridSearchCV(made, {"mechanism": ["knorm", "laplace"]}, cv=2)
            .fit(CURVES)
            .best_estimator_.release_
        )

    chosen = private_selection([1], fit, lambda release: 0.0, 1.0, expected_runs=1.1)
    assert kinds(chosen) == kinds(chosen.release) == [SEARCH]


# --- all kinds, files and copies ---


def certificates(made):
    """Of a release and of all releases inside it."""
    if hasattr(made, "certificate"):
        yield made.certificate
    for part in (made if isinstance(made, Mapping) else vars(made)).values():
        if hasattr(part, "certificate") or isinstance(part, Mapping):
            yield from certificates(part)


# Two stages are made no more: theirs is read from a file.
@pytest.mark.parametrize("name", sorted({*KINDS} - {"two stages"}))
def test_every_kind_keeps_its_caveats_in_parts_copies_and_files(name, tmp_path):
    release = inside_a_search(KINDS[name])
    for made in (
        release,
        pickle.loads(pickle.dumps(release)),  # noqa: S301
        copy.deepcopy(release),
        load(release.save(tmp_path / "a.json")),
    ):
        found = [[caveat.kind for caveat in each.caveats] for each in certificates(made)]
        assert found
        assert all(each == [SEARCH] for each in found), found
        assert SEARCHED in plain(made, 0.95)["words"]["promise"]
    # Of the last, which was read from its file, all that is told of it.
    assert made.describe().startswith("Not covered by the promise")


@pytest.mark.parametrize(
    "caveats",
    [
        [{"kind": "BUY NOW", "count": 1}],
        [{"kind": "search", "count": 0}],
        [{"kind": "search", "count": "many"}],
        [{"kind": "search", "count": True}],
        [{"kind": ["search"], "count": 1}],
        ["search"],
        "search",
        {"kind": "search", "count": 1},
        None,
    ],
)
def test_a_strangers_file_brings_no_words_of_its_own(refitted, tmp_path, caveats):
    path = refitted.save(tmp_path / "a.json")
    written = json.loads(path.read_text())
    path.write_text(json.dumps(written | {"caveats": caveats}))
    with pytest.raises(StorageError) as caught:
        load(path)
    assert "BUY" not in str(caught.value)


def test_words_of_a_file_are_not_read_back(refitted, tmp_path):
    path = refitted.save(tmp_path / "a.json")
    written = json.loads(path.read_text())
    written["caveats"][0]["words"] = "covered after all"
    path.write_text(json.dumps(written))
    assert "covered after all" not in load(path).describe()
    assert load(path).certificate == refitted.certificate


def test_a_caveat_is_of_a_known_kind_and_counts_something():
    for kind, count in (("other", 1), (SEARCH, 0), (SEARCH, 1.5)):
        with pytest.raises(ParameterError, match=r"(kind|count) must"):
            Caveat(kind, count)
    assert "beside at least 1 other fit of its" in str(Caveat(SEARCH, 2))
    assert "beside" not in str(Caveat(SEARCH, 1))
    assert "through 2 steps fitted" in str(Caveat(STEPS, 2))
