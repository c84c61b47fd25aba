"""`dpfda eval`: values of a release, with a band around them."""

from __future__ import annotations

import typer

from dpfda.errors import ParameterError
from dpfda.front.command import options as o
from dpfda.front.command.declared import Given, Option, Verb
from dpfda.front.command.running import print_json

OPTIONS = (
    o.RELEASE_FILE,
    Option(
        "at", "--at", "T,T,...",
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

    Releases that are no single curve are given without a band. The band of a default mean between
    bounds is meant to hold the mean of the clipped records in so many releases (--level, at least .9)
    of curves like ordinary ones; that of any other curve holds what would have been released without
    noise. Neither says anything about clipping or sampling.
    """
    from dpfda.front.command import kinds
    from dpfda.front.command.outputs import check_outputs
    from dpfda.records.curves import check_choice
    from dpfda.releases.function import ReleasedFunction
    from dpfda.releases.storage import load

    check_choice(given.band, "--band", ("simultaneous", "pointwise", "measured"))
    points = None if given.at is None else _points(given.at)
    check_outputs({"--csv": given.csv}, {"F.json": given.file}, given.overwrite)
    release = load(given.file)
    if not isinstance(release, ReleasedFunction):
        if given.derivative:
            raise ParameterError("--derivative", "be left out here", type(release).__name__)
        _show(given, kinds.values(release, points), {})
        return
    if points is not None and any(len(point) != 1 for point in points):
        raise ParameterError("--at", "give one number a point for a curve", "several joined by colons")
    function = release.derivative() if given.derivative else release
    where = release.grid_points if points is None else [point for (point,) in points]
    kind = "measured" if given.band == "measured" else "mean"
    columns = kinds.band_columns(function, where, given.level, given.band != "pointwise", kind)
    about = {"derivative": given.derivative, "band": given.band, "level": given.level}
    _show(given, columns, about)


def _show(given: Given, columns: dict[str, list[float]], about: dict[str, object]) -> None:
    """Write the table, or print it as text or JSON."""
    from dpfda.front.command.outputs import text_table, write_csv

    if given.csv is not None:
        write_csv(columns, given.csv)
    if given.as_json:
        print_json({**about, **columns})
    elif given.csv is None:
        cells = {name: [f"{value:.6g}" for value in column] for name, column in columns.items()}
        typer.echo(text_table(cells))
    else:
        typer.echo(f"{len(next(iter(columns.values())))} points written to {given.csv}")


def _points(text: str) -> list[list[float]]:
    try:
        return [[float(part) for part in point.split(":")] for point in text.split(",")]
    except ValueError:
        raise ParameterError(
            "--at", "be numbers separated by commas", repr(text), "Example: --at 0,0.25,0.5"
        ) from None


VERB = Verb(
    "eval", evaluate, OPTIONS, ("dpfda eval fa.json --at 0,0.25,0.5 --csv values.csv",), o.RELEASED
)
