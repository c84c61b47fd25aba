"""A release is one object: line, band, table, CSV, JSON, frame and picture show the same numbers.

Of every kind: the line lies inside its band and between the public bounds, in every way to ask for it.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from typer.testing import CliRunner

from dpfda import PrivateComparison, PrivateDensity, PrivateKernelClassifier, PrivateMean
from dpfda.bounds import ValueBounds
from dpfda.errors import ParameterError
from dpfda.front.app import app
from dpfda.machines.predictor import Predictor
from dpfda.privacy.words import number
from dpfda.releases.bands import Band
from sample_releases import CURVES, GRID, RELEASES
from stranger_files import IMAGES, KINDS, POINTS
from tests.csv_rows import csv_rows

pytestmark = pytest.mark.usefixtures("few_draws")

mpl.use("Agg")
GROUPS = np.where(np.arange(len(CURVES)) % 2, "a", "b")


def _mean(**parameters: Any) -> Any:
    made = {"epsilon": 1.0, "bounds": (-1.0, 1.2), "grid_points": GRID, **parameters}
    return PrivateMean(**made).fit(CURVES).release_


def _compared(**parameters: Any) -> Any:
    made = {"epsilon": 1.0, "bounds": (-1.0, 1.2), "grid_points": GRID, **parameters}
    return PrivateComparison(**made).fit(CURVES, GROUPS).release_


# Bounds so narrow, and noise so large, that estimates before the cut leave them again and again.
ALL: dict[str, Callable[[], Any]] = {
    **RELEASES,
    **KINDS,
    "line": lambda: _mean(epsilon=0.5),
    "slope of a line": lambda: _mean().derivative(),
    "line of a private number": lambda: _mean(neighbours="add-remove"),
    "line between curves": lambda: _mean(bounds=ValueBounds(np.sin(GRID) - 2, 2 + GRID**2)),
    "narrow": lambda: _mean(mechanism="laplace", epsilon=0.05),
    "slope of a narrow one": lambda: _mean(mechanism="laplace", epsilon=0.05).derivative(),
    "narrow image": lambda: (
        PrivateMean(0.1, bounds=(0, 1), basis=KINDS["box"]().basis).fit(IMAGES).release_
    ),
    "few points": lambda: PrivateDensity(0.1, domain=(0, 1)).fit(POINTS).release_,
    "monotone": lambda: PrivateDensity(0.1).fit_counts([90, 3, 0, 40], [0, 1, 15, 60, 100]).release_,
    "groups": _compared,
    "groups, linear": lambda: _compared(mechanism="laplace"),
    "difference": lambda: _compared().difference("a", "b"),
    "slope of a difference": lambda: _compared().difference("a", "b").derivative(),
    "difference, linear": lambda: _compared(mechanism="laplace").difference("a", "b"),
    "classes": lambda: (
        PrivateKernelClassifier(1.0, bounds=(-1, 1), classes=(0, 1), loss="logistic")
        .fit(POINTS[:, None], (POINTS > 0.4).astype(int))
        .release_
    ),
}
SQUARES = ("ReleasedCovariance",)
# What states a band of its parts alone, or none.
BANDLESS = ("ReleasedComparison", "ReleasedComponents")
# One of every class, and what is cut.
IN_FILES = (
    "pure", "derivative", "line", "slope of a line", "narrow", "box", "narrow image", "lattice",
    "density", "square", "two stages, private spread", "covariance", "components", "groups",
    "groups, linear", "difference", "slope of a difference", "difference, linear",
    "predictor", "classes",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    # What a band holds does not hang on how many draws its width is from.
    drawing = (
        "releases.bands",
        "mean.comparison.difference_release",
        "covariance.release",
        "density.cell_errors",
    )
    for module in drawing:
        monkeypatch.setattr(f"dpfda.{module}.DRAWS", 400)
    monkeypatch.setattr("dpfda.density.sample_band.DRAWS", 100)


@cache
def release_of(kind: str) -> Any:
    return ALL[kind]()


def call(release: Any, points: Any) -> Any:
    return release(points, points) if type(release).__name__ in SQUARES else release(points)


def limits(release: Any, points: Any) -> tuple[Any, Any]:
    """What no value of a release may leave, from its certificate and kind alone."""
    kind, bound = type(release).__name__, release.certificate.bound
    if kind in ("ReleasedDensity", "ReleasedCovariance"):
        return 0.0, np.inf
    if isinstance(release, Predictor) and release.task == "regression":
        return release.center - release.half_width, release.center + release.half_width
    if kind == "ReleasedDifference" and not release.first.order and bound["kind"] == "values":
        reach = bound["upper"] - bound["lower"]
        return -reach, reach
    if bound.get("kind") != "values" or getattr(release, "order", 0) or kind == "ReleasedDifference":
        return -np.inf, np.inf
    if np.ndim(bound["lower"]) == 0:
        return bound["lower"], bound["upper"]
    return tuple(np.interp(points, GRID, bound[end]) for end in ("lower", "upper"))


def assert_inside(values: Any, lower: Any, upper: Any, ends: tuple[Any, Any]) -> None:
    values, lower, upper = (np.asarray(part, dtype=float) for part in (values, lower, upper))
    assert np.all(np.isfinite(values) & np.isfinite(lower) & np.isfinite(upper))
    assert np.all((lower <= values) & (values <= upper))
    assert np.all((ends[0] <= lower) & (upper <= ends[1]))


@pytest.mark.parametrize("kind", ALL)
class TestEveryKind:
    def test_the_line_is_inside_its_band_and_bounds(self, kind: str) -> None:
        release = release_of(kind)
        if type(release).__name__ in BANDLESS:
            with pytest.raises(ParameterError, match="band must be asked of what states one"):
                release.band(0.9, of="sample")
            return
        for simultaneous in (True, False):
            band = release.band(0.9, simultaneous)
            assert (band.level, band.simultaneous) == (0.9, simultaneous)
            ends = limits(release, band.points)
            assert_inside(call(release, band.points), band.lower, band.upper, ends)
        exact = release.band(0.95, exact=True)
        assert np.all(np.isfinite(exact.lower) & (exact.lower <= exact.upper))
        with pytest.raises(ParameterError, match="of must be one of 'noise', 'sample', 'population'"):
            release.band(0.95, of="best")

    def test_values_keep_to_the_public_bounds(self, kind: str) -> None:
        release = release_of(kind)
        if not callable(release):
            return
        points = places(release)
        values = np.asarray(call(release, points))
        ends = limits(release, points)
        assert np.all(np.isfinite(values))
        assert np.all((ends[0] <= values) & (values <= ends[1]))
        if hasattr(release, "on_grid") and type(release).__name__ != "ReleasedCovariance":
            assert np.min(release.on_grid()) >= np.min(ends[0])
            assert np.max(release.on_grid()) <= np.max(ends[1])

    def test_the_picture_shows_the_line_inside_the_band(self, kind: str) -> None:
        release = release_of(kind)
        if not hasattr(release, "plot"):
            return
        axis = release.plot()
        try:
            bands = {tuple(made.get_facecolor()[0][:3]): made for made in axis.collections}
            for line in axis.get_lines():
                if line.get_linestyle() == "-" and line.get_label()[:1] != "_" and bands:
                    found = bands[mpl.colors.to_rgb(line.get_color())]
                    at, values = line.get_xdata(), line.get_ydata()
                    lower, upper = ends_of(found, at)
                    # Where little is known a line is dotted, and nothing is drawn solid.
                    solid = np.isfinite(values)
                    shown, within = values[solid], (lower[solid], upper[solid])
                    np.testing.assert_allclose(shown, call(release_for(release, line), at)[solid])
                    assert np.all((within[0] <= shown + 1e-12) & (shown <= within[1] + 1e-12))
        finally:
            mpl.pyplot.close(axis.get_figure())


def release_for(release: Any, line: Any) -> Any:
    """The part of a release that a line shows."""
    means = getattr(release, "means", {})
    return means[line.get_label()] if means else release


def ends_of(band: Any, at: Any) -> tuple[Any, Any]:
    """Lower and upper end of a band that was drawn, at points where it has corners."""
    corners = band.get_paths()[0].vertices
    found: dict[float, list[float]] = {}
    for x, y in corners:
        found.setdefault(float(x), []).append(float(y))
    xs = np.array(sorted(found))
    lower, upper = (np.array([end(found[x]) for x in xs]) for end in (min, max))
    return np.interp(at, xs, lower), np.interp(at, xs, upper)


def places(release: Any) -> Any:
    """Points all over the domain."""
    axes = np.atleast_2d(release.domain_range)
    if len(axes) == 1:
        return np.linspace(*axes[0], 97)
    mesh = np.meshgrid(*(np.linspace(*ends, 9) for ends in axes))
    return np.stack([part.ravel() for part in mesh], axis=1)


@pytest.mark.parametrize("kind", IN_FILES)
def test_the_command_gives_the_numbers_of_the_release(kind: str, tmp_path: Path) -> None:
    release = release_of(kind)
    file, table = tmp_path / "release.json", tmp_path / "values.csv"
    release.save(file)
    points = places(release)[5:50:7]
    rows = np.atleast_2d(points.T).T
    if type(release).__name__ in SQUARES:
        rows = np.column_stack([points, points])
    at = ",".join(":".join(repr(float(part)) for part in row) for row in rows)
    for band in ("simultaneous", "pointwise", "exact"):
        answer = asked("eval", str(file), "--at", at, "--band-kind", band, "--json")
        asked("eval", str(file), "--at", at, "--band-kind", band, "--csv", str(table), "--overwrite")
        with table.open() as handle:
            rows_of_it = csv_rows(handle)
        written = {name: [float(row[name]) for row in rows_of_it] for name in rows_of_it[0]}
        assert written == {name: answer[name] for name in written}
        if "value" in answer:
            assert answer["value"] == np.ravel(call(release, points)).tolist()
        if "lower" in answer and band == "exact":
            middle = (np.array(answer["lower"]) + answer["upper"]) / 2
            np.testing.assert_allclose(answer["measured"], middle)
        elif type(release).__name__ in SQUARES and "lower" in answer:
            named = "covariance"
            assert (np.array(answer["lower"]) <= answer[named]).all()
            assert (np.array(answer["upper"]) >= answer[named]).all()
        elif "lower" in answer:
            value = answer.get("value") or answer[" minus ".join(release.names[:2])]
            shown = release if "value" in answer else release.difference(*release.names[:2])
            assert_inside(value, answer["lower"], answer["upper"], limits(shown, points))
        for name in getattr(release, "means", {}):
            assert answer[f"mean {name}"] == release[name](points).tolist()


def asked(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if "--json" in arguments else {}


WORDS = {
    "line": ("is meant to hold the mean of these bounded curves", "narrower than a cell can be missed"),
    "slope of a line": ("meant to hold the derivative of the mean of these", "in 80 to 90 of 100"),
    "narrow": ("what would have been published without noise and between the public bounds lies",),
    "pure": ("a linear estimate without noise and between the public bounds",),
    "laplace": ("what would have been published without noise lies",),
    "narrow image": ("a linear estimate without noise and between the public",),
    "lattice": ("what would have been published without noise lies",),
    "density": (
        "meant to hold the smooth density that the cells of these records would show without noise",
    ),
    "monotone": ("the share of these records in each cell, over its size, lies",),
    "groups": (
        "meant to hold the difference of the means of the bounded curves",
        "These bands are not about",
    ),
    "difference, linear": ("the difference of linear estimates, without noise, lies",),
    "predictor": ("Noise moved its value at a point by at most", "Mostly it was far less"),
}


@pytest.mark.parametrize("kind", WORDS)
def test_words_name_what_the_band_holds_and_how_far_it_reaches(kind: str) -> None:
    release = release_of(kind)
    said = " ".join(release.describe().split())
    for words in WORDS[kind]:
        assert words in said
    if kind in ("line", "slope of a line", "narrow", "pure", "laplace"):
        # What is said to lie within a distance of the line is in a band that reaches no farther.
        band = release.band(0.95)
        far = np.maximum(band.upper - release(band.points), release(band.points) - band.lower)
        assert release.facts.bands[0].largest == far.max()
        assert release.facts.bands[0].typical == far.mean()
        assert number(far.max()) in said


@pytest.mark.parametrize("kind", ["narrow image", "square"])
def test_an_image_says_how_far_noise_reaches(kind: str) -> None:
    release = release_of(kind)
    band = release.band(0.9)
    far = np.maximum(band.upper - release(band.points), release(band.points) - band.lower).max()
    said = f"values without the noise lie within {number(float(far))} of these, 90%"
    assert said in release.view(0.9).subtitle
    assert "noise" not in release.view(None).subtitle


def test_a_table_has_the_line_inside_a_band_that_ends_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends are found at more points at once than the line: products may be rounded otherwise."""
    release = release_of("pure")

    def just_above(*arguments: Any, **named: Any) -> Any:
        at = arguments[3]
        return Band(at, np.nextafter(release(at), np.inf), release(at) + 1, 0.95, False)

    monkeypatch.setattr(type(release), "band", just_above)
    found = release.table(GRID, simultaneous=False).columns
    assert_inside(found["value"], found["lower"], found["upper"], (-np.inf, np.inf))
