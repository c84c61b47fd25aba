"""`dpfda scalar`: publish how a number goes with a curve: coefficient function and predictions."""

from dataclasses import replace

from dpfda.command import options as o
from dpfda.command.columns import COVARIATE
from dpfda.command.declared import REQUIRED, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import CurvesBeside

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
VERB = Publication(
    name="scalar",
    words="Publish how a number goes with a curve: a coefficient function with its band, coefficients "
    "of covariates beside it, and predictions for new curves (scalar-on-function regression), under "
    "differential privacy.",
    estimators=("dpfda.scalar.estimator:PrivateScalarOnFunction",),
    reader=CurvesBeside(beside=(TARGET, BESIDE)),
    without=("standardize",),
    options=(o.BOUNDED,),
    plans=("dpfda plan scalar --units 2000 --epsilon 1 --bounds 0 1 --target score:0:60",),
    examples=(
        "dpfda scalar scans.csv --target pasat:0:60 --covariate age:20:80 --groups ID "
        "--epsilon 2 --bounds 0.2 0.9 --columns 'cca_*' --missing complete --out model.json --plot "
        "model.png",
    ),
)
