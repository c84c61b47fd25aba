"""The command: what comes out, and that a refusal is one line, writes nothing and draws no noise."""

import csv
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.gaussian_process.kernels import Matern
from typer.testing import CliRunner

import dpfda
from csv_rows import csv_rows
from dpfda import PrivateMean, load
from dpfda.bases import KernelBasis
from dpfda.command.planning import plan_view
from dpfda.command.running import progress_bar
from dpfda.datasets import load_temperatures
from dpfda.front import main
from dpfda.front.app import app
from dpfda.numerics import drawing
from dpfda.testing import simulate_releases
from dpfda.views import draw

# What comes out is tested; elsewhere, how exact the bands in it are.
pytestmark = pytest.mark.usefixtures("few_draws")

POINTS = np.linspace(0.0, 23.0, 24)
DAYS = 60
# So little noise that what is released can be compared with a mean.
LOUD = "1000000000"
# Of a plan whose grid does not matter.
FEW = ("--points", 25)
# What is said of the file of the fixture `days`.
AXIS = "note: axis: 24 points from 0 to 23, the numbers in the header\n"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def flat(text):
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


def shapes():
    """Days with one smooth shape, levels of their own and a second smooth part."""
    rng = np.random.default_rng(11)
    phase = POINTS / 23
    level, second = rng.uniform(5, 20, (DAYS, 1)), rng.normal(0, 1, (DAYS, 1))
    return level + 4 * np.sin(2 * np.pi * phase) + second * phase**2


def write(path, header, rows):
    with path.open("w", newline="") as handle:
        csv.writer(handle).writerows([header, *rows])
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def days(folder):
    """A wide file whose header is the grid."""
    return write(folder / "days.csv", [f"{hour:g}" for hour in POINTS], shapes().tolist())


@pytest.fixture
def wards(folder):
    """A wide file with a person column: the first person has as many rows as all others together."""
    person = [f"p{0 if day < DAYS // 2 else day}" for day in range(DAYS)]
    rows = [[who, 7, *curve] for who, curve in zip(person, shapes().tolist(), strict=True)]
    return write(folder / "wards.csv", ["who", "visit", *(f"t_{i}" for i in range(24))], rows)


@pytest.fixture
def visits(folder):
    """A long file on irregular times."""
    rng = np.random.default_rng(2)
    rows = [
        (f"p{day}", time, curve)
        for day, row in enumerate(shapes())
        for time, curve in zip(POINTS[::2], row[::2], strict=True)
        if rng.uniform() < 0.9
    ]
    return write(folder / "visits.csv", ["patient", "week", "weight"], rows)


@pytest.fixture
def draws(monkeypatch):
    """How often exact noise was drawn."""
    count = []

    def counted(*arguments, **settings):
        count.append(1)
        return original(*arguments, **settings)

    original = drawing.draw_array
    monkeypatch.setattr(drawing, "draw_array", counted)
    return count


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def mean_of(path, *more, epsilon=LOUD, bounds=("--bounds", -10, 40), out="out.json"):
    budget = () if "--epsilon" in more else ("--epsilon", epsilon)
    return run("mean", path, *budget, *bounds, "--out", out, *more)


# What comes out


def test_mean_is_the_mean(days, draws):
    result = mean_of(days, "--csv", "out.csv", "--plot", "out.png")
    assert result.exit_code == 0, result.stderr
    assert len(draws) > 0
    release = load("out.json")
    np.testing.assert_allclose(release(POINTS), shapes().mean(axis=0), atol=1e-4)
    with open("out.csv") as handle:
        header, *rows = csv.reader(handle)
    assert header == [
        "point: t (units of the grid)",
        "value: value",
        "lower: lower end of the 0.95 band, everywhere at once",
        "upper: upper end of the 0.95 band, everywhere at once",
    ]
    table = np.array(rows, dtype=float)
    np.testing.assert_array_equal(table[:, 0], POINTS)
    np.testing.assert_array_equal(table[:, 1], release(POINTS))
    assert np.all((table[:, 2] < table[:, 1]) & (table[:, 1] < table[:, 3]))
    with open("out.png", "rb") as handle:
        assert handle.read(8) == b"\x89PNG\r\n\x1a\n"


def test_mean_states_what_it_did(days):
    labels = ("--x-label", "hour", "--y-label", "temperature (degrees C)")
    result = mean_of(days, *labels, epsilon="0.7")
    words = flat(result.stdout)
    assert "guarantee: 0.7-differential privacy (pure)" in words
    assert "data sets that differ in one record (the number of records is public)" in words
    assert "values clipped to [-10, 40]" in words
    assert "mechanism: cells" in words
    assert "band: meant to hold the mean everywhere in 95 of 100 releases: within" in words
    assert "(in the units of 'temperature (degrees C)')" in words
    assert re.search(r"accuracy: (resolves|shows|shape not resolved).* % of your bounds", words)
    assert "written: out.json (release)" in words
    assert result.stderr == AXIS
    assert load("out.json").about["domain"] == "hour"


def test_json_is_the_only_output(days):
    # So few units times epsilon that the band at a point is another one.
    result = mean_of(days, "--json", "--csv", "out.csv", epsilon="1/2")
    answer = json.loads(result.stdout)
    assert answer["guarantee"]["exact"] == {"epsilon": "1/2"}
    assert answer["files"] == {"release": "out.json", "csv": "out.csv"}
    assert answer["neighbours"] == "replace-one"
    assert answer["warnings"] == []
    assert (
        0
        < answer["bands"][0]["at_a_point"]
        < answer["bands"][0]["typical"]
        <= answer["bands"][0]["largest"]
    )


def test_exact_epsilon_reaches_the_release(days):
    mean_of(days, epsilon="0.1")
    assert str(load("out.json").guarantee.epsilon) == "1/10"


def test_groups_count_a_person_once(wards):
    more = ("--columns", "t_*", "--domain", 0, 23, "--groups", "who")
    assert mean_of(wards, *more).exit_code == 0
    release = load("out.json")
    curves = shapes()
    people = np.vstack([curves[: DAYS // 2].mean(axis=0), curves[DAYS // 2 :]])
    np.testing.assert_allclose(release(POINTS), people.mean(axis=0), atol=1e-4)
    assert release.unit == "who"
    assert release.count == DAYS // 2 + 1
    assert mean_of(wards, *more, "--unit", "patient", out="named.json").exit_code == 0
    assert load("named.json").unit == "patient"


def test_columns_without_groups_count_records(wards):
    assert mean_of(wards, "--columns", "t_*", "--domain", 0, 23).exit_code == 0
    np.testing.assert_allclose(load("out.json")(POINTS), shapes().mean(axis=0), atol=1e-4)


def test_long_layout(visits):
    layout = ("--id", "patient", "--time", "week", "--value", "weight")
    result = mean_of(visits, *layout, "--domain", 0, 23)
    assert result.exit_code == 0, result.stderr
    release = load("out.json")
    assert release.unit == "patient"
    assert release.to_json()["format"] == "dpfda-pooled-mean"
    assert (release.view().x_label, release.view().y_label) == ("week", "weight")
    assert flat(result.stdout).count("estimate: pooled over all observations") == 1
    assert flat(result.stdout).count("estimate:") == 1
    np.testing.assert_allclose(release(POINTS[:-1]), shapes().mean(axis=0)[:-1], atol=0.8)
    # Asked for, each curve is completed first; that and its grid leave a tenth of the curve's own range.
    result = mean_of(visits, *layout, "--domain", 0, 23, "--missing", "complete", out="each.json")
    assert result.exit_code == 0, result.stderr
    np.testing.assert_allclose(load("each.json")(POINTS[:-1]), shapes().mean(axis=0)[:-1], atol=0.8)


def test_standardized_curves(days):
    result = mean_of(days, bounds=("--standardize",), epsilon=LOUD)
    assert result.exit_code == 0
    curves = shapes()
    weights = np.r_[0.5, np.ones(22), 0.5]
    centered = curves - (curves @ weights / 23)[:, None]
    unit = centered / np.sqrt(centered**2 @ weights)[:, None]
    np.testing.assert_allclose(load("out.json")(POINTS), unit.mean(axis=0), atol=1e-5)
    assert "(standardised, without unit)" in flat(result.stdout)


@pytest.mark.parametrize(
    ("bound", "kind"), [(("--l2-bound", "90"), "l2"), (("--standardize", "--l1-bound", "5"), "l1")]
)
def test_other_bounds(days, bound, kind):
    assert mean_of(days, bounds=bound, epsilon="1").exit_code == 0
    release = load("out.json")
    assert release.certificate.bound["kind"] == kind
    assert release.certificate.bound["radius"] == float(bound[-1])


def test_missing_values_completed(folder):
    curves = shapes()
    cells = curves.astype(object)
    cells[3, 5] = ""
    path = write(folder / "gaps.csv", POINTS, cells.tolist())
    refused = mean_of(path)
    assert refused.exit_code == 2
    assert "in line 5 of the file, column '5.0'. Use --missing complete to fill gaps" in refused.stderr
    assert mean_of(path, "--missing", "complete").exit_code == 0
    curves[3, 5] = (curves[3, 4] + curves[3, 6]) / 2
    np.testing.assert_allclose(load("out.json")(POINTS), curves.mean(axis=0), atol=1e-4)


def test_invalid_repaired(folder):
    curves = shapes()
    cells = curves.astype(object)
    cells[3, 5] = "inf"
    path = write(folder / "holes.csv", POINTS, cells.tolist())
    assert mean_of(path).exit_code == 2
    assert mean_of(path, "--invalid", "repair").exit_code == 0
    curves[3] = 15.0  # the middle of the bounds
    np.testing.assert_allclose(load("out.json")(POINTS), curves.mean(axis=0), atol=1e-4)


def test_private_count_is_not_shown(days):
    result = mean_of(days, "--neighbours", "add-remove", "--json", epsilon="0.01")
    assert result.exit_code == 0
    assert "count" not in json.loads(result.stdout)
    assert (
        mean_of(days, "--neighbours", "add-remove", "--public-size", "50", out="b.json").exit_code == 0
    )
    np.testing.assert_allclose(load("b.json")(POINTS) - 15, (shapes() - 15).sum(axis=0) / 50, atol=1e-3)


def test_gaussian_noise_at_an_approximate_guarantee(days):
    more = ("--delta", "1e-6", "--mechanism", "gaussian")
    assert mean_of(days, *more, epsilon="1").exit_code == 0
    release = load("out.json")
    assert str(release.guarantee) == "(1, 1e-06)-differential privacy"
    assert release.certificate.mechanism["name"] == "gaussian"


@pytest.mark.parametrize("name", ["iclp", "laplace", "knorm"])
def test_mechanism_by_name(days, name):
    assert mean_of(days, "--mechanism", name, epsilon="1").exit_code == 0
    assert load("out.json").certificate.mechanism["name"] == name


@pytest.mark.parametrize(
    ("kernel", "length"), [("matern:10%:2.5", 2.3), ("rbf:4", 4.0), ("exponential:5", 5.0)]
)
def test_kernel_by_text(days, kernel, length):
    result = mean_of(days, "--kernel", kernel, epsilon="1")
    assert result.exit_code == 0
    assert result.stderr == AXIS
    assert load("out.json").basis.kernel.length_scale == pytest.approx(length)


def test_short_kernel_is_warned_of(days):
    result = mean_of(days, "--kernel", "matern:0.1:1.5", epsilon="1")
    assert result.exit_code == 0
    assert "the kernel's range (0.1) is below the spacing of the grid (1)" in result.stderr
    assert "matern:10%:1.5 means ten per cent of the domain, here 2.3" in result.stderr


def test_weak_promises_are_warned_of(days):
    result = mean_of(days, "--delta", "0.5", epsilon="6")
    assert "warning: Epsilon 6 is large" in result.stderr
    assert "warning: Delta 0.5 is not below one over the number of units (1/60)" in result.stderr


def test_repeated_runs_differ(days):
    for name in ("a.json", "b.json"):
        assert mean_of(days, epsilon="1", out=name).exit_code == 0
    assert load("a.json").noisy_sum != load("b.json").noisy_sum


def test_overwrite_is_asked_for(days, draws):
    assert mean_of(days).exit_code == 0
    before, drawn = contents(days.parent), len(draws)
    refused = mean_of(days)
    assert refused.exit_code == 2
    assert "--out must be a new file; found that 'out.json' exists" in refused.stderr
    assert "--overwrite" in refused.stderr
    assert (contents(days.parent), len(draws)) == (before, drawn)
    assert mean_of(days, "--overwrite", epsilon="2").exit_code == 0
    assert load("out.json").guarantee.epsilon == 2


# Reading a release


def test_eval_gives_values_and_band(days):
    # So much that no band is cut at both bounds.
    mean_of(days, epsilon="30")
    result = run("eval", "out.json", "--at", "0,0.25,23", "--json")
    answer = json.loads(result.stdout)
    release = load("out.json")
    assert answer["point"] == [0, 0.25, 23]
    assert answer["value"] == release([0, 0.25, 23]).tolist()
    assert np.all(np.array(answer["lower"]) < np.array(answer["value"]))
    pointwise = json.loads(
        run("eval", "out.json", "--at", "0,0.25,23", "--band-kind", "pointwise", "--json").stdout
    )
    # Both are cut at the bounds.
    assert np.all(np.array(pointwise["upper"]) <= np.array(answer["upper"]))
    wide = json.loads(run("eval", "out.json", "--at", "4", "--of", "population", "--json").stdout)
    assert (
        wide["upper"][0] >= json.loads(run("eval", "out.json", "--at", "4", "--json").stdout)["upper"][0]
    )
    lower = json.loads(run("eval", "out.json", "--at", "4", "--level", "0.9", "--json").stdout)
    higher = json.loads(run("eval", "out.json", "--at", "4", "--level", "0.99", "--json").stdout)
    # An end that is cut at its bound grows no further.
    assert lower["upper"][0] <= higher["upper"][0]
    assert lower["upper"][0] - lower["lower"][0] < higher["upper"][0] - higher["lower"][0]


def test_eval_prints_a_table_of_the_grid(days):
    mean_of(days, epsilon="1")
    header, *lines = run("eval", "out.json").stdout.splitlines()
    assert header.split() == ["point", "value", "lower", "upper"]
    table = np.array([line.split() for line in lines], dtype=float)
    np.testing.assert_allclose(table[:, 0], POINTS)
    np.testing.assert_allclose(table[:, 1], load("out.json")(POINTS), rtol=1e-5)


def test_eval_derivative_is_a_slope(days):
    mean_of(days)
    answer = json.loads(run("eval", "out.json", "--at", "7", "--derivative", "--json").stdout)
    release = load("out.json")
    slope = (release(7.001) - release(6.999)) / 0.002
    assert answer["value"][0] == pytest.approx(slope, rel=1e-3)


def test_eval_writes_csv(days):
    mean_of(days)
    assert run("eval", "out.json", "--at", "1,2", "--csv", "values.csv").exit_code == 0
    with open("values.csv") as handle:
        rows = csv_rows(handle)
    assert [float(row["value"]) for row in rows] == load("out.json")([1.0, 2.0]).tolist()


def test_eval_of_negative_points(days):
    mean_of(days, "--domain", "-1", "24")
    assert run("eval", "out.json", "--at", "-1,-0.5", "--json").exit_code == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--at", "0;1"), "--at must be numbers separated by commas; found '0;1'"),
        (("--at", "24"), "--at must lie in the domain [0.0, 23.0]; found 24.0"),
        (("--at", "nan"), "--at must be finite"),
        (("--level", "1"), "level must lie strictly between 0 and 1; found 1.0"),
        (("--level", "0.5"), "level must be at least 0.9 for a band that is meant to hold the mean"),
        (
            ("--band-kind", "both"),
            "--band-kind must be one of 'simultaneous', 'pointwise', 'exact'; found 'both'",
        ),
        (("--csv", "out.json"), "--csv must be another file than F.json"),
        (("--csv", "no/such.csv"), "must be a file in an existing folder"),
    ],
)
def test_eval_refuses(days, more, words):
    mean_of(days, epsilon="0.5")
    before = contents(days.parent)
    result = run("eval", "out.json", *more)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert words in result.stderr
    assert contents(days.parent) == before


def test_show_says_it_in_words(days):
    mean_of(days, "--unit", "day", epsilon="1")
    result = run("show", "out.json")
    assert result.exit_code == 0
    assert "exp(1) = 2.72" in result.stdout
    assert "The unit of protection is one day." in result.stdout
    answer = json.loads(run("show", "out.json", "--json").stdout)
    assert answer["report"] == result.stdout.rstrip("\n")
    assert answer["privacy_unit"] == "day"
    assert answer["citation"].startswith("The mean curve of 60 days was published")


@pytest.mark.parametrize("verb", ["show", "eval"])
def test_reading_what_is_not_a_release(days, verb):
    for path, words in (("none.json", "could not be read"), (days, "must be a JSON file")):
        result = run(verb, path)
        assert (result.exit_code, result.stdout) == (2, "")
        assert words in result.stderr


# Planning


def test_plan_agrees_with_simulated_noise(folder):
    # A linear estimate: the noise that it lets through does not depend on the mean.
    setting = ("--bounds", 0, 4, "--domain", 0, 23, "--points", 24, "--kernel", "matern:3:1.5")
    linear = ("--mechanism", "knorm")
    result = run("plan", "--units", 40, "--epsilon", 2, *setting, *linear, "--json")
    assert result.exit_code == 0, result.stderr
    expected = json.loads(result.stdout)["expected"]
    # Curves in the middle of the bounds: what is released is the noise alone.
    estimator = PrivateMean(2, bounds=(0, 4), domain=(0, 23), basis="matern:3:1.5", mechanism="knorm")
    errors = np.asarray(simulate_releases(estimator, np.full((40, 24), 2.0), 4000, 3)) - 2.0
    squares = errors**2 @ np.r_[0.5, np.ones(22), 0.5] / 23
    standard_error = squares.std() / np.sqrt(squares.size)
    assert expected["noise"] ** 2 == pytest.approx(squares.mean(), abs=4 * standard_error)
    assert expected["typical"] ** 2 == pytest.approx(expected["bias"] ** 2 + expected["noise"] ** 2)
    assert expected["sampling"] == pytest.approx(2 / np.sqrt(40))


def test_plan_scales_and_orders(folder):
    result = run("plan", "--units", 500, *FEW, "--epsilon", 1, "--standardize", "--json")
    answer = json.loads(result.stdout)
    epsilons = [row["epsilon"] for row in answer["over_epsilon"]]
    np.testing.assert_allclose(epsilons, [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8], rtol=1e-6)
    errors = [row["typical"] for row in answer["over_epsilon"]]
    assert np.all(np.diff(errors) < 0)
    # Twice the units at half the epsilon have the same noise.
    twice = run("plan", "--units", 1000, *FEW, "--epsilon", "0.5", "--standardize", "--json")
    other = json.loads(twice.stdout)["expected"]
    assert other["typical"] == pytest.approx(answer["expected"]["typical"], rel=1e-9)


def test_plan_reads_no_file_and_draws_nothing(folder, draws):
    result = run("plan", "--units", 500, *FEW, "--epsilon", 1, "--bounds", -10, 40, "--plot", "plan.png")
    assert result.exit_code == 0
    assert "no data were read" in result.stdout
    # What nine of ten keep to, and the band, as of all plans.
    assert re.search(r"error: +[\d.]+ \(for nine of ten up to [\d.]+\)", result.stdout)
    assert re.search(r"band: +half-width [\d.]+ ", result.stdout)
    assert re.search(r"^-> +1 ", result.stdout, re.MULTILINE)
    assert list(contents(folder)) == ["plan.png"]
    assert draws == []


def test_plan_is_drawn_with_its_parts():
    basis = KernelBasis.on_grid(Matern(0.1, nu=1.5), np.linspace(0, 1, 30))
    mean = PrivateMean(1.0, bounds=(0, 1), basis=basis)
    plans = [mean.plan(n=200).at(epsilon=epsilon) for epsilon in (1, 2, 4)]
    axis = draw(
        plan_view([*zip([1.0, 2.0, 4.0], plans, strict=True)], "MW", "epsilon", "Expected error")
    )
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in axis.get_lines()}
    total, noise, bias, sampling, limit = lines.values()
    np.testing.assert_allclose(limit, [plan.limit() for plan in plans])
    assert (limit < total).all()
    np.testing.assert_allclose(total, [plan.outlook(quick=True).typical for plan in plans])
    np.testing.assert_allclose(total**2, noise**2 + bias**2)
    # Halfwidth 1/2 of the bounds, over the root of the number of curves.
    np.testing.assert_allclose(sampling, 0.5 / np.sqrt(200))
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert "MW" in axis.get_ylabel()
    assert "epsilon" in axis.get_xlabel()
    pyplot.close(axis.figure)


def test_plan_pays_for_a_private_count(folder):
    setting = ("--units", 500, "--bounds", 0, 1, "--mechanism", "laplace", "--json")
    private = ("plan", *setting, "--epsilon", 1, "--neighbours", "add-remove")
    public = run(
        "plan", *setting, "--epsilon", "0.9", "--neighbours", "add-remove", "--public-size", 500
    )
    answers = (run(*private), public, run("plan", *setting, "--epsilon", "1.8"))
    typical = [json.loads(answer.stdout)["expected"]["typical"] for answer in answers]
    # A tenth goes to the count; a unit that comes or goes moves the sum half as far as one replaced.
    assert typical[0] == pytest.approx(typical[1])
    assert typical[1] == pytest.approx(typical[2], rel=1e-6)
    told = run(*private[:-5], *private[-4:]).stdout
    assert "A tenth of epsilon goes to counting" in told
    assert "count's own error of about 2.8%" in told


def test_plan_of_the_default_has_the_error_of_a_private_count_in_it(folder):
    setting = ("plan", "--units", 500, *FEW, "--bounds", 0, 1, "--neighbours", "add-remove", "--epsilon")
    answers = (run(*setting, 1, "--json"), run(*setting, "0.9", "--public-size", 500, "--json"))
    private, public = (json.loads(answer.stdout)["expected"]["typical"] for answer in answers)
    # One coordinate more among many, and a count that scales a curve by its distance from the middle.
    assert public < private < 1.2 * public
    assert "counted again in one with the sum, and that error is included" in run(*setting, 1).stdout


def test_plan_warns(folder):
    setting = ("plan", "--units", 100, "--bounds", 0, 1, "--epsilon", 8, "--delta", "0.02")
    result = run(*setting, "--kernel", "matern:0.001:1.5")
    assert result.exit_code == 0
    assert "Epsilon 8 is large" in result.stderr
    assert "(1/100)" in result.stderr
    assert "the kernel's range (0.001) is below the spacing of the grid (0.01)" in result.stderr


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--units", 1), "--units must be an integer from 2 to 9007199254740992; found 1"),
        (("--points", 1), "--points must lie between 2 and 2000; found 1"),
        (("--plot", "plan.txt"), "--plot must end in one of .png, .pdf, .svg; found 'plan.txt'"),
        (("--domain", 1, 0), "--domain must be finite with a < b; found (1.0, 0.0)"),
        (("--epsilon", 0), "epsilon must be positive; found 0"),
        (("--l2-bound", 1), "--bounds and --l2-bound"),
    ],
)
def test_plan_refuses(folder, more, words):
    setting = ["plan", "--units", 100, "--epsilon", 1, "--bounds", 0, 1]
    result = run(*setting, *more)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert contents(folder) == {}


# Refusals of a release


BAD = [
    (("--epsilon", "0"), "epsilon must be positive; found 0. Smaller epsilon is more private."),
    (("--epsilon", "-1"), "epsilon must be positive; found -1"),
    (("--epsilon", "inf"), "epsilon must be a finite number; found 'inf'"),
    (("--epsilon", "nan"), "epsilon must be a finite number; found 'nan'"),
    (("--epsilon", "much"), "epsilon must be a finite number; found 'much'"),
    (("--epsilon", "1e400"), "epsilon must lie between 1e-9 and 1e9; found 1.00000000000e+400"),
    (("--epsilon", "1e-400"), "epsilon must lie between 1e-9 and 1e9; found 1e-400"),
    (("--delta", "1"), "delta must lie strictly between 0 and 1; found 1"),
    (("--delta", "-1e-6"), "delta must lie strictly between 0 and 1"),
    (("--delta", "1e-400"), "delta must be 0 or at least 1e-100; found 1e-400"),
    (("--bounds", "40", "-10"), "bounds must have lower < upper; found (40.0, -10.0)"),
    (("--bounds", "0", "inf"), "upper bound must be finite; found inf"),
    (("--bounds", "nan", "1"), "lower bound must be finite; found nan"),
    (("--bounds", "-1e308", "1e308"), "be of size at most 1e100"),
    (("--l2-bound", "3"), "found --bounds and --l2-bound. Leave all but one out."),
    (("--standardize",), "found --bounds and --standardize. Leave all but one out."),
    (("--kernel", "matern"), "kernel must be matern:RANGE:NU, rbf:RANGE or exponential:RANGE; found"),
    (("--kernel", "cubic:1"), "found 'cubic:1'"),
    (("--kernel", "rbf:-1"), "kernel must have a positive range and smoothness; found 'rbf:-1'"),
    (("--kernel", "rbf:wide"), "kernel must have numbers after the colons; found 'rbf:wide'"),
    (("--domain", "23", "0"), "--domain must be finite with a < b"),
    (("--domain", "0", "10"), "--domain must contain the grid"),
    (("--mechanism", "magic"), "mechanism must be 'auto' or one of "),
    (
        ("--mechanism", "laplace", "--delta", "1e-6"),
        "Ask for --delta 0, or use --mechanism gaussian",
    ),
    (("--mechanism", "gaussian"), "delta must be positive for Gaussian noise; found 0."),
    (("--neighbours", "close"), "neighbours must be 'replace-one' or 'add-remove'; found 'close'"),
    (("--missing", "ignore"), "--missing must be one of 'refuse', 'complete', 'pooled'; found 'ignore'"),
    (("--invalid", "ignore"), "--invalid must be one of 'refuse', 'repair'; found 'ignore'"),
    (("--public-size", "50"), "--public-size must be left out under replace-one neighbours"),
    (
        ("--neighbours", "add-remove", "--public-size", "0"),
        "--public-size must be a positive integer; found 0",
    ),
    (("--columns", "absent"), "'absent'"),
    (("--groups", "absent"), "'absent'"),
    (("--id", "who"), "The long layout must name --id, --time and --value; found --id"),
    (("--id", "a", "--time", "b", "--value", "c"), "--domain must be given in the long layout"),
    (("--out", "no/such/out.json"), "must be a file in an existing folder"),
    (("--out", "."), "must be a file in an existing folder"),
    (("--out", "days.csv"), "--out must be another file than FILE; found 'days.csv'"),
    (("--out", "days.csv", "--overwrite"), "--out must be another file than FILE; found 'days.csv'"),
    (("--csv", "out.json"), "--csv must be another file than --out; found 'out.json'"),
    (("--plot", "./out.png", "--csv", "out.png"), "--csv must be another file than --plot"),
    (("--out", "out.csv"), "--out must end in .json; found 'out.csv'. For a table write --csv out.csv"),
    (("--out", "out.pq"), "--out must end in .json; found 'out.pq'. For a table write --csv out.csv"),
    (("--out", "o.png"), "--out must end in .json; found 'o.png'. For a picture write --plot o.png"),
    (("--out", "o.jpg"), "--out must end in .json; found 'o.jpg'. For a picture write --plot o.png"),
    (
        ("--out", "o.html"),
        "--out must end in .json; found 'o.html'. For a page of a release: dpfda report",
    ),
    (("--csv", "out.parquet"), "--csv must end in .csv; found 'out.parquet'. Its table is text."),
    (("--out", "-"), "--out must be the path of a file; found '-'"),
    (("--csv", "out.svg"), "--csv must end in .csv; found 'out.svg'. Its table is text."),
    (("--plot", "out.doc"), "--plot must end in one of .png, .pdf, .svg; found 'out.doc'"),
]


def shortened(value):
    return (value if isinstance(value, str) else " ".join(value))[:30]


@pytest.mark.parametrize(("more", "words"), BAD, ids=shortened)
def test_mean_refuses(days, draws, more, words):
    before = contents(days.parent)
    result = mean_of(days, *more, epsilon="1")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1
    assert words in result.stderr
    assert contents(days.parent) == before
    assert draws == []


# Arguments that are wrong before any file is needed.
EARLY = [case for case in BAD if "absent" not in case[1] and "contain the grid" not in case[1]]


@pytest.mark.parametrize(("more", "words"), EARLY, ids=shortened)
def test_public_arguments_are_checked_before_reading(days, monkeypatch, more, words):
    def never(*arguments, **settings):
        raise AssertionError("the file was read")

    monkeypatch.setattr("dpfda.records.files.read_curves", never)
    result = mean_of(days, *more, epsilon="1")
    assert result.exit_code == 2
    assert words in result.stderr


def test_one_bound_must_be_given(days, draws):
    result = mean_of(days, bounds=(), epsilon="1")
    assert result.exit_code == 2
    for choice in ("--bounds LO HI", "--l2-bound TAU", "--l1-bound TAU", "--standardize"):
        assert choice in result.stderr
    assert "never from these data" in result.stderr
    assert draws == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--columns", "x"), "--columns must be left out in the long layout"),
        (("--kernel", "matern:10%:1.5"), "--kernel must be left out for a pooled mean"),
        (("--id", "absent"), "'absent'"),
    ],
)
def test_long_layout_refuses(visits, draws, more, words):
    layout = ("--id", "patient", "--time", "week", "--value", "weight", "--domain", 0, 23)
    before = contents(visits.parent)
    result = mean_of(visits, *layout, *more)
    assert result.exit_code == 2
    assert words in result.stderr
    assert (contents(visits.parent), draws) == (before, [])


def _rows(*lines):
    return "\n".join(",".join(map(str, line)) for line in lines) + "\n"


PRIVATE = "73.25891"


@pytest.mark.parametrize(
    "text",
    [
        "",
        _rows(range(3)),
        _rows(range(3), [PRIVATE, 2, 3]),
        _rows(range(3), [PRIVATE, 2, 3], [1, 2]),
        _rows(range(3), [PRIVATE, 2, 3], [1, 2, PRIVATE + "x"]),
        _rows(range(3), [PRIVATE, 2, 3], [1, "", 3]),
        _rows(range(3), [PRIVATE, 2, 3], [1, "inf", 3]),
        _rows([0, 2, 1], [PRIVATE, 2, 3], [1, 2, 3]),
        _rows([0, 1, 1], [PRIVATE, 2, 3], [1, 2, 3]),
        _rows([0], [PRIVATE], [1]),
        _rows([0, 1, "b"], [PRIVATE, 2, 3], [1, 2, 3]),
    ],
    ids=[
        "empty",
        "header only",
        "one row",
        "ragged",
        "words",
        "missing",
        "infinite",
        "unsorted grid",
        "repeated grid",
        "one point",
        "mixed header",
    ],
)
def test_bad_files_are_refused_without_their_values(folder, draws, text):
    path = folder / "bad.csv"
    path.write_text(text)
    before = contents(folder)
    result = mean_of(path, epsilon="1")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert PRIVATE not in result.output
    assert (contents(folder), draws) == (before, [])


def test_missing_file(folder, draws):
    result = mean_of("absent.csv", epsilon="1")
    assert result.exit_code == 2
    assert "absent.csv" in result.stderr
    assert (contents(folder), draws) == ({}, [])


def test_unwritable_folder(days, monkeypatch, draws):
    # The tests may run as a user who can write anywhere.
    monkeypatch.setattr("dpfda.releases.files.os.access", lambda path, mode: mode != os.W_OK)
    result = mean_of(days, epsilon="1")
    assert result.exit_code == 2
    assert "an existing folder that can be written to" in result.stderr
    assert draws == []


def test_release_that_cannot_be_saved_says_it_is_spent(days, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpfda.releases.files.os.replace", full)
    result = mean_of(days, epsilon="1")
    # Not refused: the noise was drawn, and the release counts.
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert "running again is a second release" in result.stderr


def test_missing_picture_extra(days, monkeypatch, draws):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    before = contents(days.parent)
    result = mean_of(days, "--plot", "out.png", epsilon="1")
    assert result.exit_code == 2
    assert "pip install 'dpfda[plot]'" in result.stderr
    assert (contents(days.parent), draws) == (before, [])


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_missing_command_extra(package, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "error: the command needs its extra: pip install 'dpfda[cli]'\n"


def test_unexpected_errors_show_nothing(days, monkeypatch):
    def broken(self, X, **more):
        raise ValueError(f"a value of the data: {PRIVATE}")

    monkeypatch.setattr(PrivateMean, "fit", broken)
    result = mean_of(days, epsilon="1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: unexpected ValueError.")
    assert PRIVATE not in result.output


def test_warnings_of_libraries_are_not_shown(days, monkeypatch):
    import warnings

    original = PrivateMean.fit

    def noisy(self, X, **more):
        warnings.warn(f"overflow at {PRIVATE}", RuntimeWarning, stacklevel=1)
        return original(self, X, **more)

    monkeypatch.setattr(PrivateMean, "fit", noisy)
    result = mean_of(days, epsilon="1")
    assert (result.exit_code, result.stderr) == (0, AXIS)


# Help, version, and the program as a process


@pytest.mark.parametrize("verb", ["mean", "eval", "show", "plan", "demo"])
def test_help_has_examples_and_exit_codes(verb):
    words = flat(run(verb, "--help").stdout)
    assert f"dpfda {verb}" in words
    assert "Exit status: 0 done; 2 refused" in words


def test_help_says_units_and_what_is_public():
    words = flat(run("mean", "--help").stdout)
    for phrase in ("in the units of the data", "never read from the data", "units of the axis"):
        assert phrase in words
    assert "dpfda[plot]" in words


def process(*arguments, cwd, **environment):
    return subprocess.run(  # noqa: S603
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_python_m_dpfda_works(days):
    version = process("-m", "dpfda", "--version", cwd=days.parent)
    assert (version.returncode, version.stdout) == (0, f"dpfda {dpfda.__version__}\n")
    done = process(
        *("-m", "dpfda", "mean", "days.csv", "--epsilon", "1", "--bounds", "-10", "40"),
        *("--out", "out.json", "--plot", "out.svg", "--json"),
        cwd=days.parent,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == {"release": "out.json", "plot": "out.svg"}
    assert done.stderr == AXIS


def test_a_shell_without_the_extra_gets_one_line(folder):
    code = "import sys; sys.modules['typer'] = None; from dpfda.front import main; main()"
    done = process("-c", code, cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: the command needs its extra: pip install 'dpfda[cli]'\n"


def test_asking_for_help_loads_no_arrays(folder):
    code = (
        "import sys; from dpfda.front.app import app; app(['--help'], standalone_mode=False); "
        "assert 'numpy' not in sys.modules"
    )
    assert process("-c", code, cwd=folder).returncode == 0


def test_progress_is_for_terminals(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, wanted in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        with progress_bar("reading days.csv") as progress:
            assert (progress is not None) == wanted
            if progress is not None:
                progress(37, 100)
        assert ("reading days.csv" in stream.getvalue()) == wanted
        assert ("37%" in stream.getvalue()) == wanted


# The demo


def test_demo(folder):
    result = run("demo", "--out", "somewhere")
    assert result.exit_code == 0, result.stderr
    release = load(folder / "somewhere" / "mean_day.json")
    assert release.guarantee.epsilon == 1
    assert release.unit == "day"
    assert sorted(path.name for path in (folder / "somewhere").iterdir()) == [
        "mean_day.csv",
        "mean_day.json",
        "mean_day.png",
    ]
    # Foretold and found error, in degrees: the first is the plan's.
    foretold, found = re.search(
        r"alone: ([\d.]+) degrees.*it was ([\d.]+)\.", flat(result.stdout)
    ).groups()
    gap = release(POINTS) - load_temperatures().values.mean(axis=0)
    assert float(found) == pytest.approx(np.sqrt((gap**2).mean()), rel=0.05)
    setting = ("--bounds", -20, 45, "--domain", 0, 23, "--points", 24)
    plan = json.loads(run("plan", "--units", 364, "--epsilon", 1, *setting, "--json").stdout)
    assert float(foretold) == pytest.approx(plan["expected"]["typical"], rel=0.05)
    # A second demo replaces the first.
    assert run("demo", "--out", "somewhere").exit_code == 0


def test_commands_that_the_demo_suggests_work(folder):
    story = run("demo").stdout
    suggested = re.sub(r"\\\n", " ", story.split("What to try next")[1])
    commands = re.findall(r"^  dpfda (.+)$", suggested, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["show", "eval", "plan", "mean"]
    import shlex

    for command in commands:
        result = run(*shlex.split(command))
        assert result.exit_code == 0, (command, result.stderr)


def test_demo_in_an_unwritable_place(folder):
    (folder / "file").write_text("")
    result = run("demo", "--out", "file/inside")
    assert result.exit_code == 2
    assert "--out must be a folder that can be made" in result.stderr


# Real data


def test_scans_of_persons(data_dir, dti, folder):
    result = mean_of(
        *(data_dir / "dti_cca.csv", "--columns", "cca_*", "--groups", "ID", "--missing", "complete"),
        bounds=("--standardize",),
    )
    assert result.exit_code == 0, result.stderr
    release = load("out.json")
    assert (release.unit, release.count) == ("ID", np.unique(dti["person"]).size)
    assert release.grid_points.size == 93
    settings = {"standardize": True, "missing": "complete", "unit": "ID"}
    estimator = PrivateMean(float(LOUD), **settings)
    expected = simulate_releases(estimator, dti["curves"], 1, 0, groups=dti["person"])[0]
    np.testing.assert_allclose(release(release.grid_points), expected, atol=1e-5)
    assert "one ID" in flat(run("show", "out.json").stdout)


def test_scans_with_gaps_are_refused_unless_completed(data_dir, folder, draws):
    result = mean_of(data_dir / "dti_cca.csv", "--columns", "cca_*", bounds=("--standardize",))
    assert result.exit_code == 2
    lines = (data_dir / "dti_cca.csv").read_text().splitlines()
    columns = lines[0].replace('"', "").split(",")
    gaps = [line.split(",").index("NA") if "NA" in line.split(",") else None for line in lines]
    first = next(i for i, gap in enumerate(gaps) if gap is not None)
    where = f"line {first + 1} of the file, column {columns[gaps[first]]!r}"
    assert f"missing value (NaN) in {where}" in result.stderr
    assert "--missing complete" in result.stderr
    assert (contents(folder), draws) == ({}, [])


def test_demand_of_mondays(data_dir, electricity, folder):
    path = data_dir / "adelaide_monday_demand.csv"
    result = mean_of(path, bounds=("--bounds", 0, 4000), epsilon=LOUD)
    assert result.exit_code == 0, result.stderr
    release = load("out.json")
    np.testing.assert_allclose(release(release.grid_points), electricity.mean(axis=0), atol=1e-3)
    more = ("--json", "--mechanism", "knorm")
    at_one = mean_of(path, *more, bounds=("--bounds", 0, 4000), epsilon="1", out="one.json")
    answer = json.loads(at_one.stdout)
    (block,) = answer["mechanism"]["block_sizes"]
    # One block of size M has, before shrinkage, a root mean square of 2 tau / (n epsilon) times
    # (M (M + 1))^(1/2), here at a point; shrinkage takes less than two thirds of it away.
    unshrunk = 2 * 2000 / 508 * np.sqrt(block * (block + 1))
    assert unshrunk / 3 < answer["bands"][0]["at_a_point"] / 1.96 < 1.05 * unshrunk


# What a file says of itself, and what is stated of it


def notes(result):
    return [line for line in result.stderr.splitlines() if line.startswith("note: ")]


def test_the_grid_is_stated_where_the_header_holds_words(wards, folder):
    named = ("--columns", "t_*", "--groups", "who")
    plain = mean_of(wards, *named, "--out", "plain.json")
    assert plain.exit_code == 0, plain.stderr
    assert notes(plain) == [
        "note: axis: 24 points, equally spaced from 0 to 1, because the header holds words; state "
        "others with --grid START:STOP:STEP"
    ]
    stated = mean_of(wards, *named, "--grid", "0:23:1")
    assert notes(stated) == ["note: axis: 24 points from 0 to 23, as stated with --grid"]
    assert load("out.json").domain_range == (0.0, 23.0)
    np.testing.assert_array_equal(load("out.json").grid_points, POINTS)
    for grid, words in (
        ("0:22:1", "grid must have a point for each of the 24 columns of the curve; found 23 points"),
        ("0:23:5", "--grid must be numbers with commas, or START:STOP:STEP"),
        (",".join(map(str, [1, 0, *range(2, 24)])), "--grid must increase strictly"),
    ):
        result = mean_of(wards, *named, "--grid", grid, "--overwrite")
        assert result.exit_code == 2
        assert words in result.stderr


def test_a_grid_does_not_contradict_the_header(days):
    result = mean_of(days, "--grid", "0:11.5:0.5")
    assert result.exit_code == 2
    assert "grid must agree with the numbers in the header" in result.stderr
    assert mean_of(days, "--grid", "0:23:1").exit_code == 0


def test_decimal_commas_where_they_are_stated(days, folder):
    text = days.read_text().replace(",", ";").replace(".", ",")
    (folder / "comma.csv").write_text(text.replace("\n", "\n", 1))
    refused = mean_of("comma.csv")
    assert refused.exit_code == 2
    assert "--decimal ','" in refused.stderr
    assert "Line 2, column '0'" in refused.stderr
    assert mean_of("comma.csv", "--decimal", ",", "--out", "comma.json").exit_code == 0
    assert mean_of(days).exit_code == 0
    # So little noise that what differs would be what was read.
    np.testing.assert_allclose(load("comma.json")(POINTS), load("out.json")(POINTS), atol=1e-5)
    wrong = mean_of(days, "--decimal", ";", "--overwrite")
    assert "--decimal must be one of '.', ','" in wrong.stderr


def test_dates_in_the_header(days, folder):
    dates = [str(day) for day in np.arange("2024-02-20", "2024-03-15", dtype="datetime64[D]")]
    lines = days.read_text().splitlines()
    (folder / "dated.csv").write_text("\n".join([",".join(dates), *lines[1:]]))
    for more in ((), ("--dry-run",)):
        untold = mean_of("dated.csv", "--overwrite", *more)
        assert untold.exit_code == 2
        assert "--dates must be given where the header holds dates" in untold.stderr
    result = mean_of("dated.csv", "--dates", "iso", "--overwrite")
    assert result.exit_code == 0, result.stderr
    expected = "note: axis: 24 points from 0 to 23, the dates in the header, as days since 2024-02-20"
    assert notes(result) == [expected]
    assert load("out.json").about["domain"] == "days since 2024-02-20"
    np.testing.assert_array_equal(load("out.json").grid_points, POINTS)
    result = mean_of(
        "dated.csv", "--dates", "iso", "--domain", "2024-02-19", "2024-03-20", "--overwrite"
    )
    assert load("out.json").domain_range == (0.0, 30.0)
    np.testing.assert_array_equal(load("out.json").grid_points, POINTS + 1)
    assert "days since 2024-02-19" in result.stderr
    for form, words in (("%d.%m.%Y", "found another in column 1"), ("isoo", "be 'iso' or a format")):
        assert words in mean_of("dated.csv", "--dates", form, "--overwrite").stderr


def test_dates_in_the_long_layout(visits, folder):
    lines = visits.read_text().splitlines()
    header = lines[0].split(",")
    week = header.index("week")
    dated = []
    for line in lines[1:]:
        cells = line.split(",")
        moment = np.datetime64("2024-01-01T00:00:00") + np.timedelta64(
            round(float(cells[week]) * 86400), "s"
        )
        cells[week] = str(moment)
        dated.append(",".join(cells))
    (folder / "dated.csv").write_text("\n".join([lines[0], *dated]))
    layout = ("--id", "patient", "--time", "week", "--value", "weight")
    plain = mean_of(visits, *layout, "--domain", 0, 23, "--out", "plain.json")
    assert notes(plain) == ["note: axis: column 'week'"]
    result = mean_of("dated.csv", *layout, "--dates", "iso", "--domain", "2024-01-01", "2024-01-24")
    assert result.exit_code == 0, result.stderr
    assert notes(result) == ["note: axis: column 'week', as days since 2024-01-01"]
    np.testing.assert_allclose(load("out.json")(POINTS), load("plain.json")(POINTS), atol=0.01)


def test_an_unused_identifier_is_pointed_out(wards, folder):
    text = wards.read_text()
    (folder / "named.csv").write_text("ID" + text.removeprefix("who"))
    result = mean_of("named.csv", "--columns", "t_*")
    assert result.exit_code == 0
    assert [
        line for line in notes(result) if "'ID' looks like an identifier" in line and "--groups" in line
    ]
    used = mean_of("named.csv", "--columns", "t_*", "--groups", "ID", "--overwrite")
    assert not [line for line in notes(used) if "identifier" in line]


def test_a_group_that_looks_like_a_person_is_pointed_out(folder):
    rows = [["ab"[day % 2], *curve] for day, curve in enumerate(shapes().tolist())]
    write(folder / "named.csv", ["ID", *(f"t_{i}" for i in range(24))], rows)
    given = "--by", "ID", "--epsilon", "1", "--bounds", "0", "1", "--columns", "t_*"
    found = run("compare", "named.csv", *given, "--out", "by.json")
    assert found.exit_code == 0
    words = "note: column 'ID' looks like an identifier, and its labels are published as names of groups"
    assert [line for line in notes(found) if line.startswith(words)]


def test_a_unit_without_groups_is_said_to_be_a_row(wards, folder):
    alone = "each row counts as one nurse (no --groups)"
    result = mean_of(wards, "--columns", "t_*", "--unit", "nurse")
    assert [line for line in notes(result) if alone in line]
    assert (
        alone in mean_of(wards, "--columns", "t_*", "--unit", "nurse", "--overwrite", "--dry-run").stdout
    )
    for more in (("--unit", "nurse", "--groups", "who"), ("--groups", "who"), ()):
        said = mean_of(wards, "--columns", "t_*", *more, "--overwrite")
        assert said.exit_code == 0
        assert "each row counts" not in said.stderr + said.stdout


@pytest.mark.parametrize(("columns", "found"), [("t_0..t_x", "t_x"), ("nobody..t_0", "nobody")])
def test_an_end_of_a_range_that_is_no_column_is_named(wards, folder, columns, found):
    refused = mean_of(wards, "--columns", columns)
    assert refused.exit_code == 2
    assert f"must be the label of a column; found '{found}'" in refused.stderr


def test_plan_takes_a_grid(folder):
    common = ("plan", "--units", 100, "--epsilon", 1, "--bounds", 0, 1, "--json")
    stated, spaced = (
        json.loads(run(*common, *more).stdout)
        for more in (("--grid", "0:24:2"), ("--points", 13, "--domain", 0, 24))
    )
    assert stated == spaced
    assert "--points must be left out" in run(*common, "--grid", "0:24:1", "--points", 5).stderr


def ended(*arguments):
    """Exit status of the command run here, with whatever stands for stdout and stderr."""
    with pytest.raises(SystemExit) as end:
        app([str(argument) for argument in arguments], prog_name="dpfda")
    return end.value.code


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_terminal_after_the_release_is_no_failure(days, folder, monkeypatch, capsys):
    arguments = ("mean", days, "--epsilon", 1, "--bounds", 0, 30)
    # Closing the file writes what is left in its buffer, as the end of a process does.
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", full)
        assert ended(*arguments, "--json", "--out", "a.json") == 0
        assert "the release is written" in capsys.readouterr().err
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", full)
        patch.setattr("sys.stderr", full)
        # A warning comes between the charge and the file: it must not cost the release.
        assert ended(*arguments, "--kernel", "rbf:0.01", "--out", "b.json") == 0
    for name in "ab":
        assert load(f"{name}.json").domain_range == (0.0, 23.0)


@pytest.fixture
def gone():
    """A pipe whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        yield pipe


def test_a_reader_who_has_gone_is_no_failure(days, folder, gone):
    done = subprocess.run(  # noqa: S603
        [sys.executable, *f"-m dpfda mean {days} --epsilon 1 --bounds 0 30 --out a.json".split()],
        stdin=subprocess.DEVNULL,
        stdout=gone,
        stderr=gone,
        check=False,
    )
    assert done.returncode == 0
    assert load("a.json").domain_range == (0.0, 23.0)


@pytest.mark.parametrize("verb", ["density", "covariance", "regress"])
def test_other_verbs_survive_a_reader_who_has_gone(verb, folder, gone, monkeypatch):
    rng = np.random.default_rng(5)
    write(folder / "rows.csv", ["0", "1", "2"], rng.uniform(0, 1, (40, 3)).tolist())
    more = {
        "density": ("--column", "0:0:1"),
        "covariance": ("--bounds", 0, 1),
        "regress": ("--covariate", "0:0:1", "--target", "1:0:1"),
    }[verb]
    monkeypatch.setattr("sys.stdout", gone)
    assert ended(verb, "rows.csv", "--epsilon", 1, *more, "--out", "out") == 0
    assert (folder / "out").exists()


def test_a_reader_who_has_read_enough_gets_no_message(days, folder, gone, monkeypatch):
    assert mean_of(days, "--out", "a.json", epsilon="1").exit_code == 0
    monkeypatch.setattr("sys.stdout", gone)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert ended("show", "a.json") == 1
    assert sys.stderr.getvalue() == ""
