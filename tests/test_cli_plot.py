"""`dpfda plot` of several files, and `dpfda eval` of densities."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import PrivateComparison, PrivateDensity, PrivateMean, load
from dpfda.front.app import app
from dpfda.views import draw as true_draw

pytestmark = pytest.mark.usefixtures("few_draws")

CURVES = 0.5 + 0.2 * np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.1, 0.1, 60)[:, None]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def said(result):
    return " ".join(result.output.split())


@pytest.fixture
def drawn(monkeypatch):
    """The views that were drawn."""
    views = []
    monkeypatch.setattr(
        "dpfda.views.draw", lambda view, ax=None: views.append(view) or true_draw(view, ax)
    )
    return views


@pytest.fixture
def files(tmp_path):
    made = {}
    for name, epsilon, domain in (("before", 1, (0, 1)), ("after", 2, (0, 1)), ("longer", 1, (0, 2))):
        mean = PrivateMean(epsilon, bounds=(0, 1), domain=domain).fit(CURVES)
        made[name] = mean.release_.save(tmp_path / f"{name}.json")
    kernel = PrivateMean(1, bounds=(0, 1), basis="matern:20%:1.5").fit(CURVES)
    made["kernel"] = kernel.release_.save(tmp_path / "kernel.json")
    ages = PrivateDensity(1, domain=(0, 100)).fit(np.linspace(20, 80, 500))
    made["ages"] = ages.release_.save(tmp_path / "ages.json")
    return made


def test_several_curves_are_named_by_their_files(files, drawn, tmp_path):
    out = tmp_path / "both.png"
    result = run("plot", files["before"], files["after"], "--plot", out)
    assert result.exit_code == 0, result.output
    assert out.stat().st_size > 10_000
    (view,) = drawn
    assert [line.label for line in view.lines] == ["before", "after"]
    # What each promises; together they cost more, which is never said to be what one of them does.
    assert view.subtitle == (
        "each published under 1-differential privacy (pure) or 2-differential privacy (pure)"
    )


def test_a_difference_is_the_first_minus_the_second(files, drawn, tmp_path):
    result = run("plot", files["after"], files["before"], "--difference", "--plot", tmp_path / "d.png")
    assert result.exit_code == 0, result.output
    (view,) = drawn
    (line,) = view.lines
    first, second = load(files["after"]), load(files["before"])
    np.testing.assert_allclose(line.values, first(line.points) - second(line.points), atol=1e-12)
    assert view.subtitle.startswith("each published under")
    assert view.baseline == 0


def test_the_difference_of_a_comparison_is_its_first_group_minus_its_second(drawn, tmp_path):
    groups = PrivateComparison(1, bounds=(0, 1), levels=["a", "b"]).fit(
        CURVES, ["b", "a"] * (len(CURVES) // 2)
    )
    file = groups.release_.save(tmp_path / "groups.json")
    result = run("plot", file, "--difference", "--plot", tmp_path / "d.png")
    assert result.exit_code == 0, result.output
    (view,) = drawn
    (line,) = view.lines
    np.testing.assert_allclose(line.values, load(file).difference("a", "b")(line.points), atol=1e-12)


@pytest.mark.parametrize(
    ("names", "flags", "words"),
    [
        (("before", "ages"), (), "have the same axes where several are drawn in one"),
        (
            ("before",),
            ("--difference",),
            "released function. Name two files of mean curves, or one that",
        ),
        (("before", "ages"), ("--difference",), "be of two released curves"),
        (("before", "longer"), ("--difference",), "be of curves on one domain"),
        (("before", "kernel"), ("--difference",), "be of two default means of curves between bounds"),
        (("before", "before"), (), "have names of their own"),
    ],
)
def test_what_does_not_fit_is_refused(files, tmp_path, names, flags, words):
    out = tmp_path / "a.png"
    result = run("plot", *(files[name] for name in names), *flags, "--plot", out)
    assert result.exit_code == 2
    assert words in said(result)
    assert not out.exists()


def test_quantiles_of_a_density_are_those_of_the_release(files):
    result = run("eval", files["ages"], "--quantiles", "0.25,0.5", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.output)
    assert told["share"] == [0.25, 0.5]
    np.testing.assert_allclose(told["point"], load(files["ages"]).quantile([0.25, 0.5]))


def test_synthetic_points_are_drawn_from_the_density(files, tmp_path):
    out = tmp_path / "points.csv"
    result = run("eval", files["ages"], "--sample", 4000, "--csv", out)
    assert result.exit_code == 0, result.output
    points = np.array(out.read_text(encoding="utf-8").splitlines()[1:], dtype=float)
    assert points.size == 4000
    # Kolmogorov's bound at 1e-6: a wrong law, such as one shifted by three years, is outside.
    ranks = np.sort(np.asarray(load(files["ages"]).cdf(points)))
    distance = np.abs(ranks - (np.arange(4000) + 0.5) / 4000).max()
    assert distance < 2.69 / np.sqrt(4000)


@pytest.mark.parametrize(
    ("name", "flags", "words"),
    [
        ("before", ("--sample", "3"), "--sample must be asked of a density"),
        ("before", ("--quantiles", "0.5"), "--quantiles must be asked of a density on an interval"),
        ("ages", ("--quantiles", "0.5", "--sample", "3"), "be asked for without --sample"),
        ("ages", ("--quantiles", "2"), "--quantiles must be probabilities from 0 to 1; found 2"),
        ("ages", ("--sample", "-1"), "n must"),
    ],
)
def test_questions_that_have_no_answer_are_refused(files, name, flags, words):
    result = run("eval", files[name], *flags)
    assert result.exit_code == 2
    assert words in said(result)


def test_a_picture_among_the_releases_is_told_how_to_be_named(files):
    result = run("plot", files["before"], "other.png")
    assert result.exit_code == 2
    assert "F.json must be a release; found 'other.png'. Write --plot other.png." in said(result)
