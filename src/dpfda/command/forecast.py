"""What the plan of a mean says beyond others: parts of its error over a range of epsilon, and limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from dpfda.command.declared import Given

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

    @cached_property
    def rows(self) -> list[Row]:
        """The errors and their parts from E/8 to 8 E; E is in the middle."""
        from dpfda.publication.needed import ROWS, factors

        return [{self.term: self.budget(each), **parts(self.at(each))} for each in factors(ROWS)]

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

    def views(self) -> tuple[Curve, Curve]:
        """Two pictures: against epsilon, and against the number of units."""
        from dpfda.publication.needed import factors

        steps = factors(CURVE_STEPS)
        units = "standardised, no unit" if self.given.standardize else "units of the data"
        sizes = [self.at(ONE, step) for step in steps]
        by_budget = plan_view(
            [self.budget(step) for step in steps],
            [self.at(step) for step in steps],
            units,
            f"{self.term} (smaller is more private)",
            f"Expected error of a mean of {self.given.units} units",
        )
        by_size = plan_view(
            [float(plan.n or 0) for plan in sizes],
            sizes,
            units,
            "number of units (curves, or persons)",
            f"Expected error at {self.plan.guarantee}",
        )
        return by_budget, by_size

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
        from dpfda.privacy.words import number

        middle = {name: value for name, value in self.middle.items() if value is not None}
        any_least, of_box = self.plan.one.limit_of_any(), self.limit_of_box
        units = "standardised" if self.given.standardize else "units of the data"
        limited, approximate = "limit" in middle, self.plan.guarantee.kind != "pure"
        kind = "rho" if self.term == "rho" else "(epsilon, delta)"
        offered = self.given.mechanism in (None, "auto")
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
            self.given.plot is not None and f"Plot: {self.given.plot}",
        ]
        return "\n".join(line for line in lines if line)

    def _table(self, names: Sequence[str]) -> str:
        from dpfda.privacy.words import number
        from dpfda.views import aligned

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
    found = {name: plan.one.typical(getattr(error, part)) for name, part in names.items()}
    return {**found, "limit": plan.one.limit()}


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
