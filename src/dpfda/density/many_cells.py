"""What smoothing of very many cells does at single points, by transforms: no matrix of all cells.

A smooth function at x answers to the shares of cells through r(c) = sum_j g_j phi_j(c): phi_j are the
cosines at the midpoints of the m cells, and g_j is the sum of factor times value at x over the functions
that look like phi_j there. Noise in the shares, independent and of variance v in each, gives the value
at x the variance v m sum_j g_j^2, exactly.

**Blocks.** To know the law of the errors and not their variance alone, noise is simulated: not on the
cells, but its sums over blocks of neighbouring cells, whose law is known. Averaged over a block of B
cells phi_j is d_j phi_j at the block's middle, d_j = sin(B t / 2) / (B sin(t / 2)) with t = pi j / m. So
what the sums over blocks do to the value at x is known too, and that part has the variance v m sum h^2,
with h the d_j g_j of functions that look alike at the middles of blocks, added up with their signs.
Blocks are as large as may be where the rest has less than a 200th of the variance, on average over x;
the errors are then brought to their exact variance at each point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import scipy

from dpfda.bases.cells import CellGrid, aliases, analyse, gathered, synthesise
from dpfda.estimates.histospline import Smoother, over_families
from dpfda.numerics.arrays import Floats

# Share of the variance that simulated errors may lack, before they are brought to it.
LACKING = 1 / 200
# Angles of cosines are split into multiples of so many and the rest.
SPLIT = 1024
# Times fewer nodes than there may be: so few are taken where they divide the cells, and no fewer.
FEWER = 4


def cosine_sums(coefficients: Floats, position: Floats) -> Floats:
    """Values (q,) of a cosine sum (K,) at positions in [0, 1], by the addition theorem."""
    high = -(-coefficients.size // SPLIT)
    table = np.zeros((high, SPLIT))
    table.flat[: coefficients.size] = coefficients * math.sqrt(2.0)
    table[0, 0] = coefficients[0]
    steps = np.arange(SPLIT), SPLIT * np.arange(high)
    low, far = (np.pi * np.outer(position, step) for step in steps)
    along = np.sum(np.cos(far) * (np.cos(low) @ table.T), axis=1)
    return np.asarray(along - np.sum(np.sin(far) * (np.sin(low) @ table.T), axis=1))


def cosine_values(count: int, position: float) -> Floats:
    """Values (count,) of 1, 2^(1/2) cos(pi k t) at one position, by the addition theorem."""
    steps = np.arange(SPLIT), SPLIT * np.arange(-(-count // SPLIT))
    low, far = (np.pi * position * step for step in steps)
    values = np.multiply.outer(np.cos(far), np.cos(low))
    values -= np.multiply.outer(np.sin(far), np.sin(low))
    values *= math.sqrt(2.0)
    values[0, 0] = 1.0
    return np.asarray(values.ravel()[:count])


def edge_values(coefficients: Floats) -> Floats:
    """Values (m + 1,) of a sum of m cosine functions at the edges of m equal cells."""
    terms = np.append(coefficients / math.sqrt(2.0), 0.0)
    terms[0] = coefficients[0]
    return np.asarray(scipy.fft.dct(terms, type=1, workers=1))


def averaging(smoother: Smoother) -> Floats:
    """What averaging over a cell leaves of each function, in the shape of the modes."""
    axes = zip(smoother.modes, smoother.cells.shape, strict=True)
    return _outer([np.sinc(np.arange(count) / (2 * seen)) for count, seen in axes])


def variances_at(smoother: Smoother, position: Floats) -> Floats:
    """Sums (q,) of squares, over the cells, of what each does to the value at positions (q, d)."""
    squares = [np.sum(_families(smoother, at, None) ** 2) for at in position]
    return np.array(squares) * smoother.cells.size


def blocks_for(smoother: Smoother, most: Sequence[int] | None = None) -> tuple[int, ...]:
    """Cells along each axis in the blocks over which noise is added up.

    Parameters
    ----------
    smoother : Smoother
        On equal cells.
    most : sequence of d int, optional
        Blocks are parts of blocks of so many cells.
    """
    shape = smoother.cells.shape
    squares = smoother.factors**2
    squares[(0,) * squares.ndim] = 0.0
    energy = over_families(squares, smoother.cells)
    if not energy.sum() > 0:
        return tuple(most or shape)
    blocks = []
    for axis, cells in enumerate(shape):
        others = tuple(i for i in range(len(shape)) if i != axis)
        share = energy.sum(axis=others) / energy.sum()
        divisors = _divisors(cells if most is None else most[axis])
        # Sums over blocks have so much of the variance.
        least = 1 - LACKING / len(shape)
        blocks.append(next(b for b in divisors if share @ _damped(share.size, b) ** 2 >= least))
    return tuple(blocks)


def block_response(
    smoother: Smoother, position: Floats, blocks: Sequence[int], damping: Floats | None = None
) -> Floats:
    """Matrix (q, blocks): values at positions (q, d) for a unit of each block's sum of shares.

    Without the constant function, whose coefficient is known; of the variance that single cells give.

    Parameters
    ----------
    smoother : Smoother
        On equal cells.
    position : array (q, d)
    blocks : sequence of d int
        Cells along each axis of a block.
    damping : array in the shape of the modes, optional
        What is left of each function.
    """
    shape = [cells // block for cells, block in zip(smoother.cells.shape, blocks, strict=True)]
    rows = np.empty((len(position), math.prod(shape)))
    axes = zip(smoother.cells.shape, blocks, strict=True)
    damped = _outer([_damped(cells, block) for cells, block in axes])
    for row, at in zip(rows, position, strict=True):
        values = _families(smoother, at, damping)
        folded = values * damped
        for axis, count in enumerate(shape):
            folded = np.moveaxis(gathered(np.moveaxis(folded, axis, 0), count), 0, axis)
        shown, total = np.sum(folded**2), np.sum(values**2)
        row[:] = synthesise(folded, shape).ravel() * (math.sqrt(total / shown) if shown > 0 else 0.0)
    return rows


def errors_on_nodes(smoother: Smoother, sums: Floats, blocks: Sequence[int], nodes: int) -> Floats:
    """Values (nodes,) at the midpoints of equal parts of an interval for sums of shares over blocks."""
    cells, (block,) = smoother.cells.size, blocks
    count = cells // block
    seen = scipy.fft.dct(sums, norm="ortho", workers=1) * math.sqrt(count)
    like, _ = aliases(cells, count)
    coefficients = smoother.factors * _damped(cells, block) * np.append(seen, 0.0)[like]
    coefficients[0] = 0.0
    return np.asarray(synthesise(coefficients, (nodes,)))


def block_lines(
    smoother: Smoother, axis: int, waves: Floats, blocks: Sequence[int]
) -> Callable[[Floats], Floats]:
    """What sums over blocks, in the shape of these, do to coefficients (L, K) along lines of a plane.

    Parameters
    ----------
    smoother : Smoother
        On equal cells of a rectangle.
    axis : {0, 1}
        Number of the variable that has a value on each line.
    waves : array (L, J)
        That variable's functions at these values.
    blocks : (int, int)
        Cells along each axis of a block.
    """
    (near, far), (block, other) = smoother.cells.shape, blocks
    if axis:
        near, far, block, other = far, near, other, block
    factors = np.moveaxis(smoother.factors, axis, 0)
    damped = _damped(near, block)[:, None]
    folded = np.empty((len(waves), near // block, factors.shape[1]))
    for line, wave in zip(folded, waves, strict=True):
        weighted = factors * wave[:, None]
        weighted[0, 0] -= factors[0, 0] * wave[0]
        line[:] = gathered(gathered(weighted, near) * damped, near // block)
    like = aliases(factors.shape[1], far)[0] % far
    place, damping = aliases(far, far // other)[0][like], _damped(far, other)[like]
    folded *= np.where(place < far // other, damping, 0.0)
    place = place % (far // other)

    def lines(sums: Floats) -> Floats:
        seen = np.moveaxis(analyse(sums * sums.size), axis, 0)
        return np.asarray(np.einsum("lik,ik->lk", folded, seen[:, place]))

    return lines


def nodes_of(cells: CellGrid, most: int) -> int:
    """Largest part of the number of cells of an interval that is at most `most`; that, if it is few."""
    largest = cells.size // next(b for b in _divisors(cells.size)[::-1] if cells.size // b <= most)
    return largest if largest >= most // FEWER else min(most, cells.size)


def within_nodes(cells: CellGrid, nodes: int) -> int:
    """Most cells of an interval in equal blocks that are no larger than the parts around nodes."""
    return next(b for b in _divisors(cells.size) if b * nodes <= cells.size)


def _families(smoother: Smoother, at: Floats, damping: Floats | None) -> Floats:
    """What (in the shape of the cells) a value at one position takes of each family's observation."""
    values = _outer([cosine_values(count, t) for count, t in zip(smoother.modes, at, strict=True)])
    values *= smoother.factors
    if damping is not None:
        values *= damping
    values[(0,) * values.ndim] = 0.0
    return over_families(values, smoother.cells)


def _damped(cells: int, block: int) -> Floats:
    """Averages of functions over a block, in values at its middle of those that they look like."""
    half = np.pi * np.arange(cells) / (2 * cells)
    with np.errstate(invalid="ignore"):
        averages = np.sin(block * half) / (block * np.sin(half))
    averages[0] = 1.0
    return np.asarray(averages * aliases(cells, cells // block)[1])


def _divisors(number: int) -> list[int]:
    """All of them, the largest first."""
    low = [k for k in range(1, math.isqrt(number) + 1) if number % k == 0]
    return sorted({*low, *(number // k for k in low)}, reverse=True)


def _outer(axes: list[Floats]) -> Floats:
    return np.asarray(reduce(np.multiply.outer, axes))
