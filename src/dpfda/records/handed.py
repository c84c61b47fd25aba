"""Records as they were handed over, taken apart by their public side: what every door answers with."""

from __future__ import annotations

from typing import Any, NamedTuple

from dpfda.numerics.arrays import Floats


class Handed(NamedTuple):
    """Records as they were handed over, taken apart by their public side.

    values: The records' cells alone. Private.
    groups: Label of each record's privacy unit. Private.
    grid: array (m,), tuple of d arrays, or None. The points that labels or coordinates spell; along each
        variable for functions on a box.
    domain_range: (float, float) or None. The domain, where the container says one.
    """

    values: Any
    groups: Any
    grid: Floats | tuple[Floats, ...] | None = None
    domain_range: tuple[float, float] | None = None

    def __repr__(self) -> str:
        return "Handed(content private)"
