"""How a verb reads its file: the options that describe it, and notes on the reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from dpfda.command import columns as c
from dpfda.command import options as o
from dpfda.command.declared import REQUIRED, Given, Option
from dpfda.command.running import progress_bar
from dpfda.numerics.errors import DataError, InPython, Location, ParameterError

if TYPE_CHECKING:
    from dpfda.privacy.guarantees import Guarantee
    from dpfda.publication import Plan
    from dpfda.records.columns import TableColumns
    from dpfda.records.csv_tables import Stated
    from dpfda.records.files import InFile, TableCurves, Uses
    from dpfda.releases.base import Release


class Summary(Protocol):
    """An estimator, as verbs know it."""

    fit: Callable[..., object]
    fit_counts: Callable[..., object]
    plan: Callable[..., Plan]
    asked: Callable[[], Guarantee]
    set_params: Callable[..., Summary]
    _addressed: Callable[[Mapping[str, object]], dict[str, object]]
    basis: str | None
    release_: Release

    @property
    def settings(self) -> Any:
        """Domain, unit and reading."""


Read = TypeVar("Read", bound="InFile")
HOURS = "hour of the day"
SHOWN = 3


class Reader(Generic[Read]):
    """Reads the records of a kind of file and hands them to an estimator.

    Attributes
    ----------
    public : sequence of str
        Options that state public numbers, which a plan needs as well.
    """

    public: ClassVar[Sequence[str]] = ()

    @property
    def options(self) -> Sequence[Option]:
        """Options that describe the file."""
        raise NotImplementedError

    def settings(self, args: Given) -> dict[str, object]:
        """Check the options, before the file is read; what they say to the estimator."""
        raise NotImplementedError

    def read(self, args: Given) -> Read:
        """Read the file."""
        raise NotImplementedError

    def from_header(self, args: Given, table: Read) -> dict[str, object]:
        """What the public part of the file says to the estimator."""
        return {}

    def fit(self, estimator: Summary, table: Read, args: Given) -> None:
        """Fit the estimator."""
        raise NotImplementedError

    def release(self, estimator: Summary, table: Read, args: Given) -> Release:
        """What the estimator releases of the file."""
        self.fit(estimator, table, args)
        return estimator.release_

    def paid(self, args: Given) -> str:
        """Why nothing will be charged, where all was before; empty where it will."""
        return ""

    def uses(self, args: Given) -> tuple[Uses, Uses]:
        """Columns that are named, of numbers and of labels: what each is for, and its name."""
        return [], []

    def used(self, args: Given, table: Read) -> list[str]:
        """Columns that have a use."""
        return [column for part in self.uses(args) for _, column in part]

    def axis(self, args: Given, table: Read) -> str:
        """Where the axis of curves came from."""
        return ""

    def alone(self, args: Given) -> str:
        """A note where a unit is named, but no column of units; else empty."""
        whose = any(getattr(args, name, None) for name in ("groups", "id", "counts"))
        return "" if whose or args.unit is None else f"each row counts as one {args.unit} (no --groups)"

    def notes(self, args: Given, table: Read) -> list[str]:
        """Notes on the reading: columns that look like identifiers of persons and are not used.

        Nothing where a privacy unit is named.
        """
        from dpfda.records.headers import identifiers

        likely = [] if args.groups else identifiers(table.header, self.used(args, table))
        if not likely:
            return []
        many = len(likely) > 1
        names = ", ".join(map(repr, likely[:SHOWN])) + (" and others" if len(likely) > SHOWN else "")
        return [
            f"column{'s' if many else ''} {names} look{'' if many else 's'} like an identifier and "
            f"{'are' if many else 'is'} not used; if one person may have several records, name the "
            f"person's column, as in --groups {likely[0]!r}, for else each record is protected alone"
        ]


class NamedColumns(Reader["TableColumns"]):
    """Columns of numbers and of labels, a row a record, each with one use."""

    def read(self, args: Given) -> TableColumns:
        from dpfda.records.columns import read_columns

        with as_stated(args.file, args.decimal, args.na, args.invalid) as stated:
            return read_columns(args.file, *self.uses(args), stated)


def named(args: Given, uses: Sequence[str]) -> list[tuple[str, str]]:
    """The columns that are named by the options of these uses, each with its use."""
    return [(use, getattr(args, use)) for use in uses if getattr(args, use, None) is not None]


# What may be asked for where values are missing; the last of curves' means alone.
MISSING = ("refuse", "complete", "pooled")


@dataclass(frozen=True)
class Curves(Reader["TableCurves"]):
    """Curves: a row a curve or, where `long` allows it, a row an observation.

    Parameters
    ----------
    long : bool
    weighed : bool
        Whether curves may have survey weights.
    """

    long: bool = False
    weighed: bool = False
    public: ClassVar[Sequence[str]] = ("domain", "dates", "grid", "survey_weights")

    @property
    def options(self) -> Sequence[Option]:
        weights = (c.WEIGHTS,) if self.weighed else ()
        return (o.CURVE_FILE, *o.WIDE, *(o.LONG if self.long else ()), *weights)

    def settings(self, args: Given) -> dict[str, object]:
        from dpfda.numerics.parameters import choice

        choice(args.missing, "--missing", MISSING if self.long else MISSING[:2])
        choice(args.invalid, "--invalid", ("refuse", "repair"))
        choice(args.decimal, "--decimal", (".", ","))
        layout = self._layout(args)
        if 0 < len(layout) < len(o.LONG):
            words = "name --id, --time and --value"
            raise ParameterError("The long layout", words, " and ".join(layout))
        if layout and args.domain is None:
            words = "be given in the long layout"
            remedy = (
                "The span of the observed times is private; pass the public ends, as in --domain 0 52."
            )
            raise ParameterError("--domain", words, "none", remedy)
        if layout and args.columns is not None:
            words = "be left out in the long layout"
            raise ParameterError("--columns", words, repr(args.columns))
        if args.grid is not None and (layout or args.dates is not None):
            raise ParameterError("--grid", "be left out in the long layout and with --dates", args.grid)
        if c.read_weights(args) and (layout or args.groups):
            words = "be left out with --groups and in the long layout"
            raise ParameterError("--weights", words, args.survey_weights)
        grid = None if args.grid is None else c.parse_points(args.grid, "--grid")
        return {
            "grid_points": grid,
            "domain_range": c.ends(args),
            # Observations are pooled unless each curve is to be completed first.
            **({"missing": "pooled"} if layout and args.missing == MISSING[0] else {}),
        }

    def _layout(self, args: Given) -> dict[str, str]:
        named = {option.flag: getattr(args, option.name) for option in o.LONG} if self.long else {}
        return {flag: column for flag, column in named.items() if column is not None}

    def uses(self, args: Given) -> tuple[Uses, Uses]:
        weights = c.read_weights(args)
        return [("--weights", weights[0])] if weights else [], []

    def read(self, args: Given) -> TableCurves:
        if c.read_weights(args) and args.columns is None:
            raise _no_columns("--weights")
        return self._read(args, args.groups, *self.uses(args))

    def _read(self, args: Given, groups: str | None, numbers: Uses, labels: Uses) -> TableCurves:
        """Curves, the labels in a column, and further columns of the same file."""
        from dpfda.records import files

        layout = {option.name: getattr(args, option.name, None) for option in o.LONG}
        with as_stated(args.file, args.decimal, args.na, args.invalid) as stated:
            return files.read_curves(
                args.file,
                columns=args.columns,
                groups=groups,
                **layout,
                decimal=stated.notation.decimal,
                na=stated.notation.na,
                dates=args.dates,
                since=None if args.domain is None or args.dates is None else args.domain[0],
                grid=None if args.grid is None else c.parse_points(args.grid, "--grid"),
                numbers=numbers,
                labels=labels,
                invalid=stated.invalid,
                progress=stated.progress,
            )

    def from_header(self, args: Given, table: TableCurves) -> dict[str, object]:
        from dpfda.records.cells import moments

        if table.grid_points is None and table.axis == "words" and moments(table.columns) is not None:
            words = "be given where the header holds dates"
            raise ParameterError("--dates", words, "none", "Say --dates iso, or other points: --grid.")
        return {"grid_points": table.grid_points, "labels": self.labels(args, table)}

    def labels(self, args: Given, table: TableCurves) -> dict[str, str]:
        """What axis and values are called."""
        time, value = (getattr(args, name, None) for name in ("time", "value"))
        usual = HOURS if table.axis == "clock" else time if args.dates is None else table.axis
        return present({"domain": args.x_label or usual, "value": args.y_label or value})

    def fit(self, estimator: Summary, table: TableCurves, args: Given) -> None:
        weights = c.weights_taken(args, table.beside)
        estimator.fit(table.data, groups=table.groups, **weights)

    def used(self, args: Given, table: TableCurves) -> list[str]:
        return [*self._layout(args).values(), *super().used(args, table)]

    def notes(self, args: Given, table: TableCurves) -> list[str]:
        return [self.axis(args, table), *super().notes(args, table)]

    def axis(self, args: Given, table: TableCurves) -> str:
        points, (low, high) = table.grid_points, c.ends(args) or (0.0, 1.0)
        if points is None and table.axis == "words":
            why = "because the header holds words; state others with --grid START:STOP:STEP"
            return f"axis: {len(table.columns)} points, equally spaced from {low:g} to {high:g}, {why}"
        if points is None:
            how = "" if table.axis == "time" else f", as {table.axis}"
            return f"axis: column {args.time!r}{how}"
        where = {
            "header": "the numbers in the header", "stated": "as stated with --grid",
            "clock": "the times of day in the header, in hours",
        }.get(table.axis, f"the dates in the header, as {table.axis}")  # fmt: skip
        return f"axis: {points.size} points from {points[0]:g} to {points[-1]:g}, {where}"


@dataclass(frozen=True)
class ComparedCurves(Curves):
    """Curves with a column that says which group each is in.

    Parameters
    ----------
    asked : bool
        Whether there are groups only where they are asked for, and then named.
    """

    asked: bool = False
    public: ClassVar[Sequence[str]] = (*Curves.public, "by")

    @property
    def options(self) -> Sequence[Option]:
        more = "" if self.asked else ", and groups that are not named are those found"
        words = (
            "Column with the group of each record. Its name and those of the groups are published. "
            f"Under replace-one who is in which group is taken as public{more}. Repeat it for groups "
            "that are combinations: --by tariff:day,night --by region:north,south."
        )
        return (*super().options, c.by(words, None if self.asked else REQUIRED, list[str]))

    def settings(self, args: Given) -> dict[str, object]:
        if not args.by:
            return super().settings(args)
        named = dict(map(c.read_by, args.by))
        levels = {name: labels or None for name, labels in named.items()}
        if len(named) < len(args.by):
            raise ParameterError("--by", "name different columns", " ".join(args.by))
        if (self.asked or args.neighbours == "add-remove") and None in levels.values():
            words = "name groups" + ("" if self.asked else " under add-remove neighbours")
            remedy = "Name every group that may occur. Example: --by case:control,MS"
            raise ParameterError("--by", words, "none", remedy)
        if args.groups is not None and args.columns is None:
            raise _no_columns("--groups")
        if args.groups in named:
            raise ParameterError("--groups", "name another column than --by", repr(args.groups))
        return super().settings(args) | {
            "levels": levels if len(levels) > 1 else next(iter(levels.values()))
        }

    def read(self, args: Given) -> TableCurves:
        if not args.by:
            return super().read(args)
        _, ((_, first), *more) = self.uses(args)
        if more and args.columns is None:
            raise _no_columns("several --by")
        units = [("--groups", args.groups)] if args.groups else []
        try:
            return self._read(args, first, [], [*more, *units])
        except ParameterError as error:
            if error.parameter != "groups":
                raise
            # The reader calls so whatever column is not of the curve.
            raise error.having(parameter=InPython("--by")) from None

    def labels(self, args: Given, table: TableCurves) -> dict[str, str]:
        named = {"group": " / ".join(self.used(args, table))}
        return {**super().labels(args, table), **present(named)}

    def fit(self, estimator: Summary, table: TableCurves, args: Given) -> None:
        names, columns = self.used(args, table), [table.groups, *table.beside]
        groups = columns[0] if len(names) == 1 else dict(zip(names, columns, strict=False))
        if args.by:
            estimator.fit(table.data, groups, *columns[len(names) :])
        else:
            super().fit(estimator, table, args)

    def uses(self, args: Given) -> tuple[Uses, Uses]:
        return [], [("--by", c.read_by(text)[0]) for text in args.by or ()]

    def notes(self, args: Given, table: TableCurves) -> list[str]:
        from dpfda.records.headers import identifiers

        named = [
            f"column {name!r} looks like an identifier, and its labels are published as names of "
            "groups; a person's column is for --groups"
            for name in identifiers(self.used(args, table))
        ]
        return super().notes(args, table) + named


@dataclass(frozen=True)
class CurvesBeside(Curves):
    """Curves with columns beside them, which explain them or, with a target, explain that one.

    Parameters
    ----------
    beside : sequence of Option
        What says so: covariates, and the target where there is one.
    """

    beside: Sequence[Option] = ()
    public: ClassVar[Sequence[str]] = (*Curves.public, "target", "covariates")

    @property
    def options(self) -> Sequence[Option]:
        # What is no part of the curve is beside it in the file.
        columns = (replace(x, default=REQUIRED) if x == o.COLUMNS else x for x in super().options)
        return (*columns, *self.beside)

    def settings(self, args: Given) -> dict[str, object]:
        target, named = self._target(args), c.read_covariates(args.covariates or ())
        own = {"target_bounds": target and target[1:], "covariates": named or None}
        return super().settings(args) | own

    def uses(self, args: Given) -> tuple[Uses, Uses]:
        parts = c.by_kind(args.covariates or ())
        numbers, labels = ([("covariates", name) for name in names] for names in parts)
        target = self._target(args)
        return [*([("target", target[0])] if target else ()), *numbers], labels

    def _target(self, args: Given) -> tuple[str, float, float] | None:
        text = getattr(args, "target", None)
        return None if text is None else c.read_range(text, "--target")

    def fit(self, estimator: Summary, table: TableCurves, args: Given) -> None:
        names = [name for part in c.by_kind(args.covariates or ()) for name in part]
        target = table.beside[: len(table.beside) - len(names)]
        beside = dict(zip(names, table.beside[len(target) :], strict=True))
        estimator.fit(table.data, *target, beside or None, groups=table.groups)


def _no_columns(beside: str) -> ParameterError:
    remedy = "Example: --columns 'cca_*'"
    return ParameterError("--columns", f"be given with {beside}", "none", remedy)


@contextmanager
def located(table: InFile) -> Iterator[None]:
    """Errors about rows and columns of the data name lines and columns of the file."""
    try:
        yield
    except DataError as error:
        place = error.parts.get("place")
        if not isinstance(place, Location):
            raise
        raise error.having(place=InPython(table.where(place))) from None


@contextmanager
def as_stated(file: Path, decimal: str, na: Sequence[str] | None, invalid: str) -> Iterator[Stated]:
    """How any file is read: notation, unusable records, and the bar of progress while it is."""
    from dpfda.records.csv_tables import Stated
    from dpfda.records.lines import Notation

    with progress_bar(f"reading {file.name}") as progress:
        yield Stated(Notation(decimal, tuple(na or ())), None, invalid, progress)


def present(words: Mapping[str, str | None]) -> dict[str, str]:
    """The entries that have words."""
    return {key: text for key, text in words.items() if text}
