"""Binormal ROC curves: in which cells to count those with the outcome, and what noisy counts say.

All here is post-processing of noisy, public numbers. Of binormal scores, with shares F of those without
and G of those with the outcome below a threshold, G = Phi(a + b Phi^-1(F)).
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.specials import normal_quantile

# Areas over which groups are chosen, and what room for orders inside a group costs there, and many with
# the outcome in one, in variances of a person's part in the area: the more, by EVEN, the fewer have no
# outcome, whose cells limit the area then. By which part of its room the order in a group is otherwise
# than the binormal law says, however many persons there are. Chosen on made-up scores.
AREAS, ROOM, MANY, EVEN, OTHERWISE = (0.65, 0.8, 0.92), 0.2, 0.2, 10.0, 0.05
# How far a, the logarithm of b and that of a number lie from 0, 0 and what was counted, before a look;
# and by which share of their number persons in a cell deviate from the binormal law.
SPREADS, MISFIT, FARTHEST = np.array([1.5, 0.25, 2.0]), 0.15, 2.0
# No cell is expected to have fewer persons, and no share is nearer to zero and one.
FEWEST, NEAREST = 1e-6, 1e-9


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

    def expected(found: Floats) -> tuple[Floats, Floats]:
        numbers = np.exp(found[2]) * np.maximum(np.diff(binormal(below, found)), FEWEST)
        return numbers, numbers + (MISFIT * numbers) ** 2

    def weights(found: Floats) -> tuple[Floats, Floats]:
        (numbers, variance), sides = expected(found), np.array([[1.0], [-1.0]])
        off, deviation = sides * (counts - numbers), np.sqrt(variance)
        logs = scipy.special.log_ndtr(off / deviation - deviation / scale) - off / scale
        return logs[0], logs[1]

    def missed(found: Floats) -> float:
        fit = np.logaddexp(*weights(found)) + expected(found)[1] / (2 * scale**2)
        return float(np.sum(((found - middle) / SPREADS) ** 2) / 2 - fit.sum())

    found = np.asarray(scipy.optimize.minimize(missed, middle, method="BFGS", options={"gtol": 1e-4}).x)
    (numbers, variance), (less, more) = expected(found), weights(found)
    drawn = numbers + variance / scale * np.tanh((less - more) / 2)
    # A law that does not hold takes no more for noise than noise often is; and none is below zero.
    drawn = np.clip(drawn, counts - FARTHEST * scale, counts + FARTHEST * scale)
    return found, np.maximum(drawn, 1e-3 * numbers)


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
    said = binormal(below, curve)
    rise = said[last] - said[first]
    # Where none without the outcome are, those with it are spread evenly.
    even = (np.arange(below.size) - first) / (last - first)
    part = np.where(rise > 0, (said - said[first]) / np.where(rise > 0, rise, 1.0), even)
    found = shares[group] + np.clip(part, 0.0, 1.0) * (shares[group + 1] - shares[group])
    return np.asarray(np.maximum.accumulate(found))
