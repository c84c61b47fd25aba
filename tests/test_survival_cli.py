"""`dpfda survival`: a file of follow-ups to a release, and what is refused before it is read."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import PrivateCox, PrivateDensity, PrivateMean, PrivateScoreCurves, PrivateSurvival, load
from dpfda.front.app import app

pytestmark = pytest.mark.usefixtures("few_draws")

FOLLOWED = ["--time", "days", "--event", "status", "--domain", "0", "900", "--epsilon", "5"]
OPTIONS = [*FOLLOWED, "--cause", "2", "--censored", "1"]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    generator = np.random.default_rng(1)
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["arm", "status", "days", "entered"])
        for number in range(200):
            days = generator.exponential(300)
            status = 1 + int(generator.uniform() < 0.7)
            writer.writerow(["new" if number % 2 else "old", status, round(days, 1), 0])
    return path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["survival", *map(str, arguments)])
    return result.exit_code, result.output


def test_a_file_becomes_a_release_with_table_and_picture(people: Path, tmp_path: Path) -> None:
    out, plot, table = (tmp_path / name for name in ("a.json", "a.png", "a.csv"))
    code, said = run(people, *OPTIONS, "--unit", "patient", "--out", out, "--plot", plot, "--csv", table)
    assert code == 0, said
    release = load(out)
    assert release.unit == "patient"
    assert release.view().x_label == "days"
    assert 0.2 < release(300.0) < 0.8
    assert plot.stat().st_size > 1000
    assert "at_risk" in table.read_text().splitlines()[0]
    assert "median of days:" in said


def test_groups_are_compared(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "b.json"
    groups = ["--by", "arm:old,new", "--start", "entered", "--json"]
    code, said = run(people, *OPTIONS, *groups, "--out", out, "--neighbours", "add-remove", "--cells", 6)
    assert code == 0, said
    release = load(out)
    assert release.levels == ("old", "new")
    assert release.cells.late
    assert 0 < release.test().p_value <= 1
    picture = tmp_path / "risk.png"
    drawn = CliRunner().invoke(app, ["plot", str(out), "--difference", "--plot", str(picture)])
    assert drawn.exit_code == 0, drawn.output
    assert picture.stat().st_size > 1000
    told = CliRunner().invoke(app, ["eval", str(out), "--at", "365", "--json"])
    found = json.loads(told.output)["risk old minus new"]
    assert found == [pytest.approx(release.difference("old", "new").risk(365).value)]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (["--by", "arm"], "--by must be NAME:A,B,.. with two or more different labels; found 'arm'"),
        (["--by", "arm:old,old"], "found 'arm:old,old'. They are public and never read from the data"),
        (["--event", "days"], "Columns must be named once each"),
        (["--event", "outcome"], "outcome"),
        (["--domain", "0", "-1"], "be finite with a < b"),
    ],
)
def test_what_is_refused(people: Path, tmp_path: Path, changed: list[str], words: str) -> None:
    out = tmp_path / "c.json"
    code, said = run(people, *OPTIONS, *changed, "--out", out)
    assert code != 0
    assert words in " ".join(said.split())
    assert not out.exists()


@pytest.mark.parametrize(
    ("column", "cell", "words"),
    [
        (
            "arm",
            "third",
            "--by must hold one of the levels ['old', 'new']; found another label in line 4 ",
        ),
        ("days", "", "--time must be finite numbers; found one that is missing or infinite in line 4 "),
        ("entered", "9999", "--start must be before the end; found one that is not in line 4 "),
    ],
)
def test_a_refused_record_names_the_option_of_its_column(people, tmp_path, column, cell, words):
    header, *rows = csv.reader(people.read_text().splitlines())
    rows[2][header.index(column)] = cell
    with people.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    beside = ["--by", "arm:old,new", "--start", "entered"]
    code, said = run(people, *OPTIONS, *beside, "--out", tmp_path / "r.json")
    assert code == 2
    assert words in " ".join(said.split())
    assert not (tmp_path / "r.json").exists()


def test_times_that_are_dates_are_to_be_numbers(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("day,died\n2024-03-01,1\n2024-03-09,0\n")
    out = tmp_path / "t.json"
    code, said = run(table, "--time", "day", "--event", "died", "--domain", 0, 9, "-e", 1, "--out", out)
    assert code == 2
    assert "Where the column holds times, give numbers, such as days since a start." in said
    assert "dates=" not in said
    assert not out.exists()


def test_codes_are_never_guessed(people: Path, tmp_path: Path) -> None:
    """Codes 1 and 2: what the error says can be typed, and gives the curve of those who died."""
    out = tmp_path / "e.json"
    for stated, meant in (([], "1 is an event, 0"), (["--cause", "2"], "2 is an event, 0")):
        code, said = run(people, *FOLLOWED, *stated, "--out", out)
        assert code == 2
        assert (
            f"--event must have the codes that are stated ({meant} is censoring); found another" in said
        )
        assert "--cause 2, --censored 1 where 2 is an event" in " ".join(said.split())
        assert "repair" not in said
        code, said = run(people, *FOLLOWED, *stated, "--invalid", "repair", "--out", out)
        assert code == 2
        assert "--censored must be stated, and the causes" in said
    code, said = run(
        people, "--time", "days", "--cause", "2", "--domain", "0", "9", "-e", "1", "--out", out
    )
    assert code == 2
    assert "--event must be given" in said
    assert not out.exists()
    code, said = run(people, *OPTIONS, "--out", out, "--epsilon", "1000000")
    assert code == 0, said
    assert load(out).about["coding"].startswith("in the data 2 is an event, 1 is censoring")


def test_a_cause_that_is_no_code_of_the_file_publishes_nothing(people: Path, tmp_path: Path) -> None:
    people.write_text(people.read_text().replace(",1,", ",0,").replace(",2,", ",1,"))
    out = tmp_path / "f.json"
    code, said = run(people, *FOLLOWED, "--cause", "2", "--out", out)
    assert code == 2
    assert "(2 is an event, 0 is censoring); found another in line" in " ".join(said.split())
    assert not out.exists()
    assert run(people, *FOLLOWED, "--out", out)[0] == 0


def test_a_line_that_cannot_be_read_is_named_and_nothing_of_it(people: Path, tmp_path: Path) -> None:
    people.write_text(people.read_text() + "old,2,soon,0\n")
    out = tmp_path / "d.json"
    code, said = run(people, *OPTIONS, "--out", out)
    assert code != 0
    assert "Line 202" in " ".join(said.split())
    assert "soon" not in said
    code, said = run(people, *OPTIONS, "--invalid", "repair", "--out", out)
    assert code == 0, said
    assert json.loads(out.read_text())["format"] == "dpfda-survival"


def plan(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plan", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.usefixtures("few_trials")
def test_the_command_plans_what_the_estimator_plans() -> None:
    made = PrivateSurvival(1, domain=(0, 1100), levels=["1", "2"], causes=["1", "2"]).plan(30, True)
    asked = ["survival", "--units", 30, "--domain", 0, 1100, "--epsilon", 1]
    named = ("--by", "arm:1,2", "--cause", 1, "--cause", 2)
    code, said = plan(*asked, *named, "--late")
    assert (code, said) == (0, " ".join(made.describe().split()))
    assert "2 causes" in said
    code, said = plan(*asked, "--cells", 2, "--error", "20%", "--json")
    found = json.loads(said[said.index("{") :])
    assert code == 0
    assert found["wanted"] == {"error": 0.2}
    alone = PrivateSurvival(1, domain=(0, 1100), cells=2).plan(30)
    assert found["least_n"] == alone.least_n(error=0.2)


@pytest.mark.usefixtures("few_trials")
def test_the_command_says_what_is_known_of_data_to_come() -> None:
    usual = "--units", 300, "--epsilon", 1
    followed = PrivateSurvival(1, domain=(0, 1100)).plan(300, followed=200)
    rare = PrivateScoreCurves(1, score_bounds=(0, 1)).plan(300, share=0.05)
    few = PrivateCox(1, covariates={"age": (40, 90)}, domain=(0, 1100)).plan(300, share=0.05)
    narrow = PrivateDensity(1, domain=(0, 1100)).plan(300, quarter=20)
    asked = [
        (narrow, "density", "--column", "x:0:1100", "--quarter", 20),
        (followed, "survival", "--domain", 0, 1100, "--followed", 200),
        (rare, "scores", "--score", "risk:0:1", "--share", 0.05),
        (few, "cox", "--covariate", "age:40:90", "--domain", 0, 1100, "--share", 0.05),
    ]
    for made, *words in asked:
        assert plan(*words, *usual) == (0, " ".join(made.describe().split()))
    code, said = plan("scores", "--score", "risk:0:1", "--share", 2, *usual)
    assert code != 0
    assert "--share must lie strictly between 0 and 1" in said


@pytest.mark.usefixtures("few_trials")
def test_the_command_plans_a_pooled_mean() -> None:
    made = PrivateMean(1, bounds=(-4, 4), missing="pooled").plan(5000)
    asked = ["mean", "--missing", "pooled", "--units", 5000, "--bounds", -4, 4]
    assert plan(*asked, "--epsilon", 1) == (0, " ".join(made.describe().split()))
    code, said = plan(*asked, "--error", "5%", "--json")
    assert code == 0
    least = json.loads(said[said.index("{") :])["least_epsilon"]
    assert least == made.least_epsilon(error=0.4)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ([], "Missing option '--domain'"),
        (["--domain", 0, 9, "--cells", 1], "--cells must"),
        (["--domain", 0, 9, "--by", "arm:1"], "--by must"),
    ],
)
def test_what_a_plan_of_survival_refuses(changed: list[object], words: str) -> None:
    code, said = plan("survival", "--units", 100, "--epsilon", 1, *changed)
    assert code != 0
    assert words in said
