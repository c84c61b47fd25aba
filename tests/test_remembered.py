"""Results remembered by the content of public arguments: told apart by every bit, shared read-only."""

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from dpfda import PrivateMean
from dpfda.bases import KernelBasis
from dpfda.bounds import L2Ball, ValueBounds
from dpfda.numerics import speed as room
from dpfda.numerics.speed import remembered

GRID = np.linspace(0.0, 1.0, 12)


def counting() -> Any:
    """A remembered function whose results count its calls."""
    calls = itertools.count()
    return remembered(64)(lambda *arguments, **named: [next(calls)])


DIFFERENT = [
    0, 0.0, -0.0, False, None, "0", b"0", Fraction(0), np.float64(0.0), np.float32(0.0),
    (0,), [0], (0, 0), ((0,), 0), {"a": 0}, {"b": 0}, (), "", ("ab", "c"), ("a", "bc"),
    np.zeros(1), np.zeros((1, 1)), np.zeros(1, np.float32), np.zeros(1, np.int64), -np.zeros(1),
    L2Ball(1.0), L2Ball(2.0), ValueBounds(0, 1), ValueBounds(0, 2),
    Matern(0.1, nu=1.5), Matern(0.1, nu=2.5), RBF(0.1), RBF(0.1) + RBF(0.2), L2Ball, ValueBounds,
]  # fmt: skip


def test_different_arguments_are_told_apart_and_the_same_are_not() -> None:
    function = counting()
    first = [function(each)[0] for each in DIFFERENT]
    assert len(set(first)) == len(DIFFERENT)
    assert [function(each)[0] for each in DIFFERENT] == first
    assert function(x=0) != function(0)
    assert function(np.arange(4.0)) == function(np.arange(8.0)[:4])
    assert function(np.nan) == function(float("nan"))


@dataclass(frozen=True)
class Own:
    """A class of one's own may hold more than its fields say."""

    size: int


class OwnBall(L2Ball):
    pass


@pytest.mark.parametrize(
    "argument",
    [lambda: 1, Own(1), OwnBall(1.0), np.array(["a"]), object(), np.str_("a"), np.datetime64(1, "s")],
)
def test_what_may_hold_more_than_it_says_is_not_remembered(argument: Any) -> None:
    function = counting()
    assert function(argument) != function(argument)
    assert function((1, argument)) != function((1, argument))


def test_large_arguments_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LARGEST", 100)
    function = counting()
    assert function(np.zeros(5)) == function(np.zeros(5))
    assert function(np.zeros(50)) != function(np.zeros(50))


def test_a_changed_array_is_another_argument_and_a_result_cannot_be_changed() -> None:
    grid, lower = GRID.copy(), np.zeros(12)
    first = KernelBasis.on_grid(RBF(0.2), grid)
    grid[1] += 0.01
    second = KernelBasis.on_grid(RBF(0.2), grid)
    assert second is not first
    assert second.grid_points[1] != first.grid_points[1]
    assert KernelBasis.on_grid(RBF(0.2), GRID) is first

    mean = PrivateMean(1.0, bounds=(lower, 1.0))
    before = mean.prepare(np.full((9, 12), 0.5)).plan
    lower[:] = -1.0
    after = PrivateMean(1.0, bounds=(lower, 1.0)).prepare(np.full((9, 12), 0.5)).plan
    assert before.public_design is not after.public_design
    for array in (before.public_design.measurement.matrix, before.on_grid.rule.center, first.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_design_is_made_once_for_the_same_public_numbers_and_again_for_others() -> None:
    def design(epsilon: float = 1.0, size: int = 9, **words: Any) -> Any:
        fitted = PrivateMean(epsilon, **{"bounds": (0, 1), **words}).prepare(np.full((size, 12), 0.5))
        return fitted.plan.public_design

    made = design()
    assert design() is made
    others = [design(1.5), design(size=10), design(bounds=(0, 2)), design(neighbours="add-remove")]
    assert all(other is not made for other in others)
    # The scale follows epsilon: a design of another epsilon would give too little noise.
    assert design(0.5).noise.variances()[0] > 3.9 * made.noise.variances()[0]
