"""What the explorer's page shows for what a form sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpfda.command.running import typed
from dpfda.front.explorer.imagined import (
    DELTA,
    EPSILON,
    KERNELS,
    NEIGHBOURS,
    POINTS,
    UNITS,
    Setting,
)
from dpfda.front.explorer.shapes import SHAPES
from dpfda.numerics.errors import DpfdaError

LIMITS = {"epsilon": EPSILON, "delta": DELTA, "curves": UNITS, "points": POINTS}


def explored(sent: Mapping[str, str]) -> dict[str, Any]:
    """What its template is filled in with, as a whole or in the part that changes.

    sent: What the form says; text.
    """
    setting, imagined, unusable = Setting(), None, ""
    try:
        setting = Setting.read(sent)
        imagined = setting.imagine()
    except DpfdaError as error:
        unusable = typed(error)
    return {
        "setting": setting.sent() | (dict(sent) if unusable else {}), "imagined": imagined,
        "unusable": unusable, "shapes": SHAPES, "kernels": KERNELS, "neighbours": NEIGHBOURS,
        "limits": LIMITS, "narrow": "narrow" in sent, "words": "words" in sent,
    }  # fmt: skip
