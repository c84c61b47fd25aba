"""The compiled clip-round-sum: rows shared out to threads.

Sums of integers do not depend on how many threads there are.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from dpfda.numerics.arrays import Flags, Floats, Integers, Numbers, doubles, is_direct
from dpfda.numerics.gridrules import FromLine, Rule

# How records are read, and which of them are whose: see `read_and_sum`.
Reading: TypeAlias = tuple[bool, bool, Floats, Floats, float, float]
Units: TypeAlias = tuple[Integers, Integers, Integers]
# Takes rows of records, marks those that are usable, and says how many are not.
Take: TypeAlias = Callable[..., int]
Result = TypeVar("Result")

# Fewer numbers than this are not worth a second thread.
NUMBERS_A_THREAD = 2**20
# NumPy adds up fewer numbers than this in about a millisecond; loading numba takes longer.
WORTHWHILE = 2**18
# Integers of 30 bits that add up exactly in float64.
ROWS_AT_ONCE = 2**22
# Numbers that stay in the processor's cache from one loop to the next.
NUMBERS_AT_ONCE = 2**15
# And in one that is larger and a little slower: fewer calls from Python.
MORE_AT_ONCE = 2**16
# Where it does not matter which rows are usable.
UNMARKED = np.empty(0, dtype=np.bool_)


def worthwhile(numbers: int) -> bool:
    """Whether the data are large enough to load numba for them."""
    return numbers >= WORTHWHILE


def clip_round_sum(values: Numbers, rule: Rule) -> tuple[Floats, int]:
    """Sum of the integers of at most 2^22 records, in one pass over the data.

    Parameters
    ----------
    values : array (n, m) of any real type
        Private. Only contiguous float64 and float32 are read where they lie; of others a few rows at a
        time are made doubles.
    rule : Rule
        Public.

    Returns
    -------
    totals : array (m,)
        Exact integers held in float64.
    unusable : int
        Number of records with NaN or infinity, counted as zero.
    """
    add = _loop_of(rule)

    direct = is_direct(values)
    # As much as stays in the processor's cache: the data are read once, at their own width.
    step = len(values) if direct else max(1, NUMBERS_AT_ONCE // rule.center.size)

    def work(rows: Numbers) -> tuple[Floats, int]:
        totals, bad = np.zeros(rule.center.size), 0
        # Here, because a thread does not inherit it: a warning of an overflow tells something of values.
        with np.errstate(all="ignore"):
            for start in range(0, len(rows), step):
                block = rows[start : start + step]
                bad += add(block if direct else doubles(block), totals)
        return totals, bad

    count = min(threads(), 1 + values.size // NUMBERS_A_THREAD)
    parts = in_threads(work, np.array_split(values, count))
    return np.sum([part for part, _ in parts], axis=0), sum(bad for _, bad in parts)


def read_and_sum(
    values: Numbers, rule: Rule, reading: Reading, units: Units, unusable: Flags
) -> tuple[Integers, int, int]:
    """Sum of the integers of units, each an average of records that are filled or standardised first.

    Parameters
    ----------
    values : array (n, m) of float64 or float32, contiguous
        Private.
    rule : Rule
        Public.
    reading : (complete, standardized, grid, weights, whole, flat)
        Public; see `dpfda.numerics.numba_units`.
    units : (order, starts, sizes)
        Which records are whose; `starts` is empty where every record is a unit.
    unusable : array (n,) of bool
        Records that are left out; more of them are marked.

    Returns
    -------
    totals : array (m,) of int64
    refused, found : int
        Records that are not finite, and those that were found unusable now.
    """
    complete, standardize, *_, total, flat = reading
    alone = standardize and not complete and not units[1].size
    if alone:
        # The loop that adds them does it.
        reading = (False, False, *reading[2:])

    def summing() -> tuple[Take, Floats]:
        totals = np.zeros(rule.center.size)
        add = _standardizing_loop_of(rule, total, flat) if alone else _loop_of(rule)
        return lambda rows, usable=UNMARKED: add(rows, totals, usable), totals

    totals, refused, lost = _read(values, summing, reading, units, unusable)
    return np.sum([part.astype(np.int64) for part in totals], axis=0), refused, lost


def read_lengths(
    values: Numbers, rule: FromLine, reading: Reading, units: Units, unusable: Flags
) -> tuple[Floats, int, int]:
    """How far units are from a line; those alone that can be used, in no order. As `read_and_sum`."""
    from dpfda.numerics import numba_loops

    lower, upper, line, shares = map(np.array, (rule.lower, rule.upper, rule.line, rule.shares))

    def measuring() -> tuple[Take, list[Floats]]:
        lengths: list[Floats] = []

        def measure(rows: Numbers, usable: Flags = UNMARKED) -> int:
            distances = np.empty(len(rows))
            count = int(numba_loops.lengths_of(rows, lower, upper, line, shares, distances, usable))
            lengths.append(distances[:count])
            return len(rows) - count

        return measure, lengths

    parts, refused, lost = _read(values, measuring, reading, units, unusable)
    return np.concatenate([some for part in parts for some in part]), refused, lost


def _read(
    values: Numbers,
    taking: Callable[[], tuple[Take, Result]],
    reading: Reading,
    units: Units,
    unusable: Flags,
) -> tuple[list[Result], int, int]:
    """The result of each thread, and the numbers of refused and lost records, as of `read_and_sum`."""
    order, starts, sizes = units
    count = len(values) if starts.size == 0 else sizes.size
    parts = min(threads(), 1 + values.size // NUMBERS_A_THREAD)
    parts = min(count, max(parts, -(-count // ROWS_AT_ONCE)))
    if starts.size:
        ends = np.searchsorted(starts, np.linspace(0, starts[-1], parts + 1).astype(np.int64)[1:-1])
        ends = np.unique(np.concatenate([[0], ends, [count]]))
    else:
        ends = np.linspace(0, count, parts + 1).astype(np.int64)

    complete, standardize = reading[:2]

    def work(first: int, last: int) -> tuple[Result, int, int]:
        take, result = taking()
        if not starts.size:
            mine, own, marks = values[first:last], units, unusable[first:last]
        else:
            rows = slice(int(starts[first]), int(starts[last]))
            own = (order[rows], starts[first : last + 1] - starts[first], sizes[first:last])
            # Threads mark records each of its own.
            mine, marks = (values, unusable) if order.size else (values[rows], unusable[rows])
        if starts.size and not complete:
            return result, *_average_part(mine, take, reading, own, marks)
        if starts.size or standardize:
            return result, *_read_part(mine, take, reading, own, marks)
        return result, *_fill_part(mine, take, reading[2] if complete else None)

    results, refuses, finds = zip(*in_threads(work, ends[:-1].tolist(), ends[1:].tolist()), strict=True)
    return list(results), sum(refuses), sum(finds)


def _fill_part(values: Numbers, take: Take, grid: Floats | None) -> tuple[int, int]:
    """`_read` of records that are units, with gaps filled on a grid: those alone are copied."""
    from dpfda.numerics import numba_units

    if grid is None:
        refused = take(values)
        return refused, refused
    points, refused, grid = values.shape[1], 0, np.array(grid)
    step = min(len(values), max(1, MORE_AT_ONCE // points))
    usable, filled = np.empty(step, dtype=np.bool_), np.empty((0, points))
    for first in range(0, len(values), step):
        block = values[first : first + step]
        good = usable[: len(block)]
        if take(block, good):
            if not filled.size:
                filled = np.empty((step, points))
            refused += take(filled[: numba_units.fill_others(block, grid, filled, good)])
    return refused, refused


def _average_part(
    values: Numbers, take: Take, reading: Reading, units: Units, unusable: Flags
) -> tuple[int, int]:
    """`_read` of averages of records, standardised or as they are, each read once, where it lies."""
    from dpfda.numerics import numba_units

    (_, standardize, _, weights, total, flat), (order, starts, sizes) = reading, units
    points, refused, lost, weights = values.shape[1], 0, 0, np.array(weights)
    step = min(sizes.size, max(1, MORE_AT_ONCE // points))
    averages = np.empty((step + 1, points))
    for first in range(0, sizes.size, step):
        some = sizes[first : first + step]
        own = starts[first : first + some.size + 1]
        common = values, order, own, some, unusable
        if standardize:
            more, new = numba_units.average_standardized(*common, weights, total, flat, averages)
        else:
            more = new = numba_units.average_where_they_lie(*common, averages[: some.size])
        refused, lost = refused + more, lost + new
        take(averages[: some.size])
    return refused, lost


def _loop_of(rule: Rule) -> Callable[..., int]:
    """Add the integers of rows to totals; returns the number of rows that are not usable."""
    from dpfda.numerics import numba_loops

    shrinks = math.isfinite(rule.limit)
    loop: Callable[..., int] = numba_loops.shrink_and_add if shrinks else numba_loops.clip_and_add
    *public, scales, limit = _public(rule)
    numbers = (*public, rule.scale if shrinks else scales, limit)

    def add(rows: Numbers, totals: Floats, usable: Flags = UNMARKED) -> int:
        return int(loop(rows, *numbers, totals, usable))

    return add


def _standardizing_loop_of(rule: Rule, total: float, flat: float) -> Callable[..., int]:
    """The same of records that are standardised first."""
    from dpfda.numerics import numba_units

    public = _public(rule)

    def add(rows: Numbers, totals: Floats, usable: Flags) -> int:
        return int(numba_units.standardize_and_add(rows, total, flat, public, totals))

    return add


def _public(rule: Rule) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Center, half-widths, weights, scales and limit of a rule."""
    # Copies are all contiguous and may be written to: for another kind a loop is compiled anew.
    center, halves, weights = map(np.array, (rule.center, rule.half_widths, rule.weights))
    return center, halves, weights, np.full(center.size, rule.scale), float(rule.limit)


def _read_part(
    values: Numbers, take: Take, reading: Reading, units: Units, unusable: Flags
) -> tuple[int, int]:
    """`_read` in one thread, as much at a time as stays in the processor's cache.

    Loop by loop, called from here: together in one function they are not made vectors.
    """
    from dpfda.numerics import numba_units

    complete, standardize, grid, weights, total, flat = reading
    order, starts, sizes = units
    grid, weights, points = np.array(grid), np.array(weights), values.shape[1]
    records = order.size or values.shape[0]
    step = min(records, max(1, NUMBERS_AT_ONCE // points))
    usable = np.empty(step, dtype=np.bool_)
    gathered = np.empty((step if order.size else 0, points), dtype=values.dtype)
    filled = np.empty((step if complete else 0, points))
    shapes = np.empty((step if standardize else 0, points))
    averages = np.zeros((step + 1 if starts.size else 0, points))
    refused = lost = unit = 0
    for first in range(0, records, step):
        some = min(step, records - first)
        block, good = values[first : first + some], usable[:some]
        places: slice | Integers = slice(first, first + some)
        if order.size:
            places, block = order[first : first + some], gathered[:some]
            # Clipping places, none of which is outside, lets it copy to where it is told.
            np.take(values, places, axis=0, out=block, mode="clip")
        if complete or not standardize:
            bad = numba_units.finite(block, good)
        if complete and bad:
            bad = numba_units.fill(block, grid, filled, good)
            block = filled[:some]
        if standardize:
            bad = numba_units.standardize(block, shapes[:some], good, weights, total, flat)
            block = shapes[:some]
        refused += bad
        if not good.all():
            lost += int(np.count_nonzero(~good & ~unusable[places]))
            unusable[places] = ~good
        if not starts.size:
            take(block)
            continue
        full = numba_units.average(block, good, first, starts, sizes, unit, averages)
        take(averages[:full])
        unit += full
        averages[0] = averages[full]
    return refused, lost


def sorted_order(codes: Integers, starts: Integers) -> Integers:
    """Rows by the number of their unit, in the order of the rows within it; units start at `starts`."""
    from dpfda.numerics import numba_units

    return np.asarray(numba_units.sorted_order(codes, starts))


def in_threads(work: Callable[..., Result], *columns: Sequence[object]) -> list[Result]:
    """What work makes of each row of columns: threads share the rows, and one row needs none."""
    if len(columns[0]) == 1:
        return [work(*(column[0] for column in columns))]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(work, *columns))


def threads() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
