"""`dpfda plan`: the error to expect, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from dpfda.errors import ParameterError
from dpfda.front.command import options as o
from dpfda.front.command.declared import Given, Option, Verb
from dpfda.front.command.publishing import make, try_on_curves
from dpfda.front.command.running import print_json, warn
from dpfda.front.command.verbs.covariance import CENTER

if TYPE_CHECKING:
    from dpfda.privacy.guarantees import ApproximateDP, PureDP
    from dpfda.publication import MeanPlan
    from dpfda.views import Curve
    from dpfda.views.shapes import Stroke

MEAN = "dpfda.summaries.mean:PrivateMean"
# The table goes from E/8 to 8 E by factors of two; the picture has steps between.
SPAN = 8
STEPS = 7
CURVE_STEPS = 13
# Means that are simulated for a point of the picture; the table takes more.
PICTURE_DRAWS = 300
POINTS = 101
MOST_POINTS = 2000
# Root mean square errors at a point, in the units of the data, at one epsilon.
Row = dict[str, float | None]
NAMES = ("epsilon", "delta", "neighbours", "public_size")
SUMMARIES = ("mean", "compare", "covariance", "fpca", "density", "classify", "regress")
OPTIONS = (
    Option("summary", "", "|".join(SUMMARIES), "What would be published.", default="mean"),
    Option(
        "curves", "--curves", "N",
        "Number of privacy units (persons, if one has several curves; of each group in a comparison). "
        "Example: 500",
        o.PRIVACY, int, None,
    ),
    replace(o.PARAMETERS["epsilon"], default=None),
    Option(
        "error", "--error", "X",
        "Expected root mean square error at a point that is wanted, in the units of the data, or in per "
        "cent of the distance between the bounds. Example: --error 0.02 or --error 2%",
        o.PRIVACY, str, None,
    ),
    Option(
        "band", "--band", "X",
        "Instead: expected half-width of the band that is wanted. Example: --band 5%",
        o.PRIVACY, str, None,
    ),
    Option("level", "--level", "P", "Probability of that band.", o.PRIVACY, float, 0.95),
    *(o.PARAMETERS[name] for name in NAMES[1:]),
    replace(o.MECHANISM, default=None), *o.BOUNDS, o.PARAMETERS["standardize"], o.PARAMETERS["basis"],
    o.DOMAIN,
    Option("points", "--points", "M", "Number of equally spaced grid points of a curve.", o.CURVE, int,
           POINTS),
    o.GRID,
    replace(CENTER, default=None),
    *(replace(o.PARAMETERS[name], default=None)
      for name in ("radius", "cells", "loss", "solver", "features", "penalty")),
    Option("inputs", "--input", "NAME:LO:HI",
           "Of a machine: an input and its public bounds. Repeat it. Example: --input age:18:90",
           o.MODEL, list[str], None),
    o.output("plot", "F.png",
             "Draw error against epsilon and N: .png, .pdf or .svg (extra dpfda[plot])."),
    o.OVERWRITE, o.AS_JSON,
)  # fmt: skip


def plan(given: Given) -> None:
    """What to expect of a summary of N units at epsilon E, or what it needs. No file is read.

    With --error or --band: the least epsilon for N units, and the least number of units for E. Per cent
    are of the distance between the bounds. Without, for a mean: errors over a range of epsilon around E.

    Typical errors are root mean squares at a point, in the units of the data: bias (what shrinkage and
    too few coefficients leave out), noise (for privacy), and, beside them, sampling (of these data
    from a wider population, at most). They are expected under a public mixture of smooth means, from
    as large as the bound allows to a hundredth of that; with --kernel, for a mean as rough as the
    kernel and as large as allowed. The limit is what no such noise can go below.
    """
    from dpfda.bases.kernels import short_range
    from dpfda.front.command.outputs import check_outputs, save_picture
    from dpfda.privacy.words import cautions
    from dpfda.views import draw_beside

    if given.summary not in SUMMARIES:
        raise ParameterError("The summary", f"be one of {', '.join(SUMMARIES)}", repr(given.summary))
    if given.summary != "mean" or given.error is not None or given.band is not None:
        from dpfda.front.command.planning import answer

        answer(given)
        return
    for name, value in (("--curves", given.curves), ("--epsilon", given.epsilon)):
        if value is None:
            raise ParameterError(name, "be given, or --error or --band", "none")
    forecast = foretold(given)
    check_outputs({"--plot": given.plot}, {}, given.overwrite)
    basis, guarantee = forecast.basis, forecast.whole
    warnings = [short_range(forecast.kernel, basis.grid_points, basis.domain_range)]
    warnings += cautions(guarantee, given.public_size or given.curves)
    known = [text for text in warnings if text is not None]
    for text in known:
        warn(text)
    rows = [forecast.row(factor) for factor in _factors(STEPS)]
    if given.plot is not None:
        units = "standardised, no unit" if given.standardize else "units of the data"
        save_picture(lambda: draw_beside(_views(forecast, units))[0], given.plot)
    if given.as_json:
        print_json(_as_json(forecast, rows, known, given.plot))
    else:
        typer.echo(_words(forecast, rows, given.plot))


def foretold(given: Given) -> Forecast:
    """The forecast for public numbers, checked as the mean checks them."""
    from dpfda.front.command.checks import bound_from, budget_of, check_size, kernel_on
    from dpfda.front.command.reading import ends, parse_points
    from dpfda.privacy.budgets import budget

    stated = None if given.grid is None else parse_points(given.grid, "--grid")
    check_size(given)
    whole, bound, domain = budget(**budget_of(given)), bound_from(given), ends(given)
    settings = {name: getattr(given, name) for name in (*NAMES, "standardize", "basis")}
    settings["mechanism"] = given.mechanism or "auto"
    settings |= {"epsilon": whole.epsilon, "delta": getattr(whole, "delta", 0)}
    estimator = make(MEAN)(**settings, bounds=bound, domain_range=domain, grid_points=stated)
    try_on_curves(estimator)
    _check_counts(given.curves, given.points if stated is None else len(stated))
    if stated is not None and given.points != POINTS:
        raise ParameterError("--points", "be left out with --grid", given.points)
    made = estimator.plan(n=given.curves, columns=given.points)
    return Forecast(made, kernel_on(given.basis, made.basis.domain_range), given)


@dataclass(frozen=True, eq=False)
class Forecast:
    """Plans for one setting over a range of epsilon."""

    plan: MeanPlan
    kernel: Any
    given: Given

    @property
    def basis(self) -> Any:
        """Of the plan."""
        return self.plan.basis

    @property
    def whole(self) -> PureDP | ApproximateDP:
        """The whole guarantee."""
        return cast("PureDP | ApproximateDP", self.plan.guarantee)

    def epsilon(self, factor: Fraction) -> float:
        """The whole epsilon, E times a factor."""
        return float(self.whole.epsilon * factor)

    def at(self, factor: Fraction, larger: Fraction = Fraction(1)) -> MeanPlan:
        """The plan at E times a factor, for N times another."""
        from dpfda.privacy.guarantees import guarantee_for

        scaled = guarantee_for(self.whole.epsilon * factor, getattr(self.whole, "delta", 0))
        size = (self.plan.n or 0) if larger == 1 else max(2, round((self.plan.n or 0) * larger))
        return self.plan.at(n=size, guarantee=scaled)

    def row(self, factor: Fraction) -> Row:
        """The errors at E times a factor."""
        plan = self.at(factor)
        error = plan.expected_error()
        assert error is not None  # noqa: S101
        parts = {name: plan.typical(getattr(error, name)) for name in ("bias", "noise", "sampling")}
        typical = plan.typical(error.total)
        return {"epsilon": self.epsilon(factor), "typical": typical, **parts, "limit": plan.limit()}

    @property
    def counting(self) -> str:
        """What is said of releasing a private number of units; nothing where it is public."""
        from dpfda.publication import COUNT_SHARE

        asked = self.plan
        if asked.size is not None:
            return ""
        share = math.sqrt(2) / (COUNT_SHARE * self.whole.epsilon * self.given.curves)
        words = "A tenth of epsilon goes to counting the units, whose number is private.\n"
        if asked.joins_count:
            return words + "They are counted again in one with the sum, and that error is included."
        return words + f"Not included: the count's own error of about {share:.1%}."


def _views(forecast: Forecast, units: str) -> tuple[Curve, Curve]:
    """Two pictures: against epsilon, and against the number of units."""
    factors = _factors(CURVE_STEPS)
    by_epsilon = plan_view(
        [forecast.epsilon(factor) for factor in factors],
        [forecast.at(factor) for factor in factors],
        units,
        "epsilon (smaller is more private)",
        f"Expected error of a mean of {forecast.given.curves} units",
    )
    plans = [forecast.at(Fraction(1), factor) for factor in factors]
    by_size = plan_view(
        [float(plan.n or 0) for plan in plans],
        plans,
        units,
        "number of units (curves, or persons)",
        f"Expected error at {forecast.whole}",
    )
    return by_epsilon, by_size


def plan_view(
    values: Sequence[float], plans: Sequence[MeanPlan], units: str, against: str, title: str
) -> Curve:
    """The expected error of a release, its parts and the limit for it, on logarithmic axes.

    Parameters
    ----------
    values : sequence of float
        Privacy losses, or numbers of units, increasing.
    plans : sequence of MeanPlan
        One for each.
    units, against, title : str
        Units of the error, what the values are, and what is shown.
    """
    import numpy as np

    from dpfda.views import Curve, Line

    at = np.array(values)

    found = [plan.expected_error(PICTURE_DRAWS) for plan in plans]

    def line(part: str, label: str, stroke: Stroke) -> Line:
        pairs = zip(plans, found, strict=True)
        errors = [plan.typical(getattr(error, part)) for plan, error in pairs]
        return Line(at, np.array(errors), label, stroke=stroke)

    lines = [
        line("total", "error (noise and bias)", "solid"),
        line("noise", "privacy noise", "dashdot"),
        line("bias", "bias of smoothing", "dashed"),
        line("sampling", "for comparison: sampling, at most", "dotted"),
    ]
    limits = [limit for plan in plans if (limit := plan.limit()) is not None]
    if len(limits) == len(plans):
        lines.append(Line(at, np.array(limits), "limit for such noise", stroke="dotted"))
    said = "From public numbers alone; no file was read"
    return Curve(
        tuple(lines), against, f"typical error at a point\n({units})", title, said, logarithmic=True
    )


def _factors(steps: int) -> list[Fraction]:
    """Factors from 1/SPAN to SPAN, evenly on a log scale, 1 in the middle."""
    exponents = [2 * index / (steps - 1) - 1 for index in range(steps)]
    return [Fraction(SPAN**exponent).limit_denominator(10**6) for exponent in exponents]


def _check_counts(curves: int, points: int) -> None:
    from dpfda.numerics.parameters import whole

    whole(curves, "--curves", 2)
    if not 2 <= points <= MOST_POINTS:
        raise ParameterError("--points", f"lie between 2 and {MOST_POINTS}", points)


def _facts(forecast: Forecast) -> dict[str, Any]:
    return {
        "guarantee": str(forecast.whole),
        "neighbours": forecast.given.neighbours,
        "bound": str(forecast.plan.bounded["description"]),
        "kernel": forecast.basis.describe(),
        "mechanism": forecast.plan.noise_words,
    }


def _as_json(
    forecast: Forecast, rows: list[Row], warnings: list[str], plot: Path | None
) -> dict[str, Any]:
    return {
        "curves": forecast.given.curves,
        **_facts(forecast),
        "expected": rows[len(rows) // 2],
        "over_epsilon": rows,
        "limit": rows[len(rows) // 2]["limit"],
        "limit_of_any": forecast.plan.limit_of_any(),
        "error": "root mean square at a point, in the units of the data",
        "plot": None if plot is None else str(plot),
        "warnings": warnings,
    }


def _words(forecast: Forecast, rows: list[Row], plot: Path | None) -> str:
    middle, given = rows[len(rows) // 2], forecast.given
    units = "standardised" if given.standardize else "units of the data"
    limited, approximate = middle["limit"] is not None, forecast.whole.kind == "approximate"
    belief = forecast.plan.belief
    best = (
        ": the error is that of the best of the laws offered"
        if given.mechanism in (None, "auto")
        else ""
    )
    facts = "\n".join(f"  {name + ':':<13} {fact}" for name, fact in _facts(forecast).items())
    lines = [
        f"Mean curve of {given.curves} units, from public numbers alone; no file was read.\n{facts}\n",
        f"{_table(rows, limited)}\n",
        f"Typical error at a point, as a root mean square ({units}):",
        "  error     from the non-private mean of the same bounded curves: bias and noise together",
        "  bias      left out by shrinkage",
        "  noise     added for privacy",
        "  sampling  beside it, at most: these curves against a wider population",
        limited and "  limit     below which no noise that protects in proportion can expect to come",
        f"Expected {belief}.",
        approximate and f"Under (epsilon, delta) no limit for such noise is proved{best}.",
        limited
        and f"At epsilon = {middle['epsilon']:.4g} the error expected is {_told(middle['typical'])}; no "
        f"noise that protects in proportion can expect less than {_told(middle['limit'])}.",
        forecast.counting,
        plot is not None and f"Plot: {plot}",
    ]
    return "\n".join(line for line in lines if line)


def _told(value: float | None) -> str:
    from dpfda.privacy.words import number

    return "" if value is None else number(value)


def _table(rows: list[Row], limited: bool) -> str:
    from dpfda.views import aligned

    names = ("typical", "bias", "noise", "sampling", *(("limit",) if limited else ()))
    columns = {
        "": ["->" if 2 * place + 1 == len(rows) else "" for place in range(len(rows))],
        "epsilon": [f"{row['epsilon']:.4g}" for row in rows],
        **{name: [_told(row[name]) for row in rows] for name in names},
    }
    return aligned({("error" if name == "typical" else name): c for name, c in columns.items()})


VERB = Verb(
    "plan",
    plan,
    OPTIONS,
    (
        "dpfda plan --curves 500 --epsilon 1 --bounds 0 1",
        "dpfda plan --curves 4948 --bounds 0 5 --error 0.1",
        "dpfda plan density --curves 2000 --domain 0 100 --error 20% --epsilon 1",
        "dpfda plan --curves 142 --epsilon 1 --delta 1e-6 --standardize --plot plan.png",
    ),
    o.PLANNING,
    estimators=(MEAN,),
)
