"""`dpfda compare`: publish the mean curves of several groups, and their difference."""

from dpfda.command import options as o
from dpfda.command.publishing import Publication, picture_of
from dpfda.command.reading import ComparedCurves

DIFFERENCE = "A picture of the first group minus the second, with its band."
VERB = Publication(
    name="compare",
    words="Publish the mean curve of each of several groups, and their difference, at the cost of one "
    "mean. Every person must be in one group.",
    estimators=("dpfda.mean.comparison.estimator:PrivateComparison",),
    reader=ComparedCurves(),
    bounded=True,
    options=(o.MECHANISM,),
    outputs=(
        picture_of(lambda release: release.leading, o.output("difference_plot", "F.png", DIFFERENCE)),
    ),
    plans=("dpfda plan compare --units 100 --epsilon 1 --bounds 0 1 --by arm:a,b",),
    examples=(
        "dpfda compare scans.csv --by case --groups ID --epsilon 1 --bounds 0.2 0.9 "
        "--columns 'cca_*' --missing complete --out groups.json --difference-plot difference.png",
    ),
)
