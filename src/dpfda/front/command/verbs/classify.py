"""`dpfda classify`: publish a two-class decision function of columns of a file."""

from __future__ import annotations

from dpfda.front.command.examples import machine

VERB = machine(
    name="classify",
    words="Publish a two-class decision function of columns of a private file under differential "
    "privacy.",
    estimators=("dpfda.summaries.classification:PrivateKernelClassifier",),
    examples=(
        "dpfda classify scans.csv --epsilon 1 --input 'cca_*:0:1' --target case --classes 0 1 "
        "--groups ID --out case.json",
    ),
)
