"""The table and the pictures of a planned mean: errors and their parts over a range of epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from dpfda.command.declared import Given
from dpfda.command.running import print_json, say

if TYPE_CHECKING:
    from dpfda.mechanisms.design import ExpectedError
    from dpfda.publication import MeanPlan
    from dpfda.views import Curve
    from dpfda.views.shapes import Stroke

# Of one mean, or of one whose records are read again.
ForecastPlan: TypeAlias = "MeanPlan | Any"
# Of a picture, from E/8 to 8 E.
CURVE_STEPS = 13
ONE = Fraction(1)
# Root mean square errors at a point, in the units of the data, at one epsilon.
Row = dict[str, float | None]
# How they are drawn.
LINES: dict[str, tuple[str, Stroke]] = {
    "typical": ("error (noise and bias)", "solid"),
    "noise": ("privacy noise", "dashdot"),
    "bias": ("bias of smoothing", "dashed"),
    "sampling": ("for comparison: sampling, at most", "dotted"),
    "limit": ("limit for such noise", "dotted"),
}


def show_forecast(plan: ForecastPlan, given: Given, warnings: list[str]) -> None:
    """Print the forecast of a mean, and draw it where that is wanted."""
    from dpfda.command.files import save_picture
    from dpfda.publication.needed import ROWS, factors
    from dpfda.views import draw_beside

    forecast = Forecast(plan, given)
    rows = [forecast.row(factor) for factor in factors(ROWS)]
    if given.plot is not None:
        save_picture(lambda: draw_beside(_views(forecast))[0], given.plot)
    if given.as_json:
        print_json(_as_json(forecast, rows, warnings))
    else:
        say(_words(forecast, rows))


@dataclass(frozen=True, eq=False)
class Forecast:
    """Plans for one setting over a range of epsilon."""

    plan: ForecastPlan
    given: Given

    @property
    def term(self) -> str:
        """What is varied: epsilon, or rho."""
        return self.plan.guarantee.terms[0]

    def budget(self, factor: Fraction = ONE) -> float:
        """The whole epsilon, or rho, times a factor."""
        return float(getattr(self.plan.guarantee, self.term) * factor)

    def at(self, factor: Fraction, larger: Fraction = ONE) -> ForecastPlan:
        """The plan at E times a factor, for N times another."""
        from dpfda.publication.needed import times

        units = self.plan.n or 0
        size = units if larger == 1 else max(2, round(units * larger))
        return self.plan.at(n=size, guarantee=times(self.plan.guarantee, factor))

    def row(self, factor: Fraction) -> Row:
        """The errors at E times a factor."""
        return {self.term: self.budget(factor), **parts(self.at(factor))}

    @property
    def looks(self) -> str:
        """What else is believed where records are read again."""
        return (
            "" if self.plan.one is self.plan else "; with two looks, less what these gain on real ones"
        )

    @property
    def limit_of_box(self) -> float | None:
        """As of `MeanPlan`; None where records are read again, and more is believed of them."""
        return self.plan.one.limit_of_box() if self.plan.one is self.plan else None

    @property
    def counting(self) -> str:
        """What is said of releasing a private number of units; nothing where it is public."""
        from dpfda.publication import COUNT_SHARE

        if self.plan.size is not None:
            return ""
        words = f"A tenth of {self.term} goes to counting the units, whose number is private.\n"
        if self.plan.one.joins_count:
            return words + "They are counted again in one with the sum, and that error is included."
        if self.term == "rho":
            return words + "The count's own error is not included."
        share = math.sqrt(2) / (COUNT_SHARE * self.budget() * self.given.units)
        return words + f"Not included: the count's own error of about {share:.1%}."


def parts(plan: ForecastPlan) -> Row:
    """The expected error of a release, what it is made of, and the limit for it."""
    error: ExpectedError | None = plan.expected_error()
    assert error is not None  # noqa: S101
    names = {"typical": "total", "bias": "bias", "noise": "noise", "sampling": "sampling"}
    found = {name: plan.one.typical(getattr(error, part)) for name, part in names.items()}
    return {**found, "limit": plan.one.limit()}


def _views(forecast: Forecast) -> tuple[Curve, Curve]:
    """Two pictures: against epsilon, and against the number of units."""
    from dpfda.publication.needed import factors

    steps, given = factors(CURVE_STEPS), forecast.given
    units = "standardised, no unit" if given.standardize else "units of the data"
    sizes = [forecast.at(ONE, step) for step in steps]
    by_budget = plan_view(
        [forecast.budget(step) for step in steps],
        [forecast.at(step) for step in steps],
        units,
        f"{forecast.term} (smaller is more private)",
        f"Expected error of a mean of {given.units} units",
    )
    by_size = plan_view(
        [float(plan.n or 0) for plan in sizes],
        sizes,
        units,
        "number of units (curves, or persons)",
        f"Expected error at {forecast.plan.guarantee}",
    )
    return by_budget, by_size


def plan_view(
    values: Sequence[float], plans: Sequence[ForecastPlan], units: str, against: str, title: str
) -> Curve:
    """The expected error of a release, its parts and the limit for it, on logarithmic axes.

    Parameters
    ----------
    values : sequence of float
        Privacy losses, or numbers of units, increasing.
    plans : sequence of ForecastPlan
        One for each.
    units, against, title : str
        Units of the error, what the values are, and what is shown.
    """
    import numpy as np

    from dpfda.views import Curve, Line

    at, rows = np.array(values), [parts(plan) for plan in plans]
    lines = [
        Line(at, np.array([row[name] for row in rows]), label, stroke=stroke)
        for name, (label, stroke) in LINES.items()
        if all(row[name] is not None for row in rows)
    ]
    said = "From public numbers alone; no file was read"
    return Curve(
        tuple(lines), against, f"typical error at a point ({units})", title, said, logarithmic=True
    )


def _facts(forecast: Forecast) -> dict[str, object]:
    return {
        "guarantee": str(forecast.plan.guarantee),
        "neighbours": forecast.given.neighbours,
        "bound": str(forecast.plan.bounded["description"]),
        "kernel": forecast.plan.functions,
        "mechanism": forecast.plan.noise_words,
    }


def _as_json(forecast: Forecast, rows: list[Row], warnings: list[str]) -> dict[str, object]:
    plot, middle = forecast.given.plot, rows[len(rows) // 2]
    return {
        "units": forecast.given.units,
        **_facts(forecast),
        "expected": middle,
        f"over_{forecast.term}": rows,
        "limit": middle["limit"],
        "limit_of_any": forecast.plan.one.limit_of_any(),
        "limit_of_box": forecast.limit_of_box,
        "error": "root mean square at a point, in the units of the data",
        "plot": None if plot is None else str(plot),
        "warnings": warnings,
    }


def _words(forecast: Forecast, rows: list[Row]) -> str:
    middle, given = rows[len(rows) // 2], forecast.given
    any_least, of_box = forecast.plan.one.limit_of_any(), forecast.limit_of_box
    units = "standardised" if given.standardize else "units of the data"
    limited, approximate = middle["limit"] is not None, forecast.plan.guarantee.kind != "pure"
    kind = "rho" if forecast.term == "rho" else "(epsilon, delta)"
    offered = given.mechanism in (None, "auto")
    best = ": the error is that of the best of the laws offered" if offered else ""
    facts = "\n".join(f"  {name + ':':<13} {fact}" for name, fact in _facts(forecast).items())
    lines = [
        f"Mean curve of {given.units} units, from public numbers alone; no file was read.\n{facts}\n",
        f"{_table(rows, limited, forecast.term)}\n",
        f"Typical error at a point, as a root mean square ({units}):",
        "  error     from the non-private mean of the same bounded curves: bias and noise together",
        "  bias      left out by shrinkage",
        "  noise     added for privacy",
        "  sampling  beside it, at most: these curves against a wider population",
        limited and "  limit     below which no noise that protects in proportion can expect to come",
        f"Expected: {forecast.plan.one.belief}{forecast.looks}.",
        approximate and f"Under {kind} no limit for such noise is proved{best}.",
        limited
        and f"At {forecast.term} = {middle[forecast.term]:.4g} the error expected is "
        f"{_told(middle['typical'])}; no noise that protects in proportion can "
        f"expect less than {_told(middle['limit'])}.",
        any_least is not None
        and f"No mechanism whatever with this guarantee can expect less than {_told(any_least)}.",
        of_box is not None
        and f"If all means are as likely, any pure mechanism has at least {of_box:.0%} of this "
        "noise's power.",
        forecast.counting,
        given.plot is not None and f"Plot: {given.plot}",
    ]
    return "\n".join(line for line in lines if line)


def _told(value: float | None) -> str:
    from dpfda.privacy.words import number

    return "" if value is None else number(value)


def _table(rows: list[Row], limited: bool, term: str) -> str:
    from dpfda.views import aligned

    names = ("typical", "bias", "noise", "sampling", *(("limit",) if limited else ()))
    columns = {
        "": ["->" if 2 * place + 1 == len(rows) else "" for place in range(len(rows))],
        term: [f"{row[term]:.4g}" for row in rows],
        **{name: [_told(row[name]) for row in rows] for name in names},
    }
    return aligned({("error" if name == "typical" else name): c for name, c in columns.items()})
