"""Public labels that private cells are told apart by: levels, causes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.numerics.arrays import Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.records.cells import read_cell
from dpfda.records.containers import cells_in
from dpfda.records.labels import Key, label_key, read_keys


def public_labels(given: Any, name: str, least: int) -> list[Any]:
    """Public labels, each different from the others."""
    try:
        labels = [] if isinstance(given, str | bytes) else list(given)
    except TypeError:
        labels = []
    keys = [level_key(label) for label in labels]
    words = {str(label) for label in labels}
    if len(labels) < least or None in keys or len({*keys}) < len(keys) or len(words) < len(keys):
        words_ = f"be a list of at least {least} different labels"
        raise ParameterError(name, words_, shown(given))
    return labels


def level_key(cell: object) -> Key:
    """What a label is compared by: a number by its value, also where it is written as text."""
    value, offence = read_cell(cell)
    return label_key(cell) if offence or not np.isfinite(value) else label_key(value)


def members(by: object, levels: list[Any], name: str) -> Integers:
    """Number of each person's group; -1 where it is none of the levels."""
    places = {level_key(level): place for place, level in enumerate(levels)}
    keys = read_keys(by, name, "repair")
    cells = cells_in(by, name)
    found = [
        -1 if key is None else places.get(level_key(cell), -1)
        for key, cell in zip(keys, cells, strict=True)
    ]
    return np.array(found, dtype=np.int64)
