"""`dpfda quantiles`: publish a median or a few quantiles of a column of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from dpfda.command import options as o
from dpfda.command.columns import WEIGHTS, read_levels, read_ranges, read_weights
from dpfda.command.declared import DOCSTRING, REQUIRED, Given, Option
from dpfda.command.publishing import Publication
from dpfda.density.verb import COLUMN_SETS, Points
from dpfda.numerics.errors import ParameterError


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


VERB = Publication(
    name="quantiles",
    words="Publish a median or a few quantiles of a column under differential privacy.",
    estimators=("dpfda.density.quantiles:PrivateQuantiles", "dpfda.density.estimator:PrivateDensity"),
    reader=OneColumn(),
    without=("missing", "standardize", "grid", "quadrature", "public_size"),
    options=(
        Option("levels", "--levels", "P,P,..", DOCSTRING, o.DENSITY, str, None),
        Option("step", "--step", "D", DOCSTRING, o.DENSITY, float, None),
        Option(
            "scale", "--scale", "linear|log", "What the points among which quantiles are chosen are "
            "equal on: the axis, or its logarithm.", o.DENSITY, str, None,
        ),
    ),
    settings=read_levels,
    plans=("dpfda plan quantiles --column income:0:1000000 --units 500 --error 1%",),
    examples=(
        "dpfda quantiles people.csv --epsilon 1 --column age:0:105 --step 1 --levels 0.25,0.5,0.75 "
        "--out ages.json",
        "dpfda quantiles people.csv --epsilon 0.5 --column income:1:1e7 --scale log --groups person "
        "--out median.json",
    ),
)  # fmt: skip
