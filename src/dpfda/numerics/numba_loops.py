"""The clip-round-sum loops, compiled by numba; imported only for large data."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from dpfda.numerics.arrays import Flags, Floats, Numbers
from dpfda.numerics.numba_lanes import LANES, lane_doubt, lane_square

Given = ParamSpec("Given")
Made = TypeVar("Made")

LARGEST = float(np.finfo(np.float64).max)
UNSIGNED = np.uintp
# Rows that are looked at twice, and stay in the processor's cache between.
CHUNK = 64
# Numbers that short rows are put together to, where there are at least so many of such long rows.
WIDE, WORTHWHILE = 1024, 256
# Shifts from here on could overflow where the number itself would not.
FAR = 2.0**900


def _compile(
    function: Callable[Given, Made], fastmath: bool | set[str] = False
) -> Callable[Given, Made]:
    """Compile on first use, without the interpreter's lock, so that threads run at once.

    What is made is kept on disk, where a folder for it can be written.
    """
    compiler = partial(numba.njit, nogil=True, error_model="numpy", fastmath=fastmath)
    try:
        compiled: Callable[Given, Made] = compiler(cache=True)(function)
    except RuntimeError:
        compiled = compiler()(function)
    return compiled


compiled = _compile
# Where the result does not depend on whether operations are fused, or on the order of a sum either.
fusing = partial(_compile, fastmath={"contract"})
in_any_order = partial(_compile, fastmath={"contract", "reassoc"})


@compiled
def room_for_lanes(size: int) -> Floats:
    """Room for so many terms of a sum by lanes, and zeros behind them, which change no sum."""
    return np.zeros(-(-size // LANES) * LANES)


@compiled
def square_lengths(rows: Numbers, weights: Floats, scale: float, squares: Floats) -> None:
    """Sums of w_k y_k^2, y = scale * row, by lanes."""
    for i in range(rows.shape[0]):
        squares[i] = lane_square(rows[i], weights, scale, 0.0)


@compiled
def _hard_factors(row: Numbers, weights: Floats, limit: float) -> tuple[float, float]:
    """Two factors that shrink a row whose squares overflow; zeros if it is not finite."""
    largest = 0.0
    for number in row:
        if not abs(np.float64(number)) <= LARGEST:
            return 0.0, 0.0
        largest = max(largest, abs(np.float64(number)))
    # First by a power of two, to entries of at most one.
    first = math.ldexp(1.0, -math.frexp(largest)[1])
    return first, limit / math.sqrt(lane_square(row, weights, first, 0.0))


@compiled
def is_finite(row: Numbers) -> bool:
    """Whether all numbers of a row are finite."""
    return lane_doubt(row, row) == 0.0


@fusing
def _clip_rows(
    values: Numbers,
    chosen: NDArray[np.intp],
    shift: Floats,
    half_widths: Floats,
    scales: Floats,
    totals: Floats,
) -> None:
    """Clip, round and add these rows, four at a time: public numbers and totals are read once for four.

    x 2^e - (c 2^e) is (x - c) 2^e to the last bit, with one rounding or two, since a product with a
    power of two rounds nothing: so the compiler may make one operation of it.
    """
    points, fours = totals.size, chosen.size - chosen.size % 4
    for n in range(0, fours, 4):
        first, second = values[chosen[n]], values[chosen[n + 1]]
        third, fourth = values[chosen[n + 2]], values[chosen[n + 3]]
        for k in range(points):
            high, low, middle, scale = half_widths[k], -half_widths[k], shift[k], scales[k]
            a = max(min(np.float64(first[k]) * scale - middle, high), low)
            b = max(min(np.float64(second[k]) * scale - middle, high), low)
            c = max(min(np.float64(third[k]) * scale - middle, high), low)
            d = max(min(np.float64(fourth[k]) * scale - middle, high), low)
            totals[k] += (np.rint(a) + np.rint(b)) + (np.rint(c) + np.rint(d))
    for n in range(fours, chosen.size):
        row = values[chosen[n]]
        for k in range(points):
            number = np.float64(row[k]) * scales[k] - shift[k]
            totals[k] += np.rint(max(min(number, half_widths[k]), -half_widths[k]))


@compiled
def _clip_far_rows(
    values: Numbers,
    chosen: NDArray[np.intp],
    center: Floats,
    half_widths: Floats,
    scales: Floats,
    totals: Floats,
) -> None:
    """The same where c 2^e is not a float, or near the largest."""
    for i in chosen:
        for k in range(totals.size):
            number = (np.float64(values[i, k]) - center[k]) * scales[k]
            totals[k] += np.rint(max(min(number, half_widths[k]), -half_widths[k]))


@compiled
def _tiled(numbers: Floats, times: int) -> Floats:
    tiled = np.empty(times * numbers.size)
    # Entry by entry: an assignment of arrays takes longer to compile than all of this loop.
    for place in range(times):
        for k in range(numbers.size):
            tiled[place * numbers.size + k] = numbers[k]
    return tiled


@compiled
def _finite_rows(values: Numbers, start: int, stop: int, chosen: NDArray[np.intp], usable: Flags) -> int:
    """Choose finite rows, and mark which they are where `usable` has room; returns how many."""
    count = 0
    for i in range(start, stop):
        good, chosen[count] = is_finite(values[i]), i
        count += int(good)
        if usable.size:
            usable[i] = good
    return count


@compiled
def _clip_wide_rows(
    values: Numbers,
    times: int,
    shift: Floats,
    half_widths: Floats,
    scales: Floats,
    totals: Floats,
    usable: Flags,
) -> tuple[int, int]:
    """Rows taken so many at a time as one, where all of them are finite: long loops are faster.

    Returns how many rows were taken, and how many of them are unusable. It stops where that does not
    pay, because most of the long rows are not finite.
    """
    count, points = values.shape[0] // times, totals.size
    wide = values[: count * times].reshape(count, times * points)
    wide_shift, wide_halves = _tiled(shift, times), _tiled(half_widths, times)
    wide_scales, wide_totals = _tiled(scales, times), np.zeros(times * points)
    size, unusable, taken = max(4, CHUNK // times), 0, 0
    good, single = np.empty(size, dtype=np.intp), np.empty(times, dtype=np.intp)
    for start in range(0, count, size):
        stop, chosen = min(start + size, count), 0
        for i in range(start, stop):
            first, last = i * times, (i + 1) * times
            if is_finite(wide[i]):
                good[chosen] = i
                chosen += 1
                if usable.size:
                    usable[first:last] = True
            else:
                some = _finite_rows(values, first, last, single, usable)
                unusable += times - some
                _clip_rows(values, single[:some], shift, half_widths, scales, totals)
        _clip_rows(wide, good[:chosen], wide_shift, wide_halves, wide_scales, wide_totals)
        taken = stop * times
        if 2 * chosen < stop - start:
            break
    for place in range(times):
        for k in range(points):
            totals[k] += wide_totals[place * points + k]
    return taken, unusable


@compiled
def clip_and_add(
    values: Numbers,
    center: Floats,
    half_widths: Floats,
    weights: Floats,
    scales: Floats,
    limit: float,
    totals: Floats,
    usable: Flags,
) -> int:
    """Clip, round and add entry by entry; returns the number of unusable rows.

    Rows are looked at in chunks that stay in the processor's cache: which are finite, then their sum.
    Which they are is put in `usable`, where that has room for it.
    """
    near, begun, unusable = True, 0, 0
    shift, chosen = center * scales, np.empty(CHUNK, dtype=np.intp)
    for k in range(center.size):
        near = near and abs(shift[k]) < FAR and shift[k] / scales[k] == center[k]
    times = WIDE // center.size
    if near and times > 1 and values.shape[0] >= WORTHWHILE * times:
        begun, unusable = _clip_wide_rows(values, times, shift, half_widths, scales, totals, usable)
    for start in range(begun, values.shape[0], CHUNK):
        stop = min(start + CHUNK, values.shape[0])
        count = _finite_rows(values, start, stop, chosen, usable)
        unusable += stop - start - count
        if near:
            _clip_rows(values, chosen[:count], shift, half_widths, scales, totals)
        else:
            _clip_far_rows(values, chosen[:count], center, half_widths, scales, totals)
    return unusable


@compiled
def shrink_and_add(
    values: Numbers,
    center: Floats,
    half_widths: Floats,
    weights: Floats,
    scale: float,
    limit: float,
    totals: Floats,
    usable: Flags,
) -> int:
    """Shrink each row to a length, round toward zero and add; returns the number of unusable rows.

    Rows are taken in chunks that stay in the processor's cache between the two looks at them. Which are
    usable is put in `usable`, where that has room for it.
    """
    unusable, points = 0, totals.size
    size = min(CHUNK, 4 + 4096 // points)
    first, second, chosen = np.zeros(size), np.zeros(size), np.empty(size, dtype=np.intp)
    for start in range(0, values.shape[0], size):
        chunk = values[start : start + size]
        square_lengths(chunk, weights, scale, second)
        count = 0
        for i in range(chunk.shape[0]):
            first[i] = scale
            if second[i] <= limit * limit:
                second[i] = 1.0
            elif second[i] <= LARGEST:
                second[i] = limit / math.sqrt(second[i])
            else:
                first[i], second[i] = _hard_factors(chunk[i], weights, limit)
            chosen[count] = i
            count += int(first[i] > 0.0)
            if usable.size:
                usable[start + i] = first[i] > 0.0
        unusable += chunk.shape[0] - count
        fours = count - count % 4
        for n in range(0, fours, 4):
            i, j, p, q = chosen[n], chosen[n + 1], chosen[n + 2], chosen[n + 3]
            for k in range(points):
                high, low = half_widths[k], -half_widths[k]
                a = np.trunc(np.float64(chunk[i, k]) * first[i] * second[i])
                b = np.trunc(np.float64(chunk[j, k]) * first[j] * second[j])
                c = np.trunc(np.float64(chunk[p, k]) * first[p] * second[p])
                d = np.trunc(np.float64(chunk[q, k]) * first[q] * second[q])
                a, b = max(min(a, high), low), max(min(b, high), low)
                c, d = max(min(c, high), low), max(min(d, high), low)
                totals[k] += (a + b) + (c + d)
        for n in range(fours, count):
            i = chosen[n]
            for k in range(points):
                number = np.trunc(np.float64(chunk[i, k]) * first[i] * second[i])
                totals[k] += max(min(number, half_widths[k]), -half_widths[k])
    return unusable


@compiled
def _length(
    row: Numbers, lower: Floats, upper: Floats, line: Floats, shares: Floats, terms: Floats
) -> float:
    """How far a finite row, clipped, is from a line at its farthest point; `terms` has zeros behind."""
    for k in range(UNSIGNED(row.size)):
        number = max(min(np.float64(row[k]), upper[k]), lower[k])
        terms[k] = abs(number - line[k]) * shares[k]
    # By lanes: a loop for one largest number would not be made one over vectors.
    for start in range(LANES, terms.size, LANES):
        for lane in range(UNSIGNED(LANES)):
            terms[lane] = max(terms[lane], terms[UNSIGNED(start) + lane])
    largest = 0.0
    for lane in range(LANES):
        largest = max(largest, terms[lane])
    return largest


@compiled
def lengths_of(
    values: Numbers,
    lower: Floats,
    upper: Floats,
    line: Floats,
    shares: Floats,
    lengths: Floats,
    usable: Flags,
) -> int:
    """Lengths of the finite rows, one after another; returns how many there are.

    Which they are is put in `usable`, where that has room for it.
    """
    count, terms = 0, room_for_lanes(line.size)
    for i in range(values.shape[0]):
        good = is_finite(values[i])
        if good:
            lengths[count] = _length(values[i], lower, upper, line, shares, terms)
            count += 1
        if usable.size:
            usable[i] = good
    return count
