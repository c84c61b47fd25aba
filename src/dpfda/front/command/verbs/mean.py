"""`dpfda mean`: publish the mean curve of a file."""

from __future__ import annotations

from dpfda.front.command import options as o
from dpfda.front.command.publishing import Publication, try_on_curves
from dpfda.front.command.reading import Curves

VERB = Publication(
    name="mean",
    words="Publish the mean curve of a file of private curves under differential privacy.",
    estimators=("dpfda.summaries.mean:PrivateMean",),
    reader=Curves(long=True),
    trial=try_on_curves,
    bounded=True,
    options=(o.MECHANISM,),
    examples=(
        "dpfda mean scans.csv --epsilon 1 --bounds 0 1 --columns 'cca_*' --groups ID "
        "--missing complete --out fa.json --plot fa.png",
        "dpfda mean demand.csv --epsilon 0.5 --bounds 500 3500 --domain 0 24 "
        "--x-label 'hour of the day' --y-label 'demand (MW)' --out demand.json",
        "dpfda mean visits.csv --epsilon 1 --bounds 40 200 --id patient --time week --value weight "
        "--domain 0 52 --out weight.json",
    ),
)
