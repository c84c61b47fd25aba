"""A private number of units in one cylinder with the sums over cells: one coordinate of noise more.

Under add/remove neighbours a unit moves (sums, number of units) by +-(x, 1) with |x_j| <= w_j. The
convex hull of these moves is the cylinder over the box, which is a box with one side more; its K-norm
law is box noise on M + 1 coordinates. The sums keep the scales w_j / epsilon and the count gets
1 / epsilon: the loss is the largest ratio, and not the sum of two.

The number of cells needs to know how many units there are: from another count before, at a small share
of the budget (`dpfda.publication.requests`). Both are averaged, each by its precision.

Coefficients in an l2 ball have no such part. Over a ball the cylinder's law has variances M + 3 on the
sums, (M + 2)(M + 3) / 3 on the count, where a tenth for the count leaves (M + 1) / .81 and 200: with
more than a few coefficients what is gained on the sums is lost on what divides them.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dpfda.mechanisms.protocol import COUNT_SCALE, Design, Problem
from dpfda.noise import BoxNoise, pure_budget


def with_count(problem: Problem, design: Design) -> Design:
    """The design with the number of units as the last coordinate of its noise, if that is of a box.

    problem: Of neighbours whose numbers of units, or totals of their weights, differ by one at most.
    """
    if design.measurement is None or not isinstance(design.noise, BoxNoise):
        return design
    # Box noise is pure, and leaves the delta to others.
    scale = math.ceil(COUNT_SCALE / pure_budget(problem.pure.guarantee))
    return replace(design, noise=BoxNoise((*design.noise.scales, scale)), counts=COUNT_SCALE)
