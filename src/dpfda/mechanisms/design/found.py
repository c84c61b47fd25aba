"""Bounds for a mean from a noisy histogram of extremes: post-processing and public numbers alone."""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpfda.mechanisms.design.radii import line_error
from dpfda.numerics.arrays import Floats

# Edges of cells, in halves of the chosen interval from its middle; beyond the last each is twice as far.
NEAR = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0)
# Where few units are enough to be seen, each of these up to four halves is cut into so many.
FINER, FINE_CELLS = 4, 7
# Candidates for each bound: distances from the middle, in halves of the interval.
DISTANCES = 2.0 ** (np.arange(-12, 136) / 8)
# Tails are taken to be Weibull, with one of these exponents and so many shares on a side.
EXPONENTS, SIDES = (0.7, 1.0, 1.5, 2.5, 4.0, 8.0), 10
# Where Laplace noise on a share has a smaller scale than this, cells are taken as they are counted.
CLEAR = 0.0045
# Cells with a share of so many scales are there, of more by so many for every doubling of distance, as
# noise that is taken for values does more harm there; the next has a scale for what is hidden.
SEEN, FARTHER, HIDDEN = 5.0, 1.0, 1.0
# Of cells that were cut, those of one before count together, or one alone with so many scales more.
ALONE = 1.0
# What clipping moves at a point, in the root mean square, over the average excess of a unit's extremes.
MOVED = 0.3


def search_edges(ends: tuple[float, float], middle: float, half: float, finer: int = 1) -> Floats:
    """Public edges of cells around an interval, finer near it, within the ends of the range.

    finer: Into how many parts cells near the interval are cut.
    """
    places = np.array(
        [*np.arange(FINE_CELLS * finer) / finer, *range(FINE_CELLS, len(NEAR))], dtype=float
    )
    (low, high), near = ends, np.interp(places, np.arange(len(NEAR)), NEAR)
    doublings = np.arange(1, 2 + max(0, int(np.ceil(np.log2((high - low) / (half * NEAR[-1]))))))
    apart = half * np.append(near, near[-1] * 2.0**doublings)
    inner = np.concatenate([middle - apart, middle + apart])
    kept = (low + half / 8 < inner) & (inner < high - half / 8)
    return np.unique(np.concatenate([[low], inner[kept], [high]]))


def found_bounds(
    edges: Floats, shares: Floats, scale: float, strength: float, middle: float, half: float
) -> tuple[float, float]:
    """The bounds of least expected error: of noise in proportion to their distance, and of clipping.

    edges: array (K + 1,). Of `search_edges`.
    shares: array (K,). Of the units' lowest and highest values in each cell, with Laplace noise.
    scale: Of that noise.
    strength: n epsilon of the mean between the bounds.
    middle, half: Of the interval around which edges lie.
    """
    place, sides = int(np.argmin(np.abs(edges - middle))), []
    for apart, counted in (
        (middle - edges[place::-1], shares[:place][::-1]),
        (edges[place:] - middle, shares[place:]),
    ):
        reach = apart[-1]
        at = np.append(half * DISTANCES[half * DISTANCES < reach], reach)
        moved = np.zeros(at.size)
        if counted.size:
            moved = _counted(apart / half, counted, scale, at / half)
            if scale >= CLEAR:
                moved = np.maximum(moved, _likely(apart / half, counted, scale, at / half))
        # Nothing is searched beyond the range.
        sides.append((at, np.append(moved[:-1], 0.0) * half**2))
    (below, lower), (above, upper) = sides
    width = below[:, None] + above
    errors = (width * line_error(strength)) ** 2 + MOVED**2 * (lower[:, None] + upper)
    one, other = np.unravel_index(int(np.argmin(errors)), errors.shape)
    return float(max(edges[0], middle - below[one])), float(min(edges[-1], middle + above[other]))


def _counted(apart: Floats, shares: Floats, scale: float, at: Floats) -> Floats:
    """Squared average of what is cut off at each distance (D,), from cells as they were counted."""
    low, high, cut = apart[:-1], apart[1:], at[:, None]
    beyond = NEAR[-1] * 2.0 ** np.arange(1, 128)
    group = np.searchsorted(np.append(NEAR, beyond), (low + high) / 2)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    ends = np.append(starts[1:], shares.size)
    needed = (SEEN + FARTHER * np.log2(np.maximum(low[starts], 1.0))) * scale
    together = np.add.reduceat(shares, starts) > needed * np.sqrt(ends - starts)
    alone = np.maximum.reduceat(shares, starts) > needed + ALONE * scale
    seen = np.flatnonzero(together | alone)
    last = int(seen[-1]) if seen.size else -1
    kept = np.where(np.arange(shares.size) < (ends[last] if seen.size else 0), shares, 0.0)
    if last + 1 < ends.size:
        # Noise hides more of what lies in several cells.
        following = slice(starts[last + 1], ends[last + 1])
        kept[following] += HIDDEN * scale / math.sqrt(ends[last + 1] - starts[last + 1])
    within = np.maximum(high - np.maximum(low, cut), 0.0) ** 2 / (2 * (high - low))
    excess = np.where(cut < low, (low + high) / 2 - cut, within) @ kept
    return np.asarray(np.maximum(excess, 0.0) ** 2)


def _likely(apart: Floats, shares: Floats, scale: float, at: Floats) -> Floats:
    """The same where noise hides much: averaged over Weibull tails, by how well they explain cells."""
    sizes = 2.0 ** np.arange(-2, np.log2(apart[-1]) + 0.01, 0.25)
    grids = np.meshgrid(sizes, EXPONENTS, np.linspace(0.0, 0.9, SIDES), indexing="ij")
    size, power, part = (grid.reshape(-1, 1) for grid in grids)
    beyond = np.exp(-((apart / size) ** power))
    beyond[:, -1] = 0.0
    logs = -np.abs(part * -np.diff(beyond) - shares).sum(axis=1) / scale
    weights = np.exp(logs - logs.max())
    kept = weights > 1e-4
    size, power, part = size[kept], power[kept], part[kept]
    root = 1 / power
    excess = part * size * root * scipy.special.gamma(root)
    excess = excess * scipy.special.gammaincc(root, (at / size) ** power)
    return np.asarray(weights[kept] @ excess**2 / weights[kept].sum())
