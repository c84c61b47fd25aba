"""Labels with their units: what a derivative or a density is one over."""

from __future__ import annotations

import re
from collections.abc import Mapping

# The unit at the end of a label such as "age (years)".
UNIT = re.compile(r"\(([^()]+)\)$")
TIMES = re.compile(r"^(year|month|week|day|hour|minute|second)s$")


def per_axis(about: Mapping[str, object], order: int) -> str:
    """What a derivative is one over: the unit in brackets in the label of the axis, where it has one."""
    unit = UNIT.search(str(about.get("domain", "")))
    if unit is None:
        return "per unit of the axis"
    return "per " + TIMES.sub(r"\1", unit[1]) + (f"^{order}" if order > 1 else "")


def density_label(about: Mapping[str, object], dimensions: int) -> str:
    """What a density is one over: the units in brackets in all labels of axes."""
    keys = [f"domain_{i + 1}" if i else "domain" for i in range(dimensions)]
    units = [UNIT.search(str(about.get(key, ""))) for key in keys]
    known = [unit[1] for unit in units if unit]
    if len(known) == dimensions:
        return str(about.get("value", f"density (one over {' times '.join(known)})"))
    whole = "the axis" if dimensions == 1 else "area" if dimensions == 2 else "volume"
    return str(about.get("value", f"density (per unit of {whole})"))
