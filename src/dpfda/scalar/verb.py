"""`dpfda scalar`: publish how a number goes with a curve: coefficient function and predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dpfda.command import options as o
from dpfda.command.columns import COVARIATE, by_kind, read_covariates, read_ranges
from dpfda.command.declared import REQUIRED, Given, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import Curves

if TYPE_CHECKING:
    from dpfda.command.reading import Fitted, Summary
    from dpfda.records.files import TableCurves

BESIDE = replace(
    COVARIATE,
    metavar="NAME:LO:HI",
    default=None,
    help="A column of numbers beside the curve, with its public bounds. Repeat it. Example: --covariate "
    "age:20:80",
)
TARGET = Option(
    "target", "--target", "NAME:LO:HI",
    "Column that is explained, and its public bounds, in its units; numbers outside are moved to the "
    "nearer one. Example: --target score:0:60",
    o.MODEL, default=REQUIRED, sets=("target_bounds",),
)  # fmt: skip


@dataclass(frozen=True)
class CurvesAndNumber(Curves):
    """Curves with a column that they explain, and columns beside them."""

    public: ClassVar[Sequence[str]] = (*Curves.public, "target", "covariates")

    @property
    def options(self) -> Sequence[Option]:
        known = super().options
        # What is no part of the curve is beside it in the file.
        own = (replace(option, default=REQUIRED) if option == o.COLUMNS else option for option in known)
        return (*own, TARGET, BESIDE)

    def settings(self, given: Given) -> dict[str, object]:
        named = read_covariates(given.covariates or ())
        ends = _target(given)[1:]
        return super().settings(given) | {"target_bounds": ends, "covariates": named or None}

    def read(self, given: Given) -> TableCurves:
        numbers, labels = by_kind(given.covariates or ())
        beside = [("covariates", name) for name in (*numbers, *labels)]
        return self._read(given, given.groups, [("target", _target(given)[0]), *beside])

    def fit(self, estimator: Summary, table: TableCurves, given: Given) -> Fitted:
        target, *others = table.beside
        named = dict(zip(by_kind(given.covariates or ())[0], others, strict=True))
        return estimator.fit(table.data, target, named or None, groups=table.groups)

    def used(self, given: Given, table: TableCurves) -> list[str]:
        return [_target(given)[0], *read_covariates(given.covariates or ())]


def _target(given: Given) -> tuple[str, float, float]:
    ((name, low, high),) = read_ranges([given.target], "--target")
    return name, low, high


VERB = Publication(
    name="scalar",
    words="Publish how a number goes with a curve: a coefficient function with its band, coefficients "
    "of covariates beside it, and predictions for new curves (scalar-on-function regression), under "
    "differential privacy.",
    estimators=("dpfda.scalar.estimator:PrivateScalarOnFunction", "dpfda.mean.estimator:PrivateMean"),
    reader=CurvesAndNumber(),
    without=("standardize",),
    options=(replace(o.BOUNDS[0], default=REQUIRED),),
    plans=("dpfda plan scalar --units 2000 --epsilon 1 --bounds 0 1 --target score:0:60",),
    examples=(
        "dpfda scalar scans.csv --target pasat:0:60 --covariate age:20:80 --groups ID "
        "--epsilon 2 --bounds 0.2 0.9 --columns 'cca_*' --missing complete --out model.json --plot "
        "model.png",
    ),
)
