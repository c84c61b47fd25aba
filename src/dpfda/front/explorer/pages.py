"""What the explorer's page asks, and what it shows for what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpfda.command.running import typed
from dpfda.front.desk.fields import Field, Form, field_of, own
from dpfda.front.explorer.imagined import EPSILON, KERNELS, NEIGHBOURS, POINTS, Setting
from dpfda.front.explorer.shapes import SHAPES
from dpfda.front.verbs import declared_verbs
from dpfda.front.verbs.run import options_of
from dpfda.numerics.errors import DpfdaError
from dpfda.views.page import Section


def explored(sent: Mapping[str, str], words: bool) -> tuple[Form, dict[str, Any]]:
    """The form, and what `shown.html` is filled in with.

    sent: What the form says; text.
    words: Whether what the release says of itself is shown.
    """
    setting, values = Setting(), dict(sent)
    try:
        setting = Setting.read(sent)
        made, values = setting.imagine(), setting.sent()
        facts = dict(made.facts)
        commands = {what: (what, command) for what, command in made.commands().items()}
        found = {
            "answer": f"Expected error: {facts.pop('Expected error')}.", "view": made.view(),
            "told": [Section("", facts=facts)], "codes": commands,
            "further": "What such a release would say of itself",
            "parts": [*made.words().values()] if words else (),
        }  # fmt: skip
    except DpfdaError as error:
        found = {"unusable": typed(error)}
    asked = Form(
        "/explore/", "Draw again", {"": _fields(setting.shape)}, setting.sent() | values,
        hidden={"was": setting.shape}, live=True, method="get",
    )  # fmt: skip
    return asked, found


def _fields(shape: str) -> list[Field]:
    """What may be chosen; sliders reach as far as the curves need it."""
    known, titles = options_of(declared_verbs()["plan mean"]), {x: y.title for x, y in SHAPES.items()}
    epsilon, points, delta, neighbours = (
        field_of(known[name]) for name in ("epsilon", "points", "delta", "neighbours")
    )
    reach = (*SHAPES[shape].reach, "")
    return [
        own("shape", choices=titles),
        replace(epsilon, slider=(*EPSILON, "log")),
        own("curves", slider=(20, 100_000, "log whole")),
        own("low", slider=reach),
        own("high", slider=reach),
        replace(points, slider=(*POINTS, "whole")),
        delta,
        own("kernel", choices=KERNELS),
        replace(neighbours, choices=NEIGHBOURS),
    ]
