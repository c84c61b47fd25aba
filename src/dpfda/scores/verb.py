"""`dpfda scores`: publish ROC, calibration and decision curves of a public score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpfda.command import options as o
from dpfda.command.declared import DOCSTRING, REQUIRED, Given, Option
from dpfda.command.publishing import TRIED_UNITS, Publication
from dpfda.command.reading import Reader, as_stated

if TYPE_CHECKING:
    from dpfda.command.reading import Fitted, Summary
    from dpfda.records.columns import TableColumns


@dataclass(frozen=True)
class ScoresAndOutcomes(Reader["TableColumns"]):
    """Scores and outcomes, a row each."""

    @property
    def options(self) -> Sequence[Option]:
        return (
            o.FILE,
            Option("score", "--score", "COLUMN", "Column with the score.", o.READING, default=REQUIRED),
            Option("outcome", "--outcome", "COLUMN", "Column with the outcome: 0 or 1, False or True.",
                   o.READING, default=REQUIRED),
            o.GROUPS, *o.NOTATION,
        )  # fmt: skip

    def settings(self, given: Given) -> dict[str, object]:
        return {"unit": given.unit or given.groups}

    def read(self, given: Given) -> TableColumns:
        from dpfda.records.columns import read_columns

        labels = {"outcomes": given.outcome, "groups": given.groups}
        uses = [(use, column) for use, column in labels.items() if column is not None]
        with as_stated(given.file, given.decimal, given.na, given.invalid) as stated:
            return read_columns(given.file, [("scores", given.score)], uses, stated)

    def fit(self, estimator: Summary, table: TableColumns, given: Given) -> Fitted:
        return estimator.fit(table.numbers[:, 0], **table.labels)

    def used(self, given: Given, table: TableColumns) -> list[str]:
        return [given.score, given.outcome]


VERB = Publication(
    name="scores",
    words="Publish ROC, calibration and decision curves of a public risk score, with bands, under "
    "differential privacy.",
    estimators=("dpfda.scores.estimator:PrivateScoreCurves", "dpfda.mean.estimator:PrivateMean"),
    reader=ScoresAndOutcomes(),
    trial=lambda estimator: estimator.plan(TRIED_UNITS).certified(),
    without=("missing", "standardize"),
    options=(
        Option("score_bounds", "--score-bounds", "LO HI", f"{DOCSTRING} Example: --score-bounds 0 1",
               o.MODEL, tuple[float, float], REQUIRED),
        Option("law", "--law", "A B", panel=o.MODEL, type=tuple[float, float], default=None),
        Option("cells", "--cells", "M", panel=o.MODEL, type=int),
    ),
    plans=("dpfda plan scores --units 2000 --epsilon 1 --score-bounds 0 1",),
    examples=(
        "dpfda scores patients.csv --score risk --outcome died --score-bounds 0 1 --epsilon 1 "
        "--groups patient --out risk.json --plot risk.png",
    ),
)  # fmt: skip
