"""The default design for images between bounds: box noise on equal cells, or other noise on finer ones.

As `dpfda.mechanisms.design.lines`, for functions of d variables. With S = n epsilon (replace-one; twice
that under add/remove) and T grid points there are about

    M = max(2^d, .82 S^(1/2)),    every grid point a cell where that is at least .35 T,

cells, as nearly cubes in shares of the box as whole numbers allow. The sums over cells of integers
|x_k| <= h_k with public weights move between neighbours within the box of half-widths sum_k A_jk h_k
(twice that under replace-one), and box noise is calibrated to exactly that, as in
`dpfda.mechanisms.cells`.

With a delta, or under zCDP, there are others. A box of M equal sides w has length w M^(1/2), so that
normal noise of that length over mu, mu the ratio that the guarantee allows, has the variance
(w / mu)^2 a function *whatever M is*: cells cost nothing, and every grid point is one, up to 8,192 cells
or four times as many as box noise would have. With a delta so has one K-norm block of that length, with
its own ratio. Box noise has about w^2 M / (3 epsilon^2) a function. The design with least is taken, with
the handicaps of lines, and 1.5 or 2.5 times as much for cells that are coarse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpfda.bases.boxes import BoxBasis
from dpfda.bases.priors import ImagePrior
from dpfda.bounds import Bound, ValueBounds
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.design.lines import WORTH_A_DELTA, WORTH_A_TAIL
from dpfda.mechanisms.protocol import Measurement
from dpfda.noise import KNormNoise, NoiseLaw, body_noise, gaussian_on_body, pure_budget
from dpfda.numerics.aggregate import exact_product
from dpfda.privacy.composition.block_profile import block_ratio
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP

CELLS, POWER, FULL = 0.82, 0.5, 0.35
# Cells under other noise: so many at least, and so many times those under box noise; most of one block.
MOST_FINE, TIMES, LARGEST_BLOCK = 8192, 4, 4096
# By these factors the power of noise on coarse cells counts for more, as they hide what is finer: where
# that is most of a large grid, and where cells are an eighth of the points at least.
COARSE, DENSE = 1.5, 2.5


def public_images(basis: object, bound: Bound) -> ImagePrior | None:
    """What the default mean of images is estimated from, a cell a point; None for anything else.

    A basis of other functions, fewer functions or another covariance than those of `BoxBasis` by default
    says how rough the mean may be.
    """
    if not isinstance(basis, BoxBasis) or type(bound) is not ValueBounds or basis.dimensions < 2:
        return None
    if not (isinstance(bound.lower, float) and isinstance(bound.upper, float)):
        return None
    default = BoxBasis.on_grid("cosine", basis.shape, basis.domain_range)
    if default.to_json() != basis.to_json():
        return None
    return ImagePrior(bound.lower, bound.upper, basis.shape, basis.shape)


def image_cells(shape: tuple[int, ...], strength: float) -> tuple[int, ...]:
    """Numbers of cells along each axis under box noise, for n epsilon = `strength`.

    Examples
    --------
    >>> [image_cells((32, 32), strength) for strength in (1, 300, 5000, 1e6)]
    [(2, 2), (4, 4), (8, 7), (32, 32)]
    """
    wanted = max(2.0 ** len(shape), CELLS * strength**POWER)
    return shape if wanted >= FULL * math.prod(shape) else _sides(shape, wanted)


def _sides(shape: tuple[int, ...], wanted: float) -> tuple[int, ...]:
    """About so many cells, along each axis."""
    cells = [1] * len(shape)
    for place, axis in enumerate(sorted(range(len(shape)), key=lambda axis: shape[axis])):
        # What the shorter axes could not take is left to the longer ones.
        side = wanted ** (1 / (len(shape) - place))
        cells[axis] = max(1, min(shape[axis], round(side)))
        wanted /= cells[axis]
    return tuple(cells)


def image_design(problem: Problem) -> Design | None:
    """The design where images are bounded value by value; None for anything else."""
    if problem.images is None or problem.cube is None:
        return None
    pure = problem.pure
    epsilon = float(pure_budget(pure.guarantee))
    strength = 2 * problem.size * epsilon / problem.neighbours.differences(1)
    box = _on_cells(pure, image_cells(problem.images.shape, strength))
    if isinstance(problem.guarantee, PureDP):
        return box
    points, most = math.prod(problem.images.shape), max(MOST_FINE, TIMES * box.components)
    shape = problem.images.shape
    fine = shape if points <= most else _sides(shape, most)
    hidden = DENSE if 8 * box.components >= points else COARSE
    candidates = [(box, hidden if box.components < math.prod(fine) else 1.0)]
    handicap = (WORTH_A_TAIL if box.components == points else WORTH_A_DELTA) ** 2
    candidates.append((_on_cells(problem, fine, _normal), handicap))
    if isinstance(problem.guarantee, ApproximateDP) and math.prod(fine) <= LARGEST_BLOCK:
        candidates.append((_on_cells(problem, fine, _block), handicap))
    return min(candidates, key=lambda candidate: candidate[1] * _power(candidate[0]))[0]


def _box(widths: list[int], guarantee: Guarantee) -> NoiseLaw:
    return body_noise("box", widths, guarantee)


def _normal(widths: list[int], guarantee: Guarantee) -> NoiseLaw:
    return gaussian_on_body(np.ones(len(widths)), "box", widths, guarantee)


def _block(widths: list[int], guarantee: Guarantee) -> NoiseLaw:
    """One K-norm block, of the ball around the box."""
    assert isinstance(guarantee, ApproximateDP)  # noqa: S101 - a candidate for no other
    length = math.isqrt(sum(width**2 for width in widths) - 1) + 1
    return KNormNoise((len(widths),), (math.ceil(length / block_ratio(len(widths), guarantee)),))


def _on_cells(
    problem: Problem, cells: tuple[int, ...], law: Callable[[list[int], Guarantee], NoiseLaw] = _box
) -> Design:
    """Noise on sums over cells, which move within a box of these half-widths."""
    assert problem.images is not None and problem.cube is not None  # noqa: S101, PT018
    prior = replace(problem.images, cells=cells)
    matrix = prior.matrix
    largest = exact_product(matrix, problem.cube.half_widths.tolist())
    noise = law([problem.neighbours.differences(width) for width in largest], problem.guarantee)
    # All functions of the frequencies that cells tell apart, which come first in the basis.
    squares = np.sum(np.indices(prior.shape) ** 2, axis=0)
    functions = int(np.count_nonzero(squares <= sum((count - 1) ** 2 for count in prior.cells)))
    return Design(
        "cells",
        {"cells": list(prior.cells)},
        noise,
        np.ones(prior.measured),
        measurement=Measurement(matrix, problem.cube.exponent, None, functions),
        hierarchy=prior,
    )


def _power(design: Design) -> float:
    """Noise variance of a function of mean square one, in units of one share of an image."""
    assert isinstance(design.hierarchy, ImagePrior)  # noqa: S101
    return float(design.noise.variances()[0]) / design.hierarchy.weight**2 / design.components
