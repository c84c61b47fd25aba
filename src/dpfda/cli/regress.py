"""`dpfda regress`: publish a regression function of columns of a file."""

from __future__ import annotations

from typing import Annotated

import typer

from dpfda.cli import machines as m
from dpfda.cli import options as o
from dpfda.cli.running import guarded


@guarded
def regress(
    file: m.ExampleFile,
    *,
    epsilon: o.Epsilon,
    delta: o.Delta = "0",
    inputs: m.Inputs,
    target: m.Target,
    target_bounds: Annotated[
        tuple[float, float],
        typer.Option(
            "--target-bounds",
            metavar="LO HI",
            help="Lowest and highest target, public, in its units; others are moved to the nearer one.",
            rich_help_panel=m.MODEL,
        ),
    ],
    loss: Annotated[
        str, typer.Option("--loss", metavar="huber|squared", rich_help_panel=m.MODEL)
    ] = "huber",
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
    """Publish a regression function of columns of a private file under differential privacy.

    All arguments are public. One unit may be replaced by another; their number is public. Running it
    again on the same data is a second release: losses add up.
    """
    from dpfda.summaries.regression import PrivateKernelRegressor

    settings = {
        "epsilon": epsilon,
        "delta": delta,
        "target_bounds": target_bounds,
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
        PrivateKernelRegressor,
        settings,
        inputs,
        target,
        labels=False,
        norm_bound=norm_bound,
        groups=groups,
        decimal=decimal,
        ledger=ledger,
        outputs={"--out": out, "--plot": plot},
        overwrite=overwrite,
        as_json=as_json,
    )
