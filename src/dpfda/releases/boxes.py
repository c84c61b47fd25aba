"""What releases on boxes share: names of coordinates, and how many of them a picture shows."""

from __future__ import annotations

from collections.abc import Sequence

from dpfda.errors import ParameterError

# Points of a band by default, over all axes together; cells along each axis of a picture, at least.
BAND_POINTS = 400
FINE = 256
# A picture shows two variables at most.
PICTURE = 2


def box_axes(domain: Sequence[tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The coordinates of a point by name, each with its ends."""
    if len(domain) == 1:
        return {"point": domain[0]}
    return {f"point_{i + 1}": ends for i, ends in enumerate(domain)}


def check_drawn(dimensions: int, remedy: str) -> None:
    """Refuse to draw more than two variables."""
    if dimensions > PICTURE:
        raise ParameterError(
            "release", f"have at most {PICTURE} variables to be drawn", f"{dimensions}", remedy
        )
