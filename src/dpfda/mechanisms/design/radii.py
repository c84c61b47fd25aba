"""A clipping radius, or bounds, from noisy counts of units by length or extremes: post-processing."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from dpfda.mechanisms.design.lines import number_of_cells
from dpfda.numerics.arrays import Floats
from dpfda.numerics.specials import normal_chance, normal_quantile
from dpfda.numerics.speed import remembered

# Candidates for the radius: those of the bound over powers of 2^(1/2).
CANDIDATES = 11
# A power of lengths is normal, or their logarithms, with one of these deviations in shares of its middle
# (Box & Cox 1964), at so many points.
QUANTILES = 64
POWERS, SPREADS = (0.0, 1 / 3, 2 / 3, 1.0), (0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
# No such law is exact: by such a share of the units it may miss each count.
MISFIT = 0.02
# Some units may have no length to speak of: the others are one of these shares, if these explain counts
# better although each is so much less likely.
PRESENT, LESS_LIKELY = 2.0 ** (-np.arange(11) / 2), 0.006
# About what the default line between bounds misses, in shares of their distance: so many times n epsilon
# to minus this power.
MISSED, POWER = 0.9, 0.72
# What clipping may move at a point, of the average excess of residuals over the radius: in releases of
# earlier versions; and as it is expected before it is measured, with so much of the doubt. Parts above
# and below, and at different points, do not add up: of real curves it is a tenth or less in the median.
MOVED = 0.25
TRIED, DOUBTED = 0.3, 0.25
# From the largest residuals on, counts of up to so many scales of their noise are none.
NONE = 2.0
# A try is worth its price where the error that it promises is so much of the one without.
WORTH = 0.93
# Share of the budget for it at n epsilon of 20,000.
TRY = 0.06
# Of the budget for the rough line, at n epsilon of 5,000: residuals are as much longer as it misses.
ROUGH = 0.04


def candidate_radii(radius: float) -> Floats:
    """Public candidates (CANDIDATES,) for the clipping radius, decreasing from that of the bound."""
    return np.asarray(radius * 2.0 ** (-np.arange(CANDIDATES) / 2))


def typical_length(
    radii: Floats, counts: Floats, deviation: float, size: int, shorter: int = 0
) -> tuple[float, float]:
    """Root mean square of lengths, of units that have one, and their share, from noisy counts.

    Powers of lengths are taken to be normal, or their logarithms; power, place and width are weighed by
    how well they explain the noisy counts. Where these are explained better with units beside that have
    no length, as curves that are mostly zero, those do not count.

    radii: array (C,). Decreasing.
    counts: array (C,). Noisy numbers of units whose length is above the next candidate (and at most this
        one, but for the first).
    deviation: Standard deviation of a count's noise.
    size: Number of units, or public divisor.
    shorter: By how many powers of the root of two the places reach below the least candidate.
    """
    chances, squares = _length_laws(radii, shorter)
    doubt = math.hypot(deviation, MISFIT * size)
    logs = -np.abs(counts[:, None] - size * chances).sum(axis=0) * math.sqrt(2) / doubt
    weights = np.exp(logs - logs.max()).reshape(PRESENT.size, -1)
    everyone, some = weights[0].sum(), LESS_LIKELY * weights[1:].sum()
    # One or the other: a mean of both would be far from either.
    likely = slice(1, None) if some > everyone else slice(0, 1)
    weights = weights[likely] / weights[likely].sum()
    square = weights.sum(axis=0) @ squares
    return float(radii[0]) * math.sqrt(square), float(PRESENT[likely] @ weights.sum(axis=1))


@remembered(4)
def _length_laws(radii: Floats, shorter: int) -> tuple[Floats, Floats]:
    """Chances (C, P L) of each bin under L laws, for each share of units; and mean squares (L,)."""
    # Relative to the largest, so that no square overflows.
    least = np.log(radii[-1] / radii[0]) - shorter * math.log(2) / 2
    places = np.linspace(least, 0.0, 4 * (radii.size + shorter) - 3)
    ratios = np.log(radii[1:, None] / radii[0]) - places
    above, squares = list[Floats](), list[Floats]()
    equal = np.asarray(normal_quantile((np.arange(QUANTILES) + 0.5) / QUANTILES))
    for power, spread in product(POWERS, SPREADS):
        raised = np.expm1(power * ratios) / power if power else ratios
        above.append(normal_chance(-raised / spread))
        points = spread * equal
        shape = np.maximum(1 + power * points, 0.0) ** (1 / power) if power else np.exp(points)
        squares.append(np.exp(2 * places) * np.mean(shape**2))
    law = np.hstack(above)
    laws = np.hstack([share * law for share in PRESENT])
    ends = np.zeros((1, laws.shape[1]))
    return np.diff(np.vstack([ends, laws, ends + 1]), axis=0), np.concatenate(squares)


def line_error(strength: float, share: float = 1.0) -> float:
    """About what the default line misses for n epsilon = `strength`, of bounds a share as wide."""
    return float(MISSED * (share / strength) ** POWER)


def moved_at_most(radii: Floats, shares: Floats, deviation: float) -> Floats:
    """How far clipping residuals at each radius (C,) may move a mean at a point, from a noisy histogram.

    A residual in the bin between two candidates counts with its middle. What noise may hide of the
    average excess is added in the square.

    radii: array (C,). Decreasing.
    shares: array (C,). Of the units, with noise: above the next candidate, and at most this one but for
        the first.
    deviation: Of the noise in a share.
    """
    return np.asarray(MOVED * np.hypot(*excesses(radii, shares, deviation)))


def excesses(
    radii: Floats, shares: Floats, deviation: float, at: Floats | None = None
) -> tuple[Floats, Floats]:
    """Average excess of residuals over each radius (C,), and what noise may hide of it, as above.

    at: array (R,). Radii over which it is; of a bin that one cuts, by default of none, in proportion.
    """
    over, least = (radii if at is None else at)[:, None], np.append(radii[1:], 0.0)
    cut = np.maximum(radii - over, 0.0) ** 2 / (2 * (radii - least))
    above = np.where(least >= over, (radii + least) / 2 - over, cut)
    return np.maximum(above @ shares, 0.0), deviation * np.sqrt(np.sum(above**2, axis=1))


def residual_radius(
    radii: Floats, shares: Floats, deviation: float, strengths: tuple[float, float], rough: float
) -> float:
    """At which radius it is worth a try to clip residuals from a rough line; the largest where at none.

    That of least expected error, of the edges of the bins and one between each two. Clipping is taken
    to move a mean by three tenths of the average excess, as the try will tell, and a quarter of what
    noise hides of it is added in the square. The largest residuals are taken to be those of the first
    bin whose count is more than noise.

    radii, shares, deviation: As of `moved_at_most`; radii in shares of the distance between the bounds,
        the first one half.
    strengths: n epsilon of the second look, without a try and after it.
    rough: That of the rough line: residuals cannot be shorter than what it misses.
    """
    untried, tried = strengths
    seen = np.append(shares > NONE * deviation / math.sqrt(2), True)
    within = np.where(np.arange(shares.size) < np.argmax(seen), 0.0, shares)
    between = np.sqrt(radii[1:] * radii[:-1])
    at = np.append(np.column_stack([radii[:-1], between]), radii[-1])
    excess, doubt = excesses(radii, within, deviation, at)
    noise = np.array([line_error(tried, 2 * radius) for radius in at])
    errors = np.hypot(noise, TRIED * np.hypot(excess, DOUBTED * doubt))
    errors[at < line_error(rough)] = np.inf
    errors[0] = WORTH * line_error(untried)
    return float(at[np.argmin(errors)])


def share_of_rough(strength: float) -> float:
    """Of the budget, for the rough line: less for a larger n epsilon."""
    return float(min(max(ROUGH * (5_000 / strength) ** 0.5, ROUGH / 4), ROUGH))


def share_of_try(strength: float) -> float:
    """Of the second look's budget, for a try of a radius: less for a larger n epsilon."""
    return float(min(max(TRY * (20_000 / strength) ** 0.2, TRY / 3), 2 * TRY))


# Edges of cells, in halves of the chosen interval from its middle; beyond the last each is twice as far.
NEAR = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0)
# Where few units are enough to be seen, each of these up to four halves is cut into so many, or half.
FINER, FINE_CELLS = 4, 7
# Around a line between bounds cells are powers of the root of two in so many octaves, in so many outer
# ones of its root where units are many; the bounds are so many halves apart, and no candidate is nearer
# than the narrowest cells.
OCTAVES, OUTER, HALVES = 5, 2, 16
# Candidates for each bound: distances from the middle, in halves of the interval.
DISTANCES = 2.0 ** (np.arange(-12, 136) / 8)
# Tails are generalized Pareto from one half on, with one of these shapes; no share of a cell is told
# better than to so much of it. How likely a tail is falls with these powers of its size and its share.
SHAPES, NEARLY, UNLIKE = (-1.0, -0.5, 0.01, 0.25, 0.5, 0.75), 0.999, 0.2
FAR, FAR_APART, LARGE = 3.0, 0.0, 1.5
# Cells with a share of so many scales are there, of more by so many for every doubling of distance, as
# noise that is taken for values does more harm there; the next has a scale for what is hidden.
SEEN, FARTHER, HIDDEN = 5.0, 1.0, 1.0
# Of cells that were cut, those of one before count together, or one alone with so many scales more.
ALONE = 1.0
# What clipping moves at a point, in the root mean square, over the average excess of a unit's extremes:
# so much at 50 points. It falls with their root, as curves are at their extremes in a smaller part of
# many, and is between the other two.
MOVED_BETWEEN, MOVED_LEAST, MOVED_MOST = 0.45, 0.22, 0.75
# Around a line parts above and below do not add up, as in two looks; and noise that is taken for values
# does little harm, as no cell is far.
MOVED_APART, SEEN_APART = 0.25, 4.0
# Beyond bounds the band allows for cells of so many scales, of more by so many for every doubling of
# their distance, and for those that begin so near.
CLEAR, CLEAR_FARTHER, CLOSE = 4.0, 0.5, 2.0
# What the default line between close bounds misses, in shares of their distance: noise on its cells,
# less what smoothing takes where they are many. Fitted to what plans expect over ordinary curves.
NOISY, SMOOTHED, FALLING = 0.59, 0.46, 0.79


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
    inside = (low + half / 8 < inner) & (inner < high - half / 8)
    return np.unique(np.concatenate([[low], inner[inside], [high]]))


def found_bounds(
    edges: Floats, shares: Floats, scale: float, line: tuple[int, float], middle: float, half: float
) -> tuple[float, float]:
    """The bounds of least expected error: of noise in proportion to their distance, and of clipping.

    edges: array (K + 1,). Of `search_edges`.
    shares: array (K,). Of the units' lowest and highest values in each cell, with Laplace noise.
    scale: Of that noise.
    line: Number of points, and n epsilon, of the mean between the bounds.
    middle, half: Of the interval around which edges lie.
    """
    (below, lower), (above, upper) = _reached(edges - middle, shares, scale, half, (SEEN, FARTHER), FAR)
    at_points = float(np.clip(MOVED_BETWEEN * math.sqrt(50 / line[0]), MOVED_LEAST, MOVED_MOST))
    down, up = _least_error((below, lower), (above, upper), line, at_points)
    return float(max(edges[0], middle - below[down])), float(min(edges[-1], middle + above[up]))


def line_edges(line: Floats, ends: tuple[float, float], finer: bool = True) -> Floats:
    """Public edges of cells for distances from a line (m,) between bounds, down to a 32nd on a side.

    finer: Whether outer ones are.
    """
    (low, high), outer = ends, OUTER if finer else 0
    powers = 2.0 ** np.append(np.arange(-2 * OCTAVES, -2 * outer) / 2, np.arange(-4 * outer, 1) / 4)
    below, above = (max(float(np.max(side)), (high - low) / 64) for side in (line - low, high - line))
    return np.concatenate([-below * powers[::-1], [0.0], above * powers])


def found_reaches(
    edges: Floats, shares: Floats, scale: float, line: tuple[int, float], rooms: tuple[Floats, Floats]
) -> tuple[float, float]:
    """How far below and above a rough line records are held: of least expected error as above.

    edges, shares, scale, line: As of `found_bounds`, of distances from the line: edges of `line_edges`.
    rooms: arrays (m,). From the line to the bounds between which it lies: farther nothing is held.
    """
    half = float(np.mean(rooms[0] + rooms[1])) / HALVES
    (below, lower), (above, upper) = _reached(
        edges, shares, scale, half, (SEEN_APART, 0.0), FAR_APART, 2.0**-1.5
    )
    widths = [
        np.minimum(at[:, None], room).mean(axis=1)
        for at, room in zip((below, above), rooms, strict=True)
    ]
    down, up = _least_error((widths[0], lower), (widths[1], upper), line, MOVED_APART)
    return float(below[down]), float(above[up])


def _reached(
    apart: Floats,
    shares: Floats,
    scale: float,
    half: float,
    seen: tuple[float, float],
    unlikely: float,
    nearer: float = 1.0,
) -> list[tuple[Floats, Floats]]:
    """On either side distances (D,), and the squared average (D,) of what is beyond each of them."""
    sides = list[tuple[Floats, Floats]]()
    for edges, counted in _outwards(apart, shares):
        reach = edges[-1]
        tried = half * nearer * DISTANCES
        at = np.append(tried[tried < reach], reach)
        moved = np.zeros(at.size)
        if counted.size:
            moved = _counted(edges / half, counted, scale, at / half, *seen)
            moved = np.maximum(moved, _tails(edges / half, counted, scale, at / half, unlikely))
        # Nothing is searched beyond the last edge.
        sides.append((at, np.append(moved[:-1], 0.0) * half**2))
    return sides


def _outwards(apart: Floats, shares: Floats) -> list[tuple[Floats, Floats]]:
    """Edges from the middle out, and shares between them, below and above."""
    place = int(np.argmin(np.abs(apart)))
    return [(-apart[place::-1], shares[:place][::-1]), (apart[place:], shares[place:])]


def _least_error(
    below: tuple[Floats, Floats], above: tuple[Floats, Floats], line: tuple[int, float], moved: float
) -> tuple[int, int]:
    """Which of the widths on either side have the least error, of noise and of what is cut off.

    moved: What clipping moves at a point, over the average excess.
    """
    width = below[0][:, None] + above[0]
    errors = (width * missed_between(*line)) ** 2 + moved**2 * (below[1][:, None] + above[1])
    down, up = np.unravel_index(int(np.argmin(errors)), errors.shape)
    return int(down), int(up)


def missed_between(points: int, strength: float) -> float:
    """About what the default line misses between bounds that hold no more than its records' range."""
    cells = number_of_cells(points, strength)
    return NOISY * cells / strength / (1 + SMOOTHED * math.pow(cells**2 / strength, FALLING))


def _counted(
    apart: Floats, shares: Floats, scale: float, at: Floats, seen: float, farther: float
) -> Floats:
    """Squared average of what is cut off at each distance (D,), from cells as they were counted."""
    low, high, cut = apart[:-1], apart[1:], at[:, None]
    beyond = NEAR[-1] * 2.0 ** np.arange(1, 128)
    group = np.searchsorted(np.append(NEAR, beyond), (low + high) / 2)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    ends = np.append(starts[1:], shares.size)
    needed = (seen + farther * np.log2(np.maximum(low[starts], 1.0))) * scale
    together = np.add.reduceat(shares, starts) > needed * np.sqrt(ends - starts)
    alone = np.maximum.reduceat(shares, starts) > needed + ALONE * scale
    there = np.flatnonzero(together | alone)
    last = int(there[-1]) if there.size else -1
    counted = np.where(np.arange(shares.size) < (ends[last] if there.size else 0), shares, 0.0)
    if last + 1 < ends.size:
        # Noise hides more of what lies in several cells.
        following = slice(starts[last + 1], ends[last + 1])
        counted[following] += HIDDEN * scale / math.sqrt(ends[last + 1] - starts[last + 1])
    return np.asarray(np.maximum(_excess(low, high, cut) @ counted, 0.0) ** 2)


def _excess(low: Floats, high: Floats, cut: Floats | float) -> Floats:
    """Average distance beyond a cut of what lies in cells, in each of them evenly or at one place.

    The mean of both: if all of a cell is at one place, it is the root mean square over where that is.
    """
    within = np.maximum(high - np.maximum(low, cut), 0.0)
    cell = high - low
    parted = (within**2 / (2 * cell) + np.sqrt(within**3 / (3 * cell))) / 2
    return np.where(cut < low, (low + high) / 2 - cut, parted)


def moved_by_cutting(
    edges: Floats, shares: Floats, scale: float, ends: tuple[float, float]
) -> tuple[float, float]:
    """How far cutting units at `ends` moves a mean at a point, down and up, from a noisy histogram.

    As much as the average excess of the points, of which a unit has two: so half of what it moves at
    most. And what noise hides of it.

    edges, shares, scale: As of `found_bounds`.
    """
    moved = list[float]()
    for at, share, end in ((-edges[::-1], shares[::-1], -ends[0]), (edges, shares, ends[1])):
        excess = _excess(at[:-1], at[1:], end)
        doubt = scale * math.sqrt(2) * float(np.linalg.norm(excess))
        moved.append(max(float(excess @ share), 0.0) + doubt)
    return moved[0], moved[1]


def moved_by_bounds(
    edges: Floats, shares: Floats, scale: float, ends: tuple[float, float], middle: float, half: float
) -> tuple[float, float]:
    """The same where cells reach so far that noise on them would be taken for values.

    Twice the average excess of the points, so all that it can move, over the tails that explain the
    counts; and what cells tell that are clear. Or what the nearest cells tell and noise hides of it,
    where that is more. Parameters are those of `found_bounds`.
    """
    moved, apart = list[float](), (edges - middle) / half
    cuts = (middle - ends[0]) / half, (ends[1] - middle) / half
    for (at, counted), cut in zip(_outwards(apart, shares), cuts, strict=True):
        needed = (CLEAR + CLEAR_FARTHER * np.log2(np.maximum(at[:-1], 1.0))) * scale
        beyond = _excess(at[:-1], at[1:], cut)
        near = np.where(at[:-1] < max(cut, CLOSE), beyond, 0.0)
        doubt = scale * math.sqrt(2) * float(np.linalg.norm(near))
        weights, parts, excess = _tail_laws(at, counted, scale, np.array([cut]), FAR)
        in_tails = float(weights @ parts @ excess[:, 0]) if weights.size else 0.0
        seen = float(beyond @ np.where(counted > needed, counted, 0.0))
        moved.append(half * max(2 * in_tails + seen, max(float(near @ counted), 0.0) + doubt))
    return moved[0], moved[1]


def _tails(apart: Floats, shares: Floats, scale: float, at: Floats, unlikely: float) -> Floats:
    """The same of what lies in the tail, where noise hides much: a power mean over Pareto tails."""
    weights, parts, excess = _tail_laws(apart, shares, scale, at, unlikely)
    if not weights.size:
        return np.zeros(at.size)
    return np.asarray((weights @ np.sqrt(parts) @ np.sqrt(excess)) ** 4)


def _tail_laws(
    apart: Floats, shares: Floats, scale: float, at: Floats, unlikely: float
) -> tuple[Floats, Floats, Floats]:
    """Pareto tails: weights (J, P), shares of the units (P,), average excess over distances (J, D).

    Each is weighed by how well it explains cells from one half on, and less where it is far or large.
    Nothing where there are no such cells.
    """
    apart, shares = apart[apart >= NEARLY], shares[apart[:-1] >= NEARLY]
    if not shares.size:
        return np.zeros((0, 0)), np.zeros(0), np.zeros((0, at.size))
    sizes = 2.0 ** np.arange(-2, np.log2(apart[-1]) + 0.01, 0.5)
    size, shape = (grid.reshape(-1, 1) for grid in np.meshgrid(sizes, SHAPES, indexing="ij"))
    parts = scale * 2.0 ** np.arange(-2, max(np.log2(0.6 / scale), 0.0) + 0.01, 0.5)

    def beyond(far: Floats) -> Floats:
        return np.asarray(np.maximum(1 + shape * far / size, 0.0) ** (-1 / shape))

    chances = -np.diff(beyond(apart - apart[0]))
    chances[:, -1] = 1 - chances[:, :-1].sum(axis=1)
    expected = parts[:, None] * chances[:, None]
    doubt = np.hypot(1.0, UNLIKE * expected / scale)
    logs = -(np.abs(expected - shares) / (scale * doubt) + np.log(doubt)).sum(axis=2)
    logs -= unlikely * np.log(np.maximum(size, 1.0)) + LARGE * np.log(parts / scale)
    weights = np.exp(logs - logs.max())
    far = np.maximum(at - apart[0], 0.0)
    excess = beyond(far) * np.maximum(size + shape * far, 0.0) / (1 - shape)
    excess += np.maximum(apart[0] - at, 0.0)
    return weights / weights.sum(), parts, excess
