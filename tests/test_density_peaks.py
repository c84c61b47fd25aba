"""Peaks narrower than cells: found, set aside, put back; ordinary densities are left alone."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import dpfda
from dpfda import PrivateDensity
from dpfda.density.peaks import MARGIN, bridged, peaks_of
from dpfda.estimates.histospline import evidence
from dpfda.testing import simulate_density
from dpfda.views.languages import Language

LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]


def released(points, domain=(0, 100), seed=1, epsilon=1, **more):
    prepared = PrivateDensity(epsilon, domain=domain, unit="person", **more).prepare(points)
    return simulate_density(prepared, np.random.default_rng(seed))


def zeros(seed, size=10_000, value=0.0):
    generator = np.random.default_rng(seed)
    return np.where(generator.random(size) < 0.3, value, np.clip(generator.normal(50, 15, size), 0, 100))


@pytest.mark.parametrize("value", [0.0, 20.0])
def test_what_repeats_lies_in_its_own_cell(value):
    points = zeros(2, value=value)
    release = released(points)
    smooth = replace(release, smooth=True)
    at = release.raw.cells.edges[0]
    true = np.searchsorted(np.sort(points), at, side="right") / points.size
    true[0] = 0.0
    off = [np.abs(np.asarray(made.cdf(at)) - true).mean() for made in (release, smooth)]
    assert off[0] < 0.005
    assert off[0] < off[1] / 3
    cell = int(release.raw.cells.index(np.array([[value]]))[0])
    held = release.integral(at[cell], at[cell + 1])
    assert held == pytest.approx(np.mean((at[cell] <= points) & (points < at[cell + 1])), abs=0.01)
    assert release.integral() == pytest.approx(1)
    assert release.node_values.min() >= 0


def test_quantiles_of_tied_values_are_nearer():
    points = zeros(3, value=20.0)
    own = np.quantile(points, LEVELS, method="inverted_cdf")
    release = released(points)
    far = [
        np.abs(np.asarray(made.quantile(LEVELS)) - own).max()
        for made in (release, replace(release, smooth=True))
    ]
    assert far[0] < 1.0
    assert far[0] < far[1] / 2


@pytest.mark.parametrize("size", [1000, 20_000])
@pytest.mark.parametrize("shape", ["normal", "uniform", "gamma", "t"])
def test_ordinary_densities_are_left_alone(shape, size):
    generator = np.random.default_rng(4)
    points = {
        "normal": generator.normal(50, 12, size),
        "uniform": generator.uniform(0, 100, size),
        "gamma": generator.gamma(2, 8, size),
        "t": 50 + 3 * generator.standard_t(4, size),
    }[shape]
    release = released(np.clip(points, 0, 100))
    assert peaks_of(release.raw, release.node_values.size) is None
    plain = replace(release, smooth=True)
    np.testing.assert_array_equal(plain.node_values, release.node_values)


def test_a_peak_is_taken_only_where_the_evidence_is_larger_by_the_margin():
    raw = released(zeros(5)).raw
    shares = raw.counts / raw.size
    line = bridged(raw, shares)
    gained = [
        evidence(raw.cells, each / each.sum(), raw.share_variance, raw.size) for each in (shares, line)
    ]
    assert gained[1] - gained[0] > MARGIN
    assert np.flatnonzero(line != shares).tolist() == [0]
    np.testing.assert_array_equal(bridged(raw, line), line)


def test_its_bands_contain_it():
    release = released(zeros(6, value=20.0))
    at = np.linspace(0, 100, 101)
    for of in ("sample", "noise"):
        band = release.band(0.95, points=at, of=of)
        assert np.all((band.lower <= release(at)) & (release(at) <= band.upper))
        assert np.all(band.lower >= 0)


def test_in_a_peaks_cell_the_band_holds_its_share_and_is_narrow():
    held, wide = [], []
    for seed in range(20):
        points = zeros(20 + seed, size=3000, value=20.0)
        release = replace(released(points, seed=seed), inside=None)
        edges = release.raw.cells.edges[0]
        cell = int(release.raw.cells.index(np.array([[20.0]]))[0])
        band = release.band(0.95, points=[(edges[cell] + edges[cell + 1]) / 2], simultaneous=False)
        own = np.histogram(points, edges)[0][cell] / points.size / (edges[1] - edges[0])
        held.append(band.lower[0] <= own <= band.upper[0])
        far = -np.log(0.05) / np.sqrt(2) * np.sqrt(release.raw.share_variance)
        wide.append((band.lower[0] - release.raw.heights[cell]) * (edges[1] - edges[0]) / far)
    assert sum(held) >= 16
    # Noise alone, below what was counted; above it the line is, which is higher within the cell.
    np.testing.assert_allclose(wide, -1, rtol=1e-6)
    assert "the share of these persons in each cell" in release.describe()


def test_atoms_at_both_ends_are_found_together():
    generator = np.random.default_rng(9)
    points = 100 * generator.beta(2, 3, 1000)
    points[:150], points[150:250] = 0.0, 100.0
    raw = released(points).raw
    shares = raw.counts / raw.size
    assert np.flatnonzero(bridged(raw, shares) != shares).tolist() == [0, shares.size - 1]


def test_no_cell_beside_a_peak_is_lifted():
    # Few lie right above zero, so that a line from there to the hump is above them.
    generator = np.random.default_rng(10)
    points = np.where(generator.random(1000) < 0.3, 0.0, generator.lognormal(3.0, 0.6, 1000))
    for seed in range(8):
        raw = released(np.clip(points, 0, 100), seed=seed).raw
        shares = raw.counts / raw.size
        line = bridged(raw, shares)
        assert np.all(line <= shares)
        assert line[0] < 0.03


def test_it_is_said_and_files_of_any_version_are_read_so(tmp_path):
    release = released(zeros(7))
    words = release.facts.lines()["peak"]
    assert "30% of the persons lie in peaks narrower than cells" in words
    assert "zwischen 0 und 0,78125" in Language("de").text(f"{words}.")
    again = dpfda.load(release.save(tmp_path / "peaks.json"))
    np.testing.assert_array_equal(again.node_values, release.node_values)
    # Earlier versions said how the counts were made a density.
    written = json.loads((tmp_path / "peaks.json").read_text(encoding="utf-8"))
    assert "proper" not in written
    for proper in ("nearest", "adaptive"):
        (tmp_path / "earlier.json").write_text(
            json.dumps(written | {"proper": proper}), encoding="utf-8"
        )
        kept = dpfda.load(tmp_path / "earlier.json")
        np.testing.assert_array_equal(kept.node_values, release.node_values)
        np.testing.assert_array_equal(kept.quantile(LEVELS), release.quantile(LEVELS))


def test_a_bandwidth_that_is_stated_is_kept_to():
    release = released(zeros(8), bandwidth=2.0)
    assert peaks_of(release.raw, release.node_values.size) is None
