"""`dpfda scores`: publish ROC, calibration and decision curves of a public score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dpfda.command import options as o
from dpfda.command.columns import read_range
from dpfda.command.declared import REQUIRED, Given, Option
from dpfda.command.publishing import TRIED_UNITS, Publication
from dpfda.command.reading import NamedColumns, Summary, named

if TYPE_CHECKING:
    from dpfda.records.columns import TableColumns
    from dpfda.records.files import Uses


@dataclass(frozen=True)
class ScoresAndOutcomes(NamedColumns):
    """Scores and outcomes, a row each."""

    public: ClassVar[Sequence[str]] = ("score",)

    @property
    def options(self) -> Sequence[Option]:
        return (
            o.FILE,
            Option("score", "--score", "NAME:LO:HI", "Column with the score, and its public bounds. "
                   "Example: --score risk:0:1", o.MODEL, default=REQUIRED,
                   sets=("score_bounds", "scores")),
            Option("outcome", "--outcome", "COLUMN", "Column with the outcome, in --codes.",
                   o.READING, default=REQUIRED, sets=("outcomes",)),
            o.GROUPS, *o.NOTATION,
        )  # fmt: skip

    def settings(self, args: Given) -> dict[str, object]:
        return {"score_bounds": read_range(args.score, "--score")[1:]}

    def uses(self, args: Given) -> tuple[Uses, Uses]:
        outcomes = ("outcomes", args.outcome)
        name, *_ = read_range(args.score, "--score")
        return [("scores", name)], [outcomes, *named(args, ("groups",))]

    def fit(self, estimator: Summary, table: TableColumns, args: Given) -> None:
        estimator.fit(table.numbers[:, 0], **table.labels)


VERB = Publication(
    name="scores",
    words="Publish ROC, calibration and decision curves of a public risk score, with bands, under "
    "differential privacy.",
    estimators=("dpfda.scores.estimator:PrivateScoreCurves",),
    reader=ScoresAndOutcomes(),
    trial=lambda estimator: estimator.plan(TRIED_UNITS).certified(),
    without=("missing", "standardize"),
    options=(
        Option("law", "--law", "A B", panel=o.MODEL, type=tuple[float, float], default=None),
        Option("cells", "--cells", "M", panel=o.MODEL, type=int),
        Option("codes", "--codes", "WITHOUT WITH", "Public codes in --outcome of those without and with "
               "it; 0 1 by default, also False True. Any other is refused. Example: --codes alive died",
               o.READING, tuple[str, str], None),
    ),
    plans=("dpfda plan scores --units 2000 --epsilon 1 --score risk:0:1",),
    examples=(
        "dpfda scores patients.csv --score risk:0:1 --outcome died --epsilon 1 "
        "--groups patient --out risk.json --plot risk.png",
    ),
)  # fmt: skip
