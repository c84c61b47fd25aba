"""`dpfda eval`: values of a release, with a band for its noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dpfda.cli import options as o
from dpfda.cli.running import guarded, print_json
from dpfda.errors import ParameterError


@guarded
def evaluate(
    file: o.ReleaseFile,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="T,T,...",
            help="Points of the domain, separated by commas. By default the grid of the release. "
            "Example: --at 0,0.25,0.5",
        ),
    ] = None,
    derivative: Annotated[
        bool, typer.Option("--derivative", help="Values of the derivative, per unit of the axis.")
    ] = False,
    band: Annotated[
        str,
        typer.Option(
            "--band",
            metavar="simultaneous|pointwise",
            help="What the columns lower and upper hold for: the whole domain at once, or one point "
            "chosen in advance.",
        ),
    ] = "simultaneous",
    level: Annotated[
        float,
        typer.Option("--level", metavar="P", help="Probability of the band, between 0 and 1."),
    ] = 0.95,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="F.csv", help="Write the table.", rich_help_panel=o.OUTPUT),
    ] = None,
    overwrite: o.Overwrite = False,
    as_json: o.AsJson = False,
) -> None:
    """Values of a release at any points, with a band for the privacy noise. Costs no privacy.

    The band contains the function that would have been released without noise with the probability
    --level. It says nothing about the bias of clipping and smoothing, nor about sampling.
    """
    from dpfda.cli.outputs import check_outputs, columns_of, text_table, write_csv
    from dpfda.records.curves import check_choice
    from dpfda.releases.function import ReleasedFunction
    from dpfda.report import band_at

    check_choice(band, "--band", ("simultaneous", "pointwise"))
    points = None if at is None else _points(at)
    check_outputs({"--csv": csv}, {"F.json": file}, overwrite)
    release = ReleasedFunction.load(file)
    function = release.derivative() if derivative else release
    where = release.grid_points if points is None else points
    found = band_at(function, where, level, band == "simultaneous")
    columns = columns_of(function, found)
    if csv is not None:
        write_csv(columns, csv)
    if as_json:
        print_json(_described(columns, derivative, band, level))
    elif csv is None:
        cells = {name: [f"{value:.6g}" for value in column] for name, column in columns.items()}
        typer.echo(text_table(cells))
    else:
        typer.echo(f"{len(columns['point'])} points written to {csv}")


def _described(
    columns: dict[str, list[float]], derivative: bool, band: str, level: float
) -> dict[str, Any]:
    return {"derivative": derivative, "band": band, "level": level, **columns}


def _points(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(
            "--at", "be numbers separated by commas", repr(text), "Example: --at 0,0.25,0.5"
        ) from None
