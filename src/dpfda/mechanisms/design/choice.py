"""The public problem of a mean, and the mechanism of the least expected typical error in it.

A private number of units in one cylinder with the sums over cells: one coordinate of noise more.

Under add/remove neighbours a unit moves (sums, number of units) by +-(x, 1) with |x_j| <= w_j. The
convex hull of these moves is the cylinder over the box, which is a box with one side more; its K-norm
law is box noise on M + 1 coordinates. The sums keep the scales w_j / epsilon and the count gets
1 / epsilon: the loss is the largest ratio, and not the sum of two.

The number of cells needs to know how many units there are: from another count before, at a small share
of the budget (`dpfda.publication.mean_designs`). Both are averaged, each by its precision.

Coefficients in an l2 ball have no such part. Over a ball the cylinder's law has variances M + 3 on the
sums, (M + 2)(M + 3) / 3 on the count, where a tenth for the count leaves (M + 1) / .81 and 200: with
more than a few coefficients what is gained on the sums is lost on what divides them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np

from dpfda.bases import Basis, BernsteinBasis, KernelBasis
from dpfda.bases.centred import CentredBasis
from dpfda.bases.kernels import default_kernel, matern_terms
from dpfda.bases.priors import SCALES, CurvePrior, Hierarchy, Prior, normalized, public_shapes
from dpfda.bounds import Bound, BoxBound, Ellipsoid, ValueBounds
from dpfda.mechanisms import (
    COUNT_SCALE,
    AdaptingMechanism,
    CandidateMechanism,
    Design,
    Mechanism,
    Problem,
    mechanisms,
    read_mechanism,
)
from dpfda.mechanisms.cells import measured_forms
from dpfda.mechanisms.design.images import image_design
from dpfda.mechanisms.design.lines import WORTH_A_DELTA, line_design, line_power
from dpfda.noise import BoxNoise, BoxPartNoise, laws_of, pure_budget
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import readable
from dpfda.numerics.speed import one_thread, remembered
from dpfda.privacy.guarantees import Guarantee, Neighbours, ZeroConcentratedDP

# Shorter grids have no cells to speak of.
FEWEST = 3


@remembered(16)
def public_curves(basis: Basis, bound: Bound) -> CurvePrior | None:
    """What the default mean of curves between bounds is estimated from; None for anything else.

    As for `public_mixture`, a stated kernel says how rough the mean may be. Centred functions say
    that their level is not of interest.
    """
    if (
        type(bound) is not ValueBounds
        or not _of_default_kernel(basis)
        or basis.grid_points.size < FEWEST
    ):
        return None
    return CurvePrior(*bound.curves_on(basis.grid_points))


@remembered(16)
def public_mixture(basis: Basis, norm: str, scales: int = len(SCALES)) -> Prior | None:
    """The public mixture of shapes and scales, for a basis of the default kernel; None for others.

    A stated kernel says how rough the mean may be; without one nothing is known of that.

    norm: Of the ball that records lie in; shapes fill a ball of radius one.
    scales: How many there are, of the largest.
    """
    inner = basis.inner if isinstance(basis, CentredBasis) else basis
    if norm not in ("l1", "l2") or not _of_default_kernel(inner):
        return None
    return Prior.of(normalized(public_shapes(basis.eigenvalues.size), norm), np.array(SCALES[:scales]))


def _of_default_kernel(basis: Basis) -> bool:
    if not isinstance(basis, KernelBasis):
        return False
    return matern_terms(basis.kernel) == default_kernel(basis.domain_range).terms


def adapted(
    mechanism: object,
    basis: Basis,
    bound: Bound,
    size: int | None,
    guarantee: Guarantee,
    neighbours: Neighbours,
) -> tuple[Basis, Bound]:
    """The basis and the bound that a mechanism works with: the given ones, unless it replaces them.

    Raises ParameterError if the mechanism cannot use them: coefficients that are lattice values are for
    those alone that ask for them.
    """
    if isinstance(bound, BoxBound | Ellipsoid):
        bound = bound.on_basis(basis.eigenvalues)
    if not (isinstance(mechanism, str) and mechanism == "auto"):
        chosen = read_mechanism(mechanism)
        if isinstance(chosen, AdaptingMechanism):
            return chosen.adapt(basis, bound, size, guarantee, neighbours)
    if isinstance(basis, BernsteinBasis) or bound.norm == "linf":
        stated = basis.describe() if isinstance(basis, BernsteinBasis) else type(bound).__name__
        raise ParameterError(
            "mechanism",
            "be 'bernstein' for lattice values",
            f"{mechanism!r} with {stated}",
            "Other mechanisms want orthonormal functions: use a kernel or a cosine basis with bounds"
            " (lower, upper).",
        )
    return basis, bound


WORKABLE = (Fraction(1, 10**30), Fraction(10**30))

# A user's own kernel has this share of the prior for shrinkage, the public shapes have the rest. Means
# with about a fifth or a twentieth of the power that the bound allows are the most likely.
OWN_SHARE = 0.5
SCALE_WEIGHTS = (1.0, 3.0, 3.0, 1.0, 0.3, 0.3, 0.3)
# Releases of more functions are shrunk by factors: a posterior would take too long and too much room.
LARGEST = 4096


@remembered(32)
@one_thread(scipy=False)
def choose(problem: Problem, mechanism: object = "auto") -> Design:
    """Let a mechanism design its noise; "auto" takes the one with the least expected typical error.

    Mechanisms say themselves what they offer: see `CandidateMechanism`.

    The candidates are one K-norm block, matched Laplace noise and, with bounds on values, averages over
    cells, which are pure, and under any other guarantee equal Gaussian noise too; with a delta also the
    block calibrated to it. A pure candidate satisfies an approximate guarantee of the same epsilon; it
    wins on l1 balls, and wherever delta would gain less than a hundredth. A candidate's typical
    error is the square root of its expected squared error, given shape and scale of the mean, with the
    best linear shrinkage for them; its average over shapes and scales (`Problem.belief`) is compared.
    The release is then shrunk by the posterior mean under a public prior, which does not know them
    either. For curves between bounds, where no kernel is named, see `dpfda.mechanisms.design.lines`.
    """
    check_workable(problem.guarantee)
    if not (isinstance(mechanism, str) and mechanism == "auto"):
        named = read_mechanism(mechanism)
        return _genuine(named.design(_within(named, problem)))
    if (default := line_design(problem) or image_design(problem)) is not None:
        return default
    best, least = None, math.inf
    for design, handicap in _candidates(problem):
        error = handicap * typical_error(problem, design)
        if best is None or error < least:
            best, least = design, error
    assert best is not None  # noqa: S101
    if problem.curves is not None:
        return replace(best, hierarchy=problem.curves)
    return replace(best, hierarchy=shrinkage_prior(problem, best))


def _candidates(problem: Problem) -> Iterator[tuple[Design, float]]:
    """Designs of all mechanisms that offer some, and the factors by which their errors count."""
    pure = problem.pure
    views = [(problem, 1.0)] if pure is problem else [(problem, WORTH_A_DELTA), (pure, 1.0)]
    kinds = mechanisms().values()
    offering = [cast("CandidateMechanism", kind()) for kind in kinds if hasattr(kind, "candidates")]
    for mechanism, (view, handicap) in itertools.product(offering, views):
        for design in mechanism.candidates(_within(mechanism, view), partial(typical_error, problem)):
            yield design, handicap


def typical_error(problem: Problem, design: Design) -> float:
    """Average over shapes and scales of the root mean square error, in units of the radius.

    Given shape and scale the shrinkage is the best linear one.
    """
    belief = problem.belief
    risks = np.maximum(_oracle_risks(problem, design, belief.variances), 0.0)
    return float(belief.chances @ np.sqrt(risks))


def counted_power(problem: Problem, design: Design) -> float:
    """What "auto" compares designs by: the noise of a line, the squared typical error of others."""
    if problem.curves is not None and problem.cube is not None:
        return line_power(problem, design)
    return typical_error(problem, design) ** 2


def _oracle_risks(problem: Problem, design: Design, variances: Floats) -> Floats:
    """Expected squared errors (H,) for rows of prior variances, in units of the squared radius."""
    total = variances.sum(axis=1)
    if design.measurement is None:
        power = problem.noise_power(design.noise.variances())
        measured = variances[:, : design.components]
        return np.asarray(total - (measured**2 / (measured + power)).sum(axis=1))
    forms, power = measured_forms(problem, design)
    scaled, scales, gains = forms / np.sqrt(power)[:, None], problem.belief.scales, []
    for shape in problem.belief.shapes:
        # The trace of P A' (I + A P A')^-1 A P with A = V^-1/2 F and P = s B, from A B A' = U L U'.
        crossed = scaled * shape
        values, vectors = np.linalg.eigh(crossed @ scaled.T)
        squares = np.sum((crossed.T @ vectors) ** 2, axis=0)
        gains.append((scales[:, None] ** 2 * squares / (1 + scales[:, None] * values)).sum(axis=1))
    return np.asarray(total - np.concatenate(gains))


def shrinkage_prior(problem: Problem, design: Design) -> Hierarchy | None:
    """The public prior under which a release of this design is shrunk, in the units of the data.

    The public mixture where that is what is believed; else the problem's own shape, at the declared size
    and below, and the public shapes, half and half: data are seldom as rough as a kernel. None where the
    law of the noise is no mixture of normal laws, or the sum was thresholded.
    """
    if design.thresholds or design.functions > LARGEST or design.noise.mixture() is None:
        return None
    prior = (problem.mixture or _around(problem)).truncate(design.functions)
    prior = prior.times(problem.radius**2)
    if design.measurement is None:
        return Hierarchy(prior)
    return Hierarchy(prior, measured_forms(problem, design)[0][:, : design.functions])


def _around(problem: Problem) -> Prior:
    own = problem.prior
    if problem.body is not None:
        return Prior.of(own, SCALES)
    # The root of the kernel's shape is rougher than it: for means that fall more slowly than declared.
    shapes = normalized(np.vstack([np.sqrt(own), public_shapes(own.size)]), problem.ball.norm)
    shares = np.append(OWN_SHARE, np.full(len(shapes), (1 - OWN_SHARE) / len(shapes)))
    scales = np.array(SCALE_WEIGHTS)
    weights = np.outer(shares, scales / scales.sum())
    return Prior(np.vstack([own, shapes]), np.array(SCALES), weights)


def _within(mechanism: Mechanism, problem: Problem) -> Problem:
    """The problem; for a mechanism that knows balls only with a ball around a box or an ellipsoid."""
    return problem if getattr(mechanism, "takes_bodies", False) else problem.enclosed


def _genuine(design: object) -> Design:
    """A design made again from its parts, so that what is checked is what is drawn.

    It guards against mistakes of a mechanism. One that means harm runs in the same process and cannot
    be contained.
    """
    noise = getattr(design, "noise", None)
    law: Any = type(noise)
    if type(design) is not Design or law not in laws_of().values():
        words = "answer with a Design whose noise is one of this library's laws"
        raise ParameterError("mechanism", words, f"{type(design).__name__} with {law.__name__}")
    parts = {field.name: getattr(noise, field.name) for field in fields(law)}
    return Design(
        str(design.mechanism),
        dict(design.parameters),
        law(**parts),
        np.array(design.shrinkage, dtype=np.float64),
        tuple(design.thresholds),
        design.measurement,
        design.hierarchy,
    )


def check_workable(guarantee: Guarantee) -> None:
    """Refuse budgets for which scales leave the range of floats."""
    loss = guarantee.rho if isinstance(guarantee, ZeroConcentratedDP) else guarantee.epsilon
    if not WORKABLE[0] <= loss <= WORKABLE[1]:
        raise ParameterError(
            "epsilon (or rho)", "lie between 1e-30 and 1e30 for a release", readable(loss)
        )


def with_sides(design: Design, sides: int) -> Design:
    """The design with what it sees of its noise where the box has so many sides more."""
    scales = cast("BoxNoise", design.noise).scales
    return replace(design, noise=BoxPartNoise(scales, len(scales) + sides))


def with_count(problem: Problem, design: Design) -> Design:
    """The design with the number of units as the last coordinate of its noise, if that is of a box.

    problem: Of neighbours whose numbers of units, or totals of their weights, differ by one at most.
    """
    if design.measurement is None or not isinstance(design.noise, BoxNoise):
        return design
    # Box noise is pure, and leaves the delta to others.
    scale = math.ceil(COUNT_SCALE / pure_budget(problem.pure.guarantee))
    return replace(design, noise=BoxNoise((*design.noise.scales, scale)), counts=COUNT_SCALE)
