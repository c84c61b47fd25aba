"""Files with points, a row each, or a table of counts, as verbs read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dpfda.command import options as o
from dpfda.command.columns import WEIGHTS, parse_points, read_ranges, read_weights, weights_taken
from dpfda.command.declared import REQUIRED, Given, Option
from dpfda.command.reading import NamedColumns, Summary, named, present
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.records.columns import TableColumns
    from dpfda.records.files import Uses

# Parameters that a column with the ends of its axis sets.
COLUMN_SETS = ("column", "domain", "domain_range")


@dataclass(frozen=True)
class Points(NamedColumns):
    """Points, a row each, or a table of counts, a row a cell."""

    public: ClassVar[Sequence[str]] = ("columns", "edges", "survey_weights")

    @property
    def options(self) -> Sequence[Option]:
        return (
            o.FILE,
            Option(
                "columns", "--column", "NAME:LO:HI",
                "A column of points and the public ends of its axis, in its units; values outside are "
                "moved to the nearer one. Repeat it for a density on a rectangle or a box. Example: "
                "--column age:0:105",
                o.COUNTED, list[str], None, sets=COLUMN_SETS,
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
            o.GROUPS, WEIGHTS, *o.NOTATION,
        )  # fmt: skip

    def settings(self, given: Given) -> dict[str, object]:
        ranges = read_ranges(given.columns or [], "--column")
        if bool(ranges) == (given.counts is not None):
            either = "be named by --column NAME:LO:HI or by --counts with --edges"
            raise ParameterError("The data", either, "both" if ranges else "neither")
        if (given.counts is None) != (given.edges is None):
            raise ParameterError("--counts and --edges", "be given together", "one of them")
        if given.counts is not None and given.groups is not None:
            once = "be left out for counts, where each person is counted once"
            raise ParameterError("--groups", once, repr(given.groups))
        if read_weights(given) and given.counts is not None:
            raise ParameterError("--weights", "be left out for counts", repr(given.survey_weights))
        if len(ranges) > 2 and (given.plot is not None or given.csv is not None):
            flat = "be left out for more than two columns"
            raise ParameterError("--plot and --csv", flat, len(ranges))
        if given.edges is not None:
            parse_points(given.edges, "--edges")
        words = {
            "domain": given.x_label or (ranges[0][0] if ranges else None),
            "domain_2": given.y_label or (ranges[1][0] if len(ranges) == 2 else None),
        }
        ends = [(low, high) for _, low, high in ranges] or None
        return {"domain_range": ends, "labels": present(words)}

    def uses(self, given: Given) -> tuple[Uses, Uses]:
        counts, weights = counts_of(given), (read_weights(given) or ())[:1]
        ranges = read_ranges(given.columns or [], "--column")
        names = [name for name, _, _ in ranges] if counts is None else [counts]
        return [("column", name) for name in (*names, *weights)], named(given, ("groups",))

    def fit(self, estimator: Summary, table: TableColumns, given: Given) -> None:
        if counts_of(given) is None:
            weights = weights_taken(given, table.numbers.T)
            points = table.numbers[:, : table.numbers.shape[1] - len(weights)]
            estimator.fit(points, groups=table.groups, **weights)
        else:
            edges = parse_points(given.edges, "--edges")
            estimator.fit_counts(table.numbers[:, 0], edges, given.multiplier)

    def notes(self, given: Given, table: TableColumns) -> list[str]:
        return [] if counts_of(given) is not None else super().notes(given, table)


def counts_of(given: Given) -> str | None:
    """The column of numbers of persons, where the verb has them and one is named."""
    return getattr(given, "counts", None)


@dataclass(frozen=True)
class OneColumn(Points):
    """Points on an interval: one column, a row each."""

    public: ClassVar[Sequence[str]] = ("columns", "survey_weights")

    @property
    def options(self) -> Sequence[Option]:
        column = Option(
            "columns", "--column", "NAME:LO:HI",
            "The column of points and the public ends of its axis, in its units; values outside count "
            "as at the nearer one. Example: --column income:0:1000000",
            o.DENSITY, list[str], REQUIRED, sets=COLUMN_SETS,
        )  # fmt: skip
        return (o.FILE, column, replace(o.X_LABEL, panel=o.DENSITY), o.GROUPS, WEIGHTS, *o.NOTATION)

    def settings(self, given: Given) -> dict[str, object]:
        ranges = read_ranges(given.columns, "--column")
        if len(ranges) != 1:
            raise ParameterError("--column", "name one column", f"{len(ranges)}")
        ((name, low, high),) = ranges
        read_weights(given)
        return {"domain_range": (low, high), "labels": {"domain": given.x_label or name}}
