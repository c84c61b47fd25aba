"""The machine-checked proofs (`proofs/`) are about this program: its numbers, its formulas.

Definitions of the proofs are interpreted (`gallina`) and compared, on random cases, with the functions
of the program that they are about. Comparisons are of integers, exactly, unless a test says otherwise.
"""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest

import gallina
from dpfda.bounds import IntegerBall
from dpfda.bounds.balls import repaired
from dpfda.machines.solvers import gradient
from dpfda.mechanisms.design import shares
from dpfda.noise import repeated_width
from dpfda.noise.symmetric import OuterDifference
from dpfda.numerics.embedding import Rows
from dpfda.numerics.gridsums import GridRule, grid_sum, integers
from dpfda.privacy.guarantees import Neighbours, ZeroConcentratedDP
from dpfda.records.points import cell_weights

RANDOM = np.random.default_rng(20261124)
BOTH = [(Neighbours.REPLACE_ONE, True), (Neighbours.ADD_REMOVE, False)]


def _script(name):
    spec = importlib.util.spec_from_file_location(name, gallina.PROOFS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CONSTANTS = "\n".join(_script("constants").lines()[0]) + "\n"
PROVED = gallina.definitions("Sums", "Sensitivity", constants=CONSTANTS)


def _vector(values):
    return lambda place: int(values[place])


def _entries(vector, size):
    return [vector(place) for place in range(size)]


def test_the_interpreter_reads_every_definition_that_is_compared():
    names = (
        "clip", "toward_zero", "repaired", "total", "differences", "units_up", "share", "outer_square",
        "slope_level", "root_up", "repeated_width",
    )  # fmt: skip
    assert all(callable(PROVED[name]) for name in names)


def test_clipping_is_the_one_that_is_proved():
    h = RANDOM.integers(0, 50, size=7)
    rule = GridRule(np.zeros(7), h.astype(float), np.ones(7), 0)
    records = RANDOM.integers(-90, 90, size=(200, 7))
    made = integers(records.astype(float), rule)
    proved = [[PROVED["clip"](int(a))(int(x)) for a, x in zip(h, row, strict=True)] for row in records]
    assert made.tolist() == proved


def test_sums_are_those_that_are_proved():
    records = RANDOM.integers(-90, 90, size=(40, 5))
    rule = GridRule(np.zeros(5), np.full(5, 100.0), np.ones(5), 0)
    totals, unusable = grid_sum(records.astype(float), rule)
    assert unusable == 0
    assert totals.tolist() == _entries(PROVED["total"]([_vector(row) for row in records]), 5)


def test_rounding_is_toward_zero_as_proved():
    # Mantissas times a power of two, inside a large ball: nothing but rounding happens to them.
    numerators = RANDOM.integers(-(2**20), 2**20, size=(300, 3))
    rows = Rows(numerators.astype(float), np.full(300, -7))
    made = IntegerBall("linf", 2**20, 0).clip(rows)
    assert made.tolist() == [[PROVED["toward_zero"](int(p))(2**7) for p in row] for row in numerators]


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_repairs_are_those_that_are_proved(norm):
    ball = IntegerBall(norm, 12, 0)
    rows = RANDOM.integers(-13, 14, size=(400, 3))

    def inside(vector):
        return bool(ball.inside(np.array([_entries(vector, 3)]))[0])

    proved = [_entries(PROVED["repaired"](inside)(_vector(row)), 3) for row in rows]
    assert repaired(rows.astype(float), 12, ball.inside).tolist() == proved
    # Some rows were left as they are, and some were moved.
    changed = {tuple(row) != tuple(before) for row, before in zip(proved, rows.tolist(), strict=True)}
    assert changed == {True, False}


@pytest.mark.parametrize(("relation", "replaced"), BOTH)
def test_neighbours_are_as_far_apart_as_proved(relation, replaced):
    for radius in RANDOM.integers(1, 2**40, size=20).tolist():
        assert relation.differences(radius) == PROVED["differences"](replaced)(radius)
        assert shares.share_differences(False, relation, radius) == (
            "l1", PROVED["differences"](replaced)(radius),
        )  # fmt: skip
        # Two units of shares are 2 w^2 apart in squares.
        width = shares.share_differences(True, relation, radius)[1]
        assert width >= (PROVED["root_up"](2 * radius**2) if replaced else radius)


def test_shares_of_a_unit_are_those_that_are_proved():
    index, codes = RANDOM.integers(0, 6, size=60), RANDOM.integers(0, 4, size=60)
    made = cell_weights(index, np.ones(60, dtype=bool), codes, 6, PROVED["share_bits"])
    proved = [0] * 6
    for unit in range(4):
        counts = np.bincount(index[codes == unit], minlength=6).tolist()
        for cell, count in enumerate(counts):
            proved[cell] += PROVED["share"](PROVED["share_bits"])(count)(sum(counts))
    assert made == proved


@pytest.mark.parametrize(("relation", "replaced"), BOTH)
def test_outer_products_move_as_proved(relation, replaced):
    for size, radius in zip([1, 2, 5, 9], RANDOM.integers(1, 2**25, size=4).tolist(), strict=True):
        made = OuterDifference.of(size, radius, relation).frobenius_square
        assert made == PROVED["outer_square"](replaced)(size)(radius**2)


@pytest.mark.parametrize(("relation", "replaced"), BOTH)
def test_steps_of_descent_are_as_wide_as_proved(relation, replaced):
    terms = SimpleNamespace(guarantee=ZeroConcentratedDP(1), functions=1, neighbours=relation)
    whole = 2 ** (PROVED["slope_bits"] + PROVED["feature_bits"])
    assert gradient.GradientSolver(terms).step_width == PROVED["differences"](replaced)(whole)
    assert gradient.GradientSolver(terms).ball.radius == 2 ** PROVED["feature_bits"]


def test_slopes_are_clipped_to_the_level_that_is_proved():
    slopes = RANDOM.normal(size=(3, 500)) * 10.0 ** RANDOM.integers(-3, 4, size=500)
    rows = RANDOM.integers(1, 40, size=500)
    levels = np.array([PROVED["slope_level"](int(count)) for count in rows])
    made = gradient.clipped(slopes, levels)
    assert ((made**2).sum(axis=0) <= levels**2).all()
    # A unit of as many rows as were stated stays within the step's width.
    assert (rows * levels * 2 ** PROVED["feature_bits"] <= 2**36).all()
    assert (made**2).sum(axis=0).max() > 0.99 * 2**40


def test_the_width_of_several_steps_is_the_one_that_is_proved():
    for width, times in RANDOM.integers(1, 2**30, size=(50, 2)).tolist():
        assert repeated_width(width, times) == PROVED["repeated_width"](width)(times)
    assert PROVED["repeated_width"](3)(4) == 6
    assert PROVED["root_up"](37) == 7
