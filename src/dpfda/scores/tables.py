"""What a table (2, K) says, of persons without and with an outcome in K cells of increasing scores.

All here is post-processing of noisy, public numbers.
"""

from __future__ import annotations

import numpy as np
import scipy

from dpfda.numerics.arrays import Floats, Integers

# Groups of cells have at least so many deviations of their noise, and so many of all are there at most.
LEAST, MOST_GROUPS = 10.0, 12
# Places in a cell at which a ROC curve is read off.
STEPS = 16
# Where the ROC curve rises at one rate, it is read off at the top.
STEP = 1e-9
Pair = tuple[Floats, Floats] | Floats


def consistent(counts: Floats) -> Floats:
    """The table with no number below zero: running sums of each row are levelled where they fall.

    A row keeps its sum, or one person where that is less.
    """
    rows = []
    for row in counts:
        total = max(float(row.sum()), 1.0)
        running = np.clip(scipy.optimize.isotonic_regression(np.cumsum(row)).x, 0.0, total)
        running[-1] = total
        rows.append(np.diff(running, prepend=0.0))
    return np.array(rows)


def shares_below(tables: Floats) -> Floats:
    """Shares (.., 2, K + 1) below each edge, of either outcome; of one person where there are fewer."""
    return np.asarray(below(tables) / np.maximum(tables.sum(axis=-1, keepdims=True), 1.0))


def below(tables: Floats) -> Floats:
    """Numbers (.., K + 1) below each edge."""
    running = np.cumsum(tables, axis=-1)
    return np.concatenate([np.zeros_like(running[..., :1]), running], axis=-1)


def between(shares: Floats) -> Floats:
    """Shares (2, K + 1) below each edge, and between edges: smooth, without falling.

    After Fritsch & Carlson (1980). Straight lines between edges would order two persons in one cell by
    chance, and ROC curves are concave.
    """
    edges = np.arange(shares.shape[1], dtype=np.float64)
    places = np.linspace(0.0, edges[-1], STEPS * (edges.size - 1) + 1)
    found = scipy.interpolate.PchipInterpolator(edges, shares, axis=1)(places)
    return np.maximum.accumulate(np.clip(found, 0.0, 1.0), axis=1)


def cell_areas(shares: Floats) -> Floats:
    """Areas (.., q - 1) under a ROC curve from shares (.., 2, q) below increasing scores, part by part.

    Straight between them: two persons in one part are in order as often as not.
    """
    without, with_it = shares[..., 0, :], shares[..., 1, :]
    return np.asarray(np.diff(with_it) * (without[..., 1:] + without[..., :-1]) / 2)


def rates(shares: Floats, at: Floats) -> Floats:
    """True positive rates at false ones, of shares (2, q) below increasing scores."""
    false, true = 1 - shares[:, ::-1]
    false = false + STEP * np.linspace(0, 1, false.size)
    return np.asarray(np.interp(at + STEP, false, true))


def area_of_order(table: Floats) -> float:
    """Deviation of the area of a table (2, K) where orders inside its cells are equally likely."""
    people, pairs = table.sum(axis=0), table.sum(axis=1).prod()
    return float(np.sqrt(np.sum(table.prod(axis=0) * (people + 1)) / 12) / pairs)


def interval(
    part: Floats, rest: Floats, sizes: Pair, variance: float, people: Floats, far: Floats
) -> tuple[Floats, Floats]:
    """Ends of the shares p at which (1 - p) a - p b is at most `far` deviations from zero.

    After Fieller (1954). They hold for as few people as one likes: where noise may hide all of them,
    they are 0 and 1.

    part, rest: Noisy numbers a and b.
    sizes: Over how many cells a and b are sums.
    variance: Of the noise in a cell.
    people: How many the share is that of a sample of; 0 where it is their own.
    """
    square, whole = far**2, part + rest
    second = whole**2 + square * (people - variance * (sizes[0] + sizes[1]))
    first = part * whole + square * (people / 2 - variance * sizes[0])
    root = np.sqrt(np.maximum(first**2 - second * (part**2 - square * variance * sizes[0]), 0.0))
    known = (second > 0) & (whole > 0)
    lower, upper = (np.clip((first + each) / np.where(known, second, 1), 0, 1) for each in (-root, root))
    return np.where(known, lower, 0.0), np.where(known, upper, 1.0)


def share_ends(
    share: Floats, numbers: Pair, errors: Pair, sizes: Pair, variance: float, people: Floats,
    level: float, over: int | tuple[int, ...] | None,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Ends for the shares p = a / (a + b) of numbers, by the law of their errors at estimates of p.

    errors: Draws (draws, ..) of the errors of a and b.
    over: Axes of the draws over which shares are held at once; None for each by itself.
    Further parameters as of `interval`.
    """
    law = variance * ((1 - share) ** 2 * sizes[0] + share**2 * sizes[1]) + people * share * (1 - share)
    off = np.abs((1 - share) * errors[0] - share * errors[1]) / np.sqrt(law)
    largest = off if over is None else off.max(axis=over)
    far = np.quantile(largest, level, axis=0, method="higher")
    lower, upper = interval(numbers[0], numbers[1], sizes, variance, people, far)
    return np.minimum(lower, share), np.maximum(upper, share)


def group_starts(people: Floats, counted: Floats, deviation: float) -> Integers:
    """First cells of groups of neighbours, each of enough people (K,) for the noise in them.

    counted: Variance (K,) of the noise in each cell, over that of one number.
    """
    starts = [0]
    for cell in range(1, people.size):
        parts = slice(starts[-1], cell), slice(cell, None)
        least = [LEAST * deviation * np.sqrt(counted[part].sum()) for part in parts]
        before, after = (people[part].sum() for part in parts)
        if before >= max(least[0], people.sum() / MOST_GROUPS) and after >= least[1]:
            starts.append(cell)
    return np.array(starts)
