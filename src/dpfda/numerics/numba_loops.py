"""The clip-round-sum loops, compiled by numba; imported only where that is installed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGEST = float(np.finfo(np.float64).max)
UNSIGNED = np.uintp
LANES = 32
# Rows that are looked at twice, and stay in the processor's cache between.
CHUNK = 64
# Shifts from here on could overflow where the number itself would not.
FAR = 2.0**900
# Bits of a float64 without its sign, and those of infinity.
SIZE, INFINITE = np.int64(2**63 - 1), np.int64(0x7FF << 52)


def _compile(function: Callable[..., Any], **settings: Any) -> Any:
    """Compile on first use, without the interpreter's lock, so that threads run at once.

    What is made is kept on disk, where a folder for it can be written.
    """
    settings |= {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **settings)(function)
    except RuntimeError:
        return numba.njit(**settings)(function)


compiled = _compile
# Where the result does not depend on whether operations are fused, or on the order of a sum either.
fusing = partial(_compile, fastmath={"contract"})
in_any_order = partial(_compile, fastmath={"contract", "reassoc"})


@compiled
def _square_lengths(rows: NDArray[Any], weights: Floats, scale: float, squares: Floats) -> None:
    """Sums of w_k y_k^2, y = scale * row: column k goes to lane k mod 32, then lanes are paired."""
    # Unsigned counters: numba then need not provide for negative ones, and the loops become vectors.
    # They also do so only with all rows of a chunk in one call.
    whole: Any = UNSIGNED(rows.shape[1] // LANES)
    lanes = np.zeros(LANES)
    for i in range(rows.shape[0]):
        row = rows[i]
        lanes[:] = 0.0
        for j in range(whole):
            for lane in range(UNSIGNED(LANES)):
                k = UNSIGNED(LANES) * UNSIGNED(j) + UNSIGNED(lane)
                y = np.float64(row[k]) * scale
                lanes[lane] += y * y * weights[k]
        for k in range(whole * UNSIGNED(LANES), UNSIGNED(row.size)):  # type: ignore[assignment]
            y = np.float64(row[k]) * scale
            lanes[k - whole * UNSIGNED(LANES)] += y * y * weights[k]
        half: Any = UNSIGNED(LANES // 2)
        while half:
            for lane in range(half):
                lanes[lane] += lanes[UNSIGNED(lane) + half]
            half //= UNSIGNED(2)
        squares[i] = lanes[0]


@compiled
def _hard_factors(row: NDArray[Any], weights: Floats, limit: float) -> Any:
    """Two factors that shrink a row whose squares overflow; zeros if it is not finite."""
    largest = 0.0
    for number in row:
        if not abs(np.float64(number)) <= LARGEST:
            return 0.0, 0.0
        largest = max(largest, abs(np.float64(number)))
    # First by a power of two, to entries of at most one.
    first = math.ldexp(1.0, -math.frexp(largest)[1])
    square = np.zeros(1)
    _square_lengths(row.reshape(1, -1), weights, first, square)
    return first, limit / math.sqrt(square[0])


@in_any_order
def is_finite(row: NDArray[Any]) -> bool:
    """Whether all numbers of a row are finite."""
    total = 0.0
    for k in range(row.size):
        total += np.float64(row[k]) * 0.0
    return total == 0.0


@fusing
def _clip_rows(
    values: NDArray[Any],
    chosen: NDArray[np.intp],
    shift: Floats,
    half_widths: Floats,
    scale: float,
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
            high, low, middle = half_widths[k], -half_widths[k], shift[k]
            a = max(min(np.float64(first[k]) * scale - middle, high), low)
            b = max(min(np.float64(second[k]) * scale - middle, high), low)
            c = max(min(np.float64(third[k]) * scale - middle, high), low)
            d = max(min(np.float64(fourth[k]) * scale - middle, high), low)
            totals[k] += (np.rint(a) + np.rint(b)) + (np.rint(c) + np.rint(d))
    for n in range(fours, chosen.size):
        row = values[chosen[n]]
        for k in range(points):
            number = np.float64(row[k]) * scale - shift[k]
            totals[k] += np.rint(max(min(number, half_widths[k]), -half_widths[k]))


@compiled
def _clip_far_rows(
    values: NDArray[Any],
    chosen: NDArray[np.intp],
    center: Floats,
    half_widths: Floats,
    scale: float,
    totals: Floats,
) -> None:
    """The same where c 2^e is not a float, or near the largest."""
    for i in chosen:
        for k in range(totals.size):
            number = (np.float64(values[i, k]) - center[k]) * scale
            totals[k] += np.rint(max(min(number, half_widths[k]), -half_widths[k]))


@compiled
def clip_and_add(
    values: NDArray[Any],
    center: Floats,
    half_widths: Floats,
    weights: Floats,
    scale: float,
    limit: float,
    totals: Floats,
) -> int:
    """Clip, round and add entry by entry; returns the number of unusable rows.

    Rows are looked at in chunks that stay in the processor's cache: which are finite, then their sum.
    """
    unusable, near = 0, True
    shift, chosen = center * scale, np.empty(CHUNK, dtype=np.intp)
    for k in range(center.size):
        near = near and abs(shift[k]) < FAR and shift[k] / scale == center[k]
    for start in range(0, values.shape[0], CHUNK):
        stop, count = min(start + CHUNK, values.shape[0]), 0
        for i in range(start, stop):
            chosen[count] = i
            count += int(is_finite(values[i]))
        unusable += stop - start - count
        if near:
            _clip_rows(values, chosen[:count], shift, half_widths, scale, totals)
        else:
            _clip_far_rows(values, chosen[:count], center, half_widths, scale, totals)
    return unusable


@compiled
def shrink_and_add(
    values: NDArray[Any],
    center: Floats,
    half_widths: Floats,
    weights: Floats,
    scale: float,
    limit: float,
    totals: Floats,
) -> int:
    """Shrink each row to a length, round toward zero and add; returns the number of unusable rows.

    Rows are taken in chunks that stay in the processor's cache between the two looks at them.
    """
    unusable = 0
    points = totals.size
    size = min(CHUNK, 4 + 4096 // points)
    first, second, chosen = np.zeros(size), np.zeros(size), np.empty(size, dtype=np.intp)
    for start in range(0, values.shape[0], size):
        chunk = values[start : start + size]
        _square_lengths(chunk, weights, scale, second)
        usable = 0
        for i in range(chunk.shape[0]):
            first[i] = scale
            if second[i] <= limit * limit:
                second[i] = 1.0
            elif second[i] <= LARGEST:
                second[i] = limit / math.sqrt(second[i])
            else:
                first[i], second[i] = _hard_factors(chunk[i], weights, limit)
            chosen[usable] = i
            usable += int(first[i] > 0.0)
        unusable += chunk.shape[0] - usable
        fours = usable - usable % 4
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
        for n in range(fours, usable):
            i = chosen[n]
            for k in range(points):
                number = np.trunc(np.float64(chunk[i, k]) * first[i] * second[i])
                totals[k] += max(min(number, half_widths[k]), -half_widths[k])
    return unusable


@compiled
def quantise(
    values: NDArray[Any], bits: int, integers: Floats, exponents: NDArray[np.int64], usable: Any
) -> None:
    """Rows as integers of `bits` bits and an exponent each, as `project` of embedding makes them.

    Rows that are not finite become zero and are marked.
    """
    points = values.shape[1]
    row = np.empty(points)
    words = row.view(np.int64)
    for i in range(values.shape[0]):
        for k in range(points):
            row[k] = np.float64(values[i, k])
        # Sizes of floats are ordered as their bits are, those that are not finite behind all others.
        largest = np.int64(0)
        for k in range(points):
            largest = max(largest, words[k] & SIZE)
        usable[i] = largest < INFINITE
        if not usable[i]:
            exponents[i] = 0
            integers[i] = 0.0
            continue
        words[0], first = largest, row[0]
        exponents[i] = math.frexp(row[0])[1]
        row[0] = first
        shift = bits - exponents[i]
        if abs(shift) <= 1000:
            # A product with a power of two is what ldexp gives, where that power is a float.
            factor = math.ldexp(1.0, shift)
            for k in range(points):
                integers[i, k] = np.rint(row[k] * factor)
        else:
            for k in range(points):
                integers[i, k] = np.rint(math.ldexp(row[k], shift))


@compiled
def fold(rows: Floats) -> None:
    """Sums of mirrored entries in place of the first half of each row, differences in the other."""
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1] // 2):
            first, last = rows[i, k], rows[i, rows.shape[1] - 1 - k]
            rows[i, k] = first + last
            rows[i, rows.shape[1] - 1 - k] = first - last


@in_any_order
def _above(sizes: Floats, level: float) -> Any:
    """Sum and number of the integers above a level."""
    total, count = 0.0, 0.0
    for k in range(sizes.size):
        total += sizes[k] if sizes[k] > level else 0.0
        count += 1.0 if sizes[k] > level else 0.0
    return total, count


@compiled
def _lower(sizes: Floats, limit: float) -> float:
    """Lower integers by the level that brings their sum below a limit; returns their sum then."""
    level = 0.0
    total, count = _above(sizes, level)
    if not total > limit:
        return total  # type: ignore[no-any-return]
    higher = (total - limit) / count
    while higher > level:
        level = higher
        total, count = _above(sizes, level)
        higher = (total - limit) / count
    level = np.ceil(level)
    for k in range(sizes.size):
        sizes[k] = max(sizes[k] - level, 0.0)
    return _above(sizes, 0.0)[0]  # type: ignore[no-any-return]


@compiled
def add_projected(
    mantissas: Floats, exponents: NDArray[np.int64], radius: int, careful: Any, totals: Floats
) -> None:
    """Project rows to the l1 ball, in integers, verify and add.

    Step by step what `dpfda.bounds.balls` does, so that the integers are the same. Rows that floats do
    not hold, or that are not verified, are marked as careful and not added. The caller sees to it that
    the sums of all rows stay below 2^53.
    """
    size, limit = mantissas.shape[1], float(radius)
    sizes = np.empty(size)
    words = sizes.view(np.int64)
    one = np.empty(1)
    for i in range(mantissas.shape[0]):
        careful[i] = abs(exponents[i]) > 900
        if careful[i]:
            continue
        factor = math.ldexp(1.0, exponents[i])
        top = np.int64(0)
        for k in range(size):
            sizes[k] = abs(mantissas[i, k]) * factor
        for k in range(size):
            top = max(top, words[k])
        one.view(np.int64)[0] = top
        largest = one[0]
        careful[i] = not largest <= LARGEST
        if careful[i]:
            continue
        if largest > limit:
            for k in range(size):
                sizes[k] = np.floor(max(limit - (largest - sizes[k]), 0.0))
        else:
            for k in range(size):
                sizes[k] = np.floor(sizes[k])
        careful[i] = not _lower(sizes, limit) <= limit
        if careful[i]:
            continue
        for k in range(size):
            totals[k] += math.copysign(sizes[k], mantissas[i, k])
