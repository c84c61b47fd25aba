"""From records to units to integers, compiled: fill gaps, standardise, average, then the other loops.

Step by step what `dpfda.records.curves` does block by block, so that the integers are the same.
"""

from __future__ import annotations

import math

import numpy as np

from dpfda.numerics.arrays import Flags, Floats, Integers, Numbers
from dpfda.numerics.numba_lanes import fetch, lane_square, lane_sum, lowest
from dpfda.numerics.numba_loops import (
    LARGEST,
    UNSIGNED,
    clip_and_add,
    compiled,
    is_finite,
    shrink_and_add,
)

# Integers of one bit each, from the lowest on.
BITS = np.left_shift(np.int64(1), np.arange(64))
# How many records ahead of those that are read others are fetched.
AHEAD = 4
# Records that are standardised together, and numbers that are added up then.
FEW, NUMBERS = 8, 2**14
# Beyond these a row is first divided by a power of two; see `dpfda.records.curves.standardized`.
LEAST_SQUARE, LARGEST_SQUARE = 2.0**-800, 2.0**800


@compiled
def _missing(row: Floats, start: int, stop: int) -> np.int64:
    """Which of at most 64 entries are NaN, as bits."""
    word = np.int64(0)
    for k in range(UNSIGNED(start), UNSIGNED(stop)):
        word |= BITS[k - UNSIGNED(start)] if row[k] != row[k] else np.int64(0)
    return word


@compiled
def fill_gaps(row: Floats, grid: Floats) -> None:
    """Put straight lines into the gaps of a row, and the nearest value beyond its ends."""
    size, bit = row.size, np.int64(1)
    for start in range(0, size, 64):
        stop = min(start + 64, size)
        word = _missing(row, start, stop)
        while word:
            place = lowest(word)
            # The sum's carry runs over the bits of the gap, to the first that is none of it.
            beyond = word + (bit << place)
            first, end, word = start + place, start + lowest(beyond), word & beyond
            if end >= stop:
                end = stop
                while end < size and np.isnan(row[end]):
                    end += 1
            if end == size:
                row[first:] = row[first - 1] if first else np.nan
                return
            if first == 0:
                row[:end] = row[end]
            else:
                _line(row, grid, first, end)


@compiled
def _line(row: Floats, grid: Floats, first: int, end: int) -> None:
    """Put a straight line into a gap between two values."""
    before, origin = row[first - 1], grid[first - 1]
    slope = (row[end] - before) / (grid[end] - origin)
    # Most gaps are short: a loop, which becomes one over vectors, would take several times as long.
    row[first] = slope * (grid[first] - origin) + before
    if end - first > 1:
        row[first + 1] = slope * (grid[first + 1] - origin) + before
    if end - first > 2:
        row[first + 2] = slope * (grid[first + 2] - origin) + before
    for k in range(first + 3, end):
        row[k] = slope * (grid[k] - origin) + before


@compiled
def _means(records: Numbers, weights: Floats, total: float, means: Floats) -> None:
    for i in range(records.shape[0]):
        means[i] = lane_sum(records[i], weights) / total


@compiled
def _squares(records: Numbers, means: Floats, weights: Floats, squares: Floats) -> None:
    for i in range(records.shape[0]):
        squares[i] = lane_square(records[i], weights, 1.0, means[i])


@compiled
def _shapes(records: Numbers, means: Floats, squares: Floats, rows: Floats) -> None:
    for i in range(records.shape[0]):
        record, row, mean, factor = records[i], rows[i], means[i], 1.0 / math.sqrt(squares[i])
        for k in range(UNSIGNED(row.size)):
            row[k] = (np.float64(record[k]) - mean) * factor


@compiled
def _shape(
    records: Numbers, rows: Floats, weights: Floats, total: float, means: Floats, squares: Floats
) -> None:
    """Put records minus their means, over their norms, in rows; and means, and squares of norms."""
    _means(records, weights, total, means)
    _squares(records, means, weights, squares)
    _shapes(records, means, squares, rows)


@compiled
def _reduced(record: Numbers, row: Floats) -> None:
    """Divide a record by its power of two, to entries of at most one."""
    largest = 0.0
    for k in range(row.size):
        largest = max(largest, abs(np.float64(record[k])))
    exponent = math.frexp(largest)[1]
    for k in range(row.size):
        row[k] = math.ldexp(np.float64(record[k]), -exponent)


@compiled
def standardize(
    records: Numbers, rows: Floats, usable: Flags, weights: Floats, total: float, flat: float
) -> int:
    """Each record minus its own mean, over its own norm; those without a shape become NaN.

    A few records at a time: they stay in the processor's nearest cache, and it need not wait for the
    root of one before it begins the next.

    records: array (n, m).
    rows: array (n, m). Where they are put; not the records themselves.
    usable: array (n,) of bool. Those that have a shape.
    weights, total: array (m,) and float. Quadrature weights and their sum.
    flat: Norms up to this, for a mean of one, are no shape.
    Returns the number of records that are not finite.
    """
    means, squares, refused = np.empty(FEW), np.empty(FEW), 0
    for start in range(0, rows.shape[0], FEW):
        some, shapes = records[start : start + FEW], rows[start : start + FEW]
        _shape(some, shapes, weights, total, means, squares)
        for i in range(some.shape[0]):
            if not LEAST_SQUARE < squares[i] < LARGEST_SQUARE and is_finite(some[i]):
                _reduced(some[i], shapes[i])
                alone = slice(i, i + 1)
                _shape(shapes[alone], shapes[alone], weights, total, means[alone], squares[alone])
            good = LARGEST > math.sqrt(squares[i]) > flat * abs(means[i])
            usable[start + i] = good
            if not good:
                shapes[i] = np.nan
                refused += int(not is_finite(some[i]))
    return refused


@compiled
def standardize_and_add(
    records: Numbers,
    total: float,
    flat: float,
    rule: tuple[Floats, Floats, Floats, Floats, float],
    totals: Floats,
) -> int:
    """Standardise records and add their integers, as many at a time as stay in the processor's cache.

    rule: Center, half-widths, weights, scales and limit, as of `clip_and_add`. The others are as of
        `standardize`.
    Returns the number of records that are not finite.
    """
    center, half_widths, weights, scales, limit = rule
    size, refused = 1 + NUMBERS // weights.size, 0
    rows, usable = np.empty((size, weights.size)), np.empty(size, dtype=np.bool_)
    for start in range(0, records.shape[0], size):
        some = records[start : start + size]
        shapes = rows[: some.shape[0]]
        refused += standardize(some, shapes, usable, weights, total, flat)
        if limit < np.inf:
            shrink_and_add(shapes, center, half_widths, weights, scales[0], limit, totals, usable[:0])
        else:
            clip_and_add(shapes, center, half_widths, weights, scales, limit, totals, usable[:0])
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
        _first(record, 1.0, row)
        if not usable[n]:
            fill_gaps(row, grid)
            usable[n] = is_finite(row)
        refused += int(not usable[n])
    return refused


@compiled
def fill_others(records: Numbers, grid: Floats, rows: Floats, usable: Flags) -> int:
    """Copy those records alone that are not usable, one after another, and fill their gaps.

    Returns how many there are.
    """
    count = 0
    for n in range(usable.size):
        if not usable[n]:
            record, row = records[n], rows[count]
            for k in range(UNSIGNED(row.size)):
                row[k] = np.float64(record[k])
            fill_gaps(row, grid)
            count += 1
    return count


@compiled
def finite(records: Numbers, usable: Flags) -> int:
    """Mark records that are finite; returns the number of the others."""
    refused = 0
    for n in range(usable.size):
        usable[n] = is_finite(records[n])
        refused += int(not usable[n])
    return refused


@compiled
def _first(row: Numbers, share: float, mean: Floats) -> None:
    for k in range(UNSIGNED(mean.size)):
        mean[k] = np.float64(row[k]) * share


@compiled
def _next(row: Numbers, share: float, mean: Floats) -> None:
    for k in range(UNSIGNED(mean.size)):
        mean[k] += np.float64(row[k]) * share


@compiled
def _limited(mean: Floats) -> None:
    for k in range(UNSIGNED(mean.size)):
        # Rounding can carry an average of the largest doubles to infinity.
        mean[k] = max(min(mean[k], LARGEST), -LARGEST)


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
    full = 0
    share = 1.0 / sizes[unit]
    for n in range(usable.size):
        row, mean = rows[n], units[full]
        if usable[n]:
            _next(row, share, mean)
        if first + n + 1 == starts[unit + full + 1]:
            _limited(mean)
            if sizes[unit + full] == 0:
                mean[:] = np.nan
            full += 1
            units[full] = 0.0
            if unit + full < sizes.size:
                share = 1.0 / sizes[unit + full]
    return full


@compiled
def average_where_they_lie(
    values: Numbers, order: Integers, starts: Integers, sizes: Integers, unusable: Flags, units: Floats
) -> int:
    """Averages of the usable records of units, read wherever they are in memory.

    values: array (n, m). Records.
    order: Their places, unit by unit; empty if they follow each other so.
    starts, sizes: array (units + 1,) and (units,) of int. Where each unit starts in that order, and how
        many of its records count.
    unusable: array (n,) of bool. Records that are left out; those that are not finite are marked too.
    units: array (units, m). Where the averages are put; NaN for units without a usable record.
    Returns how many records were found not to be finite and had not been marked.
    """
    lost, points, last = 0, values.shape[1], starts[-1] - 1
    for unit in range(sizes.size):
        mean, begun = units[unit], False
        share = 1.0 / sizes[unit] if sizes[unit] else np.nan
        for place in range(starts[unit], starts[unit + 1]):
            row = values[place]
            number = place
            if order.size:
                number = order[place]
                row, ahead = values[number], values[order[min(place + AHEAD, last)]]
                # Eight doubles are a line of the cache.
                for k in range(0, points, 8):
                    fetch(ahead, k)
            if unusable[number]:
                continue
            if not is_finite(row):
                unusable[number] = True
                lost += 1
            elif begun:
                _next(row, share, mean)
            else:
                _first(row, share, mean)
                begun = True
        if begun:
            _limited(mean)
        else:
            mean[:] = np.nan
    return lost


@compiled
def average_standardized(
    values: Numbers,
    order: Integers,
    starts: Integers,
    sizes: Integers,
    unusable: Flags,
    weights: Floats,
    total: float,
    flat: float,
    units: Floats,
) -> tuple[int, int]:
    """The same of records that are standardised first; returns how many are not finite too.

    units: array (units + 1, m). With a row behind that is not used.
    weights, total, flat: As of `standardize`.
    """
    size, full, refused, lost = 1 + NUMBERS // weights.size, 0, 0, 0
    some, shapes = np.empty((size, weights.size), values.dtype), np.empty((size, weights.size))
    good, last = np.empty(size, dtype=np.bool_), starts[-1] - 1
    units[0] = 0.0
    for first in range(starts[0], starts[-1], size):
        count = min(size, starts[-1] - first)
        rows = values[first : first + count]
        if order.size:
            for i in range(count):
                row, ahead = values[order[first + i]], values[order[min(first + i + AHEAD, last)]]
                for k in range(0, row.size, 8):
                    fetch(ahead, k)
                for k in range(UNSIGNED(row.size)):
                    some[i, k] = row[k]
            rows = some[:count]
        refused += standardize(rows, shapes[:count], good, weights, total, flat)
        for i in range(count):
            number = order[first + i] if order.size else first + i
            lost += int(not good[i] and not unusable[number])
            unusable[number] = not good[i]
        full += average(shapes[:count], good[:count], first, starts, sizes, full, units[full:])
    return refused, lost
