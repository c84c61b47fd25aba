"""What a plan says: errors to expect, also over a range of epsilon, and what a wanted one needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from dpfda.bases.kernels import short_range
from dpfda.bases.ordinary import MOST_WORDS
from dpfda.command.columns import parse_points, weights_planned
from dpfda.command.declared import REQUIRED, Given
from dpfda.command.files import check_outputs, save_picture
from dpfda.command.options import POINTS
from dpfda.command.publishing import Publication, kernel_on
from dpfda.command.running import note, print_json, say, warn
from dpfda.mechanisms.design import ExpectedError
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import whole
from dpfda.numerics.words import several
from dpfda.privacy.words import cautions, number
from dpfda.publication import COUNT_SHARE, MeanPlan, Plan
from dpfda.publication.needed import ROWS, factors, ordered, times
from dpfda.views import Curve, Line, aligned, draw, draw_beside
from dpfda.views.shapes import Stroke

# Of a curve's grid, at most.
MOST_POINTS = 2000
# What stands for the one that is not given, until it is found.
EPSILON, UNITS = "1", 100
# Options that not every verb has.
NOT_GIVEN = dict.fromkeys(("rho", "public_size", "edges", "points", "columns", "survey_weights"))
# What `plan` of an estimator takes as it is typed.
EXPECTED = ("late", "followed", "share", "quarter", "filled", "span")
# Whose numbers of units are those of all groups together.
GROUPED = ("compare", "test")
# Of these each number that is tried takes seconds.
SLOW = ("classify", "regress", "survival", "quantile-curves", "density", "scores")
# Of one mean, or of one whose records are read again.
ForecastPlan: TypeAlias = MeanPlan | Any
# Of a picture, from E/8 to 8 E.
CURVE_STEPS = 13
ONE = Fraction(1)
# Root mean square errors at a point, in the units of the data, at one epsilon.
Row = dict[str, float | None]
FOOTNOTE = "From public numbers alone; no file was read"
# How they are drawn.
LINES: dict[str, tuple[str, Stroke]] = {
    "typical": ("error (noise and bias)", "solid"),
    "noise": ("privacy noise", "dashdot"),
    "bias": ("bias of smoothing", "dashed"),
    "sampling": ("for comparison: sampling, at most", "dotted"),
    "limit": ("limit for such noise", "dotted"),
}


def answer(publication: Publication, typed: Given) -> None:
    """Say what a plan expects, and what an error or a band that is wanted needs."""
    args = Given(**NOT_GIVEN | vars(typed))
    wants = args.error is not None or args.band is not None
    if not wants and (args.units is None or (args.epsilon is None and args.rho is None)):
        missing = "--units" if args.units is None else "--epsilon"
        raise ParameterError(missing, "be given, or --error or --band", "none")
    plan = planned(publication, args)
    wanted = wanted_of(args, plan) if wants else {}
    check_outputs({"--plot": args.plot}, {}, args.overwrite)
    warnings = [] if wants else [*cautions(plan.guarantee, args.public_size or args.units)]
    mean: ForecastPlan | None = (
        plan if publication.name == "mean" and hasattr(plan, "expected_error") else None
    )
    if mean is not None:
        grid, domain = mean.one.basis.grid_points, mean.one.basis.domain_range
        short = short_range(kernel_on(args.basis, domain), grid, domain)
        warnings += [] if short is None else [short]
    for text in warnings:
        warn(text)
    forecast = None if mean is None or wants else Forecast(mean, args)
    if wants and (publication.name in SLOW or getattr(args, "missing", None) == "pooled"):
        note("least numbers are looked for on made-up records, which may take minutes")
    least = needed(args, plan, wanted) if wants else {}
    if args.plot is not None:
        start = least.get("least_epsilon")
        shown = plan if start is None else plan.at(epsilon=start)
        views = None if forecast is None else forecast.views()
        save_picture(lambda: draw_beside(views)[0] if views else draw(shown.view()), args.plot)
    if args.as_json:
        facts = {"summary": plan.summary, **plan.facts()} if wants else plan.to_json(args.level)
        facts |= {"wanted": wanted or None, **least, **(forecast.to_json() if forecast else {})}
        plot = None if args.plot is None else str(args.plot)
        print_json({**facts, "warnings": warnings, "plot": plot})
    elif wants:
        units = several(plan.unit) + (" in all" if publication.name in GROUPED else "")
        say(_needs_words(args, plan, wanted, least, units))
    else:
        say("\n".join([plan.describe(args.level), *([forecast.words()] if forecast else [])]))


def planned(publication: Publication, args: Given) -> Plan:
    """The plan of what a verb publishes, from what was typed."""
    units = UNITS if args.units is None else whole(args.units, "--units", 2)
    stated = _as_if_for_a_file(publication, args)
    estimator = publication.estimator(stated)
    # Estimators without such a parameter do not get it.
    expected = {name: vars(args).get(name) for name in EXPECTED}
    further: Json = {**weights_planned(args)}
    further |= {name: value for name, value in expected.items() if value is not None}
    if args.points is not None:
        if not 2 <= args.points <= MOST_POINTS:
            raise ParameterError("--points", f"lie between 2 and {MOST_POINTS}", args.points)
        if args.grid is not None and args.points != POINTS:
            raise ParameterError("--points", "be left out with --grid", args.points)
        further["columns"] = args.points
    if args.edges is not None:
        further["edges"] = parse_points(args.edges, "--edges")
    plan: Plan = estimator.plan(units, **further)
    return plan


def _as_if_for_a_file(publication: Publication, args: Given) -> Given:
    """What would be given to the verb itself: names of columns stand for those of a file."""
    options = {option.name: option for option in publication.all_options()}
    values = {
        name: option.otherwise
        if option.otherwise is not REQUIRED
        else [name]
        if option.type == list[str]
        else name
        for name, option in options.items()
    }
    left_out = [name for name in publication.reader.public if vars(args).get(name) is None]
    values |= vars(args) | {"csv": None} | {name: values[name] for name in left_out if name in values}
    if args.epsilon is None and args.rho is None:
        values["epsilon"] = EPSILON
    if args.edges is not None:
        values["counts"] = "counts"
    elif "counts" in options and not args.columns:
        words = "be given, or --edges for a table of counts"
        raise ParameterError("--column", words, "none", "Example: --column age:0:105")
    return Given(**values)


def wanted_of(args: Given, plan: Plan) -> Json:
    """What is wanted, in the units of the function."""
    if args.error is not None and args.band is not None:
        raise ParameterError("--error", "be given, or --band, and not both", "both")
    name = "error" if args.band is None else "band"
    text = str(getattr(args, name)).strip()
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        words = "be a number, or per cent such as 2%"
        raise ParameterError(f"--{name}", words, repr(text)) from None
    if text.endswith("%"):
        if plan.scale is None:
            raise ParameterError(f"--{name}", "be in the units of the data here", repr(text))
        value *= plan.scale[0] / 100
    return {name: value, **({"level": args.level} if name == "band" else {})}


def needed(args: Given, plan: Plan, wanted: Json) -> Json:
    """The least epsilon, the least number of units, and the table between."""
    if args.units is None and args.epsilon is None and args.rho is None:
        raise ParameterError("--units or --epsilon", "be given with --error or --band", "neither")
    if args.rho is not None and args.units is not None:
        raise ParameterError(
            "--units", "be left out with --rho", args.units, "Of rho no least one is looked for."
        )
    least: Json = {}
    if args.units is not None:
        least["least_epsilon"] = plan.least_epsilon(**wanted)
    if args.epsilon is not None or args.rho is not None:
        least["least_n"] = plan.least_n(**wanted)
    middle = plan.at(least.get("least_n"))
    if "least_epsilon" in least:
        middle = plan.at(epsilon=least["least_epsilon"])
    rows = middle.between(**wanted)
    if args.units is not None:
        # Errors may rise with units: fewer may be enough where these just are.
        rows[len(rows) // 2]["least_n"] = args.units
        rows = ordered(rows)
    if "least_epsilon" not in least:
        # The table starts where this was found, and may have found less.
        least["least_n"] = rows[len(rows) // 2]["least_n"]
    return {**least, "between": rows}


def _needs_words(args: Given, plan: Plan, wanted: Json, least: Json, of: str) -> str:
    term = plan.guarantee.terms[0]
    what, value = "error", wanted.get("error")
    if value is None:
        what, value = f"half-width of the {100 * wanted['level']:g}% band", wanted["band"]
    facts = {name: fact for name, fact in plan.facts().items() if name in ("protects", "bound")}
    facts["wanted"] = f"{what} of at most {number(value)}, of {MOST_WORDS} releases"
    if "error" in wanted:
        facts["error"] = plan.error_words
    lines = [f"Plan: {plan.summary}, from public numbers alone; no file was read."]
    lines += [f"  {name + ':':<11} {fact}" for name, fact in facts.items()]
    if "least_epsilon" in least:
        lines.append(f"For {args.units} {of} the least epsilon is {least['least_epsilon']:g}.")
    if "least_n" in least:
        lines.append(f"At {term} = {getattr(args, term)} the least number is {least['least_n']} {of}.")
    rows = least["between"]
    columns = {
        term: [f"{row[term]:.4g}" for row in rows],
        f"least number of {of}": [str(row["least_n"] or "more than 10^9") for row in rows],
    }
    return "\n".join([*lines, aligned(columns)])


@dataclass(frozen=True, eq=False)
class Forecast:
    """Plans for one setting over a range of epsilon."""

    plan: ForecastPlan
    args: Given

    @property
    def term(self) -> str:
        """What is varied: epsilon, or rho."""
        return self.plan.guarantee.terms[0]

    def budget(self, factor: Fraction = ONE) -> float:
        """The whole epsilon, or rho, times a factor."""
        return float(getattr(self.plan.guarantee, self.term) * factor)

    def at(self, factor: Fraction, larger: Fraction = ONE) -> ForecastPlan:
        """The plan at E times a factor, for N times another."""
        units = self.plan.n or 0
        size = units if larger == 1 else max(2, round(units * larger))
        return self.plan.at(n=size, guarantee=times(self.plan.guarantee, factor))

    @cached_property
    def rows(self) -> list[Row]:
        """The errors and their parts from E/8 to 8 E; E is in the middle."""
        return [{self.term: self.budget(factor), **parts(self.at(factor))} for factor in factors(ROWS)]

    @property
    def middle(self) -> Row:
        """The errors at E."""
        return self.rows[len(self.rows) // 2]

    @property
    def limit_of_box(self) -> float | None:
        """As of `MeanPlan`; None where records are read again, and more is believed of them."""
        return self.plan.one.limit_of_box() if self.plan.one is self.plan else None

    @property
    def counting(self) -> str:
        """A remark on releasing a private number of units; empty where it is public."""
        if self.plan.size is not None:
            return ""
        words = f"A tenth of {self.term} goes to counting the units, whose number is private.\n"
        if self.plan.one.joins_count:
            return words + "They are counted again in one with the sum, and that error is included."
        if self.term == "rho":
            return words + "The count's own error is not included."
        share = math.sqrt(2) / (COUNT_SHARE * self.budget() * self.args.units)
        return words + f"Not included: the count's own error of about {share:.1%}."

    def views(self) -> tuple[Curve, Curve]:
        """Two pictures: against epsilon, and against the number of units."""
        steps = factors(CURVE_STEPS)
        budgets = [(self.budget(step), self.at(step)) for step in steps]
        sizes = [(float(sized.n or 0), sized) for sized in (self.at(ONE, step) for step in steps)]
        units = "standardised, no unit" if self.args.standardize else "units of the data"
        title = f"Expected error of a mean of {self.args.units} units"
        by_budget = plan_view(budgets, units, f"{self.term} (smaller is more private)", title)
        against = "number of units (curves, or persons)"
        return by_budget, plan_view(sizes, units, against, f"Expected error at {self.plan.guarantee}")

    def to_json(self) -> dict[str, object]:
        """The table and the limits as JSON types."""
        return {
            "expected": self.middle,
            f"over_{self.term}": self.rows,
            "limit": self.middle["limit"],
            "limit_of_any": self.plan.one.limit_of_any(),
            "limit_of_box": self.limit_of_box,
        }

    def words(self) -> str:
        """The table and the limits in words."""
        middle = {name: value for name, value in self.middle.items() if value is not None}
        any_least, of_box = self.plan.one.limit_of_any(), self.limit_of_box
        units = "standardised" if self.args.standardize else "units of the data"
        limited, approximate = "limit" in middle, self.plan.guarantee.kind != "pure"
        kind = "rho" if self.term == "rho" else "(epsilon, delta)"
        offered = self.args.mechanism in (None, "auto")
        best = ": the error is that of the best of the laws offered" if offered else ""
        lines = [
            f"\n{self._table([*middle][1:])}\n",
            f"Errors at a point ({units}), of bias and noise together:",
            "  bias      left out by shrinkage",
            "  noise     added for privacy",
            "  sampling  beside it, at most: these curves against a wider population",
            limited
            and "  limit     below which no noise that protects in proportion can expect to come",
            approximate and f"Under {kind} no limit for such noise is proved{best}.",
            limited
            and f"At {self.term} = {middle[self.term]:.4g} the error expected is "
            f"{number(middle['typical'])}; no noise that protects in proportion can "
            f"expect less than {number(middle['limit'])}.",
            any_least is not None
            and f"No mechanism whatever with this guarantee can expect less than {number(any_least)}.",
            of_box is not None
            and f"If all means are as likely, any pure mechanism has at least {of_box:.0%} of this "
            "noise's power.",
            self.counting,
            self.args.plot is not None and f"Plot: {self.args.plot}",
        ]
        return "\n".join(line for line in lines if line)

    def _table(self, names: Sequence[str]) -> str:
        columns = {
            "": ["->" if row is self.middle else "" for row in self.rows],
            self.term: [f"{row[self.term]:.4g}" for row in self.rows],
        }
        for name in names:
            called = "error" if name == "typical" else name
            columns[called] = [number(value) for row in self.rows if (value := row[name]) is not None]
        return aligned(columns)


def parts(plan: ForecastPlan) -> Row:
    """The expected error of a release, what it is made of, and the limit for it."""
    error: ExpectedError | None = plan.expected_error()
    assert error is not None  # noqa: S101
    names = {"typical": "total", "bias": "bias", "noise": "noise", "sampling": "sampling"}
    errors = {name: plan.one.typical(getattr(error, part)) for name, part in names.items()}
    return {**errors, "limit": plan.one.limit()}


def plan_view(
    plans: Sequence[tuple[float, ForecastPlan]], units: str, against: str, title: str
) -> Curve:
    """The expected error of plans, its parts and the limit for it, on logarithmic axes.

    plans: Each with its privacy loss or number of units, increasing: what is drawn against.
    """
    at, rows = np.array([value for value, _ in plans]), [parts(plan) for _, plan in plans]
    lines = [
        Line(at, np.array([row[name] for row in rows]), label, stroke=stroke)
        for name, (label, stroke) in LINES.items()
        if all(row[name] is not None for row in rows)
    ]
    error = f"typical error at a point ({units})"
    return Curve(tuple(lines), against, error, title, FOOTNOTE, logarithmic=True)
