"""`dpfda compare`: publish the mean curves of several groups, and their difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpfda.front.command import options as o
from dpfda.front.command.publishing import Publication
from dpfda.front.command.reading import ComparedCurves


def _draw_difference(release: Any, path: Path) -> None:
    from dpfda.front.command.outputs import save_picture

    save_picture(release.leading.plot, path)


VERB = Publication(
    name="compare",
    words="Publish the mean curve of each of several groups, and their difference, at the cost of one "
    "mean. Every person must be in one group.",
    estimators=("dpfda.summaries.comparison:PrivateComparison", "dpfda.summaries.mean:PrivateMean"),
    reader=ComparedCurves(),
    bounded=True,
    options=(o.MECHANISM,),
    outputs=(
        (
            o.output(
                "difference_plot",
                "F.png",
                "A picture of the first group minus the second, with its band.",
            ),
            _draw_difference,
        ),
    ),
    examples=(
        "dpfda compare scans.csv --by case --groups ID --epsilon 1 --bounds 0.2 0.9 "
        "--columns 'cca_*' --missing complete --out groups.json --difference-plot difference.png",
    ),
)
