"""What a file holds, read strictly: whole numbers, floats, texts and arrays, exact to the bit.

A file is data from anyone, so a value is taken only in the form in which it is written: nothing is
converted, numbers are finite, and nothing is made that is larger than what the file itself holds. Any
other value raises a ``ValueError``, which the reader of the file words as damage.
"""

from __future__ import annotations

import base64
import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import unseen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed import DataclassInstance

# Values of any type by their names, as JSON's objects have them.
Json = dict[str, Any]
# Integers are in units of 2^-exponent; a double's own exponents reach from -1074 to 1023.
LARGEST_EXPONENT, HIGHEST = 4096, 1024
# One unit moves a sum by 2^62 at most; noise has 2^30 times that, and never 2^64 times itself.
LARGEST_WHOLE = 2**200
# Cells of a grid, or functions, that a file may ask for by a number alone: half a gigabyte.
LARGEST_GRID = 2**24


def fields_to_json(record: DataclassInstance) -> dict[str, object]:
    """What a record of numbers, words and tuples of them holds, by its names."""
    values = {entry.name: getattr(record, entry.name) for entry in fields(record)}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}


def array_to_json(array: Floats) -> dict[str, object]:
    """Little-endian doubles in base64, with their shape."""
    data = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return {"shape": list(array.shape), "float64_base64": base64.b64encode(data).decode("ascii")}


def array_from_json(written: object) -> Floats:
    """The array again."""
    entries = mapping(written)
    data = base64.b64decode(text(entries["float64_base64"]), validate=True)
    shape = tuple(integer(size, 0) for size in sequence(entries["shape"]))
    if len(shape) > 8 or math.prod(shape) * 8 != len(data):
        raise ValueError("the shape does not fit the numbers")
    array = np.frombuffer(data, dtype="<f8").astype(np.float64).reshape(shape)
    if not np.all(np.isfinite(array)):
        raise ValueError("a number is not finite")
    return array


def integer(written: object, least: int | None = None, most: int | None = None) -> int:
    """A whole number, perhaps between limits; no larger in size than any that is ever published."""
    if type(written) is not int:
        raise ValueError("not a whole number")
    least, most = -LARGEST_WHOLE if least is None else least, LARGEST_WHOLE if most is None else most
    if not least <= written <= most:
        raise ValueError("a whole number is out of range")
    return written


def integers(written: object) -> tuple[int, ...]:
    """Several whole numbers."""
    return tuple(integer(value) for value in sequence(written))


def exponent(written: object, beside: Mapping[str, object]) -> int:
    """The exponent of a power of two in units of which no whole number beside it is beyond doubles."""
    power = integer(written, -HIGHEST, LARGEST_EXPONENT)
    lists = (part for part in beside.values() if isinstance(part, list))
    sizes = (abs(entry) for part in lists for entry in part if type(entry) is int)
    if max(sizes, default=0).bit_length() - power > HIGHEST:
        raise ValueError("a number is not finite")
    return power


def number(written: object) -> float:
    """A finite float."""
    if not isinstance(written, int | float) or type(written) not in (int, float):
        raise ValueError("not a number")
    value = float(written)
    if not math.isfinite(value):
        raise ValueError("a number is not finite")
    return value


def floats(written: object) -> Floats:
    """An array of finite floats from nested lists of numbers, or from one number."""
    _check_numbers(written if isinstance(written, list) else [written], 3)
    array = np.array(written, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError("a number is not finite")
    return array


def text(written: object) -> str:
    """A text."""
    if not isinstance(written, str):
        raise ValueError("not a text")
    return written


def name(written: object) -> str:
    """A text that can be shown in one line: nothing in it can move a terminal's cursor."""
    if unseen(text(written)) is not None:
        raise ValueError("a name has characters that cannot be printed")
    return str(written)


def mapping(written: object) -> dict[str, object]:
    """A JSON object."""
    if not isinstance(written, dict):
        raise ValueError("not an object")
    return written


def check_version(version: int, newest: int) -> None:
    """Refuse what a later version of this library wrote."""
    if not 1 <= version <= newest:
        remedy = "A later version of this library wrote the file: use that one."
        raise ParameterError("version", f"be 1 to {newest}", str(version), remedy)


def check_grid_size(shape: object) -> None:
    """Refuse a grid, named by its shape alone, that would fill the memory."""
    counts = integers(shape if isinstance(shape, list) else [shape])
    if not counts or min(counts) < 1 or math.prod(counts) > LARGEST_GRID:
        raise ValueError("a grid is too large")


def sequence(written: object) -> list[object]:
    """A list."""
    if not isinstance(written, list):
        raise ValueError("not a list")
    return written


def _check_numbers(written: object, depth: int) -> None:
    kinds = set(map(type, sequence(written)))
    if kinds == {list} and depth > 1:
        for part in sequence(written):
            _check_numbers(part, depth - 1)
    elif not kinds <= {int, float}:
        raise ValueError("not numbers")
