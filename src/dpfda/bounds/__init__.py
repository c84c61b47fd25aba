"""The public set that every record is forced into: clip, verified integer rounding, differences.

Nothing else bounds a record, and no bound is ever read from the data.
"""

from typing import TYPE_CHECKING

from dpfda.numerics.scan import later

if TYPE_CHECKING:
    from dpfda.bounds.balls import BodyNorm, IntegerBall, IntegerBody, Norm
    from dpfda.bounds.bodies import BoxBound, Ellipsoid
    from dpfda.bounds.l1sums import L1Rule, l1_rule, l1_sum
    from dpfda.bounds.ongrid import Cube, OnGrid, on_grid
    from dpfda.bounds.stated import (
        Bound,
        L1Ball,
        L2Ball,
        LatticeBounds,
        Search,
        ValueBounds,
        ball_of,
        read_bounds,
    )
else:
    __getattr__ = later(__name__)

__all__ = [
    "BodyNorm", "Bound", "BoxBound", "Cube", "Ellipsoid", "IntegerBall", "IntegerBody", "L1Ball",
    "L1Rule", "L2Ball", "LatticeBounds", "Norm", "OnGrid", "Search", "ValueBounds", "ball_of", "l1_rule",
    "l1_sum", "on_grid", "read_bounds",
]  # fmt: skip
