"""The plan of a survival curve: its cells, and the noise on their shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from dpfda.bases.lifetimes import NARROW, LifeCells
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.arrays import Floats
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import Trial, TriedPlan, planner, stamp
from dpfda.publication.tables import ShareTable, TablePlan
from dpfda.publication.trials import ORDINARY
from dpfda.releases.shares import NoisyShares
from dpfda.spine.choices import sizes_for, stated_size
from dpfda.spine.settings import Settings, read_labels
from dpfda.survival.ordinary import ordinary_follow_ups
from dpfda.survival.release import BOUND, ReleasedSurvival, halves

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
    """

    cells: LifeCells
    table: ShareTable
    size: int | None
    designed: int | None
    about: Mapping[str, object]
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
        return (
            f"root mean square at a point, from the Kaplan-Meier curve{groups} of these "
            f"{several(self.unit)}, "
            f"{ORDINARY} follow-ups"
        )

    def trials(self, count: int) -> list[Trial]:
        """Of ordinary follow-ups, counted in its cells with simulated noise; of the first group."""
        if self.n is None:
            return []
        cells, certificate = self.cells, self.certified()
        at = np.linspace(*cells.domain_range, POINTS)
        noise = np.ldexp(self.table.deviation * _paths(cells, count), EXPONENT)
        persons, found = max(1, self.n // cells.groups), []
        for made_up, drawn in zip(ordinary_follow_ups(count, cells, persons), noise, strict=True):
            seen = np.tile(made_up.table(cells), cells.groups)
            noisy = tuple(int(x) for x in np.rint(np.ldexp(seen, EXPONENT) + drawn))
            shares = NoisyShares(noisy, self.table.law, self.table.public_size)
            made = self.assemble(shares, certificate)
            made = made[cells.levels[0]] if cells.levels else made
            found.append(Trial(made, at, made_up.survival(at)))
        return found

    def assemble(self, shares: NoisyShares, certificate: Certificate) -> ReleasedSurvival:
        return ReleasedSurvival(self.cells, shares, certificate, {**self.about, **stamp()})


def _paths(cells: LifeCells, count: int) -> Floats:
    """Normal noise (count, size) of variance one: steps of the same paths for all numbers of cells.

    So plans of nearby budgets, whose numbers of cells differ, meet nearby noise and have nearby errors.
    """
    coarse = cells.each - len(cells.causes) * cells.count
    sizes = [*[cells.count] * len(cells.causes), cells.coarse, 1, coarse - cells.coarse - 1]
    generator, found = np.random.Generator(np.random.Philox(key=2)), []
    for size in filter(None, sizes * cells.groups):
        steps = generator.standard_normal((count, max(FINE, size)))
        starts = np.arange(size) * steps.shape[1] // size
        lengths = np.diff(np.append(starts, steps.shape[1]))
        found.append(np.add.reduceat(steps, starts, axis=1) / np.sqrt(lengths))
    return np.concatenate(found, axis=1)


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
) -> SurvivalPlan:
    """The plan of a survival curve; parameters as of `planner`.

    cells: By default chosen.
    named: Causes and levels of the cells, and whether beginnings are counted.
    coding: What the release says of the codes of events, if anything.
    """
    size, designed = sizes_for(settings, count, planned)
    domain = settings.domain.domain_range

    def table_of(made: LifeCells) -> ShareTable:
        words = {"summary": "survival curve", "bound": BOUND, "basis": made.describe()}
        tuning: dict[str, object] = {"name": "life table", "cells": made.count}
        if made.late:
            # Of a unit's shares ends get half at most, and beginnings the other.
            tuning["halves"] = "ends and beginnings"
        return ShareTable(
            made.size, guarantee, settings.unit.relation, unit, size, noise, words, tuning, halves(made)
        )

    made = LifeCells.of(domain, FEWEST if cells is None else cells, **named)
    if cells is None:
        persons = stated_size(designed, "cells") / made.groups
        persons *= USUAL / (table_of(made).deviation * made.parts)
        wanted = min(MOST, max(FEWEST, 2 * round(GROWTH * persons**0.5)))
        made = LifeCells.of(domain, wanted, power=NARROW, **named)
    said = {"coding": coding} if coding else {}
    about = {"summary": "survival curve", **said, **read_labels(settings.domain.labels)}
    return SurvivalPlan(made, table_of(made), size, designed, about)
