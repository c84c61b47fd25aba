"""`dpfda show`: what a release promises, in plain words."""

from __future__ import annotations

import typer

from dpfda.cli import options as o
from dpfda.cli.running import guarded, print_json


@guarded
def show(file: o.ReleaseFile, as_json: o.AsJson = False) -> None:
    """Say in plain words what a release promises, to whom, and how accurate it is."""
    from dpfda.cli.mean import summary
    from dpfda.release import ReleasedFunction
    from dpfda.report import cautions, cited, describe, public_size

    release = ReleasedFunction.load(file)
    if not as_json:
        typer.echo(describe(release))
        return
    print_json(
        summary(release)
        | {
            "warnings": list(cautions(release.guarantee, public_size(release))),
            "citation": cited(release),
            "report": describe(release),
        }
    )
