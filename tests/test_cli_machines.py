"""`dpfda regress` and `dpfda classify`: what comes out, and that a refusal writes and draws nothing."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda.front.app import app
from dpfda.machines.release import ReleasedPredictor
from dpfda.numerics import drawing

pytestmark = pytest.mark.usefixtures("few_draws")

# So little noise that the release can be compared with the truth.
LOUD = "1000000000"
COUNT = 400


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Two inputs, a target and a class; two rows a person."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    inputs = rng.uniform(0, 10, size=(COUNT, 2))
    target = 100 + 40 * np.sin(inputs[:, 0] / 3) + inputs[:, 1]
    with (tmp_path / "t.csv").open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["who", "in_a", "in_b", "y", "side"])
        for i, (a, b) in enumerate(inputs):
            writer.writerow([f"p{i // 2}", a, b, target[i], "high" if b > 5 else "low"])
    return inputs, target


@pytest.fixture
def draws(monkeypatch):
    """How often exact noise was drawn."""
    count = []
    original = drawing.draw_array
    monkeypatch.setattr(drawing, "draw_array", lambda *a, **k: (count.append(1), original(*a, **k))[1])
    return count


REGRESS = ("regress", "t.csv", "--covariate", "in_*:0:10", "--target", "y:50:150")
CLASSIFY = ("classify", "t.csv", "--covariate", "in_a:0:10", "--covariate", "in_b:0:10",
            "--target", "side:low,high")  # fmt: skip


def test_a_power_tells_small_amounts_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(2)
    amounts = np.exp(generator.normal(size=(COUNT, 3)))
    rows = np.column_stack([amounts, amounts[:, 0] > 1])
    np.savetxt("t.csv", rows, fmt=["%.6f"] * 3 + ["%d"], delimiter=",", header="a,b,c,y", comments="")
    found, command = [], ("classify", "t.csv", "--covariate", "[abc]:0:10000", "--target", "y:0,1")
    for i, power in enumerate((["--power", 1], ["--power", 0.0625])):
        result = run(*command, "--epsilon", 100, *power, "--out", f"{i}.json")
        assert result.exit_code == 0, result.output
        release = ReleasedPredictor.load(f"{i}.json")
        assert ("to the power 0.0625" in release.describe()) == (i == 1)
        found.append(np.mean((release(amounts) > 0) == (amounts[:, 0] > 1)))
    assert found[0] < 0.7
    assert found[1] > 0.9
    refused = run(*command, "--epsilon", 1, "--power", 0.3, "--out", "f.json")
    assert "--power must be one of 0.5, 0.25" in " ".join(refused.stderr.split())


def test_regress_finds_the_function(table):
    result = run(*REGRESS, "--epsilon", LOUD, "--penalty", 1e-4, "--components", 25, "--out", "f.json",
                 "--plot", "f.png")  # fmt: skip
    assert result.exit_code == 0, result.output
    inputs, target = table
    release = ReleasedPredictor.load("f.json")
    assert 1 - np.var(release(inputs) - target) / np.var(target) > 0.98
    assert release.about["domain"] == "in_a, in_b"
    assert "written:      f.json (release), f.png (plot)" in result.output


def test_classify_protects_the_person(table):
    result = run(
        *CLASSIFY, "--epsilon", LOUD, "--penalty", 1e-3, "--groups", "who", "--out", "c.json", "--json"
    )
    assert result.exit_code == 0, result.output
    written = json.loads(result.stdout)
    assert (written["privacy_unit"], written["units"]) == ("who", COUNT // 2)
    inputs, _ = table
    release = ReleasedPredictor.load("c.json")
    assert np.mean(release.predict(inputs) == np.where(inputs[:, 1] > 5, "high", "low")) > 0.93


THREE = ("--target", "third:low,middle,high", "--penalty", 1e-3, "--epsilon", LOUD)


@pytest.fixture
def thirds(table):
    """The table with a third class."""
    inputs, _ = table
    labels = np.array(["low", "middle", "high"])[np.digitize(inputs[:, 1], [3.3, 6.7])]
    with open("three.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["third", "in_b", "in_a"])
        writer.writerows([label, b, a] for label, (a, b) in zip(labels, inputs, strict=True))
    return inputs, labels


@pytest.mark.parametrize(
    "solver",
    # All that the command does with a function a class is the same for both; estimators test both.
    [("sums", "squared"), pytest.param(("means", "hinge"), marks=pytest.mark.thorough)],
    ids=lambda pair: pair[0],
)
def test_a_function_a_class_where_there_are_more_than_two(thirds, solver):
    inputs, labels = thirds
    chosen = ("--solver", solver[0], "--loss", solver[1])
    named = ("--covariate", "in_a:0:10", "--covariate", "in_b:0:10")
    made = run("classify", "three.csv", *named, *THREE, *chosen,
               "--out", "c.json", "--plot", "c.png")  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "classes 'low', 'middle' and 'high'" in made.output
    release = ReleasedPredictor.load("c.json")
    assert release.classes == ("low", "middle", "high")
    # Columns of the file are in another order than those of the options: they are found by name.
    assert release.about["domain"] == "in_b, in_a"
    at = inputs[:, ::-1]
    found = json.loads(run("eval", "c.json", "--from", "three.csv", "--json").stdout)
    scores = np.column_stack([found[f"class {name}"] for name in release.classes])
    np.testing.assert_array_equal(scores, release(at))
    assert found["predicted"] == [release.classes[place] for place in scores.argmax(axis=1)]
    assert np.mean(np.array(found["predicted"]) == labels) > 0.85
    shown = " ".join(run("show", "c.json").stdout.split())
    assert "A function of 2 inputs for each of 3 classes; the largest decides." in shown
    assert "- the classes: 'low', 'middle', 'high';" in shown
    assert run("plot", "c.json", "--plot", "again.png").exit_code == 0
    assert run("report", "c.json", "--out", "c.html").exit_code == 0
    assert release.view().names == release.classes


def test_more_inputs_than_can_be_drawn_are_told_by_words_alone(thirds):
    with open("three.csv") as handle:
        rows = [[*row, row[1]] for row in csv.reader(handle)]
    rows[0][-1] = "in_c"
    with open("wide.csv", "w", newline="") as handle:
        csv.writer(handle).writerows(rows)
    made = run("classify", "wide.csv", "--covariate", "in_*:0:10", *THREE, "--out", "c.json")
    assert made.exit_code == 0, made.output
    # Before anything is published, since a picture is asked for that cannot be drawn.
    drawn = run("classify", "wide.csv", "--covariate", "in_*:0:10", *THREE, "--out", "d.json",
                "--plot", "d.png")  # fmt: skip
    assert drawn.exit_code == 2
    assert "--plot must be left out for more than two input columns; found 3" in drawn.stderr
    assert not Path("d.json").exists()
    told = run("eval", "c.json", "--from", "wide.csv", "--csv", "told.csv")
    assert told.stdout == f"{COUNT} points written to told.csv\n"
    with open("told.csv") as handle:
        header, *_ = csv.reader(handle)
    assert header[3::3] == [
        *(f"class {name}: decision function third (the largest decides)" for name in
          ("low", "middle", "high")), "predicted: class predicted",
    ]  # fmt: skip
    assert header[4] == "class low, lower: lower end of the 0.95 band, everywhere at once"
    assert run("show", "c.json").exit_code == 0
    assert run("report", "c.json", "--out", "c.html").exit_code == 0
    # Of two classes there is a band as well.
    pair = ("--invalid", "repair", "--epsilon", 1, "--out", "two.json")
    made = run("classify", "wide.csv", "--covariate", "in_*:0:10", "--target", "third:low,high", *pair)
    assert made.exit_code == 0, made.output
    two = json.loads(run("eval", "two.json", "--from", "wide.csv", "--json").stdout)
    assert np.all(np.array(two["lower"]) < two["value"])
    for arguments, words in (
        (("plot", "c.json", "--plot", "c.png"), "at most 2 variables to be drawn; found 3"),
        (("eval", "c.json"), "Name points."),
        (("eval", "c.json", "--from", "t.csv"), "--from must be the label of a column"),
        (("eval", "c.json", "--from", "wide.csv", "--at", "1:2:3"), "--from must be given, or --at"),
    ):  # fmt: skip
        refused = run(*arguments)
        assert refused.exit_code == 2
        assert words in refused.stderr
    # A label may hold a comma, as in the file itself.
    planned = ("plan", "classify", "--units", 500, "--epsilon", 1, "--covariate", "a:0:1", "--target")
    assert run(*planned, 'side:"a, b",c').exit_code == 0


def test_a_ledger_is_charged_and_refuses(table, draws):
    created = run("ledger", "create", "l.db", "--dataset", "t", "--epsilon", 1, "--unit", "record")
    assert created.exit_code == 0, created.output
    more = ("--epsilon", 0.8, "--ledger", "l.db", "--dataset", "t")
    assert run(*REGRESS, *more, "--out", "a.json").exit_code == 0
    before = len(draws)
    refused = run(*REGRESS, *more, "--out", "b.json")
    assert refused.exit_code == 2
    assert len(draws) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*REGRESS, "--epsilon", 0), "epsilon must be positive"),
        ((*REGRESS, "--epsilon", 1, "--covariate", "who"), "--covariate must be NAME:LO:HI; found"),
        ((*REGRESS, "--epsilon", 1, "--covariate", "age:0:9"), "--covariate must be the label of a"),
        ((*REGRESS, "--epsilon", 1, "--covariate", "y:0:9"), "--covariate must match a column that"),
        ((*REGRESS, "--epsilon", 1, "--groups", "y"), "groups must differ from the target"),
        ((*REGRESS, "--epsilon", 1, "--solver", "sums", "--loss", "huber"), "'sums' for the huber loss"),
        (
            (*REGRESS, "--epsilon", 1, "--solver", "table", "--loss", "huber"),
            "solver must go without loss",
        ),
        (
            (*REGRESS, "--epsilon", 1, "--features", "grid", "--norm-bound", 2),
            "--norm-bound must go with",
        ),
        ((*CLASSIFY[:-1], "side:low", "--epsilon", 1), "--target must be NAME:A,B,.. with two or more"),
        ((*CLASSIFY[:-1], "side:low,low", "--epsilon", 1), "different labels; found 'side:low,low'"),
        (
            (*CLASSIFY, "--solver", "output", "--target", "side:low,mid,high", "--epsilon", 1),
            "more than two",
        ),
        ((*CLASSIFY[:-1], "side:low,left", "--epsilon", 1), "found another label in line "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refusals_are_one_line_and_publish_nothing(table, draws, tmp_path, arguments, words):
    result = run(*arguments, "--out", "f.json")
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "f.json").exists()
    assert not draws


def test_show_says_what_is_promised(table):
    assert (
        run(*REGRESS, "--epsilon", 1, "--groups", "who", "--unit", "person", "--out", "f.json").exit_code
        == 0
    )
    shown = " ".join(run("show", "f.json").stdout.split())
    for words in (
        "A function of 2 inputs that predicts y.",
        "The unit of protection is one person. All data of one person together count as one, provided",
        "ifferential privacy with epsilon = 1 (pure: delta = 0)",
        "in_a from 0 to 10, in_b from 0 to 10; values outside were moved to the nearer bound;",
        "the bounds of the target: 50 to 150;",
        f"the number of persons: {COUNT // 2}.",
        f"The regression function of {COUNT // 2} persons was published under",
    ):
        assert words in shown
    assert run(*CLASSIFY, "--epsilon", 9, "--out", "c.json").exit_code == 0
    answer = json.loads(run("show", "c.json", "--json").stdout)
    assert "gives the probability of 'high'." in " ".join(answer["report"].split())
    assert run(*CLASSIFY, "--epsilon", 9, "--loss", "hinge", "--out", "d.json").exit_code == 0
    margins = json.loads(run("show", "d.json", "--json").stdout)["report"]
    assert "above zero where it predicts 'high', else 'low'" in " ".join(margins.split())
    assert len(answer["warnings"]) == 1


def test_another_class_is_told_by_the_option_of_its_column(table, draws):
    result = run(*CLASSIFY[:-1], "side:low,middle", "--epsilon", 1, "-o", "c.json")
    assert result.exit_code == 2
    assert "--target must hold one of the classes ['low', 'middle']; found" in " ".join(
        result.output.split()
    )
    assert not draws
