"""The rule for a label: which person, record or group it names, as a function of the label alone.

Two labels are one where their keys are equal. The key of a label depends on nothing but the label:

- text is itself, blanks and all: "1", "01" and " 1" are three labels;
- numbers are equal where their values are, exactly, whatever they are held as: 1, 1.0, True,
  numpy.int64(1), Decimal("1.0") and Fraction(1) are one label, and none of them is "1";
- a moment with a time zone is its instant, one without is its calendar time, whether it is held by
  Python, numpy or pandas; a day is a day, not its midnight;
- bytes, spans of time, UUIDs, pandas' periods and intervals, and tuples of labels are labels too;
- None, NaN, NaT, pandas' NA and masked entries are missing; empty text is not;
- anything else (lists, arrays, complex numbers, objects of other classes) cannot be read as a label:
  what is equal to it is for others to say. It counts as missing where records are repaired.
"""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np

from dpfda.numerics.arrays import Cells, Integers, is_native
from dpfda.numerics.errors import DataError, Location
from dpfda.records.cells import OUTSIDE, is_missing
from dpfda.records.containers import cells_in

Key = Hashable | None
# Attoseconds in a unit of numpy's; years and months are taken to seconds by the calendar first.
ATTOSECONDS = {"s": 10**18, "ms": 10**15, "us": 10**12, "ns": 10**9, "ps": 10**6, "fs": 10**3, "as": 1}
LARGEST_EXPONENT = 5000
# Whole numbers that span up to so many times their count are numbered by a table.
DENSE = 4


def label_key(label: object) -> Key:
    """What a label is compared by; None where it is missing or cannot be read."""
    return read_label(label)[0]


def read_label(label: object) -> tuple[Key, bool]:
    """The key of a label, None where there is none; and whether the label could be read."""
    if type(label) in (str, int):
        return label, True
    if is_missing(label):
        return None, True
    try:
        key = _key(label)
    except Exception:
        # A label may be of any class, and a class may raise anything when it is looked at.
        key = None
    return key, key is not None


def _key(label: Any) -> Key:  # noqa: PLR0911, PLR0912 - a table of types
    # The type and not isinstance: that would ask the label what it is.
    kind = type(label)
    if issubclass(kind, str):
        return str.__str__(label)
    if issubclass(kind, bytes):
        return "bytes", bytes.__bytes__(label)
    if issubclass(kind, int):
        return int.__int__(label)
    if issubclass(kind, float):
        return _number(float.__float__(label))
    if issubclass(kind, np.datetime64 | np.timedelta64):
        return _ticks(label)
    if issubclass(kind, np.generic):
        return _number(label.item()) if is_native(label.dtype) and kind.__module__ == "numpy" else None
    if kind is Decimal or kind is Fraction:
        return _number(label)
    if issubclass(kind, datetime.datetime):
        return _moment(label)
    if kind in (datetime.date, datetime.time, UUID):
        return kind.__name__, str(label)
    if issubclass(kind, datetime.timedelta):
        return _span(label)
    if issubclass(kind, np.ndarray) and np.ndim(label) == 0:
        return label_key(label[()])
    if issubclass(kind, tuple):
        return _together("tuple", *tuple.__iter__(label))
    if kind.__module__.partition(".")[0] == "pandas":
        if kind.__name__ == "Period":
            return "period", str(label.freqstr), int(label.ordinal)
        if kind.__name__ == "Interval":
            return _together("interval", str(label.closed), label.left, label.right)
    return None


def _together(name: str, *parts: object) -> Key:
    keys = [label_key(part) for part in parts]
    return None if any(key is None for key in keys) else (name, *keys)


def _number(value: float | Decimal | Fraction) -> Key:
    """A number in one form for one value: an int where it is whole, else a fraction's two parts."""
    if isinstance(value, float | Decimal) and math.isinf(value):
        return math.inf if value > 0 else -math.inf
    if isinstance(value, Decimal) and abs(value.adjusted()) > LARGEST_EXPONENT:
        # Written out it would not fit into memory.
        return "decimal", str(value.normalize())
    numerator, denominator = value.as_integer_ratio()
    return int(numerator) if denominator == 1 else ("ratio", int(numerator), int(denominator))


def _ticks(label: np.datetime64 | np.timedelta64) -> Key:
    name = "moment" if isinstance(label, np.datetime64) else "span"
    unit, count = np.datetime_data(label.dtype)
    ticks = int(label.astype(np.int64))
    if unit in ATTOSECONDS:
        return name, ticks * count * ATTOSECONDS[unit]
    if unit == "generic" or (name == "span" and unit in ("Y", "M")):
        return name, unit, ticks * count
    kind = "datetime64[s]" if name == "moment" else "timedelta64[s]"
    return name, int(label.astype(kind).astype(np.int64)) * ATTOSECONDS["s"]


def _moment(label: datetime.datetime) -> Key:
    aware = label.utcoffset() is not None
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC if aware else None)
    if type(label) is not datetime.datetime:
        # pandas' timestamps hold nanoseconds beside; and their differences another range.
        beyond = int(getattr(label, "nanosecond", 0)) * ATTOSECONDS["ns"]
        zone = label.tzinfo
        label = datetime.datetime(
            label.year, label.month, label.day, label.hour, label.minute, label.second,
            label.microsecond, zone, fold=label.fold,
        )  # fmt: skip
    else:
        beyond = 0
    micros = (label - epoch) // datetime.timedelta(microseconds=1)
    return "instant" if aware else "moment", micros * ATTOSECONDS["us"] + beyond


def _span(label: datetime.timedelta) -> Key:
    beyond = int(getattr(label, "nanoseconds", 0)) * ATTOSECONDS["ns"]
    micros = (label.days * 86400 + label.seconds) * 10**6 + label.microseconds
    return "span", micros * ATTOSECONDS["us"] + beyond


def plain_label(key: Key) -> object:
    """A key as a label that a file can hold, where it is text or a number; else None."""
    if isinstance(key, tuple) and key[:1] == ("ratio",):
        return key[1] / key[2]
    return key if isinstance(key, str | int | float) else None


def key_order(key: Key) -> tuple[str, str]:
    """Something to sort keys of any kind by, the same in every process."""
    # Python writes no more than 4,300 decimals.
    if isinstance(key, int) and key.bit_length() > 8192:
        return "int", hex(key)
    return type(key).__name__, repr(key)


def read_keys(labels: object, name: str, invalid: str = "refuse", of: str = "record") -> list[Key]:
    """The keys of a column of labels, None where one is missing or, repairing, cannot be read.

    Raises DataError if this is no column, or (unless repairing) a label is missing or cannot be read.
    """
    cells = cells_in(labels, name)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biu":
        return list(map(int, cells.tolist()))
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "U":
        cells = cells.tolist()
    if {*map(type, cells)} <= {str, int}:
        return list(cells)
    keys: list[Key] = []
    first: dict[bool, int] = {}
    for row, cell in enumerate(cells):
        key, readable = read_label(cell)
        if key is None:
            first.setdefault(readable, row)
        keys.append(key)
    if first and invalid == "refuse":
        # Another type goes first, wherever it stands: the message does not depend on the order of rows.
        if False in first:
            raise DataError(
                f"{name} must hold words, numbers or dates; found labels of another type, first in "
                f"$place. {OUTSIDE}",
                name,
                place=Location(first[False]),
            )
        raise DataError(
            f"{name} must have a label for every {of}; found none in $place."
            " A record without its person cannot be protected as that person's.",
            name,
            place=Location(first[True]),
        )
    return keys


def numbered(keys: Sequence[Key]) -> Integers:
    """Numbers of labels in the order in which they first appear; those without a key are one."""
    codes: dict[Key, int] = {}
    return np.array([codes.setdefault(key, len(codes)) for key in keys], dtype=np.int64)


def label_marks(labels: object, invalid: str = "refuse") -> Integers:
    """Two numbers (n, 2) for each label: equal labels have equal ones, in every process, others others.

    A whole number is its own mark, with zero beside it; what else there is has 127 bits of a hash.

    Raises as `read_keys` does.
    """
    cells = cells_in(labels, "groups")
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "bi":
        integers = np.zeros((len(cells), 2), dtype=np.int64)
        integers[:, 0] = cells
        return integers
    keys = read_keys(cells, "groups", invalid)
    codes, distinct = numbered(keys), dict.fromkeys(keys)
    texts = ("/" + key if type(key) is str else "/".join(key_order(key)) for key in distinct)
    hashed = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16) for text in texts)
    marks = np.frombuffer(b"".join(digest.digest() for digest in hashed), "<i8").reshape(-1, 2).copy()
    marks[:, 1] |= 1
    for row, key in enumerate(distinct):
        if type(key) is int and -(2**63) <= key < 2**63:
            marks[row] = key, 0
    return marks[codes]


def numbers_of_marks(marks: Integers) -> Integers:
    """Numbers of labels by their marks, in any order."""
    if not marks[:, 1].any():
        return _ranked(marks[:, 0])
    order = np.lexsort(marks.T)
    new = np.any(marks[order[1:]] != marks[order[:-1]], axis=1)
    numbers = np.empty(len(marks), dtype=np.int64)
    numbers[order] = np.append(0, np.cumsum(new))
    return numbers


def unit_codes(groups: object, records: int, invalid: str = "refuse", in_order: bool = True) -> Integers:
    """Number the privacy units: records with one label belong to one unit, those without to one.

    The numbers are in the order in which labels first appear, or, where that is of no interest, in any.

    Raises DataError if there is not one label a record, or (unless repairing) a label is missing or
    cannot be read.
    """
    cells = cells_in(groups, "groups")
    if len(cells) != records:
        message = f"groups must hold one label a record ({records}); found shape ({len(cells)},)."
        raise DataError(message, "groups")
    ranked = len(cells) > 0 and not in_order
    if ranked and isinstance(cells, np.ndarray) and cells.dtype.kind in "biu" and cells.ndim == 1:
        return _ranked(cells)
    return numbered(read_keys(cells, "groups", invalid))


def units_of(
    groups: object, records: int, invalid: str = "refuse", in_order: bool = True
) -> tuple[Integers | None, int]:
    """Numbers of the units as `unit_codes` gives them, None where records are units; and how many."""
    if groups is None:
        return None, records
    codes = unit_codes(groups, records, invalid, in_order)
    return codes, int(codes.max(initial=-1)) + 1


def _ranked(labels: Cells) -> Integers:
    """Numbers of whole numbers in increasing order: without a look at each by itself."""
    if np.all(labels[1:] >= labels[:-1]):
        return np.append(0, np.cumsum(labels[1:] != labels[:-1]))
    low, high = int(labels.min()), int(labels.max())
    if high - low > DENSE * labels.size:
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
    # No overflow: differences fit into the width of the type, a byte for bools, without a sign.
    unsigned = np.dtype(f"u{labels.dtype.itemsize}")
    places = np.subtract(labels, labels.dtype.type(low), dtype=unsigned, casting="unsafe")
    seen = np.zeros(high - low + 1, dtype=np.bool_)
    seen[places] = True
    return np.asarray((np.cumsum(seen) - 1)[places])
