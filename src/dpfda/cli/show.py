"""`dpfda show`: what a release promises, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from dpfda.cli import options as o
from dpfda.cli.running import guarded, print_json

if TYPE_CHECKING:
    from dpfda.predictor import ReleasedPredictor


@guarded
def show(file: o.ReleaseFile, as_json: o.AsJson = False) -> None:
    """Say in plain words what a release promises, to whom, and how accurate it is."""
    from dpfda.cli.mean import summary
    from dpfda.predictor import ReleasedPredictor
    from dpfda.release import ReleasedFunction
    from dpfda.report import cautions, cited, describe, public_size
    from dpfda.storage import load

    any_kind = load(file)
    if isinstance(any_kind, ReleasedPredictor):
        _show_predictor(any_kind, as_json)
        return
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


def _show_predictor(release: ReleasedPredictor, as_json: bool) -> None:
    from dpfda.cli.machines import summary
    from dpfda.report import cautions
    from dpfda.report.predictors import cited_predictor, describe_predictor

    if not as_json:
        typer.echo(describe_predictor(release))
        return
    print_json(
        summary(release)
        | {
            "warnings": list(cautions(release.guarantee, release.size)),
            "citation": cited_predictor(release),
            "report": describe_predictor(release),
        }
    )
