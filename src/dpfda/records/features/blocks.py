"""Functions of rows in which a row's last bit does not depend on other rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.embedding import project
from dpfda.numerics.errors import ParameterError

# Rows of a block and numbers that a row is padded to: more than any vector register holds.
BLOCK = 256
PAD = 16


def product(values: Floats, matrix: Floats) -> Floats:
    """Product with a public matrix, exact in integers before one scaling."""
    rows = project(values, matrix)
    return np.asarray(np.ldexp(rows.mantissas, rows.exponents[:, None]))


def padded(rows: Floats) -> Floats:
    """Rows (m, d) with the last one repeated up to a multiple of `PAD`."""
    more = -rows.shape[0] % PAD
    return np.vstack([rows, np.repeat(rows[-1:], more, axis=0)])


def by_blocks(points: Floats, function: Callable[[Floats], Floats], components: int) -> Floats:
    """A function of rows, over blocks of one size whatever their number."""
    values = np.empty((points.shape[0], components))
    for start in range(0, points.shape[0], BLOCK):
        rows = points[start : start + BLOCK]
        block = np.zeros((BLOCK, points.shape[1]))
        block[: rows.shape[0]] = rows
        values[start : start + BLOCK] = function(block)[: rows.shape[0]]
    return values


def count(value: object, name: str, least: int) -> int:
    """Read a public integer of at least `least`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ParameterError(name, f"be an integer of at least {least}", repr(value))
    return int(value)
