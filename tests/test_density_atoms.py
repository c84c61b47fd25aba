"""Densities with atoms: values that many units have exactly, counted each by itself."""

import numpy as np
import pytest

from dpfda import Domain, PrivacyUnit, PrivateDensity, PrivateMean, load
from dpfda.density.atoms_release import ReleasedDensityWithAtoms
from dpfda.density.kernel import DensityKernel
from dpfda.noise.shares import UNIT
from dpfda.numerics.errors import ParameterError
from dpfda.testing import exact_totals, simulate_density

GENERATOR = np.random.default_rng(7)
HOURS = np.where(GENERATOR.random(2_000) < 0.3, 0.0, GENERATOR.normal(30, 8, 2_000))
HOURS[:100] = 75.0  # Beyond the upper end, at which there is an atom.
WEEK = Domain(None, (0, 60), atoms=[60, 0])


def density(epsilon: float = 1.0, domain: object = WEEK, **changes) -> PrivateDensity:
    return PrivateDensity(epsilon, domain=domain, **{"cells": 16, "unit": "person", **changes})


@pytest.fixture(scope="module")
def released() -> ReleasedDensityWithAtoms:
    return density().fit(HOURS).release_


def test_each_record_is_counted_once_at_its_atom_or_in_its_cell():
    points = [0.0, -5.0, 1e-9, 0.1, 30.0, 59.9, 60.0 - 1e-9, 60.0, 1e300, -0.0]
    found = np.array(exact_totals(density().prepare(points).total)) / UNIT
    assert found[16:].tolist() == [4, 3]
    assert found[[0, 8, 15]].tolist() == [1, 1, 1]
    assert found.sum() == len(points)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_no_neighbour_moves_the_counts_farther_than_without_atoms(relation):
    unit = PrivacyUnit("person", relation)
    generator = np.random.default_rng(3)
    values = np.array([0.0, 60.0, 0.3, 31.0, 59.0, 70.0])
    plan = density(unit=unit).plan(50)
    farthest = 0
    for _ in range(300):
        people = np.sort(generator.integers(0, 9, size=40))
        points = generator.choice(values, size=40)
        other = points.copy()
        mine = people == people[0]
        other[mine] = generator.choice(values, size=mine.sum())
        kept = slice(None) if relation == "replace-one" else ~mine
        totals = [
            np.array(exact_totals(density(unit=unit).prepare(one, who).total))
            for one, who in ((points, people), (other[kept], people[kept]))
        ]
        farthest = max(farthest, int(np.abs(totals[0] - totals[1]).sum()))
    # What the noise is for is reached, and not exceeded.
    assert farthest == plan.width == (2 * UNIT if relation == "replace-one" else UNIT)


def test_all_roads_add_up_to_the_same_integers():
    estimator = density()
    pool = estimator.pooled(len(HOURS))
    whole = exact_totals(estimator.prepare(HOURS).total)
    parts = [exact_totals(pool.total(part)) for part in np.array_split(HOURS, 3)]
    assert [sum(held) for held in zip(*parts, strict=True)] == list(whole)
    # Holders that state other atoms do not add up.
    assert pool.digest != density(domain=Domain(None, (0, 60), atoms=[0])).pooled(2_000).digest
    assert pool.digest != density(domain=(0, 60)).pooled(2_000).digest


def test_noise_on_an_atom_is_that_of_a_cell():
    prepared = density(0.5).prepare(HOURS)
    exact = simulate_density(prepared, np.random.default_rng(1), noise=False).raw.atom_shares
    generator = np.random.default_rng(2)
    draws = [simulate_density(prepared, generator).raw.atom_shares - exact for _ in range(500)]
    # Laplace of scale 2 / (n epsilon): 1,000 absolute values have a mean within a tenth of it; a scale
    # wrong by the root of two is off by .3 or more.
    assert np.mean(np.abs(draws)) == pytest.approx(2 / (0.5 * len(HOURS)), rel=0.15)


def test_bands_of_atoms_hold_as_often_as_they_say():
    held = 0
    generator = np.random.default_rng(4)
    prepared = density(0.5).prepare(HOURS)
    exact = simulate_density(prepared, generator, noise=False).raw.atom_shares
    for _ in range(400):
        band = simulate_density(prepared, generator).atoms_band(0.8)
        held += band.contains(exact)
    # 320 expected, with a deviation of 8.
    assert 285 <= held <= 352


def test_the_distribution_jumps_at_atoms_and_is_smooth_between(released):
    first, last = released.atoms
    assert (first.value, last.value) == (0.0, 60.0)
    assert first.lower < np.mean(HOURS == 0) < first.upper
    assert last.lower < np.mean(HOURS >= 60) < last.upper + 0.01
    assert released.cdf(0.0) == pytest.approx(first.mass)
    assert released.cdf(59.999) == pytest.approx(1 - last.mass, abs=1e-4)
    assert released.cdf(60.0) == pytest.approx(1)
    knots, values = released.marginal()
    between = np.sum((values[1:] + values[:-1]) / 2 * np.diff(knots))
    assert between + first.mass + last.mass == pytest.approx(1)
    for start, stop in ((0, 60), (0, 30), (1, 60), (1, 59), (0, 0)):
        wanted = released.cdf(stop) - released.cdf(start) + (first.mass if start == 0 else 0)
        assert released.integral(start, stop) == pytest.approx(wanted, abs=1e-9)


def test_quantiles_and_draws_know_the_atoms(released):
    first, last = released.atoms
    levels = np.array([0.0, first.mass / 2, first.mass + 0.1, 0.5, 1 - last.mass / 2, 1.0])
    found = released.quantile(levels)
    assert found[[0, 1, 4, 5]].tolist() == [0, 0, 60, 60]
    np.testing.assert_allclose(released.cdf(found[2:4]), levels[2:4], atol=1e-9)
    drawn = released.sample(20_000, 5)
    for atom in released.atoms:
        assert np.mean(drawn == atom.value) == pytest.approx(atom.mass, abs=0.02)


def test_nothing_of_the_atoms_lies_beside_them():
    # Without the statement, three tenths of the units lie within a cell of zero, somewhere.
    stated = density(cells=None, domain=WEEK).fit(HOURS).release_
    plain = density(cells=None, domain=(0, 60)).fit(HOURS).release_
    wanted = np.mean((HOURS > 0) & (HOURS < 3))
    assert abs(stated.integral(1e-6, 3) - wanted) < 0.02
    assert plain.integral(1e-6, 3) > 0.2


@pytest.mark.usefixtures("few_draws")
def test_bands_hold_what_is_released_without_noise():
    prepared = density(1.0).prepare(HOURS)
    generator = np.random.default_rng(6)
    exact = simulate_density(prepared, generator, noise=False)
    held = 0
    for _ in range(40):
        band = simulate_density(prepared, generator).band(0.9, of="noise")
        held += bool(np.all((band.lower <= exact(band.points)) & (exact(band.points) <= band.upper)))
    assert held >= 30


def test_a_zoom_looks_at_the_others_alone():
    # Nine tenths at zero: a zoom on all of them would look there.
    generator = np.random.default_rng(8)
    incomes = np.where(generator.random(20_000) < 0.9, 0.0, generator.normal(6e5, 1e4, 20_000))
    domain = Domain(None, (0, 1e6), atoms=[0])
    release = density(4.0, domain, cells=None, scale="zoom").fit(incomes).release_
    assert release.scale is not None
    middle = release.scale.points(np.array([0.5]))[0]
    assert 5e5 < np.ravel(middle)[0] < 7e5
    assert release.atoms[0].mass == pytest.approx(0.9, abs=0.01)
    assert release.raw.cdf_band().lower[-1] <= 1 <= release.raw.cdf_band().upper[-1]


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_files_and_pictures_hold_the_atoms(tmp_path, scale, relation):
    domain = Domain(None, (1, 60), atoms=[1, 60])
    unit = PrivacyUnit("person", relation)
    release = density(1.0, domain, scale=scale, unit=unit).fit(np.clip(HOURS, 1, None)).release_
    release.save(tmp_path / "d.json")
    again = load(tmp_path / "d.json")
    assert again.atoms == release.atoms
    np.testing.assert_array_equal(again.quantile([0.1, 0.5]), release.quantile([0.1, 0.5]))
    stems = [line for line in release.view().lines if line.marked]
    assert [line.points[0] for line in stems] == [1, 60]
    pairs = zip(release.atoms, stems, strict=True)
    assert all(f"{atom.mass:.1%}" in line.label for atom, line in pairs)
    assert f"{release.atoms[0].mass:.1%} of the persons have the value 1" in release.describe()
    table = release.table()
    assert table.columns["atom"].sum() == pytest.approx(sum(atom.mass for atom in release.atoms))
    assert np.all(np.diff(table.columns["cdf"]) >= -1e-12)


def test_plans_know_them():
    plan = density().plan(2_000)
    assert "one for each of the values 0, 60" in plan.describe()
    assert plan.noise.components == 18


@pytest.mark.parametrize(
    ("domain", "changes"),
    [
        (Domain(None, (0, 60), atoms=[-1]), {}),
        (Domain(None, (0, 60), atoms=[0, 1e-9]), {}),
        (Domain(None, [(0, 60), (0, 1)], atoms=[0]), {"cells": 4}),
        (Domain(None, (0, 60), atoms=[0], step=1), {}),
        (WEEK, {"mechanism": DensityKernel(), "cells": None}),
    ],
)
def test_what_cannot_be_said_together_is_refused_before_anything_is_read(domain, changes):
    with pytest.raises(ParameterError):
        density(1.0, domain, **changes).plan(100)


def test_other_summaries_and_tables_do_not_take_them():
    with pytest.raises(ParameterError, match="atoms"):
        PrivateMean(1, bounds=(0, 1), domain=Domain(None, (0, 1), atoms=[0])).plan(50, 5)
    with pytest.raises(ParameterError, match="atoms"):
        density(cells=None).fit_counts([1, 2], [0, 30, 60])
    for atoms in ([0, 0], "zero", [np.inf], 0):
        with pytest.raises(ParameterError, match="atoms"):
            Domain(None, (0, 60), atoms=atoms)


def test_shares_below_edges_of_cells_are_bounded_across_atoms():
    generator = np.random.default_rng(9)
    prepared, held = density().prepare(HOURS), 0
    for _ in range(100):
        band = simulate_density(prepared, generator).raw.cdf_band(0.8)
        wanted = [np.mean(np.clip(HOURS, 0, 60) < edge) for edge in band.points[:-1]] + [1.0]
        held += bool(np.all((band.lower <= wanted) & (np.array(wanted) <= band.upper)))
    # 80 expected, with a deviation of 4: not as wide as for every place.
    assert 64 <= held <= 95
