"""Bands of densities for the units' own density, and what is said where values lie a step apart."""

import math

import numpy as np
import pytest

from dpfda import PrivateDensity
from dpfda.bases.cells import CellGrid, synthesise
from dpfda.density.peaks import peaks_of
from dpfda.density.sample_band import bends, cells_band, is_rough, sample_widths, standing_out
from dpfda.estimates.histospline import adaptive_smoother
from dpfda.numerics.errors import ParameterError
from dpfda.releases.bands import Asked

SCORES = np.clip(np.rint(np.random.default_rng(1).normal(11, 4, size=400)), 0, 20)
SHARES = np.bincount(SCORES.astype(int), minlength=21) / SCORES.size


def hills(count: int, generator: np.random.Generator) -> np.ndarray:
    first = generator.normal(0.35, 0.1, count)
    drawn = np.where(generator.uniform(size=count) < 0.6, first, generator.normal(0.7, 0.06, count))
    return drawn[(drawn > 0) & (drawn < 1)]


def steps(**changes):
    return PrivateDensity(1, **{"domain": (0, 20), "step": 1, **changes}).fit(SCORES).release_


def test_the_default_is_of_the_sample_and_no_other_is_stated_for_a_kernel():
    points = hills(500, np.random.default_rng(2))
    release = PrivateDensity(1, domain=(0, 1)).fit(points).release_
    told, found = (release.band(0.9, of=of) for of in ("sample", None))
    np.testing.assert_array_equal(told.upper, found.upper)
    assert release.facts.bands[0].claim.of == "sample"
    assert np.mean(release.band(of="noise").upper) < np.mean(release.band().upper)
    with pytest.raises(ParameterError, match="population"):
        release.band(of="population")
    kernel = PrivateDensity(1, domain=(0, 1), mechanism="kernel", cells=16).fit(points).release_
    with pytest.raises(ParameterError, match="noise"):
        kernel.band(of="sample")
    plane = PrivateDensity(1, domain=[(0, 1)] * 2).fit(np.column_stack([points, points])).release_
    with pytest.raises(ParameterError, match="noise"):
        plane.conditional(0.5).band(of="sample")


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("epsilon", [1, 10])
def test_it_holds_what_an_unlimited_budget_publishes(epsilon):
    # Stated is .95: 32 or fewer of 40 hold with probability 7e-4. At epsilon 10 much of the error is the
    # smoother's, and a band of the noise alone held 319 of 480: 38 or more of 40 with less than 1e-4.
    # At 1 it is mostly noise, and that band cannot be told from the other by 40. Of the band of the
    # noise alone that it fails is looked at, by fewer draws than a user has.
    generator, held, alone = np.random.default_rng(3), 0, 0
    for _ in range(40):
        points = hills(600, generator)
        many = PrivateDensity(1e5, domain=(0, 1)).fit(points).release_
        release = PrivateDensity(epsilon, domain=(0, 1)).fit(points).release_
        band = release.band()
        held += band.contains(many(band.points))
        if epsilon == 10:
            noise = release.band(of="noise")
            alone += noise.contains(many(noise.points))
    assert held > 32
    assert alone < 38


@pytest.mark.parametrize("regular", [True, False])
def test_errors_are_those_of_the_smoother(regular):
    # By a second road: the covariance of the error, from the linear maps that the smoother is made of.
    edges = np.linspace(0, 1, 7) if regular else np.array([0, 0.1, 0.3, 0.5, 0.8, 0.9, 1.0])
    cells, privacy, size = CellGrid.from_edges(edges), 1e-3, 300.0
    shares = np.array([0.1, 0.3, 0.25, 0.2, 0.1, 0.05])
    smoother = adaptive_smoother(cells, shares, privacy, size)
    linear = (
        np.array([smoother.coefficients(cells.shares + unit) for unit in np.eye(6)]).T
        - smoother.coefficients(cells.shares)[:, None]
    )
    modes = smoother.prior.size
    seen = np.array([smoother.cell_shares(unit) for unit in np.eye(modes)]).T
    power = smoother.prior + 1 / size
    own = linear @ seen - np.diag(smoother.prior / power)
    own[:, 0] = 0.0
    own[0] = 0.0
    wanted = np.sum(own**2 * power, axis=1) + privacy * np.sum(linear**2, axis=1)
    drawn = np.concatenate([*smoother.errors(np.random.default_rng(4), 4000, privacy, size)])
    found = np.mean(drawn**2, axis=0)
    # The variance of 4,000 normal draws is within a fifth in nine standard errors.
    kept = wanted > wanted.max() * 1e-6
    np.testing.assert_allclose(found[kept], wanted[kept], rtol=0.2)
    assert found[0] == 0


def test_of_values_a_step_apart_it_is_exact():
    # Simultaneous Laplace noise on 21 cells of one value: held with probability .8, not more, not less.
    held, alone, times = 0, 0, 300
    for _ in range(times):
        release = steps()
        (edges,) = release.raw.cells.edges
        band = cells_band(release.raw, release.possible[:, None], Asked(0.8), edges)
        held += band.contains(SHARES)
        point = cells_band(release.raw, np.array([[11.0]]), Asked(0.8, simultaneous=False), edges)
        alone += point.contains(SHARES[11:12])
    # Five standard errors of a share of .8.
    for count in (held, alone):
        assert abs(count / times - 0.8) <= 5 * np.sqrt(0.8 * 0.2 / times)


def test_the_band_of_values_holds_what_was_published():
    release = steps()
    band = release.band(0.95)
    _, masses = release.masses()
    assert band.contains(masses)
    assert band.lower.min() >= 0
    assert "with 95% probability the share of these" in release.facts.lines()["band"]
    # Gaussian noise has a law of its own.
    law = steps(delta=1e-6, noise="gaussian").raw
    told = cells_band(law, np.array([[11.0]]), Asked(0.95, False), law.cells.edges[0])
    reach = (told.upper - told.lower)[0] / 2
    assert reach == pytest.approx(1.959964 * np.sqrt(law.share_variance), rel=1e-5)


def test_a_bend_within_cells_widens_the_band():
    # Straight courses have no bends; a hill as wide as a cell has one at its top.
    raw = (
        PrivateDensity(1, domain=(0, 1), cells=8).fit(hills(500, np.random.default_rng(5))).release_.raw
    )
    at = (np.arange(2048) + 0.5) / 2048
    flat = bends(raw, 3.0 + 0 * at)
    assert flat.max() < 1e-12
    line = bends(raw, at)
    np.testing.assert_allclose(line[512:1536], 0, atol=1e-9)
    hill = bends(raw, np.exp(-0.5 * ((at - 0.5) / 0.05) ** 2))
    assert hill.argmax() == pytest.approx(1024, abs=130)
    assert hill.max() == pytest.approx(2 * (1 - np.exp(-0.5 * (0.125 / 0.05) ** 2)), rel=0.01)
    # In a plane they add up over the axes.
    plane = PrivateDensity(1, domain=[(0, 1)] * 2, cells=(8, 4)).fit(np.full((50, 2), 0.5)).release_.raw
    ridge = np.broadcast_to(np.exp(-0.5 * ((at[::8] - 0.5) / 0.05) ** 2)[:, None], (256, 256))
    assert bends(plane, ridge).max() == pytest.approx(hill.max(), rel=0.02)


def test_chance_widens_the_band_where_units_are_many():
    points = hills(500, np.random.default_rng(5))
    raw = PrivateDensity(1, domain=(0, 2), cells=8).fit(points).release_.raw
    # Of mean one over the axis of length 2, and far from the step, where there is a bend.
    even, step = np.full(2048, 0.5), np.repeat([0.875, 0.125], 1024)
    at = np.array([[256.0, 1792.0]])
    plain, wide = (sample_widths(raw, nodes, at, Asked(0.95), False) for nodes in (even, step))
    np.testing.assert_allclose(wide / plain, [math.sqrt(1.75), 1])


def test_beside_a_peak_it_reaches_as_far_as_for_a_smooth_density():
    generator = np.random.default_rng(6)
    points = np.where(generator.random(4000) < 0.2, 0.31, generator.normal(0.5, 0.15, 4000))
    release = PrivateDensity(1, domain=(0, 1), scale="linear").fit(points).release_
    at, (edges,) = (np.arange(2048) + 0.5) / 2048, release.raw.cells.edges
    band, shares = release.band(points=at), cells_band(release.raw, at[:, None], Asked(0.95), edges)
    farther = band.upper > np.maximum(shares.upper, release(at)) * (1 + 1e-9)
    cells = np.searchsorted(edges, at, side="right") - 1
    (peak,) = np.flatnonzero(peaks_of(release.raw, release.node_values.size).shares)
    assert edges[peak] <= 0.31 < edges[peak + 1]
    assert not farther[cells == peak].any()
    assert farther[np.abs(cells - peak) == 1].all()
    assert np.all(band.upper >= shares.upper)


def test_values_in_steps_are_recognised():
    generator = np.random.default_rng(6)
    ages = np.clip(np.rint(generator.normal(50, 17, 20_000)), 0, 105)
    release = PrivateDensity(1, domain=(0, 105)).fit(ages).release_
    assert "step=1" in release.facts.lines()["values"]
    assert "whole years" in str(release.report())
    assert (
        "values"
        not in PrivateDensity(1, domain=(0, 105), step=1).fit(ages).release_.facts.stated.findings
    )
    hours = generator.normal(8, 2, 20_000) % 24
    halves = np.where(generator.uniform(size=hours.size) < 0.6, np.rint(hours * 2) / 2, hours) % 24
    assert standing_out(PrivateDensity(1, domain=(0, 24)).fit(halves).release_.raw) >= 3


def test_smooth_densities_are_not_taken_for_steps():
    generator = np.random.default_rng(7)
    for size in (500, 20_000):
        for points in (generator.normal(0.3, 0.01, size), generator.standard_t(2, size) / 100 + 0.5,
                       generator.exponential(0.2, size), generator.beta(0.5, 0.5, size)):  # fmt: skip
            released = PrivateDensity(1, domain=(0, 1)).fit(np.clip(points, 0, 1)).release_
            assert standing_out(released.raw) < 3


def test_a_peak_that_is_narrower_than_a_cell_is_told():
    points = np.random.default_rng(8).normal(0.31, 0.002, size=300)
    release = PrivateDensity(1, domain=(0, 1)).fit(points).release_
    assert "two of 32 cells" in release.facts.lines()["peak"]
    assert "More than 70% of the" in str(release.report())
    wide = PrivateDensity(1, domain=(0.3, 0.32)).fit(points).release_
    assert "peak" not in wide.facts.lines()


def test_a_plane_is_not_looked_at_for_steps():
    raw = PrivateDensity(1, domain=[(0, 1)] * 2).fit(np.full((50, 2), 0.5)).release_.raw
    assert standing_out(raw) == 0
    assert np.isfinite(synthesise(raw.coefficients, (4, 4))).all()


def shares_of(release, points):
    """Edges of the cells on the axis, and the points' own shares over lengths."""
    cells = release.raw.cells
    at = points[:, None] if release.scale is None else release.scale.positions(points[:, None])
    edges = cells.edges[0] if release.scale is None else release.scale.edges(cells.size)
    return edges, np.bincount(cells.index(at), minlength=cells.size) / points.size / np.diff(edges)


@pytest.mark.parametrize("kind", ["weights", "few cells", "atoms", "a zoom"])
def test_where_counts_are_rough_it_is_of_the_shares_of_cells(kind):
    # Values as they are recorded, nearly all in two of 32 cells, a peak that is set aside, and values
    # that repeat on cells of unequal length. Stated is .95: 32 or fewer of 40 hold with a probability of
    # 7e-4, and all 40 with one of .13 each.
    generator, held, size = np.random.default_rng(5), 0, 300 if kind == "few cells" else 3000
    for _ in range(40):
        even = 100 * generator.random(size)
        points, end = {
            "weights": lambda: (np.rint(generator.normal(75, 14, size) / 5) * 5, 150),
            "few cells": lambda: (generator.exponential(0.008, size), 1),
            "atoms": lambda even=even: (np.where(even < 30, 20, even), 100),
            "a zoom": lambda: (np.rint(generator.normal(75, 3, size)), 2000),
        }[kind]()
        points = np.clip(points, 0, end)
        release = PrivateDensity(1, domain=(0, end)).fit(points).release_
        edges, own = shares_of(release, points)
        # Three points a cell, not beyond edges by rounding.
        inside = np.ravel(edges[:-1, None] + np.diff(edges)[:, None] * np.array([0.01, 0.5, 0.99]))
        band = release.band(points=inside)
        assert band.contains(release(inside))
        held += band.contains(np.repeat(own, 3))
    assert (release.scale is not None) == (kind == "a zoom")
    assert "the share of these records in each cell" in release.facts.bands[0].claim.holds
    assert held > 32


@pytest.mark.parametrize("size", [1000, 20_000])
def test_smooth_densities_are_not_rough(size):
    generator = np.random.default_rng(9)
    for points in (hills(size, generator), generator.random(size), generator.beta(2, 5, size)):
        release = PrivateDensity(1, domain=(0, 1)).fit(points).release_
        assert not is_rough(release.raw)
        assert "the smooth density that the cells" in release.facts.bands[0].claim.holds
