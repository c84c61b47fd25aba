"""`dpfda cox`: publish hazard ratios of covariates, and survival curves at their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dpfda.command import options as o
from dpfda.command.columns import COVARIATE, by_kind, one_of, read_covariates
from dpfda.command.declared import Given, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import named
from dpfda.survival.verb import LABELS, OPTIONS, FollowUps

if TYPE_CHECKING:
    from dpfda.command.reading import Summary
    from dpfda.records.columns import TableColumns
    from dpfda.records.files import Uses


EXPLAINS = replace(
    COVARIATE,
    help="A column that explains the hazard, with its public bounds, or with its public levels, of "
    "which the first is what others are compared with. Repeat it. Example: --covariate age:40:90 "
    "--covariate arm:a,b",
)


@dataclass(frozen=True)
class ExplainedFollowUps(FollowUps):
    """Follow-ups with columns that explain them, a row each."""

    public: ClassVar[Sequence[str]] = ("domain", "covariates")

    @property
    def options(self) -> Sequence[Option]:
        left_out = ("start", "by")
        return (*(option for option in super().options if option.name not in left_out), EXPLAINS)

    def settings(self, given: Given) -> dict[str, object]:
        own = {"covariates": read_covariates(given.covariates), "strata": given.strata or None}
        return super().settings(given) | own

    def uses(self, given: Given) -> tuple[Uses, Uses]:
        numbers, labels = (
            [(one_of(name), name) for name in names] for names in by_kind(given.covariates)
        )
        return [*named(given, ("time",)), *numbers], [*named(given, LABELS), *labels]

    def fit(self, estimator: Summary, table: TableColumns, given: Given) -> None:
        numbers, labels = by_kind(given.covariates)
        beside = dict(zip(numbers, table.numbers.T[1:], strict=True))
        beside |= {name: table.labels[one_of(name)] for name in labels}
        whose = table.labels.get("groups")
        estimator.fit(table.numbers[:, 0], table.labels.get("event"), beside, groups=whose)


VERB = Publication(
    name="cox",
    words="Publish hazard ratios of covariates for follow-ups that may be censored, and the survival "
    "curve at any values of them (proportional hazards), under differential privacy.",
    estimators=("dpfda.survival.cox:PrivateCox", "dpfda.survival.estimator:PrivateSurvival"),
    reader=ExplainedFollowUps(),
    without=("missing", "standardize"),
    options=(
        *OPTIONS,
        Option("strata", "--stratum", "COLUMN", "A covariate with levels that gets baselines of its own "
               "and no hazard ratio. Repeat it.", o.MODEL, list[str], None),
        Option("method", "--method", panel=o.MODEL),
    ),
    plans=("dpfda plan cox --units 2000 --epsilon 1 --covariate age:40:90 --domain 0 10",),
    examples=(
        "dpfda cox trial.csv --time years --event died --covariate age:40:90 --covariate arm:a,b "
        "--domain 0 10 --epsilon 1 --unit patient --out ratios.json --plot ratios.png",
    ),
)  # fmt: skip
