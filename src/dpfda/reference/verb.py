"""`dpfda reference`: publish a band within which a share of new people's whole curves lies."""

from dpfda.command import options as o
from dpfda.command.declared import DOCSTRING, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import Curves

VERB = Publication(
    name="reference",
    words="Publish a reference band, within which a share of new people's whole curves lies, under "
    "differential privacy.",
    estimators=("dpfda.reference.estimator:PrivateReferenceBand",),
    reader=Curves(),
    without=("standardize", "public_size"),
    options=(o.BOUNDED, Option("coverage", "--coverage", "P", DOCSTRING, o.CURVE, float, None)),
    plans=("dpfda plan reference --units 2000 --epsilon 1 --bounds 0 1",),
    examples=(
        "dpfda reference loads.csv --epsilon 1 --bounds 0 10 --coverage 0.9 --groups household "
        "--out usual.json --plot usual.png",
    ),
)
