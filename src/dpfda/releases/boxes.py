"""What releases on boxes share: how finely they are drawn, and how many variables a picture shows."""

from __future__ import annotations

from dpfda.numerics.errors import ParameterError

# Points of a band by default, over all axes together; cells along each axis of a picture, at least.
BAND_POINTS = 400
FINE = 256
# Points of a table by default: a band at more of them would take more than half a gigabyte.
TABLE_POINTS = 2500
# A picture shows two variables at most.
PICTURE = 2


def check_drawn(dimensions: int, remedy: str) -> None:
    """Refuse to draw more than two variables."""
    if dimensions > PICTURE:
        raise ParameterError(
            "release", f"have at most {PICTURE} variables to be drawn", f"{dimensions}", remedy
        )
