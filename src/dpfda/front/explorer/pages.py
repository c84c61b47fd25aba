"""The explorer's page, and the part of it that changes, for what a form sent."""

from __future__ import annotations

from collections.abc import Mapping

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
from dpfda.views.page import rendered

LIMITS = {"epsilon": EPSILON, "delta": DELTA, "curves": UNITS, "points": POINTS}


def explored(sent: Mapping[str, str], template: str, nonce: str) -> tuple[str, int]:
    """A page and its status.

    sent: What the form says; text.
    template: "explore.html" or "shown.html".
    nonce: The mark of the page's own script.
    """
    setting, imagined, refused = Setting(), None, None
    try:
        setting = Setting.read(sent)
        imagined = setting.imagine()
    except DpfdaError as error:
        refused = typed(error)
    text = rendered(
        template,
        "dpfda.front.explorer",
        "dpfda explore",
        setting=setting.sent() | ({} if refused is None else dict(sent)),
        imagined=imagined,
        refused=refused,
        shapes=SHAPES,
        kernels=KERNELS,
        neighbours=NEIGHBOURS,
        limits=LIMITS,
        narrow="narrow" in sent,
        # A page of its own has them; else they are asked for when they are opened.
        words=template == "explore.html" or "words" in sent,
        nonce=nonce,
    )
    return text, 200 if refused is None else 422
