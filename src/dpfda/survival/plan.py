"""The plan of a survival curve: cells, noise on their shares, and ordinary follow-ups to foretell by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from dpfda.bases.lifetimes import CENSORED, NARROW, LifeCells
from dpfda.bases.ordinary import spread_evenly
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.parameters import real
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import Trial, TriedPlan, planner, stamp
from dpfda.publication.planners import ORDINARY
from dpfda.publication.tables import ShareTable, TablePlan
from dpfda.releases.shares import NoisyShares
from dpfda.spine.choices import sizes_for, stated_size
from dpfda.spine.settings import Settings, read_labels
from dpfda.survival.release import BOUND, ReleasedSurvival, halves

# Of times without an event, which have Weibull laws: shapes, and shares that are left at the end.
SHAPES, LEFT = (0.4, 1.8), (0.1, 0.8)
# Shares of persons that are lost before the end, evenly from a time on; and those times.
LOST, SINCE = (0.7, 1.0), (0.0, 0.4)
# Where it is stated until when so many of them are followed, losses have Weibull laws of these shapes.
LASTING, FALLS = 0.1, (1.0, 4.0)
# Of the others one in ten lasts for this share of the domain, or longer.
USUAL_END = 0.8
# Late follow-ups begin evenly up to here. So many persons are made up at most, each for several.
LATEST, MOST_PERSONS = 0.5, 20_000


class FollowUps(NamedTuple):
    """Follow-ups (n,) between the ends of a domain, and how many persons each stands for."""

    starts: Floats
    times: Floats
    causes: Integers
    each: float

    @classmethod
    def made_up(
        cls, place: Floats, cells: LifeCells, persons: int, followed: float | None = None
    ) -> FollowUps:
        """Those of one member of the family, at a place (4,) in the unit cube."""
        first, last = cells.domain_range
        generator = np.random.Generator(np.random.Philox(key=33))
        count = min(persons, MOST_PERSONS)
        shape = SHAPES[0] * (SHAPES[1] / SHAPES[0]) ** place[0]
        ranges = zip((LEFT, LOST, SINCE), place[1:], strict=True)
        left, lost, since = (low + (high - low) * at for (low, high), at in ranges)
        drawn = generator.random((3, count))
        starts = LATEST * generator.random(count) * cells.late
        # Without an event before it began, by the hazard until then.
        hazards = generator.standard_exponential(count) - np.log(left) * starts**shape
        ended = (hazards / -np.log(left)) ** (1 / shape)
        stayed = np.where(drawn[0] < lost, since + (1 - since) * drawn[1], 1.0)
        if followed is not None:
            # One in ten has neither had an event by then nor been lost.
            until = (followed - first) / (last - first)
            rate = max(-np.log(LASTING) + np.log(left) * until**shape, 0.0)
            fall = FALLS[0] * (FALLS[1] / FALLS[0]) ** place[2]
            with np.errstate(divide="ignore"):
                stayed = np.minimum(until * (-np.log1p(-drawn[1]) / rate) ** (1 / fall), 1.0)
        stayed = starts + (1 - starts) * stayed
        kinds = np.minimum((drawn[2] * len(cells.causes)).astype(np.int64), len(cells.causes) - 1)
        causes = np.where((ended <= stayed) & (ended <= 1), kinds, CENSORED)
        times = np.minimum(np.minimum(ended, stayed), 1.0)
        starts, times = (first + (last - first) * share for share in (starts, times))
        return cls(starts, times, causes, persons / count)

    def table(self, cells: LifeCells) -> Floats:
        """Numbers of persons in the cells of one group; with late beginnings half of each is in two."""
        counts = np.bincount(cells.ends(self.times, self.causes), minlength=cells.each)
        if cells.late:
            counts = counts + np.bincount(cells.begins(self.starts), minlength=cells.each)
        return np.asarray(counts * (self.each / cells.parts))

    def survival(self, at: Floats) -> Floats:
        """The product-limit estimate of Kaplan and Meier at times (q,)."""
        events = np.sort(self.times[self.causes != CENSORED])
        distinct, died = np.unique(events, return_counts=True)
        begun = np.searchsorted(np.sort(self.starts), distinct, "right")
        gone = np.searchsorted(np.sort(self.times), distinct)
        left = np.cumprod(1 - died / np.maximum(begun - gone, died))
        return np.asarray(np.append(1.0, left)[np.searchsorted(distinct, at, "right")])


def ordinary_follow_ups(
    count: int, cells: LifeCells, persons: int, followed: float | None = None
) -> list[FollowUps]:
    """The first members of the family, of so many persons in one group.

    Times without an event have Weibull laws; some persons are lost, evenly from some time on, or so
    that one in ten is followed until a stated one.
    """
    return [FollowUps.made_up(place, cells, persons, followed) for place in spread_evenly(count, 4)]


# Half the cells grow with the root of persons over noise: with more persons what cells leave out soon
# outweighs the noise. The factor is that of the data sets on the page on survival.
GROWTH, FEWEST, MOST = 0.265, 4, 64
# Deviation of the noise at epsilon 1 under replace-one, for which the factor was found.
USUAL = 8.0**0.5
# Times at which errors are expected; steps of simulated noise that are added up to that of cells.
POINTS, FINE = 201, 1024


@dataclass(frozen=True, eq=False, repr=False)
class SurvivalPlan(TriedPlan, TablePlan[ReleasedSurvival]):
    """Plan of a survival curve.

    Parameters
    ----------
    cells : LifeCells
    table : ShareTable
        Public side of the shares of cells.
    size : int or None
        Public number of units that count; None where it is private.
    designed : int or None
        Public number of units that the cells are for.
    about : mapping
    followed : float or None
        Time until which one in ten persons is expected to be followed.
    """

    cells: LifeCells
    table: ShareTable
    size: int | None
    designed: int | None
    about: Mapping[str, object]
    followed: float | None = None
    TRIALS: ClassVar[int] = 6
    QUICK: ClassVar[int] = 3
    BANDS: ClassVar[int] = 3
    scale = 1.0, "all of the persons"

    @property
    def noise_words(self) -> str:
        return f"life table: {self.table.described}"

    def weighted(self, largest: float, **changed: object) -> Self:
        table = replace(self.table, public_size=None)
        return super().weighted(largest, table=table, **changed)

    # What to expect.

    @property
    def error_words(self) -> str:
        groups = " of a group" if self.cells.levels else ""
        (first, last), until, sooner = self.cells.domain_range, self.followed, ""
        if until is None:
            until = first + USUAL_END * (last - first)
            sooner = " or longer; where most end much sooner errors are several times as large"
            sooner += " ('followed' tells the plan)"
        return (
            f"root mean square at a point up to the last follow-up, from the Kaplan-Meier curve{groups} "
            f"of these {several(self.unit)}, {ORDINARY} follow-ups of which one in ten lasts until "
            f"{until:.4g}{sooner}"
        )

    def trials(self, count: int) -> list[Trial]:
        """Of ordinary follow-ups, counted in its cells with simulated noise; of the first group."""
        if self.n is None:
            return []
        cells, certificate = self.cells, self.certified()
        noise = np.ldexp(self.table.deviation * _paths(cells, count), EXPONENT)
        persons, trials = max(1, self.n // cells.groups), []
        family = ordinary_follow_ups(count, cells, persons, self.followed)
        for made_up, drawn in zip(family, noise, strict=True):
            at = np.linspace(cells.domain_range[0], made_up.times.max(), POINTS)
            seen = np.tile(made_up.table(cells), cells.groups)
            noisy = tuple(int(x) for x in np.rint(np.ldexp(seen, EXPONENT) + drawn))
            shares = NoisyShares(noisy, self.table.law, self.table.public_size)
            release = self.assemble(shares, certificate)
            release = release[cells.levels[0]] if cells.levels else release
            trials.append(Trial(release, at, made_up.survival(at)))
        return trials

    def assemble(self, shares: NoisyShares, certificate: Certificate) -> ReleasedSurvival:
        return ReleasedSurvival(self.cells, shares, certificate, {**self.about, **stamp()})


def _paths(cells: LifeCells, count: int) -> Floats:
    """Normal noise (count, size) of variance one: steps of the same paths for all numbers of cells.

    So plans of nearby budgets, whose numbers of cells differ, meet nearby noise and have nearby errors.
    """
    sizes = [*[cells.count] * len(cells.causes), cells.coarse, 1, cells.each - cells.exits]
    generator, paths = np.random.Generator(np.random.Philox(key=2)), []
    for size in filter(None, sizes * cells.groups):
        steps = generator.standard_normal((count, max(FINE, size)))
        starts = np.arange(size) * steps.shape[1] // size
        lengths = np.diff(np.append(starts, steps.shape[1]))
        paths.append(np.add.reduceat(steps, starts, axis=1) / np.sqrt(lengths))
    return np.concatenate(paths, axis=1)


@planner
def survival_plan(
    guarantee: Guarantee,
    count: int,
    *,
    settings: Settings,
    cells: int | None,
    noise: str,
    unit: str,
    named: Mapping[str, object],
    coding: str,
    planned: bool = False,
    followed: float | None = None,
) -> SurvivalPlan:
    """The plan of a survival curve; parameters as of `planner`.

    cells: By default chosen.
    named: Causes and levels of the cells, and whether beginnings are counted.
    coding: What the release says of the codes of events, if anything.
    """
    size, designed = sizes_for(settings, count, planned)
    domain = settings.domain.ends

    def table_of(grid: LifeCells) -> ShareTable:
        words = {"summary": "survival curve", "bound": BOUND, "basis": grid.describe()}
        tuning: dict[str, object] = {"name": "life table", "cells": grid.count}
        if grid.late:
            # Of a unit's shares ends get half at most, and beginnings the other.
            tuning["halves"] = "ends and beginnings"
        relation, parts = settings.unit.relation, halves(grid)
        return ShareTable(grid.size, guarantee, relation, unit, size, noise, words, tuning, parts)

    chosen = LifeCells.of(domain, FEWEST if cells is None else cells, **named)
    if followed is not None:
        first, last = chosen.domain_range
        words = f"lie after {first:g}, and not beyond {last:g}"
        followed = real(followed, "followed", math.nextafter(first, last), last, words)
    if cells is None:
        persons = stated_size(designed, "cells") / chosen.groups
        persons *= USUAL / (table_of(chosen).deviation * chosen.parts)
        wanted = min(MOST, max(FEWEST, 2 * round(GROWTH * persons**0.5)))
        chosen = LifeCells.of(domain, wanted, power=NARROW, **named)
    coded = {"coding": coding} if coding else {}
    about = {"summary": "survival curve", **coded, **read_labels(settings.domain.labels)}
    return SurvivalPlan(chosen, table_of(chosen), size, designed, about, followed)
