"""The plan of quantiles: levels, public points and the law of the draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpfda.bases.places import PublicPoints
from dpfda.mechanisms.design.quantiles import DENOMINATOR, QuantileLaw, charged, range_of, spreads
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost, RangeLoss
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.publication import Prepared, stamp
from dpfda.publication.accounts import NAMED, Paying
from dpfda.publication.again import PlanAgain
from dpfda.publication.quantiles import publish_quantiles
from dpfda.releases.quantiles import ReleasedQuantiles


@dataclass(frozen=True, eq=False)
class QuantilesPlan(PlanAgain):
    """Plan of quantiles.

    Parameters
    ----------
    levels : tuple of int
        In steps of 10^-9.
    points : PublicPoints
    asked : Guarantee
    neighbours : Neighbours
    unit : str
    size : int or None
        Public number of units.
    about : mapping
    expected_size : int, optional
        Number of units to expect, where it is private.
    """

    levels: tuple[int, ...]
    points: PublicPoints
    asked: Guarantee
    neighbours: Neighbours
    unit: str
    size: int | None
    about: Mapping[str, Any]

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What is charged."""
        return charged(self.asked)

    @property
    def law(self) -> QuantileLaw:
        """The law of the output."""
        return QuantileLaw(self.levels, self.points.count, range_of(self.asked), self.neighbours)

    @property
    def bounded(self) -> dict[str, Any]:  # type: ignore[override]
        a, b = self.points.domain_range
        return {"description": f"one {self.unit} has one unit of mass on [{a:g}, {b:g}]"}

    @property
    def functions(self) -> str:
        said = ", ".join(f"{level / DENOMINATOR:g}" for level in self.levels)
        return f"quantiles {said} among {self.points.describe()}"

    @property
    def tuning(self) -> dict[str, Any]:
        return {"name": "exponential", "levels": len(self.levels)}

    def costs(self) -> dict[str, Cost]:
        return {WHOLE: Cost(self.guarantee, RangeLoss(range_of(self.asked)))}

    def expected(self, quick: bool = False) -> float | None:
        return None if self.n is None else float(spreads(self.law, self.n).max())

    @property
    def error_words(self) -> str:
        return (
            "root mean square distance of the share of units below a quantile from its level, where "
            "units lie densely; the largest of the levels"
        )

    @property
    def error_axis(self) -> str:
        return f"error of the share\nof {self.unit}s below"

    @property
    def scale(self) -> tuple[float, str] | None:
        return 1.0, "all units"

    @property
    def noise_words(self) -> str:
        return "exponential: drawn by how well they divide the data, exactly"

    def remade(self, guarantee: Guarantee, n: int) -> QuantilesPlan:
        """The plan for another guarantee and number of units."""
        known = self.size is not None
        size, expected = (n, None) if known else (None, n)
        return replace(self, asked=guarantee, size=size, expected_size=expected)


def publish_plan(prepared: Prepared[QuantilesPlan, Any], paying: Paying = NAMED) -> ReleasedQuantiles:
    """Charge and draw: the released quantiles."""
    plan = prepared.plan
    certificate, about = plan.certified(), {**plan.about, **stamp()}
    made = plan.points, plan.law, plan.size, certificate, about
    # All that can fail on public grounds has been tried before the charge.
    ReleasedQuantiles((0,) * len(plan.levels), *made)
    numbers = publish_quantiles(
        prepared.total, plan.points, plan.law, plan.size, certificate, plan.entry(), paying
    )
    return ReleasedQuantiles(numbers, *made)
