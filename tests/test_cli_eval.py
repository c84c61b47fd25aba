"""`dpfda eval` on releases that are not curves: the values are those of the release in Python."""

import csv
import hashlib
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import Domain, PrivateComparison, PrivateCovariance, PrivateDensity, PrivateMean, load
from dpfda.bases import BoxBasis
from dpfda.covariance.strategies import Center, MatrixNoise
from dpfda.front.app import app

pytestmark = pytest.mark.usefixtures("few_draws")

GENERATOR = np.random.default_rng(4)
CURVES = np.sin(np.linspace(0, 3, 12)) + GENERATOR.uniform(-0.2, 0.2, (40, 1))
CLOUD = GENERATOR.uniform(size=(200, 2))


def density(points):
    return PrivateDensity(1.0, domain=[(0, 1)] * points.shape[1], cells=8).fit(points).release_


RELEASES = {
    "density on a line": (lambda: density(CLOUD[:, :1]), "0.2,0.7", [[0.2], [0.7]]),
    "density on a square": (lambda: density(CLOUD), "0.2:0.5,0.7:0.1", [[0.2, 0.5], [0.7, 0.1]]),
    "image": (
        lambda: (
            PrivateMean(1.0, bounds=(0, 1), basis=BoxBasis.on_grid("cosine", (4, 4), [(0, 1)] * 2))
            .fit(GENERATOR.uniform(size=(30, 4, 4)))
            .release_
        ),
        "0.2:0.5,0.7:0.1",
        [[0.2, 0.5], [0.7, 0.1]],
    ),
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["eval", *arguments])


@pytest.mark.parametrize("kind", RELEASES)
def test_values_are_those_of_the_release(kind, run):
    make, text, points = RELEASES[kind]
    release = make()
    release.save("out.json")
    answer = json.loads(run("out.json", "--at", text, "--json").stdout)
    given = np.array(points)
    assert answer["value"] == release(given[:, 0] if given.shape[1] == 1 else given).tolist()
    names = ["point"] if given.shape[1] == 1 else ["point_1", "point_2"]
    assert [answer[name] for name in names] == given.T.tolist()
    assert run("out.json", "--at", text, "--csv", "values.csv").exit_code == 0
    with open("values.csv") as handle:
        # What a column is stands behind its name.
        columns = [cell.partition(": ")[0] for cell in next(csv.reader(handle))]
    assert columns[: len(names) + 1] == [*names, "value"]
    assert columns[-2:] == ["lower", "upper"]


def test_a_covariance_takes_two_coordinates(run):
    release = (
        PrivateCovariance(1.0, bounds=(-1.5, 1.5), center=Center(0.0, radius=2.0)).fit(CURVES).release_
    )
    release.save("out.json")
    answer = json.loads(run("out.json", "--at", "0.1:0.9,0.5:0.5", "--json").stdout)
    assert answer["covariance"] == release([0.1, 0.5], [0.9, 0.5]).tolist()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--at", "0.1:0.2"), r"--at must give points of 1 coordinate\(s\) for this release; found 2"),
        (
            ("--at", "0.1", "--derivative"),
            "--derivative must be left out here; found a released density",
        ),
        (("--at", "0.1,0.1:0.2"), "--at must give as many coordinates for every point; found 1 and 2"),
        (("--at", "7"), "--at must lie in the domain"),
        (("--at", "a"), "--at must be numbers separated by commas"),
    ],
)
def test_what_a_density_cannot_answer_is_refused(run, more, words):
    density(CLOUD[:, :1]).save("out.json")
    result = run("out.json", *more)
    assert result.exit_code == 2
    assert re.search(words, " ".join(result.stderr.split()))


def test_a_curve_has_points_of_one_number(run):
    PrivateMean(1.0, bounds=(-1.5, 1.5)).fit(CURVES).release_.save("out.json")
    result = run("out.json", "--at", "0.1:0.2")
    assert result.exit_code == 2
    assert "--at must give points of 1 coordinate(s) for this release; found 2" in " ".join(
        result.stderr.split()
    )


def test_several_functions_are_columns(run):
    groups = np.arange(40) % 2
    compared = PrivateComparison(1.0, bounds=(-1.5, 1.5)).fit(CURVES, groups).release_
    compared.save("out.json")
    assert load("out.json").names == compared.names
    answer = json.loads(run("out.json", "--at", "0.1,0.4", "--json").stdout)
    gap = compared.difference(*compared.names)
    assert answer["point"] == [0.1, 0.4]
    assert answer["0 minus 1"] == gap([0.1, 0.4]).tolist()
    for name in compared.names:
        assert answer[f"mean {name}"] == compared[name]([0.1, 0.4]).tolist()


def test_a_comparison_has_the_band_of_each_group(run):
    release = PrivateComparison(1.0, bounds=(-2, 2)).fit(CURVES, ["case", "control"] * 20).release_
    release.save("out.json")
    asked_for = {
        (): {},
        ("--band-kind", "exact"): {"exact": True},
        ("--of", "population"): {"of": "population"},
    }
    for words, asked in asked_for.items():
        answer = json.loads(run("out.json", *words, "--json").stdout)
        at = np.array(answer["point"])
        for name, mean in release.means.items():
            own = mean.table(at, **asked).columns
            for end in ("lower", "upper"):
                assert answer[f"mean {name}, {end}"] == own[end].tolist()
        gap = release.leading.table(at, **asked).columns
        assert answer["lower"] == gap["lower"].tolist()


def test_a_covariance_has_a_band_at_all_pairs(run):
    # On one function alone a band of the whole domain would be that of a point.
    noise = MatrixNoise(functions=4)
    release = PrivateCovariance(2.0, bounds=(-2, 2), mechanism=noise).fit(CURVES).release_
    release.save("out.json")
    answer = {k: np.array(v) for k, v in json.loads(run("out.json", "--json").stdout).items()}
    value, lower, upper = (answer[name] for name in ("covariance", "lower", "upper"))
    assert np.all((lower <= value) & (value <= upper))
    assert np.all(lower[answer["s"] == answer["t"]] >= 0)
    # A pair and the same one turned round, however few are asked for, have one band.
    few = release.table([[0.2, 0.7], [0.7, 0.2]], exact=True).columns
    assert few["lower"][0] == few["lower"][1]
    # By itself it is that of `band`; of the whole domain at once it is wider.
    single = release.table([[0.2, 0.7]], simultaneous=False, exact=True).columns
    band = release.band(0.95, False, [0.2], [0.7], exact=True)
    assert single["upper"] == pytest.approx(band.upper)
    assert few["upper"][0] - few["lower"][0] > 1.2 * (single["upper"][0] - single["lower"][0])


def test_a_simultaneous_band_of_a_covariance_holds_over_the_whole_domain():
    release = PrivateCovariance(2.0, bounds=(-2, 2)).fit(CURVES).release_
    # Between the points over which the band is made, too.
    line = np.linspace(0, 1, 95)
    first, second = (axis.ravel() for axis in np.meshgrid(line, line))
    band = release.table(np.column_stack([first, second]), exact=True).columns
    half = (band["upper"] - band["lower"]) / 2
    noise = (
        release.noise.simulate(np.random.default_rng(7), 1000) * 2.0**-release.exponent / release.count
    )
    weights = np.arange(1.0, release.noise.size + 1) ** (release.emphasis or 0.0)
    noise = noise / np.outer(weights, weights)
    errors = release.tensor.coordinates(noise) @ release.tensor.evaluate(first, second).T
    held = np.mean(np.all(np.abs(errors) <= half, axis=1))
    # Four standard errors of a share of 1000; the level of 20,000 draws adds little.
    assert abs(held - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 1000)


def test_a_density_in_the_plane_has_a_band(run):
    release = density(CLOUD)
    release.save("out.json")
    answer = json.loads(
        run("out.json", "--at", "0.2:0.5,0.7:0.1", "--band-kind", "pointwise", "--json").stdout
    )
    band = release.band(0.95, False, [[0.2, 0.5], [0.7, 0.1]])
    assert answer["lower"] == pytest.approx(band.lower)
    assert answer["upper"] == pytest.approx(band.upper)


def test_what_has_no_band_says_why(run):
    release = PrivateCovariance(2.0, bounds=(-2, 2)).fit(CURVES).release_
    release.components(2).save("out.json")
    answer = run("out.json", "--at", "0.5")
    assert "lower" not in answer.stdout
    assert answer.stderr.startswith("no band: how far noise turned a component")
    counted = PrivateCovariance(2.0, bounds=(-2, 2), neighbours="add-remove").fit(CURVES).release_
    counted.save("counted.json")
    answer = run("counted.json", "--at", "0.5:0.5")
    assert answer.exit_code == 0
    assert "lower" not in answer.stdout
    assert answer.stderr.startswith("no band: the count was released with noise")


def test_a_legend_says_what_the_groups_are():
    place = Domain(labels={"group": "case"})
    compared = PrivateComparison(1.0, bounds=(-2, 2), domain=place).fit(CURVES, [0, 1] * 20).release_
    assert [line.label for line in compared.view().lines] == ["case 0", "case 1"]
    assert compared.names == ("0", "1")


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"domain": "age (years)"}, "density (one over years)"),
        ({"domain": "age"}, "density (per unit of the axis)"),
        ({"domain": "age (years)", "value": "share"}, "share"),
    ],
)
def test_a_density_says_per_what_it_is(labels, words):
    made = PrivateDensity(1.0, domain=Domain(domain_range=(0, 1), labels=labels)).fit(CLOUD[:, 0])
    assert made.release_.view().y_label == words


def test_a_report_is_made_of_what_is_piped_in(run, tmp_path):
    density(CLOUD[:, :1]).save("out.json")
    held = (tmp_path / "out.json").read_bytes()
    made = CliRunner().invoke(app, ["report", "-", "--out", "page.html"], input=held)
    assert made.exit_code == 0
    assert hashlib.sha256(held).hexdigest() in (tmp_path / "page.html").read_text()


def test_what_eval_writes_is_read_by_from_and_headed_by_the_names_of_the_columns(run):
    place = Domain(domain_range=[(0, 1)] * 2, labels={"domain": "age (years)", "domain_2": "dose"})
    made = PrivateDensity(1.0, domain=place, cells=8).fit(CLOUD)
    made.release_.save("out.json")
    assert run("out.json", "--at", "0.2:0.5,0.7:0.1").stdout.split()[:3] == ["age", "dose", "value"]
    assert run("out.json", "--at", "0.2:0.5,0.7:0.1", "--csv", "values.csv").exit_code == 0
    again = run("out.json", "--from", "values.csv", "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["value"] == made.release_([[0.2, 0.5], [0.7, 0.1]]).tolist()


def test_a_band_that_a_kind_has_not_is_refused_by_the_words_of_the_command(run):
    density(CLOUD).save("out.json")
    assert run("out.json", "--band-kind", "exact").exit_code == 0
    assert run("out.json", "--of", "noise").exit_code == 0
    refused = run("out.json", "--of", "population")
    assert refused.exit_code != 0
    words = "--of must be noise or sample for this released density; found population. What other"
    assert words in flat(refused.stderr)
    refused = run("out.json", "--of", "moon")
    assert "--of must be one of 'noise', 'sample', 'population'" in flat(refused.stderr)


def flat(text):
    return " ".join(text.split())


def test_points_are_dates_where_the_axis_is_days_since_one(run):
    days = Domain(np.arange(0.0, 84.0, 7.0), labels={"domain": "days since 2024-01-01"})
    release = PrivateMean(1.0, bounds=(-2, 2), domain=days).fit(CURVES).release_
    release.save("dated.json")
    answer = json.loads(run("dated.json", "--at", "2024-03-01,30,2024-01-02T12:00", "--json").stdout)
    assert answer["point"] == [60.0, 30.0, 1.5]
    assert answer["value"] == release([60.0, 30.0, 1.5]).tolist()
    assert "must lie in the domain" in run("dated.json", "--at", "2023-12-31").output
    assert (
        "numbers separated by commas, or dates; found 'soon'" in run("dated.json", "--at", "soon").output
    )
    density(CLOUD[:, :1]).save("plain.json")
    told = run("plain.json", "--at", "2024-03-01").output
    assert "--at must be numbers separated by commas; found '2024-03-01'" in told
