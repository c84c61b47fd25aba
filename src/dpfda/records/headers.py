"""Column labels: which columns hold the curve, and which labels are points of a grid.

Labels are public, values are not. Where the header line of a file is missing, its "labels" are one
person's values; so a header with numbers in it is described by positions, unless it is a whole grid.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpfda.numerics.arrays import Flags, Floats
from dpfda.numerics.errors import InPython, OrientationError, ParameterError
from dpfda.records.cells import NUMBER, OUTSIDE, Dates, UnreadableCellError
from dpfda.records.lines import DECIMAL_COMMA

# Times of a day as labels; the end of the day may be 24:00.
CLOCK = re.compile(r"([01]?[0-9]|2[0-4]):([0-5][0-9])(?::([0-5][0-9]))?")
COUNTER = re.compile(r"[0-9]+(?:\.[0-9]+)?")

# First columns with these labels hold the argument of curves that lie in columns.
ARGUMENTS = frozenset(
    {"t", "x", "time", "times", "arg", "args", "argvals", "argument", "grid", "grid_points"}
)
# Words that name a person rather than measure one, by themselves or at the end of a label.
IDENTIFIER = re.compile(
    r"(?:.*[_ .-])?(?:ids?|uid|uuid|guid|pid|ssn|mrn|email|identifier|name|person|patient|subject"
    r"|participant|individual|user|customer|client|household|respondent|pupil|student|donor|employee"
    r"|member)(?:[_ .-]?(?:id|no|nr|num|number|code|key|name))?|(?-i:.*[A-Za-z0-9]I[dD])",
    re.IGNORECASE,
)
SHOWN = 8
WILDCARDS = frozenset("*?[")
# Records that a header is compared with.
INSPECTED = 100
# So many points with equal distances are a grid, where records have none: hours, ages, years.
EVEN, ALIKE = 8, 1e-6


def as_number(label: str | float) -> float | None:
    """A label as a number, where it is a finite one."""
    if isinstance(label, str) and not NUMBER.fullmatch(label.strip()):
        return None
    try:
        number = float(label)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def are_times(labels: Sequence[str]) -> bool:
    """Whether labels are times of a day."""
    return all(CLOCK.fullmatch(label) for label in labels)


def hours_of(label: str) -> float:
    """Hours since midnight of a time of the day."""
    hours, minutes, seconds = [*map(int, label.split(":")), 0][:3]
    return hours + minutes / 60 + seconds / 3600


def check_labels(labels: Sequence[str]) -> None:
    """Refuse a header that cannot name columns: labels twice, or numbers with a decimal comma.

    Raises OrientationError with positions, never labels: where the header line is missing, they are
    somebody's values.
    """
    first: dict[str, int] = {}
    for position, label in enumerate(labels, start=1):
        if first.setdefault(label, position) != position:
            raise OrientationError(
                "Column labels must differ; found the same label in columns "
                f"{first[label]} and {position}. Rename one; if the header line is missing, add it."
            )
        if DECIMAL_COMMA.fullmatch(label):
            raise OrientationError(
                "Column labels must be words, or numbers with a decimal point; found a number with a "
                f"comma in column {position}. Save the file with decimal points; if the header line "
                "is missing, add it."
            )


def find_column(labels: Sequence[str], name: str, parameter: str) -> int:
    """Position of the column called `name`.

    Raises ParameterError if there is none; the message lists labels that are near.
    """
    if not isinstance(name, str):
        raise ParameterError(parameter, "be a column label", repr(name))
    if name in labels:
        return list(labels).index(name)
    near = [label for label in labels if label.lower() == name.lower()]
    if not near and all(as_number(label) is None for label in labels):
        near = difflib.get_close_matches(name, labels)
    first, _, last = name.partition(":")
    if first in labels and last in labels:
        shared = first.rstrip("0123456789")
        remedy = f"For several columns give a pattern, such as {shared + '*'!r}."
    else:
        remedy = f"Did you mean {' or '.join(map(repr, near))}?" if near else _columns_are(labels)
    raise ParameterError(parameter, "be the label of a column", repr(name), remedy)


def curve_columns(
    labels: Sequence[str],
    columns: str | Sequence[str] | None,
    groups: str | None,
    used: Sequence[int] = (),
) -> list[int]:
    """Positions of the columns that hold the curve, in the order of the file.

    labels: The header.
    columns: Labels, ranges of neighbours (first..last) or globs. Without it all columns other than
        `groups`, if they are of one kind.
    groups: Label of the privacy unit's column, which is never part of the curve.
    used: Positions of columns that were asked for otherwise, which a glob leaves out.
    Raises ParameterError if a label is not there or a glob matches nothing. Raises OrientationError if
    it cannot be told which columns hold the curve, or whether curves are columns.
    """
    others = [i for i, label in enumerate(labels) if label != groups]
    chosen = others if columns is None else _selected(labels, columns, groups, used)
    if 0 not in chosen or columns is None:
        _refuse_argument_column(labels, groups)
    if columns is None:
        _check_one_kind([labels[i] for i in chosen], chosen)
    return chosen


def matching(labels: Sequence[str], pattern: str, parameter: str) -> list[int]:
    """Positions of the columns that a label, a range of neighbours (first..last) or a glob stands for.

    Raises ParameterError for what is neither. A glob may match nothing.
    """
    first, dots, last = pattern.partition("..")
    if pattern not in labels and dots and {first, last} & {*labels}:
        ends = [find_column(labels, end, parameter) for end in (first, last)]
        return list(range(min(ends), max(ends) + 1))
    if pattern in labels or not WILDCARDS & set(pattern):
        return [find_column(labels, pattern, parameter)]
    return [i for i, label in enumerate(labels) if fnmatchcase(label, pattern)]


def grid_points(labels: Sequence[str], positions: Sequence[int]) -> Floats | None:
    """The grid that the labels of the curve's columns spell, None where they are words.

    Times of a day, 06:30, are hours.

    Raises OrientationError if they are partly numbers, or numbers (or numbered words) that do not
    increase.
    """
    chosen = [labels[i] for i in positions]
    if are_times(chosen):
        chosen = [str(hours_of(label)) for label in chosen]
    numbers = [number for number in map(as_number, chosen) if number is not None]
    if not numbers:
        _check_counters(chosen)
        return None
    if len(numbers) < len(chosen):
        _refuse_mixture(chosen, positions)
    grid = np.array(numbers)
    if not (np.diff(grid) > 0).all():
        raise OrientationError(
            "A numeric header is the grid and must strictly increase; found one that does not. "
            "Perhaps the header line is missing: then one person's curve would be read as the grid. "
            "Add a header line, or reorder the columns."
        )
    return grid


def says_header(columns: str | Sequence[str] | None) -> bool:
    """Whether a header line was stated: all columns were named, or each by its label.

    A pattern such as ``'[0-9]*'`` says nothing: it also selects one person's values.
    """
    patterns = [columns] if isinstance(columns, str) else columns or ["?"]
    return all(pattern == "*" or not WILDCARDS & set(pattern) for pattern in patterns)


class Below(NamedTuple):
    """What a header is compared with. Private.

    records: How many there are.
    increasing, even: Shares of those that increase, and that rise or fall by equal steps.
    lower, upper: array (m,). Least and largest values.
    """

    records: int
    increasing: float
    even: float
    lower: Floats
    upper: Floats


def refuse_record_as_grid(grid: Floats | None, rows: Floats | Below, remedy: str) -> None:
    """Refuse a header that looks like one of the increasing curves below it.

    Points with equal distances do not, unless half of the curves have equal distances too.

    grid: array (m,) or None. The numbers in the header, if it holds numbers.
    rows: array (n, m). The first records, at most `INSPECTED`; or what is to be known of them. Private.
    remedy: How to say that the header is one.
    Raises OrientationError: Outside the privacy guarantee.
    """
    below = rows if isinstance(rows, Below) else _below(rows)
    if grid is None or below is None or below.records < 2:
        return
    if grid.size >= EVEN and _is_even(grid[None]).all() and below.even < 0.5:
        return
    within = (below.lower <= grid) & (grid <= below.upper)
    if below.increasing >= 0.5 and within.mean() >= 0.5:
        raise OrientationError(
            "A numeric header is the grid; found one that looks like the increasing curves below it. "
            "Perhaps the header line is missing: then one person's curve would be published as the "
            f"grid. {remedy} {OUTSIDE}",
            columns="*",
            grid=InPython("the grid"),
        )


def _below(rows: Floats) -> Below | None:
    finite = rows[np.isfinite(rows).all(axis=1)]
    if not len(finite):
        return None
    increasing = (np.diff(finite, axis=1) > 0).all(axis=1).mean()
    even, lower, upper = _is_even(finite).mean(), finite.min(axis=0), finite.max(axis=0)
    return Below(len(finite), float(increasing), float(even), lower, upper)


def _is_even(rows: Floats) -> Flags:
    """Which rows (n, m) rise, or fall, by equal steps."""
    with np.errstate(all="ignore"):
        steps = np.diff(rows, axis=1)
        return np.asarray(np.ptp(steps, axis=1) <= ALIKE * np.abs(steps.mean(axis=1)))


def date_grid(labels: Sequence[str], dates: Dates) -> Floats:
    """The grid that labels which are dates spell, in days.

    Raises OrientationError if one is no date as stated, or they do not increase.
    """
    grid = np.empty(len(labels))
    for place, label in enumerate(labels):
        try:
            grid[place] = dates.number(label)
        except UnreadableCellError:
            grid[place] = math.nan
    if not np.isfinite(grid).all():
        raise OrientationError(
            f"Labels of the curve's columns must be dates as stated ({dates.form}); found another in "
            f"column {int(np.argmin(np.isfinite(grid))) + 1} of the curve. Select the columns of the "
            "curve, or state another form."
        )
    return increasing_dates(grid)


def refuse_other_labels(labels: Sequence[object]) -> None:
    """Refuse labels that are not text, and have not been read as numbers or dates.

    Spans of time, say: equal steps would be taken for them.
    """
    for position, label in enumerate(labels, start=1):
        if not isinstance(label, str):
            raise OrientationError(
                "Labels of the curve's columns must be numbers, dates or words; found one of type "
                f"{type(label).__name__} in column {position}. Turn them into numbers of a public unit."
            )


def increasing_dates(grid: Floats) -> Floats:
    """The grid that dates spell. Raises OrientationError if they do not increase."""
    if not (np.diff(grid) > 0).all():
        raise OrientationError(
            "Labels that are dates are the grid and must strictly increase; found some that do not. "
            "Reorder the columns."
        )
    return grid


def same_grid(stated: Floats, numbers: Floats | None, columns: int) -> Floats:
    """The grid that is stated for these columns, where the labels do not speak against it.

    Raises ParameterError if it has another number of points, or the labels are numbers and differ from
    it.
    """
    if stated.size != columns:
        words = f"have a point for each of the {columns} columns of the curve"
        raise ParameterError("grid", words, f"{stated.size} points")
    if numbers is not None and not np.allclose(stated, numbers, rtol=1e-9, atol=0.0):
        raise ParameterError(
            "grid", "agree with the numbers in the header", "another grid", "Leave it out."
        )
    return stated if numbers is None else numbers


def identifiers(labels: Sequence[str], used: Sequence[str] = ()) -> list[str]:
    """Labels that look like names of persons and are not used: from the labels alone."""
    return [label for label in labels if label not in used and IDENTIFIER.fullmatch(label.strip())]


def _families(labels: Sequence[str]) -> dict[str, list[str]]:
    """Labels by what is left without their numbers: what numbered columns have in common."""
    families: dict[str, list[str]] = {}
    for label in labels:
        families.setdefault(COUNTER.sub("#", label), []).append(label)
    return families


def _selected(
    labels: Sequence[str], columns: str | Sequence[str], groups: str | None, used: Sequence[int]
) -> list[int]:
    patterns = [columns] if isinstance(columns, str) else columns
    if (
        not isinstance(patterns, list | tuple)
        or not patterns
        or not all(isinstance(pattern, str) for pattern in patterns)
    ):
        raise ParameterError(
            "columns", "be a label, a range of labels, a glob, or a list of them", repr(columns)
        )
    chosen: set[int] = set()
    for pattern in patterns:
        if groups is not None and pattern == groups:
            raise ParameterError(
                "columns", "not name the privacy unit's column", repr(pattern), "It is no curve value."
            )
        matches = {i for i in matching(labels, pattern, "columns") if labels[i] != groups}
        if pattern not in labels and ".." not in pattern:
            matches -= {*used}
        if not matches:
            raise ParameterError(
                "columns", "match at least one column", repr(pattern), _columns_are(labels)
            )
        chosen |= matches
    return sorted(chosen)


def _refuse_argument_column(labels: Sequence[str], groups: str | None) -> None:
    first = labels[0]
    # A capital X is what R calls a column of row names.
    is_argument = first in ARGUMENTS or (first != "X" and first.lower() in ARGUMENTS)
    if is_argument and first != groups and len(labels) > 1:
        raise OrientationError(
            f"A file must hold a curve a row; found a first column called {first!r}, which looks like "
            "the argument of curves in columns.",
            "Transpose the file, so that its header holds the points; for one observation a row, name "
            "the columns $long; if each row is a curve, remove or rename that column.",
        )


def _check_one_kind(labels: Sequence[str], positions: Sequence[int]) -> None:
    numeric = [as_number(label) is not None for label in labels]
    if any(numeric) and not all(numeric):
        _refuse_mixture(labels, positions)
    if not any(numeric) and len(_families(labels)) > 1:
        hint, glob = _selection_hint(labels)
        raise OrientationError(
            "Without columns, the columns must be of one family (all numbers, or words that differ "
            f"in a number); found {_described(labels)}.",
            hint,
            columns=glob,
        )


def _refuse_mixture(labels: Sequence[str], positions: Sequence[int]) -> None:
    words = [i + 1 for i, label in zip(positions, labels, strict=True) if as_number(label) is None]
    numbers = sorted({i + 1 for i in positions} - set(words))
    raise OrientationError(
        "Labels of the curve's columns must be all numbers (grid points) or all words; found words in "
        f"{_ranges(words)} and numbers in {_ranges(numbers)}.",
        "Select the columns of the curve, for example $columns, and name the privacy unit's "
        "column as $groups; if the header line is missing, add it.",
        columns="[0-9]*",
    )


def _check_counters(labels: Sequence[str]) -> None:
    """Numbered words must be in the order of their numbers: cca_1, cca_10, cca_2 are not."""
    if len(_families(labels)) != 1:
        return
    counters = [COUNTER.findall(label) for label in labels]
    if any(len(digits) != 1 for digits in counters):
        return
    if not all(float(a[0]) < float(b[0]) for a, b in pairwise(counters)):
        raise OrientationError(
            "Numbered columns must be in the order of their numbers; found them in another order. "
            "Reorder the columns of the file, or add the header line if it is missing."
        )


def _ranges(positions: Sequence[int]) -> str:
    """Positions in words: columns 1-3, 7."""
    runs: list[list[int]] = []
    for position in positions:
        if runs and position == runs[-1][1] + 1:
            runs[-1][1] = position
        else:
            runs.append([position, position])
    parts = [f"{a}" if a == b else f"{a}-{b}" for a, b in runs]
    more = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    return f"column{'s' if len(positions) > 1 else ''} {', '.join(parts[:SHOWN])}{more}"


def _described(labels: Sequence[str]) -> str:
    parts = [
        repr(members[0]) if len(members) == 1 else f"{members[0]!r}..{members[-1]!r}"
        for members in _families(labels).values()
    ]
    more = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    return ", ".join(parts[:SHOWN]) + more


def _columns_are(labels: Sequence[str]) -> str:
    """What a remedy may say of the header: its labels, or positions where some are numbers."""
    words = [i for i, label in enumerate(labels, start=1) if as_number(label) is None]
    if len(words) == len(labels):
        return f"The columns are {_described(labels)}."
    where = f"in {_ranges(words)} only" if words else "in no column"
    return f"Check the spelling: the labels are words {where}; if the header line is missing, add it."


def _selection_hint(labels: Sequence[str]) -> tuple[str, str]:
    """How to say which columns are the curve, and the glob in it."""
    family, members = max(_families(labels).items(), key=lambda item: len(item[1]))
    if len(members) == 1:
        hint = "Name the columns of the curve, with $columns for all of them; for a file with one "
        return f"{hint}observation a row, name the columns $long.", "*"
    glob = _glob(family, members, labels)
    hint = "Select the columns of the curve, for example $columns, and name the privacy unit's column, "
    return f"{hint}if there is one, as $groups.", glob


def _glob(family: str, members: Sequence[str], labels: Sequence[str]) -> str:
    """A glob for a family, and for no other label where that can be had."""
    stem = re.sub(r"([\[*?])", r"[\1]", family)
    globs = [stem.replace("#", "*"), stem.replace("#", "[0-9]*")]
    exact = [g for g in globs if sum(fnmatchcase(label, g) for label in labels) == len(members)]
    return exact[0] if exact else globs[1]
