"""The plan of a survival curve: its cells, and the noise on their shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.bases.lifetimes import NARROW, LifeCells
from dpfda.mechanisms.design.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import NAMED, Paying, Prepared, planner, stamp
from dpfda.publication.tables import ShareTable, TablePlan
from dpfda.releases.shares import NoisyShares
from dpfda.spine.choices import sizes_for, stated_size
from dpfda.spine.settings import Settings, read_labels
from dpfda.survival.lifetimes import expected_shares
from dpfda.survival.release import BOUND, ReleasedSurvival

# Half the cells grow with the root of persons over noise: with more persons what cells leave out soon
# outweighs the noise. The factor is that of the data sets on the page on survival.
GROWTH, FEWEST, MOST = 0.265, 4, 64
# Deviation of the noise at epsilon 1 under replace-one, for which the factor was found.
USUAL = 8.0**0.5
# Persons of the made-up table that errors are expected for: a fifth are left at the end, and a third of
# the others are censored, both at constant rates. Tables with noise that are averaged over.
LEFT, CENSORED = 0.2, 1 / 3
TABLES, QUICK = 8, 3


@dataclass(frozen=True, eq=False, repr=False)
class SurvivalPlan(TablePlan):
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
    simulated: ClassVar[bool] = True
    scale = 1.0, "all of the persons"

    @property
    def tuning(self) -> dict[str, object]:
        return {**self.table.tuning, "noise": self.table.described}

    @property
    def noise_words(self) -> str:
        return f"life table: {self.table.described}"

    # What to expect.

    @property
    def n(self) -> int | None:
        return self.designed or self.expected_size

    def expected(self, quick: bool = False) -> float | None:
        if self.n is None:
            return None
        made = self._simulated(QUICK if quick else TABLES)
        return math.sqrt(float(np.mean([np.mean(each.spread() ** 2) for each in made])))

    @property
    def error_words(self) -> str:
        groups = " of a group" if self.cells.levels else ""
        return (
            f"root mean square at a point, from the curve{groups} of these {self.unit}s in the same "
            "cells, for constant rates: a fifth are left at the end, a third of the others are censored"
        )

    def half_width(self, level: float) -> float | None:
        if self.n is None:
            return None
        bands = [made.band(level) for made in self._simulated(QUICK)]
        return float(np.mean([band.upper - band.lower for band in bands])) / 2

    def _simulated(self, count: int) -> list[ReleasedSurvival]:
        """Releases of a made-up table with simulated noise; of the first group, where there are any."""
        cells, total = self.cells, -math.log(LEFT) * self.cells.widths
        kinds = len(cells.causes)
        causes = np.tile(total * (1 - CENSORED) / kinds, (1, kinds, 1))
        starts = np.zeros((1, cells.coarse + 1))
        starts[0] = 1 / starts.size if cells.late else (np.arange(starts.size) == 0)
        shares = expected_shares(causes, total[None] * CENSORED, starts, cells)[0]
        each = shares * float(self.n or 0) / cells.groups / cells.parts
        generator = np.random.Generator(np.random.Philox(key=2))
        noise = self.table.law.simulate(generator, count)
        noisy = np.rint(np.ldexp(np.tile(each, cells.groups), EXPONENT) + noise)
        certificate = self.certified()
        made = [
            self.assemble(
                NoisyShares(tuple(map(int, row)), self.table.law, self.table.public_size), certificate
            )
            for row in noisy
        ]
        return [one[cells.levels[0]] if cells.levels else one for one in made]

    def assemble(self, shares: NoisyShares, certificate: Certificate) -> ReleasedSurvival:
        """The released curve around the mechanism's output: post-processing."""
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
    """The plan of a survival curve.

    Parameters
    ----------
    guarantee : Guarantee
        As it is asked for.
    count : int
        Number of units; used where it is public.
    settings : Settings
    cells : int, optional
        By default chosen.
    noise : {"auto", "laplace", "gaussian"}
    unit : str
    named : mapping
        Causes and levels of the cells, and whether beginnings are counted.
    coding : str
        What the release says of the codes of events, if anything.
    planned : bool
        Whether the number of units is planned, and in the place of a public size.

    Raises
    ------
    ParameterError
        If a public number is missing or unusable.
    """
    size, designed = sizes_for(settings, count, planned)
    domain = settings.domain.domain_range

    def table_of(made: LifeCells) -> ShareTable:
        words = {"summary": "survival curve", "bound": BOUND, "basis": made.describe()}
        tuning = {"name": "life table", "cells": made.count}
        return ShareTable(
            made.size, guarantee, settings.unit.relation, unit, size, noise, words=words, tuning=tuning
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


def publish_survival(
    prepared: Prepared[SurvivalPlan, IntegerSum], paying: Paying = NAMED
) -> ReleasedSurvival:
    """Charge, draw, add: the released curve."""
    shares, certificate = prepared.plan.table.publish(prepared.total, paying)
    return prepared.plan.assemble(shares, certificate)
