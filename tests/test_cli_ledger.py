"""The ledger on the command line: budgets are created, charged, shown and never overrun."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from csv_rows import csv_rows
from dpfda.errors import LedgerError
from dpfda.front.app import app
from dpfda.numerics import exactness
from dpfda.privacy.ledger import Ledger


@pytest.fixture
def curves(tmp_path):
    path = tmp_path / "curves.csv"
    rows = np.sin(np.linspace(0, 3, 12)) + np.linspace(-0.3, 0.3, 40)[:, None]
    lines = [",".join(f"p_{i}" for i in range(12))]
    path.write_text("\n".join(lines + [",".join(map(repr, row)) for row in rows.tolist()]) + "\n")
    return path


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])


def mean(run, curves, out, *more, epsilon="1"):
    return run("mean", curves, "--epsilon", epsilon, "--bounds", -2, 2, "--out", out, *more)


def forbid_noise(monkeypatch):
    def drawn(size):
        pytest.fail("noise was drawn")

    monkeypatch.setattr(exactness, "system_bytes", drawn)


def test_a_release_is_charged_noted_and_exported(run, curves):
    assert run("ledger", "create", "b.db", "--dataset", "d", "--epsilon", "3").exit_code == 0
    charged = mean(run, curves, "a.json", "--ledger", "b.db", "--dataset", "d")
    assert charged.exit_code == 0, charged.output
    shown = json.loads(run("ledger", "show", "b.db", "--json").stdout)
    assert shown["d"]["spent"] == {"epsilon": "1/1"}
    assert shown["d"]["remaining"] == {"epsilon": "2/1"}
    rows = [json.loads(line) for line in run("ledger", "export", "b.db").stdout.splitlines()]
    assert [row["action"] for row in rows] == ["create", "charge", "note"]
    assert rows[1]["details"]["mechanism"] == "auto"
    assert rows[2]["details"]["file"].endswith("a.json")
    table = csv_rows(run("ledger", "export", "b.db", "--format", "csv").stdout.splitlines())
    assert [row["action"] for row in table] == ["create", "charge", "note"]
    assert "left of 3-differential privacy" in run("ledger", "show", "b.db", "--dataset", "d").stdout


def test_an_overrun_is_refused_without_noise_or_file(run, curves, tmp_path, monkeypatch):
    run("ledger", "create", "b.db", "--dataset", "d", "--epsilon", "0.5")
    forbid_noise(monkeypatch)
    refused = mean(run, curves, "a.json", "--ledger", "b.db", "--dataset", "d")
    assert refused.exit_code == 2
    assert "must cost at most what is left of its budget, epsilon 0.5; found epsilon 1" in refused.stderr
    assert not (tmp_path / "a.json").exists()
    assert json.loads(run("ledger", "show", "b.db", "--json").stdout)["d"]["spent"] == {"epsilon": "0/1"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ledger", "b.db"], "--dataset must be given with --ledger; found none"),
        (["--dataset", "d"], "--ledger must be given with --dataset; found none"),
        (["--ledger", "b.db", "--dataset", "other"], "found none for 'other'"),
        (["--ledger", "missing.db", "--dataset", "d"], "missing.db"),
        (["--ledger", "curves.csv", "--dataset", "d"], "curves.csv"),
    ],
)
def test_a_wrong_ledger_is_refused_before_the_file_is_read(run, curves, words, message, monkeypatch):
    run("ledger", "create", "b.db", "--dataset", "d", "--epsilon", "3")
    forbid_noise(monkeypatch)
    curves.rename(curves.with_name("data.csv"))
    curves.write_text("not a ledger\n")
    refused = mean(run, "absent.csv", "a.json", *words)
    assert refused.exit_code == 2
    assert message in refused.stderr


def test_a_budget_is_given_one_way(run):
    for words in ([], ["--epsilon", "1", "--rho", "1"]):
        refused = run("ledger", "create", "b.db", "--dataset", "d", *words)
        assert refused.exit_code == 2
        assert "must be given by --epsilon or by --rho" in refused.stderr


def test_a_concentrated_budget_takes_laplace_noise_at_its_own_cost(run, curves):
    run("ledger", "create", "b.db", "--dataset", "d", "--rho", "0.4")
    words = ["--ledger", "b.db", "--dataset", "d", "--mechanism", "laplace"]
    assert mean(run, curves, "a.json", *words).exit_code == 0
    spent = json.loads(run("ledger", "show", "b.db", "--json").stdout)["d"]["spent"]["rho"]
    top, bottom = map(int, spent.split("/"))
    # Laplace noise of epsilon 1 costs exp(-1) in zero-concentrated terms, not 1/2.
    assert top / bottom == pytest.approx(np.exp(-1), rel=1e-9)


def test_the_file_is_noted_on_its_own_charge(run, curves, monkeypatch):
    run("ledger", "create", "b.db", "--dataset", "d", "--epsilon", "9")
    charge = Ledger.charge

    def charged_in_between(self, dataset, guarantee, entry):
        row = charge(self, dataset, guarantee, entry)
        charge(self, dataset, guarantee, entry)
        return row

    monkeypatch.setattr(Ledger, "charge", charged_in_between)
    assert mean(run, curves, "a.json", "--ledger", "b.db", "--dataset", "d").exit_code == 0
    rows = [json.loads(line) for line in run("ledger", "export", "b.db").stdout.splitlines()]
    assert [row["number"] for row in rows if row["action"] == "charge"] == [2, 3]
    assert rows[-1]["details"]["charge"] == 2


def test_what_fails_after_the_release_says_that_it_counts(run, curves, tmp_path, monkeypatch):
    run("ledger", "create", "b.db", "--dataset", "d", "--epsilon", "9")

    def broken(self, *arguments):
        raise LedgerError("the disk is full")

    monkeypatch.setattr(Ledger, "note_file", broken)
    failed = mean(run, curves, "a.json", "--ledger", "b.db", "--dataset", "d")
    assert failed.exit_code == 1
    assert "The release is published in a.json and counts, but then: the disk is full" in failed.stderr
    assert (tmp_path / "a.json").exists()
