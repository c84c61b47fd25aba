"""Ordinary follow-ups: a fixed public family, by formula, over which plans foretell releases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpfda.bases.lifetimes import CENSORED, LifeCells
from dpfda.bases.ordinary import spread_evenly
from dpfda.numerics.arrays import Floats, Integers

# Of times without an event, which have Weibull laws: shapes, and shares that are left at the end.
SHAPES, LEFT = (0.4, 1.8), (0.1, 0.8)
# Shares of persons that are lost before the end, evenly from a time on; and those times.
LOST, SINCE = (0.7, 1.0), (0.0, 0.4)
# Late follow-ups begin evenly up to here. So many persons are made up at most, each for several.
LATEST, MOST_PERSONS = 0.5, 20_000


class FollowUps(NamedTuple):
    """Follow-ups (n,) between the ends of a domain, and how many persons each stands for."""

    starts: Floats
    times: Floats
    causes: Integers
    each: float

    @classmethod
    def made_up(cls, place: Floats, cells: LifeCells, persons: int) -> FollowUps:
        """Those of one member of the family, at a place (4,) in the unit cube."""
        generator = np.random.Generator(np.random.Philox(key=33))
        count = min(persons, MOST_PERSONS)
        shape = SHAPES[0] * (SHAPES[1] / SHAPES[0]) ** place[0]
        left, lost, since = (
            low + (high - low) * at
            for (low, high), at in zip((LEFT, LOST, SINCE), place[1:], strict=True)
        )
        drawn = generator.random((3, count))
        starts = LATEST * generator.random(count) * cells.late
        # Without an event before it began, by the hazard until then.
        hazards = generator.standard_exponential(count) - np.log(left) * starts**shape
        ended = (hazards / -np.log(left)) ** (1 / shape)
        stayed = np.where(drawn[0] < lost, since + (1 - since) * drawn[1], 1.0)
        stayed = starts + (1 - starts) * stayed
        kinds = np.minimum((drawn[2] * len(cells.causes)).astype(np.int64), len(cells.causes) - 1)
        first, last = cells.domain_range
        causes = np.where((ended <= stayed) & (ended <= 1), kinds, CENSORED)
        times = np.minimum(np.minimum(ended, stayed), 1.0)
        starts, times = (first + (last - first) * each for each in (starts, times))
        return cls(starts, times, causes, persons / count)

    def table(self, cells: LifeCells) -> Floats:
        """Numbers of persons in the cells of one group; with late beginnings half of each is in two."""
        found = np.bincount(cells.ends(self.times, self.causes), minlength=cells.each)
        if cells.late:
            found = found + np.bincount(cells.begins(self.starts), minlength=cells.each)
        return np.asarray(found * (self.each / cells.parts))

    def survival(self, at: Floats) -> Floats:
        """The product-limit estimate of Kaplan and Meier at times (q,)."""
        events = np.sort(self.times[self.causes != CENSORED])
        distinct, died = np.unique(events, return_counts=True)
        begun = np.searchsorted(np.sort(self.starts), distinct, "right")
        gone = np.searchsorted(np.sort(self.times), distinct)
        left = np.cumprod(1 - died / np.maximum(begun - gone, died))
        return np.asarray(np.append(1.0, left)[np.searchsorted(distinct, at, "right")])


def ordinary_follow_ups(count: int, cells: LifeCells, persons: int) -> list[FollowUps]:
    """The first members of the family, of so many persons in one group.

    Times without an event have Weibull laws; some persons are lost, evenly from some time on.
    """
    return [FollowUps.made_up(place, cells, persons) for place in spread_evenly(count, 4)]
