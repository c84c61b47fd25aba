"""Column labels: which of them are points of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpfda.errors import OrientationError


def as_number(label: Any) -> float | None:
    """A label as a number, where it is one."""
    try:
        return float(label)
    except (TypeError, ValueError):
        return None


def grid_from_labels(labels: Sequence[Any]) -> list[float] | None:
    """Grid points where all labels are numbers, None where none is.

    Raises
    ------
    OrientationError
        If some are numbers and some are not, so that it cannot be told which columns are points.
    """
    numbers = [as_number(label) for label in labels]
    if all(number is None for number in numbers):
        return None
    words = [label for label, number in zip(labels, numbers, strict=True) if number is None]
    if words:
        raise OrientationError(
            "Column labels must be all numbers (grid points) or all words; found both, for example "
            f"{str(words[0])!r}. Select the columns of the curve."
        )
    return [number for number in numbers if number is not None]
