"""The exact integer sum over privacy units: the last private thing, and it cannot be looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import SupportsInt, TypeAlias

import numpy as np

from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Cells, Integers
from dpfda.numerics.errors import CustodyError, DpfdaError, Kept

Matrix: TypeAlias = "Integers | scipy.sparse.csr_array"


class IntegerSum(Kept):
    """Sum of integer rows, exact and mergeable in any order.

    It can be added to and merged, and it leaves only with noise (`with_noise`) or under masks
    (`masked`). It does not print, pickle or copy. Totals are Python integers, so no number of records
    overflows them.

    A total of parts that were masked is known modulo a power of two (`modulo`). It is then reduced after
    the noise, and the release is a function of total plus noise, whatever somebody added to the total:
    reduced before, a part made to wrap it would move neighbours far apart.
    """

    __slots__ = ("_count", "_modulus", "_total", "_unit")

    def __init__(self, components: int) -> None:
        self._total = [0] * components
        self._count = 0
        self._unit = 1
        self._modulus = 0

    @property
    def components(self) -> int:
        """How many totals there are: public."""
        return len(self._total)

    @classmethod
    def of(cls, values: Sequence[int]) -> IntegerSum:
        """One row of integers of any size."""
        total = cls(len(values))
        total._total = [int(value) for value in values]
        total._count = 1
        return total

    @classmethod
    def modulo(cls, totals: Sequence[int], count: int, modulus: int) -> IntegerSum:
        """Totals and a number of rows that are known modulo a power of two."""
        total = cls(len(totals))
        total._total, total._count, total._modulus = [*totals], count, modulus
        return total

    def masked(self, masks: Sequence[int], modulus: int) -> list[int]:
        """Totals, and behind them the number of rows, plus masks modulo a power of two.

        Under uniform secret masks these are uniform numbers, whatever the records.
        """
        numbers = zip((*self._total, self._count), masks, strict=True)
        return [(number + mask) % modulus for number, mask in numbers]

    def add(self, rows: Integers) -> IntegerSum:
        """Add integer rows (n, components), each entry below 2^31 and n below 2^31; returns self."""
        self._total = [a + int(b) for a, b in zip(self._total, rows.sum(axis=0), strict=True)]
        self._count += rows.shape[0]
        return self

    def add_totals(self, totals: Iterable[SupportsInt], rows: int) -> IntegerSum:
        """Add the exact integer totals (components,) of many rows; returns self."""
        self._total = [a + int(b) for a, b in zip(self._total, totals, strict=True)]
        self._count += rows
        return self

    def through(self, matrix: Matrix) -> IntegerSum:
        """The sum of all rows times a public integer matrix (K, components), exactly: a new sum."""
        product = IntegerSum(matrix.shape[0])
        product._total = exact_product(matrix, self._total)
        product._count, product._unit, product._modulus = self._count, self._unit, self._modulus
        return product

    def weighed(self, factor: Fraction, counts: int = 0, unit: int = 1) -> IntegerSum:
        """Totals times a factor, each rounded to the nearest integer; rows count as before: a new sum.

        Totals that differ by d differ by less than factor |d| + 1 then, in every coordinate.
        counts, unit: So many of the last totals are numbers of units, told in parts of 1 / unit.
        """
        if self._modulus:
            raise DpfdaError("A total of masked parts cannot be rounded.")
        rounded, last = IntegerSum(len(self._total)), len(self._total) - counts
        rounded._unit = self._unit
        scaled = (factor * total * (1 if j < last else unit) for j, total in enumerate(self._total))
        return rounded.add_totals(
            (math.floor(number + Fraction(1, 2)) for number in scaled), self._count
        )

    @classmethod
    def one_number(
        cls, sums: Sequence[IntegerSum], function: Callable[[list[list[int]]], int],
        apart: bool = True, counts: int = 0,
    ) -> IntegerSum:  # fmt: skip
        """One integer, a function of the exact totals of several sums: a new sum.

        The caller has proved by how much a record moves it, for totals of any size. Totals of masked
        parts are folded first, and refused unless the proof bounds how far each moves `apart`.

        counts: Not 0 where behind the totals of each sum stands its number of rows, times this.
        """
        if not apart and any(part._modulus for part in sums):
            raise DpfdaError("Totals of masked parts cannot be compared.")
        totals = [[part._folded(total) for total in part._total] for part in sums]
        if counts:
            for own, part in zip(totals, sums, strict=True):
                own.append(part._folded(part._count) * part._times(counts))
        return cls.of([function(totals)])

    def merge(self, other: IntegerSum) -> IntegerSum:
        """Add another sum; returns self."""
        if self._unit != other._unit:
            raise DpfdaError("Sums with weights and without cannot be added up.")
        self._total = [a + b for a, b in zip(self._total, other._total, strict=True)]
        self._count += other._count
        self._modulus = self._modulus or other._modulus
        return self

    @classmethod
    def side_by_side(cls, sums: Sequence[IntegerSum]) -> IntegerSum:
        """The totals of several sums one after another, and behind them their numbers of rows."""
        total = cls(0)
        total._total = [number for part in sums for number in part._total]
        total._total += [part._count for part in sums]
        total._count = sum(part._count for part in sums)
        return total

    def parted(self, parts: int) -> list[IntegerSum]:
        """The sums of equal length that `side_by_side` put together."""
        length = len(self._total) // parts - 1
        sums = [IntegerSum(length) for _ in range(parts)]
        for number, part in enumerate(sums):
            part._total = self._total[number * length : (number + 1) * length]
            part._count, part._modulus = self._total[parts * length + number], self._modulus
        return sums

    def with_noise(self, noise: Sequence[int], thresholds: Sequence[int] = ()) -> tuple[int, ...]:
        """Leading components of the sum, soft-thresholded if asked, plus integer noise: the release.

        The caller has charged the ledger. Soft thresholding moves no two values apart, so it does not
        raise the sensitivity of any component.
        """
        if len(noise) > len(self._total):
            raise DpfdaError(f"{len(noise)} noise values for {len(self._total)} components.")
        levels = thresholds or [0] * len(noise)
        if any(type(value) is not int for value in (*noise, *levels)):
            # A fraction would show in the last digits which coefficients are not zero.
            raise DpfdaError("Noise and thresholds must be integers.")
        if self._modulus and any(levels):
            raise DpfdaError("A total of masked parts cannot be thresholded.")
        rows = zip(self._total[: len(noise)], levels, noise, strict=True)
        return tuple(self._reduced(soft_threshold(total, level) + added) for total, level, added in rows)

    def count_with_noise(self, noise: int, scale: int) -> int:
        """Number of rows times `scale`, plus integer noise: the release of the count."""
        return self._reduced(self._count * self._times(scale) + noise)

    def _times(self, scale: int) -> int:
        """What takes the number of rows, or the total of their weights, to that scale."""
        if scale % self._unit:
            raise DpfdaError("Weights must be whole numbers of what the count is in.")
        return scale // self._unit

    def counted_as(self, total: int, unit: int) -> IntegerSum:
        """With the total of the rows' weights, in units of 1 / unit, as their number; returns self."""
        self._count, self._unit = total, unit
        return self

    def _folded(self, total: int) -> int:
        """A total modulo M as an integer, from Z_M without a jump: no total of records is changed.

        A sum z of the signed numbers nearest to zero becomes sign(z) min(|z|, M / 2 - |z|, limit), the
        limit 2^64 times the largest total of records. By |z| and M / 2 - |z| the value follows the
        circle at slope one, through zero at both 0 and M / 2: totals that differ by d modulo M have
        values that differ by at most |d|. So a liar who adds M / 2 gains nothing, and nothing is refused
        by a look at what is private.
        """
        half = self._modulus // 2
        if not half:
            return total
        near = (total + half) % self._modulus - half
        size = min(abs(near), half - abs(near), half >> 64)
        return size if near > 0 else -size

    def _reduced(self, noisy: int) -> int:
        """The number nearest to zero that is equal to it modulo the modulus, where there is one.

        Its room for noise is 2^128 times the largest total: far in it lies the sum of no records.
        """
        half = self._modulus // 2
        if not half:
            return noisy
        near = (noisy + half) % self._modulus - half
        if abs(near) > half >> 64:
            raise CustodyError(
                "The parts of the custodians must add up to a sum of records; they do not. At least one "
                "was not made as agreed. What was charged before stays charged."
            )
        return near

    def __repr__(self) -> str:
        return f"IntegerSum({len(self._total)} components, content private)"


def exact_product(matrix: Matrix, vector: Sequence[int]) -> list[int]:
    """Matrix (K, m) of integers times a vector of integers of any size, exactly.

    Both are cut into digits of so few bits that a row's products add up below 2^62. A sparse matrix is
    cut entry by entry, like any other.
    """
    bits = (61 - matrix.shape[1].bit_length()) // 2
    total = np.zeros(matrix.shape[0], dtype=object)
    for place, part in enumerate(_parts(matrix, bits)):
        for other, digit in enumerate(_digits(np.array(list(vector), dtype=object), bits)):
            total += (part @ digit).astype(object) * (1 << bits * (place + other))
    return [int(value) for value in total]


def _parts(matrix: Matrix, bits: int) -> Sequence[Matrix]:
    """Digits of a matrix, each in its own form."""
    if isinstance(matrix, np.ndarray):
        return _digits(matrix, bits)
    rows = scipy.sparse.csr_array(matrix)
    parts = _digits(rows.data, bits)
    return [scipy.sparse.csr_array((part, rows.indices, rows.indptr), rows.shape) for part in parts]


def _digits(numbers: Cells, bits: int) -> list[Integers]:
    """Integers d_0, d_1, .. of size at most 2^bits with sum_i d_i 2^(i bits) = numbers."""
    digits = []
    while np.any((numbers >= 1 << bits) | (numbers < -(1 << bits))):
        digits.append((numbers & ((1 << bits) - 1)).astype(np.int64))
        numbers = numbers >> bits
    return [*digits, numbers.astype(np.int64)]


def soft_threshold(value: int, level: int) -> int:
    """Move a value toward zero by `level`, stopping there."""
    size = max(abs(value) - max(level, 0), 0)
    return size if value > 0 else -size
