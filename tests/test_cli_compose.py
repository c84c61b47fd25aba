"""`dpfda compose`: files of releases added up, in words and as JSON."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import PrivateDensity, PrivateMean, load
from dpfda.front.app import app
from dpfda.privacy.composition import Cost, account, compose
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import Ledger

pytestmark = pytest.mark.usefixtures("few_draws")

CURVES = np.sin(np.linspace(0, 3, 12)) + np.linspace(-0.3, 0.3, 40)[:, None]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, ["compose", *map(str, words)])


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mean = PrivateMean(1.0, bounds=(-2, 2), mechanism="knorm").fit(CURVES).release_
    density = PrivateDensity(0.25, domain=(0, 1), unit="record").fit(np.linspace(0, 1, 50)).release_
    mean.save("mean.json")
    density.save("density.json")
    return mean, density


def test_files_add_up_as_releases_do(run, made):
    told = run("mean.json", "density.json")
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("1.25-differential privacy (pure)\n")
    assert "how:        basic composition: epsilons add" in told.stdout
    assert "data sets that differ in one record" in told.stdout
    assert "mean.json: 1-differential privacy (pure)\n  release, a K-norm block" in told.stdout
    assert "density.json: 0.25-differential privacy (pure)\n  release, symmetric noise" in told.stdout
    answer = json.loads(run("mean.json", "density.json", "--delta", "1e-6", "--json").stdout)
    total = compose(made, delta="1e-6")
    assert answer["total"]["exact"] == {"epsilon": str(total.epsilon), "delta": "1/1000000"}
    assert (answer["neighbours"], answer["privacy_unit"]) == ("replace-one", "record")
    assert [part["file"] for part in answer["files"]] == ["mean.json", "density.json"]
    assert answer["files"][1]["costs"][0]["loss"] == {"kind": "laplace", "epsilon": "1/4"}
    concentrated = run("mean.json", "density.json", "--kind", "zero-concentrated")
    assert "zero-concentrated differential privacy" in concentrated.stdout


def test_a_file_named_twice_or_copied_counts_once(run, made):
    shutil.copy("mean.json", "copy.json")
    made[0].derivative().save("slope.json")
    files = ("mean.json", "copy.json", "slope.json", "mean.json", "density.json")
    told = run(*files).stdout
    assert told.startswith("1.25-differential privacy (pure)\n")
    assert "3 of the releases are derivatives, parts or copies of one listed before" in told
    assert told.count("(counted before)") == 3
    parts = json.loads(run(*files, "--json").stdout)["files"]
    assert [part["counted_before"] for part in parts] == [False, True, True, True, False]


def test_a_sessions_answers_count_as_their_session(run, made, tmp_path):
    mean = PrivateMean(1.0, 1e-6, bounds=(-2, 2), mechanism="gaussian")
    session = mean.open_session(CURVES, tmp_path / "mean.session")
    session.value(0.5)
    session.export("answers.json")
    session.close()
    told = run("answers.json", "density.json")
    assert told.exit_code == 0, told.output
    assert "answers.json: (1, 1e-06)-differential privacy\n  release, Gaussian noise" in told.stdout
    assert "(counted before)" not in told.stdout


@pytest.fixture
def book(made):
    """A ledger with a release, and two charged in advance, of which one was made."""
    ledger = Ledger("b.ledger").create("scans", PureDP(3))
    mean = PrivateMean("0.5", bounds=(-2, 2), ledger=ledger.of("scans"))
    mean.fit(CURVES).release_.save("charged.json")
    reserved = ledger.reserve("scans", PureDP("0.25"), times=2)
    taken = PrivateMean("0.2", bounds=(-2, 2), mechanism="laplace", ledger=reserved).fit(CURVES).release_
    taken.save("taken.json")
    return ledger


def test_a_ledger_adds_up_as_its_charges_do(run, book):
    told = run("--ledger", "b.ledger")
    assert told.exit_code == 0, told.output
    # 0.5, the 0.2 of the release that took a reserved row, and the 0.25 of the row that none took.
    assert told.stdout.startswith("0.95-differential privacy (pure)\n")
    assert (
        "scans: epsilon 2 left of 3-differential privacy (pure), replace-one neighbours, per record"
        in (told.stdout)
    )
    assert told.stdout.count("mean curve") == 2
    answer = json.loads(run("--ledger", "b.ledger", "--delta", "1e-6", "--json").stdout)
    total = compose(book.charges("scans"), delta="1e-6")
    assert answer["total"]["exact"] == {"epsilon": str(total.epsilon), "delta": "1/1000000"}
    assert answer["ledger"]["dataset"] == "scans"
    assert answer["ledger"]["remaining"] == {"epsilon": "2/1"}
    assert len(answer["ledger"]["releases"]) == 3
    assert answer["files"] == []


def test_a_file_of_a_release_that_the_ledger_charged_counts_once(run, book):
    load("charged.json").derivative().save("slope.json")
    files = ("charged.json", "taken.json", "slope.json", "density.json")
    told = run(*files, "--ledger", "b.ledger", "--dataset", "scans").stdout
    assert told.startswith("1.2-differential privacy (pure)\n")
    assert told.count("(counted before)") == 3
    assert "density.json: 0.25-differential privacy (pure)\n" in told
    # In whatever order, and in Python.
    own = [load(name) for name in files]
    assert compose([*own, *book.charges("scans")]) == PureDP("1.2")
    assert compose([*book.charges("scans"), *book.charges("scans")]) == PureDP("0.95")


def test_a_file_that_says_another_cost_than_the_ledger_is_counted(run, book):
    release = load("charged.json")
    dearer = replace(release.certificate, costs=(Cost(PureDP("0.4")),), guarantee=PureDP("0.5"))
    assert compose([*book.charges("scans"), dearer]) == PureDP("1.35")


def test_a_ledger_that_cannot_be_added_up_says_why(run, book):
    book.create("loads", PureDP(1), unit="household")
    assert "name one of the ledger's data sets; found none. It has 'scans', 'loads'" in (
        run("--ledger", "b.ledger").stderr
    )
    assert (
        "--ledger must hold at least one release, or F.json be given; found none"
        in run("--ledger", "b.ledger", "--dataset", "loads").stderr
    )
    assert "F.json or --ledger must be given; found neither" in run().stderr
    mean = PrivateMean("0.5", bounds=(-2, 2), unit="household", ledger=book.of("loads"))
    mean.fit(CURVES)
    assert "protect the same privacy unit; found 'household' and 'record'" in (
        run("charged.json", "--ledger", "b.ledger", "--dataset", "loads").stderr
    )


def test_a_concentrated_total_is_told_as_epsilon_at_a_stated_delta(run, made):
    normal = PrivateMean(rho="0.1", bounds=(-2, 2), mechanism="gaussian").fit(CURVES).release_
    normal.save("normal.json")
    files = ("normal.json", "mean.json", "density.json")
    at = compose([normal, *made], delta="1e-6")
    assert (
        run(*files)
        .stdout.splitlines()[0]
        .endswith(f"-zero-concentrated differential privacy, which gives {at}")
    )
    answer = json.loads(run(*files, "--json").stdout)
    assert answer["approximate"]["exact"] == {"epsilon": str(at.epsilon), "delta": "1/1000000"}
    assert "approximate" not in json.loads(run("mean.json", "--json").stdout)
    assert account([normal, *made]).approximate("1e-9") == compose([normal, *made], delta="1e-9")


def test_what_cannot_be_added_is_refused_in_words(run, made):
    PrivateMean(1.0, bounds=(-2, 2), unit="person").fit(CURVES).release_.save("person.json")
    other = run("mean.json", "person.json")
    assert other.exit_code == 2
    assert "protect the same privacy unit; found 'person' and 'record'" in other.stderr
    assert run("mean.json", "none.json").exit_code == 2
    assert "delta must lie strictly between 0 and 1" in run("mean.json", "--delta", "1").stderr
    assert run().exit_code == 2
