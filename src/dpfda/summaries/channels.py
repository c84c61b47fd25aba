"""Sums of curves with several values at a point, in one pass over the memory where they lie together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpfda.numerics.gridsums import SideBySide, grid_sum
from dpfda.numerics.native_arrays import is_native, is_plain
from dpfda.summaries.mean import PrivateMean
from dpfda.summaries.sums import Summed


def summed_together(means: Sequence[PrivateMean], X: Any) -> list[Summed] | None:
    """What `PrivateMean.summed` makes of each channel of an array (n, m, d), by reading it once.

    Each value goes through the same operations as if its channel were read by itself, and integers are
    added up exactly, so the sums are the same.

    Parameters
    ----------
    means : d PrivateMean
        One a channel.
    X : array (n, m, d)
        Private.

    Returns
    -------
    list of d Summed, or None
        None where each channel must be read by itself: where the values do not lie side by side, a
        channel is not bounded value by value, or some value is not finite.
    """
    if any(mean.settings.reading.missing != "refuse" for mean in means):
        return None
    if not (is_plain(X) and X.ndim == 3 and is_native(X.dtype) and X.flags.c_contiguous):
        return None
    with np.errstate(all="ignore"):
        opened = [mean.opened(X[:, :, place]) for place, mean in enumerate(means)]
        rules = [summation.clipping for summation in opened]
        if not all(rules):
            return None
        rule = SideBySide(tuple(each for each in rules if each))
        totals, unusable = grid_sum(X.reshape(len(X), -1), rule)
        if unusable:
            return None
        made = []
        for place, summation in enumerate(opened):
            total = summation.empty().add_totals(totals[place :: len(means)], len(X))
            made.append(Summed(summation, total))
    return made
