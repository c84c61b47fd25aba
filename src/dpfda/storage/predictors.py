"""Released predictors as JSON types, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.bases.encoding import (
    array_from_json,
    array_to_json,
    floats,
    integer,
    mapping,
    name,
    number,
)
from dpfda.bases.grids import frozen
from dpfda.features import InputBox, features_from_json
from dpfda.guarantees import Neighbours
from dpfda.releases.predictor import ReleasedPredictor
from dpfda.storage.parts import (
    guarantee_from_json,
    guarantee_to_json,
    noise_from_json,
    noise_to_json,
)

FORMAT = "dpfda-predictor"
SCHEMA_VERSION = 1


def to_json(release: ReleasedPredictor) -> dict[str, Any]:
    """Everything in a released predictor as JSON types."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "guarantee": guarantee_to_json(release.guarantee),
        "guarantee_recomputed": guarantee_to_json(release.stated),
        "neighbours": str(release.neighbours),
        "privacy_unit": release.unit,
        "units": release.size,
        "task": release.task,
        "loss": release.loss,
        "classes": list(release.classes),
        "mechanism": dict(release.mechanism),
        "about": dict(release.about),
        "center": release.center,
        "half_width": release.half_width,
        "lower": release.inputs.lower.tolist(),
        "upper": release.inputs.upper.tolist(),
        "coefficients": array_to_json(release.coefficients),
        "noise": noise_to_json(release.noise),
        "features": release.features.to_json(),
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> ReleasedPredictor:
    """Build a released predictor from JSON types."""
    features = features_from_json(written["features"])
    ends = [frozen(array_from_list(written[name], features.inputs)) for name in ("lower", "upper")]
    return ReleasedPredictor(
        task=name(written["task"]),
        inputs=InputBox.of(ends, features.inputs),
        features=features,
        coefficients=array_from_json(written["coefficients"]),
        center=number(written["center"]),
        half_width=number(written["half_width"]),
        classes=tuple(written["classes"]),
        loss=name(written["loss"]),
        guarantee=guarantee_from_json(written["guarantee"]),
        stated=guarantee_from_json(written["guarantee_recomputed"]),
        neighbours=Neighbours.parse(written["neighbours"]),
        unit=name(written["privacy_unit"]),
        size=integer(written["units"], 0),
        noise=noise_from_json(written["noise"]),
        mechanism=mapping(written["mechanism"]),
        about=mapping(written["about"]),
    )


def array_from_list(numbers: list[float], count: int) -> NDArray[np.float64]:
    """As many numbers as there are inputs."""
    array = floats(numbers)
    if array.shape != (count,):
        raise ValueError("bounds and features differ in number")
    return array
