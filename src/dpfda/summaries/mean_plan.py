"""The plan of a mean, from the objects that an estimator gathers its parameters in."""

from __future__ import annotations

from typing import Any

from dpfda.bounds import Bound
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import MeanPlan
from dpfda.summaries.labels import read_labels
from dpfda.summaries.settings import Settings


def mean_plan(
    guarantee: Guarantee,
    settings: Settings,
    basis: Any,
    bound: Bound,
    size: int | None,
    unit: str,
    mechanism: Any = "auto",
    centers: Floats | None = None,
    expected_size: int | None = None,
) -> MeanPlan:
    """The plan of a mean; parameters as in `MeanPlan`."""
    about = {
        "summary": "mean curve",
        "standardized": settings.reading.standardize,
        **read_labels(settings.domain.labels, boxes=True),
    }
    made = MeanPlan.of(
        basis, bound, guarantee, settings.unit.relation, mechanism, size, unit, about,
        centers=centers, reading=settings.reading, expected_size=expected_size,
    )  # fmt: skip
    if centers is not None and not made.answers_with_line:
        raise ParameterError(
            "prior",
            "be None but for the default mean of curves between bounds",
            f"{len(centers)} curve(s)",
            "Give bounds=(lower, upper) and no basis or mechanism of your own.",
        )
    return made
