"""Releases of the two-stage rule as JSON types, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dpfda.bases.encoding import integer, integers, number
from dpfda.noise import law_from_json
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.staged import FIRST, LAST, RADIUS, Selection, TwoStageFunction
from dpfda.releases.storage import functions
from dpfda.releases.storage.certificates import CERTIFIED, Costs, certificate_from_json, without
from dpfda.releases.storage.functions import check_parts, numbers, parts_from_json, public_parts
from dpfda.releases.storage.parts import (
    guarantee_from_json,
    guarantee_to_json,
)

FORMAT = "dpfda-two-stage"
SCHEMA_VERSION = CERTIFIED


def to_json(release: TwoStageFunction) -> dict[str, Any]:
    """Everything in a release as JSON types, in the order in which a person would read it."""
    assert release.first is not None  # noqa: S101
    assert release.last is not None  # noqa: S101
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        **public_parts(release),
        "order": release.order,
        "radius": release.radius,
        "selection": None if release.selection is None else _selection_to_json(release.selection),
        "guarantee_of_last_stage": guarantee_to_json(release.last),
        **numbers(release),
        "first": functions.to_json(release.first),
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> TwoStageFunction:
    """Build a release from JSON types."""
    selection = written["selection"]
    first = functions.from_json(written["first"], kernel)
    certificate = certificate_from_json(written, partial(_earlier, first, selection))
    if written.get("schema_version") == 1:
        # Its costs are the first of the whole's.
        own = first.certificate
        stages = certificate.stages[: len(own.costs)]
        first = replace(first, certificate=replace(own, identity=certificate.identity, stages=stages))
    release = TwoStageFunction(
        **parts_from_json(written, kernel, certificate),
        order=int(written["order"]),
        first=first,
        radius=number(written["radius"]),
        last=guarantee_from_json(written["guarantee_of_last_stage"]),
        selection=None if selection is None else _selection_from_json(selection),
    )
    check_parts(release)
    if release.center.shape != release.grid_points.shape:
        raise ValueError("the center must fit the grid")
    return release


def _earlier(
    first: ReleasedFunction, selection: Mapping[str, Any] | None, whole: Guarantee, _: Guarantee
) -> Costs:
    """Both stages, and the choice between them; what is not certain is left to the last."""
    own = first.certificate
    names = [FIRST] if len(own.costs) == 1 else [f"{FIRST}, {stage}" for stage in own.stages]
    costs = dict(zip(names, own.costs, strict=True))
    if selection is not None:
        costs[RADIUS] = Cost(guarantee_from_json(selection["guarantee_recomputed"]))
    costs[LAST] = Cost(without(whole, [cost.guarantee for cost in costs.values()]))
    return costs


def _selection_to_json(selection: Selection) -> dict[str, Any]:
    return {
        "radii": list(selection.radii),
        "noisy_counts": list(selection.noisy_counts),
        "scale": selection.scale,
        "noise": selection.noise.to_json(),
        "guarantee_recomputed": guarantee_to_json(selection.achieved),
    }


def _selection_from_json(written: dict[str, Any]) -> Selection:
    return Selection(
        tuple(number(radius) for radius in written["radii"]),
        integers(written["noisy_counts"]),
        integer(written["scale"], 1),
        law_from_json(written["noise"]),
        guarantee_from_json(written["guarantee_recomputed"]),
    )
