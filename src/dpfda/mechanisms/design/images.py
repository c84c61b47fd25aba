"""The default design for images between bounds under pure privacy: box noise on equal cells.

As `dpfda.mechanisms.design.lines`, for functions of d variables. With S = n epsilon (replace-one; twice
that under add/remove) and T grid points there are about

    M = max(2^d, .82 S^(1/2)),    every grid point a cell where that is at least .35 T,

cells, as nearly cubes in shares of the box as whole numbers allow. The sums over cells of integers
|x_k| <= h_k with public weights move between neighbours within the box of half-widths sum_k A_jk h_k
(twice that under replace-one), and box noise is calibrated to exactly that, as in
`dpfda.mechanisms.cells`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpfda.bases.boxes import BoxBasis
from dpfda.bases.image_priors import ImagePrior
from dpfda.bounds import Bound, ValueBounds
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.protocol import Measurement
from dpfda.noise import body_noise, pure_budget
from dpfda.numerics.aggregate import exact_product

CELLS, POWER, FULL = 0.82, 0.5, 0.35


def public_images(basis: object, bound: Bound) -> ImagePrior | None:
    """What the default mean of images is estimated from, a cell a point; None for anything else.

    Whoever takes a basis of other functions, fewer functions or another covariance than those of
    `BoxBasis` by default says how rough the mean may be.
    """
    if not isinstance(basis, BoxBasis) or type(bound) is not ValueBounds or basis.dimensions < 2:
        return None
    if np.ndim(bound.lower) or np.ndim(bound.upper):
        return None
    default = BoxBasis.on_grid("cosine", basis.shape, basis.domain_range)
    if default.to_json() != basis.to_json():
        return None
    return ImagePrior(float(bound.lower), float(bound.upper), basis.shape, basis.shape)


def image_cells(shape: tuple[int, ...], strength: float) -> tuple[int, ...]:
    """Numbers of cells along each axis, for n epsilon = `strength`.

    Examples
    --------
    >>> [image_cells((32, 32), strength) for strength in (1, 300, 5000, 1e6)]
    [(2, 2), (4, 4), (8, 8), (32, 32)]
    """
    wanted = max(2.0 ** len(shape), CELLS * strength**POWER)
    if wanted >= FULL * math.prod(shape):
        return shape
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
    epsilon = pure_budget(problem.guarantee, (2,))
    strength = 2 * problem.size * float(epsilon) / problem.neighbours.differences(1)
    prior = replace(problem.images, cells=image_cells(problem.images.shape, strength))
    matrix = prior.matrix
    largest = exact_product(matrix, problem.cube.half_widths.tolist())
    noise = body_noise("box", [problem.neighbours.differences(w) for w in largest], problem.guarantee)
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
