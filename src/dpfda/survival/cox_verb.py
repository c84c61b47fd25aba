"""`dpfda cox`: publish hazard ratios of covariates, and survival curves at their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dpfda.command import options as o
from dpfda.command.columns import COVARIATE, by_kind, one_of, read_covariates
from dpfda.command.declared import Given, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import as_stated, ends
from dpfda.survival.verb import CODES, FollowUps

if TYPE_CHECKING:
    from dpfda.command.reading import Fitted, Summary
    from dpfda.records.columns import TableColumns


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
        return (*(each for each in super().options if each.name not in left_out), EXPLAINS)

    def settings(self, given: Given) -> dict[str, object]:
        return {
            "domain_range": ends(given),
            "labels": {"domain": given.x_label or given.time},
            "causes": given.causes or None,
            "censored": given.censored or None,
            "covariates": read_covariates(given.covariates),
            "strata": given.strata or None,
            "unit": given.unit or given.groups,
        }

    def read(self, given: Given) -> TableColumns:
        from dpfda.records.columns import read_columns

        self._check_coding(given)
        numbers, labels = by_kind(given.covariates)
        ends = [("event", given.event)] if given.event is not None else []
        whose = [("groups", given.groups)] if given.groups is not None else []
        with as_stated(given.file, given.decimal, given.na, given.invalid) as stated:
            return read_columns(
                given.file,
                [("time", given.time), *((one_of(name), name) for name in numbers)],
                [*ends, *whose, *((one_of(name), name) for name in labels)],
                stated,
            )

    def fit(self, estimator: Summary, table: TableColumns, given: Given) -> Fitted:
        numbers, labels = by_kind(given.covariates)
        beside = dict(zip(numbers, table.numbers.T[1:], strict=True))
        beside |= {name: table.labels[one_of(name)] for name in labels}
        whose = table.labels.get("groups")
        return estimator.fit(table.numbers[:, 0], table.labels.get("event"), beside, groups=whose)

    def used(self, given: Given, table: TableColumns) -> list[str]:
        used = [given.time, given.event, given.groups, *read_covariates(given.covariates)]
        return [column for column in used if column is not None]


VERB = Publication(
    name="cox",
    words="Publish hazard ratios of covariates for follow-ups that may be censored, and the survival "
    "curve at any values of them (proportional hazards), under differential privacy.",
    estimators=(
        "dpfda.survival.cox:PrivateCox", "dpfda.survival.estimator:PrivateSurvival",
        "dpfda.mean.estimator:PrivateMean",
    ),
    reader=ExplainedFollowUps(),
    without=("missing", "standardize"),
    options=(
        *CODES,
        Option("strata", "--stratum", "COLUMN", "A covariate with levels that gets baselines of its own "
               "and no hazard ratio. Repeat it.", o.MODEL, list[str], None),
        Option("cells", "--cells", "M", panel=o.CURVE, type=int),
        Option("step", "--step", "D", panel=o.CURVE, type=float, default=None),
        Option("method", "--method", panel=o.MODEL),
    ),
    plans=("dpfda plan cox --units 2000 --epsilon 1 --covariate age:40:90 --domain 0 10",),
    examples=(
        "dpfda cox trial.csv --time years --event died --covariate age:40:90 --covariate arm:a,b "
        "--domain 0 10 --epsilon 1 --unit patient --out ratios.json --plot ratios.png",
    ),
)  # fmt: skip
