"""`dpfda effects`: publish how curves depend on covariates: coefficient functions with bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpfda.command import options as o
from dpfda.command.columns import COVARIATE
from dpfda.command.publishing import TRIED_POINTS, TRIED_UNITS, Publication, picture_of
from dpfda.command.reading import CurvesBeside

if TYPE_CHECKING:
    from dpfda.privacy.certificates import Certificate

# Of the grid for which a plan is tried.
MOST_POINTS = 2000


def _try(estimator: Any) -> Certificate:
    """Plan for a grid with room for the cells."""
    points = min(max(TRIED_POINTS, estimator.cells or 0), MOST_POINTS)
    certificate: Certificate = estimator.plan(TRIED_UNITS, columns=points).certified()
    return certificate


EFFECT = "A picture of the first coefficient function with its band."
VERB = Publication(
    name="effects",
    words="Publish how curves depend on covariates: a coefficient function with its band for each, and "
    "the mean curve at any values of them (function-on-scalar regression), under differential privacy.",
    estimators=("dpfda.effects.estimator:PrivateFunctionalRegression",),
    reader=CurvesBeside(beside=(COVARIATE,)),
    trial=_try,
    without=("standardize",),
    options=(o.BOUNDED,),
    outputs=(
        picture_of(lambda release: release[release.terms[1]], o.output("effect_plot", "F.png", EFFECT)),
    ),
    plans=("dpfda plan effects --covariate age:20:80 --units 2000 --epsilon 1 --bounds 0 1",),
    examples=(
        "dpfda effects scans.csv --covariate case:0:1 --covariate visit:1:5 --groups ID --epsilon 2 "
        "--bounds 0.2 0.9 --columns 'cca_*' --missing complete --out effects.json --plot effects.png",
    ),
)
