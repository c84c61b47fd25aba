"""`dpfda effects`: publish how curves depend on covariates: coefficient functions with bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpfda.command import options as o
from dpfda.command.columns import COVARIATE, by_kind, read_covariates
from dpfda.command.declared import REQUIRED, Given, Option
from dpfda.command.publishing import TRIED_POINTS, TRIED_UNITS, Publication, picture_of
from dpfda.command.reading import Curves

if TYPE_CHECKING:
    from dpfda.command.reading import Fitted, Summary
    from dpfda.privacy.certificates import Certificate
    from dpfda.records.files import TableCurves

# Of the grid for which a plan is tried.
MOST_POINTS = 2000


@dataclass(frozen=True)
class ExplainedCurves(Curves):
    """Curves with columns that explain them."""

    public: ClassVar[Sequence[str]] = (*Curves.public, "covariates")

    @property
    def options(self) -> Sequence[Option]:
        known = super().options
        # What is no part of the curve is beside it in the file.
        return (
            *(replace(option, default=REQUIRED) if option == o.COLUMNS else option for option in known),
            COVARIATE,
        )

    def settings(self, given: Given) -> dict[str, object]:
        named = read_covariates(given.covariates)
        return super().settings(given) | {"covariates": named}

    def read(self, given: Given) -> TableCurves:
        numbers, labels = by_kind(given.covariates)
        return self._read(
            given,
            given.groups,
            [("covariates", name) for name in numbers],
            [("covariates", name) for name in labels],
        )

    def fit(self, estimator: Summary, table: TableCurves, given: Given) -> Fitted:
        numbers, labels = by_kind(given.covariates)
        beside = dict(zip([*numbers, *labels], table.beside, strict=True))
        return estimator.fit(table.data, beside, groups=table.groups)

    def used(self, given: Given, table: TableCurves) -> list[str]:
        return [*read_covariates(given.covariates)]


def _try(estimator: Any) -> Certificate:
    """Plan for a grid with room for the cells."""
    points = min(max(TRIED_POINTS, estimator.cells or 0), MOST_POINTS)
    made: Certificate = estimator.plan(TRIED_UNITS, columns=points).certified()
    return made


EFFECT = "A picture of the first coefficient function with its band."
VERB = Publication(
    name="effects",
    words="Publish how curves depend on covariates: a coefficient function with its band for each, and "
    "the mean curve at any values of them (function-on-scalar regression), under differential privacy.",
    estimators=(
        "dpfda.effects.estimator:PrivateFunctionalRegression",
        "dpfda.mean.estimator:PrivateMean",
    ),
    reader=ExplainedCurves(),
    trial=_try,
    without=("standardize",),
    options=(replace(o.BOUNDS[0], default=REQUIRED),),
    outputs=(
        picture_of(lambda release: release[release.terms[1]], o.output("effect_plot", "F.png", EFFECT)),
    ),
    plans=("dpfda plan effects --covariate age:20:80 --units 2000 --epsilon 1 --bounds 0 1",),
    examples=(
        "dpfda effects scans.csv --covariate case:0:1 --covariate visit:1:5 --groups ID --epsilon 2 "
        "--bounds 0.2 0.9 --columns 'cca_*' --missing complete --out effects.json --plot effects.png",
    ),
)
