"""Names for the types of arrays.

Native numpy arrays of at most 64 bits are read as float64, each entry by itself.

Here the type leaves no choice: every content is read as `dpfda.records.cells` reads the entry alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
# Of numbers at any width, and of any type: as records come.
Numbers = NDArray[np.number]
Cells = NDArray[Any]
# Python's own integers, or balls.
Objects = NDArray[np.object_]


# From here on float64 does not hold every integer: such an entry is a label, or would be rounded unseen.
TOO_LARGE = 2.0**53
WIDEST = 8
# Numbers that are turned at a time, in the processor's cache.
NUMBERS_AT_ONCE = 2**16


def is_plain(values: object) -> TypeGuard[Cells]:
    """Whether this is an array of numpy itself (a memory map among them), without a mask or more."""
    return type(values) in (np.ndarray, np.memmap)


def is_native(dtype: object) -> bool:
    """Whether entries are bools, integers or real floats of at most 64 bits."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= WIDEST


def doubles(values: Cells) -> Floats:
    """Copy of a native array as float64; infinite where an integer is of 2^53 or more in size.

    Whoever adds records up takes those that are not finite for unusable.
    """
    numbers = np.empty(values.shape)
    with np.errstate(all="ignore"):
        np.copyto(numbers, values)
    if values.dtype.kind in "iu" and values.dtype.itemsize == WIDEST:
        # Rounding is monotone and 2^53 is a double: no integer crosses the limit by it.
        numbers[np.abs(numbers) >= TOO_LARGE] = np.inf
    return numbers


def is_direct(values: Cells) -> bool:
    """Whether the compiled loops can read an array where it lies."""
    return (
        values.dtype in (np.float64, np.float32) and values.dtype.isnative and values.flags.c_contiguous
    )


def put_columns(matrix: Cells, columns: Sequence[Cells]) -> None:
    """Put columns into a matrix: some rows of each side by side, which are then turned."""
    step = max(1, NUMBERS_AT_ONCE // max(1, len(columns)))
    turned = np.empty((len(columns), step), dtype=matrix.dtype)
    for start in range(0, len(matrix), step):
        block = matrix[start : start + step]
        for part, numbers in zip(turned, columns, strict=True):
            part[: len(block)] = numbers[start : start + step]
        block[:] = turned[:, : len(block)].T
