"""What noisy tables of scores by outcome say: consistent numbers, shares, areas and groups of cells.

A table (2, K) has a row for those without the outcome and one for those with it, and K cells of
increasing scores. All here is post-processing of public numbers.
"""

from __future__ import annotations

import numpy as np
import scipy

from dpfda.numerics.arrays import Floats, Integers

# Groups of cells have at least so many deviations of their noise, and a share of all in these.
LEAST, MOST_GROUPS = 10.0, 12


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


def below(table: Floats) -> Floats:
    """Numbers (.., K + 1) below each edge."""
    running = np.cumsum(table, axis=-1)
    return np.concatenate([np.zeros_like(running[..., :1]), running], axis=-1)


def areas(tables: Floats) -> tuple[Floats, Floats]:
    """Areas under the ROC curves of tables (.., 2, K), and how far off they may be by order in cells.

    Of two persons in one cell, one with and one without the outcome, the order is not known: each such
    pair counts as half, and may be none or one.
    """
    without, with_it = tables[..., 0, :], tables[..., 1, :]
    pairs = np.prod(np.maximum(tables.sum(axis=-1), 1.0), axis=-1)
    higher = np.sum(with_it * (below(without)[..., :-1] + without / 2), axis=-1)
    return higher / pairs, np.maximum(np.sum(with_it * without, axis=-1), 0.0) / (2 * pairs)


def share_deviation(
    share: Floats, parts: tuple[Floats, Floats], variance: float, people: Floats | float
) -> Floats:
    """Deviation of (1 - p) a - p b, for the true share p of numbers a and b with noise.

    parts: Over how many cells a and b are summed.
    variance: Of the noise in a cell.
    people: Of how many the share is one of a sample; 0 where it is theirs.
    """
    noise = variance * ((1 - share) ** 2 * parts[0] + share**2 * parts[1])
    return np.asarray(np.sqrt(noise + people * share * (1 - share)))


def share_interval(
    part: Floats,
    rest: Floats,
    parts: tuple[Floats, Floats],
    variance: float,
    people: Floats,
    far: Floats,
) -> tuple[Floats, Floats]:
    """All shares p for which (1 - p) a - p b is at most `far` of its deviations from zero (Fieller).

    It holds for as few people as one likes: where the noise may hide all of them, p is from 0 to 1.
    """
    square = far**2
    whole, noise = part + rest, square * variance
    second = whole**2 - noise * (parts[0] + parts[1]) + square * people
    first = part * whole - noise * parts[0] + square * people / 2
    rooted = np.sqrt(np.maximum(first**2 - second * (part**2 - noise * parts[0]), 0.0))
    known = (second > 0) & (whole > 0)
    safe = np.where(known, second, 1.0)
    lower, upper = (np.clip((first + sign * rooted) / safe, 0.0, 1.0) for sign in (-1, 1))
    return np.where(known, lower, 0.0), np.where(known, upper, 1.0)


def group_starts(table: Floats, deviation: float) -> Integers:
    """First cells of groups of neighbours, each of enough people for the noise in them."""
    people, starts, held = table.sum(axis=0), [0], 0.0
    for cell, more in enumerate(people):
        noise = deviation * np.sqrt(2.0 * (cell - starts[-1]))
        if cell > starts[-1] and held >= max(LEAST * noise, people.sum() / MOST_GROUPS):
            # What is left has to be enough for a group of its own.
            left = deviation * np.sqrt(2.0 * (people.size - cell))
            if people[cell:].sum() < LEAST * left:
                break
            starts.append(cell)
            held = 0.0
        held += more
    return np.array(starts)
