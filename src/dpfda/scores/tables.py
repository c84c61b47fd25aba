"""What a table (2, K) says, of persons without and with an outcome in K cells of increasing scores.

All here is post-processing of noisy, public numbers. Of binormal scores, with shares F of those without
and G of those with the outcome below a threshold, G = Phi(a + b Phi^-1(F)): by this law cells are chosen
to count those with the outcome in, and it says where they are within a group of cells.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.specials import normal_quantile

# Groups of cells have at least so many deviations of their noise, and so many of all are there at most.
LEAST, MOST_GROUPS = 10.0, 12
# Places in a cell at which a ROC curve is read off.
STEPS = 16
# Where the ROC curve rises at one rate, it is read off at the top.
STEP = 1e-9
# Areas over which groups are chosen, and what room for orders inside a group costs there, and many with
# the outcome in one, in variances of a person's part in the area: the more, by EVEN, the fewer have no
# outcome, whose cells limit the area then. By which part of its room the order in a group is otherwise
# than the binormal law says, however many persons there are. Chosen on made-up scores.
AREAS, ROOM, MANY, EVEN, OTHERWISE = (0.65, 0.8, 0.92), 0.2, 0.2, 10.0, 0.05
# How far a, the logarithm of b and that of a number lie from 0, 0 and what was counted, before a look;
# and by which share of their number persons in a cell deviate from the binormal law.
SPREADS, MISFIT, FARTHEST = np.array([1.5, 0.25, 2.0]), 0.15, 2.0
# How far from there they are looked for.
REACH = np.array([8.0, 2.0, 4.0])
# No cell is expected to have fewer persons, and no share is nearer to zero and one.
FEWEST, NEAREST = 1e-6, 1e-9
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
    smooth = scipy.interpolate.PchipInterpolator(edges, shares, axis=1)(places)
    return np.maximum.accumulate(np.clip(smooth, 0.0, 1.0), axis=1)


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
    square, total = far**2, part + rest
    second = total**2 + square * (people - variance * (sizes[0] + sizes[1]))
    first = part * total + square * (people / 2 - variance * sizes[0])
    root = np.sqrt(np.maximum(first**2 - second * (part**2 - square * variance * sizes[0]), 0.0))
    some = (second > 0) & (total > 0)
    lower, upper = (np.clip((first + side) / np.where(some, second, 1), 0, 1) for side in (-root, root))
    return np.where(some, lower, 0.0), np.where(some, upper, 1.0)


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


def starts_for(below: Floats, persons: tuple[float, float], variance: float) -> Integers:
    """First of the cells of each group that persons with the outcome are counted in together.

    The groups with the least sum of what each adds to the squared error of the area: its noise; the
    order of persons inside, by chance and by other laws; `ROOM` and `MANY`, for which curves are finer.

    below: Shares (K + 1,), increasing, of those without the outcome below the edges.
    persons: About how many there are without, and with the outcome.
    variance: Of the noise in a group, in persons.
    """
    without, with_it = persons
    unit, cost = variance / with_it**2, np.zeros((below.size, below.size))
    fine = unit + EVEN * variance / without**2
    middle, wide = (below[:, None] + below) / 2, np.maximum(below - below[:, None], 0.0)
    for area in AREAS:
        shares = scipy.special.ndtr(normal_quantile(below) - math.sqrt(2) * scipy.special.ndtri(area))
        high = np.maximum(shares - shares[:, None], 0.0)
        order = (wide * without + high * with_it + 1) / (12 * without * with_it)
        cost += unit * (middle - area) ** 2 + order * wide * high
        cost += fine * high * (ROOM * wide + MANY * high) + (OTHERWISE * wide * high) ** 2
    least, before = np.zeros(below.size), np.zeros(below.size, dtype=np.int64)
    for edge in range(1, below.size):
        sums = least[:edge] + cost[:edge, edge]
        before[edge] = np.argmin(sums)
        least[edge] = sums[before[edge]]
    starts = [int(before[-1])]
    while starts[-1]:
        starts.append(int(before[starts[-1]]))
    return np.array(starts[::-1])


def leaned(below: Floats, counts: Floats, scale: float) -> tuple[Floats, Floats]:
    """A likely binormal curve (a, b), and the likely numbers (M,) of persons in groups, given it.

    Numbers g are taken as normal around those m of the curve, of variance v = m + (m MISFIT)^2, and
    counts y have Laplace noise of scale s. With p, q the weights of noise below and above zero, g is
    m + (v / s) (p - q) / (p + q) on average, and p + q is the likelihood of y up to a factor
    exp(v / 2 s^2) / 2 s. Normal noise is taken for Laplace noise of its variance: a little is lost.

    below: Shares (M + 1,) of those without the outcome below the edges of the groups.
    counts: Noisy numbers (M,) of those with it.
    """
    middle = np.array([0.0, 0.0, math.log(max(float(counts.sum()), scale))])

    def expected(curve: Floats) -> tuple[Floats, Floats]:
        numbers = np.exp(curve[2]) * np.maximum(np.diff(binormal(below, curve)), FEWEST)
        return numbers, numbers + (MISFIT * numbers) ** 2

    def weights(curve: Floats) -> tuple[Floats, Floats]:
        (numbers, variance), sides = expected(curve), np.array([[1.0], [-1.0]])
        off, deviation = sides * (counts - numbers), np.sqrt(variance)
        logs = scipy.special.log_ndtr(off / deviation - deviation / scale) - off / scale
        return logs[0], logs[1]

    def missed(curve: Floats) -> float:
        fit = np.logaddexp(*weights(curve)) + expected(curve)[1] / (2 * scale**2)
        return float(np.sum(((curve - middle) / SPREADS) ** 2) / 2 - fit.sum())

    # Scores that hardly err, or follow another law, would lead beyond what floats can hold.
    ends = list(zip(middle - REACH, middle + REACH, strict=True))
    curve = np.asarray(scipy.optimize.minimize(missed, middle, method="L-BFGS-B", bounds=ends).x)
    (numbers, variance), (less, more) = expected(curve), weights(curve)
    drawn = numbers + variance / scale * np.tanh((less - more) / 2)
    # A law that does not hold takes no more for noise than noise often is; and none is below zero.
    drawn = np.clip(drawn, counts - FARTHEST * scale, counts + FARTHEST * scale)
    return curve, np.maximum(drawn, 1e-3 * np.minimum(numbers, scale))


def binormal(below: Floats, curve: Floats) -> Floats:
    """Shares of those with the outcome where these are of those without, by a curve of `leaned`."""
    inside = scipy.special.ndtr(
        curve[0] + math.exp(curve[1]) * normal_quantile(np.clip(below, NEAREST, 1 - NEAREST))
    )
    return np.where(below <= 0, 0.0, np.where(below >= 1, 1.0, inside))


def placed(below: Floats, ends: Integers, shares: Floats, curve: Floats) -> Floats:
    """Shares (q,) of those with the outcome: between ends of groups, where they are known, by a curve.

    below: Shares (q,) of those without at increasing places.
    ends: Which of these places (M + 1,) are ends of groups; the first and the last are.
    shares: Of those with the outcome at the ends.
    """
    group = np.minimum(np.searchsorted(ends, np.arange(below.size), "right") - 1, ends.size - 2)
    first, last = ends[group], ends[group + 1]
    law = binormal(below, curve)
    rise = law[last] - law[first]
    # Where none without the outcome are, those with it are spread evenly.
    even = (np.arange(below.size) - first) / (last - first)
    part = np.where(rise > 0, (law - law[first]) / np.where(rise > 0, rise, 1.0), even)
    rising = shares[group] + np.clip(part, 0.0, 1.0) * (shares[group + 1] - shares[group])
    return np.asarray(np.maximum.accumulate(rising))
