"""From records to units to integers, compiled: fill gaps, standardise, average, then the other loops.

Step by step what `dpfda.records.curves` does block by block, so that the integers are the same. Imported
only where numba is installed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.numerics.numba_loops import (
    LANES,
    LARGEST,
    UNSIGNED,
    _square_lengths,
    compiled,
    is_finite,
)

Floats = NDArray[np.float64]


@compiled
def _largest(rows: Floats, largest: Floats) -> None:
    """Largest sizes in each row, by lanes."""
    whole: Any = UNSIGNED(rows.shape[1] // LANES)
    lanes = np.zeros(LANES)
    for i in range(rows.shape[0]):
        row = rows[i]
        lanes[:] = 0.0
        for j in range(whole):
            for lane in range(UNSIGNED(LANES)):
                size = abs(row[UNSIGNED(LANES) * UNSIGNED(j) + UNSIGNED(lane)])
                lanes[lane] = size if size > lanes[lane] else lanes[lane]
        for k in range(whole * UNSIGNED(LANES), UNSIGNED(row.size)):
            lane = k - whole * UNSIGNED(LANES)
            size = abs(row[k])
            lanes[lane] = size if size > lanes[lane] else lanes[lane]
        largest[i] = lanes.max()


@compiled
def fill_gaps(row: Floats, grid: Floats) -> None:
    """Put straight lines into the gaps of a row, and the nearest value beyond its ends."""
    last = -1
    for k in range(row.size):
        if np.isnan(row[k]):
            continue
        if last < 0:
            row[:k] = row[k]
        elif k > last + 1:
            slope = (row[k] - row[last]) / (grid[k] - grid[last])
            for j in range(last + 1, k):
                rise = slope * (grid[j] - grid[last])
                row[j] = rise + row[last]
        last = k
    if last >= 0:
        row[last + 1 :] = row[last]


@compiled
def _weighted_sums(rows: Floats, weights: Floats, sums: Floats) -> None:
    """Sums of w_k y_k in lanes: column k goes to lane k mod 32, then lanes are paired."""
    whole: Any = UNSIGNED(rows.shape[1] // LANES)
    lanes = np.zeros(LANES)
    for i in range(rows.shape[0]):
        row = rows[i]
        lanes[:] = 0.0
        for j in range(whole):
            for lane in range(UNSIGNED(LANES)):
                k = UNSIGNED(LANES) * UNSIGNED(j) + UNSIGNED(lane)
                lanes[lane] += row[k] * weights[k]
        for k in range(whole * UNSIGNED(LANES), UNSIGNED(row.size)):  # type: ignore[assignment]
            lanes[k - whole * UNSIGNED(LANES)] += row[k] * weights[k]
        half: Any = UNSIGNED(LANES // 2)
        while half:
            for lane in range(half):
                lanes[lane] += lanes[UNSIGNED(lane) + half]
            half //= UNSIGNED(2)
        sums[i] = lanes[0]


@compiled
def _halve(row: Floats, exponent: int) -> None:
    """Divide by a power of two."""
    if abs(exponent) <= 1000:
        factor = math.ldexp(1.0, -exponent)
        for k in range(row.size):
            row[k] *= factor
    else:
        for k in range(row.size):
            row[k] = math.ldexp(row[k], -exponent)


@compiled
def standardize(rows: Floats, usable: Any, weights: Floats, whole: float, flat: float) -> None:
    """Each row minus its own mean, over its own norm; those without a shape are marked.

    Parameters
    ----------
    rows : array (n, m)
        Replaced in place. Rows that are not usable are left as they are.
    usable : array (n,) of bool
    weights, whole : array (m,) and float
        Quadrature weights and their sum.
    flat : float
        Norms up to this have no shape.
    """
    sums = np.empty(rows.shape[0])
    _largest(rows, sums)
    for i in range(rows.shape[0]):
        if usable[i]:
            _halve(rows[i], math.frexp(sums[i])[1])
    _weighted_sums(rows, weights, sums)
    for i in range(rows.shape[0]):
        mean = sums[i] / whole
        for k in range(weights.size):
            rows[i, k] -= mean
    _square_lengths(rows, weights, 1.0, sums)
    for i in range(rows.shape[0]):
        norm = math.sqrt(sums[i])
        usable[i] = usable[i] and norm > flat
        for k in range(weights.size):
            rows[i, k] /= norm


@compiled
def sorted_order(codes: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows by their unit, in the order of the rows within it."""
    order, next_place = np.empty(codes.size, dtype=np.int64), starts.copy()
    for i in range(codes.size):
        order[next_place[codes[i]]] = i
        next_place[codes[i]] += 1
    return order


@compiled
def read(
    values: NDArray[Any],
    order: NDArray[np.int64],
    complete: bool,
    grid: Floats,
    rows: Floats,
    usable: Any,
) -> int:
    """Copy records, by their places in `order` if there are some, and fill their gaps.

    Marks those that are finite then, and returns the number of the others.
    """
    count, refused = usable.size, 0
    for n in range(count):
        row, record = rows[n], values[order[n] if order.size else n]
        for k in range(row.size):
            row[k] = np.float64(record[k])
        usable[n] = is_finite(row)
        if complete and not usable[n]:
            fill_gaps(row, grid)
            usable[n] = is_finite(row)
        refused += int(not usable[n])
    return refused


@compiled
def spoil(rows: Floats, usable: Any) -> None:
    """Rows that are not usable become NaN: the loops that add up leave them out."""
    for n in range(usable.size):
        if not usable[n]:
            rows[n] = np.nan


@compiled
def average(
    rows: Floats,
    usable: Any,
    first: int,
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    unit: int,
    units: Floats,
) -> int:
    """Add records, each over the number of usable ones of its unit, to the averages of units.

    Parameters
    ----------
    rows, usable
        Records and which of them count.
    first : int
        Place of the first of them, in the order in which the units follow each other.
    starts, sizes : array (units + 1,) and (units,) of int
        Where each unit starts in that order, and how many of its records count.
    unit : int
        Of the first row. ``units[0]`` holds what it has so far, and the others are zero.
    units : array (rows + 1, m)
        Averages. Those without a usable record become NaN.

    Returns
    -------
    int
        How many units are complete; the next one has perhaps begun.
    """
    made, points = 0, units.shape[1]
    for n in range(usable.size):
        row, mean = rows[n], units[made]
        if usable[n]:
            parts = np.float64(sizes[unit + made])
            if parts == 1.0:
                mean[:] = row
            else:
                for k in range(points):
                    mean[k] += row[k] / parts
        if first + n + 1 == starts[unit + made + 1]:
            for k in range(points):
                # Rounding can carry an average of the largest doubles to infinity.
                mean[k] = max(min(mean[k], LARGEST), -LARGEST)
            if sizes[unit + made] == 0:
                mean[:] = np.nan
            made += 1
    return made
