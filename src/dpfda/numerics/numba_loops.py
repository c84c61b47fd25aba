"""The clip-round-sum loops, compiled by numba; imported only for large data."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpfda.numerics.arrays import Floats, Numbers

Given = ParamSpec("Given")
Made = TypeVar("Made")

LARGEST = float(np.finfo(np.float64).max)
UNSIGNED = np.uintp
# Terms of a sum are added up in so many lanes.
LANES = 32
# Rows that are looked at twice, and stay in the processor's cache between.
CHUNK = 64
# Shifts from here on could overflow where the number itself would not.
FAR = 2.0**900


def _compile(function: Callable[Given, Made], **settings: Any) -> Callable[Given, Made]:
    """Compile on first use, without the interpreter's lock, so that threads run at once.

    What is made is kept on disk, where a folder for it can be written.
    """
    settings |= {"nogil": True, "error_model": "numpy"}
    try:
        made: Callable[Given, Made] = numba.njit(cache=True, **settings)(function)
    except RuntimeError:
        made = numba.njit(**settings)(function)
    return made


compiled = _compile
# Where the result does not depend on whether operations are fused, or on the order of a sum either.
fusing = partial(_compile, fastmath={"contract"})
in_any_order = partial(_compile, fastmath={"contract", "reassoc"})


def _lane_sum(context: object, terms: types.Type) -> tuple[Any, Callable[..., ir.Value]]:
    """The sum of doubles, as many as a multiple of 32, in an order that is the same on all machines.

    Term k goes to lane k mod 32. Each lane of the first half then takes one of the second, again and
    again. Written for vectors, so that lanes stay in registers.
    """

    def write(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        word, vector = array.nitems.type, ir.VectorType(ir.DoubleType(), LANES)
        nothing = ir.Constant(vector, [0.0] * LANES)
        total = cgutils.alloca_once_value(builder, nothing)  # type: ignore[no-untyped-call]
        with cgutils.for_range(builder, builder.udiv(array.nitems, word(LANES))) as loop:
            place = builder.gep(array.data, [builder.mul(loop.index, word(LANES))])
            some = builder.load(builder.bitcast(place, vector.as_pointer()), align=8)
            builder.store(builder.fadd(builder.load(total), some), total)
        lanes, half = builder.load(total), LANES // 2
        while half:
            kind = ir.VectorType(ir.IntType(32), half)
            first, second = (
                builder.shuffle_vector(lanes, lanes, ir.Constant(kind, list(range(start, start + half))))
                for start in (0, half)
            )
            lanes, half = builder.fadd(first, second), half // 2
        return builder.extract_element(lanes, ir.IntType(32)(0))

    return types.float64(terms), write


lane_sum: Any = intrinsic(_lane_sum)


@compiled
def room_for_lanes(size: int) -> Floats:
    """Room for so many terms of a sum by lanes, and zeros behind them, which change no sum."""
    return np.zeros(-(-size // LANES) * LANES)


@compiled
def square_lengths(rows: Numbers, weights: Floats, scale: float, squares: Floats, terms: Floats) -> None:
    """Sums of w_k y_k^2, y = scale * row, by lanes; `terms` has room for them."""
    # Unsigned counters: numba then need not provide for negative ones, and the loops become vectors.
    # They also do so only with all rows of a chunk in one call.
    for i in range(rows.shape[0]):
        row = rows[i]
        for k in range(UNSIGNED(row.size)):
            y = np.float64(row[k]) * scale
            terms[k] = y * y * weights[k]
        squares[i] = lane_sum(terms)


@compiled
def _hard_factors(row: Numbers, weights: Floats, limit: float, terms: Floats) -> tuple[float, float]:
    """Two factors that shrink a row whose squares overflow; zeros if it is not finite."""
    largest = 0.0
    for number in row:
        if not abs(np.float64(number)) <= LARGEST:
            return 0.0, 0.0
        largest = max(largest, abs(np.float64(number)))
    # First by a power of two, to entries of at most one.
    first = math.ldexp(1.0, -math.frexp(largest)[1])
    square = np.zeros(1)
    square_lengths(row.reshape(1, -1), weights, first, square, terms)
    return first, limit / math.sqrt(square[0])


@in_any_order
def is_finite(row: Numbers) -> bool:
    """Whether all numbers of a row are finite."""
    total = 0.0
    for k in range(row.size):
        total += np.float64(row[k]) * 0.0
    return total == 0.0


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
def _finite_rows(values: Numbers, start: int, stop: int, chosen: NDArray[np.intp]) -> int:
    """Choose the rows that are finite; returns how many."""
    count = 0
    for i in range(start, stop):
        good, chosen[count] = is_finite(values[i]), i
        count += int(good)
    return count


@compiled
def clip_and_add(
    values: Numbers,
    center: Floats,
    half_widths: Floats,
    weights: Floats,
    scales: Floats,
    limit: float,
    totals: Floats,
) -> int:
    """Clip, round and add entry by entry; returns the number of unusable rows.

    Rows are looked at in chunks that stay in the processor's cache: which are finite, then their sum.
    """
    near, unusable = True, 0
    shift, chosen = center * scales, np.empty(CHUNK, dtype=np.intp)
    for k in range(center.size):
        near = near and abs(shift[k]) < FAR and shift[k] / scales[k] == center[k]
    for start in range(0, values.shape[0], CHUNK):
        stop = min(start + CHUNK, values.shape[0])
        count = _finite_rows(values, start, stop, chosen)
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
) -> int:
    """Shrink each row to a length, round toward zero and add; returns the number of unusable rows.

    Rows are taken in chunks that stay in the processor's cache between the two looks at them.
    """
    unusable, points = 0, totals.size
    terms = room_for_lanes(points)
    size = min(CHUNK, 4 + 4096 // points)
    first, second, chosen = np.zeros(size), np.zeros(size), np.empty(size, dtype=np.intp)
    for start in range(0, values.shape[0], size):
        chunk = values[start : start + size]
        square_lengths(chunk, weights, scale, second, terms)
        count = 0
        for i in range(chunk.shape[0]):
            first[i] = scale
            if second[i] <= limit * limit:
                second[i] = 1.0
            elif second[i] <= LARGEST:
                second[i] = limit / math.sqrt(second[i])
            else:
                first[i], second[i] = _hard_factors(chunk[i], weights, limit, terms)
            chosen[count] = i
            count += int(first[i] > 0.0)
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
