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
            help="Points of the domain, separated by commas; the coordinates of a point of several "
            "variables by colons. By default the grid of the release. Example: --at 0,0.25,0.5",
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

    Densities, covariances, predictors and functions of several variables are given without a band. For
    curves the band contains the function that would have been released without noise with the
    probability --level. It says nothing about the bias of clipping and smoothing, nor about sampling.
    """
    from dpfda.cli.outputs import check_outputs, columns_of
    from dpfda.records.curves import check_choice
    from dpfda.releases.function import ReleasedFunction
    from dpfda.report import band_at
    from dpfda.storage import load

    check_choice(band, "--band", ("simultaneous", "pointwise"))
    points = None if at is None else _points(at)
    check_outputs({"--csv": csv}, {"F.json": file}, overwrite)
    release = load(file)
    if not isinstance(release, ReleasedFunction):
        if derivative:
            raise ParameterError("--derivative", "be left out here", type(release).__name__)
        _show(_values(release, points), csv, as_json, {})
        return
    line = _on_a_line(points)
    function = release.derivative() if derivative else release
    where = release.grid_points if line is None else line
    found = band_at(function, where, level, band == "simultaneous")
    about = {"derivative": derivative, "band": band, "level": level}
    _show(columns_of(function, found), csv, as_json, about)


def _show(
    columns: dict[str, list[float]], csv: Path | None, as_json: bool, about: dict[str, Any]
) -> None:
    """Write the table, or print it as text or JSON."""
    from dpfda.cli.outputs import text_table, write_csv

    if csv is not None:
        write_csv(columns, csv)
    if as_json:
        print_json({**about, **columns})
    elif csv is None:
        cells = {name: [f"{value:.6g}" for value in column] for name, column in columns.items()}
        typer.echo(text_table(cells))
    else:
        typer.echo(f"{len(columns['value'])} points written to {csv}")


def _values(release: Any, points: list[list[float]] | None) -> dict[str, list[float]]:
    """Coordinates and values of a release that is no curve."""
    import numpy as np

    from dpfda.releases.covariance import ReleasedCovariance

    if not callable(release):
        raise ParameterError(
            "F.json",
            "hold one function",
            type(release).__name__,
            "Load it in Python with dpfda.load and choose one of its functions.",
        )
    ends = release.domain_range
    count = 2 if isinstance(release, ReleasedCovariance) else np.atleast_2d(ends).shape[0]
    if points is None or any(len(point) != count for point in points):
        found = "none" if points is None else ", ".join(sorted({str(len(point)) for point in points}))
        raise ParameterError(
            "--at",
            f"give points of {count} coordinate(s) for this release",
            found,
            "Example: --at " + ",".join([":".join(["0.5"] * count)] * 2),
        )
    columns = np.array(points).T
    if isinstance(release, ReleasedCovariance):
        values = release(*columns)
    else:
        values = release(columns[0] if count == 1 else columns.T)
    names = ["point"] if count == 1 else [f"point_{axis + 1}" for axis in range(count)]
    made = dict(zip(names, columns.tolist(), strict=True))
    return made | {"value": np.atleast_1d(values).tolist()}


def _on_a_line(points: list[list[float]] | None) -> list[float] | None:
    if points is None:
        return None
    if any(len(point) != 1 for point in points):
        raise ParameterError("--at", "give one number a point for a curve", "several joined by colons")
    return [point[0] for point in points]


def _points(text: str) -> list[list[float]]:
    try:
        return [[float(part) for part in point.split(":")] for point in text.split(",")]
    except ValueError:
        raise ParameterError(
            "--at", "be numbers separated by commas", repr(text), "Example: --at 0,0.25,0.5"
        ) from None
