"""The solver that a predictor's file speaks of, made again: how far a unit moves what got noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dpfda.bounds import Norm
from dpfda.machines.solvers import (
    SOLVERS,
    GradientSolver,
    MeansSolver,
    ObjectiveSolver,
    Solver,
    SumsSolver,
    Terms,
)
from dpfda.machines.solvers.gradient import FACTORS
from dpfda.noise import KNormNoise, NoiseLaw, repeated_width
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import integer, number, text
from dpfda.privacy.guarantees import Guarantee

# Entries of a solver that tell whether units may have several records.
TELLING = "sensitivity", "curvature_loss"
# Floats and scales that are rounded up differ by less.
CLOSE = 1e-3


def solver_again(mechanism: Mapping[str, object], terms: Terms) -> Solver:
    """The solver of a file: that of units with one record, or with several, whose numbers it holds.

    mechanism: What the certificate says of it; terms: With or without several records a unit.
    Raises ValueError if its numbers contradict each other.
    """
    kind = SOLVERS[text(mechanism["name"])]
    for grouped in (False, True):
        solver = kind(replace(terms, grouped=grouped))
        numbers = solver.describe()
        if all(_same(numbers[name], mechanism[name]) for name in TELLING if name in numbers):
            return solver
    raise ValueError("what a solver says of itself does not follow from its numbers")


def moved_by(
    solver: Solver, noise: NoiseLaw | SymmetricNoise, mechanism: Mapping[str, object]
) -> tuple[Norm, int | OuterDifference]:
    """Norm and width of what a file's noise was added to.

    Raises ValueError if noise is not on as many numbers as the solver releases.
    """
    wanted = "components", solver.entries
    if isinstance(solver, SumsSolver):
        wanted = "size", solver.rows
    if getattr(noise, wanted[0], None) != wanted[1]:
        raise ValueError("noise is not on what the solver releases")
    if isinstance(solver, GradientSolver):
        # Versions take other numbers of steps.
        rounds = integer(mechanism["steps"], 1) + integer(mechanism.get("calibrations", 0), 0)
        visits = -(-rounds // integer(mechanism.get("batches", 1), 1))
        return "l2", repeated_width(solver.step_width, visits)
    blocks = isinstance(solver, MeansSolver) and isinstance(noise, KNormNoise)
    return "l1" if blocks else "l2", solver.width


def check_shares(solver: Solver, noise: NoiseLaw | SymmetricNoise, paid: Sequence[Guarantee]) -> None:
    """Refuse costs that are not the shares of a solver with two, and noise of the second that is more.

    What the first gives is not in a file, so that what both achieved is not recomputed.
    Raises ValueError.
    """
    if not isinstance(solver, ObjectiveSolver):
        return
    if tuple(paid) != solver.shares:
        raise ValueError("the costs are not the shares of the solver")
    if not np.allclose(noise.variances(), solver.noise.variances(), rtol=CLOSE, atol=0):
        raise ValueError("the noise is not that of its share")


def check_descended(
    solver: Solver, noise: NoiseLaw | SymmetricNoise, mechanism: Mapping[str, object], spread: Floats
) -> None:
    """Refuse less than the noise moves a descent by, at the least factor that coefficients may get.

    Which factor they got is not in a file; earlier versions said more. Raises ValueError.
    """
    assert isinstance(solver, GradientSolver)  # noqa: S101 - by its name
    least = FACTORS[0] if integer(mechanism.get("calibrations", 0), 0) else 1.0
    deviation = math.sqrt(float(noise.variances()[0]))
    batches = integer(mechanism.get("batches", 1), 1)
    moved = solver.moved(deviation, integer(mechanism["steps"], 1), batches)
    if spread.ndim or float(spread) < least * moved * (1 - CLOSE):
        raise ValueError("the spread is less than that of the noise")


def _same(first: object, second: object) -> bool:
    return math.isclose(number(first), number(second), rel_tol=CLOSE)
