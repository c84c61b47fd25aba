"""The loops of sums of records in an l1 ball, compiled by numba; imported only for large data.

`dpfda.numerics.compiled_l1` calls them; `dpfda.bounds.l1sums` says what they make, and why.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpfda.numerics.arrays import Flags, Floats, Integers, Numbers
from dpfda.numerics.numba_instructions import HEAD, head_products, lane_sum
from dpfda.numerics.numba_loops import LARGEST, UNSIGNED, compiled, in_any_order, room_for_lanes

# Bits of a float64 without its sign, and those of infinity.
SIZE, INFINITE = np.int64(2**63 - 1), np.int64(0x7FF << 52)
# Exponents beyond which a row is left to NumPy, and sizes beyond which a difference of them may round.
FAREST, LARGE = 900, 2.0**40
# More than all errors of a sum of squares, a root and a product together, in relative terms.
OUTWARD = 1 + 2.0**-30
# More than what differences of sizes below LARGE are off by.
MARGIN = 2.0**-8
# Rows at a time: in the nearest cache, and a multiple of four.
CHUNK = 16


@compiled
def place(
    rows: Numbers, weights: Floats, scale: float, integers: Floats, squares: Floats, terms: Floats
) -> None:
    """Rows as integers of the public grid, and their weighted square lengths by lanes."""
    for i in range(rows.shape[0]):
        row, made = rows[i], integers[i]
        for k in range(UNSIGNED(row.size)):
            y = np.rint(np.float64(row[k]) * scale)
            made[k] = y
            terms[k] = y * y * weights[k]
        squares[i] = lane_sum(terms)


@compiled
def _largest_word(row: Numbers) -> np.int64:
    """The largest entry in size, as its bits: floats are ordered as these are, and NaN is behind all."""
    largest = np.int64(0)
    for k in range(UNSIGNED(row.size)):
        largest = max(largest, np.float64(row[k]).view(np.int64) & SIZE)
    return largest


@compiled
def _round_times(row: Numbers, factor: float, made: Floats) -> None:
    for k in range(UNSIGNED(row.size)):
        made[k] = np.rint(np.float64(row[k]) * factor)


@compiled
def _square_terms(row: Floats, weights: Floats, terms: Floats) -> None:
    for k in range(UNSIGNED(row.size)):
        terms[k] = row[k] * row[k] * weights[k]


@compiled
def place_long(
    rows: Numbers,
    weights: Floats,
    exponent: int,
    bits: int,
    limit: float,
    integers: Floats,
    squares: Floats,
    terms: Floats,
    exponents: Integers,
    near: Flags,
) -> int:
    """Make rows whose square length is above the limit again, each with an exponent of its own.

    Rows that are not finite become zero; returns how many.
    """
    unusable, word = 0, np.empty(1, dtype=np.int64)
    for i in range(rows.shape[0]):
        exponents[i], near[i] = 0, squares[i] <= limit
        if near[i]:
            continue
        row, made = rows[i], integers[i]
        word[0] = _largest_word(row)
        if not word[0] < INFINITE:
            unusable, near[i], squares[i] = unusable + 1, True, 0.0
            made[:] = 0.0
            continue
        shift = bits - math.frexp(word.view(np.float64)[0])[1]
        exponents[i] = exponent - shift
        if abs(shift) <= FAREST:
            # A product with a power of two is what ldexp gives, where that power is a float.
            _round_times(row, math.ldexp(1.0, shift), made)
        else:
            for k in range(row.size):
                made[k] = np.rint(math.ldexp(np.float64(row[k]), shift))
        _square_terms(made, weights, terms)
        squares[i] = lane_sum(terms)
    return unusable


@in_any_order
def _measures(row: Floats) -> tuple[float, float]:
    """The sums of the sizes of the numbers of a head, and of their squares."""
    total, square = 0.0, 0.0
    # A number of terms that is known when this is compiled: the loop becomes a few instructions.
    for k in range(HEAD):
        total += abs(row[k])
        square += row[k] * row[k]
    return total, square


@in_any_order
def _head_above(sizes: Floats, level: float) -> tuple[float, float]:
    """`_above` of a head."""
    total, count = 0.0, 0.0
    for k in range(HEAD):
        more = sizes[k] - level
        total += max(more, 0.0)
        count += 1.0 if more > 0.0 else 0.0
    return total, count


@in_any_order
def _head_sizes(row: Floats, factor: float, sizes: Floats) -> float:
    """Sizes of a head in grid units, and the largest."""
    largest = 0.0
    for k in range(HEAD):
        sizes[k] = abs(row[k]) * factor
        largest = max(largest, sizes[k])
    return largest


@compiled
def _head_lowered(sizes: Floats, over: float) -> None:
    for k in range(HEAD):
        sizes[k] = np.floor(max(sizes[k] - over, 0.0))


@compiled
def _add_head(row: Floats, sizes: Floats, level: float, totals: Floats) -> None:
    for k in range(HEAD):
        totals[k] += math.copysign(max(sizes[k] - level, 0.0), row[k])


@in_any_order
def _rounded_up(row: Floats, factor: float) -> float:
    """The sum of sizes in whole grid units, each rounded up."""
    total = 0.0
    for k in range(UNSIGNED(row.size)):
        total += np.ceil(abs(row[k]) * factor)
    return total


@in_any_order
def _floors(row: Floats, factor: float, sizes: Floats) -> tuple[np.int64, float]:
    """Sizes of a row in whole grid units, the bits of the largest one before that, and their sum."""
    largest, total = np.int64(0), 0.0
    for k in range(UNSIGNED(row.size)):
        size = np.float64(abs(row[k]) * factor)
        largest = max(largest, size.view(np.int64))
        sizes[k] = np.floor(size)
        total += np.floor(size)
    return largest, total


@in_any_order
def _above(sizes: Floats, level: float) -> tuple[float, float]:
    """By how much integers are above a level, together, and how many of them."""
    total, count = 0.0, 0.0
    for k in range(UNSIGNED(sizes.size)):
        more = sizes[k] - level
        total += max(more, 0.0)
        count += 1.0 if more > 0.0 else 0.0
    return total, count


@compiled
def _level(sizes: Floats, limit: float, total: float) -> float:
    """The least whole number by which integers are to be lowered for a sum of at most `limit`.

    What is left is a convex function of the level, and a step of Newton's, rounded up, leads from a
    level that is too low to a higher one that is not too high; the first is from zero, where all of
    `total` is left, as if of all numbers. All numbers are integers below 2^53, and a quotient of such
    numbers is less than 1 / count off: it is not rounded to an integer that it exceeds.
    """
    level, count = 0.0, float(sizes.size)
    while total > limit:
        level += np.ceil((total - limit) / count)
        total, count = _above(sizes, level)
    return level


@compiled
def _lowered(
    row: Floats, factor: float, limit: float, sizes: Floats, words: Integers
) -> tuple[float, float]:
    """Whole sizes of a row, all lowered to at most the limit, their sum, and the largest size before."""
    words[0], total = _floors(row, factor, sizes)
    largest = words.view(np.float64)[0]
    if largest > limit:
        for k in range(UNSIGNED(row.size)):
            sizes[k] = np.floor(max(limit - (largest - abs(row[k]) * factor), 0.0))
        total = _above(sizes, 0.0)[0]
    return total, largest


@compiled
def settle(
    heads: Floats,
    squares: Floats,
    exponents: Integers,
    near: Flags,
    public: tuple[float, float, float, int, float],
    inside: Flags,
    left: NDArray[np.intp],
    totals: Floats,
) -> int:
    """Settle the rows of which leading coefficients and the length tell enough; returns how many do not.

    Rows that are proved to lie in the ball are marked as inside. Rows whose projection is proved to be
    that of the head are added to `totals`. All others are put in `left`.

    `public` is what a square length is multiplied by to bound that of all coefficients, the root of
    their number behind the head, the largest sum of sizes of a row that is inside, the bits of a unit of
    projected coefficients, and the radius.
    """
    square, root, room, shift, limit = public
    sizes, count, unit = np.empty(HEAD), 0, math.ldexp(1.0, -shift)
    for i in range(heads.shape[0]):
        row = heads[i]
        total, own = _measures(row)
        # No coefficient behind the head is larger than all of them together are long.
        tail = math.sqrt(max(square * squares[i] - own, 0.0)) * OUTWARD
        inside[i] = near[i] and total + root * tail <= room
        if inside[i]:
            continue
        left[count] = i
        count += 1
        factor = unit if exponents[i] == 0 else math.ldexp(1.0, min(exponents[i] - shift, FAREST))
        tail *= factor
        if not limit < total * factor < LARGE:
            continue
        # As `_lowered` lowers sizes; below LARGE nothing is rounded here.
        over = max(_head_sizes(row, factor, sizes) - limit, 0.0)
        if not tail < over + limit:
            continue
        _head_lowered(sizes, over)
        # So large, at most, is what is behind the head after it was lowered too.
        level = np.floor(max(tail - over, 0.0) + MARGIN)
        above, many = _head_above(sizes, level)
        if not (above > limit or (level == 0.0 and over > 0.0)):
            continue
        while above > limit:
            level += np.ceil((above - limit) / many)
            above, many = _head_above(sizes, level)
        count -= 1
        _add_head(row, sizes, level, totals)
    return count


@compiled
def add_inside(integers: Floats, inside: Flags, totals: Floats) -> None:
    """Add the marked rows, four at a time: totals are read once for four."""
    count, chosen = 0, np.empty(inside.size, dtype=np.intp)
    for i in range(inside.size):
        chosen[count] = i
        count += int(inside[i])
    fours = count - count % 4
    for n in range(0, fours, 4):
        a, b = integers[chosen[n]], integers[chosen[n + 1]]
        c, d = integers[chosen[n + 2]], integers[chosen[n + 3]]
        for k in range(UNSIGNED(totals.size)):
            totals[k] += (a[k] + b[k]) + (c[k] + d[k])
    for n in range(fours, count):
        row = integers[chosen[n]]
        for k in range(UNSIGNED(totals.size)):
            totals[k] += row[k]


@compiled
def _copy(row: Floats, made: Floats) -> None:
    # Entry by entry: an assignment of arrays takes longer to compile than the rest of a loop.
    for k in range(UNSIGNED(row.size)):
        made[k] = row[k]


@compiled
def take(
    values: Numbers,
    begin: int,
    weights: Floats,
    grid: tuple[int, float, int, float],
    head: tuple[Floats, bool],
    public: tuple[float, float, float, int, float],
    kept: tuple[Floats, Floats, Integers, Flags, Integers],
    totals: tuple[Floats, Floats],
) -> tuple[int, int, int]:
    """Take rows until no more can be kept; returns which is next, how many were kept, and unusable ones.

    A few at a time, so that they stay in the nearest cache: they become integers, and are settled by
    their heads. Those that are not are kept: integers, heads, exponents, whether they are on the public
    grid, and numbers. `grid` is the exponent of the public grid, its scale, the bits of the integers of
    longer rows, and the square of the limit; `head` as `head_products` takes it.
    """
    exponent, scale, bits, limit = grid
    points, room, count, unusable = values.shape[1], kept[0].shape[0] - CHUNK, 0, 0
    integers, terms = np.zeros((CHUNK, points)), room_for_lanes(points)
    squares, exponents, near = np.empty(CHUNK), np.empty(CHUNK, np.int64), np.empty(CHUNK, np.bool_)
    heads, inside = np.zeros((CHUNK, HEAD)), np.zeros(CHUNK, np.bool_)
    left = np.arange(CHUNK)
    while begin < values.shape[0] and count <= room:
        chunk = values[begin : begin + CHUNK]
        size = chunk.shape[0]
        place(chunk, weights, scale, integers, squares, terms)
        unusable += place_long(
            chunk, weights, exponent, bits, limit, integers, squares, terms, exponents, near
        )
        many = size
        if head[0].size:
            head_products(integers, head[0], head[1], heads)
            many = settle(heads[:size], squares, exponents, near, public, inside, left, totals[1])
            add_inside(integers, inside[:size], totals[0])
        for n in range(many):
            i, place_of = left[n], count + n
            _copy(integers[i], kept[0][place_of])
            _copy(heads[i], kept[1][place_of])
            kept[2][place_of], kept[3][place_of], kept[4][place_of] = exponents[i], near[i], begin + i
        count += many
        begin += size
    return begin, count, unusable


@compiled
def add_left(
    coefficients: Floats,
    exponents: Integers,
    near: Flags,
    shift: int,
    radius: int,
    inside: Flags,
    careful: Flags,
    totals: Floats,
) -> None:
    """Find which rows are inside the ball; project the others, in integers, verify and add them.

    To the same integers as `dpfda.bounds.balls`. Rows that floats do not hold are marked as careful and
    not added. The caller sees to it that the sums of all rows stay below 2^53.
    """
    limit, unit = float(radius), math.ldexp(1.0, -shift)
    words = np.empty(1, dtype=np.int64)
    # With zeros behind, which are above no level: loops are faster over numbers that fill vectors.
    sizes = room_for_lanes(coefficients.shape[1])
    for i in range(coefficients.shape[0]):
        row, inside[i] = coefficients[i], False
        careful[i] = abs(exponents[i] - shift) > FAREST
        if careful[i]:
            continue
        factor = unit if exponents[i] == 0 else math.ldexp(1.0, exponents[i] - shift)
        total, largest = _lowered(row, factor, limit, sizes, words)
        careful[i] = not largest <= LARGEST
        if careful[i]:
            continue
        if near[i] and total <= limit:
            inside[i] = _rounded_up(row, factor) <= limit
            if inside[i]:
                continue
        level = 0.0
        if total > limit:
            level = _level(sizes, limit, total)
        for k in range(UNSIGNED(row.size)):
            totals[k] += math.copysign(max(sizes[k] - level, 0.0), row[k])


@compiled
def fold(rows: Floats, folded: Floats) -> None:
    """Sums of mirrored entries and that in the middle, and behind them differences."""
    size = UNSIGNED(rows.shape[1])
    half = size // UNSIGNED(2)
    behind = size - half
    for i in range(rows.shape[0]):
        row, made = rows[i], folded[i]
        # Two loops: together they take twice as long.
        for k in range(half):
            made[k] = row[k] + row[size - UNSIGNED(1) - UNSIGNED(k)]
        for k in range(half):
            made[behind + UNSIGNED(k)] = row[k] - row[size - UNSIGNED(1) - UNSIGNED(k)]
        if behind > half:
            made[half] = row[half]
