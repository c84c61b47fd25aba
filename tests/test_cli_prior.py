"""`dpfda mean --prior`: public curves from releases and from tables."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import load
from dpfda.errors import ParameterError
from dpfda.front.app import app
from dpfda.mean.settings import PublicCurve

# A grid that starts away from zero: public arguments are tried out on the curve's own domain.
GRID = np.linspace(24, 48, 25)
MEAN = 12 + 5 * np.sin(GRID / 4)


@pytest.fixture
def mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    curves = np.clip(MEAN + np.linspace(-2, 2, 200)[:, None], 0, 30)
    np.savetxt("days.csv", np.vstack([GRID, curves]), delimiter=",")

    def run(*arguments: str) -> Any:
        shared = ["days.csv", "--epsilon", "1", "--bounds", "0", "30"]
        return CliRunner().invoke(app, ["mean", *shared, *arguments])

    return run


def centers(file: str) -> Any:
    release: Any = load(file)
    return release.hierarchy.centers


def test_releases_and_tables_are_curves_on_the_grid(mean: Any) -> None:
    assert mean("--out", "first.json", "--csv", "first.csv").exit_code == 0
    first: Any = load("first.json")
    for file in ("first.json", "first.csv"):
        assert mean("--prior", file, "--out", "a.json", "--overwrite").exit_code == 0
        np.testing.assert_allclose(centers("a.json"), [first(GRID)], rtol=1e-12)
    assert mean("--prior", "first.json", "--prior", "first.csv", "--out", "b.json").exit_code == 0
    assert centers("b.json").shape == (2, 25)
    assert centers("first.json").size == 0


def test_a_table_may_have_other_points_and_no_header(mean: Any) -> None:
    Path("line.csv").write_text("20,1\n30,3\n50,7\n")
    assert mean("--prior", "line.csv", "--out", "a.json").exit_code == 0
    np.testing.assert_allclose(centers("a.json"), [1 + (GRID - 20) / 5], rtol=1e-12)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (None, "--prior must name the file of a release or of a table; found p.csv"),
        (
            "t,v\n30,1\n50,2\n",
            "must cover the grid, which goes from 24 to 48; found a curve from 30 to 50",
        ),
        ("t,v\n24,1\n48,x\n", "a point and a value in the first two columns of every row; found row 3"),
        ("t,v\n48,1\n24,2\n", "the points in increasing order; found 2 of them in another order"),
        ("t,v\n24,1\n48,inf\n", "finite values"),
        ("t\n", "found 0 of them"),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_published(
    table: str | None, words: str, mean: Any
) -> None:
    if table is not None:
        Path("p.csv").write_text(table)
    answer = mean("--prior", "p.csv", "--out", "a.json")
    assert answer.exit_code == 2
    assert words in re.sub(r"\s+", " ", answer.output)
    assert not Path("a.json").exists()


def test_not_for_other_means(mean: Any) -> None:
    Path("p.csv").write_text("20,1\n50,2\n")
    answer = mean("--prior", "p.csv", "--mechanism", "knorm", "--out", "a.json")
    assert answer.exit_code == 2
    assert "be left out but for the default mean" in re.sub(r"\s+", " ", answer.output)


def test_curves_are_checked_when_they_are_made() -> None:
    with pytest.raises(ParameterError, match="increasing order"):
        PublicCurve(np.array([0.0, 0.0]), np.array([1.0, 2.0]))
