"""`dpfda eval`: values of a release, with a band around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from dpfda.errors import ParameterError
from dpfda.front.command import options as o
from dpfda.front.command.declared import Given, Option, Verb
from dpfda.front.command.running import print_json

if TYPE_CHECKING:
    from dpfda.releases.base import Release

OPTIONS = (
    o.RELEASE_FILE,
    Option(
        "points", "--at", "T,T,...",
        "Points of the domain, separated by commas; the coordinates of a point of several variables by "
        "colons. By default the grid of the release. Example: --at 0,0.25,0.5",
        default=None,
    ),
    Option("derivative", "--derivative", "", "Values of the derivative, per unit of the axis.",
           type=bool, default=False),
    Option(
        "band", "--band", "simultaneous|pointwise|measured",
        "What the columns lower and upper hold for: the whole domain at once, or one point chosen in "
        "advance; or the exact band of the noise on what was measured, which need not hold the values.",
        default="simultaneous",
    ),
    Option("level", "--level", "P", "Probability of the band, between 0 and 1.", type=float,
           default=0.95),
    o.output("csv", "F.csv", "Write the table."),
    o.OVERWRITE,
    o.AS_JSON,
)  # fmt: skip


def evaluate(given: Given) -> None:
    """Values of a release at any points, with a band around them. Costs no privacy.

    The band of a default mean between bounds is meant to hold the mean of the clipped records in so many
    releases (--level, at least .9) of curves like ordinary ones; that of any other release holds what
    would have been released without noise. Neither says anything about clipping or sampling. Predictors,
    components and covariances are given without a band.
    """
    from dpfda.front.command.outputs import check_outputs
    from dpfda.records.curves import check_choice
    from dpfda.releases.base import load
    from dpfda.releases.files import write_text
    from dpfda.views import aligned, to_csv

    check_choice(given.band, "--band", ("simultaneous", "pointwise", "measured"))
    points = None if given.points is None else _points(given.points)
    check_outputs({"--csv": given.csv}, {"F.json": given.file}, given.overwrite)
    release = load(given.file)
    if given.derivative:
        release = _derivative(release)
    kind = "measured" if given.band == "measured" else None
    table = release.table(points, given.level, given.band != "pointwise", kind)
    if given.csv is not None:
        write_text(given.csv, to_csv(table))
    if given.as_json:
        about = {"derivative": given.derivative, "band": given.band, "level": given.level}
        print_json(about | {name: column.tolist() for name, column in table.columns.items()})
    elif given.csv is None:
        cells = {k: [f"{value:.6g}" for value in column] for k, column in table.columns.items()}
        typer.echo(aligned(cells))
    else:
        typer.echo(f"{len(next(iter(table.columns.values())))} points written to {given.csv}")


def _derivative(release: Release) -> Release:
    made = getattr(release, "derivative", None)
    if made is None:
        raise ParameterError("--derivative", "be left out here", type(release).__name__)
    derivative: Release = made()
    return derivative


def _points(text: str) -> list[list[float]]:
    try:
        points = [[float(part) for part in point.split(":")] for point in text.split(",")]
    except ValueError:
        raise ParameterError(
            "--at", "be numbers separated by commas", repr(text), "Example: --at 0,0.25,0.5"
        ) from None
    counts = sorted({len(point) for point in points})
    if len(counts) > 1:
        found = " and ".join(map(str, counts))
        raise ParameterError("--at", "give as many coordinates for every point", found)
    return points


VERB = Verb(
    "eval", evaluate, OPTIONS, ("dpfda eval fa.json --at 0,0.25,0.5 --csv values.csv",), o.RELEASED
)
