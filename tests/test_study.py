"""Dry runs and studies: nothing private is said or charged, and all is checked before the first."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dpfda import Ledger, load
from dpfda.command.publishing import Publication
from dpfda.front.app import app
from dpfda.front.verbs import declared_verbs
from dpfda.privacy.guarantees import PureDP

pytestmark = pytest.mark.usefixtures("few_draws")

STUDY = """
[data]
file = "people.csv"
groups = "person"
ledger = "budget.db"
dataset = "people"

[[release]]
verb = "density"
column = ["age:0:100"]
epsilon = 0.5
out = "age.json"
plot = "age.png"

[[release]]
verb = "survival"
time = "years"
domain = [0, 10]
epsilon = "0.25"
x-label = "years since diagnosis"
out = "years.json"
"""


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    return result.exit_code, result.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{place},{20 + place % 60},{place % 9}" for place in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["person,age,years", *rows]) + "\n")
    (tmp_path / "study.toml").write_text(STUDY)
    Ledger(tmp_path / "budget.db").create("people", PureDP(1), unit="person")
    return tmp_path


def spent(folder: Path) -> Any:
    return Ledger(folder / "budget.db").spent("people")["epsilon"]


def test_every_verb_that_publishes_has_a_dry_run() -> None:
    publishing = [verb for verb in declared_verbs().values() if isinstance(verb, Publication)]
    assert len(publishing) > 9
    for verb in publishing:
        assert "--dry-run" in {option.flag for option in verb.all_options()}, verb.name


def test_a_dry_run_reads_the_header_and_no_record(folder: Path) -> None:
    asked = ("density", folder / "people.csv", "--column", "age:0:100", "--groups", "person",
             "--epsilon", 1, "--out", folder / "new.json", "--dry-run")  # fmt: skip
    code, said = run(*asked)
    assert code == 0
    assert "1-differential privacy" in said
    assert "age, person" in said
    assert "years" not in said
    assert "3 columns" in said
    # Other records, more of them, and such as cannot be read: the same words.
    (folder / "people.csv").write_text("person,age,years\na,b,c\n,,\n1,2,3,4,5\n")
    assert run(*asked) == (code, said)
    assert not (folder / "new.json").exists()
    assert json.loads(run(*asked, "--json")[1])["dry_run"] is True


def test_a_dry_run_prints_no_record_where_the_header_is_missing(tmp_path: Path) -> None:
    (tmp_path / "bare.csv").write_text("36.6,37.1,38.4,39.9\n36.1,36.2,36.3,36.5\n")
    for more in ((), ("--json",)):
        asked = ("mean", tmp_path / "bare.csv", "--bounds", 30, 45, "--epsilon", 1, "--out")
        code, said = run(*asked, tmp_path / "new.json", "--dry-run", *more)
        assert code == 0, said
        assert "4 of the curve" in said
        assert not any(value in said for value in ("36.6", "37.1", "38.4", "39.9"))


def test_a_dry_run_says_what_would_be_left_and_charges_nothing(folder: Path) -> None:
    asked = ("density", folder / "people.csv", "--column", "age:0:100", "--groups", "person", "--out",
             folder / "new.json", "--ledger", folder / "budget.db", "--dataset", "people")  # fmt: skip
    code, said = run(*asked, "--epsilon", "0.25", "--dry-run")
    assert code == 0
    assert "epsilon 1 before, epsilon 0.75 after" in said
    assert spent(folder) == 0
    code, said = run(*asked, "--epsilon", "2", "--dry-run")
    assert code == 2
    assert "must cost at most what is left" in said


def test_a_study_makes_its_releases_in_order(folder: Path) -> None:
    code, said = run("run", folder / "study.toml")
    assert code == 0, said
    assert spent(folder) == 0.75
    assert load(folder / "age.json").unit == "person"
    assert load(folder / "years.json").view().x_label == "years since diagnosis"
    assert (folder / "age.png").stat().st_size > 1000


def test_a_dry_run_of_a_study_adds_up_what_its_releases_cost(folder: Path) -> None:
    code, said = run("run", folder / "study.toml", "--dry-run")
    assert code == 0, said
    assert "epsilon 1 before, epsilon 0.5 after" in said
    assert "epsilon 1 before, epsilon 0.25 after" in said
    assert spent(folder) == 0
    assert not (folder / "age.json").exists()


def test_nothing_is_charged_where_all_together_cost_too_much(folder: Path) -> None:
    text = (folder / "study.toml").read_text().replace('epsilon = "0.25"', "epsilon = 0.6")
    (folder / "study.toml").write_text(text)
    code, said = run("run", folder / "study.toml")
    assert code == 2
    assert "release 2 of the study (survival) stopped it" in said
    assert spent(folder) == 0
    assert not (folder / "age.json").exists()


def test_after_an_interruption_the_rest_can_be_made(folder: Path) -> None:
    assert run("run", folder / "study.toml")[0] == 0
    (folder / "years.json").rename(folder / "lost.json")
    code, said = run("run", folder / "study.toml")
    assert code == 2
    assert "age.json' exists" in said
    assert spent(folder) == 0.75
    assert run("run", folder / "study.toml", "--rest")[0] == 0
    assert spent(folder) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("domain = [0, 10]", "domaine = [0, 10]"),
            "[[release]] 2 domaine must be an option of dpfda survival",
        ),
        (('verb = "density"', 'verb = "ledger"'), "[[release]] 1 verb must be one of"),
        (('out = "age.json"', "out = 3"), "[[release]] 1 out must name a file to write"),
        (('file = "people.csv"', "file = 1"), "[data] file must name the file with the records"),
        (("[data]", "[date]"), "STUDY.toml must have one table [data]"),
        (("epsilon = 0.5", "epsilon = {a = 1}"), "[[release]] 1 epsilon must be text, a number"),
        (("epsilon = 0.5", "epsilon ="), "STUDY.toml must be TOML"),
        (("epsilon = 0.5", "epsilon = true"), "[[release]] 1 epsilon must have a value"),
        (("epsilon = 0.5", "epsilon = 0"), "--epsilon must be"),
        (('file = "people.csv"', 'file = "none.csv"'), "must name an existing file"),
    ],
)
def test_a_study_that_cannot_be_run_is_refused_before_anything_is_charged(
    folder: Path, change: tuple[str, str], words: str
) -> None:
    text = (folder / "study.toml").read_text()
    assert change[0] in text
    (folder / "study.toml").write_text(text.replace(*change))
    code, said = run("run", folder / "study.toml")
    assert code == 2
    assert words in " ".join(said.split())
    assert spent(folder) == 0


def test_a_value_that_cannot_be_read_is_named(folder: Path) -> None:
    study = folder / "unreadable.toml"
    release = '[[release]]\nverb = "mean"\nepsilon = 1\nout = "mean.json"\nbounds = ["low", 3]\n'
    study.write_text(f'[data]\nfile = "people.csv"\n{release}')
    status, said = run("run", study, "--dry-run")
    assert status == 2
    assert "--bounds must be a number; found 'low'. Write --bounds LO HI." in " ".join(said.split())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        # A misspelt name of groups would leave persons unprotected.
        (("groups", "grups"), "[data] grups must be an option of one of the study's verbs"),
        (('"years.json"', '"age.json"'), "[[release]] 2 out must be another file than one above"),
        (("[0, 10]", "[0]"), "[[release]] 2 domain must have 2 values, [A B]; found [0]"),
        (("[[release]]", "[[releases]]"), "found releases, no release"),
    ],
)
def test_a_study_that_is_not_what_it_seems_is_refused_whole(
    change: tuple[str, str], words: str, folder: Path
) -> None:
    (folder / "study.toml").write_text(STUDY.replace(*change))
    code, said = run("run", folder / "study.toml")
    assert code == 2
    assert words in said
    assert spent(folder) == 0
    assert not (folder / "age.json").exists()


@pytest.mark.parametrize("header", ["1,2,3", "t1,t2,t3"])
def test_a_dry_run_says_bound_axis_and_names(header: str, tmp_path: Path) -> None:
    (tmp_path / "curves.csv").write_text(f"{header}\n4,5,6\n")
    for verb in ("mean", "reference", "month"):
        month = ("--month", 1, "--state", tmp_path / "state") if verb == "month" else ()
        code, said = run(
            verb, tmp_path / "curves.csv", "--bounds", 0, 9, "--epsilon", 1, "--y-label", "load (MW)",
            *month, "--dry-run",
        )  # fmt: skip
        assert code == 0, said
        assert "values clipped to [0, 9]" in said
        assert "load (MW)" in said
        # Numbers in a header may be somebody's record.
        assert ("3 points, equally spaced" if header == "t1,t2,t3" else "as the header says") in said


def test_a_dry_run_of_an_agreement_writes_and_signs_nothing(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        run("keys", name, "--units", 9, "--folder", tmp_path)
    cards = (tmp_path / "a.card", tmp_path / "b.card", "--keys", tmp_path / "c.keys")
    asked = ("agree", "mean", *cards, "--points", 8, "--bounds", 0, 1, "--epsilon", 1)
    out = tmp_path / "agreed.json"
    code, said = run(*asked, "--out", out, "--dry-run")
    assert code == 0, said
    assert "values clipped to [0, 1]" in said
    assert "fingerprint" not in said
    assert not out.exists()
    assert run(*asked, "--out", out)[0] == 0
