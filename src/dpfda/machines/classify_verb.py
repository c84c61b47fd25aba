"""`dpfda classify`: publish decision functions of columns of a file, of two classes or more."""

from dpfda.machines.options import machine

VERB = machine(
    name="classify",
    words="Publish a decision function of columns of a private file under differential privacy; for "
    "more than two classes one for each, under one budget.",
    estimators=("dpfda.machines.classification:PrivateKernelClassifier",),
    plans=("dpfda plan classify --units 1000 --epsilon 1 --covariate age:18:90 --target y:0,1",),
    examples=(
        "dpfda classify scans.csv --epsilon 1 --covariate 'cca_*:0:1' --target case:0,1 "
        "--groups ID --out case.json",
    ),
)
