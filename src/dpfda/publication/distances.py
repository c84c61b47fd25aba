"""The largest distance of a released line from the mean, measured on the sums that it was made of.

The line is public by then. For integer sums S_t on the grid, to be divided by a public N, of records
between bounds that are 2 h_t apart at t, and 2 h where they are farthest apart, what gets noise is

    max_t floor(h |S_t - N l_t| / h_t),        l_t the line in the same integers.

Whatever the line l, it is a function of the records. One unit that is replaced moves S_t by 2 h_t at
most, one that is added or removed by h_t. So each term moves by 2 h, or h, and by one for the rounding
down, and the largest of them by no more. Laplace noise of that width over a share of epsilon keeps to
this share for every line that may have come out; both together compose to the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from dpfda.noise import NoiseLaw
from dpfda.numerics.aggregate import IntegerSum
from dpfda.publication.means import MeanPlan
from dpfda.releases.distance import Distance
from dpfda.releases.function import ReleasedFunction

Line = TypeVar("Line", bound=ReleasedFunction)


def with_distance(
    release: Line, total: IntegerSum, plan: MeanPlan, draw: Callable[[NoiseLaw], Sequence[int]]
) -> Line:
    """A released line with its largest distance from the mean; the ledger has been charged for it.

    total: The exact sums on the grid. Private.
    draw: As of `dpfda.publication.publish`.
    """
    assert plan.on_grid is not None and plan.size is not None  # noqa: S101, PT018
    rule = plan.on_grid.rule
    line = np.asarray(release(release.grid_points)) - rule.center
    # Between the bounds, so that it is a number of their size whatever was measured.
    line = np.clip(np.nan_to_num(np.rint(line * rule.scale)), -rule.half_widths, rule.half_widths)
    public = list(map(int, line)), list(map(int, rule.half_widths)), plan.size
    exact = IntegerSum.one_number([total], partial(largest_distance, public=public))
    (noisy,) = exact.with_noise(draw(plan.distance_noise))
    return replace(release, distance=Distance(noisy, plan.largest_half, plan.distance_noise))


def largest_distance(totals: list[list[int]], public: tuple[list[int], list[int], int]) -> int:
    """Of a sum from so many times a line, where bounds are farthest apart. Private.

    totals: One list of sums (m,).
    public: Line (m,), half distances of bounds (m,), and the number to divide by.
    """
    (sums,), (line, halves, size) = totals, public
    widest, apart = max(halves), zip(sums, line, halves, strict=True)
    return max(widest * abs(total - size * at) // half for total, at, half in apart if half)
