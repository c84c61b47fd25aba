"""Odd text for every option of every verb: done, or refused in words, never by an unforeseen error.

Run as a program for all of them: ``python -m tests.test_command_arguments``.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda.command.publishing import Publication
from dpfda.front.app import app
from dpfda.front.verbs import declared_verbs
from odd_values import SECONDS, TooSlowError, at_most

# What comes out is tested; elsewhere, how exact the bands in it are.
pytestmark = pytest.mark.usefixtures("few_draws", "few_trials")

TEXTS = (
    "", " ", "x", "-1", "0", "1", "2.5", "1e13", "1e300", "1e-320", "1e999999999", "9" * 400, "1/3",
    "1/0", "nan", "inf", "-inf", "True", "none", "0,1", "1,0", "0:1:.1", "0:1:0", "0:0:1", "a,b", ",",
    ";", "'", "a=b", "[bold]x", "{0}", "%s", "\\", "\u00e9\u4e2d", "\u0661", "\ud800", "a\nb", "--out",
    "-", ".", "/", "no/such/file", "out.json", "other.csv", "gaussian", "matern:0:0",
    "rbf:1e300", "matern:a:b", "t_*", "x:1:0", "x:nan:1", "x:0:1e400",
)  # fmt: skip
GRID = np.linspace(0, 1, 8)
CURVES = np.sin(3 * GRID) * np.linspace(-0.5, 0.5, 24)[:, None]
BOUNDED = ("--bounds", "-1", "1")
PLANNED = ("--units", "200", "--epsilon", "1")
SPENT = ("--epsilon", "1", "--out", "new.json", "--overwrite")
# Of each verb: arguments that work.
LINES: dict[str, tuple[str, ...]] = {
    "mean": ("curves.csv", *BOUNDED, *SPENT),
    "covariance": ("curves.csv", *BOUNDED, *SPENT),
    "fpca": ("curves.csv", *BOUNDED, "--radius", "0.5", "--center", "0", *SPENT),
    "effects": ("groups.csv", "--covariate", "who:a,b", "--columns", "t_*", *BOUNDED, *SPENT),
    "scalar": (
        "scores.csv", "--target", "y:-1:1", "--columns", "t_*", *BOUNDED,
        *SPENT,
    ),
    "sample": ("curves.csv", *BOUNDED, *SPENT),
    "clusters": ("curves.csv", "--clusters", "2", *BOUNDED, *SPENT),
    "survival": ("times.csv", "--time", "t", "--event", "e", "--domain", "0", "10", *SPENT),
    "scores": (
        "times.csv", "--score", "t:0:10", "--outcome", "e", "--law", "1", "2",
        *SPENT,
    ),
    "cox": ("times.csv", "--time", "t", "--covariate", "e:0:1", "--domain", "0", "10", *SPENT),
    "reference": ("curves.csv", *BOUNDED, "--coverage", "0.2", *SPENT),
    "month": ("curves.csv", "--month", "1", "--state", "new.state", *BOUNDED, *SPENT),
    "quantile-curves": ("curves.csv", *BOUNDED, "--levels", "0.1,0.9", *SPENT),
    "keys": ("east",),
    "agree mean": ("a.card", "b.card", "--keys", "c.keys", "--points", "8", *BOUNDED, *SPENT),
    "agree density": (
        "a.card", "b.card", "--keys", "c.keys", "--column", "x:0:1", *SPENT,
    ),
    "agree covariance": (
        "a.card", "b.card", "--keys", "c.keys", "--points", "8", "--radius", "0.5", "--center", "0",
        *SPENT,
    ),
    "agree compare": (
        "a.card", "b.card", "--keys", "c.keys", "--points", "8", "--by", "arm:a,b",
        *BOUNDED, *SPENT,
    ),
    "agree effects": (
        "a.card", "b.card", "--keys", "c.keys", "--points", "8", "--covariate", "x:0:1",
        *BOUNDED, *SPENT,
    ),
    "agree fpca": (
        "a.card", "b.card", "--keys", "c.keys", "--points", "8", "--radius", "0.5", "--center", "0",
        *SPENT,
    ),
    "agree survival": ("a.card", "b.card", "--keys", "c.keys", "--domain", "0", "10", *SPENT),
    "agree test": (
        "a.card", "b.card", "--keys", "c.keys", "--points", "8", "--by", "arm:a,b", *BOUNDED, *SPENT,
    ),
    "part": ("--agreement", "agreed.json"),
    "roll": ("d.part", "e.part", "--agreement", "fewer.json", "--keys", "g.keys", "--out", "roll.json"),
    "answer": ("called.json", "--agreement", "fewer.json", "--keys", "f.keys", "--out", "f.answer"),
    "merge": ("a.part", "b.part", "--agreement", "agreed.json", "--keys", "c.keys", "--out", "all.json"),
    "compare": ("groups.csv", "--by", "who", *BOUNDED, *SPENT),
    "test": ("groups.csv", "--by", "who", *BOUNDED, *SPENT),
    "density": ("points.csv", "--column", "x:0:1", *SPENT),
    "quantiles": ("points.csv", "--column", "x:0:1", "--levels", "0.1,0.9", *SPENT),
    "regress": (
        "points.csv", "--covariate", "x:0:1", "--target", "y:0:1", *SPENT,
    ),
    "classify": (
        "points.csv", "--covariate", "x:0:1", "--target", "c:a,b", *SPENT,
    ),
    **{
        f"plan {verb}": (*PLANNED, *BOUNDED)
        for verb in (
            "mean", "compare", "test", "covariance", "fpca", "reference", "month", "quantile-curves",
            "sample", "clusters",
        )
    },
    "plan density": (*PLANNED, "--column", "x:0:1"),
    "plan quantiles": (*PLANNED, "--column", "x:0:1"),
    "plan effects": (*PLANNED, *BOUNDED, "--covariate", "x:0:1"),
    "plan scalar": (*PLANNED, *BOUNDED, "--target", "y:0:1"),
    "plan survival": (*PLANNED, "--domain", "0", "10"),
    "plan scores": (*PLANNED, "--score", "t:0:1"),
    "plan cox": (*PLANNED, "--domain", "0", "10", "--covariate", "x:0:1"),
    "plan regress": (*PLANNED, "--covariate", "x:0:1", "--target", "y:0:1"),
    "plan classify": (*PLANNED, "--covariate", "x:0:1", "--target", "c:a,b"),
    "desk": ("--no-browser", "--port", "70000"),
    "explore": ("--no-browser", "--port", "70000"),
    "demo": (),
    "run": ("study.toml", "--rest"),
    "show": ("mean.json",),
    "eval": ("mean.json", "--at", "0,0.5"),
    "plot": ("mean.json", "--plot", "new.png", "--overwrite"),
    "combine": ("mean.json", "later.json", "--out", "whole.json"),
    "compose": ("mean.json",),
    "report": ("mean.json", "--out", "new.html", "--overwrite"),
    "ledger create": ("new.ledger", "--dataset", "a", "--epsilon", "3"),
    "ledger show": ("budget.ledger",),
    "ledger raise": ("budget.ledger", "--dataset", "a", "--epsilon", "4", "--reason", "more"),
    "ledger recover": ("budget.ledger", "1", "new.json"),
    "ledger export": ("budget.ledger",),
}  # fmt: skip


def table(path: str, header: list[str], rows: list[list[object]]) -> None:
    """A CSV file."""
    text = "\n".join(",".join(map(str, row)) for row in [header, *rows])
    Path(path).write_text(text + "\n")


def make_files() -> None:
    """What the lines read, in the working directory."""
    make_tables()
    custodians("ab", "c", "agreed.json")
    custodians("def", "g", "fewer.json", "--threshold", "2")
    called = ("--agreement", "fewer.json", "--keys", "g.keys", "--out", "called.json")
    run("roll", "d.part", "e.part", *called)
    run("ledger", "create", "budget.ledger", "--dataset", "a", "--epsilon", "3")
    for out in ("mean.json", "later.json"):
        run("mean", "curves.csv", *BOUNDED, "--epsilon", "1", "--out", out)
    release = '[[release]]\nverb = "mean"\nepsilon = 1\nbounds = [-1, 1]\nout = "mean.json"\n'
    Path("study.toml").write_text(f'[data]\nfile = "curves.csv"\n{release}')


def make_tables() -> None:
    """What the lines of verbs that publish read."""
    times = [f"t_{t:.3f}" for t in GRID]
    table("curves.csv", times, CURVES.tolist())
    table("other.csv", times, CURVES.tolist())
    groups = [["ab"[i % 2], *row] for i, row in enumerate(CURVES.tolist())]
    table("groups.csv", ["who", *times], groups)
    table("scores.csv", ["y", *times], [[float(np.mean(row)), *row] for row in CURVES.tolist()])
    points = np.linspace(0.05, 0.95, 40)
    table("points.csv", ["x", "y", "c"], [[x, x**2, "ab"[int(x > 0.5)]] for x in points])
    table("times.csv", ["t", "e"], [[0.2 * i, i % 2] for i in range(40)])


def custodians(names: str, coordinator: str, agreed: str, *rules: str) -> None:
    """Their keys, their agreement and their parts."""
    for name in names:
        run("keys", name, "--units", "24")
    run("keys", coordinator)
    told = (
        "--keys",
        f"{coordinator}.keys",
        "--epsilon",
        "1",
        *BOUNDED,
        "--points",
        "8",
        "--out",
        agreed,
    )
    run("agree", "mean", *(f"{name}.card" for name in names), *told, *rules)
    for name in names:
        part = ("--agreement", agreed, "--keys", f"{name}.keys", "--out", f"{name}.part")
        run("part", "curves.csv", *part, "--fingerprint", fingerprint(agreed))


def fingerprint(agreed: str) -> str:
    """What custodians compare."""
    from dpfda.publication.custody import Agreement

    return Agreement.load(agreed).fingerprint


def run(*arguments: str):
    """The command in this process."""
    return CliRunner().invoke(app, list(arguments))


def lines() -> Iterator[tuple[str, list[str]]]:
    """Every option of every verb with every text, as it is typed."""
    for name, verb in declared_verbs().items():
        if name in ("desk", "explore"):
            # They serve until they are stopped.
            continue
        given = LINES[name]
        for place, word in enumerate(given):
            if not word.startswith("--") and (place == 0 or not given[place - 1].startswith("--")):
                for text in TEXTS:
                    yield name, [*name.split(), *given[:place], text, *given[place + 1 :]]
        for option in verb.all_options():
            if not option.flag or option.type is bool:
                continue
            for text in TEXTS:
                for typed in typings(option.type, text):
                    yield name, [*name.split(), *without(given, option.flag), option.flag, *typed]


def typings(kind: object, text: str) -> list[tuple[str, ...]]:
    """The text as the value of an option; for each of two, beside an ordinary one."""
    return [(text, "1"), ("0", text)] if getattr(kind, "__origin__", None) is tuple else [(text,)]


def without(given: tuple[str, ...], flag: str) -> list[str]:
    """The line without an option and its values."""
    kept, inside = [], False
    for word in given:
        inside = word == flag or (inside and not word.startswith("--"))
        if not inside:
            kept.append(word)
    return kept


def complaint(typed: list[str]) -> str | None:
    """What is wrong with the answer; None where nothing is."""
    start = time.process_time()
    try:
        with at_most(4 * SECONDS):
            done = run(*typed)
    except TooSlowError:
        return f"stopped after {4 * SECONDS:g} s"
    taken = time.process_time() - start
    if taken > 2 * SECONDS:
        return f"took {taken:.1f} s"
    said = " ".join(done.output.split())
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"raised {type(done.exception).__name__}: {done.exception}"
    if done.exit_code not in (0, 1, 2) or "unexpected" in said or "Traceback" in said:
        return f"exit {done.exit_code}: {said[-200:]}"
    if done.exit_code and len(said) < 10:
        return f"exit {done.exit_code} without a word"
    return None


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("DPFDA_LEDGER", "DPFDA_DATASET", "DPFDA_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    make_files()
    return tmp_path


def test_every_verb_has_a_line_that_works(folder):
    assert set(LINES) == set(declared_verbs())
    refused = set()
    for name, given in LINES.items():
        if run(*name.split(), *given).exit_code:
            refused.add(name)
        elif isinstance(declared_verbs()[name], Publication):
            # What was charged can be read again.
            assert run("show", "new.json").exit_code == 0, name
    # There is no such port, and no charge to be recovered.
    assert refused == {"desk", "explore", "ledger recover"}


def test_odd_text_is_used_or_refused_in_words(folder):
    tried = list(lines())
    chosen = np.random.default_rng(2027).permutation(len(tried))[:50]
    found = [(tried[number][1], complaint(tried[number][1])) for number in chosen]
    assert [pair for pair in found if pair[1] is not None] == []


def main(*names: str) -> None:
    os.chdir(tempfile.mkdtemp(prefix="dpfda-command-"))
    make_files()
    tried = [typed for name, typed in lines() if not names or name in names]
    bad = 0
    # In random order, so that what was done when it is stopped is a sample.
    for count, number in enumerate(np.random.default_rng(1).permutation(len(tried)), 1):
        found = complaint(tried[number])
        if found is not None:
            bad += 1
            print(tried[number], found, flush=True)
        if count % 50 == 0 or count == len(tried):
            print(f"{bad} of {count}, of {len(tried)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
