"""Noise on a table of shares: cells that hold what each unit divides among them, in all at most one.

A unit is a vector u of integers u_c >= 0 with sum_c u_c <= 2^20 =: w, its shares of the cells. So
|u|_1 <= w and |u|_2 <= w, and two units differ by |u - u'|_1 <= |u|_1 + |u'|_1 <= 2 w and, because
u.u' >= 0, by |u - u'|_2^2 <= |u|_2^2 + |u'|_2^2 <= 2 w^2. The exact sum moves by such a difference
(replace one) or by such a u (add or remove one), however many cells there are and whatever they mean:
values of a histogram, times and values of curves, times and outcomes.

Where the cells are in parts, of which part j gets at most w_j of a unit, with sum_j w_j <= w, its shares
there have |u_j|_2 <= |u_j|_1 <= w_j: so |u|_2^2 <= sum_j w_j^2 takes the place of w^2. A curve that is
seen at all of m times, with equal weights, moves normal noise's norm by m^(1/2) less than one number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpfda.bounds import Norm
from dpfda.noise import Calibrated, KNormNoise, gaussian_noise, knorm_noise
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, without_delta

# Shares are held in units of 2^-20, so that the noise is hardly rounded.
EXPONENT = 20
UNIT = 1 << EXPONENT


def share_differences(
    gaussian: bool, neighbours: Neighbours, part: int, *parts: int
) -> tuple[Norm, int]:
    """By how much neighbours' sums of shares differ, in the norm that the noise needs.

    gaussian: Whether the noise is normal.
    part, parts: All shares of a unit together, at most; or so much in each part of the cells.
    """
    if not gaussian:
        return "l1", neighbours.differences(part + sum(parts))
    # Shares are not negative, so two units are at most 2^(1/2) apart.
    square = neighbours.differences(sum(size**2 for size in (part, *parts)))
    root = math.isqrt(square)
    return "l2", root if root**2 == square else root + 1


def share_noise(
    cells: int,
    guarantee: Guarantee,
    neighbours: Neighbours,
    noise: str = "auto",
    parts: Sequence[int] = (UNIT,),
) -> Calibrated:
    """Noise on the sums of shares, in units of 2^-20.

    Parameters
    ----------
    cells : int
    guarantee : Guarantee
    neighbours : Neighbours
    noise : {"auto", "laplace", "gaussian"}
        "auto" takes the law of least variance.
    parts : sequence of int
        How much of a unit each part of the cells gets at most; in all at most 2^20.

    Returns
    -------
    Calibrated
        Laplace noise is charged without delta.
    """
    pure, plain = without_delta(guarantee), share_differences(False, neighbours, *parts)
    laplace = knorm_noise((1,), (1.0,), *plain, pure)
    if noise == "gaussian" or (noise == "auto" and not isinstance(guarantee, PureDP)):
        normal = share_differences(True, neighbours, *parts)
        gaussian = gaussian_noise((1.0,), normal[1], guarantee)
        if noise == "gaussian" or gaussian.variances()[0] < laplace.variances()[0]:
            return Calibrated(type(gaussian)(gaussian.scales * cells), guarantee, *normal)
    return Calibrated(KNormNoise.equal(cells, laplace.scales[0]), pure, *plain)
