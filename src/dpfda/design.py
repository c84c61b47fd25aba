"""Choosing a mechanism from public numbers, and the error that a release can expect."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.bases import Basis, BernsteinBasis
from dpfda.bounds import Bound, BoxBound, Ellipsoid, ball_of, on_grid
from dpfda.errors import ParameterError
from dpfda.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    readable,
)
from dpfda.mechanisms import AdaptingMechanism, Design, Mechanism, Problem, read_mechanism
from dpfda.mechanisms.cells import Cells, measured_error
from dpfda.mechanisms.gaussian import Gaussian
from dpfda.mechanisms.knorm import KNorm
from dpfda.mechanisms.laplace import Laplace
from dpfda.noise import LAWS

Floats = NDArray[np.float64]
WORKABLE = (Fraction(1, 10**30), Fraction(10**30))


@dataclass(frozen=True)
class ExpectedError:
    """Expected squared L2 distance over the domain, in squared units of the data times the domain's.

    Parameters
    ----------
    bias : float
        Of shrinkage, truncation and the basis, under the kernel's prior for the mean.
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
    def typical_limit(self) -> float | None:
        """What no pure mechanism can expect to fall below, as `typical_error`; None where not known."""
        limit = least_error(self.problem)
        return None if limit is None else math.sqrt(limit / self.length)

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
    placed = on_grid(bound, basis)
    if placed is not None:
        return Problem(
            basis.eigenvalues, basis.decay, placed.ball, size, guarantee, neighbours, placed.cube
        )
    ball = ball_of(bound, basis.grid_points, basis.weights, basis.eigenvalues.size)
    return Problem(basis.eigenvalues, basis.decay, ball, size, guarantee, neighbours)


def adapted(
    mechanism: Any,
    basis: Basis,
    bound: Bound,
    size: int | None,
    guarantee: Guarantee,
    neighbours: Neighbours,
) -> tuple[Basis, Bound]:
    """The basis and the bound that a mechanism works with: the given ones, unless it replaces them.

    Raises
    ------
    ParameterError
        If the mechanism cannot use them: coefficients that are lattice values are for those alone that
        ask for them.
    """
    if isinstance(bound, BoxBound | Ellipsoid):
        bound = bound.on_basis(basis.eigenvalues)
    if mechanism != "auto":
        made = read_mechanism(mechanism)
        if isinstance(made, AdaptingMechanism):
            return made.adapt(basis, bound, size, guarantee, neighbours)
    if isinstance(basis, BernsteinBasis) or bound.norm == "linf":
        found = basis.describe() if isinstance(basis, BernsteinBasis) else type(bound).__name__
        raise ParameterError(
            "mechanism",
            "be 'bernstein' for lattice values",
            f"{mechanism!r} with {found}",
            "Other mechanisms want orthonormal functions: use a kernel or a cosine basis with bounds"
            " (lower, upper).",
        )
    return basis, bound


def choose(problem: Problem, mechanism: Any = "auto") -> Design:
    """Let a mechanism design its noise; "auto" takes the one with the least expected error.

    The candidates are one K-norm block and matched Laplace noise, which are pure, and under any other
    guarantee equal Gaussian noise too. A pure candidate satisfies an approximate guarantee of the same
    epsilon; it wins on l1 balls.
    """
    _check_workable(problem.guarantee)
    if not (isinstance(mechanism, str) and mechanism == "auto"):
        return _genuine(_designed(read_mechanism(mechanism), problem))
    designs = []
    if not isinstance(problem.guarantee, PureDP):
        designs.append(Gaussian().design(problem))
    if isinstance(problem.guarantee, ApproximateDP):
        problem = replace(problem, guarantee=PureDP(problem.guarantee.epsilon))
    if isinstance(problem.guarantee, PureDP):
        designs.append(KNorm().design(problem))
        if problem.cube is not None:
            designs.append(Cells().design(problem))
    designs.append(Laplace().design(problem))
    return min(designs, key=lambda design: sum(_error_parts(problem, design)))


def _designed(mechanism: Mechanism, problem: Problem) -> Design:
    """Ask a mechanism; one that knows balls only is given a ball around a box or an ellipsoid."""
    return mechanism.design(problem if getattr(mechanism, "takes_bodies", False) else problem.enclosed)


def _genuine(design: Any) -> Design:
    """A design made again from its parts, so that what is checked is what is drawn.

    It guards against mistakes of a mechanism. One that means harm runs in the same process and cannot
    be contained.
    """
    noise = getattr(design, "noise", None)
    law: Any = type(noise)
    if type(design) is not Design or law not in LAWS.values():
        raise ParameterError(
            "mechanism",
            "answer with a Design whose noise is one of this library's laws",
            f"{type(design).__name__} with {law.__name__}",
        )
    parts = {field.name: getattr(noise, field.name) for field in fields(law)}
    return Design(
        str(design.mechanism),
        dict(design.parameters),
        law(**parts),
        np.array(design.shrinkage, dtype=np.float64),
        tuple(design.thresholds),
        design.measurement,
    )


def _check_workable(guarantee: Guarantee) -> None:
    """Refuse budgets for which scales leave the range of floats."""
    loss = guarantee.rho if isinstance(guarantee, ZeroConcentratedDP) else guarantee.epsilon
    if not WORKABLE[0] <= loss <= WORKABLE[1]:
        raise ParameterError(
            "epsilon (or rho)", "lie between 1e-30 and 1e30 for a release", readable(loss)
        )


def expected_error(problem: Problem, design: Design, basis: Basis) -> ExpectedError:
    """Expected error of a design, in the units of the data."""
    scale = (problem.ball.radius * problem.ball.unit) ** 2
    norms = basis.square_norms[: design.functions]
    bias, noise = (part * scale for part in _error_parts(problem, design, norms))
    # A function whose values are below the radius has a square that integrates to at most the length.
    start, end = basis.domain_range
    largest = scale * (end - start) if problem.ball.norm == "linf" else scale
    return ExpectedError(bias + basis.residual * scale, noise, largest / problem.size)


def least_error(problem: Problem) -> float | None:
    """Lower bound for the expected error of pure mechanisms under the prior, in squared data units.

    It holds for every mechanism whose log likelihood moves by at most epsilon where the mean of the
    coefficients moves by a = w / n, as that of additive noise does, and for a Gaussian prior with
    variances p_j (van Trees' inequality). On the l2 ball the likelihood's gradient has length at most
    epsilon / a, so the Fisher information has trace at most (epsilon / a)^2, and the risk
    sum_j 1 / (I_j + 1 / p_j) is least where min(p_j, theta) is the risk of coefficient j, with
    sum_{p_j > theta} (1/theta - 1/p_j) = (epsilon / a)^2. On the l1 ball every entry of the gradient is
    at most epsilon / a, and the risk of coefficient j at least 1 / ((epsilon / a)^2 + 1 / p_j).

    Returns
    -------
    float or None
        None for guarantees and norms without such a bound here.
    """
    if not isinstance(problem.guarantee, PureDP) or problem.ball.norm == "linf":
        return None
    step = problem.width / (float(problem.ball.radius) * problem.size)
    information = (float(problem.guarantee.epsilon) / step) ** 2
    prior = problem.prior
    if problem.ball.norm == "l1":
        risk = float(np.sum(1 / (information + 1 / prior)))
    else:
        # With the k largest variances above the level: k / theta - sum_{j<=k} 1/p_j = information.
        counts = np.arange(1, prior.size + 1)
        levels = counts / (information + np.cumsum(1 / prior))
        following = np.append(prior[1:], 0.0)
        level = levels[int(np.argmax(levels >= following))]
        risk = float(np.sum(np.minimum(prior, level)))
    return risk * (problem.ball.radius * problem.ball.unit) ** 2


def _error_parts(
    problem: Problem, design: Design, square_norms: Floats | float = 1.0
) -> tuple[float, float]:
    """Bias and noise in units of the squared radius."""
    if design.measurement is not None:
        return measured_error(problem, design, square_norms)
    kept = problem.prior[: design.components]
    lost = float(problem.prior[design.components :].sum())
    power = problem.noise_power(design.noise.variances())
    bias = float(np.sum((1 - design.shrinkage) ** 2 * kept)) + lost
    if design.thresholds:
        # Thresholding moves a coefficient by the threshold or by itself, whichever is smaller.
        levels = np.array(design.thresholds, dtype=float) / (problem.ball.radius * problem.size)
        bias += float(np.sum(np.minimum(levels**2, kept)))
    return bias, float(np.sum(design.shrinkage**2 * power * square_norms))


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
    basis, bound = adapted(mechanism, basis, bound, int(size), guarantee, neighbours)
    problem = make_problem(basis, bound, int(size), guarantee, neighbours)
    design = choose(problem, mechanism)
    start, end = basis.domain_range
    return Plan(problem, design, expected_error(problem, design, basis), end - start)
