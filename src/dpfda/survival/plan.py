"""The plan of a survival curve: its cells, and the noise on their shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dpfda.bases.lifetimes import NARROW, LifeCells
from dpfda.noise.shares import EXPONENT
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
# Times at which errors are expected.
POINTS = 201


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

    def weighted(self, largest: float, **changed: Any) -> Self:
        table = replace(self.table, public_size=None)
        return super().weighted(largest, table=table, **changed)

    # What to expect.

    @property
    def error_words(self) -> str:
        groups = " of a group" if self.cells.levels else ""
        return (
            f"root mean square at a point, from the Kaplan-Meier curve{groups} of these {self.unit}s, "
            f"{ORDINARY} follow-ups"
        )

    def trials(self, count: int) -> list[Trial]:
        """Of ordinary follow-ups, counted in its cells with simulated noise; of the first group."""
        if self.n is None:
            return []
        cells, certificate = self.cells, self.certified()
        at = np.linspace(*cells.domain_range, POINTS)
        noise = self.table.law.simulate(np.random.Generator(np.random.Philox(key=2)), count)
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
