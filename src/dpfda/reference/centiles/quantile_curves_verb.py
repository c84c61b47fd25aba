"""`dpfda quantile-curves`: publish quantile curves of curves, or of few visits a person."""

from dpfda.command import options as o
from dpfda.command.columns import read_levels
from dpfda.command.declared import DOCSTRING, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import Curves

VERB = Publication(
    name="quantile-curves",
    words="Publish quantile curves of curves, or of few visits a person, under differential privacy.",
    estimators=("dpfda.reference.centiles.estimator:PrivateQuantileCurves",),
    reader=Curves(long=True),
    without=("standardize",),
    options=(o.BOUNDED, Option("levels", "--levels", "P,P,..", DOCSTRING, o.CURVE, str, None)),
    settings=read_levels,
    plans=(
        "dpfda plan quantile-curves --units 2000 --epsilon 1 --bounds 0 10",
        "dpfda plan quantile-curves --missing pooled --units 5000 --epsilon 1 --bounds 40 140",
    ),
    examples=(
        "dpfda quantile-curves loads.csv --epsilon 1 --bounds 0 10 --levels 0.1,0.5,0.9 "
        "--groups household --out loads.json --plot loads.png",
        "dpfda quantile-curves visits.csv --epsilon 1 --bounds 40 140 --id child --time age "
        "--value height --domain 0 6 --out growth.json",
    ),
)
