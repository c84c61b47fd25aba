"""Released densities as JSON types: what the mechanism gave, from which the density is made again."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

from dpfda.bases.cells import CellGrid
from dpfda.bases.encoding import exponent, integer, integers, mapping, number
from dpfda.mechanisms.posteriors.histospline import ADAPTIVE
from dpfda.noise import NoiseLaw, laws_of
from dpfda.releases.density import ReleasedDensity
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.histogram import ReleasedHistogram, noise_words
from dpfda.releases.storage.certificates import (
    CERTIFIED,
    certificate_from_json,
    certificate_to_json,
    earlier_sum,
)
from dpfda.releases.storage.kinds import KINDS, check_version

FORMAT = "dpfda-density"
SCHEMA_VERSION = CERTIFIED
HISTOGRAM = "dpfda-histogram"
# Other kinds that may be inside: functions and fields.
RAW = ("dpfda-release", "dpfda-field")


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
    if not check_version(inside.get("schema_version"), home.SCHEMA_VERSION):
        raise ValueError("unknown schema of the raw release")
    return ReleasedDensity(home.from_json(inside, kernel))


def _histogram_to_json(raw: ReleasedHistogram) -> dict[str, Any]:
    return {
        "format": HISTOGRAM,
        "schema_version": SCHEMA_VERSION,
        **certificate_to_json(raw.certificate),
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
    noise = laws_of()[written["noise"]["law"]].equal(len(counts), integer(written["noise"]["scale"], 1))
    cells = CellGrid.from_json(written["cells"])
    tuning = {"name": "histogram", "cells": list(cells.shape), "noise": noise_words(noise)}
    return ReleasedHistogram(
        cells=cells,
        noisy_counts=counts,
        exponent=exponent(written["exponent"]),
        public_size=None if size is None else integer(size, 1),
        smoothing=smoothing if smoothing in ADAPTIVE else number(smoothing),
        noise=noise,
        certificate=certificate_from_json(
            written,
            partial(earlier_sum, noise, 1.0),
            lambda: ({"description": "one cell a unit"}, tuning),
            [noise],
        ),
        about=mapping(written["about"]),
    )


def _scale(noise: NoiseLaw) -> int:
    """The one scale of the noise on all counts."""
    (scale,) = set(vars(noise)["scales"])
    return int(scale)
