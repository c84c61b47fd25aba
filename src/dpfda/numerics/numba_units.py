"""From records to units to integers, compiled: fill gaps, standardise, average, then the other loops.

Step by step what `dpfda.records.curves` does block by block, so that the integers are the same.
"""

from __future__ import annotations

import math

import numpy as np

from dpfda.numerics.arrays import Flags, Floats, Integers, Numbers
from dpfda.numerics.numba_loops import (
    LARGEST,
    UNSIGNED,
    compiled,
    is_finite,
    lane_sum,
    room_for_lanes,
)

# Beyond these a row is first divided by a power of two; see `dpfda.records.curves.standardized`.
LEAST_SQUARE, LARGEST_SQUARE = 2.0**-800, 2.0**800


@compiled
def fill_gaps(row: Floats, grid: Floats) -> None:
    """Put straight lines into the gaps of a row, and the nearest value beyond its ends."""
    size, first = row.size, 0
    while first < size:
        end = first
        while end < size and np.isnan(row[end]):
            end += 1
        if end == size:
            row[first:] = row[first - 1] if first else np.nan
        elif first == 0:
            row[:end] = row[end]
        elif end > first:
            before, origin = row[first - 1], grid[first - 1]
            slope = (row[end] - before) / (grid[end] - origin)
            for k in range(first, end):
                row[k] = slope * (grid[k] - origin) + before
        first = end + 1


@compiled
def _center(
    record: Numbers, row: Floats, weights: Floats, whole: float, terms: Floats
) -> tuple[float, float]:
    """Put a record minus its mean in a row; returns the mean and the square of the row's norm."""
    for k in range(UNSIGNED(record.size)):
        terms[k] = np.float64(record[k]) * weights[k]
    mean = lane_sum(terms) / whole
    for k in range(UNSIGNED(record.size)):
        row[k] = np.float64(record[k]) - mean
        terms[k] = row[k] * row[k] * weights[k]
    return mean, lane_sum(terms)


@compiled
def standardize(
    records: Numbers, rows: Floats, usable: Flags, weights: Floats, whole: float, flat: float
) -> int:
    """Each record minus its own mean, over its own norm; those without a shape become NaN.

    records: array (n, m).
    rows: array (n, m). Where they are put; not the records themselves.
    usable: array (n,) of bool. Those that have a shape.
    weights, whole: array (m,) and float. Quadrature weights and their sum.
    flat: Norms up to this, for a mean of one, are no shape.
    Returns the number of records that are not finite.
    """
    terms, copy, refused = room_for_lanes(weights.size), np.empty(weights.size), 0
    for i in range(rows.shape[0]):
        record, row = records[i], rows[i]
        mean, square = _center(record, row, weights, whole, terms)
        usable[i] = LEAST_SQUARE < square < LARGEST_SQUARE or is_finite(record)
        if usable[i] and not LEAST_SQUARE < square < LARGEST_SQUARE:
            largest = 0.0
            for k in range(weights.size):
                largest = max(largest, abs(np.float64(record[k])))
            exponent = math.frexp(largest)[1]
            for k in range(weights.size):
                copy[k] = math.ldexp(np.float64(record[k]), -exponent)
            mean, square = _center(copy, row, weights, whole, terms)
        refused += int(not usable[i])
        norm = math.sqrt(square)
        usable[i] = usable[i] and norm > flat * abs(mean)
        factor = 1.0 / norm if usable[i] else np.nan
        for k in range(UNSIGNED(row.size)):
            row[k] *= factor
    return refused


@compiled
def sorted_order(codes: Integers, starts: Integers) -> Integers:
    """Rows by their unit, in the order of the rows within it."""
    order, next_place = np.empty(codes.size, dtype=np.int64), starts.copy()
    for i in range(codes.size):
        order[next_place[codes[i]]] = i
        next_place[codes[i]] += 1
    return order


@compiled
def fill(records: Numbers, grid: Floats, rows: Floats, usable: Flags) -> int:
    """Copy records, fill their gaps and mark those that are finite then.

    records: array (n, m).
    grid: array (m,).
    rows: array (n, m). Where they are put.
    usable: array (n,) of bool. Those that are finite, before and afterwards.
    Returns the number of records that are not finite.
    """
    refused = 0
    for n in range(usable.size):
        record, row = records[n], rows[n]
        for k in range(UNSIGNED(row.size)):
            row[k] = np.float64(record[k])
        if not usable[n]:
            fill_gaps(row, grid)
            usable[n] = is_finite(row)
        refused += int(not usable[n])
    return refused


@compiled
def finite(records: Numbers, usable: Flags) -> int:
    """Mark records that are finite; returns the number of the others."""
    refused = 0
    for n in range(usable.size):
        usable[n] = is_finite(records[n])
        refused += int(not usable[n])
    return refused


@compiled
def average(
    rows: Numbers, usable: Flags, first: int, starts: Integers, sizes: Integers, unit: int, units: Floats
) -> int:
    """Add records, each times one over the number of usable ones of its unit, to the averages of units.

    rows, usable: Records and which of them count.
    first: Place of the first of them, in the order in which the units follow each other.
    starts, sizes: array (units + 1,) and (units,) of int. Where each unit starts in that order, and how
        many of its records count.
    unit: Of the first row. ``units[0]`` holds what it has so far.
    units: array (rows + 1, m). Averages. Those without a usable record become NaN; the next one is zero,
        or has begun.
    Returns how many units are complete; the next one has perhaps begun.
    """
    made, points = 0, units.shape[1]
    share = 1.0 / sizes[unit]
    for n in range(usable.size):
        row, mean = rows[n], units[made]
        if usable[n]:
            for k in range(points):
                mean[k] += np.float64(row[k]) * share
        if first + n + 1 == starts[unit + made + 1]:
            for k in range(points):
                # Rounding can carry an average of the largest doubles to infinity.
                mean[k] = max(min(mean[k], LARGEST), -LARGEST)
            if sizes[unit + made] == 0:
                mean[:] = np.nan
            made += 1
            units[made] = 0.0
            if unit + made < sizes.size:
                share = 1.0 / sizes[unit + made]
    return made
