"""What a file says to whoever has no dpfda: points, values, bands, units and the promise in words."""

from __future__ import annotations

import math

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.privacy.words import first_up
from dpfda.releases.published import Published

# Points of a table in a file: along a line, and altogether.
ON_LINE, AT_MOST = 601, 10_000
ENDS = ("lower", "upper")


def plain(release: Published, level: float) -> dict[str, object]:
    """The entries ``words`` and ``table`` of a release's file, as JSON types.

    The band of the table is of this level. All is made from the release alone, and reading the release
    back takes nothing from it. A kind that has no points of its own (functions of more variables than
    can be tabulated) has a table without columns.
    """
    try:
        table = _table(release, level)
    except Exception:
        # A release that was charged is saved, whatever its table meets.
        table = {"axes": _axes(release), "columns": [], "band": None, "between": "nothing"}
    return {"words": _words(release), "table": table}


def thinned(points: Floats, most: int) -> Floats:
    """At most so many of sorted points (k,), evenly, with both ends."""
    if points.size <= most:
        return points
    return np.asarray(points[np.unique(np.linspace(0, points.size - 1, most).round().astype(int))])


def _words(release: Published) -> dict[str, object]:
    return {
        "title": release._title,
        "promise": release._subtitle,
        "neighbours": first_up(release.neighbours.describe(release.unit)),
        "bound": str(release.certificate.bound.get("description", "")),
        "warnings": release._warnings(),
        "citation": release._citation,
    }


def _axes(release: Published) -> list[dict[str, object]]:
    labels = [release._axis_label(i) for i in range(len(release._axes))]
    ends = [(_number(lower), _number(upper)) for lower, upper in release._axes.values()]
    return [
        {"name": name, "label": label, "lower": lower, "upper": upper}
        for name, label, (lower, upper) in zip(release._axes, labels, ends, strict=True)
    ]


def _table(release: Published, level: float) -> dict[str, object]:
    table = release.table(_points(release), level)
    names = [*table.columns]
    band = None
    if set(ENDS) <= set(names):
        around = "value" if "value" in names else names[names.index("lower") - 1]
        band = {
            "level": release._band_level(level),
            "around": around,
            "simultaneous": not release._discrete,
            "words": release._band_words(level),
        }
    columns = [
        {
            "name": name,
            "role": "coordinate" if name in release._axes else name if name in ENDS else "value",
            "label": table.meanings[name],
            "values": [_number(value) for value in column.tolist()],
        }
        for name, column in table.columns.items()
    ]
    between = "nothing" if release._discrete else "linear"
    return {"axes": _axes(release), "columns": columns, "band": band, "between": between}


def _points(release: Published) -> Floats:
    """Points (q, c) of a table in a file: those of tables and bands, thinned where there are many."""
    points = release._default_points()
    coordinates = points.shape[1]
    if release._discrete:
        return points
    if coordinates == 1:
        line = thinned(np.unique(points), ON_LINE)
        return np.union1d(line, release._band_points())[:, None]
    if len(points) <= AT_MOST:
        return points
    most = int(AT_MOST ** (1 / coordinates))
    inside = [np.isin(axis, thinned(np.unique(axis), most)) for axis in points.T]
    return points[np.all(inside, axis=0)]


def _number(value: float) -> float | None:
    """A number that JSON can hold; null where there is none."""
    return value if math.isfinite(value) else None
