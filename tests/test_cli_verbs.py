"""The command's own machinery: verbs by scan, options worded by estimators, every kind of release."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from csv_rows import csv_rows
from dpfda import PrivateDensity, PrivateMean, load
from dpfda.bases import BoxBasis
from dpfda.command.declared import documented
from dpfda.front import verbs
from dpfda.front.app import app, build
from dpfda.front.verbs import declared_verbs

pytestmark = pytest.mark.usefixtures("few_draws")

FILES = sorted(
    path for path in (Path(__file__).parent / "golden" / "v1").glob("*.json") if path.stem != "readings"
)
# Some of the most different in every run, where test_the_command_knows_it has a release of each kind.
FEW = ("comparison", "counts", "lattice", "mean_pure", "regressor", "two_stages_last_gaussian")
SOME = [path if path.stem in FEW else pytest.param(path, marks=pytest.mark.thorough) for path in FILES]
A_VERB = '''
import typer
from dpfda.command.functions import Verb

def greet(name: str = "stranger", *, repeat: int = 1, as_json: bool = False) -> None:
    """Greet somebody, as often as is asked for.

    Parameters
    ----------
    name : NAME
        Whom.
    repeat : --times N ($GREET_TIMES)
        How often.

    Examples
    --------
    dpfda greet Ada --times 2
    """
    for _ in range(repeat):
        typer.echo(f"Good day, {name}.")

VERB = Verb.of(greet)
'''
A_PUBLICATION = """
from dpfda.command.publishing import Publication
from dpfda.command.reading import Curves

VERB = Publication(
    name="shape",
    words="Publish the mean shape.",
    estimators=("dpfda.mean.estimator:PrivateMean",),
    reader=Curves(),
    bounded=True,
    examples=("dpfda shape scans.csv --epsilon 1 --standardize --out shape.json",),
)
"""


def run(*arguments, command=app):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def with_files(tmp_path, monkeypatch):
    """Puts a file among the verbs."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "more_verbs"
    folder.mkdir()
    monkeypatch.setattr(verbs, "__path__", [*verbs.__path__, str(folder)])
    yield lambda name, text: (folder / f"{name}.py").write_text(text)
    for name in ("greet", "shape"):
        sys.modules.pop(f"dpfda.front.verbs.{name}", None)


def test_a_verb_is_one_file(with_files):
    with_files("greet", A_VERB)
    command = build()
    assert "Greet somebody" in run("--help", command=command).stdout
    told = run("greet", "Ada", "--times", 2, command=command)
    assert (told.exit_code, told.stdout) == (0, "Good day, Ada.\nGood day, Ada.\n")
    helped = " ".join(run("greet", "-h", command=command).stdout.split())
    assert "dpfda greet Ada --times 2" in helped
    for words in ("Whom.", "--times N How often. [env var: GREET_TIMES]", "Print one JSON object"):
        assert words in helped, words
    assert "Parameters" not in helped


def test_a_verb_that_publishes_is_one_declaration(with_files, tmp_path):
    with_files("shape", A_PUBLICATION)
    rows = [",".join(f"p_{j}" for j in range(6))] + [
        ",".join(str((i * j) % 7) for j in range(6)) for i in range(1, 20)
    ]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    done = run(
        "shape", "t.csv", "--epsilon", 2, "--standardize", "--out", "s.json", "--csv", "s.csv",
        command=build(),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert load("s.json").guarantee.epsilon == 2
    assert Path("s.csv").read_text().startswith("point: t (units of the grid),value: ")


@pytest.mark.parametrize(
    ("homes", "made"),
    [
        (("dpfda.mean.estimator:PrivateMean",), PrivateMean(1)),
        (
            ("dpfda.density.estimator:PrivateDensity", "dpfda.mean.estimator:PrivateMean"),
            PrivateDensity(1),
        ),
    ],
)
def test_parameters_are_read_without_importing_the_estimator(homes, made):
    found = documented(homes)
    objects = made.settings
    fields = {**objects.domain.get_params(), **objects.unit.get_params(), **objects.reading.get_params()}
    stated = fields | made.get_params() | {"epsilon": found["epsilon"].default}
    assert {name: parameter.default for name, parameter in found.items()} == stated
    for name, parameter in found.items():
        assert parameter.words, name
    assert found["neighbours"].choices == ("replace-one", "add-remove")


def test_a_summary_that_inherits_its_constructor_has_its_parameters(tmp_path, monkeypatch):
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "__init__.py").touch()
    text = 'class PrivateLevel(PrivateMean):\n    """The mean of one number a record."""\n'
    (tmp_path / "strange" / "level.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    own = "dpfda.mean.estimator:PrivateMean"
    assert documented(("strange.level:PrivateLevel", own)) == documented((own,))


def test_words_of_another_estimator_are_found_there():
    homes = ("dpfda.mean.comparison.estimator:PrivateComparison", "dpfda.mean.estimator:PrivateMean")
    own, both = documented(homes[:1]), documented(homes)
    assert own.keys() == both.keys()
    assert not own["basis"].words
    assert both["basis"].words == documented(homes[1:])["basis"].words
    assert both["levels"].words == own["levels"].words


def test_every_option_of_a_verb_has_words():
    silent = {
        (name, option.flag or option.name)
        for name, verb in declared_verbs().items()
        for option in verb.all_options()
        if len(option.help.split()) < 2
    }
    assert silent == set()


def test_help_says_the_default_of_the_estimator():
    words = " ".join(run("mean", "--help").stdout.replace("│", " ").split())
    assert "by default a sum of Matern kernels" in words
    assert "Under add/remove only" in words


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_every_kind_is_shown(path):
    shown = run("show", path)
    assert shown.exit_code == 0, shown.stderr
    for title in ("What was published", "Who is protected", "What is promised", "Releasing again"):
        assert title in shown.stdout
    answer = json.loads(run("show", path, "--json").stdout)
    assert answer["report"] == shown.stdout.rstrip("\n")
    assert answer["guarantee"]["words"] == str(load(path).guarantee)
    assert {"neighbours", "privacy_unit", "warnings"} <= answer.keys()


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_every_kind_is_evaluated(path, tmp_path):
    release = load(path)
    ends = release.domain_range
    box = ends if isinstance(ends[0], tuple | list) else [ends]
    middle = [sum(pair) / 2 for pair in box]
    count = 2 if type(release).__name__ == "ReleasedCovariance" else 1
    at = ":".join(str(x) for x in middle * count)
    out = tmp_path / "values.csv"
    done = run("eval", path, "--at", at, "--csv", out)
    assert done.exit_code == 0, done.stderr
    assert "1 point written" in done.stdout
    with out.open() as handle:
        (row,) = csv_rows(handle)
    assert len(row) >= 2


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.stem)
def test_every_kind_is_composed(path):
    told = run("compose", path, path)
    assert told.exit_code == 0, told.stderr
    assert told.stdout.count("(counted before)") == 1


DRAWN = (
    "comparison",
    "components_noisy",
    "covariance",
    "density_plane",
    "field",
    "mean_pure",
    "regressor",
)


@pytest.mark.parametrize("name", DRAWN)
def test_kinds_are_drawn(name, tmp_path):
    (path,) = (path for path in FILES if path.stem == name)
    picture = tmp_path / "a.png"
    drawn = run("plot", path, "--plot", picture)
    assert drawn.exit_code == 0, drawn.stderr
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_what_has_no_picture_is_refused(tmp_path):
    box = BoxBasis.on_grid("cosine", (3, 3, 3), [(0, 1)] * 3)
    solid = PrivateMean(1.0, bounds=(0, 1), basis=box).fit(np.ones((9, 3, 3, 3))).release_
    refused = run("plot", solid.save(tmp_path / "solid.json"), "--plot", tmp_path / "a.png")
    assert refused.exit_code == 2
    assert "must have at most 2 variables to be drawn; found 3" in refused.stderr


def test_messages_can_be_typed_as_they_stand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("p_1,p_2,p_3\n1,2,3\n4,,6\n")
    mean = ("mean", "t.csv", "--epsilon", 1, "--bounds", 0, 9, "--out", "m.json")
    assert "Use --missing complete" in run(*mean).stderr
    assert "error: --epsilon must be positive; found 0." in run(*mean, "--epsilon", 0).stderr
    assert "error: --kernel must be matern" in run(*mean, "--kernel", "x").stderr


def test_the_list_of_verbs_loads_no_estimator(tmp_path):
    code = (
        "import sys; from dpfda.front.app import app; app(['--help'], standalone_mode=False); "
        "assert not {'numpy', 'sklearn', 'dpfda.spine', 'dpfda.mean.estimator'} & set(sys.modules)"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


CURVES_FILE = "0,0.5,1\n" + "0.1,0.2,0.3\n0.2,0.4,0.1\n" * 20
WITH_RHO = {
    "mean": ("--bounds", 0, 1),
    "compare": ("--bounds", 0, 1, "--by", "side", "--columns", "[0-9]*"),
    "test": ("--bounds", 0, 1, "--by", "side", "--columns", "[0-9]*"),
    "covariance": ("--bounds", 0, 1, "--radius", 0.5),
    "density": ("--column", "0.5:0:1"),
    "regress": ("--covariate", "0:0:1", "--target", "1:0:1"),
    "quantiles": ("--column", "0.5:0:1", "--step", 0.1, "--levels", "0.25,0.75"),
}


@pytest.mark.parametrize("verb", WITH_RHO)
def test_rho_is_typed_beside_delta(verb, tmp_path):
    rows = CURVES_FILE.splitlines()
    if verb in ("compare", "test"):
        rows = [f"{row},{'side' if not n else 'ab'[n % 2]}" for n, row in enumerate(rows)]
    (tmp_path / "c.csv").write_text("\n".join(rows) + "\n")
    common = (verb, tmp_path / "c.csv", *WITH_RHO[verb], "--out", tmp_path / "f.json")
    found = run(*common, "--rho", "0.1")
    assert found.exit_code == 0, found.stderr
    # Text is read as the decimal that it is, and the file says what was promised.
    written = json.loads((tmp_path / "f.json").read_text())
    guarantee = written.get("guarantee") or written["means"][0]["guarantee"]
    assert guarantee["kind"] == "zero-concentrated"
    assert "1/10" in json.dumps(guarantee) or "0.1" in json.dumps(guarantee)
    for given, words in (
        ((), "epsilon must be a number; found none. It has no default: choose it, or rho in its place"),
        (("--epsilon", 1, "--rho", 0.1), "--rho must be given instead of epsilon, not beside it"),
        (("--rho", 0.1, "--delta", 1e-6), "--delta must be 0 beside rho"),
    ):
        refused = run(*common, *given, "--overwrite")
        assert refused.exit_code == 2, refused.stderr
        assert words in " ".join(refused.stderr.split())


def test_a_pattern_leaves_out_columns_with_another_use(tmp_path):
    rows = [f"{n},{'ab'[n % 2]},{n % 3},{n % 5},{n % 2}" for n in range(40)]
    (tmp_path / "c.csv").write_text("\n".join(["house,hue,h0,h1,h2", *rows]) + "\n")
    common = (tmp_path / "c.csv", "--columns", "h*", "--grid", "0:2:1", "--groups", "house")
    common = (*common, "--bounds", 0, 5, "--epsilon", 1, "--overwrite", "--out", tmp_path / "f.json")
    for words in (("compare", "--by", "hue:a,b"), ("effects", "--covariate", "hue:a,b")):
        made = run(words[0], *common, *words[1:])
        assert made.exit_code == 0, made.stderr
        assert load(tmp_path / "f.json").grid_points.size == 3
    refused = run("compare", *common[:2], "house,h*", *common[3:], "--by", "hue:a,b")
    assert refused.exit_code == 2


def test_groups_by_several_columns_are_crossed(tmp_path):
    rows = CURVES_FILE.splitlines()
    labels = [f"{'ab'[n % 2]},{'ns'[n // 2 % 2]}" for n in range(len(rows))]
    rows = [f"{row},{'tariff,region' if not n else labels[n]}" for n, row in enumerate(rows)]
    (tmp_path / "c.csv").write_text("\n".join(rows) + "\n")
    common = (
        "compare",
        tmp_path / "c.csv",
        "--bounds",
        0,
        1,
        "--epsilon",
        1,
        "--out",
        tmp_path / "f.json",
    )
    columns = ("--columns", "[0-9]*")
    found = run(*common, *columns, "--by", "tariff:b,a", "--by", "region")
    assert found.exit_code == 0, found.stderr
    written = json.loads((tmp_path / "f.json").read_text())
    assert [group["name"] for group in written["groups"]] == ["b / n", "b / s", "a / n", "a / s"]
    assert written["factors"][1] == {"name": "region", "levels": ["n", "s"]}
    for given, words in (
        ((*columns, "--by", "tariff", "--by", "tariff:a,b"), "--by must name different columns"),
        (("--by", "tariff", "--by", "region"), "--columns must be given with several --by"),
        ((*columns, "--by", "tariff", "--by", "region", "--neighbours", "add-remove"), "--by must name"),
    ):
        refused = run(*common[:-1], tmp_path / "g.json", *given)
        assert refused.exit_code != 0
        assert words in " ".join(refused.stderr.split())
