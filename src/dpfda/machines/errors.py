"""What noise is expected to do to a kernel machine's function at made-up inputs, from public numbers."""

from __future__ import annotations

import numpy as np

from dpfda.machines.solvers import GradientSolver, ObjectiveSolver, Solver, SummingSolver
from dpfda.machines.weights import deviations
from dpfda.numerics.arrays import Floats
from dpfda.records.features import FeatureMap, embedded

# Inputs that are made up, spread evenly, and the wave that targets follow along the first of them.
INPUTS, AMPLITUDE = 400, 0.5
# How much of its largest curvature a loss is taken to have on average: of classes, and of a regression.
BENDS, BENDS_NEARBY = 0.5, 1.0


def noise_at_inputs(
    solver: Solver, features: FeatureMap, inputs: int, half: float | None
) -> tuple[Floats, Floats, Floats] | None:
    """Deviations of the function for its noise at inputs; their features, and what bands are made of.

    Penalty, features and few records are no part of them. With noise on sums
    they are for the matrix of the made-up examples. With noise in the objective, or in the steps of a
    descent, bands rest on the penalty or the steps alone; what is expected counts, to first order, how
    examples damp the noise if their losses have half of the curvature that they may have, or all of it
    in a regression, where most residuals are small: with H that share times the mean of phi phi', noise
    w in the gradient moves a minimiser by (H + 2 penalty I)^-1 w, and what a step of size h did is
    (1 - h l)^s of itself s steps later, along an eigenvector of H of value l.

    Parameters
    ----------
    solver : Solver
    features : FeatureMap
    inputs : int
        Number of inputs.
    half : float or None
        Half of the distance between the bounds of a regression's target; None of a classification.

    Returns
    -------
    (array (INPUTS,), array (INPUTS, K), array () or (K, K)) or None
        To be expected, in units of the target; features; and the spread, as of a release. None for
        several classes, of whose functions no deviation is known.
    """
    if solver.terms.functions > 1:
        return None
    made = np.random.Generator(np.random.Philox(key=0)).random((INPUTS, inputs))
    rows, noisy = embedded(features, solver.ball, made), tuple[int, ...]()
    if isinstance(solver, SummingSolver):
        targets = AMPLITUDE * np.cos(2 * np.pi * made[:, 0])
        targets = np.where(targets < 0, -1.0, 1.0) if half is None else targets
        sums = solver.contributions(rows, targets).astype(np.float64).mean(axis=0)
        noisy = tuple(int(x) for x in np.rint(sums * solver.terms.units))
    spread = solver.spread(noisy)
    if spread is None:
        return None
    at: Floats = np.asarray(rows * solver.ball.step, dtype=np.float64)
    width = half or 1.0
    bends = BENDS if half is None else BENDS_NEARBY
    expected = _damped(solver, at, float(spread), bends) if spread.ndim == 0 else spread
    return width * deviations(at, expected), at, spread


def _damped(solver: Solver, at: Floats, spread: float, bends: float) -> Floats:
    """Covariance (K, K) of the noise in the coefficients; their deviation () where nothing damps it."""
    curvature = bends * float(solver.terms.loss.smoothness)
    values, vectors = np.linalg.eigh(curvature * (at.T @ at) / len(at))
    values = np.maximum(values, 0.0)
    if isinstance(solver, ObjectiveSolver):
        last, ridge = solver.deviation, 2 * float(solver.terms.penalty)
        powers = ((spread - last) * ridge / (values + ridge)) ** 2 + last**2
    elif isinstance(solver, GradientSolver):
        powers = spread**2 * _kept(solver, values) / _kept(solver, np.zeros(1))
    else:
        return np.array(spread)
    return np.asarray((vectors * powers) @ vectors.T)


def _kept(solver: GradientSolver, values: Floats) -> Floats:
    """Sum of squares of what is left of each step's noise in the mean of the later points."""
    steps, late = solver.steps, solver.steps - solver.steps // 2
    shrunk = np.clip(1 - solver.step * values, 0.0, 1.0)
    left, total = np.zeros_like(values), np.zeros_like(values)
    power = np.ones_like(values)
    # From the last step backwards; of early ones only what is left of them late counts.
    for back in range(steps):
        if back < late:
            left = 1 + shrunk * left
        else:
            power *= shrunk
        total += (left * power / late) ** 2
    return total
