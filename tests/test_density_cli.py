"""`dpfda density`: what comes out, and that a refusal is one line and writes nothing."""

import csv
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from csv_rows import csv_rows
from dpfda import load
from dpfda.command.columns import parse_points, read_ranges
from dpfda.errors import ParameterError
from dpfda.front.app import app
from dpfda.noise import KNormNoise
from dpfda.noise.shares import EXPONENT
from dpfda.privacy.ledger import Ledger

# What comes out is tested; elsewhere, how exact the bands in it are.
pytestmark = pytest.mark.usefixtures("few_draws")


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def flat(text):
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


def write(path, header, rows):
    with path.open("w", newline="") as handle:
        csv.writer(handle).writerows([header, *rows])
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def people(folder):
    """Columns in another order than they are asked for, and a person of many rows."""
    generator = np.random.default_rng(1)
    rows = [
        [f"{x:.3f}", f"p{max(i - 200, 0)}", f"{age:.1f}"]
        for i, (x, age) in enumerate(
            zip(generator.uniform(-3, 3, 400), generator.normal(50, 20, 400), strict=True)
        )
    ]
    return write(folder / "people.csv", ["x", "who", "age"], rows)


@pytest.fixture
def deaths(folder):
    return write(folder / "deaths.csv", ["age", "deaths"], [["0-4", "4612.439"], ["5-9", "599.401"]])


def rows_of(path):
    with path.open(newline="") as handle:
        return list(csv.DictReader(handle))


def table_of(path):
    with path.open(newline="") as handle:
        return csv_rows(handle)


def quiet(monkeypatch):
    monkeypatch.setattr(KNormNoise, "draw", lambda self: [0] * self.components)


def test_points_on_an_interval(people, folder, monkeypatch):
    quiet(monkeypatch)
    files = ("--out", "ages.json", "--plot", "ages.png", "--csv", "ages.csv")
    result = run("density", people, "--epsilon", 1, "--column", "age:0:100", "--cells", 10, *files)
    assert result.exit_code == 0, result.output
    release = load(folder / "ages.json")
    ages = [float(row["age"]) for row in rows_of(people)]
    direct = np.histogram(np.clip(ages, 0, 99.99), bins=10, range=(0, 100))[0]
    assert release.raw.counts.tolist() == direct.tolist()
    assert release.about["domain"] == "age"
    table = table_of(folder / "ages.csv")
    assert list(table[0]) == ["point", "value", "cdf", "lower", "upper"]
    assert float(table[-1]["cdf"]) == 1.0
    assert float(table[100]["value"]) == release(50.0)
    assert (folder / "ages.png").stat().st_size > 5000
    assert "written: ages.json (release), ages.csv (csv), ages.png (plot)" in flat(result.output)


def test_points_of_persons_on_a_rectangle(people, folder, monkeypatch):
    quiet(monkeypatch)
    asked = ("--column", "age:0:100", "--column", "x:-3:3", "--groups", "who", "--cells", 2)
    result = run(
        "density", people, "--epsilon", 1, *asked, "--out", "map.json", "--csv", "map.csv",
        "--plot", "map.png", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["domain_range"] == [[0.0, 100.0], [-3.0, 3.0]]
    assert answer["privacy_unit"] == "who"
    assert answer["mechanism"]["cells"] == [2, 2]
    release = load(folder / "map.json")
    # Two hundred and one rows of one person weigh as one of two hundred persons.
    assert release.raw.public_size == 200
    assert abs(release.raw.counts.sum() - 200) < 4 * 2.0**-EXPONENT
    assert (release.about["domain"], release.about["domain_2"]) == ("age", "x")
    table = table_of(folder / "map.csv")
    assert list(table[0]) == ["point_1", "point_2", "value", "lower", "upper"]
    assert len(table) == 32 * 32


def test_a_table_of_counts_and_a_ledger(deaths, folder, monkeypatch):
    quiet(monkeypatch)
    assert (
        run(
            "ledger", "create", "budget.jsonl", "--dataset", "d", "--epsilon", 2, "--unit", "person"
        ).exit_code
        == 0
    )
    asked = ("--counts", "deaths", "--edges", "0,5,10", "--multiplier", 1000, "--unit", "person")
    ledger = ("--ledger", "budget.jsonl", "--dataset", "d")
    result = run("density", deaths, "--epsilon", "1.5", *asked, *ledger, "--out", "d.json")
    assert result.exit_code == 0, result.output
    release = load(folder / "d.json")
    assert release.raw.counts.tolist() == [4612439.0, 599401.0]
    assert release.raw.smoothing == "monotone"
    history = Ledger(folder / "budget.jsonl").history("d")
    assert [row.action for row in history] == ["create", "charge", "note"]
    again = run("density", deaths, "--epsilon", 1, *asked, *ledger, "--out", "e.json")
    assert again.exit_code == 2
    assert not (folder / "e.json").exists()


REFUSED = {
    "neither": ((), "be named by --column NAME:LO:HI or by --counts with --edges; found neither"),
    "both": (("--column", "age:0:9", "--counts", "age", "--edges", "0,1"), "found both"),
    "no edges": (("--counts", "age",), "--counts and --edges must be given together"),
    "groups": (("--counts", "age", "--edges", "0,1", "--groups", "who"), "must be left out for counts"),
    "form": (("--column", "age"), "--column must be NAME:LO:HI; found 'age'"),
    "column": (("--column", "wage:0:9"), "column must"),
    "domain": (("--column", "age:9:0"), "--column must be finite with a < b"),
    "smoothing": (("--column", "age:0:9", "--bandwidth", -1), "--bandwidth must be"),
    "size": (("--column", "age:0:9", "--public-size", 7), "must be left out under replace-one"),
    "three pictures": (
        ("--column", "age:0:9", "--column", "x:0:1", "--column", "who:0:1", "--plot", "a.png"),
        "--plot and --csv must be left out for more than two columns",
    ),
    "twice": (("--column", "age:0:9", "--column", "age:0:9"), "named once each"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, people, folder, monkeypatch):
    monkeypatch.setattr(KNormNoise, "draw", lambda self: pytest.fail("drawn"))
    arguments, words = REFUSED[name]
    result = run("density", people, "--epsilon", 1, *arguments, "--out", "a.json")
    assert result.exit_code == 2, result.output
    assert words in flat(result.stderr)
    assert "Traceback" not in result.output
    assert sorted(path.name for path in folder.iterdir()) == ["people.csv"]


def test_edges_and_columns():
    assert parse_points("0:105:5", "--edges") == [5.0 * i for i in range(22)]
    assert parse_points("0,1,5", "--edges") == [0.0, 1.0, 5.0]
    assert read_ranges(["a:b:0:1e3"], "--column") == [("a:b", 0.0, 1000.0)]
    for text in ("0:10:3", "0:10", "a,b", "0:1:0", "0:1:1e-9", ""):
        with pytest.raises(ParameterError, match="--edges must be numbers with commas"):
            parse_points(text, "--edges")


def test_help_has_examples():
    text = flat(run("density", "--help").output)
    assert "dpfda density people.csv --epsilon 1 --column age:0:105" in text
    assert "Density (public choices)" in text


def test_show_says_what_is_promised(people, folder):
    points = ("--column", "age:0:100", "--groups", "who", "--unit", "person", "--out", "ages.json")
    assert run("density", people, "--epsilon", "0.5", *points).exit_code == 0
    text = flat(run("show", "ages.json").output)
    for words in (
        "A probability density over age from 0 to 100",
        "The unit of protection is one person",
        "Differential privacy with epsilon = 0.5 (pure: delta = 0)",
        "the number of persons: 200",
        "How many lie below a point is known better",
        "two releases like this one promise no more than epsilon = 1",
        "The density of 200 persons was published under 0.5-differential privacy (pure)",
    ):
        assert words in text
    answer = json.loads(run("show", "ages.json", "--json").stdout)
    assert "persons" in answer["citation"]
    assert answer["guarantee"]["kind"] == "pure"
    kernel = ("--mechanism", "kernel", "--neighbours", "add-remove", "--public-size", 300)
    result = run("density", people, "--epsilon", 1, "--column", "age:0:100", *kernel, "--out", "k.json")
    assert result.exit_code == 0, result.output
    text = flat(run("show", "k.json").output)
    assert "nothing about the number of records" in text
    assert "The density of a private number of records" in text
