"""Released densities as JSON types: what the mechanism gave, from which the density is made again."""

from __future__ import annotations

import importlib
from typing import Any

from dpfda.bases.cells import CellGrid
from dpfda.bases.encoding import exponent, integer, integers, mapping, name, number
from dpfda.guarantees import Neighbours
from dpfda.noise import GaussianNoise, KNormNoise, NoiseLaw
from dpfda.postprocessing.histospline import ADAPTIVE
from dpfda.releases.density import ReleasedDensity
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.histogram import ReleasedHistogram
from dpfda.storage.kinds import KINDS
from dpfda.storage.parts import guarantee_from_json, guarantee_to_json

FORMAT = "dpfda-density"
SCHEMA_VERSION = 1
HISTOGRAM = "dpfda-histogram"
# Other kinds that may be inside: functions and fields.
RAW = ("dpfda-release", "dpfda-field")
LAWS: dict[str, Any] = {
    KNormNoise.law: lambda count, scale: KNormNoise((1,) * count, (scale,) * count),
    GaussianNoise.law: lambda count, scale: GaussianNoise((scale,) * count),
}


def to_json(release: ReleasedDensity) -> dict[str, Any]:
    """Everything in a release as JSON types, in the order in which a person would read it."""
    raw = release.raw
    if isinstance(raw, ReleasedHistogram):
        inside = _histogram_to_json(raw)
    else:
        kind = "dpfda-release" if isinstance(raw, ReleasedFunction) else "dpfda-field"
        inside = importlib.import_module(KINDS[kind].home).to_json(raw)
    return {"format": FORMAT, "schema_version": SCHEMA_VERSION, "raw": inside}


def from_json(written: dict[str, Any], kernel: Any = None) -> ReleasedDensity:
    """Build a release from JSON types."""
    inside = written["raw"]
    if inside["format"] == HISTOGRAM:
        return ReleasedDensity(_histogram_from_json(inside))
    if inside["format"] not in RAW:
        raise ValueError("unknown raw release")
    home = importlib.import_module(KINDS[inside["format"]].home)
    if inside["schema_version"] != home.SCHEMA_VERSION:
        raise ValueError("unknown schema of the raw release")
    return ReleasedDensity(home.from_json(inside, kernel))


def _histogram_to_json(raw: ReleasedHistogram) -> dict[str, Any]:
    return {
        "format": HISTOGRAM,
        "guarantee": guarantee_to_json(raw.guarantee),
        "guarantee_recomputed": guarantee_to_json(raw.stated),
        "neighbours": str(raw.neighbours),
        "privacy_unit": raw.unit,
        "public_size": raw.public_size,
        "smoothing": raw.smoothing,
        "about": dict(raw.about),
        "noise": {"law": raw.noise.law, "words": raw.noise.describe(), "scale": _scale(raw.noise)},
        "cells": raw.cells.to_json(),
        "exponent": raw.exponent,
        "noisy_counts": list(raw.noisy_counts),
    }


def _histogram_from_json(written: dict[str, Any]) -> ReleasedHistogram:
    counts = integers(written["noisy_counts"])
    smoothing, size = written["smoothing"], written["public_size"]
    return ReleasedHistogram(
        cells=CellGrid.from_json(written["cells"]),
        noisy_counts=counts,
        exponent=exponent(written["exponent"]),
        public_size=None if size is None else integer(size, 1),
        smoothing=smoothing if smoothing in ADAPTIVE else number(smoothing),
        noise=LAWS[written["noise"]["law"]](len(counts), integer(written["noise"]["scale"], 1)),
        guarantee=guarantee_from_json(written["guarantee"]),
        stated=guarantee_from_json(written["guarantee_recomputed"]),
        neighbours=Neighbours.parse(written["neighbours"]),
        unit=name(written["privacy_unit"]),
        about=mapping(written["about"]),
    )


def _scale(noise: NoiseLaw) -> int:
    """The one scale of the noise on all counts."""
    (scale,) = set(vars(noise)["scales"])
    return int(scale)
