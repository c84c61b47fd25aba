"""Files with a row a record, or a cell: examples with the verbs that learn from them, and points."""

from __future__ import annotations

import copy
import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpfda.command import options as o
from dpfda.command.declared import DOCSTRING, REQUIRED, Given, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import Reader, as_stated, parse_points, parse_ranges, said
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.command.reading import Fitted, Summary
    from dpfda.records.columns import TableColumns, TableExamples


@dataclass(frozen=True)
class Examples(Reader["TableExamples"]):
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

    def settings(self, given: Given) -> dict[str, object]:
        named = parse_ranges(given.inputs, "--input")
        bounds = [low for _, low, _ in named], [high for _, _, high in named]
        return {"bounds": bounds, "unit": given.unit or given.groups}

    def read(self, given: Given) -> TableExamples:
        from dpfda.records.columns import read_examples

        names = [name for name, _, _ in parse_ranges(given.inputs, "--input")]
        with as_stated(given.file, given.decimal, given.invalid) as stated:
            return read_examples(
                given.file,
                names,
                given.target,
                labels=self.labels,
                groups=given.groups,
                stated=stated,
            )

    def found(self, given: Given, table: TableExamples) -> dict[str, object]:
        if given.plot is not None and len(table.columns) > 2:
            # A glob says only now how many there are; nothing is charged yet.
            words = "be left out for more than two input columns"
            raise ParameterError("--plot", words, len(table.columns))
        named = parse_ranges(given.inputs, "--input")
        matched = [named[place] for place in table.matched]
        return {
            "bounds": ([low for _, low, _ in matched], [high for _, _, high in matched]),
            "labels": {"domain": ", ".join(table.columns), "value": given.target},
        }

    def fit(self, estimator: Summary, table: TableExamples, given: Given) -> Fitted:
        return estimator.fit(table.inputs, table.target, groups=table.groups)

    def used(self, given: Given, table: TableExamples) -> list[str]:
        return [*table.columns, given.target]


@dataclass(frozen=True)
class Points(Reader["TableColumns"]):
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

    def settings(self, given: Given) -> dict[str, object]:
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
            "labels": said(words),
            "unit": given.unit or given.groups,
        }

    def read(self, given: Given) -> TableColumns:
        from dpfda.records.columns import read_columns

        counts = counts_of(given)
        ranges = parse_ranges(given.columns or [], "--column")
        names = [name for name, _, _ in ranges] if counts is None else [counts]
        groups = [] if given.groups is None else [("groups", given.groups)]
        with as_stated(given.file, given.decimal, given.invalid) as stated:
            return read_columns(given.file, [("column", name) for name in names], groups, stated)

    def fit(self, estimator: Summary, table: TableColumns, given: Given) -> Fitted:
        if counts_of(given) is None:
            return estimator.fit(table.numbers, groups=table.groups)
        edges = parse_points(given.edges, "--edges")
        return estimator.fit_counts(table.numbers[:, 0], edges, given.multiplier)

    def notes(self, given: Given, table: TableColumns) -> list[str]:
        return [] if counts_of(given) is not None else super().notes(given, table)


def counts_of(given: Given) -> str | None:
    """The column of numbers of persons, where the verb has them and one is named."""
    return getattr(given, "counts", None)


@dataclass(frozen=True)
class OneColumn(Points):
    """Points on an interval: one column, a row each."""

    public: ClassVar[Sequence[str]] = ("columns",)

    @property
    def options(self) -> Sequence[Option]:
        column = Option(
            "columns", "--column", "NAME:LO:HI",
            "The column of points and the public ends of its axis, in its units; values outside count "
            "as at the nearer one. Example: --column income:0:1000000",
            o.DENSITY, list[str], REQUIRED,
        )  # fmt: skip
        return (o.FILE, column, replace(o.X_LABEL, panel=o.DENSITY), o.GROUPS, o.DECIMAL)

    def settings(self, given: Given) -> dict[str, object]:
        named = parse_ranges(given.columns, "--column")
        if len(named) != 1:
            raise ParameterError("--column", "name one column", f"{len(named)}")
        ((name, low, high),) = named
        unit = given.unit or given.groups
        return {"domain_range": (low, high), "labels": {"domain": given.x_label or name}, "unit": unit}


COMPONENTS = Option("components", "--components", "K", DOCSTRING, o.MODEL, int)
# Not a parameter of the estimators: it makes the features.
NORM_BOUND = Option(
    "norm_bound", "--norm-bound", "R",
    "linear: largest length of (1, inputs scaled to [-1, 1]); longer ones are shrunk. A smaller one "
    "means less noise. By default every record is brought to one length.",
    o.MODEL, float, None,
)  # fmt: skip


def machine(
    name: str, words: str, estimators: Sequence[str], examples: Sequence[str], plans: Sequence[str]
) -> Publication:
    """A verb that publishes a function of inputs."""
    return Publication(
        name=name,
        words=f"{words}\n\nOne unit may be replaced by another; their number is public.",
        estimators=estimators,
        reader=Examples(labels=name == "classify"),
        trial=_try,
        options=(COMPONENTS, NORM_BOUND),
        without=("neighbours", "public_size", "missing", "standardize"),
        settings=_settings,
        found=lambda given, table: _features(given, len(table.columns)),
        csv=False,
        examples=examples,
        plans=plans,
    )


def _settings(given: Given) -> dict[str, object]:
    if given.norm_bound is not None and given.features not in ("auto", "linear"):
        raise ParameterError("--norm-bound", "go with --features linear", given.features)
    stated = _features(given, len(parse_ranges(given.inputs, "--input")))
    if hasattr(given, "classes"):
        stated["classes"] = _labels(given.classes)
    return stated


def _labels(text: str) -> tuple[str, ...]:
    """Labels with commas between them; one that holds a comma stands in quotes, as in a CSV file."""
    (labels,) = csv.reader([text], skipinitialspace=True)
    if len(set(labels)) < max(2, len(labels)) or not all(labels):
        words = "be two or more different labels, with commas between them"
        raise ParameterError("--classes", words, repr(text), "Example: --classes 0,1")
    return tuple(labels)


def _features(given: Given, inputs: int) -> dict[str, object]:
    from dpfda.records.features import LinearFeatures

    if given.norm_bound is None:
        return {}
    return {"features": LinearFeatures.of_columns(inputs, given.norm_bound)}


def _try(estimator: Any) -> None:
    """Prepare a release of made-up records, so that most refusals come before the file is read.

    The penalty is too large to be refused, since which ones are depends on the number of units.
    """
    import numpy as np

    from dpfda.machines.plan import Solving
    from dpfda.machines.solvers import check_penalty

    penalty = Solving.of(estimator.solver).penalty
    if penalty is not None:
        check_penalty(penalty)
    ends = estimator.classes if hasattr(estimator, "classes") else estimator.target_bounds
    targets = np.array([*ends] * 2)
    trial = copy.copy(estimator).set_params(solver__penalty=1e9)
    trial.prepare(np.zeros((targets.size, len(estimator.bounds[0]))), targets)
