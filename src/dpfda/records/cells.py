"""The rule for a cell, the same at every door: what is a number, what is missing, what is refused.

A cell is read by itself. What it becomes depends on nothing but the cell: not on its neighbours, nor on
the container, whose type was made by all of them. A faster way to read many cells may be taken only
where the container's type as handed over leaves no choice, and then agrees with this rule on every
possible content.

- *Missing*: None, a NaN of any kind, NaT, pandas' NA, a masked entry, and text that reads one of
  `MISSING` once surrounding blanks are taken off.
- *A number*: a real number of Python or numpy, a bool (0 or 1), a `Decimal`, a `Fraction`, a
  zero-dimensional array of these, and text in plain decimal notation. It becomes the nearest float64.
  Infinity, also as text, is a number that no record can use.
- *Refused*: an integer of 2^53 or more in size, written with digits or held as one, since it is a label
  or would be rounded unseen; a finite number beyond float64; complex numbers, dates, spans of time,
  extended precision, and everything else.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

MISSING = frozenset({"", "NA", "NaN", "nan", "null", "None", "N/A"})
# What counts as a number in text: plain decimal notation, in ASCII. No digit is looked at twice, so that
# a long cell costs time in proportion to its length.
NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
INFINITE = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)
# From here on float64 does not hold every integer: such a cell is a label, or would be rounded unseen.
TOO_LARGE = 2.0**53

TOO_LARGE_INTEGER = "an integer that is too large to be held exactly (2^53 or more)"
TOO_LARGE_NUMBER = "a number that is too large for double precision"
NO_NUMBER = "something else"


class UnreadableCellError(Exception):
    """A cell that is no number; carries the kind, in fixed words, never the content."""


def cell_number(cell: Any) -> float:  # noqa: PLR0911 - a table of types
    """Read one cell as a number; NaN where it is missing.

    Raises
    ------
    UnreadableCellError
        With the kind of offence, never the content. Nothing else, whatever the cell is.
    """
    if isinstance(cell, str):
        return text_number(cell)
    if is_missing(cell):
        return math.nan
    if isinstance(cell, np.ndarray) and cell.ndim == 0:
        return cell_number(cell.item() if cell.dtype.kind in "biuf" and cell.itemsize <= 8 else None)
    if isinstance(cell, bool | np.bool_):
        return float(cell)
    if isinstance(cell, int | np.integer) and not isinstance(cell, np.timedelta64):
        if -TOO_LARGE < cell < TOO_LARGE:
            return float(cell)
        raise UnreadableCellError(TOO_LARGE_INTEGER)
    if isinstance(cell, float | np.float16 | np.float32):
        return float(cell)
    if type(cell) in (Decimal, Fraction):
        return _exact_number(cell)
    raise UnreadableCellError(NO_NUMBER)


def _exact_number(cell: Decimal | Fraction) -> float:
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        raise UnreadableCellError(TOO_LARGE_NUMBER) from None
    if math.isinf(number) and not (isinstance(cell, Decimal) and cell.is_infinite()):
        raise UnreadableCellError(TOO_LARGE_NUMBER)
    return number


def text_number(text: str) -> float:
    """Read text as a number; NaN where it is one of the words for a missing value.

    Raises
    ------
    UnreadableCellError
        With the kind of offence.
    """
    text = text.strip()
    if NUMBER.fullmatch(text):
        number = float(text)
        if -TOO_LARGE < number < TOO_LARGE:
            return number
        if math.isinf(number):
            raise UnreadableCellError(TOO_LARGE_NUMBER)
        if text.lstrip("+-").isdigit():
            raise UnreadableCellError(TOO_LARGE_INTEGER)
        return number
    if text in MISSING:
        return math.nan
    infinite = INFINITE.fullmatch(text)
    if infinite:
        return -math.inf if infinite[1] == "-" else math.inf
    raise UnreadableCellError(NO_NUMBER)


def is_missing(cell: Any) -> bool:
    """Whether a cell that is no text is missing."""
    if cell is None or cell is np.ma.masked:
        return True
    if type(cell) is Decimal:
        return cell.is_nan()
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    if isinstance(cell, float | np.floating):
        return math.isnan(cell)
    return type(cell).__name__ in ("NAType", "NaTType") and type(cell).__module__.startswith("pandas.")
