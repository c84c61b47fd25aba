"""`dpfda compose`: files of releases added up, in words and as JSON."""

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import PrivateDensity, PrivateMean
from dpfda.front.command.app import app
from dpfda.privacy.composition import compose

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
    assert "density.json: 0.25-differential privacy (pure)\n  release, Laplace noise" in told.stdout
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


def test_what_cannot_be_added_is_refused_in_words(run, made):
    PrivateMean(1.0, bounds=(-2, 2), unit="person").fit(CURVES).release_.save("person.json")
    other = run("mean.json", "person.json")
    assert other.exit_code == 2
    assert "protect the same privacy unit; found 'person' and 'record'" in other.stderr
    assert run("mean.json", "none.json").exit_code == 2
    assert "delta must lie strictly between 0 and 1" in run("mean.json", "--delta", "1").stderr
    assert run().exit_code == 2
