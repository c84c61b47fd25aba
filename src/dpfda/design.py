"""Choosing a mechanism from public numbers, and the error that a release can expect."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpfda.bases import Basis
from dpfda.bounds import Bound, IntegerBall
from dpfda.errors import ParameterError
from dpfda.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP
from dpfda.mechanisms import Design, Problem, read_mechanism
from dpfda.mechanisms.gaussian import Gaussian
from dpfda.mechanisms.knorm import KNorm
from dpfda.mechanisms.laplace import Laplace


@dataclass(frozen=True)
class ExpectedError:
    """Expected squared L2 distance over the domain, in squared units of the data times the domain's.

    Parameters
    ----------
    bias : float
        Of shrinkage and truncation, under the kernel's prior for the mean.
    noise : float
        Of the privacy noise. Exact: it does not depend on data or prior.
    sampling : float
        Upper bound for the distance between the sample mean and the population's.
    """

    bias: float
    noise: float
    sampling: float

    @property
    def total(self) -> float:
        """Expected squared distance of the release to the sample mean: bias + noise."""
        return self.bias + self.noise


@dataclass(frozen=True, eq=False)
class Plan:
    """What would be released, and how far off it would be, from public numbers alone."""

    problem: Problem
    design: Design
    error: ExpectedError
    length: float

    @property
    def typical_error(self) -> float:
        """Root mean square error at a point of the domain, in the units of the data."""
        return math.sqrt(self.error.total / self.length)


def make_problem(
    basis: Basis,
    bound: Bound,
    size: int,
    guarantee: Guarantee,
    neighbours: Neighbours = Neighbours.REPLACE_ONE,
) -> Problem:
    """Put public numbers together: basis, bound, number of units, guarantee."""
    radius = bound.radius_on(basis.grid_points, basis.weights)
    ball = IntegerBall.of(bound.norm, radius, basis.eigenvalues.size)
    return Problem(basis.eigenvalues, basis.decay, ball, size, guarantee, neighbours)


def choose(problem: Problem, mechanism: Any = "auto") -> Design:
    """Let a mechanism design its noise; "auto" takes the one with the least expected error.

    The candidates are one K-norm block and matched Laplace noise, which are pure, and under any other
    guarantee equal Gaussian noise too. A pure candidate satisfies an approximate guarantee of the same
    epsilon; it wins on l1 balls.
    """
    if not (isinstance(mechanism, str) and mechanism == "auto"):
        return read_mechanism(mechanism).design(problem)
    designs = []
    if not isinstance(problem.guarantee, PureDP):
        designs.append(Gaussian().design(problem))
    if isinstance(problem.guarantee, ApproximateDP):
        problem = replace(problem, guarantee=PureDP(problem.guarantee.epsilon))
    if isinstance(problem.guarantee, PureDP):
        designs.append(KNorm().design(problem))
    designs.append(Laplace().design(problem))
    return min(designs, key=lambda design: sum(_error_parts(problem, design)))


def expected_error(problem: Problem, design: Design) -> ExpectedError:
    """Expected error of a design, in the units of the data."""
    scale = (problem.ball.radius * problem.ball.unit) ** 2
    bias, noise = (part * scale for part in _error_parts(problem, design))
    return ExpectedError(bias, noise, scale / problem.size)


def _error_parts(problem: Problem, design: Design) -> tuple[float, float]:
    """Bias and noise in units of the squared radius."""
    kept = problem.prior[: design.components]
    lost = float(problem.prior[design.components :].sum())
    power = problem.noise_power(design.noise.variances())
    bias = float(np.sum((1 - design.shrinkage) ** 2 * kept)) + lost
    if design.thresholds:
        # Thresholding moves a coefficient by the threshold or by itself, whichever is smaller.
        levels = np.array(design.thresholds, dtype=float) / (problem.ball.radius * problem.size)
        bias += float(np.sum(np.minimum(levels**2, kept)))
    return bias, float(np.sum(design.shrinkage**2 * power))


def make_plan(
    basis: Basis,
    bound: Bound,
    size: int,
    guarantee: Guarantee,
    neighbours: Neighbours = Neighbours.REPLACE_ONE,
    mechanism: Any = "auto",
) -> Plan:
    """Plan a release of a mean without any data.

    Parameters
    ----------
    basis : Basis
        Public basis.
    bound : Bound
        Public bound on a record.
    size : int
        Number of privacy units.
    guarantee : Guarantee
        What to give.
    neighbours : Neighbours
        For which pairs of data sets.
    mechanism : "auto", name or Mechanism

    Raises
    ------
    ParameterError
        If the size is not a positive integer or the mechanism is refused.
    """
    if not (isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 1):
        raise ParameterError("number of curves", "be a positive integer", repr(size))
    problem = make_problem(basis, bound, int(size), guarantee, neighbours)
    design = choose(problem, mechanism)
    start, end = basis.domain_range
    return Plan(problem, design, expected_error(problem, design), end - start)
