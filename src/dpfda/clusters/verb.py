"""`dpfda clusters`: publish centers of clusters of curves, and which share of the units is in each."""

from dpfda.command import options as o
from dpfda.command.declared import DOCSTRING, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import Curves

VERB = Publication(
    name="clusters",
    words="Publish clusters of a file of private curves by k-means, their centers and the share of the "
    "units in each, under differential privacy.",
    estimators=("dpfda.clusters.estimator:PrivateCurveClusters",),
    reader=Curves(),
    without=("standardize",),
    options=(o.BOUNDED, Option("clusters", "--clusters", "K", DOCSTRING, o.CURVE, int, None)),
    plans=("dpfda plan clusters --units 2000 --epsilon 1 --bounds 0 1",),
    examples=(
        "dpfda clusters loads.csv --epsilon 1 --bounds 0 10 --clusters 4 --groups household "
        "--out kinds.json --plot kinds.png",
    ),
)
