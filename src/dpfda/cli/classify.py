"""`dpfda classify`: publish a two-class decision function of columns of a file."""

from __future__ import annotations

from typing import Annotated

import typer

from dpfda.cli import machines as m
from dpfda.cli import options as o
from dpfda.cli.running import guarded


@guarded
def classify(
    file: m.ExampleFile,
    *,
    epsilon: o.Epsilon,
    delta: o.Delta = "0",
    inputs: m.Inputs,
    target: m.Target,
    classes: Annotated[
        tuple[str, str],
        typer.Option(
            "--classes",
            metavar="FIRST SECOND",
            help="The two classes, public, as they are written in the file. The function is positive "
            "for the second. Example: --classes 0 1",
            rich_help_panel=m.MODEL,
        ),
    ],
    loss: Annotated[
        str, typer.Option("--loss", metavar="hinge|logistic|squared", rich_help_panel=m.MODEL)
    ] = "hinge",
    road: m.RoadName = "auto",
    features: m.Features = "auto",
    components: m.Components = None,
    norm_bound: m.NormBound = None,
    psi: m.Penalty = None,
    groups: o.Groups = None,
    unit: o.UnitWord = None,
    invalid: o.Invalid = "refuse",
    decimal: o.Decimal = ".",
    ledger: o.LedgerFile = None,
    dataset: o.DatasetName = None,
    out: m.Out,
    plot: m.Plot = None,
    overwrite: o.Overwrite = False,
    as_json: o.AsJson = False,
) -> None:
    """Publish a two-class decision function of columns of a private file under differential privacy.

    All arguments are public. One unit may be replaced by another; their number is public. Running it
    again on the same data is a second release: losses add up.
    """
    from dpfda.summaries.classification import PrivateKernelClassifier

    settings = {
        "epsilon": epsilon,
        "delta": delta,
        "classes": classes,
        "loss": loss,
        "road": road,
        "features": features,
        "components": components,
        "psi": psi,
        "invalid": invalid,
        "unit": unit,
        "dataset": dataset,
    }
    m.publish(
        file,
        PrivateKernelClassifier,
        settings,
        inputs,
        target,
        labels=True,
        norm_bound=norm_bound,
        groups=groups,
        decimal=decimal,
        ledger=ledger,
        outputs={"--out": out, "--plot": plot},
        overwrite=overwrite,
        as_json=as_json,
    )
