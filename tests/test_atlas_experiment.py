"""What the study of honest baselines relies on: the rivals by other ways, the cells, and its page."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfda.testing import simulate_releases
from experiments import atlas, atlas_page, common
from experiments.atlas_rivals import (
    CellSpline,
    ball_noise,
    box_noise,
    cosine_releases,
    likeliest_scales,
    rule_cells,
    rule_cosines,
)
from experiments.best_mean_page import geometric_mean

# Standard errors that a mean of seeded draws may be off: 1 in 150,000.
ERRORS = 4.5


@pytest.fixture(scope="module")
def waves() -> atlas.CurveSet:
    """Made-up curves, some of them beyond their bounds."""
    generator = np.random.default_rng(3)
    times = np.linspace(0, 1, 24)
    curves = 3 + np.sin(6 * times) + 0.4 * generator.standard_normal((30, 1))
    return atlas.CurveSet("waves", "made up", "cm", curves, 1.5, 4.0)


@pytest.fixture(scope="module")
def results() -> tuple[Any, Any]:
    """The committed results."""
    names = ("atlas.json", "atlas_before.json")
    found, before = (json.loads((common.RESULTS / name).read_text()) for name in names)
    return found, before


class TestRivals:
    @pytest.mark.parametrize(
        ("points", "strength", "cells", "cosines"),
        [(200, 50.0, 4, 3), (200, 300.0, 8, 6), (200, 80_000.0, 100, 42), (24, 80_000.0, 24, 24)],
    )
    def test_numbers_are_public_powers(
        self, points: int, strength: float, cells: int, cosines: int
    ) -> None:
        assert rule_cells(points, strength) == cells
        assert rule_cosines(points, strength) == cosines

    def test_cells_share_the_points_evenly(self) -> None:
        averages = CellSpline(50, 7).averages
        np.testing.assert_allclose(averages.sum(axis=1), 1)
        sizes = (averages > 0).sum(axis=1)
        assert sizes.max() - sizes.min() <= 1
        assert sizes.sum() == 50
        assert np.all(np.diff(averages.argmax(axis=1)) > 0)

    def test_noise_has_the_law_of_its_guarantee(self) -> None:
        # Under exp(-norm) in M dimensions the norm is Gamma(M): mean and variance are both M.
        generator, draws, count = np.random.default_rng(4), 40_000, 6
        norms = {
            "box": np.abs(box_noise(generator, draws, count)).max(axis=1),
            "ball": np.linalg.norm(ball_noise(generator, draws, count), axis=1),
        }
        for name, sizes in norms.items():
            assert abs(sizes.mean() - count) < ERRORS * math.sqrt(count / draws), name
            assert abs(sizes.mean() - count * 1.05) > ERRORS * math.sqrt(count / draws), name

    def test_the_spline_is_the_best_linear_estimate_by_generalised_least_squares(self) -> None:
        spline, power = CellSpline(30, 6), 0.02
        noisy = np.array([0.2, 0.5, 0.4, 0.9, 0.7, 0.3])
        times = np.linspace(0, 1, 30)
        least, most = np.minimum.outer(times, times), np.maximum.outer(times, times)
        kernel = least**2 * (3 * most - least) / 6 + np.outer(times - 0.5, times - 0.5)
        averages, ones = spline.averages, np.ones(6)

        def estimate(scale: float) -> tuple[Any, float]:
            """Curve, and twice the negative restricted log likelihood but for a constant."""
            total = power * (scale * averages @ kernel @ averages.T + np.eye(6))
            inverse = np.linalg.inv(total)
            level = ones @ inverse @ noisy / (ones @ inverse @ ones)
            rest = inverse @ (noisy - level)
            loss = np.linalg.slogdet(total)[1] + math.log(ones @ inverse @ ones)
            return level + power * scale * kernel @ averages.T @ rest, loss + (noisy - level) @ rest

        scales = np.geomspace(1e-4, 1e16, 61)[:35]  # beyond them inverses are too rough to compare
        best = min(scales, key=lambda scale: estimate(scale)[1])
        np.testing.assert_allclose(
            spline.estimate(noisy[None, :], power)[0], estimate(best)[0], atol=1e-6
        )

    @pytest.mark.parametrize("cells", [2, 30, 100])
    def test_contrasts_say_nothing_of_the_level(self, cells: int) -> None:
        # Eigenvalues of smooth kernels end at rounding: an eigenvector may not mix with the level there.
        _, forms, _ = CellSpline(100, cells).contrasts
        np.testing.assert_allclose(forms.T @ forms, np.eye(cells - 1), atol=1e-10)
        np.testing.assert_allclose(forms.sum(axis=0), 0, atol=1e-10)

    def test_one_cell_is_a_constant(self) -> None:
        curves = CellSpline(9, 1).estimate(np.array([[0.3], [0.8]]), 0.1)
        np.testing.assert_allclose(curves, np.array([[0.3], [0.8]]) * np.ones(9))

    def test_the_likeliest_scale_is_near_the_true_one(self) -> None:
        generator = np.random.default_rng(5)
        variances, power = np.full(400, 2.0), 0.5
        seen = generator.normal(0, math.sqrt(power * (1 + 100 * 2.0)), (3, 400))
        assert np.all(np.abs(np.log(likeliest_scales(seen, variances, power) / 100)) < 0.8)

    def test_without_noise_cosines_give_smooth_curves_back(self) -> None:
        times = (np.arange(40) + 0.5) / 40
        mean = 0.5 + 0.2 * np.cos(np.pi * times) - 0.1 * np.cos(3 * np.pi * times)
        released = cosine_releases(np.random.default_rng(6), mean, 1e7, 5)
        np.testing.assert_allclose(released, mean * np.ones((5, 1)), atol=1e-4)


class TestCells:
    def test_every_cell_has_its_own_luck_whatever_else_is_run(self, waves: atlas.CurveSet) -> None:
        def first(size: int, epsilon: float, purpose: str) -> float:
            return float(atlas.Cell(waves, size, epsilon, 1).generator(purpose).random())

        found = {
            first(n, epsilon, purpose)
            for n, epsilon in atlas.SIZES
            for purpose in ("curves", "default", "bands")
        }
        assert len(found) == 3 * len(atlas.SIZES)
        assert first(300, 1.0, "bands") == first(300, 1.0, "bands")

    def test_curves_are_clipped_to_the_public_bounds(self, waves: atlas.CurveSet) -> None:
        data = atlas.Cell(waves, 200, 0.25, 1).data
        assert data.shape == (200, 24)
        assert data.min() == 1.5
        assert data.max() == 4.0
        assert waves.curves.max() > 4.0

    def test_simulated_releases_are_those_of_the_study_of_errors(self, waves: atlas.CurveSet) -> None:
        # Whole releases and `simulate_releases`: two ways to the same law, here to the same curves.
        cell = atlas.Cell(waves, 300, 1.0, 1)
        data, grid = cell.data, np.linspace(0, 1, 24)
        curves = np.asarray(simulate_releases(cell.estimator, data, 6, 7))
        whole = list(atlas.simulated(cell.estimator, data, np.random.default_rng(7), 6))
        np.testing.assert_allclose(curves, [release(grid) for release in whole], atol=1e-3)
        assert all("NOT PRIVATE" in release.about["simulated"] for release in whole)

    def test_hindsight_is_not_above_the_rule_beyond_luck(self, waves: atlas.CurveSet) -> None:
        errors = atlas.Cell(waves, 5_000, 1.0, 1).rival_errors(200)
        assert errors["rule_cells"] == 24
        assert errors["hindsight"] < 1.1 * errors["rule"]
        assert 0 < errors["cosines"] < 0.1

    def test_bands_are_judged_by_what_they_hold(self, waves: atlas.CurveSet) -> None:
        found = atlas.Cell(waves, 5_000, 1.0, 1).bands(6)
        assert found["holds"] >= 0.5
        assert len(found["widths"]) == 6
        assert all(0.3 < width < 40 for width in found["widths"])


class TestPage:
    def test_the_committed_page_is_what_the_results_say(self, results: tuple[Any, Any]) -> None:
        assert atlas.PAGE.read_text() == atlas_page.page(*results, "pictures/atlas.png")

    def test_both_versions_were_run_on_the_same_cells(self, results: tuple[Any, Any]) -> None:
        found, before = results
        for name in ("seed", "draws", "releases", "level", "sets"):
            assert found[name] == before[name], name
        keys = [[(row["set"], row["n"], row["epsilon"]) for row in each["errors"]] for each in results]
        assert keys[0] == keys[1]
        assert len(keys[0]) == len(found["sets"]) * len(atlas.SIZES)

    def test_a_ratio_is_the_default_over_the_rival(self) -> None:
        errors = [
            {"set": "a", "n": n, "epsilon": 1.0, "default": 2.0 * n, "rule": 1.0, "cosines": 4.0}
            for n in (1, 2)
        ]
        found = {"sets": [{"name": "a"}], "errors": errors}
        before = {"errors": [{**row, "default": 4.0} for row in errors]}
        both = atlas_page.Comparison(found, before)
        assert math.isclose(both.over("rule"), math.sqrt(2 * 4))
        assert both.over("before", size=(2, 1.0)) == 1

    def test_the_picture_is_drawn(self, results: tuple[Any, Any], tmp_path: Path) -> None:
        atlas_page.draw_picture(tmp_path / "atlas.png", *results)
        assert (tmp_path / "atlas.png").stat().st_size > 10_000


class TestQuoted:
    """Figures in the pages for readers are those of the results beside them."""

    def test_ratios_to_the_printed_table(self) -> None:
        with (common.RESULTS / "best_mean.csv").open() as handle:
            rows = [row for row in csv.DictReader(handle) if row["printed"] != "nan"]
        assert len(rows) == 24
        docs = atlas.PAGE.parent
        for column, quoted in (("ours", "above the default"), ("named", "kernel named")):
            # Measured as the printed column was, with equal weights.
            ratios = [float(row["printed"]) / float(row[f"{column}_equal"]) for row in rows]
            mean, least = geometric_mean(ratios), min(ratios)
            line = f"{quoted} | {mean:.2f} | {least:.2f} |"
            assert line in (docs / "accuracy.md").read_text()
            if column == "ours":
                words = f"{mean:.1f} times below the printed one (geometric mean; least {least:.1f})"
                assert words in (docs.parent / "README.md").read_text()

    def test_ratios_to_the_baselines(self, results: tuple[Any, Any]) -> None:
        both = atlas_page.Comparison(*results)
        text = " ".join((atlas.PAGE.parents[1] / "README.md").read_text().split())
        worst = max(both.over("rule", name) for name in both.sets)
        assert f"{both.over('rule'):.2f} times the error of an expert's spline on box noise" in text
        assert f"(worst set {worst:.2f}), {both.over('hindsight'):.2f} times that of" in text
        assert f"and {both.over('before'):.2f} times that of the default before" in text


def test_results_have_a_row_a_line(tmp_path: Path) -> None:
    common.write_json(tmp_path / "x.json", {"seed": 3, "rows": [{"a": 1 / 3}, {"a": 2e-9}]})
    text = (tmp_path / "x.json").read_text()
    assert text == '{\n "seed": 3,\n "rows": [\n  {"a": 0.333333},\n  {"a": 2e-09}\n ]\n}\n'
