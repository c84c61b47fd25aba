"""The exact sum of outer products over privacy units; like any sum it leaves only as a release.

Rows are integers of at most 2^24 and arrive at most 2^14 at a time, so that the sum of a block stays
below 2^62 in 64-bit integers; blocks are added up in Python integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from dpfda.bounds import IntegerBall
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Integers, Objects
from dpfda.numerics.errors import DpfdaError, Kept, ParameterError

LARGEST = 2**24
BLOCK = 2**14

Matrix = list[list[int]]
Drawn = TypeVar("Drawn")


@lru_cache(1024)
def outer_ball(radius: float) -> IntegerBall:
    """The l2 ball of integer rows whose outer products are summed: a radius of at most 2^24.

    radius: Public radius of a record's coefficients, in their units.
    """
    if not radius > 0:
        raise ParameterError("radius", "be positive", f"{radius}")
    return IntegerBall.up_to("l2", radius, LARGEST)


def outer_product(rows: Integers) -> Integers:
    """Product of the transpose of at most 2^14 rows, of at most 2^24 each, with them: exact, by BLAS.

    One factor is cut into halves of 12 bits, so that all partial sums are integers of at most 2^50, in
    any order.
    """
    numbers = rows.astype(np.float64)
    high = np.rint(numbers * 2.0**-12)
    upper = (high.T @ numbers).astype(np.int64)
    high *= -(2.0**12)
    high += numbers
    return np.asarray((upper << 12) + (high.T @ numbers).astype(np.int64))


class OuterSum(Kept):
    """Sum of c c^T over integer rows c, exact and mergeable in any order.

    It does not print, pickle or copy. It leaves with noise (`with_noise`), or through a mechanism that
    is handed the whole sum (`through`).

    size: Number M of entries of a row.
    """

    __slots__ = ("_count", "_matrix", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        # Python's own integers: no sum or product of them can overflow.
        self._matrix: Objects = np.full((size, size), 0, dtype=object)
        self._count = 0

    def add(self, rows: Integers) -> OuterSum:
        """Add the outer products of integer rows (n, M), n at most 2^14; returns self.

        Raises DpfdaError if a block is too long or a row could overflow: a mistake of the program, not
        of the data.
        """
        if rows.shape[0] > BLOCK or (rows.size and (rows.max() > LARGEST or rows.min() < -LARGEST)):
            raise DpfdaError("Rows must be clipped to the ball and come in blocks.")
        self._matrix = self._matrix + outer_product(rows).astype(object)
        self._count += rows.shape[0]
        return self

    def triangle(self) -> IntegerSum:
        """Lower triangle, row by row, as a sum of integers; that of leading entries comes first."""
        entries = self._matrix[np.tril_indices(self.size)]
        return IntegerSum(entries.size).add_totals(entries, self._count)

    def leading(self, size: int) -> OuterSum:
        """The sum for the leading entries of every row."""
        return self._part(self._matrix[:size, :size])

    def compressed(self, directions: Sequence[Sequence[int]]) -> OuterSum:
        """The sum of the outer products of V^T c, for public integer columns V (k of length M)."""
        rows = np.array(directions, dtype=object)
        return self._part(rows @ self._matrix @ rows.T)

    def _part(self, matrix: Objects) -> OuterSum:
        part = OuterSum(len(matrix))
        part._matrix, part._count = matrix, self._count
        return part

    def with_noise(self, noise: Sequence[int]) -> tuple[int, ...]:
        """Lower triangle, row by row, plus integer noise: the release. The ledger has been charged."""
        return self.triangle().with_noise(noise)

    def through(self, mechanism: Callable[[Matrix], Drawn]) -> Drawn:
        """What a mechanism makes of the sum; the mechanism is private by itself and has been charged."""
        return mechanism(self._matrix.tolist())
