"""Records to coefficients: products with a public matrix in which row i depends on record i alone.

A floating-point matrix product does not have that property: BLAS orders its sums by the shape of
the whole matrix, so the last bits of one row change with the number of other rows. Here values and
matrix are first rounded to integers, few enough bits that every partial sum stays below 2^53. Then
each float64 operation is exact and any order of summation gives the same row.

The price is a fixed relative error of about 2^-b / sqrt(m) in a coefficient, with
b = (53 - log2 m) / 2: below 1e-8 for any grid. It is an error of accuracy, not of privacy, because
coefficients are clipped afterwards.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from dpfda.numerics.arrays import Floats, Integers

# Powers of two up to this one, and down to its inverse, are floats.
FAR = 1000


class Rows(NamedTuple):
    """Coefficients as ``mantissas * 2**exponents``: integers held in float64, one exponent a row."""

    mantissas: Floats
    exponents: Integers


def project(values: Floats, analysis: Floats) -> Rows:
    """Multiply records by a public matrix, exactly in integers.

    values: array (n, m). Finite values of n records on the grid. Private.
    analysis: array (m, K). Public matrix.
    Returns mantissas (n, K) and exponents (n,); row i is a function of ``values[i]`` alone.
    """
    return product(values, *quantised(analysis))


def coefficients(values: Floats, analysis: Floats) -> Floats:
    """What `project` makes of records, as floats (n, K)."""
    rows = project(values, analysis)
    return times_powers(rows.mantissas, rows.exponents)


def product(values: Floats, public: Floats, exponent: int, bits: int) -> Rows:
    """`project` with a matrix that is `quantised` already."""
    # The smallest e with |values| < 2^e in each row; a maximum does not depend on order.
    exponents = np.frexp(np.max(np.abs(values), axis=1))[1].astype(np.int64)
    integers = times_powers(values, bits - exponents)
    np.rint(integers, out=integers)
    return Rows(integers @ public, exponents + (exponent - 2 * bits))


def times_powers(values: Floats, exponents: Integers) -> Floats:
    """Rows (n, m) times ``2**exponents``, one a row, rounded once."""
    if np.any(np.abs(exponents) > FAR):
        return np.asarray(np.ldexp(values, exponents[:, None]))
    # A product with a power of two that is a float is what ldexp gives, several times as fast.
    return np.asarray(values * np.ldexp(1.0, exponents)[:, None])


def quantised(analysis: Floats) -> tuple[Floats, int, int]:
    """The public matrix as integers in float64, its exponent, and the bits that each factor has."""
    bits = (53 - math.ceil(math.log2(analysis.shape[0]))) // 2
    exponent = int(np.frexp(np.max(np.abs(analysis)))[1])
    return np.rint(np.ldexp(analysis, bits - exponent)), exponent, bits


@runtime_checkable
class OwnTransform(Protocol):
    """A basis that takes one function at a time to coefficients, without a matrix."""

    def scaled_transform(self, values: Floats) -> tuple[Floats, int]:
        """Coefficients c and an exponent e of one function on the grid: its coefficients are c 2^e."""


def transform(values: Floats, basis: OwnTransform) -> Rows:
    """Take records to coefficients by the basis's own fast transform, one record at a time.

    A transform of many records at once would treat them in groups, and the last bits of one could change
    with its place in a group.

    values: array (n, m). Finite values of n records on the grid. Private.
    basis: Public.
    Returns coefficients (n, K) and exponents (n,); row i is a function of ``values[i]`` alone.
    """
    pairs = [basis.scaled_transform(row) for row in values]
    return Rows(np.array([c for c, _ in pairs]), np.array([e for _, e in pairs], dtype=np.int64))


def transform_matrix(basis: OwnTransform, points: int) -> Floats:
    """The matrix (m, K) of a basis's transform, from what it makes of ones at each of m points."""
    return np.array([np.ldexp(*basis.scaled_transform(row)) for row in np.eye(points)])


def row_lengths(rows: Rows) -> Floats:
    """Lengths (n,) of rows in l2; an overflow, or what is no number, is above any bound."""
    with np.errstate(all="ignore"):
        return np.ldexp(np.sqrt(sum_columns(rows.mantissas**2)), rows.exponents)


def sum_columns(matrix: Floats) -> Floats:
    """Row sums in a fixed order, column by column, so that a row's sum depends on that row alone."""
    total = np.zeros(matrix.shape[0])
    for column in np.ascontiguousarray(matrix.T):
        total += column
    return total
