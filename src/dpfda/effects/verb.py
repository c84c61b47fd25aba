"""`dpfda effects`: publish how curves depend on covariates: coefficient functions with bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpfda.command import options as o
from dpfda.command.declared import REQUIRED, Given, Option
from dpfda.command.publishing import TRIED_POINTS, TRIED_UNITS, Publication, picture_of
from dpfda.command.reading import Curves
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.command.reading import Fitted, Summary
    from dpfda.records.files import TableCurves

# Of the grid for which a plan is tried.
MOST_POINTS = 2000
COVARIATE = Option(
    "covariates", "--covariate", "NAME:LO:HI|NAME:A,B,..",
    "A column that explains the curves, with its public bounds, or with its public levels, of which the "
    "first is what others are compared with. Repeat it. Example: --covariate age:20:80 --covariate "
    "case:control,MS",
    o.MODEL, list[str], REQUIRED,
)  # fmt: skip


# Bounds, or levels.
Known = tuple[float, float] | list[str]


def read_covariates(texts: Sequence[str]) -> dict[str, Known]:
    """Bounds or levels of covariates by name, from what was typed.

    Raises
    ------
    ParameterError
        If one has another form, or a name comes twice.
    """
    found: dict[str, Known] = {}
    for text in texts:
        name, _, rest = text.partition(":")
        ends = rest.split(":")
        if len(ends) > 2:
            # The name itself has colons.
            name, *ends = text.rsplit(":", 2)
        try:
            known: Known = (float(ends[0]), float(ends[1])) if len(ends) == 2 else rest.split(",")
        except ValueError:
            known = []
        if not name or name in found or len(known) < 2:
            remedy = "They are public and never read from the data. Example: --covariate age:20:80"
            raise ParameterError(
                "--covariate", "be NAME:LO:HI or NAME:A,B,.., each name once", repr(text), remedy
            )
        found[name] = known
    return found


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
        numbers, labels = _beside(given)
        return self._read(
            given,
            given.groups,
            [("covariates", name) for name in numbers],
            [("covariates", name) for name in labels],
        )

    def fit(self, estimator: Summary, table: TableCurves, given: Given) -> Fitted:
        numbers, labels = _beside(given)
        beside = dict(zip([*numbers, *labels], table.beside, strict=True))
        return estimator.fit(table.data, beside, groups=table.groups)

    def used(self, given: Given, table: TableCurves) -> list[str]:
        return [*read_covariates(given.covariates)]


def _beside(given: Given) -> tuple[list[str], list[str]]:
    """Covariates with bounds, and those with levels."""
    named = read_covariates(given.covariates)
    numbers = [name for name, known in named.items() if isinstance(known, tuple)]
    return numbers, [name for name in named if name not in numbers]


def _try(estimator: Any) -> None:
    """Plan for a grid with room for the cells."""
    points = min(max(TRIED_POINTS, estimator.cells or 0), MOST_POINTS)
    estimator.plan(TRIED_UNITS, columns=points).certified()


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
        picture_of(
            lambda release: release[release.terms[1]],
            o.output("effect_plot", "F.png", EFFECT),
        ),
    ),
    plans=("dpfda plan effects --covariate age:20:80 --curves 2000 --epsilon 1 --bounds 0 1",),
    examples=(
        "dpfda effects scans.csv --covariate case:0:1 --covariate visit:1:5 --groups ID --epsilon 2 "
        "--bounds 0.2 0.9 --columns 'cca_*' --missing complete --out effects.json --plot effects.png",
    ),
)
