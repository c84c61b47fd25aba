"""`dpfda plot`: a picture of a release."""

from __future__ import annotations

import typer

from dpfda.front.command import options as o
from dpfda.front.command.declared import Given, Verb


def plot(given: Given) -> None:
    """Draw a release, with its band where it has one. Costs no privacy."""
    from dpfda.front.command.outputs import check_outputs, save_picture
    from dpfda.releases.base import load

    check_outputs({"--plot": given.plot}, {"F.json": given.file}, given.overwrite)
    save_picture(load(given.file).plot, given.plot)
    typer.echo(f"drawn in {given.plot}")


VERB = Verb(
    "plot",
    plot,
    (o.RELEASE_FILE, o.output("plot", "F.png", o.PLOT.help, required=True), o.OVERWRITE),
    ("dpfda plot fa.json --plot fa.png",),
    o.RELEASED,
)
