"""Columns and points on the command line: how they are typed, with what is public of them.

One form of columns in all verbs: NAME:LO:HI for one of numbers with its public ends, NAME:A,B,.. for one
of labels. A label with a comma in it stands in quotes, as in a CSV file.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dpfda.command import options as o
from dpfda.command.declared import REQUIRED, Given, Option
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.numerics.arrays import Floats
    from dpfda.records.weights import Weights

COVARIATE = Option(
    "covariates", "--covariate", "NAME:LO:HI|NAME:A,B,..",
    "A column that explains the curves, with its public bounds, or with its public levels, of which the "
    "first is what others are compared with. Repeat it. Example: --covariate age:20:80 --covariate "
    "case:control,MS",
    o.MODEL, list[str], REQUIRED,
)  # fmt: skip
WEIGHTS = Option(
    "survey_weights", "--weights", "COLUMN:LARGEST",
    "Column of survey weights, and the public weight that larger ones are cut to. A record counts as "
    "its weight over that; a plan's --units are what these add up to. Example: --weights weight:5",
    o.READING, default=None, sets=("max_weight",),
)  # fmt: skip

# Of points that are typed by their step.
MOST_POINTS = 100_000
# Bounds, or labels.
Known = tuple[float, float] | list[str]


def read_covariates(texts: Sequence[str]) -> dict[str, Known]:
    """Bounds or levels of covariates by name, from what was typed.

    Raises
    ------
    ParameterError
        If one has another form, or a name comes twice.
    """
    covariates: dict[str, Known] = {}
    for text in texts:
        ends = _ends(text)
        name, public = _labels(text) if ends is None else (ends[0], ends[1:])
        if not name or name in covariates or not public:
            remedy = "They are public and never read from the data. Example: --covariate age:20:80"
            raise ParameterError(
                "--covariate", "be NAME:LO:HI or NAME:A,B,.., each name once", repr(text), remedy
            )
        covariates[name] = public
    return covariates


def one_of(name: str) -> str:
    """What errors call one of several covariates."""
    return f"covariates[{name!r}]"


def by_kind(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Covariates with bounds, and those with levels."""
    named = read_covariates(texts)
    numbers = [name for name, public in named.items() if isinstance(public, tuple)]
    return numbers, [name for name in named if name not in numbers]


def read_range(text: str, option: str) -> tuple[str, float, float]:
    """A column with its public ends, NAME:LO:HI. Raises ParameterError if it has another form."""
    ends = _ends(text)
    if ends is None:
        remedy = f"The ends are public and never read from the data. Example: {option} age:18:90"
        raise ParameterError(option, "be NAME:LO:HI", repr(text), remedy)
    return ends


def read_ranges(texts: Iterable[str], option: str) -> list[tuple[str, float, float]]:
    """Columns with their public ends, as of `read_range`."""
    return [read_range(text, option) for text in texts]


def read_labels(text: str, option: str) -> tuple[str, tuple[str, ...]]:
    """A column with its public labels, NAME:A,B,... Raises ParameterError if it has another form."""
    name, labels = _labels(text)
    if not name or not labels:
        words = "be NAME:A,B,.. with two or more different labels"
        remedy = f"They are public and never read from the data. Example: {option} case:control,MS"
        raise ParameterError(option, words, repr(text), remedy)
    return name, tuple(labels)


def read_by(text: str) -> tuple[str, tuple[str, ...]]:
    """The column of --by, and the names of groups, which may be left out."""
    return read_labels(text, "--by") if "," in text.rpartition(":")[2] else (text, ())


def read_weights(args: Given) -> tuple[str, float] | None:
    """The column of --weights and the largest one. Raises ParameterError if it has another form."""
    if getattr(args, "survey_weights", None) is None:
        return None
    name, _, largest = args.survey_weights.rpartition(":")
    try:
        weight = float(largest) if name else 0.0
    except ValueError:
        weight = 0.0
    if not 0 < weight < math.inf:
        remedy = (
            "The largest weight is public, and never read from the data. Example: --weights weight:5"
        )
        raise ParameterError("--weights", "be COLUMN:LARGEST", repr(args.survey_weights), remedy)
    return name, weight


def weights_planned(args: Given) -> dict[str, float]:
    """Survey weights as a parameter of a plan."""
    named = read_weights(args)
    return {} if named is None else {"max_weight": named[1]}


def weights_taken(args: Given, columns: Sequence[Floats] | Floats) -> dict[str, Weights]:
    """Survey weights, for fit, where there are any: the last of the columns."""
    from dpfda.records.weights import Weights

    named = read_weights(args)
    return {} if named is None else {"weights": Weights(columns[-1], named[1])}


def ends(args: Given) -> tuple[float, float] | None:
    """The ends of --domain as numbers; with dates, in days since the first."""
    from dpfda.records.cells import Dates

    stated = getattr(args, "dates", None)
    dates = None if stated is None else Dates(stated)
    if args.domain is None:
        return None
    first, last = args.domain
    if dates is not None:
        return 0.0, dates.since(first, "--domain").until(last, "--domain")
    try:
        return float(first), float(last)
    except ValueError:
        more = "; dates need --dates." if hasattr(args, "dates") else ""
        remedy, text = f"Example: --domain 0 24{more}", f"{first!r} {last!r}"
        raise ParameterError("--domain", "be two numbers", text, remedy) from None


def read_levels(args: Given) -> dict[str, object]:
    """Levels of quantiles, with commas between them, as numbers."""
    if args.levels is None:
        return {}
    try:
        return {"levels": [float(part) for part in args.levels.split(",")]}
    except ValueError:
        words = "be numbers between 0 and 1, with commas between them"
        raise ParameterError("--levels", words, repr(args.levels), "Example: 0.1,0.5,0.9") from None


def parse_points(text: str, option: str) -> list[float]:
    """Read points: numbers with commas, or START:STOP:STEP with both ends.

    Raises
    ------
    ParameterError
        If it is neither.
    """
    try:
        if ":" not in text:
            return [float(part) for part in text.split(",")]
        start, stop, step = (float(part) for part in text.split(":"))
        count = round((stop - start) / step)
        if not 1 <= count <= MOST_POINTS or abs(start + count * step - stop) > 1e-9 * abs(stop - start):
            raise ValueError
    except (ValueError, ZeroDivisionError, OverflowError):
        words = "be numbers with commas, or START:STOP:STEP with whole steps from START to STOP"
        raise ParameterError(option, words, repr(text), f"Example: {option} 0:105:5") from None
    import numpy as np

    return [float(point) for point in np.linspace(start, stop, count + 1)]


def by(words: str, default: object, type: object = str) -> Option:
    """The option --by with words for what its column is in a verb."""
    words, sets = f"{words} Example: --by case:control,MS", ("levels", "y")
    return Option("by", "--by", "NAME|NAME:A,B,..", words, o.READING, type, default, sets=sets)


def _ends(text: str) -> tuple[str, float, float] | None:
    """A name, which may have colons itself, with two numbers; None in any other form."""
    name, *limits = text.rsplit(":", 2)
    try:
        low, high = (float(end) for end in limits)
    except ValueError:
        return None
    return name, low, high


def _labels(text: str) -> tuple[str, list[str]]:
    """A name with labels, of which there are none if they are fewer than two, empty or alike."""
    name, _, rest = text.partition(":")
    labels = next(csv.reader([rest], skipinitialspace=True), [])
    return name, labels if all(labels) and len(set(labels)) == len(labels) > 1 else []
