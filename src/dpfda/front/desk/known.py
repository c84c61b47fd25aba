"""Public knowledge that ships with the desk: usual bounds with their sources, and sketches of verbs."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TypedDict


class Preset(TypedDict):
    """A quantity and bounds that were known before any data."""

    quantity: str
    unit: str
    low: float
    high: float
    source: str


_KNOWN = json.loads(files("dpfda.front.desk").joinpath("known.json").read_text(encoding="utf-8"))
PRESETS: list[Preset] = _KNOWN["presets"]
# What a verb publishes as lines on a field of 100 by 60; by the verb's name.
SKETCHES: dict[str, str] = _KNOWN["sketches"]
