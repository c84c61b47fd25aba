"""Plans of densities: what a guess of the densest quarter changes, and that it comes true."""

import math

import numpy as np
import pytest

from dpfda import PrivateDensity
from dpfda.bases.cells import CellGrid
from dpfda.bases.ordinary import ordinary_densities
from dpfda.density.made_up import MadeUp, UnevenTrial
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.errors import ParameterError


def made(domain=(0, 1), **options):
    return PrivateDensity(1.0, domain=domain, **options)


@pytest.mark.parametrize("quarter", [0.2, 0.06, 0.003])
def test_ordinary_densities_have_a_quarter_where_it_is_stated(quarter):
    for ends, shares in zip(*ordinary_densities(8, quarter), strict=True):
        assert shares.sum() == pytest.approx(1, abs=1e-12)
        assert shares.min() >= 0
        assert 0 <= ends[0] <= ends[-1] <= 1
        below = np.append(0, np.cumsum(shares))
        starts = np.linspace(0, 0.749, 20_001)
        lengths = np.interp(starts + 0.25, below, ends) - np.interp(starts, below, ends)
        assert lengths.min() == pytest.approx(quarter, rel=0.02)


def test_made_up_units_lie_in_cells_as_their_law_says():
    units = MadeUp(np.array([0.0, 0.5, 1.0]), np.array([0.0, 30.0, 40.0]))
    cells = CellGrid.from_edges([0.0, 0.25, 0.75, 1.0])
    assert units.shares(cells) == [15 << EXPONENT, 20 << EXPONENT, 5 << EXPONENT]
    assert units.shares(cells.with_atoms([0.5]))[3:] == [0]


def test_the_error_of_a_trial_weighs_points_by_what_lies_between_them():
    at = np.array([0.0, 0.1, 0.2, 2.0])
    trial = UnevenTrial(lambda points: np.zeros(4), at, np.array([3.0, 3.0, 0.0, 0.0]))
    # 9 up to .1, and half of it up to .2, over a length of 2.
    assert trial.error == pytest.approx(math.sqrt((0.9 + 0.45) / 2))


def test_a_plan_that_is_told_the_quarter_comes_true_where_the_interval_is_loose():
    size, errors = 2000, []
    for seed in range(4):
        generator = np.random.default_rng(seed)
        points = np.where(generator.random(size) < 0.5, 0.3, 0.305) + generator.normal(0, 0.001, size)
        released, exact = (
            PrivateDensity(epsilon, domain=(0, 1)).fit(points).release_ for epsilon in (1.0, 1e5)
        )
        at = np.linspace(0.28, 0.33, 2001)
        errors.append(math.sqrt(np.mean((released(at) - exact(at)) ** 2) * 0.05))
    # A half within 1.35 deviations of a hill's middle is a quarter of all.
    told, found = made().plan(size, quarter=0.00135), math.exp(np.mean(np.log(errors)))
    assert 0.3 < found / told.error < 2.2
    assert found > 3 * made().plan(size).error
    assert found < told.error_for_most


@pytest.mark.parametrize("quarter", [0, -1, 2.6, math.nan])
def test_a_quarter_is_at_most_a_quarter_of_the_interval(quarter):
    with pytest.raises(ParameterError, match="quarter must be positive, and at most a quarter"):
        made((0, 10)).plan(300, quarter=quarter)


def test_a_quarter_is_told_of_an_interval_in_its_own_units():
    for refused in (made([(0, 1), (0, 1)]), made((1, 100), scale="log")):
        with pytest.raises(ParameterError, match="quarter must be left out but for an interval"):
            refused.plan(300, quarter=0.1)


def test_what_is_expected_stays_where_a_plan_is_made_again():
    plan = made((0, 10)).plan(300, quarter=2)
    assert plan.at(n=600).quarter == 0.2
    assert "of which a quarter lies within 2" in str(plan.at(epsilon=2))
    # It is of errors alone: what would be published is the same.
    assert plan.functions == made((0, 10)).plan(300).functions
    assert "'quarter' tells the plan" in str(made((0, 10)).plan(300))


def test_more_is_spent_for_less_error():
    errors = [made().plan(60).at(epsilon=epsilon).error for epsilon in (0.25, 0.5, 1.0, 2.0)]
    assert np.all(np.diff(errors) < 0)
