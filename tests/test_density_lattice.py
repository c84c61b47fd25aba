"""Densities of values that are a stated step apart: probabilities of values, in place of a curve."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpfda
from dpfda import Domain, PrivateDensity, load
from dpfda.bases.cells import CellGrid
from dpfda.density.cell_errors import lattice_cells
from dpfda.density.kernel import DensityKernel
from dpfda.numerics.errors import ParameterError
from dpfda.testing import simulate_density

GENERATOR = np.random.default_rng(1)
SCORES = np.clip(np.rint(GENERATOR.normal(11, 4, size=800)), 0, 20)
SHARES = np.bincount(SCORES.astype(int), minlength=21) / SCORES.size


def released(epsilon: float = 1.0, **changes):
    return PrivateDensity(epsilon, **{"domain": (0, 20), "step": 1, **changes}).fit(SCORES).release_


def test_with_a_large_budget_masses_are_the_shares_of_the_values():
    # Of many, for smoothing takes sampling into account.
    density = PrivateDensity(1e3, domain=(0, 20), step=1).fit(np.tile(SCORES, 500))
    values, masses = density.release_.masses()
    np.testing.assert_array_equal(values, np.arange(21.0))
    np.testing.assert_allclose(masses, SHARES, atol=1e-3)
    assert masses.sum() == pytest.approx(1, abs=1e-12)


def test_the_distribution_is_that_of_the_masses():
    release = released()
    values, masses = release.masses()
    np.testing.assert_allclose(release.cdf(values), np.cumsum(masses), atol=1e-12)
    # It jumps at values and is level between them.
    np.testing.assert_array_equal(release.cdf(values[:-1] + 0.99), release.cdf(values[:-1]))
    np.testing.assert_allclose(release(values), masses, atol=1e-12)
    for first, last in ((0, 20), (3, 3), (4, 9)):
        wanted = masses[first : last + 1].sum()
        assert release.integral(first, last) == pytest.approx(wanted, abs=1e-12)
    levels = np.array([0.01, 0.3, 0.5, 0.77, 0.99])
    np.testing.assert_array_equal(
        release.quantile(levels), values[np.searchsorted(np.cumsum(masses), levels)]
    )


def test_masses_are_the_units_shares_and_a_plan_foretells_how_near():
    rng = np.random.default_rng(4)
    density = PrivateDensity(1.0, domain=(0, 40), step=1)
    planned, far, smooth = density.plan(4000).error, [], []
    for seed in range(24):
        points = np.clip(np.rint(rng.normal(20, 7, size=4000)), 0, 40)
        shares = np.bincount(points.astype(int), minlength=41) / points.size
        release = simulate_density(density.prepare(points), np.random.default_rng(seed))
        for made, found in ((release, far), (replace(release, smooth=True), smooth)):
            found.append(np.sqrt(np.mean((made.masses()[1] - shares) ** 2)))
    # Measured .29 and 1.06, with standard errors of .01 and .04; smooth ones had 3.6 times the planned.
    assert np.mean(far) < 0.5 * np.mean(smooth)
    assert 0.8 < np.mean(far) / planned < 1.25


def test_draws_are_values_with_these_probabilities():
    release = released()
    values, masses = release.masses()
    drawn = release.sample(20_000, 3)
    assert set(drawn) <= set(values)
    found = np.bincount(drawn.astype(int), minlength=21) / drawn.size
    # 21 shares within 5 standard errors each: a false alarm in 80,000 runs.
    assert np.all(np.abs(found - masses) <= 5 * np.sqrt(masses * (1 - masses) / drawn.size) + 1e-9)


def test_intervals_of_quantiles_end_at_values_and_hold_the_data():
    held = 0
    for _ in range(40):
        lower, upper = released(0.5).quantile_interval([0.25, 0.5, 0.75], level=0.9)
        assert set(lower) | set(upper) <= set(np.arange(21.0))
        wanted = np.quantile(SCORES, [0.25, 0.5, 0.75], method="inverted_cdf")
        held += bool(np.all((lower <= wanted) & (wanted <= upper)))
    # At least 90 %: fewer than 30 of 40 has a chance below .003.
    assert held >= 30


def test_heaped_values_are_told_apart_by_the_step_alone():
    heaped = np.where(np.arange(4_000) % 4 == 0, 5.0, 1.0) * np.tile(np.arange(1.0, 21.0), 200)
    heaped = np.where(heaped > 105, 100.0, heaped)
    shares = np.bincount(heaped.astype(int), minlength=106) / heaped.size
    # Measured over 60 releases: .0041 with a standard deviation of .0013 against .0063 with .0010. Of
    # means over 16, the first is not below .9 of the second in 1e-4; were they alike, in about .9.
    distances = {None: 0.0, 1: 0.0}
    for step in [None, 1] * 16:
        density = PrivateDensity(1.0, domain=(0, 105), step=step, scale="linear").fit(heaped)
        below = np.array([density.release_.cdf(value) for value in np.arange(106.0)])
        distances[step] += np.abs(below - np.cumsum(shares)).mean()
    assert distances[1] < 0.9 * distances[None]


@given(st.integers(2, 3_000), st.integers(1, 600), st.floats(0.01, 1e3))
def test_every_cell_holds_whole_values(steps: int, count: int, step: float):
    cells = lattice_cells(((0.0, steps * step),), step, count)
    values = step * np.arange(steps + 1)
    held = np.bincount(cells.index(values[:, None]), minlength=cells.size)
    assert held[:-1].min(initial=held[0]) == held.max() >= held[-1] > 0
    # A value lies half a step inside its cell, so that rounding cannot move it.
    edges = cells.edges[0]
    assert np.abs(edges[:, None] - values[None]).min() > 0.49 * step
    assert cells.is_regular or cells.size <= 256


@given(st.lists(st.floats(-5, 30), min_size=4, max_size=9), st.floats(-5, 30))
def test_one_unit_moves_the_counts_by_no_more_than_the_width(points: list[float], other: float):
    density = PrivateDensity(1.0, domain=(0, 20), step=1, cells=21)
    made = [density.prepare(np.array([first, *points[1:]])) for first in (points[0], other)]
    totals = [[int(v) for v in p.total.with_noise([0] * p.plan.noise.components)] for p in made]
    moved = sum(abs(a - b) for a, b in zip(*totals, strict=True))
    assert moved <= made[0].plan.width
    assert made[0].plan.width == PrivateDensity(1.0, domain=(0, 20), cells=21).plan(9).width


def test_a_plan_is_for_the_values():
    plan = PrivateDensity(1.0, domain=(0, 20), step=1).plan(800)
    assert plan.domain_range == ((0.0, 20.0),)
    assert plan.cells.size == 21
    assert plan.functions == "21 equal cells on [-0.5, 20.5]"
    smaller = PrivateDensity(1.0, domain=(0, 20), step=1).plan(8_000)
    # Where every value is a cell and smoothing is not all, ten times the units have less error.
    assert 0 < smaller.error < plan.error


def test_a_file_keeps_the_values(tmp_path):
    release = released()
    again = load(release.save(tmp_path / "scores.json"))
    np.testing.assert_array_equal(again.masses()[1], release.masses()[1])
    assert again.domain_range == ((0.0, 20.0),)


def test_tables_pictures_and_words_are_of_values():
    release = released()
    values, masses = release.masses()
    table = release.table()
    np.testing.assert_array_equal(table.columns["point"], values)
    np.testing.assert_allclose(table.columns["value"], masses)
    assert np.all(table.columns["lower"] <= masses)
    assert np.all(masses <= table.columns["upper"])
    (line,) = release.view().lines
    assert line.marked
    np.testing.assert_allclose(line.values, masses)
    np.testing.assert_allclose(line.upper, table.columns["upper"])
    words = " ".join(release.describe().split())
    assert "Probabilities of the values 0, 1, .., 20: none negative, of sum one." in words


REFUSED = {
    "other steps": ({"step": 3}, "step must divide an interval into equal parts; found 3"),
    "no step": ({"step": 0}, "step must be positive and finite; found 0"),
    "a box": ({"domain": [(0, 20), (0, 20)]}, "step must divide an interval"),
    "zoom": ({"scale": "zoom"}, "scale must be 'linear' with a step; found 'zoom'"),
    "kernel": ({"mechanism": "kernel"}, "mechanism must be 'histogram' with a step"),
    "an object": ({"mechanism": DensityKernel()}, "mechanism must be 'histogram' with a step"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_step_does_not_fit_is_refused(name: str):
    changes, words = REFUSED[name]
    settings = {"domain": (0, 20), "step": 1, **changes}
    points = np.column_stack([SCORES, SCORES]) if name == "a box" else SCORES
    with pytest.raises(ParameterError, match=words):
        PrivateDensity(1.0, **settings).fit(points)


def test_counts_have_edges_and_no_step():
    with pytest.raises(ParameterError, match="step must be left out for counts"):
        PrivateDensity(1.0, step=1).fit_counts([3, 4], [0, 1, 2])


@pytest.mark.parametrize("name", ["mean", "covariance"])
def test_summaries_without_values_in_steps_refuse_one(name: str):
    kinds = {"mean": dpfda.PrivateMean, "covariance": dpfda.PrivateCovariance}
    made = kinds[name](1.0, bounds=(0, 1), domain=Domain(domain_range=(0, 1), step=0.5))
    with pytest.raises(ParameterError, match="step must be None but for densities, quantiles and"):
        made.fit(np.zeros((5, 3)))


def test_masses_need_a_step():
    release = PrivateDensity(1.0, domain=(0, 20), cells=8).fit(SCORES).release_
    with pytest.raises(ParameterError, match="step must have been stated"):
        release.masses()


def test_the_values_lie_in_the_middle_of_what_they_stand_for():
    cells = lattice_cells(((0.0, 4.0),), 2, 99)
    assert cells.edges[0].tolist() == [-1.0, 1.0, 3.0, 5.0]
    assert isinstance(cells, CellGrid)
    assert list(itertools.pairwise(lattice_cells(((0.0, 6.0),), 1, 2).edges[0])) == [
        (-0.5, 3.5),
        (3.5, 6.5),
    ]
