"""The verbs covariance and compare: outputs, order of checks, refusals."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dpfda
from csv_rows import csv_rows
from dpfda import PrivacyUnit, PrivateCovariance, PrivateFPCA, PrivateMean, load
from dpfda.covariance.strategies import Center
from dpfda.front.app import app
from dpfda.numerics import exactness
from dpfda.privacy.ledger import Ledger

# What comes out is tested; elsewhere, how exact the bands in it are.
pytestmark = pytest.mark.usefixtures("few_draws")

GRID = np.linspace(0, 1, 12)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])


@pytest.fixture
def table(tmp_path):
    """Forty persons with two curves each, half of them cases."""
    generator = np.random.default_rng(0)
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["person", "group", *(f"p_{i}" for i in range(12))])
        for person in range(40):
            for _ in range(2):
                curve = np.sin(np.pi * GRID) * generator.uniform(-0.5, 0.5) + 0.2 * (person % 2)
                writer.writerow([f"id{person}", ["case", "control"][person % 2], *curve.tolist()])
    return path


def forbid_noise(monkeypatch):
    def drawn(size):
        pytest.fail("noise was drawn")

    monkeypatch.setattr(exactness, "system_bytes", drawn)


def test_a_dry_run_says_the_radius_that_the_header_allows(run, table):
    """A radius is at most that of a curve on the domain, which the header's numbers say."""
    text = table.read_text().replace(",p_", ",")
    table.write_text(text)
    at = (table, "--groups", "person", "--bounds", -1, 1)
    words = ("covariance", *at, "--epsilon", 4, "-o", "c.json")
    named = (*words, "--columns", "0..11")
    told = run(*named, "--dry-run").output
    made = run(*named)
    assert made.exit_code == 0, made.output
    assert f"at most {np.sqrt(22):.6g}" in told
    assert "a radius that was chosen privately, " in made.output
    # What stands where a header is to be is not said unless it was typed: nor what follows from it.
    table.write_text("".join(",".join(line.split(",")[:1] + line.split(",")[2:]) for line in
                             text.splitlines(keepends=True)))  # fmt: skip
    told = run(*words, "--overwrite", "--dry-run").output
    assert "values clipped to [-1, 1]\n" in told


def test_what_is_said_of_groups_names_what_was_typed(run, table):
    curves = (table, "--columns", "p_*", "--groups", "person", "--bounds", -1, 1)
    words = ("compare", *curves, "--epsilon", 4, "-o", "c.json")
    for more, said in (
        (("--by", "group:case,others"), "--by must hold one of the levels ['case', 'others']; found "),
        (
            ("--by", "group:case,control", "--mechanism", "one-look"),
            "found 'one-look'. Means of curves ",
        ),
        (
            ("--by", "group:case,control", "--mechanism", "two-looks"),
            "found 'two-looks'. Two looks need records between bounds that can be read more than once; "
            "elsewhere --mechanism auto has one.",
        ),
    ):
        result = run(*words, *more)
        assert result.exit_code == 2
        assert said in " ".join(result.output.split())


def test_what_is_said_of_the_center(run, table):
    for center, words in (("pairs", "differences of pairs"), ("private", "with a part of the budget"),
                          ("0.1", "a public curve"), ("bound", "the middle of the bound")):  # fmt: skip
        result = run("covariance", table, "--columns", "p_*", "--groups", "person", "--epsilon", 4,
                     "--bounds", -1, 1, "--center", center, "-o", "c.json", "--overwrite")  # fmt: skip
        assert result.exit_code == 0, result.output
        (said,) = [line for line in result.output.splitlines() if line.strip().startswith("center:")]
        assert words in said


def test_a_column_that_is_not_there_is_named_by_its_own_option(run, table):
    given = ("compare", table, "--columns", "p_*", "--bounds", -1, 1, "--epsilon", 1, "--out", "c.json")
    for by, person, flag in (("groop", "person", "--by"), ("group", "persn", "--groups")):
        refused = run(*given, "--by", by, "--groups", person)
        assert refused.exit_code == 2
        assert f"{flag} must be the label of a column; found" in refused.stderr


def test_a_test_is_on_the_axis_of_its_curves(run, table):
    result = run("test", table, "--columns", "p_*", "--groups", "person", "--by", "group",
                 "--epsilon", 4, "--bounds", -1, 1, "--domain", 0, 24, "--out", "t.json")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "axis: 12 points, equally spaced from 0 to 24," in " ".join(result.output.split())
    assert "ReleasedTest of case, control on [0, 24]" in result.output


class TestCovariance:
    arguments = ("--columns", "p_*", "--epsilon", "4", "--center", "0.1", "--radius", "0.6")

    def test_writes_all_that_is_asked_for(self, run, table):
        result = run(
            "covariance", table, *self.arguments, "--groups", "person", "--out", "c.json",
            "--components-file", "p.json", "--csv", "c.csv", "--plot", "c.png", "--y-label", "volts",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        release = dpfda.load("c.json")
        assert (release.count, release.unit) == (40, "person")
        assert release.about["value"] == "volts"
        with open("c.csv", newline="") as handle:
            rows = csv_rows(handle)
        assert len(rows) == 144
        written = float(rows[17]["covariance"])
        assert written == pytest.approx(release(float(rows[17]["s"]), float(rows[17]["t"])))
        assert dpfda.load("p.json").count >= 1
        assert "above the noise floor" in result.output
        assert "privacy unit: person" in result.output

    def test_json_and_ledger(self, run, table):
        run("ledger", "create", "l.db", "--dataset", "d", "--epsilon", 10)
        result = run(
            "covariance", table, *self.arguments, "--out", "c.json", "--json", "--ledger", "l.db",
            "--dataset", "d",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        answer = json.loads(result.stdout)
        assert answer["guarantee"]["words"] == "4-differential privacy (pure)"
        assert answer["mechanism"]["budget"] == {"second moments": "4-differential privacy (pure)"}
        note = Ledger("l.db").history("d")[-1]
        assert note.action == "note"
        assert note.details["file"].endswith("c.json")

    @pytest.mark.parametrize("center", ["private", "pairs", "bound"])
    def test_centers(self, run, table, center):
        words = ("--bounds", -1, 1, "--center", center, "--epsilon", 4, "--columns", "p_*")
        result = run("covariance", table, *words, "--out", "c.json")
        assert result.exit_code == 0, result.output
        assert (dpfda.load("c.json").mean is not None) is (center == "private")

    def test_an_earlier_release_as_center(self, run, table):
        mean = PrivateMean(10.0, bounds=(-1, 1), domain=(0, 1)).fit(np.zeros((30, 12))).release_
        mean.save("mean.json")
        result = run(
            "covariance", table, "--columns", "p_*", "--epsilon", 4, "--center", "mean.json",
            "--radius", 0.6, "--out", "c.json",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        np.testing.assert_allclose(dpfda.load("c.json").center, mean(GRID))

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--center", "median"), "auto, private, pairs, bound, a number or the file"),
            (("--center", "0", "--mechanism", "gaussian"), "delta must be positive"),
            (("--center", "0", "--mechanism", "nothing"), "mechanism must be 'auto' or one of"),
            (("--center", "0", "--plot", "c.txt"), "must end in one of"),
            (("--center", "private"), "bounds must be given"),
            (("--center", "pairs", "--neighbours", "add-remove"), "would change who is paired"),
        ],
    )
    def test_public_arguments_are_refused_before_the_file_is_read(
        self, run, table, words, message, monkeypatch
    ):
        forbid_noise(monkeypatch)
        table.write_text("not,a\ntable")
        result = run("covariance", table, "--epsilon", 1, "--radius", 1, "--out", "c.json", *words)
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.split())


class TestCompare:
    arguments = (
        "--by", "group", "--groups", "person", "--columns", "p_*", "--bounds", -1, 1, "--epsilon", 4,
    )  # fmt: skip

    def test_writes_all_that_is_asked_for(self, run, table):
        result = run(
            "compare", table, *self.arguments, "--out", "g.json", "--plot", "g.png",
            "--difference-plot", "d.png", "--csv", "g.csv",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        release = dpfda.load("g.json")
        assert release.names == ("case", "control")
        assert [mean.count for mean in release.means.values()] == [20, 20]
        with open("g.csv", newline="") as handle:
            rows = csv_rows(handle)
        difference = release.difference("case", "control")
        found = np.array([float(row["case minus control"]) for row in rows])
        np.testing.assert_allclose(found, difference(GRID), atol=1e-12)
        assert all(float(r["lower"]) < float(r["upper"]) for r in rows)
        assert "4-differential privacy (pure), all groups together" in result.output
        assert "sampling is not in it" in result.output

    def test_one_charge_for_both_groups(self, run, table):
        run("ledger", "create", "l.db", "--dataset", "d", "--epsilon", 10, "--unit", "person")
        result = run(
            "compare", table, *self.arguments, "--out", "g.json", "--json", "--ledger", "l.db",
            "--dataset", "d",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        answer = json.loads(result.stdout)
        assert answer["groups"] == ["case", "control"]
        assert "parallel composition" in answer["composition"]
        assert "epsilon 6 left" in run("ledger", "show", "l.db").output

    def test_add_remove_needs_the_names_of_the_groups(self, run, table):
        words = (*self.arguments, "--neighbours", "add-remove", "--out", "g.json")
        refused = run("compare", table, *words)
        assert refused.exit_code == 2
        assert "--by must name groups under add-remove" in " ".join(refused.stderr.split())
        by = ["group:case,control" if word == "group" else word for word in words]
        named = run("compare", table, *by)
        assert named.exit_code == 0, named.output

    def test_a_person_in_two_groups_is_refused(self, run, table, monkeypatch):
        forbid_noise(monkeypatch)
        text = table.read_text().replace("id3,control", "id3,case", 1)
        table.write_text(text)
        result = run("compare", table, *self.arguments, "--out", "g.json")
        assert result.exit_code == 2
        assert "found a unit in two" in " ".join(result.stderr.split())
        assert "id3" not in result.stderr

    def test_groups_need_columns(self, run, table):
        result = run(
            "compare", table, "--by", "group", "--groups", "person", "--bounds", -1, 1, "--epsilon", 1,
            "--out", "g.json",
        )  # fmt: skip
        assert result.exit_code == 2
        assert "--columns must be given with --groups" in " ".join(result.stderr.split())


class TestShow:
    def test_in_words_and_as_json(self, run, table):
        run(
            "covariance", table, *TestCovariance.arguments, "--out", "c.json", "--components-file",
            "p.json",
        )  # fmt: skip
        run("compare", table, *TestCompare.arguments, "--out", "g.json")
        shown = {
            file: " ".join(run("show", file).output.split()) for file in ("c.json", "p.json", "g.json")
        }
        for text in shown.values():
            assert "Differential privacy with epsilon = 4 (pure: delta = 0)" in text
        assert "A covariance function of pairs of points" in shown["c.json"]
        assert "noise alone makes no pattern of variation above" in shown["p.json"]
        assert "case minus control: with a probability of about 95%" in shown["g.json"]
        assert "Parallel composition: every person is in one group" in shown["g.json"]
        answer = json.loads(run("show", "c.json", "--json").stdout)
        assert answer["privacy_unit"] == "record"
        assert "What is promised" in answer["report"]

    def test_a_private_mean_and_directions_are_accounted_for(self):
        curves = np.outer(np.linspace(-0.5, 0.5, 60), np.sin(np.pi * GRID))
        fpca = dpfda.PrivateFPCA(
            2.0,
            n_components=1,
            mechanism="exponential",
            center=Center("private", radius=0.6, mean_share=0.5),
            bounds=(-1, 1),
        ).fit(curves)
        words = " ".join(fpca.release_.describe().split())
        assert "mean, 1-differential privacy (pure); direction 1, 0.5-differential" in words
        assert "direction 1, 0.5-differential privacy (pure); variances, 0.5-differential" in words
        assert "how many draws are rejected depends on the data" in words
        assert "the center: released with a part of the budget" in words


class TestComponents:
    """`dpfda fpca`."""

    arguments = ("--columns", "p_*", "--epsilon", "400", "--center", "0.1", "--radius", "0.6")

    def test_components_are_published_with_one_charge(self, run, table):
        Ledger("l.ledger").create("waves", dpfda.privacy.guarantees.PureDP(410), unit="person")
        result = run(
            "fpca", table, *self.arguments, "--groups", "person", "--n-components", 1, "--out", "p.json",
            "--plot", "p.png", "--ledger", "l.ledger", "--dataset", "waves",
        )  # fmt: skip
        assert result.exit_code == 0, result.output
        release = dpfda.load("p.json")
        assert (release.count, release.unit, str(release.guarantee)) == (
            1,
            "person",
            "400-differential privacy (pure)",
        )
        assert str(Ledger("l.ledger").remaining("waves")) == "epsilon 10"
        # At so large a budget the first component is the wave that the curves are made of: 1 less the
        # correlation was .015 on average at a tenth of it, and falls with the square.
        wave = np.sin(np.pi * GRID)
        assert abs(np.corrcoef(release.function(0)(GRID), wave)[0, 1]) > 0.9

    def test_the_exponential_mechanism_is_a_choice(self, run, table):
        result = run("fpca", table, *self.arguments, "--mechanism", "exponential", "--out", "p.json")
        assert result.exit_code == 0, result.output
        assert dpfda.load("p.json").certificate.mechanism["name"] == "exponential"

    def test_a_refusal_comes_before_noise(self, run, table, monkeypatch):
        forbid_noise(monkeypatch)
        result = run("fpca", table, *self.arguments, "--n-components", 0, "--out", "p.json")
        assert result.exit_code == 2
        assert "--n-components must be left out or a positive integer" in " ".join(result.output.split())


def test_the_number_of_units_is_told_of_pairs_and_of_components_too(tmp_path):
    values = np.random.default_rng(4).uniform(0, 1, (41, 6))
    for made in (PrivateCovariance(5.0, bounds=(0, 1)), PrivateFPCA(5.0, bounds=(0, 1), n_components=1)):
        for center in ("pairs", "bound"):
            release = made.set_params(center=center).fit(values).release_
            again = load(release.save(tmp_path / "f.json", overwrite=True))
            assert again.public_units == 41
            assert "the number of records: 41" in " ".join(again.describe().split())
        private = made.set_params(unit=PrivacyUnit("person", "add-remove", 41), center="bound")
        assert private.fit(values).release_.public_units is None
    assert "1 principal component with its variance" in again.describe()
