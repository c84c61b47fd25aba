"""Released predictors as JSON types, and back."""

from __future__ import annotations

from functools import partial
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
from dpfda.noise import NoiseLaw, law_from_json
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee
from dpfda.records.features import InputBox, features_from_json
from dpfda.releases.predictor import BOUND, ReleasedPredictor
from dpfda.releases.storage.certificates import (
    CERTIFIED,
    Costs,
    certificate_from_json,
    certificate_to_json,
    earlier_sum,
)

FORMAT = "dpfda-predictor"
SCHEMA_VERSION = CERTIFIED


def to_json(release: ReleasedPredictor) -> dict[str, Any]:
    """Everything in a released predictor as JSON types."""
    return {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        **certificate_to_json(release.certificate),
        "units": release.size,
        "task": release.task,
        "loss": release.loss,
        "classes": list(release.classes),
        "about": dict(release.about),
        "center": release.center,
        "half_width": release.half_width,
        "lower": release.inputs.lower.tolist(),
        "upper": release.inputs.upper.tolist(),
        "coefficients": array_to_json(release.coefficients),
        "noise": release.noise.to_json(),
        "features": release.features.to_json(),
    }


def from_json(written: dict[str, Any], kernel: Any = None) -> ReleasedPredictor:
    """Build a released predictor from JSON types."""
    features, noise = features_from_json(written["features"]), law_from_json(written["noise"])
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
        certificate=certificate_from_json(
            written,
            partial(_earlier, written["mechanism"]["name"], noise),
            lambda: ({"description": BOUND}, written["mechanism"]),
            [noise],
        ),
        size=integer(written["units"], 0),
        noise=noise,
        about=mapping(written["about"]),
    )


def _earlier(road: str, noise: NoiseLaw, guarantee: Guarantee, achieved: Guarantee) -> Costs:
    if road not in ("output", "sums"):
        # A perturbed objective spends epsilon before the noise that the file holds.
        return {WHOLE: Cost(guarantee)}
    return earlier_sum(noise, 1.0, guarantee, achieved)


def array_from_list(numbers: list[float], count: int) -> NDArray[np.float64]:
    """As many numbers as there are inputs."""
    array = floats(numbers)
    if array.shape != (count,):
        raise ValueError("bounds and features differ in number")
    return array
