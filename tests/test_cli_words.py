"""Words of users and of strangers on the command line: nothing moves a cursor, no picture decides."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import dpfda
from dpfda import load
from dpfda.front.app import app
from dpfda.numerics.words import visible
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import Ledger, MemoryLedger
from dpfda.privacy.ledger.history import record_from_json, releases, table, to_csv
from sample_releases import made

pytestmark = pytest.mark.usefixtures("few_draws")

Run = Callable[..., Any]
SLY = "\x1b[2J\u202e\u2066\u200b\x9b\u2028"
HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
FORMULAS = "$$", "income ($) and cost ($)", r"income ($) and $$ cost ($\frac$)"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])


@pytest.fixture
def curves(tmp_path: Path) -> Path:
    path = tmp_path / "curves.csv"
    rows = np.sin(np.linspace(0, 3, 12)) + np.linspace(-0.3, 0.3, 40)[:, None]
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow([*(f"{place / 11:.3f}" for place in range(12)), "=group"])
        writer.writerows([*row, ("=1+1", "Q $0-$50")[i % 2]] for i, row in enumerate(rows.tolist()))
    return path


def mean(run: Run, curves: Path, *more: object) -> Any:
    alone = curves.with_name("alone.csv")
    alone.write_text("\n".join(line.rpartition(",")[0] for line in curves.read_text().splitlines()))
    asked = ("--epsilon", 1, "--bounds", -2, 2, "--out", "a.json")
    return run("mean", alone, *asked, *more)


def stranger(path: Path, name: str = "default mean") -> Path:
    """A file of a release in which somebody wrote what a terminal would obey."""
    written = json.loads(made(name).save(path).read_text(encoding="utf-8"))
    written["about"] |= {"domain": f"x{SLY}", "value": f"y{SLY}"}
    written["bound"]["description"] += SLY
    path.write_text(json.dumps(written), encoding="utf-8")
    return path


# One of them has all that the others have.
@pytest.mark.parametrize(
    "label", [*(pytest.param(each, marks=pytest.mark.thorough) for each in FORMULAS[:-1]), FORMULAS[-1]]
)
def test_a_label_that_looks_like_mathematics_costs_no_picture(
    run: Run, curves: Path, label: str
) -> None:
    answer = mean(run, curves, "--y-label", label, "--x-label", label, "--plot", "a.png")
    assert (answer.exit_code, "not written" in answer.stderr) == (0, False)
    assert load("a.json").view().y_label == label
    assert Path("a.png").stat().st_size > 1000
    assert run("plot", "a.json", "--plot", "b.svg").exit_code == 0
    assert run("report", "a.json", "--out", "a.html").exit_code == 0
    Path("other.json").write_bytes(Path("a.json").read_bytes())
    assert run("plot", "a.json", "other.json", "--plot", "both.png").exit_code == 0


def test_groups_with_dollars_are_drawn(run: Run, curves: Path) -> None:
    asked = ("--by", "=group", "--epsilon", 5, "--bounds", -2, 2)
    answer = run("compare", curves, *asked, "--out", "g.json", "--plot", "g.png", "--csv", "g.csv")
    assert (answer.exit_code, "not written" in answer.stderr) == (0, False)
    assert Path("g.png").stat().st_size > 1000
    with Path("g.csv").open() as handle:
        header, *rows = csv.reader(handle)
    assert "'=1+1 minus Q $0-$50: difference in value" in header
    assert all(float(number) is not None for row in rows for number in row)
    again = run("eval", "g.json", "--from", "g.csv", "--csv", "again.csv")
    assert again.exit_code == 0, again.stderr
    assert Path("again.csv").read_text() == Path("g.csv").read_text()


def test_what_draws_may_fail_and_the_release_stands(
    run: Run, curves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("ledger", "create", "b.ledger", "--dataset", "d", "--epsilon", 9).exit_code == 0

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    open_before = mpl.pyplot.get_fignums()
    answer = mean(
        run,
        curves,
        "--plot",
        "a.png",
        "--csv",
        "a.csv",
        "--ledger",
        "b.ledger",
        "--dataset",
        "d",
        "--json",
    )
    assert answer.exit_code == 0
    assert "warning: --plot a.png was not written ([Errno 28] No space left on device)" in answer.stderr
    assert "The release is written in a.json and counts" in answer.stderr
    assert set(json.loads(answer.stdout)["files"]) == {"release", "csv"}
    assert not Path("a.png").exists()
    # What follows a picture is done all the same: the charge names its file.
    assert Ledger("b.ledger").releases()[-1]["file"] == str(Path("a.json").resolve())
    assert mpl.pyplot.get_fignums() == open_before


@pytest.mark.parametrize("path", ["a.tiff", "missing/a.png", "."])
def test_what_can_be_known_of_a_picture_is_checked_before_the_charge(
    run: Run, curves: Path, path: str
) -> None:
    run("ledger", "create", "b.ledger", "--dataset", "d", "--epsilon", 9)
    answer = mean(run, curves, "--plot", path, "--ledger", "b.ledger", "--dataset", "d")
    assert answer.exit_code == 2
    assert Ledger("b.ledger").spent("d")["epsilon"] == 0
    assert not Path("a.json").exists()


def test_a_picture_needs_no_tex_where_a_user_draws_with_it(run: Run, curves: Path) -> None:
    with mpl.rc_context({"text.usetex": True}):
        answer = mean(run, curves, "--y-label", "50% of $_", "--plot", "a.pdf")
        assert (answer.exit_code, "not written" in answer.stderr) == (0, False)
        assert run("report", "a.json", "--out", "a.html").exit_code == 0


# Verbs are the same for all kinds: one that has a band, and one of several functions, in every run.
@pytest.mark.parametrize(
    "name",
    [
        "default mean", "comparison",
        *(pytest.param(k, marks=pytest.mark.thorough) for k in ("density", "components", "survival")),
    ],
)  # fmt: skip
def test_no_verb_prints_what_a_terminal_obeys(run: Run, tmp_path: Path, name: str) -> None:
    path = stranger(tmp_path / f"a{SLY[:2]}.json", name)
    pages, statuses = ("page.html", "picture.svg"), []
    for words in (
        ["show", path], ["show", path, "--json"], ["eval", path], ["eval", path, "--csv", "t.csv"],
        ["compose", path, path], ["report", path, "--out", pages[0]], ["plot", path, "--plot", pages[1]],
        ["plot", path, "--plot", f"{SLY}.png"], ["eval", path, "--given", f"{SLY}=3"],
        ["show", f"none{SLY}.json"], ["show", path, f"--{SLY}"], [f"show{SLY}"], ["ledger", f"x{SLY}"],
    ):  # fmt: skip
        answer = run(*words)
        assert not HIDDEN.search(answer.output + answer.stderr), words
        statuses.append(answer.exit_code)
    written = [
        Path(page).read_text(encoding="utf-8") for page in (*pages, "t.csv") if Path(page).exists()
    ]
    # A file whose parts have other words than the whole is refused by every verb.
    assert written or all(statuses)
    assert not any(HIDDEN.search(text) for text in written)


def test_rows_of_a_stranger_s_ledger_hold_no_hidden_word() -> None:
    ledger = MemoryLedger().create("d", PureDP(9), unit="person")
    ledger.charge(
        "d", PureDP(1), {"summary": "mean", "neighbours": "replace-one", "privacy_unit": "person"}
    )
    rows = [record.to_json() for record in ledger.history()]
    for row in rows:
        row |= {
            "dataset": f"d{SLY}",
            "unit": f"person{SLY}",
            "details": {f"summary{SLY}": [f"mean{SLY}"]},
        }
    records = [record_from_json(row) for row in rows]
    assert not HIDDEN.search(table(releases(records)) + to_csv(records))
    assert "".join(record.dataset for record in records) == visible(f"d{SLY}") * 2


@pytest.mark.parametrize(
    "words",
    [
        ("--y-label", f"y{SLY}"), ("--x-label", f"x{SLY}"), ("--unit", f"u{SLY}"),
        ("--groups", f"c{SLY}"), ("--columns", f"c{SLY}"),
    ],
)  # fmt: skip
def test_hidden_words_are_refused_and_not_repeated(
    run: Run, curves: Path, words: tuple[str, str]
) -> None:
    run("ledger", "create", "b.ledger", "--dataset", "d", "--epsilon", 9)
    answer = mean(run, curves, "--ledger", "b.ledger", "--dataset", "d", *words)
    assert answer.exit_code == 2
    assert not HIDDEN.search(answer.output + answer.stderr)
    assert Ledger("b.ledger").spent("d")["epsilon"] == 0


def test_a_ledger_s_table_runs_nothing(run: Run) -> None:
    asked = ("--dataset", "=cmd|' /C calc'!A1", "--epsilon", 9, "--unit", "@person")
    assert run("ledger", "create", "b.ledger", *asked).exit_code == 0
    _, row = csv.reader(run("ledger", "export", "b.ledger", "--format", "csv").stdout.splitlines())
    assert "'=cmd|' /C calc'!A1" in row
    assert "'@person" in row
    assert not [text for text in row if text[:1] in tuple("=+-@")]


def test_one_function_prints() -> None:
    root = Path(dpfda.__file__).parent
    printing = [
        path.name
        for room in ("command", "front")
        for path in sorted((root / room).rglob("*.py"))
        if re.search(r"typer\.echo\(|\bprint\(|secho\(", path.read_text(encoding="utf-8"))
    ]
    # The version is our own word; so is what is said where the package that prints is missing.
    assert sorted(printing) == ["__init__.py", "app.py", "running.py"]
