"""Independent K-norm blocks, product Laplace noise among them.

Block B of scale c_B has density proportional to exp(-|z|_2 / c_B). By the reverse triangle
inequality its log density ratio at a shift d_B is at most |d_B|_2 / c_B, and blocks are
independent, so the loss is the largest

    sum_B |d_B|_2 / c_B      over      |d| <= width.

- l2 ball: Cauchy-Schwarz gives width sqrt(sum_B 1 / c_B^2), attained at |d_B| ~ 1 / c_B.
- l1 ball: |d_B|_2 <= |d_B|_1, so it is width max_B 1 / c_B, attained at a coordinate vector.
- linf ball: |d_B|_2 <= M_B^(1/2) width for a block of size M_B, so it is width sum_B M_B^(1/2) / c_B,
  attained where every coordinate moves by the width.

Under (epsilon, delta) one block may have a larger loss than epsilon: `dpfda.calibration.approximate`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from dpfda.bounds import Norm
from dpfda.calibration.approximate import block_scale, estimated_ratios
from dpfda.calibration.search import checked_shape, largest
from dpfda.composition import laplace_rho, pure_rho
from dpfda.composition.rounding import PRECISION
from dpfda.errors import ParameterError, RefusedMechanismError
from dpfda.exactness import precision, upper_end
from dpfda.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP
from dpfda.noise import KNormNoise

Floats = NDArray[np.float64]

# Integer scales may exceed their targets by this much, relatively, before the loss is recomputed.
MARGIN = 2.0**-45


def knorm_loss(
    scales: Sequence[int], norm: Norm, width: int, block_sizes: Sequence[int] | None = None
) -> Fraction:
    """Privacy loss of independent K-norm blocks, rounded up.

    Parameters
    ----------
    scales : sequence of int
        Block scales c_B, in grid units.
    norm : {"l1", "l2", "linf"}
        Norm in which neighbouring sums differ by at most `width`.
    width : int
        That distance, in grid units.
    block_sizes : sequence of int, optional
        Sizes M_B of the blocks. The linf norm needs them; the others do not depend on them.

    Raises
    ------
    ParameterError
        If the sizes are needed and missing.
    """
    if norm == "l1":
        return Fraction(width, min(scales))
    if norm == "linf":
        if block_sizes is None or len(block_sizes) != len(scales):
            raise ParameterError("block_sizes", "have one size a scale under linf", block_sizes)
        return _box_loss(Counter(zip(block_sizes, scales, strict=True)), width)
    with precision(PRECISION):
        total = arb(0)
        for scale in scales:
            total += arb(1) / arb(scale) ** 2
        return upper_end(width * total.sqrt())


def _box_loss(blocks: Counter[tuple[int, int]], width: int) -> Fraction:
    """Sum of M_B^(1/2) / c_B times the width: exact where every root is an integer."""
    total = Fraction(0)
    for (size, scale), count in blocks.items():
        root = Fraction(math.isqrt(size))
        if root**2 != size:
            with precision(PRECISION):
                root = upper_end(arb(size).sqrt())
        total += count * root / scale
    return width * total


def knorm_noise(
    block_sizes: Sequence[int],
    relative: ArrayLike,
    norm: Norm,
    width: int,
    guarantee: Guarantee,
) -> KNormNoise:
    """Scale K-norm blocks of given relative scales to a guarantee.

    Parameters
    ----------
    block_sizes : sequence of int
        Sizes of consecutive blocks.
    relative : array (blocks,)
        Relative scales, positive.
    norm, width
        As in `knorm_loss`.
    guarantee : Guarantee
        What the noise must give. A rho-zCDP request is met by the largest epsilon that costs rho. An
        approximate one is for one block, whose exact profile meets it with the smallest integer scale.

    Raises
    ------
    RefusedMechanismError
        If several blocks are to use a delta.
    """
    if isinstance(guarantee, ApproximateDP) and len(block_sizes) == 1:
        size = int(block_sizes[0])
        length = knorm_loss((1,), norm, width, (size,))
        return KNormNoise((size,), (block_scale(size, length, guarantee),))
    epsilon = pure_budget(guarantee, block_sizes)
    shape = checked_shape(relative)
    targets = knorm_targets(block_sizes, shape, norm, width, float(epsilon))
    while True:
        scales = tuple(max(1, math.ceil(target)) for target in targets.tolist())
        if knorm_loss(scales, norm, width, block_sizes) <= epsilon:
            return KNormNoise(tuple(int(size) for size in block_sizes), scales)
        targets *= 1 + MARGIN


def knorm_targets(
    block_sizes: Sequence[int], relative: Floats, norm: Norm, width: int, epsilon: float
) -> Floats:
    """Real-valued scales with the loss epsilon, to float accuracy: a start, not a guarantee."""
    shape = relative / relative.min()
    if norm == "linf":
        loss = float(np.sum(np.sqrt(np.asarray(block_sizes)) / shape))
    else:
        loss = 1.0 if norm == "l1" else math.sqrt(float(np.sum(1.0 / shape**2)))
    return np.asarray(width * loss / epsilon * shape)


@lru_cache(maxsize=64)
def block_lengths(guarantee: Guarantee, count: int) -> Floats:
    """Longest shift over scale that one block of 1, 2, ... coordinates may have, in floats.

    To compare designs. Under a pure guarantee it is epsilon whatever the size; a delta lets larger
    blocks have less noise.

    Parameters
    ----------
    guarantee : Guarantee
    count : int
        Largest number of coordinates.

    Returns
    -------
    array (count,)
    """
    if isinstance(guarantee, ApproximateDP):
        lengths = estimated_ratios(np.arange(1, count + 1), guarantee)
    else:
        lengths = np.full(count, float(pure_budget(guarantee, (2,))))
        lengths[0] = float(pure_budget(guarantee, (1,)))
    lengths.setflags(write=False)
    return lengths


def pure_budget(guarantee: Guarantee, block_sizes: Sequence[int]) -> Fraction:
    """Epsilon that K-norm noise may spend to stay within the guarantee.

    Raises
    ------
    RefusedMechanismError
        For an approximate guarantee, whose delta noise without an exact profile would not use.
    """
    if isinstance(guarantee, PureDP):
        return guarantee.epsilon
    if isinstance(guarantee, ZeroConcentratedDP):
        cost, rho = block_rho(block_sizes), guarantee.rho
        ceiling = rho + 2
        while cost(ceiling) <= rho:
            ceiling *= 2
        return largest(lambda epsilon: cost(epsilon) <= rho, ceiling)
    raise RefusedMechanismError(
        "mechanism",
        "suit the guarantee",
        f"K-norm noise for {guarantee}",
        "Ask for delta=0, or use mechanism='gaussian' or, for one block, mechanism='knorm'.",
    )


def block_rho(block_sizes: Sequence[int]) -> Callable[[Fraction], Fraction]:
    """What a pure epsilon of these blocks costs in zero-concentrated terms.

    Blocks of size one are product Laplace noise, whose cost is epsilon + exp(-epsilon) - 1; other
    blocks are charged as any pure mechanism.
    """
    return laplace_rho if set(block_sizes) == {1} else pure_rho
