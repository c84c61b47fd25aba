"""`dpfda regress`: publish a regression function of columns of a file."""

from dpfda.machines.options import machine

VERB = machine(
    name="regress",
    words="Publish a regression function of columns of a private file under differential privacy.",
    estimators=(
        "dpfda.machines.regression:PrivateKernelRegressor",
        "dpfda.machines.classification:PrivateKernelClassifier",
    ),
    plans=("dpfda plan regress --units 1000 --epsilon 1 --covariate age:18:90 --target y:60:200",),
    examples=(
        "dpfda regress visits.csv --epsilon 1 --covariate age:18:90 --target pressure:60:200 "
        "--out pressure.json --plot pressure.png",
    ),
)
