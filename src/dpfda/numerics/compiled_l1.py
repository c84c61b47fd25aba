"""Sums of records in an l1 ball, compiled: rows shared out to threads.

What is summed, and why it is bounded, is said in `dpfda.bounds.l1sums`.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

import numpy as np

from dpfda.numerics.arrays import Cells, Floats, Integers
from dpfda.numerics.compiled import NUMBERS_A_THREAD, NUMBERS_AT_ONCE, threads
from dpfda.numerics.native_arrays import doubles, is_direct
from dpfda.numerics.one_thread import one_thread

# Integers below 2^37 add up exactly in float64.
ROWS_AT_ONCE = 2**15


class Rule(Protocol):
    """The public numbers that the loops need; see `dpfda.bounds.l1sums.L1Rule`."""

    @property
    def matrix(self) -> Floats:
        """Integers (m, K) that take a record on the grid to coefficients."""

    @property
    def weights(self) -> Floats:
        """Quadrature weights (m,)."""

    @property
    def exponent(self) -> int:
        """The public grid of values is 2^-exponent."""

    @property
    def limit(self) -> float:
        """Largest weighted length of a record on that grid."""

    @property
    def bits(self) -> int:
        """Of the integers of a longer record."""

    @property
    def shift(self) -> int:
        """A unit of projected coefficients is 2^shift of those of coefficients."""

    @property
    def radius(self) -> int:
        """Of the ball, in units of projected coefficients."""

    @property
    def head(self) -> int:
        """Number of leading coefficients from which a row may be settled; zero for none."""

    @property
    def tail(self) -> tuple[float, float, float]:
        """What bounds the coefficients behind the head; see `L1Rule.tail`."""


class Parts(NamedTuple):
    """Sums over records: on the grid of those inside, and of projected coefficients. Private."""

    grid: Integers
    projected: Integers
    unusable: int
    careful: Integers


def sums(values: Cells, rule: Rule) -> Parts:
    """Sums over records of any real type; rows in `careful` are left to the caller."""

    def work(rows: Integers) -> Parts:
        # Here, because a thread does not inherit it: a warning of an overflow tells something of values.
        with np.errstate(all="ignore"):
            return _sum_rows(values[rows[0] : rows[-1] + 1], int(rows[0]), rule)

    # No thread without a row, however long the rows.
    count = max(1, min(threads(), 1 + values.size // NUMBERS_A_THREAD, values.shape[0]))
    # The threads are ours: BLAS with threads of its own beside them is several times slower.
    with one_thread(), ThreadPoolExecutor(count) as pool:
        parts = list(pool.map(work, np.array_split(np.arange(values.shape[0]), count)))
    grid, projected, unusable, careful = zip(*parts, strict=True)
    return Parts(np.sum(grid, axis=0), np.sum(projected, axis=0), sum(unusable), np.concatenate(careful))


def _sum_rows(values: Cells, first: int, rule: Rule) -> Parts:
    """`sums` in one thread."""
    worker = _Worker(rule)
    step = len(values) if is_direct(values) else max(1, NUMBERS_AT_ONCE // len(rule.matrix))
    for start in range(0, values.shape[0], min(step, ROWS_AT_ONCE)):
        block = values[start : start + min(step, ROWS_AT_ONCE)]
        worker.add(block if is_direct(block) else doubles(block), first + start)
    return worker.parts()


class _Worker:
    """The memory of one thread, and what it has added up. Private.

    Rows that are not settled by their heads are kept until there are enough of them for a product.
    """

    def __init__(self, rule: Rule) -> None:
        points, size = rule.matrix.shape
        rows = max(64, NUMBERS_AT_ONCE // points)
        self._rule, self._unusable, self._careful = rule, 0, [np.zeros(0, dtype=np.int64)]
        self._grid, self._projected = np.zeros(points, np.int64), np.zeros(size, np.int64)
        head, self._product = _Head.of(rule), SymmetricProduct(rule.matrix[:, rule.head :])
        self._order = np.concatenate([head.order, rule.head + self._product.order])
        self._kept = (
            np.empty((rows, points)), np.empty((rows, 16)), np.empty(rows, np.int64),
            np.empty(rows, np.bool_), np.empty(rows, np.int64),
        )  # fmt: skip
        self._coefficients = np.empty((rows, size))
        scale = math.ldexp(1.0, rule.exponent)
        self._public = (
            np.array(rule.weights), (rule.exponent, scale, rule.bits, rule.limit * rule.limit),
            (head.matrix, head.mirrored), (*rule.tail, rule.shift, float(rule.radius)), self._kept,
        )  # fmt: skip

    def add(self, block: Cells, first: int) -> None:
        """Add at most 2^15 rows that lie directly in memory, numbered from `first`."""
        from dpfda.numerics import numba_l1

        begin, totals = 0, (np.zeros(self._grid.size), np.zeros(self._projected.size))
        while begin < len(block):
            begin, count, unusable = numba_l1.take(block, begin, *self._public, totals)
            self._unusable += unusable
            self._finish(count, first)
        self._grid += totals[0].astype(np.int64)
        self._projected[self._order] += totals[1].astype(np.int64)

    def _finish(self, count: int, first: int) -> None:
        """Add the rows that were kept."""
        from dpfda.numerics import numba_l1

        rule, coefficients, head = self._rule, self._coefficients[:count], self._rule.head
        integers, heads, exponents, near, numbers = (part[:count] for part in self._kept)
        coefficients[:, :head] = heads[:, :head]
        self._product(integers, coefficients[:, head:])
        inside, careful = np.empty((2, count), np.bool_)
        grid, projected = np.zeros(self._grid.size), np.zeros(self._projected.size)
        public = rule.shift, rule.radius
        numba_l1.add_left(coefficients, exponents, near, *public, inside, careful, projected)
        numba_l1.add_inside(integers, inside, grid)
        self._grid += grid.astype(np.int64)
        self._projected[self._order] += projected.astype(np.int64)
        self._careful.append(first + numbers[careful])

    def parts(self) -> Parts:
        """What was added up."""
        return Parts(self._grid, self._projected, self._unusable, np.concatenate(self._careful))


class _Head(NamedTuple):
    """Leading columns of the matrix, as `head_products` takes them."""

    matrix: Floats
    order: Integers
    mirrored: bool

    @classmethod
    def of(cls, rule: Rule) -> _Head:
        matrix = rule.matrix[:, : rule.head]
        even = np.all(matrix == matrix[::-1], axis=0)
        odd = np.all(matrix == -matrix[::-1], axis=0) & ~even
        mirrored = bool(rule.head) and even.sum() == odd.sum() == rule.head // 2
        order = np.argsort(~even, kind="stable") if mirrored else np.arange(rule.head)
        return cls(matrix[:, order].copy(), order, mirrored)


class SymmetricProduct:
    """Products of rows of integers with a public matrix of integers, its columns in the order `order`.

    Columns that are even or odd about the middle of the grid, as eigenfunctions of a stationary kernel
    are, need sums or differences of mirrored entries alone, which is half of the work. Everything is an
    integer below 2^53, and these are the same products.
    """

    def __init__(self, public: Floats) -> None:
        even = np.all(public == public[::-1], axis=0)
        odd = np.all(public == -public[::-1], axis=0) & ~even
        places = [np.flatnonzero(chosen) for chosen in (~(even | odd), even, odd)]
        half = (len(public) + 1) // 2
        self.order = np.concatenate(places)
        self._middle, self._ends = half, np.cumsum([part.size for part in places])
        rest, first, last = (np.ascontiguousarray(public[:, part]) for part in places)
        self._matrices = rest, first[:half].copy(), last[: len(public) - half].copy()

    def __call__(self, rows: Floats, products: Floats) -> None:
        """Put the products in place."""
        from dpfda.numerics import numba_l1

        (rest, even, odd), (one, two, three) = self._matrices, self._ends
        if one:
            np.matmul(rows, rest, out=products[:, :one])
        if three > one:
            folded = np.empty_like(rows)
            numba_l1.fold(rows, folded)
            np.matmul(folded[:, : self._middle], even, out=products[:, one:two])
            np.matmul(folded[:, self._middle :], odd, out=products[:, two:])
