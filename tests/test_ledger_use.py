"""No release forgets its ledger, no search outruns its budget, nothing that was charged is lost."""

import json
import pickle
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from typer.testing import CliRunner

from dpfda import Domain, PrivateComparison, PrivateCovariance, PrivateMean
from dpfda.bounds import L2Ball
from dpfda.covariance.strategies import Center
from dpfda.errors import (
    BudgetError,
    DpfdaError,
    FittedStepWarning,
    LedgerError,
    ParameterError,
    RepeatedReleaseWarning,
    StorageError,
)
from dpfda.front.app import app
from dpfda.mean.settings import TwoLooks
from dpfda.privacy.guarantees import ApproximateDP, PureDP
from dpfda.privacy.ledger import Ledger, MemoryLedger
from dpfda.releases.function import ReleasedFunction
from dpfda.tuning import private_selection
from ledger_processes import ENTRY

GRID = np.linspace(0.0, 1.0, 12)
CURVES = np.sin(3 * GRID) * np.linspace(-1, 1, 40)[:, None]


class Scored(PrivateMean):
    """A mean with a scorer of its own."""

    def score(self, X, y=None):
        return -float(np.mean((X - self.release_(GRID)) ** 2))


def mean(ledger=None, epsilon=0.1, **settings):
    account = ledger.of("scans") if hasattr(ledger, "of") else ledger
    made = {"bounds": L2Ball(1.0), "grid_points": GRID, "ledger": account}
    return Scored(epsilon, **{**made, **settings})


def epsilon_of(ledger):
    return ledger.spent("scans")["epsilon"]


@pytest.fixture(params=["file", "memory"])
def ledger(request, tmp_path):
    made = Ledger(tmp_path / "b.ledger") if request.param == "file" else MemoryLedger()
    return made.create("scans", PureDP(1))


@pytest.fixture
def named(tmp_path, monkeypatch):
    monkeypatch.setenv("DPFDA_LEDGER", str(tmp_path / "named.ledger"))
    monkeypatch.setenv("DPFDA_DATASET", "scans")
    return Ledger(tmp_path / "named.ledger").create("scans", PureDP(3))


# --- searches ---


def test_a_search_with_a_ledger_is_refused_before_its_first_charge(ledger):
    for search in (
        lambda: cross_val_score(mean(ledger), CURVES, cv=5, error_score="raise"),
        lambda: cross_validate(mean(ledger), CURVES, cv=5, error_score="raise"),
        lambda: GridSearchCV(mean(ledger), {"epsilon": [0.1, 0.2]}, error_score="raise").fit(CURVES),
        lambda: cross_val_score(make_pipeline(mean(ledger)), CURVES, cv=2, error_score="raise"),
    ):
        with pytest.raises(LedgerError, match=r"all of them must be charged before the first"):
            search()
        assert epsilon_of(ledger) == 0
    # One fit of a clone, or in a pipeline, is one release.
    clone(mean(ledger)).fit(CURVES)
    make_pipeline(FunctionTransformer(), mean(ledger)).fit(CURVES)
    assert epsilon_of(ledger) == Fraction(2, 10)


def test_a_search_draws_on_a_reservation(ledger):
    with pytest.raises(BudgetError, match=r"All 11 .* its budget, epsilon 1; found that 10 do"):
        ledger.reserve("scans", PureDP("0.1"), times=11)
    assert epsilon_of(ledger) == 0
    assert len(ledger.history()) == 1
    reserved = ledger.reserve("scans", PureDP("0.1"), times=7)
    assert epsilon_of(ledger) == Fraction(7, 10)
    search = GridSearchCV(mean(reserved), {"epsilon": [0.05, 0.1]}, cv=3).fit(CURVES)
    assert np.isfinite(search.best_score_)
    assert reserved.left == 0
    assert epsilon_of(ledger) == Fraction(7, 10)
    with pytest.raises(
        BudgetError, match="All 7 releases reserved from 'scans' are made; found one more"
    ):
        mean(reserved).fit(CURVES)
    ledger.check()


def test_a_reservation_is_for_what_was_reserved(ledger):
    reserved = ledger.reserve("scans", PureDP("0.1"), times=2, unit="record")
    for charge, words in (
        (lambda: mean(reserved, 0.2).fit(CURVES), "must cost at most what was reserved for one"),
        (lambda: mean(reserved, neighbours="add-remove").fit(CURVES), "found 'scans' for add-remove"),
        (lambda: mean(reserved, unit="person").fit(CURVES), "per record; found .* per person"),
        (
            lambda: mean(reserved, delta=1e-6, mechanism="gaussian").fit(CURVES),
            "must cost at most what was reserved",
        ),
    ):
        with pytest.raises(BudgetError, match=words):
            charge()
    assert reserved.left == 2
    with pytest.raises(LedgerError, match=r"would be taken twice\. Run the search with n_jobs=1"):
        pickle.dumps(reserved)
    for times in (0, True, 1.0, 10**9):
        with pytest.raises(ParameterError, match="times must be an integer from 1 to 10000"):
            ledger.reserve("scans", PureDP("0.1"), times=times)


def test_each_release_of_a_reservation_is_noted_on_its_row(ledger):
    reserved = ledger.reserve("scans", PureDP("0.1"), times=3)
    assert [row["release"] for row in ledger.releases()] == [None] * 3
    made = [mean(reserved, epsilon).fit(CURVES).release_ for epsilon in (0.1, 0.05)]
    listed = ledger.releases()
    assert [row["release"] for row in listed] == [*(m.certificate.identity for m in made), None]
    assert [row["cost"] for row in listed] == ["epsilon 0.1"] * 3
    assert "mean" in listed[0]["what"]
    assert "reserved" in listed[2]["what"]
    ledger.check()


def test_a_reservation_without_a_unit_takes_that_of_the_first_release(ledger):
    reserved = ledger.reserve("scans", PureDP("0.1"), times=3)
    mean(reserved, unit="person").fit(CURVES)
    assert ledger.budget("scans").unit == "person"
    assert {row["unit"] for row in ledger.releases()} == {"person"}
    with pytest.raises(BudgetError, match="must be 'person'"):
        mean(reserved).fit(CURVES)
    assert reserved.left == 2
    # Another release comes first: the reservation is held to its unit.
    ledger.create("loads", PureDP(1))
    waiting = ledger.reserve("loads", PureDP("0.1"), times=1)
    mean(ledger).set_params(ledger=ledger.of("loads")).fit(CURVES)
    with pytest.raises(BudgetError, match="must be 'record'"):
        mean(waiting, unit="person").fit(CURVES)
    assert waiting.left == 1


def test_what_fails_before_noise_takes_no_row_of_a_reservation(ledger, monkeypatch):
    reserved = ledger.reserve("scans", PureDP("0.1"), times=2)
    for wrong in ({"bounds": (1, 0)}, {"mechanism": "laplas"}, {"epsilon": "0,1"}, {"delta": 2}):
        with pytest.raises(DpfdaError):
            mean(reserved).set_params(**wrong).fit(CURVES)
    with pytest.raises(DpfdaError):
        mean(reserved).fit(CURVES * np.nan)
    assert reserved.left == 2

    def broken(size):
        raise OSError("no entropy")

    with monkeypatch.context() as patch:
        patch.setattr("dpfda.numerics.exactness.os.urandom", broken)
        with pytest.raises(OSError, match="no entropy"):
            mean(reserved).fit(CURVES)
    # Noise may have been seen: the row is gone, and the rest is left to take.
    assert reserved.left == 1
    mean(reserved).fit(CURVES)
    assert epsilon_of(ledger) == Fraction(2, 10)


def test_repeated_fits_without_a_ledger_are_warned_about_in_one_line(monkeypatch):
    monkeypatch.setattr("dpfda.publication.charging.WARNED", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        cross_val_score(mean(), CURVES, cv=5)
    (warning,) = caught
    assert warning.category is RepeatedReleaseWarning
    assert "Each fit of a search or cross-validation is a release" in str(warning.message)
    assert "\n" not in str(warning.message)
    # Fits that are not a search's are not nagged about, however many.
    for _ in range(3):
        mean().fit(CURVES)


def test_a_step_fitted_on_private_data_is_warned_about_in_one_line(monkeypatch):
    monkeypatch.setattr("dpfda.publication.charging.WARNED", set())
    # These learn nothing but the number of columns.
    make_pipeline(FunctionTransformer(), Normalizer(), mean()).fit(CURVES)
    with pytest.warns(FittedStepWarning, match="The steps standardscaler of the pipeline were fitted"):
        make_pipeline(Normalizer(), StandardScaler(), mean()).fit(CURVES)
    make_pipeline(StandardScaler(), mean()).fit(CURVES)


# --- the ledger that is named once ---


def test_the_environment_names_the_ledger_of_every_release(named, monkeypatch):
    mean().fit(CURVES)
    mean().fit(CURVES)
    assert epsilon_of(named) == Fraction(2, 10)
    other = MemoryLedger().create("scans", PureDP(1))
    mean(other).fit(CURVES)
    assert (epsilon_of(named), epsilon_of(other)) == (Fraction(2, 10), Fraction(1, 10))
    with pytest.raises(BudgetError):
        mean(epsilon=5).fit(CURVES)
    monkeypatch.delenv("DPFDA_DATASET")
    with pytest.raises(
        ParameterError, match="dataset must be named, since DPFDA_LEDGER names the ledger"
    ):
        mean().fit(CURVES)
    monkeypatch.delenv("DPFDA_LEDGER")
    mean().fit(CURVES)
    assert epsilon_of(named) == Fraction(2, 10)


def test_a_release_of_several_parts_is_charged_once(named):
    approximate = Ledger(named.path).create("loads", ApproximateDP(3, "1e-5"))
    groups = np.where(np.arange(40) % 2, "a", "b")
    PrivateComparison(0.1, bounds=(-1, 1), domain=Domain(GRID)).fit(CURVES, groups)
    assert epsilon_of(named) == Fraction(1, 10)
    PrivateCovariance(0.1, center=Center("private", radius=0.4), bounds=(-1, 1)).fit(CURVES)
    assert epsilon_of(named) == Fraction(2, 10)
    PrivateMean(1, 1e-6, bounds=(-1, 1), domain=Domain(GRID), mechanism=TwoLooks(), ledger="loads").fit(
        CURVES
    )
    assert approximate.spent("loads")["epsilon"] == 1
    private_selection(
        [mean()],
        lambda estimator, epsilon: estimator.set_params(epsilon=epsilon).fit(CURVES).release_,
        lambda release: 0.0,
        epsilon="0.3",
    )
    assert epsilon_of(named) == Fraction(5, 10)


# --- the command ---


@pytest.fixture
def curves(tmp_path):
    path = tmp_path / "curves.csv"
    lines = [",".join(f"p_{i}" for i in range(12))]
    path.write_text("\n".join(lines + [",".join(map(repr, row)) for row in CURVES.tolist()]) + "\n")
    return path


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])


def released(run, curves, out, *more):
    return run("mean", curves, "--epsilon", "1", "--bounds", -2, 2, "--out", out, *more)


def test_the_command_charges_the_ledger_of_the_environment_and_says_so(run, curves, named):
    answer = released(run, curves, "a.json")
    assert answer.exit_code == 0, answer.output
    assert (
        f"The release will be charged to 'scans' in {named.path}, as DPFDA_LEDGER says." in answer.stderr
    )
    assert epsilon_of(named) == 1
    # The demo's data are public.
    assert run("demo", "--out", "demo").exit_code == 0
    assert epsilon_of(named) == 1


def test_show_lists_what_was_charged(run, curves, named):
    released(run, curves, "a.json")
    named.charge("scans", PureDP("0.5"), {**ENTRY, "summary": "mean curve"})
    shown = run("ledger", "show", named.path).stdout.splitlines()
    assert shown[0].startswith("scans: epsilon 1.5 left of 3-differential privacy")
    assert re.match(r"  row +when \(UTC\) +what +unit +cost +file", shown[2])
    assert re.match(r"  2 +20\d\d-\d\d-\d\d \d\d:.* mean curve +record +epsilon 1 +/.*a\.json", shown[3])
    assert re.match(r"  4 .* epsilon 0\.5 +none noted: charged, perhaps not written", shown[4])
    listed = json.loads(run("ledger", "show", named.path, "--json").stdout)["scans"]["releases"]
    assert [row["number"] for row in listed] == [2, 4]
    assert listed[1]["file"] is None


def test_a_budget_is_raised_with_a_reason(run, named):
    words = ("ledger", "raise", named.path, "--dataset", "scans", "--epsilon", "4")
    assert run(*words).exit_code == 2
    assert run(*words, "--reason", "second wave", "--who", "Dr. Okafor").exit_code == 0
    assert named.remaining("scans")["epsilon"] == 4
    assert named.history()[-1].details == {"reason": "second wave", "who": "Dr. Okafor"}
    assert run(*words[:-1], "5", "--reason", "third wave").exit_code == 0
    told = run("ledger", "show", named.path).stdout.splitlines()[-2:]
    assert re.fullmatch(
        r"  row 2, 20.* \(UTC\): raised to epsilon 4 by Dr\. Okafor: second wave", told[0]
    )
    assert told[1].endswith("raised to epsilon 5 by nobody named: third wave")
    listed = json.loads(run("ledger", "show", named.path, "--json").stdout)["scans"]["raises"]
    found = [(row["number"], row["budget"], row["who"], row["reason"]) for row in listed]
    assert found == [
        (2, "epsilon 4", "Dr. Okafor", "second wave"),
        (3, "epsilon 5", None, "third wave"),
    ]
    assert run(*words[:-1], "2", "--reason", "less").exit_code == 2


def failing_at(monkeypatch, *names):
    """Releases cannot be written to files of these names."""
    real = ReleasedFunction.save

    def save(self, path, overwrite=False):
        if path.name in names:
            raise StorageError(f"{str(path)!r} could not be written: No space left on device.")
        return real(self, path, overwrite)

    monkeypatch.setattr(ReleasedFunction, "save", save)


def test_a_release_that_could_not_be_written_is_kept_and_recovered(
    run, curves, named, monkeypatch, tmp_path
):
    failing_at(monkeypatch, "a.json")
    failed = released(run, curves, "a.json")
    kept = tmp_path / "a.row-2.json"
    assert failed.exit_code == 1
    assert f"No space left on device. The release counts, and is kept in {str(kept)!r}" in failed.stderr
    assert "Running again would be a second release." in failed.stderr
    words = re.search(r"with: dpfda (ledger recover .*)", failed.stderr)[1].split()
    assert named.releases()[0]["file"] == str(kept)
    assert run(*words).exit_code == 0
    assert (tmp_path / "a.json").read_text() == kept.read_text()
    assert named.releases()[0]["file"] == str(tmp_path / "a.json")
    assert epsilon_of(named) == 1
    refused = run(*words)
    assert refused.exit_code == 2
    assert "must be a new file" in refused.stderr or "be another file" in refused.stderr


def test_what_cannot_be_recovered_says_why(run, named, tmp_path):
    named.charge("scans", PureDP("0.5"), ENTRY)
    for row, words in ((1, "ROW must be a charge"), (2, "is lost: its noise cannot be drawn again")):
        refused = run("ledger", "recover", named.path, row, "a.json")
        assert refused.exit_code == 2
        assert words in refused.stderr
    named.note_file("scans", tmp_path / "gone.json")
    assert run("ledger", "recover", named.path, 2, "a.json").exit_code == 2
    assert not (tmp_path / "a.json").exists()
