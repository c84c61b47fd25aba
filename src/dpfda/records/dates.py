"""Dates, where the user states how they are written: days since a public one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.records.cells import MISSING, UnreadableCellError

DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1)
ISO = "iso"
NO_DATE = "no date as stated"


# Labels that are dates whatever is stated: a month, a day, or a moment, as in ISO 8601.
MOMENT = re.compile(r"\d{4}-\d\d(-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?)?")


def moments(labels: Sequence[str]) -> tuple[Floats, str] | None:
    """Public labels that are all dates as days since the first, and this in words; else None."""
    if not labels or not all(MOMENT.fullmatch(label) for label in labels):
        return None
    try:
        found = np.array(labels, dtype="M8[us]")
    except ValueError:
        return None
    first = str(found[0]).removesuffix(".000000").replace("T", " ").removesuffix(" 00:00:00")
    return (found - found[0]) / np.timedelta64(1, "D"), f"days since {first}"


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
        found = datetime.fromisoformat(text) if self.form == ISO else datetime.strptime(text, self.form)
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
