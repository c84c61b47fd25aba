"""What is typed and what is said: letters, completion, pipes, and remedies that can be typed."""

import os
import re
import subprocess
import sys
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpfda import Ledger, PrivateCovariance, PrivateMean, PrivateQuantiles, load
from dpfda.command.declared import SHORT
from dpfda.command.running import typed
from dpfda.errors import DataError, DpfdaError, ParameterError, RefusedMechanismError, StorageError
from dpfda.front.app import app
from dpfda.front.verbs import declared_verbs
from dpfda.numerics.errors import InPython
from dpfda.privacy.guarantees import PureDP

CURVES = 0.5 + 0.2 * np.sin(np.linspace(0, 3, 12)) + np.linspace(-0.1, 0.1, 40)[:, None]
VERBS = declared_verbs()


def run(*arguments, **settings):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **settings)


def flat(text):
    return " ".join(text.split())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    header = ",".join(f"t{i}" for i in range(12))
    np.savetxt("curves.csv", CURVES, delimiter=",", header=header, comments="")
    PrivateMean(1.0, bounds=(0, 1)).fit(CURVES).release_.save("mean.json")
    return tmp_path


@pytest.mark.parametrize("name", VERBS)
def test_a_letter_means_one_option_of_a_verb(name):
    letters = [SHORT[option.flag] for option in VERBS[name].all_options() if option.flag in SHORT]
    assert len(set(letters)) == len(letters)
    assert "-h" not in letters


def test_letters_do_what_the_words_do(folder):
    short = run("mean", "curves.csv", "-e", 1, "-b", 0, 1, "-c", "t*", "-o", "a.json", "-j")
    assert short.exit_code == 0, short.output
    assert '"epsilon": 1' in short.stdout
    planned = ("--epsilon", 1, "--bounds", 0, 1)
    assert (
        run("plan", "-n", 50, "-e", 1, "-b", 0, 1).stdout == run("plan", "--units", 50, *planned).stdout
    )
    assert run("eval", "mean.json", "-a", "0.5").stdout == run("eval", "mean.json", "--at", "0.5").stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("dpfda fp", {"fpca"}),
        ("dpfda mean --eps", {"--epsilon"}),
        ("dpfda plan den", {"density"}),
        ("dpfda plan --ban", {"--band"}),
        ("dpfda plan classify --tar", {"--target"}),
        ("dpfda ledger cr", {"create"}),
        ("dpfda mean --invalid re", {"refuse", "repair"}),
        ("dpfda eval --of s", {"sample"}),
        ("dpfda compare curves.csv --by t1", {"t1", "t10", "t11"}),
        ("dpfda compare values.csv --groups 0", set()),
        ("dpfda compare nothing.csv --by w", set()),
        ("dpfda density --column a:0:1 --mechanism k", {"kernel"}),
        ("dpfda mean --mechanism k", {"knorm"}),
        ("dpfda mean --ledger budget.ledger --dataset s", {"scans-2025", "scans-2026"}),
        ("dpfda ledger show budget.ledger --dataset scans-2026", {"scans-2026"}),
        ("dpfda mean --ledger curves.csv --dataset s", set()),
        ("dpfda mean --groups person --unit p", {"person"}),
        ("dpfda show --language d", {"de"}),
        ("dpfda test --look-for b", {"bend", "bumps"}),
        ("dpfda classify --loss s", {"squared"}),
    ],
)
def test_a_shell_is_told_how_words_go_on(typed, offered, folder):
    np.savetxt("values.csv", CURVES, delimiter=",")
    for name in ("scans-2025", "scans-2026"):
        Ledger("budget.ledger").create(name, PureDP(1))
    asked = {"_DPFDA_COMPLETE": "complete_bash", "COMP_WORDS": typed}
    asked["COMP_CWORD"] = str(len(typed.split()) - 1)
    assert set(run(prog_name="dpfda", env=asked).stdout.split()) == offered
    if typed == "dpfda fp":
        # As a shell asks, in a process of its own.
        made = subprocess.run(
            [sys.executable, "-c", "from dpfda.front import main; main()"],
            env=os.environ | asked, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert set(made.stdout.split()) == offered


@pytest.mark.parametrize("line", [("show",), ("eval", "--at", "0.5"), ("compose",)])
def test_a_release_is_piped_in(folder, line):
    content = (folder / "mean.json").read_bytes()
    piped, named = run(line[0], "-", *line[1:], input=content), run(line[0], "mean.json", *line[1:])
    assert piped.exit_code == 0, piped.output
    assert piped.stdout.replace("-:", "mean.json:") == named.stdout
    refused = run(line[0], "-", *line[1:], input=b"hello")
    assert refused.exit_code == 2


def test_every_verb_that_reads_records_takes_a_pipe(folder):
    content = (folder / "curves.csv").read_bytes()
    setting = ("-e", 1, "-b", 0, 1, "-o", "piped.json")
    assert run("mean", "-", *setting, input=content).exit_code == 0
    for name, verb in VERBS.items():
        (file,) = [
            option for option in verb.all_options() if option.name == "file" and not option.flag
        ] or [None]
        if file is not None and not name.startswith(("ledger", "part")):
            assert "standard input" in file.help, name


@pytest.mark.parametrize(
    ("error", "words", "python"),
    [
        (
            DpfdaError("Use $missing to fill gaps", missing="complete"),
            "Use --missing complete to fill gaps",
            "Use missing='complete' to fill gaps",
        ),
        (
            DpfdaError(
                "Pass $bounds$bodies in units", bounds=["a", "b"], bodies=InPython(", L2Ball(r)")
            ),
            "Pass --bounds a b in units",
            "Pass bounds=(a, b), L2Ball(r) in units",
        ),
        (
            DpfdaError("a curve as $center", center=InPython("center")),
            "a curve as --center",
            "a curve as center",
        ),
        (DpfdaError("Set $radius.", radius=0.5), "Set --radius 0.5.", "Set radius=0.5."),
        (
            DpfdaError("Use $mechanism.", mechanism=("knorm", "iclp")),
            "Use --mechanism knorm or iclp.",
            "Use mechanism='knorm' or 'iclp'.",
        ),
        (DpfdaError("or $overwrite", overwrite=True), "or --overwrite", "or overwrite=True"),
        (DpfdaError("by $columns", columns="t[0-9]*"), "by --columns 't[0-9]*'", "by columns='t[0-9]*'"),
        (DpfdaError("as in $na", na=["'k.A.'"]), "as in --na k.A.", "as in na=('k.A.',)"),
        (
            DpfdaError("Use $raise_budget", raise_budget=InPython("raise_budget")),
            "Use dpfda ledger raise",
            "Use raise_budget",
        ),
        (DpfdaError("found $shape", shape=["3", "0"]), "found shape=(3, 0)", "found shape=(3, 0)"),
        # What is written into a message is no part of it.
        (DpfdaError("found missing='complete'"), "found missing='complete'", "found missing='complete'"),
        (
            ParameterError("missing", "be 'refuse'", "0"),
            "--missing must be 'refuse'; found 0.",
            "missing must be 'refuse'; found 0.",
        ),
        (
            ParameterError("domain_range", "hold the grid", "0"),
            "--domain must hold the grid; found 0.",
            "domain_range must hold the grid; found 0.",
        ),
        (
            ParameterError("path", "be $none here", None),
            "FILE must be left out here; found none.",
            "path must be None here; found None.",
        ),
        (DataError("groups must differ.", "groups"), "--groups must differ.", "groups must differ."),
        # Nor are names between quotes, or what is found.
        (
            DpfdaError("'df$groups' or 'a$none.csv': $none"),
            "'df$groups' or 'a$none.csv': left out",
            "'df$groups' or 'a$none.csv': None",
        ),
        (
            DpfdaError("a file's column \"'$bounds\" is no unit's; $none", bounds=1),
            "a file's column \"'$bounds\" is no unit's; left out",
            "a file's column \"'$bounds\" is no unit's; None",
        ),
        (
            ParameterError("missing", "be $way", "$way or $none", "See $place.", way="x", place="$way"),
            "--missing must be way='x'; found $way or $none. See $way.",
            "missing must be way='x'; found $way or $none. See place='$way'.",
        ),
        # Words of a file that begin like a parameter are no parameter.
        (DataError("center must stand"), "center must stand", "center must stand"),
        (
            ParameterError("bounds of the week", "differ", "0"),
            "bounds of the week must differ; found 0.",
            "bounds of the week must differ; found 0.",
        ),
    ],
)
def test_parts_are_said_as_they_are_typed_and_as_python_writes_them(error, words, python):
    assert typed(error, VERBS["covariance"].all_options()) == words
    assert str(error) == python
    # What comes back from a worker, which is copied as by pickle, has its parts.
    assert typed(deepcopy(error), VERBS["covariance"].all_options()) == words


@pytest.mark.parametrize("name", ["$none", "$groups", "$place", "$bounds", "${found}", "it's $long"])
def test_names_of_files_and_columns_are_said_as_they_are(name, tmp_path):
    with pytest.raises(StorageError) as refused:
        load(tmp_path / f"{name}.json")
    assert f"{name}.json" in str(refused.value)
    assert f"{name}.json" in typed(refused.value)
    table = pd.DataFrame(np.zeros((3, 3)), columns=[name, "a", "b"])
    with pytest.raises(DataError) as refused:
        PrivateMean(1, bounds=(0, 1)).fit(table)
    assert name in str(refused.value)
    assert name in typed(refused.value)


def test_an_error_under_another_name_keeps_the_rest():
    error = RefusedMechanismError("delta", "be positive", "0", "Use $solver.", "Theorem", solver="sums")
    other = error.having(parameter=InPython("--d"))
    assert str(error) == "delta must be positive; found 0. Use solver='sums'. [Theorem]"
    assert str(other) == "--d must be positive; found 0. Use solver='sums'. [Theorem]"
    assert (error.parameter, other.parameter, other.theorem) == ("delta", "--d", "Theorem")
    assert (other.constraint, other.remedy) == ("be positive", "Use solver='sums'. [Theorem]")
    assert typed(other, VERBS["regress"].all_options()).endswith("Use --solver sums. [Theorem]")


def named(said):
    """Options that a message names, and what is left of Python in it."""
    return set(re.findall(r"--[a-z][\w-]*", said)), re.findall(r"\b[a-z_]+=\S*", said)


BOUNDED = ("--bounds", "0", "1")
SPENT = ("--epsilon", "1", "--out", "new.json", "--overwrite")
WRONG = [
    ("mean", "gaps.csv", *BOUNDED, *SPENT),
    ("covariance", "gaps.csv", *BOUNDED, *SPENT),
    ("fpca", "gaps.csv", *BOUNDED, *SPENT),
    ("compare", "groups.csv", "--by", "who", *BOUNDED, *SPENT),
    ("mean", "words.csv", *BOUNDED, *SPENT),
    ("mean", "curves.csv", *SPENT),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--mechanism", "gaussian"),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--mechanism", "elliptical"),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--mechanism", "moon"),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--public-size", "9"),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--groups", "who"),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--kernel", "rbf"),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--domain", "1", "0"),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--id", "a"),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--rho", "1"),
    ("covariance", "curves.csv", *BOUNDED, *SPENT, "--neighbours", "add-remove", "--center", "pairs"),
    ("fpca", "curves.csv", *BOUNDED, *SPENT, "--n-components", "99"),
    ("fpca", "curves.csv", *BOUNDED, *SPENT, "--mechanism", "moon"),
    ("survival", "curves.csv", "--time", "t1", "--domain", "0", "0", *SPENT),
    ("regress", "curves.csv", "--covariate", "t2:1:0", "--target", "t1:0:1", *SPENT),
    ("regress", "curves.csv", "--covariate", "t2:0:1", "--target", "t1:1:0", *SPENT),
    ("density", "curves.csv", *SPENT),
    ("density", "gaps.csv", "--column", "t1:0:1", *SPENT),
    ("density", "curves.csv", "--column", "t1:1:0", *SPENT),
    ("regress", "gaps.csv", "--covariate", "t1:0:1", "--target", "t2:0:1", *SPENT),
    ("regress", "gaps.csv", "--covariate", "t2:0:1", "--target", "t1:0:1", *SPENT),
    ("classify", "gaps.csv", "--covariate", "t2:0:1", "--target", "t1:0,1", *SPENT),
    ("classify", "curves.csv", "--covariate", "t2:0:1", "--target", "t1:0,1", *SPENT,
     "--loss", "squared", "--solver", "moon"),
    ("classify", "curves.csv", "--covariate", "t2:0:1", "--target", "t1:0,1", *SPENT,
     "--loss", "logistic", "--solver", "sums"),
    ("survival", "gaps.csv", "--time", "t1", "--domain", "0", "1", *SPENT),
    ("survival", "gaps.csv", "--time", "t2", "--event", "t1", "--domain", "0", "1", *SPENT),
    ("survival", "gaps.csv", "--time", "t2", "--by", "t3", "--domain", "0", "1", *SPENT),
    ("scores", "curves.csv", "--score", "t1:1:0", "--outcome", "t2", *SPENT),
    ("scores", "curves.csv", "--score", "t1:0:1", "--outcome", "t2", *SPENT),
    ("scores", "gaps.csv", "--score", "t1:0:1", "--outcome", "t1", *SPENT),
    ("plan", "mean", "--units", "50", "--epsilon", "1"),
    ("plan", "mean", "--units", "50", *BOUNDED),
    ("plan", "mean", "--units", "1", "--epsilon", "1", *BOUNDED),
    ("plan", "covariance", "--units", "50", "--epsilon", "1", *BOUNDED, "--mechanism", "moon"),
    ("plan", "density", "--units", "50", "--epsilon", "1"),
    ("plan", "mean", "--units", "50", "--epsilon", "1", *BOUNDED, "--domain", "x", "y"),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--grid", "1"),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--domain", "x", "y"),
    ("eval", "mean.json", "--quantiles", "0.5"),
    ("eval", "mean.json", "--at", "7"),
    ("eval", "mean.json", "--band-kind", "moon"),
    ("eval", "cov.json", "--derivative"),
    ("plot", "mean.json", "cov.json", "--plot", "x.png"),
    ("plot", "cov.json", "--difference", "--plot", "x.png"),
    ("compose", "mean.json", "--kind", "moon"),
    ("report", "mean.json", "--out", "curves.csv"),
    ("report", "mean.json", "--out", "new.pdf"),
    ("combine", "mean.json", "mean.json", "--out", "new.json", "--overwrite"),
    ("compose", "mean.json", "--kind", "pure", "--delta", "1e-6"),
    ("plan", "covariance", "--units", "50", "--epsilon", "1"),
    ("plan", "scalar", "--units", "50", "--epsilon", "1", *BOUNDED, "--target", "y:1:0"),
    ("scores", "curves.csv", "--score", "nobody:0:1", "--outcome", "t2", *SPENT),
    ("cox", "curves.csv", "--time", "t1", "--domain", "0", "1", "--covariate", "t2:1:0", *SPENT),
    ("cox", "curves.csv", "--time", "t1", "--domain", "0", "1", "--covariate", "nobody:0:1", *SPENT),
    ("mean", "curves.csv", *BOUNDED, "--out", "new.json", "--overwrite"),
    ("mean", "curves.csv", "--bounds", "1", "0", *SPENT),
    ("mean", "curves.csv", *BOUNDED, *SPENT, "--ledger", "budget.ledger"),
    ("eval", "quantiles.json", "--at", "0.3"),
    ("keys", "north", "--units", "0"),
]  # fmt: skip


@pytest.fixture
def wrong(folder):
    gaps = CURVES.astype(str)
    gaps[3, 1] = ""
    header = ",".join(f"t{i}" for i in range(12))
    (folder / "gaps.csv").write_text("\n".join([header, *(",".join(row) for row in gaps)]))
    gaps[3, 1] = "seven"
    (folder / "words.csv").write_text("\n".join([header, *(",".join(row) for row in gaps)]))
    gaps[3, 1] = ""
    rows = [",".join(["ab"[i % 2], *row]) for i, row in enumerate(gaps)]
    (folder / "groups.csv").write_text("\n".join([f"who,{header}", *rows]))
    PrivateCovariance(1.0, bounds=(0, 1)).fit(CURVES).release_.save("cov.json")
    PrivateQuantiles(1.0, domain=(0, 1)).fit(CURVES[:, 0]).release_.save("quantiles.json")
    return folder


def test_what_an_error_tells_to_do_can_be_typed(wrong):
    """Options that it names are those of the verb or command that it names; nothing of Python."""
    for line in WRONG:
        result = run(*line)
        said = flat(result.stderr)
        assert result.exit_code == 2, (line, result.output)
        name = next(n for n in (" ".join(line[:2]), line[0]) if n in VERBS)
        other = {
            option.flag
            for words in re.findall(r"dpfda ((?:ledger )?[a-z]+)", said)
            for option in (VERBS[words].all_options() if words in VERBS else ())
        }
        flags, python = named(said)
        known = {option.flag for option in VERBS[name].all_options()} | other
        assert flags <= known, (line, said)
        assert not python, (line, said)
        assert not re.search(r"\b[a-z]+_[a-z_]+\b", said), (line, said)
        assert "seven" not in said
        assert not re.search(r"\b(None|True|n_samples)\b|\w\(\w", said), (line, said)


def test_an_option_of_another_verb_is_said_to_be_its(folder):
    said = flat(run("mean", "curves.csv", "--coverage", "0.9").stderr)
    assert "No such option: --coverage" in said
    assert "an option of dpfda reference" in said
    assert "--overwrite" not in said
    said = flat(run("quantiles", "ages.csv", "--columns", "age").stderr)
    assert "an option of dpfda clusters" in said
    assert "and others" in said
    assert "Possible options: --column)" in said


def test_an_option_has_its_own_values_and_one_at_a_time(folder):
    line = ["mean", "curves.csv", "--epsilon", "1", "--bounds", "0", "9", "--dry-run"]
    assert run(*line).exit_code == 0
    groups = "survival t.csv --epsilon 1 --domain 0 9 --time t --event e --by a:x,y --by b:u,v --dry-run"
    assert "Option '--by' takes one column here" in flat(run(*groups.split()).stderr)
    twice = flat(run(*line, "--epsilon", "2").stderr)
    assert "--epsilon is given more than once: the last one counts, 2" in twice
    said = flat(run("mean", "curves.csv", "--bounds", "0,9", "--epsilon", "1").stderr.replace("│", ""))
    assert "Option '--bounds' lacks a value before '--epsilon'. Write --bounds LO HI." in said
    said = flat(run(*line, "--x-label", "--rho", "2").stderr.replace("│", ""))
    assert "Option '--x-label' lacks a value before '--rho'." in said
    # What may be given several times is.
    assert (
        run(
            "plan",
            "cox",
            *["--units", "50", "--epsilon", "1", "--domain", "0", "9"],
            *["--covariate", "age:0:9", "--covariate", "arm:a,b"],
        ).exit_code
        == 0
    )


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("density ages.csv --domain 0 9", "Write --column NAME:LO:HI, which has the bounds."),
        ("quantiles ages.csv --bounds 0 9", "Write --column NAME:LO:HI, which has the bounds."),
        ("scores ages.csv --domain 0 9", "Write --score NAME:LO:HI, which has the bounds."),
        ("plan classify --feature age:0:9", "Write --covariate NAME:LO:HI, or NAME:A,B for levels."),
        ("mean curves.csv --column 0", "Write --columns PATTERN for columns of the curve."),
        ("plot a.json --out a.png", "Write --plot F.png."),
        ("part curves.csv --missing complete", "give it to dpfda agree."),
    ],
)
def test_what_an_option_is_called_here_is_said(folder, line, remedy):
    said = flat(run(*line.split()).stderr.replace("│", ""))
    assert said.count(remedy) == 1
    assert "an option of" not in said
    assert "Possible options" not in said


def test_all_that_is_missing_is_said_at_once(folder):
    line = ("survival", "scans.csv", "--epsilon", 1, "--event", "died")
    refused = run(*line)
    assert refused.exit_code == 2
    assert "Write --domain A B --time COLUMN --out F.json." in flat(refused.stderr)
    # A dry run writes nothing.
    assert "Write --domain A B --time COLUMN." in flat(run(*line, "--dry-run").stderr)
    assert "Write --out F.json." in flat(run(*line, "--domain", 0, 9, "--time", "year").stderr)


def test_a_plan_that_takes_long_says_so(monkeypatch):
    monkeypatch.setattr("dpfda.command.planning.needed", lambda *_: {"least_epsilon": None})
    machine = ("--covariate", "x:0:1", "--target", "y:0:1", "--units", 50, "--json")
    made = run("plan", "regress", *machine, "--band", "50%")
    assert made.exit_code == 0, made.output
    assert "made-up records, which may take minutes" in flat(made.stderr)
    covered = ("--covariate", "x:0:1", "--domain", 0, 9, "--units", 50)
    made = run("plan", "cox", *covered, "--error", 0.5, "--json")
    assert "minutes" not in made.stderr


def test_a_word_for_missing_values_is_suggested_once(folder):
    (folder / "words.csv").write_text("0,1,2\n1,k.A.,2\n")
    said = flat(
        run("mean", "words.csv", "--epsilon", "1", "--bounds", "0", "9", "--out", "a.json").stderr
    )
    assert "as in --na k.A.; or name another column" in said


def test_keys_that_exist_are_not_made_again(folder):
    assert run("keys", "north").exit_code == 0
    again = flat(run("keys", "north").stderr)
    assert "NAME must be new; found 'north'. Take another name" in again
