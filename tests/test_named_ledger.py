"""The ledger that a file of the project names once, for Python and for the command."""

import os

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import PrivateMean
from dpfda.errors import LedgerError, ParameterError
from dpfda.front.app import app
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import Ledger, MemoryLedger, named_ledger

GRID = np.linspace(0, 1, 8)
CURVES = np.sin(3 * GRID) * np.linspace(-0.5, 0.5, 20)[:, None]
NAMED = 'ledger = "budget.ledger"\ndataset = "scans"\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a ledger, and the working directory two levels below."""
    Ledger(tmp_path / "budget.ledger").create("scans", PureDP(3)).create("loads", PureDP(3))
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    for name in ("DPFDA_LEDGER", "DPFDA_DATASET"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def release(**parameters):
    return PrivateMean(0.5, bounds=(-1, 1), mechanism="laplace", **parameters).fit(CURVES)


def spent(folder, dataset="scans"):
    return Ledger(folder / "budget.ledger").spent(dataset)["epsilon"]


@pytest.mark.parametrize(
    ("file", "text"),
    [("dpfda.toml", NAMED), ("pyproject.toml", "[project]\nname = 'x'\n[tool.dpfda]\n" + NAMED)],
)
def test_a_file_above_names_the_ledger_of_every_release(project, file, text):
    (project / file).write_text(text)
    release()
    assert spent(project) == 0.5
    # An argument wins, for the data set and for the ledger.
    release(ledger="loads")
    other = MemoryLedger().create("scans", PureDP(1))
    release(ledger=other.of("scans"))
    assert (spent(project), spent(project, "loads"), other.spent("scans")["epsilon"]) == (0.5, 0.5, 0.5)


def test_the_environment_wins_over_the_file_each_name_by_itself(project, monkeypatch):
    (project / "dpfda.toml").write_text(NAMED)
    monkeypatch.setenv("DPFDA_DATASET", "loads")
    release()
    assert (spent(project), spent(project, "loads")) == (0, 0.5)
    Ledger(project / "other.ledger").create("loads", PureDP(1))
    monkeypatch.setenv("DPFDA_LEDGER", str(project / "other.ledger"))
    release()
    assert spent(project, "loads") == 0.5
    assert Ledger(project / "other.ledger").spent("loads")["epsilon"] == 0.5


def test_the_nearest_file_counts_alone(project):
    (project / "dpfda.toml").write_text(NAMED)
    # A project's file that says nothing of ledgers is passed by, an empty file of ours is not.
    (project / "a" / "pyproject.toml").write_text("[tool.ruff]\n")
    assert named_ledger()[1] == "scans"
    (project / "a" / "dpfda.toml").write_text("")
    assert named_ledger() is None
    (project / "a" / "b" / "pyproject.toml").write_text("[tool.dpfda]\ndataset = 'loads'\n")
    (project / "a" / "b" / "dpfda.toml").write_text("ledger = '../../budget.ledger'\ndataset = 'x'\n")
    ledger, name = named_ledger()
    assert (os.path.samefile(ledger.path, project / "budget.ledger"), name) == (True, "x")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ledgr = 'x'", "dpfda.toml must have the keys 'ledger' and 'dataset' alone; found 'ledgr'"),
        ("[ledger]\nfile = 'x'", "ledger in .*dpfda.toml must be a printable, non-empty text"),
        ("ledger = 3", "ledger in .*dpfda.toml must be a printable, non-empty text; found 3"),
        ("dataset = ''", "dataset in .*dpfda.toml must be a printable, non-empty text"),
        ("ledger = 'x", "dpfda.toml must be a TOML file; found something else"),
        (
            "ledger = 'x.ledger'",
            "dataset must be named, since .*dpfda.toml names the ledger '.*x.ledger'",
        ),
        ("dataset = 'x'", "ledger must be named, since .*dpfda.toml names the data set 'x'"),
    ],
)
def test_an_unusable_file_stops_the_release(project, text, words):
    (project / "dpfda.toml").write_text(text)
    with pytest.raises(ParameterError, match=words):
        release()


def test_a_file_that_is_a_folder_or_unreadable_text_stops_the_release(project):
    (project / "dpfda.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ParameterError, match=r"dpfda.toml must be a TOML file"):
        release()
    (project / "dpfda.toml").unlink()
    (project / "dpfda.toml").mkdir()
    with pytest.raises(ParameterError, match=r"dpfda.toml must be a file that can be read"):
        release()


def test_a_table_that_is_none_stops_the_release(project):
    (project / "pyproject.toml").write_text("[tool]\ndpfda = 3\n")
    with pytest.raises(ParameterError, match=r"\[tool.dpfda\] in .* must have the keys"):
        release()


def test_a_ledger_that_is_named_and_missing_stops_the_release(project):
    (project / "dpfda.toml").write_text("ledger = 'none.ledger'\ndataset = 'scans'\n")
    with pytest.raises(LedgerError, match="must be an existing file"):
        release()


def test_a_working_directory_that_is_gone_names_nothing(project):
    (project / "a" / "b").rmdir()
    assert named_ledger() is None


def test_the_command_charges_what_the_file_names_and_says_so(project, monkeypatch):
    (project / "dpfda.toml").write_text(NAMED)
    with open("days.csv", "w") as handle:
        np.savetxt(handle, np.vstack([GRID, CURVES]), delimiter=",")
    given = ["mean", "days.csv", "--epsilon", "0.5", "--bounds", "-1", "1", "--mechanism", "laplace"]
    done = CliRunner().invoke(app, [*given, "--out", "a.json"])
    assert (done.exit_code, spent(project)) == (0, 0.5)
    said = " ".join(done.stderr.split())
    assert f"'scans' in {project / 'budget.ledger'}, as {project / 'dpfda.toml'} says" in said
    assert Ledger(project / "budget.ledger").releases("scans")[0]["file"].endswith("a.json")
    # An argument, and the environment, win.
    assert CliRunner().invoke(app, [*given, "--out", "b.json", "--dataset", "loads"]).exit_code == 0
    monkeypatch.setenv("DPFDA_DATASET", "none")
    done = CliRunner().invoke(app, [*given, "--out", "c.json"])
    assert (done.exit_code, "found none for 'none'" in done.stderr) == (2, True)
    assert (spent(project), spent(project, "loads")) == (0.5, 0.5)
    (project / "dpfda.toml").write_text("budget = 3\n")
    done = CliRunner().invoke(app, [*given, "--out", "d.json"])
    assert (done.exit_code, "must have the keys" in done.stderr) == (2, True)
