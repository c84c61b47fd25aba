"""The rule for a cell, the same at every door: what is a number, what is missing, what is refused.

A cell is read by itself. What it becomes depends on nothing but the cell: not on its neighbours, nor on
the container, whose type was made by all of them. A faster way to read many cells may be taken only
where the container's type as handed over leaves no choice, and then agrees with this rule on every
possible content.

- *Missing*: None, a NaN of any kind, NaT, pandas' NA, a masked entry, and text that reads one of
  `MISSING` once surrounding blanks are taken off.
- *A number*: a real number of Python, a real scalar of numpy of at most 64 bits, a bool (0 or 1), a
  `Decimal`, a `Fraction`, a zero-dimensional array of these, and text in plain decimal notation. It
  becomes the nearest float64. Infinity, also as text, is a number that no record can use. A subclass of
  str, int or float is read as what it holds; none of its own methods is asked.
- *Refused*: an integer of 2^53 or more in size, written with digits or held as one, since it is a label
  or would be rounded unseen; a finite number beyond float64; complex numbers, dates, spans of time,
  extended precision, sequences, and everything else.

Dates, where the user states how they are written: days since a public one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dpfda.numerics.arrays import TOO_LARGE, Floats, is_native
from dpfda.numerics.errors import ParameterError

MISSING = frozenset({"", "NA", "NaN", "nan", "null", "NULL", "None", "N/A", "n/a"})
# What counts as a number in text: plain decimal notation, in ASCII. No digit is looked at twice, so that
# a long cell costs time in proportion to its length.
NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
INFINITE = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)

TOO_LARGE_INTEGER = "an integer that is too large to be held exactly (2^53 or more)"
TOO_LARGE_NUMBER = "a number that is too large for double precision"
NO_NUMBER = "something else"
PER_CENT = "a number with a per cent sign"
OUTSIDE = "This check is outside the privacy guarantee."


class UnreadableCellError(Exception):
    """A cell that is no number; carries the kind, in fixed words, never the content."""


def cell_number(cell: object) -> float:
    """Read one cell as a number; NaN where it is missing.

    Raises UnreadableCellError with the kind of offence, never the content. Nothing else, whatever the
    cell is.
    """
    number, offence = read_cell(cell)
    if offence:
        raise UnreadableCellError(offence)
    return number


def read_cell(cell: object) -> tuple[float, str]:
    """One cell as a number, and why it is none, in fixed words: the number is infinite then."""
    if type(cell) is float:
        return cell, ""
    try:
        return _number(cell), ""
    except UnreadableCellError as refused:
        return math.inf, str(refused.args[0])
    except Exception:
        # A cell may be of any class, and a class may raise anything when it is looked at.
        return math.inf, NO_NUMBER


def _number(cell: Any) -> float:  # noqa: PLR0911 - a table of types
    # The type and not isinstance: that would ask the cell what it is.
    kind = type(cell)
    if issubclass(kind, str):
        return text_number(str.__str__(cell))
    if is_missing(cell):
        return math.nan
    if issubclass(kind, float):
        return float.__float__(cell)
    if issubclass(kind, int):
        integer = int.__int__(cell)
        if -TOO_LARGE < integer < TOO_LARGE:
            return float(integer)
        raise UnreadableCellError(TOO_LARGE_INTEGER)
    if issubclass(kind, np.generic):
        if is_native(cell.dtype) and kind.__module__ == "numpy":
            return _number(cell.item())
        raise UnreadableCellError(NO_NUMBER)
    if issubclass(kind, np.ndarray) and np.ndim(cell) == 0:
        return _number(cell[()])
    if kind is Decimal or kind is Fraction:
        return _exact_number(cell)
    raise UnreadableCellError(NO_NUMBER)


def _exact_number(cell: Decimal | Fraction) -> float:
    if isinstance(cell, Decimal) and cell.is_infinite():
        return float(cell)
    try:
        number = float(cell)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise UnreadableCellError(TOO_LARGE_NUMBER)
    integral = cell.as_tuple().exponent == 0 if isinstance(cell, Decimal) else cell.denominator == 1
    if integral and abs(number) >= TOO_LARGE:
        raise UnreadableCellError(TOO_LARGE_INTEGER)
    return number


def text_number(text: str) -> float:
    """Read text as a number; NaN where it is one of the words for a missing value.

    Raises UnreadableCellError with the kind of offence.
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
    share = NUMBER.fullmatch(text.removesuffix("%").rstrip())
    raise UnreadableCellError(PER_CENT if share else NO_NUMBER)


def is_missing(cell: Any) -> bool:  # noqa: PLR0911 - a table of types
    """Whether a cell that is no text is missing. It raises nothing."""
    if cell is None or cell is np.ma.masked:
        return True
    kind = type(cell)
    try:
        if issubclass(kind, float):
            return math.isnan(float.__float__(cell))
        if kind is Decimal:
            return bool(cell.is_nan())
        if issubclass(kind, np.datetime64 | np.timedelta64):
            return bool(np.isnat(cell))
        if issubclass(kind, np.floating):
            return bool(np.isnan(cell))
        if issubclass(kind, np.ma.MaskedArray):
            return np.ndim(cell) == 0 and bool(np.ma.getmaskarray(cell)[()])
        named = kind.__name__ in ("NAType", "NaTType")
        return named and kind.__module__.partition(".")[0] == "pandas"
    except Exception:
        return False


def whole_number(cell: Any, multiplier: int) -> tuple[int, bool]:
    """A cell of a table of counts, times a multiplier, to the nearest integer; and whether it was whole.

    A cell stands for its shortest decimal form: 4612.439 thousand are 4612439. An integer may be of any
    size, since counts are added up exactly. Zero, and not whole, where the cell is missing, negative or
    no finite number.
    """
    if issubclass(type(cell), np.integer) and is_native(cell.dtype):
        cell = cell.item()
    if issubclass(type(cell), int):
        count = int.__int__(cell) * multiplier
        return max(0, count), count >= 0
    number, offence = read_cell(cell)
    if offence or not math.isfinite(number) or number < 0:
        return 0, False
    exact = Fraction(repr(number))
    if type(cell) in (Decimal, Fraction):
        if number == 0 and cell != 0:
            return 0, False
        exact = Fraction(cell)
    product = exact * multiplier
    # To the nearest: a third of two is written 0.6666666666666666, and thrice that is two.
    return math.floor(product + Fraction(1, 2)), product.denominator == 1


DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1)
ISO = "iso"
NO_DATE = "no date as stated"


# Labels that are dates whatever is stated: a month, a day, or a moment, as in ISO 8601.
MOMENT = re.compile(r"\d{4}-\d\d(-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?)?)?")


def moments(labels: Sequence[str]) -> tuple[Floats, str] | None:
    """Public labels that are all dates as days since the first, and this in words; else None.

    All have a time zone, and are the same moments in UTC then, or none has.
    """
    matched = [match for label in labels if (match := MOMENT.fullmatch(label))]
    zoned = {match["zone"] is not None for match in matched}
    if not labels or len(matched) < len(labels) or len(zoned) > 1:
        return None
    try:
        plain = [Dates(ISO)._moment(label) for label in labels] if zoned == {True} else labels
        dates = np.array(plain, dtype="M8[us]")
    except (ValueError, OverflowError):
        return None
    first = str(dates[0]).removesuffix(".000000").replace("T", " ").removesuffix(" 00:00:00")
    return (dates - dates[0]) / np.timedelta64(1, "D"), f"days since {first}{' UTC' * zoned.pop()}"


@dataclass(frozen=True)
class Dates:
    """A way to write dates, and the day from which days are counted.

    form: "iso" for 2024-03-01, with or without a time of day, or a format of `datetime.strptime` such as
        "%d.%m.%Y". A date with a time zone counts as the same moment in UTC.
    origin: Public; day 0.
    """

    form: str
    origin: datetime = EPOCH

    def __post_init__(self) -> None:
        if not isinstance(self.form, str) or (self.form != ISO and "%" not in self.form):
            raise ParameterError("dates", "be 'iso' or a format such as '%d.%m.%Y'", repr(self.form))

    @classmethod
    def of_label(cls, label: str) -> Dates | None:
        """The dates of an axis by its label, as `describe` and `moments` write it; else None."""
        start, since, day = label.partition("days since ")
        day = day.removesuffix(" UTC")
        return cls(ISO).since(day) if since and not start and MOMENT.fullmatch(day) else None

    def since(self, text: str, parameter: str = "since") -> Dates:
        """These dates, counted from another day, which is public.

        Raises ParameterError if the text is no date.
        """
        return Dates(self.form, self._public(text, parameter))

    def until(self, text: str, parameter: str) -> float:
        """Days from the origin to another public date. Raises ParameterError if the text is no date."""
        return self.days_to(self._public(text, parameter))

    def number(self, text: str) -> float:
        """Days since the origin; NaN where the cell is missing.

        Raises UnreadableCellError if the text is no date of this form.
        """
        if text.strip() in MISSING:
            return float("nan")
        try:
            return self.days_to(self._moment(text))
        except (ValueError, OverflowError):
            raise UnreadableCellError(NO_DATE) from None

    def days_to(self, moment: datetime) -> float:
        """Days from the origin to a moment in UTC."""
        return (moment - self.origin) / DAY

    def days_of_ticks(self, ticks: int, ticks_a_day: int) -> float:
        """Days from the origin to a moment that is a whole number of ticks after 1970 began."""
        origin = (self.origin - EPOCH) // timedelta(microseconds=1)
        a_day = DAY // timedelta(microseconds=1)
        return (ticks * a_day - origin * ticks_a_day) / (ticks_a_day * a_day)

    def describe(self) -> str:
        """In words, for axes and notes."""
        return f"days since {self.origin.isoformat(' ').removesuffix(' 00:00:00')}"

    def _public(self, text: str, parameter: str) -> datetime:
        try:
            return self._moment(text)
        except (ValueError, OverflowError):
            raise ParameterError(parameter, f"be a date as stated ({self.form})", repr(text)) from None

    def _moment(self, text: str) -> datetime:
        text = text.strip()
        if not text.isascii():
            raise ValueError
        moment = datetime.fromisoformat(text) if self.form == ISO else datetime.strptime(text, self.form)
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
