"""The largest distance of a released line from the mean, measured on the sums that it was made of.

The line L is public by then. For integer sums S_t on the grid, of N units (or over a public divisor N), with
bounds that are 2 h_t apart at t and 2 h where they are farthest apart, what gets noise is

    max_t floor(h |S_t - N l_t| / h_t),        l_t the line in the same integers.

For every fixed l it is a function of the records. One unit that is replaced moves S_t by 2 h_t at most, one
that is added or removed by h_t, so each term moves by 2 h or h and by one for the rounding down, and the
largest of them by no more. Laplace noise of that width over its share of epsilon is pure, whatever the line
came out as; line and distance together compose to the whole (basic composition, with the line released first).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from dpfda.numerics.aggregate import IntegerSum
from dpfda.publication.means import MeanPlan, ReleasedMean
from dpfda.releases.distance import Distance
from dpfda.releases.function import ReleasedFunction


def with_distance(release: ReleasedMean, total: IntegerSum, plan: MeanPlan) -> ReleasedFunction:
    """A released line with its largest distance from the mean; the ledger has been charged for it.

    total: The exact sums on the grid. Private.
    """
    assert isinstance(release, ReleasedFunction) and plan.on_grid is not None  # noqa: S101, PT018
    rule, size = plan.on_grid.rule, plan.size
    line = np.asarray(release(release.grid_points)) - rule.center
    # Between the bounds, so that it is a number of their size whatever was measured.
    line = np.clip(np.nan_to_num(np.rint(line * rule.scale)), -rule.half_widths, rule.half_widths)
    largest = partial(
        largest_distance, line=list(map(int, line)), halves=list(map(int, rule.half_widths)), size=size
    )
    (noisy,) = IntegerSum.one_number([total], largest).with_noise(plan.distance_noise.draw())
    return replace(release, distance=Distance(noisy, plan.largest_half, plan.distance_noise))


def largest_distance(
    totals: list[list[int]], line: list[int], halves: list[int], size: int
) -> int:
    """Of a sum from so many times a line, where bounds are farthest apart. Private.

    totals: One list of sums (m,).
    line, halves: (m,). Public.
    size: Public number of units, or divisor.
    """
    (sums,), widest = totals, max(halves)
    apart = zip(sums, line, halves, strict=True)
    return max(widest * abs(total - size * at) // half for total, at, half in apart if half)
