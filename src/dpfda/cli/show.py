"""`dpfda show`: what a release promises, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from dpfda.cli import options as o
from dpfda.cli.running import guarded, print_json

if TYPE_CHECKING:
    from dpfda.releases.comparison import ReleasedComparison
    from dpfda.releases.components import ReleasedComponents
    from dpfda.releases.covariance import ReleasedCovariance
    from dpfda.releases.density import ReleasedDensity
    from dpfda.releases.predictor import ReleasedPredictor


@guarded
def show(file: o.ReleaseFile, as_json: o.AsJson = False) -> None:
    """Say in plain words what a release promises, to whom, and how accurate it is."""
    from dpfda.cli.mean import summary
    from dpfda.releases.comparison import ReleasedComparison
    from dpfda.releases.components import ReleasedComponents
    from dpfda.releases.covariance import ReleasedCovariance
    from dpfda.releases.density import ReleasedDensity
    from dpfda.releases.function import ReleasedFunction
    from dpfda.releases.predictor import ReleasedPredictor
    from dpfda.report import cautions, cited, describe, public_size
    from dpfda.storage import load

    any_kind = load(file)
    if isinstance(any_kind, ReleasedPredictor):
        _show_predictor(any_kind, as_json)
        return
    if isinstance(any_kind, ReleasedDensity):
        _show_density(any_kind, as_json)
        return
    if isinstance(any_kind, ReleasedCovariance | ReleasedComponents | ReleasedComparison):
        _show_second_order(any_kind, as_json)
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


def _show_second_order(
    release: ReleasedCovariance | ReleasedComponents | ReleasedComparison, as_json: bool
) -> None:
    from dpfda.releases.comparison import ReleasedComparison
    from dpfda.report.covariances import describe_comparison, describe_second_order
    from dpfda.storage.parts import guarantee_to_json

    if isinstance(release, ReleasedComparison):
        report = describe_comparison(release)
    else:
        report = describe_second_order(release)
    if not as_json:
        typer.echo(report)
        return
    print_json(
        {
            "guarantee": guarantee_to_json(release.guarantee),
            "neighbours": str(release.neighbours),
            "privacy_unit": release.unit,
            "about": dict(release.about),
            "report": report,
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


def _show_density(release: ReleasedDensity, as_json: bool) -> None:
    from dpfda.cli.density import summary
    from dpfda.report import cautions
    from dpfda.report.densities import cited_density, describe_density, public_units

    if not as_json:
        typer.echo(describe_density(release))
        return
    print_json(
        summary(release)
        | {
            "warnings": list(cautions(release.guarantee, public_units(release))),
            "citation": cited_density(release),
            "report": describe_density(release),
        }
    )
