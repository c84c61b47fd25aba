"""How a verb reads its file: the options that say what is in it, and what is said of the reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from dpfda.errors import DataError, ParameterError
from dpfda.front.command import options as o
from dpfda.front.command.declared import REQUIRED, Given, Option
from dpfda.front.command.running import progress_bar

MOST_POINTS = 100_000
SHOWN = 3


class Table(Protocol):
    """Records as a file holds them, which know where in the file they stand."""

    @property
    def header(self) -> tuple[str, ...]: ...

    def in_file(self, message: str) -> str: ...


class Reader(Protocol):
    """Reads the records of a kind of file and hands them to an estimator.

    Attributes
    ----------
    public : sequence of str
        Options that state public numbers, which a plan needs as well.
    """

    @property
    def public(self) -> Sequence[str]: ...

    @property
    def options(self) -> Sequence[Option]: ...

    def settings(self, given: Given) -> dict[str, Any]:
        """Check the options, before the file is read; what they say to the estimator."""

    def read(self, given: Given) -> Table:
        """Read the file."""

    def found(self, given: Given, table: Any) -> dict[str, Any]:
        """What the public part of the file says to the estimator."""

    def fit(self, estimator: Any, table: Any, given: Given) -> Any:
        """Fit the estimator."""

    def notes(self, given: Given, table: Any, release: Any) -> list[str]:
        """What is said of the reading."""


def _column(name: str, flag: str, words: str) -> Option:
    return Option(name, flag, "COLUMN", words, o.READING, default=None)


COLUMNS = Option("columns", "--columns", "PATTERN", "Columns of the curve, by name. Example: --columns "
                 "'cca_*'", o.READING, default=None)  # fmt: skip
DATES = Option(
    "dates", "--dates", "iso|FORMAT",
    "Times (or the labels of the curve's columns) are dates: 2024-03-01, or as a format says, such as "
    "%d.%m.%Y. They become days since the first end of --domain, else since the first label.",
    o.READING, default=None,
)  # fmt: skip
# What may be asked for where values are missing; the last of curves' means alone.
MISSING = ("refuse", "complete", "pooled")
WIDE = (o.DOMAIN, o.X_LABEL, o.Y_LABEL, COLUMNS, o.GROUPS, o.DECIMAL, DATES, o.GRID)
LONG = (
    _column("id", "--id", "Long layout: whose curve. Needs --domain."),
    _column("time", "--time", "Long layout: where on the axis."),
    _column("value", "--value", "Long layout: how much."),
)
CURVE_FILE = Option(
    "file", "", "FILE",
    "CSV, Parquet or Feather file, private, or - for standard input. Wide: a row a curve, the header "
    "being the grid where it is numbers. Long, where the verb takes it: a row an "
    "observation (--id, --time, --value).",
    type=o.FILE.type, default=REQUIRED,
)  # fmt: skip


@dataclass(frozen=True)
class Curves:
    """Curves: a row a curve or, where `long` allows it, a row an observation.

    Parameters
    ----------
    long : bool
    """

    long: bool = False
    public: ClassVar[Sequence[str]] = ("domain", "dates", "grid")

    @property
    def options(self) -> Sequence[Option]:
        return (CURVE_FILE, *WIDE, *(LONG if self.long else ()))

    def settings(self, given: Given) -> dict[str, Any]:
        from dpfda.records.curves import check_choice

        check_choice(given.missing, "--missing", MISSING if self.long else MISSING[:2])
        check_choice(given.invalid, "--invalid", ("refuse", "repair"))
        check_choice(given.decimal, "--decimal", (".", ","))
        layout = self._layout(given)
        if layout:
            _check_layout(given, layout)
        if given.grid is not None and (layout or given.dates is not None):
            raise ParameterError("--grid", "be left out in the long layout and with --dates", given.grid)
        grid = None if given.grid is None else parse_points(given.grid, "--grid")
        return {
            "grid_points": grid,
            "domain_range": ends(given),
            "unit": given.unit or given.groups or layout.get("--id"),
            # Observations are pooled unless each curve is to be completed first.
            **({"missing": "pooled"} if layout and given.missing == MISSING[0] else {}),
        }

    def _layout(self, given: Given) -> dict[str, str]:
        named = {option.flag: getattr(given, option.name) for option in LONG} if self.long else {}
        return {flag: column for flag, column in named.items() if column is not None}

    def read(self, given: Given, groups: str | None = None) -> Any:
        from dpfda.records import files

        layout = {option.name: getattr(given, option.name, None) for option in LONG}
        with progress_bar(f"reading {given.file.name}") as progress:
            return files.read_curves(
                given.file,
                columns=given.columns,
                groups=groups or given.groups,
                decimal=given.decimal,
                dates=given.dates,
                since=None if given.domain is None or given.dates is None else given.domain[0],
                grid=None if given.grid is None else parse_points(given.grid, "--grid"),
                invalid=given.invalid,
                progress=progress,
                **layout,
            )

    def found(self, given: Given, table: Any) -> dict[str, Any]:
        axis = given.x_label or (None if given.dates is None else table.axis)
        words = {"domain": axis, "value": given.y_label}
        return {"grid_points": table.grid_points, "labels": _said(words)}

    def fit(self, estimator: Any, table: Any, given: Given) -> Any:
        return estimator.fit(table.data, groups=table.groups)

    def notes(self, given: Given, table: Any, release: Any, used: Sequence[str] = ()) -> list[str]:
        named = [given.groups, *self._layout(given).values(), *used]
        used = [name for name in named if name is not None]
        return [
            _axis(given, table, release.domain_range),
            *identifier_notes(table.header, used, given.groups),
        ]


@dataclass(frozen=True)
class ComparedCurves(Curves):
    """Curves with a column that says which group each is in."""

    @property
    def options(self) -> Sequence[Option]:
        by = Option(
            "by", "--by", "COLUMN",
            "Column with the group of each record, such as case or control. Its name and the names of "
            "the groups are published; under replace-one, who is in which group is taken as public.",
            o.READING, default=REQUIRED,
        )  # fmt: skip
        return (*super().options, by)

    def settings(self, given: Given) -> dict[str, Any]:
        if given.neighbours == "add-remove" and not given.levels:
            remedy = "Name every group that may occur."
            raise ParameterError("--level", "be given under add-remove neighbours", "none", remedy)
        if given.groups is not None and given.columns is None:
            remedy = "Example: --columns 'cca_*'"
            raise ParameterError("--columns", "be given with --groups", "none", remedy)
        if given.groups == given.by:
            raise ParameterError("--groups", "name another column than --by", repr(given.groups))
        return super().settings(given) | {"levels": given.levels or None}

    def read(self, given: Given, groups: str | None = None) -> Any:
        return super().read(given, given.by)

    def found(self, given: Given, table: Any) -> dict[str, Any]:
        found = super().found(given, table)
        return found | {"labels": {**found["labels"], "group": given.by}}

    def fit(self, estimator: Any, table: Any, given: Given) -> Any:
        persons = None if given.groups is None else super().read(given).groups
        if persons is not None and len(persons) != len(table.groups):
            raise DataError("The file must stay as it is while it is read; its number of rows changed.")
        return estimator.fit(table.data, table.groups, persons)

    def notes(self, given: Given, table: Any, release: Any, used: Sequence[str] = ()) -> list[str]:
        return super().notes(given, table, release, [given.by])


@dataclass(frozen=True)
class Examples:
    """Examples: columns of inputs, and a target, of numbers or of two labels."""

    labels: bool = False
    public: ClassVar[Sequence[str]] = ("inputs",)

    @property
    def options(self) -> Sequence[Option]:
        inputs = Option(
            "inputs", "--input", "NAME:LO:HI",
            "An input column and its public bounds, in its units; values outside are moved to the "
            "nearer one. Repeat it; NAME may be a glob. Example: --input age:18:90 --input 'px_*:0:16'",
            o.MODEL, list[str], REQUIRED,
        )  # fmt: skip
        target = Option("target", "--target", "COLUMN", "Column to predict.", o.MODEL, default=REQUIRED)
        return (o.FILE, inputs, target, o.GROUPS, o.DECIMAL)

    def settings(self, given: Given) -> dict[str, Any]:
        named = parse_ranges(given.inputs, "--input")
        bounds = [low for _, low, _ in named], [high for _, _, high in named]
        return {"bounds": bounds, "unit": given.unit or given.groups}

    def read(self, given: Given) -> Any:
        from dpfda.records.tables import read_examples

        with progress_bar(f"reading {given.file.name}") as progress:
            return read_examples(
                given.file,
                [name for name, _, _ in parse_ranges(given.inputs, "--input")],
                given.target,
                labels=self.labels,
                groups=given.groups,
                decimal=given.decimal,
                invalid=given.invalid,
                progress=progress,
            )

    def found(self, given: Given, table: Any) -> dict[str, Any]:
        named = parse_ranges(given.inputs, "--input")
        bounds = (
            [named[place][1] for place in table.matched],
            [named[place][2] for place in table.matched],
        )
        return {
            "bounds": bounds,
            "labels": {"domain": ", ".join(table.columns), "value": given.target},
        }

    def fit(self, estimator: Any, table: Any, given: Given) -> Any:
        return estimator.fit(table.inputs, table.target, groups=table.groups)

    def notes(self, given: Given, table: Any, release: Any) -> list[str]:
        return identifier_notes(table.header, [*table.columns, given.target], given.groups)


@dataclass(frozen=True)
class Points:
    """Points, a row each, or a table of counts, a row a cell."""

    public: ClassVar[Sequence[str]] = ("columns", "edges")

    @property
    def options(self) -> Sequence[Option]:
        return (
            o.FILE,
            Option(
                "columns", "--column", "NAME:LO:HI",
                "A column of points and the public ends of its axis, in its units; values outside are "
                "moved to the nearer one. Repeat it for a density on a rectangle or a box. Example: "
                "--column age:0:105",
                o.COUNTED, list[str], None,
            ),
            Option(
                "counts", "--counts", "COLUMN",
                "Instead: a column of numbers of persons, a row a cell, in the order of --edges.",
                o.COUNTED, default=None,
            ),
            Option(
                "edges", "--edges", "A,B,..",
                "With --counts: public ends of the cells, one more than rows; or START:STOP:STEP. "
                "Example: --edges 0,1,5,10,100 or --edges 0:105:5",
                o.COUNTED, default=None,
            ),
            Option(
                "multiplier", "--multiplier", "K",
                "With --counts: what one in the table stands for, 1000 for a table in thousands.",
                o.COUNTED, int, 1,
            ),
            *(replace(label, panel=o.DENSITY) for label in (o.X_LABEL, o.Y_LABEL)),
            o.GROUPS, o.DECIMAL,
        )  # fmt: skip

    def settings(self, given: Given) -> dict[str, Any]:
        named = parse_ranges(given.columns or [], "--column")
        if bool(named) == (given.counts is not None):
            raise ParameterError(
                "The data",
                "be named by --column NAME:LO:HI or by --counts with --edges",
                "both" if named else "neither",
            )
        if (given.counts is None) != (given.edges is None):
            raise ParameterError("--counts and --edges", "be given together", "one of them")
        if given.counts is not None and given.groups is not None:
            once = "be left out for counts, where each person is counted once"
            raise ParameterError("--groups", once, repr(given.groups))
        if len(named) > 2 and (given.plot is not None or given.csv is not None):
            flat = "be left out for more than two columns"
            raise ParameterError("--plot and --csv", flat, len(named))
        if given.edges is not None:
            parse_points(given.edges, "--edges")
        words = {
            "domain": given.x_label or (named[0][0] if named else None),
            "domain_2": given.y_label or (named[1][0] if len(named) == 2 else None),
        }
        return {
            "domain_range": [(low, high) for _, low, high in named] or None,
            "labels": _said(words),
            "unit": given.unit or given.groups,
        }

    def read(self, given: Given) -> Any:
        from dpfda.records.columns import read_columns

        names = [name for name, _, _ in parse_ranges(given.columns or [], "--column")]
        with progress_bar(f"reading {given.file.name}") as progress:
            return read_columns(
                given.file,
                [given.counts] if given.counts is not None else names,
                groups=given.groups,
                decimal=given.decimal,
                invalid=given.invalid,
                progress=progress,
            )

    def found(self, given: Given, table: Any) -> dict[str, Any]:
        return {}

    def fit(self, estimator: Any, table: Any, given: Given) -> Any:
        if given.counts is None:
            return estimator.fit(table.numbers, groups=table.groups)
        edges = parse_points(given.edges, "--edges")
        return estimator.fit_counts(table.numbers[:, 0], edges, given.multiplier)

    def notes(self, given: Given, table: Any, release: Any) -> list[str]:
        counts = given.counts is not None
        return [] if counts else identifier_notes(table.header, table.columns, given.groups)


def ends(given: Given) -> tuple[float, float] | None:
    """The ends of --domain as numbers; with dates, in days since the first."""
    from dpfda.records.dates import Dates

    stated = getattr(given, "dates", None)
    dates = None if stated is None else Dates(stated)
    if given.domain is None:
        return None
    first, last = given.domain
    if dates is not None:
        return 0.0, dates.since(first, "--domain").until(last, "--domain")
    try:
        return float(first), float(last)
    except ValueError:
        raise ParameterError(
            "--domain",
            "be two numbers",
            f"{first!r} {last!r}",
            "Example: --domain 0 24" + ("; dates need --dates." if hasattr(given, "dates") else ""),
        ) from None


def identifier_notes(header: Sequence[str], used: Sequence[str], groups: str | None) -> list[str]:
    """Point out columns that look like names of persons where no privacy unit is named."""
    from dpfda.records.headers import identifiers

    found = identifiers(header, used) if groups is None else []
    if not found:
        return []
    many = len(found) > 1
    names = ", ".join(map(repr, found[:SHOWN])) + (" and others" if len(found) > SHOWN else "")
    return [
        f"column{'s' if many else ''} {names} look{'' if many else 's'} like an identifier and "
        f"{'are' if many else 'is'} not used; if one person may have several records, name the person's "
        f"column, as in --groups {found[0]!r}, for else each record is protected alone"
    ]


@contextmanager
def located(table: Table) -> Iterator[None]:
    """Errors about rows and columns of the data name lines and columns of the file."""
    try:
        yield
    except DataError as error:
        raise type(error)(table.in_file(str(error))) from None


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
        raise ParameterError(
            option,
            "be numbers with commas, or START:STOP:STEP with whole steps from START to STOP",
            repr(text),
            f"Example: {option} 0:105:5",
        ) from None
    import numpy as np

    return [float(point) for point in np.linspace(start, stop, count + 1)]


def parse_ranges(texts: Sequence[str], option: str) -> list[tuple[str, float, float]]:
    """Read columns with their public ends, NAME:LO:HI.

    Raises
    ------
    ParameterError
        If one has another form.
    """
    found = []
    for text in texts:
        name, *limits = text.rsplit(":", 2)
        try:
            low, high = (float(end) for end in limits)
        except ValueError:
            remedy = f"The ends are public and never read from the data. Example: {option} age:18:90"
            raise ParameterError(option, "be NAME:LO:HI", repr(text), remedy) from None
        found.append((name, low, high))
    return found


def _said(words: dict[str, str | None]) -> dict[str, str]:
    return {key: text for key, text in words.items() if text}


def _check_layout(given: Given, layout: dict[str, str]) -> None:
    if len(layout) < len(LONG):
        found = " and ".join(layout)
        raise ParameterError("The long layout", "name --id, --time and --value", found)
    if given.domain is None:
        remedy = "The span of the observed times is private; pass the public ends, as in --domain 0 52."
        raise ParameterError("--domain", "be given in the long layout", "none", remedy)
    if given.columns is not None:
        raise ParameterError("--columns", "be left out in the long layout", repr(given.columns))


def _axis(given: Given, table: Any, domain: tuple[float, float]) -> str:
    """Where the axis came from."""
    points = table.grid_points
    if points is None and table.axis == "words":
        low, high = domain
        return (
            f"axis: {len(table.columns)} points, equally spaced from {low:g} to {high:g}, "
            "because the header holds words; state others with --grid START:STOP:STEP"
        )
    if points is None:
        how = "" if table.axis == "time" else f", as {table.axis}"
        return f"axis: column {given.time!r}{how}"
    where = {"header": "the numbers in the header", "stated": "as stated with --grid"}.get(
        table.axis, f"the dates in the header, as {table.axis}"
    )
    return f"axis: {points.size} points from {points[0]:g} to {points[-1]:g}, {where}"
