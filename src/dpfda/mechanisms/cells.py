"""Averages over cells of the grid with the K-norm noise of a cube: pure privacy for bounds on values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from dpfda.bases import Basis
from dpfda.bounds import Bound, Cube
from dpfda.mechanisms.protocol import Design, Measurement, Problem
from dpfda.noise import NoiseLaw, body_noise, pure_budget
from dpfda.numerics.aggregate import exact_product
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import InPython, ParameterError, RefusedMechanismError
from dpfda.numerics.parameters import whole
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours

# The most cells that are tried, and the factor by which their number grows in the search.
LARGEST = 512
GROWTH = 1.2
# Candidates: numbers of cells this far apart, until so many in a row were worse than the best.
CANDIDATE_GROWTH = 1.25
PATIENCE = 3
# What the basis cannot express is taken for white noise of this share of the prior's variance, so that
# without privacy noise the estimate of all values is their projection.
OUTSIDE = 1e-12
# Signal over noise below which a Cholesky decomposition loses no digit that matters.
WELL_CONDITIONED = 1e9


@dataclass(frozen=True)
class Cells:
    """K-norm noise of a cube on the sums over M cells of the grid, then the best linear estimate.

    Where every value of a record is bounded, |x_k| <= h_k, the sums over disjoint cells of the grid fill
    a box exactly: d_j = sum of x_k over cell j takes every value with |d_j| <= H_j = sum of h_k over it,
    whatever the others. The l2 ball around it, which is all that other mechanisms use, is far larger.
    The M sums get noise of density proportional to exp(-max_j |z_j| / b_j), and the coefficients of the
    mean are estimated from the M noisy averages by their conditional expectation under the prior
    (kriging), which is post-processing.

    **Guarantee.** Pure epsilon (rho-zCDP at the price of a Laplace variable). Neighbouring integer sums
    over the cells differ by a vector d with |d_j| <= w_j, w_j = 2 H_j (replace-one) or H_j (add/remove),
    rounding of the records included, as they are clipped and rounded on the grid. By the triangle
    inequality the log density ratio is at most max_j |d_j| / b_j, so epsilon = max_j w_j / b_j, and the
    integer scales b_j = w_j / epsilon are rounded up.

    **Error.** An average over a cell gets variance (w_j / (n epsilon))^2 (M + 1)(M + 2) / 3: for many
    cells a third of that of the l2 block on as many coefficients. M averages tell less of the mean than
    M leading coefficients do; under Matern priors the expected error is .57 to .68 of that of the l2
    block, below the limit that `least_error` sets for the ball.

    Parameters
    ----------
    cells : int, optional
        Number M of cells, of equal numbers of grid points as far as they go. By default the number
        with the least expected error under the prior.

    Raises
    ------
    RefusedMechanismError
        On `design`, if records are not bounded value by value on the grid.
    ParameterError
        If there are more cells than grid points; on `adapt`, if the number of units is private and
        `cells` is not given.

    References
    ----------
    Hardt & Talwar (2010) for K-norm noise; the documentation page on bodies.

    Examples
    --------
    >>> Cells(cells=12).cells
    12
    """

    cells: int | None = None
    name: ClassVar[str] = "cells"

    def adapt(
        self, basis: Basis, bound: Bound, size: int | None, guarantee: Guarantee, neighbours: Neighbours
    ) -> tuple[Basis, Bound]:
        """Basis and bound as they are; see `AdaptingMechanism`."""
        if size is None and self.cells is None:
            words = "be given where the number of units is private"
            remedy = "What is summed cannot depend on the count: use $cells, say, or public_size."
            raise ParameterError("cells", words, "None", remedy, cells=InPython("Cells(cells=20)"))
        return basis, bound

    def design(self, problem: Problem) -> Design:
        """Cells, scales and the matrix of the conditional expectation."""
        cube = problem.cube
        if cube is None:
            raise RefusedMechanismError(
                "mechanism",
                "have bounds on values that are enforced on the grid",
                f"'cells' with records in the {problem.ball.norm} "
                f"{'body' if problem.body else 'ball'} of coefficients",
                "Give $bounds and a basis of orthonormal functions, or use $mechanism.",
                mechanism="knorm",
            )
        # Refused for the wrong kind of guarantee before any search.
        pure_budget(problem.guarantee)
        most, count = cube.weights.size, self.cells
        if count is None:
            count = _best(problem, cube)
        count = whole(count, "cells", 1, most, f"be from 1 to {most} grid points")
        matrix = _sums(most, count)
        noise = _noise(problem, cube, matrix)
        forms, prior = matrix @ cube.functions, _prior(problem)
        power = noise.variances() * (math.ldexp(1.0, -cube.exponent) / problem.size) ** 2
        synthesis = _conditional(forms, prior, power + _outside(prior, cube, matrix))
        measurement = Measurement(matrix, cube.exponent, synthesis)
        parameters = {"cells": len(matrix)}
        return Design(self.name, parameters, noise, np.ones(len(matrix)), measurement=measurement)

    def candidates(self, problem: Problem, error: Callable[[Design], float]) -> Iterator[Design]:
        """The number of cells with the least error; without a mixture the mechanism's own number."""
        if problem.cube is None or isinstance(problem.guarantee, ApproximateDP):
            return
        if problem.mixture is None:
            yield self.design(problem)
            return
        best, least, worse, count = Cells(1).design(problem), np.inf, 0, 1
        while count <= problem.cube.weights.size and worse < PATIENCE:
            design = Cells(count).design(problem)
            expected = error(design)
            worse = worse + 1 if expected >= least else 0
            if expected < least:
                best, least = design, expected
            count = max(count + 1, int(count * CANDIDATE_GROWTH))
        yield best


def measured_error(
    problem: Problem, design: Design, square_norms: Floats | float = 1.0
) -> tuple[float, float]:
    """Bias and noise of a design that measures on the grid, in units of the squared radius.

    With coefficients c of prior covariance P, forms T and synthesis S: the trace of
    (I - S T) P (I - S T)' and that of S V S', V the covariance of the noise, which is diagonal.
    """
    forms, power = measured_forms(problem, design)
    synthesis = design.coefficients(np.eye(design.components)).T
    missed = np.eye(forms.shape[1])[: len(synthesis)] - synthesis @ forms
    lost = float(problem.prior[len(synthesis) :].sum())
    bias = float(np.sum(missed**2 @ problem.prior)) + lost
    return bias, float(np.sum(synthesis**2 @ power * square_norms))


def measured_forms(problem: Problem, design: Design) -> tuple[Floats, Floats]:
    """What a design measures, and how noisily.

    Returns
    -------
    forms : array (M, K)
        Takes the coefficients of the mean to the means of what gets noise, in units of the data.
    power : array (M,)
        Noise variances of those means, over the squared radius, as in `Problem.noise_power`.
    """
    if design.measurement is None or problem.cube is None:
        raise ParameterError("design", "measure values on the grid", design.mechanism)
    forms = design.measurement.matrix @ problem.cube.functions
    return forms, design.noise.variances() * (design.step(problem) / problem.radius) ** 2


def cell_labels(points: int, count: int) -> Integers:
    """Cell (points,) of each grid point: neighbours together, as even as they go, none empty."""
    return np.asarray((2 * np.arange(points) + 1) * count // (2 * points), dtype=np.int64)


def _sums(points: int, count: int) -> Integers:
    """Matrix (M, m) that adds up the points of each cell."""
    return np.equal.outer(np.arange(count), cell_labels(points, count)).astype(np.int64)


def _noise(problem: Problem, cube: Cube, matrix: Integers) -> NoiseLaw:
    largest = exact_product(matrix, cube.half_widths.tolist())
    widths = [problem.neighbours.differences(width) for width in largest]
    return body_noise("box", widths, problem.guarantee)


def _prior(problem: Problem) -> Floats:
    return np.asarray(problem.prior * problem.radius**2)


def _outside(prior: Floats, cube: Cube, matrix: Integers) -> Floats:
    """Variance of the sums over cells from white noise outside the basis."""
    return np.asarray(OUTSIDE * prior.sum() * (matrix @ (1 / cube.weights)))


def _conditional(forms: Floats, prior: Floats, power: Floats) -> Floats:
    """P T' (T P T' + V)^(-1)."""
    inside = forms * prior @ forms.T
    if np.trace(inside) < WELL_CONDITIONED * power.min():
        return np.ascontiguousarray(np.linalg.solve(inside + np.diag(power), forms * prior).T)
    # By singular values of V^(-1/2) T P^(1/2), signal-to-noise ratios: no small number is divided by.
    whitened = forms * np.sqrt(prior) / np.sqrt(power)[:, None]
    left, ratios, right = np.linalg.svd(whitened, full_matrices=False)
    gains = ratios / (1 + ratios**2)
    return np.asarray(np.sqrt(prior)[:, None] * (right.T * gains) @ left.T / np.sqrt(power))


def _risk(problem: Problem, cube: Cube, count: int) -> float:
    """Expected squared error tr(P - P T' (T P T' + V)^(-1) T P), before scales are rounded up."""
    starts = np.searchsorted(cell_labels(cube.weights.size, count), np.arange(count))
    forms = np.add.reduceat(cube.functions, starts, axis=0)
    widths = problem.neighbours.differences(1) * np.add.reduceat(cube.half_widths, starts).astype(float)
    epsilon = float(pure_budget(problem.guarantee))
    step = math.ldexp(1.0, -cube.exponent) / problem.size / epsilon
    power = (widths * step) ** 2 * (count + 1) * (count + 2) / 3
    prior = _prior(problem)
    power += OUTSIDE * prior.sum() * np.add.reduceat(1 / cube.weights, starts)
    crossed = forms * prior
    return float(prior.sum() - np.sum(_conditional(forms, prior, power).T * crossed))


def _best(problem: Problem, cube: Cube) -> int:
    """Number of cells with the least risk: found among growing numbers, then among those between."""

    @cache
    def risk(count: int) -> float:
        return _risk(problem, cube, count)

    largest = min(cube.weights.size, LARGEST)
    counts = [1]
    while counts[-1] < largest:
        counts.append(min(largest, max(counts[-1] + 1, math.floor(counts[-1] * GROWTH))))
    place = int(np.argmin([risk(count) for count in counts]))
    low, high = counts[max(place - 1, 0)], counts[min(place + 1, len(counts) - 1)]
    # By at most a few dozen evaluations.
    return min(range(low, high + 1, max(1, (high - low) // 24)), key=risk)
