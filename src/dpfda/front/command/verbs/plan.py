"""`dpfda plan`: the error to expect, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dpfda.errors import ParameterError
from dpfda.front.command import options as o
from dpfda.front.command.declared import REQUIRED, Given, Option, Verb
from dpfda.front.command.publishing import make, try_on_curves
from dpfda.front.command.running import print_json, warn

if TYPE_CHECKING:
    from dpfda.bases import Basis
    from dpfda.mechanisms.design import Plan
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
OPTIONS = (
    Option(
        "curves", "--curves", "N",
        "Number of privacy units (persons, if one has several curves). Example: 500",
        o.PRIVACY, int, REQUIRED,
    ),
    *(o.PARAMETERS[name] for name in NAMES),
    o.MECHANISM, *o.BOUNDS, o.PARAMETERS["standardize"], o.PARAMETERS["basis"], o.DOMAIN,
    Option("points", "--points", "M", "Number of equally spaced grid points of a curve.", o.CURVE, int,
           POINTS),
    o.GRID,
    o.output("plot", "F.png",
             "Draw error against epsilon and N: .png, .pdf or .svg (extra dpfda[plot])."),
    o.OVERWRITE, o.AS_JSON,
)  # fmt: skip


def plan(given: Given) -> None:
    """Expected error of a mean curve over a range of epsilon around E. No file is read.

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
    from dpfda.bases import KernelBasis
    from dpfda.bases.centred import CentredBasis
    from dpfda.bases.grids import check_grid, equally_spaced
    from dpfda.front.command.checks import bound_from, budget_of, check_size, kernel_on
    from dpfda.front.command.reading import ends, parse_points
    from dpfda.privacy.budgets import budget

    stated = None if given.grid is None else parse_points(given.grid, "--grid")
    check_size(given)
    whole, bound, domain = budget(**budget_of(given)), bound_from(given), ends(given)
    settings = {name: getattr(given, name) for name in (*NAMES, "mechanism", "standardize", "basis")}
    settings |= {"epsilon": whole.epsilon, "delta": getattr(whole, "delta", 0)}
    estimator = make(MEAN)(**settings, bounds=bound, domain_range=domain, grid_points=stated)
    try_on_curves(estimator)
    _check_counts(given.curves, given.points if stated is None else len(stated))
    if stated is not None and given.points != POINTS:
        raise ParameterError("--points", "be left out with --grid", given.points)
    span = domain or ((0.0, 1.0) if stated is None else (stated[0], stated[-1]))
    kernel = kernel_on(given.basis, span)
    places = equally_spaced(given.points, span) if stated is None else check_grid(stated)
    basis: Basis = KernelBasis.on_grid(kernel, places, span)
    if given.standardize:
        # As an estimator does: standardised curves integrate to zero.
        basis = CentredBasis.of(basis)
    return Forecast(basis, kernel, whole, bound, given)


@dataclass(frozen=True, eq=False)
class Forecast:
    """Plans for one setting over a range of epsilon."""

    basis: Any
    kernel: Any
    whole: PureDP | ApproximateDP
    bound: Any
    given: Given

    def epsilon(self, factor: Fraction) -> float:
        """The whole epsilon, E times a factor."""
        return float(self.whole.epsilon * factor)

    def at(self, factor: Fraction, larger: Fraction = Fraction(1), quick: bool = False) -> Plan:
        """The plan at E times a factor, for N times another."""
        from dpfda.mechanisms.design import make_plan
        from dpfda.mechanisms.design.expectation import DRAWS
        from dpfda.mechanisms.posteriors import CountNoise
        from dpfda.publication import COUNT_SCALE

        given, asked = self.given, self.request(factor)
        return make_plan(
            self.basis,
            self.bound,
            max(2, round((given.public_size or given.curves) * larger)),
            asked.function_guarantee,
            asked.neighbours,
            given.mechanism,
            PICTURE_DRAWS if quick else DRAWS,
            CountNoise(asked.count_noise, COUNT_SCALE) if asked.joins_count else None,
        )

    def row(self, factor: Fraction) -> Row:
        """The errors at E times a factor."""
        plan = self.at(factor)
        parts = {name: getattr(plan.error, name) for name in ("bias", "noise", "sampling")}
        return {
            "epsilon": self.epsilon(factor),
            "typical": plan.typical_error,
            **{name: math.sqrt(part / plan.length) for name, part in parts.items()},
            "limit": plan.typical_limit,
        }

    def request(self, factor: Fraction = Fraction(1)) -> MeanPlan:
        """What would be asked for at E times a factor."""
        from dpfda.privacy.guarantees import Neighbours, guarantee_for
        from dpfda.publication import MeanPlan

        given = self.given
        scaled = guarantee_for(self.whole.epsilon * factor, getattr(self.whole, "delta", 0))
        neighbours = Neighbours.parse(given.neighbours)
        public = given.curves if neighbours is Neighbours.REPLACE_ONE else given.public_size
        return MeanPlan.of(
            self.basis, self.bound, scaled, neighbours, given.mechanism, public, "unit", {}
        )

    @property
    def counting(self) -> str:
        """What is said of releasing a private number of units; nothing where it is public."""
        from dpfda.publication import COUNT_SHARE

        asked = self.request()
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
        [forecast.at(factor, quick=True) for factor in factors],
        units,
        "epsilon (smaller is more private)",
        f"Expected error of a mean of {forecast.given.curves} units",
    )
    plans = [forecast.at(Fraction(1), factor, quick=True) for factor in factors]
    by_size = plan_view(
        [float(plan.problem.size) for plan in plans],
        plans,
        units,
        "number of units (curves, or persons)",
        f"Expected error at {forecast.whole}",
    )
    return by_epsilon, by_size


def plan_view(
    values: Sequence[float], plans: Sequence[Plan], units: str, against: str, title: str
) -> Curve:
    """The expected error of a release, its parts and the limit for it, on logarithmic axes.

    Parameters
    ----------
    values : sequence of float
        Privacy losses, or numbers of units, increasing.
    plans : sequence of Plan
        One for each.
    units, against, title : str
        Units of the error, what the values are, and what is shown.
    """
    import numpy as np

    from dpfda.views import Curve, Line

    at = np.array(values)

    def line(part: str, label: str, stroke: Stroke) -> Line:
        errors = [math.sqrt(getattr(plan.error, part) / plan.length) for plan in plans]
        return Line(at, np.array(errors), label, stroke=stroke)

    lines = [
        line("total", "error (noise and bias)", "solid"),
        line("noise", "privacy noise", "dashdot"),
        line("bias", "bias of shrinkage", "dashed"),
        line("sampling", "for comparison: sampling, at most", "dotted"),
    ]
    limits = [plan.typical_limit for plan in plans if plan.typical_limit is not None]
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
    design = forecast.at(Fraction(1)).design
    return {
        "guarantee": str(forecast.whole),
        "neighbours": forecast.given.neighbours,
        "bound": forecast.bound.describe(),
        "kernel": forecast.basis.describe(),
        "mechanism": f"{design.mechanism}: {design.noise.describe()}",
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
        "limit_of_any": forecast.at(Fraction(1), quick=True).typical_limit_of_any,
        "error": "root mean square at a point, in the units of the data",
        "plot": None if plot is None else str(plot),
        "warnings": warnings,
    }


def _words(forecast: Forecast, rows: list[Row], plot: Path | None) -> str:
    middle, given = rows[len(rows) // 2], forecast.given
    units = "standardised" if given.standardize else "units of the data"
    limited, approximate = middle["limit"] is not None, forecast.whole.kind == "approximate"
    problem = forecast.at(Fraction(1), quick=True).problem
    belief = "for a mean as rough as the kernel and as large as the bound allows"
    if problem.curves is not None and given.mechanism == "auto":
        belief = "over smooth curves between the bounds"
    elif problem.mixture is not None:
        belief = "over smooth means, from as large as the bound allows to a hundredth of that"
    best = ": the error is that of the best of the laws offered" if given.mechanism == "auto" else ""
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
        "dpfda plan --curves 142 --epsilon 1 --delta 1e-6 --standardize --plot plan.png",
    ),
    o.PLANNING,
    estimators=(MEAN,),
)
