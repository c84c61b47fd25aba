"""`dpfda quantiles`: publish a median or a few quantiles of a column of a file."""

from dpfda.command import options as o
from dpfda.command.columns import read_levels
from dpfda.command.declared import DOCSTRING, Option
from dpfda.command.publishing import Publication
from dpfda.density.options import OneColumn

VERB = Publication(
    name="quantiles",
    words="Publish a median or a few quantiles of a column under differential privacy.",
    estimators=("dpfda.density.quantiles:PrivateQuantiles", "dpfda.density.estimator:PrivateDensity"),
    reader=OneColumn(),
    without=("missing", "standardize", "grid", "quadrature", "public_size"),
    options=(
        Option("levels", "--levels", "P,P,..", DOCSTRING, o.DENSITY, str, None),
        Option("step", "--step", "D", DOCSTRING, o.DENSITY, float, None),
        Option(
            "scale", "--scale", "linear|log", "What the points among which quantiles are chosen are "
            "equal on: the axis, or its logarithm.", o.DENSITY, str, None,
        ),
    ),
    settings=read_levels,
    plans=("dpfda plan quantiles --column income:0:1000000 --units 500 --error 1%",),
    examples=(
        "dpfda quantiles people.csv --epsilon 1 --column age:0:105 --step 1 --levels 0.25,0.5,0.75 "
        "--out ages.json",
        "dpfda quantiles people.csv --epsilon 0.5 --column income:1:1e7 --scale log --groups person "
        "--out median.json",
    ),
)  # fmt: skip
