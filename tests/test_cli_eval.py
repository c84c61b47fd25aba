"""`dpfda eval` on releases that are not curves: the values are those of the release in Python."""

import csv
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import PrivateComparison, PrivateCovariance, PrivateDensity, PrivateMean, load
from dpfda.bases import BoxBasis
from dpfda.front.command.app import app
from dpfda.summaries.matrix_noise import Center

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
    # A band where this kind has one in so many dimensions, and then in every table.
    assert (columns[-2:] == ["lower", "upper"]) is (kind != "density on a square")


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
        (("--at", "0.1", "--derivative"), "--derivative must be left out here; found ReleasedDensity"),
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
